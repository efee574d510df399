"""Poses of SDF: what each is relative to, in models and in models within models."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sdf_text import (
    SOLID,
    about,
    assert_is_the_file,
    homogeneous,
    joint,
    link,
    pose_of,
    read_text,
    turn,
    world_poses,
    write,
)

import phipsi as pp
from phipsi.model.files.load import load

X, Y, Z = np.eye(3)


@pytest.fixture
def read(tmp_path):
    return partial(read_text, tmp_path)


def at(model: pp.Model, name: str) -> np.ndarray:
    return world_poses(model)[name]


# -- numbers ---------------------------------------------------------------------------


def test_roll_pitch_yaw_turn_about_fixed_axes(read):
    expected = about(Z, 0.3) @ about(Y, 0.2) @ about(X, 0.1)
    model = read(link("a", pose="1 2 3 0.1 0.2 0.3"))
    np.testing.assert_allclose(at(model, "a"), homogeneous(expected, (1, 2, 3)), atol=1e-15)


@pytest.mark.parametrize(
    ("attributes", "numbers"),
    [
        ('degrees="true"', "1 2 3 30 45 60"),
        ('degrees="0"', f"1 2 3 {math.pi / 6} {math.pi / 4} {math.pi / 3}"),
        ('rotation_format="euler_rpy" degrees="1"', "1 2 3 30 45 60"),
        ('rotation_format="quat_xyzw"', "1 2 3 {}"),
    ],
)
def test_a_pose_may_be_in_degrees_or_a_quaternion(read, attributes, numbers):
    R = turn(*np.deg2rad([30, 45, 60]))
    quaternion = "0.02226 0.43968 0.36042 0.82236"  # rounded; normalised by the reader
    model = read(link("a", f"<pose {attributes}>{numbers.format(quaternion)}</pose>{SOLID}"))
    tolerance = 1e-4 if "quat" in attributes else 1e-15
    np.testing.assert_allclose(at(model, "a")[:3, :3], R, atol=tolerance)
    np.testing.assert_allclose(at(model, "a")[:3, 3], (1, 2, 3))


def test_a_quaternion_has_its_scalar_last_and_any_length(read):
    pose = '<pose rotation_format="quat_xyzw">0 0 0 0 0 3 3</pose>'
    R = at(read(link("a", pose + SOLID)), "a")[:3, :3]
    np.testing.assert_allclose(R, about(Z, math.pi / 2), atol=1e-15)


def test_an_empty_pose_is_none(read):
    body = link("a", "<pose/>" + SOLID) + link("b", '<pose relative_to="a"></pose>' + SOLID)
    np.testing.assert_array_equal(at(read(body), "b"), np.eye(4))


# -- what a pose is relative to --------------------------------------------------------


def test_links_are_relative_to_their_model_and_that_to_the_world(read):
    model = read(pose_of(f"1 0 0 0 0 {math.pi / 2}") + link("a", pose="1 0 0 0 0 0"))
    np.testing.assert_allclose(at(model, "a")[:3, 3], (1, 1, 0), atol=1e-15)


def test_a_joint_is_relative_to_its_child_whatever_it_hangs_on(read, tmp_path):
    body = link("a", pose="1 0 0 0 0 0") + link("b", pose="0 1 0 0 0 0")
    model = read(body + joint("j", "a", "b", pose_of("0 0 1 0 0 0")))
    np.testing.assert_allclose(at(model, "b@j")[:3, 3], (0, 1, 1), atol=1e-15)
    assert_is_the_file(model, tmp_path / "trial.sdf")


FRAMES = """
<frame name="f"><pose>0 0 1 0 0 0</pose></frame>
<frame name="g" attached_to="b"><pose>0 0 1 0 0 0</pose></frame>
<frame name="h" attached_to="b"><pose relative_to="f">0 0 1 0 0 0</pose></frame>
<frame name="i" attached_to="j"/>
<frame name="k" attached_to="h"><pose>1 0 0 0 0 0</pose></frame>
"""


def test_frames_stand_where_their_pose_says_and_move_with_what_they_are_attached_to(read):
    body = link("a", pose="1 0 0 0 0 0") + link("b", pose="0 1 0 0 0 0")
    model = read(body + joint("j", "a", "b", pose_of("0 0 0.5 0 0 0")) + FRAMES)
    carrier = {frame.name: model.bodies[frame.body].name for frame in model.frames}
    assert carrier == {"b": "b@j", "f": "a", "g": "b@j", "h": "b@j", "i": "b@j", "k": "b@j"}
    expected = {"f": (0, 0, 1), "g": (0, 1, 1), "h": (0, 0, 2), "i": (0, 1, 0.5), "k": (1, 0, 2)}
    for name, place in expected.items():
        np.testing.assert_allclose(at(model, name)[:3, 3], place, atol=1e-15)


def test_joints_may_connect_frames_and_stand_in_them(read, tmp_path):
    body = link("a", pose="1 0 0 0 0 0.3") + link("b", pose="0 1 0 0.2 0 0")
    body += '<frame name="hand" attached_to="a"><pose>0.1 0.2 0.3 0 0 0.4</pose></frame>'
    body += '<frame name="grip" attached_to="b"><pose>0 0 0.5 0.1 0 0</pose></frame>'
    model = read(body + joint("j", "hand", "grip", pose_of("0 0 0.1 0 0 0")))
    assert_is_the_file(model, tmp_path / "trial.sdf")
    assert [(body.name, body.parent) for body in model.bodies] == [("a", -1), ("b@j", 0)]


def test_a_shape_may_stand_relative_to_any_frame(read):
    shape = "<geometry><sphere><radius>1</radius></sphere></geometry>"
    looks = f'<visual name="v">{pose_of("0 0 1 0 0 0@b")}{shape}</visual>'
    looks += f'<collision name="c">{pose_of("0 0 2 0 0 0")}{shape}</collision>'
    body = link("a", SOLID + looks, "1 0 0 0 0 0") + link("b", pose="0 3 0 0 0 0")
    model = read(body + joint("j", "a", "b"))
    np.testing.assert_allclose(model.visuals[0].placement.position, (-1, 3, 1), atol=1e-15)
    np.testing.assert_allclose(model.collisions[0].placement.position, (0, 0, 2), atol=1e-15)


def test_a_chain_of_many_frames_costs_time_alone(read):
    """Each a millimetre above the one before it, backwards in the file."""
    count = 5_000
    frames = [
        f'<frame name="f{k}" attached_to="f{k - 1}"><pose>0 0 0.001 0 0 0</pose></frame>'
        for k in range(1, count)
    ]
    body = link("a") + "".join(reversed(frames)) + '<frame name="f0"/>'
    model = read(body)
    np.testing.assert_allclose(at(model, f"f{count - 1}")[:3, 3], (0, 0, 4.999), atol=1e-9)


def test_of_old_a_frame_attribute_meant_nothing(read):
    body = link("a", '<pose frame="">1 0 0 0 0 0</pose>' + SOLID)
    assert not read(body, "1.6").report.remarks
    model = read(body.replace('frame=""', 'frame="b"'), "1.6")
    assert "frame='b' never had a meaning" in model.report.remarks[0]
    np.testing.assert_allclose(at(model, "a")[:3, 3], (1, 0, 0))


# -- models within models --------------------------------------------------------------

GRIPPER = f"""<model name="gripper"{{}}>{{}}
<link name="palm"><pose>0 0 0.1 0 0 0</pose>{SOLID}</link>
<link name="finger"><pose relative_to="palm">0 0.2 0 0 0 0</pose>{SOLID}</link>
<joint name="pinch" type="prismatic"><parent>palm</parent><child>finger</child>
  <axis><xyz expressed_in="__model__">0 1 0</xyz></axis></joint>
