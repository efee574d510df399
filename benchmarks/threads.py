"""Batches shared among threads, beside what the machine itself gains by as many.

Time is that of the clock on the wall. The machine's own gain is that of loops of fused
multiply-adds, which share nothing: what one more thread adds where the cores have one clock, or
others use them too. Both are measured in turn, round after round; the best of the rounds counts.
"""

import ctypes
import gc
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

import phipsi as pp
from phipsi.backends.llvm import Target

from .bar import Bar
from .contender import first
from .peak import TURNS, Peak, make_peak
from .plan import THREADS as PART
from .plan import Plan
from .robots import FILES, Robot
from .section import Section
from .tables import table
from .tasks import TASKS, Task

STATES = 16384
BODIES, FEWER = 10_000, 4_000  # of the tree; at a first look
THREADS = 2
ROBOTS = ("ur5", "panda", "talos")
ASKED = ("forward", "inverse", "mass")
LONG = 200 * TURNS  # turns of the loop of multiply-adds, some milliseconds
ROUNDS = 15  # at least
LONGER = 3  # times as long as elsewhere: both cores must be free for a moment
CALLS = 8  # in each round
BOUND = 0.9  # of the machine's own gain, for each robot and task

TEXT = f"""\
How many times as fast {THREADS} threads are as one, by the clock on the wall: batches of \
{STATES:,} states into an array that is there, and one state of a tree whose bodies carry two \
each. machine: loops of fused multiply-adds that share nothing, as many of them as threads, in the \
same rounds. It is what a second thread adds here at most, where the cores share a clock, are \
halves of one core, or have others to serve. Bits were the same.
"""


@dataclass(frozen=True)
class Gain:
    """How many times as fast several threads are as one.

    Args:
        what: was computed.
        threads: how many.
        ours: of phipsi.
        machine: of multiply-adds, in the same rounds.
    """

    what: str
    threads: int
    ours: float
    machine: float

    @property
    def share(self) -> float:
        """Of the machine's gain that is ours."""
        return self.ours / self.machine


def measure_threads(plan: Plan) -> Iterator[Gain]:
    """The gain of each task on each robot, and of one state of a large tree."""
    peak, seconds = make_peak(Target.host().lanes), LONGER * plan.seconds
    for name, key in plan.cases(ROBOTS, ASKED):
        yield measure_batch(Robot(name, STATES), TASKS[key], peak, seconds)
    if set(ROBOTS) <= set(plan.robots) and "forward" in plan.tasks:
        yield measure_tree(FEWER if plan.is_quick else BODIES, peak, seconds)


def measure_batch(robot: Robot, task: Task, peak: Peak, seconds: float) -> Gain:
    """Of a task on a robot, into an array that is there already."""
    function = pp.compile(robot.model, task.expression, backend="llvm").gufunc
    arguments = first(robot.states, task.arguments, robot.count)
    out = {n: np.empty((robot.count, *task.shape(robot.model.nv))) for n in (1, THREADS)}
    runs = {n: partial(function, *arguments, out=out[n]) for n in out}
    gain = _measure(name_of(robot.name, task.key), runs, peak, seconds)
    assert np.array_equal(out[1], out[THREADS]), "the same bits"
    return gain


def measure_tree(bodies: int, peak: Peak, seconds: float) -> Gain:
    """Of forward dynamics of one state: subtrees side by side."""
    model = tree_of(bodies)
    expression = TASKS["forward"].expression
    function = pp.compile(model, expression, unroll=False, backend="llvm").gufunc
    arguments = np.random.default_rng(0).normal(size=(3, model.nv))
    out = {n: np.empty(model.nv) for n in (1, THREADS)}
    runs = {n: partial(function, *arguments, out=out[n]) for n in out}
    gain = _measure(f"tree of {bodies:,} bodies, forward dynamics, one state", runs, peak, seconds)
    assert np.array_equal(out[1], out[THREADS]), "the same bits"
    return gain


def tree_of(bodies: int) -> pp.Model:
    """Each body carries two, as far as they go."""
    rng = np.random.default_rng(0)
    builder = pp.ModelBuilder(f"tree of {bodies:,}")
    for k in range(bodies):
        builder.add_body(
            f"b{k}",
            f"b{(k - 1) // 2}" if k else "world",
            pp.joints.Revolute(tuple(rng.normal(size=3))),
            position=0.2 * rng.normal(size=3),
            mass=1.0,
            com=0.1 * rng.normal(size=3),
            inertia=0.1 * np.eye(3),
        )
    return builder.build()


def _measure(what: str, runs: dict[int, Callable[[], object]], peak: Peak, seconds: float) -> Gain:
    spent: dict[int, list[float]] = {n: [] for n in runs}
    rates: dict[int, list[float]] = {n: [] for n in runs}
    before, enabled = pp.get_threads(), gc.isenabled()
    gc.disable()
    try:
        start = time.perf_counter()
        while len(rates[1]) < ROUNDS or time.perf_counter() - start < seconds:
            for n in runs:
                rates[n].append(multiply_adds(peak, n))
            for n, run in runs.items():
                pp.set_threads(n)
                run()
                spent[n] += [_seconds(run) for _ in range(CALLS)]
    finally:
        pp.set_threads(before)
        if enabled:
            gc.enable()
    ours = min(spent[1]) / min(spent[THREADS])
    return Gain(what, THREADS, ours, max(rates[THREADS]) / max(rates[1]))


def multiply_adds(peak: Peak, threads: int) -> float:
    """Turns per second of the loop, all threads together, each by its own clock."""
    together = threading.Barrier(threads)
    address = peak.engine.get_function_address("peak")
    loop = partial(ctypes.CFUNCTYPE(None, ctypes.c_int64)(address), LONG)

    def turn() -> float:
        together.wait()
        return LONG / _seconds(loop)

    with ThreadPoolExecutor(threads) as pool:
        return sum(x.result() for x in [pool.submit(turn) for _ in range(threads)])


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def name_of(robot: str, task: str) -> str:
    """What is computed there."""
    return f"{FILES[robot][0]}, {TASKS[task].name}, {STATES:,} states"


def line_of_gain(gain: Gain) -> str:
    """What was found, for who watches."""
    ours = f"{gain.what}, {gain.threads} threads: {gain.ours:.2f}×"
    return f"{ours}, multiply-adds {gain.machine:.2f}×, {gain.share:.2f} of it"


def bars_of(gains: Sequence[Gain]) -> Iterator[Bar]:
    """Of each robot and task the share of the machine's own gain."""
    shares = {gain.what: gain.share for gain in gains}
    for robot, task in product(ROBOTS, ASKED):
        what = name_of(robot, task)
        beside = f"{what} by {THREADS} threads beside the machine's own gain"
        yield Bar(beside, shares.get(what), BOUND)


def gain_table(gains: Sequence[Gain]) -> str:
    """Ours, the machine's, and the share."""
    rows = ((x.what, *(f"{n:.2f}×" for n in (x.ours, x.machine, x.share))) for x in gains)
    return table(("function", "phipsi", "machine", "share"), rows)


SECTION = Section(PART, "Threads", TEXT, measure_threads, line_of_gain, gain_table, bars_of)
