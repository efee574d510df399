"""Normal forms: what an expression is, whatever way it was typed.

`tidied` keeps the factors as they stand: stars on letters, inverses of single factors, no
neighbours that cancel, like terms added. `polynomial` multiplies out: a sum of words, each
a number, scalars that commute, and letters that do not. Two expressions are equal by the
axioms of the algebra alone where their polynomials are; `spelled` makes an expression of one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
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
TOO_LONG = (
    f"the expression has more than {LARGEST} terms when it is multiplied out; "
    "derive its parts one by one"
)
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
        case Symbol() if node.record.orthogonal:  # a turn
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
            if isinstance(part, Identity) and word:
                continue
            target = word[0].target if word else part.target
            if word and isinstance(word[-1], Identity):
                word.pop()
            append_factor(word, part)
            if not word:
                word.append(Identity(target))
    if number == 0:
        return zero_like(chained(word))
    return joined(number, word, scalars)


def append_factor(word: list[Node], factor: Node) -> None:
    """A factor behind others, and what cancels gone: X X^-1 = I, also for a product X.

    Where X is a product of factors that are not square, such as J Mass^-1 J*, its inverse is
    one factor, and X a run of several.
    """
    word.append(factor)
    for place in range(len(word) - 1):
        if is_cancelled_run(word[place:]):
            del word[place:]
            return


def is_cancelled_run(run: Sequence[Node]) -> bool:
    """Whether a run of factors is an operator beside its inverse."""
    first, last = run[0], run[-1]
    if len(run) == 2:
        return are_inverse(first, last)
    return (isinstance(last, Inverse) and last.children[0].factors == tuple(run[:-1])) or (
        isinstance(first, Inverse) and first.children[0].factors == tuple(run[1:])
    )


def are_inverse(left: Node, right: Node) -> bool:
    """Whether two neighbours cancel."""
    if not (left.is_square and right.is_square) or left.is_scalar:
        return False
    for one, other in ((left, right), (right, left)):
        if inverted(one) == other or _is_inverse_of_terms(one, other):
            return True
    return False


def _is_inverse_of_terms(one: Node, other: Node) -> bool:
    """Whether one is the inverse of the other's terms in another order."""
    if not (isinstance(one, Inverse) and isinstance(other, Sum)):
        return False
    return Counter(one.children[0].terms) == Counter(other.terms)


Term = tuple[Number, tuple[Node, ...], tuple[Node, ...]]  # number, scalars, factors


def taken_apart(node: Node, weighted: bool = True) -> Term:
    """A term as number, scalars, and factors.

    Args:
        node: the term.
        weighted: whether scalars are taken out; else `k A` stays a factor.
    """
    match node:
        case Scaled() if not isinstance(node.factor, Node):
            number, scalars, factors = taken_apart(node.children[-1], weighted)
            return number * node.factor, scalars, factors
        case Scaled() if weighted:
            assert isinstance(node.factor, Node)
            number, scalars, factors = taken_apart(node.children[-1])
            return number, (node.factor, *scalars), factors
        case Product():
            number, scalars, factors = 1, (), ()
            for x in node.factors:
                is_scaled = isinstance(x, Scaled)
                own, others, parts = taken_apart(x, weighted) if is_scaled else (1, (), (x,))
                number, scalars, factors = number * own, scalars + others, factors + parts
            return number, scalars, factors
        case _:
            return 1, (), (node,)


def number_and_factors(node: Node) -> tuple[Number, tuple[Node, ...]]:
    """A term as its number and its factors, one of them `k A` where a scalar k weighs A."""
    number, _, factors = taken_apart(node, weighted=False)
    return number, factors


def terms_of(node: Node) -> Iterator[Term]:
    """The terms of an expression, taken apart; those of scaled sums multiplied out."""
    for term in node.terms:
        number, scalars, factors = taken_apart(term)
        if len(factors) == 1 and isinstance(factors[0], Sum):
            for own, others, parts in terms_of(factors[0]):
                yield number * own, scalars + others, parts
        else:
            yield number, scalars, factors


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
    factors = taken_apart(node.terms[0])[2]
    runs = [run for n in range(1, len(factors)) for run in (factors[:n], factors[-n:])]
    fits = (x for x in runs if x[-1].source is node.source and x[0].target is node.target)
    return Scaled(0, chained(next(fits, factors)))


