"""Dynamics obey mechanics: rates of energy and momentum, second derivatives of places, signs.

Rates are complex steps along the motion, of the functions themselves or of the
poses of `witness`, in which no operator takes part.
"""

from dataclasses import replace

import machines
import numpy as np
import pytest
from symbols import STEP, assert_close
from witness import poses, twists

import phipsi as pp


@pytest.fixture(params=machines.MARKET)
def model(request):
    return machines.MARKET[request.param]()


def state_of(model, seed=0):
    """q, v, and a random vector of forces or rates."""
    rng = np.random.default_rng(seed)
    return *machines.random_state(model, rng), rng.normal(size=model.nv)


def points_of(model):
    names = [body.name for body in model.bodies]
    return [pp.point(names[-1], (0.1, -0.2, 0.3)), pp.point(names[0], (-0.3, 0.2, 0.1))]


def loads_of(model, seed=1):
    wrenches = np.random.default_rng(seed).normal(size=(2, 6))
    return dict(zip(points_of(model), wrenches, strict=True))


def rate(model, function, q, v, vdot):
    """d/dt function(q, v) along the motion."""
    moved = function(pp.integrate(model, q, 1j * STEP * v), v + 1j * STEP * vdot)
    return moved.imag / STEP


def place_of(model, q, point):
    """Where a point is in the world, by the poses."""
    k, place = model.locate(point)
    return poses(model, q)[k] @ [*place.position, 1.0]


# -- kinematics ------------------------------------------------------------------------


def test_poses_are_those_of_the_joints_one_after_the_other(model):
    q, _, _ = state_of(model)
    assert_close(pp.body_poses(model, q), np.array(poses(model, q)))


@pytest.mark.parametrize("tilt", [0.0, 1e-15, 2e-13, 1e-10, 1e-7, 1e-4])
@pytest.mark.parametrize("angle", [0.0, np.pi])
@pytest.mark.parametrize("beside", [0.0, 0.1])
def test_axes_nearly_parallel_stand_where_they_are(angle, tilt, beside):
    """Files round their rotations; a common normal of two such axes may be far away."""
    c, s = np.cos(angle + tilt), np.sin(angle + tilt)
    builder = pp.ModelBuilder("nearly parallel")
    for parent, body in (("world", "a"), ("a", "b"), ("b", "c")):
        place = {"position": (0.0, beside, 0.5), "rotation": [[1, 0, 0], [0, c, -s], [0, s, c]]}
        builder.add_body(body, parent, pp.joints.Revolute(pp.joints.Z), mass=1.0, **place)
    model = builder.build()
    q = np.array([0.3, -0.4, 0.5])
    assert_close(pp.body_poses(model, q), np.array(poses(model, q)), tolerance=1e-14)


def test_velocities_are_the_rates_of_the_poses(model):
    q, v, _ = state_of(model)
    assert_close(pp.body_velocities(model, q, v), twists(model, q, v))


def test_accelerations_are_the_rates_of_the_velocities(model):
    """Componentwise, in link axes, gravity not in them: what MATH calls A."""
    q, v, tau = state_of(model)
    loads = loads_of(model)
    vdot = pp.forward_dynamics(model, q, v, tau, loads)
    expected = rate(model, lambda q, v: pp.body_velocities(model, q, v), q, v, vdot)
    assert_close(pp.accelerations(model, q, v, tau, loads), expected)


def test_jacobian_times_speeds_is_the_velocity_of_points(model):
    q, v, _ = state_of(model)
    points = points_of(model)
    found = (pp.jacobian(model, q, points) @ v).reshape(2, 6)
    turns = pp.body_poses(model, q)[..., :3, :3]
    for point, velocity in zip(points, found, strict=True):
        moved = place_of(model, pp.integrate(model, q, 1j * STEP * v), point).imag / STEP
        assert_close(velocity[3:], moved[:3])
        k = model.locate(point)[0]
        assert_close(velocity[:3], turns[k] @ twists(model, q, v)[k, :3])


def test_jacobian_dot_v_is_the_acceleration_of_points_at_constant_speeds(model):
    q, v, _ = state_of(model)
    points = points_of(model)
    found = rate(model, lambda q, _: pp.jacobian(model, q, points) @ v, q, v, 0.0 * v)
    assert_close(pp.jacobian_dot_v(model, q, v, points), found)


# -- energy ----------------------------------------------------------------------------


def test_kinetic_energy_is_half_v_mass_v(model):
    q, v, _ = state_of(model)
    expected = v @ pp.mass_matrix(model, q) @ v / 2
    assert_close(pp.kinetic_energy(model, q, v), expected)


