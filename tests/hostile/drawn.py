"""Attacks with what hypothesis draws: so many examples, then more with other seeds."""

import time
from collections.abc import Callable

from hypothesis import HealthCheck, Phase, given, seed, settings

EXAMPLES = 10  # of one seed


def attack_with(strategy, check: Callable, first: int, seconds: float) -> int:
    """Check what a strategy draws until the time is over; how many examples there were.

    Args:
        strategy: of examples.
        check: of one example; raises what is wrong.
        first: the first seed.
        seconds: how long; one seed at the least.
    """
    end, tried = time.monotonic() + seconds, 0

    def counted(example):
        nonlocal tried
        tried += 1
        check(example)

    quiet = {"deadline": None, "database": None, "phases": [Phase.generate, Phase.shrink]}
    quiet["suppress_health_check"] = list(HealthCheck)
    number = first
    while True:
        run = given(strategy)(counted)
        seed(number)(settings(max_examples=EXAMPLES, derandomize=False, **quiet)(run))()
        number += 1
        if time.monotonic() >= end:
            return tried
