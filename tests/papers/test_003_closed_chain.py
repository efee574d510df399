"""[003] section 5.3: two arms that hold each other by the tip.

The paper's letters, and where its results hold, are in `paper_003.py`.
"""

import numpy as np
import pytest
from classical import motions, point_motion
from equations import MARGIN, TOLERANCE, relative_difference
from paper_003 import J_dot_beta, W, accelerations_of_both, arms_that_meet, tip_position
from recursions import equations_of_motion, newton_euler

from phipsi.operators import B, C, D, H, J, Mass, Omega, T, beta, beta_dot, psi

# -- 5.3. closed chain -----------------------------------------------------------------


PAIRS = [
    ("serial_revolute", "serial_revolute_prismatic"),
    ("serial_multidof", "serial_revolute"),
    ("puma560", "serial_revolute"),
]


@pytest.fixture(params=PAIRS, ids=" and ".join)
def closed(request):
    """Two arms whose tips meet and move together."""
    return arms_that_meet(*request.param)


def test_closed_chain_starts_with_both_tips_moving_together(closed):
    """The set-up of sec. 5.3: both tips are at the same place with the same velocity."""
    assert relative_difference(*(tip_position(s) for s in (closed.one, closed.two))) < TOLERANCE
    V1, V2 = closed.one.value(J @ beta), closed.two.value(J @ beta)
    assert relative_difference(V1, V2) < TOLERANCE
    assert np.linalg.norm(V1) > MARGIN


W_D_W = W.T @ D.inv @ W


def free_accelerations(s):
    """theta_ddot_f of (24) and alpha_f(0) = J theta_ddot_f + J_dot theta_dot."""
    theta_ddot_f = s.value(W_D_W @ (T - C))
    return theta_ddot_f, s.value(J) @ theta_ddot_f + J_dot_beta(s)


def test_equations_21_to_23_closed_chain(closed):
    """(21)-(23): f_2(0) = -f_1(0) = f(0), alpha_1(0) = alpha_2(0), each arm by (2).

    Mass_1 theta_ddot_1 + C_1 = T_1 + J_1* f(0), the other arm with the minus.
    Witness: each arm's Newton-Euler recursion under the force of its tip.
    """
    x1, x2, f = accelerations_of_both(closed)
    tips = []
    for s, x, sign in ((closed.one, x1, -1.0), (closed.two, x2, 1.0)):
        moved = s.but(beta_dot=x, f0=sign * f[None, :])
        run = newton_euler(moved)
        assert relative_difference(np.concatenate(run.T), s.T) < TOLERANCE
        assert moved.mismatch(Mass @ beta_dot + C, s.value(T) - sign * s.value(J.T) @ f) < TOLERANCE
        tips.append(run.alpha0[0] + np.array([0.0, 0.0, 0.0, *s.model.gravity]))
    assert relative_difference(*tips) < TOLERANCE


def test_equation_24_free_accelerations(closed):
    """(24): theta_ddot_1f = W* D^-1 W (T - C), and Mass_1^-1 J_1* f(0) = W* D^-1 H psi B f(0)."""
    _, _, f = accelerations_of_both(closed)
    for s in (closed.one, closed.two):
        Mass_, C_, J_ = equations_of_motion(s)
        assert s.mismatch(W_D_W @ (T - C), np.linalg.solve(Mass_, s.T - C_)) < TOLERANCE
        correction = s.value(W.T @ D.inv @ H @ psi @ B) @ f
        assert relative_difference(correction, np.linalg.solve(Mass_, J_.T @ f)) < TOLERANCE


def test_equation_25_tip_acceleration(closed):
    """(25): alpha_1(0) = J_1 theta_ddot_1 + J_dot_1 theta_dot_1, the rate of V_1(0).

    Free part: alpha_1f(0) = J_1 theta_ddot_1f + J_dot_1 theta_dot_1. Printed
    there is the correction's rate, Delta theta_dot_1, which is zero, as a force
    changes no speed at once: that fails.
    """
    x1, x2, f = accelerations_of_both(closed)
    for s, x, sign in ((closed.one, x1, 1.0), (closed.two, x2, -1.0)):
        moving = motions(s.model, s.q, s.v, x)
        alpha_0 = point_motion(s.model, moving, s.points[0]).alpha
        assert relative_difference(s.value(J) @ x + J_dot_beta(s), alpha_0) < TOLERANCE
        theta_ddot_f, alpha_f = free_accelerations(s)
        change = sign * s.value(B.T @ Omega @ B) @ f
        assert relative_difference(alpha_f + change, alpha_0) < TOLERANCE
        printed = s.value(J) @ theta_ddot_f
        assert relative_difference(printed + change, alpha_0) > MARGIN


def test_equation_26_contact_force_of_a_closed_chain(closed):
    """(26): f(0) = Lambda_c [alpha_2f(0) - alpha_1f(0)], Lambda_c^-1 = Lambda_1^-1 + Lambda_2^-1.

    With it theta_ddot = theta_ddot_f + Delta theta_ddot of both arms. Witness: a
    dense solution of equations of motion and constraint at once.
    """
    one, two = closed.one, closed.two
    (free_1, alpha_1f), (free_2, alpha_2f) = free_accelerations(one), free_accelerations(two)
    compliance_1, compliance_2 = (
        s.value(B.T @ psi.T @ H.T @ D.inv @ H @ psi @ B) for s in (one, two)
    )
    f = np.linalg.solve(compliance_1 + compliance_2, alpha_2f - alpha_1f)
    correction = W.T @ D.inv @ H @ psi @ B
    x1, x2, f_expected = accelerations_of_both(closed)
    assert relative_difference(f, f_expected) < TOLERANCE
    assert relative_difference(free_1 + one.value(correction) @ f, x1) < TOLERANCE
    assert relative_difference(free_2 - two.value(correction) @ f, x2) < TOLERANCE
