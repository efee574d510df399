"""What forces and integrators ask of a machine: the same in arrays and as numbers of a graph."""

import operator

import machines
import numpy as np
import pytest
from machines import MARKET
from numpy.testing import assert_allclose, assert_array_equal

import phipsi as pp
from phipsi.graph.graph import Graph
from phipsi.simulate.machines import ArrayMechanism, NodeMechanism, carriers
from phipsi.simulate.vectors import Numbers, combined, dot, limited

every_machine = pytest.mark.parametrize("name", MARKET)


def numbers(graph, name, n):
    return Numbers(graph.input((name, i)) for i in range(n))


def evaluated(graph, vector, **values):
    """The numbers of a vector, at values of the inputs."""
    given = {(name, i): y for name, x in values.items() for i, y in enumerate(x)}
    return np.array(graph.evaluate([graph.node(x) for x in vector], given), float)


# -- vectors ---------------------------------------------------------------------------------


@pytest.mark.parametrize("act", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_vectors_of_numbers_have_the_arithmetic_of_arrays(act):
    """With a vector, an array, one entry or a scalar, on either side."""
    graph = Graph()
    x, y = np.array([1.5, -2.0, 0.5]), np.array([2.0, 4.0, -1.0])
    a, b = numbers(graph, "x", 3), numbers(graph, "y", 3)
    one = numbers(graph, "z", 1)
    for ours, theirs in (
        (act(a, b), act(x, y)),
        (act(a, y), act(x, y)),
        (act(x, b), act(x, y)),
        (act(a, one), act(x, 0.7)),
        (act(one, b), act(0.7, y)),
        (act(a, 3.0), act(x, 3.0)),
        (act(3.0, a), act(3.0, x)),
        (-a, -x),
    ):
        assert isinstance(ours, Numbers)
        assert_array_equal(evaluated(graph, ours, x=x, y=y, z=[0.7]), theirs)


def test_sums_products_and_limits_of_vectors():
    graph = Graph()
    x, y = np.array([1.5, -2.0, 0.5]), np.array([2.0, 4.0, -1.0])
    a, b = numbers(graph, "x", 3), numbers(graph, "y", 3)
    largest = np.array([1.0, 1.0, 1.0])
    for ours, theirs in (
        (combined((0.5, 0.0, 2.0), (a, None, b)), 0.5 * x + 2.0 * y),
        (dot(a, b), [x @ y]),
        (limited(a, largest), np.clip(x, -1.0, 1.0)),
    ):
        assert_allclose(evaluated(graph, ours, x=x, y=y), theirs, rtol=1e-15)
    assert_array_equal(limited(x, largest), np.clip(x, -1.0, 1.0))
    assert_allclose(dot(np.array([x, y]), y), [[x @ y], [y @ y]], rtol=1e-15)


# -- machines --------------------------------------------------------------------------------


@every_machine
def test_answers_in_arrays_and_as_numbers_of_a_graph_are_the_same(name):
    model = MARKET[name]()
    rng = np.random.default_rng(0)
    q, v = machines.random_state(model, rng)
    values = {"q": q, "v": v, "w": rng.normal(size=model.nv), "u": 0.3 * rng.normal(size=model.nv)}
    values["q1"] = pp.integrate(model, q, values["u"])
    arrays, graph = ArrayMechanism(model, "numpy"), Graph()
    nodes = NodeMechanism(model, graph)
    given = {key: numbers(graph, key, len(x)) for key, x in values.items()}
    for what, names in (
        ("move", "q u"),
        ("rate", "u v"),
        ("difference", "q q1"),
        ("forward", "q v w"),
        ("spread", "u"),
        ("energies", "q v"),
    ):
        expected = getattr(arrays, what)(*(values[x] for x in names.split()))
        found = getattr(nodes, what)(*(given[x] for x in names.split()))
        pairs = zip(found, expected, strict=True) if what == "energies" else [(found, expected)]
        for ours, theirs in pairs:
            bar = 1e-11 * (1.0 + np.abs(theirs).max())
            assert_allclose(evaluated(graph, ours, **values), theirs, rtol=0, atol=bar)


@every_machine
def test_energies_are_those_of_the_functions_for_daily_work(name):
    model = MARKET[name]()
    states = [machines.random_state(model, np.random.default_rng(k)) for k in range(3)]
    q, v = map(np.array, zip(*states, strict=True))
    machine = ArrayMechanism(model, "numpy")
    kinetic, potential, rigid, locked = machine.energies(q, v)
    assert_allclose(kinetic[:, 0], pp.kinetic_energy(model, q, v), rtol=1e-12)
    assert_allclose(potential[:, 0], pp.potential_energy(model, q), rtol=1e-12)
    assert_allclose(machine.energy(q, v), kinetic + potential, rtol=1e-12, atol=1e-12)
    assert_allclose(rigid[:, 0], pp.kinetic_energy(model, q, locked), rtol=1e-9, atol=1e-12)


@every_machine
def test_locked_machine_has_the_momentum_of_the_moving_one(name):
    """Of each free tree; and the two motions share no kinetic energy."""
    model = MARKET[name]()
    q, v = machines.random_state(model, np.random.default_rng(1))
    kinetic, _, rigid, locked = ArrayMechanism(model, "numpy").energies(q, v)
    parts = carriers(model)
    inner = np.ones(model.nv, bool)
    for part in parts:
        inner[part] = False
    assert_array_equal(locked[inner], 0.0)
    momenta = pp.mass_matrix(model, q) @ np.array([v, locked]).T
    for part in parts:
        assert_allclose(momenta[part, 0], momenta[part, 1], rtol=0, atol=1e-11)
    rest = pp.kinetic_energy(model, q, v - locked)
    assert_allclose(kinetic[0], rigid[0] + rest, rtol=1e-11)


def test_carriers_are_free_bodies_that_carry_others():
    """None on the world, none inside a tree, and none where nothing is carried."""
    assert carriers(MARKET["spacecraft"]()) == [slice(0, 6)]
    for name in ("star_of_free_bodies", "free_base_tree"):
        model = MARKET[name]()
        assert carriers(model)[0] == slice(0, 6)
        assert len(carriers(model)) == sum(body.parent < 0 for body in model.bodies)
    assert carriers(MARKET["tree_of_every_kind"]()) == []
    builder = pp.ModelBuilder("stones")
    for k in range(2):
        builder.add_body(f"stone{k}", joint=pp.joints.Free(), mass=1.0, inertia=(1, 1, 1))
    assert carriers(builder.build()) == []
