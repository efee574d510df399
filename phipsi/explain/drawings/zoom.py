"""A body k in a sweep, between its parent p and a child c: what goes in, out, and on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from phipsi.explain.drawings import colours, svg
from phipsi.explain.drawings.flow import Sweep
from phipsi.explain.drawings.labels import Labels
from phipsi.explain.drawings.skeleton import DIRECTIONS
from phipsi.explain.drawings.words import wrapped
from phipsi.lowering.program import Direction

REACH = 138.0  # from the middle of a body to that of its neighbour
BODY = (34.0, 24.0)  # half the width and height of body k
NEIGHBOUR = 13.0  # the radius of p and c
SIDE = 14.0  # where arrows meet body k, from its middle
SIZE, LINE = 11.0, 14.0
EMITTED = {
    "emit_diagonal": "diagonal blocks",
    "emit_block": "diagonal blocks",
    "emit_column": "columns",
    "emit_pair": "pairs of columns",
}


class Zoom:
    """What a sweep does at a body.

    Args:
        sweep: the loop.
        labels: what flows in it.
    """

    def __init__(self, sweep: Sweep, labels: Labels):
        self.sweep, self.labels = sweep, labels

    @cached_property
    def enters(self) -> list[str]:
        """Lines of what the user gives."""
        said = self.labels.entering(self.sweep.enters)
        return wrapped(", ".join([*said, *["points"] * self.sweep.at_points]), REACH, SIZE)

    @cached_property
    def passed(self) -> list[str]:
        """Lines of what goes along an edge."""
        slots = self.sweep.passed
        said = self.labels.handed(x for x in slots if x.domain.kind != "column")
        columns = self.labels.handed(x for x in slots if x.domain.kind == "column")
        said += [f"columns {columns[0]}", *columns[1:]] if columns else []
        room = REACH - NEIGHBOUR - BODY[0] + 4.0
        whole = [
            x.replace(" ", "\u00a0") if svg.text_width(f"{x},", SIZE) <= room else x for x in said
        ]
        return wrapped(", ".join(whole), room, SIZE)

    @cached_property
    def leaves(self) -> list[str]:
        """Lines of what is a result: blocks of a vector, or what is filled in of a matrix."""
        if not self.sweep.leaves:
            return []
        kinds = dict.fromkeys(EMITTED[x.step] for x in self.sweep.leaves if x.step in EMITTED)
        return wrapped(f"result: {', '.join(kinds)}" if kinds else "result", REACH, SIZE)

    @property
    def _rise(self) -> float:
        """From the middle of body k to the lowest line of what enters."""
        return max(BODY[1] + 22.0, LINE * len(self.passed) + 18.0)

    @property
    def above(self) -> float:
        """Pixels from the top to the middle of body k."""
        return self._rise + LINE * max(1, len(self.enters)) + 6.0

    @property
    def below(self) -> float:
        """Pixels from the middle of body k to the bottom."""
        return BODY[1] + 28.0 + LINE * max(1, len(self.leaves))

    def parts(self, x: float, y: float) -> Iterator[str]:
        """The elements, the middle of body k at (x, y)."""
        if self.sweep.direction is not None:
            yield from self._neighbours(x, y, self.sweep.direction)
        yield svg.rectangle(
            *(x - BODY[0], y - BODY[1], 2 * BODY[0], 2 * BODY[1]),
            rx=8,
            fill="#ffffff",
            stroke=colours.INK,
            stroke_width=1.6,
        )
        word = "once" if self.sweep.direction is None else "body k"
        yield svg.text(x, y, word, 12.0, colours.INK, text_anchor="middle", font_weight="bold")
        if self.enters:
            top = y - self._rise - LINE * (len(self.enters) - 1)
            yield svg.arrow([(x - SIDE, top - 4.0), (x - SIDE, y - BODY[1])], colours.INK)
            yield from lines_before(x - SIDE - 8.0, top, self.enters)
        if self.leaves:
            end = y + BODY[1] + 28.0
            yield svg.arrow([(x - SIDE, y + BODY[1]), (x - SIDE, end)], colours.INK)
            yield from lines_before(x - SIDE - 8.0, end - 6.0, self.leaves)

    def _neighbours(self, x: float, y: float, direction: Direction) -> Iterator[str]:
        """Parent and child, and what goes along the edges."""
        color = DIRECTIONS[direction][0]
        inner = (x - REACH + NEIGHBOUR + 2, y), (x - BODY[0] - 2, y)
        outer = (x + BODY[0] + 2, y), (x + REACH - NEIGHBOUR - 2, y)
        for left, right in (inner, outer):
            if not self.passed:
                yield svg.line(left, right, stroke=colours.GRID, stroke_width=1.2)
                continue
            ends = [right, left] if direction is Direction.TIP_TO_BASE else [left, right]
            yield svg.arrow(ends, color, width=2.0, head=8.0)
            for number, line in enumerate(self.passed, start=1 - len(self.passed)):
                at = (left[0] + right[0]) / 2, y - 12.0 + LINE * number
                yield svg.formula(*at, line, SIZE, color, text_anchor="middle")
        for name, at_x in (("p", x - REACH), ("c", x + REACH)):
            style = {"fill": "#ffffff", "stroke": colours.FAINT, "stroke_width": 1.2}
            yield svg.element("circle", cx=at_x, cy=y, r=NEIGHBOUR, **style)
            yield svg.text(at_x, y, name, 12.0, colours.FAINT, text_anchor="middle")


def lines_before(
    x: float, y: float, lines: Sequence[str], color: str = colours.INK
) -> Iterator[str]:
    """Lines that end at x, the first at height y."""
    for number, line in enumerate(lines):
        yield svg.formula(x, y + LINE * number, line, SIZE, color, text_anchor="end")
