"""The small parts of SDF: a <pose>, a truth value, a version, a way back.

Source: the SDFormat specification, http://sdformat.org/spec.
"""

from __future__ import annotations

import math

from phipsi.model.files.account import Notes
from phipsi.model.files.xmlfile import Element
from phipsi.model.inertia import HERE, Placement, Rows3, Vector3
from phipsi.spatial import (
    IDENTITY3,
    Vector,
    apply,
    normalize,
    rotation_from_quaternion,
    rotation_from_rpy,
    scale,
    transpose,
)

Version = tuple[int, int]

OLDEST, NEWEST = (1, 4), (1, 12)
_WORDS = {"1": True, "true": True, "0": False, "false": False}


def read_version(sdf: Element) -> Version:
    """The version that a file is written in; ModelError for one that nobody reads here."""
    text = sdf.text("version")
    try:
        major, minor = (int(part) for part in text.strip().split(".")[:2])
    except ValueError:
        major, minor = 0, 0
    if not OLDEST <= (major, minor) <= NEWEST:
        raise sdf.error(
            f'<sdf version="{text}">: expected 1.4 to 1.12; convert the file: gz sdf -p file.sdf'
        )
    return major, minor


def read_flag(element: Element | None, default: bool = False) -> bool:
    """The truth value in an element; the default if there is none."""
    return default if element is None else to_flag(element, element.word())


def to_flag(element: Element, text: str) -> bool:
    """The truth value that a text of an element means."""
    if text.strip().lower() not in _WORDS:
        raise element.error(f"<{element.tag}>: {text!r} is no truth value; write true or false")
    return _WORDS[text.strip().lower()]


def read_pose(pose: Element | None, notes: Notes) -> Placement:
    """The numbers of a <pose>: position, then `Rz(yaw) Ry(pitch) Rx(roll)` or a quaternion.

    `rotation_format="quat_xyzw"` has seven numbers, degrees="true" has angles in degrees. What
    the pose is relative to, is for others to know.
    """
    if pose is None:
        return HERE
    if pose.get("frame"):
        text = f"frame={pose.get('frame')!r} never had a meaning; relative_to has one"
        notes.note(pose, f"<pose>: {text}", "ignored")
    form = pose.get("rotation_format") or "euler_rpy"
    degrees = to_flag(pose, pose.get("degrees") or "false")
    if form not in ("euler_rpy", "quat_xyzw"):
        raise pose.error(f"the rotation_format {form!r} is unknown; use euler_rpy or quat_xyzw")
    if not pose.content.strip():
        return HERE
    x, y, z, *turn = pose.values(7 if form == "quat_xyzw" else 6)
    if form == "euler_rpy":
        angles = [math.radians(angle) for angle in turn] if degrees else turn
        return Placement(_rows(rotation_from_rpy(angles)) if any(angles) else IDENTITY3, (x, y, z))
    if degrees:
        raise pose.error("a quaternion has no degrees; remove degrees or the rotation_format")
    if not math.hypot(*turn) > 1e-6:
        raise pose.error("the quaternion has length zero; give x y z w of length 1")
    largest = max(map(abs, turn))
    return Placement(
        _rows(rotation_from_quaternion(normalize([part / largest for part in turn]))), (x, y, z)
    )


def inverse(placement: Placement) -> Placement:
    """The way back: where the outer frame sits in the inner one."""
    back = _rows(transpose(placement.rotation))
    x, y, z = scale(-1.0, apply(back, placement.position))
    return Placement(back, (x, y, z))


def between(start: Placement, end: Placement) -> Placement:
    """Where a frame sits in another, both given in the world."""
    return inverse(start).then(end)


def turned(placement: Placement, vector: Vector) -> Vector3:
    """A direction of the inner frame, in outer axes."""
    x, y, z = apply(placement.rotation, vector)
    return x, y, z


def _rows(rows: Vector) -> Rows3:
    first, second, third = (tuple(row) for row in rows)
    return first, second, third
