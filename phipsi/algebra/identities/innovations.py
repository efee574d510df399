"""The innovations factorization: the mass matrix factored and inverted by a Kalman filter.

With `W = I - H psi K`, the whitening filter, as 003 has it. 001 and 004 write
`phi~ G` and `phi S L` for `phi K`, `psi E_phi G` and `psi S L` for `psi K`.
"""

from __future__ import annotations

from phipsi.algebra.identities.equation import Condition, Equation
from phipsi.algebra.operators import D, H, I, Jm, K, M, Mass, T, beta, phi, psi

W = I - H @ psi @ K
F = I + H @ phi @ K
Dh = D.sqrt

EQUATIONS = [
    Equation(
        "Lemma 1",
        H @ phi @ M @ phi.T @ H.T + Jm,
        F @ D @ F.T,
        "[000 Identity 1.1; 001 Identity 3 (43); 002 Lemma 1 (3.4); 003 Lemma 1 (11); "
        "004-I Fact 4.1 (4.11); 004-II (5.2)]",
        meaning="the mass matrix is a causal factor, a diagonal, an anticausal factor",
        printed="(I + H Psi G) D (I + H Psi G)*, in 001 sec. I.B",
    ),
    Equation(
        "Lemma 1 without rotors",
        H @ phi @ M @ phi.T @ H.T,
        F @ D @ F.T,
        "[000 Identity 1.1; 001 Identity 3 (43); 002 Lemma 1 (3.4); 003 Lemma 1 (11); "
        "004-I Fact 4.1 (4.11); 004-II (5.2)]",
        (Condition.NO_ROTORS,),
        meaning="the mass matrix of the bodies alone, factored",
    ),
    Equation(
        "Lemma 2",
        F.inv,
        W,
        "[000 Identity 1.1; 001 Identity 5 (45); 002 Lemma 2 (3.5); 003 Lemma 2 (12); "
        "004-I Fact 4.2 (4.14); 004-II (5.3)]",
        meaning="the filter that whitens joint forces undoes the one that models them",
    ),
    Equation(
        "Lemma 3",
        Mass.inv,
        W.T @ D.inv @ W,
        "[000 Identity 1.1; 001 Identity 6 (46); 002 Lemma 3 (3.6); 003 Lemma 3 (13); "
        "004-I Theorem 4.1 (4.16); 004-II (5.4)]",
        meaning="the inverse of the mass matrix: a filter inward, a division, a smoother outward",
        derived=True,
    ),
    Equation(
        "Lemma 4",
        W @ H @ phi,
        H @ psi,
        "[002 Lemma 4 (3.9); 003 Lemma 4 (16); 004-I Identity 5.1 (5.4), (a.35); 004-II (5.12)]",
        meaning="forces carried through locked joints and whitened are carried through free ones",
    ),
    Equation(
        "Lemma 5",
        psi.inv,
        phi.inv + K @ H,
        "[003 Lemma 5]",
        meaning="free and locked joints differ, inverted, by what the joints yield",
    ),
    Equation(
        "Lemma 5 as a product",
        psi @ K @ H @ phi,
        phi - psi,
        "[004-I (a.18)]",
        meaning="locked and free propagation differ by what the joints yield on the way",
    ),
    Equation(
        "Lemma 5 as a product, turned",
        phi @ K @ H @ psi,
        phi - psi,
        "[004-I (a.28)]",
        meaning="the same with the order exchanged",
    ),
    Equation(
        "square root of D",
        Dh @ Dh.T,
        D,
        "[002 (3.13); 003 sec. 6]",
        meaning="D^1/2 is the Cholesky factor, joint by joint",
    ),
    Equation(
        "square root of the inverse of D",
        Dh.inv.T @ Dh.inv,
        D.inv,
        "[002 (3.13); 003 sec. 6]",
        meaning="D^-1/2 is the inverse of the Cholesky factor",
    ),
    Equation(
        "square root of D of one freedom",
        Dh.T,
        Dh,
        "[002 (3.13); 003 sec. 6]",
        (Condition.ONE_DOF,),
        meaning="of one number the root needs no star, so the papers write none",
    ),
    Equation(
        "kinetic energy of residuals",
        (Dh.T @ F.T @ beta).T @ Dh.T @ F.T @ beta,
        beta.T @ Mass @ beta,
        "[003 sec. 6]",
        meaning="nu = D^1/2 (I + H phi K)* beta makes twice the kinetic energy nu* nu",
        derived=True,
    ),
    Equation(
        "power of innovations",
        (Dh.T @ F.T @ beta).T @ Dh.inv @ W @ T,
        beta.T @ T,
        "[003 sec. 6]",
        meaning="eps = D^-1/2 (I - H psi K) T carries the power nu* eps = beta* T",
        printed="eps = D^-1/2 (I - H phi K) T",
        derived=True,
    ),
]
