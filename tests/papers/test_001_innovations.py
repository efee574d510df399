"""[001] section VI: the innovations factorization of the mass matrix and its inverse.

The paper's letters, and where its results hold, are in `paper_001.py`.
"""

import numpy as np
import pytest
from classical import phi_of
from equations import MARGIN, TOLERANCE, assemble, block, diagonal, relative_difference
from paper_001 import Phi, Psi
from recursions import EVERY, equations_of_motion, products, riccati, state_of

from phipsi.operators import D, G, H, I, Jm, M, Mass, P, R, phi, psi, psi_tilde, tau_bar

# -- VI. innovations factorization -----------------------------------------------------


def test_equations_34_to_37_riccati_equation(rotorless):
    """(34)-(37): P(k) = psi P(k-1) psi* + M(k), D = H P H*, G = P H* D^-1.

    Domain: no rotor inertia; on trees P sums over the children.
    """
    s, loop = rotorless, riccati(rotorless, printed=True)
    assert s.mismatch(P, diagonal(s.model, loop.P)) < TOLERANCE
    assert s.mismatch(D, diagonal(s.model, loop.D, "joint", "joint")) < TOLERANCE
    assert s.mismatch(G, diagonal(s.model, loop.G, "body", "joint")) < TOLERANCE


def test_riccati_equation_with_rotor_inertia(geared):
    """With Jm in D, P gains phi (tau_bar P) phi* of a child; (35)'s psi P psi* is wrong then.

    tau_bar P = tau_bar P tau_bar* + G Jm G*. The wrong P gives a mass matrix
    (I + H Phi G) D (I + H Phi G)* that is not the machine's.
    """
    s, loop = geared, riccati(geared)
    assert s.mismatch(P, diagonal(s.model, loop.P)) < TOLERANCE
    assert s.mismatch(D, diagonal(s.model, loop.D, "joint", "joint")) < TOLERANCE
    assert s.mismatch(tau_bar @ P, tau_bar @ P @ tau_bar.T + G @ Jm @ G.T) < TOLERANCE

    wrong = riccati(s, printed=True)
    assert s.mismatch(P, diagonal(s.model, wrong.P)) > MARGIN
    D_wrong = diagonal(s.model, wrong.D, "joint", "joint")
    factor = np.eye(len(D_wrong)) + s.value(H @ Phi) @ diagonal(s.model, wrong.G, "body", "joint")
    assert s.mismatch(Mass, factor @ D_wrong @ factor.T) > MARGIN


def test_articulated_inertia_is_symmetric_and_positive():
    """After (36): P(k) = P*(k) > 0, D(k) > 0.

    Domain: bodies with mass. On a massless body P is singular along the outboard
    joint, P >= 0, unless that joint has a rotor, as on the Puma; D stays positive.
    """
    for name in EVERY:
        s = state_of(name)
        assert s.mismatch(P, P.T) < TOLERANCE
        assert np.linalg.eigvalsh(s.value(D)).min() > 0.0
        smallest, largest = np.linalg.eigvalsh(s.value(P))[[0, -1]]
        if name == "massless_intermediates":
            assert abs(smallest) < 1e-12 * largest
        else:
            assert smallest > 1e-8 * largest


@pytest.mark.parametrize("axes", ["link", "world"])
def test_equations_38_to_40_kalman_transition_matrix(s, axes):
    """(38)-(40): psi(k,k) = 1, psi(k,k-1) = phi(k,k-1) [1 - G H], psi(i,j) their product.

    These are the blocks of the operator psi = (I - E_psi)^-1.
    """
    matrix = products(s, riccati(s).psi)
    if axes == "link":
        turn = diagonal(s.model, [np.kron(np.eye(2), R_k) for R_k, _ in s.poses])
        matrix = turn.T @ matrix @ turn
    assert s.mismatch(psi, matrix, axes) < TOLERANCE


def test_equation_41_kalman_filter_operator(s):
    """(41): Psi has the blocks psi(i,j+1) phi(j+1,j) below the diagonal: Psi = psi E_phi.

    After it: Psi (I - G H) is the operator 'psi' of the paper's [11], psi - I.
    """
    loop, tree = riccati(s), s.model.tree
    Psi_printed = np.zeros((6 * len(tree), 6 * len(tree)))
    for j, p in s.outward:
        column = s.phi[j]  # phi(2,1)
        for inner in tree.path(p):
            Psi_printed[6 * inner : 6 * inner + 6, 6 * j : 6 * j + 6] = column
            column = loop.psi[inner] @ column  # psi(3,2) phi(2,1)
    assert s.mismatch(Psi, Psi_printed, scale=1.0) < TOLERANCE
    tilde = products(s, loop.psi) - np.eye(6 * len(tree))
    assert s.mismatch(Psi @ (I - G @ H), tilde, scale=1.0) < TOLERANCE
    assert s.mismatch(psi_tilde, tilde, scale=1.0) < TOLERANCE


def test_identity_2_composite_from_articulated_inertia(s):
    """Identity 2, (42): phi M phi* = P + Phi P + P Phi* + Phi P H* D^-1 H P Phi*.

    Holds with rotor inertia too.
    """
    right = P + Phi @ P + P @ Phi.T + Phi @ P @ H.T @ D.inv @ H @ P @ Phi.T
    assert s.mismatch(phi @ M @ phi.T, right) < TOLERANCE


