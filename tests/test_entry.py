"""Ordinary arrays past NumPy's ufuncs: the same numbers or None, and nothing left behind."""

import ctypes
import gc
import pickle
import sys
import sysconfig
import threading
import time
import weakref

import numpy as np
import pytest
from hand_kernels import (
    BASELINE,
    WIDTHS,
    expected,
    layouts,
    make_plan,
    mixed,
    mixed_plan,
    outer,
    target,
    twice_plus_first,
)
from hypothesis import given
from hypothesis import strategies as st
from test_llvm import subprocess_says
from test_trace import job_of

import phipsi as pp
from phipsi.backends import entry as entries
from phipsi.backends.entry import ROOM, make_entry
from phipsi.backends.gufunc import Plan, make_gufunc
from phipsi.backends.llvm import Target, compile_module
from phipsi.backends.machine_code import compile_job
from phipsi.operators import C, Mass, T

INPUTS, OUTPUTS = ((7,), (2,)), ((7,),)
SEVERAL = (((7,), (2,)), ((7,), (), (2, 2)))
SHAPES = [
    (((),), ((),)),
    (((1,),), ((1, 1),)),
    (((6,), (6,), (6,)), ((6,),)),
    (((7,), (6,)), ((6, 6),)),
    (((7,), (6,), ()), ((6,), ())),
    (((2, 3), (1, 4)), ((3, 2), (1,), (4, 4), ())),
    (((5,),) * 40, ((3,),) * 24),
]


BATCHES = (1, 2, 7, 8, 9, 33, 100)

every_width = pytest.mark.parametrize("lanes", WIDTHS)


def entry_of(plan, name="entry", doc="", kernel=None, **more):
    given = {"work": 0, "tables": 0, "target": Target.host(), **more}
    kernel = plan.keep.address("single") if kernel is None else kernel
    return make_entry(plan, kernel, name=name, doc=doc, **given)


def plan_of(function=twice_plus_first, inputs=INPUTS, outputs=OUTPUTS, lanes=1, **more):
    return make_plan(function, inputs, outputs, target("host", lanes), **more)


@pytest.fixture(scope="module")
def entry():
    """Of single states; four at a time of many."""
    return entry_of(plan_of(lanes=4), "twice_plus_first", "Twice x, plus the first of z.")


def as_tuple(results):
    return results if isinstance(results, tuple) else (results,)


# -- what is computed ------------------------------------------------------------------------


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


def test_an_entry_has_a_name_and_a_text(entry):
    assert entry.__name__ == "twice_plus_first"
    assert entry.__doc__ == "Twice x, plus the first of z."
    assert callable(entry) and "built-in" in repr(entry)


# Says where everything lies: input, output, room to work in, tables. It fills the room.
PLACES = """
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define i64 @single(ptr %ins, ptr %outs, ptr %work, ptr %tables) nounwind {
  call void @llvm.memset.p0.i64(ptr %work, i8 -1, i64 BYTES, i1 false)
  %in = load ptr, ptr %ins, align 8
  %out = load ptr, ptr %outs, align 8
  %out.1 = getelementptr ptr, ptr %out, i64 1
  %out.2 = getelementptr ptr, ptr %out, i64 2
  %out.3 = getelementptr ptr, ptr %out, i64 3
  store ptr %in, ptr %out, align 8
  store ptr %out, ptr %out.1, align 8
  store ptr %work, ptr %out.2, align 8
  store ptr %tables, ptr %out.3, align 8
  ret i64 0
}
"""


def places_entry(code, work, tables):
    here = target("host", 1)
    plan = Plan(here, [(3,)], [(4,)], lanes=code.address("single"), work=work, keep=code)
    return entry_of(plan, "places", work=work, tables=tables)


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


# -- what is left to others ------------------------------------------------------------------


class Subclass(np.ndarray):
    pass


def shifted(x):
    """The same numbers, one byte off."""
    memory = np.zeros(8 * x.size + 8, np.uint8)
    there = memory[1 : 8 * x.size + 1].view(float)
    there[:] = x
    return there


def with_entry(value, at=0):
    x = np.ones(7)
    x[at] = value
    return x


X, Z = np.ones(7), np.ones(2)
XS, ZS = np.ones((9, 7)), np.ones((9, 2))


def with_state(value, state, at=0):
    x = XS.copy()
    x[state, at] = value
    return x


