"""What each step of a program says at one body: its formula, its letters at their places.

A step is defined with its formula, `E_phi @ f`; here the letters of such formulas get their places,
phi(p,k) f(k). Only what has no formula of others is spelled out: inputs, units, what a body has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from phipsi.algebra import operators as op
from phipsi.algebra.elements import SELECTIONS
from phipsi.algebra.node import Symbol
from phipsi.algebra.spaces import POINTS, SCALAR
from phipsi.explain.levels.formula import (
    UNKNOWN,
    ZERO,
    Around,
    Atom,
    Formula,
    Number,
    Over,
    plus,
    times,
)
from phipsi.explain.levels.layout import printed
from phipsi.explain.levels.rows import FEW
from phipsi.lowering.program import At, Statement
from phipsi.lowering.visitor import FORMULAS

FORCE, MOTION = "force", "motion"


@dataclass(frozen=True)
class Place:
    """Where a formula stands: at body `own`, whose parent is `parent`."""

    own: str = "k"
    parent: str = "p"

    @property
    def here(self) -> str:
        """(k)."""
        return f"({self.own})"

    @property
    def step(self) -> str:
        """(p,k): from k to its parent."""
        return f"({self.parent},{self.own})"


HERE, CHILD = Place(), Place("c", "k")


def say(statement: Statement, arguments: Sequence[Formula], at: Place) -> Formula:
    """What a statement computes of these arguments at a body."""
    spelled = SPELLED.get(statement.step)
    if spelled is not None:
        return spelled(arguments, statement, at)
    formula = FORMULAS[statement.step]
    names = formula.bind([*arguments, *statement.options])
    said = formula.evaluate(_letters(at) | _local_letters(statement, names, at) | names)
    if any(x.at is At.EACH_POINT for x in statement.arguments):
        return Over("e", said)
    return said


# -- letters at a place ------------------------------------------------------------------------


def phi(at: Place) -> Atom:
    """phi(p,k)."""
    return Atom("phi", at.step, (0, 0), (FORCE, FORCE), moves="in")


def selection(at: Place) -> Atom:
    """S_q(k)."""
    return Atom("S_q", at.here, (0, 0))


def point_lever(place: str) -> Atom:
    """phi(k,e): from a point e to the frame of its body."""
    return Atom("phi", place, (0, 0), (FORCE, None))


def entry(number: int) -> Atom:
    """e_1, e_2, ...: the unit vectors of a space of the user's."""
    return Atom(f"e_{number + 1}", "", (0, 0))


class _Shift(Atom):
    """S(p,k), the turn of axes in phi(p,k) without its lever; or the bracket S[x]."""

    def __getitem__(self, x: Formula) -> Formula:
        return Around("S", x, (FORCE, FORCE))


@dataclass(frozen=True)
class _Bracket:
    """cross[x], Q[x]: what they make of a motion."""

    name: str
    target: str

    def __getitem__(self, x: Formula) -> Formula:
        return Around(self.name, x, (self.target, MOTION))


@lru_cache(maxsize=64)
def _letters(at: Place) -> dict[str, Any]:
    """The letters of formulas, at a place."""
    here = at.here
    return {
        "E_phi": phi(at),
        "S": _Shift("S", at.step, (0, 0), moves="in"),
        "Delta_phi": Atom("Delta_phi", here, (0, 0), (FORCE, FORCE)),
        "M": Atom("M", here, (1, 0), (FORCE, MOTION), symmetric=True),
        "Jm": Atom("Jm", here, (1, 0), symmetric=True),
        "H": Atom("H", here, (0, 0), (None, FORCE)),
        "H_dot": Atom("H_dot", here, (0, -1), (None, FORCE)),
        "E": Atom("E", here, (0, 0), (MOTION, None)),  # phi*(0,k) at a root k
        "S_q": selection(at),
        "I": Atom("I", "", (0, 0), symmetric=True),
        "beta": Atom("beta", here, (0, -1)),
        "gravity": Atom("gravity", "", (0, -2)),
        "cross": _Bracket("cross", MOTION),
        "Q": _Bracket("Q", FORCE),
        "e": entry,
        "blockdiag": lambda A: Around("blockdiag", A),
        "Gamma_delta": lambda *which: Atom(
            str(op.Gamma_delta(*which)), here, (0, 0), (MOTION, None)
        ),
    }


