"""Compiled functions as NumPy sees them: signatures, lifetimes, threads, processes."""

import ctypes
import gc
import sys
import threading
import weakref

import numpy as np
import pytest
from hand_kernels import WIDTHS, make_plan, mixed, target, twice_plus_first
from test_llvm import subprocess_says

from phipsi.backends import gufunc
from phipsi.backends.gufunc import Plan, make_gufunc
from phipsi.backends.llvm import Target
from phipsi.errors import BackendError

INPUTS, OUTPUTS = ((7,), (2,)), ((7,),)


def plan_of(lanes=4, **more):
    return make_plan(twice_plus_first, INPUTS, OUTPUTS, target("host", lanes), **more)


@pytest.fixture(scope="module")
def function():
    return make_gufunc(plan_of(), "twice_plus_first", "Twice x, plus the first of z.")


# -- what NumPy sees -------------------------------------------------------------------------


def test_a_compiled_function_is_an_ordinary_gufunc(function):
    assert isinstance(function, np.ufunc)
    assert function.__name__ == "twice_plus_first"
    assert "Twice x, plus the first of z." in function.__doc__
    assert (function.nin, function.nout) == (2, 1)
    assert function.signature == "(7),(2)->(7)"
    assert function.types == ["dd->d"]


@pytest.mark.parametrize(
    ("inputs", "outputs", "signature"),
    [
        (((),), ((),), "()->()"),
        (((6,),), ((6, 6),), "(6)->(6,6)"),
        (((7,), (6,), (6,)), ((6,), ()), "(7),(6),(6)->(6),()"),
        (((2, 3), ()), ((3, 2), (1,), (4, 4)), "(2,3),()->(3,2),(1),(4,4)"),
    ],
)
def test_the_signature_carries_the_sizes(inputs, outputs, signature):
    plan = make_plan(mixed(inputs, outputs), inputs, outputs, Target.host())
    assert plan.signature == signature
    function = make_gufunc(plan, "mixed", "")
    assert function.signature == (None if signature == "()->()" else signature)
    results = function(*(np.ones((2, *shape)) for shape in inputs))
    results = results if len(outputs) > 1 else (results,)
    assert [x.shape for x in results] == [(2, *shape) for shape in outputs]


def test_numpy_refuses_sizes_that_do_not_fit(function):
    for x, z in (((6,), (2,)), ((8,), (2,)), ((7,), (1,)), ((3, 7), (4, 2)), ((), (2,))):
        with pytest.raises(ValueError):
            function(np.ones(x), np.ones(z))
    with pytest.raises(ValueError):
        function(np.ones(7), np.ones(2), out=np.ones(6))
    with pytest.raises(ValueError):
        function(np.ones((3, 7)), np.ones(2), out=np.ones((2, 7)))
    with pytest.raises(TypeError):
        function(np.ones(7, complex), np.ones(2))


def test_other_numbers_are_converted_and_lists_are_arrays(function):
    x, z = np.arange(7), np.array([1, 2])
    right = 2.0 * x + 1.0
    for kind in (np.int32, np.float32, ">f8", bool):
        assert np.array_equal(function(x.astype(kind), z), 2.0 * x.astype(kind) + 1.0)
    assert np.array_equal(function(list(range(7)), [1, 2]), right)
    out = np.zeros(7, np.float32)
    function(x, z, out=out, casting="same_kind")
    assert np.array_equal(out, right.astype(np.float32))


def test_axes_may_be_named_and_parts_of_a_batch_left_out(function):
    x, z = np.random.default_rng(0).random((7, 5)), np.ones((2, 5))
    assert np.array_equal(function(x, z, axes=[0, 0, 0]), 2.0 * x + 1.0)
    out = np.zeros((4, 7))
    function(np.ones((2, 7)), np.ones(2), out=out[::2])
    assert np.array_equal(out, np.array([[3.0], [0.0], [3.0], [0.0]]) * np.ones(7))


# -- refusals --------------------------------------------------------------------------------


def test_more_arguments_than_numpy_allows_are_refused():
    many = ((1,),) * 63
    function = make_gufunc(make_plan(mixed(many, ((),)), many, ((),), Target.host()), "mixed", "")
    ones = [np.ones((9, 1))] * 63
    right = mixed(many, ((),))(*([np.ones(9)] for _ in many))[0][0][0]
    assert np.array_equal(function(*ones), right)
    with pytest.raises(BackendError, match="at most 64 inputs and outputs, not 64 and 1"):
        Plan(Target.host(), ((1,),) * 64, ((),), lanes=0)


def test_empty_arguments_are_refused():
    with pytest.raises(BackendError, match=r"no empty arguments.*\[\(0,\)\] -> \[\(1,\)\]"):
        Plan(Target.host(), ((0,),), ((1,),), lanes=0)


