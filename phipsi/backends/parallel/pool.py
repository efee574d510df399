"""LLVM IR of the threads that help: one pool for all functions of a process.

    i64 engage(ptr pool, ptr task, i64 helpers)     ask for helpers: 1, or 0 if there are none
    void dismiss(ptr pool)                          wait until all who came have gone

A task begins with the address of its code, `void work(ptr task, i64 number)`.
Every helper that comes calls it once, with a number of its own, from 1 on; who
engaged them calls it with 0, and dismisses them when nothing is left to do. A
helper that wakes too late finds no task, and sleeps on: nobody waits for it.

One call at a time has the pool. Another one that comes meanwhile, from another
thread of Python, is refused at once and goes on alone. Helpers know nothing of
Python; they are made when first needed and end with the process. They sleep on
a condition of POSIX threads; after a task they look out for the next one for a
moment, which saves the time that waking takes. They leave signals to others, but
those of their own faults.

A child process after a fork has none of the threads of its parent. The pool
keeps the number of the process that it belongs to, which a fork from Python
clears; a call from another one sets it up again, with new locks: the old ones may
be held by threads that the child does not have.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from functools import lru_cache
from string import Template

from phipsi.backends.llvm import architecture

STACK = 1 << 20  # bytes, for each thread
ROOM = 128  # bytes for a lock or a condition; 64 are enough everywhere
SPINS = 1024  # looks for the next task before sleeping: 10 to 40 us
LOOKS = 32  # after so many, whoever waits for this processor has it
BYTES = 4 * 64  # of a pool
ASKED = 5  # which of its fields says how many threads a function asks for

_NEEDED = (
    "pthread_create",
    "pthread_detach",
    "pthread_attr_init",
    "pthread_attr_setstacksize",
    "pthread_attr_destroy",
    "pthread_sigmask",
    "pthread_mutex_init",
    "pthread_mutex_lock",
    "pthread_mutex_unlock",
    "pthread_cond_init",
    "pthread_cond_wait",
    "pthread_cond_signal",
    "sigfillset",
    "sigdelset",
    "sched_yield",
    "getpid",
)
_FAULTS = ("SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGSEGV")

_pool = ctypes.create_string_buffer(BYTES + 64)


def pool_address() -> int:
    """Where the pool of this process lies, in cache lines of its own."""
    return -(-ctypes.addressof(_pool) // 64) * 64


def _forget() -> None:
    """In a child process: the pool was its parent's, and so was what a call has asked for."""
    fields = (ctypes.c_int64 * (ASKED + 1)).from_address(pool_address())
    fields[0] = fields[ASKED] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@lru_cache(maxsize=1)
def has_threads() -> bool:
    """Whether this system has POSIX threads; elsewhere every call goes on alone."""
    return sys.platform != "win32" and all(hasattr(ctypes.pythonapi, x) for x in _NEEDED)


def pool_text() -> str:
    """Definitions of `engage` and `dismiss`; the same text in every process of a system."""
    faults = [int(getattr(signal, name)) for name in _FAULTS if hasattr(signal, name)]
    words = {
        "ignored": "\n".join(f"  call i32 @sigdelset(ptr %all, i32 {x})" for x in faults),
        "set_mask": 2 if sys.platform == "linux" else 3,
        "stack": STACK,
        "spins": SPINS,
        "looks": LOOKS,
        "wake": ROOM,
        "done": 2 * ROOM,
        "locks": 3 * ROOM,
        "rest": BYTES - 8,
        "pause": _PAUSES.get(architecture(), _NO_PAUSE),
    }
    return Template(_HEAD + _ENGAGE + _RECRUIT + _WORKER + _DISMISS).substitute(words)


_PAUSES = {
    "x86_64": """
declare void @llvm.x86.sse2.pause()
define internal void @pause() #0 {
  call void @llvm.x86.sse2.pause()
  ret void
}
""",
    "aarch64": """
declare void @llvm.aarch64.hint(i32)
define internal void @pause() #0 {
  call void @llvm.aarch64.hint(i32 1)
  ret void
}
""",
}

_NO_PAUSE = """
define internal void @pause() #0 {
  ret void
}
"""

