"""What the joint of a body does: its map, its rotor, and how it passes forces when free."""

from __future__ import annotations

from typing import Any

from phipsi.algebra.spaces import JOINT
from phipsi.lowering import blocks
from phipsi.lowering.blocks import is_one, is_zero, minus, times
from phipsi.lowering.inputs import SPATIAL
from phipsi.lowering.seat import Seat, step
from phipsi.scalars import Scalar
from phipsi.spatial import Matrix, Vector

# -- the joint -------------------------------------------------------------------------


@step("E_phi")
def transform(seat: Seat, q: Vector) -> list[Scalar]:
    """What phi(p,k) and H* need of q."""
    return seat.link.transform(q)


@step("H.T")
def joint_map(seat: Seat, X: Vector) -> list[list[Scalar]]:
    """H*."""
    return seat.link.joint_map(X)


@step("H_dot.T")
def map_rate(seat: Seat, q: Vector, beta: Vector) -> list[list[Scalar]]:
    """dH*/dt; zero by structure where H* is constant."""
    rate = seat.link.map_rate(q, beta)
    return blocks.zero_matrix(6, seat.link.nv) if rate is None else rate


@step("Gamma_delta(*joint_and_axis)")
def map_derivative(seat: Seat, q: Vector, *joint_and_axis: Any) -> list[list[Scalar]]:
    """Gamma(i,a) at joint i, zero elsewhere."""
    axis = seat.own_axis(joint_and_axis)
    rate = None if axis is None else seat.link.map_derivative(q, axis)
    return blocks.zero_matrix(6, seat.link.nv) if rate is None else rate


@step("")
def axis(seat: Seat, H_star: Matrix, *joint_and_axis: Any) -> list[Scalar]:
    """H*(i) e_a at joint i, zero elsewhere."""
    axis = seat.own_axis(joint_and_axis)
    return blocks.zeros(6) if axis is None else [row[axis] for row in H_star]


@step("")
def selection(seat: Seat, space: Any, *place: Any) -> list[list[Scalar]]:
    """I at body i, zero elsewhere."""
    n = seat.link.nv if space is JOINT else SPATIAL
    return blocks.identity(n) if seat.own_axis(place) is not None else blocks.zero_matrix(n, n)


@step("Jm @ y")
def rotor(seat: Seat, y: Vector) -> list[Scalar]:
    """Jm y."""
    return blocks.scale(seat.link.rotor, y)


@step("Jm")
def rotor_inertia(seat: Seat) -> list[list[Scalar]]:
    """Jm."""
    return blocks.scale_matrix(seat.link.rotor, blocks.identity(seat.link.nv))


# -- the free joint --------------------------------------------------------------------


def _resists(N: Matrix) -> bool:
    """Whether something in the joint resists besides the body: a rotor."""
    return any(not is_zero(x) for row in N for x in row)


def lost_rows(L_star: Matrix, N: Matrix) -> list[int]:
    """The rows that no force passes: those L sees, if it sees as many as it has speeds.

    A revolute joint passes no moment about its axis, a spherical one none at
    all, whether its speeds are omega or the rates of three angles.
    """
    seen = [i for i, row in enumerate(L_star) if not all(map(is_zero, row))]
    return seen if len(seen) == len(L_star[0]) and not _resists(N) else []


def _picked(L_star: Matrix, N: Matrix) -> dict[int, int]:
    """Of each row that L picks which speed it is, if it only picks and nothing else resists."""
    picked: dict[int, int] = {}
    for i in lost_rows(L_star, N):
        ones = [j for j, x in enumerate(L_star[i]) if is_one(x)]
        if len(ones) != 1 or any(not is_zero(x) and not is_one(x) for x in L_star[i]):
            return {}
        picked[i] = ones[0]
    return picked


@step("D")
def pivot_factor(seat: Seat, D: Matrix, P: Matrix, L_star: Matrix) -> list[list[Scalar]]:
    """D = L Delta L*, watched: where a pivot is small beside P, it has to be looked at."""
    if seat.watch is not None:
        seat.watch("pivot", seat, D, P, L_star)
    return blocks.factored(D)


@step("factor.inv @ x")
def pivot_solve(seat: Seat, factor: Matrix, x: Vector) -> list[Scalar]:
    """D^-1 x."""
    return blocks.solved(factor, x)


