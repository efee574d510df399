"""Every public function of numbers, beside its compiled function, and Pinocchio where it has one.

`ROWS` lists the functions, `ELSEWHERE` what other public functions there are, and which part of a
run measures them. Contenders are timed in turn, once those that can be compared agree to 1e-9.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np
import pinocchio as pin

import phipsi as pp
from phipsi.cli.timing import interleave
from phipsi.dynamics import delayed, energy, forward, inverse, kinematics, mass, points
from phipsi.explain import sample

from .bar import Bar
from .contender import BATCH, CALL, CHECKED, OURS, TOLERANCE, DisagreementError, relative_error
from .pinocchio_peer import LOOP, machine_of, states_of
from .plan import (
    CHAINS,
    DERIVATIONS,
    EXPORT,
    FUNCTIONS,
    LOADING,
    PEERS,
    ROLLOUTS,
    THREADS,
    Plan,
)
from .robots import FILES, Robot
from .section import Section, found_of
from .tables import digits, table

ROBOTS = ("panda", "talos")
MANY = 1024  # states of a batch
BOUND = "bound"
IN_PLACE = "out="
COPY = "np.copyto"

ADDS = 0.1  # us that a function of `pp` may take beside its compiled function
LONG = 1.0  # us of a call of Pinocchio, from which on the ratio counts
FASTER = 1.5  # than such a call, at least
SHORT = 0.5  # us beside a shorter one, at most
FASTER_BOUND = 2.0
FASTER_BATCH = 10.0
COPIED = 1.0 / 3.0  # of the rate of `np.copyto`

TEXT = f"""\
Every public function that takes numbers. One state, microseconds per call at best: `{CHECKED}`, \
the function of `pp`; what it adds to `{OURS}`, its compiled function; `{BOUND}`, that function \
tied to arrays by `fn.bind`; and `{CALL}`. A batch of {MANY:,} states, microseconds per state: \
the function of `pp`, with a new array and with `{IN_PLACE}`; Pinocchio's C++ batch where it has \
one, else its calls from Python one after the other (the first {LOOP}). In parentheses how many \
times as long as the function of `pp` it took. `{COPY}`: how many times as long as copying an \
array of the size of the results the function takes with `{IN_PLACE}`.

A batch of mass matrices, or of their inverses, is an array of them: each of Pinocchio's is copied \
into one. Their bars are measured by the function with `{IN_PLACE}` and Pinocchio alone in turn: \
other arrays of 20 MB between the two would empty the caches of the one that writes as much.

