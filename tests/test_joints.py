"""What each joint kind claims, against derivatives of its own transform, SciPy and Pinocchio."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import (
    ALL_KINDS,
    CONSTANT_MAP_KINDS,
    EULER_SEQUENCES,
    cam,
    custom,
    free,
    planar,
    random_axis,
    rocker,
    spherical,
)
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from phipsi import joints, spatial
from phipsi.model.joints import (
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

GROUPS = [planar, spherical, free]  # kinds whose coordinates are no vector space
STEP = 1e-30

every_kind = pytest.mark.parametrize("make", ALL_KINDS, ids=lambda make: make.__name__)
every_group = pytest.mark.parametrize("make", GROUPS, ids=lambda make: make.__name__)


def for_random_numbers(test):
    """Run a test with 25 generators `rng`, found by hypothesis: for each kind, so not 100."""
    seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
    return settings(max_examples=25)(given(rng=seeds)(test))


def pose(kind, q):
    """The 4 x 4 matrix of the child frame in the joint frame."""
    R, l = kind.transform(q)
    matrix = np.eye(4, dtype=np.result_type(*R[0], *R[1], *R[2], *l, float))
    matrix[:3, :3], matrix[:3, 3] = R, l
    return matrix


def body_velocity(matrix, rate):
    """V = [vee(R* dR); R* dl] of a moving pose, in the moved axes."""
    spin = matrix[:3, :3].T @ rate[:3, :3]
    assert_allclose(spin, -spin.T, atol=1e-12)
    return np.array([spin[2, 1], spin[0, 2], spin[1, 0], *(matrix[:3, :3].T @ rate[:3, 3])])


def twist(V):
    matrix = np.zeros((4, 4))
    matrix[:3, :3], matrix[:3, 3] = spatial.tilde(V[:3]), V[3:]
    return matrix


def complex_step(kind, q, a):
    """q moved by an imaginary step along tangent direction a."""
    return kind.integrate(q, [1j * STEP * (a == b) for b in range(kind.nv)])


def tangent(kind, rng, rotation=3.0):
    """A random tangent whose rotation, where it has one, is shorter than half a turn."""
    d = rng.uniform(-1.0, 1.0, kind.nv)
    n = {Planar: 1, Spherical: 3, Free: 3}.get(type(kind), 0)
    if n:
        d[:n] *= rng.uniform(0.0, rotation) / np.linalg.norm(d[:n])
    return d


def same(kind, q0, q1, tolerance=1e-12):
    """Two configurations are one: the coordinates agree, a quaternion up to its sign."""
    q0, q1 = np.array(q0, float), np.array(q1, float)
    if kind.quaternion is not None and q0[kind.quaternion] @ q1[kind.quaternion] < 0.0:
        q1[kind.quaternion] *= -1.0
    if isinstance(kind, Planar):  # its angle is one of many
        q1[0] += 2 * math.pi * round((q0[0] - q1[0]) / (2 * math.pi))
    assert_allclose(q0, q1, atol=tolerance)


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
def test_motion_map_is_linear_in_the_speeds_and_full_rank(make, rng):
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


# -- the manifold ----------------------------------------------------------------------


@every_kind
@for_random_numbers
def test_no_step_leads_nowhere(make, rng):
    kind = make(rng)
    q = kind.random(rng)
    assert_allclose(kind.integrate(q, [0.0] * kind.nv), q, atol=1e-15)
    assert_array_equal(kind.difference(q, q), np.zeros(kind.nv))


@every_kind
@for_random_numbers
def test_difference_leads_from_one_configuration_to_the_other(make, rng):
    kind = make(rng)
    q0, q1 = kind.random(rng), kind.random(rng)
    reached = kind.integrate(q0, kind.difference(q0, q1))
    assert_allclose(pose(kind, reached), pose(kind, q1), atol=1e-12)
    same(kind, q1, reached)


@every_kind
@for_random_numbers
def test_difference_undoes_integrate_within_half_a_turn(make, rng):
    kind = make(rng)
    q, d = kind.random(rng), tangent(kind, rng, rotation=3.14)
    assert_allclose(kind.difference(q, kind.integrate(q, d)), d, atol=1e-10)


@every_kind
@for_random_numbers
def test_steps_along_one_tangent_add_up(make, rng):
    """The one-parameter subgroup: integrate(integrate(q, s d), t d) = integrate(q, (s + t) d)."""
    kind = make(rng)
    q, d = kind.random(rng), tangent(kind, rng, rotation=6.0)
    s, t = rng.uniform(-2.0, 2.0, 2)
    twice = kind.integrate(kind.integrate(q, s * d), t * d)
    assert_allclose(pose(kind, twice), pose(kind, kind.integrate(q, (s + t) * d)), atol=1e-12)


@every_kind
@for_random_numbers
def test_integrate_and_back_is_where_it_began(make, rng):
    kind = make(rng)
    q, d = kind.random(rng), tangent(kind, rng, rotation=6.0)
    same(kind, q, kind.integrate(kind.integrate(q, d), -d))


@every_group
@for_random_numbers
def test_integrate_is_the_exponential_of_the_body_twist(make, rng):
    """pose(integrate(q, d)) = pose(q) exp(H* d), by SciPy's matrix exponential."""
    kind = make(rng)
    q, d = kind.random(rng), tangent(kind, rng, rotation=6.0)
    step = expm(twist(np.array(kind.motion_map(q), float) @ d))
    assert_allclose(pose(kind, kind.integrate(q, d)), pose(kind, q) @ step, atol=1e-12)


