"""What explanations say in words, held against the machine: patterns, sums, numbers, names."""

import numpy as np
import pytest
from machines import MARKET, random_state

import phipsi as pp
from phipsi.algebra.node import Symbol
from phipsi.algebra.operators import LETTERS
from phipsi.algebra.spaces import BASE, BODY, COORDINATES, JOINT, POINTS, SCALAR
from phipsi.explain.levels import cost
from phipsi.explain.levels.explain import explain
from phipsi.explain.levels.operator_levels import _blocks
from phipsi.explain.levels.record import without_rounding
from phipsi.operators import (
    C,
    E_phi,
    H,
    I,
    M,
    Mass,
    S_q,
    T,
    beta_dot,
    operator,
    phi,
    psi,
    space,
    vector,
)

A = operator("A", "body", "body")
x, y = vector("x", "body"), vector("y", "joint")


OPENED = ("HH", "HH_s", "HH_delta", "Gamma_delta")  # of one joint


def meanings(expression, **options):
    return {part.name: part.meaning for part in explain(expression, **options).parts}


# -- patterns -----------------------------------------------------------------------------------


def test_blocks_are_where_they_are_said_to_be():
    """On a forest of branching trees: all of those, unless zero for its joints, and no others."""
    model = branching()
    rng, points = np.random.default_rng(3), [pp.point(x.name) for x in model.bodies]
    ancestors = [set(model.tree.path(k)) for k in range(len(model.bodies))]
    allowed = {
        "at (k, k)": lambda i, k: i == k,
        "at (e, e)": lambda i, k: i == k,
        "at (k, e), e on k": lambda i, k: i == k,
        "at (p(k), k)": lambda i, k: model.bodies[k].parent == i,
        "at (i, k), i inboard of or at k": lambda i, k: i in ancestors[k],
        "at (i, k), i inboard of k": lambda i, k: i in ancestors[k] and i != k,
        "at (e, k), e on k or outboard of it": lambda i, k: k in ancestors[i],
        "at (i, k), one of them inboard of or at the other": lambda i, k: (
            i in ancestors[k] or k in ancestors[i]
        ),
        "at (i, k), some body inboard of or at both": lambda i, k: bool(
            ancestors[i] & ancestors[k]
        ),
    }
    tested = set()
    turned = range(1, 4)  # b and outboard of it: what joint b moves
    allowed |= {
        "at (k, k), k at i or outboard": lambda i, k: i == k and k in turned,
        "at (k, k), k outboard of i": lambda i, k: i == k and k in turned[1:],
        "at (i, i)": lambda i, k: i == k == 1,
    }
    joint = model.joints[1].name
    pick_offs = [LETTERS[x](joint) for x in ("HH", "HH_s", "HH_delta")]
    plain = [x for name, x in LETTERS.items() if isinstance(x, Symbol) and name not in OPENED]
    for letter in (*plain, *pick_offs):
        spaces = (getattr(letter, "target", None), getattr(letter, "source", None))
        if SCALAR in spaces or None in spaces or set(spaces) & {BASE, COORDINATES}:
            continue
        is_there = allowed[_blocks(letter)]
        q, v = random_state(model, rng)
        dense = pp.as_matrix(model, letter, q, v, points=points)
        rows, columns = (slices(model, space) for space in spaces)
        for i, own in enumerate(rows):
            for k, other in enumerate(columns):
                block = dense[own, other]
                is_full = np.abs(block).max(initial=0) > 1e-9
                may_vanish = letter.name in ("Jm", "H_dot")  # no rotors, constant axes
                assert is_full == is_there(i, k) or may_vanish, (letter, i, k)
        tested.add(letter.name)
    assert tested >= {"phi", "psi_tilde", "Mass", "Omega", "J", "E_psi", "B", "Y"}


def branching():
    builder = pp.ModelBuilder("two trees")
    for name, parent in {
        "a": "world",
        "b": "a",
        "c": "b",
        "d": "b",
        "e": "world",
        "f": "e",
    }.items():
        builder.add_body(
            name,
            parent=parent,
            joint=pp.joints.Revolute((0.6, 0.8, 0)),
            position=(0.3, 0.1, 0.4),
            mass=2.0,
            com=(0.1, 0.2, 0.3),
            inertia=(1.0, 1.1, 1.2),
        )
    return builder.build()


def slices(model, space):
    if space is JOINT:
        return [joint.rows for joint in model.joints]
    assert space in (BODY, POINTS)
    return [slice(6 * k, 6 * k + 6) for k in range(len(model.bodies))]


def test_both_ways_is_no_claim_on_blocks():
    assert "all others" not in str(explain(Mass)) + str(explain(S_q.T @ y))
    assert "those that follow move with their leader" in explain(S_q.T @ y).level(3).text
    over = operator("W", "joint", space("loop", 2))
    assert "as its value says" in explain(over @ y).level(3).text


# -- words --------------------------------------------------------------------------------------


