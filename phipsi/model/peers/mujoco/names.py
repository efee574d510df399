"""What a MuJoCo model's parts are called: every one has a name here, and none has two."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from phipsi.errors import InputError, ModelError
from phipsi.model.peers.notes import unused
from phipsi.model.tree import WORLD_NAME

# MuJoCo's own numbers, as its headers give them.
FREE, BALL, SLIDE, HINGE = range(4)
BODY, SITE = 1, 6  # kinds of objects
TYPE_NAMES = ("free", "ball", "slide", "hinge")

_ASKED = ("njnt", "nbody", "jnt_type", "jnt_qposadr", "body_iquat", "eq_data", "qpos_spring")
_FINITE = (
    *("body_pos", "body_quat", "body_ipos", "body_iquat", "body_mass", "body_inertia"),
    *("jnt_pos", "jnt_axis", "qpos0", "qpos_spring", "dof_armature", "dof_damping"),
    *("geom_pos", "geom_quat", "site_pos", "site_quat", "cam_pos", "cam_quat", "eq_data"),
    *("key_qpos", "key_qvel"),
)


def check_mujoco(model: Any, function: str) -> Any:
    """A `mujoco.MjModel`, compiled if it is a `mujoco.MjSpec`; InputError if it is neither."""
    if hasattr(model, "worldbody") and hasattr(model, "compile"):
        model = model.copy().compile()
    if not all(hasattr(model, name) for name in _ASKED):
        raise InputError(
            f"{function}: expected a mujoco.MjModel or mujoco.MjSpec, "
            f"got {type(model).__name__}; for a file, use pp.load"
        )
    return model


def check_finite(mj: Any) -> None:
    """ModelError for a number of the model that is none."""
    for name in _FINITE:
        values = np.asarray(getattr(mj, name))
        if not np.isfinite(values).all():
            where = [int(i) for i in np.argwhere(~np.isfinite(values))[0]]
            raise ModelError(f"from_mujoco: {name}{where} is {values[tuple(where)]}, no number")


class Names:
    """Names of bodies, joints, sites and cameras, by their numbers.

    MuJoCo lets parts be nameless, and bodies and sites share names. A nameless
    body is called "body3", its joint "body3_joint"; a nameless free joint that is
    the only one is "root".

    Args:
        mj: a `mujoco.MjModel`.
    """

    def __init__(self, mj: Any):
        self.bodies = _named([mj.body(i).name for i in range(mj.nbody)], "body", {WORLD_NAME})
        self.bodies[0] = WORLD_NAME
        self.joints = self._name_joints(mj)
        self.carried: dict[str, tuple[str, str]] = {}  # by our bodies: MuJoCo's, and the joint
        for body, joint in zip(mj.jnt_bodyid, self.joints, strict=True):
            own = self.bodies[body]
            self.carried[at_joint(own, joint)] = self.carried[own] = own, joint
        self._frames = {*self.bodies, *self.carried}
        self.sites = [self._frame(mj.site(i).name, "site", i) for i in range(mj.nsite)]
        self.cameras = [self._frame(mj.camera(i).name, "camera", i) for i in range(mj.ncam)]

    def _name_joints(self, mj: Any) -> list[str]:
        given = [mj.joint(j).name for j in range(mj.njnt)]
        taken = {name for name in given if name}
        lonely = list(mj.jnt_type).count(FREE) == 1
        found = []
        for name, type_, body in zip(given, mj.jnt_type, mj.jnt_bodyid, strict=True):
            is_root = type_ == FREE and lonely
            own = "root" if is_root else f"{self.bodies[body]}_joint"
            found.append(name or unused(own, taken))
        return found

    def _frame(self, name: str, what: str, i: int) -> str:
        """A name for a frame: bodies and frames share theirs here."""
        if name in self._frames:
            name = f"{name}_{what}"
        return unused(name or f"{what}{i}", self._frames)


def is_disabled(mj: Any, what: str) -> bool:
    """Whether a flag of the options is set, as "GRAVITY"; which bit it is, its version knows."""
    package = import_module(type(mj).__module__.partition(".")[0])
    bit = getattr(package.mjtDisableBit, f"mjDSBL_{what}")
    return bool(mj.opt.disableflags & int(bit))


def name_at(mj: Any, start: int) -> str:
    """The name that begins there among all names; the first is the model's own."""
    found: bytes = mj.names[start:].split(b"\0", 1)[0]
    return found.decode()


def at_joint(body: str, joint: str) -> str:
    """What a body is called where a joint carries it that is elsewhere than its frame."""
    return f"{body}@{joint}"


def _named(given: list[str], what: str, taken: set[str]) -> list[str]:
    """The names, and one for each that has none."""
    taken = taken | set(given)
    return [name or unused(f"{what}{i}", taken) for i, name in enumerate(given)]
