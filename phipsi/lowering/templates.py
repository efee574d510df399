"""What a program does at a body of which only the form is known.

The interpreter visits one generic body in each loop. Its reads become loads from
memory, what it passes on becomes stores; where they are is not known yet: an
address is a sum of *operands*, numbers that a table gives for each body. So the
code of a loop depends on the program and the form, not on the machine.

    operand             which number of a body it is
    ("q",) ("v",) ("rows",) ("body",) ("pose",)     where its coordinates, speeds, ... start
    ("own",) ("parent",)                            where the records of the two bodies start
    ("world", slot)                                 where a block of the whole machine starts
    ("point", n) ("position", n) ("point slot", slot, n)    of the n-th point on the body
    ("block", letter, n)                            where a block of a free operator starts
    ("column", slot, n) ("place", space) ("ratio",)  of a column of a matrix, or of a pair of them
    ("pushed", slot, n) ("adjoint", slot, n)        of a column, for the way back

The record of a body holds first what neighbours read or add to, laid out alike
for all bodies, then what its own later loops read. Columns of matrices walk in
memory: at each body a loop over the columns that pass, by how far they have come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from phipsi.algebra.spaces import BASE, BODY, COORDINATES, JOINT, POINTS, POSE, SCALAR, Space
from phipsi.graph.graph import Graph, Node
from phipsi.lowering.inputs import PLACE, SPATIAL
from phipsi.lowering.program import (
    At,
    Columns,
    Effect,
    Life,
    Loop,
    Program,
    Shape,
    Slot,
    Statement,
    lifetimes,
)

Operand = tuple  # see above
THIS = 0  # the number of the generic body
PASSING = 1 << 40  # of a column that passes it
POINT = 1 << 36  # of its first point
MARK = 1 << 32  # indices beyond this are marks: they stand for an operand, and an offset
PLACES = (COORDINATES, JOINT, BODY, POSE, BASE)
ENTRY = (
    "vector",
    "scratch",
    "x",
    "y",
    "row",
    "place",
    "point entry",
)  # operands of entries of lists
OF_COLUMN = ("column", "paired", "pushed", "adjoint")  # of entries too, where no number follows
OPERANDS: list[Operand] = [
    (),
    ("q",),
    ("v",),
    ("rows",),
    ("body",),
    ("pose",),
    *(("place", space) for space in PLACES),
]
OF_SPACE: dict[Space, Operand] = {
    COORDINATES: ("v",),
    JOINT: ("rows",),
    BODY: ("body",),
    POSE: ("pose",),
}


def mark(operand: Operand) -> int:
    """An index that stands for an operand."""
    return OPERANDS.index(operand) * MARK


def meaning(index: int) -> tuple[tuple[Operand, ...], int]:
    """What an index stands for: operands to be added, and an offset."""
    if index >= SPATIAL * PASSING:
        return (("place", POINTS),), index - SPATIAL * PASSING
    if index >= SPATIAL * POINT:
        n, offset = divmod(index - SPATIAL * POINT, SPATIAL)
        return (("point", n),), offset
    which, offset = divmod(index, MARK)
    return ((OPERANDS[which],) if which else ()), offset


@dataclass(frozen=True)
class Address:
    """Where a number is: `operands + offset`, of a matrix `+ stride (row operands + row)` too.

    Args:
        area: ("work",), ("in", name) or ("out", number).
        operands: to be added.
        offset: added to them.
        row_operands, row: which row of a matrix.
        stride: operand that tells the length of a row; None where there are no rows.
    """

    area: tuple
    operands: tuple[Operand, ...]
    offset: int
    row_operands: tuple[Operand, ...] = ()
    row: int = 0
    stride: Operand | None = None

    def moved(self, old: str, new: str) -> Address:
        """The same with other operands of columns: those called `old` are called `new`."""
        operands = tuple((new, *x[1:]) if x[0] == old else x for x in self.operands)
        return replace(self, operands=operands)

    def has(self, *names: str) -> bool:
        """Whether an operand has one of these names."""
        return any(x[0] in names for x in self.operands)


def is_of_entry(operand: Operand) -> bool:
    """Whether an operand belongs to the entry of a list, not to the body."""
    return operand[0] in ENTRY or (operand[0] in OF_COLUMN and operand[2] is None)


def moves(node: Node) -> bool:
    """Whether an input belongs to the entries of a list."""
    if node.data[0] == "ratio":
        return True
    if node.data[0] != "load":
        return False
    address = node.data[1]
    return any(map(is_of_entry, (*address.operands, *address.row_operands)))


@dataclass(frozen=True)
class Store:
    """A number that is kept, or added to what is there."""

    address: Address
    value: Node
    adds: bool = False


@dataclass
class Region:
    """Code of one body, or of every entry of a list at a body.

    Args:
        over: None, or which list: ("columns", columns, distance), or, n counting the
            statements on pairs, ("left", n), ("right", n), ("pairs", n), ("mirrored", n).
        stores: what it writes, after all that it reads.
        checks: what must be true.
    """

    over: tuple | None
    stores: list[Store] = field(default_factory=list)
    checks: list[Node] = field(default_factory=list)


@dataclass
class Template:
    """What one loop does at a body of one form, or once for the machine.

    Args:
        graph: its inputs are ("load", Address), ("parameter", i), ("constant", ...), ("ratio",).
        regions: in order.
    """

    graph: Graph
    regions: list[Region]


@dataclass(frozen=True)
class Whole:
    """A slot of the whole machine, or its partner in a derivative; see `template_derivatives`.

    Args:
        of: the slot; or the number of an output.
        is_partner: which of the two; of an output the weight, in reverse.
    """

    of: Slot | int
    is_partner: bool = False

    @property
    def partner(self) -> Whole:
        """Its tangent; an output is one already."""
        return Whole(self.of, not isinstance(self.of, int))


@dataclass(frozen=True)
class Dense:
    """A system or a product of the whole machine, by loops of their own.

    Args:
        routine: of `backends.dense`.
        operands: a matrix, a right side (for an inverse, the matrix again), the result; then
            what else the routine reads.
    """

    routine: str
    operands: tuple[Whole, ...]


WORK = ("work",)


# -- where records keep what ------------------------------------------------------------------


class Layout:
    """What bodies leave for their neighbours, at the same places in every record.

    Args:
        program: the loops.
        tells: whether bodies tell their parents how large what they carry is; see `cancellation`.
        reuses: whether what does not outlive its loop shares its places with others.

    Attributes:
        shared: of each such slot, where it starts.
        kept: how many numbers of them outlive their loop.
        size: how many numbers they take.
        pushed: slots that children add to.
        told: where children add what they tell.
    """

    def __init__(self, program: Program, tells: bool = False, reuses: bool = True):
        self.program, self.tells = program, tells
        self.life = lifetimes(program.loops)
        self.shared: dict[Slot, int] = {}
        self.pushed = {
            x.target
            for x in program.statements()
            if x.effect is Effect.PUSH and x.domain.kind == "body" and x.target is not None
        }
        reads = (read for x in program.statements() for read in x.arguments)
        neighbourly = self.pushed | {x.slot for x in reads if x.at is At.PARENT}
        outlives = [x for x in neighbourly if self.life[x] is Life.KEPT or not reuses]
        start = self._place(0, outlives)
        self.kept = self.size = start
        for loop in program.loops:  # what does not outlive its loop shares the rest
            made = (x.target for x in loop.statements if x.target in neighbourly)
            passed = [x for x in dict.fromkeys(made) if x is not None and x not in self.shared]
            self.size = max(self.size, self._place(start, passed))
        self.told = self.size
        if tells and any(map(has_pivots, program.loops)):
            self.size += 2

    def _place(self, start: int, slots: Iterable[Slot]) -> int:
        """Slots one after the other; where the last one ends."""
        for slot in sorted(slots, key=lambda x: x.number):
            self.shared[slot] = start
            start += numbers_in(slot.shape)
        return start

    def direct(self, plain: bool) -> frozenset[int]:
        """The outputs that one statement fills, each entry once: vectors of bodies or joints."""
        by_output: dict[int, list[Statement]] = {}
        for statement in self.program.statements():
            if statement.effect is Effect.EMIT and statement.target is None:
                by_output.setdefault(statement.options[0], []).append(statement)
        found = set()
        for number, (first, *others) in by_output.items():
            is_vector = first.step == "emit" and first.domain.kind == "body"
            if not others and is_vector and (plain or first.options[1] is not COORDINATES):
                found.add(number)
        return frozenset(found)


def has_pivots(loop: Loop) -> bool:
    """Whether joints are made free in a loop."""
    return any(x.step == "pivot_factor" for x in loop.statements)


def side(size: Any) -> int:
    """How long one side of a block is that any body has alike."""
    if isinstance(size, int):
        return size
    if size.size is not None:
        return size.size
    assert size in (BODY, POSE, BASE, SCALAR, POINTS), f"{size} is no block of every body"
    return PLACE if size is POSE else 1 if size is SCALAR else SPATIAL


def numbers_in(shape: Shape) -> int:
    """How many numbers a shared block takes; of a symmetric one, half."""
    n = side(shape.rows)
    if not shape.is_matrix:
        return n
    return n * (n + 1) // 2 if shape.symmetric else n * side(shape.columns)


def places(shape: Shape) -> Any:
    """Where the numbers of a shared block are, in its own form."""
    n = side(shape.rows)
    if not shape.is_matrix:
        return list(range(n))
    if not shape.symmetric:
        m = side(shape.columns)
        return [[i * m + j for j in range(m)] for i in range(n)]
    order = {(i, j): e for e, (i, j) in enumerate((i, j) for i in range(n) for j in range(i, n))}
    return [[order[min(i, j), max(i, j)] for j in range(n)] for i in range(n)]


def mapped(function: Callable[[Any], Any], block: Any) -> Any:
    """A block with a function applied to every entry."""
    return [mapped(function, x) if isinstance(x, (list, tuple)) else function(x) for x in block]


def flat(block: Any) -> Iterator[Any]:
    """The entries of a block, row by row."""
    for x in block:
        if isinstance(x, (list, tuple)):
            yield from flat(x)
        else:
            yield x


# -- columns ------------------------------------------------------------------------------------


def column_patterns(loop: Loop, columns: Columns) -> list[frozenset[Slot]]:
    """Which slots of columns are not zero at the body where a column starts, at the next, ...

    From the last pattern on nothing changes.
    """
    own = [x for x in loop.statements if x.domain.kind == "column" and x.domain.columns == columns]
    entry: frozenset[Slot] = frozenset()
    patterns: list[frozenset[Slot]] = []
    while True:
        there: set[Slot] = set(entry)
        pushed: set[Slot] = set()
        for statement in own:
            if statement.step == "unit":
                is_there = not patterns
            else:
                is_there = any(read.slot in there for read in statement.arguments)
            if is_there and statement.target is not None and statement.effect is not Effect.EMIT:
                (pushed if statement.effect is Effect.PUSH else there).add(statement.target)
        patterns.append(frozenset(there))
        if len(patterns) > 1 and pushed == entry:
            return patterns
        entry = frozenset(pushed)


def columns_of(loop: Loop) -> list[Columns]:
    """The columns that walk in a loop."""
    found = (x.domain.columns for x in loop.statements if x.domain.kind == "column")
    return list(dict.fromkeys(x for x in found if x is not None))


def pairs_of(loop: Loop) -> list[Statement]:
    """The statements on pairs of columns."""
    return [x for x in loop.statements if x.domain.kind == "pair"]
