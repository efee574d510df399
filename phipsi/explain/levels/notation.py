"""A program in the papers' notation: which quantities have a name, and the formula of each.

A name has what is a letter, what other bodies or other sweeps read, and what is used more than
once; the rest stands inside the formulas. What children push to their parent is a sum over them:

    p.x += phi @ y      becomes      x(k) = sum_c phi(k,c) y(c)

Letters go by their name; the slot keeps which it holds. The others go by the papers' names:

    z      a force that a filter carries inward through free joints: its predicted state
    eps    what joint k is given, less what the filter foresees: the innovation
    nu     D^-1 eps, the normalized innovation
    f, h   forces and momenta carried inward through locked joints
    V      velocities, alpha accelerations, carried outward; a + behind: just inboard of the joint
    w      a force that belongs to one body alone
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from phipsi.algebra import operators as op
from phipsi.algebra.alphabet import PAPERS, Letter
from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.spaces import (
    BASE,
    BODY,
    COORDINATES,
    JOINT,
    POINTS,
    POSE,
    SCALAR,
    Causality,
    Space,
)
from phipsi.explain.levels.formula import UNKNOWN, Atom, Formula, Kinds, Over, Times, Unit, times
from phipsi.explain.levels.spoken import CHILD, HERE, Place, letter_at, say
from phipsi.explain.levels.uses import INSIDE, WHOLE, Uses
from phipsi.lowering.origins import spaces_of
from phipsi.lowering.own import STEPS as OWN_STEPS
from phipsi.lowering.program import At, Effect, Program, Read, Slot, Statement
from phipsi.lowering.structure import P_PLUS, is_memoryless, is_one_step
from phipsi.lowering.writer import NUMBER

RECURSIONS = {x.name: x for x in (op.P, op.D, op.G, op.R, op.Y)}  # other operators have them too
RELIEVED, RELIEVED_NAME = op.tau_bar @ op.P, "P+"  # what P_PLUS stands for
LETTERS = (*RECURSIONS.values(), op.pose)
OF_THE_MACHINE = {*RECURSIONS, RELIEVED_NAME}
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
        slots, taken = self.uses.makers, frozenset(self._of_others())
        self.here, self.child = replace(HERE, taken=taken), replace(CHILD, taken=taken)
        self.letters = self._letters_of_slots()
        self._named = {x for x in slots if x in self.letters or self.uses.needs_name(x)}
        self._natures: dict[Slot, tuple[Unit, Kinds]] = {}
        self._bases: dict[Slot, str] = {}
        self._names = {x: self._spelled(x) for x in slots}
        self._find_natures()
        self._names |= self._choose_names()

    def _letters_of_slots(self) -> dict[Slot, Node]:
        """Of the slots that hold a letter of the mass operator, or poses, which."""
        letters: dict[Slot, Node] = {}
        for slot in self.uses.makers:
            origin = self.program.origins.get(slot)
            if origin is None or self.uses.maker_of(slot).step in INSIDE:
                continue
            if slot.domain.kind != "body":
                continue
            found = origin.expression if origin.expression == RELIEVED else origin.letter
            if found is not None and (found == RELIEVED or found in LETTERS):
                letters[slot] = found
        return letters

    def record_of(self, slot: Slot) -> Letter | None:
        """Of a slot that holds a letter, its record; None for other quantities."""
        held, origin = self.letters.get(slot), self.program.origins.get(slot)
        if held is not None:
            return P_PLUS.record if held == RELIEVED else _record(held)
        typed = None if origin is None else origin.letter
        if typed is None or typed.name != slot.name or typed.arguments or typed in LETTERS:
            return None
        return typed.record

    def recursion_of(self, slot: Slot) -> Letter | None:
        """Of a block that is a letter of another operator than the mass operator, its record."""
        if not slot.shape.is_matrix or slot in self.letters:
            return None
        known = P_PLUS if slot.name == RELIEVED_NAME else RECURSIONS.get(slot.name)
        return None if known is None else _record(known)

    def called(self, slot: Slot) -> str:
        """The name that the lowering gave a slot, told apart from those of the user's letters."""
        record = self.record_of(slot)
        is_own = record is not None and record.alphabet is not PAPERS
        return slot.name if is_own else self.here.called(slot.name)

    def base(self, slot: Slot) -> str:
        """The name of a slot before equal names are told apart: what it is in the sweeps."""
        return self._bases.get(slot, "")

    def _spelled(self, slot: Slot) -> str:
        """The name of a letter; of other slots, until they have one, their number."""
        letter = self.letters.get(slot)
        if letter is None:
            return str(slot)
        return self.here.called(RELIEVED_NAME if letter == RELIEVED else str(letter))

    def maker_of(self, slot: Slot) -> Statement:
        """What makes a slot; the first of several."""
        return self.uses.maker_of(slot)

    # -- formulas ------------------------------------------------------------------------------

    def value(self, slot: Slot, at: Place | None = None) -> Formula:
        """The formula of what a slot holds at a body."""
        maker, at = self.uses.maker_of(slot), at or self.here
        applied = self.applied(slot)
        if applied is not None:
            return self._product(slot, applied, maker, at)
        if maker.effect is Effect.PUSH:
            if at != self.here:
                raise _NeedsNameError(slot)
            pushed = self._said(maker, self.child)
            return pushed if slot.domain.kind == "column" else Over("c", pushed)
        if maker.effect is Effect.GATHER and maker.step == "lead":
            return _stripped(self._said(maker, self.here))
        if maker.effect is Effect.GATHER and maker.step != "gather":
            return Over("k" if maker.domain.kind == "body" else "e", self._said(maker, self.here))
        return self._said(maker, at)

    def applied(self, slot: Slot) -> tuple[Symbol, bool, Slot] | None:
        """Of a slot that is a letter times a vector, by steps of other letters, what it is."""
        origin = self.program.origins.get(slot)
        found = None if origin is None else origin.applied
        if found is None or slot.domain.kind != "body" or found[2].domain.kind != "body":
            return None
        letter = found[0]
        return found if is_one_step(letter) or is_memoryless(letter) else None

    def _product(
        self, slot: Slot, applied: tuple[Symbol, bool, Slot], maker: Statement, at: Place
    ) -> Formula:
        """A letter, or its star, times a vector, as it is told."""
        letter, star, x = applied
        if not is_one_step(letter):
            A = letter_at(letter, at)
            return times(A.star() if star else A, self.read(Read(x), maker, at))
        if star:
            return times(letter_at(letter, at).star(), self.read(Read(x, At.PARENT), maker, at))
        if at != self.here:
            raise _NeedsNameError(slot)
        child = self.child
        return Over("c", times(letter_at(letter, child), self.read(Read(x), maker, child)))

    def _said(self, statement: Statement, at: Place) -> Formula:
        return say(statement, [self.read(x, statement, at) for x in statement.arguments], at)

    def read(self, read: Read, by: Statement, at: Place) -> Formula:
        """The formula of an argument, seen from where a statement runs."""
        slot = read.slot
        if read.at is At.PARENT:
            at = replace(at, own=at.parent, parent="?")
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

    def atom(self, slot: Slot, at: Place | None = None) -> Atom:
        """A named slot as a letter at a place."""
        at = at or self.here
        unit, kinds = self._natures.get(slot, (None, UNKNOWN))
        place = PLACES[slot.domain.kind].format(k=at.own)
        symmetric = slot.shape.symmetric or slot.shape.rows == 10
        moves = "" if at.own == "k" else "in"
        return Atom(
            self._names[slot],
            place,
            unit,
            kinds,
            symmetric,
            moves=moves,
            is_number=slot.domain.kind == "world" and slot.shape == NUMBER,
            letter=self.letters.get(slot),
            slot=slot,
        )

    def node_of(self, slot: Slot) -> Node:
        """A named slot as a symbol of the algebra: its letter, or one of its own."""
        if slot in self.letters:
            return self.letters[slot]
        target, source = spaces_of(slot)
        way = Causality.MEMORYLESS
        if source is not SCALAR and slot.domain.kind in ("column", "world"):
            way = Causality.CAUSAL if slot.domain.kind == "column" else Causality.MIXED
        return Symbol(self._names[slot], source, target, way)

    def is_named(self, slot: Slot) -> bool:
        """Whether formulas mention a slot by a name."""
        return slot in self._named

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
        bases = self._bases
        for slot in self.uses.makers:
            if slot in self._named:
                bases[slot] = base_name(self, slot, bases)
        return told_apart(bases, self._letters_held(bases), self._taken() | OF_THE_MACHINE)

    def _letters_held(self, bases: Mapping[Slot, str]) -> set[Slot]:
        """Slots that hold the letter which they are called by; of two alike, the first."""
        first: dict[str, Slot] = {}
        for slot, base in bases.items():
            by_name = self.called(slot) == base and base not in OF_THE_MACHINE
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

    def _of_others(self) -> set[str]:
        """Names of letters that are not the papers': the user's own, and those of families."""
        told = (x.options[0] for x in self.program.statements() if x.step in OWN_STEPS)
        steps = (x.options[0] for x in self.program.statements() if x.step == "inboard_block")
        typed = (x.letter for x in self.program.origins.values())
        applied = (x.applied[0] for x in self.program.origins.values() if x.applied is not None)
        named = (*self.program.free, *told, *steps, *typed, *applied)
        letters = (x for x in named if isinstance(x, Symbol))
        return {x.name for x in letters if x.record.alphabet is not PAPERS}

    def unit_of(self, slot: Slot) -> Unit:
        """The dimension of a named slot."""
        return self._natures.get(slot, (None, UNKNOWN))[0]

    def kind_of(self, slot: Slot) -> str | None:
        """What a named vector of bodies is: "force", "motion", None if unknown."""
        return self._natures.get(slot, (None, UNKNOWN))[1][0]

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
        return self._said(statement, self.child)

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


