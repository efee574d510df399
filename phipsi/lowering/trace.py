"""A program on a machine as one graph: every loop gone, every constant in its place.

The interpreter runs on the inputs of a graph. What must not vanish becomes
checks: truth values that machine code looks at while it computes. A check that
holds guarantees that `Watch` would not complain; one that fails only says that
`Watch` should look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from phipsi.algebra.node import Symbol
from phipsi.algebra.spaces import SCALAR, is_dense
from phipsi.errors import BackendError
from phipsi.graph.graph import Graph, Node
from phipsi.lowering import blocks, rigid
from phipsi.lowering.blocks import minus, plus, times
from phipsi.lowering.cancellation import Cancellation, Remembered
from phipsi.lowering.interpret import Run
from phipsi.lowering.machine import Located, Machine, Values
from phipsi.lowering.pivots import DOUBT, SHARE, moved_sizes
from phipsi.lowering.program import Program
from phipsi.lowering.seat import Seat
from phipsi.lowering.watch import SINGULAR
from phipsi.model.configuration import QUATERNION_TOLERANCE
from phipsi.model.joints import JointKind
from phipsi.model.model import Model
from phipsi.scalars import Scalar, less, sqrt

LARGEST = 60_000  # nodes of a graph that is unrolled; about two thirds of them are live
LEAST = 20  # nodes of one body, at the least
ALERT = 1e-11  # a pivot below this makes Watch look: eigenvalues may be smaller than pivots
WEAKER = 32.0  # times an eigenvalue: what the smallest pivot of a small block may be, about
DENSE_ALERT = 1e-10  # likewise of a matrix of the whole machine
SYMMETRY = 1e-10  # of a matrix that has a root, relative to its trace; Watch allows ten times more


@dataclass(frozen=True)
class Limits:
    """Where checks of numbers of one kind fail, all relative.

    Args:
        pivot: of a joint, beside the inertia that it moves, and what that was made of.
        share: likewise, beside what P was made of.
        alert: of a block.
        dense: of a matrix of the whole machine.
        singular: |A^-1| |A|.
        symmetry: of a matrix that has a root.
        quaternion: |x.x - 1|.
    """

    pivot: float
    share: float
    alert: float
    dense: float
    singular: float
    symmetry: float
    quaternion: float


TINY = 1e-30  # kg or kg m^2: smaller masses and inertias, or larger than the inverse, need doubles
SMALL = 12  # rows of a positive matrix of which floats have the inverse looked at, to be solved

# Floats round 2^29 times as coarsely as doubles, too coarsely for the same limits scaled: they are
# chosen so that what passes keeps two digits or more; the rest is computed in doubles.
# Quaternions that were rounded to floats are found to be off by less than 0.5e-6; what passes is
# accepted in doubles: rounding adds less than 0.3e-6.
LIMITS = {
    "double": Limits(DOUBT, SHARE, ALERT, DENSE_ALERT, SINGULAR, SYMMETRY, QUATERNION_TOLERANCE),
    "float": Limits(1e-5, 1e-5, 1e-4, 1e-3, 3e3, 1e-5, 0.7 * QUATERNION_TOLERANCE),
}


@dataclass(frozen=True)
class Trace:
    """The graph of a program.

    Args:
        graph: all nodes.
        outputs: of each output its entries, row by row.
        checks: what must be true.
        divisors: those of them that guard what divides.
    """

    graph: Graph
    outputs: tuple[tuple[Node, ...], ...]
    checks: tuple[Node, ...]
    divisors: tuple[Node, ...] = ()

    def without_garbage(self) -> Trace:
        """The same where nobody looks at checks: what has no value is infinite, or NaN."""
        if not self.divisors:
            return self
        graph = self.graph
        are_sound = reduce(lambda x, y: graph.where(y, x, 0.0), self.divisors, graph.one)
        share = 1.0 / are_sound
        outputs = tuple(
            tuple(x if x is graph.zero else x * share for x in entries) for entries in self.outputs
        )
        return Trace(graph, outputs, self.checks, self.divisors)


class Checks:
    """Takes note of what must not vanish, instead of looking at it as `Watch` does.

    Args:
        graph: where conditions are added.
        real: what the code will compute with, "double" or "float".

    Attributes:
        found, divisors: what must hold; of it, what guards divisions.
        cancellation: what bodies tell their parents, where numbers of the machine do not.
    """

    def __init__(self, graph: Graph, real: str = "double"):
        self.graph, self.real, self.limits = graph, real, LIMITS[real]
        self.cancellation: Cancellation | None = None
        self.found: dict[Node, None] = {}
        self.divisors: dict[Node, None] = {}

    def __call__(self, what: str, *arguments: Any) -> None:
        """What is about to divide."""
        known = len(self.found)
        getattr(self, f"_{what}")(*arguments)
        self.divisors |= dict.fromkeys(list(self.found)[known:])

    def hold(self, *conditions: Any) -> None:
        """Conditions that must hold; those known to hold need no check."""
        for condition in conditions:
            if condition is not True:
                node = condition if isinstance(condition, Node) else self.graph.false
                self.found[node] = None

    def _pivot(self, seat: Seat, D: Sequence, P: Sequence, L_star: Sequence) -> None:
        """D_i of D = L D_i L* beside the inertia that the joint moves.

        What P came from counts as well, in single precision, and where D may vanish.
        """
        told = (0, 0) if self.cancellation is None else self.cancellation.received(seat)
        sizes, factor = moved_sizes(P, told, L_star), blocks.factored(D)
        self._hold_pivots(D, factor, sizes, self.limits.pivot, self.limits.pivot)
        if self.cancellation is not None:
            self.cancellation.relieved(seat, sizes, P, L_star, factor)

    def _pivot_beside(self, seat: Seat, D: Sequence, bound: Sequence, L_star: Sequence) -> None:
        """D_i of D = L D_i L* beside what P was made of; eigenvalues may be smaller than D_i."""
        along = blocks.congruence_transposed(L_star, bound)
        sizes = [row[i] for i, row in enumerate(along)]
        share = self.limits.share
        self._hold_pivots(D, blocks.factored(D), sizes, 2.0 * share, WEAKER * share)

    def _hold_pivots(
        self, D: Sequence, factor: Sequence, sizes: Sequence[Scalar], one: float, many: float
    ) -> None:
        """D_i of D = L D_i L*, beside the size of each, if D is one number, or else."""
        if len(D) == 1:
            self.hold(_less(times(one, sizes[0]), D[0][0]))
            return
        for i, size in enumerate(sizes):
            inverse = factor[i][i]
            self.hold(_less(0.0, inverse), _less(times(times(many, size), inverse), 1.0))

    def _pivot_inverse_beside(
        self, seat: Seat, operand: Any, D: Sequence, bound: Sequence, L_star: Sequence
    ) -> None:
        """D^-1 of any sign, beside what P was made of."""
        along = blocks.congruence_transposed(L_star, bound)
        roots = [sqrt(row[i]) for i, row in enumerate(along)]
        for root, row in zip(roots, blocks.general_inverse(D), strict=True):
            total = blocks.dot([_size(x) for x in row], roots)
            share = times(2.0 * len(D) * self.limits.share, times(root, total))
            self.hold(_less(share, 1.0))

    def _inverse(
        self,
        operand: Any,
        k: int,
        A: Sequence,
        invert: Callable,
        bound: Sequence | None = None,
    ) -> None:
        """|A^-1| |A|, entry by entry, or beside what A was made of."""
        sizes = [[_size(x) for x in row] for row in A] if bound is None else bound
        for row in invert(A):
            products = blocks.apply_transposed(sizes, [_size(x) for x in row])
            self.hold(*(_less(x, self.limits.singular) for x in products))

    def _root(self, operand: Any, k: int, W: Sequence) -> None:
        """Symmetry, and pivots that are positive beside their diagonal entries."""
        n, trace = len(W), _sum(W[i][i] for i in range(len(W)))
        for i in range(n):
            for j in range(i):
                if W[i][j] is not W[j][i]:
                    difference = _size(minus(W[i][j], W[j][i]))
                    self.hold(_less(difference, times(self.limits.symmetry, trace)))
        for i, row in enumerate(blocks.factored(W)):
            share = times(times(self.limits.alert, W[i][i]), row[i])
            self.hold(_less(0.0, row[i]), _less(share, 1.0))

    def _dense(self, A: Sequence, operand: Any, eliminate: Callable | None) -> None:
        """Of a positive matrix the pivots, of another the inverse.

        In single precision two weak directions count that pivots do not show:
        there also of a positive matrix the inverse, if that is at hand or cheap.
        """
        if eliminate is None:
            self._inverse(operand, 0, A, blocks.general_inverse)
            return
        if self.real == "float" and (eliminate is blocks.factored or len(A) <= SMALL):
            self._scaled_inverse(A)
        for i, row in enumerate(eliminate(A)):
            share = times(self.limits.dense, times(A[i][i], row[i]))
            self.hold(_less(0.0, row[i]), _less(share, 1.0))

    def _scaled_inverse(self, A: Sequence) -> None:
        """|A^-1| |A| of a positive matrix, row by row: the diagonal of A scaled to ones."""
        unit = [sqrt(row[i]) for i, row in enumerate(A)]
        each = [blocks.over(1, x) for x in unit]
        sums = [blocks.dot([_size(x) for x in row], each) for row in A]
        for x, row in zip(unit, blocks.symmetric_inverse(A), strict=True):
            total = blocks.dot([_size(y) for y in row], sums)
            self.hold(_less(times(x, total), self.limits.singular))


def _less(x: Scalar, y: Scalar) -> Any:
    """Whether x < y, either of which may be a node."""
    if isinstance(x, Node) or not isinstance(y, Node):
        return less(x, y) if isinstance(x, Node) else bool(x < y)
    return y.graph.less(x, y)


def _size(x: Scalar) -> Scalar:
    return x if type(x) is int else abs(x)


def _sum(numbers: Iterable[Scalar]) -> Scalar:
    return reduce(plus, numbers, 0)


# -- inputs and outputs --------------------------------------------------------------------


Shapes = Sequence[tuple[int, int]]  # rows and columns of each output


def trace(
    program: Program,
    machine: Machine,
    points: dict[tuple, list[int]],
    shapes: Shapes,
    graph: Graph,
    real: str = "double",
) -> Trace:
    """The graph of a program on a machine.

    Args:
        program: the loops.
        machine: where they run.
        points: of each list of points, the bodies that they are on.
        shapes: of the outputs.
        graph: an empty one; its limit is honoured by GraphTooLargeError.
        real: what the code will compute with, "double" or "float".

    Raises:
        ZeroDivisionError: where a pivot is zero whatever the state.
        BackendError: for a machine too large or too small for single precision.
    """
    checks = Checks(graph, real)
    taken: list[dict[tuple[int, int], Scalar]] = [{} for _ in program.outputs]
    values = symbolic_values(program, machine, points, graph)
    for joint in machine.model.leaders:
        check_quaternion(joint.kind, values.q[joint.q], checks)
    for condition in machine.parameters.conditions(values.parameters):
        checks.hold(_less(condition.value, condition.bound))
    if real == "float":
        check_scale(machine.model)
    if real == "float" or not machine.is_regular:
        checks.cancellation = Remembered(values.q, fades=real == "float")
    Run(program, machine, values, [_adder(x) for x in taken], checks).run()
    outputs = []
    for found, (rows, columns) in zip(taken, shapes, strict=True):
        places = ((i, j) for i in range(rows) for j in range(columns))
        outputs.append(tuple(graph.node(found.get(place, 0)) for place in places))
    return Trace(graph, tuple(outputs), tuple(checks.found), tuple(checks.divisors))


def check_scale(model: Model) -> None:
    """BackendError for bodies whose numbers are too large or too small for single precision.

    Between these bounds products of a mass, two lengths and two speeds of usual size are
    neither infinite nor rounded more coarsely than others, and nor is the inverse of a mass.
    """
    for body in model.bodies:
        m, _, _, _, *J = rigid.of_body(body.inertia)
        for what, x in (("mass", m), ("inertia", J[0] + J[3] + J[5])):
            if x != 0.0 and not TINY < x < 1.0 / TINY:
                size = "small" if x <= TINY else "large"
                raise BackendError(
                    f"body {body.name!r} has a {what} of {x:g}, too {size} for single precision: "
                    f"expected {TINY:g} to {1.0 / TINY:g}; compile with dtype=float"
                )


def symbolic_values(
    program: Program, machine: Machine, points: dict[tuple, list[int]], graph: Graph
) -> Values:
    """Inputs of a graph in place of numbers: entry i of argument "q" has the key ("q", i)."""
    model = machine.model

    def numbers(name: str, n: int, start: int = 0) -> list[Node]:
        return [graph.input((name, i)) for i in range(start, start + n)]

    given: dict[Symbol, Any] = {}
    for letter in program.free:
        lists = program.points_of(letter, points)
        rows, columns = (machine.block_sizes(x, lists) for x in (letter.target, letter.source))
        if letter.source is SCALAR:
            given[letter] = numbers(letter.name, sum(rows))
            continue
        if is_dense(letter.source, letter.target):
            rows, columns = [sum(rows)], [sum(columns)]
        given[letter], start = [], 0
        for height, width in zip(rows, columns, strict=True):
            block = [numbers(letter.name, width, start + i * width) for i in range(height)]
            given[letter].append(block)
            start += height * width
    located: dict[tuple, Located] = {}
    start = 0
    for key, bodies in points.items():
        located[key] = [(k, numbers("points", 3, start + 3 * e)) for e, k in enumerate(bodies)]
        start += 3 * len(bodies)
    parameters = machine.parameters.inputs(graph)
    return Values(numbers("q", model.nq), numbers("v", model.nv), given, located, parameters)


def check_quaternion(kind: JointKind, q: Sequence[Scalar], checks: Checks) -> None:
    """|x.x - 1| of the quaternion of a joint, if it has one."""
    if kind.quaternion is not None:
        x = q[kind.quaternion]
        checks.hold(_less(abs(blocks.dot(x, x) - 1.0), checks.limits.quaternion))


def _adder(taken: dict[tuple[int, int], Scalar]) -> Callable[[int, int, Scalar], None]:
    def add(i: int, j: int, value: Scalar) -> None:
        taken[i, j] = plus(taken.get((i, j), 0), value)

    return add
