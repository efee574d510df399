"""Where in a text something is: line, column, and a caret under it.

A column is what a reader counts: an accent and the letter below it are one. The
caret stands by the width of what is before it, so that it is also right below
letters that take two cells, or none.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from unicodedata import category, combining, east_asian_width

from phipsi.errors import InputError, PhipsiError

LONGEST_QUOTE = 40  # signs
WIDEST = 76  # cells of a line that are shown


class Span(NamedTuple):
    """A part of a text, from sign `start` up to, not with, sign `end`."""

    start: int
    end: int


def failure(
    message: str, text: str, span: tuple[int, int], kind: type[PhipsiError] = InputError
) -> PhipsiError:
    """An error that points at a part of a text.

    >>> print(failure("no letter 'Q'", "phi M Q V", (6, 7)))
    no letter 'Q'
      at column 7:
        phi M Q V
              ^
    """
    return kind(f"{message}\n{_pointer(text, *span)}")


def shortened(text: str) -> str:
    """A text that may be long, as it is quoted in a message."""
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}..."


def _pointer(text: str, start: int, end: int) -> str:
    number, begin, line = _line_of(text, start)
    column = sum(map(_counts, line[: start - begin])) + 1
    first = start - begin
    last = max(first + 1, min(end - begin, len(line)))
    where = f"column {column}" if line == text else f"line {number}, column {column}"
    line, first, last = _window(line, first, last)
    indent = sum(map(_cells, line[:first]))
    length = max(1, sum(map(_cells, line[first:last])))
    shown = "".join(_shown(sign) for sign in line)
    return f"  at {where}:\n    {shown.rstrip()}\n    {' ' * indent}{'^' * length}"


def _line_of(text: str, place: int) -> tuple[int, int, str]:
    """Number, first sign and text of the line that holds a place."""
    begin = 0
    number = 1
    for end in re.finditer(r"\r\n|\n|\r", text):
        if end.end() > place:
            return number, begin, text[begin : end.start()]
        begin, number = end.end(), number + 1
    return number, begin, text[begin:]


def _window(line: str, first: int, last: int) -> tuple[str, int, int]:
    """As much of a line around a part as fits on the screen."""
    if len(line) <= WIDEST:
        return line, first, last
    begin = max(0, min(first - WIDEST // 2, len(line) - WIDEST))
    cut = line[begin : begin + WIDEST]
    before, after = "…" if begin else "", "…" if begin + WIDEST < len(line) else ""
    shift = begin - len(before)
    return before + cut + after, first - shift, min(last - shift, len(before + cut))


def _cells(sign: str) -> int:
    """How many cells of a terminal a sign takes."""
    if not _counts(sign):
        return 0
    return 2 if east_asian_width(sign) in "WF" else 1


def _counts(sign: str) -> bool:
    """Whether a reader counts a sign: no accents, no signs without a width."""
    return not combining(sign) and category(sign) not in ("Mn", "Me", "Cf")


def _shown(sign: str) -> str:
    """A sign that does not move those after it: tabs and controls would."""
    return sign if category(sign) not in ("Cc", "Zl", "Zp") else " "