def _record(letter: Node) -> Letter:
    assert isinstance(letter, Symbol), "a letter"
    return letter.record


# -- names -----------------------------------------------------------------------------------

BODY_NAMES: dict[tuple[str | None, Unit], str] = {
    ("motion", (0, -1)): "V",
    ("motion", (0, -2)): "alpha",
    ("force", (1, -2)): "f",
    ("force", (1, -1)): "h",
}
ADDED_NAMES: dict[tuple[str | None, Unit], str] = {
    ("motion", (0, -2)): "a",
    ("motion", (0, -1)): "u",
}
JOINT_NAMES: dict[Unit, str] = {(0, -1): "beta", (0, -2): "beta_dot", (1, -2): "T", (1, -1): "p"}
SCALAR_NAMES: dict[Unit, str] = {(1, -2): "energy", (1, -3): "power"}
SPACE_NAMES = {BASE: "x_0", COORDINATES: "s", POINTS: "x_C", POSE: "pose"}


def base_name(notation: Notation, slot: Slot, known: Mapping[Slot, str]) -> str:
    """What a named slot is called, before equal names are told apart."""
    maker = notation.uses.maker_of(slot)
    if slot in notation.letters:
        return notation.name(slot)
    if slot.name not in (maker.step, "z") and maker.step != "newton_euler":
        return notation.called(slot)
    rows = slot.shape.rows
    if slot.shape.is_matrix:
        return "A"
    if slot.domain.kind == "column":
        return _column_name(notation, slot)
    if not isinstance(rows, Space):
        return SCALAR_NAMES.get(notation.unit_of(slot), "s")
    if rows is JOINT:
        return _joint_name(notation, slot, maker)
    if rows is BODY:
        return _body_name(notation, slot, maker, known)
    return SPACE_NAMES.get(rows, "x")


