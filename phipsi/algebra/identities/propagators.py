"""How forces and motions are carried: phi and psi, their single steps, and the shift.

004 writes `Phi = phi S`, `Psi = psi S` and `Delta_psi = Delta_phi (I - G H)`; 001
writes Phi for `phi_tilde` and Psi for `psi E_phi`.
"""

from __future__ import annotations

from phipsi.algebra.identities.equation import Condition, Equation
from phipsi.algebra.node import Node
from phipsi.algebra.operators import (
    Delta_phi,
    E_phi,
    E_psi,
    G,
    H,
    I,
    K,
    S,
    operator,
    phi,
    phi_tilde,
    psi,
    psi_tilde,
    tau_bar,
)

A, Z = operator("A", "body", "body"), operator("Z", "body", "body")

STEPS = [
    Equation(
        "phi and its last step",
        E_phi @ phi,
        phi - I,
        "[002 (2.4), (2.9); 004-I (a.11)]",
        meaning="all ways inward but the empty one end with a step",
    ),
    Equation(
        "phi and its first step",
        phi @ E_phi,
        phi - I,
        "[002 (2.4), (2.9); 004-I (a.11)]",
        meaning="all ways inward but the empty one begin with a step",
    ),
    Equation(
        "phi_tilde by steps",
        phi_tilde,
        phi @ E_phi,
        "[000 Lemma 3.3; 004-I (a.9)]",
        meaning="strictly inward: one step, then any number",
    ),
    Equation(
        "psi and its last step",
        E_psi @ psi,
        psi - I,
        "[002 (3.3); 004-I (a.10)]",
        meaning="the same through free joints",
    ),
    Equation(
        "psi and its first step",
        psi @ E_psi,
        psi - I,
        "[002 (3.3); 004-I (a.10)]",
        meaning="the same through free joints",
    ),
    Equation(
        "psi_tilde by steps",
        psi_tilde,
        psi @ E_psi,
        "[001 after (41); 004-I (a.8)]",
        meaning="strictly inward through free joints: one step, then any number",
    ),
    Equation(
        "(10) of 003",
        E_psi,
        E_phi - K @ H,
        "[003 (10)]",
        meaning="a free joint passes on what a locked one would, less what it yields to",
        derived=True,
    ),
]

SHIFTS = [
    Equation(
        "shift and lever",
        E_phi,
        S @ Delta_phi,
        "[000 (3.29); 004-I (a.5)]",
        meaning="a step inward: first the lever, within the body, then across to the parent",
    ),
    Equation(
        "shift and gain",
        K,
        S @ Delta_phi @ G,
        "[004-I (4.4), (a.12)]",
        meaning="004 has L = Delta_phi G, so that K = S L",
        derived=True,
    ),
    Equation(
        "(a.9) of 004-I",
        phi_tilde,
        phi @ S @ Delta_phi,
        "[004-I (a.6), (a.9)]",
        meaning="phi~ = Phi Delta_phi with Phi = phi S",
        derived=True,
    ),
    Equation(
        "(a.8) of 004-I",
        psi_tilde,
        psi @ S @ Delta_phi @ tau_bar,
        "[004-I (a.7), (a.8)]",
        meaning="psi~ = Psi Delta_psi with Psi = psi S",
        derived=True,
    ),
    Equation(
        "(a.13) of 004-I",
        phi @ K,
        phi_tilde @ G,
        "[004-I (a.13)]",
        meaning="Phi L = phi~ G: the gain carried inward, with its own step or after it",
        derived=True,
    ),
]


def _chain(line: int, left: Node, right: Node, meaning: str = "", derived: bool = True) -> Equation:
    """A line of Lemma 2.1; A and Z are the paper's A and B."""
    variables = tuple(x for x in (A, Z) if x in left.factors)
    return Equation(
        f"Lemma 2.1 of 000, line {line}",
        left,
        right,
        "[000 Lemma 2.1]",
        (Condition.SERIAL,),
        meaning,
        variables=variables,
        derived=derived,
    )


LEMMA_2_1 = [
    _chain(1, S @ A @ S.T @ S @ Z, S @ A @ Z),
    _chain(2, S.T @ A @ S @ S.T @ Z, S.T @ A @ Z),
    _chain(3, A @ S.T @ S @ Z @ S.T, A @ Z @ S.T),
    _chain(4, A @ S @ S.T @ Z @ S, A @ Z @ S),
    _chain(5, S @ A @ S.T @ S @ Z @ S.T, S @ A @ Z @ S.T),
    _chain(6, S.T @ A @ S @ S.T @ Z @ S, S.T @ A @ Z @ S),
    _chain(7, S @ S.T @ S @ A, S @ A),
    _chain(8, S @ A @ S.T @ S, S @ A, "forth and back loses only the base", derived=False),
    _chain(9, S.T @ S @ S.T @ A, S.T @ A),
    _chain(10, S.T @ A @ S @ S.T, S.T @ A, "back and forth loses only the tip", derived=False),
    _chain(11, S.T @ S @ A @ S.T, A @ S.T),
    _chain(12, A @ S.T @ S @ S.T, A @ S.T),
    _chain(13, S @ S.T @ A @ S, A @ S),
    _chain(14, A @ S @ S.T @ S, A @ S),
]

EQUATIONS = [*STEPS, *SHIFTS, *LEMMA_2_1]
