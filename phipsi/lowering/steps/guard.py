"""What guards a division: how large numbers were before they cancelled.

It decides whether there is a result, and is no part of it; see `phipsi.lowering.pivots`.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from phipsi.lowering import blocks
from phipsi.lowering.blocks import magnitude, plus, times
from phipsi.lowering.seat import Seat, step
from phipsi.lowering.steps.joint import lost_rows, pass_matrix
from phipsi.scalars import Scalar, sqrt
from phipsi.spatial import Matrix

# -- what is guarded -------------------------------------------------------------------


@step("D")
def pivot_factor_beside(seat: Seat, D: Matrix, bound: Matrix, L_star: Matrix) -> list[list[Scalar]]:
    """D = L Delta L*, watched: a pivot that is roundoff of what P was made of is named."""
    if seat.watch is not None:
        seat.watch("pivot_beside", seat, D, bound, L_star)
    return blocks.factored(D)


@step("D.inv")
def pivot_inverse_beside(
    seat: Seat, D: Matrix, bound: Matrix, L_star: Matrix, operand: Any
) -> list[list[Scalar]]:
    """D^-1 of a D of any sign, watched like a pivot."""
    if seat.watch is not None:
        seat.watch("pivot_inverse_beside", seat, operand, D, bound, L_star)
    return blocks.general_inverse(D)


@step("A.inv")
def inverse_beside(
    seat: Seat, A: Matrix, bound: Matrix, is_positive: bool, operand: Any
) -> list[list[Scalar]]:
    """A^-1, watched beside what A was made of, of which little may be left."""
    invert = blocks.symmetric_inverse if is_positive else blocks.general_inverse
    if seat.watch is not None:
        seat.watch("inverse", operand, seat.k, A, invert, bound)
    return invert(A)


# -- what it is held against -----------------------------------------------------------


@step("")
def bound_entries(seat: Seat, P: Matrix) -> list[list[Scalar]]:
    """t(P): the sums of the magnitudes in its two halves; see `phipsi.lowering.pivots`."""
    bound = blocks.zero_matrix(6, 6)
    for half in (range(3), range(3, 6)):
        size = reduce(plus, (magnitude(P[i][j]) for i in half for j in half))
        for i in half:
            bound[i][i] = size
    return bound


@step("")
def pass_bound(
    seat: Seat, G: Matrix, L_star: Matrix, N: Matrix, bound: Matrix, own: Matrix
) -> list[list[Scalar]]:
    """What errors of tau_bar P are a share of: tau_bar N tau_bar*, and as much as P once more.

    What is subtracted is rounded anew, in all rows but those that pass no force by structure.
    """
    passed, lost = blocks.congruence(pass_matrix(seat, G, L_star, N), bound), lost_rows(L_star, N)
    for i in set(range(6)) - set(lost):
        passed[i][i] = plus(passed[i][i], own[i][i])
    return passed


@step("")
def magnitudes(seat: Seat, A: Matrix) -> list[list[Scalar]]:
    """|A|, entry by entry."""
    return [[magnitude(x) for x in row] for row in A]


@step("")
def bound_between(seat: Seat, bound: Matrix) -> list[list[Scalar]]:
    """What entry (i,j) of a positive block is a share of, by what (i,i) and (j,j) are."""
    roots = [sqrt(row[i]) for i, row in enumerate(bound)]
    return blocks.mirrored(len(bound), lambda i, j: times(roots[i], roots[j]))
