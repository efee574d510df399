"""Mesh files as surfaces: STL, OBJ, COLLADA and what else trimesh reads."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from phipsi.errors import ModelError
from phipsi.extras import need
from phipsi.model.geometry import Color
from phipsi.view.mesh_files import Folder, check_file

KEPT_FILES = 256
CREASE = math.radians(30.0)  # faces that meet at more are not shaded as one


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles of one colour, or painted.

    Args:
        vertices: (n, 3), m.
        faces: (m, 3), numbers of vertices.
        color: of all of it; None if the file gives none.
        painted: the trimesh with its texture, or with colours at its vertices; None
            if it has neither.
    """

    vertices: np.ndarray
    faces: np.ndarray
    color: Color | None = None
    painted: Any = None


def read_mesh(path: str) -> tuple[Surface, ...]:
    """The surfaces of a mesh file, in metres. A file is read once, unless it changes.

    Lengths are those of the file; COLLADA states its unit. Its up-axis is not
    applied: URDF places a mesh in the axes in which it is drawn.

    Materials and textures that it names are read from its folder, see `mesh_files`.

    Raises:
        ModelError: the file is missing, no regular file, too large, or cannot be read.
        BackendError: a package is missing; the message has the line that installs it.
    """
    state = check_file(path)
    return _read(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=KEPT_FILES)
def _read(path: str, changed: int, size: int) -> tuple[Surface, ...]:
    trimesh = need("trimesh", "view", "a mesh file")
    if path.lower().endswith(".dae"):
        need("collada", "view", "a COLLADA file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parts = trimesh.load_scene(path, resolver=Folder(path)).dump()
            found = tuple(_surface(part) for part in parts if len(getattr(part, "faces", ())))
    except Exception as error:  # a broken file makes parsers raise whatever they like
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise ModelError(f"{path}: cannot be read as a mesh: {reason[0]}") from error
    if not found:
        raise ModelError(f"{path}: has no triangles")
    return found


def _surface(mesh: Any) -> Surface:
    """One part of a file."""
    unit, _, metres = str(mesh.metadata.get("units", "")).partition(" * ")
    if metres == "meters":
        mesh.apply_scale(float(unit))
    if _is_painted(mesh.visual):
        return Surface(np.asarray(mesh.vertices), np.asarray(mesh.faces), painted=mesh)
    color = _color(mesh.visual)
    mesh.merge_vertices(merge_tex=True, merge_norm=True)
    shaded = need("trimesh.graph", "view", "a mesh file").smooth_shade(mesh, angle=CREASE)
    return Surface(np.asarray(shaded.vertices), np.asarray(shaded.faces), color)


def _is_painted(visual: Any) -> bool:
    """Whether a mesh has a texture, or colours that differ from place to place."""
    if visual.kind == "texture":
        material = visual.material
        images = (getattr(material, name, None) for name in ("image", "baseColorTexture"))
        return visual.uv is not None and any(image is not None for image in images)
    if visual.kind in ("vertex", "face"):
        colors = getattr(visual, f"{visual.kind}_colors")
        return bool(np.any(colors != colors[0]))
    return False


def _color(visual: Any) -> Color | None:
    """The one colour of a mesh; None if the file gives none."""
    if visual.kind is None:
        return None
    source = visual.material if visual.kind == "texture" else visual
    red, green, blue, opacity = (float(part) / 255.0 for part in source.main_color)
    return red, green, blue, opacity
