"""Normal forms: what an expression is, whatever way it was typed.

`tidied` keeps the factors as they stand: stars on letters, inverses of single factors, no
neighbours that cancel, like terms added. `polynomial` multiplies out: a sum of words, each
a number, scalars that commute, and letters that do not. Two expressions are equal by the
axioms of the algebra alone where their polynomials are; `spelled` makes an expression of one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache, reduce
from typing import NamedTuple, TypeVar

from phipsi.algebra.node import (
    Bracket,
    Identity,
    Inverse,
    Node,
    Product,
    Root,
    Scaled,
    Sum,
    Symbol,
    Transpose,
    invert,
    scale,
)
from phipsi.algebra.spaces import SCALAR
from phipsi.algebra.stars import starred
from phipsi.errors import InputError

LARGEST = 600  # words of a polynomial
ROUNDOFF = 1e-12  # of numbers that are added

Number = int | float


class Word(NamedTuple):
    """Scalars that commute, and factors that do not."""

    scalars: tuple[Node, ...]
    factors: tuple[Node, ...]


Polynomial = dict[Word, Number]


# -- tidy --------------------------------------------------------------------------------


def starred_letters(node: Node) -> Node:
    """An expression as it was typed, but for stars, which are on letters."""
    if isinstance(node, Transpose):
        return starred(starred_letters(node.children[0]))
    if not node.children:
        return node
    return node.rebuild(tuple(map(starred_letters, node.children)))


@lru_cache(maxsize=20_000)
def tidied(node: Node, split: bool = True) -> Node:
    """An expression with stars on letters, inverses of single factors, and nothing that cancels.

    Args:
        node: the expression.
        split: whether the inverse of a product becomes the product of inverses.
    """

    def tidy(x: Node) -> Node:
        return tidied(x, split)

    match node:
        case Transpose() if isinstance(node.children[0], (Symbol, Root)):
            return starred(tidy(node.children[0]))
        case Transpose():
            return tidy(starred(node.children[0]))
        case Inverse():
            operand = tidy(node.children[0])
            return inverted(operand) if split else invert(operand)
        case Product():
            return _product(map(tidy, node.children))
        case Sum():
            return _sum(list(map(tidy, node.children)), node)
        case Scaled():
            return _scaled(node, tidy)
        case _ if node.children:
            return node.rebuild(tuple(map(tidy, node.children)))
        case _:
            return node


def inverted(node: Node) -> Node:
    """A^-1: of a product the inverses of its factors, in the other order."""
    match node:
        case Scaled() if not isinstance(node.factor, Node) and node.factor != 0:
            return scale(1 / node.factor, inverted(node.children[-1]))
        case Scaled() if isinstance(node.factor, Node):
            return scale(invert(node.factor), inverted(node.children[-1]))
        case Product() if all(x.is_square and not x.is_scalar for x in node.factors):
            return _product(inverted(x) for x in reversed(node.factors))
        case Symbol() if node.name == "X" and not node.free:  # a turn
            return starred(node)
        case _:
            return invert(node)


def _product(factors: Iterable[Node]) -> Node:
    number: Number = 1
    scalars: list[Node] = []
    word: list[Node] = []
    for factor in factors:
        own, others, parts = taken_apart(factor)
        number *= own
        scalars += others
        for part in parts:
            if word and are_inverse(word[-1], part):
                last = word.pop()
                if not word:
                    word.append(Identity(last.target))
            elif isinstance(part, Identity) and word:
                continue
            elif word and isinstance(word[-1], Identity):
                word[-1] = part
            else:
                word.append(part)
    if number == 0:
        return zero_like(chained(word))
    return joined(number, word, scalars)


def are_inverse(left: Node, right: Node) -> bool:
    """Whether two neighbours cancel."""
    if not (left.is_square and right.is_square) or left.is_scalar:
        return False
    return inverted(left) == right or inverted(right) == left


def taken_apart(node: Node) -> tuple[Number, tuple[Node, ...], tuple[Node, ...]]:
    """A term as number, scalars, and factors."""
    match node:
        case Scaled():
            number, scalars, factors = taken_apart(node.children[-1])
            if isinstance(node.factor, Node):
                return number, (node.factor, *scalars), factors
            return number * node.factor, scalars, factors
        case Product():
            number, scalars, factors = 1, (), ()
            for x in node.factors:
                own, others, parts = taken_apart(x) if isinstance(x, Scaled) else (1, (), (x,))
                number, scalars, factors = number * own, scalars + others, factors + parts
            return number, scalars, factors
        case _:
            return 1, (), (node,)


def joined(number: Number, factors: Sequence[Node], scalars: Sequence[Node] = ()) -> Node:
    """The inverse of `taken_apart`."""
    return reduce(lambda x, k: scale(k, x), scalars, scale(_whole(number), chained(factors)))


def chained(factors: Sequence[Node]) -> Node:
    """The product of factors whose spaces are known to fit."""
    flat = [x for one in factors for x in one.factors if not isinstance(x, Identity)]
    if len(flat) > 1:
        return Product(*flat)
    return flat[0] if flat else factors[0]


def _whole(number: Number) -> Number:
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _sum(terms: Sequence[Node], whole: Node) -> Node:
    """Like terms added, in the order of their first appearance."""
    parts = (taken_apart(part) for one in terms for part in one.terms)
    numbers = totals(((scalars, factors), number) for number, scalars, factors in parts)
    kept = [(number, key) for key, number in numbers.items()]
    if not kept:
        return zero_like(whole)
    return summed([joined(number, factors, scalars) for number, (scalars, factors) in kept])


def _scaled(node: Scaled, tidy: Callable[[Node], Node]) -> Node:
    operand = tidy(node.children[-1])
    if not isinstance(node.factor, Node):
        return zero_like(operand) if node.factor == 0 else _product((scale(node.factor, operand),))
    return scale(tidy(node.factor), operand)


K = TypeVar("K", bound=Hashable)


def totals(pairs: Iterable[tuple[K, Number]]) -> dict[K, Number]:
    """The sums of numbers by their keys, those that vanish but for roundoff left out."""
    sums: dict[K, Number] = {}
    sizes: dict[K, Number] = {}
    for key, number in pairs:
        sums[key] = sums.get(key, 0) + number
        sizes[key] = sizes.get(key, 0) + abs(number)
    return {key: x for key, x in sums.items() if abs(x) > ROUNDOFF * sizes[key]}


def zero_like(node: Node) -> Node:
    """Zero between the spaces of an expression."""
    if node.is_square and node.source is not None:
        return Scaled(0, Identity(node.source))
    return Scaled(0, chained(taken_apart(node.terms[0])[2]))


def is_zero(node: Node) -> bool:
    """Whether an expression is zero by its form."""
    return isinstance(node, Scaled) and node.factor == 0


# -- polynomials -----------------------------------------------------------------------


@lru_cache(maxsize=20_000)
def words_of(node: Node) -> tuple[tuple[Word, Number], ...]:
    """The words of a tidy expression, and how often each occurs."""
    return tuple(_multiplied_out(node).items())


def polynomial(node: Node) -> Polynomial:
    """A tidy expression multiplied out."""
    return dict(words_of(node))


def _multiplied_out(node: Node) -> Polynomial:
    match node:
        case Sum():
            return totals(pair for x in node.children for pair in words_of(x))
        case Scaled():
            operand = polynomial(node.children[-1])
            if isinstance(node.factor, Node):
                return _times(polynomial(tidied(node.factor)), operand)
            return _times({Word((), ()): node.factor}, operand)
        case Product():
            return reduce(_times, (polynomial(x) for x in node.factors))
        case Identity():
            return {Word((), ()): 1}
        case Transpose() | Symbol():
            return {_word((), (node,)): 1}
        case _:
            inner = node.rebuild(tuple(canonical(x) for x in node.children))
            if type(inner) is not type(node):  # it came out simpler, as an inverse may
                return polynomial(tidied(inner))
            return {_word((), (inner,)): 1}


def _times(left: Polynomial, right: Polynomial) -> Polynomial:
    if len(left) * len(right) > LARGEST:
        raise InputError(
            f"the expression has more than {LARGEST} terms when it is multiplied out; "
            "derive its parts one by one"
        )
    return totals(
        (_word((*a.scalars, *b.scalars), _cancelled(a.factors, b.factors)), x * y)
        for a, x in left.items()
        for b, y in right.items()
    )


def _word(scalars: Iterable[Node], factors: Sequence[Node]) -> Word:
    """A word whose factors that are numbers stand among its scalars."""
    found, start = list(scalars), 0
    kept: list[Node] = []
    for end, factor in enumerate(factors, 1):
        if factor.source is SCALAR or end == len(factors):
            part = factors[start:end]
            if part[0].target is SCALAR and factor.source is SCALAR:
                found.append(chained(part))
            else:
                kept += part
            start = end
    return Word(_sorted(found), tuple(kept))


def _cancelled(left: tuple[Node, ...], right: tuple[Node, ...]) -> tuple[Node, ...]:
    while left and right and are_inverse(left[-1], right[0]):
        left, right = left[:-1], right[1:]
    return left + right


def _sorted(scalars: Iterable[Node]) -> tuple[Node, ...]:
    return tuple(sorted(scalars, key=str))


def spelled(words: Polynomial, like: Node) -> Node:
    """The expression that a polynomial is, term by term; `like` knows its spaces."""
    if not words:
        return zero_like(like)
    return summed([term_of(number, word, like) for word, number in words.items()])


def term_of(number: Number, word: Word, like: Node) -> Node:
    """A word as a term of an expression."""
    if word.factors:
        return joined(number, word.factors, word.scalars)
    if like.is_scalar and word.scalars:
        return joined(number, word.scalars[:1], word.scalars[1:])
    return joined(number, (Identity(like.source),), word.scalars)


def summed(terms: Sequence[Node]) -> Node:
    """The sum of terms whose spaces are known to fit."""
    flat = [x for one in terms for x in one.terms]
    return Sum(*flat) if len(flat) > 1 else flat[0]


@lru_cache(maxsize=20_000)
def canonical(node: Node) -> Node:
    """One expression for all that are equal by the axioms: multiplied out, its terms sorted."""
    node = tidied(node)
    words = polynomial(node)
    ordered = dict(sorted(words.items(), key=lambda pair: (len(pair[0].factors), str(pair[0]))))
    return spelled(ordered, node)


def are_equal(left: Node, right: Node) -> bool:
    """Whether two expressions are equal by the axioms of the algebra alone.

    >>> from phipsi.operators import H, I, psi, K
    >>> are_equal((I - H @ psi @ K).T, I - K.T @ psi.T @ H.T)
    True
    """
    return canonical(left) == canonical(right)


@lru_cache(maxsize=50_000)
def atoms_of(node: Node) -> frozenset[Node | str]:
    """Every letter, starred or not, and the names of brackets; not those of definitions."""
    if isinstance(node, Transpose) or not node.children:
        return frozenset((node,))
    own = {node.name} if isinstance(node, Bracket) else set()
    return frozenset(own).union(*map(atoms_of, node.children))


def forget() -> None:
    """Let go of what was kept of expressions that were looked at."""
    for function in (tidied, words_of, canonical, atoms_of):
        function.cache_clear()
