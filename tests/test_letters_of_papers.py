"""Every letter of the papers tells all that is asked of a letter, in its one record."""

from dataclasses import fields, replace

import machines
import numpy as np
import pytest

import phipsi as pp
from phipsi.algebra.alphabet import ALPHABETS, FORCE, PAPERS, Letter, Opened, Steps
from phipsi.algebra.elements import ELEMENTS
from phipsi.algebra.node import Opener, Symbol
from phipsi.operators import C, E_phi, H, M, Mass, T, V, letter, phi, vector

LETTERS = {**PAPERS.letters, **ELEMENTS.letters}
SYMBOLS = {name: x for name, x in LETTERS.items() if isinstance(x, Symbol)}
OPENERS = {name: x for name, x in LETTERS.items() if isinstance(x, Opener)}


def missing(symbol: Symbol, record: Letter) -> set[str]:
    """The facts that the record of a letter does not tell, although it has to."""
    lacks = {x for x in ("mechanics", "estimation") if not getattr(record, x)}
    steps = record.steps
    if symbol.definition is not None:
        lacks |= {x for x in ("cited", "says") if not getattr(record, x)}
        if record.kept and steps.applied is None and steps.block is None:
            lacks.add("applied or block")
    elif not symbol.free:
        lacks |= {x for x in ("formula",) if not record.formula}
        if steps.dense is None:
            lacks.add("dense")
        if symbol.is_vector or symbol.is_scalar:
            lacks |= {"vector"} if steps.vector is None else set()
        elif steps.applied is None and steps.block is None:
            lacks.add("applied or block")
    return lacks


@pytest.mark.parametrize("name", SYMBOLS)
def test_a_letter_means_something_and_computes_it(name):
    assert missing(SYMBOLS[name], SYMBOLS[name].record) == set()


@pytest.mark.parametrize(
    ("symbol", "gone", "lack"),
    [
        (H, {"steps": replace(H.record.steps, dense=None)}, "dense"),
        (H, {"steps": replace(H.record.steps, applied=None, block=None)}, "applied or block"),
        (phi, {"steps": Steps()}, "applied or block"),
        (LETTERS["b"], {"steps": replace(LETTERS["b"].record.steps, vector=None)}, "vector"),
        (LETTERS["U"], {"steps": replace(LETTERS["U"].record.steps, vector=None)}, "vector"),
        (M, {"mechanics": ""}, "mechanics"),
        (T, {"estimation": ""}, "estimation"),
        (E_phi, {"formula": ""}, "formula"),
        (Mass, {"says": ""}, "says"),
        (C, {"cited": ""}, "cited"),
    ],
)
def test_a_fact_that_is_left_out_is_found(symbol, gone, lack):
    assert missing(symbol, replace(symbol.record, **gone)) == {lack}


def twin(symbol: Symbol) -> Symbol:
    """A letter of a user's that tells the same, by the same door."""
    record, other = symbol.record, ("name", "alphabet", "steps", "opens")
    facts = {x.name: getattr(record, x.name) for x in fields(Letter) if x.name not in other}
    steps = {x.name: getattr(record.steps, x.name) for x in fields(Steps)}
    told = {name: x for name, x in facts.items() if x} | steps
    what = f"{symbol.name}_w", symbol.source, symbol.target
    return letter(*what, causality=symbol.causality, **told)


PRIMITIVE = [x for x, y in SYMBOLS.items() if y.definition is None and not y.free]


@pytest.mark.parametrize("name", PRIMITIVE)
def test_a_user_could_tell_the_letter_just_so(name):
    """Equal numbers, dense and compiled, bit by bit."""
    arm, symbol = machines.tree_of_every_kind(), SYMBOLS[name]
    q, v = machines.random_state(arm, np.random.default_rng(5))
    pair = [symbol, twin(symbol)]
    if symbol.record.of == "joint":
        pair = [x(1) for x in pair]
    given = {"points": [arm.bodies[-1].name, arm.bodies[0].name]}
    ours, users = (pp.as_matrix(arm, x, q, v, **given) for x in pair)
    assert np.array_equal(ours, users)
    if not (symbol.is_vector or symbol.is_scalar):
        x = vector("x", symbol.source)
        given["x"] = np.linspace(-1.0, 1.0, ours.shape[-1])
        pair = [one @ x for one in pair]
    functions = [pp.compile(arm, x, backend="numpy") for x in pair]
    asked = {"q": q, "v": v, **given}
    ours, users = (f(**{k: asked[k] for k in f.inputs if k in asked}) for f in functions)
    assert np.array_equal(ours, users)


@pytest.mark.parametrize("name", SYMBOLS)
def test_only_letters_with_steps_of_their_own_are_kept_from_unfolding(name):
    """Of a letter that is unfolded, statements would never be asked for."""
    record, definition = SYMBOLS[name].record, SYMBOLS[name].definition
    if definition is not None and not record.kept:
        assert record.steps == Steps()


@pytest.mark.parametrize("name", SYMBOLS)
def test_a_letter_is_written_in_three_notations_and_read_back(name):
    symbol = SYMBOLS[name]
    shown = symbol(1) if symbol.record.of == "joint" else symbol
    for text in (str(shown), shown.unicode(), shown.latex()):
        assert pp.parse(text) == shown, text


@pytest.mark.parametrize("name", [*OPENERS, "S"])
def test_what_opens_a_bracket_tells_its_blocks(name):
    record = LETTERS[name].record
    assert record.mechanics and record.estimation and record.formula
    assert PAPERS.letters[record.opens.star].record.opens.star == name
    bracket = LETTERS[name][V]
    for text in (str(bracket), bracket.unicode(), bracket.latex()):
        assert pp.parse(text) == bracket, text


def test_brackets_are_opened_by_letters_of_the_papers_alone():
    opens = Opened(lambda x: [x], "cross_force", "S", (FORCE, FORCE, FORCE))
    with pytest.raises(pp.InputError, match="the letter W cannot open a bracket"):
        letter("W", "body", "body", block=lambda low, a: low.block(M), opens=opens)


def test_letters_of_the_lowering_tell_their_statements():
    for name, symbol in ALPHABETS["lowering"].letters.items():
        steps = symbol.record.steps
        assert steps.vector if symbol.is_vector or symbol.is_scalar else steps.block, name


def test_no_letter_is_left_out():
    assert LETTERS.keys() - SYMBOLS.keys() - OPENERS.keys() == {"I"}
