"""A compiled function called by Python itself: NumPy's ufuncs, and their time, are passed by.

A built-in function whose code, `entry_code`, is made here as well. It takes
ordinary arrays. Those of one state go to the kernel of one lane, their own memory
and that of new results: nothing is copied. Those of many states, one after the
other, as many in each array, go to the driver's loop, and other threads of Python
run meanwhile. Of anything else it makes nothing and returns None: then the caller
goes the general way, which converts, broadcasts, and says what is wrong.

Where NumPy or Python are not as `numpy_api` expects, there are no entries: that
costs time, nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

from phipsi.backends import numpy_api
from phipsi.backends.entry_code import entry_code
from phipsi.backends.gufunc import Plan
from phipsi.backends.llvm import Target

ROOM = 16 * 1024  # bytes of the stack that a kernel may have to work in


def make_entry(
    plan: Plan, kernel: int, *, work: int, tables: int, target: Target, name: str, doc: str
) -> Callable[..., Any] | None:
    """A function of arrays of the target's numbers, or None if there can be none.

    It returns a new array, a number for an output of shape () of one state, a tuple for several
    outputs. It returns None, and has done nothing, if an argument is not exactly an aligned,
    C-contiguous `numpy.ndarray` of such numbers of the given shape, or of that shape for each of
    as many states as the others; if arguments are missing, too many, or named; if the sum of
    squares of all inputs of a state is not below the bound that the driver has for it, where some
    may count twice; if the kernel complains, be it of states of another thread meanwhile. It raises
    MemoryError only.

    Args:
        plan: what the driver is told of the function.
        kernel: address of the kernel of one state, or 0.
        work: bytes that this kernel needs to work in; with more than `ROOM` it is not used.
        tables: address that is handed to the kernel, or 0.
        target: what the kernel was made for.
        name: of the function.
        doc: what it says of itself.
    """
    if not numpy_api.is_as_expected():
        return None
    fields = [kernel if work <= ROOM else 0, tables, work, plan.loop]
    fields += [plan.data, len(plan.inputs), len(plan.outputs), numpy_api.addresses().ctypes.data]
    for shape in (*plan.inputs, *plan.outputs):
        fields += [len(shape), prod(shape), *(*shape, 1, 1)[:2]]
    code = entry_code(replace(target, lanes=1))
    return numpy_api.make_builtin(code, numpy_api.WITH_NAMES, fields, name, doc, keep=plan)
