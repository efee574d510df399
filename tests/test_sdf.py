"""SDF files read by `load`: links and joints, against results worked out by hand."""

import math
from functools import partial

import numpy as np
import pytest
import urdf_text
from sdf_text import SOLID, about, arm, homogeneous, joint, link, pose_of, read_text, world_poses

import phipsi as pp
from phipsi import joints
from phipsi.model.inertia import Placement

HALF = "1.5707963267948966"  # a quarter turn


@pytest.fixture
def read(tmp_path):
    """read(body, version, **options): the model called trial with that body."""
    return partial(read_text, tmp_path)


def axis(xyz: str = "0 0 1", inside: str = "", tag: str = "axis", **attributes: str) -> str:
    words = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<{tag}><xyz{words}>{xyz}</xyz>{inside}</{tag}>"


def reads_the_same(one: pp.Model, other: pp.Model) -> None:
    """Two machines answer alike: mass matrix and forces at three states, joints matched by name."""
    rng = np.random.default_rng(0)
    for _ in range(3):
        q, v, vdot = one.random(rng), *rng.normal(size=(2, one.nv))
        there = [other.neutral(), np.zeros(other.nv), np.zeros(other.nv)]
        columns = np.zeros(one.nv, dtype=int)
        for each in one.leaders:
            same = other.joint(each.name)
            there[0][same.q] = q[each.q]
            there[1][same.v], there[2][same.v] = v[each.v], vdot[each.v]
            columns[each.v] = range(same.v.start, same.v.stop)
        theirs = pp.mass_matrix(other, there[0])[np.ix_(columns, columns)]
        np.testing.assert_allclose(pp.mass_matrix(one, q), theirs, atol=1e-10)
        forces = pp.inverse_dynamics(other, *there)[columns]
        np.testing.assert_allclose(pp.inverse_dynamics(one, q, v, vdot), forces, atol=1e-10)


# -- joints ----------------------------------------------------------------------------

KINDS = {
    "revolute": (axis("0 2 0"), joints.Revolute((0, 1, 0))),
    "continuous": (axis("0 2 0"), joints.Continuous((0, 1, 0))),
    "prismatic": (axis("0 2 0"), joints.Prismatic((0, 1, 0))),
    "piston": (axis("0 2 0"), joints.Cylindrical((0, 1, 0))),
    "ball": ("", joints.Spherical()),
    "universal": (
        axis("1 0 0") + axis("0 1 0", tag="axis2"),
        joints.Universal((1, 0, 0), (0, 1, 0)),
    ),
    "revolute2": (
        axis("1 0 0") + axis("1 1 0", tag="axis2"),
        joints.Universal((1, 0, 0), (1, 1, 0)),
    ),
    "screw": (
        axis() + "<screw_thread_pitch>0.5</screw_thread_pitch>",
        joints.Helical((0, 0, 1), 0.5 / (2 * math.pi)),
    ),
}


@pytest.mark.parametrize("type", KINDS)
def test_each_joint_type_has_its_kind(read, type):
    inside, kind = KINDS[type]
    model = read(arm(inside, type))
    assert [(joint.name, joint.kind) for joint in model.joints] == [("j", kind)]
    assert [body.name for body in model.bodies] == ["tip"]
    assert not model.report.remarks


def test_threads_turn_right_in_metres_per_turn_and_of_old_left_in_radians_per_metre(read):
    """2 pi rad/m of old is one metre a turn the other way; the new element counts before it."""
    old = read(arm(f"{axis()}<thread_pitch>{2 * math.pi}</thread_pitch>", "screw"), "1.6")
    new = read(arm(f"{axis()}<screw_thread_pitch>-1</screw_thread_pitch>", "screw"))
    assert math.isclose(old.joint("j").kind.pitch, -1 / (2 * math.pi), rel_tol=1e-15)
    assert math.isclose(new.joint("j").kind.pitch, -1 / (2 * math.pi), rel_tol=1e-15)
    both = "<thread_pitch>3</thread_pitch><screw_thread_pitch>-1</screw_thread_pitch>"
    model = read(arm(axis() + both, "screw"))
    assert model.joint("j").kind == new.joint("j").kind
    assert any("<thread_pitch>" in line for line in model.report.ignored)


