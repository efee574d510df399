"""A bar that a run must clear."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bar:
    """A number that must be at least, or at most, as large as a bound.

    Args:
        what: is measured.
        measured: None where the run left it out.
        bound: to clear.
        aim: what would be better still.
        at_most: whether less is better.
        unit: follows the numbers.
    """

    what: str
    measured: float | None
    bound: float
    aim: float | None = None
    at_most: bool = False
    unit: str = "×"

    @property
    def verdict(self) -> str:
        """Met, not met, or not measured."""
        if self.measured is None:
            return "not measured"
        met = self.measured <= self.bound if self.at_most else self.measured >= self.bound
        return "met" if met else "not met"
