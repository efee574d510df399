"""Forward dynamics: the motion of forces, by the four algorithms of [004-I].

The paper's letters L and Psi are S L = K and Psi = psi S here, its theta_ddot beta_dot.
a holds gravity, b the external forces; see `terms`. Joint forces are T = S_q tau, and
S_q is the identity; where it is not, no O(N) algorithm is printed: `projected` serves.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phipsi.algebra.node import Node
from phipsi.dynamics.evaluate import (
    NOWHERE,
    answer,
    cholesky_solve,
    recipe,
    straight_to_loaded,
)
from phipsi.dynamics.inverse import bias
from phipsi.dynamics.loops import check_open
from phipsi.dynamics.mass import MASS, NOTHING_RESISTS
from phipsi.dynamics.terms import External, answer_in, answer_loaded, surround, tau, terms_of
from phipsi.errors import InputError, name_choices
from phipsi.function.results import copied
from phipsi.model.model import Model
from phipsi.operators import D, E, G, H, I, K, M, P, S_q, gravity, phi, psi, psi_tilde, tau_bar

T = S_q @ tau
WHITEN = I - H @ psi @ K  # the inverse of I + H phi K [003 Lemma 2]


@cache
def FD1(a: Node, b: Node) -> Node:
    """beta_dot = (I - H psi K)* D^-1 (I - H psi K) T', T' free of bias [004-I (4.17), (4.18)]."""
    return S_q.T @ WHITEN.T @ innovation(a, b)


@cache
def FD2(a: Node, b: Node) -> Node:
    """lambda = psi* H* nu, beta_dot = nu - K* lambda [004-I (5.5)-(5.7)].

    The accelerations of the bodies are alpha = lambda + phi* a.
    """
    nu = innovation(a, b)
    return S_q.T @ (nu - K.T @ psi.T @ H.T @ nu)


@cache
def FD3(a: Node, b: Node) -> Node:
    """eps = T - H psi (K T + M phi* a + b), beta_dot = (I - H psi K)* D^-1 eps.

    Source: [004-I (5.8)-(5.10)].
    """
    eps = T - H @ psi @ (K @ T + M @ phi.T @ a + b)
    return S_q.T @ WHITEN.T @ D.inv @ eps


@cache
def FD4(a: Node, b: Node) -> Node:
    """nu = D^-1 {T - H [psi (K T + b) + psi~ P a]},
    beta_dot = (I - H psi K)* nu - K* psi* tau_bar* a - G* a.

    Source: [004-I (5.14), (5.15)]; (5.14) is lost in print, it follows from (a.50).
    """
    nu = D.inv @ (T - H @ (psi @ (K @ T + b) + psi_tilde @ P @ a))
    return S_q.T @ (WHITEN.T @ nu - K.T @ psi.T @ tau_bar.T @ a - G.T @ a)


@cache
def innovation(a: Node, b: Node) -> Node:
    """nu = D^-1 (I - H psi K) T', T' = T - H phi (M phi* a + b) [004-I (4.17), (5.5)]."""
    return D.inv @ WHITEN @ (T - H @ phi @ (M @ phi.T @ a + b))


@cache
def link_accelerations(a_g: Node, b: Node) -> Node:
    """psi* {a_g + H* D^-1 [T - H psi (K T + P a_g + b)]} - phi* E gravity, a_g = a + E gravity.

    Source: psi* H* nu + phi* a [004-I (5.6)], which this is by Identity A.7 (a.50); `derive`
    finds it. Talos, 8018 flops instead of 8547: nothing but V is needed before the filter.
    """
    eps = T - H @ psi @ (K @ T + P @ a_g + b)
    return psi.T @ (a_g + H.T @ D.inv @ eps) - phi.T @ E @ gravity


# -- where joints follow others ----------------------------------------------------------


@cache
def projected(a: Node, b: Node) -> Node:
    """vdot = (S_q* Mass S_q)^-1 (tau - S_q* C)."""
    return MASS.inv @ (tau - bias(a, b))


@cache
def projected_link_accelerations(a: Node, a_g: Node, b: Node) -> Node:
    """phi* (H* S_q vdot + a)."""
    return phi.T @ (H.T @ S_q @ projected(a_g, b) + a)


# -- what is asked -----------------------------------------------------------------------

METHODS: dict[str, Callable[[Node, Node], Node]] = {f.__name__: f for f in (FD1, FD2, FD3, FD4)}


@recipe("q", "v", "tau")
def _forward(model: Model, method: str, *flags: bool) -> Node | tuple[Node, Node]:
    check_open(model, "forward_dynamics")
    terms = terms_of(*flags)
    if method == "cholesky":
        return MASS, tau - bias(terms.a_g, terms.b)
    return (projected if model.has_mimics else METHODS[method])(terms.a_g, terms.b)


FORWARD = {name: _forward.of(name) for name in METHODS}


@recipe("q", "v", "tau")
def _accelerations(model: Model, *flags: bool) -> Node:
    check_open(model, "accelerations")
    terms = terms_of(*flags)
    if model.has_mimics:
        return projected_link_accelerations(terms.a, terms.a_g, terms.b)
    return link_accelerations(terms.a_g, terms.b)


@straight_to_loaded(FORWARD["FD4"])
def forward_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    external: External | None = None,
    method: str = "FD4",
    *,
    base_velocity: ArrayLike | None = None,
    base_acceleration: ArrayLike | None = None,
    backend: str | None = None,
    out: np.ndarray | None = None,
    threads: int | str | None = None,
) -> np.ndarray:
    """The rates of the speeds under given forces: vdot = Mass^-1 (tau - C - J* f0), in O(N).

    FD1 to FD4 [004-I sections 4, 5] are one equation in different orders of
    propagation, each in three sweeps:

    - FD1 takes the bias off first: T' = T - H phi (M phi* a + b + B f0),
      vdot = (I - H psi K)* D^-1 (I - H psi K) T'.
    - FD2 is FD1 by lambda = psi* H* nu, from which link accelerations follow:
      nu = D^-1 (I - H psi K) T', vdot = nu - K* lambda.
    - FD3 filters the bias: eps = T - H psi (K T + M phi* a + b + B f0),
      vdot = (I - H psi K)* D^-1 eps.
    - FD4 filters P a, so nothing but V is needed before:
      nu = D^-1 {T - H [psi (K T + b + B f0) + psi~ P a]},
      vdot = (I - H psi K)* nu - K* psi* tau_bar* a - G* a.
    - "cholesky" solves with the dense mass matrix, O(N^3), for comparison.

    In all of these a holds gravity: it stands for the letter a of the algebra plus
    E gravity [004-I (3.21)].

    Where joints follow others, each method solves (S_q* Mass S_q) vdot = tau - S_q* C,
    a dense system of the independent coordinates.

    Args:
        model: the machine.
        q: configuration, (*batch, nq).
        v: speeds, (*batch, nv).
        tau: joint forces, (*batch, nv).
        external: wrenches that act ON bodies; see `inverse_dynamics`.
        method: "FD1", "FD2", "FD3", "FD4" or "cholesky".
        base_velocity: [omega; v] of what the roots hang on; see `inverse_dynamics`.
        base_acceleration: the componentwise rate of base_velocity, (*batch, 6).
        backend: that of `pp.compile`.
        out: an array for the result; None for a new one.
        threads: that share a large batch; None for what `pp.set_threads` says.

    Returns:
        (*batch, nv).

    Raises:
        InputError: for arguments of wrong shape, type or value.
        ModelError: the machine has loops; says how to go on.
        SolveError: if nothing resists the motion of some joint; names it.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> pp.forward_dynamics(arm, [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]).round(2)
    array([-12.59,  16.76])
    >>> push = {"tip": [0.0, 0.0, 0.0, 0.0, 0.0, 9.81]}  # upwards, as heavy as a link
    >>> pp.forward_dynamics(arm, [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], push, method="FD1").round(2)
    array([-20.93,  66.94])
    """
    asked = FORWARD[method] if isinstance(method, str) and method in FORWARD else None
    if asked is not None and base_velocity is None and base_acceleration is None:
        if external is None:
            return answer(model, asked, (q, v, tau), NOWHERE, backend, out, threads)
        if not isinstance(external, str):
            return answer_loaded(model, asked, (q, v, tau), external, backend, out, threads)
    if isinstance(external, str) and external in (*METHODS, "cholesky"):
        raise InputError(f"external: got {external!r}; did you mean method={external!r}?")
    around = surround(model, external, base_velocity, base_acceleration)
    if asked is not None:
        return answer_in(model, around, asked, (q, v, tau), backend, out, threads)
    dense = _forward.of(_checked_method(method))
    found = answer_in(model, around, dense, (q, v, tau), backend, None, threads)
    result = _by_cholesky(*found)
    return result if out is None else copied([result], out, result.dtype, False)[0]


def _checked_method(method: Any) -> str:
    names = [*METHODS, "cholesky"]
    if not isinstance(method, str) or method not in names:
        raise InputError(f"method: unknown {method!r}; {name_choices(str(method), names)}")
    return method


def _by_cholesky(mass: np.ndarray, force: np.ndarray) -> np.ndarray:
    if np.iscomplexobj(mass):
        raise InputError("method='cholesky' takes real numbers; the others take complex steps")
    return cholesky_solve(mass, force, f"{NOTHING_RESISTS}; method='FD4' names the joint")


@straight_to_loaded(_accelerations)
def accelerations(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    external: External | None = None,
    *,
    base_velocity: ArrayLike | None = None,
    base_acceleration: ArrayLike | None = None,
    backend: str | None = None,
    out: np.ndarray | None = None,
    threads: int | str | None = None,
) -> np.ndarray:
    """The spatial accelerations of the bodies under given forces, as FD2 has them.

    alpha = psi* H* nu + phi* a, nu = D^-1 (I - H psi K) T' [004-I (5.5), (5.6)], in the order
    of FD4: psi* {a + H* D^-1 [T - H psi (K T + P a + b)]} with gravity in a, which is taken off
    again. These are the componentwise rates of `body_velocities`, dV_k/dt in link axes: the papers'
    alpha_k, in which gravity is felt, plus [0; R_k* g]. So a machine in free fall
    accelerates by R_k* g, and one that is held, not at all.

    Args:
        model: the machine.
        q: configuration, (*batch, nq).
        v: speeds, (*batch, nv).
        tau: joint forces, (*batch, nv).
        external: wrenches that act ON bodies; see `inverse_dynamics`.
        base_velocity: [omega; v] of what the roots hang on; see `inverse_dynamics`.
        base_acceleration: the componentwise rate of base_velocity, (*batch, 6).
        backend: that of `pp.compile`.
        out: an array for the result; None for a new one.
        threads: that share a large batch; None for what `pp.set_threads` says.

    Returns:
        (*batch, n, 6), in the order of `model.bodies`. The classical acceleration of
        the origin of a frame is v_dot + omega x v.

    Raises:
        InputError: for arguments of wrong shape, type or value.
        ModelError: the machine has loops; says how to go on.
        SolveError: if nothing resists the motion of some joint; names it.

    >>> import phipsi as pp
    >>> builder = pp.ModelBuilder("stone")
    >>> _ = builder.add_body("stone", joint=pp.joints.Free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    >>> stone = builder.build()
    >>> pp.accelerations(stone, stone.neutral(), [0.0] * 6, [0.0] * 6).round(9)
    array([[ 0.  , 0.  , 0.  , 0.  , 0.  , -9.81]])
    """
    if base_velocity is None and base_acceleration is None:
        if external is None:
            return answer(model, _accelerations, (q, v, tau), NOWHERE, backend, out, threads)
        return answer_loaded(model, _accelerations, (q, v, tau), external, backend, out, threads)
    around = surround(model, external, base_velocity, base_acceleration)
    return answer_in(model, around, _accelerations, (q, v, tau), backend, out, threads)