Pinocchio's calls leave poses, velocities and accelerations in its data; reading them is not \
timed. Three are near, not the same: its momentum is about the mass centre, its accelerations of \
bodies feel gravity, its potential energy leaves out links that are welded to the world. The \
acceleration of a point takes two of its calls; a wrench at a point becomes one for every body. \
Sampling draws its random numbers beside what its compiled function does.
"""


@dataclass(frozen=True)
class Peer:
    """What Pinocchio has for a function.

    Args:
        call: of model, data and arguments.
        arguments: names of what it takes; those of `Question.theirs`.
        read: what it answers, in our coordinates, of a question, the data and what the call
            returned; None where the two are not the same numbers.
        batch: the same for many states, in C++.
    """

    call: Callable[..., Any]
    arguments: tuple[str, ...]
    read: Callable[["Question", pin.Data, Any], np.ndarray] | None = None
    batch: Callable[..., Any] | None = None


@dataclass(frozen=True)
class Row:
    """A function as it is asked.

    Args:
        function: of `pp`.
        arguments: names of what it takes after the model; those of `Question.arrays`, and
            `points`, `load` (a wrench at a point) and `rng`.
        formula: makes what it compiles; None where it compiles nothing.
        peer: Pinocchio's.
        how: what tells two rows of one function apart.
        faster: than Pinocchio's batch, at least; None where copying is the bar.
        in_place: whether its batch, with `out=`, stands beside one that Pinocchio leaves in an
            array, too: where results are matrices, their bytes take as long as what is computed,
            and its calls by themselves overwrite one matrix.
        is_compared: whether its answers are arrays, the same at every call.
        options: passed by name.
    """

    function: Callable[..., Any]
    arguments: tuple[str, ...]
    formula: Callable[[pp.Model], Any] | None
    peer: Peer | None = None
    how: str = ""
    faster: float | None = FASTER_BATCH
    in_place: bool = False
    is_compared: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        own = f"`{self.function.__name__}`"
        return f"{own}, {self.how}" if self.how else own

    @property
    def takes_out(self) -> bool:
        return "out" in inspect.signature(self.function).parameters


@dataclass(frozen=True, eq=False)
class Question:
    """A row, asked of a robot."""

    robot: Robot
    row: Row

    @property
    def title(self) -> str:
        return f"{self.robot.title}, {self.row.name}"

    @cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        """One entry per state, of all arguments that are arrays."""
        states, model, count = self.robot.states, self.robot.model, self.robot.count
        n, rng = len(model.bodies), np.random.default_rng(1)
        return {
            **states,
            "dq": states["v"],
            "q0": states["q"],
            "q1": np.roll(states["q"], 1, axis=0),
            "velocities": rng.normal(size=(count, n, 6)),
            "external": rng.normal(size=(count, n, 6)),
            "wrench": rng.normal(size=(count, 6)),
            "w": rng.normal(size=(count, model.nv)),
        }

    @property
    def place(self) -> str:
        """The body that points are on: the last."""
        return self.robot.model.bodies[-1].name

    def _of(self, name: str, count: int | None) -> np.ndarray:
        """The first states, or the first one alone if no count is given."""
        return self.arrays[name][0].copy() if count is None else self.arrays[name][:count]

    def asked(self, count: int | None = None) -> partial:
        """A call of the function of `pp`."""
        values: list[Any] = []
        for name in self.row.arguments:
            if name == "points":
                values.append(self.place)
            elif name == "load":
                values.append({self.place: self._of("wrench", count)})
            elif name == "rng":
                values.append(np.random.default_rng(2))
            else:
                values.append(self._of(name, count))
        return partial(self.row.function, self.robot.model, *values, **self.row.options)

    def compiled(self) -> tuple[pp.Function, list[np.ndarray], dict[str, Any]]:
        """The compiled function of one state, its arguments, and its named arguments."""
        assert self.row.formula is not None
        expression = self.row.formula(self.robot.model)
        function = pp.compile(self.robot.model, expression, backend="llvm", rewrite=False)
        values: list[np.ndarray] = []
        named: dict[str, Any] = {}
        for name in self.row.arguments:
            if name == "points":
                named["points"] = self.place
            elif name == "load":
                named |= {"external": self._of("wrench", None), "points": self.place}
            elif name == "external":
                everywhere = tuple(body.name for body in self.robot.model.bodies)
                named |= {"external": self._of(name, None).ravel(), "points": everywhere}
            elif name == "rng":
                named["w"] = self._of("w", None)
            elif name == "velocities":
                named[name] = self._of(name, None).ravel()
            else:
                values.append(self._of(name, None))
        return function, values, named

    # -- Pinocchio's -----------------------------------------------------------------------

    @cached_property
    def data(self) -> pin.Data:
        return machine_of(self.robot).model.createData()

    def theirs(self, name: str) -> Sequence[Any]:
        """An argument of Pinocchio's, an entry for each of the first states."""
        robot, machine = self.robot, machine_of(self.robot)
        if name in ("q", "v", "tau", "vdot"):
            return states_of(robot)[name][:LOOP]
        if name in ("q0", "q1"):
            return [machine.q_to_pin(q) for q in self.arrays[name][:LOOP]]
        if name == "dq":
            return self.arrays[name][:LOOP] @ machine.S.T
        if name == "frame":
            return [machine.model.getFrameId(self.place)] * min(LOOP, robot.count)
        if name == "world":  # in which aba is a little faster
            return [pin.Convention.WORLD] * min(LOOP, robot.count)
        if name == "rest":
            return np.zeros((min(LOOP, robot.count), robot.model.nv))
        last = len(robot.model.bodies) - 1
        rows = self.arrays["external"] if name == "external" else self.arrays["wrench"]
        poses = pp.body_poses(robot.model, robot.states["q"][:LOOP])
        found = []
        for own, pose in zip(rows, poses, strict=False):
            wrenches = dict(enumerate(own)) if name == "external" else {last: own}
            found.append(self._forces(wrenches, pose))
        return found

    def _forces(self, wrenches: dict[int, np.ndarray], poses: np.ndarray) -> pin.StdVec_Force:
        """Wrenches on bodies, in world axes, as Pinocchio takes them: in those of its joints."""
        machine = machine_of(self.robot)
        forces = pin.StdVec_Force()
        forces.extend(pin.Force.Zero() for _ in range(machine.model.njoints))
        for k, wrench in wrenches.items():
            R = poses[k, :3, :3]
            forces[machine.matches[k].number] = pin.Force(R.T @ wrench[3:], R.T @ wrench[:3])
        return forces

    def calls(self) -> list[partial]:
        """Pinocchio's calls, one for each of the first states."""
        assert self.row.peer is not None
        call = partial(self.row.peer.call, machine_of(self.robot).model, self.data)
        several = [self.theirs(name) for name in self.row.peer.arguments]
        return [partial(call, *row) for row in zip(*several, strict=True)]

    def batch(self) -> Callable[[], Any] | None:
        """Pinocchio's C++ batch of all states, if it has one."""
        peer = self.row.peer
        if peer is None or peer.batch is None:
            return None
        states = [states_of(self.robot)[name].T for name in self.row.arguments]
        out = np.empty((self.robot.count, self.robot.model.nv)).T
        pool = pin.ModelPool(machine_of(self.robot).model, 1)
        return partial(peer.batch, 1, pool, *states, out)

    def check(self, results: np.ndarray) -> None:
        """DisagreementError unless Pinocchio answers the same, where it does."""
        peer = self.row.peer
        if peer is None or peer.read is None:
            return
        for k, call in enumerate(self.calls()):
            theirs = peer.read(self, self.data, call())
            error = relative_error(results[k][None], np.asarray(theirs)[None])
            if not error < TOLERANCE:  # nor is NaN
                raise DisagreementError(f"{self.title}: {CALL} is off by {error:.1e}")


