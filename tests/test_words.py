"""Operators as sums of words: what they add up to, and what they look like."""

import functools
import operator

import machines
import pytest
from expressions import FAMILIES, F, O
from hypothesis import assume, given
from meanings import Meaning
from random_expressions import evaluable
from symbols import A, L, N, assert_close, k, x

import phipsi as pp
from phipsi.algebra.node import Identity, Inverse, Transpose
from phipsi.algebra.rewriting.normal import are_equal, tidied, vanishes
from phipsi.algebra.rewriting.terms import Term, joined, summed
from phipsi.algebra.spaces import BODY, JOINT, SCALAR
from phipsi.lowering.settle import settle
from phipsi.lowering.words import composite, expand, is_anticausal, is_causal, words_of
from phipsi.operators import (
    B,
    D,
    E,
    E_phi,
    G,
    H,
    I,
    J,
    K,
    M,
    Mass,
    Omega,
    P,
    R,
    S,
    V,
    blockdiag,
    phi,
    psi,
    psi_tilde,
    tau_bar,
)

OPERATORS = {
    family: [x for x in FAMILIES[family].values() if SCALAR not in (x.source, x.target)]
    for family in ("letters", "matrices of the papers", "at points", "inverses", "matrices")
}


@functools.cache
def tree():
    """Four bodies with rotors, two of them on one parent."""
    kinds = [machines.revolute, machines.prismatic, machines.helical]
    return Meaning(machines.random_machine(21, 4, kinds, "tree", rotors="reflected"))


@functools.cache
def chain():
    return Meaning(
        machines.random_machine(22, 3, [machines.universal, machines.spherical], "chain")
    )


def words(expression):
    return words_of(settle(expression))


def texts(expression):
    return [str(word) for word in words(expression)]


# -- they add up to the operator ---------------------------------------------------------


@pytest.mark.parametrize("family", OPERATORS)
def test_words_add_up_to_the_operator(family):
    for expression in OPERATORS[family]:
        for meaning in (tree(), chain()):
            meant = meaning(expression)
            found = meaning.of_words(words(expression), Identity(expression.source))
            assert_close(found + 0.0 * meant, meant, 1e-2)


@given(evaluable(BODY, BODY, depth=2))
def test_words_of_random_operators_add_up(expression):
    assume(expression.source is not None)
    try:
        found = words(expression)
    except pp.LoweringError:
        return
    meaning = Meaning(machines.random_machine(23, 3, [machines.revolute]))
    meaning.points = [pp.point("body0", (0.1, -0.2, 0.3))]
    meaning.values |= {"F": meaning.values["F"][:1]}
    meaning.values |= {name: meaning.values[name][:6] for name in ("f0", "r")}
    scale = 1.0 + sum(abs(word.number) for word in found)
    meant = meaning(expression)
    assert_close(meaning.of_words(found, Identity(BODY)) + 0.0 * meant, meant, scale, 1e-8)


@pytest.mark.parametrize("family", [x for x in OPERATORS if x != "at points"])
def test_multiplying_out_is_that_of_the_normal_form(family):
    """By the axioms alone: before words are reduced, and but for loads at points."""
    for expression in map(settle, OPERATORS[family]):
        unit = (Identity(expression.source),)
        terms = [joined(n, x.factors or unit, x.scalars) for x, n in expand(expression).items()]
        if terms:
            assert are_equal(summed(terms), expression), str(expression)
        else:
            assert vanishes(tidied(expression)), str(expression)


def test_nothing_that_may_be_singular_cancels():
    """The normal form cancels X X^-1; a program looks at the pivots of X, and says which vanish."""
    unit = Identity(BODY)
    pairs = {A.inv @ A: unit, A @ A.inv @ phi: phi, (A + M).inv @ (A + M): unit}
    for expression, cancelled in pairs.items():
        assert are_equal(expression, cancelled)
        assert any(isinstance(x, Inverse) for word in words(expression) for x in word.factors)


# -- they read outward first, inward last ------------------------------------------------


@pytest.mark.parametrize("family", OPERATORS)
def test_no_word_goes_inward_and_then_outward(family):
    for word in (word for expression in OPERATORS[family] for word in words(expression)):
        if any(atom.source is SCALAR for atom in word.factors):
            continue  # an outer product: two vectors, each with sweeps of its own
        inward = [i for i, atom in enumerate(word.factors) if is_causal(atom)]
        outward = [i for i, atom in enumerate(word.factors) if is_anticausal(atom)]
        assert not inward or not outward or max(outward) < min(inward), str(word)


@pytest.mark.parametrize("expression", [Mass, Mass.inv, Omega, phi @ P @ phi.T, J @ J.T], ids=str)
def test_words_of_a_symmetric_operator_come_with_their_stars(expression):
    found = words(expression)
    assert {word.star for word in found} == set(found)


# -- the decompositions of the papers ----------------------------------------------------


def test_mass_operator_is_composite_inertias_and_their_way_inward():
    """phi M phi* = R + phi~ R + R phi~* [000 (5.44)]."""
    assert texts(Mass) == [
        "H @ R @ H.T",
        "H @ phi @ E_phi @ R @ H.T",
        "H @ R @ E_phi.T @ phi.T @ H.T",
        "Jm",
    ]


