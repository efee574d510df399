"""Operators made of a vector, Q[x] and cross[x]; vectors: motions, forces; potential energy.

S[x] is opened by the shift, in `propagation`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phipsi import spatial
from phipsi.algebra.alphabet import FORCE, MOTION, Opened
from phipsi.algebra.node import Diagonal, Node, Symbol
from phipsi.algebra.operators.machine import H, H_dot, M
from phipsi.algebra.operators.papers import OUTWARD, define, given, letter, opener
from phipsi.algebra.operators.points import B
from phipsi.algebra.operators.propagation import E, phi
from phipsi.algebra.spaces import BASE, BODY, JOINT, POINTS, SCALAR
from phipsi.errors import SpaceError
from phipsi.model.tree import WORLD

if TYPE_CHECKING:
    from phipsi.lowering.dense import DenseMachine
    from phipsi.lowering.matrices import MatrixLowering
    from phipsi.lowering.program import Slot
    from phipsi.lowering.state import Matrix
    from phipsi.model.model import Point

# -- brackets --------------------------------------------------------------------------

Q = opener(
    "Q",
    "Q[z] = [[x~, y~], [y~, 0]], block by block [000 (2.8)].",
    opens=Opened(spatial.cross_adjoint, "cross_adjoint", "Q", (FORCE, FORCE, MOTION)),
    also=("cal:Q",),
    mechanics="adjoint of the force cross product",
    estimation="bilinear form of two states",
    formula="Q[x]",
)
cross = opener(
    "cross",
    "z~ = [[x~, 0], [y~, x~]], block by block [000 (2.5)].",
    opens=Opened(spatial.cross_motion, "cross_motion", "S", (MOTION, MOTION, MOTION)),
    mechanics="motion cross product x~",
    estimation="rate of a moving frame",
    formula="cross[x]",
)


def blockdiag(expression: Node) -> Node:
    """The memoryless part of an operator: blocks off the diagonal dropped.

    >>> from phipsi.operators import M, phi
    >>> blockdiag(phi @ M @ phi.T)
    blockdiag(phi @ M @ phi.T)
    """
    if not isinstance(expression, Node):
        raise SpaceError(f"cannot take blockdiag({expression!r}); expected an expression")
    return Diagonal(expression)


# -- joint space and the base ----------------------------------------------------------


def _dense_beta(m: DenseMachine) -> Matrix:
    """The speeds of every joint, a mimic's from the joint it follows."""
    return m.stack(JOINT, (m.speeds(k) for k in range(len(m.model.joints))))


beta = letter(
    "beta",  # joint speeds
    SCALAR,
    JOINT,
    dense=_dense_beta,
    vector=lambda low, letter: low.emit("speeds", (), JOINT, name="beta"),
    of_speeds=True,
    also=("theta_dot",),  # [000], [001], [003], [004]
    unit=(0, -1),
    causes="the joint speeds",
    mechanics="joint speeds",
    estimation="input of the smoother at the joints",
    formula="S_q v",
    cited="[002 sec. 2.1]",
)
beta_dot = given(
    "beta_dot",  # joint accelerations
    SCALAR,
    JOINT,
    also=("theta_ddot",),
    unit=(0, -2),
    causes="the joint accelerations",
    mechanics="joint accelerations",
    estimation="smoothed measurement residuals",
    formula="given",
)
T = given(
    "T",  # joint forces
    SCALAR,
    JOINT,
    unit=(1, -2),
    mechanics="joint forces",
    estimation="measurements at the joints",
    formula="given",
)
f0 = given(
    "f0",  # forces of the points ON the environment
    SCALAR,
    POINTS,
    unit=(1, -2),
    causes="the forces at points",
    mechanics="force of each point on the environment",
    estimation="known input at points",
    formula="given",
    cited="[001 (23)]",
)


def _dense_gravity(m: DenseMachine) -> Matrix:
    """The base's acceleration -[0; g], which is felt as gravity [004-I (3.21)]."""
    return -m.column([0.0, 0.0, 0.0, *m.model.gravity])


