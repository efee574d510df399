"""LLVM IR of the loop that shares a batch among threads.

    void share(char **args, npy_intp *dimensions, npy_intp *steps, void *plan)

It takes the place of the driver's loop, and is handed the same plan, behind whose
last shape its own fields follow, the team:

    0 loop      the driver's
    1 threads   that may work on a batch; 0 for the default of the package
    2 default   where that is found
    3 pool      where helpers come from
    4 least     states that are worth a thread
    5 lanes     of a tile
    6 copies    of the plan, one for each helper: null until it first comes

A batch is cut into chunks of whole tiles. Whoever has time takes the next one, the
calling thread as well, of its own share first, and hands it to the driver's loop.
Tiles are those of one
thread alone, and a state has the same result in any of them: so results are the
same bit by bit, and so is the number of alarms. A helper has its own copy of the
plan, with its own workspace; its alarms are added to those of the plan. It
rounds as the calling thread does, and treats small numbers alike.

Batches that are too small for two threads, and those whose results are written
one over the other, are left to the calling thread; so are all where the pool is
busy or has nobody. The pool is told how many threads the function asks for:
kernels of large machines may want them (see `subtrees`). Where two calls at the
same time ask for different numbers, that may be either: it is a matter of speed
alone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from math import ceil, prod
from string import Template

from phipsi.backends.driver import ARGUMENTS
from phipsi.backends.job import Shape
from phipsi.backends.llvm import Code, Target, compile_module
from phipsi.backends.parallel.dealing import PLACE, common_text
from phipsi.backends.parallel.pool import ASKED, has_threads, pool_address, pool_text
from phipsi.backends.parallel.workers import MOST, default_address, threads_or_default
from phipsi.backends.tiles import GROUP
from phipsi.backends.views import SHAPE_TYPE

WORTH = 100_000  # instructions of a thread that are worth waking it: some 25 us
MOVED = 4  # instructions that moving a number to its lane and back takes, of the same kind
UNKNOWN = 10  # instructions for each number that goes in or out, where nobody has counted
CHUNKS = 16  # for each thread: the last one leaves the others waiting for a moment only
SMALL = 8  # chunks of what is worth a thread: they are not cut any smaller


def team_fields(
    target: Target,
    loop: int,
    shapes: Sequence[Shape],
    operations: int,
    threads: int | str | None,
) -> list[int]:
    """What a plan has behind its shapes; nothing where there are no threads.

    Args:
        target: what the kernels were made for.
        loop: address of the driver's loop.
        shapes: of inputs and outputs.
        operations: of one state; 0 if unknown.
        threads: that may work on a batch; None for the default of the package.
    """
    own = threads_or_default(threads)
    if not has_threads():
        return []
    numbers = sum(map(prod, shapes))
    instructions = MOVED * numbers + (operations or UNKNOWN * numbers)
    least = ceil(WORTH * target.lanes / instructions)
    fields = [loop, own, default_address(), pool_address(), least, target.lanes]
    return [*fields, *([0] * MOST)]


@lru_cache(maxsize=1)
def team_code() -> Code | None:
    """The compiled loop, `share`, and `disband`; None where there are no threads.

    It is never freed: threads live in it until the process ends.
    """
    if not has_threads():
        return None
    own = Template(_HEAD + _SHARE + _WORK + _COPY + _DISBAND).substitute(
        shape_type=SHAPE_TYPE,
        arguments=ARGUMENTS,
        most=MOST,
        place=PLACE,
        asked=ASKED,
        chunks=CHUNKS,
        small=SMALL,
        group=GROUP,
    )
    host = Target.host()
    text = pool_text() + common_text() + own
    code = compile_module(text, Target(host.cpu, host.features, 1))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(code))
    return code


# A batch as a task of the pool.
_HEAD = """
%plan = type { i64, ptr, ptr, ptr, i64, ptr, i64, i64, i64 }
$shape_type
%team = type { ptr, i64, ptr, ptr, i64, i64, [$most x ptr] }
%batch = type { ptr, ptr, ptr, ptr, ptr, i64, i64, i64, i64, i64, i64, ptr }

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""

