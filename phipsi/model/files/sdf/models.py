"""The models of an SDF file: all links, joints and frames, with inner and included models."""

from __future__ import annotations

from dataclasses import dataclass, field

from phipsi.model.files.account import Notes
from phipsi.model.files.sdf.include import MOST_LEVELS, MOST_PARTS, Includes, model_of
from phipsi.model.files.sdf.pose import Version, read_flag, read_pose, to_flag
from phipsi.model.files.sdf.scope import Kind, Node, Scope, world_of
from phipsi.model.files.xmlfile import Element

_OF_MODEL = {
    "self_collide": "it concerns contact alone",
    "allow_auto_disable": "it concerns speed alone",
    "enable_wind": "there is no wind",
    "plugin": "code of a simulator",
    "gripper": "a simulator's way to hold things",
}
_OF_INCLUDE = {
    "plugin": "code of a simulator",
    "namespace": "it moves nothing",
}


@dataclass(slots=True)
class Found:
    """What is in a file.

    Args:
        links: in the file's order; and whether each stands still.
        joints: in the file's order.
        frames: in the file's order.
    """

    links: list[tuple[Node, bool]] = field(default_factory=list)
    joints: list[Node] = field(default_factory=list)
    frames: list[Node] = field(default_factory=list)


class Models:
    """Reads models, one in the other.

    Args:
        includes: opens files.
        notes: takes note of what is left out.
        thaw: whether models that stand still shall move.
    """

    def __init__(self, includes: Includes, notes: Notes, thaw: bool):
        self._includes = includes
        self._notes = notes
        self._thaw = thaw
        self.found = Found()
        self._names: dict[tuple[str, str], Element] = {}  # of each kind

    def read_scope(self, scope: Scope, inside: tuple[str, ...] = (), level: int = 0) -> None:
        """All that has a name in a model, or in the world."""
        element = scope.node.element
        if level > MOST_LEVELS:
            raise element.error(f"models are nested more than {MOST_LEVELS} deep; flatten them")
        for child in element.children:
            match child.tag:
                case "link" if scope.node.kind == "model":
                    self.found.links.append((self._add(scope, child, "link"), scope.static))
                case "joint":
                    self.found.joints.append(self._add(scope, child, "joint"))
                case "frame":
                    self.found.frames.append(self._add(scope, child, "frame"))
                case "model":
                    child.status = child.status or "used"
                    self.read_model(scope, child, scope.version, inside, level)
                case "include":
                    self._read_include(scope, child, inside, level)

    def read_model(
        self,
        around: Scope,
        model: Element,
        version: Version,
        inside: tuple[str, ...],
        level: int,
        include: Element | None = None,
        prefix: str | None = None,
    ) -> Node:
        """A model in a scope; `include` says otherwise of its name, pose and stillness.

        Args:
            around: where its name and its pose mean something.
            model: the element.
            version: of the file that it stands in.
            inside: the files that are being read.
            level: how many models it is in.
            include: what it was included by.
            prefix: in front of the names in it; None for its own name.
        """
        model.ignore(_OF_MODEL)
        model.get("namespace")
        over = model if include is None else include
        name, posed = model.text("name"), model
        if include is not None:
            name_part, pose_part = include.find("name"), include.find("pose")
            name = name if name_part is None else name_part.word()
            posed = model if pose_part is None else include
        merge = include is not None and to_flag(include, include.get("merge") or "false")
        pose = posed.find("pose")
        node = Node(
            "model",
            around.prefix + name,
            model,
            around,
            read_pose(pose, self._notes),
            "" if pose is None else pose.get("relative_to") or "",
            around.node,
        )
        if not merge:
            around.add(node, name)
        node.placement_frame = self._placement_frame(model, include)
        static = read_flag(over.find("static"), read_flag(model.find("static")))
        inner_prefix = f"{node.name}::" if prefix is None else prefix
        scope = Scope(
            node,
            around.prefix if merge else inner_prefix,
            version,
            around.static or (static and not self._thaw),
            around if merge else None,
        )
        scope.canonical = model.get("canonical_link") or ""
        self.read_scope(scope, inside, level + 1)
        return node

    @staticmethod
    def _placement_frame(model: Element, include: Element | None) -> str:
        own = model.get("placement_frame") or ""
        part = None if include is None else include.find("placement_frame")
        if part is None:
            return own
        if include is not None and include.find("pose") is None:
            raise part.error("a <placement_frame> is placed by a <pose>; add one")
        return part.word()

    def _read_include(
        self, scope: Scope, include: Element, inside: tuple[str, ...], level: int
    ) -> None:
        """A model that stands in another file."""
        include.status = include.status or "used"
        include.ignore(_OF_INCLUDE)
        opened = self._includes.open(include, inside)
        if isinstance(opened, str):
            self._notes.refuse(include, f"a model is left out: {opened}")
            return
        root, path = opened
        found = model_of(root, include)
        if isinstance(found, str):
            if any(child.tag in ("light", "actor") for child in root.children):
                include.mark("ignored", "it is not moved by forces")
            else:
                self._notes.refuse(include, f"it is left out: {found}")
            return
        self._includes.use(root)
        self.read_model(scope, *found, (*inside, path), level, include)

    def _add(self, scope: Scope, element: Element, kind: Kind) -> Node:
        """A link, joint or frame of a scope."""
        element.status = element.status or "used"
        name, pose = element.text("name"), element.find("pose")
        attached = element.get("attached_to") or "" if kind == "frame" else ""
        if kind == "joint":
            attached = element.need("child").word()
        node = Node(
            kind,
            scope.prefix + name,
            element,
            scope,
            read_pose(pose, self._notes),
            "" if pose is None else pose.get("relative_to") or "",
            scope.node,
            attached,
            attached,
        )
        scope.add(node, name)
        self._check_name(node)
        return node

    def _check_name(self, node: Node) -> None:
        """Refuse a name that means another seen from the outermost scope, and too many."""
        other = self._names.setdefault((node.kind, node.name), node.element)
        if other is not node.element:
            raise node.element.error(
                f"{node.kind} {node.name!r} has the name of that in {other.file}:{other.line}; "
                "rename one of them"
            )
        if len(self._includes.roots) > 1 and len(self._names) > MOST_PARTS:
            text = f"the files included have more than {MOST_PARTS:,} links, joints and frames"
            raise node.element.error(f"{text}; include less")


def make_world(element: Element, version: Version) -> Scope:
    """The scope of the world; an element tells of it."""
    world = Node("world", "world", element, None)
    scope = Scope(world, "", version)
    world.pose = world.raw
    assert world_of(scope) is world
    return scope
