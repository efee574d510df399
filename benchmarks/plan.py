"""What a run measures, by what the command line asks for."""

from collections.abc import Sequence
from dataclasses import dataclass

from .robots import FILES
from .tasks import TASKS

BATCHES = (1, 7, 64, 1024, 16384)
SIZES = (10, 100, 300, 1_000, 10_000, 100_000)  # of chains, in bodies
CHAINS = "chains"
ROLLOUTS = "rollouts"
ROLLING = ("panda", "solo12")
STATES, STEPS = 1024, 1_000  # of rollouts
CHOICES = (*FILES, *TASKS, CHAINS, ROLLOUTS)


@dataclass(frozen=True)
class Plan:
    """What to measure, and how long each cell.

    Args:
        robots, tasks: keys of `FILES` and `TASKS`.
        batches: numbers of states.
        sizes: of chains; none without them.
        rollouts: how many states and steps; None without them.
        seconds: for a cell.
        is_whole: whether the page is written.
    """

    robots: Sequence[str]
    tasks: Sequence[str]
    batches: Sequence[int]
    sizes: Sequence[int]
    rollouts: tuple[int, int] | None
    seconds: float
    is_whole: bool


def plan_of(only: Sequence[str], quick: bool) -> Plan:
    """What the command line asks for: robots, tasks, chains, rollouts that it names, or all."""
    cells = not only or bool(set(only) - {CHAINS, ROLLOUTS})
    chains = not only or CHAINS in only
    rollouts = not only or ROLLOUTS in only
    return Plan(
        robots=([x for x in FILES if x in only] or list(FILES)) if cells else [],
        tasks=[x for x in TASKS if x in only] or list(TASKS),
        batches=(1, 64, 1024) if quick else BATCHES,
        sizes=(SIZES[:4] if quick else SIZES) if chains else (),
        rollouts=((256, 100) if quick else (STATES, STEPS)) if rollouts else None,
        seconds=0.2 if quick else 1.0,
        is_whole=not only and not quick,
    )
