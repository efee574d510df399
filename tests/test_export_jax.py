"""JAX functions against compiled ones, and their derivatives against central differences."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from by_entries import CASES, FORWARD, STEP, Case, close, feather, gimbal, planar_arm, unit
from jax.test_util import check_grads

import phipsi as pp
from phipsi.backends import machine_code
from phipsi.backends.exports import differentiable
from phipsi.operators import J, Mass, X, scalar, vector

every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@pytest.fixture(autouse=True)
def doubles():
    """JAX computes in double precision, here."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def exported():
    """Of each case its JAX function, exported once."""
    made = {}

    def export(case):
        if case not in made:
            made[case] = pp.export(case.model, case.expression, to="jax")
        return made[case]

    return export


def as_list(results):
    return list(results) if isinstance(results, tuple) else [results]


# -- values ------------------------------------------------------------------------------------


@every_case
def test_values_are_those_of_the_compiled_function(exported, case):
    """Eagerly and traced, for one state and for batches that broadcast."""
    f, several = exported(case), case.arguments(3)
    one, mixed = [x[0] for x in several], [several[0][:, None], *(x[:2] for x in several[1:])]
    for arguments in (one, several, mixed):
        expected = case.values(*arguments)
        for g in (f, jax.jit(f)):
            for found, value in zip(as_list(g(*arguments)), expected, strict=True):
                assert found.dtype == np.float64
                assert close(found, value, 1e-12)


def test_one_expression_gives_an_array_and_several_a_tuple(exported):
    assert isinstance(exported(CASES["energy"])(*CASES["energy"].arguments()), jax.Array)
    results = exported(CASES["several"])(*CASES["several"].arguments())
    assert [x.ndim for x in results] == [0, 1, 2]


def test_vmap_over_any_argument_and_axis_is_a_batch(exported):
    case = CASES["floating"]
    q, v, force = case.arguments(4)
    f = exported(case)
    (expected,) = case.values(q, v[0], force)
    assert close(jax.vmap(f, (0, None, 0))(q, v[0], force), expected, 1e-12)
    turned = jax.jit(jax.vmap(f, (1, None, 1), out_axes=1))(q.T, v[0], force.T)
    assert close(turned, expected.T, 1e-12)
    (grid,) = case.values(q[:, None], v[0], force)
    twice = jax.vmap(jax.vmap(f, (None, None, 0)), (0, None, None))(q, v[0], force)
    assert close(twice, grid, 1e-12)


def test_arguments_by_name_and_the_name_of_the_function():
    case = CASES["arm"]
    q, v, force = case.arguments()
    f = pp.export(case.model, FORWARD, to="jax", name="fall")
    assert f.__name__ == "fall" and "q, v, T" in f.__doc__
    assert close(f(q, T=force, v=v), f(q, v, force), 0.0)
    assert close(f(list(q), v, force), f(q, v, force), 0.0)


def test_quaternions_of_any_length_stand_for_their_rotations(exported):
    case = CASES["floating"]
    q, *rest = case.arguments(2)
    longer = np.array(q)
    longer[..., :4] *= 3.0
    assert close(unit(case.model, longer), q, 1e-15)
    assert close(exported(case)(longer, *rest), exported(case)(q, *rest), 1e-12)


def test_without_x64_results_are_rounded_and_nothing_else():
    """Arguments are floats; all between them and the results is double."""
    case = CASES["arm"]
    f = pp.export(case.model, case.expression, to="jax")
    arguments = [x.astype(np.float32) for x in case.arguments(5)]
    expected = case.compiled(*(x.astype(float) for x in arguments)).astype(np.float32)
    jax.config.update("jax_enable_x64", False)
    for g in (f, jax.jit(f)):
        found = g(*arguments)
        assert found.dtype == np.float32
        assert np.array_equal(found, expected)
    assert jax.grad(lambda q: f(q, *arguments[1:]).sum())(arguments[0]).dtype == np.float32


def test_where_a_state_has_no_value_its_row_alone_is_not_finite(exported):
    case = CASES["floating"]
    q, *rest = case.arguments(3)
    q[1, :4] = 0.0
    rest[0][2, 0] = np.nan
    for g in (exported(case), jax.jit(exported(case))):
        assert np.array_equal(np.isfinite(g(q, *rest)).all(axis=-1), [True, False, False])
    swing = pp.export(gimbal(), FORWARD, to="jax")
    upright = np.array([[0.0, 0.3], [0.0, np.pi / 2]])
    found = np.abs(jax.jit(swing)(upright, np.zeros(2), np.ones(2))).max(axis=-1)
    assert found[0] < 100.0 and not found[1] < 1e12


