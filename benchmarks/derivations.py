"""What `pp.derive` gains: equations as they are typed, and what is derived from them.

Three ways to the same numbers: the line evaluated by NumPy on dense matrices, as it reads; the
line given to `pp.compile`; and the derived expression given to it. All must agree before anything
is timed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

import phipsi as pp
from phipsi.algebra.node import Node
from phipsi.cli.timing import interleave

from .bar import Bar
from .contender import DisagreementError, relative_error
from .derivation_cases import CASES, EQUATIONS, as_it_reads, leaves_of
from .plan import DERIVATIONS, Plan
from .robots import FILES, Robot
from .section import Section
from .tables import digits, table

READS, TYPED, DERIVED = "as it reads", "compiled", "derived"
MANY = 64  # states
CLOSE = 1e-7  # dense inverses of chains lose digits
OWN: dict[str, Callable[[], pp.Model]] = {
    "Puma 560": pp.examples.puma560,
    "chain of 50": partial(pp.chain, 50),
}
BOUND = 1.1  # times as long as its input, compiled, may a derived expression take

TEXT = f"""\
Equations in their plain definitions, and what `pp.derive` makes of them; of {MANY} states, \
microseconds per state. {READS}: the line evaluated by NumPy on the dense matrices of its letters, \
which are made before the clock runs. {TYPED}: the same line by `pp.compile`, which knows inverses \
of mass matrices by itself. {DERIVED}: what was derived for the machine, by `pp.compile`. A dash \
where it has no O(N) algorithm for them. Both are called as NumPy functions, `.gufunc`. In \
parentheses how many times as long as `{DERIVED}`. flops: of one state, as typed and as derived. \
`two arms` is their effective inertia where they hold one object, `closed chain` the accelerations \
of a chain of which two points are held by equations.
"""


@dataclass(frozen=True)
class Gain:
    """What was measured of an equation on a machine.

    Args:
        machine, case: what.
        micros: of a state, by the way it is computed, at best.
        ratios: how many times as long as what was derived, by the median; none where that has
            no O(N) algorithm.
        flops: of the ways that are compiled.
    """

    machine: str
    case: str
    micros: dict[str, float]
    ratios: dict[str, float]
    flops: dict[str, int]


def machines(plan: Plan) -> Iterator[tuple[str, pp.Model]]:
    """A robot of a file, and our own where no robots are named."""
    if "ur5" in plan.robots:
        yield FILES["ur5"][0], Robot("ur5", 1).model
    if len(plan.robots) == len(FILES):
        for name, make in OWN.items():
            yield name, make()


def measure_derivations(plan: Plan) -> Iterator[Gain]:
    """Every equation on every machine."""
    for name, model in machines(plan):
        for case in CASES:
            yield measure_derivation(name, model, case, plan.seconds)


def measure_derivation(name: str, model: pp.Model, case: str, seconds: float) -> Gain:
    """All ways side by side, once they agree."""
    typed, states = CASES[case](model), states_of(model, MANY)
    derived = pp.derive(typed, model=model).result
    functions = {TYPED: compiled(model, typed), DERIVED: compiled(model, derived)}
    runs: dict[str, Callable[[], np.ndarray]] = {}
    for way, function in functions.items():
        if function is not None:
            runs[way] = kernel_of(function, states)
    runs[READS] = partial(as_it_reads, typed, leaves_of(model, typed, states))
    check(f"{name}, {case}", runs)
    times = interleave(runs, dict.fromkeys(runs, MANY), seconds=seconds)
    return Gain(
        name,
        case,
        {way: 1e6 * times.best(way) for way in runs},
        {way: times.ratio(way, DERIVED) for way in runs if DERIVED in runs},
        {way: x.info().flops for way, x in functions.items() if x is not None},
    )


def compiled(model: pp.Model, expression: Node) -> pp.Function | None:
    """None of what has no O(N) algorithm as it stands."""
    try:
        return pp.compile(model, expression, backend="llvm")
    except pp.LoweringError:
        return None


def kernel_of(function: pp.Function, states: Mapping[str, np.ndarray]) -> partial:
    """The function as NumPy calls it, without the checks of arguments; points are at origins."""
    arguments = [states[key] for key in function.varying]
    inputs = function.gufunc.signature.partition("->")[0].strip("()").split("),(")
    points = [np.zeros(int(size)) for size in inputs[len(arguments) :]]
    return partial(function.gufunc, *arguments, *points)


def states_of(model: pp.Model, count: int) -> dict[str, np.ndarray]:
    """Values of everything that a case may ask for."""
    rng = np.random.default_rng(0)
    q = np.array([model.random(rng) for _ in range(count)])
    v, torque = rng.normal(size=(2, count, model.nv))
    force, along = rng.normal(size=(count, 6)), rng.normal(size=(count, EQUATIONS))
    closing = rng.normal(size=(count, EQUATIONS, 12))
    return {"q": q, "v": v, "T": torque, "f0": force, "U_": along, "A": closing}


def check(what: str, runs: Mapping[str, Callable[[], np.ndarray]]) -> None:
    """DisagreementError unless all ways lead to the same numbers."""
    by = DERIVED if DERIVED in runs else READS
    expected = runs[by]()
    for way, run in runs.items():
        error = relative_error(run().reshape(expected.shape), expected)
        if not error < CLOSE:  # nor is NaN
            raise DisagreementError(f"{what}: {way} is off by {error:.1e} from {by}")


def bars_of_gains(found: Sequence[Gain]) -> Iterator[Bar]:
    """No derivation makes a line slower than it was."""
    slowest = [1.0 / x.ratios[TYPED] for x in found if TYPED in x.ratios]
    what = f"derived expressions beside their input, compiled, {MANY} states, the slowest"
    yield Bar(what, max(slowest, default=None), BOUND, at_most=True)


def gain_table(found: Sequence[Gain]) -> str:
    """One row for each equation and machine."""
    return table(("equation", READS, TYPED, DERIVED, "flops", "derived"), map(_row, found))


def _row(x: Gain) -> tuple[str, ...]:
    return (
        f"{x.machine}, {x.case}",
        *(_beside(x, way) for way in (READS, TYPED)),
        digits(x.micros.get(DERIVED)),
        *(f"{x.flops[way]:,}" if way in x.flops else "-" for way in (TYPED, DERIVED)),
    )


def _beside(x: Gain, way: str) -> str:
    if way not in x.micros:
        return "-"
    beside = f" ({x.ratios[way]:.1f}×)" if way in x.ratios else ""
    return f"{digits(x.micros[way])}{beside}"


def line_of_gain(x: Gain) -> str:
    """An equation as a line, for who watches the run."""
    ways = [f"{way} {x.ratios[way]:.1f}×" for way in (READS, TYPED) if way in x.ratios]
    derived = f"derived {digits(x.micros.get(DERIVED))} us"
    return f"{x.machine}, {x.case}: {'; '.join(filter(None, (derived, ', '.join(ways))))}"


SECTION = Section(
    DERIVATIONS,
    "Derivations",
    TEXT,
    measure_derivations,
    line_of_gain,
    gain_table,
    bars_of_gains,
)
