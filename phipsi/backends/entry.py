"""A compiled function called by Python itself: NumPy's ufuncs, and their time, are passed by.

A built-in function whose code is made here, one for all functions and shapes:

    PyObject *entry(PyObject *self, PyObject *const *args, Py_ssize_t given, PyObject *names)

It takes ordinary arrays. Those of one state go to the kernel of one lane, their
own memory and that of new results: nothing is copied. Those of many states, one
after the other, as many in each array, go to the driver's loop, and other
threads of Python run meanwhile. Of anything else it makes nothing and returns
None: then the caller goes the general way, which converts, broadcasts, and says
what is wrong.

`self` is a plan, an array of 8-byte fields:

    0 kernel    `i64 kernel(ptr inputs, ptr outputs, ptr work, ptr tables)` of one state, or null
    1 tables    handed through to the kernel
    2 bytes     what the kernel needs to work in, taken from the stack
    3 loop      the driver's loop
    4 plan      the driver's plan; it begins with a counter of alarms
    5 inputs    how many
    6 outputs   how many
    7 ...       of each argument, inputs first: dimensions (0, 1 or 2), entries, two sizes

What it relies on in NumPy and Python is public in their headers, and is tried
out at the first use. Where it is not as expected, there are no entries: that
costs time, nothing else.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from math import prod
from string import Template
from typing import Any

import numpy as np

from phipsi.backends.driver import ARGUMENTS
from phipsi.backends.gufunc import Plan
from phipsi.backends.llvm import Code, Target, compile_module
from phipsi.backends.tiles import watch_function
from phipsi.scalars import HUGE

ROOM = 16 * 1024  # bytes of the stack that a kernel may have to work in


def make_entry(
    plan: Plan, kernel: int, *, work: int, tables: int, target: Target, name: str, doc: str
) -> Callable[..., Any] | None:
    """A function of arrays of doubles, or None if there can be none.

    It returns a new array, a number for an output of shape () of one state, a tuple for several
    outputs. It returns None, and has done nothing, if an argument is not exactly an aligned,
    C-contiguous `numpy.ndarray` of doubles of the given shape, or of that shape for each of as
    many states as the others; if arguments are missing, too many, or named; if the sum of
    squares of all inputs of a state is not below the square of `scalars.HUGE`; if the kernel
    complains, be it of states of another thread meanwhile. It raises MemoryError only.

    Args:
        plan: what the driver is told of the function.
        kernel: address of the kernel of one state, or 0.
        work: bytes that this kernel needs to work in; with more than `ROOM` it is not used.
        tables: address that is handed to the kernel, or 0.
        target: what the kernel was made for.
        name: of the function.
        doc: what it says of itself.
    """
    if not _is_as_expected():
        return None
    code = _entry_code(replace(target, lanes=1))
    fields = [kernel if work <= ROOM else 0, tables, work, plan.loop]
    fields += [plan.data, len(plan.inputs), len(plan.outputs)]
    for shape in (*plan.inputs, *plan.outputs):
        fields += [len(shape), prod(shape), *(*shape, 1, 1)[:2]]
    method = _Method(name.encode(), code.address("entry"), _CALLED_WITH, doc.encode())
    memory = _Memory(np.array(fields, np.int64).tobytes())
    memory.keep = (code, method, plan)
    make = _of_python("PyCFunction_NewEx", _OBJECT, _POINTER, _OBJECT, _POINTER)
    return make(ctypes.addressof(method), np.frombuffer(memory, np.int64), None)


class _Memory(bytes):
    """Where a plan lies, and `keep`, what lives as long as the function.

    A plan itself is an array, since the garbage collector does not look into arrays: in a cycle
    of which a function is part, it would free the code before finalizers have called it.
    """

    keep: Any


class _Method(ctypes.Structure):
    """PyMethodDef, as Python's header methodobject.h declares it."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("code", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_CALLED_WITH = 0x80 | 0x02  # METH_FASTCALL and METH_KEYWORDS


# ---------------------------------------------------------------- the code

