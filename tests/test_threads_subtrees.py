"""One state of a large machine by several threads: how it is cut, and the same bits."""

import ctypes

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phipsi as pp
from phipsi.backends.parallel import subtrees
from phipsi.backends.parallel.pool import has_threads, pool_address
from phipsi.backends.parallel.subtrees import cut_machine, is_separable
from phipsi.backends.parallel.workers import get_threads, set_threads
from phipsi.graph.graph import Graph
from phipsi.lowering.templates import Address, Region, Store, Template
from phipsi.model.tree import WORLD, Tree
from phipsi.operators import C, M, Mass, T, V

pytestmark = pytest.mark.skipif(not has_threads(), reason="POSIX threads are needed")

FALL = Mass.inv @ (T - C)


@pytest.fixture
def small(monkeypatch):
    """Small machines are cut as large ones are."""
    monkeypatch.setattr(subtrees, "BODIES", 10)


@pytest.fixture
def default():
    before = get_threads()
    set_threads(1)
    yield
    set_threads(before)


def tasks_so_far():
    """How many tasks the pool has had."""
    return ctypes.c_int64.from_address(pool_address() + 64).value


# -- where it is cut -------------------------------------------------------------------------


@st.composite
def trees(draw):
    """Depth-first: each body hangs on one of the path from the body before it to the world."""
    parents, path = [], [WORLD]
    for k in range(draw(st.integers(10, 120))):
        path = path[: draw(st.integers(1, len(path)))] if draw(st.booleans()) else path
        parents.append(path[-1])
        path = [*path, k]
    return Tree(tuple(parents))


@given(trees())
def test_parts_need_nobody_but_themselves_and_the_trunk(tree):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subtrees, "BODIES", 10)
        patch.setattr(subtrees, "GAIN", 1.0)
        cut = cut_machine(tree)
    if cut is None:
        return
    where = np.full(len(tree), -1)
    for number, part in enumerate(cut.parts):
        for outboard in part:
            assert (where[outboard.start : outboard.stop] == -1).all()
            where[outboard.start : outboard.stop] = number
    assert np.array_equal(np.flatnonzero(where == -1), cut.trunk)
    for k, parent in enumerate(tree.parent):
        if where[k] == -1:  # the trunk hangs on the trunk
            assert parent == WORLD or where[parent] == -1
        else:  # and what hangs on one body is in one part
            assert parent != WORLD
            assert where[parent] in (-1, where[k])
            assert {where[child] for child in tree.children[parent]} == {where[k]}
    for inward in (False, True):
        order = cut.order(inward)
        assert sorted(order) == list(range(len(tree)))
        for number in range(-1, len(cut.parts)):
            same = order[where[order] == number]
            assert (np.diff(same) * (-1 if inward else 1) > 0).all()


def binary(n):
    return Tree(tuple(depth_first_binary(n)))


def depth_first_binary(n, parent=WORLD, first=0):
    """A root, and what is left in two halves."""
    if not n:
        return []
    left = (n - 1) // 2
    one = depth_first_binary(left, first, first + 1)
    other = depth_first_binary(n - 1 - left, first, first + 1 + left)
    return [parent, *one, *other]


def test_a_tree_with_branches_is_cut_into_many_parts_and_a_small_trunk():
    cut = cut_machine(binary(10_000))
    sizes = [sum(map(len, part)) for part in cut.parts]
    assert 16 <= len(sizes) <= 64
    assert max(sizes) <= 10_000 / 16 + 10_000 / 64
    assert len(cut.trunk) < 100


@pytest.mark.parametrize(
    "tree",
    [
        Tree((WORLD, *range(9999))),
        Tree((WORLD, *([0] * 9999))),
        binary(subtrees.BODIES - 1),
    ],
    ids=["a chain", "a star", "small"],
)
def test_what_would_gain_nothing_is_not_cut(tree):
    assert cut_machine(tree) is None


# -- the same bits ---------------------------------------------------------------------------


def machine(tree, massless=None):
    """Joints of several kinds on a tree; where a leaf has no mass, nothing resists its joint."""
    rng = np.random.default_rng(len(tree))
    builder = pp.ModelBuilder("tree", strict=massless is None)
    for k, parent in enumerate(tree.parent):
        axis = tuple(rng.normal(size=3))
        joint = pp.joints.Prismatic(axis) if k % 5 == 3 else pp.joints.Revolute(axis)
        body = {"mass": 1.0 + rng.random(), "com": 0.1 * rng.normal(size=3)}
        if k == massless:
            body = {"mass": 0.0}
        else:
            body["inertia"] = np.eye(3)
        builder.add_body(
            f"b{k}",
            "world" if parent == WORLD else f"b{parent}",
            pp.joints.Free() if k == 0 else joint,
            position=0.3 * rng.normal(size=3),
            **body,
        )
    return builder.build()


def rolled(model, expression, **options):
    return pp.compile(model, expression, unroll=False, backend="llvm", **options)


def states(model, *batch):
    rng = np.random.default_rng(1)
    q = np.array([model.random(rng) for _ in range(int(np.prod(batch)))])
    return q.reshape(*batch, model.nq), *rng.normal(size=(2, *batch, model.nv))


