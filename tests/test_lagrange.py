"""Lagrange is Kane is Newton and Euler: what docs/lagrange.md claims, on all machines.

Energies are differentiated by a complex step, V by its definition as a matrix; the
recursion of Newton and Euler is the one that users call.
"""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from machines import MARKET, random_state

import phipsi as pp
from phipsi.joints import Free, Planar, Spherical
from phipsi.operators import H, Jm, M, Mass, U, V, alpha, b, beta, beta_dot, cross, phi

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "docs"))
from _generate import generate  # noqa: E402

STEP = 1e-30
MACHINES = [name for name, make in MARKET.items() if not make().has_mimics]
NO_RATES = (Free, Planar, Spherical)  # joints whose speeds are the rates of no coordinates
BY_RATES = [
    name
    for name in MACHINES
    if not any(isinstance(joint.kind, NO_RATES) for joint in MARKET[name]().joints)
]


def state(name):
    model, rng = MARKET[name](), np.random.default_rng(5)
    q, v = random_state(model, rng)
    return model, q, v, rng.normal(size=model.nv)


def along(model, expression, q, v, dq, dv=0.0):
    """The derivative of an expression along a motion."""
    moved = pp.integrate(model, q, STEP * 1j * dq)
    return pp.as_matrix(model, expression, moved, v + STEP * 1j * dv).imag / STEP


def by_configuration(model, expression, q, v):
    return np.stack([along(model, expression, q, v, unit) for unit in np.eye(model.nv)], -1)


def by_lagrange(model, q, v, vdot):
    kinetic = by_configuration(model, 0.5 * beta.T @ Mass @ beta, q, v)
    potential = by_configuration(model, U, q, v)
    return along(model, Mass @ beta, q, v, v, vdot) - kinetic + potential


def assert_close(found, expected):
    assert np.abs(found - expected).max() <= 1e-11 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("name", MACHINES)
def test_columns_of_phi_and_h_are_the_partial_velocities(name):
    model, q, v, _ = state(name)
    columns = pp.as_matrix(model, phi.T @ H.T, q)
    for j, unit in enumerate(np.eye(model.nv)):
        by_speed = pp.as_matrix(model, V, q, v + STEP * 1j * unit).imag / STEP
        assert_close(columns[:, j], by_speed)
        assert_close(columns[:, j], pp.body_velocities(model, q, unit).reshape(-1))


@pytest.mark.parametrize("name", MACHINES)
def test_balances_projected_on_partial_velocities_are_inverse_dynamics(name):
    model, q, v, vdot = state(name)
    balances = pp.as_matrix(model, M @ alpha + b, q, v, beta_dot=vdot)
    rotors = pp.as_matrix(model, Jm @ beta_dot, q, beta_dot=vdot)
    kane = pp.as_matrix(model, phi.T @ H.T, q).T @ balances + rotors
    assert_close(kane, pp.inverse_dynamics(model, q, v, vdot))


@pytest.mark.parametrize("name", BY_RATES)
def test_lemma_and_lagrange_hold_where_speeds_are_rates(name):
    """ds/dt - dV/dq_j = -V~ s, and so Lagrange's equations are those of Newton and Euler."""
    model, q, v, vdot = state(name)
    left = along(model, phi.T @ H.T, q, v, v) - by_configuration(model, V, q, v)
    assert_close(left, -pp.as_matrix(model, cross[V] @ phi.T @ H.T, q, v))
    assert_close(by_lagrange(model, q, v, vdot), pp.inverse_dynamics(model, q, v, vdot))


def test_speeds_of_a_free_joint_need_the_term_of_boltzmann_and_hamel():
    model, q, v, vdot = state("spacecraft")
    off = by_lagrange(model, q, v, vdot) - pp.inverse_dynamics(model, q, v, vdot)
    momentum = pp.as_matrix(model, Mass @ beta, q, v)[:6]
    turn, move = (np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) for x, y, z in (v[:3], v[3:6]))
    twist = np.block([[turn, np.zeros((3, 3))], [move, turn]])
    assert np.abs(off[:6]).max() > 1.0
    assert_close(off[:6], twist.T @ momentum)
    assert np.abs(off[6:]).max() <= 1e-11 * np.abs(off).max()


def test_page_finds_no_difference(as_for_users):
    text = generate((ROOT / "docs" / "lagrange.md").read_text(encoding="utf-8"), "lagrange.md")
    assert "Lagrange less Newton-Euler = [0, 0]\n" in text
    found = re.findall(r"(?:difference:|holds to|Hamel are off by) (\d\S*)", text)
    assert len(found) == 5 and max(map(float, found)) < 1e-9
    (shown,) = re.findall(r"Lagrange is off by \[(.*?)\]", text, re.DOTALL)
    off = np.array(shown.split(), dtype=float)
    assert off[:6].min() > 1e-3 and off[6:].max() == 0.0
