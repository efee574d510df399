"""Expressions as text, in whatever notation: the walk, parentheses, sums, products, scalars.

What a notation has of its own, its signs and how it writes letters, numbers and exponents,
stands in `python`, `unicode` and `latex`. The walk keeps a stack of its own, so that no
expression is nested too deeply to be written.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from phipsi.algebra.elements import read_element
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

# How tightly an expression holds together; what is looser than its surroundings is enclosed.
SUM, SCALED, PRODUCT, ATOM, BARE = range(5)  # an ATOM may have an exponent, a BARE one has none

Pieces = Sequence[str | Node]  # of a text, in order; the nodes are still to be written


class Notation(ABC):
    """One way to write expressions.

    Attributes:
        minus: the sign, of terms and of numbers.
        product: between two factors.
        times: between a scalar and what it multiplies.
        scaling: how tightly `times` binds: SCALED, or PRODUCT where it does as `product`.
        parentheses: the opening and the closing one.
        diagonal: what stands around A in blockdiag(A).
        has_elements: whether at(2) phi at(1) is written phi(2, 1).
    """

    minus: str
    product: str
    times: str
    scaling: int
    parentheses: tuple[str, str]
    diagonal: tuple[str, str]
    has_elements = True

    # -- what each notation has of its own -----------------------------------------------

    @abstractmethod
    def letter(self, node: Symbol) -> str:
        """A letter and its arguments."""

    def places(self, places: tuple) -> str:
        """Where the block of an operator or of a vector stands: (2, 1)."""
        raise AssertionError("a notation that has elements writes them")

    @abstractmethod
    def multiple(self, number: int | float, operand: Node) -> str:
        """A number other than -1 before what it multiplies, and the sign between them."""

    @abstractmethod
    def function(self, node: Function) -> Pieces:
        """A.T, A.inv or A.sqrt."""

    @abstractmethod
    def brackets(self, name: str) -> tuple[str, str]:
        """What stands around x in S[x], Q[x] or cross[x]."""

    # -- what is common to all -----------------------------------------------------------

    def text(self, pieces: Iterable[str | Node]) -> str:
        """The pieces of a text, written one after the other."""
        written: list[str] = []
        stack = list(pieces)[::-1]
        while stack:
            piece = stack.pop()
            if isinstance(piece, str):
                written.append(piece)
            else:
                stack.extend(reversed(self._pieces(piece)))
        return "".join(written)

    def inside(self, node: Node, bound: int, leftmost: bool = False) -> Pieces:
        """A part of an expression, in parentheses where it would be read otherwise without.

        Args:
            node: the part.
            bound: how tightly the whole binds.
            leftmost: whether the part is its first.
        """
        own = self.binding(node)
        if own < bound or (own == bound < ATOM and not leftmost):
            return self.enclosed(node)
        return (node,)

    def enclosed(self, node: Node) -> Pieces:
        """An expression in parentheses."""
        opening, closing = self.parentheses
        return opening, node, closing

    def binding(self, node: Node) -> int:
        """How tightly an expression holds together; 2 A as a product does, -A and 2 A B do not."""
        match node:
            case Sum():
                return SUM
            case Scaled():
                is_near = not isinstance(node.factor, Node) and node.factor >= 0
                is_short = is_near and not isinstance(node.children[-1], Product)
                return PRODUCT if is_short else self.scaling
            case Product():
                return PRODUCT
            case Function():
                return ATOM
        return BARE

    def _pieces(self, node: Node) -> Pieces:
        match node:
            case Symbol():
                inertia = _inertia(node)
                return (self.letter(node),) if inertia is None else self._of_inertia(node, inertia)
            case Identity():
                return ("I",)
            case Sum():
                return self._sum(node)
            case Product():
                return self._product(node)
            case Scaled():
                return self._scaled(node)
            case Function():
                return self.function(node)
            case Bracket():
                opening, closing = self.brackets(node.name)
                return opening, node.children[0], closing
            case Diagonal():
                opening, closing = self.diagonal
                return opening, node.children[0], closing
        raise AssertionError(f"no way to write {type(node).__name__}")

    def _of_inertia(self, node: Symbol, inertia: tuple[Node | int, ...]) -> Pieces:
        """psi[M + M_a], D[M, N]: a letter of another inertia, or of another term of joints."""
        bare = Symbol(node.name, node.source, node.target, record=node.record)
        pieces: list[str | Node] = [self.letter(bare), "["]
        for part in inertia:
            pieces += (part if isinstance(part, Node) else str(part), ", ")
        return *pieces[:-1], "]"

    def _sum(self, node: Sum) -> Pieces:
        pieces: list[str | Node] = [node.terms[0]]
        for term in node.terms[1:]:
            if _is_negative(term):
                pieces += (f" {self.minus} ", *self.inside(-term, SUM))
            else:
                pieces += (" + ", term)
        return pieces

    def _product(self, node: Product) -> Pieces:
        pieces: list[str | Node] = []
        factors, i = node.factors, 0
        while i < len(factors):
            if i:
                pieces.append(self.product)
            found = read_element(factors, i) if self.has_elements else None
            if found is None:
                pieces += self.inside(factors[i], PRODUCT, leftmost=not i)
                i += 1
            else:
                pieces += (found.letter, self.places(found.places))
                i += found.length
        return pieces

    def _scaled(self, node: Scaled) -> Pieces:
        operand = node.children[-1]
        behind = self.inside(operand, self.scaling)
        if isinstance(node.factor, Node):
            return *self.inside(node.factor, self.scaling, leftmost=True), self.times, *behind
        before = self.minus if node.factor == -1 else self.multiple(node.factor, operand)
        return before, *behind


def _is_negative(term: Node) -> bool:
    """Whether a term begins with a number below zero, so that a sum shows it with a minus."""
    return isinstance(term, Scaled) and not isinstance(term.factor, Node) and term.factor < 0


def _inertia(letter: Symbol) -> tuple[Node | int, ...] | None:
    """What an articulated letter of another inertia has in brackets; None for other letters."""
    family = letter.arguments[0] if letter.arguments else None
    return getattr(family, "in_brackets", None)
