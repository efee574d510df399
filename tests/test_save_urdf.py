"""Machines written as URDF files, and read again: the same machines, bit by bit."""

import math
import os
from dataclasses import replace

import numpy as np
import pytest
from bars import BAR
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import continuous, free, machines, planar, prismatic, revolute
from numpy.testing import assert_allclose

import phipsi as pp
from phipsi import joints
from phipsi.model.files.load import load
from phipsi.model.files.urdf.exact import axis_of, rpy_of
from phipsi.model.files.urdf.save import save_urdf
from phipsi.model.geometry import Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere, Visual
from phipsi.model.inertia import Placement
from phipsi.model.joints import Continuous, Revolute
from phipsi.operators import Mass, S_q
from phipsi.spatial import rotation_from_rpy

FIELDS = ("name", "bodies", "joints", "frames", "base_inertia")
TURN = rotation_from_rpy((0.1, -0.2, 0.3))


def trip(model: pp.Model, folder, strict: bool = True, **options) -> pp.Model:
    """The machine that is read from the file that it is written to."""
    save_urdf(model, folder / "trip.urdf", strict)
    return load(folder / "trip.urdf", **options)


def assert_same(model: pp.Model, again: pp.Model, *fields: str) -> None:
    for field in (*FIELDS, *fields):
        assert getattr(again, field) == getattr(model, field), field
    for shapes in ("visuals", "collisions"):
        assert by_body(getattr(again, shapes)) == by_body(getattr(model, shapes))


def by_body(shapes) -> list[Visual]:
    """Shapes are written with their bodies; the order on each body is kept."""
    return sorted(shapes, key=lambda shape: shape.body)


# -- what comes back -------------------------------------------------------------------


WELD, FREE = joints.Fixed(), joints.Free()


def full_machine(kind=WELD, name: str = "base") -> pp.Model:
    """All that URDF can express: on the world, on bodies, on welded links."""
    builder = pp.ModelBuilder("full", strict=False)
    builder.add_body("stand", joint=kind, joint_name=name, mass=7.0, com=(0.1, 0, 0.2))
    limits = pp.Limits(-1.25, 2.5, 3.0, 40.0)
    builder.add_body(
        "arm",
        "stand",
        Revolute((1, 2, 3)),
        position=(0.1, 0.2, 1 / 3),
        rotation=TURN,
        limits=limits,
        damping=0.25,
        friction=0.125,
        rotor_inertia=1e-5,
        gear_ratio=-100.0,
        mass=1.5,
        com=(0.3, 1e-17, -0.1),
        inertia=[[0.1, 0.01, 0.02], [0.01, 0.2, 0.03], [0.02, 0.03, 0.25]],
    )
    builder.add_body("camera", "arm", joints.Fixed(), position=(0, 0, 1), mass=0.5)
    builder.add_body("finger", "arm", joints.Prismatic(), limits=pp.Limits(effort=3.0), **BAR)
    follow = ("finger_joint", -1.5, 0.1)
    builder.add_body("thumb", "camera", joints.Prismatic((0, 1, 0)), mimic=follow, **BAR)
    builder.add_body("wheel", "arm", Continuous((0, 1, 0)), gear_ratio=25.0, **BAR)
    builder.add_body("puck", "stand", joints.Planar((0, 3, 4)), limits=pp.Limits(velocity=2), **BAR)
    builder.add_body("bird", "arm", joints.Free(), damping=0.5, **BAR)
    builder.add_body("plate", "bird", Revolute(), limits=limits, inertia=(1, 1, 3), mass=1.0)
    builder.add_body("empty", "plate", limits=pp.Limits(0.0, 1.0), com=(1, 2, 3))
    looks = [Box((1, 2, 3)), Cylinder(0.1, 0.2), Capsule(0.1, 0.2), Sphere(1 / 3)]
    looks += [Ellipsoid((1, 2, 3)), Mesh("package://no/such.stl", (0.001, -1, 1))]
    for k, shape in enumerate(looks):
        placed = Visual.of(shape, (k, 0, 0), TURN, color=(0.1, 0.2, k / 7), name=f"look {k}")
        builder.add_visuals("camera", [placed])
        builder.add_collisions("stand", [shape, Visual.of(shape, (0, k, 0))])
    return builder.build()


