"""Typed equations: what is read, that what is shown is read back, and what errors point at."""

import re

import expressions
import pytest
import symbols
from expressions import MARKET, WHITENING
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_expressions import typed_expressions
from symbols import TIP, A, k, m, x

import phipsi as pp
from phipsi.algebra.node import Identity
from phipsi.algebra.parse import parse
from phipsi.algebra.spaces import SCALAR
from phipsi.algebra.text.forms import FORMS, add_form
from phipsi.algebra.walk import walk
from phipsi.errors import InputError, SpaceError
from phipsi.operators import (
    HH,
    B,
    C,
    D,
    E,
    E_phi,
    E_psi,
    Gamma_delta,
    H,
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
    R,
    S,
    S_q,
    T,
    V,
    X,
    Y,
    a,
    alpha,
    b,
    beta,
    beta_dot,
    blockdiag,
    c,
    cross,
    f,
    f0,
    gravity,
    operator,
    phi,
    phi_tilde,
    psi_tilde,
    scalar,
    tau_bar,
    vector,
)

OWN = [symbols.A, symbols.N, symbols.L, symbols.x, symbols.y, symbols.k, symbols.m]
OWN += [getattr(expressions, name) for name in "FWOZswrp"]

NEWTON_EULER = H @ phi @ M @ phi.T @ H.T
SPELLINGS = {
    NEWTON_EULER: [
        "H phi M phi' H'",
        "H phi M phi* H*",
        "H phi M phi*H*",
        "HphiMphi'H'",
        "HφMφ*H*",
        "HϕMϕ′H′",
        "HφMφᵀHᵀ",
        "HφMφ∗H∗",
        "HφMφ⁎H⁎",
        "H phi M phi.T H.T",
        "H @ phi @ M @ phi.T @ H.T",
        "H phi M phi^* H^*",
        "H phi M phi^T H^T",
        "H phi M phi ^ T H ^ T",
        "H phi M phi^{T} H^(T)",
        r"H\phi M\phi^* H^*",
        r"H \varphi M \varphi^{\top} H^{\mathrm{T}}",
        r"$H\,\phi\,M\,\phi^{\ast}\,H^{*}$",
        r"\[ \mathbf{H} \boldsymbol{\phi} M \phi^\prime H^\ast \]",
        "H (phi M) phi' H'",
        "H\n  phi\n  M phi'\n  H'",
        "[H phi] {M phi'} H'",
        "𝐻𝜙𝑀𝜙*𝐻*",
        "transpose(H') phi M phi' H'",
    ],
    (NEWTON_EULER).inv: [
        "inv(H phi M phi' H')",
        "(H phi M phi' H')^-1",
        "(HφMφ*H*)⁻¹",
        "(H phi M phi' H').inv",
        r"\left(H\phi M\phi^{*}H^{*}\right)^{-1}",
        "[H phi M phi* H*]^{-1}",
    ],
    WHITENING.T @ D.inv @ WHITENING: [
        "(I - H psi K)* D^-1 (I - H psi K)",
        "(I − HψK)⁎D⁻¹(I − HψK)",
        r"(I - H\psi K)^* D^{-1} (I - H\psi K)",
        "(I - HψK)' inv(D) (I - HψK)",
    ],
    D.sqrt: ["D^1/2", "D^{1/2}", "D^½", "sqrt(D)", "D.sqrt", r"D^\frac12", r"\sqrt{D}", "D^(1/2)"],
    D.sqrt.inv: ["D^-1/2", r"D^{-\frac{1}{2}}", "D^-½", "D.sqrt.inv", r"D^{-\tfrac12}"],
    D.sqrt.T: ["D^{*/2}", "D^½*", "D^1/2'", "D^{T/2}"],
    phi.inv.T: ["phi^-*", "phi^{-*}", "phi^-T", "φ⁻¹*", "phi^{-1*}", "φ⁻ᵀ", r"\phi^{-\top}"],
    phi.T.inv: ["phi*^-1", "phi'⁻¹", "phi.T.inv", "phi^{*-1}"],
    phi_tilde @ P: ["phi~ P", "φ̃ P", r"\tilde\phi P", r"\tilde{\phi} P", "phi_tilde P", "φ̃P"],
    psi_tilde: ["psi~", r"\widetilde{\psi}", "ψ̃", r"\widetilde\psi"],
    cross[V] @ M: ["V~ M", "Ṽ M", r"\tilde{V} M", r"\widetilde{V} M", "cross[V] M"],
    cross[a + b]: ["(a + b)~", r"\widetilde{a + b}", "cross[a + b]"],
    S[V]: ["S[V]", r"\mathcal{S}[V]", r"\mathcal S\left[V\right]", "𝓢[V]"],
    Q[b]: ["Q[b]", r"\mathcal{Q}[b]", "𝓠[b]"],
    S @ phi: ["S phi", r"\mathbb{S}\phi", "𝕊φ"],
    Mass: ["Mass", "𝓜", "ℳ", r"\mathcal{M}", r"\mathcal M", r"\mathscr{M}"],
    E_phi @ tau_bar: [
        "E_phi tau_bar",
        "𝓔_φ τ̄",
        "ℰ_φτ̄",
        r"\mathcal{E}_\phi \bar\tau",
        r"\mathcal{E}_{\phi}\overline{\tau}",
        r"E_\phi \bar{\tau}",
        r"E_{\phi}\bar{\tau}",
        "E_φ τ̄",
        "Eᵩ τ̄",
    ],
    H @ E_phi: [
        r"\mathbf{H}\mathbf{E_\phi}",
        r"\mathbf H E_\phi",
        r"HE_\phi",
        "HE_φ",
        r"H\mathcal{E}_{\phi}",
    ],
    beta_dot: ["beta_dot", "β̇", r"\dot\beta", "theta_ddot", "θ̈", r"\ddot{\theta}"],
    beta: ["beta", "β", r"\beta", "theta_dot", "θ̇", r"\dot{\theta}"],
    B @ f0: ["B f0", "B f(0)", "B f₀", r"B f_{0}", "B f_0", "Bf0"],
    f: ["f", "(f)"],
    Y: ["Y", "Υ", "Upsilon", r"\Upsilon", "ϒ"],
    Omega: ["Omega", "Ω", "Ω", r"\Omega"],
    Jm: ["Jm", r"J_{m}", "J_m"],
    S_q.T @ Mass @ S_q: ["S_q* Mass S_q", r"S_{q}^* \mathcal{M} S_q"],
    C: ["C", "𝓒", r"\mathcal{C}"],
    blockdiag(phi @ M): ["blockdiag(phi M)", r"\operatorname{blockdiag}(\phi M)"],
    HH("elbow", 1): ['HH("elbow", 1)', "ℍ('elbow', 1)", r"\mathbb{H}^{\text{elbow},1}"],
    HH_delta("a_b"): [
        "HH_delta('a_b')",
        r"\mathbb{H}^{\text{a\_b}}_{\delta}",
        r"\mathbb{H}^{\text{a\_b}}_\delta",
        r"\mathbb{H}_\delta^{\text{a\_b}}",
        r"\mathbb{H}^{\text{a\_b}}_δ",
    ],
    HH_s(3).T: ["HH_s(3)*", r"\left(\mathbb{H}^{3}_{s}\right)^{*}", "ℍ_s(3)'"],
    Gamma_delta(0): ["Gamma_delta(0)", "Γ_δ(0)", r"\Gamma_{\delta}^{0}"],
    HH(-1): ["HH(-1)"],
    J("it's"): ['J("it\'s")', r"J('it\'s')", r"J('\x69t\u0027s')", r"J(\text{it's})"],
    J(TIP): [
        'J(point("body0", (0.1, -0.2, 0.3)))',
        "J(Point(frame='body0', position=(0.1, -0.2, 0.3)))",
        "J(point('body0', position=(0.1, -0.2, 0.3,)))",
    ],
    B(TIP, "tool") @ f0: ['B(point("body0", (.1, -.2, .3)), "tool") f0'],
    J @ (T - C): ["J (T - C)", "J(T - C)"],
    X @ (B.T @ alpha + c): ["X (B* alpha + c)", "X(B'α + c)"],
    M @ (phi.T @ (a + E @ gravity)) + b: ["M (phi* (a + E gravity)) + b"],
    # numbers
    0.5 * V.T @ M @ V: ["½ V* M V", "1/2 V' M V", "0.5 V* M V", r"\frac{1}{2} V^* M V", ".5V*MV"],
    0.5 * (V.T @ M @ V): ["V* M V / 2", r"\frac{V^* M V}{2}", "V* M V * 0.5", "½ · V* M V"],
    2 * M: ["2 M", "2M", "2 * M", "2*M", "M * 2", "2·M", r"2\,M", "+2. M", "2e0 M", "4/2 M"],
    1e-9 * M: ["1e-9 M", r"1 \times 10^{-9} M", "10e-10M"],
    (1 / 3) * M: ["⅓ M", "1/3 M", r"\frac13 M", "M/3"],
    M / 2 / 3: ["M/2/3"],
    (M / 4) @ phi: ["M/4 phi", "(M/4) phi"],
    6 * M: ["2 * 3 * M", "2 @ 3 * M", "(2 + 4) M", "(2 * 3) M"],
    M + P: ["M + P", "M + + P", "M - -P", "M + P + 0", "M + P - 0"],
    -(H @ phi): ["-H phi", "−H φ", "-(H phi)", "- - -H phi"],
    -H @ phi: ["-H @ phi", "(-H) phi"],
    M - 2 * P: ["M - 2 P", "M − 2P", "M - 2*P"],
    k * A: ["k * A", "k*A", "k A", "kA", r"k\,A", "k · A", "A * k", "k *A"],
    k * A.T: ["A* k", "A' k", "k * A'", "k*A*", "k A*"],
    2 * k * A: ["2 * k * A", "2k*A", "2 k A"],
    k * I + M: ["k I + M", "k * I + M"],
    (k * M) @ I + k * I: ["k M + k I", "k M + I k"],
    x.T @ x: ["x* x", "x*x", "x' x", "(x* x)"],
    (x.T @ x) * A: ["(x*x)*A", "x* x * A", "x' x A"],
    k @ m: ["k m", "k @ m", "km"],
    k.T @ m: ["k* m", "k' m"],
    R - blockdiag(E_phi @ R @ E_phi.T): ["R - blockdiag(E_phi R E_phi*)"],
    P - E_psi @ P @ E_psi.T: ["P − 𝓔_ψ P 𝓔_ψ*"],
    K.T @ Omega: ["K* Omega", "K* Ω"],
}
CASES = [(text, expression) for expression, texts in SPELLINGS.items() for text in texts]