# -- what Pinocchio answers, in our coordinates --------------------------------------------


def _vector(question: Question, data: pin.Data, found: np.ndarray) -> np.ndarray:
    return machine_of(question.robot).S.T @ found


def _matrix(question: Question, data: pin.Data, found: np.ndarray) -> np.ndarray:
    S = machine_of(question.robot).S
    return S.T @ np.array(found) @ S


def _number(question: Question, data: pin.Data, found: float) -> np.ndarray:
    return np.array([found])


def _poses(question: Question, data: pin.Data, found: None) -> np.ndarray:
    return np.array([data.oMi[x.number].homogeneous for x in machine_of(question.robot).matches])


def _velocities(question: Question, data: pin.Data, found: None) -> np.ndarray:
    numbers = [x.number for x in machine_of(question.robot).matches]
    return np.array([_angular_first(data.v[number].vector) for number in numbers])


def _jacobian(question: Question, data: pin.Data, found: np.ndarray) -> np.ndarray:
    return _angular_first(found) @ machine_of(question.robot).S


def _motion(question: Question, data: pin.Data, found: pin.Motion) -> np.ndarray:
    return _angular_first(found.vector)


def _angular_first(x: np.ndarray) -> np.ndarray:
    return np.concatenate([x[3:], x[:3]])


def _bias_acceleration(model, data, q, v, rest, frame) -> pin.Motion:
    """The classical acceleration of a frame while no joint accelerates."""
    pin.forwardKinematics(model, data, q, v, rest)
    return pin.getFrameClassicalAcceleration(model, data, frame, pin.LOCAL_WORLD_ALIGNED)


def _frame_jacobian(model, data, q, frame) -> np.ndarray:
    return pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL_WORLD_ALIGNED)


def _integrate(model, data, q, dq) -> np.ndarray:
    return pin.integrate(model, q, dq)


def _difference(model, data, q0, q1) -> np.ndarray:
    return pin.difference(model, q0, q1)


# -- the functions -------------------------------------------------------------------------


def _forward(*flags: bool) -> Callable[[pp.Model], Any]:
    return lambda model: forward._forward(model, "FD4", *flags)


STATE = ("q", "v")
LOADED = ("q", "v", "tau")
MOTION = ("q", "v", "vdot")
PLACE = ("q", "points")

