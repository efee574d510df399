"""Results of machine code: where they go, and which of them are to be computed again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from phipsi.errors import InputError, array_count_problem
from phipsi.masks import holds_masked

if TYPE_CHECKING:
    from phipsi.backends.machine_code import Way

CUTS = 8  # pieces of a batch in which something is wrong, each of which is tried again


def checked_out(
    out: Any, shapes: Sequence[tuple[int, ...]], kind: np.dtype, several: bool
) -> tuple[np.ndarray, ...]:
    """The arrays that a user has passed for results of these shapes, or InputError.

    Args:
        out: what was passed: an array, or a tuple of one for each result.
        shapes: of the results.
        kind: of their numbers.
        several: whether they are returned as a tuple.
    """
    if several and len(shapes) > 1 and not isinstance(out, tuple):
        raise InputError(
            f"out: expected a tuple of {len(shapes)} arrays, one for each output, got "
            f"{'an array' if isinstance(out, np.ndarray) else f'a {type(out).__name__}'}"
        )
    arrays = out if isinstance(out, tuple) else (out,)
    if len(arrays) != len(shapes):
        raise InputError(array_count_problem(len(shapes), len(arrays)))
    for i, (array, shape) in enumerate(zip(arrays, shapes, strict=True)):
        name = f"out[{i}]" if len(shapes) > 1 else "out"
        if holds_masked((array,)):
            raise InputError(f"{name}: expected a plain array, got a masked one; pass its .data")
        if not isinstance(array, np.ndarray) or array.dtype != kind:
            found = getattr(array, "dtype", type(array).__name__)
            raise InputError(f"{name}: expected an array of {kind}, got {found}")
        if array.shape != shape:
            raise InputError(f"{name} has shape {array.shape}; expected {shape}")
        if not array.flags.writeable:
            raise InputError(f"{name}: the array is read-only")
        if array.size and _may_overlap(array):
            raise InputError(
                f"{name}: entries of the array may share memory; each result needs its own"
            )
    for one, other in combinations(arrays, 2):
        if np.shares_memory(one, other):
            raise InputError("out: two of the arrays share memory; each output needs its own")
    return arrays


def _may_overlap(array: np.ndarray) -> bool:
    """Whether entries share memory, or lie so oddly that it takes a search to exclude it.

    They do not where each stride leaves room for what the smaller ones reach over.
    """
    if array.flags.c_contiguous:
        return False
    taken = array.itemsize
    for step, n in sorted(zip(map(abs, array.strides), array.shape, strict=True)):
        if n > 1:
            if step < taken:
                return True
            taken += step * (n - 1)
    return False


def kept_apart(argument: Any, out: Any) -> Any:
    """An argument, copied if results will be written to its memory."""
    if not isinstance(argument, np.ndarray):
        return argument
    arrays = out if isinstance(out, tuple) else (out,)
    meets = any(isinstance(x, np.ndarray) and np.may_share_memory(x, argument) for x in arrays)
    return argument.copy() if meets else argument


def copied(
    results: Sequence[np.ndarray], out: Any, kind: np.dtype, several: bool
) -> list[np.ndarray]:
    """Results in the arrays that the user has passed for them."""
    if any(np.iscomplexobj(x) for x in results):
        raise InputError("out takes real results; complex arguments give complex ones")
    arrays = checked_out(out, [np.shape(x) for x in results], kind, several)
    for array, result in zip(arrays, results, strict=True):
        array[...] = result
    return list(arrays)


def alarmed(way: Way, arguments: Sequence[np.ndarray]) -> np.ndarray:
    """The numbers of the states of which machine code complains, found by ever smaller batches."""
    found: list[int] = []
    stretches = [(0, len(arguments[0]))]
    while stretches:
        start, stop = stretches.pop()
        before = way.counter[0]
        way.gufunc(*(x[start:stop] for x in arguments))
        if way.counter[0] == before:
            continue
        if stop - start == 1:
            found.append(start)
            continue
        edges = np.linspace(start, stop, min(CUTS, stop - start) + 1).astype(int).tolist()
        stretches += pairwise(edges)
    return np.array(sorted(found), int)


def are_plain(results: Any) -> bool:
    """Whether results are what other ways give: arrays of no subclass, whatever arguments were.

    And not empty: machine code has looked at no state of an empty batch.
    """
    several = results if type(results) is tuple else (results,)
    return all(type(x) in (np.ndarray, np.float64, np.float32) and x.size for x in several)
