"""The page for those who work on phipsi: what it says of letters, done as it says.

The code of "To add an operator" is taken from the page and put into a file of its own; the
letters that it makes must then be as those of the papers in every way.
"""

import importlib
import pickle
import re
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import phipsi as pp
from phipsi import operators
from phipsi.algebra.alphabet import Letter, Steps, forget_alphabet
from phipsi.algebra.rewriting.price import price
from phipsi.algebra.walk import letters_of
from phipsi.operators import H, I, M, T, V, phi, psi, vector

PAGE = Path(__file__).parents[1] / "CONTRIBUTING.md"


@pytest.fixture(scope="module")
def air(tmp_path_factory):
    """The module that the page shows, imported from a file."""
    text = PAGE.read_text(encoding="utf-8")
    section = text.split("## To add an operator")[1].split("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    folder = tmp_path_factory.mktemp("letters")
    (folder / "air.py").write_text(code, encoding="utf-8")
    operators.__path__.append(str(folder))
    try:
        yield importlib.import_module("phipsi.operators.air")
    finally:
        operators.__path__.remove(str(folder))
        del sys.modules["phipsi.operators.air"]
        forget_alphabet("air")


@pytest.fixture(scope="module")
def arm():
    return pp.examples.puma560()


def state(model):
    rng = np.random.default_rng(3)
    return model.random(rng), rng.normal(size=model.nv)


def test_the_letters_have_a_dense_meaning(air, arm):
    q, v = state(arm)
    F_d, E_w, E_phi = (pp.as_matrix(arm, x, q) for x in (air.F_d, air.E_w, air.E_phi))
    drags = [0.1 * x.inertia.mass * (1.0 + x.inertia.mass) for x in arm.bodies]
    assert np.allclose(F_d, np.diag(np.repeat(drags, 6)))
    assert np.allclose(E_w, 0.5 * E_phi)
    turned, world = (pp.as_matrix(arm, x, q, axes="world") for x in (air.E_w, air.E_phi))
    assert np.allclose(turned, 0.5 * world)
    assert pp.as_matrix(arm, air.T_d, q, v, beta_dot=v).shape == (6,)


@pytest.mark.parametrize("unroll", [True, False], ids=["unrolled", "rolled"])
def test_the_letters_compile(air, arm, unroll):
    q, v = state(arm)
    torque = np.linspace(-1.0, 1.0, arm.nv)
    drag = H @ phi @ (air.F_d + air.E_w @ air.F_d @ air.E_w.T) @ V
    inverse = (H @ phi @ (M + 0.01 * air.F_d) @ phi.T @ H.T).inv @ T
    for expression, given in ((drag, {}), (inverse, {"T": torque}), (air.T_d, {"beta_dot": v})):
        function = pp.compile(arm, expression, unroll=unroll)
        expected = pp.as_matrix(arm, expression, q, v, **given)
        assert np.allclose(function(q, v, *given.values()), expected, rtol=1e-9, atol=1e-9)
    assert pp.compile(arm, inverse).program.sweeps == 2
    q_rows = pp.compile(arm, H @ phi @ air.F_d @ phi.T @ H.T, unroll=unroll)(q, v)
    assert np.allclose(q_rows, pp.as_matrix(arm, H @ phi @ air.F_d @ phi.T @ H.T, q))


def test_the_step_of_the_page_is_a_recursion(air, arm):
    """(I - E_w)^-1 is one sweep; a mass matrix made of it is inverted in two."""
    q, v = state(arm)
    x, wake = vector("x", "body"), (I - air.E_w).inv
    mass = H @ wake @ M @ wake.T @ H.T
    given = {"x": np.linspace(-1.0, 1.0, 36), "T": np.ones(6)}
    cases = {wake @ x: 1, wake.T @ x: 1, mass.inv @ T: 2, mass: None, H @ phi @ air.E_w @ M: None}
    for expression, sweeps in cases.items():
        named = {k: z for k, z in given.items() if k in {y.name for y in letters_of([expression])}}
        function = pp.compile(arm, expression)
        expected = pp.as_matrix(arm, expression, q, v, **named)
        assert np.allclose(function(q=q, **named), expected, rtol=1e-9, atol=1e-9)
        assert sweeps in (None, function.program.sweeps)


def test_the_letters_agree_with_their_matrices(air):
    """As the page asks for; with the wrong kinds, the letter of the page does not."""
    for letter in (air.F_d, air.E_w, air.T_d):
        told = pp.check_letter(letter)
        assert max(told.gaps.values()) < 1e-9
        assert not told.not_compiled
    steps = {x.name: getattr(air.E_w.record.steps, x.name) for x in fields(Steps)}
    wrong = operators.letter(
        "E_x", "body", "body", one_step=True, carries=("motion", "motion"), **steps
    )
    with pytest.raises(pp.InputError, match="the letter E_x contradicts its matrix"):
        pp.check_letter(wrong)


def test_what_the_page_names_is_there(air):
    """Facts and steps by their names, modules and files by their paths."""
    text = PAGE.read_text(encoding="utf-8")
    section = text.split("## To add an operator")[1].split("\n## ")[0]
    known = {x.name for x in (*fields(Letter), *fields(Steps))}
    assert {x for x in re.findall(r"`(\w+)=", section)} <= known | {"alphabet", "causality"}
    for path in re.findall(r"`((?:phipsi|lowering|docs)/[\w/]+(?:\.\w+)?)`", section):
        found = PAGE.parent / path
        if path != "phipsi/operators/air.py":
            assert found.exists() or (PAGE.parent / "phipsi" / path).exists(), path


def test_the_letters_are_printed_and_read_back(air):
    expression = phi @ (air.F_d + air.E_w @ air.F_d @ air.E_w.T) @ V
    assert str(expression) == "phi @ (F_d + E_w @ F_d @ E_w.T) @ V"
    assert expression.unicode() == "φ (𝒟 + ℰ_w 𝒟 ℰ_w*) V"
    assert air.F_d.latex() == r"\mathcal{D}"
    for text in (str(expression), expression.unicode(), expression.latex()):
        assert pp.parse(text, alphabet="air") == expression
    with pytest.raises(pp.InputError, match="no letter 'F_d'"):
        pp.parse("phi F_d")
    with pytest.raises(pp.InputError, match=r"no alphabet 'water'; .*'air'"):
        pp.parse("phi F_d", alphabet="water")


def test_the_letters_are_explained(air):
    text = str(pp.explain(phi @ air.E_w @ air.F_d @ V, view="mechanics").level(2))
    assert "drag of body k: its force for a unit of velocity" in text
    assert "0.1 m (1 + m) I" in text
    assert "as in the wake of a body" in text
    filtering = pp.explain(phi @ air.F_d @ V, view="estimation").level(2)
    assert "covariance of the noise that air adds" in str(filtering)


def test_the_letters_are_priced_and_derived(air, arm):
    derivation = pp.derive((I - H @ psi @ air.E_phi @ air.F_d @ phi.T @ H.T) @ T)
    assert derivation.check(arm).ok
    assert price(air.F_d @ V).flops - price(V).flops == air.F_d.record.flops


def test_the_letters_are_pickled_as_themselves(air):
    for letter in (air.F_d, air.E_w, air.T_d):
        assert pickle.loads(pickle.dumps(letter)) == letter
        assert pickle.loads(pickle.dumps(letter)).record is letter.record
