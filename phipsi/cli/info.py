"""`phipsi info`: what a machine is made of."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Annotated

import numpy as np
from cyclopts import Parameter
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from phipsi import dynamics
from phipsi.cli.drawing import draw_tree
from phipsi.cli.machine import AS_WRITTEN, Reading, is_bundled, read_machine
from phipsi.cli.screen import Screen, facts, heading, number, plural, table
from phipsi.model.model import Joint, Model

MOST_JOINTS = 200  # rows of the table
MOST_REMARKS = 30
PLURALS = {"mesh": "meshes", "box": "boxes"}


def info(file: str, /, *, reading: Annotated[Reading, Parameter(name="*")] = AS_WRITTEN) -> None:
    """Show what a machine is made of, and what is odd about its file.

    Args:
        file: a URDF file, or a machine of phipsi's own: spacecraft, puma560, chain:20 ...
        reading: of the file.
    """
    model = read_machine(file, reading)
    screen = Screen()
    screen.print(Text(model.name, style="bold"))
    screen.print(facts(_facts(model, file)))
    if model.bodies:
        screen.print(heading("Bodies, the joints that carry them, masses"))
        screen.print(draw_tree(model))
        screen.print(heading("Joints"))
        joints, missing = joint_table(model, screen.width)
        screen.print(joints)
        _print_rest(screen, len(model.joints) - MOST_JOINTS)
        if missing:
            screen.print(f"on a wider terminal: {', '.join(missing)}")
    if model.report:
        screen.print(heading(plural(len(model.report), "remark")))
        for line in model.report[:MOST_REMARKS]:
            screen.print(line, soft_wrap=True)
        _print_rest(screen, len(model.report) - MOST_REMARKS)


def _print_rest(screen: Screen, count: int) -> None:
    if count > 0:
        screen.print(f"... and {count:,} more")


def _facts(model: Model, file: str) -> dict[str, str]:
    """What can be said in a line each."""
    followers = len(model.joints) - len(model.leaders)
    fixed = model.base_inertia.mass
    found = {
        "from": "phipsi's own machines" if is_bundled(file) else file,
        "bodies": f"{len(model.bodies):,}",
        "joints": f"{len(model.joints):,}",
        "freedoms": f"{model.nv:,}, in {plural(model.nq, 'coordinate')}",
        "mass": f"{number(model.mass)} kg",
    }
    if followers:
        found["joints"] += f", of which {plural(followers, 'follows another', 'follow others')}"
    if fixed:
        found["mass"] += f", of which {number(fixed)} kg on the world"
    if model.mass > 0.0:
        found["mass centre"] = f"{_vector(mass_centre(model))} m, joints at neutral"
    found["gravity"] = f"{_vector(model.gravity)} m/s^2"
    if model.frames:
        found["frames"] = f"{len(model.frames):,} more, fixed on bodies"
    if model.visuals:
        shapes = Counter(type(visual.shape).__name__.lower() for visual in model.visuals)
        found["looks"] = ", ".join(
            plural(count, shape, PLURALS.get(shape, "")) for shape, count in shapes.items()
        )
    return found


def mass_centre(model: Model) -> np.ndarray:
    """Of all links, also those on the world, at the neutral configuration, (3,), m.

    >>> import phipsi as pp
    >>> mass_centre(pp.examples.planar_arm(2))
    array([1., 0., 0.])
    """
    poses = dynamics.body_poses(model, model.neutral(), backend="numpy")
    base = model.base_inertia
    moment = base.mass * np.array(base.com)
    for pose, body in zip(poses, model.bodies, strict=True):
        moment = moment + body.inertia.mass * (pose @ [*body.inertia.com, 1.0])[:3]
    return moment / model.mass


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
    columns = {title: [cell(model, joint) for joint in joints] for title, cell in _CELLS.items()}
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


def _kind(model: Model, joint: Joint) -> str:
    return type(joint.kind).__name__.lower()


def _axis(model: Model, joint: Joint) -> str:
    axis = getattr(joint.kind, "axis", None)
    return "" if axis is None else " ".join(number(x, 3) for x in axis)


def _coordinates(model: Model, joint: Joint) -> str:
    if joint.mimic is not None:
        leader, offset = model.joints[joint.mimic.source], joint.mimic.offset
        shift = f" {'+' if offset > 0 else '-'} {number(abs(offset))}" if offset else ""
        return f"{number(joint.mimic.ratio)} {leader.name}{shift}"
    first, last = joint.q.start, joint.q.stop - 1
    return f"{first}" if first == last else f"{first} to {last}"


def _limits(model: Model, joint: Joint) -> str:
    lower, upper = joint.limits.lower, joint.limits.upper
    if math.isinf(lower) and math.isinf(upper):
        return ""
    return f"{number(lower)} to {number(upper)}"


def _finite(x: float) -> str:
    return number(x) if math.isfinite(x) else ""


def _positive(x: float) -> str:
    return number(x) if x else ""


_CELLS = {
    "joint": lambda model, joint: joint.name,
    "kind": _kind,
    "limits, rad or m": _limits,
    "q": _coordinates,
    "effort": lambda model, joint: _finite(joint.limits.effort),
    "speed": lambda model, joint: _finite(joint.limits.velocity),
    "damping": lambda model, joint: _positive(joint.damping),
    "friction": lambda model, joint: _positive(joint.friction),
    "axis": _axis,
    "rotor, kg m^2": lambda model, joint: _positive(joint.reflected_inertia),
}


def _vector(entries: Iterable[float]) -> str:
    return f"({', '.join(number(round(x, 12)) for x in entries)})"
