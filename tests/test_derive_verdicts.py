"""What `pp.derive` reaches, both ways, and what it says of that: complete only where it is."""

import pytest

import phipsi as pp
from phipsi.algebra.rewriting.others import is_regular
from phipsi.operators import (
    D,
    E_phi,
    H,
    I,
    J,
    M,
    Mass,
    P,
    T,
    operator,
    psi,
    scalar,
    space,
    vector,
)

COMPLETE = "every identity was tried wherever it applies"

small = space("small", 3)
U_, V_ = operator("U_", small, "joint"), operator("V_", "joint", small)
L = operator("L", small, small)
N, R_ = operator("N", "joint", "joint"), operator("R_", "joint", "joint")
k = scalar("k")
X = J @ Mass.inv @ J.T
A1, B1, O2, O3 = (operator(name, "joint", "joint") for name in ("A1", "B1", "O2", "O3"))
u, w, y, z = (vector(name, "joint") for name in ("u", "w", "y_", "z_"))


# -- the inverse of a sum ------------------------------------------------------------------

WOODBURY = {
    "two operators": ((N + R_).inv, N.inv - N.inv @ (N.inv + R_.inv).inv @ N.inv),
    "two inverses": ((N.inv + R_.inv).inv, N @ (N + R_).inv @ R_),
    "one operator": ((N + R_).inv @ R_, N.inv @ (N.inv + R_.inv).inv),
    "a number": (
        (N + 2 * U_ @ V_).inv,
        N.inv - N.inv @ U_ @ (0.5 * I + V_ @ N.inv @ U_).inv @ V_ @ N.inv,
    ),
    "a number within": (
        (N + U_ @ (2 * L) @ V_).inv,
        N.inv - N.inv @ U_ @ ((2 * L).inv + V_ @ N.inv @ U_).inv @ V_ @ N.inv,
    ),
    "a number before": (
        (2 * N + U_ @ V_).inv,
        0.5 * N.inv - 0.25 * N.inv @ U_ @ (I + 0.5 * V_ @ N.inv @ U_).inv @ V_ @ N.inv,
    ),
    "a number that is no binary fraction": (
        (3 * N + U_ @ V_).inv,
        N.inv / 3 - N.inv @ U_ @ (I + V_ @ N.inv @ U_ / 3).inv @ V_ @ N.inv / 9,
    ),
    "a scalar": (
        (N + k * U_ @ L @ V_).inv,
        N.inv - N.inv @ U_ @ ((k * L).inv + V_ @ N.inv @ U_).inv @ V_ @ N.inv,
    ),
    "blocks around blocks": (
        (N + R_ @ N @ R_.T).inv,
        N.inv - N.inv @ R_ @ (N.inv + R_.T @ N.inv @ R_).inv @ R_.T @ N.inv,
    ),
    "three terms": (
        (N + U_ @ U_.T + R_).inv,
        (N + R_).inv - (N + R_).inv @ U_ @ (I + U_.T @ (N + R_).inv @ U_).inv @ U_.T @ (N + R_).inv,
    ),
    "pushed through": ((I + R_ @ N).inv @ R_, R_ @ (I + N @ R_).inv),
    "damped least squares": (
        U_ @ (U_.T @ U_ + 0.1 * I).inv,
        (U_ @ U_.T + 0.1 * I).inv @ U_,
    ),
    "damped by a scalar": (U_ @ (U_.T @ U_ + k * I).inv, (U_ @ U_.T + k * I).inv @ U_),
    "damped Jacobian": (J.T @ (J @ J.T + 0.1 * I).inv, (J.T @ J + 0.1 * I).inv @ J.T),
    "Jacobian damped by a scalar": (J @ (J.T @ J + k * I).inv, (J @ J.T + k * I).inv @ J),
    "springs at points": (
        (Mass + 2 * J.T @ J).inv,
        Mass.inv - Mass.inv @ J.T @ (0.5 * I + X).inv @ J @ Mass.inv,
    ),
    "springs at points, a scalar": (
        (Mass + k * J.T @ J).inv,
        Mass.inv - k * Mass.inv @ J.T @ (I + k * X).inv @ J @ Mass.inv,
    ),
}


