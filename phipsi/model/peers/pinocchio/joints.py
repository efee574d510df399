"""Joints of a Pinocchio model, each as one of ours, or as several in a row.

A joint knows its axis as an attribute, by a method, or only in its data: as the column of
its motion subspace, linear part first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from phipsi.errors import InputError, ModelError
from phipsi.model.axes import X, Y, Z
from phipsi.model.custom import Custom
from phipsi.model.inertia import Placement
from phipsi.model.joints import (
    Continuous,
    Free,
    Helical,
    JointKind,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    SphericalEuler,
    Universal,
)
from phipsi.spatial import Matrix, Vector, compose, rotation

_UPRIGHT = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
_ASKED = ("joints", "jointPlacements", "inertias", "parents", "names", "frames", "armature")


class Piece(NamedTuple):
    """One of our joints: a joint of Pinocchio, or a part of one."""

    name: str
    kind: JointKind
    placement: Placement  # in what carries it
    q: int  # where its coordinates begin there
    v: int
    size: int  # how many coordinates it has there
    follows: tuple[str, float, float] | None = None  # leader, ratio, offset
    jumps: bool = False  # it does not follow from one turn of its leader to the next


def check_pinocchio(model: Any, function: str) -> Any:
    """A `pinocchio.Model`, or InputError."""
    if isinstance(model, type) or not all(hasattr(model, name) for name in _ASKED):
        hint = "give its .model" if hasattr(model, "model") else "for a file, use pp.load"
        what = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise InputError(f"{function}: expected a pinocchio.Model, got {what}; {hint}")
    return model


def pieces(peer: Any, i: int) -> list[Piece]:
    """Our joints in place of Pinocchio's joint i, from the base to the tip.

    A translation is three slides, "NAME.x", "NAME.y", "NAME.z"; a composite joint its
    parts, "NAME.1", "NAME.2", ...

    Args:
        peer: a `pinocchio.Model`.
        i: the number of the joint there.

    Raises:
        ModelError: a joint that has no counterpart.
    """
    name = peer.names[i]
    place = placement_of(peer.jointPlacements[i], f"joint {name!r}")
    joint = peer.joints[i].extract()
    if joint.shortname() == "JointModelMimic":
        return [_follower(peer, i, joint, name, place)]
    return list(_split(joint, name, place))


def placement_of(seat: Any, what: str) -> Placement:
    """A `pinocchio.SE3`, its numbers as they are; ModelError that says of what, if it is none."""
    R = seat.rotation.tolist()
    try:
        return Placement.of(None if R == _UPRIGHT else R, seat.translation.tolist())
    except ModelError as error:
        raise ModelError(f"{what}: {error}") from None


def _split(joint: Any, name: str, place: Placement) -> Iterator[Piece]:
    what, q, v = joint.shortname().removeprefix("JointModel"), joint.idx_q, joint.idx_v
    if what == "Translation":
        for k, (letter, axis) in enumerate(zip("xyz", (X, Y, Z), strict=True)):
            yield Piece(f"{name}.{letter}", Prismatic(axis), place, q + k, v + k, 1)
            place = Placement()
    elif what == "Composite":
        for k, (part, seat) in enumerate(zip(joint.joints, joint.jointPlacements, strict=True)):
            own = placement_of(seat, f"joint {name!r}")
            yield from _split(part.extract(), f"{name}.{k + 1}", place.then(own))
            place = Placement()
    elif what in _KINDS:
        yield Piece(name, _KINDS[what](joint), place, q, v, joint.nq)
    else:
        raise ModelError(f"joint {name!r} is a {joint.shortname()}, which has no counterpart here")


def _follower(peer: Any, i: int, joint: Any, name: str, place: Placement) -> Piece:
    """A joint that follows another: what it is shows in how it moves."""
    leader = peer.mimicked_joints[list(peer.mimicking_joints).index(i)]
    ratio, offset = float(joint.scaling), float(joint.offset)
    if ratio == 0.0:
        raise ModelError(f"joint {name!r} follows another with the scaling 0; weld it instead")
    moved = peer.joints[i].createData()
    at = np.zeros(peer.nq)  # where its own coordinate is 1
    angle = (1.0 - offset) / ratio
    start, size = peer.joints[leader].idx_q, peer.joints[leader].nq
    at[start : start + size] = [angle] if size == 1 else [np.cos(angle), np.sin(angle)]
    peer.joints[i].calc(moved, at)
    linear, angular = np.split(moved.S.ravel() / ratio, 2)
    kind: JointKind = Prismatic(_vector(linear))
    if angular.any():
        pitch = float(moved.M.translation @ angular)
        axis = _vector(angular)
        kind = Helical(axis, pitch) if abs(pitch) > 1e-12 else Revolute(axis)
    is_whole = isinstance(kind, Revolute) and ratio.is_integer()
    jumps = size == 2 and not is_whole  # its leader is known by [cos, sin]
    return Piece(name, kind, place, -1, -1, 0, (peer.names[leader], ratio, offset), jumps)


# -- kinds


@dataclass(frozen=True)
class EllipsoidPose:
    """A point on an ellipsoid, and the attitude of what touches it there.

    `R = Rot(x, q0) Rot(y, q1) Rot(z, q2)`; the point is the third axis, each entry times
    its radius.
    """

    radii: tuple[float, float, float]

    def __call__(self, q: Vector) -> tuple[Matrix, Vector]:
        R = compose(compose(rotation(X, q[0]), rotation(Y, q[1])), rotation(Z, q[2]))
        return R, [radius * row[2] for radius, row in zip(self.radii, R, strict=True)]


def _vector(x: Any) -> tuple[float, float, float]:
    a, b, c = (float(entry) + 0.0 for entry in np.ravel(x))
    return a, b, c


def _axis(joint: Any) -> tuple[float, float, float]:
    """Of a joint about or along one axis."""
    if hasattr(joint, "axis"):
        return _vector(joint.axis)
    if hasattr(joint, "getMotionAxis"):
        return _vector(joint.getMotionAxis())
    linear, angular = np.split(joint.createData().S.ravel(), 2)
    return _vector(angular if angular.any() else linear)


def _ellipsoid(joint: Any) -> JointKind:
    return Custom(EllipsoidPose((joint.radius_x, joint.radius_y, joint.radius_z)), 3)


_KINDS: dict[str, Callable[[Any], JointKind]] = {
    **{f"R{axis}": lambda joint: Revolute(_axis(joint)) for axis in "XYZ"},
    **{f"RUB{axis}": lambda joint: Continuous(_axis(joint)) for axis in "XYZ"},
    **{f"P{axis}": lambda joint: Prismatic(_axis(joint)) for axis in "XYZ"},
    **{f"H{axis}": lambda joint: Helical(_axis(joint), joint.pitch) for axis in "XYZ"},
    "RevoluteUnaligned": lambda joint: Revolute(_axis(joint)),
    "RevoluteUnboundedUnaligned": lambda joint: Continuous(_axis(joint)),
    "PrismaticUnaligned": lambda joint: Prismatic(_axis(joint)),
    "HelicalUnaligned": lambda joint: Helical(_axis(joint), joint.pitch),
    "Spherical": lambda joint: Spherical(),
    "SphericalZYX": lambda joint: SphericalEuler("zyx"),
    "FreeFlyer": lambda joint: Free(),
    "Planar": lambda joint: Planar(Z),
    "Universal": lambda joint: Universal(_vector(joint.axis1), _vector(joint.axis2)),
    "Ellipsoid": _ellipsoid,
}