_SHARE = """
define void @share(ptr %args, ptr %dimensions, ptr %steps, ptr %plan) #0 {
entry:
  %batch = alloca %batch, align 64
  %places = alloca [$most x [$place x i8]], align $place
  %nin.at = getelementptr %plan, ptr %plan, i64 0, i32 7
  %nin = load i64, ptr %nin.at, align 8
  %nout.at = getelementptr %plan, ptr %plan, i64 0, i32 8
  %nout = load i64, ptr %nout.at, align 8
  %count = add i64 %nin, %nout
  %shapes = getelementptr %plan, ptr %plan, i64 1
  %team = getelementptr %shape, ptr %shapes, i64 %count
  %loop = load ptr, ptr %team, align 8
  %own.at = getelementptr %team, ptr %team, i64 0, i32 1
  %own = load i64, ptr %own.at, align 8
  %default.at.at = getelementptr %team, ptr %team, i64 0, i32 2
  %default.at = load ptr, ptr %default.at.at, align 8
  %default = load atomic i64, ptr %default.at monotonic, align 8
  %is_own = icmp ne i64 %own, 0
  %asked = select i1 %is_own, i64 %own, i64 %default
  %is_one = icmp ule i64 %asked, 1
  br i1 %is_one, label %alone, label %weigh
weigh:
  %states = load i64, ptr %dimensions, align 8
  %least.at = getelementptr %team, ptr %team, i64 0, i32 4
  %least = load i64, ptr %least.at, align 8
  %lanes.at = getelementptr %team, ptr %team, i64 0, i32 5
  %lanes = load i64, ptr %lanes.at, align 8
  %worth = sdiv i64 %states, %least
  %threads = call i64 @llvm.smin.i64(i64 %asked, i64 %worth)
  %few = icmp slt i64 %threads, 2
  %in_one = icmp sle i64 %states, %lanes
  %small = or i1 %few, %in_one
  br i1 %small, label %alone, label %outputs
outputs:
  %o = phi i64 [ %nin, %weigh ], [ %o.next, %outputs.next ]
  %o.at = getelementptr i64, ptr %steps, i64 %o
  %o.step = load i64, ptr %o.at, align 8
  %o.over = icmp eq i64 %o.step, 0
  br i1 %o.over, label %alone, label %outputs.next
outputs.next:
  %o.next = add i64 %o, 1
  %o.more = icmp ult i64 %o.next, %count
  br i1 %o.more, label %outputs, label %cut
cut:
  %parts = mul i64 %threads, $chunks
  %even = udiv i64 %states, %parts
  %smallest = udiv i64 %least, $small
  %fine = call i64 @llvm.umax.i64(i64 %even, i64 %smallest)
  %chunk = call i64 @whole(i64 %fine, i64 %lanes)
  %beyond = add i64 %states, %chunk
  %beyond.last = sub i64 %beyond, 1
  %chunks = udiv i64 %beyond.last, %chunk
  %pool.at = getelementptr %team, ptr %team, i64 0, i32 3
  %pool = load ptr, ptr %pool.at, align 8
  %control = call i64 @control()
  store ptr @work, ptr %batch, align 8
  %b.loop = getelementptr %batch, ptr %batch, i64 0, i32 1
  store ptr %loop, ptr %b.loop, align 8
  %b.args = getelementptr %batch, ptr %batch, i64 0, i32 2
  store ptr %args, ptr %b.args, align 8
  %b.steps = getelementptr %batch, ptr %batch, i64 0, i32 3
  store ptr %steps, ptr %b.steps, align 8
  %b.plan = getelementptr %batch, ptr %batch, i64 0, i32 4
  store ptr %plan, ptr %b.plan, align 8
  %b.count = getelementptr %batch, ptr %batch, i64 0, i32 5
  store i64 %count, ptr %b.count, align 8
  %b.states = getelementptr %batch, ptr %batch, i64 0, i32 6
  store i64 %states, ptr %b.states, align 8
  %b.chunk = getelementptr %batch, ptr %batch, i64 0, i32 7
  store i64 %chunk, ptr %b.chunk, align 8
  %b.control = getelementptr %batch, ptr %batch, i64 0, i32 8
  store i64 %control, ptr %b.control, align 8
  %b.chunks = getelementptr %batch, ptr %batch, i64 0, i32 9
  store i64 %chunks, ptr %b.chunks, align 8
  %b.threads = getelementptr %batch, ptr %batch, i64 0, i32 10
  store i64 %threads, ptr %b.threads, align 8
  %b.places = getelementptr %batch, ptr %batch, i64 0, i32 11
  store ptr %places, ptr %b.places, align 8
  call void @begin_dealing(ptr %places, i64 %threads)
  %helpers = sub i64 %threads, 1
  %engaged = call i64 @engage(ptr %pool, ptr %batch, i64 %helpers)
  %together = icmp ne i64 %engaged, 0
  br i1 %together, label %begin, label %alone
begin:
  call void @work(ptr %batch, i64 0)
  call void @dismiss(ptr %pool)
  ret void
alone:
  br i1 %is_own, label %say, label %just
just:
  call void %loop(ptr %args, ptr %dimensions, ptr %steps, ptr %plan)
  ret void
say:
  %own_pool.at = getelementptr %team, ptr %team, i64 0, i32 3
  %own_pool = load ptr, ptr %own_pool.at, align 8
  %asked.at = getelementptr i64, ptr %own_pool, i64 $asked
  store atomic i64 %own, ptr %asked.at monotonic, align 8
  call void %loop(ptr %args, ptr %dimensions, ptr %steps, ptr %plan)
  store atomic i64 0, ptr %asked.at monotonic, align 8
  ret void
}

define internal i64 @whole(i64 %states, i64 %lanes) #0 {
  %last = sub i64 %lanes, 1
  %group = mul i64 %lanes, $group
  %last_of_group = sub i64 %group, 1
  %some = call i64 @llvm.umax.i64(i64 %states, i64 1)
  %beyond = add i64 %some, %last
  %tiles = sub i64 0, %lanes
  %by_tiles = and i64 %beyond, %tiles
  %beyond_group = add i64 %some, %last_of_group
  %groups = sub i64 0, %group
  %by_groups = and i64 %beyond_group, %groups
  %is_large = icmp uge i64 %some, %group
  %whole = select i1 %is_large, i64 %by_groups, i64 %by_tiles
  ret i64 %whole
}
"""

