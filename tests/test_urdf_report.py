"""The report of a URDF file: every element, its line, and what became of it."""

from functools import partial

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from report_lines import assert_every_element_is_told, own_lines
from urdf_text import arm, joint, link, read_text

import phipsi as pp
from phipsi.model.files.load import load


@pytest.fixture
def read(tmp_path):
    """read(body, **options): the model of a robot with that body."""
    return partial(read_text, tmp_path)


EVERYTHING = """<robot name="all" version="1.0" xmlns:drake="http://drake.mit.edu">
<material name="red"><color rgba="1 0 0 1"/></material>
<link name="base">
  <visual><geometry><box size="1 1 1"/></geometry><material name="red"><color rgba="0 0 1 1"/>
    <texture filename="wood.png"/></material></visual>
  <collision name="hull"><origin xyz="0 0 1"/><geometry><sphere radius="1"/></geometry></collision>
  <sensor type="ray"/>
</link>
<link name="arm"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="pad"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><geometry><box size="1 2"/></geometry></visual></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/>
  <origin xyz="0 0 1"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="3" velocity="2"/>
  <dynamics damping="0.1"/><calibration rising="0"/><safety_controller k_velocity="1"/></joint>
<joint name="weld" type="fixed"><parent link="arm"/><child link="pad"/><axis xyz="0 0 1"/></joint>
<gazebo><plugin name="p"><rate>3</rate></plugin></gazebo>
<transmission name="t"><type>SimpleTransmission</type><joint name="hinge"/>
  <actuator name="m"><mechanicalReduction>9</mechanicalReduction></actuator></transmission>
<jiont/>
</robot>
"""


def test_everything_that_urdf_knows_has_its_fate(tmp_path):
    file = tmp_path / "all.urdf"
    file.write_text(EVERYTHING)
    report = load(file).report
    told = {}
    for _, line in assert_every_element_is_told(EVERYTHING, report):
        told.setdefault(line[len(f"{line.file}:") :].partition(": ")[2], line.line)
    texts = list(told)
    for said in (
        "<robot 'all'>: used",
        "<material 'red'>: kept, for viewing",
        "<link 'base'>: merged, into the world",
        "<visual>: kept, for viewing",
        "<color>: ignored, its name has a colour already",
        "<texture>: ignored, textures are not read",
        "<collision 'hull'>: kept, for viewing",
        "<sensor>: ignored, it moves nothing",
        "<link 'arm'>: used",
        "<inertial>: used",
        "<link 'pad'>: merged, into body 'arm'",
        "<inertial>: merged",
        '<visual>: refused: <box size="1 2">: expected 3 numbers, as in 0 0 1',
        "<box>: refused, as what it is in",
        "<limit>: used",
        "<dynamics>: used",
        "<calibration>: ignored, for controllers",
        "<safety_controller>: ignored, for controllers",
        "<joint 'weld'>: merged, it welds 'pad' to body 'arm'",
        "<axis>: ignored, a fixed joint has none",
        "<gazebo>: ignored, settings of a simulator",
        "<rate>: ignored, as what it is in",
        "<transmission 't'>: used",
        "<mechanicalReduction>: used",
        "<jiont> is unknown and ignored in <robot 'all'>",
    ):
        assert said in texts
    assert [line.line for line in report.remarks] == [13, 21]
    assert report.counts == {
        "used": 17,  # the robot, 4 of arm, 7 of hinge, 5 of the transmission
        "merged": 8,  # base, 4 of pad, 3 of weld
        "kept": 10,  # 2 of the material, 4 of the visual, 4 of the collision
        "ignored": 10,
        "refused": 3,
    }


def test_unknown_attributes_are_told_beside_their_element(read):
    """What is lost is a number that somebody meant: `lowr`."""
    model = read(arm('<limit lowr="-1" upper="1" effort="1" velocity="1"/>'))
    (line,) = model.report.remarks
    assert line.endswith("trial.urdf:6: the attribute 'lowr' of <limit> is unknown and ignored")
    assert line.status == "ignored"
    assert read(arm('<limit name="stop" upper="1"/>')).report.remarks == ()


def test_ends_of_joints_that_have_none_are_told(read):
    model = read(arm('<limit lower="-1" upper="1" effort="1"/>', "continuous"))
    (line,) = model.report.remarks
    assert line.endswith("joint 'j' is continuous and has no ends; lower and upper are ignored")
    assert read(arm('<limit effort="1"/>', "continuous")).report.remarks == ()


def test_joint_that_cannot_move_is_told(read):
    model = read(arm('<limit effort="5" velocity="1"/>', "prismatic"))
    (line,) = model.report.remarks
    assert line.endswith(
        ":6: joint 'j': lower = upper = 0, for its <limit> has neither: it cannot move"
    )
    (line,) = read(arm('<limit lower="0.5" upper="0.5"/>')).report.remarks
    assert line.endswith("joint 'j': lower = upper = 0.5: it cannot move")
    assert read(arm('<limit lower="0" upper="0.5"/>')).report.remarks == ()


