"""Exported C beside machine code: the header compiled by the C compiler, the same states.

    python -m benchmarks.exported_c
    python -m benchmarks.exported_c --only ur5 forward

One state after the other: a loop of C over the exported function, beside the kernel of one lane in
the loop that NumPy calls. Many side by side: the exported batch beside the kernel of all lanes. In
one process, on one thread, in turn; ratios are medians of the rounds. Bars are on the first.
"""

import argparse
import os

# One thread, and our own default, said before any library asks.
os.environ.update({x: "1" for x in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")})
os.environ.pop("PHIPSI_BACKEND", None)

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

import phipsi as pp
from phipsi.cli.timing import interleave

from .bars import Bar
from .native import bind, compiler_version, load_c
from .report import bar_table, table
from .robots import FILES, Robot
from .tasks import FORWARD, INVERSE, MASS, Task

ROBOTS = ("ur5", "panda", "talos")
TASKS = {task.key: task for task in (FORWARD, INVERSE, MASS)}
STATES = 256
LONGER, AIM = 1.3, 1.0  # how many times as long as ours exported code may take, and should
CLOSE = 1e-12

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
        robot: its name.
        task: what is computed.
        one: state after state.
        many: side by side.
        difference: of the results, relative.
    """

    robot: str
    task: Task
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


def ratio_of(robot: Robot, task: Task, seconds: float) -> Ratio:
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
            out = results[f"{whose} {name}"] = np.empty((STATES, *task.shape(robot.model.nv)))
            runs[f"{whose} {name}"] = (
                partial(function.gufunc, *arguments, out=out)
                if whose == "ours"
                else bind(getattr(library, name), arguments, out)
            )
    for run in runs.values():
        run()
    wanted = results["ours one"]
    apart = max(np.abs(x - wanted).max() for x in results.values()) / np.abs(wanted).max()
    assert apart < CLOSE, f"{robot.title}, {task.name}: results differ by {apart:.1e}"
    times = interleave(runs, dict.fromkeys(runs, STATES), seconds=seconds)
    one, many = (times.ratio(f"C {x}", f"ours {x}") for x in ours)
    return Ratio(robot.name, task, one, many, apart)


def ratio_table(found: Iterable[Ratio]) -> str:
    """All that was measured."""
    rows = (
        [
            f"{FILES[x.robot][0]}, {x.task.name}",
            *(f"{ratio:.2f}×" for ratio in (x.one, x.many)),
            f"{x.difference:.0e}" if x.difference else "none",
        ]
        for x in found
    )
    return table(("function", "one by one", "side by side", "difference"), rows)


def bars_of(found: Iterable[Ratio]) -> Iterator[Bar]:
    """Of states one by one."""
    for x in found:
        what = f"{FILES[x.robot][0]}, {x.task.name}, exported C beside our kernel of one lane"
        yield Bar(what, x.one, LONGER, AIM, at_most=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    choices = (*ROBOTS, *TASKS)
    parser.add_argument(
        "--only", nargs="+", default=[], choices=choices, metavar="NAME", help=", ".join(choices)
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="for each robot and task")
    options = parser.parse_args()
    robots, tasks = ([x for x in all_ if x in options.only] or [*all_] for all_ in (ROBOTS, TASKS))
    print(f"{compiler_version()}\n")
    found = [
        ratio_of(Robot(name, STATES), TASKS[key], options.seconds)
        for name, key in product(robots, tasks)
    ]
    print(f"{ratio_table(found)}\n{bar_table([*bars_of(found)])}")


if __name__ == "__main__":
    main()
