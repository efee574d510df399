"""Where everything of a machine is in the workspace, and which points are on which bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from phipsi.algebra.spaces import BODY, COORDINATES, JOINT, POINTS
from phipsi.backends.dense import scratch
from phipsi.lowering.inputs import SPATIAL
from phipsi.lowering.machine import Machine
from phipsi.lowering.memory import Sizes
from phipsi.lowering.program import Columns, Effect, Program, Slot, Statement
from phipsi.lowering.templates import side


@dataclass(frozen=True)
class Located:
    """Points on bodies: of each list, the bodies."""

    bodies: dict[tuple, list[int]]

    def on(self, k: int) -> list[tuple[tuple, int]]:
        """The points on a body, list by list: which list, which of it."""
        found = self._by_body.get(k, [])
        return found

    @property
    def _by_body(self) -> dict[int, list[tuple[tuple, int]]]:
        if "_found" not in self.__dict__:
            found: dict[int, list[tuple[tuple, int]]] = {}
            for key, bodies in self.bodies.items():
                for e, k in enumerate(bodies):
                    found.setdefault(k, []).append((key, e))
            self.__dict__["_found"] = found
        return self.__dict__["_found"]


class KeptColumns:
    """Where vectors of columns are for the way back: a place for each body that a column passes.

    Args:
        start: in the workspace.
        widths: of each block column, how many columns it has.
        steps: of each, how many bodies it passes after the one where it starts.
    """

    def __init__(self, start: int, widths: Sequence[int], steps: Sequence[int]):
        counts = np.array(widths, np.int64) * np.array(steps, np.int64)
        self.widths, self.size = widths, SPATIAL * int(counts.sum())
        self._first = start + SPATIAL * (np.cumsum(counts) - counts)

    def place(self, j: int, step: int) -> int:
        """Where block column j is, that has come so many bodies inward."""
        return int(self._first[j]) + SPATIAL * self.widths[j] * (step - 1)


Walks = Callable[[Columns], tuple[Sequence[int], Sequence[int]]]  # widths and steps, see above


class Layouts:
    """Where everything of a machine is in the workspace, counted in numbers.

    Args:
        program: the loops.
        machine: where they run.
        points: on bodies.
        records: how many numbers the record of each body takes.
        levels: how often every number has a partner: once in derivatives, twice in theirs.
        walks: of columns how far they walk, where their vectors are kept at every body.

    Attributes:
        shift: from a number to its partner.
        zeroed: start and count of what is added to.
        kept: of each slot of columns, where their vectors are kept.
    """

    def __init__(
        self,
        program: Program,
        machine: Machine,
        sizes: Sizes,
        records: np.ndarray,
        levels: int = 0,
        walks: Walks | None = None,
    ):
        self.size = 0
        self.machine, self.sizes = machine, sizes
        self.record = self._take(int(records.sum())) + np.concatenate(
            [np.zeros(1, np.int64), np.cumsum(records)[:-1]]
        ).astype(np.int64)
        self.start: dict[Any, int] = {}
        self.kept: dict[Slot, KeptColumns] = {}
        self._keeps = walks is not None
        self._dense = 0
        self.zeroed: list[tuple[int, int]] = []
        for statement in program.statements():
            slot = statement.target
            if slot is not None:
                self._place(slot, statement)
            if statement.domain.kind == "pair":
                self._place_pairs(statement)
            if statement.step in ("dense_solve", "dense_inverse"):
                self._place_dense(statement)
        self.shift = self.size
        if levels:
            self._take(self.shift)
        self.start["dense"] = self._take(self._dense)
        if walks is not None:
            self._keep_columns(program, walks)
        self._once = self.size
        self.size *= 2 ** max(0, levels - 1)

    def shift_of(self, level: int) -> int:
        """From a number to its partner: of the first derivative, of that one's, and so on."""
        return self.shift if level == 1 else self._once * 2 ** (level - 2)

    def _take(self, count: int) -> int:
        self.size += count
        return self.size - count

    def _place(self, slot: Slot, statement: Statement) -> None:
        kind = slot.domain.kind
        if slot in self.start:
            return
        if kind == "world" or statement.effect is Effect.EMIT:
            count = self.whole(slot)
            self.start[slot] = self._take(count)
            if statement.effect in (Effect.GATHER, Effect.EMIT):
                self.zeroed.append((self.start[slot], count))
        elif kind == "point":
            many = max((n for _, n in self.sizes.points), default=0)
            self.start[slot] = self._take(many * self.block(slot))
        elif kind == "column" and statement.effect is Effect.PUSH and not self._keeps:
            self.start[slot] = self._take(self.scalars(slot.columns) * SPATIAL)

    def _keep_columns(self, program: Program, walks: Walks) -> None:
        """Columns at every body that they pass, and their adjoints, which walk back."""
        for statement in program.statements():
            slot = statement.target
            is_pushed = statement.domain.kind == "column" and statement.effect is Effect.PUSH
            if slot is None or not is_pushed or slot in self.kept:
                continue
            self.kept[slot] = kept = KeptColumns(self.size, *walks(slot.columns))
            self._take(kept.size)
            count = self.scalars(slot.columns) * SPATIAL
            self.start["adjoint", slot] = self._take(count)
            self.zeroed.append((self.start["adjoint", slot], count))

    def _place_dense(self, statement: Statement) -> None:
        """Room to solve systems of the whole machine in, one after the other."""
        matrix = statement.arguments[0].slot
        n = self.sizes.of(matrix.shape.rows, matrix.domain.points)
        self._dense = max(self._dense, scratch(n))

    def _place_pairs(self, statement: Statement) -> None:
        """Vectors that are paired, and these times Y."""
        for which, read in (("left", statement.arguments[0]), ("right", statement.arguments[2])):
            slot = read.slot
            count = self.scalars(slot.columns) * SPATIAL
            if ("paired", slot) not in self.start:
                self.start["paired", slot] = self._take(count)
            if (which, slot) not in self.start:
                self.start[which, slot] = self._take(count)

    def whole(self, slot: Slot) -> int:
        """Numbers of a block of the whole machine."""
        return prod(self.sizes.of(*x) for x in slot.sides)

    @staticmethod
    def block(slot: Slot) -> int:
        """Numbers of a block at a point."""
        n = side(slot.shape.rows)
        return n * side(slot.shape.columns) if slot.shape.is_matrix else n

    def scalars(self, columns: Columns) -> int:
        """How many columns there are, one by one."""
        if columns.space is POINTS:
            return self.sizes.of(POINTS, columns.points)
        return self.sizes.of(JOINT if columns.space in (JOINT, COORDINATES) else BODY, None)
