"""What every contender offers: something to time, and an answer to check before it is timed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

TOLERANCE = 1e-9

# The contenders, as columns are headed.
OURS = "phipsi"
CHECKED = "pp function"
IN_PLACE = "in place"
CALL = "Pinocchio call"
BATCH = "Pinocchio C++ batch"
CASADI = "CasADi C"
MUJOCO = "MuJoCo"
LAST = "last kept"  # of rollouts


@dataclass(frozen=True)
class Trial:
    """A contender on the first states of a robot.

    Args:
        run: what is timed.
        answer: runs once; the results in our coordinates, a row (or matrix) per state.
        count: how many states one run does.
    """

    run: Callable[[], object]
    answer: Callable[[], np.ndarray]
    count: int


class Contender(Protocol):
    """One way to carry out a task on a robot, prepared once for all batches."""

    @property
    def name(self) -> str: ...

    def on(self, count: int, out: np.ndarray) -> Trial:
        """The trial on the first states; `out` is room for results, shared by all."""
        ...


class DisagreementError(Exception):
    """Two contenders differ: nothing may be timed."""


def check_agreement(
    what: str, trials: Mapping[str, Trial], reference: str, out: np.ndarray
) -> None:
    """DisagreementError unless all answers are those of the reference.

    Each entry may be off by 1e-9 of the largest entry of its state.

    Args:
        what: is asked.
        trials: whose answers are compared.
        reference: the name of one that answers in an array of its own.
        out: where others answer; nobody finds there what another one has left.
    """
    expected = trials[reference].answer()
    for name, trial in trials.items():
        out.fill(np.nan)
        found = trial.answer()
        if found.shape != expected[: trial.count].shape:
            raise DisagreementError(f"{what}: {name} gives {found.shape}, not {expected.shape}")
        error = relative_error(found, expected[: trial.count])
        if not error < TOLERANCE:  # nor is NaN
            raise DisagreementError(f"{what}: {name} is off by {error:.1e} from {reference}")


def relative_error(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, relative to the largest entry of its state."""
    entries = tuple(range(1, expected.ndim))
    differences = np.abs(found - expected).max(axis=entries)
    return float((differences / np.abs(expected).max(axis=entries)).max())


def first(states: Mapping[str, np.ndarray], names: Sequence[str], count: int) -> list[np.ndarray]:
    """Of the named arrays the first rows."""
    return [states[name][:count] for name in names]
