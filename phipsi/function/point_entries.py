"""Entries of machine code by the points that a call names.

Only the bodies that points are on are compiled in; where they are on them is an argument as
others are, put in at every call: points that move cost what others do. So what is found for
points is an entry with its first argument, the positions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from phipsi.backends.real import LONGEST_TUPLE
from phipsi.model.inertia import HERE, Placement
from phipsi.model.model import Model, Point

FRAMES = 256  # choices of frames that are remembered
ORIGIN = (0.0, 0.0, 0.0)
SPACE = 3  # numbers of a position

Found = tuple[Callable, Any]  # an entry, and positions, which it takes first


@dataclass(frozen=True)
class OnFrames:
    """An entry for points on some frames, wherever they are on these.

    Args:
        call: the entry, its first argument being positions.
        positions: of all points on their bodies, one after the other, as they were once.
        first: where those of the points that are passed begin.
        placements: of the frames that these are on.
    """

    call: Callable
    positions: np.ndarray
    first: int
    placements: tuple[Placement, ...]

    def at(self, points: Sequence[Point | str]) -> Found:
        """The entry, and where points on these frames are."""
        numbers: list[float] = []
        for point, placement in zip(points, self.placements, strict=True):
            numbers += _located(placement, ORIGIN if isinstance(point, str) else point.position)
        if len(numbers) == self.positions.size <= LONGEST_TUPLE:
            return self.call, tuple(numbers)
        positions = self.positions.copy()
        positions[self.first : self.first + len(numbers)] = numbers
        return self.call, positions


class PointEntries(dict[str, Found]):
    """Entries of one function on one machine.

    `entries[name]` is the one for the origin of a frame, `entries.at(points)` that for whatever a
    user may pass: an entry and its first argument. Where a call must look at the points first,
    there is no such name, and None at such points.

    Attributes:
        everywhere: the entry at the origins of all bodies; None if that was not asked for yet.
    """

    def __init__(self) -> None:
        self._on_frames: dict[tuple[str, ...], OnFrames] = {}
        # Of points that are alone: on frames of bodies, and on others.
        self._on_body: dict[str, Callable] = {}
        self._placed: dict[str, tuple[Callable, Placement]] = {}
        self.everywhere: Callable | None = None

    def at(self, points: Any) -> Found | None:
        """The entry and where these points are; None if a call must look at them first."""
        try:
            if type(points) is Point:
                call = self._on_body.get(points.frame)
                if call is not None:
                    return call, points.position
                known = self._placed.get(points.frame)
                if known is not None:
                    call, placement = known
                    return call, _located(placement, points.position)
                points = (points,)
            elif isinstance(points, str):
                return self.get(points)
            several = self._on_frames.get(frames_of(points))
            return None if several is None else several.at(points)
        except (TypeError, ValueError):  # no points, or positions that are none
            return None

    def add(
        self, model: Model, points: Any, call: Callable, positions: np.ndarray, first: int
    ) -> None:
        """Let calls at points on the frames of these be quick from now on."""
        try:
            frames = frames_of(points)
        except TypeError:  # a way of passing points that is seldom taken
            return
        while len(self._on_frames) >= FRAMES:
            self._drop(next(iter(self._on_frames)))
        placements = tuple(model.frame(x).placement for x in frames)
        known = self._on_frames[frames] = OnFrames(call, positions, first, placements)
        if len(frames) == 1:
            self[frames[0]] = known.at(frames)
            if positions.size != SPACE:  # the expression names others, too
                return
            if placements[0] == HERE:
                self._on_body[frames[0]] = call
            else:
                self._placed[frames[0]] = call, placements[0]

    def _drop(self, frames: tuple[str, ...]) -> None:
        self._on_frames.pop(frames, None)
        if len(frames) == 1:
            self.pop(frames[0], None)
            self._on_body.pop(frames[0], None)
            self._placed.pop(frames[0], None)


def _located(placement: Placement, position: Sequence[float]) -> tuple[float, float, float]:
    """A position on a frame as one on its body; TypeError for what must be looked at."""
    x, y, z = position
    if not (type(x) is type(y) is type(z) is float):
        raise TypeError("no plain numbers")
    return placement.locate((x, y, z))


def frames_of(points: Any) -> tuple[str, ...]:
    """The frames that points are on; TypeError if they are none, or no list of them."""
    if isinstance(points, (str, Point)):
        points = (points,)
    elif type(points) is np.ndarray and points.ndim == 1:  # of names
        points = points.tolist()
    elif type(points) not in (list, tuple):
        raise TypeError("no points")
    try:
        return tuple([x if isinstance(x, str) else x.frame for x in points])
    except AttributeError:
        raise TypeError("no points") from None
