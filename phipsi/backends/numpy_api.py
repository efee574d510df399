"""NumPy's and Python's C interface: how arrays lie in memory, where functions are, built-ins made.

What is relied on is public in their headers, and is tried out at the first use.
Where it is not as expected, nothing is built on it: that costs time, nothing
else.

Machine code takes addresses from a table, of which it is told where it lies. So
its text is the same in every process, and what was compiled in one serves all.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
import sysconfig
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from phipsi.backends.llvm import Code
from phipsi.backends.real import REALS
from phipsi.errors import BackendError

OBJECT, POINTER, INT = ctypes.py_object, ctypes.c_void_p, ctypes.c_int
SIZES = ctypes.POINTER(ctypes.c_ssize_t)

STRAIGHT = 0x0101  # NPY_ARRAY_C_CONTIGUOUS and NPY_ARRAY_ALIGNED
WRITEABLE = 0x0400  # NPY_ARRAY_WRITEABLE
NOT_SWAPPED = ord("=")  # the byte order of a dtype
TYPES = {name: real.dtype for name, real in REALS.items()}

# How a built-in function is called: METH_FASTCALL and METH_KEYWORDS, or METH_NOARGS.
WITH_NAMES, WITHOUT_ARGUMENTS = 0x80 | 0x02, 0x04

# Places in NumPy's table of functions, and the version of the table that has them there.
_GET_VERSION, _NDARRAY, _NEW_NUMBER, _NEW_ARRAY = 0, 2, 60, 94
_VERSION = 0x02000000


class Array(ctypes.Structure):
    """The beginning of PyArrayObject, as NumPy's header ndarraytypes.h declares it."""

    _fields_ = (
        ("head", ctypes.c_char * (object.__basicsize__ - 8)),
        ("type", POINTER),
        ("data", POINTER),
        ("ndim", INT),
        ("shape", SIZES),
        ("strides", SIZES),
        ("base", POINTER),
        ("descr", POINTER),
        ("flags", INT),
    )


class Descr(ctypes.Structure):
    """The beginning of PyArray_Descr: what kind of numbers an array has."""

    _fields_ = (
        ("head", ctypes.c_char * object.__basicsize__),
        ("type", POINTER),
        ("kind", ctypes.c_char),
        ("letter", ctypes.c_char),
        ("order", ctypes.c_char),
        ("unused", ctypes.c_char),
        ("number", INT),
    )


class _Method(ctypes.Structure):
    """PyMethodDef, as Python's header methodobject.h declares it."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("code", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


# Where the size and the items of a tuple begin, and the number of a float.
_OF_TUPLES = {
    "tuple_size": object.__basicsize__,
    "tuple_items": tuple.__basicsize__,
    "float_value": object.__basicsize__,
}


def offsets() -> dict[str, int]:
    """Where the fields of arrays, of their dtypes, of tuples and floats begin: `array_data`, ..."""
    of_arrays = {
        f"{of}_{name}": getattr(layout, name).offset
        for of, layout in (("array", Array), ("descr", Descr))
        for name, *_ in layout._fields_
    }
    return of_arrays | _OF_TUPLES


# ---------------------------------------------------------------- built-in functions


class Fields(np.ndarray):
    """What a built-in function is handed as its `self`: numbers and addresses, 8 bytes each.

    The garbage collector sees what is `seen`, and so finds cycles that lead through the function.
    It does not look into an array's memory: there is the rest. Were code in its sight, it would
    free the code of a cycle before finalizers have called it.
    """

    seen: Any

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Addresses mean nothing elsewhere."""
        raise BackendError(
            "machine code is tied to the memory of its process, and cannot be pickled: "
            "pickle the function that `pp.compile` made"
        )


class _Memory(bytes):
    """Where fields lie, and `keep`, what lives as long as the function."""

    keep: Any


def make_builtin(
    code: Code,
    flags: int,
    fields: Sequence[int],
    name: str,
    doc: str,
    *,
    keep: Any,
    seen: Any = None,
) -> Callable[..., Any]:
    """A function of Python whose code is machine code: the function `call` of some code.

    Args:
        code: which.
        flags: `WITH_NAMES` or `WITHOUT_ARGUMENTS`.
        fields: what it is told.
        name: of the function.
        doc: what it says of itself.
        keep: lives as long as the function: code, and what owns some, nothing of the user's.
        seen: lives as long as the function, too.
    """
    method = _Method(name.encode(), code.address("call"), flags, doc.encode())
    memory = _Memory(np.array(fields, np.int64).tobytes())
    memory.keep = (code, method, keep)
    own = np.frombuffer(memory, np.int64).view(Fields)
    own.seen = seen
    make = of_python("PyCFunction_NewEx", OBJECT, POINTER, OBJECT, POINTER)
    return make(ctypes.addressof(method), own, None)


# ---------------------------------------------------------------- addresses

