"""Results as a page: bars first, then every table."""

from collections.abc import Iterator, Mapping, Sequence

from .bar import Bar
from .bars import FEW, MANY, bars_of
from .contender import BATCH, CALL, CASADI, CHECKED, IN_PLACE, LAST, MUJOCO, OURS
from .ours import VARIANTS
from .pinocchio_peer import LOOP
from .results import SINCOS, Cell, Chain, Made, Results, Rollout
from .robots import FILES
from .rollouts import COMPARED, STEP
from .sections import SECTIONS
from .tables import bar_table, digits, table
from .tasks import TASKS, Task

PEERS = (CHECKED, CALL, BATCH, CASADI, MUJOCO)

INTRODUCTION = f"""\
# Benchmarks

Written by `make bench`, which sets up what it needs, a C compiler apart. Where nothing else \
is said, everything ran in one process, on one thread; times are microseconds of the processor per \
state, at best. Contenders were timed in turn, round after round: in parentheses stands how many \
times as long as `{OURS}` each took, the median of the rounds. Before anything was timed, all \
answers agreed to 1e-9. Mimic joints move independently, here and for every peer.

- `{OURS}`: the function of `pp.compile`, called from Python; its result is a new array. \
`{CHECKED}`: `pp.forward_dynamics` and its like. `{IN_PLACE}`: the function's gufunc, into an \
array that is there.
- `{CALL}`: `aba`, `rnea`, `crba`, `computeMinverse` from Python, state by state (of large batches \
the first {LOOP}). `{BATCH}`: \
`abaInParallel`, `rneaInParallel` on one thread; matrices have no such function, and what they \
are compared with includes Pinocchio's Python call.
- `{CASADI}`: CasADi's C code of the graph of our own loops, `-O3 -march=native`, in a loop of C. \
The wheel of Pinocchio is built without AVX and FMA, and has no CasADi interface: this column \
tells what a C compiler that may use all of the processor makes of scalar code.
- `{MUJOCO}`: `mj_forward`, `mj_inverse`, `mj_crb` with `mj_fullM`, and `mj_factorM` with \
`mj_solveM`, in a loop of C, on a model with our parameters and without contacts, limits and \
damping. The physics is the same; the first two go through all stages of a simulator.
- peak: (sums + products + quotients + {SINCOS} for each sine with its cosine) per second, beside \
a loop of independent fused multiply-adds, which count as two, in the same rounds. Operations that \
CasADi's graph does without are not counted. copy: bytes of results per second, beside `np.copyto` \
of arrays that no cache holds, in the same rounds.
"""

FUNCTIONS = """\
What default options compile: operations of one state, and the seconds that it takes to make the \
machine code.
"""

GROWTH = f"""\
Forward dynamics of `pp.chain(n)` at one state, all per body: flops, microseconds, how many times \
the time at {FEW:,} bodies, and by how much a process of its own grows by the model and by \
compiling and calling the function. Pinocchio's data holds tensors of nv³ numbers, tens of \
gigabytes for 1,000 bodies.
"""

ROLLOUTS = f"""\
`pp.rollout` beside `mujoco.rollout`: steps of {1e3 * STEP:g} ms under gravity alone, all states \
kept; million steps per second of the processor, at best. MuJoCo's model is the one above: without \
damping, its Euler's method treats nothing implicitly. It writes into an array that is there; ours \
is made anew by each call, of memory that has lain idle while MuJoCo ran: the guest of a host may \
first have to ask for it. `{LAST}`: `pp.rollout` with the last states kept alone. forward: how \
many times as long as forward dynamics of the same states one of its steps takes. apart: by how \
much the last states differ, relative to the largest entry of each.

After {COMPARED} steps the states agreed to 1e-9, with one exception: by Euler's method, MuJoCo \
moves a free base along its velocity in world axes, and we along its twist. That difference falls \
with the step, as the order of the method says.
"""


def page(results: Results, host: Mapping[str, str]) -> str:
    """The whole page, of what was measured."""
    parts = [INTRODUCTION, *_section("Where it ran", _host(results, host))]
    parts += _section("Bars", _bars(bars_of(results)))
    for key, task in TASKS.items():
        cells = [cell for cell in results.cells if cell.task == key]
        if cells:
            parts += _section(_capital(task.name), peer_table(cells))
            parts.append(own_table(cells, task))
    if results.made:
        parts += _section("Functions", f"{FUNCTIONS}\n{made_table(results.made)}")
    if results.chains:
        parts += _section("Growth", f"{GROWTH}\n{chain_table(results.chains)}")
    if results.rollouts:
        parts += _section("Rollouts", f"{ROLLOUTS}\n{rollout_table(results.rollouts)}")
    for section in SECTIONS:
        found = results.found(section.name)
        if found:
            parts += _section(section.title, f"{section.text}\n{section.table(found)}")
    return "\n".join(parts)


def _section(title: str, text: str) -> list[str]:
    return [f"## {title}\n", text]


