"""Inverse dynamics: the forces of a motion."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from phipsi.algebra.node import Node
from phipsi.dynamics.evaluate import NOWHERE, answer, recipe, straight_to, straight_to_loaded
from phipsi.dynamics.terms import External, answer_in, answer_loaded, surround, terms_of, vdot
from phipsi.model.model import Model
from phipsi.operators import E, H, Jm, M, S_q, gravity, phi

GRAVITY = S_q.T @ H @ phi @ M @ phi.T @ E @ gravity


@cache
def newton_euler(a: Node, b: Node) -> Node:
    """alpha = phi* (H* beta_dot + a), f = phi (M alpha + b), T = H f + Jm beta_dot.

    Source: [001 (24), (25)]. Departure: the rotors' Jm.
    """
    beta_dot = S_q @ vdot
    alpha = phi.T @ (H.T @ beta_dot + a)
    f = phi @ (M @ alpha + b)
    return S_q.T @ (H @ f + Jm @ beta_dot)


@cache
def bias(a: Node, b: Node) -> Node:
    """S_q* C, C = H phi (M phi* a + b) [001 (23)]."""
    return S_q.T @ H @ phi @ (M @ phi.T @ a + b)


@recipe("q", "v", "vdot")
def _newton_euler(model: Model, *flags: bool) -> Node:
    terms = terms_of(*flags)
    return newton_euler(terms.a_g, terms.b)


@recipe("q", "v")
def _bias(model: Model, *flags: bool) -> Node:
    terms = terms_of(*flags)
    return bias(terms.a_g, terms.b)


@recipe("q")
def _gravity(model: Model) -> Node:
    return GRAVITY


@straight_to_loaded(_newton_euler)
def inverse_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    vdot: ArrayLike,
    external: External | None = None,
    *,
    base_velocity: ArrayLike | None = None,
    base_acceleration: ArrayLike | None = None,
    backend: str | None = None,
    out: np.ndarray | None = None,
    threads: int | str | None = None,
) -> np.ndarray:
    """The joint forces of a motion: tau = Mass vdot + C + J* f0, in two sweeps.

    Newton-Euler, base to tip and back [001 (24), (25)]:
    alpha = phi* (H* vdot + a + E gravity), f = phi (M alpha + b + B f0), tau = H f + Jm vdot,
    f0 = -external. Joints that follow others are projected: tau becomes S_q* tau.
    Of a machine with loops these forces make the motion alone, the loops holding nothing;
    wrenches that they do hold go into `external`.

    Args:
        model: the machine.
        q: configuration, (*batch, nq).
        v: speeds, (*batch, nv).
        vdot: rates of the speeds, (*batch, nv).
        external: wrenches [moment; force] that act ON bodies, in world axes:
            {point or name of a frame: (*batch, 6)} at the points, or an array
            (*batch, n, 6) at the origins of the bodies' frames.
        base_velocity: [omega; v] of what the roots hang on, in its own axes,
            (*batch, 6). Its frame takes the place of the world's: model.gravity
            and wrenches are in its axes at this instant.
        base_acceleration: the componentwise rate of base_velocity, (*batch, 6).
        backend: that of `pp.compile`.
        out: an array for the result; None for a new one.
        threads: that share a large batch; None for what `pp.set_threads` says.

    Returns:
        (*batch, nv).

    Raises:
        InputError: for arguments of wrong shape, type or value.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> pp.inverse_dynamics(arm, [0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    array([19.62 , 4.905])
    >>> load = {pp.point("tip"): [0, 0, 0, 0, 0, -10.0]}  # a weight on the hand
    >>> pp.inverse_dynamics(arm, [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], load)
    array([39.62 , 14.905])
    """
    if external is None and base_velocity is None and base_acceleration is None:
        return answer(model, _newton_euler, (q, v, vdot), NOWHERE, backend, out, threads)
    if external is not None and base_velocity is None and base_acceleration is None:
        return answer_loaded(model, _newton_euler, (q, v, vdot), external, backend, out, threads)
    around = surround(model, external, base_velocity, base_acceleration)
    return answer_in(model, around, _newton_euler, (q, v, vdot), backend, out, threads)


@straight_to(_bias)
def bias_force(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    base_velocity: ArrayLike | None = None,
    base_acceleration: ArrayLike | None = None,
    backend: str | None = None,
    out: np.ndarray | None = None,
    threads: int | str | None = None,
) -> np.ndarray:
    """The joint forces of a motion without joint accelerations.

    C = H phi [M phi* (a + E gravity) + b]: Coriolis, centrifugal and gyroscopic forces
    and gravity [001 (23)], projected by S_q. Of a machine with loops it is that of the tree:
    tau = Mass vdot + C, less what the loops hold.

    Args:
        model: the machine.
        q: configuration, (*batch, nq).
        v: speeds, (*batch, nv).
        base_velocity: [omega; v] of what the roots hang on; see `inverse_dynamics`.
        base_acceleration: the componentwise rate of base_velocity, (*batch, 6).
        backend: that of `pp.compile`.
        out: an array for the result; None for a new one.
        threads: that share a large batch; None for what `pp.set_threads` says.

    Returns:
        (*batch, nv).

    Raises:
        InputError: for arguments of wrong shape, type or value.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> (pp.bias_force(arm, [0.0, 1.5], [1.0, 0.0]) - pp.gravity_force(arm, [0.0, 1.5])).round(4)
    array([0.    , 0.4987])
    """
    if base_velocity is None and base_acceleration is None:
        return answer(model, _bias, (q, v), NOWHERE, backend, out, threads)
    around = surround(model, None, base_velocity, base_acceleration)
    return answer_in(model, around, _bias, (q, v), backend, out, threads)


@straight_to(_gravity)
def gravity_force(
    model: Model,
    q: ArrayLike,
    *,
    backend: str | None = None,
    out: np.ndarray | None = None,
    threads: int | str | None = None,
) -> np.ndarray:
    """The joint forces that hold the machine against gravity: H phi M phi* E gravity.

    Gravity is an acceleration -[0; g] of the base [004-I (3.21)]; projected by S_q. A machine
    with loops is held by these too, its loops holding nothing.

    Args:
        model: the machine.
        q: configuration, (*batch, nq).
        backend: that of `pp.compile`.
        out: an array for the result; None for a new one.
        threads: that share a large batch; None for what `pp.set_threads` says.

    Returns:
        (*batch, nv): the derivative of `potential_energy` by q.

    Raises:
        InputError: for arguments of wrong shape, type or value.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> pp.gravity_force(arm, [0.0, 0.0])
    array([19.62 , 4.905])
    """
    return answer(model, _gravity, (q,), NOWHERE, backend, out, threads)
