"""Kernels of floats: numbers, widths, cuts, constants that floats cannot hold."""

from functools import lru_cache

import numpy as np
import pytest
import random_graphs
from hand_kernels import WIDTHS_OF_FLOATS
from hypothesis import given, settings
from hypothesis import strategies as st
from test_kernel import LEAVES, as_task, random_tasks, run_kernel

from phipsi.backends.kernel import write_kernel
from phipsi.backends.llvm import Target, compile_module
from phipsi.backends.partition import Task
from phipsi.backends.real import REALS
from phipsi.backends.write import Width
from phipsi.errors import BackendError
from phipsi.graph.graph import Graph

HOST = Target.host().of("float")
widths, seeds = st.sampled_from(WIDTHS_OF_FLOATS), st.integers(0, 2**32 - 1)


@lru_cache(maxsize=1)
def compiled(task, lanes, limit):
    kernel = write_kernel(task, lanes, limit, real="float")
    return kernel, compile_module(kernel.text, HOST)


def run(task, values, lanes, limit=10_000):
    """Outputs of a task and the lanes it complains of; the entries of all inputs in one array."""
    kernel, code = compiled(task, lanes, limit)
    sizes = [len(x) for x in task.outputs]
    inputs = np.split(np.float32(values), len(task.inputs))
    return run_kernel(code, inputs, sizes, lanes, kernel.work, np.float32)


@pytest.mark.parametrize("op", random_graphs.OPERATIONS)
def test_every_operation_is_right_to_the_last_digits_of_a_float(op):
    """By NumPy in doubles, of the same floats."""
    rng = np.random.default_rng(1)
    graph, count = Graph(), random_graphs.ARITY.get(op, 2)
    leaves = [graph.input(("x", i)) for i in range(count)]
    task = Task(graph, ("x",), ((random_graphs.OPERATIONS[op](*leaves),),))
    for lanes in WIDTHS_OF_FLOATS:
        values = np.float32(rng.uniform(-30.0, 30.0, (count, lanes)))
        values = np.abs(values) if op == "sqrt" else values
        [[found]], _ = run(task, values, lanes)
        columns = values.astype(float).T
        right = np.array([random_graphs.BY_NUMPY[op](*column) for column in columns])
        assert np.all(np.abs(found - right) <= 1.6 * np.spacing(np.abs(np.float32(right))))


@given(random_tasks(), st.integers(2, 9), seeds)
@settings(max_examples=10)
def test_random_graphs_have_the_same_bits_at_every_width_and_however_they_are_cut(
    drawn, limit, seed
):
    task, _ = as_task(drawn)
    lanes = WIDTHS_OF_FLOATS[-1]
    values = np.float32(np.random.default_rng(seed).uniform(-2.0, 2.0, (LEAVES, lanes)))
    found, failed = run(task, values, lanes)
    cut, also_failed = run(task, values, lanes, limit)
    assert all(map(same, found, cut)) and failed == also_failed
    for narrow in WIDTHS_OF_FLOATS[:-1]:
        some, bits = run(task, values[:, :narrow], narrow)
        assert all(same(x, y[:, :narrow]) for x, y in zip(some, found, strict=True))
        assert bits == failed & ((1 << narrow) - 1)


def same(x, y):
    return x.dtype == y.dtype == np.float32 and np.array_equal(x, y, equal_nan=True)


@given(random_tasks(), widths, st.integers(2, 9), st.sampled_from((1e4, 1e9, 1e30, np.inf)), seeds)
@settings(max_examples=15)
def test_numbers_of_any_size_give_the_same_bits_however_a_graph_is_cut(
    drawn, lanes, limit, scale, seed
):
    task, _ = as_task(drawn)
    rng = np.random.default_rng(seed)
    values = rng.uniform(-2.0, 2.0, (LEAVES, lanes))
    values[rng.random(values.shape) < 0.3] *= scale
    (one, failed), (other, also_failed) = (run(task, values, lanes, n) for n in (limit, 10_000))
    assert all(map(same, one, other))
    assert failed == also_failed


@pytest.mark.parametrize("lanes", WIDTHS_OF_FLOATS)
def test_a_lane_that_fails_is_named_and_others_are_not(lanes):
    graph = Graph()
    x = graph.input(("x", 0))
    task = Task(graph, ("x",), ((x + 1.0,),), (graph.less(0.0, x), graph.less(x, 5.0)))
    good = np.arange(lanes) * 0.25 + 0.5
    assert run(task, good[None], lanes)[1] == 0
    for bad in (-1.0, 0.0, 7.0, np.nan, np.inf):
        for lane in range(lanes):
            values = good.copy()
            values[lane] = bad
            assert run(task, values[None], lanes)[1] == 1 << lane


# -- constants -------------------------------------------------------------------------------


def sum_with(constant):
    graph = Graph()
    return Task(graph, ("x",), ((graph.input(("x", 0)) + constant,),))


def test_constants_are_rounded_to_floats():
    [[found]], _ = run(sum_with(0.1), np.zeros((1, 4)), 4)
    assert np.array_equal(found, np.full(4, 0.1, np.float32))


@pytest.mark.parametrize("tiny", [1e-46, 1e-60, -1e-300])
def test_a_constant_too_small_for_a_float_counts_for_nothing(tiny):
    [[found]], _ = run(sum_with(tiny), np.zeros((1, 4)), 4)
    assert np.array_equal(found, np.zeros(4))
    assert run(sum_with(1e-45), np.zeros((1, 1)), 1)[0][0][0, 0] > 0.0


@pytest.mark.parametrize("large", [1e39, -1e60, 3.5e38])
def test_a_constant_too_large_for_a_float_is_refused(large):
    with pytest.raises(BackendError, match="is too large for single precision"):
        write_kernel(sum_with(large), 4, real="float")
    assert write_kernel(sum_with(large), 4).work == 0
    assert run(sum_with(3.4e38), np.zeros((1, 1)), 1)[0][0][0, 0] == np.float32(3.4e38)


def test_infinity_is_a_float():
    assert Width(1, "float").constant(np.inf) == Width(1).constant(np.inf)


def test_both_kinds_are_as_numpy_has_them():
    for real in REALS.values():
        facts = np.finfo(real.dtype)
        assert facts.bits == 8 * real.bytes
        assert facts.nmant + 1 == real.digits
        assert facts.maxexp == real.half_range
        assert real.sign == 1 << (facts.bits - 1)
        assert np.isfinite(real.dtype.type(real.huge) ** 4)


def test_rounding_names_the_number_that_is_too_large():
    floats = REALS["float"]
    assert np.array_equal(floats.rounded([1.0, 1e-60, np.inf]), np.float32([1.0, 0.0, np.inf]))
    assert np.isnan(floats.rounded(np.nan))
    with pytest.raises(BackendError, match=r"1e\+50.*dtype=float"):
        floats.rounded([1.0, 1e50])
    assert REALS["double"].rounded(1e50) == 1e50
