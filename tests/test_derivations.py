"""`pp.derive`: the derivations of the papers, found by itself; costs, conditions, refusals."""

import numpy as np
import pytest
from derivations import CASES, FREE, IMPLICIT, MASS, WATER, A, W, two_arms, without_tildes
from hypothesis import given, settings
from hypothesis import strategies as st
from random_expressions import evaluable

import phipsi as pp
from phipsi.algebra.identities.pick_offs import takes_a_joint
from phipsi.algebra.node import Scaled
from phipsi.algebra.rewriting.normal import are_equal
from phipsi.algebra.spaces import BODY, JOINT, SCALAR
from phipsi.algebra.walk import letters_of
from phipsi.compile import make_program
from phipsi.explain.deriving.price import CARRIED, MEMORYLESS, price
from phipsi.explain.deriving.trials import Trial, unmet
from phipsi.lowering.cost import cost_of
from phipsi.operators import (
    HH,
    B,
    C,
    D,
    E_phi,
    G,
    H,
    HH_delta,
    HH_s,
    I,
    J,
    Jm,
    K,
    M,
    Mass,
    P,
    R,
    S,
    T,
    V,
    b,
    beta_dot,
    cross,
    f0,
    operator,
    phi,
    psi,
    psi_tilde,
    scalar,
    tau,
    tau_bar,
    vector,
)

ENDS = [(s, t) for s in (BODY, JOINT, SCALAR) for t in (BODY, JOINT, SCALAR)]
SOME = CASES["operational compliance"].expression


@pytest.fixture(scope="module")
def derived():
    """Every derivation once."""
    made = {}

    def get(name):
        if name not in made:
            case = CASES[name]
            made[name] = pp.derive(case.expression, **case.options)
        return made[name]

    return get


@pytest.mark.parametrize("name", CASES)
def test_derivation_is_found(name, derived):
    """The form that the papers print, by the identities that they name.

    Of FD4 on the way: `psi~ P a` costs less in another form, once it is there.
    """
    case, found = CASES[name], derived(name)
    forms = [step.after for step in found.steps] if name == "FD4" else [found.result]
    form = without_tildes(case.form)
    assert any(are_equal(without_tildes(x), form) for x in forms), found
    assert {*case.by} <= {x.name for x in found.identities}
    assert not found.missing


@pytest.mark.parametrize("name", CASES)
def test_every_step_holds_on_random_machines(name, derived):
    """Dense matrices decide, on machines that meet the conditions and no others."""
    checked = derived(name).check(machines=2)
    assert checked.ok, checked
    assert len(checked.residuals) == 2 * (len(derived(name).steps) + 1)


@pytest.mark.parametrize("name", CASES)
def test_steps_follow_each_other(name, derived):
    """Each begins where the last one ended; identities have a source."""
    found = derived(name)
    ends = [found.expression, *(step.after for step in found.steps)]
    for step, before in zip(found.steps, ends, strict=False):
        assert are_equal(step.before, before)
        assert step.identity is None or step.source.startswith("[")
    assert ends[-1] == found.result


@pytest.mark.parametrize("name", CASES)
def test_results_are_cheaper(name, derived):
    """No inverse is left but of blocks and small spaces; no more sweeps than needed."""
    found = derived(name)
    assert found.after < found.before or found.steps[-1].name == CASES[name].options.get("using")
    assert found.after.inverses == 0 < found.before.inverses


@pytest.mark.parametrize("name", ["forward dynamics", "FD3", "FD4"])
def test_three_sweeps_of_forward_dynamics(name, derived):
    """Kinematics outward, filter inward, smoother outward: as it reads, and compiled."""
    found = derived(name)
    assert found.after.sweeps == 3
    assert make_program((found.result,)).sweeps == 3


def test_the_cheapest_forward_dynamics_beats_both_of_the_papers(derived):
    """Fewer flops, compiled, than FD3 and FD4, and than the equation as it was typed."""
    robot = pp.examples.puma560()
    points = {(): [pp.point(robot.bodies[-1].name)]}
    flops = {
        name: cost_of(make_program((expression,)), robot, points).flops
        for name, expression in {
            "typed": FREE,
            **{x: derived(x).result for x in ("forward dynamics", "FD3", "FD4")},
        }.items()
    }
    assert flops["forward dynamics"] == min(flops.values()) < flops["typed"]


@pytest.mark.parametrize("name", CASES)
def test_results_compile(name, derived):
    """The compiled result equals the dense meaning of the expression, on two arms."""
    found = derived(name)
    trial = Trial(two_arms(), (found.expression, found.result), 3, bare=1)
    value, expected = _compiled(trial, found.result), trial.value(found.expression)
    np.testing.assert_allclose(value, expected, atol=1e-9 * np.abs(expected).max())


def _compiled(trial, expression):
    function = pp.compile(trial.model, expression)
    given = {name: trial.values[name] for name in function.inputs if name in trial.values}
    if "points" in function.inputs:
        given["points"] = trial.points
    return function(*trial.state, **given)


