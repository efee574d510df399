"""The loop behind a compiled function of floats: tiles of up to 16, strides, remainders, alarms."""

import itertools
import sys

import llvmlite.binding
import numpy as np
import pytest
from hand_kernels import (
    WIDTHS_OF_FLOATS,
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
from hypothesis import given
from hypothesis import strategies as st
from test_driver import BATCHES, GUARDED, PLACES, SHAPES, tiles_of
from test_llvm import subprocess_says

from phipsi.backends import driver, llvm, tiles
from phipsi.backends.gufunc import make_gufunc
from phipsi.backends.real import REALS

HUGE = REALS["float"].huge
KINDS, OFFSETS = ("=f4", ">f4"), (0, 0, 4, 1, 3)

every_width = pytest.mark.parametrize("lanes", WIDTHS_OF_FLOATS)
everywhere = pytest.mark.parametrize("where", PLACES)


def numbers(rng, *shape):
    return rng.random(shape, np.float32)


# -- numbers ---------------------------------------------------------------------------------


@everywhere
@every_width
@pytest.mark.parametrize("few", [0, 1])
def test_every_size_of_batch_and_vector_gives_the_numbers_of_numpy(where, lanes, few):
    rng = np.random.default_rng(1)
    for n in (*range(1, 21), 33):
        inputs, outputs = ((n,), (2,)), ((n,),)
        plan = make_plan(twice_plus_first, inputs, outputs, target(where, lanes, "float"), few)
        function = make_gufunc(plan, "twice_plus_first", "")
        for batch in BATCHES:
            x, z = numbers(rng, batch, n), numbers(rng, batch, 2)
            [right] = expected(twice_plus_first, inputs, outputs, x, z, kind=np.float32)
            found = function(x, z)
            assert found.dtype == np.float32
            assert np.array_equal(found, right)
        assert plan.counter[0] == 0


@every_width
def test_a_matrix_comes_out_row_by_row(lanes):
    plan = make_plan(outer, ((5,), (3,)), ((5, 3),), target("host", lanes, "float"))
    function = make_gufunc(plan, "outer", "")
    rng = np.random.default_rng(2)
    x, y = numbers(rng, 37, 5), numbers(rng, 37, 3)
    assert np.array_equal(function(x, y), x[:, :, None] * y[:, None, :])
    assert np.array_equal(function(x[0], y[0]), np.outer(x[0], y[0]))


def test_a_function_of_floats_takes_no_doubles():
    """What would lose digits is for the caller to say."""
    plan = mixed_plan(((),), ((),), "host", 16, 1, "float")
    function = make_gufunc(plan, "mixed", "")
    assert function.types == ["f->f"]
    assert function(np.float32(1.5)).dtype == np.float32
    with pytest.raises(TypeError, match="safe"):
        function(np.ones(3))


@st.composite
def calls(draw, batches, kinds=KINDS):
    """Shapes, a batch, and how each argument lies; some inputs are the same for many states."""
    inputs, outputs = draw(st.sampled_from(SHAPES))
    batch = draw(batches)
    lying = []
    for shape in inputs:
        still = len(batch) == 1 and draw(st.booleans()) and draw(st.booleans())
        lying.append(draw(layouts(shape if still else batch + shape, kinds, OFFSETS)))
    lying += [draw(layouts(batch + shape, kinds, OFFSETS)) for shape in outputs]
    return inputs, outputs, lying


def filled(inputs, outputs, lying):
    """Memory of all arguments with random inputs; the arrays in it; what it must be afterwards."""
    memories = [layout.memory() for layout in lying]
    arrays = [layout.view(memory) for layout, memory in zip(lying, memories, strict=True)]
    given, rng = arrays[: len(inputs)], np.random.default_rng(3)
    for x in given:
        x[...] = rng.random(x.shape)
    right = [memory.copy() for memory in memories]
    batch = arrays[-1].shape[: arrays[-1].ndim - len(outputs[-1])]
    wide = [np.broadcast_to(x, batch + s) for x, s in zip(given, inputs, strict=True)]
    found = expected(mixed(inputs, outputs), inputs, outputs, *wide, kind=np.float32)
    for layout, memory, result in zip(lying[::-1], right[::-1], found[::-1], strict=False):
        layout.view(memory)[...] = result
    return memories, arrays, right


some_batches = st.one_of(
    st.sampled_from(BATCHES).map(lambda n: (n,)),
    st.lists(st.sampled_from((1, 2, 3, 9)), max_size=3).map(tuple),
)
widths, places = st.sampled_from(WIDTHS_OF_FLOATS), st.sampled_from(PLACES)


@given(calls(some_batches), places, widths, st.sampled_from((0, 1, 3)))
def test_any_layout_gives_the_numbers_of_numpy_and_touches_nothing_else(call, where, lanes, few):
    inputs, outputs, lying = call
    function = make_gufunc(mixed_plan(inputs, outputs, where, lanes, few, "float"), "mixed", "")
    memories, arrays, right = filled(inputs, outputs, lying)
    function(*arrays)
    for found, memory in zip(memories, right, strict=True):
        assert np.array_equal(found, memory)


@st.composite
def raw_calls(draw):
    """With one leading dimension, and none of the copies that NumPy would make."""
    inputs, outputs = draw(st.sampled_from(SHAPES))
    batch = draw(st.sampled_from(BATCHES[1:]))
    shapes = [(batch, *shape) for shape in (*inputs, *outputs)]
    return inputs, outputs, [draw(layouts(shape, ("=f4",), OFFSETS)) for shape in shapes]


@given(raw_calls(), places, widths, st.sampled_from((0, 1, 3)))
def test_the_loop_itself_honours_every_stride_and_address(call, where, lanes, few):
    inputs, outputs, lying = call
    plan = mixed_plan(inputs, outputs, where, lanes, few, "float")
    memories, arrays, right = filled(inputs, outputs, lying)
    call_loop(plan, arrays)
    for found, memory in zip(memories, right, strict=True):
        assert np.array_equal(found, memory)


# -- alarms ----------------------------------------------------------------------------------


@every_width
@pytest.mark.parametrize("few", [0, 5])
def test_the_counter_counts_tiles_of_which_the_kernel_complains(lanes, few):
    machine = target("host", lanes, "float")
    plan = make_plan(twice_plus_first, ((3,), (1,)), ((3,),), machine, few)
    function = make_gufunc(plan, "twice_plus_first", "")
    rng = np.random.default_rng(8)
    for batch in BATCHES[1:]:
        for states in ([], [0], [batch - 1], [0, batch // 2, batch - 1], [*range(batch)]):
            x = numbers(rng, batch, 3)
            x[states, 0] *= -1.0
            before = plan.counter[0]
            function(x, np.ones(1, np.float32))
            assert plan.counter[0] - before == len(tiles_of(states, batch, lanes, few))


@everywhere
@every_width
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1.01 * HUGE, -1.01 * HUGE, 1e30])
def test_a_number_that_is_not_finite_or_too_large_is_an_alarm_wherever_it_stands(where, lanes, bad):
    inputs, outputs = ((7,), (2, 2), (), (19,)), ((1,),)
    function = make_gufunc(
        plan := mixed_plan(inputs, outputs, where, lanes, 1, "float"), "mixed", ""
    )
    for batch, order in itertools.product((1, lanes, 2 * lanes + 3), "CF"):
        for k, shape in enumerate(inputs):
            for at in np.ndindex(shape):
                arrays = [np.zeros((batch, *size), np.float32, order) for size in inputs]
                arrays[k][(batch // 2, *at)] = bad
                before = plan.counter[0]
                with np.errstate(all="raise"):
                    function(*arrays)
                assert plan.counter[0] == before + 1


@every_width
def test_the_watch_counts_every_square_once(lanes):
    """Also of columns that two blocks of a row have in common."""
    for n in range(1, 24):
        plan = mixed_plan(((n,), (2,)), ((1,),), "host", lanes, 0, "float")
        function = make_gufunc(plan, "mixed", "")
        x, y = np.zeros((33, n), np.float32), np.zeros((33, 2), np.float32)
        before = plan.counter[0]
        for e in range(n):
            x[:] = 0.0
            x[:, e] = y[:, 1] = 0.70 * HUGE
            function(x, y)
        assert plan.counter[0] == before
        x[17, n - 1] = 0.72 * HUGE
        function(x, y)
        assert plan.counter[0] == before + 1


def test_squares_of_what_is_not_huge_stay_finite():
    """And so do products of four such numbers."""
    assert np.isfinite(np.float32(HUGE) ** 4)
    assert tiles.bound("float") == REALS["float"].literal(HUGE * HUGE)


def test_a_state_has_the_same_bits_wherever_it_stands():
    inputs, outputs = SHAPES[2]
    rng = np.random.default_rng(9)
    arrays = [numbers(rng, 67, *shape) for shape in inputs]
    results = []
    for lanes in WIDTHS_OF_FLOATS:
        function = make_gufunc(mixed_plan(inputs, outputs, "host", lanes, 1, "float"), "", "")
        results.append(function(*arrays))
        alone = np.array([function(*x) for x in zip(*arrays, strict=True)])
        assert np.array_equal(results[-1], alone)
    assert all(np.array_equal(x, results[0]) for x in results)


@pytest.mark.skipif(sys.platform == "win32", reason="protects pages by mprotect")
def test_no_byte_before_or_after_an_array_is_touched_or_read(request):
    assert subprocess_says(GUARDED, str(request.path.parent), "float", "2", "4", "16") == "done"


@pytest.mark.skipif(sys.platform == "win32", reason="limits memory by setrlimit")
def test_without_memory_all_outputs_are_nan_and_that_is_an_alarm(request):
    """In a process of its own, that may not have more."""
    said = subprocess_says(
        """
import resource, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from hand_kernels import make_plan, target, twice_plus_first
from phipsi.backends.gufunc import make_gufunc
machine = target("host", 4, "float")
plan = make_plan(twice_plus_first, ((3,), (1,)), ((3,),), machine, 1, work=1 << 34)
function = make_gufunc(plan, "f", "")
x, z, out = np.ones((9, 3), "f4"), np.ones(1, "f4"), np.ones((9, 3), "f4")
resource.setrlimit(resource.RLIMIT_AS, (1 << 33, 1 << 33))
function(x, z, out=out)
print(bool(np.isnan(out).all()), plan.counter[0])
""",
        str(request.path.parent),
    )
    assert said == "True 1"


# -- the text --------------------------------------------------------------------------------


def test_the_widest_tile_fills_one_register():
    assert llvm.Target("", "", 8).of("float").lanes == 16
    driver.driver_text(16, "x86_64", "float")
    with pytest.raises(AssertionError):
        driver.driver_text(16, "x86_64")


@pytest.mark.parametrize(
    ("family", "features"), [("aarch64", ""), ("riscv64", "+d,+unaligned-scalar-mem")]
)
def test_code_is_made_for_other_families_too(family, features):
    """Four floats to a register of 64-bit Arm."""
    llvmlite.binding.initialize_all_targets()
    llvmlite.binding.initialize_all_asmprinters()
    there = llvmlite.binding.Target.from_triple(f"{family}-linux-gnu")
    machine = there.create_target_machine(features=features)
    with llvmlite.binding.create_context() as context:
        text = driver.driver_text(4, family, "float")
        assert "double" not in text
        with llvmlite.binding.parse_assembly(text, context) as module:
            module.verify()
            assert "\nloop:" in machine.emit_assembly(module)
