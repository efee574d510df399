"""The tree of a machine as a sweep sees it: bodies, and arrows along the edges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from phipsi.explain.drawings import colours, svg
from phipsi.explain.drawings.tree_layout import Layout, lay_out
from phipsi.lowering.program import Direction
from phipsi.model.tree import WORLD, Tree

WIDTH, HEIGHT = 270.0, 170.0  # of a tree, in pixels
NAME = 9.0
GENERIC = Tree((-1, 0, 1))  # the machine when none is given: a first body, a second, and so on
NAMES = ("1", "2", "n")
DIRECTIONS = {
    Direction.TIP_TO_BASE: (colours.CAUSAL, "tip to base"),
    Direction.BASE_TO_TIP: (colours.ANTICAUSAL, "base to tip"),
}


class Skeleton:
    """A tree that is drawn once for every sweep.

    Args:
        tree: of the machine; None for a chain of any length.
        names: of the bodies.
    """

    def __init__(self, tree: Tree | None, names: Sequence[str]):
        self.tree = GENERIC if tree is None else tree
        self.names = NAMES if tree is None else names
        self.generic = tree is None
        self.layout: Layout = lay_out(self.tree, WIDTH, HEIGHT)

    @property
    def height(self) -> float:
        """In pixels, with room for names and for the arrow below."""
        return self.layout.height + 58.0

    @property
    def radius(self) -> float:
        """Of a body, in pixels."""
        return max(1.2, min(5.0, self.layout.column / 6, self.layout.row / 4))

    def parts(self, x: float, y: float, direction: Direction) -> Iterator[str]:
        """The elements, the base at x, the first row 16 pixels below y."""
        inward = direction is Direction.TIP_TO_BASE
        color, words = DIRECTIONS[direction]
        x, y = x + 10.0, y + 18.0
        base = (x + self.layout.base[0], y + self.layout.base[1])
        for k, place in enumerate(self.layout.places):
            here = (x + place[0], y + place[1])
            parent = self.tree.parent[k]
            there = base
            if parent != WORLD:
                there = (x + self.layout.places[parent][0], y + self.layout.places[parent][1])
            yield from self._edge(here, there, color, inward, dots=self.generic and k == 2)
        yield svg.rectangle(base[0] - 5, base[1] - 9, 5, 18, fill=colours.INK)
        for k, place in enumerate(self.layout.places):
            yield from self._body(k, (x + place[0], y + place[1]))
        yield from self._direction(x, y + self.layout.height + 24.0, color, words, inward)

    def _edge(
        self, here: svg.Point, there: svg.Point, color: str, inward: bool, dots: bool
    ) -> Iterator[str]:
        start, end = (here, there) if inward else (there, here)
        (x0, y0), (x1, y1) = start, end
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        style = {"stroke_dasharray": "2 5"} if dots else {}
        gap = self.radius + 1.5
        if length < 3 * gap + 6:
            yield svg.line(start, end, stroke=color, stroke_width=min(1.5, self.radius))
            return
        ux, uy = (x1 - x0) / length, (y1 - y0) / length
        start, end = (x0 + gap * ux, y0 + gap * uy), (x1 - gap * ux, y1 - gap * uy)
        if dots:
            yield svg.path([start, end], stroke=color, stroke_width=1.5, **style)
            return
        yield svg.arrow([start, end], color, width=1.5, head=min(6.5, length / 3))

    def _body(self, k: int, at: svg.Point) -> Iterator[str]:
        name = self.names[k]
        yield svg.element(
            "circle",
            svg.note("title", name),
            cx=at[0],
            cy=at[1],
            r=self.radius,
            fill=colours.INK,
        )
        room = self.layout.column - 4.0
        if self.layout.row >= 20.0 and room >= svg.text_width("mmmm", NAME):
            shown = svg.shorten(name, room, NAME)
            halo = {"stroke": colours.PANEL, "stroke_width": 2, "paint_order": "stroke"}
            style = {"text_anchor": "middle", **halo}
            yield svg.text(at[0], at[1] - 12.5, shown, NAME, colours.FAINT, **style)

    def _direction(self, x: float, y: float, color: str, words: str, inward: bool) -> Iterator[str]:
        """A long arrow below the tree, and which way it goes."""
        long = max(60.0, min(self.layout.width, 150.0))
        points = [(x, y), (x + long, y)]
        yield svg.arrow(points[::-1] if inward else points, color, width=2.2, head=9.0)
        yield svg.text(x + long + 8.0, y, words, 11.0, color, font_weight="bold")
