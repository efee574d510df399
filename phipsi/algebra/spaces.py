"""The spaces that operators map between, and the direction in which they work."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from numbers import Integral

from phipsi.cleaning import quoted, visible
from phipsi.errors import InputError, name_choices


@dataclass(frozen=True)
class Space:
    """A space of stacked blocks; how large each block is belongs to the machine.

    A space of the user's has a fixed `size`: one block of so many numbers for the whole
    machine. Made by `own_space`.
    """

    name: str
    blocks: str  # what one block belongs to
    size: int | None = None  # of the one block of a user's own

    @property
    def is_own(self) -> bool:
        """Whether the space is the user's own."""
        return self.size is not None

    def __str__(self) -> str:
        return f"{self.name} space" + (f" of size {self.size}" if self.is_own else "")

    def __reduce__(self) -> tuple:  # one object each, also after pickling
        return (own_space, (self.name, self.size)) if self.is_own else (as_space, (self.name,))


BODY = Space("body", "a body: its spatial velocity, acceleration or force")
JOINT = Space("joint", "a joint: its speeds, accelerations or forces")
POINTS = Space("point", "a point on a body")
BASE = Space("base", "the world, on which the roots hang")
COORDINATES = Space("coordinate", "the independent coordinates, mimic joints left out")
POSE = Space("pose", "a body: where it stands in the world")
SCALAR = Space("scalar", "one number")

SPACES = {space.name: space for space in (BODY, JOINT, POINTS, BASE, COORDINATES, POSE, SCALAR)}


_OWN: dict[tuple[str, int], Space] = {}


def own_space(name: str, size: int) -> Space:
    """A space of the user's: one block of `size` numbers for the whole machine.

    The same name and size are the same space. Its operators are dense matrices: those between
    it and another space take all blocks of that one at once.

    Args:
        name: for messages; an identifier that no other space has.
        size: how many numbers a vector has.

    Returns:
        The space, for `vector` and `operator`.

    >>> own_space("loop", 5)
    Space(name='loop', blocks='the whole machine', size=5)
    >>> print(own_space("loop", 5))
    loop space of size 5
    """
    if not isinstance(name, str) or not name.isidentifier() or visible(name) != name:
        raise InputError(f"a space needs a name that is an identifier, got {quoted(name)}")
    if name in SPACES:
        raise InputError(f"the name {name!r} is a space of the algebra; choose another one")
    if not isinstance(size, Integral) or isinstance(size, bool) or size < 1:
        raise InputError(f"the space {name!r} needs a size of 1 or more, got {size!r}")
    key = name, int(size)
    return _OWN.setdefault(key, Space(name, "the whole machine", int(size)))


def as_space(space: Space | str) -> Space:
    """A space by itself or by its name."""
    if isinstance(space, Space) and space.size is not None:
        return own_space(space.name, space.size)
    name = space.name if isinstance(space, Space) else space
    if not isinstance(name, str) or name not in SPACES:
        raise InputError(f"no space {name!r}; {name_choices(str(name), SPACES)}")
    return SPACES[name]


def are_paired(source: Space | None, target: Space | None) -> bool:
    """Whether the blocks of both stand opposite each other: joint k carries body k."""
    return source is target or {source, target} == {BODY, JOINT}


def is_dense(source: Space, target: Space) -> bool:
    """Whether a user's operator between these is one matrix, not a list of blocks."""
    return (source.is_own or target.is_own) and SCALAR not in (source, target)


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


def as_causality(causality: Causality | str) -> Causality:
    """A causality by itself or by its name.

    >>> as_causality("causal").T
    <Causality.ANTICAUSAL: 'anticausal'>
    """
    if isinstance(causality, Causality):
        return causality
    names = [x.value for x in Causality]
    if causality not in names:
        raise InputError(f"no causality {causality!r}; {name_choices(str(causality), names)}")
    return Causality(causality)
