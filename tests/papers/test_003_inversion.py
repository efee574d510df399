"""[003] section 4 and appendix: the mass matrix factored and inverted, lemmas 1 to 5.

The paper's letters, and where its results hold, are in `paper_003.py`.
"""

import numpy as np
import pytest
from equations import MARGIN, TOLERANCE, a_g, diagonal, relative_difference
from paper_003 import W
from recursions import equations_of_motion, forward_dynamics, products, riccati, smooth, whiten

import phipsi as pp
from phipsi.model.tree import WORLD
from phipsi.operators import (
    B,
    C,
    D,
    E_phi,
    E_psi,
    G,
    H,
    I,
    J,
    K,
    M,
    P,
    T,
    b,
    f0,
    phi,
    phi_tilde,
    psi,
    tau_bar,
    vector,
)

# -- 4. inversion of the mass matrix ---------------------------------------------------


def test_equation_8_riccati_equation(rotorless):
    """(8), (9): P(1) = M(1), P(k) = psi P(k-1) psi* + M(k); D = H P H*, G = P H* D^-1.

    psi(k,k-1) = phi(k,k-1) [I - G H]. Domain: no rotor inertia; on trees P sums over children.
    """
    s, loop = rotorless, riccati(rotorless, printed=True)
    assert s.mismatch(P, diagonal(s.model, loop.P)) < TOLERANCE
    assert s.mismatch(D, diagonal(s.model, loop.D, "joint", "joint")) < TOLERANCE
    assert s.mismatch(G, diagonal(s.model, loop.G, "body", "joint")) < TOLERANCE
    assert s.mismatch(psi, products(s, loop.psi)) < TOLERANCE


def test_equation_8_fails_with_rotor_inertia(geared):
    """(8) with D = H P H* + Jm is wrong: P gains phi (tau_bar P) phi* of a child then.

    psi P psi* leaves out phi G Jm G* phi*, and Lemma 3 fails on it.
    """
    s, wrong, right = geared, riccati(geared, printed=True), riccati(geared)
    assert s.mismatch(P, diagonal(s.model, wrong.P)) > MARGIN
    assert s.mismatch(P, diagonal(s.model, right.P)) < TOLERANCE
    inverse = np.linalg.inv(equations_of_motion(s)[0])
    for loop, holds in ((right, True), (wrong, False)):
        K_ = s.value(E_phi) @ diagonal(s.model, loop.G, "body", "joint")
        W_ = np.eye(s.model.nv) - s.value(H) @ products(s, loop.psi) @ K_
        D_inv = np.linalg.inv(diagonal(s.model, loop.D, "joint", "joint"))
        difference = s.mismatch(W_.T @ D_inv @ W_, inverse)
        assert difference < TOLERANCE if holds else difference > MARGIN


def test_definitions_of_shifted_operators(s):
    """Before (8): E_phi has phi(k,k-1), K has K(k,k-1) = phi(k,k-1) G(k-1) below the diagonal.

    On trees in block (p(k), k).
    """
    loop = riccati(s)
    E_, K_ = np.zeros_like(s.value(E_phi)), np.zeros_like(s.value(K))
    for k, p in s.outward:
        if p != WORLD:
            E_[6 * p : 6 * p + 6, 6 * k : 6 * k + 6] = s.phi[k]
            K_[6 * p : 6 * p + 6, s.model.joints[k].rows] = s.phi[k] @ loop.G[k]
    assert s.mismatch(E_phi, E_, scale=1.0) < TOLERANCE
    assert s.mismatch(K, K_, scale=1.0) < TOLERANCE


def test_equation_10_one_step_of_psi(s):
    """(10): E_psi = E_phi (I - G H) = E_phi - K H; E_psi has psi(k,k-1) below the diagonal."""
    loop = riccati(s)
    E_ = np.zeros_like(s.value(E_psi))
    for k, p in s.outward:
        if p != WORLD:
            E_[6 * p : 6 * p + 6, 6 * k : 6 * k + 6] = loop.psi[k]
    for side in (E_psi, E_phi @ (I - G @ H), E_phi - K @ H):
        assert s.mismatch(side, E_, scale=1.0) < TOLERANCE


def test_psi_is_a_recursion_from_tip_to_base(s):
    """After (10): z = psi y is z(k) = psi(k,k-1) z(k-1) + y(k)."""
    y, loop = np.random.default_rng(3).normal(size=(len(s.model.bodies), 6)), riccati(s)
    z = {}
    for k, children in s.inward:
        z[k] = y[k] + sum(loop.psi[c] @ z[c] for c in children)
    z = [z[k] for k in s.model.tree.base_to_tip]
    result = pp.as_matrix(s.model, psi @ vector("y", "body"), s.q, axes="world", y=y.ravel())
    assert s.mismatch(result, z) < TOLERANCE


@pytest.mark.parametrize("axes", ["link", "world"])
def test_lemma_1_innovations_factorization(s, axes):
    """Lemma 1, (11): Mass = (I + H phi K) D (I + H phi K)*."""
    factor = I + H @ phi @ K
    assert s.mismatch(factor @ D @ factor.T, equations_of_motion(s)[0], axes) < TOLERANCE


