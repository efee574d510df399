"""Shapes as nodes of a viser scene."""

from __future__ import annotations

from typing import Any

import numpy as np

from phipsi.extras import need
from phipsi.model.geometry import Box, Color, Cylinder, Mesh, Sphere, Visual
from phipsi.view.bounds import box_corners
from phipsi.view.meshes import Surface, read_mesh
from phipsi.view.skeleton import Ellipsoid, Rgb

GREY = (0.75, 0.75, 0.77, 1.0)  # of a shape without a colour

Options = dict[str, Any]  # of a node: its place, its colour


def add_visual(scene: Any, name: str, visual: Visual) -> tuple[list[Any], np.ndarray]:
    """Draw a visual on the node above its name.

    A colour of the visual covers those of a mesh file.

    Args:
        scene: of viser.
        name: of the node; further parts of a mesh are below it.
        visual: what to draw.

    Returns:
        The handles of the nodes, and points around them in the frame of the body.

    Raises:
        ModelError: the mesh file cannot be read.
    """
    shape, color = visual.shape, visual.color
    rotation, position = np.array(visual.placement.rotation), visual.placement.position
    place: Options = {"wxyz": quaternions(rotation), "position": position}
    if isinstance(shape, Mesh):
        place["scale"] = shape.scale
        surfaces = read_mesh(shape.path)
        names = [name, *(f"{name} {i}" for i in range(2, len(surfaces) + 1))]
        nodes = [
            _add_surface(scene, each, surface, color, place)
            for each, surface in zip(names, surfaces, strict=True)
        ]
        ends = np.concatenate([[x.vertices.min(0), x.vertices.max(0)] for x in surfaces])
        corners = box_corners(ends.min(0), ends.max(0)) * shape.scale
    else:
        options = place | paint(color or GREY)
        match shape:
            case Box(size):
                nodes, half = [scene.add_box(name, dimensions=size, **options)], np.array(size) / 2
            case Cylinder(radius, length):
                nodes = [scene.add_cylinder(name, radius, length, **options)]
                half = np.array([radius, radius, length / 2])
            case Sphere(radius):
                nodes, half = [scene.add_icosphere(name, radius, **options)], np.full(3, radius)
        corners = box_corners(-half, half)
    return nodes, corners @ rotation.T + position


def _add_surface(
    scene: Any, name: str, surface: Surface, color: Color | None, place: Options
) -> Any:
    if surface.painted is not None and color is None:
        return scene.add_mesh_trimesh(name, surface.painted, **place)
    options = place | paint(color or surface.color or GREY)
    return scene.add_mesh_simple(name, surface.vertices, surface.faces, side="double", **options)


def add_ellipsoid(scene: Any, name: str, ellipsoid: Ellipsoid, color: Rgb) -> Any:
    """Draw an ellipsoid on the node above its name."""
    scale = tuple(float(radius) for radius in ellipsoid.radii)
    place = {"wxyz": quaternions(ellipsoid.axes), "position": ellipsoid.center}
    return scene.add_icosphere(name, 1.0, color, subdivisions=4, scale=scale, **place)


def add_lines(scene: Any, name: str, lines: np.ndarray, color: Rgb, thickness: float) -> list[Any]:
    """Draw lines (n, 2, 3), so many metres thick, on the node above the name."""
    if not len(lines):
        return []
    points, options = lines.astype(np.float32), {"thickness_units": "world"}
    return [scene.add_line_segments(name, points, color, thickness=thickness, **options)]


def paint(color: Color) -> Options:
    """A colour as viser takes it."""
    rgb = tuple(round(255 * part) for part in color[:3])
    return {"color": rgb, "opacity": None if color[3] == 1.0 else color[3]}


def quaternions(rotations: np.ndarray) -> np.ndarray:
    """Rotations (*batch, 3, 3) as quaternions w, x, y, z."""
    transforms = need("viser.transforms", "view", "the viewer")
    return transforms.SO3.from_matrix(rotations).wxyz
