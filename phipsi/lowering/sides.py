"""The sides of a matrix: which space, at which points, in whose axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from phipsi.algebra.node import Identity, Inverse, Node, Product, Symbol, Transpose
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


def points_beside(expressions: Sequence[Node]) -> dict[Symbol, set[tuple]]:
    """At which points free letters stand: those of the letters that they meet.

    Two sides that meet in a product, or stand opposite in a sum, are at the same points. A free
    letter is at the same points wherever it stands.
    """
    return _Meetings(expressions).found


class _Meetings:
    """Sides that are at the same points: each has a number, and a set of those that it meets."""

    def __init__(self, expressions: Sequence[Node]):
        self._same: list[int] = []
        self._told: list[tuple[int, tuple]] = []
        self._free: dict[Symbol, tuple[int, int]] = {}
        for one in expressions:
            self._sides(one)
        places: dict[int, set[tuple]] = {}
        for side, points in self._told:
            places.setdefault(self._root(side), set()).add(points)
        self.found = {
            letter: places.get(self._root(sides[letter.target is not POINTS]), set())
            for letter, sides in self._free.items()
        }

    def _new(self) -> int:
        self._same.append(len(self._same))
        return len(self._same) - 1

    def _root(self, side: int) -> int:
        while self._same[side] != side:
            side = self._same[side]
        return side

    def _meet(self, one: int, other: int) -> None:
        self._same[self._root(one)] = self._root(other)

    def _sides(self, node: Node) -> tuple[int, int]:
        """Target and source of an expression, as it stands here."""
        match node:
            case Symbol():
                return self._letter(node)
            case Transpose():
                target, source = self._sides(node.children[0])
                return source, target
            case Product():
                sides = [self._sides(x) for x in node.factors]
                for (_, source), (target, _) in pairwise(sides):
                    self._meet(source, target)
                return sides[0][0], sides[-1][1]
            case Identity():
                side = self._new()
                return side, side
        sides = [self._sides(x) for x in node.children]
        of = [x for x, y in zip(sides, node.children, strict=True) if not y.is_scalar] or sides
        for target, source in of[1:]:
            self._meet(target, of[0][0])
            self._meet(source, of[0][1])
        if isinstance(node, Inverse):
            self._meet(*of[0])
        return of[-1]

    def _letter(self, letter: Symbol) -> tuple[int, int]:
        if letter in self._free:
            return self._free[letter]
        sides = self._new(), self._new()
        if letter.free:
            if POINTS in (letter.target, letter.source):
                self._free[letter] = sides
            if letter.target is letter.source:
                self._meet(*sides)
        elif letter.definition is not None:
            for one, other in zip(sides, self._sides(letter.definition), strict=True):
                self._meet(one, other)
        else:
            ends = zip(sides, (letter.target, letter.source), strict=True)
            self._told += [(side, letter.arguments) for side, space in ends if space is POINTS]
        return sides


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
