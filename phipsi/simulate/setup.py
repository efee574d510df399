"""What a simulation is asked to do, checked: states, controls, steps."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from phipsi.algebra.node import Node
from phipsi.backends.parallel.workers import threads_or_default
from phipsi.errors import InputError, SolveError
from phipsi.function.checks import check_backend
from phipsi.function.results import checked_out, kept_apart
from phipsi.graph.graph import GraphTooLargeError
from phipsi.masks import refuse_masked
from phipsi.model.configuration import check_array, check_configuration
from phipsi.model.model import Model
from phipsi.scalars import HUGE
from phipsi.simulate.arrays import ArrayStepper
from phipsi.simulate.control import Law, check_law, in_doubles
from phipsi.simulate.forces import SLIP, Forces
from phipsi.simulate.methods import Method, method_of
from phipsi.simulate.mobility import mobility

if TYPE_CHECKING:
    from phipsi.simulate.stepping import Stepper

MOST_STEPS = 10**9
FOLLOWED = 1e-3  # s: friction rises over what steps of that length can follow, under "dopri"
STRONG = 20.0  # times: for stronger damping than that, "midpoint" gains nothing over "euler"
SOME = 16  # states that the choice of an integrator looks at


@dataclass(frozen=True, eq=False)
class Setup:
    """A simulation before it runs.

    Args:
        model: the machine.
        method: the integrator.
        q, v: the state at the beginning, (*batch, nq) and (*batch, nv).
        forces: what moves the joints.
        tau: given forces, (*batch, 1 or steps, nv).
        control: a function of (t, q, v); None if there is none.
        h: the length of a step.
        steps: how many.
        backend: that of `pp.compile`.
        threads: that share a large batch; None for the package's default.
        out: arrays for q, v and perhaps tau of the result; () for new ones.
    """

    model: Model
    method: Method
    q: np.ndarray
    v: np.ndarray
    forces: Forces
    tau: np.ndarray
    control: Callable | None
    h: float
    steps: int
    backend: str
    threads: int | str | None = None
    out: tuple[np.ndarray, ...] = ()

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes of the result."""
        of_law = (x.first.shape[:-1] for x in self.forces.signals.values())
        shapes = [self.q.shape[:-1], self.tau.shape[:-2], *of_law]
        try:
            return np.broadcast_shapes(*shapes)
        except ValueError:
            listed = ", ".join(map(str, shapes))
            raise InputError(
                f"the batches of states, tau and control do not broadcast: {listed}"
            ) from None

    @cached_property
    def varying(self) -> frozenset[str]:
        """What is given step by step."""
        of_law = (name for name, x in self.forces.signals.items() if x.varies)
        return frozenset([*(["tau"] if self.tau.shape[-2] > 1 else []), *of_law])

    def rows(self, first: int, count: int) -> dict[str, np.ndarray]:
        """What varies, during `count` steps from `first` on, (*batch, count, n) each."""
        steps = np.arange(first, first + count)
        signals = {name: x for name, x in self.forces.signals.items() if name in self.varying}
        found = {name: x.during(steps, self.h) for name, x in signals.items()}
        if "tau" in self.varying:
            found["tau"] = self.tau[..., first : first + count, :]
        return found

    def given(self) -> dict[str, np.ndarray]:
        """What steps take beside the state; of what varies, the first value."""
        signals = {name: x.first for name, x in self.forces.signals.items()}
        found = {"h": np.array([self.h]), "tau": self.tau[..., 0, :], **signals}
        if self.forces.rubs:
            found["slip"] = self._slips()
        if "mobility" in self.method.takes(self.forces.resist, self.forces.pull):
            try:
                found["mobility"] = mobility(self.model, self.q)
            except SolveError:  # of a joint that nothing resists but its losses
                found["mobility"] = np.full(self.model.nv, HUGE**0.5)
        return found

    def _slips(self) -> np.ndarray:
        """Of each speed over how much speed friction rises."""
        if self.method.implicit:  # solves for it
            return np.full(self.model.nv, SLIP)
        step = FOLLOWED if self.method.name == "dopri" else self.h  # its steps are its own
        return self.forces.slips(mobility(self.model, self.q), step)

    def state(self) -> list[np.ndarray]:
        """The parts of the state at the beginning, (*batch, n)."""
        batch = self.batch
        parts = {name: np.zeros((*batch, n)) for name, n in self.method.state.items()}
        parts["q"][...], parts["v"][...] = self.q, self.v
        if "energy" in parts:
            parts["energy"][...] = self.held.machine.energy(self.q, self.v)
            parts["energy"] += self.forces.springs.energy(self.q)
        return list(parts.values())

    def room(self, kept: int) -> tuple[np.ndarray, np.ndarray]:
        """Arrays for so many states of each member of the batch: the user's, or new ones.

        Raises:
            InputError: if those of the user do not fit, or the computer has not that much memory.
        """
        sizes = [(*self.batch, kept, n) for n in (self.model.nq, self.model.nv)]
        if self.out:
            shapes = [*sizes, sizes[1]][: len(self.out)]
            q, v, *_ = checked_out(self.out, shapes, np.dtype(float), several=True)
            return q, v
        needed = 8 * sum(map(math.prod, sizes))
        if needed > _memory() / 2:
            raise InputError(
                f"{kept:,} states of {math.prod(self.batch):,} motions take {needed / 1e9:.3g} GB, "
                "more than this computer has; keep fewer with every="
            )
        q, v = map(np.empty, sizes)
        return q, v

    def motors(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, steps: np.ndarray
    ) -> np.ndarray:
        """Forces of the motors at many states, (*batch, T, n), under given tau and the law.

        Args:
            q, v, tau: (*batch, T, n).
            steps: (T,), which of them begin there.
        """
        numbers = {name: x.during(steps, self.h) for name, x in self.forces.signals.items()}
        return self.forces.motors(self.held.machine, q, v, {"tau": tau, **numbers})

    @property
    def is_timed(self) -> bool:
        """Whether a function of time is to be asked, of all forces or of a number of the law."""
        of_law = (x.function for x in self.forces.signals.values())
        return self.control is not None or any(x is not None for x in of_law)

    @cached_property
    def arrays(self) -> ArrayStepper:
        """Steps by arrays, functions of time asked at every stage."""
        asked = self._now if self.is_timed else None
        what = self.model, self.method, self.forces, self.backend
        return ArrayStepper(*what, asked, self.threads)

    def _now(self, time: float, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """What functions of time give."""
        if self.control is not None:
            return {"tau": ask(self, time, q, v)}
        return {name: x.at(time) for name, x in self.forces.signals.items() if x.function}

    @cached_property
    def held(self) -> ArrayStepper:
        """Steps by arrays, tau held for a step."""
        what = self.model, self.method, self.forces, self.backend
        return ArrayStepper(*what, threads=self.threads)

    def stepper(self) -> Stepper | ArrayStepper:
        """What makes steps with tau held: machine code, if the machine is not too large."""
        if self.backend != "llvm" or not self.model.nv:
            return self.held
        from phipsi.simulate.stepping import make_stepper  # LLVM, for those who need it

        key = ("steps", self.method.name, self.forces.key)
        if key not in self.model.functions:
            try:
                self.model.functions[key] = make_stepper(self.model, self.method, self.forces)
            except (GraphTooLargeError, ZeroDivisionError):  # a pivot that is always zero
                self.model.functions[key] = None
        found = self.model.functions[key]
        return self.held if found is None else found.with_threads(self.threads)


def make_setup(
    model: Model,
    q0: ArrayLike,
    v0: ArrayLike | None,
    control: Any,
    integrator: str | None,
    dt: float,
    steps: int,
    losses: bool,
    limits: bool,
    backend: str | None,
    threads: int | str | None = None,
    out: Any = None,
    *,
    called: str = "control",
) -> Setup:
    """A simulation of what the user has passed, or InputError.

    Args:
        called: what the user knows `control` by; the others as those of `simulate`.
    """
    if out is not None and not (isinstance(out, tuple) and len(out) in (2, 3)):
        raise InputError(
            f"out: expected a tuple of arrays (q, v) or (q, v, tau), got {_described(out)}"
        )
    q0, v0, control = (kept_apart(x, out) for x in (q0, v0, control))
    q = in_doubles("q0", check_configuration(model, "q0", q0))
    nv = model.nv
    reason = f"nv of {model.name!r}"
    v = np.zeros(nv) if v0 is None else in_doubles("v0", check_array("v0", v0, (nv,), reason))
    try:
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    except ValueError:
        raise InputError(
            f"the batches of q0 and v0 do not broadcast: {q.shape[:-1]}, {v.shape[:-1]}"
        ) from None
    q, v = np.broadcast_to(q, (*batch, model.nq)), np.broadcast_to(v, (*batch, nv))
    law: Law | None = None
    function: Callable | None = None
    tau = np.zeros((1, nv))
    if isinstance(control, (np.ndarray, list, tuple)):
        tau = check_forces(called, model, control, steps)
    elif control is not None and not isinstance(control, (Law, type, Node)) and callable(control):
        function = control
    elif control is not None:
        law = check_law(control)
    forces = Forces(model, law, bool(losses), bool(limits))
    forces.check()
    for signal in forces.signals.values():
        signal.check_steps(steps)
    h = check_length("dt", dt)
    method = method_of(_suited(q, forces, h) if integrator is None else integrator, model)
    threads_or_default(threads)
    how = check_backend(backend), threads, out or ()
    return Setup(model, method, q, v, forces, tau, function, h, steps, *how)


def _described(out: Any) -> str:
    return f"{len(out)} of them" if isinstance(out, tuple) else f"a {type(out).__name__}"


def _suited(q: np.ndarray, forces: Forces, h: float) -> str:
    """The integrator for who names none: by the first states."""
    if not forces.damping.any() and not forces.pull:
        return "rk4"
    try:
        some = q.reshape(-1, q.shape[-1])[:SOME]
        felt = mobility(forces.model, some)
    except SolveError:  # a joint that nothing resists but its damping or its spring
        return "euler"
    if forces.too_strong(felt, h, STRONG).any():
        return "euler"
    needed = forces.too_strong(felt, h).any() or forces.too_stiff(felt, h).any()
    return "midpoint" if needed else "rk4"


def _memory() -> float:
    """Bytes that the computer has; infinite where it does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def check_forces(name: str, model: Model, tau: Any, steps: int) -> np.ndarray:
    """Forces as (*batch, 1 or steps, nv), or InputError."""
    array = in_doubles(name, check_array(name, tau, (model.nv,), f"nv of {model.name!r}"))
    if array.ndim == 1:
        return array[None]
    if array.shape[-2] not in (1, steps):
        raise InputError(
            f"{name} has shape {array.shape}; expected ({model.nv},), or with a row for each of "
            f"the {steps} steps (*batch, {steps}, {model.nv}), or with one row for all"
        )
    return array


def check_length(name: str, value: Any) -> float:
    """A time greater than zero, or InputError."""
    number = check_array(name, value, (), "a number of seconds")
    if number.ndim or np.iscomplexobj(number) or not number > 0.0:
        raise InputError(f"{name} is {value!r}; expected a number of seconds above zero")
    return float(number)


def check_count(name: str, value: Any) -> int:
    """A whole number above zero, or InputError."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InputError(f"{name} is {value!r}; expected a whole number above zero")
    if value > MOST_STEPS:
        raise InputError(f"{name} is {value}; more than {MOST_STEPS} are not possible")
    return int(value)


def steps_of(duration: Any, dt: Any) -> tuple[int, float]:
    """How many steps of at most dt make up a duration, and their length."""
    whole, most = check_length("duration", duration), check_length("dt", dt)
    ratio = whole / most
    if ratio > MOST_STEPS:
        raise InputError(f"a duration of {whole} s in steps of {most} s takes {ratio:.3g} steps")
    steps = max(1, math.ceil(ratio * (1.0 - 1e-12) - 1e-9))
    return steps, whole / steps


def kept_count(steps: int, every: int) -> int:
    """How many states are kept, the first one counted.

    >>> kept_count(10, 4)
    4
    """
    return 1 - (-steps // every)


def kept_steps(steps: int, every: int) -> np.ndarray:
    """After how many steps states are kept: each `every`, and the last.

    >>> kept_steps(10, 4)
    array([ 0,  4,  8, 10])
    """
    return np.minimum(every * np.arange(kept_count(steps, every)), steps)


def ask(setup: Setup, time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """What a function of control gives, (*batch, nv), or an error that says when.

    Raises:
        InputError: for what are no forces of this machine.
        SolveError: for numbers that are not finite; names the joint.
    """
    model = setup.model
    assert setup.control is not None
    answer = setup.control(time, q.copy(), v.copy())
    refuse_masked(f"control: at t = {time:.6g} s", answer)
    try:
        tau = np.asarray(answer)
        if tau.dtype.kind not in "biuf":
            raise TypeError
        tau = tau.astype(float, copy=False)
    except (TypeError, ValueError):
        kind = type(answer).__name__
        raise InputError(
            f"control: at t = {time:.6g} s it returned {kind}; expected {model.nv} numbers"
        ) from None
    if tau.shape[-1:] != v.shape[-1:] or not _broadcasts(tau.shape, v.shape):
        raise InputError(
            f"control: at t = {time:.6g} s it returned an array of shape {tau.shape}; "
            f"expected {v.shape}, nv of {model.name!r}"
        )
    if not np.isfinite(tau).all():
        entry = int(np.argwhere(~np.isfinite(tau))[0][-1])
        joint = next(x for x in model.leaders if x.v.start <= entry < x.v.stop)
        raise SolveError(
            f"control: at t = {time:.6g} s it returned {tau[~np.isfinite(tau)].flat[0]} "
            f"for joint {joint.name!r}"
        )
    return tau


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether an array of this shape can be spread over another one."""
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False
