"""Equations of the five papers, typed as they are printed, in the notation of each.

Each text is one side of the equation, corrected where the print is wrong; beside it stands
what it has to be read as.
"""

import machines
import numpy as np
import pytest
from symbols import assert_close

import phipsi as pp
from phipsi.operators import (
    HH,
    B,
    C,
    D,
    Delta_phi,
    E_phi,
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
    P,
    Q,
    R,
    S,
    T,
    V,
    Y,
    a,
    alpha,
    at,
    at_joint,
    b,
    beta,
    beta_dot,
    cross,
    f,
    f0,
    operator,
    phi,
    phi_tilde,
    psi,
    psi_tilde,
    space,
    tau_bar,
    vector,
)

turning = (I - S.T).inv @ H.T @ beta  # Omega of 000: [omega; 0]
BIAS_FREE = T - (C + J.T @ f0)
WHITEN = I - H @ psi @ K
LAMBDA = J @ Mass.inv @ J.T
L = Delta_phi @ G  # of 004
FILTER_001 = I - H @ psi @ E_phi @ G
FILTER_004 = I - H @ psi @ S @ L
INNOVATE_004 = I + H @ phi @ S @ L
SMOOTHED = psi.T @ H.T @ D.inv @ (T - H @ psi @ (S @ L @ T + b)) + psi.T @ (I - G @ H).T @ a
GRASPED = FILTER_004.T @ D.inv @ (T - C - H @ psi @ (S @ L @ (T - C) + B @ f0))
eps = vector("epsilon", "joint")
A = operator("A", "point", space("closure_rows", 5))
OWN = [A, eps]


def block(left, letter, right=None):
    """Element of a letter, bodies counted from the tip."""
    select = {"body": at, "joint": at_joint}
    target = select[str(letter.target).split()[0]](-left)
    if letter.is_vector:
        return target @ letter
    source = select[str(letter.source).split()[0]](-(left if right is None else right))
    return target @ letter @ source


