"""Transmissions of URDF files: what a joint has of its motor, worked out by hand."""

from functools import partial

import numpy as np
import pytest
from urdf_text import arm, joint, link, read_text

import phipsi as pp
from phipsi.operators import Jm

GEARED = """<transmission name="t">
<type>transmission_interface/SimpleTransmission</type>
<joint name="j"><hardwareInterface>EffortJointInterface</hardwareInterface>{in_joint}</joint>
<actuator name="m">{in_actuator}</actuator>{in_transmission}
</transmission>"""


@pytest.fixture
def read(tmp_path):
    """read(body, **options): the model of a robot with that body."""
    return partial(read_text, tmp_path)


def geared(in_actuator: str = "", in_joint: str = "", in_transmission: str = "") -> str:
    """A simple transmission of joint j, from line 8 of the file on."""
    return arm() + GEARED.format(
        in_actuator=in_actuator, in_joint=in_joint, in_transmission=in_transmission
    )


def reduction(value: str, tag: str = "mechanicalReduction") -> str:
    return f"<{tag}>{value}</{tag}>"


@pytest.mark.parametrize(
    "place",
    [
        {"in_actuator": reduction("50")},
        {"in_joint": reduction(" 50.0 ", "mechanical_reduction")},
        {"in_transmission": reduction("5e1")},
        {"in_actuator": reduction("50"), "in_joint": reduction("50")},
        {"in_actuator": '<drake:gear_ratio value="50"/>'},
    ],
)
def test_reduction_is_the_gear_ratio_wherever_it_stands(read, place):
    model = read(geared(**place))
    assert (model.joint("j").gear_ratio, model.joint("j").rotor_inertia) == (50.0, 0.0)
    assert model.report.remarks == ()
    assert read(arm()).joint("j").gear_ratio == 1.0


def test_gear_ratio_alone_changes_no_dynamics(read):
    """Without a rotor there is nothing to turn: Jm = 50^2 * 0."""
    q = [0.0]
    assert pp.as_matrix(read(geared(reduction("50"))), Jm, q) == 0.0


def test_rotor_is_felt_through_the_gear(read):
    """Jm = 50^2 * 2e-4 kg m^2 = 0.5 kg m^2, of Drake's two elements."""
    motor = '<drake:rotor_inertia value="2e-4"/><drake:gear_ratio value="-50"/>'
    model = read(geared(motor))
    np.testing.assert_allclose(pp.as_matrix(model, Jm, [0.0]), [[0.5]], rtol=1e-15)
    assert model.report.remarks == ()


def test_rotor_without_a_gear_ratio_turns_with_the_joint(read):
    model = read(geared('<drake:rotor_inertia value="0.3"/>'))
    assert model.joint("j").reflected_inertia == 0.3


def test_transmissions_of_ros2_control_are_read(read):
    """Of the rest of it, nothing concerns motion."""
    control = """<ros2_control name="c" type="system" rw_rate="100"><hardware><plugin>x</plugin>
      <param name="p">1</param></hardware>
      <joint name="j"><command_interface name="velocity"/></joint>
      <transmission name="t"><plugin>transmission_interface/SimpleTransmission</plugin>
      <actuator name="m" role="actuator1"/><joint name="j" role="joint1">
      <offset>0.1</offset><mechanical_reduction>7</mechanical_reduction></joint></transmission>
      </ros2_control>"""
    model = read(arm() + control)
    assert model.joint("j").gear_ratio == 7.0
    assert model.report.remarks == ()
    fates = {line.element: line.status for line in model.report}
    assert (fates["<hardware>"], fates["<transmission 't'>"]) == ("ignored", "used")
    assert (fates["<mechanical_reduction>"], fates["<offset>"]) == ("used", "ignored")


def test_two_reductions_that_differ_are_told(read):
    """The actuator's counts, as in ROS."""
    body = geared(reduction("50"), reduction("2"))
    model = read(body)
    assert model.joint("j").gear_ratio == 50.0
    (line,) = model.report.remarks
    assert line.endswith("<mechanicalReduction>: refused: line 10 has 50, which counts")
    with pytest.raises(pp.ModelError, match=r"trial\.urdf:9: line 10 has 50, which counts; strict"):
        read(body, strict=True)


