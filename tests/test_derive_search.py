"""`pp.derive`, its search: true of whatever is typed, by what is asked for; refusals."""

import pytest
from derivations import CASES, MASS, W
from hypothesis import given, settings
from hypothesis import strategies as st
from random_expressions import evaluable

import phipsi as pp
from phipsi.algebra.identities.pick_offs import takes_a_joint
from phipsi.algebra.node import Scaled
from phipsi.algebra.spaces import BODY, JOINT, SCALAR
from phipsi.operators import (
    HH,
    B,
    C,
    D,
    E_phi,
    H,
    HH_delta,
    HH_s,
    I,
    J,
    Jm,
    K,
    M,
    Mass,
    Omega,
    P,
    R,
    S,
    T,
    V,
    Y,
    b,
    beta_dot,
    cross,
    f0,
    phi,
    phi_tilde,
    psi,
    psi_tilde,
    scalar,
    tau_bar,
    vector,
)

ENDS = [(s, t) for s in (BODY, JOINT, SCALAR) for t in (BODY, JOINT, SCALAR)]
SOME = CASES["operational compliance"].expression


@settings(max_examples=50)
@given(st.data())
def test_random_expressions_are_derived_truly(data):
    """Whatever is typed: what comes out means the same, step by step, on a random machine."""
    source, target = data.draw(st.sampled_from(ENDS))
    expression = data.draw(evaluable(source, target))
    if expression.source is None:
        expression = expression.at(BODY)
    found = pp.derive(expression, bound=8)
    checked = found.check(machines=1)
    assert checked.ok, (found, checked)


TRIVIAL = [  # said by the normal form already
    *(f"symmetry of {x}" for x in ("M", "Jm", "R", "P", "D", "Mass", "Y", "Omega")),
    "force cross product",
    "Q is skew",
    "Lemma A.1",
    "matrix inversion lemma",  # it is said of each sum that is inverted
]


@pytest.mark.parametrize(
    "equation", [x for x in pp.identities() if not takes_a_joint(x)], ids=lambda x: x.name
)
def test_every_identity_can_be_asked_for(equation):
    """From one of its sides, or from the other; but for those that the normal form knows."""
    found = [
        pp.derive(side, using=equation.name, assume=equation.conditions, bound=20)
        for side in (equation.left, equation.right)
    ]
    reached = any(equation in x.identities for x in found)
    assert reached is (equation.name not in TRIVIAL)


FALSE = {  # a goal, the condition that it lacks or the sign that is wrong
    "psi for phi": (H @ psi, H @ phi),
    "Lemma 4 of locked joints": ((I - H @ phi @ K) @ H @ phi, H @ psi),
    "Lemma 5 with another sign": (psi @ K @ H @ phi, psi - phi),
    "a star too few": (phi @ M @ phi.T, R + phi_tilde @ R + R @ phi_tilde),
    "with rotors": (tau_bar @ P @ tau_bar.T, tau_bar @ P),
    "on trees": (Omega, Y + psi_tilde.T @ Y + Y @ psi_tilde),
    "the inverse of a sum": ((I + H @ phi @ K).inv, I - H @ phi @ (I + K @ H @ psi).inv @ K),
}


@pytest.mark.parametrize(("left", "right"), FALSE.values(), ids=FALSE)
def test_false_goals_are_not_reached_and_that_is_said(left, right):
    """Planted: nothing is shown, and nobody is told that all there is was tried."""
    found = pp.derive(left, to=right, bound=16)
    assert found.missing and not found.steps and not found.check().ok
    assert not found.exhausted
    assert "a larger bound may find more" in found.verdict


def test_a_search_that_left_nothing_out_says_so():
    """No identity is about two vectors of one's own."""
    found = pp.derive(vector("x", "body"), to=vector("y", "body"))
    assert found.missing and found.exhausted and not found.left_out
    assert found.verdict.endswith("every identity was tried wherever it applies")


