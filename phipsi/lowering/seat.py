"""A body where a statement runs, and the register of what statements can do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from phipsi.lowering.letters import joint_axis
from phipsi.lowering.links import Link
from phipsi.model.model import Joint, Model
from phipsi.model.tree import WORLD

STEPS: dict[str, Callable] = {}


@dataclass(slots=True)
class Seat:
    """A body where a statement runs.

    Args:
        k: the number of the body.
        link: the body and its joint in private frames.
        joint: the joint of the model, for its slices and names.
        model: the machine.
        points: of each list of points, those on this body.
        watch: called with what must not vanish; None where numbers have no values.
        axes: of a body of which only the form is known: which of its speeds a letter names,
            by the letter's arguments.
    """

    k: int
    link: Link
    joint: Joint
    model: Model
    watch: Callable | None = None
    points: dict[tuple, list] = field(default_factory=dict)
    axes: Mapping[tuple, int] | None = None

    @property
    def is_root(self) -> bool:
        """Whether the body hangs on the world."""
        return self.link.parent == WORLD

    def own_axis(self, joint_and_axis: tuple) -> int | None:
        """Which speed of this body's joint the arguments of a letter name; None if another's."""
        if self.axes is not None:
            return self.axes.get(joint_and_axis)
        i, axis = joint_axis(self.model, *joint_and_axis)
        return axis if i == self.k else None


def step(function: Callable) -> Callable:
    """Register a step by its name."""
    STEPS[function.__name__.rstrip("_")] = function
    return function
