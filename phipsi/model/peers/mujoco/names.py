"""What a MuJoCo model's parts are called: every one has a name here, and none has two."""

from __future__ import annotations

from typing import Any

import numpy as np

from phipsi.errors import InputError, ModelError
from phipsi.model.names import take
from phipsi.model.tree import WORLD_NAME

# MuJoCo's own numbers, as its headers give them.
FREE, BALL, SLIDE, HINGE = range(4)
BODY, SITE = 1, 6  # kinds of objects

_ASKED = ("njnt", "nbody", "jnt_type", "jnt_qposadr", "body_iquat", "eq_data", "qpos_spring")
_FINITE = (
    *("body_pos", "body_quat", "body_ipos", "body_iquat", "body_mass", "body_inertia"),
    *("jnt_pos", "jnt_axis", "qpos0", "qpos_spring", "dof_armature", "dof_damping"),
    *("geom_pos", "geom_quat", "site_pos", "site_quat", "cam_pos", "cam_quat", "eq_data"),
    *("key_qpos", "key_qvel"),
)


def check_mujoco(model: Any, function: str) -> Any:
    """A `mujoco.MjModel`, compiled if it is a `mujoco.MjSpec`.

    Raises:
        InputError: it is neither.
        ModelError: MuJoCo does not compile it.
    """
    is_class = isinstance(model, type)
    if not is_class and hasattr(model, "worldbody") and hasattr(model, "compile"):
        try:
            model = model.copy().compile()
        except ValueError as error:  # as MuJoCo calls it
            reason = " ".join(str(error).split()).removeprefix("Error: ")
            raise ModelError(f"{function}: MuJoCo cannot compile this spec: {reason}") from None
    if is_class or not all(hasattr(model, name) for name in _ASKED):
        what = f"the class {model.__name__}" if is_class else type(model).__name__
        hint = "give its .model" if hasattr(model, "model") else "for a file, use pp.load"
        raise InputError(
            f"{function}: expected a mujoco.MjModel or mujoco.MjSpec, got {what}; {hint}"
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
    the only one is "root". Where a joint is elsewhere than its body's frame, what it
    carries is called "BODY@JOINT".

    Args:
        mj: a `mujoco.MjModel`.
    """

    def __init__(self, mj: Any):
        self.bodies = _named([mj.body(i).name for i in range(mj.nbody)], "body", {WORLD_NAME})
        self.bodies[0] = WORLD_NAME
        self.joints = self._name_joints(mj)
        self.at_joints: list[str] = []  # by joint: what it carries, if that is not at its body
        self.carried: dict[str, tuple[str, str]] = {}  # by our bodies: MuJoCo's, and the joint
        self._frames = set(self.bodies)
        for body, joint in zip(mj.jnt_bodyid, self.joints, strict=True):
            own = self.bodies[body]
            self.at_joints.append(take(f"{own}@{joint}", self._frames))
            self.carried[self.at_joints[-1]] = self.carried[own] = own, joint
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
            found.append(name or take(own, taken))
        return found

    def _frame(self, name: str, what: str, i: int) -> str:
        """A name for a frame: bodies and frames share theirs here."""
        if name in self._frames:
            name = f"{name}_{what}"
        return take(name or f"{what}{i}", self._frames)


def name_at(mj: Any, start: int) -> str:
    """The name that begins there among all names; the first is the model's own."""
    found: bytes = mj.names[start:].split(b"\0", 1)[0]
    return found.decode()


def _named(given: list[str], what: str, taken: set[str]) -> list[str]:
    """The names, and one for each that has none."""
    taken = taken | set(given)
    return [name or take(f"{what}{i}", taken) for i, name in enumerate(given)]
