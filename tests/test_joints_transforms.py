"""What each joint kind claims of its transform and map, against derivatives and SciPy."""

import math

import numpy as np
import pytest
from joint_motions import STEP, body_velocity, complex_step, every_kind, for_random_numbers, pose
from machines import CONSTANT_MAP_KINDS, EULER_SEQUENCES, random_axis, rocker
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.transform import Rotation

from phipsi.joints import (
    Continuous,
    Custom,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    SphericalEuler,
    Universal,
)

# -- transform, map and its derivatives ------------------------------------------------


@every_kind
@for_random_numbers
def test_transform_is_a_rigid_motion(make, rng):
    kind = make(rng)
    R = pose(kind, kind.random(rng))[:3, :3]
    assert_allclose(R @ R.T, np.eye(3), atol=1e-14)
    assert_allclose(np.linalg.det(R), 1.0, atol=1e-14)


@every_kind
@for_random_numbers
def test_motion_map_is_the_derivative_of_the_transform(make, rng):
    kind = make(rng)
    q = kind.random(rng)
    H_star = np.array(kind.motion_map(q), float)
    assert H_star.shape == (6, kind.nv)
    moving = [pose(kind, complex_step(kind, q, a)).imag / STEP for a in range(kind.nv)]
    expected = np.transpose([body_velocity(pose(kind, q), rate) for rate in moving])
    assert_allclose(H_star, expected, atol=1e-12)


@every_kind
@for_random_numbers
def test_map_derivatives_are_those_of_the_map(make, rng):
    kind = make(rng)
    q = kind.random(rng)
    expected = [
        np.array(kind.motion_map(complex_step(kind, q, a)), complex).imag / STEP
        for a in range(kind.nv)
    ]
    found = kind.map_derivatives(q)
    if make in CONSTANT_MAP_KINDS:
        assert found == ()
        assert_array_equal(expected, np.zeros((kind.nv, 6, kind.nv)))
    else:
        assert_allclose(np.array(found, float), expected, atol=1e-12)


def test_map_derivatives_are_not_all_zero_where_they_are_given():
    for kind in (Universal(), SphericalEuler(), Custom(rocker, 2)):
        assert np.abs(kind.map_derivatives([0.3] * kind.nq)).max() > 0.1


@every_kind
@for_random_numbers
def test_motion_map_has_full_rank(make, rng):
    kind = make(rng)
    q = kind.random(rng)
    if isinstance(kind, SphericalEuler):  # away from gimbal lock
        q[1] = math.pi / 2 if kind.sequence[0] == kind.sequence[2] else 0.0
    assert np.linalg.matrix_rank(kind.motion_map(q), tol=1e-3) == kind.nv


# -- what the transform is, kind by kind -----------------------------------------------


@for_random_numbers
def test_one_axis_joints_turn_about_and_slide_along_their_axis(rng):
    axis, x, y, pitch = random_axis(rng), *rng.uniform(-3.0, 3.0, 3)
    turned = Rotation.from_rotvec(x * axis).as_matrix()
    cases = [
        (Revolute(axis), [x], turned, np.zeros(3)),
        (Continuous(axis), [x], turned, np.zeros(3)),
        (Prismatic(axis), [x], np.eye(3), x * axis),
        (Helical(axis, pitch), [x], turned, pitch * x * axis),
        (Cylindrical(axis), [x, y], turned, y * axis),
    ]
    for kind, q, R, l in cases:
        assert_allclose(pose(kind, q)[:3, :3], R, atol=1e-14)
        assert_allclose(pose(kind, q)[:3, 3], l, atol=1e-14)


@for_random_numbers
def test_universal_joint_turns_about_its_first_then_its_second_axis(rng):
    first, second, q = random_axis(rng), random_axis(rng), rng.uniform(-3.0, 3.0, 2)
    R = Rotation.from_rotvec(q[0] * first) * Rotation.from_rotvec(q[1] * second)
    found = pose(Universal(first, second), q)
    assert_allclose(found[:3, :3], R.as_matrix(), atol=1e-14)
    assert_allclose(found[:3, 3], np.zeros(3))