@pytest.mark.parametrize(("text", "expression"), CASES, ids=[text for text, _ in CASES])
def test_every_spelling_is_read(text, expression):
    assert parse(text, OWN) == expression


# -- what is shown is read back --------------------------------------------------------------

WAYS = {"python": str, "unicode": lambda e: e.unicode(), "latex": lambda e: e.latex()}


@pytest.mark.parametrize("way", WAYS)
def test_the_market_is_read_back(way):
    failed = [name for name, e in MARKET.items() if parse(WAYS[way](e), OWN) != e]
    assert failed == []


@settings(max_examples=150)
@given(typed_expressions())
def test_any_expression_is_read_back_as_python(expression):
    assert parse(str(expression), OWN) == expression


@settings(max_examples=150)
@given(typed_expressions())
def test_any_expression_is_read_back_from_unicode_and_latex(expression):
    """Except where I is one number: k I is k times an identity whose space is open."""
    numbers = (n for n in walk(expression) if isinstance(n, Identity) and n.source is SCALAR)
    assume(not any(numbers))
    assert parse(expression.unicode(), OWN) == expression
    assert parse(expression.latex(), OWN) == expression


IDENTIFIERS = st.from_regex(r"[A-Za-z_αλφΛ][A-Za-z0-9_αφ]{0,8}", fullmatch=True)


