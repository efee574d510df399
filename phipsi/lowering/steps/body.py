"""What a body does: its inertia, and what it hands to its neighbours."""

from __future__ import annotations

from phipsi.lowering import blocks, rigid, transforms
from phipsi.lowering.rigid import Moments
from phipsi.lowering.seat import Seat, step
from phipsi.scalars import Scalar
from phipsi.spatial import Matrix, Vector

# -- the body --------------------------------------------------------------------------


@step("M @ V")
def momentum(seat: Seat, V: Vector) -> list[Scalar]:
    """M V, by the velocity of the mass centre: 24 multiplications, 18 additions.

    F = m (v + omega x c), N = J_c omega + c x F.
    """
    body = seat.link.inertia
    if isinstance(body, Moments):
        return body.momentum(V)
    omega, v = V[:3], V[3:]
    F = blocks.scale(body.mass, blocks.add(v, blocks.cross(omega, body.com)))
    N = blocks.add(blocks.apply(body.rotational, omega), blocks.cross(body.com, F))
    return [*N, *F]


@step("S[V] @ M @ V")
def gyroscopic(seat: Seat, V: Vector) -> list[Scalar]:
    """b = S[V] M V, by the mass centre: 36 multiplications, 24 additions.

    F = m omega x (v + omega x c), N = omega x (J_c omega) + c x F: the same
    force, for what v x (m v) adds and takes away cancels [001 (11)].
    """
    body = seat.link.inertia
    if isinstance(body, Moments):
        return body.gyroscopic(V)
    omega, v = V[:3], V[3:]
    turning = blocks.cross(omega, blocks.add(v, blocks.cross(omega, body.com)))
    F = blocks.scale(body.mass, turning)
    spin = blocks.cross(omega, blocks.apply(body.rotational, omega))
    return [*blocks.add(spin, blocks.cross(body.com, F)), *F]


@step("M @ A + S[V] @ M @ V")
def newton_euler(seat: Seat, A: Vector, V: Vector) -> list[Scalar]:
    """M A + b, the force that moves the body so: 51 multiplications, 42 additions.

    F = m times the acceleration of the mass centre, N = J_c alpha +
    omega x (J_c omega) + c x F [001 (9), (10)].
    """
    body = seat.link.inertia
    if isinstance(body, Moments):
        return body.newton_euler(A, V)
    alpha, omega = A[:3], V[:3]
    turning = blocks.cross(omega, blocks.add(V[3:], blocks.cross(omega, body.com)))
    along = blocks.add(A[3:], blocks.cross(alpha, body.com))
    F = blocks.scale(body.mass, blocks.add(along, turning))
    spin = blocks.cross(omega, blocks.apply(body.rotational, omega))
    N = blocks.add(blocks.apply(body.rotational, alpha), spin)
    return [*blocks.add(N, blocks.cross(body.com, F)), *F]


@step("M")
def inertia(seat: Seat) -> list[list[Scalar]]:
    """M = [[J, m c~], [-m c~, m I]], its zeros by structure [001 (2)]."""
    return rigid.matrix(rigid.of_body(seat.link.inertia))


# -- from body to body -----------------------------------------------------------------


@step("E_phi @ f")
def inward(seat: Seat, X: Vector, f: Vector) -> Vector:
    """phi(p,k) f."""
    return transforms.inward(seat.link.factors(X), f)


@step("E_phi.T @ V")
def outward(seat: Seat, X: Vector, V: Vector | None) -> Vector:
    """phi*(p,k) V of the parent; nothing comes from the world."""
    if V is None:
        return blocks.zeros(6)
    return transforms.outward(seat.link.factors(X), V)


@step("S @ x")
def turn_inward(seat: Seat, X: Vector, x: Vector) -> Vector:
    """The parent's axes, no lever."""
    return transforms.turn(seat.link.factors(X), x)


@step("S.T @ x")
def turn_outward(seat: Seat, X: Vector, x: Vector | None) -> Vector:
    """From the parent's axes, no lever."""
    if x is None:
        return blocks.zeros(6)
    return transforms.turn_back(seat.link.factors(X), x)


@step("Delta_phi @ f")
def lever_inward(seat: Seat, X: Vector, f: Vector) -> Vector:
    """Delta_phi f: phi(p,k) f in the axes of k."""
    factors = seat.link.factors(X)
    return transforms.turn_back(factors, transforms.inward(factors, f))


