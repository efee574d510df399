"""phipsi as a contender: the compiled function, the checked one, results in place.

Every name of phipsi that is timed stands here, and what hands its loops to CasADi.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import phipsi as pp
from phipsi.compile import make_program
from phipsi.lowering.interpret import Run
from phipsi.lowering.machine import Machine, Values
from phipsi.lowering.outputs import Emit
from phipsi.scalars import Scalar

from .contender import CHECKED, IN_PLACE, OURS, Trial, first
from .robots import Robot
from .tasks import Task

# Column and options of `pp.compile`; by default it chooses the lanes, and whether to unroll.
VARIANTS: dict[str, dict[str, Any]] = {
    OURS: {},
    "1 lane": {"lanes": 1},
    "4 lanes": {"lanes": 4},
    "8 lanes": {"lanes": 8},
    "rolled": {"unroll": False},
}


@dataclass(frozen=True)
class Compiled:
    """A function made by `pp.compile`, called as a user calls it; it makes its result's array."""

    robot: Robot
    task: Task
    function: pp.Function
    gufunc: np.ufunc
    name: str = OURS

    def on(self, count: int, out: np.ndarray) -> Trial:
        return _trial(self.function, first(self.robot.states, self.task.arguments, count))


def compile_task(robot: Robot, task: Task, name: str = OURS) -> Compiled:
    """A variant of ours, by the name of its column, with its machine code made.

    Raises:
        BackendError: if there is none on this processor.
    """
    function = pp.compile(robot.model, task.expression, backend="llvm", **VARIANTS[name])
    return Compiled(robot, task, function, function.gufunc, name)


@dataclass(frozen=True)
class Checked:
    """The function of `pp`: what most users call."""

    robot: Robot
    task: Task
    name: str = CHECKED

    def on(self, count: int, out: np.ndarray) -> Trial:
        function = partial(self.task.checked, self.robot.model)
        return _trial(function, first(self.robot.states, self.task.arguments, count))


@dataclass(frozen=True)
class InPlace:
    """The gufunc below a compiled function, into an array that is there already."""

    compiled: Compiled
    name: str = IN_PLACE

    def on(self, count: int, out: np.ndarray) -> Trial:
        arguments = first(self.compiled.robot.states, self.compiled.task.arguments, count)
        run = partial(self.compiled.gufunc, *arguments, out=out)

        def answer() -> np.ndarray:
            run()
            return out

        return Trial(run, answer, count)


def run_program(
    robot: Robot, task: Task, entries: Mapping[str, Sequence[Scalar]], emit: Emit
) -> None:
    """Run the loops of a task on scalars of any kind, one list of them for each argument."""
    program = make_program((task.expression,))
    given = {letter: entries[letter.name] for letter in program.free}
    values = Values(entries["q"], entries.get("v"), given, {})
    Run(program, Machine(robot.model, program.shifted), values, [emit]).run()


def _trial(function: Any, arguments: list[np.ndarray]) -> Trial:
    """A single state is passed without a batch."""
    count = len(arguments[0])
    if count > 1:
        run = partial(function, *arguments)
        return Trial(run, run, count)
    run = partial(function, *(x[0] for x in arguments))
    return Trial(run, lambda: run()[None], 1)
