"""What the joint of a body does: its map, its rotor, and how it passes forces when free."""

from __future__ import annotations

from typing import Any

from phipsi.lowering import blocks
from phipsi.lowering.blocks import is_one, is_zero, minus
from phipsi.lowering.letters import joint_axis
from phipsi.lowering.seat import Seat, step
from phipsi.scalars import Scalar
from phipsi.spatial import Matrix, Vector

# -- the joint -------------------------------------------------------------------------


@step
def transform(seat: Seat, q: Vector) -> list[Scalar]:
    """What phi(p,k) and H* need of q."""
    return seat.link.transform(q)


@step
def joint_map(seat: Seat, X: Vector) -> list[list[Scalar]]:
    """H*."""
    return seat.link.joint_map(X)


@step
def map_rate(seat: Seat, q: Vector, beta: Vector) -> list[list[Scalar]]:
    """dH*/dt; zero by structure where H* is constant."""
    rate = seat.link.map_rate(q, beta)
    return blocks.zero_matrix(6, seat.link.nv) if rate is None else rate


@step
def map_derivative(seat: Seat, q: Vector, *joint_and_axis: Any) -> list[list[Scalar]]:
    """Gamma(i,a) at joint i, zero elsewhere."""
    i, axis = joint_axis(seat.model, *joint_and_axis)
    rate = seat.link.map_derivative(q, axis) if seat.k == i else None
    return blocks.zero_matrix(6, seat.link.nv) if rate is None else rate


@step
def axis(seat: Seat, H_star: Matrix, *joint_and_axis: Any) -> list[Scalar]:
    """H*(i) e_a at joint i, zero elsewhere."""
    i, axis = joint_axis(seat.model, *joint_and_axis)
    return [row[axis] for row in H_star] if seat.k == i else blocks.zeros(6)


@step
def rotor(seat: Seat, y: Vector) -> list[Scalar]:
    """Jm y."""
    return blocks.scale(seat.link.rotor, y)


@step
def rotor_inertia(seat: Seat) -> list[list[Scalar]]:
    """Jm."""
    return blocks.scale_matrix(seat.link.rotor, blocks.identity(seat.link.nv))


# -- the free joint --------------------------------------------------------------------


def _is_clean(L_star: Matrix, N: Matrix) -> list[int] | None:
    """The rows that L picks, if it only picks and nothing resists but the body."""
    if any(not is_zero(x) for row in N for x in row):
        return None
    picked = [-1] * len(L_star[0])
    for i, row in enumerate(L_star):
        for j, x in enumerate(row):
            if is_one(x):
                if picked[j] != -1:
                    return None
                picked[j] = i
            elif not is_zero(x):
                return None
    return picked if -1 not in picked else None


@step
def pivot_inverse(seat: Seat, D: Matrix, P: Matrix, L_star: Matrix) -> list[list[Scalar]]:
    """D^-1 by LDL'; a pivot that vanishes beside P is named."""
    if seat.watch is not None:
        seat.watch("pivot", seat.joint, D, P, L_star)
    return blocks.symmetric_inverse(D)


@step
def gain(seat: Seat, P: Matrix, L_star: Matrix, N: Matrix, D_inverse: Matrix) -> Matrix:
    """G = P L* D^-1 [002 (3.2)].

    Departure: where L only picks rows, without rotor inertia, these rows of G
    are the identity by structure.
    """
    clean = _is_clean(L_star, N)
    if clean is None:
        return blocks.compose(blocks.compose(P, L_star), D_inverse)
    rows = [[row[i] for i in clean] for row in P]
    unit = blocks.identity(len(clean))
    return [
        unit[clean.index(i)] if i in clean else blocks.apply_transposed(D_inverse, row)
        for i, row in enumerate(rows)
    ]


@step
def relieve(seat: Seat, P: Matrix, L_star: Matrix, N: Matrix, G: Matrix) -> Matrix:
    """tau_bar P = P - G L P: the inertia felt through the joint [001 (39)].

    Departure: where L only picks, without rotor inertia, its rows and columns
    are zero by structure, not by subtraction.
    """
    clean = _is_clean(L_star, N)
    LP = blocks.transposed_compose(L_star, P)

    def entry(i: int, j: int) -> Scalar:
        if clean is not None and (i in clean or j in clean):
            return 0
        return minus(P[i][j], blocks.dot(G[i], [row[j] for row in LP]))

    return blocks.mirrored(len(P), entry)


@step
def pass_force(seat: Seat, G: Matrix, L_star: Matrix, N: Matrix, x: Vector) -> list[Scalar]:
    """tau_bar x = x - G L x: a force that passes the free joint."""
    clean = _is_clean(L_star, N)
    lost = blocks.apply_transposed(L_star, x)
    return [
        0 if clean is not None and i in clean else minus(y, blocks.dot(row, lost))
        for i, (y, row) in enumerate(zip(x, G, strict=True))
    ]


@step
def pass_motion(seat: Seat, G: Matrix, L_star: Matrix, N: Matrix, x: Vector) -> list[Scalar]:
    """tau_bar* x = x - L* G* x: a motion that passes the free joint."""
    return blocks.subtract(x, blocks.apply(L_star, blocks.apply_transposed(G, x)))


@step
def pass_matrix(seat: Seat, G: Matrix, L_star: Matrix, N: Matrix) -> list[list[Scalar]]:
    """tau_bar = I - G L."""
    clean = _is_clean(L_star, N)
    GL = blocks.compose_transposed(G, L_star)
    full = blocks.subtract_matrices(blocks.identity(len(G)), GL)
    return [
        blocks.zeros(len(row)) if clean is not None and i in clean else row
        for i, row in enumerate(full)
    ]
