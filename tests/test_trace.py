"""A program on a machine as one graph, and the checks in it: where one holds, nobody complains."""

import functools

import machines
import numpy as np
import pytest
from hypothesis import given, settings
from symbols import A
from test_function import FALL, llvm, numpy, states
from test_function_errors import feather, follower, gimbals, gyroscope
from test_function_results import EXPRESSIONS, W, values

import phipsi as pp
from phipsi import joints
from phipsi.compile import make_program
from phipsi.function import Function
from phipsi.function.call import Options
from phipsi.graph.graph import Graph, GraphTooLargeError
from phipsi.lowering.trace import trace
from phipsi.operators import C, D, J, Mass, S_q, T, beta, operator

STATES = 200  # near a singularity
PROJECTED = S_q.T @ Mass @ S_q
F = operator("F", "point", "point")


def job_of(model, expression, points=()):
    """What would be compiled."""
    several = not hasattr(expression, "source")
    expressions = tuple(expression) if several else (expression,)
    program = make_program(expressions, plain=not model.has_mimics)
    function = Function(model, expressions, several, program, Options())
    return function._computation(function._bodies(function._lists(points)))


def traced(model, expression, points=(), limit=None):
    job = job_of(model, expression, points)
    return trace(job.program, job.machine, job.points, job.matrices, Graph(limit))


def keyed(arguments, batch=()):
    """Arguments as the inputs of a graph; blocks of operators one after the other."""
    found = {}
    for name, value in arguments.items():
        if isinstance(value, list):
            value = np.concatenate([x.reshape(*x.shape[:-2], -1) for x in value], axis=-1)
        value = np.asarray(value)
        entries = value[..., None] if value.shape == batch else value
        found |= {(name, i): entries[..., i] for i in range(entries.shape[-1])}
    return found


