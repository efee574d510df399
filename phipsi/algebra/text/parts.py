"""Operands of typed equations, and what may be done with them."""

from __future__ import annotations

from dataclasses import dataclass
from operator import matmul, mul
from typing import Any

from phipsi.algebra.node import Node, Opener, Symbol, compose, scale
from phipsi.algebra.own import OpeningLetter
from phipsi.algebra.spaces import POINTS, SCALAR
from phipsi.algebra.text.spelling import spell
from phipsi.algebra.text.tokens import Token
from phipsi.errors import SpaceError

Number = int | float


@dataclass(frozen=True)
class Part:
    """An operand that was read.

    Args:
        value: what it is.
        start: its first sign in the text.
        end: behind its last.
        depth: how deep it is nested.
        name: of the letter that it is, as it was spelled; of a letter with an exponent too.
        is_bare: whether it is that letter alone, without exponents.
        element: what it is an element of, and where: D and (3,) of D(3).
    """

    value: Node | Number
    start: int
    end: int
    depth: int = 1
    name: str = ""
    is_bare: bool = False
    element: tuple[Node, tuple] | None = None

    @property
    def span(self) -> tuple[int, int]:
        return self.start, self.end


# -- the arithmetic of text ----------------------------------------------------------------


def has_elements(part: Part) -> bool:
    """Whether a parenthesis right behind it may hold places: of a letter, also with exponents."""
    if not part.name or part.element is not None or not isinstance(part.value, Node):
        return False
    return not part.value.is_scalar and not getattr(part.value, "arguments", ())


def is_of_points(node: Node) -> bool:
    """Whether a node belongs to points: a letter of points, or what maps between these alone."""
    is_letter = isinstance(node, Symbol) and node.record.of == "points"
    return is_letter or {node.source, node.target} <= {POINTS, SCALAR}


def spelled_out(token: Token) -> str:
    """The spelling of a name."""
    return token.value.text if token.value is not None else spell(token.text).text


def opens_bracket(value: object) -> bool:
    """Whether a bracket right behind it holds a vector: S[x], Q[x], cross[x]."""
    return isinstance(value, (Opener, OpeningLetter))


def is_scalar(value: object) -> bool:
    """Whether something is one number."""
    return value.is_scalar if isinstance(value, Node) else isinstance(value, Number)


def compose_or_multiply(left: Any, right: Any) -> Any:
    """left @ right, also of two numbers."""
    return (
        matmul(left, right)
        if isinstance(left, Node) or isinstance(right, Node)
        else mul(left, right)
    )


def multiply(left: Any, right: Any) -> Any:
    """left * right, or a SpaceError that says how the adjoint is typed."""
    try:
        return left * right
    except SpaceError as error:
        if not isinstance(left, Node) or not isinstance(right, Node):
            raise
        advice = f"The adjoint has no blank before its star: {left}* {right}"
        raise SpaceError(f"{error}\n  {advice}") from None


def side_by_side(left: Node | Number, right: Node) -> Node:
    """left right: their product, also by a scalar."""
    if not isinstance(left, Node):
        return scale(left, right)
    if (left.is_scalar and right.target is None) or (right.is_scalar and left.source is None):
        return scale(left, right)
    fits = left.source is right.target or None in (left.source, right.target)
    if not fits and (left.is_scalar or right.is_scalar):
        return scale(left, right)
    return compose(left, right)
