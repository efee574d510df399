"""Every expression of the market, lowered, equals its dense meaning on every machine."""

import functools

import expressions
import machines
import numpy as np
import pytest
from expressions import FAMILIES, MARKET, SINGULAR
from symbols import assert_close, free_names

import phipsi as pp

SCALE = 1e-2  # what counts as zero beside it: the market is of the size of one, in SI units

# What has no O(1) algorithm per block, and why; as matrices only, applied to vectors all work.
REFUSED = {
    "the user's own: Z": "`Z` stands inside it",  # poses carry nothing from body to body
}


@functools.cache
def situation(machine):
    """A machine at a state, points on it, and values for the free symbols."""
    model, rng = machines.MARKET[machine](), np.random.default_rng(17)
    q, v = machines.random_state(model, rng)
    return model, q, v, expressions.points_on(model), expressions.values_for(model, rng)


def arguments(machine, members):
    """What the function of some expressions takes on a machine."""
    _, q, v, points, values = situation(machine)
    asked = set().union(*map(free_names, members))
    return {"q": q, "v": v, "points": points} | {name: values[name] for name in asked}


def lowered(machine, members):
    """As they are typed; `test_rewrite` has what identities make of them."""
    function = pp.compile(situation(machine)[0], list(members), rewrite=False)
    return function(**arguments(machine, members))


def dense(machine, expression):
    return pp.as_matrix(situation(machine)[0], expression, **arguments(machine, [expression]))


def outcome(evaluate, *asked):
    """A value, or SolveError, where some bodies have no mass."""
    try:
        return evaluate(*asked)
    except pp.SolveError:
        return pp.SolveError


def differences(machine, members):
    """Of some expressions, compiled together, those that differ from their dense meaning."""
    found = outcome(lowered, machine, members.values())
    if found is pp.SolveError:  # of which?
        found = []
        for expression in members.values():
            value = outcome(lowered, machine, [expression])
            found.append(value if value is pp.SolveError else value[0])
    wrong = []
    for (name, expression), value in zip(members.items(), found, strict=True):
        meant = outcome(dense, machine, expression)
        if meant is pp.SolveError or value is pp.SolveError:
            if meant is not value:
                wrong.append(name)
            continue
        try:
            assert_close(value, meant, SCALE)
        except AssertionError:
            wrong.append(name)
    return wrong


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("machine", machines.MARKET)
def test_lowered_equals_dense(machine, family):
    members = {
        name: expression
        for name, expression in FAMILIES[family].items()
        if f"{family}: {name}" not in REFUSED
    }
    assert differences(machine, members) == []


@pytest.mark.parametrize("machine", ["rbdl_double_chain_3d", "mimics"])
def test_expressions_compiled_alone_equal_those_compiled_together(machine):
    """Whose numbers are compared with the dense ones above."""
    for family, members in FAMILIES.items():
        asked = [x for name, x in members.items() if f"{family}: {name}" not in REFUSED]
        for expression, value in zip(asked, lowered(machine, asked), strict=True):
            assert_close(lowered(machine, [expression])[0], value, SCALE)


@pytest.mark.parametrize("machine", ["rbdl_double_chain_3d", "mimics"])
def test_exactly_these_expressions_are_refused_and_say_why(machine):
    model = situation(machine)[0]
    refusals = {}
    for name, expression in MARKET.items():
        try:
            pp.compile(model, expression, rewrite=False)
        except pp.LoweringError as error:
            refusals[name] = str(error)
    assert refusals.keys() == REFUSED.keys()
    for name, message in refusals.items():
        assert REFUSED[name] in message
        assert "pp.as_matrix" in message


@pytest.mark.parametrize("name", SINGULAR)
@pytest.mark.parametrize("machine", ["tree_of_every_kind", "mimics"])
def test_what_is_singular_densely_is_singular_lowered(machine, name):
    with pytest.raises(pp.SolveError):
        dense(machine, SINGULAR[name])
    with pytest.raises(pp.SolveError):
        lowered(machine, [SINGULAR[name]])


def test_the_market_is_large_enough_to_mean_something():
    assert len(MARKET) > 450
    assert len(set(MARKET.values())) > 400
