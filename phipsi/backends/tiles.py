"""LLVM IR that packs tiles of W states, hands them to the kernel, and unpacks them.

`enlist` makes jobs of a view of an argument (see `views`): rows, each with the mover
that suits it best (see `transpose`), so that nothing is left to decide for each tile.
"""

from __future__ import annotations

from string import Template

from phipsi.backends.real import REALS
from phipsi.backends.transpose import ANY, BESIDE, LARGE, LONG, LONG_LARGE, LONG_PART, SHORT, movers
from phipsi.backends.views import view_fields
from phipsi.backends.write import Width


def watch_function(lanes: int, real: str = "double") -> str:
    """Definition of `watchW`: adds the squares of n entries of W lanes to a sum, four at a time."""
    width = Width(lanes, real)
    words = {
        "W": lanes,
        "number": width.number,
        "suffix": width.suffix,
        "zero": "zeroinitializer" if lanes > 1 else "0.0",
        "entry": width.bytes,
    }
    squares = "".join(_SQUARE.substitute(words, i=i) for i in range(4))
    return _WATCH.substitute(words, squares=squares)


_SQUARE = Template("""
  %at$i = getelementptr $number, ptr %x, i64 $i
  %x$i = load $number, ptr %at$i, align $entry
  %s$i.next = call $number @llvm.fmuladd.$suffix($number %x$i, $number %x$i, $number %s$i)""")

_WATCH = Template("""
declare $number @llvm.fmuladd.$suffix($number, $number, $number)

define internal $number @watch$W(ptr %first, i64 %n, $number %sum) #0 {
entry:
  %fours = lshr i64 %n, 2
  %some = icmp ne i64 %fours, 0
  br i1 %some, label %four, label %rest
four:
  %left = phi i64 [ %fours, %entry ], [ %left.next, %four ]
  %x = phi ptr [ %first, %entry ], [ %x.next, %four ]
  %s0 = phi $number [ %sum, %entry ], [ %s0.next, %four ]
  %s1 = phi $number [ $zero, %entry ], [ %s1.next, %four ]
  %s2 = phi $number [ $zero, %entry ], [ %s2.next, %four ]
  %s3 = phi $number [ $zero, %entry ], [ %s3.next, %four ]
$squares
  %x.next = getelementptr $number, ptr %x, i64 4
  %left.next = sub i64 %left, 1
  %more = icmp ne i64 %left.next, 0
  br i1 %more, label %four, label %collect
collect:
  %s01 = fadd $number %s0.next, %s1.next
  %s23 = fadd $number %s2.next, %s3.next
  %s = fadd $number %s01, %s23
  br label %rest
rest:
  %y = phi ptr [ %first, %entry ], [ %x.next, %collect ]
  %t = phi $number [ %sum, %entry ], [ %s, %collect ]
  %single = and i64 %n, 3
  %any = icmp ne i64 %single, 0
  br i1 %any, label %one, label %done
one:
  %o.left = phi i64 [ %single, %rest ], [ %o.left.next, %one ]
  %z = phi ptr [ %y, %rest ], [ %z.next, %one ]
  %o = phi $number [ %t, %rest ], [ %o.next, %one ]
  %number = load $number, ptr %z, align $entry
  %o.next = call $number @llvm.fmuladd.$suffix($number %number, $number %number, $number %o)
  %z.next = getelementptr $number, ptr %z, i64 1
  %o.left.next = sub i64 %o.left, 1
  %o.more = icmp ne i64 %o.left.next, 0
  br i1 %o.more, label %one, label %done
done:
  %result = phi $number [ %t, %rest ], [ %o.next, %one ]
  ret $number %result
}
""")


# ---------------------------------------------------------------- W states

# A row to be moved: where its first state begins, the stride from state to state, its place in the
# tile, columns, their stride; the mover for tiles in which every lane has a state, and for others;
# where its entries are found in the tile, if that is not one after the other.
JOB = ("first", "stride", "tile", "columns", "step", "whole", "part", "spread")
JOB_TYPE = "%job = type { ptr, i64, ptr, i64, i64, ptr, ptr, ptr }"

