"""Equations as one paper means its letters, read and written."""

import machines
import numpy as np
import pytest
from symbols import assert_close

import phipsi as pp
from phipsi.algebra.identities import IDENTITIES
from phipsi.algebra.text.notations import NOTATIONS, meanings
from phipsi.operators import (
    HH,
    C,
    D,
    G,
    H,
    HH_delta,
    HH_s,
    I,
    J,
    K,
    M,
    Mass,
    Omega,
    R,
    S,
    T,
    U,
    V,
    Y,
    beta,
    f0,
    operator,
    phi,
    phi_tilde,
    psi,
    vector,
)

LETTERS = [
    (notation, name)
    for notation, letters in NOTATIONS.items()
    for name, meaning in letters.items()
    if meaning.is_written
]
EXPRESSIONS = [
    Mass.inv @ (T - C - J.T @ f0),
    (I - H @ psi @ K).T @ D.inv @ (I - H @ psi @ K) @ (T - (C + J.T @ f0)),
    (J @ Mass.inv @ J.T).inv @ J @ Mass.inv @ J.T @ f0,
    Mass.inv @ J.T @ (J @ Mass.inv @ J.T).inv @ J @ beta,
    phi @ M @ phi.T - R - phi_tilde @ R - R @ phi_tilde.T,
    psi @ S @ G @ T + phi @ S @ V,
    phi @ R @ Y @ V,
    V.T @ M @ V * (T - C).T @ beta,
    ((T - (C + J.T @ f0)).T @ beta) * Y,
]


@pytest.mark.parametrize("notation", [None, "default", *NOTATIONS])
@pytest.mark.parametrize("expression", EXPRESSIONS, ids=lambda x: str(x)[:30])
def test_what_a_notation_writes_it_reads_back(expression, notation):
    for text in (expression.unicode(notation=notation), expression.latex(notation=notation)):
        assert pp.parse(text, notation=notation) == expression


@pytest.mark.parametrize(("notation", "name"), LETTERS)
def test_every_letter_of_a_paper_is_written_by_itself_and_read_back(notation, name):
    meaning = meanings(notation)[name]
    assert pp.parse(name, notation=notation) == meaning
    for text in (meaning.unicode(notation=notation), meaning.latex(notation=notation)):
        assert pp.parse(text, notation=notation) == meaning
        assert len(text) <= len(r"\tilde{\Omega}_{\delta}")


PRINTED = {  # equations as the papers print them, whose sides are equal
    "001": [
        (r"\phi M\phi^*", r"r + \Phi r + r\Phi^*"),  # (28)
        (r"(\mathcal{I} - \Psi GH)\Phi", r"\Psi"),  # (44)
        (r"(\mathcal{I} + H\Phi G)^{-1}", r"\mathcal{I} - H\Psi G"),  # (45)
        (r"\mathcal{M}^{-1}", r"(\mathcal{I} - H\Psi G)^* D^{-1} (\mathcal{I} - H\Psi G)"),  # (46)
    ],
    "002": [(r"\Lambda", r"B^* \Omega B")],  # (3.10)
    "003": [(r"\Lambda^{-1}", r"B^*\psi^*H^*D^{-1}H\psi B")],  # (20)
    "004-I": [
        (r"(I + H\Phi L)^{-1}", r"I - H\Psi L"),  # fact 4.2
        (r"\mathcal{M}^{-1}", r"(I - H\Psi L)^T D^{-1} (I - H\Psi L)"),  # (4.16)
        ("S L", "K"),
    ],
    "004-II": [(r"\Lambda", r"B^T \psi^T H^T D^{-1} H \psi B")],  # (6.8)
}


@pytest.mark.parametrize(
    ("notation", "left", "right"),
    [(notation, *sides) for notation, several in PRINTED.items() for sides in several],
)
def test_equations_of_a_paper_hold_in_its_notation(notation, left, right):
    """Serial chains without rotors, one tip; 001 has Psi G for psi K."""
    model = machines.MARKET["serial_revolute"]()
    points = [pp.point(model.bodies[-1].name, (0.1, 0.2, 0.3))]
    q, _ = machines.random_state(model, np.random.default_rng(3))
    sides = []
    for text in (left, right):
        read = pp.parse(text, notation=notation)
        sides.append(pp.as_matrix(model, read, q, points=points))
    assert_close(*sides)


@pytest.mark.parametrize("text", ["T'", "T′", r"T^{\prime}", "T^'"])
def test_a_prime_is_part_of_the_name_where_the_paper_has_it_and_else_the_adjoint(text):
    assert pp.parse(text) == pp.parse(text, notation="002") == T.T
    assert pp.parse(text, notation="003") == T - (C + J.T @ f0)
    assert pp.parse(text, notation="004-II") == T - C
    assert pp.parse("H'", notation="003") == H.T


def test_a_letter_that_means_something_else_in_a_paper_has_another_name_there():
    assert (Omega @ V).unicode(notation="003") == "Ω_ψ V"
    assert (U * V).unicode(notation="002") == "U_g · V"
    assert (Omega @ V).unicode(notation="002") == "Ω V"
    assert (Y @ V).unicode(notation="003") == "Ω V"
    assert (Y @ V).unicode(notation="000") == "Υ V"


def test_stars_of_a_primed_letter_are_read_back():
    bias_free = pp.parse("T'", notation="001")
    assert bias_free.T.unicode(notation="001") == "T'*"
    assert bias_free.T.latex(notation="001") == r"\left(T'\right)^{*}"
    assert pp.parse("T*", notation="001") == T.T


def test_letters_of_the_user_come_before_those_of_a_paper():
    own = operator("Lambda", "body", "body")
    assert pp.parse("Λ V", symbols=[own], notation="002") == own @ V
    assert pp.parse("T'", symbols=[vector("x", "body")], notation="003") == T - (C + J.T @ f0)


