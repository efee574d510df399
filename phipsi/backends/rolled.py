"""From templates to LLVM IR: code that real loops run, for every machine.

    i64 template(ins, outs, work, row)

Each visit of a body is a row of a table: which code to run, then the operands of
its addresses, the parameters of the body, and the lists of columns or pairs that
are visited there. A kernel walks from row to row.

    row     code for lanes, code for one lane, length in bytes,
            operands, parameters, lengths of lists, entries of lists

All fields have 8 bytes, of which a float takes the first 4; operands count numbers
of one lane, so the same table serves every width.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain

from phipsi.backends import elementary
from phipsi.backends.write import NodeWriter, Width, declarations, fusible
from phipsi.graph.graph import Node
from phipsi.lowering.memory import is_fixed
from phipsi.lowering.templates import Address, Operand, Region, Template, is_of_entry, moves

HEAD = 3  # fields of a row before the operands


@dataclass
class ListFormat:
    """The fields of the entries of a list.

    Args:
        over: which list.
        operands: of each entry.
        has_ratio: whether a number follows them.
    """

    over: tuple
    operands: list[Operand] = field(default_factory=list)
    has_ratio: bool = False

    @property
    def fields(self) -> int:
        """Of one entry."""
        return len(self.operands) + self.has_ratio


@dataclass
class RowFormat:
    """The fields of the rows of one template.

    Args:
        operands: of the body.
        parameters: numbers that depend on the body alone.
        lists: in order.
    """

    operands: list[Operand] = field(default_factory=list)
    parameters: list[Node] = field(default_factory=list)
    lists: list[ListFormat] = field(default_factory=list)

    @property
    def fixed(self) -> int:
        """Fields before the entries of lists."""
        return HEAD + len(self.operands) + len(self.parameters) + len(self.lists)


class TemplateWriter(NodeWriter):
    """The code of one template.

    Args:
        template: what it does.
        inputs: the arguments, in order.
        name: of the function.
        width: of the numbers.
    """

    def __init__(self, template: Template, inputs: tuple[str, ...], name: str, width: Width):
        self.template, self.name = template, name
        self.inputs = {x: i for i, x in enumerate(inputs)}
        self.fixed: dict[Node, bool] = {}
        self.outer, self.inner = self._plan()
        values = chain.from_iterable(self._wanted(x) for x in template.regions)
        super().__init__(width, fusible([self.outer, *self.inner], values))
        self._absorbed = set(self.fused.values())
        self.format = RowFormat()
        self._pointers: dict[tuple, str] = {}
        self._list: ListFormat | None = None
        self._entry = ""  # pointer to the entry of a list
        self._shift = width.bytes.bit_length() - 1

    # -- what is computed where ------------------------------------------------------------------

    def _plan(self) -> tuple[list[Node], list[list[Node]]]:
        """Nodes of the body, and of each list what its entries need beside these."""
        graph = self.template.graph
        outer: dict[Node, None] = {}
        inner: list[list[Node]] = []
        moving: dict[Node, bool] = {}
        self._moving = moving  # whether a value belongs to the entry of a list
        for region in self.template.regions:
            own: list[Node] = []
            for node in graph.live(self._wanted(region)):
                if node.op == "constant" or is_fixed(node, self.fixed):
                    moving[node] = False
                    continue
                if node.op == "input":
                    moving[node] = moves(node)
                    continue
                moving[node] = any(moving[x] for x in node.args)
                if moving[node]:
                    own.append(node)
                else:
                    outer[node] = None
            if region.over is not None:
                inner.append(own)
        return sorted(outer, key=lambda x: x.number), inner

    @staticmethod
    def _wanted(region: Region) -> list[Node]:
        return [*(store.value for store in region.stores), *region.checks]

    def operations(self) -> list[Counter[str]]:
        """What is done in one row, and for each entry of each list."""
        counts = [Counter(x.op for x in nodes) for nodes in (self.outer, *self.inner)]
        regions = [x for x in self.template.regions if x.over is None][:1]
        loops = [x for x in self.template.regions if x.over is not None]
        for count, region in zip(
            counts[len(counts) - len(loops) - len(regions) :], [*regions, *loops], strict=True
        ):
            count["add"] += sum(store.adds for store in region.stores)
        return counts

    # -- writing -----------------------------------------------------------------------------------

    def write(self) -> str:
        """The whole function; it returns the lanes where a check fails."""
        regions = self.template.regions
        loops = [x for x in regions if x.over is not None]
        self._compute_all(self.outer)
        for region in regions:
            if region.over is None:
                self._finish(region)
        if loops:
            self.format.lists = [ListFormat(x.over or ()) for x in loops]
            self._loops(loops)
        failed = self.failed()
        text = "\n  ".join([*self.lines, f"ret i64 {failed}"])
        # Fields after the operands are known only now.
        start = HEAD + len(self.format.operands)
        for i in range(len(self.format.parameters)):
            text = text.replace(f"PARAMETER{i}.", str(8 * (start + i)))
        start += len(self.format.parameters)
        for i in range(len(loops)):
            text = text.replace(f"COUNT{i}.", str(8 * (start + i)))
        for i, entries in enumerate(self.format.lists):
            text = text.replace(f"RATIO{i}.", str(8 * len(entries.operands)))
            text = text.replace(f"SIZE{i}.", str(8 * entries.fields))
        text = text.replace("ENTRIES.", str(8 * self.format.fixed))
        parameters = "ptr %ins, ptr %outs, ptr %work, ptr %row"
        return f"define i64 @{self.name}({parameters}) #0 {{\nentry:\n  {text}\n}}"

    def _compute_all(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            if node.op != "less" and node not in self._absorbed:
                self.compute(node)

    def _finish(self, region: Region) -> None:
        """Checks, then stores."""
        for check in region.checks:
            self.check(check)
        values = [self.read(store.value) for store in region.stores]
        for store, value in zip(region.stores, values, strict=True):
            base, offset = self._pointer(store.address)
            if store.adds:
                so_far = self.load(base, offset)
                value = self.let(f"fadd {self.width.number} {so_far}, {value}")
            self.store(value, base, offset)

    def _loops(self, loops: list[Region]) -> None:
        """One loop over each list; entries follow one another in the row."""
        entries = self.let("getelementptr i8, ptr %row, i64 ENTRIES.")
        before = "entry"
        for i, region in enumerate(loops):
            assert not region.checks, "nothing is watched in columns"
            self._list = self.format.lists[i]
            where = self.let(f"getelementptr i8, ptr %row, i64 COUNT{i}.")
            count = self.let(f"load i64, ptr {where}")
            for x in chain.from_iterable(node.args for node in self.inner[i]):
                if not self._moving[x] and x.op != "less" and x not in self._absorbed:
                    self.read(x)
            self.lines.append(f"br label %head{i}")
            self.lines.append(f"head{i}:")
            self.lines.append(f"%at{i} = phi ptr [{entries}, %{before}], [%next{i}, %body{i}]")
            self.lines.append(f"%left{i} = phi i64 [{count}, %{before}], [%less{i}, %body{i}]")
            self.lines.append(f"%done{i} = icmp eq i64 %left{i}, 0")
            self.lines.append(f"br i1 %done{i}, label %end{i}, label %body{i}")
            self.lines.append(f"body{i}:")
            outside = dict(self.names), dict(self._pointers)
            self._entry = f"%at{i}"
            self._compute_all(self.inner[i])
            self._finish(region)
            self.names, self._pointers = outside
            self.lines.append(f"%next{i} = getelementptr i8, ptr %at{i}, i64 SIZE{i}.")
            self.lines.append(f"%less{i} = sub i64 %left{i}, 1")
            self.lines.append(f"br label %head{i}")
            self.lines.append(f"end{i}:")
            entries, before = f"%at{i}", f"end{i}"
        self._list = None

    # -- values ------------------------------------------------------------------------------------

    def fetch(self, node: Node) -> str:
        """From memory, or a number of the body or of an entry."""
        if node.op == "input" and node.data[0] == "load":
            return self.load(*self._pointer(node.data[1]))
        if node.op == "input" and node.data[0] == "ratio":
            assert self._list is not None
            self._list.has_ratio = True
            return self._spread(self._entry, f"RATIO{self.format.lists.index(self._list)}.")
        assert is_fixed(node, self.fixed), "every other node is computed"
        if node not in self.format.parameters:
            self.format.parameters.append(node)
        return self._spread("%row", f"PARAMETER{self.format.parameters.index(node)}.")

    def _spread(self, base: str, offset: str) -> str:
        """One number in all lanes."""
        where = self.let(f"getelementptr i8, ptr {base}, i64 {offset}")
        one = self.let(f"load {self.width.real.name}, ptr {where}")
        if self.width.lanes == 1:
            return one
        T = self.width.number
        first = self.let(f"insertelement {T} poison, {self.width.real.name} {one}, i64 0")
        zeros = f"<{self.width.lanes} x i32> zeroinitializer"
        return self.let(f"shufflevector {T} {first}, {T} poison, {zeros}")

    def _pointer(self, address: Address) -> tuple[str, int]:
        """Where an address is, its offset apart."""
        key = (
            address.area,
            address.operands,
            address.row_operands,
            address.row,
            address.stride,
        )
        if key not in self._pointers:
            self._pointers[key] = self._sum(address)
        return self._pointers[key], address.offset

    def _sum(self, address: Address) -> str:
        base = self._area(address.area)
        terms = [self._operand(x) for x in address.operands]
        if address.stride is not None:
            row = self._added([self._operand(x) for x in address.row_operands], address.row)
            stride = self._operand(address.stride)
            terms.append(self.let(f"mul i64 {row}, {stride}"))
        if not terms:
            return base
        index = self._added(terms, 0)
        bytes_ = self.let(f"shl i64 {index}, {self._shift}")
        return self.let(f"getelementptr i8, ptr {base}, i64 {bytes_}")

    def _added(self, terms: list[str], offset: int) -> str:
        total = str(offset)
        for term in terms:
            total = term if total == "0" else self.let(f"add i64 {total}, {term}")
        return total

    def _area(self, area: tuple) -> str:
        if area[0] == "work":
            return "%work"
        if (area,) not in self._pointers:
            array, index = (
                ("%outs", area[1]) if area[0] == "out" else ("%ins", self.inputs[area[1]])
            )
            where = self.let(f"getelementptr ptr, ptr {array}, i64 {index}")
            self._pointers[area,] = self.let(f"load ptr, ptr {where}")
        return self._pointers[area,]

    def _operand(self, operand: Operand) -> str:
        key = ("operand", operand)
        if key not in self._pointers:
            if is_of_entry(operand):
                assert self._list is not None, f"{operand} outside of a list"
                if operand not in self._list.operands:
                    self._list.operands.append(operand)
                base, offset = self._entry, 8 * self._list.operands.index(operand)
            else:
                if operand not in self.format.operands:
                    self.format.operands.append(operand)
                base, offset = "%row", 8 * (HEAD + self.format.operands.index(operand))
            where = self.let(f"getelementptr i8, ptr {base}, i64 {offset}")
            self._pointers[key] = self.let(f"load i64, ptr {where}")
        return self._pointers[key]


def write_module(writers: list[TemplateWriter]) -> str:
    """A module of several templates of one width."""
    width = writers[0].width
    texts = [writer.write() for writer in writers]
    needed = sorted({name for writer in writers for name in writer.called})
    texts.append(elementary.source(width.lanes, needed, width.real.name))
    return "\n".join([*texts, *declarations(texts, width), width.attributes])


def write_walk(width: Width, code: int) -> str:
    """The kernel that goes from row to row, and the code of rows that fill with zeros.

    A row that fills has the fields: which area (-1 for the workspace, else the number of
    an output), where it starts, how many numbers.

    Args:
        width: of the numbers.
        code: which field of a row tells its code, 0 or 1.
    """
    T, size = width.number, width.bytes
    zero = "0.0" if width.lanes == 1 else "zeroinitializer"
    return f"""
