"""`phipsi bench`: how fast the main quantities are on a user's machine, beside Pinocchio."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter
from rich.text import Text

from phipsi.cli.checking.beside import UnreadError
from phipsi.cli.checking.comparison import TOLERANCE, compare
from phipsi.cli.checking.opinions import FORMATS, root_of
from phipsi.cli.failures import spoken
from phipsi.cli.machine import AS_WRITTEN, Reading, is_bundled, read_machine
from phipsi.cli.pinocchio import TimedPinocchio
from phipsi.cli.screen import Screen, heading, number, table, times, working
from phipsi.cli.tasks import TASKS, Task, states_of
from phipsi.cli.timing import Times, interleave
from phipsi.errors import InputError, PhipsiError
from phipsi.function.checks import check_backend
from phipsi.model.model import Model
from phipsi.simulate.run import rollout

OURS, CALL, BATCH = "phipsi", "Pinocchio", "C++ batch"
CALLS = 64  # states that a loop of Python calls is timed on
CHECKED = 32  # states whose answers are compared
STEPS, DT = 100, 1e-3  # of a rollout: with few, its start would count as steps


def bench(file: str, /, *, reading: Annotated[Reading, Parameter(name="*")] = AS_WRITTEN) -> None:
    """Time the main quantities on a machine, beside Pinocchio if it is installed.

    Mimic joints move on their own, on both sides, and loops are open. Answers are compared first,
    and nothing is timed beside a peer that answers otherwise. Everything runs
    on one thread.

    Args:
        file: URDF, SDF or MJCF; or a machine of phipsi's own: spacecraft, puma560, chain:20 ...
        reading: of the file.
    """
    has_mimics = read_machine(file, reading).has_mimics
    if not is_bundled(file):
        reading = replace(reading, mimic="independent")
    read = read_machine(file, reading)
    model = read.opened()
    if not model.nv:
        raise InputError(f"{file}: nothing moves in {model.name!r}; there is nothing to time")
    states = states_of(model)
    screen = Screen()
    screen.print(Text(repr(model).strip("<>"), style="bold"))
    if has_mimics:
        screen.print("mimic joints move on their own")
    if read.is_closed:
        screen.print("loops and couplings are left open")
    with working(f"compiling {model.name}"):
        peer, said = _find_peer(file, model, states)
    screen.print(said, soft_wrap=True)
    rows, failed = table("", "states", *_columns(peer)), dict[str, str]()
    for name, count, measure in _measurements(model, states, peer):
        try:
            with working(f"timing {name}"):
                cells = _cells(measure(), peer)
        except PhipsiError as error:
            cells = ["-"]
            failed.setdefault(name, spoken(error))
        rows.add_row(name, f"{count:,}", *cells)
    screen.print(heading("Microseconds for one state"))
    screen.print(rows)
    for name, reason in failed.items():
        screen.print(f"- {name}: {reason}", soft_wrap=True)
    screen.print()
    screen.print(_how(peer))


def _measurements(
    model: Model, states: dict[str, np.ndarray], peer: TimedPinocchio | None
) -> Iterator[tuple[str, int, Callable[[], Times]]]:
    """The rows of the table: what is timed, for how many states, and who does it."""
    for task in TASKS:
        for count in dict.fromkeys((1, min(task.count(model), len(states["q"])))):
            yield task.name, count, partial(_time, model, task, states, peer, count)
    for count in (1, len(states["q"])):
        yield "rollout, a step", count, partial(_time_rollout, model, states, count)


def _find_peer(
    file: str, model: Model, states: dict[str, np.ndarray]
) -> tuple[TimedPinocchio | None, str]:
    """Pinocchio with the same machine, if it is there and gives the same answers; and a remark."""
    try:
        pin = import_module("pinocchio")
    except ImportError:
        return None, "Pinocchio is not installed: pip install pin shows it beside"
    if is_bundled(file) or FORMATS[root_of(file)] != "URDF":
        return None, f"Pinocchio is not compared: {file} is no URDF file"
    try:
        peer = TimedPinocchio(pin, file, model, states)
    except UnreadError as error:
        return None, f"Pinocchio is not compared: {error}"
    answers = {task.name: _difference(model, task, states, peer) for task in TASKS}
    compared = {name: x for name, x in answers.items() if x is not None}
    if not compared:
        return None, "Pinocchio is not compared: there are no answers of phipsi to compare"
    worst = np.max(list(compared.values()))
    if not worst < TOLERANCE:  # nor is NaN
        return None, f"Pinocchio is not compared: its answers differ by {worst:.0e}"
    where = "" if len(compared) == len(answers) else f", in {' and '.join(compared)} alone"
    said = (
        f"Pinocchio {peer.version} reads the same file and agrees to {worst:.0e}, relative{where}"
    )
    return peer, said


def _difference(
    model: Model, task: Task, states: dict[str, np.ndarray], peer: TimedPinocchio
) -> float | None:
    """How far its answers are from ours; None where we have none."""
    try:
        ours = task.function(model, *(states[name][:CHECKED] for name in task.arguments))
    except PhipsiError:
        return None  # the table says why
    theirs = np.array([peer.answer(task, k) for k in range(len(ours))])
    return compare(task.name, ours, theirs).difference


def _time(
    model: Model, task: Task, states: dict[str, np.ndarray], peer: TimedPinocchio | None, count: int
) -> Times:
    """One state as a user passes it, or a batch; a loop of Python calls in place of a batch."""
    arguments = [states[name][0] if count == 1 else states[name][:count] for name in task.arguments]
    runs: dict[str, Callable[[], object]] = {OURS: partial(task.function, model, *arguments)}
    work = {OURS: count}
    if peer is not None:
        calls = [peer.call(task, k) for k in range(min(count, CALLS))]
        runs[CALL], work[CALL] = calls[0] if count == 1 else partial(_each, calls), len(calls)
        if task.batch and count > 1:
            runs[BATCH], work[BATCH] = peer.batch(task, count), count
    return interleave(runs, work)


def _each(calls: list[Callable[[], Any]]) -> None:
    for call in calls:
        call()


def _time_rollout(model: Model, states: dict[str, np.ndarray], count: int) -> Times:
    """Motions from rest, moved by gravity alone; a unit of work is one step of one of them."""
    q0 = states["q"][0] if count == 1 else states["q"][:count]
    how: dict[str, Any] = {"integrator": "rk4", "losses": False, "limits": False}
    run = partial(rollout, model, q0, None, None, DT, STEPS, every=STEPS, **how)
    return interleave({OURS: run}, {OURS: count * STEPS})


def _columns(peer: TimedPinocchio | None) -> tuple[str, ...]:
    return (OURS,) if peer is None else (OURS, CALL, "ratio", BATCH, "ratio")


def _cells(measured: Times, peer: TimedPinocchio | None) -> list[str]:
    cells = [number(1e6 * measured.best(OURS), 3)]
    for name in (CALL, BATCH) if peer is not None else ():
        if name in measured.seconds:
            cells += [
                number(1e6 * measured.best(name), 3),
                f"{times(measured.ratio(name, OURS))} x",
            ]
        else:
            cells += ["", ""]
    return cells


def _how(peer: TimedPinocchio | None) -> str:
    """What a reader must know to trust the numbers."""
    lines = [
        f"On {_processor()}, one thread, time of the processor; calls of pp.forward_dynamics",
        "and its like from Python, the shortest of nine rounds. A step of a rollout is one of",
        f"{STEPS} by rk4, without damping and friction: four forward dynamics each.",
    ]
    if peer is not None:
        lines += [
            "Pinocchio: aba, rnea, crba, computeMinverse, called from Python for each state; C++",
            "batch: its abaInParallel, rneaInParallel, on one thread; ratios: by the median of the",
            "rounds. Its wheels are compiled for every processor of a kind, phipsi's code for this",
            "one.",
        ]
    return " ".join(lines)


def _processor() -> str:
    if check_backend(None) != "llvm":
        return f"{platform.machine()}, by the interpreter"  # the environment asks for it
    from phipsi.backends.llvm import current_target

    target = current_target()
    return f"{platform.machine()} ({target.cpu}, {target.lanes} states side by side)"