# -- derivatives -------------------------------------------------------------------------------


@every_case
def test_jacobians_both_ways_are_central_differences(exported, case):
    f, arguments = exported(case), case.arguments()
    places = tuple(range(len(arguments)))
    forwards, backwards = (jax.jit(x(f, places))(*arguments) for x in (jax.jacfwd, jax.jacrev))
    several = isinstance(case.expression, tuple)
    for i in places:
        expected = case.slopes(arguments, i)
        for found in (forwards, backwards):
            by = [x[i] for x in found] if several else [found[i]]
            for slope, value in zip(by, expected, strict=True):
                assert close(slope, value, 1e-7)


def test_along_the_manifold_they_are_those_of_the_compiled_function(exported):
    """Where q moves as `integrate` moves it, J q' is what `Function.jvp` gives along dq."""
    case = CASES["floating"]
    q, *rest = case.arguments()
    dq = np.random.default_rng(1).normal(size=case.model.nv)
    ends = [pp.integrate(case.model, q, sign * STEP * dq) for sign in (1, -1)]
    rate = (ends[0] - ends[1]) / (2 * STEP)
    _, found = jax.jvp(lambda q: exported(case)(q, *rest), (q,), (rate,))
    assert close(found, case.compiled.jvp(q, *rest, dq=dq), 1e-8)
    weight = np.arange(1.0, 1 + case.model.nv)
    slope = jax.grad(lambda q: exported(case)(q, *rest) @ weight)(q)
    assert abs(slope[:4] @ q[:4]) < 1e-12 * np.abs(slope).max()  # it stays on the sphere
    assert slope @ rate == pytest.approx(case.compiled.vjp(q, *rest, weight)[0] @ dq, rel=1e-8)


@pytest.mark.parametrize("name", ["arm", "energy"])
def test_hessians_in_all_four_ways_are_central_differences_of_gradients(exported, name):
    case = CASES[name]
    q, *rest = case.arguments()

    def loss(q):
        return jnp.sin(exported(case)(q, *rest)).sum()

    slope = jax.jit(jax.grad(loss))
    steps = STEP * np.eye(q.size)
    expected = np.array([(slope(q + x) - slope(q - x)) / (2 * STEP) for x in steps])
    for outer in (jax.jacfwd, jax.jacrev):
        for inner in (jax.jacfwd, jax.jacrev):
            found = jax.jit(outer(inner(loss)))(q)
            assert close(found, expected, 1e-7)
            assert close(found, found.T, 1e-11)


def test_derivatives_of_second_order_by_all_arguments(exported):
    """By JAX's own check, with one argument broadcast over the batch of the others."""
    case = CASES["arm"]
    q, v, force = case.arguments(2)
    check_grads(exported(case), (q, v[0], force[:, None]), order=3)


def test_jit_of_vmap_of_grad_is_the_gradient_of_each(exported):
    case = CASES["puma"]
    q, v = case.arguments(3)

    def loss(q, v):
        return jnp.sum(exported(case)(q, v) ** 2)

    found = jax.jit(jax.vmap(jax.grad(loss, (0, 1)), (0, None)))(q, v[0])
    for i in range(3):
        expected = 2.0 * case.compiled.vjp(q[i], v[0], case.compiled(q[i], v[0]))[0]
        assert close(found[0][i], expected, 1e-12)
    whole = jax.grad(lambda v: jax.vmap(loss, (0, None))(q, v).sum())(v[0])
    assert close(whole, found[1].sum(axis=0), 1e-12)


def test_gradient_through_a_motion(exported):
    """Steps of semi-implicit Euler under `lax.scan`, by the torques of all steps."""
    case = CASES["arm"]
    f, h = exported(case), 0.02

    def end(forces):
        def step(state, force):
            q, v = state
            v = v + h * f(q, v, force)
            return (q + h * v, v), None

        (q, v), _ = jax.lax.scan(step, (jnp.zeros(2), jnp.zeros(2)), forces)
        return q @ q + v @ v

    forces = np.random.default_rng(0).normal(size=(10, 2))
    found = jax.jit(jax.grad(end))(forces)
    for place in ((0, 0), (4, 1), (9, 0)):
        step = np.zeros((10, 2))
        step[place] = 1e-4
        expected = (end(forces + step) - end(forces - step)) / 2e-4
        assert found[place] == pytest.approx(float(expected), rel=1e-6)


