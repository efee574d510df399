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
    "seen": gazebo('<sensor name="eye"><pose>0 0 1 0 0 0</pose><link/></sensor>', "tip"),
    "of old": gazebo('<sensor:camera name="c"><axis/></sensor:camera><controller:imu/>', "tip"),
    "fixed joint": gazebo("<preserveFixedJoint>true</preserveFixedJoint>", "j"),
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
    "spring of no number": (
        gazebo("<springStiffness/>", "j"),
        "<springStiffness> is empty; write <springStiffness>...</springStiffness>",
    ),
    "spring of a bad number": (
        gazebo('<springReference value="here"/>', "j"),
        '<springReference value="here">: expected one number',
    ),
    "damping of a link": (
        gazebo("<dampingFactor>0.5</dampingFactor>", "tip"),
        "links are not damp",
    ),
    "decay": (
        gazebo("<velocity_decay><linear>1</linear></velocity_decay>", "tip"),
        "links are not",
    ),
    "mass": (gazebo("<inertial><mass>9</mass></inertial>", "tip"), "<inertial> is read outside of"),
    "dynamics": (
        gazebo("<axis><dynamics><damping>3</damping></dynamics></axis>", "j"),
        "<axis> is read outside of <gazebo> alone",
    ),
    "placed": (gazebo("<pose>0 0 3 0 0 0</pose>"), "the root is at the world's origin, and every"),
    "link": (gazebo('<link name="extra"/>'), "<link> is read outside of <gazebo> alone"),
    "model": (gazebo('<model name="extra"/>'), "<model> is read outside of <gazebo> alone"),
    "static of old": (gazebo("<setStaticFlag>true</setStaticFlag>"), "the machine moves; base="),
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
    body = body.replace('<mimic joint="j"/>', '<mimic joint="j" multiplier="-2" offset="0.5"/>')
    told = "<multiplier> -2.0 </multiplier><offset>5e-1</offset></plugin>"
    plugin = MIMIC.format("m", "libmimic.so").replace("</plugin>", told)
    assert read(body + gazebo(plugin), strict=True).report.remarks == ()


OTHERWISE = {
    "another leader": ("<joint>k</joint><mimicJoint>k</mimicJoint>", "'k' follows otherwise by"),
    "multiplier": (
        "<joint>j</joint><mimicJoint>k</mimicJoint><multiplier>-5</multiplier>",
        "'k' follows otherwise by its <mimic>, in line 9",
    ),
    "no number": (
        "<joint>j</joint><mimicJoint>k</mimicJoint><multiplier>two</multiplier>",
        "'k' follows otherwise by its <mimic>, in line 9",
    ),
    "offset": (
        "<joint>j</joint><mimicJoint>k</mimicJoint><offset>0.1</offset>",
        "'k' follows otherwise by its <mimic>, in line 9",
    ),
    "a second follower": (
        "<joint>j</joint><mimicJoint>k</mimicJoint><mimicJoint>j</mimicJoint>",
        "give 'j' a <mimic>",
    ),
    "an unknown follower": ("<joint>j</joint><mimicJoint>x</mimicJoint>", "give 'x' a <mimic>"),
    "none": ("<joint>j</joint>", "give them a <mimic>"),
}


@pytest.mark.parametrize("case", OTHERWISE)
def test_plugin_that_tells_more_than_the_mimic_is_refused(read, case):
    inside, said = OTHERWISE[case]
    body = arm() + link("b") + joint("k", "tip", "b", '<mimic joint="j"/>')
    body += gazebo(f'<plugin name="m" filename="libmimic.so">{inside}</plugin>')
    (line,) = read(body).report.remarks
    assert line.status == "refused" and said in line
    with pytest.raises(pp.ModelError, match=r"trial\.urdf:10: a plugin lets joints follow others"):
        read(body, strict=True)


# -- what nobody knows -----------------------------------------------------------------


@pytest.mark.parametrize("reference", [None, "tip", "j"])
@pytest.mark.parametrize("around", ["", "<mu1>1</mu1>", "<springStiffness>1</springStiffness>"])
def test_what_is_unknown_is_told_and_refused_when_strict(read, around, reference):
    """Whatever stands beside it: a typing error in a spring, a word of another simulator."""
    if "spring" in around and reference != "j":
        around = "<material>Red</material>"
    body = arm() + gazebo(around + '<springStifness>1</springStifness><frame name="f"/>', reference)
    lines = read(body).report.remarks
    assert [line.split(": ", 1)[1] for line in lines] == [
        "<springStifness> is unknown and ignored in <gazebo>",
        "<frame 'f'> is unknown and ignored in <gazebo>",
    ]
    assert {line.status for line in lines} == {"ignored"}
    with pytest.raises(pp.ModelError, match=r":7: <springStifness> is unknown in <gazebo>, where"):
        read(body, strict=True)


