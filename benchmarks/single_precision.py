"""Single precision beside double: how much faster it is.

Both kinds of functions run on the same states, rounded to single precision, and write into arrays
of their own. They are timed in turn, round after round; ratios are medians of the rounds. How
many digits single precision leaves, `digits` finds out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

import phipsi as pp
from phipsi.cli.timing import interleave

from .bar import Bar
from .contender import DisagreementError, relative_error
from .digits import ROBOTS
from .plan import FLOAT32, Plan
from .robots import FILES, Robot
from .section import Section, found_of
from .tables import table
from .tasks import TASKS, Task

BATCHES = (64, 1024, 16384)
MANY = 1024  # states from which the call itself, the same in both, counts for little
FASTER, AIM = 1.6, 1.9
CLOSE = 1e-3  # of the largest entry: it is the same function

TEXT = """\
How many times as fast functions of `dtype=numpy.float32` are as those of double precision, which \
have half as many states side by side; into arrays that are there. The bars are on the slowest of \
the batches of 1,024 states and more. What is left of the digits is in `docs/accuracy.md`.
"""


@dataclass(frozen=True)
class Ratio:
    """How many times as fast single precision is.

    Args:
        robot, task: keys of `FILES` and `TASKS`.
        batches: by the number of states.
    """

    robot: str
    task: str
    batches: dict[int, float]

    @property
    def slowest(self) -> float:
        """Of the large batches."""
        return min(ratio for n, ratio in self.batches.items() if n >= MANY)


def measure_ratios(plan: Plan) -> Iterator[Ratio]:
    """All robots and tasks, one after the other."""
    sizes = BATCHES[1:] if plan.is_quick else BATCHES
    for name, key in plan.cases(ROBOTS, tuple(TASKS)):
        robot = Robot(name, max(sizes))
        ratios = {n: ratio_of(robot, TASKS[key], n, plan.seconds / 2) for n in sizes}
        yield Ratio(name, key, ratios)


def ratio_of(robot: Robot, task: Task, batch: int, seconds: float) -> float:
    """Of a batch, once results are alike."""
    runs: dict[str, Callable[[], np.ndarray]] = {}
    for name, kind in (("single", np.float32), ("double", np.float64)):
        function = pp.compile(robot.model, task.expression, backend="llvm", dtype=kind).gufunc
        arguments = [
            robot.states[x][:batch].astype(np.float32).astype(kind) for x in task.arguments
        ]
        out = np.empty((batch, *task.shape(robot.model.nv)), kind)
        runs[name] = partial(function, *arguments, out=out)
    error = relative_error(runs["single"]().astype(float), runs["double"]())
    if not error < CLOSE:  # nor is NaN
        raise DisagreementError(f"{robot.title}, {task.name}: single is off by {error:.1e}")
    times = interleave(runs, dict.fromkeys(runs, batch), seconds=seconds)
    return times.ratio("double", "single")


def bars_of(found: Sequence[Ratio]) -> Iterator[Bar]:
    """Function by function."""
    for task, robot in product(TASKS, ROBOTS):
        ratio = found_of(found, robot, task)
        what = f"{FILES[robot][0]}, {TASKS[task].name}, single beside double precision"
        yield Bar(what, ratio and ratio.slowest, FASTER, AIM)


def ratio_table(found: Sequence[Ratio]) -> str:
    """How many times as fast, by the number of states."""
    sizes = sorted(set().union(*(x.batches for x in found)))
    rows = (
        [
            f"{FILES[x.robot][0]}, {TASKS[x.task].name}",
            *(f"{x.batches[n]:.2f}×" if n in x.batches else "-" for n in sizes),
        ]
        for x in found
    )
    return table(("function", *(f"{n:,} states" for n in sizes)), rows)


def line_of_ratio(x: Ratio) -> str:
    """A function as a line, for who watches the run."""
    ratios = ", ".join(f"{n:,} states {ratio:.2f}×" for n, ratio in x.batches.items())
    return f"{FILES[x.robot][0]}, {TASKS[x.task].name}, single precision: {ratios}"


SECTION = Section(
    FLOAT32, "Single precision", TEXT, measure_ratios, line_of_ratio, ratio_table, bars_of
)
