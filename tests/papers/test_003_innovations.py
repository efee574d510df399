"""[003] section 6: the innovations form of the equations of motion.

The paper's letters, and where its results hold, are in `paper_003.py`.
"""

import numpy as np
from equations import MARGIN, TOLERANCE, relative_difference, time_derivative
from recursions import equations_of_motion, forward_dynamics

from phipsi.operators import C, D, H, I, J, K, Mass, T, beta, f0, phi, psi

# -- 6. innovations form of the equations of motion ------------------------------------

Dh = D.sqrt  # D^1/2; with joints of several freedoms the Cholesky factor
innovations = Dh.inv @ (I - H @ psi @ K) @ T
printed_innovations = Dh.inv @ (I - H @ phi @ K) @ T
residual = Dh.T @ (I + H @ phi @ K).T @ beta


def residual_rate(s, beta_dot):
    """nu_dot along the motion, by a complex step."""
    return time_derivative(s.model, residual, s.q, s.v, acceleration=beta_dot)


def test_rate_of_the_square_root(s):
    """What nu_dot needs of D^1/2: Dh_dot = Dh half(Dh^-1 D_dot Dh^-*), Dh the Cholesky factor.

    half takes the lower triangle and half of the diagonal. Against a complex step of D^1/2.
    """
    X = s.value(Dh.inv) @ time_derivative(s.model, D, s.q, s.v) @ s.value(Dh.inv).T
    expected = s.value(Dh) @ (np.tril(X) - 0.5 * np.diag(np.diag(X)))
    rate = time_derivative(s.model, Dh, s.q, s.v)
    assert s.mismatch(rate, expected, scale=1.0) < TOLERANCE


def test_residuals_diagonalize_the_kinetic_energy(s):
    """Sec. 6: nu = D^1/2 (I + H phi K)* theta_dot; the kinetic energy is nu* nu / 2."""
    energy = 0.5 * s.v @ equations_of_motion(s)[0] @ s.v
    assert s.mismatch(0.5 * residual.T @ residual, energy) < TOLERANCE


def test_innovations_carry_the_power(s):
    """Sec. 6: eps = D^-1/2 (I - H psi K) T; the power is nu* eps = theta_dot* T."""
    assert s.mismatch(residual.T @ innovations, s.v @ s.T) < TOLERANCE


def test_innovations_are_printed_with_the_wrong_operator(deep):
    """Sec. 6 prints eps = D^-1/2 (I - H phi K) T; phi should be psi.

    With phi the power is not theta_dot* T, and what is left of the equation of
    motion, nu_dot - eps, depends on T. Both agree as far as two bodies in a row.
    """
    s = deep
    assert s.mismatch(residual.T @ printed_innovations, s.v @ s.T) > MARGIN
    assert s.mismatch(printed_innovations, innovations) > MARGIN
    other = s.but(T=s.T + s.value(Mass) @ np.ones(s.model.nv))

    def bias(form):
        return [x.value(form) - residual_rate(x, forward_dynamics(x)) for x in (s, other)]

    assert relative_difference(*bias(innovations)) < TOLERANCE
    before, after = bias(printed_innovations)
    change = other.value(innovations) - s.value(innovations)
    assert np.linalg.norm(after - before) > MARGIN * np.linalg.norm(change)


def test_innovations_form_of_the_equations_of_motion(s):
    """Sec. 6: nu_dot + mu(theta, nu) = eps, diagonal: mu depends on state and tip force alone.

    mu = m^-1 (C + J* f0) - m_dot* theta_dot with m = (I + H phi K) D^1/2.
    """
    m = (I + H @ phi @ K) @ Dh
    m_dot_beta = residual_rate(s, np.zeros(s.model.nv))
    mu = s.value(m.inv @ (C + J.T @ f0)) - m_dot_beta
    nu_dot = residual_rate(s, forward_dynamics(s))
    assert s.mismatch(nu_dot + mu, innovations) < TOLERANCE


def test_bias_of_the_innovations_form_does_no_work(s):
    """Sec. 6: nu* mu = 0 without gravity and tip force: nu* nu / 2 is all the energy."""
    still = s.at_rest().but(v=s.v)
    m = (I + H @ phi @ K) @ Dh
    mu = still.value(m.inv @ C) - residual_rate(still, np.zeros(s.model.nv))
    nu = still.value(residual)
    assert abs(nu @ mu) < TOLERANCE * np.linalg.norm(nu) * np.linalg.norm(mu)
    assert np.linalg.norm(mu) > MARGIN
