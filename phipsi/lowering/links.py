"""Bodies as lowering sees them: each with its inboard joint, in private frames.

A link holds the constants of one body in the frames that `frames.py` has
chosen, and arranges them as factors of phi(p,k) and as H*. One class per form
of joint, so that the code of a step depends on the class and not on the
machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, field

from phipsi import spatial
from phipsi.lowering import blocks
from phipsi.lowering.rigid import Moments
from phipsi.lowering.transforms import Factor, Rows, Shift, Turn, XScrew, ZScrew
from phipsi.model.inertia import HERE, Inertia, Placement
from phipsi.model.joints import JointKind
from phipsi.scalars import Scalar, cos, sin
from phipsi.spatial import Matrix, Vector


@dataclass(frozen=True, slots=True)
class Link(ABC):
    """A body and its inboard joint, in private frames.

    `transform(q)` gives X, a flat list of the scalars that depend on the joint's
    coordinates; the methods that take X do no more than arrange them. Numbers
    are floats; the ints 0 and 1 stand only where the kind of joint says so.
    Links of the same `variant` run the same operations on other numbers.

    Args:
        parent: the number of the body that carries this one, -1 for the world.
        nq, nv: how many coordinates and speeds the joint has.
        frame: the private frame in the link frame.
        inertia: in the private frame.
        rotor: reflected inertia of the joint's motor; the int 0 where there is none.
        front: the constant factors of phi(p,k), parent side first.
        fades: whether errors of what it carries fade at its joint; see `cancellation`.
    """

    parent: int
    nq: int
    nv: int
    frame: Placement
    inertia: Inertia | Moments
    rotor: Scalar
    front: tuple[Factor, ...]
    fades: bool = field(default=False, kw_only=True)

    @property
    def variant(self) -> Hashable:
        """What determines the operations, numbers apart."""
        return (
            type(self).__name__,
            tuple(type(factor).__name__ for factor in self.front),
            blocks.is_zero(self.rotor),
            self.is_link_frame or type(self.frame.position[0]),
            self._details(),
        )

    def _details(self) -> Hashable:
        """What else determines the operations of one kind."""
        return None

    @abstractmethod
    def transform(self, q: Vector) -> list[Scalar]:
        """X: the scalars of phi(p,k) and H* that depend on q."""

    @abstractmethod
    def factors(self, X: Vector) -> tuple[Factor, ...]:
        """phi(p,k), parent side first, between the private frames of p and k."""

    @abstractmethod
    def joint_map(self, X: Vector) -> Rows:
        """H*(k), 6 x nv, in private axes."""

    def map_derivative(self, q: Vector, axis: int) -> Rows | None:
        """Gamma_a = D_a H*, in private axes; None where H* is constant."""
        return None

    def map_rate(self, q: Vector, beta: Vector) -> Rows | None:
        """dH*/dt = sum_a Gamma_a beta_a, in private axes; None where H* is constant."""
        return None

    # -- between private and link frame ------------------------------------------------

    @property
    def is_link_frame(self) -> bool:
        """Whether the private frame is the link frame."""
        return self.frame is HERE

    def to_link_force(self, f: Vector) -> list[Scalar]:
        """A force in the private frame, in the link frame: `phi(A, o) f`."""
        if self.is_link_frame:
            return list(f)
        A, o = self.frame.rotation, self.frame.position
        N, F = blocks.apply(A, f[:3]), blocks.apply(A, f[3:])
        return [*blocks.add(N, blocks.cross(o, F)), *F]

    def from_link_force(self, f: Vector) -> list[Scalar]:
        """A force in the link frame, in the private frame."""
        if self.is_link_frame:
            return list(f)
        A, o = self.frame.rotation, self.frame.position
        N = blocks.subtract(f[:3], blocks.cross(o, f[3:]))
        return [*blocks.apply_transposed(A, N), *blocks.apply_transposed(A, f[3:])]

    def to_link_motion(self, V: Vector) -> list[Scalar]:
        """A motion in the private frame, in the link frame."""
        if self.is_link_frame:
            return list(V)
        A, o = self.frame.rotation, self.frame.position
        omega, v = blocks.apply(A, V[:3]), blocks.apply(A, V[3:])
        return [*omega, *blocks.add(v, blocks.cross(o, omega))]

    def from_link_motion(self, V: Vector) -> list[Scalar]:
        """A motion in the link frame, in the private frame: `phi(A, o)* V`."""
        if self.is_link_frame:
            return list(V)
        A, o = self.frame.rotation, self.frame.position
        v = blocks.subtract(V[3:], blocks.cross(o, V[:3]))
        return [*blocks.apply_transposed(A, V[:3]), *blocks.apply_transposed(A, v)]

    def place(self, position: Vector) -> list[Scalar]:
        """A point given in link coordinates, in private ones."""
        if self.is_link_frame:
            return list(position)
        return blocks.apply_transposed(
            self.frame.rotation, blocks.subtract(position, self.frame.position)
        )

    def link_pose(self) -> tuple[Matrix, Vector]:
        """(R, l): axes and origin of the link frame in the private frame."""
        back = inverse(self.frame)
        return back.rotation, back.position


# -- joints about or along one axis ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class _TurningLink(Link):
    """z along the joint axis; the joint starts from the angle theta and from d along z.

    d is the int 0 where the origins have not moved.
    """

    theta: float
    d: Scalar

    def _details(self) -> Hashable:
        return self.theta == 0.0, blocks.is_zero(self.d)


@dataclass(frozen=True, slots=True)
class RevoluteLink(_TurningLink):
    """Rotation about z: X = [c, s], `H* = e_3`."""

    def transform(self, q: Vector) -> list[Scalar]:
        return _cosine_sine(q[0], self.theta)

    def factors(self, X: Vector) -> tuple[Factor, ...]:
        return _started(self.front, ZScrew(X[0], X[1], self.d))

    def joint_map(self, X: Vector) -> Rows:
        return [[0], [0], [1], [0], [0], [0]]


@dataclass(frozen=True, slots=True)
class PrismaticLink(Link):
    """Translation along z, after a constant turn about it: X = [d], `H* = e_6`."""

    c: float
    s: float
    d: Scalar

    def _details(self) -> Hashable:
        return blocks.is_zero(self.d)

    def transform(self, q: Vector) -> list[Scalar]:
        return [blocks.plus(q[0], self.d)]

    def factors(self, X: Vector) -> tuple[Factor, ...]:
        return (*self.front, ZScrew(self.c, self.s, X[0]))

    def joint_map(self, X: Vector) -> Rows:
        return [[0], [0], [0], [0], [0], [1]]


@dataclass(frozen=True, slots=True)
class HelicalLink(_TurningLink):
    """A screw along z: X = [c, s, d], `H* = e_3 + pitch e_6`."""

    pitch: float

    def transform(self, q: Vector) -> list[Scalar]:
        return [*_cosine_sine(q[0], self.theta), blocks.plus(self.pitch * q[0], self.d)]

    def factors(self, X: Vector) -> tuple[Factor, ...]:
        return (*self.front, ZScrew(*X))

    def joint_map(self, X: Vector) -> Rows:
        return [[0], [0], [1], [0], [0], [self.pitch]]


@dataclass(frozen=True, slots=True)
class CylindricalLink(_TurningLink):
    """Rotation about z and translation along it: X = [c, s, d], `H* = [e_3, e_6]`."""

    def transform(self, q: Vector) -> list[Scalar]:
        return [*_cosine_sine(q[0], self.theta), blocks.plus(q[1], self.d)]

    def factors(self, X: Vector) -> tuple[Factor, ...]:
        return (*self.front, ZScrew(*X))

    def joint_map(self, X: Vector) -> Rows:
        return [[0, 0], [0, 0], [1, 0], [0, 0], [0, 0], [0, 1]]


# -- successive rotations --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SuccessiveLink(Link):
    """Rotations about successive axes through one point; z along the last.

    X = [c0, s0, c1, s1, ...]. `bends` are the cosine and sine between one axis
    and the next: the ints 0 and 1 for Euler angles. `thetas` are added to the
    angles.
    """

    thetas: tuple[float, ...]
    bends: tuple[tuple[Scalar, Scalar], ...]
    d: Scalar

    def _details(self) -> Hashable:
        structural = tuple(bend if type(bend[0]) is int else None for bend in self.bends)
        return tuple(theta == 0.0 for theta in self.thetas), blocks.is_zero(self.d), structural

    def transform(self, q: Vector) -> list[Scalar]:
        turns = zip(q, self.thetas, strict=True)
        return [x for angle, theta in turns for x in _cosine_sine(angle, theta)]

    def factors(self, X: Vector) -> tuple[Factor, ...]:
        return (*_started(self.front, ZScrew(X[0], X[1], self.d)), *self._turns(X))

    def joint_map(self, X: Vector) -> Rows:
        """Each axis, carried outward by the rotations after it."""
        return blocks.transpose([[*h, 0, 0, 0] for h in self._axes(X)])

    def map_derivative(self, q: Vector, axis: int) -> Rows:
        """D_a h_j = h_j x h_a for the axes h_j inboard of a, else 0."""
        h = self._axes(self.transform(q))
        columns = [blocks.cross(x, h[axis]) if j < axis else [0, 0, 0] for j, x in enumerate(h)]
        return blocks.transpose([[*x, 0, 0, 0] for x in columns])

    def map_rate(self, q: Vector, beta: Vector) -> Rows:
        """dh_j/dt = h_j x sum_{a > j} h_a beta_a: as seen from the child, which turns."""
        columns: list[list[Scalar]] = []
        omega: Vector = blocks.zeros(3)
        for h, rate in zip(reversed(self._axes(self.transform(q))), reversed(beta), strict=True):
            columns.append([*blocks.cross(h, omega), 0, 0, 0])
            omega = blocks.add(omega, blocks.scale(rate, h))
        return blocks.transpose(columns[::-1])

    def _turns(self, X: Vector) -> list[Factor]:
        """What comes after the first rotation."""
        turns: list[Factor] = []
        for i, (c, s) in enumerate(self.bends, start=1):
            turns += [XScrew(c, s, 0), ZScrew(X[2 * i], X[2 * i + 1], 0)]
        return turns

    def _axes(self, X: Vector) -> list[list[Scalar]]:
        """The axes of the rotations in private axes of the child, innermost first."""
        columns: list[list[Scalar]] = [[0, 0, 1]]
        turns = self._turns(X)
        for bend, rotation in zip(turns[::2], turns[1::2], strict=True):
            columns = [rotation.rotate_back(bend.rotate_back(h)) for h in columns]
            columns.append([0, 0, 1])
        return columns


# -- the other joints ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlanarLink(Link):
    """Motion in the plane across z: X = [c, s, l], `H* = [e_3, e_4, e_5]`.

    The translation comes first, in the parent frame: `l = origin + x e + y h`, with
    e and h the directions of the plane.
    """

    theta: float
    origin: Vector
    plane: tuple[Vector, Vector]

    def _details(self) -> Hashable:
        return self.theta == 0.0

    def transform(self, q: Vector) -> list[Scalar]:
        x, y = (spatial.scale(a, e) for a, e in zip(q[1:], self.plane, strict=True))
        l = spatial.add(spatial.add(x, y), self.origin)
        return [*_cosine_sine(q[0], self.theta), *l]

    def factors(self, X: Vector) -> tuple[Factor, ...]:
        return (Shift(X[2:]), *_started(self.front, ZScrew(X[0], X[1], 0)))

    def joint_map(self, X: Vector) -> Rows:
        return [[0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]


@dataclass(frozen=True, slots=True)
class _GeneralLink(Link):
    """A joint that fixes its frame: the private frame is the link frame.

    `base` places the joint frame in the parent's private frame; its rotation is
    folded into R(q), its translation into l(q) where there is one.
    """

    kind: JointKind
    base: Placement

    def _details(self) -> Hashable:
        return self._is_turned, self.kind

    @property
    def _is_turned(self) -> bool:
        R = self.base.rotation
        return any(type(x) is not float for row in R for x in row) or R != spatial.IDENTITY3

    def _rotation(self, R: Matrix) -> list[Scalar]:
        """The nine entries of R(q) in the parent's axes."""
        R = spatial.compose(self.base.rotation, R) if self._is_turned else R
        return [_number(x) for row in R for x in row]

    def _position(self, l: Vector) -> list[Scalar]:
        """The three entries of l(q) in the parent frame."""
        l = spatial.apply(self.base.rotation, l) if self._is_turned else l
        return [_number(x) for x in spatial.add(self.base.position, l)]


