"""Composite and articulated inertias, and the decompositions of phi M phi* by them."""

from __future__ import annotations

from phipsi.algebra.identities.equation import Condition, Equation
from phipsi.algebra.node import Node
from phipsi.algebra.operators import (
    D,
    E_phi,
    E_psi,
    G,
    H,
    I,
    Jm,
    K,
    M,
    Mass,
    Omega,
    P,
    R,
    Y,
    blockdiag,
    operator,
    phi,
    phi_tilde,
    psi,
    psi_tilde,
)

r, W, Z = (operator(name, "body", "body") for name in ("r", "W", "Z"))


def _symmetric(letter: Node, source: str, derived: bool = False) -> Equation:
    name, meaning = f"symmetry of {letter}", "an inertia, a compliance: its own transpose"
    return Equation(name, letter.T, letter, source, meaning=meaning, derived=derived)


SYMMETRY = [
    _symmetric(M, "[001 (2)]"),
    _symmetric(Jm, ""),
    _symmetric(R, "[001 (29)]"),
    _symmetric(P, "[001 after (36); 004-I (4.4)]"),
    _symmetric(D, "[001 after (36); 004-I (4.5)]", derived=True),
    _symmetric(Mass, "[001 (22); 003 (3)]", derived=True),
    _symmetric(Y, "[002 (A.3)]"),
    _symmetric(Omega, "[002 (3.10)]", derived=True),
]

COMPOSITE = [
    Equation(
        "composite inertia",
        M,
        R - E_phi @ R @ E_phi.T,
        "[000 (5.44); 001 (31)]",
        meaning="the inertia of a body and all that is outboard of it, every joint locked",
    ),
    Equation(
        "Identity 1",
        phi @ M @ phi.T,
        R + phi_tilde @ R + R @ phi_tilde.T,
        "[001 Identity 1 (28); 004-I Corollary A.1]",
        meaning="memoryless, causal and anticausal part: composite inertias, carried inward",
    ),
    Equation(
        "composite inertia as a diagonal",
        R,
        blockdiag(phi @ M @ phi.T),
        "[000 (5.44); 001 (29)]",
        meaning="the memoryless part of phi M phi*",
        derived=True,
    ),
    Equation(
        "Lemma 5.1 of 000",
        Mass,
        H @ R @ H.T + H @ phi_tilde @ R @ H.T + H @ R @ phi_tilde.T @ H.T + Jm,
        "[000 Lemma 5.1 (5.45)]",
        meaning="the composite body algorithm for the mass matrix",
        derived=True,
    ),
]

RICCATI = [
    Equation(
        "Riccati equation",
        M,
        P - E_psi @ P @ E_phi.T,
        "[001 (35); 002 (3.1), (A.1); 003 (8); 004-I (4.6)]",
        meaning="the inertia of a body and all that is outboard of it, every joint free",
    ),
    Equation(
        "Riccati equation by innovations",
        M,
        P - E_phi @ P @ E_phi.T + K @ D @ K.T,
        "[003 proof of Lemma 1]",
        meaning="what a joint yields to is taken from the inertia that it carries",
        derived=True,
    ),
    Equation(
        "(a.49) of 004-I",
        P,
        E_phi @ P @ E_phi.T + M - E_phi @ P @ H.T @ D.inv @ H @ P @ E_phi.T,
        "[002 (3.1); 004-I (a.49)]",
        meaning="the Riccati equation as estimation theory writes it",
        derived=True,
    ),
    Equation(
        "(a.49) of 004-I, carried inward",
        phi @ (M - E_phi @ P @ H.T @ D.inv @ H @ P @ E_phi.T) @ phi.T,
        P + phi_tilde @ P + P @ phi_tilde.T,
        "[004-I (a.49)]",
        derived=True,
    ),
    Equation(
        "Riccati equation without rotors",
        M,
        P - E_psi @ P @ E_psi.T,
        "[001 (35); 002 (A.1); 003 (8), proof of Lemma 1]",
        (Condition.NO_ROTORS,),
        meaning="Joseph's form: symmetric as it stands",
    ),
    Equation(
        "gain",
        D.inv @ H @ P,
        G.T,
        "[001 (37); 004-I (5.12)]",
        meaning="the Kalman gain's star",
    ),
]

DECOMPOSITIONS = [
    Equation(
        "Lemma A.1",
        (I - E_phi @ W).inv @ (r - E_phi @ W @ r @ Z.T @ E_phi.T) @ (I - E_phi @ Z).inv.T,
        r + ((I - E_phi @ W).inv - I) @ r + r @ ((I - E_phi @ Z).inv - I).T,
        "[004-I Lemma A.1 (a.44), (a.45)]",
        meaning="what two propagators carry inward from either side, decomposed; W = Z = I for phi",
        variables=(W, r, Z),
        derived=True,
    ),
    Equation(
        "Identity A.5",
        psi @ M @ phi.T,
        P + psi_tilde @ P + P @ phi_tilde.T,
        "[004-I Identity A.5 (a.46)]",
        meaning="one side through free joints, the other through locked ones",
        derived=True,
    ),
    Equation(
        "Identity A.5 in two terms",
        psi @ M @ phi.T,
        psi @ P + P @ phi_tilde.T,
        "[004-I Identity A.5 (a.46)]",
        meaning="a free joint on one side: only the articulated inertia is felt through it",
    ),
    Equation(
        "Identity A.5 without rotors",
        psi @ M @ psi.T,
        P + psi_tilde @ P + P @ psi_tilde.T,
        "[004-I Identity A.5 (a.47)]",
        (Condition.NO_ROTORS,),
        meaning="both sides through free joints",
        derived=True,
    ),
    Equation(
        "Identity A.5 without rotors, in two terms",
        psi @ M @ psi.T,
        psi @ P + P @ psi_tilde.T,
        "[004-I Identity A.5 (a.47)]",
        (Condition.NO_ROTORS,),
        meaning="both sides through free joints",
    ),
    Equation(
        "Identity A.6",
        phi @ M @ phi.T,
        P + phi_tilde @ P + P @ phi_tilde.T + phi_tilde @ P @ H.T @ D.inv @ H @ P @ phi_tilde.T,
        "[001 Identity 2 (42); 004-I Identity A.6 (a.48)]",
        meaning="composite by articulated inertias",
        derived=True,
    ),
    Equation(
        "Identity A.6 by innovations",
        phi @ M @ phi.T,
        P + phi_tilde @ P + P @ phi_tilde.T + phi @ K @ D @ K.T @ phi.T,
        "[003 proof of Lemma 1]",
        meaning="composite by articulated inertias, and what the joints yield to",
    ),
    Equation(
        "proof of Identity 2",
        R,
        P + blockdiag(phi @ K @ D @ K.T @ phi.T),
        "[001 proof of Identity 2]",
        meaning="locking the joints adds all that they would yield to",
        derived=True,
    ),
]

EQUATIONS = [*SYMMETRY, *COMPOSITE, *RICCATI, *DECOMPOSITIONS]
