"""Lowered expressions with batches of states, complex numbers, and machines without bodies."""

import functools
import operator

import expressions
import machines
import numpy as np
import pytest
from expressions import FAMILIES, MARKET, F, L, N
from symbols import STEP, A, assert_close, free_names, x
from test_lowering_market import REFUSED, SCALE

import phipsi as pp
from phipsi.operators import (
    B,
    C,
    D,
    E,
    H,
    J,
    Jm,
    M,
    Mass,
    Omega,
    S_q,
    T,
    U,
    V,
    X,
    a,
    alpha,
    beta,
    c,
    f,
    phi,
    pose,
    psi,
)

MACHINES = ["serial_multidof", "mimics", "free_base_tree"]
SAMPLE = {
    name: MARKET[name]
    for name in [
        *(f"letters: {name}" for name in ("P", "Y", "phi", "psi", "Mass", "C", "U", "pose", "J")),
        *("vectors of the papers: FD", "vectors of the papers: FD4"),
        *("vectors of the papers: damped operational force", "scalars: total energy"),
        *("matrices of the papers: K* Omega K", "at points: compliance in world axes"),
        *("inverses: Mass.inv", "inverses: own hinges", "inverses: (A + A.T).inv"),
        *("inverses: coordinates with W", "inverses: causal, phi + A", "matrices: D.sqrt"),
        *("matrices: outer product", "matrices: blockdiag of K* Omega K", "vectors: cancels"),
        *("matrices: scaled by an energy", "at points: J* F J", "matrices: derivative of Mass"),
    ]
}


def asked_for(expression, values):
    return {name: values[name] for name in free_names(expression)}


def states(model, rng, *batch):
    """q and v, (*batch, nq) and (*batch, nv)."""
    several = [machines.random_state(model, rng) for _ in range(int(np.prod(batch)))]
    return [np.array(x).reshape(*batch, -1) for x in zip(*several, strict=True)]


# -- batches -----------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
def test_batch_of_two_axes_with_q_against_v_equals_dense(machine):
    """q (3, 1, nq), v (2, nv), k (3, 1), the rest without batch: the result is (3, 2, ...)."""
    model, rng = machines.MARKET[machine](), np.random.default_rng(1)
    (q, _), (_, v) = states(model, rng, 3, 1), states(model, rng, 2)
    points, values = expressions.points_on(model), expressions.values_for(model, rng)
    values["k"] = rng.uniform(0.5, 2.0, (3, 1))
    for expression in SAMPLE.values():
        keywords = asked_for(expression, values)
        found = pp.compile(model, expression)(q=q, v=v, points=points, **keywords)
        meant = pp.as_matrix(model, expression, q, v, points=points, **keywords)
        assert found.shape[:2] == (3, 2)
        assert_close(found, meant, SCALE)


@pytest.mark.parametrize("machine", MACHINES)
def test_each_state_of_a_batch_has_pivots_of_its_own(machine):
    """Rows are exchanged state by state: blocks whose order of size differs between states."""
    model, rng = machines.MARKET[machine](), np.random.default_rng(2)
    q, v = states(model, rng, 4)
    blocks = [rng.normal(size=(4, 6, 6)) for _ in model.bodies]
    found = pp.compile(model, A.inv)(q, v, blocks)
    assert_close(found, pp.as_matrix(model, A.inv, q, v, A=blocks))
    for i in range(4):
        alone = pp.compile(model, A.inv)(q[i], v[i], [block[i] for block in blocks])
        assert_close(found[i], alone, tolerance=1e-12)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("batch", [(0,), (2, 0)], ids=str)
def test_empty_batch_gives_an_empty_result_of_the_same_shape(machine, batch):
    model, rng = machines.MARKET[machine](), np.random.default_rng(3)
    q, v = (np.zeros((*batch, n)) for n in (model.nq, model.nv))
    points, values = expressions.points_on(model), expressions.values_for(model, rng)
    for expression in SAMPLE.values():
        keywords = asked_for(expression, values)
        found = pp.compile(model, expression)(q=q, v=v, points=points, **keywords)
        meant = pp.as_matrix(model, expression, q, v, points=points, **keywords)
        assert found.shape == meant.shape
        assert found.size == 0


