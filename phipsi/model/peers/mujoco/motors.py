"""What the motors of a MuJoCo model add to its joints: inertia, and the greatest force."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from phipsi.model.peers.mujoco.names import HINGE, SLIDE

JOINT, JOINT_IN_PARENT = 0, 1  # how a motor acts: MuJoCo's transmissions
FIXED_GAIN, NO_BIAS, NO_DYNAMICS = 0, 0, 0


def added_by_motors(mj: Any, j: int, what: str) -> float:
    """The armature or damping of the motors of a joint as it feels it: `gear^2` of each."""
    values = getattr(mj, f"actuator_{what}", None)  # older versions of MuJoCo have none
    if values is None:
        return 0.0
    return math.fsum(_gear(mj, k) ** 2 * np.ravel(values[k])[0] for k in motors_of(mj, j))


def effort_of(mj: Any, j: int) -> float:
    """The greatest force that the motors of a joint give it; infinite if nothing bounds it."""
    bound = math.inf
    if mj.jnt_actfrclimited[j]:
        bound = float(np.abs(mj.jnt_actfrcrange[j]).max())
    motors = list(motors_of(mj, j))
    if not motors:
        return bound
    gears = ((k, abs(_gear(mj, k))) for k in motors)
    return min(bound, math.fsum(gear * _force_of(mj, k) for k, gear in gears if gear))


def motors_of(mj: Any, j: int) -> Iterator[int]:
    """The actuators that act on a hinge or slide, and nothing else."""
    for k in np.flatnonzero(mj.actuator_trnid[:, 0] == j).tolist():
        if drives_joint(mj, k):
            yield k


def drives_joint(mj: Any, k: int) -> bool:
    """Whether an actuator acts on a single hinge or slide."""
    on_joint = mj.actuator_trntype[k] in (JOINT, JOINT_IN_PARENT)
    return bool(on_joint and mj.jnt_type[mj.actuator_trnid[k, 0]] in (SLIDE, HINGE))


def _gear(mj: Any, k: int) -> float:
    return float(mj.actuator_gear[k, 0])


def _force_of(mj: Any, k: int) -> float:
    """The greatest force of an actuator, before its gear."""
    bound = math.inf
    if mj.actuator_forcelimited[k]:
        bound = float(np.abs(mj.actuator_forcerange[k]).max())
    is_plain = (
        mj.actuator_gaintype[k] == FIXED_GAIN
        and mj.actuator_biastype[k] == NO_BIAS
        and mj.actuator_dyntype[k] == NO_DYNAMICS
    )
    if is_plain and mj.actuator_ctrllimited[k]:
        control = float(np.abs(mj.actuator_ctrlrange[k]).max())
        bound = min(bound, abs(float(mj.actuator_gainprm[k, 0])) * control)
    return bound
