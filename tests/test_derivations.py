"""`pp.derive`: the derivations of the papers, found by itself; costs, conditions, refusals."""

import functools

import machines
import numpy as np
import pytest
from derivations import (
    A_C,
    ALTERNATIVE,
    CANCELLED,
    CASES,
    CLOSURE_FORCE,
    FREE,
    IMPLICIT,
    J_BAR,
    M_C,
    MASS,
    SECONDARY,
    WATER,
    two_arms,
    without_tildes,
)

import phipsi as pp
from benchmarks.derivation_cases import CASES as TIMED
from benchmarks.robots import Robot
from phipsi.algebra.rewriting.normal import are_equal
from phipsi.algebra.spaces import BODY, JOINT, SCALAR
from phipsi.algebra.walk import letters_of
from phipsi.compile import make_program
from phipsi.explain.deriving.trials import Trial
from phipsi.lowering.conditions import unmet
from phipsi.lowering.cost import cost_of
from phipsi.operators import (
    C,
    H,
    I,
    J,
    Jm,
    M,
    Mass,
    P,
    T,
    V,
    operator,
    phi,
    psi,
    tau_bar,
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


# -- for a machine -------------------------------------------------------------------------

LARGE = "chain of 50"
ROBOTS = {
    "UR5": lambda: Robot("ur5", 1).model,
    "Puma": functools.cache(pp.examples.puma560),
    LARGE: functools.cache(lambda: pp.chain(50)),
    "spacecraft": functools.cache(pp.examples.spacecraft),
}


VECTORS = ("Mass^-1 J* f", "phi* H* Mass^-1 T", "Mass^-1 (T - C - J* f)")  # compiled in a second
LINES = [(robot, name) for robot in ROBOTS for name in TIMED if robot != LARGE or name in VECTORS]


def flops_of(model, expression, **options):
    return pp.compile(model, expression, backend="llvm", **options).info().flops


@pytest.mark.parametrize(("robot", "name"), LINES)
def test_a_line_that_is_derived_for_a_machine_compiles_to_no_more_flops(robot, name):
    """Straight code, counted by `info()`."""
    robot = ROBOTS[robot]()
    typed = TIMED[name](robot)
    found = pp.derive(typed, model=robot, bound=30)
    assert flops_of(robot, found.result) <= flops_of(robot, typed)
    assert found.steps and not set(unmet(robot, found.conditions))


SHORT = {
    "chain": functools.cache(lambda: pp.chain(5)),
    "Puma": ROBOTS["Puma"],
    "spacecraft": ROBOTS["spacecraft"],
    "rotors": machines.MARKET["reflected_rotors"],
    "mimic joints": machines.MARKET["mimics"],
}
REPEATED = [
    2 * phi @ (M @ V) + phi @ M @ V,
    phi @ (M @ V + M @ V),
    phi @ (2 * M) @ (V + V),
    Mass @ (T + T),
    Mass @ T + 2 * Mass @ T,
    0.5 * Mass.inv @ (2 * T + 2 * T),
    (Mass + Mass).inv @ T,
    H @ phi @ (2 * M + M) @ phi.T @ H.T,
]


@pytest.mark.parametrize("typed", REPEATED, ids=str)
@pytest.mark.parametrize("robot", SHORT)
def test_multiples_and_repeated_terms_stay_where_gathering_them_costs_more(robot, typed):
    """x + x costs as much as 2 x, but what is multiplied may be longer than what is added."""
    robot = SHORT[robot]()
    found = pp.derive(typed, model=robot, bound=20)
    assert flops_of(robot, found.result) <= flops_of(robot, typed)
    assert bool(found.steps) is (found.result != typed)


def test_a_line_that_is_cheapest_as_it_is_typed_gives_way_to_an_identity_that_is_wanted():
    typed, chain = phi @ (M @ V + M @ V), SHORT["chain"]()
    assert pp.derive(typed, model=chain).verdict.startswith("nothing cheaper was found")
    wanted = pp.derive(typed, model=chain, using="definition of phi")
    assert not wanted.missing and "definition of phi" in {x.name for x in wanted.steps}


def test_a_derived_line_runs_the_program_of_the_typed_one():
    """The same loops, statement by statement: where times differ, the code does not."""
    robot = ROBOTS[LARGE]()
    typed = TIMED["Mass^-1 J* f"](robot)
    lines = typed, pp.derive(typed).result, pp.derive(typed, model=robot).result
    one, *others = (pp.compile(robot, x, backend="llvm").program.loops for x in lines)
    assert all(x == one for x in others)


def test_what_is_cheapest_differs_from_machine_to_machine():
    """FD3 on a chain, FD4 on a tree that floats."""
    typed = Mass.inv @ (T - C)
    chain, tree = pp.chain(10), pp.examples.spacecraft()
    found = {x: pp.derive(typed, model=x, bound=30).result for x in (chain, tree)}
    flops = {(x.name, y.name): flops_of(x, found[y], rewrite=False) for x in found for y in found}
    assert flops[chain.name, chain.name] < flops[chain.name, tree.name]
    assert flops[tree.name, tree.name] < flops[tree.name, chain.name]


def test_a_machine_grants_what_it_meets_and_nothing_else():
    """Rotors are assumed away where an expression hides none; not for a machine that has some."""
    assert pp.derive(MASS.inv @ T).conditions == (pp.Condition.NO_ROTORS,)
    found = pp.derive(MASS.inv @ T, model=pp.examples.puma560())
    assert not found.conditions and found.check(pp.examples.puma560()).ok
    bare = pp.derive(tau_bar @ P @ tau_bar.T, model=pp.chain(3))
    assert bare.conditions == (pp.Condition.NO_ROTORS,)
    with pytest.raises(pp.InputError, match="'Puma 560' does not meet 'no rotor inertia'"):
        pp.derive(MASS.inv @ T, model=pp.examples.puma560(), assume="no rotor inertia")
    with pytest.raises(pp.InputError, match="model: expected a Model, got str"):
        pp.derive(MASS.inv @ T, model="puma560")


# -- an operator and its inverse -----------------------------------------------------------


@pytest.mark.parametrize(("expression", "result"), CANCELLED.values(), ids=CANCELLED)
def test_an_operator_and_its_inverse_cancel(expression, result):
    """Whatever stands between the brackets. Witness: dense matrices, on random machines."""
    found = pp.derive(expression, to=result)
    assert not found.missing
    assert are_equal(expression, result)
    checked = found.check(machines=2)
    assert checked.ok, checked


@pytest.mark.parametrize(
    ("expression", "goal"),
    [
        (J_BAR @ J, I.at(T.target)),
        (J @ Mass.inv @ J.T @ (J @ Jm.inv @ J.T).inv, I.at(J.target)),
        (M_C @ (M_C + A_C.T @ A_C).inv, I.at(M_C.target)),
    ],
    ids=str,
)
def test_what_does_not_cancel_stays(expression, goal):
    """Planted: the other order, another inverse, a term that is missing."""
    assert not are_equal(expression, goal)
    assert pp.derive(expression, to=goal, bound=3).missing


def test_alternative_step_D_of_002_is_shown():
    """The forces that close a loop, by the secondary system's accelerations."""
    found = pp.derive(CLOSURE_FORCE, to=ALTERNATIVE)
    assert not found.missing
    assert "matrix inversion lemma" in {x.name for x in found.identities}
    checked = found.check(machines=2)
    assert checked.ok, checked


def test_the_secondary_system_needs_no_inverse_but_of_its_loops():
    """(Mass + J* A* X^-1 A J)^-1 by two sweeps and a small system, as Woodbury has it."""
    found = pp.derive(SECONDARY)
    assert found.after.inverses == 0 < found.before.inverses
    assert {"matrix inversion lemma", "Lemma 2", "Lemma 4"} <= {x.name for x in found.identities}
    assert found.check(machines=2).ok


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


def test_rotors_are_not_assumed_away_where_the_goal_has_some():
    """M = P - E_psi P E_psi* - K Jm K* on every machine, though M alone hides no rotors."""
    equation = pp.identity("Riccati equation with rotors")
    found = pp.derive(equation.left, to=equation.right)
    assert not found.missing and not found.conditions


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


def test_named_parts_stand_in_order(derived):
    """Each is made of those before it."""
    for name in CASES:
        _, parts = derived(name).named
        known: set = set()
        for letter, part in parts.items():
            used = {x for x in letters_of([part]) if x in parts}
            assert used <= known
            known.add(letter)


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


@pytest.mark.parametrize("goal", [I, "I"], ids=["letter", "text"])
def test_the_identity_as_a_goal_is_that_of_the_space_where_the_line_starts(goal):
    Jbar = Mass.inv @ J.T @ (J @ Mass.inv @ J.T).inv
    found = pp.derive(J @ Jbar, to=goal)
    assert found.result == I.at(J.target) and found.check().ok
