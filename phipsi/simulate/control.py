"""Control laws that are part of the machine code of a simulation.

    PD               tau = kp (target - q) + kd (speeds - v), + the forces of gravity if asked for
    GravityCompensation   tau = the forces of gravity
    ComputedTorque   tau = ID(q, v, accelerations + kp (target - q) + kd (speeds - v))

target - q is `pp.difference(model, q, target)`. A free root joint has no motor: no law acts there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phipsi.backends.disk.identity import Parts
from phipsi.compile import check_array
from phipsi.errors import InputError
from phipsi.model.configuration import check_configuration
from phipsi.model.joints import Free
from phipsi.model.model import Model
from phipsi.simulate.machines import Mechanism


def actuated(model: Model) -> np.ndarray:
    """1 for speeds that have a motor, 0 for those of free joints, (nv,)."""
    with_motor = np.ones(model.nv)
    for joint in model.leaders:
        if isinstance(joint.kind, Free):
            with_motor[joint.v] = 0.0
    return with_motor


class Law(ABC):
    """Joint forces as a function of the state."""

    @property
    @abstractmethod
    def key(self) -> tuple:
        """What laws of the same formula have in common: they share machine code, so every number
        that is no parameter must be in it."""

    def told(self, model: Model) -> Parts | None:
        """The same for records on disk; None for laws of others, of which nobody can tell."""
        kind, *rest = self.key
        return (kind.__name__, *rest) if kind.__module__ == Law.__module__ else None

    @abstractmethod
    def parameters(self, model: Model) -> dict[str, np.ndarray]:
        """The numbers in it, (*batch, n) each, or InputError."""

    @abstractmethod
    def force(self, machine: Mechanism, q: Any, v: Any, given: Mapping[str, Any]) -> Any:
        """tau at a state, with numbers in place of the parameters."""


@dataclass(frozen=True)
class PD(Law):
    """tau = kp (target - q) + kd (speeds - v).

    Args:
        kp: N m/rad or N/m, one number or (*batch, nv).
        kd: N m s/rad or N s/m, one number or (*batch, nv).
        target: (*batch, nq); None for `model.neutral()`.
        speeds: wanted, one number or (*batch, nv).
        gravity: whether the forces of gravity are added.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(1)
    >>> hold = pp.control.PD(kp=20.0, kd=5.0, target=[0.5], gravity=True)
    >>> pp.simulate(arm, arm.neutral(), duration=2.0, control=hold, dt=0.02).q[-1].round(3)
    array([0.5])
    """

    kp: ArrayLike
    kd: ArrayLike
    target: ArrayLike | None = None
    speeds: ArrayLike = 0.0
    gravity: bool = False

    @property
    def key(self) -> tuple:
        """Its formula."""
        return (type(self), bool(self.gravity))

    def parameters(self, model: Model) -> dict[str, np.ndarray]:
        """Gains and targets; gains are zero where there is no motor."""
        return _feedback(model, self)

    def force(self, machine: Mechanism, q: Any, v: Any, given: Mapping[str, Any]) -> Any:
        """tau at a state."""
        tau = _correction(machine, q, v, given)
        if not self.gravity:
            return tau
        return tau + machine.gravity(q) * _motors(machine)


@dataclass(frozen=True)
class GravityCompensation(Law):
    """tau = the forces of gravity: the machine floats.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> floating = pp.control.GravityCompensation()
    >>> pp.simulate(arm, [0.3, 0.4], duration=1.0, control=floating, dt=0.05).q[-1].round(9)
    array([0.3, 0.4])
    """

    @property
    def key(self) -> tuple:
        """Its formula."""
        return (type(self),)

    def parameters(self, model: Model) -> dict[str, np.ndarray]:
        """None."""
        return {}

    def force(self, machine: Mechanism, q: Any, v: Any, given: Mapping[str, Any]) -> Any:
        """tau at a state."""
        return machine.gravity(q) * _motors(machine)


@dataclass(frozen=True)
class ComputedTorque(Law):
    """tau = ID(q, v, accelerations + kp (target - q) + kd (speeds - v)): the error falls off as
    if every joint were a mass of 1 on a spring.

    Args:
        kp: 1/s^2, one number or (*batch, nv).
        kd: 1/s, one number or (*batch, nv).
        target: (*batch, nq); None for `model.neutral()`.
        speeds: wanted, one number or (*batch, nv).
        accelerations: wanted, one number or (*batch, nv).

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> law = pp.control.ComputedTorque(kp=100.0, kd=20.0, target=[1.0, -1.0])
    >>> pp.simulate(arm, arm.neutral(), duration=2.0, control=law, dt=0.02).q[-1].round(4)
    array([ 1., -1.])
    """

    kp: ArrayLike
    kd: ArrayLike
    target: ArrayLike | None = None
    speeds: ArrayLike = 0.0
    accelerations: ArrayLike = field(default=0.0)

    @property
    def key(self) -> tuple:
        """Its formula."""
        return (type(self),)

    def parameters(self, model: Model) -> dict[str, np.ndarray]:
        """Gains and targets; gains are zero where there is no motor."""
        wanted = _speeds(model, "accelerations", self.accelerations)
        return {**_feedback(model, self), "accelerations": wanted}

    def force(self, machine: Mechanism, q: Any, v: Any, given: Mapping[str, Any]) -> Any:
        """tau at a state."""
        vdot = given["accelerations"] + _correction(machine, q, v, given)
        return machine.inverse(q, v, vdot) * _motors(machine)


# -- what laws share -----------------------------------------------------------------------


def _correction(machine: Mechanism, q: Any, v: Any, given: Mapping[str, Any]) -> Any:
    """kp (target - q) + kd (speeds - v)."""
    return given["kp"] * machine.difference(q, given["target"]) + given["kd"] * (
        given["speeds"] - v
    )


def _motors(machine: Mechanism) -> Any:
    return actuated(machine.model)


def _feedback(model: Model, law: PD | ComputedTorque) -> dict[str, np.ndarray]:
    motors = actuated(model)
    target = model.neutral() if law.target is None else law.target
    return {
        "kp": _speeds(model, "kp", law.kp) * motors,
        "kd": _speeds(model, "kd", law.kd) * motors,
        "target": in_doubles("target", check_configuration(model, "target", target)),
        "speeds": _speeds(model, "speeds", law.speeds),
    }


def _speeds(model: Model, name: str, value: ArrayLike) -> np.ndarray:
    """One number for all speeds, or (*batch, nv)."""
    array = in_doubles(name, check_array(name, value, (), "a number"))
    if array.ndim == 0:
        return np.full(model.nv, array)
    return check_array(name, array, (model.nv,), f"the {model.nv} speeds of {model.name!r}")


def in_doubles(name: str, array: np.ndarray) -> np.ndarray:
    """An array of real numbers in double precision; InputError for complex ones."""
    if np.iscomplexobj(array):
        raise InputError(f"{name}: expected real numbers, got complex ones")
    return array.astype(float, copy=False)


def check_law(control: Any) -> Law:
    """InputError for what is no control law."""
    if isinstance(control, type) and issubclass(control, Law):
        raise InputError(
            f"control: got the class {control.__name__}; write {control.__name__}(...)"
        )
    if not isinstance(control, Law):
        raise InputError(
            f"control: expected None, an array, a function of (t, q, v), or a law of pp.control, "
            f"got {type(control).__name__}"
        )
    return control
