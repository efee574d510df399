"""How long a robot's file takes to become a machine, beside Pinocchio's reader, in C++."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin

import phipsi as pp
from phipsi.cli.timing import interleave

from .bar import Bar
from .contender import OURS, DisagreementError
from .plan import LOADING, Plan
from .robots import FILES, Robot
from .section import Section
from .tables import digits, table

THEIRS, REPORT = "Pinocchio", "with its report"
BOUND, AIM = 3.0, 2.0  # times as long as Pinocchio
CLOSE = 1e-9  # kg of a kg

TEXT = f"""\
Milliseconds from the file to the machine: `pp.load`, and `pin.buildModelFromUrdf` from Python, \
which reads it in C++. Both find the file in the memory of the system; neither opens a mesh. In \
parentheses how many times as long as Pinocchio. `{REPORT}`: the shapes are read besides, and \
`model.report` has its line for each element of the file, of which the table has the number; \
this is done when somebody looks.
"""


@dataclass(frozen=True)
class Load:
    """What was measured of a robot.

    Args:
        robot: a key of `FILES`.
        elements: of its file.
        millis: of each contender, at best.
        ratios: of each contender, how many times as long as Pinocchio, by the median.
    """

    robot: str
    elements: int
    millis: dict[str, float]
    ratios: dict[str, float]


def measure_loads(plan: Plan) -> Iterator[Load]:
    """All robots, one after the other."""
    for name in plan.robots:
        yield measure_load(Robot(name, 1), plan.seconds)


def measure_load(robot: Robot, seconds: float) -> Load:
    """Side by side, once both have read the same machine."""
    read = partial(pp.load, robot.path, base=robot.base, mimic="independent")
    theirs = partial(read_theirs, robot)
    check(robot, read(), theirs())
    runs = {OURS: read, THEIRS: theirs, REPORT: lambda: len(read().report)}
    times = interleave(runs, dict.fromkeys(runs, 1), seconds=seconds)
    return Load(
        robot.name,
        sum(1 for _ in ElementTree.parse(robot.path).iter()),
        {name: 1e3 * times.best(name) for name in runs},
        {name: times.ratio(name, THEIRS) for name in runs},
    )


def read_theirs(robot: Robot) -> pin.Model:
    """Pinocchio's machine."""
    root = () if robot.base == "fixed" else (pin.JointModelFreeFlyer(),)
    return pin.buildModelFromUrdf(str(robot.path), *root)


def check(robot: Robot, ours: pp.Model, theirs: pin.Model) -> None:
    """DisagreementError unless both have the same joints, and move the same mass."""
    joints = {joint.name for joint in ours.joints} - {"root"}
    if joints != set(theirs.names) - {"universe", "root_joint"}:
        raise DisagreementError(f"{robot.title}: the joints have other names")
    mass = sum(body.mass for body in list(theirs.inertias)[1:])
    if not np.isclose(ours.moving_mass, mass, rtol=CLOSE):
        raise DisagreementError(f"{robot.title}: {ours.moving_mass} kg beside {mass} kg")


# -- what is made of it --------------------------------------------------------------------


def bars_of(loads: Sequence[Load]) -> Iterator[Bar]:
    """Robot by robot."""
    for robot, (title, *_) in FILES.items():
        found = next((x for x in loads if x.robot == robot), None)
        what = f"{title}, file loaded beside Pinocchio"
        yield Bar(what, found and found.ratios[OURS], BOUND, AIM, at_most=True)


def load_table(loads: Sequence[Load]) -> str:
    """Milliseconds, and how many times as long as Pinocchio."""
    rows = (
        (
            FILES[x.robot][0],
            f"{x.elements:,}",
            *(f"{digits(x.millis[name])} ({x.ratios[name]:.1f}×)" for name in (OURS, REPORT)),
            digits(x.millis[THEIRS]),
        )
        for x in loads
    )
    return table(("file", "elements", OURS, REPORT, THEIRS), rows)


def line_of_load(x: Load) -> str:
    """A robot as a line, for who watches the run."""
    times = ", ".join(f"{name} {digits(x.millis[name])} ms" for name in (OURS, REPORT, THEIRS))
    return f"{FILES[x.robot][0]}: {times}; {x.ratios[OURS]:.2f}×"


SECTION = Section(LOADING, "Files", TEXT, measure_loads, line_of_load, load_table, bars_of)
