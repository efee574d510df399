"""What the user passes to an expression: state, points, values, checked once.

Every refusal of the evaluation itself happens here, before any work is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.own import MachineLetter
from phipsi.algebra.spaces import (
    BASE,
    BODY,
    COORDINATES,
    JOINT,
    POINTS,
    POSE,
    SCALAR,
    Space,
    is_dense,
)
from phipsi.algebra.walk import letters_of
from phipsi.errors import InputError, name_choices
from phipsi.lowering.parameters import Parameters
from phipsi.lowering.sides import check_point_counts, points_beside
from phipsi.model.configuration import (
    broadcast,
    check_array,
    check_configuration,
    check_speeds,
)
from phipsi.model.model import Body, Frame, Model, Point, point

SPATIAL = 6  # size of the base's and of a point's block; a body brings its own
PLACE = 16  # size of a pose: a homogeneous matrix, row by row
EACH = {BODY: "one per body", POSE: "one per body", JOINT: "one per joint", POINTS: "one per point"}


class Inputs:
    """A state of a machine and the values of free symbols, fit for one expression.

    Attributes:
        q, v: (*batch, nq) and (*batch, nv) or None.
        given: of each free symbol its blocks, (*batch, rows, columns) each; a
            vector is one block of one column, a dense operator one block.
        parameters: of each parameter of the machine its value, (*batch, *shape).
        declared: which these are.
        batch, dtype: common to all.
    """

    def __init__(
        self,
        model: Model,
        expression: Node | Sequence[Node],
        q: ArrayLike,
        v: ArrayLike | None,
        points: Sequence[Point] | None,
        values: Mapping[str, Any] | None,
        parameters: Mapping[str, Any] | None = None,
    ):
        """See the class; `values` None: those of the letters are checked one by one later."""
        self.model = model
        several = (expression,) if isinstance(expression, Node) else tuple(expression)
        self.expressions = several
        self.letters = letters_of(several)
        check_spaces(self.letters)
        check_names(self.letters)
        self.q = check_configuration(model, "q", q)
        self.v = None if v is None else check_speeds(model, "v", v)
        if self.v is None and any(letter.record.of_speeds for letter in self.letters):
            raise InputError(f"`{self.text}` depends on the speeds: pass v=...")
        self.points: tuple[Point, ...] = () if points is None else checked_points(points)
        self.point_counts = self._count_points(points is not None)
        if len(self.point_counts) > 1:
            for one in several:
                check_point_counts(one, lambda points: len(self.points_of(points)))
        self.given = {} if values is None else self._take_values(values)
        state = {"q": self.q} if self.v is None else {"q": self.q, "v": self.v}
        batches = {name: x.shape[:-1] for name, x in state.items()}
        for letter, blocks in self.given.items():
            by_block = in_blocks(letter)
            for k, block in enumerate(blocks):
                batches[f"{letter.name}[{k}]" if by_block else letter.name] = block.shape[:-2]
        self.declared = Parameters(model, tuple(parameters or ()))
        self.parameters = self.declared.checked(parameters or {})
        check_apart(self.declared, self.letters)
        for name, shape in self.declared.shapes.items():
            x = self.parameters[name]
            batches[name] = x.shape[: x.ndim - len(shape)]
        self.batch = broadcast(batches)
        arrays = (*state.values(), *self.parameters.values())
        self.dtype = np.result_type(*arrays, *chain.from_iterable(self.given.values()))
        if self.dtype not in (np.float64, np.complex128):
            raise InputError(f"`{self.text}` is evaluated in double precision, not in {self.dtype}")

    @property
    def text(self) -> str:
        """The expressions as they are typed, for messages."""
        return ", ".join(map(str, self.expressions))

    # -- spaces ------------------------------------------------------------------------

    def sizes(self, space: Space) -> list[int]:
        """The block sizes of a space; they belong to the machine."""
        if space.size is not None:
            return [space.size]
        return self._point_sizes() if space is POINTS else self._sizes[space]

    def slices(self, space: Space) -> list[slice]:
        """Where each block of a space stands."""
        stops = np.cumsum([0, *self.sizes(space)]).tolist()
        return [slice(i, j) for i, j in pairwise(stops)]

    @cached_property
    def _sizes(self) -> dict[Space, list[int]]:
        return {
            BODY: [body.size for body in self.model.bodies],
            JOINT: [joint.kind.nv for joint in self.model.joints],
            BASE: [SPATIAL],
            COORDINATES: [self.model.nv],
            POSE: [PLACE] * len(self.model.bodies),
            SCALAR: [1],
        }

    # -- points ------------------------------------------------------------------------

    def points_of(self, arguments: Sequence[Point | str]) -> Sequence[Point]:
        """The points of a letter: its own, or those passed."""
        return checked_points(arguments) if arguments else self.points

    def _count_points(self, passed: bool) -> set[int]:
        """How many points the letters stand for; several numbers make point space unclear."""
        at_points = [x for x in self.letters if POINTS in (x.source, x.target) and not x.free]
        if not passed and any(not letter.arguments for letter in at_points):
            raise InputError(
                "B, J, X and c stand for points: pass points=[pp.point(...), ...] or write "
                "B(pp.point(...))"
            )
        lists = [checked_points(x.arguments) for x in at_points if x.arguments]
        lists += [self.points] if passed else []
        for one in chain.from_iterable(lists):
            self.model.locate(one)  # InputError for an unknown name, before any work
        return set(map(len, lists))

    def letter_sizes(self, letter: Symbol, space: Space) -> list[int]:
        """The block sizes of a space of a free letter; in point space its neighbours tell."""
        if space is not POINTS or len(self.point_counts) < 2:
            return self.sizes(space)
        counts = {len(self.points_of(x)) for x in self._beside.get(letter, ())}
        return [SPATIAL] * counts.pop() if len(counts) == 1 else self._point_sizes()

    @cached_property
    def _beside(self) -> dict[Symbol, set[tuple]]:
        return points_beside(self.expressions)

    def _point_sizes(self) -> list[int]:
        if not self.point_counts:
            raise InputError("the expression maps point space: pass points=[pp.point(...), ...]")
        if len(self.point_counts) > 1:
            raise InputError(
                "the size of point space is not clear: the expression has letters at "
                f"{' and '.join(map(str, sorted(self.point_counts)))} points"
            )
        return [SPATIAL] * max(self.point_counts)

    # -- values ------------------------------------------------------------------------

    def _take_values(self, values: Mapping[str, Any]) -> dict[Symbol, list[np.ndarray]]:
        """The blocks of each free symbol, no more and no less."""
        free = by_name([letter for letter in self.letters if letter.free])
        for name in values:
            if name not in free:
                raise InputError(
                    f"`{self.text}` has no free symbol {name!r}; {name_choices(name, free)}"
                )
        for name, letter in free.items():
            if name not in values:
                raise InputError(
                    f"`{self.text}` needs a value for {name}, {describe_letter(letter)}: pass "
                    f"{name}=..."
                )
        return {x: self.checked_value(x, values[name]) for name, x in free.items()}

    def _shape(self, letter: Symbol) -> tuple[int, int]:
        """Rows and columns of a symbol, all blocks together."""
        rows, columns = (self.letter_sizes(letter, x) for x in (letter.target, letter.source))
        return sum(rows), sum(columns)

    def _size_text(self, space: Space, size: int) -> str:
        """Why a vector of a space has its size, as a clause; mimic joints need an explanation."""
        text = f"the size of {space}"
        if space is COORDINATES:
            text = "nv"
        elif space is JOINT and not self.model.has_mimics:
            text += " (nv)"
        elif space is JOINT:
            text += f" (mimic joints count, nv is {self.model.nv}: S_q projects)"
        return f"{text} of {self.model.name!r} being {size}"

    def _owner_text(self, space: Space, k: int) -> str:
        """What block k of a space belongs to."""
        if space is JOINT:
            return f"joint {self.model.joints[k].name!r}"
        if space in (BODY, POSE):
            return f"body {self.model.bodies[k].name!r}"
        return f"point {k}" if space is POINTS else f"{space}"

    def checked_value(self, letter: Symbol, value: Any) -> list[np.ndarray]:
        """A free symbol's value: a vector or number as one block, an operator by blocks."""
        name, rows = letter.name, self.letter_sizes(letter, letter.target)
        if letter.is_vector:
            reason = f"a vector of {letter.target}"
            if not letter.target.is_own:
                reason = self._size_text(letter.target, sum(rows))
            return [check_array(name, value, (sum(rows),), reason)[..., None]]
        if letter.is_scalar:
            return [check_array(name, value, (), "a number")[..., None, None]]
        if not in_blocks(letter):
            reason = f"{name} is {describe_letter(letter)} of {self.model.name!r}"
            return [check_array(name, value, self._shape(letter), reason)]
        each = EACH.get(letter.target, "one in all")
        try:
            given = list(np.asarray(value) if isinstance(value, memoryview) else value)
        except TypeError:
            given = []
        if len(given) != len(rows):
            raise InputError(
                f"{name}: expected a list of {len(rows)} block{'s' * (len(rows) != 1)}, {each} "
                f"of {self.model.name!r}, got {len(given) or type(value).__name__}"
            )
        blocks = []
        for k, shape in enumerate(zip(rows, self.letter_sizes(letter, letter.source), strict=True)):
            owner = self._owner_text(letter.target, k)
            reason = f"the block of {owner}; {name} is a list of blocks, {each}"
            blocks.append(check_array(f"{name}[{k}]", given[k], shape, reason))
        return blocks


