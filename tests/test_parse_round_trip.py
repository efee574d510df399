"""What is written is read back to the same expression: in every notation, whatever the user's
letters are called."""

import expressions
import pytest
import symbols
from hypothesis import given, settings
from hypothesis import strategies as st
from random_expressions import typed_expressions

import phipsi as pp
from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.spaces import BODY, JOINT
from phipsi.algebra.text.notations import MISSING, NOTATIONS, meanings
from phipsi.operators import (
    HH,
    C,
    D,
    HH_delta,
    J,
    Jm,
    M,
    Omega,
    R,
    T,
    U,
    V,
    Y,
    at,
    at_joint,
    beta,
    beta_dot,
    blockdiag,
    cross,
    f,
    f0,
    letter,
    operator,
    phi,
    phi_tilde,
    psi,
    scalar,
    vector,
)

ALL = [None, *NOTATIONS]
BIAS_FREE = T - (C + J.T @ f0)
# What notations write in a way of their own.
DELICATE = [
    *(Y, Jm, Omega, U, R, phi_tilde, beta, beta_dot, T, V, D.inv, BIAS_FREE),
    *(cross[V], cross[vector("x", "body")], psi[M + blockdiag(Omega)], psi[Y + R]),
    *(HH(2), HH(-2), HH_delta("elbow", 1), at(2) @ f, at(-1) @ f, at_joint(-1) @ BIAS_FREE),
    *(at(-2) @ phi @ at(-1), at(2) @ phi @ at(1), at("a") @ phi @ at("b"), at(-1) @ phi @ at(0)),
    *(at_joint(2) @ D.inv @ at_joint(2), at_joint(-2) @ D.sqrt.inv @ at_joint(-2)),
    *((at_joint(2) @ D @ at_joint(2)).T.inv, (at_joint(-2) @ D @ at_joint(-2)).T.sqrt.inv),
    *((at_joint(2) @ D @ at_joint(2)).inv, (at_joint(-2) @ D @ at_joint(-2)).inv),
    *(
        (at(1) @ phi @ at(2)).T,
        at(-1) @ phi.T @ at(-2),
        at(2) @ phi.inv @ at(1),
        at(0) @ HH @ at(0),
    ),
]


def written_letters(expression):
    """The letters that are written in an expression, not those in their definitions."""
    found, stack = {}, [expression]
    while stack:
        node = stack.pop()
        stack.extend(node.children)
        if isinstance(node, Symbol):
            found[node] = None
            inside = (getattr(x, "in_brackets", None) or () for x in node.arguments)
            stack.extend(x for parts in inside for x in parts if isinstance(x, Node))
    return list(found)


def assert_read_back(expression, notation):
    own = [x for x in written_letters(expression) if x.record.alphabet is None]
    for text in (expression.unicode(notation=notation), expression.latex(notation=notation)):
        read = pp.parse(text, symbols=own, notation=notation)
        assert read == expression, text


@pytest.mark.parametrize("notation", ALL)
def test_the_market_and_every_letter_are_read_back(notation):
    market = expressions.MARKET.values()
    for expression in (*market, *symbols.MEANT.values(), *symbols.LETTERS.values(), *DELICATE):
        assert_read_back(expression, notation)


@settings(max_examples=60)
@given(typed_expressions(), st.sampled_from(list(NOTATIONS)))
def test_any_expression_is_read_back_in_any_notation(expression, notation):
    assert_read_back(expression, notation)


TAKEN = {name for table in NOTATIONS.values() for name in table if name.isidentifier()}
TAKEN |= {name for table in MISSING.values() for name in table}
TAKEN |= {"Upsilon", "J_m", "phi", "x_tilde", "Omega_tilde", "theta", "r", "T", "D", "M"}
# Letters for which no other name is left: refused, or written by their formula.
CANNOT = {("002", "U_g"): {"U"}, ("000", "Upsilon"): {"Y"}}
CANNOT |= {(notation, "Omega_psi"): {"Omega"} for notation in ("000", "003", "004-II")}


def with_own(own, expression):
    """Expressions in which a letter of the user stands beside others."""
    if own.is_scalar or expression.is_scalar:
        yield own * expression
    for left, right in ((own, expression), (expression, own), (own.T, expression)):
        if left.source is right.target:
            yield left @ right
    if own.is_vector and own.target is BODY:
        yield cross[own]


@pytest.mark.parametrize("notation", ALL)
@pytest.mark.parametrize("name", sorted(TAKEN))
def test_letters_of_the_user_never_hide_what_is_meant(name, notation):
    """Of any kind and called as a paper calls another; but for two letters of one name."""
    paper = [] if notation is None else meanings(notation).values()
    for own in (operator(name, BODY, BODY), vector(name, BODY), vector(name, JOINT), scalar(name)):
        for expression in (x for y in (*DELICATE, *paper) for x in with_own(own, y)):
            others = {x.name for x in written_letters(expression) if x != own}
            if name in others or others & CANNOT.get((notation, name), set()):
                continue
            assert_read_back(expression, notation)


def test_letters_of_the_user_are_read_by_their_look():
    drag = letter("F_d", "body", "body", lambda body, joint: 1.0, look="cal:D")
    own = letter("own", "body", "body", lambda body, joint: 1.0, look="Phi")
    assert drag.unicode() == "𝒟"
    for notation in ALL:
        assert_read_back(drag @ phi_tilde @ own, notation)


def test_a_defined_letter_of_the_user_s_name_is_written_by_its_formula():
    own = operator("D", "joint", "joint")
    assert (own @ D).unicode() == "D (H P H* + J_m)"
    own = operator("Omega_psi", "body", "body")
    assert (own @ Omega).unicode(notation="003") == "Ω_ψ ψ* H* D⁻¹ H ψ"


@pytest.mark.parametrize(("notation", "name", "letter"), [("002", "U_g", U), ("000", "Upsilon", Y)])
def test_a_letter_that_no_name_is_left_for_is_refused(notation, name, letter):
    with pytest.raises(pp.InputError, match="one of your letters; rename yours"):
        (scalar(name) * letter).unicode(notation=notation)


def test_expressions_of_any_depth_are_written_in_a_notation():
    deep = phi_tilde
    for _ in range(5000):
        deep = (deep + M).T
    assert deep.latex(notation="001").count("M") == 5000


@pytest.mark.parametrize("name", ["A0_0", "A1_dot", "x2_tilde_3", "phi12_c", "A_1", "A1"])
def test_names_with_digits_are_read_back(name):
    for notation in ALL:
        assert_read_back(operator(name, "body", "body") @ phi_tilde, notation)
