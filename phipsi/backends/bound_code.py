"""LLVM IR of bound functions: one for all functions and shapes, for each kind of numbers.

    PyObject *call(PyObject *self, PyObject *unused)

`self` is an array of 8-byte fields:

     0 kernel      `i64 kernel(ptr inputs, ptr outputs, ptr work, ptr tables)` of one state, or
                   null: then the loop does it
     1 tables      handed through to the kernel
     2 work        where the kernel works
     3 inputs      list of pointers to the numbers of all arguments, inputs first
     4 outputs     where outputs begin in that list
     5 loop        the driver's loop
     6 plan        the driver's plan; it begins with a counter of alarms
     7 dimensions  for the loop: how many states
     8 steps       for the loop: strides
     9 records     of each argument the array, its data, flags that it must have
    10 arguments   how many
    11 fours       list of pointers to four numbers each, in which all inputs of at least four lie
    12 pairs       half their number
    13 ones        list of pointers to the other numbers
    14 single      how many
    15 api         the addresses of `numpy_api`
    16 result      the object that is returned
    17 careful     a function of Python for whatever is not in order
"""

from __future__ import annotations

from functools import lru_cache
from string import Template

from phipsi.backends import numpy_api
from phipsi.backends.entry_code import FOUR
from phipsi.backends.llvm import Code, Target, compile_module
from phipsi.backends.numpy_api import load
from phipsi.backends.real import REALS
from phipsi.backends.tiles import bound


@lru_cache(maxsize=8)
def bound_code(target: Target) -> Code:
    """The compiled code of bound functions: `call`."""
    return compile_module(bound_text(target.real), target)


def bound_text(real: str) -> str:
    """The module of bound functions, the same in every process.

    Args:
        real: what numbers are: "double" or "float".
    """
    return Template(_CALL).substitute(
        numpy_api.offsets(),
        real=real,
        four=FOUR,
        numbers=f"<{FOUR} x {real}>",
        suffix=f"v{FOUR}{REALS[real].suffix}",
        scalar=REALS[real].suffix,
        bytes=REALS[real].bytes,
        bound=bound(real),
        load_many=load("many", "PyEval_SaveThread", "PyEval_RestoreThread"),
        load_good=load("good", "Py_IncRef"),
        load_careful=load("careful", "PyObject_CallNoArgs"),
    )


