"""Expressions made ready for lowering: what they still mean, and what they look like."""

import functools

import machines
import numpy as np
import pytest
from expressions import FAMILIES, INVERSES, MARKET, F, W
from hypothesis import given
from meanings import Meaning
from random_expressions import evaluable
from symbols import A, L, N, assert_close, k, m, x, y

import phipsi as pp
from phipsi.algebra.node import Identity, Inverse, Root, Scaled, Symbol, Transpose
from phipsi.algebra.rewriting.normal import joined, number_and_factors, terms_of
from phipsi.algebra.spaces import BODY, COORDINATES, JOINT, POINTS, SCALAR, Causality
from phipsi.algebra.stars import starred
from phipsi.algebra.walk import walk
from phipsi.lowering.settle import MASS, Family, family_of, inverse, settle, sides_of
from phipsi.lowering.structure import (
    is_memoryless,
    is_pointwise,
    is_symmetric,
    load_points,
    step_of,
)
from phipsi.operators import (
    B,
    D,
    Delta_phi,
    E,
    E_phi,
    E_psi,
    G,
    H,
    I,
    J,
    Jm,
    K,
    M,
    Mass,
    Omega,
    P,
    Q,
    R,
    S,
    S_q,
    T,
    V,
    X,
    blockdiag,
    cross,
    phi,
    phi_tilde,
    psi,
    tau_bar,
)

whiten, colour = I - H @ psi @ K, I + H @ phi @ K


@functools.cache
def tree():
    kinds = [machines.revolute, machines.universal, machines.prismatic]
    return Meaning(machines.random_machine(31, 4, kinds, "tree", rotors="reflected"))


@functools.cache
def with_mimics():
    kinds = [machines.revolute, machines.prismatic]
    model = machines.random_machine(32, 4, kinds, "chain", mimics=True)
    assert len(model.leaders) < len(model.joints)
    return Meaning(model)


# -- the meaning stays ---------------------------------------------------------------------


@pytest.mark.parametrize("plain", [True, False], ids=["plain", "with mimics"])
@pytest.mark.parametrize("family", FAMILIES)
def test_settled_expressions_mean_the_same(family, plain):
    meaning = tree() if plain else with_mimics()
    for expression in FAMILIES[family].values():
        assert_close(meaning(settle(expression, plain)), meaning(expression), 1e-2)


@given(evaluable(BODY, JOINT))
def test_star_of_a_settled_expression_is_its_transpose(expression):
    meaning = Meaning(tree().model)
    meaning.points = meaning.points[:1]
    meaning.values["f0"] = meaning.values["f0"][:6]
    settled = settle(expression)
    star = starred(settled)
    assert starred(star) == settled or is_symmetric(settled)
    value = meaning(settled)
    assert_close(meaning(star), value.T, np.linalg.norm(value) + 1e-3)


# -- what is left ----------------------------------------------------------------------------


def settled_parts(family, plain=True):
    """Everything inside some settled expressions, definitions closed."""
    pending = [settle(expression, plain) for expression in FAMILIES[family].values()]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(node.children)


@pytest.mark.parametrize("family", FAMILIES)
def test_only_letters_and_roots_bear_stars_and_definitions_are_gone(family):
    for part in settled_parts(family):
        if isinstance(part, Transpose):
            assert isinstance(part.children[0], (Symbol, Root))
        if isinstance(part, Symbol) and part.definition is not None:
            assert part.record.kept


@pytest.mark.parametrize("family", FAMILIES)
def test_inverses_that_are_left_are_small_or_recursions(family):
    for part in settled_parts(family, plain=False):
        if isinstance(part, Inverse) and part.target in (BODY, JOINT):
            assert part.causality is not Causality.MIXED


@pytest.mark.parametrize("family", FAMILIES)
def test_settling_twice_is_settling_once(family):
    for expression in FAMILIES[family].values():
        once = settle(expression)
        assert settle(once) == once


def test_what_is_settled_is_remembered():
    memo = {}
    first = settle(Mass.inv @ (T - Jm @ y), memo=memo)
    assert settle(Mass.inv @ (T - Jm @ y), memo=memo) is first
    assert memo[Mass.inv] == settle(Mass.inv)


def test_shift_and_lever_are_one_step():
    """S Delta_phi = E_phi [000 (3.28)]."""
    assert settle(phi @ S @ Delta_phi @ A) == settle(phi @ E_phi @ A)
    assert settle((S @ Delta_phi).T @ phi.T) == settle(E_phi.T @ phi.T)
    assert settle((I - S @ Delta_phi).inv) == phi
    assert settle(Delta_phi @ S) == Delta_phi @ S


