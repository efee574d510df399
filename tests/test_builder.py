"""ModelBuilder: what it builds, against independent sums; what it refuses, and how."""

import dataclasses
import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import (
    MARKET,
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
from phipsi.errors import InputError, ModelError
from phipsi.model.inertia import Inertia, Placement
from phipsi.model.joints import Fixed, Free, Planar, Prismatic, Revolute, Spherical
from phipsi.model.tree import WORLD

BAR = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.1, 0.1, 0.1)}
NAN, INF = float("nan"), float("inf")

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def build(*bodies, frames=(), **options):
    """A machine of (name, parent, joint) or (name, parent, joint, more) with equal bars."""
    builder = pp.ModelBuilder("machine", **options)
    for name, parent, kind, *more in bodies:
        builder.add_body(name, parent, kind, **{**BAR, **(more[0] if more else {})})
    for frame in frames:
        builder.add_frame(*frame)
    return builder.build()


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


# -- refusals --------------------------------------------------------------------------


def add(**options):
    """A refusal of `add_body`: the body 'b' on 'a'."""
    return lambda builder: builder.add_body("b", "a", **{**BAR, **options})


def rotor(**options):
    options = {"axis": (0, 0, 1), "gear_ratio": 10.0, **BAR, **options}
    return lambda builder: builder.add_rotor("b", "a_joint", "a", **options)


SKEWED = [[1.0, 0.1, 0.0], [0.2, 1.0, 0.0], [0.0, 0.0, 1.0]]
MIRROR = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]]

