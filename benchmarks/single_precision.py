"""Single precision beside double: how many digits it leaves, how much faster it is.

    python -m benchmarks.single_precision            both tables, printed
    python -m benchmarks.single_precision --write    the digits into docs/accuracy.md as well

Both kinds of functions run on the same states, rounded to single precision, in one process and on
one thread. They are timed in turn, round after round; ratios are medians of the rounds.
"""

import argparse
import os

# One thread, and our own default, said before any library asks.
os.environ.update({x: "1" for x in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")})
os.environ.pop("PHIPSI_BACKEND", None)

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

import phipsi as pp
from phipsi.cli.timing import interleave

from .bars import Bar
from .digits import QUESTIONS, errors
from .report import bar_table, table
from .robots import FILES, Robot
from .tasks import FORWARD, INVERSE, MASS, TASKS, Task

PAGE = Path(__file__).parents[1] / "docs" / "accuracy.md"
MARKS = "<!-- single: written by benchmarks/single_precision.py -->", "<!-- end single -->"
ROBOTS = ("ur5", "panda", "solo12", "talos")
STATES = 1000
BATCHES = (64, 1024, 16384)
MANY = 1024  # states from which the call itself, the same in both, counts for little
BARRED = (FORWARD, INVERSE, MASS)
FASTER, AIM = 1.6, 1.9


# -- digits --------------------------------------------------------------------------------


def digit_table(robots: Sequence[str]) -> str:
    """The worst of all states, function by function."""
    machines = [Robot(name, STATES) for name in robots]
    rows = [
        [question.name, *(f"{errors(x.model, question, x.states).max():.0e}" for x in machines)]
        for question in QUESTIONS
    ]
    return table(("function", *(x.title for x in machines)), rows)


# -- speed ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ratio:
    """How many times as fast single precision is.

    Args:
        robot: its name.
        task: what is computed.
        batches: by the number of states.
    """

    robot: str
    task: Task
    batches: dict[int, float]


def ratio_of(robot: Robot, task: Task, batch: int, seconds: float) -> float:
    """Of a batch: both functions write into arrays of their own."""
    runs: dict[str, Callable[[], object]] = {}
    for name, kind in (("single", np.float32), ("double", np.float64)):
        function = pp.compile(robot.model, task.expression, backend="llvm", dtype=kind).gufunc
        arguments = [robot.states[x][:batch].astype(kind) for x in task.arguments]
        out = np.empty((batch, *task.shape(robot.model.nv)), kind)
        runs[name] = partial(function, *arguments, out=out)
    times = interleave(runs, dict.fromkeys(runs, batch), seconds=seconds)
    return times.ratio("double", "single")


def ratios(robots: Sequence[str], tasks: Sequence[str], seconds: float) -> Iterator[Ratio]:
    """All that is measured, in turn."""
    for name, key in product(robots, tasks):
        robot, task = Robot(name, max(BATCHES)), TASKS[key]
        yield Ratio(name, task, {n: ratio_of(robot, task, n, seconds) for n in BATCHES})


def ratio_table(found: Iterable[Ratio]) -> str:
    """How many times as fast, by the number of states."""
    rows = (
        [f"{FILES[x.robot][0]}, {x.task.name}", *(f"{x.batches[n]:.2f}×" for n in BATCHES)]
        for x in found
    )
    return table(("function", *(f"{n} states" for n in BATCHES)), rows)


def bars_of(found: Iterable[Ratio]) -> Iterator[Bar]:
    """Of batches of many states the slowest, function by function."""
    for x in found:
        if x.task in BARRED:
            what = f"{FILES[x.robot][0]}, {x.task.name}, single beside double precision"
            slowest = min(ratio for n, ratio in x.batches.items() if n >= MANY)
            yield Bar(what, slowest, FASTER, AIM)


# -- the command ---------------------------------------------------------------------------


def write(text: str) -> None:
    """Put the table of digits into the page, between its marks."""
    start, end = MARKS
    before, rest = PAGE.read_text(encoding="utf-8").split(start)
    _, after = rest.split(end)
    PAGE.write_text(f"{before}{start}\n{text}{end}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    choices = (*ROBOTS, *TASKS)
    parser.add_argument("--write", action="store_true", help=f"put the digits into {PAGE.name}")
    parser.add_argument(
        "--only", nargs="+", default=[], choices=choices, metavar="NAME", help=", ".join(choices)
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="for each ratio")
    options = parser.parse_args()
    robots, tasks = ([x for x in all_ if x in options.only] or [*all_] for all_ in (ROBOTS, TASKS))
    text = digit_table(ROBOTS if options.write else robots)
    print(text, flush=True)
    if options.write:
        write(text)
    found = list(ratios(robots, tasks, options.seconds))
    print(f"{ratio_table(found)}\n{bar_table([*bars_of(found)])}")


if __name__ == "__main__":
    main()