define i64 @kernel(ptr %ins, ptr %outs, ptr %work, ptr %tables) #0 {{
entry:
  %length = load i64, ptr %tables
  %first = getelementptr i8, ptr %tables, i64 8
  %end = getelementptr i8, ptr %first, i64 %length
  br label %head
head:
  %row = phi ptr [%first, %entry], [%next, %body]
  %failed = phi i64 [0, %entry], [%sum, %body]
  %done = icmp eq ptr %row, %end
  br i1 %done, label %out, label %body
body:
  %at = getelementptr i8, ptr %row, i64 {8 * code}
  %code = load ptr, ptr %at
  %bad = call i64 %code(ptr %ins, ptr %outs, ptr %work, ptr %row)
  %sum = or i64 %failed, %bad
  %by = getelementptr i8, ptr %row, i64 16
  %bytes = load i64, ptr %by
  %next = getelementptr i8, ptr %row, i64 %bytes
  br label %head
out:
  ret i64 %failed
}}
define i64 @zero(ptr %ins, ptr %outs, ptr %work, ptr %row) #0 {{
entry:
  %a = getelementptr i8, ptr %row, i64 24
  %area = load i64, ptr %a
  %b = getelementptr i8, ptr %row, i64 32
  %start = load i64, ptr %b
  %c = getelementptr i8, ptr %row, i64 40
  %count = load i64, ptr %c
  %inner = icmp slt i64 %area, 0
  %o = select i1 %inner, i64 0, i64 %area
  %p = getelementptr ptr, ptr %outs, i64 %o
  %q = load ptr, ptr %p
  %base = select i1 %inner, ptr %work, ptr %q
  %s = mul i64 %start, {size}
  %from = getelementptr i8, ptr %base, i64 %s
  br label %head
head:
  %i = phi i64 [0, %entry], [%j, %body]
  %done = icmp eq i64 %i, %count
  br i1 %done, label %out, label %body
body:
  %k = mul i64 %i, {size}
  %at = getelementptr i8, ptr %from, i64 %k
  store {T} {zero}, ptr %at, align {size}
  %j = add i64 %i, 1
  br label %head
out:
  ret i64 0
}}
"""
