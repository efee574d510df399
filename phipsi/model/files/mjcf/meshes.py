"""Meshes of MJCF files: read only if masses are computed of them.

MuJoCo cannot be without a mesh that a geom is made of. Where no mass depends
on it, it gets a tetrahedron in place of the file, which may be missing then;
where the mesh is, and how it is turned, stays as it was.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phipsi.errors import ModelError
from phipsi.model.files.account import Notes
from phipsi.model.files.mjcf.files import Files
from phipsi.model.files.mjcf.tree import Document, children
from phipsi.model.files.xmlfile import Element
from phipsi.model.geometry import Mesh, Visual
from phipsi.model.inertia import HERE, Placement, Vector3, vector3
from phipsi.spatial import rotation_from_quaternion

MOST_FOR_HULL = 2**20  # bytes of a mesh: with the square of them grows the time that a hull takes
SKEW = 1e-9  # of a scale that is not along the axes of its mesh, by its size
MESHES = (".stl", ".obj", ".msh")  # that MuJoCo reads
_TYPES = {"model/stl": ".stl", "model/obj": ".obj", "model/vnd.mujoco.msh": ".msh"}
_CORNERS = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
_FACE_NUMBERS = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]
_FACES = "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@dataclass
class _File:
    """A mesh's file: the element that names it, the folders it may be in, what MuJoCo has."""

    element: Element
    name: str
    folders: tuple[str, ...]
    end: str
    reference: Placement = HERE  # of the file's mesh in MuJoCo's
    scale: Vector3 = (1.0, 1.0, 1.0)  # of it, before it is placed so
    is_skewed: bool = False  # whether no scale and placement make MuJoCo's mesh of it

    def refer(self, mesh: Any) -> None:
        """Find scale and placement of a mesh: MuJoCo moves its points to `S R* (x - p)`.

        That is `R* S' x - S R* p`, with `S' = R S R*`, if this is diagonal.
        """
        quaternion = np.asarray(mesh.refquat, float)
        norm = np.linalg.norm(quaternion)
        w, x, y, z = (quaternion / norm if norm > 0.0 else np.eye(4)[0]).tolist()
        R: np.ndarray = np.array(rotation_from_quaternion([x, y, z, w]))
        S = np.diag(np.asarray(mesh.scale, float))
        scale = R @ S @ R.T
        off = scale - np.diag(np.diag(scale))
        self.is_skewed = bool(np.abs(off).max() > SKEW * np.abs(scale).max())
        self.scale = vector3("scale", np.diag(scale))
        self.reference = Placement.of(R.T, -S @ R.T @ np.asarray(mesh.refpos, float))


