"""The <visual> and <collision> elements of a URDF file.

A machine moves the same whatever it looks like, so nothing here refuses a
file: what cannot be drawn is left out, and the report says so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from phipsi.errors import ModelError
from phipsi.model.files.account import Notes
from phipsi.model.files.packages import Packages
from phipsi.model.files.urdf.origin import Origins
from phipsi.model.files.xmlfile import Element
from phipsi.model.geometry import (
    Box,
    Capsule,
    Color,
    Cylinder,
    Ellipsoid,
    Mesh,
    Shape,
    Sphere,
    Visual,
    check_color,
)
from phipsi.model.inertia import vector3

# What URDF knows, and what ROS 2 and Drake have added to it.
_SHAPES: dict[str, Callable[[Element], Shape]] = {
    "box": lambda box: Box(vector3("size", box.numbers("size", 3))),
    "cylinder": lambda each: Cylinder(each.number("radius"), each.number("length")),
    "sphere": lambda sphere: Sphere(sphere.number("radius")),
    "capsule": lambda each: Capsule(each.number("radius"), each.number("length")),
    "drake:capsule": lambda each: Capsule(each.number("radius"), each.number("length")),
    "drake:ellipsoid": lambda each: Ellipsoid(
        (each.number("a"), each.number("b"), each.number("c"))
    ),
}
_KNOWN = "<box>, <cylinder>, <sphere>, <capsule> or <mesh>"
_UNSCALED = (1.0, 1.0, 1.0)
_PARTS = frozenset({"geometry", "material", "origin"})


class Visuals:
    """Reads what the links of one file look like, and what they touch with.

    A material is known by its name, first those of <robot>, then those of the
    links as they come; the first colour of a name counts, as it does in ROS.
    Textures are not read.

    Args:
        robot: the root element.
        packages: finds mesh files.
        origins: reads where shapes are.
        notes: takes note of what is left out.
    """

    def __init__(self, robot: Element, packages: Packages, origins: Origins, notes: Notes):
        self._robot = robot
        self._origins = origins
        self._packages = packages
        self._notes = notes

    @cached_property
    def _colors(self) -> dict[str, Color]:
        """By the names of materials, those of <robot> to begin with."""
        found: dict[str, Color] = {}
        for material in self._robot.all("material"):
            material.mark("kept", "for viewing")
            name, color = material.get("name"), self._read_own(material)
            if name and color is not None:
                found.setdefault(name, color)
        return found

    def read(self, link: Element, tag: str = "visual") -> list[Visual]:
        """What a link looks like, in its own frame; or touches with, its <collision>."""
        found, colors = [], self._colors
        for element in link.children:
            if element.tag == tag:
                shape = self._read_visual(element, colors)
                if shape is not None:
                    found.append(shape)
        return found

    def _read_visual(self, visual: Element, colors: dict[str, Color]) -> Visual | None:
        visual.mark("kept", "for viewing")
        try:
            parts = visual.parts(_PARTS)
            geometry, material = parts.get("geometry"), parts.get("material")
            if geometry is None:
                raise visual.error(f"<{visual.tag}> has no <geometry>; add one")
            if not geometry.children:
                return None
            return Visual(
                self._read_shape(geometry),
                self._origins.read(parts.get("origin")),
                None if material is None else self._read_color(material, colors),
                visual.get("name") or "",
            )
        except ModelError as error:
            self._notes.refuse_error(visual, error)
            return None

    def _read_shape(self, geometry: Element) -> Shape:
        """The first shape of a <geometry>; it has one."""
        shape: Shape | None = None
        for child in geometry.children:
            tag = child.tag
            if tag != "mesh" and tag not in _SHAPES:
                continue
            if shape is not None:
                self._notes.refuse(child, "a <geometry> has one shape, and this is another")
                continue
            child.mark("used")
            if tag == "mesh":
                uri = child.text("filename")
                path = self._packages.path_of(child, uri, self._notes)
                scale = child.numbers("scale", 3, _UNSCALED)
                shape = Mesh(path, (scale[0], scale[1], scale[2]), uri)
            else:
                shape = _SHAPES[tag](child)
        if shape is None:
            raise geometry.error(f"<geometry> has no shape; expected {_KNOWN}")
        return shape

    def _read_color(self, material: Element, colors: dict[str, Color]) -> Color | None:
        """The colour of a material: that of its name if it has been defined, else its own."""
        name = material.get("name")
        if name and name in colors:
            return colors[name]
        own = self._read_own(material)
        if name and own is not None:
            colors[name] = own
        return own

    def _read_own(self, material: Element) -> Color | None:
        """The <color> of a material."""
        try:
            color = material.find("color")
            return None if color is None else check_color(color.numbers("rgba", 4))
        except ModelError as error:
            self._notes.refuse_error(material, error)
            return None
