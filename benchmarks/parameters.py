"""Functions whose machine has numbers that are arguments, beside those that have them folded in.

Forward dynamics of a batch: all states with the same robot, and every state with one of its own,
whose numbers must come from memory. Folded code also uses what it sees of the numbers: zeros, and
what is equal. Arguments may be anything, so their code has more to do: its flops say how much
more. A folded robot whose inertias, or positions, are of any form stands beside it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np

import phipsi as pp
from phipsi.cli.timing import interleave
from phipsi.lowering.parameters import Parameters
from phipsi.model.inertia import Inertia, Placement

from .bar import Bar
from .contender import TOLERANCE, DisagreementError, relative_error
from .plan import PARAMETERS, Plan
from .results import SINCOS
from .robots import FILES, Robot
from .section import Section, found_of
from .tables import table
from .tasks import FORWARD

BATCH = 1024
ROBOTS = ("ur5", "panda", "talos")
BOUND = 0.7  # of the folded function's rate

# Cases; `names_of` has their parameters.
FEW = (
    "gravity",
    "mass of a link",
    "mass, first moment, inertia of a link",
    "position of a joint",
    "placement of a joint",
    "rotor of a joint",
)
MANY = ("masses of all links", "all ten moments of all links", "positions of all joints")

TEXT = f"""\
Forward dynamics of {BATCH:,} states, numbers of the robot being arguments: states per second \
beside the function that has them folded in. shared: all states with the same robot. own: every \
state with its own, so that numbers of the robot come from memory as those of the state do. \
flops: how many times those of the folded function, whose code leaves out what is zero or equal \
in its robot; {SINCOS} count for a sine with its cosine. at most: the rate that these flops leave, \
were they done as fast as folded ones. own, any form: own beside a folded robot whose inertias, or \
positions, have no zeros either.

