"""A graph cut into parts: what each internal function computes, and where values cross.

The live nodes, in the order in which they were made, are cut where few values
are alive. Angles whose sines and cosines are needed are gathered first, for one
loop does them all; few angles of few nodes are done within the only part. Every
choice is made here, once for all widths of lanes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain

from phipsi.backends.elementary import FEW
from phipsi.backends.write import fusible
from phipsi.graph.graph import Graph, Node

LEAVES = ("input", "constant")
LEAST_SPREAD = 64  # entries of an output that may be kept without what repeats
MOST_KEPT = 0.75  # of them, where that is worth it
Key = tuple[str, int]  # an argument, and which entry of it


@dataclass(frozen=True)
class Spreading:
    """Where the entries of an output are found in a tile in which each number is kept once.

    Args:
        places: of each entry.
        kept: how many numbers there are.
        has_zero: whether the first of them is zero.
    """

    places: tuple[int, ...]
    kept: int
    has_zero: bool


Spread = Spreading | None  # None for an output that is kept entry by entry


@dataclass(frozen=True)
class Task:
    """What a kernel computes.

    Args:
        graph: where the nodes are; inputs have keys (argument, entry).
        inputs: the arguments, in order.
        outputs: of each output its entries.
        checks: what must be true; a lane where one fails is reported.
    """

    graph: Graph
    inputs: tuple[str, ...]
    outputs: tuple[tuple[Node, ...], ...]
    checks: tuple[Node, ...] = ()

    def live(self) -> list[Node]:
        """What must be computed, operands first."""
        return self.graph.live([*chain.from_iterable(self.outputs), *self.checks])

    def keeping_once(self) -> tuple[Task, tuple[Spread, ...]]:
        """The same without what repeats in an output, and where its entries are found then.

        A mass matrix is symmetric, and zero between branches of a machine: most of the bytes of
        its tile would be written and read for nothing. Zero comes first in what is kept.
        """
        kept: list[tuple[Node, ...]] = []
        spreads: list[Spread] = []
        for entries in self.outputs:
            zero = [self.graph.zero] if self.graph.zero in entries else []
            once = dict.fromkeys([*zero, *entries])
            if len(entries) < LEAST_SPREAD or len(once) > MOST_KEPT * len(entries):
                kept.append(entries)
                spreads.append(None)
                continue
            places = {node: i for i, node in enumerate(once)}
            kept.append(tuple(once))
            spreads.append(Spreading(tuple(places[x] for x in entries), len(once), bool(zero)))
        return replace(self, outputs=tuple(kept)), tuple(spreads)


class Partition:
    """Where every value of a task is made and kept.

    Args:
        task: what to compute.
        limit: nodes of one part, at most.

    Attributes:
        angles: what sines and cosines are taken of in the loop, with their numbers.
        parts: the nodes of each part; those of part 0 lead to the angles.
        inline: where few nodes and angles are, there is one part, which takes the sines and
            cosines after so many nodes; else None.
        fused: products that vanish in a sum, by the sum.
        place: in the workspace, of values that cross.
        work: numbers in the workspace; first the angles, their sines and cosines.
    """

    def __init__(self, task: Task, limit: int):
        self.task = task
        live = [x for x in task.live() if x.op not in LEAVES]
        self.angles = _angles(live)
        leading = set(task.graph.live(self.angles))
        rest = [x for x in live if x not in leading and not self.is_looped(x)]
        first = [x for x in live if x in leading]
        is_short = len(first) + len(rest) <= limit
        self.inline = len(first) if is_short and len(self.angles) <= FEW else None
        parts = [_woven(rest, task)] if len(rest) <= limit else _cut(rest, limit)
        self.parts = [first, *parts] if self.inline is None else [first + parts[0]]
        whole = list(chain.from_iterable(self.parts))  # so that cuts change no bit
        self.fused = fusible([whole], chain(self.angles, *task.outputs))
        self._absorbed = set(self.fused.values())
        self.work = 3 * len(self.angles)
        self.place = self._keep()

    def is_looped(self, node: Node) -> bool:
        """Whether a value is a sine or cosine that the loop makes."""
        return node.op in ("sin", "cos") and node.args[0] in self.angles

    def is_absorbed(self, node: Node) -> bool:
        """Whether a product is computed within the sum that takes it."""
        return node in self._absorbed

    def operands(self, node: Node) -> Iterable[Node]:
        """What the code of a node reads: conditions are made where they are used, and a sum
        reads the factors of the product it is fused with."""
        for x in node.args:
            if x.op == "less" or x is self.fused.get(node):
                yield from x.args
            else:
                yield x

    def _keep(self) -> dict[Node, int]:
        """Places in the workspace for what crosses from part to part, reused when free."""
        made = {x: i for i, part in enumerate(self.parts) for x in part}
        last: dict[Node, int] = {}
        for i, part in enumerate(self.parts):
            for node in part:
                for x in () if self.is_absorbed(node) else self.operands(node):
                    if made.get(x, i) < i:
                        last[x] = i
        place: dict[Node, int] = {}
        free: list[int] = []
        ending: list[list[Node]] = [[] for _ in self.parts]
        for i, part in enumerate(self.parts):
            for node in part:
                if node in last:
                    if not free:
                        free.append(self.work)
                        self.work += 1
                    place[node] = free.pop()
                    ending[last[node]].append(node)
            free += [place[x] for x in ending[i]]
        return place


def _angles(live: Sequence[Node]) -> dict[Node, int]:
    """The angles that depend on no sine themselves, numbered."""
    turned: set[Node] = set()
    for node in live:
        if node.op in ("sin", "cos") or not turned.isdisjoint(node.args):
            turned.add(node)
    asked = (x.args[0] for x in live if x.op in ("sin", "cos"))
    found = [x for x in dict.fromkeys(asked) if x not in turned]
    return {x: i for i, x in enumerate(found)}


def _woven(nodes: Sequence[Node], task: Task) -> list[Node]:
    """Nodes in an order that leaves a processor less to wait for.

    A chain of quotients of the first input alone, such as the articulated inertias of a machine,
    takes turns with what needs other inputs and no quotient, its motion; the rest comes last.
    More values are alive then: it pays for few nodes only.
    """
    kinds: dict[Node, tuple[bool, bool]] = {}  # by other inputs, by quotients
    for node in nodes:
        known = [
            kinds.get(x, (x.op == "input" and x.data[0] != task.inputs[0], False))
            for x in node.args
        ]
        others, divided = (any(x) for x in zip(*known, strict=True))
        kinds[node] = others, divided or node.op == "div"
    alone = [x for x in nodes if not kinds[x][0]]
    beside = [x for x in nodes if kinds[x] == (True, False)]
    place: dict[Node, float] = {}
    for stream in (alone, beside):
        for i, node in enumerate(stream):
            place[node] = max(i / len(stream), *(place.get(x, 0.0) for x in node.args))
    turns = sorted([*alone, *beside], key=lambda x: (place[x], x.number))
    return [*turns, *(x for x in nodes if x not in place)]


def _cut(nodes: Sequence[Node], limit: int) -> list[list[Node]]:
    """Nodes in order, as parts of at most `limit`, cut where few values are alive."""
    at = {x: i for i, x in enumerate(nodes)}
    last = list(range(len(nodes)))
    for i, node in enumerate(nodes):
        for x in node.args:
            if x in at:
                last[at[x]] = i
    change = [0] * (len(nodes) + 2)
    for i, end in enumerate(last):  # alive at the cuts before i+1, ..., end
        change[i + 1] += 1
        change[end + 1] -= 1
    alive = list(accumulate(change))
    parts, start = [], 0
    while len(nodes) - start > limit:
        window = range(start + max(limit // 2, 1), start + limit + 1)
        stop = min(window, key=lambda i: (alive[i], -i))
        parts.append(list(nodes[start:stop]))
        start = stop
    return [*parts, list(nodes[start:])]