@every_group
@for_random_numbers
def test_difference_is_left_invariant(make, rng):
    """Moving both configurations by one rigid motion leaves their difference as it was."""
    kind = make(rng)
    q0, q1, g = (kind.random(rng) for _ in range(3))

    def moved(q):
        # g q, by walking from g along the way that leads from neutral to q
        return kind.integrate(g, kind.difference(kind.neutral(), q))

    assert_allclose(pose(kind, moved(q0)), pose(kind, g) @ pose(kind, q0), atol=1e-12)
    # Near half a turn the shorter way may flip: compare the poses that the ways lead to.
    before, after = kind.difference(q0, q1), kind.difference(moved(q0), moved(q1))
    H_star = np.array(kind.motion_map(q0), float)
    steps = [expm(twist(H_star @ d)) for d in (before, after)]
    assert_allclose(*steps, atol=1e-11)
    if np.linalg.norm(H_star[:3] @ before) < 3.1:
        assert_allclose(before, after, atol=1e-10)


@every_group
@for_random_numbers
def test_composition_is_associative(make, rng):
    kind = make(rng)
    a, b, c = (tangent(kind, rng) for _ in range(3))
    one = kind.neutral()
    left = kind.integrate(kind.integrate(kind.integrate(one, a), b), c)
    b_then_c = kind.difference(one, kind.integrate(kind.integrate(one, b), c))
    right = kind.integrate(kind.integrate(one, a), b_then_c)
    assert_allclose(pose(kind, left), pose(kind, right), atol=1e-12)


# Where charts of the rotations break down: nothing, half a turn, a full turn, many turns.
TURNS = [0.0, 1e-300, 1e-12, 1e-8, 1e-4, 0.1, 0.2, 1.0]
TURNS += [k * math.pi + e for k in (1, 2, 3, 4) for e in (-1e-4, -1e-8, 0.0, 1e-8, 1e-4)]


