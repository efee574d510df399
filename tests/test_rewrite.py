"""The compiler uses the identities: the same meaning, no more flops, the same errors."""

import functools
import importlib
import json
from functools import reduce
from operator import matmul

import expressions
import machines
import numpy as np
import pytest
from expressions import MARKET
from machines import REFERENCES
from symbols import A, assert_close, free_names, x

import phipsi as pp
from phipsi import caching
from phipsi.algebra.rewriting.normal import are_equal
from phipsi.algebra.rewriting.opening import normal_form, open_up
from phipsi.algebra.spaces import POINTS
from phipsi.algebra.walk import walk
from phipsi.compile import make_program, rewrite_expressions
from phipsi.lowering import conditions
from phipsi.lowering import rewrite as rewriting
from phipsi.lowering.conditions import Facts, facts_of, is_regular
from phipsi.lowering.cost import cost_of, count_folded
from phipsi.lowering.rewrite import BOUND, MOST_BODIES, MOST_MADE, find_candidates, guards_of
from phipsi.lowering.settle import settle
from phipsi.operators import (
    C,
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
    P,
    T,
    V,
    a,
    beta_dot,
    f0,
    gravity,
    letter,
    operator,
    phi,
    psi,
    space,
    tau_bar,
    vector,
)

deriving = importlib.import_module("phipsi.explain.deriving.derive")
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
    """Of the loops."""
    program = make_program([expression], not model.has_mimics)
    return cost_of(program, model, {(): expressions.points_on(model)}).flops


def straight_flops(expression, model):
    """Of machine code, as `Function.info` tells them."""
    program = make_program([expression], not model.has_mimics)
    return count_folded(program, model, {(): expressions.points_on(model)})


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
    """In loops, as where code is not straight; `test_lowering_market` has what is not rewritten."""
    model, families = MACHINES[machine](), "" if machine == "chain of 10" else PRINTED
    dearer, wrong, rewritten = [], [], 0
    for name, before in recorded(machine).items():
        if not name.startswith(families):
            continue
        (found,) = rewrite_expressions([MARKET[name]], model, limit=None)
        if found == MARKET[name]:
            continue
        rewritten += 1
        if flops(found, model) > before:
            dearer.append(name)
        try:
            assert_close(*value(model, MARKET[name], backend="numpy"), 1e-2)
        except AssertionError:
            wrong.append(name)
    assert dearer == []
    assert wrong == []
    assert rewritten > 10


IN_TURN = ("one_body", "planar_arm", "serial_revolute", "rbdl_tree_3d", "free_base_tree")
EVERYWHERE = (*PRINTED[:2], "vectors: zero times", "matrices: Mass applied", "matrices: psi M psi*")


@functools.cache
def machine_named(name):
    return pp.examples.planar_arm(2) if name == "planar_arm" else machines.MARKET[name]()


def is_tried(line, model):
    """Whether flops may differ from those that the choice counted: points are others here."""
    return len(model.bodies) <= 5 and any(POINTS in (x.source, x.target) for x in walk(line))


@pytest.mark.parametrize("place", range(len(IN_TURN)), ids=IN_TURN)
def test_machine_code_of_the_market_takes_no_more_flops_than_as_it_is_typed(place, request):
    """Each machine has another part of the market; all have what the papers print.

    Small machines have all lines with points: what has none is counted by the choice as it is
    here, and one machine is enough for it. `--whole-market` tries all lines on all machines, in
    two minutes.
    """
    model, dearer, rewritten = machine_named(IN_TURN[place]), {}, 0
    whole = request.config.getoption("--whole-market")
    for i, (name, line) in enumerate(MARKET.items()):
        is_everywhere = whole or name.startswith(EVERYWHERE) or is_tried(line, model)
        if i % len(IN_TURN) != place and not is_everywhere:
            continue
        (found,) = rewrite_expressions([line], model)
        if found == line:
            continue
        rewritten += 1
        try:
            typed = straight_flops(line, model)
        except (pp.PhipsiError, ZeroDivisionError):  # it has no program, or no value there
            continue
        if straight_flops(found, model) > typed:
            dearer[name] = typed, straight_flops(found, model)
    assert dearer == {}
    assert rewritten > 3


def program_or_error(model, line, **how):
    try:
        return pp.compile(model, line, **how).program
    except pp.PhipsiError as error:
        return str(error)


