"""The blocks of a space on a machine: who they belong to, how large they are, where they stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from phipsi.algebra.node import Inverse, Node, Product, Symbol, Transpose
from phipsi.algebra.spaces import BASE, BODY, COORDINATES, JOINT, POINTS, POSE, Space
from phipsi.cleaning import visible
from phipsi.lowering.inputs import Inputs
from phipsi.model.model import Point
from phipsi.model.tree import WORLD, WORLD_NAME, Tree


@dataclass(frozen=True)
class Cell:
    """A block of a space: its owner's name, how many numbers, and the body it stands with."""

    name: str
    size: int
    body: int | None  # WORLD for the base; None for what stands nowhere


class Relation(Enum):
    """Where the body of a row stands, seen from the body of a column [003 sec. 2]."""

    MEMORYLESS = "memoryless"  # the same body
    CAUSAL = "causal"  # strictly inboard
    ANTICAUSAL = "anticausal"  # strictly outboard
    ACROSS = "across branches"  # neither: the path between them turns round
    PLAIN = "plain"  # a vector, a number, a space of the user's own: no such question


def relation_of(tree: Tree, row: Cell, column: Cell) -> Relation:
    """What a block carries: from the column's body to the row's.

    >>> tree = Tree((-1, 0, 0))
    >>> base, left, right = (Cell(str(k), 6, k) for k in range(3))
    >>> relation_of(tree, base, right), relation_of(tree, left, right)
    (<Relation.CAUSAL: 'causal'>, <Relation.ACROSS: 'across branches'>)
    """
    i, k = row.body, column.body
    if i is None or k is None:
        return Relation.PLAIN
    if i == k:
        return Relation.MEMORYLESS
    if i == WORLD or (k != WORLD and tree.is_inboard(i, k)):
        return Relation.CAUSAL
    if k == WORLD or tree.is_inboard(k, i):
        return Relation.ANTICAUSAL
    return Relation.ACROSS


def cells_of(space: Space, inputs: Inputs, points: Sequence[Point] | None = None) -> list[Cell]:
    """The blocks of a space, in order; independent coordinates go by the joints that own them.

    Args:
        space: whose blocks.
        inputs: the machine and its points.
        points: those of point space, None where letters at several lists of them meet.
    """
    model = inputs.model
    if space in (BODY, POSE):
        sizes = inputs.sizes(space)
        return [Cell(visible(x.name), sizes[k], k) for k, x in enumerate(model.bodies)]
    if space is JOINT:
        return [Cell(visible(x.name), x.kind.nv, k) for k, x in enumerate(model.joints)]
    if space is COORDINATES:
        owners = [(k, x) for k, x in enumerate(model.joints) if x.mimic is None]
        return [Cell(visible(x.name), x.kind.nv, k) for k, x in owners]
    if space is BASE:
        return [Cell(WORLD_NAME, inputs.sizes(space)[0], WORLD)]
    if space is POINTS:
        return _points(inputs, points)
    name = space.name if space.is_own else ""
    return [Cell(name, size, None) for size in inputs.sizes(space)]


def _points(inputs: Inputs, points: Sequence[Point] | None) -> list[Cell]:
    """Points go by the frame they are on; several on one are numbered."""
    sizes = inputs.sizes(POINTS)
    if points is None:
        return [Cell(f"point {e}", size, None) for e, size in enumerate(sizes)]
    several, seen, cells = Counter(x.frame for x in points), Counter[str](), []
    for point, size in zip(points, sizes, strict=True):
        seen[point.frame] += 1
        number = f" {seen[point.frame]}" if several[point.frame] > 1 else ""
        cells.append(Cell(visible(f"{point.frame}{number}"), size, inputs.model.locate(point)[0]))
    return cells


def cells_of_rows(node: Node, inputs: Inputs) -> list[Cell]:
    """The blocks of the space that an expression maps to, points by those of its letters."""
    assert node.target is not None
    points = None
    if node.target is POINTS:
        lists = {tuple(x) for x in _lists(node, inputs, starred=False)} or {inputs.points}
        points = lists.pop() if len(lists) == 1 else None
    return cells_of(node.target, inputs, points)


def _lists(node: Node, inputs: Inputs, starred: bool) -> list[Sequence[Point]]:
    """The points of an expression's rows, of its columns if starred, letter by letter."""
    if isinstance(node, Symbol):
        return [] if node.free else [inputs.points_of(node.arguments)]
    if isinstance(node, Product):
        return _lists(node.children[-1 if starred else 0], inputs, starred)
    if isinstance(node, (Transpose, Inverse)):
        return _lists(node.children[0], inputs, not starred)
    sides = [x for x in node.children if (x.source if starred else x.target) is POINTS]
    return [x for side in sides for x in _lists(side, inputs, starred)]
