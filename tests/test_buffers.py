"""Arrays that functions are bound to: what is refused, and how states may lie."""

import ctypes

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phipsi import InputError
from phipsi.backends.buffers import Buffers

SHAPES = {"q": (7,), "v": (6,), "A": (2, 3), "s": ()}
RESULTS = [(6,), (6, 6)]


class Subclass(np.ndarray):
    pass


def arrays(batch=(), **others):
    made = {name: np.ones((*batch, *shape)) for name, shape in SHAPES.items()}
    return made | others


def results(batch=()):
    return [np.zeros((*batch, *shape)) for shape in RESULTS]


def shifted(shape):
    """Numbers that begin one byte off."""
    size = 8 * int(np.prod(shape))
    return np.zeros(size + 8, np.uint8)[1 : size + 1].view(float).reshape(shape)


def locked(array):
    array.setflags(write=False)
    return array


# -- what is taken ---------------------------------------------------------------------------


def test_results_get_arrays_of_their_own():
    for batch in ((), (1,), (4, 3), (0,)):
        buffers = Buffers(SHAPES, arrays(batch), RESULTS)
        assert buffers.batch == batch
        assert [x.shape for x in buffers.outputs] == [(*batch, *shape) for shape in RESULTS]
        assert all(x.dtype == float for x in buffers.outputs)
    single = Buffers({"q": (7,)}, {"q": np.ones(7, np.float32)}, [()], kind=np.float32)
    assert single.outputs[0].dtype == np.float32 and single.outputs[0].shape == ()


def test_given_results_are_taken_as_they_are():
    given_arrays, out = arrays((3,)), results((3,))
    buffers = Buffers(SHAPES, given_arrays, RESULTS, out)
    assert all(x is y for x, y in zip(buffers.outputs, out, strict=True))
    assert all(buffers.inputs[name] is given_arrays[name] for name in SHAPES)
    assert [(name, shape) for name, _, shape in buffers] == [
        *SHAPES.items(),
        *(("out", shape) for shape in RESULTS),
    ]


def test_inputs_may_be_read_only_and_the_same():
    x = locked(np.ones(3))
    buffers = Buffers({"x": (3,), "y": (3,)}, {"x": x, "y": x}, [()])
    assert buffers.strides == [0, 0, 0]


@given(
    n=st.integers(1, 5),
    columns=st.integers(1, 4),
    wider=st.integers(0, 2),
    skip=st.sampled_from([1, 2, -1, -2]),
)
def test_strides_lead_from_state_to_state(n, columns, wider, skip):
    memory = np.arange(2.0 * n * (columns + wider)).reshape(2 * n, -1)
    array = memory[::skip][:n, :columns]
    stride, _ = Buffers({"x": (columns,)}, {"x": array}, [()]).strides
    for k in range(n):
        there = (ctypes.c_double * columns).from_address(array.ctypes.data + k * stride)
        assert [*there] == [*array[k]]


def test_states_lie_in_rows_of_larger_arrays_or_at_one_place():
    rows = np.zeros((12, 30))
    v = np.zeros(6)
    q, A = rows[::2, 1:8], rows.reshape(12, 5, 6)[::2, 0]
    cases = {
        (6,): [(q, 480), (q[::-1], -480), (rows[:6, 3:10], 240), (np.ones((6, 7)), 56)],
        (2, 3): [(np.ones((2, 3, 7)), 56), (np.broadcast_to(np.ones(7), (2, 3, 7)), 0)],
        (): [(np.ones(7), 0)],
        (1,): [(np.ones((1, 7)), 0)],
    }
    for batch, several in cases.items():
        for array, stride in several:
            buffers = Buffers({"q": (7,), "v": (6,)}, {"q": array, "v": v}, [(6,)])
            assert buffers.batch == batch
            assert buffers.strides[:2] == [stride, 0]
    assert Buffers({"v": (6,)}, {"v": A}, [()]).strides == [480, 8]
    wide = Buffers({"q": (7,), "v": (6,)}, {"q": np.ones((1, 1, 7)), "v": np.ones((4, 6))}, [()])
    assert wide.batch == (1, 4) and wide.strides == [0, 48, 8]


# -- what is refused -------------------------------------------------------------------------

