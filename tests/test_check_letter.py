"""`check_letter`: a letter that contradicts itself is found, and says in what."""

import numpy as np
import pytest

import phipsi as pp
from phipsi.algebra.alphabet import FORCE, MOTION, PAPERS
from phipsi.algebra.node import Symbol
from phipsi.operators import (
    E_phi,
    H,
    I,
    M,
    Mass,
    V,
    define,
    letter,
    operator,
    phi,
    vector,
)

LETTERS = {
    name: x("elbow") if x.record.of == "joint" else x
    for name, x in PAPERS.letters.items()
    if isinstance(x, Symbol) and not x.free
}


@pytest.mark.parametrize("name", LETTERS)
def test_every_letter_of_the_papers_agrees_with_its_matrix(name):
    told = pp.check_letter(LETTERS[name])
    assert told.letter is LETTERS[name] and len(told.machines) == 3
    assert max(told.gaps.values()) < 1e-10
    assert not told.not_compiled or name == "Omega"


def made_of(expression, *, statements=None, spaces=("body", "body"), **facts):
    """A letter with the value of an expression, its statements those of another one."""
    told = expression if statements is None else statements
    given = {
        "dense": lambda m: m.matrix(expression),
        "turned": False,
        "applied": lambda low, letter, star, rest: low.vector((told.T if star else told) @ rest),
    }
    return letter("W", *spaces, **(given | facts))


STEP = {"one_step": True, "carries": (FORCE, FORCE)}
BLOCKS = {"causality": "memoryless", "carries": (FORCE, MOTION)}
RIGHT = {
    "a step": made_of(0.5 * E_phi, **STEP),
    "blocks": made_of(2 * M, positive=True, **BLOCKS),
    "a propagator": made_of(phi, causality="causal", carries=(FORCE, FORCE)),
    "joint space": made_of(H @ M @ H.T, spaces=("joint", "joint"), **BLOCKS),
    "its function": letter("W", "body", "body", lambda body, joint: body.inertia.matrix),
}
WRONG = {
    "kinds": (
        made_of(0.5 * E_phi, one_step=True, carries=(MOTION, MOTION)),
        r"`W` compiled: off by (.*\n)*.*carries= with dense=",
    ),
    "statements": (
        made_of(0.5 * E_phi, statements=0.7 * E_phi, **STEP),
        r"`W @ x_any` compiled: off by 0\.4\n",
    ),
    "the star": (
        made_of(E_phi, applied=lambda low, letter, star, rest: low.vector(E_phi @ rest), **STEP),
        r"`W\.T @ y_any` compiled: off by ",
    ),
    "axes": (
        made_of(0.5 * E_phi, turned=True, **STEP),
        r"world axes: off by (.*\n)*.*turned=False",
    ),
    "axes of the links": (
        made_of(M, dense=lambda m: m.diagonal(*[M.source] * 2, [np.diag(range(6))] * 7), **BLOCKS),
        "world axes: off by ",
    ),
    "blocks": (made_of(E_phi, causality="memoryless"), r"memoryless: off by 1\n"),
    "inward": (made_of(phi.T, causality="causal"), "causal: off by "),
    "outward": (made_of(phi, causality="anticausal"), "anticausal: off by "),
    "steps": (made_of(E_phi @ E_phi, **STEP), r"one step: off by 1\n"),
    "diagonal": (made_of(phi, causality="causal", strict=True), "strict: off by "),
    "symmetry": (made_of(M @ M @ E_phi, symmetric=True, **STEP), "symmetric: off by "),
    "signs": (made_of(-M, positive=True, **BLOCKS), "positive: off by "),
    "a turn": (made_of(M, orthogonal=True, **BLOCKS), "orthogonal: off by "),
    "another star": (made_of(M, star=lambda letter: 2 * M, **BLOCKS), r"star: off by 1\n"),
    "speeds": (
        letter("W", "scalar", "body", dense=lambda m: m.matrix(V), turned=False),
        r"other speeds: off by (.*\n)*.*of_speeds=True",
    ),
    "no numbers": (made_of(M, dense=lambda m: np.nan * m.matrix(M), **BLOCKS), "off by nan"),
    "an inverse": (
        made_of(M, solve=lambda low, letter, rest: low.vector(rest), **BLOCKS),
        r"`W\.inv @ x_any` compiled: off by ",
    ),
    "a shape": (
        made_of(M, dense=lambda m: np.eye(6), **BLOCKS),
        r"dense= is \(6, 6\) on .*\(42, 42\)",
    ),
}


@pytest.mark.parametrize("case", RIGHT)
def test_letters_that_agree_pass(case):
    told = pp.check_letter(RIGHT[case])
    assert "`W @ x_any` compiled" in told.gaps
    assert max(told.gaps.values()) < 1e-10


@pytest.mark.parametrize("case", WRONG)
def test_a_contradiction_is_named(case):
    wrong, message = WRONG[case]
    with pytest.raises(pp.InputError, match=message):
        pp.check_letter(wrong)


def test_the_machine_may_be_ones_own():
    arm = pp.examples.puma560()
    assert pp.check_letter(RIGHT["a step"], arm).machines == (arm.name,)
    with pytest.raises(pp.InputError, match=f"contradicts its matrix, on {arm.name}"):
        pp.check_letter(WRONG["kinds"][0], arm)
    with pytest.raises(pp.InputError, match="expected a Model, got str"):
        pp.check_letter(M, "puma560")


def test_what_has_no_algorithm_is_told_and_not_compared():
    told = pp.check_letter(RIGHT["a propagator"])
    assert "blockdiag(W @ M @ W.T)" in " ".join(told.not_compiled)
    assert "`blockdiag(W @ M @ W.T)`: not compiled. cannot decompose" in str(told)
    assert "`W` compiled: within " in str(told)


def test_definitions_are_checked_with_values_for_their_free_letters():
    told = pp.check_letter(
        define("W", (Mass + H @ phi @ M @ phi.T @ H.T).inv @ vector("y", "joint"))
    )
    assert list(told.gaps) == ["`W` compiled"]


@pytest.mark.parametrize("what", [M @ M, I, operator("A", "body", "body"), "M", 3], ids=str)
def test_what_tells_nothing_is_refused(what):
    with pytest.raises(pp.InputError, match="tells nothing to be checked"):
        pp.check_letter(what)


def test_a_letter_without_a_matrix_cannot_be_checked():
    with pytest.raises(pp.LoweringError, match="does not tell `dense=`"):
        pp.check_letter(letter("W", "body", "body", block=lambda low, letter: low.block(M)))
