"""Where the print of the papers is wrong: what stands there, and what is right.

phipsi implements the right form. Where both are operator expressions, an erratum
holds them, so that tests show that one fails and the other holds:

    left = wrong   as printed: fails
    left = right   as corrected: holds

Where the printed form is none at all, because its spaces do not meet, `misfit` is
what one would type. Texts are Markdown; their letters are those of the paper.
`*` is the transpose.
"""

from __future__ import annotations

from dataclasses import dataclass

from phipsi.algebra.identities.closed import ALONG, FORCE, FREE, A, b, u
from phipsi.algebra.identities.equation import Condition
from phipsi.algebra.identities.forward_dynamics import SMOOTHED, T_free, by_001
from phipsi.algebra.node import Node
from phipsi.algebra.operators import (
    B,
    C,
    D,
    E_phi,
    E_psi,
    G,
    Gamma_delta,
    H,
    HH_delta,
    I,
    J,
    K,
    M,
    Mass,
    P,
    R,
    S,
    T,
    Y,
    a,
    blockdiag,
    f0,
    phi,
    phi_tilde,
    psi,
    tau_bar,
    vector,
)
from phipsi.algebra.operators import b as gyroscopic
from phipsi.errors import InputError, name_choices

PAPERS = ("000", "001", "002", "003", "004-I", "004-II")


@dataclass(frozen=True)
class Erratum:
    """A place where the print is wrong.

    Args:
        paper: one of `PAPERS`.
        where: the number there, and what it is.
        printed: what stands there.
        correct: what is right.
        left: what both forms are forms of, where they are expressions.
        wrong: the printed form.
        right: the corrected form.
        misfit: the printed form as one would type it, where it is refused.
        conditions: where the corrected form holds.
    """

    paper: str
    where: str
    printed: str
    correct: str
    left: Node | None = None
    wrong: Node | None = None
    right: Node | None = None
    misfit: str = ""
    conditions: tuple[Condition, ...] = ()


W = I - H @ psi @ K
e = vector("e", "joint")  # the unit speed of a joint
ROTOR_FREE, ONE_DOF = (Condition.NO_ROTORS,), (Condition.ONE_DOF,)


def _innovations(causal: Node) -> Node:
    return (I + H @ causal) @ D @ (I + H @ causal).T


def _two_halves(half: Node) -> Node:
    return half + half.T


ANY_JOINT = _two_halves(
    (H @ phi_tilde @ HH_delta + Gamma_delta.T) @ phi @ M @ phi.T @ H.T
)  # the sensitivity of Mass to any joint


def _by_composites(second: Node) -> Node:
    """(5.51), with `second` for its -HH_delta."""
    inner = phi @ (HH_delta @ R + R @ second) @ phi.T
    outer = phi @ HH_delta @ phi_tilde @ R + R @ phi_tilde.T @ second @ phi.T
    return H @ (inner + outer) @ H.T


def _filtered(tip: Node) -> Node:
    """FD3 with `tip` for B f0."""
    return W.T @ D.inv @ (T - H @ psi @ (K @ T + M @ phi.T @ a + gyroscopic + tip))


def _closed(b: Node, more: Node | None = None) -> Node:
    """(3.13) with any b, and `more` inside its braces."""
    inner = (I - b @ ALONG.inv @ b.T) @ D.sqrt.inv @ W @ T
    return W.T @ D.sqrt.inv.T @ (inner if more is None else inner + more)


OF_000 = [
    Erratum(
        "000",
        "text after (1.2), the mass matrix",
        "`H phi M phi H*`",
        "`H phi M phi* H*`",
        Mass,
        H @ phi @ M @ phi @ H.T,
        H @ phi @ M @ phi.T @ H.T,
        conditions=ROTOR_FREE,
    ),
    Erratum(
        "000",
        "(2.11), definition of HH",
        "`HH(i) = S*[H*(i)]`",
        "`HH(i) = S[H*(i)]`",
        HH_delta,
        S[H.T @ e].T,
        S[H.T @ e],
    ),
    Erratum(
        "000",
        "(2.12), where HH_s is nonzero",
        "HH(i) for `k > i`, 0 for `k <= i`",
        "HH(i) for `k < i`, 0 for `k >= i`",
    ),
    Erratum(
        "000",
        "(3.22), entry of the first matrix",
        "`omega~ l~`",
        "`(omega~ l)~`, the matrix of the vector omega x l",
    ),
    Erratum(
        "000",
        "(3.25), the factor that says where it holds",
        "unreadable",
        "`delta_{k<i}`",
    ),
    Erratum(
        "000",
        "(4.43), used for a sliding joint",
        "second term `- M phi* HH`",
        "`+ M phi* HH*`; the two agree only for a rotary joint. Joints of several freedoms "
        "need `phi~` for the first `phi`, and the change of the joint map itself",
        ANY_JOINT,
        H @ phi @ (HH_delta @ phi @ M - M @ phi.T @ HH_delta) @ phi.T @ H.T,
        _two_halves(H @ phi @ HH_delta @ phi @ M @ phi.T @ H.T),
        conditions=ONE_DOF,
    ),
    Erratum(
        "000",
        "(5.50), composite inertia at the inertial frame",
        "`phi(n,k) R(k) phi*(n,k)`",
        "`phi(I,k) R(k) phi*(I,k)`: shifted to the inertial origin, not to body n",
    ),
    Erratum(
        "000",
        "(5.55), list of cases",
        "`i > j = k` and `j = k > i` are missing",
        "`Y(i,j,j)` and `-Y(j,j,i)`",
    ),
    Erratum(
        "000",
        "(4.42), (5.51), (5.52) first form, Lemma 5.4, along a sliding joint",
        "`- R HH`",
        "`+ R HH*`, as in (4.43); the inertial form of (5.52) is right as printed for every "
        "joint with a constant map",
        ANY_JOINT,
        _by_composites(-HH_delta),
        _by_composites(HH_delta.T),
        conditions=ONE_DOF,
    ),
    Erratum(
        "000",
        "sec. 5.3 (5.53)",
        "complete for every joint",
        "complete where speeds are rates of coordinates; planar, spherical and free joints need "
        "the brackets of their speeds",
    ),
]

