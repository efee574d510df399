"""What the commands print on: plain words in pipes, colours on a terminal."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from phipsi.cleaning import visible, visible_lines

WIDE = 240  # columns in a pipe: nothing is cut that a later program looks for


class Piped(Console):
    """A console whose output may be closed by whoever reads it; `main` then ends quietly."""

    def on_broken_pipe(self) -> None:
        """Tell `main`."""
        raise BrokenPipeError


class Screen(Piped):
    """A console that takes texts as they are: names in square brackets are no markup, and names
    between colons are no pictures.

    Args:
        stderr: for what is no result: errors, and what is being done.

    >>> Screen().print("[0] and :abc: are printed")
    [0] and :abc: are printed
    """

    def __init__(self, stderr: bool = False):
        stream = sys.stderr if stderr else sys.stdout
        is_free = not stream.isatty() and "COLUMNS" not in os.environ
        width = WIDE if is_free else None
        plain: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}
        super().__init__(stderr=stderr, width=width, **plain)

    def render(self, *what: Any, **options: Any) -> Iterator[Segment]:
        """As rich does; what is no text of ours cannot act, wherever it has come from."""
        for part in super().render(*what, **options):
            yield part if part.control else Segment(visible_lines(part.text), part.style)

    def print(self, *objects: Any, **options: Any) -> None:
        """As rich prints; in pipes without spaces at the ends of lines."""
        if self.is_terminal:
            super().print(*objects, **options)
            return
        with self.capture() as caught:
            super().print(*objects, **options)
        self.file.write("".join(f"{line.rstrip()}\n" for line in caught.get().splitlines()))


class _Cells(Table):
    """A table whose cells are lines of plain text."""

    def add_row(self, *cells: Any, **options: Any) -> None:
        """As rich does."""
        super().add_row(*map(_in_line, cells), **options)


def _in_line(cell: Any) -> Any:
    if isinstance(cell, Text):
        return Text(visible(cell.plain), style=cell.style)
    return visible(cell) if isinstance(cell, str) else cell


def table(*columns: str, left: int = 1) -> Table:
    """An empty table without lines.

    Args:
        columns: their titles.
        left: so many columns are text and stand to the left; the others are numbers.
    """
    made = _Cells(box=None, header_style="dim", pad_edge=False, padding=(0, 3, 0, 0))
    for k, title in enumerate(columns):
        made.add_column(title, justify="left" if k < left else "right", no_wrap=True)
    return made


def facts(pairs: dict[str, str]) -> Table:
    """Names, and what is to be said about them."""
    made = Table.grid(padding=(0, 3, 0, 0))
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for name, text in pairs.items():
        made.add_row(visible(name), visible(text))
    return made


def heading(text: str) -> Text:
    """A title above a part of the page."""
    return Text(f"\n{visible(text)}", style="bold")


def number(x: float, digits: int = 4) -> str:
    """A number with so many digits, as short as can be.

    >>> number(0.123456), number(-0.0), number(1234567.0)
    ('0.1235', '0', '1.235e+06')
    """
    return f"{x + 0.0:.{digits}g}"


def times(x: float) -> str:
    """A ratio with two digits that mean something.

    >>> times(3.14159), times(123.4), times(12345.6)
    ('3.1', '120', '12,000')
    """
    return f"{float(f'{x:.2g}'):,.0f}" if x >= 100.0 else f"{x:.2g}"


def plural(count: int, noun: str, several: str = "") -> str:
    """A count with its noun.

    >>> plural(1, "body", "bodies"), plural(2000, "joint")
    ('1 body', '2,000 joints')
    """
    return f"{count:,} {noun if count == 1 else several or noun + 's'}"


def print_json(told: dict[str, Any]) -> None:
    """One JSON object on a line of standard output, in letters that every terminal has.

    >>> print_json({"name": "φ", "upper": None})
    {"name": "\\u03c6", "upper": null}
    """
    sys.stdout.write(f"{json.dumps(told, allow_nan=False)}\n")


@contextmanager
def working(on: str) -> Iterator[None]:
    """Says on a terminal what takes a while; in pipes nothing."""
    console = Screen(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(Text(visible(f"{on} ..."))):  # a name in square brackets is no markup
        yield


def open_closed_streams() -> None:
    """Where a shell has closed a stream, as by `>&-`, what is printed there goes nowhere.

    The stream stays open until the process ends.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115


def take_every_letter() -> None:
    """Where the terminal has no φ, a question mark is printed; nothing fails."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