def test_where_a_joint_starts_is_a_remark(read):
    text = gazebo("<initial_joint_position>0.3</initial_joint_position>", "j")
    (line,) = read(arm() + text, strict=True).report.remarks
    assert line.status == "ignored" and "joint 'j' starts at 0.3 there; here it starts" in line


@pytest.mark.parametrize("reference", ["", " "])
def test_reference_to_nothing_is_none(read, reference):
    assert len(read(TREE + gazebo(loop(), reference), strict=True).closures) == 1


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


OF_AXIS = {
    "limits": "<limit><lower>-1</lower><upper>1</upper><effort>5</effort></limit>",
    "no limits": "<limit><lower>-1e16</lower><upper>inf</upper><stiffness>1</stiffness></limit>",
    "losses": "<dynamics><damping>2</damping><friction>0</friction></dynamics>",
    "spring": """<limit><velocity>1</velocity></limit><dynamics><spring_reference>1
      </spring_reference><spring_stiffness>3</spring_stiffness></dynamics>""",
    "no losses": "<dynamics><damping>0</damping><spring_reference>1</spring_reference></dynamics>",
    "start": "<initial_position>0.5</initial_position>",
}


@pytest.mark.parametrize("case", OF_AXIS)
def test_loop_is_without_what_it_is_without_in_sdf(tmp_path, read, case):
    text = loop(f"<axis><xyz>0 1 0</xyz>{OF_AXIS[case]}</axis><physics/>")
    model = read(TREE + gazebo(text))
    (tmp_path / "trial.sdf").write_text(SDF_TREE.format(i=SDF_INERTIA, loop=text))
    own, expected = (
        [(line.status, line.split(": ", 1)[1]) for line in each.report.remarks]
        for each in (model, pp.load(tmp_path / "trial.sdf"))
    )
    assert own == expected
    assert [status for status, _ in own] == {
        **{"limits": ["ignored"], "losses": ["refused"], "spring": ["ignored", "refused"]},
        "start": ["ignored"],
    }.get(case, [])
    assert len(model.closures) == 1
    if "refused" in dict(own):
        with pytest.raises(pp.ModelError, match="joint 'loop' closes a loop, and so is without"):
            read(TREE + gazebo(text), strict=True)


MISTAKEN = {
    "pose": (
        '<pose relativ_to="a">1 0 0 0 0 0</pose>' + AXIS,
        "the attribute 'relativ_to' of <pos",
    ),
    "part": ("<psoe>1 0 0 0 0 0</psoe>" + AXIS, "<psoe> is unknown in <joint 'loop'>"),
    "axis": ("<axis><xyz>0 1 0</xyz><dinamics/></axis>", "<dinamics> is unknown in <axis>"),
    "xyz": ('<axis><xyz in="a">0 1 0</xyz></axis>', "the attribute 'in' of <xyz> is unknown"),
    "limit": (
        "<axis><xyz>0 1 0</xyz><limit><lowr/></limit></axis>",
        "<lowr> is unknown in <limit>",
    ),
    "dynamics": (
        "<axis><xyz>0 1 0</xyz><dynamics><dampin>1</dampin></dynamics></axis>",
        "<dampin> is unknown in <dynamics>",
    ),
}


@pytest.mark.parametrize("case", MISTAKEN)
def test_what_is_unknown_in_a_loop_is_refused_when_strict(read, case):
    inside, said = MISTAKEN[case]
    (line,) = read(TREE + gazebo(loop(inside))).report.remarks
    assert "is unknown and ignored" in line
    with pytest.raises(pp.ModelError) as caught:
        read(TREE + gazebo(loop(inside)), strict=True)
    assert said in str(caught.value)


def test_what_is_unknown_in_a_spring_is_refused_when_strict(read):
    body = arm() + gazebo('<springStiffness unit="N m">3</springStiffness>', "j")
    assert read(body).joint("j").stiffness == 3.0
    with pytest.raises(pp.ModelError, match="the attribute 'unit' of <springStiffness> is unknown"):
        read(body, strict=True)


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
