"""Joints of SDF that follow others: <mimic>, and the gearbox.

Both are linear, so they become mimic joints: q = ratio q_leader + offset.
What no mimic joint can express is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping

from phipsi.model.files.account import Notes
from phipsi.model.files.sdf.joint import JointPart, end_of
from phipsi.model.files.sdf.pose import turned
from phipsi.model.files.sdf.scope import link_of
from phipsi.model.files.xmlfile import Element
from phipsi.model.inertia import Vector3
from phipsi.model.joints import Revolute
from phipsi.model.tree import WORLD_NAME
from phipsi.spatial import dot, normalize

PARALLEL = 1.0 - 1e-9  # the cosine of axes that are one: six digits of an angle

_REFERENCE = "gearbox_reference_body"

Follow = tuple[str, float, float]  # the leader's name, ratio, offset


class Couplings:
    """Finds out who follows whom.

    Args:
        pieces: by the name of a joint, and of its axis, that of the joint of one coordinate
            that it has become in the machine.
        parts: the joints that carry a link, by the name of that link.
        notes: takes note of what cannot be honoured.
        enforce: whether joints shall follow at all.
    """

    def __init__(
        self,
        pieces: Mapping[tuple[str, str], str],
        parts: Mapping[str, JointPart],
        notes: Notes,
        enforce: bool,
    ):
        self._pieces = pieces
        self._parts = parts
        self._notes = notes
        self._enforce = enforce
        self.follow: dict[str, Follow] = {}  # by the name of the follower
        self.places: dict[str, Element] = {}  # and where the file says so

    def read_mimics(self, joint: JointPart) -> None:
        """The <mimic> of each axis: `q = multiplier (q_leader - reference) + offset`."""
        for axis in joint.axes:
            mimic = axis.element.find("mimic")
            if mimic is None:
                continue
            parts = (mimic.find(tag) for tag in ("multiplier", "offset", "reference"))
            ratio, offset, reference = (
                default if part is None else part.value()
                for part, default in zip(parts, (1.0, 0.0, 0.0), strict=True)
            )
            leader = self._leader(joint, mimic)
            follower = self._pieces.get((joint.name, axis.element.tag))
            if follower is None or leader is None:
                which = "it closes a loop" if follower is None else "what it follows closes a loop"
                text = f"joint {joint.name!r} cannot follow another: {which}"
                self._notes.refuse(mimic, f"{text}, or has no single coordinate")
                continue
            self._add(follower, (leader, ratio, offset - ratio * reference), mimic)

    def _leader(self, joint: JointPart, mimic: Element) -> str | None:
        scope, name = joint.node.scope, mimic.text("joint")
        assert scope is not None
        leader = scope.need(name, mimic, f"joint {joint.name!r} mimics")
        if leader.kind != "joint":
            raise mimic.error(f"joint {joint.name!r} mimics {name!r}, which is a {leader.kind}")
        return self._pieces.get((leader.name, mimic.get("axis") or "axis"))

    def read_gearbox(self, joint: JointPart) -> None:
        """A gearbox: `theta_2 = -ratio theta_1`, the angles of child and parent on a third body.

        They are measured about axis2 and axis. It couples and carries nothing: it needs that both
        bodies turn on the third about those axes.
        """
        ratio, body = (joint.element.find(tag) for tag in ("gearbox_ratio", _REFERENCE))
        scope, text = joint.node.scope, f"gearbox {joint.name!r} "
        assert scope is not None
        if body is None:
            raise joint.element.error(f"{text}needs a <{_REFERENCE}>")
        frame = link_of(end_of(scope, body, f"{text}has the reference"))
        reference = WORLD_NAME if frame.kind == "world" else frame.name
        ends = (joint.parent, joint.axes[0].direction), (joint.child, joint.axes[1].direction)
        one, two = (self._turn(link, reference, turned(joint.pose, axis)) for link, axis in ends)
        if one is None or two is None:
            ends_text = f"{joint.parent!r} and {joint.child!r}"
            text += f"is left out: it needs that {ends_text} turn on {reference!r} about its axes"
            self._notes.refuse(joint.element, text)
            return
        (first, sign), (second, other_sign) = one, two
        factor = -sign * other_sign * (1.0 if ratio is None else ratio.value())
        if second in self.follow and first not in self.follow and factor:
            self._add(first, (second, 1.0 / factor, 0.0), joint.element)
        else:
            self._add(second, (first, factor, 0.0), joint.element)

    def _turn(self, link: str, on: str, axis: Vector3) -> tuple[str, float] | None:
        """The joint by which a link turns on another, and +1 or -1 for its sense."""
        for carried in (link, on):
            part = self._parts.get(carried)
            if part is None or {part.parent, part.child} != {link, on}:
                continue
            if isinstance(part.kind, Revolute):
                own = turned(part.pose, part.kind.axis)
                cosine = dot(normalize(own), normalize(axis)) if any(axis) else 0.0
                if abs(cosine) > PARALLEL:
                    sense = 1.0 if part.child == link else -1.0
                    return part.name, sense * (1.0 if cosine > 0.0 else -1.0)
        return None

    def _add(self, follower: str, follow: Follow, element: Element) -> None:
        if follower in self.follow:
            other = self.places[follower]
            text = f"joint {follower!r} already follows another, by line {other.line}"
            self._notes.refuse(element, text)
        elif not self._enforce:
            text = f"joint {follower!r} is independent, as asked; it should follow {follow[0]!r}"
            self._notes.note(element, text, "ignored")
        else:
            self.follow[follower] = follow
            self.places[follower] = element