@pytest.mark.parametrize(("unroll", "every"), [(None, 1), (False, 5)])
def test_both_backends_run_the_same_line(unroll, every):
    """The interpreter is the reference of machine code: it computes what that computes."""
    model, rewritten = machine_named("planar_arm"), 0
    for name, line in list(MARKET.items())[::every]:
        how = {"backend": "numpy", "unroll": unroll}
        found = program_or_error(model, line, **how)
        assert found == program_or_error(model, line, **how | {"backend": "llvm"}), name
        rewritten += found != program_or_error(model, line, **how, rewrite=False)
    assert rewritten > 20 / every


def test_loops_are_chosen_where_the_interpreter_is_asked_for_loops():
    model, line = machine_named("planar_arm"), MARKET["vectors of the papers: FD"]
    both = [pp.compile(model, line, backend="numpy", unroll=x).program for x in (None, False)]
    assert both[0] != both[1]
    for program, limit in zip(both, (rewriting.LARGEST, None), strict=True):
        assert program.expressions == rewrite_expressions([line], model, limit=limit)


def test_machine_code_takes_the_flops_that_were_counted():
    for model in (pp.chain(4), machines.MARKET["rbdl_tree_3d"](), machines.MARKET["mimics"]()):
        points = expressions.points_on(model)
        for line in (Mass.inv @ (T - C), Mass, J @ Mass.inv @ J.T @ f0, J.T, V.T, J):
            for typed in (True, False):
                function = pp.compile(model, line, backend="llvm", rewrite=not typed)
                at = {} if "points" not in function.inputs else {"points": points}
                (found,) = function.program.expressions
                assert function.info(**at).flops == straight_flops(found, model)


def test_loops_are_counted_on_small_machines_and_alike_for_all(monkeypatch):
    """Machines share their loops; what names a body is counted near the base, or not at all."""
    counted = []

    def watched(program, model, *arguments):
        counted.append(len(model.bodies))
        return cost_of(program, model, *arguments)

    monkeypatch.setattr(rewriting, "cost_of", watched)
    model = pp.chain(2 * MOST_BODIES)
    found = rewrite_expressions([Mass.inv @ (T - C)], model, limit=None)
    assert found == rewrite_expressions([Mass.inv @ (T - C)], pp.chain(3), limit=None)
    rewrite_expressions([J @ Mass.inv @ (T - C)], model, limit=None)
    assert counted and max(counted) <= 10
    counted.clear()
    near = pp.point(model.bodies[1].name)
    rewrite_expressions([J(near) @ Mass.inv @ (T - C)], model, limit=None)
    assert set(counted) == {MOST_BODIES}
    tip = pp.point(model.bodies[-1].name)  # which the first bodies do not have
    line = J(tip) @ Mass.inv @ (T - C)
    assert rewrite_expressions([line], model, limit=None) == (line,)
    assert set(counted) == {MOST_BODIES}


def test_lines_as_they_are_typed_cost_no_more_than_ever():
    model = MACHINES["Puma"]()
    asked = {x: n for x, n in recorded("Puma").items() if x.startswith((*PRINTED, "vectors"))}
    costs = {name: (flops(MARKET[name], model), n) for name, n in asked.items()}
    assert {name: both for name, both in costs.items() if both[0] > both[1]} == {}


def test_the_record_is_of_the_market():
    assert RECORDED["flops"].keys() <= MARKET.keys()
    assert len(RECORDED["flops"]) > 500


@pytest.fixture
def begun(monkeypatch):
    """What searches begin with, of `compile` and of `derive`, by the module that asks."""

    def watch(module, starts):
        class Watched(module.Search):
            def __post_init__(self):
                super().__post_init__()
                starts.append(self.start)

        monkeypatch.setattr(module, "Search", Watched)
        return starts

    return {module: watch(module, []) for module in (rewriting, deriving)}


def test_compile_and_derive_begin_their_searches_at_one_normal_form(begun):
    facts, searched = facts_of(pp.chain(3)), 0
    for name, line in MARKET.items():
        find_candidates(line, facts, bound=1)
        pp.derive(line, bound=1)
        if begun[rewriting]:  # else it is too long
            searched += 1
            assert begun[rewriting] == begun[deriving][:1], name
            assert begun[rewriting] == [normal_form(line)], name
        for starts in begun.values():
            starts.clear()
    assert searched > 500


