"""Ordinary arrays past NumPy's ufuncs: the same numbers as by them."""

import numpy as np
import pytest
from entry_cases import (
    BATCHES,
    INPUTS,
    OUTPUTS,
    PLACES,
    SEVERAL,
    SHAPES,
    XS,
    ZS,
    X,
    Z,
    as_tuple,
    entry_of,
    ordinary_entry,
    places_entry,
    plan_of,
    single_plan,
    with_entry,
    with_state,
)
from hand_kernels import WIDTHS, expected, mixed, mixed_plan, outer, target
from test_trace import job_of

import phipsi as pp
from phipsi.backends.entry import ROOM, Callers
from phipsi.backends.gufunc import make_gufunc
from phipsi.backends.llvm import Target, compile_module
from phipsi.backends.real import LONGEST_TUPLE
from phipsi.compile import make_code
from phipsi.operators import C, Mass, T

every_width = pytest.mark.parametrize("lanes", WIDTHS)


@pytest.fixture(scope="module")
def entry():
    return ordinary_entry()


@pytest.mark.parametrize("where", ["host", "baseline"])
@pytest.mark.parametrize(("inputs", "outputs"), SHAPES)
def test_results_are_those_of_the_gufunc(inputs, outputs, where):
    plan = mixed_plan(inputs, outputs, where, 2, 1)
    entry = entry_of(plan, target=target(where, 2))
    gufunc = make_gufunc(plan, "mixed", "")
    rng = np.random.default_rng(0)
    for _ in range(3):
        arrays = [np.asarray(rng.random(shape)) for shape in inputs]
        found, right = entry(*arrays), gufunc(*arrays)
        assert type(found) is type(right)
        truth = expected(mixed(inputs, outputs), inputs, outputs, *arrays)
        for x, y, z, shape in zip(*map(as_tuple, (found, right)), truth, outputs, strict=True):
            assert type(x) is type(y) is (np.ndarray if shape else np.float64)
            assert x.shape == shape and x.dtype is np.dtype(float)
            assert np.array_equal(x, y) and np.array_equal(x, z)


@every_width
@pytest.mark.parametrize("where", ["host", "baseline"])
@pytest.mark.parametrize(("inputs", "outputs"), SHAPES)
def test_results_of_many_states_are_those_of_the_gufunc(inputs, outputs, where, lanes):
    for few in (0, 1):
        plan = mixed_plan(inputs, outputs, where, lanes, few)
        entry = entry_of(plan, target=target(where, lanes))
        gufunc = make_gufunc(plan, "mixed", "")
        rng = np.random.default_rng(0)
        before = plan.counter[0]
        for batch in BATCHES:
            arrays = [rng.random((batch, *shape)) for shape in inputs]
            found, right = entry(*arrays), gufunc(*arrays)
            assert type(found) is type(right)
            truth = expected(mixed(inputs, outputs), inputs, outputs, *arrays)
            for x, y, z, shape in zip(*map(as_tuple, (found, right)), truth, outputs, strict=True):
                assert type(x) is np.ndarray
                assert x.shape == (batch, *shape) and x.dtype is np.dtype(float)
                assert np.array_equal(x, y) and np.array_equal(x, z)
        assert plan.counter[0] == before


@pytest.mark.parametrize("batch", [(), (1,), (9,)])
def test_a_result_is_a_new_array_of_its_own(entry, batch):
    x, z = np.ones((*batch, 7)), np.ones((*batch, 2))
    one, two = entry(x, z), entry(x, z)
    flags = one.flags
    assert flags.owndata and flags.writeable and flags.c_contiguous and flags.aligned
    assert one.base is None
    one[:] = 0.0
    assert np.array_equal(two, 3.0 * x) and np.array_equal(x, np.ones((*batch, 7)))


@every_width
def test_a_matrix_is_filled_by_rows(lanes):
    entry = entry_of(plan_of(outer, ((2,), (3,)), ((2, 3),), lanes))
    x, y = np.array([1.0, 2.0]), np.array([3.0, 5.0, 7.0])
    assert np.array_equal(entry(x, y), np.outer(x, y))
    scales = np.arange(1.0, 12.0)[:, None]
    right = scales[:, :, None] ** 2 * np.outer(x, y)
    assert np.array_equal(entry(scales * x, scales * y), right)


