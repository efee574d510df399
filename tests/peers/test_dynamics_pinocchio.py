"""Every function of `phipsi.dynamics` against Pinocchio: random machines and real robots."""

import carried as on_base
import numpy as np
import pytest
from hypothesis import given, settings
from machines import machines_with_states, random_machine, random_state
from peers.answers import Answers
from peers.robots import MACHINES, read
from peers.test_random_machines import KINDS, in_pinocchio

import phipsi as pp

TOLERANCE = 1e-9
METHODS = ("FD1", "FD2", "FD3", "FD4", "cholesky")

on_random_machines = given(
    machines_with_states(
        kinds=KINDS,
        max_bodies=20,
        rotors=(False, "reflected", "bodies", True),
        mimics=(False, False, True),
    )
)


def check(what, ours, theirs, tolerance=TOLERANCE):
    """Equal, relative to the largest entry."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape, what
    error = np.abs(ours - theirs).max(initial=0.0) / max(np.abs(theirs).max(initial=0.0), 1e-6)
    assert error < tolerance, f"{what} differs by {error:.1e}"


def points_of(model):
    """Two points on one body, one on another: off the origins."""
    names = [body.name for body in model.bodies]
    return [
        pp.point(names[-1], (0.1, -0.2, 0.3)),
        pp.point(names[len(names) // 2], (-0.3, 0.1, 0.2)),
        pp.point(names[-1], (-0.1, 0.4, 0.0)),
    ]


def numbers(model):
    return np.random.default_rng(len(model.bodies))


def check_kinematics(model, peer, q, v):
    points = points_of(model)
    theirs = Answers(peer, q, v, points)
    check("poses", pp.body_poses(model, q), theirs.poses())
    check("velocities", pp.body_velocities(model, q, v), theirs.velocities())
    check("jacobian", pp.jacobian(model, q, points), theirs.jacobian())
    check("jacobian_dot_v", pp.jacobian_dot_v(model, q, v, points), theirs.jacobian_dot_v())


def check_masses(model, peer, q, v, inverse_tolerance=TOLERANCE):
    points = points_of(model)
    theirs = Answers(peer, q, v, points)
    check("mass matrix", pp.mass_matrix(model, q), theirs.mass_matrix())
    inverse, compliance = theirs.mass_matrix_inverse(), theirs.operational_compliance()
    check("its inverse", pp.mass_matrix_inverse(model, q), inverse, inverse_tolerance)
    check("compliance", pp.operational_compliance(model, q, points), compliance, inverse_tolerance)
    check("kinetic energy", pp.kinetic_energy(model, q, v), theirs.kinetic_energy())
    check("potential energy", pp.potential_energy(model, q), theirs.potential_energy())
    check("momentum", pp.momentum(model, q, v), theirs.momentum())


def check_forces(model, peer, q, v, forward_tolerance=TOLERANCE):
    points, rng = points_of(model), numbers(model)
    theirs = Answers(peer, q, v, points)
    vdot, tau = rng.normal(size=(2, model.nv))
    check("bias", pp.bias_force(model, q, v), theirs.bias())
    check("gravity", pp.gravity_force(model, q), theirs.gravity())
    wrenches = rng.normal(size=(len(model.bodies), 6))
    at_points = dict(zip(points, wrenches[[0, -1, 0]], strict=True))
    loads = {
        "no wrench": (None, {}),
        "wrenches at points": (
            at_points,
            dict(zip(theirs.points, at_points.values(), strict=True)),
        ),
        "wrenches on bodies": (wrenches, dict(zip(theirs.bodies, wrenches, strict=True))),
    }
    for what, (load, forces) in loads.items():
        ours = pp.inverse_dynamics(model, q, v, vdot, load)
        check(f"inverse dynamics, {what}", ours, theirs.inverse_dynamics(vdot, forces))
        found = theirs.forward_dynamics(tau, forces)
        for method in METHODS if load is None else ("FD4",):
            ours = pp.forward_dynamics(model, q, v, tau, load, method)
            check(f"forward dynamics by {method}, {what}", ours, found, forward_tolerance)
        ours = pp.accelerations(model, q, v, tau, load)
        check(f"accelerations, {what}", ours, theirs.accelerations(found), forward_tolerance)


def tolerance_of(peer, q, v):
    """1e-9, or what Pinocchio's own two ways to the inverse mass matrix leave open.

    Of the real robots that is iCub alone, whose head has no rotational inertia.
    """
    theirs = Answers(peer, q, v)
    solved, found = np.linalg.inv(theirs.mass_matrix()), theirs.mass_matrix_inverse()
    error = np.abs(solved - found).max() / np.abs(found).max()
    assert error < 1e-7
    return max(TOLERANCE, 4.0 * error)


# -- random machines -------------------------------------------------------------------


@on_random_machines
@settings(max_examples=100)
def test_kinematics_of_random_machines(machine):
    model, q, v = machine
    check_kinematics(model, in_pinocchio(model), q, v)


@on_random_machines
@settings(max_examples=100)
def test_masses_of_random_machines(machine):
    model, q, v = machine
    peer = in_pinocchio(model)
    check_masses(model, peer, q, v, tolerance_of(peer, q, v))


@on_random_machines
@settings(max_examples=100)
def test_forces_and_motions_of_random_machines(machine):
    model, q, v = machine
    peer = in_pinocchio(model)
    check_forces(model, peer, q, v, tolerance_of(peer, q, v))


# -- real robots -----------------------------------------------------------------------


ROBOTS = [(file, base) for file in dict(MACHINES) for base in ("fixed", "free")]


@pytest.fixture(params=ROBOTS, ids=lambda entry: f"{entry[0].split('/')[-1][:-5]}-{entry[1]}")
def robot(request):
    """(model, peer, q, v)."""
    model, peer = read(*request.param)
    rng = np.random.default_rng(11)
    return model, peer, model.random(rng), rng.normal(size=model.nv)


def test_kinematics_of_real_robots(robot):
    check_kinematics(*robot)


def test_masses_of_real_robots(robot):
    check_masses(*robot, inverse_tolerance=tolerance_of(robot[1], *robot[2:]))


def test_forces_and_motions_of_real_robots(robot):
    check_forces(*robot, forward_tolerance=tolerance_of(robot[1], *robot[2:]))


# -- a base that is moved --------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_machines_on_a_moved_base(seed):
    """As Pinocchio has them on a free joint that moves as prescribed."""
    rng = np.random.default_rng(seed)
    world = random_machine(seed, 9, KINDS, "forest", rotors="reflected", mimics=seed % 2 == 1)
    place, V0, A0 = on_base.random_base(rng)
    model = on_base.seen_from_base(world, place)
    q, v = random_state(model, rng)
    vdot, tau = rng.normal(size=(2, model.nv))
    theirs = Answers(in_pinocchio(on_base.carried(world)), np.append(place, q), np.append(V0, v))
    moved = {"base_velocity": V0, "base_acceleration": A0}

    found = theirs.inverse_dynamics(np.append(A0, vdot))[6:]
    check("inverse dynamics", pp.inverse_dynamics(model, q, v, vdot, **moved), found)
    found = theirs.inverse_dynamics(np.append(A0, 0.0 * vdot))[6:]
    check("bias", pp.bias_force(model, q, v, **moved), found)
    ours = pp.body_velocities(model, q, v, base_velocity=V0)
    check("velocities", ours, theirs.velocities()[1:])
    for method in METHODS:
        vdot = pp.forward_dynamics(model, q, v, tau, method=method, **moved)
        check(f"{method} and back", theirs.inverse_dynamics(np.append(A0, vdot))[6:], tau)
    ours = pp.accelerations(model, q, v, tau, **moved)
    check("accelerations", ours, theirs.accelerations(np.append(A0, vdot))[1:])
