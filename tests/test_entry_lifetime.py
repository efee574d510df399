"""Entries keep alive what they need, and leave nothing behind."""

import gc
import sys
import weakref

import numpy as np
import pytest
from entry_cases import (
    SEVERAL,
    SHAPES,
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
from hand_kernels import BASELINE, mixed_plan, target
from test_llvm import subprocess_says

from phipsi.backends import entry_code
from phipsi.backends.llvm import Target, compile_module


@pytest.fixture(scope="module")
def entry():
    return ordinary_entry()


def test_one_piece_of_code_serves_all_shapes(monkeypatch):
    made = []

    def counted(*arguments):
        made.append(arguments)
        return compile_module(*arguments)

    plans = [mixed_plan(inputs, outputs, "host", 1, 1) for inputs, outputs in SHAPES]
    monkeypatch.setattr(entry_code, "compile_module", counted)
    entry_code.entry_code.cache_clear()
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
    entry_code.entry_code.cache_clear()
    gc.collect()
    for _ in range(20):  # other code where this one would have been
        other = entry_of(plan_of(), "other", "Other text.")
        entry_code.entry_code.cache_clear()
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
from phipsi.backends.entry import Callers, make_entry
from phipsi.backends.gufunc import Plan

inputs, outputs = ((500,), ()), ((500,), (), (20, 20))
plan = make_plan(mixed(inputs, outputs), inputs, outputs, target("host", 4))
names = dict(inputs=("x", "y"), callers=Callers(("x", "y")))
more = dict(work=0, tables=0, target=target("host", 4), name="entry", doc="", **names)

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
