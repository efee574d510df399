"""[001] sections V and X: the mass matrix as H phi M phi* H*, and the equations of motion.

The paper's letters, and where its results hold, are in `paper_001.py`.
"""

import numpy as np
import pytest
from cases import ROTORS
from classical import motions, phi_of, point_motion
from equations import (
    TOLERANCE,
    a_g,
    assemble,
    diagonal,
    directions,
    tangent_derivative,
    time_derivative,
)
from paper_001 import Phi
from recursions import equations_of_motion, newton_euler, potential_gradient, state_of

import phipsi as pp
from phipsi.operators import (
    B,
    C,
    E,
    H,
    J,
    Jm,
    M,
    Mass,
    R,
    T,
    a,
    alpha,
    b,
    beta,
    beta_dot,
    f0,
    gravity,
    phi,
)

# -- V. recursive Newton-Euler factorization -------------------------------------------


@pytest.mark.parametrize("axes", ["link", "world"])
def test_equation_22_newton_euler_factorization(s, axes):
    """(22): Mass = H phi M phi* H*, plus Jm where there are rotors.

    Witnesses: the Newton-Euler recursion fed with unit accelerations, and the
    kinetic energy of the bodies.
    """
    matrix = equations_of_motion(s)[0]
    assert s.mismatch(H @ phi @ M @ phi.T @ H.T + Jm, matrix, axes) < TOLERANCE
    assert s.mismatch(Mass, matrix, axes) < TOLERANCE
    assert np.linalg.eigvalsh(matrix).min() > 0.0

    energy = 0.5 * s.v @ s.value(Jm) @ s.v
    for body, motion in zip(s.model.bodies, motions(s.model, s.q, s.v), strict=True):
        m, centre = body.inertia.mass, motion.at(np.array(body.inertia.com))
        omega = motion.R.T @ motion.omega
        energy += 0.5 * m * centre.v @ centre.v
        energy += 0.5 * omega @ np.array(body.inertia.rotational) @ omega
    assert s.mismatch(0.5 * beta.T @ Mass @ beta, energy, axes) < TOLERANCE


@pytest.mark.parametrize("axes", ["link", "world"])
def test_equation_23_equations_of_motion(s, axes):
    """(23): T = Mass theta_ddot + C + J* f(0), C = H phi (M phi* a + b), J* = H phi B.

    Witness: the Newton-Euler recursion (6)-(12).
    """
    C_printed = H @ phi @ (M @ phi.T @ a_g + b)
    expected = newton_euler(s).T
    for bias in (C_printed, C):
        T_k = Mass @ beta_dot + bias + H @ phi @ B @ f0
        assert s.mismatch(T_k, expected, axes) < TOLERANCE
        assert s.mismatch(Mass @ beta_dot + bias + J.T @ f0, expected, axes) < TOLERANCE


@pytest.mark.parametrize(
    "name", ["serial_revolute", "serial_revolute_prismatic", "tree_one_dof", *ROTORS]
)
def test_equation_23_is_lagranges_equation(name):
    """(23) without tip force: T = d/dt (Mass v) - 1/2 d(v* Mass v)/dq + d(potential energy)/dq.

    Domain: speeds that are rates of coordinates; quasi-velocities add brackets.
    """
    s = state_of(name)
    rate = time_derivative(s.model, Mass @ beta, s.q, s.v, acceleration=s.beta_dot)
    energy = 0.5 * beta.T @ Mass @ beta
    slope = [tangent_derivative(s.model, energy, s.q, i, k, v=s.v) for i, k in directions(s.model)]
    T_k = rate - np.array(slope) + potential_gradient(s)
    assert s.mismatch(Mass @ beta_dot + C, T_k) < TOLERANCE


def test_rate_of_the_jacobian(s):
    """After (23): alpha(0) = J theta_ddot + J_dot theta_dot, J_dot theta_dot = B* phi* a + a(0).

    a(0) = [0; omega x (omega x l)]. In inertial axes: the classical acceleration of the tips.
    """
    a0 = np.concatenate(newton_euler(s).a0)
    J_dot_beta = time_derivative(s.model, J @ beta, s.q, s.v, axes="world", points=s.points)
    assert s.mismatch(J_dot_beta, s.value(B.T @ phi.T @ a) + a0) < TOLERANCE
    moving = motions(s.model, s.q, s.v, s.beta_dot)
    alpha0 = [point_motion(s.model, moving, point).alpha for point in s.points]
    assert s.mismatch(s.value(J @ beta_dot) + J_dot_beta, alpha0) < TOLERANCE


def test_equation_24_spatial_forces(s):
    """(24): f = phi [M alpha + b + B f(0)], T = H f. Rotor inertia adds Jm theta_ddot to T."""
    f = phi @ (M @ alpha + b + B @ f0)
    loop = newton_euler(s)
    assert s.mismatch(f, loop.f) < TOLERANCE
    assert s.mismatch(H @ f + Jm @ beta_dot, loop.T) < TOLERANCE


