"""What makes two expressions, or two machines, the same for compiled code.

Each is told in parts that a digest takes. Machines are the same if all their numbers
are, and the names by which letters find joints. A joint that moves as a function of
the user's says cannot be told: nobody knows what that function does.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import Any

from phipsi.algebra.node import Node
from phipsi.algebra.spaces import Space
from phipsi.backends.disk.digest import digest
from phipsi.model.custom import Custom
from phipsi.model.inertia import Inertia
from phipsi.model.model import Model, Point

Parts = Any  # texts, numbers, None, and tuples of them


@lru_cache(maxsize=512)
def of_expressions(expressions: tuple[Node, ...]) -> bytes | None:
    """A digest of expressions; None if some part of them cannot be told, or is nested too deeply.

    >>> from phipsi.operators import C, Mass, T
    >>> of_expressions((Mass.inv @ (T - C),)) == of_expressions((Mass.inv @ (T - C),))
    True
    >>> of_expressions((Mass.inv @ (T - C),)) == of_expressions((Mass.inv @ (C - T),))
    False
    """
    known: dict[Node, bytes] = {}
    try:
        return digest([_parts(x, known) for x in expressions])
    except (TypeError, RecursionError):
        return None


def _parts(x: Any, known: dict[Node, bytes]) -> Parts:
    if isinstance(x, Node):
        if x not in known:  # equal nodes are one; a digest each, or text would grow with sharing
            known[x] = digest(type(x).__name__, [_parts(y, known) for y in x._fields])
        return known[x]
    if isinstance(x, tuple):
        return [_parts(y, known) for y in x]
    if isinstance(x, Space):
        return ("space", x.name)
    if isinstance(x, Enum):
        return (type(x).__name__, x.name)
    if isinstance(x, Point):
        return ("point", x.frame, x.position)
    return x


def of_machine(model: Model) -> bytes | None:
    """A digest of a machine; None if it cannot be told.

    >>> import phipsi as pp
    >>> of_machine(pp.chain(3)) == of_machine(pp.chain(3))
    True
    >>> of_machine(pp.chain(3)) == of_machine(pp.chain(4))
    False
    """
    if any(isinstance(joint.kind, Custom) for joint in model.joints):
        return None
    bodies = [(x.name, x.parent, x.size, _told(x.inertia)) for x in model.bodies]
    joints = [
        (
            x.name,
            repr(x.kind),
            x.placement.rotation,
            x.placement.position,
            (x.q.start, x.q.stop, x.v.start, x.v.stop, x.rows.start, x.rows.stop),
            (x.rotor_inertia, x.gear_ratio),
            None if x.mimic is None else (x.mimic.source, x.mimic.ratio, x.mimic.offset),
        )
        for x in model.joints
    ]
    return digest(bodies, joints, model.gravity, _told(model.base_inertia))


def _told(inertia: Inertia) -> Parts:
    return inertia.mass, inertia.com, inertia.rotational
