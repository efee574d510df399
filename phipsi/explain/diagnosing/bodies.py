"""The pieces of each body, and its articulated inertia twice: by the book, and by the program.

By the book: in link frames, block by block with NumPy, by the Joseph form

    P(k) = M(k) + sum_c phi(k,c) [tau_bar P tau_bar* + G Jm G*](c) phi*(k,c)

which is a sum of squares and stays positive whatever is rounded; it goes on where D vanishes.
Beside it goes B, what P was made of before the next joints were free,

    B(k) = M(k) + sum_c phi(k,c) P(c) phi*(k,c)

for the roundoff of P is relative to that. The program's own blocks are read off O(N) sweeps: a
block-diagonal operator, applied to the vector that has e_i at every body, gives column i of all
its blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from phipsi import spatial
from phipsi.algebra.node import Node
from phipsi.compile import compile
from phipsi.model.configuration import joint_coordinates
from phipsi.model.model import BODY_SIZE, Joint, Model
from phipsi.model.tree import WORLD
from phipsi.operators import D, G, P, vector
from phipsi.scalars import Scalar

Blocks = Sequence[np.ndarray]  # one for each body or joint

NOTHING = 1e-14  # of the inertia that a joint was given, before it cancelled: roundoff of zero
LONG = 300  # bodies: beyond, code is one loop over all of them, and nothing else is tried

x = vector("x", "body")
y = vector("y", "joint")


@dataclass(frozen=True)
class Bodies:
    """The pieces of a machine at a configuration, each body's in its own link frame.

    Args:
        model: the machine.
        phi: phi(p,k) from each body to its parent, or to the world.
        H_star: H*(k), 6 x nv.
        M: spatial inertias.
        Jm: reflected rotor inertias, a number for each joint.
        R: composite inertias: all outboard joints locked.
    """

    model: Model
    phi: Blocks
    H_star: Blocks
    M: Blocks
    Jm: Sequence[float]
    R: Blocks


@dataclass(frozen=True)
class Articulated:
    """Articulated inertias, what joints feel of them, gains, and what P was made of."""

    P: Blocks
    D: Blocks
    G: Blocks
    B: Blocks

    @property
    def is_finite(self) -> bool:
        """Whether all of these are numbers."""
        return all(np.isfinite(x).all() for part in (self.P, self.D, self.G) for x in part)


def bodies_of(model: Model, q: np.ndarray) -> Bodies:
    """The pieces of a machine, by its joints' own definitions: no program is asked.

    Args:
        model: the machine.
        q: one configuration.
    """
    phi, H_star = [], []
    for joint in model.joints:
        own = joint_coordinates(joint, q)
        phi.append(np.array(spatial.phi(*placed(joint, own)), dtype=float))
        H_star.append(np.array(joint.kind.motion_map(own), dtype=float))
    M = [body.inertia.matrix for body in model.bodies]
    composite = [block.copy() for block in M]
    for k, p in _inward(model):
        composite[p] += phi[k] @ composite[k] @ phi[k].T
    Jm = [joint.reflected_inertia for joint in model.joints]
    return Bodies(model, phi, H_star, M, Jm, composite)


def placed(joint: Joint, own: Sequence[Scalar]) -> tuple[spatial.Matrix, spatial.Vector]:
    """Where a joint puts its body, seen from the parent: rotation and lever, of any scalar."""
    place, (turn, lever) = joint.placement, joint.kind.transform(own)
    lever = spatial.add(place.position, spatial.apply(place.rotation, lever))
    return spatial.compose(place.rotation, turn), lever


def by_the_book(bodies: Bodies) -> Articulated:
    """P, D, G by the Joseph form; where nothing resists, nothing is handed on."""
    felt, made_of = ([block.copy() for block in bodies.M] for _ in range(2))
    pivots, gains = [np.empty(0)] * len(felt), [np.empty(0)] * len(felt)
    for k in bodies.model.tree.tip_to_base:
        PH = felt[k] @ bodies.H_star[k]
        pivots[k] = bodies.H_star[k].T @ PH + bodies.Jm[k] * np.eye(PH.shape[1])
        gains[k] = PH @ _inverse(pivots[k], speed_units(bodies, k, made_of[k]))
        p = bodies.model.tree.parent[k]
        if p != WORLD:
            felt[p] += carried(bodies, k, felt[k], gains[k])
            made_of[p] += bodies.phi[k] @ felt[k] @ bodies.phi[k].T
    return Articulated(felt, pivots, gains, made_of)


def by_the_program(bodies: Bodies, q: np.ndarray, backend: str) -> Articulated:
    """P, D, G as a backend computes them; SolveError names a joint whose D vanishes."""
    model = bodies.model
    n, rows = len(model.bodies), sum(joint.kind.nv for joint in model.joints)
    at_bodies = np.tile(np.eye(BODY_SIZE), (1, n))
    at_joints = np.zeros((BODY_SIZE, rows))
    for joint in model.joints:
        at_joints[: joint.kind.nv, joint.rows] = np.eye(joint.kind.nv)
    columns = sweep(model, (P @ x, D @ y, G @ y), backend, q=q, x=at_bodies, y=at_joints)
    of_bodies = [slice(BODY_SIZE * k, BODY_SIZE * k + BODY_SIZE) for k in range(n)]
    pieces = zip(of_bodies, model.joints, strict=True)
    made = [
        (
            columns[0][:, body].T,
            columns[1][: joint.kind.nv, joint.rows].T,
            columns[2][: joint.kind.nv, body].T,
        )
        for body, joint in pieces
    ]
    felt, pivots, gains = (list(part) for part in zip(*made, strict=True))
    made_of = [block.copy() for block in bodies.M]
    for k, p in _inward(model):
        made_of[p] += bodies.phi[k] @ felt[k] @ bodies.phi[k].T
    return Articulated(felt, pivots, gains, made_of)


def sweep(model: Model, expression: Node | Sequence[Node], backend: str, **values: Any) -> Any:
    """The value of an expression, or of several, as a backend computes it."""
    unroll = False if len(model.bodies) > LONG else None
    return compile(model, expression, unroll=unroll, backend=backend, rewrite=False)(**values)


def joseph(bodies: Bodies, k: int, inertia: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """tau_bar P tau_bar* + G Jm G*: what passes joint k, as a sum of squares."""
    through = np.eye(BODY_SIZE) - gain @ bodies.H_star[k].T
    return through @ inertia @ through.T + bodies.Jm[k] * gain @ gain.T


def carried(bodies: Bodies, k: int, inertia: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """What joint k hands on to the parent, in the parent's frame."""
    return bodies.phi[k] @ joseph(bodies, k, inertia, gain) @ bodies.phi[k].T


