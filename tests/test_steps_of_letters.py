"""Letters that go from body to parent: one fact of the record makes them recursions.

Each property is shown on the machines of the market, rolled and unrolled, against the explicit
matrices. The letter is half of E_phi, E_phi beside blocks, or the shift, told as a user tells it.
"""

import machines
import numpy as np
import pytest
from symbols import x, y

import phipsi as pp
from phipsi.algebra.alphabet import FORCE, MOTION, Alphabet, forget_alphabet
from phipsi.algebra.spaces import Causality
from phipsi.algebra.walk import letters_of
from phipsi.operators import (
    E_phi,
    H,
    I,
    Jm,
    M,
    S,
    T,
    blockdiag,
    define,
    letter,
    phi,
    tau_bar,
    vector,
)


def step(name, operator, carries=(FORCE, FORCE)):
    """A letter of one step that has the value of an operator."""
    return letter(
        name,
        "body",
        "body",
        one_step=True,
        carries=carries,
        dense=lambda m: m.matrix(operator),
        turned=False,
        applied=lambda low, letter, star, rest: low.vector(
            (operator.T if star else operator) @ rest
        ),
    )


STEPS = {
    "half": step("E_2", 0.5 * E_phi),
    "the shift": step("E_s", S, carries=None),
}
FORMS = {
    "E": lambda E: E,
    "a sweep inward": lambda E: (I - E).inv @ x,
    "a sweep outward": lambda E: (I - E).inv.T @ x,
    "through free joints": lambda E: (I - E @ tau_bar).inv @ x,
    "a step of two kinds": lambda E: (I - 0.3 * E_phi - E).inv @ x,
    "E M E*": lambda E: H @ phi @ E @ M @ E.T @ phi.T @ H.T,
    "a mass matrix": lambda E: H @ (I - E).inv @ M @ (I - E).inv.T @ H.T,
    "its inverse, applied": lambda E: (H @ (I - E).inv @ M @ (I - E).inv.T @ H.T + Jm).inv @ y,
    "its inverse": lambda E: (H @ (I - E).inv @ M @ (I - E).inv.T @ H.T + Jm).inv,
    "beside phi": lambda E: H @ (I - E).inv @ M @ phi.T @ H.T,
    "outward": lambda E: (I - E).inv.T @ M @ (I - E).inv,
    "two kinds, as a matrix": lambda E: (I - 0.3 * E_phi - E).inv @ M @ phi.T,
    "blocks": lambda E: blockdiag(E @ M @ E.T),
    "blocks outward": lambda E: blockdiag(E.T @ M @ E) @ x,
}
MACHINES = ("one_body", "serial_revolute", "tree_of_every_kind", "free_base_tree", "mimics")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("which", STEPS)
def test_a_letter_of_one_step_is_a_recursion(which, form):
    """(I - E)^-1 is a sweep and E M E* a recursion of blocks, whatever the letter E is."""
    expression, rng = FORMS[form](STEPS[which]), np.random.default_rng(5)
    for name in MACHINES:
        model = machines.MARKET[name]()
        q, given = model.random(rng), {}
        sizes = {x: 6 * len(model.bodies), y: sum(j.kind.nv for j in model.joints)}
        for symbol in [z for z in letters_of([expression]) if z.free]:
            given[symbol.name] = rng.normal(size=sizes[symbol])
        expected = pp.as_matrix(model, expression, q, **given)
        for unroll in (True, False):
            function = pp.compile(model, expression, unroll=unroll, backend="numpy")
            assert np.allclose(function(q=q, **given), expected, rtol=1e-9, atol=1e-9), name


def test_the_sweeps_of_a_letter_of_one_step_are_those_of_phi():
    E = STEPS["half"]
    arm = pp.chain(3)
    mass = H @ (I - E).inv @ M @ (I - E).inv.T @ H.T
    ours, papers = (pp.compile(arm, A.inv @ T) for A in (mass, H @ phi @ M @ phi.T @ H.T))
    assert ours.program.sweeps == papers.program.sweeps == 2


def test_a_letter_of_one_step_is_causal():
    assert STEPS["half"].causality is Causality.CAUSAL
    with pytest.raises(pp.InputError, match="cannot be of one step and anticausal"):
        letter(
            "E_x",
            "body",
            "body",
            one_step=True,
            causality=Causality.ANTICAUSAL,
            applied=lambda *_: None,
        )
    with pytest.raises(pp.InputError, match="blocks, which stay at their body"):
        letter("E_x", "body", "body", lambda body, joint: 1.0, one_step=True)


# -- what a record does not tell ---------------------------------------------------------------


def half_told(space, **facts):
    stays = {} if space[0] == "scalar" else {"causality": "memoryless"}
    return letter("W_h", *space, **(stays | facts))


