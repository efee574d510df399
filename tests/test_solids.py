"""Shapes as solids: their boxes, volumes and moments, against sums over points inside."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phipsi as pp
from phipsi.model.geometry import Box, Capsule, Cylinder, Ellipsoid, Mesh, Shape, Sphere
from phipsi.model.solids import bounds, solid, volume

SHAPES = [
    Box((0.4, 1.0, 0.7)),
    Capsule(0.3, 0.8),
    Capsule(0.5, 0.0),
    Cylinder(0.3, 0.8),
    Ellipsoid((0.5, 0.2, 0.9)),
    Sphere(0.6),
]
SIDE = 120  # points along each side of the box that is summed over


def inside(shape: Shape, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Which points belong to a shape: its definition in words, not in formulas of its volume."""
    match shape:
        case Box((a, b, c)):
            return (abs(x) <= a / 2) & (abs(y) <= b / 2) & (abs(z) <= c / 2)
        case Capsule(radius, length):  # what is within `radius` of the axis
            nearest = np.clip(z, -length / 2, length / 2)
            return x**2 + y**2 + (z - nearest) ** 2 <= radius**2
        case Cylinder(radius, length):
            return (x**2 + y**2 <= radius**2) & (abs(z) <= length / 2)
        case Ellipsoid((a, b, c)):
            return (x / a) ** 2 + (y / b) ** 2 + (z / c) ** 2 <= 1
        case Sphere(radius):
            return x**2 + y**2 + z**2 <= radius**2
    raise AssertionError(shape)


def points_inside(shape: Shape) -> tuple[np.ndarray, float]:
    """The points (n, 3) of a grid of cells that a shape holds, and the volume of a cell."""
    reach = 1.0
    middles = (np.arange(2 * SIDE) + 0.5) / SIDE * reach - reach
    x, y, z = np.meshgrid(middles, middles, middles, indexing="ij", sparse=True)
    held = np.nonzero(inside(shape, x, y, z))
    return np.stack([middles[i] for i in held], axis=-1), (reach / SIDE) ** 3


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_box_volume_and_moments_are_those_of_the_points_inside(shape):
    points, cell = points_inside(shape)
    low, high = bounds(shape)
    width = cell ** (1 / 3)
    assert np.all(abs(points.min(axis=0) - low) <= width)
    assert np.all(abs(points.max(axis=0) - high) <= width)
    assert volume(shape) == pytest.approx(len(points) * cell, rel=0.01)
    x, y, z = points.T
    moments = cell * np.array([np.sum(y**2 + z**2), np.sum(x**2 + z**2), np.sum(x**2 + y**2)])
    inertia = solid(shape, density=1.0)
    assert inertia.mass == volume(shape)
    assert inertia.com == (0.0, 0.0, 0.0)
    np.testing.assert_allclose(np.diag(inertia.rotational), moments, rtol=0.015)
    assert np.count_nonzero(inertia.rotational) == 3


def test_moments_are_those_of_the_handbook():
    """A cylinder m (3 r^2 + h^2) / 12 and m r^2 / 2; a ball 2/5 m r^2."""
    cylinder = solid(Cylinder(0.2, 1.0), 100.0)
    mass = 100.0 * np.pi * 0.04
    assert cylinder.mass == pytest.approx(mass, rel=1e-15)
    expected = [mass * (3 * 0.04 + 1.0) / 12] * 2 + [mass * 0.04 / 2]
    np.testing.assert_allclose(np.diag(cylinder.rotational), expected, rtol=1e-15)
    ball = solid(Sphere(0.3), 7.0)
    np.testing.assert_allclose(np.diag(ball.rotational), 0.4 * ball.mass * 0.09, rtol=1e-15)


lengths = st.floats(0.0, 1e3)


@given(lengths, lengths)
def test_capsule_lies_between_its_cylinder_and_the_cylinder_around_it(radius, length):
    inner, whole, outer = (
        solid(each, 1.0)
        for each in (
            Cylinder(radius, length),
            Capsule(radius, length),
            Cylinder(radius, length + 2 * radius),
        )
    )
    slack = 1e-12 * outer.mass
    assert inner.mass - slack <= whole.mass <= outer.mass + slack
    for axis in range(3):
        low, middle, high = (each.rotational[axis][axis] for each in (inner, whole, outer))
        assert low - 1e-12 * high <= middle <= high * (1 + 1e-12)


@given(
    st.builds(Box, st.tuples(lengths, lengths, lengths))
    | st.builds(Ellipsoid, st.tuples(lengths, lengths, lengths))
    | st.builds(Capsule, lengths, lengths)
    | st.builds(Cylinder, lengths, lengths)
)
def test_every_solid_is_physical(shape):
    inertia = solid(shape, 1000.0)
    if inertia.mass > 1e-200:  # below, moments of inertia are lost to underflow
        assert inertia.violations() == []


@given(lengths, lengths)
def test_ellipsoids_and_capsules_that_are_balls(radius, density):
    ball = solid(Sphere(radius), density)
    for other in (Ellipsoid((radius, radius, radius)), Capsule(radius, 0.0)):
        assert solid(other, density).mass == pytest.approx(ball.mass, rel=1e-14)
        np.testing.assert_allclose(
            solid(other, density).rotational, ball.rotational, rtol=1e-14, atol=1e-300
        )
        assert bounds(other) == bounds(Sphere(radius))


def test_meshes_are_not_measured():
    mesh = Mesh("no/such/arm.stl")
    assert bounds(mesh) is None
    for measure in (volume, lambda shape: solid(shape, 1.0)):
        with pytest.raises(pp.ModelError, match=r"the solid of the mesh 'no/such/arm.stl' is not"):
            measure(mesh)


@pytest.mark.parametrize(
    ("density", "message"),
    [
        (-1.0, "density is -1 kg/m.3; it must not be negative"),
        ("heavy", "density is 'heavy'; expected a finite number in kg/m.3"),
    ],
)
def test_density_is_a_number_above_zero(density, message):
    with pytest.raises(pp.ModelError, match=message):
        solid(Sphere(1.0), density)
