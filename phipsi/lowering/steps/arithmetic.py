"""Sums, products and inverses of blocks, whatever they mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from phipsi.algebra.spaces import BODY, COORDINATES, JOINT
from phipsi.lowering import blocks
from phipsi.lowering.blocks import is_zero, minus, plus, times
from phipsi.lowering.inputs import SPATIAL
from phipsi.lowering.seat import Seat, step
from phipsi.scalars import Scalar, sqrt
from phipsi.spatial import Matrix, Vector

# -- arithmetic ------------------------------------------------------------------------


@step("x + y")
def add(seat: Seat, x: Vector, y: Vector) -> list[Scalar]:
    """x + y."""
    return blocks.add(x, y)


@step("x - y")
def subtract(seat: Seat, x: Vector, y: Vector) -> list[Scalar]:
    """x - y."""
    return blocks.subtract(x, y)


@step("factor * x")
def scale(seat: Seat, x: Vector, factor: float) -> list[Scalar]:
    """factor x."""
    return blocks.negate(x) if factor == -1 else blocks.scale(factor, x)


@step("factor * x")
def scale_by(seat: Seat, factor: Vector, x: Vector) -> list[Scalar]:
    """factor x, the factor a scalar of the whole machine."""
    return blocks.scale(factor[0], x)


@step("x.T @ y")
def dot(seat: Seat, x: Vector, y: Vector) -> list[Scalar]:
    """This body's share of x* y."""
    return [blocks.dot(x, y)] if x else [0]


@step("I.at(SCALAR)")
def one(seat: Seat) -> list[Scalar]:
    """The number 1."""
    return [1]


@step("x.inv")
def reciprocal(seat: Seat, x: Vector, operand: Any) -> list[Scalar]:
    """1 / x of a scalar."""
    if seat.watch is not None:
        seat.watch("inverse", operand, seat.k, [x], blocks.general_inverse)
    return [blocks.over(1, x[0])]


@step("x.sqrt")
def root(seat: Seat, x: Vector, operand: Any) -> list[Scalar]:
    """The square root of a scalar."""
    if seat.watch is not None:
        seat.watch("root", operand, seat.k, [x])
    return [sqrt(plus(x[0], 0.0) if type(x[0]) is int else x[0])]


@step("A @ x")
def apply(seat: Seat, A: Matrix, x: Vector) -> list[Scalar]:
    """A x."""
    return blocks.apply(A, x)


@step("A.T @ x")
def apply_transposed(seat: Seat, A: Matrix, x: Vector) -> list[Scalar]:
    """A* x."""
    return blocks.apply_transposed(A, x)


# -- blocks ----------------------------------------------------------------------------


@step("A.T @ e(i)")
def row(seat: Seat, A: Matrix, i: int) -> list[Scalar]:
    """A* e_i."""
    return list(A[i])


@step("A @ e(j)")
def column(seat: Seat, A: Matrix, j: int) -> list[Scalar]:
    """A e_j."""
    return [x[j] for x in A]


@step("x @ y.T")
def outer(seat: Seat, x: Vector, y: Vector) -> list[list[Scalar]]:
    """x y*."""
    return [blocks.scale(a, y) for a in x]


@step("I.at(space)")
def identity(seat: Seat, space: Any) -> list[list[Scalar]]:
    """I of a space's block."""
    return blocks.identity(_size(seat, space))


@step("0 * I.at(rows)")
def zeros(seat: Seat, rows: Any, columns: Any) -> list[list[Scalar]]:
    """The zero block between two spaces."""
    return blocks.zero_matrix(_size(seat, rows), _size(seat, columns))


@step("A + B")
def add_blocks(seat: Seat, A: Matrix, B: Matrix, symmetric: bool) -> list[list[Scalar]]:
    """A + B."""
    return blocks.add_matrices(A, B, symmetric=symmetric)


@step("A - B")
def subtract_blocks(seat: Seat, A: Matrix, B: Matrix, symmetric: bool) -> list[list[Scalar]]:
    """A - B."""
    return blocks.subtract_matrices(A, B, symmetric=symmetric)


@step("factor * A")
def scale_block(seat: Seat, A: Matrix, factor: float) -> list[list[Scalar]]:
    """factor A."""
    return blocks.negate_matrix(A) if factor == -1 else blocks.scale_matrix(factor, A)


@step("factor * A")
def scale_block_by(seat: Seat, factor: Vector, A: Matrix) -> list[list[Scalar]]:
    """factor A, the factor a scalar of the whole machine."""
    return blocks.scale_matrix(factor[0], A)


@step("A.T")
def transpose(seat: Seat, A: Matrix) -> list[list[Scalar]]:
    """A*."""
    return blocks.transpose(A)


@step("A @ B")
def compose(seat: Seat, A: Matrix, B: Matrix) -> list[list[Scalar]]:
    """A B."""
    return blocks.compose(A, B)


@step("A @ W @ A.T")
def congruence(seat: Seat, A: Matrix, W: Matrix) -> list[list[Scalar]]:
    """A W A*, symmetric."""
    return blocks.congruence(A, W)


@step("A.T @ W @ A")
def congruence_transposed(seat: Seat, A: Matrix, W: Matrix) -> list[list[Scalar]]:
    """A* W A, symmetric."""
    return blocks.congruence_transposed(A, W)


