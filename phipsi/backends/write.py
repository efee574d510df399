"""Nodes of a graph as LLVM IR, one instruction after the other.

A product that one sum takes is fused with it (`fmuladd`: one rounding where the
machine can fuse), the same at every width, so that every width gives the same
bits on one machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

from phipsi.backends.real import REALS
from phipsi.graph.graph import Node

CALLED = {"sin": "sincos", "cos": "sincos"}  # of `elementary`; others by their own names
INTRINSIC = {"sqrt": "sqrt", "abs": "fabs", "min": "minimum", "max": "maximum"}
INFIX = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}


class Width:
    """How numbers are written for a number of lanes.

    Args:
        lanes: numbers side by side.
        real: what numbers are, "double" or "float".
    """

    def __init__(self, lanes: int, real: str = "double"):
        self.lanes, self.real = lanes, REALS[real]
        self.number = real if lanes == 1 else f"<{lanes} x {real}>"
        self.truth = "i1" if lanes == 1 else f"<{lanes} x i1>"
        self.suffix = self.real.suffix if lanes == 1 else f"v{lanes}{self.real.suffix}"
        self.bytes = self.real.bytes * lanes

    @property
    def attributes(self) -> str:
        """Of functions, as #0: whole registers, and room on the stack where none is split.

        Registers that spill across cache lines cost a tenth of the speed.
        """
        aligned = f"alignstack={self.bytes} " if self.bytes > 16 else ""
        legal = '"prefer-vector-width"="512" "min-legal-vector-width"="512" "no-builtins"'
        return f"attributes #0 = {{ {aligned}noinline nounwind {legal} }}"

    def constant(self, value: float) -> str:
        """A number, the same in all lanes."""
        bits = self.real.literal(value)
        return bits if self.lanes == 1 else f"splat ({self.real.name} {bits})"


class Writer:
    """Instructions of one function, one after the other."""

    def __init__(self, width: Width):
        self.width = width
        self.lines: list[str] = []

    def let(self, what: str) -> str:
        """A new name for the value of an instruction."""
        name = f"%t{len(self.lines)}"
        self.lines.append(f"{name} = {what}")
        return name

    def address(self, base: str, entry: int) -> str:
        """Of an entry of a tile."""
        return self.let(f"getelementptr i8, ptr {base}, i64 {self.width.bytes * entry}")

    def load(self, base: str, entry: int) -> str:
        """An entry of a tile."""
        where = self.address(base, entry)
        return self.let(f"load {self.width.number}, ptr {where}, align {self.width.bytes}")

    def store(self, value: str, base: str, entry: int) -> None:
        """Into an entry of a tile."""
        where = self.address(base, entry)
        self.lines.append(
            f"store {self.width.number} {value}, ptr {where}, align {self.width.bytes}"
        )


class NodeWriter(Writer, ABC):
    """Values of nodes.

    Args:
        width: of the numbers.
        fused: for sums, the product that is computed with them.

    Attributes:
        called: functions of `elementary` that are needed.
    """

    def __init__(self, width: Width, fused: dict[Node, Node]):
        super().__init__(width)
        self.fused = fused
        self.called: set[str] = set()
        self.names: dict[Node, str] = {}
        self._good: str | None = None  # the checks so far

    @abstractmethod
    def fetch(self, node: Node) -> str:
        """A value that was made elsewhere."""

    def read(self, node: Node) -> str:
        """The name of a value; it is fetched when it is first read."""
        if node.op == "constant":
            return self.width.constant(node.data)
        if node.op == "less":
            return self.condition(node)
        name = self.names.get(node)
        if name is None:
            name = self.names[node] = self.fetch(node)
        return name

    def compute(self, node: Node) -> str:
        """The instruction of a node."""
        self.names[node] = name = self._compute(node)
        return name

    def _compute(self, node: Node) -> str:
        product = self.fused.get(node)
        if product is not None:
            return self._fused(node, product)
        op, T = node.op, self.width.number
        if op == "where":
            condition = self.condition(node.args[0])
            x, y = (self.read(x) for x in node.args[1:])
            return self.let(f"select {self.width.truth} {condition}, {T} {x}, {T} {y}")
        operands = [self.read(x) for x in node.args]
        if op in INFIX:
            return self.let(f"{INFIX[op]} {T} {', '.join(operands)}")
        if op == "neg":
            return self.let(f"fneg {T} {operands[0]}")
        listed = ", ".join(f"{T} {x}" for x in operands)
        if op in INTRINSIC:
            return self.let(f"call {T} @llvm.{INTRINSIC[op]}.{self.width.suffix}({listed})")
        name = CALLED.get(op, op)
        self.called.add(name)
        if name != "sincos":
            return self.let(f"call {T} @{name}({listed})")
        both = self.let(f"call {{{T}, {T}}} @sincos({listed})")
        return self.let(f"extractvalue {{{T}, {T}}} {both}, {int(op == 'cos')}")

    def _fused(self, node: Node, product: Node) -> str:
        """x y + z, x y - z or z - x y, with one rounding where the machine can."""
        T = self.width.number
        x, y = (self.read(a) for a in product.args)
        first = node.args[0] is product
        z = self.read(node.args[1 if first else 0])
        if node.op == "sub" and first:
            z = self.let(f"fneg {T} {z}")
        elif node.op == "sub":
            x = self.let(f"fneg {T} {x}")
        listed = ", ".join(f"{T} {a}" for a in (x, y, z))
        return self.let(f"call {T} @llvm.fmuladd.{self.width.suffix}({listed})")

    def condition(self, node: Node) -> str:
        """Whether one value is less than another; made where it is used."""
        if node not in self.names:
            x, y = (self.read(a) for a in node.args)
            self.names[node] = self.let(f"fcmp olt {self.width.number} {x}, {y}")
        return self.names[node]

    def check(self, node: Node) -> None:
        """A condition that must hold."""
        condition = self.condition(node)
        both = f"and {self.width.truth} {self._good}, {condition}"
        self._good = condition if self._good is None else self.let(both)

    def failed(self) -> str:
        """The lanes where a check failed, as bits."""
        lanes, bits = self.width.lanes, self._good
        if bits is None:
            return "0"
        if lanes > 1:
            bits = self.let(f"bitcast {self.width.truth} {bits} to i{lanes}")
        return self.let(f"zext i{lanes} {self.let(f'xor i{lanes} {bits}, -1')} to i64")


def fusible(parts: Iterable[Sequence[Node]], others: Iterable[Node]) -> dict[Node, Node]:
    """For sums, a product that nothing else takes, made in the same part: the later of two.

    Args:
        parts: nodes that are computed together.
        others: what is read beside.
    """
    parts = list(parts)
    uses = Counter(chain.from_iterable(node.args for node in chain.from_iterable(parts)))
    uses.update(others)
    fused: dict[Node, Node] = {}
    for part in parts:
        members = set(part)
        for node in part:
            if node.op in ("add", "sub"):
                own = (x for x in node.args if x.op == "mul" and uses[x] == 1 and x in members)
                late = max(own, key=lambda x: x.number, default=None)
                if late is not None:
                    fused[node] = late
    return fused


def declarations(texts: Sequence[str], width: Width) -> list[str]:
    """Of the intrinsics that are used and that no text declares."""
    T, suffix = width.number, width.suffix
    known = {f"llvm.{x}.{suffix}": 1 for x in ("sqrt", "fabs")}
    known |= {f"llvm.{x}.{suffix}": 2 for x in ("minimum", "maximum")}
    known[f"llvm.fmuladd.{suffix}"] = 3
    lines = []
    for name, arity in known.items():
        used = any(f"@{name}(" in text for text in texts)
        if used and not any(f"declare {T} @{name}(" in text for text in texts):
            lines.append(f"declare {T} @{name}({', '.join([T] * arity)})")
    return lines
