"""[001] sections II to IV: spatial quantities, the Newton-Euler recursions, the Jacobian.

The paper's letters, and where its results hold, are in `paper_001.py`.
"""

import numpy as np
import pytest
from classical import joint_forces, joint_wrenches, motions, phi_of, point_motion
from equations import TOLERANCE, assemble, block, diagonal, phi_by_products, relative_difference
from recursions import newton_euler, state_of

from phipsi.model.tree import WORLD
from phipsi.operators import B, H, J, Jm, M, V, a, alpha, b, beta, beta_dot, phi

# -- II. state space model -------------------------------------------------------------


def test_equation_1_spatial_acceleration_is_the_rate_of_spatial_velocity(s):
    """(1): V(k) = [omega; v], alpha(k) = [omega_dot; v_dot], in inertial axes.

    Witness: first and second derivatives of the bodies' poses.
    """
    moving = motions(s.model, s.q, s.v, s.beta_dot)
    g = np.array([0.0, 0.0, 0.0, *s.model.gravity])
    assert s.mismatch(V, [body.V for body in moving]) < TOLERANCE
    assert s.mismatch(alpha, [body.alpha - g for body in moving]) < TOLERANCE


def test_equation_2_spatial_inertia(s):
    """(2): M(k) = [[I(k), m p~], [-m p~, m]], I(k) the inertia about O(k) by Steiner's rule."""
    assert s.mismatch(M, diagonal(s.model, s.M)) < TOLERANCE


def test_equation_3_transition_matrix_is_the_vector_between_two_origins(s):
    """(3): phi(i,j) = [[1, l~(i,j)], [0, 1]] in inertial axes, for i inboard of j.

    (17) makes these the blocks of the operator phi; bodies on different branches share none.
    """

    def phi_ij(i, j):
        return phi_of(s.arm(i, j)) if s.model.tree.is_inboard(i, j) else None

    assert s.mismatch(phi, assemble(s.model, phi_ij)) < TOLERANCE


def test_equation_4_transition_matrices_compose_and_invert(s):
    """(4): phi(i,i) = 1, phi^-1(i,j) = phi(j,i), phi(i,k) phi(k,j) = phi(i,j).

    On every i inboard of k inboard of j; phi(j,i), which goes outward, by (3).
    """
    matrix, tree = s.value(phi), s.model.tree
    for j in tree.base_to_tip:
        assert relative_difference(block(s.model, matrix, j, j), np.eye(6)) < TOLERANCE
        for k in tree.path(j):
            outward = block(s.model, matrix, k, j)
            assert relative_difference(np.linalg.inv(outward), phi_of(s.arm(j, k))) < TOLERANCE
            for i in tree.path(k):
                product = block(s.model, matrix, i, k) @ outward
                assert relative_difference(product, block(s.model, matrix, i, j)) < TOLERANCE


@pytest.mark.parametrize("axes", ["link", "world"])
def test_equation_5_transition_matrix_is_a_product_of_steps(s, axes):
    """(5): phi(i,k) = phi(i,i-1) ... phi(k+1,k), the steps along the path from k to i."""
    step = phi_by_products(s.model, s.q, axes)
    matrix = assemble(s.model, lambda i, k: step.get((i, k)))
    assert s.mismatch(phi, matrix, axes) < TOLERANCE


# -- III. recursive Newton-Euler equations ---------------------------------------------


def test_equations_6_to_9_outward_recursion(s):
    """(6)-(9): V(k) = phi* V(k+1) + H* beta, alpha(k) = phi* alpha(k+1) + H* beta_dot + a.

    At the tips V(0) = phi*(1,0) V(1), alpha(0) = phi*(1,0) alpha(1) + a(0). The
    loop gives what the poses' derivatives give, and a is the letter a.
    """
    loop, moving = newton_euler(s), motions(s.model, s.q, s.v, s.beta_dot)
    g = np.array([0.0, 0.0, 0.0, *s.model.gravity])
    tips = [point_motion(s.model, moving, point) for point in s.points]
    assert relative_difference(loop.V, [body.V for body in moving]) < TOLERANCE
    assert relative_difference(loop.alpha, [body.alpha - g for body in moving]) < TOLERANCE
    assert relative_difference(loop.V0, [tip.V for tip in tips]) < TOLERANCE
    assert relative_difference(loop.alpha0, [tip.alpha - g for tip in tips]) < TOLERANCE
    assert s.mismatch(a, loop.a) < TOLERANCE


def test_equations_10_to_12_inward_recursion(s):
    """(10)-(12): f(k) = phi(k,k-1) f(k-1) + M alpha + b, f(0) = f_ext, T = H f.

    The loop gives the forces through the joints that the rates of momentum ask
    for, and b is the letter b. Rotor inertia adds Jm beta_dot to T.
    """
    loop, moving = newton_euler(s), motions(s.model, s.q, s.v, s.beta_dot)
    tip_forces = list(zip(s.points, s.f0, strict=True))
    wrenches = joint_wrenches(s.model, moving, tip_forces=tip_forces)
    f = [body.turn @ wrench for body, wrench in zip(moving, wrenches, strict=True)]
    assert relative_difference(loop.f, f) < TOLERANCE
    assert s.mismatch(b, loop.b) < TOLERANCE
    T_k = joint_forces(s.model, s.q, s.v, s.beta_dot, tip_forces=tip_forces)
    assert s.mismatch(loop.T, T_k + s.value(Jm @ beta_dot)) < TOLERANCE


def test_equation_13_joint_axis_of_a_revolute_joint():
    """(13): H*(k) = [h(k); 0]; h(k) is fixed on the inboard body as well as on the outboard one.

    Serial arm of revolute joints.
    """
    s = state_of("serial_revolute")
    H_star = s.value(H.T)
    for k, (joint, p) in enumerate(zip(s.model.joints, s.model.tree.parent, strict=True)):
        inboard = np.eye(3) if p == WORLD else s.poses[p][0]
        h = inboard @ np.array(joint.placement.rotation) @ np.array(joint.kind.axis)
        column = block(s.model, H_star, k, k, "body", "joint")[:, 0]
        assert relative_difference(column, np.concatenate([h, np.zeros(3)])) < TOLERANCE


# -- IV. spatial operators -------------------------------------------------------------


def test_equations_19_and_20_jacobian_factorization(s):
    """(19), (20): V(0) = J theta_dot, J = B* phi* H*.

    Witness: column by column the rate of the tips' poses. On trees with a point on every tip.
    """
    columns = []
    for unit in np.eye(s.model.nv):
        moving = motions(s.model, s.q, unit)
        columns.append([point_motion(s.model, moving, point).V for point in s.points])
    matrix = np.array([np.concatenate(column) for column in columns]).T
    assert s.mismatch(B.T @ phi.T @ H.T, matrix) < TOLERANCE
    assert s.mismatch(J, matrix) < TOLERANCE


def test_equation_21_velocities_are_sums_over_the_inboard_joints(s):
    """(21): V(k) = sum_{i inboard of k} phi*(i,k) H*(i) theta_dot(i), V = phi* H* theta_dot.

    V(0) = B* phi* H* theta_dot.
    """
    sums = []
    for k in s.model.tree.base_to_tip:
        terms = [phi_of(s.arm(i, k)).T @ s.H[i].T @ s.speeds(i, s.v) for i in s.model.tree.path(k)]
        sums.append(sum(terms))
    assert s.mismatch(phi.T @ H.T @ beta, sums) < TOLERANCE
    V0 = [step.T @ sums[k] for k, step in s.tips]
    assert s.mismatch(B.T @ phi.T @ H.T @ beta, V0) < TOLERANCE
