"""What the builder builds, against independent sums."""

import math
import sys

import numpy as np
import pytest
from bars import BAR, build
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import (
    machines,
    random_inertia,
    random_machine,
    random_placement,
    random_rotation,
    revolute,
)
from numpy.testing import assert_allclose, assert_array_equal

import phipsi as pp
from phipsi import joints, spatial
from phipsi.errors import ModelError
from phipsi.model.inertia import Inertia, Placement
from phipsi.model.joints import Fixed, Free, Planar, Prismatic, Revolute, Spherical
from phipsi.model.tree import WORLD

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


# -- numbering -------------------------------------------------------------------------


def test_coordinates_follow_the_joints_depth_first_in_the_order_added():
    model = build(
        ("torso", "world", Free()),
        ("left", "torso", Revolute()),
        ("right", "torso", Spherical()),
        ("left hand", "left", Prismatic()),
        ("right hand", "right", Planar()),
        ("satellite", "world", Revolute()),
        ("left finger", "left hand", Revolute()),
    )
    names = ["torso", "left", "left hand", "left finger", "right", "right hand", "satellite"]
    assert [body.name for body in model.bodies] == names
    assert [joint.name for joint in model.joints] == [f"{name}_joint" for name in names]
    assert model.tree.parent == (-1, 0, 1, 2, 0, 4, -1)
    assert [joint.q for joint in model.joints] == [
        slice(*ends) for ends in ((0, 7), (7, 8), (8, 9), (9, 10), (10, 14), (14, 17), (17, 18))
    ]
    assert [joint.v for joint in model.joints] == [
        slice(*ends) for ends in ((0, 6), (6, 7), (7, 8), (8, 9), (9, 12), (12, 15), (15, 16))
    ]
    assert (model.nq, model.nv) == (18, 16)


def test_parents_may_be_added_after_their_children():
    bodies = [("a", "world", Revolute()), ("b", "a", Prismatic()), ("c", "b", Spherical())]
    forward, backward = build(*bodies), build(*bodies[::-1])
    assert forward.bodies == backward.bodies
    assert forward.joints == backward.joints


@settings(max_examples=50)
@given(seeds)
def test_order_of_adding_decides_only_the_order_of_siblings(rng):
    """Any order of the same bodies gives the same machine but for the numbering."""
    n = int(rng.integers(1, 15))
    parents = ["world" if rng.random() < 0.2 or k == 0 else f"b{rng.integers(k)}" for k in range(n)]
    bodies = [(f"b{k}", parents[k], revolute(rng), random_placement(rng)) for k in range(n)]
    one, two = build(*bodies), build(*(bodies[k] for k in rng.permutation(n)))
    for k in range(n):
        first, second = one.body(f"b{k}"), two.body(f"b{k}")
        assert first.inertia == second.inertia
        for model, body in ((one, first), (two, second)):
            parent = "world" if body.parent == WORLD else model.bodies[body.parent].name
            assert parent == parents[k]
        joint_one, joint_two = one.joint(f"b{k}_joint"), two.joint(f"b{k}_joint")
        assert joint_one.placement == joint_two.placement
        assert joint_one.kind == joint_two.kind


@settings(max_examples=50)
@given(machines(max_bodies=40, rotors=(False, True), mimics=(False, True)))
def test_every_machine_is_numbered_depth_first_without_gaps(model):
    assert len(model.bodies) == len(model.joints)
    assert model.tree.parent == tuple(body.parent for body in model.bodies)
    row = 0
    for joint in model.joints:
        assert joint.rows == slice(row, row + joint.kind.nv)
        row = joint.rows.stop
    assert sum(joint.kind.nq for joint in model.leaders) == model.nq
    assert sum(joint.kind.nv for joint in model.leaders) == model.nv


