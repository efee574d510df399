"""Rotations by quaternions, as Pinocchio's reader of URDF has them in each version."""

import numpy as np
import pinocchio as pin
import pytest
from urdf_text import SOLID

import phipsi as pp

TEXT = """<robot name="trial"{version}>
<link name="base">{solid}</link>
<link name="tip">{moved}</link>
<joint name="j" type="continuous"><parent link="base"/><child link="tip"/>
  <origin xyz="1 2 3" quat_xyzw="0.1 -0.7 0.3 1.2"/><axis xyz="0 1 0"/></joint>
</robot>"""


@pytest.mark.parametrize("version", ["", ' version="1.0"', ' version="1.1"'])
def test_quaternions_turn_joints_and_inertias_as_in_pinocchio(version, tmp_path):
    moments = SOLID.replace('iyy="1"', 'iyy="1.5"').replace('ixy="0"', 'ixy="0.2"')
    moved = moments.replace("<mass", '<origin xyz="0 0 1" quat_xyzw="0 0 1 2"/><mass')
    text = TEXT.format(version=version, solid=SOLID, moved=moved)
    file = tmp_path / "trial.urdf"
    file.write_text(text)
    model = pp.load(file)
    try:
        peer = pin.buildModelFromXML(text)
    except ValueError:
        pytest.skip("this Pinocchio comes with a urdfdom that knows version 1.0 alone")
    placement = model.joint("j").placement
    np.testing.assert_allclose(placement.matrix, peer.jointPlacements[1].homogeneous, atol=1e-14)
    inertia, expected = model.bodies[0].inertia, peer.inertias[1]
    np.testing.assert_allclose(inertia.com, expected.lever, atol=1e-14)
    np.testing.assert_allclose(inertia.rotational, expected.inertia, atol=1e-14)
    assert len(model.report.remarks) == (0 if "1.1" in version else 2)