# -- other inertias ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        WATER.inv @ T,
        J @ WATER.inv @ J.T,
        phi.T @ H.T @ WATER.inv @ T,
        IMPLICIT.inv @ (T - C),
        MASS.inv @ Jm @ T,
        (2 * MASS + 3 * Jm).inv @ T,
    ],
    ids=str,
)
def test_other_inertias_have_lemmas_of_their_own(expression):
    """Added mass, damping in an implicit step, a factor: no inverse is left, on every machine.

    Witness: dense matrices, which solve with the operator as it was typed.
    """
    found = pp.derive(expression)
    assert found.after.inverses == 0 < found.before.inverses
    assert not found.conditions
    assert found.check().ok, found.check()
    trial = Trial(pp.examples.puma560(), (expression, found.result), 4)
    value, expected = _compiled(trial, found.result), trial.value(expression)
    np.testing.assert_allclose(value, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(
    "operand",
    [
        H @ phi @ operator("F", "body", "body") @ phi.T @ H.T + Jm,
        H @ phi @ M @ psi.T @ H.T + Jm,
        Mass + Mass @ Mass,
    ],
    ids=str,
)
def test_what_is_no_mass_operator_stays(operand):
    """Without symmetry, or of another form: the inverse is still there, and nothing is claimed."""
    found = pp.derive(operand.inv @ T)
    assert found.after.full_inverses == 1


# -- conditions --------------------------------------------------------------------------


def test_no_rotors_are_assumed_where_none_can_hide(derived):
    """`H phi M phi* H*` alone is the mass matrix of a machine without rotors."""
    found = derived("mass matrix inverse")
    assert found.conditions == (pp.Condition.NO_ROTORS,)
    assert not derived("mass matrix inverse with rotors").conditions
    with pytest.raises(pp.InputError, match=r"no rotor inertia; 'Puma 560' is not such a machine"):
        found.check(pp.examples.puma560())
    assert derived("mass matrix inverse with rotors").check(pp.examples.puma560()).ok


def test_conditions_are_granted_only_when_asked():
    """tau_bar P tau_bar* = tau_bar P needs a machine without rotors; P may hide some."""
    expression = tau_bar @ P @ tau_bar.T
    assert not pp.derive(expression).steps
    found = pp.derive(expression, assume="no rotor inertia")
    assert found.result == tau_bar @ P
    assert found.conditions == (pp.Condition.NO_ROTORS,)
    assert pp.derive(expression, assume=[pp.Condition.NO_ROTORS]).result == found.result


@pytest.mark.parametrize("seed", range(3))
def test_random_machines_meet_conditions_and_break_the_others(seed):
    """So that a step that needs a condition which it does not name fails its check."""
    from phipsi.explain.deriving.trials import random_machine

    every = [x for x in pp.Condition if not str(x).endswith("axes")]
    assert set(unmet(random_machine([], (), seed), every)) == set(every)
    assert not unmet(random_machine([], every, seed), every)


def test_a_wrong_identity_fails_its_check():
    """Planted: psi = phi. The step that uses it is named, those before it hold."""
    pp.add_identity("planted", H @ psi, H @ phi)
    try:
        found = pp.derive(SOME, using="planted")
        checked = found.check()
        assert not checked.ok
        assert {x.name for x in checked if not x.ok} == {
            "planted",
            "the result, beside the expression",
        }
        assert "FAILS" in str(checked)
    finally:
        pp.forget_identity("planted")


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
    assert found.result == Scaled(0, M @ x)
    assert not pp.derive(S[V] @ M @ V + cross[V].T @ M @ V).conditions


def test_named_parts_stand_in_order(derived):
    """Each is made of those before it."""
    for name in CASES:
        _, parts = derived(name).named
        known: set = set()
        for letter, part in parts.items():
            used = {x for x in letters_of([part]) if x in parts}
            assert used <= known
            known.add(letter)


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


# -- what a check sees -------------------------------------------------------------------


def test_a_check_is_not_blinded_by_large_terms():
    """Planted: H psi = H phi, beside a term that is larger by twelve digits."""
    pp.add_identity("planted", H @ psi, H @ phi)
    try:
        x = vector("x", "body")
        found = pp.derive(1e12 * (Jm @ T) + H @ psi @ x, using="planted")
        assert not found.check().ok
    finally:
        pp.forget_identity("planted")


def test_a_check_sees_small_mistakes_in_long_products():
    """Planted: psi (1 + 1e-6) for psi, in a product of a dozen factors."""
    off = 1 + 1e-6
    pp.add_identity("planted", H @ psi @ M, off * (H @ psi @ M))
    try:
        x = vector("x", "body")
        long = phi @ M @ phi.T @ R @ phi @ M @ phi.T @ H.T @ H @ psi @ M @ phi.T @ x
        found = pp.derive(long, using="planted", bound=10)
        assert not found.missing
        failed = [y.value for y in found.check() if not y.ok]
        assert failed and all(1e-8 < y < 1e-4 for y in failed)
    finally:
        pp.forget_identity("planted")


def test_a_check_knows_that_nothing_is_left():
    """V* b = 0: the gyroscopic force has no power; roundoff is no mistake."""
    assert pp.derive(V.T @ (scalar("k") * b)).check().ok


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


def test_common_factors_are_taken_out():
    """Inverse dynamics: one sweep out, one in, though Mass and C were typed apart."""
    found = pp.derive(Mass @ beta_dot + C)
    assert found.result.terms[0] == Jm @ beta_dot
    assert found.after.flops < found.before.flops


# -- what a derivation shows -------------------------------------------------------------


def test_a_derivation_reads_as_in_the_papers(derived):
    lines = str(derived("operational compliance")).splitlines()
    assert lines[0] == "  J @ Mass.inv @ J.T"
    assert lines[-3] == "= B.T @ psi.T @ H.T @ D.inv @ H @ psi @ B"
    assert lines[-2].startswith("      Lemma 4  [002 Lemma 4 (3.9); 003 Lemma 4 (16)")


def test_latex_of_a_derivation(derived):
    text = derived("operational compliance").latex()
    assert text.startswith(r"\begin{align*}")
    assert text.count(r"\\") == len(derived("operational compliance").steps)
    assert r"B^{*} \psi^{*} H^{*} D^{-1} H \psi B" in text.replace("^*", "^{*}")
    assert derived("operational compliance")._repr_latex_().startswith("$$")


def test_checks_can_be_read(derived):
    checked = derived("operational compliance").check(pp.examples.puma560())
    assert checked.ok
    assert checked.worst.value == max(x.value for x in checked)
    assert str(checked).splitlines()[0] == "largest residuals on 1 machine:"
    assert "Lemma 4" in str(checked)
    assert str(pp.derive(V).check()) == "no steps to check"


# -- prices ------------------------------------------------------------------------------


def test_prices_are_near_to_what_the_compiler_counts():
    """Of joints that turn about z: what each letter adds to a program, per body, within 15%."""
    robot = _general_chain(20)
    known = (b, D.inv @ H @ b)

    def flops(*expressions):
        return cost_of(make_program(expressions), robot).flops / len(robot.bodies)

    for letter in (E_phi, phi, psi, tau_bar):
        table = {**CARRIED, **MEMORYLESS}
        added = flops(*known, H @ letter @ b) - flops(*known)
        assert abs(added - table[letter.name]) < 0.15 * added, letter
    for letter in (K, G):
        added = flops(*known, H @ letter @ H @ b) - flops(*known)
        assert abs(added - {**CARRIED, **MEMORYLESS}[letter.name]) < 0.15 * added, letter
    articulated = flops(*known) - flops(b)
    assert abs(articulated - price(D.inv).flops) < 0.15 * articulated
    assert price(tau).flops >= price(G).flops


def _general_chain(n):
    rng = np.random.default_rng(0)
    builder = pp.ModelBuilder("chain")
    for k in range(n):
        Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        builder.add_body(
            f"body{k}",
            f"body{k - 1}" if k else "world",
            position=rng.normal(size=3),
            rotation=Q * np.linalg.det(Q),
            mass=1.0,
            com=0.2 * rng.normal(size=3),
            inertia=[[0.3, 0.01, 0.02], [0.01, 0.25, 0.03], [0.02, 0.03, 0.2]],
            rotor_inertia=0.1,
        )
    return builder.build()


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (Mass.inv, "1 full inverse, 2 sweeps"),
        ((I + H @ phi @ K).inv, "1 triangular inverse, 1 sweep"),
        (W.T @ D.inv @ W, "2 sweeps"),
        (M, "42 flops per body"),
    ],
)
def test_prices_say_what_they_count(expression, text):
    assert str(price(expression)).startswith(text)


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


def test_bad_checks_are_refused(derived):
    found = derived("operational compliance")
    with pytest.raises(pp.InputError, match="check: expected a Model, got str"):
        found.check("puma560")
    with pytest.raises(pp.InputError, match="machines: expected a whole number from 1 on, got 0"):
        found.check(machines=0)
    for seed in ("a", -5):
        with pytest.raises(pp.InputError, match="seed: expected a whole number from 0 on"):
            found.check(seed=seed)
    named = pp.derive(J(pp.point("gripper")) @ Mass.inv @ J(pp.point("gripper")).T)
    assert named.check().ok  # random machines have what is named
    with pytest.raises(pp.InputError, match="gripper"):
        named.check(pp.examples.puma560())


def test_a_machine_on_which_nothing_can_be_evaluated():
    """A (5 x 12) with two points: no inverse where all points are on one joint alone."""
    inverse = (A @ J @ Mass.inv @ J.T @ A.T).inv
    found = pp.derive(inverse)
    with pytest.raises(pp.SolveError):
        found.check(pp.examples.planar_arm(1))
