"""A run that remembers: every named quantity, at every body, in the link frames of the file.

The interpreter runs the program as it is, in private frames that share their origins with the link
frames. These differ by a turn alone, which forces and motions undergo alike, so nobody has to tell
which of them a vector is. One state at a time, O(N) for vectors and blocks of bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np

from phipsi.algebra import operators as op
from phipsi.algebra.spaces import BODY, JOINT
from phipsi.cleaning import visible
from phipsi.errors import InputError
from phipsi.explain.levels.layout import WIDTH
from phipsi.explain.levels.notation import Notation
from phipsi.lowering import blocks, rigid, transforms
from phipsi.lowering.evaluate import evaluate, scalars_of
from phipsi.lowering.inputs import SPATIAL, Inputs
from phipsi.lowering.interpret import Run
from phipsi.lowering.machine import Block, Machine, to_link
from phipsi.lowering.program import FRAME, Effect, Program, Slot, Statement
from phipsi.lowering.seat import Seat
from phipsi.lowering.statements import find_careful
from phipsi.lowering.steps import STEPS
from phipsi.model.tree import WORLD

Key = str | tuple[str, str]  # a body, a joint, a point, "world"; a body and where a column started
Values = dict[str, dict[Key, np.ndarray]]
MOST_BLOCKS = 200_000  # of columns that are remembered; a chain of 600 bodies has as many
ROUNDING = 1e-14  # relative: some fifty units in the last place
SHOWN_VECTORS, SHOWN_BLOCKS = 8, 3  # places whose values are shown; of more the first and the last


def recorded(notation: Notation, inputs: Inputs) -> Values:
    """Every named quantity, and what bodies are given, by name and body.

    Raises:
        InputError: for matrices of machines so large that nobody reads their blocks.
        SolveError: where something has no value.
    """
    run = Recorder(notation.program, inputs, [x.slot for x in notation.quantities])
    run.run()
    values = run.at_hand()
    phi = values.pop("phi(p,k)", None)
    for quantity in notation.quantities:
        values[quantity.name] = run.public(quantity.slot)
    if phi is not None:
        values["phi(p,k)"] = phi
    gains = [values[notation.name(x)] for x, letter in notation.letters.items() if letter == op.G]
    if phi is not None and gains:
        parts = zip(phi.items(), gains[0].values(), values["H"].values(), strict=True)
        values["psi(p,k)"] = {k: x - x @ G @ H for (k, x), G, H in parts}
    return values


class Recorder(Run):
    """The interpreter, with a memory.

    Args:
        program: the loops.
        inputs: one state of a machine.
        wanted: the slots that are remembered, of all bodies.
    """

    def __init__(self, program: Program, inputs: Inputs, wanted: Iterable[Slot]):
        machine = Machine(inputs.model, shifted=False)
        super().__init__(program, machine, scalars_of(inputs))
        self._model, self._inputs = inputs.model, inputs
        self._wanted = set(wanted)
        self._steps = {x.target: x.step for x in program.statements()}
        self._seen: dict[Slot, dict[Any, Block]] = {x: {} for x in self._wanted}
        self._hand: dict[str, dict[int, tuple[Key, np.ndarray]]] = {}
        self._first = {id(x.statements[0]): x for x in program.loops if x.statements}

    def run(self) -> None:
        self._check_size()
        careful = find_careful(self.program, plain=not self._model.has_mimics)
        evaluate(careful, self.machine, self._inputs)  # SolveError where there is no value
        with np.errstate(all="ignore"):
            super().run()

    def _check_size(self) -> None:
        columns = [x.columns for x in self._wanted if x.domain.kind == "column"]
        count = sum(len(through) for x in columns for through in self.walk(x).through)
        if count > MOST_BLOCKS:
            raise InputError(
                f"explain: the columns of this matrix have {count} blocks on "
                f"{self._model.name!r}; look at a smaller machine, or at the matrix applied to a "
                "vector"
            )

    # -- on the way ------------------------------------------------------------------------------

    def executor(self, statement: Statement) -> Callable[[Statement, Seat], None]:
        run, slot = super().executor(statement), statement.target
        loop = self._first.get(id(statement))
        pushed = []
        if loop is not None:
            made = [x for x in loop.statements if x.effect is Effect.PUSH]
            pushed = [x.target for x in made if x.target in self._wanted and x.target]
        notes = slot in self._wanted and statement.effect is Effect.SET
        keeps = statement.step in HANDY

        def note(statement: Statement, seat: Seat) -> None:
            for x in pushed:
                self._note(x, seat)
            run(statement, seat)
            if notes and slot is not None:
                self._note(slot, seat)
            if keeps and slot is not None and seat.k != WORLD:
                self._hold(statement, seat, self.slots[slot][seat.k])

        return note if pushed or notes or keeps else run

    def _note(self, slot: Slot, seat: Seat) -> None:
        """What a slot holds at a body, its points, or of the columns that pass it."""
        kind, store, seen = slot.domain.kind, self.slots[slot], self._seen[slot]
        if kind == "body" and seat.k != WORLD:
            block = store[seat.k]
            seen[seat.k] = self.machine.zeros(slot.shape, seat) if block is None else block
        elif kind == "point":
            for e, _ in seat.points.get(slot.domain.points or (), ()):
                seen[e] = store[e]
        elif kind == "column":
            for j in self.walk(slot.columns).through[seat.k]:
                if store[j] is not None:
                    seen[seat.k, j] = store[j]

    def _hold(self, statement: Statement, seat: Seat, block: Block) -> None:
        """What is at hand at a body: inputs, H, phi(p,k)."""
        key = seat.joint.name
        if statement.step == "transform":
            columns = [self._inward(seat, block, x) for x in blocks.identity(SPATIAL)]
            key, value = self._model.bodies[seat.k].name, np.array(columns, float).T
        elif statement.step == "joint_map":
            columns = [_turned(seat, BODY, list(x)) for x in zip(*block, strict=True)]
            value = np.array(columns, float).reshape(len(columns), SPATIAL)
        else:
            value = np.array(block, float)
        self._hand.setdefault(HANDY[statement.step], {})[seat.k] = key, value

    def _inward(self, seat: Seat, X: Block, f: Block) -> Block:
        """phi(p,k) f between link frames."""
        moved = transforms.inward(seat.link.factors(X), seat.link.from_link_force(f))
        parent = seat.link.parent
        return moved if parent == WORLD else self.seats[parent].link.to_link_force(moved)

    # -- afterwards ------------------------------------------------------------------------------

    def at_hand(self) -> Values:
        """Inputs, joint maps, transitions: what is no quantity of the program's own."""
        hand: Values = {}
        for name, places in self._hand.items():
            hand[name] = dict(places[k] for k in sorted(places))
        for letter, parts in self._inputs.given.items():
            if letter.target is BODY and letter.is_vector:
                whole = parts[0][..., 0]
                names = [x.name for x in self._model.bodies]
                hand[letter.name] = dict(zip(names, whole.reshape(-1, SPATIAL), strict=True))
            elif letter.target is JOINT and letter.is_vector:
                whole = parts[0][..., 0]
                hand[letter.name] = {x.name: whole[x.rows] for x in self._model.joints}
        return hand

    def public(self, slot: Slot) -> dict[Key, np.ndarray]:
        """What a slot held, in link frames, by body."""
        if slot.domain.kind == "world":
            return {"world": _array(self.slots[slot])}
        names = self._names(slot)
        if slot.domain.kind == "column":
            starts = self._names_of_starts(slot)
            return {
                (names[k], starts[j]): _array(self._column(slot, k, x)).T
                for (k, j), x in sorted(self._seen[slot].items())
            }
        found = sorted(self._seen[slot].items())
        return {names[k]: _array(self._public(slot, k, x)) for k, x in found}

    def _public(self, slot: Slot, k: int, block: Block) -> Block:
        if slot.domain.kind != "body":
            return block
        rows: Any
        seat, rows, columns = self.seats[k], slot.shape.rows, slot.shape.columns
        if self._steps[slot] == "pose":
            block = STEPS["link_pose"](seat, block)
        if slot.shape == FRAME:
            return STEPS["homogeneous"](seat, block)
        if rows == 10:  # a rigid body, by ten numbers
            block, rows, columns = rigid.matrix(block), BODY, BODY
        if columns is None:
            return _turned(seat, rows, block)
        across: Any = columns
        turned = [_turned(seat, across, list(x)) for x in block]
        if rows == "inboard":  # at the parent; of a root nobody reads it
            seat, rows = self.seats[k if seat.is_root else seat.link.parent], BODY
        sides = [_turned(seat, rows, list(x)) for x in zip(*turned, strict=True)]
        return blocks.transpose(sides)

    def _column(self, slot: Slot, k: int, bundle: Block) -> Block:
        space: Any = slot.shape.rows
        return [_turned(self.seats[k], space, x) for x in bundle]

    def _names(self, slot: Slot) -> Sequence[str]:
        """Of the places of a slot: points by number, joints where it is of joint space."""
        if slot.domain.kind == "point":
            return self._point_names(slot.domain.points or ())
        of_joints = slot.shape.rows is JOINT and slot.shape.columns in (None, JOINT)
        parts: Sequence[Any] = self._model.joints if of_joints else self._model.bodies
        return [x.name for x in parts]

    def _names_of_starts(self, slot: Slot) -> Sequence[str]:
        columns = slot.columns
        if columns.points is not None:
            return self._point_names(columns.points)
        parts: Sequence[Any] = self._model.joints if columns.space is JOINT else self._model.bodies
        return [x.name for x in parts]

    def _point_names(self, arguments: tuple) -> list[str]:
        points = self._inputs.points_of(arguments)
        return [f"{e}: {x.frame}" for e, x in enumerate(points)]


