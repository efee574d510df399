"""The scalar that records: each node made once, and no fold changes a value."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from random_graphs import BY_NUMPY, OPERATIONS, SPECIAL, programs, run

from phipsi import scalars
from phipsi.graph.graph import (
    MEANING,
    Graph,
    GraphTooLargeError,
    Node,
    count_operations,
)
from phipsi.scalars import Dual, cos, exp, less, sin, sqrt, where


@pytest.fixture
def graph():
    return Graph()


def inputs(graph, names="xyz"):
    return [graph.input(name) for name in names]


# -- what is decided at once -----------------------------------------------------------


FOLDS = {
    "x + 0": (lambda x, y: (x + 0.0, 0.0 + x), "x"),
    "x - 0": (lambda x, y: (x - 0.0, x + -0.0), "x"),
    "0 - x": (lambda x, y: (0.0 - x, -1.0 * x), "-x"),
    "x - x": (lambda x, y: (x - x, x + -x, -x + x), "0.0"),
    "x times 0": (lambda x, y: (x * 0.0, 0.0 * x, x * -0.0), "0.0"),
    "x times 1": (lambda x, y: (x * 1.0, 1.0 * x, x / 1.0), "x"),
    "x over -1": (lambda x, y: (x / -1.0, x * -1.0), "-x"),
    "0 over x": (lambda x, y: (0.0 / x,), "0.0"),
    "x over a power of two": (lambda x, y: (x / 4.0, 0.25 * x), "(x * 0.25)"),
    "x over a negative power of two": (lambda x, y: (x / -2.0, x * -0.5), "-(x * 0.5)"),
    "x over another number": (lambda x, y: (x / 3.0,), "(x / 3.0)"),
    "x over the least number": (lambda x, y: (x / 5e-324,), "(x / 5e-324)"),
    "twice negative": (lambda x, y: (0.0 - (-x), x / -1.0 * -1.0), "x"),
    "sum with a negative": (lambda x, y: (x + -y, -y + x), "(x - y)"),
    "difference with a negative": (lambda x, y: (x - -y,), "(x + y)"),
    "difference of a negative": (lambda x, y: (-x - y, -y - x), "-(x + y)"),
    "sum of negatives": (lambda x, y: (-x + -y,), "-(x + y)"),
    "product with a negative": (lambda x, y: (-x * y, x * -y), "-(x * y)"),
    "product of negatives": (lambda x, y: (-x * -y,), "(x * y)"),
    "product with a negative number": (lambda x, y: (x * -3.0, -x * 3.0), "-(x * 3.0)"),
    "quotient with a negative": (lambda x, y: (-x / y, x / -y), "-(x / y)"),
    "quotient of negatives": (lambda x, y: (-x / -y,), "(x / y)"),
    "sine of a negative": (lambda x, y: (sin(-x),), "-sin(x)"),
    "cosine of a negative": (lambda x, y: (cos(-x),), "cos(x)"),
    "inverse tangent of a negative": (lambda x, y: (scalars.arctan(-x),), "-arctan(x)"),
    "size of a negative": (lambda x, y: (abs(-x), abs(abs(x))), "abs(x)"),
    "size of a root": (lambda x, y: (abs(sqrt(x)),), "sqrt(x)"),
    "size of an exponential": (lambda x, y: (abs(scalars.exp(x)),), "exp(x)"),
    "least of one": (lambda x, y: (scalars.minimum(x, x), scalars.maximum(x, x)), "x"),
    "choice without a difference": (lambda x, y: (where(less(x, y), x, x),), "x"),
    "choice between numbers": (lambda x, y: (where(less(1.0, 2.0), x, y),), "x"),
    "zeroth power": (lambda x, y: (x**0,), "1.0"),
}


@pytest.mark.parametrize(("build", "expected"), FOLDS.values(), ids=FOLDS)
def test_fold(graph, build, expected):
    x, y = inputs(graph, "xy")
    for node in build(x, y):
        assert str(node) == expected


def test_function_of_constants_is_a_constant(graph):
    two, three = graph.constant(2.0), graph.constant(3.0)
    assert (two + three) is graph.constant(5.0)
    assert (two - three) is graph.constant(-1.0)
    assert (two * three) is graph.constant(6.0)
    assert (two / three) is graph.constant(2.0 / 3.0)
    assert -two is graph.constant(-2.0)
    for name in ("sin", "cos", "sqrt", "exp", "arctan"):
        value = float(getattr(np, name)(2.0))
        assert getattr(scalars, name)(two) is graph.constant(value)
    assert abs(graph.constant(-2.0)) is two
    assert scalars.arctan2(two, three) is graph.constant(float(np.arctan2(2.0, 3.0)))
    assert scalars.minimum(two, three) is scalars.maximum(two, graph.one) is two
    assert graph.less(two, three) is True
    assert graph.less(three, two) is False


@pytest.mark.parametrize(
    "build",
    [
        lambda one, zero: 1e300 * one * 1e300,
        lambda one, zero: sqrt(-one),
    ],
)
def test_constants_without_a_finite_value_are_left_to_the_machine(graph, build):
    node = build(graph.constant(1.0), graph.constant(0.0))
    assert node.op in ("div", "mul", "sqrt")
    with np.errstate(all="ignore"):
        assert not np.isfinite(graph.evaluate([node], {})[0])


@pytest.mark.parametrize("left", [0.0, 1.0, None])
def test_division_by_the_constant_zero_is_an_error_as_of_floats(graph, left):
    """Else a check such as 0 * (1 / 0) < 1 would be folded into what always holds."""
    x = graph.input("x") if left is None else graph.constant(left)
    with pytest.raises(ZeroDivisionError):
        x / graph.constant(0.0)


def test_what_is_never_true_is_a_node(graph):
    assert graph.evaluate([graph.false], {}) == [False]


# -- no fold changes a value ---------------------------------------------------------------

finite = st.one_of(st.sampled_from(SPECIAL), st.floats(allow_nan=False, allow_infinity=False))
FREE, FIXED = 3, 3  # leaves: inputs first, then constants


def is_followed(program, values):
    """Of each value whether it must come out alike: finite, and so all it was made from.

    The sign of a zero is not followed, and only arctan2 sees it.
    """
    followed = [math.isfinite(x) for x in values]
    for i, (op, *places) in enumerate(program, len(values) - len(program)):
        followed[i] &= all(followed[j] for j in places)
        if op == "arctan2" and any(values[j] == 0.0 for j in places):
            followed[i] = False
    return followed


@given(
    programs(FREE + FIXED, most=30),
    st.lists(finite, min_size=FREE + FIXED, max_size=FREE + FIXED),
)
@example([("sub", 0, 1), ("sub", 1, 0), ("div", 6, 7)], [1.0, 3.0, 0.0, 1.0, 1.0, 1.0])
def test_graph_has_the_bits_of_the_code_that_made_it(program, leaves):
    graph = Graph()
    try:
        nodes = run(program, [*inputs(graph), *map(graph.constant, leaves[FREE:])])
    except ZeroDivisionError:
        reject()
    with np.errstate(all="ignore"):
        expected = run(program, map(np.float64, leaves), BY_NUMPY)
        found = graph.evaluate(
            [graph.node(x) for x in nodes], dict(zip("xyz", leaves[:FREE], strict=True))
        )
    for value, reference, counts in zip(
        found, expected, is_followed(program, expected), strict=True
    ):
        assert value == reference or not counts


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "min", "max", "arctan2"])
def test_no_fold_of_two_operands_changes_a_value(op):
    """Every pair of special values, each as an input, a negative input and a constant."""
    numbers = [*SPECIAL, -2.0, 0.25, 1e16, -5e-324, 2.0**-1022, 2.0**-1000, 2.0**1000]
    forms = [Graph.constant, Graph.input, lambda graph, key: -graph.input(key)]
    with np.errstate(all="ignore"):
        for (a, b), make_x, make_y in itertools.product(
            itertools.product(numbers, repeat=2), forms, forms
        ):
            reference = MEANING[op](a, b)
            if not np.isfinite(reference) or (op == "arctan2" and 0.0 in (a, b)):
                continue
            graph = Graph()
            x = make_x(graph, a if make_x is forms[0] else "x")
            y = make_y(graph, b if make_y is forms[0] else "y")
            signs = [-1.0 if make is forms[2] else 1.0 for make in (make_x, make_y)]
            values = {"x": signs[0] * a, "y": signs[1] * b}
            assert graph.evaluate([OPERATIONS[op](x, y)], values) == [reference]


OF_ONE = ("sin", "cos", "sqrt", "exp", "arctan", "abs", "neg")


@pytest.mark.parametrize("outer", OF_ONE)
@pytest.mark.parametrize("inner", OF_ONE)
def test_no_fold_of_a_function_of_a_function_changes_a_value(outer, inner):
    graph = Graph()
    x = graph.input("x")
    node = OPERATIONS[outer](OPERATIONS[inner](x))
    with np.errstate(all="ignore"):
        for value in [*SPECIAL, 0.7, -2.3, 4.0, -5.0]:
            reference = MEANING[outer](MEANING[inner](value))
            if np.isfinite(reference):
                folded = OPERATIONS[outer](OPERATIONS[inner](graph.constant(value)))
                assert graph.evaluate([node, folded], {"x": value}) == [reference, reference]


def test_products_with_zero_and_differences_with_oneself_vanish_without_looking(graph):
    """What is not finite is not followed: the exceptions that the module names."""
    x = graph.input("x")
    outputs = [x * 0.0, 0.0 / x, x - x]
    for value in (math.inf, -math.inf, math.nan):
        assert graph.evaluate(outputs, {"x": value}) == [0.0, 0.0, 0.0]
    assert graph.evaluate([0.0 / x], {"x": 0.0}) == [0.0]


def test_sign_of_zero_is_not_followed(graph):
    """The other exception: a difference and its opposite are one node and its negative."""
    x, y = inputs(graph, "xy")
    angles = [scalars.arctan2(x - y, -1.0), scalars.arctan2(y - x, -1.0)]
    assert graph.evaluate(angles, {"x": 1.0, "y": 1.0}) == [math.pi, -math.pi]


def test_opposite_differences_are_one_node(graph):
    x, y = inputs(graph, "xy")
    first = x - y
    assert str(y - x) == "-(x - y)"
    assert -(y - x) is first


# -- each node once ------------------------------------------------------------------------


def test_equal_operations_are_one_node(graph):
    x, y = inputs(graph, "xy")
    assert graph.input("x") is x
    assert graph.constant(2.0) is graph.constant(2)
    assert (x / y + sin(x)) is (x / y + sin(x))
    assert where(less(x, y), x, 1.0) is where(less(x, y), x, 1.0)
    assert x / y is not y / x
    assert less(x, y) is not less(y, x)
    assert scalars.arctan2(x, y) is not scalars.arctan2(y, x)


def test_sums_products_and_extrema_commute(graph):
    x, y, z = inputs(graph)
    assert x + y is y + x
    assert x * y is y * x
    assert scalars.minimum(x, y) is scalars.minimum(y, x)
    assert scalars.maximum(x, y) is scalars.maximum(y, x)
    assert (x + y) + z is not x + (y + z)  # nothing is reassociated
    assert (x * y) * z is not x * (y * z)
    assert x * (y + z) is not x * y + x * z


def test_zeros_of_either_sign_are_one_constant(graph):
    assert graph.constant(-0.0) is graph.constant(0.0) is graph.zero
    assert math.copysign(1.0, graph.zero.data) == 1.0


def test_sine_and_cosine_of_one_angle_are_made_once(graph):
    x = graph.input("x")
    outputs = [sin(x) * cos(x), cos(-x) - sin(x), cos(x) / sin(-x)]
    counts = count_operations(graph.live(outputs))
    assert counts["sin"] == counts["cos"] == 1


@given(programs(FREE + FIXED, most=30), st.lists(finite, min_size=FIXED, max_size=FIXED))
def test_every_graph_is_in_order(program, constants):
    """Operands come first, no node is there twice, and no fold was left undone."""
    graph = Graph()
    try:
        run(program, [*inputs(graph), *map(graph.constant, constants)])
    except ZeroDivisionError:
        reject()
    assert [node.number for node in graph.nodes] == list(range(len(graph.nodes)))
    assert all(x.number < node.number for node in graph.nodes for x in node.args)
    assert len({(node.op, node.args, node.data) for node in graph.nodes}) == len(graph.nodes)
    for node in graph.nodes:
        operands = {x.op for x in node.args}
        if node.op in ("add", "sub", "mul", "div", "neg", "sin", "cos", "arctan", "abs"):
            assert "neg" not in operands
        if node.op in ("add", "sub", "mul") and operands != {"constant"}:
            assert graph.zero not in node.args
        if node.op == "mul" and operands != {"constant"}:
            assert all(x.data > 0.0 and x is not graph.one for x in node.args if x.op == "constant")
        if node.op in ("add", "mul", "min", "max") and operands != {"constant"}:
            assert node.args[0].number <= node.args[1].number


# -- the whole -----------------------------------------------------------------------------


def test_live_leaves_out_what_no_output_needs(graph):
    x, y, z = inputs(graph)
    needed = sin(x) * y
    _ = cos(z) + needed
    assert graph.live([needed]) == [x, y, sin(x), needed]
    assert graph.live([needed, x, needed]) == [x, y, sin(x), needed]
    assert graph.live([]) == []


def test_evaluation_computes_only_what_is_asked_for(graph):
    x, y = inputs(graph, "xy")
    _ = 1.0 / y
    assert graph.evaluate([x + 1.0], {"x": 2.0}) == [3.0]
    with pytest.raises(KeyError, match="y"):
        graph.evaluate([x + y], {"x": 2.0})


def test_evaluation_of_a_batch_is_that_of_each_member(graph):
    x, y = inputs(graph, "xy")
    outputs = [where(less(x, y), sin(x) / y, x), scalars.arctan2(x, y), graph.one]
    batch = np.random.default_rng(0).normal(size=(2, 5))
    values = graph.evaluate(outputs, {"x": batch[0], "y": batch[1]})
    for i, (a, b) in enumerate(batch.T):
        each = graph.evaluate(outputs, {"x": a, "y": b})
        assert_allclose([np.broadcast_to(z, 5)[i] for z in values], each, rtol=1e-15)


def test_operations_are_counted_by_kind(graph):
    x, y = inputs(graph, "xy")
    live = graph.live([x * y + x, sin(x * y), x / y])
    assert count_operations(live) == {"input": 2, "mul": 1, "add": 1, "sin": 1, "div": 1}


def test_limit_bounds_the_nodes():
    graph = Graph(limit=6)
    x, y, total = graph.input("x"), graph.input("y"), None
    total = x + y
    assert y + x is total
    assert graph.input("x") is x  # what is there is found
    with pytest.raises(GraphTooLargeError):
        _ = x * y
    assert len(graph.nodes) == 6
    assert graph.evaluate([total], {"x": 1.0, "y": 2.0}) == [3.0]


def test_long_chains_need_no_recursion(graph):
    x = graph.input("x")
    node = x
    for _ in range(30_000):
        node = node * 0.5 + 1.0
    assert len(graph.live([node])) == 60_000 + 3
    assert graph.evaluate([node], {"x": 5.0}) == [2.0]


def test_text_is_a_formula(graph):
    x, y = inputs(graph, "xy")
    node = where(less(x, 1.0), -sin(x) / y, scalars.arctan2(x, y) - x * y)
    assert str(node) == "where((x < 1.0), -(sin(x) / y), (arctan2(x, y) - (x * y)))"
    assert repr(sin(x)) == f"<Node {sin(x).number}: sin>"


def test_text_of_a_deep_formula_is_cut(graph):
    x = graph.input("x")
    for _ in range(100):
        x = x * x
    assert len(str(x)) < 1_000_000
    assert "..." in str(x)
    assert graph.text(x, 2) == "((... * ...) * (... * ...))"


# -- powers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exponent", "expected"),
    [
        (0, "1.0"),
        (1, "x"),
        (2, "(x * x)"),
        (2.0, "(x * x)"),
        (3, "(x * (x * x))"),
        (5, "(x * ((x * x) * (x * x)))"),
        (-1, "(1.0 / x)"),
        (-2, "(1.0 / (x * x))"),
        (0.5, "sqrt(x)"),
        (np.int64(2), "(x * x)"),
    ],
)
def test_power_is_repeated_squaring(graph, exponent, expected):
    assert str(graph.input("x") ** exponent) == expected


@pytest.mark.parametrize("n", range(1, 33))
def test_power_costs_its_squarings_and_products(graph, n):
    power = graph.input("x") ** n
    assert graph.evaluate([power], {"x": 1.5}) == [1.5**n]  # exact
    products = count_operations(graph.live([power])).get("mul", 0)
    assert products == n.bit_length() + n.bit_count() - 2


@pytest.mark.parametrize("exponent", [1.5, -0.5, "2"])
def test_other_powers_are_refused(graph, exponent):
    with pytest.raises(TypeError, match="whole powers"):
        graph.input("x") ** exponent


def test_power_of_or_by_a_node_is_refused(graph):
    x = graph.input("x")
    for wrong in (lambda: x**x, lambda: 2.0**x):
        with pytest.raises(TypeError):
            wrong()


# -- among other numbers -------------------------------------------------------------------

LEFT = {
    "float": 3.0,
    "int": 3,
    "float64": np.float64(3.0),
    "float32": np.float32(3.0),
    "int64": np.int64(3),
    "array of no dimension": np.array(3.0),
}


@pytest.mark.parametrize("number", LEFT.values(), ids=LEFT)
def test_numbers_of_any_kind_stand_on_either_side(graph, number):
    x = graph.input("x")
    three = graph.constant(3.0)
    assert number + x is x + number is x + three
    assert number - x is three - x
    assert x - number is x - three
    assert number * x is x * number is x * three
    assert number / x is three / x
    assert x / number is x / three
    for function in (scalars.arctan2, scalars.minimum, scalars.maximum):
        assert function(number, x) is function(three, x)
        assert function(x, number) is function(x, three)
    assert less(x, number) is less(x, three)
    assert where(less(x, 0.0), number, x) is where(less(x, 0.0), three, x)


REFUSED = {
    "array": np.ones(2),
    "complex": 1j,
    "text": "1",
    "None": None,
    "truth value": np.True_,
    "list": [1.0],
}


@pytest.mark.parametrize("wrong", REFUSED.values(), ids=REFUSED)
def test_what_is_no_real_number_is_refused_on_either_side(graph, wrong):
    x = graph.input("x")
    for operation in (
        lambda: x + wrong,
        lambda: wrong + x,
        lambda: x - wrong,
        lambda: wrong - x,
        lambda: x * wrong,
        lambda: wrong * x,
        lambda: x / wrong,
        lambda: wrong / x,
        lambda: less(x, wrong),
        lambda: where(less(x, 0.0), x, wrong),
        lambda: scalars.minimum(x, wrong),
        lambda: scalars.arctan2(wrong, x),
    ):
        with pytest.raises(TypeError):
            operation()


def test_array_of_nodes_takes_numbers_entry_by_entry(graph):
    x, y = inputs(graph, "xy")
    assert_array_equal(np.array([x, y]) * 2.0, [2.0 * x, 2.0 * y])


def test_functions_of_scalars_make_nodes(graph):
    x, y = inputs(graph, "xy")
    for name in ("sin", "cos", "sqrt", "exp", "arctan"):
        assert str(getattr(scalars, name)(x)) == f"{name}(x)"
    assert scalars.absolute(x) is abs(x)
    assert str(scalars.absolute(x)) == "abs(x)"
    assert str(scalars.arctan2(x, y)) == "arctan2(x, y)"
    assert str(scalars.arctan2(y, x)) == "arctan2(y, x)"
    assert str(scalars.minimum(x, y)) == "min(x, y)"
    assert str(scalars.maximum(x, y)) == "max(x, y)"


def test_dual_of_nodes_leaves_the_operation_to_the_dual(graph):
    x, y, dx = inputs(graph)
    dual = Dual(x, (dx,))
    for result, value, derivative in (
        (y * dual, "(x * y)", "(y * z)"),
        (dual - y, "(x - y)", "z"),
        (y - dual, "-(x - y)", "-z"),
        (scalars.minimum(y, dual), "min(x, y)", "where(((x - y) < 0.0), z, 0.0)"),
        (scalars.maximum(dual, y), "max(x, y)", "where(((x - y) < 0.0), 0.0, z)"),
        (scalars.absolute(dual), "abs(x)", "where((x < 0.0), -z, z)"),
    ):
        assert (str(result.value), str(result.derivatives[0])) == (value, derivative)


def test_node_has_no_truth_value(graph):
    x, y = inputs(graph, "xy")
    for wrong in (x, less(x, y), graph.zero):
        with pytest.raises(TypeError, match=r"scalars\.where"):
            bool(wrong)
    with pytest.raises(TypeError):
        x < 0.0  # noqa: B015
    with pytest.raises(TypeError):
        less(0.0, x)  # the variable belongs on the left


def test_nodes_of_two_graphs_do_not_mix(graph):
    x, y = graph.input("x"), Graph().input("y")
    for wrong in (
        lambda: x + y,
        lambda: x - y,
        lambda: x * y,
        lambda: x / y,
        lambda: scalars.minimum(x, y),
        lambda: less(x, y),
        lambda: where(less(x, 0.0), x, y),
        lambda: graph.node(y),
    ):
        with pytest.raises(AssertionError, match="two graphs"):
            wrong()


# -- nodes of another graph ------------------------------------------------------------


@given(programs(4), st.lists(st.floats(-3.0, 3.0), min_size=4, max_size=4))
def test_graft_is_the_program_run_on_what_stands_for_the_inputs(program, numbers):
    """Nodes for nodes: the same graph as if the program had been run there."""
    other, graph = Graph(), Graph()
    leaves = inputs(graph, "xy")
    places = [leaves[0] * leaves[1], leaves[1], leaves[0], leaves[0] + 1.0]
    try:
        results = run(program, inputs(other, "abcd"))
        expected = run(program, places)
    except ZeroDivisionError:
        reject()
    found = graph.graft(results, dict(zip("abcd", places, strict=True)))
    assert found == expected


FEW = st.sampled_from([0.0, 1.0, -2.0, 0.5, 3.0])
SIGNLESS = [name for name in OPERATIONS if name != "arctan2"]  # which sees the sign of zero


@given(programs(4, SIGNLESS), st.lists(FEW, min_size=4, max_size=4))
def test_graft_of_numbers_gives_numbers(program, numbers):
    other, graph = Graph(), Graph()
    with np.errstate(all="ignore"):
        expected = run(program, [np.float64(x) for x in numbers], BY_NUMPY)
    if not np.isfinite(expected).all():
        reject()
    results = run(program, inputs(other, "abcd"))
    found = graph.graft(results, dict(zip("abcd", numbers, strict=True)))
    assert_allclose([node.data for node in found], expected, rtol=1e-14)


def test_graft_decides_conditions(graph):
    other = Graph()
    a, b, c = inputs(other, "abc")
    condition, choice = less(a, b), where(less(a, b), b * c, c)
    x, y = inputs(graph, "xy")
    given = {"a": x, "b": y, "c": 2.0}
    assert [str(node) for node in graph.graft([condition, choice], given)] == [
        "(x < y)",
        "where((x < y), (y * 2.0), 2.0)",
    ]
    assert graph.graft([condition, choice], {"a": 1.0, "b": 2.0, "c": x}) == [True, 2.0 * x]
    assert graph.graft([condition, choice], {"a": 2.0, "b": 1.0, "c": x}) == [False, x]
    assert graph.graft([condition, choice], {"a": x, "b": x, "c": y}) == [False, y]
    assert graph.graft([other.false], {}) == [False]


def test_graft_folds_what_zeros_decide(graph):
    """A product with zero takes all that led to it along."""
    other = Graph()
    a, b = inputs(other, "ab")
    x = graph.input("x")
    found = graph.graft([sin(b) * exp(b) * a + b], {"a": 0.0, "b": x})
    assert found == [x]
    assert graph.graft([], {}) == []


def test_graft_wants_every_input(graph):
    with pytest.raises(KeyError):
        graph.graft([Graph().input("a")], {})


def test_node_is_final(graph):
    """Fast paths ask `type(x) is Node`."""
    assert type(graph.input("x")) is Node
    with pytest.raises(AttributeError):
        graph.input("x").other = 1.0
