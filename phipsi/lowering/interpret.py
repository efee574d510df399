"""Runs a program with floats, or with arrays as scalars: the reference of every backend.

A scalar is a float, an array over the batch, a number that counts: whatever
`phipsi.scalars` knows. Statement by statement, body by body, nothing is fused
or skipped except the zeros of the structure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from phipsi.algebra.spaces import BODY, COORDINATES, POINTS, POSE
from phipsi.errors import InputError
from phipsi.lowering import blocks, outputs
from phipsi.lowering.covariance import DUAL
from phipsi.lowering.letters import SPATIAL
from phipsi.lowering.machine import Block, Machine, Values, from_link, to_link
from phipsi.lowering.outputs import Emit
from phipsi.lowering.program import (
    BODIES,
    At,
    Columns,
    Direction,
    Effect,
    Life,
    Loop,
    Program,
    Read,
    Slot,
    Statement,
    lifetimes,
)
from phipsi.lowering.seat import Seat
from phipsi.lowering.steps import STEPS
from phipsi.lowering.walks import Walk
from phipsi.lowering.watch import Watch
from phipsi.model.tree import WORLD
from phipsi.scalars import Scalar

Execute = Callable[[Statement, Seat], None]

HERE = (1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0)  # the pose of the world


class Run:
    """One run of a program.

    Args:
        program: the loops.
        machine: where they run.
        values: the inputs, in scalars.
        emit: of each output, what takes its entries; by default nothing does.
        watch: looks at what is about to divide; None where numbers have no values.
    """

    def __init__(
        self,
        program: Program,
        machine: Machine,
        values: Values,
        emit: Sequence[Emit] | None = None,
        watch: Watch | None = None,
    ):
        self.program, self.machine, self.values = program, machine, values
        self.emit = [_ignore] * len(program.outputs) if emit is None else emit
        self.seats = machine.seats(values.points, watch)
        self.slots: dict[Slot, Any] = {}
        self._life = lifetimes(program.loops)
        self._walks: dict[tuple, Walk] = {}
        self._staged: list[tuple[list, int, Block]] = []

    def run(self) -> None:
        """All loops in order."""
        for statement in self.program.statements():
            self._make_room(statement)
        for loop in self.program.loops:
            for statement in loop.before:
                self._once(statement)
            if loop.statements:
                self._loop(loop)

    def kept(self, slot: Slot) -> list[Block]:
        """The blocks of a slot that later loops read, of all bodies, after the run."""
        store = self.slots[slot]
        return list(store.values()) if isinstance(store, dict) else list(store)

    def walk(self, columns: Columns) -> Walk:
        """Where columns start and pass."""
        key = columns.space is POINTS, columns.points
        if key not in self._walks:
            self._walks[key] = self.machine.walk(columns, self.values.points)
        return self._walks[key]

    def read(self, read: Read, seat: Seat, place: int) -> Block:
        """An argument, seen from a body, or from one of its points."""
        slot, store = read.slot, self.slots[read.slot]
        kind = slot.domain.kind
        if read.at is At.PARENT:
            return None if seat.is_root else store[seat.link.parent]
        if read.at is At.EACH_POINT:
            return store
        if kind == "body" and seat.k == WORLD:  # which rests, where it is
            return list(HERE) if slot.shape.rows is POSE else self.machine.zeros(slot.shape, seat)
        block = store if kind == "world" else store[seat.k if kind == "body" else place]
        return self.machine.zeros(slot.shape, seat, kind == "world") if block is None else block

    def _make_room(self, statement: Statement) -> None:
        """For what a statement makes."""
        slot = statement.target
        if slot is None or slot in self.slots:
            return
        kind = slot.domain.kind
        if statement.effect is Effect.EMIT:
            n = self._whole_size(slot)
            self.slots[slot] = blocks.zero_matrix(n, n)
        elif kind == "world":
            self.slots[slot] = None
        elif kind == "body":
            local = self._life[slot] is Life.LOCAL
            self.slots[slot] = _Cell() if local else [None] * len(self.seats)
        elif kind == "point":
            self.slots[slot] = {}
        else:
            assert slot.domain.columns is not None
            self.slots[slot] = [None] * len(self.walk(slot.domain.columns))

    # -- loops ---------------------------------------------------------------------------

    def _loop(self, loop: Loop) -> None:
        inward = loop.direction is Direction.TIP_TO_BASE
        tree = self.machine.tree
        execute = [(self._executor(statement), statement) for statement in loop.statements]
        passed = [x for x in _targets(loop) if self._life[x] is Life.PASSED]
        pushed = {x.target for x in loop.statements if x.effect is Effect.PUSH}
        spent = [self.slots[slot] for slot in passed if slot in pushed]
        for k in tree.tip_to_base if inward else tree.base_to_tip:
            seat = self.seats[k]
            for run, statement in execute:
                run(statement, seat)
            for store, j, block in self._staged:
                store[j] = block
            self._staged.clear()
            for store in spent:
                store[k] = None
        for run, statement in execute:
            if statement.domain.kind == "point":  # some points may be on the world
                run(statement, self.seats[WORLD])
        for slot in passed:
            self.slots[slot] = None

    def _executor(self, statement: Statement) -> Execute:
        if statement.effect is Effect.EMIT:
            emit = {
                "emit": outputs.emit,
                "emit_block": outputs.emit_block,
                "emit_diagonal": outputs.emit_diagonal,
                "emit_column": outputs.emit_column,
                "emit_pair": outputs.emit_pair,
            }[statement.step]
            return lambda statement, seat: emit(self, statement, seat)
        by_domain: dict[str, Execute] = {
            "body": self._on_body,
            "point": self._on_points,
            "column": self._on_columns,
        }
        return by_domain[statement.domain.kind]

    def _on_body(self, statement: Statement, seat: Seat) -> None:
        slot = statement.target
        assert slot is not None
        block = self._compute(statement, seat, seat.k, None)
        if statement.effect is Effect.SET:
            self.slots[slot][seat.k] = block
        elif statement.effect is Effect.GATHER:
            placed = statement.step in ("gather", "lead")
            space = COORDINATES if statement.step == "lead" else slot.shape.rows
            rows = self.machine.rows(seat, space) if placed else None
            self._gather(slot, block, rows)
        elif seat.link.parent != WORLD:
            store, p = self.slots[slot], seat.link.parent
            store[p] = block if store[p] is None else _sum(store[p], block, slot.shape.symmetric)

    def _gather(self, slot: Slot, block: Block, rows: Sequence[int] | None) -> None:
        """Add a block to the one of the machine, at some rows of it or as a whole."""
        if rows is None:
            so_far = self.slots[slot]
            symmetric = slot.shape.symmetric
            self.slots[slot] = block if so_far is None else _sum(so_far, block, symmetric)
            return
        if self.slots[slot] is None:
            self.slots[slot] = blocks.zeros(self._whole_size(slot))
        for i, x in zip(rows, block, strict=True):
            self.slots[slot][i] = blocks.plus(self.slots[slot][i], x)

    def _on_points(self, statement: Statement, seat: Seat) -> None:
        for e, position in seat.points.get(statement.domain.points or (), ()):
            self._on_point(statement, seat, e, position)

    def _on_point(
        self, statement: Statement, seat: Seat, e: int, position: Sequence[Scalar] | None
    ) -> None:
        slot = statement.target
        assert slot is not None
        block = self._compute(statement, seat, e, position)
        if statement.effect is Effect.GATHER:
            rows = range(SPATIAL * e, SPATIAL * e + SPATIAL)
            self._gather(slot, block, rows if statement.step == "gather" else None)
        else:
            self.slots[slot][e] = block

    def _on_columns(self, statement: Statement, seat: Seat) -> None:
        columns, slot = statement.domain.columns, statement.target
        assert columns is not None and slot is not None
        walk, store = self.walk(columns), self.slots[slot]
        for j in walk.through[seat.k]:
            if statement.step == "unit":
                starts = walk.starts[j] == seat.k
                store[j] = self._unit(seat, columns) if starts else None
                continue
            bundle = self._bundle(statement, seat, columns, j)
            if statement.effect is Effect.PUSH:  # for the parent, once all is done here
                self._staged.append((store, j, bundle))
            else:
                store[j] = bundle

    def _bundle(self, statement: Statement, seat: Seat, columns: Columns, j: int) -> Block:
        """The vectors of block column j, one for each of its columns; None for zero."""
        walking = [read.slot.domain.kind == "column" for read in statement.arguments]
        blocks_read = [
            self.slots[read.slot][j] if walks else self.read(read, seat, j)
            for read, walks in zip(statement.arguments, walking, strict=True)
        ]
        bundles = [x for x, walks in zip(blocks_read, walking, strict=True) if walks]
        width = max((len(x) for x in bundles if x is not None), default=0)
        if not width:
            return None
        position = None
        if columns.points is not None:
            position = self.values.points[columns.points][j][1]
        for i, walks in enumerate(walking):
            if not walks:  # the same for all vectors of the bundle
                blocks_read[i] = [blocks_read[i]] * width
            elif blocks_read[i] is None:
                zero = self.machine.zeros(statement.arguments[i].slot.shape, seat)
                blocks_read[i] = [zero] * width
        arguments = zip(*blocks_read, strict=True)
        return [self._step(statement, seat, list(x), position) for x in arguments]

    def _unit(self, seat: Seat, columns: Columns) -> Block:
        """The identity where a column starts."""
        size = SPATIAL if columns.space in (BODY, POINTS) else seat.link.nv
        unit = blocks.identity(size)
        return [from_link(seat, columns.space, columns.kind, x) for x in unit]

    def _once(self, statement: Statement) -> None:
        """What belongs to no body: the world's blocks, and inputs at points."""
        if statement.effect is Effect.EMIT:
            {
                "emit": outputs.emit_whole,
                "emit_block": outputs.emit_whole_block,
                "emit_outer": outputs.emit_outer,
            }[statement.step](self, statement)
            return
        slot, seat = statement.target, self.seats[WORLD]
        assert slot is not None
        if statement.domain.kind == "world":
            self.slots[slot] = self._compute(statement, seat, 0, None)
            return
        for e in range(max(map(len, self.values.points.values()), default=0)):
            self._on_point(statement, seat, e, None)

    def _whole_size(self, slot: Slot) -> int:
        """How many rows a slot of the whole machine has."""
        points, lists = slot.domain.points, self.values.points
        located = lists[points] if points is not None else next(iter(lists.values()), [])
        return self.machine.whole_size(slot.shape.rows, located)

    # -- one statement ---------------------------------------------------------------------

    def _compute(
        self, statement: Statement, seat: Seat, place: int, position: Sequence[Scalar] | None
    ) -> Block:
        if statement.step in _PLACED:
            return _PLACED[statement.step](self, statement, seat, place)
        arguments = [self.read(x, seat, place) for x in statement.arguments]
        return self._step(statement, seat, arguments, position)

    def _step(
        self,
        statement: Statement,
        seat: Seat,
        arguments: list[Block],
        position: Sequence[Scalar] | None,
    ) -> Block:
        special = _SPECIAL.get(statement.step)
        if special is not None:
            return special(self, statement, seat, arguments, position)
        return STEPS[statement.step](seat, *arguments, *statement.options)

    def part(self, whole: Block, statement: Statement, seat: Seat, place: int) -> Block:
        """Of a vector of a whole space what belongs to the place of a statement."""
        slot = statement.target
        assert slot is not None
        if statement.domain.kind == "world":
            return list(whole)
        if statement.domain.kind == "point":
            return list(whole[SPATIAL * place : SPATIAL * place + SPATIAL])
        rows = self.machine.rows(seat, slot.shape.rows)
        return list(whole[rows.start : rows.stop])


