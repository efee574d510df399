"""Text for a terminal of 100 columns: paragraphs and tables that wrap."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 100


def paragraph(text: str, indent: int = 0) -> str:
    """A text, wrapped; further lines are indented."""
    wrapped = textwrap.wrap(
        text, WIDTH, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(wrapped)


def table(rows: Sequence[Sequence[str]], margin: int = 2) -> str:
    """Rows of cells in columns; the last cell takes what is left, and wraps below itself.

    >>> print(table([["phi", "filter"], ["M", "memoryless"]]))
      phi  filter
      M    memoryless
    """
    if not rows:
        return ""
    count = len(rows[0])
    widths = [max(len(row[i]) for row in rows) for i in range(count - 1)]
    lines = []
    for row in rows:
        start = " " * margin + "".join(
            f"{x:<{width}}  " for x, width in zip(row[:-1], widths, strict=True)
        )
        room = max(WIDTH - len(start), 30)
        parts = textwrap.wrap(row[-1], room, break_long_words=False, break_on_hyphens=False) or [""]
        lines.append((start + parts[0]).rstrip())
        lines += [" " * len(start) + x for x in parts[1:]]
    return "\n".join(lines)


def wrapped_line(text: str, indent: int) -> str:
    """A line of code; what does not fit goes on further right."""
    return "\n".join(
        textwrap.wrap(
            text,
            WIDTH,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + 8),
            break_long_words=False,
            break_on_hyphens=False,
        )
    )
