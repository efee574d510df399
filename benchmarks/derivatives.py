"""Products with Jacobians, `fn.jvp` and `fn.vjp`, beside Pinocchio's analytical derivatives.

They are not the same question. Pinocchio gives whole Jacobians, by q, v and tau or the
acceleration; we give one product with them, J t along a direction of all three, or J* w by all
three. Its Jacobians times the same vectors are what ours must agree with before anything is timed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pinocchio as pin

from phipsi.cli.timing import interleave

from .bar import Bar
from .contender import OURS, TOLERANCE, DisagreementError, relative_error
from .ours import compile_task
from .pinocchio_peer import machine_of, states_of
from .plan import DERIVATIVES, Plan
from .robots import FILES, Robot
from .section import Section
from .tables import digits, table
from .tasks import FORWARD, TASKS, Task

ROBOTS = ("ur5", "panda", "solo12", "talos")
ASKED = ("forward", "inverse")
STATES = 256
JVP, VJP, THEIRS = "jvp", "vjp", "Pinocchio's Jacobians"

TEXT = f"""\
Of {STATES} states, microseconds per state: the function, its Jacobian times a direction (`{JVP}`) \
and its transpose times a weight (`{VJP}`), both by all arguments, each in one call; and \
`computeABADerivatives`, `computeRNEADerivatives` from Python, state by state. These give whole \
Jacobians, of nv columns for each argument: who needs all of one has more from a call of theirs, \
who needs a product, a gradient say, more from ours. In parentheses how many times as long as the \
function. For information: no bar is set.
"""


@dataclass(frozen=True)
class Products:
    """What was measured of a task on a robot.

    Args:
        robot, task: keys of `FILES` and `TASKS`.
        micros: of each contender, microseconds per state, at best.
        ratios: of each contender, how many times as long as the function it takes, by the median.
    """

    robot: str
    task: str
    micros: dict[str, float]
    ratios: dict[str, float]


def measure_products(plan: Plan) -> Iterator[Products]:
    """All robots and tasks, one after the other."""
    for name, key in plan.cases(ROBOTS, ASKED):
        yield measure_product(Robot(name, STATES), TASKS[key], plan.seconds)


def measure_product(robot: Robot, task: Task, seconds: float) -> Products:
    """All side by side, once they agree."""
    function = compile_task(robot, task).function
    state = [robot.states[name] for name in task.arguments]
    *direction, weight = np.random.default_rng(1).normal(size=(4, robot.count, robot.model.nv))
    products = {
        JVP: partial(function.jvp, *state, *direction),
        VJP: partial(function.vjp, *state, weight),
    }
    check_products(robot, task, direction, weight, products[JVP](), products[VJP]())
    runs = {OURS: partial(function, *state), **products, THEIRS: jacobians_of(robot, task)}
    times = interleave(runs, dict.fromkeys(runs, robot.count), seconds=seconds)
    return Products(
        robot.name,
        task.key,
        {name: 1e6 * times.best(name) for name in runs},
        {name: times.ratio(name, OURS) for name in runs},
    )


def jacobians_of(robot: Robot, task: Task, keep: list | None = None) -> partial:
    """Pinocchio's derivatives at all states, one Python call after the other.

    Args:
        robot, task: whose.
        keep: gets the Jacobians by the three arguments, state by state, if given.
    """
    model = machine_of(robot).model
    data = model.createData()
    function = pin.computeABADerivatives if task is FORWARD else pin.computeRNEADerivatives
    states = [states_of(robot)[name] for name in task.arguments]
    rows = [*zip(*states, strict=True)]

    def run() -> None:
        for row in rows:
            found = function(model, data, *row)
            if keep is not None:
                keep.append([np.array(x) for x in found])

    return partial(run)


def check_products(
    robot: Robot,
    task: Task,
    direction: Sequence[np.ndarray],
    weight: np.ndarray,
    jvp: np.ndarray,
    vjp: Sequence[np.ndarray],
) -> None:
    """DisagreementError unless Pinocchio's Jacobians times the same vectors are the products."""
    kept: list = []
    jacobians_of(robot, task, kept)()
    S = machine_of(robot).S  # v_pin = S v, a permutation
    ours = [np.array([S.T @ J @ S for J in several]) for several in zip(*kept, strict=True)]
    along = sum(np.einsum("sij,sj->si", J, t) for J, t in zip(ours, direction, strict=True))
    back = [np.einsum("sij,si->sj", J, weight) for J in ours]
    for name, found, right in (
        (JVP, jvp, along),
        *((VJP, x, y) for x, y in zip(vjp, back, strict=True)),
    ):
        error = relative_error(found, right)
        if not error < TOLERANCE:  # nor is NaN
            raise DisagreementError(f"{robot.title}, {task.name}, {name}: off by {error:.1e}")


def no_bars(_: Sequence[Products]) -> Iterator[Bar]:
    """None is set."""
    yield from ()


def product_table(found: Sequence[Products]) -> str:
    """Microseconds per state."""
    names = (JVP, VJP, THEIRS)
    rows = (
        (
            f"{FILES[x.robot][0]}, {TASKS[x.task].name}",
            digits(x.micros[OURS]),
            *(f"{digits(x.micros[name])} ({x.ratios[name]:.1f}×)" for name in names),
        )
        for x in found
    )
    return table(("function", OURS, *names), rows)


def line_of_product(x: Products) -> str:
    """A function as a line, for who watches the run."""
    where = f"{FILES[x.robot][0]}, {TASKS[x.task].name}"
    return f"{where}: " + ", ".join(f"{n} {x.ratios[n]:.1f}×" for n in (JVP, VJP, THEIRS))


SECTION = Section(
    DERIVATIVES,
    "Derivatives",
    TEXT,
    measure_products,
    line_of_product,
    product_table,
    no_bars,
)
