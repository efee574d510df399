"""What makes two expressions, or two machines, the same for compiled code.

Each is told in parts that a digest takes. Machines are the same if all their numbers
are, and the names by which letters find joints. A joint that moves as a function or a
class of the user's says cannot be told: nobody knows what that does, whatever it is called.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from phipsi.algebra.alphabet import Letter, Steps
from phipsi.algebra.families import Family
from phipsi.algebra.node import Node
from phipsi.algebra.own import MachineLetter
from phipsi.algebra.spaces import Space
from phipsi.algebra.walk import letters_of
from phipsi.backends.disk.digest import digest
from phipsi.graph.graph import Graph
from phipsi.lowering.own import constant_blocks, own_block
from phipsi.model.inertia import Inertia
from phipsi.model.joints import JointKind
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
    if isinstance(x, MachineLetter):  # its function by what it tells: see `of_blocks`
        told = (x.name, x.source, x.target, x.symmetric, x.positive, x.varies)
        return ("letter", *(_parts(y, known) for y in told))
    if isinstance(x, Node):
        if x not in known:  # equal nodes are one; a digest each, or text would grow with sharing
            known[x] = digest(type(x).__name__, [_parts(y, known) for y in x._fields])
        return known[x]
    if isinstance(x, Point):
        return ("point", x.frame, x.position)
    if isinstance(x, tuple):
        return [_parts(y, known) for y in x]
    if isinstance(x, Space):
        return ("space", x.name, x.size)
    if isinstance(x, Enum):
        return (type(x).__name__, x.name)
    if isinstance(x, Letter):
        return _record_parts(x)
    if isinstance(x, Family):
        return ("family", *(_parts(y, known) for y in (x.L, x.E, x.W, x.N)))
    return x


def _record_parts(x: Letter) -> Parts:
    """A letter of ours by its name, for our sources are in every key; of others what they say."""
    if x.alphabet is not None and x.alphabet.module.startswith("phipsi."):
        return ("letter", x.alphabet.name, x.name)
    if x.steps != Steps():
        raise TypeError("nobody knows what a function of another module computes")
    facts = x.symmetric, x.positive, x.orthogonal, x.carries, x.one_step, x.strict, x.selects
    return ("letter", None, x.name, *facts, x.of_speeds)


def of_blocks(expressions: tuple[Node, ...], model: Model) -> Parts:
    """What the letters of the user's are on a machine: their blocks, or how these are computed."""
    own = (x for x in letters_of(expressions) if isinstance(x, MachineLetter))
    return [(x.name, _blocks(x, model)) for x in own]


def _blocks(letter: MachineLetter, model: Model) -> Parts:
    if not letter.varies:
        return constant_blocks(letter, model)
    found = []
    for k, joint in enumerate(model.joints):
        graph = Graph()
        rows = own_block(letter, model, k, [graph.input(i) for i in range(joint.kind.nq)])
        nodes = [graph.node(x) for row in rows for x in row]
        live = graph.live(nodes)
        places = {x: i for i, x in enumerate(live)}
        steps = [(x.op, [places[y] for y in x.args], x.data) for x in live]
        found.append((steps, [places[x] for x in nodes]))
    return found


_machines: WeakKeyDictionary[Model, bytes | None] = WeakKeyDictionary()


def of_machine(model: Model) -> bytes | None:
    """A digest of a machine, made once; None if it cannot be told.

    >>> import phipsi as pp
    >>> of_machine(pp.chain(3)) == of_machine(pp.chain(3))
    True
    >>> of_machine(pp.chain(3)) == of_machine(pp.chain(4))
    False
    """
    if model not in _machines:
        _machines[model] = _of_machine(model)
    return _machines[model]


def _of_machine(model: Model) -> bytes | None:
    if not all(is_ours(joint.kind) for joint in model.joints):
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
    # As text, which tells floats to the last bit and takes a quarter of the time.
    return digest(repr((bodies, joints, model.gravity, _told(model.base_inertia))))


def is_ours(kind: JointKind) -> bool:
    """Whether a joint moves as phipsi's own sources say, so that its text says all."""
    return type(kind).__module__ == JointKind.__module__


def _told(inertia: Inertia) -> Parts:
    return inertia.mass, inertia.com, inertia.rotational
