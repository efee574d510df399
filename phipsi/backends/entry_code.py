"""LLVM IR of the entry: one for all functions and shapes, made once for each kind of numbers.

    PyObject *call(PyObject *self, PyObject *const *args, Py_ssize_t given, PyObject *names)

`self` is an array of 8-byte fields:

    0 kernel     `i64 kernel(ptr inputs, ptr outputs, ptr work, ptr tables)` of one state, or null
    1 tables     handed through to the kernel
    2 bytes      what the kernel needs to work in, taken from the stack
    3 loop       the driver's loop
    4 plan       the driver's plan; it begins with a counter of alarms
    5 inputs     how many
    6 outputs    how many
    7 api        the addresses of `numpy_api`
    8 arguments  that a caller may pass, by place or by name
    9 ...        of each input, then of each output, what `shape_fields` says
      ...        of each argument, which input it is, or -1: then it is None or missing
      ...        of each argument its name, a string object, and last the name `out`
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from string import Template

from phipsi.backends import numpy_api
from phipsi.backends.driver import ARGUMENTS
from phipsi.backends.llvm import Code, Target, compile_module
from phipsi.backends.numpy_api import load
from phipsi.backends.real import LONGEST_TUPLE, REALS
from phipsi.backends.tiles import bound

FOUR = 4  # numbers that are watched at once
RANKS = 4  # dimensions that an argument of one state has at most
LEADS = 8  # dimensions of a batch


@lru_cache(maxsize=8)
def entry_code(target: Target) -> Code:
    """The compiled entry: `call`."""
    return compile_module(entry_text(target.real), target)


def entry_text(real: str) -> str:
    """The entry's module, the same in every process.

    Args:
        real: what numbers are: "double" or "float".
    """
    text = Template(_HEAD + _WATCH + _DROP + _MEETS + _READ + _FITS + _BATCH + _ENTRY).substitute(
        numpy_api.offsets(),
        arguments=ARGUMENTS,
        steps=3 * ARGUMENTS + 1,
        slots=ARGUMENTS + 2,
        ranks=RANKS,
        dimensions=RANKS + LEADS,
        short=LONGEST_TUPLE,
        rounded="%number" if real == "double" else "%rounded",
        round="" if real == "double" else "%rounded = fptrunc double %number to float",
        real=real,
        numbers=f"<{FOUR} x {real}>",
        suffix=f"v{FOUR}{REALS[real].suffix}",
        four=FOUR,
        bytes=REALS[real].bytes,
        bound=bound(real),
        order=numpy_api.NOT_SWAPPED,
        number=REALS[real].dtype.num,
        straight=numpy_api.STRAIGHT,
        writeable=numpy_api.STRAIGHT | numpy_api.WRITEABLE,
        load_drop=load("entry", "Py_DecRef"),
        load_run=load("run", "PyEval_SaveThread", "PyEval_RestoreThread"),
        load_spell=load("spell", "PyUnicode_Compare"),
        load_ignored=load("ignored", "none"),
        load_fits=load("fits", "ndarray"),
        load_read=load("read", "PyFloat"),
        load_look=load("look", "tuple"),
        load_target=load("target", "none", "tuple"),
        load_own=load("own", "Py_IncRef"),
        load_allocate=load("allocate", "Py_IncRef", "new_array", "ndarray", real),
        load_wrap=load("wrap", "new_number", real),
        load_several=load("several", "PyTuple_New", "PyTuple_SetItem"),
        load_none=load("none", "Py_IncRef", "none"),
    )
    return text


def shape_fields(
    public: tuple[int, ...], core: tuple[int, ...], leads: int, real: str
) -> list[int]:
    """What the entry is told of an input or output.

    Dimensions and entries; dimensions for the driver, and bytes from line to line; how many
    dimensions of a batch there may be; sizes.

    Args:
        public: the shape that callers pass or get.
        core: the shape that the kernel has, with as many entries.
        leads: at most so many dimensions of a batch.
        real: what numbers are.
    """
    assert len(public) <= RANKS and prod(public) == prod(core), (public, core)
    line = (core[1] if len(core) == 2 else 1) * REALS[real].bytes
    sizes = (*public, *[1] * RANKS)[:RANKS]
    return [len(public), prod(public), len(core), line, leads, *sizes]


# The flags of the floating-point unit are left as they come: NumPy clears them before each loop
# after which it looks at them.

_HEAD = """
%plan = type { ptr, ptr, i64, ptr, ptr, i64, i64, ptr, i64 }
%shape = type { i64, i64, i64, i64, i64, [$ranks x i64] }

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
  %i = phi i64 [ 0, %entry ], [ %i.next, %one.more ]
  %o = phi $numbers [ %sum, %entry ], [ %o.next, %one.more ]
  %i.more = icmp ult i64 %i, %n
  br i1 %i.more, label %one.more, label %done