# The flags of the floating-point unit are left as they come: NumPy clears them before each loop
# after which it looks at them.


@lru_cache(maxsize=8)
def _entry_code(target: Target) -> Code:
    offsets = {
        f"{of}_{name}": getattr(layout, name).offset
        for of, layout in (("array", _Array), ("descr", _Descr))
        for name, *_ in layout._fields_
    }
    double = np.dtype(float)
    text = Template(_HEAD + _DROP + _BATCH + _ENTRY).substitute(
        offsets,
        arguments=ARGUMENTS,
        steps=3 * ARGUMENTS + 1,
        bound=HUGE * HUGE,
        order=ord("="),
        number=double.num,
        straight=_STRAIGHT,
        none=_constant(id(None)),
        ndarray=_constant(id(np.ndarray)),
        double=_constant(id(double)),
        new_array=_constant(_table()[_NEW_ARRAY]),
        new_number=_constant(_table()[_NEW_NUMBER]),
        **{name: _constant(_address(name)) for name in _CALLED},
    )
    return compile_module(text + watch_function(1), target)


def _constant(address: int) -> str:
    """An address in this process, as IR."""
    return f"inttoptr (i64 {address} to ptr)"


_CALLED = (
    "Py_IncRef",
    "Py_DecRef",
    "PyTuple_New",
    "PyTuple_SetItem",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
)

_HEAD = """
%plan = type { ptr, ptr, i64, ptr, ptr, i64, i64 }
%shape = type { i64, i64, [2 x i64] }

attributes #0 = { nounwind }
attributes #1 = { nounwind cold noinline }
"""

# Results that nobody will get; null where one was not made yet.
_DROP = """
define internal void @drop(ptr %results, i64 %count) #1 {
entry:
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k.next, %some ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %some, label %done
some:
  %at = getelementptr ptr, ptr %results, i64 %k
  %result = load ptr, ptr %at, align 8
  call void $Py_DecRef(ptr %result)
  %k.next = add i64 %k, 1
  br label %next
done:
  ret void
}
"""

# All states by the driver's loop, with the strides of ordinary arrays: the number of alarms.
_BATCH = """
define internal i64 @batch(ptr %plan, i64 %states, ptr %data) #0 {
entry:
  %dimensions = alloca i64, align 8
  %steps = alloca [$steps x i64], align 8
  %p = load %plan, ptr %plan, align 8
  %loop = extractvalue %plan %p, 3
  %counter = extractvalue %plan %p, 4
  %nin = extractvalue %plan %p, 5
  %nout = extractvalue %plan %p, 6
  %count = add i64 %nin, %nout
  %shapes = getelementptr %plan, ptr %plan, i64 1
  %cores = getelementptr i64, ptr %steps, i64 %count
  store i64 %states, ptr %dimensions, align 8
  br label %argument
argument:
  %k = phi i64 [ 0, %entry ], [ %k.next, %argument ]
  %core = phi ptr [ %cores, %entry ], [ %core.next, %argument ]
  %shape.at = getelementptr %shape, ptr %shapes, i64 %k
  %shape = load %shape, ptr %shape.at, align 8
  %rank = extractvalue %shape %shape, 0
  %entries = extractvalue %shape %shape, 1
  %columns = extractvalue %shape %shape, 2, 1
  %stride = mul i64 %entries, 8
  %stride.at = getelementptr i64, ptr %steps, i64 %k
  store i64 %stride, ptr %stride.at, align 8
  %line = mul i64 %columns, 8
  store i64 %line, ptr %core, align 8
  %core.next = getelementptr i64, ptr %core, i64 %rank
  %is_number = icmp eq i64 %rank, 0
  %last = getelementptr i64, ptr %core.next, i64 -1
  %last.at = select i1 %is_number, ptr %core, ptr %last
  store i64 8, ptr %last.at, align 8
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, %count
  br i1 %k.more, label %argument, label %run
run:
  %before = load atomic i64, ptr %counter monotonic, align 8
  %thread = call ptr $PyEval_SaveThread()
  call void %loop(ptr %data, ptr %dimensions, ptr %steps, ptr %counter)
  call void $PyEval_RestoreThread(ptr %thread)
  %after = load atomic i64, ptr %counter monotonic, align 8
  %alarms = sub i64 %after, %before
  ret i64 %alarms
}
"""

