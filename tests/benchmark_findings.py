"""What the parts of a run that have tables of their own might find, and a clock that is none."""

from itertools import product

import numpy as np

from benchmarks import (
    calls,
    cold,
    control_loop,
    derivation_cases,
    derivations,
    derivatives,
    exported_c,
    functions,
    loading,
    parameters,
    plan,
    threads,
)
from benchmarks import single_precision as single
from benchmarks.contender import CALL, CHECKED, OURS
from benchmarks.robots import FILES
from benchmarks.tasks import TASKS
from phipsi.cli import timing


class Asked:
    """Stands in for `interleave`: every run has a time of its own, and ran once."""

    def __init__(self, **seconds):
        self.seconds, self.work = seconds, {}

    def __call__(self, runs, work, **_):
        for run in runs.values():
            run()
        self.work = dict(work)
        found = {name: np.full(3, self.seconds.get(name.replace(" ", "_"), 1.0)) for name in runs}
        return timing.Times({name: found[name] / work[name] for name in runs}, 1.0)


def findings(level):
    """All bars met exactly at level 1, none below, by so much."""
    return {
        plan.BIND: [_loop(*x, 4.0 * level) for x in product(FILES, TASKS)],
        plan.FUNCTIONS: [_function(*x, level) for x in product(functions.ROBOTS, functions.ROWS)],
        plan.CALLS: [  # Pinocchio's take 3 us
            calls.Found(robot, case.name, 2.0, 3.0, 1.5 * level)
            for robot, case in product(functions.ROBOTS, calls.CASES)
        ],
        plan.THREADS: [_gain(*x, 0.9 * level) for x in product(threads.ROBOTS, threads.ASKED)],
        plan.FLOAT32: [
            single.Ratio(*x, {64: 1.0, 1024: 2.0, 16384: 1.6 * level})
            for x in product(single.ROBOTS, TASKS)
        ],
        plan.PARAMETERS: [
            _row(*x, 0.7 * level)
            for x in product(parameters.ROBOTS, (*parameters.FEW, *parameters.MANY))
        ],
        plan.EXPORT: [
            exported_c.Ratio(*x, 1.3 / level, 9.0, 0.0)
            for x in product(exported_c.ROBOTS, exported_c.ASKED)
        ],
        plan.WARM: [
            cold.Start(*x, 900.0, 40.0 if x[1] == cold.ONCE else 10.0 / level, 99.0)
            for x in product(cold.ROBOTS, (cold.ONCE, *cold.ASKED))
        ],
        plan.LOADING: [_load(robot, 3.0 / level) for robot in FILES],
        plan.DERIVATIVES: [
            *(_products(*x) for x in product(derivatives.ROBOTS, derivatives.ASKED)),
            *(_products(derivatives.chain_name(n), "inverse") for n in derivatives.LONG),
        ],
        plan.DERIVATIONS: [
            _gain_of_derivation(*x, level / derivations.BOUND)
            for x in product(("UR5", *derivations.OWN), derivation_cases.CASES)
        ],
    }


def _loop(robot, task, times):
    bound, kernel = control_loop.BOUND, control_loop.KERNEL
    micros = {bound: 0.5, kernel: 0.48, OURS: 1.0, CALL: 2.5}
    return control_loop.Loop(
        robot, task, micros, {bound: 1.0, kernel: 0.96, OURS: 2.0, CALL: times}
    )


def _function(robot, row, level):
    """Where Pinocchio has the function, its call takes 2 us."""
    if row.peer is None:
        return functions.Found(robot, row.name, {CHECKED: 1.0}, {CHECKED: 0.1}, {}, {})
    return functions.Found(
        robot,
        row.name,
        {CHECKED: 1.0, CALL: 2.0},
        {CHECKED: 0.1, CALL: 2.0},
        {CHECKED: 1.0, OURS: 1.0 - 0.1 / level, CALL: 1.5 * level},
        {CHECKED: 1.0, CALL: (row.faster or 1.0) * level},
        bound=2.0 * level,
        copied=3.0 / level,
        beside_in_place=(row.faster or 1.0) * level,
    )


def _gain(robot, task, share):
    return threads.Gain(threads.name_of(robot, task), 2, share, 1.0)


def _row(robot, case, rate):
    """Of all links or joints, own numbers take longer, and no bar is set."""
    own = rate if case in parameters.FEW else 0.5
    return parameters.Row(robot, case, 60, 1.6, shared=rate, own=own, any_form=0.8)


def _products(robot, task):
    names = OURS, derivatives.JVP, derivatives.VJP, derivatives.THEIRS
    micros = dict(zip(names, (0.1, 0.2, 0.3, 10.0), strict=True))
    return derivatives.Products(robot, task, micros, {x: 10 * y for x, y in micros.items()})


def _gain_of_derivation(machine, case, ratio):
    """One of the lines has no algorithm as it was typed; of the others all are as slow."""
    ways = {derivations.READS: 90.0, derivations.TYPED: ratio, derivations.DERIVED: 1.0}
    flops = {derivations.TYPED: 1000, derivations.DERIVED: 500}
    if case == next(iter(derivation_cases.CASES)):
        del ways[derivations.TYPED], flops[derivations.TYPED]
    return derivations.Gain(machine, case, ways, ways, flops)


def _load(robot, times):
    ratios = {OURS: times, loading.REPORT: 4.0 * times, loading.THEIRS: 1.0}
    return loading.Load(robot, 1000, {name: 2.5 * x for name, x in ratios.items()}, ratios)
