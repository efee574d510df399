"""The letters of the papers, as model-independent symbols.

    from phipsi.operators import H, phi, M
    Mass = H @ phi @ M @ phi.T @ H.T

Each letter is either primitive (its blocks come from the machine) or defined by a formula in
terms of others; `symbol.definition` shows it. Free letters get their value at evaluation. All
that is known of a letter is told in the call that makes it: what it maps, its matrix, its
statements, what it means, how it is written, what it costs; `alphabet.Letter` says what each
fact is. Matrices and statements are functions of the object that asks for them, `m` or `low`, so
that no array library and no program is imported here. One file for each topic, in the order in
which they build on each other:

    machine         axes, inertias and rotors of single bodies and joints
    propagation     from body to body
    points          points on bodies; poses
    inertias        the mass matrix, composite inertias
    articulated     bodies with free joints
    sensitivities   of joints
    vectors         operators made of vectors; motions and forces

`docs/notation.md` has the table with every author's letter. Where the papers clash, the choice is
noted here:

    R  composite inertia; r in [001], [004]
    J  the Jacobian; the papers' rotational inertia is never a symbol
    K  E_phi G; [004] has L = phi G and S L = K
    S  the shift; S[x] is the force cross product of [000 (2.7)]
    C  the whole bias, gravity included [001 (23) with 004-I (3.21)]
    Y  Upsilon of [002 (A.3)], corrected for trees
    U  potential energy; in Featherstone and Pinocchio P H*
    X  turns axes, without a lever; Featherstone's X is our phi
"""

# Letters are entered, and listed everywhere, in this order.
# isort: off
from phipsi.algebra.alphabet import PAPERS
from phipsi.algebra.operators.machine import H, H_dot, I, Jm, M, S_q
from phipsi.algebra.operators.propagation import Delta_phi, E, E_phi, S, phi, phi_tilde
from phipsi.algebra.operators.points import B, J, X, pose
from phipsi.algebra.operators.inertias import Mass, R
from phipsi.algebra.operators.articulated import (
    D,
    E_psi,
    G,
    K,
    Omega,
    P,
    Y,
    psi,
    psi_tilde,
    tau,
    tau_bar,
)
from phipsi.algebra.operators.sensitivities import HH, Gamma_delta, HH_delta, HH_s
from phipsi.algebra.operators.vectors import (
    C,
    Q,
    T,
    U,
    V,
    a,
    alpha,
    b,
    beta,
    beta_dot,
    blockdiag,
    c,
    cross,
    f,
    f0,
    gravity,
)
from phipsi.algebra.own import operator, scalar, space, vector

LETTERS = PAPERS.letters

__all__ = [
    "HH",
    "LETTERS",
    "B",
    "C",
    "D",
    "Delta_phi",
    "E",
    "E_phi",
    "E_psi",
    "G",
    "Gamma_delta",
    "H",
    "HH_delta",
    "HH_s",
    "H_dot",
    "I",
    "J",
    "Jm",
    "K",
    "M",
    "Mass",
    "Omega",
    "P",
    "Q",
    "R",
    "S",
    "S_q",
    "T",
    "U",
    "V",
    "X",
    "Y",
    "a",
    "alpha",
    "b",
    "beta",
    "beta_dot",
    "blockdiag",
    "c",
    "cross",
    "f",
    "f0",
    "gravity",
    "operator",
    "phi",
    "phi_tilde",
    "pose",
    "psi",
    "psi_tilde",
    "scalar",
    "space",
    "tau",
    "tau_bar",
    "vector",
]
