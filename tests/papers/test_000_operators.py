"""[000] sections 1 and 2: shift, spatial cross products, pick-off operators.

A and Z stand for the paper's block diagonal A and B; x and y for its vectors.
"""

import numpy as np
import pytest
from equations import (
    TOLERANCE,
    assemble,
    diagonal,
    mismatch,
    phi_by_products,
    random_blocks,
    random_state,
    value,
)
from paper_000 import (
    ANY,
    BRANCHED,
    MACHINES,
    UNBRANCHED,
    adjoint_cross,
    force_cross,
    inertias,
    jacobians,
)

from phipsi.operators import (
    Delta_phi,
    E_phi,
    H,
    M,
    Q,
    S,
    cross,
    operator,
    phi,
    vector,
)

A, Z = operator("A", "body", "body"), operator("Z", "body", "body")
x, y = vector("x", "body"), vector("y", "body")
e = vector("e", "joint")
AXES = ("link", "world")


def vectors(model, seed=1):
    rng = np.random.default_rng(seed)
    size = 6 * len(model.bodies)
    return {"x": rng.normal(size=size), "y": rng.normal(size=size)}


def matrices(model, seed=2):
    rng = np.random.default_rng(seed)
    return {"A": random_blocks(model, rng), "Z": random_blocks(model, rng)}


# -- section 1 -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ANY)
def test_phi_blocks_are_products_along_the_path(name):
    """(1.3): phi = (I - E_phi)^-1 has phi(i,j) = phi(i,i-1) ... phi(j+1,j). Any tree."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    product = phi_by_products(model, q)
    expected = assemble(model, lambda i, k: product.get((i, k)))
    assert mismatch(model, phi, expected, q) < TOLERANCE


@pytest.mark.parametrize("name", ANY)
def test_mass_matrix_after_1_2_needs_the_second_star(name):
    """After (1.2): Mass = H phi M phi* H* (+ Jm); printed without the second star. Any tree.

    The witness is the kinetic energy: the sum of J_k* M(k) J_k over all bodies,
    J_k from the rates of the poses.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    pairs = zip(jacobians(model, q), inertias(model, q), strict=True)
    energy = sum(J.T @ M_k @ J for J, M_k in pairs)
    assert mismatch(model, H @ phi @ M @ phi.T @ H.T, energy, q) < TOLERANCE
    assert mismatch(model, H @ phi @ M @ phi @ H.T, energy, q) > 0.1


# -- the shift operator ----------------------------------------------------------------

SHIFT = {
    "(S A S*) S B = S A B": (S @ A @ S.T @ S @ Z, S @ A @ Z),
    "(S* A S) S* B = S* A B": (S.T @ A @ S @ S.T @ Z, S.T @ A @ Z),
    "A S* (S B S*) = A B S*": (A @ S.T @ S @ Z @ S.T, A @ Z @ S.T),
    "A S (S* B S) = A B S": (A @ S @ S.T @ Z @ S, A @ Z @ S),
    "(S A S*)(S B S*) = S A B S*": (S @ A @ S.T @ S @ Z @ S.T, S @ A @ Z @ S.T),
    "(S* A S)(S* B S) = S* A B S": (S.T @ A @ S @ S.T @ Z @ S, S.T @ A @ Z @ S),
    "(S S*) S A = S A": (S @ S.T @ S @ A, S @ A),
    "S A (S* S) = S A": (S @ A @ S.T @ S, S @ A),
    "(S* S) S* A = S* A": (S.T @ S @ S.T @ A, S.T @ A),
    "S* A (S S*) = S* A": (S.T @ A @ S @ S.T, S.T @ A),
    "(S* S) A S* = A S*": (S.T @ S @ A @ S.T, A @ S.T),
    "A (S* S) S* = A S*": (A @ S.T @ S @ S.T, A @ S.T),
    "(S S*) A S = A S": (S @ S.T @ A @ S, A @ S),
    "A (S S*) S = A S": (A @ S @ S.T @ S, A @ S),
}


@pytest.mark.parametrize("name", ANY)
def test_shift_has_identities_on_the_sub_diagonal(name):
    """Sec. 2.1: in world axes the only blocks of S are identities, at (p(k), k). Any tree."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    expected = assemble(model, lambda i, k: np.eye(6) if model.tree.parent[k] == i else None)
    assert mismatch(model, S, expected, q, axes="world") < TOLERANCE


@pytest.mark.parametrize("identity", SHIFT)
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("name", UNBRANCHED)
def test_lemma_2_1_shift_operator(name, axes, identity):
    """Lemma 2.1, for block diagonal A and B. Chains and forests of chains, any joints."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    left, right = SHIFT[identity]
    assert mismatch(model, left, right, q, axes=axes, **matrices(model)) < TOLERANCE


