"""[002] sections 2.3 and 3: closed topologies, by a dense solve and by steps (A) to (F).

How [002] is read, and what it is held against, is in `paper_002.py`.
"""

import numpy as np
import pytest
from equations import MARGIN, TOLERANCE, mismatch, relative_difference, value
from paper_002 import GRASPS, LOOPS, PRINTED_RIGID, RIGID, Grasp, Loop, constrained

import phipsi as pp
from phipsi.operators import (
    B,
    C,
    D,
    H,
    I,
    J,
    K,
    M,
    Mass,
    Omega,
    P,
    T,
    V,
    beta,
    beta_dot,
    phi,
    psi,
    vector,
)

# -- section 2.3: closed topologies ----------------------------------------------------


@GRASPS
def test_2_15_two_trees_taken_as_one_are_block_diagonal(kinds):
    """(2.15) and the remark before (3.13): psi = diag(psi_P, psi_S), H = diag(H_P, H_S), ...,
    so T_hat_P = Mass_P beta_dot_P and T_hat_S = Mass_S beta_dot_S side by side. Forests."""
    grasp = Grasp(kinds)
    n = grasp.arm.nq
    for letter in (H, phi, M, psi, P, D, Mass):
        primary = pp.as_matrix(grasp.arm, letter, grasp.q_open[:n])
        secondary = pp.as_matrix(grasp.object, letter, grasp.q_open[n:])
        corner = np.zeros((len(primary), secondary.shape[1]))
        other = np.zeros((len(secondary), primary.shape[1]))
        expected = np.block([[primary, corner], [other, secondary]])
        assert mismatch(grasp.open, letter, expected, grasp.q_open) < TOLERANCE, letter


@GRASPS
def test_2_16_rigid_coupling_needs_opposite_signs(kinds):
    """(2.16) with sec. 2.3: A [J_P beta_P; J_S beta_S] = U~ = 0 for a rigid grasp.

    The text says both that Q_P = -Q_S and that rigid coupling has Q_P = I and
    Q_S = I; the relative velocity vanishes for Q_S = -I. World axes. The
    speeds are those of the machine with the object welded to the arm.
    """
    grasp = Grasp(kinds)
    velocities = value(grasp.open, J @ beta, grasp.q_open, grasp.v_open, "world", grasp.points)
    size = np.linalg.norm(velocities)
    assert np.linalg.norm(RIGID @ velocities) < TOLERANCE * size
    assert np.linalg.norm(PRINTED_RIGID @ velocities) > MARGIN * size


@GRASPS
def test_2_17_closed_chain_equations_of_motion(kinds):
    """(2.17): [[Mass, J* A*], [A J, 0]] [beta_dot; f~] = [T_hat; U], U = dU~/dt - A J_dot beta.

    The witness: the machine with the object welded on, an open chain. With
    Q_S = I as printed in sec. 2.3 the accelerations are wrong. U prints J_dot
    applied to V; J, and so J_dot, takes joint speeds. World axes, no gravity.
    N_C counts the freedoms left: N_P + N_S - N_E (printed N + N_S - N_E).
    """
    grasp = Grasp(kinds)
    n = grasp.arm.nv
    T_ = np.random.default_rng(5).normal(size=n)
    expected = value(grasp.welded, Mass.inv @ (T - C), grasp.q, grasp.v, T=T_)
    T_hat = value(grasp.open, T - C, grasp.q_open, grasp.v_open, T=np.append(T_, np.zeros(6)))
    mass, AJ, U = grasp.dense(RIGID)
    beta_dot_, f_ = constrained(mass, AJ, T_hat, U)
    assert relative_difference(beta_dot_[:n], expected) < TOLERANCE
    assert np.linalg.matrix_rank(AJ) == 6 == n + 6 - grasp.welded.nv  # N_E = N_P + N_S - N_C

    # Eliminating beta_dot, the second form: -(A Lambda A*) f~ = U - A J Mass^-1 T_hat.
    Lambda = value(grasp.open, J @ Mass.inv @ J.T, grasp.q_open, axes="world", points=grasp.points)
    right = U - AJ @ np.linalg.solve(mass, T_hat)
    assert relative_difference(-RIGID @ Lambda @ RIGID.T @ f_, right) < TOLERANCE

    mass, AJ, U = grasp.dense(PRINTED_RIGID)
    assert relative_difference(constrained(mass, AJ, T_hat, U)[0][:n], expected) > MARGIN
    with pytest.raises(pp.SpaceError):
        _ = J @ V


# -- section 3: closed chains ----------------------------------------------------------


