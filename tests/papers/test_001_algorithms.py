"""[001] sections VII and VIII: forward dynamics by algorithms 1 to 4, and on a mobile base.

Every algorithm is held against the dense solution of the equations of motion,
whose matrices come from the Newton-Euler loop. The paper's letters, and where
its results hold, are in `paper_001.py`.
"""

import numpy as np
import pytest
from classical import joint_forces, joint_wrenches, motions
from equations import MARGIN, TOLERANCE, a_g, relative_difference
from paper_001 import Psi
from recursions import (
    forward_dynamics,
    newton_euler,
    riccati,
    smooth,
    state_of,
    whiten,
    with_gravity,
)

import phipsi as pp
from phipsi.model.tree import WORLD
from phipsi.operators import B, C, D, G, H, I, J, M, Mass, P, S, T, a, alpha, b, beta, f0, phi, psi

# -- VII. forward dynamics -------------------------------------------------------------


def accelerations(s):
    """theta_ddot, alpha of the bodies, alpha(0) of the tips that go with T: a dense solution."""
    solved = forward_dynamics(s)
    loop = newton_euler(s.but(beta_dot=solved))
    return solved, np.concatenate(loop.alpha), np.concatenate(loop.alpha0)


T_bias_free = T - H @ phi @ (M @ phi.T @ a_g + b + B @ f0)  # (47), (55)


def test_algorithm_1_four_sweeps_bias_free(s):
    """(47), (48): theta_ddot = (I - H Psi G)* D^-1 (I - H Psi G) T'."""
    factor = I - H @ Psi @ G
    algorithm = factor.T @ D.inv @ factor @ T_bias_free
    assert s.mismatch(algorithm, accelerations(s)[0]) < TOLERANCE


def test_algorithm_1_recursion(s):
    """(49)-(54): z = psi z + phi G T', nu = D^-1 (T' - H z); outward lambda, theta_ddot.

    theta_ddot(k) = nu - G* phi*(k+1,k) lambda(k+1).
    """
    loop, T_ = riccati(s), s.value(T_bias_free)
    nu = whiten(s, loop, T_)[0]
    result, _ = smooth(s, loop, nu)
    assert s.mismatch(result, accelerations(s)[0]) < TOLERANCE


def test_algorithm_2_link_and_tip_accelerations(s):
    """(55)-(57): alpha = (I - G H)* Psi* H* nu + H* nu + phi* a, alpha(0) = B* alpha + a(0)."""
    _, alpha_k, alpha_0 = accelerations(s)
    nu = D.inv @ (I - H @ Psi @ G) @ T_bias_free
    algorithm = (I - G @ H).T @ Psi.T @ H.T @ nu + H.T @ nu + phi.T @ a_g
    assert s.mismatch(algorithm, alpha_k) < TOLERANCE
    a0 = np.concatenate(newton_euler(s).a0)
    assert s.mismatch(s.value(B.T @ algorithm) + a0, alpha_0) < TOLERANCE


def test_algorithm_2_recursion(s):
    """(58), (59): lambda and theta_ddot as before, zeta = phi* zeta + a, alpha = lambda + zeta.

    After (54): lambda = alpha when the bias terms are zero.
    """
    loop, newton = riccati(s), newton_euler(s)
    bias, solved = with_gravity(s, newton.a), accelerations(s)
    nu = whiten(s, loop, s.value(T_bias_free))[0]
    theta_ddot, lambda_ = smooth(s, loop, nu)
    zeta, alpha_k = {WORLD: np.zeros(6)}, []
    for k, p in s.outward:
        zeta[k] = s.phi[k].T @ zeta[p] + bias[k]
        alpha_k.append(lambda_[k] + zeta[k])
    tips = zip(s.tips, newton.a0, strict=True)
    alpha_0 = [step.T @ alpha_k[k] + a0 for (k, step), a0 in tips]  # (59)
    for result, expected in zip((theta_ddot, alpha_k, alpha_0), solved, strict=True):
        assert s.mismatch(result, expected) < TOLERANCE
    rest = s.at_rest()
    _, lambda_ = smooth(rest, loop, whiten(rest, loop, s.T)[0])
    assert s.mismatch(lambda_, accelerations(rest)[1]) < TOLERANCE


