"""What is to be compiled or exported: a program on a machine, its arguments and its results."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from phipsi.graph.graph import Graph
from phipsi.lowering.machine import Machine
from phipsi.lowering.program import Program
from phipsi.lowering.trace import Trace, trace

Shape = tuple[int, ...]  # () for a number, (n,) for a vector, (rows, columns) for a matrix


@dataclass(frozen=True)
class Job:
    """What is to be compiled.

    Args:
        program: the loops.
        machine: where they run.
        points: of each list of points, the bodies that they are on.
        inputs: names and shapes of the arguments.
        outputs: shapes of the results.
        name: of the function.
        doc: what it says of itself.
    """

    program: Program
    machine: Machine
    points: dict[tuple, list[int]]
    inputs: dict[str, Shape]
    outputs: tuple[Shape, ...]
    name: str
    doc: str

    def traced(self, limit: int | None = None) -> Trace:
        """Every number of it as one graph, whose inputs are `(name of the argument, entry)`.

        Args:
            limit: of how many nodes there may be.

        Raises:
            ZeroDivisionError: where a pivot is zero whatever the state.
            GraphTooLargeError: if more nodes are needed.
        """
        return trace(self.program, self.machine, self.points, self.matrices, Graph(limit))

    @property
    def matrices(self) -> list[tuple[int, int]]:
        """Rows and columns of the outputs, as statements fill them: vectors are columns."""
        shapes = zip(self.outputs, self.program.outputs, strict=True)
        return [
            (prod(shape), 1)
            if "scalar" in (out.rows.name, out.columns.name)
            else (shape[0], shape[1])
            for shape, out in shapes
        ]
