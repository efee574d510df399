"""as_matrix: numbers in, numbers out; batches, kinds of numbers, complex steps."""

import machines
import numpy as np
import pytest
from refusals import Q2, refusal
from symbols import STEP, A, L, assert_close, free_names, k

import phipsi as pp
from phipsi.algebra.walk import walk
from phipsi.lowering.dense import as_matrix
from phipsi.operators import (
    HH,
    B,
    C,
    D,
    Gamma_delta,
    H,
    H_dot,
    I,
    J,
    M,
    Mass,
    Omega,
    P,
    S,
    S_q,
    T,
    U,
    V,
    X,
    Y,
    alpha,
    beta,
    beta_dot,
    blockdiag,
    c,
    f0,
    operator,
    phi,
    pose,
)

# -- numbers in, numbers out -----------------------------------------------------------

MANY = [H, phi, Mass, P, D.sqrt, Omega, Y, S[V], C, Mass.inv @ (T - C), J, beta.T @ Mass @ beta]
MANY += [HH(0), alpha, blockdiag(phi @ M @ phi.T), S_q, B @ f0, X, pose]


def values_of(expression, model, rng, batch=()):
    """Random values of the free symbols in an expression."""
    sizes = {"T": model.joints[-1].rows.stop, "beta_dot": model.joints[-1].rows.stop, "f0": 6}
    return {name: rng.normal(size=(*batch, sizes[name])) for name in sorted(free_names(expression))}


def check_batch(model, expressions, axes):
    """q (3, 1, nq), v (2, nv) and values (2,): the result has batch (3, 2), state by state."""
    rng = np.random.default_rng(0)
    q = np.array([machines.random_state(model, rng)[0] for _ in range(3)])[:, None]
    v = rng.normal(size=(2, model.nv))
    points = [pp.point(model.bodies[-1].name, (0.1, 0.2, 0.3))]
    for expression in expressions:
        values = values_of(expression, model, rng, (2,))
        whole = as_matrix(model, expression, q, v, axes=axes, points=points, **values)
        assert whole.shape[:2] == (3, 2)
        for i in range(3):
            for j in range(2):
                own = {name: value[j] for name, value in values.items()}
                one = as_matrix(model, expression, q[i, 0], v[j], axes=axes, points=points, **own)
                assert np.any(one), expression  # 0 = 0 tests nothing
                assert_close(whole[i, j], one, tolerance=1e-12)


@pytest.mark.parametrize("machine", ["branching_tree", "forest", "mimics", "spacecraft"])
@pytest.mark.parametrize("axes", ["link", "world"])
def test_batch_equals_a_loop_over_its_states(machine, axes):
    check_batch(machines.MARKET[machine](), MANY, axes)


@pytest.mark.parametrize("machine", ["branching_tree", "forest"])
@pytest.mark.parametrize("axes", ["link", "world"])
def test_batch_of_what_needs_weight_and_a_turning_body_equals_a_loop(machine, axes):
    check_batch(machines.MARKET[machine](), [c, U], axes)


@pytest.mark.parametrize("axes", ["link", "world"])
def test_batch_of_a_turning_map_equals_a_loop_over_its_states(axes):
    """Gamma_delta and H_dot vanish but for joints whose map turns: here Euler angles."""
    check_batch(machines.MARKET["one_body"](), [Gamma_delta(0, 1), H_dot], axes)


def test_every_expression_of_the_list_is_an_expression():
    """The list above holds what it claims: different expressions, a free acceleration in one."""
    assert len(set(MANY)) == len(MANY)
    assert beta_dot in set(walk(alpha))


