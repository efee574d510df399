"""How a run fills its outputs: vectors body by body, matrices column by column and pair by pair.

An output that is an argument, a matrix to solve with, is a slot of the whole
machine; the others go to whoever takes their entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from phipsi.algebra.spaces import BASE, POINTS, Space
from phipsi.lowering import blocks, transforms
from phipsi.lowering.covariance import DUAL
from phipsi.lowering.inputs import SPATIAL
from phipsi.lowering.machine import Block, to_link
from phipsi.lowering.program import Columns, Statement
from phipsi.lowering.seat import Seat
from phipsi.lowering.sides import Side
from phipsi.lowering.steps import STEPS
from phipsi.lowering.walks import meetings
from phipsi.scalars import Scalar

if TYPE_CHECKING:
    from phipsi.lowering.visitor import Visitor

Emit = Callable[[int, int, Scalar], None]  # row, column, what to add there


def emit(run: Visitor, statement: Statement, seat: Seat) -> None:
    """A vector's block at this body."""
    number, space, kind = statement.options
    _emit_block(run, statement, seat, space, kind, run.emit[number])


def emit_line(run: Visitor, statement: Statement, seat: Seat) -> None:
    """The block at this body of a vector that is a column, or a row, of a matrix."""
    _, space, kind, _, _ = statement.options
    _emit_block(run, statement, seat, space, kind, _line(run, statement))


def _line(run: Visitor, statement: Statement) -> Emit:
    """What takes the entries of a vector that is a column, or a row, of a matrix."""
    number, _, _, line, starred = statement.options
    take = run.emit[number]
    return lambda i, j, x: take(line, i, x) if starred else take(i, line, x)


def _emit_block(
    run: Visitor, statement: Statement, seat: Seat, space: Space, kind: str, take: Emit
) -> None:
    if statement.domain.kind == "point":
        for e, _ in seat.points.get(statement.domain.points or (), ()):
            for i, x in enumerate(run.read(statement.arguments[0], seat, e)):
                take(SPATIAL * e + i, 0, x)
        return
    block = to_link(seat, space, kind, run.read(statement.arguments[0], seat, seat.k))
    for i, x in zip(run.machine.rows(seat, space), block, strict=True):
        take(i, 0, x)


def emit_whole(run: Visitor, statement: Statement) -> None:
    """A vector or number of the whole machine."""
    _emit_all(run, statement, run.emit[statement.options[0]])


def emit_whole_line(run: Visitor, statement: Statement) -> None:
    """A vector of the whole machine that is a column, or a row, of a matrix."""
    _emit_all(run, statement, _line(run, statement))


def _emit_all(run: Visitor, statement: Statement, take: Emit) -> None:
    slot = statement.arguments[0].slot
    block = run.slots[slot]
    if slot.domain.kind == "point":
        block = [x for e in sorted(block) for x in block[e]]
    for i, x in enumerate(block or ()):
        take(i, 0, x)


def emit_diagonal(run: Visitor, statement: Statement, seat: Seat) -> None:
    """The diagonal block of this body; its rows are covectors of the source."""
    _, mirrored, target, source, (target_kind, source_kind) = statement.options
    add = _taker(run, statement)
    block = run.read(statement.arguments[0], seat, seat.k)
    rows = [to_link(seat, source, DUAL[source_kind], row) for row in block]
    columns = [to_link(seat, target, target_kind, list(x)) for x in zip(*rows, strict=True)]
    for j, column in zip(run.machine.rows(seat, source), columns, strict=True):
        for i, value in zip(run.machine.rows(seat, target), column, strict=True):
            add(i, j, value)
            if mirrored:
                add(j, i, value)


def emit_block(run: Visitor, statement: Statement, seat: Seat) -> None:
    """The diagonal blocks of point space, at the points of this body."""
    for e, _ in seat.points.get(statement.domain.points or (), ()):
        _add_block(run, statement, run.read(statement.arguments[0], seat, e), SPATIAL * e)


def emit_whole_block(run: Visitor, statement: Statement) -> None:
    """A matrix of the whole machine, or the diagonal blocks of point space."""
    slot = statement.arguments[0].slot
    if slot.domain.kind == "world":
        _add_block(run, statement, run.slots[slot], 0)
        return
    for e, block in run.slots[slot].items():
        _add_block(run, statement, block, SPATIAL * e)


def _add_block(run: Visitor, statement: Statement, block: Block, start: int) -> None:
    _, mirrored = statement.options
    add = _taker(run, statement)
    for i, row in enumerate(block, start):
        for j, x in enumerate(row, start):
            add(i, j, x)
            if mirrored:
                add(j, i, x)


