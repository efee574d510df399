"""LLVM IR of the loop that NumPy calls: one for all functions, compiled once per width.

    void loop(char **args, npy_intp *dimensions, npy_intp *steps, void *plan)

A batch is done in tiles of W states, a few at a time: packed, handed to the
kernel, unpacked. What is left over is done one by one, where that is faster,
without copying what already lies as the kernel wants it; or in a tile whose last
lanes repeat the last state. The plan says where the kernels are and how large
the arguments:

    0 counter   alarms so far: tiles or single states of which the kernel complained, or with
                inputs of which the sum of squares is not below the square of `Real.huge`
    1 spare     a workspace that nobody uses, or null
    2 lanes     the kernel of W lanes
    3 single    the kernel of one lane, or null
    4 bytes     what the kernels need for themselves
    5 tables    handed through to the kernels
    6 few       at most so many states that are left over are done one by one
    7 inputs    how many
    8 outputs   how many
    9 ...       of each argument, inputs first, what `views.SHAPE` lists

A kernel is `i64 kernel(ptr inputs, ptr outputs, ptr work, ptr tables)`: lists of
pointers to tiles, 64-byte aligned room to work in; it returns a mask of the
lanes in which something went wrong.

The workspace is taken from the plan and given back by one atomic exchange each,
so threads share a plan without waiting; one that finds none allocates its own,
and so does a child process after a fork. Should that fail, the outputs are
filled with NaN and the counter counts. The flags of the floating-point unit are
left as they were found: what a lane computes and nobody selects, or what
overflows in the watch over the inputs, is no event for NumPy to report.
"""

from __future__ import annotations

from functools import lru_cache
from string import Template

from phipsi.backends.llvm import Code, Target, architecture, compile_module
from phipsi.backends.real import REALS
from phipsi.backends.tiles import (
    GROUP,
    GROUP_BYTES,
    JOB_TYPE,
    bound,
    tile_functions,
    watch_function,
)
from phipsi.backends.views import SHAPE_TYPE, VIEW_TYPE, one_state_functions, read_view

ARGUMENTS = 64  # at most so many inputs and outputs; NumPy allows no more either


@lru_cache(maxsize=8)
def driver_code(target: Target) -> Code:
    """The compiled driver: `loop`, and `release`, which frees the spare workspace of a plan."""
    return compile_module(driver_text(target.lanes, architecture(), target.real), target)


def driver_text(lanes: int, family: str, real: str = "double") -> str:
    """The driver's module, for tiles of this many lanes on this family of processors."""
    size = REALS[real].bytes
    assert lanes in (1, 2, 4, 8, 16) and lanes * size <= 64
    flags = _FLAGS.get(family, _NO_FLAGS)
    own = _HEAD + _WORKSPACE + _REFUSE + flags + _ONE
    own += _BEGIN + (_BY_TILES if lanes > 1 else _BY_ONES)
    text = Template(own + _END).substitute(
        view_type=VIEW_TYPE,
        shape_type=SHAPE_TYPE,
        job_type=JOB_TYPE,
        W=lanes,
        last=lanes - 1,
        entry=size * lanes,
        size=size,
        real=real,
        bound=bound(real),
        arguments=ARGUMENTS,
        group=GROUP,
        group_bytes=GROUP_BYTES,
        input=read_view("i") + _PLACE.format("i"),
        output=read_view("o") + _PLACE.format("o"),
        view=read_view("k"),
    )
    tiles = tile_functions(lanes, real) if lanes > 1 else ""
    return "".join([text, one_state_functions(real), watch_function(1, real), tiles])


# Where a state of an argument begins, and the tile of that argument.
_PLACE = """
  %{0}.skipped = mul i64 %state, %{0}.stride
  %{0}.at = getelementptr i8, ptr %{0}.first, i64 %{0}.skipped
  %{0}.tile.at = getelementptr ptr, ptr %tiles, i64 %{0}
  %{0}.tile = load ptr, ptr %{0}.tile.at, align 8"""

