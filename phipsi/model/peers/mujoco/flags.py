"""What the flags of a MuJoCo model switch off: there is none of it here, either."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from phipsi.model.peers.remarks import Remarks


class _Switch(NamedTuple):
    """What is zero where one of the flags is set; versions of MuJoCo may lack some of both."""

    flags: tuple[str, ...]
    attributes: tuple[str, ...]
    what: str = ""  # none if it is told elsewhere


_SPRINGS = ("jnt_stiffness", "jnt_stiffnesspoly", "tendon_stiffness", "tendon_stiffnesspoly")
_DAMPERS = (
    *("dof_damping", "dof_dampingpoly", "tendon_damping", "tendon_dampingpoly"),
    *("actuator_damping", "actuator_dampingpoly"),
)
_LIMITS = ("jnt_limited", "tendon_limited")

_SWITCHES = (
    _Switch(("SPRING", "PASSIVE"), _SPRINGS, "stiffness"),
    _Switch(("DAMPER", "PASSIVE"), _DAMPERS, "damping"),
    _Switch(
        ("FRICTIONLOSS", "CONSTRAINT"), ("dof_frictionloss", "tendon_frictionloss"), "friction"
    ),
    _Switch(("LIMIT", "CONSTRAINT"), _LIMITS, "limits of position"),
    _Switch(("EQUALITY", "CONSTRAINT"), ("eq_active0",)),
    _Switch(("CLAMPCTRL",), ("actuator_ctrllimited",), "limits of control"),
)


def as_switched(mj: Any, remarks: Remarks) -> Any:
    """The model without what its flags switch off: itself, or a copy.

    Args:
        mj: a `mujoco.MjModel`.
        remarks: told what is switched off.
    """
    if not mj.opt.disableflags and not mj.opt.disableactuator:
        return mj
    mj = copy.copy(mj)
    for flags, attributes, what in _SWITCHES:
        if any(_is_disabled(mj, flag) for flag in flags):
            present = [getattr(mj, name) for name in attributes if hasattr(mj, name)]
            _switch_off(present, what, remarks)
    if _is_disabled(mj, "GRAVITY"):
        _switch_off([mj.opt.gravity], "gravity", remarks)
        _switch_off([mj.body_gravcomp], "", remarks)  # what it would undo is not there
    if _is_disabled(mj, "PASSIVE") or (_is_disabled(mj, "SPRING") and _is_disabled(mj, "DAMPER")):
        mj.opt.density = mj.opt.viscosity = 0.0  # all that is passive goes with them
        _switch_off([mj.body_gravcomp], "gravcomp", remarks)
    _stop_motors(mj, remarks)
    return mj


def _stop_motors(mj: Any, remarks: Remarks) -> None:
    """The greatest force of motors is zero where a flag or their group switches them off."""
    groups = np.clip(mj.actuator_group, 0, 30)
    off = (mj.opt.disableactuator >> groups) & 1 == 1
    off &= (mj.actuator_group >= 0) & (mj.actuator_group <= 30)
    if _is_disabled(mj, "ACTUATION"):
        off[:] = True
    if off.any():
        mj.actuator_forcelimited[off] = 1
        mj.actuator_forcerange[off] = 0.0
        text = "motors: switched off by a flag of the model, so their greatest force is zero"
        remarks.say("used", text, "flag", notable=True)


def _switch_off(present: Sequence[np.ndarray], what: str, remarks: Remarks) -> None:
    if what and any(np.any(values) for values in present):
        text = f"{what}: switched off by a flag of the model, and left out"
        remarks.say("ignored", text, "flag", notable=True)
    for values in present:
        values[:] = 0


def sleeping_trees(mj: Any) -> list[int]:
    """The trees of a model that sleep at first; older versions of MuJoCo have none."""
    package = _package(mj)
    bit = getattr(package.mjtEnableBit, "mjENBL_SLEEP", 0)
    if not mj.opt.enableflags & int(bit):
        return []
    found = mj.tree_sleep_policy == int(package.mjtSleepPolicy.mjSLEEP_INIT)
    return np.flatnonzero(found).tolist()


def _package(mj: Any) -> Any:
    """The package that a model is of."""
    return import_module(type(mj).__module__.partition(".")[0])


def _is_disabled(mj: Any, what: str) -> bool:
    """Whether a flag is set, as "GRAVITY"; which bit it is, its version knows."""
    package = _package(mj)
    bit = getattr(package.mjtDisableBit, f"mjDSBL_{what}", 0)
    return bool(mj.opt.disableflags & int(bit))
