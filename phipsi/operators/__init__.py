"""The letters of the papers, to be imported by name: `from phipsi.operators import H, phi, M`.

`import *` is for a page or a notebook. It binds every letter, also `tau`, which is G H and no
torque, `a`, `b`, `c`, `f` and `T`, and so hides variables of these names that were there before.

Letters of later layers live in modules of this package, one for each family, with an `Alphabet`
of the family's name: `phipsi.operators.closed` has that of `pp.parse(text, alphabet="closed")`.
"""

from phipsi.algebra.elements import at, at_joint
from phipsi.algebra.operators import (
    HH,
    B,
    C,
    D,
    Delta_phi,
    E,
    E_phi,
    E_psi,
    G,
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
    R,
    S,
    S_q,
    T,
    U,
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
    pose,
    psi,
    psi_tilde,
    scalar,
    space,
    tau,
    tau_bar,
    vector,
)
from phipsi.algebra.own import define, letter
from phipsi.algebra.text.forms import add_form
from phipsi.model.model import Point, point


def _in_parentheses(x: Point) -> tuple:
    """What is written of a point: its frame, and its position where that is not the origin."""
    return (x.frame,) if x.position == (0.0, 0.0, 0.0) else (x.frame, x.position)


# Points stand behind B, J, X and c, also in text: parse('J(point("tool"))').
add_form("point", point, Point, _in_parentheses)
add_form("Point", Point)

__all__ = [
    "HH",
    "B",
    "C",
    "D",
    "Delta_phi",
    "E",
    "E_phi",
    "E_psi",
    "G",
    "Gamma_delta",
    "H",
    "HH_delta",
    "HH_s",
    "H_dot",
    "I",
    "J",
    "Jm",
    "K",
    "M",
    "Mass",
    "Omega",
    "P",
    "Q",
    "R",
    "S",
    "S_q",
    "T",
    "U",
    "V",
    "X",
    "Y",
    "a",
    "alpha",
    "at",
    "at_joint",
    "b",
    "beta",
    "beta_dot",
    "blockdiag",
    "c",
    "cross",
    "define",
    "f",
    "f0",
    "gravity",
    "letter",
    "operator",
    "phi",
    "phi_tilde",
    "pose",
    "psi",
    "psi_tilde",
    "scalar",
    "space",
    "tau",
    "tau_bar",
    "vector",
]
