"""The compiler uses the identities: the same meaning, no more flops, the same errors."""

import functools
import json

import expressions
import machines
import numpy as np
import pytest
from expressions import MARKET
from machines import REFERENCES
from symbols import A, assert_close, free_names, x

import phipsi as pp
from phipsi.algebra.rewriting.opening import normal_form, open_up
from phipsi.compile import make_program, rewrite_expressions
from phipsi.explain.deriving.derive import _Opening
from phipsi.lowering.conditions import Facts, facts_of, is_regular
from phipsi.lowering.cost import cost_of
from phipsi.lowering.rewrite import BOUND, MOST_TOGETHER, guards_of
from phipsi.operators import (
    C,
    D,
    E_phi,
    G,
    H,
    I,
    J,
    K,
    M,
    Mass,
    P,
    T,
    V,
    a,
    beta_dot,
    f0,
    operator,
    phi,
    psi,
    tau_bar,
    vector,
)

whiten, colour = I - H @ psi @ K, I + H @ phi @ K

# Flops of every expression of the market as it was lowered before identities were used.
RECORDED = json.loads((REFERENCES / "flops.json").read_text())
MACHINES = {
    "chain of 10": functools.cache(lambda: pp.chain(10)),
    "tree of every kind": machines.MARKET["tree_of_every_kind"],
    "Puma": machines.MARKET["puma560"],
}
PRINTED = ("vectors of the papers", "scalars", "matrices of the papers")


def flops(expression, model):
    program = make_program([expression], not model.has_mimics)
    return cost_of(program, model, {(): expressions.points_on(model)}).flops


def value(model, expression, **how):
    """Of a compiled expression and of its dense meaning, at a random state."""
    rng = np.random.default_rng(3)
    q, v = machines.random_state(model, rng)
    values = expressions.values_for(model, rng)
    given = {"q": q, "v": v, "points": expressions.points_on(model)}
    given |= {name: values[name] for name in free_names(expression)}
    return pp.compile(model, expression, **how)(**given), pp.as_matrix(model, expression, **given)


# -- the market --------------------------------------------------------------------------------


def recorded(machine):
    """Expressions of the market by name, and how many flops they took on a machine."""
    place = RECORDED["machines"].index(machine)
    records = {name: row[place] for name, row in RECORDED["flops"].items()}
    return {name: n for name, n in records.items() if n is not None}


@pytest.mark.parametrize("machine", MACHINES)
def test_rewritten_market_costs_no_more_than_ever_and_means_the_same(machine):
    """What is not rewritten is compiled as it is typed: see below, and `test_lowering_market`."""
    model, families = MACHINES[machine](), "" if machine == "chain of 10" else PRINTED
    dearer, wrong, rewritten = [], [], 0
    for name, before in recorded(machine).items():
        if not name.startswith(families):
            continue
        (found,) = rewrite_expressions([MARKET[name]], model)
        if found == MARKET[name]:
            continue
        rewritten += 1
        if flops(found, model) > before:
            dearer.append(name)
        try:
            assert_close(*value(model, MARKET[name]), 1e-2)
        except AssertionError:
            wrong.append(name)
    assert dearer == []
    assert wrong == []
    assert rewritten > 10


def test_lines_as_they_are_typed_cost_no_more_than_ever():
    model = MACHINES["Puma"]()
    asked = {x: n for x, n in recorded("Puma").items() if x.startswith((*PRINTED, "vectors"))}
    costs = {name: (flops(MARKET[name], model), n) for name, n in asked.items()}
    assert {name: both for name, both in costs.items() if both[0] > both[1]} == {}


def test_the_record_is_of_the_market():
    assert RECORDED["flops"].keys() <= MARKET.keys()
    assert len(RECORDED["flops"]) > 500


def test_compile_and_derive_begin_at_one_normal_form():
    for expression in MARKET.values():
        assert normal_form(expression) == _Opening(expression, frozenset()).end
        assert normal_form(normal_form(expression)) == normal_form(expression)