_HEAD = """
$view_type
%plan = type { i64, ptr, ptr, ptr, i64, ptr, i64, i64, i64 }
$shape_type
%workspace = type { ptr, ptr, ptr, ptr, ptr, i64, i64 }
$job_type

declare ptr @malloc(i64)
declare void @free(ptr)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)

attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }
attributes #1 = { nounwind cold noinline }
attributes #2 = { nounwind alignstack=64 "prefer-vector-width"="512"
                  "min-legal-vector-width"="512" }
"""

# A workspace begins with the address that malloc gave, the address of the kernel's own part, where
# the jobs begin, those of inputs end and those of outputs; how many sets of tiles there are, and
# the bytes of one. Lists of pointers to the arguments follow, first for single states, then for
# each set of tiles; then the jobs; the kernel's part; the tiles, one directly after the other.
_WORKSPACE = """
define internal ptr @take(ptr %plan) #0 {
  %spare = getelementptr %plan, ptr %plan, i64 0, i32 1
  %kept = atomicrmw xchg ptr %spare, ptr null acquire, align 8
  %none = icmp eq ptr %kept, null
  br i1 %none, label %make, label %ready
ready:
  ret ptr %kept
make:
  %made = call ptr @allocate(ptr %plan)
  ret ptr %made
}

define internal void @give(ptr %plan, ptr %workspace) #0 {
  %spare = getelementptr %plan, ptr %plan, i64 0, i32 1
  %other = atomicrmw xchg ptr %spare, ptr %workspace acq_rel, align 8
  %none = icmp eq ptr %other, null
  br i1 %none, label %done, label %surplus
surplus:
  %raw = load ptr, ptr %other, align 8
  call void @free(ptr %raw)
  br label %done
done:
  ret void
}

define void @release(ptr %plan) #0 {
  call void @give(ptr %plan, ptr null)
  ret void
}

define internal ptr @allocate(ptr %plan) #1 {
entry:
  %p = load %plan, ptr %plan, align 8
  %bytes = extractvalue %plan %p, 4
  %nin = extractvalue %plan %p, 7
  %nout = extractvalue %plan %p, 8
  %count = add i64 %nin, %nout
  %shapes = getelementptr %plan, ptr %plan, i64 1
  br label %sum
sum:
  %k = phi i64 [ 0, %entry ], [ %k.next, %sum ]
  %all = phi i64 [ 0, %entry ], [ %all.next, %sum ]
  %rows = phi i64 [ 0, %entry ], [ %rows.next, %sum ]
  %k.entries = call i64 @entries(ptr %shapes, i64 %k)
  %all.next = add i64 %all, %k.entries
  %k.rows.at = getelementptr %shape, ptr %shapes, i64 %k, i32 1
  %k.rows = load i64, ptr %k.rows.at, align 8
  %rows.next = add i64 %rows, %k.rows
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, %count
  br i1 %k.more, label %sum, label %request
request:
  %set = mul i64 %all.next, $entry
  %sets.fit = udiv i64 $group_bytes, %set
  %sets.some = call i64 @llvm.umax.i64(i64 %sets.fit, i64 1)
  %sets = call i64 @llvm.umin.i64(i64 %sets.some, i64 $group)
  %lists = add i64 %sets, 1
  %pointers = mul i64 %lists, %count
  %list = getelementptr %workspace, ptr null, i64 1
  %jobs = getelementptr ptr, ptr %list, i64 %pointers
  %jobs.end = getelementptr %job, ptr %jobs, i64 %rows.next
  %before = ptrtoint ptr %jobs.end to i64
  %before.end = add i64 %before, 63
  %head = and i64 %before.end, -64
  %bytes.end = add i64 %bytes, 63
  %own = and i64 %bytes.end, -64
  %tiles = mul i64 %sets, %set
  %size.head = add i64 %head, %own
  %size = add i64 %size.head, %tiles
  %size.spare = add i64 %size, 63
  %raw = call ptr @malloc(i64 %size.spare)
  %failed = icmp eq ptr %raw, null
  br i1 %failed, label %fail, label %divide
fail:
  ret ptr null
divide:
  %address = ptrtoint ptr %raw to i64
  %negative = sub i64 0, %address
  %shift = and i64 %negative, 63
  %workspace = getelementptr i8, ptr %raw, i64 %shift
  %kernels = getelementptr i8, ptr %workspace, i64 %head
  %first = getelementptr i8, ptr %kernels, i64 %own
  store ptr %raw, ptr %workspace, align 8
  %kernels.at = getelementptr %workspace, ptr %workspace, i64 0, i32 1
  store ptr %kernels, ptr %kernels.at, align 8
  %ones = getelementptr %workspace, ptr %workspace, i64 1
  %jobs.made = getelementptr ptr, ptr %ones, i64 %pointers
  %jobs.at = getelementptr %workspace, ptr %workspace, i64 0, i32 2
  store ptr %jobs.made, ptr %jobs.at, align 8
  %sets.at = getelementptr %workspace, ptr %workspace, i64 0, i32 5
  store i64 %sets, ptr %sets.at, align 8
  %set.at = getelementptr %workspace, ptr %workspace, i64 0, i32 6
  store i64 %set, ptr %set.at, align 8
  %places = getelementptr ptr, ptr %ones, i64 %count
  br label %point
point:
  %place = phi ptr [ %places, %divide ], [ %place.next, %point ]
  %tile = phi ptr [ %first, %divide ], [ %tile.next, %point ]
  %i = phi i64 [ 0, %divide ], [ %i.next, %point ]
  store ptr %tile, ptr %place, align 8
  %place.next = getelementptr ptr, ptr %place, i64 1
  %i.entries = call i64 @entries(ptr %shapes, i64 %i)
  %i.bytes = mul i64 %i.entries, $entry
  %tile.next = getelementptr i8, ptr %tile, i64 %i.bytes
  %i.behind = add i64 %i, 1
  %i.over = icmp eq i64 %i.behind, %count
  %i.next = select i1 %i.over, i64 0, i64 %i.behind
  %i.more = icmp ne ptr %place.next, %jobs.made
  br i1 %i.more, label %point, label %done
done:
  ret ptr %workspace
}

define internal i64 @entries(ptr %shapes, i64 %k) #1 {
  %at = getelementptr %shape, ptr %shapes, i64 %k, i32 3
  %kept = load i64, ptr %at, align 8
  ret i64 %kept
}
"""

