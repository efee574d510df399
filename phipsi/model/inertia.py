"""Placements and inertias of rigid bodies, in plain numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phipsi import spatial
from phipsi.errors import ModelError
from phipsi.masks import refuse_masked
from phipsi.scalars import HUGE
from phipsi.spatial import Matrix

Rows3 = tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]]
Vector3 = tuple[float, float, float]

PHYSICAL_TOLERANCE = 1e-9  # relative; a thin plate meets the triangle inequality with equality
ROTATION_TOLERANCE = 2e-6  # a rotation matrix may be rounded to six digits
ROTATION_ROUNDOFF = 1e-14  # and is made exact to this


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a frame sits in another: `x_outer = rotation x_inner + position`."""

    rotation: Rows3 = spatial.IDENTITY3
    position: Vector3 = spatial.ZERO3

    @staticmethod
    def of(rotation: ArrayLike | None, position: ArrayLike) -> Placement:
        """A placement from array-likes; ModelError if they are no rotation and position."""
        l = vector3("position", position)
        if rotation is None:
            return Placement(position=l)
        return Placement(_exact_rotation(rows3("rotation", rotation)), l)

    def then(self, inner: Placement) -> Placement:
        """The placement of `inner`'s frame in the outer frame of this one."""
        if self is HERE:
            return inner
        R, l = self.rotation, self.locate(inner.position)
        if R is spatial.IDENTITY3:
            return Placement(inner.rotation, l)
        return Placement(product3(R, inner.rotation), l)

    def locate(self, point: Vector3) -> Vector3:
        """A point of the inner frame, in the outer one."""
        (x, y, z), (a, b, c) = self.position, point
        if self.rotation is spatial.IDENTITY3:
            return x + a, y + b, z + c
        (d, e, f), (g, h, i), (j, k, l) = self.rotation
        return x + (d * a + e * b + f * c), y + (g * a + h * b + i * c), z + (j * a + k * b + l * c)

    @property
    def matrix(self) -> np.ndarray:
        """The homogeneous 4 x 4 matrix."""
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = self.rotation, self.position
        return matrix


HERE = Placement()


