"""What `letter` and `define` refuse where a letter is made, and what they say then.

What comes through the door is believed by the lowering: a letter that goes to other bodies, and is
taken for one that stays, would be lowered to wrong numbers without a word.
"""

import numpy as np
import pytest

import phipsi as pp
from phipsi.algebra.alphabet import FORCE, MOTION, Alphabet, families, forget_alphabet
from phipsi.algebra.spaces import Causality
from phipsi.operators import E_phi, H, I, M, S_q, V, blockdiag, define, letter, vector


def wake(**facts):
    """Half of E_phi, which goes from each body to its parent."""
    told = {
        "carries": (FORCE, FORCE),
        "dense": lambda m: 0.5 * m.matrix(E_phi),
        "turned": False,
        "applied": lambda low, letter, star, rest: low.vector(
            0.5 * (E_phi.T if star else E_phi) @ rest
        ),
    }
    return letter("E_n", "body", "body", **(told | facts))


# -- where a letter goes -----------------------------------------------------------------------


def test_a_letter_that_is_more_than_blocks_says_where_it_goes():
    with pytest.raises(pp.InputError, match=r"does not tell where it goes.*one_step=True.*causal"):
        wake()
    with pytest.raises(pp.InputError, match="does not tell where it goes"):
        letter("E_n", "body", "body", turned=False)


@pytest.mark.parametrize("facts", [{"one_step": True}, {"causality": "causal"}], ids=str)
def test_a_letter_that_says_where_it_goes_is_lowered_to_its_matrix_or_refused(facts):
    L, arm = wake(**facts), pp.examples.puma560()
    q, v = np.linspace(-0.5, 0.7, 6), np.linspace(0.5, -0.7, 6)
    lowered = 0
    for expression in (
        *(L, L.T, L @ V, L.T @ V, blockdiag(L @ M @ L.T)),
        *((I - L).inv @ M @ V, H @ L @ M @ L.T @ H.T),
    ):
        try:
            function = pp.compile(arm, expression, backend="numpy")
        except pp.LoweringError:
            continue
        assert np.allclose(function(q, v), pp.as_matrix(arm, expression, q, v)), expression
        lowered += 1
    assert lowered == (7 if "one_step" in facts else 4)


@pytest.mark.parametrize("causality", Causality)
def test_causality_is_told_by_its_name(causality):
    for told in (causality, causality.value):
        assert wake(causality=told).causality is causality


@pytest.mark.parametrize("causality", ["casual", 3, ["causal"]])
def test_unknown_causalities_are_refused(causality):
    with pytest.raises(pp.InputError, match=r"no causality .*'memoryless', 'causal', 'anticausal'"):
        wake(causality=causality)


@pytest.mark.parametrize("facts", [{"one_step": True}, {"causality": "mixed"}], ids=str)
@pytest.mark.parametrize("step", ["block", "inverse"])
def test_a_letter_that_leaves_its_body_has_no_block(facts, step):
    with pytest.raises(pp.InputError, match=f"goes from body to body, so it has no {step}="):
        wake(**facts, **{step: lambda low, letter: low.block(M)})


def test_vectors_and_letters_with_blocks_need_not_say_where_they_go():
    stays = letter("W", "body", "body", block=lambda low, letter: low.block(M))
    vector_of = letter("w", "scalar", "body", dense=lambda m: m.matrix(V))
    assert stays.causality is vector_of.causality is Causality.MEMORYLESS
    assert S_q.causality is Causality.MIXED


@pytest.mark.parametrize("facts", [{"one_step": True}, {"causality": "anticausal"}], ids=str)
def test_a_letter_that_goes_to_other_bodies_is_not_applied_by_blocks(facts):
    silent = letter("E_n", "body", "body", dense=lambda m: m.matrix(E_phi), **facts)
    with pytest.raises(pp.LoweringError, match=r"does not tell `applied=`.*it tells `dense=`"):
        pp.compile(pp.chain(2), silent @ V)


