"""What was found about the numbers of a machine: a line for each measure, the worst body named."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from phipsi.cleaning import for_html, quoted, visible
from phipsi.errors import InputError, name_choices

Status = Literal["fine", "lost", "implausible", "unknown", "wrong"]
STATUSES: tuple[Status, ...] = ("fine", "unknown", "lost", "implausible", "wrong")  # ever worse
Place = Literal["body", "joint", "machine"]

DIGITS = 16  # of a double, nearly
ROUNDOFF = float(np.finfo(float).eps)
WIDTH = 100  # columns of the table
STYLES = {"wrong": "bold red", "lost": "yellow", "implausible": "yellow", "unknown": "dim"}
COLUMNS = ("measure", "worst at", "value", "verdict", "formula")


@dataclass(frozen=True)
class Finding:
    """One measure of a machine, where it is worst.

    Args:
        measure: what was looked at.
        formula: that should hold, in the papers' letters.
        status: "fine", "lost" (digits), "implausible", "wrong", or "unknown" where it could
            not be looked at.
        value: of the measure, where it is worst; None if it is unknown.
        limit: where "fine" ends.
        place: whether the worst is a body, a joint, or the whole machine.
        name: of that body or joint.
        digits: decimal digits that are lost, of 16.
        meaning: what that is in physical words.
        values: of every body or joint by name, where it is measured one by one.
    """

    measure: str
    formula: str
    status: Status
    value: float | None
    limit: float | None
    place: Place
    name: str
    digits: float
    meaning: str
    values: Mapping[str, float] = field(default_factory=dict, repr=False)

    @property
    def verdict(self) -> str:
        """In two words.

        >>> Finding("pivots", "D > 0", "lost", 1e-9, 1e-8, "joint", "elbow", 9.0, "").verdict
        'digits lost: 9 of 16'
        """
        if self.status == "lost":
            return f"digits lost: {min(DIGITS, round(self.digits))} of {DIGITS}"
        return {"unknown": "not looked at"}.get(self.status, self.status)

    @property
    def where(self) -> str:
        """The worst body or joint, as `joint 'elbow'`."""
        return f"{self.place} {quoted(self.name)}" if self.name else ""

    def as_dict(self) -> dict[str, Any]:
        """For programs: texts and finite numbers, as JSON has them."""
        return {
            "measure": self.measure,
            "formula": self.formula,
            "verdict": self.verdict,
            "value": _finite(self.value),
            "limit": _finite(self.limit),
            "place": self.place,
            "name": self.name,
            "digits_lost": _finite(self.digits),
            "meaning": self.meaning,
        }

    def __str__(self) -> str:
        return visible(f"{self.measure}: {self.verdict}; {self.meaning}")


class Diagnosis(Sequence[Finding]):
    """What `pp.diagnose` has found: a sequence of findings.

    Args:
        machine: its name.
        findings: in the order in which one thing follows from another.
    """

    def __init__(self, machine: str, findings: Sequence[Finding]):
        self.machine, self._findings = machine, tuple(findings)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong; digits may be lost, and bodies implausible."""
        return all(each.status != "wrong" for each in self)

    @property
    def worst(self) -> Finding:
        """The worst finding. Of what is wrong the first, for the others follow from it; else
        the one where most digits are lost."""
        level = max(STATUSES.index(each.status) for each in self)
        worst = [each for each in self if STATUSES.index(each.status) == level]
        if worst[0].status in ("wrong", "unknown"):
            return worst[0]
        return max(worst, key=lambda each: each.digits)

    def __getitem__(self, key: Any) -> Any:
        """A finding by its measure, or by its number."""
        if not isinstance(key, str):
            return self._findings[key]
        for each in self:
            if each.measure == key:
                return each
        names = [each.measure for each in self]
        raise InputError(f"there is no measure {key!r}; {name_choices(key, names)}")

    def __len__(self) -> int:
        return len(self._findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._findings)

    @property
    def summary(self) -> str:
        """All of it in a line."""
        machine = visible(self.machine)
        odd = [each for each in self if each.status != "fine"]
        if not odd:
            most = self.worst
            lost = f"{max(0, round(most.digits))} of {DIGITS} digits lost at most"
            return f"{machine}: all {len(self)} measures are fine, {lost}, by {most.measure}"
        counts = {s: sum(each.status == s for each in odd) for s in reversed(STATUSES)}
        words = {"lost": "digits lost", "unknown": "not looked at"}
        told = ", ".join(f"{words.get(s, s)}: {n}" for s, n in counts.items() if n)
        where = f", {self.worst.where}" if self.worst.name else ""
        return f"{machine}: of {len(self)} measures {told}; see {self.worst.measure}{where}"

    def as_dict(self) -> dict[str, Any]:
        """For programs: what JSON has."""
        return {
            "machine": self.machine,
            "ok": self.ok,
            "worst": self.worst.measure,
            "findings": [each.as_dict() for each in self],
        }

    # -- as it is read ---------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<Diagnosis {self.summary}>"

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(file=io.StringIO(), width=WIDTH, color_system=None, markup=False)
        console.print(self)
        lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
        return "\n".join(line.rstrip() for line in lines)

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich.table import Table
        from rich.text import Text

        yield Text(self.summary, style="bold")
        table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
        for title in COLUMNS:
            side: Any = "right" if title == "value" else "left"
            table.add_column(title, justify=side, no_wrap=title in ("measure", "verdict"))
        for each in self:
            cells = (Text(cell, style=STYLES.get(each.status, "")) for cell in _cells(each))
            table.add_row(*cells)
        yield table
        for each in self:
            if each.status != "fine":
                yield Text(f"- {each}", style=STYLES.get(each.status, ""))

    def _repr_html_(self) -> str:
        def row(cells: Sequence[str], tag: str, style: str = "") -> str:
            inner = "".join(f"<{tag}>{for_html(cell)}</{tag}>" for cell in cells)
            return f"<tr{style}>{inner}</tr>"

        marks = {"wrong": ' style="color: #c00; font-weight: bold"'}
        marks |= dict.fromkeys(("lost", "implausible"), ' style="color: #a60"')
        rows = [row(_cells(each), "td", marks.get(each.status, "")) for each in self]
        told = [f"<li>{for_html(str(each))}</li>" for each in self if each.status != "fine"]
        return (
            f"<p><b>{for_html(self.summary)}</b></p>"
            f"<table><thead>{row(COLUMNS, 'th')}</thead><tbody>{''.join(rows)}</tbody></table>"
            + (f"<ul>{''.join(told)}</ul>" if told else "")
        )


def _cells(each: Finding) -> tuple[str, ...]:
    value = "" if each.value is None else f"{each.value:.1e}"
    return each.measure, each.where, value, each.verdict, each.formula


def _finite(x: float | None) -> float | None:
    return None if x is None or not math.isfinite(x) else float(x)
