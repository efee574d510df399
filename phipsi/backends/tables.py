"""A machine as a table: one row for each visit of a body, in the order of the loops.

What code needs to know of a machine is here: the operands of addresses, the
parameters of bodies, which columns pass a body and which pairs meet there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np

from phipsi.algebra.node import Symbol
from phipsi.algebra.spaces import BODY, COORDINATES, JOINT, POINTS
from phipsi.backends.layouts import Layouts, Located
from phipsi.backends.real import REALS
from phipsi.backends.rolled import HEAD, RowFormat
from phipsi.graph.graph import Graph, Node
from phipsi.lowering.generic import Form, Own, link_form, machine_constants
from phipsi.lowering.inputs import PLACE, SPATIAL, joint_axis
from phipsi.lowering.links import Link
from phipsi.lowering.machine import Machine
from phipsi.lowering.memory import Sizes
from phipsi.lowering.own import own_block, own_letters
from phipsi.lowering.program import Columns, Direction, Loop, Program, Slot, Statement
from phipsi.lowering.quantities import MOMENTS, TEN
from phipsi.lowering.templates import (
    Operand,
    column_patterns,
    pairs_of,
)
from phipsi.lowering.visitor import followed
from phipsi.lowering.walks import Walk, meetings
from phipsi.model.joints import JointKind
from phipsi.model.tree import WORLD

OF_AXES = ("map_derivative", "axis", "selection")  # steps that ask whether a joint is this one


def _place(statement: Statement) -> tuple:
    """The joint that a statement names, and one of its speeds."""
    return statement.options[1:] if statement.step == "selection" else statement.options


class Table:
    """The rows of a machine.

    Args:
        program: the loops.
        machine: where they run.
        points: of each list of points, the bodies that they are on.
        strides: of each output, the length of its rows.
        real: what numbers of bodies are stored as, "double" or "float".

    Attributes:
        forms: that bodies have, each once, and of each a body as an example.
        conditions: of each form what its arguments must meet, in a graph of their own.
        kind: of each body, the number of its form.
        sizes: of the machine.
    """

    def __init__(
        self,
        program: Program,
        machine: Machine,
        points: Mapping[tuple, Sequence[int]],
        strides: Sequence[int],
        real: str = "double",
    ):
        self.real = REALS[real]
        self.program, self.machine, self.strides = program, machine, strides
        self.points = Located({key: list(bodies) for key, bodies in points.items()})
        model, links = machine.model, machine.links
        counts = tuple((key, len(bodies)) for key, bodies in points.items())
        rows = sum(link.nv for link in links)
        self.sizes = Sizes(model.nv, rows, len(links), counts)
        self.forms: list[Form] = []
        self.conditions: list[tuple[Node, ...]] = []
        self.examples: list[tuple[Link, Own, JointKind]] = []
        self._numbers: list[list[list[float]]] = []
        self._own_letters = own_letters(program)
        self._find_forms()
        joints = model.joints
        self._bases = {
            ("q",): np.array([x.q.start for x in joints], np.int64),
            ("v",): np.array([x.v.start for x in joints], np.int64),
            ("rows",): np.array([x.rows.start for x in joints], np.int64),
            ("body",): SPATIAL * np.arange(len(links)),
            ("pose",): PLACE * np.arange(len(links)),
            (MOMENTS,): TEN * np.arange(len(links)),
        }
        self._blocks: dict[Symbol, list[int]] = {}
        self._walks: dict[tuple, Walk] = {}
        self._found_patterns: dict[tuple, list[frozenset[Slot]]] = {}

    # -- forms -----------------------------------------------------------------------------------

    def _find_forms(self) -> None:
        """Which bodies have the same form."""
        model, tree = self.machine.model, self.machine.tree
        named = [
            (_place(x), joint_axis(model, *_place(x)))
            for x in self.program.statements()
            if x.step in OF_AXES
        ]
        known: dict[Form, int] = {}
        kind: list[int] = []
        graph = Graph()
        values = self.machine.parameters.inputs(graph)
        if MOMENTS in values:  # of all bodies: each reads its own
            values[MOMENTS] = values[MOMENTS][:TEN] * len(model.bodies)
        machine = self.machine.with_values(values)
        for k, (link, joint) in enumerate(zip(machine.links, model.joints, strict=True)):
            own = self._own_blocks(k, graph)
            form, numbers = link_form(link, own)
            is_root = link.parent == WORLD
            is_first = is_root or tree.children[link.parent][-1] == k
            axes = tuple(dict((options, axis) for options, (i, axis) in named if i == k).items())
            follows = joint.mimic is not None
            points = self._point_counts(k)
            key = Form(form, is_root, not tree.children[k], is_first, follows, points, axes)
            if key not in known:
                known[key] = len(self.forms)
                self.forms.append(key)
                self.examples.append((link, own, joint.kind))
                of_body = machine.parameters.conditions(values, k)
                self.conditions.append(tuple(graph.less(x.value, x.bound) for x in of_body))
                self._numbers.append([])
            kind.append(known[key])
            self._numbers[known[key]].append(numbers)
        self.kind = np.array(kind, np.int64)

    def _own_blocks(self, k: int, graph: Graph) -> Own:
        """The blocks of the user's letters at a body; those that vary, of inputs of a graph."""
        model, joint = self.machine.model, self.machine.model.joints[k]
        q = followed([graph.input(("q", i)) for i in range(joint.kind.nq)], joint.mimic)
        return [own_block(letter, model, k, q) for letter in self._own_letters]

    def _point_counts(self, k: int) -> tuple[tuple[tuple, int], ...]:
        counts: dict[tuple, int] = {}
        for key, _ in self.points.on(k):
            counts[key] = counts.get(key, 0) + 1
        return tuple(counts.items())

    @property
    def world_form(self) -> Form | None:
        """Of the points that are on the world, if there are any."""
        counts = self._point_counts(WORLD)
        return Form(None, False, True, True, False, counts, ()) if counts else None

    # -- parameters ------------------------------------------------------------------------------

    def parameters(self, graph: Graph, nodes: Sequence[Node], bodies: np.ndarray) -> np.ndarray:
        """The values of nodes that depend on bodies alone: one row for each body of a form."""
        values: dict[tuple, Any] = dict(machine_constants(self.machine.model))
        if bodies[0] != WORLD:
            number = int(self.kind[bodies[0]])
            numbers = np.array(self._numbers[number])
            values |= {("parameter", i): numbers[:, i] for i in range(numbers.shape[1])}
            if self.forms[number].follows:
                mimics = [self.machine.model.joints[k].mimic for k in bodies]
                values["constant", "ratio"] = np.array([x.ratio for x in mimics if x])
                values["constant", "offset"] = np.array([x.offset for x in mimics if x])
        with np.errstate(all="ignore"):  # bodies without mass; a check will complain
            found = graph.evaluate(nodes, values)
        columns = [np.broadcast_to(x, len(bodies)) for x in found]
        return np.stack(columns, axis=1) if columns else np.zeros((len(bodies), 0))

    def fields(self, numbers: np.ndarray) -> np.ndarray:
        """Numbers as fields of 8 bytes; a float takes the first 4.

        Raises:
            BackendError: if one is too large for a float.
        """
        unsigned = f"<u{self.real.bytes}"
        return self.real.rounded(numbers).view(unsigned).astype("<u8").view(np.int64)

    # -- operands --------------------------------------------------------------------------------

    def operand(self, operand: Operand, bodies: np.ndarray, where: Layouts) -> np.ndarray:
        """The values of an operand at bodies."""
        if operand in self._bases:
            return self._bases[operand][bodies]
        what, *rest = operand
        if what == "own":
            return where.record[bodies]
        if what == "parent":
            parents = np.array(self.machine.tree.parent, np.int64)[bodies]
            return where.record[parents]
        if what == "stride":
            of = rest[0]
            stride = self.strides[of] if isinstance(of, int) else self._row_length(of)
            return np.full(len(bodies), stride)
        if what == "world":
            return np.full(len(bodies), where.start[rest[0]])
        if what == "shift":
            return np.full(len(bodies), where.shift_of(*rest or (1,)))
        return np.array([self._at_point(what, rest, int(k), where) for k in bodies], np.int64)

    def _row_length(self, of: Slot | Symbol) -> int:
        """Of a block of the whole machine, or of a dense operator."""
        if isinstance(of, Symbol):
            return sum(self.machine.block_sizes(of.source, self._points_of(of)))
        return self.sizes.of(*of.sides[1])

    def _at_point(self, what: str, rest: Sequence[Any], k: int, where: Layouts) -> int:
        """Operands that belong to a point on a body, a block, or a column that starts there."""
        n = rest[-1]
        if what == "block":
            return self._block(rest[0], n, k)
        if what == "pushed":
            of_point = rest[0].columns.space is POINTS
            return where.kept[rest[0]].place(self.points.on(k)[n][1] if of_point else k, 1)
        if what in ("column", "paired", "adjoint"):
            slot: Slot = rest[0]
            start = where.start[slot if what == "column" else (what, slot)]
            return start + SPATIAL * self.first_scalar(slot.columns, k, n)
        if n is None:  # all points, from the first
            return where.start[rest[0]]
        key, e = self.points.on(k)[n]
        if what == "point":
            return SPATIAL * e
        if what == "position":
            keys = list(self.points.bodies)
            before = sum(len(self.points.bodies[x]) for x in keys[: keys.index(key)])
            return 3 * (before + e)
        assert what == "point slot"
        return where.start[rest[0]] + where.block(rest[0]) * e

    def _block(self, letter: Symbol, n: int, k: int) -> int:
        """Where the block of a free operator is, of a body or of a point on it."""
        if letter not in self._blocks:
            lists = self._points_of(letter)
            rows, widths = (
                self.machine.block_sizes(x, lists) for x in (letter.target, letter.source)
            )
            self._blocks[letter] = [0, *accumulate(map(mul, rows, widths))]
        return self._blocks[letter][self.points.on(k)[n][1] if letter.target is POINTS else k]

    def _points_of(self, letter: Symbol) -> Mapping[tuple, Sequence[int]]:
        return self.program.points_of(letter, self.points.bodies)

    # -- columns ---------------------------------------------------------------------------------

    def walk(self, columns: Columns) -> Walk:
        """Where columns start and pass."""
        key = (columns.space is POINTS, columns.points)
        if key not in self._walks:
            starts: Sequence[int] = range(len(self.machine.links))
            if columns.space is POINTS:
                starts = self.points.bodies[columns.points or ()]
            self._walks[key] = Walk(self.machine.tree, starts)
        return self._walks[key]

    def path_lengths(self, columns: Columns) -> tuple[list[int], list[int]]:
        """Of each block column, how many columns it has, and how many bodies it passes."""
        starts, depth = self.walk(columns).starts, self.machine.tree.depth
        widths = [len(self.scalars(columns, j)) for j in range(len(starts))]
        return widths, [0 if k == WORLD else depth[k] - 1 for k in starts]

    def _patterns(self, loop: Loop, columns: Columns) -> list[frozenset[Slot]]:
        """Which slots of columns are not zero, by how far they have come."""
        key = (id(loop), columns)
        if key not in self._found_patterns:
            self._found_patterns[key] = column_patterns(loop, columns)
        return self._found_patterns[key]

    def first_scalar(self, columns: Columns, k: int, n: int) -> int:
        """The first of the columns that start at a body, one by one; or at its n-th point."""
        if columns.space is POINTS:
            return SPATIAL * self.points.on(k)[n][1]
        if columns.space in (JOINT, COORDINATES):
            return self.machine.model.joints[k].rows.start
        return SPATIAL * k

    def scalars(self, columns: Columns, j: int) -> range:
        """Block column j, one by one."""
        if columns.space is POINTS:
            return range(SPATIAL * j, SPATIAL * j + SPATIAL)
        if columns.space in (JOINT, COORDINATES):
            rows = self.machine.model.joints[j].rows
            return range(rows.start, rows.stop)
        return range(SPATIAL * j, SPATIAL * j + SPATIAL)

    def place(self, columns: Columns, space: Any, j: int) -> range:
        """Which rows or columns of an output block column j fills."""
        if columns.space is POINTS or space is BODY:
            return range(SPATIAL * j, SPATIAL * j + SPATIAL)
        joint = self.machine.model.joints[j]
        part = joint.v if space is COORDINATES else joint.rows
        return range(part.start, part.stop)

    def passing(self, loop: Loop, columns: Columns, distance: int, k: int) -> Iterator[int]:
        """The block columns that have come to k from so many bodies outboard."""
        walk, depth = self.walk(columns), self.machine.tree.depth
        last = len(self._patterns(loop, columns)) - 1
        for j in walk.through[k]:
            steps = depth[walk.starts[j]] - depth[k]
            if steps and min(steps, last) == distance:
                yield j

    def column_entries(
        self, loop: Loop, over: tuple, operands: Sequence[Operand], k: int, where: Layouts
    ) -> tuple[np.ndarray, np.ndarray]:
        """The operands and ratios of the columns that pass k."""
        _, columns, distance = over
        entries, ratios = [], []
        spaces = [x[1] for x in operands if x[0] == "place"]
        walk, depth = self.walk(columns), self.machine.tree.depth
        for j in self.passing(loop, columns, distance, k):
            steps = depth[walk.starts[j]] - depth[k]
            ratio = self.machine.ratio(COORDINATES, j) if COORDINATES in spaces else 1.0
            for i, c in enumerate(self.scalars(columns, j)):
                entry = []
                for operand in operands:
                    if operand[0] == "place":
                        entry.append(self.place(columns, operand[1], j)[i])
                    elif operand[0] == "point entry":
                        slot = operand[1]
                        entry.append(where.start[slot] + where.block(slot) * j)
                    elif operand[0] in ("column", "pushed") and where.kept:
                        step = steps + (operand[0] == "pushed")
                        entry.append(where.kept[operand[1]].place(j, step) + SPATIAL * i)
                    else:
                        key = operand[1] if operand[0] == "column" else operand[:2]
                        entry.append(where.start[key] + SPATIAL * c)
                entries.append(entry)
                ratios.append(float(ratio))
        return np.array(entries, np.int64).reshape(len(ratios), len(operands)), np.array(ratios)

    def pair_entries(
        self, loop: Loop, n: int, k: int, where: Layouts
    ) -> dict[str, list[tuple[list[int], float]]]:
        """The lists of the n-th statement on pairs at k: operands in order, and ratio."""
        statement = pairs_of(loop)[n]
        _, left, right, (rows, i_delay), (columns, j_delay), mirrored, symmetric = statement.options
        x, y = (statement.arguments[i].slot for i in (0, 2))
        ones = self.walk(rows).groups(k, i_delay)
        others = ones if symmetric else self.walk(columns).groups(k, j_delay)
        lists: dict[str, list[tuple[list[int], float]]] = {
            name: [] for name in ("left", "right", "pairs", "mirrored")
        }
        multiplied: set[tuple[str, int]] = set()
        for i, j, on_left in meetings(ones, others, symmetric):
            if not (self._is_there(loop, x, i, k) and self._is_there(loop, y, j, k)):
                continue
            which, slot, one = ("left", x, i) if on_left else ("right", y, j)
            vectors = self.scalars(slot.columns, one)
            if (which, one) not in multiplied:
                multiplied.add((which, one))
                for c in vectors:
                    starts = where.start["paired", slot], where.start[which, slot]
                    lists[which].append(([x + SPATIAL * c for x in starts], 1.0))
            keys = (("left", x), ("paired", y)) if on_left else (("paired", x), ("right", y))
            starts = where.start[keys[0]], where.start[keys[1]]
            ratio = float(self.machine.ratio(left.space, i) * self.machine.ratio(right.space, j))
            entries = lists["mirrored" if mirrored or (symmetric and i != j) else "pairs"]
            columns_of_i = zip(self.scalars(rows, i), self.place(rows, left.space, i), strict=True)
            for a, row in columns_of_i:
                places = self.place(columns, right.space, j)
                for b, place in zip(self.scalars(columns, j), places, strict=True):
                    vectors_at = [starts[0] + SPATIAL * a, starts[1] + SPATIAL * b]
                    entries.append(([*vectors_at, row, place], ratio))
        return lists

    def _is_there(self, loop: Loop, slot: Slot, j: int, k: int) -> bool:
        """Whether a column's vector at k is not zero by structure."""
        columns = slot.columns
        patterns, depth = self._patterns(loop, columns), self.machine.tree.depth
        steps = depth[self.walk(columns).starts[j]] - depth[k]
        return slot in patterns[min(steps, len(patterns) - 1)]


