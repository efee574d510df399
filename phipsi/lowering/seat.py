"""A body where a statement runs, and the register of what statements can do.

Every step is registered with its formula, as the algebra writes it, where it is defined:
`@step("P @ L_star @ factor.inv")`. Names of the step's own arguments stand for what it is
given, all others for letters. Programs are printed by these formulas, slots keep what they
are the value of by them, and explanations say them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import CodeType
from typing import Any

from phipsi.lowering.inputs import joint_axis
from phipsi.lowering.links import Link
from phipsi.model.model import Joint, Model
from phipsi.model.tree import WORLD


@dataclass(frozen=True)
class StepFormula:
    """What a step computes, as an expression of the algebra; "" where the algebra has none.

    Args:
        text: of the names below, and of letters: `A.T @ x`.
        names: of the arguments and options of the step, in order; `*name` takes all the rest.
    """

    text: str
    names: tuple[str, ...]

    @cached_property
    def _code(self) -> CodeType:
        return compile(self.text, f"<{self.text}>", "eval")

    def bind(self, values: Sequence[Any]) -> dict[str, Any]:
        """The arguments and options of a statement, by name."""
        bound = dict(zip(self.names, values, strict=False))
        if self.names and self.names[-1].startswith("*"):
            bound[self.names[-1][1:]] = tuple(values[len(self.names) - 1 :])
        return bound

    def evaluate(self, names: Mapping[str, Any]) -> Any:
        """The formula, of whatever its names stand for: expressions, or formulas of one body."""
        return eval(self._code, {"__builtins__": {}}, dict(names))

    def holds(self, arguments: int) -> int | None:
        """Which of its arguments a step only holds in another form; None if it does more."""
        held = self.names.index(self.text) if self.text in self.names else arguments
        return held if held < arguments else None

    def count(self, argument: int) -> int:
        """How often an argument is mentioned."""
        if argument >= len(self.names):
            return 0
        name = self.names[argument].removeprefix("*")
        return len(re.findall(rf"\b{name}\b", self.text))


STEPS: dict[str, Callable] = {}
FORMULAS: dict[str, StepFormula] = {}


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


def step(formula: str) -> Callable[[Callable], Callable]:
    """Register a step by its name, with its formula."""

    def register(function: Callable) -> Callable:
        name = function.__name__.rstrip("_")
        STEPS[name] = function
        _, *parameters = inspect.signature(function).parameters.values()  # without the seat
        FORMULAS[name] = StepFormula(formula, tuple(map(_spelled, parameters)))
        return function

    return register


def _spelled(parameter: inspect.Parameter) -> str:
    takes_all = parameter.kind is inspect.Parameter.VAR_POSITIONAL
    return f"*{parameter.name}" if takes_all else parameter.name
