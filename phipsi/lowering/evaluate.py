"""The interpreter on arrays: a program run on what the user passed, the batch as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.spaces import POINTS, SCALAR
from phipsi.errors import SolveError
from phipsi.lowering.inputs import SPATIAL, Inputs
from phipsi.lowering.interpret import Run
from phipsi.lowering.machine import Located, Machine, Values
from phipsi.lowering.program import Program
from phipsi.lowering.sides import points_of
from phipsi.lowering.statements import find_careful
from phipsi.lowering.watch import DoubtError, Watch
from phipsi.model.configuration import columns


def evaluate(program: Program, machine: Machine, inputs: Inputs) -> list[np.ndarray]:
    """The values of all expressions, or SolveError where one has none.

    Where a pivot may vanish, a program that is careful says whether there are values.
    """
    if not program.has_doubts:
        return _run(program, machine, inputs)
    if machine.is_regular:
        try:
            return _run(program, machine, inputs)
        except DoubtError:
            pass
    return _run(find_careful(program, plain=not inputs.model.has_mimics), machine, inputs)


def _run(program: Program, machine: Machine, inputs: Inputs) -> list[np.ndarray]:
    results, emits = [], []
    for expression in inputs.expressions:
        shape = [_size(inputs, expression, target) for target in (True, False)]
        array = np.zeros((*inputs.batch, *shape), inputs.dtype)
        results.append(array)
        is_covector = expression.target is SCALAR  # made as a column
        emits.append(_adder(np.swapaxes(array, -1, -2) if is_covector else array))
    with np.errstate(all="ignore"):
        try:
            Run(program, machine, scalars_of(inputs), emits, Watch(inputs.model)).run()
        except ZeroDivisionError:  # of a constant, in a batch without states to look at
            raise SolveError(
                f"`{inputs.text}` has no value in any state of {inputs.model.name!r}"
            ) from None
    return [_squeezed(x, e) for x, e in zip(results, inputs.expressions, strict=True)]


def _size(inputs: Inputs, expression: Node, target: bool) -> int:
    """Rows or columns of an expression; letters at points tell how many points there are."""
    points = points_of(expression, target)
    if points is not None:
        return SPATIAL * len(inputs.points_of(points))
    space = expression.target if target else expression.source
    assert space is not None
    return sum(inputs.sizes(space))


def _adder(array: np.ndarray) -> Any:
    def add(i: int, j: int, value: Any) -> None:
        array[..., i, j] += value

    return add


def _squeezed(result: np.ndarray, expression: Node) -> np.ndarray:
    if expression.source is not SCALAR:
        return result
    return result[..., 0, 0] if expression.target is SCALAR else result[..., 0]


def scalars_of(inputs: Inputs) -> Values:
    """Arrays as lists of scalars: floats, or arrays over the batch."""

    def flat(x: np.ndarray) -> list:
        return columns(x, slice(0, x.shape[-1]))

    given: dict[Symbol, Any] = {}
    for letter, parts in inputs.given.items():
        if letter.source is SCALAR:
            given[letter] = flat(parts[0][..., 0])
        else:
            given[letter] = [[flat(x[..., i, :]) for i in range(x.shape[-2])] for x in parts]
    v = None if inputs.v is None else flat(inputs.v)
    parameters = inputs.declared.entries(inputs.parameters)
    return Values(flat(inputs.q), v, given, located(inputs), parameters)


def located(inputs: Inputs) -> dict[tuple, Located]:
    """Of each list of points, the bodies and where on them."""
    at_points = [x for x in inputs.letters if POINTS in (x.source, x.target)]
    keys = {x.arguments: None for x in at_points if not x.free}
    if inputs.points:
        keys.setdefault((), None)
    points: dict[tuple, Located] = {}
    for key in keys:
        located = [inputs.model.locate(x) for x in inputs.points_of(key)]
        points[key] = [(k, [float(x) for x in place.position]) for k, place in located]
    return points
