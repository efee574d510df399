"""Axes of joints: made unit, checked, and turned about one after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence

from phipsi import spatial
from phipsi.masks import holds_masked
from phipsi.spatial import ZERO3, Matrix, Vector

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def make_unit(kind: object, field: str) -> None:
    """Store an axis as a tuple of length one; leave an impossible one for `problem`."""
    axis = getattr(kind, field)
    # "123" is no axis, though its letters are numbers
    if isinstance(axis, (str, bytes)) or holds_masked((axis,)):
        return
    try:
        axis = tuple(float(x) for x in axis)
    except (TypeError, ValueError, OverflowError):
        return
    if len(axis) == 3 and any(axis) and all(map(math.isfinite, axis)):
        largest = max(map(abs, axis))
        axis = tuple(x / largest for x in axis)  # so that no square over- or underflows
        length = math.hypot(*axis)
        axis = tuple(x / length for x in axis)
    object.__setattr__(kind, field, axis)


def axis_problem(kind: object, field: str) -> str | None:
    """Why an axis is none."""
    axis = getattr(kind, field)
    if _is_triple(axis) and all(map(math.isfinite, axis)) and any(axis):
        return None
    what = f"the {field} of a {type(kind).__name__} joint"
    if not _is_triple(axis):
        return f"{what} is {axis!r}; expected three numbers, as (0, 0, 1)"
    if not all(math.isfinite(x) for x in axis):
        return f"{what} is {axis}; expected finite numbers"
    return f"{what} has length zero; give a direction, as (0, 0, 1)"


def _is_triple(axis: object) -> bool:
    return isinstance(axis, tuple) and [type(x) for x in axis] == [float] * 3


def parallel_problem(kind: object, first: Vector, second: Vector) -> str | None:
    """Why two axes are not two."""
    if math.hypot(*spatial.cross(first, second)) < 1e-9:
        return f"the axes of a {type(kind).__name__} joint are parallel; they must differ"
    return None


def plane_axes(normal: Vector) -> tuple[Vector, Vector]:
    """Two unit axes across a unit normal, right-handed with it; x and y for z.

    Source: Duff et al., Building an Orthonormal Basis, Revisited, JCGT 2017;
    no normal comes near a division by zero.
    """
    x, y, z = normal
    sign = 1.0 if z >= 0.0 else -1.0
    a = -1.0 / (sign + z)
    b = x * y * a
    return (1.0 + sign * x * x * a, sign * b, -sign * x), (b, sign + y * y * a, -y)


# -- successive rotations about given axes ---------------------------------------------


def turns(axes: Sequence[Vector], q: Vector) -> Matrix:
    """Rot(e1, q0) Rot(e2, q1) ..."""
    R: Matrix = spatial.rotation(axes[0], q[0])
    for axis, angle in zip(axes[1:], q[1:], strict=True):
        R = spatial.compose(R, spatial.rotation(axis, angle))
    return R


def turns_map(axes: Sequence[Vector], q: Vector) -> Matrix:
    """H* of successive rotations: each axis carried into the child by the later ones."""
    columns: list[Vector] = []
    for axis, angle in zip(axes, q, strict=True):
        back = spatial.rotation(axis, -angle)
        columns = [spatial.apply(back, column) for column in columns] + [axis]
    return spatial.transpose([[*column, *ZERO3] for column in columns])


def turns_map_derivatives(axes: Sequence[Vector], q: Vector) -> Sequence[Matrix]:
    """D_a h_j = h_j x h_a for the axes h_j inboard of a (j < a), else 0."""
    h = [row[:3] for row in spatial.transpose(turns_map(axes, q))]
    n = range(len(axes))
    columns = [[spatial.cross(h[j], h[a]) if j < a else ZERO3 for j in n] for a in n]
    return [spatial.transpose([[*x, *ZERO3] for x in of_a]) for of_a in columns]
