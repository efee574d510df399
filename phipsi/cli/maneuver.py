"""A spacecraft turns over by swinging its arms, as a cat does that falls on its feet.

The arms go round in cones, all motors pull at both ends, and nothing pushes from outside: the
momentum stays zero. Yet when the arms are back where they began, the bus has turned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phipsi.model.configuration import difference
from phipsi.model.examples import spacecraft
from phipsi.model.model import Model
from phipsi.simulate.run import simulate
from phipsi.simulate.trajectory import Trajectory

DURATION = 20.0  # s
DT = 5e-4  # s
PERIOD = 3.0  # s, of the arms
ANGLE = 0.912  # rad, half the opening of the cone; this much makes half a turn of the bus
RISE = 1.5  # s, from rest to the full cone, and back
REST = 2.0  # s, at the end
KP, KD = 2000.0, 400.0  # N m/rad, N m s/rad
SHOULDERS, UPPER_ARMS = [0, 3], [1, 4]  # of the joints of the arms, which follow the root


@dataclass(frozen=True, eq=False)
class Balance:
    """What the laws of mechanics promise, and how well it was kept.

    Args:
        turned: by how much the bus has turned in the end, degrees.
        astray: how far joints of the arms are from where they began, rad.
        carried: the largest angular momentum of the bus alone, N m s.
        angular: the largest angular momentum of the whole, N m s; zero by law.
        linear: the largest momentum of the whole, N s; zero by law.
        energy: the largest kinetic energy, J.
        missing: the largest difference of energy and work of the motors, J; zero by law.
    """

    turned: float
    astray: float
    carried: float
    angular: float
    linear: float
    energy: float
    missing: float


def swing_arms(duration: float = DURATION, progress: bool | None = None) -> Trajectory:
    """The motion, every step of it.

    Args:
        duration: s.
        progress: whether to show a bar; None: on a terminal.
    """
    model = spacecraft()
    arms_q, arms_v = slice(model.nq - 6, model.nq), slice(model.nv - 6, model.nv)

    def pull(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """tau = kp (target - q) - kd v at the six joints of the arms; none at the free root."""
        tau = np.zeros(model.nv)
        tau[arms_v] = KP * (target(t, duration) - q[arms_q]) - KD * v[arms_v]
        return tau

    return simulate(
        model,
        model.neutral(),
        duration=duration,
        control=pull,
        dt=DT,
        progress=progress,
        backend="llvm",
    )


def target(t: float, duration: float = DURATION) -> np.ndarray:
    """Where the six joints of the arms should be: on a circle, from rest to rest, rad.

    >>> target(0.0), target(20.0)
    (array([0., 0., 0., 0., 0., 0.]), array([0., 0., 0., 0., 0., 0.]))
    """
    cone = ANGLE * _smooth(t / RISE) * _smooth((duration - REST - t) / RISE)
    phase = 2.0 * np.pi * t / PERIOD
    found = np.zeros(6)
    found[SHOULDERS], found[UPPER_ARMS] = cone * np.sin(phase), cone * np.cos(phase)
    return found


def _smooth(x: float) -> float:
    """From 0 to 1 while x does, without a jump of speed or acceleration."""
    x = min(max(x, 0.0), 1.0)
    return x * x * x * (10.0 - 15.0 * x + 6.0 * x * x)


def balance_of(motion: Trajectory) -> Balance:
    """How well momentum and energy are kept.

    The force of a step is held over it, so its work is tau times the way of the joints,
    exactly: no quadrature.
    """
    model = motion.model
    ways = difference(model, motion.q[:-1], motion.q[1:])
    assert motion.tau is not None
    work = np.concatenate([[0.0], np.cumsum(np.sum(motion.tau[:-1] * ways, axis=-1))])
    momentum = np.abs(motion.momentum)
    quaternion, arms = motion.q[-1, :4], motion.q[-1, model.nq - 6 :]
    half = np.arctan2(np.linalg.norm(quaternion[:3]), abs(quaternion[3]))
    return Balance(
        turned=float(np.degrees(2.0 * half)),
        astray=float(np.abs(arms - motion.q[0, model.nq - 6 :]).max()),
        carried=_of_the_bus(model, motion),
        angular=float(momentum[:, :3].max()),
        linear=float(momentum[:, 3:].max()),
        energy=float(motion.kinetic_energy.max()),
        missing=float(np.abs(motion.energy - motion.energy[0] - work).max()),
    )


def _of_the_bus(model: Model, motion: Trajectory) -> float:
    """The largest angular momentum of the bus about its mass centre, I omega."""
    inertia = np.array(model.bodies[0].inertia.rotational)
    return float(np.linalg.norm(motion.v[:, :3] @ inertia, axis=-1).max())
