"""Functions bound to arrays: the numbers and the errors of ordinary calls, where the arrays lie."""

import copy
import pickle

import numpy as np
import pytest
from binding import Careful, bind, bound_of
from entry_cases import PLACES, SHAPES, as_tuple, plan_of, single_plan, with_entry
from hand_kernels import WIDTHS, expected, mixed, mixed_plan, outer
from hypothesis import given
from hypothesis import strategies as st
from machines import MARKET, random_state

import phipsi as pp
from phipsi.backends import numpy_api
from phipsi.backends.bound import plain_bound
from phipsi.backends.entry import ROOM
from phipsi.backends.gufunc import Plan
from phipsi.backends.llvm import Target, compile_module
from phipsi.operators import C, Mass, T, V, scalar

pytestmark = pytest.mark.usefixtures("as_for_users")

every_width = pytest.mark.parametrize("lanes", WIDTHS)


@pytest.fixture(scope="module")
def puma():
    return pp.examples.puma560()


def states_of(model, rng, batch=()):
    """q, v and torques; random."""
    several = [random_state(model, rng) for _ in range(int(np.prod(batch)))]
    q, v = (np.array(x).reshape(*batch, -1) for x in zip(*several, strict=True))
    return q, v, rng.normal(size=v.shape)


def same(found, right):
    return all(map(np.array_equal, as_tuple(found), as_tuple(right)))


# -- what is computed ------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["host", "baseline"])
@pytest.mark.parametrize(("inputs", "outputs"), SHAPES)
def test_results_of_one_state_follow_the_inputs(inputs, outputs, where):
    plan = mixed_plan(inputs, outputs, where, 2, 1)
    arrays, rng = [np.zeros(shape) for shape in inputs], np.random.default_rng(0)
    careful = Careful()
    bound = bound_of(plan, arrays, careful=careful)
    first = bound()
    for _ in range(3):
        for x in arrays:
            x[...] = rng.random(x.shape)
        result = bound()
        assert result is first
        right = expected(mixed(inputs, outputs), inputs, outputs, *arrays)
        assert [x.shape for x in as_tuple(result)] == list(outputs)
        assert same(result, tuple(right))
    assert careful.calls == 0


@every_width
@pytest.mark.parametrize("batch", [(1,), (9,), (3, 5), (0,), (1, 1)])
@pytest.mark.parametrize(("inputs", "outputs"), SHAPES[:-1])
def test_results_of_many_states_follow_the_inputs(inputs, outputs, batch, lanes):
    plan = mixed_plan(inputs, outputs, "host", lanes, 1)
    arrays, rng = [np.zeros((*batch, *shape)) for shape in inputs], np.random.default_rng(0)
    bound = bound_of(plan, arrays)
    for _ in range(2):
        for x in arrays:
            x[...] = rng.random(x.shape)
        result = bound()
        assert all(x.shape[: len(batch)] == batch for x in as_tuple(result))
        assert same(result, tuple(expected(mixed(inputs, outputs), inputs, outputs, *arrays)))


FEW = [
    ("tree_of_every_kind", None),
    ("mimics", None),
    ("mimics", False),
    ("welded", None),
    ("free_base_tree", False),
    ("one_body", None),
]


@pytest.mark.parametrize(("name", "unroll"), FEW)
def test_machines_move_as_in_ordinary_calls(name, unroll):
    model, rng = MARKET[name](), np.random.default_rng(1)
    s, (joints,) = scalar("s"), pp.compile(model, T)._only_code("").outputs[0]
    q, v, tau, factor = np.zeros(model.nq), np.zeros(model.nv), np.zeros(joints), np.zeros(())
    asked = [
        (Mass.inv @ (T - C), (q, v, tau)),
        ([C, Mass, s * V.T @ V, s * T], (q, v, factor, tau)),
        ([Mass], (q,)),
    ]
    functions = [pp.compile(model, x, unroll=unroll) for x, _ in asked]
    q[:], v[:] = random_state(model, rng)
    bounds = [bind(function, *x) for function, (_, x) in zip(functions, asked, strict=True)]
    for _ in range(3):
        q[:], v[:] = random_state(model, rng)
        tau[:], factor[...] = rng.normal(size=joints), rng.normal()
        for bound, function, (_, arguments) in zip(bounds, functions, asked, strict=True):
            found, right = bound(), function(**dict(zip(function._order, arguments, strict=True)))
            assert type(found) is type(right) and same(found, right)
            assert bound() is found


