"""Whether joints of ours and those of a peer are the same: they move alike, and count alike.

What a joint carries is moved by `exp(S1 q1) exp(S2 q2) ... T(0)`, the product over the joints
that carry it, S being their screws in the world where all coordinates are zero. So numbers mean
the same on both sides where joints hang on the same ones, have the same screws, and count from
the same place; the frame of what they carry may be another one, fixed on it elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from phipsi.errors import InputError
from phipsi.model.custom import Custom
from phipsi.model.inertia import Placement
from phipsi.model.joints import (
    Helical,
    JointKind,
    Prismatic,
    Revolute,
    Spherical,
    SphericalEuler,
    Universal,
)
from phipsi.model.model import Joint, Model
from phipsi.model.tree import WORLD, WORLD_NAME

SAME = 1e-6  # m, and parts of directions: files are rounded
ADDED_UP = 1e-5  # likewise, over all joints from the world

Pair = tuple[np.ndarray, np.ndarray]  # where a frame is in the world, here and there

_ONLY_TURN = (Revolute, Spherical, SphericalEuler, Universal)


class Seat(NamedTuple):
    """A joint in a tree, as either side tells of it; those that carry it come first."""

    name: str
    kind: JointKind
    placement: Placement  # in the frame that its carrier moves
    carrier: int  # the number of the joint before it, or WORLD


def check_kind(joint: Joint, kind: JointKind, peer: str) -> None:
    """That a joint moves as the peer's does; a continuous one may have limits.

    Args:
        joint: ours.
        kind: what the peer's would be here.
        peer: the name of the package.

    Raises:
        InputError: it moves otherwise.
    """
    alike = Revolute if isinstance(kind, Revolute) else type(kind)
    if not isinstance(joint.kind, alike):
        ours, theirs = type(joint.kind).__name__, type(kind).__name__
        raise InputError(f"joint {joint.name!r} is {ours} here and {theirs} in {peer}")


def check_motion(
    model: Model, seats: Sequence[Seat], numbers: Mapping[str, int], peer: str
) -> None:
    """That the numbers of all joints mean the same there.

    Both machines are put where all coordinates are zero. A machine whose first joints only
    turn may stand elsewhere in the world, but not turned: from where those count would not
    be known.

    Args:
        model: ours.
        seats: the peer's joints, of the same kinds, placed where ours are zero.
        numbers: which of them is which of ours, by our names.
        peer: the name of the package.

    Raises:
        InputError: a joint that hangs on another one there, moves along other axes, or
            counts from elsewhere.
    """
    carriers = [body.parent for body in model.bodies]
    ours = [
        Seat(joint.name, joint.kind, joint.placement, carrier)
        for joint, carrier in zip(model.joints, carriers, strict=True)
    ]
    order = [numbers[joint.name] for joint in model.joints]
    theirs = [seats[i] for i in order]
    for own, other in zip(ours, theirs, strict=True):
        expected = WORLD if own.carrier == WORLD else order[own.carrier]
        if other.carrier != expected:
            one, two = _name(ours, own.carrier), _name(seats, other.carrier)
            raise InputError(
                f"joint {own.name!r} is carried by {one!r} here and by {two!r} in {peer}: "
                "these are different machines; read one file on both sides"
            )
    there = _at_zero(seats)
    pairs = list(zip(_at_zero(ours), [there[i] for i in order], strict=True))
    first: list[tuple[int, str]] = []
    for way in _ways(ours, pairs):
        differing = list(_differing(ours, theirs, pairs, way))
        if not differing:
            return
        first = first or differing
    k, problem = first[0]
    here, away = pairs[k]
    raise InputError(
        f"joint {ours[k].name!r} is {ours[k].kind} here and {theirs[k].kind} in {peer}, "
        f"{problem}: where all coordinates are zero, its frame is {_told(here)} here and "
        f"{_told(away)} there, so that their numbers do not mean the same; "
        "read one file on both sides, or place the joint alike"
    )


def is_near(one: Placement, other: Placement) -> bool:
    """Whether two frames are at the same place, to what files are rounded to."""
    return bool(np.abs(one.matrix - other.matrix).max() <= SAME)


# -- where all coordinates are zero


def _at_zero(seats: Sequence[Seat]) -> list[np.ndarray]:
    """Where the frame that each joint moves is in the world, 4 x 4."""
    found: list[np.ndarray] = []
    for seat in seats:
        moved = np.eye(4)
        moved[:3, :3], moved[:3, 3] = seat.kind.transform(seat.kind.neutral())
        carrier = np.eye(4) if seat.carrier == WORLD else found[seat.carrier]
        found.append(carrier @ seat.placement.matrix @ moved)
    return found


def _screws(kind: JointKind, pose: np.ndarray) -> np.ndarray:
    """`[omega; velocity at the world's origin]` for each speed of a joint, 6 x nv."""
    R, p = pose[:3, :3], pose[:3, 3]
    spin, slide = np.split(np.array(kind.motion_map(kind.neutral()), dtype=float), 2)
    spin = R @ spin
    return np.vstack([spin, R @ slide + _cross_matrix(p) @ spin])


def _ways(ours: Sequence[Seat], pairs: Sequence[Pair]) -> list[np.ndarray]:
    """How far away the peer's machine may stand: not at all, or as its first joint does."""
    roots = [k for k, seat in enumerate(ours) if seat.carrier == WORLD]
    nowhere = np.zeros(3)
    if not roots or not all(isinstance(ours[k].kind, _ONLY_TURN) for k in roots):
        return [nowhere]
    here, away = pairs[roots[0]]
    return [nowhere, away[:3, 3] - here[:3, 3]]