def twice(low, letter, star, rest):
    return low.vector(2 * M @ rest)


BODIES, JOINTS = ("body", "body"), ("joint", "joint")
NOT_TOLD = {
    "no step": (
        lambda: half_told(BODIES, dense=lambda m: m.matrix(M)) @ x,
        "does not tell `block=` or `applied=`.*it tells `dense=`",
    ),
    "a joint's inverse": (
        lambda: half_told(JOINTS, applied=lambda low, a, star, rest: low.vector(Jm @ rest)).inv @ y,
        "does not tell `block=`.*it tells `applied=`",
    ),
    "a vector": (
        lambda: phi @ half_told(("scalar", "body"), dense=lambda m: 0),
        "does not tell `vector=`",
    ),
    "a step that makes no slot": (
        lambda: half_told(BODIES, applied=lambda *_: 3) @ x,
        "its `applied=` returned 3; expected a slot",
    ),
}


@pytest.mark.parametrize("case", NOT_TOLD)
def test_lowering_says_which_fact_is_missing(case):
    make, message = NOT_TOLD[case]
    with pytest.raises(pp.LoweringError, match=message):
        pp.compile(pp.chain(2), make())


def test_a_matrix_that_is_not_told_is_refused():
    silent = half_told(BODIES, applied=twice)
    with pytest.raises(pp.LoweringError, match="does not tell `dense=`"):
        pp.as_matrix(pp.chain(2), silent, [0.0, 0.0])


def test_blocks_follow_from_what_a_letter_does_to_vectors():
    """A letter that tells `applied=` alone has the blocks of its columns A e_j."""
    W = half_told(BODIES, applied=twice, dense=lambda m: 2 * m.matrix(M), turned=False)
    arm, q = pp.chain(3), np.array([0.3, -0.2, 0.5])
    for expression in (H @ phi @ W @ phi.T @ H.T, blockdiag(phi @ W @ phi.T)):
        for unroll in (True, False):
            found = pp.compile(arm, expression, unroll=unroll, backend="numpy")(q)
            assert np.allclose(found, pp.as_matrix(arm, expression, q))


def test_letters_that_only_steps_mention_carry_what_they_say():
    """Blocks inside of `applied=` are turned as forces or motions, by their own records."""

    def make(**told):
        W = letter("W_i", "body", "body", lambda body, joint: np.diag([1.0, 2, 3, 4, 5, 6]), **told)
        E = step("E_i", E_phi @ W, carries=(FORCE, MOTION))
        return E, E_phi @ W

    arm, q = pp.examples.puma560(), np.linspace(-0.5, 0.7, 6)
    value = {"y": np.linspace(-1.0, 1.0, 6)}
    for told in ({"symmetric": True}, {"carries": (FORCE, MOTION)}):
        E, meant = make(**told)
        function = pp.compile(arm, phi @ E @ phi.T @ H.T @ y, backend="numpy")
        expected = pp.as_matrix(arm, phi @ meant @ phi.T @ H.T @ y, q, **value)
        assert np.allclose(function(q=q, **value), expected)
    E, _ = make()
    with pytest.raises(pp.LoweringError, match="does not tell `carries=`"):
        pp.compile(arm, H @ phi @ E @ phi.T @ H.T)


# -- names -------------------------------------------------------------------------------------


def test_a_name_is_entered_once():
    """Neither an alphabet nor a letter of one is overwritten; your own letters may be called so."""
    WATER = Alphabet("water", __name__)
    try:
        define("M_w", 2 * M, alphabet=WATER)
        with pytest.raises(
            pp.InputError, match=f"a letter M_w in .*'water' already, of {__name__}"
        ):
            define("M_w", 3 * M, alphabet=WATER)
        assert pp.parse("M_w", alphabet="water").definition == 2 * M
        with pytest.raises(pp.InputError, match=f"an alphabet 'water' already, of {__name__}"):
            Alphabet("water", "elsewhere")
    finally:
        forget_alphabet("water")
    with pytest.raises(pp.InputError, match="no alphabet 'water'"):
        forget_alphabet("water")


@pytest.mark.parametrize("name", ["M", "I", "Q", "phi", "V"])
def test_letters_of_the_papers_are_not_overwritten(name):
    before = pp.parse("phi M V")
    with pytest.raises(pp.InputError, match=r"already, of phipsi\.algebra\.operators"):
        letter(name, "body", "body", alphabet=M.record.alphabet, one_step=True, dense=len)
    assert pp.parse("phi M V") == before
    mine = letter(name, "body", "body", one_step=True, dense=len)
    assert mine != M and vector(name, "body") != mine
