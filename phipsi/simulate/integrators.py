"""Integrators of q' = v, v' = a(q, v) on the configuration manifold.

A step is a dialogue: it asks for accelerations at states that it names, and
returns the next state. Who answers decides what comes of it: arrays, or the
graphs of a step as machine code. Within a step, q moves as q exp(u), and u grows
by the rate at which that has the speeds v [Munthe-Kaas 1998]: so orders hold on
every joint, and unit quaternions stay unit.

    euler       v1 = v + h a(q, v), q1 = q exp(h v1)                         order 1
                (speeds of free origins in axes that do not turn)
    rk4         the classical Runge-Kutta method                             order 4
    dopri       Dormand and Prince 1980, with an estimate of its error       order 5
    midpoint    a = a(q exp(h/2 w), w), w = v + h/2 a, q1 = q exp(h w)       order 2
                v1 = v + h a, corrected so that it has the right energy
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Protocol

from phipsi.scalars import Scalar, absolute, less, maximum, minimum, sqrt, where
from phipsi.simulate.vectors import combined, dot, each

Weights = tuple[float, ...]
ITERATED = 1e-13  # change of speeds, relative to them, at which an implicit step is found
NOISE = 1e-9  # of accelerations: what is rounded on long chains is no change
TINY = 1e-300  # no quotient is 0/0
ROUNDOFF = 1e-13  # of energies: less is no error
MOST = 0.01  # of the energy of inner motion, that a step may be corrected by


class Flow(Protocol):
    """What an integrator needs to know of the configurations of a machine."""

    def move(self, q: Any, u: Any) -> Any:
        """q exp(u)."""

    def rate(self, u: Any, v: Any) -> Any:
        """The rate of u where q exp(u) has the speeds v."""

    def advance(self, v: Any, a: Any, h: Any) -> Any:
        """The speeds after a step of length h, at their rate a now."""


@dataclass(frozen=True)
class Ask:
    """What an integrator must know to go on.

    Args:
        what: "acceleration" of (q, v); "driven": that and the sum of all forces; "energies" of
            (q, v): kinetic and potential, the kinetic one with inner joints locked, and the
            speeds that the machine has then.
        arguments: in this order; where losses are solved for, the speeds before.
        at: when, as a fraction of the step.
        ahead: how far ahead of the speeds before the losses are taken, as a fraction of the
            step: at these speeds + ahead h a.
    """

    what: str
    arguments: tuple
    at: float = 0.0
    ahead: float = 0.0


Dialogue = Generator[Ask, Any, tuple]


# -- explicit ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tableau:
    """An explicit Runge-Kutta method.

    Args:
        stages: of each stage the weights of the ones before.
        weights: of all stages in the result.
        errors: of all stages in the estimate of the error; none without.
    """

    stages: tuple[Weights, ...]
    weights: Weights
    errors: Weights = ()


RK4 = Tableau(((), (1 / 2,), (0, 1 / 2), (0, 0, 1)), (1 / 6, 1 / 3, 1 / 3, 1 / 6))
DOPRI = Tableau(
    (
        (),
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    ),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0),
    (71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40),
)


def euler(flow: Flow, q: Any, v: Any, h: Any) -> Dialogue:
    """Semi-implicit: the new speeds move the configuration, and cause the losses."""
    a = yield Ask("acceleration", (q, v, v), ahead=1.0)
    v1 = flow.advance(v, a, h)
    return flow.move(q, h * v1), v1


def rk4(flow: Flow, q: Any, v: Any, h: Any) -> Dialogue:
    """Four stages."""
    q1, v1, *_ = yield from _runge_kutta(RK4, flow, q, v, h)
    return q1, v1


def dopri(flow: Flow, q: Any, v: Any, h: Any) -> Dialogue:
    """Seven stages: (q1, v1, error of the tangent, of the speeds, rates, accelerations)."""
    q1, v1, rates, accelerations = yield from _runge_kutta(DOPRI, flow, q, v, h)
    errors = [h * combined(DOPRI.errors, x) for x in (rates, accelerations)]
    return q1, v1, *errors, *rates, *accelerations


def _runge_kutta(tableau: Tableau, flow: Flow, q: Any, v: Any, h: Any) -> Dialogue:
    rates: list[Any] = []
    accelerations: list[Any] = []
    for row in tableau.stages:
        at, w, rate = q, v, v
        if row:
            u, w = h * combined(row, rates), v + h * combined(row, accelerations)
            at, rate = flow.move(q, u), flow.rate(u, w)
        accelerations.append((yield Ask("acceleration", (at, w), sum(row))))
        rates.append(rate)
    u, v1 = (h * combined(tableau.weights, x) for x in (rates, accelerations))
    return flow.move(q, u), v + v1, rates, accelerations


# -- implicit ------------------------------------------------------------------------------


def midpoint(flow: Flow, q: Any, v: Any, energy: Any, a: Any, h: Any) -> Dialogue:
    """One iteration of an implicit midpoint step that holds the energy.

    The midpoint rule, a = a(q exp(h/2 w), w) with w = v + h/2 a, is iterated. Alone it keeps the
    energy to order 2. So the speeds that it leads to are corrected, by a factor 1 + O(h^3) such
    that the energy has changed by the work of all forces beside gravity, and by nothing else. It
    scales the motion of the machine against the one that it would have if all joints between
    its bodies were locked: this leaves the momentum as it is. The two motions share no
    kinetic energy, so the factor is a square root.

    Where nothing moves, no factor can hold the energy; what is missed there is made up for
    later, since `energy` goes on by work alone.

    Args:
        flow: the manifold.
        q, v: the state.
        energy: what the energy should be, one entry.
        a: the acceleration, as the iteration has it.
        h: the step.

    Returns:
        (q1, v1, energy, a, change); all are final where the change is below 1.
    """
    w = v + (0.5 * h) * a
    new, force = yield Ask("driven", (flow.move(q, (0.5 * h) * w), w, v), 0.5, ahead=0.5)
    q1, v1 = flow.move(q, h * w), v + h * new
    expected = energy + h * dot(w, force)
    kinetic, potential, rigid, locked = yield Ask("energies", (q1, v1), 1.0)
    missing = each(
        _beyond, expected - kinetic - potential, ROUNDOFF * (kinetic + each(absolute, potential))
    )
    factor = each(_root_near_one, missing / (kinetic - rigid + TINY))
    enough = ITERATED**2 * (1.0 + dot(v1, v1)) + (NOISE * h) * (NOISE * h) * dot(new, new)
    change = (h * h) * dot(new - a, new - a) / enough
    return q1, locked + factor * (v1 - locked), expected, new, change


def _beyond(x: Scalar, least: Scalar) -> Scalar:
    """x where its size is larger than that, else 0."""
    return where(less(least, absolute(x)), x, 0.0)


def _root_near_one(x: Scalar) -> Scalar:
    """The square root of 1 + x, of an x that is cut where it is not small."""
    return sqrt(1.0 + maximum(minimum(x, MOST), -MOST))