# The watch: inputs whose squares do not stay below the bound, or are NaN, are for the careful way.
# Nothing up to the end of the kernel of one state runs code of Python, and no other thread of
# Python runs: so the kernel has its room to itself. Many states have the loop's, and other threads
# run meanwhile.
_CALL = """
%record = type { ptr, ptr, i64 }
%fields = type { ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, i64, ptr, i64, ptr, i64,
                 ptr, ptr, ptr }

declare $numbers @llvm.fmuladd.$suffix($numbers, $numbers, $numbers)
declare $real @llvm.fmuladd.$scalar($real, $real, $real)

define ptr @call(ptr %self, ptr %unused) nounwind {
entry:
  %f.at = getelementptr i8, ptr %self, i64 $array_data
  %f = load ptr, ptr %f.at, align 8
  %kernel = load ptr, ptr %f, align 8
  %records.at = getelementptr %fields, ptr %f, i64 0, i32 9
  %records = load ptr, ptr %records.at, align 8
  %arguments.at = getelementptr %fields, ptr %f, i64 0, i32 10
  %arguments = load i64, ptr %arguments.at, align 8
  %api.at = getelementptr %fields, ptr %f, i64 0, i32 15
  %api = load ptr, ptr %api.at, align 8
  %records.end = getelementptr %record, ptr %records, i64 %arguments
  br label %argument

argument:
  %record = phi ptr [ %records, %entry ], [ %record.next, %stays ]
  %array = load ptr, ptr %record, align 8
  %data.at = getelementptr %record, ptr %record, i64 0, i32 1
  %data = load ptr, ptr %data.at, align 8
  %data.now.at = getelementptr i8, ptr %array, i64 $array_data
  %data.now = load ptr, ptr %data.now.at, align 8
  %flags.at = getelementptr %record, ptr %record, i64 0, i32 2
  %flags = load i32, ptr %flags.at, align 8
  %flags.now.at = getelementptr i8, ptr %array, i64 $array_flags
  %flags.now = load i32, ptr %flags.now.at, align 4
  %flags.has = and i32 %flags.now, %flags
  %is_there = icmp eq ptr %data, %data.now
  %is_allowed = icmp eq i32 %flags.has, %flags
  %is_same = and i1 %is_there, %is_allowed
  br i1 %is_same, label %stays, label %careful
stays:
  %record.next = getelementptr %record, ptr %record, i64 1
  %is_last = icmp eq ptr %record.next, %records.end
  br i1 %is_last, label %choose, label %argument
choose:
  %is_one = icmp ne ptr %kernel, null
  br i1 %is_one, label %watch, label %many

watch:
  %fours.at = getelementptr %fields, ptr %f, i64 0, i32 11
  %fours = load ptr, ptr %fours.at, align 8
  %pairs.at = getelementptr %fields, ptr %f, i64 0, i32 12
  %pairs = load i64, ptr %pairs.at, align 8
  %any_pair = icmp ne i64 %pairs, 0
  br i1 %any_pair, label %pair, label %weigh
pair:
  %left = phi i64 [ %pairs, %watch ], [ %left.next, %pair ]
  %x.at = phi ptr [ %fours, %watch ], [ %x.next, %pair ]
  %even = phi $numbers [ zeroinitializer, %watch ], [ %even.next, %pair ]
  %odd = phi $numbers [ zeroinitializer, %watch ], [ %odd.next, %pair ]
  %y.at = getelementptr ptr, ptr %x.at, i64 1
  %x = load ptr, ptr %x.at, align 8
  %y = load ptr, ptr %y.at, align 8
  %xs = load $numbers, ptr %x, align $bytes
  %ys = load $numbers, ptr %y, align $bytes
  %even.next = call $numbers @llvm.fmuladd.$suffix($numbers %xs, $numbers %xs, $numbers %even)
  %odd.next = call $numbers @llvm.fmuladd.$suffix($numbers %ys, $numbers %ys, $numbers %odd)
  %x.next = getelementptr ptr, ptr %x.at, i64 2
  %left.next = sub i64 %left, 1
  %more = icmp ne i64 %left.next, 0
  br i1 %more, label %pair, label %weigh
weigh:
  %evens = phi $numbers [ zeroinitializer, %watch ], [ %even.next, %pair ]
  %odds = phi $numbers [ zeroinitializer, %watch ], [ %odd.next, %pair ]
  %sums = fadd $numbers %evens, %odds
  %moderate = fcmp olt $numbers %sums, splat ($real $bound)
  %bits = bitcast <$four x i1> %moderate to i$four
  %all = icmp eq i$four %bits, -1
  br i1 %all, label %rest, label %careful
rest:
  %ones.at = getelementptr %fields, ptr %f, i64 0, i32 13
  %ones = load ptr, ptr %ones.at, align 8
  %single.at = getelementptr %fields, ptr %f, i64 0, i32 14
  %single = load i64, ptr %single.at, align 8
  %any_one = icmp ne i64 %single, 0
  br i1 %any_one, label %one, label %run
one:
  %o.left = phi i64 [ %single, %rest ], [ %o.left.next, %one ]
  %o.at = phi ptr [ %ones, %rest ], [ %o.next, %one ]
  %o.sum = phi $real [ 0.0, %rest ], [ %o.sum.next, %one ]
  %o = load ptr, ptr %o.at, align 8
  %o.number = load $real, ptr %o, align $bytes
  %o.sum.next = call $real @llvm.fmuladd.$scalar($real %o.number, $real %o.number, $real %o.sum)
  %o.next = getelementptr ptr, ptr %o.at, i64 1
  %o.left.next = sub i64 %o.left, 1
  %o.more = icmp ne i64 %o.left.next, 0
  br i1 %o.more, label %one, label %weigh.ones
weigh.ones:
  %o.moderate = fcmp olt $real %o.sum.next, $bound
  br i1 %o.moderate, label %run, label %careful

run:
  %tables.at = getelementptr %fields, ptr %f, i64 0, i32 1
  %tables = load ptr, ptr %tables.at, align 8
  %work.at = getelementptr %fields, ptr %f, i64 0, i32 2
  %work = load ptr, ptr %work.at, align 8
  %ins.at = getelementptr %fields, ptr %f, i64 0, i32 3
  %ins = load ptr, ptr %ins.at, align 8
  %outs.at = getelementptr %fields, ptr %f, i64 0, i32 4
  %outs = load ptr, ptr %outs.at, align 8
  %mask = call i64 %kernel(ptr %ins, ptr %outs, ptr %work, ptr %tables)
  br label %judge

many:
$load_many
  %args.at = getelementptr %fields, ptr %f, i64 0, i32 3
  %args = load ptr, ptr %args.at, align 8
  %loop.at = getelementptr %fields, ptr %f, i64 0, i32 5
  %loop = load ptr, ptr %loop.at, align 8
  %plan.at = getelementptr %fields, ptr %f, i64 0, i32 6
  %plan = load ptr, ptr %plan.at, align 8
  %dimensions.at = getelementptr %fields, ptr %f, i64 0, i32 7
  %dimensions = load ptr, ptr %dimensions.at, align 8
  %steps.at = getelementptr %fields, ptr %f, i64 0, i32 8
  %steps = load ptr, ptr %steps.at, align 8
  %before = load atomic i64, ptr %plan monotonic, align 8
  %thread = call ptr %many.PyEval_SaveThread()
  call void %loop(ptr %args, ptr %dimensions, ptr %steps, ptr %plan)
  call void %many.PyEval_RestoreThread(ptr %thread)
  %after = load atomic i64, ptr %plan monotonic, align 8
  %alarms = sub i64 %after, %before
  br label %judge

judge:
  %complaints = phi i64 [ %mask, %run ], [ %alarms, %many ]
  %is_good = icmp eq i64 %complaints, 0
  br i1 %is_good, label %good, label %careful
good:
$load_good
  %result.at = getelementptr %fields, ptr %f, i64 0, i32 16
  %result = load ptr, ptr %result.at, align 8
  call void %good.Py_IncRef(ptr %result)
  ret ptr %result
careful:
$load_careful
  %careful.at = getelementptr %fields, ptr %f, i64 0, i32 17
  %function = load ptr, ptr %careful.at, align 8
  %answer = call ptr %careful.PyObject_CallNoArgs(ptr %function)
  ret ptr %answer
}
"""