@step("Delta_phi.T @ V")
def lever_outward(seat: Seat, X: Vector, V: Vector) -> Vector:
    """Delta_phi* V."""
    factors = seat.link.factors(X)
    return transforms.outward(factors, transforms.turn(factors, V))


@step("Delta_phi")
def lever_matrix(seat: Seat, X: Vector) -> list[list[Scalar]]:
    """Delta_phi = [[I, (R* l)~], [0, I]]."""
    R, l = transforms.compose_pose(seat.link.factors(X))
    lever = blocks.tilde(blocks.apply_transposed(R, l))
    eye, nothing = blocks.identity(3), blocks.zero_matrix(3, 3)
    top = [[*a, *b] for a, b in zip(eye, lever, strict=True)]
    return top + [[*a, *b] for a, b in zip(nothing, eye, strict=True)]


@step("E_phi @ W @ E_phi.T")
def carry(seat: Seat, X: Vector, W: Matrix) -> Matrix:
    """phi W phi* of a symmetric W."""
    return transforms.congruence(seat.link.factors(X), W)


@step("E_phi @ W @ E_phi.T")
def carry_any(seat: Seat, X: Vector, W: Matrix) -> Matrix:
    """phi W phi* of any W."""
    return transforms.congruence_general(seat.link.factors(X), W)


@step("E_phi.T @ W @ E_phi")
def carry_back(seat: Seat, X: Vector, W: Matrix | None) -> Matrix:
    """phi* W phi of the parent's symmetric W."""
    if W is None:
        return blocks.zero_matrix(6, 6)
    return transforms.congruence_transposed(seat.link.factors(X), W)


@step("E_phi.T @ W @ E_phi")
def carry_back_any(seat: Seat, X: Vector, W: Matrix | None) -> Matrix:
    """phi* W phi of the parent's W."""
    if W is None:
        return blocks.zero_matrix(6, 6)
    return transforms.congruence_transposed_general(seat.link.factors(X), W)


@step("S @ W @ S.T")
def turn_carry_any(seat: Seat, X: Vector, W: Matrix) -> Matrix:
    """The turn of k into its parent's axes, on both sides of W."""
    factors = seat.link.factors(X)
    half = blocks.transpose([transforms.turn(factors, list(x)) for x in zip(*W, strict=True)])
    return [list(transforms.turn(factors, row)) for row in half]


@step("operator")
def inboard_block(
    seat: Seat, a: Vector, b: Vector, c: Vector, d: Vector, e: Vector, f: Vector, operator: object
) -> Matrix:
    """E(p,k) of an operator of one step, of its six rows."""
    return [list(row) for row in (a, b, c, d, e, f)]


@step("A @ W @ A.T")
def carry_by(seat: Seat, A: Matrix, W: Matrix) -> Matrix:
    """A W A* of a symmetric W and any step A(p,k)."""
    return blocks.congruence(A, W)


@step("A @ W @ B.T")
def carry_by_both(seat: Seat, A: Matrix, W: Matrix, B: Matrix) -> Matrix:
    """A W B* of any W and any steps A(p,k) and B(p,k)."""
    return blocks.compose(A, blocks.compose(W, blocks.transpose(B)))


@step("A.T @ W @ A")
def carry_back_by(seat: Seat, A: Matrix, W: Matrix | None) -> Matrix:
    """A* W A of the parent's symmetric W; nothing comes from the world."""
    if W is None:
        return blocks.zero_matrix(6, 6)
    return blocks.congruence_transposed(A, W)


@step("A.T @ W @ B")
def carry_back_by_both(seat: Seat, A: Matrix, W: Matrix | None, B: Matrix) -> Matrix:
    """A* W B of the parent's W."""
    if W is None:
        return blocks.zero_matrix(6, 6)
    return blocks.compose(blocks.transpose(A), blocks.compose(W, B))


@step("")
def unit_entry(seat: Seat, j: int) -> list[Scalar]:
    """e_j, the same at every body."""
    return blocks.identity(6)[j]


@step("M")
def rigid_body(seat: Seat) -> list[Scalar]:
    """Mass, first moment and rotational inertia of the body about its frame."""
    return rigid.of_body(seat.link.inertia)


@step("E_phi @ R @ E_phi.T")
def carry_rigid(seat: Seat, X: Vector, R: Vector) -> list[Scalar]:
    """phi R phi* of a rigid body."""
    return rigid.carry(seat.link.factors(X), R)


@step("R")
def rigid_matrix(seat: Seat, R: Vector) -> list[list[Scalar]]:
    """R as a matrix."""
    return rigid.matrix(R)
