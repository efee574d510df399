"""Lowered expressions with letters at points of their own, several lists of them at once."""

import machines
import numpy as np
import pytest
from expressions import F, r
from symbols import A, N, assert_close, free_names, x, y

import phipsi as pp
from phipsi.compile import make_program
from phipsi.operators import B, H, I, J, M, Mass, Omega, T, X, beta, blockdiag, c, phi, psi

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
