"""Derivations without detours: of the steps that were found, those that are needed.

A search unfolds what it meets, and a goal is reached from both ends, so a derivation may pass
one expression twice, or go around what a single identity does. Expressions that are equal by
the axioms are one place. Between places lead the steps that were found, every identity that
makes one of the other, and pairs of identities that meet on the way; the shortest way is taken.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import groupby, islice
from typing import NamedTuple

from phipsi.algebra.node import Node
from phipsi.algebra.rewriting.collect import presented
from phipsi.algebra.rewriting.match import rewritten, rewritten_everywhere, rewritten_words
from phipsi.algebra.rewriting.normal import key_of, tidied
from phipsi.algebra.rewriting.opening import letters_in
from phipsi.algebra.rewriting.rules import Way
from phipsi.errors import InputError
from phipsi.explain.deriving.derivation import Step

FEWEST = 3  # identities of a derivation in which shorter ways are looked for
MOST_MADE = 150  # expressions that are made of one
MOST_LETTERS = 12  # of an expression of which others are made


class Place(NamedTuple):
    """An expression on the way, up to the axioms."""

    key: Hashable
    arrived: Node  # as it is written at first
    writings: tuple[Step, ...]  # by the axioms, till an identity applies
    onward: Step | None  # to the next place, by an identity; None at the end

    @property
    def left(self) -> Node:
        """As it is written at last."""
        return self.writings[-1].after if self.writings else self.arrived


Reached = dict[Hashable, Step]  # places next to one, and the step there


def shorten(steps: Sequence[Step], ways: Sequence[Way]) -> tuple[Step, ...]:
    """The same derivation by fewer steps, if there are fewer.

    Args:
        steps: one after the other.
        ways: of the equations that may be used.
    """
    if len(steps) < 2:
        return tuple(steps)
    try:
        places = _cut_loops(_places_of(steps))
        return (*_join_writings(places[0].writings), *_shortest_way(places, ways))
    except InputError:  # too long to be told apart
        return tuple(steps)


def _places_of(steps: Sequence[Step]) -> list[Place]:
    places: list[Place] = []
    arrived, writings = steps[0].before, list[Step]()
    for step in steps:
        if step.identity is None:
            writings.append(step)
        else:
            places.append(Place(key_of(arrived), arrived, tuple(writings), step))
            arrived, writings = step.after, []
    return [*places, Place(key_of(arrived), arrived, tuple(writings), None)]


def _cut_loops(places: Sequence[Place]) -> list[Place]:
    """Without what lies between two places that are one."""
    kept: list[Place] = []
    for place in places:
        before = next((i for i, x in enumerate(kept) if x.key == place.key), None)
        if before is not None:
            first = kept[before]
            writings = (*first.writings, *place.writings)
            place = place._replace(arrived=first.arrived, writings=writings)
            del kept[before:]
        kept.append(place)
    return kept


def _join_writings(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Steps by the axioms; of those that do the same, one after the other, one is enough."""
    runs = [list(run) for _, run in groupby(steps, lambda step: step.name)]
    joined = (Step(run[0].before, run[-1].after, run[0].name) for run in runs)
    return tuple(step for step in joined if step.before != step.after)


def _shortest_way(places: Sequence[Place], ways: Sequence[Way]) -> tuple[Step, ...]:
    """The fewest steps from the first place to the last."""
    is_long = len(places) - 1 >= FEWEST
    near: list[Reached] = [_reached_from(x, ways) if is_long else {} for x in places]
    best: list[tuple[Step, ...]] = [()]  # to each place
    for j in range(1, len(places)):
        found = ((*best[i], *_steps_between(places, near, i, j)) for i in range(j - 1))
        usual = (*best[j - 1], *_steps_found(places, j))
        choices = [x for x in found if x and x[-1].after == places[j].left]
        best.append(min((usual, *choices), key=_number_of_identities))
    return best[-1]


def _number_of_identities(steps: Sequence[Step]) -> int:
    """Steps by the axioms tell what was written how: these are worth their place."""
    return sum(step.identity is not None for step in steps)


def _steps_found(places: Sequence[Place], j: int) -> tuple[Step, ...]:
    """From the place before, as it was found."""
    onward = places[j - 1].onward
    assert onward is not None
    return (onward, *_join_writings(places[j].writings))


def _steps_between(
    places: Sequence[Place], near: Sequence[Reached], i: int, j: int
) -> tuple[Step, ...]:
    """By one identity, or by two that meet; none where there are none."""
    start, end = places[i].left, places[j].left
    there, back = near[i].get(places[j].key), near[j].get(places[i].key)
    single = there or back
    if single is not None:
        return (Step(start, end, single.name, single.identity),)
    meeting = next((key for key in near[i] if key in near[j]), None)
    if meeting is None:
        return ()
    there, back = near[i][meeting], near[j][meeting]
    return (there, Step(there.after, end, back.name, back.identity))


def _reached_from(place: Place, ways: Sequence[Way]) -> Reached:
    """What single identities make of an expression."""
    found: Reached = {}
    node = tidied(place.left)
    if sum(1 for _ in letters_in(node)) > MOST_LETTERS:
        return found
    for new, way in islice(_made(node, ways), MOST_MADE):
        try:
            after = tidied(new)
            key = key_of(after)
        except InputError:  # too long
            continue
        equation = way[0].equation
        found.setdefault(key, Step(place.left, presented(after), equation.name, equation))
    found.pop(place.key, None)
    return found


def _made(node: Node, ways: Sequence[Way]) -> Iterator[tuple[Node, Way]]:
    """What each equation makes of an expression: everywhere, and at each place it applies to."""
    for way in ways:
        single = [new for rule in way for new in rewritten(node, rule)]
        if len(single) > 1:
            everywhere = rewritten_everywhere(node, way)
            single += [] if everywhere is None else [everywhere]
        summed = (new for rule in way for new in rewritten_words(node, rule))
        yield from ((new, way) for new in dict.fromkeys((*single, *summed)))
