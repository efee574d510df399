"""The mass matrix, and composite inertias: bodies with their joints locked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phipsi.algebra.alphabet import FORCE, MOTION
from phipsi.algebra.operators.machine import H, Jm, M
from phipsi.algebra.operators.papers import INWARD, define, letter
from phipsi.algebra.operators.propagation import E_phi, phi
from phipsi.algebra.spaces import BODY
from phipsi.model.tree import WORLD

if TYPE_CHECKING:
    from phipsi.lowering.dense import DenseMachine
    from phipsi.lowering.state import Matrix

Mass = define(
    "Mass",
    H @ phi @ M @ phi.T @ H.T + Jm,  # [001 (22)]
    symmetric=True,
    shorthand=True,
    look="cal:M",  # [000], [001 (22)], [002 (2.5)], [003 (3)], [004-I (3.20)]
    mechanics="mass matrix",
    estimation="covariance of the measurements",
    where="at (i, k), one of them inboard of or at the other",
    cited="[000 Identity 1.1; 001 (22); 002 (2.5), (2.11); 003 (3); 004-I (3.20)]",
    says="outward as motion, through the inertias, inward as force; and the rotors",
    printed="H phi M phi H*, in the text after (1.2) of 000",
)


def composite_blocks(m: DenseMachine) -> list[Matrix]:
    """tip_to_base: R(k) = M(k) + sum_c phi(k,c) R(c) phi*(k,c) [000 (5.44)]."""
    phi = m.kinematics.phi
    R = [body.inertia.matrix.astype(m.dtype) for body in m.model.bodies]
    for k in m.model.tree.tip_to_base:
        p = m.model.tree.parent[k]
        if p != WORLD:
            R[p] = R[p] + phi[k] @ R[k] @ phi[k].mT
    return R


R = letter(
    "R",  # M = R - blockdiag(E_phi R E_phi*)
    BODY,
    BODY,
    dense=lambda m: m.diagonal(BODY, BODY, composite_blocks(m)),
    block=lambda low, letter: low.composite(E_phi, M, E_phi),
    positive=True,
    carries=(FORCE, MOTION),
    flops=42,
    recursion=(60, INWARD),
    elsewhere=(
        "as a composite inertia, of other blocks",
        "covariance of the state, of other noise",
    ),
    mechanics="composite inertia: k and all outboard of it, joints locked",
    estimation="covariance of the state at k, nothing measured",
    formula="M = R - blockdiag(E_phi R E_phi*)",
    cited="[000 (5.44)]",
)
