"""Random speeds and forces that fit a machine: N(0, Mass^-1) and N(0, Mass), in O(N).

The innovations factorization is a square root of the mass matrix that nobody had to form:

    Mass    = (I + H phi K) D (I + H phi K)*          [003 Lemma 1]
    Mass^-1 = (I - H psi K)* D^-1 (I - H psi K)       [003 Lemma 3]

So white noise w, independent numbers of variance one, is coloured by one sweep for forces and
by two for speeds: with D = D^1/2 D^1/2* (Cholesky, joint by joint)

    T    = (I + H phi K) D^1/2 w          has the covariance Mass
    beta = (I - H psi K)* D^-1/2* w       has the covariance Mass^-1

In the words of estimation [004-I sec. 4], w is the normalised innovation, D its covariance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phipsi.algebra.node import Node
from phipsi.dynamics.evaluate import NOWHERE, answer, recipe
from phipsi.dynamics.loops import check_open
from phipsi.dynamics.mass import NOTHING_RESISTS
from phipsi.dynamics.mass import mass_matrix as projected_mass
from phipsi.errors import InputError, SolveError
from phipsi.function.results import copied
from phipsi.lowering.watch import SINGULAR
from phipsi.model.configuration import check_configuration
from phipsi.model.draw import Seed, Size, checked_size, generator_of
from phipsi.model.model import Model
from phipsi.operators import D, H, I, K, S_q, phi, psi, vector

w = vector("w", "joint")
FORCE = S_q.T @ (I + H @ phi @ K) @ D.sqrt @ w
VELOCITY = S_q.T @ (I - H @ psi @ K).T @ D.sqrt.inv.T @ w


@recipe("q", "w")
def _velocity(model: Model) -> Node:
    return VELOCITY


@recipe("q", "w")
def _force(model: Model) -> Node:
    return FORCE


NOISE = "rows of noise"  # of a machine that was looked at, how many numbers are drawn
DOUBLE = np.dtype(float)


def sample_velocity(
    model: Model,
    q: ArrayLike,
    rng: Seed = None,
    size: Size = None,
    *,
    backend: str | None = None,
    out: np.ndarray | None = None,
    threads: int | str | None = None,
) -> np.ndarray:
    """Random speeds of covariance Mass^-1: v = (I - H psi K)* D^-1/2* w, w white [003 Lemma 3].

    These are the speeds of a machine in a heat bath with k T = 1 J: light motions are quick,
    heavy ones slow, and each of the nv freedoms holds half a joule in the mean. For another
    temperature, multiply them by sqrt(k T).

    Departure: where joints follow others, S_q* Mass S_q has no such factor; then it is
    factored densely, v = L^-* w.

    Args:
        model: the machine.
        q: configuration, (*batch, nq).
        rng: a NumPy generator, or the seed of one; None for numbers that nobody can repeat.
        size: how many draws for each q: a number or a shape; None for one, without an axis.
        backend: that of `pp.compile`.
        out: an array for the result; None for a new one.
        threads: that share a large batch; None for what `pp.set_threads` says.

    Returns:
        (*size, *batch, nv); each draw is independent of the others.

    Raises:
        InputError: for arguments of wrong shape, type or value.
        ModelError: the machine has loops; says how to go on.
        SolveError: if nothing resists the motion of some joint; names it.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> v = pp.sample_velocity(arm, [0.0, 1.0], rng=0, size=100_000)
    >>> (np.cov(v.T) / pp.mass_matrix_inverse(arm, [0.0, 1.0])).round(1)
    array([[1., 1.],
           [1., 1.]])
    >>> float(pp.kinetic_energy(arm, [0.0, 1.0], v).mean().round(2))  # half a joule for each
    1.0
    """
    noise = _noise(model, "sample_velocity", q, rng, size)
    if not model.has_mimics:
        return answer(model, _velocity, (q, noise), NOWHERE, backend, out, threads)
    root = _dense_root(projected_mass(model, q, backend=backend, threads=threads))
    own = noise[..., : model.nv, None]
    found = np.linalg.solve(np.swapaxes(root, -1, -2), own)[..., 0]
    return found if out is None else copied([found], out, found.dtype, False)[0]


def sample_force(
    model: Model,
    q: ArrayLike,
    rng: Seed = None,
    size: Size = None,
    *,
    backend: str | None = None,
    out: np.ndarray | None = None,
    threads: int | str | None = None,
) -> np.ndarray:
    """Random forces of covariance Mass: tau = (I + H phi K) D^1/2 w, w white [003 Lemma 1].

    Read as impulses, they are what kicks the machine, from rest, to the speeds of
    `sample_velocity`: Mass^-1 tau has the covariance Mass^-1. Where joints follow others, their
    forces are added to those of the joints that lead: S_q* T has the covariance S_q* Mass S_q;
    if one that follows carries nothing, that is factored densely.

    Args:
        model, q, rng, size, backend, out, threads: as those of `sample_velocity`.

    Returns:
        (*size, *batch, nv), as there.

    Raises:
        InputError, ModelError, SolveError: as there.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> tau = pp.sample_force(arm, [0.0, 1.0], rng=0, size=100_000)
    >>> (np.cov(tau.T) / pp.mass_matrix(arm, [0.0, 1.0])).round(1)
    array([[1., 1.],
           [1., 1.]])
    >>> pp.sample_force(arm, [[0.0, 1.0], [0.0, 2.0]], rng=0, size=(3, 4)).shape
    (3, 4, 2, 2)
    """
    noise = _noise(model, "sample_force", q, rng, size)
    try:
        return answer(model, _force, (q, noise), NOWHERE, backend, out, threads)
    except SolveError:
        if not model.has_mimics:  # else one that follows may carry nothing: D vanishes there
            raise
    root = _dense_root(projected_mass(model, q, backend=backend, threads=threads))
    found = (root @ noise[..., : model.nv, None])[..., 0]
    return found if out is None else copied([found], out, found.dtype, False)[0]


# -- white noise -------------------------------------------------------------------------


def _noise(model: Model, asker: str, q: ArrayLike, rng: Seed, size: Size) -> np.ndarray:
    """Independent numbers of variance one, (*size, *batch, speeds of all joints).

    Of an ordinary array only the shape is looked at here: machine code sees its numbers.
    """
    if type(q) is np.ndarray and q.dtype is DOUBLE and (asker, NOISE) in _known(model):
        batch = q.shape[:-1]
    else:
        check_open(model, asker)
        configuration = check_configuration(model, "q", q)
        if np.iscomplexobj(configuration):
            raise InputError("q: expected real numbers, got complex ones")
        model.functions[asker, NOISE] = sum(joint.kind.nv for joint in model.joints)
        batch = configuration.shape[:-1]
    rows = model.functions[asker, NOISE]
    if size is None and not batch and type(rng) is np.random.Generator:
        return rng.standard_normal(rows)
    shape, generator = (*checked_size(size), *batch, rows), generator_of(rng)
    try:
        return generator.standard_normal(shape)
    except (ValueError, MemoryError):
        raise InputError(f"size: {size!r} draws do not fit into memory; draw fewer") from None


def _known(model: Any) -> dict:
    """What is known of a machine; nothing of what is none."""
    return model.functions if isinstance(model, Model) else {}


def _dense_root(mass: np.ndarray) -> np.ndarray:
    """The Cholesky factor of the mass matrix in the independent coordinates."""
    try:
        root = np.linalg.cholesky(mass)
    except np.linalg.LinAlgError:
        raise SolveError(NOTHING_RESISTS) from None
    pivots = np.diagonal(root, axis1=-2, axis2=-1) ** 2
    if np.any(pivots * SINGULAR <= np.diagonal(mass, axis1=-2, axis2=-1)):
        raise SolveError(NOTHING_RESISTS)
    return root
