"""Articulated bodies: what forces and motions meet where joints are free."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phipsi.algebra.alphabet import FORCE, MOTION
from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.operators.machine import H, I, Jm
from phipsi.algebra.operators.papers import INWARD, OUTWARD, STEP, define, letter
from phipsi.algebra.operators.propagation import E_phi
from phipsi.algebra.spaces import BODY
from phipsi.model.tree import WORLD

if TYPE_CHECKING:
    from phipsi.lowering.dense import DenseMachine
    from phipsi.lowering.matrices import MatrixLowering
    from phipsi.lowering.program import Slot
    from phipsi.lowering.state import Matrix

# -- the Riccati equation --------------------------------------------------------------


def _articulated_blocks(m: DenseMachine) -> tuple[list[Matrix], list[Matrix]]:
    """P(k) and D(k), tip_to_base: P(k) = M(k) + sum_c phi(k,c) (tau_bar P)(c) phi*(k,c) [001 (35)].

    Departure: tau_bar P, not tau_bar P tau_bar*, which is wrong with rotor inertia; computed as
    tau_bar P tau_bar* + G Jm G*, in which what a joint takes is not left over as roundoff.
    SolveError names the joint whose D vanishes: see `phipsi.lowering.pivots`.
    """
    phi, H_star = m.kinematics.phi, m.kinematics.H_star
    P = [body.inertia.matrix.astype(m.dtype) for body in m.model.bodies]
    N = [0.0 * x for x in P]  # what errors of P are a share of
    D: dict[int, Matrix] = {}
    for k in m.model.tree.tip_to_base:
        joint, p = m.model.joints[k], m.model.tree.parent[k]
        rotors = joint.reflected_inertia * m.identity(joint.kind.nv)
        D[k] = H_star[k].mT @ P[k] @ H_star[k] + rotors
        N[k] = N[k] + m.bound_entries(P[k])
        m.check_pivot(k, D[k], H_star[k].mT @ N[k] @ H_star[k])
        if p != WORLD:
            G = m.solve(D[k], H_star[k].mT @ P[k]).mT
            tau_bar = m.identity(P[k].shape[-1]) - G @ H_star[k].mT
            felt = tau_bar @ P[k] @ tau_bar.mT + G @ rotors @ G.mT
            P[p] = P[p] + phi[k] @ felt @ phi[k].mT
            N[p] = N[p] + phi[k] @ tau_bar @ N[k] @ tau_bar.mT @ phi[k].mT
    return P, [D[k] for k in range(len(P))]


P = letter(
    "P",  # M = P - E_phi (tau_bar P) E_phi*
    BODY,
    BODY,
    dense=lambda m: m.diagonal(BODY, BODY, _articulated_blocks(m)[0]),
    block=lambda low, letter: low.articulated(low.family_of(letter)),
    positive=True,
    articulated=True,
    pivots="inner",
    carries=(FORCE, MOTION),
    flops=66,
    recursion=(220, INWARD),
    elsewhere=(
        "as an articulated inertia, of this operator instead of the mass operator",
        "covariance of the predicted state's error, of this operator's state",
    ),
    mechanics="articulated inertia: k with all outboard of it, joints free",
    estimation="covariance of the predicted state's error, before joint k is measured",
    formula="M = P - E_phi (tau_bar P) E_phi*",
    cited="[002 (3.1)]",
)


def _solve_D(low: MatrixLowering, letter: Symbol, rest: Node) -> Slot:
    """D^-1 x, by LDL'."""
    return low.pivot_solve(low.family_of(letter), low.vector(rest))


D = define(
    "D",
    H @ P @ H.T + Jm,  # [002 (3.2)]
    block=lambda low, letter: low.pivot(low.family_of(letter)),
    solve=_solve_D,
    inverse=lambda low, letter: low.pivot_inverse(low.family_of(letter)),
    kept=True,
    symmetric=True,
    positive=True,
    articulated=True,
    pivots="inner",
    follows="P",
    flops=1,
    acts={"^-1": ("divided by the inertia of the joint", "divided by its covariance")},
    elsewhere=(
        "what resists at joint k, of this operator instead of the mass operator",
        "covariance of the innovation at joint k",
    ),
    mechanics="articulated inertia about joint k, its rotor included",
    estimation="covariance of the innovation at joint k",
    cited="[001 (36); 002 (3.2); 003 (8); 004-I (4.5), (a.1)]",
    says="what a joint feels of the articulated inertia outboard of it, and of its rotor",
)
G = define(
    "G",
    P @ H.T @ D.inv,  # [002 (3.2)]
    block=lambda low, letter: low.gain(low.family_of(letter)),
    kept=True,
    articulated=True,
    pivots="all",
    carries=(FORCE, None),
    follows="P",
    flops=6,
    acts={"": ("as felt at the body", "as it corrects the state")},
    elsewhere=(
        "share of what is given at joint k that is felt at body k",
        "Kalman gain: how much of the innovation corrects the state",
    ),
    mechanics="share of joint k's force that is felt at body k: P H* D^-1",
    estimation="Kalman gain: how much of the innovation corrects the state",
    cited="[001 (37); 002 (3.2); 003 (8); 004-I (5.12), (a.2)]",
    says="the Kalman gain: the wrench that a unit of joint force leaves behind",
)

# -- what a free joint passes on -------------------------------------------------------

tau = define(
    "tau",
    G @ H,  # [002 (3.2)]
    follows="P",
    flops=12,
    mechanics="part of a force that the free joint k yields to",
    estimation="part of the state that the measurement at k determines",
    cited="[002 (3.2)]",
    says="the part of a wrench that a free joint yields to",
)