@pytest.mark.parametrize(("left", "right"), WOODBURY.values(), ids=WOODBURY)
def test_the_matrix_inversion_lemma_holds_for_any_split(left, right):
    """Numbers, scalars and I wherever they stand. Witness: dense matrices."""
    for one, other in ((left, right), (right, left)):
        found = pp.derive(one, to=other)
        assert not found.missing, found
        assert found.check(machines=2).ok


def test_the_lemma_is_not_said_of_what_has_no_inverse():
    """J* J, x y* and E_phi may be any term, but not A or C."""
    assert is_regular(N) and is_regular(N + J.T @ J) and is_regular(2 * M)
    x = vector("x", "body")
    for one in (J.T @ J, x @ x.T, E_phi, H.T @ H, H.T):
        assert not is_regular(one)


def test_roots_are_of_any_operator():
    found = pp.derive(P.sqrt @ P.sqrt.T @ psi.T, to=P @ psi.T)
    assert not found.missing and found.check().ok
    found = pp.derive(P.sqrt.T.inv @ P.sqrt.inv, to=P.inv)
    assert not found.missing and found.check().ok


# -- what was not tried --------------------------------------------------------------------


def test_no_search_claims_all_ways_to_split_an_inverted_sum():
    found = pp.derive((A1 + B1).inv, to=B1 @ A1)
    assert found.missing and found.exhausted
    assert "sums that are inverted, split in other ways" in found.left_out
    assert COMPLETE not in found.verdict


@pytest.mark.parametrize("options", [{}, {"to": B1 @ u}], ids=["cheapest", "goal"])
def test_what_without_leaves_out_is_named(options):
    found = pp.derive(A1 @ u, without="Lemma 4", **options)
    assert found.exhausted
    assert "'Lemma 4', as `without` asks" in found.left_out
    assert COMPLETE not in found.verdict


@pytest.fixture
def own():
    """Names of identities, forgotten at the end."""
    names = []
    yield names
    for name in names:
        pp.forget_identity(name)


def test_an_identity_of_variables_alone_is_tried(own):
    """All operators of joint space commute, says the user: in any order of any length."""
    own.append(pp.add_identity("commute", O2 @ O3, O3 @ O2, variables=[O2, O3]).name)
    for one, other in (
        (A1 @ B1 @ u, B1 @ A1 @ u),
        (A1 @ B1 @ D @ u, D @ B1 @ A1 @ u),
        (A1 @ B1 @ N @ R_ @ u, R_ @ N @ B1 @ A1 @ u),
    ):
        found = pp.derive(one, to=other)
        assert not found.missing, found
        assert "commute" in {x.name for x in found.identities}
        assert not found.check().ok  # it is a lie, and a check tells
    assert pp.derive(A1 @ u, to=B1 @ u).missing
    assert pp.derive(Mass.inv @ T, bound=20).steps


def test_an_identity_of_variable_vectors_is_tried(own):
    own.append(pp.add_identity("even", y.T @ O2 @ z, z.T @ O2 @ y, variables=[y, z, O2]).name)
    found = pp.derive((u.T @ A1 @ w) * T, to=(w.T @ A1 @ u) * T)
    assert not found.missing and "even" in {x.name for x in found.identities}


def test_an_identity_that_begins_with_a_variable_is_named_as_left_out(own):
    own.append(pp.add_identity("twice", O2, 2 * O2.T, variables=[O2]).name)
    found = pp.derive(A1 @ u, to=B1 @ u)
    assert found.missing
    assert "'twice', which begins with a variable" in found.left_out
    assert COMPLETE not in found.verdict
