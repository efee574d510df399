"""Memory in place of lists: a run that records loads and stores.

What a visitor reads from a vector or matrix in memory are inputs of a graph, of
which the address is known as a sum of operands; see `templates`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from phipsi.algebra.node import Symbol
from phipsi.algebra.spaces import BASE, COORDINATES, JOINT, POINTS, POSE, SCALAR, Space
from phipsi.graph.graph import Graph, Node
from phipsi.lowering import blocks
from phipsi.lowering.generic import GenericMimic, generic_model
from phipsi.lowering.inputs import PLACE, SPATIAL
from phipsi.lowering.machine import Block, Places
from phipsi.lowering.program import Program, Slot
from phipsi.lowering.seat import Seat
from phipsi.lowering.templates import (
    OF_SPACE,
    PASSING,
    WORK,
    Address,
    Layout,
    Operand,
    Region,
    Store,
    mark,
    meaning,
)
from phipsi.lowering.trace import Checks
from phipsi.lowering.visitor import Visitor
from phipsi.scalars import Scalar


class Area:
    """A vector in memory: its entries are loads."""

    def __init__(self, graph: Graph, area: tuple, operands: tuple = (), row: Any = None):
        self.graph, self.area, self.operands, self.row = graph, area, operands, row

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(index.start, index.stop)]
        more, offset = meaning(index)
        rest = self.row if self.row is not None else ((), 0, None)
        return self.graph.input(
            ("load", Address(self.area, (*self.operands, *more), offset, *rest))
        )


class Rows:
    """A matrix in memory, row by row: a block of the whole machine, or a dense operator."""

    def __init__(self, graph: Graph, of: Slot | Symbol):
        self.graph, self.stride = graph, ("stride", of)
        self.area: tuple = ("in", of.name) if isinstance(of, Symbol) else WORK
        self.operands: tuple = () if isinstance(of, Symbol) else (("world", of),)

    def __getitem__(self, index: slice) -> list[Area]:
        rows = (meaning(i) for i in range(index.start, index.stop))
        return [Area(self.graph, self.area, self.operands, (*row, self.stride)) for row in rows]


class Matrix:
    """A matrix of the whole machine that is being filled."""

    def __init__(self, add: Callable[[int, int, Scalar], None]):
        self.add = add

    def __getitem__(self, i: int) -> Any:
        add = self.add

        class Row:
            def __getitem__(self, j: int) -> int:
                return 0

            def __setitem__(self, j: int, value: Scalar) -> None:
                add(i, j, value)

        return Row()


class Slots(dict):
    """Blocks by slot; what is not there is loaded."""

    def __init__(self, load: Callable[[Slot], Any]):
        super().__init__()
        self.load = load

    def __missing__(self, slot: Slot) -> Any:
        self[slot] = block = self.load(slot)
        return block


def is_fixed(node: Node, memo: dict[Node, bool]) -> bool:
    """Whether a node depends on parameters and constants alone."""
    stack = [node]
    while stack:
        x = stack[-1]
        if x in memo:
            stack.pop()
            continue
        if x.op == "input":
            memo[x] = x.data[0] in ("parameter", "constant")
        waiting = [y for y in x.args if y not in memo]
        if waiting:
            stack += waiting
        elif x.op != "input":
            memo[x] = all(memo[y] for y in x.args)
    return memo[node]


# -- sizes and places --------------------------------------------------------------------------


@dataclass(frozen=True)
class Sizes:
    """How large the spaces of a whole machine are.

    Args:
        nv: independent speeds.
        rows: speeds of all joints.
        bodies: how many.
        points: of each list of points, how many.
    """

    nv: int
    rows: int
    bodies: int
    points: tuple[tuple[tuple, int], ...]

    def of(self, space: Any, points: tuple | None) -> int:
        """Of a space; of point space at some list of points."""
        if isinstance(space, int):
            return space
        if space.size is not None:
            return space.size
        if space is POINTS:
            counts = dict(self.points)
            count = counts[points] if points in counts else max(counts.values(), default=0)
            return SPATIAL * count
        if space is COORDINATES:
            return self.nv
        if space is JOINT:
            return self.rows
        if space in (SCALAR, BASE):
            return 1 if space is SCALAR else SPATIAL
        return (PLACE if space is POSE else SPATIAL) * self.bodies


class GenericMachine(Places):
    """A machine of which one body is known by its form, or only the sizes.

    Args:
        graph: of the numbers that are not known.
        plain: whether no joint follows another.
        sizes: of the machine; None where no whole is asked for.
        arguments: which constants of the machine are arguments.
    """

    def __init__(
        self, graph: Graph, plain: bool, sizes: Sizes | None, arguments: Collection[str] = ()
    ):
        self.model: Any = generic_model(graph, 0 if sizes is None else sizes.nv, arguments)
        self.graph, self.plain, self.sizes = graph, plain, sizes
        self.mimic: GenericMimic | None = None

    def rows(self, seat: Seat, space: Any) -> range:
        """Marks of where the block of the body, or of a column, stands in a space."""
        if seat.k == PASSING:
            start = mark(("place", space))
            return range(start, start + 1)
        start = mark(OF_SPACE[space])
        if space in (JOINT, COORDINATES):
            return range(start, start + seat.link.nv)
        return range(start, start + (PLACE if space is POSE else SPATIAL))

    def ratio(self, space: Space, k: int) -> Scalar:
        """How fast the joint of the body, or of a column, turns with its coordinate."""
        if space is not COORDINATES or self.plain:
            return 1
        if k == PASSING:
            return self.graph.input(("ratio",))
        return 1 if self.mimic is None else self.mimic.ratio

    def whole_size(self, space: Any, points: Any) -> int:
        """Of a whole space."""
        assert self.sizes is not None
        return SPATIAL * len(points) if space is POINTS else self.sizes.of(space, None)


class Recorder(Visitor):
    """A run on memory: reads become loads, what is kept becomes stores."""

    machine: GenericMachine

    def __init__(
        self,
        program: Program,
        layout: Layout,
        plain: bool,
        sizes: Sizes | None,
        real: str = "double",
        arguments: Collection[str] = (),
    ):
        self.graph = Graph()
        self.program, self.layout = program, layout
        self.checks = Checks(self.graph, real)
        self.machine = GenericMachine(self.graph, plain, sizes, arguments)
        self.emit = [self._taker(o) for o in range(len(program.outputs))]
        self.region = Region(None)
        self._life = layout.life
        self._staged: list[tuple[Any, int, Block]] = []

    def _load(self, operand: Operand, offset: int) -> Node:
        return self.graph.input(("load", Address(WORK, (operand,), offset)))

    def _store(self, address: Address, value: Scalar, adds: bool = False) -> None:
        self.region.stores.append(Store(address, self.graph.node(value), adds))

    def _taker(self, number: int) -> Callable[[int, int, Scalar], None]:
        """Takes the entries of an output."""
        shape = self.program.outputs[number]
        is_vector = SCALAR in (shape.rows, shape.columns)
        adds = number not in self.layout.direct(self.machine.plain)

        def take(i: int, j: int, value: Scalar) -> None:
            if adds and blocks.is_zero(value):
                return
            (rows, row), (columns, column) = meaning(i), meaning(j)
            area = ("out", number)
            if is_vector:
                address = Address(area, rows, row)
            else:
                address = Address(area, columns, column, rows, row, ("stride", number))
            self._store(address, value, adds)

        return take
