"""What a run finds out."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

SINCOS = 30  # flops that a sine and a cosine together count as


@dataclass(frozen=True)
class Cell:
    """A task on a robot with a batch of states.

    Args:
        robot, task: keys of `FILES` and `TASKS`.
        batch: how many states.
        micros: of each contender, microseconds per state, at best.
        ratios: of each contender, how many times as long as we it takes, by the median.
        peak: share of the core's FMA peak that we reach.
        busy: seconds of the processor per second; more than 1 would be threads.
        copy: of a matrix, how fast results are written in place beside copying from memory to
            memory; None where they are few.
    """

    robot: str
    task: str
    batch: int
    micros: dict[str, float]
    ratios: dict[str, float]
    peak: float
    busy: float
    copy: float | None = None


@dataclass(frozen=True)
class Made:
    """A function that was compiled, by default options.

    Args:
        robot, task: keys of `FILES` and `TASKS`.
        flops: sums, products and quotients for one state.
        theirs: the same in the graph that CasADi has of the same loops.
        sincos: sines and cosines.
        nodes, lanes, path, seconds: as `Function.info` has them.
    """

    robot: str
    task: str
    flops: int
    theirs: int
    sincos: int
    nodes: int
    lanes: int
    path: str
    seconds: float

    @property
    def weight(self) -> float:
        """Flops, sines and cosines included; no more of them than CasADi needs."""
        return min(self.flops, self.theirs) + SINCOS * self.sincos / 2


@dataclass(frozen=True)
class Chain:
    """Forward dynamics of a chain, at one state; all per body, except the flops.

    Args:
        bodies: how many.
        flops: of the whole chain.
        path: "unrolled" or "rolled".
        micros: at best.
        growth: how many times the time at `FROM` bodies, by the median.
        model, function: kilobytes that the model took, and then compiling and the first call.
        theirs: Pinocchio's microseconds, where it goes so far.
        ratio: how many times as long as we Pinocchio takes.
        data: kilobytes that Pinocchio's model and data took.
    """

    bodies: int
    flops: int
    path: str
    micros: float
    growth: float
    model: float
    function: float
    theirs: float | None = None
    ratio: float | None = None
    data: float | None = None


@dataclass(frozen=True)
class Rollout:
    """Rollouts of a robot by a method of integration.

    Args:
        robot: a key of `FILES`.
        integrator: its name.
        states, steps: how many.
        rates: of MuJoCo and of us, also with the last states kept alone: steps per second, at best.
        ratio: how many times as long as we MuJoCo takes, by the median.
        forwards: how many times as long as forward dynamics a step of ours takes, by the median,
            with the last states kept alone.
        apart: by how much the last states differ, relative to their largest entry.
        busy: seconds of the processor per second; more than 1 would be threads.
    """

    robot: str
    integrator: str
    states: int
    steps: int
    rates: dict[str, float]
    ratio: float
    forwards: float
    apart: float
    busy: float


@dataclass
class Results:
    """All of a run; what was not asked for is missing.

    Attributes:
        peaks: flops per second of the FMA loop, by lanes.
        cells, made, chains, rollouts: what was measured.
        cold: seconds from nothing to the first forward dynamics of Talos, compiling included.
        sections: what was found by parts with tables of their own, by their names.
    """

    peaks: dict[int, float] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)
    made: list[Made] = field(default_factory=list)
    chains: list[Chain] = field(default_factory=list)
    rollouts: list[Rollout] = field(default_factory=list)
    cold: float | None = None
    sections: dict[str, list[Any]] = field(default_factory=dict)

    def found(self, section: str) -> Sequence[Any]:
        """By a part with a table of its own; nothing if it was not asked for."""
        return self.sections.get(section, ())

    def cell(self, robot: str, task: str, batch: int) -> Cell | None:
        """Of a robot, a task and a batch, if it was measured."""
        for cell in self.cells:
            if (cell.robot, cell.task, cell.batch) == (robot, task, batch):
                return cell
        return None

    def rollout(self, robot: str, integrator: str, states: int, steps: int) -> Rollout | None:
        """Of a robot, a method and a size, if it was measured."""
        for found in self.rollouts:
            key = (found.robot, found.integrator, found.states, found.steps)
            if key == (robot, integrator, states, steps):
                return found
        return None
