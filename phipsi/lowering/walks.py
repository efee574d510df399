"""Columns that walk inward: where they start, which pass a body, which meet there."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from phipsi.model.tree import WORLD, Tree

Groups = dict[int, list[int]]  # columns by the child they came through


class Walk:
    """Columns by the bodies where they start.

    Attributes:
        starts: the body of each column, WORLD for one that never starts.
        through: of each body, the columns that pass it.
    """

    def __init__(self, tree: Tree, starts: Sequence[int]):
        self.tree, self.starts = tree, starts
        self.through: list[list[int]] = [[] for _ in tree.parent]
        for j, k in enumerate(starts):
            for i in tree.path(k):
                self.through[i].append(j)

    def __len__(self) -> int:
        return len(self.starts)

    def groups(self, k: int, delay: int) -> Groups:
        """The columns active at k, by the child they came through; WORLD for the new ones.

        A column is active from the delay-th body of its path on.
        """
        groups: Groups = {}
        for j in self.through[k]:
            steps = self.tree.depth[self.starts[j]] - self.tree.depth[k]
            if steps >= delay:
                child = WORLD if steps == delay else self._child_towards(k, self.starts[j])
                groups.setdefault(child, []).append(j)
        return groups

    def _child_towards(self, k: int, outer: int) -> int:
        """The child of k on the way to a body outboard of it: bodies are numbered depth-first."""
        children = self.tree.children[k]
        return children[bisect_right(children, outer) - 1]


def meetings(left: Groups, right: Groups, symmetric: bool) -> Iterator[tuple[int, int, bool]]:
    """The pairs of columns that meet here first, and whether to multiply the left one.

    New columns meet all others; what came through one child has met before.
    The smaller group is multiplied by what stands between. If symmetric, each
    pair comes once.
    """
    for a, ones in left.items():
        for b, others in right.items():
            if a == b != WORLD:
                continue
            on_left = a == WORLD or (b != WORLD and (len(ones), a) < (len(others), b))
            for i in ones:
                for j in others:
                    if not symmetric or i <= j:
                        yield i, j, on_left
