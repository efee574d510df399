"""Forward dynamics of chains of 10 to 100,000 bodies: time and memory per body.

    python -m benchmarks.chains bodies

prints what memory one chain takes, in a process of its own where nothing else grows.
"""

import gc
import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

import phipsi as pp
from phipsi.cli.timing import interleave

from .bars import FEW
from .contender import CALL, OURS, TOLERANCE, DisagreementError, relative_error
from .pinocchio_peer import PEER, chain_call
from .results import Chain
from .tasks import FORWARD

ROOT = Path(__file__).parents[1]


def measure_chains(sizes: Sequence[int], seconds: float) -> list[Chain]:
    """All chains, timed side by side; `FEW` bodies are among them."""
    functions, runs, work = {}, {}, {}
    for n in sizes:
        model, state = pp.chain(n), state_of(n)
        ours, theirs = f"{OURS} {n}", f"{CALL} {n}"
        functions[n] = pp.compile(model, FORWARD.expression)
        runs[ours], work[ours] = partial(functions[n], *state), n
        vdot = runs[ours]()
        check_motion(model, vdot, *state)
        if n <= PEER:
            runs[theirs], work[theirs] = chain_call(model, *state), n
            check_alike(model, vdot, runs[theirs]())
    times = interleave(runs, work, seconds=seconds)
    chains = []
    for n in sizes:
        ours, theirs, info = f"{OURS} {n}", f"{CALL} {n}", functions[n].info()
        timed = {
            "flops": info.flops,
            "path": info.path,
            "micros": 1e6 * times.best(ours),
            "growth": times.ratio(ours, f"{OURS} {FEW}"),
        }
        if n <= PEER:
            timed |= {"theirs": 1e6 * times.best(theirs), "ratio": times.ratio(theirs, ours)}
        chains.append(Chain(n, **timed, **memory_of(n)))
    return chains


def state_of(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, v and tau, the same in every run."""
    q, v, tau = np.random.default_rng(0).uniform(-1.0, 1.0, (3, n))
    return q, v, tau


def check_motion(
    model: pp.Model, vdot: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray
) -> None:
    """DisagreementError unless the motion needs the forces that were given.

    Up to 1e-9 of the bias force, which must cancel for that.
    """
    missing = tau - pp.inverse_dynamics(model, q, v, vdot)
    error = np.abs(missing).max() / np.abs(pp.bias_force(model, q, v)).max()
    if not error < TOLERANCE:
        raise DisagreementError(f"{model.name}: a residual of {error:.1e} is left")


def check_alike(model: pp.Model, ours: np.ndarray, theirs: np.ndarray) -> None:
    """DisagreementError unless Pinocchio finds the same motion."""
    error = relative_error(ours[None], theirs[None])
    if not error < TOLERANCE:
        raise DisagreementError(f"{model.name}: {CALL} is off by {error:.1e}")


# -- memory ------------------------------------------------------------------------------


def memory_of(n: int) -> dict[str, float]:
    """Kilobytes per body, of a chain in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.chains", str(n)]
    said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return json.loads(said.stdout)


def grow(n: int) -> dict[str, float]:
    """By how much the process grows, per body, step by step."""
    small = pp.chain(2)  # loads all that is loaded once
    pp.compile(small, FORWARD.expression)(*state_of(2))
    chain_call(small, *state_of(2))()
    marks = [_kilobytes()]
    model = pp.chain(n)
    marks.append(_kilobytes())
    function = pp.compile(model, FORWARD.expression)
    function(*state_of(n))
    marks.append(_kilobytes())
    if n <= PEER:
        call = chain_call(model, *state_of(n))
        call()
        marks.append(_kilobytes())
    steps = np.maximum(np.diff(marks), 0.0) / n
    return dict(zip(("model", "function", "data"), steps.tolist(), strict=False))


def _kilobytes() -> float:
    """The memory that the process has; where the system does not tell, the most it has had."""
    gc.collect()
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # bytes, on macOS
    return int(pages) * resource.getpagesize() / 1024


if __name__ == "__main__":
    print(json.dumps(grow(int(sys.argv[1]))))