one.more:
  %i.at = getelementptr $real, ptr %first, i64 %i
  %number = load $real, ptr %i.at, align $bytes
  %z = insertelement $numbers zeroinitializer, $real %number, i64 0
  %o.next = call $numbers @llvm.fmuladd.$suffix($numbers %z, $numbers %z, $numbers %o)
  %i.next = add i64 %i, 1
  br label %one
done:
  ret $numbers %o
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

# Whether an output shares memory with an input, or with an output before it: `count` pointers in
# `places`, whose sizes follow from their shapes, and from whether each has all states.
_MEETS = """
define internal i1 @meets(ptr %places, ptr %shapes, ptr %flags, i64 %states, i64 %count) #1 {
entry:
  %own.at = getelementptr ptr, ptr %places, i64 %count
  %own = load i64, ptr %own.at, align 8
  %own.entries.at = getelementptr %shape, ptr %shapes, i64 %count, i32 1
  %own.entries = load i64, ptr %own.entries.at, align 8
  %own.all = mul i64 %own.entries, %states
  %own.bytes = mul i64 %own.all, $bytes
  %own.end = add i64 %own, %own.bytes
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k.next, %other ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %other, label %apart
other:
  %at = getelementptr ptr, ptr %places, i64 %k
  %start = load i64, ptr %at, align 8
  %entries.at = getelementptr %shape, ptr %shapes, i64 %k, i32 1
  %entries = load i64, ptr %entries.at, align 8
  %flag.at = getelementptr i64, ptr %flags, i64 %k
  %flag = load i64, ptr %flag.at, align 8
  %has_all = icmp ne i64 %flag, 0
  %times = select i1 %has_all, i64 %states, i64 1
  %all = mul i64 %entries, %times
  %bytes = mul i64 %all, $bytes
  %end = add i64 %start, %bytes
  %before = icmp ult i64 %start, %own.end
  %behind = icmp ult i64 %own, %end
  %touch = and i1 %before, %behind
  %k.next = add i64 %k, 1
  br i1 %touch, label %shared, label %next
shared:
  ret i1 true
apart:
  ret i1 false
}
"""

# Whether a tuple has as many floats as a shape of one dimension, few; they are written to a place.
_READ = """
define internal i1 @read(ptr %tuple, ptr %shape, ptr %place, ptr %api) #0 {
entry:
$load_read
  %size.at = getelementptr i8, ptr %tuple, i64 $tuple_size
  %size = load i64, ptr %size.at, align 8
  %items = getelementptr i8, ptr %tuple, i64 $tuple_items
  %rank = load i64, ptr %shape, align 8
  %entries.at = getelementptr %shape, ptr %shape, i64 0, i32 1
  %entries = load i64, ptr %entries.at, align 8
  %is_vector = icmp eq i64 %rank, 1
  %is_as_long = icmp eq i64 %size, %entries
  %is_short = icmp ule i64 %size, $short
  %is_right = and i1 %is_vector, %is_as_long
  %fits = and i1 %is_right, %is_short
  br i1 %fits, label %next, label %no
next:
  %k = phi i64 [ 0, %entry ], [ %k.next, %write ]
  %more = icmp ult i64 %k, %size
  br i1 %more, label %item, label %yes
item:
  %item.at = getelementptr ptr, ptr %items, i64 %k
  %object = load ptr, ptr %item.at, align 8
  %type.at = getelementptr i8, ptr %object, i64 $array_type
  %type = load ptr, ptr %type.at, align 8
  %is_float = icmp eq ptr %type, %read.PyFloat
  br i1 %is_float, label %write, label %no
write:
  %number.at = getelementptr i8, ptr %object, i64 $float_value
  %number = load double, ptr %number.at, align 8
  $round
  %place.at = getelementptr $real, ptr %place, i64 %k
  store $real $rounded, ptr %place.at, align $bytes
  %k.next = add i64 %k, 1
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}
"""