OF_001 = [
    Erratum(
        "001",
        "section I.B, innovations factorization",
        "`(I + H Psi G) D (I + H Psi G)*`",
        "`(I + H Phi G) D (I + H Phi G)*`",
        Mass,
        _innovations(psi @ E_phi @ G),
        _innovations(phi_tilde @ G),
    ),
    Erratum(
        "001",
        "(63) together with (60)",
        "the tip force enters by `z(0) = f(0)` and again by `B f(0)` in zeta",
        "once only, by either way",
        SMOOTHED,
        _filtered(B @ f0 + B @ f0),
        _filtered(B @ f0),
    ),
    Erratum(
        "001",
        "(65)",
        "`- H - zeta`",
        "`- H zeta`",
        misfit="T - H @ phi @ b - H - b",
    ),
    Erratum(
        "001",
        "(66), body velocities (also 004-I (5.13))",
        "`V = B* phi* H* theta_dot`",
        "`V = phi* H* theta_dot`; with `B*` it is the tip's velocity alone",
        misfit="V - B.T @ phi.T @ H.T @ beta",
    ),
    Erratum(
        "001",
        "(67), filtered forces",
        "`psi [(I - G H) P a + b + B f(0)]`",
        "`psi [P a + b + B f(0)]`; the term `+ D^-1 H P a` stays",
        Mass.inv @ T_free,
        by_001(tau_bar @ P @ a, D.inv @ H @ P @ a),
        by_001(P @ a, D.inv @ H @ P @ a),
    ),
    Erratum(
        "001",
        'after (36), "P(k) > 0"',
        "always",
        "not outboard of massless bodies without rotors: P is singular there, D stays positive",
    ),
]

OF_002 = [
    Erratum(
        "002",
        "(2.1), force recursion",
        "`phi(k+1,k) f(k-1)`",
        "`phi(k,k-1) f(k-1)`",
    ),
    Erratum(
        "002",
        "section 2.3, maps of a rigid coupling",
        "`Q_P = I`, `Q_S = I`",
        "`Q_P = I`, `Q_S = -I`: the velocities of the two sides are equal, not opposite",
    ),
    Erratum(
        "002",
        "(2.17), right-hand side U",
        "the rate of J acts on V; A constant",
        "it acts on beta, and the term with the rate of A is missing; `N_P + N_S - N_E` motion "
        "freedoms",
        misfit="J @ V",
    ),
    Erratum(
        "002",
        "(3.13), closed-chain accelerations",
        "`b = H psi B A*`",
        "`b = D^-1/2 H psi B A*`, and a term `(I - H psi K)* D^-1/2 b (A Lambda A*)^-1 U` is "
        "missing",
        FREE - Mass.inv @ J.T @ A.T @ FORCE,
        _closed(H @ psi @ B @ A.T),
        _closed(b, b @ ALONG.inv @ u),
    ),
    Erratum(
        "002",
        "(A.2), free accelerations",
        "`eps = T - H z`; `alpha_f` without `H*`",
        "T-hat (T less its bias) in place of T; `alpha_f = psi* H* D^-1 (...)`",
        misfit="psi.T @ D.inv @ (I - H @ psi @ K) @ T",
    ),
    Erratum(
        "002",
        "(A.3)-(A.5), Omega on a tree",
        "`Omega = Y + psi~* Y + Y psi~`, zero between branches",
        "`Omega(i,j) = psi*(c,i) Y(c) psi(c,j)`, with c the nearest common ancestor of i and j; "
        "zero only if there is none. (A.3) needs a blockdiag: "
        "`H* D^-1 H = Y - blockdiag(E_psi* Y E_psi)`. The printed forms hold on a serial chain",
        H.T @ D.inv @ H,
        Y - E_psi.T @ Y @ E_psi,
        Y - blockdiag(E_psi.T @ Y @ E_psi),
    ),
    Erratum(
        "002",
        "(A.6), correction by closure forces",
        "`z = psi z + K x(k-1)`; `eps = -H z`",
        "`z = psi z + x(k)`; `eps = +H z`, for x carries the minus already",
        misfit="psi @ K @ V",
    ),
    Erratum(
        "002",
        "(A.5), inner step",
        "`Upsilon(k,m+1) psi(m+1,m)`",
        "`Omega(k,m+1) psi(m+1,m)`: Upsilon is block diagonal",
    ),
    Erratum(
        "002",
        "section 4, mass matrix of a flexible chain",
        "outer factor `(HB; h)`, though `X = (u; beta)`",
        "`(h; HB)`, the order of X; and its elastic speeds are the rates `u_dot`",
    ),
]

