"""Steps as long as the error allows, and states between them.

The error of a step is that of Dormand and Prince's pair: of the tangent beside the tolerance, of
the speeds beside tolerance (1 + size). A step is taken again if it is larger than 1; the next
one is chosen so that it will be about 0.6. Of a batch, the worst decides for all. States at the
wanted times come from the interpolation of order 4 that goes with the pair, by the same stages.

An explicit step is no longer than the fastest motion allows, also where that has died out: of a
spring of 1e12 N/m on a gram some 1e-9 s. So a run is given up when it has taken more steps than it
may, or as soon as it can be seen that it would: every time that the number of its steps has
doubled, the second half tells how many the rest will take. The fewer they are that tell it, the
more it must be: they may be those of a short transient.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phipsi.errors import InputError, SolveError
from phipsi.progress import Progress
from phipsi.simulate.arrays import ArrayStepper, joint_of
from phipsi.simulate.integrators import DOPRI
from phipsi.simulate.setup import Setup, ask, check_count, kept_steps

if TYPE_CHECKING:
    from phipsi.simulate.stepping import Stepper

# Weights of the stages at a fraction x of the step, as polynomials x, x^2, x^3, x^4
# [Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.6].
BETWEEN = np.array(
    [
        [1, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432],
        [0, 0, 0, 0],
        [0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799],
        [0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072],
        [0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632],
        [0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
        [0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
    ]
)
ORDER = 5
AIM, SHRINK, GROW = 0.9, 0.2, 5.0  # of the next step beside this one
SHORTEST = 1e-13  # beside the duration
STAGES = len(DOPRI.stages)
MOST, MOST_EACH = 1_000_000, 10  # steps, if nobody says otherwise: of a run, of each wanted time
FIRST, SURE = 1 << 8, 1 << 13  # steps that tell how many there will be, and that tell it surely


class AdaptiveRun:
    """A simulation in steps that the error decides.

    Args:
        setup: what to do; its steps are the times at which states are wanted.
        every: every so many of them are kept, and the last.
        progress: who is told.
        tolerance: of each step.
        most_steps: that it may take, those that are taken again included; None for `MOST`, or
            `MOST_EACH` for each wanted time.

    Attributes:
        q, v, tau, kept: as of `fixed.Run`.
    """

    def __init__(
        self, setup: Setup, every: int, progress: Progress, tolerance: Any, most_steps: Any = None
    ):
        if not isinstance(tolerance, (int, float)) or not 1e-14 <= tolerance <= 1.0:
            raise InputError(f"tolerance is {tolerance!r}; expected a number from 1e-14 to 1")
        by_steps = (x.name for x in setup.forces.signals.values() if x.rows is not None)
        name = "tau" if setup.tau.shape[-2] > 1 else next(by_steps, None)
        if name is not None:
            raise InputError(
                f"control: 'dopri' takes steps of its own, so a row of {name} for each step has no "
                "meaning; pass a function of time, or take another integrator"
            )
        default = max(MOST, MOST_EACH * setup.steps)
        self.most = default if most_steps is None else check_count("most_steps", most_steps)
        self.setup, self.progress, self.tolerance = setup, progress, tolerance
        self.times = setup.h * kept_steps(setup.steps, every)
        self.stepper = setup.arrays if setup.is_timed else setup.stepper()
        self.given = setup.given()
        q, v, self._report = setup.state()
        self.q, self.v = setup.room(len(self.times))
        self.tau = np.zeros(self.v.shape) if setup.control else None
        self.q[..., 0, :], self.v[..., 0, :] = q, v
        self.kept = 1
        self._reason: SolveError | None = None  # why the last step failed
        self._worst = ""  # the joint with the largest error in it
        self._halfway = 0.0  # the time when half of the steps were taken, at the last doubling
        self.about: dict[str, float] = {"tolerance": tolerance, "steps": 0, "rejected": 0}

    def go(self) -> bool:
        """To the end, or to an interrupt: whether the end was reached."""
        try:
            with self.progress:
                self._integrate()
        except KeyboardInterrupt:
            return False
        return True

    def _integrate(self) -> None:
        end = float(self.times[-1])
        time, h = 0.0, float(self.times[1])
        q, v = self.q[..., 0, :], self.v[..., 0, :]
        self._note(0, time)
        while self.kept < len(self.times):
            h = min(h, end - time) if end - time > 1e-9 * h else h
            self._check_pace(q, v, h, time, end)
            q1, v1, report, error = self._step(q, v, h, time)
            factor = GROW if error == 0.0 else AIM * error ** (-1 / ORDER)
            if not error <= 1.0:
                self.about["rejected"] += 1
                h *= max(SHRINK, factor) if np.isfinite(error) else SHRINK
                if h < SHORTEST * end:
                    self._fail(q, v, h, time)
                continue
            self._fill(q, v, report, time, h)
            time, q, v = time + h, q1, v1
            self.about["steps"] += 1
            h *= min(GROW, max(SHRINK, factor))
            self.progress.at(time)

    def _step(
        self, q: np.ndarray, v: np.ndarray, h: float, time: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """The next state, its stages, and the error beside the tolerance."""
        self._reason, self._worst = None, ""
        try:
            (q1, v1, report), alarm = self._run(self.stepper, q, v, h, time)
            if alarm and self.stepper is not self.setup.held:  # arrays look more closely
                (q1, v1, report), alarm = self._run(self.setup.held, q, v, h, time)
        except SolveError as error:
            self._reason, alarm = error, True
        if alarm:
            return q, v, self._report, np.inf
        n = self.setup.model.nv
        sizes = 1.0 + np.maximum(np.abs(v), np.abs(v1))
        scaled = np.maximum(np.abs(report[..., :n]), np.abs(report[..., n : 2 * n]) / sizes)
        worst = float(np.max(scaled, initial=0.0)) / self.tolerance
        if not np.isfinite(worst):
            return q, v, self._report, np.inf
        if scaled.size:
            entry = np.unravel_index(np.argmax(scaled), scaled.shape)[-1]
            self._worst = joint_of(self.setup.model, int(entry), "v").name
        return q1, v1, report, worst

    def _run(
        self, stepper: Stepper | ArrayStepper, q: np.ndarray, v: np.ndarray, h: float, time: float
    ) -> tuple[list[np.ndarray], bool]:
        """The state after one step, and whether something was noticed."""
        given = {**self.given, "h": np.array([h])}
        state = [q, v, self._report]
        out = [np.empty((*x.shape[:-1], 1, x.shape[-1])) for x in state]
        alarm = stepper.run(state, given, out, start=time)
        return [x[..., 0, :] for x in out], alarm

    def _fill(
        self, q: np.ndarray, v: np.ndarray, report: np.ndarray, time: float, h: float
    ) -> None:
        """States at the wanted times within a step."""
        n = self.setup.model.nv
        rates, accelerations = (
            report[..., 2 * n + k * STAGES * n :][..., : STAGES * n].reshape(
                *v.shape[:-1], STAGES, n
            )
            for k in (0, 1)
        )
        reached = (time + h) * (1.0 + 1e-12) + 1e-9 * self.setup.h
        rows = range(self.kept, int(np.searchsorted(self.times, reached, side="right")))
        if not rows:
            return
        x = np.minimum((self.times[rows.start : rows.stop] - time) / h, 1.0)
        weights = h * (x[:, None] ** np.arange(1, 5)) @ BETWEEN.T
        window = slice(rows.start, rows.stop)
        self.q[..., window, :] = self.setup.held.machine.move(q[..., None, :], weights @ rates)
        self.v[..., window, :] = v[..., None, :] + weights @ accelerations
        for row in rows:
            self._note(row, float(self.times[row]))
        self.kept = rows.stop

    def _note(self, row: int, time: float) -> None:
        """What a function of control gives at a kept state."""
        if self.tau is not None:
            q, v = self.q[..., row, :], self.v[..., row, :]
            self.tau[..., row, :] = ask(self.setup, time, q, v)

    def _check_pace(self, q: np.ndarray, v: np.ndarray, h: float, time: float, end: float) -> None:
        """SolveError if the end is not reached in as many steps as there may be."""
        taken = int(self.about["steps"] + self.about["rejected"])
        needed: float = taken + 1
        if taken.bit_count() == 1:
            gone, self._halfway = time - self._halfway, time
            if taken >= FIRST:
                rest = 0.5 * taken * (end - time) / gone if gone > 0.0 else np.inf
                needed = taken + rest * min(1.0, taken / SURE)
        if needed > self.most:
            if h < SHORTEST * end:  # there is no motion that quick: forces jump
                self._fail(q, v, h, time)
            raise SolveError(
                f"at t = {time:.6g} s, after {taken} steps, the next one is to be {h:.3g} s long, "
                f"and {end:.6g} s would take more than {self.most} such steps: {self._why_short(q)}"
            )

    def _why_short(self, q: np.ndarray) -> str:
        """Why steps are so short, and what to do."""
        stiff = self.setup.held.stiffness(
            q, float(self.times[-1]) / self.most, "a larger most_steps"
        )
        if stiff:
            return stiff
        where = f"joint {self._worst!r}" if self._worst else "the machine"
        return (
            f"{where} moves too quickly for an explicit integrator, as under high gains; take "
            "smaller gains, a larger tolerance, or a larger most_steps"
        )

    def _fail(self, q: np.ndarray, v: np.ndarray, h: float, time: float) -> None:
        """SolveError that says why the motion cannot be continued."""
        if self._reason is not None:
            raise self._reason
        if not self._worst:
            self._run(self.setup.held, q, v, h, time)  # says what is wrong, if it can be said
        where = f", least of all for joint {self._worst!r}" if self._worst else ""
        why = self.setup.held.stiffness(q, float(self.times[-1]) / self.most, "less stiffness")
        why = why or (
            "the forces jump there, or the motion runs away; raise the tolerance, or take "
            "integrator='rk4' with a small dt"
        )
        raise SolveError(
            f"at t = {time:.6g} s no step is short enough for the tolerance {self.tolerance:g}"
            f"{where}: {why}"
        )
