"""LLVM IR that finds out, once for each call, how arguments lie in memory.

`survey` writes a view of each argument. One state is moved by `copy`; for tiles of W
states see `tiles`.
"""

from __future__ import annotations

from collections.abc import Iterable
from string import Template

from phipsi.backends.real import REALS

# How an argument lies in memory: where its first state begins, the stride from state to state,
# rows, columns, their strides, and whether each state is an ordinary, aligned array.
VIEW = ("first", "stride", "rows", "columns", "row_stride", "step", "straight")
VIEW_TYPE = "%view = type { ptr, i64, i64, i64, i64, i64, i64 }"

# What a plan says of an argument: core dimensions (0, 1 or 2), rows, columns, the numbers that its
# tile keeps of each state, and where its entries are found among them; see `Plan`.
SHAPE = ("dimensions", "rows", "columns", "kept", "spread")
SHAPE_TYPE = "%shape = type { i64, i64, i64, i64, ptr }"


def read_view(k: str) -> str:
    """Lines that read the view of argument number `%k`, as `%k.first`, `%k.stride` and so on."""
    place = f"  %{k}.view = getelementptr %view, ptr %views, i64 %{k}\n"
    return place + view_fields(f"%{k}.view", f"%{k}.")


def view_fields(place: str, prefix: str) -> str:
    """Lines that read the view at a place, its fields with this prefix."""
    load = f"{prefix}fields = load %view, ptr {place}, align 8"
    names = enumerate(VIEW)
    return _listed(
        [load, *(f"{prefix}{x} = extractvalue %view {prefix}fields, {n}" for n, x in names)]
    )


def _listed(lines: Iterable[str]) -> str:
    return "\n".join("  " + line for line in lines)


# `survey` writes the view of each argument. A matrix whose rows follow each other evenly is one
# row; a single number has the stride of neighbours. `copy` moves one state, with any strides.
_ONE_STATE = Template("""
define internal void @survey(ptr %args, ptr %steps, ptr %plan, i64 %count, ptr %views) #0 {
entry:
  %shapes = getelementptr %plan, ptr %plan, i64 1
  %cores = getelementptr i64, ptr %steps, i64 %count
  br label %argument
argument:
  %k = phi i64 [ 0, %entry ], [ %k.next, %argument ]
  %core = phi ptr [ %cores, %entry ], [ %core.next, %argument ]
  %first.at = getelementptr ptr, ptr %args, i64 %k
  %first = load ptr, ptr %first.at, align 8
  %stride.at = getelementptr i64, ptr %steps, i64 %k
  %stride = load i64, ptr %stride.at, align 8
  %shape.at = getelementptr %shape, ptr %shapes, i64 %k
  %shape = load %shape, ptr %shape.at, align 8
  %dimensions = extractvalue %shape %shape, 0
  %height = extractvalue %shape %shape, 1
  %width = extractvalue %shape %shape, 2
  %core.next = getelementptr i64, ptr %core, i64 %dimensions
  %core.last = getelementptr i64, ptr %core.next, i64 -1
  %is_number = icmp eq i64 %dimensions, 0
  %is_matrix = icmp eq i64 %dimensions, 2
  %row_stride.at = select i1 %is_matrix, ptr %core, ptr %steps
  %row_stride = load i64, ptr %row_stride.at, align 8
  %column_stride.at = select i1 %is_number, ptr %steps, ptr %core.last
  %column_stride = load i64, ptr %column_stride.at, align 8
  %entries = mul i64 %height, %width
  %length = mul i64 %width, %column_stride
  %is_even = icmp eq i64 %row_stride, %length
  %is_line = icmp eq i64 %height, 1
  %is_column = icmp eq i64 %width, 1
  %is_entry = icmp eq i64 %entries, 1
  %is_flat = or i1 %is_line, %is_column
  %is_one_row = or i1 %is_flat, %is_even
  %rows = select i1 %is_one_row, i64 1, i64 %height
  %columns = select i1 %is_one_row, i64 %entries, i64 %width
  %evenly = select i1 %is_column, i64 %row_stride, i64 %column_stride
  %step = select i1 %is_entry, i64 $size, i64 %evenly
  %address = ptrtoint ptr %first to i64
  %places = or i64 %address, %stride
  %odd = and i64 %places, $inside
  %is_aligned = icmp eq i64 %odd, 0
  %is_dense = icmp eq i64 %step, $size
  %is_array = and i1 %is_one_row, %is_dense
  %is_straight = and i1 %is_array, %is_aligned
  %straight = zext i1 %is_straight to i64
  %v0 = insertvalue %view poison, ptr %first, 0
  %v1 = insertvalue %view %v0, i64 %stride, 1
  %v2 = insertvalue %view %v1, i64 %rows, 2
  %v3 = insertvalue %view %v2, i64 %columns, 3
  %v4 = insertvalue %view %v3, i64 %row_stride, 4
  %v5 = insertvalue %view %v4, i64 %step, 5
  %v6 = insertvalue %view %v5, i64 %straight, 6
  %view = getelementptr %view, ptr %views, i64 %k
  store %view %v6, ptr %view, align 8
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, %count
  br i1 %k.more, label %argument, label %done
done:
  ret void
}

define internal void @copy(ptr %to, i64 %to.row, i64 %to.step, ptr %from, i64 %from.row,
                           i64 %from.step, i64 %rows, i64 %columns) #0 {
entry:
  br label %row
row:
  %i = phi i64 [ 0, %entry ], [ %i.next, %row.end ]
  %to.line = phi ptr [ %to, %entry ], [ %to.line.next, %row.end ]
  %from.line = phi ptr [ %from, %entry ], [ %from.line.next, %row.end ]
  br label %column
column:
  %j = phi i64 [ 0, %row ], [ %j.next, %column ]
  %there = phi ptr [ %to.line, %row ], [ %there.next, %column ]
  %here = phi ptr [ %from.line, %row ], [ %here.next, %column ]
  %x = load $real, ptr %here, align 1
  store $real %x, ptr %there, align 1
  %there.next = getelementptr i8, ptr %there, i64 %to.step
  %here.next = getelementptr i8, ptr %here, i64 %from.step
  %j.next = add i64 %j, 1
  %j.more = icmp ult i64 %j.next, %columns
  br i1 %j.more, label %column, label %row.end
row.end:
  %to.line.next = getelementptr i8, ptr %to.line, i64 %to.row
  %from.line.next = getelementptr i8, ptr %from.line, i64 %from.row
  %i.next = add i64 %i, 1
  %i.more = icmp ult i64 %i.next, %rows
  br i1 %i.more, label %row, label %done
done:
  ret void
}
""")


def one_state_functions(real: str) -> str:
    """Definitions of `survey` and `copy`, for arrays of doubles or floats."""
    size = REALS[real].bytes
    return _ONE_STATE.substitute(real=real, size=size, inside=size - 1)