EQUATIONS = [
    # -- 000 -------------------------------------------------------------------------------
    (
        "000",
        r"\phi^*[\boldsymbol{H}^*\ddot{\boldsymbol{\theta}} + a]",
        phi.T @ (H.T @ beta_dot + a),
    ),
    ("000", r"\mathcal{M}\ddot{\theta} + \mathcal{C}", Mass @ beta_dot + C),  # (1.2)
    ("000", r"(\mathbf{I} - \mathcal{E}_{\phi})^{-1}", (I - E_phi).inv),  # (1.3)
    ("000", "𝓢[V] M V", pp.parse("S[V]") @ M @ V),  # (2.7)
    ("000", r"-\mathcal{Q}[f] V", -(Q[f] @ V)),  # (2.9)
    ("000", r"\mathbb{H}^i_s + \mathbb{H}^i_\delta", HH_s + HH_delta),  # (2.14)
    ("000", r"\mathbb{S}^*\mathbb{H}^i\mathbb{S}", S.T @ HH @ S),  # (2.14)
    ("000", "Ω", turning),  # (2.18)
    ("000", r"\tilde{\Omega}_s + \tilde{\Omega}_\delta", cross[S.T @ turning] + cross[H.T @ beta]),
    ("000", r"\mathbb{S}^* \tilde{\Omega} \mathbb{S}", S.T @ cross[turning] @ S),  # (2.19)
    ("000", r"\mathbb{S}\Delta_{\phi}", S @ Delta_phi),  # (3.29)
    (
        "000",
        r"\tilde{\Omega} \mathcal{E}_{\phi} - \mathcal{E}_{\phi} \tilde{\Omega}_s",  # (3.31)
        cross[turning] @ E_phi - E_phi @ cross[S.T @ turning],
    ),
    (
        "000",
        r"\tilde{\Omega}M - M\tilde{\Omega}",
        cross[turning] @ M - M @ cross[turning],
    ),  # (3.33)
    (
        "000",
        r"\phi \tilde{\Omega} \tilde{\phi} - \tilde{\phi} \tilde{\Omega}_s \phi",  # (3.34)
        phi @ cross[turning] @ phi_tilde - phi_tilde @ cross[S.T @ turning] @ phi,
    ),
    (
        "000",
        r"\mathbb{H}^i \boldsymbol{M} - \boldsymbol{M} \mathbb{H}^i",
        HH @ M - M @ HH,
    ),  # (3.40)
    (
        "000",
        r"H\phi[\mathbb{H}^i_\delta\phi M - M\phi^*\mathbb{H}^i_\delta]\phi^*H^*",  # (4.43)
        H @ phi @ (HH_delta @ phi @ M - M @ phi.T @ HH_delta) @ phi.T @ H.T,
    ),
    (
        "000",
        r"HRH^* + H\tilde{\phi}RH^* + HR\tilde{\phi}^*H^*",  # (5.45)
        H @ R @ H.T + H @ phi_tilde @ R @ H.T + H @ R @ phi_tilde.T @ H.T,
    ),
    (
        "000",
        r"H(3)\phi(3,1)R(1)H^*(1)",
        block(3, H) @ block(3, phi, 1) @ block(1, R) @ block(1, H).T,
    ),
    ("000", r"\mathcal{M}(3,1)", block(3, Mass, 1)),  # (5.46)
    # -- 001 -------------------------------------------------------------------------------
    (
        "001",
        r"\phi^*(3, 2)V(3) + H^*(2)\dot{\theta}(2)",  # (7)
        block(3, phi, 2).T @ block(3, V) + block(2, H).T @ block(2, beta),
    ),
    (
        "001",
        r"\phi^*(3, 2)\alpha(3) + H^*(2)\ddot{\theta}(2) + a(2)",  # (8)
        block(3, phi, 2).T @ block(3, alpha) + block(2, H).T @ block(2, beta_dot) + block(2, a),
    ),
    (
        "001",
        "phi(2, 1) f(1) + M(2) alpha(2) + b(2)",  # (11)
        block(2, phi, 1) @ block(1, f) + block(2, M) @ block(2, alpha) + block(2, b),
    ),
    ("001", "V(0)", B.T @ V),  # (19)
    ("001", r"J\dot{\theta}", J @ beta),  # (19)
    ("001", "B* φ* H* θ̇", B.T @ phi.T @ H.T @ beta),  # (21)
    ("001", r"\mathcal{M}\ddot{\theta} + C + J^* f(0)", Mass @ beta_dot + C + J.T @ f0),  # (23)
    ("001", r"\phi[M\alpha + b + Bf(0)]", phi @ (M @ alpha + b + B @ f0)),  # (24)
    ("001", r"T - \hat{T}", T - (C + J.T @ f0)),  # (26)
    ("001", r"r + \Phi r + r\Phi^*", R + phi_tilde @ R + R @ phi_tilde.T),  # (28)
    (
        "001",
        r"\phi(2, 1)r(1)\phi^*(2, 1) + M(2)",  # (31)
        block(2, phi, 1) @ block(1, R) @ block(2, phi, 1).T + block(2, M),
    ),
    (
        "001",
        "ψ(2,1)P(1)ψ*(2,1) + M(2)",  # (35)
        block(2, psi, 1) @ block(1, P) @ block(2, psi, 1).T + block(2, M),
    ),
    ("001", "P(3)H*(3)D^{-1}(3)", block(3, P) @ block(3, H).T @ block(3, D.inv)),  # (36)
    (
        "001",
        r"\phi(2, 1)[\mathcal{I} - G(1)H(1)]",
        block(2, phi, 1) @ (I - block(1, G) @ block(1, H)),
    ),
    (
        "001",
        r"P + \Phi P + P\Phi^* + \Phi PH^*D^{-1}HP\Phi^*",  # (42)
        P + phi_tilde @ P + P @ phi_tilde.T + phi_tilde @ P @ H.T @ D.inv @ H @ P @ phi_tilde.T,
    ),
    (
        "001",
        r"(\mathcal{I} + H\Phi G)D(\mathcal{I} + H\Phi G)^*",  # (43)
        (I + H @ phi_tilde @ G) @ D @ (I + H @ phi_tilde @ G).T,
    ),
    (
        "001",
        r"(\mathcal{I} - H\Psi G)^* D^{-1}(\mathcal{I} - H\Psi G)T'",  # (47)
        FILTER_001.T @ D.inv @ FILTER_001 @ BIAS_FREE,
    ),
    ("001", r"H\psi[Pa + b + Bf(0)]", H @ psi @ (P @ a + b + B @ f0)),  # (67)
    ("001", r"\psi[\mathcal{I} - GH]P", psi @ (I - G @ H) @ P),
    ("001", r"\Psi(2,1)", at(-2) @ psi @ E_phi @ at(-1)),
    ("001", "T'(1)", at_joint(-1) @ BIAS_FREE),
    # -- 002 -------------------------------------------------------------------------------
    (
        "002",
        r"I + \mathcal{E}_\phi + \mathcal{E}_\phi^2 + \mathcal{E}_\phi^3",  # (2.9)
        I + E_phi + E_phi @ E_phi + E_phi @ E_phi @ E_phi,
    ),
    ("002", r"\mathcal{E}_\phi^* V + H^* \beta", E_phi.T @ V + H.T @ beta),  # (2.8)
    ("002", r"H \phi(M\phi^* a + b)", H @ phi @ (M @ phi.T @ a + b)),  # (2.11)
    ("002", r"\tilde{V}", B.T @ V),  # (2.14)
    (
        "002",
        r"P - \mathcal{E}_\phi [P - PH^*(HPH^*)^{-1}HP] \mathcal{E}_\phi^*",  # (3.1)
        P - E_phi @ (P - P @ H.T @ (H @ P @ H.T).inv @ H @ P) @ E_phi.T,
    ),
    ("002", r"\mathcal{E}_\phi \bar{\tau}", E_phi @ tau_bar),  # (3.2)
    ("002", r"[I + H\phi K]D[I + H\phi K]^*", (I + H @ phi @ K) @ D @ (I + H @ phi @ K).T),  # (3.4)
    ("002", r"[I - H\psi K]^* D^{-1} [I - H\psi K] \hat{T}", WHITEN.T @ D.inv @ WHITEN @ (T - C)),
    ("002", r"B^* \Omega B", B.T @ Omega @ B),  # (3.10)
    ("002", r"\Lambda", LAMBDA),  # (3.10)
    ("002", r"(A\Lambda A^*)^{-1}", (A @ LAMBDA @ A.T).inv),  # (3.11)
    (
        "002",
        r"D^{-\frac{1}{2}} [I - H\psi K] \hat{T}",  # (3.13)
        D.sqrt.inv @ WHITEN @ (T - C),
    ),
    ("002", "Υ + ψ̃* Υ + Υ ψ̃", Y + psi_tilde.T @ Y + Y @ psi_tilde),  # (A.4)
    # -- 003 -------------------------------------------------------------------------------
    ("003", r"\mathcal{M}\ddot{\theta} + \mathcal{C} + J^* f(0)", Mass @ beta_dot + C + J.T @ f0),
    ("003", r"K(2,1)", block(2, K, 1)),  # after (7)
    ("003", r"\mathcal{E}_\phi - KH", E_phi - K @ H),  # (10)
    ("003", "ψ^-1", psi.inv),  # Lemma 5
    ("003", r"(I - H\psi K)^*D^{-1}(I - H\psi K)T'", WHITEN.T @ D.inv @ WHITEN @ BIAS_FREE),  # (15)
    ("003", "(I - H ψ K) H φ", WHITEN @ H @ phi),  # (16)
    ("003", r"-(I - H\psi K)^*D^{-1}H\psi Bf(0)", -(WHITEN.T @ D.inv @ H @ psi @ B @ f0)),  # (18)
    ("003", r"\Omega(0)", LAMBDA),  # (20)
    (
        "003",
        r"\psi^*(3, 2)\Omega(3)\psi(3, 2) + H^*(2)D^{-1}(2)H(2)",  # after (20)
        block(3, psi, 2).T @ block(3, Y) @ block(3, psi, 2)
        + block(2, H).T @ block(2, D.inv) @ block(2, H),
    ),
    ("003", r"\Lambda^{-1} f(0)", LAMBDA @ f0),  # (26)
    ("003", r"D^{*/2}(I + H\phi K)^*\dot{\theta}", D.sqrt.T @ (I + H @ phi @ K).T @ beta),
    ("003", "D^{-1}(2) ε(2)", block(2, D.inv) @ block(2, eps)),  # after (15)
    # -- 004, part I -----------------------------------------------------------------------
    ("004-I", r"\phi^T H^T \dot\theta", phi.T @ H.T @ beta),  # (3.12)
    (
        "004-I",
        r"\mathcal{M}(\theta)\ddot\theta + C(\theta,\dot\theta)",
        Mass @ beta_dot + C,
    ),  # (3.20)
    ("004-I", "(I + HΦL) D (I + HΦL)^T", INNOVATE_004 @ D @ INNOVATE_004.T),  # fact 4.1
    ("004-I", "L(1)", at(-1) @ L @ at_joint(-1)),  # (4.4)
    (
        "004-I",
        r"(I - H\Psi L)^T D^{-1} (I - H\Psi L) T'",  # (4.18)
        FILTER_004.T @ D.inv @ FILTER_004 @ BIAS_FREE,
    ),
    ("004-I", "T - H φ [M φ^T a + b + B f(0)]", T - H @ phi @ (M @ phi.T @ a + b + B @ f0)),
    (
        "004-I",
        "T - H psi [S L T + M phi^T a + b + B f(0)]",  # (5.8)
        T - H @ psi @ (S @ L @ T + M @ phi.T @ a + b + B @ f0),
    ),
    ("004-I", "ψ^T H^T D^-1 (T - H ψ (S L T + b)) + ψ^T (I - G H)^T a", SMOOTHED),  # (5.14)
    ("004-I", r"\tilde\phi", phi_tilde),  # (5.11)
    # -- 004, part II ----------------------------------------------------------------------
    ("004-II", "T - Hφ(Mφ^Ta + b)", T - H @ phi @ (M @ phi.T @ a + b)),  # (5.5)
    ("004-II", r"\Lambda(0)", LAMBDA),  # (6.8)
    ("004-II", r"\Lambda(2)", block(2, Y)),  # (6.10)
    ("004-II", "B^T ψ^T H^T D^-1 H ψ B", B.T @ psi.T @ H.T @ D.inv @ H @ psi @ B),  # (6.7)
    ("004-II", "(I - HΨL)^T D^-1 {T' - Hψ(S L T' + B f(0))}", GRASPED),  # (6.18)
]


