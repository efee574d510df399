"""[004-I] appendix A: the operator identities.

The paper's letters, and where its results hold, are in `paper_004.py`.
"""

import itertools

import numpy as np
import pytest
from cases import AXES, ROTORS, on, psi_by_products, state
from equations import (
    MARGIN,
    TOLERANCE,
    block,
    diagonal,
    mismatch,
    phi_by_products,
    random_blocks,
    relative_difference,
)
from paper_004 import SMALL, L, Phi, Psi, discrete_riccati, shifted, strictly_causal

import phipsi as pp
from phipsi.algebra.node import Node
from phipsi.model.tree import WORLD
from phipsi.operators import (
    D,
    Delta_phi,
    E_phi,
    G,
    H,
    I,
    M,
    P,
    R,
    S,
    operator,
    phi,
    phi_tilde,
    psi,
    psi_tilde,
)

# -- appendix A: operator identities ---------------------------------------------------

Delta_psi = Delta_phi @ (I - G @ H)

# (number, left, right). A side may be an expression, or a function of the machine
# that builds the operator block by block. Numbers in brackets are lost in the scan.
IDENTITIES = [
    (
        "a.1",
        lambda m, q, x: diagonal(m, discrete_riccati(m, q, x)[1], "joint", "joint"),
        H @ P @ H.T,
    ),
    (
        "a.2",
        lambda m, q, x: diagonal(m, discrete_riccati(m, q, x)[2], "body", "joint"),
        P @ H.T @ D.inv,
    ),
    ("a.3", lambda m, q, x: strictly_causal(m, phi_by_products(m, q, x)), phi - I),
    ("[a.4]", lambda m, q, x: strictly_causal(m, psi_by_products(m, q, x)), psi - I),
    ("[a.5]", E_phi, S @ Delta_phi),
    ("[a.6]", lambda m, q, x: shifted(m, q, phi_by_products(m, q, x), x), phi @ S),
    ("[a.7]", lambda m, q, x: shifted(m, q, psi_by_products(m, q, x), x), psi @ S),
    ("[a.8]", psi_tilde, Psi @ Delta_psi),
    ("[a.9]", phi_tilde, Phi @ Delta_phi),
    ("[a.10]", psi, I + psi @ S @ Delta_psi),
    ("[a.10] inward", psi, I + S @ Delta_psi @ psi),
    ("[a.11]", phi, I + phi @ S @ Delta_phi),
    ("[a.11] inward", phi, I + S @ Delta_phi @ phi),
    (
        "[a.12]",
        lambda m, q, x: diagonal(m, discrete_riccati(m, q, x)[3], "body", "joint"),
        Delta_phi @ G,
    ),
    ("a.13", Phi @ L, phi_tilde @ G),
    # Identities A.2
    ("a.14", phi, psi @ (I + S @ L @ H @ phi)),
    ("a.15", psi, (I - Psi @ L @ H) @ phi),
    ("a.16", Phi, Psi @ (I + L @ H @ Phi)),
    ("a.17", Psi, (I - Psi @ L @ H) @ Phi),
    ("a.18", phi - psi, Psi @ L @ H @ phi),
    # Identities A.3
    ("a.22", phi, (I + Phi @ L @ H) @ psi),
    ("[a.23]", psi, phi @ (I - S @ L @ H @ psi)),
    ("a.24", Phi, (I + Phi @ L @ H) @ Psi),
    ("a.25", Psi, Phi @ (I - L @ H @ Psi)),
    ("a.26", Phi @ L @ H @ psi, Psi @ L @ H @ phi),
    ("a.27", Phi @ L @ H @ Psi, Psi @ L @ H @ Phi),
    ("a.28", phi - psi, Phi @ L @ H @ psi),
    # Identities A.4
    ("a.32", H @ phi, (I + H @ Phi @ L) @ H @ psi),
    ("a.33", H @ Phi, (I + H @ Phi @ L) @ H @ Psi),
    ("a.34", H @ Psi, H @ Phi @ (I - L @ H @ Psi)),
    ("a.35", H @ psi, (I - H @ Psi @ L) @ H @ phi),
    ("a.36", H @ Psi, (I - H @ Psi @ L) @ H @ Phi),
    ("a.37", H @ Phi, H @ Psi @ (I + L @ H @ Phi)),
    ("a.38", H @ Phi @ L @ H @ Psi, H @ Psi @ L @ H @ Phi),
    ("a.39", Phi @ L, Psi @ L @ (I + H @ Phi @ L)),
    ("a.40", Psi @ L, (I - Psi @ L @ H) @ Phi @ L),
    ("a.41", Psi @ L, Phi @ L @ (I - H @ Psi @ L)),
    ("a.42", Phi @ L, (I + Phi @ L @ H) @ Psi @ L),
    ("a.43", Psi @ L @ H @ Phi @ L, Phi @ L @ H @ Psi @ L),
    # Identities A.5 to A.7
    ("a.46", psi @ M @ phi.T, P + psi_tilde @ P + P @ phi_tilde.T),
    ("a.47", psi @ M @ psi.T, P + psi_tilde @ P + P @ psi_tilde.T),
    (
        "a.48",
        phi @ M @ phi.T,
        P + phi_tilde @ P + P @ phi_tilde.T + phi_tilde @ P @ H.T @ D.inv @ H @ P @ phi_tilde.T,
    ),
    ("a.49", P, E_phi @ P @ E_phi.T + M - E_phi @ P @ H.T @ D.inv @ H @ P @ E_phi.T),
    (
        "a.49 second",
        phi @ (M - E_phi @ P @ H.T @ D.inv @ H @ P @ E_phi.T) @ phi.T,
        P + phi_tilde @ P + P @ phi_tilde.T,
    ),
    (
        "a.50",
        (I - H @ Psi @ L).T @ D.inv @ H @ psi @ M @ phi.T,
        (I - H @ Psi @ L).T @ D.inv @ H @ psi_tilde @ P + L.T @ Psi.T @ (I - G @ H).T + G.T,
    ),
    (
        "a.51",
        (I - H @ Psi @ L).T @ D.inv @ H @ P + (I - H @ Psi @ L).T @ D.inv @ H @ P @ phi_tilde.T,
        L.T @ Psi.T @ (I - G @ H).T + G.T,
    ),
]

