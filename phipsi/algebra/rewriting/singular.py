"""What has no inverse, by its form: such an operator never cancels against its `.inv`.

    E_phi, S, phi~        blocks on the diagonal are zero
    cross[x]              x is in its null space
    at(k)                 all but one of its blocks are zero
    x y*, H* H            they pass through a smaller space

The facts stand in the records of the letters; the normal form and the lowering both ask here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache, reduce

from phipsi.algebra.node import (
    Bracket,
    Diagonal,
    Identity,
    Inverse,
    Node,
    Product,
    Root,
    Scaled,
    Sum,
    Symbol,
    Transpose,
)
from phipsi.algebra.spaces import BODY, JOINT, POINTS, SCALAR, Causality, Space

ONE_WAY = (Causality.CAUSAL, Causality.ANTICAUSAL)
ZERO = "it is zero"
MOST_WORDS = 100  # of a diagonal that is looked at


def why_singular(node: Node) -> str:
    """Why an operator has no inverse on any machine; empty where it may have one.

    >>> from phipsi.operators import E_phi, M, V, cross, phi
    >>> why_singular(phi @ E_phi), why_singular(cross[V]), why_singular(M)
    ('its diagonal is zero', 'V is in its null space', '')
    """
    return _why(node, everywhere=True)


def may_cancel(node: Node) -> bool:
    """Whether an operator beside its inverse is I, as far as its form tells.

    Also False for what has an inverse on few machines: at(k) on one of a single body, H* H where
    all joints are free.

    >>> from phipsi.operators import H, M
    >>> may_cancel(M), may_cancel(H.T @ H)
    (True, False)
    """
    return not _why(node, everywhere=False)


@lru_cache(maxsize=20_000)
def _why(node: Node, everywhere: bool) -> str:
    if is_strict(node):
        return "its diagonal is zero" if node.causality in ONE_WAY else ZERO
    match node:
        case Bracket():
            return f"{node.children[0]} is in its null space"
        case Symbol() if node.record.selects:
            return "" if everywhere else "it keeps the blocks of one body"
        case Symbol() if node.definition is not None and node.is_square:
            return _why(node.definition, everywhere)
        case Diagonal() if is_strict(node.children[0]):
            return ZERO
        case Diagonal() if node.children[0].causality is not Causality.MEMORYLESS:
            return ""
        case Scaled() | Diagonal() | Transpose() | Root() | Inverse():
            return _why(node.children[-1], everywhere)
        case Product() if node.target is not None and not node.is_scalar:
            passed = [x.source for x in node.factors[:-1] if x.source is not None]
            if any(_is_smaller(x, node.target, everywhere) for x in passed):
                return "it passes through a smaller space"
            if all(x.is_square for x in node.factors):
                return next(filter(None, (_why(x, everywhere) for x in node.factors)), "")
    return ""


def _is_smaller(one: Space, other: Space, everywhere: bool) -> bool:
    """Whether a space has fewer dimensions than another, on every machine or on most."""
    if one.size is not None and other.size is not None:
        return one.size < other.size
    if one is SCALAR and other in (BODY, POINTS):
        return True
    if one is SCALAR and other.size is not None:
        return other.size > 1
    return not everywhere and (one, other) in ((JOINT, BODY), (SCALAR, JOINT))


def is_strict(node: Node) -> bool:
    """Whether the blocks of an operator on the diagonal are zero, by its form.

    >>> from phipsi.operators import E_phi, I, phi
    >>> is_strict(phi - I), is_strict(phi @ E_phi), is_strict(phi)
    (True, True, False)
    """
    return diagonal_of(node) == {}


Diagonals = Mapping[tuple[Hashable, ...], float]  # words of block-diagonal factors, their numbers


@lru_cache(maxsize=20_000)
def diagonal_of(node: Node) -> Diagonals | None:
    """The blocks on the diagonal of what carries one way, as a polynomial; None for all others."""
    if node.causality is Causality.MIXED or SCALAR in (node.source, node.target):
        return None
    match node:
        case Scaled() if node.factor == 0:
            return {}
        case Scaled() if not isinstance(node.factor, Node):
            return _times({(): float(node.factor)}, diagonal_of(node.children[0]))
        case Identity():
            return {(): 1.0}
        case Symbol() if node.record.strict:
            return {}
        case Symbol() if node.definition is not None and node.causality in ONE_WAY:
            return diagonal_of(node.definition)
        case Transpose() | Inverse():
            inner = diagonal_of(node.children[0])
            if inner == {} and isinstance(node, Transpose):
                return {}
            if inner is not None and set(inner) == {()}:  # a number times I
                return {(): inner[()] ** (-1 if isinstance(node, Inverse) else 1)}
        case Sum():
            return _total(map(diagonal_of, node.children))
        case Product():
            return reduce(_times, map(diagonal_of, node.factors))
    return {(node,): 1.0}


def _times(left: Diagonals | None, right: Diagonals | None) -> Diagonals | None:
    if left == {} or right == {}:
        return {}
    if left is None or right is None or len(left) * len(right) > MOST_WORDS:
        return None
    return _total({(*a, *b): x * y} for a, x in left.items() for b, y in right.items())


def _total(parts: Iterable[Diagonals | None]) -> Diagonals | None:
    sums: dict[tuple[Hashable, ...], float] = {}
    for part in parts:
        if part is None:
            return None
        for word, number in part.items():
            sums[word] = sums.get(word, 0.0) + number
    return {word: number for word, number in sums.items() if number}