def test_innovations_representation_is_a_recursion(s):
    """After (11): y = (I + H phi K) eps is z = phi z + K eps(k-1), y = H z + eps."""
    loop, eps, z, y = riccati(s), s.T, {}, []
    for k, children in s.inward:
        z[k] = np.zeros(6)
        for c in children:
            z[k] = z[k] + s.phi[c] @ z[c] + s.phi[c] @ loop.G[c] @ s.speeds(c, eps)
        y.append(s.H[k] @ z[k] + s.speeds(k, eps))
    assert s.mismatch((I + H @ phi @ K) @ T, y[::-1]) < TOLERANCE


@pytest.mark.parametrize("axes", ["link", "world"])
def test_lemma_2_causal_inverse(s, axes):
    """Lemma 2, (12): (I + H phi K)^-1 = I - H psi K."""
    assert s.mismatch((I + H @ phi @ K).inv, I - H @ psi @ K, axes) < TOLERANCE


def test_whitening_filter_is_a_recursion(s):
    """After (12): eps = (I - H psi K) y is z = psi z + K y(k-1), eps = -H z + y."""
    _, eps = whiten(s, riccati(s), s.T)
    assert s.mismatch((I - H @ psi @ K) @ T, eps) < TOLERANCE


@pytest.mark.parametrize("axes", ["link", "world"])
def test_lemma_3_inverse_of_the_mass_matrix(s, axes):
    """Lemma 3, (13): Mass^-1 = (I - H psi K)* D^-1 (I - H psi K)."""
    inverse = np.linalg.inv(equations_of_motion(s)[0])
    assert s.mismatch(W.T @ D.inv @ W, inverse, axes) < TOLERANCE


@pytest.mark.parametrize("axes", ["link", "world"])
def test_equations_14_and_15_forward_dynamics(s, axes):
    """(14), (15): T' = T - H phi [M phi* a + b + B f(0)], theta_ddot = W* D^-1 W T'.

    W = I - H psi K. Witness: the dense solution of the loops' equations of motion.
    """
    T_ = T - H @ phi @ (M @ phi.T @ a_g + b + B @ f0)
    assert s.mismatch(W.T @ D.inv @ W @ T_, forward_dynamics(s), axes) < TOLERANCE


def test_recursion_of_forward_dynamics(s):
    """After (15): z, eps, nu = D^-1 eps inward; lambda = psi* lambda + H* nu outward.

    theta_ddot(k) = nu(k) - K*(k+1,k) lambda(k+1), where lambda(k+1,k) is printed.
    """
    loop = riccati(s)
    nu, _ = whiten(s, loop, s.value(T - C - J.T @ f0))
    assert s.mismatch(smooth(s, loop, nu)[0], forward_dynamics(s)) < TOLERANCE


# -- appendix --------------------------------------------------------------------------


@pytest.mark.parametrize("axes", ["link", "world"])
def test_lemma_5_difference_of_inverses(s, axes):
    """Lemma 5: psi^-1 = phi^-1 + K H; also with psi and phi made as products of their steps."""
    assert s.mismatch(psi.inv, phi.inv + K @ H, axes) < TOLERANCE
    psi_, phi_ = products(s, riccati(s).psi), products(s, s.phi)
    left, right = np.linalg.inv(psi_), np.linalg.inv(phi_) + s.value(K @ H)
    assert relative_difference(left, right) < TOLERANCE


def test_proof_of_lemma_1(s):
    """Proof of Lemma 1: M = P - E_phi P E_phi* + K D K*, and its image under phi.

    phi M phi* = P + phi_tilde P + P phi_tilde* + phi K D K* phi*. Holds with rotor inertia.
    """
    assert s.mismatch(M, P - E_phi @ P @ E_phi.T + K @ D @ K.T) < TOLERANCE
    right = P + phi_tilde @ P + P @ phi_tilde.T + phi @ K @ D @ K.T @ phi.T
    assert s.mismatch(phi @ M @ phi.T, right) < TOLERANCE


def test_proof_of_lemma_1_articulated_form(rotorless):
    """Proof of Lemma 1: M = P - E_psi P E_psi*, tau_bar P tau_bar* = tau_bar P.

    Domain: no rotor inertia.
    """
    s = rotorless
    assert s.mismatch(M, P - E_psi @ P @ E_psi.T) < TOLERANCE
    assert s.mismatch(tau_bar @ P @ tau_bar.T, tau_bar @ P, scale=1.0) < TOLERANCE


def test_proof_of_lemma_1_articulated_form_fails_with_rotor_inertia(geared):
    """With Jm, M = P - E_psi P E_phi* in place of P - E_psi P E_psi*."""
    s = geared
    assert s.mismatch(M, P - E_psi @ P @ E_psi.T) > MARGIN
    assert s.mismatch(M, P - E_psi @ P @ E_phi.T) < TOLERANCE


def test_proof_of_lemma_2(s):
    """Proof of Lemma 2: (I + H phi K)^-1 = I - H phi (I + K H phi)^-1 K.

    I + K H phi = psi^-1 phi.
    """
    left = (I + H @ phi @ K).inv
    assert s.mismatch(left, I - H @ phi @ (I + K @ H @ phi).inv @ K) < TOLERANCE
    assert s.mismatch(I + K @ H @ phi, psi.inv @ phi) < TOLERANCE


def test_proof_of_lemma_4(s):
    """Proof of Lemma 4: (I - psi K H) = psi phi^-1."""
    assert s.mismatch(I - psi @ K @ H, psi @ phi.inv) < TOLERANCE