# What each thread does. Who has no memory for a copy of the plan leaves all to the others.
_WORK = """
define internal void @work(ptr %batch, i64 %number) #0 {
entry:
  %args = alloca [$arguments x ptr], align 8
  %dimensions = alloca i64, align 8
  %share = alloca i64, align 8
  %loop.at = getelementptr %batch, ptr %batch, i64 0, i32 1
  %loop = load ptr, ptr %loop.at, align 8
  %firsts.at = getelementptr %batch, ptr %batch, i64 0, i32 2
  %firsts = load ptr, ptr %firsts.at, align 8
  %steps.at = getelementptr %batch, ptr %batch, i64 0, i32 3
  %steps = load ptr, ptr %steps.at, align 8
  %plan.at = getelementptr %batch, ptr %batch, i64 0, i32 4
  %plan = load ptr, ptr %plan.at, align 8
  %count.at = getelementptr %batch, ptr %batch, i64 0, i32 5
  %count = load i64, ptr %count.at, align 8
  %states.at = getelementptr %batch, ptr %batch, i64 0, i32 6
  %states = load i64, ptr %states.at, align 8
  %chunk.at = getelementptr %batch, ptr %batch, i64 0, i32 7
  %chunk = load i64, ptr %chunk.at, align 8
  %control.at = getelementptr %batch, ptr %batch, i64 0, i32 8
  %control = load i64, ptr %control.at, align 8
  %chunks.at = getelementptr %batch, ptr %batch, i64 0, i32 9
  %chunks = load i64, ptr %chunks.at, align 8
  %threads.at = getelementptr %batch, ptr %batch, i64 0, i32 10
  %threads = load i64, ptr %threads.at, align 8
  %places.at = getelementptr %batch, ptr %batch, i64 0, i32 11
  %places = load ptr, ptr %places.at, align 8
  %first_share = urem i64 %number, %threads
  store i64 %first_share, ptr %share, align 8
  %helps = icmp ne i64 %number, 0
  br i1 %helps, label %prepare, label %chunk.take
prepare:
  call void @adopt(i64 %control)
  %copy = call ptr @copy_of(ptr %plan, i64 %count, i64 %number)
  %none = icmp eq ptr %copy, null
  br i1 %none, label %done, label %chunk.take
chunk.take:
  %own = phi ptr [ %plan, %entry ], [ %copy, %prepare ], [ %own, %run ]
  %n = call i64 @deal(ptr %places, i64 %threads, i64 %chunks, ptr %share, i64 %first_share)
  %from = mul i64 %n, %chunk
  %some = icmp sge i64 %n, 0
  br i1 %some, label %place, label %end
place:
  %k = phi i64 [ 0, %chunk.take ], [ %k.next, %place ]
  %first.at = getelementptr ptr, ptr %firsts, i64 %k
  %first = load ptr, ptr %first.at, align 8
  %step.at = getelementptr i64, ptr %steps, i64 %k
  %step = load i64, ptr %step.at, align 8
  %skipped = mul i64 %from, %step
  %here = getelementptr i8, ptr %first, i64 %skipped
  %here.at = getelementptr ptr, ptr %args, i64 %k
  store ptr %here, ptr %here.at, align 8
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, %count
  br i1 %k.more, label %place, label %run
run:
  %left = sub i64 %states, %from
  %size = call i64 @llvm.smin.i64(i64 %left, i64 %chunk)
  store i64 %size, ptr %dimensions, align 8
  call void %loop(ptr %args, ptr %dimensions, ptr %steps, ptr %own)
  br label %chunk.take
end:
  br i1 %helps, label %report, label %done
report:
  %alarms = load i64, ptr %own, align 8
  store i64 0, ptr %own, align 8
  %before = atomicrmw add ptr %plan, i64 %alarms monotonic, align 8
  br label %done
done:
  ret void
}
"""

