"""What each body and joint has for itself: axes, inertias, rotors; mimic joints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phipsi.algebra.alphabet import FORCE, MOTION, PAPERS
from phipsi.algebra.node import Identity, Node, Symbol
from phipsi.algebra.operators.papers import letter
from phipsi.algebra.spaces import BODY, COORDINATES, JOINT, Causality

if TYPE_CHECKING:
    from phipsi.lowering.dense import DenseMachine
    from phipsi.lowering.matrices import MatrixLowering
    from phipsi.lowering.program import Slot
    from phipsi.lowering.state import Matrix

I = Identity()
PAPERS.enter("I", I)

# -- the joint map ---------------------------------------------------------------------


def _dense_H(m: DenseMachine) -> Matrix:
    """H = diag[H(k)] [001 (18)]."""
    return m.diagonal(JOINT, BODY, (H_star.mT for H_star in m.kinematics.H_star))


def _apply_H(low: MatrixLowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """H x, H* y: a pick and a placement where the joint's axes are the frame's."""
    x, H_star = low.vector(rest), low.joint_map()
    if star:
        return low.emit("apply", (H_star, x), BODY)
    return low.emit("apply_transposed", (H_star, x), JOINT)


H = letter(
    "H",  # joint map
    BODY,
    JOINT,
    dense=_dense_H,
    applied=_apply_H,
    block=lambda low, letter: low.emit("transpose", (low.joint_map(),), letter),
    carries=(None, FORCE),
    flops=0,
    unit=(0, 0),
    acts={
        "": ("the part along the axes of joint k", "what is measured of the state"),
        "*": ("as a motion of body k", "what a measurement adds to the adjoint variable"),
    },
    mechanics="joint map: the axes along which joint k moves",
    estimation="measurement map: what joint k sees of the state",
    formula="H(k), a row for each speed of the joint",
    cited="[001 (18)]",
)


def _dense_H_dot(m: DenseMachine) -> Matrix:
    """diag[(sum_a Gamma_a beta_a)*]: what the map itself changes, its frame left out."""
    return m.diagonal(JOINT, BODY, (rate.mT for rate in m.map_rates))


def _apply_H_dot(low: MatrixLowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    x, rate = low.vector(rest), low.map_rate()
    if star:
        return low.emit("apply", (rate, x), BODY)
    return low.emit("apply_transposed", (rate, x), JOINT)


H_dot = letter(
    "H_dot",  # (sum_a Gamma_a beta_a)*: dH/dt in link axes
    BODY,
    JOINT,
    dense=_dense_H_dot,
    applied=_apply_H_dot,
    block=lambda low, letter: low.emit("transpose", (low.map_rate(),), letter),
    carries=(None, FORCE),
    of_speeds=True,
    follows="V",
    flops=1,
    unit=(0, -1),
    mechanics="rate of the joint map by the joint's own motion",
    estimation="rate of the measurement map",
    formula="sum_a Gamma_a(k)* beta_a(k)",
)

# -- inertias of single bodies and rotors ----------------------------------------------


def _dense_M(m: DenseMachine) -> Matrix:
    """M = diag[M(k)] [001 (2)]."""
    return m.diagonal(BODY, BODY, (body.inertia.matrix for body in m.model.bodies))


def _apply_M(low: MatrixLowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """M x, by mass, mass centre and rotational inertia [001 (2)]."""
    return low.emit("momentum", (low.vector(rest),), BODY)


M = letter(
    "M",  # spatial inertias
    BODY,
    BODY,
    dense=_dense_M,
    applied=_apply_M,
    block=lambda low, letter: low.emit("inertia", (), letter, name="M"),
    positive=True,
    carries=(FORCE, MOTION),
    flops=42,
    unit=(1, 0),
    acts={"": ("as a force of body k", "as noise that drives the state")},
    mechanics="spatial inertia of body k alone, at its frame",
    estimation="covariance of the noise that drives the state at body k",
    formula="M(k) = [[inertia, m p~], [-m p~, m I]], p the mass centre",
    cited="[001 (2)]",
)


def _dense_Jm(m: DenseMachine) -> Matrix:
    """Jm = diag[gear^2 rotor inertia], for each speed of the joint."""
    joints = m.model.joints
    blocks = (joint.reflected_inertia * m.identity(joint.kind.nv) for joint in joints)
    return m.diagonal(JOINT, JOINT, blocks)


def _apply_Jm(low: MatrixLowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """Jm y: the reflected rotor inertia times each speed."""
    return low.emit("rotor", (low.vector(rest),), JOINT)


Jm = letter(
    "Jm",  # rotor inertia, reflected
    JOINT,
    JOINT,
    dense=_dense_Jm,
    applied=_apply_Jm,
    block=lambda low, letter: low.emit("rotor_inertia", (), letter, name="Jm"),
    positive=True,
    look="J_m",
    flops=1,
    unit=(1, 0),
    mechanics="rotor inertia of joint k, reflected through its gear",
    estimation="covariance of the measurement noise of joint k",
    formula="gear_ratio^2 rotor_inertia",
)

# -- mimic joints ----------------------------------------------------------------------


def _dense_S_q(m: DenseMachine) -> Matrix:
    """Joint speeds from independent ones: the identity, a mimic's row its ratio."""
    result = m.zeros(JOINT, COORDINATES)
    for joint in m.model.joints:
        ratio = 1.0 if joint.mimic is None else joint.mimic.ratio
        result[..., joint.rows, joint.v] = ratio * m.identity(joint.kind.nv)
    return result


def _apply_S_q(low: MatrixLowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """The same vector where no joint follows another."""
    x = low.vector(rest)
    if low.plain or x.domain.kind == "column":
        return x
    if star:
        return low.gather("lead", (x,), COORDINATES)
    return low.emit("follow", (x,), JOINT, domain=low.home(JOINT))


S_q = letter(
    "S_q",  # mimic joints: beta = S_q v
    COORDINATES,
    JOINT,
    causality=Causality.MIXED,
    dense=_dense_S_q,
    applied=_apply_S_q,
    unit=(0, 0),
    mechanics="joint speeds of independent ones: mimic joints follow",
    estimation="joint measurements of independent ones",
    formula="1, or the ratio of a mimic joint",
    where="at (k, i), joint k moves with coordinate i",
)
