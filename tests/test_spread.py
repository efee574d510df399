"""Results whose numbers repeat: tiles keep each number once, arrays get all of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import phipsi as pp
from phipsi.backends.gufunc import Plan
from phipsi.backends.llvm import Target
from phipsi.backends.partition import Spreading, Task
from phipsi.backends.transpose import LEAST_ALIGNED, MANY, ZEROS
from phipsi.graph.graph import Graph
from phipsi.operators import J, Mass, S_q, V, X

LAYOUTS = {
    "ordinary": lambda n, k: np.full((k, n, n), np.nan),
    "rows with gaps": lambda n, k: np.full((k, n, n + 3), np.nan)[:, :, :n],
    "every other row": lambda n, k: np.full((k, 2 * n, n), np.nan)[:, ::2],
    "turned": lambda n, k: np.full((k, n, n), np.nan).transpose(0, 2, 1),
    "states side by side": lambda n, k: np.full((n, n, k), np.nan).transpose(2, 0, 1),
    "backwards": lambda n, k: np.full((k, n, n), np.nan)[::-1, ::-1, ::-1],
}


@pytest.fixture(scope="module")
def tree():
    """Branches of five joints on a body that floats: zeros between them, and symmetry."""
    builder = pp.ModelBuilder("tree")
    builder.add_body("trunk", joint=pp.joints.Free(), mass=5.0, inertia=(1.0, 2.0, 2.5))
    for branch in range(3):
        parent = "trunk"
        for k in range(5):
            name = f"{branch}.{k}"
            joint = pp.joints.Revolute(axis=(branch == 0, branch == 1, 1.0))
            where = {"position": (0.1, 0.2 * branch, 0.3), "parent": parent}
            builder.add_body(name, joint=joint, mass=1.0, inertia=(0.1, 0.2, 0.25), **where)
            parent = name
    return builder.build()


def states(model, count):
    rng = np.random.default_rng(7)
    return np.array([model.random(rng) for _ in range(count)])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("count", [1, 7, 8, 9, 37])
@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_every_layout_of_a_batch_has_the_bits_of_single_states(tree, layout, count, lanes):
    function = pp.compile(tree, S_q.T @ Mass @ S_q, lanes=lanes)
    q = states(tree, count)
    alone = np.array([pp.compile(tree, S_q.T @ Mass @ S_q, lanes=1)(x) for x in q])
    out = LAYOUTS[layout](tree.nv, count)
    assert np.count_nonzero(alone[0] == 0.0) >= 150  # between the branches
    np.testing.assert_array_equal(function(q, out=out), alone)
    np.testing.assert_array_equal(out, alone)


def test_bytes_beside_the_results_are_left_alone(tree):
    q, n = states(tree, 21), tree.nv
    room = np.full((21, n, n + 3), 7.0)
    pp.mass_matrix(tree, q, out=room[:, :, :n])
    assert (room[:, :, n:] == 7.0).all()
    np.testing.assert_array_equal(room[:, :, :n], pp.mass_matrix(tree, q))


@pytest.mark.parametrize("dtype", [float, np.float32])
@pytest.mark.parametrize("spread", [True, False])
@pytest.mark.parametrize("begin", range(9))
def test_wherever_results_begin_in_a_cache_line_they_are_the_same(tree, begin, spread, dtype):
    """Long rows are stored from the border of half a line on; what comes before goes first."""
    model, expression = (tree, Mass) if spread else (pp.examples.chain(60), V)
    function = pp.compile(model, expression, dtype=dtype)
    q = states(model, 21).astype(dtype)
    v = np.random.default_rng(8).normal(size=(21, model.nv)).astype(dtype)
    arguments = (q,) if spread else (q, v)
    alone = np.array([function(*x) for x in zip(*arguments, strict=True)])
    assert alone[0].size >= LEAST_ALIGNED
    room = np.full(alone.size + 32, 7.0, dtype)
    first = -room.ctypes.data % 64 // room.itemsize + begin
    out = room[first : first + alone.size].reshape(alone.shape)
    np.testing.assert_array_equal(function(*arguments, out=out), alone)
    assert (room[:first] == 7.0).all() and (room[first + alone.size :] == 7.0).all()


def test_single_precision_is_spread_too(tree):
    q = states(tree, 37).astype(np.float32)
    function = pp.compile(tree, Mass, dtype=np.float32)
    alone = np.array([function(x) for x in q])
    np.testing.assert_array_equal(function(q), alone)


def test_threads_share_spread_results(tree):
    q = states(tree, 5000)
    one = pp.mass_matrix(tree, q, threads=1)
    np.testing.assert_array_equal(pp.mass_matrix(tree, q, threads=2), one)


def test_jacobians_of_branches_have_their_zeros(tree):
    points = [pp.point("0.4", (0.1, 0.2, 0.3)), pp.point("2.4")]
    function = pp.compile(tree, X(*points) @ J(*points))
    q = states(tree, 33)
    np.testing.assert_array_equal(function(q), np.array([function(x) for x in q]))
    expected = pp.compile(tree, X(*points) @ J(*points), backend="numpy")(q)
    np.testing.assert_allclose(function(q), expected, rtol=0, atol=1e-13)


# -- what is kept ----------------------------------------------------------------------------


def a_task(*outputs):
    """A task of the given entries: numbers of an input by their places, None for zero."""
    graph = Graph()
    entries = [
        tuple(graph.zero if x is None else graph.input(("q", x)) for x in one) for one in outputs
    ]
    return Task(graph, ("q",), tuple(entries))


def test_numbers_are_kept_once_and_zero_first():
    row = [3, None, 5, 3] * 16
    task, (spread,) = a_task(row).keeping_once()
    assert len(task.outputs[0]) == spread.kept == 3
    assert task.outputs[0][0] is task.graph.zero and spread.has_zero
    entries = [task.graph.zero if x is None else task.graph.input(("q", x)) for x in row]
    assert [task.outputs[0][i] for i in spread.places] == entries


@pytest.mark.parametrize("row", [[0, None] * 8, list(range(100)), [*range(80), *[None] * 20]])
def test_outputs_that_are_short_or_repeat_little_stay_as_they_are(row):
    task, spreads = a_task(row).keeping_once()
    assert spreads == (None,) and len(task.outputs[0]) == len(row)


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from([None, 0, 1, 2]), min_size=64, max_size=200), st.sampled_from([2, 8])
)
def test_a_place_says_zeros_just_where_as_many_follow_as_are_moved_at_a_time(row, lanes):
    _, (spread,) = a_task(row).keeping_once()
    host = Target.host()
    target = Target(host.cpu, host.features, lanes)
    plan = Plan(target, [(3,)], [(len(row),)], lanes=0, spreads=[spread])
    (places,) = plan._places
    for k, place in enumerate(places):
        run = row[k : k + MANY]
        assert (place == ZEROS) == (len(run) == MANY and set(run) == {None})
        assert place == ZEROS or place == 8 * lanes * spread.places[k]


def test_a_tile_has_room_for_one_state_as_it_is():
    host = Target.host()
    target = Target(host.cpu, host.features, 2)
    spread = Spreading((0,) * 64, 1, True)
    plan = Plan(target, [(3,)], [(64,)], lanes=0, spreads=[spread])
    assert plan._kept((64,), spread)[0] == 32
