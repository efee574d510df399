"""What `explain` says of letters is decided by the letters, never by what they are called.

A user's letter may have any name. Whatever the papers say of the letter of that name, in formulas,
meanings, units and drawings, must not be said of it, and both must be told apart where both run.
"""

import numpy as np
import pytest

import phipsi as pp
from phipsi.algebra.alphabet import FORCE, MOTION, PAPERS
from phipsi.algebra.node import Symbol
from phipsi.explain.levels.explain import explain
from phipsi.operators import (
    E_phi,
    H,
    I,
    Jm,
    K,
    M,
    T,
    V,
    beta,
    beta_dot,
    define,
    letter,
    operator,
    phi,
    psi,
    vector,
)

x = vector("x", "body")
NAMES = sorted(name for name, letter in PAPERS.letters.items() if isinstance(letter, Symbol))


def level(expression, number, **how):
    return explain(expression, **how).level(number).text


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("view", ["mechanics", "estimation"])
def test_a_users_operator_is_spoken_of_as_any_other(name, view):
    """By whatever name: only the name differs, wherever no letter of the papers has it too."""
    shapes = {
        "on a vector": (lambda A: A @ x, ("body", "body")),
        "of joints": (lambda A: A @ vector("y", "joint"), ("joint", "joint")),
        "inverted": (lambda A: A.inv @ vector("y", "joint"), ("joint", "joint")),
        "to joints": (lambda A: A @ x, ("body", "joint")),
        "starred": (lambda A: A.T @ vector("y", "joint"), ("body", "joint")),
    }
    for make, spaces in shapes.values():
        theirs, neutral = (operator(z, *spaces) for z in (name, "Z_z"))
        for number in (4, 5, 6):
            said, expected = (level(make(z), number, view=view) for z in (theirs, neutral))
            assert said.split() == expected.replace("Z_z", name).split()


def test_the_inertia_of_a_joint_is_not_that_of_a_users_letter():
    """D of the machine is D_0 where the user has a D: the printed recursion is true."""
    D = operator("D", "joint", "joint")
    text = level(D.inv @ (T - H @ psi @ K @ T), 4)
    assert "D_0(k) = H(k) P(k) H*(k) + Jm(k)" in text
    assert "y(k) = D^-1(k) eps(k)" in text
    assert "divided by the inertia of the joint" not in text
    assert "(D_0 is D of the papers, D yours)" in text
    assert "D(k) = H" not in text.replace("D_0(k) = H", "")


@pytest.mark.parametrize(
    ("expression", "lines"),
    [
        (operator("H", "body", "joint") @ phi @ M @ V, ["H_0*(k) beta(k)", "y(k) = H(k) h(k)"]),
        (phi @ operator("phi", "body", "body") @ V, ["phi_0*(p,k) V(p)", "x(k) = phi(k) V(k)"]),
        (E_phi @ operator("tau_bar", "body", "body") @ x, ["phi(k,c) tau_bar(c) x(c)"]),
        (Jm @ beta + vector("beta", "joint"), ["beta_0(k)", "beta(k)"]),
    ],
    ids=["H", "phi", "tau_bar", "beta"],
)
def test_letters_of_one_name_are_told_apart(expression, lines):
    text = level(expression, 4)
    assert all(line in text for line in lines), text


def test_the_joint_is_crossed_by_the_machines_map_alone():
    assert level(operator("H", "body", "joint") @ x, 6) == "neither a link nor a joint is crossed"
    assert "the part along the axes" in level(H @ x, 6)


def test_causes_are_those_of_letters():
    """A user's `gravity` or `a` is not what the papers call so."""
    text = level(phi.T @ (H.T @ beta_dot + vector("a", "body")), 4)
    assert "by the joint accelerations" in text
    assert "Coriolis" not in text


def test_what_is_defined_by_the_user_means_what_the_user_says():
    told = define("V", phi.T @ H.T @ beta_dot, mechanics="what I call V")
    text = level(H @ phi @ M @ told, 4)
    assert "what I call V" in text
    assert "velocity" not in text
    assert "your own letter" in level(H @ phi @ M @ define("alpha", phi.T @ H.T @ beta), 4)


def test_units_are_those_of_what_is_carried():
    """Joint forces along the axes are no motion: neither a unit nor a motion is claimed."""
    text = level(phi.T @ H.T @ T, 4)
    assert "N m, N" not in text
    assert "motion of body k" not in text
    assert "rad/s" not in level(phi.T @ H.T @ (beta + 2 * beta_dot), 4)


def half(name, **told):
    def applied(low, letter, star, rest):
        return low.vector(0.5 * (E_phi.T if star else E_phi) @ rest)

    return letter(
        name,
        "body",
        "body",
        one_step=True,
        carries=(FORCE, FORCE),
        applied=applied,
        dense=lambda m: 0.5 * m.matrix(E_phi),
        turned=False,
        **told,
    )


def test_letters_that_are_lowered_by_others_keep_their_names():
    E_w = half("E_w")
    text = level(phi @ E_w @ M @ E_w.T @ V, 4)
    assert "z(k) = sum_c E_w(k,c) M(c) E_w*(k,c) V(k) + sum_c phi(k,c) z(c)" in text
    assert "0.5" not in text
    text = level((I - E_w).inv @ x, 4)
    assert "z(k) = sum_c E_w(k,c) z(c) + x(k)" in text
    assert "E_w(k,c)   6 x 6, from child c inward" in level((I - E_w).inv @ x, 5)
    W = letter(
        "W_q",
        "body",
        "body",
        causality="memoryless",
        carries=(FORCE, MOTION),
        dense=lambda m: 2 * m.matrix(M),
        turned=False,
        applied=lambda low, letter, star, rest: low.vector(2 * M @ rest),
    )
    assert "x(k) = W_q(k) V(k)" in level(H @ phi @ W @ V, 4)


def test_the_parts_of_such_letters_have_true_expressions():
    """What each part says it is, evaluated densely, is its number."""
    E_w, arm, q = half("E_w"), pp.chain(3), np.array([0.3, -0.2, 0.4])
    mass = H @ (I - E_w).inv @ M @ (I - E_w).inv.T @ H.T
    told = explain(mass.inv @ T, arm, q, T=np.ones(3), inspect=True)
    values = {z.name: z.expression for z in told.parts}
    assert "E_w" in str(values["z"])
    found = np.concatenate(list(told.values["beta_dot"].values()))
    assert np.allclose(found, pp.as_matrix(arm, mass.inv @ T, q, T=np.ones(3)))
