"""Statements, written down one after the other, none of them twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.spaces import POINTS, SCALAR, Space
from phipsi.errors import LoweringError
from phipsi.lowering.origins import find_origins
from phipsi.lowering.program import (
    BODIES,
    WORLD,
    At,
    Domain,
    Effect,
    Origin,
    Read,
    Shape,
    Slot,
    Statement,
    home_of,
)
from phipsi.lowering.structure import is_symmetric

NUMBER = Shape(1)


class Writer:
    """The statements so far.

    Equal statements are one. A recursion's own slot is promised first and
    resolved when its definition is known; then statements that turn out equal
    are merged too.
    """

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self._slots = 0
        self._made: dict[tuple, Slot] = {}
        self._makers: dict[Slot, Statement] = {}
        self._letters: dict[Slot, Symbol] = {}  # that slots are
        self._origins: dict[Slot, list[Node]] = {}  # for which expressions slots were made
        self._solutions: dict[Node, Node] = {}  # what the unknowns of recursions are
        self._applied: dict[Slot, tuple[Symbol, bool, Slot]] = {}  # letters, by others' steps
        self._alias: dict[Slot, Slot] = {}
        self._sums: dict[Slot, dict[Slot, float]] = {}  # what each sum adds up, with signs

    def emit(
        self,
        step: str,
        arguments: Sequence[Slot | Read] = (),
        shape: Shape | Space | Node = NUMBER,
        options: tuple = (),
        effect: Effect = Effect.SET,
        domain: Domain | None = None,
        name: str = "",
    ) -> Slot:
        """The slot of step(arguments), made once; its domain follows from the arguments.

        Args:
            step: by its name in `lowering.steps`.
            arguments: slots, read at the same place, or `at_parent`, `at_each_point`.
            shape: of the result: a space for a vector of it, an operator for a block of it.
            options: of the step, the same at every place.
            effect: what is done with the result; see also `push` and `gather`.
            domain: where the step runs, if the arguments do not tell; see `home`.
            name: of the slot, where it is not the step's.
        """
        if isinstance(shape, Space):
            shape = NUMBER if shape is SCALAR else Shape(shape)
        elif isinstance(shape, Node):
            shape = block_shape(shape)
        reads = tuple(x if isinstance(x, Read) else Read(x) for x in arguments)
        reads = tuple(self._nearest(Read(self.resolve(x.slot), x.at)) for x in reads)
        reads = self._at_one_list(reads, domain)
        domains = [x.slot.domain for x in reads if x.at is At.OWN]
        if domain is not None or not domains:
            domains.append(domain or BODIES)
        where = reduce(self._meet, domains)
        lives = where
        if effect is Effect.GATHER:
            lives = replace(WORLD, points=where.points) if shape.rows is POINTS else WORLD
        key = (step, reads, options, effect, where, shape)
        if key not in self._made:
            slot = self.new_slot(name or step, shape, lives)
            self._made[key] = slot
            statement = Statement(step, reads, slot, where, effect, options)
            self._makers[slot] = statement
            self.statements.append(statement)
        return self._made[key]

    def push(self, step: str, arguments: Sequence[Slot | Read], shape: Shape | Space) -> Slot:
        """`emit`, added to what the parent has; zero where nobody adds."""
        return self.emit(step, arguments, shape, effect=Effect.PUSH)

    def gather(self, step: str, arguments: Sequence[Slot | Read], shape: Shape | Space) -> Slot:
        """`emit`, added up over the machine."""
        return self.emit(step, arguments, shape, effect=Effect.GATHER)

    def at_parent(self, slot: Slot) -> Read:
        """A slot, read at the parent."""
        return Read(slot, At.PARENT)

    def at_each_point(self, slot: Slot) -> Read:
        """A slot, read at every point of the body, as a list."""
        return Read(slot, At.EACH_POINT)

    def home(self, space: Space, points: tuple | None = None) -> Domain:
        """Where the blocks of a space live: the domain of statements that run there."""
        return home_of(space, points)

    def _nearest(self, read: Read) -> Read:
        """What is the same at every body, read at the body itself: it is there in any loop."""
        maker = self._makers.get(read.slot)
        alike = read.at is At.PARENT and maker is not None and maker.step == "unit_entry"
        return Read(read.slot) if alike else read

    def _at_one_list(self, reads: tuple[Read, ...], domain: Domain | None) -> tuple[Read, ...]:
        """Vectors at different lists of points, all at one of them: the e-th point is the e-th."""
        domains = [x.slot.domain for x in reads if x.at is At.OWN] + ([domain] if domain else [])
        listed = [x for x in domains if x.kind == "point" and x.points is not None]
        if len(set(listed)) < 2:
            return reads
        moved = []
        for read in reads:
            slot = read.slot
            if (
                slot.domain in listed[:-1]
                and slot.domain != listed[-1]
                and not slot.shape.is_matrix
            ):
                options = (slot.shape.rows, "force")
                whole = self.emit("gather", (slot,), slot.shape, options, Effect.GATHER)
                slot = self.emit("spread", (whole,), slot.shape, domain=listed[-1])
            moved.append(Read(slot, read.at))
        return tuple(moved)

    def sink(self, step: str, arguments: Sequence[Slot], options: tuple, domain: Domain) -> None:
        """A statement that adds to an output."""
        reads = tuple(Read(self.resolve(x)) for x in arguments)
        self.statements.append(Statement(step, reads, None, domain, Effect.EMIT, options))

    def new_slot(self, name: str, shape: Shape, domain: Domain) -> Slot:
        """A slot of its own."""
        self._slots += 1
        return Slot(self._slots, name, shape, domain)

    def resolve(self, slot: Slot) -> Slot:
        """What a recursion's own slot turned out to be."""
        while slot in self._alias:
            slot = self._alias[slot]
        return slot

    def maker(self, slot: Slot) -> Statement | None:
        """The statement that makes a slot, if it is written yet."""
        return self._makers.get(slot)

    def promise(self, key: tuple, name: str, shape: Shape) -> tuple[Slot, bool]:
        """The slot of a recursion of blocks, and whether it has to be defined yet."""
        is_new = key not in self._made
        if is_new:
            self._made[key] = self.new_slot(name, shape, BODIES)
        return self.resolve(self._made[key]), is_new

    def define(self, promised: Slot, slot: Slot) -> Slot:
        """What a promised slot is."""
        self._alias[promised] = slot
        return self.resolve(slot)

    def finish(self) -> list[Statement]:
        """The statements that some output needs, none twice, every slot by its final name."""
        statements = self._merged()
        made: dict[Slot, list[Statement]] = {}
        for x in statements:
            if x.target is not None:
                made.setdefault(x.target, []).append(x)
        needed: dict[Slot, None] = {}
        wanted = [x for x in statements if x.target is None]
        while wanted:
            for read in wanted.pop().arguments:
                if read.slot not in needed:
                    needed[read.slot] = None
                    wanted.extend(made[read.slot])
        kept = [x for x in statements if x.target is None or x.target in needed]
        letters = self._final_letters()
        return [_renamed(x, letters) for x in kept]

    def note_letter(self, slot: Slot, letter: Symbol) -> None:
        """A slot is a letter that was typed, and goes by its name."""
        self._letters.setdefault(self.resolve(slot), letter)

    def note_origin(self, slot: Slot, expression: Node, first: bool = False) -> None:
        """A slot is the value of an expression; the first that is noted counts, or this one."""
        noted = self._origins.setdefault(self.resolve(slot), [])
        noted.insert(0 if first else len(noted), expression)

    def note_applied(self, slot: Slot, letter: Symbol, star: bool, x: Slot) -> None:
        """A slot is a letter, or its star, times a vector; steps of other letters compute it."""
        self._applied.setdefault(self.resolve(slot), (letter, star, x))

    def origins(self, statements: Sequence[Statement]) -> dict[Slot, Origin]:
        """Of the slots of finished statements, what they are the value of."""
        noted: dict[int, list[Node]] = {}
        for slot, expressions in self._origins.items():
            noted.setdefault(self.resolve(slot).number, []).extend(expressions)
        letters = {slot.number: letter for slot, letter in self._final_letters().items()}
        found = find_origins(statements, noted, letters, self._solutions)
        by_number = {slot.number: slot for slot in found}
        for slot, (letter, star, x) in self._applied.items():
            made, of = (by_number.get(self.resolve(y).number) for y in (slot, x))
            if made is not None and of is not None and made != of:
                found[made] = replace(found[made], applied=(letter, star, of))
        return found

    def _final_letters(self) -> dict[Slot, Symbol]:
        return {self.resolve(slot): letter for slot, letter in self._letters.items()}

    def _merged(self) -> list[Statement]:
        """Statements that turned out equal, once their recursions were known, made one."""
        while True:
            seen: dict[tuple, Slot] = {}
            kept = []
            merged = False
            for x in self.statements:
                reads = tuple(Read(self.resolve(r.slot), r.at) for r in x.arguments)
                shape = x.target.shape if x.target is not None else None
                key = (x.step, reads, x.options, x.effect, x.domain, shape)
                if x.effect is not Effect.EMIT and x.target is not None:
                    if key in seen:
                        self._alias[x.target] = seen[key]
                        merged = True
                        continue
                    seen[key] = x.target
                kept.append(replace(x, arguments=reads))
            self.statements = kept
            if not merged:
                return kept

    def add_up(self, parts: Sequence[tuple[float, Slot]]) -> Slot:
        """The sum of some slots, made of the largest sums of the same slots that exist already.

        So z + (P a) + (G e) finds w = z + (P a), in whatever order they were typed.
        """
        leaves: dict[Slot, float] = {}
        for number, slot in parts:
            if number not in (1, -1):
                number, slot = 1, self._times(number, slot)
            for leaf, sign in self._sums.get(slot, {slot: 1}).items():
                leaves[leaf] = leaves.get(leaf, 0) + number * sign
        if any(sign not in (1, -1) for sign in leaves.values()):
            leaves = {}
            for number, slot in parts:  # some cancel or double: as they were typed
                leaves[slot] = leaves.get(slot, 0) + number
        total: Slot | None = None
        done: dict[Slot, float] = {}
        pending = dict(leaves)
        while pending:
            known = [
                (slot, inside)
                for slot, inside in self._sums.items()
                if inside.items() <= pending.items()
            ]
            if known:
                slot, inside = max(known, key=lambda x: len(x[1]))
            else:
                slot = next((x for x, sign in pending.items() if sign == 1), next(iter(pending)))
                inside = {slot: pending[slot]}
            sign = 1 if known else pending[slot]
            for leaf in inside:
                done[leaf] = pending.pop(leaf)
            if total is None:
                total = self._times(sign, slot)
                continue
            if sign not in (1, -1):
                slot, sign = self._times(sign, slot), 1
            step = "add" if sign == 1 else "subtract"
            total = self.emit(step, (total, slot), slot.shape)
            self._sums.setdefault(total, dict(done))
        assert total is not None
        return total

    def _times(self, number: float, slot: Slot) -> Slot:
        """number * slot."""
        return slot if number == 1 else self.emit("scale", (slot,), slot.shape, (float(number),))

    def _meet(self, one: Domain, other: Domain) -> Domain:
        """The domain of a statement that reads slots of both."""
        order = {"world": 0, "body": 1, "point": 2, "column": 3}
        small, large = sorted((one, other), key=lambda x: order[x.kind])
        if small.kind != large.kind or small == large or small.points is None:
            return large
        if large.points is None:
            return small
        raise LoweringError(
            "cannot lower an expression that mixes letters at different points, "
            f"{small.points} and {large.points}; pp.as_matrix evaluates it densely"
        )


def block_shape(node: Node) -> Shape:
    """The shape of a memoryless operator's blocks."""
    assert node.target is not None
    return Shape(node.target, node.source, is_symmetric(node))


def _renamed(statement: Statement, letters: Mapping[Slot, Symbol]) -> Statement:
    """A statement whose slots go by their letters."""

    def renamed(slot: Slot) -> Slot:
        return replace(slot, name=letters[slot].name) if slot in letters else slot

    reads = tuple(Read(renamed(x.slot), x.at) for x in statement.arguments)
    target = None if statement.target is None else renamed(statement.target)
    return replace(statement, arguments=reads, target=target)