def test_all_that_urdf_knows_comes_back(tmp_path):
    model = full_machine()
    again = trip(model, tmp_path)
    assert_same(model, again, "gravity")
    assert not again.report.refused


def test_machine_that_floats_comes_back_with_a_free_base(tmp_path):
    model = full_machine(FREE, "root")
    assert_same(model, trip(model, tmp_path, base="free"))
    text = (tmp_path / "trip.urdf").read_text()
    assert 'base="free"' in text and 'name="root"' not in text
    fixed = load(tmp_path / "trip.urdf")
    assert fixed.nv == model.nv - 6 and fixed.mass == model.mass


def on_the_world(builder):
    builder.add_frame("door", "world", (1, 0, 0))


def looks_of_the_world(builder):
    builder.add_visuals("world", [Sphere(1.0)])


def mass_of_the_world(builder):
    builder.add_body("rock", joint=joints.Fixed(), mass=3.0)


def second_root(builder):
    builder.add_body("b", joint=joints.Free(), joint_name="other", **BAR)


FREE_BUT = {  # free machines that base="free" does not make
    "another name": ({"joint_name": "float"}, None),
    "another place": ({"position": (0, 0, 1)}, None),
    "another attitude": ({"rotation": TURN}, None),
    "losses": ({"damping": 1.0}, None),
    "limits": ({"limits": pp.Limits(velocity=3.0)}, None),
    "a frame on the world": ({}, on_the_world),
    "a shape on the world": ({}, looks_of_the_world),
    "a mass on the world": ({}, mass_of_the_world),
    "a second root": ({}, second_root),
}


@pytest.mark.parametrize(("options", "more"), FREE_BUT.values(), ids=FREE_BUT)
@pytest.mark.parametrize("base", [None, "free"])
def test_other_free_joints_are_floating_ones(options, more, base, tmp_path):
    builder = pp.ModelBuilder("free")
    builder.add_body("a", joint=joints.Free(), **{"joint_name": "root", **options, **BAR})
    builder.add_body("b1", "a", limits=pp.Limits(-1, 1), **BAR)
    if more is not None:
        more(builder)
    model = builder.build()
    if more is mass_of_the_world and base == "free":
        base = "fixed"  # a rock that has mass would be free, too
    if more in (on_the_world,) and base == "free":
        base = None  # so would a link on a fixed joint
    assert_same(model, trip(model, tmp_path, base=base))
    assert 'type="floating"' in (tmp_path / "trip.urdf").read_text()


def test_several_roots_hang_on_the_world_itself(tmp_path):
    model = pp.ModelBuilder("two")
    model.add_body("a", position=(1, 0, 0), limits=pp.Limits(-1, 1), **BAR)
    model.add_body("b", joint=joints.Prismatic(), limits=pp.Limits(-1, 1), **BAR)
    model.add_visuals("world", [Box((9, 9, 0.1))])
    assert_same(model.build(), trip(model.build(), tmp_path))


def test_mass_on_the_world_that_has_no_frame_there_gets_a_link(tmp_path):
    """The one frame more that a file may need; and only once."""
    builder = pp.ModelBuilder("stand")
    builder.add_body("stand", joint=joints.Fixed(), position=(0, 0, 1), rotation=TURN, mass=3.0)
    builder.add_body("base", "stand", limits=pp.Limits(-1, 1), **BAR)
    model = builder.build()
    again = trip(model, tmp_path)
    assert again.base_inertia == model.base_inertia and again.bodies == model.bodies
    assert [frame.name for frame in again.frames] == ["base_2", "stand"]
    assert_same(again, trip(again, tmp_path))


