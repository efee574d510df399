"""Runs a program with floats, or with arrays as scalars: the reference of every backend.

A scalar is a float, an array over the batch, a number that counts: whatever
`phipsi.scalars` knows. Statement by statement, body by body, nothing is fused
or skipped except the zeros of the structure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from phipsi.algebra.spaces import POINTS
from phipsi.lowering import blocks
from phipsi.lowering.machine import Block, Machine, Values
from phipsi.lowering.outputs import Emit
from phipsi.lowering.own import own_block
from phipsi.lowering.program import (
    BODIES,
    FRAME,
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
from phipsi.lowering.visitor import Visitor, followed
from phipsi.lowering.walks import Walk
from phipsi.model.tree import WORLD
from phipsi.scalars import Scalar

HERE = (1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0)  # the pose of the world


class Run(Visitor):
    """One run of a program.

    Args:
        program: the loops.
        machine: where they run.
        values: the inputs, in scalars.
        emit: of each output, what takes its entries; by default nothing does.
        watch: looks at what is about to divide; None where numbers have no values.
    """

    machine: Machine

    def __init__(
        self,
        program: Program,
        machine: Machine,
        values: Values,
        emit: Sequence[Emit] | None = None,
        watch: Callable | None = None,
    ):
        machine = machine.with_values(values.parameters)
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
                self.once(statement)
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
            return list(HERE) if slot.shape == FRAME else self.machine.zeros(slot.shape, seat)
        block = store if kind == "world" else store[seat.k if kind == "body" else place]
        return self.machine.zeros(slot.shape, seat, kind == "world") if block is None else block

    def own_block(self, statement: Statement, seat: Seat) -> Block:
        """What a user's function tells of a body, in its link frame."""
        letter = statement.options[0]
        q = followed(self.values.q[seat.joint.q], seat.joint.mimic) if letter.varies else None
        return own_block(letter, self.machine.model, seat.k, q)

    def _make_room(self, statement: Statement) -> None:
        """For what a statement makes."""
        slot = statement.target
        if slot is None or slot in self.slots:
            return
        kind = slot.domain.kind
        if statement.effect is Effect.EMIT:
            self.slots[slot] = blocks.zero_matrix(*self._whole_sizes(slot))
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
        execute = [(self.executor(statement), statement) for statement in loop.statements]
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

    def _keep(self, statement: Statement, seat: Seat, block: Block) -> None:
        slot = statement.target
        assert slot is not None
        if statement.effect is Effect.SET:
            self.slots[slot][seat.k] = block
        elif seat.link.parent != WORLD:
            store, p = self.slots[slot], seat.link.parent
            store[p] = block if store[p] is None else _sum(store[p], block, slot.shape.symmetric)

    def _gather(self, slot: Slot, block: Block, rows: Sequence[int] | None) -> None:
        if rows is None:
            so_far = self.slots[slot]
            symmetric = slot.shape.symmetric
            self.slots[slot] = block if so_far is None else _sum(so_far, block, symmetric)
            return
        if self.slots[slot] is None:
            self.slots[slot] = blocks.zeros(self._whole_sizes(slot)[0])
        for i, x in zip(rows, block, strict=True):
            self.slots[slot][i] = blocks.plus(self.slots[slot][i], x)

    def _whole_sizes(self, slot: Slot) -> list[int]:
        """How many rows a slot of the whole machine has, and how many columns."""
        lists = self.values.points
        any_list = next(iter(lists.values()), [])
        return [
            self.machine.whole_size(space, any_list if points is None else lists[points])
            for space, points in slot.sides
        ]


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