REFUSED = {
    "nothing": (),
    "too few": (X,),
    "too many": (X, Z, Z),
    "a list": ([1.0] * 7, Z),
    "a tuple": (X, (1.0, 1.0)),
    "a number": (X, 1.0),
    "None": (X, None),
    "a type": (np.ndarray, Z),
    "a NumPy number": (X, np.float64(1.0)),
    "float32": (X.astype(np.float32), Z),
    "longdouble": (X.astype(np.longdouble), Z),
    "complex": (X.astype(complex), Z),
    "integers": (X, np.array([1, 2])),
    "times": (X.view("m8[s]"), Z),
    "objects": (X.astype(object), Z),
    "other byte order": (X, Z.astype(Z.dtype.newbyteorder())),
    "fields": (X.view([("number", float)]), Z),
    "many states and one": (XS, Z),
    "one state and many": (X, ZS),
    "a batch of one and a state": (X[None], Z),
    "a state and a batch of one": (X, Z[None]),
    "more states": (XS, np.ones((10, 2))),
    "fewer states": (XS, ZS[:8]),
    "one for all": (XS, ZS[:1]),
    "no states": (XS[:0], ZS[:0]),
    "no states and some": (XS[:0], ZS),
    "some states and none": (XS, ZS[:0]),
    "no states and one": (XS[:0], Z),
    "one state and none": (X, ZS[:0]),
    "states in rows": (XS.reshape(3, 3, 7), ZS.reshape(3, 3, 2)),
    "states in one row": (XS[None], ZS[None]),
    "states in one column": (XS[:, None], ZS[:, None]),
    "many dimensions": (np.ones((1,) * 31 + (7,)), Z),
    "states of shorter": (XS[:, :-1].copy(), ZS),
    "states of longer": (XS, np.ones((9, 3))),
    "states of numbers": (XS, np.ones(9)),
    "as many numbers": (np.ones(63), ZS),
    "states across": (np.ones((7, 9)), np.ones((2, 9))),
    "states by columns": (np.ones((7, 9)).T, ZS),
    "Fortran's order": (np.asfortranarray(XS), ZS),
    "every other state": (np.ones((18, 7))[::2], ZS),
    "states backwards": (XS, ZS[::-1]),
    "a part of each state": (np.ones((9, 8))[:, :7], ZS),
    "one state for all": (np.broadcast_to(X, (9, 7)), ZS),
    "misaligned states": (shifted(XS.ravel()).reshape(9, 7), ZS),
    "states of a subclass": (XS, ZS.view(Subclass)),
    "states of np.matrix": (XS.view(np.matrix), ZS),
    "masked states": (XS, np.ma.array(ZS)),
    "states of float32": (XS, ZS.astype(np.float32)),
    "states of integers": (XS.astype(int), ZS),
    "states of objects": (XS.astype(object), ZS),
    "states of other byte order": (XS, ZS.astype(ZS.dtype.newbyteorder())),
    "a list of states": (XS.tolist(), ZS),
    "states, too few": (XS,),
    "states, too many": (XS, ZS, ZS),
    "NaN in the first state": (with_state(np.nan, 0), ZS),
    "NaN in the last state": (with_state(np.nan, 8, 6), ZS),
    "inf in a state": (XS, np.where(np.arange(18).reshape(9, 2) == 7, -np.inf, 1.0)),
    "1e61 in a state": (with_state(1e61, 4, 3), ZS),
    "alarm in the first state": (with_state(-1.0, 0), ZS),
    "alarm in a state": (with_state(-1.0, 5), ZS),
    "alarm in the last state": (with_state(-1.0, 8), ZS),
    "alarm in all states": (-XS, ZS),
    "a number for a vector": (X, np.array(1.0)),
    "shorter": (X[:-1], Z),
    "longer": (X, np.ones(3)),
    "empty": (X, Z[:0]),
    "every other": (np.ones(14)[::2], Z),
    "backwards": (X[::-1], Z),
    "broadcast": (np.broadcast_to(1.0, 7), Z),
    "misaligned": (shifted(X), Z),
    "a subclass": (X.view(Subclass), Z),
    "a matrix of np.matrix": (X, np.ones((1, 2)).view(np.matrix)),
    "masked": (np.ma.array(X), Z),
    "NaN": (with_entry(np.nan), Z),
    "NaN last": (with_entry(np.nan, 6), Z),
    "inf": (with_entry(np.inf, 3), Z),
    "-inf": (X, np.array([1.0, -np.inf])),
    "inf and NaN": (with_entry(np.inf), np.array([np.nan, 1.0])),
    "1e61": (with_entry(-1e61, 5), Z),
    "1e300": (X, np.array([1.0, 1e300])),
    "alarm": (with_entry(-1.0), Z),
}