@pytest.mark.parametrize("identity", SHIFT)
@pytest.mark.parametrize("name", BRANCHED)
def test_lemma_2_1_fails_where_a_body_has_two_children(name, identity):
    """Every line of Lemma 2.1 needs S S* and S* S to be projections: they mix siblings on trees."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    left, right = SHIFT[identity]
    assert mismatch(model, left, right, q, **matrices(model)) > 0.1


# -- the spatial cross product ---------------------------------------------------------


@pytest.mark.parametrize("axes", AXES)
def test_cross_product_2_5_by_3_vectors(axes):
    """(2.5): z~ c = [x~ a; y~ a + x~ b] for z = [x; y], c = [a; b]."""
    model = MACHINES["tree_multidof"]()
    q, _ = random_state(model)
    given = vectors(model)
    z, c = (given[name].reshape(-1, 2, 3) for name in "xy")
    top = np.cross(z[:, 0], c[:, 0])
    bottom = np.cross(z[:, 1], c[:, 0]) + np.cross(z[:, 0], c[:, 1])
    expected = np.stack([top, bottom], axis=1).ravel()
    assert mismatch(model, cross[x] @ y, expected, q, axes=axes, **given) < TOLERANCE


def test_lemma_2_2_cross_product_is_antisymmetric():
    """Lemma 2.2, (2.6): A~ A = 0 and A~ B = -B~ A; yet the matrix A~ is not skew."""
    model = MACHINES["tree_multidof"]()
    q, _ = random_state(model)
    given = vectors(model)
    size = np.linalg.norm(value(model, cross[x] @ y, q, **given))
    nothing = np.zeros(6 * len(model.bodies))
    assert mismatch(model, cross[x] @ x, nothing, q, scale=size, **given) < TOLERANCE
    assert mismatch(model, cross[x] @ y, -cross[y] @ x, q, **given) < TOLERANCE
    assert mismatch(model, cross[x].T, -cross[x], q, **given) > 0.1


def test_cross_product_is_a_lie_bracket():
    """After (2.9): (A~ B)~ = A~ B~ - B~ A~, the bracket of the motions."""
    model = MACHINES["tree_multidof"]()
    q, _ = random_state(model)
    right = cross[x] @ cross[y] - cross[y] @ cross[x]
    assert mismatch(model, cross[cross[x] @ y], right, q, **vectors(model)) < TOLERANCE


def test_force_cross_2_7_is_minus_the_transpose():
    """(2.7): S[z] = [[x~, y~], [0, x~]] = -(z~)*."""
    model = MACHINES["tree_multidof"]()
    q, _ = random_state(model)
    given = vectors(model)
    z = given["x"].reshape(-1, 6)
    expected = diagonal(model, lambda k: force_cross(z[k]))
    assert mismatch(model, S[x], expected, q, **given) < TOLERANCE
    assert mismatch(model, S[x], -cross[x].T, q, **given) < TOLERANCE


def test_adjoint_cross_2_8_is_skew():
    """(2.8): Q[z] = [[x~, y~], [y~, 0]] is skew."""
    model = MACHINES["tree_multidof"]()
    q, _ = random_state(model)
    given = vectors(model)
    z = given["x"].reshape(-1, 6)
    expected = diagonal(model, lambda k: adjoint_cross(z[k]))
    assert mismatch(model, Q[x], expected, q, **given) < TOLERANCE
    assert mismatch(model, Q[x].T, -Q[x], q, **given) < TOLERANCE


def test_adjoint_cross_2_9_exchanges_the_factors():
    """(2.9): A~* B = Q[B] A = -Q*[B] A, or S[A] B = -Q[B] A."""
    model = MACHINES["tree_multidof"]()
    q, _ = random_state(model)
    given = vectors(model)
    assert mismatch(model, cross[x].T @ y, Q[y] @ x, q, **given) < TOLERANCE
    assert mismatch(model, cross[x].T @ y, -Q[y].T @ x, q, **given) < TOLERANCE
    assert mismatch(model, S[x] @ y, -Q[y] @ x, q, **given) < TOLERANCE


def conjugations(step, inverse):
    """The four lines of (2.10) for block diagonal steps phi(l)."""
    return {
        "Q[phi X] = phi Q[X] phi*": (Q[step @ x], step @ Q[x] @ step.T),
        "S[phi* X] = phi^-1 S[X] phi": (S[step.T @ x], inverse @ S[x] @ step),
        "[phi* X]~ = phi* X~ phi^-*": (cross[step.T @ x], step.T @ cross[x] @ inverse.T),
        "[phi* X]~ phi* = phi* X~": (cross[step.T @ x] @ step.T, step.T @ cross[x]),
    }


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("line", conjugations(Delta_phi, Delta_phi.inv))
def test_lemma_2_3_cross_products_under_a_translation(line, axes):
    """Lemma 2.3, (2.10), with phi(l) = phi(p(k),k) of each body: Delta_phi. Any tree."""
    model = MACHINES["one_of_each_kind"]()
    q, _ = random_state(model)
    left, right = conjugations(Delta_phi, Delta_phi.inv)[line]
    assert mismatch(model, left, right, q, axes=axes, **vectors(model)) < TOLERANCE


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Q[E_phi @ x], E_phi @ Q[x] @ E_phi.T),
        (E_phi @ S[E_phi.T @ x], S[x] @ E_phi),
        (cross[E_phi.T @ x] @ E_phi.T, E_phi.T @ cross[x]),
    ],
    ids=str,
)
def test_lemma_2_3_cross_products_under_a_turned_translation(left, right):
    """Lemma 2.3 in link axes, where phi(p,k) = [[R, l~ R], [0, R]] also turns. Any tree."""
    model = MACHINES["one_of_each_kind"]()
    q, _ = random_state(model)
    assert mismatch(model, left, right, q, **vectors(model)) < TOLERANCE
