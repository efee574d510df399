"""How expressions look: Python, plain text, LaTeX; and that LaTeX can be typeset."""

import re

import pytest
from expressions import MARKET, WHITENING
from hypothesis import given, settings
from matplotlib.mathtext import MathTextParser
from random_expressions import typed_expressions
from symbols import TIP, A, k, m, x

import phipsi as pp
from phipsi.algebra.text.spelling import in_latex, in_unicode
from phipsi.cleaning import for_latex, from_latex
from phipsi.errors import SpaceError
from phipsi.operators import (
    HH,
    B,
    C,
    D,
    Delta_phi,
    E,
    E_phi,
    E_psi,
    Gamma_delta,
    H,
    H_dot,
    HH_delta,
    HH_s,
    I,
    J,
    Jm,
    K,
    M,
    Mass,
    Omega,
    P,
    Q,
    S,
    S_q,
    T,
    V,
    Y,
    a,
    b,
    beta,
    beta_dot,
    blockdiag,
    c,
    cross,
    f0,
    gravity,
    operator,
    phi,
    phi_tilde,
    psi,
    tau_bar,
)

# expression, in plain text, in LaTeX
LOOKS = [
    (H @ phi @ M @ phi.T @ H.T, "H φ M φ* H*", r"H \phi M \phi^{*} H^{*}"),
    (
        WHITENING.T @ D.inv @ WHITENING,
        "(I − H ψ K)* D⁻¹ (I − H ψ K)",
        r"\left(I - H \psi K\right)^{*} D^{-1} \left(I - H \psi K\right)",
    ),
    (Mass.inv @ (T - C), "ℳ⁻¹ (T − C)", r"\mathcal{M}^{-1} \left(T - C\right)"),
    (phi_tilde @ P, "φ̃ P", r"\tilde{\phi} P"),
    (E_phi @ tau_bar, "ℰ_φ τ̄", r"\mathcal{E}_{\phi} \bar{\tau}"),
    (E_psi.T, "ℰ_ψ*", r"\mathcal{E}_{\psi}^{*}"),
    (Mass @ beta_dot, "ℳ β̇", r"\mathcal{M} \dot{\beta}"),
    (H_dot, "Ḣ", r"\dot{H}"),
    (S @ Delta_phi, "S Δ_φ", r"S \Delta_{\phi}"),
    (
        blockdiag(Omega) - Y,
        "blockdiag(Ω) − Υ",
        r"\operatorname{blockdiag}\left(\Omega\right) - \Upsilon",
    ),
    (Jm + S_q @ S_q.T, "J_m + S_q S_q*", r"J_{m} + S_{q} S_{q}^{*}"),
    (B @ f0, "B f0", r"B f_{0}"),
    (a + E @ gravity, "a + E gravity", r"a + E \mathrm{gravity}"),
    (D.sqrt, "D^½", r"D^{1/2}"),
    (D.sqrt.inv, "D^-½", r"D^{-1/2}"),
    (D.sqrt.T, "D^½*", r"D^{*/2}"),
    (phi.inv.T, "φ⁻¹*", r"\phi^{-*}"),
    (phi.T.inv, "φ*⁻¹", r"\left(\phi^{*}\right)^{-1}"),
    (
        S[V] @ M - M @ cross[V],
        "S[V] M − M cross[V]",
        r"\mathcal{S}\left[V\right] M - M \widetilde{V}",
    ),
    (Q[a + b], "Q[a + b]", r"\mathcal{Q}\left[a + b\right]"),
    (HH("elbow", 1), "ℍ('elbow', 1)", r"\mathbb{H}^{\text{elbow},1}"),
    (HH_delta(3), "ℍ_δ(3)", r"\mathbb{H}_{\delta}^{3}"),
    (HH_s(0).T, "ℍ_s(0)*", r"\left(\mathbb{H}_{s}^{0}\right)^{*}"),
    (Gamma_delta("arm_1"), "Γ_δ('arm_1')", r"\Gamma_{\delta}^{\text{arm\_1}}"),
    (HH(-1), "ℍ(-1)", r"\mathbb{H}\left(-1\right)"),
    (J("tool"), "J('tool')", r"J\left(\text{tool}\right)"),
    (
        J(TIP).T,
        "J(point('body0', (0.1, -0.2, 0.3)))*",
        r"J\left(\operatorname{point}(\text{body0}, (0.1, -0.2, 0.3))\right)^{*}",
    ),
    (
        J(pp.point("tool")) @ beta,
        "J(point('tool')) β",
        r"J\left(\operatorname{point}(\text{tool})\right) \beta",
    ),
    (
        B(pp.point("tool", (-0.0, 0, 0)), pp.point("tool", (0, 0, 1e-9))).T,
        "B(point('tool'), point('tool', (0.0, 0.0, 1e-09)))*",
        r"B\left(\operatorname{point}(\text{tool}), "
        r"\operatorname{point}(\text{tool}, (0.0, 0.0, 1e-09))\right)^{*}",
    ),
    (B((1, "a", None)), "B((1, 'a', None))", r"B\left((1, \text{a}, \text{None})\right)"),
    # numbers and scalars
    (0.5 * beta.T @ Mass @ beta, "½ β* ℳ β", r"\frac{1}{2} \beta^{*} \mathcal{M} \beta"),
    (0.5 * (V.T @ M @ V), "½ · V* M V", r"\frac{1}{2}\,V^{*} M V"),
    (-H @ phi, "(−H) φ", r"\left(-H\right) \phi"),
    (-(H @ phi), "−H φ", r"-H \phi"),
    (M - 2 * P, "M − 2 P", "M - 2 P"),
    (M - (P + A), "M − (P + A)", r"M - \left(P + A\right)"),
    (k * M, "k · M", r"k\,M"),
    (k * (m * M), "k · (m · M)", r"k\,\left(m\,M\right)"),
    ((k * H) @ phi, "(k · H) φ", r"\left(k\,H\right) \phi"),
    (3 * ((2 * H) @ phi), "3 · 2 H φ", r"3 \cdot 2 H \phi"),
    (1e-9 * M, "1e-09 M", r"1 \times 10^{-9} M"),
    (0.1 * M, "0.1 M", r"\frac{1}{10} M"),
    (0.123 * M, "0.123 M", r"0.123 M"),
    (-0.0 * M, "0.0 M", r"0.0 M"),
    (x.T @ x, "x* x", "x^{*} x"),
]


