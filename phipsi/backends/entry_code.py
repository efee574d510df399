"""LLVM IR of the entry: one for all functions and shapes, made once for each kind of numbers.

    PyObject *call(PyObject *self, PyObject *const *args, Py_ssize_t given, PyObject *names)

`self` is an array of 8-byte fields:

    0 kernel    `i64 kernel(ptr inputs, ptr outputs, ptr work, ptr tables)` of one state, or null
    1 tables    handed through to the kernel
    2 bytes     what the kernel needs to work in, taken from the stack
    3 loop      the driver's loop
    4 plan      the driver's plan; it begins with a counter of alarms
    5 inputs    how many
    6 outputs   how many
    7 api       the addresses of `numpy_api`
    8 ...       of each argument, inputs first: dimensions (0, 1 or 2), entries, two sizes
"""

from __future__ import annotations

from functools import lru_cache
from string import Template

from phipsi.backends import numpy_api
from phipsi.backends.driver import ARGUMENTS
from phipsi.backends.llvm import Code, Target, compile_module
from phipsi.backends.numpy_api import load
from phipsi.backends.real import REALS
from phipsi.backends.tiles import bound

FOUR = 4  # numbers that are watched at once


@lru_cache(maxsize=8)
def entry_code(target: Target) -> Code:
    """The compiled entry: `call`."""
    return compile_module(entry_text(target.real), target)


def entry_text(real: str) -> str:
    """The entry's module, the same in every process.

    Args:
        real: what numbers are: "double" or "float".
    """
    text = Template(_HEAD + _WATCH + _DROP + _BATCH + _ENTRY).substitute(
        numpy_api.offsets(),
        arguments=ARGUMENTS,
        steps=3 * ARGUMENTS + 1,
        real=real,
        numbers=f"<{FOUR} x {real}>",
        suffix=f"v{FOUR}{REALS[real].suffix}",
        four=FOUR,
        bytes=REALS[real].bytes,
        bound=bound(real),
        order=numpy_api.NOT_SWAPPED,
        number=REALS[real].dtype.num,
        straight=numpy_api.STRAIGHT,
        load_drop=load("entry", "Py_DecRef"),
        load_run=load("run", "PyEval_SaveThread", "PyEval_RestoreThread"),
        load_input=load("input", "ndarray"),
        load_allocate=load("allocate", "Py_IncRef", "new_array", "ndarray", real),
        load_wrap=load("wrap", "new_number", real),
        load_several=load("several", "PyTuple_New", "PyTuple_SetItem"),
        load_none=load("none", "Py_IncRef", "none"),
    )
    return text


# The flags of the floating-point unit are left as they come: NumPy clears them before each loop
# after which it looks at them.

_HEAD = """
%plan = type { ptr, ptr, i64, ptr, ptr, i64, i64, ptr }
%shape = type { i64, i64, [2 x i64] }

attributes #0 = { nounwind }
attributes #1 = { nounwind cold noinline }
"""

# Adds the squares of n numbers to sums: four at a time, the last four perhaps over again, or all
# one by one.
_WATCH = """
declare $numbers @llvm.fmuladd.$suffix($numbers, $numbers, $numbers)
declare $real @llvm.vector.reduce.fadd.$suffix($real, $numbers)

define internal $numbers @watch(ptr %first, i64 %n, $numbers %sum) #0 {
entry:
  %short = icmp ult i64 %n, $four
  br i1 %short, label %one, label %begin
begin:
  %last = sub i64 %n, $four
  br label %four
four:
  %k = phi i64 [ 0, %begin ], [ %k.next, %four ]
  %s = phi $numbers [ %sum, %begin ], [ %s.next, %four ]
  %at = getelementptr $real, ptr %first, i64 %k
  %x = load $numbers, ptr %at, align $bytes
  %s.next = call $numbers @llvm.fmuladd.$suffix($numbers %x, $numbers %x, $numbers %s)
  %k.next = add i64 %k, $four
  %more = icmp ult i64 %k.next, %last
  br i1 %more, label %four, label %end
end:
  %end.at = getelementptr $real, ptr %first, i64 %last
  %y = load $numbers, ptr %end.at, align $bytes
  %t = call $numbers @llvm.fmuladd.$suffix($numbers %y, $numbers %y, $numbers %s.next)
  ret $numbers %t
one:
  %i = phi i64 [ 0, %entry ], [ %i.next, %one ]
  %o = phi $numbers [ %sum, %entry ], [ %o.next, %one ]
  %i.at = getelementptr $real, ptr %first, i64 %i
  %number = load $real, ptr %i.at, align $bytes
  %z = insertelement $numbers zeroinitializer, $real %number, i64 0
  %o.next = call $numbers @llvm.fmuladd.$suffix($numbers %z, $numbers %z, $numbers %o)
  %i.next = add i64 %i, 1
  %i.more = icmp ult i64 %i.next, %n
  br i1 %i.more, label %one, label %done
done:
  ret $numbers %o.next
}
"""

