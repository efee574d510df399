"""What motors of MuJoCo's models can do, and equalities that say the same twice."""

import mujoco
import numpy as np
import pytest

import phipsi as pp
from phipsi.model.peers.mujoco.reach import reached_otherwise

ARM = """
<mujoco>
  <worldbody>
    <site name="wall" pos="1 0 0.3"/>
    <body name="upper">
      <joint name="shoulder" axis="0 1 0"/> <geom size="0.1" pos="1 0 0"/>
      <site name="high" pos="0.2 0.1 0.3"/>
      <geom name="post" type="cylinder" size="0.01 2" pos="0.5 0.5 0"/>
      <body name="lower" pos="0.7 0 0">
        <joint name="elbow" axis="0 1 0.3"/> <geom size="0.1" pos="1 0 0"/>
        <site name="low" pos="0.3 0.2 0.1"/>
        <body name="hand" pos="0.3 0 0.1">
          <joint name="wrist" axis="0 0 1"/> <geom size="0.1" pos="1 0 0"/>
          <site name="tip" pos="0.2 0 0"/>
        </body>
      </body>
    </body>
    <body name="other"> <joint name="other"/> <geom size="0.1" pos="1 1 0"/> </body>
  </worldbody>
  <tendon>
    <fixed name="sum"> <joint joint="shoulder" coef="2"/> <joint joint="wrist" coef="0"/> </fixed>
    <spatial name="rope">
      <site site="high"/> <geom geom="post"/> <site site="low"/> <pulley divisor="2"/>
      <site site="high"/> <site site="tip"/>
    </spatial>
  </tendon>
  <actuator> %s </actuator>
</mujoco>
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """MuJoCo leaves its warnings in a file where it runs."""
    monkeypatch.chdir(tmp_path)


def arm(*motors):
    return mujoco.MjModel.from_xml_string(ARM % " ".join(motors))


@pytest.mark.parametrize(
    ("motor", "expected"),
    [
        ('<motor tendon="sum" gear="100"/>', ["shoulder"]),
        ('<motor tendon="rope"/>', ["elbow", "wrist"]),
        ('<motor site="low" gear="0 0 1 0 1 0"/>', ["shoulder", "elbow"]),
        ('<motor site="tip" refsite="high" gear="1 2 3 4 5 6"/>', ["elbow", "wrist"]),
        (
            '<general cranksite="wall" slidersite="tip" cranklength="3"/>',
            ["shoulder", "elbow", "wrist"],
        ),
        ('<motor joint="elbow"/>', []),
        ('<motor tendon="sum" gear="0"/>', []),
    ],
)
def test_joints_that_motors_reach_are_those_that_mujoco_moves(motor, expected):
    peer = arm(motor)
    found = [peer.joint(j).name for j in sorted(reached_otherwise(peer))]
    assert found == expected
    if 'joint="elbow"' not in motor:
        data = mujoco.MjData(peer)
        data.qpos, data.ctrl = (0.3, 0.4, 0.2, 0.1), 1.0
        mujoco.mj_forward(peer, data)
        moved = np.flatnonzero(np.abs(data.qfrc_actuator) > 1e-9)
        assert [peer.joint(j).name for j in moved] == expected  # each has one speed


OWN = '<motor joint="shoulder" gear="3" ctrllimited="true" ctrlrange="-1 1"/>'


def test_a_motor_on_a_tendon_makes_that_of_the_joint_no_limit():
    model = pp.from_mujoco(arm(OWN, '<motor tendon="sum" gear="100"/>'))
    assert model.joint("shoulder").limits.effort == np.inf
    (line,) = model.report.remarks
    assert line.startswith("joint 'shoulder' is also moved by a motor on a tendon or a site")
    idle = '<general tendon="sum" ctrllimited="true" ctrlrange="0 1" gainprm="0"/>'
    for others in ((), ('<motor tendon="rope"/>',), (idle,)):
        model = pp.from_mujoco(arm(OWN, *others))
        assert model.joint("shoulder").limits.effort == 3.0
        assert not model.report.remarks


@pytest.mark.parametrize(
    ("motors", "effort", "one_way"),
    [
        (['gear="5" ctrlrange="0 1"'], 5.0, True),
        (['gear="-5" ctrlrange="0 1"'], 5.0, True),
        (['gear="5" ctrlrange="0 1"', 'gear="-4" ctrlrange="0 1"'], 5.0, False),
        (['gear="5" ctrlrange="-1 2" forcelimited="true" forcerange="-1 1.5"'], 7.5, False),
        (['gear="0" ctrlrange="0 1"'], 0.0, False),
    ],
)
def test_motors_may_push_one_way_alone(motors, effort, one_way):
    peer = arm(*(f'<motor joint="elbow" ctrllimited="true" {x}/>' for x in motors))
    model = pp.from_mujoco(peer)
    assert model.joint("elbow").limits.effort == pytest.approx(effort)
    found = [line for line in model.report.remarks if "'elbow': its motors give from" in line]
    assert len(found) == one_way
    data, forces = mujoco.MjData(peer), []
    for ends in np.ndindex(*(2 for _ in motors)):
        data.ctrl = [peer.actuator_ctrlrange[k, end] for k, end in enumerate(ends)]
        mujoco.mj_forward(peer, data)
        forces.append(data.qfrc_actuator[1])
    assert max(np.abs(forces)) == pytest.approx(effort)


TIE = '<joint name="{}" joint1="elbow" joint2="wrist" polycoef="{} 0 0 0"/>'


@pytest.mark.parametrize(("again", "couplings"), [("0.1 2", 0), ("0.1 2.5", 1), ("0 2", 1)])
def test_an_equality_that_says_the_same_again_is_left_out(again, couplings):
    ties = TIE.format("first", "0.1 2") + TIE.format("second", again)
    text = (ARM % "").replace("<tendon>", f"<equality> {ties} </equality> <tendon>")
    model = pp.from_mujoco(mujoco.MjModel.from_xml_string(text))
    assert model.joint("elbow").mimic.ratio == 2.0
    assert len(model.couplings) == couplings
    told = [line for line in model.report.remarks if "equality 'second' says again" in line]
    assert len(told) == 1 - couplings
