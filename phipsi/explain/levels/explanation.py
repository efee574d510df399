"""An explanation: seven levels, what everything means, what it costs, and the numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from phipsi.algebra.node import Node
from phipsi.cleaning import fenced, for_html, visible_lines
from phipsi.errors import InputError
from phipsi.explain.levels.layout import in_letters
from phipsi.explain.levels.record import Key

TITLES = (
    "the expression",
    "its operators",
    "what each is",
    "the sweeps",
    "from link to link",
    "within the link, across the joint",
    "coordinates",
)


@dataclass(frozen=True)
class Level:
    """One level of an explanation.

    Args:
        number: 1 for the expression, 7 for the coordinates.
        title: what it shows.
        text: for a terminal of 100 columns.
    """

    number: int
    title: str
    text: str

    def __str__(self) -> str:
        return visible_lines(f"Level {self.number}: {self.title}\n{self.text}")

    __repr__ = __str__  # so that a prompt shows it


@dataclass(frozen=True)
class Part:
    """A named intermediate quantity.

    Args:
        name: in the recursions.
        formula: what it is at body k.
        expression: the same as an operator expression, in letters and in names of other parts;
            None where the algebra has none.
        meaning: in the view that was asked for.
        unit: of its rows, rotation first; "" where it is not known.
    """

    name: str
    formula: str
    expression: Node | None
    meaning: str
    unit: str


@dataclass(frozen=True)
class Explanation:
    """What an expression is, from its letters down to coordinates. Made by `explain`.

    Attributes:
        expressions: what is explained.
        view: "mechanics" or "estimation".
        levels: seven of them.
        parts: the intermediate quantities of the sweeps.
        cost: flops, sweeps and stored numbers, in words.
        numbers: the quantities at a state, as a table; "" without a machine.
        values: with `inspect=True`, of each quantity its arrays by body, joint, point or "world";
            None without.

    `str` shows all of it; a notebook shows the levels to be opened one by one.
    """

    expressions: tuple[Node, ...]
    view: str
    levels: tuple[Level, ...]
    parts: tuple[Part, ...]
    cost: str
    numbers: str
    values: dict[str, dict[Key, np.ndarray]] | None = None

    def level(self, number: int) -> Level:
        """One of the seven levels; print it.

        >>> import phipsi as pp
        >>> from phipsi.explain.levels.explain import explain
        >>> from phipsi.operators import V
        >>> print(explain(V).level(4).text.splitlines()[1])
            V(k) = phi*(p,k) V(p) + H*(k) beta(k)
        """
        if isinstance(number, bool) or number not in range(1, len(self.levels) + 1):
            titles = ", ".join(f"{x.number} ({x.title})" for x in self.levels)
            raise InputError(f"level: no level {number!r}; there are {titles}")
        return self.levels[number - 1]

    def _sections(self) -> list[tuple[str, str]]:
        sections = [(f"Level {x.number}: {x.title}", x.text) for x in self.levels]
        sections.append(("Cost", self.cost))
        if self.numbers:
            sections.append(("Numbers", self.numbers))
        return [(title, visible_lines(text)) for title, text in sections if text]

    def _in_letters(self) -> list[tuple[str, str]]:
        """The sections with the letters of the papers in their formulas.

        What was typed, and the names of the machine, stay as they are.
        """
        shown = []
        for title, text in self._sections():
            lines = text.split("\n")
            for i, line in enumerate(lines):
                if title.startswith("Level 1:"):
                    is_formula = line.startswith(" ")
                elif title == "Numbers":
                    is_formula = re.fullmatch(r"\w\S*", line) is not None
                else:
                    is_formula = title != "Cost" and "'" not in line
                lines[i] = in_letters(line) if is_formula else line
            shown.append((title, "\n".join(lines)))
        return shown

    def __str__(self) -> str:
        return "\n\n".join(f"{title}\n{'-' * len(title)}\n{x}" for title, x in self._sections())

    def __repr__(self) -> str:
        text = ", ".join(map(str, self.expressions))
        return f"<Explanation of `{text}`, {self.view}, {len(self.levels)} levels>"

    def _repr_markdown_(self) -> str:
        return "\n\n".join(f"**{title}**\n\n{fenced(text)}" for title, text in self._in_letters())

    def _repr_html_(self) -> str:
        parts = []
        for i, (title, text) in enumerate(self._in_letters()):
            opened = " open" if i in (0, 3) else ""
            parts.append(
                f"<details{opened}><summary><b>{for_html(title)}</b></summary>"
                f'<pre style="line-height:1.35">{for_html(text)}</pre></details>'
            )
        return "".join(parts)