# A pool, all zero at first. What threads look at while they wait has cache lines of its own.
#
#     0 process   whose it is; the negative while it is set up
#     1 busy      1 while a call has it
#     2 workers   threads that were made
#     3 numbered  those that have taken a number
#     4 locks     a mutex, a condition to wake up, a condition that all is done
#     5 asked     threads that the function asks for which is called now; 0 for the default
#     6 turn      how many tasks there were
#     7 inside    workers in the task
#     8 task      or null when nobody may come any more; this and the rest under the mutex
#     9 places    workers that may still come
#    10 asleep    workers that wait for the condition
_HEAD = """
%pool = type { i64, i64, i64, i64, ptr, i64, [16 x i8],
               i64, [56 x i8], i64, [56 x i8], ptr, i64, i64, [40 x i8] }

declare ptr @malloc(i64)
declare void @free(ptr)
declare i32 @getpid()
declare i32 @sched_yield()
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @sigdelset(ptr, i32)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)

attributes #0 = { nounwind }
attributes #1 = { nounwind cold noinline }
$pause
define internal i64 @pass_time(i64 %looks) #0 {
entry:
  call void @pause()
  %next = add i64 %looks, 1
  %rest = urem i64 %next, $looks
  %is_turn = icmp eq i64 %rest, 0
  br i1 %is_turn, label %yield, label %done
yield:
  %yielded = call i32 @sched_yield()
  br label %done
done:
  ret i64 %next
}
"""

_ENGAGE = """
define i64 @engage(ptr %pool, ptr %task, i64 %helpers) #0 {
entry:
  %locks.at = getelementptr %pool, ptr %pool, i64 0, i32 4
  %busy.at = getelementptr %pool, ptr %pool, i64 0, i32 1
  %turn.at = getelementptr %pool, ptr %pool, i64 0, i32 7
  %task.at = getelementptr %pool, ptr %pool, i64 0, i32 11
  %places.at = getelementptr %pool, ptr %pool, i64 0, i32 12
  %asleep.at = getelementptr %pool, ptr %pool, i64 0, i32 13
  %process = call i32 @getpid()
  %me = zext i32 %process to i64
  %whose = load atomic i64, ptr %pool acquire, align 8
  %is_mine = icmp eq i64 %whose, %me
  br i1 %is_mine, label %take, label %other
other:
  %claim = sub i64 0, %me
  %is_claimed = icmp eq i64 %whose, %claim
  br i1 %is_claimed, label %refuse, label %claiming
claiming:
  %claimed = cmpxchg ptr %pool, i64 %whose, i64 %claim acq_rel monotonic, align 8
  %won = extractvalue { i64, i1 } %claimed, 1
  br i1 %won, label %found, label %refuse
found:
  %is_set_up = call i1 @set_up(ptr %pool)
  %owner = select i1 %is_set_up, i64 %me, i64 0
  store atomic i64 %owner, ptr %pool release, align 8
  br i1 %is_set_up, label %take, label %refuse
take:
  %taken = cmpxchg ptr %busy.at, i64 0, i64 1 acquire monotonic, align 8
  %ours = extractvalue { i64, i1 } %taken, 1
  br i1 %ours, label %recruit, label %refuse
recruit:
  %workers = call i64 @recruit(ptr %pool, i64 %helpers)
  %any = icmp ne i64 %workers, 0
  br i1 %any, label %call, label %nobody
nobody:
  store atomic i64 0, ptr %busy.at release, align 8
  br label %refuse
refuse:
  ret i64 0
call:
  %locks = load ptr, ptr %locks.at, align 8
  %locked = call i32 @pthread_mutex_lock(ptr %locks)
  store ptr %task, ptr %task.at, align 8
  store i64 %helpers, ptr %places.at, align 8
  %turn = load atomic i64, ptr %turn.at monotonic, align 8
  %turn.next = add i64 %turn, 1
  store atomic i64 %turn.next, ptr %turn.at release, align 8
  %asleep = load i64, ptr %asleep.at, align 8
  %unlocked = call i32 @pthread_mutex_unlock(ptr %locks)
  %awake = sub i64 %workers, %asleep
  %missing = sub i64 %helpers, %awake
  %calls = call i64 @llvm.smin.i64(i64 %missing, i64 %asleep)
  %wake.at = getelementptr i8, ptr %locks, i64 $wake
  br label %wake
wake:
  %w = phi i64 [ 0, %call ], [ %w.next, %another ]
  %more = icmp slt i64 %w, %calls
  br i1 %more, label %another, label %done
another:
  %woken = call i32 @pthread_cond_signal(ptr %wake.at)
  %w.next = add i64 %w, 1
  br label %wake
done:
  ret i64 1
}

define internal i1 @set_up(ptr %pool) #1 {
entry:
  %locks = call ptr @malloc(i64 $locks)
  %failed = icmp eq ptr %locks, null
  br i1 %failed, label %fail, label %begin
fail:
  ret i1 0
begin:
  %wake = getelementptr i8, ptr %locks, i64 $wake
  %done = getelementptr i8, ptr %locks, i64 $done
  %mutex.made = call i32 @pthread_mutex_init(ptr %locks, ptr null)
  %wake.made = call i32 @pthread_cond_init(ptr %wake, ptr null)
  %done.made = call i32 @pthread_cond_init(ptr %done, ptr null)
  %any = or i32 %mutex.made, %wake.made
  %some = or i32 %any, %done.made
  %wrong = icmp ne i32 %some, 0
  br i1 %wrong, label %drop, label %clear
drop:
  call void @free(ptr %locks)
  ret i1 0
clear:
  %rest = getelementptr i8, ptr %pool, i64 8
  call void @llvm.memset.p0.i64(ptr %rest, i8 0, i64 $rest, i1 0)
  %locks.at = getelementptr %pool, ptr %pool, i64 0, i32 4
  store ptr %locks, ptr %locks.at, align 8
  ret i1 1
}
"""