def test_proof_of_identity_2(s):
    """Proof of Identity 2: r = P + q, Phi P H* D^-1 H P Phi* = q + Phi q + q Phi*.

    q(k) = sum_{i strictly outboard of k} phi(k,i) P H* D^-1 H P (i) phi*(k,i).
    """
    loop, q = riccati(s), []
    for k in s.model.tree.base_to_tip:
        q_k = np.zeros((6, 6))
        for i in range(k + 1, s.model.tree.end[k]):
            carried = phi_of(s.arm(k, i)) @ loop.P[i] @ s.H[i].T
            q_k += carried @ np.linalg.inv(loop.D[i]) @ carried.T
        q.append(q_k)
    q = diagonal(s.model, q)
    assert s.mismatch(R, s.value(P) + q) < TOLERANCE
    Phi_ = s.value(Phi)
    left = Phi @ P @ H.T @ D.inv @ H @ P @ Phi.T
    assert s.mismatch(left, q + Phi_ @ q + q @ Phi_.T, scale=1.0) < TOLERANCE


def test_articulated_inertia_passes_a_free_joint_as_a_projection(rotorless):
    """Proof of Identity 2: [1 - G H] P [1 - G H]* = [1 - G H] P, and (1 - G H) is a projection.

    Domain: no rotor inertia.
    """
    s = rotorless
    assert s.mismatch(tau_bar @ P @ tau_bar.T, tau_bar @ P, scale=1.0) < TOLERANCE
    assert s.mismatch(tau_bar @ tau_bar, tau_bar, scale=1.0) < TOLERANCE


def test_rotor_inertia_makes_a_joint_no_projection(geared):
    """With Jm neither (1 - G H) P (1 - G H)* = (1 - G H) P nor (1 - G H)^2 = 1 - G H."""
    s = geared
    assert s.mismatch(tau_bar @ P @ tau_bar.T, tau_bar @ P) > MARGIN
    assert s.mismatch(tau_bar @ tau_bar, tau_bar) > MARGIN


def test_identity_3_innovations_factorization(s):
    """Identity 3, (43): Mass = (I + H Phi G) D (I + H Phi G)*, the factor triangular.

    Triangular by blocks along the tree: joint i feels joint k only if inboard of it.
    """
    factor = I + H @ Phi @ G
    assert s.mismatch(factor @ D @ factor.T, equations_of_motion(s)[0]) < TOLERANCE
    matrix = s.value(factor)
    for i in s.model.tree.base_to_tip:
        for k in s.model.tree.base_to_tip:
            part = block(s.model, matrix, i, k, "joint", "joint")
            if i == k:
                assert relative_difference(part, np.eye(len(part))) < TOLERANCE
            elif not s.model.tree.is_inboard(i, k):
                assert not part.any()


def test_section_1b_innovations_factor_is_printed_with_the_wrong_operator(deep_rotorless):
    """Sec. I.B prints Mass = (I + H Psi G) D (I + H Psi G)*; Psi should be Phi.

    Psi and Phi agree as far as two bodies in a row: shown on more.
    """
    s, Mass_ = deep_rotorless, equations_of_motion(deep_rotorless)[0]
    printed, correct = I + H @ Psi @ G, I + H @ Phi @ G
    assert s.mismatch(printed @ D @ printed.T, Mass_) > MARGIN
    assert s.mismatch(correct @ D @ correct.T, Mass_) < TOLERANCE


def test_identity_4_relation_of_psi_and_phi(s):
    """Identity 4, (44): (I - Psi G H) Phi = Psi."""
    assert s.mismatch((I - Psi @ G @ H) @ Phi, Psi, scale=1.0) < TOLERANCE


def test_proof_of_identity_4(s):
    """Proof of Identity 4: phi(k,m) - psi(k,m) = sum_i psi(k,i+1) phi(i+1,i) G(i) H(i) phi(i,m).

    Over i from m inward to the child of k.
    """
    loop, tree = riccati(s), s.model.tree
    psi_ = products(s, loop.psi)

    def term(i, k, m):
        after = block(s.model, psi_, k, tree.parent[i])
        return after @ s.phi[i] @ loop.G[i] @ s.H[i] @ phi_of(s.arm(i, m))

    def difference(k, m):
        path = [i for i in tree.path(m) if k != i and tree.is_inboard(k, i)]
        return sum((term(i, k, m) for i in path), np.zeros((6, 6)))

    matrix = assemble(s.model, lambda k, m: difference(k, m) if tree.is_inboard(k, m) else None)
    assert s.mismatch(phi - psi, matrix, scale=1.0) < TOLERANCE


def test_identity_5_mutually_reciprocal_factors(s):
    """Identity 5, (45): (I + H Phi G)^-1 = I - H Psi G."""
    assert s.mismatch((I + H @ Phi @ G).inv, I - H @ Psi @ G) < TOLERANCE


@pytest.mark.parametrize("axes", ["link", "world"])
def test_identity_6_inverse_of_the_mass_matrix(s, axes):
    """Identity 6, (46): Mass^-1 = (I - H Psi G)* D^-1 (I - H Psi G)."""
    factor = I - H @ Psi @ G
    inverse = np.linalg.inv(equations_of_motion(s)[0])
    assert s.mismatch(factor.T @ D.inv @ factor, inverse, axes) < TOLERANCE
