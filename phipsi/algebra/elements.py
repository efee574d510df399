"""Elements of operators and vectors: `phi(2, 1)`, `V('elbow')`.

The element (i, j) of an operator is the operator of which only that block is left, all
others zero:

    phi(i,j) = at(i) phi at(j)        V(k) = at(k) V

So elements keep the spaces of what they are of; they add and multiply as blocks do,
phi(i,k) phi(k,j) = phi(i,j) for k between i and j [001 (4)]. Bodies go by their names, or
the names of their joints, or by their numbers in the machine, parents first: the papers
count from the tip.

>>> from phipsi.operators import phi
>>> element(phi, (2, 1))
at(2) @ phi @ at(1)
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from phipsi.algebra.alphabet import Alphabet, Letter
from phipsi.algebra.node import Node, Symbol, compose
from phipsi.algebra.own import CallableLetter
from phipsi.algebra.spaces import BODY, JOINT, SCALAR, Causality, Space
from phipsi.errors import SpaceError

ELEMENTS = Alphabet("elements", "phipsi.algebra.elements")


def _selection(name: str, space: Space, mechanics: str) -> CallableLetter:
    record = Letter(
        name,
        ELEMENTS,
        symmetric=True,
        selects=True,
        of="joint",
        flops=0,
        mechanics=mechanics,
        formula="I at (i, i)",
        where="at (i, i)",
    )
    letter = CallableLetter(name, space, space, record=record)
    ELEMENTS.letters[name] = letter
    return letter


at = _selection("at", BODY, "what belongs to body i, all else zero")
at_joint = _selection("at_joint", JOINT, "what belongs to joint i, all else zero")
SELECTIONS = {BODY: at, JOINT: at_joint}


def element(node: Node, places: Sequence[Hashable]) -> Node:
    """The element of an operator at (i, j), of a memoryless one at k, of a vector at k.

    Raises:
        SpaceError: where a space has no bodies or joints, or there are too few places.
    """
    is_vector = node.source is SCALAR
    sides = [node.target] if is_vector else [node.target, node.source]
    if any(side not in SELECTIONS for side in sides):
        raise SpaceError(f"`{node}` has no elements by bodies: only body and joint space do")
    if len(places) == 1 and node.causality is Causality.MEMORYLESS:
        places = (*places, *places)[: len(sides)]
    if len(places) != len(sides):
        raise SpaceError(f"an element of `{node}` has {len(sides)} places, got {len(places)}")
    left, *right = (
        SELECTIONS[side](place) for side, place in zip(sides, places, strict=True) if side
    )
    return compose(compose(left, node), right[0]) if right else compose(left, node)


def read_element(factors: Sequence[Node], start: int) -> tuple[Symbol, tuple, int] | None:
    """The letter, its places, and how many factors are an element, from a factor on; or None."""
    if start + 1 >= len(factors) or not _selects(factors[start]):
        return None
    first, letter = factors[start : start + 2]
    if not isinstance(letter, Symbol) or letter.arguments:
        return None
    assert isinstance(first, Symbol)
    if letter.is_vector:
        is_tip = letter.name == "f" and first.arguments == (0,)  # f(0) is the force at points, f0
        return None if is_tip else (letter, first.arguments, 2)
    if start + 2 >= len(factors) or not _selects(factors[start + 2]):
        return None
    last = factors[start + 2]
    assert isinstance(last, Symbol)
    if letter.causality is Causality.MEMORYLESS and first.arguments == last.arguments:
        return letter, first.arguments, 3
    return letter, (*first.arguments, *last.arguments), 3


def _selects(node: Node) -> bool:
    return isinstance(node, Symbol) and node.record.alphabet is ELEMENTS and bool(node.arguments)
