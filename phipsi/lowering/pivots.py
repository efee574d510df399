"""When a pivot D is zero but for roundoff, and what to tell of it."""

from __future__ import annotations

import numpy as np

from phipsi.model.model import Joint

PIVOT = 1e-14  # relative to the composite inertia: a pivot D below this is roundoff of zero


def moved_inertia(R: np.ndarray, H_star: np.ndarray) -> np.ndarray:
    """How large H R H* can be, for each speed: roundoff of D is relative to this.

    From the norms of the 3 x 3 blocks, so that neither units nor axes matter.
    """
    N = np.abs(R).reshape(*R.shape[:-2], 2, 3, 2, 3).max(axis=(-3, -1))
    h = np.abs(H_star).reshape(*H_star.shape[:-2], 2, 3, H_star.shape[-1]).max(axis=-2)
    return np.sum(h * (N @ h), axis=-2)


def vanishes(D: np.ndarray, size: np.ndarray) -> bool:
    """Whether D, relative to what its speeds move, has a pivot that is roundoff of zero."""
    unit = np.sqrt(np.where(size > 0.0, size, 1.0))
    pivots = np.linalg.eigvalsh(D / unit[..., :, None] / unit[..., None, :])
    return bool(np.any(pivots[..., 0] <= PIVOT))


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
