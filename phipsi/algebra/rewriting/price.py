"""What an expression costs as it reads: inverses, sweeps, flops, length.

Every operator acts on a vector in turn, from the right; an operator alone acts on some vector.
Equal vectors are computed once. A sweep takes along what fits its direction. Flops are those of
one body behind a joint that turns, near to what `lowering.cost` counts there.

An inverse that is not block diagonal is no algorithm yet: a full one needs as many sweeps as
there are joints, a triangular one is a recursion that is still to be found.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from phipsi.algebra import operators as op
from phipsi.algebra.alphabet import Letter
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
    compose,
)
from phipsi.algebra.rewriting.normal import starred_letters, tidied
from phipsi.algebra.spaces import BODY, JOINT, POINTS, SCALAR, Causality, Space
from phipsi.algebra.stars import starred

SLACK = 1.25  # how much dearer an expression on the way may be


@dataclass(frozen=True, order=True)
class Price:
    """What an expression costs as it reads.

    Args:
        full_inverses: of operators that are neither block diagonal nor triangular.
        triangular_inverses: of causal and anticausal operators.
        sweeps: loops over the bodies, besides those that the inverses need.
        flops: for each body.
        length: letters, what occurs twice counted once.
    """

    full_inverses: int
    triangular_inverses: int
    sweeps: int
    flops: int
    length: int

    @property
    def inverses(self) -> int:
        """How many inverses are left that are no algorithm yet."""
        return self.full_inverses + self.triangular_inverses

    def __str__(self) -> str:
        parts = [
            (self.full_inverses, "full inverse"),
            (self.triangular_inverses, "triangular inverse"),
            (self.sweeps, "sweep"),
        ]
        counted = [f"{n} {what}{'s' if n != 1 else ''}" for n, what in parts if n]
        return ", ".join([*counted, f"{self.flops} flops per body"])


@lru_cache(maxsize=50_000)
def price(node: Node) -> Price:
    """What an expression costs as it reads.

    >>> from phipsi.operators import H, I, K, Mass, psi
    >>> print(price(Mass.inv))
    1 full inverse, 2 sweeps, 120 flops per body
    >>> print(price(I - H @ psi @ K))
    1 sweep, 309 flops per body
    """
    reading = _Reading(starred_letters(node))
    sweeps = min(reading.last) + 1
    inverses = len(reading.full), len(reading.triangular)
    return Price(*inverses, sweeps, reading.flops, _length(node))


def within_reach(new: Price, best: Price) -> bool:
    """Whether an expression may lead to one that is cheaper than the best."""
    if new.full_inverses > best.full_inverses:
        return False
    if best.inverses:  # a full one may become triangular ones
        return new.inverses <= best.inverses + 2
    affordable = new.sweeps <= best.sweeps + 1 and new.flops <= SLACK * best.flops + 12
    return affordable and not new.inverses


# -- flops of one body -------------------------------------------------------------------

INWARD, OUTWARD = 0, 1
BRACKET = 18  # S[x] y and the like
OTHERS = {BODY: 66, POINTS: 66, JOINT: 1}  # a letter of which nothing is known, a small solve
SMALL_SYSTEM = 72  # of six equations
FOLLOWED = {letter.name: letter for letter in (op.P, op.V)}  # whose recursions others need


class Level(NamedTuple):
    """In which sweep something is known, if the first goes inward, and if it goes outward."""

    inward_first: int
    outward_first: int

    def then(self, direction: int) -> Level:
        """The next sweep that goes in a direction, this one if it does."""
        return Level(*(_next(x, first, direction) for first, x in enumerate(self)))

    def __or__(self, other: Level) -> Level:
        """When both are known."""
        return Level(max(self[0], other[0]), max(self[1], other[1]))


def _next(level: int, first: int, direction: int) -> int:
    level = max(level, 0)
    return level if (level + first) % 2 == direction else level + 1


GIVEN = Level(-1, -1)


class _Reading:
    """One reading of an expression, from the right."""

    def __init__(self, node: Node):
        self.flops, self.last = 0, GIVEN
        self.full: set[Node] = set()
        self.triangular: set[Node] = set()
        self._known: dict[Hashable, Level] = {}
        self._all(node)

    def _all(self, node: Node) -> Level:
        """Of an operator, what it does to some vector."""
        if node.source is None or node.source is SCALAR:
            return self.vector(node)
        return self.vector(compose(node, Symbol("?", SCALAR, node.source, free=True)))

    def _sweep(self, direction: int, after: Level) -> Level:
        level = after.then(direction)
        self.last |= level
        return level

    # -- vectors -------------------------------------------------------------------------

    def vector(self, node: Node) -> Level:
        """In which sweep a vector is known."""
        if node not in self._known:
            self._known[node] = self._vector(node)
        return self._known[node]

    def _vector(self, node: Node) -> Level:
        match node:
            case Symbol():
                return self._vector_letter(node)
            case Sum():
                self.flops += (len(node.children) - 1) * _size(node.target)
            case Scaled():
                self.flops += 0 if node.factor == -1 else _size(node.target)
            case Product():
                return self._chain(node.factors)
        level = GIVEN
        for child in node.children:
            level |= self._all(child)
        return level

    def _vector_letter(self, node: Symbol) -> Level:
        if node.free:
            return GIVEN
        if node.definition is not None:
            return self.vector(tidied(node.definition))
        record = node.record
        if record.recursion is not None:
            return self._recursion(node)
        self.flops += record.flops or 0
        return self._followed(record)

    def _chain(self, factors: tuple[Node, ...]) -> Level:
        """A product with a vector, or with a scalar."""
        if len(factors) == 1:
            return self.vector(factors[0])
        key = ("chain", *factors)
        if key not in self._known:
            known = self._chain(factors[1:])
            self._known[key] = self.applied(factors[0], known, factors[1:])
        return self._known[key]

    def _recursion(self, letter: Symbol) -> Level:
        """What is computed once for every body."""
        key = "recursion", letter.record
        if key not in self._known:
            assert letter.record.recursion is not None
            flops, is_inward = letter.record.recursion
            self.flops += flops
            after = self._followed(letter.record)
            self._known[key] = self._sweep(INWARD if is_inward else OUTWARD, after)
        return self._known[key]

    def _followed(self, record: Letter) -> Level:
        """When the recursion is known that a letter needs."""
        return self._recursion(FOLLOWED[record.follows]) if record.follows else GIVEN

    # -- operators -----------------------------------------------------------------------

    def applied(self, head: Node, known: Level, rest: tuple) -> Level:
        """In which sweep head @ x is known; `rest` tells x from other vectors."""
        match head:
            case Symbol():
                return self._letter(head, False, known, rest)
            case Transpose() if isinstance(head.children[0], Symbol):
                return self._letter(head.children[0], True, known, rest)
            case Transpose() | Root():
                self.flops += OTHERS[JOINT]
                return known | self._blocks(head.children[0])
            case Sum():
                self.flops += (len(head.children) - 1) * _size(head.target)
                levels = [self.applied(x, known, rest) for x in head.children]
                return levels[0] | Level(*map(max, zip(*levels, strict=True)))
            case Scaled():
                if isinstance(head.factor, Node):
                    known |= self.vector(head.factor)
                return self.applied(head.children[-1], known, rest)
            case Product():
                return self._product(head.factors, known, rest)
            case Inverse():
                return self._inverse(head.children[0], known)
            case Bracket():
                self.flops += BRACKET
                return known | self.vector(head.children[0])
            case Diagonal():
                self.flops += OTHERS[BODY]
                return known | self._blocks(head.children[0])
        assert isinstance(head, Identity)
        return known

    def _product(self, factors: Sequence[Node], known: Level, rest: tuple) -> Level:
        for i in reversed(range(len(factors))):
            key = ("chain", *factors[i:], *rest)
            if key not in self._known:
                self._known[key] = self.applied(factors[i], known, (*factors[i + 1 :], *rest))
            known = self._known[key]
        return known

    def _letter(self, letter: Symbol, star: bool, known: Level, rest: tuple) -> Level:
        if SCALAR in (letter.source, letter.target):  # x* y, or a vector times a scalar
            self.flops += 2 * _size(letter.target)
            return known | self.vector(letter)
        record = letter.record
        known |= self._followed(record)
        if record.recursion is not None:
            known |= self._recursion(letter)
        if record.flops is not None and letter.causality is not Causality.MEMORYLESS:
            self.flops += record.flops
            inward = (letter.causality is Causality.CAUSAL) is not star
            return self._sweep(INWARD if inward else OUTWARD, known)
        if letter.definition is not None and record.flops is None:
            meant = letter.definition.T if star else letter.definition
            return self.applied(tidied(meant), known, rest)
        self.flops += OTHERS.get(letter.target, 1) if record.flops is None else record.flops
        return known

    def _inverse(self, operand: Node, known: Level) -> Level:
        if operand.target not in (BODY, JOINT):
            self.flops += 1 if operand.target is SCALAR else SMALL_SYSTEM
        elif operand.causality is Causality.MEMORYLESS:
            self.flops += OTHERS[operand.target]
        elif operand.causality is Causality.MIXED:
            self.full.add(operand)
        elif starred(operand) not in self.triangular:
            self.triangular.add(operand)
        return known | self._blocks(operand)

    def _blocks(self, operand: Node) -> Level:
        """What an operator is made of, computed once."""
        key = "blocks", operand
        if key not in self._known:
            self._known[key] = self._all(operand)
        return self._known[key]


def _size(space: Space | None) -> int:
    return 6 if space in (BODY, POINTS) else 1


# -- length ------------------------------------------------------------------------------


def _length(node: Node) -> int:
    """How many letters and signs an expression has, equal parts counted once."""
    seen: set[Node] = set()

    def count(x: Node) -> int:
        if x in seen:
            return 1
        if isinstance(x, (Sum, Product, Inverse)):
            seen.add(x)
        if not x.children:
            return 0 if isinstance(x, Identity) else 1
        return sum(map(count, x.children)) + (0 if isinstance(x, (Product, Transpose)) else 1)

    return count(node)
