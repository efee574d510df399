"""A task on a robot: every contender prepared, checked, and only then timed."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from phipsi.cli.timing import interleave

from .contender import IN_PLACE, OURS, Contender, check_agreement
from .peak import Peak
from .results import Cell
from .robots import Robot
from .tasks import Task

PEAK = "FMA peak"
COPY = "copy"
MANY = 1024  # states from which results are many bytes
BEYOND = 1 << 27  # bytes, more than any cache holds


def measure(
    robot: Robot,
    task: Task,
    batch: int,
    contenders: Sequence[Contender],
    peak: Peak,
    flops: float,
    seconds: float,
) -> Cell:
    """One cell of the tables.

    Args:
        robot, task: what is measured.
        batch: how many states of the robot.
        contenders: we are one of them.
        peak: the loop whose flops per second are the core's peak.
        flops: what a state takes.
        seconds: how long to measure.
    """
    out = np.empty((batch, *task.shape(robot.model.nv)))
    trials = {contender.name: contender.on(batch, out) for contender in contenders}
    check_agreement(f"{robot.title}, {task.name}, {batch} states", trials, OURS, out)
    runs: dict[str, Callable[[], object]] = {name: trial.run for name, trial in trials.items()}
    work: dict[str, float] = {name: trial.count for name, trial in trials.items()}
    runs[PEAK], work[PEAK] = peak.run, peak.flops
    copies = task.is_matrix and batch >= MANY
    if copies:
        source, target = _beyond_caches()
        runs[COPY] = lambda: np.copyto(target, source)
        work[COPY] = source.nbytes / out[0].nbytes  # states whose results are as many bytes
    times = interleave(runs, work, seconds=seconds)
    return Cell(
        robot.name,
        task.key,
        batch,
        {name: 1e6 * times.best(name) for name in trials},
        {name: times.ratio(name, OURS) for name in trials},
        flops * times.ratio(PEAK, OURS),
        times.busy,
        times.ratio(COPY, IN_PLACE) if copies else None,
    )


@lru_cache(maxsize=1)
def _beyond_caches() -> tuple[np.ndarray, np.ndarray]:
    """Two arrays that copying takes from memory to memory."""
    return np.ones(BEYOND // 8), np.zeros(BEYOND // 8)
