"""The reports of example-robot-data's files: every element, at its line, with a fate that fits."""

import pytest
from peers.robots import FILES, FOLDER, REFUSED
from report_lines import assert_every_element_is_told

import phipsi as pp

FATES = {
    "link": {"used", "merged"},
    "inertial": {"used", "merged"},
    "mass": {"used", "merged"},
    "parent": {"used", "merged", "ignored"},  # the last in <gazebo>
    "turnGravityOff": {"refused"},
    "visual": {"kept", "refused", "ignored"},
    "collision": {"kept", "refused", "ignored"},
    "gazebo": {"ignored", "used"},  # where something in it concerns motion
    "calibration": {"ignored"},
    "transmission": {"used", "ignored"},
    "hardwareInterface": {"ignored"},
    "mimic": {"used", "ignored"},
    "mu1": {"ignored"},
    "plugin": {"ignored", "used"},  # the last of a transmission, which has its kind so
    "initial_joint_position": {"ignored"},
    "kinematic": {"ignored"},  # all are false
}


@pytest.mark.parametrize("file", [file for file in FILES if file not in REFUSED])
def test_every_element_is_told_once_with_its_line_and_fate(file):
    text = (FOLDER / file).read_text()
    model = pp.load(FOLDER / file)
    assert not [line for line in model.report.remarks if "unknown and ignored in <gazebo" in line]
    links = 0
    for element, line in assert_every_element_is_told(text, model.report):
        assert line.status in FATES.get(element.tag, {line.status})
        links += element.tag == "link" and line.status in ("used", "merged")
    merged = sum(line.status == "merged" for line in model.report if "<link " in line.element)
    assert merged == len(model.frames)
    assert links - merged in (len(model.bodies), len(model.bodies) + 1)  # the world, if it is one
