"""What the flags of a MuJoCo model switch off is off here, too: beside MuJoCo's own forces."""

import mujoco
import numpy as np
import pytest

import phipsi as pp
from phipsi.simulate.springs import Springs

MACHINE = """
<mujoco>
  <compiler angle="radian"/>
  <option gravity="0 0 -9" density="%s"> <flag %s/> </option>
  <worldbody>
    <body name="arm" %s>
      <joint name="turn" axis="0 1 0" stiffness="3" springref="0.4" damping="2" frictionloss="0.5"
             range="-0.1 0.1" actuatorfrcrange="-50 50"/>
      <geom size="0.1" pos="0.3 0 0"/>
    </body>
    <body name="other"> <joint name="other" axis="0 1 0"/> <geom size="0.1" pos="0.1 0 0"/> </body>
  </worldbody>
  <equality> <joint name="tie" joint1="other" joint2="turn"/> </equality>
  <actuator>
    <motor joint="turn" gear="3" ctrllimited="true" ctrlrange="-2 2" damping="1" group="4"/>
  </actuator>
</mujoco>
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """MuJoCo leaves its warnings in a file where it runs."""
    monkeypatch.chdir(tmp_path)


def machine(*off: str, density: float = 0.0, body: str = "") -> mujoco.MjModel:
    flags = " ".join(f'{name}="disable"' for name in off)
    return mujoco.MjModel.from_xml_string(MACHINE % (density, flags, body))


def forces(peer: mujoco.MjModel) -> mujoco.MjData:
    """Of MuJoCo, beyond a limit, moving, with a motor that pulls as it can."""
    data = mujoco.MjData(peer)
    data.qpos[0], data.qvel[0], data.ctrl[0] = 0.3, 1.5, 100.0
    mujoco.mj_forward(peer, data)
    return data


FLAGS = (
    (),
    ("spring",),
    ("damper",),
    ("spring", "damper"),
    ("frictionloss",),
    ("limit",),
    ("gravity",),
    ("equality",),
    ("constraint",),
    ("clampctrl",),
    ("actuation",),
)


@pytest.mark.parametrize("off", FLAGS, ids=" ".join)
def test_what_is_switched_off_in_mujoco_is_off_here(off):
    peer = machine(*off)
    data, model = forces(peer), pp.from_mujoco(peer)
    turn = model.joint("turn")
    q, v = model.from_mujoco(data.qpos, data.qvel)
    k = turn.v.start
    assert Springs(model).force(q)[k] == pytest.approx(data.qfrc_spring[0])
    assert -turn.damping * v[k] == pytest.approx(data.qfrc_damper[0])
    kinds = {int(kind) for kind in data.efc_type}
    assert (turn.friction > 0.0) == (int(mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF) in kinds)
    assert np.isfinite(turn.limits.upper) == (
        int(mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT) in kinds
    )
    assert model.has_mimics == (int(mujoco.mjtConstraint.mjCNSTR_EQUALITY) in kinds)
    assert (model.gravity == (0.0, 0.0, 0.0)) == (np.abs(data.qfrc_bias).max() < 1e-12)
    assert turn.limits.effort == pytest.approx(data.qfrc_actuator[0])


@pytest.mark.parametrize(
    ("off", "told"),
    [
        ((), []),
        (("spring",), ["stiffness"]),
        (("damper",), ["damping"]),
        (("frictionloss",), ["friction"]),
        (("limit",), ["limits of position"]),
        (("gravity",), ["gravity"]),
        (("constraint",), ["friction", "limits of position"]),
        (("clampctrl",), ["limits of control"]),
        (("contact", "midphase"), []),
    ],
)
def test_what_is_switched_off_is_told(off, told):
    report = pp.from_mujoco(machine(*off)).report
    expected = [f"{what}: switched off by a flag of the model, and left out" for what in told]
    assert [line for line in report.remarks if line.element == "<flag>"] == expected
    tied = "equality 'tie' is not active, and ignored" in report.remarks
    assert tied == ("constraint" in off)


def test_motors_are_switched_off_by_their_group():
    """Their damping stays, as it does in MuJoCo."""
    peer = machine()
    peer.opt.disableactuator = 1 << 4
    data, model = forces(peer), pp.from_mujoco(peer)
    assert data.qfrc_actuator[0] == model.joint("turn").limits.effort == 0.0
    pushed = np.full(model.nv, 5.0)
    moved = pp.simulate(model.opened(), model.neutral(), duration=0.01, control=pushed)
    assert (moved.tau[:, model.joint("turn").v] == 0.0).all()
    assert model.joint("turn").damping == pytest.approx(2.0 + 3**2 * 1.0)
    assert model.report.remarks == (
        "motors: switched off by a flag of the model, so their greatest force is zero",
    )
    peer.opt.disableactuator = 1 << 3
    assert pp.from_mujoco(peer).joint("turn").limits.effort == 6.0


def test_air_and_gravcomp_go_with_what_carries_them():
    """Without springs and dampers nothing is passive; without gravity nothing is undone."""
    heavy = {"density": 1.2, "body": 'gravcomp="1"'}
    for off, refused in ((("spring",), 2), (("gravity",), 1), (("spring", "damper"), 0)):
        peer = machine(*off, **heavy)
        data = forces(peer)
        acting = [data.qfrc_gravcomp.any(), data.qfrc_fluid.any()]
        lines = [line for line in pp.from_mujoco(peer).report.remarks if line.status == "refused"]
        assert len(lines) == sum(acting) == refused


def test_the_peer_stays_as_it_is():
    peer = machine("spring", "gravity", "actuation")
    pp.from_mujoco(peer)
    assert peer.jnt_stiffness[0] == 3.0
    assert peer.opt.gravity[2] == -9.0
    assert not peer.actuator_forcelimited.any()
