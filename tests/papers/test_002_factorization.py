"""[002] section 3: articulated inertia, the mass matrix factored and inverted.

How [002] is read, and what it is held against, is in `paper_002.py`.
"""

import numpy as np
import pytest
from cases import (
    ALL,
    AXES,
    ROTORS,
    SERIAL,
    TREES,
    applied_forces,
    on,
    points_on,
    psi_by_products,
    state,
)
from classical import motions, point_motion
from equations import MARGIN, TOLERANCE, assemble, block, diagonal, mismatch, value
from paper_002 import articulated_by_elimination, nilpotent_series_holds

import phipsi as pp
from phipsi.operators import (
    B,
    C,
    D,
    E_phi,
    E_psi,
    G,
    H,
    I,
    J,
    Jm,
    K,
    M,
    Mass,
    Omega,
    P,
    T,
    beta_dot,
    blockdiag,
    phi,
    psi,
    tau,
    tau_bar,
)

# -- section 3: articulated inertia and the factorization ------------------------------


@on(*ALL)
@AXES
def test_3_1_articulated_inertia(machine, axes):
    """(3.1): M = P - E_phi [P - P H* (H P H*)^-1 H P] E_phi*, P block diagonal.

    P(k) is the inertia of what lies outboard with all outboard joints free. Any
    machine; with rotors the inner inverse is (H P H* + Jm)^-1, and the
    printed form fails.
    """
    model, q, _, _ = state(machine)
    assert mismatch(model, P, articulated_by_elimination(model, q, axes), q, axes=axes) < TOLERANCE
    D_ = H @ P @ H.T + Jm
    equation = P - E_phi @ (P - P @ H.T @ D_.inv @ H @ P) @ E_phi.T
    assert mismatch(model, equation, M, q, axes=axes) < TOLERANCE
    if machine in ROTORS:
        printed = P - E_phi @ (P - P @ H.T @ blockdiag(H @ P @ H.T).inv @ H @ P) @ E_phi.T
        assert mismatch(model, printed, M, q, axes=axes) > MARGIN


@on(*SERIAL, *TREES)
@AXES
def test_3_2_articulated_letters_by_blocks(machine, axes):
    """(3.2): D = H P H*, G = P H* D^-1, K = E_phi G, tau = G H, tau_bar = I - tau,
    E_psi = E_phi tau_bar, with blocks psi(p,k) = phi(p,k) tau_bar(k). No rotors.

    The witness: G* gives the joint motion that leaves the least kinetic energy
    (the metric is P, found by elimination), so tau* projects on the joint's
    motions, and H tau_bar = 0.
    """
    model, q, _, _ = state(machine)
    P_ = articulated_by_elimination(model, q, axes)
    H_, E_ = pp.as_matrix(model, H, q, axes=axes), pp.as_matrix(model, E_phi, q, axes=axes)

    parent, D_, G_, tau_ = model.tree.parent, [], [], []
    for k in range(len(parent)):
        P_k, H_k = block(model, P_, k, k), block(model, H_, k, k, "joint", "body")
        root = np.linalg.cholesky(P_k)
        G_.append(np.linalg.lstsq(root.T @ H_k.T, root.T, rcond=None)[0].T)
        D_.append(H_k @ P_k @ H_k.T)
        tau_.append(G_[k] @ H_k)

    def carried(parts, columns):
        """phi(p,k) parts(k) at (p,k)."""
        return assemble(
            model,
            lambda i, k: block(model, E_, i, k) @ parts[k] if parent[k] == i else None,
            columns=columns,
        )

    for letter, expected in (
        (D, diagonal(model, D_, "joint", "joint")),
        (G, diagonal(model, G_, "body", "joint")),
        (K, carried(G_, "joint")),
        (tau, diagonal(model, tau_)),
        (tau @ tau, tau),
        (tau_bar @ tau_bar, tau_bar),
        (E_psi, carried([np.eye(6) - x for x in tau_], "body")),
    ):
        assert mismatch(model, letter, expected, q, axes=axes) < TOLERANCE, letter
    assert mismatch(model, H @ tau, H, q, axes=axes) < TOLERANCE  # H tau_bar = 0


@on(*ALL)
@AXES
def test_3_3_psi_is_the_nilpotent_series_of_E_psi(machine, axes):
    """(3.3): E_psi^n = 0, psi = (I - E_psi)^-1 = I + E_psi + E_psi^2 + ... Any machine."""
    model, q, _, _ = state(machine)
    nilpotent_series_holds(model, E_psi, psi, psi_by_products(model, q, axes), q, axes)


@on(*ALL)
@AXES
def test_lemma_1_innovations_factorization(machine, axes):
    """Lemma 1 (3.4): Mass = [I + H phi K] D [I + H phi K]*. Any machine.

    With rotors Mass = H phi M phi* H* + Jm; the left side is that sum.
    """
    model, q, _, _ = state(machine)
    left = H @ phi @ M @ phi.T @ H.T + Jm
    right = (I + H @ phi @ K) @ D @ (I + H @ phi @ K).T
    assert mismatch(model, left, right, q, axes=axes) < TOLERANCE
    if machine in ROTORS:
        assert mismatch(model, H @ phi @ M @ phi.T @ H.T, right, q, axes=axes) > MARGIN


