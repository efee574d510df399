"""The threads that help: several callers, processes, signals, ends, and what is left behind."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hand_kernels import make_plan, target, twice_plus_first
from meeting_kernels import Meeting, eagerly
from test_llvm import subprocess_says

from phipsi.backends.gufunc import make_gufunc
from phipsi.backends.llvm import architecture, compile_module
from phipsi.backends.parallel import pool, threads

pytestmark = pytest.mark.skipif(not pool.has_threads(), reason="POSIX threads are needed")
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    eagerly(monkeypatch)


def wait_until(holds):
    """Some seconds at most."""
    for _ in range(5000):
        if holds():
            return
        time.sleep(0.001)
    raise AssertionError("nothing happened")


class Beside(threading.Thread):
    """A call in a thread of Python's."""

    def __init__(self, function, *arguments):
        super().__init__(daemon=True)
        self.function, self.arguments, self.result = function, arguments, None
        self.start()

    def run(self):
        self.result = self.function(*self.arguments)

    def end(self):
        self.join(60)
        assert not self.is_alive()
        return self.result


# -- several callers -------------------------------------------------------------------------


def test_who_finds_the_pool_busy_goes_on_alone():
    x = np.arange(1.0, 3.0)
    first, second = Meeting(3, 2), Meeting(0, 2)
    call = Beside(first, x)
    wait_until(lambda: first.came == 2)  # both threads of the first call are inside
    assert np.array_equal(second(x), x * x)
    fields = np.frombuffer(second.plan.counter.obj, np.int64)
    assert not fields[-threads.MOST :].any()  # nobody helped
    first.open()
    assert np.array_equal(call.end(), x * x)
    third = Meeting(2, 2)
    third(x)
    assert third.in_vain == 0  # the pool is free again


def test_many_callers_at_once_have_the_right_results_and_all_alarms():
    inputs, outputs = ((7,), (2,)), ((7,),)
    plan = make_plan(twice_plus_first, inputs, outputs, target("host", 4), few=0)
    plan = plan.with_threads(3)
    function = make_gufunc(plan, "twice_plus_first", "")
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(40):
            x = rng.random((8 * 150, 7))
            x[::8, 0] = -1.0
            if not np.array_equal(function(x, x[:, :2]), 2.0 * x + x[:, :1]):
                wrong.append(seed)

    for call in [Beside(work, seed) for seed in range(4)]:
        call.end()
    assert not wrong
    assert plan.counter[0] == 4 * 40 * 150


def test_a_pool_that_was_larger_before_helps_with_less():
    x = np.arange(1.0, 9.0)
    large, small = Meeting(8, 8), Meeting(2, 2)
    large(x)
    assert large.in_vain == 0
    for _ in range(200):
        small.table[0] = 0
        assert np.array_equal(small(x[:2]), x[:2] ** 2)
    assert small.in_vain == 0


# -- the floating-point unit -----------------------------------------------------------------


@pytest.mark.skipif(architecture() != "x86_64", reason="sets the unit of x86")
def test_helpers_treat_small_numbers_as_the_calling_thread_does():
    text = """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define i32 @control(i32 %new) {
  %slot = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %slot)
  %old = load i32, ptr %slot
  store i32 %new, ptr %slot
  call void @llvm.x86.sse.ldmxcsr(ptr %slot)
  ret i32 %old
}
"""
    code = compile_module(text, target("host", 1))
    control = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32)(code.address("control"))
    tiny = np.full(4, 1e-160)  # its square is too small to be a normal number
    usual = control(0x1F80)
    try:
        for word, is_zero in ((0x1F80, False), (0x1F80 | 0x8000, True), (0x1F80, False)):
            meeting = Meeting(4, 4)
            control(word)
            squares = meeting(tiny)
            control(0x1F80)
            assert meeting.in_vain == 0
            assert [*(squares == 0.0)] == [is_zero] * 4
    finally:
        control(usual)


# -- signals ---------------------------------------------------------------------------------


@linux
def test_helpers_leave_signals_to_others_but_those_of_their_own_faults():
    """A process of its own: here others have made threads already."""
    script = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from meeting_kernels import Meeting, eagerly
import pytest
def tasks():
    return set(os.listdir("/proc/self/task"))
with pytest.MonkeyPatch.context() as patch:
    eagerly(patch)
    meeting, before = Meeting(3, 3), tasks()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    meeting(np.ones(3))
assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask
new = tasks() - before
for task in new:
    status = open(f"/proc/self/task/{task}/status").read()
    blocked = int(status.split("SigBlk:")[1].split()[0], 16)
    held = [bool(blocked >> (n - 1) & 1) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGSEGV)]
    print(len(new), *held)
"""
    said = subprocess_says(script, os.path.dirname(__file__)).splitlines()
    assert said == ["2 True True False"] * 2


def test_an_interrupt_waits_until_the_batch_is_done():
    meeting, x = Meeting(10, 2), np.arange(1.0, 7.0)

    def interrupt():
        wait_until(lambda: meeting.came == 2)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        meeting.open()

    beside = Beside(interrupt)
    results = []
    with pytest.raises(KeyboardInterrupt):
        results.append(meeting(x))
        time.sleep(5)  # not reached: the interrupt comes first
    beside.end()
    assert meeting.came == 6
    assert meeting.in_vain == 0
    again = Meeting(2, 2)
    assert np.array_equal(again(x), x * x)
    assert again.in_vain == 0


# -- processes -------------------------------------------------------------------------------


FORK = """
import os, sys, threading, time
sys.path.insert(0, sys.argv[1])
import numpy as np
import pytest
from meeting_kernels import Meeting, eagerly

