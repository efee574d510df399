"""The sides of a matrix: which space, at which points, in whose axes."""

from __future__ import annotations

from dataclasses import dataclass

from phipsi.algebra.node import Identity, Node, Product, Symbol, Transpose
from phipsi.algebra.spaces import POINTS, Space


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