@pytest.mark.parametrize("single", [True, False])
def test_without_a_kernel_of_one_state_the_loop_does_it(puma, single, monkeypatch):
    if not single:
        monkeypatch.setattr("phipsi.backends.machine_code.SINGLE", 0)
    function = pp.compile(pp.examples.puma560(), Mass.inv @ (T - C), lanes=4)
    q, v, tau = states_of(puma, np.random.default_rng(2))
    bound = bind(function, q, v, tau)
    assert (function._only_code("").single != 0) == single
    assert same(bound(), function(q, v, tau))
    q[2] = np.inf
    with pytest.raises(pp.InputError, match=r"q\[2\] is inf"):
        bound()


@pytest.mark.parametrize("lanes", [1, 4, 8])
@pytest.mark.parametrize("batch", [(), (9,)])
@pytest.mark.parametrize(("inputs", "outputs"), SHAPES[:-1])
def test_floats_in_floats_out(inputs, outputs, batch, lanes):
    """Small integers: all that is computed of them is exact, in either precision."""
    plan, rng = (
        single_plan(mixed(inputs, outputs), inputs, outputs, lanes),
        np.random.default_rng(0),
    )
    arrays, careful = [np.zeros((*batch, *shape), np.float32) for shape in inputs], Careful()
    bound = bound_of(plan, arrays, careful=careful)
    for _ in range(2):
        for x in arrays:
            x[...] = rng.integers(0, 8, x.shape)
        assert all(x.dtype == np.float32 for x in as_tuple(bound()))
        assert same(bound(), tuple(expected(mixed(inputs, outputs), inputs, outputs, *arrays)))
    assert careful.calls == 0
    for array in arrays:
        for wrong in (np.nan, -np.inf, 1e10, 1e30):
            kept = array.copy()
            array.flat[-1] = wrong
            assert bound() == "carefully"
            array[...] = kept
    with pytest.raises(pp.InputError, match="x0: expected an array of float32, got float64"):
        bound_of(plan, [x.astype(float) for x in arrays])


def test_machines_in_single_precision():
    robot = pp.examples.puma560()
    function = pp.compile(robot, Mass.inv @ (T - C), dtype=np.float32)
    arrays = [x.astype(np.float32) for x in states_of(robot, np.random.default_rng(3), (9,))]
    one = [x[4].copy() for x in arrays]
    many, alone = bind(function, *arrays), bind(function, *one)
    assert many().dtype == alone().dtype == np.float32
    assert same(many(), function(*arrays)) and same(alone(), many()[4])
    right = pp.compile(robot, Mass.inv @ (T - C))(*(x.astype(float) for x in arrays))
    assert np.allclose(many(), right, rtol=1e-3, atol=1e-3 * np.abs(right).max())
    one[2][5] = np.float32(1e30)  # for doubles alone
    assert same(alone(), function(*one))
    one[2][5] = np.nan
    with pytest.raises(pp.InputError, match=r"T\[5\] is nan"):
        alone()


def test_states_may_lie_in_rows_of_a_larger_array_or_be_one_for_all(puma):
    function, rng = pp.compile(puma, Mass.inv @ (T - C)), np.random.default_rng(4)
    rows = rng.normal(size=(10, 30))
    q, v = rows[::2, 1:7], rows[::-2, 9:15]
    for tau in (rng.normal(size=6), rng.normal(size=(1, 6)), np.broadcast_to(rows[0, :6], (5, 6))):
        bound = bind(function, q, v, tau)
        for _ in range(2):
            rows[...] = rng.normal(size=rows.shape)
            assert same(bound(), function(q, v, tau))
    out = rows[::2, 16:22]
    other = bind(function, q, v, np.ones(6), out=out)
    assert other() is out and same(out, function(q, v, np.ones(6)))


def test_one_input_may_be_bound_twice():
    x = np.array([1.0, 2.0, 3.0])
    bound = bound_of(plan_of(outer, ((3,), (3,)), ((3, 3),)), [x, x])
    assert same(bound(), np.outer(x, x))


