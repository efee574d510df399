"""What a trajectory is given, checked and frozen."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phipsi.cleaning import is_unwritable, refuse_unwritable
from phipsi.errors import InputError
from phipsi.masks import refuse_masked
from phipsi.simulate.labels import TAKEN

About = Mapping[str, str | int | float | bool]


def real_numbers(name: str, value: ArrayLike) -> np.ndarray:
    """A read-only array of real numbers in double precision, or InputError."""
    refuse_masked(name, value)
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise TypeError
    except (TypeError, ValueError):  # ValueError: rows of unequal length
        raise InputError(f"{name}: expected real numbers, got {reprlib.repr(value)}") from None
    if array.dtype != np.float64 or array.flags.writeable:
        array = np.array(array, dtype=np.float64)
    return frozen(array)


def states(name: str, value: ArrayLike, samples: int, size: int, reason: str) -> np.ndarray:
    """A read-only array (*batch, samples, size), or InputError."""
    array = real_numbers(name, value)
    if array.shape[-2:] != (samples, size):
        raise InputError(
            f"{name} has shape {array.shape}; expected (*batch, {samples}, {size}), "
            f"the number of times being {samples} and {reason} {size}"
        )
    return array


def checked_about(about: Any) -> About:
    """A read-only copy of what a trajectory says about itself, fit for every kind of file."""
    if not isinstance(about, Mapping):
        raise InputError(f"about is {about!r}; expected a dict of texts and numbers")
    found = {}
    for name, value in about.items():
        value = value.item() if isinstance(value, np.generic) else value
        if not isinstance(name, str) or not name or name in TAKEN:
            taken = ", ".join(map(repr, TAKEN))
            raise InputError(f"about: {name!r} is no name here; expected a text, not {taken}")
        refuse_unwritable("about", name, InputError)
        if not isinstance(value, (str, int, float)) or (
            isinstance(value, int) and abs(value) >= 2**63
        ):
            raise InputError(
                f"about[{name!r}] is {value!r}; expected a text or a number below 2**63"
            )
        if isinstance(value, str) and is_unwritable(value):
            raise InputError(
                f"about[{name!r}] is {value!r}; expected a text without NUL and halves of letters"
            )
        found[name] = value
    return MappingProxyType(found)


def frozen(array: np.ndarray) -> np.ndarray:
    """The array itself, from now on read-only."""
    array.flags.writeable = False
    return array
