"""The spaces that operators map between, and the direction in which they work."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from phipsi.errors import InputError, name_choices


@dataclass(frozen=True)
class Space:
    """A space of stacked blocks; how large each block is belongs to the machine."""

    name: str
    blocks: str  # what one block belongs to

    def __str__(self) -> str:
        return f"{self.name} space"

    def __reduce__(self) -> tuple:
        return as_space, (self.name,)  # one object each, also after pickling


BODY = Space("body", "a body: its spatial velocity, acceleration or force")
JOINT = Space("joint", "a joint: its speeds, accelerations or forces")
POINTS = Space("point", "a point on a body")
BASE = Space("base", "the world, on which the roots hang")
COORDINATES = Space("coordinate", "the independent coordinates, mimic joints left out")
POSE = Space("pose", "a body: where it stands in the world")
SCALAR = Space("scalar", "one number")

SPACES = {space.name: space for space in (BODY, JOINT, POINTS, BASE, COORDINATES, POSE, SCALAR)}


def as_space(space: Space | str) -> Space:
    """A space by itself or by its name."""
    name = space.name if isinstance(space, Space) else space
    if not isinstance(name, str) or name not in SPACES:
        raise InputError(f"no space {name!r}; {name_choices(str(name), SPACES)}")
    return SPACES[name]


def are_paired(source: Space | None, target: Space | None) -> bool:
    """Whether the blocks of both stand opposite each other: joint k carries body k."""
    return source is target or {source, target} == {BODY, JOINT}


class Causality(Enum):
    """The direction in which an operator carries its argument [003 sec. 2].

    Block (i, k) of a memoryless operator vanishes unless i = k; of a causal
    one (tip_to_base) unless i is inboard of or equal to k; of an anticausal
    one (base_to_tip) unless i is outboard of or equal to k. A joint stands
    with the body it carries, a point with the body it is on, the base inboard
    of all. A vector, which has no k, takes it from the operators it is made of.
    """

    MEMORYLESS = "memoryless"
    CAUSAL = "causal"
    ANTICAUSAL = "anticausal"
    MIXED = "mixed"

    def __or__(self, other: Causality) -> Causality:
        """The causality of a sum or a product."""
        if self is other or other is Causality.MEMORYLESS:
            return self
        return other if self is Causality.MEMORYLESS else Causality.MIXED

    @property
    def T(self) -> Causality:
        """The causality of the transpose."""
        swap = {Causality.CAUSAL: Causality.ANTICAUSAL, Causality.ANTICAUSAL: Causality.CAUSAL}
        return swap.get(self, self)
