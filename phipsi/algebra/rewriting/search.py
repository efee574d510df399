"""The search for the cheapest expression: rules applied step by step, under a cost passed in.

Best first, and the promising before the rest: the cheapest expression that was not looked at
is rewritten by every rule that makes it cheaper, wherever the rule applies; where none is left,
by the rules that make it dearer first; where none is left, by rules at one place alone.
Expressions that are equal by the axioms alone are one; of the ways to write it, the cheapest is
kept. The search ends where nothing new appears within reach, or at its bound.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from phipsi.algebra.identities.equation import Equation
from phipsi.algebra.node import Node, Scaled
from phipsi.algebra.rewriting.collect import forms_of
from phipsi.algebra.rewriting.match import (
    MOST_WORDS,
    rewritten,
    rewritten_everywhere,
    rewritten_words,
)
from phipsi.algebra.rewriting.normal import atoms_of, key_of, tidied, words_of
from phipsi.algebra.rewriting.rules import Rule, Way
from phipsi.algebra.rewriting.terms import is_zero
from phipsi.algebra.walk import walk
from phipsi.errors import InputError

Price = Callable[[Node], Any]  # of an expression; prices are compared
Reach = Callable[[Any, Any], bool]  # whether a price is worth a look, beside the best one

MOST_PLACES = 6  # at which one rule is tried one by one
WORDS = 200  # of all expressions that were made, for each that may be looked at
MUCH_DEARER = "expressions that are much dearer"
TOO_LONG = "expressions too long to be multiplied out"
TOO_DEEP = "expressions nested too deeply"
MORE_WORDS = f"terms beyond the first {MOST_WORDS} of a sum"
ENDLESS = "identities that apply again to what they make"
MORE_PLACES = f"more than {MOST_PLACES} places for one identity"
CHEAPER, DEARER, SINGLE = range(3)  # stages in which an expression is rewritten


@dataclass(frozen=True)
class Found:
    """An expression on the way, and how it was reached.

    Args:
        node: how it is written.
        price: what it costs.
        before: where it came from; None for the first.
        made: what the rule itself made of that, before it was tidied.
        equation: by which it was reached; None for the first.
        used: names of the equations that were asked for and have been used.
    """

    node: Node
    price: Any = None
    before: Found | None = None
    made: Node | None = None
    equation: Equation | None = None
    used: frozenset[str] = frozenset()

    @property
    def way(self) -> tuple[Found, ...]:
        """From the first expression to this one."""
        found: list[Found] = []
        at: Found | None = self
        while at is not None:
            found.append(at)
            at = at.before
        return tuple(reversed(found))


@dataclass
class Search:
    """The search for an expression that is cheaper than another.

    Args:
        start: the expression, tidy.
        ways: equations read one way, each with its star.
        price: what an expression costs.
        within_reach: whether an expression of one price may lead to one cheaper than another.
        wanted: names of equations without which nothing counts as found.
        every: whether rules are tried, too, that apply again to what they make.
        told: called whenever an expression is rewritten.

    `left_out` has what was not looked at though the bound would have allowed it, in words.
    """

    start: Node
    ways: Sequence[Way]
    price: Price
    within_reach: Reach
    wanted: frozenset[str] = frozenset()
    every: bool = False
    told: Callable[[], None] | None = None
    looked_at: int = field(default=0, init=False)
    words: int = field(default=0, init=False)  # of all expressions that were made
    seen: dict[Any, Found] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.left_out: set[str] = set()
        first = self._best_form(Found(self.start))
        self._first, self._as_it_stands = first, Found(self.start, self.price(self.start))
        self.best = first
        self._best_price: dict[frozenset[str], Any] = {}
        self._order = count()
        self._waiting: list[tuple[int, Any, int, Found]] = []
        self._not_tried: list[Rule] = []
        self._sorted = self._by_stage()
        self._zeros = {way[0].left for way in self.ways if way[0].drops_a_letter}
        self._take(first)

    def _by_stage(self) -> dict[int, list[Way]]:
        """Ways that make an expression cheaper, and those that make it dearer first."""
        stages: dict[int, list[Way]] = {CHEAPER: [], DEARER: [], SINGLE: []}
        for way in self.ways:
            rule = way[0]
            cheaper = self.price(rule.right) <= self.price(rule.left)
            asked = self.every or rule.equation.name in self.wanted
            if not cheaper and not asked and _feeds_itself(rule):
                self._not_tried.append(rule)
                continue
            stages[CHEAPER if cheaper else DEARER].append(way)
            if rule.equation.name not in self.wanted:
                stages[SINGLE].append(way)
        return stages

    def leaves_rules_out(self) -> bool:
        """Whether some rule was not tried that would apply again and again to what it makes."""
        nodes = [x.node for x in self.seen.values()]
        return any(
            rule.signs <= atoms_of(node) and next(rewritten(node, rule), None) is not None
            for rule in self._not_tried
            for node in nodes
        )

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to look at."""
        return not self._waiting

    def run(self, bound: int) -> bool:
        """Rewrite at most `bound` expressions; whether nothing is left to look at."""
        while self._waiting and not self.is_spent(bound):
            self.look_at_next()
        return self.is_done

    def is_spent(self, bound: int) -> bool:
        """Whether so many expressions were rewritten, or as many words made as these may have."""
        return self.looked_at >= bound or self.words >= WORDS * bound

    def look_at_next(self) -> None:
        """Rewrite the most promising expression."""
        stage, _, _, found = heapq.heappop(self._waiting)
        if is_zero(found.node):
            return
        if not self._is_within_reach(found):
            self.left_out.add(MUCH_DEARER)
            return
        self.looked_at += 1
        if self.told is not None:
            self.told()
        if stage < SINGLE:
            self._push(stage + 1, found)
        try:
            self._look_beyond(found, stage)
        except RecursionError:  # no user typed that
            self.left_out.add(TOO_DEEP)

    def _look_beyond(self, found: Found, stage: int) -> None:
        """Take what the rules of a stage make of an expression."""
        passed = {key_of(x.node) for x in found.way}
        for step in self._rewritten_forms(found, stage):
            key = self._key(step)
            if key is None:
                self.left_out.add(TOO_LONG)
                continue
            if key in self.seen or key[0] in passed or self._piles_up(step.node):
                continue
            new = self._best_form(step)
            self.seen[key] = new
            if self._is_within_reach(new):
                self._take(new)
            else:
                self.left_out.add(MUCH_DEARER)

    def _piles_up(self, node: Node) -> bool:
        """Whether it has a multiple of a letter that is zero: more would come without an end."""
        return bool(self._zeros) and any(
            isinstance(x, Scaled) and x.factor not in (0, 1, -1) and self._zeros & atoms_of(x)
            for x in walk(node)
        )

    def _is_within_reach(self, found: Found) -> bool:
        """Whether it may lead to something cheaper than the best by the same wanted equations."""
        best = self._best_price.get(found.used)
        return best is None or self.within_reach(found.price, best)

    def _take(self, new: Found) -> None:
        self.seen.setdefault(self._key(new), new)
        best = self._best_price.get(new.used)
        self._best_price[new.used] = new.price if best is None else min(best, new.price)
        missing = len(self.wanted - new.used) - len(self.wanted - self.best.used)
        if missing < 0 or (missing == 0 and new.price < self.best.price):
            self.best = new
        self._push(CHEAPER, new)

    def _push(self, stage: int, found: Found) -> None:
        heapq.heappush(self._waiting, (stage, found.price, next(self._order), found))

    def _key(self, found: Found) -> tuple[Hashable, frozenset[str]] | None:
        """What tells expressions apart; None for those that are too long to tell."""
        try:
            key = key_of(found.node)
        except InputError:
            return None
        number = len(words_of(tidied(found.node)))
        if number > MOST_WORDS:
            self.left_out.add(MORE_WORDS)
        self.words += number
        return key, found.used

    def _rewritten_forms(self, found: Found, stage: int) -> Iterator[Found]:
        """What rules make of an expression; of the first one, also as it stands.

        Where factors were taken out of it, a term that a rule is about may have become part of
        another: A x + H phi y with A = (I + H phi K) D (I + H phi K)*.
        """
        made = self._rewritten(found, stage)
        if found is not self._first or found.node == self.start:
            yield from made
            return
        seen: set[Node] = set()
        for step in (*made, *self._rewritten(self._as_it_stands, stage)):
            if step.node not in seen:
                seen.add(step.node)
                yield step

    def _rewritten(self, found: Found, stage: int) -> Iterator[Found]:
        for way in self._sorted[stage]:
            equation = way[0].equation
            used = found.used | ({equation.name} & self.wanted)
            for made in self._made(found.node, way, stage):
                yield Found(tidied(made), None, found, made, equation, used)

    def _made(self, node: Node, way: Sequence[Rule], stage: int) -> Iterator[Node]:
        """What an equation makes of an expression: everywhere, or at each place it applies to."""
        if stage < SINGLE:
            new = rewritten_everywhere(node, way)
            if new is None:  # it would apply again and again
                made = (new for rule in way for new in rewritten(node, rule))
                new = next((new for new in made if new != node), node)
            if new != node:
                yield new
            if self.every:
                yield from (new for rule in way for new in rewritten_words(node, rule))
            return
        made = (new for rule in way for new in rewritten(node, rule))
        places = [new for new in dict.fromkeys(made) if new != node]
        if len(places) > MOST_PLACES:
            self.left_out.add(MORE_PLACES)
        if len(places) > 1:
            yield from places[:MOST_PLACES]

    def _best_form(self, found: Found) -> Found:
        """The cheapest way to write an expression."""
        forms = dict.fromkeys(forms_of(found.node))
        priced = ((self.price(form), place, form) for place, form in enumerate(forms))
        price, _, best = min(priced, key=lambda x: x[:2])
        return replace(found, node=best, price=price)


def _feeds_itself(rule: Rule) -> bool:
    """Whether a rule applies again to what it made."""
    return next(rewritten(rule.right, rule), None) is not None