# Nothing from the first look at an argument to the end of the kernel runs code of Python, which
# could change the argument: an array is no matter for the garbage collector, a tuple is. Of many
# states, other threads may change the numbers, as they may with any ufunc.
_ENTRY = """
define ptr @entry(ptr %self, ptr %args, i64 %given, ptr %names) #0 {
entry:
  %ins = alloca [$arguments x ptr], align 8
  %results = alloca [$arguments x ptr], align 8
  %numbers = alloca [$arguments x double], align 8
  %new = alloca [3 x i64], align 8
  %plan.at = getelementptr i8, ptr %self, i64 $array_data
  %plan = load ptr, ptr %plan.at, align 8
  %p = load %plan, ptr %plan, align 8
  %kernel = extractvalue %plan %p, 0
  %tables = extractvalue %plan %p, 1
  %bytes = extractvalue %plan %p, 2
  %nin = extractvalue %plan %p, 5
  %nout = extractvalue %plan %p, 6
  %outs = getelementptr ptr, ptr %ins, i64 %nin
  %in.shapes = getelementptr %plan, ptr %plan, i64 1
  %out.shapes = getelementptr %shape, ptr %in.shapes, i64 %nin
  %enough = icmp eq i64 %given, %nin
  %unnamed = icmp eq ptr %names, null
  %called = and i1 %enough, %unnamed
  br i1 %called, label %input, label %none

input:
  %i = phi i64 [ 0, %entry ], [ %i.next, %input.end ]
  %sum = phi double [ 0.0, %entry ], [ %sum.next, %input.end ]
  %states = phi i64 [ -1, %entry ], [ %states.here, %input.end ]
  %array.at = getelementptr ptr, ptr %args, i64 %i
  %array = load ptr, ptr %array.at, align 8
  %type.at = getelementptr i8, ptr %array, i64 $array_type
  %type = load ptr, ptr %type.at, align 8
  %is_array = icmp eq ptr %type, $ndarray
  br i1 %is_array, label %look, label %none
look:
  %descr.at = getelementptr i8, ptr %array, i64 $array_descr
  %descr = load ptr, ptr %descr.at, align 8
  %number.at = getelementptr i8, ptr %descr, i64 $descr_number
  %number = load i32, ptr %number.at, align 4
  %is_double = icmp eq i32 %number, $number
  %order.at = getelementptr i8, ptr %descr, i64 $descr_order
  %order = load i8, ptr %order.at, align 1
  %is_native = icmp eq i8 %order, $order
  %flags.at = getelementptr i8, ptr %array, i64 $array_flags
  %flags = load i32, ptr %flags.at, align 4
  %some_flags = and i32 %flags, $straight
  %is_straight = icmp eq i32 %some_flags, $straight
  %shape.at = getelementptr %shape, ptr %in.shapes, i64 %i
  %rank = load i64, ptr %shape.at, align 8
  %ndim.at = getelementptr i8, ptr %array, i64 $array_ndim
  %ndim.short = load i32, ptr %ndim.at, align 4
  %ndim = sext i32 %ndim.short to i64
  %leading = sub i64 %ndim, %rank
  %is_of_rank = icmp ule i64 %leading, 1
  %sizes.at = getelementptr i8, ptr %array, i64 $array_shape
  %sizes = load ptr, ptr %sizes.at, align 8
  %numbers_fit = and i1 %is_double, %is_native
  %layout_fits = and i1 %is_straight, %is_of_rank
  %fits = and i1 %numbers_fit, %layout_fits
  br i1 %fits, label %batch, label %none
batch:
  %is_batch = icmp eq i64 %leading, 1
  br i1 %is_batch, label %length, label %lengths
length:
  %length.here = load i64, ptr %sizes, align 8
  %is_some = icmp ne i64 %length.here, 0
  br i1 %is_some, label %lengths, label %none
lengths:
  %states.here = phi i64 [ 0, %batch ], [ %length.here, %length ]
  %is_first = icmp eq i64 %i, 0
  %is_same = icmp eq i64 %states, %states.here
  %agrees = or i1 %is_first, %is_same
  br i1 %agrees, label %sizes.next, label %none
sizes.next:
  %d = phi i64 [ 0, %lengths ], [ %d.next, %compare ]
  %d.more = icmp ult i64 %d, %rank
  br i1 %d.more, label %compare, label %numbers.at
compare:
  %d.behind = add i64 %d, %leading
  %size.at = getelementptr i64, ptr %sizes, i64 %d.behind
  %size = load i64, ptr %size.at, align 8
  %wanted.at = getelementptr %shape, ptr %shape.at, i64 0, i32 2, i64 %d
  %wanted = load i64, ptr %wanted.at, align 8
  %d.next = add i64 %d, 1
  %same = icmp eq i64 %size, %wanted
  br i1 %same, label %sizes.next, label %none
numbers.at:
  %data.at = getelementptr i8, ptr %array, i64 $array_data
  %data = load ptr, ptr %data.at, align 8
  %in.at = getelementptr ptr, ptr %ins, i64 %i
  store ptr %data, ptr %in.at, align 8
  br i1 %is_batch, label %input.end, label %watch
watch:
  %entries.at = getelementptr %shape, ptr %shape.at, i64 0, i32 1
  %entries = load i64, ptr %entries.at, align 8
  %sum.watched = call double @watch1(ptr %data, i64 %entries, double %sum)
  br label %input.end
input.end:
  %sum.next = phi double [ %sum, %numbers.at ], [ %sum.watched, %watch ]
  %i.next = add i64 %i, 1
  %i.more = icmp ult i64 %i.next, %nin
  br i1 %i.more, label %input, label %weigh
weigh:
  %moderate = fcmp olt double %sum.next, $bound
  %has_kernel = icmp ne ptr %kernel, null
  %possible = or i1 %is_batch, %has_kernel
  %goes = and i1 %moderate, %possible
  br i1 %goes, label %output, label %none

output:
  %o = phi i64 [ 0, %weigh ], [ %o.next, %output.next ]
  %o.shape = getelementptr %shape, ptr %out.shapes, i64 %o
  %o.rank = load i64, ptr %o.shape, align 8
  %o.dimensions = add i64 %o.rank, %leading
  %o.is_number = icmp eq i64 %o.dimensions, 0
  br i1 %o.is_number, label %place, label %allocate
place:
  %o.number = getelementptr double, ptr %numbers, i64 %o
  br label %output.next
allocate:
  %o.sizes = getelementptr %shape, ptr %o.shape, i64 0, i32 2
  %o.core = load [2 x i64], ptr %o.sizes, align 8
  %new.core = getelementptr i64, ptr %new, i64 1
  store i64 %states.here, ptr %new, align 8
  store [2 x i64] %o.core, ptr %new.core, align 8
  %o.all = select i1 %is_batch, ptr %new, ptr %new.core
  %o.ndim = trunc i64 %o.dimensions to i32
  call void $Py_IncRef(ptr $double)
  %made = call ptr $new_array(ptr $ndarray, ptr $double, i32 %o.ndim, ptr %o.all,
                              ptr null, ptr null, i32 0, ptr null)
  %no_array = icmp eq ptr %made, null
  br i1 %no_array, label %fail, label %allocated
allocated:
  %made.data.at = getelementptr i8, ptr %made, i64 $array_data
  %made.data = load ptr, ptr %made.data.at, align 8
  br label %output.next
output.next:
  %result = phi ptr [ null, %place ], [ %made, %allocated ]
  %to = phi ptr [ %o.number, %place ], [ %made.data, %allocated ]
  %result.at = getelementptr ptr, ptr %results, i64 %o
  store ptr %result, ptr %result.at, align 8
  %out.at = getelementptr ptr, ptr %outs, i64 %o
  store ptr %to, ptr %out.at, align 8
  %o.next = add i64 %o, 1
  %o.more = icmp ult i64 %o.next, %nout
  br i1 %o.more, label %output, label %run

run:
  br i1 %is_batch, label %many, label %single
many:
  %alarms = call i64 @batch(ptr %plan, i64 %states.here, ptr %ins)
  br label %judge
single:
  %work = alloca i8, i64 %bytes, align 64
  %mask = call i64 %kernel(ptr %ins, ptr %outs, ptr %work, ptr %tables)
  br label %judge
judge:
  %complaints = phi i64 [ %alarms, %many ], [ %mask, %single ]
  %wrong = icmp ne i64 %complaints, 0
  br i1 %wrong, label %refuse, label %finish
refuse:
  call void @drop(ptr %results, i64 %nout)
  br label %none

finish:
  %f = phi i64 [ 0, %judge ], [ %f.next, %finish.next ]
  %f.at = getelementptr ptr, ptr %results, i64 %f
  %f.result = load ptr, ptr %f.at, align 8
  %f.is_number = icmp eq ptr %f.result, null
  br i1 %f.is_number, label %wrap, label %finish.next
wrap:
  %f.number = getelementptr double, ptr %numbers, i64 %f
  %wrapped = call ptr $new_number(ptr %f.number, ptr $double, ptr null)
  store ptr %wrapped, ptr %f.at, align 8
  %no_number = icmp eq ptr %wrapped, null
  br i1 %no_number, label %fail, label %finish.next
finish.next:
  %f.next = add i64 %f, 1
  %f.more = icmp ult i64 %f.next, %nout
  br i1 %f.more, label %finish, label %hand_over

hand_over:
  %is_one = icmp eq i64 %nout, 1
  br i1 %is_one, label %one, label %several
one:
  %only = load ptr, ptr %results, align 8
  ret ptr %only
several:
  %tuple = call ptr $PyTuple_New(i64 %nout)
  %no_tuple = icmp eq ptr %tuple, null
  br i1 %no_tuple, label %fail, label %fill
fill:
  %t = phi i64 [ 0, %several ], [ %t.next, %fill ]
  %t.at = getelementptr ptr, ptr %results, i64 %t
  %t.result = load ptr, ptr %t.at, align 8
  %filled = call i32 $PyTuple_SetItem(ptr %tuple, i64 %t, ptr %t.result)
  %t.next = add i64 %t, 1
  %t.more = icmp ult i64 %t.next, %nout
  br i1 %t.more, label %fill, label %full
full:
  ret ptr %tuple

fail:
  %owned = phi i64 [ %o, %allocate ], [ %nout, %wrap ], [ %nout, %several ]
  call void @drop(ptr %results, i64 %owned)
  ret ptr null
none:
  call void $Py_IncRef(ptr $none)
  ret ptr $none
}
"""