def test_tau_bar_p_is_one_letter():
    """tau_bar P is symmetric: it has zeros that neither factor has."""
    settled = settle(tau_bar @ P)
    assert settled == settle(P @ tau_bar.T)
    assert is_symmetric(settled)
    assert settle(P @ tau_bar) == P @ tau_bar


def test_selections_cancel_where_no_joint_follows_another():
    assert settle(S_q @ S_q.T @ y) == y
    assert settle(S_q.T @ S_q) == Identity(COORDINATES)
    assert settle(S_q @ S_q.T, plain=False) == S_q @ S_q.T


def test_diagonal_of_what_is_block_diagonal_is_itself():
    assert settle(blockdiag(M @ A)) == M @ A
    assert settle(blockdiag(W + S_q.T @ S_q)).target is COORDINATES
    assert settle(blockdiag(k)) == k
    assert settle(blockdiag(phi)) == blockdiag(phi)


def test_points_of_one_body_see_each_other():
    """B* B has blocks between the points of a body: its diagonal is less than itself."""
    assert settle(blockdiag(B.T @ B)) == blockdiag(B.T @ B)


# -- stars -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "star"),
    [
        (M, M),
        (A, A.T),
        (A.T, A),
        (phi @ A, A.T @ phi.T),
        (phi + A, phi.T + A.T),
        (2 * phi, 2 * phi.T),
        (k * phi, k * phi.T),
        (phi.inv, phi.T.inv),
        (blockdiag(phi), blockdiag(phi.T)),
        (S[V], -cross[V]),
        (cross[V], -S[V]),
        (Q[V], -Q[V]),
        (x, x.T),
        (x.T @ x, x.T @ x),
        (k, k),
    ],
    ids=str,
)
def test_star_moves_to_the_letters(node, star):
    assert starred(node) == star


# -- what an expression is ---------------------------------------------------------------------


SYMMETRIC = [M, P, R, D, Jm, A + A.T, A + M + A.T, A @ A.T, 2 * M, k * M, M.inv, (A @ A.T).inv]
SYMMETRIC += [H @ M @ H.T, H @ (A + A.T) @ H.T, 0.5 * N @ N.T, k * N @ (m * N.T), Identity(BODY)]
SYMMETRIC += [blockdiag(phi @ M @ phi.T), A + A + A.T + A.T, phi @ phi.T, phi + phi.T, B @ B.T]
SYMMETRIC += [L.T @ D.inv @ L, N @ (Jm + I) @ N.T, X @ (F + F.T) @ X.T]
NOT_SYMMETRIC = [A, N, phi, S[V], A + A + A.T, A @ A, H, A @ M, M @ P, A - A.T, 2 * A + A.T]
NOT_SYMMETRIC += [phi + psi.T, A.inv, N + I, H @ A @ H.T, k * A]


@pytest.mark.parametrize("expression", SYMMETRIC, ids=str)
def test_symmetry_is_seen(expression):
    settled = settle(expression)
    assert is_symmetric(settled)
    value = tree()(settled)
    assert_close(value, value.T)


@pytest.mark.parametrize("expression", NOT_SYMMETRIC, ids=str)
def test_no_symmetry_is_seen_where_there_is_none(expression):
    assert not is_symmetric(settle(expression))


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_called_symmetric_is_symmetric(family):
    for part in set(settled_parts(family)):
        if part.source is not SCALAR and is_symmetric(part):
            value = tree()(part)
            assert_close(value, value.T, 1e-2)


@pytest.mark.parametrize(
    ("propagator", "step"),
    [
        (phi, E_phi),
        (psi, E_phi @ tau_bar),
        ((I - E_phi).inv, E_phi),
        ((I - 0.5 * E_phi).inv, 0.5 * E_phi),
        ((I + A @ E_phi @ M).inv, -(A @ E_phi @ M)),
        ((I - S).inv, S),
        ((I - E_phi - A @ E_phi).inv, E_phi + A @ E_phi),
        (phi.T, None),
        ((I - E_phi.T).inv, None),
        ((A - E_phi).inv, None),
        ((I - E_phi @ E_phi).inv, None),
        ((I - phi).inv, None),
        ((I + I - E_phi).inv, None),
        ((I - k * E_phi).inv, None),
        ((I - H @ phi @ K).inv, None),
        (A, None),
        (A.inv, None),
    ],
    ids=str,
)
def test_step_of_a_propagator(propagator, step):
    assert step_of(propagator) == step


