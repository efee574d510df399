"""What is odd about the inertias of real robots, beside their shapes."""

import numpy as np
import pytest
from peers.robots import FILES, FOLDER, REFUSED

import phipsi as pp
from phipsi.model.plausibility import joint_remarks, mesh_remarks, shape_remarks
from phipsi.view.meshes import read_mesh

# Placeholders: one number for all moments, of bodies that the file draws as small boxes and rods.
ODD = {
    "double_pendulum_description/urdf/double_pendulum_simple.urdf": {"link2"},
    "tiago_description/robots/tiago.urdf": {"virtual"},
    "tiago_description/robots/tiago_dual.urdf": {"virtual"},
}


@pytest.mark.parametrize("file", [file for file in FILES if file not in REFUSED])
def test_false_alarms_are_rare(file):
    model = pp.load(FOLDER / file)
    found = shape_remarks(model)
    assert all(any(part in remark for part in ODD.get(file, ())) for remark in found)
    assert bool(found) == (file in ODD)
    assert joint_remarks(model) == []
    assert all(remark in model.report.implausible for remark in found)
    lines = (FOLDER / file).read_text(encoding="utf-8").splitlines()
    assert all("<inertial" in lines[remark.line - 1] for remark in found)


def extents(path):
    vertices = np.concatenate([part.vertices for part in read_mesh(path)])
    return vertices.min(axis=0), vertices.max(axis=0)


@pytest.mark.parametrize(
    ("file", "odd"),
    [
        # 0.11 kg m^2 and more for 1.2 kg in a wrist of 0.16 m, where 0.002 would fill it
        ("ur5_robot.urdf", ["wrist_1_link", "wrist_2_link", "wrist_3_link"]),
        ("ur10_robot.urdf", []),
    ],
)
def test_meshes_tell_of_the_wrists_of_a_robot(file, odd):
    model = pp.load(FOLDER / "ur_description/urdf" / file)
    found = mesh_remarks(model, extents)
    assert [remark.split("'")[1] for remark in found] == odd
    assert shape_remarks(model) == []