@pytest.mark.parametrize("unroll", [True, False])
@pytest.mark.parametrize(
    "expression",
    [Mass.inv @ Mass @ T, whiten @ H @ phi @ M @ V, Mass.inv @ (T - C), J @ Mass.inv @ J.T @ f0],
)
def test_rewritten_lines_as_machine_code(expression, unroll):
    model = machines.MARKET["rbdl_tree_3d"]()
    for rewrite in (True, False):
        how = {"backend": "llvm", "unroll": unroll, "rewrite": rewrite}
        found, meant = value(model, expression, **how)
        assert_close(found, meant, 1e-2)


# -- what is gained ------------------------------------------------------------------------------


def test_inverse_times_the_operator_compiles_to_a_copy():
    function = pp.compile(pp.chain(10), Mass.inv @ Mass @ T)
    assert function.info().flops == 0
    assert function.program.sweeps == 1
    forces = np.arange(10.0)
    assert function(np.ones(10), None, forces) == pytest.approx(forces, abs=0)
    assert flops(Mass.inv @ Mass @ T, pp.chain(10)) > 3000  # as it is typed


def test_lemma_4_is_used():
    line = whiten @ H @ phi @ M @ V
    function = pp.compile(pp.chain(10), line, backend="llvm")
    assert function.info().flops <= 1120
    assert function.program.expressions == (H @ psi @ M @ V,)
    assert pp.compile(pp.chain(10), line, backend="llvm", rewrite=False).info().flops > 1120


def test_the_equation_of_motion_is_as_cheap_as_the_cheapest_algorithm_of_the_papers():
    model = pp.chain(10)
    (found,) = rewrite_expressions([Mass.inv @ (T - C)], model)
    assert flops(found, model) <= flops(expressions.FD4, model)


def test_line_as_it_is_typed():
    model = pp.chain(3)
    for line in (Mass.inv @ Mass @ T, whiten @ H @ phi @ M @ V, Mass.inv @ (T - C)):
        typed = pp.compile(model, line, rewrite=False)
        assert typed.program == make_program([line])
        assert typed is pp.compile(model, line, rewrite=False)
        assert typed is not pp.compile(model, line)


def test_arguments_stay_those_that_were_typed():
    line = 0 * phi @ x + H.T @ vector("y", "joint")
    function = pp.compile(pp.chain(3), line)
    assert function.inputs == ("q", "v", "x", "y")
    assert function.outputs == (str(line),)
    q, zeros = [0.0] * 3, np.zeros(18)
    assert function(q, None, zeros, [1.0, 2.0, 3.0])[1::6] == pytest.approx([1.0, 0.0, 3.0])
    with pytest.raises(pp.InputError, match="x"):
        function(q, y=[1.0, 2.0, 3.0])


def test_parts_that_several_lines_share_are_worth_more_than_each_alone():
    """P is there anyway: what would be cheaper alone is dearer beside it."""
    model = pp.chain(5)
    lines = [P - E_phi @ tau_bar @ P @ E_phi.T, Mass.inv @ T, Mass.inv @ Mass @ T]
    found = rewrite_expressions(lines, model)
    assert found[0] == M
    assert found[2] == T
    together = cost_of(make_program(found), model).flops
    assert together <= cost_of(make_program(lines), model).flops


def test_many_lines_at_once_are_compiled_as_they_are_typed():
    lines = [Mass.inv @ Mass @ T] * (MOST_TOGETHER + 1)
    assert rewrite_expressions(lines, pp.chain(2)) == tuple(lines)
    assert BOUND < 10  # short, since everybody waits for it


def test_rewrite_is_true_or_false():
    with pytest.raises(pp.InputError, match="rewrite: expected True or False, got 'no'"):
        pp.compile(pp.chain(2), Mass, rewrite="no")


# -- identities of the user's --------------------------------------------------------------------