# -- what it computes ------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_the_graph_computes_what_the_interpreter_does(name):
    model = machines.MARKET["welded"]()
    expression = EXPRESSIONS[name]
    arguments = values(model, expression)
    expected = numpy(model, expression)(**arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    found = traced(model, expression)
    for nodes, answer in zip(found.outputs, expected, strict=True):
        numbers = np.array(found.graph.evaluate(nodes, keyed(arguments)), float)
        assert np.allclose(numbers, answer.reshape(-1), rtol=1e-12, atol=1e-12)
    assert all(found.graph.evaluate(found.checks, keyed(arguments)))


@given(machines.machines_with_states(max_bodies=8, mimics=(False, True)))
@settings(max_examples=40)
def test_graphs_of_random_machines(machine):
    model, q, v = machine
    found = traced(model, [C, Mass])
    for nodes, answer in zip(found.outputs, numpy(model, [C, Mass])(q, v), strict=True):
        numbers = found.graph.evaluate(nodes, keyed({"q": q, "v": v}))
        assert np.allclose(np.array(numbers, float), answer.reshape(-1), rtol=1e-10, atol=1e-10)


def test_points_are_inputs_list_by_list():
    model = machines.MARKET["welded"]()
    points = [pp.point("hand", (1.0, 2.0, 3.0)), pp.point("arm", (4.0, 5.0, 6.0))]
    own = pp.point("hand", (7.0, 8.0, 9.0))
    expression = J.T @ J @ beta + J(own).T @ J(own) @ beta
    found = traced(model, expression, points)
    q, v, _ = states(model)
    places = [x.position for x in (*points, own)]
    inputs = keyed({"q": q, "v": v, "points": np.concatenate(places)})
    numbers = found.graph.evaluate(found.outputs[0], inputs)
    assert np.allclose(numbers, numpy(model, expression)(q, v, points=points), rtol=1e-12)


def test_a_limit_is_honoured_and_a_pivot_of_zero_is_noticed():
    assert len(traced(pp.chain(3), FALL, limit=2000).outputs[0]) == 3
    with pytest.raises(GraphTooLargeError):
        traced(pp.chain(3), FALL, limit=100)
    with pytest.raises(ZeroDivisionError):
        traced(feather(), FALL)


def test_the_structure_saves_operations():
    """A body more of a chain costs the same, and what is zero or one costs nothing."""
    live = []
    for n in (5, 7, 9):
        found = traced(pp.chain(n), FALL)
        live.append(len(found.graph.live([*found.outputs[0], *found.checks])))
    assert live[2] - live[1] == live[1] - live[0] > 0
    assert all(x.op in ("constant", "input") for x in traced(pp.chain(3), [T, beta]).outputs[0])


# -- checks ----------------------------------------------------------------------------------


def is_refused(function, **arguments):
    try:
        function(**arguments)
    except pp.SolveError:
        return True
    return False


def near(rng, count, lowest):
    """Numbers of either sign, of every size from 10**lowest to 1."""
    return rng.choice([-1.0, 1.0], count) * 10.0 ** rng.uniform(lowest, 0.0, count)


def gimbal_states(rng, count, lowest=-9):
    q = rng.uniform(-3.0, 3.0, (count, 3))
    q[:, 1] = np.pi / 2 + near(rng, count, lowest)
    return {"q": q, "v": rng.normal(size=(count, 3)), "T": rng.normal(size=(count, 3))}


def rods(seed):
    """Three hinges through one point, about any axes, on a body that may be hardly there."""
    rng = np.random.default_rng(seed)
    first, second = machines.random_axis(rng), machines.random_axis(rng)
    builder = pp.ModelBuilder(f"rods {seed}")
    builder.add_body("z", joint=joints.Revolute(first))
    builder.add_body("y", "z", joints.Revolute(np.cross(first, second)))
    sizes = 10.0 ** rng.uniform(-3.0, 0.0, 3)
    inertia = sizes.sum() - sizes  # of a body about its own axes
    body = {"mass": 1.0, "com": rng.normal(size=3), "inertia": inertia}
    builder.add_body("x", "y", joints.Revolute(first), **body)
    return builder.build()


def rod_states(rng, count):
    """The outer hinges nearly in line."""
    state = gimbal_states(rng, count)
    state["q"][:, 1] = near(rng, count, -9)
    return state


def nearly_singular(rng, count, n, lowest=-17):
    """Matrices of which one singular value is small."""
    U, sizes, V = np.linalg.svd(rng.normal(size=(count, n, n)))
    sizes[:, -1] = np.abs(near(rng, count, lowest))
    return U @ (sizes[..., None] * V)


def block_states(name, n, blocks, lowest=-17):
    def make(rng, count):
        q = np.tile(machines.random_state(machines.MARKET["welded"](), rng)[0], (count, 1))
        value = [nearly_singular(rng, count, n, lowest) for _ in range(blocks)]
        return {"q": q, "v": None, name: value}

    return make


def root_states(rng, count):
    """Symmetric or nearly so, positive or nearly so."""
    state = block_states("A", 6, 2)(rng, count)
    for k, x in enumerate(state["A"]):
        sizes = np.abs(rng.normal(size=(count, 6)))
        sizes[:, 0] = near(rng, count, -17)
        Q = np.linalg.qr(x)[0]
        lopsided = near(rng, count, -14)[:, None, None] * rng.normal(size=(count, 6, 6))
        state["A"][k] = Q @ (sizes[..., None] * np.swapaxes(Q, -1, -2)) + lopsided * (k == 0)
    return state


def follower_states(rng, count):
    state = gimbal_states(rng, count)
    return {"q": state["q"], "v": None, "s": rng.normal(size=(count, 3))}


s = EXPRESSIONS["a block of coordinates"].factors[-1]
WELDED = machines.MARKET["welded"]
SINGULAR = {
    "three angles of one joint": (gyroscope, FALL, gimbal_states),
    "three angles, small": (lambda: gyroscope(1e-9, 1e-3), FALL, gimbal_states),
    "hinges of massless bodies": (gimbals, FALL, gimbal_states),
    "inverse of the mass matrix": (gimbals, Mass.inv, gimbal_states),
    **{f"rods {seed}": (lambda seed=seed: rods(seed), FALL, rod_states) for seed in range(4)},
    "roots of D": (gyroscope, D.sqrt, gimbal_states),
    "blocks of bodies": (WELDED, A.inv, block_states("A", 6, 2)),
    "roots of blocks": (WELDED, A.sqrt, root_states),
    "a dense matrix": (WELDED, W.inv @ s, None),
    "projected": (follower, PROJECTED.inv @ s, follower_states),
    "at points": (gimbals, (J @ J.T).inv, gimbal_states),
}


def dense_states(rng, count):
    state = block_states("W", 4, 1)(rng, count)
    return state | {"s": rng.normal(size=(count, 4))}


def taken(arguments, i):
    """The arguments of one state."""
    blocks = {
        name: [x[i] for x in value] for name, value in arguments.items() if type(value) is list
    }
    others = {name: x[i] for name, x in arguments.items() if isinstance(x, np.ndarray)}
    return {"v": None} | others | blocks


@functools.cache
def sampled(case):
    """A machine, an expression, states near its singularities, and which of them are refused."""
    make, expression, draw = SINGULAR[case]
    model, rng = make(), np.random.default_rng(5)
    arguments = (draw or dense_states)(rng, STATES)
    function = numpy(model, expression)
    arguments = {name: x for name, x in arguments.items() if name in function.inputs}
    points = {"points": ["x"]} if case == "at points" else {}
    refused = [is_refused(function, **taken(arguments, i), **points) for i in range(STATES)]
    return model, expression, arguments, points, np.array(refused)


@pytest.mark.parametrize("case", SINGULAR)
def test_whatever_is_refused_was_checked(case):
    """States near singularities of every kind: every SolveError comes with a check that fails."""
    model, expression, arguments, points, refused = sampled(case)
    found = traced(model, expression, points.get("points", ()))
    inputs = keyed({name: x for name, x in arguments.items() if x is not None}, (STATES,))
    if points:
        inputs |= {("points", i): 0.0 for i in range(3)}
    with np.errstate(all="ignore"):
        checks = found.graph.evaluate(found.checks, inputs)
    held = np.all([np.broadcast_to(x, STATES) for x in checks], axis=0)
    assert refused.any() and not (refused & held).any()
    if not points:
        assert held.any()


@pytest.mark.parametrize("case", SINGULAR)
@pytest.mark.parametrize("unroll", [True, False])
@pytest.mark.filterwarnings("ignore::phipsi.errors.SlowPathWarning")
def test_machine_code_refuses_exactly_what_the_interpreter_refuses(case, unroll):
    model, expression, arguments, points, refused = sampled(case)
    function = llvm(model, expression, unroll=unroll)
    found = [is_refused(function, **taken(arguments, i), **points) for i in range(STATES)]
    assert np.array_equal(found, refused)
    assert is_refused(function, **arguments, **points)


def test_a_quaternion_is_checked():
    model = WELDED()
    q, v, _ = states(model)
    found = traced(model, C)
    for factor, holds in ((1.0, True), (1.0 + 1e-8, True), (1.0 + 1e-6, False), (0.0, False)):
        scaled = np.append(q[:1], factor * q[1:])
        checks = found.graph.evaluate(found.checks, keyed({"q": scaled, "v": v}))
        assert all(checks) is holds
