"""LLVM IR that runs kernels one after the other, step after step: itself a kernel.

A step takes a state to the next: arguments that are fed back. It calls kernels in
turn, each on places: the state, the next state, what is given, or room of its
own. Some of the state may be iterated: then the calls are repeated until one of
the places, of one number, is at most 1 in all lanes, or often enough. A lane where
it is keeps what it has found: states do not depend on their neighbours.

    inputs     the state, then what is given, for all steps or step by step
    outputs    the state after every so many steps
    tables     i64: how many states are put out, steps from one to the next; of what may be
               given step by step, 1 if it is and 0 if one row serves all steps

Kernels and steps are one module, without an address in it: so it is kept on disk as every
compiled function is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from phipsi.backends.disk.identity import Parts
from phipsi.backends.job import Computation
from phipsi.backends.kernel import PART, Kernel, write_functions, write_kernel, write_module
from phipsi.backends.partition import Task
from phipsi.backends.write import Width, Writer
from phipsi.graph.graph import Node

Place = tuple[str, int]  # "state", "next" or "given" and which; "room" and from which entry on
ITERATIONS = 60  # at most


@dataclass(frozen=True)
class Call:
    """A kernel and its arguments.

    Args:
        kernel: which.
        inputs: where it reads.
        outputs: where it writes.
    """

    kernel: int
    inputs: tuple[Place, ...]
    outputs: tuple[Place, ...]


@dataclass(frozen=True)
class Steps:
    """What a step does.

    Args:
        tasks: what the kernels compute.
        state: entries of each part of the state.
        given: entries of what is given.
        rows: which of those given may be other ones in each step.
        calls: in order.
        room: entries of the room.
        iterated: of parts of the state that are iterated, where the calls find and leave them
            in the room: {part: (before, after)}.
        change: where in the room the calls say how much they have changed; None if nothing
            is iterated.
    """

    tasks: tuple[Task, ...]
    state: tuple[int, ...]
    given: tuple[int, ...]
    rows: tuple[int, ...]
    calls: tuple[Call, ...]
    room: int
    iterated: dict[int, tuple[int, int]] = field(default_factory=dict)
    change: int | None = None

    @property
    def work(self) -> int:
        """Entries that it needs beside what its kernels need: room, and two states between."""
        return self.room + 2 * sum(self.state)

    def live(self) -> list[Node]:
        """What one step computes, once for each call; iterations count once."""
        each = [task.live() for task in self.tasks]
        return [node for call in self.calls for node in each[call.kernel]]


class StepComputation(ABC):
    """Steps as what is to be compiled: see `phipsi.backends.job.Computation`.

    Attributes:
        largest: nodes of a graph, at the most.
    """

    real = "double"
    largest: int

    @property
    @abstractmethod
    def state(self) -> Mapping[str, int]:
        """Names and sizes of what is fed back, in order."""

    @property
    @abstractmethod
    def given(self) -> Mapping[str, int]:
        """Names and sizes of what is given, in order."""

    @property
    @abstractmethod
    def rows(self) -> tuple[str, ...]:
        """Which of those given may be other ones in each step."""

    @property
    @abstractmethod
    def key(self) -> Parts | None:
        """What its code depends on, beside phipsi and the processor; None if nobody can tell."""

    @abstractmethod
    def recorded(self, limit: int | None = None) -> Steps:
        """What a step does, its kernels as graphs.

        Args:
            limit: of how many nodes a graph may have.

        Raises:
            ZeroDivisionError: where a pivot is zero whatever the state.
            GraphTooLargeError: if more nodes are needed.
        """

    def table(self, kept: int, inner: int, varying: Collection[str]) -> np.ndarray:
        """What the code of its steps is told: see this file."""
        return np.array([kept, inner, *(name in varying for name in self.rows)], np.int64)


def trace_job(job: Computation | StepComputation, limit: int) -> Task | Steps:
    """What kernels are written of: a computation as one graph, or as steps of several.

    Raises:
        ZeroDivisionError: where a pivot is zero whatever the state.
        GraphTooLargeError: if more nodes are needed.
    """
    if isinstance(job, StepComputation):
        return job.recorded(limit)
    traced = job.traced(limit)
    return Task(traced.graph, tuple(job.inputs), traced.outputs, traced.checks)


@write_kernel.register
def _(steps: Steps, lanes: int, limit: int = PART, real: str = "double") -> Kernel:
    """The module of a kernel that makes steps. The workspace of its own kernels comes first."""
    width = Width(lanes, real)
    kernels = [
        write_functions(task, width, limit, f"kernel{i}", internal=True)
        for i, task in enumerate(steps.tasks)
    ]
    work = max(x.work for x in kernels)
    own = [_StepWriter(steps, width, work).write(), _copies(width)]
    text = write_module(kernels, width, own)
    return Kernel(text, work + steps.work, sum(x.parts for x in kernels))


class _StepWriter(Writer):
    """The text of the kernel. Addresses in the room are known at once, others step by step."""

    def __init__(self, steps: Steps, width: Width, work: int):
        super().__init__(width)
        self.steps, self.work = steps, work
        self.parts = range(len(steps.state))
        self.places: dict[Place, str] = {}

    def write(self) -> str:
        """The whole function."""
        self._begin()
        self._step()
        self._end()
        body = "\n  ".join(self.lines)
        parameters = "ptr %ins, ptr %outs, ptr %work, ptr %tables"
        head = f"define i64 @kernel({parameters}) #0 {{\nentry:\n  "
        return f"{head}{body}\n}}"

    def _say(self, *lines: str) -> None:
        self.lines += lines

    def _begin(self) -> None:
        steps = self.steps
        self._say(
            "%kept = load i64, ptr %tables", "%inner.at = getelementptr i64, ptr %tables, i64 1"
        )
        self._say("%inner = load i64, ptr %inner.at")
        for c, call in enumerate(steps.calls):
            for way, places in (("in", call.inputs), ("out", call.outputs)):
                self._say(f"%{way}s{c} = alloca [{len(places)} x ptr], align 8")
        for i in self.parts:
            self._load(f"%first{i}", "%ins", i)
            self._load(f"%out{i}", "%outs", i)
        for k in range(len(steps.given)):
            self._load(f"%given{k}", "%ins", len(steps.state) + k)
            if k not in steps.rows:
                self.places["given", k] = f"%given{k}"
        for i, k in enumerate(steps.rows):
            at = self.let(f"getelementptr i64, ptr %tables, i64 {2 + i}")
            size = self.width.bytes * steps.given[k]
            self._say(f"%row{k}.size = mul i64 {self.let(f'load i64, ptr {at}')}, {size}")
        used = {p for call in steps.calls for p in (*call.inputs, *call.outputs)}
        inside = {("room", x) for pair in steps.iterated.values() for x in pair}
        for place in sorted(used | inside):
            if place[0] == "room":
                self.places[place] = self.address("%work", self.work + place[1])
        self.spare = [
            self.address("%work", self.work + steps.room + k * sum(steps.state)) for k in (0, 1)
        ]
        self._hand_over(set(self.places))
        self._say("br label %step", "step:")

    def _load(self, name: str, pointers: str, which: int) -> None:
        self._say(
            f"{name}.at = getelementptr ptr, ptr {pointers}, i64 {which}",
            f"{name} = load ptr, ptr {name}.at",
        )

    def _hand_over(self, places: set[Place]) -> None:
        """Addresses of places into the lists of the calls that use them."""
        for c, call in enumerate(self.steps.calls):
            for way, several in (("in", call.inputs), ("out", call.outputs)):
                for k, place in enumerate(several):
                    if place in places:
                        at = self.let(f"getelementptr ptr, ptr %{way}s{c}, i64 {k}")
                        self._say(f"store ptr {self.places[place]}, ptr {at}")

    def _step(self) -> None:
        steps, size = self.steps, self.width.bytes
        for i in self.parts:
            self._say(f"%state{i} = phi ptr [ %first{i}, %entry ], [ %next{i}, %end ]")
        for k in steps.rows:
            self._say(f"%row{k} = phi ptr [ %given{k}, %entry ], [ %row{k}.next, %end ]")
        self._say(
            "%n = phi i64 [ 0, %entry ], [ %n.next, %end ]",
            "%j = phi i64 [ 0, %entry ], [ %j.next, %end ]",
            "%flip = phi i1 [ false, %entry ], [ %flip.next, %end ]",
            "%failed = phi i64 [ 0, %entry ], [ %failed.next, %end ]",
            "%j.one = add i64 %j, 1",
            "%is_kept = icmp eq i64 %j.one, %inner",
            f"%between = select i1 %flip, ptr {self.spare[0]}, ptr {self.spare[1]}",
        )
        for i, first in zip(self.parts, accumulate((0, *steps.state)), strict=False):
            row = self.let(f"mul i64 %n, {size * steps.state[i]}")
            kept = self.let(f"getelementptr i8, ptr %out{i}, i64 {row}")
            other = self.address("%between", first)
            self._say(f"%next{i} = select i1 %is_kept, ptr {kept}, ptr {other}")
            self.places |= {("state", i): f"%state{i}", ("next", i): f"%next{i}"}
        for k in steps.rows:
            self._say(f"%row{k}.next = getelementptr i8, ptr %row{k}, i64 %row{k}.size")
            self.places["given", k] = f"%row{k}"
        self._hand_over({p for p in self.places if p[0] in ("state", "next")})
        self._hand_over({("given", k) for k in steps.rows})
        for i, (before, _) in steps.iterated.items():
            self._move(self.places["room", before], f"%state{i}", steps.state[i])
        self._say(
            "br label %again", "again:", "%turn = phi i64 [ 0, %step ], [ %turn.next, %again ]"
        )
        failed = "%failed"
        for c, call in enumerate(steps.calls):
            listed = f"ptr %ins{c}, ptr %outs{c}, ptr %work, ptr %tables"
            mask = self.let(f"call i64 @kernel{call.kernel}({listed})")
            failed = self.let(f"or i64 {failed}, {mask}")
        for i, (before, after) in steps.iterated.items():
            self._follow(self.places["room", before], self.places["room", after], steps.state[i])
        self._say("%turn.next = add i64 %turn, 1")
        bits = self._changed()
        some = self.let(f"icmp ne i64 {bits}, 0")
        early = self.let(f"icmp ult i64 %turn.next, {ITERATIONS}")
        self._say(
            f"%repeat = and i1 {some}, {early}",
            "br i1 %repeat, label %again, label %found",
            "found:",
        )
        for i, (before, _) in steps.iterated.items():
            self._move(f"%next{i}", self.places["room", before], steps.state[i])
        self._say(f"%failed.next = or i64 {failed}, {bits}")

    def _changed(self) -> str:
        """Lanes in which the iteration goes on, as bits."""
        if self.steps.change is None:
            return "0"
        number, lanes = self.width.number, self.width.lanes
        change = self.load("%work", self.work + self.steps.change)
        large = self.let(f"fcmp ogt {number} {change}, {self.width.constant(1.0)}")
        if lanes > 1:
            large = self.let(f"bitcast {self.width.truth} {large} to i{lanes}")
        return self.let(f"zext i{lanes} {large} to i64")

    def _follow(self, target: str, source: str, entries: int) -> None:
        assert self.steps.change is not None
        change = self.load("%work", self.work + self.steps.change)
        number = self.width.number
        self._say(
            f"call void @follow(ptr {target}, ptr {source}, i64 {entries}, {number} {change})"
        )

    def _move(self, target: str, source: str, entries: int) -> None:
        self._say(f"call void @copy(ptr {target}, ptr {source}, i64 {entries})")

    def _end(self) -> None:
        self._say(
            "br label %end",
            "end:",
            "%one = zext i1 %is_kept to i64",
            "%n.next = add i64 %n, %one",
            "%j.next = select i1 %is_kept, i64 0, i64 %j.one",
            "%flip.next = xor i1 %flip, true",
            "%more = icmp ult i64 %n.next, %kept",
            "br i1 %more, label %step, label %done",
            "done:",
            "ret i64 %failed.next",
        )


def _copies(width: Width) -> str:
    """Of entries from one place to another: of all lanes, or of those whose change is above 1."""
    number = width.number
    following = f"""
  %old = load {number}, ptr %target, align {width.bytes}
  %goes_on = fcmp ogt {number} %change, {width.constant(1.0)}
  %value = select {width.truth} %goes_on, {number} %x, {number} %old"""
    return _loop(width, "copy", "", "", "%x") + _loop(
        width, "follow", f", {number} %change", following, "%value"
    )


def _loop(width: Width, name: str, parameter: str, choose: str, value: str) -> str:
    return f"""
define internal void @{name}(ptr %to, ptr %from, i64 %n{parameter}) #0 {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %source = getelementptr {width.number}, ptr %from, i64 %i
  %target = getelementptr {width.number}, ptr %to, i64 %i
  %x = load {width.number}, ptr %source, align {width.bytes}{choose}
  store {width.number} {value}, ptr %target, align {width.bytes}
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}"""
