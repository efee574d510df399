"""Index arithmetic against the plainest possible definition."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phipsi.model.tree import WORLD, Tree, depth_first


@st.composite
def parent_arrays(draw, max_size=25):
    """Any forest, parents before children, not yet depth-first."""
    n = draw(st.integers(0, max_size))
    return [draw(st.integers(-1, k - 1)) for k in range(n)]


@st.composite
def trees(draw):
    """Any forest, numbered depth-first by brute force: sorted by the way from the root."""
    parents = draw(parent_arrays())
    ways = [way_from_root(parents, k) for k in range(len(parents))]
    order = sorted(range(len(parents)), key=ways.__getitem__)
    number = {WORLD: WORLD} | {k: i for i, k in enumerate(order)}
    return Tree(tuple(number[parents[k]] for k in order))


def way_from_root(parents, k):
    way = []
    while k != WORLD:
        way.append(k)
        k = parents[k]
    return way[::-1]


def outboard(parents, i):
    """All bodies whose way from the root passes i."""
    return {k for k in range(len(parents)) if i in way_from_root(parents, k)}


@given(trees())
def test_relations_follow_from_the_parents(tree):
    n = range(len(tree))
    ways = [way_from_root(tree.parent, k) for k in n]
    for k in n:
        assert list(tree.path(k)) == ways[k][::-1]
        assert tree.depth[k] == len(ways[k])
        assert tree.children[k] == tuple(c for c in n if tree.parent[c] == k)
        assert set(range(k, tree.end[k])) == outboard(tree.parent, k)
        for i in n:
            assert tree.is_inboard(i, k) == (i in ways[k])
            common = [j for j in ways[k] if j in ways[i]]
            assert tree.nearest_common_ancestor(i, k) == (common[-1] if common else WORLD)
    assert tree.roots == tuple(k for k in n if tree.parent[k] == WORLD)


@given(trees())
def test_orders_visit_parents_before_and_after_their_children(tree):
    outward, inward = list(tree.base_to_tip), list(tree.tip_to_base)
    assert outward == inward[::-1]
    assert sorted(outward) == list(range(len(tree)))
    for k, p in enumerate(tree.parent):
        assert p == WORLD or outward.index(p) < outward.index(k)


def test_tree_accepts_exactly_the_depth_first_numberings():
    """All parent arrays of up to six bodies: accepted if every subtree is a contiguous range."""
    for n in range(7):
        for parents in itertools.product(*(range(-1, k) for k in range(n))):
            contiguous = all(
                outboard(parents, i) == set(range(i, i + len(outboard(parents, i))))
                for i in range(n)
            )
            try:
                Tree(parents)
            except AssertionError:
                assert not contiguous, parents
            else:
                assert contiguous, parents


@pytest.mark.parametrize("parents", [(0,), (1, -1), (-2,), (-1, 5)])
def test_tree_refuses_parents_that_do_not_come_first(parents):
    with pytest.raises(AssertionError, match="parents come before children"):
        Tree(parents)


@given(parent_arrays(), st.randoms(use_true_random=False))
def test_depth_first_numbers_any_forest_and_keeps_siblings_in_order(parents, random):
    names = list(range(len(parents)))
    random.shuffle(names)  # children may now come before their parents
    place = {name: i for i, name in enumerate(names)} | {WORLD: WORLD}
    given_parents = [place[parents[name]] for name in names]
    order = depth_first(given_parents)
    assert sorted(order) == list(range(len(parents)))
    number = {WORLD: WORLD} | {k: i for i, k in enumerate(order)}
    Tree(tuple(number[given_parents[k]] for k in order))
    for i, j in itertools.combinations(range(len(parents)), 2):
        if given_parents[i] == given_parents[j]:
            assert number[i] < number[j]


@pytest.mark.parametrize(
    ("parents", "reached"),
    [([0], []), ([1, 0], []), ([-1, 2, 1, 0], [0, 3]), ([-1, 2, 3, 1, 3], [0])],
)
def test_depth_first_leaves_out_what_hangs_on_a_cycle(parents, reached):
    assert depth_first(parents) == reached


@pytest.mark.parametrize("shape", ["chain", "star"])
def test_a_hundred_thousand_bodies_need_no_recursion(shape):
    n = 100_000
    parents = [k - 1 if shape == "chain" else min(k, 1) - 1 for k in range(n)]
    assert depth_first(parents) == list(range(n))
    tree = Tree(tuple(parents))
    assert tree.end[0] == n
    assert tree.depth[-1] == (n if shape == "chain" else 2)
    assert tree.nearest_common_ancestor(n - 1, n // 2) == (n // 2 if shape == "chain" else 0)
