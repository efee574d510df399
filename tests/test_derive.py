"""Derivatives of graphs, against numbers that carry derivatives of their own."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from machines import MARKET, random_machine, random_state, rocker
from numpy.testing import assert_allclose, assert_array_equal
from random_graphs import OPERATIONS, TAME, programs, run

import phipsi as pp
from phipsi import joints, scalars
from phipsi.compile import make_program
from phipsi.dynamics.forward import FD4
from phipsi.dynamics.terms import terms_of
from phipsi.graph.derive import SLOPES, forward, jacobian, reverse
from phipsi.graph.graph import MEANING, Graph, GraphTooLargeError, count_operations
from phipsi.lowering.machine import Machine
from phipsi.lowering.trace import trace
from phipsi.scalars import Dual, cos, exp, less, sin, sqrt, where

STEP = 1e-30
KEYS = "xyzw"


@pytest.fixture
def graph():
    return Graph()


def inputs(graph, names=KEYS):
    return [graph.input(name) for name in names]


def evaluate(graph, rows, values, keys=KEYS):
    """A matrix of nodes as numbers."""
    entries = [x for row in rows for x in row]
    with np.errstate(all="ignore"):
        numbers = graph.evaluate(entries, dict(zip(keys, values, strict=True)))
    return np.array(numbers, float).reshape(len(rows), -1)


def by_forward(graph, outputs, variables):
    """The Jacobian column by column."""
    rest = dict.fromkeys(variables, 0.0)
    columns = [forward(graph, outputs, rest | {x: 1.0}) for x in variables]
    return [list(row) for row in zip(*columns, strict=True)]


def by_reverse(graph, outputs, variables):
    """The Jacobian row by row."""
    units = np.eye(len(outputs))
    return [reverse(graph, outputs, unit, variables) for unit in units]


EVERY_WAY = {"forward": by_forward, "reverse": by_reverse, "jacobian": jacobian}
every_way = pytest.mark.parametrize("way", EVERY_WAY.values(), ids=EVERY_WAY)


def complex_step(f, values):
    """The Jacobian of f to machine precision, each choice by the real parts."""
    columns = []
    for i in range(len(values)):
        moved = [complex(x, STEP * (i == j)) for j, x in enumerate(values)]
        columns.append([np.imag(y) / STEP for y in f(*moved)])
    return np.array(columns).T


# -- each rule -----------------------------------------------------------------------------

POINTS = {  # away from where branches meet
    "add": [(0.3, -1.2)],
    "sub": [(0.3, -1.2)],
    "mul": [(0.3, -1.2)],
    "div": [(0.3, -1.2), (-0.7, 2.0)],
    "neg": [(0.3,)],
    "sin": [(0.3,), (-4.0,)],
    "cos": [(0.3,), (-4.0,)],
    "sqrt": [(0.3,), (7.0,)],
    "exp": [(0.3,), (-2.0,)],
    "arctan": [(0.3,), (-5.0,)],
    "arctan2": [(0.3, 1.1), (0.3, -1.1), (-0.3, -1.1), (-0.3, 1.1), (2.0, 0.0)],
    "abs": [(0.3,), (-0.3,)],
    "min": [(0.3, 0.4), (0.4, 0.3)],
    "max": [(0.3, 0.4), (0.4, 0.3)],
    "where": [(0.3, 0.4, 1.0, 2.0), (0.4, 0.3, 1.0, 2.0)],
}


@every_way
@pytest.mark.parametrize("op", POINTS)
def test_slopes_of_an_operation_equal_complex_step(op, way):
    for values in POINTS[op]:
        graph = Graph()
        variables = inputs(graph)[: len(values)]
        rows = way(graph, [OPERATIONS[op](*variables)], variables)
        expected = complex_step(lambda *z: [OPERATIONS[op](*z)], values)
        found = evaluate(graph, rows, values, KEYS[: len(values)])
        assert_allclose(found, expected, rtol=1e-14, atol=1e-16)


def test_every_operation_has_slopes():
    assert set(SLOPES) == set(MEANING)
    assert set(POINTS) == set(MEANING) - {"less"}


@every_way
def test_truth_value_does_not_move(graph, way):
    x, y, *_ = inputs(graph)
    assert way(graph, [less(x, y)], [x, y]) == [[graph.zero, graph.zero]]


def test_slope_where_branches_meet_is_that_of_one_branch(graph):
    x, y = inputs(graph, "xy")
    outputs = [abs(x), scalars.minimum(x, y), scalars.maximum(x, y)]
    for row in evaluate(graph, jacobian(graph, outputs, [x, y]), (0.0, 0.0), "xy"):
        assert sorted(np.abs(row)) == [0.0, 1.0]


# -- random graphs -------------------------------------------------------------------------

N = len(KEYS)
points = st.lists(st.floats(-1.0, 1.0), min_size=N, max_size=N)
tame_programs = programs(N, tuple(TAME))


def is_clear(program, values):
    """Whether no choice of a program is so near that a rounding could decide it."""
    reached = run(program, values, TAME)
    gaps = [1.0]
    for op, *places in program:
        if op in ("abs", "min", "max", "where"):
            a, b = ([reached[i] for i in places] + [0.0])[:2]
            gaps.append(abs(a - b))
    return min(gaps) > 1e-6 and max(map(abs, reached)) < 1e3


@given(tame_programs, points)
def test_jacobian_of_any_graph_equals_dual_numbers_and_complex_step(program, values):
    assume(is_clear(program, values))
    graph = Graph()
    variables = inputs(graph)
    outputs = [graph.node(x) for x in run(program, variables, TAME)[N:]]
    found = evaluate(graph, jacobian(graph, outputs, variables), values)
    duals = [Dual.lift(x, N) for x in run(program, Dual.variables(values), TAME)[N:]]
    tolerance = 1e-10 * (1.0 + np.abs(found).max())
    assert_allclose(found, [x.derivatives for x in duals], rtol=0.0, atol=tolerance)
    expected = complex_step(lambda *z: run(program, z, TAME)[N:], values)
    assert_allclose(found, expected, rtol=0.0, atol=tolerance)


@given(tame_programs, points, points, st.randoms(use_true_random=False))
def test_reverse_is_forward_transposed(program, values, direction, random):
    """c* (J t) = (J* c)* t, for any c and t, also where branches meet."""
    graph = Graph()
    variables = inputs(graph)
    outputs = [graph.node(x) for x in run(program, variables, TAME)]
    weights = [random.uniform(-1.0, 1.0) for _ in outputs]
    J_t = forward(graph, outputs, dict(zip(variables, direction, strict=True)))
    J_star_c = reverse(graph, outputs, weights, variables)
    left, right = (evaluate(graph, [x], values)[0] for x in (J_t, J_star_c))
    sizes = np.abs(left) @ np.abs(weights) + np.abs(right) @ np.abs(direction)
    assume(sizes < 1e6)
    assert_allclose(left @ weights, right @ direction, rtol=0.0, atol=1e-10 * (1.0 + sizes))


@given(tame_programs, points)
def test_columns_and_rows_make_one_jacobian(program, values):
    graph = Graph()
    variables = inputs(graph)
    outputs = [graph.node(x) for x in run(program, variables, TAME)[N:]]
    columns, rows, chosen = (
        evaluate(graph, way(graph, outputs, variables), values)
        for way in (by_forward, by_reverse, jacobian)
    )
    assume(np.abs(columns).max() < 1e6)
    tolerance = 1e-10 * (1.0 + np.abs(columns).max())
    assert_allclose(rows, columns, rtol=0.0, atol=tolerance)
    assert_allclose(chosen, columns, rtol=0.0, atol=tolerance)


def hessian(graph, output, variables):
    return jacobian(graph, reverse(graph, [output], [1.0], variables), variables)


@given(tame_programs, points)
def test_second_derivatives_are_symmetric_and_equal_duals_of_duals(program, values):
    assume(is_clear(program, values))
    graph = Graph()
    variables = inputs(graph)
    output = graph.node(run(program, variables, TAME)[-1])
    found = evaluate(graph, hessian(graph, output, variables), values)
    assume(np.abs(found).max() < 1e6)
    tolerance = 1e-9 * (1.0 + np.abs(found).max())
    assert_allclose(found, found.T, rtol=0.0, atol=tolerance)
    dual = run(program, Dual.variables(Dual.variables(values)), TAME)[-1]
    rows = [Dual.lift(row, N).derivatives for row in Dual.lift(dual, N).derivatives]
    assert_allclose(found, rows, rtol=0.0, atol=tolerance)


def test_third_derivative_of_a_sine_is_minus_its_cosine(graph):
    x = graph.input("x")
    node = sin(x)
    for expected in ("cos(x)", "-sin(x)", "-cos(x)", "sin(x)"):
        [node] = forward(graph, [node], {x: 1.0})
        assert str(node) == expected


# -- what is an input ----------------------------------------------------------------------


@every_way
def test_inputs_may_be_any_nodes_and_hide_what_they_are_made_of(graph, way):
    """z = u y + x with u = x y: by u, y and x at fixed values of the two others."""
    x, y = inputs(graph, "xy")
    u = x * y
    rows = way(graph, [u * y + x, u], [u, y, x])
    assert_array_equal(evaluate(graph, rows, (2.0, 3.0), "xy"), [[3, 6, 1], [1, 0, 0]])


@every_way
def test_outputs_may_be_inputs_constants_and_each_other(graph, way):
    x, y = inputs(graph, "xy")
    z = x * y
    rows = way(graph, [x, graph.constant(3.0), z, z, z + x], [x, y])
    expected = [[1, 0], [0, 0], [3, 2], [3, 2], [4, 2]]
    assert_array_equal(evaluate(graph, rows, (2.0, 3.0), "xy"), expected)


def test_derivatives_of_nothing_and_by_nothing_are_empty(graph):
    x = graph.input("x")
    assert jacobian(graph, [], [x]) == []
    assert jacobian(graph, [x, sin(x)], []) == [[], []]
    assert forward(graph, [x * x], {}) == [graph.zero]
    assert reverse(graph, [], [], [x]) == [graph.zero]


@every_way
def test_zeros_of_the_structure_stay_zeros(graph, way):
    x, y, z, w = inputs(graph)
    rows = way(graph, [sin(x) * y, z / (1.0 + w), exp(y)], [x, y, z, w])
    zero = [[entry is graph.zero for entry in row] for row in rows]
    assert_array_equal(zero, [[0, 0, 1, 1], [1, 1, 0, 0], [1, 0, 1, 1]])


def test_directions_may_be_nodes(graph):
    x, y, dx, c = inputs(graph)
    [along] = forward(graph, [x * y], {x: dx, y: 2.0})
    by_x, by_y = reverse(graph, [x * y, y], [c, 1.0], [x, y])
    values = {"x": 3.0, "y": 5.0, "z": 7.0, "w": 11.0}
    assert graph.evaluate([along, by_x, by_y], values) == [7.0 * 5.0 + 3.0 * 2.0, 55.0, 34.0]


def test_number_of_cotangents_is_that_of_outputs(graph):
    x = graph.input("x")
    with pytest.raises(ValueError, match="shorter"):
        reverse(graph, [x, sin(x)], [1.0], [x])


# -- choices -------------------------------------------------------------------------------

# A formula, and where: each has an infinite slope or no value in the branch not taken.
GUARDED = {
    "root above zero": (lambda x: where(less(x, 0.0), 0.0, sqrt(x)), (-1.0, 0.25)),
    "root of the larger": (lambda x: sqrt(scalars.maximum(x, 0.0)), (-1.0, 0.25)),
    "root of what is clipped": (
        lambda x: sqrt(scalars.minimum(scalars.maximum(x, 0.0), 1.0)),
        (-1.0, 0.25, 2.0),
    ),
    "two uses in one branch": (
        lambda x: where(less(x, 0.0), x, sqrt(x) * (1.0 + sqrt(x))),
        (-1.0, 0.25),
    ),
    "reciprocal away from zero": (
        lambda x: where(less(x * x, 1e-6), 1.0, sin(x) / x),
        (0.0, 0.5),
    ),
    "choices in choices": (
        lambda x: where(less(x, 1.0), where(less(x, 0.0), -x, sqrt(x)), 1.0 / (x - 1.0)),
        (-1.0, 0.25, 2.0),
    ),
    "opposite choices": (
        lambda x: where(less(x, 0.0), 0.0, sqrt(x)) * where(less(x, 0.0), x, 0.0),
        (-1.0, 0.25),
    ),
}


@every_way
@pytest.mark.parametrize(("formula", "places"), GUARDED.values(), ids=GUARDED)
def test_branch_that_is_not_taken_adds_nothing(graph, way, formula, places):
    x = graph.input("x")
    rows = way(graph, [formula(x)], [x])
    for value in places:
        h = 1e-6
        with np.errstate(all="ignore"):
            ends = [float(formula(np.array(value + e))) for e in (h, -h)]
        difference = (ends[0] - ends[1]) / (2.0 * h)
        assert_allclose(evaluate(graph, rows, [value], "x"), [[difference]], rtol=1e-6, atol=1e-6)


def test_choice_of_two_branches_is_one_choice(graph):
    """d where(c, x, y) = where(c, dx, dy), no sum of two."""
    x, y, dx, dy = inputs(graph)
    choice = where(less(x, y), sin(x), cos(y))
    [d] = forward(graph, [choice], {x: dx, y: dy})
    assert count_operations(graph.live([d]))["where"] == 1
    assert str(d) == "where((x < y), (z * cos(x)), -(w * sin(y)))"


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_choice_within_the_other_branch_of_the_same_choice_is_never_taken(graph, y):
    """As a direction: where(c, where(c, 0, t), 0) = 0."""
    x, condition = graph.input("x"), less(graph.input("y"), 0.0)
    never = where(condition, where(condition, 0.0, x), 0.0)
    rows = [forward(graph, [x * x], {x: never}), reverse(graph, [x * x], [never], [x])]
    assert_array_equal(evaluate(graph, rows, (2.0, y), "xy"), [[0.0], [0.0]])


# -- cost ----------------------------------------------------------------------------------


def operations(graph, rows):
    counts = count_operations(graph.live([x for row in rows for x in row]))
    return sum(n for op, n in counts.items() if op not in ("input", "constant"))


@pytest.mark.parametrize("n", [10, 100])
def test_gradient_costs_a_few_times_the_function(graph, n):
    """The cheap gradient: in reverse, at most five times the operations, for any n."""
    variables = [graph.input(i) for i in range(n)]
    product = variables[0]
    for x in variables[1:]:
        product = product * sin(x) + x
    rows = jacobian(graph, [product], variables)
    assert operations(graph, rows) <= 5 * operations(graph, [[product]])


@pytest.mark.parametrize("n", [10, 100])
def test_derivatives_by_one_input_cost_a_few_times_the_functions(graph, n):
    x, outputs = graph.input("x"), []
    node = x
    for _ in range(n):
        node = sin(node) * x
        outputs.append(node)
    rows = jacobian(graph, outputs, [x])
    assert operations(graph, rows) <= 5 * operations(graph, [outputs])


def test_sine_and_cosine_of_one_angle_serve_all_derivatives(graph):
    x, y, *_ = inputs(graph)
    rows = hessian(graph, sin(x) * cos(x) * y + sin(x), [x, y])
    counts = count_operations(graph.live([entry for row in rows for entry in row]))
    assert counts["sin"] == counts["cos"] == 1


@every_way
def test_long_chains_need_no_recursion(graph, way):
    x = graph.input("x")
    dual = Dual(1.5, (1.0,))
    node, expected = x, dual
    for _ in range(15_000):
        node, expected = sin(node) * x, sin(expected) * dual
    [[slope]] = evaluate(graph, way(graph, [node], [x]), [1.5], "x")
    assert_allclose(slope, expected.derivatives[0], rtol=1e-12)


def test_limit_of_a_graph_holds_for_its_derivatives():
    graph = Graph(limit=8)
    x, y = graph.input("x"), graph.input("y")
    node = sin(x) * y
    with pytest.raises(GraphTooLargeError):
        jacobian(graph, [node, node * node], [x, y])


# -- a machine -----------------------------------------------------------------------------


def traced_forward_dynamics(model):
    """The graph of vdot; inputs have the keys ("q", i), ("v", i) and ("tau", i)."""
    terms = terms_of()
    program = make_program([FD4(terms.a_g, terms.b)], not model.has_mimics)
    machine = Machine(model, program.shifted)
    result = trace(program, machine, {}, [(model.nv, 1)], Graph())
    return result.graph, result.outputs[0]


MACHINES = {name: MARKET[name] for name in ("planar_arm", "serial_multidof", "free_base_tree")}
MACHINES["choices"] = lambda: random_machine(6, 3, [lambda rng: joints.Custom(rocker, 2)])


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_jacobian_of_forward_dynamics_equals_complex_step(machine):
    model = machine()
    rng = np.random.default_rng(5)
    q, v = random_state(model, rng)
    state = {"q": np.array(q), "v": np.array(v), "tau": rng.normal(size=model.nv)}
    keys = [(letter, i) for letter, x in state.items() for i in range(len(x))]
    values = np.concatenate(list(state.values()))

    graph, outputs = traced_forward_dynamics(model)
    assert_allclose(
        evaluate(graph, [outputs], values, keys)[0],
        pp.forward_dynamics(model, q, v, state["tau"], backend="numpy"),
        rtol=1e-10,
    )
    variables = [graph.input(key) for key in keys]
    found = evaluate(graph, jacobian(graph, outputs, variables), values, keys)

    columns = []
    for letter, i in keys:
        moved = {name: x.astype(complex) for name, x in state.items()}
        moved[letter][i] += STEP * 1j
        vdot = pp.forward_dynamics(model, *moved.values(), backend="numpy")
        columns.append(vdot.imag / STEP)
    expected = np.array(columns).T
    assert_allclose(found, expected, rtol=0.0, atol=1e-10 * np.abs(expected).max())
    assert np.count_nonzero(expected) > expected.size / 4


def test_jacobian_of_a_machine_is_made_the_cheaper_way():
    """Forward although there are more inputs than outputs: many a slope is zero by structure."""
    model = MARKET["free_base_tree"]()
    cost = {}
    sizes = {"q": model.nq, "v": model.nv}
    for name, way in EVERY_WAY.items():
        graph, outputs = traced_forward_dynamics(model)
        variables = [graph.input((letter, i)) for letter, n in sizes.items() for i in range(n)]
        cost[name] = operations(graph, way(graph, outputs, variables))
        assert len(outputs) < len(variables)
    assert cost["jacobian"] == cost["forward"] < cost["reverse"]
