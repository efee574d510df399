"""How large what a body carries is: what a pivot is held against.

A free joint takes from P what it does not resist: P+ = P - P H* D^-1 H P. What is left may be
smaller by far, as behind a wrist that carries a small heavy tool, and is wrong by as much as P was
rounded. So a pivot is held against P and against all that is outboard. Sizes are those of moments,
r, and of masses, m: traces of the two halves of an inertia. With l the step from parent to child,

    told = f (r + |l|^2 m, m)        (r, m) = own, and what children have told.

Errors fade while joints yield and bodies have mass; f = 1/4 stands for that in tall machines, which
else raise alarms. In lower ones, and behind bodies of hardly any mass, nothing fades, f = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from phipsi.lowering import blocks, rigid
from phipsi.lowering.blocks import plus, times
from phipsi.lowering.links import Link
from phipsi.model.model import Model
from phipsi.model.tree import WORLD
from phipsi.scalars import Scalar

FADING = 0.25  # of what a body tells its parent
TALL = 32  # bodies on top of each other, from which on what is outboard fades
LIGHT = 1e-4  # of the mass outboard: a body that has less does not count as one of mass
Size = tuple[Scalar, Scalar]  # of moments, and of masses


def find_outboard(model: Model, links: Sequence[Link]) -> tuple[Link, ...]:
    """Links that know how large what they carry is, in their private frames.

    Joints are taken where they are at zero: traces of P tell how far they slide.
    """
    received: list[Size] = [(0.0, 0.0)] * len(links)
    is_tall = max(model.tree.depth, default=0) > TALL
    found = list(links)
    for k in model.tree.tip_to_base:
        link, (r, m) = links[k], received[k]
        mass, _, _, _, J_xx, _, _, J_yy, _, J_zz = rigid.of_body(link.inertia)
        fades = is_tall and mass > LIGHT * m
        if model.tree.children[k]:
            found[k] = replace(link, outboard=(r, m), fades=fades)
        if link.parent != WORLD:
            X = link.transform(model.joints[k].kind.neutral())
            own = r + J_xx + J_yy + J_zz, m + 3.0 * mass
            told = carried_size(own, FADING if fades else 1, reach(link, X))
            received[link.parent] = add_sizes(received[link.parent], told)
    return tuple(found)


def carried_size(size: Size, fading: Scalar, step: Scalar) -> Size:
    """What is told of a size, over a step of this length squared."""
    r, m = size
    return times(fading, plus(r, times(step, m))), times(fading, m)


def add_sizes(x: Size, y: Size) -> Size:
    """The sum of two sizes."""
    return plus(x[0], y[0]), plus(x[1], y[1])


def reach(link: Link, X: Sequence[Scalar]) -> Scalar:
    """|l|^2: how far the origin of a body is from that of its parent, squared."""
    l: Sequence[Scalar] = blocks.zeros(3)
    for factor in reversed(link.factors(X)):
        l = blocks.add(factor.position(), factor.rotate(l))
    return blocks.dot(l, l)