def test_a_search_says_what_it_left_out():
    """Letters are not written out unasked, nor is what costs much more looked at."""
    assert pp.derive(V).left_out == ("letters written out",)
    found = pp.derive(SOME)
    assert "expressions that are much dearer" in found.left_out
    assert "left out: expressions that are much dearer" in found.verdict


def test_identities_apply_to_named_joints_and_points():
    """(2.14) of 000 for the elbow; Lemma 4 does not care about points."""
    x = vector("x", "body")
    found = pp.derive((HH_s("elbow") + HH_delta("elbow")) @ x)
    assert found.result == HH("elbow") @ x
    tool = pp.point("tool", (0.1, 0.2, 0.3))
    assert B(tool) in pp.derive(J(tool) @ Mass.inv @ J(tool).T).result.factors
    assert pp.derive(J("tool") @ Mass.inv @ T).check().ok


def test_variables_stand_for_blocks_alone():
    """Lemma 2.1 of 000 is about block-diagonal operators, so phi is not one of them."""
    x, y = vector("x", "body"), vector("y", "body")
    chains = {"assume": "serial chains"}
    for inner in (phi, phi.T, x @ y.T):
        assert not pp.derive(S @ inner @ S.T @ S @ x, **chains).steps
        assert not pp.derive(S.T @ inner @ S @ S.T @ x, **chains).steps
    assert pp.derive(S @ M @ S.T @ S @ x, **chains).result == S @ M @ x


def test_like_terms_are_not_lost():
    """(psi - I - I) has two of them, on the way as well."""
    found = pp.derive((psi_tilde - I) @ (psi - I))
    assert found.check().ok
    assert pp.derive((psi_tilde - I) @ (psi - I), to=psi_tilde @ psi_tilde, bound=20).missing


def test_inverses_of_propagators_are_steps():
    """phi^-1 = I - E_phi, also within a product that is inverted."""
    x = vector("x", "body")
    assert pp.derive(phi.inv @ x).result == (I - E_phi) @ x
    found = pp.derive((phi @ M @ phi.T).inv)
    assert found.result == (I - E_phi).T @ M.inv @ (I - E_phi)
    k = scalar("k")
    assert pp.derive((k * Mass).inv @ T).after.inverses == 0


def test_roundoff_of_numbers_and_zeros():
    x = vector("x", "body")
    found = pp.derive(0.1 * M @ x + 0.2 * M @ x - 0.3 * M @ x)
    assert found.result == Scaled(0, x)
    assert not pp.derive(S[V] @ M @ V + cross[V].T @ M @ V).conditions


def test_searches_end():
    """Forward dynamics nested in itself: too much to look at, and that is said."""
    nested = T
    for _ in range(3):
        nested = Mass.inv @ (T - C - nested)
    assert not pp.derive(nested, bound=5).exhausted
    deep = b
    for _ in range(300):
        deep = phi @ (M @ deep + b)
    with pytest.raises(pp.InputError, match=r"nested too deeply|multiplied out"):
        pp.derive(deep)


# -- to, using, without, bounds ----------------------------------------------------------


def test_two_expressions_are_shown_equal():
    """From both ends: `phi - psi` is `phi K H psi`, and the innovations factors give Mass."""
    colour = I + H @ phi @ K
    found = pp.derive(Mass, to=colour @ D @ colour.T)
    assert found.result == colour @ D @ colour.T
    assert found.check().ok
    assert "shown" in found.verdict


def test_what_is_not_equal_is_not_shown():
    """psi is not phi; the expression stays as it was."""
    found = pp.derive(H @ psi, to=H @ phi, bound=20)
    assert found.result == H @ psi
    assert not found.steps
    assert "`H @ phi` was not reached" in found.verdict


def test_nothing_cheaper_is_said():
    found = pp.derive(V)
    assert found.result == V
    assert found.before == found.after
    assert "nothing cheaper was found" in str(found)


