"""The joints of a machine as a table: kind, limits, coordinates, springs, losses, motors."""

from __future__ import annotations

import math

from rich.cells import cell_len
from rich.table import Table

from phipsi.cleaning import visible
from phipsi.cli.screen import number, table
from phipsi.model.model import Joint, Model

MOST_JOINTS = 200  # rows of the table


def joint_table(model: Model, width: int) -> tuple[Table, list[str]]:
    """A row for each joint: kind, limits, coordinates, losses; columns that say nothing left out.

    Args:
        model: the machine.
        width: what there is room for; the last columns go where there is none.

    Returns:
        the table, and the titles of the columns that it has no room for.

    >>> import phipsi as pp
    >>> from phipsi.cli.screen import Screen
    >>> made, missing = joint_table(pp.examples.planar_arm(2), 80)
    >>> Screen().print(made)
    joint    kind       q   axis
    joint1   revolute   0   0 -1 0
    joint2   revolute   1   0 -1 0
    >>> joint_table(pp.examples.planar_arm(2), 22)[1]
    ['q', 'axis']
    """
    joints = model.joints[:MOST_JOINTS]
    columns = {
        title: [visible(cell(model, joint)) for joint in joints] for title, cell in _CELLS.items()
    }
    told = {title: cells for title, cells in columns.items() if any(cells)}
    shown: list[str] = []
    for title, cells in told.items():
        width -= max(map(cell_len, (title, *cells))) + 3
        if width < 0 and shown:
            break
        shown.append(title)
    made = table(*shown, left=len(shown))
    for row in zip(*(told[title] for title in shown), strict=True):
        made.add_row(*row)
    return made, [title for title in told if title not in shown]


def kind_name(kind: object) -> str:
    """A joint's kind in a word.

    >>> from phipsi.joints import SphericalEuler
    >>> kind_name(SphericalEuler())
    'sphericaleuler'
    """
    return type(kind).__name__.lower()


def shifted(text: str, offset: float) -> str:
    """A term and a constant, left out where it is zero.

    >>> shifted("2 elbow", -0.5)
    '2 elbow - 0.5'
    """
    return f"{text} {'+' if offset > 0 else '-'} {number(abs(offset))}" if offset else text


def _axis(model: Model, joint: Joint) -> str:
    axis = getattr(joint.kind, "axis", None)
    return "" if axis is None else " ".join(number(x, 3) for x in axis)


def _coordinates(model: Model, joint: Joint) -> str:
    if joint.mimic is not None:
        leader = model.joints[joint.mimic.source].name
        return shifted(f"{number(joint.mimic.ratio)} {leader}", joint.mimic.offset)
    first, last = joint.q.start, joint.q.stop - 1
    return f"{first}" if first == last else f"{first} to {last}"


def _limits(model: Model, joint: Joint) -> str:
    lower, upper = joint.limits.lower, joint.limits.upper
    if math.isinf(lower) and math.isinf(upper):
        return ""
    return f"{number(lower)} to {number(upper)}"


def _spring(model: Model, joint: Joint) -> str:
    if not joint.stiffness:
        return ""
    rest = f" at {' '.join(map(number, joint.rest))}" if any(joint.rest) else ""
    return f"{number(joint.stiffness)}{rest}"


def _finite(x: float) -> str:
    return number(x) if math.isfinite(x) else ""


def _positive(x: float) -> str:
    return number(x) if x else ""


_CELLS = {
    "joint": lambda model, joint: joint.name,
    "kind": lambda model, joint: kind_name(joint.kind),
    "limits, rad or m": _limits,
    "q": _coordinates,
    "effort": lambda model, joint: _finite(joint.limits.effort),
    "speed": lambda model, joint: _finite(joint.limits.velocity),
    "spring": _spring,
    "damping": lambda model, joint: _positive(joint.damping),
    "friction": lambda model, joint: _positive(joint.friction),
    "axis": _axis,
    "rotor, kg m^2": lambda model, joint: _positive(joint.reflected_inertia),
}