def test_algorithm_3_three_sweeps(s):
    """(60)-(62): eps = T - H Psi [G T + (I - G H) zeta] - H zeta, zeta = M phi* a + b + B f(0).

    theta_ddot = (I - H Psi G)* D^-1 eps.
    """
    zeta = M @ phi.T @ a_g + b + B @ f0
    eps = T - H @ Psi @ (G @ T + (I - G @ H) @ zeta) - H @ zeta
    algorithm = (I - H @ Psi @ G).T @ D.inv @ eps
    assert s.mismatch(algorithm, accelerations(s)[0]) < TOLERANCE


def test_algorithm_3_recursion_counts_the_tip_force_once(s):
    """(63)-(65): z = psi (z + zeta) + phi G T, eps = T - H z - H zeta.

    As printed the tip force comes twice: z(0) = f(0), and B f(0) in zeta of
    (60). Correct is either z(0) = 0, or zeta without B f(0).
    """
    with_tips, without_tips = M @ phi.T @ a_g + b + B @ f0, M @ phi.T @ a_g + b

    def run(z_0, zeta):
        zeta = s.value(zeta).reshape(-1, 6)
        loop, z, nu = riccati(s), {}, []
        for k, children in s.inward:
            z[k] = sum((step @ f for (i, step), f in zip(s.tips, z_0, strict=True) if i == k), 0.0)
            for c in children:  # (64)
                z[k] = z[k] + loop.psi[c] @ (z[c] + zeta[c])
                z[k] = z[k] + s.phi[c] @ loop.G[c] @ s.speeds(c, s.T)
            eps = s.speeds(k, s.T) - s.H[k] @ z[k] - s.H[k] @ zeta[k]  # (65)
            nu.append(np.linalg.solve(loop.D[k], eps))
        return smooth(s, loop, nu[::-1])[0]

    expected = accelerations(s)[0]
    assert s.mismatch(run(s.f0, with_tips), expected) > MARGIN
    assert s.mismatch(run(0.0 * s.f0, with_tips), expected) < TOLERANCE
    assert s.mismatch(run(s.f0, without_tips), expected) < TOLERANCE


def test_equation_65_is_printed_with_a_minus_too_many():
    """(65) prints eps = T - H z - H - zeta: the spaces do not fit; it means - H zeta."""
    zeta, z = M @ phi.T @ a + b, phi @ b
    with pytest.raises(pp.SpaceError, match="cannot add"):
        T - H @ z - H - zeta
    assert (T - H @ z - H @ zeta).is_vector


def test_equation_66_velocities_are_printed_at_the_tip():
    """(66) prints V = B* phi* H* theta_dot, which is V(0); the sweep gives V = phi* H* theta_dot.

    The bias b = S[V] M V needs the bodies' V: with V(0) the spaces do not fit.
    On a single body, where the sizes do, the numbers are wrong.
    """
    printed, correct = B.T @ phi.T @ H.T @ beta, phi.T @ H.T @ beta
    with pytest.raises(pp.SpaceError, match="takes a vector of body space"):
        S[printed]
    s = state_of("one_body")
    assert s.mismatch(correct, motions(s.model, s.q, s.v)[0].V) < TOLERANCE
    assert s.mismatch(printed, motions(s.model, s.q, s.v)[0].V) > MARGIN


def test_algorithm_4_three_sweeps_without_dalembert_forces(s):
    """(67), (68): nu = D^-1 (I - H Psi G) T - D^-1 H psi [P a + b + B f(0)] + D^-1 H P a.

    theta_ddot = (I - H Psi G)* nu - G* Psi* (I - G H)* a - G* a. (67) prints
    (I - G H) P a inside the bracket, which fails.
    """

    def run(inside, outside):
        nu = D.inv @ (I - H @ Psi @ G) @ T - D.inv @ H @ psi @ (inside + b + B @ f0) + outside
        return (I - H @ Psi @ G).T @ nu - G.T @ Psi.T @ (I - G @ H).T @ a_g - G.T @ a_g

    expected, outside = accelerations(s)[0], D.inv @ H @ P @ a_g
    assert s.mismatch(run(P @ a_g, outside), expected) < TOLERANCE
    assert s.mismatch(run((I - G @ H) @ P @ a_g, outside), expected) > MARGIN


def nu_without_last_term():
    """(67) as printed but for + D^-1 H P a, put into (68)."""
    nu = D.inv @ (I - H @ Psi @ G) @ T
    nu = nu - D.inv @ H @ psi @ ((I - G @ H) @ P @ a_g + b + B @ f0)
    return (I - H @ Psi @ G).T @ nu - G.T @ Psi.T @ (I - G @ H).T @ a_g - G.T @ a_g


