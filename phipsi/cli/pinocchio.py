"""Pinocchio's model of the same file, for those who have it: asked the same, in its coordinates.

What differs: a free joint has q = [position, quaternion], v = [linear; angular]; a planar one
q = [x, y, cos, sin], v = [vx, vy, omega]; an unbounded revolute one q = [cos, sin]. Its mimic
joints move on their own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from phipsi.cli.tasks import Task
from phipsi.joints import Free, Planar
from phipsi.model.model import Joint, Model

TOLERANCE = 1e-9  # of the largest entry of a state, within which two answers are the same


class Peer:
    """A machine as Pinocchio reads it, and our states in its coordinates.

    Args:
        pin: the module `pinocchio`.
        file: path of the URDF file.
        model: ours of the same file; its mimic joints move on their own.
        free: whether the root link is.
        states: q, v, tau and vdot by name, (count, n) each.

    Raises:
        ValueError: Pinocchio cannot read the file, or finds other joints in it.
    """

    def __init__(
        self, pin: Any, file: str, model: Model, free: bool, states: dict[str, np.ndarray]
    ):
        self._pin = pin
        root = [pin.JointModelFreeFlyer(), "root"] if free else []
        self._model = pin.buildModelFromUrdf(file, *root)
        names = set(self._model.names) - {"universe"}
        if names != {joint.name for joint in model.joints} or self._model.nv != model.nv:
            raise ValueError("it reads other joints from this file")
        self._data = self._model.createData()
        self._pool = pin.ModelPool(self._model, 1)
        self._order = self._speeds(model)
        self._states = {"q": self._coordinates(model, states["q"])}
        for name in ("v", "tau", "vdot"):
            self._states[name] = np.ascontiguousarray(states[name][:, self._order])

    @property
    def version(self) -> str:
        """Of Pinocchio."""
        return str(self._pin.__version__)

    def call(self, task: Task, k: int = 0) -> Callable[[], np.ndarray]:
        """The Python call for one state."""
        arguments = [self._states[name][k] for name in task.arguments]
        # aba is a little faster in the frame of the world.
        options = [self._pin.Convention.WORLD] if task.call == "aba" else []
        function = getattr(self._pin, task.call)
        return partial(function, self._model, self._data, *arguments, *options)

    def batch(self, task: Task, count: int) -> Callable[[], object]:
        """The C++ loop over the first states, on one thread."""
        # Columns are states there, each side by side in memory.
        arguments = [self._states[name][:count].T for name in task.arguments]
        room = np.empty((count, self._model.nv)).T
        return partial(getattr(self._pin, task.batch), 1, self._pool, *arguments, room)

    def answer(self, task: Task, k: int) -> np.ndarray:
        """What it computes for one state, in our coordinates."""
        theirs = np.array(self.call(task, k)())
        ours = np.empty_like(theirs)
        ours[np.ix_(*[self._order] * theirs.ndim)] = theirs
        return ours

    def _speeds(self, model: Model) -> np.ndarray:
        """Which of our speeds is which of its speeds."""
        order = np.empty(model.nv, int)
        for joint in model.joints:
            start = self._model.idx_vs[self._model.getJointId(joint.name)]
            own = np.arange(joint.v.start, joint.v.stop)[_SPEEDS.get(type(joint.kind), slice(None))]
            order[start : start + len(own)] = own
        return order

    def _coordinates(self, model: Model, q: np.ndarray) -> np.ndarray:
        """Configurations in its coordinates."""
        found = np.empty((len(q), self._model.nq))
        for joint in model.joints:
            number = self._model.getJointId(joint.name)
            start, size = self._model.idx_qs[number], self._model.nqs[number]
            found[:, start : start + size] = _converted(joint, q[:, joint.q], size)
        return found


_SPEEDS = {Free: [3, 4, 5, 0, 1, 2], Planar: [1, 2, 0]}


def _converted(joint: Joint, q: np.ndarray, size: int) -> np.ndarray:
    """The coordinates of one joint, (count, nq), in Pinocchio's numbers."""
    if isinstance(joint.kind, Free):
        return q[:, [4, 5, 6, 0, 1, 2, 3]]
    if isinstance(joint.kind, Planar):
        return np.column_stack([q[:, 1:], np.cos(q[:, 0]), np.sin(q[:, 0])])
    if size == 2:
        return np.column_stack([np.cos(q), np.sin(q)])
    return q


def disagreement(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, relative to the largest entry of its state.

    >>> disagreement(np.array([[1.0, 2.0]]), np.array([[1.0, 2.5]]))
    0.2
    """
    entries = tuple(range(1, expected.ndim))
    differences = np.abs(found - expected).max(axis=entries)
    return float((differences / np.abs(expected).max(axis=entries)).max())
