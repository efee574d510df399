"""The sweeps of a program as recursions, line by line, as the papers print them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from phipsi.algebra import operators as op
from phipsi.algebra.node import Identity, Node, Symbol
from phipsi.algebra.spaces import BASE, COORDINATES, POINTS
from phipsi.explain.levels.formula import Atom, Formula, times
from phipsi.explain.levels.notation import Notation, Quantity
from phipsi.explain.levels.rows import folded
from phipsi.explain.levels.spoken import letter_at
from phipsi.lowering.program import Direction, Loop, Slot, Statement
from phipsi.lowering.sides import Side

HEADS = {
    Direction.TIP_TO_BASE: "for k = tips ... base:",
    Direction.BASE_TO_TIP: "for k = base ... tips:",
}


@dataclass(frozen=True)
class Sweep:
    """One loop over the bodies, or what is done once, ahead of it.

    Args:
        head: the loop's first line; "once:" for what belongs to no body.
        lines: what is done at each body, in order.
        loop: the number of the loop in the program.
        atoms: the letters and quantities in these lines.
    """

    head: str
    lines: tuple[str, ...]
    loop: int
    atoms: tuple[Atom, ...] = ()

    def __str__(self) -> str:
        return "\n".join([self.head, *(f"    {line}" for line in self.lines)])


def sweeps_of(notation: Notation, expressions: Sequence[Node]) -> tuple[Sweep, ...]:
    """Every loop of a program, in the papers' notation."""
    sweeps = []
    writer = _Writer(notation, expressions)
    for at, loop in enumerate(notation.program.loops):
        writer.atoms = []
        once = [writer.line(x) for x in notation.before(at)]
        if once:
            sweeps.append(Sweep("once:", _told_once(once), at, tuple(writer.atoms)))
        if loop.statements:
            writer.atoms = []
            lines = [writer.line(x) for x in notation.in_order(at)] or writer.copies(loop)
            sweeps.append(Sweep(HEADS[loop.direction], _told_once(lines), at, tuple(writer.atoms)))
    return tuple(sweeps)


def _told_once(lines: Sequence[str]) -> tuple[str, ...]:
    """Lines of the rows of a space as one."""
    return tuple(
        text if count == 1 else f"{text}, i = 1 ... {count}"
        for _, text, count in folded(lines, str)
    )


