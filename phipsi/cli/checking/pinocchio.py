"""Pinocchio's answers on a URDF file."""

from __future__ import annotations

from typing import Any

import numpy as np

from phipsi.cli.checking.bare_urdf import free_root
from phipsi.cli.checking.beside import Mimics, UnreadError, matched, said
from phipsi.cli.screen import number
from phipsi.joints import Planar
from phipsi.model.inertia import Inertia
from phipsi.model.model import Model


class Pinocchio:
    """A machine as Pinocchio reads it.

    Args:
        pin: the module `pinocchio`.
        file: path of the URDF file.
        model: ours of the same file.

    Raises:
        UnreadError: it cannot read the file, or finds another machine in it.
    """

    def __init__(self, pin: Any, file: str, model: Model):
        self.notes: list[str] = []
        self._pin, self._file, self._ours = pin, file, model
        self._model = read_with_pinocchio(pin, file, model)
        self._data = self._model.createData()
        self.layout = matched(model, "pinocchio", self._model)
        if model.base_inertia.mass:
            lost = number(model.base_inertia.mass)
            self.notes.append(f"it leaves out the {lost} kg that are welded to the world")
        if model.has_mimics:
            self.notes.append("its mimic joints, free by default, are held by projection")

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """By crba, which fills the upper half."""
        upper = np.triu(self._pin.crba(self._model, self._data, q))
        return upper + np.triu(upper, 1).T

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, vdot: np.ndarray) -> np.ndarray:
        """By rnea."""
        return self._pin.rnea(self._model, self._data, q, v, vdot).copy()

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """By aba."""
        return self._pin.aba(self._model, self._data, q, v, tau).copy()

    def frames(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """Those of the links."""
        self._pin.framesForwardKinematics(self._model, self._data, q)
        return {
            frame.name: pose.homogeneous.copy()
            for frame, pose in zip(self._model.frames, self._data.oMf, strict=True)
            if frame.type == self._pin.FrameType.BODY
        }

    def inertias(self) -> dict[str, Inertia]:
        """Those of the moving bodies, with what is welded to them."""
        bodies = zip(self._ours.bodies, self._ours.joints, strict=True)
        there = {body.name: self._inertia(joint.name) for body, joint in bodies}
        return {
            name: Inertia.of(x.mass, np.array(x.lever), np.array(x.inertia))
            for name, x in there.items()
        }

    def mimics(self) -> Mimics:
        """As it reads them when it is asked to; it refuses some files then."""
        try:
            read = self._pin.buildModelFromUrdf(self._file, mimic=True)
        except Exception as error:  # it raises what it likes
            raise UnreadError(f"it refuses them: {said(error)}") from None
        names = list(read.names)
        pairs = zip(read.mimicking_joints, read.mimicked_joints, strict=True)
        found = {}
        for joint, leader in pairs:
            own = read.joints[joint].extract()
            found[names[joint]] = names[leader], own.scaling, own.offset
        return found

    def _inertia(self, joint: str) -> Any:
        return self._model.inertias[self._model.getJointId(joint)]


def read_with_pinocchio(pin: Any, file: str, model: Model) -> Any:
    """Pinocchio's model of a file, with the joints of ours.

    Args:
        pin: the module `pinocchio`.
        file: path of the URDF file.
        model: ours of the same file.

    Raises:
        UnreadError: it cannot read the file, or finds another machine in it.
    """
    root = free_root(file, model)
    free = [] if root is None else [pin.JointModelFreeFlyer(), root[1].name]
    for joint in model.joints:
        if isinstance(joint.kind, Planar) and not np.allclose(joint.kind.normal, (0, 0, 1)):
            raise UnreadError(f"it ignores the axis of the planar joint {joint.name!r}")
    try:
        read = pin.buildModelFromUrdf(file, *free)
    except Exception as error:  # it raises what it likes
        raise UnreadError(f"it cannot read this file: {said(error)}") from None
    return read