@settings(max_examples=100)
@given(st.lists(IDENTIFIERS, min_size=1, max_size=3, unique=True))
def test_names_of_the_user_are_read_back(names):
    spelled = {
        re.sub(r"\W|_", "", name.replace("φ", "phi").replace("α", "alpha")) for name in names
    }
    assume(len(spelled) == len(names))  # A_1 and A1 look alike
    try:
        own = [operator(name, "body", "body") for name in names]
    except InputError:  # a keyword, or an argument
        assume(False)
    assume(not {"M", "inv", "sqrt", "transpose", "blockdiag"} & {*names})
    expression = own[0] @ own[-1].T + M
    for show in WAYS.values():
        assert parse(show(expression), own) == expression


@settings(max_examples=50)
@given(st.text(max_size=8), st.integers(0, 5))
def test_names_of_joints_are_read_back(joint, speed):
    expression = HH(joint, speed) @ HH_delta(joint).T
    for show in WAYS.values():
        assert parse(show(expression)) == expression


# -- the user's own --------------------------------------------------------------------------


def test_own_letters_are_symbols_or_expressions_by_name():
    assert parse("phi A phi'", [A]) == phi @ A @ phi.T
    assert parse("phi A phi'", {"A": A}) == phi @ A @ phi.T
    compliance = J @ Mass.inv @ J.T
    assert parse("Λ^-1 f0", {"Lambda": compliance}) == compliance.inv @ f0
    assert parse("M phi", {"M": M}) == M @ phi
    assert parse("M phi", {"M": A}) == A @ phi
    theta = vector("theta_dot", "joint")
    assert parse("θ̇", [theta]) == theta  # not beta


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (A, "expected a list of symbols"),
        ("A", "expected a list of symbols"),
        (5, "expected a list of symbols"),
        ([phi @ M], "expected symbols of the algebra, got phi @ M"),
        ({"B2": 5}, "expected symbols of the algebra, got 5"),
        ({"2B": A}, "a name that is an identifier, got '2B'"),
        ({"inv": A}, "the name 'inv' has a meaning already"),
        ([A, operator("A", "joint", "joint")], "two different symbols are called 'A'"),
    ],
)
def test_other_symbols_are_refused(own, message):
    with pytest.raises(InputError, match=re.escape(message)):
        parse("A", own)