# So many tiles are packed one after the other, then handed to the kernel, then unpacked: a
# processor begins with a tile while it ends the one before, if nothing else stands between them.
# They are fewer where they would take more bytes than that.
GROUP = 4
GROUP_BYTES = 12 * 1024


def bound(real: str) -> str:
    """The square of what is huge, as IR writes it."""
    return REALS[real].literal(REALS[real].huge ** 2)


def tile_functions(lanes: int, real: str = "double") -> str:
    """Definitions of `tiles`, which does all that is done by tiles, and of what it calls."""
    width = Width(lanes, real)
    whole, part = (str(JOB.index(name)) for name in ("whole", "part"))
    return Template(_ENLIST + _PREPARE + _TILES).substitute(
        number=width.number,
        real=real,
        size=width.real.bytes,
        view=view_fields("%view", "%"),
        W=lanes,
        last=lanes - 1,
        entry=width.bytes,
        bound=bound(real),
        short=SHORT,
        large=LARGE,
        long=LONG,
        long_large=LONG_LARGE,
        beside=BESIDE,
        long_part=LONG_PART,
        any=ANY,
        whole=whole,
        part=part,
        group=GROUP,
        do_still=_do("s", width, "0", str(lanes - 1), whole),
        do_input=_do("i", width, "%i.state", "%i.last", "%i.field"),
        do_output=_do("o", width, "%o.state", "%o.last", "%o.field"),
        i_tile=_which("i", lanes, whole, part),
        o_tile=_which("o", lanes, whole, part),
    ) + movers(lanes, real)


def _do(k: str, width: Width, state: str, last: str, mover: str) -> str:
    """Lines that do the job at `%k` for the W states from `state` on: `%k.sum` to `%k.sum.next`.

    `mover` is the number of the field in which the mover is found, `%k.set` how far behind the
    first tile of the argument its tile lies. `%k.next` is the job after it.
    """
    return _DO.substitute(k=k, number=width.number, state=state, last=last, mover=mover)


def _which(k: str, lanes: int, whole: str, part: str) -> str:
    """Lines that find the last state of the tile from `%k.state` on, and the movers for it."""
    return _WHICH.substitute(k=k, W=lanes, last=lanes - 1, whole=whole, part=part)


_WHICH = Template("""
  %$k.left = sub i64 %states, %$k.state
  %$k.others = sub i64 %$k.left, 1
  %$k.last = call i64 @llvm.umin.i64(i64 %$k.others, i64 $last)
  %$k.is_whole = icmp eq i64 %$k.last, $last
  %$k.field = select i1 %$k.is_whole, i64 $whole, i64 $part
""")

_DO = Template("""
  %$k.job = load %job, ptr %$k, align 8
  %$k.first = extractvalue %job %$k.job, 0
  %$k.stride = extractvalue %job %$k.job, 1
  %$k.tile.first = extractvalue %job %$k.job, 2
  %$k.tile = getelementptr i8, ptr %$k.tile.first, i64 %$k.set
  %$k.columns = extractvalue %job %$k.job, 3
  %$k.step = extractvalue %job %$k.job, 4
  %$k.spread = extractvalue %job %$k.job, 7
  %$k.mover.at = getelementptr ptr, ptr %$k, i64 $mover
  %$k.mover = load ptr, ptr %$k.mover.at, align 8
  %$k.skipped = mul i64 $state, %$k.stride
  %$k.at = getelementptr i8, ptr %$k.first, i64 %$k.skipped
  %$k.sum.next = call $number %$k.mover(ptr %$k.at, i64 %$k.stride, ptr %$k.tile, i64 %$k.columns,
                                  i64 %$k.step, i64 $last, $number %$k.sum, ptr %$k.spread)
  %$k.next = getelementptr %job, ptr %$k, i64 1
""")

