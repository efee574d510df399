"""What became of every element of an SDF file: used, merged, ignored, refused, or unknown."""

from functools import partial

import pytest
from sdf_text import SOLID, arm, joint, link, read_text, write

import phipsi as pp
from phipsi.model.files.load import load

ModelError = pp.errors.ModelError


@pytest.fixture
def read(tmp_path):
    """read(body, version, **options): the model called trial with that body, from line 3 on."""
    return partial(read_text, tmp_path)


def test_every_element_has_a_line_and_what_is_unknown_is_told(read):
    text = link("a", SOLID + "<sensor name='s'><update_rate>5</update_rate></sensor><tail/>")
    text += "<plugin name='p' filename='x.so'><speed>3</speed></plugin>"
    report = read(text).report
    assert len(report) == 14
    assert report.counts == {"used": 9, "ignored": 5}
    (remark,) = report.remarks
    assert all(word in remark for word in ("<tail> is unknown", "ignored", "in <link 'a'>"))
    reasons = {line.element: str(line) for line in report.ignored}
    assert "code of a simulator" in reasons["<plugin 'p'>"]
    assert "it moves nothing" in reasons["<sensor 's'>"]


UNKNOWN = {
    "in a link": (link("a", SOLID + "<inertal/>"), "<inertal>"),
    "in a joint": (arm("<axxis/>"), "<axxis>"),
    "in an axis": (arm("<axis><xyz>0 0 1</xyz><dynamic/></axis>"), "<dynamic>"),
    "in a limit": (arm("<axis><xyz>0 0 1</xyz><limit><low>1</low></limit></axis>"), "<low>"),
    "in an inertia": (link("a", "<inertial><inertia><Ixx>1</Ixx></inertia></inertial>"), "<Ixx>"),
    "at a pose": (
        link("a", SOLID + "<pose relative='b'>0 0 0 0 0 0</pose>"),
        "the attribute 'relative' of <pose>",
    ),
    "at an inertial's pose": (
        link("a", "<inertial><pose relative_to='b'>0 0 0 0 0 0</pose></inertial>"),
        "the attribute 'relative_to' of <pose>",
    ),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_is_unknown_where_it_may_concern_motion_is_strictly_refused(read, case):
    body, what = UNKNOWN[case]
    (remark,) = read(body).report.remarks
    assert f"{what} is unknown" in remark and remark.status == "ignored"
    with pytest.raises(ModelError, match=rf"trial.sdf:\d+: {what} is unknown.*may concern motion"):
        read(body, strict=True)


def test_what_is_unknown_elsewhere_is_not_refused(read, tmp_path):
    looks = '<visual name="v"><geometry><sphere><radius>1</radius><r/></sphere></geometry></visual>'
    assert len(read(link("a", SOLID + looks), strict=True).report.remarks) == 1
    world = f'<world name="w"><maker:weather/><model name="m">{link("l")}</model></world>'
    assert len(load(write(tmp_path, world), strict=True).report.remarks) == 1


def test_nor_in_a_file_that_is_included(read, tmp_path):
    write(tmp_path, f'<model name="m">{link("l")}<jiont/></model>', name="m.sdf")
    with pytest.raises(ModelError, match=r"m.sdf:4: <jiont> is unknown"):
        read("<include><uri>m.sdf</uri></include>", strict=True)


def test_frames_that_never_had_a_meaning_are_known(read):
    frame = "<frame name='f'><pose>0 0 0 0 0 0</pose></frame>"
    body = link("a", SOLID + frame) + link("b") + joint("j", "a", "b", frame)
    report = read(body, "1.6", strict=True).report
    assert not report.remarks
    assert sum("it never had a meaning" in line for line in report.ignored) == 2


def test_what_is_welded_is_merged(read):
    report = read(arm() + link("tool") + joint("weld", "tip", "tool", type="fixed")).report
    merged = {line.element: str(line) for line in report.merged}
    assert "into body 'tip'" in merged["<link 'tool'>"]
    assert "into the world" in merged["<link 'base'>"]
    assert "'tool' is welded to body 'tip'" in merged["<joint 'weld'>"]


AUTO = link("a", '<inertial auto="true"/><collision name="v"><geometry>{}</geometry></collision>')
FOLLOW = "<axis><xyz>0 0 1</xyz><mimic joint='{}'/></axis>"
THREE = link("a") + link("b") + link("c") + joint("ab", "a", "b")


def gearbox(parent: str, child: str, second: str = "0 0 1") -> str:
    inside = "<gearbox_reference_body>a</gearbox_reference_body><axis><xyz>0 0 1</xyz></axis>"
    inside += f"<axis2><xyz>{second}</xyz></axis2>"
    return joint("box", parent, child, inside, "gearbox")


REFUSED = {
    "kinematic": (link("a", SOLID + "<kinematic>1</kinematic>"), "moves by forces here"),
    "decay": (
        link("a", SOLID + "<velocity_decay><linear>0.1</linear></velocity_decay>"),
        "does not decay here",
    ),
    "fluid": (
        link("a", "<inertial><fluid_added_mass><xx>1</xx></fluid_added_mass></inertial>"),
        "moves in no fluid here",
    ),
    "auto inertia of a mesh": (
        AUTO.format("<mesh><uri>a.stl</uri></mesh>"),
        "the inertia of <collision 'v'>, a mesh, is not computed; give <mass> and <inertia>",
    ),
    "auto inertia of a plane": (
        AUTO.format("<plane/>"),
        "the inertia of <collision 'v'> is not computed",
    ),
    "auto inertia of nothing": (link("a", '<inertial auto="true"/>'), "needs a <collision>"),
    "gearbox on no axis": (
        THREE + joint("ac", "a", "c", type="ball") + gearbox("b", "c"),
        "gearbox 'box' is left out: it needs that 'b' and 'c' turn on 'a' about its axes",
    ),
    "gearbox across": (
        THREE + joint("ac", "a", "c") + gearbox("b", "c", "1 0 0"),
        "gearbox 'box' is left out",
    ),
    "mimic of a loop": (
        link("a") + link("b") + joint("ab", "a", "b", FOLLOW.format("ba")) + joint("ba", "b", "a"),
        "joint 'ab' cannot follow another: what it follows closes a loop",
    ),
    "mimic by a loop": (
        link("a") + link("b") + joint("ab", "a", "b") + joint("ba", "b", "a", FOLLOW.format("ab")),
        "joint 'ba' cannot follow another: it closes a loop",
    ),
    "two masters": (
        THREE
        + joint("ac", "a", "c", FOLLOW.format("ab"))
        + link("d")
        + joint("ad", "a", "d", FOLLOW.format("ab"))
        + gearbox("c", "d"),
        "joint 'ad' already follows another, by line",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_honoured_is_refused_by_name(read, case):
    body, text = REFUSED[case]
    lines = [line for line in read(body).report.refused if line.notable]
    assert len(lines) == 1
    assert text in lines[0]
    with pytest.raises(ModelError, match=r"trial.sdf:[0-9]+: .*; strict=False leaves it out"):
        read(body, strict=True)


def test_what_says_nothing_is_not_refused(read):
    body = link(
        "a", SOLID + "<kinematic>0</kinematic><velocity_decay><linear>0</linear></velocity_decay>"
    )
    assert not read(body).report.remarks
    fluid = "<inertial><mass>1</mass><fluid_added_mass><xx>0</xx></fluid_added_mass></inertial>"
    assert not read(link("a", fluid)).report.remarks


def test_a_ball_has_no_axis_and_a_hinge_no_thread(read):
    inside = "<axis><xyz>0 0 1</xyz></axis><thread_pitch>1</thread_pitch>"
    report = read(link("a") + link("b") + joint("j", "a", "b", inside, "ball")).report
    assert not report.remarks
    told = [str(line) for line in report.ignored]
    assert any("<axis>: ignored, a ball joint has none" in text for text in told)
    assert any("<thread_pitch>: ignored, a ball joint has none" in text for text in told)
    damped = inside.replace("</xyz>", "</xyz><dynamics><damping>0.1</damping></dynamics>")
    report = read(link("a") + link("b") + joint("j", "a", "b", damped, "ball"), strict=True).report
    assert "joint 'j' is a ball, and has no axis for <dynamics>" in report.remarks[0]
