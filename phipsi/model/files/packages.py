"""Where the files lie that a machine's file names: `package://robot/meshes/arm.stl`.

A file can come from anywhere, and must not make us read what it likes. So a
name is followed only to a place within the search: the directories that the
user gives, those of ROS, the home of the file, which is the package or
checkout that holds it, or else the directory above it, and packages above the
file or beside what holds it. There, only files that machines consist of are
found, by how their names end, and nothing that is hidden.
Names are compared as they are written, `..` resolved. Symbolic links are
followed: whoever laid them on this machine decided so, and a workspace of ROS
may consist of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from urllib.parse import quote, unquote

from phipsi.errors import InputError, ModelError
from phipsi.model.files.account import Notes
from phipsi.model.files.xmlfile import Element

Directories = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

PACKAGE = ("package.xml", "model.config")  # what a package has in it
HOMES = (*PACKAGE, ".git")  # what the home of a file has in it

MESHES = (
    *(".stl", ".stla", ".stlb", ".dae", ".obj", ".ply", ".glb", ".gltf", ".off", ".3mf", ".3ds"),
    *(".mesh", ".msh", ".iv", ".wrl", ".x3d", ".fbx", ".usd", ".usda", ".usdc", ".usdz", ".zae"),
    *(".step", ".stp", ".iges", ".igs", ".brep", ".vtk", ".vtp", ".xyz", ".ac"),
)
IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".tga", ".tif", ".tiff", ".gif", ".dds", ".webp")
MODELS = (".sdf", ".config", ".world", ".urdf")  # what others include
READABLE = frozenset((*MESHES, *IMAGES, *MODELS))


class Packages:
    """Finds the files that one file names.

    `package://name/path` (`model://` too) is looked up in the directories
    given, in those of ROS_PACKAGE_PATH and AMENT_PREFIX_PATH, then in those
    above the file, the nearest first. Each of them may hold the package or be
    the package. Beside what holds the file, only what has a package.xml or
    model.config is one. Nothing is fetched over a network, and no file is opened.

    Args:
        file: the one that names others.
        directories: where to look first.
    """

    def __init__(self, file: str, directories: Directories = ()):
        self._folder = os.path.dirname(os.path.abspath(file))
        self._directories = (*check_directories(directories), *_ros_directories())
        self._roots: dict[str, list[str]] = {}  # where each package may be
        self._found: dict[str, str | None] = {}  # by name

    def path_of(self, element: Element, name: str, notes: Notes) -> str:
        """The path of the file that an element names; else the name, as what is no path.

        What leads out of the search is refused in the report.
        """
        try:
            path = self.find(name)
        except ModelError as error:
            notes.refuse(element, str(error))
            path = None
        else:
            if path is None:
                element.mark("kept", "no such file was found")
        if path is not None:
            return path
        if "://" in name:
            return name
        return f"file://{quote(os.path.normpath(os.path.join(self._folder, name.strip())))}"

    def find(self, name: str) -> str | None:
        """The path of the file that a name means, or None if there is none.

        Raises:
            ModelError: it means a file outside of the search, or one that no machine needs.
        """
        if name not in self._found:
            path = self._find(name.strip())
            if path is not None and not os.path.isfile(path):
                path = None
            if path is not None and os.path.splitext(path)[1].lower() not in READABLE:
                raise ModelError(f"{name!r} is neither a mesh nor an image, as its name ends")
            self._found[name] = path
        return self._found[name]

    def _find(self, name: str) -> str | None:
        """The path that a name means, whether or not there is such a file."""
        scheme, separator, rest = name.partition("://")
        if not separator:
            return self._within(os.path.join(self._folder, name), name)
        if scheme.lower() == "file":
            return self._within(unquote("/" + rest.removeprefix("localhost").lstrip("/")), name)
        if scheme.lower() not in ("package", "model"):
            return None
        package, _, inside = rest.lstrip("/").partition("/")
        if ".." in inside and os.path.normpath(f"x/{inside}").partition(os.sep)[0] != "x":
            raise ModelError(f"{name!r} leads out of its package")
        _check_open(inside, name)
        for root in self._packages(package):
            path = os.path.normpath(os.path.join(root, inside.lstrip("/")))
            if os.path.isfile(path):
                return path
        return None

    def _within(self, path: str, name: str) -> str:
        """A path, if it is in the search."""
        path = os.path.normpath(path)
        roots = [root for root in self._search if path.startswith(root + os.sep)]
        if not roots:
            raise ModelError(
                f"{name!r} is outside of {self._search[-1]!r}; if it is to be read, give its "
                "directory by packages="
            )
        _check_open(path[len(max(roots, key=len)) :], name)
        return path

    @cached_property
    def _search(self) -> list[str]:
        """The directories whose files may be read, the home of the file last."""
        return [*self._directories, _home(self._folder)]

    def _packages(self, name: str) -> list[str]:
        """The directories that may be the package of that name, the likeliest first."""
        if name not in self._roots:
            possible = name and not name.startswith(".")  # `..`, and what is hidden
            found = filter(os.path.isdir, self._candidates(name)) if possible else ()
            self._roots[name] = list(dict.fromkeys(found))
        return self._roots[name]

    def _candidates(self, name: str) -> Iterator[str]:
        for directory in self._directories:
            yield from _named(directory, name)
        home, above = self._search[-1], list(_ancestors(self._folder))
        for directory in above:
            for place in _named(directory, name):
                holds_file = place == directory != os.path.expanduser("~")
                is_home = f"{place}{os.sep}".startswith(home + os.sep)
                if holds_file or is_home or _is_package(place):
                    yield place
        for directory in above:  # a package that was put into a directory of another name
            if os.path.isfile(os.path.join(directory, PACKAGE[0])):
                yield directory


def check_directories(directories: Directories) -> tuple[str, ...]:
    """The directories to look in, absolute; InputError for what is none."""
    if not directories and isinstance(directories, tuple):
        return ()
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


def _check_open(path: str, name: str) -> None:
    """ModelError for a path within the search that leads through something hidden."""
    parts = os.path.normpath(path).split(os.sep)
    if any(part.startswith(".") and part != "." for part in parts):
        raise ModelError(f"{name!r} is hidden, as a name that begins with a dot tells")


def _named(directory: str, name: str) -> Iterator[str]:
    """The directory, if it has that name; and what has it in there."""
    if os.path.basename(directory) == name:
        yield directory
    yield os.path.join(directory, name)


def _is_package(directory: str) -> bool:
    return any(os.path.isfile(os.path.join(directory, sign)) for sign in PACKAGE)


def _ancestors(folder: str) -> Iterator[str]:
    """The folder and what holds it, but for the root of the file system."""
    while os.path.dirname(folder) != folder:
        yield folder
        folder = os.path.dirname(folder)


def _home(folder: str) -> str:
    """The package or checkout that holds a folder; else the directory above it.

    The user's own directory is neither, though some keep all of it as a checkout.
    """
    user = os.path.expanduser("~")
    for directory in _ancestors(folder):
        if directory != user and any(
            os.path.exists(os.path.join(directory, sign)) for sign in HOMES
        ):
            return directory
    above = os.path.dirname(folder)
    return folder if os.path.dirname(above) == above else above


def _ros_directories() -> Iterator[str]:
    """Where ROS, the first and the second, keeps its packages."""
    for variable, inside in (("ROS_PACKAGE_PATH", ""), ("AMENT_PREFIX_PATH", "share")):
        for path in filter(None, os.environ.get(variable, "").split(os.pathsep)):
            yield os.path.normpath(os.path.join(os.path.abspath(path), inside))
