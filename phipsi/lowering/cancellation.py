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


class Cancellation(ABC):
    """What bodies tell their parents.

    Args:
        q: the coordinates of the machine.
    """

    def __init__(self, q: Any):
        self.q = q

    @abstractmethod
    def received(self, seat: Seat) -> Size:
        """The sum of what the children of a body have told."""

    @abstractmethod
    def tell(self, seat: Seat, size: Size) -> None:
        """Add to what the parent of a body receives."""

    def tell_parent(self, seat: Seat, size: Size) -> None:
        """Tell the parent of a body, where it is, how large numbers were there."""
        if not seat.is_root:
            moments, masses = size
            step = reach(seat.link, seat.link.transform(self._coordinates(seat)))
            carried = plus(moments, times(step, masses))
            self.tell(seat, (times(FADING, carried), times(FADING, masses)))

    def _coordinates(self, seat: Seat) -> list[Scalar]:
        own, mimic = list(self.q[seat.joint.q]), seat.joint.mimic
        return own if mimic is None else [mimic.ratio * x + mimic.offset for x in own]


class Remembered(Cancellation):
    """What all bodies of a machine tell, by number."""

    def __init__(self, q: Any):
        super().__init__(q)
        self._told: dict[int, Size] = {}

    def received(self, seat: Seat) -> Size:
        return self._told.get(seat.k, (0, 0))

    def tell(self, seat: Seat, size: Size) -> None:
        self._told[seat.link.parent] = _sum(self._told.get(seat.link.parent, (0, 0)), size)


class Recorded(Cancellation):
    """What one body tells, of which only the form is known.

    Args:
        q: the coordinates of the machine.
        load: what its children have told, from its record.

    Attributes:
        told: what it tells itself.
    """

    def __init__(self, q: Any, load: Callable[[], Size]):
        super().__init__(q)
        self.load = load
        self.told: Size = (0, 0)

    def received(self, seat: Seat) -> Size:
        return self.load()

    def tell(self, seat: Seat, size: Size) -> None:
        self.told = _sum(self.told, size)


def _sum(x: Size, y: Size) -> Size:
    return plus(x[0], y[0]), plus(x[1], y[1])


def reach(link: Link, X: Sequence[Scalar]) -> Scalar:
    """|l|^2: how far the origin of a body is from that of its parent, squared."""
    l: Sequence[Scalar] = blocks.zeros(3)
    for factor in reversed(link.factors(X)):
        l = blocks.add(factor.position(), factor.rotate(l))
    return blocks.dot(l, l)
