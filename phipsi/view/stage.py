"""The stage: which way is up, the ground, the camera."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from phipsi.model.model import Model
from phipsi.view.bounds import FIELD_OF_VIEW, Bounds, Box, box_corners, camera_position, turn_z_to
from phipsi.view.scene import WORLD_NODE, Scene
from phipsi.view.shapes import quaternions
from phipsi.view.travel import middle_of_roots, roots_gone_far, shifted


def set_stage(server: Any, scene: Scene, poses: np.ndarray) -> Any:
    """Put up, ground and camera where they suit a machine and its motion.

    Up is against gravity, z where there is none. The ground is a grid through
    the origin of the world, or through the lowest point of a machine that
    begins below it. What moves below it for the most part, as a pendulum, has
    it below the whole motion. The view goes along with a machine that travels
    far; where only a part of it does, all suits the beginning.

    Args:
        server: of viser.
        scene: with the machine in it; is told its `home` if the view goes along.
        poses: that the machine goes through, (T, n, 4, 4).

    Returns:
        The handle of the ground.
    """
    model, bounds = scene.model, scene.bounds
    far = roots_gone_far(model, bounds, poses)
    if far.size and far.all():
        scene.home = middle_of_roots(model, poses[0])
        poses = shifted(poses, middle_of_roots(model, poses) - scene.home)
    g = np.array(model.gravity)
    up = -g / np.linalg.norm(g) if g.any() else np.array([0.0, 0.0, 1.0])
    stays = scene.home is None  # the world
    low, high = framed = bounds.box(in_frame(model, bounds, poses), world=stays)
    size = max(float(np.linalg.norm(high - low)), 1e-3)
    server.scene.set_up_direction(up)
    camera = server.initial_camera
    camera.up, camera.look_at = up, 0.5 * (low + high)
    camera.position = camera_position(low, high, up)
    camera.fov, camera.near, camera.far = float(FIELD_OF_VIEW), 0.005 * size, 200.0 * size
    section = 10.0 ** math.ceil(math.log10(size) - 0.5)  # 1 m for machines of 0.3 to 3 m
    return server.scene.add_grid(
        f"{WORLD_NODE}/ground",
        infinite_grid=True,
        cell_size=0.1 * section,
        section_size=section,
        cell_color=(225, 225, 230),
        section_color=(190, 190, 200),
        fade_distance=12.0 * size,
        wxyz=quaternions(turn_z_to(up)),
        position=up * ground_height(up, bounds.box(poses[:1], world=stays), framed),
    )


def in_frame(model: Model, bounds: Bounds, poses: np.ndarray) -> np.ndarray:
    """The poses that the camera is to see: all, or the first where a part goes far.

    Args:
        model: the machine.
        bounds: of what is drawn of it.
        poses: that it goes through, (T, n, 4, 4).
    """
    return poses[:1] if roots_gone_far(model, bounds, poses).any() else poses


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
