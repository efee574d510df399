"""How far a simulation is: a bar with simulated time, speed over real time, time to go.

On a terminal only, and only for what takes a while.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

PATIENCE = 0.5  # seconds before anything is shown
OFTEN = 0.1  # seconds from one look to the next


def _is_terminal() -> bool:
    """Whether somebody looks: programs without a console have no standard error at all."""
    return sys.stderr is not None and sys.stderr.isatty()


class Progress:
    """Told how far it is.

    Args:
        duration: simulated seconds in all.
        show: True to show a bar, False for none; None to decide by whether standard error is
            a terminal.
        what: is simulated.
    """

    def __init__(self, duration: float, show: bool | None = None, what: str = "simulating"):
        self.duration, self.what = duration, what
        self._show = _is_terminal() if show is None else bool(show)
        self._anywhere = True if show else None
        self._bar: Any = None
        self._task: Any = None
        self._start = self._last = 0.0

    def __enter__(self) -> Progress:
        self._start = self._last = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def at(self, simulated: float) -> None:
        """So much time has been simulated."""
        if not self._show:
            return
        now = time.perf_counter()
        if now - self._last < OFTEN and simulated < self.duration:
            return
        self._last = now
        if self._bar is None:
            if now - self._start < PATIENCE:
                return
            self._open()
        speed = simulated / (now - self._start)
        self._bar.update(self._task, completed=simulated, speed=f"{speed:,.3g} x real time")

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:.2f} of {task.total:.2f} s"),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True, force_terminal=self._anywhere),
            transient=True,
        )
        self._task = self._bar.add_task(self.what, total=self.duration, speed="")
        self._bar.start()