# -- steps that need more than a seat and blocks ---------------------------------------------


def _coordinates(run: Run, statement: Statement, seat: Seat, arguments: Any, at: Any) -> Block:
    """q(k), a mimic's from the joint it follows."""
    own, mimic = list(run.values.q[seat.joint.q]), seat.joint.mimic
    return own if mimic is None else [mimic.ratio * x + mimic.offset for x in own]


def _speeds(run: Run, statement: Statement, seat: Seat, arguments: Any, at: Any) -> Block:
    """beta(k), a mimic's from the joint it follows."""
    assert run.values.v is not None, "checked before"
    own, mimic = list(run.values.v[seat.joint.v]), seat.joint.mimic
    return own if mimic is None else blocks.scale(mimic.ratio, own)


def _given(run: Run, statement: Statement, seat: Seat, place: int) -> Block:
    """The value of a free vector: a body's block of it, a point's, or all of it."""
    letter, kind = statement.options
    block = run.part(run.values.given[letter], statement, seat, place)
    return from_link(seat, letter.target, kind, block)


def _given_block(run: Run, statement: Statement, seat: Seat, place: int) -> Block:
    """The block of a free operator, in private frames; its rows are covectors of the source."""
    letter, target, source = statement.options
    given = run.values.given[letter][place]
    rows = [from_link(seat, letter.source, DUAL[source], x) for x in given]
    columns = [from_link(seat, letter.target, target, x) for x in blocks.transpose(rows)]
    return blocks.transpose(columns)


