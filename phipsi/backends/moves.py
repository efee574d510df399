"""Moves on the configuration manifold as computations: `integrate` and `difference` of a machine.

Joint kinds are written over any scalar, so their moves become a graph as everything else does:
joint by joint, each on its own manifold. Of larger machines one kind is traced once, and its code
runs for every joint of the kind: `looped_moves`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from phipsi.backends.disk.identity import Parts, of_machine
from phipsi.backends.job import Shape
from phipsi.graph.graph import Graph, Node
from phipsi.lowering.template_derivatives import CONFIGURATION
from phipsi.lowering.trace import Checks, Trace, check_quaternion
from phipsi.model.joints import JointKind
from phipsi.model.model import Model
from phipsi.scalars import Scalar

INTEGRATE, DIFFERENCE = "integrate", "difference"
LARGEST = 5_000  # nodes of straight code; beyond, loops run as fast, and LLVM would take seconds
ARGUMENTS = {INTEGRATE: (CONFIGURATION, "dq"), DIFFERENCE: ("q0", "q1")}


@dataclass(frozen=True, eq=False)
class Move:
    """`integrate(q, dq)` or `difference(q0, q1)` of a machine, as a computation.

    Args:
        model: the machine.
        name: which of the two.
        real: what its numbers are.
    """

    model: Model
    name: str
    real: str = "double"

    @property
    def inputs(self) -> Mapping[str, Shape]:
        """Names and shapes of the arguments, in order."""
        first, second = ARGUMENTS[self.name]
        n = self.model.nv if self.name == INTEGRATE else self.model.nq
        return {first: (self.model.nq,), second: (n,)}

    @property
    def outputs(self) -> tuple[Shape, ...]:
        """Shapes of the results."""
        return ((self.model.nq if self.name == INTEGRATE else self.model.nv,),)

    @property
    def configurations(self) -> tuple[str, ...]:
        """The arguments that are configurations."""
        return ARGUMENTS[self.name][: 1 if self.name == INTEGRATE else 2]

    @property
    def doc(self) -> str:
        """What it says of itself."""
        return f"{self.name}({', '.join(self.inputs)}) of {self.model.name!r}"

    @cached_property
    def key(self) -> Parts | None:
        """What its code depends on; None if nobody can tell, as of joints of the user's own."""
        machine = of_machine(self.model)
        return None if machine is None else (self.name, machine, self.real)

    @property
    def rollable(self) -> tuple[Move, tuple[()]]:
        """Itself: a loop over its joints."""
        return self, ()

    def traced(self, limit: int | None = None) -> Trace:
        """Every number of it as one graph."""
        graph = Graph(limit)
        one, two = (
            [graph.input((name, i)) for i in range(n)] for name, (n,) in self.inputs.items()
        )
        checks = Checks(graph, self.real)
        found: dict[int, Node] = {}
        for joint in self.model.leaders:
            is_integral = self.name == INTEGRATE
            given = one[joint.q], two[joint.v if is_integral else joint.q]
            place = joint.q if is_integral else joint.v
            moved = move_joint(self.name, joint.kind, *given, checks)
            found |= zip(range(place.start, place.stop), map(graph.node, moved), strict=True)
        outputs = tuple(found[i] for i in sorted(found))
        return Trace(graph, (outputs,), tuple(chain(checks.found)))


def move_joint(
    name: str, kind: JointKind, one: Sequence[Node], two: Sequence[Node], checks: Checks
) -> Sequence[Scalar]:
    """What a joint of a kind adds to a move; its quaternions are looked at.

    Args:
        name: which move.
        kind: of the joint.
        one, two: its entries of the two arguments.
        checks: where it is noted what must hold.
    """
    check_quaternion(kind, one, checks)
    if name == INTEGRATE:
        return kind.integrate(one, two)
    check_quaternion(kind, two, checks)
    return kind.difference(one, two)
