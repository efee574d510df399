"""What rotor inertia changes: `D = H P H* + Jm`, so a free joint is no projection any more.

The papers have no rotors. Each of their equations that asks for that stands
beside the one that holds with rotors too.
"""

from __future__ import annotations

from phipsi.algebra.identities.equation import Condition, Equation
from phipsi.algebra.operators import (
    D,
    E_psi,
    G,
    H,
    I,
    Jm,
    K,
    M,
    Mass,
    P,
    phi,
    psi,
    psi_tilde,
    tau,
    tau_bar,
)

NO_ROTORS = (Condition.NO_ROTORS,)

WITHOUT = [
    Equation(
        "no rotors",
        Jm,
        0 * Jm,
        "[000 Identity 1.1; 001 (22)]",
        NO_ROTORS,
        meaning="the papers have none",
    ),
    Equation(
        "mass matrix without rotors",
        Mass,
        H @ phi @ M @ phi.T @ H.T,
        "[000 Identity 1.1; 001 (22); 002 (2.5), (2.11); 003 (3); 004-I (3.20)]",
        NO_ROTORS,
        meaning="the Newton-Euler factorization as the papers print it",
        printed="H phi M phi H*, in the text after (1.2) of 000",
        derived=True,
    ),
    Equation(
        "D without rotors",
        D,
        H @ P @ H.T,
        "[001 (36); 002 (3.2); 003 (8); 004-I (4.5), (a.1)]",
        NO_ROTORS,
        meaning="what a joint feels of the bodies outboard of it",
        derived=True,
    ),
    Equation(
        "free joints project inertias",
        tau_bar @ P @ tau_bar.T,
        tau_bar @ P,
        "[001 proof of Identity 2; 003 proof of Lemma 1]",
        NO_ROTORS,
        meaning="an inertia passes a free joint once",
    ),
    Equation(
        "free joints are projections",
        tau_bar @ tau_bar,
        tau_bar,
        "[001 proof of Identity 2; 002 (3.2)]",
        NO_ROTORS,
        meaning="what passed a free joint passes it again whole",
    ),
    Equation(
        "what joints yield to is a projection",
        tau @ tau,
        tau,
        "[002 (3.2)]",
        NO_ROTORS,
        derived=True,
    ),
    Equation(
        "joints feel what they yield to",
        H @ tau,
        H,
        "[002 (3.2)]",
        NO_ROTORS,
        meaning="a free joint passes on no force along its own axis",
    ),
    Equation(
        "proof of (a.47) of 004-I",
        tau @ P @ H.T,
        P @ H.T,
        "[004-I proof of (a.47)]",
        NO_ROTORS,
        meaning="(I - G H) P H* = 0",
    ),
    Equation(
        "Lemma 4.3 of 000",
        phi @ M @ phi.T @ H.T,
        (I + phi @ K @ H) @ P @ phi.T @ H.T,
        "[000 Lemma 4.3]",
        NO_ROTORS,
        meaning="the forces of unit accelerations by articulated inertias",
        derived=True,
    ),
]

WITH = [
    Equation(
        "free joints with rotors",
        tau_bar @ P,
        tau_bar @ P @ tau_bar.T + G @ Jm @ G.T,
        "[001 proof of Identity 2, with rotors; 003 proof of Lemma 1, with rotors]",
        meaning="a rotor holds on to the part of an inertia that a free joint would let go",
    ),
    Equation(
        "joints with rotors feel what they yield to",
        H @ tau,
        H - Jm @ D.inv @ H,
        "[002 (3.2), with rotors]",
        derived=True,
    ),
    Equation(
        "proof of (a.47) of 004-I with rotors",
        tau @ P @ H.T,
        P @ H.T - G @ Jm,
        "[004-I proof of (a.47), with rotors]",
        derived=True,
    ),
    Equation(
        "Riccati equation with rotors",
        M,
        P - E_psi @ P @ E_psi.T - K @ Jm @ K.T,
        "[001 (35), with rotors; 002 (A.1), with rotors; 003 (8), with rotors]",
        meaning="Joseph's form with rotors",
        derived=True,
    ),
    Equation(
        "Identity A.5 with rotors",
        psi @ M @ psi.T,
        P + psi_tilde @ P + P @ psi_tilde.T - psi @ K @ Jm @ K.T @ psi.T,
        "[004-I Identity A.5 (a.47), with rotors]",
        derived=True,
    ),
    Equation(
        "Lemma 4.3 of 000 with rotors",
        phi @ M @ phi.T @ H.T,
        (I + phi @ K @ H) @ P @ phi.T @ H.T + phi @ K @ Jm,
        "[000 Lemma 4.3, with rotors]",
        derived=True,
    ),
]

EQUATIONS = [*WITHOUT, *WITH]
