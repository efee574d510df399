"""Rolled code of a program, compiled as forms of bodies appear; and tables of machines for it."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from phipsi.algebra.spaces import BODY, COORDINATES, JOINT, POINTS, POSE
from phipsi.backends import dense, tables
from phipsi.backends.llvm import Code, Target, compile_module, compiling
from phipsi.backends.rolled import RowFormat, TemplateWriter, write_module, write_walk
from phipsi.backends.tables import Codes, Layouts, Rows, Table
from phipsi.backends.write import Width
from phipsi.graph.graph import Graph, Node
from phipsi.lowering.generic import Form
from phipsi.lowering.machine import Machine
from phipsi.lowering.memory import Sizes
from phipsi.lowering.once import Once
from phipsi.lowering.program import Loop, Program
from phipsi.lowering.templates import Dense, Layout, Template
from phipsi.lowering.trace import Shapes
from phipsi.lowering.visit import Visit
from phipsi.model.tree import WORLD

PROGRAMS = 64  # whose code is kept for machines to come
FORMS = 256  # of bodies, and sizes of machines, whose pieces a program keeps for machines to come
LARGEST = 200_000  # nodes of what is done once for a machine
AT_WORLD = np.array([WORLD])


@dataclass(frozen=True)
class Piece:
    """The code of one template.

    Args:
        graph, parameters: what of a row depends on the body alone.
        format: of its rows.
        operations: what is done in one row, and for each entry of each list.
        codes: addresses, for lanes and for one lane.
        keep: what owns the code.
    """

    graph: Graph
    parameters: list[Node]
    format: RowFormat
    operations: list[Counter[str]]
    codes: Codes
    keep: tuple[Code, ...]


@dataclass(frozen=True)
class Pieces:
    """What belongs to one form of body, or is done once before one loop.

    Args:
        by_loop: of each loop, or one after the other before it.
        record: how many numbers the record of such a body takes.
    """

    by_loop: Sequence[Any]
    record: int = 0


@dataclass(frozen=True)
class Looped:
    """Rolled code on a machine.

    Args:
        rows: the table.
        work: numbers of one lane in the workspace.
        kernels: addresses, for lanes and for one lane.
        operations: what is done in one state.
        stored: numbers kept between loops, of all bodies.
        keep: what owns the code.
    """

    rows: np.ndarray
    work: int
    kernels: Codes
    operations: Counter[str]
    stored: int
    keep: tuple[Any, ...]


class _Stream:
    """Rows, one after the other."""

    def __init__(self, table: Table, where: Layouts):
        self.table, self.where = table, where
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

    def loop(self, loop: Loop, pieces: Sequence[Piece | None]) -> None:
        """One visit of all bodies; of each kind of body, the piece."""
        made: list[tuple[np.ndarray, Rows]] = []
        lengths = np.zeros(len(self.table.kind), np.int64)
        for number, piece in enumerate(pieces):
            if piece is not None:
                bodies = np.flatnonzero(self.table.kind == number)
                rows = self.made(loop, piece, bodies)
                lengths[bodies] = [len(row) for row in rows]
                made.append((bodies, rows))
        order = tables.in_order(loop, len(lengths))
        starts = np.zeros(len(lengths), np.int64)
        starts[order[1:]] = np.cumsum(lengths[order])[:-1]
        stretch = np.empty(int(lengths.sum()), np.int64)
        for bodies, rows in made:
            if isinstance(rows, np.ndarray):
                stretch[starts[bodies][:, None] + np.arange(rows.shape[1])] = rows
            else:
                for k, row in zip(bodies, rows, strict=True):
                    stretch[starts[k] : starts[k] + len(row)] = row
        self.rows.append(stretch)

    def dense(self, step: Dense, walk: tuple[Code, Code]) -> None:
        """A system of the whole machine."""
        n = self.table.sizes.of(step.matrix.shape.rows, step.matrix.domain.points)
        slots = [step.matrix, step.right or step.matrix, step.result]
        starts = [self.where.start[x] for x in slots]
        codes = (walk[0].address(step.routine), walk[1].address(step.routine))
        fields = [*codes, 64, n, *starts, self.where.start["dense"]]
        self.rows.append(np.array(fields, np.int64))
        cube = n**3 // (6 if step.routine == "dense_solve_positive" else 1)
        self.operations.update({"mul": cube + n * n, "add": cube + n * n, "div": n})

    def whole(self) -> np.ndarray:
        """The table: its length in bytes, then the rows."""
        length = np.array([8 * sum(map(len, self.rows))], np.int64)
        return np.concatenate([length, *self.rows])


class LoopedProgram:
    """The code of a program for all machines.

    Args:
        program: the loops.
        inputs: the names of the arguments, in order.
        plain: whether no joint follows another.
        target: what the code is made for.
    """

    def __init__(self, program: Program, inputs: tuple[str, ...], plain: bool, target: Target):
        self.program, self.inputs, self.plain, self.target = program, inputs, plain, target
        self.layout = Layout(program)
        self._known: OrderedDict[Any, Pieces] = OrderedDict()  # of a form, or of a loop and sizes

    def on(self, machine: Machine, points: Mapping[tuple, Sequence[int]], shapes: Shapes) -> Looped:
        """The table of a machine; what code is missing is compiled.

        Args:
            machine: where the program runs.
            points: of each list of points, the bodies that they are on.
            shapes: rows and columns of the outputs.
        """
        table = Table(self.program, machine, points, [columns for _, columns in shapes])
        with compiling:
            known = self._prepare(table)
        records = np.array([known[x].record for x in table.forms], np.int64)[table.kind]
        where = Layouts(self.program, machine, table.sizes, records)
        walk = walk_code(self.target)
        stream = _Stream(table, where)
        zero = (walk[0].address("zero"), walk[1].address("zero"))
        stream.rows += [tables.zero_row(zero, -1, *stretch) for stretch in where.zeroed]
        for o, (height, width) in enumerate(shapes):
            if o not in self.layout.direct(self.plain):
                stream.rows.append(tables.zero_row(zero, o, 0, height * width))
        for i, loop in enumerate(self.program.loops):
            for piece in known[i, sizes_before(loop, table.sizes)].by_loop if loop.before else ():
                if isinstance(piece, Dense):
                    stream.dense(piece, walk)
                elif piece is not None:
                    stream.rows += list(stream.made(loop, piece, AT_WORLD))
            if loop.statements:
                stream.loop(loop, [known[form].by_loop[i] for form in table.forms])
                at_world = table.world_form
                world = None if at_world is None else known[at_world].by_loop[i]
                if world is not None:
                    stream.rows += list(stream.made(loop, world, AT_WORLD))
        kernels = (walk[0].address("kernel"), walk[1].address("kernel"))
        keep = (*stream.keep, *walk)
        stored = int(np.sum(records - self.layout.size + self.layout.kept))
        return Looped(stream.whole(), where.size, kernels, stream.operations, stored, keep)

    def _prepare(self, table: Table) -> dict[Any, Pieces]:
        """What forms of bodies, and what sizes, need; what was not met before is compiled."""
        forms: dict[Form, Any] = dict(zip(table.forms, table.examples, strict=True))
        if table.world_form is not None:
            forms[table.world_form] = None
        loops = self.program.loops
        sizes = [(i, sizes_before(x, table.sizes)) for i, x in enumerate(loops) if x.before]
        found: dict[Any, Pieces] = {}
        for form, link in forms.items():
            if form not in self._known:
                visit = Visit(self.program, form, link, self.layout, self.plain)
                made = [visit.template(x) if x.statements else None for x in loops]
                some = [x if x is not None and x.regions else None for x in made]
                found[form] = Pieces(some, visit.record)
        for i, of in sizes:
            if (i, of) not in self._known:
                once = Once(self.program, self.layout, self.plain, of, LARGEST)
                found[i, of] = Pieces(once.pieces(loops[i]))
        every = [x for pieces in found.values() for x in pieces.by_loop if isinstance(x, Template)]
        compiled = iter(self._compile(every) if every else ())
        for key, pieces in found.items():
            by_loop = [next(compiled) if isinstance(x, Template) else x for x in pieces.by_loop]
            self._known[key] = Pieces(by_loop, pieces.record)
        needed: dict[Any, Pieces] = {key: self._known[key] for key in (*forms, *sizes)}
        for key in needed:
            self._known.move_to_end(key)
        while len(self._known) > max(FORMS, len(needed)):
            self._known.popitem(last=False)
        return needed

    def _compile(self, templates: Sequence[Template]) -> Iterator[Piece]:
        """The code of templates, all in one module of each width."""
        codes: dict[int, Code] = {}
        for lanes in {1, self.target.lanes}:
            width = Width(lanes)
            writers = [
                TemplateWriter(x, self.inputs, f"template{i}", width)
                for i, x in enumerate(templates)
            ]
            codes[lanes] = compile_module(write_module(writers), self.target)
        many, one = codes[self.target.lanes], codes[1]
        for x, writer in zip(templates, writers, strict=True):  # formats are those of any width
            addresses = (many.address(writer.name), one.address(writer.name))
            graph, parameters = x.graph.extract(writer.format.parameters)
            keep = tuple(codes.values())
            yield Piece(graph, parameters, writer.format, writer.operations(), addresses, keep)


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
_walks: dict[Target, tuple[Code, Code]] = {}


def looped_program(
    program: Program, inputs: tuple[str, ...], plain: bool, target: Target
) -> LoopedProgram:
    """The rolled code of a program, the same object for every machine."""
    key = (id(program), inputs, plain, target)
    with compiling:
        if key not in _programs:
            _programs[key] = LoopedProgram(program, inputs, plain, target)
            while len(_programs) > PROGRAMS:
                _programs.popitem(last=False)
        _programs.move_to_end(key)
        return _programs[key]


def walk_code(target: Target) -> tuple[Code, Code]:
    """The kernels that go from row to row, for lanes and for one lane."""
    with compiling:
        if target not in _walks:
            lanes, one = Width(target.lanes), Width(1)
            _walks[target] = (
                compile_module(write_walk(lanes, 0) + dense.source(target.lanes), target),
                compile_module(write_walk(one, 1) + dense.source(1), target),
            )
        return _walks[target]
