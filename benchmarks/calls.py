"""Ways of calling a function: points that move, results in place, directions left out, draws.

Each call stands beside another that does the same: Pinocchio's, or ours in the plain way. Answers
that can be compared agree to 1e-9 before anything is timed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle, product
from typing import Any

import numpy as np
import pinocchio as pin

import phipsi as pp
from phipsi.cli.timing import interleave

from .bar import Bar
from .contender import CALL, TOLERANCE, DisagreementError, relative_error
from .functions import FASTER, LONG, ROBOTS, SHORT
from .pinocchio_peer import machine_of, states_of
from .plan import CALLS, Plan
from .robots import FILES, Robot
from .section import Section, found_of
from .tables import digits, table
from .tasks import FORWARD

PLACES = 1024  # positions that points go through
PLAIN = "the plain call"

TEXT = f"""\
Microseconds per call at best, of one state, and how many times as long the call beside it took: \
Pinocchio's where it has one, else {PLAIN}, ours with new results and all arguments by place. A \
point that moves is at another of {PLACES:,} positions at every call. `jvp` and `vjp` are those of \
forward dynamics. NumPy draws our configurations.
"""

Run = Callable[[], Any]


@dataclass(frozen=True)
class Case:
    """A way of calling.

    Args:
        name: on the page.
        make: of a robot our call, and the one beside it.
        beside: whose that is.
        read: its answer in our coordinates, of a robot and what it returned; None where the two
            do not answer the same.
        has_bar: whether one is set: beside Pinocchio, where both compute in machine code.
    """

    name: str
    make: Callable[[Robot], tuple[Run, Run]]
    beside: str
    read: Callable[[Robot, Any], Any] | None = None
    has_bar: bool = False


@dataclass(frozen=True)
class Found:
    """What was measured: microseconds of both calls, and how many times as long the other took."""

    robot: str
    task: str
    micros: float
    beside: float
    ratio: float


# -- the calls -----------------------------------------------------------------------------


def _state(robot: Robot) -> list[np.ndarray]:
    return [robot.states[name][0].copy() for name in ("q", "v", "tau")]


def _moving(robot: Robot) -> tuple[Iterator[pp.Point], Iterator[pin.SE3]]:
    """A place on the last body, ours and Pinocchio's, another at every step."""
    body = robot.model.bodies[-1].name
    positions = np.random.default_rng(3).normal(size=(PLACES, 3))
    ours, theirs = (
        [pp.point(body, x) for x in positions],
        [pin.SE3(np.eye(3), x) for x in positions],
    )
    return cycle(ours), cycle(theirs)


def _jacobian(robot: Robot) -> tuple[Run, Run]:
    machine, (q, *_) = machine_of(robot), _state(robot)
    data, joint = machine.model.createData(), machine.matches[-1].number
    theirs, (ours_at, theirs_at) = states_of(robot)["q"][0], _moving(robot)
    model, jacobian = robot.model, pp.jacobian

    def run() -> np.ndarray:
        return jacobian(model, q, next(ours_at))

    def beside() -> np.ndarray:
        pin.computeJointJacobians(machine.model, data, theirs)
        at, axes = next(theirs_at), pin.LOCAL_WORLD_ALIGNED
        return pin.getFrameJacobian(machine.model, data, joint, at, axes)

    return run, beside


def _read_jacobian(robot: Robot, found: np.ndarray) -> np.ndarray:
    return np.concatenate([found[3:], found[:3]]) @ machine_of(robot).S


def _wrench(robot: Robot) -> tuple[Run, Run]:
    machine, (q, v, tau) = machine_of(robot), _state(robot)
    data, joint = machine.model.createData(), machine.matches[-1].number
    own = [states_of(robot)[name][0] for name in ("q", "v", "tau")]
    push, (ours_at, theirs_at) = np.arange(6.0), _moving(robot)
    model, forward_dynamics = robot.model, pp.forward_dynamics
    R = pp.body_poses(robot.model, q)[-1, :3, :3]
    force = pin.Force(R.T @ push[3:], R.T @ push[:3])
    forces = pin.StdVec_Force()
    forces.extend(pin.Force.Zero() for _ in range(machine.model.njoints))

    def run() -> np.ndarray:
        return forward_dynamics(model, q, v, tau, {next(ours_at): push})

    def beside() -> np.ndarray:
        forces[joint] = next(theirs_at).act(force)
        return pin.aba(machine.model, data, *own, forces, pin.Convention.WORLD)

    return run, beside


def _read_vector(robot: Robot, found: np.ndarray) -> np.ndarray:
    return machine_of(robot).S.T @ found