def test_a_numpy_with_other_ufuncs_is_refused(monkeypatch):
    class Shifted(ctypes.Structure):
        _fields_ = (("more", ctypes.c_int64), *gufunc._UFunc._fields_)

    monkeypatch.setattr(gufunc, "_UFunc", Shifted)
    gufunc._check_layout.cache_clear()
    with pytest.raises(BackendError, match="lays out its ufuncs"):
        make_gufunc(plan_of(), "twice_plus_first", "")
    monkeypatch.undo()
    make_gufunc(plan_of(), "twice_plus_first", "")


# -- lifetime --------------------------------------------------------------------------------


def test_a_function_keeps_alive_what_it_needs_and_takes_it_along():
    plan = plan_of()
    seen = [weakref.ref(plan), weakref.ref(plan.keep)]
    counter, function = plan.counter, make_gufunc(plan, "twice_plus_first", "Some text.")
    del plan
    gc.collect()
    for _ in range(20):  # other code where this one would have been
        other = make_gufunc(plan_of(), "other", "Other text.")
    x = np.random.default_rng(1).random((33, 7)) - 0.5
    assert np.array_equal(function(x, np.zeros(2)), 2.0 * x)
    assert other(x, np.zeros(2)) is not None
    assert function.__name__ == "twice_plus_first" and "Some text." in function.__doc__
    assert all(ref() is not None for ref in seen)
    assert counter[0] > 0
    alarms = counter[0]
    del function
    gc.collect()
    assert [ref() for ref in seen] == [None, None]
    assert counter[0] == alarms  # its memory is its own


def test_a_function_owns_exactly_one_reference():
    plan = plan_of()
    before = sys.getrefcount(plan)
    function = make_gufunc(plan, "twice_plus_first", "")
    assert sys.getrefcount(plan) == before + 1
    del function
    assert sys.getrefcount(plan) == before


WORKSPACES = """
import resource, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from hand_kernels import make_plan, target, twice_plus_first
from phipsi.backends.gufunc import Plan, make_gufunc

plan = make_plan(twice_plus_first, ((7,), (2,)), ((7,),), target("host", 4))
x, z = np.ones((9, 7)), np.ones(2)

def cycle(n):
    for _ in range(n):
        addresses = {"lanes": plan.keep.address("lanes"), "single": plan.keep.address("single")}
        own = Plan(plan.driver.target, plan.inputs, plan.outputs, work=10**5, **addresses)
        function = make_gufunc(own, "function", "")
        function(x, z)
        function(x, z)

cycle(100)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
cycle(1000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="reads the memory in use by getrusage")
def test_workspaces_go_with_their_functions(request):
    unit = 1 if sys.platform == "darwin" else 1024
    tests = str(request.path.parent)
    assert int(subprocess_says(WORKSPACES, tests)) * unit < 2e6


@pytest.mark.parametrize("lanes", WIDTHS)
def test_one_workspace_is_kept_and_serves_all_calls(lanes):
    plan = plan_of(lanes)
    function = make_gufunc(plan, "twice_plus_first", "")
    fields = np.frombuffer(plan.counter.obj, np.int64)
    assert fields[1] == 0
    function(np.ones(7), np.ones(2))
    spare = fields[1]
    assert spare != 0 and spare % 64 == 0
    for batch in (1, 5, 100):
        function(np.ones((batch, 7)), np.ones(2))
        assert fields[1] == spare


# -- threads and processes -------------------------------------------------------------------


@pytest.mark.parametrize("lanes", WIDTHS)
def test_threads_share_a_function_and_no_alarm_is_lost(lanes):
    plan = plan_of(lanes, few=0, work=4096)
    function = make_gufunc(plan, "twice_plus_first", "")
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(60):
            x = rng.random((8 * 150, 7))
            x[::8, 0] = -1.0
            if not np.array_equal(function(x, x[:, :2]), 2.0 * x + x[:, :1]):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert plan.counter[0] == 4 * 60 * 150


FORK = """
import os, sys, threading
sys.path.insert(0, sys.argv[1])
import numpy as np
from hand_kernels import make_plan, target, twice_plus_first
from phipsi.backends.gufunc import make_gufunc

plan = make_plan(twice_plus_first, ((7,), (2,)), ((7,),), target("host", 4), work=10**6)
function = make_gufunc(plan, "function", "")
x = np.random.default_rng(0).random((50_000, 7))
z, right = x[:, :2], 2.0 * x + x[:, :1]

def is_right(n):
    return np.array_equal(function(x[:n], z[:n]), right[:n])

stop, wrong = threading.Event(), []
def work():
    while not stop.is_set():
        if not is_right(len(x)):
            wrong.append("parent")

thread = threading.Thread(target=work)
thread.start()
for _ in range(20):
    child = os.fork()
    if not child:
        os._exit(0 if all(is_right(n) for n in (1, 7, 100, 1000)) else 1)
    wrong += ["child"] * (os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0)
stop.set()
thread.join()
print(wrong)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_child_process_calls_a_function_that_another_thread_was_in(request):
    assert subprocess_says(FORK, str(request.path.parent)) == "[]"