# The proof of (a.47) uses (I - G H) P H* = 0, which asks for D = H P H*; with rotors D has Jm too.
WITHOUT_ROTORS = ("a.1", "a.47")


@on(*SMALL)
@AXES
@pytest.mark.parametrize(
    ("number", "left", "right"), IDENTITIES, ids=[number for number, _, _ in IDENTITIES]
)
def test_operator_identities_of_appendix_A(number, left, right, machine, axes):
    """(a.1)-(a.18), (a.22)-(a.28), (a.32)-(a.43), (a.46)-(a.51), as typed in IDENTITIES.

    Serial chains as printed; trees and forests, multi-dof joints and rotors
    too, but for D = H P H* (a.1) and psi M psi* (a.47), which fail with rotor inertia.
    """
    model, q, _, _ = state(machine)
    sides = [x if isinstance(x, Node) else x(model, q, axes) for x in (left, right)]
    difference = mismatch(model, *sides, q, axes=axes)
    if number in WITHOUT_ROTORS and machine in ROTORS:
        assert difference > MARGIN
    else:
        assert difference < TOLERANCE


@on(*SMALL)
@AXES
def test_a_19_to_a_21_and_a_29_to_a_31_telescoping_sums(machine, axes):
    """(a.19)-(a.21): sum_i [psi(k,i+1) phi(i+1,m) - psi(k,i) phi(i,m)] over i from m to k-1
    = phi(k,m) - psi(k,m) = sum_i psi(k,i+1) L(i) H(i) phi(i,m); (a.29)-(a.31): the same
    with psi and phi exchanged = psi(k,m) - phi(k,m) = -sum_i phi(k,i+1) L(i) H(i) psi(i,m).

    i runs over the path from m inward to k, k left out: any tree.
    """
    model, q, _, _ = state(machine)
    forms = phi_by_products(model, q, axes), psi_by_products(model, q, axes)
    step = pp.as_matrix(model, E_phi @ G @ H, q, axes=axes)  # L(i) H(i) at (i+1, i)
    parent = model.tree.parent
    for m in range(len(parent)):
        for k in model.tree.path(parent[m]):
            steps = list(itertools.takewhile(lambda i, k=k: i != k, model.tree.path(m)))
            for left, right, sign in ((forms[1], forms[0], 1.0), (forms[0], forms[1], -1.0)):
                telescoped, summed = np.zeros((6, 6)), np.zeros((6, 6))
                for i in steps:
                    p = parent[i]
                    telescoped += left[k, p] @ right[p, m] - left[k, i] @ right[i, m]
                    summed += left[k, p] @ block(model, step, p, i) @ right[i, m]
                difference = forms[0][k, m] - forms[1][k, m]
                assert relative_difference(sign * telescoped, difference) < TOLERANCE
                assert relative_difference(summed, difference) < TOLERANCE


