"""Forward dynamics in two sweeps, with velocities that are an instant old."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from phipsi.algebra.node import Node
from phipsi.dynamics.evaluate import recipe
from phipsi.dynamics.forward import FD4, projected
from phipsi.dynamics.loops import check_open
from phipsi.dynamics.terms import External, answer_in, surround, terms_of
from phipsi.model.model import Model


@recipe("q", "v", "tau", "velocities")
def _delayed(model: Model, *flags: bool) -> tuple[Node, Node]:
    check_open(model, "forward_dynamics_delayed")
    terms = terms_of(*flags, delayed=True)
    return (projected if model.has_mimics else FD4)(terms.a_g, terms.b), terms.V


def forward_dynamics_delayed(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    velocities: ArrayLike,
    external: External | None = None,
    *,
    base_velocity: ArrayLike | None = None,
    base_acceleration: ArrayLike | None = None,
    backend: str | None = None,
    out: tuple[np.ndarray, np.ndarray] | None = None,
    threads: int | str | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """FD4 in two sweeps: the Coriolis terms are those of the bodies' velocities an instant ago.

    FD4 needs V = phi* H* beta before its inward sweep, for a = V~ H* beta + H_dot* beta and
    b = S[V] M V. With the `velocities` of the instant before in their place, V is computed
    in the outward sweep, beside the accelerations, and returned for the next instant
    [001, after (73)]. The error is of the order of the step between the instants; with
    the present velocities it is nothing.

    External wrenches, being in world axes, cost one more sweep; so do joints that
    follow others, whose projected system is solved as in `forward_dynamics`.

    Args:
        model: the machine.
        q: configuration, (*batch, nq).
        v: speeds, (*batch, nv).
        tau: joint forces, (*batch, nv).
        velocities: of the bodies an instant ago, in link axes, (*batch, n, 6); at the
            start those of `body_velocities`.
        external: wrenches that act ON bodies; see `inverse_dynamics`.
        base_velocity: [omega; v] of what the roots hang on; see `inverse_dynamics`.
        base_acceleration: the componentwise rate of base_velocity, (*batch, 6).
        backend: that of `pp.compile`.
        out: a tuple of arrays for the results; None for new ones.
        threads: that share a large batch; None for what `pp.set_threads` says.

    Returns:
        The rates of the speeds, (*batch, nv), and the present velocities of the
        bodies, (*batch, n, 6).

    Raises:
        InputError: for arguments of wrong shape, type or value.
        ModelError: the machine has loops; says how to go on.
        SolveError: if nothing resists the motion of some joint; names it.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> q, v, step = arm.neutral(), [0.0, 0.0], 1e-3
    >>> velocities = pp.body_velocities(arm, q, v)
    >>> for _ in range(100):
    ...     vdot, velocities = pp.forward_dynamics_delayed(arm, q, v, [0, 0], velocities)
    ...     v = v + step * vdot
    ...     q = pp.integrate(arm, q, step * v)
    >>> q.round(2)
    array([-0.06,  0.08])
    """
    around = surround(model, external, base_velocity, base_acceleration)
    arrays = q, v, tau, velocities
    return answer_in(model, around, _delayed, arrays, backend, out, threads)