@pytest.mark.parametrize(("notation", "text", "expected"), EQUATIONS)
def test_an_equation_is_read_as_its_paper_means_it(notation, text, expected):
    read = pp.parse(text, symbols=OWN, notation=notation)
    assert read == expected
    for written in (read.unicode(notation=notation), read.latex(notation=notation)):
        assert pp.parse(written, symbols=OWN, notation=notation) == expected


def test_all_papers_have_equations_in_the_table():
    papers = [notation for notation, _, _ in EQUATIONS]
    assert len(papers) > 60
    assert all(papers.count(x) >= 5 for x in ("000", "001", "002", "003", "004-I", "004-II"))


# -- the recursions hold, with bodies numbered as the papers number them ---------------------

RECURSIONS = [
    ("001", "V(2)", "φ*(3,2) V(3) + H*(2) θ̇(2)"),  # (7)
    ("001", "f(2)", "φ(2,1) f(1) + M(2) α(2) + b(2)"),  # (11)
    ("001", "r(2)", "φ(2,1) r(1) φ*(2,1) + M(2)"),  # (31)
    ("001", "P(2)", "ψ(2,1) P(1) ψ*(2,1) + M(2)"),  # (35)
    ("001", "G(3)", "P(3) H*(3) D^{-1}(3)"),  # (36)
    ("001", "G(3)", "P(3) H(3)* D(3)^-1"),
    ("001", "ψ(2,1)", "φ(2,1) [I - G(1) H(1)]"),  # (39)
    ("003", "K(2,1)", "φ(2,1) G(1)"),
    ("003", "Ω(2)", "ψ*(3,2) Ω(3) ψ(3,2) + H*(2) D^{-1}(2) H(2)"),  # after (20)
    ("003", "D(2)", "D(2)^{1/2} D(2)^{*/2}"),
    ("003", "D(2)^{-1}", "D(2)^{-*/2} D(2)^{-1/2}"),
    ("004-II", "Λ(2)", "ψ^T(3,2) Λ(3) ψ(3,2) + H^T(2) D^-1(2) H(2)"),  # (6.10)
    ("000", "ℳ(3,1)", "H(3) φ(3,1) R(1) H*(1)"),  # (5.46)
]


