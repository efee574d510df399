"""Configurations that move: along a tangent, and the tangent between two of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phipsi.backends.manifold import ARGUMENTS, DIFFERENCE, INTEGRATE, Move
from phipsi.backends.parallel.workers import threads_or_default
from phipsi.compile import check_backend, check_model, make_code
from phipsi.function.results import copied
from phipsi.graph.graph import GraphTooLargeError
from phipsi.model import configuration
from phipsi.model.configuration import broadcast, check_configuration, check_speeds
from phipsi.model.model import Model


def integrate(
    model: Model,
    q: ArrayLike,
    dq: ArrayLike,
    *,
    backend: str | None = None,
    out: np.ndarray | None = None,
    threads: int | str | None = None,
) -> np.ndarray:
    """The configuration reached from q along the tangent dq.

    Each joint moves on its own manifold: by addition where its coordinates
    form a vector space, `q exp(dq)` for quaternions, the exponential of the
    body twist for planar and free joints. All derivatives by q are by this
    tangent.

    Args:
        model: the machine.
        q: (*batch, nq).
        dq: (*batch, nv), times a step if it is a velocity.
        backend: "llvm" for machine code, "numpy" for arrays; None as in `pp.compile`.
        out: an array for the result; None for a new one.
        threads: that share a large batch; None for what `pp.set_threads` says.

    Returns:
        (*batch, nq); unit quaternions stay unit.

    Raises:
        InputError: for arguments of wrong shape, type or value.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> pp.integrate(arm, [0.1, 0.2], [1.0, -1.0])
    array([ 1.1, -0.8])
    """
    if threads is None and backend != "numpy":
        try:
            entry = model.functions.get(INTEGRATE if backend is None else (INTEGRATE, backend))
        except AttributeError:  # no model
            entry = None
        if entry is not None:
            result = entry(q, dq) if out is None else entry(q, dq, out=out)
            if result is not None:
                return result
    return _move(model, INTEGRATE, q, dq, backend, out, threads)


def difference(
    model: Model,
    q0: ArrayLike,
    q1: ArrayLike,
    *,
    backend: str | None = None,
    out: np.ndarray | None = None,
    threads: int | str | None = None,
) -> np.ndarray:
    """The tangent that leads from q0 to q1: `integrate(q0, difference(q0, q1)) = q1`.

    Rotations go the shorter way round (at most half a turn) where the joint's
    coordinate is a quaternion or a pose of the plane; unwrapped angles are
    subtracted.

    Args:
        model: the machine.
        q0: where the tangent starts, (*batch, nq).
        q1: where it leads, (*batch, nq).
        backend: "llvm" for machine code, "numpy" for arrays; None as in `pp.compile`.
        out: an array for the result; None for a new one.
        threads: that share a large batch; None for what `pp.set_threads` says.

    Returns:
        (*batch, nv).

    Raises:
        InputError: for arguments of wrong shape, type or value.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> pp.difference(arm, [0.1, 0.2], [1.1, -0.8])
    array([ 1., -1.])
    """
    if threads is None and backend != "numpy":
        try:
            entry = model.functions.get(DIFFERENCE if backend is None else (DIFFERENCE, backend))
        except AttributeError:  # no model
            entry = None
        if entry is not None:
            result = entry(q0, q1) if out is None else entry(q0, q1, out=out)
            if result is not None:
                return result
    return _move(model, DIFFERENCE, q0, q1, backend, out, threads)


def _move(
    model: Model,
    which: str,
    one: ArrayLike,
    two: ArrayLike,
    backend: str | None,
    out: np.ndarray | None,
    threads: int | str | None,
) -> np.ndarray:
    """The same, with everything looked at; arrays do what machine code cannot."""
    check_model(model)
    known_as = which if backend is None else (which, backend)
    backend = check_backend(backend)
    threads_or_default(threads)  # InputError
    first, second = ARGUMENTS[which]
    x = check_configuration(model, first, one)
    check = check_speeds if which == INTEGRATE else check_configuration
    y = check(model, second, two)
    batch = broadcast({first: x.shape[:-1], second: y.shape[:-1]})
    entry = _entry(model, which, known_as, threads) if backend == "llvm" else None
    if entry is not None and np.result_type(x, y) == np.float64:
        arrays = (np.ascontiguousarray(np.broadcast_to(a, (*batch, a.shape[-1]))) for a in (x, y))
        result = entry(*arrays)
        if result is not None:
            return result if out is None else copied([result], out, result.dtype)[0]
    result = getattr(configuration, which)(model, x, y)
    return result if out is None else copied([result], out, result.dtype)[0]


def _entry(
    model: Model, which: str, known_as: Hashable, threads: int | str | None
) -> Callable[..., Any] | None:
    """Machine code of a move; None for joints of the user's own, and for large machines."""
    key = known_as if threads is None else (known_as, threads)
    if key not in model.functions:
        model.functions[key] = _compiled(Move(model, which), threads)
    return model.functions[key]


def _compiled(job: Move, threads: int | str | None) -> Callable[..., Any] | None:
    if job.key is None or not job.model.nq:
        return None
    from phipsi.backends.entry import Callers  # LLVM, for those who need it

    try:
        code = make_code(job)
    except GraphTooLargeError:
        return None
    return code.entry(Callers(ARGUMENTS[job.name]), threads)
