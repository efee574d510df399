"""What the shapes of `phipsi.model.geometry` are as solids: their room, volume and inertia.

A mesh is not measured: that its surface is closed is for its file to say.
"""

from __future__ import annotations

from math import pi

from phipsi.errors import ModelError
from phipsi.model.geometry import Box, Capsule, Cylinder, Ellipsoid, Mesh, Shape, Sphere
from phipsi.model.inertia import Inertia, Vector3, number
from phipsi.spatial import ZERO3


def bounds(shape: Shape) -> tuple[Vector3, Vector3] | None:
    """The lowest and the highest corner of the box around a shape, in its own frame.

    Args:
        shape: of `phipsi.model.geometry`; for a Mesh the answer is None, for its file is not read.

    >>> bounds(Capsule(0.1, 1.0))
    ((-0.1, -0.1, -0.6), (0.1, 0.1, 0.6))
    """
    match shape:
        case Box((x, y, z)):
            half = (0.5 * x, 0.5 * y, 0.5 * z)
        case Capsule(radius, length):
            half = (radius, radius, 0.5 * length + radius)
        case Cylinder(radius, length):
            half = (radius, radius, 0.5 * length)
        case Ellipsoid(radii):
            half = radii
        case Sphere(radius):
            half = (radius, radius, radius)
        case Mesh():
            return None
    return (-half[0], -half[1], -half[2]), half


def volume(shape: Shape) -> float:
    """The volume of a shape, m^3.

    Args:
        shape: any but a Mesh.

    Raises:
        ModelError: the shape is a mesh.

    >>> volume(Box((1.0, 2.0, 3.0)))
    6.0
    """
    return _measure(shape)[0]


def solid(shape: Shape, density: float) -> Inertia:
    """The inertia of a shape filled evenly, in its own frame; the mass centre is its origin.

    The moment about x is the integral of `density (y^2 + z^2)` over the solid, and so on; by
    symmetry there are no products.

    Args:
        shape: any but a Mesh.
        density: kg/m^3.

    Raises:
        ModelError: the shape is a mesh, or the density is negative.

    >>> solid(Box((1.0, 2.0, 3.0)), density=2.0)
    Inertia(mass=12.0, com=(0.0, 0.0, 0.0), rotational=((13.0, 0.0, 0.0), ...
    """
    rho = number("density", density, "kg/m^3")
    if rho < 0.0:
        raise ModelError(f"density is {rho:g} kg/m^3; it must not be negative")
    size, squares = _measure(shape)
    mass = rho * size
    xx, yy, zz = (mass * each for each in squares)
    return Inertia.of(mass, ZERO3, (yy + zz, xx + zz, xx + yy))


def _measure(shape: Shape) -> tuple[float, Vector3]:
    """The volume of a solid, and the means of x^2, y^2 and z^2 over it."""
    match shape:
        case Box((x, y, z)):
            return x * y * z, (x * x / 12.0, y * y / 12.0, z * z / 12.0)
        case Capsule(radius, length):
            return _measure_capsule(radius, length)
        case Cylinder(radius, length):
            square = radius * radius
            return pi * square * length, (0.25 * square, 0.25 * square, length * length / 12.0)
        case Ellipsoid((a, b, c)):
            return 4.0 / 3.0 * pi * a * b * c, (a * a / 5.0, b * b / 5.0, c * c / 5.0)
        case Sphere(radius):
            return _measure(Ellipsoid((radius, radius, radius)))
        case Mesh(path):
            raise ModelError(
                f"the solid of the mesh {path!r} is not known, for mesh files are not read to "
                "compute with; give its body's mass and inertia"
            )


def _measure_capsule(radius: float, length: float) -> tuple[float, Vector3]:
    """A cylinder, and a ball cut in halves that are moved out by h = length / 2.

    In a half ball the mean distance from the flat side is 3/8 radius and the mean of its square
    radius^2 / 5: h further out, the mean of z^2 is `radius^2 / 5 + 3/4 radius h + h^2`.
    """
    square, h = radius * radius, 0.5 * length
    balls = radius / (radius + 0.75 * length) if radius else 0.0  # their part of the volume
    across = square * (balls / 5.0 + (1.0 - balls) / 4.0)
    ends = square / 5.0 + 0.75 * radius * h + h * h
    along = balls * ends + (1.0 - balls) * length * length / 12.0
    return pi * square * (length + 4.0 / 3.0 * radius), (across, across, along)
