"""Text for a terminal of 100 columns: paragraphs, tables that wrap, letters of the papers."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Sequence

from phipsi.algebra.alphabet import PAPERS
from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.text.spelling import in_unicode
from phipsi.cleaning import visible, visible_lines

WIDTH = 100


def paragraph(text: str, indent: int = 0) -> str:
    """A text, wrapped; further lines are indented."""
    wrapped = textwrap.wrap(
        visible_lines(text),
        WIDTH,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
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
    rows = [[visible(cell) for cell in row] for row in rows]
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
            visible_lines(text),
            WIDTH,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + 8),
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


# -- expressions ---------------------------------------------------------------------------------


def printed(node: Node) -> str:
    """An expression as the papers print it: `psi K (T - H f)`; names in quotes as they are."""
    parts = re.split(r"('[^']*')", str(node))
    return "".join(x if i % 2 else _without_dots(x) for i, x in enumerate(parts))


def _without_dots(text: str) -> str:
    text = text.replace(" * ", " ").replace(" @ ", " ")
    text = text.replace(".T", "*").replace(".inv", "^-1").replace(".sqrt", "^1/2")
    return re.sub(r"(?<![\w.])(\d+)\.0(?!\d)", r"\1", text)


_NAME = re.compile(r"[A-Za-z_]\w*")
_GAP = re.compile(r"( {2,})")


def in_letters(line: str) -> str:
    """A line of ASCII with the letters of the papers; columns stay aligned.

    >>> in_letters("P+(k) = P(k) - G(k) H(k) P(k)"), in_letters("nu(k) = D^-1(k) eps(k)")
    ('P⁺(k) = P(k) − G(k) H(k) P(k)', 'ν(k) = D⁻¹(k) ε(k)')
    >>> in_letters("psi  filter")
    'ψ    filter'
    """
    cells = _GAP.split(line)  # cells and gaps, by turns
    for i in range(0, len(cells), 2):
        spelled = len(cells[i])
        cells[i] = _spelled(cells[i])
        if i + 1 < len(cells):
            cells[i + 1] += " " * (spelled - _width(cells[i]))
    return "".join(cells)


def _spelled(text: str) -> str:
    text = text.replace("^-1", "⁻¹").replace("^1/2", "^½").replace(" - ", " − ")
    text = re.sub(r"(?<=\w)\+(?!=)", "⁺", text)
    text = re.sub(r"\bsum_([a-z])\b", r"Σ_\1", text)
    text = re.sub(r"\beps(?=\b|_\d)", "epsilon", text)
    return _NAME.sub(lambda x: in_unicode(_look(x[0])), text)


def _look(name: str) -> str:
    """How a name is spelled out in papers."""
    letter = PAPERS.letters.get(name)
    return letter.record.look or name if isinstance(letter, Symbol) else name


def _width(text: str) -> int:
    """How many columns a text takes: accents take none."""
    return sum(not unicodedata.combining(sign) for sign in text)
