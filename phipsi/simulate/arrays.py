"""Steps by arrays: slower than machine code, for machines of any size, with errors that say where.

It has the interface of `stepping.Stepper`, and is what that is compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from phipsi.backends.sequence import ITERATIONS
from phipsi.errors import SolveError
from phipsi.model.model import Joint, Model
from phipsi.simulate.forces import Forces
from phipsi.simulate.integrators import Ask, Dialogue
from phipsi.simulate.machines import ArrayMechanism
from phipsi.simulate.methods import Method
from phipsi.simulate.mobility import mobility

RUNAWAY = 1e12  # coordinates and speeds beyond that are none
SMALLER = "take a smaller dt, or integrator='dopri', which chooses its steps"


class ArrayStepper:
    """Steps of a machine by arrays.

    Args:
        model: the machine.
        method: the integrator.
        forces: what moves the joints.
        backend: of accelerations.
        asked: a function of (t, q, v) that gives tau, or numbers of the law, at every stage;
            None for none.
        threads: that share a large batch; None for the package's default.
    """

    def __init__(
        self,
        model: Model,
        method: Method,
        forces: Forces,
        backend: str | None,
        asked: Callable | None = None,
        threads: int | str | None = None,
    ):
        self.method, self.forces, self.asked = method, forces, asked
        self.machine = ArrayMechanism(model, backend, threads)
        self._first = np.empty(0)

    def run(
        self,
        state: Sequence[np.ndarray],
        given: Mapping[str, np.ndarray],
        out: Sequence[np.ndarray],
        inner: int = 1,
        varying: frozenset[str] = frozenset(),
        start: float = 0.0,
    ) -> bool:
        """Step on; see `stepping.Stepper.run`. It never needs looking at.

        Args:
            state, given, out, inner, varying: as there.
            start: the time of the state, for messages.

        Raises:
            SolveError: where a step has no result; names time and joint.
        """
        h = float(given["h"].flat[0])
        parts = list(state)
        self._first = parts[0]
        for n in range(out[0].shape[-2] * inner):
            rows = {name: x[..., n, :] if name in varying else x for name, x in given.items()}
            parts = self.step(parts, rows, start + n * h)
            if (n + 1) % inner == 0:
                for target, x in zip(out, parts, strict=True):
                    target[..., n // inner, :] = x
        return False

    def step(
        self, state: Sequence[np.ndarray], given: Mapping[str, np.ndarray], time: float
    ) -> list[np.ndarray]:
        """The state after one step."""
        names = list(self.method.state)
        values = dict(zip(names, state, strict=True))
        taken = {name: given[name] for name in self.method.given}
        for _ in range(ITERATIONS if self.method.iterated else 1):
            dialogue = self.method.dialogue(self.machine, **values, **taken)
            result = self._hold(dialogue, given, time)
            if not self.method.iterated:
                break
            *result, change = result
            goes_on = change > 1.0
            for name in self.method.iterated:  # what is found stays, whoever else goes on
                i = names.index(name)
                values[name] = result[i] = np.where(goes_on, result[i], values[name])
            if not goes_on.any():
                break
        else:
            raise SolveError(
                f"the implicit step from t = {time:.6g} s on has no solution near: {SMALLER}"
            )
        count = len(names)
        if len(result) > count:
            rest = np.concatenate(result[count - 1 :], axis=-1)
            result = [*result[: count - 1], rest]
        self._check(result, time, float(given["h"].flat[0]))
        return list(result)

    def _hold(self, dialogue: Dialogue, given: Mapping[str, np.ndarray], time: float) -> Any:
        answer: Any = None
        h = float(given["h"].flat[0])
        while True:
            try:
                with np.errstate(all="ignore"):
                    ask = dialogue.send(answer)
            except StopIteration as end:
                return end.value
            except ArithmeticError as error:
                raise SolveError(self._runaway(time, h)) from error
            now = time + ask.at * h
            self._check(ask.arguments, now, h)
            if self.asked is not None and ask.what != "energies":
                given = {**given, **self.asked(now, *ask.arguments[:2])}
            answer = self._answer(ask, given, now, h)

    def _answer(self, ask: Ask, given: Mapping[str, np.ndarray], time: float, h: float) -> Any:
        machine = self.machine
        q, v, before = (*ask.arguments, None)[:3]
        try:
            with np.errstate(all="ignore"):
                if ask.what == "energies":
                    return self.forces.energies(machine, q, v)
                a, force = self.forces.drive(machine, q, v, given, before, ask.ahead)
        except SolveError as error:
            raise SolveError(f"at t = {time:.6g} s: {error}") from error
        except ArithmeticError as error:
            raise SolveError(self._runaway(time, h)) from error
        return (a, force) if ask.what == "driven" else a

    def _check(self, state: Sequence[np.ndarray], time: float, h: float) -> None:
        """SolveError where numbers are not finite any more, or would not be much longer."""
        for x, which in zip(state, ("q", "v"), strict=False):
            bad = ~(np.abs(x) < RUNAWAY)
            if bad.any():
                at = int(np.argwhere(bad)[0][-1])
                joint = joint_of(self.machine.model, at, which)
                where = tuple(map(int, np.argwhere(bad)[0][:-1]))
                member = f" of motion {list(where)}" if where else ""
                what = f"{which} of joint {joint.name!r}{member} is {x[bad].flat[0]:.3g}: "
                raise SolveError(self._runaway(time, h, what))

    def _runaway(self, time: float, h: float, what: str = "") -> str:
        """What to say, and what to do."""
        return f"at t = {time:.6g} s {what}the motion runs away; {self._remedy(h)}"

    def _remedy(self, h: float) -> str:
        if self.method.implicit:
            return SMALLER
        return self.stiffness(self._first, h, "a smaller dt") or SMALLER

    def stiffness(self, q: np.ndarray, h: float, otherwise: str) -> str:
        """Which damping or spring acts within a step, and what to do; "" if none does.

        Args:
            q: where it is looked at, (*batch, nq).
            h: s, the length of the step.
            otherwise: what else helps against a spring.
        """
        model, forces = self.machine.model, self.forces
        if not (forces.damping.any() or forces.pull):
            return ""
        felt = mobility(model, q).reshape(-1, model.nv)
        strong = forces.too_strong(felt, h).any(axis=0)
        if strong.any():
            joint = joint_of(model, int(np.argmax(strong)), "v")
            return (
                f"the damping of joint {joint.name!r} acts within less than a step: take "
                "integrator='euler' or 'midpoint', which solve for it, or losses=False"
            )
        if forces.too_stiff(felt, h, most=1.0).any():
            stiffest = np.argmax(forces.swings(felt, h).max(axis=0))
            joint = joint_of(model, int(stiffest), "v")
            return (
                f"the spring of joint {joint.name!r} swings within a few steps: take "
                f"integrator='midpoint' or 'euler', which solve for it, or {otherwise}"
            )
        return ""


def joint_of(model: Model, entry: int, which: str) -> Joint:
    """The joint that an entry of q or v belongs to."""
    slices = ((x, getattr(x, which)) for x in model.leaders)
    return next(joint for joint, part in slices if part.start <= entry < part.stop)
