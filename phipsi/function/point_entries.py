"""Entries of machine code by the points that a call names.

Only the bodies that points are on are compiled in; where they are on them is an argument as
others are: what is found for points is an entry with its first argument, the positions. Those of
a single point are put in at every call, so that one that moves costs what others do; those of
several are remembered, since they take longer to put together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import is_
from typing import Any

import numpy as np

from phipsi.backends.real import LONGEST_TUPLE
from phipsi.model.inertia import HERE, Placement
from phipsi.model.model import Model, Point

FRAMES = 256  # choices of frames that are remembered
LISTS = 256  # choices of several points
ORIGIN = (0.0, 0.0, 0.0)
NEVER_PASSED = (), None
SPACE = 3  # numbers of a position
REAL = float, int, np.floating, np.integer

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
        # By lists that were passed before: these, and what was found for them.
        self._lists: dict[tuple[Point | str, ...], tuple[tuple, Found]] = {}
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
            kind = type(points)
            key = tuple(points) if kind is list else points if kind is tuple else frames_of(points)
            return self._of_several(key)
        except (TypeError, ValueError):  # no points, or positions that are none
            return None

    def _of_several(self, points: tuple[Point | str, ...]) -> Found | None:
        """The same of a list, which may have been passed before."""
        try:
            listed, found = self._lists.get(points, NEVER_PASSED)
            if found is not None and all(map(is_, points, listed)):  # True equals 1: no number
                return found
            is_kept = True
        except TypeError:  # a position that is a list
            is_kept = False
        known = self._on_frames.get(frames_of(points))
        if known is None:
            return None
        found = known.at(points)
        if is_kept:
            if len(self._lists) >= LISTS:  # all at once: quicker than the oldest at every call
                self._lists.clear()
            self._lists[points] = points, found
        return found

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
        known = OnFrames(call, positions, first, placements)
        if len(frames) == 1:
            self[frames[0]] = known.at(frames)
            if positions.size == SPACE:  # the expression names no others
                if placements[0] == HERE:
                    self._on_body[frames[0]] = call
                else:
                    self._placed[frames[0]] = call, placements[0]
        self._on_frames[frames] = known

    def _drop(self, frames: tuple[str, ...]) -> None:
        self._on_frames.pop(frames, None)
        self._lists.clear()
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


def plain_points(points: Any) -> Any:
    """Points whose positions are tuples of floats, of those with other numbers; else as they are.

    True, or a text that reads as a number, is none: who looks at points says so.
    """
    if type(points) is Point:
        return _plain(points)
    if type(points) not in (list, tuple):
        return points
    plain = [_plain(x) if type(x) is Point else x for x in points]
    return points if all(map(is_, plain, points)) else plain


def _plain(point: Point) -> Point:
    position = point.position
    if type(position) is not tuple or all(type(x) is float for x in position):
        return point
    if len(position) != SPACE or not all(isinstance(x, REAL) for x in position):
        return point
    if any(type(x) is bool for x in position):
        return point
    x, y, z = position
    with suppress(OverflowError):  # whole numbers that are too large
        return Point(point.frame, (float(x), float(y), float(z)))
    return point


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