def test_normal_form_is_a_fixed_point_and_leads_to_the_same_lowering():
    """What `settle` makes of a line, and of its normal form, differs by the axioms alone."""
    for name, line in MARKET.items():
        normal = normal_form(line)
        assert normal_form(normal) == normal, name
        assert are_equal(settle(line), settle(normal)), name


@pytest.mark.parametrize("name", ["FD", "body accelerations", "free accelerations of points"])
def test_compile_finds_what_derive_finds(name):
    """Its search is short; but for what divides where the line does not, long enough."""
    model, line = pp.chain(10), MARKET[f"vectors of the papers: {name}"]
    facts = facts_of(model)
    result = pp.derive(line, assume=list(facts.conditions)).result
    assert guards_of(result, facts) == guards_of(line, facts)
    (found,) = rewrite_expressions([line], model, limit=None)
    assert flops(found, model) <= flops(result, model)


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
    for model in (pp.chain(10), MACHINES["Puma"]()):
        (found,) = rewrite_expressions([Mass.inv @ (T - C)], model)
        printed = [getattr(expressions, name) for name in ("FD1", "FD3", "FD4")]
        assert straight_flops(found, model) <= min(straight_flops(x, model) for x in printed)
        (found,) = rewrite_expressions([Mass.inv @ (T - C)], model, limit=None)
        assert flops(found, model) <= min(flops(x, model) for x in printed)


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


def test_lines_that_are_cheaper_together_are_both_rewritten():
    """Each alone would not share its sweeps with the other as it was typed."""
    model = pp.chain(10)
    lines = [phi.T @ (H.T @ Mass.inv @ (T - C) + a + E @ gravity), D.inv @ whiten @ (T - C)]
    found = rewrite_expressions(lines, model, limit=None)
    each = [rewrite_expressions([x], model, limit=None)[0] for x in lines]
    costs = [cost_of(make_program(x), model).flops for x in (found, each, lines)]
    assert costs[0] <= min(costs[1:])


@pytest.mark.parametrize("number", [1, 7, 8, 9, 40])
def test_any_number_of_lines_is_rewritten(number):
    model = pp.chain(3)
    equal = [Mass.inv @ Mass @ T] + [T] * number
    assert rewrite_expressions(equal, model) == (T,) * (number + 1)
    lines = [Mass.inv @ Mass @ vector(f"u{i}", "joint") for i in range(number)]
    assert rewrite_expressions(lines, model) == tuple(vector(x.name, "joint") for x in names(lines))


def names(lines):
    return [x for one in lines for x in walk(one) if getattr(x, "free", False)]


def test_rewrite_is_true_or_false():
    with pytest.raises(pp.InputError, match="rewrite: expected True or False, got 'no'"):
        pp.compile(pp.chain(2), Mass, rewrite="no")


# -- bounds --------------------------------------------------------------------------------------


def product_of_sums(n):
    return reduce(matmul, [whiten + (i + 1.0) * colour for i in range(n)])


def nested_sums(n):
    return reduce(lambda x, _: whiten @ (colour @ x + T), range(n), T)


@pytest.mark.parametrize("make", [lambda n: product_of_sums(n) @ T, nested_sums])
def test_products_of_many_sums_take_as_many_steps_as_they_have_factors(make):
    steps = [len([*make_program([make(n)]).statements()]) for n in (10, 20, 40)]
    assert steps[2] - steps[1] == 2 * (steps[1] - steps[0])
    found, meant = value(pp.chain(2), make(12), backend="numpy")
    assert_close(found, meant, 1e-2)


def test_matrices_of_too_many_terms_are_refused_before_they_are_made():
    with pytest.raises(pp.LoweringError, match="more than 600 terms"):
        make_program([product_of_sums(30)])


@pytest.mark.parametrize(
    "line",
    [
        product_of_sums(7) @ T,
        nested_sums(10),
        reduce(lambda x, _: Mass.inv @ (x - C), range(8), T),
        reduce(lambda x, i: Mass.inv @ (x + i * T) if i % 2 else Mass @ x, range(12), T),
    ],
)
def test_searches_end_by_what_they_made(line, monkeypatch):
    searches = []

    class Watched(rewriting.Search):
        def __post_init__(self):
            super().__post_init__()
            searches.append(self)

    monkeypatch.setattr(rewriting, "Search", Watched)
    find_candidates(line, facts_of(pp.chain(4)))
    assert all(x.looked_at <= BOUND for x in searches)
    assert all(x.words < 3 * MOST_MADE for x in searches)  # the last step may go beyond


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

    def fresh():
        caching._candidates.cache_clear()
        caching._programs.clear()
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