def test_lemma_5_is_applied():
    """psi K H phi = phi - psi = phi K H psi, and the stars [003 Lemma 5]."""
    for expression in (psi @ K @ H @ phi, phi @ K @ H @ psi):
        assert texts(expression) == ["phi", "-psi"]
        assert texts(expression.T) == ["phi.T", "-psi.T"]
    assert texts(psi + psi @ K @ H @ phi) == ["phi"]


def test_lemma_4_is_applied():
    """(I - H psi K) H phi = H psi [003 Lemma 4]."""
    assert texts((I - H @ psi @ K) @ H @ phi) == ["H @ psi"]


def test_compliance_becomes_omega_at_the_points():
    """J Mass^-1 J* = B* Omega B [002 (3.10)]: no word but one."""
    assert texts(J @ Mass.inv @ J.T) == ["B.T @ psi.T @ H.T @ D.inv @ H @ psi @ B"]


def test_inverse_of_the_mass_operator_has_four_words():
    assert texts(Mass.inv) == [
        "D.inv",
        "-(D.inv @ H @ psi @ E_phi @ G)",
        "-(G.T @ E_phi.T @ psi.T @ H.T @ D.inv)",
        "G.T @ E_phi.T @ psi.T @ H.T @ D.inv @ H @ psi @ E_phi @ G",
    ]


def test_steps_that_meet_become_blocks():
    carried, *others = words(E_phi @ A @ E_phi.T)
    assert carried.factors[0].name == "carried"
    assert not others
    assert [word.factors[0].name for word in words(E_phi @ A @ phi.T)] == ["E_phi", "carried"]


def test_composite_of_the_inertias_is_the_letter_of_the_papers():
    assert composite(E_phi, M, E_phi) == R
    assert composite(E_phi, A, E_phi) != R


def test_what_vanishes_has_no_words():
    for expression in (phi - phi, 0 * phi, E_phi @ E, E.T @ E_phi.T, phi @ M @ Omega * 0):
        assert words(expression) == []


def test_equal_words_are_added():
    assert texts(phi + phi - 3 * phi) == ["-phi"]
    assert texts(k * phi + k * phi) == ["k * (2 * phi)"]
    assert len(words(k * phi + phi)) == 2


def test_memoryless_sums_stay_whole():
    assert texts(phi @ (A + M) @ L.T) == ["phi @ (A + M) @ L.T"]
    assert texts(H @ (M + P) @ H.T + N) == ["H @ (M + P) @ H.T + N"]


def test_base_is_inboard_of_all():
    """E* phi M phi* E = E* R E; E* A phi* x is E* A x: no body is inboard of the base."""
    (word,) = words(E.T @ phi @ M @ phi.T @ E)
    assert word.factors[0].name == "carried_to_base"
    assert texts(E.T @ A @ phi.T) == ["E.T @ A"]
    assert texts(phi @ A @ E) == ["A @ E"]


def test_points_of_a_body_are_one_letter_between_bodies():
    (word,) = words(B @ F @ B.T)
    assert word.factors[0].name == "loaded"
    assert words(B @ F.T @ B.T) == [word.star] != [word]
    assert {w.star for w in words(J.T @ J)} == set(words(J.T @ J))


def test_word_prints_and_stars():
    word = Term(2.5, (k,), (H, phi))
    assert str(word) == "k * (2.5 * (H @ phi))"
    assert word.star == Term(2.5, (k,), (phi.T, H.T))
    assert word.star.star == word
    assert str(Term(1, (), ())) == "I"


@pytest.mark.parametrize("expression", [Mass, Mass.inv, Omega, tau_bar, psi_tilde @ P], ids=str)
def test_stars_stand_on_letters_only(expression):
    for word in words(expression):
        for atom in word.factors:
            assert not isinstance(atom, Transpose) or not atom.children[0].children


# -- what cannot be -----------------------------------------------------------------------


def test_too_many_words_are_refused():
    many = functools.reduce(operator.matmul, [phi + psi.T + A] * 6)
    with pytest.raises(pp.LoweringError, match=r"has more than 600 terms.*pp\.as_matrix"):
        words(many)


@pytest.mark.parametrize("expression", [(A - E_phi).inv @ M @ phi.T, phi @ M @ (I + phi.T).inv])
def test_recursion_of_more_than_a_step_is_not_decomposed(expression):
    with pytest.raises(pp.LoweringError, match=r"no recursion of one step; pp\.as_matrix"):
        words(expression)


def test_outer_products_stay_as_they_are():
    (word,) = words(x @ V.T)
    assert any(atom.source is SCALAR for atom in word.factors)
    (word,) = words(phi @ x @ x.T @ phi.T)
    assert word.factors == (phi @ x, x.T @ phi.T)


@pytest.mark.parametrize("expression", [D, G, S, blockdiag(phi @ M @ phi.T), O, N @ N], ids=str)
def test_single_letters_are_single_words(expression):
    (word,) = words(expression)
    assert word.number == 1
    assert words(2 * expression) == [Term(2, (), word.factors)]


def test_identity_is_the_word_without_atoms():
    assert words(I.at(JOINT)) == [Term(1, (), ())]
    assert words(3 * I.at(BODY)) == [Term(3, (), ())]