# No memory: all outputs are NaN, and that is an alarm.
_REFUSE = """
@nan = internal constant $real 0x7FF8000000000000, align 8

define internal void @refuse(ptr %plan, ptr %views, i64 %states) #1 {
entry:
  %p = load %plan, ptr %plan, align 8
  %nin = extractvalue %plan %p, 7
  %nout = extractvalue %plan %p, 8
  %count = add i64 %nin, %nout
  %alarm = atomicrmw add ptr %plan, i64 1 monotonic, align 8
  br label %output
output:
  %k = phi i64 [ %nin, %entry ], [ %k.next, %output.end ]
$view
  br label %state
state:
  %s = phi i64 [ 0, %output ], [ %s.next, %state ]
  %to = phi ptr [ %k.first, %output ], [ %to.next, %state ]
  call void @copy(ptr %to, i64 %k.row_stride, i64 %k.step, ptr @nan, i64 0, i64 0,
                  i64 %k.rows, i64 %k.columns)
  %to.next = getelementptr i8, ptr %to, i64 %k.stride
  %s.next = add i64 %s, 1
  %s.more = icmp ult i64 %s.next, %states
  br i1 %s.more, label %state, label %output.end
output.end:
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, %count
  br i1 %k.more, label %output, label %done
done:
  ret void
}
"""

