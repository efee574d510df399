"""Where the bodies are, and how they move."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from phipsi.algebra.node import Node
from phipsi.dynamics.evaluate import NOWHERE, answer, recipe, straight_to
from phipsi.dynamics.terms import answer_in, surround, terms_of
from phipsi.model.model import Model
from phipsi.operators import pose


@recipe("q")
def _poses(model: Model) -> Node:
    return pose


@recipe("q", "v")
def _velocities(model: Model, *flags: bool) -> Node:
    return terms_of(*flags).V


@straight_to(_poses)
def body_poses(
    model: Model,
    q: ArrayLike,
    *,
    backend: str | None = None,
    out: np.ndarray | None = None,
    threads: int | str | None = None,
) -> np.ndarray:
    """The frame of each body in the world, as homogeneous matrices [[R_k, x_k], [0, 1]].

    R_k maps link axes to world axes; frame k sits at the inboard joint of body k. Loops of a
    machine are closed where q closes them: nothing is moved to do so.

    Args:
        model: the machine.
        q: configuration, (*batch, nq).
        backend: that of `pp.compile`.
        out: an array for the result; None for a new one.
        threads: that share a large batch; None for what `pp.set_threads` says.

    Returns:
        (*batch, n, 4, 4), in the order of `model.bodies`.

    Raises:
        InputError: for arguments of wrong shape, type or value.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> pp.body_poses(arm, [0.0, 0.3])[1, :3, 3]
    array([1., 0., 0.])
    """
    return answer(model, _poses, (q,), NOWHERE, backend, out, threads)


@straight_to(_velocities)
def body_velocities(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    base_velocity: ArrayLike | None = None,
    backend: str | None = None,
    out: np.ndarray | None = None,
    threads: int | str | None = None,
) -> np.ndarray:
    """The spatial velocities of the bodies: V = phi* H* beta.

    V_k = [omega; v] is that of the frame of body k, in link axes [001 (21)]. A base
    that is moved adds its own: V = phi* (H* beta + E V0) [004-I (3.8)]. Of a machine with
    loops they are right for every v that the loops allow.

    Args:
        model: the machine.
        q: configuration, (*batch, nq).
        v: speeds, (*batch, nv).
        base_velocity: V0 = [omega; v] of what the roots hang on, in its own axes
            at its origin, (*batch, 6).
        backend: that of `pp.compile`.
        out: an array for the result; None for a new one.
        threads: that share a large batch; None for what `pp.set_threads` says.

    Returns:
        (*batch, n, 6), in the order of `model.bodies`.

    Raises:
        InputError: for arguments of wrong shape, type or value.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> pp.body_velocities(arm, [0.0, 0.0], [1.0, 0.0])[1]
    array([ 0., -1.,  0.,  0.,  0.,  1.])
    """
    if base_velocity is None:
        return answer(model, _velocities, (q, v), NOWHERE, backend, out, threads)
    around = surround(model, None, base_velocity)
    return answer_in(model, around, _velocities, (q, v), backend, out, threads)
