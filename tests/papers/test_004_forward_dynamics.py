"""[004-I] sections 4 and 5: forward dynamics FD1 to FD4, as operators and as sweeps.

The paper's letters, and where its results hold, are in `paper_004.py`.
"""

import numpy as np
import pytest
from cases import ALL, AXES, on, points_on, state
from classical import motions, phi_of, point_motion, tilde
from equations import MARGIN, TOLERANCE, a_g, by_joint, mismatch, relative_difference
from paper_004 import L, Psi, Sweeps, Tipped

import phipsi as pp
from phipsi.operators import (
    B,
    C,
    D,
    G,
    H,
    I,
    J,
    M,
    Mass,
    P,
    S,
    T,
    V,
    b,
    beta,
    f0,
    phi,
    psi,
    psi_tilde,
)

# -- sections 4 and 5: forward dynamics ------------------------------------------------

T_prime = T - H @ phi @ (M @ phi.T @ a_g + b + B @ f0)  # (4.17)


@on(*ALL)
@AXES
def test_FD1_forward_dynamics_without_bias(machine, axes):
    """FD1 (4.17), (4.18): T' = T - H phi [M phi* a + b + B f(0)],
    theta_ddot = (I - H Psi L)* D^-1 (I - H Psi L) T'.

    Any machine, gravity by (3.21), forces at several points, rotors. The
    witness: T comes from 3-vector mechanics of known accelerations; a dense
    solve of the equations of motion gives the same.
    """
    tipped = Tipped(machine, axes)
    found = tipped.value((I - H @ Psi @ L).T @ D.inv @ (I - H @ Psi @ L) @ T_prime)
    assert relative_difference(found, tipped.acceleration) < TOLERANCE
    solved = np.linalg.solve(tipped.value(Mass), tipped.value(T - C - J.T @ f0))
    assert relative_difference(found, solved) < TOLERANCE


@on(*ALL)
def test_FD1_as_sweeps(machine):
    """(4.19)-(4.22): z^ = psi z^(k-1) + L T'(k-1), eps = T' - H z^, nu = D^-1 eps tip to base;
    lambda = psi* lambda(k+1) + H* nu, theta_ddot = nu - L* lambda(k+1) base to tip.

    The scan shows eps = T - H z^, which fails; it must be T' throughout. Any machine.
    """
    sweeps = Sweeps(machine)
    free = by_joint(sweeps.model, sweeps.tipped.value(T_prime))
    zero = np.zeros(6)
    z = sweeps.inward(lambda k: zero, lambda c, x: sweeps.psi[c] @ x + sweeps.L[c] @ free[c])

    def accelerations(T_x):
        return sweeps.smooth(sweeps.innovate(T_x, z))[1]

    assert relative_difference(accelerations(free), sweeps.tipped.acceleration) < TOLERANCE
    raw = accelerations(by_joint(sweeps.model, sweeps.tipped.T))
    assert relative_difference(raw, sweeps.tipped.acceleration) > MARGIN


@on(*ALL)
@AXES
def test_identity_5_1_filtered_propagation(machine, axes):
    """IDENTITY 5.1 (5.4): (I - H Psi L) H phi = H psi. Any machine."""
    model, q, _, _ = state(machine)
    assert mismatch(model, (I - H @ Psi @ L) @ H @ phi, H @ psi, q, axes=axes) < TOLERANCE


@on(*ALL)
@AXES
def test_FD2_forward_dynamics_with_link_accelerations(machine, axes):
    """FD2 (5.5)-(5.7): alpha = psi* H* D^-1 (I - H Psi L) T' + phi* a, alpha(0) = B* alpha + a(0),
    and theta_ddot as in FD1.

    Any machine; the witness: accelerations of bodies and points by two
    derivatives of their positions, minus gravity as (3.21) asks.
    """
    tipped = Tipped(machine, axes)
    nu = D.inv @ (I - H @ Psi @ L) @ T_prime
    alpha_ = psi.T @ H.T @ nu + phi.T @ a_g
    assert relative_difference(tipped.value(alpha_), tipped.felt(tipped.moving)) < TOLERANCE
    at_tips = tipped.value(B.T @ alpha_) + tipped.bias()
    assert relative_difference(at_tips, tipped.felt(tipped.tips)) < TOLERANCE
    theta_ddot = tipped.value(nu - L.T @ S.T @ psi.T @ H.T @ nu)
    assert relative_difference(theta_ddot, tipped.acceleration) < TOLERANCE


@on(*ALL)
def test_FD2_as_sweeps(machine):
    """(4.21b)-(4.23): with lambda of (4.21), xi(k) = phi* xi(k+1) + a(k) and alpha = lambda + xi;
    alpha(0) = phi*(1,0) alpha(1) + a(0), a(0) = 0 in link axes. Any machine."""
    sweeps = Sweeps(machine)
    tipped = sweeps.tipped
    nu = by_joint(sweeps.model, tipped.value(D.inv @ (I - H @ Psi @ L) @ T_prime))
    costate, theta_ddot = sweeps.smooth(nu)
    bias = sweeps.by_body(a_g)
    xi = sweeps.outward(lambda k: bias[k], lambda k, x: sweeps.phi[k].T @ x)
    alpha_ = [x + y for x, y in zip(costate, xi, strict=True)]
    assert relative_difference(theta_ddot, tipped.acceleration) < TOLERANCE
    assert relative_difference(alpha_, tipped.felt(tipped.moving)) < TOLERANCE
    at_tips = []
    for point in tipped.points:
        k, place = tipped.model.locate(point)
        at_tips.append(phi_of(np.array(place.position)).T @ alpha_[k])
    assert relative_difference(at_tips, tipped.felt(tipped.tips)) < TOLERANCE