# The copy of a helper, between cache lines that are nobody's. After a fork, what a helper of the
# parent was doing meanwhile is none of the child's alarms.
_COPY = """
define internal ptr @copy_of(ptr %plan, i64 %count, i64 %number) #0 {
entry:
  %shapes = getelementptr %plan, ptr %plan, i64 1
  %team = getelementptr %shape, ptr %shapes, i64 %count
  %copy.at = getelementptr %team, ptr %team, i64 0, i32 6, i64 %number
  %kept = load ptr, ptr %copy.at, align 8
  %none = icmp eq ptr %kept, null
  br i1 %none, label %make, label %clear
make:
  %end = ptrtoint ptr %team to i64
  %begin = ptrtoint ptr %plan to i64
  %bytes = sub i64 %end, %begin
  %room = add i64 %bytes, 128
  %raw = call ptr @malloc(i64 %room)
  %failed = icmp eq ptr %raw, null
  br i1 %failed, label %fail, label %fill
fail:
  ret ptr null
fill:
  %made = getelementptr i8, ptr %raw, i64 64
  call void @llvm.memcpy.p0.p0.i64(ptr %made, ptr %plan, i64 %bytes, i1 0)
  %spare.at = getelementptr %plan, ptr %made, i64 0, i32 1
  store ptr null, ptr %spare.at, align 8
  store atomic ptr %made, ptr %copy.at release, align 8
  br label %clear
clear:
  %copy = phi ptr [ %kept, %entry ], [ %made, %fill ]
  store i64 0, ptr %copy, align 8
  ret ptr %copy
}
"""

# Frees the copies of a plan that nobody uses any more, by the driver's `release` first.
_DISBAND = """
define void @disband(ptr %plan, ptr %release) #1 {
entry:
  %nin.at = getelementptr %plan, ptr %plan, i64 0, i32 7
  %nin = load i64, ptr %nin.at, align 8
  %nout.at = getelementptr %plan, ptr %plan, i64 0, i32 8
  %nout = load i64, ptr %nout.at, align 8
  %count = add i64 %nin, %nout
  %shapes = getelementptr %plan, ptr %plan, i64 1
  %team = getelementptr %shape, ptr %shapes, i64 %count
  br label %next
next:
  %n = phi i64 [ 0, %entry ], [ %n.next, %next.end ]
  %copy.at = getelementptr %team, ptr %team, i64 0, i32 6, i64 %n
  %copy = load ptr, ptr %copy.at, align 8
  %none = icmp eq ptr %copy, null
  br i1 %none, label %next.end, label %drop
drop:
  call void %release(ptr %copy)
  %raw = getelementptr i8, ptr %copy, i64 -64
  call void @free(ptr %raw)
  br label %next.end
next.end:
  %n.next = add i64 %n, 1
  %more = icmp ult i64 %n.next, $most
  br i1 %more, label %next, label %done
done:
  ret void
}
"""