def test_a_screw_advances_along_its_axis(read):
    """A quarter turn of a thread of 0.8 m a turn: 0.2 m further."""
    model = read(arm(f"{axis()}<screw_thread_pitch>0.8</screw_thread_pitch>", "screw"))
    pose = world_poses(model, [math.pi / 2])["tip"]
    np.testing.assert_allclose(pose[:3, 3], (0, 0, 0.2), atol=1e-15)
    np.testing.assert_allclose(pose[:3, :3], about(np.array([0, 0, 1]), math.pi / 2), atol=1e-15)


def test_a_universal_joint_turns_about_the_parents_axis_then_the_childs(read):
    model = read(arm(axis("1 0 0") + axis("0 1 0", tag="axis2"), "universal"))
    pose = world_poses(model, [0.3, 0.5])["tip"]
    R = about(np.array([1, 0, 0]), 0.3) @ about(np.array([0, 1, 0]), 0.5)
    np.testing.assert_allclose(pose[:3, :3], R, atol=1e-15)


def test_limits_and_what_acts_in_a_joint_are_kept(read):
    limit = "<lower>-0.5</lower><upper>1.5</upper><effort>20</effort><velocity>3</velocity>"
    dynamics = """<damping>0.7</damping><friction>0.1</friction>
        <spring_stiffness>5</spring_stiffness><spring_reference>0.2</spring_reference>"""
    inside = f"<limit>{limit}</limit><dynamics>{dynamics}</dynamics>"
    only = read(arm(axis(inside=inside))).joint("j")
    assert only.limits == pp.Limits(-0.5, 1.5, 3.0, 20.0)
    assert (only.damping, only.friction, only.stiffness, only.rest) == (0.7, 0.1, 5.0, (0.2,))


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("<lower>-1e16</lower><upper>1e16</upper>", pp.Limits()),
        ("<lower>-inf</lower><upper>inf</upper>", pp.Limits()),
        ("<lower>-1e17</lower><upper>2</upper>", pp.Limits(upper=2.0)),
        ("<effort>-1</effort><velocity>-1</velocity>", pp.Limits()),
        ("<effort>1e16</effort><velocity>2</velocity>", pp.Limits(velocity=2.0)),
        ("<effort>0</effort>", pp.Limits(effort=0.0)),
        ("<stiffness>1e8</stiffness><dissipation>1</dissipation>", pp.Limits()),
    ],
)
def test_endless_limits_are_infinite(read, limit, expected):
    model = read(arm(axis(inside=f"<limit>{limit}</limit>")))
    assert model.joint("j").limits == expected
    assert not model.report.remarks


def test_a_continuous_joint_turns_without_end(read):
    limit = "<limit><lower>-1</lower><upper>1</upper><effort>5</effort></limit>"
    assert read(arm(axis(inside=limit), "continuous")).joint("j").limits == pp.Limits(effort=5.0)


# -- which axes an axis stands in ------------------------------------------------------

TURNED = link("base") + joint("stand", "world", "base", type="fixed")
TURNED += link("tip", pose=f"1 2 3 0 0 {HALF}")  # x of the link is y of the model


@pytest.mark.parametrize(
    ("version", "inside", "expected"),
    [
        ("1.4", axis("1 0 0"), (0, -1, 0)),
        ("1.4", axis("1 0 0", "<use_parent_model_frame>0</use_parent_model_frame>"), (1, 0, 0)),
        ("1.5", axis("1 0 0"), (1, 0, 0)),
        ("1.6", axis("1 0 0"), (1, 0, 0)),
        ("1.5", axis("1 0 0", "<use_parent_model_frame>1</use_parent_model_frame>"), (0, -1, 0)),
        ("1.6", axis("1 0 0", "<use_parent_model_frame>true</use_parent_model_frame>"), (0, -1, 0)),
        ("1.6", axis("1 0 0", "<use_parent_model_frame>false</use_parent_model_frame>"), (1, 0, 0)),
        ("1.7", axis("1 0 0"), (1, 0, 0)),
        ("1.7", axis("1 0 0", expressed_in="__model__"), (0, -1, 0)),
        ("1.8", axis("1 0 0", expressed_in="base"), (0, -1, 0)),
        ("1.11", axis("1 0 0", expressed_in="tip"), (1, 0, 0)),
        ("1.12", axis("1 0 0", expressed_in=""), (1, 0, 0)),
    ],
)
def test_an_axis_stands_in_the_axes_that_the_version_says(read, version, inside, expected):
    model = read(TURNED + joint("j", "base", "tip", inside), version)
    np.testing.assert_allclose(model.joint("j").kind.axis, expected, atol=1e-15)
    assert not model.report.remarks


