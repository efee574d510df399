"""Geoms of a MuJoCo model: what its bodies look like, and what they touch with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from phipsi.errors import ModelError
from phipsi.model.build import ModelBuilder
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
)
from phipsi.model.inertia import Placement, vector3
from phipsi.model.peers.mujoco.bodies import Seats, placement
from phipsi.model.peers.remarks import Remarks

PLANE, HFIELD, MESH, SDF = 0, 1, 7, 8
SEEN_GROUPS = 3  # MuJoCo shows those below, unless told otherwise
DEFAULT_COLOR = (0.5, 0.5, 0.5, 1.0)

_SHAPES: dict[int, Callable[[np.ndarray], Shape]] = {
    2: lambda size: Sphere(size[0]),
    3: lambda size: Capsule(size[0], 2.0 * size[1]),
    4: lambda size: Ellipsoid(vector3("size", size)),
    5: lambda size: Cylinder(size[0], 2.0 * size[1]),
    6: lambda size: Box(vector3("size", 2.0 * size)),
}


def add_shapes(builder: ModelBuilder, mj: Any, seats: Seats, remarks: Remarks) -> None:
    """Show the geoms of the groups that MuJoCo shows, and keep those that touch.

    Args:
        builder: takes them.
        mj: a `mujoco.MjModel`.
        seats: where its bodies are.
        remarks: takes note of those that cannot be drawn.
    """
    has_meshes = False
    for g in range(mj.ngeom):
        name = mj.geom(g).name or f"geom{g}"
        try:
            shape, place = _shape(mj, g)
        except ModelError as error:
            remarks.say("ignored", f"geom {name!r} is not drawn: {error}", "geom", name)
            continue
        carrier, seat = seats[mj.geom_bodyid[g]]
        visual = Visual(shape, seat.then(place), _color(mj, g), name)
        if mj.geom_group[g] < SEEN_GROUPS:
            builder.add_visuals(carrier, [visual])
        has_meshes |= isinstance(shape, Mesh)
        if mj.geom_contype[g] or mj.geom_conaffinity[g]:
            builder.add_collisions(carrier, [visual])
    if has_meshes:
        text = "meshes are drawn as if they had no refpos and refquat, which a compiled model has "
        remarks.say("kept", f"{text}not; pp.load knows them of a file", "mesh")


def _shape(mj: Any, g: int) -> tuple[Shape, Placement]:
    """A geom's shape, and where it is on its body."""
    type_ = int(mj.geom_type[g])
    own = placement(mj.geom_pos[g], mj.geom_quat[g])
    if type_ in _SHAPES:
        return _SHAPES[type_](mj.geom_size[g]), own
    if type_ in (MESH, SDF):
        return _mesh(mj, int(mj.geom_dataid[g]), own)
    what = {PLANE: "a plane", HFIELD: "a field of heights"}.get(type_, f"of type {type_}")
    raise ModelError(f"it is {what}")


def _mesh(mj: Any, k: int, own: Placement) -> tuple[Shape, Placement]:
    """A mesh in its file, as it lies there: MuJoCo has moved it to its mass centre and axes."""
    start = int(mj.mesh_pathadr[k])
    if start < 0:
        raise ModelError("its mesh is in no file")
    path = mj.paths[start:].split(b"\0", 1)[0].decode()
    moved = placement(mj.mesh_pos[k], mj.mesh_quat[k])
    back = np.array(moved.rotation).T
    away = Placement.of(back, -back @ np.array(moved.position))
    return Mesh(path, vector3("scale", mj.mesh_scale[k])), own.then(away)


def _color(mj: Any, g: int) -> Color | None:
    """That of its material, unless it has one of its own; each part from 0 to 1."""
    color, material = mj.geom_rgba[g], int(mj.geom_matid[g])
    if material >= 0 and np.allclose(color, DEFAULT_COLOR):
        color = mj.mat_rgba[material]
    red, green, blue, opacity = np.clip(color, 0.0, 1.0).tolist()
    return red, green, blue, opacity
