"""Elements of operators and vectors: `phi(2, 1)`, `V('elbow')`.

The element (i, j) of an operator is the operator of which only that block is left, all
others zero:

    phi(i,j) = at(i) phi at(j)        V(k) = at(k) V

So elements keep the spaces of what they are of; they add and multiply as blocks do,
phi(i,k) phi(k,j) = phi(i,j) for k between i and j [001 (4)]. Bodies go by their names, or
the names of their joints, or by their numbers in the machine, parents first: the papers
count from the tip. at(-k) counts from the end, as in Python: it is body k of the papers.

>>> from phipsi.operators import phi
>>> element(phi, (2, 1))
at(2) @ phi @ at(1)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from phipsi.algebra.alphabet import Alphabet
from phipsi.algebra.node import Diagonal, Inverse, Node, Root, Symbol, compose
from phipsi.algebra.own import letter
from phipsi.algebra.spaces import BODY, JOINT, SCALAR, Causality, Space
from phipsi.errors import InputError, SpaceError

if TYPE_CHECKING:
    from phipsi.lowering.dense import DenseMachine
    from phipsi.lowering.matrices import MatrixLowering
    from phipsi.lowering.program import Slot
    from phipsi.lowering.state import Matrix

ELEMENTS = Alphabet("elements", "phipsi.algebra.elements", built_in=True)


def _dense(space: Space) -> Callable[..., Matrix]:
    """I at body or joint i, zero elsewhere."""

    def matrix(m: DenseMachine, *place: Any) -> Matrix:
        i, _ = m.joint_axis(*place)
        result, here = m.zeros(space, space), m.slices(space)[i]
        result[..., here, here] = m.identity(here.stop - here.start)
        return result

    return matrix


def _block(low: MatrixLowering, letter: Symbol) -> Slot:
    return low.emit("selection", (), letter, (letter.target, *letter.arguments))


_selection = partial(
    letter,
    alphabet=ELEMENTS,
    of="joint",
    block=_block,
    symmetric=True,
    selects=True,
    flops=0,
    formula="I at (i, i)",
    where="at (i, i)",
)
at = _selection(
    "at",
    BODY,
    BODY,
    dense=_dense(BODY),
    mechanics="what belongs to body i, all else zero",
    estimation="the state at body i, all else zero",
)
at_joint = _selection(
    "at_joint",
    JOINT,
    JOINT,
    dense=_dense(JOINT),
    mechanics="what belongs to joint i, all else zero",
    estimation="the measurements at joint i, all else zero",
)
SELECTIONS = {BODY: at, JOINT: at_joint}


def element(node: Node, places: Sequence[Hashable]) -> Node:
    """The element of an operator at (i, j), of a memoryless one at k, of a vector at k.

    Raises:
        InputError: a place that is neither a name nor a whole number.
        SpaceError: where a space has no bodies or joints, or there are too few places.
    """
    for place in places:
        if not isinstance(place, str) and type(place) is not int:
            raise InputError(
                f"no body {place!r} for an element of `{node}`; expected a name or a whole number"
            )
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


def inverse_element(node: Node, places: Sequence[Hashable], suffix: str = "inv") -> Node:
    """The inverse, or the square root, of one block on the diagonal: D(k)^-1, D(k)^1/2.

    It is that element of the inverse of all blocks: at(k) blockdiag(A)^-1 at(k).

    Raises:
        SpaceError: of a block off the diagonal.
    """
    if len(set(places)) > 1:
        what = "inverse" if suffix == "inv" else "square root"
        raise SpaceError(
            f"an element of `{node}` off the diagonal has no {what} here; only blocks on the "
            "diagonal have, as D(2)"
        )
    blocks = node if node.causality is Causality.MEMORYLESS else Diagonal(node)
    return element(getattr(blocks, suffix), places)


class Element(NamedTuple):
    """An element that was found among factors: of what, where, and how many factors it is."""

    letter: Node
    places: tuple
    length: int


def read_element(factors: Sequence[Node], start: int, from_tip: bool = False) -> Element | None:
    """The element that some factors are, from one of them on; None if they are none.

    Args:
        factors: of a product.
        start: the first that may be part of it.
        from_tip: whether bodies that go by numbers are counted from the end, as in papers.
    """
    if start + 1 >= len(factors) or not _selects(factors[start], from_tip):
        return None
    first, letter = factors[start : start + 2]
    if not _has_elements(letter):
        return None
    assert isinstance(first, Symbol)
    if letter.is_vector:
        # f(0) is the force at points, f0
        is_tip = isinstance(letter, Symbol) and letter.name == "f" and first.arguments == (0,)
        return None if is_tip else Element(letter, first.arguments, 2)
    if start + 2 >= len(factors) or not _selects(factors[start + 2], from_tip):
        return None
    last = factors[start + 2]
    assert isinstance(last, Symbol)
    if letter.causality is Causality.MEMORYLESS and first.arguments == last.arguments:
        return Element(letter, first.arguments, 3)
    return Element(letter, (*first.arguments, *last.arguments), 3)


def is_ambiguous(node: Node) -> bool:
    """Whether an element of it could be the inverse of an element: phi^-1(i,j) [001 (4)]."""
    is_causal = node.causality in (Causality.CAUSAL, Causality.ANTICAUSAL)
    return isinstance(node, Inverse) and is_causal


def _has_elements(node: Node) -> bool:
    """Whether an element of it is written: a letter, its inverse or its root."""
    letter = node
    while isinstance(letter, (Inverse, Root)):
        letter = letter.children[0]
    is_letter = isinstance(letter, Symbol) and not letter.arguments and not letter.record.of
    return is_letter and not node.is_scalar and not is_ambiguous(node)


def _selects(node: Node, from_tip: bool) -> bool:
    if not isinstance(node, Symbol) or node.record.alphabet is not ELEMENTS:
        return False
    if len(node.arguments) != 1:
        return False
    (place,) = node.arguments
    return isinstance(place, str) or (type(place) is int and (place < 0) is from_tip)