def gain_squares(bodies: Bodies, found: Articulated) -> list[float]:
    """The square of each gain, without units, at least 1: so much it may enlarge roundoff.

    At most 1 / share of the pivot, for |P H*|^2 <= |P| |D| of positive P.
    """
    squares = []
    for k, gain in enumerate(found.G):
        outer = np.sqrt(np.diag(units(found.B[k])))
        square = float(np.sum((gain * speed_units(bodies, k, found.B[k]) / outer[:, None]) ** 2))
        squares.append(max(1.0, square) if np.isfinite(square) else 1.0)
    return squares


def units(size: np.ndarray) -> np.ndarray:
    """What an inertia is divided by, entry by entry, to be a number without units.

    The largest moment and the largest mass of another one: no matter how axes lie in them.
    """
    diagonal = np.diag(size)
    sizes = np.array([diagonal[:3].max(), diagonal[3:].max()])
    sizes = np.sqrt(np.repeat(np.where(sizes > 0.0, sizes, 1.0), 3))
    return np.outer(sizes, sizes)


def speed_units(bodies: Bodies, k: int, size: np.ndarray) -> np.ndarray:
    """Roots of what joint k would move of an inertia, for each of its speeds, rotor included.

    Of each 3 x 3 block the largest entry, so that it is no matter how axes lie in the body.
    """
    sizes = np.abs(size).reshape(2, 3, 2, 3).max(axis=(1, 3))
    h = np.abs(bodies.H_star[k]).reshape(2, 3, -1).max(axis=1)
    moved = np.sum(h * (sizes @ h), axis=0) + bodies.Jm[k]
    return np.sqrt(np.where(moved > 0.0, moved, 1.0))


def _inward(model: Model) -> list[tuple[int, int]]:
    """(body, parent), tip_to_base, roots left out."""
    parent = model.tree.parent
    return [(k, parent[k]) for k in model.tree.tip_to_base if parent[k] != WORLD]


def _inverse(pivot: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """D^-1, zero along what nothing resists."""
    values, vectors = np.linalg.eigh(pivot / np.outer(unit, unit))
    resists = np.abs(values) > NOTHING
    directions = vectors[:, resists] / unit[:, None]
    return (directions / values[resists]) @ directions.T
