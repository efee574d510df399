"""How many digits forward dynamics keeps, by method and machine, against fifty-digit arithmetic.

    python benchmarks/conditioning.py [--write | machine ...]

Prints two tables: the relative errors of our methods and of Pinocchio's on the same numbers,
and what private frames cost where joint axes are almost parallel. `--write` puts them into
docs/accuracy.md, which says what they mean. Needs the extras `dev` and `peers`; takes a minute
or two, nearly all of it for the reference.
"""

import argparse
import copy
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import partial
from importlib.metadata import distribution
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pinocchio as pin
import scipy.linalg

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from machines import random_inertia, random_machine, revolute  # noqa: E402
from peers import pinocchio_bridge  # noqa: E402
from reference_dynamics import (  # noqa: E402
    ExactMachine,
    decimals,
    eliminate,
    precise,
    relative_error,
    relative_size,
    solve,
)

import phipsi as pp  # noqa: E402
from phipsi import spatial  # noqa: E402
from phipsi.lowering import frames, slides  # noqa: E402

PAGE = ROOT / "docs" / "accuracy.md"
FOLDER = Path(
    str(distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data"))
)
UNIT = 2.0**-53  # half a unit in the last place: what rounding to a double may do to a number
STATES = 5
OURS = ("FD4", "FD3", "FD1", "cholesky")
State = tuple[np.ndarray, np.ndarray, np.ndarray]  # q, v, tau

# -- machines --------------------------------------------------------------------------

ROBOTS = {
    "ur5": ("ur_description/urdf/ur5_robot.urdf", "fixed"),
    "panda": ("panda_description/urdf/panda.urdf", "fixed"),
    "solo12": ("solo_description/robots/solo12.urdf", "free"),
    "talos": ("talos_data/robots/talos_full_v2.urdf", "free"),
    "tiago_dual": ("tiago_description/robots/tiago_dual.urdf", "fixed"),
    "icub": ("icub_description/robots/icub.urdf", "free"),
}


def almost_parallel(lowest: float, highest: float, n: int = 30) -> pp.Model:
    """A chain of random links; the sine between one axis and the next is as given."""
    rng = np.random.default_rng(0)
    builder = pp.ModelBuilder(f"axes {lowest} to {highest} apart")
    parent = "world"
    for k in range(n):
        about_x = spatial.rotation((1.0, 0.0, 0.0), math.asin(rng.uniform(lowest, highest)))
        about_z = spatial.rotation((0.0, 0.0, 1.0), rng.uniform(-math.pi, math.pi))
        builder.add_body(
            f"body{k}",
            parent,
            pp.joints.Revolute(),
            position=rng.uniform(-0.3, 0.3, 3),
            rotation=spatial.compose(about_z, about_x),
            **random_inertia(rng),
        )
        parent = f"body{k}"
    return builder.build()


CHAINS: dict[str, Callable[[], pp.Model]] = {
    **{f"chain({n})": partial(pp.chain, n) for n in (30, 100, 300)},
    "random chain of 300": lambda: random_machine(1, 300, [revolute], "chain"),
    "almost parallel axes": lambda: almost_parallel(0.01, 0.02),
}
MACHINES = (*ROBOTS, *CHAINS)


def pair(name: str) -> tuple[pp.Model, pinocchio_bridge.PinMachine]:
    """A machine, mimic joints free, and Pinocchio's of the same numbers."""
    if name in CHAINS:
        model = CHAINS[name]()
        return model, pinocchio_bridge.from_model(model)
    file, base = ROBOTS[name]
    path = FOLDER / "robots" / file
    model = pp.load(path, base=base, mimic="independent")
    peer = pinocchio_bridge.from_urdf(model, path, base)
    for body, match in zip(model.bodies, peer.matches, strict=True):
        # The readers round differently in the last digit: let both have ours.
        peer.model.jointPlacements[match.number] = pin.SE3(match.joint.placement.matrix)
        theirs = peer.model.inertias[match.number]
        theirs.mass, theirs.lever = body.inertia.mass, np.array(body.inertia.com)
        theirs.inertia = np.array(body.inertia.rotational)
        peer.model.inertias[match.number] = theirs
    return model, peer


def random_states(model: pp.Model, count: int = STATES) -> Iterator[State]:
    """q, v and tau, the same every time."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        yield model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)


# -- errors ----------------------------------------------------------------------------


def by_cholesky(peer: pinocchio_bridge.PinMachine, state: State) -> np.ndarray:
    """Pinocchio's mass matrix and bias, solved."""
    q, v, tau = state
    factor = scipy.linalg.cho_factor(peer.mass_matrix(q))
    return scipy.linalg.cho_solve(factor, tau - peer.bias(q, v))


def by_every_method(
    model: pp.Model, peer: pinocchio_bridge.PinMachine, state: State, ours: Sequence[str]
) -> dict[str, np.ndarray]:
    """vdot by methods of ours and by Pinocchio's."""
    results = {name: pp.forward_dynamics(model, *state, method=name) for name in ours}
    return {**results, "aba": peer.forward_dynamics(*state), "crba": by_cholesky(peer, state)}


@precise
def numbers_rounded(model: pp.Model, state: State) -> tuple[ExactMachine, State]:
    """A machine and a state whose numbers are all off by up to half a unit in the last place."""
    rng = np.random.default_rng(0)

    def rounded(x: float) -> Decimal:
        return Decimal(x) * (1 + Decimal(rng.uniform(-UNIT, UNIT)))

    q, v, tau = (np.frompyfunc(rounded, 1, 1)(x) for x in state)
    return ExactMachine(model, rounded), (q, v, tau)


def inertias_rounded(exact: ExactMachine) -> ExactMachine:
    """A machine whose M(k), 6 x 6 at the link frames, are rounded to doubles."""
    machine = copy.copy(exact)
    machine.inertias = [decimals(M.astype(float)) for M in exact.inertias]
    return machine


def errors(name: str, states: int = STATES, ours: Sequence[str] = OURS) -> dict[str, np.ndarray]:
    """What is measured of a machine, a number per state in each of `COLUMNS`, and `residual`.

    The residual is that of the reference: |tau - (Mass vdot + C)| / |tau| by Newton and Euler.
    """
    model, peer = pair(name)
    exact = ExactMachine(model)
    found: dict[str, list[float]] = {}
    for state in random_states(model, states):
        q, _, tau = state
        Mass = exact.mass_matrix(q)
        factor = eliminate(Mass)
        force = exact.missing_force(*state, np.zeros(model.nv))  # T - C
        reference = solve(factor, force)

        def change(machine, state, factor=factor, reference=reference):
            """Of the acceleration on another machine nearby, to first order."""
            force = machine.missing_force(*state, reference)
            return relative_size(solve(factor, force), reference)

        row = {
            **conditions(Mass.astype(float)),
            "numbers": change(*numbers_rounded(model, state)),
            "inertias": change(inertias_rounded(exact), state),
            "force": relative_error(solve(factor, decimals(force.astype(float))), reference),
            "residual": relative_size(exact.missing_force(*state, reference), decimals(tau)),
        }
        for method, result in by_every_method(model, peer, state, ours).items():
            row[method] = relative_error(result, reference)
        for column, value in row.items():
            found.setdefault(column, []).append(value)
    return {column: np.array(values) for column, values in found.items()}


def conditions(Mass: np.ndarray) -> dict[str, float]:
    """The condition number, and that of the matrix with a diagonal of ones."""
    scale = 1.0 / np.sqrt(np.diag(Mass))
    scaled = scale[:, None] * Mass * scale
    return {"cond": float(np.linalg.cond(Mass)), "scaled": float(np.linalg.cond(scaled))}


# -- private frames --------------------------------------------------------------------


def frame_errors(lowest: float, highest: float) -> dict[str, np.ndarray]:
    """The errors of FD4 with origins that stay, slide as they do, slide as far as they like."""
    exact = ExactMachine(almost_parallel(lowest, highest))
    states = list(random_states(exact.model))
    references = [exact.forward_dynamics(*state) for state in states]

    found = {}
    bounds = {
        "stay": (-1.0, slides.GROWTH),
        "bounded": (frames.REACH, slides.GROWTH),
        "unbounded": (math.inf, math.inf),
    }
    for column, (reach, growth) in bounds.items():
        model = almost_parallel(lowest, highest)  # a new one: frames are chosen once
        with patch.object(frames, "REACH", reach), patch.object(slides, "GROWTH", growth):
            results = [pp.forward_dynamics(model, *state) for state in states]
        pairs = zip(results, references, strict=True)
        found[column] = np.array([relative_error(*pair) for pair in pairs])
    return found


# -- tables ----------------------------------------------------------------------------

SINES = ((0.5, 1.0), (0.1, 0.2), (0.05, 0.1), (0.01, 0.02), (0.001, 0.002))

COLUMNS = {
    "cond": "cond Mass",
    "scaled": "scaled",
    "numbers": "numbers rounded",
    "inertias": "M(k) rounded",
    "force": "T - C rounded",
    "FD4": "FD4",
    "FD3": "FD3",
    "FD1": "FD1",
    "cholesky": "Cholesky",
    "aba": "Pinocchio aba",
    "crba": "Pinocchio crba",
}
HEAD = f"| machine | {' | '.join(COLUMNS.values())} |"
FRAME_HEAD = "| sine between axes | origins stay | bounded slides | unbounded slides |"


def ruled(head: str) -> str:
    """The head of a table and the line below it."""
    return f"{head}\n|---|{'--:|' * (head.count('|') - 2)}"


def error_row(name: str) -> str:
    """One row of the first table: the worst of the states in each column."""
    found = errors(name)
    cells = (f"{found[column].max():.1e}" for column in COLUMNS)
    return f"| {name} | {' | '.join(cells)} |"


def frame_row(lowest: float, highest: float) -> str:
    """One row of the second table."""
    found = frame_errors(lowest, highest)
    cells = (f"{values.max():.1e}" for values in found.values())
    return f"| {lowest:g} to {highest:g} | {' | '.join(cells)} |"


def write(title: str, table: str) -> None:
    """Put a table into the page, between its markers."""
    start, end = f"<!-- {title}: written by benchmarks/conditioning.py -->", f"<!-- end {title} -->"
    before, rest = PAGE.read_text(encoding="utf-8").split(start)
    _, after = rest.split(end)
    PAGE.write_text(f"{before}{start}\n{table}\n{end}{after}", encoding="utf-8")


def printed(head: str, rows: Iterator[str]) -> str:
    """A table, each row printed as soon as it is there."""
    lines = [ruled(head)]
    print(lines[0], flush=True)
    for row in rows:
        print(row, flush=True)
        lines.append(row)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    parser.add_argument("machine", nargs="*", help=f"some of {', '.join(MACHINES)}; else all")
    options = parser.parse_args()
    unknown = [name for name in options.machine if name not in MACHINES]
    if unknown:
        parser.error(f"no machine {unknown[0]!r}; there are {', '.join(MACHINES)}")
    table = printed(HEAD, (error_row(name) for name in options.machine or MACHINES))
    if options.machine:
        return
    print()
    frame_table = printed(FRAME_HEAD, (frame_row(*sines) for sines in SINES))
    if options.write:
        write("errors", table)
        write("frames", frame_table)


if __name__ == "__main__":
    main()