@pytest.mark.parametrize("work", [0, 8, 72, 1000, ROOM, 100 * ROOM])
def test_a_kernel_works_on_the_arrays_themselves_with_aligned_room(work):
    code = compile_module(PLACES.replace("BYTES", str(work)), Target.host())
    plan = Plan(Target.host(), [(3,)], [(4,)], lanes=code.address("single"), keep=code)
    x, out = np.array([1.0, 2.0, 3.0]), np.zeros(4)
    bound = bound_of(plan, [x], (out,), work=work, tables=123456)
    for _ in range(3):
        into, result, room, tables = bound().view(np.int64)
        assert (into, result, tables) == (x.ctypes.data, out.ctypes.data, 123456)
        assert room % 64 == 0
    assert np.array_equal(x, [1.0, 2.0, 3.0])


# -- what is done carefully ------------------------------------------------------------------


@given(st.data(), st.lists(st.integers(1, 13), min_size=1, max_size=3))
def test_every_number_of_every_input_is_watched(data, sizes):
    inputs, outputs = tuple((n,) for n in sizes), ((2,),)
    arrays, careful = [np.ones(n) for n in sizes], Careful()
    bound = bound_of(mixed_plan(inputs, outputs, "host", 1, 1), arrays, careful=careful)
    k = data.draw(st.integers(0, len(sizes) - 1))
    at = data.draw(st.integers(0, sizes[k] - 1))
    for wrong in (np.nan, np.inf, -np.inf, 1e61, 1e300):
        arrays[k][at] = wrong
        before = careful.calls
        assert bound() == "carefully" and careful.calls == before + 1
    arrays[k][at] = 2.0
    assert same(bound(), tuple(expected(mixed(inputs, outputs), inputs, outputs, *arrays)))


def test_large_numbers_are_computed():
    x, careful = with_entry(0.7e60, 1), Careful()
    bound = bound_of(plan_of(), [x, np.ones(2)], careful=careful)
    assert np.array_equal(bound(), 2.0 * x + 1.0) and careful.calls == 0


@every_width
@pytest.mark.parametrize("batch", [(), (1,), (9,)])
def test_what_the_kernel_complains_of_is_done_carefully(batch, lanes):
    x, z, careful = np.ones((*batch, 7)), np.ones((*batch, 2)), Careful()
    bound = bound_of(plan_of(lanes=lanes), [x, z], careful=careful)
    for wrong in (-1.0, np.nan, -np.inf, 1e61):
        x[(-1,) * len(batch)][0] = wrong
        assert bound() == "carefully"
        x[...] = 1.0
        assert np.array_equal(bound(), 3.0 * x)
    assert careful.calls == 4


def test_what_the_careful_way_raises_is_raised():
    class OddError(Exception):
        pass

    def careful():
        raise OddError("odd")

    x = np.ones(7)
    bound = bound_of(plan_of(), [x, np.ones(2)], careful=careful)
    bound()
    for _ in range(3):
        x[0] = -1.0
        with pytest.raises(OddError, match="odd"):
            bound()
        x[0] = 1.0
        assert np.array_equal(bound(), 3.0 * x)


@pytest.mark.parametrize("batch", [(), (4,)])
def test_errors_are_those_of_ordinary_calls(puma, batch):
    function = pp.compile(puma, Mass.inv @ (T - C))
    arrays = states_of(puma, np.random.default_rng(5), batch)
    bound = bind(function, *arrays)
    for array in arrays:
        for wrong in (np.nan, -np.inf, 1e70):
            kept = array.copy()
            array.flat[-2] = wrong
            with pytest.raises(pp.InputError) as ordinary:
                function(*arrays)
            with pytest.raises(pp.InputError) as found:
                bound()
            assert str(found.value) == str(ordinary.value)
            array[...] = kept
            assert same(bound(), function(*arrays))


def gimbal():
    """A mass that can swing to the axis of a joint which moves nothing else."""
    builder = pp.ModelBuilder("gimbal")
    builder.add_body("ring", joint=pp.joints.Revolute((0, 0, 1)), mass=0.0)
    builder.add_body("ball", "ring", pp.joints.Revolute((0, 1, 0)), mass=1.0, com=(1, 0, 0))
    return builder.build()


@pytest.mark.parametrize("batch", [(), (3,)])
def test_singular_states_have_no_result(batch):
    function = pp.compile(gimbal(), Mass.inv @ (T - C))
    q, v, tau = np.zeros((3, *batch, 2))
    tau[..., 0] = 1.0
    bound = bind(function, q, v, tau)
    for _ in range(2):
        q[...] = 0.0
        assert np.allclose(bound(), [1.0, 9.81], rtol=1e-14)
        q[..., 1] = np.pi / 2
        with pytest.raises(pp.SolveError, match="articulated inertia D of joint 'ring_joint'"):
            bound()


