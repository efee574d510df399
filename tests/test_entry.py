"""Single states past NumPy's ufuncs: the same numbers or None, and nothing left behind."""

import ctypes
import gc
import pickle
import sys
import sysconfig
import threading
import weakref

import numpy as np
import pytest
from hand_kernels import (
    BASELINE,
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

from phipsi.backends import entry as entries
from phipsi.backends.entry import ROOM, make_entry
from phipsi.backends.gufunc import make_gufunc
from phipsi.backends.llvm import Target, compile_module

INPUTS, OUTPUTS = ((7,), (2,)), ((7,),)
SHAPES = [
    (((),), ((),)),
    (((1,),), ((1, 1),)),
    (((6,), (6,), (6,)), ((6,),)),
    (((7,), (6,)), ((6, 6),)),
    (((7,), (6,), ()), ((6,), ())),
    (((2, 3), (1, 4)), ((3, 2), (1,), (4, 4), ())),
    (((5,),) * 40, ((3,),) * 24),
]


def entry_of(plan, name="entry", doc="", **more):
    given = {"work": 0, "tables": 0, "target": Target.host(), "keep": plan, **more}
    single = plan.keep.address("single")
    return make_entry(single, plan.inputs, plan.outputs, name=name, doc=doc, **given)


def plan_of(function=twice_plus_first, inputs=INPUTS, outputs=OUTPUTS):
    return make_plan(function, inputs, outputs, target("host", 1))


@pytest.fixture(scope="module")
def entry():
    return entry_of(plan_of(), "twice_plus_first", "Twice x, plus the first of z.")


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


def test_a_result_is_a_new_array_of_its_own(entry):
    x, z = np.ones(7), np.ones(2)
    one, two = entry(x, z), entry(x, z)
    flags = one.flags
    assert flags.owndata and flags.writeable and flags.c_contiguous and flags.aligned
    assert one.base is None
    one[:] = 0.0
    assert np.array_equal(two, [3.0] * 7) and np.array_equal(x, [1.0] * 7)


def test_a_matrix_is_filled_by_rows():
    inputs, outputs = ((2,), (3,)), ((2, 3),)
    x, y = np.array([1.0, 2.0]), np.array([3.0, 5.0, 7.0])
    assert np.array_equal(entry_of(plan_of(outer, inputs, outputs))(x, y), np.outer(x, y))


def test_the_same_array_may_be_passed_twice():
    entry = entry_of(plan_of(outer, ((3,), (3,)), ((3, 3),)))
    x = np.array([1.0, 2.0, 3.0])
    assert np.array_equal(entry(x, x), np.outer(x, x))


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


@pytest.mark.parametrize("work", [0, 8, 72, 1000, ROOM])
def test_a_kernel_works_on_the_arrays_themselves_with_aligned_room(work):
    code = compile_module(PLACES.replace("BYTES", str(work)), Target.host())
    more = {"work": work, "tables": 123456, "target": Target.host(), "keep": code}
    entry = make_entry(code.address("single"), [(3,)], [(4,)], name="places", doc="", **more)
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
    "a batch": (np.ones((3, 7)), Z),
    "a batch of one": (X[None], Z),
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
    assert entry(*arguments) is None


def test_named_arguments_are_refused_with_none(entry):
    assert entry(X, z=Z) is None
    assert entry(x=X, z=Z) is None
    assert entry(X, Z, out=np.ones(7)) is None
    assert entry(X, Z, **{}) is not None


def test_matrices_have_rows_and_columns():
    entry = entry_of(mixed_plan(((2, 3),), ((),), "host", 1, 1))
    assert entry(np.ones((2, 3))) is not None
    for shape in ((3, 2), (6,), (1, 6), (6, 1), (1, 2, 3), (2, 3, 1), (2, 2), (3, 3)):
        assert entry(np.ones(shape)) is None
    assert entry(np.ones((3, 2)).T) is None


def test_numbers_are_arrays_without_dimensions():
    entry = entry_of(mixed_plan(((), (2,)), ((),), "host", 1, 1))
    assert entry(np.array(2.0), Z) is not None
    for number in (2.0, np.float64(2.0), np.array([2.0]), np.array(2)):
        assert entry(number, Z) is None


def test_inputs_may_be_large_but_not_huge(entry):
    assert np.array_equal(entry(with_entry(0.99e60), Z)[1:], [3.0] * 6)
    assert entry(with_entry(1.0e60), Z) is None
    assert entry(with_entry(0.8e60), np.array([1.0, 0.5e60])) is not None
    assert entry(with_entry(0.8e60), np.array([1.0, 0.8e60])) is None


def test_memory_that_cannot_be_written_is_read(entry):
    x, z = np.arange(7.0), np.ones(2)
    x.flags.writeable = z.flags.writeable = False
    assert np.array_equal(entry(x, z), 2.0 * x + 1.0)
    assert np.array_equal(entry(np.frombuffer(x.tobytes()), z), 2.0 * x + 1.0)


def test_doubles_are_known_by_any_name(entry):
    """Arrays that were pickled carry a dtype object of their own, and pass it on."""
    x = pickle.loads(pickle.dumps(np.arange(7.0)))
    annotated = np.ones(2, np.dtype(float, metadata={"unit": "m"}))
    assert x.dtype is not np.dtype(float) and annotated.dtype is not np.dtype(float)
    for result in (entry(x, Z), entry(x + 0.0, annotated)):
        assert np.array_equal(result, 2.0 * x + 1.0)
        assert result.dtype is np.dtype(float)


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


def test_numpy_reports_nothing_of_what_happened_in_a_call(entry):
    with np.errstate(all="raise"):
        for x in (with_entry(1e200), with_entry(np.inf), with_entry(1e-200)):
            entry(x, Z)
            assert np.array_equal(X + X, 2.0 * X)
            assert np.float64(1.0) / np.float64(4.0) == 0.25
            assert np.array_equal(np.linalg.inv(np.eye(2)), np.eye(2))


def test_what_is_being_raised_goes_on(entry):
    def during():
        try:
            raise KeyError("first")
        finally:
            assert entry(X, Z) is not None and entry(X) is None

    with pytest.raises(KeyError, match="first"):
        during()


def test_too_large_a_result_is_a_memory_error():
    for outputs in (((2**58,),), ((7,), (2**29, 2**29), (7,))):
        plan = plan_of()
        plan.outputs = outputs
        with pytest.raises(MemoryError):
            entry_of(plan)(X, Z)


# -- where there is none ---------------------------------------------------------------------


def test_much_room_to_work_in_makes_no_entry():
    plan = plan_of()
    assert entry_of(plan, work=ROOM) is not None
    assert entry_of(plan, work=ROOM + 8) is None


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
            results.append((self.entry(X, Z), self.code() is not None))

    owner, plan = Owner(), plan_of()
    owner.entry, owner.itself, owner.code = entry_of(plan), owner, weakref.ref(plan.keep)
    code = owner.code
    del owner, plan
    gc.collect()
    ((result, was_there),) = results
    assert np.array_equal(result, [3.0] * 7) and was_there
    assert code() is None


SEVERAL = (((7,), (2,)), ((7,), (), (2, 2)))


def test_no_reference_is_lost_or_left(entry):
    several = entry_of(mixed_plan(*SEVERAL, "host", 1, 1))
    x, z, negative = np.ones(7), np.ones(2), with_entry(-1.0)
    strange = [[1.0] * 7, np.ones(3), np.ones(7, np.float32), with_entry(np.nan)]
    objects = [x, z, negative, *strange, entry, several, np.dtype(float), np.ndarray, None]
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
            entry()
            for y in strange:
                entry(y, z)
                several(x, y)

    calls(10)
    before = count()
    calls(10_000)
    after = count()
    # None and the common dtype are used by all of Python: here and there by one more or less.
    assert all(abs(after[key] - before[key]) < 100 for key in before)
    own = [id(y) for y in (x, z, negative, *strange, entry, several)]
    assert all(after[key] == before[key] for key in own)


def test_a_result_has_one_owner(entry):
    one = entry(X, Z)
    several = entry_of(mixed_plan(*SEVERAL, "host", 1, 1))(X, Z)
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

inputs, outputs = ((500,), ()), ((500,), (), (20, 20))
plan = make_plan(mixed(inputs, outputs), inputs, outputs, target("host", 1))
more = dict(work=0, tables=0, target=target("host", 1), name="entry", doc="")

def entry(outputs):
    return make_entry(plan.keep.address("single"), inputs, outputs, keep=np.ones(500), **more)

good, large = entry(outputs), entry(((500,), (), (2**58,)))
x, y, negative, strange = np.ones(500), np.array(1.0), -np.ones(500), np.ones(501)

def cycle(n):
    for _ in range(n):
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
    more = {"work": ROOM, "tables": 0, "target": Target.host(), "keep": code}
    places = make_entry(code.address("single"), [(3,)], [(4,)], name="places", doc="", **more)
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
