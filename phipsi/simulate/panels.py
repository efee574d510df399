"""What a plot shows: quantities sorted into panels, each of one unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from phipsi.cleaning import visible
from phipsi.errors import InputError
from phipsi.simulate.dataset import AXES
from phipsi.simulate.labels import (
    PURE,
    UNKNOWN,
    Label,
    coordinate_labels,
    coordinate_parts,
    joint_labels,
    speed_labels,
    speed_parts,
)

if TYPE_CHECKING:
    from phipsi.simulate.trajectory import Trajectory

DEFAULT = ("q", "energy")

ENERGIES = {"energy": "total", "kinetic_energy": "kinetic", "potential_energy": "potential"}


@dataclass(frozen=True, eq=False, slots=True)
class Line:
    """One number over time.

    Args:
        label: what it is.
        values: (*batch, T).
        heavy: drawn in a thick dark stroke, under the others.
    """

    label: str
    values: np.ndarray
    heavy: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Panel:
    """Lines that share an axis.

    Args:
        title: what the axis measures, and in which unit.
        lines: from the first to be drawn to the last.
    """

    title: str
    lines: list[Line]


def make_panels(traj: Trajectory, quantities: Sequence[str]) -> list[Panel]:
    """The panels of a plot, in the order asked for; joints asked for by name share theirs.

    >>> import phipsi as pp
    >>> from phipsi.simulate.trajectory import Trajectory
    >>> arm = pp.examples.planar_arm(2)
    >>> traj = Trajectory(arm, [0.0], [[0.0, 0.0]], [[1.0, 0.0]])
    >>> [(panel.title, [line.label for line in panel.lines]) for panel in make_panels(traj, ["v"])]
    [('speed, rad/s', ['joint1', 'joint2'])]
    """
    wanted = quantities or DEFAULT
    for name in wanted:
        if not isinstance(name, str):
            raise InputError(f"plot: {name!r} is no name of a quantity; see traj.quantities")
    values = {name: traj[name] for name in wanted}  # InputError for an unknown name
    joints = [name for name, value in values.items() if not isinstance(value, np.ndarray)]
    panels: list[Panel] = []
    for name, value in values.items():
        if name in ("q", "v", "tau"):
            entries = zip(_labels(traj, name), _lines(value), strict=True)
            own = _by_unit(name, entries)
            panels += _without_idle(own) if name == "tau" else own
        elif name in ENERGIES:
            panels.append(_energy(traj, name))
        elif name == "momentum":
            panels += _momentum(value)
        elif name == "poses":
            panels += _positions(traj, value)
        elif name == joints[0]:
            panels += _joints(traj, joints)
    return panels


def _labels(traj: Trajectory, name: str) -> Sequence[Label]:
    return coordinate_labels(traj.model) if name == "q" else speed_labels(traj.model)


def _lines(array: np.ndarray) -> Iterator[np.ndarray]:
    """The entries of the last axis, one by one."""
    return (array[..., k] for k in range(array.shape[-1]))


def _by_unit(name: str, entries: Iterable[tuple[Label, np.ndarray]]) -> list[Panel]:
    """Entries of q, v or tau, those that are the same in the same unit together."""
    panels: dict[tuple[str, str], Panel] = {}
    for label, values in entries:
        panel = panels.setdefault((label.what, label.unit), Panel(_title(name, label), []))
        panel.lines.append(Line(visible(label.name), values))
    return list(panels.values())


def _without_idle(panels: list[Panel]) -> list[Panel]:
    """Panels with a force in them; all, if there is none. A free base, say, has no motors."""
    return [panel for panel in panels if any(line.values.any() for line in panel.lines)] or panels


def _title(name: str, label: Label) -> str:
    what, unit = label.what, label.unit
    if name == "tau":
        unit = label.force_unit
        what = "moment" if unit == "N m" else "force"
    return f"{what}, {unit}" if unit not in (PURE, UNKNOWN) else what


def _joints(traj: Trajectory, names: Sequence[str]) -> list[Panel]:
    """Coordinates of these joints, then their speeds."""
    q: list[tuple[Label, np.ndarray]] = []
    v: list[tuple[Label, np.ndarray]] = []
    for name in names:
        motion = traj.joint(name)
        q += zip(joint_labels(motion.joint, coordinate_parts), _lines(motion.q), strict=True)
        v += zip(joint_labels(motion.joint, speed_parts), _lines(motion.v), strict=True)
    return _by_unit("q", q) + _by_unit("v", v)


def _energy(traj: Trajectory, name: str) -> Panel:
    """One energy, or the total with its two parts."""
    names = ENERGIES if name == "energy" else [name]
    return Panel("energy, J", [Line(ENERGIES[one], traj[one], one == "energy") for one in names])


def _momentum(momentum: np.ndarray) -> list[Panel]:
    angular, linear = momentum[..., :3], momentum[..., 3:]
    return [
        Panel(title, [Line(axis, values) for axis, values in zip(AXES, _lines(part), strict=True)])
        for title, part in (("angular momentum, N m s", angular), ("momentum, N s", linear))
    ]


def _positions(traj: Trajectory, poses: np.ndarray) -> list[Panel]:
    """Where the frames of the bodies are, a panel for each axis of the world."""
    bodies = [visible(body.name) for body in traj.model.bodies]
    return [
        Panel(
            f"{axis} of bodies, m",
            [Line(body, poses[..., k, row, 3]) for k, body in enumerate(bodies)],
        )
        for row, axis in enumerate(AXES)
    ]
