"""The <origin> of a URDF element."""

from __future__ import annotations

from functools import lru_cache

from phipsi.model.inertia import HERE, Placement, Rows3
from phipsi.model.xmlfile import Element
from phipsi.spatial import ZERO3, rotation_from_rpy


def read_origin(element: Element) -> Placement:
    """The <origin> of a joint, inertial or visual: position xyz, fixed-axis angles rpy."""
    origin = element.find("origin")
    if origin is None:
        return HERE
    x, y, z = origin.numbers("xyz", 3, ZERO3)
    rpy = origin.numbers("rpy", 3, ZERO3)
    if not any(rpy):
        return Placement(position=(x, y, z))
    return Placement(_turn(rpy), (x, y, z))


@lru_cache(maxsize=1024)  # a file repeats few angles many times
def _turn(rpy: tuple[float, ...]) -> Rows3:
    first, second, third = (tuple(row) for row in rotation_from_rpy(rpy))
    return first, second, third
