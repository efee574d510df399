"""<gazebo> in URDF files: springs and loops are read, what cannot be honoured is refused."""

from functools import partial

import numpy as np
import pytest
from report_lines import assert_every_element_is_told
from urdf_text import arm, joint, link, read_text

import phipsi as pp
from phipsi import joints


@pytest.fixture
def read(tmp_path):
    """read(body, **options): the model of a robot with that body."""
    return partial(read_text, tmp_path)


def gazebo(inside: str, reference: str | None = None) -> str:
    about = "" if reference is None else f' reference="{reference}"'
    return f"<gazebo{about}>{inside}</gazebo>\n"


def test_springs_of_joints_are_read(read):
    spring = "<springStiffness> 100 </springStiffness><springReference>0.5</springReference>"
    model = read(arm() + gazebo(spring + "<implicitSpringDamper>1</implicitSpringDamper>", "j"))
    assert (model.joint("j").stiffness, model.joint("j").rest) == (100.0, (0.5,))
    assert model.report.remarks == ()
    fates = {line.element: line.status for line in model.report}
    assert (fates["<gazebo>"], fates["<springStiffness>"]) == ("used", "used")
    assert fates["<implicitSpringDamper>"] == "ignored"
    old = gazebo('<springStiffness value="7"/>', "j")
    assert read(arm() + old, strict=True).joint("j").stiffness == 7.0


