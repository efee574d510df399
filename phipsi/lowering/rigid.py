"""Rigid inertias as ten numbers: mass, first moment, rotational inertia about the origin.

`[m, h, J]` with J as its upper triangle stands for `[[J, h~], [-h~, m I]]`
[001 (2)]. Bodies locked together are a rigid body again, so composite inertias
are carried this way: 30 flops a screw, where any symmetric 6 x 6 costs 78.

A body whose ten numbers are arguments has them as `Moments`: what it does is
linear in them, and no mass divides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phipsi.lowering import blocks
from phipsi.lowering.blocks import minus, plus, times
from phipsi.lowering.transforms import Factor, Shift, Turn
from phipsi.model.inertia import HERE, Inertia, Placement
from phipsi.scalars import Scalar
from phipsi.spatial import Matrix, Vector

UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


@dataclass(frozen=True, slots=True)
class Moments:
    """A body by its ten numbers in some frame: m, h, and J as its upper triangle."""

    numbers: tuple[Scalar, ...]

    @property
    def mass(self) -> Scalar:
        return self.numbers[0]

    @property
    def first(self) -> Vector:
        """h: mass times mass centre."""
        return self.numbers[1:4]

    @property
    def second(self) -> list[list[Scalar]]:
        """J: rotational inertia about the origin."""
        J = dict(zip(UPPER, self.numbers[4:], strict=True))
        return blocks.mirrored(3, lambda i, j: J[i, j])

    def seen_from(self, frame: Placement) -> Moments:
        """The same body in a frame that has this placement in its own, its origin along its z."""
        if frame is HERE:
            return self
        back = blocks.transpose(frame.rotation)
        slide = blocks.dot(back[2], frame.position)
        factors = (Shift([0, 0, blocks.negative(slide)]), Turn(back))
        return Moments(tuple(carry(factors, self.numbers)))

    def momentum(self, V: Vector) -> list[Scalar]:
        """M V: N = J omega + h x v, F = m v + omega x h: 24 multiplications, 18 additions."""
        omega, v = V[:3], V[3:]
        N = blocks.add(blocks.apply(self.second, omega), blocks.cross(self.first, v))
        return [*N, *blocks.add(blocks.scale(self.mass, v), blocks.cross(omega, self.first))]

    def newton_euler(self, A: Vector, V: Vector) -> list[Scalar]:
        """M A + S[V] M V: 57 multiplications, 45 additions.

        With x = a + omega x v: F = m x + alpha x h + omega x (omega x h),
        N = J alpha + omega x (J omega) + h x x. Of three cross products in
        S[V] M V two are one, by Jacobi: `omega x (h x v) + v x (omega x h) = h x (omega x v)`.
        """
        alpha, omega = A[:3], V[:3]
        x = blocks.add(A[3:], blocks.cross(omega, V[3:]))
        turning = blocks.cross(omega, blocks.cross(omega, self.first))
        lever = blocks.add(blocks.cross(alpha, self.first), turning)
        spin = blocks.cross(omega, blocks.apply(self.second, omega))
        N = blocks.add(blocks.apply(self.second, alpha), spin)
        F = blocks.add(blocks.scale(self.mass, x), lever)
        return [*blocks.add(N, blocks.cross(self.first, x)), *F]

    def gyroscopic(self, V: Vector) -> list[Scalar]:
        """S[V] M V: 42 multiplications, 27 additions."""
        return self.newton_euler(blocks.zeros(6), V)


def of_body(body: Inertia | Moments) -> list[Scalar]:
    """The ten numbers of a body, from its mass centre c: h = m c, J = J_c - m c~ c~."""
    if isinstance(body, Moments):
        return list(body.numbers)
    m, c, J = body.mass, body.com, body.rotational
    square = [x * x for x in c]  # |c|^2 - c_i^2 would cancel where c lies along axis i
    lever = (square[i - 1] + square[i - 2] if i == j else -c[i] * c[j] for i, j in UPPER)
    moved = (J[i][j] + m * x for (i, j), x in zip(UPPER, lever, strict=True))
    return [m, *(m * x for x in c), *moved]


def matrix(R: Vector) -> list[list[Scalar]]:
    """The symmetric 6 x 6 matrix; its zeros are zeros of the structure."""
    m, h = R[0], R[1:4]
    J = dict(zip(UPPER, R[4:], strict=True))
    lever = blocks.tilde(h)

    def entry(i: int, j: int) -> Scalar:
        if i < 3 and j < 3:
            return J[i, j] if i <= j else J[j, i]
        if i < 3:
            return lever[i][j - 3]
        return m if i == j else 0

    return blocks.mirrored(6, entry)


def carry(factors: Sequence[Factor], R: Vector) -> list[Scalar]:
    """phi R phi* of a rigid body, from the child frame to the parent frame."""
    m, h = R[0], list(R[1:4])
    J = dict(zip(UPPER, R[4:], strict=True))
    full: Matrix = [[J[min(i, j), max(i, j)] for j in range(3)] for i in range(3)]
    for factor in reversed(factors):
        h, full = factor.rotate(h), factor.rotate_symmetric(full)
        h, full = _moved(m, h, full, factor.position())
    return [m, *h, *(full[i][j] for i, j in UPPER)]


def _moved(m: Scalar, h: Vector, J: Matrix, l: Vector) -> tuple[list[Scalar], Matrix]:
    """Seen from an origin that lies -l away: h + m l, and J by the parallel axes theorem.

    With `k = h + m l`: J_ii gains l_j (h_j + k_j) of the other two axes, J_ij
    loses l_i k_j + l_j h_i.
    """
    k = blocks.add(h, blocks.scale(m, l))
    gain = [times(x, plus(a, b)) for x, a, b in zip(l, h, k, strict=True)]

    def entry(i: int, j: int) -> Scalar:
        if i == j:
            return plus(J[i][i], plus(gain[i - 1], gain[i - 2]))
        return minus(J[i][j], plus(times(l[i], k[j]), times(l[j], h[i])))

    return k, blocks.mirrored(3, entry)
