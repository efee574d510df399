"""MuJoCo's answers on a URDF or MJCF file: without contacts, limits, springs, losses, motors."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from phipsi.cli.checking.bare_urdf import bare_urdf, free_root
from phipsi.cli.checking.beside import Mimics, UnreadError, asked, matched
from phipsi.errors import PhipsiError
from phipsi.model.files.mjcf.read import compiled
from phipsi.model.files.reading import Reading
from phipsi.model.files.xmlfile import Element, read_xml
from phipsi.model.inertia import Inertia, Placement
from phipsi.model.model import Model
from phipsi.model.peers.mujoco.names import Names
from phipsi.model.tree import WORLD_NAME


class MuJoCo:
    """A machine as MuJoCo reads it.

    Args:
        mujoco: the module.
        file: path of the file.
        reading: how we have read it.
        model: what we read.

    Raises:
        UnreadError: it cannot read the file, or finds another machine in it.
    """

    def __init__(self, mujoco: Any, file: str, reading: Reading, model: Model):
        self.notes: list[str] = []
        self._mj = mujoco
        root = read_xml(file)
        is_urdf = root.tag == "robot"
        self._model = self._read_urdf(file, model) if is_urdf else self._read_mjcf(root, reading)
        asked(self._leave_the_tree_alone)
        self._data = asked(mujoco.MjData, self._model)
        self._names = Names(self._model)
        self.layout = matched(model, "mujoco", self._model)
        if model.has_mimics:
            self.notes.append("its mimic joints, soft constraints, are held by projection")

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """By mj_crb, column by column: mj_fullM has other arguments in other versions."""
        columns = np.zeros((self._model.nv, self._model.nv))
        self._place(q)
        self._mj.mj_crb(self._model, self._data)
        for column, unit in zip(columns, np.eye(self._model.nv), strict=True):
            self._mj.mj_mulM(self._model, self._data, column, unit)
        return columns.T

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, vdot: np.ndarray) -> np.ndarray:
        """By mj_inverse."""
        self._data.qpos, self._data.qvel, self._data.qacc = q, v, vdot
        with unheard(self._mj):
            self._mj.mj_inverse(self._model, self._data)
        return np.array(self._data.qfrc_inverse)

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """By mj_forward: the accelerations without constraints."""
        self._data.qpos, self._data.qvel, self._data.qfrc_applied = q, v, tau
        with unheard(self._mj):
            self._mj.mj_forward(self._model, self._data)
        return np.array(self._data.qacc_smooth)

    def frames(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """Those of the bodies."""
        self._place(q)
        poses = np.zeros((self._model.nbody, 4, 4))
        poses[:, :3, :3] = self._data.xmat.reshape(-1, 3, 3)
        poses[:, :3, 3], poses[:, 3, 3] = self._data.xpos, 1.0
        return dict(zip(self._names.bodies, poses, strict=True))

    def inertias(self) -> dict[str, Inertia]:
        """Those of the bodies."""
        found = {}
        for i, name in enumerate(self._names.bodies):
            axes = np.zeros(9)
            self._mj.mju_quat2Mat(axes, self._model.body_iquat[i])
            place = Placement.of(axes.reshape(3, 3), self._model.body_ipos[i])
            own = Inertia.of(self._model.body_mass[i], np.zeros(3), self._model.body_inertia[i])
            found[name] = own.moved(place)
        return found

    def mimics(self) -> Mimics:
        """Its equality constraints of two joints, along a straight line."""
        found: Mimics = {}
        start, names = self._model.qpos0[self._model.jnt_qposadr], self._names.joints
        for i in np.flatnonzero(self._model.eq_type == self._mj.mjtEq.mjEQ_JOINT):
            joint, leader = int(self._model.eq_obj1id[i]), int(self._model.eq_obj2id[i])
            constant, slope, *curved = (float(x) for x in self._model.eq_data[i, :5])
            if leader >= 0 and not any(curved):
                offset = constant + float(start[joint]) - slope * float(start[leader])
                found[names[joint]] = names[leader], slope, offset
        return found

    def _place(self, q: np.ndarray) -> None:
        self._data.qpos = q
        self._mj.mj_kinematics(self._model, self._data)
        self._mj.mj_comPos(self._model, self._data)

    def _read_mjcf(self, root: Element, reading: Reading) -> Any:
        self.notes.append("phipsi reads MJCF by MuJoCo, too: what that reader does is not checked")
        try:
            return compiled(root, reading)
        except PhipsiError as error:
            raise _unread(error) from None

    def _read_urdf(self, file: str, model: Model) -> Any:
        names = {body.name for body in model.bodies} | {frame.name for frame in model.frames}
        other = f"{WORLD_NAME}_link"
        renamed = {WORLD_NAME: other} if other in names else {}
        text, root = bare_urdf(file, renamed), free_root(file, model)
        self.notes.append("it is shown the file without visuals and collisions")
        try:
            with unheard(self._mj):
                spec = self._mj.MjSpec.from_string(text)
                if root is not None:
                    body, joint = root
                    spec.body(body.name).add_freejoint(name=joint.name)
                return spec.compile()
        except Exception as error:  # it raises what it likes
            raise _unread(error) from None

    def _leave_the_tree_alone(self) -> None:
        """Nothing acts but gravity and the forces that are asked about."""
        for flag in ("CONSTRAINT", "SPRING", "DAMPER", "ACTUATION", "CONTACT"):
            self._model.opt.disableflags |= getattr(self._mj.mjtDisableBit, f"mjDSBL_{flag}")
        self._model.opt.density = self._model.opt.viscosity = 0.0
        self._model.body_gravcomp[:] = 0.0


def _unread(error: Exception) -> UnreadError:
    text = " ".join(str(error).split()).removeprefix("Error: ")
    return UnreadError(f"it cannot read this file: {text or type(error).__name__}")


@contextmanager
def unheard(mujoco: Any) -> Iterator[None]:
    """What MuJoCo warns of goes neither to the terminal nor to a file beside the user's."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: None)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        mujoco.set_mju_user_warning(before)