@pytest.mark.parametrize("arguments", REFUSED.values(), ids=REFUSED)
def test_refused_with_none(entry, arguments):
    assert entry(X, Z) is not None and entry(XS, ZS) is not None
    assert entry(*arguments) is None


def test_named_arguments_are_refused_with_none(entry):
    for x, z in ((X, Z), (XS, ZS)):
        assert entry(x, z=z) is None
        assert entry(x=x, z=z) is None
        assert entry(x, z, out=np.ones_like(x)) is None
        assert entry(x, z, **{}) is not None


def test_matrices_have_rows_and_columns():
    entry = entry_of(mixed_plan(((2, 3),), ((),), "host", 1, 1))
    assert type(entry(np.ones((2, 3)))) is np.float64
    assert entry(np.ones((1, 2, 3))).shape == (1,)
    assert entry(np.ones((5, 2, 3))).shape == (5,)
    for shape in ((3, 2), (6,), (1, 6), (6, 1), (2, 3, 1), (2, 2), (3, 3)):
        assert entry(np.ones(shape)) is None
    for shape in ((2, 3, 2), (5, 6), (5, 1, 6), (5, 2, 2), (0, 2, 3), (1, 1, 2, 3), (5, 1, 2, 3)):
        assert entry(np.ones(shape)) is None
    assert entry(np.ones((3, 2)).T) is None
    assert entry(np.ones((5, 3, 2)).transpose(0, 2, 1)) is None
    assert entry(np.ones((2, 3, 5)).transpose(2, 0, 1)) is None


def test_numbers_are_arrays_without_dimensions():
    entry = entry_of(mixed_plan(((), (2,)), ((),), "host", 1, 1))
    assert entry(np.array(2.0), Z) is not None
    for number in (2.0, np.float64(2.0), np.array([2.0]), np.array(2)):
        assert entry(number, Z) is None
    assert entry(np.ones(9), ZS).shape == (9,)
    for numbers in (np.array(2.0), np.ones((9, 1)), np.ones(1), np.ones(9, int)):
        assert entry(numbers, ZS) is None


def test_a_batch_of_one_lies_straight_whatever_its_strides(entry):
    """NumPy does not look at the stride of an axis along which there is one entry."""
    memory = np.arange(50.0)
    x = np.lib.stride_tricks.as_strided(memory, (1, 7), (56 * 3, 8))
    z = np.lib.stride_tricks.as_strided(memory, (1, 2), (-16, 8))
    assert x.flags.c_contiguous and z.flags.c_contiguous
    assert np.array_equal(entry(x, z), [2.0 * memory[:7]])
    matrix = entry_of(mixed_plan(((1, 4),), ((),), "host", 4, 1))
    rows = np.lib.stride_tricks.as_strided(memory, (5, 1, 4), (32, 8 * 999, 8))
    assert rows.flags.c_contiguous
    assert np.array_equal(matrix(rows), matrix(memory[:20].reshape(5, 1, 4)))


@every_width
def test_inputs_may_be_large_but_not_huge(lanes):
    entry = entry_of(plan_of(lanes=lanes))
    assert np.array_equal(entry(with_entry(0.99e60), Z)[1:], [3.0] * 6)
    assert entry(with_entry(1.0e60), Z) is None
    assert entry(with_entry(0.8e60), np.array([1.0, 0.5e60])) is not None
    assert entry(with_entry(0.8e60), np.array([1.0, 0.8e60])) is None
    large = 0.99e60 * np.eye(9, 7) + XS  # each state is, but not all together
    assert np.array_equal(entry(large, ZS), 2.0 * large + 1.0)
    for state in range(9):
        assert entry(with_state(1.01e60, state), ZS) is None
        z = ZS.copy()
        z[state, 1] = 0.8e60
        assert entry(with_state(0.5e60, state), z) is not None
        assert entry(with_state(0.8e60, state), z) is None