@on(*SMALL)
@AXES
def test_lemma_A_1_product_of_two_semigroups(machine, axes):
    """LEMMA A.1 (a.44), (a.45): r(k+1) = psi(k+1,k) r(k) phi*(k+1,k) + M(k+1) gives
    psi M phi* = r + psi~ r + r phi~*, for any two operators with the semigroup property.

    Here two random ones: blocks phi(p,k) W(k) and phi(p,k) Z(k) with any W, Z.
    On trees r sums over children, and bodies on different limbs have no block.
    """
    model, q, _, _ = state(machine)
    rng = np.random.default_rng(10)
    given = {name: random_blocks(model, rng) for name in "WZ"}
    W, Z, r = (operator(name, "body", "body") for name in "WZr")
    step = pp.as_matrix(model, E_phi, q, axes=axes)
    M_ = pp.as_matrix(model, M, q, axes=axes)
    r_ = [block(model, M_, k, k) for k in range(len(model.bodies))]
    for k in model.tree.tip_to_base:
        p = model.tree.parent[k]
        if p != WORLD:
            carry = block(model, step, p, k)
            r_[p] = r_[p] + carry @ given["W"][k] @ r_[k] @ given["Z"][k].T @ carry.T
    left, right = (I - E_phi @ W).inv, (I - E_phi @ Z).inv
    decomposed = r + (left - I) @ r + r @ (right - I).T
    at = {"axes": axes, **given}
    assert mismatch(model, left @ M @ right.T, decomposed, q, r=r_, **at) < TOLERANCE
    assert mismatch(model, left @ M @ left.T, decomposed, q, r=r_, **at) > MARGIN  # not any r


@on(*SMALL)
@AXES
def test_corollary_A_1_one_semigroup(machine, axes):
    """COROLLARY A.1: LEMMA A.1 with psi = phi: r is the composite inertia R, and
    phi M phi* = R + phi~ R + R phi~*. Any machine.

    R from its meaning: the inertias of all outboard bodies, each moved by the
    product phi(k,i) of its path.
    """
    model, q, _, _ = state(machine)
    products, M_ = phi_by_products(model, q, axes), pp.as_matrix(model, M, q, axes=axes)

    def composite(k):
        outboard = range(k, model.tree.end[k])
        return sum(products[k, i] @ block(model, M_, i, i) @ products[k, i].T for i in outboard)

    assert mismatch(model, R, diagonal(model, composite), q, axes=axes) < TOLERANCE
    right = R + phi_tilde @ R + R @ phi_tilde.T
    assert mismatch(model, phi @ M @ phi.T, right, q, axes=axes) < TOLERANCE