# Writes the jobs of a view of so many states, one for each row, and returns where the next job
# goes. The table lists the movers that pack, or those that unpack. Rows whose entries are spread
# begin where the tile does: it is the list of their places that goes on.
_ENLIST = """
define internal ptr @enlist(ptr %view, i64 %states, ptr %tile, ptr %movers, ptr %jobs,
                            ptr %spread) #0 {
entry:
$view
  %is_plain = icmp eq ptr %spread, null
  %table = select i1 %is_plain, ptr %movers, ptr @spread
  %row.bytes = mul i64 %columns, $entry
  %length = select i1 %is_plain, i64 %row.bytes, i64 0
  %row.places = mul i64 %columns, 8
  %places = select i1 %is_plain, i64 0, i64 %row.places
  %is_dense = icmp eq i64 %step, $size
  %is_beside = icmp eq i64 %stride, $size
  %is_short = icmp ule i64 %columns, $short
  %bytes = mul i64 %states, %stride
  %is_large = icmp ugt i64 %bytes, $large
  %long = select i1 %is_large, i64 $long_large, i64 $long
  %dense = select i1 %is_short, i64 %columns, i64 %long
  %apart = select i1 %is_dense, i64 %dense, i64 $any
  %whole = select i1 %is_beside, i64 $beside, i64 %apart
  %by_one = select i1 %is_short, i64 $any, i64 $long_part
  %part = select i1 %is_dense, i64 %by_one, i64 $any
  %whole.at = getelementptr ptr, ptr %table, i64 %whole
  %whole.mover = load ptr, ptr %whole.at, align 8
  %part.at = getelementptr ptr, ptr %table, i64 %part
  %part.mover = load ptr, ptr %part.at, align 8
  %j0 = insertvalue %job poison, i64 %stride, 1
  %j1 = insertvalue %job %j0, i64 %columns, 3
  %j2 = insertvalue %job %j1, i64 %step, 4
  %j3 = insertvalue %job %j2, ptr %whole.mover, 5
  %j4 = insertvalue %job %j3, ptr %part.mover, 6
  br label %row
row:
  %left = phi i64 [ %rows, %entry ], [ %left.next, %row ]
  %job = phi ptr [ %jobs, %entry ], [ %job.next, %row ]
  %r.at = phi ptr [ %first, %entry ], [ %r.at.next, %row ]
  %r.tile = phi ptr [ %tile, %entry ], [ %r.tile.next, %row ]
  %r.spread = phi ptr [ %spread, %entry ], [ %r.spread.next, %row ]
  %j5 = insertvalue %job %j4, ptr %r.at, 0
  %j6 = insertvalue %job %j5, ptr %r.tile, 2
  %j7 = insertvalue %job %j6, ptr %r.spread, 7
  store %job %j7, ptr %job, align 8
  %job.next = getelementptr %job, ptr %job, i64 1
  %r.at.next = getelementptr i8, ptr %r.at, i64 %row_stride
  %r.tile.next = getelementptr i8, ptr %r.tile, i64 %length
  %r.spread.next = getelementptr i8, ptr %r.spread, i64 %places
  %left.next = sub i64 %left, 1
  %more = icmp ne i64 %left.next, 0
  br i1 %more, label %row, label %done
done:
  ret ptr %job.next
}
"""

