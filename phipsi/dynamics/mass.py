"""The mass matrix and its inverse."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from phipsi.algebra.node import Node
from phipsi.dynamics.evaluate import NOWHERE, answer, recipe, straight_to
from phipsi.dynamics.loops import check_open
from phipsi.model.model import Model
from phipsi.operators import Mass, S_q

MASS = S_q.T @ Mass @ S_q
MASS_INVERSE = S_q.T @ Mass.inv @ S_q
NOTHING_RESISTS = (
    "the mass matrix is singular: nothing resists some motion of the independent coordinates"
)


@recipe("q")
def _mass(model: Model) -> Node:
    return MASS


@recipe("q")
def _mass_inverse(model: Model) -> Node:
    check_open(model, "mass_matrix_inverse")
    return MASS.inv if model.has_mimics else MASS_INVERSE


@straight_to(_mass)
def mass_matrix(
    model: Model,
    q: ArrayLike,
    *,
    backend: str | None = None,
    out: np.ndarray | None = None,
    threads: int | str | None = None,
) -> np.ndarray:
    """The mass matrix in the independent coordinates: S_q* Mass S_q.

    Mass = H phi M phi* H* + Jm [001 (22)], Jm the reflected rotor inertia; by
    composite inertias in one inward sweep, O(1) for each entry. Of a machine with loops it is
    that of the tree: v* Mass v / 2 is the kinetic energy, but loops keep v from being free.

    Args:
        model: the machine.
        q: configuration, (*batch, nq).
        backend: that of `pp.compile`.
        out: an array for the result; None for a new one.
        threads: that share a large batch; None for what `pp.set_threads` says.

    Returns:
        (*batch, nv, nv), symmetric.

    Raises:
        InputError: for arguments of wrong shape, type or value.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> pp.mass_matrix(arm, [0.0, 0.0]).round(4)
    array([[2.6679, 0.834 ],
           [0.834 , 0.334 ]])
    """
    return answer(model, _mass, (q,), NOWHERE, backend, out, threads)


@straight_to(_mass_inverse)
def mass_matrix_inverse(
    model: Model,
    q: ArrayLike,
    *,
    backend: str | None = None,
    out: np.ndarray | None = None,
    threads: int | str | None = None,
) -> np.ndarray:
    """The inverse of the mass matrix, by the innovations factorization.

    Mass^-1 = (I - H psi K)* D^-1 (I - H psi K) [003 Lemma 3], O(1) for each entry.
    Departure: where joints follow others, S_q* Mass S_q is inverted densely.

    Args:
        model: the machine.
        q: configuration, (*batch, nq).
        backend: that of `pp.compile`.
        out: an array for the result; None for a new one.
        threads: that share a large batch; None for what `pp.set_threads` says.

    Returns:
        (*batch, nv, nv), symmetric.

    Raises:
        InputError: for arguments of wrong shape, type or value.
        ModelError: the machine has loops; says how to go on.
        SolveError: if nothing resists the motion of some joint; names it.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> inverse = pp.mass_matrix_inverse(arm, [0.0, 1.0])
    >>> (inverse @ pp.mass_matrix(arm, [0.0, 1.0])).round(9)
    array([[ 1., -0.],
           [ 0.,  1.]])
    """
    return answer(model, _mass_inverse, (q,), NOWHERE, backend, out, threads)