def _spread_block(run: Run, statement: Statement, seat: Seat, place: int) -> Block:
    """Of a matrix of point space the diagonal block of a point."""
    (read,) = statement.arguments
    own = slice(SPATIAL * place, SPATIAL * place + SPATIAL)
    return [row[own] for row in run.read(read, seat, place)[own]]


def _spread(run: Run, statement: Statement, seat: Seat, place: int) -> Block:
    """A vector of the whole machine, of which each place takes its part."""
    (read,) = statement.arguments
    keys = [x.points for x in (statement.domain, read.slot.domain) if x.points is not None]
    if len({len(run.values.points[key]) for key in keys}) > 1:
        raise InputError("the expression mixes letters at different numbers of points")
    return run.part(run.read(read, seat, place), statement, seat, place)


def _gather(run: Run, statement: Statement, seat: Seat, arguments: Any, at: Any) -> Block:
    """A block as it is in public."""
    space, kind = statement.options
    return to_link(seat, space, kind, arguments[0])


def _from_points(run: Run, statement: Statement, seat: Seat, arguments: Any, at: Any) -> Block:
    """B f: the forces at all points of the body."""
    total = blocks.zeros(SPATIAL)
    for e, position in seat.points.get(statement.options[0], ()):
        total = blocks.add(total, STEPS["from_point"](seat, arguments[0][e], position))
    return total


