"""Numbers to write so that the numbers meant are read again, bit by bit.

A rotation is written as roll, pitch and yaw, an axis is brought to length one
when it is read: both are computed, and computed backwards they miss the last
bit. So the answer is looked for among the neighbours of that estimate: those
that are short as decimals first, for that is how people write them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product

from phipsi.model.inertia import Rows3, Vector3
from phipsi.model.joints import Revolute
from phipsi.spatial import (
    IDENTITY3,
    ZERO3,
    Matrix,
    Vector,
    apply,
    compose,
    rotation,
    rotation_from_rpy,
    transpose,
)

NEIGHBOURS = 3  # on each side
ROUNDOFF = 1e-15  # how far an estimate may be off, for numbers about 1
X, Y, Z = IDENTITY3

_Triple = tuple[float, float, float]


@lru_cache(maxsize=1024)  # a machine repeats few rotations many times
def rpy_of(R: Rows3) -> Vector3:
    """Roll, pitch and yaw whose rotation is R: bit by bit if there are such, else the nearest.

    Every matrix that was made from such angles is met exactly; of another, each
    entry is met to a few units of roundoff.

    Args:
        R: a rotation matrix.

    >>> from phipsi.spatial import rotation_from_rpy
    >>> R = rotation_from_rpy((0.1, 1.5707963, -2.5))
    >>> rpy_of(tuple(map(tuple, R)))
    (0.1, 1.5707963, -2.5)
    """
    if R == IDENTITY3:
        return ZERO3
    estimates = _estimates(R)
    for angles in estimates:
        found = _exact(R, *map(_candidates, angles))
        if found is not None:
            return found
    for angles in estimates:
        found = _exact(R, *(_candidates(x, x + math.tau, x - math.tau) for x in angles))
        if found is not None:
            return found
    nearest: _Triple = estimates[0]
    for roll, pitch, yaw in estimates:
        for r, p, y in product(_around(roll, 1), _around(pitch, 1), _around(yaw, 1)):
            if _miss(rotation_from_rpy((r, p, y)), R) < _miss(rotation_from_rpy(nearest), R):
                nearest = r, p, y
    return nearest


def axis_of(unit: Vector) -> Vector:
    """Three numbers that become this unit axis when they are read.

    Args:
        unit: the axis of a joint, of length one.

    >>> axis_of((0.6, 0.0, 0.8))  # which divided by its length is another
    (0.75, 0.0, 1.0)
    """
    largest = max(map(abs, unit))
    parts = [_candidates(x / largest) if x else [x] for x in unit]
    for candidate in (unit, *product(*parts)):
        if Revolute(candidate).axis == unit:
            return candidate
    return unit


# -- angles ----------------------------------------------------------------------------


def _estimates(R: Matrix) -> list[_Triple]:
    """Roll, pitch and yaw of R but for roundoff: four ways to compute them.

    R = Rz(yaw) Ry(pitch) Rx(roll) has the first column (cos y cos p, sin y cos p, -sin p)
    and the last row (-sin p, cos p sin r, cos p cos r). Where cos p is of the size
    of roundoff, only the difference of yaw and roll is told, and `Rz(yaw)* R` tells
    the roll that belongs to the yaw chosen.
    """
    (a, b, c), (d, e, f), (g, h, i) = R
    found = []
    for sign in (1.0, -1.0):  # of cos p
        pitch = math.atan2(-g, sign * math.hypot(a, d))
        yaw, roll = math.atan2(sign * d, sign * a), math.atan2(sign * h, sign * i)
        sine, cosine = math.sin(yaw), math.cos(yaw)
        belonging = math.atan2(sine * c - cosine * f, cosine * e - sine * b)
        found += [(roll, pitch, yaw), (belonging, pitch, yaw)]
    return found


def _exact(
    R: Rows3, rolls: Sequence[float], pitches: Sequence[float], yaws: Sequence[float]
) -> _Triple | None:
    """Those of the angles whose rotation, as `rotation_from_rpy` computes it, is R."""
    turns = [(yaw, rotation(Z, yaw)) for yaw in yaws]
    tips = [(roll, rotation(X, roll)) for roll in rolls]
    lengths = {turn[2][2] for _, turn in turns}  # 1 but for roundoff
    for pitch in pitches:
        nod = rotation(Y, pitch)
        for roll, tip in tips:
            # The last row of the tilt, which yaw leaves alone; its first entry is soon told.
            if all(x * (nod[2][0] * tip[0][0]) != R[2][0] for x in lengths):
                continue
            last = apply(transpose(tip), nod[2])
            if not any(_miss([[x * y for y in last]], [R[2]]) == 0.0 for x in lengths):
                continue
            tilt = compose(nod, tip)
            for yaw, turn in turns:
                if _miss(compose(turn, tilt), R) == 0.0:
                    return roll, pitch, yaw
    return None


def _miss(A: Matrix, B: Matrix) -> float:
    """By how much two matrices differ."""
    pairs = (zip(row, other, strict=True) for row, other in zip(A, B, strict=True))
    return max(abs(a - b) for entries in pairs for a, b in entries)


# -- neighbours ------------------------------------------------------------------------


def _candidates(*estimates: float) -> list[float]:
    """Numbers that the estimates may stand for, the likeliest first."""
    short = [number for x in estimates for number in _short(x)]
    near = [number for x in estimates for number in _around(x, NEIGHBOURS)]
    return list(dict.fromkeys((*short, *near)))


def _short(x: float) -> Iterator[float]:
    """Numbers of few digits that are x but for roundoff."""
    for digits in range(16):
        rounded = round(x, digits)
        if abs(rounded - x) <= ROUNDOFF * max(1.0, abs(x)):
            yield rounded
            return


def _around(x: float, count: int) -> Iterable[float]:
    """x and its neighbours among the floats, the nearest first."""
    yield x
    below = above = x
    for _ in range(count):
        below, above = math.nextafter(below, -math.inf), math.nextafter(above, math.inf)
        yield below
        yield above
