"""The joints of a machine as sliders: what each shows, and how it moves the configuration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from phipsi import spatial
from phipsi.model.joints import (
    Cylindrical,
    JointKind,
    Planar,
    SphericalEuler,
    Universal,
)
from phipsi.model.model import Joint
from phipsi.spatial import Vector

HALF_TURN = 3.1416  # rad, a reach of a joint that turns without limits
REACH = 1.0  # m, of one that slides
DIGITS = 4  # of the ends of a slider, at least
NARROWEST = 1e-9  # limits this near each other leave no room for a slider
FARTHEST = 1e6  # limits beyond this are how files say that there are none
ANGLES = ("roll", "pitch", "yaw")  # of a joint whose coordinate is a quaternion

_PARTS: dict[type[JointKind], tuple[str, ...]] = {
    Cylindrical: ("angle", "shift"),
    Universal: ("first", "second"),
    Planar: ("angle", "x", "y"),
}


@dataclass(frozen=True)
class Control:
    """One slider.

    Args:
        label: what is written beside it.
        low: its least value, rad or m.
        high: its greatest value.
    """

    label: str
    low: float
    high: float

    @property
    def step(self) -> float:
        """A thousandth of its length or less, a power of ten."""
        return 10.0 ** math.floor(math.log10((self.high - self.low) / 1000.0))

    def reaching(self, value: float) -> Control:
        """The same, wide enough for a value."""
        return Control(self.label, min(self.low, value), max(self.high, value))


def controls(joint: Joint) -> list[Control]:
    """The sliders of a joint: one for each freedom.

    They reach to the limits of the joint, half a turn or a metre to either
    side where it has none. A quaternion is shown as roll, pitch and yaw.

    >>> import phipsi as pp
    >>> controls(pp.chain(1).joints[0])
    [Control(label='joint1', low=-3.1416, high=3.1416)]
    """
    kind = joint.kind
    if kind.quaternion is not None:
        lengths = [Control(x, -REACH, REACH) for x in "xyz"[: kind.nq - 4]]
        return [*(Control(name, -HALF_TURN, HALF_TURN) for name in ANGLES), *lengths]
    labels = _labels(joint)
    reach = [HALF_TURN if i in kind.turns else REACH for i in range(kind.nq)]
    if kind.nq > 1:
        return [Control(x, -r, r) for x, r in zip(labels, reach, strict=True)]
    low, high = _range(joint.limits.lower, joint.limits.upper, reach[0])
    digits = max(DIGITS, 3 - math.floor(math.log10(high - low)))
    return [Control(labels[0], round(low, digits), round(high, digits))]


def slider_values(joint: Joint, q: Sequence[float]) -> list[float]:
    """What the sliders of a joint show at its coordinates."""
    if joint.kind.quaternion is None:
        return list(q)
    return [*rpy_from_quaternion(q[:4]), *q[4:]]


def coordinates(joint: Joint, values: Sequence[float]) -> list[float]:
    """The coordinates of a joint whose sliders show these values."""
    if joint.kind.quaternion is None:
        return list(values)
    return [*quaternion_from_rpy(values[:3]), *values[3:]]


def quaternion_from_rpy(rpy: Vector) -> list[float]:
    """x, y, z, w of Rz(yaw) Ry(pitch) Rx(roll)."""
    roll, pitch, yaw = rpy
    turned = spatial.quaternion_product(
        spatial.quaternion_exp([0.0, 0.0, yaw]), spatial.quaternion_exp([0.0, pitch, 0.0])
    )
    return spatial.quaternion_product(turned, spatial.quaternion_exp([roll, 0.0, 0.0]))


def rpy_from_quaternion(q: Vector) -> list[float]:
    """Roll, pitch and yaw of x, y, z, w; where pitch is a quarter turn, roll is zero.

    >>> [round(x, 3) for x in rpy_from_quaternion(quaternion_from_rpy([0.1, -0.4, 3.0]))]
    [0.1, -0.4, 3.0]
    """
    R = spatial.rotation_from_quaternion(q)
    pitch = math.atan2(-R[2][0], math.hypot(R[0][0], R[1][0]))
    if math.hypot(R[0][0], R[1][0]) < 1e-9:
        return [0.0, pitch, math.atan2(-R[0][1], R[1][1])]
    return [math.atan2(R[2][1], R[2][2]), pitch, math.atan2(R[1][0], R[0][0])]


def _labels(joint: Joint) -> list[str]:
    """What is written beside the sliders: the joint's name, or the parts of several."""
    kind = joint.kind
    if kind.nq == 1:
        return [joint.name]
    if isinstance(kind, SphericalEuler):
        return [f"{i}, about {axis}" for i, axis in enumerate(kind.sequence, 1)]
    return list(_PARTS.get(type(kind)) or (f"q{i}" for i in range(kind.nq)))


def _range(lower: float, upper: float, reach: float) -> tuple[float, float]:
    """The limits; where one is missing, a reach to either side of what there is."""
    lower, upper = (x if abs(x) <= FARTHEST else math.copysign(math.inf, x) for x in (lower, upper))
    if math.isinf(lower) and math.isinf(upper):
        return -reach, reach
    if math.isinf(lower):
        return upper - 2.0 * reach, upper
    if math.isinf(upper):
        return lower, lower + 2.0 * reach
    if upper - lower <= NARROWEST * max(1.0, abs(lower)):  # as where a file leaves both out
        return lower - reach, upper + reach
    return lower, upper
