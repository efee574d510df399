"""Calls of compiled functions: every way to pass arguments, every layout, the same numbers."""

import sys

import machines
import numpy as np
import pytest
from hand_kernels import layouts
from hypothesis import given, settings
from hypothesis import strategies as st

import phipsi as pp
from phipsi.operators import C, Mass, T, U, beta

CLOSE = 1e-12  # beside the largest entry
FALL = Mass.inv @ (T - C)
WIDTHS = (1, 2, 4, 8)
WAYS = [(True, lanes) for lanes in WIDTHS] + [(False, 1), (False, 4), (False, 8)]
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 25)

every_way = pytest.mark.parametrize(
    ("unroll", "lanes"), WAYS, ids=[f"{'unrolled' if u else 'rolled'}-{n}" for u, n in WAYS]
)


def arm():
    """Five coordinates, four speeds: a hinge, and a ball joint with its quaternion."""
    return machines.MARKET["welded"]()


def llvm(model, expression, **how):
    return pp.compile(model, expression, backend="llvm", **how)


def numpy(model, expression, **how):
    return pp.compile(model, expression, backend="numpy", **how)


def states(model, *batch, seed=0):
    """q, v and joint forces."""
    rng = np.random.default_rng(seed)
    found = [machines.random_state(model, rng) for _ in range(int(np.prod(batch)))]
    q, v = (np.array([x[i] for x in found]).reshape(*batch, -1) for i in (0, 1))
    forces = sum(joint.kind.nv for joint in model.joints)
    return q, v, rng.normal(size=(*batch, forces))


def check(found, expected):
    """Alike up to roundoff, beside the largest entry."""
    assert np.shape(found) == np.shape(expected)
    largest = np.abs(expected).max(initial=1e-3)
    assert np.abs(np.asarray(found) - expected).max(initial=0.0) <= CLOSE * largest


@pytest.fixture(scope="module")
def fall():
    return llvm(arm(), FALL)


def count_compilations(monkeypatch):
    """A list that grows with everything that is compiled."""
    spine = sys.modules["phipsi.compile"]
    jobs, make_code = [], spine.make_code

    def counted(job, *how):
        jobs.append(job)
        return make_code(job, *how)

    monkeypatch.setattr(spine, "make_code", counted)
    return jobs


@pytest.fixture
def compilations(monkeypatch):
    return count_compilations(monkeypatch)


# -- arguments -------------------------------------------------------------------------------


def test_arguments_by_place_by_name_and_mixed_give_the_same_bits(fall):
    for q, v, forces in (states(arm()), states(arm(), 3), states(arm(), 2, 9)):
        result = fall(q, v, forces)
        check(result, numpy(arm(), FALL)(q, v, forces))
        assert np.array_equal(fall(T=forces, q=q, v=v), result)
        assert np.array_equal(fall(q, v, T=forces), result)
        assert np.array_equal(fall(q, T=forces, v=v), result)


def test_the_first_call_compiles_and_later_ones_do_not(compilations):
    function = llvm(pp.chain(2), FALL)
    assert not compilations
    z = np.zeros(2)
    function(z, z, z)
    assert len(compilations) == 1
    function(np.zeros((3, 2)), z, z)
    function(q=z, v=z, T=z)
    function(z, z, z, out=z.copy())
    assert function.gufunc(z, z, z).shape == (2,) and function.info().lanes > 0
    assert len(compilations) == 1


def test_functions_of_dynamics_compile_once_for_all_calls(compilations):
    model = pp.chain(2)
    z = np.zeros(2)
    for _ in range(3):
        first = pp.forward_dynamics(model, z, z, z, backend="llvm")
        pp.forward_dynamics(model, np.zeros((4, 2)), z, tau=[0, 0], backend="llvm")
        pp.mass_matrix(model, z, backend="llvm")
    assert len(compilations) == 2
    check(first, pp.forward_dynamics(model, z, z, z, backend="numpy"))


