"""Families: a built-in letter is one call in one file of `phipsi.operators`, and nothing else.

The file is put beside the package for the time of a test. All that reads text knows its letters
by `alphabet=`; nothing else of phipsi is told of them.
"""

import pickle
import sys

import numpy as np
import pytest

import phipsi as pp
from phipsi import operators
from phipsi.algebra.alphabet import ALPHABETS, forget_alphabet
from phipsi.operators import H, T, operator, phi

FAMILY = '''
"""Still water, in one file."""

from phipsi.algebra.alphabet import FORCE, MOTION, Alphabet
from phipsi.operators import E_phi, H, I, Jm, M, define, letter

WATER = Alphabet("still_water", __name__)
M_w = letter(
    "M_w",
    "body",
    "body",
    positive=True,
    alphabet=WATER,
    carries=(FORCE, MOTION),
    dense=lambda m: 1.2 * m.matrix(M),
    turned=False,
    block=lambda low, letter: low.block(1.2 * M),
    look="cal:W",
    mechanics="inertia of body k and of the water that moves with it",
    estimation="covariance of the noise in water",
    formula="1.2 M",
    flops=42,
)
E_w = letter(
    "E_w",
    "body",
    "body",
    one_step=True,
    alphabet=WATER,
    carries=(FORCE, FORCE),
    dense=lambda m: 0.9 * m.matrix(E_phi),
    turned=False,
    applied=lambda low, letter, star, rest: low.vector(0.9 * (E_phi.T if star else E_phi) @ rest),
    mechanics="what water leaves of a force on its way to the parent",
    flops=38,
)
Mass_w = define(
    "Mass_w", H @ (I - E_w).inv @ M_w @ (I - E_w).inv.T @ H.T + Jm, alphabet=WATER, shorthand=True
)
'''


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    """`phipsi.operators.still_water`, for as long as a test runs; nobody has imported it."""
    folder = tmp_path_factory.mktemp("families")
    (folder / "still_water.py").write_text(FAMILY, encoding="utf-8")
    operators.__path__.append(str(folder))
    assert "still_water" not in ALPHABETS
    pp.parse("M_w", alphabet="still_water")  # imports it
    try:
        yield sys.modules["phipsi.operators.still_water"]
    finally:
        operators.__path__.remove(str(folder))
        del sys.modules["phipsi.operators.still_water"]
        forget_alphabet("still_water")


@pytest.fixture(scope="module")
def arm():
    return pp.examples.puma560()


TEXT, HOW = "Mass_w^-1 T", {"alphabet": "still_water"}


def test_every_function_that_reads_text_knows_the_family(family, arm):
    """parse, as_matrix, compile, derive, explain, the drawings, laws, identities, definitions."""
    meant, q, tau = family.Mass_w.inv @ T, np.linspace(-0.5, 0.5, 6), np.ones(6)
    assert pp.parse(TEXT, **HOW) == meant
    expected = pp.as_matrix(arm, meant, q, T=tau)
    assert np.allclose(pp.as_matrix(arm, TEXT, q, T=tau, **HOW), expected)
    function = pp.compile(arm, TEXT, **HOW)
    assert np.allclose(function(q=q, T=tau), expected)
    assert function.program.sweeps == 2
    assert pp.derive(TEXT, **HOW).expression == meant
    assert pp.explain(TEXT, **HOW).expressions == (meant,)
    assert pp.draw_dataflow(TEXT, arm, **HOW) is not None
    assert pp.draw_blocks("Mass_w", arm, **HOW) is not None
    assert pp.control.Law("Mass_w T", T=tau, **HOW).expression == family.Mass_w @ T
    same = pp.add_identity("water", "M_w phi' H'", "1.2 M phi' H'", **HOW)
    pp.forget_identity("water")
    assert same.left == family.M_w @ phi.T @ H.T
    twice = operators.define("Mass_2", "2 Mass_w", alphabet=ALPHABETS["still_water"])
    assert twice.definition == 2 * family.Mass_w


@pytest.mark.parametrize("read", [pp.parse, pp.derive, pp.explain])
def test_without_its_alphabet_a_family_is_not_read(family, read):
    with pytest.raises(pp.InputError, match="no letter 'M_w'"):
        read("M_w phi' H' T")
    with pytest.raises(pp.InputError, match=r"no alphabet 'waters'.*'still_water'"):
        read("M_w", alphabet="waters")


def test_letters_of_a_family_are_explained_printed_and_pickled(family):
    told = str(pp.explain(H @ phi @ family.M_w @ phi.T @ H.T @ T).level(2))
    assert "inertia of body k and of the water that moves with it" in told
    assert "from each body to its parent" in str(pp.explain(family.E_w).level(3))
    assert "at (p(k), k)" in str(pp.explain(family.E_w).level(2))
    assert family.M_w.latex() == r"\mathcal{W}"
    assert pickle.loads(pickle.dumps(family.Mass_w)).record is family.Mass_w.record


def test_a_users_letter_wins_over_that_of_a_family(family):
    mine = operator("M_w", "body", "body")
    read = pp.parse("H phi M_w phi' H'", symbols=[mine], **HOW)
    assert read == H @ phi @ mine @ phi.T @ H.T != H @ phi @ family.M_w @ phi.T @ H.T


def test_the_name_of_an_argument_is_no_name_of_a_letter():
    for name in ("alphabet", "symbols", "notation", "rewrite"):
        with pytest.raises(pp.InputError, match="is an argument of"):
            operator(name, "body", "body")
