"""Masked arrays of NumPy are no numbers: where they are masked, there is none.

NumPy itself drops the mask of what is made an array, and goes on with whatever lies below.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import NoneType

import numpy as np

from phipsi.errors import InputError, PhipsiError

FILLED = "pass what .filled(...) makes of it"

# What sequences of numbers are made of, if not of further sequences: looked at no further.
_PLAIN = {bool, int, float, complex, str, NoneType, np.ndarray, np.float64, np.float32, np.int64}


def refuse_masked(name: str, value: object, error: type[PhipsiError] = InputError) -> None:
    """The error for what is a masked array, or holds one.

    >>> refuse_masked("q", [np.ma.masked_invalid([0.1, np.nan])])
    Traceback (most recent call last):
        ...
    phipsi.errors.InputError: q: expected numbers, got a masked array; pass what .filled(...) makes of it
    """
    if holds_masked(value):
        raise error(f"{name}: expected numbers, got a masked array; {FILLED}")


def holds_masked(*values: object) -> bool:
    """Whether something is a masked array, or a sequence with one in it, at any depth."""
    ma = sys.modules.get("numpy.ma")  # loaded where there are masked arrays, seldom elsewhere
    if ma is None:
        return False
    waiting, seen = list(values), set()
    while waiting:
        one = waiting.pop()
        if isinstance(one, ma.MaskedArray):
            return True
        if isinstance(one, Sequence) and not isinstance(one, (str, bytes)) and id(one) not in seen:
            seen.add(id(one))
            if not _PLAIN.issuperset(map(type, one)):
                waiting += one
    return False