def test_a_word_of_old_versions_means_nothing_later(read):
    flag = "<use_parent_model_frame>1</use_parent_model_frame>"
    model = read(TURNED + joint("j", "base", "tip", axis("1 0 0", flag)), "1.7")
    assert model.joint("j").kind.axis == (1, 0, 0)
    assert ["use_parent_model_frame" in line for line in model.report.remarks] == [True]


def test_both_axes_of_a_joint_have_their_own(read):
    inside = axis("1 0 0", expressed_in="__model__") + axis("0 0 1", tag="axis2")
    kind = read(TURNED + joint("j", "base", "tip", inside, "universal")).joint("j").kind
    np.testing.assert_allclose((kind.first, kind.second), [(0, -1, 0), (0, 0, 1)], atol=1e-15)


# -- joint frames that are not the link's ----------------------------------------------


def test_a_body_sits_at_its_joint_and_the_link_is_a_frame_on_it(read):
    """The joint is half a metre up the link, and turned: the body is there, tip is not."""
    pose = pose_of(f"0 0 0.5 0 0 {HALF}")
    body = TURNED + joint("j", "base", "tip", pose + axis("1 0 0"))
    model = read(body)
    assert [body.name for body in model.bodies] == ["tip@j"]
    np.testing.assert_allclose(model.frame("tip").placement.position, (0, 0, -0.5), atol=1e-15)
    np.testing.assert_allclose(model.body("tip@j").inertia.com, (0, 0, -0.5), atol=1e-15)
    poses = world_poses(model)
    np.testing.assert_allclose(poses["tip@j"][:3, 3], (1, 2, 3.5), atol=1e-15)
    np.testing.assert_allclose(poses["tip"][:3, 3], (1, 2, 3), atol=1e-15)
    half_turn = world_poses(model, [math.pi])["tip"]  # about -x of the world, at 3.5 m
    np.testing.assert_allclose(half_turn[:3, 3], (1, 2, 4), atol=1e-15)
    point = pp.jacobian(model, [0.0], pp.point("tip"))
    np.testing.assert_allclose(np.abs(point[3:].ravel()).max(), 0.5)


def test_shapes_stay_on_the_link_wherever_its_body_sits(read):
    looks = '<visual name="v"><pose>0 0 1 0 0 0</pose><geometry><sphere><radius>1</radius>'
    looks += "</sphere></geometry></visual>"
    body = link("base", SOLID + looks) + link("tip", SOLID + looks, "1 0 0 0 0 0")
    body += joint("j", "base", "tip", pose_of("0 0 0.5 0 0 0") + axis())
    model = read(body)
    spots = [
        world_poses(model)[model.bodies[each.body].name] @ each.placement.matrix
        for each in model.visuals
    ]
    np.testing.assert_allclose(spots[0][:3, 3], (0, 0, 1), atol=1e-15)
    np.testing.assert_allclose(spots[1][:3, 3], (1, 0, 1), atol=1e-15)


def test_frames_that_differ_by_roundoff_are_one(read):
    """The joint is put on the link by way of the base: the same place but for the last digit."""
    body = link("base", pose="0.1 0.2 0.3 0.4 0.5 0.6") + link("tip", pose="0 0 0.7 0 1 0@base")
    model = read(body + joint("j", "base", "tip", pose_of("0 0 0.7 0 1 0@base") + axis()))
    assert [body.name for body in model.bodies] == ["base", "tip"]


# -- two axes --------------------------------------------------------------------------


def test_two_axes_that_are_alike_are_one_joint_and_others_two(read):
    inside = axis("1 0 0", "<dynamics><damping>2</damping></dynamics>")
    alike = read(
        arm(inside + inside.replace("axis", "axis2").replace("1 0 0", "0 1 0"), "universal")
    )
    assert [(each.name, each.damping) for each in alike.joints] == [("j", 2.0)]
    model = read(arm(inside + axis("0 1 0", tag="axis2"), "universal"))
    assert [(each.name, each.damping) for each in model.joints] == [("j", 2.0), ("j@axis2", 0.0)]
    assert [body.name for body in model.bodies] == ["tip@j@axis", "tip"]
    for q in ([0.3, 0.5], [-1.0, 2.0]):
        poses = [world_poses(each, q)["tip"] for each in (alike, model)]
        np.testing.assert_allclose(poses[0], poses[1], atol=1e-15)
        masses = [pp.mass_matrix(each, q) for each in (alike, model)]
        np.testing.assert_allclose(masses[0], masses[1], atol=1e-14)


