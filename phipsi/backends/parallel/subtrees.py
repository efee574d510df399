"""Threads for one state of a large machine: subtrees that do not need each other, side by side.

Bodies are numbered depth-first, so what is outboard of a body is a range. A loop
is cut into parts, each of them all that is strictly outboard of some body, and the
trunk, which is the rest. In a loop from tip to base the parts come first, then the
trunk; in a loop from base to tip the trunk is first. A body reads and writes its
own numbers and those of its parent, and all children of a body are in one part or
in the trunk: so each number is written by one thread, in the order in which one
thread alone would write it, and results are the same bit by bit.

In the table, a stretch of parts is one row, whose code is `segments`; the rows of
the parts follow in it:

    row     code for lanes, code for one lane, length in bytes,
            engage, dismiss, pool, where the default number of threads is found,
            how many parts, where each begins and the last one ends, in bytes from here
"""

from __future__ import annotations

from dataclasses import dataclass
from string import Template

import numpy as np

from phipsi.backends.parallel.dealing import PLACE, common_text
from phipsi.backends.parallel.pool import ASKED, has_threads, pool_address
from phipsi.backends.parallel.threads import team_code
from phipsi.backends.parallel.workers import MOST, default_address
from phipsi.lowering.template_derivatives import SHIFT
from phipsi.lowering.templates import Template as BodyTemplate
from phipsi.model.tree import WORLD, Tree

BODIES = 3000  # of machines that are cut; smaller ones are done sooner than threads are called
LARGEST = 16  # a part is at most one of so many of the machine
FINEST = 64  # small ones are put together until they are one of so many
GAIN = 0.8  # of the bodies, at most so many one after the other, with two threads
HEAD = 8  # fields of the row before the list of parts

OWN = (("own",), ("parent",), SHIFT)
PLACES = (("q",), ("v",), ("rows",), ("body",), ("pose",))


@dataclass(frozen=True)
class Cut:
    """A machine cut into parts that do not need each other.

    Args:
        parts: of each, ranges of bodies.
        trunk: the other bodies.
    """

    parts: tuple[tuple[range, ...], ...]
    trunk: np.ndarray

    def order(self, inward: bool) -> np.ndarray:
        """All bodies: part after part, then the trunk, each as a loop visits them.

        Args:
            inward: whether the loop goes from tip to base.
        """
        parts = [np.concatenate([np.arange(x.start, x.stop) for x in part]) for part in self.parts]
        return np.concatenate([x[::-1] if inward else x for x in (*parts, self.trunk)])

    def rows(
        self, codes: tuple[int, int], rows: np.ndarray, lengths: np.ndarray, inward: bool
    ) -> list[np.ndarray]:
        """The rows of a loop: a stretch of parts, and the trunk before or behind it.

        Args:
            codes: addresses of `segments`, for lanes and for one lane.
            rows: of all bodies, in the order of `order`.
            lengths: of the rows of each body, in fields.
            inward: whether the loop goes from tip to base.
        """
        sizes = [sum(int(lengths[x.start : x.stop].sum()) for x in part) for part in self.parts]
        starts = np.cumsum([0, *sizes])
        shared = stretch_row(codes, rows[: starts[-1]], starts)
        trunk = rows[starts[-1] :]
        return [shared, trunk] if inward else [trunk, shared]


def cut_machine(tree: Tree) -> Cut | None:
    """The parts of a machine; None where it is too small, or has too few branches to gain.

    >>> tree = Tree((-1, *(x for b in range(20) for x in (0, *range(1 + 200 * b, 200 * b + 200)))))
    >>> cut = cut_machine(tree)
    >>> len(cut.parts), cut.parts[0], len(cut.trunk)
    (20, (range(2, 201),), 21)
    """
    n = len(tree)
    if n < BODIES or not has_threads():
        return None
    largest = n // LARGEST
    parts: list[list[range]] = []
    gathered = 0
    for k, parent in enumerate(tree.parent):
        outboard = range(k + 1, tree.end[k])
        is_part = 0 < len(outboard) <= largest
        is_within = parent != WORLD and tree.end[parent] - parent - 1 <= largest
        if is_part and not is_within:
            if not parts or gathered >= n // FINEST:
                parts.append([])
                gathered = 0
            parts[-1].append(outboard)
            gathered += len(outboard)
    sizes = [sum(map(len, part)) for part in parts]
    rest = n - sum(sizes)
    if not sizes or rest + max(max(sizes), sum(sizes) / 2) > GAIN * n:
        return None
    is_trunk = np.ones(n, bool)
    for part in parts:
        for outboard in part:
            is_trunk[outboard.start : outboard.stop] = False
    return Cut(tuple(map(tuple, parts)), np.flatnonzero(is_trunk))