REFUSED = {  # what is done to a builder that holds 'a', and what the message says
    # masses
    "mass with a unit": (add(mass="3 kg"), "mass is '3 kg'; expected a finite number in kilograms"),
    "mass None": (add(mass=None), "mass is None; expected a finite number in kilograms"),
    "mass True": (add(mass=True), "mass is True; expected a finite number in kilograms"),
    "mass NumPy True": (add(mass=np.True_), "mass is np.True_; expected a finite number"),
    "mass complex": (add(mass=1j), "mass is 1j; expected a finite number in kilograms"),
    "mass a list": (add(mass=[1.0]), "mass is [1.0]; expected a finite number in kilograms"),
    "mass too large": (add(mass=10**400), "expected a finite number in kilograms"),
    "mass NaN": (add(mass=NAN), "mass is nan; expected a finite number in kilograms"),
    "mass infinite": (add(mass=INF), "mass is inf; expected a finite number in kilograms"),
    "mass negative": (add(mass=-1.0), "mass is -1 kg; it must not be negative"),
    "com short": (add(com=(1, 2)), "com is (1, 2); expected three finite numbers"),
    "com NaN": (add(com=(0, NAN, 0)), "com is (0, nan, 0); expected three finite numbers"),
    "com text": (add(com="xyz"), "com is 'xyz'; expected three finite numbers"),
    "com a number": (add(com=1.0), "com is 1.0; expected three finite numbers"),
    "com complex": (add(com=np.array([1j, 0, 0])), "expected three finite numbers"),
    # inertias
    "inertia a number": (add(inertia=1.0), "inertia is 1.0; expected a 3x3 matrix or its diag"),
    "inertia short": (add(inertia=(1, 1)), "inertia is (1, 1); expected three finite numbers"),
    "inertia of 3x2": (add(inertia=np.eye(3)[:, :2]), "expected 3 x 3 finite numbers"),
    "inertia ragged": (add(inertia=[[1, 0, 0], [0, 1], [0]]), "expected 3 x 3 finite numbers"),
    "inertia NaN": (add(inertia=np.diag([1, NAN, 1])), "expected 3 x 3 finite numbers"),
    "inertia asymmetric": (
        add(inertia=SKEWED),
        "inertia is not symmetric; give the 3x3 matrix about the mass centre",
    ),
    "negative moment": (
        add(inertia=(1.0, 1.0, -0.5)),
        "its rotational inertia has the negative moment -0.5; give the inertia about the mass "
        "centre in body axes, or keep it with strict=False",
    ),
    "negative by its corners": (
        add(inertia=[[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 2.0]]),
        "its rotational inertia has the negative moment -1; give the inertia",
    ),
    "triangle inequality": (
        add(inertia=(1.0, 1.0, 3.0)),
        "its principal moments break the triangle inequality: 1 + 1 < 3; give the inertia",
    ),
    "inertia but no mass": (
        add(mass=0.0),
        "it has rotational inertia but no mass; give the inertia",
    ),
    # placements
    "position short": (add(position=[1.0]), "position is [1.0]; expected three finite numbers"),
    "position NaN": (add(position=(NAN, 0, 0)), "expected three finite numbers"),
    "no rotation": (add(rotation=2 * np.eye(3)), "rotation is no rotation matrix: R R* must be I"),
    "reflection": (add(rotation=MIRROR), "rotation is no rotation matrix: R R* must be I and det"),
    "rotation of angles": (add(rotation=(0, 0, 1.57)), "expected 3 x 3 finite numbers"),
    "rotation NaN": (add(rotation=np.eye(3) * NAN), "expected 3 x 3 finite numbers"),
    # joints
    "joint a class": (add(joint=Revolute), "expected a kind of phipsi.joints, as joints.Revolute("),
    "joint a name": (
        add(joint="revolute"),
        "joint is 'revolute'; expected a kind of phipsi.joints",
    ),
    "zero axis": (
        add(joint=Revolute((0, 0, 0))),
        "has length zero; give a direction, as (0, 0, 1)",
    ),
    "parallel axes": (
        add(joint=joints.Universal(joints.X, joints.X)),
        "the axes of a Universal joint are parallel; they must differ",
    ),
    "joint name taken": (
        add(joint_name="a_joint"),
        "the joint name 'a_joint' is taken by body 'a'; give another joint_name",
    ),
    "joint name a number": (add(joint_name=7), "joint_name is 7; expected a text"),
    "parent a number": (
        lambda builder: builder.add_body("b", 0, **BAR),
        "parent is 0; expected a body's name, or 'world'",
    ),
    "parent a list": (
        lambda builder: builder.add_body("b", ["a"], **BAR),
        "parent is ['a']; expected a body's name, or 'world'",
    ),
    "limits reversed": (
        add(limits=pp.Limits(1.0, -1.0)),
        "the limits of the joint are [1.0, -1.0]; lower must not exceed upper",
    ),
    "limits NaN": (add(limits=pp.Limits(NAN, 1.0)), "expected numbers, as Limits(lower=-1.0"),
    "limits text": (add(limits=pp.Limits("-1", "1")), "expected numbers, as Limits(lower=-1.0"),
    "limits a pair": (add(limits=(-1, 1)), "limits is (-1, 1); expected numbers, as Limits("),
    "damping text": (add(damping="low"), "damping is 'low'; expected a finite number in N s/m"),
    "friction NaN": (add(friction=NAN), "friction is nan; expected a finite number in N or N m"),
    # motors and mimics
    "rotor negative": (add(rotor_inertia=-0.1), "rotor_inertia is -0.1; it must not be negative"),
    "rotor text": (add(rotor_inertia="1"), "rotor_inertia is '1'; expected a finite number in kg"),
    "rotor on a weld": (
        add(joint=Fixed(), rotor_inertia=0.1),
        "joint 'b_joint' is Fixed and has a rotor_inertia; a motor needs a joint that moves",
    ),
    "gear None": (add(gear_ratio=None), "gear_ratio is None; expected a finite number in motor"),
    "gear zero": (add(gear_ratio=0), "gear_ratio is 0; give the motor turns per joint turn"),
    "follower of many": (
        add(joint=Spherical(), mimic=("a_joint", 1.0, 0.0)),
        "joint 'b_joint' is Spherical; only a joint with one coordinate can follow another",
    ),
    "follower that is fixed": (
        add(joint=Fixed(), mimic=("a_joint", 1.0, 0.0)),
        "joint 'b_joint' is Fixed; only a joint with one coordinate can follow another",
    ),
    "mimic a name": (add(mimic="a_joint"), "mimic is 'a_joint'; expected (joint name, ratio, off"),
    "mimic short": (add(mimic=("a_joint", 1.0)), "expected (joint name, ratio, offset)"),
    "mimic of a number": (add(mimic=(0, 1.0, 0.0)), "expected (joint name, ratio, offset)"),
    "mimic ratio": (add(mimic=("a_joint", "2", 0.0)), "mimic ratio is '2'; expected a finite"),
    "mimic offset": (add(mimic=("a_joint", 2.0, NAN)), "mimic offset is nan; expected a finite"),
    "rotor axis": (rotor(axis=(0, 0, 0)), "the axis of a Revolute joint has length zero; give"),
    "rotor axis short": (rotor(axis=(0, 1)), "axis is (0, 1); expected three finite numbers"),
    "rotor gear": (rotor(gear_ratio="fast"), "gear_ratio is 'fast'; expected a finite number in"),
    "rotor gear zero": (rotor(gear_ratio=0.0), "gear_ratio is 0; give the rotor turns per joint"),
    "rotor mass": (rotor(mass=-1.0), "mass is -1 kg; it must not be negative"),
}