def test_positions_of_points_are_arguments():
    case = Case(planar_arm, X)
    tip = [pp.point("link2", (0.5, 0.1, 0.0))]
    f = pp.export(case.model, J, to="jax", points=tip)
    q, place = np.array([0.3, 0.7]), np.array([0.5, 0.1, 0.0])
    body = case.model.bodies[-1].name
    compiled = pp.compile(case.model, J, backend="llvm")
    assert close(f(q, place), compiled(q, points=[pp.point(body, place)]), 1e-12)
    found = jax.jacrev(f, 1)(q, place)
    for i, step in enumerate(STEP * np.eye(3)):
        ends = [compiled(q, points=[pp.point(body, place + s * step)]) for s in (1, -1)]
        assert close(found[..., i], (ends[0] - ends[1]) / (2 * STEP), 1e-8)


def test_numbers_and_vectors_of_the_users_are_arguments():
    k, x = scalar("k"), vector("x", "joint")
    arm = planar_arm()
    f = pp.export(arm, k * (Mass @ x), to="jax")
    q, weights = np.array([0.1, 0.4]), np.array([1.0, 2.0])
    mass = np.asarray(pp.mass_matrix(arm, q))
    assert close(f(q, 3.0, weights), 3.0 * mass @ weights, 1e-12)
    by_k, by_x = jax.jacfwd(f, (1, 2))(q, 3.0, weights)
    assert close(by_k, mass @ weights, 1e-12)
    assert close(by_x, 3.0 * mass, 1e-12)


def test_graphs_too_long_to_compile_are_evaluated_by_numpy(monkeypatch):
    case = CASES["arm"]
    q, v, force = case.arguments(3)
    monkeypatch.setattr(machine_code, "FORCED", 20)
    f = pp.export(case.model, case.expression, to="jax")
    found = jax.vmap(jax.jacrev(f), (0, None, 0))(q, v[0], force)
    expected = [case.slopes((x, v[0], y), 0)[0] for x, y in zip(q, force, strict=True)]
    assert close(found, np.array(expected), 1e-7)
    assert jax.vmap(jax.jacrev(f))(q[:0], v[:0], force[:0]).shape == (0, 2, 2)
    monkeypatch.setattr(differentiable, "LARGEST", 20)
    g = pp.export(case.model, case.expression, to="jax")
    with pytest.raises(pp.BackendError, match=r"J t of Mass.*is too large.*more than 20 nodes"):
        jax.jvp(g, (q, v, force), (q, v, force))


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "traced"])
def test_wrong_arguments_are_named_while_tracing(exported, wrap):
    f = wrap(exported(CASES["arm"]))
    x = np.zeros(2)
    for arguments, named, message in [
        ((x, x), {}, "needs T"),
        ((x, x, x, x), {}, "4 arguments for .*; expected q, v, T"),
        ((x, x), {"T": x, "q": x}, "q is given twice"),
        ((x, x, x), {"Tau": x}, "no argument 'Tau'; .*'T'"),
        ((np.zeros(3), x, x), {}, r"q has shape \(3,\); expected \(\*batch, 2\) .* 'planar arm"),
        ((0.0, x, x), {}, r"q has shape \(\); expected \(\*batch, 2\)"),
        ((np.zeros((3, 2)), np.zeros((4, 2)), x), {}, r"do not broadcast: q \(3,\), v \(4,\)"),
        ((x, x + 1j, x), {}, "v: expected real numbers, got complex128"),
    ]:
        with pytest.raises(pp.InputError, match=message):
            f(*arguments, **named)


def test_what_is_no_array_is_refused(exported):
    with pytest.raises(pp.InputError, match="v: expected an array, got str"):
        exported(CASES["arm"])(np.zeros(2), "zero", np.zeros(2))


def test_an_expression_without_any_value_is_refused():
    with pytest.raises(pp.SolveError, match="no value in any state of 'feather'"):
        pp.export(feather(), FORWARD, to="jax")


def test_without_jax_the_line_that_installs_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(pp.BackendError, match=r"export to JAX needs jax: pip install 'phipsi\[ex"):
        pp.export(planar_arm(), Mass, to="jax")