def test_memory_that_cannot_be_written_is_read(entry):
    x, z = np.arange(7.0), np.ones(2)
    x.flags.writeable = z.flags.writeable = False
    assert np.array_equal(entry(x, z), 2.0 * x + 1.0)
    assert np.array_equal(entry(np.frombuffer(x.tobytes()), z), 2.0 * x + 1.0)
    xs, zs = np.arange(63.0).reshape(9, 7), ZS.copy()
    xs.flags.writeable = zs.flags.writeable = False
    assert np.array_equal(entry(xs, zs), 2.0 * xs + 1.0)


def test_doubles_are_known_by_any_name(entry):
    """Arrays that were pickled carry a dtype object of their own, and pass it on."""
    x = pickle.loads(pickle.dumps(np.arange(7.0)))
    annotated = np.ones(2, np.dtype(float, metadata={"unit": "m"}))
    assert x.dtype is not np.dtype(float) and annotated.dtype is not np.dtype(float)
    for result in (entry(x, Z), entry(x + 0.0, annotated)):
        assert np.array_equal(result, 2.0 * x + 1.0)
        assert result.dtype is np.dtype(float)
    xs = pickle.loads(pickle.dumps(np.arange(63.0).reshape(9, 7)))
    result = entry(xs, np.ones((9, 2), annotated.dtype))
    assert np.array_equal(result, 2.0 * xs + 1.0) and result.dtype is np.dtype(float)


@given(st.data(), st.sampled_from([(7,), (2, 3), (1, 4), (4, 1), (1, 1)]))
def test_arrays_in_any_layout_give_the_right_numbers_or_none(data, shape):
    inputs, outputs = (shape, ()), ((), (2, 2))
    entry = entry_of(mixed_plan(inputs, outputs, "host", 1, 1))
    layout = data.draw(layouts(shape))
    x, y = layout.view(layout.memory()), np.array(0.5)
    x[...] = np.random.default_rng(0).random(shape)
    plain = x.flags.c_contiguous and x.flags.aligned and x.dtype.isnative
    results = entry(x, y)
    assert (results is not None) == plain
    if plain:
        right = expected(mixed(inputs, outputs), inputs, outputs, x, y)
        assert all(map(np.array_equal, results, right))


@given(st.data(), st.sampled_from([(), (7,), (2, 3), (1, 4), (1, 1)]), st.sampled_from(WIDTHS))
def test_states_in_any_layout_give_the_right_numbers_or_none(data, shape, lanes):
    inputs, outputs = (shape, ()), ((), (2, 2))
    entry = entry_of(mixed_plan(inputs, outputs, "host", lanes, 1))
    batch = data.draw(st.sampled_from((0, *BATCHES)))
    layout = data.draw(layouts((batch, *shape)))
    x, y = layout.view(layout.memory()), np.random.default_rng(1).random(batch)
    x[...] = np.random.default_rng(0).random(x.shape)
    plain = x.flags.c_contiguous and x.flags.aligned and x.dtype.isnative and batch > 0
    results = entry(x, y)
    assert (results is not None) == plain
    if plain:
        right = expected(mixed(inputs, outputs), inputs, outputs, x, y)
        assert all(map(np.array_equal, results, right))


def test_numpy_reports_nothing_of_what_happened_in_a_call(entry):
    calls = [(with_entry(value), Z) for value in (1e200, np.inf, 1e-200)]
    calls += [(with_state(value, 3), ZS) for value in (1e200, np.inf, 1e-200)]
    with np.errstate(all="raise"):
        for arguments in calls:
            entry(*arguments)
            assert np.array_equal(X + X, 2.0 * X)
            assert np.float64(1.0) / np.float64(4.0) == 0.25
            assert np.array_equal(np.linalg.inv(np.eye(2)), np.eye(2))


def test_what_is_being_raised_goes_on(entry):
    def during():
        try:
            raise KeyError("first")
        finally:
            assert entry(X, Z) is not None and entry(X) is None
            assert entry(XS, ZS) is not None and entry(-XS, ZS) is None

    with pytest.raises(KeyError, match="first"):
        during()


def test_too_large_a_result_is_a_memory_error():
    for outputs in (((2**58,),), ((7,), (2**29, 2**29), (7,))):
        plan = plan_of()
        plan.outputs = outputs
        entry = entry_of(plan)
        for arguments in ((X, Z), (X[None], Z[None]), (XS[:2], ZS[:2])):
            with pytest.raises(MemoryError):
                entry(*arguments)
        assert plan.counter[0] == 0


