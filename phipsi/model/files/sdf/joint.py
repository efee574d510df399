"""The <joint> elements of an SDF file: what they allow, about which axes, within which limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from phipsi.errors import name_choices
from phipsi.model.files.account import Notes
from phipsi.model.files.sdf.pose import between, read_flag, turned
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
from phipsi.model.model import UNLIMITED, Limits
from phipsi.model.tree import WORLD_NAME
from phipsi.spatial import scale

ENDLESS = 1e16  # as old files write infinity

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
}
_OF_STOP = dict.fromkeys(("stiffness", "dissipation"), "limits push nothing here")
_OF_GEARBOX = ("gearbox_ratio", "gearbox_reference_body")
_OF_SCREW = ("thread_pitch", "screw_thread_pitch")


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a joint, and what acts about it.

    Args:
        element: that tells of it.
        direction: in the joint frame.
        limits: what it can reach.
        damping: N m s or N s/m.
        friction: N m or N.
        stiffness: of its spring, N m/rad or N/m.
        rest: where that is at rest.
        initial: where it starts, in old files.
    """

    element: Element
    direction: Vector3
    limits: Limits = UNLIMITED
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    initial: float = 0.0

    def options(self) -> dict[str, Any]:
        """What acts about it, as the builder takes it."""
        return {
            "limits": self.limits,
            "damping": self.damping,
            "friction": self.friction,
            "stiffness": self.stiffness,
            "rest": (self.rest,) if self.rest else None,
        }


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
    axes = tuple(_read_axis(node, tag, notes) for tag in _axes_of(type_))
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


def _read_axis(joint: Node, tag: str, notes: Notes) -> Axis:
    """An axis, in the joint frame.

    Up to SDF 1.4 it stands in the model's axes, in 1.5 and 1.6 if use_parent_model_frame says so,
    then in those of a frame that `expressed_in` names; else in those of the joint.
    """
    axis, scope = joint.element.need(tag), joint.scope
    assert scope is not None
    xyz = axis.need("xyz")
    x, y, z = xyz.values(3)
    expressed = xyz.get("expressed_in") or ""
    in_model = False
    if scope.version < (1, 7):
        in_model = read_flag(axis.find("use_parent_model_frame"), scope.version < (1, 5))
    direction: Vector3 = (x, y, z)
    if expressed or in_model:
        what = f"the axis of joint {joint.name!r} is expressed in"
        frame = scope.need(expressed, xyz, what) if expressed else scope.node
        direction = turned(between(pose_of(joint), pose_of(frame)), direction)
    start = axis.find("initial_position")
    found = Axis(axis, direction, _read_limits(axis, joint))
    return _with_dynamics(found if start is None else replace(found, initial=start.value()))


def _with_dynamics(axis: Axis) -> Axis:
    dynamics = axis.element.find("dynamics")
    if dynamics is None:
        return axis
    tags = ("damping", "friction", "spring_stiffness", "spring_reference")
    parts = [dynamics.find(tag) for tag in tags]
    damping, friction, stiffness, rest = (0.0 if p is None else p.value() for p in parts)
    return replace(axis, damping=damping, friction=friction, stiffness=stiffness, rest=rest)


def _read_limits(axis: Element, joint: Node) -> Limits:
    """The <limit> of an axis: 1e16 is infinite, a negative effort or velocity none."""
    limit = axis.find("limit")
    if limit is None:
        return UNLIMITED
    limit.ignore(_OF_STOP)
    ends = {tag: limit.find(tag) for tag in ("lower", "upper", "velocity", "effort")}
    given = {tag: part.value(finite=False) for tag, part in ends.items() if part is not None}
    lower, upper = given.get("lower", -math.inf), given.get("upper", math.inf)
    most = [given.get(tag, math.inf) for tag in ("velocity", "effort")]
    velocity, effort = (math.inf if x < 0.0 or x >= ENDLESS else x for x in most)
    if joint.element.get("type") == "continuous":
        return Limits(velocity=velocity, effort=effort)
    return Limits(
        -math.inf if lower <= -ENDLESS else lower,
        math.inf if upper >= ENDLESS else upper,
        velocity,
        effort,
    )


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
