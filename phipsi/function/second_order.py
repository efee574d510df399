"""Second derivatives that end in reverse, made of those that end forward.

Let F = w* f. Derivatives of F along two directions may be taken in either order, but for joints
that turn, whose moves do not commute:

    D_a D_t F = D_t D_a F + D_[a,t] F         [a,t]: `bracket` of the joint kind

So `J* w` of `J t`, and of `J* w`, is `J* w` differentiated along t, the bracket, and a first
derivative beside it. Columns of a matrix have loops in reverse once: by this they have all second
derivatives, if the bracket of every joint is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from phipsi.lowering.cost import cost_of
from phipsi.lowering.inputs import checked_points
from phipsi.lowering.once import DENSE
from phipsi.lowering.template_derivatives import CONFIGURATION
from phipsi.lowering.trace import LEAST
from phipsi.model.configuration import columns
from phipsi.model.model import Point

if TYPE_CHECKING:
    from phipsi.function.derivative import Derivative
    from phipsi.function.function import Function
    from phipsi.lowering.program import Program
    from phipsi.model.model import Model


def has_columns(program: Program) -> bool:
    """Whether columns of a matrix walk through the bodies: they go back once, not again."""
    return any(x.domain.columns is not None for x in program.statements())


def has_systems(program: Program) -> bool:
    """Whether systems of the whole machine are solved: they are differentiated once."""
    return any(x.step in DENSE for x in program.statements())


def may_exchange(model: Model) -> bool:
    """Whether it is known, of each joint, how much the order of two moves matters."""
    return all(joint.kind.has_bracket for joint in model.leaders)


def is_longer(function: Function, limit: int) -> bool:
    """Whether second derivatives without loops surely have more nodes.

    They have twice the flops of the function, and more: on chains of 10 and of 30 bodies Mass,
    Mass^-1, J, J Mass^-1 J* and its inverse have 1.9 to 4.8 times as many.
    """
    model = function.model
    if LEAST * len(model.bodies) > limit:
        return True
    anywhere = [Point(body.name, (0.0, 0.0, 0.0)) for body in model.bodies[-1:]]
    points = {key: checked_points(x or anywhere) for key, x in function._lists(()).items()}
    try:
        return 2 * cost_of(function.program, model, points).flops > limit
    except ZeroDivisionError:  # no state has a value: a call says why
        return False


def exchanged_for(first: Derivative) -> tuple[Derivative, Derivative]:
    """The derivatives that `J* w` of a first derivative is made of."""
    function = first.base
    return function.vjp.jvp, function.vjp if first.kind == "jvp" else function.jvp


def evaluate_exchanged(
    first: Derivative, added: tuple[str, ...], values: Mapping[str, Any], threads: int | str | None
) -> list[np.ndarray]:
    """The results of `J* w` of a first derivative, by derivatives that end forward.

    Args:
        first: the derivative of a function.
        added: the names of the weights of its results.
        values: all arguments, by name.
        threads: that share a large batch.
    """
    function = first.base
    vectors = (*first.added, *added)
    plain = {x: y for x, y in values.items() if x not in vectors} | {"threads": threads}
    pulled = function.vjp
    if first.kind == "jvp":
        given, weights = first.added, added
    else:
        given, weights = added, first.added
    own = {x: values[y] for x, y in zip(pulled.added, weights, strict=True)}
    along = {x: values[y] for x, y in zip(function.varying, given, strict=True) if y in values}
    names = dict(zip(pulled.varying, pulled.jvp.added, strict=True))
    turned = list(pulled.jvp(**plain, **own, **{names[x]: y for x, y in along.items()}))
    slopes = pulled(**plain, **own)
    for i, name in enumerate(function.varying):
        if name == CONFIGURATION and name in along:
            turned[i] = turned[i] + _brackets(function.model, slopes[i], np.asarray(along[name]))
    if first.kind == "jvp":
        return [*turned, *slopes]
    names = dict(zip(function.varying, function.jvp.added, strict=True))
    pushed = function.jvp(**plain, **{names[x]: y for x, y in along.items()})
    return [*turned, *(pushed if isinstance(pushed, tuple) else (pushed,))]


def _brackets(model: Model, slopes: np.ndarray, along: np.ndarray) -> np.ndarray:
    """D_[a,t] F for each direction a of a configuration, from the D_a F: (*batch, nv)."""
    batch = np.broadcast_shapes(slopes.shape, along.shape)
    found = np.zeros(batch)
    for joint in model.leaders:
        if joint.kind.commutes:
            continue
        t, by = columns(along, joint.v), columns(slopes, joint.v)
        units = np.eye(joint.kind.nv).tolist()
        for i, unit in enumerate(units):
            terms = zip(joint.kind.bracket(unit, t), by, strict=True)
            found[..., joint.v.start + i] = sum(x * y for x, y in terms)
    return found
