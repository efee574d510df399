"""<include> of SDF: models that stand in files of their own.

Files are found as packages are, and read once. Nothing is fetched over a
network, no path leaves the directories that are searched, files that include
each other in a circle are refused, and so is what multiplies without bound.
"""

from __future__ import annotations

import os

from phipsi.errors import ModelError
from phipsi.model.files.packages import Packages
from phipsi.model.files.sdf.pose import Version, read_version
from phipsi.model.files.xmlfile import Element, read_xml

MOST_LEVELS = 64  # of models in models
MOST_INCLUDES = 10_000  # in all
MOST_PARTS = 250_000  # links, joints and frames, where files are included


class Includes:
    """Finds and reads the files that a file includes.

    Args:
        root: the root element of the outermost file.
        directories: where packages are looked for.
    """

    def __init__(self, root: Element, directories: tuple[str, ...]):
        self._directories = directories
        self._packages: dict[str, Packages] = {}
        self._read: dict[str, Element] = {}
        self._file = os.path.realpath(root.file)
        self._count = 0
        self.roots = {root: None}  # of all files that are used, in the order of their use

    def packages(self, element: Element) -> Packages:
        """What finds the files that are named by the file of an element."""
        folder = os.path.dirname(element.file)
        if folder not in self._packages:
            self._packages[folder] = Packages(element.file, self._directories)
        return self._packages[folder]

    def open(self, include: Element, inside: tuple[str, ...]) -> tuple[Element, str] | str:
        """The root element of the file that is meant and its path; or why there is none.

        Args:
            include: the element.
            inside: the files that are being read.

        Raises:
            ModelError: the file is broken, or includes itself.
        """
        self._count += 1
        if self._count > MOST_INCLUDES:
            raise include.error(f"more than {MOST_INCLUDES:,} files are included; mend the file")
        uri = include.need("uri").word()
        try:
            path = self._find(include, uri)
        except ModelError as error:  # it leads out of the search
            return str(error)
        if path is None:
            return self._reason(uri)
        path = os.path.realpath(path)
        if path in inside or path == self._file:
            raise include.error(f"{path} includes itself; mend the <uri> {uri!r}")
        if path not in self._read:
            self._read[path] = read_xml(path)
        return self._read[path], path

    def _find(self, include: Element, uri: str) -> str | None:
        """The SDF file that a uri means: itself, or what its directory's model.config names."""
        packages = self.packages(include)
        for inside in ("", "/model.config", "/model.sdf"):
            path = packages.find(uri.rstrip("/") + inside)
            if path is not None:
                return _of_config(path) if inside == "/model.config" else path
        return None

    def use(self, root: Element) -> None:
        """A file is part of the machine."""
        self.roots[root] = None

    @staticmethod
    def _reason(uri: str) -> str:
        if uri.lower().startswith(("http://", "https://")):
            return f"{uri!r} is not fetched over the network; download it, and mend the <uri>"
        return (
            f"{uri!r} is not found where packages are searched; "
            "give the directory that holds it, load(..., packages=[...])"
        )


def model_of(root: Element, include: Element) -> tuple[Element, Version] | str:
    """The one model of an included file; or what it has instead."""
    if root.tag != "sdf":
        return f"{root.file} is no SDF file, its root element is <{root.tag}>"
    version = read_version(root)
    models = list(root.all("model"))
    if not models:
        return f"{root.file} has no <model>"
    root.status = "used"
    if len(models) > 1:
        raise include.error(f"{root.file} has {len(models)} models; an <include> means one")
    return models[0], version


def _of_config(config: str) -> str | None:
    """The file that a model.config names, of the newest version; it must lie beside it."""
    try:
        root = read_xml(config)
        files = [(read_version(each), each.word()) for each in root.all("sdf")]
    except ModelError:
        return None
    folder = os.path.realpath(os.path.dirname(config))
    for _, name in sorted(files, reverse=True):
        path = os.path.realpath(os.path.join(folder, name))
        if path.startswith(folder + os.sep) and os.path.isfile(path):
            return path
    return None
