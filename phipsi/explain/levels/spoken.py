"""What each step of a program says at one body: its formula, its letters at their places.

A step is defined with its formula, `E_phi @ f`; here the letters of such formulas, which records
describe, get their places: phi(p,k) f(k). Only what has no formula in letters is spelled out:
coordinates, units of columns, shares of an energy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from phipsi.algebra import operators as op
from phipsi.algebra.alphabet import PAPERS
from phipsi.algebra.elements import SELECTIONS
from phipsi.algebra.families import family_of
from phipsi.algebra.node import Identity, Node, Opener, Symbol
from phipsi.algebra.own import CallableLetter, OpeningLetter
from phipsi.algebra.spaces import BASE, POINTS, SCALAR
from phipsi.explain.levels.formula import (
    UNKNOWN,
    ZERO,
    Around,
    Atom,
    Formula,
    Kinds,
    Number,
    Over,
    bracket,
    plus,
    times,
)
from phipsi.explain.levels.layout import printed
from phipsi.explain.levels.rows import FEW
from phipsi.lowering.program import At, Statement
from phipsi.lowering.structure import is_one_step
from phipsi.lowering.visitor import FORMULAS


@dataclass(frozen=True)
class Place:
    """Where a formula stands: at body `own`, whose parent is `parent`.

    Args:
        own: the body.
        parent: its parent.
        taken: names of the user's own letters; a letter of the papers that is called so has a
            0 behind its name here.
    """

    own: str = "k"
    parent: str = "p"
    taken: frozenset[str] = frozenset()

    @property
    def here(self) -> str:
        """(k)."""
        return f"({self.own})"

    @property
    def step(self) -> str:
        """(p,k): from k to its parent."""
        return f"({self.parent},{self.own})"

    def called(self, name: str) -> str:
        """A name of the papers, told apart from one of the user's."""
        return f"{name}_0" if name in self.taken else name


HERE, CHILD = Place(), Place("c", "k")
LETTERS = ("letter", "operator")  # of formulas: what their steps have as an option


def say(statement: Statement, arguments: Sequence[Formula], at: Place) -> Formula:
    """What a statement computes of these arguments at a body."""
    spelled = SPELLED.get(statement.step)
    if spelled is not None:
        return spelled(arguments, statement, at)
    formula = FORMULAS[statement.step]
    bound = formula.bind([*arguments, *statement.options])
    names = {x: _told(y, statement, at) if x in LETTERS else y for x, y in bound.items()}
    said = formula.evaluate(_letters(at) | _local_letters(statement, names, at) | names)
    if any(x.at is At.EACH_POINT for x in statement.arguments):
        return Over("e", said)
    return said


# -- letters at a place ------------------------------------------------------------------------


def letter_at(letter: Node, at: Place, where: str = "e") -> Formula:
    """A letter at a place, as its record describes it.

    Args:
        letter: with its arguments.
        at: the body.
        where: the point, or the column, that letters at points belong to.
    """
    if isinstance(letter, Identity):
        return Atom(at.called("I"), "", (0, 0), symmetric=True, letter=letter)
    if not isinstance(letter, Symbol):
        return Atom(f"[{printed(letter)}]", at.step, moves="in")  # an operator of one step
    record, place = letter.record, _place_of(letter, at, where)
    name = record.element or (letter.name if letter.is_scalar else str(letter))
    if record.of == "points":
        name = record.element or letter.name
    name = at.called(name) if record.alphabet is PAPERS else name
    kinds, moves = record.carries or UNKNOWN, "in" if is_one_step(letter) else ""
    return Atom(name, place, record.unit, kinds, record.symmetric, moves, letter=letter)


def _place_of(letter: Symbol, at: Place, where: str) -> str:
    if is_one_step(letter):
        return at.step
    if letter.target is letter.source is SCALAR or (letter.is_vector and letter.target is BASE):
        return ""
    if letter.source is POINTS and letter.target is not POINTS:
        return f"({at.own},{where})"
    return f"({where})" if letter.target is POINTS else at.here


def _told(letter: Node, statement: Statement, at: Place) -> Formula:
    """A letter that a statement has as an option: given, of the user's own, or a step."""
    if statement.step == "inboard_block":
        return letter_at(letter, at)
    assert isinstance(letter, Symbol)
    _, *sides = statement.options
    target, source = (*sides, None)[:2]
    kinds: Kinds = (target or None, source)
    where = {"body": at.here, "point": "(e)", "world": ""}[statement.domain.kind]
    symmetric, number = letter.record.symmetric, letter.is_scalar
    unit = letter.record.unit
    return Atom(letter.name, where, unit, kinds, symmetric, is_number=number, letter=letter)


