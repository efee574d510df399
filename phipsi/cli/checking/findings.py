"""What was found about a machine, as one JSON object and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from phipsi.cleaning import visible
from phipsi.cli.checking.comparison import Comparison
from phipsi.cli.checking.opinions import Opinion
from phipsi.cli.describe import entry
from phipsi.cli.remarks import paragraphs
from phipsi.cli.screen import Screen, facts, heading, number, plural, table
from phipsi.model.model import Model
from phipsi.model.report import Remark

MOST_REMARKS = 20  # sorts of them


@dataclass(frozen=True)
class Findings:
    """What was found about a machine.

    Args:
        model: the machine.
        file: that it was read from, as the user gave it.
        is_file: whether there is one; else it is a machine of phipsi's own.
        states: how many states answers were compared at.
        seed: of these.
        laws: what must hold of our answers.
        opinions: of others.
        open_loops: loops and couplings that do not hold, at the neutral configuration and
            at those that the file names; none of a tree.
        remarks: what no machine can have.
        unread: why some shapes were not looked at; "" if all were.
    """

    model: Model
    file: str
    is_file: bool
    states: int
    seed: int
    laws: Sequence[Comparison]
    opinions: Sequence[Opinion]
    open_loops: Mapping[str, Sequence[str]]
    remarks: Sequence[Remark]
    unread: str

    @property
    def differ(self) -> bool:
        """Whether two answers cannot both be right."""
        return any(law.differs for law in self.laws) or any(x.differs for x in self.opinions)

    def as_json(self) -> dict[str, Any]:
        """For programs; docs/command_line.md says what each key means."""
        return {
            "name": self.model.name,
            "file": self.file if self.is_file else None,
            "states": self.states,
            "seed": self.seed,
            "agrees": not self.differ,
            "laws": [law.as_json() for law in self.laws],
            "peers": [opinion.as_json() for opinion in self.opinions],
            "open_loops": {name: list(lines) for name, lines in self.open_loops.items()},
            "remarks": [entry(line) for line in self.remarks],
            "unread_shapes": self.unread or None,
        }

    def print_on(self, screen: Screen) -> None:
        """In words: tables first, the verdicts last."""
        screen.print(Text(visible(self.model.name), style="bold"))
        screen.print(facts(self._facts()))
        screen.print(heading("phipsi by itself"))
        _print_comparisons(screen, self.laws)
        for opinion in self.opinions:
            if not opinion.reason:
                screen.print(heading(f"{opinion.name} {opinion.version}"))
                _print_comparisons(screen, opinion.comparisons)
                _print_lines(screen, [f"- {note}" for note in opinion.notes])
        silent = [opinion for opinion in self.opinions if opinion.reason]
        if silent:
            screen.print(heading("Not compared"))
            names = (f"{x.name} {x.version}".strip() for x in silent)
            told = zip(names, silent, strict=True)
            _print_lines(screen, [f"- {name}: {opinion.reason}" for name, opinion in told])
        for name, lines in self.open_loops.items():
            screen.print(heading(f"Loops, joints at {name}"))
            _print_lines(screen, lines or ["all are closed"])
        if self.remarks:
            what = plural(len(self.remarks), "remark")
            screen.print(heading(f"{what} on what is refused or implausible"))
            _print_lines(screen, paragraphs(self.remarks, MOST_REMARKS))
        if self.unread:
            screen.print(f"\n{self.unread}", soft_wrap=True)
        screen.print()
        for line, style in self._verdicts():
            screen.print(Text(line, style=style), soft_wrap=True)

    def _facts(self) -> dict[str, str]:
        model = self.model
        bodies = plural(len(model.bodies), "body", "bodies")
        freedoms = f"{plural(model.nv, 'freedom')} in {plural(model.nq, 'coordinate')}"
        told = {
            "from": self.file if self.is_file else "phipsi's own machines",
            "machine": f"{bodies}, {freedoms}, {number(model.mass)} kg",
            "states": f"{self.states:,}, random, by seed {self.seed}",
        }
        if model.is_closed:
            told["loops"] = "left open, on all sides"
        return told

    def _verdicts(self) -> Iterator[tuple[str, str]]:
        """The last lines: who agrees and how well, who differs and where; with their styles."""
        sides = {"phipsi and itself": self.laws}
        sides |= {f"phipsi and {opinion.name}": opinion.comparisons for opinion in self.opinions}
        for name, found in sides.items():
            compared = [each for each in found if each.difference is not None]
            wrong = [each for each in compared if each.differs]
            for each in wrong:
                what = f"{each.quantity}, by {each.spoken} at {each.where}"
                yield f"{name} DIFFER: {what}", "bold red"
            if compared and not wrong:
                worst = max(each.difference or 0.0 for each in compared)
                yield f"{name} agree to {worst:.0e}", "green"
        if not any(opinion.comparisons for opinion in self.opinions):
            yield "no peer was compared", ""


def _print_lines(screen: Screen, lines: Sequence[str] | Iterator[str]) -> None:
    for line in lines:
        screen.print(line, soft_wrap=True)


def _print_comparisons(screen: Screen, found: Sequence[Comparison]) -> None:
    """A row for each quantity that was compared; below it why others were not."""
    rows = table("", "difference", "largest at", left=1)
    place = rows.columns[2]
    place.justify, place.no_wrap, place.overflow = "left", False, "fold"
    for each in found:
        if each.difference is not None:
            style = "bold red" if each.differs else ""
            cells = (each.quantity, each.spoken, each.where)
            rows.add_row(*(Text(cell, style=style) for cell in cells))
    if rows.row_count:
        screen.print(rows)
    _print_lines(screen, [f"- {each.quantity}: {each.reason}" for each in found if each.reason])
