"""Exported C beside machine code: the header compiled by the C compiler, the same states.

One state after the other: a loop of C over the exported function, beside the kernel of one lane in
the loop that NumPy calls. Many side by side: the exported batch beside the kernel of all lanes.
They are timed in turn, round after round; ratios are medians of the rounds. Bars are on the first.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

import phipsi as pp
from phipsi.cli.timing import interleave

from .bar import Bar
from .contender import DisagreementError, relative_error
from .native import FLAGS, bind, load_c
from .plan import EXPORT, Plan
from .robots import FILES, Robot
from .section import Section, found_of
from .tables import table
from .tasks import TASKS, Task

ROBOTS = ("ur5", "panda", "talos")
ASKED = ("forward", "inverse", "mass")
STATES = 256
LONGER, AIM = 1.3, 1.0  # how many times as long as ours exported code may take, and should
CLOSE = 1e-12

TEXT = f"""\
How many times as long as our machine code the header of `fn.export_c` takes, compiled \
`{" ".join(FLAGS)}`, on {STATES} states. one by one: the C function in a loop of C, beside our \
kernel of one lane. side by side: its batch function beside our kernel of all lanes. difference: \
of the results, relative to the largest entry of a state.
"""

LOOPS = """
static double room[ROBOT_BATCH_WORK];
void one(long count, const double **in, double *out) {{
    for (long s = 0; s < count; ++s) robot({rows}, out + s * ROBOT_SIZE_OUT{work});
}}
void many(long count, const double **in, double *out) {{
    robot_batch((size_t)count, {arrays}, out{batch_work});
}}
double *unused(void) {{ return room; }}
"""


@dataclass(frozen=True)
class Ratio:
    """How many times as long as ours exported code takes.

    Args:
        robot, task: keys of `FILES` and `TASKS`.
        one: state after state.
        many: side by side.
        difference: of the results, relative.
    """

    robot: str
    task: str
    one: float
    many: float
    difference: float


def header_of(function: pp.Function) -> str:
    """The text of the header, its function called `robot`."""
    with tempfile.TemporaryDirectory() as folder:
        function.export_c(Path(folder, "robot.h"))
        return Path(folder, "robot.h").read_text(encoding="utf-8")


def loops_for(header: str, inputs: int) -> str:
    """Loops of C that call it, with room to work in where it asks for that."""
    sizes = [x.split()[1] for x in header.splitlines() if x.startswith("#define ROBOT_SIZE_")]
    one, many = (header.split(f"{x}(")[1].split(")")[0] for x in ("int robot", "robot_batch"))
    return LOOPS.format(
        rows=", ".join(f"in[{i}] + s * {sizes[i]}" for i in range(inputs)),
        arrays=", ".join(f"in[{i}]" for i in range(inputs)),
        work=", room" if "*work" in one else "",
        batch_work=", room" if "*work" in many else "",
    )


def measure_exports(plan: Plan) -> Iterator[Ratio]:
    """All robots and tasks, one after the other."""
    for name, key in plan.cases(ROBOTS, ASKED):
        yield measure_export(Robot(name, STATES), TASKS[key], plan.seconds)


def measure_export(robot: Robot, task: Task, seconds: float) -> Ratio:
    """Of one function on one robot."""
    ours = {
        name: pp.compile(robot.model, task.expression, backend="llvm", lanes=lanes)
        for name, lanes in (("one", 1), ("many", None))
    }
    header = header_of(ours["one"])
    library = load_c(header + loops_for(header, len(task.arguments)))
    arguments = [np.ascontiguousarray(robot.states[x]) for x in task.arguments]
    runs: dict[str, Callable[[], object]] = {}
    results = {}
    for name, function in ours.items():
        for whose in ("ours", "C"):
            out = np.full((robot.count, *task.shape(robot.model.nv)), np.nan)
            results[f"{whose} {name}"] = out
            runs[f"{whose} {name}"] = (
                partial(function.gufunc, *arguments, out=out)
                if whose == "ours"
                else bind(getattr(library, name), arguments, out)
            )
    for run in runs.values():
        run()
    wanted = results["ours one"]
    apart = max(check_alike(robot, task, name, x, wanted) for name, x in results.items())
    times = interleave(runs, dict.fromkeys(runs, robot.count), seconds=seconds)
    one, many = (times.ratio(f"C {x}", f"ours {x}") for x in ours)
    return Ratio(robot.name, task.key, one, many, apart)


def check_alike(
    robot: Robot, task: Task, name: str, found: np.ndarray, wanted: np.ndarray
) -> float:
    """The difference relative to the largest entry of a state, or DisagreementError."""
    error = relative_error(found, wanted)
    if not error < CLOSE:  # nor is NaN
        raise DisagreementError(f"{robot.title}, {task.name}, {name}: off by {error:.1e}")
    return error


def bars_of(found: Sequence[Ratio]) -> Iterator[Bar]:
    """Of states one by one."""
    for robot, task in product(ROBOTS, ASKED):
        ratio = found_of(found, robot, task)
        what = f"{FILES[robot][0]}, {TASKS[task].name}, exported C beside our kernel of one lane"
        yield Bar(what, ratio and ratio.one, LONGER, AIM, at_most=True)


def ratio_table(found: Sequence[Ratio]) -> str:
    """All that was measured."""
    rows = (
        [
            f"{FILES[x.robot][0]}, {TASKS[x.task].name}",
            *(f"{ratio:.2f}×" for ratio in (x.one, x.many)),
            f"{x.difference:.0e}" if x.difference else "none",
        ]
        for x in found
    )
    return table(("function", "one by one", "side by side", "difference"), rows)


def line_of_ratio(x: Ratio) -> str:
    """A function as a line, for who watches the run."""
    where = f"{FILES[x.robot][0]}, {TASKS[x.task].name}, exported C"
    return f"{where}: one by one {x.one:.2f}×, side by side {x.many:.2f}×"


SECTION = Section(EXPORT, "Exported C", TEXT, measure_exports, line_of_ratio, ratio_table, bars_of)