def test_random_machines_can_have_every_kind_and_shape():
    """The market is no stall: all kinds, several roots, free bases, rotors, mimics."""
    models = [
        random_machine(seed, 40, shape=shape, base=base, rotors=True, mimics=True)
        for seed, (shape, base) in enumerate(
            [("forest", "fixed"), ("tree", "free"), ("chain", "fixed"), ("star", "fixed")]
        )
    ]
    kinds = {type(joint.kind).__name__ for model in models for joint in model.joints}
    assert kinds == {
        *("Revolute", "Continuous", "Prismatic", "Helical", "Cylindrical", "Universal"),
        *("Planar", "Spherical", "SphericalEuler", "Free", "Custom"),
    }
    assert len(models[0].tree.roots) > 1
    assert isinstance(models[1].joints[0].kind, Free)
    assert max(models[2].tree.depth) >= 40
    assert any(joint.reflected_inertia > 0.0 for joint in models[0].joints)
    assert any(body.name.startswith("rotor") for body in models[0].bodies)
    assert any(joint.mimic for joint in models[0].joints if not joint.name.startswith("rotor"))


# -- welding ---------------------------------------------------------------------------


def homogeneous(place):
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = place["rotation"], place["position"]
    return matrix


@settings(max_examples=60)
@given(seeds)
def test_welded_bodies_weigh_what_their_parts_weigh(rng):
    """M of each body is the sum of phi M phi* over what is welded to it, by 6x6 matrices."""
    n = int(rng.integers(2, 16))
    builder = pp.ModelBuilder()
    place = {"world": ("world", np.eye(4))}  # of each link: what carries it, and where
    sums, joint_places = {"world": np.zeros((6, 6))}, {}
    for k in range(n):
        name, parent = f"b{k}", "world" if k == 0 else f"b{rng.integers(k)}"
        if rng.random() < 0.2:
            parent = "world"
        kind = Fixed() if rng.random() < 0.6 else revolute(rng)
        at, body = random_placement(rng), random_inertia(rng)
        if isinstance(kind, Fixed) and rng.random() < 0.2:
            body = {"mass": 0.0}  # a bare frame
        builder.add_body(name, parent, kind, **at, **body)
        carrier, pose = place[parent]
        pose = pose @ homogeneous(at)
        if not isinstance(kind, Fixed):
            joint_places[name] = pose
            carrier, pose = name, np.eye(4)
            sums[name] = np.zeros((6, 6))
        place[name] = carrier, pose
        if body["mass"]:
            X = np.array(spatial.phi(pose[:3, :3], pose[:3, 3]))
            M = spatial.spatial_inertia(body["mass"], body["com"], body["inertia"])
            sums[carrier] += X @ M @ X.T
    model = builder.build()
    assert_allclose(model.base_inertia.matrix, sums.pop("world"), rtol=1e-12, atol=1e-11)
    assert {body.name for body in model.bodies} == set(sums)
    for body, joint in zip(model.bodies, model.joints, strict=True):
        assert_allclose(body.inertia.matrix, sums[body.name], rtol=1e-12, atol=1e-11)
        assert_array_equal(body.inertia.matrix, body.inertia.matrix.T)
        assert_allclose(joint.placement.matrix, joint_places[body.name], atol=1e-13)
    for name in set(place) - set(sums) - {"world"}:
        frame = model.frame(name)
        carrier = "world" if frame.body == WORLD else model.bodies[frame.body].name
        assert carrier == place[name][0]
        assert_allclose(frame.placement.matrix, place[name][1], atol=1e-13)


def test_mass_counts_every_link_moving_mass_only_what_moves():
    model = build(
        ("base", "world", Fixed(), {"mass": 10.0}),
        ("arm", "base", Revolute(), {"mass": 3.0}),
        ("hand", "arm", Fixed(), {"mass": 2.0}),
    )
    assert model.mass == 15.0
    assert model.moving_mass == 5.0
    assert model.base_inertia.mass == 10.0