NUMBERS = {
    "float32": lambda x: x.astype(np.float32),
    "float16": lambda x: x.astype(np.float16),
    "int64": lambda x: np.round(x).astype(np.int64),
    "uint8": lambda x: np.abs(np.round(x)).astype(np.uint8),
    "bool": lambda x: x > 0.0,
    "objects": lambda x: x.astype(object),
    "lists": lambda x: x.tolist(),
    "lists of ints": lambda x: np.round(x).astype(int).tolist(),
    "tuples": lambda x: tuple(map(tuple, x)) if x.ndim > 1 else tuple(x),
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
}


@pytest.mark.parametrize("batch", [(), (5,)], ids=str)
@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_of_other_kinds_are_converted(kind, batch):
    model = machines.MARKET["rbdl_double_chain_3d"]()
    q, v, forces = (NUMBERS[kind](x) for x in states(model, *batch))
    function = llvm(model, FALL)
    expected = numpy(model, FALL)(q, v, forces)
    for arguments in ((q, v, forces), (q, np.asarray(v, float), forces)):
        result = function(*arguments)
        assert type(result) is np.ndarray and result.dtype == float
        check(result, expected)
    assert np.array_equal(function(q, v=v, T=forces), function(q, v, forces))


class Recorded(np.ndarray):
    """A subclass, as units and names of axes are made of."""


class Deferring:
    """Numbers that want to compute themselves, and cannot."""

    def __init__(self, numbers):
        self.numbers = numbers

    def __array__(self, dtype=None, copy=None):
        return np.array(self.numbers, dtype)

    def __array_ufunc__(self, ufunc, *arguments, **named):
        raise NotImplementedError


@pytest.mark.parametrize("expression", [FALL, [FALL, U]], ids=["one", "several"])
@pytest.mark.parametrize("wrap", [lambda x: x.view(Recorded), Deferring], ids=["own", "deferring"])
def test_results_are_plain_arrays_whatever_the_arguments_are(wrap, expression):
    model = machines.MARKET["rbdl_double_chain_3d"]()
    q, v, forces = states(model, 3)
    function = llvm(model, expression)
    expected = function(q, v, forces)
    for _ in range(2):
        results = function(wrap(q), v, forces)
        for one, other in zip(*map(as_tuple, (results, expected)), strict=True):
            assert type(one) is np.ndarray
            assert np.array_equal(one, other)


def as_tuple(results):
    return results if isinstance(results, tuple) else (results,)


# -- batches ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "batch", [(0,), (1,), (1, 1), (7,), (8,), (9,), (64,), (2, 3), (3, 1, 5), (0, 3), (4, 0, 2)]
)
def test_batches_of_every_shape(fall, batch):
    q, v, forces = states(arm(), *batch) if 0 not in batch else empty_states(arm(), *batch)
    result = fall(q, v, forces)
    assert result.shape == (*batch, 4) and result.dtype == float
    check(result, numpy(arm(), FALL)(q, v, forces))


def empty_states(model, *batch):
    return np.zeros((*batch, model.nq)), np.zeros((*batch, model.nv)), np.zeros((*batch, model.nv))


@pytest.mark.parametrize(
    "batches",
    [
        ((3,), (), ()),
        ((), (3,), ()),
        ((), (), (3,)),
        ((3, 1), (4,), ()),
        ((1, 4), (3, 1), (4,)),
        ((2, 1, 1), (3, 1), (9,)),
        ((1,), (0,), ()),
        ((5, 1), (), (0,)),
    ],
    ids=str,
)
def test_arguments_broadcast_against_each_other(fall, batches):
    rng = np.random.default_rng(1)
    (one_q, one_v, one_force), given = states(arm()), []
    for x, batch in zip((one_q, one_v, one_force), batches, strict=True):
        turned = np.broadcast_to(x, (*batch, len(x))).copy()
        if x is not one_q:
            turned += rng.normal(size=turned.shape)
        given.append(turned)
    result = fall(*given)
    assert result.shape == (*np.broadcast_shapes(*batches), 4)
    check(result, numpy(arm(), FALL)(*given))
    whole = [np.broadcast_to(x, (*result.shape[:-1], x.shape[-1])) for x in given]
    assert np.array_equal(fall(*whole), result)
    for index in np.ndindex(result.shape[:-1]):
        assert np.array_equal(fall(*(np.array(x[index]) for x in whole)), result[index])