def test_joint_without_the_limit_that_urdf_asks_for_is_told_in_its_own_line(read):
    told = {line.element: line for line in read(arm()).report}
    text = "<joint 'j'>: used, without the <limit> that URDF asks for, so it has no ends"
    assert told["<joint 'j'>"].endswith(text) and not told["<joint 'j'>"].notable
    assert not any("asks for" in line for line in read(arm(type="continuous")).report)


def test_freed_mimic_joints_are_told(read):
    body = arm() + link("b") + joint("k", "tip", "b", '<mimic joint="j"/>')
    (line,) = [line for line in read(body, mimic="independent").report if "<mimic>" in line]
    assert line.endswith("<mimic>: ignored, mimic='independent' frees the joint")
    (line,) = read(body, mimic="independent").report.remarks
    assert line.endswith("joint 'k' follows nothing, by mimic='independent'")


def test_world_link_is_told(read):
    body = link("world", "") + link("a") + joint("j", "world", "a")
    (line,) = [line for line in read(body).report if line.element == "<link 'world'>"]
    assert line.endswith("<link 'world'>: used, it is the world itself")


def test_second_shape_of_a_geometry_is_refused(read):
    shapes = '<visual><geometry><sphere radius="1"/><box size="1 1 1"/></geometry></visual>'
    model = read(link("a", shapes))
    assert len(model.visuals) == 1
    (line,) = model.report.remarks
    assert "<box>: refused: a <geometry> has one shape, and this is another" in line


def test_shapes_are_read_when_somebody_looks(read, monkeypatch):
    """Unless strict, which refuses at once; `test_geometry` shows that."""
    from phipsi.model.files.urdf.visuals import Visuals

    monkeypatch.setattr(Visuals, "read", lambda *_: 1 / 0)
    model = read(arm())
    with pytest.raises(ZeroDivisionError):
        list(model.visuals)


def test_error_in_a_line_of_its_own_is_told_with_it(read):
    model = read(link("a", '<visual>\n<geometry>\n<box size="1"/></geometry></visual>'))
    (line,) = model.report.remarks
    assert "trial.urdf:2: <visual>: refused: line 4: <box" in line


STRICT = {
    '<box size="1"/>': 'urdf:4: <box size="1">: expected 3 numbers, as in 0 0 1',
    '<sphere radius="-1"/>': "urdf:2: the radius of a Sphere is -1 m; it must not be negative",
}


@pytest.mark.parametrize("shape", STRICT)
def test_strict_error_has_one_place_and_one_hint(read, shape):
    body = link("a", f"<visual>\n<geometry>\n{shape}</geometry></visual>")
    with pytest.raises(pp.ModelError) as caught:
        read(body, strict=True)
    assert str(caught.value).endswith(f"/trial.{STRICT[shape]}; strict=False leaves it out")


UNKNOWN = {
    "joint": (arm("<axes/>"), "<axes> is unknown in <joint 'j'>"),
    "joint's attribute": (
        arm().replace("<joint", "<joint typ='x'"),
        "the attribute 'typ' of <joint 'j'> is unknown",
    ),
    "part of a transmission": (arm("<offset>1</offset>"), "<offset> is unknown in <joint 'j'>"),
    "limit": (arm('<limit lowr="1" effort="1"/>'), "the attribute 'lowr' of <limit> is unknown"),
    "dynamics": (
        arm('<dynamics spring_stiffness="1"/>'),
        "the attribute 'spring_stiffness' of <dynamics> is unknown",
    ),
    "origin": (arm('<origin yxz="1 2 3"/>'), "the attribute 'yxz' of <origin> is unknown"),
    "quaternion of old": (
        arm('<origin quat_xyzw="0 0 0 1"/>'),
        "the attribute 'quat_xyzw' of <origin> is unknown",
    ),
    "axis": (arm('<axis xyz="0 0 1" frame="b"/>'), "the attribute 'frame' of <axis> is unknown"),
    "parent": (arm().replace("<parent", "<parent at='b'"), "the attribute 'at' of <parent> is"),
    "child": (arm().replace("<child", "<child at='b'"), "the attribute 'at' of <child> is"),
    "inertial": (
        arm().replace("</inertial>", "<density/></inertial>", 1),
        "<density> is unknown in <inertial>",
    ),
    "mass": (arm().replace("<mass", "<mass unit='g'", 1), "the attribute 'unit' of <mass> is"),
    "inertia": (arm().replace("<inertia ", "<inertia Ixx='1' ", 1), "the attribute 'Ixx' of"),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_is_unknown_where_it_may_concern_motion_is_strictly_refused(read, case):
    body, said = UNKNOWN[case]
    body = body.replace("<limit", '<limit upper="1"')
    (line,) = read(body).report.remarks
    assert "unknown and ignored" in line
    with pytest.raises(pp.ModelError, match="where it may concern motion; mend it") as caught:
        read(body, strict=True)
    assert f"trial.urdf:{line.line}: {said}" in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        arm() + "<jiont/>",
        arm().replace("</link>", "<sensr/></link>", 1),
        link("base", '<visual><origin odd="1"/><geometry><box size="1 1 1"/></geometry></visual>'),
        arm() + '<transmission name="t"><joint name="j"><odd/></joint></transmission>',
    ],
)
def test_what_is_unknown_elsewhere_stays_a_remark(read, body):
    (line,) = read(body, strict=True).report.remarks
    assert "unknown and ignored" in line