@pytest.mark.parametrize(("notation", "left", "right"), RECURSIONS)
def test_recursions_of_the_papers_hold_in_their_numbers(notation, left, right):
    """On a serial chain without rotors; the tip is body 1."""
    model = machines.MARKET["serial_revolute"]()
    q, v = machines.random_state(model, np.random.default_rng(3))
    values = {"beta_dot": np.ones(model.nv)} if "f(" in left else {}
    sides = [pp.as_matrix(model, text, q, v, notation=notation, **values) for text in (left, right)]
    assert np.abs(sides[0]).max() > 1e-3
    assert_close(*sides)


@pytest.mark.parametrize("unroll", [True, False])
def test_an_element_with_an_inverse_is_compiled(unroll):
    model = machines.MARKET["serial_revolute"]()
    q, _ = machines.random_state(model, np.random.default_rng(4))
    text = "P(3) H(3)* D(3)^-1 D(3)^{1/2} + G(2) Mass^-1(2, 1) D^{1/2}(1)"
    gain = pp.compile(model, text, notation="001", unroll=unroll)
    assert_close(gain(q), pp.as_matrix(model, text, q, notation="001"))


RATES = [  # of 000, in inertial axes: the left side's rate is the right side
    (
        r"\Delta_{\phi}",
        r"\tilde{\Omega}_s \Delta_{\phi} - \Delta_{\phi} \tilde{\Omega}_s",
    ),  # (3.30)
    (r"\mathcal{E}_\phi", r"\tilde\Omega \mathcal{E}_\phi - \mathcal{E}_\phi \tilde\Omega_s"),
    ("H^*", r"\tilde{\Omega}_s H^*"),  # (3.32)
    ("M", r"\tilde{\Omega}M - M\tilde{\Omega}"),  # (3.33)
    (r"\phi", r"\phi\tilde\Omega\tilde\phi - \tilde\phi\tilde\Omega_s\phi"),  # (3.34)
    (r"\phi", r"\phi\tilde{\Omega}_\delta\phi + \tilde\Omega_s\phi - \phi\tilde\Omega"),  # (3.34)
]


@pytest.mark.parametrize(("left", "right"), RATES)
def test_rates_of_operators_hold_as_the_paper_prints_them(left, right):
    """[000 Lemma 3.1], against differences along the motion; joints that turn."""
    model = machines.MARKET["serial_revolute"]()
    q, v = machines.random_state(model, np.random.default_rng(5))
    step = 1e-5

    def value(text, state):
        return pp.as_matrix(model, text, state, v, axes="world", notation="000")

    forward, backward = (value(left, pp.integrate(model, q, s * v)) for s in (step, -step))
    rate = (forward - backward) / (2 * step)
    assert_close(rate, value(right, q), np.abs(rate).max(), tolerance=1e-6)  # of differences
