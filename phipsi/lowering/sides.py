"""The sides of a matrix: which space, at which points, in whose axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from phipsi.algebra.node import Identity, Node, Product, Symbol, Transpose
from phipsi.algebra.spaces import POINTS, Space
from phipsi.algebra.walk import walk
from phipsi.errors import InputError


@dataclass(frozen=True)
class Side:
    """One side of a matrix.

    Args:
        space: whose blocks it has.
        points: the arguments of the letter B, in point space.
        outer: what stands outside of B, point by point: X for world axes.
        kind: "force" or "motion": what vectors of body space are.
    """

    space: Space
    points: tuple | None = None
    outer: Node | None = None
    kind: str = "force"

    def __str__(self) -> str:
        return self.space.name


def points_of(node: Node, target: bool = True) -> tuple | None:
    """Which points the target (or source) of an expression is at: the arguments of a letter.

    None where no letter tells: in other spaces, and for free letters and identities.
    """
    if (node.target if target else node.source) is not POINTS or isinstance(node, Identity):
        return None
    match node:
        case Symbol():
            return None if node.free else node.arguments
        case Transpose():
            return points_of(node.children[0], not target)
        case Product():
            return points_of(node.factors[0 if target else -1], target)
    found = (points_of(child, target) for child in node.children)
    return next((x for x in found if x is not None), None)


def check_point_counts(expression: Node, count: Callable[[tuple], int]) -> None:
    """InputError where letters meet that stand for different numbers of points.

    Args:
        expression: whose spaces fit; only point space can differ in size.
        count: how many points the arguments of a letter are.
    """
    for node in walk(expression):
        if isinstance(node, Product):
            meetings = [[points_of(x, False), points_of(y)] for x, y in pairwise(node.factors)]
        else:
            meetings = [[points_of(x, side) for x in node.children] for side in (True, False)]
        for points in meetings:
            if len({count(x) for x in points if x is not None}) > 1:
                raise InputError(f"`{node}` mixes letters at different numbers of points")
