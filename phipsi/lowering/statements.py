"""Settled expressions become statements on bodies: vectors, matrices, and what they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.spaces import SCALAR
from phipsi.algebra.walk import letters_of, walk
from phipsi.lowering.covariance import infer_kinds
from phipsi.lowering.lower import TooManyTermsError
from phipsi.lowering.matrices import MatrixLowering, emit_matrix, emit_vector
from phipsi.lowering.program import Guard, Loop, Origin, Output, Program, Slot, Statement
from phipsi.lowering.schedule import schedule
from phipsi.lowering.settle import Settled, settle_expressions
from phipsi.lowering.verify import verify

MOST_OPENED, OPENED_EACH = 200, 5  # terms of sums in a program, and for each part it is made of


@dataclass(frozen=True)
class Lowered:
    """Expressions as statements, not yet in loops.

    Args:
        statements: in an order that their data allow.
        origins: what every slot is the value of.
        covariant: whether private frames may move their origins.
        guard: what pivots are held against.
    """

    statements: Sequence[Statement]
    origins: Mapping[Slot, Origin]
    covariant: bool
    guard: Guard

    def in_loops(self, loops: tuple[Loop, ...], expressions: tuple[Node, ...]) -> Program:
        """The program of expressions, whose statements stand in these loops."""
        outputs = tuple(map(_output, expressions))
        known = free_letters(expressions), self.covariant, self.origins, expressions, self.guard
        return Program(loops, outputs, *known)


def lower_expressions(
    settled: Settled, plain: bool = True, guard: Guard = Guard.NUMBERS
) -> Lowered:
    """The statements of settled expressions, in time that is a polynomial of their length.

    Args:
        settled: the expressions of one function; what they share is computed once.
        plain: whether the machine has no mimic joints.
        guard: what pivots are held against.
    """
    parts = set(chain.from_iterable(map(walk, settled.nodes)))
    try:
        return _lower(settled, plain, guard, MOST_OPENED + OPENED_EACH * len(parts))
    except TooManyTermsError:
        return _lower(settled, plain, guard, None)


@lru_cache(maxsize=128)
def find_careful(program: Program, plain: bool) -> Program:
    """The program that computes the same, and decides whether a pivot is zero but for roundoff."""
    settled = settle_expressions(program.expressions, plain)
    lowered = lower_expressions(settled, plain, Guard.ORIGINS)
    made = verify(lowered.in_loops(schedule(lowered.statements), program.expressions))
    return replace(made, free=program.free)


def _lower(settled: Settled, plain: bool, guard: Guard, most_opened: int | None) -> Lowered:
    kinds = infer_kinds(settled.nodes)
    known = kinds.letters, settled.typed, kinds.covariant
    low = MatrixLowering(plain, *known, guard, most_opened)
    for number, (node, ends) in enumerate(zip(settled.nodes, kinds.outputs, strict=True)):
        emit = emit_vector if node.source is SCALAR else emit_matrix
        emit(low, number, node, ends)
    statements = low.finish()
    return Lowered(statements, low.origins(statements), kinds.covariant, guard)


def free_letters(expressions: Sequence[Node]) -> tuple[Symbol, ...]:
    """The letters whose values are passed, in order of first appearance."""
    return tuple(x for x in letters_of(expressions) if x.free)


def _output(expression: Node) -> Output:
    assert expression.target is not None and expression.source is not None, "checked before"
    return Output(expression.target, expression.source)
