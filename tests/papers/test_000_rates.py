"""[000] Lemmas 3.1, 3.3 and 3.5: the rates of M, H and phi along a motion, in world axes.

W is Omega~ = diag[omega~(k), omega~(k)], from the rates of the poses; W_s has
Omega~ of each body's parent.
"""

import numpy as np
import pytest
from equations import (
    TOLERANCE,
    block,
    diagonal,
    mismatch,
    random_state,
    relative_difference,
    time_derivative,
)
from paper_000 import (
    ALL_REVOLUTE,
    ALL_TURNING,
    ANY,
    MACHINES,
    ONE_DOF,
    inertias,
    motions,
    phi_of,
    rates,
    tilde,
    turning,
)

from phipsi.model.tree import WORLD
from phipsi.operators import (
    HH,
    Delta_phi,
    E_phi,
    H,
    HH_delta,
    HH_s,
    M,
    S,
    operator,
    phi,
    phi_tilde,
)

W, W_s = operator("W", "body", "body"), operator("W_s", "body", "body")


def angular_velocities(model, q, v):
    """omega of each body, and of its parent: from the rates of the poses."""
    omega = [moving.omega for moving in motions(model, q, v)]
    return omega, [np.zeros(3) if p == WORLD else omega[p] for p in model.tree.parent]


def rate_mismatch(model, q, v, expression, formula):
    """d/dt of an expression against a formula with W = Omega~ and W_s = Omega~ of the parents."""
    omega, outer = angular_velocities(model, q, v)
    given = {"W": [turning(x) for x in omega], "W_s": [turning(x) for x in outer]}
    left = time_derivative(model, expression, q, v, axes="world")
    return mismatch(model, left, formula, q, axes="world", **given)


# -- Lemma 3.1: rates, body by body ----------------------------------------------------


@pytest.mark.parametrize("name", ANY)
def test_lemma_3_1_rate_of_inertia(name):
    """(3.19): M_dot(k) = Omega~(k) M(k) - M(k) Omega~(k). Any tree, any joint."""
    model = MACHINES[name]()
    q, v = random_state(model)
    assert rate_mismatch(model, q, v, M, W @ M - M @ W) < TOLERANCE


@pytest.mark.parametrize("name", ANY)
def test_lemma_3_1_rate_of_inertia_by_blocks(name):
    """(3.24): M_dot = [[omega~ J - J omega~, m (omega~ p)~], [-m (omega~ p)~, 0]]."""
    model = MACHINES[name]()
    q, v = random_state(model)
    moving, M_ = motions(model, q, v), inertias(model, q)

    def rate(k):
        inertia, J, spin = model.bodies[k].inertia, M_[k][:3, :3], tilde(moving[k].omega)
        mp = inertia.mass * tilde(spin @ moving[k].R @ inertia.com)
        return np.block([[spin @ J - J @ spin, mp], [-mp, np.zeros((3, 3))]])

    left = time_derivative(model, M, q, v, axes="world")
    assert relative_difference(left, diagonal(model, rate)) < TOLERANCE


@pytest.mark.parametrize("name", ONE_DOF)
def test_lemma_3_1_rate_of_joint_map(name):
    """(3.20), (3.23): H*_dot(k) = Omega~(k+1) H*(k). Any one-dof joint, any tree."""
    model = MACHINES[name]()
    q, v = random_state(model)
    assert rate_mismatch(model, q, v, H.T, W_s @ H.T) < TOLERANCE


def test_lemma_3_1_rate_of_joint_map_fails_for_several_speeds():
    """(3.20) fails for joints whose axes also turn with the child, such as spherical ones."""
    for name in ("tree_rotational", "serial_multidof"):
        model = MACHINES[name]()
        q, v = random_state(model)
        assert rate_mismatch(model, q, v, H.T, W_s @ H.T) > 0.1


@pytest.mark.parametrize("name", ALL_TURNING)
def test_lemma_3_1_rate_of_phi(name):
    """(3.21): phi_dot(k+1,k) = Omega~(k+1) phi(k+1,k) - phi(k+1,k) Omega~(k+1).

    Any tree of joints that only turn.
    """
    model = MACHINES[name]()
    q, v = random_state(model)
    assert rate_mismatch(model, q, v, E_phi, W @ E_phi - E_phi @ W_s) < TOLERANCE


def test_lemma_3_1_rate_of_phi_fails_for_joints_that_slide():
    """(3.21) has l(k+1,k) fixed in body k+1: not so for prismatic joints."""
    model = MACHINES["serial_revolute_prismatic"]()
    q, v = random_state(model)
    assert rate_mismatch(model, q, v, E_phi, W @ E_phi - E_phi @ W_s) > 0.1