@dataclass(frozen=True, slots=True)
class SphericalLink(_GeneralLink):
    """Free rotation: X = R row by row, `H* = [I; 0]`."""

    def transform(self, q: Vector) -> list[Scalar]:
        return self._rotation(self.kind.transform(q)[0])

    def factors(self, X: Vector) -> tuple[Factor, ...]:
        return Shift(self.base.position), Turn(_rows3(X))

    def joint_map(self, X: Vector) -> Rows:
        return [*blocks.identity(3), *blocks.zero_matrix(3, 3)]


@dataclass(frozen=True, slots=True)
class FreeLink(_GeneralLink):
    """All six freedoms: X = [R row by row, l], `H* = I`."""

    def transform(self, q: Vector) -> list[Scalar]:
        R, l = self.kind.transform(q)
        return [*self._rotation(R), *self._position(l)]

    def factors(self, X: Vector) -> tuple[Factor, ...]:
        return Shift(X[9:]), Turn(_rows3(X))

    def joint_map(self, X: Vector) -> Rows:
        return blocks.identity(6)


@dataclass(frozen=True, slots=True)
class CustomLink(_GeneralLink):
    """A joint of which only the pose is known: X = [R, l, H*], each row by row."""

    def transform(self, q: Vector) -> list[Scalar]:
        R, l = self.kind.transform(q)
        H_star = self.kind.motion_map(q)
        return [*self._rotation(R), *self._position(l), *(_number(x) for h in H_star for x in h)]

    def factors(self, X: Vector) -> tuple[Factor, ...]:
        return Shift(X[9:12]), Turn(_rows3(X))

    def joint_map(self, X: Vector) -> Rows:
        n = self.nv
        return [list(X[12 + n * i : 12 + n * (i + 1)]) for i in range(6)]

    def map_derivative(self, q: Vector, axis: int) -> Rows | None:
        Gamma = self.kind.map_derivatives(q)
        return [list(row) for row in Gamma[axis]] if Gamma else None

    def map_rate(self, q: Vector, beta: Vector) -> Rows | None:
        rate: Rows | None = None
        for Gamma, speed in zip(self.kind.map_derivatives(q), beta, strict=False):
            part = blocks.scale_matrix(speed, Gamma)
            rate = part if rate is None else blocks.add_matrices(rate, part)
        return rate


