"""Which joints of a machine carry, and which close loops.

Joints are taken in the file's order. A joint carries its child if nothing
does yet and no loop comes of it. What then still hangs apart although a joint
holds it, is carried by that joint the other way round. Every link is reached
so, and what is left over closes loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
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
    left = [k for k in in_order if edges[k].late or not forest.carry(edges[k])]
    closures = sorted(k for k in left if not forest.join(edges[k]))
    roots = [WORLD_NAME, *still, *(name for name in links if forest.tree(name) == name)]
    reached = _orient(roots, edges, set(range(len(edges))).difference(closures))
    return {name: reached[name] for name in links if name in reached}, closures


class _Forest:
    """Trees of links that grow together; which way joints are taken in them, is told later.

    Each is known by its root, which nothing carries. That of the world is the world.
    """

    def __init__(self, links: Sequence[str], still: Sequence[str]):
        self._rank = {WORLD_NAME: -1} | {name: k for k, name in enumerate(links)}
        self._near = {name: name for name in self._rank}  # towards the root
        for name in still:
            self._near[name] = WORLD_NAME

    def carry(self, edge: Edge) -> bool:
        """Let a joint carry its child, if nothing does yet and no loop comes of it."""
        if edge.child == WORLD_NAME or self.tree(edge.child) != edge.child:
            return False
        inner = self.tree(edge.parent)
        self._near[edge.child] = inner
        return inner != edge.child

    def join(self, edge: Edge) -> bool:
        """Let a joint make one tree of two, by whichever end; that of the earlier root stays."""
        trees = self.tree(edge.parent), self.tree(edge.child)
        one, two = sorted(trees, key=self._rank.__getitem__)
        self._near[two] = one
        return one != two

    def tree(self, link: str) -> str:
        """The root of the tree that a link is in."""
        while self._near[link] != link:
            self._near[link] = self._near[self._near[link]]
            link = self._near[link]
        return link


def _orient(roots: Sequence[str], edges: Sequence[Edge], carrying: Set[int]) -> dict[str, Carrier]:
    """What carries each link, from the roots outwards: each joint is met once from each end."""
    held: dict[str, list[int]] = {}
    for number in sorted(carrying):
        held.setdefault(edges[number].parent, []).append(number)
        held.setdefault(edges[number].child, []).append(number)
    carriers: dict[str, Carrier] = {}
    reached = list(roots)
    seen = set(roots)
    for link in reached:  # which grows
        for number in held.get(link, ()):
            edge = edges[number]
            is_backwards = edge.child == link
            outer = edge.parent if is_backwards else edge.child
            if outer not in seen:
                seen.add(outer)
                reached.append(outer)
                carriers[outer] = Carrier(number, link, is_backwards)
    return carriers