OF_003 = [
    Erratum(
        "003",
        "section 5.1, start of the recursion",
        "`z(1)` is set, then overwritten",
        "`z(0) = f(0)` with `psi(1,0) = phi(1,0)`",
    ),
    Erratum(
        "003",
        "section 6, diagonalized torques",
        "`eps = D^-1/2 (I - H phi K) T`",
        "`eps = D^-1/2 (I - H psi K) T`",
        D.sqrt.inv @ (I + H @ phi @ K).inv @ T,
        D.sqrt.inv @ (I - H @ phi @ K) @ T,
        D.sqrt.inv @ W @ T,
    ),
    Erratum(
        "003",
        "after (25), free acceleration of the tip",
        "`J theta_ddot_1f + J_dot Delta theta_dot_1`",
        "`J theta_ddot_1f + J_dot theta_dot_1`",
    ),
]

OF_004_I = [
    Erratum(
        "004-I",
        "(2.32), bias of a sliding joint",
        "`omega x (omega x l + h theta_dot)`",
        "`omega x (omega x l + 2 h theta_dot)`: Coriolis",
    ),
    Erratum(
        "004-I",
        "(4.4), first gain",
        "`L(1) = phi P H' D`",
        "`L(1) = phi P H' D^-1`",
    ),
    Erratum(
        "004-I",
        "(4.5)-(4.7), the loop",
        "runs to N - 1",
        "runs to N, else P(N) and D(N) are undefined",
    ),
    Erratum(
        "004-I",
        "(5.14)",
        "not legible",
        "`nu = D^-1 {T - H [psi (S L T + b + B f0) + psi~ P a]}`",
    ),
    Erratum(
        "004-I",
        "(b.3), quaternion rates",
        "`A(q)` invertible",
        "`A(q)` is 4 x 3; its left inverse gives `omega = 4 A' q_dot`",
    ),
]

OF_004_II = [
    Erratum(
        "004-II",
        "(6.4), (6.5a), (6.11g), accelerations by tip forces",
        "`phi`, or `D^-1 psi B f`, or no minus",
        "`-(I - H Psi L)' D^-1 H psi B f`",
        -Mass.inv @ J.T @ f0,
        -W.T @ D.inv @ H @ phi @ B @ f0,
        -W.T @ D.inv @ H @ psi @ B @ f0,
        misfit="D.inv @ psi @ B @ f0",
    ),
    Erratum(
        "004-II",
        "(6.9b)",
        "`H' D^-1 H'`",
        "`H' D^-1 H`",
        misfit="H.T @ D.inv @ H.T",
    ),
    Erratum(
        "004-II",
        "(6.18e)",
        "`(I - H Psi L) D^-1`",
        "`(I - H Psi L)' D^-1`",
        Mass.inv @ (T - J.T @ f0),
        W @ D.inv @ (T - H @ psi @ (K @ T + B @ f0)),
        W.T @ D.inv @ (T - H @ psi @ (K @ T + B @ f0)),
    ),
    Erratum(
        "004-II",
        "(b.11)",
        "`+ J Mass^-1 C`",
        "`- J Mass^-1 C`",
        J @ Mass.inv @ (T - C),
        J @ Mass.inv @ T + J @ Mass.inv @ C,
        J @ Mass.inv @ T - J @ Mass.inv @ C,
    ),
]

ERRATA = (*OF_000, *OF_001, *OF_002, *OF_003, *OF_004_I, *OF_004_II)


def errata(paper: str | None = None) -> tuple[Erratum, ...]:
    """Where the print of the papers is wrong: of all of them, or of one.

    Args:
        paper: "000", "001", "002", "003", "004-I" or "004-II".

    Returns:
        One `Erratum` for each place: what is printed there, and what is right.

    >>> errata("003")[1].printed, errata("003")[1].correct
    ('`eps = D^-1/2 (I - H phi K) T`', '`eps = D^-1/2 (I - H psi K) T`')
    """
    if paper is not None and paper not in PAPERS:
        raise InputError(f"errata: no paper {paper!r}; {name_choices(str(paper), PAPERS)}")
    return tuple(one for one in ERRATA if paper in (None, one.paper))