# Of the flags of the floating-point unit, NumPy reports those of invalid operations, division by
# zero, overflow and underflow: on x86 the bits 0, 2, 3, 4, on Arm 0 to 3.
_FLAGS = {
    "x86_64": """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)

define internal i64 @flags() #0 {
  %slot = alloca i32, align 4
  call void @llvm.x86.sse.stmxcsr(ptr %slot)
  %short = load i32, ptr %slot, align 4
  %flags = zext i32 %short to i64
  ret i64 %flags
}

define internal void @restore(i64 %flags) #0 {
  %slot = alloca i32, align 4
  %now = call i64 @flags()
  %changes = xor i64 %flags, %now
  %events = and i64 %changes, 29
  %none = icmp eq i64 %events, 0
  br i1 %none, label %done, label %reset
reset:
  %short = trunc i64 %flags to i32
  store i32 %short, ptr %slot, align 4
  call void @llvm.x86.sse.ldmxcsr(ptr %slot)
  br label %done
done:
  ret void
}
""",
    "aarch64": """
declare i64 @llvm.aarch64.get.fpsr()
declare void @llvm.aarch64.set.fpsr(i64)

define internal i64 @flags() #0 {
  %flags = call i64 @llvm.aarch64.get.fpsr()
  ret i64 %flags
}

define internal void @restore(i64 %flags) #0 {
  call void @llvm.aarch64.set.fpsr(i64 %flags)
  ret void
}
""",
}

_NO_FLAGS = """
define internal i64 @flags() #0 {
  ret i64 0
}

define internal void @restore(i64 %flags) #0 {
  ret void
}
"""

# One state by the kernel of one lane. What lies straight is handed over as it is.
_ONE = """
define internal void @one(ptr %plan, ptr %workspace, ptr %views, ptr %kernel, i64 %state) #0 {
entry:
  %p = load %plan, ptr %plan, align 8
  %tables = extractvalue %plan %p, 5
  %nin = extractvalue %plan %p, 7
  %nout = extractvalue %plan %p, 8
  %count = add i64 %nin, %nout
  %w = load %workspace, ptr %workspace, align 8
  %work = extractvalue %workspace %w, 1
  %ins = getelementptr %workspace, ptr %workspace, i64 1
  %outs = getelementptr ptr, ptr %ins, i64 %nin
  %tiles = getelementptr ptr, ptr %ins, i64 %count
  br label %input
input:
  %i = phi i64 [ 0, %entry ], [ %i.next, %input.end ]
  %sum = phi $real [ 0.0, %entry ], [ %sum.next, %input.end ]
$input
  %i.entries = mul i64 %i.rows, %i.columns
  %i.asis = icmp ne i64 %i.straight, 0
  br i1 %i.asis, label %input.end, label %input.copy
input.copy:
  %i.line = mul i64 %i.columns, $size
  call void @copy(ptr %i.tile, i64 %i.line, i64 $size, ptr %i.at, i64 %i.row_stride, i64 %i.step,
                  i64 %i.rows, i64 %i.columns)
  br label %input.end
input.end:
  %i.numbers = phi ptr [ %i.at, %input ], [ %i.tile, %input.copy ]
  %i.place = getelementptr ptr, ptr %ins, i64 %i
  store ptr %i.numbers, ptr %i.place, align 8
  %sum.next = call $real @watch1(ptr %i.numbers, i64 %i.entries, $real %sum)
  %i.next = add i64 %i, 1
  %i.more = icmp ult i64 %i.next, %nin
  br i1 %i.more, label %input, label %room
room:
  %o = phi i64 [ %nin, %input.end ], [ %o.next, %room ]
$output
  %o.asis = icmp ne i64 %o.straight, 0
  %o.numbers = select i1 %o.asis, ptr %o.at, ptr %o.tile
  %o.place = getelementptr ptr, ptr %ins, i64 %o
  store ptr %o.numbers, ptr %o.place, align 8
  %o.next = add i64 %o, 1
  %o.more = icmp ult i64 %o.next, %count
  br i1 %o.more, label %room, label %run
run:
  %mask = call i64 %kernel(ptr %ins, ptr %outs, ptr %work, ptr %tables)
  %wrong = icmp ne i64 %mask, 0
  %huge = fcmp uge $real %sum.next, $bound
  %either = or i1 %wrong, %huge
  br i1 %either, label %alarm, label %output
alarm:
  %alarms = atomicrmw add ptr %plan, i64 1 monotonic, align 8
  br label %output
output:
  %k = phi i64 [ %nin, %run ], [ %nin, %alarm ], [ %k.next, %output.end ]
$view
  %k.asis = icmp ne i64 %k.straight, 0
  br i1 %k.asis, label %output.end, label %output.copy
output.copy:
  %k.skipped = mul i64 %state, %k.stride
  %k.at = getelementptr i8, ptr %k.first, i64 %k.skipped
  %k.place = getelementptr ptr, ptr %ins, i64 %k
  %k.numbers = load ptr, ptr %k.place, align 8
  %k.line = mul i64 %k.columns, $size
  call void @copy(ptr %k.at, i64 %k.row_stride, i64 %k.step, ptr %k.numbers, i64 %k.line,
                  i64 $size,
                  i64 %k.rows, i64 %k.columns)
  br label %output.end
output.end:
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, %count
  br i1 %k.more, label %output, label %done
done:
  ret void
}
"""

