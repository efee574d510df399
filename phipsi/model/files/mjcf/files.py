"""The files that an MJCF file names, and from where alone they are read.

A file may name others in its own folder, in the folder around that, which
robots share with their meshes, and in the directories that the user gives;
nothing else is ever opened, whatever the file says.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from phipsi.errors import ModelError
from phipsi.model.files.xmlfile import MOST_BYTES, Element, read_some

MOST_FILES = 200  # that one machine is made of, meshes aside


class Files:
    """Finds and reads the files of one machine.

    Args:
        file: the MJCF file.
        directories: where else files may lie.
    """

    def __init__(self, file: str, directories: Iterable[str] = ()):
        self.folder = os.path.dirname(os.path.abspath(file))
        around = os.path.dirname(self.folder)
        is_top = os.path.dirname(around) == around  # of the file system: that is everything
        self._directories = tuple(directories)
        self._roots = (self.folder if is_top else around, *self._directories)
        self._bytes = 0

    def find(self, element: Element, name: str, folders: Iterable[str]) -> str:
        """The path of the file that an element names.

        Args:
            element: that names it.
            name: as written there.
            folders: from which a relative name may be meant, the likeliest first.

        Raises:
            ModelError: if there is none, or it lies where no file is read.
        """
        path = self.look(element, name, folders)
        if path is None:
            shown = ", ".join(repr(os.path.dirname(x)) for x in self._paths(name, folders))
            raise element.error(f"{_named(element, name)}, and there is none; looked in {shown}")
        return path

    def look(self, element: Element, name: str, folders: Iterable[str]) -> str | None:
        """The path of the file that an element names, or None if there is none.

        Raises:
            ModelError: if it lies where no file is read.
        """
        what = _named(element, name)
        if "\0" in name or "://" in name or not name.strip():
            raise element.error(f"{what}; expected a path on this computer")
        allowed = self._paths(name, folders)
        for path in allowed:
            if os.path.isfile(path):
                return path
        if not allowed:
            raise element.error(
                f"{what}, which leads out of {self._roots[0]!r}; nothing else is read, unless it "
                "is below a directory of packages=[...]"
            )
        return None

    def _paths(self, name: str, folders: Iterable[str]) -> list[str]:
        """The paths that a name may mean, as far as files are read there."""
        within = dict.fromkeys((*folders, *self._directories))
        paths = [os.path.normpath(os.path.join(x, name.replace("\\", "/"))) for x in within]
        return [x for x in paths if any(_is_below(x, root) for root in self._roots)]

    def read(self, path: str) -> bytes:
        """What stands in a file; ModelError if it cannot be read, or all together are too large."""
        try:
            with open(path, "rb") as stream:
                data = read_some(path, stream)
        except OSError as error:
            raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from None
        self._bytes += len(data)
        if self._bytes > MOST_BYTES:
            raise ModelError(
                f"{path}: the files of the machine are larger than {MOST_BYTES >> 20} MiB together"
            )
        return data


def _named(element: Element, name: str) -> str:
    return f"<{element.tag}> names the file {name!r}"


def _is_below(path: str, root: str) -> bool:
    return path.startswith(root.rstrip(os.sep) + os.sep)
