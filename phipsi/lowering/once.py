"""What a program does once for a whole machine, as a template for machines of one size."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from phipsi.algebra.node import Symbol
from phipsi.algebra.spaces import BASE, COORDINATES, POINTS, SCALAR, is_dense
from phipsi.graph.graph import Node
from phipsi.lowering import blocks
from phipsi.lowering.inputs import SPATIAL
from phipsi.lowering.machine import Block, Values
from phipsi.lowering.memory import Area, Recorder, Sizes, Slots
from phipsi.lowering.program import At, Columns, Loop, Program, Read, Slot, Statement
from phipsi.lowering.seat import Seat
from phipsi.lowering.templates import (
    WORK,
    Address,
    Dense,
    Layout,
    Region,
    Template,
    Whole,
    flat,
    side,
)
from phipsi.lowering.trace import SMALL
from phipsi.model.tree import WORLD

DENSE = ("dense_solve", "dense_inverse", "emit_product")  # steps that have routines of their own
PIECE = 1_000  # nodes of one template, where it can be cut


class Once(Recorder):
    """What stands before a loop, for machines of one size.

    Args:
        program: the loops.
        layout: of records.
        plain: whether no joint of the machine follows another.
        sizes: of the machine.
        limit: of nodes; GraphTooLargeError beyond.
        real: what the code will compute with, "double" or "float".
        arguments: which constants of the machine are arguments.
    """

    def __init__(
        self,
        program: Program,
        layout: Layout,
        plain: bool,
        sizes: Sizes,
        limit: int | None = None,
        real: str = "double",
        arguments: Collection[str] = (),
    ):
        super().__init__(program, layout, plain, sizes, real, arguments)
        self.graph.limit = self.graph.limit if limit is None else limit
        self.sizes = sizes
        self.slots = Slots(self._missing)
        nothing: Any = None
        world = Seat(WORLD, nothing, nothing, self.machine.model, self.checks)
        self.seats: Any = {WORLD: world}
        given: dict[Symbol, Any] = {}
        for letter in program.free:
            rows, columns = (sizes.of(x, None) for x in (letter.target, letter.source))
            area = Area(self.graph, ("in", letter.name))
            if letter.source is SCALAR:
                given[letter] = area[0:rows]
            elif letter.target in (COORDINATES, BASE, SCALAR) or is_dense(
                letter.source, letter.target
            ):
                given[letter] = [[area[i * columns : (i + 1) * columns] for i in range(rows)]]
            else:
                given[letter] = _PointBlocks(area)
        located: Any = {key: [None] * n for key, n in sizes.points}
        self.values = Values([], [], given, located)

    def pieces(self, loop: Loop) -> list[Template | Dense]:
        """What is done before a loop, in order: dense systems apart, by routines of their own."""
        found: list[Template | Dense] = []
        waiting: list[Statement] = []
        for statement in loop.before:
            if statement.step in DENSE:
                found += [*self._templates(waiting), self._dense(statement)]
                waiting = []
            else:
                waiting.append(statement)
        return found + self._templates(waiting)

    def _dense(self, statement: Statement) -> Dense:
        """The routine that does what a step says.

        Floats are solved for by the inverse where that is small, which is then looked at.
        """
        A, *right = (Whole(read.slot) for read in statement.arguments)
        if statement.step == "emit_product":
            into = statement.options[0] if statement.target is None else statement.target
            return Dense("dense_multiply", (A, *right, Whole(into)))
        assert statement.target is not None
        result = Whole(statement.target)
        if statement.step == "dense_inverse":
            return Dense("dense_inverse", (A, A, result))
        matrix = statement.arguments[0].slot
        n = self.sizes.of(matrix.shape.rows, matrix.domain.points)
        is_watched = self.checks.real == "float" and n <= SMALL
        by_pivots = statement.options[0] and not is_watched
        routine = "dense_solve_positive" if by_pivots else "dense_solve"
        return Dense(routine, (A, *right, result))

    def _templates(self, statements: Sequence[Statement]) -> list[Template]:
        """The code of some statements in pieces of bounded length, as far as that is cheap."""
        together = self._template(statements)
        if all(_length(x) <= PIECE for x in together):
            return together
        return [x for one in statements for whole in self._template([one]) for x in _cut(whole)]

    def _template(self, statements: Sequence[Statement]) -> list[Template]:
        """The code of some statements; none for none."""
        self.region = region = Region(None)
        self.slots.clear()
        self.checks.found.clear()  # each template makes its own, also when traced again
        for statement in statements:
            self.once(statement)
        for slot in dict.fromkeys(x.target for x in statements if x.target is not None):
            self._write(slot)
        region.checks = list(self.checks.found)
        return [Template(self.graph, [region])] if statements else []

    def read(self, read: Read, seat: Seat, place: int) -> Block:
        """A block of the whole machine, or at a point."""
        store = self.slots[read.slot]
        return store[place] if read.slot.domain.kind == "point" and read.at is At.OWN else store

    def walk(self, columns: Columns) -> Any:
        raise AssertionError("columns walk with bodies")

    def own_block(self, statement: Statement, seat: Seat) -> Block:
        raise AssertionError("blocks belong to bodies")

    def _keep(self, statement: Statement, seat: Seat, block: Block) -> None:
        raise AssertionError("nothing here belongs to a body")

    def _gather(self, slot: Slot, block: Block, rows: Sequence[int] | None) -> None:
        total = self.slots[slot]
        if rows is None:
            self.slots[slot] = _sum(total, block)
            return
        for i, x in zip(rows, block, strict=True):
            total[i] = blocks.plus(total[i], x)

    def _write(self, slot: Slot) -> None:
        block = self.slots[slot]
        if slot.domain.kind != "point":
            block = {0: block}
        base = ("point slot", slot, None) if slot.domain.kind == "point" else ("world", slot)
        for e, entries in block.items():
            numbers = list(flat(entries or ()))
            for i, x in enumerate(numbers):
                address = Address(WORK, (base,), len(numbers) * e + i)
                if not (isinstance(x, Node) and x.data == ("load", address)):
                    self._store(address, x)

    def _missing(self, slot: Slot) -> Any:
        """A block that loops or earlier statements have filled, from memory."""
        shape, key = slot.shape, slot.domain.points
        if slot.domain.kind == "point":
            m = side(shape.columns) if shape.is_matrix else 1
            n = side(shape.rows) * m
            found = {}
            for e in range(self.sizes.of(POINTS, key) // SPATIAL):
                numbers = [self._load(("point slot", slot, None), n * e + i) for i in range(n)]
                rows = [numbers[i : i + m] for i in range(0, n, m)]
                found[e] = rows if shape.is_matrix else numbers
            return found
        n, *columns = (self.sizes.of(*x) for x in slot.sides)
        if not columns:
            return [self._load(("world", slot), i) for i in range(n)]
        (m,) = columns
        return [[self._load(("world", slot), i * m + j) for j in range(m)] for i in range(n)]


def _length(template: Template) -> int:
    """How many nodes a template computes."""
    (region,) = template.regions
    wanted = [*(store.value for store in region.stores), *region.checks]
    return len(template.graph.live(wanted))


def _cut(template: Template) -> list[Template]:
    """Some stores at a time; what they share is computed for each, if that is little."""
    (region,) = template.regions
    length, count = _length(template), len(region.stores)
    size = max(1, count * PIECE // max(length, 1))
    parts = [Region(None, region.stores[i : i + size]) for i in range(0, count, size)]
    if region.checks:
        parts.append(Region(None, [], region.checks))
    pieces = [Template(template.graph, [part]) for part in parts]
    return pieces if sum(map(_length, pieces)) <= 2 * length else [template]


def _sum(x: Block, y: Block) -> Block:
    if x and isinstance(x[0], list):
        return blocks.add_matrices(x, y)
    return blocks.add(x, y)


class _PointBlocks:
    """The blocks of a free operator of point space, in memory."""

    def __init__(self, area: Area):
        self.area = area

    def __getitem__(self, e: int) -> Block:
        start = SPATIAL * SPATIAL * e
        rows = range(start, start + SPATIAL * SPATIAL, SPATIAL)
        return [self.area[i : i + SPATIAL] for i in rows]
