"""phipsi beside Pinocchio, CasADi and MuJoCo, and beside itself: one run, with ratios.

    make bench                                    everything, into benchmarks/RESULTS.md
    python -m benchmarks.run --quick              a short run, printed only
    python -m benchmarks.run --only ur5 forward   peers on a robot, for a task, printed only
    python -m benchmarks.run --only bind threads  parts of it, on all robots or on some

What is where:

    plan.py robots.py tasks.py      what is measured
    contender.py                    what contenders have in common; answers are checked first
    ours.py pinocchio_peer.py casadi_code.py mujoco_peer.py
    native.py                       C code, for the last two
    peak.py measure.py              how it is measured, by the clock of phipsi/cli/timing.py
    chains.py                       growth with the number of bodies
    rollouts.py                     many states over many steps, beside MuJoCo's
    section.py sections.py          parts with tables and bars of their own:
    control_loop.py                 bound functions
    functions.py                    every public function of numbers
    threads.py                      batches on two threads
    single_precision.py             float32 beside float64; digits.py: how exact
    parameters.py                   numbers of the robot as arguments
    exported_c.py                   the C header beside our machine code
    cold.py                         first results, with and without a cache on disk
    loading.py                      files read
    derivatives.py                  products with Jacobians
    derivations.py                  typed equations beside what is derived from them;
                                    derivation_cases.py: which
    results.py bar.py bars.py       what was found, is it enough
    tables.py report.py             the page
    host.py                         processor and versions
"""

import argparse
import os
import shutil

# One thread, our own default, nothing that another process has compiled: said before any library
# asks.
os.environ.update({x: "1" for x in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")})
os.environ.update(PHIPSI_BACKEND="llvm", PHIPSI_THREADS="1", PHIPSI_CACHE="off")

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import phipsi as pp
from phipsi.cli.timing import interleave

from . import casadi_code, mujoco_peer, ours, pinocchio_peer
from .chains import measure_chains
from .cold import cold_seconds
from .contender import OURS, Contender
from .host import describe
from .measure import measure
from .native import compiler
from .peak import LANES, Peak, make_peak
from .plan import CHAINS, CHOICES, PARTS, PEERS, ROLLOUTS, Plan, plan_of
from .report import line_of, line_of_rollout, page
from .results import Made, Results
from .robots import FILES, Robot
from .rollouts import measure_rollouts
from .sections import SECTIONS
from .tasks import TASKS, Task

PAGE = Path(__file__).with_name("RESULTS.md")
COLD = "talos"


@dataclass(frozen=True)
class Field:
    """All contenders for a task on a robot."""

    robot: Robot
    task: Task

    @cached_property
    def code(self) -> casadi_code.Code:
        return casadi_code.Code(self.robot, self.task)

    @cached_property
    def compiled(self) -> ours.Compiled:
        return ours.compile_task(self.robot, self.task)

    @cached_property
    def contenders(self) -> list[Contender]:
        found: list[Contender] = [self.compiled, *self._variants()]
        found.append(ours.Checked(self.robot, self.task))
        if self.task.is_matrix:
            found.append(ours.InPlace(self.compiled))
        found.append(pinocchio_peer.Call(self.robot, self.task))
        if self.task in pinocchio_peer.BATCHES:
            found.append(pinocchio_peer.Batch(self.robot, self.task))
        return [*found, self.code, mujoco_peer.Loop(self.robot, self.task)]

    def _variants(self) -> Iterator[Contender]:
        """Those of ours that this processor has."""
        for name in ours.VARIANTS:
            if name == OURS:
                continue
            try:
                yield ours.compile_task(self.robot, self.task, name)
            except pp.BackendError as error:
                say(f"{self.robot.title}, {self.task.name}: no {name}: {error}")

    @cached_property
    def made(self) -> Made:
        info = self.compiled.function.info()
        return Made(
            self.robot.name,
            self.task.key,
            info.flops,
            casadi_code.flops_of(self.code.graph),
            info.sincos,
            info.nodes,
            info.lanes,
            info.path,
            info.compile_seconds,
        )


def say(text: str) -> None:
    """To who watches, at once."""
    print(text, flush=True)


def measure_all(plan: Plan) -> Results:
    """Everything that was asked for."""
    results = Results()
    peak = measure_peaks(results)
    if PEERS in plan.parts:
        measure_peers(plan, peak, results)
    if CHAINS in plan.parts:
        say(f"-- chains of {', '.join(map(str, plan.sizes))} bodies")
        results.chains = measure_chains(plan.sizes, plan.seconds)
    if ROLLOUTS in plan.parts:
        say("-- rollouts")
        for found in measure_rollouts(*plan.rollouts):
            results.rollouts.append(found)
            say(line_of_rollout(found))
    for section in SECTIONS:
        if section.name in plan.parts:
            say(f"-- {section.name}")
            several = results.sections.setdefault(section.name, [])
            for one in section.measure(plan):
                several.append(one)
                say(section.line(one))
    return results


def measure_peers(plan: Plan, peak: Peak, results: Results) -> None:
    """Every task on every robot, and how long the largest takes to compile."""
    for name in plan.robots:
        robot = Robot(name, max(plan.batches))
        for key in plan.tasks:
            field = Field(robot, TASKS[key])
            say(f"-- {robot.title}, {field.task.name}: compiling")
            results.made.append(field.made)
            for batch in plan.batches:
                flops = field.made.weight
                cell = measure(
                    robot, field.task, batch, field.contenders, peak, flops, plan.seconds
                )
                results.cells.append(cell)
                say(line_of(cell))
    if COLD in plan.robots and "forward" in plan.tasks:
        say(f"-- {COLD}: compiling in processes of their own")
        results.cold = cold_seconds(COLD)


def measure_peaks(results: Results) -> Peak:
    """The peak by lanes; returns the loop of the fastest."""
    loops = {str(lanes): make_peak(lanes) for lanes in LANES}
    runs = {name: loop.run for name, loop in loops.items()}
    times = interleave(runs, {name: loop.flops for name, loop in loops.items()}, seconds=1.0)
    results.peaks = {loop.lanes: 1.0 / times.best(name) for name, loop in loops.items()}
    return min(loops.items(), key=lambda item: times.best(item[0]))[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer batches, shorter chains")
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        choices=CHOICES,
        metavar="NAME",
        help=f"robots: {', '.join(FILES)}; tasks: {', '.join(TASKS)}; parts: {', '.join(PARTS)}",
    )
    options = parser.parse_args()
    if shutil.which(compiler()[0]) is None:
        parser.error("no C compiler: install one, or name it by the environment variable CC")
    plan = plan_of(options.only, options.quick)
    results = measure_all(plan)
    text = page(results, describe())
    say(f"\n{text}")
    if plan.is_whole:
        PAGE.write_text(text, encoding="utf-8")
        say(f"written to {PAGE}")


if __name__ == "__main__":
    main()