@every_width
def test_without_memory_to_work_in_many_states_are_left_to_others(lanes):
    plan = plan_of(lanes=lanes, work=2**62)
    entry = entry_of(plan)
    assert entry(XS, ZS) is None
    assert plan.counter[0] == 1
    assert np.array_equal(entry(X, Z), [3.0] * 7)


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
        code = compile_job(job, unroll, lanes)
        right = code.gufunc(*arrays)
        assert all(map(np.array_equal, code.entry(*arrays), right))
        alone = code.entry(*(x[5] for x in arrays))
        assert (alone is not None) == (single or not unroll or lanes == 1)
        assert alone is None or all(
            np.array_equal(x, y[5]) for x, y in zip(alone, right, strict=True)
        )
        assert code.counter[0] == 0


class Longer(ctypes.Structure):
    _fields_ = (("more", ctypes.c_int64), *entries._Array._fields_)


class Swapped(ctypes.Structure):
    _fields_ = tuple(entries._Array._fields_[i] for i in (0, 1, 2, 3, 5, 4, 6, 7, 8))


class OtherNumbers(ctypes.Structure):
    _fields_ = tuple(entries._Descr._fields_[i] for i in (0, 1, 2, 4, 3, 5, 6))


@pytest.mark.parametrize(
    ("where", "what"),
    [
        ("phipsi.backends.entry._Array", Longer),
        ("phipsi.backends.entry._Array", Swapped),
        ("phipsi.backends.entry._Descr", OtherNumbers),
        ("phipsi.backends.entry._VERSION", 0x03000000),
        ("phipsi.backends.entry._NDARRAY", 3),
        ("sys.implementation.name", "pypy"),
        ("sysconfig.get_config_var", {"Py_GIL_DISABLED": 1}.get),
    ],
)
def test_another_python_or_numpy_makes_no_entry(monkeypatch, where, what):
    plan = plan_of()
    monkeypatch.setattr(where, what)
    entries._is_as_expected.cache_clear()
    assert entry_of(plan) is None
    monkeypatch.undo()
    entries._is_as_expected.cache_clear()
    assert entry_of(plan) is not None


def test_this_python_has_entries():
    free_threaded = sysconfig.get_config_var("Py_GIL_DISABLED")
    assert entries._is_as_expected() == (not free_threaded)


# -- lifetime --------------------------------------------------------------------------------


def test_one_piece_of_code_serves_all_shapes(monkeypatch):
    made = []

    def counted(*arguments):
        made.append(arguments)
        return compile_module(*arguments)

    plans = [mixed_plan(inputs, outputs, "host", 1, 1) for inputs, outputs in SHAPES]
    monkeypatch.setattr(entries, "compile_module", counted)
    entries._entry_code.cache_clear()
    for work, plan in enumerate(plans):
        for lanes in (1, 2, 4):
            entry_of(plan, work=8 * work, target=target("host", lanes))
    assert len(made) == 1
    entry_of(plans[0], target=Target(BASELINE, "", 1))
    assert len(made) == 2


def test_an_entry_keeps_alive_what_it_needs_and_takes_it_along():
    plan = plan_of()
    seen = [weakref.ref(plan), weakref.ref(plan.keep)]
    entry = entry_of(plan, "some" + "_name", "Some " + "text.")
    del plan
    entries._entry_code.cache_clear()
    gc.collect()
    for _ in range(20):  # other code where this one would have been
        other = entry_of(plan_of(), "other", "Other text.")
        entries._entry_code.cache_clear()
    x = np.random.default_rng(1).random(7)
    assert np.array_equal(entry(x, np.zeros(2)), 2.0 * x)
    assert np.array_equal(other(x, np.zeros(2)), 2.0 * x)
    xs = np.random.default_rng(2).random((33, 7))
    assert np.array_equal(entry(xs, np.zeros((33, 2))), 2.0 * xs)
    assert np.array_equal(other(xs, np.zeros((33, 2))), 2.0 * xs)
    assert entry.__name__ == "some_name" and entry.__doc__ == "Some text."
    assert all(ref() is not None for ref in seen)
    del entry
    assert [ref() for ref in seen] == [None, None]


