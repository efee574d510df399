"""What a program costs on a machine: flops, sweeps, numbers kept per body.

Flops are counted by running the program on numbers that count, so zeros of the
structure are left out exactly as a backend leaves them out. Kept are the
numbers that one loop makes and a later one reads; what is passed from a body to
its neighbour, or used at once, is not. Straight code takes fewer flops than the loops:
`count_folded` counts its graph, in which constants are folded and equal numbers made once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import Any

from phipsi.algebra.spaces import SCALAR, Space, is_dense
from phipsi.graph.graph import FLOPS, Graph
from phipsi.lowering.counting import Tally, counting
from phipsi.lowering.interpret import Run
from phipsi.lowering.machine import Machine, Values
from phipsi.lowering.parameters import Parameters
from phipsi.lowering.program import Loop, Program
from phipsi.lowering.schedule import kept_statements
from phipsi.lowering.sides import points_of
from phipsi.lowering.trace import trace
from phipsi.model.model import Model, Point


@dataclass(frozen=True)
class Cost:
    """The cost of a program on a machine.

    Args:
        operations: how many of each kind.
        sweeps: loops over the bodies.
        stored: numbers kept between loops, of all bodies.
        bodies: of the machine.
        by_loop: flops of each loop of the program.
    """

    operations: Tally
    sweeps: int
    stored: int
    bodies: int
    by_loop: tuple[int, ...] = ()

    @property
    def flops(self) -> int:
        """Sums, products, quotients and square roots; sines and cosines are apart."""
        return self.operations.flops

    @property
    def stored_per_body(self) -> float:
        """Numbers kept between loops, per body."""
        return self.stored / max(self.bodies, 1)


def cost_of(
    program: Program,
    model: Model,
    points: Mapping[tuple, Sequence[Point]] | None = None,
    parameters: Parameters | None = None,
) -> Cost:
    """Count what a program does on a machine.

    Args:
        program: the loops.
        model: the machine.
        points: of each list of points (the arguments of a letter), which they are.
        parameters: the numbers of the machine that are arguments.
    """
    with counting() as tally:
        machine = Machine(model, program.shifted, parameters)
        values = _counted(program, machine, points or {}, tally)
        run = _Counting(program, machine, values, tally)
        run.run()
    stored = 0
    for statement in kept_statements(program.loops):
        assert statement.target is not None
        stored += sum(_numbers(block) for block in run.kept(statement.target))
    return Cost(tally, program.sweeps, stored, len(model.bodies), tuple(run.by_loop))


def count_folded(
    program: Program,
    model: Model,
    points: Mapping[tuple, Sequence[Point]] | None = None,
    parameters: Parameters | None = None,
    limit: int | None = None,
) -> int:
    """Flops of a program as straight code for a machine, as `Function.info` tells them.

    Args:
        program, model, points, parameters: as `cost_of` takes them.
        limit: of the nodes of the graph.

    Raises:
        GraphTooLargeError: if there are more nodes.
        ZeroDivisionError: where a pivot is zero whatever the state.
    """
    machine = Machine(model, program.shifted, parameters)
    bodies = {key: [model.locate(x)[0] for x in several] for key, several in (points or {}).items()}

    def size(number: int, space: Space, target: bool) -> int:
        key = points_of(program.expressions[number], target)
        sizes = machine.block_sizes(space, bodies if key is None else {key: bodies[key]})
        return sum(sizes)

    shapes = []
    for i, out in enumerate(program.outputs):
        rows, columns = size(i, out.rows, True), size(i, out.columns, False)
        is_vector = SCALAR in (out.rows, out.columns)  # vectors are columns
        shapes.append((rows * columns, 1) if is_vector else (rows, columns))
    traced = trace(program, machine, bodies, shapes, Graph(limit))
    live = traced.graph.live([*chain.from_iterable(traced.outputs), *traced.checks])
    return sum(node.op in FLOPS for node in live)


class _Counting(Run):
    """A run that notes what each loop costs."""

    def __init__(self, program: Program, machine: Machine, values: Values, tally: Tally):
        super().__init__(program, machine, values)
        self._tally = tally
        self.by_loop = [0] * len(program.loops)

    def _loop(self, loop: Loop) -> None:
        before = self._tally.flops
        super()._loop(loop)
        self.by_loop[self.program.loops.index(loop)] += self._tally.flops - before


def _counted(
    program: Program, machine: Machine, points: Mapping[tuple, Sequence[Point]], tally: Tally
) -> Values:
    """Inputs that count."""
    model = machine.model

    def numbers(n: int) -> list:
        return [tally.number() for _ in range(n)]

    located: dict[tuple, list] = {}
    for key, several in points.items():
        located[key] = [(model.locate(x)[0], numbers(3)) for x in several]
    given: dict[Any, Any] = {}
    for letter in program.free:
        lists = program.points_of(letter, located)
        rows, columns = (machine.block_sizes(x, lists) for x in (letter.target, letter.source))
        if letter.source is SCALAR:
            given[letter] = numbers(sum(rows))
            continue
        if is_dense(letter.source, letter.target):
            rows, columns = [sum(rows)], [sum(columns)]
        shapes = zip(rows, columns, strict=True)
        given[letter] = [[numbers(width) for _ in range(height)] for height, width in shapes]
    sizes = {name: prod(shape) for name, shape in machine.parameters.shapes.items()}
    arguments = {name: numbers(n) for name, n in sizes.items()}
    return Values(numbers(model.nq), numbers(model.nv), given, located, arguments)


def _numbers(block: Any) -> int:
    """How many numbers a block holds, zeros and ones of the structure and mirrored ones apart."""
    return len({id(x) for x in _entries(block) if type(x) is not int})


def _entries(block: Any) -> Iterator[Any]:
    for x in block or ():
        if isinstance(x, (list, tuple)):
            yield from x
        else:
            yield x
