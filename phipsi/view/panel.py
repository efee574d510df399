"""The panel of a machine: a slider for each freedom of its joints."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np

from phipsi.cleaning import brief
from phipsi.model.model import Joint, Model
from phipsi.view.controls import controls, coordinates, slider_values
from phipsi.view.handles import put

MOST_SLIDERS = 200  # in a folder that is open at first


class JointPanel:
    """Sliders for the joints that have coordinates of their own, and buttons.

    Args:
        gui: of viser.
        model: the machine.
        q: the configuration at first, (nq,).
        changed: is called with q whenever the user has moved the machine.
    """

    def __init__(
        self, gui: Any, model: Model, q: np.ndarray, changed: Callable[[np.ndarray], None]
    ):
        self._gui, self._model, self._first = gui, model, q.copy()
        self._q, self._changed = q.copy(), changed
        self._lock = threading.RLock()
        self._following = False  # whether sliders move because q was set
        self._rng = np.random.default_rng()
        with gui.add_folder("Joints", expand_by_default=model.nv <= MOST_SLIDERS):
            buttons = gui.add_button_group("", ("Reset", "Random"))
            self._sliders = {joint.name: self._add_sliders(joint) for joint in model.leaders}
        buttons.on_click(lambda event: self._press(event.target.value))

    def set(self, q: np.ndarray) -> None:
        """Move the sliders to a configuration."""
        with self._lock:
            self._q = np.array(q, dtype=float)
            self._following = True
            try:
                for joint in self._model.leaders:
                    values = slider_values(joint, self._q[joint.q].tolist())
                    for slider, value in zip(self._sliders[joint.name], values, strict=True):
                        if not slider.min <= value <= slider.max:
                            low, high = min(slider.min, value), max(slider.max, value)
                            put(slider, min=low, max=high)
                        put(slider, value=value)
            finally:
                self._following = False

    def _add_sliders(self, joint: Joint) -> list[Any]:
        sliders = []
        with ExitStack() as stack:
            if joint.kind.nq > 1:
                stack.enter_context(self._gui.add_folder(brief(joint.name)))
            values = slider_values(joint, self._q[joint.q].tolist())
            for control, value in zip(controls(joint), values, strict=True):
                wide = control.reaching(value)
                reach = wide.low, wide.high, wide.step
                slider = self._gui.add_slider(brief(wide.label), *reach, value)
                slider.on_update(lambda _: self._slid(joint))
                sliders.append(slider)
        return sliders

    def _slid(self, joint: Joint) -> None:
        """A slider has moved."""
        with self._lock:
            if self._following:
                return
            values = [slider.value for slider in self._sliders[joint.name]]
            self._q[joint.q] = coordinates(joint, values)
            self._changed(self._q.copy())

    def _press(self, button: str) -> None:
        with self._lock:
            self.set(self._first if button == "Reset" else self._model.random(self._rng))
            self._changed(self._q.copy())
