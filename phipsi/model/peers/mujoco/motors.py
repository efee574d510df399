"""What the motors of a MuJoCo model add to its joints: inertia, and the greatest force."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from phipsi.model.peers.mujoco.names import HINGE, SLIDE
from phipsi.model.peers.mujoco.reach import reached_otherwise
from phipsi.model.peers.remarks import Remarks

JOINT, JOINT_IN_PARENT = 0, 1  # how a motor acts: MuJoCo's transmissions
FIXED_GAIN, NO_BIAS, NO_DYNAMICS = 0, 0, 0


def added_by_motors(mj: Any, j: int, what: str) -> float:
    """The armature or damping of the motors of a joint as it feels it: `gear^2` of each."""
    values = getattr(mj, f"actuator_{what}", None)  # older versions of MuJoCo have none
    if values is None:
        return 0.0
    return math.fsum(_gear(mj, k) ** 2 * np.ravel(values[k])[0] for k in motors_of(mj, j))


class Efforts:
    """The greatest forces that the motors of a model give its joints.

    Args:
        mj: a `mujoco.MjModel`.
        remarks: told where one number does not say it all.
    """

    def __init__(self, mj: Any, remarks: Remarks):
        self._mj, self._remarks = mj, remarks
        self._reached = reached_otherwise(mj)

    def of(self, j: int, name: str) -> float:
        """That of a joint, either way; infinite if nothing bounds it."""
        bounds = (-math.inf, math.inf)
        if self._mj.jnt_actfrclimited[j]:
            bounds = _clipped(bounds, self._mj.jnt_actfrcrange[j])
        motors = list(motors_of(self._mj, j))
        others = [k for k in self._reached.get(j, ()) if any(_forces(self._mj, k))]
        if motors and not others:
            bounds = _clipped(self._sum(motors), bounds)
        elif motors and self._sum(motors) != (-math.inf, math.inf):
            text = f"joint {name!r} is also moved by a motor on a tendon or a site, so the forces "
            self._say(f"{text}of its own motors are no limit", name)
        if bounds[0] >= 0.0 < bounds[1] or bounds[1] <= 0.0 > bounds[0]:
            text = f"joint {name!r}: its motors give from {bounds[0]:g} to {bounds[1]:g}; "
            self._say(f"{text}its limit of effort is the greater, either way", name)
        return max(abs(bounds[0]), abs(bounds[1]))

    def _sum(self, motors: Iterable[int]) -> tuple[float, float]:
        """The least and the greatest force of motors together."""
        ends = []
        for k in motors:
            gear, (low, high) = _gear(self._mj, k), _forces(self._mj, k)
            if gear:
                ends.append((gear * low, gear * high) if gear > 0.0 else (gear * high, gear * low))
        return math.fsum(low for low, _ in ends), math.fsum(high for _, high in ends)

    def _say(self, text: str, name: str) -> None:
        self._remarks.say("used", text, "joint", name, notable=True)


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


def _forces(mj: Any, k: int) -> tuple[float, float]:
    """The least and the greatest force of an actuator, before its gear."""
    bounds = (-math.inf, math.inf)
    is_plain = (
        mj.actuator_gaintype[k] == FIXED_GAIN
        and mj.actuator_biastype[k] == NO_BIAS
        and mj.actuator_dyntype[k] == NO_DYNAMICS
    )
    if is_plain and mj.actuator_ctrllimited[k]:
        ends = mj.actuator_gainprm[k, 0] * mj.actuator_ctrlrange[k]
        bounds = float(ends.min()), float(ends.max())
    if mj.actuator_forcelimited[k]:
        bounds = _clipped(bounds, mj.actuator_forcerange[k])
    return bounds


def _clipped(bounds: tuple[float, float], between: Sequence[float]) -> tuple[float, float]:
    """Both bounds, put where they are not beyond others."""
    low, high = (min(max(x, float(between[0])), float(between[1])) for x in bounds)
    return low, high