@pytest.fixture
def swapped():
    """An equation that only this test knows: A is said to be three times the identity."""
    pp.add_identity("triple", A @ x, 3 * x)
    yield
    pp.forget_identity("triple")


def line_of(model):
    return pp.compile(model, phi @ A @ x)


def test_identities_of_the_user_take_part(swapped):
    model = pp.chain(3)
    function = line_of(model)
    assert function.program.expressions == (3 * (phi @ x),)
    assert function.inputs == ("q", "v", "A", "x")
    blocks, ones = [3.0 * np.eye(6)] * 3, np.ones(18)
    typed = pp.compile(model, phi @ A @ x, rewrite=False)
    assert typed.program.expressions == (phi @ A @ x,)
    both = [one([0.1] * 3, None, blocks, ones) for one in (function, typed)]
    assert both[0] == pytest.approx(both[1], rel=1e-12)


def test_identities_that_were_taken_back_take_part_no_more():
    model = pp.chain(3)
    before = line_of(model)
    pp.add_identity("triple", A @ x, 3 * x)
    try:
        assert line_of(model) is not before
    finally:
        pp.forget_identity("triple")
    assert line_of(model) is before
    assert before.program.expressions == (phi @ A @ x,)


def test_conditions_of_identities_are_asked_of_the_machine():
    pp.add_identity("on chains", A @ x, 3 * x, conditions=[pp.Condition.SERIAL])
    try:
        assert line_of(pp.chain(3)).program.expressions == (3 * (phi @ x),)
        tree = machines.MARKET["rbdl_tree_3d"]()
        assert line_of(tree).program.expressions == (phi @ A @ x,)
    finally:
        pp.forget_identity("on chains")


def test_letters_of_one_machine_are_priced_as_they_read():
    def stiffness(body, joint):
        assert body.name.startswith("link")  # of no other machine
        return np.eye(6)

    Kb = pp.operators.letter("Kb", "body", "body", stiffness)
    line = whiten @ H @ phi @ Kb @ V
    (found,) = rewrite_expressions([line], pp.chain(3))
    assert found == H @ psi @ Kb @ V


# -- what is kept --------------------------------------------------------------------------------


def test_what_is_kept_on_disk_knows_the_identities(tmp_path, monkeypatch):
    monkeypatch.setenv("PHIPSI_CACHE", str(tmp_path))
    from phipsi.compile import _make_program, _rewritten

    def fresh():
        _rewritten.cache_clear()
        _make_program.cache_clear()
        return line_of(pp.chain(3)).program.expressions

    assert fresh() == (phi @ A @ x,)
    pp.add_identity("triple", A @ x, 3 * x)
    try:
        assert fresh() == (3 * (phi @ x),)
        assert fresh() == (3 * (phi @ x),)
    finally:
        pp.forget_identity("triple")
    assert fresh() == (phi @ A @ x,)


# -- what is singular raises on every path -------------------------------------------------------


def without_mass():
    """A chain whose last body weighs nothing: nothing resists its joint."""
    builder = pp.ModelBuilder("a massless hand", strict=False)
    builder.add_body("arm", joint=pp.joints.Revolute((0, 1, 0)), mass=1.0, inertia=np.eye(3))
    builder.add_body("hand", "arm", pp.joints.Revolute((0, 0, 1)), position=(1, 0, 0))
    return builder.build()


LOSES_AN_INVERSE = {
    "Mass^-1 Mass": Mass.inv @ Mass @ T,
    "D^-1 D": D.inv @ D @ T,
    "innovations factorization": colour @ D @ colour.T @ T,
    "Riccati": (P - E_phi @ tau_bar @ P @ E_phi.T) @ x,
}


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize("name", LOSES_AN_INVERSE)
def test_what_is_singular_raises_on_every_path(name, backend):
    model, line = without_mass(), LOSES_AN_INVERSE[name]
    given = {"q": [0.0, 0.0], **{"T": [1.0, 1.0], "x": np.ones(12)}}
    given = {key: given[key] for key in ("q", *free_names(line))}
    with pytest.raises(pp.SolveError):
        pp.as_matrix(model, line, **given)
    for rewrite in (True, False):
        with pytest.raises(pp.SolveError):
            pp.compile(model, line, backend=backend, rewrite=rewrite)(**given)