@pytest.mark.parametrize(("mistake", "message"), REFUSED.values(), ids=REFUSED)
def test_refusal_names_the_body_and_the_remedy_and_leaves_the_builder_as_it_was(mistake, message):
    builder = pp.ModelBuilder("machine")
    builder.add_body("a", **BAR)
    before = builder.build()
    with pytest.raises(ModelError) as caught:
        mistake(builder)
    assert str(caught.value).startswith("body 'b': ")
    assert message in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert builder.build().bodies == before.bodies
    builder.add_body("b", "a", **BAR)  # the name is free, and so is the joint's
    assert [body.name for body in builder.build().bodies] == ["a", "b"]


NAMES = {
    "empty": (lambda b: b.add_body("", **BAR), "a body or frame needs a name, got ''"),
    "none": (lambda b: b.add_body(None, **BAR), "a body or frame needs a name, got None"),
    "body twice": (lambda b: b.add_body("a", **BAR), "the name 'a' is taken in 'machine'; give"),
    "world": (lambda b: b.add_body("world", **BAR), "the name 'world' is taken in 'machine'"),
    "body like a frame": (lambda b: b.add_body("f", **BAR), "the name 'f' is taken"),
    "frame like a body": (lambda b: b.add_frame("a", "a"), "the name 'a' is taken"),
    "frame twice": (lambda b: b.add_frame("f", "a"), "the name 'f' is taken in 'machine'"),
    "frame place": (
        lambda b: b.add_frame("g", "a", (0, 0)),
        "frame 'g': position is (0, 0); expected three finite numbers",
    ),
    "frame turn": (
        lambda b: b.add_frame("g", "a", rotation=np.ones((3, 3))),
        "frame 'g': rotation is no rotation matrix",
    ),
    "frame on a number": (
        lambda b: b.add_frame("g", 3),
        "frame 'g': body is 3; expected a body's name, or 'world'",
    ),
}


@pytest.mark.parametrize(("mistake", "message"), NAMES.values(), ids=NAMES)
def test_names_and_frames_are_checked_at_once(mistake, message):
    builder = pp.ModelBuilder("machine")
    builder.add_body("a", **BAR)
    builder.add_frame("f", "a")
    with pytest.raises(ModelError) as caught:
        mistake(builder)
    assert message in str(caught.value)
    assert [frame.name for frame in builder.build().frames] == ["f"]


MASSLESS = {"mass": 0.0, "inertia": None}

