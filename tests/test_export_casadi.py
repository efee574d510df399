"""Expressions as CasADi functions: the same numbers, the sparsity, derivatives, optimal control."""

import sys

import machines
import numpy as np
import pytest
from symbols import A

import phipsi as pp
from phipsi.backends.exports import casadi as target
from phipsi.errors import BackendError, InputError, SolveError
from phipsi.operators import C, H, J, Mass, T, U, V, phi, scalar

ca = pytest.importorskip("casadi")

FORWARD = Mass.inv @ (T - C)
CLOSE = 1e-12


def state(model, seed=3):
    rng = np.random.default_rng(seed)
    return model.random(rng), *rng.normal(size=(2, model.nv))


def assert_close(found, wanted, close=CLOSE):
    wanted = np.asarray(wanted)
    found = np.array(ca.DM(found)).reshape(wanted.shape)
    assert np.abs(found - wanted).max() <= close * max(np.abs(wanted).max(), 1e-3)


@pytest.mark.parametrize("name", sorted(machines.MARKET))
def test_numbers_are_those_of_the_compiled_function(name):
    model = machines.MARKET[name]()
    function = pp.export(model, [FORWARD, Mass], to="casadi")
    q, v, tau = state(model)
    tau = np.resize(tau, function.numel_in("T"))  # of joints, of which some may follow others
    for found, wanted in zip(
        function(q, v, tau), pp.compile(model, [FORWARD, Mass])(q, v, tau), strict=True
    ):
        assert_close(found, wanted)


def test_numbers_are_those_of_machine_code():
    model = pp.examples.puma560()
    q, v, tau = state(model)
    found = pp.export(model, FORWARD, to="casadi")(q, v, tau)
    assert_close(found, pp.compile(model, FORWARD, backend="llvm")(q, v, tau))


def test_arguments_and_results_have_names_and_shapes():
    model = pp.examples.branching_tree()
    function = pp.export(model, [FORWARD, Mass, U, V.T], to="casadi", name="tree")
    assert function.name() == "tree"
    assert function.name_in() == ["q", "v", "T"]
    assert function.name_out() == ["out0", "out1", "out2", "out3"]
    n = model.nv
    shapes = [function.size_out(i) for i in range(4)]
    assert shapes == [(n, 1), (n, n), (1, 1), (1, 6 * len(model.bodies))]
    one = pp.export(model, scalar("k") * Mass, to="casadi")
    assert (one.name_in(), one.size_in("k")) == (["q", "k"], (1, 1))
    q = model.random(np.random.default_rng(0))
    assert_close(one(q=q, k=2.0)["out"], 2.0 * pp.mass_matrix(model, q))


def test_zeros_of_the_structure_are_absent():
    """Mass of a tree is zero between branches, as the tree says."""
    model = pp.examples.branching_tree()
    sparsity = pp.export(model, Mass, to="casadi").sparsity_out(0)
    found = np.zeros((model.nv, model.nv), bool)
    found[tuple(np.array(sparsity.get_triplet()))] = True
    parent = model.tree.parent

    def chain(k):
        return {k} | (chain(parent[k]) if parent[k] >= 0 else set())

    for one in model.joints:
        for other in model.joints:
            i, j = (model.index(x.name) for x in (one, other))
            related = i in chain(j) or j in chain(i)
            assert not found[one.v, other.v].any() or related
    values = [pp.mass_matrix(model, state(model, seed)[0]) for seed in range(5)]
    assert np.array_equal(found, np.any(values, axis=0))


def test_derivatives_against_central_differences():
    model = pp.examples.puma560()
    function = pp.export(model, FORWARD, to="casadi")
    x = ca.MX.sym("x", 18)
    result = function(*ca.vertsplit(x, 6))
    derive = ca.Function("J", [x], [ca.jacobian(result, x)])
    at, h = np.concatenate(state(model)), 1e-6
    found = np.array(derive(at))
    plain = pp.compile(model, FORWARD)
    for i, unit in enumerate(np.eye(18)):
        ahead, behind = (plain(*np.split(at + sign * h * unit, 3)) for sign in (1, -1))
        np.testing.assert_allclose(found[:, i], (ahead - behind) / (2 * h), rtol=1e-6, atol=1e-5)


