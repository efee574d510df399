"""Pinocchio as a contender: its Python call, state by state, and its own C++ batch.

Both get their states in Pinocchio's coordinates and keep theirs for results; only the
comparison converts. Matrices have no C++ batch.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path

import numpy as np
import pinocchio as pin

import phipsi as pp

from .contender import BATCH, CALL, Trial, first
from .robots import Robot
from .tasks import FORWARD, INVERSE, MASS, MASS_INVERSE, Task

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from peers import pinocchio_bridge

LOOP = 256  # states that the call is timed on: it does not get faster by more of them
PEER = 300  # bodies of chains; data holds tensors of nv^3 numbers, 24 GB for 1,000 bodies

# Functions, and what else they are passed: aba is a little faster in the world's frame.
CALLS: dict[Task, tuple[Callable, tuple]] = {
    FORWARD: (pin.aba, (pin.Convention.WORLD,)),
    INVERSE: (pin.rnea, ()),
    MASS: (pin.crba, ()),
    MASS_INVERSE: (pin.computeMinverse, ()),
}
BATCHES = {FORWARD: pin.abaInParallel, INVERSE: pin.rneaInParallel}


@cache
def machine_of(robot: Robot) -> pinocchio_bridge.PinMachine:
    """The model that Pinocchio reads from the robot's file; its mimic joints are independent."""
    return pinocchio_bridge.from_urdf(robot.model, robot.path, robot.base)


@cache
def states_of(robot: Robot) -> dict[str, np.ndarray]:
    """The robot's states in Pinocchio's coordinates; v_pin = S v, and S is a permutation."""
    machine = machine_of(robot)
    S = machine.S
    assert np.array_equal(S @ S.T, np.eye(robot.model.nv)), "forces would need another matrix"
    q = np.array([machine.q_to_pin(x) for x in robot.states["q"]])
    return {"q": q, **{name: robot.states[name] @ S.T for name in ("v", "tau", "vdot")}}


def to_ours(robot: Robot, results: np.ndarray) -> np.ndarray:
    """Vectors S* x, matrices S* X S."""
    S = machine_of(robot).S
    return results @ S if results.ndim == 2 else S.T @ results @ S


@dataclass(frozen=True)
class Call:
    """One Python call after the other."""

    robot: Robot
    task: Task
    name: str = CALL

    @cached_property
    def data(self) -> pin.Data:
        return machine_of(self.robot).model.createData()

    def on(self, count: int, out: np.ndarray) -> Trial:
        count = min(count, LOOP)
        function, options = CALLS[self.task]
        call = partial(function, machine_of(self.robot).model, self.data)
        arguments = first(states_of(self.robot), self.task.arguments, count)
        rows = [(*row, *options) for row in zip(*arguments, strict=True)]

        def run() -> None:
            for row in rows:
                call(*row)

        def answer() -> np.ndarray:
            return to_ours(self.robot, np.array([np.array(call(*row)) for row in rows]))

        return Trial(partial(call, *rows[0]) if count == 1 else run, answer, count)


@dataclass(frozen=True)
class Batch:
    """`abaInParallel` or `rneaInParallel` on one thread."""

    robot: Robot
    task: Task
    name: str = BATCH

    @cached_property
    def pool(self) -> pin.ModelPool:
        return pin.ModelPool(machine_of(self.robot).model, 1)

    def on(self, count: int, out: np.ndarray) -> Trial:
        arguments = first(states_of(self.robot), self.task.arguments, count)
        columns = [x.T for x in (*arguments, out)]  # a state's numbers lie side by side
        run = partial(BATCHES[self.task], 1, self.pool, *columns)

        def answer() -> np.ndarray:
            run()
            return to_ours(self.robot, out)

        return Trial(run, answer, count)


def chain_call(model: pp.Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> partial:
    """Forward dynamics of a chain of single-axis joints, whose coordinates are ours."""
    machine = pinocchio_bridge.from_model(model)
    function, options = CALLS[FORWARD]
    return partial(function, machine.model, machine.model.createData(), q, v, tau, *options)