def test_potential_energy_is_the_mass_centre_below_zero(model):
    q, _, _ = state_of(model)
    centres = [model.base_inertia.com]
    masses = [model.base_inertia.mass]
    for pose, body in zip(poses(model, q), model.bodies, strict=True):
        centres.append((pose @ [*body.inertia.com, 1.0])[:3])
        masses.append(body.inertia.mass)
    expected = -np.array(masses) @ np.array(centres) @ model.gravity
    assert_close(pp.potential_energy(model, q), expected)


def test_gravity_force_is_the_slope_of_potential_energy(model):
    q, _, _ = state_of(model)
    steps = pp.integrate(model, q, 1j * STEP * np.eye(model.nv))
    assert_close(pp.gravity_force(model, q), pp.potential_energy(model, steps).imag / STEP)


def test_energy_grows_by_the_power_of_all_forces(model):
    """d/dt (kinetic + potential) = tau . v + sum of wrench . velocity of its point."""
    q, v, tau = state_of(model)
    loads = loads_of(model)
    vdot = pp.forward_dynamics(model, q, v, tau, loads)

    def energy(q, v):
        return pp.kinetic_energy(model, q, v) + pp.potential_energy(model, q)

    moving = pp.jacobian(model, q, list(loads)) @ v
    power = [tau @ v, *np.concatenate(list(loads.values())) * moving]
    scale = np.abs(power).sum()
    assert_close(rate(model, energy, q, v, vdot), sum(power), scale)


# -- momentum --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["free_base_tree", "star_of_free_bodies", "spacecraft"])
def test_momentum_of_what_floats_changes_by_outer_wrenches_alone(name):
    """Whatever its joints do: dh/dt = weight at the mass centre and wrenches at their points."""
    model = machines.MARKET[name]()
    model = replace(model, gravity=(1.0, -2.0, -9.0))
    q, v, tau = state_of(model)
    for k, body in enumerate(model.bodies):
        if body.parent == -1:
            tau[model.joints[k].v] = 0.0
    loads = loads_of(model)
    vdot = pp.forward_dynamics(model, q, v, tau, loads)
    expected = np.zeros(6)
    forces = [(place_of(model, q, x)[:3], w[:3], w[3:]) for x, w in loads.items()]
    for pose, body in zip(poses(model, q), model.bodies, strict=True):
        weight = body.inertia.mass * np.array(model.gravity)
        forces.append(((pose @ [*body.inertia.com, 1.0])[:3], np.zeros(3), weight))
    for place, moment, force in forces:
        expected += [*(moment + np.cross(place, force)), *force]
    found = rate(model, lambda q, v: pp.momentum(model, q, v), q, v, vdot)
    assert_close(found, expected)


def test_momentum_is_mass_times_velocity_of_the_mass_centre():
    model = machines.MARKET["tree_of_every_kind"]()
    q, v, _ = state_of(model)

    def moment_of_mass(q):
        centres = zip(poses(model, q), model.bodies, strict=True)
        return sum(x.inertia.mass * (pose @ [*x.inertia.com, 1.0])[:3] for pose, x in centres)

    moved = moment_of_mass(pp.integrate(model, q, 1j * STEP * v))
    assert_close(pp.momentum(model, q, v)[3:], moved.imag / STEP)


# -- forces and motions ----------------------------------------------------------------


METHODS = ("FD1", "FD2", "FD3", "FD4", "cholesky")


@pytest.mark.parametrize("method", METHODS)
def test_inverse_of_forward_dynamics_gives_the_forces_back(model, method):
    q, v, tau = state_of(model)
    loads = loads_of(model)
    vdot = pp.forward_dynamics(model, q, v, tau, loads, method)
    found = pp.inverse_dynamics(model, q, v, vdot, loads)
    scale = np.linalg.norm(pp.bias_force(model, q, v))
    assert_close(found, tau, scale)


def test_inverse_dynamics_is_mass_bias_and_jacobian(model):
    """tau = Mass vdot + C + J* f0, f0 = -wrench: what acts on a body helps its motors."""
    q, v, vdot = state_of(model)
    loads = loads_of(model)
    J = pp.jacobian(model, q, list(loads))
    expected = pp.mass_matrix(model, q) @ vdot + pp.bias_force(model, q, v)
    expected = expected - J.T @ np.concatenate(list(loads.values()))
    assert_close(pp.inverse_dynamics(model, q, v, vdot, loads), expected)


def test_mass_matrix_inverse_inverts(model):
    q, _, _ = state_of(model)
    product = pp.mass_matrix_inverse(model, q) @ pp.mass_matrix(model, q)
    assert_close(product, np.eye(model.nv), tolerance=1e-9)