IMPOSSIBLE = {  # bodies of a machine, and what `build` says of it
    "unknown parent": (
        [("hand", "elbw", Revolute()), ("elbow", "world", Revolute())],
        "body 'hand': unknown parent 'elbw'; did you mean 'elbow'? Valid names: 'world', 'hand'",
    ),
    "its own parent": ([("a", "a", Revolute())], "body 'a': the bodies 'a' <- 'a' carry"),
    "cycle": (
        [("a", "c", Revolute()), ("b", "a", Revolute()), ("c", "b", Fixed())],
        "body 'a': the bodies 'a' <- 'c' <- 'b' <- 'a' carry each other in a circle; a tree needs "
        "one of them on the world",
    ),
    "cycle beside a tree": (
        [
            ("t", "world", Revolute()),
            ("x", "y", Revolute()),
            ("y", "z", Fixed()),
            ("z", "y", Revolute()),
        ],
        "body 'y': the bodies 'y' <- 'z' <- 'y' carry each other in a circle",
    ),
    "long cycle": (
        [(f"b{k}", f"b{(k + 1) % 9}", Revolute()) for k in range(9)],
        "body 'b0': the bodies 'b0' <- 'b1' <- 'b2' <- ... <- 'b0' carry each other",
    ),
    "massless tip": (
        [("a", "world", Revolute()), ("b", "a", Revolute(), MASSLESS)],
        "body 'b': nothing that joint 'b_joint' moves has mass, so forward dynamics is singular; "
        "give it a mass or make the joint fixed, or keep it with strict=False",
    ),
    "massless subtree": (
        [("a", "world", Revolute(), MASSLESS), ("b", "a", Revolute(), MASSLESS)],
        "body 'a': nothing that joint 'a_joint' moves has mass",
    ),
    "massless weld": (
        [("a", "world", Revolute(), MASSLESS), ("b", "a", Fixed(), MASSLESS)],
        "body 'a': nothing that joint 'a_joint' moves has mass",
    ),
    "massless but for a motor further out": (
        [
            ("a", "world", Revolute(), MASSLESS),
            ("b", "a", Revolute(), {**MASSLESS, "rotor_inertia": 0.1}),
        ],
        "body 'a': nothing that joint 'a_joint' moves has mass",
    ),
    "massless with a follower that stands still": (
        [
            ("a", "world", Revolute(), MASSLESS),
            ("b", "world", Revolute(), {"mimic": ("a_joint", 0.0, 0.0)}),
        ],
        "body 'a': nothing that joint 'a_joint' moves has mass",
    ),
    "mimic of nothing": (
        [("a", "world", Revolute()), ("b", "a", Revolute(), {"mimic": ("a_jont", 1.0, 0.0)})],
        "body 'b': joint 'b_joint' mimics the unknown joint 'a_jont'; did you mean 'a_joint'?",
    ),
    "mimic of a weld": (
        [("a", "world", Fixed()), ("b", "a", Revolute(), {"mimic": ("a_joint", 1.0, 0.0)})],
        "body 'b': joint 'b_joint' mimics 'a_joint', which is Fixed; only a joint with one coord",
    ),
    "mimic of itself": (
        [("a", "world", Revolute(), {"mimic": ("a_joint", 1.0, 0.0)})],
        "body 'a': the joints 'a_joint' <- 'a_joint' mimic each other in a circle; one of them mu",
    ),
    "mimics in a circle": (
        [
            ("a", "world", Revolute(), {"mimic": ("b_joint", 1.0, 0.0)}),
            ("b", "world", Revolute(), {"mimic": ("a_joint", 1.0, 0.0)}),
        ],
        "body 'a': the joints 'a_joint' <- 'b_joint' <- 'a_joint' mimic each other in a circle",
    ),
    "mimic of a circle": (
        [
            ("a", "world", Revolute(), {"mimic": ("b_joint", 1.0, 0.0)}),
            ("b", "world", Revolute(), {"mimic": ("c_joint", 1.0, 0.0)}),
            ("c", "world", Revolute(), {"mimic": ("b_joint", 1.0, 0.0)}),
        ],
        "body 'b': the joints 'b_joint' <- 'c_joint' <- 'b_joint' mimic each other in a circle",
    ),
    "mimic of a ball": (
        [("a", "world", Spherical()), ("b", "a", Revolute(), {"mimic": ("a_joint", 1.0, 0.0)})],
        "body 'b': joint 'b_joint' mimics 'a_joint', which is Spherical; only a joint with one",
    ),
}


