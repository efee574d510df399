"""Derivatives of a graph, as nodes of the same graph.

Every operation z = f(x, y, ...) has slopes z_x, z_y, ... along its operands.
Forward they carry tangents from inputs to outputs, in reverse cotangents from
outputs to inputs:

    dz = z_x dx + z_y dy + ...        x' = sum of z_x z' over all z made of x

What comes out is a graph again, to be compiled or differentiated once more. All
directions share the slopes. A derivative that is zero by structure is `graph.zero`.

Choices are differentiated branch by branch; where two branches meet (|x| at 0)
the slope is that of one of them. A branch that is not taken adds nothing, even
where its slope is not finite: sqrt(max(x, 0)) has the derivative 0 below 0. Only
where zeros of different choices were added first, as in sqrt(max(x, 0) + max(y, 0)),
such a slope spoils the result.

Inputs may be any nodes: each counts as independent of what it was made from.

>>> graph = Graph()
>>> x, y = graph.input("x"), graph.input("y")
>>> slopes = reverse(graph, [x * y + sin(x)], [1.0], [x, y])
>>> print(*slopes)
(y + cos(x)) x
>>> for row in jacobian(graph, slopes, [x, y]):
...     print(*row)
-sin(x) 1.0
1.0 0.0
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from phipsi.graph.graph import Graph, Node
from phipsi.scalars import Scalar, cos, less, sin, where

# The slopes of an operation along its operands, of the result z and the operands.
SLOPES: dict[str, Callable[..., tuple[Scalar, ...]]] = {
    "add": lambda z, x, y: (1.0, 1.0),  # d(x + y) = dx + dy
    "sub": lambda z, x, y: (1.0, -1.0),  # d(x - y) = dx - dy
    "mul": lambda z, x, y: (y, x),  # d(x y) = y dx + x dy
    "div": lambda z, x, y: (1.0 / y, -z * (1.0 / y)),  # d(x / y) = (dx - z dy) / y
    "neg": lambda z, x: (-1.0,),  # d(-x) = -dx
    "sin": lambda z, x: (cos(x),),  # d sin x = cos x dx
    "cos": lambda z, x: (-sin(x),),  # d cos x = -sin x dx
    "sqrt": lambda z, x: (0.5 / z,),  # d sqrt x = dx / (2 z)
    "exp": lambda z, x: (z,),  # d exp x = z dx
    "arctan": lambda z, x: (1.0 / (1.0 + x * x),),  # d arctan x = dx / (1 + x^2)
    "arctan2": lambda z, y, x: _angular(y, x),  # d arctan2(y, x) = (x dy - y dx) / (x^2 + y^2)
    "abs": lambda z, x: (where(less(x, 0.0), -1.0, 1.0),),  # d|x| = -dx if x < 0 else dx
    "min": lambda z, x, y: _taken(less(y, x))[::-1],  # d min(x, y) = dy if y < x else dx
    "max": lambda z, x, y: _taken(less(x, y))[::-1],  # d max(x, y) = dy if x < y else dx
    "where": lambda z, c, x, y: (0.0, *_taken(c)),  # d where(c, x, y) = dx if c else dy
    "less": lambda z, x, y: (0.0, 0.0),  # a truth value stays what it is
}


def _angular(y: Scalar, x: Scalar) -> tuple[Scalar, Scalar]:
    """x / (x^2 + y^2) and -y / (x^2 + y^2)."""
    inverse = 1.0 / (x * x + y * y)
    return x * inverse, -y * inverse


def _taken(condition: Scalar) -> tuple[Scalar, Scalar]:
    """1 for the branch that is taken, 0 for the other."""
    return where(condition, 1.0, 0.0), where(condition, 0.0, 1.0)


def forward(graph: Graph, outputs: Sequence[Node], tangents: Mapping[Node, Scalar]) -> list[Node]:
    """The derivatives of outputs along one direction t: `J t`, J their Jacobian.

    Args:
        graph: where all nodes are.
        outputs: what to differentiate.
        tangents: of each input its entry of t, a node or a number; other inputs stay.

    >>> graph = Graph()
    >>> x, y, dx = (graph.input(key) for key in ("x", "y", "dx"))
    >>> print(*forward(graph, [x * y, x / y, sin(y)], {x: dx}))
    (y * dx) (dx * (1.0 / y)) 0.0
    """
    edges = _edges(graph, outputs, tangents)
    return _carried(edges, {x: graph.node(t) for x, t in tangents.items()}, outputs)


def reverse(
    graph: Graph, outputs: Sequence[Node], cotangents: Sequence[Scalar], inputs: Sequence[Node]
) -> list[Node]:
    """The derivatives by inputs of a sum c* f of the outputs f: `J* c`, J their Jacobian.

    Args:
        graph: where all nodes are.
        outputs: what to differentiate.
        cotangents: of each output its entry of c, a node or a number.
        inputs: by what.

    >>> graph = Graph()
    >>> x, y, c = (graph.input(key) for key in ("x", "y", "c"))
    >>> print(*reverse(graph, [x * y, cos(x)], [1.0, c], [x, y]))
    (y - (c * sin(x))) x
    """
    start: dict[Node, Node] = {}
    for x, c in zip(outputs, cotangents, strict=True):
        start[x] = _sum(start.get(x, graph.zero), graph.node(c))
    return _carried(_turned(_edges(graph, outputs, inputs)), start, inputs)


def jacobian(graph: Graph, outputs: Sequence[Node], inputs: Sequence[Node]) -> list[list[Node]]:
    """The derivatives of all outputs by all inputs, a row for each output.

    By columns forward, or by rows in reverse, whichever takes fewer operations.

    >>> graph = Graph()
    >>> x, y = graph.input("x"), graph.input("y")
    >>> for row in jacobian(graph, [x * y, sin(y)], [x, y]):
    ...     print(*row)
    y x
    0.0 cos(y)
    """
    edges = _edges(graph, outputs, inputs)
    turned = _turned(edges)
    if _cost(turned, outputs) < _cost(edges, inputs):
        return [_carried(turned, {x: graph.one}, inputs) for x in outputs]
    columns = [_carried(edges, {x: graph.one}, outputs) for x in inputs]
    return [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in outputs]


# -- the chain rule --------------------------------------------------------------------------

Edge = tuple[Node, Node, Node]  # from an operand to a result, or back, with the slope


def _edges(graph: Graph, outputs: Sequence[Node], inputs: Iterable[Node]) -> list[Edge]:
    """Every way from an operand to a result, between inputs and outputs, operands first."""
    edges: list[Edge] = []
    between = set(inputs)
    for node in graph.live(outputs):
        if node not in between and not between.isdisjoint(node.args):
            slopes = map(graph.node, SLOPES[node.op](node, *node.args))
            for x, slope in zip(node.args, slopes, strict=True):
                if x in between and slope is not graph.zero:
                    edges.append((x, node, slope))
            between.add(node)
    return edges


def _turned(edges: Sequence[Edge]) -> list[Edge]:
    """The same ways back, results first."""
    return [(z, x, slope) for x, z, slope in reversed(edges)]


def _carried(edges: Sequence[Edge], start: dict[Node, Node], ends: Sequence[Node]) -> list[Node]:
    """What arrives at the ends: the sum over all ways of the products of their slopes."""
    arrived = dict(start)
    for source, target, slope in edges:
        if source in arrived:
            term = _product(slope, arrived[source])
            arrived[target] = _sum(arrived[target], term) if target in arrived else term
    return [arrived.get(x, x.graph.zero) for x in ends]


def _cost(edges: Sequence[Edge], starts: Sequence[Node]) -> int:
    """How many products and sums it takes to carry a 1 from each start in turn.

    The bits of a number say from which starts something arrives. Slopes of 1 and
    -1 need no products, and the first that arrives anywhere no sum.
    """
    cost = 0
    arrived = {x: 1 << i for i, x in enumerate(starts)}
    for source, target, slope in edges:
        coming, there = arrived.get(source, 0), arrived.get(target, 0)
        is_unit = slope.op == "constant" and abs(slope.data) == 1.0
        cost += (coming & there).bit_count() + (0 if is_unit else coming.bit_count())
        arrived[target] = coming | there
    return cost


# -- branches that are not taken -------------------------------------------------------------
# Their zeros stay outside of products and sums: `where(c, a, 0) y = where(c, a y, 0)`, since y
# need not be finite where c does not hold.

Guards = dict[Node, bool]  # conditions, and whether each must hold


def _product(x: Node, y: Node) -> Node:
    """x y, zero where one of them is zero by choice."""
    if x.op != "where" and y.op != "where":
        return x * y
    (x, guards), (y, others) = _bared(x), _bared(y)
    if any(guards.get(c, holds) is not holds for c, holds in others.items()):
        return x.graph.zero
    return _guarded(x * y, guards | others)


def _sum(x: Node, y: Node) -> Node:
    """x + y, zero where both are zero by the same choice; of two branches, a choice."""
    if x.op != "where" or y.op != "where":
        return x + y
    (x, guards), (y, others) = _bared(x), _bared(y)
    both = {c: holds for c, holds in guards.items() if others.get(c) is holds}
    x = _guarded(x, {c: holds for c, holds in guards.items() if c not in both})
    y = _guarded(y, {c: holds for c, holds in others.items() if c not in both})
    if x.op == y.op == "where" and x.args[0] is y.args[0]:
        condition, a, b = x.args
        return _guarded(x.graph.where(condition, a + y.args[1], b + y.args[2]), both)
    return _guarded(x + y, both)


def _bared(x: Node) -> tuple[Node, Guards]:
    """x without the choices that make it zero, and these."""
    zero, guards = x.graph.zero, {}
    while x.op == "where" and zero in x.args and x.args[0] not in guards:
        condition, a, b = x.args
        guards[condition] = b is zero
        x = a if b is zero else b
    return x, guards


def _guarded(x: Node, guards: Guards) -> Node:
    """x where all conditions are as they must be, zero elsewhere."""
    zero = x.graph.zero
    for condition, holds in reversed(guards.items()):
        x = x.graph.where(condition, *((x, zero) if holds else (zero, x)))
    return x
