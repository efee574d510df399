"""What explanations accept, and where they end: text, deep nesting, many factors, many rows."""

import numpy as np
import pytest

import phipsi as pp
from phipsi.compile import make_readable
from phipsi.explain.levels.explain import explain
from phipsi.explain.levels.notation import Notation
from phipsi.explain.levels.part_expressions import express_parts
from phipsi.explain.levels.uses import Uses
from phipsi.operators import J, M, Mass, T, operator, phi, psi, scalar, space, vector

x = vector("x", "body")


def test_text_is_read():
    assert str(explain("inv(Mass) T")) == str(explain(Mass.inv @ T))
    told = explain(["V", "phi M"])
    assert told.expressions == (pp.operators.V, phi @ M)
    with pytest.raises(pp.InputError, match="nowhere"):
        explain("phi nowhere")


def test_deep_nesting_is_refused():
    nested = x
    for _ in range(400):
        nested = phi @ (nested + x)
    assert "nested too deeply" in _outcome(nested)
    for _ in range(4000):
        nested = phi @ (nested + x)
    assert "nested too deeply" in _outcome(nested)


def _outcome(expression):
    try:
        return explain(expression).level(4).text
    except pp.LoweringError as error:
        return str(error)


def test_recursions_are_found_once(monkeypatch):
    """As many questions as there are quantities, not their square."""
    count = 0
    asked = Uses.cycle

    def cycle(self, slot):
        nonlocal count
        count += 1
        return asked(self, slot)

    monkeypatch.setattr(Uses, "cycle", cycle)
    product = x
    for i in range(30):
        product = phi @ product if i % 2 else psi.T @ product
    notation = Notation(make_readable([product]))
    count = 0
    express_parts(notation)
    assert count <= 4 * len(notation.quantities)


def test_rows_of_a_space_are_written_once():
    rows = space("rows", 12)
    F = operator("F", "point", rows)
    text = explain(F @ J @ Mass.inv @ J.T @ F.T).level(4).text
    assert "sum_e phi(k,e) F*(e) e_i, i = 1 ... 12" in " ".join(text.split())
    assert "column i of result = x_i, i = 1 ... 12" in text
    assert "z_2" not in text
    assert len(text.splitlines()) < 40


def test_spaces_of_many_rows_keep_their_upper_levels():
    big = space("big", 5_000)
    F = operator("F", "joint", big)
    for expression in (F @ F.T, F @ Mass.inv):
        told = explain(expression)
        assert "5000 rows" in told.level(4).text
        assert "F" in told.level(2).text
    with pytest.raises(pp.LoweringError, match=r"big.*5000 rows.*at most"):
        explain(F @ F.T, pp.chain(2), F=np.zeros((5_000, 2)), inspect=True)
    u = vector("u", big)
    assert "F*(k) u" in explain(F.T @ u).level(4).text


@pytest.mark.parametrize("name", ["view", "inspect", "factors"])
def test_own_letters_are_not_called_like_options(name):
    for make in (scalar, lambda name: vector(name, "body")):
        with pytest.raises(pp.InputError, match=f"{name}.*argument"):
            make(name)