@step("W.inv")
def symmetric_inverse(seat: Seat, W: Matrix, operand: Any) -> list[list[Scalar]]:
    """W^-1 by LDL', W positive definite."""
    return _watched(seat, operand, W, blocks.symmetric_inverse)


@step("A.inv")
def general_inverse(seat: Seat, A: Matrix, operand: Any) -> list[list[Scalar]]:
    """A^-1 with pivoting."""
    return _watched(seat, operand, A, blocks.general_inverse)


@step("W.sqrt")
def cholesky(seat: Seat, W: Matrix, operand: Any) -> list[list[Scalar]]:
    """The lower L with W = L L*; of a body in link axes, for what is lower depends on them."""
    turns = operand.target is BODY and not seat.link.is_link_frame
    public = _turned(seat.link.to_link_force, W) if turns else W
    if seat.watch is not None:
        seat.watch("root", operand, seat.k, public)
    L = blocks.cholesky(public)
    return _turned(seat.link.from_link_force, L) if turns else L


def _turned(turn: Callable, A: Matrix) -> list[list[Scalar]]:
    """A block with both sides in other axes."""
    rows = [turn(row) for row in A]
    return blocks.transpose([turn(column) for column in blocks.transpose(rows)])


def _watched(seat: Seat, operand: Any, A: Matrix, invert: Callable) -> list[list[Scalar]]:
    if seat.watch is not None:
        seat.watch("inverse", operand, seat.k, A, invert)
    return invert(A)


# -- brackets --------------------------------------------------------------------------


@step("cross[z] @ x")
def cross_motion(seat: Seat, z: Vector, x: Vector) -> list[Scalar]:
    """z~ x [000 (2.5)]."""
    return blocks.cross_motion(z, x)


@step("S[z] @ x")
def cross_force(seat: Seat, z: Vector, x: Vector) -> list[Scalar]:
    """S[z] x [000 (2.7)]."""
    return blocks.cross_force(z, x)


@step("Q[z] @ x")
def cross_adjoint(seat: Seat, z: Vector, x: Vector) -> list[Scalar]:
    """Q[z] x [000 (2.8)]."""
    return blocks.cross_adjoint(z, x)


@step("cross[z]")
def cross_motion_matrix(seat: Seat, z: Vector) -> list[list[Scalar]]:
    """z~."""
    return blocks.cross_motion_matrix(z)


@step("S[z]")
def cross_force_matrix(seat: Seat, z: Vector) -> list[list[Scalar]]:
    """S[z]."""
    return blocks.cross_force_matrix(z)


@step("Q[z]")
def cross_adjoint_matrix(seat: Seat, z: Vector) -> list[list[Scalar]]:
    """Q[z]."""
    return blocks.cross_adjoint_matrix(z)


# -- the whole machine -----------------------------------------------------------------


@step("A.inv @ b")
def dense_solve(seat: Seat, A: Matrix, b: Vector, is_positive: bool, operand: Any) -> list[Scalar]:
    """A^-1 b of a dense matrix; by LDL' from the last row on if A is positive.

    From the last row: the zeros between unrelated branches are never filled
    (Featherstone, The Calculation of Robot Dynamics Using Articulated-Body
    Inertias and its branch-induced sparsity).
    """
    if seat.watch is not None:
        seat.watch("dense", A, operand, eliminated if is_positive else None)
    if is_positive:
        return solve_symmetric(A, b)
    return blocks.apply(blocks.general_inverse(A), b)


@step("A.inv")
def dense_inverse(seat: Seat, A: Matrix, is_positive: bool, operand: Any) -> list[list[Scalar]]:
    """A^-1 of a dense matrix; by LDL' if A is positive."""
    if seat.watch is not None:
        seat.watch("dense", A, operand, blocks.factored if is_positive else None)
    return blocks.symmetric_inverse(A) if is_positive else blocks.general_inverse(A)


def eliminated(A: Matrix) -> list[list[Scalar]]:
    """A = L* D L from the last row on: L, unit lower triangular, below the diagonal, 1/D on it."""
    W = [list(row) for row in A]
    for k in range(len(W) - 1, -1, -1):
        row = {i: W[k][i] for i in range(k) if not is_zero(W[k][i])}
        W[k][k] = blocks.over(1, W[k][k])
        for i, entry in row.items():
            l = W[k][i] = times(entry, W[k][k])
            for j, other in row.items():
                if j <= i:
                    W[i][j] = minus(W[i][j], times(l, other))
    return W


def solve_symmetric(A: Matrix, b: Vector) -> list[Scalar]:
    """A^-1 b by A = L* D L, structural zeros skipped."""
    W, x, n = eliminated(A), list(b), len(b)
    for k in range(n - 1, -1, -1):
        for i in range(k):
            x[i] = minus(x[i], times(W[k][i], x[k]))
        x[k] = times(x[k], W[k][k])
    for k in range(n):
        for i in range(k):
            x[k] = minus(x[k], times(W[k][i], x[i]))
    return x


@step("e(j)")
def unit_vector(seat: Seat, space: Any, j: int) -> list[Scalar]:
    """e_j of a space of the user's."""
    return blocks.identity(space.size)[j]


@step("")
def stacked(seat: Seat, *columns: Vector) -> list[list[Scalar]]:
    """The matrix of these columns."""
    return blocks.transpose(columns)


def _size(seat: Seat, space: Any) -> int:
    if space.is_own:
        return space.size
    if space is COORDINATES:
        return seat.model.nv
    return seat.link.nv if space is JOINT else SPATIAL
