"""Lowered expressions with letters at points of their own, several lists of them at once."""

import machines
import numpy as np
import pytest
from expressions import F, r
from symbols import A, N, assert_close, free_names, x, y

import phipsi as pp
from phipsi.compile import make_program
from phipsi.operators import (
    B,
    E,
    H,
    I,
    J,
    M,
    Mass,
    Omega,
    S_q,
    T,
    X,
    beta,
    blockdiag,
    c,
    phi,
    psi,
)

MACHINES = ["forest", "mimics", "welded"]


def places(model):
    """One point far outboard, one in the middle, one on the first body, one on the world."""
    names = [model.bodies[i].name for i in (-1, len(model.bodies) // 2, 0)]
    return [pp.point(name, (0.1, -0.2, 0.3 + i)) for i, name in enumerate([*names, "world"])]


def lowered(model, expression, points=None, **values):
    rng = np.random.default_rng(5)
    q, v = machines.random_state(model, rng)
    asked = {name: values[name] for name in free_names(expression)}
    keywords = {"q": q, "v": v, "points": points, **asked}
    return pp.compile(model, expression)(**keywords), pp.as_matrix(model, expression, **keywords)


def values_of(model):
    rng = np.random.default_rng(6)
    speeds = [joint.kind.nv for joint in model.joints]
    return {
        "A": [rng.normal(size=(6, 6)) for _ in model.bodies],
        "N": [rng.normal(size=(n, n)) for n in speeds],
        "x": rng.normal(size=6 * len(model.bodies)),
        "y": rng.normal(size=sum(speeds)),
        "T": rng.normal(size=sum(speeds)),
    }


def mixed(tip, middle, first, ground):
    """Expressions with lists of one and of two points."""
    compliance = J(tip) @ Mass.inv @ J(tip).T + B(tip).T @ B(tip)
    return [
        J(tip) @ J(first, middle).T,
        J(first, middle) @ Mass.inv @ J(tip).T,
        B(tip).T @ Omega @ B(middle, first),
        c(tip) @ c(middle, first).T,
        J(tip).T @ c(tip) + J(middle, first).T @ c(middle, first),
        J(tip).T @ compliance.inv @ J(tip) @ beta,
        J(middle, first) @ Mass.inv @ J(tip).T @ compliance.inv @ J(tip) @ beta,
        Mass.inv @ (T - J(tip).T @ compliance.inv @ J(tip) @ Mass.inv @ T),
        compliance.inv @ X(tip).T @ X(tip),
        (c(middle, first).T @ c(middle, first)) * J(tip),
        B(tip) @ B(middle).T @ x,
        B(middle) @ B(tip).T @ x,
        B(first, tip) @ X(tip, middle) @ B(tip, middle).T @ x,
        phi @ B(middle) @ B(tip).T @ phi.T @ x,
        psi.T @ B(tip) @ B(middle).T @ psi @ x,
        blockdiag(J(tip, first) @ Mass.inv @ J(tip, first).T) @ c(tip, first),
        J(ground, tip) @ y,
        X(ground, tip) @ J(ground, tip),
        X(ground) @ X(ground).T,
        X(tip) @ J(middle),
        phi @ B(middle) @ X(tip),
        (J(tip, ground) @ J(tip, ground).T + I).inv,
        (M + A @ A.T + B(tip, first) @ B(tip, first).T).inv @ x,
        (Mass + N @ N.T + J(tip).T @ J(tip) + J(first, middle).T @ J(first, middle)).inv @ y,
    ]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("number", range(len(mixed(*"abcd"))))
def test_letters_at_points_of_their_own_equal_dense(machine, number):
    model = machines.MARKET[machine]()
    expression = mixed(*places(model))[number]
    found, meant = lowered(model, expression, **values_of(model))
    assert_close(found, meant, 1e-2)


def test_points_that_are_passed_and_points_that_are_written_mix():
    model = machines.MARKET["forest"]()
    tip, middle, *_ = places(model)
    found, meant = lowered(model, J(tip) @ Mass.inv @ J.T, [middle, tip, tip])
    assert found.shape == (6, 18)
    assert_close(found, meant)


def test_identity_of_points_takes_its_size_from_its_neighbours():
    """as_matrix cannot tell how large I is here; the letters beside it can."""
    model, rng = machines.MARKET["forest"](), np.random.default_rng(7)
    tip, middle, first, _ = places(model)
    q, v = machines.random_state(model, rng)
    regular = J(tip) @ Mass.inv @ J(tip).T + I
    expression = J(first, middle) @ Mass.inv @ J(tip).T @ regular.inv @ J(tip) @ beta
    found = pp.compile(model, expression)(q, v)
    of = {name: pp.as_matrix(model, J(*name), q) for name in ((tip,), (first, middle))}
    inverse, speeds = pp.as_matrix(model, Mass.inv, q), pp.as_matrix(model, beta, q, v)
    compliance = of[tip,] @ inverse @ of[tip,].T + np.eye(6)
    force = np.linalg.solve(compliance, of[tip,] @ speeds)
    assert_close(found, of[first, middle] @ inverse @ of[tip,].T @ force)


def test_points_may_change_from_call_to_call():
    model, rng = machines.MARKET["forest"](), np.random.default_rng(8)
    q, v = machines.random_state(model, rng)
    function = pp.compile(model, F @ X @ J @ beta + r)
    for count in (1, 3):
        points = [pp.point(model.bodies[i].name, rng.normal(size=3)) for i in range(count)]
        values = {"F": rng.normal(size=(count, 6, 6)), "r": rng.normal(size=6 * count)}
        meant = pp.as_matrix(model, F @ X @ J @ beta + r, q, v, points=points, **values)
        assert_close(function(q=q, v=v, points=points, **values), meant)


def test_dynamics_of_a_body_with_a_spring_at_a_point_is_of_the_same_form_as_without():
    """H phi (M + B F B*) phi* H*: what is at points is carried by their bodies."""
    plain, loaded = H @ phi @ M @ phi.T @ H.T, H @ phi @ (M + B @ B.T) @ phi.T @ H.T
    steps = [len([*make_program([(x + N @ N.T).inv @ y]).statements()]) for x in (plain, loaded)]
    assert steps[1] - steps[0] <= 4


# -- matrices with a small dense matrix inside ---------------------------------------------


def with_inverse_inside(tip, middle, first, ground):
    """A dense inverse of point, coordinate or base space among the factors, in many places."""
    firm = J(tip) @ Mass.inv @ J(tip).T + B(tip).T @ B(tip)
    at_three = J(tip, ground, middle) @ Mass.inv @ J(tip, ground, middle).T + I
    weighted = Mass.inv @ J(tip).T @ firm.inv
    coordinates = S_q.T @ (Mass + N @ N.T) @ S_q
    return [
        weighted,
        2.0 * firm.inv @ J(tip) @ Mass.inv,
        I - J(tip).T @ weighted.T,
        Mass.inv @ (I - J(tip).T @ weighted.T),
        weighted @ firm @ weighted.T,
        J(first, middle) @ weighted @ J(tip) @ Mass.inv @ J(first, middle).T,
        Mass.inv @ J(tip, ground, middle).T @ at_three.inv,
        (c(tip).T @ c(tip)) * phi @ B(tip) @ X(tip) @ firm.inv @ X(tip).T @ B(tip).T @ M,
        phi @ B(tip) @ X(tip).T @ B(middle).T @ phi.T,
        J(tip) @ S_q @ coordinates.inv @ S_q.T @ J(tip).T,
        (E.T @ phi @ M @ phi.T @ E + I).inv @ E.T @ phi @ B(tip),
    ]


PATHS = {
    "unrolled": {"backend": "llvm", "unroll": True},
    "rolled": {"backend": "llvm", "unroll": False},
    "interpreter": {"backend": "numpy"},
}


@pytest.mark.parametrize(
    ("machine", "path", "which"),
    [
        *((name, "interpreter", slice(None)) for name in MACHINES),
        ("welded", "unrolled", slice(1, 11, 4)),
        ("welded", "rolled", slice(0, 11, 5)),
        ("mimics", "rolled", slice(9, 10)),
    ],
)
def test_matrices_with_a_small_inverse_inside_equal_dense(machine, path, which):
    model = machines.MARKET[machine]()
    expressions = with_inverse_inside(*places(model))[which]
    function = pp.compile(model, expressions, **PATHS[path])
    rng, given = np.random.default_rng(9), values_of(model)["N"]
    q, v = map(np.stack, zip(*[machines.random_state(model, rng) for _ in range(3)], strict=True))
    known = {"q": q, "v": v, "N": given}
    found = function(**{name: known[name] for name in function.inputs})
    assert function.info().path == path
    for expression, several in zip(expressions, found, strict=True):
        values = {"N": given} if free_names(expression) else {}
        for i, one in enumerate(several):
            assert_close(one, pp.as_matrix(model, expression, q[i], v[i], **values), 1e-2)


def test_points_of_a_matrix_with_an_inverse_inside_may_change_from_call_to_call():
    model, rng = machines.MARKET["forest"](), np.random.default_rng(10)
    q, _ = machines.random_state(model, rng)
    inverse = Mass.inv @ J.T @ (J @ Mass.inv @ J.T + I).inv
    function = pp.compile(model, inverse)
    for count in (1, 3):
        points = [pp.point(model.bodies[i].name, rng.normal(size=3)) for i in range(count)]
        meant = pp.as_matrix(model, inverse, q, points=points)
        assert_close(function(q=q, points=points), meant)


@pytest.mark.parametrize("path", PATHS)
def test_an_inverse_inside_a_matrix_that_is_singular_is_refused_on_every_path(path):
    """The wrist of the stretched Puma has lost a direction."""
    arm = pp.examples.puma560()
    (hand,) = [pp.point(arm.bodies[-1].name, (0.1, 0.0, 0.0))]
    inverse = Mass.inv @ J(hand).T @ (J(hand) @ Mass.inv @ J(hand).T).inv
    function = pp.compile(arm, inverse, **PATHS[path])
    regular = np.full(6, 0.5)
    assert_close(pp.as_matrix(arm, J(hand), regular) @ function(regular), np.eye(6), 1e-6)
    for q in (np.zeros(6), np.stack([regular, np.zeros(6)])):
        with pytest.raises(pp.SolveError, match="is singular at this configuration"):
            function(q)
    with pytest.raises(pp.SolveError):
        pp.as_matrix(arm, inverse, np.zeros(6))


def test_a_weighted_inverse_of_many_bodies_inverts_once_for_all_columns():
    """Twice the bodies cost less than four times as much: no system has their size."""
    counts = []
    for n in (20, 40):
        chain = pp.examples.chain(n)
        tip = pp.point(chain.bodies[-1].name, (0.1, 0.2, 0.3))
        inverse = Mass.inv @ J(tip).T @ (J(tip) @ Mass.inv @ J(tip).T + I).inv
        counts.append(pp.compile(chain, inverse, **PATHS["interpreter"]).info().flops)
    assert counts[1] < 4.0 * counts[0]


def test_what_stands_in_no_single_recursion_is_still_refused():
    model = machines.MARKET["forest"]()
    tip, *_ = places(model)
    twice = J(tip).T @ (J(tip) @ J(tip).T + I).inv @ J(tip) @ Mass.inv @ Mass.inv
    with pytest.raises(pp.LoweringError, match="two recursions follow each other"):
        pp.compile(model, twice)