HANDY = {  # what is at hand at a body, and its name
    "transform": "phi(p,k)",
    "joint_map": "H",
    "coordinates": "q",
    "speeds": "beta",
}


def _turned(seat: Seat, space: Any, block: Block) -> Block:
    """A vector in the axes of the link; a force or a motion, since no origin moves."""
    return to_link(seat, space, "force", block)


def _array(block: Block) -> np.ndarray:
    return np.array(block if block is not None else 0.0, float)


# -- as a table ------------------------------------------------------------------------------------


def numbers_text(values: Values, given: Container[str] = ()) -> str:
    """A table of values, rounded; of many places the first and the last.

    Args:
        values: by name and place.
        given: names of what is shown as it was passed; of the others, what is left by rounding
            errors beside larger numbers of the same unit is shown as 0.
    """
    return "\n".join(
        _quantity(name, places, name in given) for name, places in values.items() if places
    )


def _quantity(name: str, places: dict[Key, np.ndarray], is_given: bool) -> str:
    keys = list(places)
    is_block = places[keys[0]].ndim > 1
    most = SHOWN_BLOCKS if is_block else SHOWN_VECTORS
    shown: Sequence[Key | None] = keys
    if len(keys) > most:
        head = most - most // 2
        shown = [*keys[:head], None, *keys[len(keys) - most // 2 :]]
    width = max(len(_key(x)) for x in shown if x is not None)
    lines = [name]
    for key in shown:
        if key is None:
            lines.append(f"  ... {len(keys) - most} more")
            continue
        rows = _rows(places[key] if is_given else without_rounding(places[key]))
        lines.append(f"  {_key(key):<{width}}  {rows[0]}".rstrip())
        lines += [" " * (width + 4) + row for row in rows[1:]]
    return "\n".join(lines)


def _key(key: Key) -> str:
    return visible(key if isinstance(key, str) else f"{key[0]}, {key[1]}")


def without_rounding(value: np.ndarray) -> np.ndarray:
    """A spatial vector or block, 0 where it is 1e-14 of the largest number beside it, or less.

    Rotation and translation apart, since their units differ; other arrays as they are.

    >>> without_rounding(np.array([1.0, 1e-17, 0.0, 1e-17, 0.0, 0.0]))
    array([1.e+00, 0.e+00, 0.e+00, 1.e-17, 0.e+00, 0.e+00])
    """
    clean = np.array(value)
    if value.ndim == 0 or not set(value.shape) <= {SPATIAL}:
        return clean
    halves = (slice(0, 3), slice(3, 6))
    for part in product(halves, repeat=value.ndim):
        inside = clean[part]
        inside[np.abs(inside) <= ROUNDING * np.abs(inside).max()] = 0.0
    return clean


def _rows(value: np.ndarray) -> list[str]:
    """An array as lines of aligned numbers."""
    texts = np.vectorize(lambda x: f"{x:.4g}", otypes=[object])(value)
    if value.ndim == 0:
        return [str(texts[()])]
    matrix = texts if texts.ndim > 1 else texts[None, :]
    if matrix.size == 0:
        return ["(none)"]
    width = max(len(x) for x in matrix.flat)
    lines = ["  ".join(f"{x:>{width}}" for x in row) for row in matrix]
    return [line if len(line) <= WIDTH - 30 else f"{line[: WIDTH - 34]} ..." for line in lines]
