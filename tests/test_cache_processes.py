"""Many threads and processes at one cache: one makes a thing, killed ones leave nothing wrong."""

import errno
import os
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest

from phipsi.backends.disk import turns
from phipsi.backends.disk.digest import digest
from phipsi.backends.disk.storage import Store

KEY = digest("a key")

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
locks = pytest.mark.skipif(turns.fcntl is None, reason="there are no locks")


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cache", 1_000_000, tmp_path / "key")


def says(script, *arguments):
    """What a script prints, in a process of its own."""
    run = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script, *map(str, arguments)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


# -- at once ---------------------------------------------------------------------------------

# Each compiles, computes, and writes down which texts LLVM was given.
AT_ONCE = """
import os, sys
import numpy as np
import phipsi as pp
from phipsi.backends import llvm
from phipsi.backends.disk.digest import digest

results, log, parsed = sys.argv[1], sys.argv[2], llvm._parsed

def logged(text):
    with open(log, "ab", buffering=0) as file:
        file.write((digest(text).hex() + "\\n").encode())
    return parsed(text)

llvm._parsed = logged

def compute():
    robot = pp.examples.planar_arm(3)
    q = np.random.default_rng(0).normal(size=(5, robot.nv))
    mass = pp.mass_matrix(robot, q, backend="llvm")
    with open(results, "ab", buffering=0) as file:
        file.write((mass.tobytes().hex() + "\\n").encode())

def processes(count):
    gate, opened = os.pipe()
    children = []
    for _ in range(count):
        children.append(os.fork())
        if not children[-1]:
            os.close(opened)
            os.read(gate, 1)
            compute()
            os._exit(0)
    os.close(opened)  # and all begin
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]

assert processes(16) == [0] * 16
with open(log, "ab") as file:
    file.write(b"later\\n")
assert processes(1) == [0]
"""


@forks
@locks
def test_sixteen_processes_on_an_empty_cache_compile_each_text_once(tmp_path, monkeypatch):
    results, log, folder = tmp_path / "results", tmp_path / "log", tmp_path / "cache"
    monkeypatch.setenv("PHIPSI_CACHE", str(folder))
    says(AT_ONCE, results, log)
    computed = results.read_text().split()
    assert len(computed) == 17 and len(set(computed)) == 1
    at_once, later = (Counter(part.split()) for part in log.read_text().split("later\n"))
    assert set(at_once.values()) == {1}
    assert at_once.keys().isdisjoint(later)
    kept = os.listdir(folder)  # no locks, no halves
    assert len(kept) >= 3 and all(name.endswith(".phipsi") for name in kept)


def test_of_many_threads_one_makes_and_all_have_it(store):
    made, found = [], []

    def make():
        made.append(1)
        time.sleep(0.05)
        return b"made"

    def work():
        found.append(store.made_once("object", KEY, make))

    threads = [threading.Thread(target=work) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [b"made"] * 12
    assert len(made) == 1 or turns.fcntl is None
    assert os.listdir(store.directory) == [os.path.basename(store.path("object", KEY))]


@locks
def test_only_one_is_inside_however_often_the_file_comes_and_goes(tmp_path):
    inside, most, path = [], [], str(tmp_path / "lock")

    def work():
        for _ in range(20):
            with turns.turn(path):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.0002)
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 120
    assert os.listdir(tmp_path) == []


# -- locks that do not work ------------------------------------------------------------------


@locks
def test_who_has_waited_long_enough_goes_on_alone(store, tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "PATIENCE", 0.05)
    store.put("object", digest("so that there is a directory"), b"")
    with turns.turn(f"{store.directory}/.object-{KEY.hex()}.lock"):
        assert store.made_once("object", KEY, lambda: b"made") == b"made"
    assert store.get("object", KEY) == b"made"


@locks
def test_who_waits_goes_on_as_soon_as_there_is_nothing_to_wait_for(tmp_path):
    looks = []
    with turns.turn(str(tmp_path / "lock")):
        with turns.turn(str(tmp_path / "lock"), lambda: looks.append(1) or len(looks) == 3):
            assert len(looks) == 3
        assert os.listdir(tmp_path) == ["lock"]  # of the one who has it


@pytest.mark.parametrize("why", ["no module", "no locks", "no files"])
def test_without_locks_everyone_makes_his_own(store, monkeypatch, why):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "no locks available")

    if why == "no module":
        monkeypatch.setattr(turns, "fcntl", None)
    elif why == "no locks" and turns.fcntl is not None:
        monkeypatch.setattr(turns.fcntl, "flock", refuse)
    else:
        monkeypatch.setattr(turns, "_open_own", refuse)
    assert store.made_once("object", KEY, lambda: b"made") == b"made"
    assert store.made_once("object", KEY, lambda: b"again") == b"made"


