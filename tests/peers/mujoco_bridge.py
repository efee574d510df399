"""MuJoCo's models for comparisons: machines without anything that acts on them, and a leg."""

import mujoco
import numpy as np
from peers.mjcf_machines import path_of

import phipsi as pp

Off = mujoco.mjtDisableBit
PASSIVE = Off.mjDSBL_SPRING | Off.mjDSBL_DAMPER
WITHOUT = PASSIVE | Off.mjDSBL_CONSTRAINT | Off.mjDSBL_CONTACT | Off.mjDSBL_ACTUATION


def read(name: str) -> mujoco.MjModel:
    """A machine as MuJoCo reads it."""
    return mujoco.MjModel.from_xml_path(str(path_of(name)))


def strip(peer: mujoco.MjModel) -> mujoco.MjModel:
    """The same, and nothing that acts on it but gravity.

    To be done once it has been taken over: `pp.from_mujoco` heeds the flags.
    """
    peer.opt.density = peer.opt.viscosity = 0.0
    peer.body_gravcomp[:] = 0.0
    peer.opt.disableflags |= int(WITHOUT)
    return peer


def full_mass_matrix(peer: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    full = np.zeros((peer.nv, peer.nv))
    mujoco.mj_fullM(peer, data, full)
    return full


def error(found, expected) -> float:
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-6))


def frame_pose(model: pp.Model, poses: np.ndarray, name: str) -> np.ndarray:
    frame = model.frame(name)
    carrier = np.eye(4) if frame.body < 0 else poses[frame.body]
    return carrier @ frame.placement.matrix


def pose(position: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    return np.block([[rotation.reshape(3, 3), position[:, None]], [np.zeros((1, 3)), np.eye(1)]])


LEG = """
<mujoco model="leg">
  <compiler angle="radian"/>
  <option gravity="0 0.1 -9.7"/>
  <default> <geom density="900"/> <equality solref="0.02 1"/> </default>
  <worldbody>
    <site name="hook" pos="0.5 0 1" euler="0 0.3 0"/>
    <body name="trunk" pos="1 2 3" quat="1 0.2 0 0.1">
      <freejoint name="float"/>
      <geom name="chest" type="box" size="0.1 0.2 0.3" rgba="1 0 0 0.5" contype="0"
            conaffinity="0"/>
      <geom name="hull" type="capsule" size="0.2 0.3" group="3"/>
      <site name="badge" pos="0 0 0.3" quat="1 0 1 0"/>
      <body name="thigh" pos="0 0 -0.3" euler="0.4 0 0">
        <joint name="yaw" axis="0 0 1" pos="0 0 0.1" ref="0.3" armature="0.02"/>
        <joint name="lift" type="slide" axis="0 1 1" pos="5 5 5" ref="0.1" range="-1 2"/>
        <joint name="pitch" axis="0 1 0" pos="0.05 0 0" ref="-0.4" stiffness="7" springref="0.2"
               damping="0.3" frictionloss="0.05" range="-0.5 0.8" actuatorfrcrange="-4 6"/>
        <geom type="cylinder" size="0.05 0.2" pos="0 0 -0.2"/>
        <body name="plate" pos="0.1 0 0"> <geom type="ellipsoid" size="0.1 0.2 0.05"/> </body>
        <body name="shin" pos="0 0 -0.4">
          <joint name="ankle" type="ball" pos="0 0 0.05" stiffness="2"/>
          <geom type="sphere" size="0.1" pos="0.01 0 -0.2"/>
        </body>
        <body name="toe" pos="0 0 -0.5">
          <joint name="toe" axis="1 0 0" ref="0.25"/>
          <geom type="sphere" size="0.05" pos="0.1 0 0"/>
        </body>
      </body>
    </body>
    <body name="rail">
      <joint name="rail" type="slide" axis="1 0 0" ref="0.5"/> <geom size="0.1"/>
    </body>
  </worldbody>
  %s
</mujoco>
"""


def leg(rest: str = "") -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(LEG % rest)


def state(model: pp.Model, seed: int = 0):
    rng = np.random.default_rng(seed)
    return model.random(rng), rng.normal(size=model.nv)