def test_frames_sit_on_what_carries_them():
    shift = {"position": (0.0, 0.0, 1.0)}
    model = build(
        ("base", "world", Fixed(), shift),
        ("arm", "base", Revolute(), shift),
        ("hand", "arm", Fixed(), shift),
        frames=[
            ("tool", "hand", (1.0, 0.0, 0.0)),
            ("desk", "world", (5.0, 0.0, 0.0)),
            ("shelf", "base", (0.0, 2.0, 0.0)),
        ],
    )
    expected = {
        "base": (WORLD, (0.0, 0.0, 1.0)),
        "hand": (0, (0.0, 0.0, 1.0)),
        "tool": (0, (1.0, 0.0, 1.0)),
        "desk": (WORLD, (5.0, 0.0, 0.0)),
        "shelf": (WORLD, (0.0, 2.0, 1.0)),
        "arm": (0, (0.0, 0.0, 0.0)),
    }
    assert [frame.name for frame in model.frames] == ["base", "hand", "tool", "desk", "shelf"]
    for name, (body, position) in expected.items():
        assert model.frame(name).body == body
        assert model.frame(name).placement.position == position
    assert model.joints[0].placement.position == (0.0, 0.0, 2.0)


def test_point_is_located_through_its_frame():
    turn = np.array(spatial.rotation(joints.Z, math.pi / 2))
    model = build(("arm", "world", Revolute()), frames=[("tool", "arm", (1.0, 0.0, 0.0), turn)])
    body, place = model.locate(pp.point("tool", (1.0, 0.0, 0.0)))
    assert body == 0
    assert_allclose(place.position, (1.0, 1.0, 0.0), atol=1e-15)
    assert_allclose(place.rotation, turn)
    assert model.locate(pp.point("arm"))[1].position == (0.0, 0.0, 0.0)


# -- inertias and placements -----------------------------------------------------------


@given(seeds)
def test_placements_compose_like_their_matrices(rng):
    one, two = (Placement.of(random_rotation(rng), rng.normal(size=3)) for _ in range(2))
    assert_allclose(one.then(two).matrix, one.matrix @ two.matrix, atol=1e-14)
    assert Placement().then(two) == two
    assert one.then(Placement()) == one


@given(seeds)
def test_moved_and_added_inertias_are_those_of_their_matrices(rng):
    parts = [
        (Inertia.of(**{"rotational": body.pop("inertia"), **body}), Placement.of(R, l))
        for body, R, l in (
            (random_inertia(rng), random_rotation(rng), rng.normal(size=3)) for _ in range(3)
        )
    ]
    total, expected = Inertia(), np.zeros((6, 6))
    for inertia, place in parts:
        X = np.array(spatial.phi(place.rotation, place.position))
        total = total.plus(inertia.moved(place))
        expected += X @ inertia.matrix @ X.T
    assert_allclose(total.matrix, expected, atol=1e-12)
    assert total.violations() == []


def test_bodies_without_mass_but_with_inertia_add_up():
    """Kept from files only; the mass centre of no mass is anywhere between."""
    one = Inertia.of(0.0, (1.0, 0.0, 0.0), (1.0, 2.0, 3.0))
    two = Inertia.of(0.0, (0.0, 1.0, 0.0), (3.0, 2.0, 1.0))
    both = one.plus(two)
    assert both.mass == 0.0
    assert_array_equal(both.rotational, 4.0 * np.eye(3))


@given(seeds)
def test_inertia_is_physical_exactly_if_some_mass_distribution_has_it(rng):
    """The closed-form check against the eigenvalues of the second moments of mass."""
    R = random_rotation(rng)
    moments = rng.uniform(-0.2, 1.0, 3)
    second_moments = R @ np.diag(moments) @ R.T
    rotational = np.trace(second_moments) * np.eye(3) - second_moments
    inertia = Inertia.of(1.0, (0, 0, 0), (rotational + rotational.T) / 2)
    assert bool(inertia.violations()) == (moments.min() < -1e-9)


@given(seeds)
def test_thin_plates_rods_and_points_are_physical(rng):
    """The triangle inequality holds with equality; roundoff of a rotation must not matter."""
    R, scale = random_rotation(rng), 10.0 ** rng.uniform(-12.0, 6.0)
    a, b = rng.uniform(0.01, 1.0, 2)
    for moments in ((a, b, a + b), (0.0, a, a), (a, 0.0, a), (0.0, 0.0, 0.0)):
        I = scale * R @ np.diag(moments) @ R.T
        assert Inertia.of(1.0, (0, 0, 0), (I + I.T) / 2).violations() == []