def test_sums_are_told_by_what_they_run_over():
    assert meanings(beta_dot.T @ beta_dot)["s"] == "number: summed over all bodies"
    assert "the children of k" in meanings(E_phi @ x)["x_1"]
    assert meanings(S_q.T @ (H @ phi @ x), model=MARKET["mimics"]())["s"].startswith(
        "vector of the coordinates"
    )


def test_meanings_are_those_of_the_step_that_carries():
    assert "do not yield" in meanings(phi @ x)["z"]
    rows = operator("F", "body", space("rows", 2))
    assert "do not yield" in meanings(rows @ phi.T)["z_1"]
    assert "do not yield" not in meanings((I - E_phi @ A).inv @ x)["z"]
    bare = meanings((H @ phi @ M @ phi.T @ H.T).inv @ y)
    assert bare["y_1"].startswith("motion of joint k")
    L = operator("L", "body", "joint")
    of_others = meanings((L @ phi @ M @ phi.T @ L.T).inv @ y)
    assert "free joints" not in of_others["z"]
    assert "acceleration" not in of_others["nu"]
    assert "free joints" in meanings(Mass.inv @ y)["z"]


def test_free_joints_are_told_by_the_line_that_passes_them():
    level = " ".join(explain(Mass.inv @ y).level(5).text.split())
    assert "(T - H z)" not in level
    assert "z(k) = sum_c phi(k,c) [z(c) + G(c) eps(c)]: z = psi K y passes free joints" in level
    assert "passes free joints" not in explain(phi @ x).level(5).text
    assert "passes free joints" not in explain(psi @ x).level(5).text  # psi(k,c) stands there


def test_lines_are_there_even_where_little_runs():
    assert explain(0 * phi).level(4).text == "zero: nothing runs"
    assert "    copies x" in explain(x @ x.T).level(4).text.splitlines()
    text = explain(phi).level(4).text
    assert "phi(k,j) is the result" in text
    assert "phi(k,j) = phi(k,j)" not in text
    assert explain(0 * (phi @ x)).parts[-1].unit == ""


def test_numbers_are_spelled_alike_on_all_levels():
    told = explain((2.0 * I - E_phi).inv @ x)
    assert "2.0 I" not in told.level(1).text.split("\n", 1)[1] + told.level(3).text
    assert "2.0" not in told.level(4).text
    assert "J('a.T')" in explain(pp.operators.J("a.T")).level(2).text


# -- numbers ------------------------------------------------------------------------------------


def test_small_numbers_are_shown():
    builder = pp.ModelBuilder("tiny", strict=False)
    builder.add_body("speck", mass=1e-9, com=(1e-4, 0, 0), inertia=(1e-16,) * 3)
    model = builder.build()
    seen = explain(Mass.inv @ T, model, T=[1e-14], inspect=True)
    lines = seen.numbers.splitlines()
    assert lines[lines.index("T") + 1].split()[-1] == "1e-14"
    D = float(np.squeeze(next(iter(seen.values["D"].values()))))
    assert lines[lines.index("D") + 1].split()[-1] == f"{D:.4g}" != "0"


def test_only_rounding_errors_are_left_out():
    vector = np.array([1.0, 1e-17, 1e-9, 3e-20, 0.0, 1e-30])
    np.testing.assert_array_equal(without_rounding(vector), [1.0, 0.0, 1e-9, 3e-20, 0.0, 1e-30])
    block = np.diag([1e3, 1e3, 1e3, 1e-12, 1e-12, 1e-12])
    np.testing.assert_array_equal(without_rounding(block), block)
    for other in (np.array([1e-20, 1.0]), np.array(1e-300)):
        np.testing.assert_array_equal(without_rounding(other), other)


def test_given_numbers_are_shown_as_they_are():
    arm = pp.examples.planar_arm(2)
    given = np.array([1.0, 1e-20, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0])
    assert "1e-20" in explain(phi @ x, arm, x=given).numbers


# -- names --------------------------------------------------------------------------------------


def test_names_of_the_machine_stay_as_they_are():
    builder = pp.ModelBuilder("the psi arm")
    builder.add_body("beta", mass=1.0, inertia=(1, 1, 1))
    told = explain(Mass.inv @ (T - C), builder.build(), T=[0.0] * 1)
    for shown in (told._repr_html_().replace("&#x27;", "'"), told._repr_markdown_()):
        assert "'the psi arm'" in shown
        assert "the ψ arm" not in shown
        assert "beta_joint" in shown
        assert "β_joint" not in shown
        assert "β̇(k) = ν(k)" in shown
    assert "Mass.inv @ (T - C)" in told._repr_markdown_()


# -- cost ---------------------------------------------------------------------------------------


def test_faults_in_counting_are_not_hidden(monkeypatch):
    def broken(*_):
        raise KeyError("fault")

    monkeypatch.setattr(cost, "cost_of", broken)
    with pytest.raises(KeyError, match="fault"):
        explain(Mass)