@locks
def test_an_interrupt_while_waiting_leaves_the_lock_to_its_owner(tmp_path, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    path = str(tmp_path / "lock")
    with turns.turn(path):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(time, "sleep", interrupt)
            with turns.turn(path):
                pass
        assert os.listdir(tmp_path) == ["lock"]
    assert os.listdir(tmp_path) == []


# -- processes that are killed or forked -----------------------------------------------------

KILLED = """
import os, random, signal, sys, time
from phipsi.backends.disk.digest import digest
from phipsi.backends.disk.storage import Store

folder, write = sys.argv[1], os.write
random.seed(1)

def slowly(file, data):
    time.sleep(0.0005)
    return write(file, bytes(data[:500]))

def payload(k):
    return random.Random(k).randbytes(5000)

store, bad, found = Store(folder, 10**6, folder + ".key"), 0, 0
for turn in range(60):
    child = os.fork()
    if not child:
        os.write = slowly
        for k in range(100):
            store.made_once("object", digest(turn % 4, k), lambda: payload(k))
        os._exit(0)
    time.sleep(random.uniform(0.0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    for k in range(10):
        kept = store.get("object", digest(turn % 4, k))
        found += kept is not None
        bad += kept not in (None, payload(k))
halves = sum(name.endswith(".part") for name in os.listdir(folder))
right = all(
    store.made_once("object", digest(0, k), lambda: payload(k)) == payload(k) for k in range(100)
)
store.clear()
print(bad, found > 0, halves > 0, right, len(os.listdir(folder)))
"""


@forks
def test_kill_nine_at_any_moment_leaves_no_half_file_under_a_name(tmp_path):
    assert says(KILLED, tmp_path / "cache") == ["0", "True", "True", "True", "0"]


INTERRUPTED = """
import os, random, signal, sys, time
from phipsi.backends.disk.digest import digest
from phipsi.backends.disk.storage import Store

random.seed(1)
write, folder = os.write, sys.argv[1]
os.write = lambda file, data: write(file, bytes(data[:50]))
signal.signal(signal.SIGALRM, signal.default_int_handler)
store, interrupts, left = Store(folder, 10**6, folder + ".key"), 0, 0
for k in range(200):
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, 2e-3))
        store.made_once("object", digest(k), lambda: bytes(3000))
        time.sleep(0.01)
    except KeyboardInterrupt:
        interrupts += 1
    left += sum(name.endswith(".part") for name in os.listdir(folder))
kept = {store.get("object", digest(k)) for k in range(200)}
print(interrupts > 100, left, kept <= {None, bytes(3000)})
"""


@forks
def test_interrupts_at_any_moment_leave_no_file_behind(tmp_path):
    (tmp_path / "cache").mkdir(mode=0o700)
    assert says(INTERRUPTED, tmp_path / "cache") == ["True", "0", "True"]


FORKED = """
import os, signal, sys, threading, time
from phipsi.backends.disk import turns
from phipsi.backends.disk.digest import digest
from phipsi.backends.disk.storage import Store

store, key = Store(sys.argv[1], 10**6, sys.argv[1] + ".key"), digest("a key")
begun, may_end, results = threading.Event(), threading.Event(), []

def make():
    begun.set()
    may_end.wait()
    return b"made"

thread = threading.Thread(target=lambda: store.made_once("object", key, make))
thread.start()
begun.wait()
child = os.fork()  # it has the locked file, too
if not child:
    other = store.made_once("object", digest("other"), lambda: b"other")
    mine = store.made_once("object", key, lambda: b"made twice")
    store.put("object", digest("child"), other + mine)
    time.sleep(60)
may_end.set()
thread.join()
while store.get("object", digest("child")) is None:
    time.sleep(0.001)
print(store.get("object", digest("child")).decode())
# The lock is free, although the child lives and has not closed the file.
turns.PATIENCE = 0.0
os.unlink(store.path("object", key))
with turns.turn(f"{sys.argv[1]}/.object-{key.hex()}.lock", lambda: print("taken")):
    print(len([name for name in os.listdir(sys.argv[1]) if name.endswith(".lock")]))
os.kill(child, signal.SIGKILL)

child = os.fork()
if not child:  # dies with the lock
    store.made_once("object", key, lambda: os.kill(os.getpid(), signal.SIGKILL))
os.waitpid(child, 0)
print(store.made_once("object", key, lambda: b"anew").decode())
"""


@forks
@locks
def test_a_fork_during_a_turn_and_a_death_during_one_stop_nobody(tmp_path):
    assert says(FORKED, tmp_path / "cache") == ["othermade", "1", "anew"]
