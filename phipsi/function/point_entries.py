"""Entries of machine code by the points that a call names.

Only the bodies that points are on are compiled in; where they are on them is an argument as
others are. So a point that was passed before is found at once, and one on a frame that was
passed before has its position put in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from phipsi.model.inertia import Placement
from phipsi.model.model import Model, Point

PLACES = 256  # choices of points, and of frames, that are remembered
ORIGIN = (0.0, 0.0, 0.0)
SPACE = 3  # numbers of a position


@dataclass(frozen=True)
class PointEntry:
    """An entry, its first argument being positions.

    Args:
        call: the entry.
        positions: of all points on their bodies, one after the other.
        first: where those of the points that are passed begin.
        placements: of the frames that these are on.
    """

    call: Callable
    positions: np.ndarray
    first: int
    placements: tuple[Placement, ...]

    def at(self, points: Sequence[Point | str]) -> Callable | None:
        """The entry at points on the same frames; None if their positions are no numbers."""
        numbers: list[float] = []
        for point, placement in zip(points, self.placements, strict=True):
            x, y, z = ORIGIN if isinstance(point, str) else point.position
            if not (type(x) is type(y) is type(z) is float):
                return None
            numbers += placement.locate((x, y, z))
        positions = self.positions.copy()
        positions[self.first : self.first + len(numbers)] = numbers
        return partial(self.call, positions)

    def at_one(self, point: Point) -> Callable | None:
        """The same of a single point, which moves in most loops."""
        x, y, z = point.position
        if not (type(x) is type(y) is type(z) is float):
            return None
        numbers = self.placements[0].locate((x, y, z))
        if self.positions.size == SPACE:
            return partial(self.call, np.array(numbers, self.positions.dtype))
        positions = self.positions.copy()
        positions[self.first : self.first + SPACE] = numbers
        return partial(self.call, positions)


class PointEntries(dict[Any, Callable | None]):
    """Entries of one function on one machine, by points that were passed before.

    `entries[name]` is the quickest way to one, `entries.at(points)` takes all that a user may
    pass; both are None where a call must look at the points first.
    """

    def __init__(self) -> None:
        self._by_frames: dict[tuple[str, ...], PointEntry] = {}
        self._tied: dict[str, Callable] = {}

    def __missing__(self, points: Any) -> Callable | None:
        found = self._moved(points)
        if found is not None:
            if len(self) >= PLACES:  # all at once: quicker than the oldest at every call
                self.clear()
            self[points] = found
        return found

    def at(self, points: Any) -> Callable | None:
        """The entry at these points; None if a call must look at them first."""
        try:
            return self[tuple(points) if type(points) is list else points]
        except TypeError:  # a position that is a list, or no points at all
            return self._moved(points)

    def _moved(self, points: Any) -> Callable | None:
        """The entry at points that were not passed before, on frames that were."""
        try:
            if type(points) is Point:
                entry = self._by_frames.get((points.frame,))
                return None if entry is None else entry.at_one(points)
            if type(points) is str:
                if points in self._tied:
                    return self._tied[points]
                points = (points,)
            entry = self._by_frames.get(frames_of(points))
            return None if entry is None else entry.at(points)
        except (TypeError, ValueError):  # no points, or positions that are none
            return None

    def add(
        self, model: Model, points: Any, call: Callable, positions: np.ndarray, first: int
    ) -> None:
        """Let calls at these points, and at others on their frames, be quick from now on."""
        try:
            frames = frames_of(points)
        except TypeError:  # a way of passing points that is seldom taken
            return
        placements = tuple(model.frame(x).placement for x in frames)
        while len(self._by_frames) >= PLACES:
            self._by_frames.pop(next(iter(self._by_frames)), None)
        self._by_frames[frames] = PointEntry(call, positions, first, placements)

    def tie(self, key: str, entry: Callable) -> None:
        """An entry for points that have a name of their own as a whole."""
        self._tied[key] = entry


def frames_of(points: Any) -> tuple[str, ...]:
    """The frames that points are on; TypeError if they are none, or no list of them."""
    if type(points) in (str, Point):
        points = (points,)
    elif type(points) not in (list, tuple):
        raise TypeError("no points")
    try:
        return tuple([x if type(x) is str else x.frame for x in points])
    except AttributeError:
        raise TypeError("no points") from None
