r"""Expressions in LaTeX, as the papers print them: H \phi M \phi^{*} H^{*}.

Nothing between two factors is their product; a thin space stands behind a scalar that
multiplies the whole product after it. `parse` reads it back to the same expression.
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
from phipsi.algebra.text.exponents import EXPONENTS
from phipsi.algebra.text.python import is_negative

SUM, SCALED, PRODUCT, ATOM, EXPONENT = 0, 1, 2, 3, 4
LARGEST_DIVISOR = 12  # of numbers that are shown as fractions


def in_latex(node: Node) -> str:
    """An expression in LaTeX, for math mode."""
    match node:
        case Symbol():
            return _symbol(node)
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
            operand, exponent = _powered(node)
            return f"{_inside(operand, EXPONENT)}^{{{exponent}}}"
        case Bracket(name="cross"):
            return f"\\widetilde{{{in_latex(node.children[0])}}}"
        case Bracket():
            return f"\\mathcal{{{node.name}}}\\left[{in_latex(node.children[0])}\\right]"
        case Diagonal():
            return f"\\operatorname{{blockdiag}}\\left({in_latex(node.children[0])}\\right)"
    raise AssertionError(f"no way to write {type(node).__name__}")


def _symbol(node: Symbol) -> str:
    name = spelling.in_latex(node.name)
    if not node.arguments:
        return name
    written = list(map(arguments.in_latex, node.arguments))
    if not _is_indexed(node):
        return f"{name}\\left({', '.join(written)}\\right)"
    return f"{name}^{{{','.join(written)}}}"


def _is_indexed(node: Node) -> bool:
    """Whether a letter has its arguments above: the joint of a pick-off operator, and its speed."""
    return (
        isinstance(node, Symbol)
        and node.name in ("HH", "HH_s", "HH_delta", "Gamma_delta")
        and bool(node.arguments)
        and all(isinstance(x, str) or (type(x) is int and x >= 0) for x in node.arguments)
    )


def _sum(node: Sum) -> str:
    text = in_latex(node.terms[0])
    for term in node.terms[1:]:
        if is_negative(term):
            text += f" - {_inside(-term, SUM)}"
        else:
            text += f" + {in_latex(term)}"
    return text


def _scaled(node: Scaled) -> str:
    operand = node.children[-1]
    if isinstance(node.factor, Node):
        return f"{_inside(node.factor, SCALED, leftmost=True)}\\,{_inside(operand, SCALED)}"
    sign, number = "-" if node.factor < 0 else "", abs(node.factor)
    if number == 1 and sign:
        return f"-{_inside(operand, SCALED)}"
    text = _inside(operand, SCALED)
    space = "\\," if isinstance(operand, Product) else " "
    if text[0].isdigit() or text.startswith("\\frac"):
        space = " \\cdot "
    return f"{sign}{_number(number)}{space}{text}"


def _number(number: int | float) -> str:
    """A number: a small fraction where it is one, without an e."""
    if isinstance(number, int):
        return str(number)
    fraction = Fraction(number).limit_denominator(LARGEST_DIVISOR)
    if fraction.denominator > 1 and float(fraction) == number and fraction < LARGEST_DIVISOR:
        return f"\\frac{{{fraction.numerator}}}{{{fraction.denominator}}}"
    digits, _, exponent = repr(number).partition("e")
    return f"{digits} \\times 10^{{{int(exponent)}}}" if exponent else digits


def _powered(node: Node) -> tuple[Node, str]:
    """What stands below an exponent, and as much of it as one exponent can say."""
    suffixes: tuple[str, ...] = ()
    below = node
    while isinstance(below, Function) and (below.suffix, *suffixes) in EXPONENTS:
        suffixes = (below.suffix, *suffixes)
        below = below.children[0]
    return below, EXPONENTS[suffixes]


def _inside(node: Node, bound: int, leftmost: bool = False) -> str:
    """A part of an expression, in parentheses where it would be read otherwise without."""
    own = _binding(node)
    if own < bound or (own == bound < ATOM and not leftmost):
        return f"\\left({in_latex(node)}\\right)"
    return in_latex(node)


def _binding(node: Node) -> int:
    match node:
        case Sum():
            return SUM
        case Scaled():
            is_near = not isinstance(node.factor, Node) and node.factor >= 0
            return PRODUCT if is_near and not isinstance(node.children[0], Product) else SCALED
        case Product():
            return PRODUCT
        case Function():
            return ATOM
        case Symbol() if _is_indexed(node):
            return ATOM
    return EXPONENT
