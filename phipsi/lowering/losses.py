"""How large inertias were before joints took from them: what single precision has lost.

A free joint takes from P what it does not resist: P+ = P - P H* D^-1 H P. What is
left may be smaller by far, as behind a wrist that carries a small heavy tool, and
is wrong by as much as P was rounded. So each body tells its parent how large P was,
and a pivot is held against that. With r and m the traces of the two halves of P, of
moments and of masses, and l the step from parent to child,

    r(k) = tr J(k) + 1/2 sum (r(c) + |l|^2 m(c))        m(k) = tr M(k) + 1/2 sum m(c)

over the children c. A half each time: joints in between, where they pass without a
complaint, let errors fade as well as inertias.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from phipsi.lowering import blocks
from phipsi.lowering.blocks import plus, times
from phipsi.lowering.links import Link
from phipsi.lowering.seat import Seat
from phipsi.scalars import Scalar

FADING = 0.5  # of what a body tells its parent
Size = tuple[Scalar, Scalar]  # of moments, and of masses


class Losses(ABC):
    """What bodies tell their parents."""

    @abstractmethod
    def received(self, seat: Seat) -> Size:
        """The sum of what the children of a body have told."""

    @abstractmethod
    def tell(self, seat: Seat, size: Size) -> None:
        """Add to what the parent of a body receives."""

    @abstractmethod
    def coordinates(self, seat: Seat) -> Sequence[Scalar]:
        """Those of the joint of a body."""

    def passed(self, seat: Seat, P: Sequence) -> Size:
        """How large P of a body is, or what it came from was; its parent is told."""
        half = [plus(plus(P[i][i], P[i + 1][i + 1]), P[i + 2][i + 2]) for i in (0, 3)]
        moments, masses = map(plus, half, self.received(seat))
        if not seat.is_root:
            step = reach(seat.link, seat.link.transform(self.coordinates(seat)))
            carried = plus(moments, times(step, masses))
            self.tell(seat, (times(FADING, carried), times(FADING, masses)))
        return moments, masses


class Remembered(Losses):
    """What the bodies of a whole machine tell, by number.

    Args:
        coordinates: of the joint of a body.
    """

    def __init__(self, coordinates: Callable[[Seat], Sequence[Scalar]]):
        self._coordinates = coordinates
        self._told: dict[int, Size] = {}

    def received(self, seat: Seat) -> Size:
        return self._told.get(seat.k, (0, 0))

    def tell(self, seat: Seat, size: Size) -> None:
        parent = seat.link.parent
        so_far: Any = self._told.get(parent, (0, 0))
        moments, masses = map(plus, so_far, size)
        self._told[parent] = moments, masses

    def coordinates(self, seat: Seat) -> Sequence[Scalar]:
        return self._coordinates(seat)


def reach(link: Link, X: Sequence[Scalar]) -> Scalar:
    """|l|^2: how far the origin of a body is from that of its parent, squared."""
    l: Sequence[Scalar] = blocks.zeros(3)
    for factor in reversed(link.factors(X)):
        l = blocks.add(factor.position(), factor.rotate(l))
    return blocks.dot(l, l)
