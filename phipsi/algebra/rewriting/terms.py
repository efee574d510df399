"""Terms of an expression: a number, scalars that commute, and factors that do not."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import reduce
from typing import NamedTuple, TypeVar

from phipsi.algebra.node import Identity, Node, Product, Root, Scaled, Sum, invert, scale
from phipsi.algebra.spaces import BODY, SCALAR
from phipsi.algebra.stars import starred

ROUNDOFF = 1e-12  # of numbers that are added

Number = int | float


class Word(NamedTuple):
    """Scalars that commute, and factors that do not."""

    scalars: tuple[Node, ...]
    factors: tuple[Node, ...]


class Term(NamedTuple):
    """number * scalars * factors."""

    number: Number
    scalars: tuple[Node, ...]
    factors: tuple[Node, ...]

    @property
    def star(self) -> Term:
        """The transpose."""
        return Term(self.number, self.scalars, tuple(map(starred, reversed(self.factors))))

    def __str__(self) -> str:
        return str(joined(self.number, self.factors or (Identity(BODY),), self.scalars))


Polynomial = dict[Word, Number]


def taken_apart(node: Node, weighted: bool = True) -> Term:
    """A term as number, scalars, and factors.

    Args:
        node: the term.
        weighted: whether scalars are taken out; else `k A` stays a factor.
    """
    match node:
        case Scaled() if not isinstance(node.factor, Node):
            number, scalars, factors = taken_apart(node.children[-1], weighted)
            return Term(number * node.factor, scalars, factors)
        case Scaled() if weighted:
            assert isinstance(node.factor, Node)
            number, scalars, factors = taken_apart(node.children[-1])
            return Term(number, (node.factor, *scalars), factors)
        case Product():
            number, scalars, factors = 1, (), ()
            for x in node.factors:
                is_scaled = isinstance(x, Scaled)
                own, others, parts = taken_apart(x, weighted) if is_scaled else Term(1, (), (x,))
                number, scalars, factors = number * own, scalars + others, factors + parts
            return Term(number, scalars, factors)
        case _:
            return Term(1, (), (node,))


def joined(number: Number, factors: Sequence[Node], scalars: Sequence[Node] = ()) -> Node:
    """The inverse of `taken_apart`."""
    whole = scale(whole_number(number), chained(factors))
    return reduce(lambda x, k: scale(k, x), reversed(scalars), whole)


def weighed(number: Number, factors: Sequence[Node], scalars: Sequence[Node]) -> Node:
    """A term; scalars that cancel are gone, k k^-1 = 1, also where the term is one number."""
    whole = chained(factors)
    if not whole.is_scalar:
        return joined(number, factors, gathered(scalars)) if scalars else joined(number, factors)
    if not scalars:
        return joined(number, factors)
    kept = gathered([*scalars, whole])
    return joined(number, kept[-1:] or (Identity(SCALAR),), kept[:-1])


def gathered(scalars: Iterable[Node]) -> tuple[Node, ...]:
    """The scalars of a product: k k^-1 = 1, k.sqrt k.sqrt = k."""
    kept: list[Node] = []
    for one in scalars:
        if isinstance(one, Identity):
            continue
        if isinstance(one, Root) and one in kept:
            kept.remove(one)
            one = one.children[0]
        opposite = invert(one)
        if opposite in kept:
            kept.remove(opposite)
        else:
            kept.append(one)
    return tuple(kept)


def chained(factors: Sequence[Node]) -> Node:
    """The product of factors whose spaces are known to fit."""
    flat = [x for one in factors for x in one.factors if not isinstance(x, Identity)]
    if len(flat) > 1:
        return Product(*flat)
    return flat[0] if flat else factors[0]


def summed(terms: Sequence[Node]) -> Node:
    """The sum of terms whose spaces are known to fit."""
    flat = [x for one in terms for x in one.terms]
    return Sum(*flat) if len(flat) > 1 else flat[0]


K = TypeVar("K", bound=Hashable)


def totals(pairs: Iterable[tuple[K, Number]]) -> dict[K, Number]:
    """The sums of numbers by their keys, those that vanish but for roundoff left out."""
    sums: dict[K, Number] = {}
    sizes: dict[K, Number] = {}
    for key, number in pairs:
        sums[key] = sums.get(key, 0) + number
        sizes[key] = sizes.get(key, 0) + abs(number)
    return {key: x for key, x in sums.items() if abs(x) > ROUNDOFF * sizes[key]}


def multiply_out(
    node: Node,
    words_of: Callable[[Node], Polynomial],
    times: Callable[[Polynomial, Polynomial], Polynomial],
) -> Polynomial:
    """A sum, a multiple or a product as a sum of words, by the distributive law.

    The normal form and the lowering both multiply out here.

    Args:
        node: the expression; what is none of these is one word.
        words_of: the words of its parts; it decides what is left whole.
        times: the product of two sums of words; it decides what cancels.
    """
    match node:
        case Sum():
            return totals(pair for x in node.children for pair in words_of(x).items())
        case Scaled():
            words, factor = words_of(node.children[-1]), node.factor
            if isinstance(factor, Node):
                return times(words_of(factor), words)
            return totals((word, number * factor) for word, number in words.items())
        case Product():
            return reduce(times, map(words_of, node.factors))
        case Identity():
            return {Word((), ()): 1}
        case _:
            return {Word((), (node,)): 1}


def zero_like(node: Node) -> Node:
    """Zero between the spaces of an expression."""
    if node.is_square and node.source is not None:
        return Scaled(0, Identity(node.source))
    factors = taken_apart(node.terms[0])[2]
    runs = [run for n in range(1, len(factors)) for run in (factors[:n], factors[-n:])]
    fits = (x for x in runs if x[-1].source is node.source and x[0].target is node.target)
    one = chained(next(fits, factors))
    return zero_like(one) if isinstance(one, Sum) else Scaled(0, one)


def is_zero(node: Node) -> bool:
    """Whether an expression is zero by its form."""
    return isinstance(node, Scaled) and node.factor == 0


def whole_number(number: Number) -> Number:
    """2 for 2.0; other numbers as they are."""
    return int(number) if isinstance(number, float) and number.is_integer() else number
