"""phi(p,k) as a product of elementary factors, over any kind of scalar.

`phi = [[R, l~ R], [0, R]]` carries forces from a child frame inward, its
transpose motions outward. It is held as successive axial screws, parent side
first: with z of each frame along its joint axis and x along the common normal
to the next one, it is `XScrew(alpha, a) ZScrew(theta, d)`, the modified
Denavit-Hartenberg pair. So an inertia comes through a free revolute joint by
123 flops; by the 6 x 6 matrix it takes 339.

Source: McMillan and Orin, Efficient Computation of Articulated-Body Inertias
Using Successive Axial Screws, IEEE Trans. Robotics and Automation 11, 1995.
Departure: a symmetric 2 x 2 block is turned by 4 multiplications,
`_turn_symmetric`.

Each factor is written once for both directions: with Pi the exchange of the
angular and linear halves, `phi* = Pi phi^-1 Pi`, and the inverse of a screw or
a shift is the same code with two axes exchanged. So below one half of a vector
*takes* (the moment of a force, the linear part of a motion) what the lever
*gives* it from the other half.

Entries that are structural zeros (the int 0) cost nothing and stay; of
symmetric matrices, (i,j) and (j,i) are one object.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

from phipsi.lowering import blocks
from phipsi.lowering.blocks import is_zero, minus, negative, plus, times
from phipsi.scalars import Scalar
from phipsi.spatial import Matrix, Vector

Rows = list[list[Scalar]]
Axes = tuple[int, int, int]  # a cyclic order; with the first two exchanged, all signs turn

INWARD: Axes = (0, 1, 2)
OUTWARD: Axes = (1, 0, 2)


class Factor(ABC):
    """One factor of phi(p,k)."""

    __slots__ = ()

    # -- vectors -----------------------------------------------------------------------

    def inward(self, f: Vector) -> list[Scalar]:
        """phi f: a force, from the child frame to the parent frame."""
        N, F = self._carry(f[:3], f[3:], inward=True)
        return [*N, *F]

    def outward(self, V: Vector) -> list[Scalar]:
        """phi* V: a motion, from the parent frame to the child frame."""
        v, omega = self._carry(V[3:], V[:3], inward=False)
        return [*omega, *v]

    def turn(self, x: Vector) -> list[Scalar]:
        """diag(R, R) x: child axes to parent axes, without the lever."""
        return [*self._turn(x[:3], inward=True), *self._turn(x[3:], inward=True)]

    def turn_back(self, x: Vector) -> list[Scalar]:
        """diag(R, R)* x: parent axes to child axes, without the lever."""
        return [*self._turn(x[:3], inward=False), *self._turn(x[3:], inward=False)]

    def rotate(self, x: Vector) -> list[Scalar]:
        """R x of a 3-vector: child axes to parent axes."""
        return self._turn(x, inward=True)

    def rotate_back(self, x: Vector) -> list[Scalar]:
        """R* x of a 3-vector: parent axes to child axes."""
        return self._turn(x, inward=False)

    @abstractmethod
    def rotate_symmetric(self, W: Matrix) -> Rows:
        """R W R* of a symmetric 3 x 3 W: child axes to parent axes."""

    # -- matrices ----------------------------------------------------------------------

    def congruence(self, W: Matrix) -> Rows:
        """phi W phi* of a symmetric W: an inertia, from the child frame to the parent frame."""
        J, C, _, K = _quarters(W)
        J, C, K = self._congruence(J, C, K, inward=True)
        return _assembled(J, C, blocks.transpose(C), K)

    def congruence_transposed(self, W: Matrix) -> Rows:
        """phi* W phi of a symmetric W, as of Upsilon from the parent to the child."""
        K, _, C, J = _quarters(W)
        J, C, K = self._congruence(J, C, K, inward=False)
        return _assembled(K, blocks.transpose(C), C, J)

    def congruence_general(self, W: Matrix) -> Rows:
        """phi W phi* of any 6 x 6 W."""
        return _assembled(*self._congruence_general(*_quarters(W), inward=True))

    def congruence_transposed_general(self, W: Matrix) -> Rows:
        """phi* W phi of any 6 x 6 W."""
        A, B, C, D = _quarters(W)
        D, C, B, A = self._congruence_general(D, C, B, A, inward=False)
        return _assembled(A, B, C, D)

    # -- pose --------------------------------------------------------------------------

    @abstractmethod
    def rotation(self) -> Rows:
        """R: child axes in parent axes."""

    @abstractmethod
    def position(self) -> list[Scalar]:
        """l: the child's origin in the parent frame."""

    # -- what a factor does, in either direction ---------------------------------------

    @abstractmethod
    def _turn(self, x: Vector, inward: bool) -> list[Scalar]:
        """R x inward, R* x outward."""

    @abstractmethod
    def _carry(
        self, taking: Vector, giving: Vector, inward: bool
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Both halves turned, the lever's share added to the one that takes."""

    @abstractmethod
    def _congruence(self, J: Matrix, C: Matrix, K: Matrix, inward: bool) -> tuple[Rows, Rows, Rows]:
        """Of [[J, C], [C*, K]], the half that takes first."""

    @abstractmethod
    def _congruence_general(
        self, A: Matrix, B: Matrix, C: Matrix, D: Matrix, inward: bool
    ) -> tuple[Rows, Rows, Rows, Rows]:
        """Of [[A, B], [C, D]], the half that takes first."""


# -- axial screws ----------------------------------------------------------------------


class _Screw(Factor):
    """A rotation about a coordinate axis and a translation along it, which commute."""

    __slots__ = ()
    _axes: ClassVar[Axes]  # the plane of the rotation, and the axis

    @property
    @abstractmethod
    def _numbers(self) -> tuple[Scalar, Scalar, Scalar]:
        """Cosine, sine, translation."""

    def _oriented(self, inward: bool) -> Axes:
        i, j, k = self._axes
        return (i, j, k) if inward else (j, i, k)

    def rotation(self) -> Rows:
        i, j, k = self._axes
        c, s, _ = self._numbers
        R = blocks.zero_matrix(3, 3)
        R[i][i], R[i][j], R[j][i], R[j][j], R[k][k] = c, negative(s), s, c, 1
        return R

    def position(self) -> list[Scalar]:
        l = blocks.zeros(3)
        l[self._axes[2]] = self._numbers[2]
        return l

    def rotate_symmetric(self, W: Matrix) -> Rows:
        c, s, _ = self._numbers
        return _turn_symmetric(W, self._axes, c, s, times(2.0, c))

    def _turn(self, x: Vector, inward: bool) -> list[Scalar]:
        c, s, _ = self._numbers
        return _turn_vector(x, self._oriented(inward), c, s)

    def _carry(
        self, taking: Vector, giving: Vector, inward: bool
    ) -> tuple[list[Scalar], list[Scalar]]:
        i, j, _ = axes = self._oriented(inward)
        c, s, d = self._numbers
        x, y = _turn_vector(taking, axes, c, s), _turn_vector(giving, axes, c, s)
        x[i], x[j] = minus(x[i], times(d, y[j])), plus(x[j], times(d, y[i]))
        return x, y

    def _congruence(self, J: Matrix, C: Matrix, K: Matrix, inward: bool) -> tuple[Rows, Rows, Rows]:
        axes = self._oriented(inward)
        c, s, d = self._numbers
        c2 = times(2.0, c)
        J, K = _turn_symmetric(J, axes, c, s, c2), _turn_symmetric(K, axes, c, s, c2)
        return _slide_symmetric(J, _turn_matrix(C, axes, c, s), K, axes, d)

    def _congruence_general(
        self, A: Matrix, B: Matrix, C: Matrix, D: Matrix, inward: bool
    ) -> tuple[Rows, Rows, Rows, Rows]:
        axes = self._oriented(inward)
        c, s, d = self._numbers
        A, B, C, D = (_turn_matrix(X, axes, c, s) for X in (A, B, C, D))
        A, B = _slide_rows(A, C, axes, d), _slide_rows(B, D, axes, d)
        return _slide_columns(A, B, axes, d), B, _slide_columns(C, D, axes, d), D


@dataclass(frozen=True, slots=True)
class ZScrew(_Screw):
    """Rotation about z with cosine c and sine s, and translation d along z."""

    c: Scalar
    s: Scalar
    d: Scalar
    _axes = (0, 1, 2)

    @property
    def _numbers(self) -> tuple[Scalar, Scalar, Scalar]:
        return self.c, self.s, self.d


@dataclass(frozen=True, slots=True)
class XScrew(_Screw):
    """Rotation about x with cosine c and sine s, and translation a along x."""

    c: Scalar
    s: Scalar
    a: Scalar
    _axes = (1, 2, 0)

    @property
    def _numbers(self) -> tuple[Scalar, Scalar, Scalar]:
        return self.c, self.s, self.a


def _turn_vector(x: Vector, axes: Axes, c: Scalar, s: Scalar) -> list[Scalar]:
    """R x: 4 multiplications, 2 additions."""
    i, j, _ = axes
    y = list(x)
    y[i] = minus(times(c, x[i]), times(s, x[j]))
    y[j] = plus(times(s, x[i]), times(c, x[j]))
    return y


def _turn_symmetric(W: Matrix, axes: Axes, c: Scalar, s: Scalar, c2: Scalar) -> Rows:
    """R W R* of a symmetric 3 x 3 W, given c2 = 2 c: 8 multiplications, 7 additions.

    In the plane of the rotation, with `w = s (a - b) + 2 c h`,
    `[[a, h], [h, b]]` becomes `[[a - s w, c w - h], [., b + s w]]`.
    """
    i, j, k = axes
    a, h, b = W[i][i], W[i][j], W[j][j]
    if is_zero(c):  # a quarter turn
        a, h, b = b, negative(h), a
    else:
        w = plus(times(s, minus(a, b)), times(c2, h))
        sw = times(s, w)
        a, h, b = minus(a, sw), minus(times(c, w), h), plus(b, sw)
    y = _turn_vector(W[k], axes, c, s)
    T = blocks.zero_matrix(3, 3)
    T[i][i], T[j][j], T[k][k] = a, b, W[k][k]
    T[i][j] = T[j][i] = h
    T[i][k] = T[k][i] = y[i]
    T[j][k] = T[k][j] = y[j]
    return T


def _turn_matrix(W: Matrix, axes: Axes, c: Scalar, s: Scalar) -> Rows:
    """R W R* of any 3 x 3 W: 12 multiplications, 11 additions.

    In the plane of the rotation, with `w = s (a - b) + c (g + h)`,
    `[[a, g], [h, b]]` becomes `[[a - s w, c w - h], [c w - g, b + s w]]`.
    """
    i, j, k = axes
    a, g, h, b = W[i][i], W[i][j], W[j][i], W[j][j]
    if is_zero(c):  # a quarter turn
        a, g, h, b = b, negative(h), negative(g), a
    else:
        w = plus(times(s, minus(a, b)), times(c, plus(g, h)))
        sw, cw = times(s, w), times(c, w)
        a, g, h, b = minus(a, sw), minus(cw, h), minus(cw, g), plus(b, sw)
    row = _turn_vector(W[k], axes, c, s)
    column = _turn_vector([x[k] for x in W], axes, c, s)
    T = blocks.zero_matrix(3, 3)
    T[i][i], T[i][j], T[j][i], T[j][j], T[k][k] = a, g, h, b, W[k][k]
    T[k][i], T[k][j], T[i][k], T[j][k] = row[i], row[j], column[i], column[j]
    return T


def _slide_symmetric(J: Rows, C: Rows, K: Rows, axes: Axes, d: Scalar) -> tuple[Rows, Rows, Rows]:
    """By the lever L = d e_k~: `C + L K`, then `J + L C* + (C + L K) L*`.

    10 multiplications, 14 additions.
    """
    if is_zero(d):
        return J, C, K
    i, j, k = axes
    T = [list(row) for row in C]
    share = times(d, K[i][j])
    T[i][i], T[j][j] = minus(C[i][i], share), plus(C[j][j], share)
    T[i][j], T[j][i] = minus(C[i][j], times(d, K[j][j])), plus(C[j][i], times(d, K[i][i]))
    T[i][k], T[j][k] = minus(C[i][k], times(d, K[j][k])), plus(C[j][k], times(d, K[i][k]))
    J[i][i] = minus(J[i][i], times(d, plus(C[i][j], T[i][j])))
    J[j][j] = plus(J[j][j], times(d, plus(C[j][i], T[j][i])))
    J[i][j] = J[j][i] = plus(J[i][j], times(d, minus(T[i][i], C[j][j])))
    J[i][k] = J[k][i] = minus(J[i][k], times(d, C[k][j]))
    J[j][k] = J[k][j] = plus(J[j][k], times(d, C[k][i]))
    return J, T, K


def _slide_rows(X: Rows, Y: Rows, axes: Axes, d: Scalar) -> Rows:
    """X + L Y with the lever L = d e_k~."""
    i, j, _ = axes
    T = list(X)
    T[i] = [minus(x, times(d, y)) for x, y in zip(X[i], Y[j], strict=True)]
    T[j] = [plus(x, times(d, y)) for x, y in zip(X[j], Y[i], strict=True)]
    return T


def _slide_columns(X: Rows, Y: Rows, axes: Axes, d: Scalar) -> Rows:
    """X + Y L* with the lever L = d e_k~."""
    i, j, _ = axes
    T = [list(row) for row in X]
    for t, y in zip(T, Y, strict=True):
        t[i], t[j] = minus(t[i], times(d, y[j])), plus(t[j], times(d, y[i]))
    return T


# -- translation and rotation ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shift(Factor):
    """A translation by the 3-vector l: `phi = [[I, l~], [0, I]]`."""

    l: Vector

    def rotation(self) -> Rows:
        return blocks.identity(3)

    def position(self) -> list[Scalar]:
        return list(self.l)

    def rotate_symmetric(self, W: Matrix) -> Rows:
        return [list(row) for row in W]

    def _turn(self, x: Vector, inward: bool) -> list[Scalar]:
        return list(x)

    def _carry(
        self, taking: Vector, giving: Vector, inward: bool
    ) -> tuple[list[Scalar], list[Scalar]]:
        lever = blocks.cross(self.l, giving) if inward else blocks.cross(giving, self.l)
        return blocks.add(taking, lever), list(giving)

    def _congruence(self, J: Matrix, C: Matrix, K: Matrix, inward: bool) -> tuple[Rows, Rows, Rows]:
        """`C + l~ K`, then `J + l~ C* + (C + l~ K) l~*`: 30 multiplications, 42 additions."""
        l = self.l
        T, S = [list(row) for row in C], blocks.zero_matrix(3, 3)
        axes = INWARD if inward else OUTWARD
        cyclic = [(axes[i], axes[i - 2], axes[i - 1]) for i in range(3)]
        share = {i: times(l[i], K[j][k]) for i, j, k in cyclic}  # met twice on the diagonal
        for i, j, k in cyclic:  # row i of l~ is l_j at k and -l_k at j
            T[i][i] = plus(C[i][i], minus(share[j], share[k]))
            T[i][j] = plus(C[i][j], minus(times(l[j], K[j][k]), times(l[k], K[j][j])))
            T[i][k] = plus(C[i][k], minus(times(l[j], K[k][k]), times(l[k], K[j][k])))
        for i, j, k in cyclic:
            lever = minus(times(l[j], plus(C[i][k], T[i][k])), times(l[k], plus(C[i][j], T[i][j])))
            S[i][i] = plus(J[i][i], lever)
            lever = minus(times(l[j], C[j][k]), times(l[i], T[i][k]))
            lever = plus(lever, times(l[k], minus(T[i][i], C[j][j])))
            S[i][j] = S[j][i] = plus(J[i][j], lever)
        return S, T, [list(row) for row in K]

    def _congruence_general(
        self, A: Matrix, B: Matrix, C: Matrix, D: Matrix, inward: bool
    ) -> tuple[Rows, Rows, Rows, Rows]:
        B = self._lever_on_columns(B, D, inward)
        A = self._lever_on_columns(A, C, inward)
        return (
            self._lever_on_rows(A, B, inward),
            B,
            self._lever_on_rows(C, D, inward),
            [list(row) for row in D],
        )

    def _lever_on_rows(self, X: Matrix, Y: Matrix, inward: bool) -> Rows:
        """X + Y l~*, or with -l outward."""
        return [self._carry(x, y, inward)[0] for x, y in zip(X, Y, strict=True)]

    def _lever_on_columns(self, X: Matrix, Y: Matrix, inward: bool) -> Rows:
        """X + l~ Y, or with -l outward."""
        columns = self._lever_on_rows(blocks.transpose(X), blocks.transpose(Y), inward)
        return blocks.transpose(columns)


@dataclass(frozen=True, slots=True)
class Turn(Factor):
    """A rotation by the 3 x 3 matrix R: `phi = diag(R, R)`."""

    R: Matrix

    def rotation(self) -> Rows:
        return [list(row) for row in self.R]

    def position(self) -> list[Scalar]:
        return blocks.zeros(3)

    def rotate_symmetric(self, W: Matrix) -> Rows:
        return blocks.congruence(self.R, W)

    def _turn(self, x: Vector, inward: bool) -> list[Scalar]:
        return blocks.apply(self.R, x) if inward else blocks.apply_transposed(self.R, x)

    def _carry(
        self, taking: Vector, giving: Vector, inward: bool
    ) -> tuple[list[Scalar], list[Scalar]]:
        return self._turn(taking, inward), self._turn(giving, inward)

    def _congruence(self, J: Matrix, C: Matrix, K: Matrix, inward: bool) -> tuple[Rows, Rows, Rows]:
        R = self.R if inward else blocks.transpose(self.R)
        C = blocks.compose_transposed(blocks.compose(R, C), R)
        return blocks.congruence(R, J), C, blocks.congruence(R, K)

    def _congruence_general(
        self, A: Matrix, B: Matrix, C: Matrix, D: Matrix, inward: bool
    ) -> tuple[Rows, Rows, Rows, Rows]:
        R = self.R if inward else blocks.transpose(self.R)
        A, B, C, D = (blocks.compose_transposed(blocks.compose(R, X), R) for X in (A, B, C, D))
        return A, B, C, D


# -- the four quarters of a 6 x 6 matrix -----------------------------------------------


def _quarters(W: Matrix) -> tuple[Rows, Rows, Rows, Rows]:
    """A, B, C, D of [[A, B], [C, D]]."""
    top, bottom = W[:3], W[3:]
    return (
        [list(row[:3]) for row in top],
        [list(row[3:]) for row in top],
        [list(row[:3]) for row in bottom],
        [list(row[3:]) for row in bottom],
    )


def _assembled(A: Matrix, B: Matrix, C: Matrix, D: Matrix) -> Rows:
    """[[A, B], [C, D]]."""
    top = [[*a, *b] for a, b in zip(A, B, strict=True)]
    return top + [[*c, *d] for c, d in zip(C, D, strict=True)]


# -- products of factors, parent side first --------------------------------------------


def inward(factors: Sequence[Factor], f: Vector) -> Vector:
    """phi f."""
    return reduce(lambda x, factor: factor.inward(x), reversed(factors), f)


def outward(factors: Sequence[Factor], V: Vector) -> Vector:
    """phi* V."""
    return reduce(lambda x, factor: factor.outward(x), factors, V)


def turn(factors: Sequence[Factor], x: Vector) -> Vector:
    """diag(R, R) x: child axes to parent axes."""
    return reduce(lambda y, factor: factor.turn(y), reversed(factors), x)


def turn_back(factors: Sequence[Factor], x: Vector) -> Vector:
    """diag(R, R)* x: parent axes to child axes."""
    return reduce(lambda y, factor: factor.turn_back(y), factors, x)


def congruence(factors: Sequence[Factor], W: Matrix) -> Matrix:
    """phi W phi* of a symmetric W."""
    return reduce(lambda x, factor: factor.congruence(x), reversed(factors), W)


def congruence_transposed(factors: Sequence[Factor], W: Matrix) -> Matrix:
    """phi* W phi of a symmetric W."""
    return reduce(lambda x, factor: factor.congruence_transposed(x), factors, W)


def congruence_general(factors: Sequence[Factor], W: Matrix) -> Matrix:
    """phi W phi* of any 6 x 6 W."""
    return reduce(lambda x, factor: factor.congruence_general(x), reversed(factors), W)


def congruence_transposed_general(factors: Sequence[Factor], W: Matrix) -> Matrix:
    """phi* W phi of any 6 x 6 W."""
    return reduce(lambda x, factor: factor.congruence_transposed_general(x), factors, W)


def compose_pose(factors: Sequence[Factor]) -> tuple[Rows, list[Scalar]]:
    """(R, l) of the whole: child axes and origin in the parent frame."""
    R, l = blocks.identity(3), blocks.zeros(3)
    for factor in reversed(factors):
        R = blocks.compose(factor.rotation(), R)
        l = blocks.add(factor.position(), factor.rotate(l))
    return R, l
