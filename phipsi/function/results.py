"""Results of machine code: where they go, and which of them are to be computed again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from phipsi.errors import InputError

if TYPE_CHECKING:
    from phipsi.backends.machine_code import Way

CUTS = 8  # pieces of a batch in which something is wrong, each of which is tried again


def check_out(arrays: Sequence[Any], shapes: Sequence[tuple[int, ...]], kind: np.dtype) -> None:
    """InputError for what cannot take results of these shapes."""
    if len(arrays) != len(shapes):
        raise InputError(
            f"out: expected {len(shapes)} arrays, one for each output, got {len(arrays)}"
        )
    for array, shape in zip(arrays, shapes, strict=True):
        if not isinstance(array, np.ndarray) or array.dtype != kind:
            found = getattr(array, "dtype", type(array).__name__)
            raise InputError(f"out: expected an array of {kind}, got {found}")
        if array.shape != shape:
            raise InputError(f"out has shape {array.shape}; expected {shape}")
        if not array.flags.writeable:
            raise InputError("out: the array is read-only")
    for one, other in combinations(arrays, 2):
        if np.shares_memory(one, other):
            raise InputError("out: two of the arrays share memory; each output needs its own")


def copied(results: Sequence[np.ndarray], out: Any, kind: np.dtype) -> list[np.ndarray]:
    """Results in the arrays that the user has passed for them."""
    arrays = out if isinstance(out, tuple) else (out,)
    if any(np.iscomplexobj(x) for x in results):
        raise InputError("out takes real results; complex arguments give complex ones")
    check_out(arrays, [np.shape(x) for x in results], kind)
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
    """Whether results are what other ways give: arrays of no subclass, whatever arguments were."""
    several = results if type(results) is tuple else (results,)
    return all(type(x) in (np.ndarray, np.float64, np.float32) for x in several)
