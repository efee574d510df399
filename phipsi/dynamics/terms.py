"""How gravity, external wrenches and a moved base enter the equations of motion.

    V    = phi* (H* beta + E V0)              V0: base_velocity           [004-I (3.8)]
    a    = V~ H* beta + H_dot* beta + E A0    A0: base_acceleration       [001 (8)]
    a_g  = a + E gravity                      gravity as the base's acceleration [004-I (3.21)]
    b    = S[V] M V + B X* f0                 f0 = -external, ON the environment [001 (11), (23)]

Every equation of motion here is a function of a_g and b, and asks no more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from operator import lt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.spaces import COORDINATES, SCALAR
from phipsi.dynamics.evaluate import EVERY_BODY, NOWHERE, Recipe, answer
from phipsi.function.checks import check_model
from phipsi.function.point_entries import ORIGIN
from phipsi.masks import holds_masked
from phipsi.model.model import Model, Point
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


class Surroundings(NamedTuple):
    """What acts on a machine beside its joints, as the user passed it.

    Args:
        flags: which terms there are; those of `terms_of`.
        names: of the arguments that say how large they are.
        arrays: these, in the same order.
        points: where external wrenches act.
        wrenches: these, as they were passed at points.
    """

    flags: tuple[bool, bool, bool]
    names: tuple[str, ...]
    arrays: tuple[Any, ...]
    points: Any
    wrenches: Mapping[Point | str, ArrayLike] | None


ALONE = Surroundings((False, False, False), (), (), NOWHERE, None)


def surround(
    model: Model,
    external: External | None = None,
    base_velocity: ArrayLike | None = None,
    base_acceleration: ArrayLike | None = None,
) -> Surroundings:
    """The surroundings of a machine."""
    if external is None and base_velocity is None and base_acceleration is None:
        return ALONE
    names: list[str] = []
    arrays: list[Any] = []
    points: Any = NOWHERE
    wrenches = None
    if isinstance(external, Mapping):
        if external:
            wrenches = in_body_order(model, external)
            points = tuple(wrenches)
            names, arrays = ["external"], [_joined(tuple(wrenches.values()))]
    elif external is not None:
        check_model(model)
        if model.bodies:
            names, arrays, points = ["external"], [external], EVERY_BODY
    flags = points is not NOWHERE, base_velocity is not None, base_acceleration is not None
    if base_velocity is not None:
        names.append("base_velocity")
        arrays.append(base_velocity)
    if base_acceleration is not None:
        names.append("base_acceleration")
        arrays.append(base_acceleration)
    return Surroundings(flags, tuple(names), tuple(arrays), points, wrenches)


def in_body_order(
    model: Model, wrenches: Mapping[Point | str, ArrayLike]
) -> Mapping[Point | str, ArrayLike]:
    """The same wrenches in the order of their bodies, those of one body by frame and position.

    So all orders of a dict share one compiled function, and give the same bits. What are no
    points of the machine stays as it is: the call that looks at them says so.
    """
    try:
        number = model.frame_bodies
        bodies = [number[x if isinstance(x, str) else x.frame] for x in wrenches]
        if all(map(lt, bodies, bodies[1:])):
            return wrenches
        places = {x: (x, ORIGIN) if isinstance(x, str) else (x.frame, x.position) for x in wrenches}
        order = sorted(places, key=lambda x: (number[places[x][0]], *places[x], isinstance(x, str)))
    except (AttributeError, KeyError, TypeError):
        return wrenches
    return {point: wrenches[point] for point in order}


def _joined(wrenches: Sequence[Any]) -> Any:
    """Wrenches one after the other; None for whatever must be looked at first."""
    read = [x if type(x) is np.ndarray else _as_array(x) for x in wrenches]
    if len(read) == 1:
        return wrenches[0] if read[0] is None else read[0]
    arrays = [x for x in read if x is not None and x.shape[-1:] == (6,)]
    if len(arrays) < len(read):
        return None
    if all(x.ndim == 1 for x in arrays):
        return np.concatenate(arrays)
    try:
        return np.concatenate(np.broadcast_arrays(*arrays), axis=-1)
    except ValueError:  # batches that do not fit
        return None


def _as_array(numbers: Any) -> np.ndarray | None:
    """A list of numbers, or of lists of these, as an array; None for what is none."""
    if type(numbers) not in (list, tuple) or holds_masked((numbers,)):
        return None
    try:
        array = np.array(numbers)
    except ValueError:  # of uneven lengths
        return None
    return array if array.dtype.kind in "iuf" else None


def answer_in(
    model: Model,
    around: Surroundings,
    recipe: Recipe,
    arrays: tuple[Any, ...],
    backend: str | None,
    out: Any,
    threads: int | str | None,
) -> Any:
    """The value of a recipe in the surroundings of a machine: its last options are the flags."""
    return answer(
        model,
        recipe.of(*around.flags, names=around.names),
        arrays + around.arrays,
        around.points,
        backend,
        out,
        threads,
        around.wrenches,
    )


def answer_loaded(
    model: Model,
    recipe: Recipe,
    arrays: tuple[Any, ...],
    external: External,
    backend: str | None,
    out: Any,
    threads: int | str | None,
) -> Any:
    """The same, on a base that stands still: wrenches in the usual forms go straight on."""
    loaded = recipe.loaded
    read = _as_array(external)
    external = external if read is None else read
    if type(external) is np.ndarray and external.size:
        return answer(model, loaded, (*arrays, external), EVERY_BODY, backend, out, threads)
    if type(external) is dict and external:
        if len(external) == 1:
            ((point, wrench),) = external.items()
            if type(point) is str or type(point) is Point:
                values = *arrays, _joined((wrench,))
                return answer(model, loaded, values, point, backend, out, threads, external)
        external = in_body_order(model, external)
        values = *arrays, _joined(tuple(external.values()))
        return answer(model, loaded, values, tuple(external), backend, out, threads, external)
    around = surround(model, external)
    return answer_in(model, around, recipe, arrays, backend, out, threads)