<frame name="tip" attached_to="finger"><pose>0 0 0.3 0 0 0</pose></frame>
</model>
"""


def nested(attributes: str = "", pose: str = "", parent: str = "gripper::palm") -> str:
    inner = GRIPPER.format(attributes, pose_of(pose))
    return link("hand", pose="1 0 0 0 0 0") + inner + joint("wrist", "hand", parent)


def test_names_of_inner_models_have_their_model_in_front(read):
    model = read(nested())
    assert [body.name for body in model.bodies] == ["hand", "gripper::palm", "gripper::finger"]
    assert [each.name for each in model.joints] == ["root", "wrist", "gripper::pinch"]
    assert "gripper::tip" in {frame.name for frame in model.frames}


def test_inner_models_are_placed_in_the_outer(read):
    model = read(pose_of("0 0 5 0 0 0") + nested(pose=f"0 0 1 0 0 {math.pi / 2}@hand"))
    np.testing.assert_allclose(at(model, "gripper::palm")[:3, 3], (1, 0, 6.1), atol=1e-14)
    np.testing.assert_allclose(at(model, "gripper::finger")[:3, 3], (0.8, 0, 6.1), atol=1e-14)
    moved = world_poses(model, [0, 0, 0, 1, 0, 0, 0, 0, 0.5])  # along y of the gripper
    np.testing.assert_allclose(moved["gripper::finger"][:3, 3], (0.3, 0, 6.1), atol=1e-14)
    outer = pose_of("0 0 1 0 0 0@gripper::tip") + SOLID
    model = read(nested() + link("a", outer) + joint("j", "hand", "a"))
    np.testing.assert_allclose(at(model, "a")[:3, 3], (0, 0.2, 1.4), atol=1e-14)


@pytest.mark.parametrize(
    ("frame", "place"),
    [
        ("__model__", (0, 0, 0)),
        ("palm", (0, 0, 0.1)),
        ("tip", (0, 0.2, 0.4)),
        ("pinch", (0, 0.2, 0.1)),
    ],
)
def test_a_placement_frame_is_what_the_pose_of_a_model_places(read, frame, place):
    """The frame lies where the pose says, so the model is moved back by where it is in it."""
    model = read(nested(f' placement_frame="{frame}"', f"0 0 2 0 0 {math.pi / 2}"))
    X = homogeneous(about(Z, math.pi / 2), (0, 0, 2)) @ np.linalg.inv(homogeneous(np.eye(3), place))
    expected = X @ homogeneous(np.eye(3), (0, 0, 0.1))
    np.testing.assert_allclose(at(model, "gripper::palm"), expected, atol=1e-14)


def test_a_models_own_frame_moves_with_its_canonical_link(read):
    frame = '<frame name="f" attached_to="gripper"/>'
    for attributes, link_name in (("", "palm"), (' canonical_link="finger"', "finger")):
        model = read(nested(attributes) + frame)
        body = model.bodies[model.frame("f").body].name
        assert body == f"gripper::{link_name}"


def test_a_joint_may_hold_a_model_by_its_frame(read):
    model = read(nested(parent="gripper"))
    assert [body.name for body in model.bodies] == [
        "hand",
        "gripper::palm@wrist",
        "gripper::finger",
    ]
    np.testing.assert_allclose(at(model, "gripper::palm@wrist"), np.eye(4), atol=1e-15)


def test_of_old_a_link_could_have_colons_in_its_name(read):
    body = link("a::b") + link("c") + joint("j", "a::b", "c")
    assert [each.name for each in read(body, "1.6").bodies] == ["a::b", "c"]


def test_of_old_a_joint_could_have_the_name_of_a_link(read):
    model = read(link("a") + link("b") + joint("b", "a", "b") + '<frame name="a"/>', "1.6")
    assert [each.name for each in model.joints] == ["root", "b"]
    assert ["frame 'a' is left out" in text for text in model.report.remarks] == [True]


def test_of_old_a_frame_could_have_the_name_of_a_link_wherever_its_body_sits(read, tmp_path):
    """The body of b is called b@j, and b is a frame on it: there is no second b."""
    body = link("a") + link("b", pose="1 0 0 0 0 0") + joint("j", "a", "b", pose_of("0 0 1 0 0 0"))
    model = read(body + '<frame name="b"/>', "1.6")
    assert [each.name for each in model.bodies] == ["a", "b@j"]
    np.testing.assert_allclose(at(model, "b")[:3, 3], (1, 0, 0), atol=1e-15)
    (remark,) = model.report.remarks
    assert "frame 'b' is left out, a link being called so" in remark
    assert (remark.file, remark.line) == (str(tmp_path / "trial.sdf"), 8)
    with pytest.raises(pp.errors.ModelError, match=r"trial.sdf:8: frame 'b' is left out"):
        read(body + '<frame name="b"/>', "1.6", strict=True)


# -- the same machine in other words ---------------------------------------------------


@st.composite
def trees(draw):
    """Links on a tree: (parent, pose, joint type, axis, joint pose) of each but the first."""
    count = draw(st.integers(2, 5))
    seed = draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    parts = []
    for k in range(1, count):
        parent = draw(st.integers(0, k - 1))
        kind = draw(st.sampled_from(["revolute", "prismatic", "universal", "ball", "fixed"]))
        parts.append(
            (parent, rng.uniform(-1, 1, 6), kind, rng.normal(size=(2, 3)), rng.uniform(-1, 1, 6))
        )
    return parts, draw(st.lists(st.sampled_from("mplw"), min_size=3 * count, max_size=3 * count))


def pose_text(matrix: np.ndarray, relative: str) -> str:
    """A pose in quaternions: exact enough to be written and read again."""
    R, l = matrix[:3, :3], matrix[:3, 3]
    w = math.sqrt(max(0.0, 1 + np.trace(R))) / 2
    x, y, z = (R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])
    numbers = [*l, x / (4 * w), y / (4 * w), z / (4 * w), w]
    text = " ".join(repr(float(each)) for each in numbers)
    return f'<pose relative_to="{relative}" rotation_format="quat_xyzw">{text}</pose>'


def write_tree(parts, choices) -> str:
    """The tree as a model, each pose relative to what the choices say."""
    local = [homogeneous(turn(*(0.5 * p[1][3:])), p[1][:3]) for p in parts]
    world = [homogeneous(turn(0.1, 0.2, 0.3), (1, 2, 3))]
    for (parent, *_), own in zip(parts, local, strict=True):
        world.append(world[parent] @ own)
    seats = [
        np.eye(4),
        *(
            w @ homogeneous(turn(*(0.5 * p[4][3:])), p[4][:3])
            for p, w in zip(parts, world[1:], strict=True)
        ),
    ]
    places = {"__model__": np.eye(4)}
    places |= {f"l{k}": pose for k, pose in enumerate(world)}
    names = iter(choices)

    def pick(k: int, own: str) -> str:
        parent = parts[k - 1][0] if k else 0
        found = {"m": "__model__", "p": f"l{parent}", "l": f"l{max(0, k - 1)}", "w": "l0"}[
            next(names)
        ]
        return "__model__" if found == own else found

    text = link("l0", pose_text(world[0], "__model__") + SOLID)
    for k, (parent, _, kind, axes, _) in enumerate(parts, start=1):
        relative = pick(k, f"l{k}")
        text += link(
            f"l{k}", pose_text(np.linalg.inv(places[relative]) @ world[k], relative) + SOLID
        )
        relative = pick(k, "")
        inside = pose_text(np.linalg.inv(places[relative]) @ seats[k], relative)
        expressed = pick(k, "")
        R = places[expressed][:3, :3].T @ seats[k][:3, :3]
        for tag, own in zip(("axis", "axis2"), axes, strict=True):
            if kind in ("revolute", "prismatic", "universal") and (
                tag == "axis" or kind == "universal"
            ):
                numbers = " ".join(repr(float(each)) for each in R @ own)
                inside += f'<{tag}><xyz expressed_in="{expressed}">{numbers}</xyz></{tag}>'
        text += joint(f"j{k}", f"l{parent}", f"l{k}", inside, kind)
    return text


@given(trees())
def test_a_machine_is_the_same_in_whatever_words_it_is_told(tmp_path_factory, tree):
    """Poses relative to the model, to the parent or to any link; axes in any frame."""
    parts, choices = tree
    folder = tmp_path_factory.mktemp("words")
    models = []
    for words in (choices, "m" * len(choices)):
        file = write(folder, f'<model name="m">{write_tree(parts, words)}</model>')
        models.append(load(file))
    one, two = models
    assert [body.name for body in one.bodies] == [body.name for body in two.bodies]
    q = one.random(np.random.default_rng(0))
    for name, pose in world_poses(one, q).items():
        np.testing.assert_allclose(pose, world_poses(two, q)[name], atol=1e-11)
    np.testing.assert_allclose(pp.mass_matrix(one, q), pp.mass_matrix(two, q), atol=1e-9)