@dataclass(frozen=True, slots=True)
class Inertia:
    """Mass, centre of mass, and rotational inertia about it, in body axes."""

    mass: float = 0.0
    com: Vector3 = spatial.ZERO3
    rotational: Rows3 = spatial.ZERO33

    @staticmethod
    def of(mass: float, com: ArrayLike, rotational: ArrayLike | None) -> Inertia:
        """An inertia from numbers; `rotational` is 3x3, or its diagonal, or None for zero."""
        m = number("mass", mass, "kilograms")
        if m < 0.0:
            raise ModelError(f"mass is {m:g} kg; it must not be negative")
        I = spatial.ZERO33 if rotational is None else _rotational_rows(rotational)
        return Inertia(m, vector3("com", com), I)

    @property
    def matrix(self) -> np.ndarray:
        """The spatial inertia M, 6 x 6, at the frame's origin [001 (2)]."""
        return np.array(spatial.spatial_inertia(self.mass, self.com, self.rotational))

    @property
    def vanishes(self) -> bool:
        """Whether the body has neither mass nor rotational inertia."""
        return self.mass == 0.0 and self.rotational == spatial.ZERO33

    def moved(self, placement: Placement) -> Inertia:
        """The same body seen from the frame in which its own frame has this placement."""
        if placement is HERE:
            return self
        R, com = placement.rotation, placement.locate(self.com)
        if R is spatial.IDENTITY3:
            return Inertia(self.mass, com, self.rotational)
        (a, b, c), (d, e, f), (g, h, i) = R
        transposed = (a, d, g), (b, e, h), (c, f, i)
        rotational = product3(product3(R, self.rotational), transposed)
        return Inertia(self.mass, com, _symmetric(rotational))

    def plus(self, other: Inertia) -> Inertia:
        """Both bodies welded together, in the same frame."""
        if other.vanishes or self.vanishes:
            return self if other.vanishes else other
        mass = self.mass + other.mass
        weight = 0.5 if mass == 0.0 else self.mass / mass
        (a, b, c), (d, e, f) = self.com, other.com
        rest = 1.0 - weight
        com = weight * a + rest * d, weight * b + rest * e, weight * c + rest * f
        return Inertia(mass, com, _sum3(self._about(com), other._about(com)))

    def _about(self, point: Vector3) -> Rows3:
        """The rotational inertia about another point: `I - m l~ l~`, l from there to the com."""
        (a, b, c), (x, y, z) = self.com, point
        x, y, z, m = a - x, b - y, c - z, self.mass
        (a, d, e), (_, b, f), (_, _, c) = self.rotational
        d, e, f = d - m * x * y, e - m * x * z, f - m * y * z
        xx, yy, zz = x * x, y * y, z * z
        return (a + m * (yy + zz), d, e), (d, b + m * (xx + zz), f), (e, f, c + m * (xx + yy))

    def with_mass(self, mass: float) -> Inertia:
        """The same body, denser or lighter all over; it must have mass."""
        factor = mass / self.mass
        return Inertia(
            mass, self.com, _frozen([[factor * x for x in row] for row in self.rotational])
        )

    @property
    def properties(self) -> dict[str, Any]:
        """As `ModelBuilder.add_body` takes it."""
        return {"mass": self.mass, "com": self.com, "inertia": self.rotational}

    def violations(self) -> list[str]:
        """What no rigid body can have: each as a clause; empty if the inertia is physical."""
        found = []
        if not _has_density(self.rotational):  # else the eigenvalues would say the same, slower
            a, b, c = (float(moment) for moment in np.linalg.eigvalsh(self.rotational))
            slack = PHYSICAL_TOLERANCE * max(-a, c)
            if a < -slack:
                found.append(f"its rotational inertia has the negative moment {a:.6g}")
            elif c > a + b + slack:
                found.append(
                    "its principal moments break the triangle inequality: "
                    f"{a:.6g} + {b:.6g} < {c:.6g}"
                )
        if self.mass == 0.0 and not self.vanishes:
            found.append("it has rotational inertia but no mass")
        return found


MASSLESS = Inertia()


def _has_density(rotational: Rows3) -> bool:
    """Whether the second moments of mass, `trace(I)/2 - I`, are positive definite but for slack.

    Their eigenvalues are (a + b - c)/2 and so on of the principal moments, so
    this is the triangle inequality, and no moment is negative then. Computed
    by the pivots of the matrix, with the slack of `violations` or a little less.
    """
    (a, d, e), (_, b, f), (_, _, c) = rotational
    half = 0.5 * (a + b + c) + max(0.5 * PHYSICAL_TOLERANCE * max(a, b, c), 1e-300)
    first = half - a
    if first <= 0.0:
        return False
    second = half - b - d * d / first
    if second <= 0.0:
        return False
    corner = f + d * e / first
    return half - c - e * e / first - corner * corner / second > 0.0


def _rotational_rows(value: Any) -> Rows3:
    """A symmetric 3 x 3 matrix, from itself or from its diagonal."""
    try:
        is_diagonal = not any(hasattr(row, "__len__") for row in value)
    except TypeError:
        raise ModelError(f"inertia is {value!r}; expected a 3x3 matrix or its diagonal") from None
    if is_diagonal:
        a, b, c = vector3("inertia", value)
        return (a, 0.0, 0.0), (0.0, b, 0.0), (0.0, 0.0, c)
    rows = rows3("inertia", value)
    (a, b, c), (d, e, f), (g, h, i) = rows
    if b == d and c == g and f == h:
        return rows
    largest = max(map(abs, (a, b, c, e, f, i)))
    if max(abs(b - d), abs(c - g), abs(f - h)) > PHYSICAL_TOLERANCE * largest:
        raise ModelError("inertia is not symmetric; give the 3x3 matrix about the mass centre")
    return _symmetric(rows)


def number(what: str, value: object, unit: str) -> float:
    """A finite float, or a ModelError that names the unit."""
    if type(value) is float and -HUGE <= value <= HUGE:
        return value
    refuse_masked(what, value, ModelError)
    try:
        return _real(value)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} is {value!r}; expected a finite number in {unit}") from None


