"""Newton's law: what moves a body is the rate of its momentum, less its weight.

Forward and inverse dynamics share the bias, so that its mistakes cancel between them. Here it is
held against the law that it is made of. A motion begins at q, v with the rate vdot of its speeds;
about a point that does not move, in axes that do not turn, the momentum of body k is

    h(k) = X(k) M(k) V(k)          X(k): forces at k, carried to that point

and its rate is taken by a complex step, which is exact: no Coriolis term, no gyroscopic force, no
derivative of a joint map is written down. The joints hold what the bodies outboard ask for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from phipsi import spatial
from phipsi.dynamics.inverse import GRAVITY, newton_euler
from phipsi.dynamics.terms import terms_of, vdot
from phipsi.explain.diagnosing.bodies import Blocks, Bodies, placed
from phipsi.explain.diagnosing.diagnosis import Finding
from phipsi.explain.diagnosing.laws import Machine, share_of
from phipsi.explain.diagnosing.verdicts import judge_residual
from phipsi.model.configuration import integrate, joint_coordinates, joint_speeds
from phipsi.model.model import BODY_SIZE, Model
from phipsi.model.tree import WORLD
from phipsi.operators import H, S_q, phi

STEP = 1e-30  # of time; its square is nothing
ACCELERATIONS = phi.T @ (H.T @ S_q @ vdot + terms_of().a_g)
FORCES = newton_euler(terms_of().a_g, terms_of().b)


@dataclass(frozen=True)
class Motion:
    """How a machine moves at a state, each body in its own axes, by the book.

    Args:
        V: velocities.
        alpha: their rates, less the acceleration of free fall.
        T: what the joints hold of the motion, rotors and gravity included.
        held: what they hold of gravity alone.
    """

    V: Blocks
    alpha: Blocks
    T: np.ndarray
    held: np.ndarray


def motion_of(bodies: Bodies, q: np.ndarray, v: np.ndarray, rate: np.ndarray) -> Motion:
    """The motion from q with the speeds v and their rate, by Newton's law.

    Args:
        bodies: the pieces of the machine at q.
        q, v: the state.
        rate: of v.
    """
    model, gravity = bodies.model, np.array(bodies.model.gravity)
    X, V = _moved(model, integrate(model, q, STEP * 1j * v), v + STEP * 1j * rate)
    alpha, pulls, pushes = [], [], []
    for k, body in enumerate(model.bodies):
        fall = X[k].real[:3, :3].T @ gravity
        force = body.inertia.mass * fall
        weight = np.concatenate([np.cross(body.inertia.com, force), force])
        alpha.append(V[k].imag / STEP - np.concatenate([np.zeros(3), fall]))
        pulls.append(-X[k].real @ weight)
        pushes.append((X[k] @ bodies.M[k] @ V[k]).imag / STEP + pulls[k])
    T, held = (_at_joints(bodies, X, wrenches) for wrenches in (pushes, pulls))
    for joint in model.joints:
        ratio = 1.0 if joint.mimic is None else joint.mimic.ratio
        T[joint.v] += ratio * joint.reflected_inertia * np.array(joint_speeds(joint, rate))
    return Motion([x.real for x in V], alpha, T, held)


def newton_laws(machine: Machine, bodies: Bodies, rng: np.random.Generator) -> Iterator[Finding]:
    """The accelerations of bodies, what gravity asks of joints, and what a motion asks of them."""
    rate = rng.normal(size=machine.model.nv) / machine.coordinates
    book = motion_of(bodies, machine.q, machine.v, rate)
    yield _accelerations(machine, bodies, book, rate)
    yield _gravity(machine, book)
    yield _forces(machine, bodies, book, rate)


def _accelerations(machine: Machine, bodies: Bodies, book: Motion, rate: np.ndarray) -> Finding:
    """What each body adds to the acceleration of its parent."""
    found = machine.sweep(ACCELERATIONS, v=machine.v, vdot=rate).reshape(-1, BODY_SIZE)
    miss = found - np.array(book.alpha)
    own = miss.copy()
    for k, p in enumerate(machine.model.tree.parent):
        if p != WORLD:
            own[k] -= bodies.phi[k].T @ miss[p]
    turning = max(_length(A[:3]) + _length(V[:3]) ** 2 for A, V in _pairs(book))
    moving = max(_length(A[3:]) + _length(V[:3]) * _length(V[3:]) for A, V in _pairs(book))
    moving += turning * max(float(np.abs(phi[:3, 3:]).max()) for phi in bodies.phi)
    moving += _length(np.array(machine.model.gravity))
    parts = [[_length(x[:3]), _length(x[3:])] for x in own]
    return judge_residual(
        "accelerations",
        "alpha = phi* (H* beta_dot + a)",
        "body",
        [body.name for body in machine.model.bodies],
        share_of(np.array(parts), np.array([turning, moving])).max(axis=1),
        lambda name, x: (
            f"body {name!r} does not accelerate as its joint moves it: a Coriolis term or gravity "
            "is wrong there"
        ),
    )


def _gravity(machine: Machine, book: Motion) -> Finding:
    """H phi M phi* E gravity, beside the moments of the weights about each joint."""
    model = machine.model
    mass = sum(abs(body.inertia.mass) for body in model.bodies)
    size = machine.coordinates * _length(np.array(model.gravity)) * np.sqrt(mass)
    return judge_residual(
        "gravity",
        "H phi M phi* E gravity = dU/dq",
        "joint",
        machine.names,
        share_of(machine.sweep(GRAVITY) - book.held, size),
        lambda name, x: f"joint {name!r} does not hold the weight of what it carries",
    )


def _forces(machine: Machine, bodies: Bodies, book: Motion, rate: np.ndarray) -> Finding:
    """Inverse dynamics, beside the rates of momentum.

    No share of a joint in the sum is above s_i (A* M A)^1/2 (Cauchy and Schwarz).
    """
    found = machine.sweep(FORCES, v=machine.v, vdot=rate)
    square = 0.0
    for (A, V), M in zip(_pairs(book), bodies.M, strict=True):
        square += abs(A @ M @ A) + (V[:3] @ V[:3]) * abs(V @ M @ V)
    size = np.sqrt(square) + np.sum(machine.coordinates * np.abs(rate))
    return judge_residual(
        "forces of a motion",
        "T = H phi d(M V)/dt - weights",
        "joint",
        machine.names,
        share_of(found - book.T, machine.coordinates * size),
        lambda name, x: (
            f"joint {name!r} is not asked for the rate of momentum of what it carries: a Coriolis "
            "or gyroscopic force is wrong, or an inertia"
        ),
    )


# -- by the book -----------------------------------------------------------------------------


def _moved(model: Model, q: np.ndarray, v: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """X(k) to where the root of k is now, in world axes, and V(k); all complex."""
    X: list[np.ndarray] = []
    V: list[np.ndarray] = []
    for joint, p in zip(model.joints, model.tree.parent, strict=True):
        own = joint_coordinates(joint, q)
        turn, lever = placed(joint, own)
        if p == WORLD:  # far from the origin of the world, digits would be lost
            lever = [x - complex(x).real for x in lever]
        phi = np.array(spatial.phi(turn, lever), dtype=complex)
        H_star = np.array(joint.kind.motion_map(own), dtype=complex)
        moved = H_star @ np.array(joint_speeds(joint, v))
        X.append(phi if p == WORLD else X[p] @ phi)
        V.append(moved if p == WORLD else phi.T @ V[p] + moved)
    return X, V


def _at_joints(bodies: Bodies, X: list[np.ndarray], wrenches: list[np.ndarray]) -> np.ndarray:
    """What joints hold of the wrenches on all bodies outboard, in the independent coordinates."""
    model, total = bodies.model, [x.copy() for x in wrenches]
    held = np.zeros(model.nv)
    for k in model.tree.tip_to_base:
        joint, p = model.joints[k], model.tree.parent[k]
        ratio = 1.0 if joint.mimic is None else joint.mimic.ratio
        held[joint.v] += ratio * bodies.H_star[k].T @ np.linalg.solve(X[k].real, total[k])
        if p != WORLD:
            total[p] += total[k]
    return held


def _pairs(book: Motion) -> list[tuple[np.ndarray, np.ndarray]]:
    return list(zip(book.alpha, book.V, strict=True))


def _length(x: np.ndarray) -> float:
    return float(np.linalg.norm(x))
