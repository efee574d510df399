"""A compiled function called by Python itself: NumPy's ufuncs, and their time, are passed by.

A built-in function whose code, `entry_code`, is made here as well. It takes ordinary
arrays, by place or by name, short tuples instead of vectors, and `out`. Those of one
state go to the kernel of one lane, their own memory and that of the results: nothing
is copied. Those of many states go to the driver's loop, beside arrays that all states
share, and other threads of Python run meanwhile. Of anything else it makes nothing and
returns None: then the caller goes the general way, which converts, broadcasts, and says
what is wrong.

Where NumPy or Python are not as `numpy_api` expects, there are no entries: that
costs time, nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from phipsi.backends import numpy_api
from phipsi.backends.entry_code import LEADS, entry_code, shape_fields
from phipsi.backends.gufunc import Plan
from phipsi.backends.job import Shape
from phipsi.backends.llvm import Target

ROOM = 16 * 1024  # bytes of the stack that a kernel may have to work in


@dataclass(frozen=True)
class Callers:
    """How callers see a function: names and shapes of arguments and results.

    Args:
        names: of the arguments, in order, each an input of the function or one that is ignored.
        inputs: shapes that differ from those of the kernel, by name, with as many numbers.
        outputs: shapes of the results; None for those of the kernel.
        alone: inputs that have no batch: all states share them.
    """

    names: tuple[str, ...]
    inputs: Mapping[str, Shape] = field(default_factory=dict)
    outputs: tuple[Shape, ...] | None = None
    alone: tuple[str, ...] = ()


def make_entry(
    plan: Plan,
    kernel: int,
    *,
    inputs: Sequence[str],
    callers: Callers,
    work: int,
    tables: int,
    target: Target,
    name: str,
    doc: str,
) -> Callable[..., Any] | None:
    """A function of arrays of the target's numbers, or None if there can be none.

    It returns a new array, a number for an output of shape () of one state, a tuple for several
    outputs; or `out`, filled. It returns None if an argument is not exactly an aligned,
    C-contiguous `numpy.ndarray` of such numbers of the given shape, or of that shape for each of as
    many states as the others, nor, for a vector of at most `LONGEST_TUPLE` numbers, a tuple of
    floats; if arguments are missing, too many, or unknown; if one that is ignored is not None; if
    `out` does not fit, or shares memory with something; if the sum of squares of all inputs of a
    state is not below the bound that the driver has for it, where some may count twice; if the
    kernel complains, be it of states of another thread meanwhile. It has done nothing then, but in
    the last case may have written to `out`. It raises MemoryError only.

    Args:
        plan: what the driver is told of the function.
        kernel: address of the kernel of one state, or 0.
        inputs: names of the kernel's inputs, in order.
        callers: names and shapes as callers see them.
        work: bytes that this kernel needs to work in; with more than `ROOM` it is not used.
        tables: address that is handed to the kernel, or 0.
        target: what the kernel was made for.
        name: of the function.
        doc: what it says of itself.
    """
    if not numpy_api.is_as_expected():
        return None
    known = [*map(sys.intern, callers.names), sys.intern("out")]
    fields = [kernel if work <= ROOM else 0, tables, work, plan.loop, plan.data]
    fields += [len(plan.inputs), len(plan.outputs), numpy_api.addresses().ctypes.data]
    fields.append(len(callers.names))
    for own, core in zip(inputs, plan.inputs, strict=True):
        leads = 0 if own in callers.alone else LEADS
        fields += shape_fields(callers.inputs.get(own, core), core, leads, target.real)
    for public, core in zip(callers.outputs or plan.outputs, plan.outputs, strict=True):
        fields += shape_fields(public, core, LEADS, target.real)
    places = {own: i for i, own in enumerate(inputs)}
    fields += [places.get(x, -1) for x in callers.names]
    fields += map(id, known)
    code = entry_code(replace(target, lanes=1))
    keep = plan, known
    return numpy_api.make_builtin(code, numpy_api.WITH_NAMES, fields, name, doc, keep=keep)
