"""Steps of one length, in stretches of many: by machine code where tau is known beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from phipsi.progress import Progress
from phipsi.simulate.arrays import RUNAWAY, ArrayStepper
from phipsi.simulate.setup import Setup, ask, kept_count

if TYPE_CHECKING:
    from phipsi.simulate.stepping import Stepper

TILE = 1 << 20  # bytes of one tile of states, kept in a near cache
STRETCH = 1 << 24  # steps of all speeds together between looks at progress and Ctrl-C
SLOW_STRETCH = 1 << 8  # the same where steps are made by arrays


class Run:
    """A simulation in steps of one length.

    Args:
        setup: what to do.
        every: steps from one kept state to the next.
        progress: who is told.

    Attributes:
        kept: how many states are there, the first counted.
        q, v: (*batch, kept in all, n): the first, each `every`, the last.
        tau: what a function of control has given at the kept states; else None.
    """

    def __init__(self, setup: Setup, every: int, progress: Progress):
        self.setup, self.every, self.progress = setup, every, progress
        self.stepper = setup.stepper()
        self.given = setup.given()
        self.state = setup.state()
        self.batch = self.state[0].shape[:-1]
        self.q, self.v = setup.room(kept_count(setup.steps, every))
        self.tau = np.zeros(self.v.shape) if setup.control else None
        self.q[..., 0, :], self.v[..., 0, :] = self.state[:2]
        self.kept = 1
        self.about: dict[str, float] = {}

    def go(self) -> bool:
        """To the end, or to an interrupt: whether the end was reached."""
        try:
            with self.progress:
                if self.setup.control:
                    self._by_single_steps()
                else:
                    self._by_stretches()
        except KeyboardInterrupt:
            return False
        return True

    # -- tau is known ----------------------------------------------------------------------

    def _by_stretches(self) -> None:
        rows, rest = divmod(self.setup.steps, self.every)
        longest = self._longest()
        at_once = longest // self.every
        while self.kept <= rows:
            first = (self.kept - 1) * self.every
            if at_once:
                self._rows(first, min(at_once, rows + 1 - self.kept))
            else:
                self._row(first, self.every, longest)
            self.progress.at((self.kept - 1) * self.every * self.setup.h)
        if rest:
            self._row(rows * self.every, rest, longest)

    def _longest(self) -> int:
        """Steps at once: few enough for the cache, and for those who wait."""
        sizes = max(1, sum(x.shape[-1] for x in self.state))
        at_once = STRETCH if self.stepper is not self.setup.held else SLOW_STRETCH
        by_time = at_once // max(1, self.v[..., 0, :].size)
        by_kept = TILE // (64 * sizes) * self.every
        given = sum(self.given[name].shape[-1] for name in self.setup.varying)
        by_given = TILE // (64 * max(1, given)) if given else by_time
        return max(1, min(by_time, by_kept, by_given))

    def _rows(self, first: int, count: int) -> None:
        """To the next kept states, straight into the result."""
        window = slice(self.kept, self.kept + count)
        rest = [np.empty((*self.batch, count, x.shape[-1])) for x in self.state[2:]]
        out = [self.q[..., window, :], self.v[..., window, :], *rest]
        self._steps(out, self.every, first)
        self.kept += count

    def _row(self, first: int, count: int, longest: int) -> None:
        """To the next kept state, so many steps away, which may be far."""
        done = 0
        while done < count:
            inner = min(longest, count - done)
            self._steps(self._room(), inner, first + done)
            done += inner
            self.progress.at((first + done) * self.setup.h)
        self._keep()

    def _room(self) -> list[np.ndarray]:
        return [np.empty((*self.batch, 1, x.shape[-1])) for x in self.state]

    def _keep(self) -> None:
        self.q[..., self.kept, :], self.v[..., self.kept, :] = self.state[:2]
        self.kept += 1

    def _steps(self, out: list[np.ndarray], inner: int, first: int) -> None:
        """From the state to the last one of `out`."""
        count, varying = out[0].shape[-2] * inner, self.setup.varying
        given = {**self.given, **self.setup.rows(first, count)}
        alarm = self.stepper.run(self.state, given, out, inner, varying, first * self.setup.h)
        last = [x[..., -1, :] for x in out]
        if alarm or not _is_sound(last):
            self._look(given, count, first)
        self.state = last

    # -- a function gives tau --------------------------------------------------------------

    def _by_single_steps(self) -> None:
        """It is asked once for each step; where the last one ends, its forces still hold."""
        assert self.tau is not None
        h, every, steps = self.setup.h, self.every, self.setup.steps
        one, other = self._room(), self._room()
        for n in range(steps):
            tau = ask(self.setup, n * h, *self.state[:2])
            if n % every == 0:
                self.tau[..., n // every, :] = tau
            given = {**self.given, "tau": tau}
            alarm = self.stepper.run(self.state, given, one, start=n * h)
            last = [x[..., 0, :] for x in one]
            if alarm or not _is_sound(last):
                self._look(given, 1, n)
            self.state = last
            one, other = other, one
            if (n + 1) % every == 0 or n + 1 == steps:
                self.tau[..., self.kept, :] = tau
                self._keep()
            self.progress.at((n + 1) * h)

    # -- what went wrong -------------------------------------------------------------------

    def _look(self, given: Mapping[str, np.ndarray], count: int, first: int) -> None:
        """The last steps again, halved until the one is found that machine code complains of,
        and this by arrays: they say what is wrong, if anything is. From there on step by step.

        Raises:
            SolveError: says when, and which joint.
        """
        state, n, at_once = self.state, 0, max(1, count // 2)
        while n < count:
            at_once = min(at_once, count - n)
            last, good = self._try(self.stepper, state, given, n, at_once, first)
            if not good and at_once > 1:
                at_once //= 2
                continue
            if not good:
                _, good = self._try(self.setup.held, state, given, n, 1, first)
                assert good and _is_sound(last), "arrays would have said what is wrong"
            state, n = last, n + at_once

    def _try(
        self,
        stepper: Stepper | ArrayStepper,
        state: list[np.ndarray],
        given: Mapping[str, np.ndarray],
        n: int,
        count: int,
        first: int,
    ) -> tuple[list[np.ndarray], bool]:
        """The state after steps n to n + count, and whether nothing was noticed."""
        varying, out = self.setup.varying, self._room()
        rows = {name: given[name][..., n : n + count, :] for name in varying}
        time = (first + n) * self.setup.h
        alarm = stepper.run(state, {**given, **rows}, out, count, varying, time)
        last = [x[..., 0, :] for x in out]
        return last, not alarm and _is_sound(last)


def _is_sound(state: Sequence[np.ndarray]) -> bool:
    """Whether q and v are numbers, of sensible size."""
    return all((np.abs(x) < RUNAWAY).all() for x in state[:2])
