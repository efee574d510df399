"""What must not vanish while a program runs: pivots, inverses, roots.

A number that divides is looked at before it does; SolveError names the joint
or body. Backends that cannot stop in the middle count instead, and ask this
afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from phipsi.algebra.node import Node
from phipsi.algebra.spaces import BODY, COORDINATES, JOINT
from phipsi.errors import SolveError
from phipsi.lowering import blocks
from phipsi.lowering.pivots import (
    DOUBT,
    is_beyond_roundoff,
    is_roundoff,
    moved_sizes,
    vanishing_pivot,
)
from phipsi.lowering.seat import Seat
from phipsi.model.model import Model
from phipsi.scalars import Scalar

SINGULAR = 1e14  # of |A^-1| |A|: hardly a digit of the inverse is left then


class DoubtError(Exception):
    """A pivot is so small that only a program that is careful can tell what it is.

    It is heard by what runs programs, and reaches nobody else.
    """


class Watch:
    """Looks at numbers that are about to divide."""

    def __init__(self, model: Model):
        self.model = model

    def __call__(self, what: str, *arguments: Any) -> None:
        getattr(self, f"_{what}")(*arguments)

    def _pivot(self, seat: Seat, D: Sequence, P: Sequence, L_star: Sequence) -> None:
        """D of a joint beside the inertia that it moves, and all that is outboard of it."""
        sizes = moved_sizes(P, (0, 0), L_star)
        if np.any(is_roundoff(np.real(_array(D)), np.real(_array([sizes]))[..., 0, :], DOUBT)):
            raise DoubtError

    def _pivot_beside(self, seat: Seat, D: Sequence, bound: Sequence, L_star: Sequence) -> None:
        """D of a joint beside what P was made of."""
        if np.any(is_roundoff(np.real(_array(D)), _along(L_star, bound))):
            raise SolveError(vanishing_pivot(seat.joint))

    def _pivot_inverse_beside(
        self, seat: Seat, operand: Node, D: Sequence, bound: Sequence, L_star: Sequence
    ) -> None:
        """D^-1 of any sign, beside what P was made of."""
        inverse = inverse_or_none(_array(D))
        if inverse is None or not np.all(is_beyond_roundoff(inverse, _along(L_star, bound))):
            raise SolveError(f"{self._block(operand, seat.k)} is singular at this configuration")

    def _inverse(
        self, operand: Node, k: int, A: Sequence, invert: Any, bound: Sequence | None = None
    ) -> None:
        """A block of which hardly a digit of the inverse would be right."""
        if inverse_or_none(_array(A), None if bound is None else _array(bound)) is None:
            raise SolveError(f"{self._block(operand, k)} is singular at this configuration")

    def _root(self, operand: Node, k: int, W: Sequence) -> None:
        matrix, what = np.real(_array(W)), self._block(operand, k)
        largest = np.abs(matrix).max(initial=0.0)
        if np.any(np.abs(matrix - np.swapaxes(matrix, -1, -2)) > 1e-9 * largest):
            raise SolveError(f"{what} has no square root: it is not symmetric")
        n = matrix.shape[-1]
        each = matrix.reshape(-1, n, n)
        L = blocks.cholesky([[each[:, i, j] for j in range(n)] for i in range(n)])
        if not all(np.all(row[i] > 0.0) for i, row in enumerate(L)):
            raise SolveError(f"{what} has no square root: it is not positive definite")

    def _block(self, operand: Node, k: int) -> str:
        """An operator, and at which body or joint."""
        if operand.target not in (BODY, JOINT):
            return f"`{operand}`"
        named = self.model.bodies if operand.target is BODY else self.model.joints
        return f"`{operand}` at {operand.target.name} {named[k].name!r}"

    def _dense(self, A: Sequence, operand: Node, eliminate: Any) -> None:
        """A matrix of points or coordinates; of these, the joint that it hardly resists."""
        matrix = np.real(_array(A))
        if inverse_or_none(matrix) is not None:
            return
        _, sizes, rows = np.linalg.svd(matrix.reshape(-1, *matrix.shape[-2:]))
        worst = np.argmin(sizes[:, -1] / np.where(sizes[:, 0] > 0.0, sizes[:, 0], 1.0))
        entry = int(np.argmax(np.abs(rows[worst, -1])))
        places = ((joint.name, joint.v) for joint in self.model.leaders)
        name = next((name for name, v in places if v.start <= entry < v.stop), None)
        where = f": it hardly resists the motion of joint {name!r}"
        known = operand.target is COORDINATES and name is not None
        raise SolveError(
            f"`{operand}` is singular at this configuration" + (where if known else "")
        )


def inverse_or_none(matrix: np.ndarray, bound: np.ndarray | None = None) -> np.ndarray | None:
    """A^-1, or None where hardly a digit of it would be right.

    Componentwise, so that the units of rows and columns do not matter.

    Args:
        matrix: A.
        bound: how large its entries were before they cancelled; None where they did not.
    """
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        size = np.abs(inverse) @ np.abs(matrix if bound is None else bound)
    return inverse if np.all(size < SINGULAR) else None


def _along(L_star: Sequence, bound: Sequence) -> np.ndarray:
    """The diagonal of L N L*: how large D counts, for each speed."""
    sizes = blocks.congruence_transposed(L_star, bound)
    return np.real(np.diagonal(_array(sizes), axis1=-2, axis2=-1))


def _array(rows: Sequence[Sequence[Scalar]]) -> np.ndarray:
    """A matrix of scalars, each an array over the batch, as one array."""
    shape = np.broadcast_shapes(*(np.shape(x) for row in rows for x in row))
    kind = np.result_type(float, *(x for row in rows for x in row))
    result = np.zeros((*shape, len(rows), len(rows[0]) if rows else 0), kind)
    for i, row in enumerate(rows):
        for j, x in enumerate(row):
            result[..., i, j] = x
    return result