def emit_outer(run: Visitor, statement: Statement) -> None:
    """x @ y* of vectors of the whole machine."""
    _, mirrored = statement.options
    add = _taker(run, statement)
    x, y = (run.slots[read.slot] or () for read in statement.arguments)
    for i, a in enumerate(x):
        for j, b in enumerate(y):
            value = blocks.times(a, b)
            add(i, j, value)
            if mirrored:
                add(j, i, value)


def emit_product(run: Visitor, statement: Statement) -> None:
    """A B of matrices of the whole machine."""
    add = _taker(run, statement)
    A, B = (run.slots[read.slot] for read in statement.arguments)
    for i, row in enumerate(blocks.compose(A, B)):
        for j, x in enumerate(row):
            add(i, j, x)


def emit_column(run: Visitor, statement: Statement, seat: Seat) -> None:
    """The blocks of the columns that pass this body; mirrored, or only the mirrored ones."""
    _, left, right, mirrored, starred = statement.options
    columns, slot = statement.domain.columns, statement.arguments[0].slot
    assert columns is not None
    add = _taker(run, statement)
    for j in run.walk(columns).through[seat.k]:
        bundle, ratio = run.slots[slot][j], run.machine.ratio(right.space, j)
        for column, vector in zip(_places(run, columns, right, j), bundle or (), strict=False):
            for row, x in _rows(run, statement, seat, left, vector):
                value = blocks.times(ratio, x)
                if mirrored or not starred:
                    add(row, column, value)
                if mirrored or starred:
                    add(column, row, value)


def emit_pair(run: Visitor, statement: Statement, seat: Seat) -> None:
    """x_i* Y y_j of the columns that meet here; Y times as few of them as will do."""
    _, left, right, (rows, i_delay), (columns, j_delay), mirrored, symmetric = statement.options
    add = _taker(run, statement)
    x, y = (run.slots[statement.arguments[i].slot] for i in (0, 2))
    Y = run.read(statement.arguments[1], seat, seat.k)
    ones = run.walk(rows).groups(seat.k, i_delay)
    others = ones if symmetric else run.walk(columns).groups(seat.k, j_delay)
    from_left: dict[int, Block] = {}
    from_right: dict[int, Block] = {}
    for i, j, on_left in meetings(ones, others, symmetric):
        if x[i] is None or y[j] is None:
            continue
        if on_left and i not in from_left:
            from_left[i] = [blocks.apply_transposed(Y, a) for a in x[i]]
        if not on_left and j not in from_right:
            from_right[j] = [blocks.apply(Y, b) for b in y[j]]
        xs, ys = (from_left[i], y[j]) if on_left else (x[i], from_right[j])
        ratios = run.machine.ratio(left.space, i), run.machine.ratio(right.space, j)
        for row, a in zip(_places(run, rows, left, i), xs, strict=True):
            for column, b in zip(_places(run, columns, right, j), ys, strict=True):
                value = blocks.times(blocks.times(*ratios), blocks.dot(a, b))
                add(row, column, value)
                if mirrored or (symmetric and i != j):
                    add(column, row, value)


def _taker(run: Visitor, statement: Statement) -> Emit:
    """What takes the entries of a statement's output."""
    if statement.target is None:
        return run.emit[statement.options[0]]
    matrix = run.slots[statement.target]

    def add(i: int, j: int, value: Scalar) -> None:
        matrix[i][j] = blocks.plus(matrix[i][j], value)

    return add


def _places(run: Visitor, columns: Columns, side: Side, j: int) -> Sequence[int]:
    """Which rows or columns of the output block column j fills."""
    if columns.space is POINTS:
        return range(SPATIAL * j, SPATIAL * j + SPATIAL)
    return run.machine.rows(run.seats[j], side.space)


def _rows(
    run: Visitor, statement: Statement, seat: Seat, left: Side, vector: Block
) -> Iterator[tuple[int, Scalar]]:
    """The rows that a body's vector fills on the left side, and with what."""
    if left.space is POINTS:
        for e, position in seat.points.get(left.points or (), ()):
            moved = STEPS["to_point"](seat, vector, position)
            if left.outer is not None:
                moved = blocks.apply(run.read(statement.arguments[1], seat, e), moved)
            yield from enumerate(moved, SPATIAL * e)
    elif left.space is BASE:
        if seat.is_root:
            X = run.read(statement.arguments[-1], seat, seat.k)
            yield from enumerate(transforms.inward(seat.link.factors(X), vector))
    else:
        ratio, public = (
            run.machine.ratio(left.space, seat.k),
            to_link(seat, left.space, left.kind, vector),
        )
        for row, x in zip(run.machine.rows(seat, left.space), public, strict=True):
            yield row, blocks.times(ratio, x)
