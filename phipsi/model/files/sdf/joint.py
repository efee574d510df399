"""The <joint> elements of an SDF file: what they connect, and what they allow."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from phipsi.errors import name_choices
from phipsi.model.files.account import Notes
from phipsi.model.files.sdf.axis import ENDLESS, Axis, read_axis
from phipsi.model.files.sdf.pose import read_flag
from phipsi.model.files.sdf.scope import Node, Scope, link_of, pose_of, world_of
from phipsi.model.files.xmlfile import Element
from phipsi.model.inertia import Placement, Vector3
from phipsi.model.joints import (
    Continuous,
    Cylindrical,
    Fixed,
    Helical,
    JointKind,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from phipsi.model.tree import WORLD_NAME
from phipsi.spatial import scale

_ONE_AXIS: dict[str, Callable[[Vector3], JointKind]] = {
    "revolute": Revolute,
    "continuous": Continuous,
    "prismatic": Prismatic,
    "piston": Cylindrical,
}
_TWO_AXES = ("universal", "revolute2")
_NO_AXIS: dict[str, JointKind] = {"fixed": Fixed(), "ball": Spherical()}
_TYPES = (*_ONE_AXIS, *_TWO_AXES, *_NO_AXIS, "screw", "gearbox")

_OF_JOINT = {
    "sensor": "it moves nothing",
    "plugin": "code of a simulator",
    "frame": "it never had a meaning",  # of versions 1.5 and 1.6
}
_OF_GEARBOX = ("gearbox_ratio", "gearbox_reference_body")
_OF_SCREW = ("thread_pitch", "screw_thread_pitch")


@dataclass(frozen=True, slots=True)
class JointPart:
    """A joint as the file tells it.

    Args:
        node: its name and frame.
        type: of the file's words.
        parent: the name of the link that holds it, or "world".
        child: the name of the link that it carries.
        pose: of the joint frame in the world.
        kind: what it allows; None for a gearbox, which only couples others.
        axes: none, one or two.
        loop: whether the file wishes that it closes a loop.
    """

    node: Node
    type: str
    parent: str
    child: str
    pose: Placement
    kind: JointKind | None
    axes: tuple[Axis, ...]
    loop: bool = False

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def element(self) -> Element:
        return self.node.element


def read_joint(node: Node, notes: Notes) -> JointPart:
    """A joint between two links; ModelError if it makes no sense."""
    joint, scope = node.element, node.scope
    assert scope is not None
    joint.ignore(_OF_JOINT)
    type_ = joint.text("type")
    if type_ not in _TYPES:
        choices = name_choices(type_, _TYPES)
        raise joint.error(f"joint {node.name!r} has the unknown type {type_!r}; {choices}")
    parent, child = (_end(node, joint.need(tag)) for tag in ("parent", "child"))
    if parent == child:
        raise joint.error(f"joint {node.name!r} connects {parent!r} with itself; mend an end")
    axes = tuple(read_axis(node, tag) for tag in _axes_of(type_))
    joint.ignore(dict.fromkeys(_strange(type_), f"a {type_} joint has none"))
    if type_ == "ball":
        _note_dynamics(node, notes)
    return JointPart(
        node, type_, parent, child, pose_of(node), _kind(joint, type_, axes), axes, _is_loop(joint)
    )


def _strange(type_: str) -> set[str]:
    """What a joint of a type has no use for."""
    unused = {"axis", "axis2"} - set(_axes_of(type_))
    unused |= set() if type_ == "gearbox" else set(_OF_GEARBOX)
    return unused | (set() if type_ == "screw" else set(_OF_SCREW))


def _note_dynamics(joint: Node, notes: Notes) -> None:
    """Say that what acts about the axis of a ball joint, which has none, acts on nothing."""
    for axis in joint.element.all("axis", "axis2"):
        dynamics = axis.find("dynamics")
        parts = () if dynamics is None else dynamics.all("damping", "friction", "spring_stiffness")
        if any(part.value() for part in parts):
            text = f"joint {joint.name!r} is a ball, and has no axis for <dynamics> to act about"
            notes.note(axis, text, "ignored")


def end_of(scope: Scope, element: Element, what: str) -> Node:
    """The frame that the text of an element names; the world may be meant."""
    name = element.word()
    return world_of(scope) if name == WORLD_NAME else scope.need(name, element, what)


def _end(joint: Node, element: Element) -> str:
    """The name of the link, or world, that an end of a joint is on."""
    assert joint.scope is not None
    what = f"joint {joint.name!r} has the {element.tag}"
    link = link_of(end_of(joint.scope, element, what))
    return WORLD_NAME if link.kind == "world" else link.name


def _is_loop(joint: Element) -> bool:
    """Whether an engine is asked to cut loops here; of its other settings none concerns motion."""
    physics = joint.find("physics")
    if physics is None:
        return False
    physics.mark("ignored", "settings of physics engines")
    engine = next((each for each in physics.children if each.tag == "simbody"), None)
    tags = () if engine is None else engine.children
    return any(each.tag == "must_be_loop_joint" and read_flag(each) for each in tags)


# -- axes ------------------------------------------------------------------------------


def _axes_of(type_: str) -> tuple[str, ...]:
    if type_ in _NO_AXIS:
        return ()
    return ("axis", "axis2") if type_ in (*_TWO_AXES, "gearbox") else ("axis",)


# -- kinds -----------------------------------------------------------------------------


def _kind(joint: Element, type_: str, axes: tuple[Axis, ...]) -> JointKind | None:
    """What a joint allows; None for a gearbox."""
    if type_ in _NO_AXIS:
        return _NO_AXIS[type_]
    if type_ == "gearbox":
        return None
    if type_ in _TWO_AXES:
        return Universal(axes[0].direction, axes[1].direction)
    if type_ == "screw":
        return Helical(axes[0].direction, _pitch(joint))
    return _ONE_AXIS[type_](axes[0].direction)


def _pitch(joint: Element) -> float:
    """How far a screw goes, m/rad.

    <screw_thread_pitch> is in metres per turn, <thread_pitch> of old in radians per metre and
    positive for a left-handed thread: `pitch = screw_thread_pitch / (2 pi) = -1 / thread_pitch`.
    """
    new, old = (joint.find(tag) for tag in ("screw_thread_pitch", "thread_pitch"))
    if new is not None:
        if old is not None:
            old.mark("ignored", "<screw_thread_pitch> is there too")
        return new.value() / (2.0 * math.pi)
    if old is None:
        raise joint.error(
            f"{joint.label} needs a <screw_thread_pitch> in metres per turn; what is meant "
            "without one has changed from version to version"
        )
    turns = old.value()
    if abs(turns) < 1.0 / ENDLESS:
        raise old.error("<thread_pitch> is 0, in radians per metre; give another one")
    return -1.0 / turns


def backwards(kind: JointKind) -> JointKind:
    """The same joint seen from its child: q means the same, but for order and quaternions.

    >>> backwards(Prismatic((1, 0, 0))).axis
    (-1.0, ...)
    """
    if isinstance(kind, Universal):
        return Universal(_minus(kind.second), _minus(kind.first))
    if isinstance(kind, (Revolute, Prismatic, Helical, Cylindrical)):
        return replace(kind, axis=_minus(kind.axis))
    return kind


def _minus(axis: Any) -> Vector3:
    x, y, z = scale(-1.0, axis)
    return x, y, z
