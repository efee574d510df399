"""How long functions take from nothing to the first result, in processes of their own.

    python -m benchmarks.cold robot             forward dynamics, all that it takes
    python -m benchmarks.cold robot task ...    functions, one after the other

The first prints seconds of the processor, what is imported for compiling included. The second
prints those of the processor and those on the wall, after all imports: first of a small function of
another machine, which brings what every process needs once, then of each task.
"""

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

import phipsi as pp

from .bar import Bar
from .plan import WARM, Plan
from .robots import FILES, Robot
from .section import Section, found_of
from .tables import digits, table
from .tasks import FORWARD, INVERSE, TASKS, Task

ROOT = Path(__file__).parents[1]
TIMES = 3  # processes, each with an empty cache
ROBOTS = ("ur5", "panda", "talos")
ASKED = ("forward", "inverse", "mass")
COLD_TIMES, WARM_TIMES = 2, 7  # processes for the table; the shortest time counts
BOUND = 10.0  # ms of a warm start
ONCE = "once"  # what every process needs, whatever its functions

Seconds = tuple[float, float]  # of the processor, on the wall

TEXT = f"""\
From `pp.compile` to the first result, milliseconds in processes of their own, after imports \
(phipsi, NumPy, llvmlite) and after the robot's file was read; the shortest of {COLD_TIMES} and \
{WARM_TIMES} processes. cold: the cache on disk is empty, and the function is lowered, traced and \
compiled. warm: another process has done that. On the wall, a process also waits for the disk and \
for other processes. `{ONCE}`: what the first function of a process takes besides, whatever it is, \
here a small one of another machine: LLVM is set up, the loop that all functions share is loaded, \
phipsi's own files are looked at.
"""


def cold_seconds(name: str) -> float:
    """The shortest of a few processes, each of which finds an empty cache."""
    found = []
    for _ in range(TIMES):
        with tempfile.TemporaryDirectory() as folder:
            found.append(_asked(folder, name))
    return min(found)


@dataclass(frozen=True)
class Start:
    """A function's first result.

    Args:
        robot: a key of `FILES`.
        task: a key of `TASKS`, or `ONCE`.
        cold, warm: ms of the processor, with an empty cache on disk, and with one that has the
            function.
        wall: ms on the wall, of the latter.
    """

    robot: str
    task: str
    cold: float
    warm: float
    wall: float


def measure_starts(plan: Plan) -> Iterator[Start]:
    """All functions of a robot in one process, again and again."""
    cold_times, warm_times = (1, 2) if plan.is_quick else (COLD_TIMES, WARM_TIMES)
    for name in dict.fromkeys(robot for robot, _ in plan.cases(ROBOTS, ASKED)):
        tasks = [task for _, task in plan.cases((name,), ASKED)]
        cold, warm = [], []
        for _ in range(cold_times):
            with tempfile.TemporaryDirectory() as folder:
                cold.append(_asked(folder, name, *tasks))
                warm = [_asked(folder, name, *tasks) for _ in range(warm_times)]
        for task in (ONCE, *tasks):
            processor, _ = best_of(cold, task)
            yield Start(name, task, processor, *best_of(warm, task))


def best_of(times: Sequence[dict[str, Seconds]], task: str) -> Seconds:
    """The shortest of a few processes, ms."""
    processor, wall = zip(*(x[task] for x in times), strict=True)
    return 1e3 * min(processor), 1e3 * min(wall)


def _asked(folder: str, *arguments: str):
    """What a process with this directory for its cache says."""
    said = subprocess.run(
        [sys.executable, "-m", "benchmarks.cold", *arguments],
        cwd=ROOT,
        env={**os.environ, "PHIPSI_CACHE": folder, "PHIPSI_BACKEND": "llvm"},
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(said.stdout)


def from_nothing(name: str) -> float:
    """Seconds of the processor until the first forward dynamics, imports included."""
    robot = Robot(name, count=1)
    state = [robot.states[x][0] for x in FORWARD.arguments]
    model = robot.model
    start = time.process_time()
    pp.compile(model, FORWARD.expression)(*state)
    return time.process_time() - start


def one_by_one(name: str, tasks: Sequence[str]) -> dict[str, Seconds]:
    """Seconds until each function's first result, after what a process needs once."""
    importlib.import_module("phipsi.backends.machine_code")  # llvmlite with it
    robot, other = Robot(name, count=1), pp.chain(2)
    states, zeros = robot.states, np.zeros((3, 2))
    seconds = {ONCE: timed(other, INVERSE, zeros)}
    for key in tasks:
        state = [states[x][0] for x in TASKS[key].arguments]
        seconds[key] = timed(robot.model, TASKS[key], state)
    return seconds


def timed(model: pp.Model, task: Task, state: Sequence[np.ndarray]) -> Seconds:
    """Compile, and call once."""
    wall, processor = time.perf_counter(), time.process_time()
    pp.compile(model, task.expression)(*state)
    return time.process_time() - processor, time.perf_counter() - wall


# -- what is made of it --------------------------------------------------------------------


def bars_of(starts: Sequence[Start]) -> Iterator[Bar]:
    """Warm starts, function by function."""
    for robot, task in product(ROBOTS, ASKED):
        found = found_of(starts, robot, task)
        what = f"{FILES[robot][0]}, {TASKS[task].name}, warm start"
        yield Bar(what, found and found.warm, BOUND, at_most=True, unit=" ms")


def start_table(starts: Sequence[Start]) -> str:
    """Milliseconds, and how many times as long a cold start takes."""
    rows = (
        (_what(x), *map(digits, (x.cold, x.warm, x.wall)), f"{x.cold / x.warm:.0f}×")
        for x in starts
    )
    head = ("function", "cold", "warm", "warm, on the wall", "cold beside warm")
    return table(head, rows)


def line_of_start(x: Start) -> str:
    """A function as a line, for who watches the run."""
    return f"{_what(x)}: cold {digits(x.cold)} ms, warm {digits(x.warm)} ms"


def _what(x: Start) -> str:
    return f"{FILES[x.robot][0]}, {ONCE if x.task == ONCE else TASKS[x.task].name}"


SECTION = Section(WARM, "Cold and warm", TEXT, measure_starts, line_of_start, start_table, bars_of)

if __name__ == "__main__":
    name, *tasks = sys.argv[1:]
    print(json.dumps(one_by_one(name, tasks) if tasks else from_nothing(name)))
