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

import phipsi as pp
from phipsi.cli.timing import interleave

from .bar import Bar
from .contender import OURS, TOLERANCE, DisagreementError, relative_error
from .ours import compile_task
from .pinocchio_peer import PEER, machine_of, pinocchio_bridge, states_of
from .plan import DERIVATIVES, Plan
from .robots import FILES, Robot
from .section import Section
from .tables import digits, table
from .tasks import FORWARD, INVERSE, TASKS, Task

ROBOTS = ("ur5", "panda", "solo12", "talos")
ASKED = ("forward", "inverse")
LONG = (300, 1_000)  # bodies of chains
STATES = 256
JVP, VJP, THEIRS = "jvp", "vjp", "Pinocchio's Jacobians"

TEXT = f"""\
Of {STATES} states, microseconds per state: the function, its Jacobian times a direction (`{JVP}`) \
and its transpose times a weight (`{VJP}`), both by all arguments, each in one call; and \
`computeABADerivatives`, `computeRNEADerivatives` from Python, state by state. These give whole \
Jacobians, of nv columns for each argument: who needs all of one has more from a call of theirs, \
who needs a product, a gradient say, more from ours. In parentheses how many times as long as the \
function. Chains, of one state and a call each, keep their loops: a product of theirs costs the \
same for every further body, whole Jacobians more and more. For information: no bar is set.
"""


@dataclass(frozen=True)
class Products:
    """What was measured of a task on a robot.

    Args:
        robot, task: keys of `FILES` and `TASKS`; of chains, the name.
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
    for n in LONG:
        if n in plan.sizes and INVERSE.key in plan.tasks:
            yield measure_long(n, plan.seconds)


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


def measure_long(bodies: int, seconds: float) -> Products:
    """Inverse dynamics of a chain; beside Pinocchio as long as its data fits into memory.

    Forward dynamics of so long a chain has too few digits in common to be compared.
    """
    model, task = pp.chain(bodies), INVERSE
    function = pp.compile(model, task.expression)
    q, v, x, *direction, weight = 0.1 * np.random.default_rng(1).normal(size=(7, bodies))
    runs: dict[str, partial] = {
        OURS: partial(function, q, v, x),
        JVP: partial(function.jvp, q, v, x, *direction),
        VJP: partial(function.vjp, q, v, x, weight),
    }
    along, back = runs[JVP](), runs[VJP]()
    right = sum(float(t @ g) for t, g in zip(direction, back, strict=True))
    name = chain_name(bodies)
    error = relative_error(np.array([weight @ along]), np.array([right]))
    if not error < TOLERANCE:
        raise DisagreementError(f"{name}, {task.name}: w* J t is off by {error:.1e}")
    if bodies <= PEER:
        machine = pinocchio_bridge.from_model(model).model
        data = machine.createData()
        runs[THEIRS] = partial(pin.computeRNEADerivatives, machine, data, q, v, x)
        blocks = [np.array(J) for J in runs[THEIRS]()]
        blocks[2] = np.triu(blocks[2]) + np.triu(blocks[2], 1).T
        theirs = sum(J @ t for J, t in zip(blocks, direction, strict=True))
        error = relative_error(along, theirs)
        if not error < TOLERANCE:
            raise DisagreementError(f"{name}, {task.name}, {JVP}: off by {error:.1e}")
    times = interleave(runs, dict.fromkeys(runs, 1), seconds=seconds)
    return Products(
        name,
        task.key,
        {which: 1e6 * times.best(which) for which in runs},
        {which: times.ratio(which, OURS) for which in runs},
    )


def chain_name(bodies: int) -> str:
    """As rows of the table call it."""
    return f"chain of {bodies:,} bodies"


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
            title_of(x),
            digits(x.micros[OURS]),
            *(
                f"{digits(x.micros[name])} ({x.ratios[name]:.1f}×)" if name in x.micros else "-"
                for name in names
            ),
        )
        for x in found
    )
    return table(("function", OURS, *names), rows)


def line_of_product(x: Products) -> str:
    """A function as a line, for who watches the run."""
    known = [n for n in (JVP, VJP, THEIRS) if n in x.ratios]
    return f"{title_of(x)}: " + ", ".join(f"{n} {x.ratios[n]:.1f}×" for n in known)


def title_of(x: Products) -> str:
    """Machine and function."""
    machine = FILES[x.robot][0] if x.robot in FILES else x.robot
    return f"{machine}, {TASKS[x.task].name}"


SECTION = Section(
    DERIVATIVES,
    "Derivatives",
    TEXT,
    measure_products,
    line_of_product,
    product_table,
    no_bars,
)
