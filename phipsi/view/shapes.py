"""Shapes as nodes of a viser scene."""

from __future__ import annotations

from typing import Any

import numpy as np

from phipsi.extras import need
from phipsi.model.geometry import (
    Box,
    Capsule,
    Color,
    Cylinder,
    Ellipsoid,
    Mesh,
    Primitive,
    Sphere,
    Visual,
)
from phipsi.model.solids import bounds
from phipsi.view.bounds import box_corners
from phipsi.view.meshes import Surface, read_mesh
from phipsi.view.skeleton import BodyEllipsoid, Rgb

GREY = (0.75, 0.75, 0.77, 1.0)  # of a shape without a colour
MERIDIANS = 32  # of a capsule, a multiple of 4

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
    shape, rotation = visual.shape, np.array(visual.placement.rotation)
    place: Options = {"wxyz": quaternions(rotation), "position": visual.placement.position}
    if isinstance(shape, Mesh):
        nodes, corners = _add_mesh(scene, name, shape, visual.color, place)
    else:
        nodes = [_add_primitive(scene, name, shape, place | paint(visual.color or GREY))]
        corners = box_corners(*np.array(bounds(shape)))
    return nodes, corners @ rotation.T + visual.placement.position


def _add_mesh(
    scene: Any, name: str, mesh: Mesh, color: Color | None, place: Options
) -> tuple[list[Any], np.ndarray]:
    """The handles of a mesh's surfaces, and the corners of the box around it."""
    surfaces = read_mesh(mesh.path)
    names = [name, *(f"{name} {i}" for i in range(2, len(surfaces) + 1))]
    place = place | {"scale": mesh.scale}
    nodes = [
        _add_surface(scene, each, surface, color, place)
        for each, surface in zip(names, surfaces, strict=True)
    ]
    ends = np.concatenate([[x.vertices.min(0), x.vertices.max(0)] for x in surfaces])
    return nodes, box_corners(ends.min(0), ends.max(0)) * mesh.scale


def _add_primitive(scene: Any, name: str, shape: Primitive, options: Options) -> Any:
    match shape:
        case Box(size):
            return scene.add_box(name, dimensions=size, **options)
        case Capsule(radius, length):
            return scene.add_mesh_simple(name, *capsule_surface(radius, length), **options)
        case Cylinder(radius, length):
            return scene.add_cylinder(name, radius, length, **options)
        case Ellipsoid(radii):
            return scene.add_icosphere(name, 1.0, subdivisions=4, scale=radii, **options)
        case Sphere(radius):
            return scene.add_icosphere(name, radius, **options)


def capsule_surface(radius: float, length: float) -> tuple[np.ndarray, np.ndarray]:
    """The triangles of a capsule along z: vertices (n, 3) and faces (m, 3), seen from outside.

    A globe of parallels and meridians, cut at its equator and moved apart.

    >>> vertices, faces = capsule_surface(0.1, 1.0)
    >>> vertices.max(axis=0), vertices.min(axis=0)
    (array([0.1, 0.1, 0.6]), array([-0.1, -0.1, -0.6]))
    """
    quarter = np.linspace(0.0, 0.5 * np.pi, MERIDIANS // 4 + 1)
    latitudes = np.concatenate([quarter - 0.5 * np.pi, quarter])  # the equator twice
    longitudes = np.linspace(0.0, 2.0 * np.pi, MERIDIANS, endpoint=False)
    north, east = (x.ravel() for x in np.meshgrid(latitudes, longitudes, indexing="ij"))
    globe = np.stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)])
    vertices = radius * globe.T
    upper = len(vertices) // 2
    vertices[:upper, 2] -= 0.5 * length
    vertices[upper:, 2] += 0.5 * length
    low = np.arange(len(vertices) - MERIDIANS).reshape(-1, MERIDIANS)
    beside = np.roll(low, -1, axis=1)
    squares = np.stack([low, beside, beside + MERIDIANS, low + MERIDIANS], axis=-1).reshape(-1, 4)
    return vertices, np.concatenate([squares[:, [0, 1, 2]], squares[:, [0, 2, 3]]])


def _add_surface(
    scene: Any, name: str, surface: Surface, color: Color | None, place: Options
) -> Any:
    if surface.painted is not None and color is None:
        return scene.add_glb(name, surface.painted, **place)
    options = place | paint(color or surface.color or GREY)
    return scene.add_mesh_simple(name, surface.vertices, surface.faces, side="double", **options)


def add_ellipsoid(scene: Any, name: str, ellipsoid: BodyEllipsoid, color: Rgb) -> Any:
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
