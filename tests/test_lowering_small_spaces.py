"""Point, coordinate and base space: lowered expressions against their dense meaning.

Several points, two of them on one body, one on the world; machines without and
with joints that follow others.
"""

import expressions
import machines
import numpy as np
import pytest
from expressions import F, O, W, r, s, w
from symbols import A, N, assert_close, free_names, k, x, y

import phipsi as pp
from phipsi.algebra.spaces import BASE, COORDINATES, POINTS
from phipsi.operators import B, E, H, I, J, Jm, M, Mass, R, S_q, V, X, blockdiag, phi, tau_bar

I_p, I_c, I_b = (I.at(space) for space in (POINTS, COORDINATES, BASE))
payload = M + B @ B.T

EXPRESSIONS = [
    # point space
    *(I_p, 2 * I_p, blockdiag(I_p), blockdiag(I_p).sqrt, I_p + F, F @ I_p, I_p @ r),
    *(blockdiag(F @ F.T) @ r, (F @ F.T).sqrt @ r, (F @ F.T).sqrt.T @ r, F.inv @ X, X @ F.inv),
    *(J.T @ F, J.T @ F.inv, F.inv @ J, F.inv.T @ J, J.T @ X.T @ F.inv, (F + F.T).inv @ X @ J),
    *(F.inv - blockdiag(F.T) @ X.T @ F.T, blockdiag(F.T) @ X.T @ F.T, J.T @ (F @ F.T).inv @ J),
    *(F.inv @ J @ Mass.inv @ J.T @ F.inv, X @ F @ X.T, blockdiag(J @ J.T), blockdiag(J @ J.T) @ r),
    *((I_p + J @ Mass.inv @ J.T).inv @ J @ y, (r @ r.T + I_p).inv @ r),
    # bodies that carry something at their points
    *((B @ B.T + 0.5 * tau_bar.T) @ E, phi @ (B @ B.T + M), (B @ F @ B.T + A).T @ phi.T @ H.T),
    *(payload, B @ B.T - M, A + B @ F @ B.T, R.inv + B @ B.T, blockdiag(payload), payload.inv),
    *(payload.inv @ x, phi @ B @ B.T, B @ X.T @ F @ X @ B.T, blockdiag(phi @ payload @ phi.T)),
    *(H @ phi @ payload @ phi.T @ H.T, (H @ phi @ payload @ phi.T @ H.T + Jm).inv @ y),
    (H @ phi @ payload @ phi.T @ H.T + Jm).inv,
    # coordinates
    *(I_c, W @ W.T @ s, W.inv @ s, (W @ W.T).sqrt, (W @ W.T).sqrt.T @ s, s @ s.T, s @ s.T @ W),
    *((W - I_c) @ s @ x.T, s @ y.T, s @ x.T @ A, s @ s.T + W, (s @ s.T + W).inv @ s),
    *(
        S_q.T @ y,
        S_q @ s,
        S_q.T @ S_q,
        S_q @ S_q.T @ y,
        S_q.T @ N @ S_q,
        W @ S_q.T @ H @ phi @ M @ V,
    ),
    *((s @ s.T + S_q.T @ Mass @ S_q).inv @ s, S_q.T @ Mass.inv @ S_q),
    # the base
    *(I_b, O.inv @ w, (O @ O.T).sqrt.T @ w, blockdiag(E.T @ E), blockdiag(E.T @ E).sqrt @ w),
    *((w @ w.T + I_b).inv @ w, (E.T @ phi @ M @ phi.T @ E).inv @ w, (O + O.T) @ E.T @ phi @ x),
    E.T @ phi @ M @ phi.T @ H.T @ S_q,
    # numbers
    *(k.inv * M, k.sqrt * M, (V.T @ M @ V).sqrt, (V.T @ M @ V).inv * phi @ x, x.T @ x * phi),
]


@pytest.mark.parametrize("mimics", [False, True], ids=["plain", "mimics"])
@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_lowered_equals_dense(expression, mimics):
    shapes = {"shape": "tree", "mimics": mimics}
    model = machines.random_machine(3, 4, machines.ONE_DOF_KINDS, **shapes)
    rng = np.random.default_rng(0)
    q, v = machines.random_state(model, rng)
    places = ("body0", "body1", "body0", "world")
    points = [pp.point(name, (0.1, 0.2, 0.1 * i)) for i, name in enumerate(places)]
    values = expressions.values_for(model, rng, points=len(points))
    given = {name: values[name] for name in free_names(expression)}
    meant = pp.as_matrix(model, expression, q, v, points=points, **given)
    found = pp.compile(model, expression)(q, v, points=points, **given)
    assert_close(found, meant, scale=1.0)


def test_what_is_zero_on_every_machine_has_no_inverse():
    with pytest.raises(pp.SolveError, match="is singular on every machine: it is zero"):
        pp.compile(pp.chain(2), (0 * Mass).inv)


def test_expressions_nested_too_deeply_are_refused_and_long_products_are_not():
    """S[S[...]] of 400 levels; 200 factors of phi."""
    nested, long = x, x
    for _ in range(400):
        nested = pp.operators.S[nested] @ x
    for _ in range(200):
        long = phi @ long
    model, ones = pp.chain(2), np.ones(12)
    with pytest.raises(pp.LoweringError, match="nested too deeply"):
        pp.compile(model, nested)
    meant = pp.as_matrix(model, long, [0.1, 0.2], x=ones)
    assert_close(pp.compile(model, long)([0.1, 0.2], x=ones), meant)
