"""Units of quantities: rotation first, then translation, as their rows stand."""

from __future__ import annotations

from phipsi.algebra.spaces import JOINT, SCALAR
from phipsi.explain.levels.formula import Unit
from phipsi.lowering.program import Slot

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
