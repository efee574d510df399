"""What has no O(N) algorithm is refused: the message says why, and offers as_matrix."""

import functools
import operator

import machines
import numpy as np
import pytest
from expressions import F, O, W, Z, r, values_for
from symbols import A, N, assert_close, free_names, x, y

import phipsi as pp
from phipsi.operators import (
    B,
    E,
    E_phi,
    H,
    I,
    J,
    Jm,
    K,
    M,
    Mass,
    Omega,
    S,
    S_q,
    T,
    V,
    X,
    blockdiag,
    c,
    cross,
    phi,
    psi,
)

TIP, ELBOW = pp.point("body6", (0.1, 0.2, 0.3)), pp.point("body2", (0.3, 0.2, 0.1))
COUPLED = B(TIP) @ (B(TIP).T @ B(TIP) + B(TIP).T @ A @ B(TIP)).inv @ B(TIP).T

REFUSED = {
    # -- inverses
    "two-sided": ((phi + phi.T).inv @ x, "neither block diagonal, nor causal"),
    "no symmetry": ((Mass + N).inv @ y, "with symmetric W and N"),
    "inverse plus": ((Mass.inv + N).inv @ y, "cannot invert `Mass.inv + N` in O(N)"),
    "phi and psi": ((H @ phi @ M @ psi.T @ H.T + Jm).inv, "cannot invert `H @ phi @ M @ psi.T"),
    "points that do not stand alone, in a recursion": (
        (I + E_phi + COUPLED).inv @ x,
        "its own blocks are not clear",
    ),
    "points that do not stand alone, in a block": (
        (M + I + COUPLED).inv @ x,
        "its points do not stand alone",
    ),
    # -- matrices
    "two recursions on one side": (
        phi.T @ A @ phi @ A @ phi,
        "two recursions follow each other on one side",
    ),
    "points that do not stand alone, in a recursion's columns": (
        (I + E_phi @ COUPLED).inv,
        "it is a dense matrix of all its space",
    ),
    "poses": (Z, "`Z` stands inside it"),
    "no decomposition": (
        (A - E_phi).inv @ M @ phi.T,
        "one of the factors is no recursion of one step",
    ),
    "too many terms": (
        functools.reduce(operator.matmul, [phi + psi.T + A] * 6),
        "has more than 600 terms when multiplied out",
    ),
    "axes at different points": (
        X(TIP) @ X(ELBOW),
        "mixes letters at different points",
    ),
    # -- diagonals
    "diagonal of two recursions": (
        blockdiag(phi.T @ A @ phi @ A @ phi),
        "cannot take the blocks of `phi.T @ A @ phi @ A @ phi` in O(N)",
    ),
    "diagonal of two steps": (
        blockdiag(E_phi.T @ E_phi.T @ A @ E_phi @ E_phi) @ x,
        "cannot take the blocks of",
    ),
    "diagonal of the base": (blockdiag(E @ E.T), "`E` stands inside it"),
    "diagonal of coordinates": (blockdiag(S_q @ W @ S_q.T) @ y, "`S_q` stands inside it"),
}


@pytest.fixture(scope="module")
def arm():
    return machines.MARKET["serial_revolute"]()


@pytest.mark.parametrize("name", REFUSED)
def test_refusal_says_why_and_offers_as_matrix_which_works(arm, name):
    expression, reason = REFUSED[name]
    with pytest.raises(pp.LoweringError) as caught:
        pp.compile(arm, expression)
    assert reason in str(caught.value)
    assert "pp.as_matrix" in str(caught.value)
    values = values_for(arm, np.random.default_rng(0), points=1)
    keywords = {key: values[key] for key in free_names(expression)}
    assert np.all(np.isfinite(pp.as_matrix(arm, expression, [0.3] * 7, [0.1] * 7, **keywords)))


@pytest.mark.parametrize(
    "expression",
    [
        *(COUPLED, E @ E.T, B(TIP) @ B(ELBOW).T, E @ O),
        *(COUPLED @ x, E @ E.T @ x, B(TIP) @ B(ELBOW).T @ x, Z @ pp.operators.pose),
        *(
            phi.T @ A @ phi @ A @ phi @ x,
            (A - E_phi).inv @ M @ phi.T @ x,
            X(TIP) @ X(ELBOW) @ c(TIP),
        ),
        *((I - S).inv @ A @ phi.T @ x, (I - S).inv.T @ A @ (I - S).inv @ x),
        (I - E_phi - A @ E_phi).inv @ M @ phi.T @ x,
        functools.reduce(operator.matmul, [phi + psi.T + A] * 6) @ x,
    ],
    ids=lambda expression: str(expression)[:40],
)
def test_small_spaces_stand_inside_and_what_has_no_matrix_in_o_n_can_be_applied(arm, expression):
    rng = np.random.default_rng(1)
    q, v = machines.random_state(arm, rng)
    values = values_for(arm, rng)
    keywords = {"q": q, "v": v, **{key: values[key] for key in free_names(expression)}}
    meant = pp.as_matrix(arm, expression, **keywords)
    assert_close(pp.compile(arm, expression)(**keywords), meant)


