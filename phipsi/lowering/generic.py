"""A body of which only the form is known: its numbers are parameters.

Bodies of one form run the same operations on other numbers, whatever machine
they belong to. The form is what the operations depend on: the kind of joint, the
factors of phi(p,k), which numbers are zeros and ones of the structure, whether
the body hangs on the world, whether it carries others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields
from typing import Any, cast

from phipsi import spatial
from phipsi.graph.graph import Graph, Node
from phipsi.lowering.links import Link
from phipsi.lowering.rigid import UPPER
from phipsi.lowering.transforms import Factor
from phipsi.model.inertia import HERE, Inertia, Placement
from phipsi.model.model import Model

TAKEN_APART = (Link, Factor, Inertia, Placement)


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


def link_form(link: Link) -> tuple[Hashable, list[float]]:
    """The form of a link, and its numbers."""
    form: list[Hashable] = []
    numbers: list[float] = []

    def number(x: float) -> float:
        form.append("number")
        numbers.append(x)
        return x

    _rebuilt(link, number, form.append)
    return tuple(form), numbers


def generic_link(link: Link, graph: Graph) -> tuple[Link, int]:
    """A link whose numbers are the inputs ("parameter", i) of a graph; how many there are."""
    count = 0

    def number(x: float) -> Node:
        nonlocal count
        count += 1
        return graph.input(("parameter", count - 1))

    generic = cast(Link, _rebuilt(link, number, lambda token: None))
    return generic, count


def _rebuilt(x: Any, number: Callable[[float], Any], note: Callable[[Hashable], None]) -> Any:
    """A copy in which numbers are replaced; what else matters is noted on the way."""
    if isinstance(x, float):
        return number(x)
    if x is HERE or x == spatial.IDENTITY3:
        note("here")
        return x
    if isinstance(x, (tuple, list)):
        note(len(x))
        return tuple(_rebuilt(y, number, note) for y in x)
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
            value = _rebuilt(value, number, note)
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


def generic_model(graph: Graph, nv: int) -> GenericModel:
    """The constants of any machine."""

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
    return GenericModel(named("g", 3), inertia, nv)


def machine_constants(model: Model) -> dict[tuple, float]:
    """The values of the inputs of `generic_model`."""
    body = model.base_inertia
    values: dict[tuple, float] = {("constant", "m", 0): body.mass}
    for i in range(3):
        values["constant", "g", i] = model.gravity[i]
        values["constant", "c", i] = body.com[i]
    values |= {("constant", "J", n): body.rotational[i][j] for n, (i, j) in enumerate(UPPER)}
    return values