# Results that nobody will get; null where one was not made yet.
_DROP = """
define internal void @drop(ptr %api, ptr %results, i64 %count) #1 {
entry:
$load_drop
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k.next, %some ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %some, label %done
some:
  %at = getelementptr ptr, ptr %results, i64 %k
  %result = load ptr, ptr %at, align 8
  call void %entry.Py_DecRef(ptr %result)
  %k.next = add i64 %k, 1
  br label %next
done:
  ret void
}
"""

# All states by the driver's loop, with the strides of ordinary arrays: the number of alarms.
_BATCH = """
define internal i64 @batch(ptr %plan, i64 %states, ptr %data) #0 {
entry:
  %dimensions = alloca i64, align 8
  %steps = alloca [$steps x i64], align 8
  %p = load %plan, ptr %plan, align 8
  %loop = extractvalue %plan %p, 3
  %counter = extractvalue %plan %p, 4
  %nin = extractvalue %plan %p, 5
  %nout = extractvalue %plan %p, 6
  %api = extractvalue %plan %p, 7
  %count = add i64 %nin, %nout
  %shapes = getelementptr %plan, ptr %plan, i64 1
  %cores = getelementptr i64, ptr %steps, i64 %count
  store i64 %states, ptr %dimensions, align 8
  br label %argument
argument:
  %k = phi i64 [ 0, %entry ], [ %k.next, %argument ]
  %core = phi ptr [ %cores, %entry ], [ %core.next, %argument ]
  %shape.at = getelementptr %shape, ptr %shapes, i64 %k
  %shape = load %shape, ptr %shape.at, align 8
  %rank = extractvalue %shape %shape, 0
  %entries = extractvalue %shape %shape, 1
  %columns = extractvalue %shape %shape, 2, 1
  %stride = mul i64 %entries, $bytes
  %stride.at = getelementptr i64, ptr %steps, i64 %k
  store i64 %stride, ptr %stride.at, align 8
  %line = mul i64 %columns, $bytes
  store i64 %line, ptr %core, align 8
  %core.next = getelementptr i64, ptr %core, i64 %rank
  %is_number = icmp eq i64 %rank, 0
  %last = getelementptr i64, ptr %core.next, i64 -1
  %last.at = select i1 %is_number, ptr %core, ptr %last
  store i64 $bytes, ptr %last.at, align 8
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, %count
  br i1 %k.more, label %argument, label %run
run:
$load_run
  %before = load atomic i64, ptr %counter monotonic, align 8
  %thread = call ptr %run.PyEval_SaveThread()
  call void %loop(ptr %data, ptr %dimensions, ptr %steps, ptr %counter)
  call void %run.PyEval_RestoreThread(ptr %thread)
  %after = load atomic i64, ptr %counter monotonic, align 8
  %alarms = sub i64 %after, %before
  ret i64 %alarms
}
"""

