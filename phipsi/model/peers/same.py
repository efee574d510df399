"""Whether a joint of ours and one of a peer are the same: they move alike, along the same axes."""

from __future__ import annotations

import numpy as np

from phipsi.errors import InputError
from phipsi.model.custom import Custom
from phipsi.model.inertia import Placement
from phipsi.model.joints import Helical, JointKind, Planar, Revolute, SphericalEuler
from phipsi.model.model import Joint

SAME = 1e-6  # m, and parts of directions: files are rounded

_AXES = ("axis", "first", "second", "normal")  # what kinds of joints call theirs


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


def check_axes(joint: Joint, kind: JointKind, placement: Placement, peer: str) -> None:
    """That the numbers of a joint mean the same there.

    Axes are compared where both have the joint's frame at the same place; elsewhere, those
    of the same joint may read otherwise. Planes are compared everywhere, for x and y are
    counted along axes of the frame.

    Args:
        joint: ours, of the same kind.
        kind: what the peer's would be here.
        placement: where it would be, in what carries it.
        peer: the name of the package.

    Raises:
        InputError: they do not.
    """
    ours, name = joint.kind, joint.name
    differs = isinstance(kind, SphericalEuler | Custom) and ours != kind
    if isinstance(kind, Helical) and isinstance(ours, Helical):
        differs = abs(ours.pitch - kind.pitch) > SAME
    is_read_alike = isinstance(kind, Planar) or is_near(joint.placement, placement)
    if differs or (is_read_alike and not _axes_agree(ours, kind)):
        raise InputError(
            f"joint {name!r} is {ours} here and {kind} in {peer}: "
            "their numbers do not mean the same"
        )


def is_near(one: Placement, other: Placement) -> bool:
    """Whether two frames are at the same place, to what files are rounded to."""
    return bool(np.abs(one.matrix - other.matrix).max() <= SAME)


def _axes_agree(ours: JointKind, kind: JointKind) -> bool:
    pairs = ((getattr(ours, name), getattr(kind, name)) for name in _AXES if hasattr(kind, name))
    return all(np.abs(np.subtract(own, other)).max() <= SAME for own, other in pairs)
