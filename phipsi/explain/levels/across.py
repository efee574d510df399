"""Across a free joint: D, G, what is passed on, in the lines of the program that runs."""

from __future__ import annotations

from phipsi.algebra import operators as op
from phipsi.explain.levels.meanings import VIEWS
from phipsi.explain.levels.notation import Notation, Quantity
from phipsi.lowering.program import Slot

GAINS, RELIEFS = ("gain", "gain_any"), ("relieve", "relieve_any")
MEANINGS = {  # mechanics, estimation; of the mass operator
    "D": ("inertia that resists the joint's motion", "covariance of the innovation"),
    "G": ("force at the body for a unit of force in the joint", "Kalman gain"),
    "tau_bar": (
        "what of a force the free joint passes on",
        "the update: what the measurement leaves of the error",
    ),
    "P+": (
        "inertia as felt through the joint: none about its axes, unless a rotor resists",
        "covariance after the update",
    ),
    "H P+": (
        "without a rotor: a free joint transmits no force along its axes",
        "without measurement noise: what was measured is known",
    ),
}
OF_OTHERS = {  # of other operators
    "D": ("what resists at the joint", "covariance of the innovation"),
    "G": ("what is felt at the body of a unit at the joint", "Kalman gain"),
    "tau_bar": ("what is passed on", "the update: what the measurement leaves of the error"),
    "P+": ("what is felt of the body through the joint", "covariance after the update"),
    "H P+": ("nothing of it is left where the joint gives way", "what was measured is known"),
}


def across_joints(notation: Notation, view: str) -> list[list[str]]:
    """Of each family of articulated letters its lines, and what they mean."""
    rows = []
    for x in notation.quantities:
        if x.statement.step in GAINS:
            rows += _family(notation, x, VIEWS.index(view))
    return rows


def _family(notation: Notation, G: Quantity, view: int) -> list[list[str]]:
    is_letter = notation.letters.get(G.slot) == op.G
    meanings = MEANINGS if is_letter else OF_OTHERS
    by_slot = {x.slot: x for x in notation.quantities}
    L = notation.value(G.statement.arguments[1].slot).star()
    lines = {"D": _pivot(notation, by_slot, G), "G": G.line}
    passed = f"I - {G.name}(k) {L.inside(1)}"
    lines["tau_bar"] = f"tau_bar(k) = {passed}" if is_letter else passed
    relieved = next((x for x in by_slot.values() if _relieves(x, G.slot)), None)
    if relieved is not None:
        P = notation.name(relieved.statement.arguments[0].slot)
        right = f"tau_bar(k) {P}(k)" if is_letter else f"[{passed}] {P}(k)"
        lines["P+"] = f"{relieved.name}(k) = {right}"
        if is_letter or _is_noiseless(notation, G):
            lines["H P+"] = f"{L.inside(1)} {relieved.name}(k) = 0"
    return [[text, meanings[name][view]] for name, text in lines.items() if text]


def _relieves(x: Quantity, G: Slot) -> bool:
    return x.statement.step in RELIEFS and any(read.slot == G for read in x.statement.arguments)


def _pivot(notation: Notation, by_slot: dict[Slot, Quantity], G: Quantity) -> str:
    """The line of D, which G divides by; empty where it has no name."""
    for read in G.statement.arguments:
        maker = notation.maker_of(read.slot)
        if maker.step in ("pivot_factor", "pivot_inverse") and maker.arguments:
            slot = maker.arguments[0].slot
            if slot in by_slot:
                return by_slot[slot].line
    return ""


def _is_noiseless(notation: Notation, G: Quantity) -> bool:
    """Whether D = L P L*, with nothing added."""
    arguments = G.statement.arguments
    return G.statement.step == "gain" and notation.maker_of(arguments[2].slot).step == "zeros"
