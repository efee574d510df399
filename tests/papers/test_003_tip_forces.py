"""[003] sections 5.1 and 5.2: what a force at the tips does, and the compliance there.

The paper's letters, and where its results hold, are in `paper_003.py`.
"""

import numpy as np
import pytest
from equations import MARGIN, TOLERANCE, diagonal, relative_difference
from paper_003 import W
from recursions import (
    equations_of_motion,
    forward_dynamics,
    newton_euler,
    riccati,
    smooth,
    state_of,
)

from phipsi.model.tree import WORLD
from phipsi.operators import B, C, D, H, I, J, K, Mass, Omega, T, Y, f0, phi, psi

# -- 5. applications -------------------------------------------------------------------


@pytest.mark.parametrize("axes", ["link", "world"])
def test_lemma_4_whitened_force_propagation(s, axes):
    """Lemma 4, (16): (I - H psi K) H phi = H psi."""
    assert s.mismatch((I - H @ psi @ K) @ H @ phi, H @ psi, axes) < TOLERANCE


def tip_force_response(s):
    """-Mass^-1 J* f(0) as a dense solution."""
    Mass_, _, J_ = equations_of_motion(s)
    return -np.linalg.solve(Mass_, J_.T @ s.f0.ravel())


@pytest.mark.parametrize("axes", ["link", "world"])
def test_equation_17_tip_force_correction(s, axes):
    """(17): the tip force adds -(I - H psi K)* D^-1 (I - H psi K) H phi B f(0) to theta_ddot.

    theta_ddot = theta_ddot_f + this, theta_ddot_f = Mass^-1 (T - C).
    """
    correction = -W.T @ D.inv @ W @ H @ phi @ B @ f0
    assert s.mismatch(correction, tip_force_response(s), axes) < TOLERANCE
    free = W.T @ D.inv @ W @ (T - C)
    assert s.mismatch(free + correction, forward_dynamics(s), axes) < TOLERANCE


@pytest.mark.parametrize("axes", ["link", "world"])
def test_equation_18_simplified_tip_force_correction(s, axes):
    """(18): the same is -(I - H psi K)* D^-1 H psi B f(0)."""
    correction = -W.T @ D.inv @ H @ psi @ B @ f0
    assert s.mismatch(correction, tip_force_response(s), axes) < TOLERANCE


def test_recursion_of_the_tip_force_correction(s):
    """After (18): z(k) = psi(k,k-1) z(k-1), nu = -D^-1 H z, then outward as after (15).

    As printed, z(1) = psi(1,0) f(0) is set before a loop from k = 1 that
    overwrites it by psi(1,0) z(0), with z(0) never set: with z(0) = 0 the force
    is lost. Correct: z(0) = f(0), psi(1,0) := phi(1,0).
    """
    loop = riccati(s)

    def run(z_0):
        z, nu = {}, []
        for k, children in s.inward:
            outer = [step @ f for (i, step), f in zip(s.tips, z_0, strict=True) if i == k]
            outer += [loop.psi[c] @ z[c] for c in children]
            z[k] = sum(outer)
            nu.append(-np.linalg.solve(loop.D[k], s.H[k] @ z[k]))
        return smooth(s, loop, nu[::-1])[0]

    expected = tip_force_response(s)
    assert s.mismatch(run(s.f0), expected) < TOLERANCE
    assert s.mismatch(run(0.0 * s.f0), expected) > MARGIN


@pytest.mark.parametrize("axes", ["link", "world"])
def test_equation_19_compliance_at_the_tip(s, axes):
    """(19): Omega(0) = J Mass^-1 J* = B* phi* H* W* D^-1 W H phi B, W = I - H psi K.

    On trees between all the tips.
    """
    right = B.T @ phi.T @ H.T @ W.T @ D.inv @ W @ H @ phi @ B
    assert s.mismatch(right, compliance(s, axes), axes) < TOLERANCE
    assert s.mismatch(J @ Mass.inv @ J.T, compliance(s, axes), axes) < TOLERANCE


@pytest.mark.parametrize("axes", ["link", "world"])
def test_equation_20_simplified_compliance_at_the_tip(s, axes):
    """(20): Omega(0) = B* psi* H* D^-1 H psi B, between all the tips of a tree."""
    right = B.T @ psi.T @ H.T @ D.inv @ H @ psi @ B
    assert s.mismatch(right, compliance(s, axes), axes) < TOLERANCE
    assert s.mismatch(B.T @ Omega @ B, compliance(s, axes), axes) < TOLERANCE


def compliance(s, axes):
    """J Mass^-1 J* as a dense solution."""
    Mass_, _, J_ = equations_of_motion(s)
    if axes == "link":
        turns = [np.kron(np.eye(2), s.poses[k][0]).T for k, _ in s.tips]
        J_ = np.concatenate(
            [turn @ rows for turn, rows in zip(turns, J_.reshape(-1, 6, s.model.nv), strict=True)]
        )
    return J_ @ np.linalg.solve(Mass_, J_.T)


def test_recursion_of_the_compliance_at_the_tip(s):
    """After (20): Omega(k) = psi* Omega(k+1) psi + H* D^-1 H outward.

    Omega(0) = phi*(1,0) Omega(1) phi(1,0). On trees this gives the block of each
    tip with itself. Omega(k) is Y(k).
    """
    loop, Omega_ = riccati(s), {WORLD: np.zeros((6, 6))}
    for k, p in s.outward:
        own = s.H[k].T @ np.linalg.solve(loop.D[k], s.H[k])
        Omega_[k] = loop.psi[k].T @ Omega_[p] @ loop.psi[k] + own
    assert s.mismatch(Y, diagonal(s.model, Omega_)) < TOLERANCE
    expected = compliance(s, "world")
    for e, (k, step) in enumerate(s.tips):
        own = expected[6 * e : 6 * e + 6, 6 * e : 6 * e + 6]
        assert relative_difference(step.T @ Omega_[k] @ step, own) < TOLERANCE


def test_effective_inertia_at_the_tip():
    """Sec. 5.2: Lambda = (J Mass^-1 J*)^-1 is the inertia felt at the tip: f = Lambda alpha(0).

    A force -f(0) ON the tip of an arm at rest. Domain: the tip has all six
    freedoms; here serial arms of seven joints and more.
    """
    for name in ("serial_revolute", "serial_revolute_prismatic", "serial_multidof"):
        s = state_of(name).at_rest().but(f0=state_of(name).f0)
        moved = newton_euler(s.but(beta_dot=tip_force_response(s)))
        Lambda = (J @ Mass.inv @ J.T).inv
        assert s.mismatch(-s.value(Lambda) @ np.concatenate(moved.alpha0), s.f0.ravel()) < TOLERANCE