def test_machine_without_bodies_comes_back(tmp_path):
    model = pp.ModelBuilder("nothing").build()
    assert_same(model, trip(model, tmp_path))


def test_turning_joint_is_continuous_if_and_only_if_it_has_no_ends(tmp_path):
    builder = pp.ModelBuilder("turns")
    builder.add_body("a", **BAR)
    builder.add_body("b", "a", Continuous(), limits=pp.Limits(-1, 1, 2, 3), **BAR)
    builder.add_body("c", "b", limits=pp.Limits(effort=3.0), **BAR)
    builder.add_body("d", "c", limits=pp.Limits(upper=3.0), **BAR)
    model = builder.build()
    again = trip(model, tmp_path)
    assert [type(joint.kind) for joint in again.joints] == [
        *(Continuous, Revolute, Continuous, Revolute)
    ]
    assert [joint.limits for joint in again.joints] == [joint.limits for joint in model.joints]
    assert_same(again, trip(again, tmp_path))
    assert "inf" not in (tmp_path / "trip.urdf").read_text()


def test_order_of_bodies_and_frames_is_kept(tmp_path):
    """Frames before, between and after the limbs of a body, as a file may have them."""
    builder = pp.ModelBuilder("order")
    turn = {"limits": pp.Limits(-1, 1), **BAR}
    weld = joints.Fixed()
    builder.add_body("f0", joint=weld)
    builder.add_body("a", "f0", **turn)
    builder.add_body("f1", "a", weld)
    builder.add_body("b", "f1", **turn)
    builder.add_body("f2", "b", weld)
    builder.add_body("f3", "a", weld)
    builder.add_body("c", "a", **turn)
    builder.add_body("d", "a", **turn)
    builder.add_body("f4", "d", weld)
    builder.add_body("f5", "a", weld)
    builder.add_body("f6", "f0", weld)
    model = builder.build()
    assert [frame.name for frame in model.frames] == [f"f{k}" for k in range(7)]
    assert_same(model, trip(model, tmp_path))