_BEGIN = """
define void @loop(ptr %args, ptr %dimensions, ptr %steps, ptr %plan) #0 {
entry:
  %views = alloca [$arguments x %view], align 8
  %states = load i64, ptr %dimensions, align 8
  %some = icmp sgt i64 %states, 0
  br i1 %some, label %begin, label %nothing
nothing:
  ret void
begin:
  %p = load %plan, ptr %plan, align 8
  %lanes = extractvalue %plan %p, 2
  %nin = extractvalue %plan %p, 7
  %nout = extractvalue %plan %p, 8
  %count = add i64 %nin, %nout
  call void @survey(ptr %args, ptr %steps, ptr %plan, i64 %count, ptr %views)
  %workspace = call ptr @take(ptr %plan)
  %failed = icmp eq ptr %workspace, null
  br i1 %failed, label %fail, label %start
fail:
  call void @refuse(ptr %plan, ptr %views, i64 %states)
  ret void
start:
  %flags = call i64 @flags()
"""

_BY_TILES = """
  %single = extractvalue %plan %p, 3
  %few = extractvalue %plan %p, 6
  %over = and i64 %states, $last
  %few_over = icmp ule i64 %over, %few
  %has_single = icmp ne ptr %single, null
  %apart = and i1 %few_over, %has_single
  %whole = sub i64 %states, %over
  %tiled = select i1 %apart, i64 %whole, i64 %states
  %any_tile = icmp ne i64 %tiled, 0
  br i1 %any_tile, label %tiles, label %rest
tiles:
  call void @tiles(ptr %plan, ptr %workspace, ptr %views, i64 %states, i64 %tiled)
  br label %rest
rest:
  %any = icmp ult i64 %tiled, %states
  br i1 %any, label %one, label %end
one:
  %s = phi i64 [ %tiled, %rest ], [ %s.next, %one ]
  call void @one(ptr %plan, ptr %workspace, ptr %views, ptr %single, i64 %s)
"""

_BY_ONES = """
  br label %one
one:
  %s = phi i64 [ 0, %start ], [ %s.next, %one ]
  call void @one(ptr %plan, ptr %workspace, ptr %views, ptr %lanes, i64 %s)
"""

_END = """
  %s.next = add i64 %s, 1
  %s.more = icmp ult i64 %s.next, %states
  br i1 %s.more, label %one, label %end
end:
  call void @give(ptr %plan, ptr %workspace)
  call void @restore(i64 %flags)
  ret void
}
"""
