"""What the colours of blocks mean, and how many there are of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from phipsi.explain.drawings import colours, svg
from phipsi.explain.drawings.cells import Relation
from phipsi.explain.drawings.picture import COLOURS, SHADES, VANISHED, WHOLE, Blocks

SIZE = 11.0
LINE = 20.0
MEANINGS = {
    Relation.MEMORYLESS: "memoryless",
    Relation.CAUSAL: "causal, tip to base",
    Relation.ANTICAUSAL: "anticausal, base to tip",
    Relation.ACROSS: "across branches",
    Relation.PLAIN: "nonzero",
}
ALLOWED = "zero here, though the tree allows it"
DECADES = "size of an entry: 1, 1/10, 1/100, ... of the largest"

Item = tuple[tuple[str, ...], str]  # colours side by side, and what they mean


def legend_items(blocks: Sequence[Blocks], counts: bool, entries: bool) -> list[Item]:
    """What a legend says about some pictures.

    Args:
        blocks: of the pictures.
        counts: whether to say how many blocks there are of each kind.
        entries: whether shades have a meaning.
    """
    items: list[Item] = []
    for relation, meaning in MEANINGS.items():
        found = sum(x.count(relation) for x in blocks)
        if found:
            color = colours.tint(COLOURS[relation], WHOLE)
            items.append(((color,), f"{meaning}: {found}" if counts else meaning))
    vanished = sum(int(x.vanished.sum()) for x in blocks)
    if vanished:
        items.append(((VANISHED,), f"{ALLOWED}: {vanished}" if counts else ALLOWED))
    if entries:
        shades = tuple(colours.tint(colours.MEMORYLESS, x) for x in reversed(SHADES))
        items.append((shades, DECADES))
    return items


def item_width(item: Item) -> float:
    """How much room an item takes, in pixels."""
    return 12.0 * len(item[0]) + 6.0 + svg.text_width(item[1], SIZE) + 16.0


def legend_height(items: Sequence[Item], width: float) -> float:
    """How high a legend is that is as wide."""
    return LINE * len(list(_lines(items, width)))


def draw_legend(items: Sequence[Item], x: float, y: float, width: float) -> Iterator[str]:
    """The items in lines, from the upper left corner at (x, y)."""
    for number, row in enumerate(_lines(items, width)):
        left, middle = x, y + LINE * (number + 0.5)
        for item in row:
            for k, color in enumerate(item[0]):
                yield svg.rectangle(left + 12 * k, middle - 6, 12, 12, fill=color)
            beside = left + 12.0 * len(item[0]) + 6.0
            yield svg.text(beside, middle, item[1], SIZE, colours.INK)
            left += item_width(item)


def _lines(items: Sequence[Item], width: float) -> Iterator[list[Item]]:
    row: list[Item] = []
    for item in items:
        if row and sum(map(item_width, [*row, item])) > width:
            yield row
            row = []
        row.append(item)
    if row:
        yield row
