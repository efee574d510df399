"""Expressions as plain text in the papers' notation: (I − H ψ K)* D⁻¹ (I − H ψ K).

A blank is a product and binds tightest; a dot multiplies by a scalar and takes the
whole product behind it. `parse` reads it back to the same expression.
"""

from __future__ import annotations

from phipsi.algebra.node import Function, Node, Product, Symbol
from phipsi.algebra.text import arguments, spelling
from phipsi.algebra.text.printer import ATOM, SCALED, Notation, Pieces

SUFFIXES = {"T": "*", "inv": "⁻¹", "sqrt": "^½"}
FRACTIONS = {
    top / bottom: sign
    for sign, top, bottom in [
        ("½", 1, 2),
        ("⅓", 1, 3),
        ("⅔", 2, 3),
        ("¼", 1, 4),
        ("¾", 3, 4),
        ("⅕", 1, 5),
        ("⅙", 1, 6),
        ("⅛", 1, 8),
    ]
}


class _Unicode(Notation):
    minus = "−"
    product = " "
    times = " · "
    scaling = SCALED
    parentheses = "(", ")"
    diagonal = "blockdiag(", ")"

    def letter(self, node: Symbol) -> str:
        name = spelling.in_unicode(node.record.look or node.name)
        if not node.arguments:
            return name
        return f"{name}({', '.join(map(arguments.in_unicode, node.arguments))})"

    def places(self, places: tuple) -> str:
        return f"({', '.join(map(arguments.in_unicode, places))})"

    def multiple(self, number: int | float, operand: Node) -> str:
        sign, size = self.minus if number < 0 else "", abs(number)
        between = self.times if isinstance(operand, Product) else " "
        return f"{sign}{FRACTIONS.get(size) or repr(size)}{between}"

    def function(self, node: Function) -> Pieces:
        operand = node.children[0]
        if node.suffix == "inv" and isinstance(operand, Function) and operand.suffix == "sqrt":
            return *self.inside(operand.children[0], ATOM), "^-½"
        return *self.inside(operand, ATOM), SUFFIXES[node.suffix]

    def brackets(self, name: str) -> tuple[str, str]:
        return f"{name.removesuffix('[]')}[", "]"


_UNICODE = _Unicode()


def in_unicode(node: Node) -> str:
    """An expression in the papers' notation, in plain text."""
    return _UNICODE.text([node])
