"""A body of which only the form is known: its numbers are parameters.

Bodies of one form run the same operations on other numbers, whatever machine
they belong to. The form is what the operations depend on: the kind of joint, the
factors of phi(p,k), which numbers are zeros and ones of the structure, whether
the body hangs on the world, whether it carries others; and where some numbers come
from arguments are, how they are computed is part of the form.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

from phipsi import spatial
from phipsi.graph.graph import Graph, Node
from phipsi.lowering.links import Link
from phipsi.lowering.quantities import MOMENTS
from phipsi.lowering.rigid import UPPER, Moments
from phipsi.lowering.templates import Address
from phipsi.lowering.transforms import Factor
from phipsi.model.inertia import HERE, Inertia, Placement
from phipsi.model.model import Model

Own = Sequence[Any]  # blocks of the user's, in rows
TAKEN_APART = (Link, Factor, Inertia, Moments, Placement)


@dataclass(frozen=True)
class Form:
    """What the operations at a body depend on, beside the program.

    Args:
        link: form of the body and its joint; None at the world, where points may be.
        is_root: whether it hangs on the world.
        is_leaf: whether it carries nothing.
        is_first: whether it is visited first among those its parent carries, inward.
        follows: whether its joint follows another.
        points: of each list of points, how many are on the body.
        axes: which of its speeds letters name, by their arguments.
    """

    link: Hashable
    is_root: bool
    is_leaf: bool
    is_first: bool
    follows: bool
    points: tuple[tuple[tuple, int], ...]
    axes: tuple[tuple[tuple, int], ...]


def link_form(link: Link, own: Own = ()) -> tuple[Hashable, list[float]]:
    """The form of a link and of the user's blocks that belong to it, and their numbers."""
    form: list[Hashable] = []
    numbers: list[float] = []

    def number(x: float) -> float:
        form.append("number")
        numbers.append(x)
        return x

    def argument(x: Node) -> None:
        scratch = Graph()

        def named(constant: float) -> Node:
            numbers.append(constant)
            return scratch.input(len(numbers))

        form.append(("argument", _told(_general(x, scratch, named))))

    _rebuilt((link, *own), number, argument, form.append)
    return tuple(form), numbers


def generic_link(link: Link, graph: Graph, own: Own = ()) -> tuple[Link, Own]:
    """A link and blocks whose numbers are the inputs ("parameter", i) of a graph."""
    count = 0

    def number(x: float) -> Node:
        nonlocal count
        count += 1
        return graph.input(("parameter", count - 1))

    def argument(x: Node) -> Node:
        return _general(x, graph, number)

    generic, *blocks = _rebuilt((link, *own), number, argument, lambda token: None)
    return generic, blocks


def _told(node: Node) -> tuple:
    """How a node is computed, in full."""
    nodes = node.graph.live([node])
    places = {x: i for i, x in enumerate(nodes)}
    return tuple((x.op, tuple(places[y] for y in x.args), x.data) for x in nodes)


def loaded(x: Node, graph: Graph) -> Node:
    """What is computed from arguments in another graph, in this one: inputs become loads."""
    return cast(Node, graph.graft([x], _Loads(graph))[0])


def _general(x: Node, graph: Graph, number: Callable[[float], Any]) -> Node:
    """The same with other numbers in place of its constants, but for those of the structure."""

    def replaced(constant: float) -> Any:
        return constant if constant in (0.0, 1.0) else number(constant)

    return cast(Node, graph.graft([x], _Loads(graph), replaced)[0])


class _Loads(dict):
    """Of the key of an argument's entry its load; moments and q are those of this body."""

    def __init__(self, graph: Graph):
        super().__init__()
        self.graph = graph

    def __missing__(self, key: tuple[str, int]) -> Node:
        name, i = key
        operands = ((name,),) if name in (MOMENTS, "q") else ()
        return self.graph.input(("load", Address(("in", name), operands, i)))


def _rebuilt(
    x: Any,
    number: Callable[[float], Any],
    argument: Callable[[Node], Any],
    note: Callable[[Hashable], None],
) -> Any:
    """A copy in which numbers are replaced; what else matters is noted on the way."""
    if isinstance(x, float):
        return number(x)
    if isinstance(x, Node):
        return argument(x)
    if x is HERE or x == spatial.IDENTITY3:
        note("here")
        return x
    if isinstance(x, (tuple, list)):
        note(len(x))
        return tuple(_rebuilt(y, number, argument, note) for y in x)
    if not isinstance(x, TAKEN_APART):
        note(x)
        return x
    note(type(x).__name__)
    copy = object.__new__(type(x))
    for field in fields(cast(Any, x)):
        value = getattr(x, field.name)
        if field.name == "parent":
            value = min(value, 0)
            note(value)
        elif field.name in ("theta", "thetas") and _vanishes(value):
            note("aligned")
        else:
            value = _rebuilt(value, number, argument, note)
        object.__setattr__(copy, field.name, value)
    return copy


def _vanishes(theta: Any) -> bool:
    return all(x == 0.0 for x in (theta if isinstance(theta, tuple) else (theta,)))


# -- what stands for model and joint -------------------------------------------------------


@dataclass(frozen=True)
class GenericModel:
    """The constants of a machine as parameters: gravity, and what is welded to the world."""

    gravity: tuple[Node, ...]
    base_inertia: Inertia
    nv: int


@dataclass(frozen=True)
class GenericMimic:
    """A joint that follows another, by numbers that are parameters."""

    ratio: Node
    offset: Node


@dataclass(frozen=True)
class GenericJoint:
    """A joint whose places in q and v are not known: `q`, `v`, `rows` start at marks."""

    q: slice
    v: slice
    rows: slice
    mimic: GenericMimic | None
    name: str = "any"


def generic_model(graph: Graph, nv: int, arguments: Collection[str] = ()) -> GenericModel:
    """The constants of any machine; gravity may be an argument."""

    def named(name: str, n: int) -> tuple[Node, ...]:
        return tuple(graph.input(("constant", name, i)) for i in range(n))

    J = dict(zip(UPPER, named("J", 6), strict=True))
    rotational = tuple(tuple(J[min(i, j), max(i, j)] for j in range(3)) for i in range(3))
    inertia = object.__new__(Inertia)
    for name, value in (
        ("mass", named("m", 1)[0]),
        ("com", named("c", 3)),
        ("rotational", rotational),
    ):
        object.__setattr__(inertia, name, value)
    loads = _Loads(graph)
    gravity = named("g", 3)
    if "gravity" in arguments:
        gravity = tuple(loads["gravity", i] for i in range(3))
    return GenericModel(gravity, inertia, nv)


def machine_constants(model: Model) -> dict[tuple, float]:
    """The values of the inputs of `generic_model`."""
    body = model.base_inertia
    values: dict[tuple, float] = {("constant", "m", 0): body.mass}
    for i in range(3):
        values["constant", "g", i] = model.gravity[i]
        values["constant", "c", i] = body.com[i]
    values |= {("constant", "J", n): body.rotational[i][j] for n, (i, j) in enumerate(UPPER)}
    return values