def test_a_result_that_was_locked_is_not_written(puma):
    arrays = states_of(puma, np.random.default_rng(6))
    bound = bind(pp.compile(puma, Mass.inv @ (T - C)), *arrays)
    out = bound()
    kept = out.copy()
    out.setflags(write=False)
    arrays[0][:] = 0.0
    with pytest.raises(pp.InputError, match="out: the array is read-only"):
        bound()
    assert np.array_equal(out, kept)
    out.setflags(write=True)
    assert not np.array_equal(bound(), kept)


def test_memory_that_an_array_has_left_is_not_touched():
    """NumPy has allowed this to those who assign `array.data`; it is done by hand here."""
    x, z, careful = np.ones(7), np.ones(2), Careful()
    bound = bound_of(plan_of(), [x, z], careful=careful)
    for array in (x, z, bound()):
        inside = numpy_api.Array.from_address(id(array))
        there = inside.data
        inside.data = there + 8
        assert bound() == "carefully"
        inside.data = there
        assert np.array_equal(bound(), 3.0 * x)
    assert careful.calls == 3


def test_memory_stays_what_it_is_when_arrays_are_looked_at_otherwise():
    memory = np.ones(14)
    x, z = memory[:7], memory[7:9]
    bound = bound_of(plan_of(), [x, z])
    del x, z
    memory[:] = 2.0
    assert np.array_equal(bound(), np.full(7, 6.0))
    memory.shape = (2, 7)
    memory[:] = 3.0
    assert np.array_equal(bound(), np.full(7, 9.0))


def test_bound_memory_is_not_resized():
    whole, z = np.ones(9), np.ones(2)
    bound = bound_of(plan_of(), [whole[1:8], z])
    for array in (whole, z, bound()):
        for check in (True, False):
            with pytest.raises(ValueError, match="cannot resize"):
                array.resize(10_000, refcheck=check)
    assert np.array_equal(bound(), [3.0] * 7)


# -- as objects ------------------------------------------------------------------------------


def test_a_bound_function_is_built_in_and_takes_no_arguments(puma):
    function = pp.compile(puma, Mass)
    bound = bind(function, np.zeros(6))
    assert "built-in" in repr(bound) and callable(bound)
    assert bound.__name__ == "phipsi" and bound.__doc__ == str(Mass)
    with pytest.raises(TypeError, match="takes no arguments"):
        bound(np.zeros(6))
    with pytest.raises(TypeError, match="takes no keyword arguments"):
        bound(q=np.zeros(6))


def test_a_bound_function_stays_in_its_process(puma):
    bound = bind(pp.compile(puma, Mass), np.zeros(6))
    with pytest.raises(pp.BackendError, match="cannot be pickled"):
        pickle.dumps(bound)
    assert copy.copy(bound) is copy.deepcopy(bound) is bound


def test_numpy_reports_nothing_of_what_happened_in_a_call():
    x = np.ones(7)
    bound = bound_of(plan_of(), [x, np.ones(2)])
    with np.errstate(all="raise"):
        for value in (1e200, np.inf, 1e-200):
            x[0] = value
            bound()
            assert np.float64(1.0) / np.float64(4.0) == 0.25
            assert np.array_equal(np.linalg.inv(np.eye(2)), np.eye(2))


def test_other_pythons_have_bound_functions_too(puma, monkeypatch):
    function = pp.compile(puma, Mass.inv @ (T - C))
    arrays = states_of(puma, np.random.default_rng(7))
    function(*arrays)
    monkeypatch.setattr("phipsi.backends.numpy_api.is_as_expected", lambda: False)
    bound = bind(function, *arrays)
    assert "built-in" not in repr(bound) and bound.__name__ == "phipsi"
    out = bound()
    assert same(out, function(*arrays)) and bound() is out
    arrays[0][1] = np.nan
    with pytest.raises(pp.InputError, match=r"q\[1\] is nan"):
        bound()


def test_a_plain_function_is_named():
    plain = plain_bound(lambda: 7, "seven", "Seven.")
    assert (plain(), plain.__name__, plain.__doc__) == (7, "seven", "Seven.")
