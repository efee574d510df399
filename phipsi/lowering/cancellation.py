"""How large numbers were before they cancelled: what is left of inertias in single precision.

A free joint takes from P what it does not resist: P+ = P - P H* D^-1 H P. What is
left may be smaller by far, as behind a wrist that carries a small heavy tool, and
is wrong by as much as P was rounded. So each body tells its parent how large
numbers were, and a pivot is held against that. Sizes are those of moments, r, and
of masses, m: traces of the two halves of an inertia. With s the size beside which
D stands, and l the step from parent to child,

    (r, m) = (tr J, tr M) of P, and what children have told
    told   = 1/4 (r' + |l|^2 m', m')      r' = r + s |G_r|^2      m' = m + s |G_m|^2

Errors of P go over to P+ as (I - G H) dP (I - G H)*: what is wrong with D returns by
the gain, many times as large where D is small. They fade while joints yield; the
quarter stands for that: with it long chains and ordinary robots raise no alarm.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from phipsi.lowering import blocks
from phipsi.lowering.blocks import is_one, plus, times
from phipsi.lowering.links import Link
from phipsi.lowering.seat import Seat
from phipsi.scalars import Scalar
from phipsi.spatial import Matrix

FADING = 0.25  # of what a body tells its parent
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

    def relieved(
        self,
        seat: Seat,
        half: Sequence[Scalar],
        sizes: Sequence[Scalar],
        P: Matrix,
        L_star: Matrix,
        factor: Matrix,
    ) -> None:
        """Tell the parent how large numbers were as the joint of a body was made free.

        Args:
            seat: of the body.
            half: r and m.
            sizes: of each speed of the joint, beside which D stands.
            P, L_star, factor: the inertia, the map of the joint, D factored.
        """
        if seat.is_root:
            return
        r, m = (
            plus(x, self._returned(sizes, P[i : i + 3], L_star[i : i + 3], L_star, factor))
            for x, i in zip(half, (0, 3), strict=True)
        )
        step = reach(seat.link, seat.link.transform(self._coordinates(seat)))
        self.tell(seat, (times(FADING, plus(r, times(step, m))), times(FADING, m)))

    @staticmethod
    def _returned(
        sizes: Sequence[Scalar], P: Matrix, picked: Matrix, L_star: Matrix, factor: Matrix
    ) -> Scalar:
        """s |G|^2 over some rows of G, but those that pass no force: nothing of them is left."""
        total: Scalar = 0
        for row, own in zip(P, picked, strict=True):
            if not any(map(is_one, own)):
                G = blocks.solved(factor, blocks.apply_transposed(L_star, row))
                total = plus(total, blocks.dot(sizes, [times(x, x) for x in G]))
        return total

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