@every_width
def test_the_same_array_may_be_passed_twice(lanes):
    entry = entry_of(plan_of(outer, ((3,), (3,)), ((3, 3),), lanes))
    x = np.array([1.0, 2.0, 3.0])
    assert np.array_equal(entry(x, x), np.outer(x, x))
    several = np.arange(1.0, 12.0)[:, None] * x
    assert np.array_equal(entry(several, several), several[:, :, None] * several[:, None, :])


@every_width
@pytest.mark.parametrize("entries", [1, 3, 4, 7, 16])
def test_short_vectors_may_be_tuples(entries, lanes):
    """They are numbers of one state, which many states of other arrays may share."""
    shapes = (entries,), (3,)
    entry = entry_of(plan_of(outer, shapes, ((entries, 3),), lanes))
    x, y = np.random.default_rng(entries).normal(size=entries), np.array([1.0, 2.0, 3.0])
    right = entry(x, y)
    assert np.array_equal(entry(tuple(x.tolist()), y), right)
    assert np.array_equal(entry(tuple(x.tolist()), tuple(y.tolist())), right)
    several = np.arange(1.0, 12.0)[:, None] * y
    assert np.array_equal(entry(tuple(x.tolist()), several), entry(x, several))


@pytest.mark.parametrize("shape", [(), (1, 1), (2, 2)])
def test_what_is_no_vector_may_not_be_a_tuple(shape):
    entry = entry_of(plan_of(outer, (shape, (3,)), ((max(1, np.prod(shape)), 3),)))
    x = np.ones(shape)
    assert entry(x, np.ones(3)) is not None
    assert entry((1.0,) * x.size, np.ones(3)) is None


def test_long_vectors_may_not_be_tuples():
    entry = entry_of(plan_of(outer, ((LONGEST_TUPLE + 1,), (3,)), ((LONGEST_TUPLE + 1, 3),), 4))
    x, y = np.arange(LONGEST_TUPLE + 1.0), np.ones(3)
    assert entry(x, y) is not None
    assert entry(tuple(x.tolist()), y) is None


def test_an_entry_has_a_name_and_a_text(entry):
    assert entry.__name__ == "twice_plus_first"
    assert entry.__doc__ == "Twice x, plus the first of z."
    assert callable(entry) and "built-in" in repr(entry)


@pytest.mark.parametrize("work", [0, 8, 72, 1000, ROOM])
def test_a_kernel_works_on_the_arrays_themselves_with_aligned_room(work):
    code = compile_module(PLACES.replace("BYTES", str(work)), Target.host())
    entry = places_entry(code, work, 123456)
    x = np.array([1.0, 2.0, 3.0])
    for _ in range(3):
        result = entry(x)
        into, out, room, tables = result.view(np.int64)
        assert (into, out, tables) == (x.ctypes.data, result.ctypes.data, 123456)
        assert room % 64 == 0
    assert np.array_equal(x, [1.0, 2.0, 3.0])


# -- single precision ------------------------------------------------------------------------


@pytest.mark.parametrize("lanes", [1, 4, 8])
@pytest.mark.parametrize(("inputs", "outputs"), SHAPES[:-1])
def test_floats_in_floats_out(inputs, outputs, lanes):
    """Small integers: all that is computed of them is exact, in either precision."""
    plan = single_plan(mixed(inputs, outputs), inputs, outputs, lanes)
    entry, rng = entry_of(plan, target=plan.target), np.random.default_rng(0)
    for batch in ((), (1,), (9,), (33,)):
        doubles = [rng.integers(0, 8, (*batch, *shape)).astype(float) for shape in inputs]
        singles = [np.asarray(x, np.float32) for x in doubles]
        results = as_tuple(entry(*singles))
        right = expected(mixed(inputs, outputs), inputs, outputs, *doubles)
        for x, y, shape in zip(results, right, outputs, strict=True):
            assert type(x) is (np.ndarray if batch or shape else np.float32)
            assert x.dtype is np.dtype(np.float32) and np.array_equal(x, y)
        assert entry(*doubles) is None
        assert len(inputs) == 1 or entry(*singles[:-1], doubles[-1]) is None
        for wrong in (np.nan, np.inf, 1e10, 1e30):
            singles[-1].flat[-1] = wrong
            assert entry(*singles) is None


