"""Bundled machines, each by one call: `pp.examples.puma560()`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from phipsi import spatial
from phipsi.errors import InputError
from phipsi.model.build import ModelBuilder
from phipsi.model.geometry import Box, Cylinder, Sphere, Visual
from phipsi.model.inertia import HERE, Inertia, Placement, Vector3
from phipsi.model.joints import (
    Free,
    JointKind,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
    X,
    Y,
    Z,
)
from phipsi.model.model import Model
from phipsi.model.tree import WORLD_NAME
from phipsi.scalars import HUGE


def chain(n: int, length: float = 1.0, mass: float = 1.0) -> Model:
    """A serial chain of n equal rods along x, its revolute axes y and z in turn.

    >>> chain(3)
    <Model 'chain of 3': 3 bodies, nq = 3, nv = 3, 3 kg>
    """
    builder = ModelBuilder(f"chain of {n}")
    _add_rods(builder, n, (Revolute(Y), Revolute(Z)), length, mass)
    return builder.build()


def planar_arm(n: int = 2, length: float = 1.0, mass: float = 1.0) -> Model:
    """n equal rods in the vertical x-z plane, joints about -y: positive angles lift.

    >>> planar_arm().nv
    2
    """
    builder = ModelBuilder(f"planar arm of {n}")
    _add_rods(builder, n, [Revolute((0.0, -1.0, 0.0))], length, mass)
    builder.add_frame("tip", f"link{n}", (length, 0.0, 0.0))
    return builder.build()


def puma560() -> Model:
    """The Unimation Puma 560 with its motors' reflected inertia.

    Source: Corke & Armstrong-Helouvry, ICRA 1994, in the standard
    Denavit-Hartenberg frames of the Robotics Toolbox. Departure: our frames
    sit at the inboard joint, not at the link's end. Links 1 and 3 as published
    break the triangle inequality; the numbers are kept and reported.

    >>> round(puma560().mass, 2)
    23.45
    """
    half = math.pi / 2
    a = (0.0, 0.4318, 0.0203, 0.0, 0.0, 0.0)
    alpha = (half, 0.0, -half, half, -half, 0.0)
    d = (0.0, 0.0, 0.15005, 0.4318, 0.0, 0.0)
    mass = (0.0, 17.4, 4.8, 0.82, 0.34, 0.09)
    com = (
        (0.0, 0.0, 0.0),
        (-0.3638, 0.006, 0.2275),
        (-0.0203, -0.0141, 0.07),
        (0.0, 0.019, 0.0),
        (0.0, 0.0, 0.0),
        (0.0, 0.0, 0.032),
    )
    moments = (
        (0.0, 0.35, 0.0),
        (0.13, 0.524, 0.539),
        (0.066, 0.086, 0.0125),
        (0.0018, 0.0013, 0.0018),
        (0.0003, 0.0004, 0.0003),
        (0.00015, 0.00015, 4e-05),
    )
    motor = (0.0002, 0.0002, 0.0002, 3.3e-05, 3.3e-05, 3.3e-05)
    gear = (-62.6111, 107.815, -53.7063, 76.0364, 71.923, 76.686)

    builder = ModelBuilder("Puma 560", strict=False)
    parent, here = WORLD_NAME, HERE
    for k in range(6):
        name = f"link{k + 1}"
        end = Placement.of(spatial.rotation(X, alpha[k]), (a[k], 0.0, d[k]))
        inertia = Inertia.of(mass[k], com[k], moments[k]).moved(end)
        builder.add_body(
            name,
            parent,
            Revolute(Z),
            joint_name=f"joint{k + 1}",
            position=here.position,
            rotation=here.rotation,
            mass=inertia.mass,
            com=inertia.com,
            inertia=inertia.rotational,
            rotor_inertia=motor[k],
            gear_ratio=gear[k],
        )
        parent, here = name, end
    builder.add_frame("flange", parent, here.position, here.rotation)
    return builder.build()


def branching_tree() -> Model:
    """A fixed torso that branches into limbs of many joint kinds, 10 bodies.

    >>> branching_tree().tree.parent
    (-1, 0, 1, 1, 3, 0, 5, 0, 7, 7)
    """
    builder = ModelBuilder("branching tree")

    def limb(
        name: str, parent: str, joint: JointKind, position: Vector3, tip: Vector3, mass: float
    ) -> None:
        builder.add_body(name, parent, joint, position=position, **_rod(tip, mass))

    limb("torso", WORLD_NAME, Revolute(Z), (0, 0, 0.5), (0.05, 0, 0.6), 12.0)
    limb("neck", "torso", Universal(X, Y), (0.05, 0, 0.6), (0, 0, 0.15), 1.5)
    limb("head", "neck", Revolute((0, 1, 1)), (0, 0, 0.15), (0.05, 0, 0.2), 3.0)
    limb("antenna", "neck", Prismatic((0, 1, 2)), (0, 0.1, 0.1), (0, 0.1, 0.3), 0.2)
    limb("feeler", "antenna", Spherical(), (0, 0.1, 0.3), (0.1, 0, 0.1), 0.1)
    limb("left arm", "torso", Spherical(), (0, 0.3, 0.5), (0, 0.05, -0.35), 2.5)
    limb("left hand", "left arm", Revolute(Y), (0, 0.05, -0.35), (0, 0, -0.2), 0.8)
    limb("right arm", "torso", Revolute((1, 2, 3)), (0, -0.3, 0.5), (0.3, -0.05, -0.1), 2.5)
    limb("right hand", "right arm", Planar((0, 0, 1)), (0.3, -0.05, -0.1), (0.1, 0, 0), 0.8)
    limb("right tool", "right arm", Prismatic(X), (0.2, 0, 0.1), (0.2, 0.02, 0), 0.4)
    return builder.build()


def spacecraft() -> Model:
    """A free-floating bus with two three-joint arms, in no gravity.

    >>> spacecraft().joint("root").q
    slice(0, 7, None)
    """
    builder = ModelBuilder("two-arm spacecraft", gravity=(0.0, 0.0, 0.0))
    builder.add_body(
        "bus",
        joint=Free(),
        joint_name="root",
        mass=400.0,
        inertia=(90.0, 110.0, 120.0),
        visuals=BUS,
    )
    for side, y in (("left", 0.6), ("right", -0.6)):
        parts = (
            ("shoulder", "bus", Z, (0.5, y, 0.2), (0.15, 0.0, 0.0), 6.0),
            ("upper arm", f"{side} shoulder", Y, (0.15, 0.0, 0.0), (1.0, 0.0, 0.0), 9.0),
            ("forearm", f"{side} upper arm", Y, (1.0, 0.0, 0.0), (0.8, 0.0, 0.0), 5.0),
        )
        for part, parent, axis, position, tip, mass in parts:
            name = f"{side} {part}"
            looks = _arm_looks(math.hypot(*tip))
            rod = _rod(tip, mass)
            builder.add_body(name, parent, Revolute(axis), position=position, visuals=looks, **rod)
        builder.add_frame(f"{side} tip", f"{side} forearm", (0.8, 0.0, 0.0))
    return builder.build()


def _add_rods(
    builder: ModelBuilder, n: int, kinds: Sequence[JointKind], length: float, mass: float
) -> None:
    """A serial chain of n equal rods along x, its joints of these kinds in turn."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise InputError(f"n is {n!r}; expected a number of bodies, 1 or more")
    for what, x in (("length in metres", length), ("mass in kilograms", mass)):
        if not isinstance(x, Real) or not 0.0 < x <= HUGE:
            raise InputError(f"the {what} of a rod is {x!r}; expected a positive number")
    rod = _rod((length, 0.0, 0.0), mass)
    parent, position = WORLD_NAME, (0.0, 0.0, 0.0)
    for k in range(n):
        name, joint_name, kind = f"link{k + 1}", f"joint{k + 1}", kinds[k % len(kinds)]
        builder.add_body(name, parent, kind, joint_name=joint_name, position=position, **rod)
        parent, position = name, (length, 0.0, 0.0)