def test_the_springs_of_two_axes_rest_where_each_says(read):
    spring = "<spring_stiffness>3</spring_stiffness><spring_reference>{}</spring_reference>"
    spring = f"<dynamics>{spring}</dynamics>"
    inside = axis("1 0 0", spring.format(0.1)) + axis("0 1 0", spring.format(-0.2), "axis2")
    only = read(arm(inside, "universal")).joint("j")
    assert (only.stiffness, only.rest) == (3.0, (0.1, -0.2))


def test_old_files_say_where_joints_start(read):
    start = "<initial_position>{}</initial_position>"
    body = arm(axis(inside=start.format(0.3)))
    body += link("c") + joint(
        "k",
        "tip",
        "c",
        axis("1 0 0", start.format(0.1)) + axis("0 1 0", start.format(0.2), "axis2"),
        "universal",
    )
    model = read(body, "1.6")
    assert model.keyframes["initial_position"].q == (0.3, 0.1, 0.2)
    assert not model.neutral().any() and not model.report.remarks
    assert read(arm(axis(inside=start.format(0))), "1.6").keyframes == {}
    split = body.replace(
        start.format(0.2), start.format(0.2) + "<dynamics><damping>1</damping></dynamics>"
    )
    assert read(split, "1.6").keyframes["initial_position"].q == (0.3, 0.1, 0.2)


# -- joints that follow others ---------------------------------------------------------

PALM = link("palm") + link("a") + link("b") + joint("wrist", "world", "palm", type="fixed")


def follow(multiplier=1, offset=0, reference=0, joint="ja", **attributes) -> str:
    words = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"""<mimic joint="{joint}"{words}><multiplier>{multiplier}</multiplier>
        <offset>{offset}</offset><reference>{reference}</reference></mimic>"""


def test_a_mimic_joint_follows_from_its_reference(read):
    """q = 2 (q_leader - 0.5) + 0.3 = 2 q_leader - 0.7."""
    body = PALM + joint("ja", "palm", "a")
    body += joint("jb", "palm", "b", axis(inside=follow(2, 0.3, 0.5)))
    mimic = read(body).joint("jb").mimic
    assert (mimic.source, mimic.ratio) == (0, 2.0)
    assert math.isclose(mimic.offset, -0.7)
    free = read(body, mimic="independent")
    assert free.nv == 2
    assert "joint 'jb' is independent, as asked" in free.report.remarks[0]


def test_one_axis_of_two_may_follow_and_lead(read):
    body = PALM + joint("ja", "palm", "a", axis("1 0 0") + axis("0 1 0", tag="axis2"), "universal")
    body += joint(
        "jb", "palm", "b", axis("1 0 0", follow(3)) + axis("0 1 0", tag="axis2"), "universal"
    )
    model = read(body)
    assert [each.name for each in model.joints] == ["ja", "ja@axis2", "jb", "jb@axis2"]
    assert model.joints[model.joint("jb").mimic.source].name == "ja"
    model = read(body.replace('joint="ja"', 'joint="ja" axis="axis2"'))
    assert model.joints[model.joint("jb").mimic.source].name == "ja@axis2"
    assert (model.nv, model.joint("jb@axis2").mimic) == (3, None)


GEARS = PALM + joint("ja", "palm", "a", axis("0 0 1")) + joint("jb", "palm", "b", axis("0 0 -3"))


def gearbox(parent="a", child="b", ratio="<gearbox_ratio>4</gearbox_ratio>", body="palm") -> str:
    reference = f"<gearbox_reference_body>{body}</gearbox_reference_body>"
    inside = ratio + reference + axis() + axis(tag="axis2")
    return joint("box", parent, child, inside, "gearbox")


@pytest.mark.parametrize(
    ("box", "follower", "ratio"),
    [
        (gearbox(), "jb", 4.0),  # theta_b = -4 theta_a, and jb turns the other way
        (gearbox(ratio=""), "jb", 1.0),
        (gearbox("b", "a"), "ja", 4.0),
    ],
)
def test_a_gearbox_couples_the_angles_on_a_third_body(read, box, follower, ratio):
    model = read(GEARS + box)
    assert model.nv == 1
    assert model.joint(follower).mimic.ratio == ratio
    assert model.closures == () and not model.report.remarks
    poses = world_poses(model, [0.1])
    angles = [math.atan2(poses[name][1, 0], poses[name][0, 0]) for name in ("a", "b")]
    first, second = angles if follower == "jb" else angles[::-1]
    assert math.isclose(second, -ratio * first)


