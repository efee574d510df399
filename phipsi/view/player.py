"""The panel of a motion: its time line, play and pause, speed, the member of a batch."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from phipsi.simulate.trajectory import Trajectory
from phipsi.view.handles import put
from phipsi.view.playback import Playback
from phipsi.view.subject import member_of

FRAMES_PER_SECOND = 30.0
STEPS = 1000  # of the time line
SPEEDS = ("0.1x", "0.25x", "0.5x", "1x", "2x", "5x", "10x")


class Player:
    """Plays a trajectory, from the moment it is made.

    Args:
        gui: of viser.
        trajectory: of one machine, or of a batch.
        member: which of the batch at first, counted through all its axes.
        changed: is called with q whenever there is another state to see.
    """

    def __init__(
        self, gui: Any, trajectory: Trajectory, member: int, changed: Callable[[np.ndarray], None]
    ):
        self._trajectory, self._changed = trajectory, changed
        self._motion = member_of(trajectory, member)
        start, end = self._motion.times[[0, -1]].tolist()
        self.playback = Playback(start, end, playing=end > start)
        self._lock = threading.RLock()
        self._following = False  # whether the time line moves because time goes by
        self._ended = threading.Event()
        with gui.add_folder("Motion"):
            last = max(float(trajectory.times[-1]), start + 1e-9)
            self._line = gui.add_slider("Time (s)", start, last, (last - start) / STEPS, start)
            self._button = gui.add_button("Pause")
            self._speed = gui.add_dropdown("Speed", SPEEDS, initial_value="1x")
            self._loop = gui.add_checkbox("Loop", self.playback.loop)
            if trajectory.batch:
                count = int(np.prod(trajectory.batch))
                self._member = gui.add_number("Member", member, min=0, max=count - 1, step=1)
                self._member.on_update(lambda _: self._pick(int(self._member.value)))
        self._show_state()
        self._line.on_update(lambda _: self._slid())
        self._button.on_click(lambda _: self._press())
        self._speed.on_update(lambda _: self._choose())
        self._loop.on_update(lambda _: self._choose())
        self._thread = threading.Thread(target=self._run, name="phipsi player", daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """Stand still."""
        with self._lock:
            self.playback.playing = False
            self._show_state()

    def close(self) -> None:
        """End the thread that counts the time."""
        self._ended.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    # -- what happens

    def _run(self) -> None:
        before = time.monotonic()
        while not self._ended.wait(1.0 / FRAMES_PER_SECOND):
            now = time.monotonic()
            with self._lock:
                if self.playback.playing:
                    self.playback.advance(now - before)
                    self._show()
            before = now

    def _show(self) -> None:
        """The state and the time line as they are now."""
        self._following = True
        try:
            put(self._line, value=self.playback.time)
        finally:
            self._following = False
        self._show_state()
        self._changed(self._motion.at(self.playback.time)[0])

    def _show_state(self) -> None:
        label = "Pause" if self.playback.playing else "Play"
        if self._button.label != label:
            put(self._button, label=label)

    # -- what the user does

    def _slid(self) -> None:
        with self._lock:
            if not self._following:
                self.playback.jump(self._line.value)
                self._show()

    def _press(self) -> None:
        with self._lock:
            self.playback.toggle()
            self._show()

    def _choose(self) -> None:
        with self._lock:
            self.playback.speed = float(self._speed.value.rstrip("x"))
            self.playback.loop = self._loop.value

    def _pick(self, member: int) -> None:
        with self._lock:
            self._motion = member_of(self._trajectory, member)
            self.playback.end = float(self._motion.times[-1])
            self.playback.time = min(self.playback.time, self.playback.end)
            self._show()