def _local_letters(statement: Statement, names: Mapping[str, Any], at: Place) -> dict[str, Formula]:
    """Letters at points, or of the joint that a statement passes."""
    walks = statement.domain.columns is not None
    where = "j" if walks else "e"
    letters: dict[str, Formula] = {
        "B": point_lever(f"({at.own},{where})"),
        "X": Atom("X", f"({where})", (0, 0)),
    }
    if "G" in names and "L_star" in names:
        letters["tau_bar"] = across(names["G"], names["L_star"], at)
    return letters


def across(G: Formula, L_star: Formula, at: Place) -> Formula:
    """tau_bar(k) = I - G(k) H(k), by its letter where G is that of the machine's own joints."""
    if isinstance(G, Atom) and G.name == "G" and isinstance(L_star, Atom) and L_star.name == "H":
        return Atom("tau_bar", at.here, (0, 0), (FORCE, FORCE))
    return plus((1, Atom("I", "", (0, 0), symmetric=True)), (-1, times(G, L_star.star())))


# -- what is spelled out -----------------------------------------------------------------------

Formulas = Sequence[Formula]


def _where(x: Statement, at: Place) -> str:
    return {"body": at.here, "point": "(e)", "world": ""}[x.domain.kind]


def _given(a: Formulas, x: Statement, at: Place) -> Formula:
    letter, kind = x.options
    number = letter.target is SCALAR
    unit = letter.record.unit
    return Atom(letter.name, _where(x, at), unit, (kind or None, None), is_number=number)


def _given_block(a: Formulas, x: Statement, at: Place) -> Formula:
    letter, target, source = x.options
    return Atom(letter.name, _where(x, at), None, (target, source))


def _own_vector(a: Formulas, x: Statement, at: Place) -> Formula:
    letter, kind = x.options
    return Atom(letter.name, at.here, None, (kind, None))


def _own_block(a: Formulas, x: Statement, at: Place) -> Formula:
    letter, target, source = x.options
    return Atom(letter.name, at.here, None, (target, source), letter.symmetric)


def _inboard_block(a: Formulas, x: Statement, at: Place) -> Formula:
    """E(p,k) of a letter of one step, or of another operator of one step."""
    (E,) = x.options
    if isinstance(E, Symbol):
        return Atom(E.name, at.step, E.record.unit, E.record.carries or UNKNOWN, moves="in")
    return Atom(f"[{printed(E)}]", at.step, moves="in")


def _axis(a: Formulas, x: Statement, at: Place) -> Formula:
    """H*(i) e_a at joint i, zero elsewhere: no letter of the algebra."""
    name = f"h({', '.join(map(repr, x.options))})"
    return Atom(name, at.here, (0, 0), (MOTION, None))


def _selection(a: Formulas, x: Statement, at: Place) -> Formula:
    space, *places = x.options
    return Atom(str(SELECTIONS[space](*places)), at.here, (0, 0), symmetric=True)


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
    "given": _given,
    "given_block": _given_block,
    "own_vector": _own_vector,
    "own_vector_of_q": _own_vector,
    "own_block": _own_block,
    "own_block_of_q": _own_block,
    "axis": _axis,
    "inboard_block": _inboard_block,
    "unit_entry": lambda a, x, at: entry(x.options[0]),
    "selection": _selection,
    "unit": _unit,
    "potential": _potential,
    "base_potential": _potential,
    "convective": lambda a, x, at: Atom("[0; omega x v]", "(e)", (0, -2)),
    "stacked": _stacked,
}