def test_limits_of_newer_versions_are_known(read):
    inside = '<limit upper="1" acceleration="1" deceleration="2" jerk="3"/>'
    assert read(arm(inside), strict=True).report.remarks == ()


def test_effort_zero_is_taken_for_no_limit_and_said(read):
    model = read(arm('\n<limit upper="1" effort="0"/>'), strict=True)
    assert model.joint("j").limits == pp.Limits(0.0, 1.0)
    (line,) = model.report.remarks
    assert line.endswith("trial.urdf:7: joint 'j': effort 0 is taken for no limit")


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ('<dynamics damping="-1"/>', "its joint has the damping -1, below 0"),
        ('<dynamics friction="-2"/>', "its joint has the friction -2, below 0"),
        ('<limit upper="1" velocity="-3"/>', "its velocity limit is -3, below 0"),
        ('<limit upper="1" effort="-4"/>', "its effort limit is -4, below 0"),
    ],
)
def test_negative_losses_and_limits_are_implausible(read, inside, said):
    (line,) = read(arm(f"\n{inside}")).report.remarks
    assert line.status == "implausible"
    assert line.endswith(f"trial.urdf:7: body 'tip': {said}")
    with pytest.raises(pp.ModelError, match=rf"trial\.urdf:7: body 'tip': {said}; .*strict=False"):
        read(arm(f"\n{inside}"), strict=True)


# -- any document ----------------------------------------------------------------------

TAGS = st.sampled_from(
    [
        *("link", "joint", "inertial", "mass", "inertia", "origin"),
        *("visual", "collision", "geometry", "box", "mesh", "sphere"),
        *("material", "color", "texture", "parent", "child", "axis"),
        *("limit", "dynamics", "mimic", "calibration", "transmission", "actuator"),
        *("type", "mechanicalReduction", "gazebo", "ros2_control", "sensor", "world"),
        *("odd", "drake:gear_ratio"),
    ]
)
VALUES = st.sampled_from(["a", "b", "1", "0 0 1", "fixed", "x", "1 1 1", "revolute", ""])
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["name", "link", "type", "xyz", "rpy", "value", "size", "filename", "odd"]),
    VALUES,
    max_size=2,
)
GAPS = st.sampled_from(["", "\n", " ", "\n\n", "<!-- <odd> \n -->", "text"])


@st.composite
def markup(draw, depth: int = 3) -> str:
    """An element of any kind, and what is in it."""
    tag, attributes = draw(TAGS), draw(ATTRIBUTES)
    head = "".join(f'{draw(GAPS.filter(str.isspace))}{k}="{v}"' for k, v in attributes.items())
    inside = draw(GAPS)
    if depth:
        for child in draw(st.lists(markup(depth - 1), max_size=3)):
            inside += child + draw(GAPS)
    return f"<{tag}{head}>{inside}</{tag}>"


SEED = arm('<axis xyz="0 0 1"/><limit effort="1"/>')


@given(extra=st.lists(markup(), max_size=4), where=st.integers(0, 3), gap=GAPS)
def test_any_element_of_any_document_is_told_once(tmp_path_factory, extra, where, gap):
    """Wherever an element stands and whatever it is, unless it makes the file no machine."""
    spots = ["</inertial>", "</link>", "</joint>", "</robot>"]
    text = f'<?xml version="1.0"?>{"" if gap == "text" else gap}\n<robot name="r">{SEED}</robot>'
    text = text.replace(spots[where], gap + "".join(extra) + spots[where], 1)
    text = text.replace("<robot ", '<robot xmlns:drake="d" ')
    file = tmp_path_factory.getbasetemp() / "any.urdf"
    file.write_text(text)
    try:
        report = load(file).report
    except pp.ModelError:
        event("no machine")
        return
    event("a machine")
    assert_every_element_is_told(text, report)
    assert len(own_lines(report)) >= 13
