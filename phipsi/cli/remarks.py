"""The lines of a report, as they are read: files by their names, lines of one sort together."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from phipsi.cleaning import visible
from phipsi.cli.failures import with_options
from phipsi.model.report import Remark

MOST_LINES = 8  # whose numbers are listed
_PARTICULAR = re.compile(r"(?<!attribute )'[^']*'|[-+]?\d[\w.+-]*")  # names and numbers


def sorts(remarks: Iterable[Remark]) -> list[list[Remark]]:
    """Remarks that say the same of different names and numbers, together.

    >>> told = [Remark("ignored", f"<odd> in <link {name!r}>") for name in "ab"]
    >>> [len(lines) for lines in sorts([*told, Remark("refused", "a loop")])]
    [2, 1]
    """
    found: dict[tuple[str, str], list[Remark]] = {}
    for remark in remarks:
        text = _PARTICULAR.sub("", message_of(remark))
        found.setdefault((remark.status, text), []).append(remark)
    return list(found.values())


def short(remark: Remark) -> str:
    """A remark that names its file without the directories.

    >>> short(Remark("kept", "a camera", ("robots/arm.urdf", 12)))
    'arm.urdf:12: a camera'
    """
    message = with_options(message_of(remark))
    if not remark.file:
        return message
    return f"{visible(os.path.basename(remark.file))}:{remark.line}: {message}"


def message_of(remark: Remark) -> str:
    """A remark without its file and line."""
    return str(remark).removeprefix(visible(f"{remark.file}:{remark.line}: "))


def paragraphs(remarks: Iterable[Remark], most: int) -> Iterator[str]:
    """One line for each sort of remark: the first of them, and where the others are.

    Args:
        remarks: all that are to be told.
        most: sorts; the others are counted.
    """
    told = sorts(remarks)
    for lines in told[:most]:
        yield short(lines[0]) + _others(lines[1:])
    left = sum(len(lines) for lines in told[most:])
    if left:
        yield f"... and {left:,} more by --report"


def _others(lines: Sequence[Remark]) -> str:
    """Where the rest of a sort is.

    >>> _others([Remark("kept", "", ("arm.urdf", k)) for k in range(1, 4)])
    ' (and 3 more: lines 1, 2, 3)'
    """
    if not lines:
        return ""
    numbers = list(dict.fromkeys(str(line.line) for line in lines if line.line))
    rest = ", ..." if len(numbers) > MOST_LINES else ""
    noun = "line" if len(numbers) == 1 else "lines"
    where = f": {noun} {', '.join(numbers[:MOST_LINES])}{rest}" if numbers else ""
    return f" (and {len(lines):,} more{where})"
