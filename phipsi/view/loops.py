"""The joints that close loops: a mark on each end, and a line between ends that are apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from phipsi.model.closure import Anchor
from phipsi.model.model import Model
from phipsi.model.tree import WORLD
from phipsi.view.handles import put
from phipsi.view.shapes import add_lines

LOOP_COLOR = (214, 30, 120)
CLOSED = 1e-4  # of the size of a mark: ends so near each other are joined


class Loops:
    """The closures of a machine in a scene.

    Ends that are together are seen as one mark. Where the configuration does not close the
    loop, a line shows what is missing.

    Args:
        scene: of viser.
        model: the machine.
        node_of: the name of the node of a body, or of the world.
        size: of a mark, m.
        poses: of the bodies at first, (n, 4, 4).
    """

    def __init__(
        self,
        scene: Any,
        model: Model,
        node_of: Callable[[int], str],
        size: float,
        poses: np.ndarray,
    ):
        self._ends = [(closure.first, closure.second) for closure in model.closures]
        self._nearest, self._shown = CLOSED * size, True
        self._gaps = self._places(poses, np.zeros(3))
        self._marks = [
            scene.add_icosphere(
                f"{node_of(end.body)}/loop {i} end {j}",
                0.5 * size,
                LOOP_COLOR,
                subdivisions=2,
                position=end.placement.position,
            )
            for i, ends in enumerate(self._ends)
            for j, end in enumerate(ends)
        ]
        self._lines = [
            add_lines(scene, f"/loop {i}", gap[None], LOOP_COLOR, 0.3 * size)[0]
            for i, gap in enumerate(self._gaps)
        ]
        self._draw_lines()

    def move(self, poses: np.ndarray, travel: np.ndarray) -> None:
        """Follow the bodies.

        Args:
            poses: of the bodies, (n, 4, 4), as they are seen.
            travel: how far the world has gone by, (3,).
        """
        if self._ends:
            self._gaps = self._places(poses, travel)
            self._draw_lines()

    def show(self, shown: bool) -> None:
        """Show or hide all of it."""
        self._shown = shown
        for mark in self._marks:
            put(mark, visible=shown)
        self._draw_lines()

    def _draw_lines(self) -> None:
        for line, gap in zip(self._lines, self._gaps, strict=True):
            is_open = bool(np.linalg.norm(gap[1] - gap[0]) > self._nearest)
            put(line, visible=is_open and self._shown)  # sent where it changes
            if is_open:
                put(line, points=gap[None].astype(np.float32))

    def _places(self, poses: np.ndarray, travel: np.ndarray) -> np.ndarray:
        """Where the ends of each loop are, (closures, 2, 3)."""

        def place(end: Anchor) -> np.ndarray:
            if end.body == WORLD:
                return np.array(end.placement.position) - travel
            pose = poses[end.body]
            return pose[:3, :3] @ end.placement.position + pose[:3, 3]

        return np.array([[place(end) for end in ends] for ends in self._ends]).reshape(-1, 2, 3)
