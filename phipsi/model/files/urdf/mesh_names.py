"""What a URDF file that is written calls the meshes of a machine."""

from __future__ import annotations

import os
from urllib.parse import quote

from phipsi.errors import ModelError
from phipsi.model.files.packages import Packages
from phipsi.model.geometry import Mesh


class MeshNames:
    """Names of meshes, as one file has them.

    A mesh keeps the name that it had in the file it was read from, and so does one that is
    not there. A path from that file becomes one from the new file, if it is followed from
    there, and else `file://` and the whole path.

    Args:
        file: that is written.
    """

    def __init__(self, file: str):
        self._folder = os.path.dirname(os.path.abspath(file))
        self._packages = Packages(file)

    def of(self, mesh: Mesh) -> str:
        """The name of a mesh."""
        name = mesh.uri or mesh.path
        if "://" in name or not os.path.isfile(mesh.path):
            return name
        if os.path.isabs(name) and name == name.strip():  # which readers do to names
            return name
        path = os.path.abspath(mesh.path)
        near = os.path.relpath(path, self._folder)
        return near if self._is_followed(near, path) else f"file://{quote(os.fsencode(path))}"

    def _is_followed(self, name: str, path: str) -> bool:
        """Whether a reader finds that path under that name."""
        try:
            return self._packages.find(name) == path
        except ModelError:  # it is outside of where a reader looks
            return False
