"""What is said about motors: which were at their limits, and what they did not reach."""

from __future__ import annotations

import numpy as np

from phipsi.cli.screen import number, plural
from phipsi.joints import Free
from phipsi.model.configuration import difference
from phipsi.simulate.labels import speed_labels
from phipsi.simulate.trajectory import Trajectory

WORST = 3  # so many are named
OFF = 0.05  # rad or m: what ends farther from its target is named


def at_their_limits(motion: Trajectory) -> str:
    """The motors that gave all they have, and how often; "" if none did.

    >>> import phipsi as pp
    >>> builder = pp.ModelBuilder("weak")
    >>> builder.add_body("arm", mass=1, com=(1, 0, 0), limits=pp.Limits(effort=2.0))
    >>> rest = [[0.0]] * 4
    >>> motion = Trajectory(builder.build(), range(4), rest, rest, [[2.0], [-2.0], [1.0], [2.0]])
    >>> at_their_limits(motion)
    '1 motor at its limit: arm_joint in 75% of the states'
    """
    if motion.tau is None:
        return ""
    shares = {}
    for joint in motion.model.leaders:
        effort = joint.limits.effort
        if 0.0 < effort < np.inf:  # zero: a motor that is switched off
            is_full = np.abs(motion.tau[:, joint.v]) >= (1.0 - 1e-9) * effort
            shares[joint.name] = float(is_full.any(axis=-1).mean())
    shares = {name: share for name, share in shares.items() if share > 0.0}
    if not shares:
        return ""
    named = [f"{name} in {_percent(shares[name])} of the states" for name in _worst(shares)]
    whose = "its limit" if len(shares) == 1 else "their limits"
    return f"{plural(len(shares), 'motor')} at {whose}: {_listed(named, len(shares))}"


def off_target(motion: Trajectory, target: np.ndarray) -> str:
    """The joints that ended away from where they were pulled; "" if none did.

    Args:
        motion: the motion.
        target: (nq,). A free joint has no motor, and none.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> motion = Trajectory(arm, [0.0], [[0.3, 0.01]], [[0.0, 0.0]])
    >>> off_target(motion, arm.neutral())
    '1 joint ended off its target: joint1 by 0.3 rad'
    """
    model = motion.model
    away = np.abs(difference(model, target, motion.q[-1]))
    labels = speed_labels(model)
    found, units = {}, {}
    for joint in model.leaders:
        if joint.kind.nv and not isinstance(joint.kind, Free):
            entry = joint.v.start + int(np.argmax(away[joint.v]))
            if away[entry] > OFF:
                found[joint.name] = float(away[entry])
                units[joint.name] = labels[entry].unit.removesuffix("/s")
    if not found:
        return ""
    named = [f"{name} by {number(found[name], 2)} {units[name]}" for name in _worst(found)]
    whose = "its target" if len(found) == 1 else "their targets"
    return f"{plural(len(found), 'joint')} ended off {whose}: {_listed(named, len(found))}"


def _worst(found: dict[str, float]) -> list[str]:
    return sorted(found, key=lambda name: -found[name])[:WORST]


def _listed(named: list[str], count: int) -> str:
    return ", ".join(named) + (", ..." if count > len(named) else "")


def _percent(share: float) -> str:
    """A share of what is counted, none of it rounded to nothing or to all.

    >>> _percent(0.001), _percent(0.5), _percent(0.999), _percent(1.0)
    ('under 1%', '50%', 'over 99%', '100%')
    """
    if share < 0.01:
        return "under 1%"
    return "over 99%" if 0.99 < share < 1.0 else f"{100.0 * share:.0f}%"
