"""Random well-typed expressions, lowered, on random machines at random states."""

import expressions as market
import machines
import numpy as np
import pytest
from expressions import F, O, W, r, s, w
from hypothesis import assume, event, given
from hypothesis import strategies as st
from random_expressions import WITH_VALUES, expressions, size
from symbols import TIP, assert_close, free_names, x, y

import phipsi as pp
from phipsi.algebra.spaces import BODY, JOINT, POINTS, SCALAR
from phipsi.operators import B, E, I, J, M, Mass, S_q, gravity, phi

# More letters than the papers have: paths through the spaces in which no test draws expressions.
PATHS = [E @ O @ E.T, E @ w, E @ gravity, S_q @ W @ S_q.T, S_q @ s, B @ F @ B.T, J.T @ J, F, r]
PATHS += [E @ E.T, S_q @ S_q.T, x @ x.T, y @ x.T, E @ (E.T @ phi @ M @ phi.T @ E + I).inv @ w]
PATHS += [J.T @ (J @ Mass.inv @ J.T + I).inv @ r, S_q @ (S_q.T @ Mass @ S_q + I).inv @ s]
LETTERS = [*WITH_VALUES, *PATHS]
SPACES = [BODY, JOINT, POINTS]
SMALL = 1e-3  # beside it roundoff is zero: S[a] of a single joint axis


class Situation:
    """A machine at a state with values of the free symbols."""

    def __init__(self, model, q, v, seed):
        self.model, self.state = model, {"q": q, "v": v, "points": [TIP]}
        self.values = market.values_for(model, np.random.default_rng(seed), points=1)

    def _keywords(self, asked):
        names = set().union(*map(free_names, asked))
        return self.state | {name: self.values[name] for name in names}

    def dense(self, expression):
        return pp.as_matrix(self.model, expression, **self._keywords([expression]))

    def lowered(self, expression):
        return pp.compile(self.model, expression)(**self._keywords([expression]))

    def together(self, asked):
        return pp.compile(self.model, asked)(**self._keywords(asked))


@st.composite
def situations(draw):
    options = {"max_bodies": 4, "mimics": (False, True)}
    model, q, v = draw(machines.machines_with_states(**options))
    return Situation(model, q, v, draw(st.integers(0, 2**16)))


def evaluable(source, target, depth=2):
    """Expressions that have a value on every machine, of all letters and paths."""
    return expressions(LETTERS, source, target, depth, functions=False)


vectors = st.sampled_from([*SPACES, SCALAR]).flatmap(lambda space: evaluable(SCALAR, space))
operators = st.tuples(st.sampled_from(SPACES), st.sampled_from(SPACES)).flatmap(
    lambda pair: evaluable(*pair)
)


def scale_of(situation, expression):
    """How large the numbers are that a value is made of, no letter below SMALL."""
    return size(lambda node: [SMALL, *np.ravel(situation.dense(node))], expression)


def assert_meant(found, situation, expression):
    """Lowered as it is meant, to roundoff of what it is made of."""
    assert_close(found, situation.dense(expression), scale_of(situation, expression))


@given(situations(), vectors)
def test_every_vector_is_lowered_and_equals_dense(situation, expression):
    assume(expression.source is SCALAR)
    assert_meant(situation.lowered(expression), situation, expression)


@given(situations(), operators)
def test_operator_is_refused_or_equals_dense(situation, expression):
    assume(expression.source is not None)
    try:
        found = situation.lowered(expression)
    except pp.LoweringError as error:
        assert "pp.as_matrix" in str(error)
        event("refused")
        return
    assert_meant(found, situation, expression)


@given(situations(), operators, st.data())
def test_operator_applied_to_a_vector_equals_its_matrix_times_the_vector(
    situation, expression, data
):
    assume(expression.source is not None)
    vector = data.draw(evaluable(SCALAR, expression.source, depth=1))
    assume(vector.source is SCALAR)
    assert_meant(situation.lowered(expression @ vector), situation, expression @ vector)


@given(situations(), st.lists(vectors | operators, min_size=2, max_size=4))
def test_several_expressions_at_once_equal_each_alone(situation, several):
    asked = []
    for expression in several:
        try:
            pp.compile(situation.model, expression)
        except (pp.LoweringError, pp.InputError):
            continue
        asked.append(expression)
    assume(asked)
    for expression, found in zip(asked, situation.together(asked), strict=True):
        assert_close(found, situation.lowered(expression), scale_of(situation, expression))


anything = st.tuples(st.sampled_from([*SPACES, SCALAR]), st.sampled_from(SPACES)).flatmap(
    lambda pair: expressions(LETTERS, *pair, depth=3)
)


@given(situations(), anything)
def test_whatever_is_typed_is_refused_singular_or_right(situation, expression):
    """Inverses, roots and diagonals of anything: never wrong, and never a crash."""
    assume(expression.source is not None)
    try:
        found = situation.lowered(expression)
    except (pp.LoweringError, pp.SolveError) as error:
        event(type(error).__name__)
        return
    try:
        meant, scale = situation.dense(expression), scale_of(situation, expression)
    except pp.SolveError:  # just so
        return
    assert np.all(np.isfinite(found))
    assume(scale < 1e6)  # else what is left of the digits depends on the order of operations
    assert_close(found, meant, scale, tolerance=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_most_products_of_letters_have_matrices(seed):
    """Of three random letters each, so that refusals stay the exception they are meant to be."""
    rng = np.random.default_rng(seed)
    letters = [x for x in WITH_VALUES if x.source in SPACES and x.target in SPACES]
    letters += [x.T for x in letters]
    model = machines.MARKET["tree_one_dof"]()
    made = asked = 0
    while asked < 60:
        first, second, third = (letters[i] for i in rng.integers(len(letters), size=3))
        if first.source is second.target and second.source is third.target:
            asked += 1
            try:
                pp.compile(model, first @ second @ third)
                made += 1
            except pp.LoweringError:
                pass
    assert made >= 0.8 * asked
