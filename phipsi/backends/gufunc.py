"""A compiled function as a generalised ufunc of NumPy, made through NumPy's C interface.

The signature carries the sizes, `(7),(6),(6)->(6)`, so NumPy itself refuses
arrays that do not fit, and broadcasts over all leading dimensions. The ufunc
keeps alive everything that it points to.
"""

from __future__ import annotations

import ctypes
import importlib
import weakref
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from phipsi.backends.driver import ARGUMENTS, driver_code
from phipsi.backends.job import Shape
from phipsi.backends.llvm import Code, Target
from phipsi.backends.parallel.threads import team_code, team_fields
from phipsi.backends.partition import Spread
from phipsi.backends.real import REALS
from phipsi.backends.transpose import MANY, ZEROS
from phipsi.errors import BackendError


class Plan:
    """What the driver is told of a function: see `phipsi.backends.driver`.

    `counter[0]` is the number of alarms so far.

    Args:
        target: what the kernels were made for.
        inputs: their shapes.
        outputs: their shapes.
        lanes: address of the kernel of `target.lanes` states.
        single: address of the kernel of one state, or 0.
        few: at most so many states that are left over are done one by one.
        work: bytes that the kernels need to work in.
        tables: address that is handed to the kernels, or 0.
        keep: what must live as long as these addresses are used.
        operations: that one state takes, by which batches are found too small to be shared
            among threads; 0 if unknown.
        threads: that may work on a batch; None for the default of the package.
        spreads: of each output, where its entries are found in a tile of `lanes` that keeps no
            number twice; None, of one or of all, where the tile has all entries.
    """

    def __init__(
        self,
        target: Target,
        inputs: Sequence[Shape],
        outputs: Sequence[Shape],
        *,
        lanes: int,
        single: int = 0,
        few: int = 0,
        work: int = 0,
        tables: int = 0,
        keep: Any = None,
        operations: int = 0,
        threads: int | str | None = None,
        spreads: Sequence[Spread] | None = None,
    ):
        _check_shapes(inputs, outputs)
        self.target = target
        self.inputs, self.outputs, self.keep = tuple(inputs), tuple(outputs), keep
        self._addresses: dict[str, Any] = {
            "lanes": lanes,
            "single": single,
            "few": few,
            "work": work,
            "tables": tables,
            "keep": keep,
            "operations": operations,
            "spreads": spreads,
        }
        self.driver = driver_code(target)
        fields = [0, 0, lanes, single, work, tables, few, len(inputs), len(outputs)]
        self._places: list[np.ndarray] = []
        own = [*[None] * len(inputs), *(spreads or [None] * len(outputs))]
        for shape, spread in zip((*inputs, *outputs), own, strict=True):
            fields += [len(shape), *(1, 1, *shape)[-2:], *self._kept(shape, spread)]
        shapes, own_loop = (*inputs, *outputs), self.driver.address("loop")
        fields += team_fields(target, own_loop, shapes, operations, threads)
        self._team = team_code()
        self._fields = (ctypes.c_int64 * len(fields))(*fields)
        self.counter = memoryview(self._fields).cast("B").cast("q")[:1]
        self.address = ctypes.addressof(self._fields)
        # Not at exit: a thread may still be inside.
        weakref.finalize(self, _release, self._fields, self.driver, self._team).atexit = False

    def _kept(self, shape: Shape, spread: Spread) -> tuple[int, int]:
        """The numbers that a tile of an argument keeps, and where the list of places is, or 0."""
        entries, lanes = prod(shape), self.target.lanes
        if spread is None:
            return entries, 0
        is_zero = np.array(spread.places) == 0 if spread.has_zero else np.zeros(entries, bool)
        places = np.array(spread.places, np.int64) * (lanes * self.target.bytes)
        if entries >= MANY:
            runs = np.lib.stride_tricks.sliding_window_view(is_zero, MANY).all(axis=-1)
            places[: entries - MANY + 1][runs] = ZEROS
        self._places.append(places)
        # One state that does not lie straight in memory is written to the tile as it is.
        return max(spread.kept, -(-entries // lanes)), places.ctypes.data

    @property
    def loop(self) -> int:
        """Address of the loop that is called for a batch."""
        code, name = (self._team, "share") if self._team else (self.driver, "loop")
        return code.address(name)

    @property
    def data(self) -> int:
        """Address of what that loop is handed; it begins with the counter."""
        return self.address

    def with_threads(self, threads: int | str | None) -> Plan:
        """The same function for this many threads; it counts its alarms itself."""
        return Plan(self.target, self.inputs, self.outputs, threads=threads, **self._addresses)

    @property
    def signature(self) -> str:
        """Core dimensions in NumPy's notation."""
        sides = (self.inputs, self.outputs)
        return "->".join(",".join(f"({','.join(map(str, x))})" for x in side) for side in sides)


def make_gufunc(plan: Plan, name: str, doc: str) -> np.ufunc:
    """The function that a plan describes, of arrays of doubles or floats as its target says."""
    nin, nout = len(plan.inputs), len(plan.outputs)
    loops = (ctypes.c_void_p * 1)(plan.loop)
    plans = (ctypes.c_void_p * 1)(plan.data)
    types = bytes([REALS[plan.target.real].dtype.num]) * (nin + nout)
    texts = name.encode(), doc.encode()
    signature = plan.signature.encode()
    make = _from_loops()
    ufunc = make(loops, plans, types, 1, nin, nout, _NO_IDENTITY, *texts, 0, signature)
    _keep_alive(ufunc, (plan, loops, plans, types, texts))
    return ufunc


def _check_shapes(inputs: Sequence[Shape], outputs: Sequence[Shape]) -> None:
    assert inputs and outputs and all(len(x) <= 2 for x in (*inputs, *outputs))
    if len(inputs) + len(outputs) > ARGUMENTS:
        raise BackendError(
            f"a compiled function has at most {ARGUMENTS} inputs and outputs, "
            f"not {len(inputs)} and {len(outputs)}"
        )
    if any(n < 1 for shape in (*inputs, *outputs) for n in shape):
        raise BackendError(
            f"a compiled function has no empty arguments, but shapes {[*inputs]} -> {[*outputs]}"
        )


def _release(fields: ctypes.Array, driver: Code, team: Code | None) -> None:
    """Free the workspaces of a plan that nobody uses any more, while the driver is still there."""
    plan, release = ctypes.addressof(fields), driver.address("release")
    if team is not None:
        pointers = [ctypes.c_void_p] * 2
        ctypes.CFUNCTYPE(None, *pointers)(team.address("disband"))(plan, release)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(release)(plan)


# ---------------------------------------------------------------- NumPy's C interface

_FROM_LOOPS = 31  # of PyUFunc_FromFuncAndDataAndSignature in the table of functions
_NO_IDENTITY = -1


@lru_cache(maxsize=1)
def _from_loops() -> Any:
    """NumPy's function that makes a generalised ufunc."""
    inside = importlib.import_module("numpy._core._multiarray_umath")
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get(inside._UFUNC_API, None), ctypes.POINTER(ctypes.c_void_p))
    pointers, integers, text = [ctypes.c_void_p] * 2, [ctypes.c_int] * 4, ctypes.c_char_p
    arguments = [*pointers, text, *integers, text, text, ctypes.c_int, text]
    return ctypes.PYFUNCTYPE(ctypes.py_object, *arguments)(table[_FROM_LOOPS])


class _UFunc(ctypes.Structure):
    """The beginning of PyUFuncObject, as NumPy's header ufuncobject.h declares it."""

    _fields_ = (
        ("head", ctypes.c_char * object.__basicsize__),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("types", ctypes.c_void_p),
        ("doc", ctypes.c_void_p),
        ("ptr", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
    )


def _keep_alive(ufunc: np.ufunc, what: Any) -> None:
    """Let a ufunc own a reference: NumPy drops it together with the ufunc."""
    _check_layout()
    inside = _UFunc.from_address(id(ufunc))
    assert inside.obj is None
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(what))
    inside.obj = id(what)


@lru_cache(maxsize=1)
def _check_layout() -> None:
    """A ufunc of a Python function, of which all is known, must be laid out as we think."""

    def example(x: Any, y: Any) -> Any: ...

    ufunc = np.frompyfunc(example, 2, 1)
    inside = _UFunc.from_address(id(ufunc))
    found = (inside.nin, inside.nout, inside.nargs, inside.ntypes, inside.obj)
    if found != (2, 1, 3, 1, id(example)):
        raise BackendError(
            f"NumPy {np.__version__} lays out its ufuncs in a way that phipsi does not know: "
            "install an older NumPy 2"
        )
