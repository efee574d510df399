"""Which files are opened for a mesh: regular ones of sensible size, in the folder of the mesh.

A mesh file may come from anywhere, and names others: materials, textures, buffers. What these
names lead to must not hang a viewer, as a pipe does that nobody writes to, nor fill its memory.
"""

from __future__ import annotations

import os
import stat

from phipsi.errors import ModelError

MOST_BYTES = 2**29  # of a mesh file, and of all that it names
KINDS = (".stl", ".obj", ".dae", ".ply", ".off", ".glb", ".gltf")  # that are read
ARCHIVES = (".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".7z")  # may become far larger


def check_file(path: str, most: int | None = None) -> os.stat_result:
    """The state of a file that may be opened.

    Args:
        path: of the file.
        most: bytes that it may have; None for `MOST_BYTES`.

    Raises:
        ModelError: there is none, or it is no regular file, too large or an archive.
    """
    try:
        state = os.stat(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        if "://" in path:
            reason = "no file was found; packages= says where to look"
        raise ModelError(f"{path}: {reason}") from None
    if not stat.S_ISREG(state.st_mode):
        raise ModelError(f"{path}: this is no regular file; expected a mesh")
    most = MOST_BYTES if most is None else most
    if state.st_size > most:
        raise ModelError(
            f"{path}: has {state.st_size >> 20:,} MiB, and meshes are read up to {most >> 20:,} "
            "MiB, with all that they name; make it coarser"
        )
    if path.lower().endswith(ARCHIVES):
        raise ModelError(f"{path}: this is an archive; unpack it, and name the mesh")
    return state


class Folder:
    """Files beside a mesh, by the names that it has for them: what trimesh calls a resolver.

    Args:
        path: of the mesh file.
    """

    def __init__(self, path: str):
        self.file_name = os.path.basename(path)
        self._folder = os.path.dirname(os.path.abspath(path))
        self._left = MOST_BYTES

    def get(self, name: str) -> bytes:
        """What stands in a file of the folder, or below; one elsewhere is looked for there, too.

        Raises:
            ModelError: there is none that may be opened.
        """
        name = name.strip().replace("\\", "/")
        inside = os.path.normpath(os.path.join(self._folder, name.lstrip("/")))
        if not inside.startswith(self._folder.rstrip(os.sep) + os.sep) or not os.path.exists(
            inside
        ):
            inside = os.path.join(self._folder, os.path.basename(name))
        self._left -= check_file(inside, self._left).st_size
        with open(inside, "rb") as stream:
            return stream.read()

    def __getitem__(self, name: str) -> bytes:
        return self.get(name)
