"""Links and joints of SDF put together: which body carries which, and the loops that remain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from phipsi.model.build import ModelBuilder, Part
from phipsi.model.files.account import Notes
from phipsi.model.files.reading import Reading
from phipsi.model.files.sdf.axis import INITIAL
from phipsi.model.files.sdf.couple import Couplings
from phipsi.model.files.sdf.joint import JointPart
from phipsi.model.files.sdf.link import LinkPart
from phipsi.model.files.sdf.pieces import pieces_of
from phipsi.model.files.sdf.pose import between
from phipsi.model.files.sdf.scope import Node, link_of, pose_of
from phipsi.model.files.sdf.tree import Carrier, Edge, span
from phipsi.model.files.xmlfile import Element
from phipsi.model.inertia import HERE, MASSLESS, Placement
from phipsi.model.joints import Fixed, Free, Spherical, Universal
from phipsi.model.model import Model
from phipsi.model.names import ROOT_JOINT, unused
from phipsi.model.report import Place
from phipsi.model.tree import WORLD_NAME

SAME = 1e-12  # by how much frames may differ that are one: roundoff of their poses

_TAGS = {"kind": "axis", "limits": "limit", "dynamics": "dynamics", "mimic": "mimic"}  # of a Part


class Assembly:
    """Puts links on joints, and joints on links.

    A link that a joint carries is a body whose frame is the joint's. Where the link's own frame
    is elsewhere, the body is called LINK@JOINT, and LINK is a frame on it.

    Args:
        links: all of them, by name, in the file's order.
        joints: all of them, in the file's order.
        frames: the <frame> elements, in the file's order.
        how: the file is to be read.
        notes: takes note of what cannot be honoured.
    """

    def __init__(
        self,
        links: Mapping[str, LinkPart],
        joints: Sequence[JointPart],
        frames: Sequence[Node],
        how: Reading,
        notes: Notes,
    ):
        self._links = links
        self._frames = frames
        self._how = how
        self._notes = notes
        self._still = [name for name, link in links.items() if link.static]
        still = {WORLD_NAME, *self._still}
        self._joints = [joint for joint in joints if not _stands(joint, still)]
        self._moving = [joint for joint in self._joints if joint.kind is not None]
        coupled = _coupled(self._joints)
        edges = [Edge(joint.parent, joint.child, joint.loop) for joint in self._moving]
        self._carriers, self._closing = span(list(links), edges, self._still)
        self._parts = {link: self._moving[carrier.edge] for link, carrier in self._carriers.items()}
        names = {joint.name for joint in self._joints}
        self._pieces = {
            joint.name: pieces_of(joint, self._carriers[link].backwards, coupled, names)
            for link, joint in self._parts.items()
        }
        self._joint_names = names
        self._places: dict[str, tuple[Element, Element | None]] = {}  # by body: link and joint
        self._taken = {*links, *(frame.name for frame in frames)}  # what no other body is called
        self._axes: dict[str, Element | None] = {}  # by body, of the joint that carries it
        self._loops: dict[str, Element] = {}  # by closure
        self._bodies: dict[str, tuple[str, Placement]] = {WORLD_NAME: (WORLD_NAME, HERE)}
        for name, link in links.items():
            self._bodies[name] = self._body(name, link)

    def where(self, name: str, part: Part) -> Place | None:
        """Where the file tells what, as the builder puts it in front of its messages."""
        if part == "closure" or name not in self._places:
            element = self._loops.get(name)
            return None if element is None else element.place
        link, joint = self._places[name]
        if part == "inertia":
            return (link.find("inertial") or link).place
        if joint is None:
            return link.place
        axis, tag = self._axes.get(name), _TAGS.get(part, "")
        inside = axis and (axis if tag == "axis" else axis.find(tag))
        return (inside or joint).place

    def build(self, builder: ModelBuilder) -> None:
        """Give everything to a builder."""
        self._add_roots(builder)
        follow = self._couple().follow
        for joint in self._moving:
            for link in (joint.child, joint.parent):
                if self._parts.get(link) is joint:
                    self._add_carried(builder, link, joint, follow)
        for number in self._closing:
            self._add_closure(builder, self._moving[number])
        self._add_frames(builder)
        self._add_start(builder, follow)
        self._tell_losses()
        for name, part in self._links.items():
            body, pose = self._bodies[name]
            own = between(pose, part.pose) if body != name else HERE
            builder.add_visuals(body, [_placed(own, each) for each in part.visuals])
            builder.add_collisions(body, [_placed(own, each) for each in part.collisions])

    def settle(self, model: Model) -> None:
        """Mark what was welded, now that one knows to what."""
        for frame in model.frames:
            if self._bodies.get(frame.name, ("",))[0] != frame.name:
                continue
            into = "the world" if frame.body < 0 else f"body {model.bodies[frame.body].name!r}"
            self._links[frame.name].node.element.mark("merged", f"into {into}")
            if frame.name in self._parts:
                text = f"{frame.name!r} is welded to {into}"
                self._parts[frame.name].element.mark("merged", text)

    # -- bodies

    def _body(self, name: str, link: LinkPart) -> tuple[str, Placement]:
        """What the body of a link is called, and where its frame is."""
        joint = self._parts.get(name)
        element = link.node.element
        if joint is None or isinstance(joint.kind, Fixed) or _same(link.pose, joint.pose):
            self._places[name] = element, None if joint is None else joint.element
            return name, link.pose
        return self._new_body(f"{name}@{joint.name}", element, joint), joint.pose

    def _new_body(self, name: str, link: Element, joint: JointPart) -> str:
        """The name of a body that the file has no name for."""
        body = unused(name, self._taken)
        self._taken.add(body)
        self._places[body] = link, joint.element
        return body

    def _add_roots(self, builder: ModelBuilder) -> None:
        """The links that nothing carries: on the world, or free."""
        roots = [name for name in self._links if name not in self._carriers]
        free = [name for name in roots if not self._links[name].static]
        taken = self._joint_names
        for name in roots:
            link = self._links[name]
            moves = not link.static and self._how.base != "fixed"
            joint_name = ROOT_JOINT if free == [name] else f"{ROOT_JOINT}_{name}"
            if moves and joint_name in taken:
                joint_name = unused(joint_name, taken)
                text = f"the free joint of {name!r} is called {joint_name!r}, its name being taken"
                self._notes.note(link.node.element, text)
            joint_name = unused(joint_name, taken)
            taken.add(joint_name)
            builder.add_body(
                name,
                joint=Free() if moves else Fixed(),
                joint_name=joint_name,
                **_placement(link.pose),
                **link.inertia.properties,
            )

    def _add_carried(
        self, builder: ModelBuilder, link: str, joint: JointPart, follow: Mapping[str, Any]
    ) -> None:
        """A link on the joint that carries it: one body, or two where each axis has its own."""
        carrier = self._carriers[link]
        parent, outer = self._bodies[carrier.parent]
        body, pose = self._bodies[link]
        own = self._links[link]
        inertia = own.inertia if body == link else own.inertia.moved(between(pose, own.pose))
        self._note_turned(joint, carrier)
        start = pose if isinstance(joint.kind, Fixed) else joint.pose
        pieces = self._pieces[joint.name]
        for piece in pieces:
            is_last = piece is pieces[-1]
            middle = f"{link}@{joint.name}@axis"
            name = body if is_last else self._new_body(middle, own.node.element, joint)
            self._axes[name] = piece.element
            builder.add_body(
                name,
                parent,
                piece.kind,
                joint_name=piece.name,
                mimic=follow.get(piece.name),
                **_placement(between(outer, start)),
                **(inertia if is_last else MASSLESS).properties,
                **piece.options(),
            )
            parent, outer = name, start
        if body != link:
            builder.add_frame(link, body, **_placement(between(pose, own.pose)))

    def _note_turned(self, joint: JointPart, carrier: Carrier) -> None:
        """Say of a joint that carries its parent that it does."""
        if not carrier.backwards or isinstance(joint.kind, Fixed):
            return
        text = f"joint {joint.name!r} carries {joint.parent!r}, its parent, on {joint.child!r}"
        if isinstance(joint.kind, Spherical):
            text += ", and its quaternion turns that way"
        elif isinstance(joint.kind, Universal):
            text += ", and the angle about axis2 comes first"
        self._notes.note(joint.element, text)

    # -- what follows, what closes

    def _couple(self) -> Couplings:
        """Which joints follow others."""
        pieces = {
            (joint, axis.element.tag): piece.name
            for joint, parts in self._pieces.items()
            for piece in parts
            for axis in piece.axes
            if axis is not None and piece.kind.nq == 1
        }
        couplings = Couplings(pieces, self._parts, self._notes, self._how.mimic == "enforce")
        for joint in self._joints:
            couplings.read_mimics(joint)
        for joint in self._joints:
            if joint.kind is None:
                couplings.read_gearbox(joint)
        return couplings

    def _add_closure(self, builder: ModelBuilder, joint: JointPart) -> None:
        """A joint that closes a loop."""
        assert joint.kind is not None
        ends = [
            HERE if name == WORLD_NAME else self._links[name].pose
            for name in (joint.parent, joint.child)
        ]
        first, second = (between(pose, joint.pose) for pose in ends)
        self._loops[joint.name] = joint.element
        builder.add_closure(
            joint.name,
            joint.parent,
            joint.child,
            joint.kind,
            position=first.position,
            rotation=first.rotation,
            second_position=second.position,
            second_rotation=second.rotation,
        )

    def _add_start(self, builder: ModelBuilder, follow: Mapping[str, Any]) -> None:
        """The <initial_position> of axes, as versions up to 1.7 have it: a state by that name."""
        start = {
            piece.name: piece.start()
            for pieces in self._pieces.values()
            for piece in pieces
            if piece.axes and piece.name not in follow
        }
        if any(any(values) for values in start.values()):
            builder.add_keyframe(INITIAL, start)

    def _tell_losses(self) -> None:
        """Say which numbers of axes the machine is without."""
        for joint in self._joints:
            why = "" if joint.name in self._pieces else "closes a loop"
            why = "only couples others" if joint.kind is None else why
            for axis in joint.axes:
                axis.tell_losses(joint.name, why, self._notes)

    def _add_frames(self, builder: ModelBuilder) -> None:
        """The <frame> elements, each on the link that it moves with."""
        for frame in self._frames:
            link = link_of(frame)
            body, pose = self._bodies[link.name]
            if frame.name in self._links:  # of old, a frame could have a link's name
                text = f"frame {frame.name!r} is left out, a link being called so"
                self._notes.refuse(frame.element, text)
                continue
            self._places[frame.name] = frame.element, frame.element
            builder.add_frame(frame.name, body, **_placement(between(pose, pose_of(frame))))


def _stands(joint: JointPart, still: set[str]) -> bool:
    """Whether both ends of a joint are part of the world."""
    if joint.parent not in still or joint.child not in still:
        return False
    joint.element.mark("merged", "what it connects stands still")
    return True


def _coupled(joints: Sequence[JointPart]) -> set[str]:
    """The names of the joints that follow others, or lead."""
    found = set()
    for joint in joints:
        for axis in joint.axes:
            mimic, scope = axis.element.find("mimic"), joint.node.scope
            leader = mimic and scope and scope.find(mimic.get("joint") or "")
            if leader:
                found |= {joint.name, leader.name}
    return found


def _placed(own: Placement, visual: Any) -> Any:
    """A visual of a link, on the body that the link is on."""
    return visual if own is HERE else replace(visual, placement=own.then(visual.placement))


def _same(one: Placement, other: Placement) -> bool:
    """Whether two frames are one, but for roundoff."""
    apart = between(one, other)
    size = max(1.0, *map(abs, one.position), *map(abs, other.position))
    rows = zip(apart.rotation, HERE.rotation, strict=True)
    turn = max(abs(x - y) for row, unit in rows for x, y in zip(row, unit, strict=True))
    return turn <= SAME and max(map(abs, apart.position)) <= SAME * size


def _placement(placement: Placement) -> dict[str, Any]:
    """A placement as the builder takes it."""
    turned = placement.rotation != HERE.rotation
    return {
        "position": placement.position,
        "rotation": placement.rotation if turned else None,
    }
