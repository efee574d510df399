"""What a legal program is: lowered ones are, and each rule refuses what breaks it."""

from dataclasses import replace

import pytest
from expressions_of_papers import FD1, FD4

from phipsi.algebra.spaces import BODY, JOINT, SCALAR
from phipsi.compile import make_program
from phipsi.lowering.program import (
    BODIES,
    WORLD,
    At,
    Columns,
    Direction,
    Domain,
    Effect,
    Loop,
    Output,
    Program,
    Read,
    Shape,
    Slot,
    Statement,
)
from phipsi.lowering.verify import IllegalProgramError, verify
from phipsi.operators import Mass, Omega

INWARD, OUTWARD = Direction.TIP_TO_BASE, Direction.BASE_TO_TIP
VECTOR, ROWS = Shape(BODY), Shape(JOINT)
x, y, z = (Slot(i, name, VECTOR) for i, name in enumerate("xyz"))
given = Statement("given", (), x, BODIES, options=("x", "force"))


def program(*loops):
    return Program(tuple(loops), (Output(BODY, SCALAR),), (), shifted=False)


def add(target, *slots, **changes):
    reads = tuple(s if isinstance(s, Read) else Read(s) for s in slots)
    return replace(Statement("add", reads, target, BODIES), **changes)


@pytest.mark.parametrize("expression", [FD1, FD4, Mass, Mass.inv, Omega], ids=str)
def test_lowered_programs_are_legal(expression):
    lowered = make_program([expression])
    assert verify(lowered) is lowered


def test_recursions_are_legal_in_their_direction_only():
    inward = add(y, x, z), add(z, y, y, effect=Effect.PUSH)
    verify(program(Loop(INWARD, (given, *inward))))
    with pytest.raises(IllegalProgramError, match="is made too late"):
        verify(program(Loop(OUTWARD, (given, *inward))))
    outward = (add(y, x, Read(y, At.PARENT)),)
    verify(program(Loop(OUTWARD, (given, *outward))))
    with pytest.raises(IllegalProgramError, match="is made too late"):
        verify(program(Loop(INWARD, (given, *outward))))


@pytest.mark.parametrize(
    ("loops", "message"),
    [
        ([Loop(INWARD, (add(y, x, x),))], "is not made yet"),
        ([Loop(INWARD, (add(y, x, x), given))], "is made too late"),
        ([Loop(INWARD, (given, given))], "made already"),
        ([Loop(INWARD, (given,), before=(add(y, x, x),))], "belongs to bodies, and runs once"),
        ([Loop(INWARD, (given, replace(add(y, x, x), step="guess")))], "no such step"),
        (
            [Loop(INWARD, (given, add(Slot(9, "t", ROWS), x, x)))],
            "body, body do not give a block joint",
        ),
    ],
)
def test_illegal_programs_are_refused(loops, message):
    with pytest.raises(IllegalProgramError, match=message):
        verify(program(*loops))


def test_columns_walk_inward_and_in_one_loop():
    walk = Domain("column", Columns(JOINT))
    u, v = Slot(20, "u", ROWS, walk), Slot(21, "v", ROWS, walk)
    unit = Statement("unit", (), u, walk, options=(JOINT,))
    twice = Statement("add", (Read(u), Read(u)), v, walk)
    verify(program(Loop(INWARD, (unit, twice))))
    with pytest.raises(IllegalProgramError, match="columns walk tip_to_base"):
        verify(program(Loop(OUTWARD, (unit, twice))))
    with pytest.raises(IllegalProgramError, match="is gone"):
        between = Loop(OUTWARD, (given,))
        verify(program(Loop(INWARD, (unit,)), between, Loop(INWARD, (twice,))))


@pytest.mark.parametrize(
    ("step", "shapes", "target"),
    [
        ("apply", (Shape(BODY, JOINT), VECTOR), VECTOR),
        ("apply_transposed", (Shape(BODY, JOINT), ROWS), ROWS),
        ("compose", (Shape(BODY, JOINT), Shape(BODY, JOINT)), Shape(BODY, JOINT)),
        ("transpose", (Shape(BODY, JOINT),), Shape(BODY, JOINT)),
        ("congruence", (Shape(BODY, JOINT), Shape(BODY, BODY)), Shape(BODY, BODY)),
        ("congruence_transposed", (Shape(BODY, JOINT), Shape(JOINT, JOINT)), Shape(JOINT, JOINT)),
        ("symmetric_inverse", (Shape(BODY, JOINT),), Shape(BODY, JOINT)),
        ("scale", (VECTOR,), ROWS),
    ],
)
def test_blocks_that_do_not_fit_are_refused(step, shapes, target):
    inputs = [Slot(30 + i, f"s{i}", shape) for i, shape in enumerate(shapes)]
    makers = [Statement("given", (), slot, BODIES, options=("x", "force")) for slot in inputs]
    statement = Statement(step, tuple(map(Read, inputs)), Slot(40, "t", target), BODIES)
    with pytest.raises(IllegalProgramError, match="do not give a block"):
        verify(program(Loop(INWARD, (*makers, statement))))


def test_gathered_numbers_are_there_in_later_loops_only():
    total = Slot(50, "total", Shape(1), WORLD)
    gather = Statement("dot", (Read(x), Read(x)), total, BODIES, Effect.GATHER)
    use = Statement("scale_by", (Read(total), Read(x)), y, BODIES)
    verify(program(Loop(INWARD, (given, gather)), Loop(OUTWARD, (use,))))
    with pytest.raises(IllegalProgramError, match="is made too late"):
        verify(program(Loop(INWARD, (given, gather, use))))