def _as_it_is(robot: Robot, found: Any) -> Any:
    return found


def _in_place(robot: Robot, spread: int) -> tuple[Run, Run]:
    state = _state(robot)
    out = np.empty(spread * robot.model.nv)[::spread]
    plain = partial(pp.forward_dynamics, robot.model, *state)
    return partial(plain, out=out), plain


def _derivative(robot: Robot, kind: str) -> tuple[Run, Run]:
    """By q alone beside all directions, the others zero; a gradient with its weight by name."""
    function = getattr(pp.compile(robot.model, FORWARD.expression), kind)
    state, direction = _state(robot), np.ones(robot.model.nv)
    if kind == "vjp":
        return partial(function, *state, w=direction), partial(function, *state, direction)
    zeros = np.zeros((2, robot.model.nv))
    return partial(function, *state, dq=direction), partial(function, *state, direction, *zeros)


def _random(robot: Robot) -> tuple[Run, Run]:
    rng, peer = np.random.default_rng(4), machine_of(robot).model
    return partial(robot.model.random, rng), partial(pin.randomConfiguration, peer)


def _neutral(robot: Robot) -> tuple[Run, Run]:
    return robot.model.neutral, partial(pin.neutral, machine_of(robot).model)


CASES = (
    Case("`jacobian` at a point that moves", _jacobian, CALL, _read_jacobian, True),
    Case("`forward_dynamics`, a wrench at a point that moves", _wrench, CALL, _read_vector, True),
    Case("`forward_dynamics`, `out=`", partial(_in_place, spread=1), PLAIN, _as_it_is),
    Case("`forward_dynamics`, strided `out=`", partial(_in_place, spread=2), PLAIN, _as_it_is),
    Case("`jvp`, by q alone", partial(_derivative, kind="jvp"), PLAIN, _as_it_is),
    Case("`vjp`, weight by name", partial(_derivative, kind="vjp"), PLAIN, _as_it_is),
    Case("`model.neutral`", _neutral, CALL, has_bar=True),
    Case("`model.random`", _random, CALL),
)


# -- measuring -----------------------------------------------------------------------------


def measure_call(robot: Robot, case: Case, seconds: float) -> Found:
    """Both calls in turn, once they agree."""
    run, beside = case.make(robot)
    if case.read is not None:
        answers = run(), case.read(robot, beside())
        several = (x if isinstance(x, tuple) else (x,) for x in answers)
        for one, other in zip(*several, strict=True):
            error = relative_error(np.ravel(one)[None], np.ravel(other)[None])
            if not error < TOLERANCE:  # nor is NaN
                raise DisagreementError(f"{robot.title}, {case.name}: off by {error:.1e}")
    runs = {"ours": run, "beside": beside}
    times = interleave(runs, dict.fromkeys(runs, 1), seconds=seconds)
    best = (1e6 * times.best(name) for name in runs)
    return Found(robot.name, case.name, *best, times.ratio("beside", "ours"))


def measure_calls(plan: Plan) -> Iterator[Found]:
    """Every way on every robot."""
    for name in ROBOTS:
        if name in plan.robots:
            robot = Robot(name, 2)
            for case in CASES:
                yield measure_call(robot, case, plan.seconds)


# -- showing -------------------------------------------------------------------------------


def bars_of(several: Sequence[Found]) -> Iterator[Bar]:
    """Those that all public functions have beside Pinocchio."""
    for robot, case in product(ROBOTS, CASES):
        if not case.has_bar:
            continue
        found = found_of(several, robot, case.name)
        what = f"{FILES[robot][0]}, {case.name}, beside {case.beside}"
        if found and found.beside < LONG:
            yield Bar(f"{what} below {LONG:g} us", found.micros, SHORT, at_most=True, unit=" us")
        else:
            yield Bar(what, found and found.ratio, FASTER)


def call_table(several: Sequence[Found]) -> str:
    """Microseconds per call."""
    beside = {case.name: case.beside for case in CASES}
    rows = (
        (
            f"{FILES[x.robot][0]}, {x.task}",
            digits(x.micros),
            f"{digits(x.beside)} ({x.ratio:.1f}×)",
            beside[x.task],
        )
        for x in several
    )
    return table(("call", "phipsi", "beside", "which is"), rows)


def line_of_call(x: Found) -> str:
    """A call as a line, for who watches the run."""
    ours, beside = digits(x.micros), digits(x.beside)
    return f"{FILES[x.robot][0]}, {x.task}: {ours} us; beside {beside} ({x.ratio:.1f}×)"


SECTION = Section(CALLS, "Ways of calling", TEXT, measure_calls, line_of_call, call_table, bars_of)
