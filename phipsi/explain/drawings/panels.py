"""Panels of sweeps, one below the other, and between them what is kept.

A panel has three columns: the tree with the direction of the sweep; a body k
between its parent p and a child c, with what goes along the edges; and what is
computed there. What is kept goes down in green: straight to the next panel, or
by a lane of its own to a later one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from phipsi.explain.drawings import colours, svg
from phipsi.explain.drawings.drawing import Drawing
from phipsi.explain.drawings.flow import Flow, Sweep
from phipsi.explain.drawings.labels import Labels
from phipsi.explain.drawings.legend import Item, draw_legend
from phipsi.explain.drawings.skeleton import DIRECTIONS, Skeleton
from phipsi.explain.drawings.words import wrapped
from phipsi.explain.drawings.zoom import BODY, REACH, SIDE, Zoom, lines_before
from phipsi.explain.levels.layout import in_letters
from phipsi.lowering.program import Direction

MARGIN = 18.0
TREE = 330.0  # pixels for a tree
FORMULAS = 390.0  # pixels for formulas
LANE, ROW = 14.0, 14.0  # between lanes, and between the lines of what is kept
SIZE, LINE = 11.0, 16.0
HEADING = 16.0
HANDED = {Direction.TIP_TO_BASE: "handed inward", Direction.BASE_TO_TIP: "handed outward"}
KEPT = "kept for a later sweep"

Key = tuple[int, int]  # the sweep that makes what is kept, and one that reads it


class Page:
    """A program on paper.

    Args:
        flow: what flows where.
        labels: what it is called.
        skeleton: the tree.
        formulas: of each sweep its lines.
        heading: the expression, which stands above all.
        where: on which machine.
    """

    def __init__(
        self,
        flow: Flow,
        labels: Labels,
        skeleton: Skeleton,
        formulas: Sequence[Sequence[str]],
        heading: str,
        where: str,
    ):
        self.flow, self.labels, self.skeleton = flow, labels, skeleton
        self.zooms = [Zoom(sweep, labels) for sweep in flow.sweeps]
        self.lines = [
            [x for line in lines for x in _folded(in_letters(line), FORMULAS)] for lines in formulas
        ]
        self.heading = wrapped(heading, self.width - 2 * MARGIN, HEADING)
        self.where = svg.shorten(where, self.width - 2 * MARGIN, SIZE)

    # -- where things are ----------------------------------------------------------------------

    @property
    def middle(self) -> float:
        """Of body k, from the left."""
        return MARGIN + TREE + REACH + 30.0

    @cached_property
    def lanes(self) -> dict[Key, float]:
        """Where what is kept for another sweep than the next goes down."""
        far = [key for key in self.flow.kept if key[1] > key[0] + 1]
        first = self.middle + REACH + 36.0
        return {key: first + LANE * number for number, key in enumerate(far)}

    @property
    def formulas_at(self) -> float:
        """Where formulas begin."""
        return self.middle + REACH + 44.0 + LANE * len(self.lanes)

    @property
    def width(self) -> float:
        """Of the whole."""
        return self.formulas_at + FORMULAS + MARGIN

    @cached_property
    def words(self) -> dict[Key, list[str]]:
        """Lines of what is kept."""
        found = {}
        for key, slots in self.flow.kept.items():
            said, room = ", ".join(self.labels.listed(slots)), TREE + REACH
            if key in self.lanes:
                said, room = f"for {key[1]}: {said}", FORMULAS
            found[key] = wrapped(said, room, SIZE)
        return found

    def _height(self, sweep: Sweep) -> float:
        zoom = self.zooms[sweep.number - 1]
        tree = 0.0
        if sweep.direction is not None:
            tree = self._tree_down(zoom) + self.skeleton.height + 10.0
        formulas = LINE * len(self.lines[sweep.number - 1]) + 24.0
        return max(tree, formulas, zoom.above + zoom.below)

    def _tree_down(self, zoom: Zoom) -> float:
        """How far below the top a tree begins: its middle as high as that of body k, if it can."""
        return max(16.0, zoom.above - self.skeleton.height / 2)

    def _departures(self, sweep: Sweep) -> dict[Key, float]:
        """How far below a panel each line of what is kept begins; the last is where they end."""
        down, found = 11.0, {}
        far = [key for key in self.lanes if key[0] == sweep.number]
        near = [(sweep.number, sweep.number + 1)]
        for key in (*far, *near):
            found[key] = down
            down += ROW * len(self.words.get(key, "-")) + 4.0
        return {**found, (sweep.number, 0): down}

    def _arriving(self, sweep: Sweep) -> list[Key]:
        return [key for key in self.lanes if key[1] == sweep.number]

    @cached_property
    def tops(self) -> list[float]:
        """Where each panel begins, and where the last ends."""
        y = MARGIN + 22.0 * len(self.heading) + 24.0
        tops = []
        for sweep in self.flow.sweeps:
            tops.append(y)
            y += self._height(sweep)
            if sweep.number < len(self.flow.sweeps):
                arriving = self._arriving(self.flow.sweeps[sweep.number])
                y += self._departures(sweep)[sweep.number, 0] + ROW * len(arriving)
        return [*tops, y]

    def _body(self, sweep: Sweep) -> svg.Point:
        """The middle of body k."""
        return self.middle, self.tops[sweep.number - 1] + self.zooms[sweep.number - 1].above

    def _foot(self, key: Key) -> float:
        """From the middle of body k, where what goes by a lane leaves it or comes in."""
        return SIDE + (BODY[0] - 4.0 - SIDE) * (1 + list(self.lanes).index(key)) / len(self.lanes)

    # -- the drawing ---------------------------------------------------------------------------

    def drawing(self, title: str) -> Drawing:
        """The whole.

        Args:
            title: what it shows.
        """
        height = self.tops[-1] + 34.0
        bold = {"font_weight": "bold"}
        below = MARGIN + 22.0 * len(self.heading) + 6.0
        parts = [
            *(
                svg.formula(MARGIN, MARGIN + 8.0 + 22.0 * k, line, HEADING, colours.INK, **bold)
                for k, line in enumerate(self.heading)
            ),
            svg.text(MARGIN, below, self.where, SIZE, colours.FAINT),
            *(part for sweep in self.flow.sweeps for part in self._panel(sweep)),
            *(part for key in self.flow.kept for part in self._kept(key)),
            *(
                part
                for sweep, zoom in zip(self.flow.sweeps, self.zooms, strict=True)
                for part in zoom.parts(*self._body(sweep))
            ),
            *draw_legend(self._legend(), MARGIN, self.tops[-1] + 8.0, self.width),
        ]
        said = " ".join(self._said(sweep) for sweep in self.flow.sweeps)
        return Drawing(svg.document(self.width, height, title, said, parts), title)

    def _legend(self) -> list[Item]:
        ways = {x.direction for x in self.flow.sweeps if x.passed}
        items: list[Item] = [
            ((DIRECTIONS[way][0],), words) for way, words in HANDED.items() if way in ways
        ]
        return [*items, ((colours.KEPT,), KEPT)] if self.flow.kept else items

    def _said(self, sweep: Sweep) -> str:
        """A sweep in words."""
        way = "once" if sweep.direction is None else DIRECTIONS[sweep.direction][1]
        passed = self.labels.handed(sweep.passed)
        text = f"Sweep {sweep.number}, {way}"
        text += f", hands on {', '.join(passed)}" if passed else ""
        for (made, read), slots in self.flow.kept.items():
            if made == sweep.number:
                text += f", keeps {', '.join(self.labels.listed(slots))} for sweep {read}"
        return f"{text}."

    def _panel(self, sweep: Sweep) -> Iterator[str]:
        top, high = self.tops[sweep.number - 1], self._height(sweep)
        wide = self.width - 2 * MARGIN + 16
        yield svg.rectangle(MARGIN - 8, top, wide, high, rx=6, fill=colours.PANEL)
        number = f"{sweep.number}"
        yield svg.text(MARGIN + 4, top + 16, number, 14.0, colours.INK, font_weight="bold")
        if sweep.direction is not None:
            down = self._tree_down(self.zooms[sweep.number - 1])
            yield from self.skeleton.parts(MARGIN + 14.0, top + down, sweep.direction)
        for at, line in enumerate(self.lines[sweep.number - 1]):
            indent = 8.0 * (len(line) - len(line.lstrip()))
            x, y = self.formulas_at + indent, top + 18.0 + LINE * at
            yield svg.formula(x, y, line.strip(), SIZE, colours.INK)

    def _kept(self, key: Key) -> Iterator[str]:
        """What one sweep keeps for another, and the way it takes."""
        made, read = (self.flow.sweeps[number - 1] for number in key)
        (x, start), (_, end) = self._body(made), self._body(read)
        start, end = start + BODY[1], end - BODY[1]
        bottom = self.tops[made.number - 1] + self._height(made)
        out = bottom + self._departures(made)[key]
        if key not in self.lanes:
            yield svg.arrow([(x + SIDE, start), (x + SIDE, end)], colours.KEPT)
            yield from lines_before(x + SIDE - 8.0, out, self.words[key], colours.KEPT)
            return
        lane, foot = self.lanes[key], x + self._foot(key)
        into = self.tops[read.number - 1] - 8.0 - ROW * self._arriving(read).index(key)
        points = [(foot, start), (foot, out), (lane, out), (lane, into), (foot, into), (foot, end)]
        yield svg.arrow(points, colours.KEPT)
        for number, line in enumerate(self.words[key]):
            y = out + ROW * number
            yield svg.formula(self.formulas_at, y, line, SIZE, colours.KEPT)


def _folded(line: str, room: float) -> list[str]:
    """A line of formulas that fits, its rest further in."""
    indent = len(line) - len(line.lstrip())
    first, *rest = wrapped(line.strip(), room - 8.0 * (indent + 4), SIZE)
    return [" " * indent + first, *(" " * (indent + 4) + x for x in rest)]
