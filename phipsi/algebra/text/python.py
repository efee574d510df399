"""Expressions as Python: what was typed, or could have been; `str(expression)`."""

from __future__ import annotations

from phipsi.algebra.node import Function, Node, Symbol
from phipsi.algebra.text.printer import ATOM, PRODUCT, Notation, Pieces


class _Python(Notation):
    """Python's * and @ bind alike and from the left, so `2 * A @ B` is (2 A) B."""

    minus = "-"
    product = " @ "
    times = " * "
    scaling = PRODUCT
    parentheses = "(", ")"
    diagonal = "blockdiag(", ")"
    has_elements = False  # letters are not called in Python

    def letter(self, node: Symbol) -> str:
        if not node.arguments:
            return node.name
        return f"{node.name}({', '.join(map(repr, node.arguments))})"

    def multiple(self, number: int | float, operand: Node) -> str:
        return f"{number}{self.times}"

    def function(self, node: Function) -> Pieces:
        return *self.inside(node.children[0], ATOM), f".{node.suffix}"

    def brackets(self, name: str) -> tuple[str, str]:
        return f"{name}[", "]"


_PYTHON = _Python()


def in_python(node: Node) -> str:
    """An expression as Python reads it."""
    return _PYTHON.text([node])


def inside(node: Node, bound: int, leftmost: bool = False) -> str:
    """A part of an expression, in parentheses where Python would read it otherwise without.

    Args:
        node: the part.
        bound: how tightly the whole binds.
        leftmost: whether the part is its first.
    """
    return _PYTHON.text(_PYTHON.inside(node, bound, leftmost))
