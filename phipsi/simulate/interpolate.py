"""States between the samples of a trajectory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from phipsi.errors import InputError
from phipsi.model.configuration import difference, integrate
from phipsi.simulate.given import real_numbers

if TYPE_CHECKING:
    from phipsi.simulate.trajectory import Trajectory

TIME_SLACK = 1e-9  # of the duration: roundoff in a time that the user has computed


def state_at(traj: Trajectory, t: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """q and v at a time, on the geodesic between samples; NaN beside a state that is not finite."""
    k, after, share = _between(traj.times, t)
    s = share[..., None]
    q0, q1, v0, v1 = (x[..., i, :] for x in (traj.q, traj.v) for i in (k, after))
    finite = (traj.finite[..., k] & traj.finite[..., after])[..., None]
    start, end = (np.where(finite, x, traj.model.neutral()) for x in (q0, q1))
    q = integrate(traj.model, start, s * difference(traj.model, start, end))
    q = np.where(s == 0.0, q0, np.where(finite, q, np.nan))
    with np.errstate(invalid="ignore", over="ignore"):
        v = np.where(s == 0.0, v0, v0 + s * (v1 - v0))
    return q, v


def _between(times: np.ndarray, t: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The samples before and after each time, and the share of the way between them."""
    t, first, last = real_numbers("t", t), times[0], times[-1]
    slack = TIME_SLACK * (last - first)
    outside = ~((t >= first - slack) & (t <= last + slack))  # NaN is
    if outside.any():
        raise InputError(
            f"t is {t[outside].flat[0]:.9g} s; the trajectory goes from {first:g} to {last:g} s"
        )
    t = np.clip(t, first, last)
    k = np.searchsorted(times, t, side="right") - 1
    after = np.minimum(k + 1, len(times) - 1)
    step = np.where(after > k, times[after] - times[k], 1.0)
    return k, after, (t - times[k]) / step