ROWS = (
    Row(
        pp.forward_dynamics,
        LOADED,
        _forward(),
        Peer(pin.aba, (*LOADED, "world"), _vector, pin.abaInParallel),
    ),
    Row(
        pp.forward_dynamics,
        (*LOADED, "external"),
        _forward(True),
        Peer(pin.aba, (*LOADED, "external", "world"), _vector),
        how="a wrench on every body",
    ),
    Row(
        pp.forward_dynamics,
        (*LOADED, "load"),
        _forward(True),
        Peer(pin.aba, (*LOADED, "load", "world"), _vector),
        how="a wrench at a point",
    ),
    Row(
        pp.inverse_dynamics,
        MOTION,
        inverse._newton_euler,
        Peer(pin.rnea, MOTION, _vector, pin.rneaInParallel),
    ),
    Row(pp.accelerations, LOADED, forward._accelerations, Peer(pin.aba, (*LOADED, "world"))),
    Row(pp.forward_dynamics_delayed, (*LOADED, "velocities"), delayed._delayed),
    Row(pp.mass_matrix, ("q",), mass._mass, Peer(pin.crba, ("q",), _matrix), in_place=True),
    Row(
        pp.mass_matrix_inverse,
        ("q",),
        mass._mass_inverse,
        Peer(pin.computeMinverse, ("q",), _matrix),
        in_place=True,
    ),
    Row(pp.bias_force, STATE, inverse._bias, Peer(pin.nonLinearEffects, STATE, _vector)),
    Row(
        pp.gravity_force,
        ("q",),
        inverse._gravity,
        Peer(pin.computeGeneralizedGravity, ("q",), _vector),
    ),
    Row(
        pp.body_poses,
        ("q",),
        kinematics._poses,
        Peer(pin.forwardKinematics, ("q",), _poses),
        faster=None,
    ),
    Row(
        pp.body_velocities,
        STATE,
        kinematics._velocities,
        Peer(pin.forwardKinematics, STATE, _velocities),
    ),
    Row(pp.kinetic_energy, STATE, energy._kinetic, Peer(pin.computeKineticEnergy, STATE, _number)),
    Row(
        pp.potential_energy,
        ("q",),
        energy._potential,
        Peer(pin.computePotentialEnergy, ("q",)),  # links welded to the world are not in it
    ),
    Row(pp.momentum, STATE, energy._momentum, Peer(pin.computeCentroidalMomentum, STATE)),
    Row(pp.jacobian, PLACE, points._jacobian, Peer(_frame_jacobian, ("q", "frame"), _jacobian)),
    Row(
        pp.jacobian_dot_v,
        (*STATE, "points"),
        points._bias_acceleration,
        Peer(_bias_acceleration, (*STATE, "rest", "frame"), _motion),
    ),
    Row(pp.operational_compliance, PLACE, points._compliance),
    Row(pp.operational_inertia, PLACE, points._inertia),
    Row(
        pp.integrate,
        ("q", "dq"),
        lambda model: pp.integrate,
        Peer(_integrate, ("q", "dq")),
        faster=5.0,
    ),
    Row(
        pp.difference,
        ("q0", "q1"),
        lambda model: pp.difference,
        Peer(_difference, ("q0", "q1"), _vector),
        faster=5.0,
    ),
    Row(pp.sample_velocity, ("q", "rng"), sample._velocity, is_compared=False),
    Row(pp.sample_force, ("q", "rng"), sample._force, is_compared=False),
    Row(
        pp.simulate,
        STATE,
        None,
        how="ten steps",
        is_compared=False,
        options={"duration": 0.01, "dt": 0.001, "integrator": "rk4", "losses": False},
    ),
)

# Other public functions: the part of a run that measures each, or None, and why it has no row.
ELSEWHERE: dict[str, tuple[str | None, str]] = {
    "rollout": (ROLLOUTS, "many steps of many states"),
    "compile": (PEERS, "makes functions; every part measures these"),
    "warmup": (None, "calls each function once, ahead"),
    "export": (EXPORT, "makes C code"),
    "load": (LOADING, "reads a file"),
    "derive": (DERIVATIONS, "searches among expressions"),
    "as_matrix": (DERIVATIONS, "the dense meaning, made to be compared with, not to be fast"),
    "chain": (CHAINS, "makes a machine"),
    "set_threads": (THREADS, "sets a number"),
    "get_threads": (THREADS, "tells a number"),
    "point": (None, "names a place"),
    "from_pinocchio": (None, "takes over a model"),
    "from_mujoco": (None, "takes over a model"),
    "save_urdf": (None, "writes a file"),
    "diagnose": (None, "a report for a person, of many functions"),
    "check_letter": (None, "a report for a person, of a letter"),
    "explain": (None, "text for a person"),
    "draw_blocks": (None, "a drawing for a person"),
    "draw_dataflow": (None, "a drawing for a person"),
    "view": (None, "a window for a person"),
    "parse": (None, "reads an expression"),
    "identity": (None, "looks up an equation"),
    "identities": (None, "lists equations"),
    "add_identity": (None, "registers an equation"),
    "forget_identity": (None, "removes an equation"),
}


