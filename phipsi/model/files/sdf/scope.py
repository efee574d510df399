"""Names and frames of SDF: who is meant, and where it is in the world.

A model is a scope: its links, joints, frames and inner models have names in
it, `inner::link` means a link of an inner model, `__model__` the model's own
frame. Each pose is relative to something, and so on up to the world; each
frame is attached to something, and so on up to a link. Both are followed step
by step, so that long chains cost time alone and circles are found.

Source: http://sdformat.org/tutorials?tut=pose_frame_semantics, and
?tut=composition for inner models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from phipsi.errors import name_choices
from phipsi.model.files.sdf.pose import Version, inverse
from phipsi.model.files.xmlfile import Element
from phipsi.model.inertia import HERE, Placement
from phipsi.model.tree import WORLD_NAME

Kind = Literal["world", "model", "link", "joint", "frame"]

OWN_FRAME = "__model__"
UNIQUE_NAMES: Version = (1, 7)  # since then all that has a name in a scope has its own


class Node:
    """Something that has a name and a frame.

    Args:
        kind: what it is.
        name: as seen from the outermost scope.
        element: that tells of it.
        scope: in which it means others; the world has none.
        raw: its pose, relative to what `relative` names, else to `default`.
        relative: the name that it is relative to.
        default: what it is relative to where no name is given; None for `base`.
        base: the name of what that is: the child of a joint, what a frame is attached to.
        attached: the name of what it moves with, for joints and frames.
    """

    __slots__ = (
        *("attached", "base", "default", "element", "inner", "kind", "link", "name"),
        *("placement_frame", "pose", "raw", "relative", "scope", "step"),
    )

    def __init__(
        self,
        kind: Kind,
        name: str,
        element: Element,
        scope: Scope | None,
        raw: Placement = HERE,
        relative: str = "",
        default: Node | None = None,
        base: str = "",
        attached: str = "",
    ):
        self.kind = kind
        self.name = name
        self.element = element
        self.scope = scope
        self.raw = raw
        self.relative = relative
        self.default = default
        self.base = base
        self.attached = attached
        self.inner: Scope | None = None  # of a model
        self.placement_frame = ""  # of a model: the frame in it that its pose means
        self.step: Placement | None = None  # its pose in that of its parent
        self.pose: Placement | None = None  # in the world
        self.link: Node | None = None  # what it moves with


class Scope:
    """A model, or the world, as the place where names mean something.

    Args:
        node: its own frame.
        prefix: in front of names, as seen from the outermost scope.
        version: of the file that it stands in.
        static: whether all in it stands still.
        around: the scope that it is merged into, whose names are its names too.
    """

    def __init__(
        self,
        node: Node,
        prefix: str,
        version: Version,
        static: bool = False,
        around: Scope | None = None,
    ):
        self.node = node
        self.prefix = prefix
        self.version = version
        self.static = static
        self.names: dict[str, Node] = {} if around is None else around.names
        self.around = around
        self.own: list[Node] = []  # links and models in it, as they come
        self.canonical = ""
        node.inner = self

    def add(self, node: Node, name: str) -> None:
        """Give something its name; ModelError if that is taken."""
        kept = name.startswith("__") and name.endswith("__")
        if name == WORLD_NAME or kept:
            raise node.element.error(
                f"the name {name!r} is reserved; rename the <{node.element.tag}>"
            )
        other = self.names.get(name)
        if other is not None and (self.version >= UNIQUE_NAMES or other.kind == node.kind):
            raise node.element.error(
                f"a second {node.kind} called {name!r}, the first is in line {other.element.line}; "
                "rename one of them"
                if other.kind == node.kind
                else f"{node.kind} {name!r} has the name of the {other.kind} in line "
                f"{other.element.line}; rename one of them"
            )
        if other is None or node.kind == "link":  # of old, links alone were meant by name
            self.names[name] = node
        scope: Scope | None = self if node.kind in ("link", "model") else None
        while scope is not None:
            scope.own.append(node)
            scope = scope.around

    def find(self, name: str) -> Node | None:
        """Who is meant by a name, or None."""
        scope: Scope | None = self
        while scope is not None:
            if name == OWN_FRAME:
                return scope.node if scope.node.kind == "model" else None
            if name == WORLD_NAME and scope.node.kind == "world":
                return scope.node
            if name in scope.names:
                return scope.names[name]
            head, separator, name = name.partition("::")
            if not separator or head not in scope.names:
                return None
            scope = scope.names[head].inner
        return None

    def need(self, name: str, element: Element, what: str) -> Node:
        """Who is meant by a name; ModelError if nobody is."""
        node = self.find(name)
        if node is None:
            choices = name_choices(name, self.names)
            raise element.error(f"{what} {name!r}, which is unknown here; {choices}")
        return node


def _scope(node: Node) -> Scope:
    assert node.scope is not None, "the world is relative to nothing"
    return node.scope


def _pose_element(node: Node) -> Element:
    return next((part for part in node.element.children if part.tag == "pose"), node.element)


def outer(node: Node) -> Node:
    """What a pose is relative to."""
    if node.relative:
        return _scope(node).need(
            node.relative, _pose_element(node), f"the <pose> of {node.element.label} is relative to"
        )
    if node.base:
        return _end(node, node.base)
    assert node.default is not None, "the world is relative to nothing"
    return node.default


def _end(node: Node, name: str) -> Node:
    """The link or frame that a joint or a frame names; a joint may also name the world."""
    scope = _scope(node)
    if node.kind == "joint":
        if name == WORLD_NAME:
            return world_of(scope)
        return scope.need(name, node.element, f"joint {node.name!r} has the child")
    return scope.need(name, node.element, f"frame {node.name!r} is attached to")


def world_of(scope: Scope) -> Node:
    """The world around a scope."""
    node = scope.node
    while node.scope is not None:
        node = node.scope.node
    return node


def _walk(node: Node, onward: Callable[[Node], Node | None], what: str) -> Iterator[Node]:
    """A node, what comes after it, and so on; ModelError for a circle."""
    seen: dict[Node, None] = {}
    following: Node | None = node
    while following is not None:
        if following in seen:
            names = [each.name or each.kind for each in seen]
            circle = [*names[names.index(following.name or following.kind) :], following.name]
            shown = circle if len(circle) <= 6 else [*circle[:3], "...", circle[-1]]
            arrows = " -> ".join(repr(name) for name in shown)
            raise following.element.error(f"{arrows} are {what} each other in a circle; mend one")
        seen[following] = None
        yield following
        following = onward(following)


def pose_of(node: Node) -> Placement:
    """Where a frame is in the world when all joints are at rest."""

    def onward(each: Node) -> Node | None:
        return None if each.pose is not None else outer(each)

    for each in reversed(list(_walk(node, onward, "relative to"))):
        if each.pose is None:
            around = outer(each).pose
            assert around is not None
            each.pose = around.then(_step(each))
    assert node.pose is not None
    return node.pose


def _step(node: Node) -> Placement:
    """The pose of a frame in the one it is relative to.

    That of a model may be meant for a frame within it: `X_model = X_frame inverse(frame in
    model)`. Models are nested to a bounded depth, and so is this.
    """
    if node.step is None:
        node.step = node.raw
        if node.placement_frame and node.inner is not None:
            label = node.element.label
            frame = node.inner.need(
                node.placement_frame, node.element, f"the placement_frame of {label} is"
            )

            def onward(each: Node) -> Node | None:
                return None if each is node else outer(each)

            local = HERE
            for each in _walk(frame, onward, "relative to"):
                if each is not node:
                    local = _step(each).then(local)
            node.step = node.raw.then(inverse(local))
    return node.step


def link_of(node: Node) -> Node:
    """The link, or the world, that a frame moves with."""

    def onward(each: Node) -> Node | None:
        if each.kind in ("world", "link") or each.link is not None:
            return None
        if each.kind == "model":
            return _canonical(each)
        return _end(each, each.attached) if each.attached else _scope(each).node

    way = list(_walk(node, onward, "attached to"))
    found = way[-1].link or way[-1]
    for each in way:
        each.link = found
    return found


def _canonical(model: Node) -> Node:
    """What a model's own frame moves with."""
    scope = model.inner
    assert scope is not None
    if scope.canonical:
        return scope.need(
            scope.canonical, model.element, f"the canonical_link of {model.element.label} is"
        )
    links = [node for node in scope.own if node.kind == "link"]
    if not scope.own:
        raise model.element.error(f"{model.element.label} has no <link>; expected at least one")
    return (links or scope.own)[0]
