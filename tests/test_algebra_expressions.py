"""Expressions: immutable, hashed, compared, printed as typed; what folds, and what stays."""

import copy
import pickle
from fractions import Fraction

import machines
import numpy as np
import pytest
from hypothesis import given, settings
from random_expressions import typed_expressions
from symbols import LETTERS, NAMES, TIP, A, k, m, x

import phipsi as pp
from phipsi import operators
from phipsi.algebra.node import Identity
from phipsi.algebra.spaces import BODY, JOINT, SCALAR, SPACES
from phipsi.algebra.walk import walk
from phipsi.operators import (
    HH,
    B,
    C,
    D,
    H,
    I,
    J,
    K,
    M,
    Mass,
    P,
    Q,
    R,
    S,
    T,
    V,
    a,
    blockdiag,
    phi,
    psi,
)

# -- immutable, hashed, compared -------------------------------------------------------


def test_expressions_cannot_be_changed():
    expression = H @ phi + H
    for name in ("source", "children", "anything"):
        with pytest.raises(AttributeError, match=r"immutable: cannot set .* of `H @ phi \+ H`"):
            setattr(expression, name, None)
    with pytest.raises(AttributeError, match="immutable: cannot delete 'source'"):
        del expression.source
    assert expression.source is BODY
    assert isinstance(expression.children, tuple)


@settings(max_examples=100)
@given(typed_expressions())
def test_expressions_built_twice_are_equal_hash_alike_and_look_alike(expression):
    again = expression.rebuild(expression.children) if expression.children else expression
    assert again == expression
    assert hash(again) == hash(expression)
    assert {again: 1}[expression] == 1
    assert str(again) == repr(expression)


def test_different_expressions_differ():
    market = [H, H.T, phi, phi.T, phi.inv, H @ phi, phi @ M, M @ phi, M + P, P + M, 2 * M, 3 * M]
    market += [k * M, m * M, S[V], Q[V], S[a], blockdiag(phi), D.sqrt, D, HH(0), HH(1), HH("0")]
    market += [
        J,
        J(TIP),
        B(TIP),
        B(pp.point("body0")),
        A,
        operators.operator("A", "joint", "joint"),
    ]
    assert len(set(market)) == len(market)
    assert all((p == q) == (p is q) for p in market for q in market)
    assert H != "H" and H != 1 and (H == None) is False  # noqa: E711
    assert not np.any(np.zeros(2) == H)


@settings(max_examples=50)
@given(typed_expressions())
def test_copies_and_pickles_are_equal_and_keep_types(expression):
    for other in (
        copy.copy(expression),
        copy.deepcopy(expression),
        pickle.loads(pickle.dumps(expression)),
    ):
        assert other == expression
        assert hash(other) == hash(expression)
        assert other.source is expression.source
        assert other.target is expression.target
        assert other.causality is expression.causality
    for node in walk(pickle.loads(pickle.dumps(expression))):
        assert node.source in {None, *SPACES.values()}


def test_unpickled_expression_has_the_same_meaning():
    model = machines.MARKET["tree_one_dof"]()
    q, v = machines.random_state(model, np.random.default_rng(0))
    expression = Mass.inv @ (T - C)
    loaded = pickle.loads(pickle.dumps(expression))
    values = {"T": np.ones(model.nv)}
    assert np.array_equal(
        pp.as_matrix(model, expression, q, v, **values), pp.as_matrix(model, loaded, q, v, **values)
    )


# -- what folds, and what stays as typed -----------------------------------------------


def test_transposes_and_inverses_undo_themselves():
    assert phi.T.T is phi
    assert phi.inv.inv is phi
    assert (phi @ M).T.T == phi @ M  # noqa: SIM300
    assert phi.T.inv.inv == phi.T
    assert phi.T.inv != phi.inv.T  # equal in meaning, not in form


def test_identity_vanishes_in_products():
    assert I @ H is H
    assert H @ I is H
    assert I @ x is x
    assert I.T is I and I.inv is I and I @ I is I
    assert (I - H @ psi @ K) @ I == I - H @ psi @ K


def test_scalars_fold_among_themselves():
    assert 1 * H is H
    assert 2 * (3 * H) == 6 * H
    assert -(-1 * H) == H
    assert 2 * (0.5 * H) == H
    assert H / 4 == 0.25 * H
    assert H * 2 == 2 * H
    assert H * k == k * H
    assert (2 * k) * H != 2 * (k * H)  # numbers fold, expressions stay as typed


def test_numbers_of_every_kind_scale():
    for two in (2, 2.0, np.float64(2), np.float32(2), np.int64(2), Fraction(2)):
        for scaled in (two * H, H * two, H / (1 / two)):
            assert scaled == 2 * H
            assert type(scaled.factor) in (int, float)


def test_sums_and_products_are_flat():
    assert (M + P) + R == M + (P + R) == sum([M, P, R])
    assert (H @ phi) @ M == H @ (phi @ M)
    assert len((M + P + R).children) == 3
    assert sum([H]) is H
    assert H + 0 is H and 0 + H is H and H - 0 is H and 0 - H == -H


def test_order_of_a_sum_stays_as_typed():
    assert str(P + M) == "P + M"
    assert M + P != P + M


@pytest.mark.parametrize(
    "text",
    [
        "H @ phi @ M @ phi.T @ H.T",
        "(I - H @ psi @ K).T @ D.inv @ (I - H @ psi @ K)",
        "2 * H @ phi",
        "2 * (H @ phi)",
        "-H @ phi",
        "-(H @ phi)",
        "M - 2 * P - (R + M)",
        "k * m * M",
        "k * (m * M)",
        "k * (2 * M)",
        "2 * (k * M)",
        "-(k * M)",
        "M - k * P",
        "M + -k * P",
        "H @ (2 * phi)",
        "beta.T @ beta * M @ phi",
        "(k + m) * M",
        "(2 * M).inv",
        "(M + P).T",
        "D.sqrt.T",
        "S[V] @ M @ V - Q[M @ V] @ V",
        "cross[H.T @ beta]",
        "blockdiag(phi @ M @ phi.T)",
        "HH('elbow', 1)",
        "B(Point(frame='body0', position=(0.1, -0.2, 0.3)))",
        "M.inv.T",
        "I + I",
    ],
)
def test_expression_prints_as_typed(text):
    assert str(eval(text, dict(NAMES))) == text


@settings(max_examples=300)
@given(typed_expressions())
def test_text_of_an_expression_reads_back_as_the_same_expression(expression):
    assert eval(str(expression), dict(NAMES)) == expression


def test_letters_print_as_their_names():
    for name, letter in LETTERS.items():
        assert str(letter) == name
    assert repr(Q) == "Q[.]"


def test_open_identity_takes_the_space_of_its_neighbour():
    expression = I - H @ psi @ K
    assert expression.children[0] == Identity(JOINT)
    assert (I + I).source is None
    assert ((I + I) @ H).target is JOINT
    assert (2 * I + k * I).at(BODY).source is BODY
    assert (I + k).source is SCALAR
