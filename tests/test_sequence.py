"""Kernels in turn, step after step: what is fed back, given, kept, iterated, noticed."""

import numpy as np
import pytest
from hand_kernels import WIDTHS, target
from numpy.testing import assert_array_equal

from phipsi.backends.gufunc import Plan, make_gufunc
from phipsi.backends.kernel import write_kernel
from phipsi.backends.llvm import compile_module
from phipsi.backends.partition import Task
from phipsi.backends.sequence import ITERATIONS, Call, Steps
from phipsi.graph.graph import Graph

every_width = pytest.mark.parametrize("lanes", WIDTHS)
BATCHES = (1, 7, 8, 9, 33)


def task(function, **sizes):
    """A function of lists of numbers, which returns lists of numbers, and what must be true."""
    graph = Graph()
    arguments = [[graph.input((name, i)) for i in range(n)] for name, n in sizes.items()]
    outputs, checks = function(*arguments)
    nodes = tuple(tuple(graph.node(x) for x in output) for output in outputs)
    return Task(graph, tuple(sizes), nodes, tuple(checks))


class Machine:
    """Steps as a function of arrays, with kernels for tiles and for single states."""

    def __init__(self, steps, lanes):
        self.steps, self.target = steps, target("host", lanes)
        kernels = {width: write_kernel(steps, width) for width in {lanes, 1}}
        self.code = {x: compile_module(y.text, target("host", x)) for x, y in kernels.items()}
        self.work = 8 * lanes * kernels[1].work

    def run(self, state, given, kept, inner, held=()):
        """States after every `inner` steps, and how often something was noticed; `held`: what
        could vary and does not."""
        steps = self.steps
        varies = [k in steps.rows and k not in held for k in range(len(steps.given))]
        tables = np.array([kept, inner, *(varies[k] for k in steps.rows)], np.int64)
        rows = [
            (kept * inner, n) if own else (n,) for own, n in zip(varies, steps.given, strict=True)
        ]
        plan = Plan(
            self.target,
            [*((n,) for n in steps.state), *rows],
            [(kept, n) for n in steps.state],
            lanes=self.code[self.target.lanes].address("kernel"),
            single=self.code[1].address("kernel"),
            few=1,
            work=self.work,
            tables=tables.ctypes.data,
            keep=(self.code, tables),
        )
        results = make_gufunc(plan, "steps", "")(*state, *given)
        return results, plan.counter[0]


# -- two parts of a state, two kernels, room between them ------------------------------------


def add_up(x, u):
    """s = x0 + x1 + u; x0 must be below 1000."""
    total = x[0] + x[1] + u[0]
    return [[total]], [x[0].graph.less(x[0], 1000.0)]


def go_on(x, y, s, p):
    """x = (x1, s), y = y + p x0."""
    return [[x[1], s[0]], [y[0] + p[0] * x[0]]], []


FIBONACCI = Steps(
    tasks=(task(add_up, x=2, u=1), task(go_on, x=2, y=1, s=1, p=1)),
    state=(2, 1),
    given=(1, 1),
    rows=(0,),
    calls=(
        Call(0, (("state", 0), ("given", 0)), (("room", 0),)),
        Call(
            1, (("state", 0), ("state", 1), ("room", 0), ("given", 1)), (("next", 0), ("next", 1))
        ),
    ),
    room=1,
)


def fibonacci(x, y, u, p, kept, inner):
    """The same by loops; numbers are whole, so that nothing is rounded."""
    outs = [], []
    for n in range(kept * inner):
        s = x[:, :1] + x[:, 1:] + u[:, n]
        y = y + p * x[:, :1]
        x = np.concatenate([x[:, 1:], s], axis=1)
        if (n + 1) % inner == 0:
            for out, part in zip(outs, (x, y), strict=True):
                out.append(part)
    return [np.stack(out, axis=1) for out in outs]


def whole(rng, *shape):
    return rng.integers(-5, 6, shape).astype(float)


@every_width
def test_steps_are_the_loop_that_they_stand_for(lanes):
    """Every state in its lane, every row of what varies at its step, every `inner` kept."""
    machine = Machine(FIBONACCI, lanes)
    for batch in BATCHES:
        for kept, inner in ((1, 1), (4, 1), (1, 5), (3, 4)):
            rng = np.random.default_rng(batch)
            x, y, p = whole(rng, batch, 2), whole(rng, batch, 1), whole(rng, batch, 1)
            u = whole(rng, batch, kept * inner, 1)
            found, alarms = machine.run((x, y), (u, p), kept, inner)
            for ours, theirs in zip(found, fibonacci(x, y, u, p, kept, inner), strict=True):
                assert_array_equal(ours, theirs)
            assert alarms == 0


def test_what_is_given_broadcasts():
    machine = Machine(FIBONACCI, 8)
    rng = np.random.default_rng(0)
    x, y, u, p = whole(rng, 10, 2), whole(rng, 1), whole(rng, 10, 6, 1), whole(rng, 1)
    wide = [np.broadcast_to(a, (10, 1)) for a in (y, p)]
    found, _ = machine.run((x, y), (u, p), 3, 2)
    for ours, theirs in zip(found, fibonacci(x, wide[0], u, wide[1], 3, 2), strict=True):
        assert_array_equal(ours, theirs)


