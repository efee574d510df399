"""[004-I] section 3: kinematics and dynamics in operator form.

The paper's letters, and where its results hold, are in `paper_004.py`.
"""

import numpy as np
from cases import ALL, AXES, SERIAL, TREES, on, state
from classical import motions, phi_of, point_motion
from equations import (
    TOLERANCE,
    a_g,
    block,
    directions,
    mismatch,
    phi_by_products,
    relative_difference,
    tangent,
    time_derivative,
    value,
)
from paper_004 import Tipped, own

import phipsi as pp
from phipsi.operators import B, C, E, H, J, Jm, M, Mass, T, a, b, beta, beta_dot, f0, gravity, phi

# -- section 3: operator form ----------------------------------------------------------


@on(*SERIAL, "tree_one_dof", "forest")
def test_3_1_to_3_3_group_properties_of_phi(machine):
    """(3.1): phi(i,k) = [[I, l~], [0, I]] with l = O(k) - O(i); (3.2): phi(i,i) = I, phi^-1(i,k) =
    phi(k,i), phi(i,j) phi(j,k) = phi(i,k); (3.3): phi(i,k) = phi(i,i-1) ... phi(k+1,k).

    World axes; along each path of a tree.
    """
    model, q, v, _ = state(machine)
    moving, tree = motions(model, q, v), model.tree
    dense = pp.as_matrix(model, phi, q, axes="world")
    products = phi_by_products(model, q, "world")
    for k in range(len(tree)):
        assert np.array_equal(block(model, dense, k, k), np.eye(6))
        for i in tree.path(k):
            phi_ik, l = block(model, dense, i, k), moving[k].p - moving[i].p
            assert relative_difference(phi_ik, phi_of(l)) < TOLERANCE
            assert relative_difference(np.linalg.inv(phi_ik), phi_of(-l)) < TOLERANCE
            assert relative_difference(phi_ik, products[i, k]) < TOLERANCE
            for j in tree.path(k):
                if tree.is_inboard(i, j):
                    composed = block(model, dense, i, j) @ block(model, dense, j, k)
                    assert relative_difference(composed, phi_ik) < TOLERANCE


@on(*SERIAL, *TREES)
@AXES
def test_3_8_base_operator(machine, axes):
    """(3.8): E has phi*(N+1,N) at the root and 0 elsewhere; N+1 is the world.

    Any machine; a forest has one block per root. E times a motion of the world
    adds the motion that every root would share.
    """
    model, q, v, _ = state(machine)
    moving = motions(model, q, v)
    expected = np.zeros((6 * len(model.bodies), 6))
    for k in model.tree.roots:
        turn = moving[k].turn.T if axes == "link" else np.eye(6)
        expected[own(k)] = turn @ phi_of(moving[k].p).T
    assert mismatch(model, E, expected, q, axes=axes) < TOLERANCE


@on(*SERIAL, *TREES)
@AXES
def test_3_11_to_3_13_velocities_and_tip_jacobian(machine, axes):
    """(3.11): V(k) = sum phi*(i,k) H*(i) theta_dot(i) over the i inboard of k; (3.12):
    V = phi* H* theta_dot; (3.13): V(0) = J theta_dot, J = B* phi* H*. Any machine."""
    tipped = Tipped(machine, axes)
    model, products = tipped.model, phi_by_products(tipped.model, tipped.q, axes)
    H_ = value(model, H, tipped.q, axes=axes)
    summed = [
        sum(
            products[i, k].T @ H_[model.joints[i].rows, own(i)].T @ tipped.v[model.joints[i].rows]
            for i in model.tree.path(k)
        )
        for k in range(len(model.bodies))
    ]
    true = [tipped.turned(m, m.V) for m in tipped.moving]
    assert relative_difference(summed, true) < TOLERANCE
    assert relative_difference(tipped.value(phi.T @ H.T @ beta), true) < TOLERANCE
    at_tips = [tipped.turned(m, m.V) for m in tipped.tips]
    assert relative_difference(tipped.value(B.T @ phi.T @ H.T @ beta), at_tips) < TOLERANCE


@on(*SERIAL, *TREES)
@AXES
def test_3_15_accelerations(machine, axes):
    """(3.14), (3.15): alpha = phi* H* theta_ddot + phi* a. Any machine; here with (3.21)."""
    tipped = Tipped(machine, axes)
    alpha_ = phi.T @ H.T @ beta_dot + phi.T @ a_g
    found = tipped.value(alpha_, beta_dot=tipped.acceleration)
    assert relative_difference(found, tipped.felt(tipped.moving)) < TOLERANCE


