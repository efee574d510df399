"""How large numbers were before they cancelled, as bodies tell it their parents.

A free joint takes from P what it does not resist: P+ = P - P H* D^-1 H P. What is left may be
smaller by far, as behind a wrist that carries a small heavy tool, and is wrong by as much as P was
rounded. So each body tells its parent how large numbers were, and a pivot is held against that.
Sizes are those of moments, r, and of masses, m: traces of the two halves of an inertia. With s the
size beside which D stands, and l the step from parent to child,

    (r, m) = (tr J, tr M) of P, and what children have told
    told   = f (r' + |l|^2 m', m')      r' = r + s |G_r|^2      m' = m + s |G_m|^2

Errors of P go over to P+ as (I - G H) dP (I - G H)*: what is wrong with D returns by the gain,
many times as large where D is small. They fade while joints yield and bodies have mass, for which
f = 1/4 stands: in single precision always, with which long chains and ordinary robots raise no
alarm, in double precision on machines that are tall. There nothing fades behind bodies of hardly
any mass, and in low machines: f = 1.

A machine on which every joint is resisted by its own body has no need of this: D(k) is no smaller
than H M(k) H* + Jm, whatever is outboard, and never vanishes. Of such machines bodies tell nothing
in double precision.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from phipsi.lowering import blocks, rigid
from phipsi.lowering.blocks import is_one, plus, times
from phipsi.lowering.links import Link
from phipsi.lowering.pivots import halves_of, is_roundoff, moved_sizes
from phipsi.lowering.seat import Seat
from phipsi.model.model import Joint, Model
from phipsi.model.tree import WORLD
from phipsi.scalars import Scalar
from phipsi.spatial import Matrix

FADING = 0.25  # of what a body tells its parent
TALL = 32  # bodies on top of each other, from which on what is told fades
LIGHT = 1e-4  # of the mass outboard: a body that has less does not count as one of mass
STANDS = 1e-9  # of the inertia that it moves: a joint that its own body resists by so much is safe
DIAGONAL = 4, 7, 9  # of ten numbers of a body, its moments of inertia
Size = tuple[Scalar, Scalar]  # of moments, and of masses


def weigh(model: Model, links: Sequence[Link]) -> tuple[tuple[Link, ...], bool]:
    """Links that know whether sizes fade where they are, and whether no pivot can vanish.

    Joints are taken where they are at zero.
    """
    received: list[tuple[float, float]] = [(0.0, 0.0)] * len(links)
    is_tall = max(model.tree.depth, default=0) > TALL
    found, is_regular = list(links), True
    for k in model.tree.tip_to_base:
        link, joint, (r, m) = links[k], model.joints[k], received[k]
        R = rigid.of_body(link.inertia)
        fading = 1.0
        if is_tall and R[0] > LIGHT * m:
            found[k], fading = replace(link, fades=True), FADING
        X = link.transform(joint.kind.neutral())
        is_regular = is_regular and _stands(link, joint, X, (r, m))
        if link.parent != WORLD:
            r, m = fading * (r + R[4] + R[7] + R[9]), fading * (m + 3.0 * R[0])
            step, (r_0, m_0) = _reach(link, X), received[link.parent]
            received[link.parent] = r_0 + r + step * m, m_0 + m
    return (tuple(links), True) if is_regular else (tuple(found), False)


def _stands(link: Link, joint: Joint, X: Sequence[Scalar], outboard: Size) -> bool:
    """Whether H M(k) H* + Jm of a joint counts beside all that it moves, in every state."""
    if not link.nv:
        return True
    R, L_star = rigid.of_body(link.inertia), link.joint_map(X)
    along = _axis_of(L_star)
    if along is not None:
        moments, masses = R[4] + R[7] + R[9] + outboard[0], 3.0 * R[0] + outboard[1]
        D, size = (R[DIAGONAL[along]], moments) if along < 3 else (R[0], masses)
        return bool(D + link.rotor > STANDS * size)
    if joint.kind.map_derivatives(joint.kind.neutral()):
        return False  # its speeds may become dependent
    M = rigid.matrix(R)
    D_0, sizes = blocks.congruence_transposed(L_star, M), moved_sizes(M, outboard, L_star)
    matrix = np.array(D_0, float) + float(link.rotor) * np.eye(link.nv)
    return not bool(is_roundoff(matrix, np.array(sizes, float), STANDS))


def _axis_of(L_star: Matrix) -> int | None:
    """Which of the six directions a joint moves in, if by the structure it is one of them."""
    if len(L_star[0]) != 1 or any(type(row[0]) is not int for row in L_star):
        return None
    ones = [i for i, row in enumerate(L_star) if row[0]]
    return ones[0] if len(ones) == 1 else None


class Cancellation(ABC):
    """What bodies tell their parents, as a program runs.

    Args:
        q: the coordinates of the machine.
        fades: whether what is told always fades; else as the links say.
    """

    def __init__(self, q: Any, fades: bool):
        self.q, self.fades = q, fades

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
        r, m = (
            plus(x, self._returned(sizes, P[i : i + 3], L_star[i : i + 3], L_star, factor))
            for x, i in zip(map(plus, halves_of(P), self.received(seat)), (0, 3), strict=True)
        )
        fading: Scalar = FADING if self.fades or seat.link.fades else 1
        step = _reach(seat.link, seat.link.transform(self._coordinates(seat)))
        self.tell(seat, (times(fading, plus(r, times(step, m))), times(fading, m)))

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

    def __init__(self, q: Any, fades: bool):
        super().__init__(q, fades)
        self._told: dict[int, Size] = {}

    def received(self, seat: Seat) -> Size:
        return self._told.get(seat.k, (0, 0))

    def tell(self, seat: Seat, size: Size) -> None:
        self._told[seat.link.parent] = _sum(self._told.get(seat.link.parent, (0, 0)), size)


class Recorded(Cancellation):
    """What one body tells, of which only the form is known.

    Args:
        q: the coordinates of the machine.
        fades: whether what is told always fades.
        load: what its children have told, from its record.

    Attributes:
        told: what it tells itself.
    """

    def __init__(self, q: Any, fades: bool, load: Callable[[], Size]):
        super().__init__(q, fades)
        self.load = load
        self.told: Size = (0, 0)

    def received(self, seat: Seat) -> Size:
        return self.load()

    def tell(self, seat: Seat, size: Size) -> None:
        self.told = _sum(self.told, size)


def _sum(x: Size, y: Size) -> Size:
    return plus(x[0], y[0]), plus(x[1], y[1])


def _reach(link: Link, X: Sequence[Scalar]) -> Scalar:
    """|l|^2: how far the origin of a body is from that of its parent, squared."""
    l: Sequence[Scalar] = blocks.zeros(3)
    for factor in reversed(link.factors(X)):
        l = blocks.add(factor.position(), factor.rotate(l))
    return blocks.dot(l, l)
