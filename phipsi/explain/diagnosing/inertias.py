"""Body by body: what it weighs, what it carries, and what it feels like with its joints free.

    M(k) <= P(k) <= R(k)

A body feels at least its own inertia, and free joints outboard can only make it easier to
move than locked ones [001 (35)]. A <= B means that B - A is positive: no push is answered
backwards.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from phipsi.explain.diagnosing.bodies import Articulated, Bodies, gain_squares, units
from phipsi.explain.diagnosing.diagnosis import Finding
from phipsi.explain.diagnosing.verdicts import judge_residual, judge_share
from phipsi.model.plausibility import shape_remarks
from phipsi.model.tree import WORLD


def weights(bodies: Bodies) -> Finding:
    """Whether each body's own inertia is one that a body can have."""
    model = bodies.model
    names = [body.name for body in model.bodies]
    negative = []
    for body, R in zip(model.bodies, bodies.R, strict=True):
        least = float(np.linalg.eigvalsh(np.array(body.inertia.rotational))[0])
        negative.append(max(0.0, -least / units(R)[0, 0]))  # relative to all that it carries
    found = judge_residual(
        "own inertias",
        "M >= 0",
        "body",
        names,
        negative,
        lambda name, x: (
            f"body {name!r} can be turned so that its kinetic energy is negative: "
            f"{model.body(name).inertia.violations()[0]}"
        ),
    )
    if found.status == "wrong":
        return found
    odd = [(body.name, text) for body in model.bodies for text in body.inertia.violations()]
    odd += [_split(line) for line in shape_remarks(model)]
    if not odd:
        return found
    (name, text), more = odd[0], f" (and {len(odd) - 1} more)" if odd[1:] else ""
    told = f"body {name!r}: {text}{more}"
    return replace(found, status="implausible", name=name, meaning=told)


def loads(bodies: Bodies) -> Finding:
    """The share of a body's own mass in what it carries; a body without mass has none to lose."""
    names, shares = [], []
    for body, M, R in zip(bodies.model.bodies, bodies.M, bodies.R, strict=True):
        names.append(body.name)
        shares.append(float(M[3, 3] / R[3, 3]) if M[3, 3] > 0.0 else 1.0)
    return judge_share(
        "loads",
        "M / R",
        "body",
        names,
        shares,
        lambda name, share: (
            f"body {name!r} carries {1.0 / share:.1g} times its own mass: beside that its own "
            "inertia is hardly felt, and its last digits are lost in the sum"
        ),
        vital=False,
    )


def felt(bodies: Bodies, found: Articulated) -> Finding:
    """Whether P is symmetric, at least M and at most R.

    Relative to R and to the square of the largest gain outboard, which enlarges roundoff.
    """
    model, values, faults = bodies.model, [], {}
    enlarged = _largest_outboard(bodies, gain_squares(bodies, found))
    for k, body in enumerate(model.bodies):
        unit = units(bodies.R[k])
        P, M, R = (x / unit for x in (found.P[k], bodies.M[k], bodies.R[k]))
        if not np.all(np.isfinite(P)):
            values.append(np.inf)
            faults[body.name] = "it is no number"
            continue
        misses = {
            "a push here and its answer there are not what they are the other way round":
                float(np.abs(P - P.T).max()),
            "it feels lighter, with its joints free, than it is by itself":
                -float(np.linalg.eigvalsh(P - M)[0]),
            "it feels heavier with its outboard joints free than with all of them locked":
                -float(np.linalg.eigvalsh(R - P)[0]),
        }  # fmt: skip
        faults[body.name] = max(misses, key=lambda text: misses[text])
        values.append(max(0.0, *misses.values()) / enlarged[k])
    return judge_residual(
        "articulated inertias",
        "M <= P <= R",
        "body",
        [body.name for body in model.bodies],
        values,
        lambda name, x: f"the inertia P that body {name!r} feels cannot be: {faults[name]}",
    )


def _largest_outboard(bodies: Bodies, sizes: list[float]) -> list[float]:
    """The largest of the sizes strictly outboard of each body, at least 1."""
    tree, most = bodies.model.tree, [1.0] * len(sizes)
    for k in tree.tip_to_base:
        p = tree.parent[k]
        if p != WORLD:
            most[p] = max(most[p], most[k], sizes[k])
    return most


def _split(remark: str) -> tuple[str, str]:
    """A remark on shapes, file:line: body 'NAME': TEXT, as name and text."""
    name, _, text = remark.partition("body '")[2].partition("': ")
    return name, text
