"""How bodies and points accelerate under forces on them: Omega, Upsilon, the compliance."""

from __future__ import annotations

from phipsi.algebra.identities.equation import Condition, Equation
from phipsi.algebra.operators import (
    B,
    D,
    E_psi,
    H,
    I,
    J,
    K,
    Mass,
    Omega,
    Y,
    blockdiag,
    phi,
    psi,
    psi_tilde,
)

W = I - H @ psi @ K

EQUATIONS = [
    Equation(
        "link accelerations",
        phi.T @ H.T @ Mass.inv,
        psi.T @ H.T @ D.inv @ W,
        "[002 after (3.9), (A.2); 004-I (5.6)]",
        meaning="accelerations of the bodies come before those of the joints",
        printed="psi* D^-1 (..), without H*, in 002 (A.2)",
        derived=True,
    ),
    Equation(
        "tip force correction",
        Mass.inv @ J.T,
        W.T @ D.inv @ H @ psi @ B,
        "[002 (3.12); 003 (18), (24); 004-II (6.3), (6.16)]",
        meaning="what forces at points do to the joints; a force ON the environment with a minus",
        printed="D^-1 psi B f, in 004-II (6.5a) and (6.11g)",
        derived=True,
    ),
    Equation(
        "(6.12) of 004-II",
        J @ Mass.inv,
        B.T @ psi.T @ H.T @ D.inv @ W,
        "[004-II (6.12)]",
        meaning="what joint forces do to the points",
        derived=True,
    ),
    Equation(
        "compliance of the bodies",
        phi.T @ H.T @ Mass.inv @ H @ phi,
        Omega,
        "[002 (3.10)]",
        meaning="Omega(i,j): how body i accelerates under a force on body j",
        derived=True,
    ),
    Equation(
        "compliance of the points",
        J @ Mass.inv @ J.T,
        B.T @ Omega @ B,
        "[002 (3.10)]",
        meaning="how points accelerate under forces at points",
        derived=True,
    ),
    Equation(
        "(19) of 003",
        J @ Mass.inv @ J.T,
        B.T @ phi.T @ H.T @ W.T @ D.inv @ W @ H @ phi @ B,
        "[003 (19); 004-II (6.6)]",
        derived=True,
    ),
    Equation(
        "(20) of 003",
        J @ Mass.inv @ J.T,
        B.T @ psi.T @ H.T @ D.inv @ H @ psi @ B,
        "[003 (20); 004-II (6.7)]",
        meaning="the inverse of the operational space inertia",
        printed="H' D^-1 H', in 004-II (6.9b)",
        derived=True,
    ),
    Equation(
        "Upsilon",
        H.T @ D.inv @ H,
        Y - blockdiag(E_psi.T @ Y @ E_psi),
        "[002 (A.3)]",
        meaning="the compliance of a body: its own joint's, and its parent's carried outward",
        printed="Y - E_psi* Y E_psi",
    ),
    Equation(
        "Upsilon on chains",
        H.T @ D.inv @ H,
        Y - E_psi.T @ Y @ E_psi,
        "[002 (A.3); 003 after (20); 004-II (6.10)]",
        (Condition.SERIAL,),
        meaning="where no body carries two, there is nothing off the diagonal",
    ),
    Equation(
        "Upsilon as a diagonal",
        Y,
        blockdiag(Omega),
        "[002 after (A.4)]",
        meaning="the memoryless part of Omega",
    ),
    Equation(
        "Lemma 5 of 002",
        Omega,
        Y + psi_tilde.T @ Y + Y @ psi_tilde,
        "[002 Lemma 5 (A.4)]",
        (Condition.SERIAL,),
        meaning="Omega of a chain by its diagonal; on trees limbs load each other, too",
    ),
]
