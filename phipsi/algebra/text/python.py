"""Expressions as Python: what was typed, or could have been; `str(expression)`."""

from __future__ import annotations

from phipsi.algebra.node import (
    Bracket,
    Diagonal,
    Function,
    Identity,
    Node,
    Product,
    Scaled,
    Sum,
    Symbol,
)

# How tightly Python binds: * and @ alike and from the left, so `2 * A @ B` is (2 A) B.
SUM, PRODUCT, ATOM = 0, 1, 2


def in_python(node: Node) -> str:
    """An expression as Python reads it."""
    match node:
        case Symbol():
            if not node.arguments:
                return node.name
            return f"{node.name}({', '.join(map(repr, node.arguments))})"
        case Identity():
            return "I"
        case Sum():
            return _sum(node)
        case Product():
            first, *others = node.factors
            parts = [inside(first, PRODUCT, leftmost=True)]
            return " @ ".join(parts + [inside(factor, PRODUCT) for factor in others])
        case Scaled():
            operand = inside(node.children[-1], PRODUCT)
            if isinstance(node.factor, Node):
                return f"{inside(node.factor, PRODUCT, leftmost=True)} * {operand}"
            return f"-{operand}" if node.factor == -1 else f"{node.factor} * {operand}"
        case Function():
            return f"{inside(node.children[0], ATOM)}.{node.suffix}"
        case Bracket():
            return f"{node.name}[{in_python(node.children[0])}]"
        case Diagonal():
            return f"blockdiag({in_python(node.children[0])})"
    raise AssertionError(f"no way to write {type(node).__name__}")


def inside(node: Node, bound: int, leftmost: bool = False) -> str:
    """A part of an expression, in parentheses where Python would read it otherwise without.

    Args:
        bound: how tightly the whole binds.
        leftmost: whether the part is its first.
    """
    own = _binding(node)
    if own < bound or (own == bound < ATOM and not leftmost):
        return f"({in_python(node)})"
    return in_python(node)


def _sum(node: Sum) -> str:
    text = in_python(node.terms[0])
    for term in node.terms[1:]:
        if is_negative(term):
            text += f" - {inside(-term, SUM)}"
        else:
            text += f" + {in_python(term)}"
    return text


def is_negative(term: Node) -> bool:
    """Whether a term begins with a number below zero, so that a sum shows it with a minus."""
    return isinstance(term, Scaled) and not isinstance(term.factor, Node) and term.factor < 0


def _binding(node: Node) -> int:
    match node:
        case Sum():
            return SUM
        case Product() | Scaled():
            return PRODUCT
    return ATOM
