"""Expressions as plain text in the papers' notation: (I − H ψ K)* D⁻¹ (I − H ψ K).

A blank is a product and binds tightest; a dot multiplies by a scalar and takes the
whole product behind it. `parse` reads it back to the same expression.
"""

from __future__ import annotations

from fractions import Fraction

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
from phipsi.algebra.text import arguments, spelling
from phipsi.algebra.text.python import is_negative

SUM, SCALED, PRODUCT, ATOM = 0, 1, 2, 3
SUFFIXES = {"T": "*", "inv": "⁻¹", "sqrt": "^½"}
FRACTIONS = {
    Fraction(top, bottom): sign
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
_BY_VALUE = {float(fraction): sign for fraction, sign in FRACTIONS.items()}


def in_unicode(node: Node) -> str:
    """An expression in the papers' notation, in plain text."""
    match node:
        case Symbol():
            name = spelling.in_unicode(node.name)
            if not node.arguments:
                return name
            return f"{name}({', '.join(map(arguments.in_unicode, node.arguments))})"
        case Identity():
            return "I"
        case Sum():
            return _sum(node)
        case Product():
            first, *others = node.factors
            parts = [_inside(first, PRODUCT, leftmost=True)]
            return " ".join(parts + [_inside(factor, PRODUCT) for factor in others])
        case Scaled():
            return _scaled(node)
        case Function():
            operand = node.children[0]
            if node.suffix == "inv" and isinstance(operand, Function) and operand.suffix == "sqrt":
                return f"{_inside(operand.children[0], ATOM)}^-½"
            return f"{_inside(operand, ATOM)}{SUFFIXES[node.suffix]}"
        case Bracket():
            return f"{node.name}[{in_unicode(node.children[0])}]"
        case Diagonal():
            return f"blockdiag({in_unicode(node.children[0])})"
    raise AssertionError(f"no way to write {type(node).__name__}")


def _sum(node: Sum) -> str:
    text = in_unicode(node.terms[0])
    for term in node.terms[1:]:
        if is_negative(term):
            text += f" − {_inside(-term, SUM)}"
        else:
            text += f" + {in_unicode(term)}"
    return text


def _scaled(node: Scaled) -> str:
    operand = node.children[-1]
    if isinstance(node.factor, Node):
        return f"{_inside(node.factor, SCALED, leftmost=True)} · {_inside(operand, SCALED)}"
    sign, number = "−" if node.factor < 0 else "", abs(node.factor)
    if number == 1 and sign:
        return f"−{_inside(operand, SCALED)}"
    dot = " · " if isinstance(operand, Product) else " "
    return f"{sign}{_number(number)}{dot}{_inside(operand, SCALED)}"


def _number(number: int | float) -> str:
    return _BY_VALUE.get(number) or repr(number)


def _inside(node: Node, bound: int, leftmost: bool = False) -> str:
    """A part of an expression, in parentheses where it would be read otherwise without."""
    own = _binding(node)
    if own < bound or (own == bound < ATOM and not leftmost):
        return f"({in_unicode(node)})"
    return in_unicode(node)


def _binding(node: Node) -> int:
    match node:
        case Sum():
            return SUM
        case Scaled():
            is_near = not isinstance(node.factor, Node) and node.factor >= 0
            return PRODUCT if is_near and not isinstance(node.children[0], Product) else SCALED
        case Product():
            return PRODUCT
    return ATOM
