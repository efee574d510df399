"""Configurations that move: along a tangent, and the tangent between two of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from phipsi.backends.moves import DIFFERENCE, INTEGRATE
from phipsi.dynamics.evaluate import NOWHERE, answer, recipe, straight_to
from phipsi.function.move_function import MOVES
from phipsi.model.model import Model


@recipe("q", "dq")
def _integrate(model: Model) -> Callable[..., np.ndarray]:
    return integrate


@recipe("q0", "q1")
def _difference(model: Model) -> Callable[..., np.ndarray]:
    return difference


@straight_to(_integrate)
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
    return answer(model, _integrate, (q, dq), NOWHERE, backend, out, threads)


@straight_to(_difference)
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
    return answer(model, _difference, (q0, q1), NOWHERE, backend, out, threads)


MOVES |= {integrate: INTEGRATE, difference: DIFFERENCE}
