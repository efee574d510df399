"""Times of several things side by side, on a computer that others use too.

Time is that of the processor, all threads counted: waiting for others is none, and who takes
more than one thread pays for it. Everything is timed in every round, in any order, so that what
slows a round slows all: ratios are taken within rounds, and their median counts; times are the
shortest.
"""

from __future__ import annotations

import gc
import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

BLOCK = 2e-3  # seconds that one measurement lasts at least
ROUNDS = 9  # at least


@dataclass(frozen=True, eq=False)
class Times:
    """What was measured.

    Args:
        seconds: per unit of work, of each contender one number per round.
        busy: seconds of the processor per second; more than 1 would be threads.
    """

    seconds: dict[str, np.ndarray]
    busy: float

    def best(self, name: str) -> float:
        """The shortest time: what others disturbed least."""
        return float(self.seconds[name].min())

    def ratio(self, name: str, base: str) -> float:
        """How many times as long as the base, by the median of the rounds."""
        return float(np.median(self.seconds[name] / self.seconds[base]))


def interleave(
    runs: Mapping[str, Callable[[], object]],
    work: Mapping[str, float],
    *,
    seconds: float = 0.0,
    rounds: int = ROUNDS,
) -> Times:
    """Time all runs in turn, round after round.

    Args:
        runs: what is timed.
        work: of each run how many units of work it does: states, flops, bytes.
        seconds: how long to go on, unless the first rounds take longer.
        rounds: so many at least.

    >>> times = interleave({"sum": lambda: sum(range(10))}, {"sum": 10}, rounds=3)
    >>> times.seconds["sum"].shape, times.ratio("sum", "sum")
    ((3,), 1.0)
    """
    repeats = {name: _repeats(run) for name, run in runs.items()}
    found: dict[str, list[float]] = {name: [] for name in runs}
    names, shuffle = list(runs), random.Random(0).shuffle
    enabled = gc.isenabled()
    gc.disable()
    try:
        start, processor = time.perf_counter(), time.process_time()
        while len(found[names[0]]) < rounds or time.perf_counter() - start < seconds:
            shuffle(names)  # nobody always finds the caches that the same other one leaves
            for name in names:
                found[name].append(_time(runs[name], repeats[name]))
        busy = (time.process_time() - processor) / (time.perf_counter() - start)
    finally:
        if enabled:
            gc.enable()
    return Times({name: np.array(found[name]) / work[name] for name in runs}, busy)


def _repeats(run: Callable[[], object]) -> int:
    """How often to run for one measurement; the first run of all warms up."""
    _time(run, 1)
    return max(1, math.ceil(BLOCK / max(_time(run, 1), 1e-9)))


def _time(run: Callable[[], object], repeats: int) -> float:
    """Seconds of the processor per run."""
    turns = range(repeats)
    start = time.process_time()
    for _ in turns:
        run()
    return (time.process_time() - start) / repeats