def test_result_is_a_new_array_each_time(arm):
    function = pp.compile(arm, (Mass, D))
    first, _ = function([0.1, 0.2])
    first[...] = 0.0
    assert function([0.1, 0.2])[0].all()
    assert pp.compile(arm, M)([0.1, 0.2]).flags.writeable


# -- complex numbers -----------------------------------------------------------------------


@pytest.mark.parametrize("machine", [*MACHINES, "tree_of_every_kind"])
def test_complex_step_gives_the_derivative_that_dense_gives(machine):
    """Im A(q moved by i h dq) / h is the derivative along the tangent dq, in both."""
    model, rng = machines.MARKET[machine](), np.random.default_rng(4)
    q, v = machines.random_state(model, rng)
    moved = pp.integrate(model, q, 1j * STEP * rng.normal(size=model.nv))
    points, values = expressions.points_on(model), expressions.values_for(model, rng)
    for expression in SAMPLE.values():
        keywords = asked_for(expression, values)
        found = pp.compile(model, expression)(q=moved, v=v, points=points, **keywords)
        meant = pp.as_matrix(model, expression, moved, v, points=points, **keywords)
        assert found.dtype == complex
        assert_close(found.real, meant.real, SCALE)
        assert_close(found.imag / STEP, meant.imag / STEP, SCALE)


# -- sizes --------------------------------------------------------------------------------


NOTHING = [V, C, f, alpha, pose, M, Mass, Mass.inv, phi, psi, Omega, Mass.inv @ (T - C), A, N, L, H]
NOTHING += [
    E,
    S_q,
    (S_q.T @ Mass @ S_q).inv,
    D.sqrt,
    a @ V.T,
    U,
    0.5 * V.T @ M @ V,
    E.T @ phi @ M @ V,
]


@pytest.mark.parametrize("expression", NOTHING, ids=str)
def test_machine_without_bodies_has_what_little_there_is(expression):
    builder = pp.ModelBuilder("empty")
    builder.add_body("stand", joint=pp.joints.Fixed(), mass=2.0, com=(0, 0, 3.0))
    model = builder.build()
    assert not model.bodies
    keywords = {name: [] for name in free_names(expression)}
    found = pp.compile(model, expression)(q=[], v=[], **keywords)
    meant = pp.as_matrix(model, expression, [], [], **keywords)
    assert found.shape == meant.shape
    assert np.array_equal(found, meant)


@pytest.mark.parametrize(
    "expression", [J, X @ J, J @ Mass.inv @ J.T + F, c, B, X, J @ beta], ids=str
)
def test_points_on_a_machine_without_bodies_rest(expression):
    builder = pp.ModelBuilder("empty")
    builder.add_body("stand", joint=pp.joints.Fixed(), mass=2.0)
    model, keywords = builder.build(), {}
    if "F" in free_names(expression):
        keywords["F"] = [np.arange(36.0).reshape(6, 6)]
    points = [pp.point("stand", (0.1, 0.2, 0.3))]
    found = pp.compile(model, expression)(q=[], v=[], points=points, **keywords)
    assert np.array_equal(found, pp.as_matrix(model, expression, [], [], points=points, **keywords))


def test_long_sums_and_products_are_no_problem(arm):
    total = sum([T] * 300) + sum(k * Jm @ beta for k in range(1, 50))
    found = pp.compile(arm, total)([0.1, 0.2], [1.0, 2.0], [3.0, 4.0])
    assert_close(found, np.array([900.0, 1200.0]))
    product = functools.reduce(operator.matmul, [phi, psi.T] * 20) @ x
    found = pp.compile(arm, product)([0.1, 0.2], None, np.ones(12))
    assert_close(found, pp.as_matrix(arm, product, [0.1, 0.2], x=np.ones(12)))


def test_sample_covers_every_family():
    assert {name.split(": ")[0] for name in SAMPLE} >= FAMILIES.keys() - {
        *("starred letters", "the user's own", "inverses applied"),
    }
    assert not SAMPLE.keys() & REFUSED.keys()
