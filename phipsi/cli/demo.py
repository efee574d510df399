"""`phipsi demo`: from the equation of a paper to a spacecraft that turns over."""

from __future__ import annotations

import re
import shutil
import sys
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np
from rich.columns import Columns
from rich.text import Text

from phipsi.cli.drawing import draw_tree
from phipsi.cli.maneuver import balance_of, swing_arms
from phipsi.cli.screen import Screen, facts, heading, number, plural, times, working
from phipsi.cli.timing import interleave
from phipsi.compile import compile
from phipsi.errors import InputError
from phipsi.extras import need
from phipsi.function import Function
from phipsi.model.examples import spacecraft
from phipsi.model.model import Model
from phipsi.operators import C, H, Jm, M, Mass, T, phi
from phipsi.simulate.trajectory import Trajectory
from phipsi.whole_file import check_writable

STATES = 1024
KEPT = 20  # every so many states go to the files
FILES = {
    "motion.html": "the motion, to be opened in a browser",
    "motion.png": "coordinates, energy, momentum over time",
    "mass.svg": "the mass matrix, made of its operators",
    "inverse.svg": "its inverse: every body feels every other",
    "sweeps.svg": "what the bodies hand to each other",
    "motion.npz": "the data, by name: numpy.load",
}
EQUATION = (H @ phi @ M @ phi.T @ H.T + Jm).inv @ (T - C)


def demo(*, out: Path = Path("demo")) -> None:
    """See a spacecraft turn over, from its equation to its motion.

    Writes pictures, a page that plays the motion, and the data.

    Args:
        out: the directory for them; it is made if it is not there.
    """
    need("matplotlib", "plot", "the picture of the demo")
    need("viser", "view", "the page of the demo")
    folder = _folder(out)
    screen, model = Screen(), spacecraft()
    _show_machine(screen, model)
    function = compile(model, EQUATION, backend="llvm")
    _show_equation(screen, function)
    _show_speed(screen, function)
    begin = perf_counter()
    motion = swing_arms()
    if not motion.complete:
        raise KeyboardInterrupt
    _show_motion(screen, motion, perf_counter() - begin)
    _write_files(screen, folder, motion[::KEPT])
    _show_next(screen)


def _folder(folder: Path) -> Path:
    """The directory for the files, made if need be; all of them can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"--out {folder}: no such directory can be made: {reason}") from None
    for name in FILES:
        check_writable(folder / name)
    return folder


def _show_machine(screen: Screen, model: Model) -> None:
    freedoms = plural(model.nv, "freedom")
    screen.print(heading(f"1. A machine: {model.name}, {model.mass:g} kg, {freedoms}, no gravity"))
    screen.print(draw_tree(model))


def _show_equation(screen: Screen, function: Function) -> None:
    screen.print(heading("2. Its equation of motion, as the papers write it"))
    screen.print(f"accelerations = {EQUATION}\n")
    program, sweeps = str(function), function.program.sweeps
    screen.print(
        f"It became {sweeps} sweeps over the bodies; k is a body, p the one that carries it:\n"
    )
    before, *loops = re.split(r"^(?=for )", program, flags=re.MULTILINE)
    columns = [before + loops[0], *loops[1:]]
    screen.print(Columns([Text(column.rstrip()) for column in columns], padding=(0, 4)))


def _show_speed(screen: Screen, function: Function) -> None:
    """The code, and how much faster it is than the same loops in Python, measured now."""
    model, info = function.model, function.info()
    rng = np.random.default_rng(0)
    q = np.array([model.random(rng) for _ in range(STATES)])
    v, tau = rng.normal(size=(2, STATES, model.nv))
    said = {
        "size": f"{info.nodes:,} operations, {info.flops:,} flops, {info.sincos} sines and cosines",
        "made": f"in {number(info.compile_seconds or 0.0, 2)} s, {info.lanes} states side by side",
        "one state": _compare(function, q[0], v[0], tau[0]),
        f"{STATES:,} states": _compare(function, q, v, tau),
    }
    screen.print(heading("3. The sweeps as machine code for this processor"))
    screen.print(facts(said))


def _compare(function: Function, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> str:
    """The time for one state, beside the interpreter of the same loops."""
    interpreter = compile(function.model, EQUATION, backend="numpy")
    runs = {"code": partial(function, q, v, tau), "loops": partial(interpreter, q, v, tau)}
    count = v.size // v.shape[-1]
    with working("timing"):
        measured = interleave(runs, dict.fromkeys(runs, count))
    return (
        f"{number(1e6 * measured.best('code'), 3)} us each, "
        f"{times(measured.ratio('loops', 'code'))} times as fast as the same loops in Python"
    )


def _show_motion(screen: Screen, motion: Trajectory, seconds: float) -> None:
    found, count = balance_of(motion), len(motion) - 1
    screen.print(heading("4. The arms swing in cones, and the bus turns over"))
    steps = f"{count:,} steps of {motion.about['integrator']}"
    screen.print(
        facts(
            {
                "motion": f"{motion.times[-1]:g} s in {steps}, computed in {number(seconds, 2)} s; "
                "the control is a Python function",
                "arms": f"back where they began, to {found.astray:.0e} rad",
                "bus": f"turned by {found.turned:.1f} degrees, and nothing pushed from outside",
                "momentum": f"of the bus up to {number(found.carried, 3)} N m s; of the whole "
                f"never above {found.angular:.0e} N m s and {found.linear:.0e} N s",
                "energy": f"up to {number(found.energy, 3)} J; it differs from the work of the "
                f"motors by {found.missing:.0e} J at most",
            }
        )
    )


def _write_files(screen: Screen, folder: Path, motion: Trajectory) -> None:
    from phipsi.view import view

    with working("writing pictures, page and data"):
        motion.plot("q", "energy", "momentum", path=folder / "motion.png")
        view(motion, html=folder / "motion.html")
        motion.save(folder / "motion.npz")
        _draw(motion.model, motion.q[len(motion) // 2], folder)
    screen.print(heading("5. Files"))
    screen.print(facts({str(folder / name): said for name, said in FILES.items()}))


def _draw(model: Model, q: np.ndarray, folder: Path) -> None:
    """The operators at a configuration, and the sweeps, as drawings."""
    from phipsi.explain.drawings import draw_blocks, draw_dataflow

    draw_blocks(Mass, model, q, factors=True).save(folder / "mass.svg")
    draw_blocks(Mass.inv, model, q).save(folder / "inverse.svg")
    draw_dataflow(EQUATION, model).save(folder / "sweeps.svg")


def _show_next(screen: Screen) -> None:
    phipsi = command_name(sys.argv[0])
    screen.print(heading("Next"))
    screen.print(
        facts(
            {
                f"{phipsi} simulate robot.urdf --html run.html": "a robot of yours",
                f"{phipsi} view robot.urdf": "its joints by sliders",
                f"{phipsi} bench robot.urdf": "its speed, beside Pinocchio",
                f"{phipsi} --help": "all commands",
                "examples/, docs/": "short programs, and pages to read",
            }
        )
    )


def command_name(called: str) -> str:
    """How the user can call this program again: by its path, where its name is not enough.

    >>> command_name("phipsi")
    'phipsi'
    """
    own, known = Path(called), shutil.which("phipsi")
    is_other = known is None or Path(known).resolve() != own.resolve()
    return called if own.name == "phipsi" and own.parent != Path() and is_other else "phipsi"