def test_one_row_may_serve_all_steps():
    """By the code that takes a row for each: the table says which."""
    machine = Machine(FIBONACCI, 4)
    rng = np.random.default_rng(2)
    x, y, u, p = whole(rng, 9, 2), whole(rng, 9, 1), whole(rng, 9, 1), whole(rng, 9, 1)
    found, _ = machine.run((x, y), (u, p), 3, 2, held=[0])
    rows = np.repeat(u[:, None], 6, axis=1)
    for ours, theirs in zip(found, fibonacci(x, y, rows, p, 3, 2), strict=True):
        assert_array_equal(ours, theirs)


@every_width
def test_a_kernel_that_complains_at_any_step_is_heard(lanes):
    machine = Machine(FIBONACCI, lanes)
    rng = np.random.default_rng(1)
    x, y, p = whole(rng, 9, 2), whole(rng, 9, 1), whole(rng, 9, 1)
    u = np.zeros((9, 6, 1))
    assert machine.run((x, y), (u, p), 3, 2)[1] == 0
    u[4, 2] = 2000.0  # seen as x0 two steps later
    assert machine.run((x, y), (u, p), 3, 2)[1] == 1
    u[4, 2], u[4, 4] = 0.0, 2000.0  # too late to be seen
    assert machine.run((x, y), (u, p), 3, 2)[1] == 0


# -- iteration -------------------------------------------------------------------------------


def improve(x, root, turns, s):
    """Heron's method for the root of s + x, which counts its turns; the change is above 1 while
    two roots differ by more than a millionth."""
    new = 0.5 * (root[0] + (s[0] + x[0]) / root[0])
    return [[x[0] + new], [new], [turns[0] + 1.0], [abs(new - root[0]) * 1e6]], []


HERON = Steps(
    tasks=(task(improve, x=1, root=1, turns=1, s=1),),
    state=(1, 1, 1),
    given=(1,),
    rows=(),
    calls=(
        Call(
            0,
            (("state", 0), ("room", 0), ("room", 2), ("given", 0)),
            (("next", 0), ("room", 1), ("room", 3), ("room", 4)),
        ),
    ),
    room=5,
    iterated={1: (0, 1), 2: (2, 3)},
    change=4,
)


def heron(x, root, s, steps):
    """The same, one state at a time: what was found is kept, the last turn counts no more."""
    turns = 0.0
    for _ in range(steps):
        for _ in range(ITERATIONS):
            new = 0.5 * (root + (s + x) / root)
            if not abs(new - root) * 1e6 > 1.0:
                break
            root, turns = new, turns + 1.0
        x = x + new
    return x, root, turns


@every_width
def test_iteration_goes_on_until_all_lanes_are_done_and_leaves_those_alone_that_are(lanes):
    machine = Machine(HERON, lanes)
    s = 10.0 ** np.arange(-8.0, 9.0)[:, None]
    x, root, turns = np.zeros_like(s), np.ones_like(s), np.zeros_like(s)
    found, alarms = machine.run((x, root, turns), (s,), 2, 3)
    assert alarms == 0
    for k, number in enumerate(s[:, 0]):
        expected = heron(0.0, 1.0, number, 6)
        assert [float(part[k, -1, 0]) for part in found] == pytest.approx(expected, rel=1e-12)
        assert found[2][k, -1, 0] == expected[2], "turns"
    assert len(set(found[2][:, -1, 0])) > 5, "they need different numbers of turns"


@every_width
def test_states_do_not_depend_on_their_neighbours(lanes):
    machine = Machine(HERON, lanes)
    s = 10.0 ** np.linspace(-8.0, 8.0, 19)[:, None]
    state = np.zeros_like(s), np.ones_like(s), np.zeros_like(s)
    together, _ = machine.run(state, (s,), 3, 2)
    for k in range(len(s)):
        alone, _ = machine.run([part[k] for part in state], (s[k],), 3, 2)
        for ours, theirs in zip(alone, together, strict=True):
            assert ours.tobytes() == theirs[k].tobytes()


@every_width
def test_iteration_without_an_end_is_given_up_and_heard(lanes):
    def wander(x, root):
        return [[x[0]], [root[0] + 1.0], [2.0 + 0.0 * root[0]]], []

    steps = Steps(
        (task(wander, x=1, root=1),),
        (1, 1),
        (1,),
        (),
        (Call(0, (("state", 0), ("room", 0)), (("next", 0), ("room", 1), ("room", 2))),),
        3,
        {1: (0, 1)},
        2,
    )
    machine = Machine(steps, lanes)
    (x, root), alarms = machine.run((np.ones((3, 1)), np.zeros((3, 1))), (np.ones(1),), 1, 1)
    assert_array_equal(x[:, 0], np.ones((3, 1)))
    assert_array_equal(root[:, 0], np.full((3, 1), float(ITERATIONS)))
    assert alarms > 0


@every_width
def test_no_number_is_no_change(lanes):
    """A lane without numbers does not keep the others waiting; its results show it."""
    machine = Machine(HERON, lanes)
    s = np.array([4.0, 9.0, 16.0])[:, None]
    root = np.array([1.0, np.nan, 1.0])[:, None]
    (x, _, turns), _ = machine.run((np.zeros_like(s), root, np.zeros_like(s)), (s,), 1, 1)
    assert_array_equal(np.isnan(x[:, 0, 0]), [False, True, False])
    assert turns[1, 0, 0] == 0.0
    assert turns[0, 0, 0] == heron(0.0, 1.0, 4.0, 1)[2]
