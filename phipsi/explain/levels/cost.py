"""What an expression costs: counted on the machine, or on a reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phipsi.algebra.node import Node
from phipsi.algebra.spaces import POINTS
from phipsi.algebra.walk import letters_of
from phipsi.errors import PhipsiError
from phipsi.explain.levels.layout import paragraph
from phipsi.lowering.cost import cost_of
from phipsi.lowering.inputs import Inputs, checked_points
from phipsi.lowering.program import Program
from phipsi.model.examples import chain
from phipsi.model.model import Model, Point, point

REFERENCE = 10  # bodies of the chain on which costs are counted without a machine
MOST_BODIES = 300  # of machines on which matrices are counted


@dataclass(frozen=True)
class Price:
    """A cost in words, flops loop by loop, and on which machine; none where none can be counted."""

    text: str
    by_loop: tuple[int, ...] = ()
    where: str = ""


def price_of(
    program: Program, expressions: Sequence[Node], model: Model | None, inputs: Inputs | None
) -> Price:
    """The cost of a program, on the machine or on a chain of ten revolute joints."""
    makes_columns = any(x.domain.kind in ("column", "pair") for x in program.statements())
    where = model
    if model is None or (makes_columns and len(model.bodies) > MOST_BODIES):
        where = chain(REFERENCE)
    assert where is not None
    is_own = where is model
    lists = _points(expressions, where, inputs if is_own else None)
    try:
        cost = cost_of(program, where, lists)
    except (PhipsiError, ZeroDivisionError):  # the latter where a body that must move has no mass
        text = f"sweeps: {program.sweeps}; flops depend on the machine, its joints and points"
        return Price(text)
    name = repr(where.name) if is_own else f"a chain of {REFERENCE} revolute joints, the reference"
    text = (
        f"sweeps: {program.sweeps}; on {name}: {cost.flops} flops, "
        f"{cost.operations.sincos} sines and cosines, "
        f"{cost.stored_per_body:g} numbers kept per body between sweeps"
    )
    if any(lists.values()) and inputs is None:
        text += "; one point, on the last body"
    return Price(paragraph(text), cost.by_loop, name)


def _points(
    expressions: Sequence[Node], model: Model, inputs: Inputs | None
) -> dict[tuple, tuple[Point, ...]]:
    """Of each list of points, which they are: the user's, or the origin of the last body."""
    letters = [x for x in letters_of(expressions) if POINTS in (x.source, x.target)]
    lists = {x.arguments: x.arguments for x in letters if not x.free}
    if letters:
        lists.setdefault((), ())
    tip = (point(model.bodies[-1].name),) if model.bodies else ()
    passed = tip if inputs is None or not inputs.points else inputs.points
    return {key: checked_points(x) if x else tuple(passed) for key, x in lists.items()}
