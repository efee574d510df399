"""What a user asks for: `simulate` and `rollout`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phipsi.algebra.node import Node
from phipsi.dynamics.loops import check_open
from phipsi.errors import InputError
from phipsi.model.model import Model
from phipsi.progress import Progress
from phipsi.simulate.adaptive import AdaptiveRun
from phipsi.simulate.fixed import Run
from phipsi.simulate.methods import FIXED
from phipsi.simulate.setup import Setup, check_count, kept_steps, make_setup, steps_of
from phipsi.simulate.trajectory import Trajectory


def simulate(
    model: Model,
    q0: ArrayLike,
    v0: ArrayLike | None = None,
    duration: float = 1.0,
    *,
    control: Any = None,
    integrator: str | None = None,
    dt: float = 1e-3,
    every: int = 1,
    tolerance: float = 1e-9,
    most_steps: int | None = None,
    losses: bool = True,
    limits: bool = True,
    progress: bool | None = None,
    backend: str | None = None,
    out: tuple[np.ndarray, ...] | None = None,
    threads: int | str | None = None,
) -> Trajectory:
    """The motion of a machine: q' = v, v' = Mass^-1 (tau - C), from a state on.

    Integrators, all on the configuration manifold (unit quaternions stay unit):

    - "rk4": Runge and Kutta, order 4.
    - "dopri": Dormand and Prince, order 5, with steps that keep the error of each within the
      tolerance; states between steps by their interpolation, order 4.
    - "euler": semi-implicit, order 1. It solves for losses, which may be as strong as they like,
      and for springs; those that it cannot follow come to rest.
    - "midpoint": implicit midpoint, order 2, which keeps the energy to roundoff: it changes by the
      work of motors and losses only. It solves for losses and springs too.

    Args:
        model: the machine.
        q0: configuration at the beginning, (*batch, nq).
        v0: speeds at the beginning, (*batch, nv); None for rest.
        duration: s.
        control: joint forces: None for none; (nv,) for constant ones; (*batch, steps, nv) with a
            row for each step; an operator expression, or a law of `pp.control`, which becomes
            part of the machine code; a function of (t, q, v), asked once for each step, or by
            "dopri" at every stage.
        integrator: its name; None for "rk4", or where the damping of a joint acts within less
            than a step, as on light fingers, or springs swing by more than a sixth of a radian in
            a step, "midpoint", or "euler" if the damping is very strong.
        dt: s; the length of a step, or for "dopri" the time between kept states. It is shortened
            to fit the duration.
        every: every so many states are kept, and the last.
        tolerance: of "dopri", for each step, absolute and relative.
        most_steps: of "dopri", which gives up as soon as it can be seen that it needs more; None
            for a million, or 10 for each dt if that is more.
        losses: whether joints have the damping and friction of their file. Friction rises from
            zero over a small speed, see `phipsi.simulate.forces`.
        limits: whether motors have the largest efforts of their file, where it gives any.
        progress: whether to show a bar; None: on a terminal, if it takes longer than a moment.
        backend: that of `pp.compile`.
        out: arrays (q, v), or (q, v, tau), for the kept states, (*batch, kept, n), and the forces
            of the motors; None for new ones. The trajectory looks at them: it changes with them.
        threads: that share a large batch; None for what `pp.set_threads` says.

    Returns:
        the states at equal times and at the end, with the forces of the motors; after Ctrl-C
        those that there are, with `complete` False.

    Raises:
        InputError: for arguments of wrong shape, type or value.
        ModelError: the machine has loops; says how to go on.
        SolveError: where the motion cannot be continued; says when, and which joint.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> fall = pp.simulate(arm, [0.0, 0.0], duration=0.5, dt=0.01, integrator="midpoint")
    >>> fall
    <Trajectory of 'planar arm of 2': 51 samples from 0 to 0.5 s>
    >>> bool(abs(fall.energy - fall.energy[0]).max() < 1e-12)
    True
    """
    steps, h = steps_of(duration, dt)
    every = check_count("every", every)
    if every > steps:
        raise InputError(f"every is {every}, but there are {steps} steps of {h:.6g} s")
    check_open(model, "simulate")
    how = losses, limits, backend, threads, out
    asked = make_setup(model, q0, v0, control, integrator, h, steps, *how)
    bar = _bar(steps * h, progress)
    if asked.method.name in FIXED:
        run: Run | AdaptiveRun = Run(asked, every, bar)
    else:
        run = AdaptiveRun(asked, every, bar, tolerance, most_steps)
    complete = run.go()
    return _trajectory(asked, run, every, complete, asked.forces.law is not None)


def rollout(
    model: Model,
    q0: ArrayLike,
    v0: ArrayLike | None,
    tau: Any,
    dt: float,
    steps: int,
    *,
    integrator: str | None = None,
    every: int = 1,
    losses: bool = True,
    limits: bool = True,
    progress: bool | None = False,
    backend: str | None = None,
    out: tuple[np.ndarray, ...] | None = None,
    threads: int | str | None = None,
) -> Trajectory:
    """Many motions at once, whole steps in machine code, states side by side in its lanes.

    Args:
        model: the machine.
        q0: configurations at the beginning, (*batch, nq).
        v0: speeds at the beginning, (*batch, nv); None for rest.
        tau: joint forces, held over a step: (nv,) for all; (steps, nv) or (*batch, steps, nv)
            for each step, (*batch, 1, nv) for all steps; None for none; an operator expression,
            or a law of `pp.control`.
        dt: s, the length of a step.
        steps: how many.
        integrator: "rk4", "euler" or "midpoint"; None to choose as `simulate` does.
        every: every so many states are kept, and the last.
        losses: whether joints have the damping and friction of their file.
        limits: whether motors have the largest efforts of their file.
        progress: whether to show a bar.
        backend: that of `pp.compile`.
        out: arrays (q, v), or (q, v, tau), for the result; see `simulate`.
        threads: that share a large batch; None for what `pp.set_threads` says.

    Returns:
        q is (*batch, kept, nq), its first state q0, with 1 + steps / every states kept, rounded
        up. The forces of a law are kept only where `out` has room for them.

    Raises:
        InputError: for arguments of wrong shape, type or value.
        ModelError: the machine has loops; says how to go on.
        SolveError: where a motion cannot be continued; says when, and which joint.

    >>> import numpy as np
    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> q0 = np.random.default_rng(0).uniform(-1, 1, (100, 2))
    >>> pp.rollout(arm, q0, None, None, dt=1e-3, steps=50).q.shape
    (100, 51, 2)
    """
    steps, every = check_count("steps", steps), check_count("every", every)
    if integrator == "dopri":
        raise InputError(
            f"integrator: 'dopri' chooses its steps, and a rollout has steps of one length; "
            f"take one of {', '.join(FIXED)}, or pp.simulate"
        )
    if every > steps:
        raise InputError(f"every is {every}, but there are {steps} steps")
    if callable(tau) and not isinstance(tau, (type, Node)):
        raise InputError("tau: a rollout takes no function of (t, q, v); pp.simulate does")
    check_open(model, "rollout")
    how = losses, limits, backend, threads, out
    asked = make_setup(model, q0, v0, tau, integrator, dt, steps, *how, called="tau")
    run = Run(asked, every, _bar(steps * asked.h, progress))
    return _trajectory(asked, run, every, run.go(), False)


def _bar(duration: float, show: bool | None) -> Progress:
    """Simulated time, and its speed over real time."""

    def speed(simulated: float, seconds: float) -> str:
        return f"{simulated / seconds:,.3g} x real time"

    done = "{task.completed:.2f} of {task.total:.2f} s"
    return Progress(duration, "simulating", done, speed, show)


def _trajectory(
    asked: Setup, run: Run | AdaptiveRun, every: int, complete: bool, keep_law: bool
) -> Trajectory:
    """What was computed, without copies."""
    q, v = run.q[..., : run.kept, :], run.v[..., : run.kept, :]
    steps = kept_steps(asked.steps, every)[: run.kept]
    tau = None
    room = asked.out[2][..., : run.kept, :] if len(asked.out) == 3 else None
    if run.tau is not None or asked.tau.any() or keep_law or room is not None:
        rows = np.minimum(steps, asked.tau.shape[-2] - 1)
        given = asked.tau[..., rows, :] if run.tau is None else run.tau[..., : run.kept, :]
        tau = np.broadcast_to(asked.motors(q, v, given, steps), v.shape)
        if room is not None:
            room[...] = tau
            tau = room
    for array in (q, v, tau):  # views: those of a user can still be written to
        if array is not None:
            array.flags.writeable = False
    about: dict[str, str | float] = {
        "integrator": asked.method.name,
        "dt": asked.h,
        "every": every,
        **run.about,
    }
    return Trajectory(asked.model, asked.h * steps, q, v, tau, complete, about)
