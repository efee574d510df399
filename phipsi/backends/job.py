"""What is to be compiled or exported: arguments, results, and the graph between them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Protocol

from phipsi.algebra.node import Node
from phipsi.backends.disk.identity import Parts, of_blocks, of_expressions, of_machine
from phipsi.graph.graph import Graph
from phipsi.lowering.machine import Machine
from phipsi.lowering.program import Guard, Program
from phipsi.lowering.template_derivatives import CONFIGURATION, Product
from phipsi.lowering.trace import Trace, trace
from phipsi.model.model import Model

if TYPE_CHECKING:
    from phipsi.backends.moves import Move

Shape = tuple[int, ...]  # () for a number, (n,) for a vector, (rows, columns) for a matrix


class Computation(Protocol):
    """Arguments and results, and how one gets from the ones to the others."""

    @property
    def inputs(self) -> Mapping[str, Shape]:
        """Names and shapes of the arguments, in order."""

    @property
    def configurations(self) -> tuple[str, ...]:
        """The arguments that are configurations of the machine, and vary along its tangents."""

    @property
    def outputs(self) -> tuple[Shape, ...]:
        """Shapes of the results."""

    @property
    def name(self) -> str:
        """Of the function."""

    @property
    def doc(self) -> str:
        """What it says of itself."""

    @property
    def real(self) -> str:
        """What its numbers are, "double" or "float"."""

    @property
    def key(self) -> Parts | None:
        """What its code depends on, beside phipsi and the processor; None if nobody can tell."""

    @property
    def rollable(self) -> Rollable | None:
        """What rolled code can be made of; None where there are no loops to keep."""

    def traced(self, limit: int | None = None) -> Trace:
        """Every number of it as one graph, whose inputs are `(name of the argument, entry)`.

        Args:
            limit: of how many nodes there may be.

        Raises:
            ZeroDivisionError: where a pivot is zero whatever the state.
            GraphTooLargeError: if more nodes are needed.
        """


class Changed(ABC):
    """A computation made of another: what it does not say itself is as there.

    Attributes:
        base: the other.
    """

    base: Computation

    @property
    def configurations(self) -> tuple[str, ...]:
        """The arguments that are configurations."""
        return self.base.configurations

    @property
    def outputs(self) -> tuple[Shape, ...]:
        """Shapes of the results."""
        return self.base.outputs

    @property
    def name(self) -> str:
        """Of the function."""
        return self.base.name

    @property
    def doc(self) -> str:
        """What it says of itself."""
        return self.base.doc

    @property
    def real(self) -> str:
        """What its numbers are."""
        return self.base.real

    @property
    @abstractmethod
    def key(self) -> Parts | None:
        """What its code depends on; None if it is not to be kept."""

    @property
    def rollable(self) -> Rollable | None:
        """What rolled code can be made of: nothing, as it stands."""
        return None

    @property
    @abstractmethod
    def inputs(self) -> Mapping[str, Shape]:
        """Names and shapes of the arguments, in order."""

    @abstractmethod
    def traced(self, limit: int | None = None) -> Trace:
        """Every number of it as one graph; see `Computation`."""


@dataclass(frozen=True)
class Job:
    """A program on a machine.

    Args:
        program: the loops.
        machine: where they run.
        points: of each list of points, the bodies that they are on.
        inputs: names and shapes of the arguments.
        outputs: shapes of the results.
        name: of the function.
        doc: what it says of itself.
        real: what its numbers are.
        expressions: what the program computes.
        is_watched: whether somebody looks at its checks; if not, garbage is infinite.
    """

    program: Program
    machine: Machine
    points: dict[tuple, list[int]]
    inputs: dict[str, Shape]
    outputs: tuple[Shape, ...]
    name: str
    doc: str
    real: str = "double"
    expressions: tuple[Node, ...] = ()
    is_watched: bool = True

    configurations = (CONFIGURATION,)

    @property
    def model(self) -> Model:
        """The machine."""
        return self.machine.model

    @cached_property
    def about(self) -> bytes | None:
        """A digest of what the program computes; None if nobody can tell."""
        found = of_expressions(self.expressions) if self.expressions else None
        if found is None or (self.program.guard is Guard.NUMBERS and self.is_watched):
            return found
        return found + repr((self.program.guard.value, self.is_watched)).encode()

    @cached_property
    def key(self) -> Parts | None:
        machine = of_machine(self.machine.model)
        if self.about is None or machine is None:
            return None
        bodies = [(repr(key), several) for key, several in self.points.items()]
        shapes = list(self.inputs.items()), self.outputs
        own = of_blocks(self.expressions, self.machine.model)
        return self.about, machine, bodies, shapes, self.real, own

    @property
    def rollable(self) -> Rollable | None:
        return self, ()

    def traced(self, limit: int | None = None) -> Trace:
        shapes = self.matrices
        found = trace(self.program, self.machine, self.points, shapes, Graph(limit), self.real)
        return found if self.is_watched else found.without_garbage()

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


# A program on a machine, or `integrate` or `difference` of one; then the products with its
# Jacobian, with the Jacobian of that, and so on.
Rollable = tuple["Job | Move", tuple[Product, ...]]