def test_other_operators_that_may_be_singular_keep_their_inverse():
    F = operator("F", "body", "body")
    for line in (F.inv @ F @ x, M.inv @ M @ x):
        (found,) = rewrite_expressions([line], pp.chain(2))
        assert found == line
        assert guards_of(found, Facts()) != guards_of(x, Facts())
    singular = [np.zeros((6, 6))] * 2
    with pytest.raises(pp.SolveError):
        pp.compile(pp.chain(2), F.inv @ F @ x)([0.0, 0.0], None, singular, np.ones(12))


def test_nothing_is_divided_by_that_the_typed_line_does_not_divide_by():
    """Mass has a value where D^-1 has none: no rewriting may bring it in."""
    model = without_mass()
    for line in (Mass @ beta_dot, Mass @ beta_dot + H @ phi @ M @ phi.T @ a):
        (found,) = rewrite_expressions([line], model)
        assert guards_of(found, facts_of(model)) == guards_of(line, facts_of(model))


def test_regular_machines():
    assert is_regular(pp.chain(4))
    assert is_regular(machines.MARKET["free_base_tree"]())
    assert not is_regular(without_mass())
    assert not is_regular(machines.MARKET["massless_intermediates"]())  # singular where they align
    assert not is_regular(machines.MARKET["one_body"]())  # at gimbal lock
    assert facts_of(pp.chain(2), ["gravity"]).regular
    assert not facts_of(pp.chain(2), ["link1.mass"]).regular


def test_facts_of_machines():
    met = facts_of(pp.chain(2)).conditions
    assert pp.Condition.NO_ROTORS in met
    assert pp.Condition.WORLD_AXES not in met
    assert (
        pp.Condition.NO_ROTORS
        not in facts_of(pp.chain(2), ["link1_joint.rotor_inertia"]).conditions
    )
    assert pp.Condition.NO_ROTORS not in facts_of(pp.examples.puma560()).conditions
    assert pp.Condition.TURNING not in facts_of(machines.MARKET["tree_of_every_kind"]()).conditions
    assert not facts_of(machines.MARKET["mimics"]()).plain


def test_guards_are_what_must_have_an_inverse():
    some, regular = Facts(), Facts(regular=True)
    assert guards_of(Mass.inv, some) == guards_of(whiten.T @ D.inv @ whiten, some)
    assert guards_of(Mass.inv, regular) == guards_of(Mass, regular) == guards_of(Mass, some)
    assert guards_of(P, some) != guards_of(G, some)
    assert guards_of((A + I).inv, some) == guards_of((I + A).inv.T, some)


def test_steps_to_the_normal_form_are_told():
    end, steps = open_up(J @ J.T)
    assert end == normal_form(J @ J.T)
    assert [one.letter.name for one in steps] == ["J"]


def test_impossible_inertias_keep_their_pivots():
    """A body whose inertia is negative about some axis may take away what its parent has."""
    builder = pp.ModelBuilder("negative", strict=False)
    turn = pp.joints.Revolute
    builder.add_body("a", joint=turn((1, 0, 0)), mass=1.0, inertia=(0.5, 0.5, 0.5))
    builder.add_body("c", "a", turn((0, 0, 1)), mass=0.0, inertia=(-0.5, 0.2, 0.3))
    model = builder.build()
    for rewrite in (True, False):
        with pytest.raises(pp.SolveError):
            pp.compile(model, Mass.inv @ Mass @ T, rewrite=rewrite)(np.zeros(2), None, np.ones(2))