class Meshes:
    """The mesh files of a machine, by the names that MuJoCo has for them.

    Args:
        documents: all documents, the main one first.
        files: finds and reads them.
    """

    def __init__(self, documents: list[Document], files: Files):
        self._files = files
        self._by_name: dict[str, _File] = {}
        self._paths: dict[Element, str | None] = {}  # of what is to be seen
        self.hulls = False  # whether any mass is that of a hull
        for document in documents:
            folder, strips = _mesh_folder(document.root)
            places = (os.path.join(each.folder, folder) for each in (document, documents[0]))
            folders = tuple(dict.fromkeys(map(os.path.normpath, places)))
            for asset in children(document.root, "asset"):
                for mesh in children(asset, "mesh"):
                    if "file" in mesh.attributes:
                        self._add(mesh, folders, strips)

    def _add(self, mesh: Element, folders: tuple[str, ...], strips: bool) -> None:
        name = mesh.attributes["file"].strip().replace("\\", "/")
        if strips:
            name = os.path.basename(name)
        given = mesh.attributes.get("content_type", "")
        end = _TYPES.get(given.split(";")[0].strip(), os.path.splitext(name)[1].lower())
        called = f"mesh{len(self._by_name)}.obj"
        self._by_name[called] = _File(mesh, name, folders, end)

    def attributes(self) -> Iterator[tuple[Element, dict[str, str]]]:
        """Of each mesh element the attributes that MuJoCo gets."""
        for called, file in self._by_name.items():
            own = os.path.splitext(os.path.basename(file.name))[0]
            yield file.element, {"file": called, "name": file.element.attributes.get("name", own)}

    def hand_over(
        self, meshes: Iterable[Any], needed: set[str], element_of: Callable[[Any], Element]
    ) -> dict[str, bytes]:
        """What MuJoCo finds in files: what it needs, and tetrahedra.

        Args:
            meshes: of the `mujoco.MjSpec`; those that are needed get the name of their file.
            needed: the names of those that masses are computed of.
            element_of: of a mesh.

        Raises:
            ModelError: if a file that is needed cannot be read, or a hull would take long.
        """
        found: dict[str, bytes] = {}
        for mesh in meshes:
            file = self._by_name.get(mesh.file)
            if mesh.name not in needed:
                self._stand_in(mesh, found)
            elif file is not None:
                self._give(mesh, file, found)
            elif _is_convex(mesh) or not len(mesh.userface):
                self._check_hull(element_of(mesh), 4 * len(mesh.uservert))
        return found

    def _stand_in(self, mesh: Any, found: dict[str, bytes]) -> None:
        """A tetrahedron in place of a mesh that nothing depends on."""
        corners = _CORNERS / np.where(np.asarray(mesh.scale) == 0.0, 1.0, mesh.scale)
        if mesh.file:
            self._by_name[mesh.file].refer(mesh)
            rows = "".join("v {!r} {!r} {!r}\n".format(*row) for row in corners.tolist())
            found[mesh.file] = (rows + _FACES).encode()
        else:
            mesh.uservert, mesh.userface = corners.ravel(), _FACE_NUMBERS
            for other in ("normal", "texcoord", "facenormal", "facetexcoord"):
                if hasattr(mesh, f"user{other}"):
                    setattr(mesh, f"user{other}", [])

    def _give(self, mesh: Any, file: _File, found: dict[str, bytes]) -> None:
        """What stands in a file that masses are computed of."""
        if file.end not in MESHES:
            raise file.element.error(
                f"masses are computed of the mesh {file.name!r}; MuJoCo reads {', '.join(MESHES)}"
            )
        file.refer(mesh)
        mesh.file = f"{os.path.splitext(mesh.file)[0]}_read{file.end}"
        if mesh.file not in found:
            path = self._files.find(file.element, file.name, file.folders)
            found[mesh.file] = self._files.read(path)
            self._by_name[mesh.file] = file
        data = found[mesh.file]
        if _is_convex(mesh) or not _has_faces(data, file.end):
            self._check_hull(file.element, len(data))

    def _check_hull(self, element: Element, size: int) -> None:
        """ModelError for a mesh whose hull may take minutes."""
        self.hulls = True
        if size > MOST_FOR_HULL:
            raise element.error(
                f"masses are computed of the hull of {element.label}, which is too large for that; "
                'give it faces and inertia="exact", or its body an <inertial>'
            )

    def restored(self, visuals: Iterable[Visual], notes: Notes) -> Iterator[Visual]:
        """What is to be seen, with the meshes of the files in place of MuJoCo's names."""
        paths = self._paths
        for visual in visuals:
            shape = visual.shape
            if not isinstance(shape, Mesh) or shape.path not in self._by_name:
                yield visual
                continue
            file = self._by_name[shape.path]
            if file.element not in paths:
                paths[file.element] = self._path(file, notes)
                if file.is_skewed:
                    text = f"{file.element.label} is scaled across its own axes by refquat; "
                    notes.note(file.element, f"{text}it is drawn with the scale along them", "kept")
            path = paths[file.element]
            if path is not None:
                place = visual.placement.then(file.reference)
                mesh = Mesh(path, file.scale, file.name)
                yield replace(visual, shape=mesh, placement=place)

    def real_names(self, text: str) -> str:
        """A message of MuJoCo, with the names of the files."""
        for called in sorted(self._by_name, key=len, reverse=True):
            text = text.replace(f"'{called}'", repr(self._by_name[called].name))
        return text

    def _path(self, file: _File, notes: Notes) -> str | None:
        """Where a mesh lies; its name, if nowhere; None if it may not be read."""
        try:
            return self._files.look(file.element, file.name, file.folders) or file.name
        except ModelError as error:
            notes.refuse_error(file.element, error)
            return None


def _mesh_folder(root: Element) -> tuple[str, bool]:
    """Where the meshes of a document are, and whether folders in their names do not count."""
    found = {"assetdir": "", "meshdir": "", "strippath": "false"}
    for compiler in children(root, "compiler"):
        found.update((x, compiler.attributes[x]) for x in found if x in compiler.attributes)
    folder = found["meshdir"] or found["assetdir"]
    return folder.replace("\\", "/"), found["strippath"] == "true"


def _is_convex(mesh: Any) -> bool:
    """Whether masses are those of the hull of a mesh."""
    return "CONVEX" in str(mesh.inertia)


def _has_faces(data: bytes, end: str) -> bool:
    """Whether a mesh file has faces; of points alone MuJoCo makes the hull."""
    if end == ".obj":
        return b"\nf" in data or data.startswith(b"f")
    if end == ".msh":
        return len(data) < 16 or struct.unpack("<4i", data[:16])[3] != 0
    return True