# ---------------------------------------------------------------- NumPy's and Python's C interface

_OBJECT, _POINTER, _INT = ctypes.py_object, ctypes.c_void_p, ctypes.c_int
_SIZES = ctypes.POINTER(ctypes.c_ssize_t)

_STRAIGHT = 0x0101  # NPY_ARRAY_C_CONTIGUOUS and NPY_ARRAY_ALIGNED

# Places in NumPy's table of functions, and the version of the table that has them there.
_GET_VERSION, _NDARRAY, _NEW_NUMBER, _NEW_ARRAY = 0, 2, 60, 94
_VERSION = 0x02000000


class _Array(ctypes.Structure):
    """The beginning of PyArrayObject, as NumPy's header ndarraytypes.h declares it."""

    _fields_ = (
        ("head", ctypes.c_char * (object.__basicsize__ - 8)),
        ("type", _POINTER),
        ("data", _POINTER),
        ("ndim", _INT),
        ("shape", _SIZES),
        ("strides", _SIZES),
        ("base", _POINTER),
        ("descr", _POINTER),
        ("flags", _INT),
    )


class _Descr(ctypes.Structure):
    """The beginning of PyArray_Descr: what kind of numbers an array has."""

    _fields_ = (
        ("head", ctypes.c_char * object.__basicsize__),
        ("type", _POINTER),
        ("kind", ctypes.c_char),
        ("letter", ctypes.c_char),
        ("order", ctypes.c_char),
        ("unused", ctypes.c_char),
        ("number", _INT),
    )


