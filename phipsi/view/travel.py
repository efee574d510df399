"""Machines that go far: the view goes along, and the world passes by."""

from __future__ import annotations

import numpy as np

from phipsi.model.model import Model
from phipsi.model.tree import WORLD
from phipsi.view.bounds import Bounds

FAR = 4.0  # sizes of the machine


def middle_of_roots(model: Model, poses: np.ndarray) -> np.ndarray:
    """The middle of the bodies that stand on the world, (*batch, 3).

    Args:
        model: the machine.
        poses: of its bodies, (*batch, n, 4, 4).

    >>> import phipsi as pp
    >>> poses = np.tile(np.eye(4), (2, 1, 1))
    >>> poses[0, :3, 3] = 1.0, 2.0, 3.0
    >>> middle_of_roots(pp.chain(2), poses)
    array([1., 2., 3.])
    """
    return _places(model, poses).mean(axis=-2)


def roots_gone_far(model: Model, bounds: Bounds, poses: np.ndarray) -> np.ndarray:
    """Of each root whether it travels more than four times the size of the machine.

    In a picture of so long a way the machine would be a few points high.

    Args:
        model: the machine.
        bounds: of what is drawn of it.
        poses: that it goes through, (T, n, 4, 4).

    >>> import phipsi as pp
    >>> bounds, poses = Bounds(), np.tile(np.eye(4), (3, 1, 1, 1))
    >>> bounds.add(0, [[0, 0, 0], [0, 0, 1]])
    >>> poses[:, 0, 2, 3] = 0.0, -1.0, -9.0
    >>> [roots_gone_far(pp.chain(1), bounds, poses[:n]).tolist() for n in (2, 3)]
    [[False], [True]]
    """
    low, high = bounds.box(poses[:1], world=False)
    ways = np.ptp(_places(model, poses), axis=0)
    return np.linalg.norm(ways, axis=-1) > FAR * max(float(np.linalg.norm(high - low)), 1e-3)


def shifted(poses: np.ndarray, travel: np.ndarray) -> np.ndarray:
    """Poses (*batch, n, 4, 4) as they are seen by who has travelled so far, (*batch, 3)."""
    seen = poses.copy()
    seen[..., :3, 3] -= travel[..., None, :]
    return seen


def _places(model: Model, poses: np.ndarray) -> np.ndarray:
    """The origins of the roots, (*batch, roots, 3)."""
    roots = [k for k, body in enumerate(model.bodies) if body.parent == WORLD]
    return poses[..., roots, :, :][..., :3, 3]
