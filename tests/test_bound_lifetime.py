"""Bound functions keep alive what they need, and leave nothing behind; threads share them."""

import gc
import sys
import threading
import weakref

import numpy as np
import pytest
from binding import Careful, bind, bound_of
from entry_cases import SEVERAL, plan_of
from hand_kernels import WIDTHS, expected, mixed, mixed_plan
from test_bound import gimbal, states_of
from test_llvm import subprocess_says

import phipsi as pp
from phipsi.backends import bound_code
from phipsi.operators import C, Mass, T

pytestmark = pytest.mark.usefixtures("as_for_users")


def test_a_bound_function_keeps_alive_what_it_needs_and_takes_it_along():
    plan, x, careful = plan_of(), np.ones(7), Careful()
    seen = [weakref.ref(plan), weakref.ref(plan.keep), weakref.ref(x), weakref.ref(careful)]
    bound = bound_of(plan, [x, np.ones(2)], careful=careful, name="some" + "_name")
    out = weakref.ref(bound())
    del plan, x, careful
    bound_code.bound_code.cache_clear()
    gc.collect()
    for _ in range(20):  # other code and arrays where these would have been
        other = bound_of(plan_of(), [np.zeros(7), np.zeros(2)], name="other")
        bound_code.bound_code.cache_clear()
    assert np.array_equal(bound(), [3.0] * 7) and np.array_equal(other(), np.zeros(7))
    assert bound.__name__ == "some_name"
    assert all(ref() is not None for ref in (*seen, out))
    seen[2]()[0] = -1.0
    assert bound() == "carefully"
    del bound
    assert [ref() for ref in (*seen, out)] == [None] * 5


def test_it_outlives_model_and_function():
    model = gimbal()
    q, v, tau = np.zeros((3, 2))
    bound = bind(pp.compile(model, Mass.inv @ (T - C)), q, v, tau)
    alive = weakref.ref(model)
    del model
    gc.collect()
    assert np.allclose(bound(), [0.0, 9.81])
    q[1] = np.pi / 2
    with pytest.raises(pp.SolveError, match="ring_joint"):
        bound()
    del bound
    gc.collect()
    assert alive() is None


def test_cycles_are_found():
    careful, plan = Careful(), plan_of()
    careful.bound = bound_of(plan, [np.ones(7), np.ones(2)], careful=careful)
    seen = [weakref.ref(x) for x in (careful, plan, plan.keep, careful.bound)]
    del careful, plan
    assert all(ref() is not None for ref in seen)
    gc.collect()
    assert [ref() for ref in seen] == [None] * 4


def test_a_function_that_has_its_bound_function_dies():
    model = gimbal()
    function = pp.compile(model, Mass)
    function.ours = bind(function, np.zeros(2))
    seen = [weakref.ref(x) for x in (model, function, function.ours)]
    del model, function
    gc.collect()
    assert [ref() for ref in seen] == [None] * 3


def test_finalizers_in_a_cycle_still_call():
    results = []

    class Owner:
        def __call__(self):
            return "carefully"

        def __del__(self):
            one, self.x[0] = self.bound().copy(), -1.0
            results.append((one, self.bound(), self.code() is not None))

    owner, plan = Owner(), plan_of()
    owner.x, owner.code = np.ones(7), weakref.ref(plan.keep)
    owner.bound = bound_of(plan, [owner.x, np.ones(2)], careful=owner)
    code = owner.code
    del owner, plan
    gc.collect()
    ((one, wrong, was_there),) = results
    assert np.array_equal(one, [3.0] * 7) and wrong == "carefully" and was_there
    assert code() is None