PAIR_OPERANDS: dict[str, list[Operand]] = {
    "left": [("vector",), ("scratch",)],
    "right": [("vector",), ("scratch",)],
    "pairs": [("x",), ("y",), ("row",), ("place",)],
    "mirrored": [("x",), ("y",), ("row",), ("place",)],
}


# -- rows ----------------------------------------------------------------------------------

Codes = tuple[int, int]  # addresses of the code for lanes, and for one lane
Rows = np.ndarray | list[np.ndarray]  # of equal length, or not


def body_rows(
    table: Table,
    loop: Loop,
    format_: RowFormat,
    codes: Codes,
    parameters: np.ndarray,
    bodies: np.ndarray,
    where: Layouts,
) -> Rows:
    """The rows of bodies of one form in one loop, as arrays of 8-byte fields."""
    fixed = np.zeros((len(bodies), format_.fixed), np.int64)
    fixed[:, 0], fixed[:, 1] = codes
    for i, operand in enumerate(format_.operands, HEAD):
        fixed[:, i] = table.operand(operand, bodies, where)
    start = HEAD + len(format_.operands)
    stop = start + len(format_.parameters)
    fixed[:, start:stop] = table.fields(parameters)
    if not format_.lists:
        fixed[:, 2] = 8 * format_.fixed
        return fixed
    rows = []
    for k, row in zip(bodies.tolist(), fixed, strict=True):
        lists = _lists(table, loop, format_, k, where)
        row[stop:] = [len(x) for x in lists]
        whole = np.concatenate([row, *(x.reshape(-1) for x in lists)])
        whole[2] = 8 * len(whole)
        rows.append(whole)
    return rows


