"""Statement by statement at a body: what every run of a program has in common.

Where blocks are kept, and what becomes of those that are passed on, is for each
kind of run to say: the interpreter keeps them in lists, machine code in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from phipsi.algebra.node import Symbol
from phipsi.algebra.spaces import BODY, COORDINATES, POINTS, is_dense
from phipsi.lowering import blocks, outputs
from phipsi.lowering.covariance import DUAL
from phipsi.lowering.inputs import SPATIAL
from phipsi.lowering.machine import Block, Places, Values, from_link, to_link
from phipsi.lowering.outputs import Emit
from phipsi.lowering.program import Columns, Effect, Program, Read, Slot, Statement
from phipsi.lowering.seat import FORMULAS, Seat, StepFormula
from phipsi.lowering.steps import STEPS
from phipsi.model.tree import WORLD
from phipsi.scalars import Scalar

Execute = Callable[[Statement, Seat], None]


class Visitor(ABC):
    """Runs statements at a seat.

    Attributes:
        program: the loops.
        machine: sizes and places of what is moved.
        values: the inputs.
        emit: of each output, what takes its entries.
        seats: the bodies, by number.
        slots: what statements have made.
    """

    program: Program
    machine: Places
    values: Values
    emit: Sequence[Emit]
    seats: Any
    slots: dict[Slot, Any]
    _staged: list[tuple[Any, int, Block]]  # columns for the parent, once all is done here

    @abstractmethod
    def read(self, read: Read, seat: Seat, place: int) -> Block:
        """An argument, seen from a body, or from one of its points."""

    @abstractmethod
    def own_block(self, statement: Statement, seat: Seat) -> Block:
        """What a user's function tells of a body, in its link frame."""

    @abstractmethod
    def walk(self, columns: Columns) -> Any:
        """Where columns start and pass."""

    @abstractmethod
    def _keep(self, statement: Statement, seat: Seat, block: Block) -> None:
        """A block of a body that is set, or added to the parent's."""

    @abstractmethod
    def _gather(self, slot: Slot, block: Block, rows: Sequence[int] | None) -> None:
        """Add a block to the one of the machine, at some rows of it or as a whole."""

    # -- by domain -------------------------------------------------------------------------

    def executor(self, statement: Statement) -> Execute:
        """What runs a statement at a body."""
        if statement.effect is Effect.EMIT:
            emit = {
                "emit": outputs.emit,
                "emit_line": outputs.emit_line,
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
        if statement.effect is not Effect.GATHER:
            self._keep(statement, seat, block)
            return
        placed = statement.step in ("gather", "lead")
        space = COORDINATES if statement.step == "lead" else slot.shape.rows
        self._gather(slot, block, self.machine.rows(seat, space) if placed else None)

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

    def once(self, statement: Statement) -> None:
        """What belongs to no body: the world's blocks, and inputs at points."""
        if statement.effect is Effect.EMIT:
            {
                "emit": outputs.emit_whole,
                "emit_line": outputs.emit_whole_line,
                "emit_block": outputs.emit_whole_block,
                "emit_outer": outputs.emit_outer,
                "emit_product": outputs.emit_product,
            }[statement.step](self, statement)
            return
        slot, seat = statement.target, self.seats[WORLD]
        assert slot is not None
        if statement.domain.kind == "world":
            self.slots[slot] = self._compute(statement, seat, 0, None)
            return
        for e in range(max(map(len, self.values.points.values()), default=0)):
            self._on_point(statement, seat, e, None)

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
        return list(whole[self.span(slot.shape.rows, statement, seat, place)])

    def span(self, space: Any, statement: Statement, seat: Seat, place: int) -> slice:
        """Which rows of a space belong to the place of a statement: all, if it is one block."""
        if space.size is not None:
            return slice(0, space.size)
        if statement.domain.kind == "world":
            return slice(0, self.machine.whole_size(space, ()))
        if space is POINTS:
            return slice(SPATIAL * place, SPATIAL * place + SPATIAL)
        rows = self.machine.rows(seat, space)
        return slice(rows.start, rows.stop)


# -- steps that need more than a seat and blocks ---------------------------------------------


def _coordinates(run: Visitor, statement: Statement, seat: Seat, arguments: Any, at: Any) -> Block:
    """q(k), a mimic's from the joint it follows."""
    return followed(run.values.q[seat.joint.q], seat.joint.mimic)


def followed(q: Sequence[Scalar], mimic: Any) -> list[Scalar]:
    """The coordinates of a joint; of a mimic from those of the joint it follows."""
    own = list(q)
    return own if mimic is None else [mimic.ratio * x + mimic.offset for x in own]


def _speeds(run: Visitor, statement: Statement, seat: Seat, arguments: Any, at: Any) -> Block:
    """beta(k), a mimic's from the joint it follows."""
    assert run.values.v is not None, "checked before"
    own, mimic = list(run.values.v[seat.joint.v]), seat.joint.mimic
    return own if mimic is None else blocks.scale(mimic.ratio, own)


def _given(run: Visitor, statement: Statement, seat: Seat, place: int) -> Block:
    """The value of a free vector: a body's block of it, a point's, or all of it."""
    letter, kind = statement.options
    block = run.part(run.values.given[letter], statement, seat, place)
    return from_link(seat, letter.target, kind, block)


def _given_block(run: Visitor, statement: Statement, seat: Seat, place: int) -> Block:
    """The block of a free operator, in private frames; its rows are covectors of the source."""
    letter, target, source = statement.options
    given = run.values.given[letter]
    if is_dense(letter.source, letter.target):
        given = _share(run, statement, seat, place, given[0])
    else:
        given = given[place]
    return _turned(seat, letter, target, source, given)


def _turned(seat: Seat, letter: Symbol, target: str, source: str, block: Block) -> Block:
    """A block in the link frame, in the private one; its rows are covectors of the source."""
    rows = [from_link(seat, letter.source, DUAL[source], x) for x in block]
    columns = [from_link(seat, letter.target, target, x) for x in blocks.transpose(rows)]
    return blocks.transpose(columns)


def _share(run: Visitor, statement: Statement, seat: Seat, place: int, whole: Block) -> Block:
    """Of a matrix of the whole machine the rows and columns of a body, a joint or a point."""
    slot = statement.target
    assert slot is not None
    sides = slot.shape.rows, slot.shape.columns
    rows, columns = (run.span(x, statement, seat, place) for x in sides)
    return [list(row[columns]) for row in whole[rows]]


def _spread_block(run: Visitor, statement: Statement, seat: Seat, place: int) -> Block:
    """Of a matrix of point space the diagonal block of a point."""
    (read,) = statement.arguments
    own = slice(SPATIAL * place, SPATIAL * place + SPATIAL)
    return [row[own] for row in run.read(read, seat, place)[own]]


def _spread(run: Visitor, statement: Statement, seat: Seat, place: int) -> Block:
    """A vector of the whole machine, of which each place takes its part."""
    (read,) = statement.arguments
    return run.part(run.read(read, seat, place), statement, seat, place)


def _gather(run: Visitor, statement: Statement, seat: Seat, arguments: Any, at: Any) -> Block:
    """A block as it is in public."""
    space, kind = statement.options
    return to_link(seat, space, kind, arguments[0])


def _from_points(run: Visitor, statement: Statement, seat: Seat, arguments: Any, at: Any) -> Block:
    """B f: the forces at all points of the body."""
    total = blocks.zeros(SPATIAL)
    for e, position in seat.points.get(statement.options[0], ()):
        total = blocks.add(total, STEPS["from_point"](seat, arguments[0][e], position))
    return total


def _load(run: Visitor, statement: Statement, seat: Seat, arguments: Any, at: Any) -> Block:
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


def _at_point(run: Visitor, statement: Statement, seat: Seat, arguments: Any, at: Any) -> Block:
    """B* x at a point, or B u at the point of a column."""
    if seat.k == WORLD:
        return blocks.zeros(SPATIAL)
    step = "to_point" if statement.step == "to_point" else "from_point"
    return STEPS[step](seat, arguments[0], at)


def _own_block(run: Visitor, statement: Statement, seat: Seat, arguments: Any, at: Any) -> Block:
    """The block of a letter of the user's, in private frames."""
    letter, target, source = statement.options
    block = _turned(seat, letter, target, source, run.own_block(statement, seat))
    if letter.symmetric:
        return blocks.mirrored(len(block), lambda i, j: block[i][j])
    return block


def _own_vector(run: Visitor, statement: Statement, seat: Seat, arguments: Any, at: Any) -> Block:
    """The block of a vector of the user's, in private frames."""
    letter, kind = statement.options
    block = [x for (x,) in run.own_block(statement, seat)]
    return from_link(seat, letter.target, kind, block)


_SPECIAL: dict[str, Callable] = {
    **dict.fromkeys(("own_block", "own_block_of_q"), _own_block),
    **dict.fromkeys(("own_vector", "own_vector_of_q"), _own_vector),
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
FORMULAS |= {  # of these steps; those of the others are beside them
    **dict.fromkeys(("own_block", "own_block_of_q"), StepFormula("letter", ("letter",))),
    **dict.fromkeys(("own_vector", "own_vector_of_q"), StepFormula("letter", ("letter",))),
    **dict.fromkeys(("given", "given_block"), StepFormula("letter", ("letter",))),
    "coordinates": StepFormula("", ()),
    "speeds": StepFormula("beta", ()),
    "gather": StepFormula("x", ("x",)),
    "spread": StepFormula("x", ("x",)),
    "spread_block": StepFormula("blockdiag(A)", ("A",)),
    "from_points": StepFormula("B @ f", ("f", "points")),
    "load": StepFormula("B @ A @ B.T", ("A", "points")),
    "from_column": StepFormula("B @ f", ("f",)),
    "unit": StepFormula("I.at(space)", ("space",)),
}
SPECIAL_STEPS = frozenset((*_SPECIAL, *_PLACED, "unit"))