@every_way
@pytest.mark.parametrize("machine", ["welded", "tree_one_dof"])
def test_every_way_into_a_function_gives_the_same_bits(machine, unroll, lanes):
    """The entry for one state and for many, the gufunc, a careful call, every place in a batch."""
    model = machines.MARKET[machine]()
    function = llvm(model, [FALL, Mass, 0.5 * beta.T @ Mass @ beta], unroll=unroll, lanes=lanes)
    arrays = states(model, max(SIZES))
    alone = [function(*(x[i] for x in arrays)) for i in range(max(SIZES))]
    expected = [np.array([one[o] for one in alone]) for o in range(3)]
    for o, by_python in enumerate(numpy(model, function.expressions)(*arrays)):
        check(expected[o], by_python)
    lists = [function(*(x[i].tolist() for x in arrays)) for i in range(3)]
    named = [function(q=arrays[0][i], v=arrays[1][i], T=arrays[2][i]) for i in range(3)]
    raw = [function.gufunc(*(x[i] for x in arrays)) for i in range(3)]
    for results in (lists, named, raw):
        for i, result in enumerate(results):
            assert all(np.array_equal(x, y[i]) for x, y in zip(result, expected, strict=True))
    for n in SIZES:
        together = function(*(x[:n] for x in arrays))
        assert all(np.array_equal(x, y[:n]) for x, y in zip(together, expected, strict=True))
        backwards = function(*(x[:n][::-1] for x in arrays))
        assert all(np.array_equal(x[::-1], y[:n]) for x, y in zip(backwards, expected, strict=True))


@pytest.mark.parametrize("machine", ["welded", "branching_tree"])
@pytest.mark.parametrize("unroll", [True, False])
def test_the_number_of_lanes_changes_no_bit(machine, unroll):
    model, first = machines.MARKET[machine](), None
    arrays = states(model, 19)
    for lanes in WIDTHS:
        result = llvm(model, FALL, unroll=unroll, lanes=lanes)(*arrays)
        first = result if first is None else first
        assert np.array_equal(result, first)


# -- layouts ---------------------------------------------------------------------------------


def test_any_order_of_axes_and_any_steps_give_the_same_bits(fall):
    q, v, forces = states(arm(), 6, 4)
    result = fall(q, v, forces)
    fortran = [np.asfortranarray(x) for x in (q, v, forces)]
    backwards = [x[::-1, ::-1, ::-1].copy()[::-1, ::-1, ::-1] for x in (q, v, forces)]
    wide = [np.repeat(np.repeat(x, 3, 0), 2, -1)[::3, :, ::2] for x in (q, v, forces)]
    turned = [np.moveaxis(np.moveaxis(x, -1, 0).copy(), 0, -1) for x in (q, v, forces)]
    for arguments in (fortran, backwards, wide, turned, [fortran[0], wide[1], turned[2]]):
        assert not arguments[0].flags.c_contiguous
        assert np.array_equal(fall(*arguments), result)
    one = fall(q[0, 0], v[0, 0], forces[0, 0])
    assert np.array_equal(fall(*(x[0, 0] for x in wide)), one)
    assert np.array_equal(fall(*(x[0, 0, ::-1].copy()[::-1] for x in (q, v, forces))), one)


@st.composite
def calls(draw):
    """How q, v and T lie in memory, which broadcast, and the three outputs."""
    batch = draw(
        st.one_of(
            st.sampled_from((0, 1, 2, 7, 8, 9, 33)).map(lambda n: (n,)),
            st.lists(st.sampled_from((1, 2, 3, 9)), max_size=3).map(tuple),
        )
    )
    model, lying = arm(), []
    for n in (model.nq, model.nv, model.nv):
        own = tuple(1 if draw(st.booleans()) and draw(st.booleans()) else size for size in batch)
        own = own[draw(st.integers(0, len(own))) :] if draw(st.booleans()) else own
        lying.append(draw(layouts((*own, n))))
    whole = np.broadcast_shapes(*(x.shape[:-1] for x in lying))
    outputs = [(*whole, 4), (*whole, 4, 4), whole]
    return lying, [draw(layouts(shape, kinds=("=f8",))) for shape in outputs]


