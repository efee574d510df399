"""Names of intermediate quantities: letters where they are letters, the papers' names elsewhere.

z      a force that a filter carries inward through free joints: its predicted state
eps    what joint k is given, less what the filter foresees: the innovation
nu     D^-1 eps, the normalized innovation
f, h   forces and momenta carried inward through locked joints
V      velocities, alpha accelerations, carried outward; a + behind: just inboard of the joint
w      a force that belongs to one body alone
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping
from typing import TYPE_CHECKING

from phipsi.algebra import operators as op
from phipsi.algebra.node import Node
from phipsi.algebra.spaces import BASE, BODY, COORDINATES, JOINT, POINTS, POSE, Space
from phipsi.explain.levels.formula import Unit
from phipsi.lowering.program import Slot, Statement

if TYPE_CHECKING:
    from phipsi.explain.levels.notation import Notation

OF_THE_MACHINE = {"P", "P+", "D", "G", "R", "Y"}  # what other operators have too, in their way
MakerOf = Callable[[Slot], Statement]
ARTICULATED = {"P": op.P, "D": op.D, "G": op.G, "P+": op.tau_bar @ op.P}


# -- letters ---------------------------------------------------------------------------------


def letters_of_slots(maker_of: MakerOf, slots: Mapping[Slot, object]) -> dict[Slot, Node]:
    """Of the slots that hold a letter of the algebra, which.

    P, D and G of other operators than the mass operator go by the same names, but are not the
    letters; what they are made of tells them apart.
    """
    letters: dict[Slot, Node] = {}
    for slot in slots:
        step = maker_of(slot).step
        if step in ("relieve", "gain") and _is_of_the_mass_operator(maker_of, slot):
            reads = [x.slot for x in maker_of(slot).arguments]
            letters[slot] = ARTICULATED["P+" if step == "relieve" else "G"]
            letters[reads[0]] = op.P
            letters[maker_of(reads[3]).arguments[0].slot] = op.D
        elif step == "rigid_matrix":
            letters[maker_of(slot).arguments[0].slot] = op.R
        elif step == "pose":
            letters[slot] = op.pose
    for slot in slots:
        if slot.name == "Y" and _is_upsilon(maker_of, slot, letters):
            letters[slot] = op.Y
    return letters


def _is_of_the_mass_operator(maker_of: MakerOf, slot: Slot) -> bool:
    """Whether P = M + sum_c phi P+ phi*, D = H P H* + Jm."""
    P, L_star, N, *_ = (x.slot for x in maker_of(slot).arguments)
    made = maker_of(P)
    if made.step != "add_blocks":
        return False
    carried, W = (maker_of(x.slot) for x in made.arguments)
    if carried.step != "carry" or maker_of(carried.arguments[1].slot).step != "relieve":
        return False
    return (maker_of(L_star).step, maker_of(N).step, W.step) == (
        "joint_map",
        "rotor_inertia",
        "inertia",
    )


def _is_upsilon(maker_of: MakerOf, slot: Slot, letters: Mapping[Slot, Node]) -> bool:
    """Whether Y = psi* Y psi + H* D^-1 H."""
    made = maker_of(slot)
    if made.step != "add_blocks":
        return False
    carried, W = (maker_of(x.slot) for x in made.arguments)
    if not carried.step == W.step == "congruence_transposed":
        return False
    across, back = (maker_of(x.slot) for x in carried.arguments)
    H, D_inverse = (maker_of(x.slot) for x in W.arguments)
    return (
        (across.step, back.step) == ("pass_matrix", "carry_back")
        and letters.get(across.arguments[0].slot) == op.G
        and back.arguments[1].slot == slot
        and (H.step, D_inverse.step) == ("transpose", "pivot_inverse")
        and maker_of(H.arguments[0].slot).step == "joint_map"
        and letters.get(maker_of(D_inverse.arguments[0].slot).arguments[0].slot) == op.D
    )


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
    letter = notation.letters.get(slot)
    if letter is not None:
        return "P+" if letter == ARTICULATED["P+"] else str(letter)
    if slot.name not in (maker.step, "z") and maker.step != "newton_euler":
        return slot.name
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
    maker = notation.uses.maker_of(slot)
    if maker.step != "add":
        return "x"
    start, pushed = (notation.uses.maker_of(x.slot) for x in maker.arguments)
    if start.step != "unit" or pushed.step != "inward" or start.options[0] is not BODY:
        return "x"
    inner = pushed.arguments[1].slot
    if inner == slot:
        return "phi"
    passed = notation.uses.maker_of(inner)
    through = passed.step == "pass_force" and passed.arguments[3].slot == slot
    return "psi" if through and notation.letters.get(passed.arguments[0].slot) == op.G else "x"


def _joint_name(notation: Notation, slot: Slot, maker: Statement) -> str:
    solves = maker.step == "pivot_solve" or (
        maker.step == "apply" and maker.arguments[0].slot.name == "D^-1"
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