@on(*ALL)
@AXES
def test_FD3_forward_dynamics_in_three_sweeps(machine, axes):
    """FD3 (5.8)-(5.10): zeta = phi* a, eps = T - H psi [S L T + M zeta + b + B f(0)],
    theta_ddot = (I - H Psi L)* D^-1 eps. Any machine."""
    tipped = Tipped(machine, axes)
    zeta = phi.T @ a_g
    eps = T - H @ psi @ (S @ L @ T + M @ zeta + b + B @ f0)
    found = tipped.value((I - H @ Psi @ L).T @ D.inv @ eps)
    assert relative_difference(found, tipped.acceleration) < TOLERANCE


@on(*ALL)
@AXES
def test_FD4_forward_dynamics_without_bias_sweep(machine, axes):
    """FD4 (5.14), (5.15): nu = D^-1 {T - H [psi (S L T + b + B f(0)) + psi~ P a]},
    theta_ddot = (I - H Psi L)* nu - L* Psi* (I - G H)* a - G* a. Any machine.

    (5.14) is lost in the scan; this form follows from (a.50). With psi P a in
    the place of psi~ P a it fails ([001 (67)] has psi, and + D^-1 H P a beside it).
    """
    tipped = Tipped(machine, axes)

    def accelerations(P_a):
        nu = D.inv @ (T - H @ (psi @ (S @ L @ T + b + B @ f0) + P_a))
        smoothed = (I - H @ Psi @ L).T @ nu
        return tipped.value(smoothed - L.T @ Psi.T @ (I - G @ H).T @ a_g - G.T @ a_g)

    found = accelerations(psi_tilde @ P @ a_g)
    assert relative_difference(found, tipped.acceleration) < TOLERANCE
    assert relative_difference(accelerations(psi @ P @ a_g), tipped.acceleration) > MARGIN


@on(*ALL)
def test_FD4_as_sweeps(machine):
    """(5.16), (5.17): z(k) = psi z(k-1) + L T(k-1) + psi P a(k-1) + b(k), nu = D^-1 (T - H z);
    lambda = psi* lambda(k+1) + H* nu + (I - G H)* a, theta_ddot = nu - L* lambda(k+1) - G* a.

    With the tip force entering as phi(1,0) f(0). The scan shows z without b(k),
    which fails. Any machine.
    """
    sweeps = Sweeps(machine)
    tipped = sweeps.tipped
    bias, tip = sweeps.by_body(a_g), sweeps.by_body(B @ f0)
    T_ = by_joint(sweeps.model, tipped.T)

    def from_child(c, z):
        return sweeps.psi[c] @ (z + sweeps.P[c] @ bias[c]) + sweeps.L[c] @ T_[c]

    def accelerations(b_):
        z = sweeps.inward(lambda k: tip[k] + b_[k], from_child)
        return sweeps.smooth(sweeps.innovate(T_, z), bias)[1]

    gyroscopic = sweeps.by_body(b)
    assert relative_difference(accelerations(gyroscopic), tipped.acceleration) < TOLERANCE
    assert relative_difference(accelerations(0.0 * gyroscopic), tipped.acceleration) > MARGIN


def test_5_13_velocities_not_tip_velocities():
    """(5.13): V = phi* H* theta_dot, the velocities of the links, from which FD4 makes a and b.

    Printed V = B* phi* H* theta_dot: these are the tip velocities of (3.13), a
    vector of another space, of which no body's S[V] can be made.
    """
    model, q, v, _ = state("serial_revolute")
    point = points_on(model)[0]
    printed = B.T @ phi.T @ H.T @ beta
    moving = motions(model, q, v)
    tip = point_motion(model, moving, point)
    assert mismatch(model, printed, tip.V, q, v, "world", [point]) < TOLERANCE
    with pytest.raises(pp.SpaceError):
        _ = V + printed
    with pytest.raises(pp.SpaceError):
        _ = S[printed]
    corrected = phi.T @ H.T @ beta
    momenta, spins = [], []  # b(k) = omega~ times the momentum of the mass centre, carried to O(k)
    for m, body in zip(moving, model.bodies, strict=True):
        V_k, x = m.turn.T @ m.V, body.inertia
        p = phi_of(np.array(x.com))
        V_c = p.T @ V_k
        momenta.append(np.concatenate([x.rotational @ V_c[:3], x.mass * V_c[3:]]))
        spins.append(p @ np.kron(np.eye(2), tilde(V_k[:3])))
    expected = np.concatenate([X @ h for X, h in zip(spins, momenta, strict=True)])
    assert mismatch(model, S[corrected] @ M @ corrected, expected, q, v) < TOLERANCE