The bars: numbers of one link, of one joint, and gravity, shared and own; those of all links or \
joints, shared.
"""


def names_of(case: str, model: pp.Model) -> list[str]:
    """Which numbers are arguments; one link or joint is that in the middle."""
    link = model.bodies[len(model.bodies) // 2].name
    return {
        "gravity": ["gravity"],
        "mass of a link": [f"{link}.mass"],
        "mass, first moment, inertia of a link": [
            f"{link}.{quantity}" for quantity in ("mass", "first_moment", "inertia")
        ],
        "position of a joint": [f"{link}.position"],
        "placement of a joint": [f"{link}.placement"],
        "rotor of a joint": [f"{link}.rotor_inertia"],
        "masses of all links": [f"{body.name}.mass" for body in model.bodies],
        "all ten moments of all links": ["moments"],
        "positions of all joints": [f"{joint.name}.position" for joint in model.joints],
    }[case]


def of_any_form(model: pp.Model, names: Sequence[str]) -> pp.Model:
    """The robot with other numbers in place of those: none is zero, no two are equal."""
    rng = np.random.default_rng(0)
    quantities = {x.rpartition(".")[2] for x in names}
    bodies, joints = list(model.bodies), list(model.joints)
    for k in Parameters(model, names).bodies:
        if quantities & {"moments", "inertia"}:
            A = rng.normal(size=(3, 3))
            inertia = Inertia.of(rng.uniform(1.0, 2.0), rng.uniform(0.1, 0.3, 3), A @ A.T)
            bodies[k] = replace(bodies[k], inertia=inertia)
        elif quantities & {"position", "placement"}:
            rotation, position = joints[k].placement.rotation, rng.uniform(0.1, 0.5, 3)
            joints[k] = replace(joints[k], placement=Placement.of(rotation, position))
    return replace(model, bodies=tuple(bodies), joints=tuple(joints))


@dataclass(frozen=True)
class Row:
    """A case on a robot.

    Args:
        robot: a key of `FILES`.
        task: the case, of `FEW` or `MANY`.
        numbers: how many of the robot's are arguments.
        flops: how many times those of the folded function.
        shared: rate beside the folded robot, all states with the same numbers.
        own: likewise, every state with its own.
        any_form: of the latter, beside a folded robot of any form.
    """

    robot: str
    task: str
    numbers: int
    flops: float
    shared: float
    own: float
    any_form: float

    @property
    def limit(self) -> float:
        """The rate that the flops leave."""
        return 1.0 / self.flops

    @property
    def barred(self) -> float:
        """The rate that has a bar."""
        return min(self.shared, self.own) if self.task in FEW else self.shared


def measure_parameters(plan: Plan) -> Iterator[Row]:
    """All cases on all robots, one after the other."""
    for name, _ in plan.cases(ROBOTS, (FORWARD.key,)):
        robot = Robot(name, BATCH)
        for case in (*FEW, *MANY):
            yield measure_case(robot, case, plan.seconds / 2)


def measure_case(robot: Robot, case: str, seconds: float) -> Row:
    """One case, side by side with folded code."""
    model, names = robot.model, names_of(case, robot.model)
    folded, general, given = (
        pp.compile(machine, FORWARD.expression, parameters=several, backend="llvm", threads=1)
        for machine, several in ((model, ()), (of_any_form(model, names), ()), (model, names))
    )
    nominal = Parameters(model, names).nominal()
    own = [np.repeat(x[None], robot.count, axis=0) for x in nominal.values()]
    state = [robot.states[name] for name in FORWARD.arguments]
    out = np.empty((robot.count, model.nv))
    runs = {
        "folded": partial(folded.gufunc, *state, out=out),
        "any form": partial(general.gufunc, *state, out=out),
        "shared": partial(given.gufunc, *state, *nominal.values(), out=out),
        "own": partial(given.gufunc, *state, *own, out=out),
    }
    expected = runs["folded"]().copy()
    for name in ("shared", "own"):
        out.fill(np.nan)
        error = relative_error(runs[name](), expected)
        if not error < TOLERANCE:  # nor is NaN
            raise DisagreementError(f"{robot.title}, {case}, {name}: off by {error:.1e}")
    times = interleave(runs, dict.fromkeys(runs, robot.count), seconds=seconds)
    return Row(
        robot.name,
        case,
        sum(x.size for x in nominal.values()),
        weight_of(given) / weight_of(folded),
        shared=times.ratio("folded", "shared"),
        own=times.ratio("folded", "own"),
        any_form=times.ratio("any form", "own"),
    )


def weight_of(function: pp.Function) -> float:
    """Flops of one state, sines and cosines included."""
    info = function.info()
    return info.flops + SINCOS * info.sincos / 2


def bars_of(rows: Sequence[Row]) -> Iterator[Bar]:
    """Case by case."""
    for robot, case in product(ROBOTS, (*FEW, *MANY)):
        row = found_of(rows, robot, case)
        shared = "" if case in FEW else ", shared"
        what = f"{FILES[robot][0]}, forward dynamics, {case} as arguments{shared}, beside folded"
        yield Bar(what, row and row.barred, BOUND)


def row_table(rows: Sequence[Row]) -> str:
    """All rates, and below what is said of those without a bar that are low."""
    head = ("arguments", "numbers", "flops", "at most", "shared", "own", "own, any form")
    body = (
        (
            f"{FILES[x.robot][0]}, {x.task}",
            f"{x.numbers:,}",
            *(f"{n:.2f}" for n in (x.flops, x.limit, x.shared, x.own, x.any_form)),
        )
        for x in rows
    )
    return table(head, body) + _remarks(rows)


def _remarks(rows: Sequence[Row]) -> str:
    """Which rates are low, and how much of that is flops."""
    low = [x for x in rows if min(x.shared, x.own) < BOUND]
    if not low:
        return f"\nNo rate is below {BOUND}.\n"
    said = "; ".join(
        f"{FILES[x.robot][0]}, {x.task}: {min(x.shared, x.own):.2f}, and their flops alone leave "
        f"{x.limit:.2f}"
        for x in low
    )
    return f"\nBelow {BOUND}, with a bar or without: {said}.\n"


def line_of_row(x: Row) -> str:
    """A case as a line, for who watches the run."""
    where = f"{FILES[x.robot][0]}, {x.task} as arguments"
    return f"{where}: shared {x.shared:.2f}, own {x.own:.2f}; {x.flops:.2f}× the flops"


SECTION = Section(
    PARAMETERS, "Parameters", TEXT, measure_parameters, line_of_row, row_table, bars_of
)
