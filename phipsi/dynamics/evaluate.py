"""From an expression to arrays, the same way for every function of this folder."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phipsi.algebra.node import Node
from phipsi.compile import SINGULAR, Function, Model, check_array, compile, inverse_or_none
from phipsi.errors import InputError, SolveError


def evaluate(
    model: Model,
    expression: Node | Sequence[Node],
    backend: str | None,
    known_as: Hashable = None,
    **arguments: Any,
) -> Any:
    """The value of an expression, or a tuple of those of several.

    Args:
        model: the machine.
        expression: in whose free letters the user's arguments go by name.
        backend: that of `compile`.
        known_as: under what name `known` finds the function from now on.
        arguments: q, v, points and the free letters; none may be missing.
    """
    function = known(model, expression, backend)
    if function is None:
        function = compile(model, expression, backend=backend, rewrite=False)
        model.functions[expression, backend] = function
    for name, value in arguments.items():
        if value is None:
            raise InputError(f"{name}: expected numbers, got None")
    result = function(**arguments)
    if known_as is not None:
        model.functions[known_as, backend] = function
    return result


def known(model: Model, name: Hashable, backend: str | None) -> Function | None:
    """The function of an earlier call, so that asking again costs next to nothing."""
    try:
        return model.functions.get((name, backend))
    except (AttributeError, TypeError):  # no model, or no name
        return None


def by_body(model: Model, vector: np.ndarray) -> np.ndarray:
    """A vector of body space as (*batch, n, 6), a row for each body."""
    return vector.reshape(*vector.shape[:-1], len(model.bodies), 6)


def from_bodies(model: Model, name: str, rows: ArrayLike, alternative: str = "") -> np.ndarray:
    """The user's (*batch, n, 6) as a vector of body space, or InputError.

    Args:
        model: the machine.
        name: of the argument, for messages.
        rows: what the user has passed.
        alternative: what else it could have been, as " or ...".
    """
    if rows is None:
        raise InputError(f"{name}: expected numbers, got None")
    n = len(model.bodies)
    reason = f"a row of 6 for each of the {n} bodies of {model.name!r}"
    array = check_array(name, rows, (n, 6), reason, alternative)
    return array.reshape(*array.shape[:-2], 6 * n)


# -- small dense matrices: where joints follow others, and for comparison ----------------


def inverse(matrix: np.ndarray, complaint: str) -> np.ndarray:
    """The inverse of a symmetric matrix; SolveError with the complaint if it is singular."""
    found = inverse_or_none(matrix)
    if found is None:
        raise SolveError(complaint)
    return (found + np.swapaxes(found, -1, -2)) / 2


def cholesky_solve(matrix: np.ndarray, right: np.ndarray, complaint: str) -> np.ndarray:
    """x of `matrix x = right` by A = L L*; SolveError with the complaint if it is singular.

    A pivot is zero if it is roundoff beside the diagonal entry that it is left of.
    """
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
    try:
        L = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise SolveError(complaint) from None
    if np.any(np.diagonal(L, axis1=-2, axis2=-1) ** 2 * SINGULAR <= diagonal):
        raise SolveError(complaint)
    y = np.linalg.solve(L, right[..., None])
    return np.linalg.solve(np.swapaxes(L, -1, -2), y)[..., 0]
