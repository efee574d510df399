"""Energies and momentum."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from phipsi.algebra.node import Node
from phipsi.dynamics.evaluate import NOWHERE, answer, recipe, straight_to
from phipsi.model.model import Model
from phipsi.operators import E, Jm, M, U, V, beta, phi

KINETIC = 0.5 * (V.T @ M @ V + beta.T @ Jm @ beta)
MOMENTUM = E.T @ phi @ M @ V


@recipe("q", "v")
def _kinetic(model: Model) -> Node:
    return KINETIC


@recipe("q")
def _potential(model: Model) -> Node:
    return U


@recipe("q", "v")
def _momentum(model: Model) -> Node:
    return MOMENTUM


@straight_to(_kinetic)
def kinetic_energy(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    backend: str | None = None,
    out: np.ndarray | None = None,
    threads: int | str | None = None,
) -> np.ndarray:
    """The kinetic energy: (V* M V + beta* Jm beta) / 2, which is v* Mass v / 2.

    With V = phi* H* beta [001 (21)]: the base stands still. Jm is the reflected inertia
    of the rotors. A machine with loops has this energy at every v that they allow.

    Args:
        model: the machine.
        q: configuration, (*batch, nq).
        v: speeds, (*batch, nv).
        backend: that of `pp.compile`.
        out: an array for the result; None for a new one.
        threads: that share a large batch; None for what `pp.set_threads` says.

    Returns:
        (*batch), J.

    Raises:
        InputError: for arguments of wrong shape, type or value.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> float(pp.kinetic_energy(arm, [0.0, 0.0], [1.0, 0.0]).round(4))
    1.3339
    """
    return answer(model, _kinetic, (q, v), NOWHERE, backend, out, threads)


@straight_to(_potential)
def potential_energy(
    model: Model,
    q: ArrayLike,
    *,
    backend: str | None = None,
    out: np.ndarray | None = None,
    threads: int | str | None = None,
) -> np.ndarray:
    """The potential energy of gravity: U = -sum m g . x over the mass centres x.

    It is zero at the origin of the world; links welded to the world count too. Loops
    hold no energy.

    Args:
        model: the machine.
        q: configuration, (*batch, nq).
        backend: that of `pp.compile`.
        out: an array for the result; None for a new one.
        threads: that share a large batch; None for what `pp.set_threads` says.

    Returns:
        (*batch), J.

    Raises:
        InputError: for arguments of wrong shape, type or value.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2, length=1.0, mass=1.0)
    >>> float(pp.potential_energy(arm, [3.141592653589793 / 2, 0.0]).round(2))
    19.62
    """
    return answer(model, _potential, (q,), NOWHERE, backend, out, threads)


@straight_to(_momentum)
def momentum(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    backend: str | None = None,
    out: np.ndarray | None = None,
    threads: int | str | None = None,
) -> np.ndarray:
    """The spatial momentum about the origin of the world: h = E* phi M V.

    The momenta M V of the bodies, carried to the world as forces are [001 (2), (21)];
    the base stands still.
    Momentum that a reflected rotor inertia would have is not in it. A machine with loops
    has this momentum at every v that they allow.

    Args:
        model: the machine.
        q: configuration, (*batch, nq).
        v: speeds, (*batch, nv).
        backend: that of `pp.compile`.
        out: an array for the result; None for a new one.
        threads: that share a large batch; None for what `pp.set_threads` says.

    Returns:
        [angular; linear] in world axes, (*batch, 6).

    Raises:
        InputError: for arguments of wrong shape, type or value.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> pp.momentum(arm, [0.0, 0.0], [1.0, 0.0]).round(4)
    array([ 0.    , -2.6679, 0.    , 0.    , 0.    , 2.    ])
    """
    return answer(model, _momentum, (q, v), NOWHERE, backend, out, threads)
