"""A batch shared among threads: the same bits and the same alarms as by one thread."""

import machines
import numpy as np
import pytest
from hand_kernels import WIDTHS, expected, layouts, make_plan, mixed, target, twice_plus_first
from hypothesis import given
from hypothesis import strategies as st
from meeting_kernels import Meeting, call_share, eagerly

import phipsi as pp
from phipsi.backends.gufunc import Plan, make_gufunc
from phipsi.backends.parallel import threads as sharing
from phipsi.backends.parallel.pool import has_threads
from phipsi.backends.parallel.workers import get_threads, set_threads
from phipsi.operators import C, Mass, T

pytestmark = pytest.mark.skipif(not has_threads(), reason="POSIX threads are needed")

COUNTS = (2, 3, 8)
FALL = Mass.inv @ (T - C)


@pytest.fixture(scope="module", autouse=True)
def eager():
    with pytest.MonkeyPatch.context() as patch:
        eagerly(patch)
        yield


@pytest.fixture
def default():
    before = get_threads()
    yield
    set_threads(before)


def helpers_of(plan):
    """How many helpers a plan has had."""
    fields = np.frombuffer(plan.counter.obj, np.int64)
    return np.count_nonzero(fields[-sharing.MOST :])


# -- who works -------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", COUNTS)
def test_threads_work_at_the_same_time_and_the_calling_one_is_one_of_them(threads):
    meeting, x = Meeting(threads, threads), np.arange(1.0, threads + 1)
    assert np.array_equal(meeting(x), x * x)
    assert meeting.came == threads
    assert meeting.in_vain == 0
    assert helpers_of(meeting.plan) == threads - 1


def test_one_thread_has_no_helpers():
    meeting, x = Meeting(1, 1), np.arange(100.0)
    assert np.array_equal(meeting(x), x * x)
    assert helpers_of(meeting.plan) == 0


def test_the_default_of_the_package_is_read_at_every_call(default):
    meeting, x = Meeting(2, None), np.arange(2.0)
    set_threads(2)
    assert np.array_equal(meeting(x), x * x)
    assert (helpers_of(meeting.plan), meeting.in_vain) == (1, 0)
    set_threads(1)
    alone = Meeting(0, None)
    alone(x)
    assert helpers_of(alone.plan) == 0


def test_a_plan_of_other_threads_is_the_same_function_with_a_counter_of_its_own():
    one = make_plan(twice_plus_first, ((7,), (2,)), ((7,),), target("host", 4))
    three = one.with_threads(3)
    x = np.random.default_rng(0).random((100, 7))
    x[3, 0] = -1.0
    f, g = (make_gufunc(plan, "function", "") for plan in (one, three))
    assert np.array_equal(f(x, x[:, :2]), g(x, x[:, :2]))
    g(x, x[:, :2])
    assert (one.counter[0], three.counter[0]) == (1, 2)


def test_what_is_too_small_is_left_to_the_calling_thread(monkeypatch):
    monkeypatch.setattr(sharing, "WORTH", 1000)
    shapes = [((3,),), ((3,),)]
    plan = make_plan(mixed(*shapes), *shapes, target("host", 1))
    twos = {}
    for operations in (1000 - 6 * sharing.MOVED, 500 - 6 * sharing.MOVED, 10**9):
        own = Plan(target("host", 1), *shapes, operations=operations, threads=2, **addresses(plan))
        fields = np.frombuffer(own.counter.obj, np.int64)
        twos[operations] = int(fields[-sharing.MOST - 2])
    assert [*twos.values()] == [1, 2, 1]  # states that are worth a thread


def addresses(plan):
    names = ("lanes", "single", "few", "work", "tables", "keep")
    return {name: plan._addresses[name] for name in names}


# -- the same bits ---------------------------------------------------------------------------


@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize("few", [0, 1])
def test_every_batch_has_the_results_and_alarms_of_one_thread(lanes, few):
    inputs, outputs = ((7,), (2,)), ((7,),)
    alone = make_plan(twice_plus_first, inputs, outputs, target("host", lanes), few=few)
    alone = alone.with_threads(1)
    together = {n: alone.with_threads(n) for n in COUNTS}
    function = make_gufunc(alone, "function", "")
    functions = {n: make_gufunc(plan, "function", "") for n, plan in together.items()}
    rng = np.random.default_rng(lanes)
    for batch in (*range(1, 201, 1 if lanes == 8 else 7), 1000, 5003):
        x = rng.normal(size=(batch, 7))
        before = alone.counter[0]
        right = function(x, x[:, 3:5])
        alarms = alone.counter[0] - before
        assert np.array_equal(right, 2.0 * x + x[:, 3:4])
        for n, plan in together.items():
            before = plan.counter[0]
            assert np.array_equal(functions[n](x, x[:, 3:5]), right), (batch, n)
            assert plan.counter[0] - before == alarms, (batch, n)
    for n, plan in together.items():  # helpers may be late; some day they come
        assert any(
            np.array_equal(functions[n](x, x[:, 3:5]), right) and helpers_of(plan)
            for _ in range(5000)
        )


