"""Christoffel symbols of any joint: what [000 (5.53)] needs where speeds are quasi-velocities.

Beyond the paper: with c^l_ab the Lie brackets of a joint's own speeds, D_a D_b - D_b D_a =
sum_l c^l_ab D_l, and <[a,b],i> = sum_l c^l_ab Mass(l,i).
"""

import numpy as np
import pytest
from equations import (
    TOLERANCE,
    random_state,
    relative_difference,
    time_derivative,
    value,
)
from paper_000 import ANY, MACHINES, coriolis_force, sensitivities, symbols_5_53

from phipsi import joints, spatial
from phipsi.operators import E, HH_delta, Mass, phi

WITH_BRACKETS = ("tree_rotational", "serial_multidof", "spacecraft", "star_of_free_bodies")


def brackets(model, q):
    """c[l, a, b] over all speeds: H* c_ab = h_a~ h_b + Gamma_a e_b - Gamma_b e_a, by joint."""
    c = np.zeros((model.nv,) * 3)
    for joint in model.joints:
        own, n = joint.v, joint.kind.nv
        H_star = np.array(joint.kind.motion_map(list(q[joint.q])), float)
        Gamma = [np.array(x, float) for x in joint.kind.map_derivatives(list(q[joint.q]))]
        for a in range(n):
            for b in range(n):
                z = np.array(spatial.cross_motion(H_star[:, a])) @ H_star[:, b]
                if Gamma:
                    z = z + Gamma[a][:, b] - Gamma[b][:, a]
                solved = np.linalg.lstsq(H_star, z, rcond=None)[0]
                assert np.linalg.norm(H_star @ solved - z) < TOLERANCE
                c[own, own.start + a, own.start + b] = solved
    return c


def symbols_any_joint(model, q):
    """C_i(j,k) = (5.53) + 1/2 (<[k,j],i> - <[j,i],k> + <[i,k],j>)."""
    m = np.einsum("lab,li->abi", brackets(model, q), value(model, Mass, q))  # <[a,b],i>
    twist = np.einsum("kji->ijk", m) - np.einsum("jik->ijk", m) + np.einsum("ikj->ijk", m)
    return symbols_5_53(model, q) + 0.5 * twist


@pytest.mark.parametrize("name", ANY)
def test_brackets_are_the_commutators_of_the_derivatives(name):
    """D_a D_b X - D_b D_a X = sum_l c^l_ab D_l X for X = phi*(world,i), any joint, any tree.

    D_b X = HH_delta*(i,b) X at body i; its derivative D_a is by a complex step.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    c = brackets(model, q)
    for i, joint in enumerate(model.joints):
        along = [(i, a) for a in range(joint.kind.nv)]
        first = [HH_delta(i, b).T @ phi.T @ E for _, b in along]
        second = np.array([sensitivities(model, q, X, along, axes="link") for X in first])
        commutator = np.swapaxes(second, 0, 1) - second  # [a, b] = D_a D_b X - D_b D_a X
        D = np.array([value(model, X, q) for X in first])
        right = np.einsum("lab,lmn->abmn", c[joint.v, joint.v, joint.v], D)
        assert relative_difference(commutator, right, scale=1.0) < TOLERANCE


def test_brackets_of_known_groups():
    """so(3) for spherical joints, se(3) for free ones, none for rates of coordinates."""
    for name in ("tree_rotational", "spacecraft", "one_of_each_kind"):
        model = MACHINES[name]()
        c = brackets(model, random_state(model)[0])
        for joint in model.joints:
            own = c[joint.v, joint.v, joint.v]
            if isinstance(joint.kind, joints.Free):
                expected = [[spatial.cross_motion(x) for x in np.eye(6)]]
                expected = np.einsum("alb->lab", expected[0])
            elif isinstance(joint.kind, joints.Spherical):
                expected = np.einsum("abl->lab", np.cross(np.eye(3)[:, None], np.eye(3)[None, :]))
            elif isinstance(joint.kind, joints.Planar):  # [omega, x] = y, [omega, y] = -x
                expected = np.zeros((3, 3, 3))
                expected[2, 0, 1], expected[2, 1, 0] = 1.0, -1.0
                expected[1, 0, 2], expected[1, 2, 0] = -1.0, 1.0
            else:
                expected = np.zeros_like(own)
            assert relative_difference(own, expected, scale=1.0) < TOLERANCE


@pytest.mark.parametrize("name", ANY)
def test_christoffel_symbols_of_any_joint_give_the_coriolis_forces(name):
    """C v = bias - gravity with C(i,j) = sum_k C_i(j,k) v_k. Any joint, any tree."""
    model = MACHINES[name]()
    q, v = random_state(model)
    forces = np.einsum("ijk,j,k->i", symbols_any_joint(model, q), v, v)
    assert relative_difference(forces, coriolis_force(model, q, v)) < TOLERANCE


@pytest.mark.parametrize("name", ANY)
def test_mass_rate_minus_twice_coriolis_is_skew(name):
    """Mass_dot - 2 C is skew, C(i,j) = sum_k C_i(j,k) v_k. Any joint, any tree."""
    model = MACHINES[name]()
    q, v = random_state(model)
    matrix = np.einsum("ijk,k->ij", symbols_any_joint(model, q), v)
    X = time_derivative(model, Mass, q, v) - 2.0 * matrix
    assert relative_difference(X, -X.T) < TOLERANCE


@pytest.mark.parametrize("name", WITH_BRACKETS)
def test_christoffel_symbols_with_brackets_are_not_symmetric(name):
    """C_i(j,k) = C_i(k,j) only where the brackets vanish: the difference is <[k,j],i>."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    symbols = symbols_any_joint(model, q)
    exchanged = np.swapaxes(symbols, 1, 2)
    assert relative_difference(symbols, exchanged) > 0.1
    bracket = np.einsum("lkj,li->ijk", brackets(model, q), value(model, Mass, q))
    assert relative_difference(symbols - exchanged, bracket) < TOLERANCE