def in_blocks(letter: Symbol) -> bool:
    """Whether the value of a free symbol is a list of blocks, not one array."""
    return letter.source is not SCALAR and not is_dense(letter.source, letter.target)


def check_spaces(letters: Sequence[Symbol]) -> None:
    """InputError where spaces of the user's have one name and several sizes."""
    sizes: dict[str, Space] = {}
    for space in (space for letter in letters for space in (letter.source, letter.target)):
        other = sizes.setdefault(space.name, space)
        if other is not space:
            raise InputError(f"two spaces of one expression: {other}, and {space}; rename one")


def check_apart(parameters: Parameters, letters: Sequence[Symbol]) -> None:
    """InputError where a parameter and a free symbol have one name."""
    for letter in letters:
        if letter.free and letter.name in parameters.names:
            raise InputError(
                f"{letter.name!r} is a parameter of the machine and a symbol, "
                f"{describe_letter(letter)}; rename the symbol"
            )


def check_names(letters: Sequence[Symbol]) -> None:
    """InputError where letters of the user's share a name."""
    by_name([x for x in letters if x.free or x.record.alphabet is None])


def by_name(letters: Sequence[Symbol]) -> dict[str, Symbol]:
    """Symbols by name, or InputError if two share one."""
    free: dict[str, Symbol] = {}
    for letter in letters:
        other = free.setdefault(letter.name, letter)
        if other != letter:
            raise InputError(
                f"two symbols are called {letter.name!r}: {describe_letter(other)}, and "
                f"{describe_letter(letter)}; rename one"
            )
    return free


