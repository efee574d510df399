"""The loop behind a compiled function: tiles, strides, remainders, alarms."""

import ctypes
import itertools
import re
import sys
from functools import cache

import llvmlite.binding
import numpy as np
import pytest
from hand_kernels import (
    WIDTHS,
    Layout,
    call_loop,
    expected,
    layouts,
    make_plan,
    mixed,
    mixed_plan,
    outer,
    target,
    twice_plus_first,
)
from hypothesis import example, given
from hypothesis import strategies as st
from test_llvm import subprocess_says

from phipsi.backends import driver, llvm
from phipsi.backends.gufunc import Plan, make_gufunc
from phipsi.backends.tiles import GROUP, GROUP_BYTES
from phipsi.scalars import HUGE

PLACES = ("host", "baseline")
BATCHES = (0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 64, 67)
SHAPES = (  # of inputs and outputs
    (((1,),), ((1,),)),
    (((),), ((),)),
    (((7,), (6,), (6,)), ((6,),)),
    (((3,), ()), ((3, 3), ())),
    (((8,), (16,)), ((9,), (1, 17))),
    (((2, 3), (3, 1), (1, 4), (4, 4)), ((3, 2), (2,), ())),
    (((12,),), ((5, 3), (15,), (2, 8))),
    (((5,), (9, 2)), ((31,),)),
    (((2, 19), (11,)), ((3, 12), (2, 10))),
)

every_width = pytest.mark.parametrize("lanes", WIDTHS)
everywhere = pytest.mark.parametrize("where", PLACES)


# -- numbers ---------------------------------------------------------------------------------


@everywhere
@every_width
@pytest.mark.parametrize("few", [0, 1, 7])
def test_every_size_of_batch_and_vector_gives_the_numbers_of_numpy(where, lanes, few):
    rng = np.random.default_rng(1)
    for n in (*range(1, 18), 33):
        inputs, outputs = ((n,), (2,)), ((n,),)
        plan = make_plan(twice_plus_first, inputs, outputs, target(where, lanes), few)
        function = make_gufunc(plan, "twice_plus_first", "")
        for batch in BATCHES:
            x, z = rng.random((batch, n)), rng.random((batch, 2))
            [right] = expected(twice_plus_first, inputs, outputs, x, z)
            assert np.array_equal(function(x, z), right)
        assert plan.counter[0] == 0


@everywhere
@every_width
def test_a_matrix_comes_out_row_by_row(where, lanes):
    inputs, outputs = ((5,), (3,)), ((5, 3),)
    plan = make_plan(outer, inputs, outputs, target(where, lanes))
    function = make_gufunc(plan, "outer", "")
    rng = np.random.default_rng(2)
    x, y = rng.random((21, 5)), rng.random((21, 3))
    assert np.array_equal(function(x, y), x[:, :, None] * y[:, None, :])
    assert np.array_equal(function(x[0], y[0]), np.outer(x[0], y[0]))


@st.composite
def calls(draw):
    """Shapes, a batch, and how each argument lies; some inputs are the same for many states."""
    inputs, outputs = draw(st.sampled_from(SHAPES))
    batch = draw(
        st.one_of(
            st.sampled_from(BATCHES).map(lambda n: (n,)),
            st.lists(st.sampled_from((1, 2, 3, 9)), max_size=3).map(tuple),
        )
    )
    lying = []
    for shape in inputs:
        own = tuple(1 if draw(st.booleans()) and draw(st.booleans()) else n for n in batch)
        own = own[draw(st.integers(0, len(own))) :] if draw(st.booleans()) else own
        lying.append(draw(layouts(own + shape)))
    leading = [x.shape[: len(x.shape) - len(s)] for x, s in zip(lying, inputs, strict=True)]
    wholly = np.broadcast_shapes(*leading)
    lying += [draw(layouts(wholly + shape)) for shape in outputs]
    return inputs, outputs, lying


