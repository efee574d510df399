"""`phipsi simulate`: the motion of a machine, told, drawn, filmed, kept."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from phipsi.cleaning import visible
from phipsi.cli.failures import FINE, INTERRUPTED
from phipsi.cli.machine import AS_WRITTEN, Reading, read_machine
from phipsi.cli.motors import at_their_limits, off_target
from phipsi.cli.outputs import NOWHERE, Outputs
from phipsi.cli.screen import Screen, working
from phipsi.cli.setting import UNDRIVEN, Driving, start_of
from phipsi.cli.summary import LOSSES, Speed, tell
from phipsi.cli.whole import Whole
from phipsi.dynamics.loops import loops_of
from phipsi.errors import InputError
from phipsi.model.inertia import vector3
from phipsi.simulate.run import simulate as run
from phipsi.simulate.setup import steps_of
from phipsi.view.subject import resting

MOTORS = {
    "none": "off",
    "pd": "pd to the neutral configuration, weight carried",
    "gravity": "carry the weight",
    "computed": "computed torque to the neutral configuration",
}

TOWARDS_NEUTRAL = ("pd", "computed")


def simulate(
    file: str,
    /,
    *,
    reading: Annotated[Reading, Parameter(name="*")] = AS_WRITTEN,
    opened: Annotated[bool, Parameter(name="--open", negative=(), show_default=False)] = False,
    gravity: Annotated[tuple[float, float, float] | None, Parameter(negative=())] = None,
    duration: float = 5.0,
    dt: float = 1e-3,
    integrator: Literal["rk4", "dopri", "euler", "midpoint"] | None = None,
    tolerance: float | None = None,
    most_steps: Whole | None = None,
    every: Whole = 1,
    losses: bool = True,
    limits: bool = True,
    seed: Whole | None = None,
    driving: Annotated[Driving, Parameter(name="*")] = UNDRIVEN,
    outputs: Annotated[Outputs, Parameter(name="*")] = NOWHERE,
) -> int:
    """Simulate a machine, and say what it did.

    It begins in the neutral configuration, moved into the limits of the
    joints, at rest; with --seed in a random state, and so does what is
    controlled towards the neutral configuration. Nothing touches: there is no
    ground, and no joint stops at its limits.

    Control: none; pd pulls the joints to the neutral configuration, and
    carries their weight; gravity carries it, no more; computed is computed
    torque, to the neutral configuration.

    Args:
        file: URDF, SDF or MJCF; or a machine of phipsi's own: spacecraft, puma560, chain:20 ...
        reading: of the file.
        opened: leave the loops and couplings of the machine open: its tree moves alone.
        gravity: m/s^2, three numbers in the axes of the world.
        duration: seconds.
        dt: seconds of a step.
        integrator: order 4; order 5 with its own steps; semi-implicit; energy-preserving. By
            default rk4, or midpoint or euler where the damping or the spring of a joint is strong.
        tolerance: of dopri, for each step, absolute and relative; 1e-9 by default.
        most_steps: of dopri; by default a million, or 10 for each dt if that is more.
        every: keep every so many states, and the last.
        losses: with the damping and friction of the file.
        limits: with the largest efforts of the file.
        seed: begin in a random state, drawn by this number.
        driving: what drives the joints.
        outputs: what to write.
    """
    outputs.check()
    model = read_machine(file, reading)
    if gravity is not None:
        model = replace(model, gravity=vector3("--gravity", gravity))
    is_closed = model.is_closed
    if is_closed and not opened:
        raise InputError(
            f"{file}: {model.name!r} has loops ({loops_of(model)}), and their forces are not "
            "computed: --open leaves them open, and moves the tree alone"
        )
    model = model.opened()
    if not model.nv:
        raise InputError(f"{file}: nothing moves in {model.name!r}; there is nothing to simulate")
    steps_of(duration, dt)  # refuses what is no time
    if seed is None and driving.control in TOWARDS_NEUTRAL:
        seed = 0
    q0, v0 = start_of(model, seed)
    how: dict[str, Any] = {"integrator": integrator, "dt": dt, "losses": losses, "limits": limits}
    how |= given_to_dopri(integrator, tolerance, most_steps)
    is_lossy = losses and any(joint.damping or joint.friction for joint in model.joints)
    setting = {
        "start": "neutral, at rest" if seed is None else f"random, by seed {seed}",
        "motors": MOTORS[driving.control],
    }
    if is_closed:
        setting["loops"] = "left open: the tree moves alone"
    begin = perf_counter()
    with working(f"compiling {model.name}"):
        how["control"] = driving.law(model)
        if not run(model, q0, v0, min(dt, duration), **how).complete:
            raise KeyboardInterrupt
    ready = perf_counter()
    motion = run(model, q0, v0, duration, every=every, **how)
    speed = Speed(ready - begin, perf_counter() - ready)
    written = list(outputs.write(motion))
    screen = Screen()
    workers = (("the motors", driving.control != "none"), (LOSSES, is_lossy))
    worked_by = " and ".join(name for name, works in workers if works)
    noticed = {
        "efforts": at_their_limits(motion) if limits else "",
        "target": off_target(motion, resting(model)) if driving.control in TOWARDS_NEUTRAL else "",
    }
    tell(screen, motion, setting, speed, worked_by, noticed)
    for line in written:
        screen.print(visible(line), soft_wrap=True)
    if not written:
        screen.print("To see it, add --html run.html or --plot run.png; to keep it, --out run.nc")
    return FINE if motion.complete else INTERRUPTED


def given_to_dopri(
    integrator: str | None, tolerance: float | None, most_steps: int | None
) -> dict[str, float]:
    """What is not left to `pp.simulate`; InputError if the integrator has no use for it.

    >>> given_to_dopri("dopri", 1e-6, None)
    {'tolerance': 1e-06}
    """
    given = {"tolerance": tolerance, "most_steps": most_steps}
    found = {name: value for name, value in given.items() if value is not None}
    if found and integrator != "dopri":
        option = next(iter(found)).replace("_", "-")
        raise InputError(f"--{option} is for --integrator dopri")
    return found