def vector3(what: str, value: Any) -> Vector3:
    """Three finite floats, or a ModelError."""
    refuse_masked(what, value, ModelError)
    try:
        x, y, z = value
        return _real(x), _real(y), _real(z)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} is {value!r}; expected three finite numbers") from None


def rows3(what: str, value: Any) -> Rows3:
    """A 3 x 3 matrix of finite floats, or a ModelError."""
    refuse_masked(what, value, ModelError)
    try:
        (a, b, c), (d, e, f), (g, h, i) = value
        return (
            (_real(a), _real(b), _real(c)),
            (_real(d), _real(e), _real(f)),
            (_real(g), _real(h), _real(i)),
        )
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} is {value!r}; expected 3 x 3 finite numbers") from None


def _real(value: Any) -> float:
    """A float of sensible size; text, truth values, complex numbers and the rest raise."""
    if type(value) is not float:
        if isinstance(value, (bool, np.bool_, str, bytes, complex, np.complexfloating)):
            raise TypeError
        value = float(value)
    if not -HUGE <= value <= HUGE:
        raise ValueError
    return value


def _symmetric(rows: Matrix) -> Rows3:
    """The symmetric part: the matrix itself but for roundoff."""
    (a, b, c), (d, e, f), (g, h, i) = rows
    b, c, f = 0.5 * (b + d), 0.5 * (c + g), 0.5 * (f + h)
    return (a, b, c), (b, e, f), (c, f, i)


def _exact_rotation(R: Rows3) -> Rows3:
    """A rotation, exact but for roundoff, from one that may be rounded."""
    error = _rotation_error(R)
    if error > ROTATION_TOLERANCE:
        raise ModelError("rotation is no rotation matrix: R R* must be I and det R = 1")
    while error > ROTATION_ROUNDOFF:
        R = _nearer_rotation(R)
        error = _rotation_error(R)
    return R


def _rotation_error(R: Rows3) -> float:
    """The largest entry of `R R* - I`; infinite for a mirror."""
    (a, b, c), (d, e, f), (g, h, i) = R
    if (b * f - c * e) * g + (c * d - a * f) * h + (a * e - b * d) * i <= 0.0:
        return math.inf
    return max(
        abs(a * a + b * b + c * c - 1.0),
        abs(d * d + e * e + f * f - 1.0),
        abs(g * g + h * h + i * i - 1.0),
        abs(a * d + b * e + c * f),
        abs(a * g + b * h + c * i),
        abs(d * g + e * h + f * i),
    )


def _nearer_rotation(R: Rows3) -> Rows3:
    """One step towards the nearest rotation, `R (3 I - R* R) / 2`: the error is squared."""
    square = spatial.compose(spatial.transpose(R), R)
    correction = [[(3.0 * (i == j) - square[i][j]) / 2.0 for j in range(3)] for i in range(3)]
    return _frozen(spatial.compose(R, correction))


def product3(A: Rows3, B: Rows3) -> Rows3:
    """A B: `spatial.compose` of plain numbers, written out, four times as fast."""
    (a, b, c), (d, e, f), (g, h, i) = B
    (j, k, l), (m, n, o), (p, q, r) = A
    return (
        (j * a + k * d + l * g, j * b + k * e + l * h, j * c + k * f + l * i),
        (m * a + n * d + o * g, m * b + n * e + o * h, m * c + n * f + o * i),
        (p * a + q * d + r * g, p * b + q * e + r * h, p * c + q * f + r * i),
    )


def _sum3(A: Rows3, B: Rows3) -> Rows3:
    """A + B."""
    (a, b, c), (d, e, f), (g, h, i) = A
    (j, k, l), (m, n, o), (p, q, r) = B
    return (a + j, b + k, c + l), (d + m, e + n, f + o), (g + p, h + q, i + r)


def _frozen(rows: Matrix) -> Rows3:
    """Nested tuples."""
    (a, b, c), (d, e, f), (g, h, i) = rows
    return (a, b, c), (d, e, f), (g, h, i)
