"""How far the loops of a machine are from closed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from phipsi import dynamics
from phipsi.cli.screen import number
from phipsi.model.closure import Anchor, Closure
from phipsi.model.joints import JointKind
from phipsi.model.model import Model
from phipsi.model.tree import WORLD

STEPS = 50  # of the search for the closure's own coordinates
CLOSED = 1e-9  # m and rad


def gaps_of(model: Model, q: np.ndarray) -> Iterator[str]:
    """What is open, in words: of each closure and coupling that does not hold.

    Args:
        model: the machine.
        q: its configuration.

    >>> from phipsi import ModelBuilder, joints
    >>> builder = ModelBuilder("door")
    >>> builder.add_body("leaf", mass=1.0, com=(0.5, 0, 0))
    >>> where = {"position": (1, 0, 0), "second_position": (0, 2, 0)}
    >>> builder.add_closure("latch", "leaf", "world", joints.Spherical(), **where)
    >>> list(gaps_of(builder.build(), np.zeros(1)))
    ["loop 'latch' is open by 2.236 m"]
    """
    poses = dynamics.body_poses(model.opened(), q, backend="numpy")
    for closure in model.closures:
        distance, angle = gap(closure, poses)
        parts = [(distance, "m"), (angle, "rad")]
        told = " and ".join(f"{number(x)} {unit}" for x, unit in parts if x > CLOSED)
        if told:
            yield f"loop {closure.name!r} is open by {told}"
    for coupling in model.couplings:
        follower = model.joints[coupling.joint]
        lead = 0.0 if coupling.leader is None else _angle(model, coupling.leader, q)
        wanted = np.polynomial.polynomial.polyval(lead - coupling.centre, coupling.coefficients)
        missing = abs(_angle(model, coupling.joint, q) - float(wanted))
        if missing > CLOSED:
            unit = "rad" if follower.kind.turns else "m"
            yield f"coupling {coupling.name!r} is off by {number(missing)} {unit}"


def gap(closure: Closure, poses: np.ndarray) -> tuple[float, float]:
    """What a closure misses, m and rad, with its own coordinates as good as they can be.

    Args:
        closure: that joins two anchors.
        poses: of the bodies in the world, (n, 4, 4).
    """
    first, second = (_pose(anchor, poses) for anchor in (closure.first, closure.second))
    wanted = np.linalg.solve(first, second)
    x = np.array(closure.kind.neutral(), float)
    for _ in range(STEPS if closure.kind.nv else 0):
        allowed = np.array(closure.kind.motion_map(list(x)), float)
        step = np.linalg.lstsq(allowed, _twist(_reached(closure.kind, x), wanted))[0]
        x = np.array(closure.kind.integrate(list(x), list(step)), float)
        if np.abs(step).max() < 1e-15:
            break
    rest = _twist(_reached(closure.kind, x), wanted)
    # The freedoms of the joint itself are never missed: what is left lies across them.
    return float(np.linalg.norm(rest[3:])), float(np.linalg.norm(rest[:3]))


def _twist(reached: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """[rotation vector; distance] from one frame to the other, in the axes of the first."""
    left = np.linalg.solve(reached, wanted)
    R = left[:3, :3]
    skew = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine, cosine = float(np.linalg.norm(skew)), 0.5 * (float(np.trace(R)) - 1.0)
    angle = float(np.arctan2(sine, cosine))
    if sine > 1e-8:
        turn = skew * (angle / sine)
    elif cosine > 0.0:
        turn = skew
    else:  # half a turn: the axis is the column of R + 1 that is the longest
        columns = R + np.eye(3)
        axis = columns[:, np.argmax(np.linalg.norm(columns, axis=0))]
        turn = np.pi * axis / np.linalg.norm(axis)
    return np.concatenate([turn, left[:3, 3]])


def _reached(kind: JointKind, x: np.ndarray) -> np.ndarray:
    pose = np.eye(4)
    R, l = kind.transform(list(x))
    pose[:3, :3], pose[:3, 3] = np.array(R, float), np.array(l, float)
    return pose


def _pose(anchor: Anchor, poses: np.ndarray) -> np.ndarray:
    carrier = np.eye(4) if anchor.body == WORLD else poses[anchor.body]
    return carrier @ anchor.placement.matrix


def _angle(model: Model, k: int, q: np.ndarray) -> float:
    """The coordinate of a joint, also of one that follows another."""
    joint = model.joints[k]
    own = float(q[joint.q.start])
    return own if joint.mimic is None else joint.mimic.ratio * own + joint.mimic.offset