@pytest.mark.parametrize(("expression", "unicode", "latex"), LOOKS, ids=lambda value: str(value))
def test_expressions_look_as_in_the_papers(expression, unicode, latex):
    assert expression.unicode() == unicode
    assert expression.latex() == latex


def test_points_are_read_back_also_those_at_the_origin():
    for at in [(0, 0, 0), (-0.0, 0, 0), (0, 0, 1e-9), (0.1, -0.2, 0.3)]:
        expression = J(pp.point("tool", at)) @ beta + c(pp.point("it's"))
        for text in (str(expression), expression.unicode(), expression.latex()):
            assert pp.parse(text) == expression


# -- expressions in expressions --------------------------------------------------------------

DEEP = 3000  # levels, three times as many as Python's own stack may have

# A level around an expression, the innermost expression; then as Python, in plain text and in
# LaTeX: what a level adds before, the innermost, what a level adds behind.
LEVELS = {
    "sums of products": (
        lambda e: phi @ (M @ e + b),
        b,
        ("phi @ (M @ ", "b", " + b)"),
        ("φ (M ", "b", " + b)"),
        (r"\phi \left(M ", "b", r" + b\right)"),
    ),
    "differences": (
        lambda e: b - (e + a),
        b,
        ("b - (", "b", " + a)"),
        ("b − (", "b", " + a)"),
        (r"b - \left(", "b", r" + a\right)"),
    ),
    "scalars": (
        lambda e: k * e,
        k * M,
        ("k * (", "k * M", ")"),
        ("k · (", "k · M", ")"),
        (r"k\,\left(", r"k\,M", r"\right)"),
    ),
    "numbers": (
        lambda e: (2 * e) @ phi,
        (2 * ((2 * M) @ phi)) @ phi,
        ("2 * (", "2 * (2 * M @ phi) @ phi", ") @ phi"),
        ("(2 · ", "(2 · 2 M φ) φ", ") φ"),
        (r"\left(2\,", r"\left(2 \cdot 2 M \phi\right) \phi", r"\right) \phi"),
    ),
    "roots": (
        lambda e: e.sqrt,
        D.sqrt,
        ("", "D.sqrt", ".sqrt"),
        ("", "D^½", "^½"),
        (r"\left(", "D^{1/2}", r"\right)^{1/2}"),
    ),
    "brackets": (
        lambda e: Q[e] @ V,
        V,
        ("Q[", "V", "] @ V"),
        ("Q[", "V", "] V"),
        (r"\mathcal{Q}\left[", "V", r"\right] V"),
    ),
    "block diagonals": (
        blockdiag,
        M,
        ("blockdiag(", "M", ")"),
        ("blockdiag(", "M", ")"),
        (r"\operatorname{blockdiag}\left(", "M", r"\right)"),
    ),
}