def describe_letter(letter: Symbol) -> str:
    """What a symbol is, or what kind of value it takes."""
    if letter.definition is not None:
        return f"what stands for `{letter.definition}`"
    if isinstance(letter, MachineLetter):
        return f"a letter of the machine that maps {letter.source} to {letter.target}"
    if letter.is_vector:
        return f"a vector of {letter.target}"
    if letter.source is SCALAR:
        return "a number"
    if not in_blocks(letter):
        return f"a matrix that maps {letter.source} to {letter.target}"
    return f"a block-diagonal map of {letter.source} to {letter.target}"


def checked_points(points: Sequence[Point | str]) -> tuple[Point, ...]:
    """The points as a tuple, a name being the origin of that frame; or InputError."""
    if isinstance(points, (Mapping, set, frozenset)):
        raise InputError(
            f"points: expected a list of pp.point(name, position), got a {type(points).__name__}"
        )
    try:
        given = (points,) if isinstance(points, (str, Point, Body, Frame)) else tuple(points)
    except TypeError:
        raise InputError(f"points: expected a list of pp.point(...), got {points!r}") from None
    checked = tuple(point(x) if isinstance(x, str) else x for x in given)
    if not checked:
        raise InputError("points: the list is empty; pass points=[pp.point(...), ...]")
    for one in checked:
        if isinstance(one, (Body, Frame)):
            raise InputError(
                f"points: expected a name, got a {type(one).__name__}; write {one.name!r} "
                f"or pp.point({one.name!r}, position)"
            )
        if not isinstance(one, Point):
            raise InputError(f"points: expected pp.point(body_or_frame, position), got {one!r}")
    return tuple(x if is_exact(x.position) else point(*x) for x in checked)


def is_exact(position: object) -> bool:
    """Whether a position is three finite floats, as `point` makes it."""
    return (
        type(position) is tuple
        and len(position) == 3
        and all(type(x) is float and isfinite(x) for x in position)
    )


def joint_axis(model: Model, *joint_and_axis: Any) -> tuple[int, int]:
    """A joint's number from its name or number, and one of its speeds, by default the first.

    A number below zero counts from the end, as in Python: -k is joint k of the papers, which
    number from the tip.
    """
    if len(joint_and_axis) not in (1, 2):
        raise InputError(
            "HH, HH_s, HH_delta and Gamma_delta belong to a joint and one of its speeds, at and "
            "at_joint to a body: write HH(joint) or HH(joint, axis)"
        )
    joint, axis = (*joint_and_axis, 0)[:2]
    n = len(model.joints)
    i = model.index(joint) if isinstance(joint, str) else joint
    if _is_index(i, n, first=-n) and i < 0:
        i += n
    if not _is_index(i, n):
        raise InputError(f"no joint {joint!r}; expected a name or a number from 0 to {n - 1}")
    speeds = model.joints[i].kind.nv
    if not _is_index(axis, speeds):
        raise InputError(
            f"joint {model.joints[i].name!r} has no speed {axis!r}; expected a number "
            f"from 0 to {speeds - 1}"
        )
    return int(i), int(axis)


def _is_index(i: Any, n: int, first: int = 0) -> bool:
    return isinstance(i, (int, np.integer)) and not isinstance(i, bool) and bool(first <= i < n)