@on(*ALL)
@AXES
def test_lemma_2_inverse_of_the_innovations_factor(machine, axes):
    """Lemma 2 (3.5): [I + H phi K]^-1 = I - H psi K. Any machine."""
    model, q, _, _ = state(machine)
    inverse = np.linalg.inv(value(model, I + H @ phi @ K, q, axes=axes))
    assert mismatch(model, I - H @ psi @ K, inverse, q, axes=axes) < TOLERANCE


@on(*ALL)
@AXES
def test_lemma_3_inverse_of_the_mass_matrix(machine, axes):
    """Lemma 3 (3.6): Mass^-1 = [I - H psi K]* D^-1 [I - H psi K]. Any machine."""
    model, q, _, _ = state(machine)
    inverse = np.linalg.inv(pp.as_matrix(model, Mass, q))
    right = (I - H @ psi @ K).T @ D.inv @ (I - H @ psi @ K)
    assert mismatch(model, inverse, right, q, axes=axes) < TOLERANCE


@on(*ALL)
@AXES
def test_3_7_forward_dynamics_of_a_tree(machine, axes):
    """(3.7): beta_dot_f = [I - H psi K]* D^-1 [I - H psi K] T_hat. Any machine.

    T_hat = T - C holds gravity; T of known accelerations is that of 3-vector
    mechanics, rotors added.
    """
    model, q, v, acceleration = state(machine)
    T_ = applied_forces(model, q, v, acceleration)
    right = (I - H @ psi @ K).T @ D.inv @ (I - H @ psi @ K) @ (T - C)
    assert mismatch(model, right, acceleration, q, v, axes, T=T_) < TOLERANCE


@on(*SERIAL, *TREES)
@AXES
def test_3_8_free_accelerations_of_the_points(machine, axes):
    """(3.8): alpha_f~ = J beta_dot_f = B* alpha_f, alpha_f = phi* H* beta_dot_f. Any machine.

    The witness: point accelerations at rest, where no bias is left.
    """
    model, q, v, acceleration = state(machine)
    points = points_on(model)
    moving = motions(model, q, 0 * v, acceleration)
    at = [point_motion(model, moving, point) for point in points]
    expected = np.concatenate([m.alpha if axes == "world" else m.turn.T @ m.alpha for m in at])
    left = B.T @ phi.T @ H.T @ beta_dot
    values = {"axes": axes, "points": points, "beta_dot": acceleration}
    assert mismatch(model, left, expected, q, **values) < TOLERANCE


@on(*ALL)
@AXES
def test_lemma_4_filtered_propagation(machine, axes):
    """Lemma 4 (3.9): (I - H psi K) H phi = H psi. Any machine."""
    model, q, _, _ = state(machine)
    assert mismatch(model, (I - H @ psi @ K) @ H @ phi, H @ psi, q, axes=axes) < TOLERANCE


@on(*ALL)
@AXES
def test_free_accelerations_are_an_intermediate_of_forward_dynamics(machine, axes):
    """After (3.9): alpha_f = phi* H* Mass^-1 T_hat = psi* H* D^-1 [I - H psi K] T_hat.

    Any machine. Appendix A prints it without H*: psi* D^-1 (..), whose spaces do not meet.
    """
    model, q, v, _ = state(machine)
    T_ = np.random.default_rng(4).normal(size=model.nv)
    solved = np.linalg.solve(pp.as_matrix(model, Mass, q), value(model, T - C, q, v, T=T_))
    left = value(model, phi.T @ H.T @ beta_dot, q, axes=axes, beta_dot=solved)
    right = psi.T @ H.T @ D.inv @ (I - H @ psi @ K) @ (T - C)
    assert mismatch(model, left, right, q, v, axes, T=T_) < TOLERANCE
    with pytest.raises(pp.SpaceError):
        _ = psi.T @ D.inv @ (I - H @ psi @ K) @ (T - C)


@on(*ALL)
@AXES
def test_3_10_operational_compliance(machine, axes):
    """(3.10): Lambda = J Mass^-1 J* = B* Omega B, Omega = psi* H* D^-1 H psi.

    Any machine; several points on several bodies, two of them on one.
    """
    model, q, _, _ = state(machine)
    points = points_on(model)
    J_ = value(model, J, q, axes=axes, points=points)
    Lambda = J_ @ np.linalg.solve(pp.as_matrix(model, Mass, q), J_.T)
    right = B.T @ psi.T @ H.T @ D.inv @ H @ psi @ B
    assert mismatch(model, right, Lambda, q, axes=axes, points=points) < TOLERANCE
    assert mismatch(model, B.T @ Omega @ B, Lambda, q, axes=axes, points=points) < TOLERANCE
