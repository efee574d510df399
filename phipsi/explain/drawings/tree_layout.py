"""A tree on paper: the base on the left, a column for each depth, leaves one below the other."""

from __future__ import annotations

from dataclasses import dataclass

from phipsi.model.tree import WORLD, Tree

COLUMN, ROW = 64.0, 26.0  # pixels between bodies, where there is room
NARROWEST_ROW = 5.0


@dataclass(frozen=True)
class Layout:
    """Where the bodies stand.

    Args:
        places: (x, y) of each body; the base is at x = 0.
        base: (x, y) of the base.
        column: pixels between a body and its parent.
        row: pixels between two leaves.
        width, height: of the whole.
    """

    places: tuple[tuple[float, float], ...]
    base: tuple[float, float]
    column: float
    row: float
    width: float
    height: float


def lay_out(tree: Tree, width: float, height: float) -> Layout:
    """Places of the bodies of a tree; a parent stands in the middle of its children.

    Args:
        tree: the bodies, parents first.
        width: the most pixels to be used.
        height: the most, unless there are too many leaves for it.

    >>> lay_out(Tree((-1, 0, 0)), 300.0, 200.0).places
    ((64.0, 13.0), (128.0, 0.0), (128.0, 26.0))
    """
    leaves = sum(1 for x in tree.children if not x)
    column = min(COLUMN, width / max(tree.depth))
    row = min(ROW, max(NARROWEST_ROW, height / max(leaves, 1)))
    ys = [0.0] * len(tree)
    leaf = 0
    for k in tree.base_to_tip:  # depth-first: leaves come in their order on paper
        if not tree.children[k]:
            ys[k] = leaf * row
            leaf += 1
    for k in tree.tip_to_base:
        below = tree.children[k]
        if below:
            ys[k] = (ys[below[0]] + ys[below[-1]]) / 2
    roots = [k for k in tree.base_to_tip if tree.parent[k] == WORLD]
    base = (0.0, (ys[roots[0]] + ys[roots[-1]]) / 2)
    places = tuple((column * tree.depth[k], ys[k]) for k in tree.base_to_tip)
    return Layout(places, base, column, row, column * max(tree.depth), row * (leaves - 1))
