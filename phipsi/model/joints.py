"""Joint kinds: what each allows, over any kind of scalar.

A joint carries the child frame away from the joint frame fixed on the parent.
A kind knows

    transform(q)        (R, l): axes and origin of the child frame in the joint frame
    motion_map(q)       H*, 6 x nv, in child axes at the child origin: V = H* beta
    map_derivatives(q)  Gamma_a = D_a H*, one 6 x nv per speed; () where H* is constant
    integrate(q, dq)    the configuration reached from q along the tangent dq
    difference(q0, q1)  its inverse
    bracket(u, w)       how much the order of two moves matters
    tangent_rate(u, b)  how the tangent u of integrate(q, u) grows at the speeds b
    advance(b, b', h)   the speeds after a time h of constant acceleration

The speeds beta are the papers' quasi-velocities [002 sec. 2.1], in child axes
for planar, spherical and free joints, so that their H* is constant.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np

from phipsi import spatial
from phipsi.errors import ModelError
from phipsi.model import axes
from phipsi.model.axes import X, Y, Z
from phipsi.scalars import HUGE, Scalar, cos, sin
from phipsi.spatial import IDENTITY3, ZERO3, Matrix, Vector


class JointKind(ABC):
    """What a joint allows. Coordinates form a vector space unless a kind says otherwise.

    In a kind of your own these belong together: a class that overrides one has them all.

    - `nq`, `nv`, `transform`, `motion_map`, which every kind has; `map_derivatives` where H*
      changes with q, `quaternion` and `neutral` where a quaternion is among the coordinates.
    - `integrate`, `difference` and `bracket`, where moves do not add up. Of a class that moves in
      its own way along several tangents, but has no `bracket` beside, nothing is computed that
      exchanges moves: such second derivatives go another way, Runge-Kutta steps are refused.
    - `draw`, or `random` for one configuration at a time: whichever is overridden is used.
    """

    nq: int
    nv: int
    quaternion: ClassVar[slice | None] = None  # which coordinates are a unit quaternion
    turns: ClassVar[tuple[int, ...]] = ()  # which coordinates are angles

    @abstractmethod
    def transform(self, q: Vector) -> tuple[Matrix, Vector]:
        """(R, l): axes and origin of the child frame in the joint frame."""

    @abstractmethod
    def motion_map(self, q: Vector) -> Matrix:
        """H*: the child's spatial velocity, in child axes, is H* beta."""

    def map_derivatives(self, q: Vector) -> Sequence[Matrix]:
        """Gamma_a = D_a H* along each tangent direction a; () where H* is constant."""
        return ()

    def neutral(self) -> list[float]:
        """The configuration in which the child frame lies on the joint frame.

        A custom joint has all coordinates zero instead, wherever that puts it.
        """
        return [0.0] * self.nq

    def draw(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> np.ndarray:
        """Random configurations (*size, nq): angles over a full turn, lengths within a metre,
        rotations uniform on their group."""
        return -self.spread + 2.0 * self.spread * rng.random((*size, self.nq))

    @property
    def spread(self) -> np.ndarray:
        """How far each coordinate is drawn from zero, either way."""
        return np.array([math.pi if i in self.turns else 1.0 for i in range(self.nq)])

    def random(self, rng: np.random.Generator) -> list[float]:
        """A random configuration; see `draw`."""
        return self.draw(rng).tolist()

    def integrate(self, q: Vector, dq: Vector) -> list[Scalar]:
        """The configuration reached from q along the tangent dq."""
        return spatial.add(q, dq)

    def difference(self, q0: Vector, q1: Vector) -> list[Scalar]:
        """The tangent that leads from q0 to q1."""
        return spatial.subtract(q1, q0)

    def bracket(self, u: Vector, w: Vector) -> list[Scalar]:
        """[u, w] of two tangents: zero where all moves commute."""
        return [0.0] * self.nv

    @property
    def has_bracket(self) -> bool:
        """Whether `bracket` is that of the moves; of moves along one tangent it is zero."""
        moves = ("integrate", "difference")
        return self.nv < 2 or not any(overrides(self, x, "bracket") for x in moves)

    @property
    def commutes(self) -> bool:
        """Whether moves may be taken in any order, as far as is known."""
        return self.has_bracket and type(self).bracket is JointKind.bracket

    def tangent_rate(self, u: Vector, beta: Vector) -> Vector:
        """The rate of u where integrate(q, u) has the speeds beta, q at rest.

        beta + [u, beta]/2 + [u, [u, beta]]/12 - [u, [u, [u, [u, beta]]]]/720 + O(u^6), the
        inverse of the exponential's derivative.
        """
        if self.commutes:
            return beta
        if not self.has_bracket:
            raise ModelError(
                f"{type(self).__name__} overrides `integrate` or `difference` without `bracket`, "
                "which steps of rk4 and dopri need. Add bracket(self, u, w) to the class, "
                "[0.0] * nv if moves commute; or take integrator='midpoint'"
            )
        once = self.bracket(u, beta)
        twice = self.bracket(u, once)
        four_times = self.bracket(u, self.bracket(u, twice))
        terms = zip(beta, once, twice, four_times, strict=True)
        return [b + 0.5 * x + (1 / 12) * y - (1 / 720) * z for b, x, y, z in terms]

    def advance(self, beta: Vector, rate: Vector, h: Scalar) -> list[Scalar]:
        """The speeds after a short time h, at their rate now.

        beta + h rate; where axes of the speeds turn with the child, speeds of its origin are
        carried on in axes that do not, so that what nothing pushes keeps its momentum.
        """
        return [b + h * r for b, r in zip(beta, rate, strict=True)]

    def problem(self) -> str | None:
        """What makes this kind impossible, and the remedy; None if nothing does."""
        return None


def overrides(kind: JointKind, name: str, other: str) -> bool:
    """Whether a kind takes `name` from a class that inherits `other`."""
    classes = type(kind).__mro__
    mine, theirs = (next(i for i, x in enumerate(classes) if y in vars(x)) for y in (name, other))
    return mine < theirs


@dataclass(frozen=True)
class Fixed(JointKind):
    """No motion: the builder merges the child into its parent."""

    nq, nv = 0, 0

    def transform(self, q: Vector) -> tuple[Matrix, Vector]:
        return IDENTITY3, ZERO3

    def motion_map(self, q: Vector) -> Matrix:
        return [[]] * 6


@dataclass(frozen=True)
class _Axial(JointKind):
    """A joint about or along one axis, kept at length one."""

    axis: Vector = Z

    def __post_init__(self) -> None:
        axes.make_unit(self, "axis")

    def problem(self) -> str | None:
        return axes.axis_problem(self, "axis")


@dataclass(frozen=True)
class Revolute(_Axial):
    """Rotation about an axis: `R = Rot(axis, q)`, `H* = [axis; 0]` [001 (13)]."""

    nq, nv = 1, 1
    turns = (0,)

    def transform(self, q: Vector) -> tuple[Matrix, Vector]:
        return spatial.rotation(self.axis, q[0]), ZERO3

    def motion_map(self, q: Vector) -> Matrix:
        return spatial.transpose([[*self.axis, *ZERO3]])


@dataclass(frozen=True)
class Continuous(Revolute):
    """A revolute joint without limits; its coordinate is one unwrapped angle."""


@dataclass(frozen=True)
class Prismatic(_Axial):
    """Translation along an axis: `l = q axis`, `H* = [0; axis]` [004-I (2.31)]."""

    nq, nv = 1, 1

    def transform(self, q: Vector) -> tuple[Matrix, Vector]:
        return IDENTITY3, spatial.scale(q[0], self.axis)

    def motion_map(self, q: Vector) -> Matrix:
        return spatial.transpose([[*ZERO3, *self.axis]])


@dataclass(frozen=True)
class Helical(_Axial):
    """A screw: rotation q about the axis and translation `pitch q` along it.

    The pitch is in metres per radian. `H* = [axis; pitch axis]`.
    """

    pitch: float = 0.0
    nq, nv = 1, 1
    turns = (0,)

    def transform(self, q: Vector) -> tuple[Matrix, Vector]:
        return spatial.rotation(self.axis, q[0]), spatial.scale(self.pitch * q[0], self.axis)

    def motion_map(self, q: Vector) -> Matrix:
        return spatial.transpose([[*self.axis, *spatial.scale(self.pitch, self.axis)]])

    def problem(self) -> str | None:
        if isinstance(self.pitch, bool) or not (
            isinstance(self.pitch, Real) and -HUGE <= self.pitch <= HUGE
        ):
            return (
                f"the pitch of a Helical joint is {self.pitch!r}; "
                "expected a finite number of metres per radian"
            )
        return super().problem()


@dataclass(frozen=True)
class Cylindrical(_Axial):
    """Rotation q[0] about an axis and independent translation q[1] along it."""

    nq, nv = 2, 2
    turns = (0,)

    def transform(self, q: Vector) -> tuple[Matrix, Vector]:
        return spatial.rotation(self.axis, q[0]), spatial.scale(q[1], self.axis)

    def motion_map(self, q: Vector) -> Matrix:
        return spatial.transpose([[*self.axis, *ZERO3], [*ZERO3, *self.axis]])


class _Successive(JointKind):
    """Rotations about one axis after the other; their speeds are the rates of the angles."""

    @property
    @abstractmethod
    def _axes(self) -> Sequence[Vector]:
        """The axes, each fixed in the frame that the ones before have turned."""

    def transform(self, q: Vector) -> tuple[Matrix, Vector]:
        return axes.turns(self._axes, q), ZERO3

    def motion_map(self, q: Vector) -> Matrix:
        return axes.turns_map(self._axes, q)

    def map_derivatives(self, q: Vector) -> Sequence[Matrix]:
        return axes.turns_map_derivatives(self._axes, q)


@dataclass(frozen=True)
class Universal(_Successive):
    """Two rotations: q[0] about `first` fixed on the parent, q[1] about `second` on the child.

    `R = Rot(first, q0) Rot(second, q1)`; `H* = [Rot(second, q1)* first, second; 0, 0]`.
    """

    first: Vector = X
    second: Vector = Y
    nq, nv = 2, 2
    turns = (0, 1)

    def __post_init__(self) -> None:
        axes.make_unit(self, "first")
        axes.make_unit(self, "second")

    def problem(self) -> str | None:
        return (
            axes.axis_problem(self, "first")
            or axes.axis_problem(self, "second")
            or axes.parallel_problem(self, self.first, self.second)
        )

    @property
    def _axes(self) -> Sequence[Vector]:
        return self.first, self.second


@dataclass(frozen=True)
class SphericalEuler(_Successive):
    """Three rotations about successive body axes, `R = Rot(e1, q0) Rot(e2, q1) Rot(e3, q2)`.

    `sequence` names the axes, "zyx" being yaw, pitch, roll. The speeds are the
    rates of the angles, so H* turns with q and drops rank where the first and
    third axis align; use `Spherical` where that can happen.
    """

    sequence: str = "zyx"
    nq, nv = 3, 3
    turns = (0, 1, 2)

    def problem(self) -> str | None:
        s = self.sequence
        if isinstance(s, str) and len(s) == 3 and set(s) <= set("xyz") and s[0] != s[1] != s[2]:
            return None
        return (
            f"the sequence {s!r} of a SphericalEuler joint does not span all rotations; "
            "give three of x, y, z with no neighbours alike, as 'zyx' or 'zxz'"
        )

    @property
    def _axes(self) -> Sequence[Vector]:
        return [{"x": X, "y": Y, "z": Z}[letter] for letter in self.sequence]


@dataclass(frozen=True)
class Planar(JointKind):
    """Motion in the plane across a normal: q = [angle, x, y], a point of SE(2).

    The speeds [omega, vx, vy] are in child axes, so H* is constant. x and y
    are measured along two axes fixed on the parent; for the normal z they are
    its x and y.
    """

    normal: Vector = Z
    nq, nv = 3, 3
    turns = (0,)

    def __post_init__(self) -> None:
        axes.make_unit(self, "normal")

    def transform(self, q: Vector) -> tuple[Matrix, Vector]:
        return spatial.rotation(self.normal, q[0]), self._in_plane(q[1:])

    def motion_map(self, q: Vector) -> Matrix:
        x, y = axes.plane_axes(self.normal)
        return spatial.transpose([[*self.normal, *ZERO3], [*ZERO3, *x], [*ZERO3, *y]])

    def integrate(self, q: Vector, dq: Vector) -> list[Scalar]:
        moved = spatial.translation_exp([0.0, 0.0, dq[0]], [dq[1], dq[2], 0.0])
        x, y, _ = spatial.apply(spatial.rotation(Z, q[0]), moved)
        return [q[0] + dq[0], q[1] + x, q[2] + y]

    def difference(self, q0: Vector, q1: Vector) -> list[Scalar]:
        half = 0.5 * (q1[0] - q0[0])
        turn = spatial.quaternion_log([0.0, 0.0, sin(half), cos(half)])
        apart = [q1[1] - q0[1], q1[2] - q0[2], 0.0]
        moved = spatial.apply(spatial.rotation(Z, -q0[0]), apart)
        x, y, _ = spatial.translation_log(turn, moved)
        return [turn[2], x, y]

    def bracket(self, u: Vector, w: Vector) -> list[Scalar]:
        return [0.0, w[0] * u[2] - u[0] * w[2], u[0] * w[1] - w[0] * u[1]]

    def advance(self, beta: Vector, rate: Vector, h: Scalar) -> list[Scalar]:
        omega, x, y = beta
        turning = omega + h * rate[0]
        forward, aside = x + h * (rate[1] - omega * y), y + h * (rate[2] + omega * x)
        c, s = cos(h * turning), sin(h * turning)
        return [turning, c * forward + s * aside, c * aside - s * forward]

    def problem(self) -> str | None:
        return axes.axis_problem(self, "normal")

    def _in_plane(self, xy: Vector) -> Vector:
        x, y = axes.plane_axes(self.normal)
        return spatial.add(spatial.scale(xy[0], x), spatial.scale(xy[1], y))


@dataclass(frozen=True)
class Spherical(JointKind):
    """Free rotation: q is a unit quaternion x, y, z, w; beta is omega in child axes."""

    nq, nv = 4, 3
    quaternion = slice(0, 4)

    def transform(self, q: Vector) -> tuple[Matrix, Vector]:
        return spatial.rotation_from_quaternion(q), ZERO3

    def motion_map(self, q: Vector) -> Matrix:
        return [*IDENTITY3, ZERO3, ZERO3, ZERO3]

    def neutral(self) -> list[float]:
        return [0.0, 0.0, 0.0, 1.0]

    def draw(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> np.ndarray:
        return _draw_quaternion(rng, size)

    def integrate(self, q: Vector, dq: Vector) -> list[Scalar]:
        return spatial.normalize(spatial.quaternion_product(q, spatial.quaternion_exp(dq)))

    def difference(self, q0: Vector, q1: Vector) -> list[Scalar]:
        turn = spatial.quaternion_product(spatial.quaternion_conjugate(q0), q1)
        return spatial.quaternion_log(turn)

    def bracket(self, u: Vector, w: Vector) -> list[Scalar]:
        return spatial.cross(u, w)


@dataclass(frozen=True)
class Free(JointKind):
    """All six freedoms: q = [quaternion x y z w, position], beta = body twist [omega; v].

    `H* = I` [001 (74)]; `integrate` is the exponential of SE(3).
    """

    nq, nv = 7, 6
    quaternion = slice(0, 4)

    def transform(self, q: Vector) -> tuple[Matrix, Vector]:
        return spatial.rotation_from_quaternion(q[:4]), q[4:]

    def motion_map(self, q: Vector) -> Matrix:
        return [[float(i == j) for j in range(6)] for i in range(6)]

    def neutral(self) -> list[float]:
        return [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]

    def draw(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> np.ndarray:
        turned, moved = _draw_quaternion(rng, size), -1.0 + 2.0 * rng.random((*size, 3))
        return np.concatenate([turned, moved], axis=-1)

    def integrate(self, q: Vector, dq: Vector) -> list[Scalar]:
        moved = spatial.translation_exp(dq[:3], dq[3:])
        position = spatial.add(q[4:], spatial.apply(spatial.rotation_from_quaternion(q[:4]), moved))
        turned = spatial.quaternion_product(q[:4], spatial.quaternion_exp(dq[:3]))
        return [*spatial.normalize(turned), *position]

    def difference(self, q0: Vector, q1: Vector) -> list[Scalar]:
        back = spatial.quaternion_conjugate(q0[:4])
        turn = spatial.quaternion_log(spatial.quaternion_product(back, q1[:4]))
        apart = spatial.subtract(q1[4:], q0[4:])
        moved = spatial.apply(spatial.rotation_from_quaternion(back), apart)
        return [*turn, *spatial.translation_log(turn, moved)]

    def bracket(self, u: Vector, w: Vector) -> list[Scalar]:
        turning = spatial.cross(u[:3], w[:3])
        return [
            *turning,
            *spatial.add(spatial.cross(u[:3], w[3:]), spatial.cross(u[3:], w[:3])),
        ]

    def advance(self, beta: Vector, rate: Vector, h: Scalar) -> list[Scalar]:
        turning, straight = super().advance(beta[:3], rate[:3], h), beta[3:]
        pushed = spatial.add(rate[3:], spatial.cross(beta[:3], straight))
        straight = super().advance(straight, pushed, h)
        back = spatial.quaternion_exp(spatial.scale(-h, turning))
        return [*turning, *spatial.apply(spatial.rotation_from_quaternion(back), straight)]


def _draw_quaternion(rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    """Uniform on the rotations: a normalised Gaussian 4-vector."""
    q = rng.standard_normal((*size, 4))
    return q / (np.linalg.norm(q, axis=-1, keepdims=True) if size else math.sqrt(q.dot(q)))