# -- alarms ----------------------------------------------------------------------------------


@every_width
def test_the_counter_counts_tiles_of_many_states_and_no_single_states(lanes):
    plan = plan_of(lanes=lanes, few=0)
    entry = entry_of(plan)
    assert entry(with_entry(-1.0), Z) is None and entry(with_entry(np.nan), Z) is None
    assert plan.counter[0] == 0
    for batch in BATCHES:
        for states in ([0], [batch - 1], [0, batch // 2, batch - 1], [*range(batch)]):
            x, z = np.ones((batch, 7)), np.ones((batch, 2))
            before = plan.counter[0]
            assert np.array_equal(entry(x, z), 3.0 * x)
            assert plan.counter[0] == before
            x[states, 0] = -1.0
            assert entry(x, z) is None
            assert plan.counter[0] - before == len({s // lanes for s in states})


@every_width
def test_an_alarm_concerns_its_own_call_and_no_later_one(lanes):
    plan = plan_of(lanes=lanes)
    entry, other = entry_of(plan), entry_of(plan_of(lanes=lanes))
    for _ in range(3):
        assert entry(with_state(-1.0, 4), ZS) is None
        assert entry(with_state(np.nan, 4), ZS) is None
        assert np.array_equal(entry(XS, ZS), 3.0 * XS)
        assert np.array_equal(other(XS, ZS), 3.0 * XS)
        assert np.array_equal(entry(X, Z), 3.0 * X)


# -- where there is none ---------------------------------------------------------------------


@every_width
@pytest.mark.parametrize("shapes", [(INPUTS, OUTPUTS), SEVERAL], ids=["one output", "several"])
def test_without_a_kernel_of_one_state_there_are_only_many(lanes, shapes):
    """There is none, or it wants too much room."""
    plan = plan_of(mixed(*shapes), *shapes, lanes)
    rng = np.random.default_rng(0)
    for more in ({"kernel": 0}, {"work": ROOM + 8}, {"kernel": 0, "work": ROOM + 8}):
        entry = entry_of(plan, **more)
        assert entry(X, Z) is None
        assert entry(with_entry(-1.0), Z) is None
        for batch in BATCHES:
            x, z = rng.random((batch, 7)), rng.random((batch, 2))
            right = expected(mixed(*shapes), *shapes, x, z)
            assert all(map(np.array_equal, as_tuple(entry(x, z)), right))
    assert entry_of(plan, work=ROOM)(X, Z) is not None


@pytest.mark.parametrize("unroll", [True, False])
@pytest.mark.parametrize("single", [True, False])
def test_every_compiled_program_has_an_entry(monkeypatch, unroll, single):
    """Straight code that is too long for a kernel of one state has one of many states."""
    if not single:
        monkeypatch.setattr("phipsi.backends.machine_code.SINGLE", 0)
    robot = pp.examples.puma560()
    job = job_of(robot, [Mass.inv @ (T - C), Mass])
    arrays = np.random.default_rng(6).normal(size=(3, 33, robot.nv))
    for lanes in (1, 4):
        code = make_code(job, unroll, lanes)
        entry, right = code.entry(Callers(tuple(job.inputs))), code.way().gufunc(*arrays)
        assert all(map(np.array_equal, entry(*arrays), right))
        alone = entry(*(x[5] for x in arrays))
        assert (alone is not None) == (single or not unroll or lanes == 1)
        assert alone is None or all(
            np.array_equal(x, y[5]) for x, y in zip(alone, right, strict=True)
        )
        assert code.way().counter[0] == 0
