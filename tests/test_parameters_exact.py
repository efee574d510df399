"""A machine whose numbers are arguments equals the machine that has these numbers.

The other machine is rebuilt by plain matrices, and asked densely.
"""

import expressions
import machines
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from parametrised import evaluated, keyed, random_names, random_values, rebuilt, traced
from symbols import assert_close, free_names

import phipsi as pp
from phipsi.dynamics.energy import KINETIC
from phipsi.graph.derive import jacobian
from phipsi.operators import (
    HH,
    B,
    C,
    D,
    Delta_phi,
    E,
    G,
    H,
    H_dot,
    I,
    J,
    Jm,
    K,
    M,
    Mass,
    Omega,
    P,
    R,
    S_q,
    T,
    U,
    V,
    X,
    alpha,
    beta,
    beta_dot,
    c,
    phi,
    pose,
    psi,
)

SCALE = 1e-2  # what counts as zero beside it, in SI units
FD, ID = Mass.inv @ (T - C), Mass @ beta_dot + C
PROJECTED = (S_q.T @ Mass @ S_q).inv @ (S_q.T @ (T - C))
DYNAMICS = (FD, ID, Mass, Mass.inv, J, KINETIC, U, pose, PROJECTED)
LETTERS = (P, D, G, K, psi, phi, M, R, Omega, H.T, H_dot, Delta_phi, Jm, B.T, X, c, alpha, V, HH(0))
OTHERS = (E.T @ phi @ M @ V, (M + I).sqrt, P.inv, J @ Mass.inv @ J.T, beta.T @ Jm @ beta)

seeds = st.integers(0, 2**32 - 1)


def asked(model, members, rng):
    """A state, points and values for the free symbols of some expressions."""
    q, v = machines.random_state(model, rng)
    values = expressions.values_for(model, rng)
    names = set().union(*map(free_names, members))
    return q, v, expressions.points_on(model), {name: values[name] for name in names}


def assert_equal_rebuilt(model, members, rng, share=0.5):
    names = random_names(model, rng, share)
    values = random_values(model, names, rng)
    q, v, points, given = asked(model, members, rng)
    found = evaluated(model, members, values, q, v, points, **given)
    other = rebuilt(model, values)
    for expression, value in zip(members, found, strict=True):
        needed = {name: given[name] for name in free_names(expression)}
        meant = pp.as_matrix(other, expression, q, v, points=points, **needed)
        assert_close(value, meant, SCALE, 1e-9)


@settings(max_examples=40)
@given(machines.machines(max_bodies=7, rotors=(False, True), mimics=(False, True)), seeds)
def test_dynamics_of_random_machines_equal_those_of_the_rebuilt_machine(model, seed):
    assert_equal_rebuilt(model, DYNAMICS, np.random.default_rng(seed))


@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize(
    "machine", ["tree_of_every_kind", "mimics", "welded", "free_base_tree", "puma560", "forest"]
)
def test_letters_equal_those_of_the_rebuilt_machine(machine, share):
    """Also those whose numbers depend on where the origins of link frames are."""
    model = machines.MARKET[machine]()
    for members in (LETTERS, OTHERS, DYNAMICS):
        assert_equal_rebuilt(model, members, np.random.default_rng(3), share)


@pytest.mark.parametrize("kind", machines.ALL_KINDS)
@pytest.mark.parametrize("quantity", ["position", "placement"])
def test_every_kind_of_joint_may_be_placed_anywhere(kind, quantity):
    """Behind it and before it are axes that its nominal placement makes parallel."""
    rng = np.random.default_rng(8)
    builder = pp.ModelBuilder("seat")
    hinge, mass = pp.joints.Revolute((0, 0, 1)), machines.random_inertia(rng)
    builder.add_body("a", "world", hinge, **mass)
    builder.add_body("b", "a", kind(rng), position=(0.5, 0.0, 0.0), **mass)
    builder.add_body("c", "b", hinge, position=(0.5, 0.0, 0.0), **mass)
    model = builder.build()
    values = random_values(model, [f"b_joint.{quantity}"], rng)
    q, v = machines.random_state(model, rng)
    tau = rng.normal(size=model.nv)
    for members in ((FD, P, pose), (FD, Mass)):  # origins that stay, and that slide
        found = evaluated(model, members, values, q, v, T=tau)
        other = rebuilt(model, values)
        for expression, value in zip(members, found, strict=True):
            needed = {"T": tau} if expression is FD else {}
            assert_close(value, pp.as_matrix(other, expression, q, v, **needed), SCALE)


# -- batches -------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", ["tree_of_every_kind", "mimics", "puma560"])
def test_batches_of_parameters_and_states_broadcast(machine):
    """Every robot of a batch at a state of its own; and all robots in all states."""
    model, rng = machines.MARKET[machine](), np.random.default_rng(2)
    names = random_names(model, rng)
    several = [random_values(model, names, rng) for _ in range(3)]
    stacked = {name: np.array([x[name] for x in several]) for name in names}
    states = [machines.random_state(model, rng) for _ in range(3)]
    q, v = (np.array(x) for x in zip(*states, strict=True))
    tau = rng.normal(size=sum(joint.kind.nv for joint in model.joints))
    members = (PROJECTED, Mass, U)
    each = evaluated(model, members, stacked, q, v, T=tau)
    crossed = evaluated(model, members, stacked, q[:, None], v[:, None], T=tau)
    for i in range(3):
        other = rebuilt(model, several[i])
        for j in range(3):
            for e, expression in enumerate(members):
                needed = {"T": tau} if expression is PROJECTED else {}
                meant = pp.as_matrix(other, expression, q[j], v[j], **needed)
                assert_close(crossed[e][j, i], meant, SCALE)
                if i == j:
                    assert_close(each[e][i], meant, SCALE)


