"""Pinocchio's model of the same file, for those who have it: timed on the same states.

Its mimic joints move on their own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from phipsi.cli.checking.beside import matched
from phipsi.cli.checking.pinocchio import read_with_pinocchio
from phipsi.cli.tasks import Task
from phipsi.model.model import Model


class TimedPinocchio:
    """A machine as Pinocchio reads it, and our states in its coordinates.

    Args:
        pin: the module `pinocchio`.
        file: path of the URDF file.
        model: ours of the same file; its mimic joints move on their own.
        states: q, v, tau and vdot by name, (count, n) each.

    Raises:
        UnreadError: Pinocchio cannot read the file, or finds another machine in it.
    """

    def __init__(self, pin: Any, file: str, model: Model, states: dict[str, np.ndarray]):
        self._pin = pin
        self._model = read_with_pinocchio(pin, file, model)
        layout = matched(model, "pinocchio", self._model)
        names = ("q", "v", "vdot", "tau")
        there = layout.to_peer(*(states[name] for name in names))
        self._states = {name: np.ascontiguousarray(x) for name, x in zip(names, there, strict=True)}
        self._data = self._model.createData()
        self._pool = pin.ModelPool(self._model, 1)
        # Its speeds are ours in another order: v_peer = T v.
        self._T = layout.speed_map(states["q"][0])

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
        return self._T.T @ theirs if theirs.ndim == 1 else self._T.T @ theirs @ self._T
