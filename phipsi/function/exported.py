"""What of a function is handed to other languages: all but its machine code."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from phipsi.errors import BackendError, InputError, SolveError
from phipsi.lowering.inputs import checked_points
from phipsi.model.model import Model, Point
from phipsi.whole_file import replacing

if TYPE_CHECKING:
    from phipsi.backends.job import Computation
    from phipsi.function.arrays import ArrayFunction

STATES = 9  # that a test of exported code runs on


def exported(
    function: ArrayFunction, points: Sequence[Point] | None = None, is_watched: bool = True
) -> Computation:
    """What a function computes. Points of the expression are numbers in it.

    Args:
        function: made by `compile`.
        points: where it takes points, on which bodies; their positions stay an argument.
        is_watched: whether what uses it looks at its checks; else what is singular is infinite.

    Raises:
        InputError: if points are wanted, or not wanted.
        BackendError: if there is nothing to compute.

    >>> import phipsi as pp
    >>> from phipsi.operators import J
    >>> arm = pp.examples.planar_arm(2)
    >>> exported(pp.compile(arm, J(pp.point("tip")))).inputs
    {'q': (2,)}
    >>> exported(pp.compile(arm, J), ["tip"]).inputs
    {'q': (2,), 'points': (3,)}
    """
    from phipsi.backends.exports.fixed import Fixed

    takes = "points" in function.inputs
    if takes and points is None:
        raise InputError(
            f"`{function._text}` takes points: pass points=[...], of which the bodies are exported"
        )
    if points is not None and not takes:
        raise InputError(f"`{function._text}` takes no points")
    lists = function._lists(points or ())
    one = function if is_watched else function.unwatched
    computation = one._computation(function._bodies(lists))
    if computation is None:
        raise BackendError(f"`{function._text}` on {function.model.name!r} is empty")
    numbers = dict(_written(function.model, lists))
    return Fixed(computation, numbers) if numbers else computation


@contextmanager
def solvable(function: ArrayFunction) -> Iterator[None]:
    """SolveError where a pivot is zero whatever the state."""
    try:
        yield
    except ZeroDivisionError:
        raise SolveError(
            f"`{function._text}` has no value in any state of {function.model.name!r}: a number "
            "that divides is zero; a call says which"
        ) from None


def _states(function: ArrayFunction, computation: Computation) -> dict[str, np.ndarray]:
    """States to test exported code on, always the same: parameters as they are in the model."""
    rng, model = np.random.default_rng(0), function.model
    base: Any = function
    while hasattr(base, "base"):  # a derivative has the parameters of what it is the derivative of
        base = base.base
    machine = getattr(base, "_machine", None)
    nominal = {} if machine is None else machine.parameters.nominal()
    states = {}
    for key, shape in computation.inputs.items():
        if key in computation.configurations:
            states[key] = np.array([model.random(rng) for _ in range(STATES)])
        elif key in nominal:
            known = 1.0 if key.endswith(".mass") and not nominal[key] else nominal[key]
            states[key] = np.broadcast_to(known, (STATES, *shape))  # what has no mass has no centre
        else:
            states[key] = rng.normal(size=(STATES, *shape))
    return states


def _written(model: Model, lists: Any) -> Iterator[tuple[tuple[str, int], float]]:
    """The positions of points that the expression itself names."""
    entry = 0
    for key, several in lists.items():
        for point in checked_points(several):
            for x in model.locate(point)[1].position:
                if key:
                    yield ("points", entry), float(x)
                entry += 1


def export_c(
    function: ArrayFunction,
    path: str | os.PathLike[str],
    name: str | None = None,
    points: Sequence[Point] | None = None,
) -> None:
    """Write a function as a C99 header, whole or not at all; see `ArrayFunction.export_c`."""
    from phipsi.backends.exports.c import write_header
    from phipsi.backends.exports.c_names import checked_name, name_of_file

    name = name_of_file(path) if name is None else checked_name(name)
    computation = exported(function, points)
    states = _states(function, computation)
    with solvable(function):
        text = write_header(computation, name, states, function.model.name)
    with replacing(path) as stream:
        stream.write(text.encode())
