"""The <visual> elements of a URDF file.

A machine moves the same whatever it looks like, so nothing here refuses a
file: what cannot be drawn is left out, and the report says so.
"""

from __future__ import annotations

from collections.abc import Callable

from phipsi.errors import ModelError
from phipsi.model.geometry import Box, Color, Cylinder, Mesh, Shape, Sphere, Visual, check_color
from phipsi.model.inertia import vector3
from phipsi.model.origin import read_origin
from phipsi.model.packages import Packages
from phipsi.model.xmlfile import Element, Report

_IN_VISUAL = {"origin", "geometry", "material"}
_READ: dict[str, Callable[[Element], Shape]] = {
    "box": lambda box: Box(vector3("size", box.numbers("size", 3))),
    "cylinder": lambda each: Cylinder(each.number("radius"), each.number("length")),
    "sphere": lambda sphere: Sphere(sphere.number("radius")),
}


class Visuals:
    """Reads what the links of one file look like.

    A material is known by its name, first those of <robot>, then those of the
    links as they come; the first colour of a name counts, as it does in ROS.
    Textures are not read.

    Args:
        robot: the root element.
        packages: finds mesh files.
        report: takes note of what is left out.
    """

    def __init__(self, robot: Element, packages: Packages, report: Report):
        self._packages = packages
        self._report = report
        self._colors: dict[str, Color] = {}  # by the name of the material
        for material in robot.all("material"):
            self._read_color(material)

    def read(self, link: Element) -> tuple[Visual, ...]:
        """What a link looks like, in its own frame."""
        found = (self._read_visual(visual) for visual in link.all("visual"))
        return tuple(visual for visual in found if visual is not None)

    def _read_visual(self, visual: Element) -> Visual | None:
        try:
            self._report.note_unknown(visual, _IN_VISUAL)
            geometry, material = visual.need("geometry"), visual.find("material")
            if not geometry.children:
                return None
            return Visual(
                self._read_shape(geometry),
                read_origin(visual),
                None if material is None else self._read_color(material),
                visual.attributes.get("name", ""),
            )
        except ModelError as error:
            self._note(visual, error, "this <visual> is left out")
            return None

    def _read_shape(self, geometry: Element) -> Shape:
        for child in geometry.children:
            if child.tag in _READ:
                return _READ[child.tag](child)
            if child.tag == "mesh":
                uri = child.text("filename")
                scale = child.numbers("scale", 3, (1.0, 1.0, 1.0))
                return Mesh(self._packages.find(uri) or uri, vector3("scale", scale))
        raise geometry.error("<geometry> has no <box>, <cylinder>, <sphere> or <mesh>")

    def _read_color(self, material: Element) -> Color | None:
        """The colour of a material: that of its name if it has been defined, else its own."""
        name = material.attributes.get("name", "")
        if name and name in self._colors:
            return self._colors[name]
        try:
            color = material.find("color")
            own = None if color is None else check_color(color.numbers("rgba", 4))
        except ModelError as error:
            self._note(material, error, "this colour is ignored")
            return None
        if name and own is not None:
            self._colors[name] = own
        return own

    def _note(self, element: Element, error: ModelError, consequence: str) -> None:
        text = str(error)
        place = "" if text.startswith(f"{element.file}:") else f"{element.place}: "
        self._report.lines.append(f"{place}{text}; {consequence}")
