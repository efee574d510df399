"""From a graph to the LLVM IR of a kernel: the code of one tile.

    i64 kernel(ins, outs, work, tables)

A tile holds W states side by side, entry e of lane l at `e W + l`. The graph is
cut into internal functions of bounded length, since the time to generate code
grows faster than the length of a function.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import chain, groupby
from typing import Any

from phipsi.backends import elementary
from phipsi.backends.partition import Partition, Task
from phipsi.backends.write import NodeWriter, Width, declarations
from phipsi.graph.graph import Node

FEW_ZEROS = 100  # stores of zeros in one function: LLVM tries to join each with all others
PART = 2_000  # nodes of one internal function: longer ones gain nothing and compile slowly

# A value that lies in memory and was last read so many lines ago is fetched again. A register that
# is held longer is spilled, and a spill is a store besides: of the inverse of Talos' mass matrix,
# eight lanes, a third of the spills and a tenth of the time go. 60 and 240 lines gain less.
RECENT = 120


@dataclass(frozen=True)
class Kernel:
    """The IR of a kernel.

    Args:
        text: a whole module.
        work: how many numbers per lane the workspace takes.
        parts: how many internal functions there are.
    """

    text: str
    work: int
    parts: int

    @property
    def in_order(self) -> bool:
        """Whether the order of the text beats LLVM's.

        Statements keep what they make near to where it is used. LLVM hides latencies instead,
        which several parts of independent arithmetic have no need of, and pays with registers:
        the inverse of Talos' mass matrix, eight lanes, had 5,400 spills instead of 2,800 and took
        1.2 times as long. Of one part, robots of seven joints, its schedule is as good.
        """
        return self.parts > 1


@dataclass(frozen=True)
class Functions:
    """The IR of a task, as functions of a module that may have others.

    Args:
        texts: of the functions; the one that calls the others comes last.
        called: functions of `elementary` that they call.
        work: how many numbers per lane the workspace takes.
        parts: how many of them are parts of the graph.
    """

    texts: tuple[str, ...]
    called: frozenset[str]
    work: int
    parts: int


class PartWriter(NodeWriter):
    """The text of one internal function."""

    def __init__(self, partition: Partition, number: int, width: Width, name: str):
        super().__init__(width, partition.fused)
        self.partition, self.number, self.name = partition, number, name
        self.inputs = {name: f"%in{i}" for i, name in enumerate(partition.task.inputs)}
        self.sines: dict[tuple[str, Node], str] = {}  # taken in this part, and cosines
        self.used: dict[Node, int] = {}  # the line at which a value was made or read last

    def write(self, wanted: dict[Node, list[tuple[int, int]]], checks: set[Node]) -> str:
        """The whole function; it returns the lanes where a check fails.

        Args:
            wanted: which entries of which outputs a value is.
            checks: what must be true.
        """
        part = self.partition.parts[self.number]
        for i, node in enumerate(part):
            if i == self.partition.inline:
                self._take_sines()
            if node.op == "less":
                if node in checks:
                    self.check(node)
            elif not self.partition.is_absorbed(node):
                value = self.compute(node)
                for output, entry in wanted.get(node, ()):
                    self.store(value, f"%out{output}", entry)
                if node in self.partition.place:
                    self.store(value, "%work", self.partition.place[node])
        if self.partition.inline == len(part):
            self._take_sines()
        elif self.partition.inline is None and self.number == 0:
            for node, i in self.partition.angles.items():
                self.store(self.read(node), "%work", i)
        if self.number == len(self.partition.parts) - 1:
            self._store_others(wanted)
        failed = self.failed()
        body = "\n  ".join([*self.lines, f"ret i64 {failed}"])
        parameters = ", ".join(f"ptr noalias {x}" for x in pointers(self.partition.task))
        head = f"define internal i64 @{self.name}.part{self.number}({parameters}) #0"
        return f"{head} {{\nentry:\n  {body}\n}}"

    def _take_sines(self) -> None:
        """Sines and cosines of all angles, in registers."""
        angles = self.partition.angles
        if angles:
            names = [self.read(x) for x in angles]
            lines, *values = elementary.inline_sincos(
                self.width.lanes, names, "%work", self.width.real.name
            )
            self.lines += lines
            for op, several in zip(("sin", "cos"), values, strict=True):
                self.sines |= {(op, x): y for x, y in zip(angles, several, strict=True)}

    def _store_others(self, wanted: dict[Node, list[tuple[int, int]]]) -> None:
        """The outputs that no part makes: inputs, numbers, sines of the loop; zeros are filled."""
        made = set(chain.from_iterable(self.partition.parts))
        for node, places in wanted.items():
            if node not in made and node is not self.partition.task.graph.zero:
                for output, entry in places:
                    self.store(self.read(node), f"%out{output}", entry)

    def read(self, node: Node) -> str:
        """The name of a value; one in memory that was not read of late is fetched again."""
        age = len(self.lines) - self.used.get(node, 0)
        if age > RECENT and node in self.names and self._is_in_memory(node):
            del self.names[node]
        name = super().read(node)
        self.used[node] = len(self.lines)
        return name

    def compute(self, node: Node) -> str:
        """The instruction of a node."""
        name = super().compute(node)
        self.used[node] = len(self.lines)
        return name

    def _is_in_memory(self, node: Node) -> bool:
        """Whether `fetch` finds a value although this part has it in a register."""
        if (node.op, *node.args) in self.sines:
            return False
        return node.op == "input" or self.partition.is_looped(node) or node in self.partition.place

    def fetch(self, node: Node) -> str:
        """From an input, from the loop of sines and cosines, or from another part."""
        if node.op == "input":
            argument, entry = node.data
            return self.load(self.inputs[argument], entry)
        if (node.op, *node.args) in self.sines:
            return self.sines[node.op, node.args[0]]
        if self.partition.is_looped(node):
            angles = self.partition.angles
            which = 1 if node.op == "sin" else 2
            return self.load("%work", angles[node.args[0]] + len(angles) * which)
        return self.load("%work", self.partition.place[node])


# -- the whole kernel --------------------------------------------------------------------------


@singledispatch
def write_kernel(task: Any, lanes: int, limit: int = PART, real: str = "double") -> Kernel:
    """The IR of what is to be computed: of a task, or of steps (`phipsi.backends.sequence`).

    Args:
        task: what to compute.
        lanes: states side by side, a power of 2 up to 8, of floats up to 16.
        limit: nodes of one internal function.
        real: what numbers are, "double" or "float".

    Raises:
        BackendError: if a constant is too large for a float.
    """
    raise TypeError(f"no kernel is written of a {type(task).__name__}")


@write_kernel.register
def _(task: Task, lanes: int, limit: int = PART, real: str = "double") -> Kernel:
    width = Width(lanes, real)
    functions = write_functions(task, width, limit)
    return Kernel(write_module([functions], width), functions.work, functions.parts)


def write_functions(
    task: Task, width: Width, limit: int = PART, name: str = "kernel", internal: bool = False
) -> Functions:
    """The functions of a task; the one that calls the others has this name.

    Args:
        task: what to compute.
        width: of its numbers.
        limit: nodes of one function.
        name: of the kernel, by which the module calls it.
        internal: whether nobody else does.
    """
    partition = Partition(task, limit)
    wanted: dict[Node, list[tuple[int, int]]] = {}
    for o, entries in enumerate(task.outputs):
        for e, node in enumerate(entries):
            wanted.setdefault(node, []).append((o, e))
    writers = [PartWriter(partition, i, width, name) for i in range(len(partition.parts))]
    texts = [writer.write(wanted, set(task.checks)) for writer in writers]
    called = {name for writer in writers for name in writer.called}
    if partition.angles:
        called.add("sincos_array" if partition.inline is None else "sincos_large")
    head = f"define {'internal ' * internal}i64 @{name}"
    texts += _main(partition, width, name, head)
    return Functions(tuple(texts), frozenset(called), partition.work, len(partition.parts))


def write_module(functions: Sequence[Functions], width: Width, others: Sequence[str] = ()) -> str:
    """A whole module: functions of tasks, others that call them, and what all of these need."""
    texts = [text for one in functions for text in one.texts]
    texts += others
    if any("call void @fill(" in text for text in texts):
        texts.append(_fill(width))
    called = {name for one in functions for name in one.called}
    texts.append(elementary.source(width.lanes, sorted(called), width.real.name))
    return "\n".join([*texts, *declarations(texts, width), width.attributes])


def pointers(task: Task) -> list[str]:
    """The names of all tiles and of the workspace."""
    ins = [f"%in{i}" for i in range(len(task.inputs))]
    return [*ins, *(f"%out{i}" for i in range(len(task.outputs))), "%work"]


def _main(partition: Partition, width: Width, name: str, head: str) -> list[str]:
    """The function that calls the parts, the loop of sines and cosines after the first, and those
    that fill stretches of zeros, which come before it."""
    lines: list[str] = []
    task = partition.task
    for array, count in (("in", len(task.inputs)), ("out", len(task.outputs))):
        for i in range(count):
            lines.append(f"%{array}.at{i} = getelementptr ptr, ptr %{array}s, i64 {i}")
            lines.append(f"%{array}{i} = load ptr, ptr %{array}.at{i}")
    listed = ", ".join(f"ptr {x}" for x in pointers(task))
    failed = "0"
    for i in range(len(partition.parts)):
        lines.append(f"%f{i} = call i64 @{name}.part{i}({listed})")
        lines.append(f"%g{i} = or i64 {failed}, %f{i}")
        failed = f"%g{i}"
        if i == 0 and partition.angles and partition.inline is None:
            n = len(partition.angles)
            for j in (1, 2):
                at = width.bytes * n * j
                lines.append(f"%angles{j} = getelementptr i8, ptr %work, i64 {at}")
            lines.append(f"call void @sincos_array(ptr %work, ptr %angles1, ptr %angles2, i64 {n})")
    zeros = [
        line
        for o, entries in enumerate(task.outputs)
        for stretch in _stretches(entries, task.graph.zero)
        for line in _zeros(o, *stretch, width)
    ]
    texts = []
    if len(zeros) <= FEW_ZEROS:
        lines += zeros
    else:
        for i, first in enumerate(range(0, len(zeros), FEW_ZEROS)):
            body = "\n  ".join([*zeros[first : first + FEW_ZEROS], "ret void"])
            texts.append(f"define internal void @{name}.zeros{i}({listed}) #0 {{\n  {body}\n}}")
            lines.append(f"call void @{name}.zeros{i}({listed})")
    body = "\n  ".join([*lines, f"ret i64 {failed}"])
    return [*texts, f"{head}(ptr %ins, ptr %outs, ptr %work, ptr %tables) #0 {{\n  {body}\n}}"]


def _zeros(output: int, start: int, stop: int, width: Width) -> Iterator[str]:
    """Zeros into a stretch of an output: of one lane, as many at a time as a register holds."""
    if width.lanes > 1:
        yield f"call void @fill(ptr %out{output}, i64 {start}, i64 {stop})"
        return
    while start < stop:
        n = min(1 << (stop - start).bit_length() - 1, 8)
        kind = f"<{n} x {width.number}>" if n > 1 else width.number
        at = f"%zeros{output}.{start}"
        yield (
            f"{at} = getelementptr {width.number}, ptr %out{output}, i64 {start}\n  "
            f"store {kind} {'zeroinitializer' if n > 1 else '0.0'}, ptr {at}, align {width.bytes}"
        )
        start += n


def _stretches(entries: Sequence[Node], zero: Node) -> Iterator[tuple[int, int]]:
    """Where entries are zero: from, and up to but without."""
    for is_zero, group in groupby(enumerate(entries), key=lambda x: x[1] is zero):
        if is_zero:
            found = [e for e, _ in group]
            yield found[0], found[-1] + 1


def _fill(width: Width) -> str:
    """Zeros into the entries from start to stop of a tile."""
    return f"""
define internal void @fill(ptr %tile, i64 %start, i64 %stop) #0 {{
entry:
  br label %loop
loop:
  %i = phi i64 [%start, %entry], [%next, %loop]
  %at = getelementptr {width.number}, ptr %tile, i64 %i
  store {width.number} {width.constant(0.0)}, ptr %at, align {width.bytes}
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %stop
  br i1 %more, label %loop, label %end
end:
  ret void
}}"""