def test_no_reference_is_lost_or_left():
    careful = Careful()
    x, z, xs, zs = np.ones(7), np.ones(2), np.ones((9, 7)), np.ones((9, 2))
    plans = plan_of(lanes=4), mixed_plan(*SEVERAL, "host", 4, 1)
    cases = [
        (bound_of(plan, pair, careful=careful), pair[0])
        for plan in plans
        for pair in ([x, z], [xs, zs])
    ]
    results = [bound() for bound, _ in cases]
    known = [careful, x, z, xs, zs, *plans, *results, *(bound for bound, _ in cases)]

    def calls(n):
        for _ in range(n):
            for bound, first in cases:
                bound()
                first.flat[0] = -1.0
                bound()
                first.flat[0] = np.nan
                bound()
                first.flat[0] = 1.0

    calls(10)
    before = [sys.getrefcount(y) for y in known]
    calls(10_000)
    assert [sys.getrefcount(y) for y in known] == before


def test_arrays_are_let_go():
    x, z, out = np.ones(7), np.ones(2), np.zeros(7)
    before = [sys.getrefcount(y) for y in (x, z, out)]
    bound = bound_of(plan_of(), [x, z], (out,))
    held = [sys.getrefcount(y) for y in (x, z, out)]
    assert all(there > then for there, then in zip(held, before, strict=True))
    bound()
    assert [sys.getrefcount(y) for y in (x, z, out)] == held
    del bound
    assert [sys.getrefcount(y) for y in (x, z, out)] == before
    x.resize(8, refcheck=False)


MEMORY = """
import resource, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from binding import Careful, bound_of
from hand_kernels import make_plan, mixed, target

inputs, outputs = ((500,), ()), ((500,), (), (20, 20))
plan = make_plan(mixed(inputs, outputs), inputs, outputs, target("host", 4))
one = np.ones(500), np.array(1.0)
many = [np.stack([a, a]) for a in one]
kept = [bound_of(plan, x) for x in (one, many)]

def cycle(n):
    for _ in range(n):
        for arrays, bound in zip((one, many), kept):
            new = bound_of(plan, arrays, careful=Careful(), work=4096)
            for call in (new, bound):
                assert call() is call()
                arrays[0].flat[0] = -1.0
                assert call() == "carefully"
                arrays[0].flat[0] = 1.0

cycle(300)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
cycle(5_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="reads the memory in use by getrusage")
def test_ten_thousand_bound_functions_leave_no_memory_behind(request):
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(subprocess_says(MEMORY, str(request.path.parent))) * unit < 2e6


# -- threads ---------------------------------------------------------------------------------


def in_threads(work, count=4):
    """Run it in several threads at once; what went wrong."""
    wrong, together = [], threading.Barrier(count)

    def run(seed):
        together.wait()
        if not work(seed):
            wrong.append(seed)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


@pytest.mark.parametrize("batch", [(), (600,)])
@pytest.mark.parametrize("lanes", WIDTHS)
def test_threads_with_arrays_of_their_own_share_the_code(lanes, batch):
    plan = plan_of(mixed(*SEVERAL), *SEVERAL, lanes, work=4096)

    def work(seed):
        rng = np.random.default_rng(seed)
        x, z = np.zeros((*batch, 7)), np.zeros((*batch, 2))
        bound = bound_of(plan, [x, z], work=4096)
        for _ in range(50 if batch else 1000):
            x[...], z[...] = rng.random(x.shape), rng.random(z.shape)
            if not all(map(np.array_equal, bound(), expected(mixed(*SEVERAL), *SEVERAL, x, z))):
                return False
        return True

    assert in_threads(work) == []
    assert plan.counter[0] == 0


@pytest.mark.parametrize("unroll", [True, False])
@pytest.mark.parametrize("batch", [(), (600,)])
def test_threads_share_a_bound_function_and_its_room(batch, unroll):
    robot = pp.examples.puma560()
    function = pp.compile(robot, Mass.inv @ (T - C), unroll=unroll)
    arrays = states_of(robot, np.random.default_rng(0), batch)
    right, bound = function(*arrays), bind(function, *arrays)
    assert function._only_code("").work > 0 or unroll

    def work(_seed):
        return all(np.array_equal(bound(), right) for _ in range(50 if batch else 5000))

    assert in_threads(work) == []
