"""LLVM IR that threads of one task have in common: who takes what, and how numbers are rounded.

    void begin_dealing(ptr places, i64 threads)
    i64 deal(ptr places, i64 threads, i64 items, ptr share, i64 first)

`deal` gives the number of the next item, or -1 if there are no more. Each thread
has a share of its own, items that follow each other, and helps with those of
others when it has done them. So a thread that comes again, with another task on
the same numbers, finds them in its own cache: that is worth a factor of two where
little is computed with each. `places` has a cache line for each thread; `share` is
whose items a thread is at, to begin with its own, `first`.

    i64 control()
    void adopt(i64 control)

How the floating-point unit of a thread rounds and treats small numbers, without
the flags that it raises; and another thread does the same.
"""

from __future__ import annotations

from string import Template

from phipsi.backends.llvm import architecture

PLACE = 64  # bytes of a cache line


def common_text() -> str:
    """Definitions of these functions, internal to a module."""
    return _DEALING.substitute(place=PLACE) + _CONTROLS.get(architecture(), _NO_CONTROL)


_DEALING = Template("""
define internal void @begin_dealing(ptr %places, i64 %threads) nounwind {
entry:
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k.next, %next ]
  %offset = mul i64 %k, $place
  %place = getelementptr i8, ptr %places, i64 %offset
  store i64 0, ptr %place, align 8
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %threads
  br i1 %more, label %next, label %done
done:
  ret void
}

define internal i64 @deal(ptr %places, i64 %threads, i64 %items, ptr %share, i64 %first) nounwind {
entry:
  %whose = load i64, ptr %share, align 8
  br label %ask
ask:
  %k = phi i64 [ %whose, %entry ], [ %k.next, %other ]
  %before = mul i64 %k, %items
  %begin = udiv i64 %before, %threads
  %behind = add i64 %before, %items
  %end = udiv i64 %behind, %threads
  %offset = mul i64 %k, $place
  %place = getelementptr i8, ptr %places, i64 %offset
  %taken = atomicrmw add ptr %place, i64 1 monotonic, align 8
  %item = add i64 %begin, %taken
  %some = icmp ult i64 %item, %end
  br i1 %some, label %found, label %go_on
go_on:
  %k.over = add i64 %k, 1
  %is_last = icmp eq i64 %k.over, %threads
  %k.next = select i1 %is_last, i64 0, i64 %k.over
  %is_round = icmp eq i64 %k.next, %first
  br i1 %is_round, label %none, label %other
other:
  br label %ask
found:
  store i64 %k, ptr %share, align 8
  ret i64 %item
none:
  ret i64 -1
}
""")

_CONTROLS = {
    "x86_64": """
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)

define internal i64 @control() nounwind {
  %slot = alloca i32, align 4
  call void @llvm.x86.sse.stmxcsr(ptr %slot)
  %all = load i32, ptr %slot, align 4
  %some = and i32 %all, -64
  %control = zext i32 %some to i64
  ret i64 %control
}

define internal void @adopt(i64 %control) nounwind {
  %slot = alloca i32, align 4
  %short = trunc i64 %control to i32
  store i32 %short, ptr %slot, align 4
  call void @llvm.x86.sse.ldmxcsr(ptr %slot)
  ret void
}
""",
    "aarch64": """
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)

define internal i64 @control() nounwind {
  %control = call i64 @llvm.aarch64.get.fpcr()
  ret i64 %control
}

define internal void @adopt(i64 %control) nounwind {
  call void @llvm.aarch64.set.fpcr(i64 %control)
  ret void
}
""",
}

_NO_CONTROL = """
define internal i64 @control() nounwind {
  ret i64 0
}

define internal void @adopt(i64 %control) nounwind {
  ret void
}
"""