def _differing(
    ours: Sequence[Seat], theirs: Sequence[Seat], pairs: Sequence[Pair], way: np.ndarray
) -> Iterator[tuple[int, str]]:
    """The joints whose numbers differ, and how, if the peer's machine stands that far away."""
    for k, (here, away) in enumerate(pairs):
        back = away.copy()
        back[:3, 3] -= way
        problem = _problem(ours[k].kind, theirs[k].kind, here, back)
        if problem:
            yield k, problem


def _problem(ours: JointKind, theirs: JointKind, here: np.ndarray, away: np.ndarray) -> str:
    """How a joint's numbers differ; "" if they do not."""
    near = ADDED_UP * max(1.0, np.abs(here).max())
    if isinstance(theirs, SphericalEuler | Custom) and ours != theirs:
        return "counting otherwise"
    if np.abs(_screws(ours, here) - _screws(theirs, away)).max(initial=0.0) > near:
        return "moving otherwise"
    between = np.linalg.inv(here) @ away  # theirs in ours
    if isinstance(ours, Prismatic):
        far = float(between[:3, 3] @ ours.axis)
        return f"counting from {far:.6g} m" if abs(far) > near else ""
    if isinstance(ours, Revolute | Helical):
        angle = _turn_about(between[:3, :3], ours.axis)
        return f"counting from {angle:.6g} rad" if abs(angle) > near else ""
    compared = between if isinstance(ours, Custom) else between[:3, :3]
    is_off = np.abs(compared - np.eye(len(compared))).max() > near
    return "counting from elsewhere" if is_off else ""


def _turn_about(R: np.ndarray, axis: Sequence[float]) -> float:
    """The angle in `R = Rot(axis, angle) S`, S being the least turn from `R* axis` to the axis.

    Zero where those are opposite: every half turn is the least.
    """
    a = np.array(axis)
    b = R.T @ a
    if b @ a < -1.0 + SAME:
        return 0.0
    k = _cross_matrix(_cross_matrix(b) @ a)
    least = np.eye(3) + k + k @ k / (1.0 + b @ a)
    rest = R @ least.T
    twice_sine = [rest[2, 1] - rest[1, 2], rest[0, 2] - rest[2, 0], rest[1, 0] - rest[0, 1]]
    return math.atan2(a @ twice_sine, np.trace(rest) - 1.0)


def _cross_matrix(k: np.ndarray) -> np.ndarray:
    """`k x`, as a matrix."""
    x, y, z = k
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _name(seats: Sequence[Seat], k: int) -> str:
    return WORLD_NAME if k == WORLD else seats[k].name


def _told(pose: np.ndarray) -> str:
    x, _, z, place = (
        "(" + ", ".join(f"{entry + 0.0:.6g}" for entry in np.round(column, 9)) + ")"
        for column in pose[:3].T
    )
    return f"at {place} with x along {x} and z along {z}"