def _column_name(notation: Notation, slot: Slot) -> str:
    """phi and psi where the columns are theirs."""
    origin = notation.program.origins.get(slot)
    is_letter = origin is not None and origin.expression in (op.phi, op.psi)
    return str(origin.expression) if origin is not None and is_letter else "x"


def _joint_name(notation: Notation, slot: Slot, maker: Statement) -> str:
    solves = maker.step == "pivot_solve" or (
        maker.step == "apply" and notation.uses.is_pivot_inverse(maker.arguments[0].slot)
    )
    if solves and notation.uses.is_innovation(maker.arguments[1].slot):
        return "nu"
    if notation.uses.is_innovation(slot):
        return "eps"
    return JOINT_NAMES.get(notation.unit_of(slot), "y")


def _body_name(notation: Notation, slot: Slot, maker: Statement, known: Mapping[Slot, str]) -> str:
    if maker.step == "outward":
        source = maker.arguments[1].slot
        return f"{known.get(source) or base_name(notation, source, known)}+"
    kind, unit = notation.kind_of(slot), notation.unit_of(slot)
    if not notation.uses.is_recursive(slot):
        if kind == "force" and unit is not None:
            return "w"
        return ADDED_NAMES.get((kind, unit), "x")
    if kind == "force" and notation.uses.is_filter(slot):
        return "z"
    if (kind, unit) in BODY_NAMES:
        return BODY_NAMES[kind, unit]
    return {"force": "z", "motion": "lambda"}.get(kind or "", "x")


def told_apart(
    bases: Mapping[Slot, str], letters: Container[Slot], taken: set[str]
) -> dict[Slot, str]:
    """Names of slots: the base where it is one slot's alone, else with a number behind it.

    Args:
        bases: of each slot.
        letters: slots that hold the letter that they are called by; they have no number.
        taken: names of other things; only a letter may be called so.
    """
    count = Counter(base for slot, base in bases.items() if slot not in letters)
    names: dict[Slot, str] = {}
    held = {base for slot, base in bases.items() if slot in letters}
    used = taken | held
    for slot, base in bases.items():
        name, number = base, 0
        is_free = slot in letters or (count[base] == 1 and base not in used)
        while not is_free:
            number += 1
            name = f"{base}_{number}"
            is_free = name not in used
        names[slot] = name
        used.add(name)
    return names