def test_parameters_alone_make_a_batch():
    model = pp.examples.planar_arm(2)
    masses = np.array([1.0, 2.0, 3.0])
    (found,) = evaluated(model, (U,), {"link2.mass": masses}, [0.3, 0.4], None)
    alone = [pp.potential_energy(rebuilt(model, {"link2.mass": m}), [0.3, 0.4]) for m in masses]
    assert_allclose(found, alone, rtol=1e-14)


# -- as a graph ----------------------------------------------------------------------------


@settings(max_examples=15)
@given(machines.machines(max_bodies=5, rotors=(False, True), mimics=(False, True)), seeds)
def test_graph_equals_interpreter_and_its_checks_hold(model, seed):
    rng = np.random.default_rng(seed)
    names = random_names(model, rng)
    values = random_values(model, names, rng)
    q, v = machines.random_state(model, rng)
    rows = sum(joint.kind.nv for joint in model.joints)
    tau = rng.normal(size=rows)
    members = (PROJECTED, U, pose)
    shapes = [(model.nv, 1), (1, 1), (16 * len(model.bodies), 1)]
    graph = traced(model, members, names, shapes)
    inputs = keyed(
        **{name: (x, False) for name, x in ({"q": q, "v": v, "T": tau} | values).items()}
    )
    found = [graph.graph.evaluate(x, inputs) for x in graph.outputs]
    for value, meant in zip(found, evaluated(model, members, values, q, v, T=tau), strict=True):
        assert_close(np.array(value), np.reshape(meant, -1), SCALE)
    assert all(graph.graph.evaluate(graph.checks, inputs))


def test_what_is_no_parameter_stays_folded():
    """Of two links in a plane the mass matrix needs one more product for one mass."""
    model = pp.examples.planar_arm(2)
    graph = traced(model, (Mass,), ["link2.mass"], [(2, 2)])
    inputs = {x.data for x in graph.graph.live(graph.outputs[0]) if x.op == "input"}
    assert inputs == {("q", 1), ("link2.mass", 0)}


def test_a_parameter_that_is_zero_in_the_model_is_an_argument_all_the_same():
    model = pp.examples.planar_arm(2)
    assert model.body("link2").inertia.com[2] == 0.0
    graph = traced(model, (U,), ["link2.first_moment"], [(1, 1)])
    inputs = {x.data for x in graph.graph.live(graph.outputs[0]) if x.op == "input"}
    assert ("link2.first_moment", 2) in inputs


# -- derivatives ---------------------------------------------------------------------------


@pytest.mark.parametrize("machine", ["tree_of_every_kind", "puma560", "free_base_tree"])
def test_inverse_dynamics_are_linear_in_the_moments(machine):
    """d tau / d(m, h, J) is the regressor: a difference of any length gives it exactly."""
    model, rng = machines.MARKET[machine](), np.random.default_rng(4)
    names = [f"{model.bodies[k].name}.moments" for k in (0, len(model.bodies) - 1)]
    nominal = {name: random_values(model, [name], rng)[name] for name in names}
    q, v = machines.random_state(model, rng)
    given = {"beta_dot": rng.normal(size=model.nv)}
    graph = traced(model, (ID,), names, [(model.nv, 1)])
    variables = [graph.graph.input((name, i)) for name in names for i in range(10)]
    slopes = jacobian(graph.graph, graph.outputs[0], variables)
    inputs = keyed(**{x: (y, False) for x, y in ({"q": q, "v": v} | given | nominal).items()})
    regressor = np.array([graph.graph.evaluate(row, inputs) for row in slopes])

    def torques(values):
        return pp.compile(rebuilt(model, values), ID)(q, v, given["beta_dot"])

    columns = []
    for name in names:
        for i in range(10):
            moved = {x: np.array(y) for x, y in nominal.items()}
            moved[name][i] += 0.5
            columns.append((torques(moved) - torques(nominal)) / 0.5)
    assert_allclose(regressor, np.array(columns).T, atol=1e-10 * np.abs(regressor).max())
    assert np.count_nonzero(regressor) > 10


@pytest.mark.parametrize("names", [["b.position"], ["b.mass", "b.first_moment"], ["gravity"]])
def test_derivatives_by_parameters_equal_complex_steps(names):
    rng = np.random.default_rng(6)
    builder = pp.ModelBuilder("two")
    for name, parent in (("a", "world"), ("b", "a")):
        kind = machines.revolute(rng)
        place, mass = machines.random_placement(rng), machines.random_inertia(rng)
        builder.add_body(name, parent, kind, **place, **mass)
    model = builder.build()
    values = random_values(model, names, rng)
    q, v = machines.random_state(model, rng)
    graph = traced(model, (FD,), names, [(2, 1)])
    keys = [(name, i) for name in names for i in range(np.size(values[name]))]
    slopes = jacobian(graph.graph, graph.outputs[0], [graph.graph.input(key) for key in keys])
    inputs = keyed(**{x: (y, False) for x, y in ({"q": q, "v": v, "T": v} | values).items()})
    found = np.array([graph.graph.evaluate(row, inputs) for row in slopes])
    for column, (name, i) in zip(found.T, keys, strict=True):
        moved = {x: np.array(y, complex) for x, y in values.items()}
        moved[name].reshape(-1)[i] += 1e-30j
        (value,) = evaluated(model, (FD,), moved, q, v, T=v)
        assert_allclose(column, value.imag / 1e-30, atol=1e-10 * np.abs(found).max())