def _rod(tip: Vector3, mass: float) -> dict[str, Any]:
    """Mass properties of a round rod from the origin to its tip, a tenth as thick as long."""
    end = np.array(tip, dtype=float)
    length = math.hypot(*end)
    along = np.outer(end / length, end / length)
    radius = 0.05 * length
    across = mass * (length**2 / 12.0 + radius**2 / 4.0)
    inertia = across * (np.eye(3) - along) + 0.5 * mass * radius**2 * along
    return {"mass": mass, "com": (0.5 * end).tolist(), "inertia": inertia.tolist()}


# -- what the spacecraft looks like: one sees which way it is turned ------------------------

GOLD, BLUE, WHITE, GREY, RED = (
    (0.83, 0.66, 0.28),
    (0.13, 0.22, 0.45),
    (0.92, 0.92, 0.92),
    (0.45, 0.47, 0.5),
    (0.75, 0.2, 0.15),
)
BUS = (  # with wings, and a dish on top
    Visual.of(Box((1.0, 1.3, 0.8)), color=GOLD),
    Visual.of(Box((0.5, 1.8, 0.03)), (-0.1, 1.65, 0.0), color=BLUE),
    Visual.of(Box((0.5, 1.8, 0.03)), (-0.1, -1.65, 0.0), color=BLUE),
    Visual.of(Cylinder(0.35, 0.06), (-0.1, 0.0, 0.5), color=WHITE),
    Visual.of(Cylinder(0.04, 0.2), (-0.1, 0.0, 0.6), color=RED),
)


def _arm_looks(length: float) -> list[Visual]:
    """A rod along x with a ball at its joint."""
    along_x = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0))  # turns z into x
    rod = Visual.of(Cylinder(0.05, length), (0.5 * length, 0.0, 0.0), along_x, WHITE)
    return [Visual.of(Sphere(0.08), color=GREY), rod]
