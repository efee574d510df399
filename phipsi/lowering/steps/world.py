"""What concerns the world: the base, gravity, poses, points, independent coordinates."""

from __future__ import annotations

from phipsi import spatial
from phipsi.lowering import blocks, transforms
from phipsi.lowering.rigid import Moments
from phipsi.lowering.seat import Seat, step
from phipsi.scalars import Scalar
from phipsi.spatial import Matrix, Vector

# -- the world -------------------------------------------------------------------------


@step("gravity")
def gravity(seat: Seat) -> list[Scalar]:
    """-[0; g]."""
    return [0, 0, 0, *(-x for x in seat.model.gravity)]


@step("E @ V")
def from_base(seat: Seat, X: Vector, V: Vector) -> Vector:
    """phi*(world,k) V at a root, zero elsewhere."""
    if not seat.is_root:
        return blocks.zeros(6)
    return transforms.outward(seat.link.factors(X), V)


@step("E.T @ f")
def to_base(seat: Seat, X: Vector, f: Vector) -> Vector:
    """phi(world,k) f of a root."""
    if not seat.is_root:
        return blocks.zeros(6)
    return transforms.inward(seat.link.factors(X), f)


@step("E.T @ W @ E")
def block_to_base(seat: Seat, X: Vector, W: Matrix) -> Matrix:
    """phi(world,k) W phi*(world,k) of a root."""
    if not seat.is_root:
        return blocks.zero_matrix(6, 6)
    return transforms.congruence_general(seat.link.factors(X), W)


@step("pose")
def pose(seat: Seat, X: Vector, parent: Vector | None) -> list[Scalar]:
    """Axes (three rows) and origin of the private frame in the world."""
    R, l = transforms.compose_pose(seat.link.factors(X))
    if parent is not None:
        axes = _axes(parent)
        R, l = blocks.compose(axes, R), blocks.add(parent[9:], blocks.apply(axes, l))
    return [*R[0], *R[1], *R[2], *l]


@step("pose")
def link_pose(seat: Seat, pose: Vector) -> list[Scalar]:
    """Axes and origin of the link frame in the world."""
    if seat.link.is_link_frame:
        return list(pose)
    A, o = seat.link.link_pose()
    axes = _axes(pose)
    R, l = blocks.compose(axes, A), blocks.add(pose[9:], blocks.apply(axes, o))
    return [*R[0], *R[1], *R[2], *l]


@step("pose")
def homogeneous(seat: Seat, pose: Vector) -> list[Scalar]:
    """[[R, x], [0, 1]], row by row."""
    rows = zip(_axes(pose), pose[9:], strict=True)
    return [*(number for row, x in rows for number in (*row, x)), 0, 0, 0, 1]


@step("")
def potential(seat: Seat, pose: Vector) -> list[Scalar]:
    """-m g . x of the mass centre."""
    body, g = seat.link.inertia, seat.model.gravity
    if isinstance(body, Moments):
        along = blocks.times(body.mass, blocks.dot(g, pose[9:]))
        across = blocks.dot(g, blocks.apply(_axes(pose), body.first))
        return [blocks.negative(blocks.plus(along, across))]
    x = blocks.add(pose[9:], blocks.apply(_axes(pose), body.com))
    return [blocks.dot([-body.mass * y for y in g], x)]


@step("")
def base_potential(seat: Seat) -> list[Scalar]:
    """-m g . x of what is welded to the world."""
    body = seat.model.base_inertia
    return [-body.mass * spatial.dot(seat.model.gravity, body.com)]


def _axes(pose: Vector) -> list[Vector]:
    return [pose[:3], pose[3:6], pose[6:9]]


# -- points: their blocks are in the axes of the link frame ------------------------------


@step("B.T @ x")
def to_point(seat: Seat, x: Vector, position: Vector) -> list[Scalar]:
    """B* x: the motion of a point of the body."""
    x = seat.link.to_link_motion(x)
    return [*x[:3], *blocks.add(x[3:], blocks.cross(x[:3], position))]


@step("B @ f")
def from_point(seat: Seat, f: Vector, position: Vector) -> list[Scalar]:
    """B f: a force at a point, at the body's frame."""
    moved = [*blocks.add(f[:3], blocks.cross(position, f[3:])), *f[3:]]
    return seat.link.from_link_force(moved)


@step("c")
def convective(seat: Seat, V: Vector) -> list[Scalar]:
    """[0; omega x v]."""
    return [0, 0, 0, *blocks.cross(V[:3], V[3:])]


@step("X @ x")
def to_world_axes(seat: Seat, pose: Vector, x: Vector) -> list[Scalar]:
    """Link axes to world axes."""
    R = _axes(pose)
    return [*blocks.apply(R, x[:3]), *blocks.apply(R, x[3:])]


@step("X")
def axes_matrix(seat: Seat, pose: Vector) -> list[list[Scalar]]:
    """diag(R, R): link axes to world axes."""
    R, nothing = _axes(pose), blocks.zero_matrix(3, 3)
    return [[*a, *b] for a, b in zip([*R, *nothing], [*nothing, *R], strict=True)]


@step("X.T @ x")
def from_world_axes(seat: Seat, pose: Vector, x: Vector) -> list[Scalar]:
    """World axes to link axes."""
    R = _axes(pose)
    return [*blocks.apply_transposed(R, x[:3]), *blocks.apply_transposed(R, x[3:])]


# -- coordinates -----------------------------------------------------------------------


@step("S_q @ w")
def follow(seat: Seat, w: Vector) -> list[Scalar]:
    """A joint's speeds of the independent ones: a mimic's are its leader's, by its ratio."""
    return blocks.scale(_ratio(seat), w[seat.joint.v])


@step("S_q.T @ y")
def lead(seat: Seat, y: Vector) -> list[Scalar]:
    """A joint's share of the force on its independent coordinates."""
    return blocks.scale(_ratio(seat), y)


def _ratio(seat: Seat) -> Scalar:
    return 1 if seat.joint.mimic is None else seat.joint.mimic.ratio