def _vector_gravity(low: MatrixLowering, letter: Symbol) -> Slot:
    return low.emit("gravity", (), BASE, domain=low.home(BASE), name="gravity")


gravity = letter(
    "gravity",  # base acceleration that stands for gravity
    SCALAR,
    BASE,
    dense=_dense_gravity,
    vector=_vector_gravity,
    unit=(0, -2),
    causes="gravity",
    mechanics="acceleration of the base that is felt as gravity",
    estimation="boundary value of the smoother",
    formula="-[0; g]",
    cited="[004-I (3.21)]",
)

# -- what motion adds at each body -----------------------------------------------------


def _dense_a(m: DenseMachine) -> Matrix:
    """a(k) = V~ H* beta + (dH*/dt) beta, with dH*/dt = sum_a Gamma_a beta_a [001 (8)].

    In world axes the acceleration is alpha = A + c with c = [0; omega x v], so
    a gains c(k) - phi*(p,k) c(p): the papers' omega x (omega x l) [004-I (2.19)].
    """
    kin, V = m.kinematics, m.velocities
    c = [_convective_in_alpha(m, x) for x in V]
    blocks = []
    for k, p in enumerate(m.model.tree.parent):
        beta, turning = m.speeds(k), m.block_of(spatial.cross_motion, V[k])
        a = turning @ kin.H_star[k] @ beta + m.map_rates[k] @ beta + c[k]
        blocks.append(a if p == WORLD else a - kin.phi[k].mT @ c[p])
    return m.stack(BODY, blocks)


def _vector_a(low: MatrixLowering, letter: Symbol) -> Slot:
    low.velocity()
    return low.vector(low.settle(cross[V] @ H.T @ beta + H_dot.T @ beta))


a = letter(
    "a",  # Coriolis acceleration
    SCALAR,
    BODY,
    dense=_dense_a,
    vector=_vector_a,
    carries=(MOTION, None),
    of_speeds=True,
    follows="V",
    flops=6,
    causes="Coriolis effects",
    mechanics="Coriolis acceleration of body k alone",
    estimation="known input of the smoother at body k",
    formula="V~ H* beta + H_dot* beta",
    cited="[001 (8)]",
)


def _dense_b(m: DenseMachine) -> Matrix:
    """b(k) = S[V] M V in link axes; - M c more in world axes [001 (11)]."""
    blocks = []
    for body, V in zip(m.model.bodies, m.velocities, strict=True):
        M, turning = body.inertia.matrix, m.block_of(spatial.cross_motion, V)
        blocks.append(-turning.mT @ M @ V - M @ _convective_in_alpha(m, V))
    return m.stack(BODY, blocks)


def _vector_b(low: MatrixLowering, letter: Symbol) -> Slot:
    return low.emit("gyroscopic", (low.velocity(),), BODY, name="b")


b = letter(
    "b",  # gyroscopic force
    SCALAR,
    BODY,
    dense=_dense_b,
    vector=_vector_b,
    carries=(FORCE, None),
    of_speeds=True,
    follows="V",
    flops=60,
    causes="gyroscopic forces",
    mechanics="gyroscopic force of body k alone",
    estimation="known input of the state at body k",
    formula="S[V] M V",
    cited="[001 (11)]",
)


def _dense_c(m: DenseMachine, *points: Point) -> Matrix:
    """c(e) = [0; omega x v] of point e, with [omega; v] = B* V; 0 for a point on the world.

    The classical acceleration of the point is X (B* alpha + c). In world axes alpha
    is that of the body's origin already, so c lacks it: [0; omega x (omega x x)].
    """
    blocks = []
    for point in m.points_of(points):
        k, place = m.model.locate(point)
        B_star = m.constant(spatial.phi(spatial.IDENTITY3, place.position)).mT
        if k == WORLD:
            blocks.append(m.array([[0.0]] * len(B_star)))
            continue
        V = m.velocities[k]
        blocks.append(m.convective(B_star @ V) - B_star @ _convective_in_alpha(m, V))
    return m.stack_points(blocks)


