"""What a joint of SDF is in the machine: one joint, or two of one coordinate each.

A joint of the machine has one set of limits, one damping, one spring. Where the
coordinates of a joint of the file have their own, or one of them follows
another joint, each is a joint of its own, with a body without mass between.
"""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Any

from phipsi.model.files.sdf.axis import ACTING, ENDS, INITIAL, MOST, NEUTRAL, REST, Axis
from phipsi.model.files.sdf.joint import JointPart, backwards
from phipsi.model.files.xmlfile import Element
from phipsi.model.joints import Continuous, Cylindrical, JointKind, Prismatic, Revolute, Universal
from phipsi.model.model import Limits
from phipsi.model.names import unused

_COMMON = (*ENDS, *MOST, *ACTING)  # what the coordinates of one joint share


@dataclass(frozen=True, slots=True)
class Piece:
    """A joint of the machine.

    Args:
        name: of it.
        kind: what it allows.
        axes: of each coordinate, what the file says of it; None for nothing.
    """

    name: str
    kind: JointKind
    axes: tuple[Axis | None, ...]

    @property
    def element(self) -> Element | None:
        """The <axis> that tells of it first."""
        return next((axis.element for axis in self.axes if axis is not None), None)

    def options(self) -> dict[str, Any]:
        """What acts in it, as the builder takes it."""
        axes = [axis for axis in self.axes if axis is not None]
        if not axes:
            return {}

        def take(tag: str) -> float:  # in which they are alike
            values = [axis.take(tag) for axis in axes]
            return values[-1]

        endless = isinstance(self.kind, Continuous)
        lower, upper = (-math.inf, math.inf) if endless else (take("lower"), take("upper"))
        rest = self._each(REST)
        return {
            "limits": Limits(lower, upper, take("velocity"), take("effort")),
            "damping": take("damping"),
            "friction": take("friction"),
            "stiffness": take("spring_stiffness"),
            "rest": rest if any(rest) else None,
        }

    def start(self) -> tuple[float, ...]:
        """Its coordinates where the file has it start."""
        return self._each(INITIAL)

    def _each(self, tag: str) -> tuple[float, ...]:
        return tuple(0.0 if axis is None else axis.take(tag) for axis in self.axes)


def pieces_of(
    joint: JointPart, is_backwards: bool, coupled: Container[str], taken: set[str]
) -> tuple[Piece, ...]:
    """The joints of the machine that a joint of the file becomes, from what carries it on.

    Args:
        joint: of the file.
        is_backwards: whether it carries its parent.
        coupled: the names of joints of the file that follow others, or lead.
        taken: the names of joints; new ones are added.
    """
    kind = joint.kind
    assert kind is not None
    name, axes = joint.name, tuple(joint.axes)
    if isinstance(kind, Cylindrical):  # q is the turn, then the way: what the file tells of is that
        pieces = [Piece(name, kind, (None, *axes))]
        if name in coupled or any(axes[0].get(tag) != NEUTRAL[tag] for tag in _COMMON):
            turn = unused(f"{name}@turn", taken)
            pieces = [
                Piece(turn, Revolute(kind.axis), (None,)),
                Piece(name, Prismatic(kind.axis), axes),
            ]
    elif isinstance(kind, Universal):
        pieces = [Piece(name, kind, axes[::-1] if is_backwards else axes)]
        if name in coupled or any(axes[0].get(tag) != axes[1].get(tag) for tag in _COMMON):
            second = unused(f"{name}@axis2", taken)
            pieces = [
                Piece(name, Revolute(kind.first), axes[:1]),
                Piece(second, Revolute(kind.second), axes[1:]),
            ]
            pieces = pieces[::-1] if is_backwards else pieces
    else:
        pieces = [Piece(name, kind, axes)]
    taken.update(piece.name for piece in pieces)
    problem = kind.problem() if len(pieces) > 1 else None
    if problem is not None:  # which each by itself may not have
        raise joint.axes[0].element.error(f"joint {name!r}: {problem}")
    if is_backwards:
        pieces = [replace(piece, kind=backwards(piece.kind)) for piece in pieces]
    return tuple(pieces)
