"""Points on bodies: what they carry to their bodies, the world's axes, Jacobians; poses."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from phipsi import spatial
from phipsi.algebra.alphabet import FORCE
from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.operators.machine import H
from phipsi.algebra.operators.papers import OUTWARD, define, letter
from phipsi.algebra.operators.propagation import phi
from phipsi.algebra.spaces import BODY, POINTS, POSE, SCALAR
from phipsi.errors import LoweringError

if TYPE_CHECKING:
    from phipsi.lowering.dense import DenseMachine
    from phipsi.lowering.matrices import MatrixLowering
    from phipsi.lowering.program import Slot
    from phipsi.lowering.state import Matrix
    from phipsi.model.model import Point


def _dense_B(m: DenseMachine, *points: Point) -> Matrix:
    """phi(O_k, C_e) at (k, e) for point e on body k, in the axes of k [002 (2.13)]."""
    places = (m.model.locate(point) for point in m.points_of(points))
    blocks = ((k, spatial.phi(spatial.IDENTITY3, place.position)) for k, place in places)
    return m.from_points(blocks)


def _apply_B(low: MatrixLowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """B f: the forces at the points of a body; B* x: the motion of each point."""
    x = low.vector(rest)
    if star:
        return low.emit("to_point", (x,), POINTS, domain=low.home(POINTS, letter.arguments))
    if x.domain.kind == "column":
        return low.emit("from_column", (x,), BODY)
    return low.emit("from_points", (low.at_each_point(x),), BODY, (letter.arguments,))


def _block_B(low: MatrixLowering, letter: Symbol) -> Slot:
    """None of its own: only of B A B*, with an A that acts on each point alone."""
    raise LoweringError(
        f"cannot take the blocks of a product with {letter} in O(N): its points do not stand "
        "alone; pp.as_matrix evaluates it densely"
    )


B = letter(
    "B",  # points
    POINTS,
    BODY,
    of="points",
    dense=_dense_B,
    applied=_apply_B,
    block=_block_B,
    carries=(FORCE, None),
    flops=12,
    unit=(0, 0),
    element="phi",
    mechanics="forces at points, carried to the frames of their bodies; B* motions of points",
    estimation="input of known signals at points; B* output at points",
    formula="phi(k,e) for point e on body k",
    where="at (k, e), e on k",
    cited="[002 (2.13)]",
)


def _dense_X(m: DenseMachine, *points: Point) -> Matrix:
    """diag(R_k, R_k) for each point on body k; I in world axes, and for a point on the world."""
    X = m.turn(POINTS, points)
    return X if m.axes == "link" else m.identity(X.shape[-1])


def _apply_X(low: MatrixLowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """From the axes of the point's body to the world's, and back."""
    x = low.vector(rest)
    there = x.domain if x.domain.kind == "column" else low.home(POINTS, letter.arguments)
    step = "from_world_axes" if star else "to_world_axes"
    return low.emit(step, (low.link_pose(), x), POINTS, domain=there)


def _block_X(low: MatrixLowering, letter: Symbol) -> Slot:
    there = low.home(POINTS, letter.arguments)
    return low.emit("axes_matrix", (low.link_pose(),), letter, domain=there)


X = letter(
    "X",  # diag(R_k, R_k): axes of the points' bodies to world axes
    POINTS,
    POINTS,
    of="points",
    dense=_dense_X,
    turned=False,  # it is what turns
    applied=_apply_X,
    block=_block_X,
    orthogonal=True,
    flops=30,
    unit=(0, 0),
    mechanics="turn from the axes of a point's body into world axes",
    estimation="turn of axes at points",
    formula="diag(R_k, R_k)",
    where="at (e, e)",
)
J = define(
    "J",
    B.T @ phi.T @ H.T,  # [001 (20)]
    of="points",
    shorthand=True,
    mechanics="Jacobian: motion of points by joint speeds; J* joint forces of forces at points",
    estimation="output at points of the smoother; J* measurements of known inputs",
    where="at (e, k), e on k or outboard of it",
    cited="[001 (20); 002 (2.14); 003 (1), (5); 004-I (3.13)]",
    says="what the points do when the joints move",
)


def _dense_pose(m: DenseMachine) -> Matrix:
    """[[R_k, x_k], [0, 1]] row by row; in the world, whatever the axes."""
    blocks = []
    for turn, x in zip(m.kinematics.turn, m.kinematics.origin, strict=True):
        upper = [[*(turn[..., i, j] for j in range(3)), x[..., i, 0]] for i in range(3)]
        whole = [*chain.from_iterable(upper), 0.0, 0.0, 0.0, 1.0]
        blocks.append(m.array([[entry] for entry in whole]))
    return m.stack(POSE, blocks)


pose = letter(
    "pose",  # [[R_k, x_k], [0, 1]] of body k in the world, row by row
    SCALAR,
    POSE,
    dense=_dense_pose,
    vector=lambda low, letter: low.emit("homogeneous", (low.link_pose(),), POSE),
    recursion=(50, OUTWARD),
    mechanics="axes and origin of body k in the world",
    estimation="coordinates of the state at k",
    formula="from q",
)
