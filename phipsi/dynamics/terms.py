"""How gravity, external wrenches and a moved base enter the equations of motion.

    V    = phi* (H* beta + E V0)              V0: base_velocity           [004-I (3.8)]
    a    = V~ H* beta + H_dot* beta + E A0    A0: base_acceleration       [001 (8)]
    a_g  = a + E gravity                      gravity as the base's acceleration [004-I (3.21)]
    b    = S[V] M V + B X* f0                 f0 = -external, ON the environment [001 (11), (23)]

Every equation of motion here is a function of a_g and b, and asks no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.spaces import COORDINATES, SCALAR
from phipsi.compile import Model, Point, check_array, check_model
from phipsi.dynamics.evaluate import from_bodies
from phipsi.errors import InputError
from phipsi.operators import B, E, H, H_dot, M, S, V, X, a, b, beta, cross, gravity, phi, vector

# The user's arguments, by the names under which they are passed. The papers' T is S_q @ tau,
# a vector, which the operator tau = G H of the algebra has nothing to do with.
tau = Symbol("tau", SCALAR, COORDINATES, free=True)
vdot = vector("vdot", "coordinate")
external = vector("external", "point")
base_velocity = vector("base_velocity", "base")
base_acceleration = vector("base_acceleration", "base")
velocities = vector("velocities", "body")

External = Mapping[Point | str, ArrayLike] | ArrayLike


class Terms(NamedTuple):
    """What the equations of motion are made of, beside operators and joint forces."""

    V: Node  # velocities of the bodies
    a: Node  # what accelerates the bodies beside their joints
    a_g: Node  # the same, gravity included
    b: Node  # forces that do not come from accelerations


@cache
def terms_of(
    loaded: bool = False, moved: bool = False, driven: bool = False, delayed: bool = False
) -> Terms:
    """The terms of a machine with wrenches, a base with a velocity, with an acceleration;
    `delayed`: with a and b from velocities that are given."""
    now = phi.T @ (H.T @ beta + E @ base_velocity) if moved else V
    coriolis: Node = a
    gyroscopic: Node = b
    if moved or delayed:
        then = velocities if delayed else now
        coriolis = cross[then] @ H.T @ beta + H_dot.T @ beta
        gyroscopic = S[then] @ M @ then
    if driven:
        coriolis = coriolis + E @ base_acceleration
    if loaded:
        gyroscopic = gyroscopic - B @ X.T @ external
    return Terms(now, coriolis, coriolis + E @ gravity, gyroscopic)


def surround(
    model: Model,
    external: External | None = None,
    base_velocity: ArrayLike | None = None,
    base_acceleration: ArrayLike | None = None,
    delayed: bool = False,
) -> tuple[Terms, dict[str, Any]]:
    """The terms of a machine in its surroundings, and the values of their free letters."""
    check_model(model)
    loads = _loads(model, external)
    base = {"base_velocity": base_velocity, "base_acceleration": base_acceleration}
    given = {name: value for name, value in base.items() if value is not None}
    flags = bool(loads), base_velocity is not None, base_acceleration is not None, delayed
    return terms_of(*flags), loads | given


def _loads(model: Model, external: External | None) -> dict[str, Any]:
    """Wrenches and the points where they act, as arguments of a function; none without any."""
    if external is None:
        return {}
    if not isinstance(external, Mapping):
        points: list = [body.name for body in model.bodies]
        wrenches = from_bodies(model, "external", external, " or a dict {point: wrench}")
        return {"external": wrenches, "points": points} if points else {}
    if not external:
        return {}
    points, blocks = list(external), []
    for point, wrench in external.items():
        _check_place(model, point)
        name = f"external[{point!r}]"
        blocks.append(check_array(name, wrench, (6,), "[moment; force]"))
    try:
        wrenches = np.concatenate(np.broadcast_arrays(*blocks), axis=-1)
    except ValueError:
        shapes = ", ".join(map(str, (x.shape for x in blocks)))
        raise InputError(f"external: the batches do not broadcast: {shapes}") from None
    return {"external": wrenches, "points": points}


def _check_place(model: Model, point: Point | str) -> None:
    """InputError for a wrench at a point of no body."""
    if not isinstance(point, (str, Point)):
        own = getattr(point, "name", None)  # of a body or a frame
        got = repr(point) if own is None else f"a {type(point).__name__}; write {own!r}"
        raise InputError(
            f"external: expected pp.point(...) or the name of a frame as key, got {got}"
        )
    try:
        model.frame(point if isinstance(point, str) else point.frame)
    except InputError as error:
        raise InputError(f"external: {error}") from None
