"""Masked arrays of NumPy are no numbers: where they are masked, there is none.

NumPy itself drops the mask of what is made an array, and goes on with whatever lies below.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from types import NoneType

import numpy as np

from phipsi.errors import InputError, PhipsiError

# What sequences of numbers are made of, if not of further sequences: looked at no further.
_PLAIN = {bool, int, float, complex, str, NoneType, np.ndarray, np.float64, np.float32, np.int64}


def refuse_masked(name: str, value: object, error: type[PhipsiError] = InputError) -> None:
    """The error for what is a masked array, or holds one.

    >>> refuse_masked("q", [np.ma.masked_invalid([0.1, np.nan])])
    Traceback (most recent call last):
        ...
    phipsi.errors.InputError: q: expected numbers, got a masked array; pass one that is filled
    """
    if "numpy.ma" in sys.modules and holds_masked((value,)):
        raise error(f"{name}: expected numbers, got a masked array; pass one that is filled")


def holds_masked(values: Iterable[object]) -> bool:
    """Whether one of them is a masked array, or a sequence with one in it, at any depth."""
    if "numpy.ma" not in sys.modules:  # loaded where there are masked arrays, seldom elsewhere
        return False
    for value in values:
        if type(value) in _PLAIN:  # in a sixth of the time
            continue
        if isinstance(value, (list, tuple)) and _PLAIN.issuperset(map(type, value)):
            continue
        if _is_hidden_in(value):
            return True
    return False


def _is_hidden_in(value: object) -> bool:
    masked = sys.modules["numpy.ma"].MaskedArray
    waiting: list[object] = [value]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if isinstance(one, masked):
            return True
        if isinstance(one, Sequence) and not isinstance(one, (str, bytes)) and id(one) not in seen:
            seen.add(id(one))  # a list may hold itself
            if not _PLAIN.issuperset(map(type, one)):
                waiting += one
    return False
