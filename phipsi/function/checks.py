"""What a user asks for, checked: machines, backends, numbers, lanes, threads."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from phipsi.backends.parallel.workers import threads_or_default
from phipsi.backends.real import REALS
from phipsi.errors import InputError, name_choices
from phipsi.function.call import LANES, Options
from phipsi.model.model import Model

BACKENDS = ("llvm", "numpy")
PEERS = ("pinocchio", "mujoco")  # packages with models of their own, which can be taken over
DEFAULT = os.environ.get("PHIPSI_BACKEND", "llvm")


def check_model(model: Model) -> None:
    """InputError for what is no machine."""
    if not isinstance(model, Model):
        package, name = type(model).__module__.partition(".")[0], type(model).__name__
        if package in PEERS:
            name = f"{package}'s {name}; pp.from_{package}(model) takes it over"
        raise InputError(f"model: expected a Model, got {name}")


def check_backend(backend: str | None) -> str:
    """The name of a backend; InputError for one that does not exist."""
    name = DEFAULT if backend is None else backend
    if not isinstance(name, str) or name not in BACKENDS:
        raise InputError(f"backend: unknown {name!r}; {name_choices(str(name), BACKENDS)}")
    return name


def check_dtype(dtype: Any) -> str:
    """What numbers are in machine code, "double" or "float"; InputError for other kinds.

    None is refused: NumPy takes it for float, and it may stand for anything.
    """
    if dtype is not None:
        with suppress(TypeError, ValueError, SyntaxError):  # NumPy raises all three
            found = np.dtype(dtype)
            for real in REALS.values():
                if found == real.dtype:
                    return real.name
    raise InputError(f"dtype: expected float or numpy.float32, got {dtype!r}")


def check_options(
    backend: str | None,
    unroll: bool | None,
    lanes: int | None,
    dtype: Any,
    threads: int | str | None,
    make_code: Callable,
) -> Options:
    """How a function is compiled, and by what; InputError for what cannot be."""
    name, real = check_backend(backend), check_dtype(dtype)
    widths = LANES[real]
    if lanes is not None and (type(lanes) is not int or lanes not in widths):
        raise InputError(f"lanes: expected one of {', '.join(map(str, widths))}, got {lanes!r}")
    threads_or_default(threads)
    if unroll is not None and type(unroll) is not bool:
        raise InputError(f"unroll: expected True, False or None, got {unroll!r}")
    return Options(name, unroll, lanes, real, threads, make_code)