patch = pytest.MonkeyPatch()
eagerly(patch)
x = np.arange(1.0, 5.0)
used = Meeting(2, 2)
used(x)                                     # the parent has helpers
working = Meeting(9, 2)
thread = threading.Thread(target=working, args=(x,))
thread.start()
while working.came < 2:                     # and they are busy while it forks
    time.sleep(0.001)
codes = []
for _ in range(5):
    child = os.fork()
    if not child:
        fine = True
        for n in (2, 4, 2):
            own = Meeting(n, n)
            fine &= np.array_equal(own(x), x * x) and own.in_vain == 0
        used.table[:] = 0, 2                # by a function of the parent as well
        fine &= np.array_equal(used(x), x * x) and used.in_vain == 0
        working.open()
        fine &= np.array_equal(working(x), x * x) and working.in_vain == 0
        grandchild = os.fork()
        if not grandchild:
            last = Meeting(3, 3)
            os._exit(0 if np.array_equal(last(x), x * x) and last.in_vain == 0 else 1)
        fine &= os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]) == 0
        os._exit(0 if fine else 1)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
working.open()
thread.join()
print(codes, used.in_vain, working.in_vain)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_process_has_helpers_of_its_own_though_those_of_its_parent_were_busy():
    assert subprocess_says(FORK, os.path.dirname(__file__)) == "[0, 0, 0, 0, 0] 0 0"


POOLS = """
import multiprocessing, sys
sys.path.insert(0, {here!r})
import numpy as np
from hand_kernels import make_plan, target, twice_plus_first
from phipsi.backends.parallel import threads
from phipsi.backends.gufunc import make_gufunc

threads.WORTH = 0.001
plan = make_plan(twice_plus_first, ((7,), (2,)), ((7,),), target("host", 4)).with_threads(3)
function = make_gufunc(plan, "function", "")

def compute(seed):
    x = np.random.default_rng(seed).random((3000, 7))
    return np.array_equal(function(x, x[:, :2]), 2.0 * x + x[:, :1])

if __name__ == "__main__":
    right = [compute(0)]
    for way in ("fork", "spawn"):
        with multiprocessing.get_context(way).Pool(2) as pool:
            right += pool.map(compute, range(6))
    print(all(right), len(right))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_processes_of_multiprocessing_share_batches_too(tmp_path):
    file = tmp_path / "pools.py"
    file.write_text(POOLS.format(here=os.path.dirname(__file__)))
    command = [sys.executable, str(file)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert result.stdout.strip() == "True 13", result.stderr


# -- ends ------------------------------------------------------------------------------------


EXIT = """
import os, sys, threading, time
sys.path.insert(0, sys.argv[1])
import numpy as np
import pytest
from meeting_kernels import Meeting, eagerly

eagerly(pytest.MonkeyPatch())
Meeting(3, 3)(np.ones(3))
working = Meeting(9, 3)
thread = threading.Thread(target=working, args=(np.ones(5),), daemon=True)
thread.start()
while working.came < 3:
    time.sleep(0.001)
print("ends")
"""


def test_a_process_ends_while_helpers_sleep_and_work():
    assert subprocess_says(EXIT, os.path.dirname(__file__)) == "ends"


LEAKS = """
import os, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import pytest
from meeting_kernels import Meeting, eagerly

eagerly(pytest.MonkeyPatch())
x = np.arange(1.0, 3.0)
meeting = Meeting(2, 2, work=200_000)       # each time a helper comes, with a workspace

def use(times):
    for _ in range(times):
        meeting.again(2)
        assert np.array_equal(meeting(x), x * x) and not meeting.in_vain

def measured():
    pages = int(open("/proc/self/statm").read().split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6, len(os.listdir("/proc/self/task"))

use(50)
before = measured()
use(500)
print(*(b - a for a, b in zip(before, measured())))
"""


@linux
def test_copies_go_with_their_plan_and_threads_stay_as_many():
    """500 workspaces of 200 kB would be 100 MB."""
    grown, more = subprocess_says(LEAKS, os.path.dirname(__file__)).split()
    assert float(grown) < 20
    assert more == "0"


def test_where_there_are_no_threads_every_call_goes_on_alone(monkeypatch):
    monkeypatch.setattr(threads, "has_threads", lambda: False)
    threads.team_code.cache_clear()
    try:
        plan = make_plan(twice_plus_first, ((7,), (2,)), ((7,),), target("host", 4))
        plan = plan.with_threads(3)
        assert plan.loop == plan.driver.address("loop")
        x = np.random.default_rng(0).random((4000, 7))
        result = make_gufunc(plan, "function", "")(x, x[:, :2])
        assert np.array_equal(result, 2.0 * x + x[:, :1])
        del plan
    finally:
        monkeypatch.undo()
        threads.team_code.cache_clear()
