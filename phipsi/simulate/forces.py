"""All joint forces of a simulation beside gravity: motors within their limits, losses, springs.

    tau = limited(given + law(q, v)) - r(v) v + springs(q),
    r = damping + friction / sqrt(v^2 + slip^2)

Dry friction has no value at rest; here it rises from zero over a slip of speed, so joints under
less than their friction creep instead of sticking. Of explicit integrators the slip is the
smallest that a step of length h can follow, h (Mass^-1)_jj friction.

Where bodies are light, losses act within far less than a step. So integrators that are implicit
solve for them: v' = Mass^-1 (tau - C - r v) is taken with speeds ahead of v, v + x h v', which
adds to the mass operator, (Mass + x h r) v' = tau - C - r v, and is O(N) as before. The r of
friction is that of the speeds before the step.

Springs k may be as stiff. Let s = h^2 k (Mass^-1)_jj, the square of what a spring alone swings by
in a step, in radians. The modes of all together, of which joints on a light body have stiffer
ones than each, are bounded by the sum of s, the trace of h^2 Mass^-1 K. "euler" adds h^2 k/4 to
the mass operator: its steps are then those of the trapezoidal rule for springs, stable for any k
and any Mass, so not only for the one at the beginning, and springs swing on. Where s > 1 then, they
cannot be followed, and are taken at the configuration y h (v + h v') ahead, y = 1 - 1/s, which
adds y h^2 k and takes off y h k v: such a spring comes to rest. With both, steps are stable as
long as what is added is h^2 k (1/4 + y/2) or more. Of "midpoint", h^2 k/4 is added to the mass
operator and taken off with the acceleration that the iteration has: this changes its pace, not
its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from phipsi.backends.disk.identity import Parts
from phipsi.errors import InputError
from phipsi.model.model import Model
from phipsi.scalars import Scalar, maximum, sqrt
from phipsi.simulate.control import Law
from phipsi.simulate.machines import Mechanism
from phipsi.simulate.signals import Signal
from phipsi.simulate.springs import Springs
from phipsi.simulate.vectors import each, limited

SLIP = 1e-4  # speed, rad/s or m/s: at least so much
STIFF = 0.03  # rad^2: of springs that swing so far in a step, "rk4" keeps 0.999 for 2,000 steps


@dataclass(frozen=True)
class Forces:
    """What moves the joints.

    Args:
        model: the machine.
        law: a control law, if there is one.
        losses: whether joints have the damping and friction of their file.
        limits: whether motors have the largest efforts of their file.
    """

    model: Model
    law: Law | None
    losses: bool
    limits: bool

    @property
    def key(self) -> tuple:
        """What simulations with the same formulas have in common."""
        return (self.law.key if self.law else None, self.losses, self.limits)

    @property
    def told(self) -> Parts | None:
        """All numbers that are in the code of steps, for its record; None if nobody can tell."""
        springs = [
            (x.name, x.stiffness, list(x.rest or x.kind.neutral())) for x in self.springs.joints
        ]
        numbers = [x.tolist() for x in (self.damping, self.friction, self.efforts)]
        law = self.law.told(self.model) if self.law else ()
        return None if law is None else (numbers, springs, law)

    def check(self) -> None:
        """InputError for losses that would drive, and limits that nothing keeps."""
        asked = {"damping": self.losses, "friction": self.losses, "effort": self.limits}
        for joint in self.model.joints:
            found = {"damping": joint.damping, "friction": joint.friction}
            for name, value in {**found, "effort": joint.limits.effort}.items():
                if asked[name] and value < 0.0:
                    option = "limits" if name == "effort" else "losses"
                    raise InputError(
                        f"the {name} of joint {joint.name!r} is {value:g}; expected none below "
                        f"zero; {option}=False leaves it out"
                    )

    @cached_property
    def damping(self) -> np.ndarray:
        """Of each speed; joints that follow another count there."""
        damping = np.zeros(self.model.nv)
        if self.losses:
            for joint in self.model.joints:
                ratio = 1.0 if joint.mimic is None else joint.mimic.ratio
                damping[joint.v] += ratio**2 * joint.damping
        return damping

    @cached_property
    def friction(self) -> np.ndarray:
        """Of each speed; joints that follow another count there."""
        friction = np.zeros(self.model.nv)
        if self.losses:
            for joint in self.model.joints:
                ratio = 1.0 if joint.mimic is None else abs(joint.mimic.ratio)
                friction[joint.v] += ratio * joint.friction
        return friction

    @cached_property
    def springs(self) -> Springs:
        """Those of the joints."""
        return Springs(self.model)

    @cached_property
    def stiffness(self) -> np.ndarray:
        """Of each speed the spring that its coordinate feels; those of followers count there."""
        stiffness = np.zeros(self.model.nv)
        for joint in self.springs.joints:
            ratio = 1.0 if joint.mimic is None else joint.mimic.ratio
            stiffness[joint.v] += ratio**2 * joint.stiffness
        return np.maximum(stiffness, 0.0)

    @cached_property
    def efforts(self) -> np.ndarray:
        """The largest force of each motor; infinite where the file gives none."""
        efforts = np.full(self.model.nv, np.inf)
        if self.limits:
            for joint in self.model.leaders:
                efforts[joint.v] = joint.limits.effort
        return efforts

    @property
    def rubs(self) -> bool:
        """Whether there is any friction."""
        return bool(self.friction.any())

    @property
    def resist(self) -> bool:
        """Whether there are any losses."""
        return self.rubs or bool(self.damping.any())

    @property
    def pull(self) -> bool:
        """Whether there are any springs."""
        return bool(self.springs.joints)

    @cached_property
    def signals(self) -> dict[str, Signal]:
        """The numbers of the law, by name; InputError for wrong ones."""
        return self.law.signals(self.model) if self.law else {}

    def slips(self, mobility: np.ndarray, h: float) -> np.ndarray:
        """Of each speed the slip for steps of length h, by the diagonal of Mass^-1."""
        return np.maximum(SLIP, h * mobility * self.friction)

    def too_strong(self, mobility: np.ndarray, h: float, rates: float = 0.5) -> np.ndarray:
        """Of which speeds the damping takes off so much, or more, in a step of length h.

        Half is about what explicit steps can follow.
        """
        return h * mobility * self.damping > rates

    def swings(self, mobility: np.ndarray, h: float) -> np.ndarray:
        """s: of each speed the square of what its spring swings by in a step, in radians."""
        return h * h * mobility * self.stiffness

    def too_stiff(self, mobility: np.ndarray, h: float, most: float = STIFF) -> np.ndarray:
        """Whether the springs together may swing by a root of more than that in a step.

        Of a mode that swings by the root of s, Runge and Kutta lose s^3/72 of the energy in each
        step, and go beyond all bounds at s = 8. No mode has more than the sum over the springs.
        """
        return self.swings(mobility, h).sum(axis=-1) > most

    def motors(self, machine: Mechanism, q: Any, v: Any, given: Mapping[str, Any]) -> Any:
        """The forces of the motors: what is given, and the law."""
        tau = given["tau"]
        if self.law:
            tau = tau + self.law.force(machine, q, v, given)
        if np.isfinite(self.efforts).any():
            tau = limited(tau, np.minimum(self.efforts, np.finfo(float).max))
        return tau

    def resistance(self, v: Any, given: Mapping[str, Any]) -> Any:
        """r: what the losses are, beside the speeds."""
        if not self.rubs:
            return 0.0 * v + self.damping
        slip = given["slip"]
        return self.damping + self.friction / each(sqrt, v * v + slip * slip)

    def drive(
        self,
        machine: Mechanism,
        q: Any,
        v: Any,
        given: Mapping[str, Any],
        before: Any = None,
        ahead: float = 0.0,
    ) -> tuple[Any, Any]:
        """The acceleration at a state, and all forces there that have no potential.

        Args:
            machine: what is moved.
            q, v: the state.
            given: tau, parameters, the length h of a step.
            before, ahead: losses and springs are solved for, losses at the speeds
                before + x h a. If they are not strong, x is `ahead`.
        """
        tau = self.motors(machine, q, v, given)
        pull, added = self._springs(q, v, given, before, ahead)
        if not self.resist:
            return machine.forward(q, v, tau + pull, added), tau
        if not ahead:
            force = tau - self.resistance(v, given) * v
            return machine.forward(q, v, force + pull), force
        r, h = self.resistance(before, given), given["h"]
        x = ahead if ahead == 1.0 else each(_damped, h * given["mobility"] * r)
        lost = x * h * r
        heavier = lost if added is None else lost + added
        a = machine.forward(q, v, tau - r * before + pull, heavier)
        return a, tau - r * (before + x * h * a)

    def _springs(
        self, q: Any, v: Any, given: Mapping[str, Any], before: Any, ahead: float
    ) -> tuple[Any, Any]:
        """What springs pull with, and what they add to the mass operator; None for nothing."""
        if not self.springs.joints:
            return 0.0, None
        pull = self.springs.force(q)
        if not ahead:
            return pull, None
        h, k = given["h"], self.stiffness
        if ahead == 1.0:
            y = each(_stiff, h * h * given["mobility"] * k)
            return pull - h * y * k * before, h * h * k * each(_heavier, y)
        return pull + (0.5 * h) * k * (v - before), (0.25 * h) * h * k

    def energies(self, machine: Mechanism, q: Any, v: Any) -> tuple[Any, ...]:
        """Those of the machine, the potential one with what is stored in its springs."""
        kinetic, potential, *locked = machine.energies(q, v)
        if self.springs.joints:
            potential = potential + self.springs.energy(q)
        return kinetic, potential, *locked


def _damped(z: Scalar) -> Scalar:
    """How far ahead losses are taken that act within a step z times: 1/2 unless they are strong,
    then as far as it takes for no speed to change its sign because of them."""
    return 1.0 - 1.0 / maximum(4.0 * z, 2.0)


def _stiff(s: Scalar) -> Scalar:
    """y: how far ahead a spring is taken that swings by the root of s, in radians, in a step."""
    return 1.0 - 1.0 / maximum(s, 1.0)


def _heavier(y: Scalar) -> Scalar:
    """What a spring adds to the mass operator, of its h^2 k: the least that is always stable."""
    return maximum(y, 0.25 + 0.5 * y)
