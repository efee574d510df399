"""Who makes what in a program, who reads it, and which slots need themselves."""

from __future__ import annotations

from functools import cached_property

from phipsi.algebra import operators as op
from phipsi.algebra.node import Inverse, Symbol
from phipsi.algebra.spaces import JOINT
from phipsi.explain.levels.part_expressions import passes_free_joints
from phipsi.lowering.own import STEPS as OWN_STEPS
from phipsi.lowering.program import At, Effect, Program, Read, Slot, Statement
from phipsi.lowering.visitor import FORMULAS

# what stands inside formulas, however often it is read: inputs, constants, other forms of a letter
INSIDE = frozenset(
    (
        *("coordinates", "transform", "speeds", "given", "given_block", "inertia", "rotor_inertia"),
        *("rigid_body", "rigid_matrix", "joint_map", "map_rate", "map_derivative", "axis"),
        *("selection", "inboard_block", "unit_entry"),
        *("identity", "zeros", "one", "unit", "gravity", "transpose", "link_pose", "axes_matrix"),
        *("pivot_factor", "pivot_inverse", "pass_matrix", "gather", "spread", "spread_block"),
        *("base_potential", "lever_matrix", "unit_vector", *OWN_STEPS),
    )
)
WHOLE = frozenset(("gather", "spread", "spread_block", "lead", "follow"))  # read by name alone
# outputs of named slots
NAMED = frozenset(("emit", "emit_pair", "emit_outer", "emit_product", "emit_line"))


class Uses:
    """The slots of a program: their makers and readers.

    Attributes:
        makers: of each slot, the statements that make it, in order.
        home: the number of the loop that makes it.
        remote: slots that other bodies or other loops read.
        of_parent: slots that bodies read of their parent.
    """

    def __init__(self, program: Program):
        self.program = program
        self.makers: dict[Slot, list[Statement]] = {}
        self.home: dict[Slot, int] = {}
        self.remote: set[Slot] = set()
        self.of_parent: set[Slot] = set()
        self._count: dict[Slot, int] = {}
        self._cycles: dict[Slot, frozenset[Slot]] = {}
        self._by_name: set[Slot] = set()  # read where only a name will do
        for at, loop in enumerate(program.loops):
            for x in (*loop.before, *loop.statements):
                if x.target is not None:
                    self.makers.setdefault(x.target, []).append(x)
                    self.home.setdefault(x.target, at)
        for at, loop in enumerate(program.loops):
            for x in (*loop.before, *loop.statements):
                for i, read in enumerate(x.arguments):
                    self._note(x, i, read, at)

    def _note(self, x: Statement, i: int, read: Read, loop: int) -> None:
        """One reading of a slot."""
        slot = read.slot
        formula = FORMULAS.get(x.step)
        mentions = 1 if formula is None else max(1, formula.count(i))
        self._count[slot] = self._count.get(slot, 0) + mentions
        if read.at is At.PARENT:
            self.of_parent.add(slot)
        if read.at is At.PARENT or self.home[slot] != loop:
            self.remote.add(slot)
        is_innovation = x.step == "pivot_solve" and i == 1 and x.domain.kind == "body"
        if is_innovation or x.step in WHOLE or x.step in NAMED:
            self._by_name.add(slot)

    def maker_of(self, slot: Slot) -> Statement:
        """What makes a slot; the first of several."""
        return self.makers[slot][0]

    def needs_name(self, slot: Slot) -> bool:
        """Whether formulas are to mention a slot by a name."""
        maker = self.maker_of(slot)
        if maker.step in INSIDE or self.is_pivot_inverse(slot) or slot in self._rows:
            return False
        if maker.effect in (Effect.GATHER, Effect.EMIT):
            return True
        if slot in self.remote or slot in self._by_name or slot.name not in (maker.step, "z"):
            return True
        return self._count.get(slot, 0) > 1 and not self._is_placement(maker)

    def is_pivot_inverse(self, slot: Slot) -> bool:
        """Whether a slot holds D^-1 of an operator, whose joints give way by it."""
        origin = self.program.origins.get(slot)
        inner = None if origin is None else origin.expression
        letter = inner.children[0] if isinstance(inner, Inverse) else None
        return isinstance(letter, Symbol) and letter.record is op.D.record

    @cached_property
    def _rows(self) -> frozenset[Slot]:
        """What only the steps of a letter are made of that goes by its own name in formulas."""
        readers: dict[Slot, list[Statement]] = {}
        for x in self.program.statements():
            for read in x.arguments:
                readers.setdefault(read.slot, []).append(x)
        found: set[Slot] = set()
        applied = {
            x: y.applied[2] for x, y in self.program.origins.items() if y.applied is not None
        }
        pending = [
            x for x in self.program.statements() if x.step == "inboard_block" or x.target in applied
        ]
        named, kept = set(map(id, pending)), set(applied.values())
        while pending:
            for slot in {read.slot for read in pending.pop().arguments} - found - kept:
                if all(id(x) in named or x.target in found for x in readers[slot]):
                    found.add(slot)
                    pending += self.makers[slot]
        return frozenset(found)

    def _is_placement(self, maker: Statement) -> bool:
        """Whether a statement only places joint speeds along their axes: H*(k) y(k)."""
        if maker.step not in ("apply", "apply_transposed") or maker.effect is Effect.PUSH:
            return False
        first, inner = (self.maker_of(x.slot).step for x in maker.arguments)
        return first in ("joint_map", "map_rate") and inner in INSIDE

    # -- recursions ------------------------------------------------------------------------------

    @cached_property
    def _needs(self) -> dict[Slot, frozenset[Slot]]:
        """Of each slot all that it is made of, itself included where it is a recursion."""
        direct: dict[Slot, set[Slot]] = {}
        for slot, made in self.makers.items():
            direct[slot] = {read.slot for x in made for read in x.arguments}
        reach: dict[Slot, frozenset[Slot]] = {}
        for start in direct:
            found: set[Slot] = set()
            pending = list(direct[start])
            while pending:
                slot = pending.pop()
                if slot not in found:
                    found.add(slot)
                    pending += direct[slot]
            reach[start] = frozenset(found)
        return reach

    def cycle(self, slot: Slot) -> frozenset[Slot]:
        """The slots of the recursion that a slot is part of; none where it is of none."""
        if slot not in self._cycles:
            needed = self._needs[slot]
            around = (x for x in needed if slot in self._needs[x])
            self._cycles[slot] = frozenset(around if slot in needed else ())
        return self._cycles[slot]

    def is_recursive(self, slot: Slot) -> bool:
        """Whether a slot needs itself at other bodies."""
        return bool(self.cycle(slot))

    def is_filter(self, slot: Slot) -> bool:
        """Whether a recursion of vectors passes free joints on its way inward."""
        if slot.shape.is_matrix:
            return False
        kept = (self.program.origins.get(x) for x in self.cycle(slot))
        return any(passes_free_joints(x.expression) for x in kept if x is not None)

    def is_innovation(self, slot: Slot) -> bool:
        """Whether a vector of joints is what a filter did not foresee."""
        if self.is_filter(slot):
            return slot.shape.rows is JOINT
        solved = any(
            x.step == "pivot_solve" and x.arguments[1].slot == slot
            for x in self.program.statements()
        )
        return solved and any(self.is_filter(x) for x in self._needs[slot])
