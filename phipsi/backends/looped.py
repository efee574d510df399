"""Rolled code of a program, compiled as forms of bodies appear; and tables of machines for it."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Any, cast

import numpy as np

from phipsi.algebra.spaces import BODY, COORDINATES, JOINT, POINTS, POSE
from phipsi.backends import dense, tables
from phipsi.backends.disk.identity import Parts, is_ours
from phipsi.backends.layouts import Layouts
from phipsi.backends.llvm import Code, Target, compiling, llvm_version
from phipsi.backends.parallel.subtrees import Cut, cut_machine
from phipsi.backends.pieces import Looped, Loops, Piece, Pieces, walk_code
from phipsi.backends.tables import Codes, Rows, Table
from phipsi.lowering.generic import Form
from phipsi.lowering.machine import Machine
from phipsi.lowering.memory import Sizes
from phipsi.lowering.once import Once
from phipsi.lowering.program import Direction, Loop, Program, Slot
from phipsi.lowering.template_derivatives import (
    Partners,
    Product,
    forward_dense,
    forward_template,
    reverse_dense,
    reverse_template,
    without_results,
)
from phipsi.lowering.templates import Dense, Layout, Template, Whole
from phipsi.lowering.trace import Shapes, check_scale
from phipsi.lowering.visit import Visit
from phipsi.model.joints import JointKind
from phipsi.model.tree import WORLD

PROGRAMS = 64  # whose code is kept for machines to come
FORMS = 256  # of bodies, and sizes of machines, whose pieces a program keeps for machines to come
LARGEST = 200_000  # nodes of what is done once for a machine
AT_WORLD = np.array([WORLD])


class Way(Enum):
    """How a pass goes through its loop, for one product with a Jacobian."""

    ALONG = "along"  # with tangents
    THERE = "there"  # as ever, to keep what it leaves
    BACK = "back"  # with adjoints, against its direction


@dataclass(frozen=True)
class Pass:
    """One walk through a loop of the program.

    Args:
        number: of the loop.
        loop: itself, as it is walked through.
        ways: for each product with a Jacobian, from the first.
    """

    number: int
    loop: Loop
    ways: tuple[Way, ...] = ()

    @property
    def is_back(self) -> bool:
        """Whether it goes against the direction of the loop."""
        return self.ways.count(Way.BACK) % 2 == 1

    def going(self, way: Way) -> Pass:
        """The same in a derivative."""
        loop = self.loop
        if way is Way.BACK:
            loop = replace(loop, direction=loop.direction.other)
        return Pass(self.number, loop, (*self.ways, way))


def passes_of(program: Program, products: Sequence[Product]) -> list[Pass]:
    """The walks of a program, or of a product with the Jacobian of what comes before it."""
    passes = [Pass(i, x) for i, x in enumerate(program.loops)]
    for product in products:
        if product.is_reverse:
            there = [x.going(Way.THERE) for x in passes]
            passes = [*there, *(x.going(Way.BACK) for x in reversed(passes))]
        else:
            passes = [x.going(Way.ALONG) for x in passes]
    return passes


class _Stream:
    """Rows, one after the other; `cut` says which of them threads may share, by `segments`.

    Args:
        table: of the machine.
        where: its numbers are in the workspace.
        cut: which rows threads may share.
        segments: addresses of the code of such rows.
        weights: of each result, which argument its weight is.
    """

    def __init__(
        self,
        table: Table,
        where: Layouts,
        cut: Cut | None,
        segments: Codes,
        weights: Sequence[int] = (),
    ):
        self.table, self.where, self.cut, self.segments = table, where, cut, segments
        self.weights = weights
        self.rows: list[np.ndarray] = []
        self.operations: Counter[str] = Counter()
        self.keep: list[Any] = []

    def made(self, loop: Loop, piece: Piece, bodies: np.ndarray) -> Rows:
        """The rows of bodies of one form, counted but not yet in their places."""
        values = self.table.parameters(piece.graph, piece.parameters, bodies)
        rows = tables.body_rows(
            self.table, loop, piece.format, piece.codes, values, bodies, self.where
        )
        self.keep.append(piece)
        first = piece.format.fixed - len(piece.format.lists)
        entries = [sum(int(row[first + i]) for row in rows) for i in range(len(piece.format.lists))]
        for count, operations in zip([len(rows), *entries], piece.operations, strict=True):
            self.operations.update({op: count * n for op, n in operations.items()})
        return rows

    def loop(self, loop: Loop, pieces: Sequence[Sequence[Piece]]) -> None:
        """One visit of all bodies; of each kind of body, its pieces one after the other."""
        made: list[tuple[np.ndarray, Rows]] = []
        lengths = np.zeros(len(self.table.kind), np.int64)
        for number, several in enumerate(pieces):
            if several:
                bodies = np.flatnonzero(self.table.kind == number)
                rows = _side_by_side([self.made(loop, piece, bodies) for piece in several])
                lengths[bodies] = [len(row) for row in rows]
                made.append((bodies, rows))
        is_cut = all(x.is_separable for several in pieces for x in several)
        cut, inward = self.cut if is_cut else None, loop.direction is Direction.TIP_TO_BASE
        order = cut.order(inward) if cut else tables.in_order(loop, len(lengths))
        starts = np.zeros(len(lengths), np.int64)
        starts[order[1:]] = np.cumsum(lengths[order])[:-1]
        stretch = np.empty(int(lengths.sum()), np.int64)
        for bodies, rows in made:
            if isinstance(rows, np.ndarray):
                stretch[starts[bodies][:, None] + np.arange(rows.shape[1])] = rows
            else:
                for k, row in zip(bodies, rows, strict=True):
                    stretch[starts[k] : starts[k] + len(row)] = row
        whole = cut.rows(self.segments, stretch, lengths, inward) if cut else [stretch]
        self.rows += whole

    def before(self, loop: Loop, pieces: Sequence[Any], walk: tuple[Code, Code]) -> None:
        """What is done once, before a loop, or behind it in reverse."""
        for piece in pieces:
            if isinstance(piece, Dense):
                self.dense(piece, walk)
            else:
                self.rows += list(self.made(loop, piece, AT_WORLD))

    def dense(self, step: Dense, walk: tuple[Code, Code]) -> None:
        """A system of the whole machine, or a product."""
        if step.routine.startswith("dense_multiply"):
            self._product(step, walk)
            return
        matrix = step.operands[0].of
        assert isinstance(matrix, Slot)
        n = self.table.sizes.of(matrix.shape.rows, matrix.domain.points)
        starts = [self._start(x) for x in step.operands]
        codes = (walk[0].address(step.routine), walk[1].address(step.routine))
        fields = [*codes, 0, n, *starts[:3], self.where.start["dense"], *starts[3:]]
        fields[2] = 8 * len(fields)
        self.rows.append(np.array(fields, np.int64))
        self.operations.update(dense.operations(step.routine, n))

    def _product(self, step: Dense, walk: tuple[Code, Code]) -> None:
        """A product of matrices of the whole machine, added to a third one or to an output."""
        n, k, m = self._sides(step)
        places = [y for x in step.operands for y in self._place(x)]
        codes = (walk[0].address(step.routine), walk[1].address(step.routine))
        self.rows.append(np.array([*codes, 96, n, k, m, *places], np.int64))
        self.operations.update({"mul": n * k * m, "add": n * k * m})

    def _sides(self, step: Dense) -> list[int]:
        """Of a product of two matrices: rows and columns of the first, columns of the second."""
        known: dict[str, int] = {}
        for operand, names in zip(step.operands, dense.SIDES[step.routine], strict=True):
            if isinstance(operand.of, Slot):
                sizes = [self.table.sizes.of(*x) for x in operand.of.sides]
                known |= zip(names, sizes, strict=True)
        return [known[x] for x in "nkm"]

    def _place(self, operand: Whole) -> tuple[int, int]:
        """-1 and where an operand starts in the workspace; or which result or argument it is."""
        if isinstance(operand.of, Slot):
            return -1, self._start(operand)
        return (self.weights[operand.of] if operand.is_partner else operand.of), 0

    def _start(self, operand: Whole) -> int:
        """Where a slot of the whole machine, or its partner, is in the workspace."""
        return self.where.start[operand.of] + self.where.shift * operand.is_partner

    def whole(self) -> np.ndarray:
        """The table: its length in bytes, then the rows."""
        length = np.array([8 * sum(map(len, self.rows))], np.int64)
        return np.concatenate([length, *self.rows])


def _side_by_side(several: Sequence[Rows]) -> Rows:
    """The rows of pieces that run one after the other at each body."""
    if len(several) == 1:
        return several[0]
    if all(isinstance(x, np.ndarray) for x in several):
        return np.concatenate(several, axis=1)
    return [np.concatenate(rows) for rows in zip(*several, strict=True)]


class LoopedProgram:
    """The code of a program for all machines.

    Args:
        program: the loops.
        inputs: the names of the arguments, in order.
        plain: whether no joint follows another.
        target: what the code is made for.
        about: a digest of what the program computes; None if nobody can tell.
        products: with its Jacobian, if that is wanted, not the program itself; then with the
            Jacobian of that, and so on.
        tells: whether bodies tell how large what they carry is, as it runs.
    """

    def __init__(
        self,
        program: Program,
        inputs: tuple[str, ...],
        plain: bool,
        target: Target,
        about: bytes | None = None,
        products: tuple[Product, ...] = (),
        tells: bool = False,
    ):
        self.program, self.inputs, self.plain, self.target = program, inputs, plain, target
        self.about, self.products = about, products
        self.is_reverse = any(x.is_reverse for x in products)
        self.layout = Layout(program, tells, reuses=not self.is_reverse)
        self.passes = passes_of(program, products)
        self.constants = {"gravity"} & set(inputs)  # of machines, that are arguments
        self.known: OrderedDict[Any, Pieces] = OrderedDict()  # of a form, or of a loop and sizes

    @property
    def weights(self) -> list[int]:
        """Of each result of the program, which argument its weight is."""
        is_back = self.products and self.products[0].is_reverse
        return [self.inputs.index(x) for x in (self.products[0].vectors if is_back else ())]

    def zeroed(self, where: Layouts) -> list[tuple[int, int]]:
        """Start and count of what is added to in the workspace; adjoints all are."""
        found = list(where.zeroed)
        for level, product in enumerate(self.products, 1):
            shift = where.shift_of(level)
            if product.is_reverse:
                found.append((shift, shift))
            else:
                found += [(shift + start, count) for start, count in found]
        return found

    def trace_templates(
        self, forms: Mapping[Form, Any], sizes: Sequence[Any], conditions: Mapping[Form, Any]
    ) -> list[Pieces]:
        """What is done at forms of bodies, then what is done once before loops, as graphs."""
        how, loops = (self.target.real, self.constants), self.program.loops
        found: list[Pieces] = []
        for form, example in forms.items():
            link, own, kind = example or (None, (), None)
            held = conditions.get(form, ())
            visit = Visit(self.program, form, link, self.layout, self.plain, *how, held, own)
            made = [visit.template(x) if x.statements else None for x in loops]
            record, by_pass = visit.record, []
            for walked in self.passes:
                visited = made[walked.number]
                whole = [] if visited is None else [visited]
                several, record = self._on_the_way(walked, kind, whole, record)
                by_pass.append(several)
            found.append(Pieces(by_pass, record))
        for p, of in sizes:
            once = Once(self.program, self.layout, self.plain, of, LARGEST, *how)
            walked = self.passes[p]
            done = once.pieces(loops[walked.number])
            found.append(Pieces(self._on_the_way(walked, None, done)[0]))
        return found

    def _on_the_way(
        self,
        walked: Pass,
        kind: JointKind | None,
        pieces: Sequence[Template | Dense],
        record: int = 0,
    ) -> tuple[list[Template | Dense], int]:
        """What is done with the pieces of a loop in a pass: they are run, or their derivatives.

        Returns:
            pieces, to be run one after the other; how many numbers the record has then.
        """
        told = range(self.layout.told, self.layout.size)
        found = list(pieces)
        for level, (way, product) in enumerate(zip(walked.ways, self.products, strict=True), 1):
            partners = Partners(product, kind, told, level)
            before, found = found, []
            for piece in reversed(before) if way is Way.BACK else before:
                more, record = _derived(piece, way, partners, record)
                found += more
        return [x for x in found if isinstance(x, Dense) or x.regions], record


class ProgramLoops(Loops):
    """A program, or a product with its Jacobian, on a machine, as loops over its bodies.

    Args:
        code: the code of the program for all machines.
        machine: where the program runs.
        points: of each list of points, the bodies that they are on.
        shapes: rows and columns of the outputs of the program.
        counts: how many numbers each result has: those outputs, or derivatives.
    """

    def __init__(
        self,
        code: LoopedProgram,
        machine: Machine,
        points: Mapping[tuple, Sequence[int]],
        shapes: Shapes,
        counts: Sequence[int],
    ):
        self.code, self.machine, self.counts = code, machine, counts
        self.inputs, self.target = code.inputs, code.target
        strides, real = [columns for _, columns in shapes], self.target.real
        if real == "float":
            check_scale(machine.model)
        self.body_table = table = Table(code.program, machine, points, strides, real)
        forms: dict[Form, Any] = dict(zip(table.forms, table.examples, strict=True))
        if table.world_form is not None:
            forms[table.world_form] = None
        loops = [x.loop for x in code.passes]
        sizes = [(p, sizes_before(x, table.sizes)) for p, x in enumerate(loops) if x.before]
        self._needed = *forms, *sizes
        self._new_forms = {x: link for x, link in forms.items() if x not in code.known}
        self._new_sizes = [x for x in sizes if x not in code.known]

    @property
    def is_known(self) -> bool:
        """Whether forms of bodies, and sizes, were all met before."""
        return not (self._new_forms or self._new_sizes)

    @property
    def key(self) -> Parts | None:
        """The program, the forms and the processor."""
        code, forms, x = self.code, self._new_forms, self.target
        told = repr((list(forms), self._new_sizes))
        kinds = (
            x for form in forms for x in cast(Any, form.link or ()) if isinstance(x, JointKind)
        )
        if code.about is None or " at 0x" in told or not all(map(is_ours, kinds)):
            return None
        processor = (x.cpu, x.features, x.lanes, x.real)
        products = repr(code.products)
        return code.about, products, self.inputs, code.plain, processor, llvm_version(), told

    def trace_templates(self) -> list[Pieces]:
        """What forms of bodies, and sizes, need that were not met before."""
        table = self.body_table
        conditions = dict(zip(table.forms, table.conditions, strict=True))
        return self.code.trace_templates(self._new_forms, self._new_sizes, conditions)

    def add_pieces(self, pieces: Sequence[Pieces]) -> None:
        """Keep them for machines to come; what was needed longest ago goes."""
        known = self.code.known
        known |= zip((*self._new_forms, *self._new_sizes), pieces, strict=True)
        self._pieces = {key: known[key] for key in self._needed}
        for key in self._needed:
            known.move_to_end(key)
        while len(known) > max(FORMS, len(self._needed)):
            known.popitem(last=False)

    def make_table(self) -> Looped:
        """The rows of every pass: what is cleared, what is done once, what bodies do."""
        code, table, known = self.code, self.body_table, self._pieces
        records = np.array([known[x].record for x in table.forms], np.int64)[table.kind]
        walks = table.path_lengths if code.is_reverse else None
        levels = len(code.products)
        where = Layouts(code.program, self.machine, table.sizes, records, levels, walks)
        walk = walk_code(self.target)
        segments = (walk[0].address("segments"), walk[1].address("segments"))
        cut = cut_machine(self.machine.tree) if code.plain else None
        stream = _Stream(table, where, cut, segments, code.weights)
        zero = (walk[0].address("zero"), walk[1].address("zero"))
        stream.rows += [tables.zero_row(zero, -1, *stretch) for stretch in code.zeroed(where)]
        direct = frozenset() if code.is_reverse else code.layout.direct(code.plain)
        for o, count in enumerate(self.counts):
            if o not in direct:
                stream.rows.append(tables.zero_row(zero, o, 0, count))
        at_world = table.world_form
        for p, walked in enumerate(code.passes):
            loop = walked.loop
            steps: list[Callable[[], None]] = []
            if loop.before:
                once = known[p, sizes_before(loop, table.sizes)].by_pass
                steps.append(partial(stream.before, loop, once, walk))
            if loop.statements:
                pieces = [known[form].by_pass[p] for form in table.forms]
                steps.append(partial(stream.loop, loop, pieces))
                if at_world is not None:
                    here = known[at_world].by_pass[p]
                    steps.append(partial(stream.before, loop, here, walk))
            for step in reversed(steps) if walked.is_back else steps:
                step()
        kernels = (walk[0].address("kernel"), walk[1].address("kernel"))
        keep = (*stream.keep, *walk)
        stored = int(np.sum(records - code.layout.size + code.layout.kept)) * min(2, 1 + levels)
        stored = (stored + sum(x.size for x in where.kept.values())) * 2 ** max(0, levels - 1)
        return Looped(stream.whole(), where.size, kernels, stream.operations, stored, keep)


def _derived(
    piece: Template | Dense, way: Way, partners: Partners, record: int
) -> tuple[Sequence[Template | Dense], int]:
    """A piece on its way; how many numbers the record of the body has then."""
    if isinstance(piece, Dense):
        if way is Way.ALONG:
            return forward_dense(piece, partners), record
        if way is Way.BACK:
            return reverse_dense(piece, partners), record
        is_result = isinstance(piece.operands[-1].of, int)
        return ([] if is_result else [piece]), record
    if way is Way.ALONG:
        return [forward_template(piece, partners)], record
    if way is Way.BACK:
        return reverse_template(piece, partners, record)
    return [without_results(piece)], record


def sizes_before(loop: Loop, sizes: Sizes) -> Sizes:
    """Of the sizes of a machine those that what is done before a loop depends on."""
    slots = [y for x in loop.before for y in (x.target, *(z.slot for z in x.arguments)) if y]
    spaces = {x for slot in slots for x in (slot.shape.rows, slot.shape.columns)}
    domains = [x.domain for x in slots] + [x.domain for x in loop.before]
    at_points = POINTS in spaces or any(x.kind == "point" for x in domains)
    return Sizes(
        sizes.nv if COORDINATES in spaces else 0,
        sizes.rows if JOINT in spaces else 0,
        sizes.bodies if {BODY, POSE} & spaces else 0,
        sizes.points if at_points else (),
    )


_programs: OrderedDict[tuple, LoopedProgram] = OrderedDict()


def looped_program(
    program: Program,
    inputs: tuple[str, ...],
    plain: bool,
    target: Target,
    about: bytes | None = None,
    products: tuple[Product, ...] = (),
    tells: bool = False,
) -> LoopedProgram:
    """The rolled code of a program, the same object for every machine."""
    key = (id(program), inputs, plain, target, products, tells)
    with compiling:
        if key not in _programs:
            what = program, inputs, plain, target, about, products, tells
            _programs[key] = LoopedProgram(*what)
            while len(_programs) > PROGRAMS:
                _programs.popitem(last=False)
        _programs.move_to_end(key)
        return _programs[key]
