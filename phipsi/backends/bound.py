"""A compiled function tied to arrays: called without arguments, it reads and writes where they lie.

For control loops, where the same few arrays are filled and read over and over. What
an ordinary call finds out about its arguments is found out once; what is left is
a built-in function whose code, `bound_code`, looks at the numbers, calls the
kernel on the arrays' own memory, and returns the array of results.

Single states are computed under Python's lock, in room that belongs to the bound
function; so threads may share it. While a batch is computed the lock is free:
threads that call the same bound function at once write the same numbers to the
same places, provided that nobody changes the inputs meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from phipsi.backends import numpy_api
from phipsi.backends.bound_code import bound_code
from phipsi.backends.buffers import Buffers
from phipsi.backends.entry_code import FOUR
from phipsi.backends.gufunc import Plan
from phipsi.backends.llvm import Target

ALIGNED = 64  # bytes: where the room of kernels begins


def make_bound(
    plan: Plan,
    kernel: int,
    *,
    work: int,
    tables: int,
    target: Target,
    buffers: Buffers,
    fallback: Callable[[], Any],
    result: Any,
    name: str,
    doc: str,
) -> Callable[[], Any]:
    """A function without arguments, of and into the memory of some arrays.

    It returns `result`, always the same object. Where a number is NaN, infinite or huge, where the
    kernel complains, and where an array has been moved or locked since, it returns what
    `fallback` returns, or raises what that raises. Where there can be no such function, as on
    other Pythons, it is `fallback` that does all.

    Args:
        plan: what the driver is told of the function.
        kernel: address of the kernel of one state, or 0.
        work: bytes that this kernel needs to work in.
        tables: address that is handed to the kernel, or 0.
        target: what the kernel was made for.
        buffers: the arrays, in the order of the plan.
        fallback: the same by the careful way: from these arrays into these arrays.
        result: what is returned: an array of the outputs, or a tuple of all of them.
        name: of the function.
        doc: what it says of itself.
    """
    if not numpy_api.is_as_expected():
        return plain_bound(fallback, name, doc)
    single = kernel if buffers.batch == () else 0
    room = np.zeros((work + 7 + ALIGNED) // 8 if single else 0, np.int64)
    arrays = [array for _, array, _ in buffers]
    places = [array.ctypes.data for array in arrays]
    fours, ones = _watched(buffers)
    zeros = np.zeros(FOUR)
    lists = [
        places,
        [prod(buffers.batch)],
        _steps(buffers),
        _records(buffers),
        [*fours, *[zeros.ctypes.data] * (len(fours) % 2)],
        ones,
    ]
    numbers = np.array([x for several in lists for x in several], np.int64)
    starts = accumulate(map(len, lists[:-1]), initial=0)
    at, states, steps, records, pairs, rest = (numbers.ctypes.data + 8 * x for x in starts)
    fields = [single, tables, -(-room.ctypes.data // ALIGNED) * ALIGNED]
    fields += [at, at + 8 * len(buffers.inputs), plan.loop, plan.data, states, steps]
    fields += [records, len(arrays), pairs, -(-len(fours) // 2), rest, len(ones)]
    fields += [numpy_api.addresses().ctypes.data, id(result), id(fallback)]
    return numpy_api.make_builtin(
        bound_code(replace(target, lanes=1)),
        numpy_api.WITHOUT_ARGUMENTS,
        fields,
        name,
        doc,
        keep=(plan, numbers, room, zeros),
        seen=(buffers, fallback, result),
    )


def plain_bound(fallback: Callable[[], Any], name: str, doc: str) -> Callable[[], Any]:
    """The same in Python: where there is no machine code, or none without arguments."""

    def bound() -> Any:
        return fallback()

    bound.__name__ = bound.__qualname__ = name
    bound.__doc__ = doc
    return bound


def _steps(buffers: Buffers) -> list[int]:
    """Strides as NumPy hands them to a loop: from state to state, then within states."""
    within = []
    for _, array, shape in buffers:
        sizes = [array.itemsize * prod(shape[k + 1 :]) for k in range(len(shape))]
        within += sizes
    return [*buffers.strides, *within]


def _records(buffers: Buffers) -> list[int]:
    """Array, data, and flags that it must have."""
    records = []
    for k, (_, array, _) in enumerate(buffers):
        is_input = k < len(buffers.inputs)
        records += [id(array), array.ctypes.data, 0 if is_input else numpy_api.WRITEABLE]
    return records


def _watched(buffers: Buffers) -> tuple[list[int], list[int]]:
    """Where to look at all inputs of one state: four numbers at a time, and single ones.

    The last four of an array may overlap those before: that is no harm.
    """
    fours: list[int] = []
    ones: list[int] = []
    for array in buffers.inputs.values():
        first, step, n = array.ctypes.data, array.itemsize, array.size
        if n < FOUR:
            ones += range(first, first + n * step, step)
        else:
            fours += range(first, first + (n - FOUR + 1) * step, FOUR * step)
            fours += [first + (n - FOUR) * step] * (n % FOUR > 0)
    return fours, ones
