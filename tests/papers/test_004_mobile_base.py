"""[004-I] appendix B: a mobile base is a joint of six freedoms.

The paper's letters, and where its results hold, are in `paper_004.py`.
"""

import numpy as np
import pytest
from cases import AXES, on, state
from classical import joint_wrenches, motions
from equations import MARGIN, STEP, TOLERANCE, a_g, relative_difference, value
from paper_004 import L, Psi, Tipped, quaternion_rates

import phipsi as pp
from phipsi.operators import C, D, H, I, J, M, T, a, b, beta_dot, f0, phi

# -- appendix B: mobile base -----------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("axes", ["body", "station"])
def test_b_3_quaternion_rates_have_a_left_inverse(axes, seed):
    """(b.3): q_dot = A(q) omega with A(q) 4 x 3 of rank 3 everywhere; omega = 4 A*(q) q_dot.

    Printed: A(q) nonsingular, with an inverse. There is none: 4 A* is a left
    inverse, and A 4 A* = I - q q*. The witness: q_dot by a complex step along
    a free joint. omega in body axes (ours) and in station axes (the paper's).
    """
    model, q, _, _ = state("spacecraft", seed)
    quaternion, omega = q[:4], np.random.default_rng(seed).normal(size=3)
    R_base = motions(model, q, np.zeros(model.nv))[0].R
    v = np.zeros(model.nv)
    v[:3] = omega if axes == "body" else R_base.T @ omega
    q_dot = pp.integrate(model, q, 1j * STEP * v)[:4].imag / STEP
    A = quaternion_rates(quaternion, axes)
    assert relative_difference(A @ omega, q_dot) < TOLERANCE
    assert relative_difference(4.0 * A.T @ q_dot, omega) < TOLERANCE
    assert relative_difference(4.0 * A.T @ A, np.eye(3)) < TOLERANCE
    missed = np.outer(quaternion, quaternion)
    assert relative_difference(np.eye(4) - A @ (4.0 * A.T), missed) < TOLERANCE
    assert relative_difference(A @ (4.0 * A.T), np.eye(4)) > MARGIN  # as printed
    assert np.linalg.matrix_rank(A) == 3


def test_b_2_to_b_8_mobile_base():
    """(b.2): V(N) = H*(N) W(N) = W(N), so H(N) = I; (b.5): theta_dot = Omega W; (b.6), (b.7):
    alpha(N) = W_dot(N), a(N) = 0; (b.8): T(N) = f(N), all six components. Free base.

    Stated in link axes, where W is the body's twist: l_dot = R v; in the
    paper's station axes l_dot is v itself.
    """
    model, q, v, acceleration = state("spacecraft")
    moving = motions(model, q, v, acceleration)
    base = moving[0]
    assert np.array_equal(pp.as_matrix(model, H, q)[:6, :6], np.eye(6))
    assert relative_difference(base.turn.T @ base.V, v[:6]) < TOLERANCE
    q_dot = pp.integrate(model, q, 1j * STEP * v).imag / STEP
    Omega_W = [quaternion_rates(q[:4], "body") @ v[:3], base.R @ v[3:6], v[6:]]
    assert relative_difference(q_dot, np.concatenate(Omega_W)) < TOLERANCE
    assert relative_difference(q_dot[4:7], base.v) < TOLERANCE
    assert relative_difference(base.A, acceleration[:6]) < TOLERANCE
    assert np.linalg.norm(value(model, a, q, v)[:6]) < TOLERANCE * np.linalg.norm(v) ** 2
    forces = H @ phi @ (M @ phi.T @ (H.T @ beta_dot + a_g) + b)
    T_ = value(model, forces, q, v, beta_dot=acceleration)
    assert relative_difference(T_[:6], joint_wrenches(model, moving)[0]) < TOLERANCE


@on("free_base_tree", "spacecraft", "star_of_free_bodies")
@AXES
def test_b_10_forward_dynamics_of_a_mobile_base(machine, axes):
    """(b.9), (b.10): T = Mass W_dot + C + J* f(0), so W_dot = Mass^-1 [T - C - J* f(0)] by the same
    factorization; only dimensions change. Free bases, also bodies that hang free on others."""
    tipped = Tipped(machine, axes)
    factor = I - H @ Psi @ L
    found = tipped.value(factor.T @ D.inv @ factor @ (T - C - J.T @ f0))
    assert relative_difference(found, tipped.acceleration) < TOLERANCE
