"""Where a simulation begins, and what drives it, by what the command line says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from phipsi import dynamics
from phipsi.errors import InputError
from phipsi.model.model import Model
from phipsi.simulate.control import PD, ComputedTorque, GravityCompensation
from phipsi.view.subject import resting

STIFFNESS = 100.0  # 1/s^2: ten radians per second, where nobody says how stiff
SPEED = 0.5  # the spread of random speeds, rad/s or m/s


@dataclass(frozen=True)
class Driving:
    """What drives the joints.

    Args:
        control: the law of the motors, as above.
        kp: N m/rad or N/m of pd, 1/s^2 of computed; by default 100/s^2 by inertia.
        kd: N m s/rad or N s/m of pd, 1/s of computed; by default critical.
    """

    control: Literal["none", "pd", "gravity", "computed"] = "none"
    kp: float | None = None
    kd: float | None = None

    def law(self, model: Model) -> Any:
        """The law for a machine, as `pp.simulate` takes it.

        Raises:
            InputError: for gains that are no numbers above zero, or that nobody needs.
        """
        for name, gain in (("--kp", self.kp), ("--kd", self.kd)):
            if gain is None:
                continue
            if self.control not in ("pd", "computed"):
                raise InputError(f"{name} is for --control pd and --control computed")
            if not (math.isfinite(gain) and gain >= 0.0):
                raise InputError(f"{name} is {gain}; expected a number, zero or more")
        if self.control == "none":
            return None
        if self.control == "gravity":
            return GravityCompensation()
        target = resting(model)
        inertia = felt_inertias(model, target) if self.control == "pd" else np.ones(model.nv)
        kp = STIFFNESS * inertia if self.kp is None else np.full(model.nv, self.kp)
        kd = 2.0 * np.sqrt(kp * inertia) if self.kd is None else np.full(model.nv, self.kd)
        if self.control == "pd":
            return PD(kp, kd, target, gravity=True)
        return ComputedTorque(kp, kd, target)


UNDRIVEN = Driving()


def felt_inertias(model: Model, q: np.ndarray) -> np.ndarray:
    """What each joint has to move while the others are free: 1 / (Mass^-1)_ii, (nv,).

    Gains in proportion to it are never too stiff: with D = diag(Mass^-1)^-1 no eigenvalue of
    Mass^-1 D is above nv.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> felt_inertias(arm, arm.neutral()).round(4)
    array([0.5854, 0.0733])
    """
    inverse = dynamics.mass_matrix_inverse(model, q)
    return 1.0 / np.diagonal(inverse)


def start_of(model: Model, seed: int | None) -> tuple[np.ndarray, np.ndarray]:
    """q and v to begin with: neutral and at rest, or random.

    Args:
        model: the machine.
        seed: of the random state; None for none.
    """
    if seed is None:
        return resting(model), np.zeros(model.nv)
    if seed < 0:
        raise InputError(f"--seed is {seed}; expected a whole number, zero or more")
    rng = np.random.default_rng(seed)
    return model.random(rng), SPEED * rng.normal(size=model.nv)