# Nothing from the first look at an argument to the end of the kernel runs code of Python, which
# could change the argument: an array is no matter for the garbage collector, a tuple is. Of many
# states, other threads may change the numbers, as they may with any ufunc.
_ENTRY = """
define ptr @call(ptr %self, ptr %args, i64 %given, ptr %names) #0 {
entry:
  %ins = alloca [$arguments x ptr], align 8
  %results = alloca [$arguments x ptr], align 8
  %numbers = alloca [$arguments x $real], align 8
  %new = alloca [3 x i64], align 8
  %plan.at = getelementptr i8, ptr %self, i64 $array_data
  %plan = load ptr, ptr %plan.at, align 8
  %p = load %plan, ptr %plan, align 8
  %kernel = extractvalue %plan %p, 0
  %tables = extractvalue %plan %p, 1
  %bytes = extractvalue %plan %p, 2
  %nin = extractvalue %plan %p, 5
  %nout = extractvalue %plan %p, 6
  %api = extractvalue %plan %p, 7
  %outs = getelementptr ptr, ptr %ins, i64 %nin
  %in.shapes = getelementptr %plan, ptr %plan, i64 1
  %out.shapes = getelementptr %shape, ptr %in.shapes, i64 %nin
  %enough = icmp eq i64 %given, %nin
  %unnamed = icmp eq ptr %names, null
  %called = and i1 %enough, %unnamed
  br i1 %called, label %input, label %none

input:
  %i = phi i64 [ 0, %entry ], [ %i.next, %input.end ]
  %sum = phi $numbers [ zeroinitializer, %entry ], [ %sum.next, %input.end ]
  %states = phi i64 [ -1, %entry ], [ %states.here, %input.end ]
  %array.at = getelementptr ptr, ptr %args, i64 %i
  %array = load ptr, ptr %array.at, align 8
  %type.at = getelementptr i8, ptr %array, i64 $array_type
  %type = load ptr, ptr %type.at, align 8
$load_input
  %is_array = icmp eq ptr %type, %input.ndarray
  br i1 %is_array, label %look, label %none
look:
  %descr.at = getelementptr i8, ptr %array, i64 $array_descr
  %descr = load ptr, ptr %descr.at, align 8
  %number.at = getelementptr i8, ptr %descr, i64 $descr_number
  %number = load i32, ptr %number.at, align 4
  %is_real = icmp eq i32 %number, $number
  %order.at = getelementptr i8, ptr %descr, i64 $descr_order
  %order = load i8, ptr %order.at, align 1
  %is_native = icmp eq i8 %order, $order
  %flags.at = getelementptr i8, ptr %array, i64 $array_flags
  %flags = load i32, ptr %flags.at, align 4
  %some_flags = and i32 %flags, $straight
  %is_straight = icmp eq i32 %some_flags, $straight
  %shape.at = getelementptr %shape, ptr %in.shapes, i64 %i
  %rank = load i64, ptr %shape.at, align 8
  %ndim.at = getelementptr i8, ptr %array, i64 $array_ndim
  %ndim.short = load i32, ptr %ndim.at, align 4
  %ndim = sext i32 %ndim.short to i64
  %leading = sub i64 %ndim, %rank
  %is_of_rank = icmp ule i64 %leading, 1
  %sizes.at = getelementptr i8, ptr %array, i64 $array_shape
  %sizes = load ptr, ptr %sizes.at, align 8
  %numbers_fit = and i1 %is_real, %is_native
  %layout_fits = and i1 %is_straight, %is_of_rank
  %fits = and i1 %numbers_fit, %layout_fits
  br i1 %fits, label %batch, label %none
batch:
  %is_batch = icmp eq i64 %leading, 1
  br i1 %is_batch, label %length, label %lengths
length:
  %length.here = load i64, ptr %sizes, align 8
  %is_some = icmp ne i64 %length.here, 0
  br i1 %is_some, label %lengths, label %none
lengths:
  %states.here = phi i64 [ 0, %batch ], [ %length.here, %length ]
  %is_first = icmp eq i64 %i, 0
  %is_same = icmp eq i64 %states, %states.here
  %agrees = or i1 %is_first, %is_same
  br i1 %agrees, label %sizes.next, label %none
sizes.next:
  %d = phi i64 [ 0, %lengths ], [ %d.next, %compare ]
  %d.more = icmp ult i64 %d, %rank
  br i1 %d.more, label %compare, label %numbers.at
compare:
  %d.behind = add i64 %d, %leading
  %size.at = getelementptr i64, ptr %sizes, i64 %d.behind
  %size = load i64, ptr %size.at, align 8
  %wanted.at = getelementptr %shape, ptr %shape.at, i64 0, i32 2, i64 %d
  %wanted = load i64, ptr %wanted.at, align 8
  %d.next = add i64 %d, 1
  %same = icmp eq i64 %size, %wanted
  br i1 %same, label %sizes.next, label %none
numbers.at:
  %data.at = getelementptr i8, ptr %array, i64 $array_data
  %data = load ptr, ptr %data.at, align 8
  %in.at = getelementptr ptr, ptr %ins, i64 %i
  store ptr %data, ptr %in.at, align 8
  br i1 %is_batch, label %input.end, label %watch
watch:
  %entries.at = getelementptr %shape, ptr %shape.at, i64 0, i32 1
  %entries = load i64, ptr %entries.at, align 8
  %sum.watched = call $numbers @watch(ptr %data, i64 %entries, $numbers %sum)
  br label %input.end
input.end:
  %sum.next = phi $numbers [ %sum, %numbers.at ], [ %sum.watched, %watch ]
  %i.next = add i64 %i, 1
  %i.more = icmp ult i64 %i.next, %nin
  br i1 %i.more, label %input, label %weigh
weigh:
  %sum.all = call reassoc $real @llvm.vector.reduce.fadd.$suffix($real 0.0, $numbers %sum.next)
  %moderate = fcmp olt $real %sum.all, $bound
  %has_kernel = icmp ne ptr %kernel, null
  %possible = or i1 %is_batch, %has_kernel
  %goes = and i1 %moderate, %possible
  br i1 %goes, label %output, label %none

output:
  %o = phi i64 [ 0, %weigh ], [ %o.next, %output.next ]
  %o.shape = getelementptr %shape, ptr %out.shapes, i64 %o
  %o.rank = load i64, ptr %o.shape, align 8
  %o.dimensions = add i64 %o.rank, %leading
  %o.is_number = icmp eq i64 %o.dimensions, 0
  br i1 %o.is_number, label %place, label %allocate
place:
  %o.number = getelementptr $real, ptr %numbers, i64 %o
  br label %output.next
allocate:
  %o.sizes = getelementptr %shape, ptr %o.shape, i64 0, i32 2
  %o.core = load [2 x i64], ptr %o.sizes, align 8
  %new.core = getelementptr i64, ptr %new, i64 1
  store i64 %states.here, ptr %new, align 8
  store [2 x i64] %o.core, ptr %new.core, align 8
  %o.all = select i1 %is_batch, ptr %new, ptr %new.core
  %o.ndim = trunc i64 %o.dimensions to i32
$load_allocate
  call void %allocate.Py_IncRef(ptr %allocate.$real)
  %made = call ptr %allocate.new_array(ptr %allocate.ndarray, ptr %allocate.$real, i32 %o.ndim,
                                       ptr %o.all, ptr null, ptr null, i32 0, ptr null)
  %no_array = icmp eq ptr %made, null
  br i1 %no_array, label %fail, label %allocated
allocated:
  %made.data.at = getelementptr i8, ptr %made, i64 $array_data
  %made.data = load ptr, ptr %made.data.at, align 8
  br label %output.next
output.next:
  %result = phi ptr [ null, %place ], [ %made, %allocated ]
  %to = phi ptr [ %o.number, %place ], [ %made.data, %allocated ]
  %result.at = getelementptr ptr, ptr %results, i64 %o
  store ptr %result, ptr %result.at, align 8
  %out.at = getelementptr ptr, ptr %outs, i64 %o
  store ptr %to, ptr %out.at, align 8
  %o.next = add i64 %o, 1
  %o.more = icmp ult i64 %o.next, %nout
  br i1 %o.more, label %output, label %run

run:
  br i1 %is_batch, label %many, label %single
many:
  %alarms = call i64 @batch(ptr %plan, i64 %states.here, ptr %ins)
  br label %judge
single:
  %work = alloca i8, i64 %bytes, align 64
  %mask = call i64 %kernel(ptr %ins, ptr %outs, ptr %work, ptr %tables)
  br label %judge
judge:
  %complaints = phi i64 [ %alarms, %many ], [ %mask, %single ]
  %wrong = icmp ne i64 %complaints, 0
  br i1 %wrong, label %refuse, label %finish
refuse:
  call void @drop(ptr %api, ptr %results, i64 %nout)
  br label %none

finish:
  %f = phi i64 [ 0, %judge ], [ %f.next, %finish.next ]
  %f.at = getelementptr ptr, ptr %results, i64 %f
  %f.result = load ptr, ptr %f.at, align 8
  %f.is_number = icmp eq ptr %f.result, null
  br i1 %f.is_number, label %wrap, label %finish.next
wrap:
  %f.number = getelementptr $real, ptr %numbers, i64 %f
$load_wrap
  %wrapped = call ptr %wrap.new_number(ptr %f.number, ptr %wrap.$real, ptr null)
  store ptr %wrapped, ptr %f.at, align 8
  %no_number = icmp eq ptr %wrapped, null
  br i1 %no_number, label %fail, label %finish.next
finish.next:
  %f.next = add i64 %f, 1
  %f.more = icmp ult i64 %f.next, %nout
  br i1 %f.more, label %finish, label %hand_over

hand_over:
  %is_one = icmp eq i64 %nout, 1
  br i1 %is_one, label %one, label %several
one:
  %only = load ptr, ptr %results, align 8
  ret ptr %only
several:
$load_several
  %tuple = call ptr %several.PyTuple_New(i64 %nout)
  %no_tuple = icmp eq ptr %tuple, null
  br i1 %no_tuple, label %fail, label %fill
fill:
  %t = phi i64 [ 0, %several ], [ %t.next, %fill ]
  %t.at = getelementptr ptr, ptr %results, i64 %t
  %t.result = load ptr, ptr %t.at, align 8
  %filled = call i32 %several.PyTuple_SetItem(ptr %tuple, i64 %t, ptr %t.result)
  %t.next = add i64 %t, 1
  %t.more = icmp ult i64 %t.next, %nout
  br i1 %t.more, label %fill, label %full
full:
  ret ptr %tuple

fail:
  %owned = phi i64 [ %o, %allocate ], [ %nout, %wrap ], [ %nout, %several ]
  call void @drop(ptr %api, ptr %results, i64 %owned)
  ret ptr null
none:
$load_none
  call void %none.Py_IncRef(ptr %none.none)
  ret ptr %none.none
}
"""
