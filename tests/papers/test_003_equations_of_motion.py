"""[003] sections 2 and 3: the Jacobian operator, and dynamics formulated by operators.

The paper's letters, and where its results hold, are in `paper_003.py`.
"""

import numpy as np
from classical import joint_forces, motions, point_motion
from equations import TOLERANCE, time_derivative
from recursions import equations_of_motion, newton_euler

from phipsi.operators import B, C, H, J, Jm, M, Mass, T, a, alpha, b, beta, beta_dot, f0, phi

# -- 2. the Jacobian operator ----------------------------------------------------------


def test_equation_1_jacobian_and_its_dual(s):
    """(1): V(0) = J theta_dot, J = B* phi* H*; dual: T = J* f(0) = H phi B f(0).

    Witnesses: the rate of the tips' poses; the power T* theta_dot = f(0)* V(0)
    for every theta_dot.
    """
    V0 = []
    for unit in np.eye(s.model.nv):
        moving = motions(s.model, s.q, unit)
        V0.append(np.concatenate([point_motion(s.model, moving, x).V for x in s.points]))
    V0 = np.array(V0).T
    assert s.mismatch(B.T @ phi.T @ H.T @ beta, V0 @ s.v) < TOLERANCE
    assert s.mismatch(J @ beta, V0 @ s.v) < TOLERANCE
    assert s.mismatch(H @ phi @ B @ f0, V0.T @ s.f0.ravel()) < TOLERANCE
    assert s.mismatch(J.T @ f0, V0.T @ s.f0.ravel()) < TOLERANCE


# -- 3. operator-formulated dynamics ---------------------------------------------------


def test_equation_2_equations_of_motion(s):
    """(2): Mass theta_ddot + C + J* f(0) = T.

    Witness: what the joints feel of the bodies' rates of momentum.
    """
    tip_forces = list(zip(s.points, s.f0, strict=True))
    expected = joint_forces(s.model, s.q, s.v, s.beta_dot, tip_forces=tip_forces)
    expected = expected + s.value(Jm) @ s.beta_dot
    assert s.mismatch(Mass @ beta_dot + C + J.T @ f0, expected) < TOLERANCE


def test_equation_3_newton_euler_factorization(s):
    """(3): Mass = H phi M phi* H*, plus Jm where there are rotors.

    Witness: the momenta that unit accelerations take from rest.
    """
    rest, zero = s.at_rest(), np.zeros(s.model.nv)
    columns = [joint_forces(rest.model, s.q, zero, unit) for unit in np.eye(s.model.nv)]
    assert s.mismatch(H @ phi @ M @ phi.T @ H.T, np.array(columns).T) < TOLERANCE
    assert s.mismatch(Mass, equations_of_motion(s)[0]) < TOLERANCE


def test_equation_4_bias_torques(s):
    """(4): C = H phi (M phi* a + b). Witness: the momenta of motion at theta_ddot = 0."""
    zero = np.zeros(s.model.nv)
    still = s.at_rest().but(v=s.v)
    without_gravity = joint_forces(still.model, s.q, s.v, zero)
    assert still.mismatch(H @ phi @ (M @ phi.T @ a + b), without_gravity) < TOLERANCE
    assert s.mismatch(C, joint_forces(s.model, s.q, s.v, zero)) < TOLERANCE


def test_equation_5_transposed_jacobian(s):
    """(5): J* = H phi B. Witness: unit tip forces through the Newton-Euler recursion."""
    rest, columns = s.at_rest().but(beta_dot=0.0 * s.v), []
    for unit in np.eye(s.f0.size):
        columns.append(np.concatenate(newton_euler(rest.but(f0=unit.reshape(-1, 6))).T))
    assert s.mismatch(H @ phi @ B, np.array(columns).T) < TOLERANCE
    assert s.mismatch(J.T, np.array(columns).T) < TOLERANCE


def test_equations_6_and_7_bias_free_dynamics(s):
    """(6), (7): H phi M phi* H* theta_ddot = T', the two sweeps printed after (7).

    alpha = phi* H* theta_ddot outward, f = phi M alpha inward, T = H f; Jm added.
    """
    rest = newton_euler(s.at_rest())
    assert s.mismatch(phi.T @ H.T @ beta_dot, rest.alpha) < TOLERANCE
    assert s.mismatch(phi @ M @ phi.T @ H.T @ beta_dot, rest.f) < TOLERANCE
    assert s.mismatch(H @ phi @ M @ phi.T @ H.T @ beta_dot + Jm @ beta_dot, rest.T) < TOLERANCE
    T_ = T - C - J.T @ f0
    solved = s.value(Mass.inv @ T_)
    assert s.mismatch(newton_euler(s.but(beta_dot=solved)).T, T) < TOLERANCE


def test_newton_euler_recursion_of_section_3(s):
    """Sec. 3: alpha(k) = phi* alpha + H* theta_ddot + a, f(k) = phi f + M alpha + b, T = H f.

    alpha(k) is the rate of V(k): componentwise in inertial axes, gravity apart.
    """
    loop = newton_euler(s)
    g = np.tile([0.0, 0.0, 0.0, *s.model.gravity], len(s.model.bodies))
    rate = time_derivative(
        s.model, phi.T @ H.T @ beta, s.q, s.v, axes="world", acceleration=s.beta_dot
    )
    assert s.mismatch(alpha, rate - g) < TOLERANCE
    assert s.mismatch(alpha, loop.alpha) < TOLERANCE
    assert s.mismatch(phi @ (M @ alpha + b + B @ f0), loop.f) < TOLERANCE
    assert s.mismatch(H @ phi @ (M @ alpha + b + B @ f0) + Jm @ beta_dot, loop.T) < TOLERANCE