def filled(inputs, outputs, lying):
    """Memory of all arguments with random inputs; the arrays in it; what it must be afterwards."""
    memories = [layout.memory() for layout in lying]
    arrays = [layout.view(memory) for layout, memory in zip(lying, memories, strict=True)]
    given, rng = arrays[: len(inputs)], np.random.default_rng(3)
    for x in given:
        x[...] = rng.random(x.shape)
    right = [memory.copy() for memory in memories]
    numbers = expected(mixed(inputs, outputs), inputs, outputs, *given)
    for layout, memory, result in zip(lying[::-1], right[::-1], numbers[::-1], strict=False):
        layout.view(memory)[...] = result
    return memories, arrays, right


@given(calls(), st.sampled_from(PLACES), st.sampled_from(WIDTHS), st.sampled_from((0, 1, 3)))
def test_any_layout_gives_the_numbers_of_numpy_and_touches_nothing_else(call, where, lanes, few):
    inputs, outputs, lying = call
    function = make_gufunc(mixed_plan(inputs, outputs, where, lanes, few), "mixed", "")
    memories, arrays, right = filled(inputs, outputs, lying)
    function(*arrays)
    for found, memory in zip(memories, right, strict=True):
        assert np.array_equal(found, memory)
    fresh = function(*arrays[: len(inputs)])
    fresh = fresh if len(outputs) > 1 else [fresh]
    for x, y in zip(fresh, arrays[len(inputs) :], strict=True):
        assert np.array_equal(x, y)


@st.composite
def raw_calls(draw):
    """As `calls`, with one leading dimension, and none of the copies that NumPy would make."""
    inputs, outputs = draw(st.sampled_from(SHAPES))
    batch = draw(st.sampled_from(BATCHES[1:]))
    shapes = [(batch, *shape) for shape in (*inputs, *outputs)]
    return inputs, outputs, [draw(layouts(shape, kinds=("=f8",))) for shape in shapes]


@given(raw_calls(), st.sampled_from(PLACES), st.sampled_from(WIDTHS), st.sampled_from((0, 1, 3)))
@example(
    (((1,),), ((1,),), [Layout((16, 1), (0, 1), (1, 1), 1), Layout((16, 1), (0, 1), (1, 1), 3)]),
    "host",
    8,
    0,
)
def test_unaligned_arrays_are_read_and_written_in_place(call, where, lanes, few):
    inputs, outputs, lying = call
    plan = mixed_plan(inputs, outputs, where, lanes, few)
    memories, arrays, right = filled(inputs, outputs, lying)
    call_loop(plan, arrays)
    for found, memory in zip(memories, right, strict=True):
        assert np.array_equal(found, memory)


@every_width
def test_one_state_may_serve_a_whole_batch(lanes):
    plan = make_plan(twice_plus_first, ((4,), (2,)), ((4,),), target("host", lanes))
    function = make_gufunc(plan, "twice_plus_first", "")
    rng = np.random.default_rng(5)
    x, z = rng.random(4), rng.random((19, 2))
    assert np.array_equal(function(x, z), 2 * x + z[:, :1])
    assert np.array_equal(function(x, z[0]), 2 * x + z[0, :1])
    assert np.array_equal(function(np.broadcast_to(x, (19, 4)), z), 2 * x + z[:, :1])
    assert np.array_equal(function(x[None, ::-1], z), 2 * x[::-1] + z[:, :1])


@every_width
@pytest.mark.parametrize("batch", [1, 3, 8, 19])
def test_an_output_may_overlap_an_input(lanes, batch):
    plan = make_plan(twice_plus_first, ((4,), (2,)), ((4,),), target("host", lanes))
    function = make_gufunc(plan, "twice_plus_first", "")
    memory = np.random.default_rng(6).random(4 * batch + 9)
    z = np.random.default_rng(7).random((batch, 2))
    for shift in (0, 1, 4, 7):
        copy = memory.copy()
        x = copy[: 4 * batch].reshape(batch, 4)
        right = 2 * x + z[:, :1]
        out = copy[shift : shift + 4 * batch].reshape(batch, 4)
        assert function(x, z, out=out) is out
        assert np.array_equal(out, right)