# -- facts that cannot be ----------------------------------------------------------------------


@pytest.mark.parametrize("carries", [FORCE, ("a", "b"), (FORCE,), (FORCE, FORCE, FORCE), 1, "mm"])
def test_carries_is_a_pair_of_forces_and_motions(carries):
    with pytest.raises(pp.InputError, match=r"carries=.* each 'force', 'motion' or None"):
        wake(one_step=True, carries=carries)
    with pytest.raises(pp.InputError, match=r"carries=.* each 'force', 'motion' or None"):
        define("M_2", 2 * M, carries=carries)


@pytest.mark.parametrize("carries", [(FORCE, None), (None, MOTION), (None, None)])
def test_carries_leaves_no_body_vector_open(carries):
    """What was left open was taken for whatever the expression asked for, to wrong numbers."""
    with pytest.raises(pp.InputError, match="has None for body space"):
        wake(one_step=True, carries=carries)
    with pytest.raises(pp.InputError, match="has None for body space"):
        define("M_2", 2 * M, carries=carries)
    joint_map = letter(
        "L", "body", "joint", carries=(None, FORCE), block=lambda low, a: low.block(H)
    )
    assert joint_map.record.carries == (None, FORCE)


def test_carries_may_be_a_list():
    assert wake(one_step=True, carries=[FORCE, MOTION]).record.carries == (FORCE, MOTION)


def test_unknown_facts_are_refused_with_the_nearest_name():
    with pytest.raises(pp.InputError, match="has no positve=; did you mean 'positive'"):
        letter("W", "body", "body", lambda body, joint: 1.0, positve=True)
    with pytest.raises(pp.InputError, match="has no varys=; did you mean 'varies'"):
        letter("W", "body", "body", varys=True)
    with pytest.raises(pp.InputError, match="has no mechanic=; did you mean 'mechanics'"):
        define("M_2", 2 * M, mechanic="twice")


def test_a_letter_is_told_by_blocks_or_by_steps_not_by_both():
    with pytest.raises(pp.InputError, match=r"is told twice: .* and by dense="):
        letter("W", "body", "body", lambda body, joint: 1.0, dense=lambda m: m.matrix(M))


# -- alphabets ---------------------------------------------------------------------------------


@pytest.fixture
def snow():
    alphabet = Alphabet("snow", __name__)
    define("M_s", 2 * M, alphabet=alphabet)
    yield alphabet
    forget_alphabet("snow")


def test_unknown_alphabets_are_told_those_that_text_may_be_read_with(snow):
    assert "snow" in families()
    assert not {"elements", "lowering", "papers"} & set(families())
    with pytest.raises(pp.InputError, match="no alphabet 'snw'; did you mean 'snow'") as caught:
        pp.parse("M_s", alphabet="snw")
    assert "lowering" not in str(caught.value)


def test_a_letter_of_another_alphabet_is_found_by_its_name(snow):
    with pytest.raises(pp.InputError, match="no letter 'M_s' here; pass alphabet=\"snow\""):
        pp.parse("phi M_s")


@pytest.mark.parametrize("name", ["papers", "elements", "lowering"])
def test_alphabets_of_phipsi_itself_are_not_forgotten(name):
    with pytest.raises(pp.InputError, match="cannot be forgotten"):
        forget_alphabet(name)
    assert pp.parse("phi(1, 0) x", symbols=[vector("x", "body")]) is not None


# -- brackets ----------------------------------------------------------------------------------


@pytest.mark.parametrize("text, column", [("Mass^-1 (T - Cc", 9), ("(H phi) [M H", 9)])
def test_an_open_bracket_is_named_before_what_does_not_fit_in_it(text, column):
    with pytest.raises(pp.InputError, match=rf"this [(\[] is never closed\n  at column {column}:"):
        pp.parse(text)


def test_what_does_not_fit_in_closed_brackets_is_named_as_before():
    with pytest.raises(pp.SpaceError, match="cannot compose C @ c"):
        pp.parse("Mass^-1 (T - Cc)")
