"""A machine in a viser scene: a node for each body and for the world, below it what is seen."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from phipsi.cleaning import brief
from phipsi.errors import PhipsiError
from phipsi.model.geometry import Color, Visual
from phipsi.model.model import Model
from phipsi.model.tree import WORLD, WORLD_NAME
from phipsi.view.bounds import Bounds
from phipsi.view.handles import put
from phipsi.view.loops import Loops
from phipsi.view.shapes import add_ellipsoid, add_lines, add_visual, quaternions
from phipsi.view.skeleton import bones, depth_color, inertia_ellipsoid, joint_axes
from phipsi.view.travel import middle_of_roots, shifted

WORLD_NODE = f"/{WORLD_NAME}"
AXIS_COLOR, BONE_COLOR = (30, 30, 36), (130, 130, 140)
COLLISION_COLOR: Color = (1.0, 0.4, 0.05, 0.45)  # visuals are seen through it
AXIS_LENGTH = 0.1  # of the machine's size, and no more than this:
LONGEST_AXIS = 0.3  # m
MARK = 0.15  # of an axis: the ends of loops

Group = Literal["shapes", "collisions", "inertias", "joints"]
Where = Literal["without shapes", "all", "none"]  # the bodies on which they are shown
WHERE: tuple[Where, ...] = ("without shapes", "all", "none")


class Scene:
    """The nodes of one machine.

    A body is drawn by its visuals. Where it has none that can be shown, its
    inertia ellipsoid, the axes of its joint, and lines to the joints that it
    carries stand for it.

    Args:
        server: of viser.
        model: the machine.
        poses: of its bodies at first, (n, 4, 4).
        collisions: whether its collision shapes are seen at first, too. Their meshes are
            not read before.

    Attributes:
        bounds: of what is drawn.
        problems: a line for each shape that cannot be shown.
        loops: the joints that close loops.
        home: where the middle of the roots stays to be seen, the world passing by; None
            if the world stays, and the machine moves in it.
    """

    def __init__(self, server: Any, model: Model, poses: np.ndarray, collisions: bool = False):
        self._server, self._scene, self.model = server, server.scene, model
        self.bounds = Bounds()
        self.problems: list[str] = []
        self.home: np.ndarray | None = None
        self._moving = threading.Lock()
        self._nodes: dict[Group, list[tuple[int, Any]]] = {}  # and the body each is on
        self._names = [f"/{k} {_plain(body.name)}" for k, body in enumerate(model.bodies)]
        self._world = self._scene.add_frame(WORLD_NODE, show_axes=False)
        self._frames = [
            self._scene.add_frame(name, show_axes=False, wxyz=turn, position=place)
            for name, turn, place in zip(self._names, *_apart(poses), strict=True)
        ]
        self._nodes["shapes"] = self._draw_shapes("shape", model.visuals)
        if collisions:
            self._draw_collisions()
        shown = {body for body, _ in self._nodes["shapes"]}
        self._bare = set(range(len(model.bodies))) - shown
        self._enclose_bare()
        self._enclose_loops()
        low, high = self.bounds.box(poses)
        self.size = float(np.linalg.norm(high - low)) or 1.0
        self._axis_length = min(AXIS_LENGTH * self.size, LONGEST_AXIS)
        self._draw_inertias()
        self._draw_joints()
        self.loops = Loops(self._scene, model, self._node_of, MARK * self._axis_length, poses)
        self.show("inertias", "without shapes")
        self.show("joints", "without shapes")

    def move(self, poses: np.ndarray) -> None:
        """Put the bodies at these poses, (n, 4, 4). What stays is not sent."""
        travel = np.zeros(3)
        if self.home is not None:
            travel = middle_of_roots(self.model, poses) - self.home
            poses = shifted(poses, travel)
        with self._moving, self._server.atomic():
            put(self._world, position=-travel)
            for frame, turn, place in zip(self._frames, *_apart(poses), strict=True):
                put(frame, wxyz=turn, position=place)
            self.loops.move(poses, travel)

    def show(self, group: Group, where: Where) -> None:
        """Show a kind of nodes on all bodies, on none, or on those without shapes.

        Collision shapes are drawn when they are to be seen first.
        """
        if group == "collisions" and where != "none" and group not in self._nodes:
            self._draw_collisions()
        for body, node in self._nodes.get(group, ()):
            is_seen = where == "all" or (where == "without shapes" and body in self._bare)
            put(node, visible=is_seen)

    def show_frames(self, shown: bool) -> None:
        """Show or hide the axes of the bodies' frames."""
        for frame in self._frames:
            put(frame, show_axes=shown)

    # -- what is drawn

    def _node_of(self, body: int) -> str:
        return WORLD_NODE if body == WORLD else self._names[body]

    def _draw_shapes(self, what: str, visuals: Iterable[Visual]) -> list[tuple[int, Any]]:
        """Shapes, and the body each is on."""
        nodes: list[tuple[int, Any]] = []
        for number, visual in enumerate(visuals):
            name = f"{self._node_of(visual.body)}/{what} {number}"
            try:
                added, points = add_visual(self._scene, name, visual)
            except PhipsiError as error:
                kind = "" if what == "shape" else f"the {what} shape of "
                self.problems.append(f"{kind}{visual.name!r} is not shown: {error}")
                continue
            nodes += [(visual.body, node) for node in added]
            self.bounds.add(visual.body, points)
        return nodes

    def _draw_collisions(self) -> None:
        seen_through = (replace(each, color=COLLISION_COLOR) for each in self.model.collisions)
        self._nodes["collisions"] = self._draw_shapes("collision", seen_through)

    def _enclose_loops(self) -> None:
        for closure in self.model.closures:
            for end in (closure.first, closure.second):
                self.bounds.add(end.body, np.array([end.placement.position]))

    def _enclose_bare(self) -> None:
        """Bodies without shapes take the room of their ellipsoids and lines."""
        for body in self._bare:
            self.bounds.add(body, np.zeros((1, 3)))
            self.bounds.add(body, bones(self.model, body))
            ellipsoid = inertia_ellipsoid(self.model.bodies[body].inertia)
            if ellipsoid is not None:
                self.bounds.add(body, ellipsoid.tips)

    def _draw_inertias(self) -> None:
        nodes = self._nodes["inertias"] = []
        for k, body in enumerate(self.model.bodies):
            ellipsoid = inertia_ellipsoid(body.inertia, self.size)
            if ellipsoid is not None:
                color = depth_color(self.model.tree.depth[k])
                node = add_ellipsoid(self._scene, f"{self._names[k]}/inertia", ellipsoid, color)
                nodes.append((k, node))

    def _draw_joints(self) -> None:
        nodes = self._nodes["joints"] = []
        length = self._axis_length
        for k, joint in enumerate(self.model.joints):
            name, axes = self._names[k], joint_axes(joint.kind)
            across = 0.5 * length * np.stack([-axes, axes], axis=1)
            drawn = add_lines(self._scene, f"{name}/axes", across, AXIS_COLOR, 0.06 * length)
            lines = bones(self.model, k)
            drawn += add_lines(self._scene, f"{name}/bones", lines, BONE_COLOR, 0.04 * length)
            nodes += [(k, node) for node in drawn]
            self._frames[k].axes_length, self._frames[k].axes_radius = length, 0.03 * length


def _apart(poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Poses (n, 4, 4) as quaternions (n, 4) and positions (n, 3)."""
    return quaternions(poses[:, :3, :3]), poses[:, :3, 3]


def _plain(name: str) -> str:
    """A name without the sign that separates nodes."""
    return brief(name).replace("/", "|")