@every_width
def test_a_function_of_numbers_may_write_over_its_input(lanes):
    shapes = ((), ()), ((),)
    function = make_gufunc(mixed_plan(*shapes, "host", lanes, 1), "mixed", "")
    x, y = np.random.default_rng(9).random((2, 29))
    [right] = expected(mixed(*shapes), *shapes, x, y)
    assert np.array_equal(function(x, y, out=x), right)
    assert np.array_equal(x, right)


GUARDED = """
import ctypes, itertools, mmap, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from hand_kernels import expected, make_plan, outer, target, twice_plus_first
from phipsi.backends.gufunc import make_gufunc
from phipsi.backends.real import REALS

real, *lanes = sys.argv[2:]
kind = REALS[real].dtype
PAGE, SIZE = mmap.PAGESIZE, 16 * mmap.PAGESIZE
protect = ctypes.CDLL(None, use_errno=True).mprotect
protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

def guarded():
    block = np.frombuffer(mmap.mmap(-1, SIZE + 2 * PAGE), np.uint8)
    for start in (0, SIZE + PAGE):
        assert protect(block.ctypes.data + start, PAGE, 0) == 0
    return block[PAGE : PAGE + SIZE].view(kind)

def arrays(room, batch, shape, end):
    n = batch * int(np.prod(shape))
    flat = room[len(room) - n :] if end else room[:n]
    yield flat.reshape(batch, *shape)
    yield flat.reshape(*shape, batch).transpose(-1, *range(len(shape)))
    yield flat.reshape(batch, *shape)[::-1, ..., ::-1]

rooms = [guarded() for _ in range(3)]
for where, lanes in (*(("host", int(n)) for n in lanes), ("baseline", 8)):
    for kernel, n in itertools.product((outer, twice_plus_first), range(1, 12)):
        inputs, outputs = ((n,), (3,)), ((n, 3) if kernel is outer else (n,),)
        machine = target(where, lanes, real)
        function = make_gufunc(make_plan(kernel, inputs, outputs, machine), "", "")
        for batch in (1, 2, 7, 8, 9, 21, 33):
            for end in (False, True):
                views = [arrays(r, batch, s, end) for r, s in zip(rooms, inputs + outputs)]
                for x, y, out in zip(*views):
                    x[...], y[...] = np.random.rand(*x.shape), np.random.rand(*y.shape)
                    function(x, y, out)
                    [right] = expected(kernel, inputs, outputs, x, y, kind=kind)
                    assert np.array_equal(out, right)
print("done")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="protects pages by mprotect")
def test_no_byte_before_or_after_an_array_is_touched_or_read(request):
    lanes = map(str, WIDTHS)
    assert subprocess_says(GUARDED, str(request.path.parent), "double", *lanes) == "done"


def careless_text(lanes, name):
    """y = x + z for vectors, after writing all over the room to work in; complains of alignment.

    The tables say how large that room is, and the vectors.
    """
    return f"""