REFUSED = {
    "a list": ({"q": [1.0] * 7}, r"q: expected a numpy.ndarray, whose memory is bound, got list"),
    "None": ({"v": None}, r"v: expected a numpy.ndarray, whose memory is bound, got NoneType"),
    "a number": ({"s": 1.0}, r"s: expected a numpy.ndarray, whose memory is bound, got float"),
    "a subclass": ({"q": np.ones(7).view(Subclass)}, r"q: expected a numpy.ndarray.* Subclass"),
    "np.matrix": ({"A": np.ones((2, 3)).view(np.matrix)}, r"A: expected a numpy.ndarray.* matrix"),
    "integers": ({"q": np.ones(7, int)}, r"q: expected an array of float64, got int64: bound"),
    "floats": ({"v": np.ones(6, "f4")}, r"v: expected an array of float64, got float32: bound"),
    "byte order": ({"v": np.ones(6, ">f8")}, r"v: expected an array of float64, got >f8: bound"),
    "complex": ({"q": np.ones(7, complex)}, r"q: expected an array of float64, got complex128"),
    "shorter": ({"q": np.ones(6)}, r"q has shape \(6,\); expected \(7,\), behind the axes of a"),
    "a number for a vector": ({"q": np.array(1.0)}, r"q has shape \(\); expected \(7,\)"),
    "a vector for a matrix": ({"A": np.ones(3)}, r"A has shape \(3,\); expected \(2, 3\)"),
    "transposed": ({"A": np.ones((3, 2))}, r"A has shape \(3, 2\); expected \(2, 3\)"),
    "every other": ({"q": np.ones(14)[::2]}, r"q: expected the numbers of a state side by side"),
    "backwards": ({"v": np.ones(6)[::-1]}, r"v: expected the numbers of a state side by side"),
    "by columns": ({"A": np.ones((3, 2)).T}, r"A: expected the numbers of a state side by side"),
    "one for all": ({"q": np.broadcast_to(1.0, 7)}, r"q: expected the numbers of a state side by"),
    "misaligned": ({"v": shifted((6,))}, r"v: .* C-contiguous and aligned; bind a copy"),
    "other batch": (
        {"q": np.ones((3, 7)), "v": np.ones((4, 6))},
        r"the batches do not fit together: q \(3,\), v \(4,\)",
    ),
    "batch by columns": (
        {"q": np.ones((3, 4, 7)).transpose(1, 0, 2)},
        r"q: the states of shape \(4, 3, 7\) do not lie at one distance .* \(4, 3\); bind a copy "
        r"that does, as np.broadcast_to\(q, \(4, 3, 7\)\).copy\(\)",
    ),
    "repeated along one of two axes": (
        {"q": np.ones((2, 3, 7)), "v": np.ones((3, 6))},
        r"v: the states of shape \(3, 6\) do not lie at one distance",
    ),
}


@pytest.mark.parametrize(("others", "message"), REFUSED.values(), ids=REFUSED)
def test_inputs_that_cannot_be_bound_are_named(others, message):
    with pytest.raises(InputError, match=message):
        Buffers(SHAPES, arrays(**others), RESULTS)


def outputs(first=None, second=None, batch=()):
    both = results(batch)
    return [both[0] if first is None else first, both[1] if second is None else second]


WRONG = {
    "too few": (results()[:1], r"out: expected 2 arrays, one for each output, got 1"),
    "too many": ([*results(), np.zeros(6)], r"out: expected 2 arrays, .* got 3"),
    "a list": (outputs([0.0] * 6), r"out: expected a numpy.ndarray, .* got list"),
    "floats": (outputs(np.zeros(6, "f4")), r"out: expected an array of float64, got float32"),
    "longer": (outputs(np.zeros(7)), r"out has shape \(7,\); expected \(6,\)"),
    "more states": (outputs(np.zeros((2, 6))), r"out has shape \(2, 6\); expected \(6,\)"),
    "read-only": (outputs(None, locked(np.zeros((6, 6)))), r"out: the array is read-only"),
    "by columns": (outputs(None, np.zeros((6, 6)).T), r"out: .* side by side"),
    "misaligned": (outputs(shifted((6,))), r"out: .* C-contiguous and aligned"),
}


@pytest.mark.parametrize(("out", "message"), WRONG.values(), ids=WRONG)
def test_results_that_cannot_be_bound_are_refused(out, message):
    with pytest.raises(InputError, match=message):
        Buffers(SHAPES, arrays(), RESULTS, out)


def test_results_must_have_memory_of_their_own():
    memory = np.zeros(100)
    inputs = arrays(q=memory[:7], v=memory[10:16])
    with pytest.raises(InputError, match="out shares memory with q; expected memory of its own"):
        Buffers(SHAPES, inputs, RESULTS, outputs(memory[6:12]))
    with pytest.raises(InputError, match="out shares memory with v"):
        Buffers(SHAPES, inputs, RESULTS, outputs(memory[15:21]))
    with pytest.raises(InputError, match="out shares memory between two outputs"):
        both = outputs(memory[60:66], memory[30:66].reshape(6, 6))
        Buffers(SHAPES, inputs, RESULTS, both)
    Buffers(SHAPES, inputs, RESULTS, outputs(memory[16:22], memory[30:66].reshape(6, 6)))


def test_results_may_lie_between_inputs():
    rows = np.zeros((5, 20))
    buffers = Buffers({"x": (7,)}, {"x": rows[:, :7]}, [(6,)], [rows[:, 7:13]])
    assert buffers.strides == [160, 160]
    with pytest.raises(InputError, match="out shares memory with x"):
        Buffers({"x": (7,)}, {"x": rows[:, :7]}, [(6,)], [rows[:, 6:12]])


def test_states_of_a_result_have_memory_each():
    """NumPy sees to that where it broadcasts, but not where it is told the strides."""
    for stride in (0, 8, 40, -40):
        same = np.lib.stride_tricks.as_strided(np.zeros(50)[20:], (3, 6), (stride, 8))
        with pytest.raises(InputError, match="out: its states share memory; expected memory for"):
            Buffers({"x": (7,)}, {"x": np.zeros((3, 7))}, [(6,)], [same])
