"""When a pivot D is zero but for roundoff, and what to tell of it.

An entry of P is wrong by roundoff of what it was made of, which may be larger than what is left
of it. With t(P) a bound of how large the entries of P are, the errors of P are a small share of

    N(k) = t(P(k)) + sum_c E_psi(k,c) N(c) E_psi(k,c)*        tip_to_base,

for they go inward as P+ does: an error dP of P is one of `(I - G H) dP (I - G H)*` of P+. A pivot
that is no larger than this share of H N H* says nothing about the machine: it may as well be zero.

What is subtracted, P H* D^-1 H P, is rounded anew. Where a joint takes rows of P that are zero by
structure, that is in N already; in others it is added once more, t(P) on both sides of the joint.
`as_matrix` subtracts nothing: it computes tau_bar P tau_bar* + G Jm G*.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from phipsi.lowering import blocks
from phipsi.lowering.blocks import is_zero, plus, times
from phipsi.model.model import Joint
from phipsi.scalars import Scalar
from phipsi.spatial import Matrix

DOUBT = 1e-11  # of what a joint moves, and of what it was made of: below, look more closely
UNIT = 2.0**-52  # what the roundoff of one operation on doubles is half of, relative
LEFT = 32.0  # a pivot of so many roundoffs may be zero
SHARE = LEFT * UNIT  # of H N H*: a pivot below it is roundoff


def bound_entries(P: np.ndarray) -> np.ndarray:
    """t(P): the sums of the magnitudes in the two halves of P, of moments and of masses.

    Those between them are bounded by both, of a positive P.
    """
    halves = [np.abs(P[..., i : i + 3, i : i + 3]).sum(axis=(-2, -1)) for i in (0, 3)]
    unit = np.stack([x for x in halves for _ in range(3)], axis=-1)
    return unit[..., :, None] * np.eye(P.shape[-1])


def is_roundoff(D: np.ndarray, size: np.ndarray, share: float = SHARE) -> np.ndarray:
    """Whether D, of which each speed counts by its size, has a pivot that may be zero."""
    unit = np.sqrt(np.where(size > 0.0, size, 1.0))
    scaled = D / unit[..., :, None] / unit[..., None, :]
    finite = np.all(np.isfinite(scaled), axis=(-2, -1))
    least = np.linalg.eigvalsh(np.where(finite[..., None, None], scaled, 0.0))[..., 0]
    return ~finite | (least <= share)


def is_beyond_roundoff(inverse: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Whether D, of any sign, cannot be zero in any direction, by its inverse.

    An error of D within the bounds makes it singular only if that times D^-1 is as large as one.
    """
    unit = np.sqrt(size)
    scaled = np.abs(inverse) * unit[..., :, None] * unit[..., None, :]
    return SHARE * scaled.sum(axis=(-2, -1)) < 1.0


def halves_of(P: Matrix) -> list[Scalar]:
    """The traces of P, of moments and of masses."""
    return [reduce(plus, (P[j][j] for j in half)) for half in (range(3), range(3, 6))]


def moved_sizes(P: Matrix, told: Sequence[Scalar], L_star: Matrix) -> list[Scalar]:
    """How large D can be of what its speeds move, for each of them.

    In place of the largest entries of P stand its traces, which are no smaller: P is positive.

    Args:
        P, L_star: of the joint.
        told: sizes of moments and of masses outboard, which P may have forgotten.
    """
    halves = list(map(plus, halves_of(P), told))
    sizes = []
    for h in zip(*L_star, strict=True):
        squares = [blocks.dot(x, x) for x in (h[:3], h[3:])]
        size = plus(times(squares[0], halves[0]), times(squares[1], halves[1]))
        if not any(map(is_zero, squares)):
            size = times(2.0, size)  # the quarters across count as well
        sizes.append(size)
    return sizes


def vanishing_pivot(joint: Joint) -> str:
    """What to tell of a joint whose D is singular."""
    subject = f"the articulated inertia D of joint {joint.name!r}"
    remedy = "give its bodies mass, or the joint a rotor inertia"
    if joint.kind.nv == 1:
        return f"{subject} vanishes: nothing outboard of it resists its motion; {remedy}"
    return (
        f"{subject} is singular: nothing outboard of it resists one of its motions ({remedy}), "
        "or its speeds are not independent at this configuration, as at gimbal lock"
    )