define i64 @{name}(ptr %ins, ptr %outs, ptr %work, ptr %tables) nounwind {{
entry:
  %x = load ptr, ptr %ins
  %z.at = getelementptr ptr, ptr %ins, i64 1
  %z = load ptr, ptr %z.at
  %y = load ptr, ptr %outs
  %bytes = load i64, ptr %tables
  %n.at = getelementptr i64, ptr %tables, i64 1
  %n = load i64, ptr %n.at
  %numbers = mul i64 %n, {lanes}
  br label %scribble
scribble:
  %k = phi i64 [ 0, %entry ], [ %k.next, %scribble ]
  %place = getelementptr i8, ptr %work, i64 %k
  store i8 -1, ptr %place
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, %bytes
  br i1 %k.more, label %scribble, label %add
add:
  %i = phi i64 [ 0, %scribble ], [ %i.next, %add ]
  %a.at = getelementptr double, ptr %x, i64 %i
  %b.at = getelementptr double, ptr %z, i64 %i
  %c.at = getelementptr double, ptr %y, i64 %i
  %a = load double, ptr %a.at
  %b = load double, ptr %b.at
  %c = fadd double %a, %b
  store double %c, ptr %c.at
  %i.next = add i64 %i, 1
  %i.more = icmp ult i64 %i.next, %numbers
  br i1 %i.more, label %add, label %done
done:
  %x.address = ptrtoint ptr %x to i64
  %z.address = ptrtoint ptr %z to i64
  %y.address = ptrtoint ptr %y to i64
  %work.address = ptrtoint ptr %work to i64
  %xz = or i64 %x.address, %z.address
  %xyz = or i64 %xz, %y.address
  %tiles = and i64 %xyz, {8 * lanes - 1}
  %room = and i64 %work.address, 63
  %odd = or i64 %tiles, %room
  ret i64 %odd
}}
"""


@every_width
@pytest.mark.parametrize("work", [1, 63, 64, 65, 1000])
@pytest.mark.parametrize(("offset", "gap"), [(0, 0), (0, 4), (4, 0), (7, 1)])
def test_kernels_get_aligned_tiles_and_room_of_their_own(lanes, work, offset, gap):
    tables = np.array([work, 5])
    here = target("host", lanes)
    code = llvm.compile_module(careless_text(lanes, "many") + careless_text(1, "one"), here)
    addresses = {"lanes": code.address("many"), "single": code.address("one")}
    shapes, memory = (((5,), (5,)), ((5,),)), np.zeros(8 * 2000, np.uint8)
    for few in (0, 1):
        place = {"work": work, "tables": tables.ctypes.data}
        plan = Plan(here, *shapes, few=few, keep=code, **addresses, **place)
        for batch in (1, lanes, 2 * lanes + 1, GROUP * lanes, (GROUP + 1) * lanes + 1):
            strides = (batch * (40 + gap), 40 + gap, 8)
            x, z, y = np.ndarray((3, batch, 5), float, memory, offset, strides)
            x[...], z[...] = np.random.default_rng(batch).random((2, batch, 5))
            z = np.broadcast_to(z[0], z.shape)
            call_loop(plan, [x, z, y])
            assert np.array_equal(y, x + z)
        assert plan.counter[0] == 0


# -- groups of tiles -------------------------------------------------------------------------

TILED = WIDTHS[1:]
every_tiled_width = pytest.mark.parametrize("lanes", TILED)
every_group = pytest.mark.parametrize("tiles", range(1, GROUP + 1))


def length_for(tiles, lanes):
    """Of x and y in y = 2 x + z_0, so that so many tiles of x, y and two of z make a group."""
    return GROUP_BYTES // (8 * lanes * tiles) // 2 - 1


@cache
def plan_of(n, lanes, few):
    return make_plan(twice_plus_first, ((n,), (2,)), ((n,),), target("host", lanes), few)


def grouped(tiles, lanes, few=1):
    n = length_for(tiles, lanes)
    return n, plan_of(n, lanes, few)


def sets_of(plan):
    """How many sets of tiles there are in the workspace that a plan keeps."""
    spare = int(np.frombuffer(plan.counter.obj, np.int64)[1])
    return (ctypes.c_int64 * 7).from_address(spare)[5]


def sizes_around(group, lanes):
    """Batches that end at the end of a group, of a tile, or a state before or after."""
    ends = {lanes, group - lanes, group, group + lanes, 2 * group, 3 * group - lanes, 3 * group}
    return sorted({n + d for n in ends for d in (-1, 0, 1, lanes // 2) if n + d > 0})


@every_tiled_width
def test_a_group_has_as_many_tiles_as_fit_but_one_at_least(lanes):
    sizes = {length_for(tiles, lanes): tiles for tiles in range(1, GROUP + 1)}
    for n, tiles in (sizes | {1: GROUP, length_for(1, lanes) + 1: 1}).items():
        plan = plan_of(n, lanes, 1)
        call_loop(plan, [np.ones((1, n)), np.ones((1, 2)), np.ones((1, n))])
        assert sets_of(plan) == tiles


def where_text(lanes):
    """A kernel that says where its input lies."""
    kind = f"<{lanes} x i64>"
    return f"""
