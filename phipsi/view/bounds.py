"""How much room a machine takes, and from where it is seen well."""

from __future__ import annotations

from itertools import product

import numpy as np

from phipsi.model.tree import WORLD

VIEW_FROM = np.array([1.0, 0.75, 0.5])  # in axes whose z is up
FIELD_OF_VIEW = np.radians(50.0)
MARGIN = 1.15

Box = tuple[np.ndarray, np.ndarray]  # its lowest and its highest corner


class Bounds:
    """Points fixed on bodies that enclose what is drawn of them."""

    def __init__(self) -> None:
        self._points: dict[int, list[np.ndarray]] = {}

    def add(self, body: int, points: np.ndarray) -> None:
        """Points (n, 3) in the frame of a body, or of the world."""
        self._points.setdefault(body, []).append(np.asarray(points, dtype=float).reshape(-1, 3))

    def box(self, poses: np.ndarray, world: bool = True) -> Box:
        """A box in the world that holds all points.

        Args:
            poses: of the bodies, (*batch, n, 4, 4); the box holds the points of them all.
            world: whether it holds what is fixed in the world, too.

        >>> bounds = Bounds()
        >>> bounds.add(0, [[0, 0, 0], [1, 2, 3]])
        >>> bounds.box(np.eye(4)[None])
        (array([0., 0., 0.]), array([1., 2., 3.]))
        """
        placed = []
        for body, parts in self._points.items():
            points = np.concatenate(parts)
            if body == WORLD:
                placed += [points] if world else []
            else:
                pose = poses[..., body, :, :]
                turned = np.einsum("...ij,nj->...ni", pose[..., :3, :3], points)
                placed.append((turned + pose[..., None, :3, 3]).reshape(-1, 3))
        every = np.concatenate(placed or [np.zeros((1, 3))])
        return every.min(axis=0), every.max(axis=0)


def box_corners(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The eight corners of a box, (8, 3)."""
    return np.array(list(product(*zip(low, high, strict=True))))


def camera_position(low: np.ndarray, high: np.ndarray, up: np.ndarray) -> np.ndarray:
    """From where a box is seen whole: from its front, its left and a little above.

    A corner c from the centre is seen if its distance from the line of sight is
    below tan(angle / 2) times its depth, which is that of the centre and c
    along the line.
    """
    center, R = 0.5 * (low + high), turn_z_to(up)
    back = R @ VIEW_FROM / np.linalg.norm(VIEW_FROM)
    right = np.cross(up, back) / np.linalg.norm(np.cross(up, back))
    corners = box_corners(low, high) - center
    aside = np.maximum(abs(corners @ right), abs(corners @ np.cross(back, right)))
    depth = np.max(aside / np.tan(0.5 * FIELD_OF_VIEW) + corners @ back)
    return center + MARGIN * max(depth, 1e-3) * back


def turn_z_to(up: np.ndarray) -> np.ndarray:
    """The smallest rotation that turns z to a unit vector; about x if that is -z.

    R = I + W + W W / (1 + z.up), W the cross product by z x up. Near -z, where 1 + z.up loses
    its digits, it is taken as |z x up|^2 / (1 - z.up).
    """
    x, y, z = up
    aside = x * x + y * y
    if z < 0.0 and aside < 1e-24:
        return np.diag([1.0, -1.0, -1.0])
    cross = np.array([[0.0, 0.0, x], [0.0, 0.0, y], [-x, -y, 0.0]])
    return np.eye(3) + cross + cross @ cross / (1.0 + z if z > 0.0 else aside / (1.0 - z))
