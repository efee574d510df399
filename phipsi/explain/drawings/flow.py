"""What flows where in a program: along the edges of the tree, and from sweep to sweep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from phipsi.lowering.program import At, Direction, Effect, Loop, Program, Slot, Statement

INPUTS = ("coordinates", "speeds", "given", "given_block", "gravity")


@dataclass(frozen=True)
class Sweep:
    """One loop of a program, seen from a body.

    Args:
        number: from 1, of those that are drawn.
        direction: of the sweep; None for what is done once for the whole machine.
        enters: statements that read q, v, what is given.
        at_points: whether it reads where the points are that are passed.
        passed: slots that a body hands to its parent or takes from it.
        leaves: statements that fill an output.
        loop: the loop itself.
    """

    number: int
    direction: Direction | None
    enters: tuple[Statement, ...]
    at_points: bool
    passed: tuple[Slot, ...]
    leaves: tuple[Statement, ...]
    loop: Loop


@dataclass(frozen=True)
class Flow:
    """The sweeps of a program, and what is kept from one for a later one.

    Args:
        sweeps: in the order in which they run.
        kept: by the numbers of the sweep that makes a slot and of one that reads it.
    """

    sweeps: tuple[Sweep, ...]
    kept: dict[tuple[int, int], tuple[Slot, ...]]


def flow_of(program: Program) -> Flow:
    """What flows where; a slot is made in one loop, and read there or in later ones."""
    loops = [x for x in program.loops if x.statements or x.before]
    made: dict[Slot, int] = {}
    kept: dict[tuple[int, int], dict[Slot, None]] = {}
    for number, loop in enumerate(loops, start=1):
        for statement in _all(loop):
            if statement.target is not None:
                made.setdefault(statement.target, number)
    for number, loop in enumerate(loops, start=1):
        for statement in _all(loop):
            for read in statement.arguments:
                if made[read.slot] < number:
                    kept.setdefault((made[read.slot], number), {})[read.slot] = None
    alone = not any(_points(x) for loop in loops for x in _all(loop))
    sweeps = tuple(_sweep(number, loop, alone) for number, loop in enumerate(loops, start=1))
    return Flow(sweeps, {key: tuple(kept[key]) for key in sorted(kept)})


def _sweep(number: int, loop: Loop, alone: bool) -> Sweep:
    statements = list(_all(loop))
    return Sweep(
        number,
        loop.direction if loop.statements else None,
        tuple(sorted((x for x in statements if x.step in INPUTS), key=_rank)),
        any(_reads_points(x, alone) for x in statements),
        tuple(dict.fromkeys(_passed(loop.statements))),
        tuple(x for x in statements if x.effect is Effect.EMIT and x.target is None),
        loop,
    )


def _rank(statement: Statement) -> int:
    return INPUTS.index(statement.step)


def _reads_points(statement: Statement, alone: bool) -> bool:
    """Whether it concerns the points that are passed, not those that a letter has as arguments.

    What is given at points does not ask where these are, unless nothing else tells of them.
    """
    if statement.step in INPUTS:
        return alone and statement.domain.kind == "point"
    return () in _points(statement)


def _points(statement: Statement) -> list[tuple]:
    """The lists of points that a statement is about, as letters have them; () for those passed."""
    walking = statement.domain.columns
    lists = [statement.domain.points, None if walking is None else walking.points]
    lists += [x if isinstance(x, tuple) else getattr(x, "points", None) for x in statement.options]
    return [x for x in lists if x is not None]


def _passed(statements: Sequence[Statement]) -> Iterator[Slot]:
    for statement in statements:
        if statement.effect is Effect.PUSH:
            assert statement.target is not None
            yield statement.target
        yield from (x.slot for x in statement.arguments if x.at is At.PARENT)


def _all(loop: Loop) -> Iterator[Statement]:
    yield from loop.before
    yield from loop.statements
