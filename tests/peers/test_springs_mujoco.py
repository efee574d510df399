"""Springs in joints as MuJoCo has them: forces at random states, and motions."""

import mujoco
import numpy as np
import pytest

import phipsi as pp
from phipsi.simulate.springs import Springs

SETTING = """
  <option gravity="0 0 -9.81" timestep="0.0001" integrator="RK4"><flag contact="disable"/></option>
  <compiler angle="radian"/>
"""
ARM = f"""
<mujoco>{SETTING}
  <worldbody>
    <body>
      <freejoint/>
      <geom type="box" size="0.1 0.2 0.3"/>
    </body>
    <body pos="0 2 0">
      <joint name="ball" type="ball" stiffness="40"/>
      <geom type="box" pos="0.1 0 0.1" size="0.1 0.2 0.3"/>
      <body pos="0.2 0 0.3">
        <joint name="hinge" axis="0 1 0" pos="0.02 0 0" ref="0.3" springref="0.6" stiffness="30"/>
        <joint name="slide" type="slide" axis="0 0 1" springref="-0.1" stiffness="300"/>
        <geom type="capsule" fromto="0 0 0 0.1 0 0.4" size="0.05"/>
      </body>
    </body>
  </worldbody>
</mujoco>"""
# Free bodies that are tied to where the file puts them; that of the second is turned.
TIED = f"""
<mujoco>{SETTING}
  <worldbody>
    <body pos="0.1 0.2 0.3">
      <joint name="straight" type="free" stiffness="50"/>
      <geom type="box" pos="0.1 0 0.05" size="0.1 0.2 0.3"/>
    </body>
    <body pos="1 2 3" euler="0.5 -0.4 0.9">
      <joint name="turned" type="free" stiffness="20"/>
      <geom type="box" size="0.3 0.1 0.2"/>
      <body pos="0.2 0 0.3">
        <joint name="hinge" axis="0 1 0" springref="0.6" stiffness="3"/>
        <geom type="capsule" fromto="0 0 0 0.1 0 0.4" size="0.05"/>
      </body>
    </body>
  </worldbody>
</mujoco>"""


@pytest.mark.parametrize("text", [ARM, TIED], ids=["arm", "tied"])
def test_springs_pull_as_those_of_mujoco(text):
    """qfrc_passive at random states, and a motion of a fifth of a second."""
    peer = mujoco.MjModel.from_xml_string(text)
    model, data = pp.from_mujoco(peer), mujoco.MjData(peer)
    rng, still = np.random.default_rng(7), np.zeros(model.nv)
    for _ in range(5):
        q = pp.integrate(model, model.neutral(), 0.8 * rng.normal(size=model.nv))
        data.qpos[:] = model.to_mujoco(q)
        mujoco.mj_forward(peer, data)
        *_, theirs = model.from_mujoco(data.qpos, still, tau=data.qfrc_passive)
        ours = Springs(model).force(q)
        assert np.abs(ours).max() > 1.0
        assert np.abs(ours - theirs).max() < 1e-11
    data.qvel[:] = 0.0
    motion = pp.simulate(model, q, duration=0.2, dt=1e-4, backend="llvm")
    for _ in range(len(motion) - 1):
        mujoco.mj_step(peer, data)
    last = model.from_mujoco(data.qpos)
    assert np.abs(pp.difference(model, last, motion.q[-1])).max() < 1e-8


def test_springs_of_free_bodies_are_looked_at():
    """So the test above is one of them."""
    model = pp.from_mujoco(mujoco.MjModel.from_xml_string(TIED))
    kinds = {joint.name: type(joint.kind) for joint in Springs(model).joints}
    assert kinds["straight"] is kinds["turned"] is pp.joints.Free
    assert model.joint("turned").rest is not None
