"""The tree as index arithmetic: parents, orders, ancestors.

Bodies are numbered depth-first, parents before children, so the outboard
bodies of k, itself included, are the contiguous range `k ... end[k]`. The
world is -1. All index arithmetic of the package lives here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

WORLD = -1
WORLD_NAME = "world"


@dataclass(frozen=True)
class Tree:
    """A forest of bodies by its parent array, numbered depth-first.

    >>> tree = Tree((-1, 0, 1, 0))
    >>> tree.children[0], list(tree.path(2)), tree.nearest_common_ancestor(2, 3)
    ((1, 3), [2, 1, 0], 0)
    """

    parent: tuple[int, ...]

    def __post_init__(self) -> None:
        """Depth-first: what is outboard of a body lies within the range of its parent."""
        for k, p in enumerate(self.parent):
            assert WORLD <= p < k, "parents come before children"
        for k, p in enumerate(self.parent):
            assert p == WORLD or self.end[k] <= self.end[p], "bodies are numbered depth-first"

    def __len__(self) -> int:
        return len(self.parent)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The outboard neighbours of each body."""
        lists: list[list[int]] = [[] for _ in self.parent]
        for k, p in enumerate(self.parent):
            if p != WORLD:
                lists[p].append(k)
        return tuple(tuple(children) for children in lists)

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """The bodies that hang on the world."""
        return tuple(k for k, p in enumerate(self.parent) if p == WORLD)

    @cached_property
    def depth(self) -> tuple[int, ...]:
        """How many joints lie between each body and the world."""
        depth: list[int] = []
        for p in self.parent:
            depth.append(1 if p == WORLD else depth[p] + 1)
        return tuple(depth)

    @cached_property
    def end(self) -> tuple[int, ...]:
        """One past the last body outboard of each."""
        size = [1] * len(self.parent)
        for k in self.tip_to_base:
            if self.parent[k] != WORLD:
                size[self.parent[k]] += size[k]
        return tuple(k + n for k, n in enumerate(size))

    @property
    def base_to_tip(self) -> range:
        """Parents before children: the order of motions."""
        return range(len(self.parent))

    @property
    def tip_to_base(self) -> range:
        """Children before parents: the order of forces."""
        return range(len(self.parent) - 1, -1, -1)

    def is_inboard(self, i: int, k: int) -> bool:
        """Whether i lies on the path from k to the world, k itself included."""
        return i <= k < self.end[i]

    def path(self, k: int) -> Iterator[int]:
        """k, its parent, and so on to its root."""
        while k != WORLD:
            yield k
            k = self.parent[k]

    def nearest_common_ancestor(self, i: int, j: int) -> int:
        """The most outboard body inboard of both; WORLD if there is none."""
        return next((k for k in self.path(i) if self.is_inboard(k, j)), WORLD)


def depth_first(parents: Sequence[int]) -> list[int]:
    """The order that numbers a forest depth-first, siblings in the order given.

    Bodies that hang on a cycle are left out: the result is shorter then.

    >>> depth_first([-1, 3, 0, 0])
    [0, 2, 3, 1]
    """
    children: list[list[int]] = [[] for _ in parents]
    stack: list[int] = []
    for k, p in enumerate(parents):
        (stack if p == WORLD else children[p]).append(k)
    stack.reverse()
    order = []
    while stack:
        k = stack.pop()
        order.append(k)
        stack.extend(reversed(children[k]))
    return order