@pytest.mark.parametrize("axes", ["link", "world"])
def test_equation_25_newton_euler_algorithm(s, axes):
    """(25): T = H phi [M alpha + b + B f(0)], alpha = phi* H* theta_ddot + phi* a.

    Rotor inertia adds Jm theta_ddot to T.
    """
    accelerations = phi.T @ H.T @ beta_dot + phi.T @ a_g
    assert s.mismatch(accelerations, newton_euler(s).alpha) < TOLERANCE
    T_k = H @ phi @ (M @ accelerations + b + B @ f0) + Jm @ beta_dot
    assert s.mismatch(T_k, newton_euler(s).T, axes) < TOLERANCE


def test_equation_26_bias_free_equations(s):
    """(26): Mass theta_ddot = T', T' = T - T_hat: its solution makes the recursion give T."""
    T_hat = H @ phi @ (M @ phi.T @ a_g + b + B @ f0)
    solved = s.but(beta_dot=s.value(Mass.inv @ (T - T_hat)))
    assert s.mismatch(T, newton_euler(solved).T) < TOLERANCE


def test_equation_27_bias_torques(s):
    """(27): T_hat = H phi [M phi* a + b + B f(0)] = C + J* f(0).

    Witness: the recursion at theta_ddot = 0.
    """
    T_hat = newton_euler(s.but(beta_dot=0.0 * s.v)).T
    assert s.mismatch(H @ phi @ (M @ phi.T @ a_g + b + B @ f0), T_hat) < TOLERANCE
    assert s.mismatch(C + J.T @ f0, T_hat) < TOLERANCE


def test_gravity_is_the_gradient_of_potential_energy(s):
    """C at rest is d(potential energy)/dq: a + E gravity in place of a carries gravity exactly.

    Witness: the mass centres' heights, differentiated by a complex step. Without
    the base's acceleration the bias at rest is zero.
    """
    rest = s.but(v=0.0 * s.v)
    gradient = potential_gradient(s)
    scale = np.linalg.norm(np.concatenate(newton_euler(s).T))  # the spacecraft feels no gravity
    assert rest.mismatch(H @ phi @ (M @ phi.T @ a_g + b), gradient, scale=scale) < TOLERANCE
    assert rest.mismatch(H @ phi @ M @ phi.T @ E @ gravity, gradient, scale=scale) < TOLERANCE
    assert rest.mismatch(C, gradient, scale=scale) < TOLERANCE
    assert np.linalg.norm(rest.value(H @ phi @ (M @ phi.T @ a + b))) == 0.0


def test_identity_1_composite_body_inertia(s):
    """Identity 1, (28): phi M phi* = r + Phi r + r Phi*, r of (29).

    r(k) = sum_{i outboard of k} phi(k,i) M(i) phi*(k,i). Holds on trees: bodies
    on different branches share no outboard body, and Phi has no block there.
    """
    r = []
    for k in s.model.tree.base_to_tip:
        outboard = range(k, s.model.tree.end[k])
        r.append(sum(phi_of(s.arm(k, i)) @ s.M[i] @ phi_of(s.arm(k, i)).T for i in outboard))
    assert s.mismatch(R, diagonal(s.model, r)) < TOLERANCE
    assert s.mismatch(phi @ M @ phi.T, R + Phi @ R + R @ Phi.T) < TOLERANCE


def test_equations_30_to_33_composite_body_recursion(s):
    """(30)-(33): r(k) = phi r(k-1) phi* + M, m(k,k) = H r H*, x = phi x, m(i,k) = H(i) x(i).

    The whole mass matrix, Jm added on the diagonal.
    """
    tree, r, m = s.model.tree, {}, {}
    for k, children in s.inward:
        r[k] = s.M[k] + sum(s.phi[c] @ r[c] @ s.phi[c].T for c in children)  # (31)
        m[k, k] = s.H[k] @ r[k] @ s.H[k].T + s.Jm[k]  # (32)
        x, outer = r[k] @ s.H[k].T, k  # (32)
        for i in tree.path(tree.parent[k]):
            x = s.phi[outer] @ x  # (33)
            m[i, k] = s.H[i] @ x  # (33)
            m[k, i], outer = m[i, k].T, i
    assert s.mismatch(R, diagonal(s.model, r)) < TOLERANCE
    matrix = assemble(s.model, lambda i, k: m.get((i, k)), "joint", "joint")
    assert s.mismatch(Mass, matrix) < TOLERANCE


# -- X. relationship to other work -----------------------------------------------------


def test_natural_orthogonal_complement_factor(deep_rotorless):
    """Sec. X.A: Mass = PP PP* with PP = H phi M^1/2. Domain: bodies with mass."""
    s = deep_rotorless
    if any(body.inertia.vanishes for body in s.model.bodies):
        with pytest.raises(pp.SolveError, match="square root"):
            s.value(H @ phi @ M.sqrt, "link")
        return
    PP = H @ phi @ M.sqrt
    assert s.mismatch(PP @ PP.T, equations_of_motion(s)[0], "link") < TOLERANCE
