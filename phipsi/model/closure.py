"""Loops: what holds bodies together that the tree does not.

A machine with closures is its tree and these equations. No tree function
honours them yet; those that would be wrong without say so.
"""

from __future__ import annotations

from dataclasses import dataclass

from phipsi.model.inertia import Placement
from phipsi.model.joints import JointKind


@dataclass(frozen=True, slots=True)
class Anchor:
    """A frame on a body, or on the world, that a closure holds.

    Args:
        link: the name that the file, or the user, has for what it is on.
        body: the number of the body that carries it, -1 for the world.
        placement: of the frame in the body's.
    """

    link: str
    body: int
    placement: Placement


@dataclass(frozen=True, slots=True)
class Closure:
    """A joint that closes a loop: `second` moves against `first` as the kind allows.

    `pose(second) = pose(first) transform(x)` for some x, the closure's own
    coordinates, which are not in q: `6 - kind.nv` equations.

    Args:
        name: of the joint.
        kind: what it allows: `joints.Fixed()` holds all, `joints.Spherical()` a point.
        first: the joint frame.
        second: the frame that the joint would carry.
    """

    name: str
    kind: JointKind
    first: Anchor
    second: Anchor

    @property
    def equations(self) -> int:
        """How many numbers it holds at zero."""
        return 6 - self.kind.nv


@dataclass(frozen=True, slots=True)
class Coupling:
    """A joint that depends on another, otherwise than a mimic joint can.

    `q_joint = sum_k coefficients[k] (q_leader - centre)^k`.

    Args:
        name: of the equation.
        joint: the number of the joint that follows.
        leader: that of the joint it follows; None if it is held where it is.
        coefficients: of the polynomial, the constant first.
        centre: of the polynomial.
    """

    name: str
    joint: int
    leader: int | None
    coefficients: tuple[float, ...]
    centre: float = 0.0
