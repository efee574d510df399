"""Mesh files as surfaces: STL, OBJ, COLLADA, PLY, OFF and glTF, by trimesh."""

from __future__ import annotations

import io
import logging
import math
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from phipsi.errors import ModelError
from phipsi.extras import need
from phipsi.model.geometry import Color
from phipsi.view.mesh_files import KINDS, MOST_BYTES, Folder, check_file
from phipsi.view.mesh_limits import check_collada, check_gltf, check_obj, check_scene

FARTHEST = 1e12  # m, or whatever the file measures in
CREASE = math.radians(30.0)  # faces that meet at more are not shaded as one


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles of one colour, or painted.

    Args:
        vertices: (n, 3), m.
        faces: (m, 3), numbers of vertices.
        color: of all of it; None if the file gives none.
        painted: with its texture, or with colours at its vertices, as GLB; None if it
            has neither.
    """

    vertices: np.ndarray
    faces: np.ndarray
    color: Color | None = None
    painted: bytes | None = None

    @property
    def size(self) -> int:
        """In bytes."""
        return self.vertices.nbytes + self.faces.nbytes + len(self.painted or b"")


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
    key = path, state.st_mtime_ns, state.st_size
    found = _KEPT.get(key)
    if found is None:
        found = _read(path)
        _KEPT.put(key, found)
    return found


class Kept:
    """What was read last, as much of it as has room.

    Args:
        room: bytes of all surfaces that are kept.
    """

    def __init__(self, room: int):
        self.room = room
        self._surfaces: dict[tuple[str, int, int], tuple[Surface, ...]] = {}
        self._lock = threading.Lock()

    def get(self, key: tuple[str, int, int]) -> tuple[Surface, ...] | None:
        """The surfaces that were put by this key; None if they are no longer there."""
        with self._lock:
            found = self._surfaces.pop(key, None)
            if found is not None:
                self._surfaces[key] = found  # the last to go
            return found

    def put(self, key: tuple[str, int, int], surfaces: tuple[Surface, ...]) -> None:
        """Keep surfaces, and drop those that were asked for least recently."""
        with self._lock:
            self._surfaces[key] = surfaces
            while self.size > self.room:
                del self._surfaces[next(iter(self._surfaces))]

    @property
    def size(self) -> int:
        """Bytes of all that is kept."""
        return sum(each.size for surfaces in self._surfaces.values() for each in surfaces)


_KEPT = Kept(MOST_BYTES)


def _read(path: str) -> tuple[Surface, ...]:
    trimesh, kind = need("trimesh", "view", "a mesh file"), os.path.splitext(path)[1].lower()
    if kind == ".dae":
        need("collada", "view", "a COLLADA file")
    try:
        if kind not in KINDS:
            raise ModelError(f"expected a file that ends with {', '.join(KINDS)}")
        with open(path, "rb") as stream, _unheard():
            data = stream.read()
            if kind == ".dae":
                check_collada(data, MOST_BYTES)
            elif kind == ".obj":
                check_obj(data)
            elif kind in (".glb", ".gltf"):
                check_gltf(data)
            scene = trimesh.load_scene(io.BytesIO(data), kind[1:], resolver=Folder(path))
            check_scene(scene)
            found = tuple(map(_surface, _parts(scene)))
    except Exception as error:  # a broken file makes parsers raise whatever they like
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise ModelError(f"{path}: cannot be read as a mesh: {reason[0]}") from error
    if not found:
        raise ModelError(f"{path}: has no triangles")
    return found


def _parts(scene: Any) -> Iterator[Any]:
    """What a scene of trimesh is put together from, each where it goes."""
    for place in scene.graph.nodes_geometry:
        matrix, name = scene.graph[place]
        if len(getattr(scene.geometry[name], "faces", ())):
            yield scene.geometry[name].copy().apply_transform(matrix)


@contextmanager
def _unheard() -> Iterator[None]:
    """What trimesh and NumPy say of a file is not printed; what matters is raised."""
    log, nowhere = logging.getLogger("trimesh"), logging.NullHandler()
    log.addHandler(nowhere)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.removeHandler(nowhere)


def _surface(mesh: Any) -> Surface:
    """One part of a file."""
    unit, _, metres = str(mesh.metadata.get("units", "")).partition(" * ")
    if metres == "meters":
        mesh.apply_scale(float(unit))
    if _is_painted(mesh.visual):
        return _checked(mesh, painted=mesh.export(file_type="glb"))
    color = _color(mesh.visual)
    mesh.merge_vertices(merge_tex=True, merge_norm=True)
    smooth_shade = need("trimesh.graph", "view", "a mesh file").smooth_shade
    return _checked(smooth_shade(mesh, angle=CREASE), color)


def _checked(mesh: Any, color: Color | None = None, painted: bytes | None = None) -> Surface:
    """The surface of a mesh, which is one that can be drawn."""
    vertices = np.array(mesh.vertices, dtype=float)
    faces = np.array(mesh.faces, dtype=np.int64)
    if vertices.ndim != 2 or vertices.shape[1] != 3 or faces.ndim != 2 or faces.shape[1] != 3:
        raise ModelError("its parts are no triangles of points in space")
    if not len(vertices) or faces.min() < 0 or faces.max() >= len(vertices):
        raise ModelError("its triangles have corners that are not there")
    if not np.all(abs(vertices) <= FARTHEST):
        raise ModelError(f"its points are not all within {FARTHEST:g} m")
    return Surface(vertices, faces, color, painted)


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