def test_two_names_that_look_alike_in_latex_are_told_apart_or_refused():
    two = [operator("A1", "body", "body"), operator("A_1", "body", "body")]
    assert parse("A1 A_1", two) == two[0] @ two[1]
    with pytest.raises(InputError, match=re.escape("'A_{1}' could be 'A_1' or 'A1'")):
        parse("A_{1}", two)


def test_a_form_of_arguments_can_be_added():
    add_form("pair", lambda *given: given)
    try:
        assert parse("B(pair('a', 2))") == B(("a", 2))
    finally:
        del FORMS["pair"]


# -- errors point at the column --------------------------------------------------------------

# text, kind, beginning of the message, column, what the carets are under
WRONG = [
    ("phi M H", SpaceError, "cannot compose M @ H in `phi @ M @ H`\n  H maps body space", 7, "H"),
    ("H phi (M + T)", SpaceError, "cannot add `M` and `T`", 12, "T"),
    ("J'(T - C)", SpaceError, "cannot compose J.T @ (T - C)", 3, "(T - C)"),
    ("phi H^-1", SpaceError, "cannot invert `H`", 5, "H"),
    ("M sqrt(phi)", SpaceError, "cannot take the square root of `phi`", 7, "(phi)"),
    ("2 + M", SpaceError, "a number has no space in `... + M`", 5, "M"),
    ("M V^2", SpaceError, "cannot raise `V` to a power; write V.T @ V", 3, "V"),
    ("M phi^1001", InputError, "more than 1000 terms or factors", 3, "phi^1001"),
    ("2^2 M", InputError, "a number has no power here", 1, "2"),
    ("U^0 M", InputError, "a scalar to the power 0 is the number 1", 1, "U^0"),
    ("S[T] M", SpaceError, "cannot take S[T]", 2, "[T]"),
    ("Q[2]", SpaceError, "cannot take Q[2]", 2, "[2]"),
    ("blockdiag(J)", SpaceError, "cannot take blockdiag(J)", 10, "(J)"),
    ("blockdiag(2)", SpaceError, "cannot take blockdiag(2)", 10, "(2)"),
    ("phi * M", SpaceError, "cannot multiply `phi` and `M` by *", 7, "M"),
    ("1e999 M", SpaceError, "cannot multiply `M` by inf", 7, "M"),
    ("1e999 * M", SpaceError, "cannot multiply `M` by inf", 9, "M"),
    ("M/0", SpaceError, "cannot divide `M` by zero", 3, "0"),
    ("φ̃ M H", SpaceError, "cannot compose M @ H", 5, "H"),
    ("H bta", InputError, "no letter 'bta'; did you mean 'beta'?", 3, "bta"),
    ("φ̃ Mx", InputError, "no letter 'Mx'", 3, "Mx"),
    ("日本 phi", InputError, "no letter '日本'", 1, "日本"),
    ("Lambda f0", InputError, "no letter 'Lambda'; Λ is J Mass^-1 J' in 002 and 004", 1, "Lambda"),
    ("HHphi", InputError, "'HHphi' could be `H H phi` or `HH phi`", 1, "HHphi"),
    ("invM", InputError, "no letter 'invM'", 1, "invM"),
    ("H phi = M", InputError, "an equation has two sides", 7, "="),
    ("H phi)", InputError, "this ) closes nothing", 6, ")"),
    ("H (phi M", InputError, "this ( is never closed", 3, "("),
    ("H (phi M]", InputError, "this ] closes nothing; ( is still open", 9, "]"),
    ("H, phi", InputError, "expected + - @ * or an operand, got `,`", 2, ","),
    ("H +", InputError, "the text ends where", 4, ""),
    ("H + * phi", InputError, "expected a letter, a number or a (, got `*`", 5, "*"),
    ("H 'tool'", InputError, "no letter 'tool'", 4, "tool"),
    ('H ("tool")', InputError, "a name in quotes stands in parentheses behind B", 4, '"tool"'),
    ("2", InputError, "a number alone is no expression", 1, "2"),
    ("M 2", InputError, "a number stands before what it multiplies", 3, "2"),
    ("M / phi", InputError, "only numbers divide", 5, "phi"),
    ("1/0 M", InputError, "cannot divide by zero", 3, "0"),
    (r"\frac10 M", InputError, "cannot divide by zero", 1, r"\frac10"),
    ("2' M", InputError, "a number has no adjoint", 1, "2"),
    ("1e300 * 1e300 * M", InputError, "a number that is too large", 9, "1e300"),
    ("9" * 401, InputError, "a number with too many digits", 1, None),
    ("M**2", InputError, "** is no sign here", 2, "**"),
    ("M^x", InputError, "expected one of the exponents", 2, "^x"),
    ("M^-3", InputError, "expected one of the exponents -1, *, T", 2, "^-3"),
    ("M⁻²", InputError, "expected one of the exponents", 2, "⁻²"),
    ("M^{-1", InputError, "this { is never closed", 3, "{"),
    ("H.t", InputError, "expected .T, .inv or .sqrt", 3, "t"),
    ("H~", InputError, "phi and psi take a tilde", 1, "H"),
    ("Q M", InputError, "Q is no operator by itself; write Q[x]", 1, "Q"),
    ("inv H", InputError, "inv takes an operand in parentheses", 1, "inv"),
    ("H # phi", InputError, "the sign '#' means nothing here", 3, "#"),
    ("🤖 H", InputError, "the sign '🤖' means nothing here", 1, "🤖"),
    (
        "J(tool) beta",
        InputError,
        "a body, a frame or a joint stands in quotes: J('...')",
        3,
        "tool",
    ),
    ("J('tool)", InputError, "a quote that is never closed", 3, "'"),
    (r"J('\q')", InputError, r"no sign is written '\\q'", 4, r"\q"),
    (r"J('\Uffffffff')", InputError, "no sign is written", 4, r"\Uffffffff"),
    ("J('a' 'b')", InputError, "expected , or )", 7, "'b'"),
    ("J('a', phi)", InputError, "expected a name in quotes, a number or a point", 8, "phi"),
    ("J('a', b=2)", InputError, "expected no b= here", 11, ")"),
    ("J('a', (b=2))", InputError, "expected a name in quotes", 8, "("),
    ("J(point(3))", InputError, "point(...): point: expected the name of a body", 3, "point"),
    ("J(Point('a'))", InputError, "Point(...):", 3, "Point"),
    ("J('a'," + "(" * 20, InputError, "too many parentheses in one another", 15, "("),
    (r"\mathbb{H}^{}", InputError, "expected a joint above the letter", 11, "^{}"),
    (r"\mathbb{H}^{0}_{x}", InputError, "no letter of a joint has 'x' below", 1, None),
    (r"\foo M", InputError, r"no LaTeX command '\\foo' here", 1, r"\foo"),
    (r"H \tilde", InputError, "expected a letter", 9, ""),
    (r"\tilde{\phi M}", InputError, "expected one name in these braces", 7, r"{\phi M}"),
    (r"E_{}", InputError, "nothing stands below the line", 3, "{}"),
    (r"\tilde" * 20 + " x", InputError, "too many accents on one another", 55, None),
    (r"\frac M", InputError, "expected {", 7, "M"),
    (r"\text{}", InputError, "a name without letters", 1, r"\text{}"),
    ("A*k", InputError, "`A*k` could be k * A or A' k", 1, "A*k"),
    ("H phi\n M phi' bta", InputError, "no letter 'bta'", (2, 9), "bta"),
    ("H phi\r\n\tM H", SpaceError, "cannot compose M @ H", (2, 4), "H"),
    ("(" * 70, InputError, "more than 64 brackets in one another", 65, "("),
    ("D" + ".sqrt" * 70, InputError, "more than 64 expressions in one another", 1, None),
    ("k*" * 70 + "k", InputError, "more than 64 expressions in one another", 1, None),
    ("M " * 1001, InputError, "more than 1000 terms or factors side by side", 1, None),
    ("M + " * 1001 + "M", InputError, "more than 1000 terms or factors side by side", 1, None),
]


