"""The axioms that the normal form knows by itself; what is singular on every machine never cancels.

Witness of every equation: dense matrices on a random machine, by `check`.
"""

import numpy as np
import pytest
from machines import MARKET

import phipsi as pp
from phipsi.algebra.elements import at, at_joint
from phipsi.algebra.rewriting.normal import are_equal
from phipsi.algebra.rewriting.singular import may_cancel, why_singular
from phipsi.operators import (
    D,
    Delta_phi,
    E_phi,
    E_psi,
    H,
    I,
    M,
    P,
    Q,
    S,
    T,
    V,
    blockdiag,
    cross,
    operator,
    phi,
    phi_tilde,
    psi,
    psi_tilde,
    scalar,
    space,
    tau,
    vector,
)

k, m = scalar("k"), scalar("m")
x, y = vector("x", "body"), vector("y", "body")
A, N = operator("A", "body", "body"), operator("N", "joint", "joint")

EQUAL = {
    "a scalar and its inverse": (k * k.inv * x, x),
    "a scalar and its inverse, of a scalar": (k * k.inv * m, m),
    "scalars by @": (k @ k.inv, k.inv @ k),
    "x* x and its inverse": ((x.T @ x).inv * (x.T @ x) * y, y),
    "inverse of two scalars": ((k * m).inv * k * x, m.inv * x),
    "a sum of scalars and its inverse": ((k + m).inv * k * x + (k + m).inv * m * x, x),
    "a sum of scalars, written otherwise": ((k + x.T @ y).inv * (y.T @ x + k) * x, x),
    "root of a scalar": (k.sqrt * k.sqrt * x, k * x),
    "a scalar is its own star": (x.T @ A @ y, y.T @ A.T @ x),
    "a scalar is its own star, cross products": (x.T @ cross[V] @ y, -(y.T @ S[V] @ x)),
    "a scalar within a product": (x @ y.T @ x, (x.T @ y) * x),
    "cross of a sum": (cross[x + y], cross[x] + cross[y]),
    "cross of a multiple": (cross[2 * x], 2 * cross[x]),
    "cross of a scalar's multiple": (cross[k * x], k * cross[x]),
    "S of a sum": (S[x + y], S[x] + S[y]),
    "Q of a difference": (Q[x - 3 * y], Q[x] - 3 * Q[y]),
    "blockdiag of a multiple": (blockdiag(2 * phi), 2 * blockdiag(phi)),
    "blockdiag of a sum": (blockdiag(phi + phi.T), blockdiag(phi) + blockdiag(phi.T)),
    "blockdiag of blocks": (blockdiag(A + A.T), A + A.T),
    "blockdiag of blockdiag": (blockdiag(blockdiag(phi)), blockdiag(phi)),
    "blocks beside blockdiag": (blockdiag(M @ phi @ A), M @ blockdiag(phi) @ A),
    "blockdiag of a step": (blockdiag(M + E_phi), M),
    "a body selected twice": (at(1) @ at(1) @ x, at(1) @ x),
    "a joint selected twice": (at_joint(1) @ at_joint(1) @ T, at_joint(1) @ T),
    "two bodies": (at(1) @ at(2) @ x, 0 * x),
    "a number in an inverse": ((2 * N + 2 * N.T).inv, 0.5 * (N + N.T).inv),
    "a number that is no binary fraction": ((3 * N + D).inv, (1 / 3) * (N + D / 3).inv),
    "a scalar in an inverse": ((k * N + k * D).inv, k.inv * (N + D).inv),
    "two scalars below": ((k.inv + m.inv).inv * x, k * m * (k + m).inv * x),
    "a sum of scalars below": ((D + (k + m).inv * N).inv, (k + m) * ((k + m) * D + N).inv),
    "an inverse within one number": (
        T.T @ (k * N + D).inv @ (D + k * N) @ T,
        T.T @ T,
    ),
    "a scalar below in an inverse": ((k.inv * N + D).inv, k * (N + k * D).inv),
}


@pytest.mark.parametrize(("one", "other"), EQUAL.values(), ids=EQUAL)
def test_axioms_are_known_without_an_identity(one, other):
    assert are_equal(one, other)
    found = pp.derive(one, to=other)
    assert not found.missing and not found.identities
    assert found.check(machines=2).ok