@step("factor.inv")
def pivot_inverse(seat: Seat, factor: Matrix) -> list[list[Scalar]]:
    """D^-1."""
    columns = [blocks.solved(factor, x) for x in blocks.identity(len(factor))]
    return blocks.mirrored(len(factor), lambda i, j: columns[j][i])


@step("P @ L_star @ factor.inv")
def gain(seat: Seat, P: Matrix, L_star: Matrix, N: Matrix, factor: Matrix) -> Matrix:
    """G = P L* D^-1 [002 (3.2)].

    Departure: where L only picks rows, without rotor inertia, these rows of G
    are the identity by structure. The others are solved for, not multiplied by
    D^-1: a distant mass behind a ball joint would cost the square of its digits.
    """
    picked, unit = _picked(L_star, N), blocks.identity(len(factor))
    return [
        unit[picked[i]]
        if i in picked
        else blocks.solved(factor, blocks.apply_transposed(L_star, row))
        for i, row in enumerate(P)
    ]


@step("P - G @ L_star.T @ P")
def relieve(seat: Seat, P: Matrix, L_star: Matrix, N: Matrix, factor: Matrix, G: Matrix) -> Matrix:
    """tau_bar P = P - P L* D^-1 L P: the inertia felt through the joint [001 (39)].

    By elimination, P - Z* Delta^-1 Z with D = L Delta L* and Z = L^-1 (L P), as
    stable as a Cholesky step. Departure: rows and columns that pass no force are
    zero by structure, not by subtraction.
    """
    lost, n = lost_rows(L_star, N), len(P)
    LP = [blocks.apply_transposed(L_star, row) for row in P]  # by columns
    if len(factor) == 1:
        left, right = G, LP
    else:
        right = [[] if i in lost else blocks.forward_solved(factor, x) for i, x in enumerate(LP)]
        left = [[times(factor[a][a], x) for a, x in enumerate(z)] for z in right]

    def entry(i: int, j: int) -> Scalar:
        return 0 if i in lost or j in lost else minus(P[i][j], blocks.dot(left[i], right[j]))

    return blocks.mirrored(n, entry)


@step("P @ L_star @ D_inverse")
def gain_any(seat: Seat, P: Matrix, L_star: Matrix, D_inverse: Matrix) -> Matrix:
    """G = P L* D^-1 of a P of any sign."""
    return blocks.compose(blocks.compose(P, L_star), D_inverse)


@step("P - G @ L_star.T @ P")
def relieve_any(seat: Seat, P: Matrix, L_star: Matrix, G: Matrix) -> Matrix:
    """tau_bar P = P - G L P of a P of any sign."""
    LP = blocks.transposed_compose(L_star, P)
    return blocks.mirrored(
        len(P), lambda i, j: minus(P[i][j], blocks.dot(G[i], [row[j] for row in LP]))
    )


@step("tau_bar @ x")
def pass_force(seat: Seat, G: Matrix, L_star: Matrix, N: Matrix, x: Vector) -> list[Scalar]:
    """tau_bar x = x - G L x: a force that passes the free joint."""
    lost, seen = lost_rows(L_star, N), blocks.apply_transposed(L_star, x)
    return [
        0 if i in lost else minus(y, blocks.dot(row, seen))
        for i, (y, row) in enumerate(zip(x, G, strict=True))
    ]


@step("tau_bar.T @ x")
def pass_motion(seat: Seat, G: Matrix, L_star: Matrix, N: Matrix, x: Vector) -> list[Scalar]:
    """tau_bar* x = x - L* G* x: a motion that passes the free joint."""
    return blocks.subtract(x, blocks.apply(L_star, blocks.apply_transposed(G, x)))


@step("tau_bar")
def pass_matrix(seat: Seat, G: Matrix, L_star: Matrix, N: Matrix) -> list[list[Scalar]]:
    """tau_bar = I - G L."""
    lost, GL = lost_rows(L_star, N), blocks.compose_transposed(G, L_star)
    full = blocks.subtract_matrices(blocks.identity(len(G)), GL)
    return [blocks.zeros(len(row)) if i in lost else row for i, row in enumerate(full)]
