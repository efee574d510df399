"""A scalar that records what is done to it: nodes of one graph, each made once.

Code over any scalar, run on the inputs of a graph, builds the graph of its
results. Equal operations on equal operands are one node (hash-consing), so
common subexpressions are found as they appear. What constants decide is decided
at once:

    x + 0 = x   x - x = 0   x * 0 = 0   x * 1 = x   x / 1 = x   f(c) = number
    -(-x) = x   (-x) y = -(x y)   x + (-y) = x - y   sin(-x) = -sin x   cos(-x) = cos x

Signs travel outward, where the sum that takes a product absorbs them. Nothing is
reassociated: the graph rounds as the code did, except where a sign moved, which
is exact. Two things are not followed. Numbers that are not finite: x * 0, 0 / x
and x - x are zero for any x, so what watches inputs must say that they are
finite. And the sign of zero, which only arctan2 sees: on its cut, y = 0 and
x <= 0, it may take the value of either side.

>>> graph = Graph()
>>> x, y = graph.input("x"), graph.input("y")
>>> (x * y + 1.0) is (1.0 + y * x)
True
>>> print((x - y) * (y - x))
-((x - y) * (x - y))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from phipsi import scalars
from phipsi.scalars import Scalar

COMMUTATIVE = frozenset(("add", "mul", "min", "max"))
FLOPS = frozenset(("add", "sub", "mul", "div", "sqrt"))
ROUNDED = FLOPS | {"sin", "cos", "exp", "arctan", "arctan2"}  # what is not exact
MEANING: dict[str, Callable] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "sin": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "arctan": np.arctan,
    "arctan2": np.arctan2,
    "abs": np.abs,
    "min": np.minimum,
    "max": np.maximum,
    "less": np.less,
    "where": np.where,
}
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "less": "<"}


class GraphTooLargeError(Exception):
    """More nodes than the graph may have; who set the limit catches this."""


class Node:
    """A number of a graph: an input, a constant, or an operation on other nodes.

    Attributes:
        graph: where it belongs.
        op: what it does: "input", "constant", or a name of `MEANING`.
        args: the operands.
        data: the key of an input, the value of a constant.
        number: place in the order in which nodes were made; operands come first.
    """

    __slots__ = ("args", "data", "graph", "number", "op")
    __array_ufunc__ = None  # an array on the left hands the operation to us

    def __init__(self, graph: Graph, op: str, args: tuple[Node, ...], data: Any, number: int):
        self.graph, self.op, self.args, self.data, self.number = graph, op, args, data, number

    def __add__(self, other: Scalar) -> Scalar:
        if type(other) is not Node or other.graph is not self.graph:
            other = self.graph.lift(other)
            if other is None:
                return NotImplemented
        return self.graph.add(self, other)

    def __sub__(self, other: Scalar) -> Scalar:
        if type(other) is not Node or other.graph is not self.graph:
            other = self.graph.lift(other)
            if other is None:
                return NotImplemented
        return self.graph.sub(self, other)

    def __mul__(self, other: Scalar) -> Scalar:
        if type(other) is not Node or other.graph is not self.graph:
            other = self.graph.lift(other)
            if other is None:
                return NotImplemented
        return self.graph.mul(self, other)

    def __truediv__(self, other: Scalar) -> Scalar:
        if type(other) is not Node or other.graph is not self.graph:
            other = self.graph.lift(other)
            if other is None:
                return NotImplemented
        return self.graph.div(self, other)

    def __rsub__(self, other: Scalar) -> Scalar:
        lifted = self.graph.lift(other)
        return NotImplemented if lifted is None else self.graph.sub(lifted, self)

    def __rtruediv__(self, other: Scalar) -> Scalar:
        lifted = self.graph.lift(other)
        return NotImplemented if lifted is None else self.graph.div(lifted, self)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Scalar:
        return self.graph.neg(self)

    def __abs__(self) -> Scalar:
        return self.graph.function("abs", self)

    def __pow__(self, exponent: float) -> Scalar:
        """A whole power by repeated squaring, or the square root."""
        if exponent == 0.5:
            return self.graph.function("sqrt", self)
        if exponent != int(exponent):
            raise TypeError(f"a graph takes whole powers and 0.5, not {exponent!r}")
        if exponent < 0:
            return 1.0 / self ** (-exponent)
        power, square, n = self.graph.constant(1.0), self, int(exponent)
        while n:
            power, n = power * square if n & 1 else power, n >> 1
            square = square * square if n else square
        return power

    def __reduce__(self) -> tuple:
        return _node_at, (self.graph, self.number)

    def __bool__(self) -> bool:
        raise TypeError("a graph node has no truth value; choose by scalars.where, not by `if`")

    def __str__(self) -> str:
        return self.graph.text(self)

    def __repr__(self) -> str:
        return f"<Node {self.number}: {self.op}>"


class Graph:
    """Nodes, each made once.

    Args:
        limit: of how many nodes there may be; GraphTooLargeError beyond it.
    """

    def __init__(self, limit: int | None = None):
        self.nodes: list[Node] = []
        self.limit = math.inf if limit is None else limit
        self._made: dict[tuple, Node] = {}
        self.zero, self.one = self.constant(0.0), self.constant(1.0)
        self.false = self._node("less", (self.one, self.zero))

    def __reduce__(self) -> tuple:
        """The limit, and of each node what it is, its operands by their numbers."""
        nodes = [(x.op, tuple(y.number for y in x.args), x.data) for x in self.nodes]
        return _graph_of, (self.limit, nodes)

    # -- making nodes --------------------------------------------------------------------

    def input(self, key: Hashable) -> Node:
        """The input of a key, always the same node."""
        return self._node("input", (), key)

    def constant(self, value: float) -> Node:
        """A number; 0.0 and -0.0 are one."""
        return self._node("constant", (), float(value) + 0.0)

    def lift(self, x: Scalar) -> Node | None:
        """A node or number as a node; None for what knows better, as a Dual."""
        if type(x) is Node:
            assert x.graph is self, "nodes of two graphs met"
            return x
        if isinstance(x, (float, int, np.floating, np.integer)):
            return self._node("constant", (), float(x) + 0.0)
        if isinstance(x, np.ndarray) and x.ndim == 0:
            return self.constant(float(x))
        return None

    def _node(self, op: str, args: tuple[Node, ...], data: Any = None) -> Node:
        if not args:
            key: tuple = (op, data)
        elif len(args) == 2:
            key = (op, args[0].number, args[1].number)
        else:
            key = (op, *[x.number for x in args])
        node = self._made.get(key)
        if node is None:
            number = len(self.nodes)
            if number >= self.limit:
                raise GraphTooLargeError
            node = self._made[key] = Node(self, op, args, data, number)
            self.nodes.append(node)
        return node

    def _folded(self, op: str, *args: Node) -> Node:
        """An operation on constants, done; where it has no finite value, left to the machine."""
        with np.errstate(all="ignore"):
            value = float(MEANING[op](*(x.data for x in args)))
        return self.constant(value) if math.isfinite(value) else self._node(op, args)

    # -- arithmetic ----------------------------------------------------------------------

    def add(self, x: Node, y: Node) -> Node:
        """x + y."""
        if x.op == "constant" or y.op == "constant":
            if x is self.zero:
                return y
            if y is self.zero:
                return x
            if x.op == y.op:
                return self._folded("add", x, y)
        if y.op == "neg":
            return self.sub(x, y.args[0])
        if x.op == "neg":
            return self.sub(y, x.args[0])
        return self._node("add", (x, y) if x.number <= y.number else (y, x))

    def sub(self, x: Node, y: Node) -> Node:
        """x - y."""
        if x is y:
            return self.zero
        if x.op == "constant" or y.op == "constant":
            if y is self.zero:
                return x
            if x is self.zero:
                return self.neg(y)
            if x.op == y.op:
                return self._folded("sub", x, y)
        if y.op == "neg":
            return self.add(x, y.args[0])
        if x.op == "neg":
            return self.neg(self.add(x.args[0], y))
        opposite = self._made.get(("sub", y.number, x.number))
        return self._node("sub", (x, y)) if opposite is None else self.neg(opposite)

    def mul(self, x: Node, y: Node) -> Node:
        """x y."""
        if y.op == "constant":
            x, y = y, x
        if x.op == "constant":
            if x is self.zero or y is self.one:
                return x
            if x is self.one or y is self.zero:
                return y
            if y.op == "constant":
                return self._folded("mul", x, y)
            if x.data < 0.0:
                return self.neg(self.mul(self.constant(-x.data), y))
        if x.op == "neg":
            return self.neg(self.mul(x.args[0], y))
        if y.op == "neg":
            return self.neg(self.mul(x, y.args[0]))
        return self._node("mul", (x, y) if x.number <= y.number else (y, x))

    def div(self, x: Node, y: Node) -> Node:
        """x / y; by a power of two, a product. By the constant 0 an error, as for floats."""
        if y is self.zero:
            raise ZeroDivisionError("division by the constant 0 of a graph")
        if x is self.zero:
            return x
        if y.op == "constant":
            if x.op == "constant":
                return self._folded("div", x, y)
            mantissa, exponent = math.frexp(y.data)
            if abs(mantissa) == 0.5 and abs(exponent) < 1000:
                return self.mul(self.constant(1.0 / y.data), x)
        if x.op == "neg":
            return self.neg(self.div(x.args[0], y))
        if y.op == "neg":
            return self.neg(self.div(x, y.args[0]))
        return self._node("div", (x, y))

    def neg(self, x: Node) -> Node:
        """-x."""
        if x.op == "constant":
            return self.constant(-x.data)
        if x.op == "neg":
            return x.args[0]
        return self._node("neg", (x,))

    # -- functions -----------------------------------------------------------------------

    def function(self, op: str, *operands: Scalar) -> Node:
        """A function of `MEANING` beyond the arithmetic."""
        args = tuple(self.node(x) for x in operands)
        if all(x.op == "constant" for x in args):
            return self._folded(op, *args)
        if args[0].op == "neg" and op in ("sin", "arctan"):
            return self.neg(self.function(op, args[0].args[0]))
        if args[0].op == "neg" and op in ("cos", "abs"):
            return self.function(op, args[0].args[0])
        if op == "abs" and args[0].op in ("abs", "sqrt", "exp"):
            return args[0]
        if op in COMMUTATIVE:
            if args[0] is args[1]:
                return args[0]
            args = tuple(sorted(args, key=_by_number))
        return self._node(op, args)

    def less(self, x: Scalar, y: Scalar) -> Any:
        """Whether x < y: a truth value where both are constants."""
        a, b = self.node(x), self.node(y)
        if a.op == b.op == "constant":
            return a.data < b.data
        return False if a is b else self._node("less", (a, b))

    def where(self, condition: Node, x: Scalar, y: Scalar) -> Node:
        """x where the condition holds, y elsewhere."""
        a, b = self.node(x), self.node(y)
        return a if a is b else self._node("where", (condition, a, b))

    def node(self, x: Scalar) -> Node:
        """A node or number as a node."""
        node = self.lift(x)
        if node is None:
            raise TypeError(f"a graph takes numbers and its own nodes, not {x!r}")
        return node

    # -- the whole -----------------------------------------------------------------------

    def live(self, outputs: Iterable[Node]) -> list[Node]:
        """What the outputs need, operands first: dead code is left out."""
        needed = bytearray(len(self.nodes))
        for node in outputs:
            needed[node.number] = 1
        for node in reversed(self.nodes):
            if needed[node.number]:
                for x in node.args:
                    needed[x.number] = 1
        return [node for node in self.nodes if needed[node.number]]

    def extract(self, outputs: Sequence[Node]) -> tuple[Graph, list[Node]]:
        """A graph of what some nodes need, no more, and these nodes in it."""
        graph = Graph()
        copies: dict[Node, Node] = {}
        for node in self.live(outputs):
            args = tuple(copies[x] for x in node.args)
            copies[node] = graph._node(node.op, args, node.data)
        return graph, [copies[x] for x in outputs]

    def graft(
        self,
        outputs: Sequence[Node],
        inputs: Mapping[Any, Scalar],
        number: Callable[[float], Scalar] | None = None,
    ) -> list[Scalar]:
        """Nodes of another graph in this one, with other things in place of its inputs.

        Args:
            outputs: which nodes of the other graph.
            inputs: of each key of the other graph a node of this one, or a number.
            number: what takes the place of a constant; by default it stays.

        Returns:
            nodes, and True or False for conditions that are now decided.
        """
        copies: dict[Node, Any] = {}
        own: dict[str, Callable] = {
            name: getattr(self, name) for name in ("add", "sub", "mul", "div", "neg", "less")
        }
        for node in outputs[0].graph.live(outputs) if outputs else ():
            args = [copies[x] for x in node.args]
            if node.op == "input":
                copies[node] = self.node(inputs[node.data])
            elif node.op == "constant":
                copies[node] = self.node(node.data if number is None else number(node.data))
            elif node.op == "where" and type(args[0]) is not Node:
                copies[node] = args[1] if args[0] else args[2]
            elif node.op == "where":
                copies[node] = self.where(*args)
            elif node.op in own:
                copies[node] = own[node.op](*args)
            else:
                copies[node] = self.function(node.op, *args)
        return [copies[x] for x in outputs]

    def evaluate(
        self,
        outputs: Sequence[Node],
        inputs: Mapping[Any, Any],
        rounded: Callable[[Any], Any] | None = None,
    ) -> list[Any]:
        """The values of nodes, by NumPy: what every backend must agree with.

        Args:
            outputs: which nodes.
            inputs: of each key a number, or an array over a batch.
            rounded: what becomes of every value that has been rounded; by default it stays.
        """
        values: dict[int, Any] = {}
        for node in self.live(outputs):
            if node.op == "input":
                values[node.number] = inputs[node.data]
            elif node.op == "constant":
                values[node.number] = node.data
            else:
                value = MEANING[node.op](*[values[x.number] for x in node.args])
                if rounded is not None and node.op in ROUNDED:
                    value = rounded(value)
                values[node.number] = value
        return [values[node.number] for node in outputs]

    def text(self, node: Node, depth: int = 16) -> str:
        """A node as a formula; what lies deeper than so many operations is `...`."""
        if node.op in ("input", "constant"):
            return str(node.data)
        if depth == 0:
            return "..."
        inside = [self.text(x, depth - 1) for x in node.args]
        if node.op == "neg":
            return f"-{inside[0]}"
        if node.op in SIGNS:
            return f"({inside[0]} {SIGNS[node.op]} {inside[1]})"
        return f"{node.op}({', '.join(inside)})"


def _by_number(node: Node) -> int:
    return node.number


def count_operations(nodes: Iterable[Node]) -> dict[str, int]:
    """How many nodes do what."""
    counts: dict[str, int] = {}
    for node in nodes:
        counts[node.op] = counts.get(node.op, 0) + 1
    return counts


# -- the functions of one number, and of two -------------------------------------------------


def _register_functions() -> None:
    for name in ("sin", "cos", "sqrt", "exp", "arctan", "abs"):
        function: Any = getattr(scalars, "absolute" if name == "abs" else name)
        function.register(Node, lambda x, name=name: x.graph.function(name, x))
    for name, function in (
        ("arctan2", scalars.arctan2),
        ("min", scalars.minimum),
        ("max", scalars.maximum),
    ):
        function.register(Node, lambda x, y, name=name: _of_either(name, x, y))


def _graph_of(limit: float, nodes: Sequence[tuple]) -> Graph:
    """A graph that was pickled; the first nodes are those that every graph begins with."""
    graph = Graph()
    for op, args, data in nodes[len(graph.nodes) :]:
        graph._node(op, tuple(graph.nodes[i] for i in args), data)
    graph.limit = limit
    return graph


def _node_at(graph: Graph, number: int) -> Node:
    """A node that has come with its graph."""
    return graph.nodes[number]


def _of_either(op: str, x: Scalar, y: Scalar) -> Node:
    """A function of two numbers, at least one of which is a node."""
    return (x if type(x) is Node else y).graph.function(op, x, y)


_register_functions()


@scalars.less.register
def _(x: Node, y: Scalar) -> Any:
    return x.graph.less(x, y)


@scalars.select.register
def _(condition: Node, x: Scalar, y: Scalar) -> Node:
    return condition.graph.where(condition, x, y)