@lru_cache(maxsize=1)
def _is_as_expected() -> bool:
    """Whether Python and NumPy are those for which the code was written."""
    return (
        sys.implementation.name == "cpython"
        and not sysconfig.get_config_var("Py_GIL_DISABLED")
        and ctypes.sizeof(_POINTER) == 8
        and _arrays_are_as_expected()
        and _table_is_as_expected()
    )


def _arrays_are_as_expected() -> bool:
    whole = np.arange(24.0).reshape(2, 3, 4)
    arrays = [whole, whole[0, ::2], whole[1, 2, 3:], np.arange(6, dtype=">f4").reshape(3, 2).T]
    return all(map(_is_laid_out_as_expected, arrays))


def _is_laid_out_as_expected(array: np.ndarray) -> bool:
    """What is behind pointers is looked at last: then they are known to be pointers."""
    x, kind = _Array.from_address(id(array)), _Descr.from_address(id(array.dtype))
    base = None if array.base is None else id(array.base)
    found = (x.type, x.data, x.ndim, x.base, x.descr, x.flags)
    known = (id(type(array)), array.ctypes.data, array.ndim, base, id(array.dtype))
    letters = f"{array.dtype.kind}{array.dtype.char}{array.dtype.byteorder}"
    return (
        found == (*known, array.flags.num)
        and (*x.shape[: array.ndim],) == array.shape
        and (*x.strides[: array.ndim],) == array.strides
        and (kind.kind + kind.letter + kind.order).decode() == letters
        and kind.number == array.dtype.num
    )


