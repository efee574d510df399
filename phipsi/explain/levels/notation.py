"""A program in the papers' notation: which quantities have a name, and the formula of each.

A name has what is a letter, what other bodies or other sweeps read, and what is used more than
once; the rest stands inside the formulas. What children push to their parent is a sum over them:

    p.x += phi @ y      becomes      x(k) = sum_c phi(k,c) y(c)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.spaces import SCALAR, Causality, Space
from phipsi.explain.levels.formula import UNKNOWN, Atom, Formula, Kinds, Over, Times, Unit
from phipsi.explain.levels.naming import OF_THE_MACHINE, base_name, letters_of_slots, told_apart
from phipsi.explain.levels.places import CHILD, HERE, Place
from phipsi.explain.levels.spoken import SAID
from phipsi.explain.levels.uses import WHOLE, Uses
from phipsi.lowering.own import STEPS as OWN_STEPS
from phipsi.lowering.program import At, Effect, Program, Read, Slot, Statement

MOST_ROUNDS = 20  # of finding kinds and units; each settles at least one quantity


@dataclass(frozen=True)
class Quantity:
    """A named intermediate result.

    Args:
        name: in the formulas.
        slot: where the program holds it.
        statement: what makes it; the first of several.
        loop: the number of the loop that makes it.
        formula: what it is at body k.
        unit, kinds: its dimension, and what its body vectors are.
    """

    name: str
    slot: Slot
    statement: Statement
    loop: int
    formula: Formula
    unit: Unit
    kinds: Kinds

    @property
    def place(self) -> str:
        """(k), (k,j), (e), or nothing for what the machine has once."""
        return PLACES[self.slot.domain.kind].format(k="k")

    @property
    def is_block(self) -> bool:
        """Whether it is a matrix at each place."""
        return self.slot.shape.is_matrix or self.slot.shape.rows == 10

    @property
    def line(self) -> str:
        """name(k) = formula."""
        return f"{self.name}{self.place} = {self.formula}"


PLACES = {"body": "({k})", "column": "({k},j)", "point": "(e)", "world": ""}


class Notation:
    """The quantities of a program, named.

    Attributes:
        program: the loops.
        uses: who makes and reads what.
        letters: of some slots, the letter of the algebra that they hold.
    """

    def __init__(self, program: Program):
        self.program, self.uses = program, Uses(program)
        slots = self.uses.makers
        self.letters: dict[Slot, Node] = letters_of_slots(self.uses.maker_of, slots)
        self._named = {x for x in slots if x in self.letters or self.uses.needs_name(x)}
        self._natures: dict[Slot, tuple[Unit, Kinds]] = {}
        self._names = {x: str(x) for x in slots}
        self._find_natures()
        self._names |= self._choose_names()

    def maker_of(self, slot: Slot) -> Statement:
        """What makes a slot; the first of several."""
        return self.uses.maker_of(slot)

    # -- formulas ------------------------------------------------------------------------------

    def value(self, slot: Slot, at: Place = HERE) -> Formula:
        """The formula of what a slot holds at a body."""
        maker = self.uses.maker_of(slot)
        if maker.effect is Effect.PUSH:
            if at != HERE:
                raise _NeedsNameError(slot)
            pushed = self._said(maker, CHILD)
            return pushed if slot.domain.kind == "column" else Over("c", pushed)
        if maker.effect is Effect.GATHER and maker.step == "lead":
            return _stripped(self._said(maker, HERE))
        if maker.effect is Effect.GATHER and maker.step != "gather":
            return Over("k" if maker.domain.kind == "body" else "e", self._said(maker, HERE))
        return self._said(maker, at)

    def _said(self, statement: Statement, at: Place) -> Formula:
        arguments = [self.read(x, statement, at) for x in statement.arguments]
        say = SAID.get(statement.step)
        if say is None:  # a step of the user's own
            inside = ", ".join(map(str, arguments))
            return Atom(f"{statement.step}({inside})", at.here)
        return say(arguments, statement, at)

    def read(self, read: Read, by: Statement, at: Place) -> Formula:
        """The formula of an argument, seen from where a statement runs."""
        slot = read.slot
        if read.at is At.PARENT:
            at = Place(at.parent, "?")
        if slot in self._named:
            atom = self.atom(slot, at)
        else:
            formula = self.value(slot, at)
            if by.step not in WHOLE:
                return formula
            assert isinstance(formula, Atom), "an input"
            atom = formula
        if by.step in ("gather", "lead"):
            return replace(atom, place="")
        if by.step == "spread":
            return replace(atom, place="(e)" if by.domain.kind == "point" else at.here)
        return atom

    def atom(self, slot: Slot, at: Place = HERE) -> Atom:
        """A named slot as a letter at a place."""
        unit, kinds = self._natures.get(slot, (None, UNKNOWN))
        place = PLACES[slot.domain.kind].format(k=at.own)
        symmetric = slot.shape.symmetric or slot.shape.rows == 10
        moves = "" if at.own == "k" else "in"
        return Atom(
            self._names[slot], place, self.node_of(slot), unit, kinds, symmetric, moves=moves
        )

    def node_of(self, slot: Slot) -> Node:
        """A named slot as a symbol of the algebra: its letter, or one of its own."""
        if slot in self.letters:
            return self.letters[slot]
        rows, columns = slot.shape.rows, slot.shape.columns
        target = rows if isinstance(rows, Space) else SCALAR
        source = columns if isinstance(columns, Space) else SCALAR
        mixed = slot.domain.kind == "world" and source is not SCALAR
        way = Causality.MIXED if mixed else Causality.MEMORYLESS
        return Symbol(self._names[slot], source, target, way)

    def name(self, slot: Slot) -> str:
        """What a slot is called."""
        return self._names[slot]

    # -- kinds, units, names -------------------------------------------------------------------

    def _find_natures(self) -> None:
        """Units and kinds of the named slots, from formula to formula until nothing changes."""
        for _ in range(MOST_ROUNDS):
            before, named = dict(self._natures), len(self._named)
            for slot in list(self.uses.makers):
                if slot in self._named:
                    formula = self._value_or_name(slot)
                    if formula is not None:
                        self._natures[slot] = formula.unit, formula.kinds
            self._name_what_outputs_need()
            if self._natures == before and len(self._named) == named:
                return

    def _name_what_outputs_need(self) -> None:
        """Sums over children inside of what goes to an output at other places than k."""
        for x in self.program.statements():
            if x.effect is Effect.EMIT:
                for read in x.arguments:
                    if read.slot not in self._named:
                        self._value_or_name(read.slot)

    def _value_or_name(self, slot: Slot) -> Formula | None:
        """The formula of a slot; where another one stands in its way, that gets a name."""
        while True:
            try:
                maker = self.uses.maker_of(slot)
                return None if maker.effect is Effect.EMIT else self.value(slot)
            except _NeedsNameError as error:
                self._named.add(error.slot)

    def _choose_names(self) -> dict[Slot, str]:
        bases: dict[Slot, str] = {}
        for slot in self.uses.makers:
            if slot in self._named:
                bases[slot] = base_name(self, slot, bases)
        return told_apart(bases, self._letters_held(bases), self._taken() | OF_THE_MACHINE)

    def _letters_held(self, bases: Mapping[Slot, str]) -> set[Slot]:
        """Slots that hold the letter which they are called by; of two alike, the first."""
        first: dict[str, Slot] = {}
        for slot, base in bases.items():
            by_name = slot.name == base and base not in OF_THE_MACHINE
            if slot in self.letters or by_name:
                first.setdefault(base, slot)
        return set(first.values())

    def _taken(self) -> set[str]:
        """Names of what is given, and of the user's own letters."""
        taken = {x.name for x in self.program.free}
        for x in self.program.statements():
            if x.step == "speeds":
                taken.add("beta")
            elif x.step in OWN_STEPS:
                taken.add(x.options[0].name)
        return taken

    def unit_of(self, slot: Slot) -> Unit:
        """The dimension of a named slot."""
        return self._natures.get(slot, (None, UNKNOWN))[0]

    def kind_of(self, slot: Slot) -> str | None:
        """What a named vector of bodies is: "force", "motion", None if unknown."""
        return self._natures.get(slot, (None, UNKNOWN))[1][0]

    def is_handed_on(self, slot: Slot) -> bool:
        """Whether bodies hand a slot, or what is made of it on the way, to each other."""
        if self.uses.maker_of(slot).effect is Effect.PUSH:
            return True
        if slot in self.uses.of_parent:
            return True
        return slot in self._read_by_pushes

    @cached_property
    def _read_by_pushes(self) -> set[Slot]:
        """What is handed inward is made of."""
        pushes = (x for x in self.program.statements() if x.effect is Effect.PUSH)
        return {slot for x in pushes for slot in self._read_deeply(x)}

    # -- what the world sees ---------------------------------------------------------------------

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """Every named quantity, in the order of the lines that make them."""
        lines = []
        for at in range(len(self.program.loops)):
            lines += [*self.before(at), *self.in_order(at)]
        ordered = [x for x in lines if isinstance(x, Quantity)]
        others = [x for x in self._quantities.values() if x not in ordered]
        return (*ordered, *others)

    @cached_property
    def _quantities(self) -> dict[Slot, Quantity]:
        made = {}
        for slot, makers in self.uses.makers.items():
            if slot not in self._named:
                continue
            if makers[0].effect is Effect.EMIT:
                formula: Formula = Atom("block by block")
            else:
                formula = self.value(slot)
            unit, kinds = self._natures.get(slot, (None, UNKNOWN))
            home, name = self.uses.home[slot], self._names[slot]
            made[slot] = Quantity(name, slot, makers[0], home, formula, unit, kinds)
        return made

    def in_order(self, loop: int) -> Iterator[Quantity | Statement]:
        """The lines of a loop: its quantities, and the statements that fill outputs.

        What children have pushed stands where it is first read.
        """
        by_slot = self._quantities
        statements = self.program.loops[loop].statements
        pushed = {x.target for x in statements if x.effect is Effect.PUSH}
        done: set[Slot] = set()
        for x in statements:
            for slot in self._read_deeply(x):
                if slot in pushed and slot in by_slot and slot not in done:
                    done.add(slot)
                    yield by_slot[slot]
            if x.effect is Effect.EMIT:
                yield x
            elif x.effect is not Effect.PUSH and x.target in by_slot and x.target not in done:
                done.add(x.target)
                yield by_slot[x.target]
        for x in statements:
            if x.effect is Effect.PUSH and x.target in by_slot and x.target not in done:
                done.add(x.target)
                yield by_slot[x.target]

    def _read_deeply(self, statement: Statement) -> Iterator[Slot]:
        """The slots that the formula of a statement mentions, through what has no name."""
        pending: list[Read] = list(statement.arguments)
        seen: set[Slot] = set()
        while pending:
            slot = pending.pop(0).slot
            if slot in seen:
                continue
            seen.add(slot)
            yield slot
            if slot not in self._named:
                pending += self.uses.maker_of(slot).arguments

    def before(self, loop: int) -> Sequence[Quantity | Statement]:
        """What is done once, ahead of a loop."""
        by_slot = self._quantities
        lines: list[Quantity | Statement] = []
        for x in self.program.loops[loop].before:
            if x.effect is Effect.EMIT:
                lines.append(x)
            elif x.target in by_slot:
                lines.append(by_slot[x.target])
        return lines

    def pushed(self, statement: Statement) -> Formula:
        """What a child hands to its parent."""
        return self._said(statement, CHILD)

    def pulled(self) -> dict[Slot, str]:
        """What bodies read of their parent, and how that is marked."""
        found = [x for x in self.uses.makers if x in self.uses.of_parent]
        return {x: PLACES[x.domain.kind].format(k="p") for x in found}

    def emitted(self, read: Read) -> Formula:
        """The formula of what goes to an output."""
        return self.atom(read.slot) if read.slot in self._named else self.value(read.slot)


class _NeedsNameError(Exception):
    """A sum over children that another body would have to write out."""

    def __init__(self, slot: Slot):
        self.slot = slot


def _stripped(formula: Formula) -> Formula:
    """A product of the whole machine: no places."""
    if isinstance(formula, Times):
        return Times(tuple(_stripped(x) for x in formula.factors))
    return replace(formula, place="") if isinstance(formula, Atom) else formula
