"""The joint kinds, to be imported by name: `from phipsi.joints import Revolute`."""

from phipsi.model.custom import Custom
from phipsi.model.joints import (
    Continuous,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    JointKind,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    SphericalEuler,
    Universal,
    X,
    Y,
    Z,
)

__all__ = [
    "Continuous",
    "Custom",
    "Cylindrical",
    "Fixed",
    "Free",
    "Helical",
    "JointKind",
    "Planar",
    "Prismatic",
    "Revolute",
    "Spherical",
    "SphericalEuler",
    "Universal",
    "X",
    "Y",
    "Z",
]