def _table_is_as_expected() -> bool:
    """The table is of the known version, and what it makes is what it should."""
    table, double = _table(), np.dtype(float)
    version = ctypes.PYFUNCTYPE(ctypes.c_uint)(table[_GET_VERSION])()
    if (version, table[_NDARRAY]) != (_VERSION, id(np.ndarray)):
        return False
    kinds: list[Any] = [_POINTER, _OBJECT, _INT, _SIZES, _POINTER, _POINTER, _INT, _POINTER]
    new_array = ctypes.PYFUNCTYPE(_OBJECT, *kinds)(table[_NEW_ARRAY])
    ctypes.pythonapi.Py_IncRef(_OBJECT(double))  # which the new array takes
    sizes = (ctypes.c_ssize_t * 2)(2, 3)
    made = new_array(id(np.ndarray), double, 2, sizes, None, None, 0, None)
    new_number = ctypes.PYFUNCTYPE(_OBJECT, _POINTER, _OBJECT, _POINTER)(table[_NEW_NUMBER])
    number = new_number(np.array(0.1).ctypes.data, double, None)
    return (
        type(made) is np.ndarray
        and made.shape == (2, 3)
        and made.dtype is double
        and made.flags.c_contiguous
        and made.flags.owndata
        and _is_laid_out_as_expected(made)
        and type(number) is np.float64
        and number == 0.1
    )


@lru_cache(maxsize=1)
def _table() -> Any:
    """Addresses of the functions and types of NumPy's C interface."""
    inside = importlib.import_module("numpy._core._multiarray_umath")
    get = _of_python("PyCapsule_GetPointer", _POINTER, _OBJECT, ctypes.c_char_p)
    return ctypes.cast(get(inside._ARRAY_API, None), ctypes.POINTER(_POINTER))


def _of_python(name: str, *kinds: Any) -> Any:
    """A function of Python's C interface: the kinds of its result and arguments."""
    return ctypes.PYFUNCTYPE(*kinds)((name, ctypes.pythonapi))


def _address(name: str) -> int:
    """Where a function of Python's C interface begins."""
    address = ctypes.cast(getattr(ctypes.pythonapi, name), _POINTER).value
    assert address is not None
    return address
