"""Threads share entries; other threads run while many states are computed."""

import threading
import time

import numpy as np
import pytest
from entry_cases import PLACES, SEVERAL, entry_of, places_entry, plan_of
from hand_kernels import WIDTHS, expected, mixed, mixed_plan, target
from test_llvm import subprocess_says

from phipsi.backends.entry import ROOM
from phipsi.backends.gufunc import Plan
from phipsi.backends.llvm import Target, compile_module

every_width = pytest.mark.parametrize("lanes", WIDTHS)


def test_threads_share_an_entry():
    code = compile_module(PLACES.replace("BYTES", str(ROOM)), Target.host())
    places = places_entry(code, ROOM, 0)
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


@every_width
def test_threads_share_an_entry_of_many_states(lanes):
    plan = plan_of(mixed(*SEVERAL), *SEVERAL, lanes, work=4096)
    entry, wrong = entry_of(plan, work=4096), []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(60):
            x, z = rng.random((600, 7)), rng.random((600, 2))
            right = expected(mixed(*SEVERAL), *SEVERAL, x, z)
            if not all(map(np.array_equal, entry(x, z), right)):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert plan.counter[0] == 0


# Says in its tables that it has begun, and waits until it is told there to go on; not for ever.
WAITING = """
define i64 @single(ptr %ins, ptr %outs, ptr %work, ptr %tables) nounwind {
entry:
  %go.at = getelementptr i64, ptr %tables, i64 1
  store volatile i64 1, ptr %tables, align 8
  br label %wait
wait:
  %i = phi i64 [ 0, %entry ], [ %i.next, %again ]
  %go = load volatile i64, ptr %go.at, align 8
  %told = icmp ne i64 %go, 0
  br i1 %told, label %done, label %again
again:
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, 20000000000
  br i1 %more, label %wait, label %done
done:
  %ends = phi double [ 1.0, %wait ], [ 0.0, %again ]
  %out = load ptr, ptr %outs, align 8
  store double %ends, ptr %out, align 8
  ret i64 0
}
"""


def answered(batch, answer):
    """What a kernel that waits for another thread of Python gives; that thread answers first."""
    code = compile_module(WAITING, Target.host())
    begun_and_go = np.zeros(2, np.int64)
    address = code.address("single")
    place = {"tables": begun_and_go.ctypes.data, "keep": code}
    plan = Plan(target("host", 1), [()], [()], lanes=address, **place)
    entry = entry_of(plan, tables=begun_and_go.ctypes.data, kernel=address)

    def other():
        while not begun_and_go[0]:
            time.sleep(0.001)
        answer(plan)
        begun_and_go[1] = 1

    thread = threading.Thread(target=other)
    thread.start()
    result = entry(np.ones(batch))
    begun_and_go[0] = 1  # even if it was not
    thread.join()
    return result


def test_other_threads_run_while_many_states_are_computed():
    seen = []
    for batch in (1, 3):
        assert np.array_equal(answered(batch, lambda plan: seen.append(len(seen))), [1.0] * batch)
    assert seen == [0, 1]


def test_an_alarm_of_another_thread_meanwhile_counts_for_both():
    def alarm(plan):
        plan.counter[0] += 1

    assert answered(3, alarm) is None


EXIT = """
import sys, threading, time
sys.path.insert(0, sys.argv[1])
import numpy as np
from hand_kernels import make_plan, target, twice_plus_first
from phipsi.backends.entry import Callers, make_entry

here = target("host", 4)
plan = make_plan(twice_plus_first, ((7,), (2,)), ((7,),), here)
kernel = plan.keep.address("single")
names = {"inputs": ("x", "z"), "callers": Callers(("x", "z"))}
entry = make_entry(plan, kernel, work=0, tables=0, target=here, name="entry", doc="", **names)
x, z, calls = np.ones((100_000, 7)), np.ones((100_000, 2)), []

def work():
    while True:
        calls.append(entry(x, z) is not None)

for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
while len(calls) < 4:
    time.sleep(0.001)
print(all(calls))
"""


def test_python_ends_while_threads_are_inside(request):
    assert subprocess_says(EXIT, str(request.path.parent)) == "True"
