"""How large numbers were before they cancelled, as bodies tell it their parents.

Of a machine whose numbers are known, `outboard` has it once and for all. Where inertias are
arguments, and in single precision, bodies tell it as the program runs, and what they tell of
themselves are the traces of P. In single precision more is lost, and told. With s the size beside
which D stands,

    r' = r + s |G_r|^2        m' = m + s |G_m|^2

for errors of P go over to P+ as (I - G H) dP (I - G H)*: what is wrong with D returns by the gain,
many times as large where D is small. There f = 1/4 always: with it long chains and ordinary
robots raise no alarm.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from phipsi.lowering import blocks
from phipsi.lowering.blocks import is_one, plus, times
from phipsi.lowering.outboard import FADING, Size, add_sizes, carried_size, reach
from phipsi.lowering.pivots import halves_of
from phipsi.lowering.seat import Seat
from phipsi.lowering.visitor import followed
from phipsi.scalars import Scalar
from phipsi.spatial import Matrix


class Cancellation(ABC):
    """What bodies tell their parents, as a program runs.

    Args:
        q: the coordinates of the machine.
        real: what is computed with, "double" or "float".
    """

    def __init__(self, q: Any, real: str):
        self.q, self.real = q, real

    @abstractmethod
    def received(self, seat: Seat) -> Size:
        """The sum of what the children of a body have told."""

    @abstractmethod
    def tell(self, seat: Seat, size: Size) -> None:
        """Add to what the parent of a body receives."""

    def relieved(
        self,
        seat: Seat,
        sizes: Sequence[Scalar],
        P: Matrix,
        L_star: Matrix,
        factor: Matrix,
    ) -> None:
        """Tell the parent how large numbers were as the joint of a body was made free.

        Args:
            seat: of the body.
            sizes: of each speed of the joint, beside which D stands.
            P, L_star, factor: the inertia, the map of the joint, D factored.
        """
        if seat.is_root:
            return
        r, m = map(plus, halves_of(P), self.received(seat))
        fading: Scalar = FADING if seat.link.fades else 1
        if self.real == "float":
            fading = FADING
            r = plus(r, self._returned(sizes, P[:3], L_star[:3], L_star, factor))
            m = plus(m, self._returned(sizes, P[3:], L_star[3:], L_star, factor))
        q = followed(self.q[seat.joint.q], seat.joint.mimic)
        self.tell(seat, carried_size((r, m), fading, reach(seat.link, seat.link.transform(q))))

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


class Remembered(Cancellation):
    """What all bodies of a machine tell, by number."""

    def __init__(self, q: Any, real: str):
        super().__init__(q, real)
        self._told: dict[int, Size] = {}

    def received(self, seat: Seat) -> Size:
        return self._told.get(seat.k, (0, 0))

    def tell(self, seat: Seat, size: Size) -> None:
        self._told[seat.link.parent] = add_sizes(self._told.get(seat.link.parent, (0, 0)), size)


class Recorded(Cancellation):
    """What one body tells, of which only the form is known.

    Args:
        q: the coordinates of the machine.
        real: what is computed with.
        load: what its children have told, from its record.

    Attributes:
        told: what it tells itself.
    """

    def __init__(self, q: Any, real: str, load: Callable[[], Size]):
        super().__init__(q, real)
        self.load = load
        self.told: Size = (0, 0)

    def received(self, seat: Seat) -> Size:
        return self.load()

    def tell(self, seat: Seat, size: Size) -> None:
        self.told = add_sizes(self.told, size)
