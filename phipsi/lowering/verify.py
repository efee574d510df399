"""What a legal program is.

    every slot has one maker: one statement that sets it, pushes to it, gathers it,
        or several that fill the same matrix
    every argument is made before it is read: earlier in the loop at the same
        place, by the parent in a base_to_tip loop, by the children in a tip_to_base
        loop, or in an earlier loop
    columns walk inward, in one loop
    blocks fit: a product's inner sides, a sum's both
    every step exists

A program that is not legal is a bug of phipsi, never of a user.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from phipsi.lowering.program import (
    At,
    Direction,
    Effect,
    Loop,
    Program,
    Read,
    Shape,
    Slot,
    Statement,
)
from phipsi.lowering.steps import STEPS
from phipsi.lowering.visitor import SPECIAL_STEPS

OUTPUTS = {
    "emit",
    "emit_line",
    "emit_block",
    "emit_diagonal",
    "emit_column",
    "emit_pair",
    "emit_outer",
    "emit_product",
}


class IllegalProgramError(AssertionError):
    """A bug in lowering: the program cannot run."""


def verify(program: Program) -> Program:
    """The program itself, or IllegalProgramError."""
    _check_makers(program)
    _check_loops(program)
    made: dict[Slot, tuple[int, Statement]] = {}
    for at, loop in enumerate(program.loops):
        _check_order(loop, at, made)
    for statement in program.statements():
        if statement.step not in STEPS.keys() | SPECIAL_STEPS | OUTPUTS:
            _refuse(statement, "there is no such step")
        _check_shapes(statement)
    return program


def _refuse(statement: Statement, why: str) -> None:
    raise IllegalProgramError(f"{statement}: {why}")


def _check_makers(program: Program) -> None:
    makers: dict[Slot, list[Statement]] = {}
    for statement in program.statements():
        if statement.target is not None:
            makers.setdefault(statement.target, []).append(statement)
    for several in makers.values():
        for one, other in pairwise(several):
            if not one.effect is other.effect is Effect.EMIT:
                _refuse(other, f"its slot is made already, by {one}")


def _check_loops(program: Program) -> None:
    """Columns walk inward; what belongs to bodies runs in loops."""
    for loop in program.loops:
        for statement in loop.statements:
            walks = statement.domain.kind in ("column", "pair")
            if walks and loop.direction is not Direction.TIP_TO_BASE:
                _refuse(statement, "columns walk tip_to_base")
        for statement in loop.before:
            if statement.domain.kind not in ("world", "point"):
                _refuse(statement, "it belongs to bodies, and runs once")


def _check_order(loop: Loop, at: int, made: dict[Slot, tuple[int, Statement]]) -> None:
    """Every argument of a loop is there when it is read."""
    here = {x.target: x for x in loop.statements if x.target is not None}
    for statement in (*loop.before, *loop.statements):
        for read in statement.arguments:
            maker = here.get(read.slot)
            if read.slot in made:
                if made[read.slot][0] < at and read.slot.domain.kind == "column":
                    _refuse(statement, f"the column {read} is gone: it walked in an earlier loop")
            elif maker is None:
                _refuse(statement, f"{read} is not made yet")
            elif not _comes_in_time(read, maker, loop.direction):
                _refuse(statement, f"{read} is made too late, by {maker}")
        if statement.target is not None and _is_complete(statement):
            made[statement.target] = at, statement
    for statement in (*loop.before, *loop.statements):
        if statement.target is not None:
            made[statement.target] = at, statement


def _is_complete(statement: Statement) -> bool:
    """Whether the statements after this one may read what it made, at the same place."""
    return statement.effect is Effect.SET


def _comes_in_time(read: Read, maker: Statement, direction: Direction) -> bool:
    """Whether a statement of the same loop, later in its list, made this at an earlier body."""
    if maker.effect is Effect.PUSH:
        return direction is Direction.TIP_TO_BASE and read.at is At.OWN
    if maker.effect is Effect.SET:
        return direction is Direction.BASE_TO_TIP and read.at is At.PARENT
    return False


# -- shapes ------------------------------------------------------------------------------


def _check_shapes(statement: Statement) -> None:
    rule = _RULES.get(statement.step)
    if rule is None or statement.target is None:
        return
    shapes = [read.slot.shape for read in statement.arguments]
    if not rule(statement.target.shape, *shapes):
        text = ", ".join(map(str, shapes))
        _refuse(statement, f"blocks {text} do not give a block {statement.target.shape}")


def _same(target: Shape, *shapes: Shape) -> bool:
    return all(_sides(x) == _sides(target) for x in shapes)


def _sides(shape: Shape) -> tuple:
    return shape.rows, shape.columns


def _applied(target: Shape, A: Shape, x: Shape) -> bool:
    return (A.rows, A.columns) == (target.rows, x.rows) and not target.is_matrix


def _applied_transposed(target: Shape, A: Shape, x: Shape) -> bool:
    return (A.rows, A.columns) == (x.rows, target.rows) and not target.is_matrix


def _composed(target: Shape, A: Shape, B: Shape) -> bool:
    return A.columns == B.rows and _sides(target) == (A.rows, B.columns)


def _transposed(target: Shape, A: Shape) -> bool:
    return _sides(target) == (A.columns, A.rows)


def _congruent(target: Shape, A: Shape, W: Shape) -> bool:
    return A.columns == W.rows == W.columns and _sides(target) == (A.rows, A.rows)


def _congruent_transposed(target: Shape, A: Shape, W: Shape) -> bool:
    return A.rows == W.rows == W.columns and _sides(target) == (A.columns, A.columns)


def _square(target: Shape, A: Shape) -> bool:
    return A.rows == A.columns and _sides(A) == _sides(target)


_RULES: dict[str, Callable[..., bool]] = {
    **dict.fromkeys(("add", "subtract", "add_blocks", "subtract_blocks"), _same),
    **dict.fromkeys(("scale", "scale_block"), _same),
    **dict.fromkeys(("symmetric_inverse", "general_inverse", "cholesky"), _square),
    "apply": _applied,
    "apply_transposed": _applied_transposed,
    "compose": _composed,
    "transpose": _transposed,
    "congruence": _congruent,
    "congruence_transposed": _congruent_transposed,
}
