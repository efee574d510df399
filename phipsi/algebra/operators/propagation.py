"""From body to body: one step to the parent, any number of steps, and the base."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phipsi import spatial
from phipsi.algebra.alphabet import FORCE, MOTION, Opened
from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.operators.machine import I
from phipsi.algebra.operators.papers import STEP, define, letter
from phipsi.algebra.spaces import BASE, BODY, Causality
from phipsi.model.tree import WORLD

if TYPE_CHECKING:
    from phipsi.lowering.dense import DenseMachine
    from phipsi.lowering.matrices import MatrixLowering
    from phipsi.lowering.program import Slot
    from phipsi.lowering.state import Matrix

# -- one step --------------------------------------------------------------------------


def _dense_E_phi(m: DenseMachine) -> Matrix:
    """phi(p(k),k) at block (p(k),k) [002 (2.7)]."""
    return m.below_diagonal(m.kinematics.phi)


def _apply_E_phi(low: MatrixLowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """phi(p,k) x(k) pushed to the parent; phi*(p,k) x(p) pulled from it."""
    x, X = low.vector(rest), low.transform()
    if star:
        return low.emit("outward", (X, low.at_parent(x)), BODY, domain=x.domain)
    return low.push("inward", (X, x), BODY)


def _carry_E_phi(low: MatrixLowering, W: Slot) -> Slot:
    """phi(p,k) W phi*(p,k), by the two screws of phi(p,k)."""
    step = "carry" if W.shape.symmetric else "carry_any"
    return low.push(step, (low.transform(), W), W.shape)


def _carry_back_E_phi(low: MatrixLowering, W: Slot) -> Slot:
    """phi*(p,k) W phi(p,k) of the parent's W."""
    step = "carry_back" if W.shape.symmetric else "carry_back_any"
    return low.emit(step, (low.transform(), low.at_parent(W)), W.shape)


E_phi = letter(
    "E_phi",  # phi(p(k),k) at (p(k),k)
    BODY,
    BODY,
    dense=_dense_E_phi,
    applied=_apply_E_phi,
    carry=_carry_E_phi,
    carry_back=_carry_back_E_phi,
    strict=True,
    carries=(FORCE, FORCE),
    look="cal:E_phi",  # [000 (1.4)], [002 (2.3)]
    flops=STEP,
    unit=(0, 0),
    element="phi",
    mechanics="one step inward: force of body k as felt by its parent, joint locked",
    estimation="one step of the state's transition",
    formula="phi(p(k),k) at (p(k),k)",
    one_step=True,
    cited="[002 (2.7)]",
)


def _dense_S(m: DenseMachine) -> Matrix:
    """The identity at block (p(k),k), between the axes of k and of p [000 sec. 2.1]."""
    turn, parent = m.kinematics.turn, m.model.tree.parent
    return m.below_diagonal([turn[p].mT @ turn[k] for k, p in enumerate(parent)])


