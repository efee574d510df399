"""The stage: which way is up, the ground, the camera."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from phipsi.model.model import Model
from phipsi.model.tree import WORLD
from phipsi.view.bounds import FIELD_OF_VIEW, Bounds, Box, box_corners, camera_position, turn_z_to
from phipsi.view.shapes import quaternions

FAR = 4.0  # sizes of the machine


def set_stage(server: Any, model: Model, bounds: Bounds, poses: np.ndarray) -> Any:
    """Put up, ground and camera where they suit a machine and its motion.

    Up is against gravity, z where there is none. The ground is a grid through
    the origin of the world, or through the lowest point of a machine that
    begins below it. What moves below it for the most part, as a pendulum or a
    fall, has it below the whole motion. All of it suits the beginning alone
    where a machine travels far.

    Args:
        server: of viser.
        model: the machine.
        bounds: of what is drawn of it.
        poses: that it goes through, (T, n, 4, 4).

    Returns:
        The handle of the ground.
    """
    g = np.array(model.gravity)
    up = -g / np.linalg.norm(g) if g.any() else np.array([0.0, 0.0, 1.0])
    low, high = framed = bounds.box(in_frame(model, bounds, poses))
    size = max(float(np.linalg.norm(high - low)), 1e-3)
    server.scene.set_up_direction(up)
    camera = server.initial_camera
    camera.up, camera.look_at = up, 0.5 * (low + high)
    camera.position = camera_position(low, high, up)
    camera.fov, camera.near, camera.far = float(FIELD_OF_VIEW), 0.005 * size, 200.0 * size
    section = 10.0 ** math.ceil(math.log10(size) - 0.5)  # 1 m for machines of 0.3 to 3 m
    return server.scene.add_grid(
        "/ground",
        infinite_grid=True,
        cell_size=0.1 * section,
        section_size=section,
        cell_color=(225, 225, 230),
        section_color=(190, 190, 200),
        fade_distance=12.0 * size,
        wxyz=quaternions(turn_z_to(up)),
        position=up * ground_height(up, bounds.box(poses[:1]), framed),
    )


def in_frame(model: Model, bounds: Bounds, poses: np.ndarray) -> np.ndarray:
    """The poses that the camera is to see: all, or the first of a machine that goes far.

    A root that travels more than four times the size of the machine would leave it a few points
    high in a picture of the whole way.

    Args:
        model: the machine.
        bounds: of what is drawn of it.
        poses: that it goes through, (T, n, 4, 4).

    >>> import phipsi as pp
    >>> bounds, poses = Bounds(), np.tile(np.eye(4), (3, 1, 1, 1))
    >>> bounds.add(0, [[0, 0, 0], [0, 0, 1]])
    >>> poses[:, 0, 2, 3] = 0.0, -1.0, -9.0
    >>> [len(in_frame(pp.chain(1), bounds, poses[:n])) for n in (2, 3)]
    [2, 1]
    """
    low, high = bounds.box(poses[:1])
    roots = [k for k, body in enumerate(model.bodies) if body.parent == WORLD]
    ways = np.ptp(poses[..., :3, 3][:, roots], axis=0)
    is_far = np.linalg.norm(ways, axis=-1) > FAR * max(float(np.linalg.norm(high - low)), 1e-3)
    return poses[:1] if is_far.any() else poses


def ground_height(up: np.ndarray, first: Box, whole: Box) -> float:
    """How high the ground lies, m along up, for a machine that begins and moves in these boxes.

    >>> up, box = np.array([0.0, 0.0, 1.0]), (np.array([0, 0, 0.1]), np.array([1, 1, 2.0]))
    >>> ground_height(up, box, box)
    0.0
    """

    def extent(box: Box) -> tuple[float, float]:
        heights = box_corners(*box) @ up
        return float(heights.min()), float(heights.max())

    ground = min(0.0, extent(first)[0])
    lowest, highest = extent(whole)
    return lowest if lowest + highest < 2.0 * ground else ground