# -- measuring -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """What was measured of a row on a robot.

    Args:
        robot: a key of `FILES`.
        task: the name of the row.
        micros, many: microseconds per state of each contender, at best, by single calls and in
            a batch.
        ratios: how many times as long as the function of `pp` each took by single calls.
        many_ratios: the same of batches.
        bound: how many times as long as the bound function Pinocchio's call took.
        copied: how many times as long as copying its results the function takes with `out=`.
        beside_in_place: how many times as long as the function with `out=` Pinocchio's batch took,
            these two alone in turn.
    """

    robot: str
    task: str
    micros: dict[str, float]
    many: dict[str, float]
    ratios: dict[str, float]
    many_ratios: dict[str, float]
    bound: float | None = None
    copied: float | None = None
    beside_in_place: float | None = None

    @property
    def adds(self) -> float | None:
        """Microseconds that the function of `pp` takes beside its compiled function."""
        return self.micros[CHECKED] * (1.0 - self.ratios[OURS]) if OURS in self.ratios else None

    @property
    def peer(self) -> str:
        """Which of Pinocchio's contenders the batch stands beside."""
        return BATCH if BATCH in self.many else CALL


def measure_functions(plan: Plan) -> Iterator[Found]:
    """Every function on every robot."""
    for name in ROBOTS:
        if name in plan.robots:
            robot = Robot(name, MANY)
            for row in ROWS:
                yield measure_function(Question(robot, row), plan.seconds)


def single_runs(question: Question) -> dict[str, Callable[[], Any]]:
    """All contenders on the first state."""
    row = question.row
    runs: dict[str, Callable[[], Any]] = {CHECKED: question.asked()}
    if row.formula is not None:
        function, values, named = question.compiled()
        runs[OURS] = partial(function, *values, **named)
        runs[BOUND] = function.bind(*values, **named)
    if row.peer is not None:
        runs[CALL] = question.calls()[0]
    return runs


def batch_runs(question: Question) -> tuple[dict[str, Callable[[], Any]], dict[str, int]]:
    """All contenders on all states, and how many states each does."""
    row, count = question.row, question.robot.count
    asked = question.asked(count)
    runs: dict[str, Callable[[], Any]] = {CHECKED: asked}
    if row.takes_out:
        found = asked()
        if isinstance(found, pp.Trajectory):
            found = found.q, found.v
        several = found if isinstance(found, tuple) else (found,)
        rooms = tuple(np.zeros_like(x) for x in several)
        runs[IN_PLACE] = partial(asked, out=rooms if isinstance(found, tuple) else rooms[0])
        runs[COPY] = lambda: [np.copyto(y, x) for x, y in zip(several, rooms, strict=True)]
    work = dict.fromkeys(runs, count)
    batch = question.batch()
    if batch is not None:
        runs[BATCH], work[BATCH] = batch, count
    elif row.peer is not None:
        calls = question.calls()
        runs[CALL], work[CALL] = partial(_run_all, calls), len(calls)
        if row.in_place:
            room = np.zeros((len(calls), *calls[0]().shape))
            runs[CALL] = partial(_keep_all, calls, room)
    return runs, work


def _run_all(calls: Sequence[Callable[[], Any]]) -> None:
    for call in calls:
        call()


def _keep_all(calls: Sequence[Callable[[], np.ndarray]], room: np.ndarray) -> None:
    for call, place in zip(calls, room, strict=True):
        np.copyto(place, call())


def check_answers(question: Question) -> None:
    """DisagreementError unless all contenders answer the same, where they do."""
    row = question.row
    if not row.is_compared:
        return
    many = question.asked(question.robot.count)()
    runs = single_runs(question)
    for name in (CHECKED, OURS, BOUND):
        if name in runs:
            _compare(f"{question.title}, {name}", runs[name](), many)
    question.check(many[0] if isinstance(many, tuple) else many)


def _compare(what: str, one: Any, many: Any) -> None:
    """DisagreementError unless an answer is that of the first state."""
    singles = one if isinstance(one, tuple) else (one,)
    batches = many if isinstance(many, tuple) else (many,)
    for x, y in zip(singles, batches, strict=True):
        error = relative_error(np.ravel(x)[None], np.ravel(y[0])[None])
        if not error < TOLERANCE:  # nor is NaN
            raise DisagreementError(f"{what}: off by {error:.1e} from a batch")


