"""Random expressions on random machines, by every path of machine code: refused, or right."""

import numpy as np
from drawn import attack_with
from hypothesis import assume
from hypothesis import strategies as st
from symbols import assert_close
from test_lowering_random import anything, scale_of, situations

import phipsi as pp

PATHS = ({"unroll": True}, {"unroll": False}, {"unroll": True, "rewrite": False})
MODERATE = 1e6  # numbers that a value is made of: beyond, digits depend on the order of operations


def check(example):
    """Never wrong, never a crash, and never a number where there is none."""
    situation, expression, path = example
    assume(expression.source is not None)
    given = situation._keywords([expression])
    try:
        found = pp.compile(situation.model, expression, backend="llvm", **path)(**given)
    except (pp.LoweringError, pp.SolveError, pp.BackendError):
        return
    assert np.all(np.isfinite(found))
    try:
        meant, scale = situation.dense(expression), scale_of(situation, expression)
    except pp.SolveError:  # nearly singular, in the order in which matrices are multiplied
        return
    assume(scale < MODERATE)
    assert_close(found, meant, scale, tolerance=1e-6)


def test_attack(fuzz):
    examples = st.tuples(situations(), anything, st.sampled_from(PATHS))
    fuzz.tried(attack_with(examples, check, fuzz.seed, fuzz.seconds), "random expressions")
