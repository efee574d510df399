"""Joints of SDF in the <gazebo> of a URDF file: they close loops.

URDF itself has trees alone. A joint that Gazebo is told of holds between two
links that the tree carries already. Its frame is that of its child but for its
<pose>; with all other joints at zero, both links meet there.

Source: the SDFormat specification, http://sdformat.org/spec, of versions 1.5 and up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from phipsi.errors import ModelError, name_choices
from phipsi.model.build import ModelBuilder
from phipsi.model.files.account import Notes
from phipsi.model.files.sdf.axis import Axis, with_numbers
from phipsi.model.files.sdf.pose import between, read_flag, read_pose
from phipsi.model.files.xmlfile import Element
from phipsi.model.inertia import Placement
from phipsi.model.joints import Continuous, Fixed, JointKind, Prismatic, Revolute, Spherical
from phipsi.model.tree import WORLD_NAME
from phipsi.spatial import Vector

_WITHOUT_AXIS: dict[str, JointKind] = {"fixed": Fixed(), "ball": Spherical()}
_WITH_AXIS: dict[str, Callable[[Vector], JointKind]] = {
    "revolute": Revolute,
    "continuous": Continuous,
    "prismatic": Prismatic,
}
_TYPES = (*_WITH_AXIS, *_WITHOUT_AXIS)
_UNREAD = dict.fromkeys(("physics", "sensor", "plugin"), "settings of a simulator")


class _Loop(NamedTuple):
    """A joint that closes a loop."""

    name: str
    kind: JointKind
    parent: str
    child: str
    pose: Placement  # in the frame of the child
    axis: Axis | None


def add_loops(
    builder: ModelBuilder,
    joints: Iterable[Element],
    names: Mapping[str, str],
    pose_of: Callable[[str], Placement],
    notes: Notes,
) -> None:
    """Close the loops of a machine; what is no complete joint is refused.

    Args:
        builder: has the links.
        joints: the <joint> elements.
        names: of the bodies, by link.
        pose_of: where a link is while all joints are at zero.
        notes: takes note of what is left out.
    """
    names = {WORLD_NAME: WORLD_NAME, **names}
    for joint in joints:
        try:
            loop = _read_loop(joint, names, notes)
            at = pose_of(loop.child).then(loop.pose)
            first = between(pose_of(loop.parent), at)
            builder.add_closure(
                loop.name,
                names[loop.parent],
                names[loop.child],
                loop.kind,
                position=first.position,
                rotation=first.rotation,
                second_position=loop.pose.position,
                second_rotation=loop.pose.rotation,
            )
        except ModelError as error:
            notes.refuse_error(joint, error)
            continue
        if loop.axis is not None:
            loop.axis.tell_losses(loop.name, "closes a loop", notes)


def _read_loop(joint: Element, links: Mapping[str, str], notes: Notes) -> _Loop:
    name, type_ = joint.text("name"), joint.text("type")
    if type_ not in _TYPES:
        choices = name_choices(type_, _TYPES)
        raise joint.error(f"joint {name!r} has the type {type_!r}, not read here; {choices}")
    parent, child = (_end(joint.need(tag), links) for tag in ("parent", "child"))
    pose = joint.find("pose")
    if pose is not None and (pose.get("relative_to") or child) != child:
        raise pose.error(f"the <pose> of joint {name!r} is read relative to its child alone")
    joint.ignore(_UNREAD)
    kind, axis = _read_kind(joint, type_)
    return _Loop(name, kind, parent, child, read_pose(pose, notes), axis)


def _end(end: Element, links: Mapping[str, str]) -> str:
    link = end.word()
    if link not in links:
        raise end.error(f"unknown link {link!r}; {name_choices(link, links)}")
    return link


def _read_kind(joint: Element, type_: str) -> tuple[JointKind, Axis | None]:
    """What the joint allows, and its axis, whose limits and losses have no place in a loop."""
    if type_ in _WITHOUT_AXIS:
        joint.ignore({"axis": f"a {type_} joint has none"})
        return _WITHOUT_AXIS[type_], None
    axis = joint.need("axis")
    xyz = axis.need("xyz")
    if xyz.get("expressed_in") or read_flag(axis.find("use_parent_model_frame")):
        raise axis.error("the <axis> is read in the frame of its joint alone")
    x, y, z = xyz.values(3)
    return _WITH_AXIS[type_]((x, y, z)), with_numbers(axis, (x, y, z))
