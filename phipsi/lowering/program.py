"""Programs: loops over the bodies, each a list of small statements on declared slots.

    program
    |-- inputs    q, v, free vectors and operators, points
    |-- loops     each visits every body once, in one direction
    |   `-- statements   target = step(arguments), at every place of their domain
    `-- outputs   vectors or matrices, filled block by block

A loop visits the bodies `tip_to_base` or `base_to_tip`. At a body k it runs its
statements in order, each on its domain:

    BODIES    once
    points    for every point on k
    columns   for every column that passes k: one that started at k or outboard of
              it, and walks inward: `for k, for j on the path of k`
    pairs     for every two columns that meet at k, their nearest common ancestor
    WORLD     once for the whole machine, before the loop

A column carries one block column of a matrix. So vectors, block-diagonal
quantities and matrices are all programs. A statement may read its own place,
the parent's (`at=PARENT`), or the world's; it may set its own place, be added
to the parent's (`PUSH`), to the world's (`GATHER`), or to an output (`EMIT`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TypeVar

from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.spaces import BASE, COORDINATES, POINTS, Space
from phipsi.lowering.sides import points_beside

P = TypeVar("P")


class Direction(Enum):
    """The order in which a loop visits the bodies."""

    TIP_TO_BASE = "tip_to_base"
    BASE_TO_TIP = "base_to_tip"

    @property
    def other(self) -> Direction:
        """The opposite one."""
        inward = self is Direction.TIP_TO_BASE
        return Direction.BASE_TO_TIP if inward else Direction.TIP_TO_BASE


@dataclass(frozen=True)
class Domain:
    """At which places of a body a slot lives, and a statement runs."""

    kind: str  # "world", "body", "point", "column", "pair"
    columns: Columns | None = None
    points: tuple | None = None  # arguments of the letter at points; () for those passed
    across: tuple | None = None  # of a matrix of the whole machine, those of its columns, if others

    def __str__(self) -> str:
        return self.kind if self.columns is None else f"{self.kind} of {self.columns}"


@dataclass(frozen=True)
class Columns:
    """Block columns that walk inward, one for each block of a space.

    Column j starts at body j, or at the body of point j. Those of different
    matrices need not walk together.
    """

    space: Space
    points: tuple | None = None  # whose columns, in point space
    kind: str = "force"  # or "motion": what a unit of body space is
    matrix: int = 0  # the slot of the matrix, 0 for outputs

    def __str__(self) -> str:
        return f"{self.space.name} columns"


WORLD, BODIES = Domain("world"), Domain("body")


def home_of(space: Space | None, points: tuple | None = None) -> Domain:
    """Where the blocks of a space live, and of an operator between it and itself.

    Args:
        points: arguments of the letter at points, where these are known.
    """
    if space is POINTS:
        return Domain("point", points=points)
    is_whole = space in (COORDINATES, BASE) or (space is not None and space.is_own)
    return WORLD if is_whole else BODIES


Size = Space | int | str  # of one side of a block: a space's at this body, a number, or by name


@dataclass(frozen=True)
class Shape:
    """A block: `rows` long, or `rows` by `columns`; symmetric ones are held once."""

    rows: Size
    columns: Size | None = None
    symmetric: bool = False

    @property
    def is_matrix(self) -> bool:
        """Whether the block is a list of rows, not of numbers."""
        return self.columns is not None

    def __str__(self) -> str:
        names = [x.name if isinstance(x, Space) else str(x) for x in self._sides]
        return " x ".join(names) + (", symmetric" if self.symmetric else "")

    @property
    def _sides(self) -> tuple[Size, ...]:
        return (self.rows,) if self.columns is None else (self.rows, self.columns)


FRAME = Shape(12)  # of a frame in the world: the rows of R, then the origin


@dataclass(frozen=True)
class Slot:
    """A named place for one block at each place of a domain."""

    number: int
    name: str
    shape: Shape
    domain: Domain = BODIES

    @property
    def columns(self) -> Columns:
        """Of a slot of columns, which they are."""
        assert self.domain.columns is not None, "a slot of columns"
        return self.domain.columns

    @property
    def sides(self) -> tuple[tuple[Size, tuple | None], ...]:
        """Of a block of the whole machine, the space of each side and the points it is at."""
        here, across = self.domain.points, self.domain.across
        sides = ((self.shape.rows, here),)
        if self.shape.columns is None:
            return sides
        return (*sides, (self.shape.columns, here if across is None else across))

    def __hash__(self) -> int:
        return self.number  # one slot, one number; slots are looked up all the time

    def __str__(self) -> str:
        return f"{self.name}_{self.number}"


class Guard(Enum):
    """What a program holds pivots against: whether D is zero but for roundoff."""

    NOTHING = "nothing"  # it is read, not run
    NUMBERS = "numbers"  # of the mass operator, P and numbers of the machine, which cost nothing
    ORIGINS = "origins"  # all that P was made of


class At(Enum):
    """Where an argument is read, seen from the body where the statement runs."""

    OWN = "own"
    PARENT = "parent"
    EACH_POINT = "each point"  # of the body, as a list of blocks


@dataclass(frozen=True)
class Read:
    """A slot and where to read it."""

    slot: Slot
    at: At = At.OWN

    def __str__(self) -> str:
        return f"{self.slot}[{self.at.value}]" if self.at is not At.OWN else str(self.slot)


class Effect(Enum):
    """What a statement does with its value."""

    SET = "="
    PUSH = "parent +="  # add to the slot at the parent; zero where nobody adds
    GATHER = "world +="  # add to the one slot of the machine
    EMIT = "output +="  # add to a block of an output


@dataclass(frozen=True)
class Statement:
    """target = step(arguments), at every place of the domain."""

    step: str
    arguments: tuple[Read, ...]
    target: Slot | None  # None for EMIT
    domain: Domain
    effect: Effect = Effect.SET
    options: tuple = ()

    def __str__(self) -> str:
        options = [repr(x) if not isinstance(x, (Space, Symbol)) else str(x) for x in self.options]
        inside = ", ".join([*map(str, self.arguments), *options])
        left = f"{self.target} {self.effect.value} " if self.target else "output += "
        return f"{left}{self.step}({inside})"


@dataclass(frozen=True)
class Loop:
    """One visit of all bodies; `before` runs once, ahead of it."""

    direction: Direction
    statements: tuple[Statement, ...]
    before: tuple[Statement, ...] = ()

    @property
    def kind(self) -> str:
        """One of the four kinds: a direction, or what walks along with it."""
        kinds = {statement.domain.kind for statement in self.statements}
        inner = "pairs" if "pair" in kinds else "paths" if "column" in kinds else ""
        return inner or self.direction.value

    def __str__(self) -> str:
        lines = [f"once: {statement}" for statement in self.before]
        if self.statements:
            lines.append(f"for k {self.direction.value}:")
        for statement in self.statements:
            inner = "" if statement.domain.kind == "body" else f"for each {statement.domain}: "
            lines.append(f"    {inner}{statement}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Output:
    """What one expression becomes: a scalar, a vector, or a matrix."""

    rows: Space
    columns: Space


@dataclass(frozen=True)
class Origin:
    """What a slot is the value of; see `origins`.

    Args:
        expression: of the letters that have steps.
        letter: that was typed for it, or that it is; None if it is none.
        applied: where it is a letter times a vector, and other letters' steps compute that: the
            letter, whether it is starred, and the slot of the vector.
    """

    expression: Node
    letter: Symbol | None = None
    applied: tuple[Symbol, bool, Slot] | None = None

    @property
    def shortest(self) -> Node:
        """The letter, where it maps as the expression does; else the expression."""
        ends = self.expression.source, self.expression.target
        is_same = self.letter is not None and (self.letter.source, self.letter.target) == ends
        return self.letter if self.letter is not None and is_same else self.expression


@dataclass(frozen=True)
class Program:
    """An expression as loops over bodies; depends on no machine, only on what kind it is."""

    loops: tuple[Loop, ...]
    outputs: tuple[Output, ...]
    free: tuple[Symbol, ...]  # the free letters, in order of first appearance
    shifted: bool  # whether private frames may move their origins
    origins: Mapping[Slot, Origin] = field(default_factory=dict, compare=False, repr=False)
    expressions: tuple[Node, ...] = ()  # that it was lowered from
    guard: Guard = Guard.NUMBERS

    def points_of(self, letter: Symbol, points: Mapping[tuple, P]) -> Mapping[tuple, P]:
        """Of several lists of points, those that a free letter is at: its neighbours tell."""
        if len(points) < 2:
            return points
        beside = self._beside.get(letter, set())
        return {key: x for key, x in points.items() if key in beside} or points

    @cached_property
    def _beside(self) -> dict[Symbol, set[tuple]]:
        return points_beside(self.expressions)

    def statements(self) -> Iterator[Statement]:
        """Every statement, in the order of execution."""
        for loop in self.loops:
            yield from loop.before
            yield from loop.statements

    @property
    def has_doubts(self) -> bool:
        """Whether a pivot that is small beside numbers has to be looked at more closely."""
        return self.guard is Guard.NUMBERS and any(
            x.step == "pivot_factor" for x in self.statements()
        )

    @property
    def sweeps(self) -> int:
        """How many loops visit the bodies."""
        return sum(1 for loop in self.loops if loop.statements)

    def __str__(self) -> str:
        return "\n".join(map(str, self.loops))


# -- how long a slot is needed -----------------------------------------------------------


class Life(Enum):
    """How long a block is needed."""

    LOCAL = "local"  # at its own body, while the loop is there
    PASSED = "passed"  # by the parent or the children, in the same loop
    KEPT = "kept"  # in a later loop


def lifetimes(loops: Sequence[Loop]) -> dict[Slot, Life]:
    """Of every slot, how long it is needed."""
    made: dict[Slot, int] = {}
    life: dict[Slot, Life] = {}
    for at, loop in enumerate(loops):
        for statement in (*loop.before, *loop.statements):
            if statement.target is not None:
                pushed = statement.effect is Effect.PUSH
                life[statement.target] = Life.PASSED if pushed else Life.LOCAL
                made[statement.target] = at
    for at, loop in enumerate(loops):
        for statement in (*loop.before, *loop.statements):
            for read in statement.arguments:
                if made[read.slot] < at:
                    life[read.slot] = Life.KEPT
                elif read.at is At.PARENT and life[read.slot] is Life.LOCAL:
                    life[read.slot] = Life.PASSED
    return life