# The jobs of a call. Inputs that are the same for all states are packed here, once for each set of
# tiles: the sum of their squares is returned.
_PREPARE = """
define internal $number @prepare(ptr %plan, ptr %workspace, ptr %views,
                                 i64 %states) #0 {
entry:
  %p = load %plan, ptr %plan, align 8
  %nin = extractvalue %plan %p, 7
  %nout = extractvalue %plan %p, 8
  %count = add i64 %nin, %nout
  %ones = getelementptr %workspace, ptr %workspace, i64 1
  %tiles = getelementptr ptr, ptr %ones, i64 %count
  %w = load %workspace, ptr %workspace, align 8
  %jobs = extractvalue %workspace %w, 2
  %sets = extractvalue %workspace %w, 5
  %set = extractvalue %workspace %w, 6
  %all = mul i64 %sets, %set
  %shapes = getelementptr %plan, ptr %plan, i64 1
  br label %input
input:
  %i = phi i64 [ 0, %entry ], [ %i.next, %input.end ]
  %i.jobs = phi ptr [ %jobs, %entry ], [ %i.jobs.next, %input.end ]
  %i.sum = phi $number [ zeroinitializer, %entry ], [ %i.sum.next, %input.end ]
  %i.view = getelementptr %view, ptr %views, i64 %i
  %i.tile.at = getelementptr ptr, ptr %tiles, i64 %i
  %i.tile = load ptr, ptr %i.tile.at, align 8
  %i.end = call ptr @enlist(ptr %i.view, i64 %states, ptr %i.tile, ptr @pack, ptr %i.jobs,
                            ptr null)
  %i.stride.at = getelementptr %view, ptr %i.view, i64 0, i32 1
  %i.stride = load i64, ptr %i.stride.at, align 8
  %i.moves = icmp ne i64 %i.stride, 0
  br i1 %i.moves, label %input.end, label %still.tile
still.tile:
  %s.set = phi i64 [ 0, %input ], [ %s.set.next, %still.end ]
  br label %still
still:
  %s = phi ptr [ %i.jobs, %still.tile ], [ %s.next, %still ]
  %s.sum = phi $number [ %i.sum, %still.tile ], [ %s.sum.next, %still ]
$do_still
  %s.more = icmp ne ptr %s.next, %i.end
  br i1 %s.more, label %still, label %still.end
still.end:
  %s.set.next = add i64 %s.set, %set
  %s.set.more = icmp ult i64 %s.set.next, %all
  br i1 %s.set.more, label %still.tile, label %input.end
input.end:
  %i.jobs.next = phi ptr [ %i.end, %input ], [ %i.jobs, %still.end ]
  %i.sum.next = phi $number [ %i.sum, %input ], [ %s.sum.next, %still.end ]
  %i.next = add i64 %i, 1
  %i.more = icmp ult i64 %i.next, %nin
  br i1 %i.more, label %input, label %middle
middle:
  %middle.at = getelementptr %workspace, ptr %workspace, i64 0, i32 3
  store ptr %i.jobs.next, ptr %middle.at, align 8
  br label %output
output:
  %o = phi i64 [ %nin, %middle ], [ %o.next, %output ]
  %o.jobs = phi ptr [ %i.jobs.next, %middle ], [ %o.jobs.next, %output ]
  %o.view = getelementptr %view, ptr %views, i64 %o
  %o.tile.at = getelementptr ptr, ptr %tiles, i64 %o
  %o.tile = load ptr, ptr %o.tile.at, align 8
  %o.spread.at = getelementptr %shape, ptr %shapes, i64 %o, i32 4
  %o.spread = load ptr, ptr %o.spread.at, align 8
  %o.jobs.next = call ptr @enlist(ptr %o.view, i64 %states, ptr %o.tile, ptr @unpack,
                                  ptr %o.jobs, ptr %o.spread)
  %o.next = add i64 %o, 1
  %o.more = icmp ult i64 %o.next, %count
  br i1 %o.more, label %output, label %done
done:
  %end.at = getelementptr %workspace, ptr %workspace, i64 0, i32 4
  store ptr %o.jobs.next, ptr %end.at, align 8
  ret $number %i.sum.next
}
"""

