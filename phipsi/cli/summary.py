"""What is said about a motion: where it went, how fast it was computed, what it conserved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rich.table import Table
from rich.text import Text

from phipsi.cleaning import visible
from phipsi.cli.screen import Screen, facts, number, plural, table, times
from phipsi.joints import Free
from phipsi.model.model import Model
from phipsi.model.tree import WORLD
from phipsi.simulate.labels import coordinate_labels
from phipsi.simulate.trajectory import Trajectory

MOST_ROWS = 40
MOST_NAMES = 5
LOSSES = "damping and friction"
GROWN = 1e-6  # of what moves: losses that add more are wrong


@dataclass(frozen=True)
class Speed:
    """What a simulation took.

    Args:
        preparing: seconds of compiling.
        running: seconds of computing.
    """

    preparing: float
    running: float


def tell(
    screen: Screen,
    motion: Trajectory,
    setting: dict[str, str],
    speed: Speed,
    worked_by: str,
    noticed: dict[str, str],
) -> None:
    """Print what is worth reading about a motion of one machine.

    Args:
        screen: to print on.
        motion: the motion.
        setting: what else is said about it, by name.
        speed: of its computation.
        worked_by: what changes its energy; "" if nothing does.
        noticed: what may surprise, by name; what is "" is not said.
    """
    model, about = motion.model, motion.about
    screen.print(Text(visible(model.name), style="bold"))
    length = motion.times[-1]
    ending = "" if motion.complete else ", interrupted"
    screen.print(
        facts(
            {
                **setting,
                "motion": f"{number(length)} s by {about['integrator']}, steps of "
                f"{number(float(about['dt']))} s, {plural(len(motion), 'state')} kept{ending}",
                "speed": f"computed in {number(speed.running, 2)} s, "
                f"{times(length / speed.running)} times real time; "
                f"{number(speed.preparing, 2)} s before that to compile",
                **_balances(motion, worked_by),
                **{name: text for name, text in noticed.items() if text},
                **_remarks(motion),
            }
        )
    )
    if model.nv:
        screen.print()
        screen.print(joint_table(motion))
        if model.nq > MOST_ROWS:
            screen.print(f"... and {model.nq - MOST_ROWS:,} more")
        screen.print()


def joint_table(motion: Trajectory) -> Table:
    """How far every coordinate went.

    >>> import phipsi as pp
    >>> from phipsi.cli.screen import Screen
    >>> arm = pp.examples.planar_arm(1)
    >>> swing = Trajectory(arm, [0.0, 1.0, 2.0], [[0.0], [-3.0], [0.5]], [[0.0]] * 3)
    >>> Screen().print(joint_table(swing))
    coordinate   unit   from    to   least   greatest
    joint1       rad       0   0.5      -3        0.5
    """
    made = table("coordinate", "unit", "from", "to", "least", "greatest", left=2)
    for k, label in enumerate(coordinate_labels(motion.model)[:MOST_ROWS]):
        values = motion.q[:, k]
        told = (values[0], values[-1], values.min(), values.max())
        unit = "" if label.unit == "1" else label.unit
        made.add_row(label.name, unit, *(number(_rounded(x)) for x in told))
    return made


def _rounded(x: float) -> float:
    """Without the noise of zeros that were computed."""
    return round(float(x), 9)


def _balances(motion: Trajectory, worked_by: str) -> dict[str, str]:
    """What the laws of mechanics say about energy and momentum, and how well they hold."""
    energy = motion.energy
    scale = max(motion.kinetic_energy.max(), np.ptp(motion.potential_energy))
    found = {"energy": f"from {number(energy[0])} to {number(energy[-1])} J"}
    grown = energy.max() - energy[0]
    if worked_by == LOSSES and grown > GROWN * scale:
        found["energy"] += (
            f". Warning: it grew by {grown:.0e} J, which {LOSSES} cannot do; take a smaller --dt"
        )
        if motion.about["integrator"] != "midpoint":
            found["energy"] += " or --integrator midpoint"
    elif worked_by:
        found["energy"] += f", changed by {worked_by}"
    elif scale:
        error = np.abs(energy - energy[0]).max()
        found["energy"] += f", constant to {error:.0e} J, {error / scale:.0e} of what moves"
    if floats(motion.model) and motion.momentum.any():
        change = np.abs(motion.momentum - motion.momentum[0])
        angular, linear = change[:, :3].max(), change[:, 3:].max()
        found["momentum"] = f"constant to {angular:.0e} N m s and {linear:.0e} N s"
    return found


def floats(model: Model) -> bool:
    """Whether nothing outside acts on the machine: no gravity, all roots free and on no springs.

    >>> import phipsi as pp
    >>> floats(pp.examples.spacecraft()), floats(pp.chain(2))
    (True, False)
    """
    pairs = zip(model.bodies, model.joints, strict=True)
    roots = [joint for body, joint in pairs if body.parent == WORLD]
    loose = all(isinstance(joint.kind, Free) and not joint.stiffness for joint in roots)
    return loose and not any(model.gravity)


def _remarks(motion: Trajectory) -> dict[str, str]:
    """What may surprise."""
    if not motion.v.any():
        return {"still": "nothing moved: no speed, no force; try --seed 1"}
    beyond = [
        joint.name
        for joint in motion.model.leaders
        if joint.kind.nq == 1
        and (
            motion.q[:, joint.q].min() < joint.limits.lower - 1e-9
            or motion.q[:, joint.q].max() > joint.limits.upper + 1e-9
        )
    ]
    if not beyond:
        return {}
    names = ", ".join(beyond[:MOST_NAMES]) + (", ..." if len(beyond) > MOST_NAMES else "")
    count = plural(len(beyond), "joint")
    return {"limits": f"{count} went beyond, as nothing stops them here: {names}"}