def test_universal_joints_are_regular_by_less_than_they_are_in_any_state():
    builder = pp.ModelBuilder("cross")
    joint = pp.joints.Universal((1.0, 0.2, 0.0), (0.3, 1.0, -0.4))
    solid = {"mass": 2.0, "com": (0.3, -0.1, 0.2), "inertia": (0.5, 0.3, 0.4)}
    builder.add_body("cross", joint=joint, rotor_inertia=0.01, **solid)
    cross = builder.build()
    bound = conditions._least_inertia(cross.bodies[0], cross.joints[0])
    states = np.linspace(-np.pi, np.pi, 60)
    D = pp.mass_matrix(cross, np.stack([0.0 * states, states], axis=-1))
    least = np.linalg.eigvalsh(D)[:, 0].min()
    assert 0.3 * least < bound <= least


def test_regular_machines():
    assert is_regular(pp.chain(4))
    assert is_regular(machines.MARKET["free_base_tree"]())
    assert not is_regular(without_mass())
    assert not is_regular(machines.MARKET["massless_intermediates"]())  # singular where they align
    assert not is_regular(machines.MARKET["one_body"]())  # at gimbal lock
    assert is_regular(pp.examples.branching_tree())  # with a universal joint among others
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


@pytest.mark.parametrize("name", ["D", "P", "psi", "tau_bar"])
def test_a_letter_of_your_own_is_no_pivot_whatever_it_is_called(name):
    own = letter(name, "joint", "joint", lambda body, joint: 2.0, symmetric=True)
    assert not any("pivots" in str(x) for x in guards_of(own @ own.inv @ T, Facts()))
    assert any("pivots" in str(x) for x in guards_of(D.inv @ T, Facts()))


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


@pytest.mark.parametrize("name", ["puma", "chain"])
def test_what_cannot_be_lowered_as_typed_is_rewritten_until_it_can(name):
    """The inverse in step D of 002, of springs between points: the matrix inversion lemma."""
    loop = space("loop", 3)
    rows, L = operator("rows", "point", loop), operator("L", loop, loop)
    model = {"puma": pp.examples.puma560(), "chain": pp.chain(8)}[name]
    rng = np.random.default_rng(3)
    stiff = rng.normal(size=(3, 3))
    given = {"rows": rng.normal(size=(3, 6)), "L": stiff @ stiff.T + np.eye(3)}
    at = {"points": [pp.point(model.bodies[-1].name, (0.1, 0.2, 0.3))]}
    q, T_ = model.random(rng), rng.normal(size=model.nv)
    for middle, used in ((rows.T @ rows, ["rows"]), (rows.T @ L.inv @ rows, ["rows", "L"])):
        line = (Mass + J.T @ middle @ J).inv @ T
        values = {x: given[x] for x in used} | {"T": T_} | at
        found = pp.compile(model, line)(q=q, **values)
        np.testing.assert_allclose(found, pp.as_matrix(model, line, q, **values), atol=1e-11)
        with pytest.raises(pp.LoweringError, match="nor of the form L @ phi @ W"):
            pp.compile(model, line, rewrite=False)


def test_a_rank_one_more_than_the_mass_matrix_is_inverted():
    model, y = pp.chain(6), vector("y", "joint")
    rng = np.random.default_rng(4)
    q, line, values = model.random(rng), (Mass + y @ y.T).inv @ T, rng.normal(size=(2, model.nv))
    given = dict(zip("yT", values, strict=True))
    found = pp.compile(model, line)(q=q, **given)
    np.testing.assert_allclose(found, pp.as_matrix(model, line, q, **given), atol=1e-10)


def test_letters_that_are_zero_are_dropped_before_anything_is_rewritten():
    """Else a search on a machine without rotors adds Jm again and again."""
    loop = space("loop", 3)
    rows = operator("rows", "point", loop)
    found = pp.derive((Mass + J.T @ rows.T @ rows @ J).inv @ T, model=pp.chain(4))
    dropped = [step.name for step in found.steps].index("no rotors")
    assert not any("Jm" in str(step.after) for step in found.steps[dropped:])
    assert found.after.inverses == 0 and found.check().ok
