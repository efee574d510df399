"""Which joints of a machine carry, and which close loops.

Joints are taken in the file's order. A joint carries its child if nothing
does yet and no loop comes of it. What then still hangs apart although a joint
holds it, is carried by that joint the other way round. Every link is reached
so, and what is left over closes loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from phipsi.model.tree import WORLD_NAME


@dataclass(frozen=True, slots=True)
class Edge:
    """A joint between two links, or a link and the world.

    Args:
        parent: the name of the link that the file has as its parent.
        child: that of its child.
        late: whether it rather closes a loop.
    """

    parent: str
    child: str
    late: bool = False


@dataclass(frozen=True, slots=True)
class Carrier:
    """What carries a link.

    Args:
        edge: the number of the joint.
        parent: the name of the link that it hangs on.
        backwards: whether the joint is taken from its child to its parent.
    """

    edge: int
    parent: str
    backwards: bool


def span(
    links: Sequence[str], edges: Sequence[Edge], still: Sequence[str] = ()
) -> tuple[Mapping[str, Carrier], list[int]]:
    """What carries each link that does not hang free, and the joints that close loops.

    Args:
        links: all names, in the file's order.
        edges: the joints, in the file's order.
        still: the links that are part of the world.

    >>> square = [Edge("a", "b"), Edge("b", "c"), Edge("a", "d"), Edge("d", "c")]
    >>> carriers, closures = span("abcd", square)
    >>> {link: carrier.parent for link, carrier in carriers.items()}, closures
    ({'b': 'a', 'c': 'b', 'd': 'a'}, [3])
    """
    forest = _Forest(links, still)
    in_order = sorted(range(len(edges)), key=lambda k: edges[k].late)
    left = [k for k in in_order if edges[k].late or not forest.carry(k, edges[k])]
    closures = [k for k in left if not forest.turn(k, edges[k])]
    return forest.carriers, sorted(closures)


class _Forest:
    """Trees of links that grow together; the world is a link that nothing carries."""

    def __init__(self, links: Sequence[str], still: Sequence[str]):
        self.carriers: dict[str, Carrier] = {}
        self._rank = {WORLD_NAME: -1} | {name: k for k, name in enumerate(links)}
        self._near = {name: name for name in self._rank}  # towards what stands for a whole tree
        self._root = dict(self._near)  # of each tree, by what stands for it
        for name in still:
            self._near[name] = WORLD_NAME
        self._still = {WORLD_NAME, *still}

    def carry(self, number: int, edge: Edge) -> bool:
        """Let a joint carry its child, if that makes a larger tree."""
        free = edge.child not in self.carriers and edge.child not in self._still
        if not free or self._tree(edge.parent) == self._tree(edge.child):
            return False
        self.carriers[edge.child] = Carrier(number, edge.parent, False)
        self._join(edge.parent, edge.child)
        return True

    def turn(self, number: int, edge: Edge) -> bool:
        """Let a joint carry one of its links with all that hangs on it, turned as need be."""
        parent, child = edge.parent, edge.child
        if self._tree(parent) == self._tree(child):
            return False
        if self._rank_of(parent) <= self._rank_of(child):
            self._hang(child, Carrier(number, parent, False))
            self._join(parent, child)
        else:
            self._hang(parent, Carrier(number, child, True))
            self._join(child, parent)
        return True

    def _rank_of(self, link: str) -> int:
        return self._rank[self._root[self._tree(link)]]

    def _hang(self, link: str, carrier: Carrier) -> None:
        """Carry a link by this; what carried it is carried by it."""
        hanging: Carrier | None = carrier
        while hanging is not None:
            before = self.carriers.get(link)
            self.carriers[link] = hanging
            if before is None:
                return
            hanging = Carrier(before.edge, link, not before.backwards)
            link = before.parent

    def _tree(self, link: str) -> str:
        while self._near[link] != link:
            self._near[link] = self._near[self._near[link]]
            link = self._near[link]
        return link

    def _join(self, inner: str, outer: str) -> None:
        """Make one tree of two; its root is that of the first."""
        self._near[self._tree(outer)] = self._tree(inner)