def test_refused_expression_leaves_nothing_behind(arm):
    refused, _ = REFUSED["two-sided"]
    for _ in range(2):
        with pytest.raises(pp.LoweringError):
            pp.compile(arm, [Mass, refused])
    assert pp.compile(arm, Mass)([0.1] * 7).shape == (7, 7)


# -- singular machines ------------------------------------------------------------------------


def massless_tip():
    builder = pp.ModelBuilder("massless tip", strict=False)
    builder.add_body("arm", mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    turn = pp.joints.Revolute((0, 1, 0))
    builder.add_body("tip", "arm", turn, position=(1, 0, 0))
    return builder.build()


@pytest.mark.parametrize("expression", [psi, K, Omega, Mass.inv, Mass.inv @ T, psi @ x], ids=str)
def test_vanishing_pivot_names_the_joint(expression):
    model = massless_tip()
    values = {"T": np.ones(2), "x": np.ones(12)}
    keywords = {name: values[name] for name in free_names(expression)}
    with pytest.raises(pp.SolveError, match="inertia D of joint 'tip_joint' vanishes"):
        pp.compile(model, expression)(q=[0.1, 0.2], **keywords)


def test_pivot_that_vanishes_at_one_state_of_a_batch_is_found():
    """A point mass swung onto the axis of the hub that carries it: nothing resists the hub."""
    builder = pp.ModelBuilder("swing")
    builder.add_body("hub", joint=pp.joints.Revolute((0, 0, 1)))
    swing = pp.joints.Revolute((0, 1, 0))
    builder.add_body("point", "hub", swing, mass=1.0, com=(0.1, 0.0, 0.3))
    function = pp.compile(builder.build(), Mass.inv)
    fine, onto_the_axis = [0.0, 0.0], [0.0, -np.arctan2(0.1, 0.3)]
    assert_close(np.diag(function(fine)), [1 / 0.1**2, 1 / (0.1**2 + 0.3**2)])
    with pytest.raises(pp.SolveError, match="joint 'hub_joint' vanishes"):
        function([fine, onto_the_axis])


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (M.inv, "`M` at body 'tip' is singular at this configuration"),
        (M.inv @ x, "`M` at body 'tip' is singular at this configuration"),
        (Jm.inv @ y, "`Jm` at joint '.*' is singular at this configuration"),
        ((A - A).inv @ x, "`A - A` at body '.*' is singular at this configuration"),
        ((x.T @ (A - A) @ x).inv * x, r"`x.T @ \(A - A\) @ x` is singular at this configuration"),
        (M.sqrt, "`M` at body '.*' has no square root: it is not positive definite"),
        ((-Jm).sqrt @ y, "`-Jm` at joint '.*' has no square root: it is not positive definite"),
        (cross[x].sqrt, r"`cross\[x\]` at body '.*' has no square root: it is not symmetric"),
        ((-(x.T @ x)).sqrt, r"`-\(x.T @ x\)` has no square root: it is not positive definite"),
        ((S_q.T @ Mass @ S_q).inv, "joint 'tip_joint' vanishes"),
        (
            (S_q.T @ Mass @ S_q + W - W).inv,
            "singular.*hardly resists the motion of joint 'tip_joint'",
        ),
        ((J @ J.T).inv @ r, "`J @ J.T` is singular at this configuration"),
        (F.inv @ r, "`F` is singular at this configuration"),
        (E_phi.inv, "`E_phi` is singular on every machine: its diagonal is zero"),
    ],
    ids=str,
)
def test_singular_operator_is_quoted_as_it_was_typed(expression, message):
    model = massless_tip()
    values = values_for(model, np.random.default_rng(2), points=1)
    values["F"] = [np.zeros((6, 6))]
    keywords = {name: values[name] for name in free_names(expression)}
    state = {"q": [0.1, 0.2], "v": [0.0, 0.0], "points": [pp.point("tip")]}
    with pytest.raises(pp.SolveError, match=message):
        pp.compile(model, expression)(**state, **keywords)
    with pytest.raises(pp.SolveError):
        pp.as_matrix(model, expression, **state, **keywords)


def test_letters_at_different_numbers_of_points_do_not_add(arm):
    total = c(TIP, ELBOW) + c(TIP)
    with pytest.raises(pp.InputError, match="different numbers of points"):
        pp.as_matrix(arm, total, [0.1] * 7, [0.1] * 7)
    with pytest.raises(pp.InputError, match="different numbers of points"):
        pp.compile(arm, total)([0.1] * 7, [0.1] * 7)


def test_vectors_at_points_of_their_own_add_point_by_point(arm):
    total = c(TIP, ELBOW) + 2 * J(ELBOW, TIP) @ T - X(ELBOW, TIP) @ c(TIP, TIP)
    keywords = {"q": [0.1] * 7, "v": [0.3] * 7, "T": np.arange(7.0)}
    found = pp.compile(arm, total)(**keywords)
    assert_close(found, pp.as_matrix(arm, total, **keywords))
    product = c(TIP).T @ V_at(ELBOW)
    keywords.pop("T")
    assert_close(pp.compile(arm, product)(**keywords), pp.as_matrix(arm, product, **keywords))


def V_at(point):
    """The velocity of a point."""
    return B(point).T @ V
