"""Where the files lie that a URDF file names: `package://robot/meshes/arm.stl`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from phipsi.errors import InputError

Directories = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class Packages:
    """Finds the files that one URDF file names.

    `package://name/path` (`model://` too) is looked up in the directories
    given, in those of ROS_PACKAGE_PATH and AMENT_PREFIX_PATH, then in those
    above the URDF file, the nearest first. Each of them may hold the package
    or be the package. A path that leaves its package is not followed, nothing
    is fetched over a network, and no file is opened.

    Args:
        file: the URDF file.
        directories: where to look first.
    """

    def __init__(self, file: str, directories: Directories = ()):
        self._folder = os.path.dirname(os.path.abspath(file))
        self._directories = check_directories(directories)
        self._roots: dict[str, list[str]] = {}  # where each package may be

    def find(self, uri: str) -> str | None:
        """The path of the file that a uri means, or None if there is none."""
        scheme, separator, rest = uri.strip().partition("://")
        if not separator:
            return _if_file(os.path.join(self._folder, uri.strip()))
        if scheme.lower() == "file":
            return _if_file(unquote("/" + rest.removeprefix("localhost").lstrip("/")))
        if scheme.lower() not in ("package", "model"):
            return None
        name, _, inside = rest.lstrip("/").partition("/")
        for root in self._packages(name):
            path = os.path.normpath(os.path.join(root, inside.lstrip("/")))
            if path.startswith(root + os.sep) and _if_file(path):
                return path
        return None

    def _packages(self, name: str) -> list[str]:
        """The directories that may be the package of that name, the likeliest first."""
        if name not in self._roots:
            possible = name not in ("", ".", "..")
            found = filter(os.path.isdir, self._candidates(name)) if possible else ()
            self._roots[name] = list(dict.fromkeys(found))
        return self._roots[name]

    def _candidates(self, name: str) -> Iterator[str]:
        above = list(_ancestors(self._folder))
        for directory in (*self._directories, *_ros_directories(), *above):
            if os.path.basename(directory) == name:
                yield directory
            yield os.path.join(directory, name)
        for directory in above:  # a package that was put into a directory of another name
            if os.path.isfile(os.path.join(directory, "package.xml")):
                yield directory


def check_directories(directories: Directories) -> tuple[str, ...]:
    """The directories to look in, absolute; InputError for what is none."""
    several = [directories] if isinstance(directories, (str, os.PathLike)) else directories
    try:
        paths = [os.fsdecode(path) for path in several]
    except TypeError:
        raise InputError(
            f"load: packages is {directories!r}; expected directories, as ['~/robots']"
        ) from None
    paths = [os.path.abspath(os.path.expanduser(path)) for path in paths]
    for path in paths:
        if not os.path.isdir(path):
            raise InputError(f"load: packages has {path!r}, which is no directory; mend the path")
    return tuple(paths)


def _ancestors(folder: str) -> Iterator[str]:
    """The folder and what holds it, but for the root of the file system."""
    while os.path.dirname(folder) != folder:
        yield folder
        folder = os.path.dirname(folder)


def _ros_directories() -> Iterator[str]:
    """Where ROS, the first and the second, keeps its packages."""
    for variable, inside in (("ROS_PACKAGE_PATH", ""), ("AMENT_PREFIX_PATH", "share")):
        for path in filter(None, os.environ.get(variable, "").split(os.pathsep)):
            yield os.path.normpath(os.path.join(os.path.abspath(path), inside))


def _if_file(path: str) -> str | None:
    return os.path.normpath(path) if os.path.isfile(path) else None