@LOOPS
def test_3_11_steps_A_to_F(machine):
    """Steps (A)-(F) with (3.11): f~ = [A Lambda A*]^-1 (A alpha_f~ - U),
    beta_dot = beta_dot_f - Mass^-1 J* A* f~. Trees and forests with a loop, rotors too.

    The witness: the dense solve of (2.17).
    """
    loop = Loop(machine)
    A, x = loop.A, vector("x", "joint")
    factor = I - H @ psi @ K
    free = loop.dense(factor.T @ D.inv @ factor @ x, x=loop.T_hat)  # (A)
    alpha_f = loop.dense(J @ beta_dot, beta_dot=free)  # (B)
    Lambda = loop.dense(B.T @ Omega @ B)  # (C)
    f_ = np.linalg.solve(A @ Lambda @ A.T, A @ alpha_f - loop.U)  # (D)
    delta = -loop.dense(factor.T @ D.inv @ factor @ x, x=loop.dense(J).T @ A.T @ f_)  # (E)
    assert relative_difference(f_, loop.f) < TOLERANCE
    assert relative_difference(free + delta, loop.beta_dot) < TOLERANCE  # (F)


@GRASPS
def test_step_D_by_the_secondary_system(kinds):
    """Step (D), second form, with W = (A_P Lambda_P A_P*)^-1:

        beta_dot_S = [Mass_S + J_S* A_S* W A_S J_S]^-1 [T_hat_S - J_S* A_S* W (A_P alpha_f_P - U)]
        f~ = W [(A_P alpha_f_P + A_S J_S beta_dot_S) - U]

    Needs A_P Lambda_P A_P* invertible: here an arm of seven freedoms or of six.
    """
    grasp = Grasp(kinds)
    n = grasp.arm.nv
    T_hat = np.random.default_rng(7).normal(size=n + 6)
    mass, AJ, U = grasp.dense(RIGID)
    expected, f_expected = constrained(mass, AJ, T_hat, U)
    AJ_P, AJ_S = AJ[:, :n], AJ[:, n:]
    W = np.linalg.inv(AJ_P @ np.linalg.solve(mass[:n, :n], AJ_P.T))
    A_alpha_P = AJ_P @ np.linalg.solve(mass[:n, :n], T_hat[:n])
    beta_dot_S = np.linalg.solve(
        mass[n:, n:] + AJ_S.T @ W @ AJ_S, T_hat[n:] - AJ_S.T @ W @ (A_alpha_P - U)
    )
    f_ = W @ (A_alpha_P + AJ_S @ beta_dot_S - U)
    assert relative_difference(beta_dot_S, expected[n:]) < TOLERANCE
    assert relative_difference(f_, f_expected) < TOLERANCE


@LOOPS
def test_3_12_correction_accelerations(machine):
    """(3.12): beta_dot_delta = -Mass^-1 J* A* f~ = -[I - H psi K]* D^-1 H psi B A* f~.

    Trees and forests with a loop; the witness: the dense solve of (2.17).
    """
    loop = Loop(machine)
    correction = -loop.dense((I - H @ psi @ K).T @ D.inv @ H @ psi @ B) @ loop.A.T @ loop.f
    assert relative_difference(correction, loop.beta_dot - loop.free) < TOLERANCE


@LOOPS
def test_3_13_closed_topology_forward_dynamics(machine):
    """(3.13): with b = D^-1/2 H psi B A* and W = (A Lambda A*)^-1,

        beta_dot = [I - H psi K]* D^-1/2 {[I - b W b*] D^-1/2 [I - H psi K] T_hat + b W U}

    Printed with b = H psi B A* and without the term in U: wrong on both
    counts, each shown alone. D^-1/2 is the inverse Cholesky factor, its
    transpose where it stands on the left. Trees and forests with a loop.
    """
    loop = Loop(machine)
    A, factor = loop.A, I - H @ psi @ K
    root = D.sqrt.inv
    inner = np.linalg.inv(A @ loop.dense(B.T @ Omega @ B) @ A.T)
    left, right = loop.dense(factor.T @ root.T), loop.dense(root @ factor) @ loop.T_hat
    b_ = loop.dense(root @ H @ psi @ B) @ A.T
    b_printed = loop.dense(H @ psi @ B) @ A.T

    def accelerations(b_x, U):
        return left @ (right - b_x @ inner @ (b_x.T @ right) + b_x @ inner @ U)

    assert relative_difference(accelerations(b_, loop.U), loop.beta_dot) < TOLERANCE
    assert relative_difference(accelerations(b_, 0 * loop.U), loop.beta_dot) > MARGIN
    mass, AJ = loop.dense(Mass), A @ loop.dense(J)
    without_U, _ = constrained(mass, AJ, loop.T_hat, 0 * loop.U)
    assert relative_difference(accelerations(b_, 0 * loop.U), without_U) < TOLERANCE
    assert relative_difference(accelerations(b_printed, 0 * loop.U), without_U) > MARGIN
