"""The axes of SDF joints: where they point, and the numbers that the file gives for each.

A number counts as used where the machine takes it, not where it is read. So
what nothing takes can be told, whatever the reason: nothing is lost in silence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from phipsi.model.files.account import Notes
from phipsi.model.files.sdf.pose import between, read_flag, turned
from phipsi.model.files.sdf.scope import Node, pose_of
from phipsi.model.files.xmlfile import Element
from phipsi.model.inertia import Vector3

ENDLESS = 1e16  # as old files write infinity
INITIAL = "initial_position"  # where an axis starts, up to version 1.7

ENDS = {"lower": -math.inf, "upper": math.inf}
MOST = {"velocity": math.inf, "effort": math.inf}
ACTING = {"damping": 0.0, "friction": 0.0, "spring_stiffness": 0.0}
REST = "spring_reference"
NEUTRAL = {**ENDS, **MOST, **ACTING, REST: 0.0, INITIAL: 0.0}  # by tag, what says nothing

_OF_STOP = dict.fromkeys(("stiffness", "dissipation"), "limits push nothing here")
_OWN = {"lower": "turns without end", "upper": "turns without end", INITIAL: "follows another"}


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a joint, and what the file says of it.

    Args:
        element: that tells of it.
        direction: in the joint frame.
        numbers: by tag, as in `NEUTRAL`; those that are given.
        parts: the elements that give them.
        taken: the tags of those that the machine has.
    """

    element: Element
    direction: Vector3
    numbers: Mapping[str, float] = field(default_factory=dict)
    parts: Mapping[str, Element] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def get(self, tag: str) -> float:
        """A number, to look at."""
        return self.numbers.get(tag, NEUTRAL[tag])

    def take(self, tag: str) -> float:
        """A number, for the machine to have."""
        self.taken.add(tag)
        return self.get(tag)

    def tell_losses(self, joint: str, why: str, notes: Notes) -> None:
        """Say what the machine is without; what would act in the joint is refused.

        Args:
            joint: its name.
            why: what the joint does instead; "" if it is a joint of the machine.
            notes: takes note.
        """
        lost: dict[tuple[str, bool], list[str]] = {}
        for tag, part in self.parts.items():
            if tag in self.taken:
                continue
            reason = why or _OWN.get(tag, "has no place for it")
            part.mark("ignored", f"the joint {reason}")
            if self.get(tag) != NEUTRAL[tag] and tag != REST:  # which says nothing by itself
                lost.setdefault((reason, tag in ACTING), []).append(tag)
        for (reason, acts), tags in lost.items():
            text = f"joint {joint!r} {reason}, and so is without its {', '.join(tags)}"
            if acts:
                notes.refuse(self.parts[tags[0]], text)
            else:
                notes.note(self.parts[tags[0]], text, "ignored")


def read_axis(joint: Node, tag: str) -> Axis:
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
    mimic = axis.find("mimic")  # for `Couplings` to read, if the joint moves
    if mimic is not None:
        mimic.look("joint", "axis")
    return with_numbers(axis, direction)


def with_numbers(axis: Element, direction: Vector3) -> Axis:
    """An axis of that direction, with the numbers that its element gives."""
    parts = _parts(axis)
    return Axis(axis, direction, {tag: _number(tag, part) for tag, part in parts.items()}, parts)


def _parts(axis: Element) -> dict[str, Element]:
    """The elements that give a number each, by tag."""
    limit, dynamics = axis.find("limit"), axis.find("dynamics")
    if limit is not None:
        limit.ignore(_OF_STOP)
    places = {
        **dict.fromkeys((*ENDS, *MOST), limit),
        **dict.fromkeys((*ACTING, REST), dynamics),
        INITIAL: axis,
    }
    found = {tag: None if place is None else place.find(tag) for tag, place in places.items()}
    return {tag: part for tag, part in found.items() if part is not None}


def _number(tag: str, part: Element) -> float:
    """The number of an element: 1e16 is infinite in a limit, a negative effort or velocity none."""
    if tag not in ENDS and tag not in MOST:
        return part.value()
    value = part.value(finite=False)
    endless = {"lower": value <= -ENDLESS, "upper": value >= ENDLESS}
    return NEUTRAL[tag] if endless.get(tag, value < 0.0 or value >= ENDLESS) else value