def _started(front: tuple[Factor, ...], screw: ZScrew) -> tuple[Factor, ...]:
    """The constant factors, then the joint's own; a general rotation takes up the one about z."""
    if front and isinstance(front[-1], Turn) and blocks.is_zero(screw.d):
        turn = Turn(blocks.compose(front[-1].R, screw.rotation()))
        return (*front[:-1], turn)
    return (*front, screw)


def _cosine_sine(q: Scalar, theta: float) -> list[Scalar]:
    """Cosine and sine of q + theta."""
    angle = q if theta == 0.0 else q + theta
    return [cos(angle), sin(angle)]


def _rows3(X: Vector) -> Rows:
    """The 3 x 3 matrix whose rows come first in X."""
    return [list(X[0:3]), list(X[3:6]), list(X[6:9])]


def _number(x: Scalar) -> Scalar:
    """A user's 0 or 1 is a number like any other, not one of the structure."""
    return float(x) if type(x) is int else x


def inverse(placement: Placement) -> Placement:
    """The outer frame in the inner one."""
    if placement is HERE:
        return HERE
    a, b, c = spatial.transpose(placement.rotation)
    x, y, z = (-spatial.dot(row, placement.position) for row in (a, b, c))
    return Placement((tuple(a), tuple(b), tuple(c)), (x, y, z))
