"""The bars that a run must clear: ratios within the run, and the seconds that compiling takes."""

from collections.abc import Iterator, Sequence
from itertools import product

from .bar import Bar
from .contender import BATCH, CALL, CHECKED, MUJOCO, OURS
from .plan import ROLLING, STATES, STEPS
from .results import Chain, Results
from .robots import FILES
from .sections import SECTIONS
from .tasks import TASKS

ARMS = ("ur5", "panda")
OTHERS = ("solo12", "talos", "g1")
MATRICES = ("mass", "mass-inverse")
MANY = 1024  # states
FEW, LOTS = 1_000, 100_000  # bodies


def bars_of(results: Results) -> list[Bar]:
    """All bars, in the order in which they were set."""
    return [
        *_batches(results),
        *_matrices(results),
        *_single_calls(results),
        *_rates(results),
        Bar("Talos, free base, compiled cold", results.cold, 2.0, at_most=True, unit=" s"),
        *_growth(results.chains),
        *_rollouts(results),
        *_sections(results),
    ]


def _batches(results: Results) -> Iterator[Bar]:
    """Vectors, beside Pinocchio's C++ batch."""
    for robots, bound, aim in ((ARMS, 30, 40), (OTHERS, 25, 30)):
        for robot in robots:
            found = _ratio(results, robot, "forward", MANY, BATCH)
            yield Bar(f"{_many(robot, 'forward')} {BATCH}", found, bound, aim)
    for robot in FILES:
        found = _ratio(results, robot, "inverse", MANY, BATCH)
        yield Bar(f"{_many(robot, 'inverse')} {BATCH}", found, 20)


def _matrices(results: Results) -> Iterator[Bar]:
    """Of small robots beside Pinocchio's call, of large ones beside copying as many bytes."""
    for robot, task in product(ARMS, MATRICES):
        found = _ratio(results, robot, task, MANY, CALL)
        yield Bar(f"{_many(robot, task)} {CALL}", found, 12)
    for robot, task in product(OTHERS, MATRICES):
        cell = results.cell(robot, task, MANY)
        found = _percent(cell and cell.copy)
        yield Bar(f"{_many(robot, task)} the machine's copy rate", found, 50, unit=" %")


def _single_calls(results: Results) -> Iterator[Bar]:
    """One state: the compiled function and the checked one, beside Pinocchio's call."""
    for ours, text in ((OURS, "compiled function"), (CHECKED, CHECKED)):
        for task, robot in product(TASKS, FILES):
            cell = results.cell(robot, task, 1)
            found = None if cell is None else cell.ratios[CALL] / cell.ratios[ours]
            bound = 1.0 if ours == CHECKED else 1.7 if robot == "ur5" else 2.0
            what = f"{FILES[robot][0]}, {TASKS[task].name}, one state by the {text} beside {CALL}"
            yield Bar(what, found, bound)


def _rates(results: Results) -> Iterator[Bar]:
    """The compute rate, where results are few."""
    for robot, bound in (("ur5", 60), ("panda", 60), ("talos", 45)):
        cell = results.cell(robot, "forward", MANY)
        found = _percent(cell and cell.peak)
        yield Bar(f"{_many(robot, 'forward')} the FMA peak", found, bound, unit=" %")


def _growth(chains: Sequence[Chain]) -> Iterator[Bar]:
    """Flops exactly, time nearly linear."""
    last = next((chain for chain in chains if chain.bodies == LOTS), None)
    alike = [chain for chain in chains if last and chain.path == last.path]
    what = f"chain of {LOTS:,} bodies, flops away from linear growth"
    found = _nonlinearity(alike) if len(alike) > 2 else None
    yield Bar(what, found, 0, at_most=True, unit="")
    what = f"chain of {LOTS:,} bodies, time per body beside {FEW:,} bodies"
    yield Bar(what, last and last.growth, 2.0, at_most=True)


def _rollouts(results: Results) -> Iterator[Bar]:
    """By RK4, beside MuJoCo's."""
    for robot in ROLLING:
        found = results.rollout(robot, "rk4", STATES, STEPS)
        what = f"{FILES[robot][0]}, rollout of {STATES:,} states over {STEPS:,} steps by RK4"
        yield Bar(f"{what} beside {MUJOCO}", found and found.ratio, 10)


def _sections(results: Results) -> Iterator[Bar]:
    """Those of the parts that have tables of their own."""
    for section in SECTIONS:
        yield from section.bars(results.found(section.name))


def _nonlinearity(chains: Sequence[Chain]) -> float:
    """How many flops the chains between are off the line through the first and the last."""
    first, *between, last = chains
    slope = (last.flops - first.flops) / (last.bodies - first.bodies)
    lines = (first.flops + slope * (x.bodies - first.bodies) for x in between)
    return max(abs(x.flops - line) for x, line in zip(between, lines, strict=True))


def _ratio(results: Results, robot: str, task: str, batch: int, peer: str) -> float | None:
    cell = results.cell(robot, task, batch)
    return cell and cell.ratios[peer]


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _many(robot: str, task: str) -> str:
    return f"{FILES[robot][0]}, {TASKS[task].name}, {MANY:,} states beside"
