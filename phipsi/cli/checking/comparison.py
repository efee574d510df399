"""Two answers to one question: how far they are apart, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

TOLERANCE = 1e-9  # of the largest entry of a state, within which two answers are the same
ROUNDOFF = 100.0 * np.finfo(float).eps  # that a linear system makes larger by its condition


@dataclass(frozen=True)
class Comparison:
    """How far two answers are apart.

    Args:
        quantity: what was asked.
        difference: the largest one, relative to the largest entry of its state; None if
            nothing was compared.
        names: of the joints or bodies that it is at.
        state: that it is in; None if it is in none.
        allowed: what two right answers may be apart.
        reason: why nothing was compared; or what else there is to say.
    """

    quantity: str
    difference: float | None
    names: tuple[str, ...] = ()
    state: int | None = None
    allowed: float = TOLERANCE
    reason: str = ""

    @property
    def differs(self) -> bool:
        """Whether the two cannot both be right; what is no number never is."""
        return self.difference is not None and not self.difference <= self.allowed

    @property
    def where(self) -> str:
        """The joint or body, and the state."""
        names = " and ".join(self.names)
        state = "" if self.state is None else f"state {self.state}"
        return ", ".join(part for part in (names, state) if part)

    @property
    def spoken(self) -> str:
        """The difference in few digits."""
        return f"{self.difference:.0e}" if self.difference else "0"

    def as_json(self) -> dict[str, Any]:
        """For programs; a difference that is no number is null, and the verdict tells."""
        known = self.difference is not None and np.isfinite(self.difference)
        verdict = "not compared" if self.difference is None else "differs"
        return {
            "quantity": self.quantity,
            "verdict": verdict if self.difference is None or self.differs else "agrees",
            "difference": self.difference if known else None,
            "allowed": self.allowed,
            "names": list(self.names),
            "state": self.state,
            "reason": self.reason or None,
        }


def compare(
    quantity: str,
    ours: np.ndarray,
    theirs: np.ndarray,
    names: Sequence[Sequence[str]] = (),
    *,
    scale: np.ndarray | float = 0.0,
    allowed: np.ndarray | float = TOLERANCE,
) -> Comparison:
    """The worst difference of two arrays.

    Args:
        quantity: what they are.
        ours: (states, ...).
        theirs: the same, by someone else, or by another formula.
        names: of the entries along the axes after the first, as far as they have any.
        scale: what a difference is relative to, at least; one number, or one per state.
        allowed: what two right answers may be apart; one number, or one per state.

    >>> found = compare("force", np.array([[1.0, 2.0]]), np.array([[1.0, 2.5]]), [["hip", "knee"]])
    >>> found.difference, found.where, found.differs
    (0.2, 'knee, state 0', True)
    """
    entries = tuple(range(1, ours.ndim))
    size = np.maximum(np.abs(ours), np.abs(theirs)).max(axis=entries, initial=0.0)
    size = np.maximum(size, scale)
    size[(size == 0.0) | ~np.isfinite(size)] = 1.0
    with np.errstate(invalid="ignore"):  # infinity from infinity differs
        apart = np.abs(theirs - ours) / size.reshape(-1, *[1] * len(entries))
    if not apart.size:
        return Comparison(quantity, 0.0)
    bound = np.broadcast_to(allowed, apart.shape[:1])
    excess = apart / bound.reshape(-1, *[1] * len(entries))
    place = np.unravel_index(np.argmax(excess), excess.shape)  # the first NaN, if there are any
    if not np.isnan(excess[place]) and excess[place] <= 1.0:
        place = np.unravel_index(np.argmax(apart), apart.shape)
    spoken = [name[int(i)] for name, i in zip(names, place[1:], strict=False)]
    state = int(place[0])
    found = float(apart[place])
    return Comparison(quantity, found, tuple(dict.fromkeys(spoken)), state, float(bound[state]))


def skipped(quantity: str, reason: str) -> Comparison:
    """What was not compared, and why not."""
    return Comparison(quantity, None, reason=reason)