def test_a_bound_that_is_hit_is_said():
    found = pp.derive(Mass.inv @ T, bound=1)
    assert not found.exhausted
    assert "the search ended at its bound" in str(found)
    assert pp.derive(Mass.inv @ T).exhausted


def test_an_identity_that_does_not_apply_is_said():
    found = pp.derive(Mass.inv, using="factors exchanged")
    assert "a result by 'factors exchanged' was not reached" in found.verdict
    assert found.result == Mass.inv


def test_identities_can_be_left_out():
    """Without Lemma 4 the compliance keeps its phi."""
    found = pp.derive(SOME, without=["Lemma 4", "Lemma 5 as a product"])
    assert phi in found.result.factors
    assert psi in pp.derive(SOME).result.factors


def test_text_is_read():
    assert pp.derive("inv(H phi M phi' H' + Jm)").result == W.T @ D.inv @ W


def test_sums_that_vanish():
    found = pp.derive(Mass - MASS - Jm)
    assert isinstance(found.result, Scaled)
    assert found.result.factor == 0
    assert found.check().ok


def test_identities_are_found_in_a_term_that_shares_factors_with_another():
    """The factorized mass operator beside C, which begins with H phi as well: Newton-Euler."""
    colour = I + H @ phi @ K
    typed = colour @ D @ colour.T @ beta_dot + C
    found = pp.derive(typed)
    assert "Lemma 1" in {x.name for x in found.steps} and found.check(machines=2).ok
    assert found.after == pp.derive(Mass @ beta_dot + C).after
    model = pp.examples.puma560()
    flops = [pp.compile(model, x).info().flops for x in (typed, Mass @ beta_dot + C)]
    assert flops[0] == flops[1]


def test_common_factors_are_taken_out():
    """Inverse dynamics: one sweep out, one in, though Mass and C were typed apart."""
    found = pp.derive(Mass @ beta_dot + C)
    assert found.result.terms[0] == Jm @ beta_dot
    assert found.after.flops < found.before.flops


# -- refusals ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((3,), {}, "derive: expected an expression, or its text, got int"),
        ((I,), {}, "the space of `I` is open"),
        ((SOME,), {"to": 3}, "to: expected an expression"),
        ((SOME,), {"using": "Lemma 44"}, "no identity 'Lemma 44'"),
        ((SOME,), {"using": 3}, "using: expected names of identities, got 3"),
        ((SOME,), {"without": ["Lema 4"]}, "no identity 'Lema 4'"),
        ((SOME,), {"using": "Lemma 4", "without": "Lemma 4"}, "both in using and in without"),
        ((SOME,), {"assume": "serial"}, "assume: no condition 'serial'"),
        ((SOME,), {"assume": 5}, "assume: expected conditions, got 5"),
        ((SOME,), {"assume": None}, "assume: expected conditions, got None"),
        ((SOME,), {"bound": 0}, "bound: expected a whole number above 0, got 0"),
        ((SOME,), {"bound": True}, "bound: expected a whole number above 0, got True"),
        (("H phi @",), {}, "column"),
    ],
)
def test_bad_input_is_refused(arguments, options, message):
    with pytest.raises(pp.InputError, match=message):
        pp.derive(*arguments, **options)


def test_a_goal_in_other_spaces_is_refused():
    with pytest.raises(pp.SpaceError, match=r"cannot show that `J .*` is `f0`\n.*vector of point"):
        pp.derive(SOME, to=f0)


def test_a_goal_that_needs_a_condition_says_which():
    """`derive` takes it for granted where no rotor can hide; a goal may have some."""
    found = pp.derive("inv(H phi M phi' H')")
    again = pp.derive("inv(H phi M phi' H')", to=found.result)
    assert again.missing and "for assume=: " in again.verdict
    assert '"no rotor inertia"' in again.verdict
    assert not pp.derive("inv(H phi M phi' H')", to=found.result, assume="no rotor inertia").missing