def test_shapes_are_of_the_batch_and_of_the_spaces(arm):
    q = np.zeros((4, 3, 2))
    assert as_matrix(arm, H, q).shape == (4, 3, 2, 12)
    assert as_matrix(arm, M, q).shape == (4, 3, 12, 12)  # constant, but one for each state
    assert as_matrix(arm, T, q, T=[1.0, 2.0]).shape == (4, 3, 2)
    assert as_matrix(arm, T, Q2, T=np.zeros((5, 2))).shape == (5, 2)
    assert as_matrix(arm, beta.T @ beta, q, [1.0, 2.0]).shape == (4, 3)
    assert as_matrix(arm, k * beta.T @ beta, Q2, [1.0, 2.0], k=[1.0, 2.0]).tolist() == [5.0, 10.0]
    assert as_matrix(arm, V.T, Q2, [1.0, 2.0]).shape == (1, 12)
    assert as_matrix(arm, Mass.inv, np.zeros((0, 2))).shape == (0, 2, 2)
    assert as_matrix(arm, pose, np.zeros((0, 2))).shape == (0, 32)
    assert as_matrix(arm, U, q).shape == (4, 3)
    assert np.ndim(as_matrix(arm, beta.T @ beta, Q2, [1.0, 2.0])) == 0


def test_user_operators_come_by_blocks_with_their_own_batch(arm):
    rng = np.random.default_rng(0)
    blocks = [rng.normal(size=(5, 6, 6)), rng.normal(size=(6, 6))]
    whole = as_matrix(arm, A, Q2, A=blocks)
    assert whole.shape == (5, 12, 12)
    for i in range(5):
        expected = np.block([[blocks[0][i], np.zeros((6, 6))], [np.zeros((6, 6)), blocks[1]]])
        assert np.array_equal(whole[i], expected)
    maps = rng.normal(size=(2, 1, 6))
    matrix = as_matrix(arm, L, Q2, L=maps)
    assert np.array_equal(matrix, [[*maps[0, 0], *np.zeros(6)], [*np.zeros(6), *maps[1, 0]]])
    Z = operator("Z", "point", "point")
    points = [pp.point("tip"), pp.point("link1")]
    weights = [np.diag(np.arange(6.0)), 2 * np.eye(6)]
    weighted = as_matrix(arm, J.T @ Z @ J, Q2, points=points, Z=weights)
    jacobian = as_matrix(arm, J, Q2, points=points)
    both = jacobian[:6].T @ weights[0] @ jacobian[:6] + 2 * jacobian[6:].T @ jacobian[6:]
    assert_close(weighted, both)


@pytest.mark.parametrize(
    "layout",
    [
        lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
        lambda x: np.asfortranarray(x),
        lambda x: x[::-1].copy()[::-1],
        lambda x: np.moveaxis(np.moveaxis(x, 0, -1).copy(), -1, 0),
        lambda x: x.tolist(),
    ],
    ids=["strided", "fortran", "reversed", "transposed", "list"],
)
def test_layout_of_the_arrays_does_not_matter(layout):
    model = machines.MARKET["serial_multidof"]()
    rng = np.random.default_rng(1)
    q = np.array([machines.random_state(model, rng)[0] for _ in range(3)])
    v, forces = rng.normal(size=(2, 3, model.nv))
    expression = Mass.inv @ (T - C)
    expected = as_matrix(model, expression, q, v, T=forces)
    result = as_matrix(model, expression, layout(q), layout(v), T=layout(forces))
    assert np.array_equal(result, expected)


def test_inputs_are_not_written_and_results_not_shared():
    model = machines.MARKET["tree_one_dof"]()
    rng = np.random.default_rng(2)
    q, v = machines.random_state(model, rng)
    forces = rng.normal(size=model.nv)
    blocks = [np.eye(6) for _ in model.bodies]
    for array in (q, v, forces, *blocks):
        array.flags.writeable = False
    cases = [(T, {"T": forces}), (A, {"A": blocks}), (beta, {}), (M, {}), (H, {}), (Mass, {})]
    for expression, values in cases:
        first = as_matrix(model, expression, q, v, **values)
        again = first.copy()
        assert not any(np.shares_memory(first, x) for x in (q, v, forces, *blocks))
        first[...] = np.nan  # ours to spoil
        assert np.array_equal(as_matrix(model, expression, q, v, **values), again)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.uint8, bool, object])