def _apply_S(low: MatrixLowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """As E_phi, without a lever: a turn between the axes of k and of its parent."""
    x, X = low.vector(rest), low.transform()
    if star:
        return low.emit("turn_outward", (X, low.at_parent(x)), BODY, domain=x.domain)
    return low.push("turn_inward", (X, x), BODY)


def _carry_S(low: MatrixLowering, W: Slot) -> Slot:
    """The turn of W into the axes of the parent."""
    return low.push("turn_carry_any", (low.transform(), W), W.shape)


S = letter(
    "S",  # shift: a turn without a lever
    BODY,
    BODY,
    dense=_dense_S,
    applied=_apply_S,
    carry=_carry_S,
    opens=Opened(spatial.cross_force, "cross_force", "cross", (MOTION, FORCE, FORCE)),
    strict=True,
    also=("bb:S", "cal:S"),  # the shift; S[z] [000 (2.7)]
    flops=18,
    unit=(0, 0),
    mechanics="shift: a turn into the parent's axes, without a lever",
    estimation="shift of the state by one step",
    formula="the turn in phi(p(k),k)",
    one_step=True,
    cited="[000 sec. 2.1]",
)


def _dense_Delta_phi(m: DenseMachine) -> Matrix:
    """phi(p(k),k) at block (k,k), in the axes of k; at a root from the world [000 (3.28)]."""
    turn, parent = m.kinematics.turn, m.model.tree.parent
    to_own = [turn[k] if p == WORLD else turn[p].mT @ turn[k] for k, p in enumerate(parent)]
    blocks = (x.mT @ phi for x, phi in zip(to_own, m.kinematics.phi, strict=True))
    return m.diagonal(BODY, BODY, blocks)


def _apply_Delta_phi(low: MatrixLowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    step = "lever_outward" if star else "lever_inward"
    return low.emit(step, (low.transform(), low.vector(rest)), BODY)


Delta_phi = letter(
    "Delta_phi",  # E_phi = S Delta_phi
    BODY,
    BODY,
    dense=_dense_Delta_phi,
    applied=_apply_Delta_phi,
    block=lambda low, letter: low.emit("lever_matrix", (low.transform(),), letter),
    flops=12,
    unit=(0, 0),
    mechanics="the lever of phi(p,k), in the axes of k",
    estimation="the transition without the shift",
    formula="E_phi = S Delta_phi",
    cited="[000 (3.28)]",
)


def _dense_E(m: DenseMachine) -> Matrix:
    """phi*(world, k) at each root k [004-I (3.8)]."""
    result = m.zeros(BODY, BASE)
    for k in m.model.tree.roots:
        result[..., m.slices(BODY)[k], :] = m.kinematics.phi[k].mT
    return result


def _apply_E(low: MatrixLowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """phi*(world,k) x at the roots; what the roots push to the world."""
    x, X = low.vector(rest), low.transform()
    if star:
        return low.gather("to_base", (X, x), BASE)
    return low.emit("from_base", (X, x), BODY)


E = letter(
    "E",  # the base's motion at the roots
    BASE,
    BODY,
    causality=Causality.ANTICAUSAL,
    dense=_dense_E,
    applied=_apply_E,
    carries=(MOTION, None),
    flops=1,
    unit=(0, 0),
    mechanics="motion of the base, felt by the bodies that hang on it",
    estimation="boundary value of the smoother at the base",
    formula="phi*(0,k) at each root k",
    where="at the roots",
    cited="[004-I (3.8)]",
)

# -- any number of steps ---------------------------------------------------------------


def _apply_phi(low: MatrixLowering, letter: Symbol, star: bool, rest: Node) -> Slot:
    """z = x + E_phi z, or with E_phi*."""
    whole = (letter.T if star else letter) @ rest
    return low.recur(whole, rest, [-(E_phi.T if star else E_phi)])


phi = define(
    "phi",
    (I - E_phi).inv,  # [002 (2.9)]
    kept=True,
    applied=_apply_phi,
    carries=(FORCE, FORCE),
    flops=STEP + 6,
    acts={
        "": ("forces through locked joints", "transition of the state"),
        "*": ("motions through locked joints", "transition of the adjoint"),
    },
    mechanics="propagation of forces inward through locked joints; phi* of motions outward",
    estimation="transition of the state; phi* of its adjoint",
    cited="[000 (1.3); 001 (17); 002 (2.4), (2.9); 003 sec. 2; 004-I (3.4)]",
    says="forces carried inward through locked joints, by every number of steps",
)
phi_tilde = define(
    "phi_tilde",
    phi - I,  # [004-I (5.11)]
    strict=True,
    swept=phi @ E_phi,
    both_ways=True,
    flops=STEP + 6,
    mechanics="propagation through locked joints, strictly inward",
    estimation="transition of the state to bodies strictly inboard",
    where="at (i, k), i inboard of k",
    cited="[001 (28); 003 appendix; 004-I (5.11), (a.3)]",
    says="the same, strictly inward",
)
