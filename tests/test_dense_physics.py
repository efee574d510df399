"""as_matrix: world axes, and that its numbers are physics."""

import machines
import numpy as np
import pytest
from symbols import STEP, assert_close, free_names
from witness import block_diagonal, body_jacobians, poses

import phipsi as pp
from phipsi.lowering.dense import as_matrix
from phipsi.model.tree import WORLD
from phipsi.operators import (
    HH,
    B,
    C,
    D,
    E,
    E_phi,
    H,
    H_dot,
    J,
    K,
    M,
    Mass,
    Omega,
    P,
    S,
    S_q,
    U,
    V,
    X,
    Y,
    a,
    alpha,
    beta,
    c,
    f,
    f0,
    gravity,
    phi,
    pose,
    psi,
    vector,
)

# -- world axes ------------------------------------------------------------------------


def axes_of(model, q, points):
    """X of each space: body and point blocks turned into world axes."""
    turns = [np.kron(np.eye(2), pose[:3, :3]) for pose in poses(model, q)]
    on = [turns[model.locate(point)[0]] for point in points]
    spaces = {"body": turns, "point": on}
    return {name: block_diagonal(*blocks) for name, blocks in spaces.items()}


TURNED = [
    H,
    M,
    E_phi,
    phi,
    P,
    K,
    psi,
    Omega,
    Y,
    S,
    HH(0),
    B,
    J,
    V,
    S[V],
    f,
    C,
    Mass,
    S_q,
    D.sqrt,
    pose,
    U,
    f0,
]


@pytest.mark.parametrize("machine", ["branching_tree", "forest", "mimics"])
def test_world_axes_turn_every_block(machine):
    """A_world = X A_link X*, X = diag(R_k, R_k); D.sqrt, C and Mass have no axes to turn.

    A value of a free symbol is in the axes asked for, so it stays.
    """
    model = machines.MARKET[machine]()
    rng = np.random.default_rng(5)
    q, v = machines.random_state(model, rng)
    points = [pp.point(model.bodies[i].name, (0.1, 0.2, 0.3)) for i in (0, -1)]
    X = axes_of(model, q, points)
    values = {"beta_dot": rng.normal(size=model.joints[-1].rows.stop), "f0": rng.normal(size=12)}
    for expression in TURNED:
        own = {name: values[name] for name in free_names(expression)}
        link, world = (
            as_matrix(model, expression, q, v, axes=axes, points=points, **own)
            for axes in ("link", "world")
        )
        if expression is f0:
            assert np.array_equal(link, world)
            continue
        assert np.any(link), expression  # 0 = 0 tests nothing
        left = X.get(expression.target.name)
        right = X.get(expression.source.name)
        turned = link if left is None else left @ link
        turned = turned if right is None else turned @ right.T
        assert_close(world, turned)


def test_world_accelerations_are_those_of_the_papers():
    """alpha in world axes is X (A + [0; omega x v]): the rate of the world velocity."""
    model = machines.MARKET["tree_of_every_kind"]()
    rng = np.random.default_rng(6)
    q, v = machines.random_state(model, rng)
    rates = rng.normal(size=model.nv)
    X = axes_of(model, q, [])["body"]
    A_link = as_matrix(model, alpha, q, v, beta_dot=rates)
    velocity = as_matrix(model, V, q, v).reshape(-1, 6)
    convective = np.array([[0, 0, 0, *np.cross(w[:3], w[3:])] for w in velocity]).ravel()
    world = as_matrix(model, alpha, q, v, axes="world", beta_dot=rates)
    assert_close(world, X @ (A_link + convective))
    moved, speeds = pp.integrate(model, q, 1j * STEP * v), v + 1j * STEP * rates
    rate = as_matrix(model, V, moved, speeds, axes="world").imag / STEP
    felt = np.tile([0, 0, 0, *(-np.array(model.gravity))], len(model.bodies))
    assert_close(world, rate + felt)


