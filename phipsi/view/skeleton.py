"""What a body looks like where nothing is said: ellipsoids, joint axes, bones."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass

import numpy as np

from phipsi.model.inertia import Inertia
from phipsi.model.joints import JointKind
from phipsi.model.model import Model

THINNEST = 0.02  # of the longest semi-axis: a rod without thickness is still seen
POINT_MASS = 0.02  # of the machine's size: a mass without extent
MOST_AXES = 3  # a joint with more freedoms shows none

Rgb = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class BodyEllipsoid:
    """An ellipsoid that stands for a body.

    Args:
        center: in the body's frame.
        axes: 3x3, its principal axes as columns.
        radii: its semi-axes, m.
    """

    center: np.ndarray
    axes: np.ndarray
    radii: np.ndarray

    @property
    def tips(self) -> np.ndarray:
        """The six ends of its axes, (6, 3), in the body's frame."""
        reach = (self.axes * self.radii).T
        return self.center + np.concatenate([reach, -reach])


def inertia_ellipsoid(inertia: Inertia, size: float = 1.0) -> BodyEllipsoid | None:
    """The solid ellipsoid of even density with the same mass and inertia.

    About its centre it has the moment I_x = m (b^2 + c^2) / 5 about its axis x,
    so that a^2 = 5 (I_y + I_z - I_x) / (2 m), and so round. A square that is
    negative, as no body can have, counts as zero; the thinnest axes are drawn a
    little thicker.

    Args:
        inertia: of the body.
        size: of the machine, m, against which a mass without extent is drawn.

    Returns:
        The ellipsoid, or None for a body without mass.

    >>> ball = Inertia.of(2.0, (0, 0, 1), (0.8, 0.8, 0.8))  # 2/5 m r^2 with r = 1
    >>> inertia_ellipsoid(ball).radii
    array([1., 1., 1.])
    """
    if inertia.mass <= 0.0:
        return None
    moments, axes = np.linalg.eigh(np.array(inertia.rotational))
    squares = 5.0 * (0.5 * moments.sum() - moments) / inertia.mass
    radii = np.sqrt(np.maximum(squares, 0.0))
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    thinnest = max(THINNEST * radii.max(), POINT_MASS * size if not radii.any() else 0.0)
    return BodyEllipsoid(np.array(inertia.com), axes, np.maximum(radii, thinnest))


def joint_axes(kind: JointKind) -> np.ndarray:
    """The directions about or along which a joint moves, in the body's frame, one a row.

    They are the angular parts of the columns of H* at the neutral
    configuration, or their linear parts where there is no turning. A free
    joint has none worth drawing.

    >>> from phipsi.joints import Prismatic, Revolute
    >>> joint_axes(Revolute((0, 0, 2))), joint_axes(Prismatic((0, 1, 0)))
    (array([[0., 0., 1.]]), array([[0., 1., 0.]]))
    """
    if not 0 < kind.nv <= MOST_AXES:
        return np.zeros((0, 3))
    columns = np.array(kind.motion_map(kind.neutral()), dtype=float).T
    turning = np.any(columns[:, :3], axis=1)
    directions = np.where(turning[:, None], columns[:, :3], columns[:, 3:])
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)


def bones(model: Model, body: int) -> np.ndarray:
    """Lines from the joint of a body to those that it carries, (n, 2, 3) in its frame.

    A body that carries none has a line to its mass centre. A free joint is not
    carried by anything.
    """
    carried = [model.joints[child] for child in model.tree.children[body]]
    ends = [joint.placement.position for joint in carried if joint.kind.nv <= MOST_AXES]
    ends = [end for end in ends or [model.bodies[body].inertia.com] if any(end)]
    return np.array([[(0.0, 0.0, 0.0), end] for end in ends]).reshape(-1, 2, 3)


def depth_color(depth: int) -> Rgb:
    """A colour for each number of joints between a body and the world.

    >>> depth_color(1), depth_color(2)
    ((95, 151, 217), (134, 95, 217))
    """
    red, green, blue = colorsys.hsv_to_rgb((0.46 + 0.13 * depth) % 1.0, 0.56, 0.85)
    return round(255 * red), round(255 * green), round(255 * blue)