ODD_NAMES = ["<&>\"'", " a  b ", "tab\tline\nreturn\r", "]]>", "--", "héé ☃ 𝔘", "a.b:c/d", "root"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_names_come_back_whatever_stands_in_them(name, tmp_path):
    builder = pp.ModelBuilder(name)
    turn = {"limits": pp.Limits(-1, 1), **BAR}
    builder.add_body(name, joint_name=name, visuals=[Visual.of(Sphere(1), name=name)], **turn)
    builder.add_body("b", name, gear_ratio=2.0, joint_name="f_joint", **turn)
    builder.add_body("c", name, mimic=(name, 1.0, 0.0), **turn)
    builder.add_frame("f", name)
    mesh = tmp_path / f"a{name}.stl".replace("/", "")
    mesh.write_text("")
    builder.add_visuals("b", [Mesh(str(mesh))])
    model = builder.build()
    assert_same(model, trip(model, tmp_path))


def test_file_can_be_read_by_any_xml_parser(tmp_path):
    from xml.etree import ElementTree

    save_urdf(full_machine(), tmp_path / "full.urdf")
    robot = ElementTree.parse(tmp_path / "full.urdf").getroot()
    assert robot.tag == "robot" and len(robot.findall("link")) == 10


def test_path_may_be_a_path_or_a_text_and_a_file_is_replaced(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text("something else")
    save_urdf(pp.chain(1), file)
    first = file.read_bytes()
    save_urdf(pp.chain(1), str(file))
    assert file.read_bytes() == first
    assert os.listdir(tmp_path) == ["arm.urdf"]


# -- random machines -------------------------------------------------------------------

KNOWN = [revolute, continuous, prismatic, planar, free]


def placements(model: pp.Model) -> list[Placement]:
    return [each.placement for each in (*model.joints, *model.frames)]


@settings(max_examples=40)
@given(machines(KNOWN, max_bodies=8, rotors=True, mimics=(False, True)))
def test_random_machine_comes_back(tmp_path_factory, model):
    """Their rotations are of no angles: met to roundoff at first, bit by bit from then on."""
    folder = tmp_path_factory.getbasetemp()
    options = {"strict": False, "gravity": model.gravity}
    again = trip(model, folder, **options)
    assert again.bodies == model.bodies
    for ours, theirs in zip(placements(again), placements(model), strict=True):
        assert ours.position == theirs.position
        assert_allclose(ours.rotation, theirs.rotation, rtol=0, atol=1e-14)  # as they are rotations
    for ours, theirs in zip(again.joints, model.joints, strict=True):
        assert ours == replace(theirs, kind=ours.kind, placement=ours.placement)
        if isinstance(theirs.kind, Revolute):  # without ends
            assert type(ours.kind) is Continuous and ours.kind.axis == theirs.kind.axis
        else:
            assert ours.kind == theirs.kind
    q = model.random(np.random.default_rng(0))
    matrix = S_q.T @ Mass @ S_q
    expected = pp.as_matrix(model, matrix, q)
    found = pp.as_matrix(again, matrix, q)
    assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    assert_same(again, trip(again, folder, **options), "gravity")


# -- numbers that are computed when they are read --------------------------------------

RIGHT = st.sampled_from(
    [0.0, 1.5707963, 1.57079632679, math.pi / 2, -math.pi / 2, 3.14159, math.pi, 3.1416, 1e-12]
)
ROUND = st.builds(round, st.floats(-6.5, 6.5), st.integers(0, 12))
ANGLES = st.one_of(RIGHT, ROUND, st.floats(-math.pi, math.pi))


def rotated(rpy):
    return tuple(map(tuple, rotation_from_rpy(rpy)))


@given(st.tuples(ANGLES, ANGLES, ANGLES))
def test_rotation_of_angles_is_met_bit_by_bit(rpy):
    assert rotated(rpy_of(rotated(rpy))) == rotated(rpy)


@given(st.tuples(ANGLES, ANGLES, ANGLES), st.tuples(RIGHT, ROUND, RIGHT))
def test_other_rotation_is_met_to_roundoff_and_once_met_bit_by_bit(one, two):
    product = tuple(map(tuple, (np.array(rotated(one)) @ rotated(two)).tolist()))
    near = rotated(rpy_of(product))
    assert_allclose(near, product, rtol=0, atol=1e-15)
    assert rotated(rpy_of(near)) == near


PARTS = st.one_of(st.floats(-1.0, 1.0), st.sampled_from([0.0, 1.0, -1.0, 0.5, 1e-9]), ROUND)


@given(st.tuples(PARTS, PARTS, PARTS).filter(any))
def test_axis_is_met_bit_by_bit(axis):
    unit = Revolute(axis).axis
    assert Revolute(axis_of(unit)).axis == unit


@pytest.mark.parametrize("kind", [joints.Revolute(), joints.Continuous(), joints.Prismatic()])
@pytest.mark.parametrize(
    "spring", [{"stiffness": 0.1}, {"rest": -0.3}, {"stiffness": 7, "rest": 1}]
)
def test_springs_come_back(tmp_path, kind, spring):
    builder = pp.ModelBuilder("m")
    ends = None if isinstance(kind, joints.Continuous) else pp.Limits(-1, 1)
    builder.add_body("a", joint=kind, limits=ends, **BAR)
    builder.add_body("b", "a", joint=kind, joint_name=" <b> ", limits=ends, **spring, **BAR)
    model = builder.build()
    save_urdf(model, tmp_path / "m.urdf")
    again = pp.load(tmp_path / "m.urdf", strict=True)
    assert again.joints == model.joints and again.report.remarks == ()
    assert (again.joints[1].stiffness, again.joints[1].rest) != (0.0, ())