def test_rate_of_the_maps_is_turned_as_the_maps_are():
    """H_dot_world = H_dot X*: the turning of the axes is no part of it."""
    model = machines.MARKET["tree_of_every_kind"]()
    q, v = machines.random_state(model, np.random.default_rng(6))
    link, world = (as_matrix(model, H_dot, q, v, axes=axes) for axes in ("link", "world"))
    assert np.linalg.norm(link) > 0.1
    assert_close(world, link @ axes_of(model, q, [])["body"].T)


# -- physics: mimics, rotors, points ---------------------------------------------------


@pytest.mark.parametrize("machine", ["mimics", "rotor_bodies", "reflected_rotors"])
def test_projected_mass_is_the_kinetic_energy_in_independent_speeds(machine):
    """S_q* Mass S_q = sum_k J_k* M_k J_k + the motors' share, J_k from the poses alone."""
    model = machines.MARKET[machine]()
    q, _ = machines.random_state(model, np.random.default_rng(7))
    expected = np.zeros((model.nv, model.nv))
    for body, jacobian in zip(model.bodies, body_jacobians(model, q), strict=True):
        expected += jacobian.T @ body.inertia.matrix @ jacobian
    for joint in model.joints:
        ratio = 1.0 if joint.mimic is None else joint.mimic.ratio
        for i in range(joint.v.start, joint.v.stop):
            expected[i, i] += ratio**2 * joint.gear_ratio**2 * joint.rotor_inertia
    assert_close(as_matrix(model, S_q.T @ Mass @ S_q, q), expected)


@pytest.mark.parametrize("machine", ["mimics", "rotor_bodies", "reflected_rotors"])
def test_projected_motion_without_forces_conserves_energy(machine):
    """vdot = (S_q* Mass S_q)^-1 (-S_q* C); d/dt (kinetic + potential) = 0 along it."""
    model = machines.MARKET[machine]()
    q, v = machines.random_state(model, np.random.default_rng(8))
    mass = as_matrix(model, S_q.T @ Mass @ S_q, q)
    rates = np.linalg.solve(mass, -as_matrix(model, S_q.T @ C, q, v))

    def energies(q, v):
        kinetic = 0.5 * as_matrix(model, beta.T @ Mass @ beta, q, v)
        heights = [
            body.inertia.mass * (pose @ [*body.inertia.com, 1.0])[:3]
            for body, pose in zip(model.bodies, poses(model, q), strict=True)
        ]
        return kinetic, -np.sum(heights @ np.array(model.gravity))

    moved = pp.integrate(model, q, 1j * STEP * v)
    kinetic, potential = (x.imag / STEP for x in energies(moved, v + 1j * STEP * rates))
    assert abs(kinetic) > 1e-3
    assert abs(kinetic + potential) < 1e-10 * abs(kinetic)


@pytest.mark.parametrize("machine", ["mimics", "rotor_bodies"])
def test_velocities_follow_the_joints_that_lead(machine):
    model = machines.MARKET[machine]()
    q, v = machines.random_state(model, np.random.default_rng(9))
    assert_close(as_matrix(model, V, q, v), (body_jacobians(model, q) @ v).ravel())


@pytest.mark.parametrize(
    "machine", ["welded", "tree_of_every_kind", "forest", "mimics", "rotor_bodies", "spacecraft"]
)
@pytest.mark.parametrize("axes", ["link", "world"])
def test_jacobian_is_the_derivative_of_the_points(machine, axes):
    """J v (J S_q v with mimics) = [omega; v] of the point, by a complex step of its position."""
    model = machines.MARKET[machine]()
    q, v = machines.random_state(model, np.random.default_rng(10))
    names = [model.bodies[0].name, model.bodies[-1].name]
    names += [frame.name for frame in model.frames if frame.body != WORLD]
    points = [pp.point(name, (0.3, -0.1, 0.2)) for name in names]
    moved = poses(model, pp.integrate(model, q, 1j * STEP * v))
    expected = []
    for point in points:
        frame = model.frame(point.frame)
        local = frame.placement.matrix @ [*point.position, 1.0]
        pose = moved[frame.body]
        turn = pose[:3, :3].real
        spin = turn.T @ pose[:3, :3].imag / STEP
        omega = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
        velocity = (pose @ local)[:3].imag / STEP
        expected += [turn @ omega, velocity] if axes == "world" else [omega, turn.T @ velocity]
    result = as_matrix(model, J @ S_q, q, axes=axes, points=points) @ v
    assert_close(result, np.concatenate(expected))