# The states below `%tiled`, W at a time, and fewer at the end of the batch: a group of tiles is
# packed, run, unpacked. Of each, the lanes whose inputs are huge are kept.
_TILES = """
define internal void @tiles(ptr %plan, ptr %workspace, ptr %views, i64 %states, i64 %tiled) #2 {
entry:
  %huge = alloca [$group x i64], align 8
  %p = load %plan, ptr %plan, align 8
  %kernel = extractvalue %plan %p, 2
  %tables = extractvalue %plan %p, 5
  %nin = extractvalue %plan %p, 7
  %nout = extractvalue %plan %p, 8
  %count = add i64 %nin, %nout
  %still = call $number @prepare(ptr %plan, ptr %workspace, ptr %views, i64 %states)
  %w = load %workspace, ptr %workspace, align 8
  %work = extractvalue %workspace %w, 1
  %jobs = extractvalue %workspace %w, 2
  %middle = extractvalue %workspace %w, 3
  %end = extractvalue %workspace %w, 4
  %sets = extractvalue %workspace %w, 5
  %set = extractvalue %workspace %w, 6
  %ones = getelementptr %workspace, ptr %workspace, i64 1
  %lists = getelementptr ptr, ptr %ones, i64 %count
  %some = icmp ne ptr %jobs, %middle
  %size = mul i64 %sets, $W
  br label %group
group:
  %first = phi i64 [ 0, %entry ], [ %stop, %group.end ]
  %beyond = add i64 %first, %size
  %stop = call i64 @llvm.umin.i64(i64 %beyond, i64 %tiled)
  br label %pack

pack:
  %i.state = phi i64 [ %first, %group ], [ %i.state.next, %packed ]
  %i.tile.number = phi i64 [ 0, %group ], [ %i.tile.next, %packed ]
  %i.set = mul i64 %i.tile.number, %set
$i_tile
  br i1 %some, label %input, label %packed
input:
  %i = phi ptr [ %jobs, %pack ], [ %i.next, %input ]
  %i.sum = phi $number [ %still, %pack ], [ %i.sum.next, %input ]
$do_input
  %i.more = icmp ne ptr %i.next, %middle
  br i1 %i.more, label %input, label %packed
packed:
  %sum = phi $number [ %still, %pack ], [ %i.sum.next, %input ]
  %is_huge = fcmp uge $number %sum, splat ($real $bound)
  %bits = bitcast <$W x i1> %is_huge to i$W
  %mask = zext i$W %bits to i64
  %mask.at = getelementptr i64, ptr %huge, i64 %i.tile.number
  store i64 %mask, ptr %mask.at, align 8
  %i.tile.next = add i64 %i.tile.number, 1
  %i.state.next = add i64 %i.state, $W
  %i.state.more = icmp ult i64 %i.state.next, %stop
  br i1 %i.state.more, label %pack, label %run

run:
  %r = phi i64 [ 0, %packed ], [ %r.next, %ready ]
  %r.list = mul i64 %r, %count
  %ins = getelementptr ptr, ptr %lists, i64 %r.list
  %outs = getelementptr ptr, ptr %ins, i64 %nin
  %failed = call i64 %kernel(ptr %ins, ptr %outs, ptr %work, ptr %tables)
  %r.mask.at = getelementptr i64, ptr %huge, i64 %r
  %r.mask = load i64, ptr %r.mask.at, align 8
  %either = or i64 %failed, %r.mask
  %wrong = icmp ne i64 %either, 0
  br i1 %wrong, label %alarm, label %ready
alarm:
  %alarms = atomicrmw add ptr %plan, i64 1 monotonic, align 8
  br label %ready
ready:
  %r.next = add i64 %r, 1
  %r.more = icmp ult i64 %r.next, %i.tile.next
  br i1 %r.more, label %run, label %unpack

unpack:
  %o.state = phi i64 [ %first, %ready ], [ %o.state.next, %unpacked ]
  %o.set = phi i64 [ 0, %ready ], [ %o.set.next, %unpacked ]
$o_tile
  br label %output
output:
  %o = phi ptr [ %middle, %unpack ], [ %o.next, %output ]
  %o.sum = phi $number [ zeroinitializer, %unpack ], [ %o.sum.next, %output ]
$do_output
  %o.more = icmp ne ptr %o.next, %end
  br i1 %o.more, label %output, label %unpacked
unpacked:
  %o.set.next = add i64 %o.set, %set
  %o.state.next = add i64 %o.state, $W
  %o.state.more = icmp ult i64 %o.state.next, %stop
  br i1 %o.state.more, label %unpack, label %group.end
group.end:
  %more = icmp ult i64 %stop, %tiled
  br i1 %more, label %group, label %done
done:
  ret void
}
"""