@pytest.mark.parametrize("sequence", EULER_SEQUENCES)
def test_euler_angles_are_those_of_scipy(sequence):
    q = np.random.default_rng(0).uniform(-3.0, 3.0, 3)
    R = Rotation.from_euler(sequence.upper(), q).as_matrix()  # upper case: about moving axes
    assert_allclose(pose(SphericalEuler(sequence), q)[:3, :3], R, atol=1e-14)


@for_random_numbers
def test_planar_joint_stays_in_its_plane(rng):
    normal, q = random_axis(rng), rng.uniform(-3.0, 3.0, 3)
    found = pose(Planar(normal), q)
    assert_allclose(found[:3, :3], Rotation.from_rotvec(q[0] * normal).as_matrix(), atol=1e-14)
    assert_allclose(found[:3, 3] @ normal, 0.0, atol=1e-14)
    assert_allclose(np.linalg.norm(found[:3, 3]), math.hypot(q[1], q[2]), rtol=1e-14)


@pytest.mark.parametrize("normal", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0, -1, 0), (1e-9, 0, -1)])
def test_axes_in_the_plane_are_right_handed_with_the_normal(normal):
    H_star = np.array(Planar(normal).motion_map([0.0, 0.0, 0.0]))
    n, x, y = H_star[:3, 0], H_star[3:, 1], H_star[3:, 2]
    assert_allclose([x @ x, y @ y, x @ y, x @ n, y @ n], [1, 1, 0, 0, 0], atol=1e-15)
    assert_allclose(np.cross(x, y), n, atol=1e-15)


def test_planar_coordinates_across_z_are_x_and_y():
    found = pose(Planar(), [0.5, 2.0, 3.0])
    assert_allclose(found[:3, 3], [2.0, 3.0, 0.0])
    assert_allclose(found[:3, :3], Rotation.from_euler("z", 0.5).as_matrix(), atol=1e-15)


@for_random_numbers
def test_quaternions_of_spherical_and_free_joints_are_scalar_last(rng):
    q = Free().random(rng)
    R = Rotation.from_quat(q[:4]).as_matrix()
    assert_allclose(pose(Free(), q)[:3, :3], R, atol=1e-14)
    assert_allclose(pose(Free(), q)[:3, 3], q[4:])
    assert_allclose(pose(Spherical(), q[:4])[:3, :3], R, atol=1e-14)


def test_fixed_joint_has_no_freedom():
    assert (Fixed().nq, Fixed().nv) == (0, 0)
    assert_array_equal(pose(Fixed(), []), np.eye(4))
    assert np.shape(Fixed().motion_map([])) == (6, 0)
    assert Fixed().integrate([], []) == Fixed().difference([], []) == []


def test_custom_joint_is_what_the_built_in_one_with_its_transform_is():
    """Universal, spelled out by the user: the same map and the same derivatives."""
    built_in = Universal((1, 2, 3), (0, 1, -1))
    spelled = Custom(built_in.transform, 2)
    q = [0.7, -1.9]
    assert_allclose(spelled.motion_map(q), built_in.motion_map(q), atol=1e-15)
    assert_allclose(spelled.map_derivatives(q), built_in.map_derivatives(q), atol=1e-15)


def test_axes_are_stored_with_length_one():
    for axis in (
        [0, 0, 5],
        (1e-320, 0.0, 0.0),
        (1.7e308, -1.7e308, 0.0),
        np.array([1.0, 2.0, 3.0]),
    ):
        kind = Revolute(axis)
        assert kind.problem() is None
        assert_allclose(np.linalg.norm(kind.axis), 1.0, rtol=1e-15)
        assert hash(kind) == hash(Revolute(kind.axis))