def test_numbers_are_taken_out_of_products_and_put_back():
    number, factors = number_and_factors((2 * A) @ phi @ (-3 * M) @ x)
    assert (number, factors) == (-6, (A, phi, M, x))
    assert joined(number, factors) == -6 * (A @ phi @ M @ x)
    assert number_and_factors(k * A) == (1, (k * A,))
    assert number_and_factors(A) == (1, (A,))


def test_scaled_sums_are_multiplied_out():
    found = list(terms_of(2 * (k * (A + 3 * M) - m * A @ (k * phi))))
    assert found == [(2, (k,), (A,)), (6, (k,), (M,)), (-2, (m, k), (A, phi))]


@pytest.mark.parametrize("name", ["matrices: products of sums", "scalars: kinetic energy"])
def test_terms_add_up(name):
    settled, meaning = settle(MARKET[name]), tree()
    total = sum(meaning(joined(*[part[0], part[2], part[1]])) for part in terms_of(settled))
    assert_close(total, meaning(settled))


@pytest.mark.parametrize("operator", [F, X, I.at(POINTS), F @ X, F + X, F.inv, k * F, F.T], ids=str)
def test_what_acts_on_each_point_alone(operator):
    assert is_pointwise(settle(operator))


@pytest.mark.parametrize("operator", [B.T @ B, A, B, J @ J.T, (B.T @ B + F).inv, W], ids=str)
def test_what_does_not_act_on_each_point_alone(operator):
    assert not is_pointwise(settle(operator))


def test_points_are_loaded_onto_their_bodies():
    (loaded,) = load_points((B, F, X, B.T))
    assert is_memoryless(loaded)
    assert loaded.arguments == (B, F @ X)
    assert load_points((H, phi, B, B.T, phi.T)) == (H, phi, load_points((B, B.T))[0], phi.T)
    assert not any(is_memoryless(part) for part in (B, B.T))
    tip, elbow = pp.point("tip"), pp.point("elbow")
    apart = (B(tip), B(elbow).T)
    assert load_points(apart) == apart
    coupled = (B, (B.T @ B + F).inv, B.T)
    assert load_points(coupled) == coupled


# -- inverses ------------------------------------------------------------------------------------

DISGUISES = [
    H @ phi @ M @ phi.T @ H.T + Jm,
    Jm + H @ phi @ M @ phi.T @ H.T,
    H @ (phi @ (M @ (H @ phi).T)) + Jm,
    (H @ phi @ M @ phi.T @ H.T + Jm).T,
    Mass.inv.inv,
    1.0 * Mass,
    2 * (0.5 * Mass),
    0.5 * H @ phi @ (2 * M) @ phi.T @ H.T + Jm,
    H @ (I - E_phi).inv @ M @ (I - E_phi).inv.T @ H.T + Jm,
    H @ (I - E_phi).inv @ M @ (I - E_phi.T).inv @ H.T + Jm,
    H @ (I - S @ Delta_phi).inv @ M @ phi.T @ H.T + Jm,
]


@pytest.mark.parametrize("disguise", DISGUISES, ids=str)
def test_inverse_of_the_mass_operator_is_found_in_disguise(disguise):
    """All become the innovations form, with the letters of the papers [003 Lemma 3]."""
    settled = settle(disguise.inv)
    letters = {node.name for node in walk(settled) if isinstance(node, Symbol)}
    assert {"D", "G"} <= letters
    assert not any(isinstance(node, Symbol) and node.arguments for node in walk(settled))
    assert_close(tree()(settled), tree()(Mass.inv))


def test_disguises_settle_to_the_same_expression():
    first = settle(Mass.inv)
    assert first == settle(whiten.T @ D.inv @ whiten)
    in_another_order = Jm + H @ phi @ M @ phi.T @ H.T
    assert settle(in_another_order.inv) == first
    assert all(settle(x.inv) == first for x in DISGUISES)


def test_innovations_factorization_inverts_factor_by_factor():
    """((I + H phi K) D (I + H phi K)*)^-1 is the innovations form [003 Lemmas 1-3]."""
    assert settle((colour @ D @ colour.T).inv) == settle(Mass.inv)
    assert settle(colour.inv) == settle(whiten)
    assert settle(whiten.inv) == settle(colour)
    assert settle(colour.T.inv) == settle(whiten.T)
    assert settle(whiten.T.inv) == settle(colour.T)