def _lists(
    table: Table, loop: Loop, format_: RowFormat, k: int, where: Layouts
) -> list[np.ndarray]:
    """The entries of all lists at a body."""
    pairs: dict[int, dict] = {}
    found = []
    for form in format_.lists:
        if form.over[0] == "columns":
            entries, ratios = table.column_entries(loop, form.over, form.operands, k, where)
        else:
            which, n = form.over
            if n not in pairs:
                pairs[n] = table.pair_entries(loop, n, k, where)
            order = [PAIR_OPERANDS[which].index(x) for x in form.operands]
            entries = np.array([x for x, _ in pairs[n][which]], np.int64)
            entries = entries.reshape(-1, len(PAIR_OPERANDS[which]))[:, order]
            ratios = np.array([x for _, x in pairs[n][which]], float)
        if form.has_ratio:
            entries = np.concatenate([entries, table.fields(ratios[:, None])], axis=1)
        found.append(entries)
    return found


def zero_row(codes: Codes, area: int, start: int, count: int) -> np.ndarray:
    """A row that fills with zeros: an output, or (area -1) a stretch of the workspace."""
    return np.array([*codes, 48, area, start, count], np.int64)


def in_order(loop: Loop, bodies: int) -> np.ndarray:
    """The order in which a loop visits bodies."""
    inward = loop.direction is Direction.TIP_TO_BASE
    return np.arange(bodies)[::-1] if inward else np.arange(bodies)