# How many dimensions of a batch an array has before a shape; -1 if it is no ordinary array of
# such numbers and such a shape, with these flags, or has more of a batch than it may.
_FITS = """
define internal i64 @fits(ptr %array, ptr %shape, ptr %api, i32 %wanted) #0 {
entry:
$load_fits
  %type.at = getelementptr i8, ptr %array, i64 $array_type
  %type = load ptr, ptr %type.at, align 8
  %is_array = icmp eq ptr %type, %fits.ndarray
  br i1 %is_array, label %look, label %no
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
  %some_flags = and i32 %flags, %wanted
  %is_wanted = icmp eq i32 %some_flags, %wanted
  %rank = load i64, ptr %shape, align 8
  %leads.at = getelementptr %shape, ptr %shape, i64 0, i32 4
  %leads = load i64, ptr %leads.at, align 8
  %ndim.at = getelementptr i8, ptr %array, i64 $array_ndim
  %ndim.short = load i32, ptr %ndim.at, align 4
  %ndim = sext i32 %ndim.short to i64
  %leading = sub i64 %ndim, %rank
  %is_of_rank = icmp ule i64 %leading, %leads
  %sizes.at = getelementptr i8, ptr %array, i64 $array_shape
  %sizes = load ptr, ptr %sizes.at, align 8
  %numbers_fit = and i1 %is_real, %is_native
  %layout_fits = and i1 %is_wanted, %is_of_rank
  %fits = and i1 %numbers_fit, %layout_fits
  br i1 %fits, label %next, label %no
next:
  %d = phi i64 [ 0, %look ], [ %d.next, %compare ]
  %d.more = icmp ult i64 %d, %rank
  br i1 %d.more, label %compare, label %yes
compare:
  %d.behind = add i64 %d, %leading
  %size.at = getelementptr i64, ptr %sizes, i64 %d.behind
  %size = load i64, ptr %size.at, align 8
  %right.at = getelementptr %shape, ptr %shape, i64 0, i32 5, i64 %d
  %right = load i64, ptr %right.at, align 8
  %d.next = add i64 %d, 1
  %same = icmp eq i64 %size, %right
  br i1 %same, label %next, label %no
yes:
  ret i64 %leading
no:
  ret i64 -1
}

define internal i1 @same(ptr %one, ptr %other, i64 %count) #0 {
entry:
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k.next, %compare ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %compare, label %yes
compare:
  %one.at = getelementptr i64, ptr %one, i64 %k
  %x = load i64, ptr %one.at, align 8
  %other.at = getelementptr i64, ptr %other, i64 %k
  %y = load i64, ptr %other.at, align 8
  %k.next = add i64 %k, 1
  %alike = icmp eq i64 %x, %y
  br i1 %alike, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}
"""

