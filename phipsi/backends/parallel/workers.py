"""How many threads compute: the package's default, which machine code reads at every call."""

from __future__ import annotations

import ctypes
import os
from typing import Any

from phipsi.errors import InputError

VARIABLE = "PHIPSI_THREADS"
MOST = 256  # threads of one call
ALL = "all"

_default = ctypes.c_int64(0)  # 0 until somebody asks: then what the environment says


def set_threads(threads: int | str) -> None:
    """How many threads compute a batch, wherever a function does not say otherwise.

    Acts at once, also on functions that are there already. Results are the same,
    bit by bit, whatever the number. To begin with it is 1, or what the environment
    variable PHIPSI_THREADS says.

    Args:
        threads: 1 or more, the calling thread counted; "all" for as many as this
            process has processors.

    >>> import phipsi as pp
    >>> before = pp.get_threads()
    >>> pp.set_threads(2)
    >>> pp.get_threads()
    2
    >>> pp.set_threads(before)
    """
    _default.value = _checked(threads, "threads")


def get_threads() -> int:
    """How many threads compute a batch, wherever a function does not say otherwise.

    Raises:
        InputError: if PHIPSI_THREADS is set to something that is no such number.

    >>> import phipsi as pp
    >>> pp.get_threads() >= 1
    True
    """
    if _default.value == 0:
        _default.value = _from_environment()
    return _default.value


def threads_or_default(threads: int | str | None) -> int:
    """What a function is told: a number of threads; 0, for None, is the default of each call.

    >>> threads_or_default(3), threads_or_default(None)
    (3, 0)
    """
    return 0 if threads is None else _checked(threads, "threads")


def default_address() -> int:
    """Where the default lies in memory, 8 bytes, for machine code to read."""
    get_threads()
    return ctypes.addressof(_default)


def available_processors() -> int:
    """Processors that this process may run on.

    >>> available_processors() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _from_environment() -> int:
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return 1
    if text == ALL:
        return _checked(ALL, VARIABLE)
    try:
        number: Any = int(text)
    except ValueError:
        number = text
    return _checked(number, VARIABLE)


def _checked(threads: Any, what: str) -> int:
    if isinstance(threads, str) and threads == ALL:
        return min(available_processors(), MOST)
    if type(threads) is not int or not 1 <= threads <= MOST:
        raise InputError(
            f"{what}: expected a whole number from 1 to {MOST}, or {ALL!r} for as many as there "
            f"are processors, got {threads!r}"
        )
    return threads