@pytest.mark.parametrize(("bodies", "message"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_impossible_machine_is_refused_by_the_name_of_a_body(bodies, message):
    with pytest.raises(ModelError) as caught:
        build(*bodies)
    assert message in str(caught.value)


def test_builder_goes_on_after_a_refused_build():
    builder = pp.ModelBuilder()
    builder.add_body("hand", "arm", **BAR)
    builder.add_frame("tool", "finger")
    with pytest.raises(ModelError, match="body 'hand': unknown parent 'arm'"):
        builder.build()
    builder.add_body("arm", **BAR)
    with pytest.raises(ModelError, match=r"frame 'tool': unknown body 'finger'.*Valid names"):
        builder.build()
    builder.add_body("finger", "hand", Fixed(), **BAR)
    assert [body.name for body in builder.build().bodies] == ["arm", "hand"]


def test_building_twice_gives_equal_machines():
    builder = pp.ModelBuilder()
    builder.add_body("a", **BAR)
    one = builder.build()
    builder.add_body("b", "a", **BAR)
    two = builder.build()
    assert (len(one.bodies), len(two.bodies)) == (1, 2)
    assert one.bodies == two.bodies[:1]


@pytest.mark.parametrize("gravity", [(0, 0), "down", None, (0, 0, NAN), 9.81])
def test_gravity_must_be_a_vector(gravity):
    with pytest.raises(ModelError, match=r"'machine': gravity is .*; expected three finite"):
        pp.ModelBuilder("machine", gravity=gravity)


def test_motors_and_followers_give_a_massless_joint_its_equation():
    motor = {**MASSLESS, "rotor_inertia": 0.1}
    build(("a", "world", Revolute(), motor))
    follower = {"mimic": ("a_joint", 2.0, 0.0)}
    build(("a", "world", Revolute(), MASSLESS), ("b", "world", Revolute(), follower))
    build(("a", "world", Revolute(), MASSLESS), ("b", "a", Revolute()))


def test_lenient_builder_keeps_unphysical_numbers_and_reports_them():
    model = build(
        ("a", "world", Revolute(), {"inertia": (1.0, 1.0, 3.0)}),
        ("b", "a", Revolute(), {"mass": 0.0}),
        ("c", "b", Fixed(), {"inertia": (1.0, 1.0, -1.0)}),
        ("d", "b", Revolute()),
        ("e", "d", Revolute(), MASSLESS),
        strict=False,
    )
    assert model.report == (
        "body 'a': its principal moments break the triangle inequality: 1 + 1 < 3",
        "body 'b': it has rotational inertia but no mass",
        "body 'c': its rotational inertia has the negative moment -1",
        "body 'e': nothing that joint 'e_joint' moves has mass, so forward dynamics is singular",
    )
    assert_array_equal(model.body("a").inertia.rotational, np.diag([1.0, 1.0, 3.0]))
    assert build(("a", "world", Revolute())).report == ()


def test_building_twice_reports_once():
    builder = pp.ModelBuilder(strict=False)
    builder.add_body("a", mass=0.0, inertia=(1.0, 1.0, 1.0))
    builder.add_body("b", "a")
    assert builder.build().report == builder.build().report
    assert len(builder.build().report) == 2


def line_of(body, part):
    return f"robot.txt:{part}: "


PARTS = {  # which part of a body each refusal is about
    "mass negative": "inertia",
    "com NaN": "inertia",
    "triangle inequality": "inertia",
    "zero axis": "kind",
    "limits reversed": "limits",
    "follower of many": "mimic",
    "mimic short": "mimic",
    "position short": "joint",
    "joint name taken": "joint",
    "rotor on a weld": "joint",
    "cycle": "joint",
    "unknown parent": "joint",
    "massless tip": "joint",
    "mimic of nothing": "mimic",
    "mimic of a ball": "mimic",
    "mimics in a circle": "mimic",
}


@pytest.mark.parametrize(("case", "part"), PARTS.items(), ids=PARTS)
def test_reader_of_a_file_gives_each_refusal_its_place(case, part):
    with pytest.raises(ModelError) as caught:
        if case in IMPOSSIBLE:
            build(*IMPOSSIBLE[case][0], where=line_of)
        else:
            builder = pp.ModelBuilder("machine", where=line_of)
            builder.add_body("a", **BAR)
            REFUSED[case][0](builder)
    assert str(caught.value).startswith(f"robot.txt:{part}: body ")
    assert (IMPOSSIBLE | REFUSED)[case][1] in str(caught.value)


def test_reader_of_a_file_gives_each_line_of_the_report_its_place():
    model = build(
        ("a", "world", Revolute(), {"mass": 0.0}),
        ("b", "a", Revolute(), MASSLESS),
        strict=False,
        where=line_of,
    )
    assert model.report == (
        "robot.txt:inertia: body 'a': it has rotational inertia but no mass",
        "robot.txt:joint: body 'b': nothing that joint 'b_joint' moves has mass, "
        "so forward dynamics is singular",
    )


@pytest.mark.parametrize("mass", [-1.0, NAN, "3 kg"])
def test_lenient_builder_still_refuses_what_is_no_mass(mass):
    with pytest.raises(ModelError, match="body 'a': mass is"):
        build(("a", "world", Revolute(), {"mass": mass}), strict=False)


# -- the model -------------------------------------------------------------------------

UNKNOWN = {
    "joint": (
        lambda m: m.joint("a_jont"),
        "'machine' has no joint 'a_jont'; did you mean 'a_joint'?",
    ),
    "body": (lambda m: m.body("toool"), "'machine' has no body 'toool'; Valid names: 'a', 'b'"),
    "frame": (
        lambda m: m.frame("toool"),
        "'machine' has no frame 'toool'; did you mean 'tool'? Valid names: 'tool', 'a', 'b'",
    ),
    "index": (
        lambda m: m.index("c"),
        "'machine' has no joint or body 'c'; Valid names: 'a_joint', 'b_joint', 'a', 'b'",
    ),
    "number": (lambda m: m.joint(0), "'machine' has no joint 0; Valid names: 'a_joint'"),
    "list": (lambda m: m.body(["a"]), "'machine' has no body ['a']; "),
    "place": (lambda m: m.locate(pp.point("nowhere")), "'machine' has no frame 'nowhere'"),
    "nameless point": (lambda m: pp.point(3), "point: expected the name of a body or frame, got 3"),
    "flat point": (
        lambda m: pp.point("a", (1, 2)),
        "point on 'a': position is (1, 2); expected three finite numbers",
    ),
}


@pytest.mark.parametrize(("mistake", "message"), UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_names_are_answered_with_the_valid_ones(mistake, message):
    model = build(("a", "world", Revolute()), ("b", "a", Revolute()), frames=[("tool", "b")])
    with pytest.raises(InputError) as caught:
        mistake(model)
    assert message in str(caught.value)


def test_names_find_joints_bodies_and_frames():
    model = build(("a", "world", Revolute()), ("b", "a", Revolute()), frames=[("tool", "b")])
    assert model.joint("b_joint") is model.joints[1]
    assert model.body("b") is model.bodies[1]
    assert model.frame("tool").body == model.frame("b").body == 1
    assert model.index("b_joint") == model.index("b") == 1


def test_world_is_a_frame_too():
    model = build(("a", "world", Revolute()))
    world = model.frame("world")
    assert (world.name, world.body, world.placement) == ("world", WORLD, Placement())
    assert model.locate(pp.point("world", (1.0, 2.0, 3.0)))[1].position == (1.0, 2.0, 3.0)


def test_model_says_what_it_is_in_a_line():
    one = build(("a", "world", Revolute()))
    two = build(("a", "world", Revolute()), ("b", "a", Spherical()))
    assert repr(one) == "<Model 'machine': 1 body, nq = 1, nv = 1, 1 kg>"
    assert repr(two) == "<Model 'machine': 2 bodies, nq = 5, nv = 4, 2 kg>"


@pytest.mark.parametrize("name", MARKET)
def test_models_are_frozen(name):
    model = MARKET[name]()
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.name = "other"
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.bodies[0].inertia.mass = 3.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.joints[0].kind.axis = joints.X
    assert hash(model) == hash(model)


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