define i64 @where(ptr %ins, ptr %outs, ptr %work, ptr %tables) nounwind {{
  %x = load ptr, ptr %ins
  %y = load ptr, ptr %outs
  %address = ptrtoint ptr %x to i64
  %first = insertelement {kind} poison, i64 %address, i64 0
  %all = shufflevector {kind} %first, {kind} poison, <{lanes} x i32> zeroinitializer
  store {kind} %all, ptr %y
  ret i64 0
}}
"""


@every_tiled_width
@every_group
def test_the_tiles_of_a_group_lie_one_after_the_other(lanes, tiles):
    here = target("host", lanes)
    code = llvm.compile_module(where_text(lanes), here)
    n = GROUP_BYTES // (8 * lanes * tiles) - 1
    plan = Plan(here, ((n,),), ((),), lanes=code.address("where"), keep=code)
    batch = (2 * tiles + 1) * lanes - 1
    places = np.zeros(batch)
    call_loop(plan, [np.zeros((batch, n)), places])
    steps = places.view(np.int64) - places.view(np.int64)[0]
    state = np.arange(batch)
    assert np.array_equal(steps, state // lanes % tiles * (8 * lanes * (n + 1)))


@every_tiled_width
@every_group
def test_batches_that_end_anywhere_in_a_group_give_the_numbers_of_numpy(lanes, tiles):
    rng = np.random.default_rng(11)
    for few in {0, 1, lanes - 1}:
        n, plan = grouped(tiles, lanes, few)
        before = plan.counter[0]
        for batch in sizes_around(tiles * lanes, lanes):
            x, z = rng.random((batch, n)), rng.random((batch, 2))
            memory = np.full((batch + 2, n), 7.0)
            call_loop(plan, [x, z, memory[1:-1]])
            assert np.array_equal(memory[1:-1], 2.0 * x + z[:, :1])
            assert (memory[[0, -1]] == 7.0).all()
        assert sets_of(plan) == tiles
        assert plan.counter[0] == before


@every_tiled_width
@every_group
def test_what_serves_all_states_is_in_every_tile_of_every_group(lanes, tiles):
    """One call after the other, x and z still, moving, and still with other numbers."""
    n, plan = grouped(tiles, lanes)
    function = make_gufunc(plan, "twice_plus_first", "")
    rng, before = np.random.default_rng(12), plan.counter[0]
    for batch in sizes_around(tiles * lanes, lanes):
        xs, zs = rng.random((batch, n)), rng.random((batch, 2))
        still = [(xs[0], zs), (xs, zs[0]), (xs[-1], zs), (xs, zs[-1]), (xs[:1], zs[:1])]
        for x, z in (*still, (xs, zs), *still):
            out = np.full((batch, n), np.nan)
            function(x, z, out=out)
            assert np.array_equal(out, np.broadcast_to(2.0 * x + z[..., :1], (batch, n)))
        rows = [np.broadcast_to(x[0], x.shape) for x in (xs, zs)]
        for x, z in ((rows[0], zs), (xs, rows[1]), (*rows,)):
            call_loop(plan, [x, z, out])
            assert np.array_equal(out, 2.0 * x + z[:, :1])
    assert sets_of(plan) == tiles
    assert plan.counter[0] == before


@every_tiled_width
@every_group
@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, 1.01 * HUGE, -1.01 * HUGE])
def test_alarms_are_counted_by_tile_wherever_it_stands_in_a_group(lanes, tiles, bad):
    """Of the kernel, of the watch, and of both at once."""
    rng = np.random.default_rng(13)
    for few in (0, 1):
        n, plan = grouped(tiles, lanes, few)
        function = make_gufunc(plan, "twice_plus_first", "")
        for batch in sizes_around(tiles * lanes, lanes):
            some = rng.choice(batch, rng.integers(batch + 1), replace=False)
            for states in ([0], [batch - 1], [batch // 2], some, range(0, batch, lanes)):
                x = rng.random((batch, n))
                x[list(states), 0] = bad
                before = plan.counter[0]
                result = function(x, np.ones(2))
                assert plan.counter[0] - before == len(tiles_of(states, batch, lanes, few))
                good = np.setdiff1d(np.arange(batch), states)
                assert np.array_equal(result[good], 2.0 * x[good] + 1.0)


@every_tiled_width
@every_group
def test_the_watch_is_over_the_states_of_a_tile_and_what_serves_them_all(lanes, tiles):
    """Squares of a still input are counted once, however many sets of tiles it is packed into."""
    n, plan = grouped(tiles, lanes, 0)
    function = make_gufunc(plan, "twice_plus_first", "")
    batch, before = 2 * tiles * lanes + 1, plan.counter[0]
    x, z = np.zeros((batch, n)), np.array([0.0, 0.7 * HUGE])
    function(x, z)
    x[:, -1] = 0.7 * HUGE
    function(x, z)
    function(x[0], np.broadcast_to(z, (batch, 2)).copy())
    assert plan.counter[0] == before
    x[batch // 2, -1] = 0.75 * HUGE
    function(x, z)
    assert plan.counter[0] == before + 1


@every_width
def test_a_batch_without_states_is_left_alone(lanes):
    plan = mixed_plan(((3,),), ((2,),), "host", lanes, 1)
    x, y = np.ones((1, 3)), np.zeros((1, 2))
    call_loop(plan, [x[:0], y[:0]])
    assert np.array_equal(y, [[0.0, 0.0]])


# -- alarms ----------------------------------------------------------------------------------


def tiles_of(states, batch, lanes, few):
    """Which tiles, or single states, these states are in."""
    over = batch % lanes
    apart = batch - over if over <= few else batch
    return {("tile", s // lanes) if s < apart else ("single", s) for s in states}


@everywhere
@every_width
@pytest.mark.parametrize("few", [0, 1, 5])
def test_the_counter_counts_tiles_of_which_the_kernel_complains(where, lanes, few):
    plan = make_plan(twice_plus_first, ((3,), (1,)), ((3,),), target(where, lanes), few)
    function = make_gufunc(plan, "twice_plus_first", "")
    rng = np.random.default_rng(8)
    for batch in BATCHES[1:]:
        for states in ([], [0], [batch - 1], [0, batch // 2, batch - 1], [*range(batch)]):
            x = rng.random((batch, 3))
            x[states, 0] *= -1.0
            before = plan.counter[0]
            function(x, np.ones(1))
            assert plan.counter[0] - before == len(tiles_of(states, batch, lanes, few))


@everywhere
@every_width
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1.01 * HUGE, -1.01 * HUGE, 1e200])
def test_a_number_that_is_not_finite_or_too_large_is_an_alarm_wherever_it_stands(where, lanes, bad):
    inputs, outputs = ((7,), (2, 2), (), (19,)), ((1,),)
    plan = mixed_plan(inputs, outputs, where, lanes, 1)
    function = make_gufunc(plan, "mixed", "")
    for batch, order in itertools.product((1, lanes, lanes + 1, 2 * lanes + 3), "CF"):
        for k, shape in enumerate(inputs):
            for at in np.ndindex(shape):
                for state in {0, batch // 2, batch - 1}:
                    arrays = [np.zeros((batch, *size), order=order) for size in inputs]
                    arrays[k][(state, *at)] = bad
                    before = plan.counter[0]
                    with np.errstate(all="raise"):
                        function(*arrays)
                    assert plan.counter[0] == before + 1


@every_width
def test_the_watch_sums_squares_over_all_inputs_of_a_state_and_of_no_other(lanes):
    inputs = ((3,), (2,))
    plan = mixed_plan(inputs, ((1,),), "host", lanes, 1)
    function = make_gufunc(plan, "mixed", "")
    x, y = np.zeros((16, 3)), np.zeros((16, 2))
    x[:, 1] = 0.99 * HUGE
    function(x, y)
    assert plan.counter[0] == 0
    x[5, 1] = y[5, 1] = 0.71 * HUGE
    function(x, y)
    assert plan.counter[0] == 1
    x[5, 1] = y[5, 1] = 0.70 * HUGE
    function(x, y)
    assert plan.counter[0] == 1


@every_width
def test_an_alarm_in_an_input_that_serves_all_states_counts_in_every_tile(lanes):
    plan = mixed_plan(((3,), (2,)), ((1,),), "host", lanes, 0)
    before = plan.counter[0]
    make_gufunc(plan, "mixed", "")(np.full(3, np.nan), np.ones((17, 2)))
    assert plan.counter[0] - before == -(-17 // lanes)


@everywhere
@every_width
def test_no_floating_point_event_is_reported_to_numpy(where, lanes):
    """1/0 in the kernel, an overflow in the watch, a comparison with NaN."""

    def reciprocal(x):
        return [[1.0 / entry for entry in x]], x[0]

    plan = make_plan(reciprocal, ((2,),), ((2,),), target(where, lanes))
    function = make_gufunc(plan, "reciprocal", "")
    for batch in (1, 8, 13):
        x = np.tile([[0.0, 1e300]], (batch, 1))
        x[-1] = np.nan
        with np.errstate(all="raise"):
            result = function(x)
        with np.errstate(divide="ignore"):
            assert np.array_equal(result, 1.0 / x, equal_nan=True)


@every_width
@pytest.mark.parametrize("batch", [1, 3, 20])
def test_without_memory_the_outputs_are_nan_and_the_counter_counts(lanes, batch):
    inputs, outputs = ((3,), (2,)), ((2, 3), (3,))
    plan = make_plan(mixed(inputs, outputs), inputs, outputs, target("host", lanes), work=2**62)
    function = make_gufunc(plan, "mixed", "")
    memory = np.zeros((batch, 3, 7))
    vectors = np.zeros((batch, 3))
    function(np.ones((batch, 3)), np.ones((batch, 2)), memory[:, 1:, 1:6:2], vectors)
    right = np.zeros_like(memory)
    right[:, 1:, 1:6:2] = np.nan
    assert np.array_equal(memory, right, equal_nan=True)
    assert np.isnan(vectors).all()
    assert plan.counter[0] == 1


# -- the code --------------------------------------------------------------------------------


@every_width
def test_the_driver_needs_nothing_but_memory(lanes):
    text = driver.driver_text(lanes, llvm.architecture())
    declared = set(re.findall(r"declare [^@]*@([\w.]+)\(", text))
    assert {name for name in declared if not name.startswith("llvm.")} == {"malloc", "free"}
    if llvm.architecture() == "x86_64":
        for where in PLACES:
            code = llvm.assembly(text, target(where, lanes))
            defined = set(re.findall(r"^([\w.]+):", code, re.MULTILINE))
            used = set(re.findall(r"movabsq\s+\$([A-Za-z_.][\w.]*)", code))
            assert used - defined == {"malloc", "free"}


@pytest.mark.skipif(llvm.architecture() != "x86_64", reason="reads x86 code")
@every_width
def test_the_stack_stays_below_a_page(lanes):
    for where in PLACES:
        code = llvm.assembly(driver.driver_text(lanes, "x86_64"), target(where, lanes))
        frames = [int(size) for size in re.findall(r"subq\s+\$(\d+), %rsp", code)]
        assert max(frames) < 4096


@pytest.mark.parametrize(
    ("family", "features"), [("aarch64", ""), ("riscv64", "+d,+unaligned-scalar-mem")]
)
@every_width
def test_code_is_made_for_other_families_too(family, features, lanes):
    llvmlite.binding.initialize_all_targets()
    llvmlite.binding.initialize_all_asmprinters()
    there = llvmlite.binding.Target.from_triple(f"{family}-linux-gnu")
    machine = there.create_target_machine(features=features)
    with llvmlite.binding.create_context() as context:
        text = driver.driver_text(lanes, family)
        with llvmlite.binding.parse_assembly(text, context) as module:
            module.verify()
            assembly = machine.emit_assembly(module)
    assert "\nloop:" in assembly and "\nrelease:" in assembly
    assert ("msr\tFPSR" in assembly) == (family == "aarch64")


def test_one_driver_serves_all_functions_of_a_target():
    here = target("host", 4)
    assert driver.driver_code(here) is driver.driver_code(target("host", 4))
    assert driver.driver_code(here) is not driver.driver_code(target("host", 2))