def _load(run: Run, statement: Statement, seat: Seat, arguments: Any, at: Any) -> Block:
    """B A B*: what is at all points of the body."""
    assert statement.target is not None
    total, symmetric = blocks.zero_matrix(SPATIAL, SPATIAL), statement.target.shape.symmetric
    for e, position in seat.points.get(statement.options[0], ()):
        columns = [
            STEPS["from_point"](seat, x, position) for x in zip(*arguments[0][e], strict=True)
        ]
        rows = [STEPS["from_point"](seat, x, position) for x in zip(*columns, strict=True)]
        total = blocks.add_matrices(total, rows, symmetric=symmetric)
    return total


def _at_point(run: Run, statement: Statement, seat: Seat, arguments: Any, at: Any) -> Block:
    """B* x at a point, or B u at the point of a column."""
    if seat.k == WORLD:
        return blocks.zeros(SPATIAL)
    step = "to_point" if statement.step == "to_point" else "from_point"
    return STEPS[step](seat, arguments[0], at)


_SPECIAL: dict[str, Callable] = {
    "coordinates": _coordinates,
    "speeds": _speeds,
    "gather": _gather,
    "from_points": _from_points,
    "load": _load,
    "from_column": _at_point,
    "to_point": _at_point,
}
_PLACED: dict[str, Callable] = {
    "given": _given,
    "given_block": _given_block,
    "spread": _spread,
    "spread_block": _spread_block,
}
SPECIAL_STEPS = frozenset((*_SPECIAL, *_PLACED, "unit"))


# -- room ------------------------------------------------------------------------------------


class _Cell:
    """Room for one block, whatever the body: of what is used at once."""

    __slots__ = ("block",)

    def __init__(self) -> None:
        self.block: Block = None

    def __getitem__(self, k: int) -> Block:
        return self.block

    def __setitem__(self, k: int, block: Block) -> None:
        self.block = block


def _targets(loop: Loop) -> list[Slot]:
    """The slots of bodies that a loop makes."""
    made = [x.target for x in loop.statements if x.effect in (Effect.SET, Effect.PUSH)]
    return [slot for slot in made if slot is not None and slot.domain == BODIES]


def _sum(x: Block, y: Block, symmetric: bool) -> Block:
    if x and isinstance(x[0], list):
        return blocks.add_matrices(x, y, symmetric=symmetric)
    return blocks.add(x, y)


def _ignore(i: int, j: int, value: Scalar) -> None:
    """Of an output that nobody wants."""