# As many threads as are needed, or as the system gives: how many there are. No signal but those of
# its own faults may reach a new thread, so they are blocked here while it is made.
_RECRUIT = """
define internal i64 @recruit(ptr %pool, i64 %helpers) #0 {
entry:
  %workers.at = getelementptr %pool, ptr %pool, i64 0, i32 2
  %workers = load i64, ptr %workers.at, align 8
  %enough = icmp uge i64 %workers, %helpers
  br i1 %enough, label %ready, label %make
ready:
  ret i64 %workers
make:
  %made = call i64 @enlarge(ptr %pool, i64 %workers, i64 %helpers)
  store i64 %made, ptr %workers.at, align 8
  ret i64 %made
}

define internal i64 @enlarge(ptr %pool, i64 %workers, i64 %helpers) #1 {
entry:
  %attributes = alloca [128 x i8], align 16
  %all = alloca [128 x i8], align 16
  %before = alloca [128 x i8], align 16
  %thread = alloca ptr, align 8
  call i32 @pthread_attr_init(ptr %attributes)
  call i32 @pthread_attr_setstacksize(ptr %attributes, i64 $stack)
  call i32 @sigfillset(ptr %all)
$ignored
  call i32 @pthread_sigmask(i32 $set_mask, ptr %all, ptr %before)
  br label %next
next:
  %n = phi i64 [ %workers, %entry ], [ %n.next, %made ]
  %more = icmp ult i64 %n, %helpers
  br i1 %more, label %try, label %end
try:
  %error = call i32 @pthread_create(ptr %thread, ptr %attributes, ptr @worker, ptr %pool)
  %fine = icmp eq i32 %error, 0
  br i1 %fine, label %made, label %end
made:
  %handle = load ptr, ptr %thread, align 8
  call i32 @pthread_detach(ptr %handle)
  %n.next = add i64 %n, 1
  br label %next
end:
  call i32 @pthread_sigmask(i32 $set_mask, ptr %before, ptr null)
  call i32 @pthread_attr_destroy(ptr %attributes)
  ret i64 %n
}
"""

