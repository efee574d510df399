"""What an intermediate quantity means: by its letter, its role, how it is made; and its units."""

from __future__ import annotations

import re

from phipsi.algebra import operators as op
from phipsi.algebra.alphabet import PAPERS, Letter
from phipsi.algebra.node import Node, Product, Symbol
from phipsi.algebra.spaces import COORDINATES, JOINT, SCALAR, Space
from phipsi.explain.levels.formula import Atom, Formula, Over, Plus, Times, Unit
from phipsi.explain.levels.meanings import OF_OTHERS, ROLES, Meaning
from phipsi.explain.levels.notation import Notation, Quantity
from phipsi.lowering.program import Slot

# what the first factor of a product does to the rest
SUMS = {
    "c": "summed over the children of k, carried to it",
    "e": "summed over the points",
    "k": "summed over all bodies",
}
ALL_OUTBOARD = "summed over all outboard, carried to k"
PHRASES = {
    "H": "the part along the axes of joint k",
    "H*": "as a motion of body k",
    "M": "as a force of body k",
    "D^-1": "divided by the inertia of the joint",
    "G": "as felt at the body",
}


def meaning_of(notation: Notation, quantity: Quantity, view: str, form: Node | None = None) -> str:
    """What a quantity is, in one of the two views.

    Args:
        form: of it as an operator expression, where it has one.
    """
    name = base_of(quantity.name)
    letter = notation.letters.get(quantity.slot)
    if letter is not None:
        return letter_or_role(letter, name).by(view)
    if name in OF_OTHERS and quantity.is_block:
        return OF_OTHERS[name].by(view)
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
    if name == "A" and quantity.slot.domain.kind == "world":
        return "matrix of the whole machine"
    role = _role(notation, quantity, name, form)
    known = PAPERS.letters.get(role)
    meaning = ROLES.get(role) or (known.record if isinstance(known, Symbol) else ROLES["x"])
    text = meaning.by(view)
    partial = next((x for x in (op.f, op.alpha, op.V) if x.name == role), None)
    if partial is not None and quantity.slot.name != role:
        text = _partial(partial, quantity, view)
    if role == "x" and quantity.kinds[0] and view == "mechanics":
        text = f"{quantity.kinds[0]} at body k"
    phrase = _phrase(quantity.formula, notation.uses.is_recursive(quantity.slot))
    if role in ("x", "A", "y", "s", "x_C", "x_0") and phrase:
        return f"{text}: {phrase}"
    return text


def _role(notation: Notation, quantity: Quantity, name: str, form: Node | None) -> str:
    """The role of a quantity, by its name and by what carries it from body to body."""
    slot = quantity.slot
    if name == "s" and slot.shape.rows is COORDINATES:
        return "s coordinates"
    if name == "y" and _is_smoothed(quantity.formula):
        return "y smoothed"
    if name in GIVING_WAY and _is_of_others(notation):
        is_filter = name != "z" or notation.uses.is_filter(slot)
        if is_filter:
            return f"{name} given way"
    if name not in CARRIED or not notation.uses.is_recursive(slot):
        return name
    if name == "z" and notation.uses.is_filter(slot):
        return name
    first = form.factors[0] if isinstance(form, Product) else form
    if first in ((op.phi, op.psi) if name in INWARD else (op.phi.T, op.psi.T)):
        return "z locked" if name == "z" else name
    return "z other" if name in INWARD else "motion other"


def _is_of_others(notation: Notation) -> bool:
    """Whether some joints give way as in other operators than the mass operator."""
    gains = (x for x in notation.quantities if base_of(x.name) == "G")
    return any(x.slot not in notation.letters for x in gains)


GIVING_WAY = ("z", "eps", "nu")
INWARD = ("z", "f", "h")
CARRIED = (*INWARD, "V", "alpha")


def _is_smoothed(formula: Formula) -> bool:
    """Whether it is nu(k) - G*(k) lambda+(k)."""
    if not isinstance(formula, Plus):
        return False
    first = [x for sign, x in formula.terms if sign > 0]
    taken = [x for sign, x in formula.terms if sign < 0]
    return (
        [base_of(x.text().split("(")[0]) for x in first] == ["nu"]
        and len(taken) == 1
        and isinstance(taken[0], Times)
        and isinstance(taken[0].factors[0], Atom)
        and base_of(taken[0].factors[0].name) == "G"
        and taken[0].factors[0].is_starred
    )


def base_of(name: str) -> str:
    """A name without the number that tells it from others."""
    return name if name in ("x_0", "x_C") else re.sub(r"_\d+$", "", name)


def letter_or_role(letter: Node, name: str) -> Meaning | Letter:
    """The meaning of a letter that a quantity holds."""
    if name in ROLES and name == "P+":
        return ROLES[name]
    assert isinstance(letter, Symbol)
    return letter.record


def _partial(letter: Symbol, quantity: Quantity, view: str) -> str:
    """f, alpha or V of some of the causes alone; which, the formula says."""
    if view == "estimation":
        return letter.record.estimation
    name = letter.name
    what = {"f": "force across joint k", "alpha": "acceleration", "V": "velocity"}[name]
    causes = [CAUSES[x.name] for x in quantity.formula.atoms() if x.name in CAUSES]
    unique = list(dict.fromkeys(causes))
    if not unique:
        return letter.record.mechanics
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


def _phrase(formula: Formula, is_recursive: bool) -> str:
    """What the outermost operator of a formula does."""
    if isinstance(formula, Over):
        return ALL_OUTBOARD if formula.index == "c" and is_recursive else SUMS[formula.index]
    if isinstance(formula, Plus):
        sums = (_phrase(x, is_recursive) for _, x in formula.terms if isinstance(x, Over))
        return next(sums, "") if is_recursive else ""
    first = formula.factors[0] if isinstance(formula, Times) else formula
    if isinstance(first, Atom):
        return PHRASES.get(first.text().split("(")[0], "")
    return ""


# -- units: rotation first, then translation, as rows stand ----------------------------------------

VECTORS = {
    (0, 0): "rad, m",
    (0, -1): "rad/s, m/s",
    (0, -2): "rad/s^2, m/s^2",
    (1, 0): "kg m^2, kg m",
    (1, -1): "N m s, N s",
    (1, -2): "N m, N",
}
BLOCKS = {(1, 0): "kg m^2, kg m, kg", (-1, 0): "1/(kg m^2), 1/(kg m), 1/kg"}
JOINT_BLOCKS = {(1, 0): "kg m^2 or kg", (-1, 0): "1/(kg m^2) or 1/kg"}
NUMBERS = {(1, -2): "J", (1, -3): "W"}


def unit_text(unit: Unit, slot: Slot) -> str:
    """The units of a quantity, or nothing where they are not known.

    Of joints the first is that of a turn, the second that of a slide.
    """
    if unit is None:
        return ""
    rows = slot.shape.rows
    if rows is slot.shape.columns is JOINT:
        return JOINT_BLOCKS.get(unit, "")
    if rows == 10 or slot.shape.is_matrix:
        return BLOCKS.get(unit, "")
    if slot.domain.kind == "column":
        return ""
    if rows == 1 or rows is SCALAR:
        return NUMBERS.get(unit, "")
    text = VECTORS.get(unit, "")
    return text.replace(", ", " or ") if rows is JOINT else text
