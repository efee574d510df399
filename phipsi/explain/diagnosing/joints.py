"""Joint by joint: what it moves, whether its speeds are independent, how it hands forces on.

    D = H P H* + Jm > 0                                     what the joint feels
    tau_bar P = tau_bar P tau_bar* + G Jm G*                the Joseph form: true of the gain alone
    P(k) = M(k) + sum_c phi (tau_bar P)(c) phi*             the Riccati equation [001 (35)]

The last two are checked one step at a time, on the program's own P and G: so a wrong step is
named where it is made, not where it arrives.
"""

from __future__ import annotations

import numpy as np

from phipsi.explain.diagnosing.bodies import (
    Articulated,
    Bodies,
    carried,
    gain_squares,
    joseph,
    speed_units,
    units,
)
from phipsi.explain.diagnosing.diagnosis import Finding
from phipsi.explain.diagnosing.verdicts import GONE, judge_residual, judge_share
from phipsi.model.tree import WORLD


def pivots(bodies: Bodies, found: Articulated) -> Finding:
    """What each joint feels, as a share of what it would feel with the next joints locked.

    Roundoff is relative to the latter. Joints that move together need not feel anything one by
    one: there nothing is lost by it.
    """
    shares = []
    for k, (D, B) in enumerate(zip(found.D, found.B, strict=True)):
        unit = speed_units(bodies, k, B)
        finite = np.all(np.isfinite(D)) and np.all(np.isfinite(B))
        shares.append(np.linalg.eigvalsh(D / np.outer(unit, unit))[0] if finite else np.nan)
    for k in _tied(bodies):
        shares[k] = 1.0 if abs(shares[k]) <= GONE else shares[k]
    return judge_share("pivots", "D > 0", "joint", _names(bodies), shares, _told_of_pivot)


def maps(bodies: Bodies) -> Finding:
    """How independent the speeds of each joint are: of H* with columns of length one, squared.

    D has the square of it, and so has what accelerations lose.
    """
    shares = []
    for H_star in bodies.H_star:
        lengths = np.linalg.norm(H_star, axis=0)
        unit = H_star / np.where(lengths > 0.0, lengths, 1.0)
        shares.append(float(np.linalg.svd(unit, compute_uv=False)[-1]) ** 2)
    return judge_share(
        "joint maps",
        "H H* > 0",
        "joint",
        _names(bodies),
        shares,
        lambda name, share: (
            f"the axes of joint {name!r} nearly coincide here, as at gimbal lock: one turn of its "
            "body takes speeds without bound; choose other coordinates, as pp.joints.Spherical"
        ),
    )


def gains(bodies: Bodies, found: Articulated) -> Finding:
    """Whether each G makes tau_bar P and its Joseph form the same.

    Relative to what P was made of, and to the square of the gain: the Joseph form enlarges
    roundoff by that.
    """
    values, squares = [], gain_squares(bodies, found)
    for k, (P, G) in enumerate(zip(found.P, found.G, strict=True)):
        miss = P - G @ bodies.H_star[k].T @ P - joseph(bodies, k, P, G)
        values.append(_largest(miss / units(found.B[k])) / squares[k])
    return judge_residual(
        "gains",
        "tau_bar P = its Joseph form",
        "joint",
        _names(bodies),
        values,
        lambda name, x: (
            f"joint {name!r} is free and still hands on a force along itself: its gain G is not "
            "P H* D^-1"
        ),
    )


def steps(bodies: Bodies, found: Articulated) -> Finding:
    """Whether each P is its body's inertia and what its joints hand on, relative as in `gains`."""
    model, squares = bodies.model, gain_squares(bodies, found)
    sums, sizes = [block.copy() for block in bodies.M], [1.0] * len(squares)
    for k, p in enumerate(model.tree.parent):
        if p != WORLD:
            sums[p] += carried(bodies, k, found.P[k], found.G[k])
            sizes[p] = max(sizes[p], squares[k])
    pieces = zip(found.P, sums, found.B, sizes, strict=True)
    values = [_largest((P - due) / units(B)) / size for P, due, B, size in pieces]

    def told(name: str, value: float) -> str:
        children = model.tree.children[model.index(name)]
        joints = ", ".join(repr(model.joints[c].name) for c in children) or "none"
        return (
            f"body {name!r} does not feel its own inertia and what its joints ({joints}) hand on: "
            f"a step of the Riccati equation is wrong by {value:.0e}"
        )

    names = [body.name for body in model.bodies]
    formula = "P = M + sum phi tau_bar P phi*"
    return judge_residual("Riccati steps", formula, "body", names, values, told)


def _tied(bodies: Bodies) -> set[int]:
    """The joints that follow others, and those that lead them."""
    mimics = {k: x.mimic for k, x in enumerate(bodies.model.joints) if x.mimic is not None}
    return {*mimics, *(mimic.source for mimic in mimics.values())}


def _told_of_pivot(name: str, share: float) -> str:
    if share < -GONE:
        return (
            f"the inertia felt through joint {name!r} is negative: pushed one way, it would move "
            "the other; a body outboard of it has an inertia that cannot be"
        )
    if share <= GONE:
        return (
            f"nothing resists joint {name!r}, or one of its motions, so that any force would move "
            "it without bound: its bodies have no mass there, or its axes coincide"
        )
    return (
        f"of the inertia behind joint {name!r} all but {share:.0e} is taken by the joints outboard "
        "of it: what it feels is a small difference of large numbers"
    )


def _largest(block: np.ndarray) -> float:
    return float(np.abs(block).max())


def _names(bodies: Bodies) -> list[str]:
    return [joint.name for joint in bodies.model.joints]