SHAPES = [
    (((3,), (2, 4)), ((2, 3),)),
    (((), (5,)), ((4,), ())),
    (((13,),), ((3, 5), (1,))),
]


@given(st.data())
def test_arrays_may_lie_in_memory_as_they_like(data):
    inputs, outputs = data.draw(st.sampled_from(SHAPES))
    lanes = data.draw(st.sampled_from(WIDTHS))
    batch = data.draw(st.integers(1, 150))
    plan = plan_of_shapes(inputs, outputs, lanes, data.draw(st.sampled_from(COUNTS)))
    arrays = []
    for shape in inputs:
        still = data.draw(st.sampled_from([False, False, True]))
        layout = data.draw(layouts(shape if still else (batch, *shape), kinds=("=f8",)))
        memory = layout.memory()
        array = layout.view(memory)
        array[...] = np.random.default_rng(batch).random(array.shape)
        arrays.append(np.broadcast_to(array, (batch, *shape)))
    results, memories = [], []
    for shape in outputs:
        layout = data.draw(layouts((batch, *shape), kinds=("=f8",)))
        memory = layout.memory()
        memories.append((layout, memory, memory.copy()))
        results.append(layout.view(memory))
    call_share(plan, [*arrays, *results])
    right = expected(mixed(inputs, outputs), inputs, outputs, *arrays)
    for (layout, memory, untouched), value in zip(memories, right, strict=True):
        layout.view(untouched)[...] = value
        assert np.array_equal(memory, untouched)  # nothing else was written to


_plans = {}


def plan_of_shapes(inputs, outputs, lanes, threads):
    key = inputs, outputs, lanes
    if key not in _plans:
        _plans[key] = make_plan(mixed(inputs, outputs), inputs, outputs, target("host", lanes))
    return _plans[key].with_threads(threads)


def test_results_that_lie_one_over_the_other_are_written_in_order():
    plan = plan_of_shapes(((3,),), ((3,),), 4, 8)
    x = np.random.default_rng(0).random((5001, 3))
    y = np.lib.stride_tricks.as_strided(np.zeros(3), (5001, 3), (0, 8))
    for _ in range(20):
        call_share(plan, [x, y])
        assert np.array_equal(y[0], expected(mixed(((3,),), ((3,),)), ((3,),), ((3,),), x)[0][-1])


def test_an_empty_batch_is_nothing():
    function = make_gufunc(plan_of_shapes(((3,),), ((3,),), 4, 8), "function", "")
    assert function(np.zeros((0, 3))).shape == (0, 3)


# -- functions of users ----------------------------------------------------------------------


@pytest.mark.parametrize("unroll", [True, False], ids=["unrolled", "rolled"])
@pytest.mark.parametrize("name", ["serial_revolute", "serial_multidof", "mimics"])
def test_compiled_functions_give_the_same_bits_whatever_the_number(default, unroll, name):
    model = getattr(machines, name)()
    function = pp.compile(model, [Mass.inv @ C, Mass], unroll=unroll, backend="llvm")
    rng = np.random.default_rng(1)
    batches = {}
    for batch in (1, 2, 9, 64, 203):
        q = np.stack([model.random(rng) for _ in range(batch)])
        batches[batch] = q, rng.normal(size=(batch, model.nv))
    set_threads(1)
    right = {batch: function(*states) for batch, states in batches.items()}
    for threads in COUNTS:
        set_threads(threads)
        for batch, states in batches.items():
            for a, b in zip(function(*states), right[batch], strict=True):
                assert np.array_equal(a, b), (threads, batch)


def test_broadcast_arguments_and_results_in_place(default):
    model = pp.examples.puma560()
    function = pp.compile(model, FALL, backend="llvm")
    rng = np.random.default_rng(2)
    q, v, forces = rng.normal(size=(40, 1, 6)), rng.normal(size=(30, 6)), rng.normal(size=6)
    set_threads(1)
    right = function(q, v, forces)
    set_threads(3)
    out = np.zeros((6, 40, 30)).transpose(1, 2, 0)
    assert function(q, v, forces, out=out) is out
    assert np.array_equal(out, right)
    assert np.array_equal(function(q, v, T=forces), right)


def test_errors_are_those_of_one_thread(default):
    puma = pp.examples.puma560()
    builder = pp.ModelBuilder("gimbal")
    builder.add_body("ring", joint=pp.joints.Revolute((0, 0, 1)), mass=0.0)
    builder.add_body("ball", "ring", pp.joints.Revolute((0, 1, 0)), mass=1.0, com=(1, 0, 0))
    gimbal = builder.build()
    q, v, forces = np.random.default_rng(3).normal(size=(3, 300, 6))
    q[250, 2] = np.nan
    angles = np.zeros((300, 2))
    angles[299, 1] = np.pi / 2
    for model, states in ((puma, (q, v, forces)), (gimbal, (angles, angles, angles))):
        function = pp.compile(model, FALL, backend="llvm")
        said = []
        for threads in (1, 2, 8):
            set_threads(threads)
            with pytest.raises(pp.PhipsiError) as error:
                function(*states)
            said.append((error.type, str(error.value)))
        assert said[0] == said[1] == said[2]
