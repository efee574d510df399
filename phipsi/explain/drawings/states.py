"""The state at which an operator is drawn; what is not given is drawn at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.spaces import SCALAR
from phipsi.algebra.walk import letters_of
from phipsi.errors import InputError
from phipsi.lowering.inputs import Inputs, in_blocks
from phipsi.model.configuration import check_configuration, check_speeds, integrate
from phipsi.model.model import Model, Point

LAST_DIGITS = 1e-13  # by which the states that are compared differ
SEED = 0  # the same drawing, each time


def make_states(
    model: Model,
    expression: Node,
    q: ArrayLike | None,
    v: ArrayLike | None,
    points: Sequence[Point] | None,
    values: Mapping[str, Any],
    count: int,
) -> Inputs:
    """A batch of states of a machine: the first as given, the others with other last digits.

    Args:
        model: the machine.
        expression: whose letters need values.
        q: (nq,), None for a random configuration.
        v: (nv,), None for random speeds.
        points: what bare letters at points stand for.
        values: of free letters by name; those that are missing are random.
        count: of the states.
    """
    rng = np.random.default_rng(SEED)
    configuration = model.random(rng) if q is None else check_configuration(model, "q", q)
    speeds = rng.normal(size=model.nv) if v is None else check_speeds(model, "v", v)
    given = {**_random_values(model, expression, configuration, speeds, points, rng), **values}
    one = Inputs(model, expression, configuration, speeds, points, given)
    if one.batch != ():
        raise InputError(f"one state is drawn, not a batch of {one.batch}; pass one of them")
    steps = LAST_DIGITS * rng.normal(size=(count, model.nv))
    steps[0] = 0.0
    several = {x.name: _stirred(x, blocks, count, rng) for x, blocks in one.given.items()}
    moved = integrate(model, configuration, steps)
    return Inputs(model, expression, moved, speeds * (1.0 + steps), points, several)


def _random_values(
    model: Model,
    expression: Node,
    q: np.ndarray,
    v: np.ndarray,
    points: Sequence[Point] | None,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """A value of every free letter; operators are near the identity, so that they have inverses."""
    letters = letters_of([expression])
    free = [x for x in letters if x.free]
    primitive = [x for x in letters if not x.free and x.definition is None]
    sizes = Inputs(model, primitive, q, v, points, {}).sizes
    values: dict[str, Any] = {}
    for letter in free:
        rows = sizes(letter.target)
        if letter.is_scalar:
            values[letter.name] = rng.uniform(0.5, 2.0)
        elif letter.source is SCALAR:
            values[letter.name] = rng.normal(size=sum(rows))
        elif not in_blocks(letter):
            values[letter.name] = rng.normal(size=(sum(rows), sum(sizes(letter.source))))
        else:
            shapes = zip(rows, sizes(letter.source), strict=True)
            values[letter.name] = [np.eye(*x) + 0.2 * rng.normal(size=x) for x in shapes]
    return values


def _stirred(
    letter: Symbol, blocks: Sequence[np.ndarray], count: int, rng: np.random.Generator
) -> Any:
    """A batch of a value with other last digits, in the form that a user passes it."""
    steps = [LAST_DIGITS * rng.normal(size=(count, *x.shape)) for x in blocks]
    for step in steps:
        step[0] = 0.0
    several = [x * (1.0 + step) for x, step in zip(blocks, steps, strict=True)]
    if letter.is_scalar:
        return several[0][..., 0, 0]
    if letter.source is SCALAR:
        return several[0][..., 0]
    return several if in_blocks(letter) else several[0]
