"""[002] section 2.2: trees and forests, and points on them.

How [002] is read, and what it is held against, is in `paper_002.py`.
"""

import itertools

import numpy as np
from cases import ALL, AXES, SERIAL, TREES, applied_forces, on, points_on, state
from classical import motions, phi_of, point_motion
from equations import (
    TOLERANCE,
    assemble,
    directions,
    is_serial,
    mismatch,
    phi_by_products,
    relative_difference,
    tangent,
    value,
)
from machines import MARKET
from paper_002 import (
    block_phi,
    branches,
    nilpotent_series_holds,
    operator_equations_of_motion_hold,
    predecessor,
    stacked_equations_hold,
)

import phipsi as pp
from phipsi.operators import B, C, E_phi, H, Mass, T, V, phi

# -- section 2.2: trees ----------------------------------------------------------------


@on(*TREES, "serial_revolute")
def test_2_6_branches_partition_the_tree(machine):
    """(2.6): n = sum n_j and N = sum N_j over the branches. Trees and forests."""
    model = MARKET[machine]()
    chains = branches(model)
    assert sorted(k for chain in chains for k in chain) == list(range(len(model.bodies)))
    assert sum(len(chain) for chain in chains) == len(model.bodies)
    assert sum(model.joints[k].kind.nv for chain in chains for k in chain) == model.nv
    assert (len(chains) == 1) == is_serial(model)


@on(*TREES)
@AXES
def test_2_7_E_phi_by_branches(machine, axes):
    """(2.7): E_phi(j,k) is the serial one for j = k; has the single block phi(1_j, n_k) when
    branch j directly carries branch k; else 0; and is strictly triangular. Trees and forests.

    1_j is the tip link of branch j, n_k the base link of branch k.
    """
    model, q, v, _ = state(machine)
    moving, chains = motions(model, q, v), branches(model)
    expected = np.zeros((6 * len(model.bodies),) * 2)

    def put(i, k):
        expected[6 * i : 6 * i + 6, 6 * k : 6 * k + 6] = block_phi(model, moving, k, axes)

    for k, chain in enumerate(chains):
        for i, j in itertools.pairwise(chain):
            put(i, j)
        direct = predecessor(model, chains, k)
        if direct is not None:
            put(chains[direct][-1], chain[0])
    assert mismatch(model, E_phi, expected, q, axes=axes) < TOLERANCE
    assert not np.any(np.tril(pp.as_matrix(model, E_phi, q, axes=axes)))


@on(*TREES)
@AXES
def test_2_8_stacked_newton_euler_equations_on_trees(machine, axes):
    """(2.8): the stacked equations (2.2) on trees and forests; no gravity."""
    stacked_equations_hold(machine, axes)


@on(*TREES)
@AXES
def test_2_9_phi_is_the_nilpotent_series_on_trees(machine, axes):
    """(2.9): E_phi^n = 0, phi = (I - E_phi)^-1 = I + E_phi + ... Trees and forests.

    The power that vanishes first is the depth of the tree, not n.
    """
    model, q, _, _ = state(machine)
    nilpotent_series_holds(model, E_phi, phi, phi_by_products(model, q, axes), q, axes)
    assert max(model.tree.depth) < len(model.bodies)


@on(*TREES)
@AXES
def test_2_10_phi_by_branches(machine, axes):
    """(2.10): phi(j,k) is serial for j = k, {phi(m_j, l_k)} if j is a predecessor of k, else 0.

    phi(m,l) from the geometry alone: the lever between two origins and the turn
    between two frames, whatever lies on the path. Trees and forests.
    """
    model, q, v, _ = state(machine)
    moving, chains = motions(model, q, v), branches(model)
    branch_of = {k: j for j, chain in enumerate(chains) for k in chain}

    def is_predecessor(j, k):
        while k is not None and k != j:
            k = predecessor(model, chains, k)
        return k == j

    def phi_between(i, k):
        j, l = branch_of[i], branch_of[k]
        if not is_predecessor(j, l) or (j == l and i > k):
            return None
        if axes == "world":
            return phi_of(moving[k].p - moving[i].p)
        turn = moving[i].R.T
        return phi_of(turn @ (moving[k].p - moving[i].p), turn @ moving[k].R)

    assert mismatch(model, phi, assemble(model, phi_between), q, axes=axes) < TOLERANCE


@on(*TREES)
@AXES
def test_2_11_operator_equations_of_motion_on_trees(machine, axes):
    """(2.11): the operator equations of motion (2.5) on trees and forests; no gravity."""
    operator_equations_of_motion_hold(machine, axes)


@on(*ALL)
def test_2_12_bias_free_equations_of_motion(machine):
    """(2.12): Mass beta_dot = T_hat, T_hat = T - C. Any machine.

    Here with gravity (in C) and rotor inertia (in Mass): T of known
    accelerations comes from 3-vector mechanics, and a dense solve must return
    these accelerations.
    """
    model, q, v, acceleration = state(machine)
    T_ = applied_forces(model, q, v, acceleration)
    T_hat = value(model, T - C, q, v, T=T_)
    solved = np.linalg.solve(pp.as_matrix(model, Mass, q), T_hat)
    assert relative_difference(solved, acceleration) < TOLERANCE


@on(*SERIAL, *TREES)
@AXES
def test_2_13_points_by_blocks(machine, axes):
    """(2.13): B(m,k) = phi(O_m, C_k) if point C_k is on link m, else 0. Any machine."""
    model, q, v, _ = state(machine)
    moving, points = motions(model, q, v), points_on(model)
    expected = np.zeros((6 * len(model.bodies), 6 * len(points)))
    for e, point in enumerate(points):
        m, _ = model.locate(point)
        lever = point_motion(model, moving, point).p - moving[m].p
        if axes == "link":
            lever = moving[m].R.T @ lever
        expected[6 * m : 6 * m + 6, 6 * e : 6 * e + 6] = phi_of(lever)
    assert mismatch(model, B, expected, q, axes=axes, points=points) < TOLERANCE


@on(*SERIAL, *TREES)
@AXES
def test_2_14_jacobian_at_several_points_of_several_bodies(machine, axes):
    """(2.14): V~ = B* V = J beta, J = B* phi* H*. Any machine, several points per body.

    The witness: the velocity of each point and the angular velocity of its
    body, from positions and attitudes, one unit speed at a time.
    """
    model, q, v, _ = state(machine)
    points = points_on(model)

    def velocities(speeds):
        moving = motions(model, q, speeds)
        at = [point_motion(model, moving, point) for point in points]
        return np.concatenate([m.V if axes == "world" else m.turn.T @ m.V for m in at])

    columns = np.array([velocities(tangent(model, *ia)) for ia in directions(model)]).T
    where = {"q": q, "v": v, "axes": axes, "points": points}
    assert mismatch(model, B.T @ phi.T @ H.T, columns, **where) < TOLERANCE
    assert mismatch(model, B.T @ V, velocities(v), **where) < TOLERANCE