_WORKER = """
define internal ptr @worker(ptr %pool) #0 {
entry:
  %numbered.at = getelementptr %pool, ptr %pool, i64 0, i32 3
  %locks.at = getelementptr %pool, ptr %pool, i64 0, i32 4
  %turn.at = getelementptr %pool, ptr %pool, i64 0, i32 7
  %inside.at = getelementptr %pool, ptr %pool, i64 0, i32 9
  %task.at = getelementptr %pool, ptr %pool, i64 0, i32 11
  %places.at = getelementptr %pool, ptr %pool, i64 0, i32 12
  %asleep.at = getelementptr %pool, ptr %pool, i64 0, i32 13
  %locks = load ptr, ptr %locks.at, align 8
  %wake = getelementptr i8, ptr %locks, i64 $wake
  %done = getelementptr i8, ptr %locks, i64 $done
  %others = atomicrmw add ptr %numbered.at, i64 1 monotonic, align 8
  %number = add i64 %others, 1
  br label %lock
lock:
  %locked = call i32 @pthread_mutex_lock(ptr %locks)
  br label %look
look:
  %task = load ptr, ptr %task.at, align 8
  %places = load i64, ptr %places.at, align 8
  %is_task = icmp ne ptr %task, null
  %is_place = icmp ne i64 %places, 0
  %comes = and i1 %is_task, %is_place
  br i1 %comes, label %join, label %sleep
sleep:
  %asleep = load i64, ptr %asleep.at, align 8
  %asleep.more = add i64 %asleep, 1
  store i64 %asleep.more, ptr %asleep.at, align 8
  %woken = call i32 @pthread_cond_wait(ptr %wake, ptr %locks)
  %asleep.now = load i64, ptr %asleep.at, align 8
  %asleep.less = sub i64 %asleep.now, 1
  store i64 %asleep.less, ptr %asleep.at, align 8
  br label %look
join:
  %places.left = sub i64 %places, 1
  store i64 %places.left, ptr %places.at, align 8
  %inside.before = atomicrmw add ptr %inside.at, i64 1 monotonic, align 8
  %turn = load atomic i64, ptr %turn.at monotonic, align 8
  %joined = call i32 @pthread_mutex_unlock(ptr %locks)
  %work = load ptr, ptr %task, align 8
  call void %work(ptr %task, i64 %number)
  %inside = atomicrmw sub ptr %inside.at, i64 1 acq_rel, align 8
  %is_last = icmp eq i64 %inside, 1
  br i1 %is_last, label %tell, label %spin
tell:
  %tell.locked = call i32 @pthread_mutex_lock(ptr %locks)
  %told = call i32 @pthread_cond_signal(ptr %done)
  %tell.unlocked = call i32 @pthread_mutex_unlock(ptr %locks)
  br label %spin
spin:
  %s = phi i64 [ 0, %join ], [ 0, %tell ], [ %s.next, %spin.on ]
  %now = load atomic i64, ptr %turn.at monotonic, align 8
  %is_new = icmp ne i64 %now, %turn
  %is_over = icmp eq i64 %s, $spins
  %ends = or i1 %is_new, %is_over
  br i1 %ends, label %lock, label %spin.on
spin.on:
  %s.next = call i64 @pass_time(i64 %s)
  br label %spin
}
"""

_DISMISS = """
define void @dismiss(ptr %pool) #0 {
entry:
  %busy.at = getelementptr %pool, ptr %pool, i64 0, i32 1
  %locks.at = getelementptr %pool, ptr %pool, i64 0, i32 4
  %inside.at = getelementptr %pool, ptr %pool, i64 0, i32 9
  %task.at = getelementptr %pool, ptr %pool, i64 0, i32 11
  %locks = load ptr, ptr %locks.at, align 8
  %done = getelementptr i8, ptr %locks, i64 $done
  %locked = call i32 @pthread_mutex_lock(ptr %locks)
  store ptr null, ptr %task.at, align 8
  %unlocked = call i32 @pthread_mutex_unlock(ptr %locks)
  br label %spin
spin:
  %s = phi i64 [ 0, %entry ], [ %s.next, %spin.on ]
  %inside = load atomic i64, ptr %inside.at acquire, align 8
  %is_empty = icmp eq i64 %inside, 0
  br i1 %is_empty, label %end, label %impatient
impatient:
  %is_over = icmp eq i64 %s, $spins
  br i1 %is_over, label %lock, label %spin.on
spin.on:
  %s.next = call i64 @pass_time(i64 %s)
  br label %spin
lock:
  %wait.locked = call i32 @pthread_mutex_lock(ptr %locks)
  br label %look
look:
  %left = load atomic i64, ptr %inside.at acquire, align 8
  %all_gone = icmp eq i64 %left, 0
  br i1 %all_gone, label %unlock, label %wait
wait:
  %woken = call i32 @pthread_cond_wait(ptr %done, ptr %locks)
  br label %look
unlock:
  %wait.unlocked = call i32 @pthread_mutex_unlock(ptr %locks)
  br label %end
end:
  store atomic i64 0, ptr %busy.at release, align 8
  ret void
}
"""