def test_equation_67_without_its_last_term(rotorless):
    """(67) also holds with (I - G H) P a as printed if + D^-1 H P a is left out.

    Domain: no rotor inertia; there (I - G H) is a projection and H (I - G H) P = 0.
    """
    s = rotorless
    assert s.mismatch(nu_without_last_term(), accelerations(s)[0]) < TOLERANCE


def test_equation_67_without_its_last_term_fails_with_rotor_inertia(geared):
    """With Jm only P a inside and + D^-1 H P a outside the bracket of (67) will do."""
    s = geared
    assert s.mismatch(nu_without_last_term(), accelerations(s)[0]) > MARGIN


def test_algorithm_4_recursion(s):
    """(69)-(73): z = psi (z + P a) + phi G T + b, z(0) = f(0), nu = D^-1 (T - H z).

    lambda = psi* lambda + H* nu + [1 - G H]* a, theta_ddot = nu - G* phi* lambda - G* a.
    lambda is alpha.
    """
    loop, newton = riccati(s), newton_euler(s)
    bias, z, nu = with_gravity(s, newton.a), {}, []
    for k, children in s.inward:
        z[k] = newton.b[k]
        z[k] = z[k] + sum(step @ f for (i, step), f in zip(s.tips, s.f0, strict=True) if i == k)
        for c in children:  # (70)
            z[k] = z[k] + loop.psi[c] @ (z[c] + loop.P[c] @ bias[c])
            z[k] = z[k] + s.phi[c] @ loop.G[c] @ s.speeds(c, s.T)
        nu.append(np.linalg.solve(loop.D[k], s.speeds(k, s.T) - s.H[k] @ z[k]))  # (71)
    theta_ddot, lambda_ = smooth(s, loop, nu[::-1], bias)
    expected, alpha_k, _ = accelerations(s)
    assert s.mismatch(theta_ddot, expected) < TOLERANCE
    assert s.mismatch(lambda_, alpha_k) < TOLERANCE


# -- VIII. mobile base -----------------------------------------------------------------


def test_equations_74_to_78_mobile_base_is_a_joint_of_six_freedoms(floating):
    """(74): H*(N+1) = I. (75), (76): its speeds and accelerations are V and V_dot of the base.

    (77): T(N+1) = f(N+1). In the base's own axes; V_dot there is the true
    acceleration, the one that feels gravity left out.
    """
    s = floating
    root = slice(0, 6)
    assert np.array_equal(s.value(H, "link")[root, root], np.eye(6))
    base = motions(s.model, s.q, s.v, s.beta_dot)[0]
    assert relative_difference(base.turn.T @ base.V, s.v[root]) < TOLERANCE
    assert relative_difference(base.A, s.beta_dot[root]) < TOLERANCE
    f = phi @ (M @ alpha + b + B @ f0)
    expected = np.concatenate(newton_euler(s).T)[root]
    assert relative_difference(s.value(f, "link")[root], expected) < TOLERANCE


def test_equation_79_mobile_base_dynamics(floating):
    """(79): T = Mass W_dot + C + J* f(0), W_dot = Mass^-1 [T - C - J* f(0)], (46) included.

    Witness: forces through the joints by the rates of momentum at that W_dot.
    """
    s, factor = floating, I - H @ Psi @ G
    for inverse in (Mass.inv, factor.T @ D.inv @ factor):
        W_dot = s.value(inverse @ (T - C - J.T @ f0), "link")
        tip_forces = list(zip(s.points, s.f0, strict=True))
        T_k = joint_forces(s.model, s.q, s.v, W_dot, tip_forces=tip_forces)
        assert relative_difference(T_k, s.T) < TOLERANCE


def test_equation_79_conserves_momentum_of_a_drifting_machine():
    """(79) with no force on base and tips: joint forces change no momentum. Without gravity.

    Linear and angular momentum about the world's origin, from the bodies' motions.
    """
    s = state_of("spacecraft")
    T_ = np.concatenate([np.zeros(6), s.T[6:]])
    s = s.but(T=T_, f0=0.0 * s.f0)
    W_dot = s.value(Mass.inv @ (T - C - J.T @ f0))
    moving = motions(s.model, s.q, s.v, W_dot)
    wrench = joint_wrenches(s.model, moving)[0]
    typical = np.linalg.norm(joint_wrenches(s.model, moving)[1])
    assert np.linalg.norm(wrench) < TOLERANCE * typical
    assert np.linalg.norm(W_dot) > MARGIN
