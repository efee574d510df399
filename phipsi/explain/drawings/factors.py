"""An expression beside what it is made of: Mass = H phi M phi* H* + Jm, in pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from phipsi.algebra.node import Node, Scaled, Symbol
from phipsi.explain.drawings import colours, svg
from phipsi.explain.drawings.drawing import Drawing
from phipsi.explain.drawings.legend import draw_legend, item_width, legend_height, legend_items
from phipsi.explain.drawings.picture import Blocks, Picture
from phipsi.explain.drawings.words import written

SIDES = range(220, 130, -10)  # pixels of the longest side; the largest whose pictures fit a line
THICKEST = 16.0
WIDEST = 1100.0  # pixels of a line
GAP = 9.0
MARGIN = 18.0
NAME = 13.0

Token = Node | str


def draw_row(node: Node, blocks_of: Callable[[Node], Blocks], title: str, heading: str) -> Drawing:
    """An expression, an equals sign, and what it is made of, all in one measure.

    Args:
        node: the expression.
        blocks_of: the blocks of an expression.
        title: what the drawing shows.
        heading: what stands above all, a name in it: no formula.
    """
    tokens: list[Token] = [node, "=", *tokens_of(node)]
    found = {x: blocks_of(x) for x in tokens if isinstance(x, Node)}
    longest = max(
        sum(c.size for c in cells) for x in found.values() for cells in (x.rows, x.columns)
    )
    for side in SIDES:
        unit = min(side / longest, THICKEST)
        pieces = [
            _Piece.of(x, None if isinstance(x, str) else Picture(found[x], unit)) for x in tokens
        ]
        lines = list(_lines(pieces))
        if len(lines) == 1:
            break
    entries = any(x.picture.shows_entries for x in pieces if x.picture)
    items = legend_items(list(found.values()), counts=False, entries=entries)
    shown = svg.shorten(heading, WIDEST, 12.0)
    wide = svg.text_width(shown, 12.0)
    width = max([wide, *map(_width, lines), *map(item_width, items)]) + 2 * MARGIN
    parts = [svg.text(MARGIN, MARGIN + 4.0, shown, 12.0, colours.FAINT)]
    y = MARGIN + 26.0
    for line in lines:
        high = max(x.height for x in line)
        x = MARGIN
        for piece in line:
            parts.extend(piece.parts(x, y + high / 2, y + high + 14.0))
            x += piece.width + GAP
        y += high + 34.0
    parts.extend(draw_legend(items, MARGIN, y, width - 2 * MARGIN))
    height = y + legend_height(items, width - 2 * MARGIN) + MARGIN - 6.0
    described = " ".join(x if isinstance(x, str) else f"[{written(x)}]" for x in tokens)
    return Drawing(svg.document(width, height, title, described, parts), title)


def tokens_of(node: Node) -> Iterator[Token]:
    """What an expression is made of: signs, numbers and factors, in order.

    >>> from phipsi.operators import Mass
    >>> list(tokens_of(Mass))
    [H, phi, M, phi.T, H.T, '+', Jm]
    """
    if isinstance(node, Symbol) and node.definition is not None:
        node = node.definition
    for number, term in enumerate(node.terms):
        sign = "+"
        if isinstance(term, Scaled) and not isinstance(term.factor, Node):
            sign = "−" if term.factor < 0 else "+"
            size = abs(term.factor)
            term = term.children[-1]
        else:
            size = 1
        if number or sign == "−":
            yield sign
        if size != 1:
            yield f"{size:g}"
        yield from term.factors


@dataclass(frozen=True)
class _Piece:
    """A picture with its name below, or a sign."""

    name: str
    picture: Picture | None

    @staticmethod
    def of(token: Token, picture: Picture | None) -> _Piece:
        return _Piece(token if isinstance(token, str) else written(token), picture)

    @property
    def width(self) -> float:
        if self.picture is None:
            return svg.text_width(self.name, 18.0)
        return max(self.picture.width, svg.text_width(self.name, NAME))

    @property
    def height(self) -> float:
        return 18.0 if self.picture is None else self.picture.height

    def parts(self, x: float, middle: float, below: float) -> Iterator[str]:
        """The elements, where the piece begins at x and its middle is as high as that of all."""
        center = x + self.width / 2
        if self.picture is None:
            yield svg.text(center, middle, self.name, 18.0, colours.INK, text_anchor="middle")
            return
        left, top = center - self.picture.width / 2, middle - self.picture.height / 2
        yield svg.element(
            "g",
            *self.picture.parts(),
            transform=f"translate({svg.number(left)} {svg.number(top)})",
        )
        yield svg.formula(center, below, self.name, NAME, colours.INK, text_anchor="middle")


def _width(line: Sequence[_Piece]) -> float:
    return sum(x.width for x in line) + GAP * (len(line) - 1)


def _lines(pieces: Sequence[_Piece]) -> Iterator[list[_Piece]]:
    line: list[_Piece] = []
    for piece in pieces:
        if line and _width([*line, piece]) > WIDEST:
            yield line
            line = []
        line.append(piece)
    yield line