@pytest.mark.parametrize(
    "given_inertia",
    [(1.0, 2.0, 2.5), [1, 2, 2.5], np.array([1.0, 2.0, 2.5]), np.diag([1.0, 2.0, 2.5])],
)
def test_inertia_is_a_matrix_or_its_diagonal(given_inertia):
    rotational = Inertia.of(1, [0, 0, 0], given_inertia).rotational
    assert_array_equal(rotational, np.diag([1.0, 2.0, 2.5]))
    assert all(type(x) is float for row in rotational for x in row)


# -- motors ----------------------------------------------------------------------------


def test_rotor_inertia_is_felt_through_the_square_of_the_gear():
    model = build(("a", "world", Revolute(), {"rotor_inertia": 0.01, "gear_ratio": -50.0}))
    assert_allclose(model.joints[0].reflected_inertia, 25.0)


def test_rotor_is_a_body_that_turns_with_the_joint():
    builder = pp.ModelBuilder()
    builder.add_body("arm", joint_name="shoulder", **BAR)
    builder.add_rotor(
        "rotor", "shoulder", "world", axis=(0, 2, 0), gear_ratio=100.0, mass=0.1, inertia=(1, 2, 1)
    )
    model = builder.build()
    assert (model.nq, model.nv, len(model.bodies)) == (1, 1, 2)
    joint = model.joint("rotor_joint")
    assert joint.kind == Revolute((0.0, 1.0, 0.0))
    assert (joint.mimic.source, joint.mimic.ratio, joint.mimic.offset) == (0, 100.0, 0.0)
    assert model.body("rotor").parent == WORLD


# -- size ------------------------------------------------------------------------------


def test_chains_added_from_the_tip_build_without_recursion():
    n = 20_000
    builder = pp.ModelBuilder()
    for k in range(n - 1, -1, -1):
        builder.add_body(f"b{k}", f"b{k - 1}" if k else "world", **BAR)
    model = builder.build()
    assert [body.parent for body in model.bodies] == list(range(-1, n - 1))
    assert model.joint(f"b{n - 1}_joint").q == slice(n - 1, n)


def test_long_cycle_is_found():
    n = 20_000
    builder = pp.ModelBuilder()
    for k in range(n):
        builder.add_body(f"b{k}", f"b{(k + 1) % n}", **BAR)
    with pytest.raises(ModelError, match="carry each other in a circle"):
        builder.build()


def follow_each_other(n):
    """n joints, each of which follows the next one; the last one leads."""
    builder = pp.ModelBuilder()
    for k in range(n):
        mimic = (f"b{k + 1}_joint", -1.0, 1.0) if k + 1 < n else None
        builder.add_body(f"b{k}", mimic=mimic, **BAR)
    return builder.build()


def test_long_chains_of_mimics_end_in_one_leader():
    """q_k = 1 - q_(k+1), so every other joint moves like the leader."""
    n = 20_001
    model = follow_each_other(n)
    assert model.nv == 1
    first, second = model.joints[0].mimic, model.joints[1].mimic
    assert (first.source, first.ratio, first.offset) == (n - 1, 1.0, 0.0)
    assert (second.source, second.ratio, second.offset) == (n - 1, -1.0, 1.0)


def count_calls(function):
    """How many functions are called, in Python or C, while a function runs."""
    count = 0

    def watch(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(watch)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "work",
    [
        lambda model: pp.chain(len(model.bodies)),
        lambda model: model.neutral(),
        lambda model: model.random(np.random.default_rng(0)),
        lambda model: pp.integrate(model, np.zeros(model.nq), np.zeros(model.nv)),
        lambda model: follow_each_other(len(model.bodies)),
    ],
    ids=["build", "neutral", "random", "integrate", "mimics"],
)
def test_work_grows_linearly_with_the_number_of_bodies(work):
    counts = [count_calls(lambda n=n: work(pp.chain(n))) for n in (100, 200, 400)]
    assert counts[2] - counts[1] == pytest.approx(2 * (counts[1] - counts[0]), rel=0.01)
