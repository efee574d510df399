"""A machine ready to run programs, and what a program is run on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Sized
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from phipsi.algebra.node import Symbol
from phipsi.algebra.spaces import BASE, BODY, COORDINATES, JOINT, POINTS, POSE, SCALAR, Space
from phipsi.lowering import blocks
from phipsi.lowering.cancellation import weigh
from phipsi.lowering.frames import private_frames
from phipsi.lowering.inputs import PLACE, SPATIAL
from phipsi.lowering.links import Link
from phipsi.lowering.parameters import Parameters
from phipsi.lowering.program import Columns, Shape, Size
from phipsi.lowering.seat import Seat
from phipsi.lowering.walks import Walk
from phipsi.model.model import Model
from phipsi.model.tree import WORLD
from phipsi.scalars import Scalar

Block = Any  # a flat list of scalars, or a list of rows
Located = list[tuple[int, Sequence[Scalar]]]  # of each point its body, and its position there


@dataclass(frozen=True)
class Values:
    """What a program is run on, in scalars.

    Args:
        q, v: the state; v is None where no speed appears.
        given: of each free letter a flat list, of an operator one matrix per body.
        points: of each list of points (the arguments of a letter), where they are.
        parameters: of each parameter of the machine its entries, row by row.
    """

    q: Sequence[Scalar]
    v: Sequence[Scalar] | None
    given: dict[Symbol, Any]
    points: dict[tuple, Located]
    parameters: Mapping[str, Sequence[Scalar]] = field(default_factory=dict)


class Places(ABC):
    """Sizes and places of the blocks of a machine, as statements ask for them."""

    model: Any  # gravity, and how many speeds there are

    @abstractmethod
    def rows(self, seat: Seat, space: Size) -> range:
        """Where a body's block stands in a space."""

    @abstractmethod
    def ratio(self, space: Space, k: int) -> Scalar:
        """How fast joint k turns with its independent coordinate."""

    @abstractmethod
    def whole_size(self, space: Any, points: Sized) -> int:
        """Of a whole space; of point space at these points."""

    def zeros(self, shape: Shape, seat: Seat, whole: bool = False) -> Block:
        """A block that nothing was added to, of a body or of the whole machine."""
        sides = [self._side(x, seat, whole) for x in (shape.rows, shape.columns) if x is not None]
        return blocks.zeros(*sides) if len(sides) == 1 else blocks.zero_matrix(*sides)

    def _side(self, space: Any, seat: Seat, whole: bool) -> int:
        if isinstance(space, int):
            return space
        if isinstance(space, Space) and space.size is not None:
            return space.size
        if space is COORDINATES and whole:
            return self.model.nv
        if space in (JOINT, COORDINATES):
            return seat.link.nv
        return PLACE if space is POSE else SPATIAL