@every_group
@pytest.mark.parametrize("turn", TURNS)
def test_integrate_and_difference_are_nonsingular_at_every_angle(make, turn):
    rng = np.random.default_rng(1)
    for _ in range(4):
        kind = make(rng)
        q = kind.random(rng)
        d = tangent(kind, rng)
        n = 1 if make is planar else 3
        d[:n] *= turn / np.linalg.norm(d[:n])
        moved = kind.integrate(q, d)
        step = expm(twist(np.array(kind.motion_map(q), float) @ d))
        assert_allclose(pose(kind, moved), pose(kind, q) @ step, atol=1e-12)
        back = np.array(kind.difference(q, moved))
        assert np.isfinite(back).all()
        assert np.linalg.norm(back[:n]) <= math.pi + 1e-12
        assert_allclose(pose(kind, kind.integrate(q, back)), pose(kind, moved), atol=1e-10)
        if turn < math.pi - 1e-5:
            assert_allclose(back, d, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("make", [spherical, free], ids=lambda make: make.__name__)
def test_quaternions_stay_unit_over_long_products(make):
    """20,000 steps; without normalisation the length wanders off by some 1e-14."""
    rng = np.random.default_rng(2)
    kind = make(rng)
    q = kind.random(rng)
    for d in rng.uniform(-1.0, 1.0, (20_000, kind.nv)).tolist():
        q = kind.integrate(q, d)
    assert_allclose(np.linalg.norm(q[:4]), 1.0, rtol=0.0, atol=4e-16)


def test_many_small_steps_make_one_turn():
    """A full turn in 10,000 steps ends where it began."""
    kind, q = Free(), Free().random(np.random.default_rng(3))
    step = (2 * math.pi / 10_000 * np.array([0.6, 0.0, 0.8, 0.0, 0.0, 0.0])).tolist()
    moved = q
    for _ in range(10_000):
        moved = kind.integrate(moved, step)
    same(kind, q, moved, tolerance=1e-12)


def test_difference_is_smooth_across_the_series_of_the_logarithm():
    """The derivative of difference by complex step, on both sides of every crossover."""
    kind = Free()
    q = kind.random(np.random.default_rng(4))
    w, u = np.array([0.48, 0.6, 0.64]), np.array([0.3, -0.2, 0.5])
    for angle in (0.0, 1e-9, 0.0999999, 0.1000001, 0.1999999, 0.2000001, 0.3986, 0.3988):
        d = np.array([*(angle * w), *u])
        direction = np.array([0.3, -0.5, 0.2, 0.1, 0.7, -0.4])
        moved = kind.integrate(q, d + 1j * STEP * direction)
        assert_allclose(np.imag(kind.difference(q, moved)) / STEP, direction, atol=1e-12)


@every_kind
def test_batches_move_as_each_of_their_members(make):
    rng = np.random.default_rng(5)
    kind = make(rng)
    q0, q1 = (np.array([kind.random(rng) for _ in range(30)]) for _ in range(2))
    d = np.array([tangent(kind, rng) for _ in range(30)]) * 10.0 ** rng.uniform(-9, 0, (30, 1))
    moved = np.array(kind.integrate(list(q0.T), list(d.T)), float).T
    apart = np.array(kind.difference(list(q0.T), list(q1.T)), float).T
    for k in range(30):
        assert_allclose(moved[k], kind.integrate(q0[k].tolist(), d[k].tolist()), rtol=1e-13)
        assert_allclose(apart[k], kind.difference(q0[k].tolist(), q1[k].tolist()), rtol=1e-13)


# -- neutral and random ----------------------------------------------------------------


@every_kind
@for_random_numbers
def test_neutral_is_the_identity_pose(make, rng):
    kind = make(rng)
    assert len(kind.neutral()) == kind.nq
    if make is custom:
        assert kind.neutral() == [0.0] * kind.nq
    else:
        assert_array_equal(pose(kind, kind.neutral()), np.eye(4))


@every_kind
def test_random_is_reproducible_and_spreads(make):
    kind = make(np.random.default_rng(6))
    rng = np.random.default_rng(7)
    draws = np.array([kind.random(rng) for _ in range(400)])
    again = np.random.default_rng(7)
    assert_array_equal(draws, [kind.random(again) for _ in range(400)])
    assert draws.shape == (400, kind.nq)
    for i in range(kind.nq):
        if kind.quaternion is not None and i < 4:
            reach, rest = 1.0, 0.5  # a coordinate of the 3-sphere has standard deviation 1/2
        else:
            reach = math.pi if i in kind.turns else 1.0
            rest = reach / math.sqrt(3.0)
        assert np.abs(draws[:, i]).max() <= reach
        assert_allclose(draws[:, i].std(), rest, rtol=0.15)
        assert_allclose(draws[:, i].mean(), 0.0, atol=0.15 * reach)
    if kind.quaternion is not None:
        assert_allclose(np.linalg.norm(draws[:, :4], axis=1), 1.0, rtol=1e-15)


# -- an independent witness ------------------------------------------------------------


@pytest.fixture(scope="module")
def pinocchio():
    return pytest.importorskip("pinocchio")


def pinocchio_model(pinocchio, make):
    joint = {
        free: pinocchio.JointModelFreeFlyer,
        spherical: pinocchio.JointModelSpherical,
        planar: pinocchio.JointModelPlanar,
    }[make]()
    model = pinocchio.Model()
    model.addJoint(0, joint, pinocchio.SE3.Identity(), "joint")
    return model


def to_pinocchio(make, q):
    """Pinocchio: position first; the planar angle as cosine and sine."""
    if make is free:
        return np.array([*q[4:], *q[:4]])
    if make is planar:
        return np.array([q[1], q[2], math.cos(q[0]), math.sin(q[0])])
    return np.array(q)


def tangent_to_pinocchio(make, d):
    """Pinocchio: linear part first."""
    if make is free:
        return np.array([*d[3:], *d[:3]])
    return np.array([d[1], d[2], d[0]]) if make is planar else np.array(d)


@every_group
@for_random_numbers
def test_integrate_and_difference_are_those_of_pinocchio(pinocchio, make, rng):
    kind = Planar() if make is planar else make(rng)
    witness = pinocchio_model(pinocchio, make)
    q0, q1, d = kind.random(rng), kind.random(rng), tangent(kind, rng)
    moved = to_pinocchio(make, kind.integrate(q0, d))
    reference = pinocchio.integrate(witness, to_pinocchio(make, q0), tangent_to_pinocchio(make, d))
    if make is not planar:
        quaternion = slice(-4, None)
        reference[quaternion] *= np.sign(reference[quaternion] @ moved[quaternion])
    assert_allclose(moved, reference, atol=1e-12)
    apart = tangent_to_pinocchio(make, kind.difference(q0, q1))
    reference = pinocchio.difference(witness, to_pinocchio(make, q0), to_pinocchio(make, q1))
    assert_allclose(apart, reference, atol=1e-9)


@every_group
@for_random_numbers
def test_pose_and_velocity_are_those_of_pinocchio(pinocchio, make, rng):
    kind = Planar() if make is planar else make(rng)
    witness = pinocchio_model(pinocchio, make)
    data = witness.createData()
    q, v = kind.random(rng), rng.uniform(-1.0, 1.0, kind.nv)
    pinocchio.forwardKinematics(witness, data, to_pinocchio(make, q), tangent_to_pinocchio(make, v))
    assert_allclose(pose(kind, q), data.oMi[1].homogeneous, atol=1e-12)
    V = np.array(kind.motion_map(q), float) @ v
    assert_allclose(V, [*data.v[1].angular, *data.v[1].linear], atol=1e-12)


# -- what is no joint ------------------------------------------------------------------

NAN = float("nan")


def reflected(q):
    return [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]], [q[0], 0.0, 0.0]