class _Writer:
    """Lines of loops.

    Args:
        notation: the quantities, named.
        expressions: what the outputs are.
    """

    def __init__(self, notation: Notation, expressions: Sequence[Node]):
        self.notation = notation
        several = len(expressions) > 1
        self.outputs = [
            x.name
            if isinstance(x, Symbol) and not x.arguments
            else f"result {i + 1}"
            if several
            else "result"
            for i, x in enumerate(expressions)
        ]
        counts: dict[int | Slot, int] = {}
        for x in notation.program.statements():
            if x.effect.name == "EMIT":
                key = x.target or x.options[0]
                counts[key] = counts.get(key, 0) + 1
        self._counts = counts
        self.atoms: list[Atom] = []  # of the lines so far

    def _at(self, letter: Symbol, own: str = "k", parent: str = "p") -> Formula:
        """A letter at a place that outputs are filled from."""
        formula = letter_at(letter, replace(self.notation.here, own=own, parent=parent))
        self.atoms += formula.atoms()
        return formula

    def line(self, x: Quantity | Statement) -> str:
        """One line of a loop."""
        if isinstance(x, Statement):
            return self._output(x)
        self.atoms += x.formula.atoms()
        text = x.line
        if x.slot.domain.kind == "point":
            return f"{text}, for each point e on k"
        if x.slot.domain.kind == "column":
            child = ", c the child towards j" if "(k,c)" in text else ""
            return f"{text}, for each j at k or outboard{child}"
        return text

    def copies(self, loop: Loop) -> list[str]:
        """The line of a loop that only hands on what is given."""
        names = [x.options[0].name for x in loop.statements if x.step in ("given", "given_block")]
        return [f"copies {', '.join(dict.fromkeys(names)) or 'what the lines below read'}"]

    def _output(self, x: Statement) -> str:
        key = x.target or x.options[0]
        name = self.notation.name(x.target) if x.target else self.outputs[x.options[0]]
        sign = "=" if self._counts[key] == 1 else "+="
        values = [self.notation.emitted(read) for read in x.arguments]
        self.atoms += [atom for value in values for atom in value.atoms()]
        return {
            "emit": self._vector,
            "emit_block": self._block,
            "emit_diagonal": self._diagonal,
            "emit_column": self._column,
            "emit_pair": self._pair,
            "emit_outer": self._outer,
            "emit_product": self._product,
            "emit_line": self._line,
        }[x.step](x, name, sign, values)

    def _vector(self, x: Statement, name: str, sign: str, values: list[Formula]) -> str:
        place = {"body": "(k)", "point": "(e)", "world": ""}[x.domain.kind]
        value = values[0].text()
        if value == f"{name}{place}":
            return f"{value} is the result"
        return f"{name}{place} {sign} {value}"

    def _line(self, x: Statement, name: str, sign: str, values: list[Formula]) -> str:
        _, _, _, line, starred = x.options
        which = f"row {line + 1}" if starred else f"column {line + 1}"
        return f"{which} of {name} = {values[0]}"

    def _block(self, x: Statement, name: str, sign: str, values: list[Formula]) -> str:
        place = "" if x.domain.kind == "world" else "(e,e)"
        return f"{name}{place} {sign} {values[0]}{_mirror(x.options[1])}"

    def _diagonal(self, x: Statement, name: str, sign: str, values: list[Formula]) -> str:
        return f"{name}(k,k) {sign} {values[0]}{_mirror(x.options[1])}"

    def _column(self, x: Statement, name: str, sign: str, values: list[Formula]) -> str:
        _, left, right, mirrored, starred = x.options
        row, value, where = self._row(left, values)
        if right.space is COORDINATES:
            value = times(value, self._at(op.S_q, own="j"))
        if starred and not mirrored:
            place, value = f"(j,{row})", value.star()
        else:
            place = f"({row},j)"
        star = _mirror(mirrored, f"(j,{row})")
        if sign == "=" and f"{name}{place}" == value.text():
            return f"{value} is the result{star}, for each j at k or outboard{where}"
        return f"{name}{place} {sign} {value}{star}, for each j at k or outboard{where}"

    def _row(self, left: Side, values: list[Formula]) -> tuple[str, Formula, str]:
        """Which row of an output a column fills at a body, with what, and where."""
        value = values[0]
        if left.space is POINTS:
            lever = self._at(op.B).star()
            outer = () if left.outer is None else (values[1],)
            return "e", times(*outer, lever, value), ", each point e on k"
        if left.space is BASE:
            return "0", times(self._at(op.E_phi, parent="0"), value), ", at the roots k"
        if left.space is COORDINATES:
            return "k", times(self._at(op.S_q).star(), value), ""
        return "k", value, ""

    def _pair(self, x: Statement, name: str, sign: str, values: list[Formula]) -> str:
        mirrored = x.options[5]
        left, middle, right = values
        first = left.star().text().replace(",j)", ",i)")
        is_one = isinstance(middle, Atom) and isinstance(middle.letter, Identity)
        between = "" if is_one else f" {middle.inside(1)}"
        selected = [side.space is COORDINATES for side in x.options[1:3]]
        row, column = self._at(op.S_q, own="i").star(), self._at(op.S_q, own="j")
        first = f"{row} {first}" if selected[0] else first
        last = f"{right.inside(1)} {column}" if selected[1] else right.inside(1)
        return (
            f"{name}(i,j) {sign} {first}{between} {last}{_mirror(mirrored, '(j,i)')}, "
            "for all i, j that meet first at k"
        )

    def _outer(self, x: Statement, name: str, sign: str, values: list[Formula]) -> str:
        x_, y = values
        return f"{name} {sign} {x_.inside(1)} {y.star().inside(1)}{_mirror(x.options[1])}"

    def _product(self, x: Statement, name: str, sign: str, values: list[Formula]) -> str:
        A, B = values
        return f"{name} {sign} {A.inside(1)} {B.inside(1)}"


def _mirror(mirrored: bool, place: str = "") -> str:
    if not mirrored:
        return ""
    return f", and its star at {place}" if place else ", and its star"
