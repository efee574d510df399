"""Control loops: functions bound to arrays, beside Pinocchio's Python call and their own kernels.

On one state. Contenders are timed in turn, round after round, once all answers agree to 1e-9;
ratios are medians of the rounds.
"""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

import phipsi as pp
from phipsi.backends.llvm import compile_module
from phipsi.cli.timing import interleave

from .bar import Bar
from .contender import CALL, OURS, Trial, check_agreement
from .ours import compile_task
from .pinocchio_peer import Call
from .plan import BIND, Plan
from .robots import FILES, Robot
from .section import Section, found_of
from .tables import digits, table
from .tasks import TASKS, Task

BOUND = "bound"
KERNEL = "kernel alone"
CALLS = 64  # of the kernel, one after the other
FASTER = 4.0  # than Pinocchio's call, at least
BARRED = ("forward", "inverse", "mass")

TEXT = f"""\
One state. `{BOUND}`: the function that `fn.bind` ties to arrays, called from Python without \
arguments. `{KERNEL}`: its machine code in a loop of machine code, the time below which no call \
can come; what a bound call adds to it, in nanoseconds. `{OURS}`: the compiled function, called as \
ever. Microseconds per call, at best; in parentheses how many times as long as `{BOUND}`. The \
inverse of the mass matrix has no bar: of large robots, its kernel alone takes longer than a \
quarter of Pinocchio's call, and no way of calling can change that.
"""


@dataclass(frozen=True)
class Loop:
    """What was measured of a task on a robot.

    Args:
        robot, task: keys of `FILES` and `TASKS`.
        micros: microseconds per call of each contender, at best.
        ratios: how many times as long as the bound function each took, medians of the rounds.
    """

    robot: str
    task: str
    micros: dict[str, float]
    ratios: dict[str, float]

    @property
    def overhead(self) -> float:
        """Nanoseconds that a bound call takes beside its kernel."""
        return 1e3 * self.micros[BOUND] * (1.0 - self.ratios[KERNEL])


LOOP = f"""
define void @repeat(ptr %kernel, ptr %ins, ptr %outs, ptr %work, ptr %tables) nounwind {{
entry:
  br label %next
next:
  %left = phi i64 [ {CALLS}, %entry ], [ %left.next, %next ]
  %mask = call i64 %kernel(ptr %ins, ptr %outs, ptr %work, ptr %tables)
  %left.next = sub i64 %left, 1
  %more = icmp ne i64 %left.next, 0
  br i1 %more, label %next, label %done
done:
  ret void
}}
"""


def kernel_loop(
    function: pp.Function, arrays: Sequence[np.ndarray], out: np.ndarray
) -> Callable[[], object]:
    """So many calls of the kernel in a loop of machine code: no call from Python is faster."""
    code = function._only_code("kernel")
    loop = compile_module(LOOP, code.plan.target)
    repeat = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)(loop.address("repeat"))
    ins, outs = (
        (ctypes.c_void_p * len(several))(*(x.ctypes.data for x in several))
        for several in (arrays, [out])
    )
    room = np.zeros(code.work + 64, np.uint8)
    work = -(-room.ctypes.data // 64) * 64
    addresses = code.single, ctypes.addressof(ins), ctypes.addressof(outs), work, code.tables
    keep = loop, room, ins, outs, arrays, out

    def run() -> object:
        repeat(*addresses)
        return keep

    return run


def trials_of(robot: Robot, task: Task) -> dict[str, Trial]:
    """All contenders on the robot's first state."""
    compiled, out = compile_task(robot, task), np.empty((1, *task.shape(robot.model.nv)))
    arrays = [robot.states[name][0].copy() for name in task.arguments]
    bound = compiled.function.bind(*arrays, out=out[0])
    kernel = kernel_loop(compiled.function, arrays, out[0])

    def answered(run: Callable[[], object]) -> Callable[[], np.ndarray]:
        def answer() -> np.ndarray:
            out.fill(np.nan)
            run()
            return out

        return answer

    return {
        OURS: compiled.on(1, out),
        BOUND: Trial(bound, answered(bound), 1),
        KERNEL: Trial(kernel, answered(kernel), 1),
        CALL: Call(robot, task).on(1, out),
    }


def measure_loops(plan: Plan) -> Iterator[Loop]:
    """Every task on every robot."""
    for name, key in plan.cases(tuple(FILES), tuple(TASKS)):
        yield measure_loop(Robot(name, 1), TASKS[key], plan.seconds)


def measure_loop(robot: Robot, task: Task, seconds: float) -> Loop:
    """One call after the other of every contender, checked and then timed."""
    trials = trials_of(robot, task)
    check_agreement(f"{robot.title}, {task.name}", trials, OURS, np.empty(0))
    runs = {name: trial.run for name, trial in trials.items()}
    work = {name: CALLS if name == KERNEL else 1 for name in runs}
    times = interleave(runs, work, seconds=seconds)
    return Loop(
        robot.name,
        task.key,
        {name: 1e6 * times.best(name) for name in runs},
        {name: times.ratio(name, BOUND) for name in runs},
    )


def bars_of(loops: Sequence[Loop]) -> Iterator[Bar]:
    """Bound functions beside Pinocchio's calls."""
    for task, robot in product(BARRED, FILES):
        found = found_of(loops, robot, task)
        what = f"{FILES[robot][0]}, {TASKS[task].name}, one state by the {BOUND} function"
        yield Bar(f"{what} beside {CALL}", found and found.ratios[CALL], FASTER)


def loop_table(loops: Sequence[Loop]) -> str:
    """Microseconds per call, and what bound functions add to their kernels."""
    head = ("function", BOUND, KERNEL, "adds, ns", OURS, CALL)
    rows = (
        (
            f"{FILES[x.robot][0]}, {TASKS[x.task].name}",
            *(digits(x.micros[name]) for name in (BOUND, KERNEL)),
            f"{x.overhead:.0f}",
            *(f"{digits(x.micros[name])} ({x.ratios[name]:.1f}×)" for name in (OURS, CALL)),
        )
        for x in loops
    )
    return table(head, rows)


def line_of_loop(x: Loop) -> str:
    """A loop as a line, for who watches the run."""
    where = f"{FILES[x.robot][0]}, {TASKS[x.task].name}, {BOUND}"
    return f"{where}: {digits(x.micros[BOUND])} us; {CALL} {x.ratios[CALL]:.1f}×"


SECTION = Section(BIND, "Control loops", TEXT, measure_loops, line_of_loop, loop_table, bars_of)
