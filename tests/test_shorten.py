"""Derivations without detours: what both ends share stays folded, and no step is needless."""

from itertools import pairwise

import pytest
from derivations import W

import phipsi as pp
from phipsi.algebra.rewriting.normal import are_equal
from phipsi.explain.deriving.derivation import Step
from phipsi.explain.deriving.shorten import shorten
from phipsi.operators import B, C, D, H, J, M, Mass, T, V, f0, phi, psi

BIASED = T - C - J.T @ f0
INNER = J @ Mass.inv @ C

DETOURS = {  # both ends, and how many steps lead from the one to the other
    "definitions of the forces": (Mass.inv @ BIASED, W.T @ D.inv @ W @ BIASED, 4),
    "definitions in a factor": (
        J @ Mass.inv @ J.T @ INNER,
        B.T @ psi.T @ H.T @ D.inv @ H @ psi @ B @ INNER,
        6,
    ),
    "definitions in a term": (W @ (H @ phi @ M @ V + C), H @ psi @ M @ V + W @ C, 2),
    **{
        name: (pp.identity(name).left, pp.identity(name).right, number)
        for name, number in {
            "definition of f": 1,
            "proof of Lemma 2": 1,
            "velocities outward": 3,
            "forces inward": 3,
            "Riccati equation with rotors": 5,
            "(10) of 003": 6,
        }.items()
    },
}


@pytest.mark.parametrize(("left", "right", "number"), DETOURS.values(), ids=DETOURS)
def test_derivations_take_no_detour(left, right, number):
    """Each step by one identity, checked on dense matrices."""
    for one, other in ((left, right), (right, left)):
        found = pp.derive(one, to=other)
        assert len(found.steps) == number, found
        assert found.result == other and found.check(machines=1).ok
        places = [found.expression, *(step.after for step in found.steps)]
        assert all(are_equal(x, step.before) for x, step in zip(places, found, strict=False))
        assert not any(x.identity is y.identity is None for x, y in pairwise(found))


def test_loops_are_cut():
    lemma = pp.identity("Lemma 4")
    there = Step(lemma.left, lemma.right, lemma.name, lemma)
    back = Step(lemma.right, lemma.left, lemma.name, lemma)
    assert shorten([there, back], ()) == ()
    assert shorten([there, back, there], ()) == (there,)


def test_steps_that_only_write_an_expression_in_another_way_are_one():
    first, second, third = M @ (V + V), 2 * M @ V, M @ V + M @ V
    steps = [Step(first, second, "written"), Step(second, third, "written")]
    assert shorten(steps, ()) == (Step(first, third, "written"),)


def test_an_identity_that_is_wanted_stays():
    """Lemma 4 there and back is a detour, but it was asked for."""
    found = pp.derive(H @ psi @ M @ V, to=H @ psi @ M @ V, using="Lemma 4")
    assert [step.name for step in found] == ["Lemma 4", "Lemma 4"]
