"""What a mesh file would become, asked before it is read.

A few kilobytes of COLLADA or glTF can name a part again and again, each time with all that is in
it, or declare text that stands for gigabytes; the packages that read them do as they are told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from phipsi.errors import ModelError

MOST_PARTS = 10_000  # that a mesh is put together from
MOST_MATERIALS = 2000
MOST_TRIANGLES = 2**25  # of a mesh, and of its parts together
MOST_PIXELS = 2**27  # of all textures of a mesh
USED_MATERIAL = re.compile(rb"usemtl([^\n]*)")
DEEPEST = 200  # elements within each other; readers of XML give up not far beyond


def check_collada(data: bytes, most: int) -> None:
    """Whether a COLLADA file is XML that stands for no more than there is of it.

    Args:
        data: what stands in the file.
        most: bytes of the geometries that its scenes put together.

    Raises:
        ModelError: it is no XML, too deep, declares entities, or puts too much together.
    """
    scan = _Scan()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler = lambda tag, about: scan.begin(tag, about, parser.CurrentByteIndex)
    parser.EndElementHandler = lambda tag: scan.end(parser.CurrentByteIndex)
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, LookupError) as error:
        raise ModelError(f"this is no XML: {error}") from None
    parts, weight = scan.total()
    if parts > MOST_PARTS or weight > most:
        raise ModelError(
            f"its scenes name more than {MOST_PARTS:,} geometries, or {most >> 20:,} MiB of them"
        )


@dataclass
class _Part:
    """An element that holds others.

    Args:
        begin: where it begins, a byte.
        size: in bytes, if it is a geometry.
        within: parts that are in it.
        named: names of those that it puts here, too.
    """

    begin: int
    size: int = 0
    within: list[_Part] = field(default_factory=list)
    named: list[str] = field(default_factory=list)


class _Scan:
    """The parts of a COLLADA file, and who names whom."""

    def __init__(self) -> None:
        self._root = _Part(0)
        self._opened: list[tuple[str, _Part]] = [("", self._root)]
        self._known: dict[str, _Part] = {}

    def begin(self, tag: str, about: Mapping[str, str], place: int) -> None:
        """An element begins."""
        if len(self._opened) > DEEPEST:
            raise ModelError(f"its elements are more than {DEEPEST} deep")
        kind, above = tag.rpartition(" ")[2], self._opened[-1][1]
        if kind in ("node", "visual_scene", "geometry"):
            part = _Part(place)
            if kind != "geometry":  # one weighs where it is named
                above.within.append(part)
            if "id" in about:
                self._known[about["id"]] = part
            above = part
        elif kind in ("instance_node", "instance_geometry", "instance_controller"):
            above.named.append(about.get("url", "").removeprefix("#"))
        self._opened.append((kind, above))

    def end(self, place: int) -> None:
        """The last element that began ends."""
        kind, part = self._opened.pop()
        if kind == "geometry":
            part.size = place - part.begin

    def total(self) -> tuple[int, int]:
        """How many geometries are put together, and their bytes."""
        done: dict[int, tuple[int, int]] = {}
        waiting: list[tuple[_Part, bool]] = [(self._root, False)]
        entered: set[int] = set()
        while waiting:
            part, is_after = waiting.pop()
            below = [*part.within, *(self._known[x] for x in part.named if x in self._known)]
            if is_after:
                parts, weight = (sum(done[id(x)][i] for x in below) for i in (0, 1))
                done[id(part)] = (1, part.size) if part.size else (parts, weight)
            elif id(part) not in entered:
                entered.add(id(part))
                waiting.append((part, True))
                waiting += [(x, False) for x in below]
            elif id(part) not in done:
                raise ModelError("a node is within itself")
        return done[id(self._root)]


def check_obj(data: bytes) -> None:
    """Whether an OBJ file has no more materials than trimesh puts in order in a second or two.

    Its time grows with the square of them.

    Raises:
        ModelError: it has more.
    """
    named = {line.strip() for line in USED_MATERIAL.findall(data)}
    if len(named) > MOST_MATERIALS:
        raise ModelError(f"it has more than {MOST_MATERIALS:,} materials")


def check_gltf(data: bytes) -> None:
    """Whether a glTF file says no more than there is of it.

    Args:
        data: what stands in the file: JSON, or GLB, which begins with it.

    Raises:
        ModelError: it is broken, or would be too much.
    """
    if data[:4] == b"glTF":
        data = data[20 : 20 + int.from_bytes(data[12:16], "little")]
    try:
        told = json.loads(data)
        accessors, nodes = told.get("accessors", []), told.get("nodes", [])
        counts = [each["count"] for each in accessors if "bufferView" not in each]
        children = [each.get("children", []) for each in nodes]
        is_fine = sum(counts) <= MOST_TRIANGLES and is_forest(children)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(f"this is no glTF: {error}") from None
    if not is_fine:
        raise ModelError(f"it has nodes within two others, or more than {MOST_TRIANGLES:,} zeros")


def is_forest(children: Sequence[Iterable[int]]) -> bool:
    """Whether each node is within one other at most.

    >>> is_forest([[1, 2], [], []]), is_forest([[1, 1], []])
    (True, False)
    """
    named = [child for each in children for child in each]
    return len(named) == len(set(named))


def check_scene(scene: Any) -> None:
    """Whether the parts of a scene of trimesh, put where they go, are not too many.

    Raises:
        ModelError: they have too many triangles, or textures.
    """
    places = scene.graph.nodes_geometry
    named = [scene.graph[place][1] for place in places]
    faces = sum(len(getattr(scene.geometry[name], "faces", ())) for name in named)
    if len(named) > MOST_PARTS or faces > MOST_TRIANGLES:
        raise ModelError(f"it has more than {MOST_PARTS:,} parts or {MOST_TRIANGLES:,} triangles")
    pixels = sum(_pixels(scene.geometry[name]) for name in named)
    if pixels > MOST_PIXELS:
        raise ModelError(f"its textures have more than {MOST_PIXELS:,} pixels")


def _pixels(part: Any) -> int:
    """Of the pictures that a part of a scene names; they are not decoded for it."""
    material = getattr(getattr(part, "visual", None), "material", None)
    pictures = (getattr(material, name, None) for name in _PICTURES)
    return sum(picture.size[0] * picture.size[1] for picture in pictures if picture is not None)


_PICTURES = (
    *("image", "baseColorTexture", "emissiveTexture", "metallicRoughnessTexture"),
    *("normalTexture", "occlusionTexture"),
)


def _refuse_doctype(*_: object) -> None:
    raise ModelError("it has a <!DOCTYPE>, which can declare text that stands for gigabytes")