def is_separable(template: BodyTemplate) -> bool:
    """Whether a body writes nothing but its own numbers, those of its parent, and its results."""
    for region in template.regions:
        if region.over is not None:
            return False
        for store in region.stores:
            address = store.address
            known = OWN if address.area == ("work",) else PLACES
            is_its_own = address.operands and set(address.operands) <= set(known)
            if address.stride is not None or not is_its_own:
                return False
    return True


def stretch_row(codes: tuple[int, int], rows: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The row of a stretch of parts.

    Args:
        codes: addresses of `segments`, for lanes and for one lane.
        rows: of all parts, one after the other.
        starts: where each part begins in them, and where the last one ends, in fields.
    """
    code = team_code()
    assert code is not None, "machines are cut where there are threads"
    calls = [code.address("engage"), code.address("dismiss"), pool_address(), default_address()]
    places = HEAD + len(starts) + starts
    total = HEAD + len(starts) + len(rows)
    head = [*codes, 8 * total, *calls, len(starts) - 1]
    return np.concatenate([np.array(head, np.int64), 8 * places, rows])


def write_segments(code: int) -> str:
    """The code of a stretch of parts.

    Args:
        code: which field of a row tells its code, 0 or 1.
    """
    words = {"code": 8 * code, "most": MOST, "place": PLACE, "asked": ASKED}
    return common_text() + Template(_SEGMENTS).substitute(words)


_SEGMENTS = """
%stretch = type { ptr, ptr, ptr, ptr, ptr, i64, i64, i64, ptr }
declare i64 @llvm.smin.i64(i64, i64)

define i64 @segments(ptr %ins, ptr %outs, ptr %work, ptr %row) nounwind {
entry:
  %stretch = alloca %stretch, align 64
  %places = alloca [$most x [$place x i8]], align $place
  %engage.at = getelementptr i64, ptr %row, i64 3
  %engage = load ptr, ptr %engage.at, align 8
  %dismiss.at = getelementptr i64, ptr %row, i64 4
  %dismiss = load ptr, ptr %dismiss.at, align 8
  %pool.at = getelementptr i64, ptr %row, i64 5
  %pool = load ptr, ptr %pool.at, align 8
  %threads.at.at = getelementptr i64, ptr %row, i64 6
  %threads.at = load ptr, ptr %threads.at.at, align 8
  %default = load atomic i64, ptr %threads.at monotonic, align 8
  %asked.at = getelementptr i64, ptr %pool, i64 $asked
  %asked = load atomic i64, ptr %asked.at monotonic, align 8
  %is_asked = icmp ne i64 %asked, 0
  %threads = select i1 %is_asked, i64 %asked, i64 %default
  %parts.at = getelementptr i64, ptr %row, i64 7
  %parts = load i64, ptr %parts.at, align 8
  %control = call i64 @control()
  store ptr @part, ptr %stretch, align 8
  %s.ins = getelementptr %stretch, ptr %stretch, i64 0, i32 1
  store ptr %ins, ptr %s.ins, align 8
  %s.outs = getelementptr %stretch, ptr %stretch, i64 0, i32 2
  store ptr %outs, ptr %s.outs, align 8
  %s.work = getelementptr %stretch, ptr %stretch, i64 0, i32 3
  store ptr %work, ptr %s.work, align 8
  %s.row = getelementptr %stretch, ptr %stretch, i64 0, i32 4
  store ptr %row, ptr %s.row, align 8
  %s.control = getelementptr %stretch, ptr %stretch, i64 0, i32 5
  store i64 %control, ptr %s.control, align 8
  %most = call i64 @llvm.smin.i64(i64 %threads, i64 %parts)
  %s.threads = getelementptr %stretch, ptr %stretch, i64 0, i32 6
  store i64 %most, ptr %s.threads, align 8
  %s.failed = getelementptr %stretch, ptr %stretch, i64 0, i32 7
  store i64 0, ptr %s.failed, align 8
  %s.places = getelementptr %stretch, ptr %stretch, i64 0, i32 8
  store ptr %places, ptr %s.places, align 8
  call void @begin_dealing(ptr %places, i64 %most)
  %helpers = sub i64 %most, 1
  %some = icmp sgt i64 %helpers, 0
  br i1 %some, label %call, label %alone
call:
  %engaged = call i64 %engage(ptr %pool, ptr %stretch, i64 %helpers)
  %came = icmp ne i64 %engaged, 0
  br i1 %came, label %together, label %alone
together:
  call void @part(ptr %stretch, i64 0)
  call void %dismiss(ptr %pool)
  br label %done
alone:
  call void @part(ptr %stretch, i64 0)
  br label %done
done:
  %failed = load i64, ptr %s.failed, align 8
  ret i64 %failed
}

define internal void @part(ptr %stretch, i64 %number) nounwind {
entry:
  %share = alloca i64, align 8
  %ins.at = getelementptr %stretch, ptr %stretch, i64 0, i32 1
  %ins = load ptr, ptr %ins.at, align 8
  %outs.at = getelementptr %stretch, ptr %stretch, i64 0, i32 2
  %outs = load ptr, ptr %outs.at, align 8
  %work.at = getelementptr %stretch, ptr %stretch, i64 0, i32 3
  %work = load ptr, ptr %work.at, align 8
  %row.at = getelementptr %stretch, ptr %stretch, i64 0, i32 4
  %whole = load ptr, ptr %row.at, align 8
  %control.at = getelementptr %stretch, ptr %stretch, i64 0, i32 5
  %control = load i64, ptr %control.at, align 8
  %threads.at = getelementptr %stretch, ptr %stretch, i64 0, i32 6
  %threads = load i64, ptr %threads.at, align 8
  %failed.at = getelementptr %stretch, ptr %stretch, i64 0, i32 7
  %places.at = getelementptr %stretch, ptr %stretch, i64 0, i32 8
  %places = load ptr, ptr %places.at, align 8
  %parts.at = getelementptr i64, ptr %whole, i64 7
  %parts = load i64, ptr %parts.at, align 8
  %starts = getelementptr i64, ptr %whole, i64 8
  %helps = icmp ne i64 %number, 0
  br i1 %helps, label %prepare, label %choose
prepare:
  call void @adopt(i64 %control)
  br label %choose
choose:
  %own = urem i64 %number, %threads
  store i64 %own, ptr %share, align 8
  br label %take
take:
  %n = call i64 @deal(ptr %places, i64 %threads, i64 %parts, ptr %share, i64 %own)
  %more = icmp sge i64 %n, 0
  br i1 %more, label %begin, label %done
begin:
  %start.at = getelementptr i64, ptr %starts, i64 %n
  %start = load i64, ptr %start.at, align 8
  %stop.at = getelementptr i64, ptr %start.at, i64 1
  %stop = load i64, ptr %stop.at, align 8
  %first = getelementptr i8, ptr %whole, i64 %start
  %end = getelementptr i8, ptr %whole, i64 %stop
  br label %body
body:
  %row = phi ptr [ %first, %begin ], [ %next, %body ]
  %failed = phi i64 [ 0, %begin ], [ %sum, %body ]
  %at = getelementptr i8, ptr %row, i64 $code
  %code = load ptr, ptr %at, align 8
  %bad = call i64 %code(ptr %ins, ptr %outs, ptr %work, ptr %row)
  %sum = or i64 %failed, %bad
  %by = getelementptr i8, ptr %row, i64 16
  %bytes = load i64, ptr %by, align 8
  %next = getelementptr i8, ptr %row, i64 %bytes
  %is_end = icmp eq ptr %next, %end
  br i1 %is_end, label %tell, label %body
tell:
  %before = atomicrmw or ptr %failed.at, i64 %sum monotonic, align 8
  br label %take
done:
  ret void
}
"""
