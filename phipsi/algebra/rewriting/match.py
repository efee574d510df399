"""Where a rule applies, and what becomes of the expression there.

A product matches a run of factors, also where the run begins or ends in a term of a sum: then
the sum is multiplied out as far as needed, `W (T - H phi x) = W T - (W H phi) x`. A sum
matches some terms of a sum. A variable stands for anything between its spaces.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import reduce
from itertools import pairwise

from phipsi.algebra.node import (
    Identity,
    Node,
    Product,
    Root,
    Scaled,
    Sum,
    Symbol,
    Transpose,
    add,
    compose,
    scale,
)
from phipsi.algebra.rewriting.normal import atoms_of, term_of, tidied, words_of
from phipsi.algebra.rewriting.rules import Rule, plain
from phipsi.algebra.rewriting.terms import Number, Word, chained, joined, summed, taken_apart
from phipsi.algebra.spaces import Causality
from phipsi.algebra.stars import starred
from phipsi.errors import InputError

Bindings = dict[Symbol, Node]
MOST_SITES = 12  # where a rule is applied everywhere
MOST_WORDS = 40  # of a sum that is looked into


# -- where a rule applies ----------------------------------------------------------------


def rewritten(node: Node, rule: Rule) -> Iterator[Node]:
    """The expression with the rule applied at one place, for each place; not yet tidy."""
    if not rule.signs <= atoms_of(node):
        return
    yield from _here(node, rule)
    if isinstance(node, Transpose):
        return
    for i, child in enumerate(node.children):
        for new in rewritten(child, rule):
            if not isinstance(node, Root) or new.causality is Causality.MEMORYLESS:
                yield _put(node, i, new)


def rewritten_everywhere(node: Node, rules: Sequence[Rule]) -> Node | None:
    """The expression with rules applied until none applies; None if that has no end."""
    for _ in range(MOST_SITES):
        found = (new for rule in rules for new in rewritten(node, rule))
        new = next(found, None)
        if new is None:
            return node
        node = tidied(new, split=False)
    return None


def _put(node: Node, place: int, child: Node) -> Node:
    children = (*node.children[:place], child, *node.children[place + 1 :])
    if isinstance(node, Product):
        return chained(children)
    return node.rebuild(children)


def _here(node: Node, rule: Rule) -> Iterator[Node]:
    match rule.left:
        case Sum() if isinstance(node, Sum):
            yield from _some_terms(node, rule)
        case Product():
            yield from _some_factors(node.factors, rule)
        case _:
            for bindings in _unified(rule.left, node, rule, {}):
                yield _filled(rule.right, bindings)


def _some_factors(factors: tuple[Node, ...], rule: Rule) -> Iterator[Node]:
    pattern = rule.left.factors
    for start in range(len(factors)):
        for end, bindings in _runs(pattern, factors, start, rule, {}):
            if end > start:  # all variables may be I
                yield chained((*factors[:start], _filled(rule.right, bindings), *factors[end:]))
    if len(pattern) > 1 and len(factors) > 1:
        yield from _through_sums(factors, rule)


def _through_sums(factors: tuple[Node, ...], rule: Rule) -> Iterator[Node]:
    """Runs that begin or end inside a sum, or both in one sum each.

    Sums are looked at term by term; multiplied out only where no term as it stands will do.
    """
    sums = [i for i, x in enumerate(factors) if isinstance(x, Sum)]
    found = False
    for terms in (_terms, words_of):
        words = {i: _at_edge(terms(factors[i]), rule) for i in sums}
        choices = [{i: x} for i in sums for x in words[i]]
        choices += [{i: x, j: y} for i, j in pairwise(sums) for x in words[i] for y in words[j]]
        for choice in choices:
            for new in _across(factors, terms, choice, rule):
                found = True
                yield new
        if found:
            return


Entry = tuple[Word, Number]


def _terms(node: Node) -> tuple[Entry, ...]:
    """The terms of a sum as they stand."""
    entries = []
    for term in node.terms:
        number, scalars, factors = taken_apart(term)
        entries.append((Word(scalars, () if isinstance(term, Identity) else factors), number))
    return tuple(entries)


def _at_edge(words: Sequence[Entry], rule: Rule) -> list[Entry]:
    """The words that a run may enter from the left, or leave to the right."""
    if rule.variables:
        return list(words[:MOST_WORDS])
    pattern = set(rule.left.factors)
    near = [x for x in words if _begins_or_ends(x[0].factors, pattern)]
    return near[:MOST_WORDS]


def _begins_or_ends(factors: Sequence[Node], pattern: Collection[Node]) -> bool:
    return not factors or factors[0] in pattern or factors[-1] in pattern


def _across(
    factors: tuple[Node, ...],
    terms: Callable[[Node], tuple[Entry, ...]],
    chosen: dict[int, Entry],
    rule: Rule,
) -> Iterator[Node]:
    """Runs in the product with one word of each chosen sum in the place of the sum."""
    word: list[Node] = []
    places: list[int] = []  # of which factor each entry of the word is
    for i, x in enumerate(factors):
        parts = chosen[i][0].factors if i in chosen else (x,)
        word += parts
        places += [i] * len(parts)
    for start in range(len(word)):
        for end, bindings in _runs(rule.left.factors, word, start, rule, {}):
            touched = set(places[start:end])
            if not set(chosen) <= touched or len(touched) < 2:
                continue
            first, last = min(touched), max(touched)
            inside = [k for k, place in enumerate(places) if first <= place <= last]
            before, after = word[inside[0] : start], word[end : inside[-1] + 1]
            made = (*before, _filled(rule.right, bindings), *after)
            new = _scaled(chained(made), *chosen.values())
            rests = _rests(factors[first : last + 1], terms, first, chosen)
            inner = summed((new, *rests))
            yield chained((*factors[:first], inner, *factors[last + 1 :]))


def _scaled(node: Node, *words: Entry) -> Node:
    for word, number in words:
        node = joined(number, (node,), word.scalars)
    return node


def _rests(
    factors: tuple[Node, ...],
    terms: Callable[[Node], tuple[Entry, ...]],
    first: int,
    chosen: dict[int, Entry],
) -> Iterator[Node]:
    """What a product has beside the product of the chosen words."""
    done: tuple[Node, ...] = ()
    for i, x in enumerate(factors, first):
        if i not in chosen:
            done += (x,)
            continue
        others = list(terms(x))
        others.remove(chosen[i])
        if others:
            rest = summed([term_of(number, word, x) for word, number in others])
            yield chained((*done, rest, *factors[i - first + 1 :]))
        word, number = chosen[i]
        done += (term_of(number, word, x),)


def _some_terms(node: Sum, rule: Rule) -> Iterator[Node]:
    terms, wanted = list(node.terms), list(rule.left.terms)
    if len(wanted) > len(terms):
        return
    for first in terms:
        number = taken_apart(first)[0]
        for ratio in {number / taken_apart(wanted[0])[0]}:
            for taken, bindings in _picks(wanted, terms, ratio, rule, {}):
                rest = [x for i, x in enumerate(terms) if i not in taken]
                new = scale(ratio, _filled(rule.right, bindings))
                yield reduce(add, rest, new)


def _picks(
    wanted: list[Node], terms: list[Node], ratio: float, rule: Rule, bindings: Bindings
) -> Iterator[tuple[tuple[int, ...], Bindings]]:
    if not wanted:
        yield (), bindings
        return
    number, scalars, factors = taken_apart(wanted[0])
    for i, term in enumerate(terms):
        own, others, parts = taken_apart(term)
        if own != ratio * number or others != scalars:
            continue
        for end, bound in _runs(factors, parts, 0, rule, bindings):
            if end != len(parts):
                continue
            left = [x if k != i else Scaled(0, x) for k, x in enumerate(terms)]
            for taken, full in _picks(wanted[1:], left, ratio, rule, bound):
                yield (i, *taken), full


def rewritten_words(node: Node, rule: Rule) -> Iterator[Node]:
    """The expression multiplied out, and a sum replaced where all its words stand between others.

    A B x + A C x, by B + C = E: A E x. Numbers need not agree: for each that one of the words
    has, so much of the sum is replaced.
    """
    if not isinstance(rule.left, Sum) or rule.variables or not rule.signs <= atoms_of(node):
        return
    try:
        words, pattern = dict(words_of(tidied(node))), dict(words_of(tidied(rule.left)))
    except InputError:  # too long
        return
    lead = max(pattern, key=lambda x: len(x.factors), default=Word((), ()))
    length = len(lead.factors)
    if not length or any(x.scalars for x in pattern):
        return
    for word in words:
        for start in range(len(word.factors) - length + 1):
            if word.factors[start : start + length] != lead.factors:
                continue
            before, after = word.factors[:start], word.factors[start + length :]
            inside = {
                Word(word.scalars, (*before, *x.factors, *after)): n for x, n in pattern.items()
            }
            if not inside.keys() <= words.keys():
                continue
            new = joined(1, (*before, rule.right, *after), word.scalars)
            for ratio in dict.fromkeys(words[x] / n for x, n in inside.items()):
                rest = [(x, n - ratio * inside.get(x, 0)) for x, n in words.items()]
                left = [term_of(n, x, node) for x, n in rest if n]
                yield summed([*left, scale(ratio, new)])


# -- unification -------------------------------------------------------------------------


def _runs(
    pattern: Sequence[Node], word: Sequence[Node], start: int, rule: Rule, bindings: Bindings
) -> Iterator[tuple[int, Bindings]]:
    """Ends of runs of the word that match the pattern from `start` on."""
    if not pattern:
        yield start, bindings
        return
    head, rest = pattern[0], pattern[1:]
    is_variable = plain(head) in rule.variables
    if is_variable and head.is_square and not head.is_scalar:  # it may be I
        assert head.source is not None
        for bound in _bound(head, Identity(head.source), bindings):
            yield from _runs(rest, word, start, rule, bound)
    if start >= len(word):
        return
    if is_variable:
        for end in range(start + 1, len(word) - len(rest) + 1):
            for bound in _bound(head, reduce(compose, word[start:end]), bindings):
                yield from _runs(rest, word, end, rule, bound)
        return
    for bound in _unified(head, word[start], rule, bindings):
        yield from _runs(rest, word, start + 1, rule, bound)


def _unified(pattern: Node, node: Node, rule: Rule, bindings: Bindings) -> Iterator[Bindings]:
    if not rule.variables:
        if pattern == node:
            yield bindings
        return
    if plain(pattern) in rule.variables:
        yield from _bound(pattern, node, bindings)
    elif isinstance(pattern, Product) and isinstance(node, Product):
        for end, bound in _runs(pattern.factors, node.factors, 0, rule, bindings):
            if end == len(node.factors):
                yield bound
    elif not pattern.children or isinstance(pattern, Transpose):
        if pattern == node:
            yield bindings
    elif type(pattern) is type(node) and _alike(pattern, node):
        yield from _all_unified(pattern.children, node.children, rule, bindings)


def _alike(pattern: Node, node: Node) -> bool:
    """Whether two expressions are the same function of their children."""
    same_length = len(pattern.children) == len(node.children)
    return same_length and pattern.rebuild(node.children) == node


def _all_unified(
    patterns: Sequence[Node], nodes: Sequence[Node], rule: Rule, bindings: Bindings
) -> Iterator[Bindings]:
    if not patterns:
        yield bindings
        return
    for bound in _unified(patterns[0], nodes[0], rule, bindings):
        yield from _all_unified(patterns[1:], nodes[1:], rule, bound)


def _bound(pattern: Node, node: Node, bindings: Bindings) -> Iterator[Bindings]:
    """The variable of the pattern as this node, if their spaces agree and it is not another."""
    if pattern.source is not node.source or pattern.target is not node.target:
        return
    letter = plain(pattern)
    assert isinstance(letter, Symbol)
    value = tidied(starred(node)) if isinstance(pattern, Transpose) else node
    in_blocks = letter.causality is Causality.MEMORYLESS and not letter.is_vector
    if in_blocks and value.causality is not Causality.MEMORYLESS:
        return
    if bindings.get(letter, value) == value:
        yield {**bindings, letter: value}


def _filled(node: Node, bindings: Bindings) -> Node:
    """An expression with its variables replaced."""
    if not bindings:
        return node
    if isinstance(node, Symbol):
        return bindings.get(node, node)
    if not node.children:
        return node
    return node.rebuild(tuple(_filled(x, bindings) for x in node.children))