class _OpeningAtom(Atom):
    """A letter that also opens a bracket: S(p,k), the turn of axes in phi(p,k), or S[x]."""

    def __getitem__(self, x: Formula) -> Formula:
        assert isinstance(self.letter, Symbol)
        return bracket(self.letter.name, x)


@dataclass(frozen=True)
class _Bracket:
    """cross[x], Q[x]."""

    name: str

    def __getitem__(self, x: Formula) -> Formula:
        return bracket(self.name, x)


def entry(number: int) -> Atom:
    """e_1, e_2, ...: the unit vectors of a space of the user's."""
    return Atom(f"e_{number + 1}", "", (0, 0))


@lru_cache(maxsize=64)
def _letters(at: Place) -> dict[str, Any]:
    """The letters of formulas, at a place."""
    letters: dict[str, Any] = {"e": entry, "blockdiag": lambda A: Around("blockdiag", A)}
    for name, letter in PAPERS.letters.items():
        if isinstance(letter, Opener):
            letters[name] = _Bracket(name)
        elif isinstance(letter, OpeningLetter):
            letters[name] = _OpeningAtom(**vars(letter_at(letter, at)))
        elif isinstance(letter, CallableLetter) and letter.record.of == "joint":
            letters[name] = lambda *which, letter=letter: letter_at(letter(*which), at)
        else:
            letters[name] = letter_at(letter, at)
    return letters


def _local_letters(statement: Statement, names: Mapping[str, Any], at: Place) -> dict[str, Formula]:
    """Letters at points, or of the joint that a statement passes."""
    where = "e" if statement.domain.columns is None else "j"
    letters = {x.name: letter_at(x, at, where) for x in (op.B, op.X, op.c)}
    if "G" in names and "L_star" in names:
        letters["tau_bar"] = across(names["G"], names["L_star"], at)
    return letters


def across(G: Formula, L_star: Formula, at: Place) -> Formula:
    """tau_bar(k) = I - G(k) L(k), by its letter where G has one: that of the machine's joints."""
    letter = G.letter if isinstance(G, Atom) else None
    if isinstance(letter, Symbol) and letter == op.G:
        own = (
            isinstance(L_star, Atom) and L_star.is_starred and L_star.letter == family_of(letter).L
        )
        if own:
            return letter_at(op.tau_bar, at)
    return plus((1, letter_at(op.I, at)), (-1, times(G, L_star.star())))


# -- what is spelled out -----------------------------------------------------------------------

Formulas = Sequence[Formula]


def _axis(a: Formulas, x: Statement, at: Place) -> Formula:
    """H*(i) e_a at joint i, zero elsewhere: no letter of the algebra."""
    name = f"h({', '.join(map(repr, x.options))})"
    return Atom(name, at.here, (0, 0), starred_kinds(op.H))


def starred_kinds(letter: Symbol) -> Kinds:
    """What the star of a letter carries."""
    star = letter_at(letter, HERE).star()
    return star.kinds


def _selection(a: Formulas, x: Statement, at: Place) -> Formula:
    space, *places = x.options
    return letter_at(SELECTIONS[space](*places), at)


def _unit(a: Formulas, x: Statement, at: Place) -> Formula:
    assert x.domain.columns is not None
    space, kind = x.options[0], x.domain.columns.kind
    start = f"[j on {at.own}] I" if space is POINTS else f"[j = {at.own}] I"
    return Atom(start, "", (0, 0), (kind, None))


def _potential(a: Formulas, x: Statement, at: Place) -> Formula:
    place = "(world)" if x.step == "base_potential" else at.here
    return times(Number(-1), Atom("m g.x", place, (1, -2)))


def _stacked(a: Formulas, x: Statement, at: Place) -> Formula:
    inside = [str(a[0]), "...", str(a[-1])] if len(a) > FEW else map(str, a)
    return Atom(f"[{', '.join(inside)}]", "", a[0].unit)


SPELLED: dict[str, Callable[[Formulas, Statement, Place], Formula]] = {
    "coordinates": lambda a, x, at: Atom("q", at.here),
    "transform": lambda a, x, at: Atom("q", at.here),
    "pose": lambda a, x, at: Atom(f"pose({at.parent}) moved by [R, l]", at.step),
    "zeros": lambda a, x, at: ZERO,
    "one": lambda a, x, at: Number(1),
    "axis": _axis,
    "unit_entry": lambda a, x, at: entry(x.options[0]),
    "selection": _selection,
    "unit": _unit,
    "potential": _potential,
    "base_potential": _potential,
    "convective": lambda a, x, at: Atom("[0; omega x v]", "(e)", op.c.record.unit),
    "stacked": _stacked,
}
