"""How much easier one motion is than another: the extreme eigenvalues of the mass matrix.

Of the one with ones on its diagonal, S^-1 Mass S^-1, so that units do not matter. A few vectors
are pushed through Mass, and through Mass^-1, again and again, O(N) each time; those that grow
fastest are the heaviest and the easiest motions (subspace iteration). Forces of equal size
make motions that differ by the ratio, and roundoff of the one is felt in the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from phipsi.explain.diagnosing.diagnosis import Finding
from phipsi.explain.diagnosing.laws import Machine
from phipsi.explain.diagnosing.verdicts import judge_residual, judge_share

VECTORS = 12  # that are pushed through together
STEPS = 40  # at most
CLOSE = 1e-3  # relative change of an eigenvalue that is known well enough
DENSE = 300  # speeds up to which the determinant is also computed densely


def extremes(machine: Machine, rng: np.random.Generator) -> tuple[float, float, np.ndarray]:
    """The largest and the smallest eigenvalue of the mass matrix with ones on its diagonal,
    and the motion of the smallest, in the same units."""
    s = machine.coordinates
    most, _ = largest(lambda x: machine.mass(x / s) / s, s.size, rng)
    easiest, motion = largest(lambda x: s * machine.solve(s * x), s.size, rng)
    return most, 1.0 / easiest, motion


def largest(
    apply: Callable[[np.ndarray], np.ndarray], n: int, rng: np.random.Generator
) -> tuple[float, np.ndarray]:
    """The largest eigenvalue of a symmetric operator on rows, and its vector.

    >>> x, _ = largest(lambda rows: rows * [1.0, 2.0, 3.0], 3, np.random.default_rng(0))
    >>> round(x, 9)
    3.0
    """
    rows = np.linalg.qr(rng.normal(size=(n, min(n, VECTORS))))[0].T
    known = 0.0
    for _ in range(STEPS):
        pushed = apply(rows)
        values, vectors = np.linalg.eigh(rows @ pushed.T)
        value, vector = float(values[-1]), vectors[:, -1] @ rows
        if abs(value - known) <= CLOSE * abs(value):
            break
        known, rows = value, np.linalg.qr(pushed.T)[0].T
    return value, vector


def conditioning(machine: Machine, rng: np.random.Generator) -> tuple[Finding, float]:
    """How many digits the mass matrix loses, and its condition."""
    most, least, motion = extremes(machine, rng)
    name = machine.names[int(np.argmax(np.abs(motion)))]
    condition = most / least
    finding = judge_share(
        "conditioning",
        "eigenvalues of Mass",
        "joint",
        [name],
        [1.0 / condition],
        lambda name, share: (
            f"some motion, of joint {name!r} above all, is {condition:.0e} times as easy as the "
            "heaviest: a solution with the mass matrix may lose as many digits, FD4 often fewer"
        ),
        vital=False,
    )
    return finding, condition


def volume(machine: Machine, condition: float) -> Finding | None:
    """log det Mass = sum log det D, relative to the digits that the condition leaves.

    None for machines whose matrix is too large to be formed, or that have joints that follow.
    """
    model = machine.model
    if model.nv > DENSE or model.has_mimics:
        return None
    dense = np.linalg.slogdet(machine.mass(np.eye(model.nv)))[1]
    by_joints = math.fsum(np.linalg.slogdet(D)[1] for D in machine.found.D)
    return judge_residual(
        "determinant",
        "det Mass = prod det D",
        "machine",
        [model.name],
        np.array([abs(dense - by_joints) / (model.nv * condition)]),
        lambda name, x: "the joints together do not resist as the machine does",
    )
