"""One operator as a picture: a matrix whose blocks are coloured by where they carry.

True proportions: a block is as many units high and wide as it has rows and
columns, so that a joint of three speeds shows as such, and H as the flat
operator that it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise

import numpy as np

from phipsi.algebra.node import Node
from phipsi.explain.drawings import colours, svg
from phipsi.explain.drawings.cells import Cell, Relation, cells_of_rows, relation_of
from phipsi.explain.drawings.structure import Structure
from phipsi.lowering.inputs import Inputs

COLOURS = {
    Relation.MEMORYLESS: colours.MEMORYLESS,
    Relation.CAUSAL: colours.CAUSAL,
    Relation.ANTICAUSAL: colours.ANTICAUSAL,
    Relation.ACROSS: colours.ACROSS,
    Relation.PLAIN: colours.PLAIN,
}
SHADES = (0.3, 0.42, 0.57, 0.75, 0.95)  # of entries, by decades below the largest
GROUND = 0.16  # of a block on which entries are shown
WHOLE = 0.75  # of a block without entries
MOST_ENTRIES = 4000
SMALLEST_ENTRY = 2.5  # pixels; smaller ones are not shown one by one
THINNEST = 22.0  # pixels, of a side that is a single number
VANISHED = colours.tint(colours.CANCELLED, 0.45)


@dataclass(frozen=True)
class Blocks:
    """What is drawn of an expression: names, numbers, and which blocks are there.

    Args:
        rows, columns: the blocks of both spaces.
        matrix: the numbers.
        nonzero: which blocks are numbers.
        allowed: which blocks the tree lets be.
        relations: what each block carries, by row.
    """

    rows: list[Cell]
    columns: list[Cell]
    matrix: np.ndarray
    nonzero: np.ndarray
    allowed: np.ndarray
    relations: list[list[Relation]]

    @property
    def vanished(self) -> np.ndarray:
        """Blocks that the tree allows and that are zero all the same."""
        return self.allowed & ~self.nonzero

    def count(self, relation: Relation) -> int:
        """How many nonzero blocks carry that way."""
        return sum(
            1
            for i, row in enumerate(self.relations)
            for k, x in enumerate(row)
            if x is relation and self.nonzero[i, k]
        )


def find_blocks(node: Node, structure: Structure, inputs: Inputs) -> Blocks:
    """The blocks of an expression."""
    rows, columns = cells_of_rows(node, inputs), cells_of_rows(node.T, inputs)
    tree = inputs.model.tree
    relations = [[relation_of(tree, row, column) for column in columns] for row in rows]
    matrix = structure.matrix(node)
    return Blocks(
        rows, columns, matrix, structure.nonzero(node), structure.allowed(node), relations
    )


@dataclass(frozen=True)
class Picture:
    """A matrix on paper, its upper left corner at the origin.

    Args:
        blocks: what is drawn.
        unit: pixels of one row or column of numbers.
    """

    blocks: Blocks
    unit: float

    @cached_property
    def xs(self) -> list[float]:
        """Where columns of blocks begin, and where the last ends."""
        return _edges(self.blocks.columns, self.unit)

    @cached_property
    def ys(self) -> list[float]:
        """Where rows of blocks begin, and where the last ends."""
        return _edges(self.blocks.rows, self.unit)

    @property
    def width(self) -> float:
        """In pixels."""
        return self.xs[-1]

    @property
    def height(self) -> float:
        """In pixels."""
        return self.ys[-1]

    @cached_property
    def shows_entries(self) -> bool:
        """Whether every number has a shade of its own."""
        blocks = self.blocks
        area = np.outer([x.size for x in blocks.rows], [x.size for x in blocks.columns])
        return self.unit >= SMALLEST_ENTRY and 0 < area[blocks.nonzero].sum() <= MOST_ENTRIES

    def parts(self) -> Iterator[str]:
        """The elements, the last on top."""
        yield svg.rectangle(0, 0, self.width, self.height, fill="#ffffff")
        yield from self._vanished()
        yield from self._cells()
        if self.shows_entries:
            yield from self._entries()
        yield from self._grid()
        yield svg.rectangle(
            0, 0, self.width, self.height, fill="none", stroke=colours.FAINT, stroke_width=1
        )

    def _cells(self) -> Iterator[str]:
        """Blocks of one kind that stand side by side are one rectangle, with small ones."""
        share = GROUND if self.shows_entries else WHOLE
        for i, row in enumerate(self.blocks.relations):
            kinds = [
                x if there else None for x, there in zip(row, self.blocks.nonzero[i], strict=True)
            ]
            for relation, first, last in _runs(kinds, apart=self.shows_entries):
                color = colours.tint(COLOURS[relation], share)
                said = [svg.note("title", self._said(i, first))] if self.shows_entries else []
                yield self._over(i, first, last, color, *said)

    def _vanished(self) -> Iterator[str]:
        for i, row in enumerate(self.blocks.vanished):
            for _, first, last in _runs([True if x else None for x in row]):
                yield self._over(i, first, last, VANISHED)

    def _over(self, row: int, first: int, last: int, color: str, *children: str) -> str:
        x, y = self.xs[first], self.ys[row]
        wide, high = self.xs[last + 1] - x, self.ys[row + 1] - y
        return svg.rectangle(x, y, wide, high, *children, fill=color)

    def _said(self, i: int, k: int) -> str:
        """What a block is, under the pointer."""
        row, column = self.blocks.rows[i], self.blocks.columns[k]
        where = row.name if not column.name else f"{row.name}, {column.name}"
        kind = self.blocks.relations[i][k]
        said = "" if kind is Relation.PLAIN else f": {kind.value}"
        return f"({where}){said}, {row.size} x {column.size}"

    def _entries(self) -> Iterator[str]:
        """Every number that is not zero, darker the larger; one path for each shade."""
        sizes = np.abs(self.blocks.matrix)
        largest = sizes.max(initial=0.0)
        paths: dict[tuple[Relation, int], list[str]] = {}
        tops, lefts = _starts(self.blocks.rows), _starts(self.blocks.columns)
        for i, k in np.argwhere(self.blocks.nonzero):
            row, column = self.blocks.rows[i], self.blocks.columns[k]
            high = (self.ys[i + 1] - self.ys[i]) / row.size
            wide = (self.xs[k + 1] - self.xs[k]) / column.size
            for r in range(row.size):
                for c in range(column.size):
                    share = sizes[tops[i] + r, lefts[k] + c] / largest
                    if share < 1e-12:
                        continue
                    level = max(0, len(SHADES) - 1 + int(np.floor(np.log10(share) + 1e-9)) + 1)
                    level = min(level, len(SHADES) - 1)
                    x, y = self.xs[k] + c * wide, self.ys[i] + r * high
                    d = "M{} {}h{}v{}h-{}z".format(*map(svg.number, (x, y, wide, high, wide)))
                    paths.setdefault((self.blocks.relations[i][k], level), []).append(d)
        for relation, level in sorted(paths, key=lambda x: (x[0].value, x[1])):
            color = colours.tint(COLOURS[relation], SHADES[level])
            d = "".join(paths[relation, level])
            yield svg.element("path", d=d, fill=color, pointer_events="none")

    def _grid(self) -> Iterator[str]:
        """Lines between blocks, where there is room for them."""
        style = {"stroke": "#ffffff" if not self.shows_entries else colours.GRID, "stroke_width": 1}
        if _narrowest(self.xs) >= 6.0:
            for x in self.xs[1:-1]:
                yield svg.line((x, 0), (x, self.height), **style)
        if _narrowest(self.ys) >= 6.0:
            for y in self.ys[1:-1]:
                yield svg.line((0, y), (self.width, y), **style)


def _starts(cells: Sequence[Cell]) -> list[int]:
    return np.cumsum([0, *(cell.size for cell in cells)]).tolist()


def _edges(cells: Sequence[Cell], unit: float) -> list[float]:
    starts = _starts(cells)
    scale = max(unit, THINNEST / starts[-1])
    return [scale * x for x in starts]


def _narrowest(edges: Sequence[float]) -> float:
    return min(b - a for a, b in pairwise(edges))


def _runs(kinds: Sequence, apart: bool = False) -> Iterator[tuple]:
    """Neighbours alike, as (kind, first, last), without None; each alone if apart."""
    for (kind, _), group in groupby(enumerate(kinds), key=lambda x: (x[1], apart and x[0])):
        places = [k for k, _ in group]
        if kind is not None:
            yield kind, places[0], places[-1]
