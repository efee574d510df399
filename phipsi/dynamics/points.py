"""Points on bodies: how they move with the joints, and what it takes to move them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from phipsi.algebra.node import Node
from phipsi.dynamics.evaluate import answer, recipe, straight_to_points
from phipsi.dynamics.loops import check_open
from phipsi.dynamics.mass import MASS
from phipsi.errors import SolveError
from phipsi.model.model import Model, Point
from phipsi.operators import B, J, Mass, S_q, X, a, c, phi

Points = Point | str | Sequence[Point | str]

JACOBIAN = X @ J @ S_q
BIAS_ACCELERATION = X @ (B.T @ phi.T @ a + c)
COMPLIANCE = X @ J @ Mass.inv @ J.T @ X.T
PROJECTED_COMPLIANCE = JACOBIAN @ MASS.inv @ JACOBIAN.T  # where joints follow others

CANNOT_MOVE = (
    "operational_inertia: the points cannot move in some direction (a singular configuration, "
    "fewer than 6 freedoms per point, a point on the world, or one listed twice), so the "
    "compliance has no inverse; operational_compliance exists"
)


@recipe("q")
def _jacobian(model: Model) -> Node:
    return JACOBIAN


@recipe("q", "v")
def _bias_acceleration(model: Model) -> Node:
    return BIAS_ACCELERATION


@recipe("q")
def _compliance(model: Model) -> Node:
    check_open(model, "operational_compliance")
    return PROJECTED_COMPLIANCE if model.has_mimics else COMPLIANCE


@recipe("q")
def _inertia(model: Model) -> Node:
    check_open(model, "operational_inertia")
    return (PROJECTED_COMPLIANCE if model.has_mimics else COMPLIANCE).inv


@straight_to_points(_jacobian)
def jacobian(
    model: Model,
    q: ArrayLike,
    points: Points,
    *,
    backend: str | None = None,
    out: np.ndarray | None = None,
    threads: int | str | None = None,
) -> np.ndarray:
    """The Jacobian of points on bodies: [omega; v] of each point is jacobian @ v.

    X J S_q with J = B* phi* H* [001 (20)]; X turns to world axes, v is the velocity of
    the point itself. Of a machine with loops it is that of the tree, and right for every v
    that the loops allow.

    Args:
        model: the machine.
        q: configuration, (*batch, nq).
        points: pp.point(...), the name of a body or frame, or a list of m of these.
        backend: that of `pp.compile`.
        out: an array for the result; None for a new one.
        threads: that share a large batch; None for what `pp.set_threads` says.

    Returns:
        (*batch, 6 m, nv), in world axes.

    Raises:
        InputError: for arguments of wrong shape, type or value; a point on no body.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> pp.jacobian(arm, [0.0, 0.0], "tip")[[1, 3, 5]]
    array([[-1., -1.],
           [ 0.,  0.],
           [ 2.,  1.]])
    """
    return answer(model, _jacobian, (q,), points, backend, out, threads)


@straight_to_points(_bias_acceleration)
def jacobian_dot_v(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    points: Points,
    *,
    backend: str | None = None,
    out: np.ndarray | None = None,
    threads: int | str | None = None,
) -> np.ndarray:
    """How points accelerate while no joint does: the rate of the Jacobian times v.

    X (B* phi* a + c), c = [0; omega x v]: the classical acceleration of a point, the second
    derivative of its place in the world, is jacobian @ vdot + jacobian_dot_v [001, below (23)].
    The base stands still. Of a machine with loops it is that of the tree: what the loops add
    is in vdot.

    Args:
        model: the machine.
        q: configuration, (*batch, nq).
        v: speeds, (*batch, nv).
        points: pp.point(...), the name of a body or frame, or a list of m of these.
        backend: that of `pp.compile`.
        out: an array for the result; None for a new one.
        threads: that share a large batch; None for what `pp.set_threads` says.

    Returns:
        (*batch, 6 m), in world axes.

    Raises:
        InputError: for arguments of wrong shape, type or value; a point on no body.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> pp.jacobian_dot_v(arm, [0.0, 0.0], [1.0, 0.0], "tip")  # towards the shoulder
    array([ 0., 0., 0., -2., 0., 0.])
    """
    return answer(model, _bias_acceleration, (q, v), points, backend, out, threads)


@straight_to_points(_compliance)
def operational_compliance(
    model: Model,
    q: ArrayLike,
    points: Points,
    *,
    backend: str | None = None,
    out: np.ndarray | None = None,
    threads: int | str | None = None,
) -> np.ndarray:
    """How points accelerate under wrenches on them: J Mass^-1 J*, the couplings included.

    X J Mass^-1 J* X* = X B* Omega B X*, Omega = psi* H* D^-1 H psi [002 (3.10), (A.3)-(A.5)
    corrected for trees]: a block for two points is made at their nearest common
    ancestor. Departure: where joints follow others, J S_q (S_q* Mass S_q)^-1 S_q* J* densely.

    Args:
        model: the machine.
        q: configuration, (*batch, nq).
        points: pp.point(...), the name of a body or frame, or a list of m of these.
        backend: that of `pp.compile`.
        out: an array for the result; None for a new one.
        threads: that share a large batch; None for what `pp.set_threads` says.

    Returns:
        (*batch, 6 m, 6 m), symmetric, in world axes.

    Raises:
        InputError: for arguments of wrong shape, type or value; a point on no body.
        ModelError: the machine has loops; says how to go on.
        SolveError: if nothing resists the motion of some joint; names it.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> pp.operational_compliance(arm, [0.0, 1.5], ["tip"])[3::2, 3::2].round(2)
    array([[ 2.99, -0.13],
           [-0.13,  0.76]])
    """
    return answer(model, _compliance, (q,), points, backend, out, threads)


@straight_to_points(_inertia)
def operational_inertia(
    model: Model,
    q: ArrayLike,
    points: Points,
    *,
    backend: str | None = None,
    out: np.ndarray | None = None,
    threads: int | str | None = None,
) -> np.ndarray:
    """The inertia felt at points, the couplings included: (J Mass^-1 J*)^-1 [003 sec. 5.2].

    It exists where the points can move in all 6 m directions; else see
    `operational_compliance`, which always exists.

    Args:
        model: the machine.
        q: configuration, (*batch, nq).
        points: pp.point(...), the name of a body or frame, or a list of m of these.
        backend: that of `pp.compile`.
        out: an array for the result; None for a new one.
        threads: that share a large batch; None for what `pp.set_threads` says.

    Returns:
        (*batch, 6 m, 6 m), symmetric, in world axes.

    Raises:
        InputError: for arguments of wrong shape, type or value; a point on no body.
        ModelError: the machine has loops; says how to go on.
        SolveError: if the points cannot move in some direction.

    >>> import phipsi as pp
    >>> robot = pp.examples.puma560()
    >>> q = [0.1, 0.6, 0.3, 0.2, 1.1, 0.4]
    >>> pp.operational_inertia(robot, q, robot.bodies[-1].name).diagonal()[:3].round(2)
    array([0.14, 0.18, 0.35])
    """
    try:
        return answer(model, _inertia, (q,), points, backend, out, threads)
    except SolveError:
        raise SolveError(CANNOT_MOVE) from None