@pytest.mark.parametrize("name", ALL_TURNING)
def test_rate_of_phi_3_22_has_the_tilde_of_a_vector(name):
    """(3.22): its corner is (omega~ l)~ = omega~ l~ - l~ omega~; printed first as omega~ l~."""
    model = MACHINES[name]()
    q, v = random_state(model)
    moving, parent = motions(model, q, v), model.tree.parent
    rate = time_derivative(model, E_phi, q, v, axes="world")
    corrected, second, printed, corners = [], [], [], []
    for k, p in enumerate(parent):
        if p == WORLD:
            continue
        spin, l = tilde(moving[p].omega), moving[k].p - moving[p].p
        corners.append(block(model, rate, p, k)[:3, 3:])
        corrected.append(tilde(spin @ l))
        second.append(spin @ tilde(l) - tilde(l) @ spin)
        printed.append(spin @ tilde(l))
    assert relative_difference(corners, corrected) < TOLERANCE
    assert relative_difference(corners, second) < TOLERANCE
    assert relative_difference(corners, printed) > 0.1


# -- Lemma 3.3: rates of the operators -------------------------------------------------


@pytest.mark.parametrize("name", ANY)
def test_Delta_phi_3_28_3_29(name):
    """(3.28): Delta_phi = diag[phi(k+1,k)], [[1, l~], [0, 1]] in world axes, that of the base
    from the world; (3.29): E_phi = S Delta_phi. Any tree, any joint."""
    model = MACHINES[name]()
    q, v = random_state(model)
    place = [moving.p for moving in motions(model, q, v)]
    inner = [np.zeros(3) if p == WORLD else place[p] for p in model.tree.parent]
    steps = diagonal(model, lambda k: phi_of(place[k] - inner[k]))
    assert mismatch(model, Delta_phi, steps, q, axes="world") < TOLERANCE
    for axes in ("link", "world"):
        assert mismatch(model, E_phi, S @ Delta_phi, q, axes=axes) < TOLERANCE


@pytest.mark.parametrize("name", ALL_TURNING)
def test_lemma_3_3_rate_of_Delta_phi(name):
    """(3.30): Delta_phi_dot = Omega~_s Delta_phi - Delta_phi Omega~_s. Joints that turn."""
    model = MACHINES[name]()
    q, v = random_state(model)
    Omega_s = rates(model, HH_s, v)
    left = time_derivative(model, Delta_phi, q, v, axes="world")
    right = Omega_s @ Delta_phi - Delta_phi @ Omega_s
    assert mismatch(model, left, right, q, axes="world") < TOLERANCE


@pytest.mark.parametrize("name", ALL_TURNING)
def test_lemma_3_3_rate_of_E_phi(name):
    """(3.31): E_phi_dot = Omega~ E_phi - E_phi Omega~_s. Joints that turn, any tree."""
    model = MACHINES[name]()
    q, v = random_state(model)
    left = time_derivative(model, E_phi, q, v, axes="world")
    right = rates(model, HH, v) @ E_phi - E_phi @ rates(model, HH_s, v)
    assert mismatch(model, left, right, q, axes="world") < TOLERANCE


def test_lemma_3_3_rate_of_H():
    """(3.32): H*_dot = Omega~_s H*. Revolute joints; fails for turning joints of more speeds."""
    for name in ALL_TURNING:
        model = MACHINES[name]()
        q, v = random_state(model)
        left = time_derivative(model, H.T, q, v, axes="world")
        difference = mismatch(model, left, rates(model, HH_s, v) @ H.T, q, axes="world")
        assert difference < TOLERANCE if name in ALL_REVOLUTE else difference > 0.1


@pytest.mark.parametrize("name", ALL_TURNING)
def test_lemma_3_3_rate_of_M(name):
    """(3.33): M_dot = Omega~ M - M Omega~. Joints that turn, any tree."""
    model = MACHINES[name]()
    q, v = random_state(model)
    left = time_derivative(model, M, q, v, axes="world")
    Omega_ = rates(model, HH, v)
    assert mismatch(model, left, Omega_ @ M - M @ Omega_, q, axes="world") < TOLERANCE


@pytest.mark.parametrize("name", ALL_TURNING)
def test_lemma_3_3_rate_of_phi(name):
    """(3.34): phi_dot = phi Omega~ phi~ - phi~ Omega~_s phi
    = phi Omega~_delta phi + Omega~_s phi - phi Omega~. Joints that turn, any tree."""
    model = MACHINES[name]()
    q, v = random_state(model)
    left = time_derivative(model, phi, q, v, axes="world")
    whole, outer, own = (rates(model, letter, v) for letter in (HH, HH_s, HH_delta))
    first = phi @ whole @ phi_tilde - phi_tilde @ outer @ phi
    second = phi @ own @ phi + outer @ phi - phi @ whole
    assert mismatch(model, left, first, q, axes="world") < TOLERANCE
    assert mismatch(model, left, second, q, axes="world") < TOLERANCE


# -- Lemma 3.5 --------------------------------------------------------------------------


def test_lemma_3_5_rate_of_H_phi():
    """Lemma 3.5: d/dt (H phi) = H phi [Omega~_delta phi - Omega~]. Revolute joints, any tree.

    Printed without the tildes of Omega. Fails for turning joints of more speeds.
    """
    for name in ALL_TURNING:
        model = MACHINES[name]()
        q, v = random_state(model)
        left = time_derivative(model, H @ phi, q, v, axes="world")
        right = H @ phi @ (rates(model, HH_delta, v) @ phi - rates(model, HH, v))
        difference = mismatch(model, left, right, q, axes="world")
        assert difference < TOLERANCE if name in ALL_REVOLUTE else difference > 0.1