def test_an_entry_owns_exactly_one_reference():
    plan = plan_of()
    before = sys.getrefcount(plan)
    entry = entry_of(plan)
    assert sys.getrefcount(plan) == before + 1
    del entry
    assert sys.getrefcount(plan) == before


def test_finalizers_in_a_cycle_still_call():
    results = []

    class Owner:
        def __del__(self):
            results.append((self.entry(X, Z), self.entry(XS, ZS), self.code() is not None))

    owner, plan = Owner(), plan_of()
    owner.entry, owner.itself, owner.code = entry_of(plan), owner, weakref.ref(plan.keep)
    code = owner.code
    del owner, plan
    gc.collect()
    ((one, many, was_there),) = results
    assert np.array_equal(one, 3.0 * X) and np.array_equal(many, 3.0 * XS) and was_there
    assert code() is None


def test_no_reference_is_lost_or_left(entry):
    several = entry_of(mixed_plan(*SEVERAL, "host", 4, 1))
    x, z, negative = np.ones(7), np.ones(2), with_entry(-1.0)
    xs, zs, negatives = np.ones((9, 7)), np.ones((9, 2)), with_state(-1.0, 5)
    strange = [[1.0] * 7, np.ones(3), np.ones(7, np.float32), with_entry(np.nan)]
    strange += [np.ones((8, 7)), np.ones((0, 7)), with_state(np.nan, 8)]
    known = [x, z, negative, xs, zs, negatives, *strange, entry, several]
    objects = [*known, np.dtype(float), np.ndarray, None]
    counts = {id(y): 0 for y in objects}

    def count():
        for y in objects:
            counts[id(y)] = sys.getrefcount(y)
        return counts.copy()

    def calls(n):
        for _ in range(n):
            entry(x, z)
            several(x, z)
            entry(negative, z)
            several(negative, z)
            entry(xs, zs)
            several(xs, zs)
            entry(negatives, zs)
            several(negatives, zs)
            entry(xs, z)
            several(x, zs)
            entry()
            for y in strange:
                entry(y, z)
                entry(y, zs)
                several(x, y)

    calls(10)
    before = count()
    calls(10_000)
    after = count()
    # None and the common dtype are used by all of Python: here and there by one more or less.
    assert all(abs(after[key] - before[key]) < 100 for key in before)
    assert all(after[id(y)] == before[id(y)] for y in known)


@pytest.mark.parametrize(("x", "z"), [(X, Z), (XS, ZS)], ids=["one state", "many states"])
def test_a_result_has_one_owner(entry, x, z):
    one = entry(x, z)
    several = entry_of(mixed_plan(*SEVERAL, "host", 4, 1))(x, z)
    fresh = np.ones(7)
    assert sys.getrefcount(one) == sys.getrefcount(fresh)
    array, number, matrix = several
    held = (np.ones(7), np.float64(1.0) * 3.0, np.ones((2, 2)))
    a, b, c = held
    found = [sys.getrefcount(x) for x in (array, number, matrix)]
    assert found == [sys.getrefcount(x) for x in (a, b, c)]
    assert sys.getrefcount(several) == sys.getrefcount(held)


