"""From numbers of bodies and joints to a finding: which is the worst, and how bad it is.

Two kinds of numbers are judged, both without units:

- a residual, by how much an equation fails, relative to what it adds up. Roundoff is about
  1e-16 of that, however ill-conditioned a machine is; so far more than that is a mistake.
- a share, what is left of something by cancellation. Its decimal exponent is how many digits
  are lost, for roundoff is relative to what was there before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from phipsi.explain.diagnosing.diagnosis import ROUNDOFF, Finding, Place, Status

TOLERANCE = 1e-9  # of residuals: what is fine; a few units of 1e-16 are measured
LEAST = 1e-6  # of shares: six digits lost, ten left
GONE = 1e-14  # hardly a digit is left

Tell = Callable[[str, float], str]  # of the worst name and its number, in physical words


def judge_residual(
    measure: str,
    formula: str,
    place: Place,
    names: Sequence[str],
    values: Sequence[float] | np.ndarray,
    tell: Tell,
) -> Finding:
    """By how much an equation fails: fine or wrong."""
    found = np.where(np.isfinite(values), values, np.inf).astype(float)
    k = int(np.argmax(found))
    worst = float(found[k])
    status: Status = "fine" if worst <= TOLERANCE else "wrong"
    digits = math.log10(max(1.0, worst / ROUNDOFF))
    told = tell(names[k], worst) if status == "wrong" else "it holds but for roundoff"
    name, every = _by_name(place, names, found, k, max)
    return Finding(measure, formula, status, worst, TOLERANCE, place, name, digits, told, every)


def judge_share(
    measure: str,
    formula: str,
    place: Place,
    names: Sequence[str],
    values: Sequence[float] | np.ndarray,
    tell: Tell,
    vital: bool = True,
) -> Finding:
    """What is left by cancellation: fine, or digits are lost, or, where it is vital, all."""
    found = np.where(np.isfinite(values), values, -np.inf).astype(float)
    k = int(np.argmin(found))
    worst = float(found[k])
    status: Status = "fine" if worst >= LEAST else "lost"
    if vital and worst <= GONE:
        status = "wrong"
    digits = -math.log10(worst) if worst > 0.0 else math.inf
    told = "no more digits are lost than is usual" if status == "fine" else tell(names[k], worst)
    name, every = _by_name(place, names, found, k, min)
    return Finding(measure, formula, status, worst, LEAST, place, name, digits, told, every)


def unknown(measure: str, formula: str, reason: str) -> Finding:
    """What could not be looked at, and why."""
    return Finding(measure, formula, "unknown", None, None, "machine", "", 0.0, reason)


def refused(measure: str, formula: str, reason: str) -> Finding:
    """What has no answer, and why."""
    return Finding(measure, formula, "wrong", None, None, "machine", "", math.inf, reason)


def _by_name(
    place: Place, names: Sequence[str], found: np.ndarray, k: int, worse: Callable
) -> tuple[str, dict[str, float]]:
    """The name of entry k, and the worst number of each name; none of a whole machine."""
    if place == "machine":
        return "", {}
    every: dict[str, float] = {}
    for name, value in zip(names, found.tolist(), strict=True):
        every[name] = worse(value, every.get(name, value))
    return names[k], every
