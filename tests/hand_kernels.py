"""Kernels written by hand, and arrays that lie in memory in odd ways, for the tests of the driver.

A kernel is a Python function of lists of numbers: run on `Number`, which writes
what is done to it as LLVM IR, it becomes machine code; run on NumPy arrays, it
says what must come out, to the last bit.
"""

import ctypes
import itertools
from functools import cache

import numpy as np
from hypothesis import strategies as st

from phipsi.backends import gufunc, llvm
from phipsi.backends.real import REALS

WIDTHS = (1, 2, 4, 8)
WIDTHS_OF_FLOATS = (*WIDTHS, 16)
BASELINE = "x86-64" if llvm.architecture() == "x86_64" else "generic"


def target(where, lanes, real="double"):
    """The host, or what every processor of its family has, with so many lanes."""
    host = llvm.Target.host()
    given = {"host": (host.cpu, host.features), "baseline": (BASELINE, "")}
    return llvm.Target(*given[where], lanes, real)


class Number:
    """A number that writes what is done to it."""

    def __init__(self, lines, lanes, value, real):
        self.lines, self.lanes, self.value, self.real = lines, lanes, value, real

    @property
    def type(self):
        return self.real if self.lanes == 1 else f"<{self.lanes} x {self.real}>"

    def let(self, text):
        name = f"%n{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return Number(self.lines, self.lanes, name, self.real)

    def text(self, x):
        if isinstance(x, Number):
            return x.value
        return repr(float(x)) if self.lanes == 1 else f"splat ({self.real} {float(x)!r})"

    def __add__(self, other):
        return self.let(f"fadd {self.type} {self.value}, {self.text(other)}")

    def __mul__(self, other):
        return self.let(f"fmul {self.type} {self.value}, {self.text(other)}")

    def __rtruediv__(self, other):
        return self.let(f"fdiv {self.type} {self.text(other)}, {self.value}")

    __radd__, __rmul__ = __add__, __mul__


def kernel_text(function, inputs, lanes, name, real="double"):
    """IR of a kernel: outputs and a number that must not be negative, of lists of numbers."""
    lines, size = [], REALS[real].bytes * lanes
    start = Number(lines, lanes, "", real)

    def tile(side, k):
        lines.append(f"  %{side}{k}.at = getelementptr ptr, ptr %{side}, i64 {k}")
        lines.append(f"  %{side}{k} = load ptr, ptr %{side}{k}.at, align 8")
        return f"%{side}{k}"

    def entry(of, e):
        return start.let(f"getelementptr {start.type}, ptr {of}, i64 {e}").value

    arguments = []
    for k, shape in enumerate(inputs):
        of = tile("ins", k)
        places = [entry(of, e) for e in range(int(np.prod(shape)))]
        loads = [start.let(f"load {start.type}, ptr {at}, align {size}") for at in places]
        arguments.append(loads)
    results, watched = function(*arguments)
    for k, numbers in enumerate(results):
        of = tile("outs", k)
        for e, x in enumerate(numbers):
            value = x.value if isinstance(x, Number) else start.text(x)
            lines.append(f"  store {start.type} {value}, ptr {entry(of, e)}, align {size}")
    negative = start.let(f"fcmp olt {start.type} {watched.value}, {start.text(0.0)}").value
    if lanes > 1:
        negative = start.let(f"bitcast <{lanes} x i1> {negative} to i{lanes}").value
    mask = start.let(f"zext i{lanes} {negative} to i64").value
    body = "\n".join(lines)
    return (
        f"define i64 @{name}(ptr %ins, ptr %outs, ptr %work, ptr %tables) nounwind "
        '"prefer-vector-width"="512" "min-legal-vector-width"="512" {\n'
        f"{body}\n  ret i64 {mask}\n}}\n"
    )


def make_plan(function, inputs, outputs, target, few=1, work=0):
    """A plan with both kernels of a function."""
    kinds = {"lanes": target.lanes, "single": 1}
    texts = (kernel_text(function, inputs, n, name, target.real) for name, n in kinds.items())
    text = "".join(texts)
    code = llvm.compile_module(text, target)
    addresses = {name: code.address(name) for name in kinds}
    return gufunc.Plan(target, inputs, outputs, few=few, work=work, keep=code, **addresses)