@on(*SERIAL, *TREES)
@AXES
def test_3_17_tip_bias_acceleration(machine, axes):
    """After (3.17): alpha(0) = J theta_ddot + J_dot theta_dot, J_dot theta_dot = B* phi* a + a(0).

    a(0) = [0; omega(1) x (omega(1) x l(1,0))] in world axes; 0 in link axes,
    where accelerations are componentwise rates. Any machine; J_dot by a
    complex step along the motion.
    """
    tipped = Tipped(machine, axes)
    at = {"axes": axes, "points": tipped.points}
    J_dot_beta = time_derivative(tipped.model, J @ beta, tipped.q, tipped.v, **at)
    found = tipped.value(B.T @ phi.T @ a) + tipped.bias()
    assert relative_difference(found, J_dot_beta) < TOLERANCE


@on(*ALL)
@AXES
def test_3_16_to_3_20_operator_equations_of_motion(machine, axes):
    """(3.16)-(3.18): T = H phi [M alpha + b + B f(0)], alpha = phi* H* theta_ddot + phi* a;
    (3.19), (3.20): T = Mass theta_ddot + C + J* f(0) with Mass = H phi M phi* H*,
    C = H phi (M phi* a + b), J* = H phi B, J the velocities of the tips at unit speeds.

    Any machine, with gravity by (3.21); rotors add Jm theta_ddot.
    """
    tipped = Tipped(machine, axes)
    values = {"beta_dot": tipped.acceleration}
    alpha_ = phi.T @ H.T @ beta_dot + phi.T @ a_g
    nested = H @ phi @ (M @ alpha_ + b + B @ f0) + Jm @ beta_dot  # (3.16)-(3.18)
    assert relative_difference(tipped.value(nested, **values), tipped.T) < TOLERANCE
    split = (
        (H @ phi @ M @ phi.T @ H.T + Jm) @ beta_dot
        + H @ phi @ (M @ phi.T @ a_g + b)
        + H @ phi @ B @ f0
    )  # (3.19), (3.20)
    assert relative_difference(tipped.value(split, **values), tipped.T) < TOLERANCE
    columns = []
    for ia in directions(tipped.model):
        moving = motions(tipped.model, tipped.q, tangent(tipped.model, *ia))
        at = [point_motion(tipped.model, moving, point) for point in tipped.points]
        columns.append(np.concatenate([tipped.turned(m, m.V) for m in at]))
    assert relative_difference(tipped.value(H @ phi @ B), np.array(columns)) < TOLERANCE


@on(*ALL)
@AXES
def test_3_21_gravity_as_an_acceleration_of_the_base(machine, axes):
    """(3.21): a -> a + E g, g* = (0*, 9.8 e3*): the base accelerates against gravity.

    H phi M phi* E g is the gradient of the potential energy. Any machine and
    any direction of gravity; the witness: the power that gravity takes from
    the mass centres at each unit speed.
    """
    model, q, _, _ = state(machine)
    power = []
    for ia in directions(model):
        moving = motions(model, q, tangent(model, *ia))
        rates = [
            m.at(np.array(x.inertia.com)).v * x.inertia.mass
            for m, x in zip(moving, model.bodies, strict=True)
        ]
        power.append(-np.dot(np.sum(rates, axis=0), model.gravity))
    size = 1e-12 * max(1.0, np.linalg.norm(power))  # the spacecraft feels none
    left = H @ phi @ M @ phi.T @ E @ gravity
    assert mismatch(model, left, np.array(power), q, axes=axes, scale=size) < TOLERANCE
    assert np.linalg.norm(power) > 1.0 or machine == "spacecraft"


@on(*ALL)
@AXES
def test_3_22_bias_free_equations_of_motion(machine, axes):
    """(3.22): Mass theta_ddot = T' = T - T^; (3.23): T^ = H phi [M phi* a + b + B f(0)]
    = C + J* f(0). Any machine, with gravity by (3.21)."""
    tipped = Tipped(machine, axes)
    bias = H @ phi @ (M @ phi.T @ a_g + b + B @ f0)
    assert relative_difference(tipped.value(bias), tipped.value(C + J.T @ f0)) < TOLERANCE
    mass = value(tipped.model, Mass, tipped.q)
    solved = np.linalg.solve(mass, tipped.value(T - bias))
    assert relative_difference(solved, tipped.acceleration) < TOLERANCE