def test_compliance_is_the_acceleration_per_wrench(model):
    """What a unit wrench at a point adds to the accelerations of all points."""
    q, v, tau = state_of(model)
    points = points_of(model)
    J = pp.jacobian(model, q, points)
    units = np.eye(12)
    loads = {point: units[:, 6 * i : 6 * i + 6] for i, point in enumerate(points)}
    pushed = pp.forward_dynamics(model, q, v, tau, loads) - pp.forward_dynamics(model, q, v, tau)
    scale = np.linalg.norm(J) * np.linalg.norm(pp.forward_dynamics(model, q, v, tau))
    assert_close(pp.operational_compliance(model, q, points), J @ pushed.T, scale)


def test_operational_inertia_is_the_inverse_of_the_compliance():
    model = machines.MARKET["star_of_free_bodies"]()
    q, _, _ = state_of(model)
    points = points_of(model)
    felt = pp.operational_inertia(model, q, points)
    compliance = pp.operational_compliance(model, q, points)
    assert_close(felt @ compliance, np.eye(12), tolerance=1e-9)
    assert np.array_equal(felt, felt.T)


# -- signs, by hand --------------------------------------------------------------------


@pytest.fixture
def stone():
    """A free body of 2 kg, its mass centre off its frame."""
    builder = pp.ModelBuilder("stone")
    builder.add_body(
        "stone", joint=pp.joints.Free(), mass=2.0, com=(0.5, 0, 0), inertia=(0.2, 0.2, 0.2)
    )
    return builder.build()


TURNED = [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5), 3.0, 4.0, 5.0]  # about x by 90 degrees


def test_what_falls_freely_accelerates_by_gravity_in_its_own_axes(stone):
    """Turned about x: the world's -z is its own -y."""
    found = pp.accelerations(stone, TURNED, np.zeros(6), np.zeros(6))
    np.testing.assert_allclose(found, [[0, 0, 0, 0, -9.81, 0]], atol=1e-12)


def test_what_is_held_does_not_accelerate(stone):
    tau = pp.gravity_force(stone, TURNED)
    found = pp.accelerations(stone, TURNED, np.zeros(6), tau)
    np.testing.assert_allclose(found, np.zeros((1, 6)), atol=1e-12)


@pytest.mark.parametrize("by", ["point", "name", "array"])
def test_wrench_acts_on_the_body_in_world_axes(stone, by):
    """A force up, as large as the weight, at the mass centre: it floats. Else it turns."""
    lift = [0.0, 0.0, 0.0, 0.0, 0.0, 2.0 * 9.81]
    moment = np.cross([0.5, 0.0, 0.0], lift[3:])  # of the same force, about the frame's origin
    loads = {
        "point": {pp.point("stone", (0.5, 0.0, 0.0)): lift},
        "name": {"stone": [*moment, *lift[3:]]},
        "array": [[*moment, *lift[3:]]],
    }
    found = pp.forward_dynamics(stone, TURNED, np.zeros(6), np.zeros(6), loads[by])
    np.testing.assert_allclose(found, np.zeros(6), atol=1e-12)
    held = pp.inverse_dynamics(stone, TURNED, np.zeros(6), np.zeros(6), loads[by])
    np.testing.assert_allclose(held, np.zeros(6), atol=1e-12)


def test_force_on_the_hand_unloads_the_motors():
    """A horizontal arm of two links of 1 m: 10 N up at the tip take 20 and 10 N m off."""
    arm = pp.examples.planar_arm(2)
    rest = [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]
    lifted = pp.inverse_dynamics(arm, *rest, {"tip": [0, 0, 0, 0, 0, 10.0]})
    np.testing.assert_allclose(lifted, pp.inverse_dynamics(arm, *rest) - [20.0, 10.0])


def test_base_that_accelerates_upward_adds_to_gravity():
    """A lift that starts with 1 m/s^2: all weighs 10.81 / 9.81 times as much."""
    arm = pp.examples.planar_arm(2)
    lift = [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    found = pp.bias_force(arm, [0.3, 0.4], [0.0, 0.0], base_acceleration=lift)
    np.testing.assert_allclose(found, pp.gravity_force(arm, [0.3, 0.4]) * 10.81 / 9.81)


def test_base_that_turns_throws_outward():
    """A pendulum that hangs on a shaft turning about z feels m omega^2 r, r from the shaft."""
    builder = pp.ModelBuilder("governor", gravity=(0, 0, 0))
    swing = pp.joints.Revolute((0, -1, 0))
    builder.add_body("bob", joint=swing, mass=2.0, com=(0, 0, -0.5))
    angle, omega = 0.7, 3.0
    shaft = [0.0, 0.0, omega, 0.0, 0.0, 0.0]
    bob = builder.build()
    found = pp.forward_dynamics(bob, [angle], [0.0], [0.0], base_velocity=shaft)
    np.testing.assert_allclose(found, omega**2 * np.sin(angle) * np.cos(angle), rtol=1e-12)