def expected(function, inputs, outputs, *arrays, kind=float):
    """What a kernel says of arrays of NumPy, which broadcast over their leading dimensions."""
    batches = [x.shape[: x.ndim - len(shape)] for x, shape in zip(arrays, inputs, strict=True)]
    batch = np.broadcast_shapes(*batches)
    numbers = []
    for x, shape in zip(arrays, inputs, strict=True):
        wide = np.broadcast_to(x, batch + shape).astype(kind)
        numbers.append([wide[(..., *at)] for at in np.ndindex(shape)])
    results, _ = function(*numbers)
    return [
        np.stack([np.broadcast_to(x, batch) for x in entries], axis=-1).reshape(batch + shape)
        for entries, shape in zip(results, outputs, strict=True)
    ]


# -- the functions ---------------------------------------------------------------------------


def twice_plus_first(x, z):
    """y = 2 x + z_0; x_0 must not be negative."""
    return [[2.0 * entry + z[0] for entry in x]], x[0]


def outer(x, y):
    """The matrix x y*."""
    return [[a * b for a, b in itertools.product(x, y)]], x[0]


@cache
def mixed(inputs, outputs):
    """A function of any shapes: every entry of every input goes into every entry of the outputs."""

    def function(*arguments):
        total = 0.0
        for k, entries in enumerate(arguments):
            for e, x in enumerate(entries):
                total = (0.5 + 0.25 * k + 0.125 * e) * x + total
        sizes = [int(np.prod(shape)) for shape in outputs]
        first = arguments[0][0]
        results = [
            [(1.0 + k) * total + (e + 1.0) * first for e in range(n)] for k, n in enumerate(sizes)
        ]
        return results, first

    return function


@cache
def mixed_plan(inputs, outputs, where, lanes, few, real="double"):
    return make_plan(mixed(inputs, outputs), inputs, outputs, target(where, lanes, real), few)


# -- arrays that lie oddly -------------------------------------------------------------------


class Layout:
    """How an array lies in a larger block of memory.

    Args:
        shape: of the array.
        order: its axes, the slowest first.
        steps: of each axis, in entries of a block that is larger by this factor; may be negative.
        offset: in bytes.
        kind: of the numbers.
    """

    def __init__(self, shape, order, steps, offset=0, kind="=f8"):
        self.shape, self.order, self.steps = shape, order, steps
        self.offset, self.kind = offset, kind
        self.block = tuple(shape[a] * abs(steps[a]) for a in order)
        self.bytes = np.dtype(kind).itemsize * int(np.prod(self.block))

    def memory(self):
        """A block of memory in which every byte is known."""
        size = self.bytes + self.offset + 128
        return np.random.default_rng(size).integers(0, 256, size, np.uint8)

    def view(self, memory):
        """The array in that memory."""
        start = 64 + self.offset
        block = memory[start : start + self.bytes].view(self.kind).reshape(self.block)
        array = block.transpose(np.argsort(self.order))
        return array[(..., *(slice(None, None, step) for step in self.steps))]

    def __repr__(self):
        return f"Layout({self.shape}, {self.order}, {self.steps}, {self.offset}, {self.kind!r})"


@st.composite
def layouts(draw, shape, kinds=("=f8", ">f8"), offsets=(0, 0, 8, 1, 5)):
    """Any order of the axes, any steps, forwards and backwards, aligned or not."""
    plain = draw(st.booleans())
    order = tuple(range(len(shape)))
    if plain:
        return Layout(shape, order, (1,) * len(shape), draw(st.sampled_from((0, 8))), kinds[0])
    order = draw(st.permutations(order)) if shape else order
    steps = tuple(draw(st.sampled_from((1, 1, 2, -1, -3))) for _ in shape)
    kind, offset = draw(st.sampled_from(kinds)), draw(st.sampled_from(offsets))
    return Layout(shape, tuple(order), steps, offset, kind)


# -- the loop itself -------------------------------------------------------------------------


def call_loop(plan, arrays):
    """What NumPy does, for arrays with one leading dimension; strides and addresses as they are."""
    pointers = (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))
    dimensions = (ctypes.c_int64 * 1)(len(arrays[0]))
    strides = [x.strides[0] for x in arrays] + [s for x in arrays for s in x.strides[1:]]
    steps = (ctypes.c_int64 * len(strides))(*strides)
    loop = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(plan.driver.address("loop"))
    loop(pointers, dimensions, steps, plan.address)
