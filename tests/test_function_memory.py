"""Compiled functions live and die with their machines, in threads and in processes."""

import copy
import gc
import pickle
import sys
import threading
import weakref

import machines
import numpy as np
import pytest
from test_function import FALL, count_compilations, llvm, numpy, states
from test_llvm import subprocess_says

import phipsi as pp
from phipsi.backends import looped
from phipsi.operators import C, J, Mass, X

both_paths = pytest.mark.parametrize("unroll", [True, False], ids=["unrolled", "rolled"])
unix = pytest.mark.skipif(sys.platform == "win32", reason="asks for memory in use, or forks")


# -- life ------------------------------------------------------------------------------------


@both_paths
def test_functions_and_their_code_die_with_the_model(unroll):
    model = pp.chain(3)
    functions = [llvm(model, x, unroll=unroll) for x in (FALL, [Mass, C], X @ J)]
    z = np.zeros(3)
    functions[0](z, z, z)
    functions[1](z, z)
    functions[2](z, points=["link3"])
    pp.forward_dynamics(model, z, z, z, backend="llvm")
    pp.forward_dynamics(model, z, z, z, backend="llvm")
    codes = [code for function in functions for code in function._codes.values()]
    assert len(codes) == 3
    watched = [weakref.ref(x) for x in (model, *functions, *codes)]
    del model, functions, codes
    gc.collect()
    assert [x() for x in watched] == [None] * len(watched)


@both_paths
def test_a_function_keeps_its_model(unroll):
    function = llvm(pp.chain(2), FALL, unroll=unroll)
    gc.collect()
    z = np.zeros(2)
    assert np.array_equal(function(z, z, z), function(z, z, z))
    assert function.model.name == "chain of 2"


@both_paths
def test_the_raw_function_outlives_everything_else(unroll):
    model = pp.chain(3)
    q, v, forces = states(model, 20)
    expected = numpy(model, FALL)(q, v, forces)
    function = llvm(model, FALL, unroll=unroll)
    gufunc, watched = function.gufunc, weakref.ref(function)
    del model, function
    looped._programs.clear()
    gc.collect()
    assert watched() is None
    for n in range(2, 12):  # other code where this one might have been
        other = llvm(pp.chain(n), FALL, unroll=unroll).gufunc
        assert other(*np.zeros((3, n))).shape == (n,)
    assert np.allclose(gufunc(q, v, forces), expected, rtol=1e-12)
    assert np.array_equal(gufunc(q[0], v[0], forces[0]), gufunc(q, v, forces)[0])


def test_a_model_is_pickled_and_copied_without_its_functions():
    model = pp.examples.spacecraft()
    q, v, forces = states(model)
    before = llvm(model, FALL)(q, v, forces)
    pp.forward_dynamics(model, q, v, forces, backend="llvm")
    assert len(model.functions) > 1
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert again.functions == {} and again is not model
        assert np.array_equal(llvm(again, FALL)(q, v, forces), before)


def test_a_joint_of_the_users_own_is_not_kept_forever(monkeypatch):
    """Rolled code is kept for machines to come, but only so much of it."""
    monkeypatch.setattr(looped, "FORMS", 5)
    poses = []

    def one():
        def pose(q):
            return machines.cam(q)

        builder = pp.ModelBuilder("a cam of its own")
        kind = pp.joints.Custom(pose, 1)
        builder.add_body("cam", joint=kind, mass=1.0, com=(0.5, 0, 0), inertia=np.eye(3))
        model = builder.build()
        poses.append(weakref.ref(pose))
        found = llvm(model, FALL, unroll=False)([0.1], [0.2], [0.3])
        assert np.allclose(found, numpy(model, FALL)([0.1], [0.2], [0.3]), rtol=1e-12)

    for _ in range(12):
        one()
    gc.collect()
    assert sum(pose() is not None for pose in poses) <= 5
    whole = machines.MARKET["tree_of_every_kind"]()  # of more forms than are kept
    q, v, forces = states(whole)
    expected = numpy(whole, FALL)(q, v, forces)
    assert np.allclose(llvm(whole, FALL, unroll=False)(q, v, forces), expected, rtol=1e-9)


# -- memory in use ---------------------------------------------------------------------------

MEMORY = """
import gc, resource, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import machines
import phipsi as pp
from phipsi.operators import C, J, Mass, T, X, scalar
from test_function import FALL, llvm, states

def growth(cycle, *counts):
    # of the process in bytes, of Python in blocks, over the last of some runs of a cycle
    for count in counts:
        gc.collect()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        blocks = sys.getallocatedblocks()
        for i in range(count):
            cycle(i)
    gc.collect()
    unit = 1 if sys.platform == "darwin" else 1024
    now = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return unit * (now - before), sys.getallocatedblocks() - blocks
"""
TINY = """
def tiny(unroll):
    def cycle(i):
        llvm(pp.chain(1), 2 * scalar("k"), unroll=unroll)([0.0], None, 1.0)
    return cycle

print(*growth(tiny(True), 500, 1_500), *growth(tiny(False), 100, 1_500))
"""
ROBOTS = """
def robot(unroll):
    def cycle(i):
        kinds = [machines.revolute, machines.prismatic]
        model = machines.random_machine(i, 2 + i % 3, kinds, mimics=i % 5 == 0)
        q, v, forces = states(model)
        llvm(model, FALL, unroll=unroll)(q, v, forces)
        llvm(model, X @ J, unroll=unroll)(q, points=["body1", "body0"])
    return cycle

print(*growth(robot(True), 20, 20), *growth(robot(False), 100, 100))
"""