REFUSED = {
    "several joints": (
        "<transmission><joint name='j'/><joint name='j'/></transmission>",
        "a transmission is not read, only simple ones of one joint are, and this one has 2 joints",
    ),
    "no joint": (
        "<transmission><type>SimpleTransmission</type></transmission>",
        "a SimpleTransmission is not read, only simple ones of one joint are, and this one has 0",
    ),
    "differential": (
        "<transmission><type>x/DifferentialTransmission</type><joint name='j'/></transmission>",
        "a DifferentialTransmission is not read, only simple ones of one joint are",
    ),
    "of the PR2": (
        "<transmission type='WristTransmission'><flexJoint name='j'/></transmission>",
        "a WristTransmission is not read, only simple ones of one joint are",
    ),
    "unknown joint": (
        "<transmission><joint name='jj'/></transmission>",
        "unknown joint 'jj'; did you mean 'j'? Valid names: 'j'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_transmissions_that_cannot_be_honoured_are_told_and_the_machine_loads(read, case):
    """Without rotors they move nothing, and are not refused."""
    body, said = REFUSED[case]
    for strict in (False, True):
        model = read(arm() + body, strict=strict)
        assert model.joint("j").gear_ratio == 1.0
        (line,) = model.report.remarks
        assert (line.status, line.line) == ("ignored", 7)
        assert said in line and line.endswith("; it has no rotor inertia, so it moves nothing")


@pytest.mark.parametrize("case", REFUSED)
def test_transmissions_with_rotors_that_cannot_be_honoured_are_refused(read, case):
    body, said = REFUSED[case]
    rotor = '<actuator name="m"><drake:rotor_inertia value="1e-4"/></actuator></transmission>'
    body = body.replace("</transmission>", rotor)
    model = read(arm() + body)
    (line,) = model.report.remarks
    assert (line.status, line.line) == ("refused", 7)
    assert said in line
    with pytest.raises(pp.ModelError) as caught:
        read(arm() + body, strict=True)
    assert said in str(caught.value)


def test_second_transmission_of_a_joint_is_refused_and_the_first_counts(read):
    body = geared(reduction("50")) + GEARED.format(
        in_actuator=reduction("60"), in_joint="", in_transmission=""
    )
    model = read(body)
    assert model.joint("j").gear_ratio == 50.0
    (line,) = model.report.remarks
    assert "joint 'j' has the transmission of line 7 already" in line


@pytest.mark.parametrize("type", ["fixed", "floating", "planar"])
def test_motors_of_joints_that_no_motor_turns_are_ignored(read, type):
    """Files in which a joint has been fixed keep its motor; it says nothing any more."""
    body = link("base") + link("tip") + joint("j", "base", "tip", '<axis xyz="0 0 1"/>', type)
    model = read(body + GEARED.format(in_actuator=reduction("9"), in_joint="", in_transmission=""))
    assert model.report.remarks == ()
    (line,) = [line for line in model.report if line.element == "<transmission 't'>"]
    assert line.endswith("ignored, joint 'j' does not turn or slide")
    rotor = '<drake:rotor_inertia value="1"/>'
    model = read(body + GEARED.format(in_actuator=rotor, in_joint="", in_transmission=""))
    (line,) = model.report.refused[:1]
    assert line.endswith("<transmission 't'>: refused: joint 'j' does not turn or slide")


@pytest.mark.parametrize(
    ("motor", "said"),
    [
        (reduction("0"), "<mechanicalReduction> is 0; give the motor turns per joint turn"),
        ('<drake:gear_ratio value="0"/>', "<drake:gear_ratio> is 0; give the motor turns per"),
        (reduction("many"), "<mechanicalReduction>many</mechanicalReduction>: expected one number"),
        (reduction("1 2"), "<mechanicalReduction>1 2</mechanicalReduction>: expected one number"),
        (reduction("inf"), "expected finite numbers of sensible size"),
        (reduction(""), "<mechanicalReduction> is empty"),
        ('<drake:rotor_inertia value="-1"/>', "the rotor inertia is -1 kg m^2; it must not be"),
        ("<drake:rotor_inertia/>", '<drake:rotor_inertia> needs a value="..."'),
    ],
)
def test_numbers_that_are_none_are_refused_with_their_line(read, motor, said):
    """The machine loads without that motor."""
    model = read(geared(motor))
    assert (model.joint("j").gear_ratio, model.joint("j").rotor_inertia) == (1.0, 0.0)
    (line,) = model.report.remarks
    assert line.status == "refused" and line.element == "<transmission 't'>"
    assert said in line and "refused: line 10: " in line
    with pytest.raises(pp.ModelError) as caught:
        read(geared(motor), strict=True)
    assert "trial.urdf:10: " in str(caught.value)
    assert said in str(caught.value) and str(caught.value).endswith("; strict=False leaves it out")


BROKEN = {
    "two actuators": (
        "<joint name='j'/><actuator name='a'/>\n<actuator name='b'/>",
        "line 8: a second <actuator> in <transmission>, the first is in line 7",
    ),
    "no name": ("<joint/>", '<joint> needs a name="..."'),
    "fraction": (
        "<joint name='j'/><actuator name='a'>" + reduction("1/50") + "</actuator>",
        "<mechanicalReduction>1/50</mechanicalReduction>: expected one number",
    ),
    "rotor of a differential": (
        "<type>DifferentialTransmission</type><joint name='j'/><actuator name='a'>"
        "<drake:rotor_inertia value='bad'/></actuator>",
        '<drake:rotor_inertia value="bad">: expected one number',
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_transmission_is_refused_and_the_next_one_counts(read, case):
    inside, said = BROKEN[case]
    broken = f"<transmission>{inside}</transmission>\n"
    model = read(arm() + broken + geared(reduction("50")).removeprefix(arm()))
    assert model.joint("j").gear_ratio == 50.0
    (line,) = model.report.remarks
    assert line.status == "refused" and said in line
    with pytest.raises(pp.ModelError) as caught:
        read(arm() + broken, strict=True)
    assert said.removeprefix("line 8: ") in str(caught.value)