def test_propagators_are_known_by_their_steps():
    assert settle((I - E_phi).inv) == settle((-E_phi + I).inv) == phi
    assert settle((I - E_psi).inv) == psi
    assert settle((I - E_phi.T).inv) == settle((I - E_phi).inv.T) == phi.T
    assert settle((I - tau_bar.T @ E_phi.T).inv) == psi.T
    assert settle((I - 2 * E_phi).inv) == (I - 2 * E_phi).inv


def test_inverse_of_a_propagator_is_its_step():
    assert settle(phi.inv) == I - E_phi
    assert settle(phi.T.inv) == I - E_phi.T
    assert settle(psi.inv.T) == settle(I - E_psi.T)
    assert settle((psi @ M @ phi.T).inv) == settle((I - E_phi.T) @ M.inv @ (I - E_psi))


def test_inverse_of_independent_coordinates_where_none_follows():
    assert settle((S_q.T @ Mass @ S_q).inv) == settle(S_q.T @ Mass.inv @ S_q)
    left = settle((S_q.T @ Mass @ S_q).inv, plain=False)
    assert isinstance(left, Inverse)


def test_axes_are_inverted_by_their_star():
    assert settle(X.inv) == X.T
    assert settle(X.T.inv) == X


def test_numbers_are_inverted_outside():
    assert settle((2 * Mass).inv) == 0.5 * settle(Mass.inv)
    settled = settle((k * Mass).inv)
    assert isinstance(settled, Scaled)
    assert settled.factor == k.inv


def test_family_of_the_mass_operator_is_that_of_the_papers():
    assert family_of(D) == family_of(G) == MASS
    assert MASS.letter(P) == P
    own = Family(L, E_phi, A @ A.T, None)
    assert own.letter(P).arguments == (own,)
    assert family_of(own.letter(D)) == own
    assert (own.letter(G).source, own.letter(G).target) == (JOINT, BODY)


OTHERS = [phi + phi.T, Mass + y @ y.T, Mass.inv + N, H @ phi @ M @ psi.T @ H.T + Jm, Omega]
OTHERS += [Mass + N, H @ phi @ A @ phi.T @ H.T, H @ phi @ M @ phi.T @ L.T, E @ E.T]
OTHERS += [Mass + H @ psi @ M @ psi.T @ H.T, S_q @ W @ S_q.T]


@pytest.mark.parametrize("operator", OTHERS, ids=str)
def test_other_inverses_are_refused_and_quoted(operator):
    with pytest.raises(pp.LoweringError) as caught:
        settle(operator.inv, plain=False)
    message = str(caught.value)
    assert message.startswith(f"cannot invert `{operator}` in O(N)\n")
    assert "nor of the form L @ phi @ W @ phi.T @ L.T + N" in message
    assert message.endswith("pp.as_matrix inverts it densely")


def test_inverse_without_a_user_quotes_what_it_was_given():
    with pytest.raises(pp.LoweringError, match=r"cannot invert `phi \+ phi\.T`"):
        inverse(phi + phi.T)


def test_strict_operators_have_letters_of_their_own_steps():
    assert settle(phi_tilde) == phi @ E_phi
    assert INVERSES["causal, half a step"].causality is Causality.CAUSAL


def test_inverse_is_the_same_however_like_terms_are_spread():
    halves = H @ phi @ (0.25 * M) @ phi.T @ H.T + 0.75 * (H @ phi @ M @ phi.T @ H.T) + 0.5 * Jm
    assert settle((halves + 0.5 * Jm).inv) == settle(Mass.inv)


@pytest.mark.parametrize(
    "name", ["Lemma 2", "Lemma 3", "Lemma 5 as a product", "Lemma 5 as a product, turned"]
)
def test_identities_of_the_mass_operator_are_said_of_other_families(name):
    """Of bodies on springs, in body space: L = I, E = E_phi, W = M + I."""
    meaning = Meaning(machines.MARKET["rbdl_tree_3d"]())
    family = Family(I.at(BODY), E_phi, M + I.at(BODY), M)
    sides = sides_of(name, family)
    if name == "Lemma 3":
        sides = (phi @ (M + I.at(BODY)) @ phi.T + M).inv, sides[1]
    assert_close(*(meaning(settle(x)) for x in sides))