# All states by the driver's loop, with the strides of ordinary arrays, and none of those that all
# states share: the number of alarms.
_BATCH = """
define internal i64 @batch(ptr %plan, i64 %states, ptr %data, ptr %flags) #0 {
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
  %entries = extractvalue %shape %shape, 1
  %rank = extractvalue %shape %shape, 2
  %line = extractvalue %shape %shape, 3
  %flag.at = getelementptr i64, ptr %flags, i64 %k
  %flag = load i64, ptr %flag.at, align 8
  %whole = mul i64 %entries, $bytes
  %has_all = icmp ne i64 %flag, 0
  %stride = select i1 %has_all, i64 %whole, i64 0
  %stride.at = getelementptr i64, ptr %steps, i64 %k
  store i64 %stride, ptr %stride.at, align 8
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
  %slots = alloca [$slots x ptr], align 8
  %ins = alloca [$arguments x ptr], align 8
  %flags = alloca [$arguments x i64], align 8
  %results = alloca [$arguments x ptr], align 8
  %numbers = alloca [$arguments x $real], align 8
  %shorts = alloca [$arguments x [$short x $real]], align 8
  %new = alloca [$dimensions x i64], align 8
  %lead.at = alloca i64, align 8
  %lead.sizes.at = alloca ptr, align 8
  %plan.at = getelementptr i8, ptr %self, i64 $array_data
  %plan = load ptr, ptr %plan.at, align 8
  %p = load %plan, ptr %plan, align 8
  %kernel = extractvalue %plan %p, 0
  %tables = extractvalue %plan %p, 1
  %bytes = extractvalue %plan %p, 2
  %nin = extractvalue %plan %p, 5
  %nout = extractvalue %plan %p, 6
  %api = extractvalue %plan %p, 7
  %arguments = extractvalue %plan %p, 8
  %outs = getelementptr ptr, ptr %ins, i64 %nin
  %all = add i64 %nin, %nout
  %shapes = getelementptr %plan, ptr %plan, i64 1
  %out.shapes = getelementptr %shape, ptr %shapes, i64 %nin
  %inputs.of = getelementptr %shape, ptr %shapes, i64 %all
  %known = getelementptr i64, ptr %inputs.of, i64 %arguments
  store i64 0, ptr %lead.at, align 8
  %few = icmp ule i64 %given, %arguments
  br i1 %few, label %take, label %none

take:
  %t = phi i64 [ 0, %entry ], [ %t.next, %take.next ]
  %is_given = icmp ult i64 %t, %given
  br i1 %is_given, label %take.one, label %take.next
take.one:
  %t.at = getelementptr ptr, ptr %args, i64 %t
  %t.object = load ptr, ptr %t.at, align 8
  br label %take.next
take.next:
  %t.value = phi ptr [ null, %take ], [ %t.object, %take.one ]
  %t.slot = getelementptr ptr, ptr %slots, i64 %t
  store ptr %t.value, ptr %t.slot, align 8
  %t.next = add i64 %t, 1
  %t.more = icmp ule i64 %t.next, %arguments
  br i1 %t.more, label %take, label %taken
taken:
  %unnamed = icmp eq ptr %names, null
  br i1 %unnamed, label %argument, label %named
named:
  %n.count.at = getelementptr i8, ptr %names, i64 $tuple_size
  %n.count = load i64, ptr %n.count.at, align 8
  %n.items = getelementptr i8, ptr %names, i64 $tuple_items
  %n.values = getelementptr ptr, ptr %args, i64 %given
  br label %name
name:
  %n = phi i64 [ 0, %named ], [ %n.next, %name.new ]
  %n.more = icmp ult i64 %n, %n.count
  br i1 %n.more, label %name.some, label %argument
name.some:
  %n.at = getelementptr ptr, ptr %n.items, i64 %n
  %n.name = load ptr, ptr %n.at, align 8
  br label %find
find:
  %f0 = phi i64 [ 0, %name.some ], [ %f0.next, %find.next ]
  %f0.at = getelementptr ptr, ptr %known, i64 %f0
  %f0.name = load ptr, ptr %f0.at, align 8
  %is_it = icmp eq ptr %n.name, %f0.name
  br i1 %is_it, label %name.found, label %find.next
find.next:
  %f0.next = add i64 %f0, 1
  %f0.more = icmp ule i64 %f0.next, %arguments
  br i1 %f0.more, label %find, label %spell
spell:
  %s0 = phi i64 [ 0, %find.next ], [ %s0.next, %spell.next ]
$load_spell
  %s0.at = getelementptr ptr, ptr %known, i64 %s0
  %s0.name = load ptr, ptr %s0.at, align 8
  %spelt = call i32 %spell.PyUnicode_Compare(ptr %n.name, ptr %s0.name)
  %is_spelt = icmp eq i32 %spelt, 0
  br i1 %is_spelt, label %name.found, label %spell.next
spell.next:
  %s0.next = add i64 %s0, 1
  %s0.more = icmp ule i64 %s0.next, %arguments
  br i1 %s0.more, label %spell, label %none
name.found:
  %place.at = phi i64 [ %f0, %find ], [ %s0, %spell ]
  %n.slot = getelementptr ptr, ptr %slots, i64 %place.at
  %n.old = load ptr, ptr %n.slot, align 8
  %is_new = icmp eq ptr %n.old, null
  br i1 %is_new, label %name.new, label %none
name.new:
  %n.value.at = getelementptr ptr, ptr %n.values, i64 %n
  %n.value = load ptr, ptr %n.value.at, align 8
  store ptr %n.value, ptr %n.slot, align 8
  %n.next = add i64 %n, 1
  br label %name

argument:
  %a = phi i64 [ 0, %taken ], [ 0, %name ], [ %a.next, %argument.end ]
  %sum = phi $numbers [ zeroinitializer, %taken ], [ zeroinitializer, %name ],
                      [ %sum.next, %argument.end ]
  %a.more = icmp ult i64 %a, %arguments
  br i1 %a.more, label %argument.some, label %weigh
argument.some:
  %a.slot = getelementptr ptr, ptr %slots, i64 %a
  %array = load ptr, ptr %a.slot, align 8
  %i.at = getelementptr i64, ptr %inputs.of, i64 %a
  %i = load i64, ptr %i.at, align 8
  %is_there = icmp ne ptr %array, null
  %is_read = icmp sge i64 %i, 0
  br i1 %is_read, label %wanted, label %ignored
ignored:
$load_ignored
  %is_none = icmp eq ptr %array, %ignored.none
  %is_nothing = xor i1 %is_there, true
  %is_ignored = or i1 %is_none, %is_nothing
  br i1 %is_ignored, label %argument.end, label %none
wanted:
  br i1 %is_there, label %look, label %none
look:
$load_look
  %shape.at = getelementptr %shape, ptr %shapes, i64 %i
  %flag.at = getelementptr i64, ptr %flags, i64 %i
  %in.at = getelementptr ptr, ptr %ins, i64 %i
  %kind.at = getelementptr i8, ptr %array, i64 $array_type
  %kind = load ptr, ptr %kind.at, align 8
  %is_short = icmp eq ptr %kind, %look.tuple
  br i1 %is_short, label %short, label %long
short:
  %short.at = getelementptr [$short x $real], ptr %shorts, i64 %i
  %is_read_in = call i1 @read(ptr %array, ptr %shape.at, ptr %short.at, ptr %api)
  store i64 0, ptr %flag.at, align 8
  br i1 %is_read_in, label %told, label %none
long:
  %leading = call i64 @fits(ptr %array, ptr %shape.at, ptr %api, i32 $straight)
  %fits = icmp sge i64 %leading, 0
  br i1 %fits, label %fitting, label %none
fitting:
  store i64 %leading, ptr %flag.at, align 8
  %data.at = getelementptr i8, ptr %array, i64 $array_data
  %data = load ptr, ptr %data.at, align 8
  store ptr %data, ptr %in.at, align 8
  %has_batch = icmp ne i64 %leading, 0
  br i1 %has_batch, label %lead, label %watch
told:
  store ptr %short.at, ptr %in.at, align 8
  br label %watch
lead:
  %sizes.at = getelementptr i8, ptr %array, i64 $array_shape
  %sizes = load ptr, ptr %sizes.at, align 8
  %lead.old = load i64, ptr %lead.at, align 8
  %is_first = icmp eq i64 %lead.old, 0
  br i1 %is_first, label %lead.first, label %lead.next
lead.first:
  store i64 %leading, ptr %lead.at, align 8
  store ptr %sizes, ptr %lead.sizes.at, align 8
  br label %argument.end
lead.next:
  %lead.old.sizes = load ptr, ptr %lead.sizes.at, align 8
  %is_as_many = icmp eq i64 %lead.old, %leading
  br i1 %is_as_many, label %lead.compare, label %none
lead.compare:
  %agrees = call i1 @same(ptr %sizes, ptr %lead.old.sizes, i64 %leading)
  br i1 %agrees, label %argument.end, label %none
watch:
  %watched = phi ptr [ %data, %fitting ], [ %short.at, %told ]
  %entries.at = getelementptr %shape, ptr %shape.at, i64 0, i32 1
  %entries = load i64, ptr %entries.at, align 8
  %sum.watched = call $numbers @watch(ptr %watched, i64 %entries, $numbers %sum)
  br label %argument.end
argument.end:
  %sum.next = phi $numbers [ %sum, %ignored ], [ %sum, %lead.first ], [ %sum, %lead.compare ],
                           [ %sum.watched, %watch ]
  %a.next = add i64 %a, 1
  br label %argument

weigh:
  %sum.all = call reassoc $real @llvm.vector.reduce.fadd.$suffix($real 0.0, $numbers %sum)
  %moderate = fcmp olt $real %sum.all, $bound
  %leads = load i64, ptr %lead.at, align 8
  %is_batch = icmp ne i64 %leads, 0
  %has_kernel = icmp ne ptr %kernel, null
  %possible = or i1 %is_batch, %has_kernel
  %goes = and i1 %moderate, %possible
  br i1 %goes, label %count, label %none
count:
  %c = phi i64 [ 0, %weigh ], [ %c.next, %count.one ]
  %states = phi i64 [ 1, %weigh ], [ %states.next, %count.one ]
  %c.more = icmp ult i64 %c, %leads
  br i1 %c.more, label %count.one, label %counted
count.one:
  %c.sizes = load ptr, ptr %lead.sizes.at, align 8
  %c.at = getelementptr i64, ptr %c.sizes, i64 %c
  %c.size = load i64, ptr %c.at, align 8
  %c.new = getelementptr i64, ptr %new, i64 %c
  store i64 %c.size, ptr %c.new, align 8
  %states.next = mul i64 %states, %c.size
  %c.next = add i64 %c, 1
  br label %count
counted:
  %is_some = icmp ne i64 %states, 0
  br i1 %is_some, label %target, label %none

target:
$load_target
  %out.slot = getelementptr ptr, ptr %slots, i64 %arguments
  %out.object = load ptr, ptr %out.slot, align 8
  %out.absent = icmp eq ptr %out.object, null
  %out.none = icmp eq ptr %out.object, %target.none
  %is_new_memory = or i1 %out.absent, %out.none
  %new.core = getelementptr i64, ptr %new, i64 %leads
  %is_single = icmp eq i64 %nout, 1
  br i1 %is_new_memory, label %output, label %own
own:
  br i1 %is_single, label %output, label %own.several
own.several:
  %own.type.at = getelementptr i8, ptr %out.object, i64 $array_type
  %own.type = load ptr, ptr %own.type.at, align 8
  %is_tuple = icmp eq ptr %own.type, %target.tuple
  br i1 %is_tuple, label %own.tuple, label %none
own.tuple:
  %own.size.at = getelementptr i8, ptr %out.object, i64 $tuple_size
  %own.size = load i64, ptr %own.size.at, align 8
  %is_enough = icmp eq i64 %own.size, %nout
  %own.items = getelementptr i8, ptr %out.object, i64 $tuple_items
  br i1 %is_enough, label %output, label %none

output:
  %o = phi i64 [ 0, %target ], [ 0, %own ], [ 0, %own.tuple ], [ %o.next, %output.next ]
  %mine = phi ptr [ null, %target ], [ %out.slot, %own ], [ %own.items, %own.tuple ],
                  [ %mine, %output.next ]
  %o.shape = getelementptr %shape, ptr %out.shapes, i64 %o
  %o.rank = load i64, ptr %o.shape, align 8
  %o.dimensions = add i64 %o.rank, %leads
  %o.place = add i64 %nin, %o
  %o.flag = getelementptr i64, ptr %flags, i64 %o.place
  store i64 1, ptr %o.flag, align 8
  %is_mine = icmp ne ptr %mine, null
  br i1 %is_mine, label %mine.look, label %fresh
mine.look:
  %mine.at = getelementptr ptr, ptr %mine, i64 %o
  %mine.array = load ptr, ptr %mine.at, align 8
  %mine.leads = call i64 @fits(ptr %mine.array, ptr %o.shape, ptr %api, i32 $writeable)
  %mine.fits = icmp eq i64 %mine.leads, %leads
  br i1 %mine.fits, label %mine.batch, label %none
mine.batch:
  %mine.sizes.at = getelementptr i8, ptr %mine.array, i64 $array_shape
  %mine.sizes = load ptr, ptr %mine.sizes.at, align 8
  %mine.agrees = call i1 @same(ptr %mine.sizes, ptr %new, i64 %leads)
  br i1 %mine.agrees, label %mine.data, label %none
mine.data:
  %mine.data.at = getelementptr i8, ptr %mine.array, i64 $array_data
  %mine.place = load ptr, ptr %mine.data.at, align 8
  %mine.out.at = getelementptr ptr, ptr %outs, i64 %o
  store ptr %mine.place, ptr %mine.out.at, align 8
  %shared = call i1 @meets(ptr %ins, ptr %shapes, ptr %flags, i64 %states, i64 %o.place)
  br i1 %shared, label %none, label %output.next
fresh:
  %o.is_number = icmp eq i64 %o.dimensions, 0
  br i1 %o.is_number, label %place, label %allocate
place:
  %o.number = getelementptr $real, ptr %numbers, i64 %o
  br label %output.next
allocate:
  %o.sizes = getelementptr %shape, ptr %o.shape, i64 0, i32 5
  %o.core = load [$ranks x i64], ptr %o.sizes, align 8
  store [$ranks x i64] %o.core, ptr %new.core, align 8
  %o.ndim = trunc i64 %o.dimensions to i32
$load_allocate
  call void %allocate.Py_IncRef(ptr %allocate.$real)
  %made = call ptr %allocate.new_array(ptr %allocate.ndarray, ptr %allocate.$real, i32 %o.ndim,
                                       ptr %new, ptr null, ptr null, i32 0, ptr null)
  %no_array = icmp eq ptr %made, null
  br i1 %no_array, label %fail, label %allocated
allocated:
  %made.data.at = getelementptr i8, ptr %made, i64 $array_data
  %made.data = load ptr, ptr %made.data.at, align 8
  br label %output.next
output.next:
  %result = phi ptr [ null, %place ], [ %made, %allocated ], [ %mine.array, %mine.data ]
  %to = phi ptr [ %o.number, %place ], [ %made.data, %allocated ], [ %mine.place, %mine.data ]
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
  %alarms = call i64 @batch(ptr %plan, i64 %states, ptr %ins, ptr %flags)
  br label %judge
single:
  %work = alloca i8, i64 %bytes, align 64
  %mask = call i64 %kernel(ptr %ins, ptr %outs, ptr %work, ptr %tables)
  br label %judge
judge:
  %complaints = phi i64 [ %alarms, %many ], [ %mask, %single ]
  %wrong = icmp ne i64 %complaints, 0
  br i1 %wrong, label %refuse, label %judged
refuse:
  %refused = select i1 %is_mine, i64 0, i64 %nout
  call void @drop(ptr %api, ptr %results, i64 %refused)
  br label %none
judged:
  br i1 %is_mine, label %hand_back, label %finish
hand_back:
$load_own
  call void %own.Py_IncRef(ptr %out.object)
  ret ptr %out.object

finish:
  %f = phi i64 [ 0, %judged ], [ %f.next, %finish.next ]
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
  br i1 %is_single, label %one, label %several
one:
  %only = load ptr, ptr %results, align 8
  ret ptr %only
several:
$load_several
  %tuple = call ptr %several.PyTuple_New(i64 %nout)
  %no_tuple = icmp eq ptr %tuple, null
  br i1 %no_tuple, label %fail, label %fill
fill:
  %u = phi i64 [ 0, %several ], [ %u.next, %fill ]
  %u.at = getelementptr ptr, ptr %results, i64 %u
  %u.result = load ptr, ptr %u.at, align 8
  %filled = call i32 %several.PyTuple_SetItem(ptr %tuple, i64 %u, ptr %u.result)
  %u.next = add i64 %u, 1
  %u.more = icmp ult i64 %u.next, %nout
  br i1 %u.more, label %fill, label %full
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
