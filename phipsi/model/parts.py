"""What a builder has collected, by name, and how it speaks of a fault in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from phipsi.errors import ModelError
from phipsi.model.geometry import Visual
from phipsi.model.inertia import Inertia, Placement, Vector3
from phipsi.model.joints import JointKind
from phipsi.model.link import Dependence, Link
from phipsi.model.report import Place, Remark, Report

# Of what is told of a body.
Part = Literal["body", "inertia", "joint", "kind", "limits", "dynamics", "mimic", "closure"]
Where = Callable[[str, Part], Place | None]

Values = Mapping[str, Sequence[float]]  # of each joint, by name


def nowhere(body: str, part: Part) -> Place | None:
    """The place of what was given in Python."""
    return None


class End(NamedTuple):
    """One end of a closure: what it is said to be on, and the body or frame that has it."""

    link: str
    on: str
    placement: Placement


class Loop(NamedTuple):
    """A closure, its ends by name."""

    joint: JointKind
    first: End
    second: End


@dataclass
class Parts:
    """What a builder has collected; nothing refers to a number yet."""

    name: str
    gravity: Vector3
    strict: bool
    where: Where
    links: dict[str, Link] = field(default_factory=dict)
    joints: dict[str, str] = field(default_factory=dict)  # and the body that each carries
    frames: dict[str, tuple[str, Placement]] = field(default_factory=dict)
    ballast: list[tuple[str, Inertia]] = field(default_factory=list)  # more mass of a body
    visuals: list[tuple[str, Visual]] = field(default_factory=list)  # and what each is on
    collisions: list[tuple[str, Visual]] = field(default_factory=list)
    closures: dict[str, Loop] = field(default_factory=dict)
    couplings: dict[str, Dependence] = field(default_factory=dict)
    keyframes: dict[str, tuple[Values, Values]] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)  # of the machines in it
    told: set[str] = field(default_factory=set)  # bodies whose faults are in those reports

    def refusal(self, name: str, part: Part, text: str, what: str = "body") -> ModelError:
        """The error about a body: where it stands, its name, the text."""
        place = self.where(name, part)
        front = f"{place[0]}:{place[1]}: " if place else ""
        return ModelError(f"{front}{what} {name!r}: {text}")

    def keep(self, name: str, part: Part, fault: str, remedy: str) -> Remark:
        """The line of the report about a fault; refused when strict."""
        if self.strict:
            raise self.refusal(name, part, f"{fault}; {remedy}, or keep it with strict=False")
        return Remark("implausible", f"body {name!r}: {fault}", self.where(name, part))