APART = {
    "another scalar": (k * m.inv * x, x),
    "other vectors": (x.T @ A @ y, x.T @ A.T @ y),
    "a sign": (x.T @ cross[V] @ y, y.T @ S[V] @ x),
    "cross is not symmetric": (cross[x] @ y, cross[y] @ x),
    "what blockdiag drops": (blockdiag(phi @ M), phi @ M),
    "blockdiag of a product": (blockdiag(phi @ phi.T), blockdiag(phi) @ blockdiag(phi.T)),
    "names of bodies": (at("arm") @ at("hand") @ x, 0 * x),
    "numbers in an inverse": ((2 * N + D).inv, 0.5 * (N + D).inv),
}


@pytest.mark.parametrize(("one", "other"), APART.values(), ids=APART)
def test_what_is_no_axiom_is_not_taken_for_one(one, other):
    assert not are_equal(one, other)


# -- what never cancels --------------------------------------------------------------------

small, smaller = space("small", 3), space("smaller", 2)
thin = operator("thin", smaller, small)
z = vector("z", small)
SINGULAR = {  # on every machine
    "shift": (S, x),
    "step": (E_phi, x),
    "step of free joints": (E_psi, x),
    "phi~": (phi_tilde, x),
    "psi~": (psi_tilde, x),
    "phi - I": (phi - I, x),
    "psi - I": (psi - I, x),
    "outward": (E_phi.T @ phi.T, x),
    "a step in a product": (M @ E_phi, x),
    "a step twice": (2 * E_phi @ E_phi, x),
    "one step beside another": (E_phi - S @ Delta_phi @ A, x),
    "cross": (cross[V], x),
    "S[.]": (S[V], x),
    "Q[.]": (Q[V], x),
    "cross in a product": (M @ cross[x] @ M, y),
    "through a smaller space": (thin @ thin.T, z),
}
RARELY_REGULAR = {  # on machines of free joints, or of one body
    "H* H": (H.T @ H, x),
    "tau": (tau, x),
    "one body": (at(1), x),
    "one joint": (at_joint(1), T),
    "outer product": (x @ y.T, x),
}
NEVER = SINGULAR | RARELY_REGULAR


@pytest.mark.parametrize(("operator", "vector"), NEVER.values(), ids=NEVER)
def test_what_is_singular_does_not_cancel(operator, vector):
    """Beside its inverse, in either order, within a longer product, or by way of a definition."""
    assert not may_cancel(operator)
    for product in (operator.inv @ operator, operator @ operator.inv):
        assert not are_equal(product @ vector, vector)
        assert pp.derive(product @ vector, to=vector, bound=8).missing
        assert pp.derive(product @ vector, bound=8).result != vector


@pytest.mark.parametrize(("operator", "vector"), SINGULAR.values(), ids=SINGULAR)
def test_the_compiler_refuses_what_is_singular_on_every_machine(operator, vector):
    """The lowering asks the records that the normal form asks."""
    assert why_singular(operator)
    for expression in (operator.inv @ vector, operator.inv @ operator @ vector):
        with pytest.raises(pp.SolveError, match="singular on every machine"):
            pp.compile(MARKET["tree_one_dof"](), expression)


@pytest.mark.parametrize(
    "operator", [M, D, P, phi, psi, phi.T, I - E_phi, I + H @ phi @ H.T, Delta_phi], ids=str
)
def test_what_may_have_an_inverse_cancels(operator):
    operator = operator.at(N.source)
    some = vector("some", operator.source.name)
    assert may_cancel(operator) and not why_singular(operator)
    assert are_equal(operator.inv @ operator @ some, some)


def test_a_body_by_number_has_no_inverse_when_it_is_compiled():
    """at(1)^-1 at(1) x is not x: on a machine of several bodies the other blocks are zero."""
    model = MARKET["tree_one_dof"]()
    q = model.neutral()
    v, given = np.zeros(model.nv), np.ones(6 * len(model.bodies))
    with pytest.raises(pp.SolveError, match="singular"):
        pp.compile(model, at(1).inv @ at(1) @ x)(q, v, x=given)


def test_bodies_counted_from_both_ends_may_be_one():
    """On a chain of three, body 1 is the second from the tip."""
    line = H @ phi @ at(1) @ at(-2) @ M @ phi.T @ H.T
    assert are_equal(at(1) @ at(2), 0 * at(1))
    found = pp.compile(pp.chain(3), line)([0.1, 0.2, 0.3])
    right = pp.as_matrix(pp.chain(3), line, [0.1, 0.2, 0.3])
    assert np.abs(right).max() > 0.1
    np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-12)
