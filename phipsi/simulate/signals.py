"""Numbers of a control law over time: one value for all steps, one for each, or a function of t."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phipsi.errors import InputError

Check = Callable[[str, Any], np.ndarray]  # a user's value as (*batch, n), or InputError


@dataclass(frozen=True, eq=False)
class EachStep:
    """A value for each step of a simulation, held during it.

    Args:
        rows: (*batch, steps, n); of an operator given by blocks, a list of (*batch, steps, n, m).

    >>> import numpy as np
    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(1)
    >>> ramp = pp.control.EachStep(np.linspace(0.0, 1.0, 1000)[:, None])
    >>> law = pp.control.ComputedTorque(kp=400.0, kd=40.0, target=ramp, speeds=1.0)
    >>> pp.simulate(arm, [0.0], [1.0], duration=1.0, control=law).q[-1].round(2)
    array([1.])
    """

    rows: ArrayLike | list[ArrayLike]


class Signal:
    """The value of one vector of numbers over time.

    Args:
        name: for messages.
        value: an array, `EachStep`, or a function of t.
        check: makes an array (*batch, n) of a value.

    Attributes:
        first: (*batch, n), the value at the beginning.
        rows: (*batch, steps, n) where there is one for each step; else None.
        function: of t; None if there is none.
    """

    def __init__(self, name: str, value: Any, check: Check):
        self.name, self._check = name, check
        self.function: Callable | None = None
        self.rows: np.ndarray | None = None
        if isinstance(value, EachStep):
            self.rows = check(name, value.rows)
            if self.rows.ndim < 2:
                raise InputError(
                    f"{name}: EachStep has shape {self.rows.shape}; expected (*batch, steps, "
                    f"{self.rows.shape[-1]}), a row for each step"
                )
            self.first = self.rows[..., 0, :]
        elif callable(value):
            self.function = value
            self.first = check(name, value(0.0))
        else:
            self.first = check(name, value)

    @property
    def varies(self) -> bool:
        """Whether it has another value in another step."""
        return self.rows is not None or self.function is not None

    def check_steps(self, steps: int) -> None:
        """InputError unless there are as many rows as steps."""
        if self.rows is not None and self.rows.shape[-2] != steps:
            raise InputError(
                f"{self.name}: EachStep has {self.rows.shape[-2]} rows; expected {steps}, one for "
                "each step"
            )

    def at(self, time: float) -> np.ndarray:
        """The value at a time, (*batch, n); of a function only, or of what does not vary."""
        assert self.rows is None, "steps, not times"
        if self.function is None:
            return self.first
        answer = self.function(time)
        found = self._check(f"{self.name} at t = {time:.6g} s", answer)
        if found.shape != self.first.shape:
            raise InputError(
                f"{self.name}: at t = {time:.6g} s the function returned {reprlib.repr(answer)}; "
                "expected the shape that it had at t = 0"
            )
        return found

    def during(self, steps: np.ndarray, h: float) -> np.ndarray:
        """The values held during some steps of length h, (*batch, len(steps), n)."""
        if self.rows is not None:
            return self.rows[..., np.minimum(steps, self.rows.shape[-2] - 1), :]
        if self.function is None:
            return self.first[..., None, :]
        return np.stack([self.at(float(n * h)) for n in steps], axis=-2)
