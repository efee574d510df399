r"""Expressions in LaTeX, as the papers print them: H \phi M \phi^{*} H^{*}.

Nothing between two factors is their product; a thin space stands behind a scalar that
multiplies the whole product after it. `parse` reads it back to the same expression.
"""

from __future__ import annotations

from fractions import Fraction

from phipsi.algebra.node import Function, Node, Product, Scaled, Symbol
from phipsi.algebra.text import arguments, spelling
from phipsi.algebra.text.exponents import EXPONENTS
from phipsi.algebra.text.printer import BARE, PRODUCT, SCALED, Notation, Pieces

LARGEST_DIVISOR = 12  # of numbers that are shown as fractions


class _Latex(Notation):
    minus = "-"
    product = " "
    times = r"\,"
    scaling = SCALED
    parentheses = r"\left(", r"\right)"
    diagonal = r"\operatorname{blockdiag}\left(", r"\right)"

    def letter(self, node: Symbol) -> str:
        name = spelling.in_latex(node.record.look or node.name)
        if not node.arguments:
            return name
        written = list(map(arguments.in_latex, node.arguments))
        if _is_indexed(node):
            return f"{name}^{{{','.join(written)}}}"
        return f"{name}\\left({', '.join(written)}\\right)"

    def places(self, places: tuple) -> str:
        return f"\\left({', '.join(map(arguments.in_latex, places))}\\right)"

    def multiple(self, number: int | float, operand: Node) -> str:
        between = self.times if isinstance(operand, Product) else " "
        if self._begins_with_number(operand):
            between = r" \cdot "
        return f"{self.minus if number < 0 else ''}{_in_digits(abs(number))}{between}"

    def function(self, node: Function) -> Pieces:
        below, exponent = _powered(node)
        is_raised = _is_indexed(below) or (isinstance(below, Symbol) and below.name.endswith("'"))
        pieces = self.enclosed(below) if is_raised else self.inside(below, BARE)
        return *pieces, f"^{{{exponent}}}"

    def brackets(self, name: str) -> tuple[str, str]:
        if name == "cross":
            return r"\widetilde{", "}"
        if name == "cross[]":  # a tilde would be read as something else
            return r"\operatorname{cross}\left[", r"\right]"
        return f"\\mathcal{{{name}}}\\left[", r"\right]"

    def _begins_with_number(self, node: Node) -> bool:
        while isinstance(node, Product):
            node = node.factors[0]
        return isinstance(node, Scaled) and self.binding(node) == PRODUCT


_LATEX = _Latex()


def in_latex(node: Node) -> str:
    """An expression in LaTeX, for math mode."""
    return _LATEX.text([node])


def _is_indexed(node: Node) -> bool:
    """Whether a letter has its arguments above: the joint of a pick-off operator, and its speed."""
    return (
        isinstance(node, Symbol)
        and node.record.of == "joint"
        and bool(node.arguments)
        and all(isinstance(x, str) or (type(x) is int and x >= 0) for x in node.arguments)
        and node.arguments not in (("T",), ("t",))  # above a letter, the adjoint
    )


def _in_digits(number: int | float) -> str:
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
