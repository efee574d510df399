"""What of a MuJoCo model has no counterpart: refused if it moves the machine, else ignored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from phipsi.model.peers.mujoco.flags import sleeping_trees
from phipsi.model.peers.mujoco.motors import NO_BIAS, drives_joint
from phipsi.model.peers.mujoco.names import Names, name_at
from phipsi.model.peers.remarks import Remarks

_TENDONS = ("stiffness", "stiffnesspoly", "damping", "dampingpoly", "frictionloss", "armature")

# What does not move a machine: the count of it, what to call it, its tag.
_IRRELEVANT = (
    ("nlight", "light", "light"),
    ("nsensor", "sensor", "sensor"),
    ("nskin", "skin", "skin"),
    ("ntex", "texture", "texture"),
    ("npair", "contact pair", "pair"),
    ("nexclude", "exclusion", "exclude"),
)


def note_rest(mj: Any, names: Names, remarks: Remarks) -> None:
    """Take note of everything that a MuJoCo model has and ours has not.

    Args:
        mj: a `mujoco.MjModel`.
        names: of its parts.
        remarks: takes note.
    """
    _note_medium(mj, remarks)
    _note_bodies(mj, names, remarks)
    _note_tendons(mj, remarks)
    _note_actuators(mj, names, remarks)
    _note_keys(mj, remarks)
    flexes = [name_at(mj, start) or f"flex{k}" for k, start in enumerate(mj.name_flexadr)]
    remarks.say_of_all("refused", "nothing holds its vertices together here", "flex", flexes)
    touching = int(np.count_nonzero((mj.geom_contype != 0) | (mj.geom_conaffinity != 0)))
    if touching:
        text = f"{touching} geom{'s' * (touching > 1)} for contact: kept, but nothing touches here"
        remarks.say("kept", text, "geom")
    for count, what, tag in _IRRELEVANT:
        n = getattr(mj, count)
        if n:
            text = f"{n} {what}{'s' * (n > 1)}: ignored, of no concern to motion"
            remarks.say("ignored", text, tag)


def _note_medium(mj: Any, remarks: Remarks) -> None:
    """Air or water that the bodies move in."""
    option = mj.opt
    if option.density or option.viscosity:
        text = f"the medium has density {option.density:g} and viscosity {option.viscosity:g}; "
        remarks.refuse(f"{text}its forces are left out", "option")


def _note_bodies(mj: Any, names: Names, remarks: Remarks) -> None:
    bodies = names.bodies
    text = "its weight is taken away by gravcomp there; here it counts in full"
    remarks.say_of_all("refused", text, "body", _where(bodies, mj.body_gravcomp != 0.0))
    text = "its plugin is left out"
    remarks.say_of_all("refused", text, "body", _where(bodies, mj.body_plugin >= 0))
    text = "data.mocap_pos moves it there; here it is welded to the world"
    remarks.say_of_all("used", text, "body", _where(bodies, mj.body_mocapid >= 0))
    asleep = [bodies[mj.tree_bodyadr[k]] for k in sleeping_trees(mj)]
    text = "it sleeps there until something touches it; here it moves from the start"
    remarks.say_of_all("used", text, "body", asleep)


def _note_keys(mj: Any, remarks: Remarks) -> None:
    """What keyframes have beside coordinates and speeds."""
    moved = mj.body_mocapid >= 0
    order = np.argsort(mj.body_mocapid[moved])
    usual = {
        "mpos": mj.body_pos[moved][order].ravel(),
        "mquat": mj.body_quat[moved][order].ravel(),
    }
    for k in range(mj.nkey):
        name = mj.key(k).name or f"key{k}"
        odd = [
            what
            for what in ("time", "mpos", "mquat", "act", "ctrl", "plastic")
            if hasattr(mj, f"key_{what}")
            and np.any(np.ravel(getattr(mj, f"key_{what}")[k]) != usual.get(what, 0.0))
        ]
        if odd:
            text = f"keyframe {name!r}: kept without its {', '.join(odd)}"
            remarks.say("kept", text, "key", name)


def _note_tendons(mj: Any, remarks: Remarks) -> None:
    names = [mj.tendon(k).name or f"tendon{k}" for k in range(mj.ntendon)]
    acts = np.zeros(mj.ntendon, bool)
    for what in _TENDONS:
        acts |= _given(mj, f"tendon_{what}", mj.ntendon)
    limited = mj.tendon_limited.astype(bool)
    text = "its own stiffness, damping, friction or armature is left out"
    remarks.say_of_all("refused", text, "tendon", _where(names, acts))
    text = "its limits are left out"
    remarks.say_of_all("refused", text, "tendon", _where(names, limited & ~acts))
    for name in _where(names, ~acts & ~limited):
        text = f"tendon {name!r}: ignored, it does not pull by itself"
        remarks.say("ignored", text, "tendon", name)


def _note_actuators(mj: Any, names: Names, remarks: Remarks) -> None:
    """Motors are forces that the user gives; what else they do is their joint's, or is not."""
    count = len(mj.actuator_trntype)
    called = [mj.actuator(k).name or f"actuator{k}" for k in range(count)]
    on_joint = np.array([drives_joint(mj, k) for k in range(count)], bool)
    for k in np.flatnonzero(on_joint & (mj.actuator_biastype == NO_BIAS)):
        joint = names.joints[mj.actuator_trnid[k, 0]]
        text = f"actuator {called[k]!r}: its inertia, damping and limits are those of {joint!r}"
        remarks.say("used", text, "actuator", called[k])
    has_law = mj.actuator_biastype != NO_BIAS
    for name in _where(called, ~on_joint & ~has_law):
        text = f"actuator {name!r}: ignored, forces are given as tau"
        remarks.say("ignored", text, "actuator", name)
    text = "its control law is ignored; forces are given as tau"
    remarks.say_of_all("used", text, "actuator", _where(called, has_law & on_joint))
    remarks.say_of_all("ignored", text, "actuator", _where(called, has_law & ~on_joint))
    passive = _given(mj, "actuator_dampingpoly", count)
    for what in ("armature", "damping"):
        passive |= _given(mj, f"actuator_{what}", count) & ~on_joint
    text = "its armature or damping is left out"
    remarks.say_of_all("refused", text, "actuator", _where(called, passive))


def _where(names: Sequence[str], mask: np.ndarray) -> list[str]:
    return [name for name, chosen in zip(names, mask, strict=True) if chosen]


def _given(mj: Any, attribute: str, count: int) -> np.ndarray:
    """Whether an attribute, which other versions of MuJoCo may lack, is not zero, of each."""
    values = getattr(mj, attribute, np.zeros(count))
    return np.array([np.any(value) for value in values], bool)
