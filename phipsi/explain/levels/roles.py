"""What an intermediate quantity means: by its letter, by its role, and by how it is made."""

from __future__ import annotations

import re

from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.spaces import Space
from phipsi.explain.levels.formula import Atom, Formula, Over, Plus, Times
from phipsi.explain.levels.meanings import LETTERS, ROLES, Meaning
from phipsi.explain.levels.notation import Notation, Quantity

# what the first factor of a product does to the rest
PHRASES = {
    "phi": "summed over all outboard, carried to k",
    "psi": "summed over all outboard, carried to k",
    "H": "the part along the axes of joint k",
    "H*": "as a motion of body k",
    "M": "as a force of body k",
    "D^-1": "divided by the inertia of the joint",
    "G": "as felt at the body",
}


def meaning_of(notation: Notation, quantity: Quantity, view: str) -> str:
    """What a quantity is, in one of the two views."""
    name = base_of(quantity.name)
    letter = notation.letters.get(quantity.slot)
    if letter is not None:
        return letter_or_role(letter, name).by(view)
    if quantity.slot.domain.kind == "column":
        return _column(quantity, view)
    if name.endswith("+") and name != "P+":
        if view == "estimation":
            return "adjoint variable, predicted outward to body k"
        what = {"V": "velocity", "alpha": "acceleration"}.get(name[:-1], "motion")
        return f"{what} of the parent at the frame of k: what joint k adds its own to"
    if name == "a" and quantity.slot.name != "a":
        added = "acceleration that body k adds", "input of the smoother at body k"
        return added[view == "estimation"]
    rows = quantity.slot.shape.rows
    if isinstance(rows, Space) and rows.is_own:
        return f"vector of {rows}"
    if name == "z" and not notation.uses.is_filter(quantity.slot):
        name = "z locked"
    meaning = ROLES.get(name) or LETTERS.get(name)
    text = (meaning or ROLES["x"]).by(view)
    if name in ("f", "alpha", "V") and quantity.slot.name != name:
        text = _partial(name, quantity, view)
    phrase = _phrase(quantity.formula)
    if name in ("x", "A", "y", "s", "x_C", "x_0") and phrase:
        return f"{text}: {phrase}"
    return text


def base_of(name: str) -> str:
    """A name without the number that tells it from others."""
    return name if name in ("x_0", "x_C") else re.sub(r"_\d+$", "", name)


def letter_or_role(letter: Node, name: str) -> Meaning:
    """The meaning of a letter that a quantity holds."""
    if name in ROLES and name == "P+":
        return ROLES[name]
    assert isinstance(letter, Symbol)
    return LETTERS[letter.name]


def _partial(name: str, quantity: Quantity, view: str) -> str:
    """f, alpha or V of some of the causes alone; which, the formula says."""
    if view == "estimation":
        return LETTERS[name].estimation
    what = {"f": "force across joint k", "alpha": "acceleration", "V": "velocity"}[name]
    causes = [CAUSES[x.name] for x in quantity.formula.atoms() if x.name in CAUSES]
    unique = list(dict.fromkeys(causes))
    if not unique:
        return LETTERS[name].mechanics
    where = "" if name == "f" else " of body k"
    return f"{what}{where}, by {_listed(unique)}"


CAUSES = {
    "w": "the forces of the bodies outboard",
    "a": "Coriolis effects",
    "gravity": "gravity",
    "beta": "the joint speeds",
    "beta_dot": "the joint accelerations",
    "f0": "the forces at points",
    "b": "gyroscopic forces",
    "nu": "the joint forces",
}


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _column(quantity: Quantity, view: str) -> str:
    what = "force" if quantity.kinds[0] == "force" else "motion"
    if view == "estimation":
        what = "state" if what == "force" else "adjoint variable"
    return f"column j of a matrix, block k of it: the {what} at k by a unit at j"


def _phrase(formula: Formula) -> str:
    """What the outermost operator of a formula does."""
    if isinstance(formula, Over):
        return PHRASES["phi"]
    if isinstance(formula, Plus):
        return next((_phrase(x) for _, x in formula.terms if isinstance(x, Over)), "")
    first = formula.factors[0] if isinstance(formula, Times) else formula
    if isinstance(first, Atom):
        return PHRASES.get(first.text().split("(")[0], "")
    return ""
