"""Tables and numbers, as pages and terminals show them."""

import math
from collections.abc import Iterable, Sequence

from .bar import Bar


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown that is one in a terminal, too: the first column left, others right."""
    rows = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *rest = zip(cells, widths, strict=True)
        padded = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]
        return f"| {' | '.join(padded)} |"

    rule = [f"-{'-' * widths[0]}-", *(f"-{'-' * width}:" for width in widths[1:])]
    return "\n".join([line(head), f"|{'|'.join(rule)}|", *map(line, rows)]) + "\n"


def digits(x: float | None) -> str:
    """Three significant digits, never an exponent; a dash for nothing."""
    if x is None:
        return "-"
    if x == 0:
        return "0"
    return f"{x:,.{max(0, 2 - math.floor(math.log10(abs(x))))}f}"


def bar_table(bars: Sequence[Bar]) -> str:
    """Every bar with its measure and its verdict."""

    def number(x: float | None, unit: str) -> str:
        return "-" if x is None else f"{digits(x)}{unit}"

    rows = []
    for bar in bars:
        sign = "≤" if bar.at_most else "≥"
        bound = f"{sign} {bar.bound:g}{bar.unit}"
        aim = "" if bar.aim is None else f"{bar.aim:g}{bar.unit}"
        rows.append((bar.what, number(bar.measured, bar.unit), bound, aim, bar.verdict))
    return table(("bar", "measured", "bound", "aim", "verdict"), rows)
