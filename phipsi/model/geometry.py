"""Geometry: what bodies look like. No shape has mass, and none touches another.

Shapes check themselves: one that cannot be drawn is never made. Mesh files are
named here and read when a machine is looked at.

>>> import phipsi as pp
>>> from phipsi.model.geometry import Box, Visual
>>> builder = pp.ModelBuilder("door")
>>> leaf = Visual.of(Box((0.8, 0.04, 2.0)), position=(0.4, 0, 1.0), color=(0.5, 0.3, 0.1))
>>> builder.add_body("leaf", mass=20.0, com=(0.4, 0, 1.0), visuals=[leaf])
>>> builder.build().visuals[0].shape
Box(size=(0.8, 0.04, 2.0))
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from phipsi.cleaning import refuse_unwritable
from phipsi.errors import ModelError
from phipsi.masks import refuse_masked
from phipsi.model.inertia import HERE, Placement, Vector3, number, vector3
from phipsi.model.tree import WORLD

Color = tuple[float, float, float, float]  # red, green, blue, opacity, each from 0 to 1


@dataclass(frozen=True, slots=True)
class Box:
    """A box, its centre at the origin.

    Args:
        size: its lengths along x, y and z, m.
    """

    size: Vector3

    def __post_init__(self) -> None:
        size = vector3("the size of a Box", self.size)
        for length in size:
            _check_length("a length of a Box", length)
        object.__setattr__(self, "size", size)


@dataclass(frozen=True, slots=True)
class Capsule:
    """A cylinder along z with a half ball on each end, its centre at the origin.

    Args:
        radius: of the cylinder and of the balls, m.
        length: of the cylinder along z, without the half balls, m: as in SDF and in
            ROS 2. The whole is `length + 2 radius` long.
    """

    radius: float
    length: float

    def __post_init__(self) -> None:
        for name in ("radius", "length"):
            value = _check_length(f"the {name} of a Capsule", getattr(self, name))
            object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True)
class Cylinder:
    """A cylinder along z, its centre at the origin.

    Args:
        radius: m.
        length: along z, m.
    """

    radius: float
    length: float

    def __post_init__(self) -> None:
        for name in ("radius", "length"):
            value = _check_length(f"the {name} of a Cylinder", getattr(self, name))
            object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True)
class Ellipsoid:
    """An ellipsoid, its centre at the origin, its axes along x, y and z.

    Args:
        radii: half its lengths along x, y and z, m.
    """

    radii: Vector3

    def __post_init__(self) -> None:
        radii = vector3("the radii of an Ellipsoid", self.radii)
        for radius in radii:
            _check_length("a radius of an Ellipsoid", radius)
        object.__setattr__(self, "radii", radii)


@dataclass(frozen=True, slots=True)
class Sphere:
    """A ball, its centre at the origin.

    Args:
        radius: m.
    """

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _check_length("the radius of a Sphere", self.radius))


@dataclass(frozen=True, slots=True)
class Mesh:
    """A surface in a file; it is read when the machine is looked at.

    Args:
        path: of the file, or the uri that no file was found for.
        scale: of its lengths along x, y and z; a negative one mirrors.
        uri: what the machine's file calls it, as `package://robot/arm.stl`; meshes of one
            path and scale are equal whatever they were called.
    """

    path: str
    scale: Vector3 = (1.0, 1.0, 1.0)
    uri: str = field(default="", repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            path = os.fsdecode(self.path)
        except TypeError:
            path = ""
        if not path:
            raise ModelError(f"the path of a Mesh is {self.path!r}; expected that of a file")
        if not isinstance(self.uri, str):
            raise ModelError(f"the uri of a Mesh is {self.uri!r}; expected a text")
        refuse_unwritable("the uri of a Mesh", self.uri, ModelError)
        object.__setattr__(self, "path", path)
        object.__setattr__(self, "scale", vector3("the scale of a Mesh", self.scale))


Primitive = Box | Capsule | Cylinder | Ellipsoid | Sphere
Shape = Primitive | Mesh


@dataclass(frozen=True, slots=True)
class Visual:
    """A shape fixed on a body, or on the world; `Visual.of` makes one.

    Args:
        shape: a Box, Capsule, Cylinder, Ellipsoid, Sphere or Mesh.
        placement: of the shape in the body's frame.
        color: red, green, blue and opacity, 0 to 1; None for the mesh's own, or grey.
        name: by default that of the link it belongs to.
        body: the number of the body that carries it, -1 for the world; the builder
            puts it in.
    """

    shape: Shape
    placement: Placement = HERE
    color: Color | None = None
    name: str = ""
    body: int = WORLD

    def __post_init__(self) -> None:
        if not isinstance(self.shape, Shape):
            raise ModelError(
                f"shape is {self.shape!r}; "
                "expected a Box, Capsule, Cylinder, Ellipsoid, Sphere or Mesh"
            )
        if not isinstance(self.placement, Placement) or not isinstance(self.name, str):
            raise ModelError(
                f"a visual has the placement {self.placement!r} and the name {self.name!r}; "
                "expected a Placement and a text, as Visual.of(shape, position) makes them"
            )
        refuse_unwritable("a visual", self.name, ModelError)
        object.__setattr__(self, "color", check_color(self.color))

    @staticmethod
    def of(
        shape: Shape,
        position: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
        color: ArrayLike | None = None,
        name: str = "",
    ) -> Visual:
        """A shape placed on a body, for `ModelBuilder.add_body(..., visuals=[...])`.

        Args:
            shape: a Box, Capsule, Cylinder, Ellipsoid, Sphere or Mesh.
            position: of its origin in the body's frame, m.
            rotation: 3x3: its axes, as columns, in those of the body; None for the same.
            color: red, green, blue and, if you like, opacity, 0 to 1.
            name: by default that of the body.

        >>> Visual.of(Sphere(0.1), position=(0, 0, 1), color=(1, 0, 0)).color
        (1.0, 0.0, 0.0, 1.0)
        """
        return Visual(shape, Placement.of(rotation, position), check_color(color), name)


def check_color(color: Any) -> Color | None:
    """Red, green, blue and opacity, which is 1 if left out; ModelError if it is no colour."""
    if color is None:
        return None
    refuse_masked("color", color, ModelError)
    try:
        red, green, blue, *rest = (number("colour", part, "0 to 1") for part in color)
        (opacity,) = rest or (1.0,)
    except (ModelError, TypeError, ValueError):
        raise ModelError(f"color is {color!r}; {_EXPECTED}") from None
    if not all(0.0 <= part <= 1.0 for part in (red, green, blue, opacity)):
        raise ModelError(f"color is {color!r}; {_EXPECTED}")
    return red, green, blue, opacity


_EXPECTED = "expected red, green, blue and perhaps opacity, each from 0 to 1"


def _check_length(what: str, value: object) -> float:
    length = number(what, value, "metres")
    if length < 0.0:
        raise ModelError(f"{what} is {length:g} m; it must not be negative")
    return length