def filled(layout, values):
    """Memory in which all is known, and an array with values in the midst of it."""
    memory = layout.memory()
    layout.view(memory)[...] = values
    return memory


@pytest.mark.parametrize("lanes", WIDTHS)
@given(calls(), st.booleans())
@settings(max_examples=40)
def test_any_layout_of_inputs_and_outputs_and_nothing_else_is_touched(lanes, call, unroll):
    """Against the interpreter; memory around every array is known to the last byte."""
    inputs, outputs = call
    model = arm()
    function = llvm(model, [FALL, Mass, U], unroll=unroll, lanes=lanes)
    values = [
        x[0] if 0 in layout.shape else np.resize(x, (*layout.shape[:-1], x.shape[-1]))
        for x, layout in zip(states(model, 23), inputs, strict=True)
    ]
    memories = [filled(layout, x) for layout, x in zip(inputs, values, strict=True)]
    kept = [memory.copy() for memory in memories]
    arguments = [layout.view(memory) for layout, memory in zip(inputs, memories, strict=True)]
    results = function(*arguments)
    for result, by_python in zip(results, numpy(model, [FALL, Mass, U])(*arguments), strict=True):
        check(result, by_python)
    into = [layout.memory() for layout in outputs]
    expected = [filled(layout, x) for layout, x in zip(outputs, results, strict=True)]
    out = tuple(layout.view(memory) for layout, memory in zip(outputs, into, strict=True))
    returned = function(*arguments, out=out)
    assert all(x is y for x, y in zip(returned, out, strict=True))
    for found, right in zip([*memories, *into], [*kept, *expected], strict=True):
        assert np.array_equal(found, right)


# -- out -------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
def test_out_takes_one_result_or_a_tuple_of_several(backend):
    model = arm()
    q, v, forces = states(model, 3)
    one = pp.compile(model, FALL, backend=backend)
    expected = one(q, v, forces)
    for out in (np.empty((3, 4)), np.empty((6, 8))[::2, ::-2]):
        assert one(q, v, forces, out=out) is out
        assert np.array_equal(out, expected)
        assert one(q, v, forces, out=(out,)) is out
    several = pp.compile(model, [FALL, U], backend=backend)
    out = np.empty((3, 4)), np.empty(3)
    assert several(q, v, forces, out=out)[1] is out[1]
    assert np.array_equal(out[0], expected)
    assert np.array_equal(out[1], several(q, v, forces)[1])
    alone = pp.compile(model, [FALL], backend=backend)
    out = np.empty((3, 4))
    (result,) = alone(q, v, forces, out=(out,))
    assert result is out and np.array_equal(out, expected)


def test_out_takes_the_broadcast_batch_and_numbers(fall):
    q, v, forces = states(arm(), 3, 1)
    many = states(arm(), 5)[2]
    out = np.empty((3, 5, 4))
    fall(q, v, many, out=out)
    assert np.array_equal(out, fall(q, v, many))
    energy = llvm(arm(), U)
    out = np.empty(())
    assert energy(q[0, 0], out=out) is out
    assert out == energy(q[0, 0])
    empty = np.empty((0, 4))
    assert fall(*(x[:0, 0] for x in (q, v, forces)), out=empty) is empty


def test_out_may_be_an_argument_itself(fall):
    q, v, forces = states(arm(), 20)
    expected = fall(q, v, forces)
    own = forces.copy()
    assert fall(q, v, own, out=own) is own
    assert np.array_equal(own, expected)
    shifted = np.zeros((21, 4))
    shifted[1:] = forces
    fall(q, v, shifted[1:], out=shifted[:-1])
    assert np.array_equal(shifted[:-1], expected)
