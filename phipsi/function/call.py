"""How a function is compiled, and one call of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

LANES = {"double": (1, 2, 4, 8), "float": (1, 2, 4, 8, 16)}  # states side by side

Lists = Mapping[tuple, Sequence[Any]]  # of points: those that letters name, and those passed
Bodies = dict[tuple, list[int]]  # of each list of points, the bodies that they are on


@dataclass(frozen=True)
class Options:
    """How a function is compiled.

    Args:
        backend: "llvm" or "numpy".
        unroll: whether loops are unrolled; None to decide by size.
        lanes: states side by side; None for as many as registers hold.
        real: what numbers are, "double" or "float".
        threads: that batches are shared among; None for the package's default.
        make_code: what makes machine code of a computation, as `phipsi.compile.make_code` does;
            None with the interpreter alone.
        is_watched: whether somebody looks at its checks.
    """

    backend: str = "numpy"
    unroll: bool | None = None
    lanes: int | None = None
    real: str = "double"
    threads: int | str | None = None
    make_code: Callable | None = None
    is_watched: bool = True


@dataclass(frozen=True)
class Call:
    """Arguments that were looked at.

    Args:
        batch: their common one.
        is_complex: whether some are complex, or long doubles: only the interpreter takes them.
        points: the lists of points.
        packed: makes the arguments of machine code of them.
        exact: computes the results by the interpreter; SolveError where there are none.
        at: makes the same call of some states alone, by their numbers in the flattened batch.
    """

    batch: tuple[int, ...]
    is_complex: bool
    points: Lists
    packed: Callable[[], list[np.ndarray]]
    exact: Callable[[], Sequence[np.ndarray]]
    at: Callable[[np.ndarray], Call]