@unix
@pytest.mark.parametrize("script", [TINY, ROBOTS], ids=["one by one", "a hundred robots"])
def test_compiling_and_dropping_leaves_nothing_behind(request, script):
    """Not a page of code per function of thousands, and of Python not one object.

    Rolled code of known forms stays, and is not made again for the next robot.
    """
    says = [int(x) for x in subprocess_says(MEMORY + script, str(request.path.parent)).split()]
    assert all(x < 4e6 for x in says[::2]), says
    assert all(x < 500 for x in says[1::2]), says


# -- threads ---------------------------------------------------------------------------------


@both_paths
@pytest.mark.parametrize("lanes", [1, 8])
def test_threads_share_a_function_from_its_first_call_on(monkeypatch, unroll, lanes):
    """All start while it is not compiled yet; it is compiled once, and nobody gets a wrong bit."""
    compilations = count_compilations(monkeypatch)
    model = pp.examples.puma560()
    batches = [states(model, 40, seed=seed) for seed in range(4)]
    reference = llvm(pp.examples.puma560(), [FALL, Mass], unroll=unroll, lanes=lanes)
    expected = [reference(*batch) for batch in batches]
    compilations.clear()
    function, wrong = llvm(model, [FALL, Mass], unroll=unroll, lanes=lanes), []
    together = threading.Barrier(4)

    def check(found, right):
        wrong.extend(1 for x, y in zip(found, right, strict=True) if not np.array_equal(x, y))

    def work(batch, right):
        q, v, forces = batch
        together.wait()
        for i in range(40):
            check(function(q[i], v[i], forces[i]), [x[i] for x in right])
            check(function(*batch), right)
            check(function(q=q[: i + 1], v=v[: i + 1], T=forces[0])[1:], [right[1][: i + 1]])

    threads = [
        threading.Thread(target=work, args=pair) for pair in zip(batches, expected, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(compilations) == 1


def test_an_alarm_in_one_thread_raises_nothing_in_another():
    model = machines.rbdl_zyx()
    function, z = llvm(model, FALL), np.zeros(3)
    sound, singular = np.full((50, 3), 0.3), np.array([0.3, np.pi / 2, 0.2])
    right, wrong = function(sound, z, z), []

    def complain():
        for _ in range(50):
            try:
                function(singular, z, z)
                wrong.append("no error")
            except pp.SolveError:
                pass

    def compute():
        for _ in range(200):
            if not np.array_equal(function(sound, z, z), right):
                wrong.append("another result")

    threads = [threading.Thread(target=x) for x in (complain, compute, compute)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# -- processes -------------------------------------------------------------------------------

FORK = """
import os, signal, sys, threading
sys.path.insert(0, sys.argv[1])
import numpy as np
import phipsi as pp
from phipsi.operators import C, Mass
from test_function import FALL, llvm, states

unroll = sys.argv[2] == "unrolled"
model = pp.examples.puma560()
q, v, forces = states(model, 64)
function = llvm(model, FALL, unroll=unroll)
expected = function(q, v, forces)

def is_right(function, right):
    alone = function(q[0], v[0], forces[0])
    return np.array_equal(function(q, v, forces), right) and np.array_equal(alone, right[0])

def forked(question):
    child = os.fork()
    if not child:
        signal.alarm(120)
        try:
            os._exit(0 if question() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""
CALLED = """
stop, wrong = threading.Event(), []
def work():
    while not stop.is_set():
        if not is_right(function, expected):
            wrong.append("parent")

def compiled_in_the_child():
    other = llvm(pp.chain(3), C, unroll=unroll)
    return other(np.ones((5, 3)), np.ones(3)).shape == (5, 3)

thread = threading.Thread(target=work)
thread.start()
for _ in range(5):
    wrong += [forked(lambda: is_right(function, expected)), forked(compiled_in_the_child)]
stop.set()
thread.join()
print(set(wrong))
"""
COMPILED = """
spine, inside = sys.modules["phipsi.compile"], threading.Event()
make_code = spine.make_code
def told(*job):
    inside.set()
    return make_code(*job)

spine.make_code = told
results = []
for _ in range(3):
    model = pp.examples.puma560()
    other = llvm(model, FALL, unroll=unroll)
    if not unroll:
        from phipsi.backends import looped
        looped._programs.clear()
    thread = threading.Thread(target=lambda: other(q, v, forces))
    inside.clear()
    thread.start()
    inside.wait()
    results.append(forked(lambda: is_right(other, expected)))
    thread.join()
    results.append(0 if is_right(other, expected) else "parent")
print(set(results))
"""


@unix
@pytest.mark.parametrize("path", ["unrolled", "rolled"])
@pytest.mark.parametrize("script", [CALLED, COMPILED], ids=["called", "compiled"])
def test_a_child_process_goes_on_where_another_thread_was(request, script, path):
    """Forked while another thread calls a function, or compiles the very same one."""
    assert subprocess_says(FORK + script, str(request.path.parent), path) == "{0}"


EXIT = """
import sys, threading
sys.path.insert(0, sys.argv[1])
import phipsi as pp
from test_function import FALL, llvm, states

model = pp.examples.puma560()
function, batch, inside = llvm(model, FALL), states(model, 5000), threading.Event()
function(*batch)

def work():
    while True:
        function(*batch)
        inside.set()

for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
inside.wait()
print("end")
"""


def test_a_process_ends_while_threads_are_inside(request):
    assert subprocess_says(EXIT, str(request.path.parent)) == "end"
