"""How far the origin of a private frame may slide, for the sake of digits.

About an origin at a distance s, the moments of a mass m across the slide grow by m s^2.
Where the next frame inward is near the body again, as much is taken off, and what is
left of a moment I has lost the digits of m s^2 / I.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from phipsi import spatial
from phipsi.model import axes
from phipsi.model.inertia import MASSLESS, Inertia
from phipsi.model.model import Model
from phipsi.model.tree import WORLD
from phipsi.spatial import Vector

# By so much, times itself, the smallest moment across a slide may grow: three of its digits.
# Of the robots of example-robot-data none comes beyond 302, a wrist of Romeo.
GROWTH = 1e3


def bears_slide(body: Inertia, z: Vector, slide: float) -> bool:
    """Whether the moments of a body across z, about its frame's origin, survive a slide along z."""
    return abs(body.mass) * slide * slide <= GROWTH * _least_moment_across(z, body)


def beside_branches(model: Model, branches: Sequence[int]) -> list[Inertia]:
    """Of each body, in its link frame, what slides with its origin: itself and all that it carries,
    rigid, its joints neutral, but for one branch.

    Args:
        model: the machine.
        branches: of each body the child that carries this branch; WORLD where there is none.
    """
    beside = [body.inertia for body in model.bodies]
    left_out = [MASSLESS] * len(beside)
    for k in range(len(beside) - 1, -1, -1):
        p = model.bodies[k].parent
        if p == WORLD:
            continue
        whole = beside[k].plus(left_out[k]).moved(model.joints[k].placement)
        if branches[p] == k:
            left_out[p] = whole
        else:
            beside[p] = beside[p].plus(whole)
    return beside


def _least_moment_across(z: Vector, body: Inertia) -> float:
    """The smallest moment of inertia about a line across z, through the frame's origin.

    The smaller eigenvalue of [[a, d], [d, b]], as the determinant over the larger one.
    """
    e, f = axes.plane_axes(z)
    x, y, along = (spatial.dot(body.com, axis) for axis in (e, f, z))
    about_e, about_f = (spatial.apply(body.rotational, axis) for axis in (e, f))
    a = spatial.dot(e, about_e) + body.mass * (y * y + along * along)
    b = spatial.dot(f, about_f) + body.mass * (x * x + along * along)
    d = spatial.dot(e, about_f) - body.mass * x * y
    larger = 0.5 * (a + b + math.hypot(a - b, 2.0 * d))
    return max(0.0, a * b - d * d) / larger if larger > 0.0 else 0.0
