"""How phi, through locked joints, and psi, through free ones, are made of each other.

Identities A.2 to A.4 of 004-I, with `K = S L`, and what 001 and 003 have of them.
Its `Phi = phi S` and `Psi = psi S` are written out; `L = Delta_phi G`.
"""

from __future__ import annotations

from phipsi.algebra.identities.equation import Equation
from phipsi.algebra.node import Node
from phipsi.algebra.operators import Delta_phi, E_phi, G, H, I, K, S, operator, phi, phi_tilde, psi
from phipsi.algebra.spaces import own_space

ONE, OTHER = own_space("one", 4), own_space("other", 3)
A, C_w = operator("A", ONE, ONE), operator("C_w", OTHER, OTHER)
L_w, R_w = operator("L_w", OTHER, ONE), operator("R_w", ONE, OTHER)
Phi, Psi, L = phi @ S, psi @ S, Delta_phi @ G


def _appendix(number: str, left: Node, right: Node, meaning: str = "", more: str = "") -> Equation:
    source = f"[{more}004-I {number}]"
    return Equation(f"{number} of 004-I", left, right, source, meaning=meaning, derived=True)


A_2 = [
    _appendix("(a.14)", phi, psi @ (I + K @ H @ phi), "what joints yield to, added again"),
    _appendix("(a.15)", psi, (I - psi @ K @ H) @ phi, "what joints yield to, taken away"),
    _appendix("(a.16)", Phi, Psi @ (I + L @ H @ Phi)),
    _appendix("(a.17)", Psi, (I - psi @ K @ H) @ Phi),
]

A_3 = [
    _appendix("(a.22)", phi, (I + phi @ K @ H) @ psi),
    _appendix("(a.23)", psi, phi @ (I - K @ H @ psi)),
    _appendix("(a.24)", Phi, (I + phi @ K @ H) @ Psi),
    _appendix("(a.25)", Psi, Phi @ (I - L @ H @ Psi)),
    _appendix("(a.26)", phi @ K @ H @ psi, psi @ K @ H @ phi, "the order of both is free"),
    _appendix("(a.27)", phi @ K @ H @ Psi, psi @ K @ H @ Phi),
]

A_4 = [
    _appendix("(a.32)", H @ phi, (I + H @ phi @ K) @ H @ psi, "Lemma 4, the filter undone"),
    _appendix("(a.33)", H @ Phi, (I + H @ phi @ K) @ H @ Psi),
    _appendix("(a.34)", H @ Psi, H @ Phi @ (I - L @ H @ Psi)),
    _appendix("(a.36)", H @ Psi, (I - H @ psi @ K) @ H @ Phi),
    _appendix("(a.37)", H @ Phi, H @ Psi @ (I + L @ H @ Phi)),
    _appendix("(a.38)", H @ phi @ K @ H @ Psi, H @ psi @ K @ H @ Phi),
    _appendix("(a.39)", phi @ K, psi @ K @ (I + H @ phi @ K)),
    _appendix("(a.40)", psi @ K, (I - psi @ K @ H) @ phi @ K),
    _appendix(
        "(a.41)", psi @ K, phi @ K @ (I - H @ psi @ K), "the gain after the whitening filter"
    ),
    _appendix("(a.42)", phi @ K, (I + phi @ K @ H) @ psi @ K),
    _appendix("(a.43)", psi @ K @ H @ phi @ K, phi @ K @ H @ psi @ K),
]

OTHERS = [
    Equation(
        "Identity 4",
        (I - psi @ K @ H) @ phi_tilde,
        psi @ E_phi,
        "[001 Identity 4 (44)]",
        meaning="the last joint on the way is locked, the others are free",
        derived=True,
    ),
    Equation(
        "proof of Lemma 2",
        I + K @ H @ phi,
        psi.inv @ phi,
        "[003 proof of Lemma 2]",
        meaning="Lemma 5, times phi",
        derived=True,
    ),
    Equation(
        "proof of Lemma 4",
        I - psi @ K @ H,
        psi @ phi.inv,
        "[003 proof of Lemma 4]",
        meaning="Lemma 5, times psi",
        derived=True,
    ),
    Equation(
        "matrix inversion lemma",
        (A + L_w @ C_w @ R_w).inv,
        A.inv - A.inv @ L_w @ (C_w.inv + R_w @ A.inv @ L_w).inv @ R_w @ A.inv,
        "[003 proof of Lemma 2]",
        meaning="Woodbury's formula, between any two spaces, where A and C_w have inverses",
        variables=(A, L_w, C_w, R_w),
    ),
    Equation(
        "inverse of a sum",
        (I + H @ phi @ K).inv,
        I - H @ phi @ (I + K @ H @ phi).inv @ K,
        "[003 proof of Lemma 2]",
        meaning="the standard matrix identity with which Lemma 2 is proved",
        derived=True,
    ),
]

EQUATIONS = [*A_2, *A_3, *A_4, *OTHERS]