def cells(text):
    """Cells of a terminal, counted by hand: only the signs that are used above."""
    return sum(0 if sign == "\u0303" else 2 if sign in "日本🤖" else 1 for sign in text)


@pytest.mark.parametrize(
    ("text", "kind", "message", "column", "under"), WRONG, ids=lambda v: str(v)[:40]
)
def test_errors_name_the_column_and_point_at_it(text, kind, message, column, under):
    with pytest.raises(kind) as caught:
        parse(text, [A, k])
    assert type(caught.value) is kind
    said = str(caught.value)
    assert said.startswith(message), said
    *_, where, line, carets = said.split("\n")
    *before, column = column if isinstance(column, tuple) else (column,)
    assert where == f"  at {f'line {before[0]}, ' if before else ''}column {column}:"
    assert set(carets.strip()) == {"^"}
    if under is None:
        return
    indent = len(carets) - len(carets.lstrip())
    rest = line
    while cells(line) - cells(rest) < indent:
        rest = rest[1:]
    rest = rest.lstrip("\u0303")
    assert rest.startswith(under)
    assert len(carets.strip()) == max(1, cells(under))


def test_the_place_in_a_long_line_is_shown_with_what_is_around_it():
    with pytest.raises(InputError) as caught:
        parse("M + " * 100 + "bta" + " + M" * 100)
    _, where, line, carets = str(caught.value).split("\n")
    assert where == "  at column 401:"
    assert line.strip().startswith("…") and line.endswith("…")
    assert len(line) < 90
    assert line[carets.index("^") : carets.rindex("^") + 1] == "bta"


@pytest.mark.parametrize("text", ["", "  \n", "$$"])
def test_an_empty_text_is_refused(text):
    with pytest.raises(InputError, match="the text is empty"):
        parse(text)


@pytest.mark.parametrize("text", [None, 5, b"H", H])
def test_what_is_no_text_is_refused(text):
    with pytest.raises(InputError, match="parse: expected a text"):
        parse(text)


def test_points_are_the_points_of_the_package():
    assert parse("J(point('tool'))") == J(pp.point("tool"))
    assert parse(str(J(pp.point("tool"))), ()) == J(pp.point("tool"))
    assert parse("k M", [scalar("k")]) == scalar("k") * M


@pytest.mark.parametrize("text", ["D^3/2", "D^-1/3", "phi^3/2", "D^2/2 H"])
def test_fractions_above_the_line_are_one_half_or_refused(text):
    with pytest.raises(pp.InputError, match=r"1/2 and -1/2 are known"):
        pp.parse(text)