# -- points in world axes, energy ------------------------------------------------------

MOVING = ["welded", "tree_of_every_kind", "forest", "mimics", "rotor_bodies", "spacecraft"]


def points_of(model):
    """On every body, on every frame, and on the world."""
    names = ["world", *(one.name for one in (*model.bodies, *model.frames))]
    return [pp.point(name, (0.3, -0.1, 0.2)) for name in names]


@pytest.mark.parametrize("machine", MOVING)
def test_points_are_turned_into_world_axes_once(machine):
    """X J and B X* w mean the same in link axes and, X being I, in world axes."""
    model = machines.MARKET[machine]()
    q, v = machines.random_state(model, np.random.default_rng(11))
    points, w = points_of(model), vector("w", "point")
    world = as_matrix(model, J, q, axes="world", points=points)
    assert np.array_equal(as_matrix(model, X, q, axes="world", points=points), np.eye(len(world)))
    assert_close(as_matrix(model, X @ J, q, points=points), world)
    wrench = np.random.default_rng(12).normal(size=len(world))
    power = V.T @ B @ X.T @ w
    link, turned = (
        as_matrix(model, power, q, v, axes=axes, points=points, w=wrench)
        for axes in ("link", "world")
    )
    speeds = as_matrix(model, beta, q, v)
    assert_close(link, wrench @ world @ speeds)
    assert_close(turned, link)


@pytest.mark.parametrize("machine", MOVING)
@pytest.mark.parametrize("axes", ["link", "world"])
def test_bias_acceleration_is_the_rate_of_the_velocity_of_points(machine, axes):
    """X (B* phi* a + c) = d(J beta)/dt at constant speeds, by a complex step in world axes."""
    model = machines.MARKET[machine]()
    q, v = machines.random_state(model, np.random.default_rng(13))
    points = points_of(model)
    moved = pp.integrate(model, q, 1j * STEP * v)
    rate = as_matrix(model, J @ beta, moved, v, axes="world", points=points).imag / STEP
    assert np.linalg.norm(rate) > 0.1
    for one in (X @ (B.T @ phi.T @ a + c), X(*points) @ (B(*points).T @ phi.T @ a + c(*points))):
        given = points if not one.factors[0].arguments else None
        assert_close(as_matrix(model, one, q, v, axes=axes, points=given), rate)


@pytest.mark.parametrize("machine", [name for name in MOVING if name != "spacecraft"])
@pytest.mark.parametrize("axes", ["link", "world"])
def test_potential_energy_falls_by_the_work_of_gravity(machine, axes):
    """dU/dt = beta* H phi M phi* E gravity, by a complex step along v."""
    model = machines.MARKET[machine]()
    q, v = machines.random_state(model, np.random.default_rng(14))
    moved = pp.integrate(model, q, 1j * STEP * v)
    rate = as_matrix(model, U, moved, axes=axes).imag / STEP
    assert abs(rate) > 1e-3
    assert_close(rate, as_matrix(model, beta.T @ H @ phi @ M @ phi.T @ E @ gravity, q, v))


def test_potential_energy_counts_what_is_welded_to_the_world():
    """2 kg on a stand 3 m high, the mass centre 0.5 m above; 5 kg hanging 1 m below 7 m."""
    builder = pp.ModelBuilder("crane", gravity=(0.0, 0.0, -10.0))
    weld, hinge = pp.joints.Fixed(), pp.joints.Revolute((0.0, 1.0, 0.0))
    inertia = (1.0, 1.0, 1.0)
    builder.add_body(
        "stand", "world", weld, position=(0, 0, 3), mass=2.0, com=(0, 0, 0.5), inertia=inertia
    )
    builder.add_body(
        "load", "stand", hinge, position=(0, 0, 4), mass=5.0, com=(0, 0, -1), inertia=inertia
    )
    assert_close(as_matrix(builder.build(), U, [0.0]), 2 * 10 * 3.5 + 5 * 10 * 6)
