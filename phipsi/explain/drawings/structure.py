"""Which blocks of an expression vanish: by the tree, and by the numbers at a state.

By the tree: a letter is made block by block, and what it leaves out is zero.
Sums and products follow by the algebra of zeros and ones, in which nothing
cancels. The inverse of A is a polynomial in A (Cayley and Hamilton), so its
blocks are among those that steps along the blocks of A reach.

By the numbers: some blocks that the tree allows cancel, as all of
`phi K H psi + psi - phi` do [003 Lemma 5]. What is left of them is rounding,
which is told from a number by looking twice: at states that differ in their
last digits a number is the same, rounding is another.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce, singledispatch

import numpy as np

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
from phipsi.algebra.spaces import BODY, COORDINATES, JOINT, Causality
from phipsi.algebra.walk import made_of
from phipsi.explain.drawings.cells import cells_of
from phipsi.lowering.dense import DenseMachine
from phipsi.lowering.inputs import Inputs

SAME = 1e-3  # what differs by more, relatively, between the states is rounding
SMALLEST = 1e-14  # of the parts that a block is made of; what is below is rounding
OF_INVERSE = 1e-16  # the same of A^-1 A A^-1, which rounding of an inverse stays far below
OUTSIDE = 1e-6  # of the largest block: more than this where the tree forbids is a mistake of ours

Pattern = np.ndarray  # (rows, columns) of blocks, bool


class Structure:
    """The blocks of expressions on a machine.

    Args:
        states: a batch: the state that is drawn, and some that differ in their last digits.
    """

    def __init__(self, states: Inputs):
        self._machine = DenseMachine(states, "link")
        self._sizes: dict[Node, np.ndarray] = {}
        self._allowed: dict[Node, Pattern] = {}
        self._nonzero: dict[Node, Pattern] = {}

    def matrix(self, node: Node) -> np.ndarray:
        """The numbers at the state that is drawn."""
        found = self._machine.matrix(node)
        return found[0] if found.ndim == 3 else found

    def allowed(self, node: Node) -> Pattern:
        """Which blocks the tree lets be nonzero."""
        self._walk(node)
        return self._allowed[node]

    def nonzero(self, node: Node) -> Pattern:
        """Which blocks are numbers."""
        self._walk(node)
        return self._nonzero[node]

    def _walk(self, node: Node) -> None:
        """Every part of an expression, what it is made of first."""
        stack = [node]
        while stack:
            parts = [part for part in made_of(stack[-1]) if part not in self._allowed]
            stack.extend(parts)
            if not parts:
                last = stack.pop()
                if last not in self._allowed:
                    self._look_at(last)

    def _look_at(self, node: Node) -> None:
        norms = self._norms(node)
        own, parts = norms[0], made_of(node)
        allowed = pattern_of(node, [self._allowed[x] for x in parts], own)
        reached = pattern_of(node, [self._nonzero[x] for x in parts], own)
        forbidden = np.where(allowed, 0.0, own)
        assert np.all(forbidden <= OUTSIDE * own.max(initial=0.0)), f"structure of `{node}`"
        least = _rounding_of(node, [self._sizes[x] for x in parts], own)
        is_number = (own > least) & (np.ptp(norms, axis=0) <= SAME * own)
        self._allowed[node] = allowed
        self._nonzero[node] = reached & is_number
        self._sizes[node] = np.where(self._nonzero[node], own, 0.0)

    def _norms(self, node: Node) -> np.ndarray:
        """The Frobenius norm of every block at every state."""
        assert node.target is not None and node.source is not None
        matrix = self._machine.matrix(node)
        norms = np.abs(np.reshape(matrix, (-1, *matrix.shape[-2:])))
        for axis, space in enumerate((node.target, node.source), start=1):
            sizes = [cell.size for cell in cells_of(space, self._machine.inputs)]
            norms = np.hypot.reduceat(norms, np.cumsum([0, *sizes[:-1]]), axis=axis)
        return norms  # by hypot, for the squares of small numbers are nothing


def _rounding_of(node: Node, parts: Sequence[np.ndarray], own: np.ndarray) -> np.ndarray:
    """How large rounding may be in each block, by the size of what the block is made of."""
    if isinstance(node, Sum):
        return SMALLEST * reduce(np.add, parts)
    if isinstance(node, Product):
        return SMALLEST * reduce(np.matmul, parts)
    if isinstance(node, Inverse):
        return OF_INVERSE * (own @ parts[0] @ own)
    return (SMALLEST if parts else 0.0) * own  # of a letter nothing was added up


# -- the algebra of zeros and ones ---------------------------------------------------------


@singledispatch
def pattern_of(node: Node, parts: Sequence[Pattern], norms: np.ndarray) -> Pattern:
    """Which blocks of an expression can be nonzero.

    Args:
        node: the expression.
        parts: the patterns of what it is made of.
        norms: of its own blocks, from which a letter's pattern is taken.
    """
    raise AssertionError(f"no structure for {type(node).__name__}")


@pattern_of.register
def _(node: Symbol, parts: Sequence[Pattern], norms: np.ndarray) -> Pattern:
    return parts[0] if parts else norms > 0.0


@pattern_of.register
def _(node: Identity, parts: Sequence[Pattern], norms: np.ndarray) -> Pattern:
    return _diagonal(norms)


@pattern_of.register
def _(node: Sum, parts: Sequence[Pattern], norms: np.ndarray) -> Pattern:
    return reduce(np.logical_or, parts)


@pattern_of.register
def _(node: Product, parts: Sequence[Pattern], norms: np.ndarray) -> Pattern:
    return reduce(_composed, parts)


@pattern_of.register
def _(node: Scaled, parts: Sequence[Pattern], norms: np.ndarray) -> Pattern:
    nothing = node.factor == 0 if not isinstance(node.factor, Node) else not parts[0].any()
    return parts[-1] & (not nothing)


@pattern_of.register
def _(node: Transpose, parts: Sequence[Pattern], norms: np.ndarray) -> Pattern:
    return parts[0].T


@pattern_of.register
def _(node: Bracket, parts: Sequence[Pattern], norms: np.ndarray) -> Pattern:
    return np.diag(parts[0][:, 0])


@pattern_of.register
def _(node: Diagonal, parts: Sequence[Pattern], norms: np.ndarray) -> Pattern:
    if node.target is COORDINATES:  # which are one block
        return parts[0]
    return parts[0] & _diagonal(norms)


@pattern_of.register
def _(node: Inverse, parts: Sequence[Pattern], norms: np.ndarray) -> Pattern:
    return _reached(parts[0]) if _is_whole(node) else _diagonal(norms)


@pattern_of.register
def _(node: Root, parts: Sequence[Pattern], norms: np.ndarray) -> Pattern:
    return np.tril(_reached(parts[0])) if _is_whole(node) else _diagonal(norms)


def _is_whole(node: Node) -> bool:
    """Whether a function of an operator takes it whole, or block by block; see `DenseMachine`."""
    operand = node.children[0]
    return operand.causality is not Causality.MEMORYLESS or operand.target not in (BODY, JOINT)


def _diagonal(norms: np.ndarray) -> Pattern:
    return np.eye(len(norms), dtype=bool)


def _composed(left: Pattern, right: Pattern) -> Pattern:
    return left.astype(float) @ right.astype(float) > 0.0


def _reached(pattern: Pattern) -> Pattern:
    """Blocks that steps along a pattern reach, any number of them, none included."""
    reached = pattern | _diagonal(pattern)
    while True:
        further = _composed(reached, reached)
        if np.array_equal(further, reached):
            return reached
        reached = further