MEMORY = """
import resource, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from hand_kernels import make_plan, mixed, target
from phipsi.backends.entry import make_entry
from phipsi.backends.gufunc import Plan

inputs, outputs = ((500,), ()), ((500,), (), (20, 20))
plan = make_plan(mixed(inputs, outputs), inputs, outputs, target("host", 4))
more = dict(work=0, tables=0, target=target("host", 4), name="entry", doc="")

def entry(outputs):
    addresses = {name: plan.keep.address(name) for name in ("lanes", "single")}
    own = Plan(plan.driver.target, plan.inputs, plan.outputs, keep=np.ones(500), **addresses)
    own.outputs = outputs
    return make_entry(own, addresses["single"], **more)

good, large = entry(outputs), entry(((500,), (), (2**58,)))
one = np.ones(500), np.array(1.0), -np.ones(500), np.ones(501)
many = [np.stack([a, a]) for a in one]

def cycle(n):
    for _ in range(n):
        for x, y, negative, strange in (one, many):
            assert good(x, y) is not None
            assert good(negative, y) is None
            assert good(strange, y) is None
            assert entry(outputs)(x, y) is not None
            try:
                large(x, y)
            except MemoryError:
                pass

cycle(300)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
cycle(10_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="reads the memory in use by getrusage")
def test_calls_leave_no_memory_behind(request):
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(subprocess_says(MEMORY, str(request.path.parent))) * unit < 2e6


def test_threads_share_an_entry():
    code = compile_module(PLACES.replace("BYTES", str(ROOM)), Target.host())
    places = places_entry(code, ROOM, 0)
    entry = entry_of(mixed_plan(*SEVERAL, "host", 1, 1))
    wrong, rooms = [], {}
    together = threading.Barrier(4)

    def work(seed):
        rng = np.random.default_rng(seed)
        together.wait()
        rooms[seed] = places(np.ones(3)).view(np.int64)[2]
        for _ in range(2000):
            x, z = rng.random(7), rng.random(2)
            right = expected(mixed(*SEVERAL), *SEVERAL, x, z)
            if not all(map(np.array_equal, entry(x, z), right)):
                wrong.append(seed)
        together.wait()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(set(rooms.values())) == 4


@every_width
def test_threads_share_an_entry_of_many_states(lanes):
    plan = plan_of(mixed(*SEVERAL), *SEVERAL, lanes, work=4096)
    entry, wrong = entry_of(plan, work=4096), []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(60):
            x, z = rng.random((600, 7)), rng.random((600, 2))
            right = expected(mixed(*SEVERAL), *SEVERAL, x, z)
            if not all(map(np.array_equal, entry(x, z), right)):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert plan.counter[0] == 0


# Says in its tables that it has begun, and waits until it is told there to go on; not for ever.
WAITING = """
define i64 @single(ptr %ins, ptr %outs, ptr %work, ptr %tables) nounwind {
entry:
  %go.at = getelementptr i64, ptr %tables, i64 1
  store volatile i64 1, ptr %tables, align 8
  br label %wait
wait:
  %i = phi i64 [ 0, %entry ], [ %i.next, %again ]
  %go = load volatile i64, ptr %go.at, align 8
  %told = icmp ne i64 %go, 0
  br i1 %told, label %done, label %again
again:
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, 20000000000
  br i1 %more, label %wait, label %done
done:
  %ends = phi double [ 1.0, %wait ], [ 0.0, %again ]
  %out = load ptr, ptr %outs, align 8
  store double %ends, ptr %out, align 8
  ret i64 0
}
"""


def answered(batch, answer):
    """What a kernel that waits for another thread of Python gives; that thread answers first."""
    code = compile_module(WAITING, Target.host())
    begun_and_go = np.zeros(2, np.int64)
    address = code.address("single")
    place = {"tables": begun_and_go.ctypes.data, "keep": code}
    plan = Plan(target("host", 1), [()], [()], lanes=address, **place)
    entry = entry_of(plan, tables=begun_and_go.ctypes.data, kernel=address)

    def other():
        while not begun_and_go[0]:
            time.sleep(0.001)
        answer(plan)
        begun_and_go[1] = 1

    thread = threading.Thread(target=other)
    thread.start()
    result = entry(np.ones(batch))
    begun_and_go[0] = 1  # even if it was not
    thread.join()
    return result


def test_other_threads_run_while_many_states_are_computed():
    seen = []
    for batch in (1, 3):
        assert np.array_equal(answered(batch, lambda plan: seen.append(len(seen))), [1.0] * batch)
    assert seen == [0, 1]


def test_an_alarm_of_another_thread_meanwhile_counts_for_both():
    def alarm(plan):
        plan.counter[0] += 1

    assert answered(3, alarm) is None


EXIT = """
import sys, threading, time
sys.path.insert(0, sys.argv[1])
import numpy as np
from hand_kernels import make_plan, target, twice_plus_first
from phipsi.backends.entry import make_entry

here = target("host", 4)
plan = make_plan(twice_plus_first, ((7,), (2,)), ((7,),), here)
kernel = plan.keep.address("single")
entry = make_entry(plan, kernel, work=0, tables=0, target=here, name="entry", doc="")
x, z, calls = np.ones((100_000, 7)), np.ones((100_000, 2)), []

def work():
    while True:
        calls.append(entry(x, z) is not None)

for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
while len(calls) < 4:
    time.sleep(0.001)
print(all(calls))
"""


def test_python_ends_while_threads_are_inside(request):
    assert subprocess_says(EXIT, str(request.path.parent)) == "True"
