"""The interpreter visits a body of which only the form is known, and leaves templates.

Reads become loads, what is passed on becomes stores; see `templates`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

from phipsi.algebra.node import Symbol
from phipsi.algebra.spaces import BASE, JOINT, POINTS, SCALAR, Space, is_dense
from phipsi.graph.graph import Node
from phipsi.lowering import blocks
from phipsi.lowering.cancellation import Recorded, Size
from phipsi.lowering.generic import (
    Form,
    GenericJoint,
    GenericMimic,
    Own,
    generic_link,
    loaded,
)
from phipsi.lowering.inputs import SPATIAL
from phipsi.lowering.interpret import HERE
from phipsi.lowering.links import Link
from phipsi.lowering.machine import Block, Values
from phipsi.lowering.memory import Area, Matrix, Recorder, Rows, Slots, is_fixed
from phipsi.lowering.own import own_letters
from phipsi.lowering.program import (
    FRAME,
    At,
    Columns,
    Effect,
    Life,
    Loop,
    Program,
    Read,
    Slot,
    Statement,
)
from phipsi.lowering.seat import Seat
from phipsi.lowering.templates import (
    PASSING,
    POINT,
    THIS,
    WORK,
    Address,
    Layout,
    Operand,
    Region,
    Template,
    column_patterns,
    columns_of,
    flat,
    has_pivots,
    mapped,
    mark,
    meaning,
    pairs_of,
    places,
    side,
)
from phipsi.lowering.trace import check_quaternion
from phipsi.model.tree import WORLD
from phipsi.scalars import Scalar


class Visit(Recorder):
    """Visits a body of one form, loop by loop; or the points on the world.

    Args:
        program: the loops.
        form: of the body.
        link: one such body; None at the world.
        layout: of records.
        plain: whether no joint of the machine follows another.
        real: what the code will compute with, "double" or "float".
        arguments: which constants of the machine are arguments.
        conditions: what numbers of the body that are arguments must meet, of another graph.
        own: of one such body the blocks of the user's letters, in their order in the program.

    Attributes:
        record: how many numbers its record takes, after all loops.
    """

    def __init__(
        self,
        program: Program,
        form: Form,
        link: Link | None,
        layout: Layout,
        plain: bool,
        real: str = "double",
        arguments: Collection[str] = (),
        conditions: Sequence[Node] = (),
        own: Own = (),
    ):
        super().__init__(program, layout, plain, None, real, arguments)
        self.form, self._conditions = form, conditions
        self.record = layout.size
        self.slots = Slots(self._missing)
        self._own: dict[Slot, Any] = {}  # made in this loop
        self._places: dict[tuple[Slot, Node], int] = {}  # in the record, of what is kept
        self._fixed: dict[Node, bool] = {}
        self._kept: dict[Slot, Any] = {}  # made before, as loads
        self._cancellation: Recorded | None = None
        self._visited = False
        self._here: list[int] = []  # the columns that are walked with
        points = self._points()
        self._blocks: dict[Symbol, Any] = {}
        self.seat = self._seat(link, points, own)
        passing: Any = SimpleNamespace(k=PASSING)
        self.seats: Any = {self.seat.k: self.seat, PASSING: passing}
        located: Any = _Located(points)
        ins = [Area(self.graph, ("in", name)) for name in ("q", "v")]
        given: dict[Symbol, Any] = {}
        for letter in program.free:
            if letter.source is SCALAR:
                given[letter] = Area(self.graph, ("in", letter.name))
            elif is_dense(letter.source, letter.target):
                given[letter] = [Rows(self.graph, letter)]
            else:
                given[letter] = _Blocks(self, letter)
        self.values = Values(ins[0], ins[1], given, located)  # type: ignore[arg-type]
        if layout.tells:
            self.checks.cancellation = self._cancellation = Recorded(
                ins[0], real == "float", self._told
            )
        self._by_columns = {
            read.slot
            for statement in program.statements()
            if statement.domain.kind == "column"
            for read in statement.arguments
        }
        self._paired = {
            read.slot
            for statement in program.statements()
            if statement.domain.kind == "pair"
            for read in (statement.arguments[0], statement.arguments[2])
        }

    def _points(self) -> dict[tuple, list]:
        """The points on the body, numbered through all lists."""
        points: dict[tuple, list] = {}
        count = 0
        for key, several in self.form.points:
            for _ in range(several):
                place = Area(self.graph, ("in", "points"), (("position", count),))[0:3]
                points.setdefault(key, []).append((POINT + count, place))
                count += 1
        return points

    def _seat(self, link: Link | None, points: dict[tuple, list], own: Own) -> Seat:
        model: Any = self.machine.model
        nothing: Any = None
        if link is None:
            return Seat(WORLD, nothing, nothing, model, self.checks, points)
        if self.form.follows:
            ratio, offset = (self.graph.input(("constant", x)) for x in ("ratio", "offset"))
            self.machine.mimic = GenericMimic(ratio, offset)
        starts = [mark((x,)) for x in ("q", "v", "rows")]
        sizes = (link.nq, link.nv, link.nv)
        q, v, rows = (slice(x, x + n) for x, n in zip(starts, sizes, strict=True))
        joint: Any = GenericJoint(q, v, rows, self.machine.mimic)
        generic, found = generic_link(link, self.graph, own)
        self._blocks = dict(zip(own_letters(self.program), found, strict=True))
        return Seat(THIS, generic, joint, model, self.checks, points, dict(self.form.axes))

    # -- one loop ----------------------------------------------------------------------------

    def template(self, loop: Loop) -> Template:
        """What the loop does at the body; loops come in order."""
        self._kept |= {slot: self._reloaded(slot, block) for slot, block in self._own.items()}
        self._own = {}
        for slot in [x for x in self.slots if x.domain.kind in ("world", "point")]:
            del self.slots[slot]
        for statement in loop.statements:
            if statement.effect is Effect.EMIT and statement.target is not None:
                self.slots[statement.target] = self._filled(statement.target)
        regions = [self._outer(loop)]
        if self.seat.k != WORLD:
            for columns in columns_of(loop):
                patterns = column_patterns(loop, columns)
                regions += [
                    self._passing(loop, columns, d, patterns) for d in range(1, len(patterns))
                ]
            for n, statement in enumerate(pairs_of(loop)):
                regions += self._pairs(n, statement)
        return Template(self.graph, [x for x in regions if x.stores or x.checks])

    def _outer(self, loop: Loop) -> Region:
        """What is done once at the body, and for the columns that start there."""
        self.region = region = Region(None)
        known, seat = len(self.checks.found), self.seat
        if seat.k != WORLD and not self._visited:
            kind = getattr(seat.link, "kind", None)
            if kind is not None:
                check_quaternion(kind, self.values.q[seat.joint.q], self.checks)
            self.checks.hold(*(loaded(x, self.graph) for x in self._conditions))
        self._visited = True
        walking = [x for x in loop.statements if x.domain.kind == "column"]
        for statement in walking:
            if statement.target is not None and statement.effect is not Effect.EMIT:
                starts = self._starts(statement.domain.columns)
                self.slots[statement.target] = dict.fromkeys(starts)  # nothing has come yet
        for statement in loop.statements:
            domain = statement.domain
            if domain.kind == "column":
                self._here = self._starts(domain.columns)
            if domain.kind != "pair" and (seat.k != WORLD or domain.kind == "point"):
                self.executor(statement)(statement, seat)
        self._keep_columns()
        for statement in loop.statements:
            if statement.domain.kind == "point" and statement.effect is Effect.SET:
                self._keep_points(statement)
        if seat.k != WORLD and has_pivots(loop):
            self._tell()
        region.checks = list(self.checks.found)[known:]
        return region

    def _told(self) -> Size:
        """What children have told of their inertias."""
        if self.form.is_leaf:
            return 0, 0
        return self._load(("own",), self.layout.told), self._load(("own",), self.layout.told + 1)

    def _tell(self) -> None:
        """Tell the parent, if that matters; the first child sets it, as of all that is pushed."""
        if self._cancellation is None or self.seat.is_root:
            return
        for i, x in enumerate(self._cancellation.told):
            address = Address(WORK, (("parent",),), self.layout.told + i)
            self._store(address, x, adds=not self.form.is_first)
        self._cancellation.told = 0, 0

    def own_block(self, statement: Statement, seat: Seat) -> Block:
        """What a user's function tells of any body of this form."""
        return [list(row) for row in self._blocks[statement.options[0]]]

    def _starts(self, columns: Columns | None) -> list[int]:
        """The columns that start at the body."""
        assert columns is not None
        if columns.space is not POINTS:
            return [THIS]
        return [e for e, _ in self.seat.points.get(columns.points or (), ())]

    def _passing(
        self, loop: Loop, columns: Columns, distance: int, patterns: Sequence[frozenset[Slot]]
    ) -> Region:
        """What is done for a column that has come from `distance` bodies outboard."""
        self.region = region = Region(("columns", columns, distance))
        self._here = [PASSING]
        own = [x for x in loop.statements if x.domain.columns == columns]
        for statement in own:
            if statement.domain.kind == "column" and statement.effect is Effect.PUSH:
                slot = statement.target
                assert slot is not None
                area = Area(self.graph, WORK, (("column", slot, None),))
                vector = area[0 : side(slot.shape.rows)]
                self.slots[slot] = {PASSING: [vector] if slot in patterns[distance] else None}
        known = len(self.checks.found)
        for statement in own:
            if statement.domain.kind == "column":
                if statement.target is not None and statement.effect is Effect.SET:
                    self.slots[statement.target] = {}
                self.executor(statement)(statement, self.seat)
        self._keep_columns()
        region.checks = list(self.checks.found)[known:]
        return region

    def walk(self, columns: Columns) -> Any:
        """The columns that are at hand: those that start here, or one that passes."""
        starts = {j: WORLD if j == PASSING else self.seat.k for j in self._here}
        return SimpleNamespace(through={self.seat.k: self._here}, starts=starts)

    def _keep_columns(self) -> None:
        """Columns that go on, and those that pairs will look at."""
        slot_of = {id(store): slot for slot, store in self.slots.items()}
        for slot in self._paired & set(self.slots):
            for j, bundle in self.slots[slot].items():
                self._keep_bundle("paired", slot, j, bundle)
        for store, j, bundle in self._staged:
            if not self.seat.is_root:
                self._keep_bundle("column", slot_of[id(store)], j, bundle)
        self._staged.clear()
        for slot in [x for x in self.slots if x.domain.kind == "column"]:
            del self.slots[slot]

    def _keep_bundle(self, what: str, slot: Slot, j: int, bundle: Any) -> None:
        number = None if j == PASSING else j - POINT if j >= POINT else 0
        for c, vector in enumerate(bundle or ()):
            for i, x in enumerate(vector):
                self._store(Address(WORK, ((what, slot, number),), len(vector) * c + i), x)

    def _keep_points(self, statement: Statement) -> None:
        slot = statement.target
        assert slot is not None
        if self._life[slot] is Life.LOCAL and slot not in self._by_columns:
            return
        for e, block in self.slots[slot].items():
            for i, x in enumerate(flat(block)):
                self._store(Address(WORK, (("point slot", slot, e - POINT),), i), x)

    # -- pairs -------------------------------------------------------------------------------

    def _pairs(self, n: int, statement: Statement) -> list[Region]:
        """x_i* Y y_j: first Y times as few of the vectors as will do, then products of two."""
        Y = self.read(statement.arguments[1], self.seat, self.seat.k)
        regions = []
        for which, times_Y in (("left", blocks.apply_transposed), ("right", blocks.apply)):
            self.region = Region((which, n))
            vector = [self._load(("vector",), i) for i in range(SPATIAL)]
            for i, x in enumerate(times_Y(Y, vector)):
                self._store(Address(WORK, (("scratch",),), i), x)
            regions.append(self.region)
        x, y = ([self._load((name,), i) for i in range(SPATIAL)] for name in ("x", "y"))
        value = blocks.dot(x, y)
        if not self.machine.plain:
            value = blocks.times(self.graph.input(("ratio",)), value)
        for which in ("pairs", "mirrored"):
            self.region = Region((which, n))
            self._store(self._entry(statement, ("row",), ("place",)), value, adds=True)
            if which == "mirrored":
                self._store(self._entry(statement, ("place",), ("row",)), value, adds=True)
            regions.append(self.region)
        return regions

    def _entry(self, statement: Statement, row: Operand, column: Operand) -> Address:
        """Of the matrix that a statement fills."""
        slot = statement.target
        if slot is None:
            number = statement.options[0]
            return Address(("out", number), (column,), 0, (row,), 0, ("stride", number))
        return Address(WORK, (("world", slot), column), 0, (row,), 0, ("stride", slot))

    # -- blocks of the body ------------------------------------------------------------------

    def read(self, read: Read, seat: Seat, place: int) -> Block:
        """An argument: made here, or loaded."""
        slot, kind = read.slot, read.slot.domain.kind
        if read.at is At.PARENT:
            return None if seat.is_root else self._shared(slot, ("parent",))
        if read.at is At.EACH_POINT or kind == "world":
            return self.slots[slot]
        if kind == "point":
            return self.slots[slot][place]
        if seat.k == WORLD:  # which rests, where it is
            return list(HERE) if slot.shape == FRAME else self.machine.zeros(slot.shape, seat)
        if slot in self._own:
            return self._own[slot]
        if slot not in self.layout.pushed:
            return self._kept[slot]
        if self.form.is_leaf:
            return self.machine.zeros(slot.shape, seat)
        return self._shared(slot, ("own",))

    def _shared(self, slot: Slot, base: Operand) -> Block:
        """A block that neighbours know, of any body."""
        start = self.layout.shared[slot]
        return mapped(lambda i: self._load(base, start + i), places(slot.shape))

    def _keep(self, statement: Statement, seat: Seat, block: Block) -> None:
        slot = statement.target
        assert slot is not None
        if statement.effect is Effect.SET:
            self._own[slot] = block
            self._leave(slot, block)
        elif not seat.is_root:
            self._push(slot, block)

    def _push(self, slot: Slot, block: Block) -> None:
        """Add to the block of the parent; the first child sets it."""
        start, first = self.layout.shared[slot], self.form.is_first
        for i, x in dict(zip(flat(places(slot.shape)), flat(block), strict=True)).items():
            if first or not blocks.is_zero(x):
                self._store(Address(WORK, (("parent",),), start + i), x, adds=not first)

    def _leave(self, slot: Slot, block: Block) -> None:
        """What the neighbours or later loops read."""
        if slot in self.layout.shared:
            start = self.layout.shared[slot]
            for i, x in dict(zip(flat(places(slot.shape)), flat(block), strict=True)).items():
                self._store(Address(WORK, (("own",),), start + i), x)
        elif self._life[slot] is Life.KEPT:
            for x in dict.fromkeys(x for x in flat(block) if not self.is_fixed(x)):
                self._places[slot, x] = self.record
                self._store(Address(WORK, (("own",),), self.record), x)
                self.record += 1

    def _reloaded(self, slot: Slot, block: Block) -> Block:
        """A block that an earlier loop made."""
        if slot in self.layout.shared:
            start = self.layout.shared[slot]
            at: Any = iter(list(flat(places(slot.shape))))

            def again(x: Scalar) -> Scalar:
                i = next(at)
                return x if self.is_fixed(x) else self._load(("own",), start + i)

            return mapped(again, block)

        def load(x: Scalar) -> Scalar:
            place = self._places.get((slot, x)) if isinstance(x, Node) else None
            return x if place is None else self._load(("own",), place)

        return mapped(load, block)

    def is_fixed(self, x: Scalar) -> bool:
        """Whether a number depends on the body alone, not on the state."""
        return not isinstance(x, Node) or is_fixed(x, self._fixed)

    def _gather(self, slot: Slot, block: Block, rows: Iterable[int] | None) -> None:
        """Add to a block of the whole machine."""
        base = ("world", slot)
        if rows is None:
            for i, x in enumerate(flat(block)):
                if not blocks.is_zero(x):
                    self._store(Address(WORK, (base,), i), x, adds=True)
            return
        for row, x in zip(rows, block, strict=True):
            operands, offset = meaning(row)
            self._store(Address(WORK, (base, *operands), offset), x, adds=True)

    # -- blocks of the machine ---------------------------------------------------------------

    def _missing(self, slot: Slot) -> Any:
        """A block of the whole machine, or blocks at the points of the body, from memory."""
        shape = slot.shape
        if slot.domain.kind == "point":
            return _AtPoints(self, slot)
        sides = [x for x in (shape.rows, shape.columns) if isinstance(x, Space)]
        if any(x not in (BASE, SCALAR) and not x.is_own for x in sides):
            if shape.is_matrix:
                return Rows(self.graph, slot)
            return Area(self.graph, WORK, (("world", slot),))
        n, m = side(shape.rows), side(shape.columns) if shape.is_matrix else None
        if m is None:
            return [self._load(("world", slot), i) for i in range(n)]
        return [[self._load(("world", slot), i * m + j) for j in range(m)] for i in range(n)]

    def at_point(self, slot: Slot, e: int) -> Block:
        """The block at a point of the body, or at that where a column has started, from memory."""
        base = ("point entry", slot) if e == PASSING else ("point slot", slot, e - POINT)
        n, m = side(slot.shape.rows), side(slot.shape.columns) if slot.shape.is_matrix else None
        if m is None:
            return [self._load(base, i) for i in range(n)]
        return [[self._load(base, m * i + j) for j in range(m)] for i in range(n)]

    def _filled(self, slot: Slot) -> Matrix:
        """A matrix of the whole machine that statements add to."""

        def add(i: int, j: int, value: Scalar) -> None:
            if not blocks.is_zero(value):
                (rows, row), (columns, column) = meaning(i), meaning(j)
                base, stride = ("world", slot), ("stride", slot)
                self._store(
                    Address(WORK, (base, *columns), column, rows, row, stride), value, adds=True
                )

        return Matrix(add)


