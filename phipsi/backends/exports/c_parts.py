"""A graph as C functions of bounded length, for one state and for several side by side.

A part is written once, as a loop over n states whose entry e of state l lies at
`e n + l`, and is made twice by inlining: with n = 1 the loop is gone, with n = LANES
the compiler makes vector code of it. Cuts, fused products and the order of operations
are those of machine code, see `partition`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, groupby

from phipsi.backends.exports.c_library import number
from phipsi.backends.partition import Partition
from phipsi.graph.graph import Node

SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
FUNCTIONS = {"sqrt": "sqrt", "abs": "fabs", "exp": "exp", "arctan": "atan", "arctan2": "atan2"}
ONE, MANY = "one", "many"  # state or states: the two that are made of each part
FAILED = 2  # the bit that a check leaves behind


class Parts:
    """The parts of a function, as text.

    Args:
        partition: what each computes.
        name: of the function.
        inputs: the names of its arguments in C, by their names here.
        outputs: the names of its results in C.
    """

    def __init__(
        self, partition: Partition, name: str, inputs: dict[str, str], outputs: Sequence[str]
    ):
        self.partition, self.name = partition, name
        self.inputs, self.outputs = inputs, tuple(outputs)
        self.wanted: dict[Node, list[str]] = {}  # where a value goes
        for output, entries in zip(self.outputs, partition.task.outputs, strict=True):
            for e, node in enumerate(entries):
                self.wanted.setdefault(node, []).append(at(output, e))
        self.checks = set(partition.task.checks)
        first, *rest = partition.parts
        cut = partition.inline
        self.stages = [first, *rest] if cut is None else [first[:cut], first[cut:]]

    @property
    def parameters(self) -> str:
        """Of a part: tiles, workspace, and what takes note of failures."""
        restrict = f"{self.name.upper()}_RESTRICT"
        arrays = [
            *(f"const double *{restrict} {x}" for x in self.inputs.values()),
            *(f"double *{restrict} {x}" for x in (*self.outputs, "work")),
            f"int64_t *{restrict} bad",
        ]
        return ",\n    ".join(arrays)

    @property
    def arguments(self) -> str:
        """That a part is called with."""
        return ", ".join([*self.inputs.values(), *self.outputs, "work", "bad"])

    def text(self) -> str:
        """All parts, and what runs them on one state and on many."""
        name, NAME = self.name, self.name.upper()
        texts = [self._part(i) for i in range(len(self.stages))]
        few = len(self.stages) == 2  # then all is inlined into what calls it
        for kind, n in ((ONE, "1"), (MANY, f"{NAME}_LANES")):
            lines = []
            for i in range(len(self.stages)):
                call = f"{name}_part{i}({n}, {self.arguments});"
                if i and not few:
                    texts.append(self._function("PART", f"part{i}_{kind}", [call]))
                    call = f"{name}_part{i}_{kind}({self.arguments});"
                lines.append(call)
                if i == 0 and self.partition.angles:
                    count = len(self.partition.angles)
                    arrays = f"work, work + {count} * {n}, work + {2 * count} * {n}"
                    lines.append(f"{name}_sincos({count} * {n}, {arrays});")
            if kind == ONE:
                for output in self.outputs:
                    lines += self._rows(output, ONE)
            texts.append(self._function("PART", kind, lines))
        restrict = f"{NAME}_RESTRICT"
        for x in self.outputs:
            arrays = f"const double *{restrict} tile, double *{restrict} {x}"
            body = "\n    ".join(["(void)tile;", *self._rows(x, MANY)])
            texts.append(f"\n{NAME}_PART void {name}_rows_{x}({arrays})\n{{\n    {body}\n}}")
        return "\n".join(texts)

    def _rows(self, output: str, kind: str) -> list[str]:
        """What is left to do once the parts have run: zeros, and tiles into rows."""
        task, size = self.partition.task, f"{self.name.upper()}_SIZE_{output.upper()}"
        n = "1" if kind == ONE else f"{self.name.upper()}_LANES"
        entries = enumerate(task.outputs[self.outputs.index(output)])
        lines = []
        for is_zero, group in groupby(entries, lambda x: x[1] is task.graph.zero):
            found = [e for e, _ in group]
            where = f"{size}, {found[0]}, {found[-1] + 1}"
            if is_zero:
                lines.append(f"{self.name}_zero({n}, {where}, {output});")
            elif kind == MANY:
                lines.append(f"{self.name}_unpack({where}, tile, {output});")
        return lines

    def _part(self, i: int) -> str:
        body = [f"    {line}" for line in _Writer(self, i).lines]
        unused = [f"(void){x};" for x in self.arguments.split(", ")]
        loop = ["size_t l;", *unused, "for (l = 0; l < n; ++l) {", *body, "}"]
        return self._function("INLINE", f"part{i}", loop if body else ["(void)n;", *unused], "n")

    def _function(self, kind: str, name: str, lines: Sequence[str], n: str = "") -> str:
        head = f"{self.name.upper()}_{kind} void {self.name}_{name}("
        count = "const size_t n,\n    " if n else ""
        body = "\n".join(f"    {line}" for line in lines)
        return f"\n{head}{count}{self.parameters})\n{{\n{body}\n}}"


class _Writer:
    """The statements of one part at one state."""

    def __init__(self, parts: Parts, number: int):
        self.parts, self.partition = parts, parts.partition
        self.lines: list[str] = []
        self.known: set[Node] = set()
        last = len(parts.stages) - 1
        for node in parts.stages[number]:
            if node.op == "less":
                if node in parts.checks:
                    self._check(node)
            elif not self.partition.is_absorbed(node):
                self._make(node)
        if number == 0:
            for node, i in self.partition.angles.items():
                self.lines.append(f"{at('work', i)} = {self.read(node)};")
        if number == last:
            self._store_others()

    def _make(self, node: Node) -> None:
        """A value, and where it goes."""
        self._let(node)
        for place in self.parts.wanted.get(node, ()):
            self.lines.append(f"{place} = {_name(node)};")
        if node in self.partition.place:
            self.lines.append(f"{at('work', self.partition.place[node])} = {_name(node)};")

    def _let(self, node: Node) -> None:
        text = self._text(node)
        self.known.add(node)
        self.lines.append(f"const double {_name(node)} = {text};")

    def read(self, node: Node) -> str:
        """A value: a number, or a name that it is fetched under where it is first read."""
        if node.op == "constant":
            return number(node.data) if node.data >= 0.0 else f"({number(node.data)})"
        if node not in self.known:
            self._fetch(node)
        return _name(node)

    def _fetch(self, node: Node) -> None:
        """From an input, a sine, another part; what leads to few angles is computed again."""
        angles = self.partition.angles
        if node.op == "input":
            argument, entry = node.data
            where = at(self.parts.inputs[argument], entry)
        elif self.partition.is_looped(node):
            which = 1 if node.op == "sin" else 2
            where = at("work", angles[node.args[0]] + which * len(angles))
        elif node in self.partition.place:
            where = at("work", self.partition.place[node])
        else:
            self._let(node)
            return
        self.known.add(node)
        self.lines.append(f"const double {_name(node)} = {where};")

    def _text(self, node: Node) -> str:
        """The operation of a node."""
        product = self.partition.fused.get(node)
        if product is not None:
            return self._fused(node, product)
        if node.op == "where":
            x, y = (self.read(x) for x in node.args[1:])
            return f"{self._condition(node.args[0])} ? {x} : {y}"
        operands = [self.read(x) for x in node.args]
        if node.op in SIGNS:
            return f" {SIGNS[node.op]} ".join(operands)
        if node.op == "neg":
            return f"-{operands[0]}"
        name = FUNCTIONS.get(node.op)
        if node.op in ("sin", "cos"):  # of an angle that depends on other sines
            name = node.op
        return f"{name or f'{self.parts.name}_{node.op}'}({', '.join(operands)})"

    def _fused(self, node: Node, product: Node) -> str:
        """x y + z, x y - z or z - x y, with one rounding where the machine can."""
        x, y = (self.read(a) for a in product.args)
        first = node.args[0] is product
        z = self.read(node.args[1 if first else 0])
        if node.op == "sub":
            x, z = (x, f"-{z}") if first else (f"-{x}", z)
        return f"{self.parts.name.upper()}_FUSED({x}, {y}, {z})"

    def _condition(self, node: Node) -> str:
        x, y = (self.read(a) for a in node.args)
        return f"{x} < {y}"

    def _check(self, node: Node) -> None:
        self.lines.append(f"bad[l] |= {self._condition(node)} ? 0 : {FAILED};")

    def _store_others(self) -> None:
        """The outputs that no part makes: inputs, numbers, sines; zeros are filled."""
        made = set(chain.from_iterable(self.partition.parts))
        for node, places in self.parts.wanted.items():
            if node not in made and node is not self.partition.task.graph.zero:
                value = self.read(node)
                self.lines += [f"{place} = {value};" for place in places]


def at(array: str, entry: int) -> str:
    """An entry of a tile, of state l."""
    return f"{array}[{entry} * n + l]"


def _name(node: Node) -> str:
    assert node.op not in ("constant", "less"), "has no name"
    return f"x{node.number}"
