"""What `pp.derive` reaches, both ways, and what it says of that: complete only where it is."""

from functools import reduce

import numpy as np
import pytest
from derivations import two_arms

import phipsi as pp
from phipsi.algebra.node import add
from phipsi.algebra.rewriting.others import is_regular
from phipsi.algebra.rewriting.terms import is_zero
from phipsi.algebra.spaces import JOINT, SCALAR
from phipsi.lowering.sides import points_beside
from phipsi.operators import (
    HH,
    D,
    E_phi,
    H,
    HH_delta,
    HH_s,
    I,
    J,
    M,
    Mass,
    P,
    T,
    beta,
    f0,
    operator,
    phi,
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
    own.append(pp.add_identity("commute", O2 @ O3, O3 @ O2, variables=[O2, O3], check=False).name)
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
    how = {"variables": [y, z, O2], "check": False}
    own.append(pp.add_identity("even", y.T @ O2 @ z, z.T @ O2 @ y, **how).name)
    found = pp.derive((u.T @ A1 @ w) * T, to=(w.T @ A1 @ u) * T)
    assert not found.missing and "even" in {x.name for x in found.identities}


def test_an_identity_that_begins_with_a_variable_is_named_as_left_out(own):
    own.append(pp.add_identity("twice", O2, 2 * O2.T, variables=[O2], check=False).name)
    found = pp.derive(A1 @ u, to=B1 @ u)
    assert found.missing
    assert "'twice', which begins with a variable" in found.left_out
    assert COMPLETE not in found.verdict


# -- every identity ------------------------------------------------------------------------

EVERY = pp.identities()


@pytest.mark.parametrize("equation", EVERY, ids=lambda x: x.name)
def test_every_identity_is_reached_both_ways_and_checked(equation):
    """Under its conditions alone, unasked for. Witness: dense matrices on a random machine."""
    for one, other in ((equation.left, equation.right), (equation.right, equation.left)):
        found = pp.derive(one, to=other, assume=equation.conditions)
        assert not found.missing, found
        assert set(found.conditions) <= set(equation.conditions)
        assert found.check(machines=1).ok


def applied(node):
    """An operator times a vector that belongs to the machine or to the user."""
    letters = {JOINT: beta, SCALAR: None}
    x = letters.get(node.source, vector("some", node.source))
    return node if x is None else node @ x


@pytest.mark.parametrize("equation", EVERY, ids=lambda x: x.name)
def test_every_identity_is_reached_in_context(equation):
    """Applied to a vector; and where both sides stand in one sum, with different numbers."""
    left, right = equation.left, equation.right
    mixed = 2 * right + 1.5 * left, 3 * left + 0.5 * right
    for one, other in ((applied(left), applied(right)), mixed):
        found = pp.derive(one, to=other, assume=equation.conditions)
        assert not found.missing, found


@pytest.mark.parametrize(
    "name", ["(a.51) of 004-I", "FD4 of 001", "(6.21) of 004-II", "Identity A.7", "Lemma 1"]
)
@pytest.mark.parametrize("outer", [Mass, D.inv], ids=str)
def test_identities_are_reached_behind_other_operators(outer, name):
    equation = pp.identity(name)
    one, other = outer @ equation.left, outer @ equation.right
    found = pp.derive(one, to=other, assume=equation.conditions)
    assert not found.missing and found.check(machines=1).ok


def test_an_identity_is_used_behind_another_operator_where_it_is_asked_for():
    equation = pp.identity("(a.51) of 004-I")
    found = pp.derive(D.inv @ equation.left, to=D.inv @ equation.right, using=equation.name)
    assert equation in found.identities and found.check(machines=1).ok


@pytest.mark.parametrize(
    "equation",
    [x for x in EVERY if not is_zero(x.left) and not is_zero(x.right)],
    ids=lambda x: x.name,
)
def test_false_goals_are_never_reached_nor_said_to_be_refuted(equation):
    """Planted: half as much again of a side, and a side without one of its terms."""
    sides = [(equation.left, 1.5 * equation.right)]
    if len(equation.right.terms) > 1:
        sides.append((equation.left, reduce(add, equation.right.terms[1:])))
    for one, other in sides:
        found = pp.derive(one, to=other, assume=equation.conditions, bound=6)
        assert found.missing and not found.steps, found
        assert not found.check().ok
        assert COMPLETE not in found.verdict


# -- checks --------------------------------------------------------------------------------


def test_a_check_puts_pick_offs_at_a_joint():
    """(2.14) of 000 is about any joint; on machines, each check is about one of theirs."""
    found = pp.derive(HH_s, to=HH - HH_delta)
    assert found.check().ok
    assert found.check(pp.examples.puma560()).ok
    assert not pp.derive(HH_s, to=HH + HH_delta, bound=4).check().ok


def test_a_check_of_pick_offs_sees_a_lie(own):
    own.append(pp.add_identity("no shift", HH_s @ phi, HH @ phi, check=False).name)
    found = pp.derive(HH_s @ phi, to=HH @ phi)
    assert not found.missing and not found.check().ok
    assert not found.check(pp.examples.puma560()).ok


def test_pick_offs_need_a_joint_that_moves():
    builder = pp.ModelBuilder("fixed")
    builder.add_body("slab", "world", pp.joints.Fixed(), mass=1.0, inertia=(1.0, 1.0, 1.0))
    with pytest.raises(pp.PhipsiError, match="no joint that moves"):
        pp.derive(HH_s, to=HH - HH_delta).check(builder.build())


left, right = pp.point("left"), pp.point("right")
g_ = vector("g_", "point")


@pytest.mark.parametrize(
    "expression",
    [
        J(left, right) @ Mass.inv @ J(left).T @ f0,
        J(left) @ Mass.inv @ J(left, right).T @ f0,
        J(left, right).T @ f0 + J(left).T @ g_,
        J(left).T @ (f0 + g_) + J(left, right).T @ (J(left, right) @ Mass.inv @ T),
        (J(left, right) @ Mass.inv @ J(left, right).T).inv @ f0,
    ],
    ids=str,
)
def test_points_of_different_number_are_told_by_neighbours(expression):
    """On random machines by `check`; dense and compiled, rolled and unrolled, on two arms."""
    assert pp.derive(expression).check(machines=2).ok
    model = two_arms()
    rng = np.random.default_rng(0)
    q, v = model.random(rng), rng.normal(size=model.nv)
    beside = points_beside([expression])
    sizes = {x: 6 * len(next(iter(points))) for x, points in beside.items()}
    values = {x.name: rng.normal(size=n) for x, n in sizes.items()}
    values |= {"T": rng.normal(size=model.nv)} if "T" in str(expression).split(" @ ")[-1] else {}
    dense = np.ravel(pp.as_matrix(model, expression, q, v, **values))
    for unroll in (True, False):
        coded = pp.compile(model, expression, unroll=unroll)(q, v, **values)
        assert np.linalg.norm(coded - dense) < 1e-9 * np.linalg.norm(dense)


def test_points_that_no_neighbour_tells_are_refused():
    """The same force at one point and at two."""
    model = two_arms()
    expression = J(left).T @ f0 + J(left, right).T @ f0
    with pytest.raises(pp.InputError, match="not clear"):
        pp.as_matrix(model, expression, model.neutral(), np.zeros(model.nv), f0=np.zeros(6))