def _host(results: Results, host: Mapping[str, str]) -> str:
    lines = [f"- {name}: {value}" for name, value in host.items()]
    robots = ", ".join(f"{title} `{file}` ({base} base)" for title, file, base in FILES.values())
    lines.append(f"- robots, of example-robot-data: {robots}")
    peaks = ", ".join(f"{1e-9 * x:.1f} with {lanes}" for lanes, x in results.peaks.items())
    lines.append(f"- FMA peak, Gflop/s by lanes: {peaks}")
    if results.cells or results.rollouts:
        busy = [found.busy for found in (*results.cells, *results.rollouts)]
        lines.append(f"- seconds of the processor per second: {min(busy):.2f} to {max(busy):.2f}")
    aba = results.cell("ur5", "forward", MANY)
    if aba is not None:
        overhead = aba.micros[CALL] - aba.micros[BATCH]
        lines.append(f"- Pinocchio's Python call as such: {digits(overhead)} us, that of `aba`")
    return "\n".join(lines) + "\n"


# -- tables --------------------------------------------------------------------------------


def _bars(bars: Sequence[Bar]) -> str:
    verdicts = [bar.verdict for bar in bars]
    counts = ", ".join(f"{verdicts.count(x)} {x}" for x in dict.fromkeys(verdicts))
    measured = [bar for bar in bars if bar.measured is not None]
    return f"{counts}.\n" + (f"\n{bar_table(measured)}" if measured else "")


def peer_table(cells: Sequence[Cell]) -> str:
    """We and the peers."""
    peers = [name for name in PEERS if any(name in cell.micros for cell in cells)]
    rows = (
        [*_place(cell), digits(cell.micros[OURS]), *(_beside(cell, name) for name in peers)]
        for cell in cells
    )
    return table(("robot", "states", OURS, *peers), rows)


def own_table(cells: Sequence[Cell], task: Task) -> str:
    """We alone: by lanes, and in shares of what the core can do."""
    names = [*VARIANTS, *([IN_PLACE] if task.is_matrix else [])]
    shares = ["peak", *(["copy"] if task.is_matrix else [])]
    rows = (
        [
            *_place(cell),
            *(digits(cell.micros.get(name)) for name in names),
            *(_share(getattr(cell, share)) for share in shares),
        ]
        for cell in cells
    )
    return table(("robot", "states", *names, *shares), rows)


def made_table(made: Sequence[Made]) -> str:
    """What was compiled, by default options."""
    head = ("function", "flops", "CasADi's", "sin, cos", "nodes", "lanes", "path", "seconds")
    rows = (
        (
            f"{FILES[x.robot][0]}, {TASKS[x.task].name}",
            *(f"{n:,}" for n in (x.flops, x.theirs, x.sincos, x.nodes, x.lanes)),
            x.path,
            digits(x.seconds),
        )
        for x in made
    )
    return table(head, rows)


def chain_table(chains: Sequence[Chain]) -> str:
    """How forward dynamics grows; one state, all per body."""
    head = ("bodies", "path", "flops", "us", "growth", "kB model", "kB function", CALL, "kB theirs")
    return table(head, _chain_rows(chains))


def _chain_rows(chains: Sequence[Chain]) -> Iterator[list[str]]:
    for x in chains:
        theirs = "-" if x.ratio is None else f"{digits(x.theirs)} ({x.ratio:.1f}×)"
        numbers = (x.flops / x.bodies, x.micros, x.growth, x.model, x.function)
        yield [f"{x.bodies:,}", x.path, *map(digits, numbers), theirs, digits(x.data)]


def rollout_table(rollouts: Sequence[Rollout]) -> str:
    """Steps per second, ours and MuJoCo's."""
    rows = (
        (
            FILES[x.robot][0],
            x.integrator,
            *(f"{n:,}" for n in (x.states, x.steps)),
            *(digits(1e-6 * x.rates[name]) for name in (OURS, LAST)),
            f"{digits(1e-6 * x.rates[MUJOCO])} ({x.ratio:.1f}×)",
            f"{x.forwards:.2f}×",
            f"{x.apart:.0e}",
        )
        for x in rollouts
    )
    head = ("robot", "integrator", "states", "steps", OURS, LAST, MUJOCO, "forward", "apart")
    return table(head, rows)


def _place(cell: Cell) -> tuple[str, str]:
    return FILES[cell.robot][0], f"{cell.batch:,}"


def _beside(cell: Cell, name: str) -> str:
    if name not in cell.micros:
        return "-"
    return f"{digits(cell.micros[name])} ({cell.ratios[name]:.1f}×)"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def line_of_rollout(found: Rollout) -> str:
    """A rollout as a line, for who watches the run."""
    where = f"{FILES[found.robot][0]}, {found.integrator}"
    size = f"{found.states:,} states, {found.steps:,} steps"
    ours, theirs = (digits(1e-6 * found.rates[name]) for name in (OURS, MUJOCO))
    rates = f"{ours} million steps/s; {MUJOCO} {theirs}, {found.ratio:.1f}×"
    return f"{where}, {size}: {rates}; apart {found.apart:.0e}"


def line_of(cell: Cell) -> str:
    """A cell as a line, for who watches the run."""
    peers = [f"{name} {cell.ratios[name]:.1f}×" for name in PEERS if name in cell.ratios]
    states = "one state" if cell.batch == 1 else f"{cell.batch:,} states"
    where = f"{FILES[cell.robot][0]}, {TASKS[cell.task].name}, {states}"
    return f"{where}: {digits(cell.micros[OURS])} us; {', '.join(peers)}; {_share(cell.peak)} peak"
