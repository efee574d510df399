"""Explanations of other operators than the mass operator: what is told of them is theirs alone."""

import re

import numpy as np
import pytest
from machines import MARKET, random_state

import phipsi as pp
from phipsi.explain.levels.explain import explain
from phipsi.explain.levels.meanings import VIEWS
from phipsi.operators import (
    E_phi,
    E_psi,
    H,
    I,
    Jm,
    M,
    Mass,
    T,
    operator,
    phi,
    psi,
    vector,
)

L = operator("L", "body", "joint")
A = operator("A", "body", "body")
x, y = vector("x", "body"), vector("y", "joint")
BARE = (H @ phi @ M @ phi.T @ H.T).inv @ y  # the mass operator without its rotors
THROUGH = (H @ psi @ M @ psi.T @ H.T + Jm).inv @ y  # beside the mass operator's own letters


@pytest.fixture(scope="module")
def rotors():
    model = MARKET["reflected_rotors"]()
    q, _ = random_state(model, np.random.default_rng(0))
    return model, q, np.ones(sum(joint.kind.nv for joint in model.joints))


# -- numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        (I + phi.T).inv @ x,
        (2 * I - E_phi.T).inv @ x,
        (2 * I - E_psi.T).inv @ x,
        (2 * I - E_phi).inv @ x,
        (I + I).inv @ phi.T @ x,
    ],
    ids=str,
)
def test_results_are_seen_as_they_are_computed(expression):
    """Motions and forces alike, also where nothing says which of them a vector is."""
    arm, given = pp.examples.puma560(), np.arange(36.0)
    q = arm.random(np.random.default_rng(0))
    told = explain(expression, arm, q, x=given, inspect=True)
    (name,) = re.findall(r"result\(k\) = (\w+)\(k\)|(\w+)\(k\) is the result", told.level(4).text)
    seen = np.concatenate(list(told.values[name[0] or name[1]].values()))
    dense = pp.as_matrix(arm, expression, q, x=given)
    np.testing.assert_allclose(seen, dense, atol=1e-10 * np.abs(dense).max())


def test_letters_are_found_beside_those_of_other_operators(rotors):
    model, q, given = rotors
    seen = explain(THROUGH, model, q, y=given, inspect=True).values
    step = pp.as_matrix(model, E_psi, q)
    for k, body in enumerate(model.bodies):
        if body.parent >= 0:
            rows, own = slice(6 * body.parent, 6 * body.parent + 6), slice(6 * k, 6 * k + 6)
            np.testing.assert_allclose(seen["psi(p,k)"][body.name], step[rows, own], atol=1e-9)
    gain = pp.as_matrix(model, pp.operators.G, q)
    joint = model.joints[0]
    np.testing.assert_allclose(
        seen["G"][model.bodies[0].name], gain[:6, joint.rows], atol=1e-9 * np.abs(gain).max()
    )


# -- names --------------------------------------------------------------------------------------


def test_letters_of_other_operators_are_not_called_as_the_machines_own():
    names = {part.name for part in explain(BARE).parts}
    assert {"P_1", "D_1", "G_1", "P+_1"} <= names
    assert not {"P", "D", "G", "P+"} & names
    both = {part.name for part in explain([BARE, Mass.inv @ T]).parts}
    assert {"P", "D", "G", "P+", "P_1", "D_1", "G_1", "P+_1"} <= both


def test_what_is_ready_to_run_is_what_was_typed(rotors):
    """Read as it is printed, it has the value of the expression."""
    model, q, given = rotors
    ready = " ".join(explain(BARE).level(1).text.partition("ready to run: ")[2].split())
    read = pp.parse(ready, symbols=[y])
    got, expected = (pp.as_matrix(model, e, q, y=given) for e in (read, BARE))
    np.testing.assert_allclose(got, expected, atol=1e-10 * np.abs(expected).max())


def test_rotors_are_told_of_only_where_they_are():
    for expression in (BARE, (L @ phi @ M @ phi.T @ L.T).inv @ y):
        for view in VIEWS:
            told = explain(expression, view=view)
            for number in (2, 4, 6):
                assert "rotor" not in told.level(number).text
                assert "Jm" not in told.level(number).text
    assert "its rotor included" in explain(Mass.inv @ T).level(2).text


def test_level_six_has_the_lines_that_run():
    bare = " ".join(explain(BARE).level(6).text.split())
    assert "D_1(k) = H(k) P_1(k) H*(k) " in bare
    assert "G_1(k) = P_1(k) H*(k) D_1^-1(k)" in bare
    own = " ".join(explain((L @ phi @ M @ phi.T @ L.T).inv @ y).level(6).text.split())
    assert "D_1(k) = L(k) P_1(k) L*(k) " in own
    assert "H" not in own
    assert "L(k) P+_1(k) = 0" in own


def test_operator_forms_of_columns_are_operators(rotors):
    model, q, _ = rotors
    (part,) = explain(phi).parts
    assert part.expression == phi
    for told in (explain(Mass), explain(psi @ M)):
        for part in told.parts:
            if part.name in ("x", "psi"):
                dense = pp.as_matrix(model, part.expression, q)
                assert dense.shape[0] == 6 * len(model.bodies)
