"""What a run measures, by what the command line asks for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from .robots import FILES
from .tasks import TASKS

BATCHES = (1, 7, 64, 1024, 16384)
SIZES = (10, 100, 300, 1_000, 10_000, 100_000)  # of chains, in bodies
ROLLING = ("panda", "solo12")
STATES, STEPS = 1024, 1_000  # of rollouts

# Parts, in the order in which they are measured.
PEERS = "peers"
CHAINS = "chains"
ROLLOUTS = "rollouts"
BIND = "bind"
FUNCTIONS = "functions"
CALLS = "calls"
THREADS = "threads"
FLOAT32 = "float32"
PARAMETERS = "parameters"
EXPORT = "export"
WARM = "warm"
LOADING = "loading"
DERIVATIVES = "derivatives"
DERIVATIONS = "derivations"
PARTS = (
    PEERS,
    CHAINS,
    ROLLOUTS,
    BIND,
    FUNCTIONS,
    CALLS,
    THREADS,
    FLOAT32,
    PARAMETERS,
    EXPORT,
    WARM,
    LOADING,
    DERIVATIVES,
    DERIVATIONS,
)
CHOICES = (*FILES, *TASKS, *PARTS)


@dataclass(frozen=True)
class Plan:
    """What to measure, and how long each number.

    Args:
        robots, tasks: keys of `FILES` and `TASKS`.
        parts: which of `PARTS`.
        batches: numbers of states.
        sizes: of chains.
        rollouts: how many states and steps.
        seconds: for a cell of a table.
        is_quick: whether the numbers are a first look.
        is_whole: whether the page is written.
    """

    robots: Sequence[str]
    tasks: Sequence[str]
    parts: Sequence[str]
    batches: Sequence[int]
    sizes: Sequence[int]
    rollouts: tuple[int, int]
    seconds: float
    is_quick: bool
    is_whole: bool

    def cases(self, robots: Sequence[str], tasks: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Of these robots and tasks those that were asked for."""
        for robot, task in product(robots, tasks):
            if robot in self.robots and task in self.tasks:
                yield robot, task


def plan_of(only: Sequence[str], quick: bool) -> Plan:
    """What the command line asks for.

    Parts that it names, or all, on the robots and for the tasks that it names, or all. If it
    names robots or tasks and no part, that is the comparison with peers.
    """
    parts = [x for x in PARTS if x in only] or ([PEERS] if only else list(PARTS))
    return Plan(
        robots=[x for x in FILES if x in only] or list(FILES),
        tasks=[x for x in TASKS if x in only] or list(TASKS),
        parts=parts,
        batches=(1, 64, 1024) if quick else BATCHES,
        sizes=SIZES[:4] if quick else SIZES,
        rollouts=(256, 100) if quick else (STATES, STEPS),
        seconds=0.2 if quick else 1.0,
        is_quick=quick,
        is_whole=not only and not quick,
    )