def is_zero(node: Node) -> bool:
    """Whether an expression is zero by its form."""
    return isinstance(node, Scaled) and node.factor == 0


def vanishes(node: Node) -> bool:
    """Whether a tidy expression is zero by the axioms, once it is multiplied out."""
    try:
        return not words_of(node)
    except InputError:  # too long
        return False


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
        raise InputError(TOO_LONG)
    return _inverses_undone(
        totals(
            (_word((*a.scalars, *b.scalars), _cancelled(a.factors, b.factors)), x * y)
            for a, x in left.items()
            for b, y in right.items()
        )
    )


def _inverses_undone(words: Polynomial) -> Polynomial:
    """X X^-1 = I for a sum X that was multiplied out: its leading term gives way.

    With X = A + B, A the longest: A X^-1 = I - B X^-1, and X^-1 A = I - X^-1 B.
    """
    while any(any(map(_is_inverse_of_sum, word.factors)) for word in words):
        found = next(((x, y) for x in words if (y := _one_undone(x)) is not None), None)
        if found is None:
            break
        word, new = found
        number = words[word]
        rest = [(x, y) for x, y in words.items() if x != word]
        words = totals([*rest, *((x, number * y) for x, y in new.items())])
        if len(words) > LARGEST:
            raise InputError(TOO_LONG)
    return words


def _one_undone(word: Word) -> Polynomial | None:
    """A word in which the leading term of a sum stands beside the inverse of the sum."""
    factors = word.factors
    for place, factor in enumerate(factors):
        if not _is_inverse_of_sum(factor):
            continue
        lead, number, others = _leading(factor.children[0])
        n = len(lead)
        for start in (place - n, place + 1):
            if n == 0 or start < 0 or factors[start : start + n] != lead:
                continue
            first, last = min(start, place), max(start + n, place + 1)
            outer = factors[:first], factors[last:]
            made = [(Word(word.scalars, _cancelled(*outer)), 1 / number)]
            for other, own in others:
                inner = (*other.factors, factor) if start < place else (factor, *other.factors)
                run = _cancelled(_cancelled(outer[0], inner), outer[1])
                made.append((_word((*word.scalars, *other.scalars), run), -own / number))
            return totals((x, _whole(y)) for x, y in made)
    return None


def _is_inverse_of_sum(node: Node) -> bool:
    return isinstance(node, Inverse) and isinstance(node.children[0], Sum)


@lru_cache(maxsize=5_000)
def _leading(node: Node) -> tuple[tuple[Node, ...], Number, tuple[tuple[Word, Number], ...]]:
    """The longest word of a sum, none where it has scalars, its number, and the other words."""
    words = words_of(node)
    lead, number = max(words, key=lambda x: (len(x[0].factors), str(x[0])))
    others = tuple(x for x in words if x[0] != lead)
    return (() if lead.scalars else lead.factors), number, others


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
    word = list(left)
    for factor in right:
        append_factor(word, factor)
    return tuple(word)


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
    return key_of(left) == key_of(right)


def key_of(node: Node) -> Hashable:
    """What all expressions share that are equal by the axioms; of all zeros, their spaces."""
    one = canonical(node)
    return (one.source, one.target) if is_zero(one) else one


@lru_cache(maxsize=50_000)
def atoms_of(node: Node) -> frozenset[Node | str]:
    """Every letter, starred or not, and the names of brackets; not those of definitions."""
    if isinstance(node, Transpose) or not node.children:
        return frozenset((node,))
    own = {node.name} if isinstance(node, Bracket) else set()
    return frozenset(own).union(*map(atoms_of, node.children))


def forget() -> None:
    """Let go of what was kept of expressions that were looked at."""
    for function in (tidied, words_of, canonical, atoms_of, _leading):
        function.cache_clear()