def measure_function(question: Question, seconds: float) -> Found:
    """By single calls, then in a batch, once the answers agree."""
    check_answers(question)
    runs = single_runs(question)
    one = interleave(runs, dict.fromkeys(runs, 1), seconds=seconds)
    several, work = batch_runs(question)
    many = interleave(several, work, seconds=seconds)
    peer = BATCH if BATCH in several else CALL
    alone = None
    if question.row.in_place:  # copies of many bytes between the two would empty the caches of one
        pair = IN_PLACE, peer
        two, their_work = ({name: x[name] for name in pair} for x in (several, work))
        alone = interleave(two, their_work, seconds=seconds).ratio(peer, IN_PLACE)
    return Found(
        question.robot.name,
        question.row.name,
        {name: 1e6 * one.best(name) for name in runs},
        {name: 1e6 * many.best(name) for name in several},
        {name: one.ratio(name, CHECKED) for name in runs},
        {name: many.ratio(name, CHECKED) for name in several},
        bound=one.ratio(CALL, BOUND) if CALL in runs and BOUND in runs else None,
        copied=many.ratio(IN_PLACE, COPY) if COPY in several else None,
        beside_in_place=alone,
    )


# -- showing -------------------------------------------------------------------------------


def bars_of(several: Sequence[Found]) -> Iterator[Bar]:
    """Of all that Pinocchio has too."""
    for robot, row in product(ROBOTS, ROWS):
        if row.peer is None:
            continue
        found = found_of(several, robot, row.name)
        what = f"{FILES[robot][0]}, {row.name}"
        if row.formula is not None:
            adds = f"{what}, {CHECKED} beside its compiled function"
            yield Bar(adds, found and found.adds, ADDS, at_most=True, unit=" us")
            bound = f"{what}, one state by the {BOUND} function beside {CALL}"
            yield Bar(bound, found and found.bound, FASTER_BOUND)
        if found and found.micros[CALL] < LONG:
            short = f"{what}, one state, {CALL} below {LONG:g} us"
            yield Bar(short, found.micros[CHECKED], SHORT, at_most=True, unit=" us")
        else:
            yield Bar(f"{what}, one state beside {CALL}", found and found.ratios[CALL], FASTER)
        if row.faster is None:
            rate = found and found.copied and 1.0 / found.copied
            yield Bar(f"{what}, {MANY:,} states, {IN_PLACE}, rate beside {COPY}", rate, COPIED)
        else:
            ratio = found and found.many_ratios[found.peer]
            if row.in_place:
                what, ratio = f"{what}, {IN_PLACE}", found and found.beside_in_place
            yield Bar(f"{what}, {MANY:,} states beside Pinocchio", ratio, row.faster)


def function_table(several: Sequence[Found]) -> str:
    """Microseconds per state."""
    head = (
        "function",
        CHECKED,
        "adds",
        OURS,
        BOUND,
        CALL,
        f"{MANY:,} states",
        IN_PLACE,
        "Pinocchio",
        COPY,
    )
    return table(head, (_cells(x) for x in several))


def _cells(x: Found) -> Iterator[str]:
    yield f"{FILES[x.robot][0]}, {x.task}"
    yield digits(x.micros[CHECKED])
    yield "-" if x.adds is None else f"{x.adds:.2f}"
    yield digits(x.micros.get(OURS))
    yield digits(x.micros.get(BOUND))
    yield _beside(x.micros, x.ratios, CALL)
    yield digits(x.many[CHECKED])
    yield digits(x.many.get(IN_PLACE))
    yield _beside(x.many, x.many_ratios, x.peer)
    yield "-" if x.copied is None else f"{x.copied:.1f}×"


def _beside(micros: dict[str, float], ratios: dict[str, float], name: str) -> str:
    return f"{digits(micros[name])} ({ratios[name]:.1f}×)" if name in micros else "-"


def line_of_function(x: Found) -> str:
    """A function as a line, for who watches the run."""
    one, many = _beside(x.micros, x.ratios, CALL), _beside(x.many, x.many_ratios, x.peer)
    ours = f"{digits(x.micros[CHECKED])} us, in a batch {digits(x.many[CHECKED])}"
    return f"{FILES[x.robot][0]}, {x.task}: {ours}; Pinocchio {one}, {many}"


SECTION = Section(
    FUNCTIONS,
    "Public functions",
    TEXT,
    measure_functions,
    line_of_function,
    function_table,
    bars_of,
)
