"""Everything phipsi raises on a user's mistake.

    PhipsiError
    |-- InputError      wrong shape, NaN, unknown name (also a ValueError)
    |-- ModelError      a machine that cannot exist, a file that cannot be read, a loop that a
    |                   function cannot honour
    |-- SpaceError      operators that do not fit together
    |-- LoweringError   an expression with no O(N) algorithm
    |-- BackendError    what a backend cannot do, or not here
    `-- SolveError      a singular machine: a pivot D that vanishes

And one warning, a RuntimeWarning:

    SlowPathWarning     a function that was to be machine code, and is evaluated by NumPy

A message says what failed, on what, what was expected, and what to do. An
`assert` in the code marks our own bug, never a user's mistake.
"""

import sys
from collections.abc import Iterable
from difflib import get_close_matches
from os import sep
from os.path import abspath, dirname
from warnings import warn

from phipsi.cleaning import visible_lines


class PhipsiError(Exception):
    """Base of every error that phipsi raises on purpose."""


class InputError(PhipsiError, ValueError):
    """An argument of wrong shape, type or value, or an unknown name."""


class ModelError(PhipsiError):
    """A machine that cannot exist, a file that does not describe one, loops not honoured."""


class SpaceError(PhipsiError):
    """Operators whose spaces do not fit together."""


class LoweringError(PhipsiError):
    """An expression that has no O(N) algorithm."""


class BackendError(PhipsiError):
    """What machine code or another package cannot do: too long, too large, not there."""


class SolveError(PhipsiError):
    """A singular machine or closure: no unique solution exists."""


class SlowPathWarning(RuntimeWarning):
    """A function that was to be machine code is evaluated by NumPy, and why; once for each."""


HOME = dirname(abspath(__file__))  # of the package


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line outside of phipsi that has led here."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(HOME + sep):
        frame, level = frame.f_back, level + 1
    warn(visible_lines(message), category, stacklevel=level)


def array_count_problem(expected: int, given: int) -> str:
    """What is wrong with so many arrays for results.

    >>> array_count_problem(1, 3)
    'out: expected 1 array, got 3'
    >>> array_count_problem(2, 1)
    'out: expected 2 arrays, one for each output, got 1'
    """
    arrays = "1 array" if expected == 1 else f"{expected} arrays, one for each output"
    return f"out: expected {arrays}, got {given}"


LONGEST_NAME = 150  # characters, of names that are compared and shown: files have any
MOST_NAMES = 10_000  # that are compared, a quarter of a second


def name_choices(wrong: str, valid: Iterable[str], limit: int = 12) -> str:
    """The end of a sentence that lists the valid names, the nearest one first.

    >>> name_choices("Elbw", ["shoulder", "elbow"])
    "did you mean 'elbow'? Valid names: 'shoulder', 'elbow'"
    >>> name_choices("knee", ["shoulder", "elbow"])
    "valid names: 'shoulder', 'elbow'"
    """
    wrong, names = wrong[:LONGEST_NAME], [name[:LONGEST_NAME] for name in valid]
    shown = ", ".join(repr(name) for name in names[:limit]) or "(none)"
    if len(names) > limit:
        shown += f", ... ({len(names)} in all)"
    by_fold = {name.casefold(): name for name in reversed(names[:MOST_NAMES])}
    near = get_close_matches(wrong.casefold(), by_fold, n=1)
    if not near:
        return f"valid names: {shown}"
    return f"did you mean {by_fold[near[0]]!r}? Valid names: {shown}"
