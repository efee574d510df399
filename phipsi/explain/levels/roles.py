"""What an intermediate quantity means: by its letter, its role, how it is made; and its units."""

from __future__ import annotations

import re

from phipsi.algebra import operators as op
from phipsi.algebra.alphabet import FORCE, PAPERS, Letter
from phipsi.algebra.node import Node, Product, Symbol
from phipsi.algebra.spaces import BODY, COORDINATES, JOINT, SCALAR, Space
from phipsi.explain.levels.formula import Atom, Formula, Over, Plus, Times, Unit
from phipsi.explain.levels.meanings import ROLES
from phipsi.explain.levels.notation import Notation, Quantity
from phipsi.lowering.program import Slot

# what the first factor of a product does to the rest
SUMS = {
    "c": "summed over the children of k, carried to it",
    "e": "summed over the points",
    "k": "summed over all bodies",
}
ALL_OUTBOARD = "summed over all outboard, carried to k"
YOURS = "your own letter"
CAUSES = {"w": "the forces of the bodies outboard", "nu": "the joint forces"}  # of quantities
OF_BODIES = " of body k"


def meaning_of(notation: Notation, quantity: Quantity, view: str, form: Node | None = None) -> str:
    """What a quantity is, in one of the two views.

    Args:
        form: of it as an operator expression, where it has one.
    """
    name, record = base_of(quantity.name), notation.record_of(quantity.slot)
    if record is not None and (quantity.slot in notation.letters or record.alphabet is not PAPERS):
        return record.by(view) or YOURS
    other = notation.recursion_of(quantity.slot)
    if other is not None:
        return other.elsewhere[view != "mechanics"]
    if quantity.slot.domain.kind == "column":
        return _column(quantity, view)
    if name.endswith("+"):
        if view == "estimation":
            return "adjoint variable, predicted outward to body k"
        effect = _effect_of(name[:-1])
        what = effect.removesuffix(OF_BODIES) if effect.endswith(OF_BODIES) else "motion"
        return f"{what} of the parent at the frame of k: what joint k adds its own to"
    if name == "a" and record is None:
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
    if isinstance(known, Symbol) and known.record.effect and record is None:
        text = _partial(notation, known.record, quantity, view)
    if role == "x" and quantity.kinds[0] and view == "mechanics":
        text = f"{quantity.kinds[0]} at body k"
    phrase = _phrase(quantity.formula, notation.uses.is_recursive(quantity.slot), view)
    if role in ("x", "A", "y", "s", "x_C", "x_0") and phrase:
        return f"{text}: {phrase}"
    return text


def _role(notation: Notation, quantity: Quantity, name: str, form: Node | None) -> str:
    """The role of a quantity, by its name and by what carries it from body to body."""
    slot = quantity.slot
    if name == "s" and slot.shape.rows is COORDINATES:
        return "s coordinates"
    if name == "lambda" and not _is_of_a_kind(quantity.unit, quantity.kinds[0]):
        return "lambda of no motion"
    if name == "y" and _is_smoothed(notation, quantity.formula):
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
    return any(
        x.statement.step in GAINS and x.slot not in notation.letters for x in notation.quantities
    )


GAINS = ("gain", "gain_any")
GIVING_WAY = ("z", "eps", "nu")
INWARD = ("z", "f", "h")
CARRIED = (*INWARD, "V", "alpha")


def _is_smoothed(notation: Notation, formula: Formula) -> bool:
    """Whether it is nu(k) - G*(k) lambda+(k)."""
    if not isinstance(formula, Plus):
        return False
    first = [x for sign, x in formula.terms if sign > 0]
    taken = [x for sign, x in formula.terms if sign < 0]
    if len(first) != 1 or len(taken) != 1 or not isinstance(taken[0], Times):
        return False
    nu, G = first[0], taken[0].factors[0]
    return (
        isinstance(nu, Atom)
        and isinstance(G, Atom)
        and nu.slot is not None
        and notation.base(nu.slot) == "nu"
        and G.slot is not None
        and notation.maker_of(G.slot).step in GAINS
        and G.is_starred
    )


def _is_of_a_kind(unit: Unit, kind: str | None) -> bool:
    """Whether a body vector of this unit is a force, or a motion, as it transforms; if known."""
    return unit is None or kind is None or (unit[0] == 1) == (kind == FORCE)


def base_of(name: str) -> str:
    """A name without the number that tells it from others."""
    return name if name in ("x_0", "x_C") else re.sub(r"_\d+$", "", name)


def _effect_of(name: str) -> str:
    """Of the name of a motion or force that others bring about, what it is; "" of others."""
    known = PAPERS.letters.get(name)
    return known.record.effect if isinstance(known, Symbol) else ""


def _partial(notation: Notation, whole: Letter, quantity: Quantity, view: str) -> str:
    """f, alpha or V of some of the causes alone; which, the formula says."""
    if view == "estimation":
        return whole.estimation
    causes = (_cause(notation, x) for x in quantity.formula.atoms())
    unique = list(dict.fromkeys(x for x in causes if x))
    return f"{whole.effect}, by {_listed(unique)}" if unique else whole.mechanics


def _cause(notation: Notation, atom: Atom) -> str:
    """What brings about the motions and forces that a formula adds up; "" where it says nothing."""
    if isinstance(atom.letter, Symbol):
        return atom.letter.record.causes
    record = None if atom.slot is None else notation.record_of(atom.slot)
    if record is not None:
        return record.causes
    return "" if atom.slot is None else CAUSES.get(base_of(notation.base(atom.slot)), "")


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _column(quantity: Quantity, view: str) -> str:
    what = "force" if quantity.kinds[0] == "force" else "motion"
    if view == "estimation":
        what = "state" if what == "force" else "adjoint variable"
    return f"column j of a matrix, block k of it: the {what} at k by a unit at j"


def _phrase(formula: Formula, is_recursive: bool, view: str) -> str:
    """What the outermost operator of a formula does."""
    if isinstance(formula, Over):
        return ALL_OUTBOARD if formula.index == "c" and is_recursive else SUMS[formula.index]
    if isinstance(formula, Plus):
        sums = (_phrase(x, is_recursive, view) for _, x in formula.terms if isinstance(x, Over))
        return next(sums, "") if is_recursive else ""
    first = formula.factors[0] if isinstance(formula, Times) else formula
    if isinstance(first, Atom) and isinstance(first.letter, Symbol):
        return first.letter.record.act(first.marks, view)
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


def unit_text(unit: Unit, slot: Slot, kind: str | None = None) -> str:
    """The units of a quantity, or nothing where they are not known.

    Of joints the first is that of a turn, the second that of a slide. A body vector that
    transforms as a motion and was given as a force has no unit that all its rows share.
    """
    rows = slot.shape.rows
    if unit is None or (
        rows is BODY and not slot.shape.is_matrix and not _is_of_a_kind(unit, kind)
    ):
        return ""
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