@pytest.mark.parametrize("expression", [FALL, [Mass @ T + C, V]], ids=["forward", "inverse"])
@pytest.mark.parametrize("batch", [(), (3,), (21,)], ids=str)
def test_subtrees_give_the_bits_of_one_thread_and_the_numbers_of_the_interpreter(
    monkeypatch, default, expression, batch
):
    tree = binary(150)
    whole = rolled(machine(tree), expression)
    arguments = states(whole.model, *batch)
    right = np.asarray(joined(whole(*arguments)))
    monkeypatch.setattr(subtrees, "BODIES", 100)
    model = machine(tree)
    function = rolled(model, expression)
    for threads in (1, 2, 3, 8):
        set_threads(threads)
        before = tasks_so_far()
        assert np.array_equal(joined(function(*arguments)), right)
        if threads > 1 and len(batch) == 0:
            assert tasks_so_far() > before  # subtrees were offered to others
    exact = pp.compile(model, expression, backend="numpy")(*arguments)
    assert np.allclose(right, joined(exact), rtol=1e-10, atol=1e-10)


def test_products_with_jacobians_share_subtrees_with_the_bits_of_one_thread(monkeypatch, default):
    tree = binary(150)
    q, v, forces = states(machine(tree))
    w = np.random.default_rng(2).normal(size=len(v))
    results = []
    for bodies in (1000, 100):
        monkeypatch.setattr(subtrees, "BODIES", bodies)
        function = rolled(machine(tree), FALL)
        for threads in (1, 3):
            set_threads(threads)
            before = tasks_so_far()
            products = function.jvp(q, v, forces, w, v, w), *function.vjp(q, v, forces, w)
            results.append(joined(products))
            assert (tasks_so_far() > before) == (bodies == 100 and threads > 1)
    assert all(np.array_equal(x, results[0]) for x in results)


def joined(results):
    several = results if isinstance(results, tuple) else (results,)
    return np.concatenate([np.ravel(x) for x in several])


def test_a_machine_of_thousands_of_bodies_is_cut_as_it_is(default):
    model = machine(binary(subtrees.BODIES))
    function = rolled(model, FALL)
    arguments = states(model)
    right, before = function(*arguments), tasks_so_far()
    assert tasks_so_far() == before  # with one thread, nobody is asked
    set_threads(2)
    for _ in range(20):
        assert np.array_equal(function(*arguments), right)
    assert tasks_so_far() >= before + 20 * function.info().sweeps


@pytest.mark.parametrize("expression", [Mass, V.T @ M @ V], ids=["columns", "a sum"])
def test_what_has_columns_or_sums_over_the_machine_is_left_to_one_thread(
    small, default, expression
):
    model = machine(binary(40))
    q, v, _ = states(model)
    set_threads(3)
    before = tasks_so_far()
    found = rolled(model, expression)(q, v)
    assert tasks_so_far() == before
    exact = pp.compile(model, expression, backend="numpy")(q, v)
    assert np.allclose(found, exact, rtol=1e-10, atol=1e-10)


def test_a_body_may_write_its_own_numbers_those_of_its_parent_and_its_results():
    graph = Graph()

    def writes(*place, over=None, **more):
        store = Store(Address(*place, 0, **more), graph.constant(1.0))
        return is_separable(Template(graph, [Region(over, [store])]))

    assert writes(("work",), (("own",),))
    assert writes(("work",), (("parent",),))
    assert writes(("out", 0), (("rows",),))
    assert not writes(("work",), ())
    assert not writes(("out", 0), ())
    assert not writes(("work",), (("world", "sum"),))
    assert not writes(("work",), (("own",),), over=("columns", None, 1))
    assert not writes(("out", 0), (("v",),), stride=("stride", 0))


def test_joints_that_follow_others_are_left_to_one_thread(small, default):
    builder = pp.ModelBuilder("fingers")
    builder.add_body("palm", mass=1.0, inertia=np.eye(3))
    for k in range(30):
        follows = ("f0_joint", 0.5, 0.1) if k else None
        builder.add_body(f"f{k}", "palm", mass=1.0, inertia=np.eye(3), mimic=follows)
        builder.add_body(f"g{k}", f"f{k}", mass=1.0, inertia=np.eye(3), mimic=follows)
    model = builder.build()
    q, v, _ = states(model)
    set_threads(3)
    before = tasks_so_far()
    bias = rolled(model, C)(q, v)
    assert tasks_so_far() == before
    exact = pp.compile(model, C, backend="numpy")(q, v)
    assert np.allclose(bias, exact, rtol=1e-10, atol=1e-10)


def test_what_goes_wrong_in_a_subtree_is_said_as_ever(monkeypatch, default):
    tree = binary(150)
    monkeypatch.setattr(subtrees, "BODIES", 100)
    model = machine(tree, massless=149)
    assert not tree.children[149]
    function = rolled(model, FALL)
    said = []
    for threads in (1, 4):
        set_threads(threads)
        with pytest.raises(pp.SolveError) as error:
            function(*states(model))
        said.append(str(error.value))
    assert said[0] == said[1]
    assert "b149_joint" in said[0]