def test_numbers_of_any_kind_are_computed_with_in_double(dtype, arm):
    q, v, forces = (np.array(x, dtype) for x in ([0, 1], [1, 0], [1, 1]))
    result = as_matrix(arm, Mass.inv @ (T - C), q, v, T=forces)
    assert result.dtype == np.float64
    assert np.array_equal(
        result, as_matrix(arm, Mass.inv @ (T - C), [0.0, 1.0], [1.0, 0.0], T=[1.0, 1.0])
    )


def test_long_doubles_are_refused_and_not_rounded(arm):
    """Where a long double is longer than a double, which it is not on every platform."""
    if np.finfo(np.longdouble).eps == np.finfo(float).eps:
        assert as_matrix(arm, phi, np.array(Q2, np.longdouble)).shape == (12, 12)
        return
    message = refusal(arm, phi, np.array(Q2, np.longdouble))
    assert message.startswith("`phi` is evaluated in double precision, not in ")
    assert "not in" in refusal(arm, T, Q2, T=np.zeros(2, np.longdouble))


def test_complex_numbers_give_complex_results_of_real_value(arm):
    real = as_matrix(arm, Mass, Q2)
    result = as_matrix(arm, Mass, np.array(Q2, complex))
    assert result.dtype == np.complex128
    assert_close(result, real)
    forces = np.array([1.0 + 2.0j, 0.0])
    assert_close(as_matrix(arm, Mass.inv @ T, Q2, T=forces), np.linalg.solve(real, forces))


# -- complex steps ---------------------------------------------------------------------


@pytest.mark.parametrize("machine", ["serial_multidof", "forest", "reflected_rotors", "mimics"])
@pytest.mark.parametrize("expression", [phi, Mass, P, D.sqrt, Omega, C, Mass.inv @ T, J], ids=str)
def test_complex_step_is_the_derivative(machine, expression):
    """Against central differences with one Richardson step, 1e-8 relative."""
    model = machines.MARKET[machine]()
    rng = np.random.default_rng(3)
    q, v = machines.random_state(model, rng)
    along = rng.normal(size=model.nv)
    deepest = model.bodies[np.argmax(model.tree.depth)]
    points = [pp.point(deepest.name, (0.1, 0.2, 0.3))]
    values = values_of(expression, model, rng)

    def value(step):
        moved = pp.integrate(model, q, step * along)
        return as_matrix(model, expression, moved, v, points=points, **values)

    def slope(h):
        return (value(h) - value(-h)) / (2 * h)

    exact = value(1j * STEP).imag / STEP
    h = 1e-3
    assert_close(exact, (4 * slope(h / 2) - slope(h)) / 3, tolerance=1e-8)
    assert np.linalg.norm(exact) > 1e-6 * np.linalg.norm(value(0.0))


def test_complex_step_passes_through_the_cholesky_factor():
    """d(L L*) = dL L* + L dL*, dL lower triangular; NumPy's own factor would conjugate."""
    model = machines.MARKET["serial_multidof"]()
    rng = np.random.default_rng(4)
    q, _ = machines.random_state(model, rng)
    moved = pp.integrate(model, q, 1j * STEP * rng.normal(size=model.nv))
    root, step = as_matrix(model, D.sqrt, q), as_matrix(model, D.sqrt, moved).imag / STEP
    rate = as_matrix(model, D, moved).imag / STEP
    assert_close(step @ root.T + root @ step.T, rate)
    assert np.array_equal(step, np.tril(step))


def test_deep_expressions_need_no_recursion(arm):
    """Two thousand nested products, sums and transposes of turns by a right angle."""
    step = operator("Z", "body", "body")
    turn = [np.kron(np.eye(3), [[0.0, -1.0], [1.0, 0.0]])] * 2
    expression = step
    for _ in range(500):
        expression = (2 * I + step @ expression.T).T - 2 * I
    result = as_matrix(arm, expression, Q2, Z=turn)
    assert np.array_equal(np.abs(result @ result.T), np.eye(12))