_OF_PYTHON = (
    "Py_IncRef",
    "Py_DecRef",
    "PyTuple_New",
    "PyTuple_SetItem",
    "PyUnicode_Compare",
    "PyObject_CallNoArgs",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
)
_NAMES = ("none", "tuple", "PyFloat", "ndarray", *TYPES, "new_array", "new_number", *_OF_PYTHON)


@lru_cache(maxsize=1)
def addresses() -> np.ndarray:
    """The table that machine code takes addresses from; it lives as long as the process."""
    numpy = _table()
    own = [id(None), id(tuple), id(float), id(np.ndarray), *map(id, TYPES.values())]
    own += [numpy[_NEW_ARRAY], numpy[_NEW_NUMBER]]
    return np.array([*own, *map(address_of, _OF_PYTHON)], np.int64)


def load(block: str, *names: str) -> str:
    """IR that takes addresses from the table `%api`: `%block.name` of each name."""
    lines = []
    for name in names:
        value = f"%{block}.{name}"
        lines.append(f"  {value}.at = getelementptr ptr, ptr %api, i64 {_NAMES.index(name)}")
        lines.append(f"  {value} = load ptr, ptr {value}.at, align 8")
    return "\n".join(lines)


@lru_cache(maxsize=8)
def of_python(name: str, *kinds: Any) -> Any:
    """A function of Python's C interface: the kinds of its result and arguments."""
    return ctypes.PYFUNCTYPE(*kinds)((name, ctypes.pythonapi))


def address_of(name: str) -> int:
    """Where a function of Python's C interface begins."""
    address = ctypes.cast(getattr(ctypes.pythonapi, name), POINTER).value
    assert address is not None
    return address


@lru_cache(maxsize=1)
def _table() -> Any:
    """Addresses of the functions and types of NumPy's C interface."""
    inside = importlib.import_module("numpy._core._multiarray_umath")
    get = of_python("PyCapsule_GetPointer", POINTER, OBJECT, ctypes.c_char_p)
    return ctypes.cast(get(inside._ARRAY_API, None), ctypes.POINTER(POINTER))


# ---------------------------------------------------------------- tried out


@lru_cache(maxsize=1)
def is_as_expected() -> bool:
    """Whether Python and NumPy are those for which the code was written."""
    return (
        sys.implementation.name == "cpython"
        and not sysconfig.get_config_var("Py_GIL_DISABLED")
        and ctypes.sizeof(POINTER) == 8
        and _arrays_are_as_expected()
        and _tuples_are_as_expected()
        and _table_is_as_expected()
    )


def _arrays_are_as_expected() -> bool:
    whole = np.arange(24.0).reshape(2, 3, 4)
    arrays = [whole, whole[0, ::2], whole[1, 2, 3:], np.arange(6, dtype=">f4").reshape(3, 2).T]
    return all(map(_is_laid_out_as_expected, [*arrays, whole.view(Fields)]))


def _is_laid_out_as_expected(array: np.ndarray) -> bool:
    """What is behind pointers is looked at last: then they are known to be pointers."""
    x, kind = Array.from_address(id(array)), Descr.from_address(id(array.dtype))
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


def _tuples_are_as_expected() -> bool:
    floats = 1.25, -3.5, 1e300
    start, value = id(floats), _OF_TUPLES["float_value"]
    size = ctypes.c_ssize_t.from_address(start + _OF_TUPLES["tuple_size"]).value
    items = (ctypes.c_size_t * len(floats)).from_address(start + _OF_TUPLES["tuple_items"])
    return (
        size == len(floats)
        and [*items] == [*map(id, floats)]
        and tuple(ctypes.c_double.from_address(x + value).value for x in items) == floats
    )


def _table_is_as_expected() -> bool:
    """The table is of the known version, and what it makes is what it should."""
    table = _table()
    version = ctypes.PYFUNCTYPE(ctypes.c_uint)(table[_GET_VERSION])()
    if (version, table[_NDARRAY]) != (_VERSION, id(np.ndarray)):
        return False
    return all(map(_makes_arrays_and_numbers, TYPES.values()))


def _makes_arrays_and_numbers(kind: np.dtype) -> bool:
    table = _table()
    kinds: list[Any] = [POINTER, OBJECT, INT, SIZES, POINTER, POINTER, INT, POINTER]
    new_array = ctypes.PYFUNCTYPE(OBJECT, *kinds)(table[_NEW_ARRAY])
    ctypes.pythonapi.Py_IncRef(OBJECT(kind))  # which the new array takes
    sizes = (ctypes.c_ssize_t * 2)(2, 3)
    made = new_array(id(np.ndarray), kind, 2, sizes, None, None, 0, None)
    new_number = ctypes.PYFUNCTYPE(OBJECT, POINTER, OBJECT, POINTER)(table[_NEW_NUMBER])
    number = new_number(np.array(0.1, kind).ctypes.data, kind, None)
    return (
        type(made) is np.ndarray
        and made.shape == (2, 3)
        and made.dtype is kind
        and made.flags.c_contiguous
        and made.flags.owndata
        and _is_laid_out_as_expected(made)
        and type(number) is kind.type
        and number == kind.type(0.1)
    )