class _AtPoints(dict):
    """Blocks at points: those made here, and from memory those of any list of points."""

    def __init__(self, visit: Visit, slot: Slot):
        super().__init__()
        self.visit, self.slot = visit, slot

    def __missing__(self, e: int) -> Block:
        return self.visit.at_point(self.slot, e)


class _Blocks:
    """The blocks of a free operator, in memory: one for the body, one for each of its points."""

    def __init__(self, visit: Visit, letter: Symbol):
        self.visit, self.letter = visit, letter

    def __getitem__(self, place: int) -> Block:
        space = self.letter.target
        nv = self.visit.seat.link.nv if space is JOINT else 0
        n = nv if space is JOINT else side(space)
        m = nv if self.letter.source is JOINT else side(self.letter.source)
        number = place - POINT if place >= POINT else 0
        area = Area(self.visit.graph, ("in", self.letter.name), (("block", self.letter, number),))
        return [area[i * m : i * m + m] for i in range(n)]


class _Located(dict):
    """Of each list of points those at hand, by number; a column that passes has no position."""

    def __init__(self, points: dict[tuple, list]):
        super().__init__()
        self.points = points

    def __missing__(self, key: tuple) -> Any:
        self[key] = found = {e: (THIS, x) for e, x in self.points.get(key, ())}
        found[PASSING] = (THIS, None)
        return found