A = operator("A", "body", "body")


@pytest.mark.parametrize(
    "read",
    [
        lambda *x, **how: pp.compile(*x, **how).expressions[0],
        lambda *x, **how: pp.compile(x[0], [x[1]], **how).expressions[0],
        lambda model, text, **how: pp.explain(text, model, **how).expressions[0],
        lambda model, text, **how: pp.explain([text], **how).expressions[0],
        lambda model, text, **how: pp.derive(text, **how).expression,
        lambda model, text, **how: pp.derive(text, to=text, **how).goal,
        lambda model, text, **how: pp.add_identity("one", text, phi, **how).left,
    ],
)
def test_every_function_that_takes_text_reads_notations_and_own_letters(read):
    arm = pp.examples.planar_arm(2)
    try:
        assert read(arm, "A Φ", symbols=[A], notation="001") == A @ phi_tilde
    finally:
        if "one" in IDENTITIES:
            pp.forget_identity("one")
    with pytest.raises(pp.InputError, match="no letter 'Φ'"):
        read(arm, "A Φ", symbols=[A])
    with pytest.raises(pp.InputError, match="notation: unknown '9'"):
        read(arm, "A", symbols=[A], notation="9")


def test_matrices_and_drawings_of_text_read_notations_and_own_letters():
    arm = pp.examples.planar_arm(2)
    how = {"symbols": [A], "notation": "001"}
    given = [np.eye(6)] * 2
    found = pp.as_matrix(arm, "A Φ", arm.neutral(), A=given, **how)
    assert_close(found, pp.as_matrix(arm, phi_tilde, arm.neutral()))
    assert pp.draw_blocks("A Φ", arm, **how).title.startswith("A φ̃ of planar arm of 2")
    assert pp.draw_dataflow("A Φ V", **how).title.startswith("A φ̃ V")


def test_an_identity_of_the_user_may_be_text():
    x, k = vector("x", "body"), operator("B2", "body", "body")
    one = pp.add_identity("own", "B2 x", "x", variables=[x], symbols=[k])
    try:
        assert (one.left, one.right) == (k @ x, x)
    finally:
        pp.forget_identity("own")


def test_the_script_identity_and_pick_offs_of_any_joint():
    assert pp.parse(r"\mathcal{I} - H \psi K") == I - H @ psi @ K
    assert pp.parse(r"\mathbb{H}^i_\delta") == pp.parse(r"\mathbb{H}^{i}_{\delta}") == HH_delta
    assert pp.parse(r"\mathbb{H}^i - \mathbb{H}^i_s") == HH - HH_s
    assert pp.parse(r"\mathbb{H}^i_\delta φ").latex() == r"\mathbb{H}_{\delta} \phi"


@pytest.mark.parametrize(
    ("text", "notation", "kind", "message"),
    [
        ("Λ", "2", pp.InputError, "notation: unknown '2'; valid names: 'default', '000', '001'"),
        ("Λ", 2, pp.InputError, "notation: unknown 2"),
        ("Λ", "004", pp.InputError, 'notation: 004 has two parts; pass "004-I" or "004-II"'),
        ("Λ", None, pp.InputError, 'write it out, or pass notation="002"'),
        ("Ψ", None, pp.InputError, 'or pass notation="001"'),
        ("L T", None, pp.InputError, 'or pass notation="004-I"'),
        ("Y", "000", pp.InputError, "a triple product"),
        ("Ω f0", "004-II", pp.InputError, "a sum over arms and their object"),
        ("U", "002", pp.InputError, "what the closures ask for.*Potential energy is U_g"),
        (r"\tilde{f}", "002", pp.InputError, "the force of the closures"),
        ("α~", "002", pp.InputError, "an acceleration of points"),
        (r"\mathbb{H}^i \mathbb{H}^j", None, pp.InputError, "i and j are two joints"),
        ("φ^i", None, pp.InputError, "expected one of the exponents"),
        ("M^-1 (T - C)", None, pp.SpaceError, r"the mass matrix is Mass, its inverse Mass\^-1"),
        (r"J M^{-1} J^*", None, pp.SpaceError, "the mass matrix is Mass"),
        ("(M)^{-1} T", None, pp.SpaceError, "the mass matrix is Mass"),
        ("inv(M) T", None, pp.SpaceError, "the mass matrix is Mass"),
        (r"M\ddot\theta + C", None, pp.SpaceError, "the mass matrix is Mass"),
        ("M(q) beta_dot", None, pp.SpaceError, "the mass matrix is Mass"),
        ("M + Jm", None, pp.SpaceError, "the mass matrix is Mass"),
        ("Jm + M", None, pp.SpaceError, "the mass matrix is Mass"),
        ("C(q, v) beta", None, pp.SpaceError, "C is the whole bias, a vector"),
        ("(I - H psi K) T'", None, pp.SpaceError, "T' is the adjoint of T"),
    ],
)
def test_false_friends_are_told_of(text, notation, kind, message):
    with pytest.raises(kind, match=message):
        pp.parse(text, notation=notation)


def test_what_a_notation_cannot_write_is_refused():
    with pytest.raises(pp.InputError, match="notation: unknown '005'"):
        V.latex(notation="005")
    with pytest.raises(pp.InputError, match="notation: unknown '005'"):
        V.unicode(notation="005")


def test_the_mass_matrix_is_not_hinted_at_where_m_is_the_user_s():
    own = operator("M", "body", "body")
    with pytest.raises(pp.SpaceError) as caught:
        pp.parse("M θ̈", symbols=[own])
    assert "mass matrix" not in str(caught.value)
