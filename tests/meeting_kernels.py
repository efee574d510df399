"""Kernels that wait: for threads to meet inside them, or for a word from outside."""

import ctypes

import numpy as np
from hand_kernels import target

from phipsi.backends import llvm
from phipsi.backends.gufunc import Plan
from phipsi.backends.parallel import threads

PATIENCE = 3_000_000  # looks before a kernel gives up, some seconds

# y = x x, once as many threads as the second number of the table are inside, or were. Who waits in
# vain says so by an alarm.
_MEETING = """
declare i32 @sched_yield()
define i64 @square(ptr %ins, ptr %outs, ptr %work, ptr %tables) {{
entry:
  %in = load ptr, ptr %ins
  %out = load ptr, ptr %outs
  %x = load double, ptr %in
  %y = fmul double %x, %x
  store double %y, ptr %out
  %wanted.at = getelementptr i64, ptr %tables, i64 1
  %came = atomicrmw add ptr %tables, i64 1 seq_cst
  br label %look
look:
  %n = phi i64 [ 0, %entry ], [ %n.next, %wait ]
  %here = load atomic i64, ptr %tables seq_cst, align 8
  %wanted = load atomic i64, ptr %wanted.at seq_cst, align 8
  %enough = icmp sge i64 %here, %wanted
  br i1 %enough, label %fine, label %patient
patient:
  %over = icmp eq i64 %n, {patience}
  br i1 %over, label %alone, label %wait
wait:
  %yielded = call i32 @sched_yield()
  %n.next = add i64 %n, 1
  br label %look
fine:
  ret i64 0
alone:
  ret i64 1
}}
"""


class Meeting:
    """A function of one number that waits until enough threads are inside.

    Args:
        wanted: so many; `open` lets all of them out.
        threads: that may work on a batch.
        work: bytes that it does not need.
    """

    def __init__(self, wanted, threads, work=0):
        self.table = np.array([0, wanted], np.int64)
        here = target("host", 1)
        self._code = llvm.compile_module(_MEETING.format(patience=PATIENCE), here)
        self.plan = Plan(
            here,
            [()],
            [()],
            lanes=self._code.address("square"),
            tables=self.table.ctypes.data,
            keep=(self._code, self.table),
            threads=threads,
            work=work,
        )

    def again(self, threads):
        """The same function, anew."""
        self.plan = self.plan.with_threads(threads)
        self.table[0] = 0

    def __call__(self, x):
        """The squares; other threads of Python run meanwhile."""
        y = np.full_like(x, np.nan)
        call_share(self.plan, [x, y])
        return y

    @property
    def came(self):
        """How many states were begun."""
        return int(self.table[0])

    @property
    def in_vain(self):
        """How many waited too long."""
        return self.plan.counter[0]

    def open(self):
        """Nobody waits any more."""
        self.table[1] = 0


def eagerly(patch):
    """Plans that are made from now on share batches of any size, in the smallest chunks."""
    patch.setattr(threads, "WORTH", 0.001)


def call_share(plan, arrays):
    """What NumPy does, for arrays with one leading dimension; strides and addresses as they are."""
    pointers = (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))
    dimensions = (ctypes.c_int64 * 1)(len(arrays[0]))
    strides = [x.strides[0] for x in arrays] + [s for x in arrays for s in x.strides[1:]]
    steps = (ctypes.c_int64 * len(strides))(*strides)
    loop = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(plan.loop)
    loop(pointers, dimensions, steps, plan.data)