def _apply_tau_bar(low: MatrixLowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """x - G (L x): what passes a free joint; x - L* (G* x) outward."""
    family, x = low.family_of(letter), low.vector(rest)
    L_star, N = low.hinge(family)
    step = "pass_motion" if star else "pass_force"
    return low.emit(step, (low.gain(family), L_star, N, x), BODY)


def _block_tau_bar(low: MatrixLowering, letter: Symbol) -> Slot:
    family = low.family_of(letter)
    L_star, N = low.hinge(family)
    return low.emit("pass_matrix", (low.gain(family), L_star, N), letter)


tau_bar = define(
    "tau_bar",
    I - tau,  # [002 (3.2)]
    applied=_apply_tau_bar,
    block=_block_tau_bar,
    kept=True,
    articulated=True,
    pivots="all",
    carries=(FORCE, FORCE),
    follows="P",
    flops=12,
    unit=(0, 0),
    elsewhere=(
        "part of a vector at body k that is passed on where joint k gives way",
        "what the measurement at k leaves of the state's error",
    ),
    mechanics="part of a force that the free joint k passes on",
    estimation="what the measurement at k leaves of the state's error",
    cited="[002 (3.2); 003 (9)]",
    says="the part of a wrench that a free joint passes on",
)
K = define(
    "K",
    E_phi @ G,  # [002 (3.2)]
    articulated=True,
    follows="P",
    flops=STEP + 6,
    mechanics="G, carried to the parent",
    estimation="gain of the prediction, one step ahead",
    one_step=True,
    cited="[002 (3.2); 003 sec. 4; 004-I (4.4)]",
    says="the gain, one step inward",
)
E_psi = define(
    "E_psi",
    E_phi @ tau_bar,  # [002 (3.2)]
    strict=True,
    follows="P",
    look="cal:E_psi",  # [002 (3.2)], [003 (10)]
    flops=STEP + 12,
    mechanics="one step inward: force of body k as felt by its parent, joint free",
    estimation="one step of the filter: update, then prediction",
    one_step=True,
    cited="[002 (3.2); 003 (10)]",
    says="one step inward through a free joint",
)


def _apply_psi(low: MatrixLowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """z = x + E_phi tau_bar z; outward z = x + tau_bar* E_phi* z."""
    step = tau_bar.T @ E_phi.T if star else E_phi @ tau_bar
    return low.recur((letter.T if star else letter) @ rest, rest, [-step])


psi = define(
    "psi",
    (I - E_psi).inv,  # [002 (3.3)]
    applied=_apply_psi,
    kept=True,
    articulated=True,
    pivots="inner",
    carries=(FORCE, FORCE),
    follows="P",
    flops=STEP + 18,
    acts={
        "": ("forces through free joints", "transition of the Kalman filter"),
        "*": ("motions through free joints", "transition of the smoother"),
    },
    mechanics="propagation of forces inward through free joints; psi* of motions outward",
    estimation="transition of the Kalman filter; psi* of the smoother",
    cited="[001 (38)-(40); 002 (3.3); 003 (10); 004-I (5.1)]",
    says="forces carried inward through free joints, by every number of steps",
)
psi_tilde = define(
    "psi_tilde",
    psi - I,
    strict=True,
    swept=psi @ E_phi @ tau_bar,
    both_ways=True,
    follows="P",
    flops=STEP + 18,
    mechanics="propagation through free joints, strictly inward",
    estimation="transition of the Kalman filter to bodies strictly inboard",
    where="at (i, k), i inboard of k",
    cited="[002 (A.4); 004-I (5.11), (a.4)]",
    says="the same, strictly inward",
)

# -- admittances -----------------------------------------------------------------------

Omega = define(
    "Omega",
    psi.T @ H.T @ D.inv @ H @ psi,  # [002 (3.10)]
    symmetric=True,
    shorthand=True,
    mechanics="admittance: acceleration of body i by a force at body j, joints free",
    estimation="covariance of the smoother's adjoint variables",
    where="at (i, k), some body inboard of or at both",
    cited="[002 (3.10)]",
    says="how bodies accelerate under forces on bodies",
)


def _dense_Y(m: DenseMachine) -> Matrix:
    """base_to_tip: Y(k) = H* D^-1 H + psi*(p,k) Y(p) psi(p,k) [002 (A.3)]."""
    P, D = _articulated_blocks(m)
    Y: list[Matrix] = []
    for k, p in enumerate(m.model.tree.parent):
        H_star = m.kinematics.H_star[k]
        DH = m.solve(D[k], H_star.mT)
        psi = m.kinematics.phi[k] @ (m.identity(P[k].shape[-1]) - P[k] @ H_star @ DH)
        Y.append(H_star @ DH)
        if p != WORLD:
            Y[k] = Y[k] + psi.mT @ Y[p] @ psi
    return m.diagonal(BODY, BODY, Y)


def _block_Y(low: MatrixLowering, letter: Symbol) -> Slot:
    """base_to_tip, by the steps of E_psi."""
    step = E_phi @ tau_bar
    return low.upsilon(step, H.T @ D.inv @ H, step)


Y = letter(
    "Y",  # H* D^-1 H = Y - blockdiag(E_psi* Y E_psi)
    BODY,
    BODY,
    dense=_dense_Y,
    block=_block_Y,
    positive=True,
    pivots="all",
    carries=(MOTION, FORCE),
    look="Upsilon",  # [002 (A.3)]
    follows="P",
    flops=66,
    recursion=(200, OUTWARD),
    elsewhere=("as an admittance of body k, of other blocks", "information on the state at k"),
    mechanics="admittance of body k itself: its acceleration by a force on it",
    estimation="information that joint k and those inboard give on the state at k",
    formula="H* D^-1 H = Y - blockdiag(E_psi* Y E_psi)",
)