def test_a_function_serves_symbols_maps_and_opti():
    """The angle that holds a torque: found by IPOPT, checked by inverse dynamics."""
    model = pp.examples.planar_arm(2)
    function = pp.export(model, FORWARD, to="casadi")
    rows = function.map(3)(*(np.ones((2, 3)) for _ in range(3)))
    assert_close(rows, np.tile(pp.compile(model, FORWARD)([1, 1], [1, 1], [1, 1])[:, None], 3))
    opti = ca.Opti()
    q = opti.variable(2)
    opti.subject_to(function(q, np.zeros(2), np.array([12.0, 3.0])) == 0)
    opti.set_initial(q, [0.5, 0.5])
    opti.solver("ipopt", {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes"})
    found = opti.solve().value(q)
    np.testing.assert_allclose(pp.gravity_force(model, found), [12.0, 3.0], rtol=1e-7)


def test_points_and_operators_are_arguments():
    model = pp.examples.branching_tree()
    q = state(model)[0]
    points = [pp.point(model.bodies[3].name, (1.0, 2.0, 3.0)), model.bodies[8].name]
    places = [1.0, 2.0, 3.0, 0.0, 0.0, 0.0]
    assert_close(
        pp.export(model, J, to="casadi", points=points)(q, places),
        pp.compile(model, J)(q, None, points=points),
    )
    tip = pp.point(model.bodies[3].name, (1.0, 2.0, 3.0))
    fixed = pp.export(model, J(tip), to="casadi")
    assert fixed.name_in() == ["q"]
    assert_close(fixed(q), pp.compile(model, J(tip))(q))
    blocks = np.random.default_rng(2).normal(size=(len(model.bodies), 6, 6))
    weighed = H @ phi @ A @ phi.T @ H.T
    assert_close(
        pp.export(model, weighed, to="casadi")(q, blocks.ravel()),
        pp.compile(model, weighed)(q, A=list(blocks)),
    )


def test_what_is_refused(monkeypatch):
    model = pp.examples.planar_arm(2)
    with pytest.raises(InputError, match=r"unknown target 'cassadi'; did you mean 'casadi'\?"):
        pp.export(model, Mass, to="cassadi")
    with pytest.raises(InputError, match="unknown target 3"):
        pp.export(model, Mass, to=3)
    with pytest.raises(InputError, match="model: expected a Model"):
        pp.export("arm", Mass, to="casadi")
    with pytest.raises(InputError, match="name is 'a b'"):
        pp.export(model, Mass, to="casadi", name="a b")
    with pytest.raises(InputError, match="'casadi' has no option 'simplify'"):
        pp.export(model, Mass, to="casadi", simplify=True)
    with pytest.raises(InputError, match="takes points: pass points"):
        pp.export(model, J, to="casadi")
    with pytest.raises(InputError, match="takes no points"):
        pp.export(model, Mass, to="casadi", points=["tip"])
    monkeypatch.setattr(target, "LARGEST", 100)
    with pytest.raises(
        BackendError, match=r"'chain of 9' is too large for CasADi: .* 100 operations"
    ):
        pp.export(pp.chain(9), FORWARD, to="casadi")


def test_what_has_no_value_or_no_package_is_refused(monkeypatch):
    builder = pp.ModelBuilder("nothing", strict=False)
    builder.add_body("body", joint=pp.joints.Revolute((0, 0, 1)), mass=0.0)
    with pytest.raises(SolveError, match="no value in any state of 'nothing'"):
        pp.export(builder.build(), Mass.inv, to="casadi")
    monkeypatch.setitem(sys.modules, "casadi", None)
    with pytest.raises(BackendError, match=r"needs casadi: pip install 'phipsi\[export\]'"):
        pp.export(pp.chain(2), Mass, to="casadi")


@pytest.mark.parametrize("name", ["moments", "link3.placement", "link3.position", "link6.mass"])
def test_parameters_are_arguments_row_by_row(name):
    robot, rng = pp.examples.puma560(), np.random.default_rng(0)
    state = rng.normal(size=(3, 6))
    function = pp.compile(robot, Mass.inv @ (T - C), parameters=[name])
    value = function._machine.parameters.nominal()[name]
    found = pp.export(robot, Mass.inv @ (T - C), to="casadi", parameters=[name])(*state, value)
    np.testing.assert_allclose(found.full().ravel(), function(*state, value), rtol=1e-12)
