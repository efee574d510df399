"""Normal forms, common factors, rules and where they apply: nothing changes what is meant."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from identity_machines import CASES as MACHINES
from random_expressions import evaluable, situations, size, typed_expressions

import phipsi as pp
from phipsi.algebra.identities import IDENTITIES, Condition, Equation, closed
from phipsi.algebra.identities.pick_offs import takes_a_joint
from phipsi.algebra.rewriting.collect import collected, forms_of, presented
from phipsi.algebra.rewriting.match import rewritten, rewritten_everywhere
from phipsi.algebra.rewriting.normal import (
    are_equal,
    canonical,
    is_zero,
    polynomial,
    starred_letters,
    tidied,
)
from phipsi.algebra.rewriting.rules import chosen, is_shorthand, ways_of
from phipsi.algebra.spaces import BODY, JOINT, SCALAR
from phipsi.explain.deriving.trials import Trial
from phipsi.operators import (
    D,
    E_phi,
    G,
    H,
    I,
    J,
    Jm,
    K,
    M,
    Mass,
    P,
    T,
    V,
    X,
    a,
    b,
    beta,
    cross,
    f,
    operator,
    phi,
    phi_tilde,
    psi,
    scalar,
    vector,
)

W = I - H @ psi @ K
k = scalar("k")
x, y = vector("x", "body"), vector("y", "joint")
ENDS = [(s, t) for s in (BODY, JOINT, SCALAR) for t in (BODY, JOINT, SCALAR)]
TOLERANCE = 1e-9  # of what an expression is made of


@st.composite
def expressions_with_values(draw):
    """An expression, and how to evaluate it and others of its letters."""
    _, evaluate = draw(situations(max_bodies=3))
    expression = draw(evaluable(*draw(st.sampled_from(ENDS))))
    if expression.source is None:
        expression = H.T @ expression @ H
    return expression, evaluate


def assert_same_meaning(evaluate, expression, other):
    roundoff = TOLERANCE * max(size(evaluate, expression), size(evaluate, other))
    assert np.linalg.norm(evaluate(expression) - evaluate(other)) <= roundoff, (expression, other)


# -- normal forms ------------------------------------------------------------------------


@given(expressions_with_values())
def test_normal_forms_mean_the_same(case):
    """Tidy, multiplied out, with common factors taken out, and with stars of sums."""
    expression, evaluate = case
    tidy = tidied(expression)
    for form in (starred_letters(expression), tidy, canonical(expression), *forms_of(tidy)):
        assert (form.source, form.target) == (expression.source, expression.target)
        assert_same_meaning(evaluate, expression, form)
        assert_same_meaning(evaluate, expression, presented(form))


@given(typed_expressions(depth=2))
def test_normal_forms_are_final(expression):
    """What is tidy or canonical stays so; every form of an expression is equal to it."""
    tidy = tidied(expression)
    assert tidied(tidy) == tidy
    assert canonical(canonical(expression)) == canonical(expression)
    assert are_equal(expression, tidy)
    for form in forms_of(tidy):
        assert are_equal(form, expression)


@given(st.data())
def test_axioms_hold_by_normal_forms_alone(data):
    """Associative, distributive, star of sums and products, inverses of inverses."""
    A, B_, C_ = (data.draw(evaluable(BODY, BODY, depth=1)) for _ in range(3))
    A, B_, C_ = (z.at(BODY) for z in (A, B_, C_))
    assert are_equal((A + B_) @ C_, A @ C_ + B_ @ C_)
    assert are_equal(A @ (B_ - C_), A @ B_ - A @ C_)
    assert are_equal((A @ B_).T, B_.T @ A.T)
    assert are_equal((A + 2 * B_).T, 2 * B_.T + A.T)
    assert are_equal(A - A + B_, B_)
    assert are_equal(A + B_ + C_, C_ + A + B_)


@pytest.mark.parametrize(
    ("expression", "tidy"),
    [
        ((W.T @ D.inv @ W).inv, (I - H @ psi @ K).inv @ D @ starred_letters(W.T).inv),
        ((2 * phi).inv, 0.5 * phi.inv),
        (Mass @ Mass.inv @ T, T),
        (phi.T.inv @ phi.T @ x, x),
        ((H @ phi @ M @ phi.T @ H.T).T, H @ phi @ M @ phi.T @ H.T),
        (cross[V].T @ x, -(pp.operators.S[V] @ x)),
        (X.inv @ J @ beta, X.T @ J @ beta),
        (2 * (T - y) / 2, T - y),
        ((k * M).T, k * M),
        (D.sqrt.T.T, D.sqrt),
    ],
    ids=str,
)
def test_tidy_expressions(expression, tidy):
    assert tidied(expression) == tidy


def test_zero_is_zero():
    """Sums that vanish, products with them, and a vector of any space."""
    for expression in (M - M, phi @ (M - M) @ phi.T, 0 * phi, H @ (x - x), k * T - k * T):
        assert is_zero(tidied(expression)) or not polynomial(tidied(expression))
        assert canonical(expression).source is expression.source
        assert canonical(expression).target is expression.target


def test_scalars_commute_and_operators_do_not():
    assert are_equal(k * phi @ x, phi @ (k * x))
    assert are_equal((k * M) @ (2 * phi), 2 * k * (M @ phi))
    assert not are_equal(M @ phi, phi @ M)
    assert not are_equal(phi @ x, x)


def test_too_long_to_multiply_out():
    long = I.at(BODY)
    for i in range(12):
        long = long @ (phi + operator(f"A{i}", "body", "body"))
    with pytest.raises(pp.InputError, match="more than 600 terms when it is multiplied out"):
        canonical(long)
    with pytest.raises(pp.InputError, match="derive its parts one by one"):
        pp.derive(long @ x)


# -- common factors ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "short"),
    [
        (T - H @ psi @ K @ T - H @ psi @ b, T - H @ psi @ (b + K @ T)),
        (D.inv - W.T @ D.inv + D.inv @ W, None),
        (canonical(W.T @ D.inv @ W), W.T @ D.inv @ W),
        (phi @ M @ x + psi @ M @ x, (phi + psi) @ M @ x),
        (phi @ x + phi @ f + b, b + phi @ (x + f)),
        (2 * k * (phi @ x) - 2 * k * (phi @ f), None),
    ],
    ids=str,
)
def test_common_factors(expression, short):
    found = collected(expression)
    assert are_equal(found, expression)
    if short is not None:
        assert are_equal(found, short)
        assert any(presented(form) == short for form in forms_of(tidied(expression)))


# -- rules -------------------------------------------------------------------------------

EVERY = [x for x in Condition if x is not Condition.WORLD_AXES]
RULES = [
    (way, rule)
    for equation in IDENTITIES.values()
    if not takes_a_joint(equation) and not (equation.derived and equation in closed.EQUATIONS)
    for way in ways_of(equation)
    for rule in way
]
MACHINE = "chain"  # serial, joints of one freedom, no rotors


@pytest.mark.parametrize(
    "rule", [rule for _, rule in RULES], ids=lambda x: f"{x.equation.name}: {x.left}"
)
def test_rules_apply_in_any_context(rule):
    """A left L right + R becomes A right R + ...: what is meant is what was meant."""
    case = MACHINES[MACHINE]()
    if set(rule.equation.conditions) - case.meets("link"):
        pytest.skip("proved in test_identities; this chain moves along its joints too")
    before = operator("before", "body", "body")
    left, right = rule.left, rule.right
    if left.target is BODY:
        left, right = before @ left, before @ right
    context = left + left if left.is_scalar else 2 * left
    found = [tidied(new) for new in rewritten(tidied(context), rule)]
    assert found, "the rule does not find its own left side"
    trial = Trial(case.model, (context, right, *found), 3)
    expected = trial.value(context)
    scale = max(np.linalg.norm(trial.value(z)) for z in (context, *found[0].terms))
    for new in found:
        assert np.linalg.norm(trial.value(new) - expected) <= TOLERANCE * max(scale, 1.0), new


@pytest.mark.parametrize(
    ("name", "expression", "result"),
    [
        ("Lemma 4", W @ H @ phi @ x, H @ psi @ x),
        ("Lemma 4", W @ (T - H @ phi @ (x + f)), W @ T - H @ psi @ (x + f)),
        ("Lemma 4", (T - H @ phi @ x).T @ W.T, T.T @ W.T - x.T @ psi.T @ H.T),
        ("Lemma 5 as a product", W @ (y - H @ phi @ x), None),
        ("gain", D.inv @ (T - H @ (psi @ x + P @ f)), D.inv @ (T - H @ psi @ x) - G.T @ f),
        ("definition of D", (Jm + H @ P @ H.T).inv @ T, D.inv @ T),
        ("definition of D", (H @ P @ H.T + Jm + D).inv @ T, (D + D).inv @ T),
        ("composite inertia", -2 * pp.operators.R + 2 * E_phi @ pp.operators.R @ E_phi.T, -2 * M),
        ("factors exchanged", phi @ pp.operators.S[V] @ M @ V, -(phi @ pp.operators.Q[M @ V] @ V)),
        ("phi_tilde by steps", phi_tilde.T @ a, E_phi.T @ phi.T @ a),
    ],
    ids=str,
)
def test_rules_find_their_places(name, expression, result):
    """Also through sums, in part of a sum, with a number, starred, and with variables."""
    found = [
        tidied(new)
        for way in ways_of(IDENTITIES[name])
        for rule in way
        for new in rewritten(tidied(expression), rule)
    ]
    assert found
    if result is not None:
        assert any(are_equal(new, result) for new in found), found


def test_rules_applied_everywhere():
    (way,) = (x for x in ways_of(IDENTITIES["Lemma 4"]) if x[0].left == tidied(W @ H @ phi))
    expression = tidied(phi.T @ H.T @ W.T @ D.inv @ W @ H @ phi)
    assert tidied(rewritten_everywhere(expression, way)) == psi.T @ H.T @ D.inv @ H @ psi


def test_variables_keep_to_their_spaces():
    """`S[x] y = -Q[y] x` takes vectors of bodies alone, and one vector for one variable."""
    equation = IDENTITIES["cross product with itself"]
    ((rule, *_), *_) = ways_of(equation)
    assert next(tidied(z) for z in rewritten(cross[V] @ V, rule)).factor == 0
    assert not list(rewritten(cross[V] @ x, rule))


def test_which_rules_are_tried():
    """Nothing begins at a letter that is left alone; what follows from others waits for a call."""
    tried = chosen(IDENTITIES.values(), EVERY)
    lefts = {way[0].left for way in tried}
    assert not lefts & {phi, psi, D, K, G, M, P, D.inv}
    names = {way[0].equation.name for way in tried}
    assert "Lemma 3" not in names
    assert "Lemma 2" in names
    asked = chosen(IDENTITIES.values(), EVERY, using=["Lemma 3"], without=["Lemma 2"])
    names = {way[0].equation.name for way in asked}
    assert "Lemma 3" in names
    assert "Lemma 2" not in names
    none = chosen(IDENTITIES.values(), [])
    assert not any(way[0].equation.conditions for way in none)
    assert is_shorthand(Mass)
    assert not is_shorthand(psi)


def test_an_equation_that_says_nothing_makes_no_rule():
    nothing = Equation("nothing", M.T, M, "")
    assert ways_of(nothing) == ()
