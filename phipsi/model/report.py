"""What became of every part of a file, and what no machine can have.

Each line of a report is a text that knows more: its status, file and line.

    used         it is in the machine
    merged       it was welded to another body, and is a frame there
    kept         it does not move the machine; it is kept for whoever asks
    ignored      it does not concern motion, or nobody knows what it means
    refused      it cannot be honoured, and the machine is without it
    implausible  it is in the machine as written, though no machine can have it
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, overload

from phipsi.cleaning import visible

Status = Literal["used", "merged", "kept", "ignored", "refused", "implausible"]
STATUSES: tuple[Status, ...] = ("used", "merged", "kept", "ignored", "refused", "implausible")
NOTABLE: tuple[Status, ...] = ("refused", "implausible")

Place = tuple[str, int]  # a file and a line in it


def label_of(tag: str, name: str | None) -> str:
    """What an element of a file is called.

    >>> label_of("joint", "elbow"), label_of("origin", None)
    ("<joint 'elbow'>", '<origin>')
    """
    return f"<{tag}>" if name is None else f"<{tag} {shorten(name)!r}>"


def shorten(text: str, limit: int = 60) -> str:
    """A text for a message."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


class Remark(str):
    """One line of a report: a text that begins with file and line.

    Args:
        status: one of `STATUSES`.
        message: what is to be said.
        place: file and line that it is about; None for what was given in Python.
        element: of the file, as `<joint 'elbow'>`.
        notable: whether one should read it; by default what is refused or implausible.

    >>> Remark("kept", "a camera", ("robot.urdf", 12))
    'robot.urdf:12: a camera'
    """

    status: Status
    file: str
    line: int
    element: str
    notable: bool

    def __new__(
        cls,
        status: Status,
        message: str,
        place: Place | None = None,
        element: str = "",
        notable: bool | None = None,
    ) -> Remark:
        text = f"{place[0]}:{place[1]}: {message}" if place else message
        made = super().__new__(cls, visible(text))
        made.status = status
        made.file, made.line = place or ("", 0)
        made.element = element
        made.notable = status in NOTABLE if notable is None else notable
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _remark_of, _parts(self)


class Report(Sequence[Remark]):
    """What became of each part of a file, in its order, and what is odd about it.

    A report of a file has a line for each of its elements; `remarks` are the
    lines to read. It is made when somebody looks at it.

    Args:
        lines: the remarks; or a function without arguments that makes them.

    >>> import phipsi as pp
    >>> builder = pp.ModelBuilder("demo", strict=False)
    >>> builder.add_body("plate", mass=1.0, inertia=(1, 1, 3))
    >>> print(builder.build().report)
    1 implausible
    body 'plate': its principal moments break the triangle inequality: 1 + 1 < 3
    """

    def __init__(self, lines: Iterable[Remark] | Callable[[], Iterable[Remark]] = ()):
        self._make = lines if callable(lines) else None
        if not callable(lines):
            self._lines = tuple(lines)

    @cached_property
    def _lines(self) -> tuple[Remark, ...]:
        assert self._make is not None
        return tuple(self._make())

    @cached_property
    def remarks(self) -> tuple[Remark, ...]:
        """What one should read: what is refused, implausible, unknown or renamed."""
        return tuple(line for line in self._lines if line.notable)

    def of(self, *statuses: Status) -> tuple[Remark, ...]:
        """The lines of these statuses."""
        return tuple(line for line in self._lines if line.status in statuses)

    @property
    def used(self) -> tuple[Remark, ...]:
        """What is in the machine."""
        return self.of("used")

    @property
    def merged(self) -> tuple[Remark, ...]:
        """What was welded to another body."""
        return self.of("merged")

    @property
    def kept(self) -> tuple[Remark, ...]:
        """What is kept and does not move the machine."""
        return self.of("kept")

    @property
    def ignored(self) -> tuple[Remark, ...]:
        """What was left out: it does not concern motion, or nobody knows what it means."""
        return self.of("ignored")

    @property
    def refused(self) -> tuple[Remark, ...]:
        """What the machine is without, because it cannot be honoured."""
        return self.of("refused")

    @property
    def implausible(self) -> tuple[Remark, ...]:
        """What is in the machine, though no machine can have it."""
        return self.of("implausible")

    @property
    def counts(self) -> dict[Status, int]:
        """How many lines each status has."""
        found = Counter(line.status for line in self._lines)
        return {status: found[status] for status in STATUSES if found[status]}

    @property
    def _summary(self) -> str:
        counts = ", ".join(f"{count:,} {status}" for status, count in self.counts.items())
        return counts or "nothing to report"

    def __str__(self) -> str:
        file = next((line.file for line in self._lines if line.file), "")
        first = f"{visible(file)}: {self._summary}" if file else self._summary
        return "\n".join((first, *(_from(file, line) for line in self.remarks)))

    def __repr__(self) -> str:
        return f"<Report: {self._summary}; {len(self.remarks)} to read in .remarks>"

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[Remark]:
        return iter(self._lines)

    @overload
    def __getitem__(self, k: int) -> Remark: ...
    @overload
    def __getitem__(self, k: slice) -> tuple[Remark, ...]: ...
    def __getitem__(self, k: int | slice) -> Any:
        return self._lines[k]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Report) and self._lines == other._lines

    def __hash__(self) -> int:
        return hash(self._lines)

    def __reduce__(self) -> tuple[Any, ...]:
        return Report, (self._lines,)


NOTHING = Report()


def _from(file: str, line: Remark) -> str:
    """A line as it is shown below the path of a file: its own begins with less of it."""
    folder = os.path.join(os.path.dirname(file), "")
    return str(line).removeprefix(visible(folder)) if line.file.startswith(folder) else str(line)


def _parts(line: Remark) -> tuple[Any, ...]:
    return str(line), line.status, line.file, line.line, line.element, line.notable


def _remark_of(
    text: str, status: Status, file: str, number: int, element: str, notable: bool
) -> Remark:
    """A remark that was pickled."""
    line = Remark(status, text, None, element, notable)
    line.file, line.line = file, number
    return line