def test_a_gearbox_sees_a_joint_from_its_other_end(read):
    """The palm is the child of ja here: it turns on a, so a turns on it the other way."""
    body = (
        link("a") + link("palm") + link("b") + joint("ja", "a", "palm") + joint("jb", "palm", "b")
    )
    assert read(body + gearbox()).joint("jb").mimic.ratio == 4.0


def test_two_gearboxes_in_a_row_follow_one_leader(read):
    body = GEARS + link("c") + joint("jc", "palm", "c") + gearbox()
    body += gearbox("c", "b").replace('"box"', '"box2"')
    model = read(body)
    assert model.nv == 1
    ratios = [model.joint(name).mimic.ratio for name in ("jb", "jc")]
    assert ratios == [4.0, 1.0]  # theta_b = -4 theta_a = -4 theta_c


# -- beside URDF -----------------------------------------------------------------------


@pytest.mark.parametrize("type", ["revolute", "continuous", "prismatic", "fixed"])
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_the_same_machine_in_urdf(read, tmp_path, type, base):
    """A joint that is off its parent, with a product of inertia: the same dynamics."""
    origin = '<origin xyz="0.3 0.2 0.1" rpy="0.1 0.2 0.3"/>'
    mass = '<inertial><origin xyz="0.1 0 0.2" rpy="0.3 0 0"/><mass value="2"/>'
    mass += '<inertia ixx="1" iyy="1.2" izz="1.3" ixy="0.1" ixz="0" iyz="0"/></inertial>'
    text = urdf_text.link("base", mass) + urdf_text.link("tip", mass) + urdf_text.link("end", mass)
    text += urdf_text.joint("j", "base", "tip", origin + '<axis xyz="1 2 3"/>', type)
    text += urdf_text.joint("k", "tip", "end", origin + '<axis xyz="0 1 0"/>')
    twin = urdf_text.read_text(tmp_path, text, base=base)
    mass = """<inertial><pose>0.1 0 0.2 0.3 0 0</pose><mass>2</mass><inertia><ixx>1</ixx>
        <iyy>1.2</iyy><izz>1.3</izz><ixy>0.1</ixy><ixz>0</ixz><iyz>0</iyz></inertia></inertial>"""
    place = pose_of("0.3 0.2 0.1 0.1 0.2 0.3@{}")
    body = (
        link("base", mass) + link("tip", mass, "0 0 0 0 0 0@j") + link("end", mass, "0 0 0 0 0 0@k")
    )
    turn = axis("1 2 3") if type != "fixed" else ""
    body += joint("j", "base", "tip", place.format("base") + turn, type)
    body += joint("k", "tip", "end", place.format("tip") + axis("0 1 0"))
    reads_the_same(read(body, base=base), twin)


@pytest.mark.parametrize("type", ["ball", "universal", "revolute2", "screw", "piston"])
def test_the_same_machine_from_the_builder(read, type):
    """Kinds that URDF lacks, on a joint frame that is neither link's."""
    inside, kind = KINDS[type]
    body = link("base", pose="1 0 0 0 0 0.4") + link("tip", pose="1 1 0 0.2 0 0")
    model = read(body + joint("j", "base", "tip", pose_of("0 0 0.3 0 0.5 0") + inside, type))
    builder = pp.ModelBuilder("twin")
    base, tip = (
        homogeneous(about(np.array(a), x), l)
        for a, x, l in (((0, 0, 1.0), 0.4, (1, 0, 0)), ((1.0, 0, 0), 0.2, (1, 1, 0)))
    )
    at = tip @ homogeneous(about(np.array([0, 1, 0]), 0.5), (0, 0, 0.3))
    own, seat = np.linalg.inv(at) @ tip, np.linalg.inv(base) @ at
    solid = {"mass": 2.0, "inertia": (1, 1, 1)}
    free = {"joint": joints.Free(), "joint_name": "root"}
    builder.add_body("base", position=base[:3, 3], rotation=base[:3, :3], **free, **solid)
    builder.add_body(
        "tip",
        "base",
        kind,
        joint_name="j",
        position=seat[:3, 3],
        rotation=seat[:3, :3],
        com=own[:3, 3],
        **solid,
    )
    reads_the_same(model, builder.build())


def test_a_placement_knows_its_way_back():
    from phipsi.model.files.sdf.pose import inverse

    placement = Placement.of(about(np.array([1, 2, 3]), 0.7), (1, 2, 3))
    np.testing.assert_allclose(inverse(placement).matrix @ placement.matrix, np.eye(4), atol=1e-15)
