"""[004-I] section 4: the mass matrix factored and inverted by a Kalman filter.

The paper's letters, and where its results hold, are in `paper_004.py`.
"""

import numpy as np
from cases import ALL, AXES, on, psi_by_products, state
from classical import motions
from equations import (
    MARGIN,
    TOLERANCE,
    block,
    by_joint,
    diagonal,
    mismatch,
    phi_by_products,
    relative_difference,
    value,
)
from paper_004 import L, Phi, Psi, Sweeps, discrete_riccati, shifted

import phipsi as pp
from phipsi.model.tree import WORLD
from phipsi.operators import D, G, H, I, Jm, K, M, Mass, P, S, operator, phi, phi_tilde, vector

# -- section 4: factorization ----------------------------------------------------------


@on(*ALL)
@AXES
def test_4_4_riccati_recursion(machine, axes):
    """(4.4)-(4.8): P, D, L by the discrete Riccati recursion, tip to base; S L = K.

    P > 0 and D > 0. Any machine without massless tips.
    """
    model, q, _, _ = state(machine)
    P_, D_, _, L_ = discrete_riccati(model, q, axes)
    assert mismatch(model, P, diagonal(model, P_), q, axes=axes) < TOLERANCE
    assert mismatch(model, D, diagonal(model, D_, "joint", "joint"), q, axes=axes) < TOLERANCE
    assert mismatch(model, L, diagonal(model, L_, "body", "joint"), q, axes=axes) < TOLERANCE
    assert mismatch(model, S @ L, K, q, axes=axes) < TOLERANCE
    assert all(np.linalg.eigvalsh(x)[0] > 0.0 for x in D_)
    assert machine == "puma560" or all(np.linalg.eigvalsh(x)[0] > 0.0 for x in P_)


@on("serial_revolute", "serial_revolute_prismatic")
def test_4_4_gain_of_the_tip_divides_by_D(machine):
    """(4.4): L(1) = phi(2,1) P(1) H*(1) D^-1(1). Printed with D(1) instead of D^-1(1), with
    which FACT 4.1 fails. Serial chains."""
    model, q, _, _ = state(machine)
    _, D_, _, L_ = discrete_riccati(model, q)
    Z = operator("Z", "joint", "body")
    factorization = (I + H @ Phi @ Z) @ D @ (I + H @ Phi @ Z).T
    assert mismatch(model, Mass, factorization, q, Z=L_) < TOLERANCE
    L_[-1] = L_[-1] @ D_[-1] @ D_[-1]  # as printed: times D where it should be divided by it
    assert mismatch(model, Mass, factorization, q, Z=L_) > MARGIN


@on(*ALL)
@AXES
def test_4_9_strictly_causal_operators(machine, axes):
    """(4.9), (4.10), (5.2), (5.3): Phi = phi S and Psi = psi S have the blocks phi(i,k+1) and
    psi(i,k+1) for i inboard of k: strictly causal, with the identity next to the diagonal.

    In link axes this identity is the turn diag(R,R) from k to its parent; L(k)
    lands in the parent's axes by it. Any machine.
    """
    model, q, v, _ = state(machine)
    moving = motions(model, q, v)
    phi_products, psi_products = (
        phi_by_products(model, q, axes),
        psi_by_products(model, q, axes),
    )
    assert mismatch(model, Phi, shifted(model, q, phi_products, axes), q, axes=axes) < TOLERANCE
    assert mismatch(model, Psi, shifted(model, q, psi_products, axes), q, axes=axes) < TOLERANCE
    for operator_ in (Phi, Psi):
        dense = pp.as_matrix(model, operator_, q, axes=axes)
        for k, p in enumerate(model.tree.parent):
            assert not np.any(block(model, dense, k, k))
            if p != WORLD:
                turn = np.eye(6) if axes == "world" else moving[p].turn.T @ moving[k].turn
                assert relative_difference(block(model, dense, p, k), turn) < TOLERANCE


@on(*ALL)
@AXES
def test_fact_4_1_innovations_factorization(machine, axes):
    """FACT 4.1 (4.11): Mass = (I + H Phi L) D (I + H Phi L)*; in its proof H phi~ G takes the place
    of H Phi L. Any machine; with rotors Mass = H phi M phi* H* + Jm."""
    model, q, _, _ = state(machine)
    left = H @ phi @ M @ phi.T @ H.T + Jm
    right = (I + H @ Phi @ L) @ D @ (I + H @ Phi @ L).T
    assert mismatch(model, left, right, q, axes=axes) < TOLERANCE
    right = (I + H @ phi_tilde @ G) @ D @ (I + H @ phi_tilde @ G).T
    assert mismatch(model, left, right, q, axes=axes) < TOLERANCE


@on(*ALL)
@AXES
def test_fact_4_2_reciprocal_factors(machine, axes):
    """FACT 4.2 (4.14): (I + H Phi L)^-1 = I - H Psi L. Any machine."""
    model, q, _, _ = state(machine)
    inverse = np.linalg.inv(value(model, I + H @ Phi @ L, q, axes=axes))
    assert mismatch(model, I - H @ Psi @ L, inverse, q, axes=axes) < TOLERANCE


@on(*ALL)
@AXES
def test_theorem_4_1_inverse_of_the_mass_matrix(machine, axes):
    """THEOREM 4.1 (4.16): Mass^-1 = (I - H Psi L)* D^-1 (I - H Psi L). Any machine."""
    model, q, _, _ = state(machine)
    inverse = np.linalg.inv(pp.as_matrix(model, Mass, q))
    right = (I - H @ Psi @ L).T @ D.inv @ (I - H @ Psi @ L)
    assert mismatch(model, inverse, right, q, axes=axes) < TOLERANCE


@on(*ALL)
def test_4_13_innovations_representation_and_4_15_kalman_filter(machine):
    """(4.13): z^(k) = phi z^(k-1) + L eps(k-1), y = H z^ + eps is y = (I + H Phi L) eps (4.12);
    (4.15): z^(k) = (phi - L H) z^(k-1) + L y(k-1), eps = y - H z^ is eps = (I - H Psi L) y.

    Both filters pass through the same states z^. Any machine.
    """
    sweeps = Sweeps(machine)
    eps_ = np.random.default_rng(9).normal(size=sweeps.model.nv)
    eps = by_joint(sweeps.model, eps_)
    zero = np.zeros(6)
    z = sweeps.inward(lambda k: zero, lambda c, x: sweeps.phi[c] @ x + sweeps.L[c] @ eps[c])
    y = [h @ x + e for h, x, e in zip(sweeps.H, z, eps, strict=True)]
    w = vector("w", "joint")
    modelled = sweeps.tipped.value((I + H @ Phi @ L) @ w, w=eps_)
    assert relative_difference(np.concatenate(y), modelled) < TOLERANCE

    def filtered(c, x):
        return (sweeps.phi[c] - sweeps.L[c] @ sweeps.H[c]) @ x + sweeps.L[c] @ y[c]

    z_filter = sweeps.inward(lambda k: zero, filtered)
    whitened = np.concatenate([x - h @ s for x, h, s in zip(y, sweeps.H, z_filter, strict=True)])
    assert relative_difference(z_filter, z) < TOLERANCE
    assert relative_difference(whitened, eps_) < TOLERANCE
    found = sweeps.tipped.value((I - H @ Psi @ L) @ w, w=np.concatenate(y))
    assert relative_difference(found, eps_) < TOLERANCE
