"""What entries leave to others: they answer None, and have done nothing."""

import pickle

import numpy as np
import pytest
from entry_cases import (
    BATCHES,
    XS,
    ZS,
    X,
    Z,
    entry_of,
    ordinary_entry,
    plan_of,
    with_entry,
    with_state,
)
from hand_kernels import WIDTHS, expected, layouts, mixed, mixed_plan
from hypothesis import given
from hypothesis import strategies as st

every_width = pytest.mark.parametrize("lanes", WIDTHS)


@pytest.fixture(scope="module")
def entry():
    return ordinary_entry()


class Subclass(np.ndarray):
    pass


def shifted(x):
    """The same numbers, one byte off."""
    memory = np.zeros(8 * x.size + 8, np.uint8)
    there = memory[1 : 8 * x.size + 1].view(float)
    there[:] = x
    return there


REFUSED = {
    "nothing": (),
    "too few": (X,),
    "too many": (X, Z, Z),
    "a list": ([1.0] * 7, Z),
    "a tuple of integers": (X, (1, 1)),
    "a tuple of NumPy's numbers": (X, (np.float64(1.0), 1.0)),
    "a tuple too short": (X, (1.0,)),
    "a tuple too long": (X, (1.0, 1.0, 1.0)),
    "an empty tuple": (X, ()),
    "a tuple of tuples": (X, ((1.0, 1.0),)),
    "a tuple with NaN": (X, (1.0, np.nan)),
    "a tuple with inf": (X, (-np.inf, 1.0)),
    "a tuple of many states": (XS, ((1.0, 1.0),) * 9),
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
    "more states": (XS, np.ones((10, 2))),
    "fewer states": (XS, ZS[:8]),
    "one for all": (XS, ZS[:1]),
    "no states": (XS[:0], ZS[:0]),
    "no states and some": (XS[:0], ZS),
    "some states and none": (XS, ZS[:0]),
    "no states and one": (XS[:0], Z),
    "one state and none": (X, ZS[:0]),
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


def test_names_that_do_not_fit_are_refused_with_none(entry):
    for x, z in ((X, Z), (XS, ZS)):
        assert entry(x, z=z) is None  # its arguments are x0 and x1
        assert entry(x, x0=x) is None
        assert entry(x, z, x1=z) is None
        assert entry(x, x1=None) is None
        assert entry(x, z, threads=1) is None
        assert entry(x, z, **{}) is not None


def no_outputs():
    good = np.empty((9, 7))
    frozen = good.copy()
    frozen.flags.writeable = False
    return {
        "a list": [0.0] * 7,
        "a number": 1.0,
        "a tuple for one": (good,),
        "of one state": np.empty(7),
        "shorter": np.empty((8, 7)),
        "narrower": np.empty((9, 6)),
        "single precision": np.empty((9, 7), np.float32),
        "integers": np.empty((9, 7), int),
        "by columns": np.empty((7, 9)).T,
        "every other": np.empty((18, 7))[::2],
        "read-only": frozen,
        "a subclass": good.view(Subclass),
        "other byte order": np.empty((9, 7), ">f8"),
        "misaligned": shifted(good.ravel()).reshape(9, 7),
    }


@pytest.mark.parametrize("out", no_outputs().values(), ids=no_outputs())
def test_what_cannot_take_results_is_refused_with_none(entry, out):
    assert entry(XS, ZS, out=out) is None


def test_results_do_not_go_where_arguments_are_read(entry):
    xs, memory = XS.copy(), np.ones(200)
    assert entry(xs, ZS, out=xs) is None
    x, out = memory[:63].reshape(9, 7), memory[60:123].reshape(9, 7)
    assert entry(x, ZS, out=out) is None and entry(out, ZS, out=x) is None
    assert entry(x, ZS, out=memory[63:126].reshape(9, 7)) is not None
    one = memory[:7]
    assert entry(one, Z, out=memory[6:13]) is None
    assert np.all(memory[:63] == 1.0) and np.all(xs == 1.0)


def test_matrices_have_rows_and_columns():
    entry = entry_of(mixed_plan(((2, 3),), ((),), "host", 1, 1))
    assert type(entry(np.ones((2, 3)))) is np.float64
    assert entry(np.ones((1, 2, 3))).shape == (1,)
    assert entry(np.ones((5, 2, 3))).shape == (5,)
    for shape in ((3, 2), (6,), (1, 6), (6, 1), (2, 3, 1), (2, 2), (3, 3)):
        assert entry(np.ones(shape)) is None
    for batch in ((1, 1), (5, 1), (2, 1, 3, 2)):
        assert entry(np.ones((*batch, 2, 3))).shape == batch
    for shape in ((2, 3, 2), (5, 6), (5, 1, 6), (5, 2, 2), (0, 2, 3), (1,) * 9 + (2, 3)):
        assert entry(np.ones(shape)) is None
    assert entry(np.ones((3, 2)).T) is None
    assert entry(np.ones((5, 3, 2)).transpose(0, 2, 1)) is None
    assert entry(np.ones((2, 3, 5)).transpose(2, 0, 1)) is None


def test_numbers_are_arrays_without_dimensions():
    entry = entry_of(mixed_plan(((), (2,)), ((),), "host", 1, 1))
    assert entry(np.array(2.0), Z) is not None
    for number in (2.0, np.float64(2.0), np.array(2)):
        assert entry(number, Z) is None
    for numbers in (np.ones(9), np.array(2.0)):
        assert entry(numbers, ZS).shape == (9,)
    for numbers in (np.ones((9, 1)), np.ones(1), np.ones(9, int)):
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