def _convective_in_alpha(m: DenseMachine, V: Matrix) -> Matrix:
    """How much of [0; omega x v] alpha holds: it is A in link axes, classical in world axes."""
    return m.convective(V) if m.axes == "world" else 0.0 * V


def _vector_c(low: MatrixLowering, letter: Symbol) -> Slot:
    at_points = B(*letter.arguments) if letter.arguments else B
    return low.emit("convective", (low.vector(low.settle(at_points.T @ V)),), POINTS)


c = letter(
    "c",  # [0; omega x v]: a point accelerates by X (B* alpha + c)
    SCALAR,
    POINTS,
    dense=_dense_c,
    vector=_vector_c,
    of="points",
    of_speeds=True,
    follows="V",
    flops=12,
    unit=(0, -2),
    mechanics="convective acceleration of a point",
    estimation="known input at points",
    formula="[0; omega x v]",
)

# -- motions and forces ---------------------------------------------------------------

V = define(
    "V",
    phi.T @ H.T @ beta,  # [001 (21)]
    recursion=(36, OUTWARD),
    effect="velocity of body k",
    mechanics="velocity of body k",
    estimation="adjoint variable at body k, driven by beta",
    cited="[001 (21); 002 (2.5); 004-I (3.12), (5.13)]",
    says="each body moves as the joints inboard of it say",
    printed="B* phi* H* theta_dot, in 001 (66) and 004-I (5.13)",
)
alpha = define(
    "alpha",
    phi.T @ (H.T @ beta_dot + a + E @ gravity),  # [001 (25)]
    shorthand=True,
    effect="acceleration of body k",
    mechanics="acceleration of body k, gravity included",
    estimation="adjoint variable at body k, smoothed",
    cited="[001 (25); 002 (2.5), (2.11); 004-I (3.15), (3.21)]",
    says="the same for accelerations, the base accelerating against gravity",
)
f = define(
    "f",
    phi @ (M @ alpha + b),  # [002 (2.5)]
    shorthand=True,
    effect="force across joint k",
    mechanics="force across joint k: of all that is outboard",
    estimation="state at body k: all that drives it",
    cited="[001 (24); 002 (2.5), (2.11); 004-I (3.16)]",
    says="each joint carries the forces of all that is outboard of it",
)
C = define(
    "C",
    H @ phi @ (M @ phi.T @ (a + E @ gravity) + b),  # [001 (23)]
    shorthand=True,
    also=("cal:C",),  # [000], [002 (2.5)], [003 (4)]
    mechanics="bias: Coriolis, gyroscopic and gravity forces of the joints",
    estimation="known part of the measurements",
    cited="[001 (23); 002 (2.5), (2.11); 003 (4); 004-I (3.19), (3.21)]",
    says="the joint forces that are needed without any joint acceleration",
)

# -- energy ----------------------------------------------------------------------------


def _dense_U(m: DenseMachine) -> Matrix:
    """U = -sum_k m_k g . x_k over the mass centres, what is welded to the world included."""
    g, welded = m.column(m.model.gravity).mT, m.model.base_inertia
    U = m.array([[0.0]]) - welded.mass * g @ m.column(welded.com)
    places = zip(m.kinematics.turn, m.kinematics.origin, strict=True)
    for body, (turn, origin) in zip(m.model.bodies, places, strict=True):
        x = origin + turn[..., :3, :3] @ m.column(body.inertia.com)
        U = U - body.inertia.mass * g @ x
    return U


def _vector_U(low: MatrixLowering, letter: Symbol) -> Slot:
    """Of the moving bodies, and of what is welded to the world."""
    moving = low.gather("potential", (low.pose(),), SCALAR)
    welded = low.emit("base_potential", (), SCALAR, domain=low.home(BASE))
    return low.emit("add", (moving, welded), SCALAR)


U = letter(
    "U",  # potential energy of gravity, -sum m g . x
    SCALAR,
    SCALAR,
    dense=_dense_U,
    vector=_vector_U,
    mechanics="potential energy",
    estimation="potential of the known inputs",
    formula="-sum m g . x",
)