def undifferentiable(q):
    c, s = math.cos(q[0]), math.sin(q[0])
    return [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], [0.0, 0.0, 0.0]


PROBLEMS = {
    "zero axis": (Revolute((0, 0, 0)), "the axis of a Revolute joint has length zero; give a"),
    "zero prismatic axis": (Prismatic((0, 0, 0)), "Prismatic joint has length zero"),
    "zero helical axis": (Helical((0, 0, 0)), "Helical joint has length zero"),
    "zero cylindrical axis": (Cylindrical((0, 0, 0)), "Cylindrical joint has length zero"),
    "zero normal": (Planar((0, 0, 0)), "the normal of a Planar joint has length zero"),
    "zero first axis": (Universal((0, 0, 0), joints.X), "the first of a Universal joint has"),
    "zero second axis": (Universal(joints.X, (0, 0, 0)), "the second of a Universal joint has"),
    "parallel axes": (Universal((0, 0, 1), (0, 0, -2)), "joint are parallel; they must differ"),
    "nearly parallel axes": (Universal((0, 0, 1), (1e-12, 0, 1)), "joint are parallel"),
    "NaN in an axis": (Revolute((0, NAN, 1)), "(0.0, nan, 1.0); expected finite numbers"),
    "infinite axis": (Continuous((math.inf, 0, 0)), "Continuous joint is (inf, 0.0, 0.0)"),
    "short axis": (Revolute((0, 1)), "is (0.0, 1.0); expected three numbers, as (0, 0, 1)"),
    "no axis": (Revolute(None), "is None; expected three numbers"),
    "letter for an axis": (Revolute("z"), "is 'z'; expected three numbers"),
    "infinite pitch": (Helical(joints.Z, math.inf), "the pitch of a Helical joint is inf"),
    "text pitch": (Helical(joints.Z, "5 mm"), "is '5 mm'; expected a finite number of metres"),
    "Euler repeats": (SphericalEuler("zzx"), "'zzx' of a SphericalEuler joint does not span"),
    "Euler letters": (SphericalEuler("abc"), "give three of x, y, z"),
    "Euler length": (SphericalEuler("zy"), "give three of x, y, z"),
    "Euler number": (SphericalEuler(123), "give three of x, y, z"),
    "no pose": (Custom(None, 1), "needs a callable pose(q) -> (R, l) and an integer size"),
    "no size": (Custom(cam, 0), "and an integer size, 1 or more"),
    "text size": (Custom(cam, "1"), "and an integer size, 1 or more"),
    "pose that raises": (Custom(rocker, 1), "fails at q = 0 (not enough values to unpack"),
    "pose of nothing": (Custom(lambda q: None, 1), "fails at q = 0"),
    "R too small": (Custom(lambda q: ([[1.0]], [0.0] * 3), 1), "a 3x3 matrix and a 3-vector"),
    "l too short": (Custom(lambda q: (spatial.IDENTITY3, [0.0]), 1), "and a 3-vector"),
    "reflection": (Custom(reflected, 1), "returns an R that is no rotation; R R* must be I"),
    "NaN in l": (
        Custom(lambda q: (spatial.IDENTITY3, [NAN, 0.0, 0.0]), 1),
        "returns the position [nan, 0.0, 0.0]; expected finite numbers",
    ),
    "functions of math": (
        Custom(undifferentiable, 1),
        "cannot be differentiated at q = 0 (must be real number, not Dual); write it with sin",
    ),
}


@pytest.mark.parametrize(("kind", "problem"), PROBLEMS.values(), ids=PROBLEMS)
def test_impossible_kind_says_why_and_what_to_do(kind, problem):
    assert problem in kind.problem()


@every_kind
def test_possible_kinds_have_no_problem(make):
    assert make(np.random.default_rng(8)).problem() is None
    assert Fixed().problem() is None
