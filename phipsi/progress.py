"""How far long work is: a bar with what is done, how fast, and the time to go.

On a terminal only, and only for what takes a while.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

PATIENCE = 0.5  # seconds before anything is shown
OFTEN = 0.1  # seconds from one look to the next


def _is_terminal() -> bool:
    """Whether somebody looks: programs without a console have no standard error at all."""
    return sys.stderr is not None and sys.stderr.isatty()


def _tell_nothing(done: float, seconds: float) -> str:
    return ""


class Progress:
    """Told how far it is.

    Args:
        total: of the work, in the unit of `done`; None where nobody knows.
        what: is done, in a word.
        done: how much of it is, as a format of rich: "{task.completed} of {task.total}".
        speed: of work that was done in so many seconds, in words.
        show: True to show a bar, False for none; None to decide by whether standard error is
            a terminal.
    """

    def __init__(
        self,
        total: float | None,
        what: str,
        done: str,
        speed: Callable[[float, float], str] = _tell_nothing,
        show: bool | None = None,
    ):
        self.total, self.what, self.done, self.speed = total, what, done, speed
        self._show = _is_terminal() if show is None else bool(show)
        self._anywhere = True if show else None
        self._bar: Any = None
        self._task: Any = None
        self._start = self._last = 0.0

    def __enter__(self) -> Self:
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

    def at(self, done: float) -> None:
        """So much has been done."""
        if not self._show:
            return
        now = time.perf_counter()
        if now - self._last < OFTEN and (self.total is None or done < self.total):
            return
        self._last = now
        if self._bar is None:
            if now - self._start < PATIENCE:
                return
            self._open()
        speed = self.speed(done, now - self._start)
        self._bar.update(self._task, completed=done, speed=speed)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn(self.done),
            TextColumn("{task.fields[speed]}"),
            TimeElapsedColumn() if self.total is None else TimeRemainingColumn(),
            console=Console(stderr=True, force_terminal=self._anywhere),
            transient=True,
        )
        self._task = self._bar.add_task(self.what, total=self.total, speed="")
        self._bar.start()
