"""Common factors taken out of sums: what was multiplied out, written short again.

    T - H psi K T - H psi b                           T - H psi (K T + b)
    D^-1 - K* psi* H* D^-1 - D^-1 H psi K + ...       (I - K* psi* H*) D^-1 (I - H psi K)

A sum has several such forms; `forms_of` gives them all, and who knows costs chooses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from phipsi.algebra.node import Identity, Node, Product, Scaled, Sum, Transpose, transpose
from phipsi.algebra.rewriting.normal import (
    Polynomial,
    canonical,
    polynomial,
    spelled,
    tidied,
)
from phipsi.algebra.rewriting.terms import (
    Number,
    Term,
    Word,
    is_zero,
    joined,
    summed,
    taken_apart,
    totals,
)
from phipsi.algebra.spaces import SCALAR
from phipsi.algebra.stars import starred


def forms_of(node: Node) -> Iterator[Node]:
    """Ways to write a tidy expression: as it is, and with common factors taken out."""
    yield node
    if is_zero(node) or not has_sum(node):
        return
    for whole in (True, False):
        terms = [taken_apart(x) for x in _expanded(node, whole).terms]
        if len(terms) > 1 or whole:
            left, right = from_left(terms), from_right(terms)
            yield tidied(_within(from_right(_terms(left))))
            yield tidied(_within(from_left(_terms(right))))


@lru_cache(maxsize=20_000)
def has_sum(node: Node) -> bool:
    """Whether an expression has a sum in it."""
    return isinstance(node, Sum) or any(map(has_sum, node.children))


def _expanded(node: Node, whole: bool) -> Node:
    """A sum multiplied out, short terms first; where not `whole`, sums of operators stay."""
    words = polynomial(node) if whole else _vectors_multiplied_out(node)
    return spelled(dict(sorted(words.items(), key=lambda pair: len(pair[0].factors))), node)


def _vectors_multiplied_out(node: Node) -> Polynomial:
    return totals(_vector_words(node))


def _vector_words(node: Node) -> Iterator[tuple[Word, Number]]:
    for term in node.terms:
        number, scalars, factors = taken_apart(term)
        last = factors[-1]
        parts: Iterable[tuple[Word, Number]] = [(Word((), (last,)), 1)]
        if isinstance(last, Sum) and (last.source is SCALAR or len(factors) == 1):
            parts = _vectors_multiplied_out(last).items()
        for word, own in parts:
            key = Word((*scalars, *word.scalars), (*factors[:-1], *word.factors))
            yield key, number * own


def _within(node: Node) -> Node:
    """The same inside inverses and the like."""
    if isinstance(node, (Sum, Product)) or (
        isinstance(node, Scaled) and not isinstance(node.factor, Node)
    ):
        return node.rebuild(tuple(map(_within, node.children)))
    if node.children and not isinstance(node, Transpose):
        return tidied(node.rebuild(tuple(_shorter(x, collected(x)) for x in node.children)))
    return node


def _shorter(one: Node, other: Node) -> Node:
    return other if _size(other) < _size(one) else one


def _size(node: Node) -> int:
    return 1 + sum(map(_size, node.children))


@lru_cache(maxsize=20_000)
def collected(node: Node) -> Node:
    """A sum with its common factors taken out, from the left and then from the right."""
    return _within(from_right(_terms(from_left(_terms(canonical(node))))))


def _terms(node: Node) -> list[Term]:
    return [taken_apart(x) for x in node.terms]


# -- from one side -----------------------------------------------------------------------


def from_left(terms: Sequence[Term]) -> Node:
    """A sum whose terms begin differently."""
    return _grouped(terms, FIRST)


def from_right(terms: Sequence[Term]) -> Node:
    """A sum whose terms end differently."""
    return _grouped(terms, LAST)


FIRST, LAST = 0, -1


def _grouped(terms: Sequence[Term], side: int) -> Node:
    groups: dict[Node, list[Term]] = {}
    for term in terms:
        groups.setdefault(term[2][side], []).append(term)
    return summed([_taken_out(group, side) for group in groups.values()])


def _taken_out(group: Sequence[Term], side: int) -> Node:
    """prefix (rest + rest + ...) of terms that begin alike; or with what they end in behind."""
    if len(group) == 1:
        number, scalars, factors = group[0]
        return joined(number, factors, scalars)
    words = [factors for _, _, factors in group]
    shared = _common(words, side)
    first = words[0]
    outer = first[:shared] if side == FIRST else first[len(first) - shared :]
    space = outer[-1].source if side == FIRST else outer[0].target
    sign = -1 if group[0][0] < 0 else 1
    rests = []
    for number, scalars, factors in group:
        rest = factors[shared:] if side == FIRST else factors[: len(factors) - shared]
        rests.append(Term(sign * number, scalars, rest or (Identity(space),)))
    if all(isinstance(rest[0], Identity) for _, _, rest in rests):  # scalars alone differ
        return summed([joined(n, factors, scalars) for n, scalars, factors in group])
    inner = _grouped(rests, side)
    number, scalars, parts = taken_apart(inner)
    parts = (*outer, *parts) if side == FIRST else (*parts, *outer)
    return joined(sign * number, parts, scalars)


def _common(words: Sequence[tuple[Node, ...]], side: int) -> int:
    """How many factors all words begin with, or end in."""
    shortest = min(map(len, words))
    for i in range(shortest):
        place = i if side == FIRST else -1 - i
        if any(word[place] != words[0][place] for word in words):
            return i
    return shortest


# -- looks -------------------------------------------------------------------------------


def presented(node: Node) -> Node:
    """An expression with sums of stars as stars of sums, where these read better."""
    if isinstance(node, Transpose) or not node.children:
        return node
    if isinstance(node, Sum) and node.source is not SCALAR and _stars(node) > _plain(node):
        star = starred(node)
        return transpose(star.rebuild(tuple(map(presented, star.children))))
    return node.rebuild(tuple(map(presented, node.children)))


def _stars(node: Node) -> int:
    return sum(isinstance(x, Transpose) for x in _letters(node))


def _plain(node: Node) -> int:
    return sum(not isinstance(x, (Transpose, Identity)) and starred(x) != x for x in _letters(node))


def _letters(node: Node) -> Iterator[Node]:
    if isinstance(node, Transpose) or not node.children:
        yield node
    else:
        for child in node.children:
            yield from _letters(child)