class Machine(Places):
    """A machine in private frames: sizes, places and axes of what programs move.

    Args:
        model: the machine.
        shifted: whether the private frames may move their origins.
        parameters: which numbers of the machine are arguments.

    Attributes:
        links: the bodies, with the numbers of the model or those of `with_values`.
    """

    def __init__(self, model: Model, shifted: bool, parameters: Parameters | None = None):
        self.model, self.tree, self.shifted = model, model.tree, shifted
        self.parameters = Parameters(model) if parameters is None else parameters

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """The bodies in private frames, made when they are first asked for."""
        return _known_of(self.model, self.shifted)[0]

    @property
    def is_regular(self) -> bool:
        """Whether no pivot of the mass operator can vanish, in any state."""
        return not self.parameters.move_frames and _known_of(self.model, self.shifted)[1]

    def with_values(self, values: Mapping[str, Sequence[Scalar]]) -> Machine:
        """The machine with scalars in place of its parameters: of each the entries, row by row.

        Exact for all values, though frames are chosen by the numbers of the model.
        """
        names = self.parameters.names
        assert set(values) == set(names), "as many values as there are parameters"
        if not names:
            return self
        machine, changes = copy(self), self.parameters.changes(values)
        if changes.gravity is not None:
            gravity: Any = changes.gravity
            machine.model = replace(self.model, gravity=gravity)
        if self.parameters.move_frames:
            changed = private_frames(self.model, self.shifted, changes)
            pairs = zip(changed, self.links, strict=True)
            machine.links = tuple(replace(x, fades=nominal.fades) for x, nominal in pairs)
        return machine

    def seats(self, points: dict[tuple, Located], watch: Callable | None) -> list[Seat]:
        """One seat per body, with the points on it; the last one is the world's."""
        parts = zip(self.links, self.model.joints, strict=True)
        seats = [Seat(k, link, joint, self.model, watch) for k, (link, joint) in enumerate(parts)]
        nothing: Any = None  # the world has no joint, and nothing asks for it there
        seats.append(Seat(WORLD, nothing, nothing, self.model, watch))
        for key, located in points.items():
            for e, (k, position) in enumerate(located):
                seats[k].points.setdefault(key, []).append((e, position))
        return seats

    def walk(self, columns: Columns, points: dict[tuple, Located]) -> Walk:
        """The columns of bodies or joints, or of points."""
        if columns.space is not POINTS:
            return Walk(self.tree, range(len(self.model.bodies)))
        assert columns.points is not None
        return Walk(self.tree, [k for k, _ in points[columns.points]])

    # -- sizes and places ----------------------------------------------------------------

    def whole_size(self, space: Any, points: Sized) -> int:
        if space.size is not None:
            return space.size
        if space is COORDINATES:
            return self.model.nv
        if space is JOINT:
            return sum(link.nv for link in self.links)
        if space in (POINTS, BASE):
            return SPATIAL * (1 if space is BASE else len(points))
        return (PLACE if space is POSE else SPATIAL) * len(self.model.bodies)

    def block_sizes(self, space: Space, points: Mapping[tuple, Sized]) -> list[int]:
        """Of the blocks of a space; of point space for the longest list of points."""
        if space.size is not None:
            return [space.size]
        if space is POINTS:
            return [SPATIAL] * max(map(len, points.values()), default=0)
        if space is JOINT:
            return [joint.kind.nv for joint in self.model.joints]
        if space in (COORDINATES, SCALAR):
            return [self.model.nv if space is COORDINATES else 1]
        return [PLACE if space is POSE else SPATIAL] * (
            1 if space is BASE else len(self.model.bodies)
        )

    def rows(self, seat: Seat, space: Size) -> range:
        if space is JOINT:
            return range(seat.joint.rows.start, seat.joint.rows.stop)
        if space is COORDINATES:
            return range(seat.joint.v.start, seat.joint.v.stop)
        width = PLACE if space is POSE else SPATIAL
        return range(width * seat.k, width * seat.k + width)

    def ratio(self, space: Space, k: int) -> Scalar:
        if space is not COORDINATES:
            return 1
        mimic = self.model.joints[k].mimic
        return 1 if mimic is None else mimic.ratio


# -- between link and private frames -------------------------------------------------------


def from_link(seat: Seat, space: Space, kind: str, block: Block) -> Block:
    """A body's vector in its link frame, in the private one; others as they are."""
    if space is not BODY:
        return block
    move = seat.link.from_link_motion if kind == "motion" else seat.link.from_link_force
    return move(block)


def to_link(seat: Seat, space: Space, kind: str, block: Block) -> Block:
    """A body's vector in its private frame, in the link frame; others as they are."""
    if space is not BODY:
        return block
    move = seat.link.to_link_motion if kind == "motion" else seat.link.to_link_force
    return move(block)


Known = tuple[tuple[Link, ...], bool]  # bodies in private frames, and whether D never vanishes
_known: WeakKeyDictionary[Model, dict[bool, Known]] = WeakKeyDictionary()


def _known_of(model: Model, shifted: bool) -> Known:
    """What is found once for all functions of a machine."""
    known = _known.setdefault(model, {})
    if shifted not in known:
        known[shifted] = weigh(model, private_frames(model, shifted))
    return known[shifted]