@pytest.mark.parametrize("case", LEVELS)
def test_expressions_of_any_depth_are_written(case):
    put_around, expression, *looks = LEVELS[case]
    for _ in range(DEEP):
        expression = put_around(expression)
    texts = str(expression), expression.unicode(), expression.latex()
    for text, (before, innermost, behind) in zip(texts, looks, strict=True):
        is_as_expected = text == before * DEEP + innermost + behind * DEEP
        assert is_as_expected, text[:200]  # not the whole: pytest would compare sign by sign


def test_the_error_of_a_deep_expression_quotes_it():
    expression = b
    for _ in range(DEEP):
        expression = phi @ (M @ expression + b)
    with pytest.raises(SpaceError) as caught:
        T.T @ expression
    assert f"in `T.T @ {expression}`" in str(caught.value)


# The user's names: name, in plain text, in LaTeX.
NAMES = [
    ("A", "A", "A"),
    ("A1", "A1", "A_{1}"),
    ("A_1", "A_1", "A_{1}"),
    ("x_dot", "ẋ", r"\dot{x}"),
    ("x_ddot_tool", "ẍ_tool", r"\ddot{x}_{\mathrm{tool}}"),
    ("Lambda_c", "Λ_c", r"\Lambda_{c}"),
    ("lambda2", "λ2", r"\lambda_{2}"),
    ("omega_hat", "ω̂", r"\hat{\omega}"),
    ("phi_tilde_dot", "φ̃̇", r"\dot{\tilde{\phi}}"),
    ("Alpha", "Α", r"\mathrm{Alpha}"),
    ("speed", "speed", r"\mathrm{speed}"),
    ("speed_dot", "speed_dot", r"\dot{\mathrm{speed}}"),
    ("alphabet", "alphabet", r"\mathrm{alphabet}"),
    ("λ_c", "λ_c", r"\lambda_{c}"),
    ("_x", "_x", r"\mathrm{\_x}"),
    ("x__y", "x__y", r"\mathrm{x\_\_y}"),
    ("été", "été", r"\mathrm{été}"),
]


@pytest.mark.parametrize(("name", "unicode", "latex"), NAMES, ids=lambda value: value)
def test_names_of_the_user_get_the_look_of_letters(name, unicode, latex):
    assert in_unicode(name) == unicode
    assert in_latex(name) == latex


def test_text_in_latex_is_escaped_and_found_again():
    text = r"50% of {a_b} & c #1 ^ ~ \_ $"
    assert from_latex(for_latex(text)) == text
    assert (
        re.search(r"(?<!\\)[%&#_$^~]", for_latex(text).replace(r"\textasciicircum{}", "")) is None
    )


# -- LaTeX is sound --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def typeset():
    """matplotlib's own reader of LaTeX, which refuses what TeX would."""
    parser = MathTextParser("path")
    return lambda text: parser.parse(f"${text}$")


def test_the_reader_of_latex_refuses_what_is_broken(typeset):
    for broken in (r"A^{*}^{-1}", r"\left(A", r"\foo A", "{A"):
        with pytest.raises(ValueError, match=r"Expected|Double|Unknown|Missing|ParseException"):
            typeset(broken)


@pytest.mark.parametrize("name", list(MARKET)[::6])
def test_latex_of_the_market_can_be_typeset(typeset, name):
    typeset(MARKET[name].latex())


@pytest.mark.parametrize("case", [*LOOKS, *NAMES], ids=lambda case: str(case[0]))
def test_latex_of_every_look_can_be_typeset(typeset, case):
    typeset(case[2])


@settings(max_examples=40)
@given(typed_expressions())
def test_latex_of_any_expression_can_be_typeset(expression):
    MathTextParser("path").parse(f"${expression.latex()}$")


def test_a_notebook_shows_latex_and_a_terminal_python():
    expression = H @ phi.T
    assert expression._repr_latex_() == r"$\displaystyle H \phi^{*}$"
    assert repr(expression) == str(expression) == "H @ phi.T"


def test_the_name_of_an_operator_cannot_break_latex():
    weird = operator("a_b__c_", "body", "body")
    assert weird.latex() == r"\mathrm{a\_b\_\_c\_}"
    assert (I + H.T @ K.T).latex() == "I + H^{*} K^{*}"
    assert (psi @ weird).unicode() == "ψ a_b__c_"