SETTINGS = {
    "friction": gazebo("<mu1>0.9</mu1><selfCollide>true</selfCollide>", "tip"),
    "gravity as ever": gazebo("<turnGravityOff>false</turnGravityOff><gravity>1</gravity>", "tip"),
    "moved by forces": gazebo("<kinematic>0</kinematic>", "tip") + gazebo("<static>false</static>"),
    "plugin": gazebo('<plugin name="control" filename="libcontrol.so"><mimic/></plugin>'),
    "feedback": gazebo("<provideFeedback>true</provideFeedback>", "j"),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_settings_of_the_simulator_are_ignored(read, case):
    model = read(arm() + SETTINGS[case], strict=True)
    assert model.report.remarks == ()
    told = [line for line in model.report if line.element == "<gazebo>"]
    assert told and all(line.endswith("ignored, settings of a simulator") for line in told)


MIMIC = '<plugin name="{}" filename="{}"><joint>j</joint><mimicJoint>k</mimicJoint></plugin>'
REFUSED = {
    "gravity off": (gazebo("<turnGravityOff>true</turnGravityOff>", "tip"), "gravity acts on all"),
    "as of old": (gazebo('<turnGravityOff value="True"/>', "tip"), "gravity acts on all links"),
    "no gravity": (gazebo("<gravity>false</gravity>", "tip"), "gravity acts on all links alike"),
    "kinematic": (gazebo("<kinematic>1</kinematic>", "tip"), "every link moves by forces here"),
    "static": (gazebo("<static>true</static>"), "the machine moves; base='fixed' holds its root"),
    "mimic": (gazebo(MIMIC.format("m", "libMimicJoint.so")), "a plugin lets joints follow others"),
    "mimic by name": (gazebo(MIMIC.format("mimic_k", "lib.so")), "a plugin lets joints follow"),
    "spring of a link": (
        gazebo("<springStiffness>1</springStiffness>", "tip"),
        "'tip' is no joint",
    ),
    "spring of nothing": (gazebo("<springReference>1</springReference>"), "None is no joint that"),
    "second spring": (
        gazebo("<springStiffness>1</springStiffness>", "j")
        + gazebo("<springStiffness>2</springStiffness>", "j"),
        "joint 'j' has a <springStiffness> already",
    ),
    "old joint": (gazebo("<joint:hinge name='h'/>"), "such a joint is not read, only a <joint> of"),
    "joint in a joint": (gazebo("<joint name='h'/>", "j"), "such a joint is not read, only a <jo"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_honoured_is_refused_by_name(read, case):
    text, said = REFUSED[case]
    body = (arm() + text).replace('"trial"', '"trial" xmlns:joint="j"')
    model = read(body)
    (line,) = model.report.remarks
    assert line.status == "refused" and f": refused: {said}" in line
    number = line.line
    with pytest.raises(pp.ModelError) as caught:
        read(body, strict=True)
    assert f"trial.urdf:{number}: {said}" in str(caught.value)


def test_plugin_for_a_joint_that_has_a_mimic_loses_nothing(read):
    """Old versions of Gazebo did not honour <mimic>, so files say it twice."""
    body = arm() + link("b") + joint("k", "tip", "b", '<mimic joint="j"/>')
    model = read(body + gazebo(MIMIC.format("m", "libmimic.so")), strict=True)
    assert model.report.remarks == ()
    assert model.nq == 1


# -- loops -----------------------------------------------------------------------------

POSE = "<pose>0.1 0.2 0.3 0.4 0.5 0.6</pose>"
AXIS = "<axis><xyz>0 1 0</xyz></axis>"


def loop(inside: str = POSE + AXIS, type: str = "revolute", ends: str = "") -> str:
    ends = ends or "<parent>b</parent><child>c</child>"
    return f'<joint name="loop" type="{type}">{ends}{inside}</joint>'


TREE = (
    link("a") + link("b") + link("c") + link("d")
    + joint("jb", "a", "b", '<origin xyz="1 0 0" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/>')
    + joint("jc", "a", "c", '<origin xyz="0 1 0" rpy="0.3 0 0.7"/><axis xyz="0 0 1"/>')
    + joint("jd", "b", "d", '<origin xyz="0 0 1" rpy="0 0.7 0"/>', "fixed")
)  # fmt: skip

SDF_INERTIA = """<inertial><mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia>
  </inertial>"""
SDF_TREE = """<sdf version="1.9"><model name="trial">
<link name="a">{i}</link>
<link name="b"><pose relative_to="jb"/>{i}</link>
<link name="c"><pose relative_to="jc"/>{i}</link>
<link name="d"><pose relative_to="b">0 0 1 0 0.7 0</pose>{i}</link>
<joint name="seat" type="fixed"><parent>world</parent><child>a</child></joint>
<joint name="jb" type="revolute"><pose relative_to="a">1 0 0 0.1 0.2 0.3</pose>
  <parent>a</parent><child>b</child><axis><xyz>0 1 0</xyz></axis></joint>
<joint name="jc" type="revolute"><pose relative_to="a">0 1 0 0.3 0 0.7</pose>
  <parent>a</parent><child>c</child><axis><xyz>0 0 1</xyz></axis></joint>
<joint name="jd" type="fixed"><parent>b</parent><child>d</child></joint>
{loop}</model></sdf>"""


@pytest.mark.parametrize(
    ("type", "inside", "ends"),
    [
        ("revolute", POSE + AXIS, ""),
        ("continuous", AXIS, ""),
        ("prismatic", POSE.replace("<pose", '<pose relative_to="c"') + AXIS, ""),
        ("ball", POSE, ""),
        ("fixed", "", ""),
        ("revolute", POSE + AXIS, "<parent>d</parent><child>c</child>"),
        ("ball", POSE, "<parent>world</parent><child>c</child>"),
    ],
)
def test_joint_of_sdf_closes_the_loop_that_it_closes_in_sdf(tmp_path, read, type, inside, ends):
    """The reader of SDF, which knows nothing of this one, has the same closure."""
    text = loop(inside, type, ends)
    model = read(TREE + gazebo(text), strict=True)
    (tmp_path / "trial.sdf").write_text(SDF_TREE.format(i=SDF_INERTIA, loop=text))
    (own,), (expected,) = model.closures, pp.load(tmp_path / "trial.sdf").closures
    assert own.kind == expected.kind
    for mine, other in ((own.first, expected.first), (own.second, expected.second)):
        assert mine.link == other.link
        np.testing.assert_allclose(mine.placement.matrix, other.placement.matrix, atol=1e-15)
    assert model.is_closed and model.report.remarks == ()


def test_limits_of_a_loop_are_ignored_and_its_losses_refused(read):
    axis = "<axis><xyz>0 1 0</xyz><limit><lower>0</lower></limit>{}</axis><physics/>"
    text = gazebo(loop(axis.format("<dynamics><damping>0</damping></dynamics>")))
    assert read(TREE + text, strict=True).report.remarks == ()
    model = read(TREE + gazebo(loop(axis.format("<dynamics><damping>2</damping></dynamics>"))))
    (line,) = model.report.remarks
    assert "<dynamics>: refused: joint 'loop' closes a loop, and so is without its damping" in line
    assert len(model.closures) == 1


INCOMPLETE = {
    "type": (loop(type="gearbox"), "joint 'loop' has the type 'gearbox', not read here; valid"),
    "no child": (loop(ends="<parent>a</parent>"), "<joint> has no <child>; add one"),
    "unknown link": (loop(ends="<parent>a</parent><child>x</child>"), "unknown link 'x'; valid"),
    "no axis": (loop(POSE), "<joint> has no <axis>; add one"),
    "no direction": (loop("<axis><xyz>0 0 0</xyz></axis>"), "closure 'loop': the axis"),
    "pose elsewhere": (
        loop('<pose relative_to="a">0 0 0 0 0 0</pose>' + AXIS),
        "the <pose> of joint 'loop' is read relative to its child alone",
    ),
    "axis elsewhere": (
        loop('<axis><xyz expressed_in="a">0 1 0</xyz></axis>'),
        "the <axis> is read in the frame of its joint alone",
    ),
    "axis of old": (
        loop("<axis><xyz>0 1 0</xyz><use_parent_model_frame>1</use_parent_model_frame></axis>"),
        "the <axis> is read in the frame of its joint alone",
    ),
    "name twice": (
        loop() + loop(),
        "closure 'loop': a closure needs a name of its own; give another one",
    ),
}


@pytest.mark.parametrize("case", INCOMPLETE)
def test_joint_that_is_not_complete_is_refused(read, case):
    text, said = INCOMPLETE[case]
    model = read(TREE + gazebo(text))
    assert len(model.closures) == (case == "name twice")
    (line,) = model.report.remarks
    assert line.status == "refused" and said in line
    with pytest.raises(pp.ModelError) as caught:
        read(TREE + gazebo(text), strict=True)
    assert str(caught.value).count("trial.urdf:") == 1 and said in str(caught.value)


def test_loop_among_links_that_carry_each_other_ends_with_the_circle(read):
    body = link("a") + link("b") + joint("j", "a", "b") + joint("k", "b", "a")
    with pytest.raises(pp.ModelError, match="carry each other in a circle"):
        read(body + gazebo(loop(ends="<parent>a</parent><child>b</child>")))


def test_every_element_is_told(tmp_path, read):
    model = read(TREE + gazebo(loop() + "<mu1>1</mu1>") + gazebo("<static>1</static><a/>"))
    text = (tmp_path / "trial.urdf").read_text()
    told = assert_every_element_is_told(text, model.report)
    fates = {element.tag: line.status for element, line in told}
    assert (fates["mu1"], fates["pose"], fates["static"]) == ("ignored", "used", "refused")
    assert isinstance(model.closures[0].kind, joints.Revolute)
