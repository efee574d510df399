"""Forward dynamics: the four algorithms of 001 and 004, as equations.

On the left stands `Mass^-1 (T - H phi (M phi* a + b + B f0))`; on the right what is
computed: FD1 in four sweeps, FD3 and FD4 in three. FD2 also gives the
accelerations of the bodies. With gravity, a stands for `a + E gravity`.
"""

from __future__ import annotations

from phipsi.algebra.identities.equation import Condition, Equation
from phipsi.algebra.node import Node
from phipsi.algebra.operators import (
    B,
    D,
    E_phi,
    G,
    H,
    I,
    J,
    K,
    M,
    Mass,
    P,
    T,
    a,
    b,
    f0,
    phi,
    psi,
    psi_tilde,
    tau_bar,
    vector,
)

z = vector("z", "body")
W = I - H @ psi @ K
T_free = T - H @ phi @ (M @ phi.T @ a + b + B @ f0)
SMOOTHED = W.T @ D.inv @ W @ T_free


def by_001(inside: Node, outside: Node | None = None) -> Node:
    """(67) put into (68): the filtered forces hold `inside`, and `outside` stands beside."""
    nu = D.inv @ W @ T - D.inv @ H @ psi @ (inside + b + B @ f0)
    nu = nu if outside is None else nu + outside
    return W.T @ nu - K.T @ psi.T @ tau_bar.T @ a - G.T @ a


EQUATIONS = [
    Equation(
        "FD1",
        Mass.inv @ T_free,
        SMOOTHED,
        "[001 (47), (48); 002 (3.7); 003 (14), (15); 004-I FD1 (4.17), (4.18); 004-II (5.8)]",
        meaning="bias by two sweeps, the inverse by two",
        derived=True,
    ),
    Equation(
        "FD2",
        phi.T @ H.T @ Mass.inv @ T_free + phi.T @ a,
        psi.T @ H.T @ D.inv @ W @ T_free + phi.T @ a,
        "[001 (55), (56); 004-I FD2 (5.5), (5.6)]",
        meaning="accelerations of the bodies on the way to those of the joints",
        derived=True,
    ),
    Equation(
        "(56) of 001",
        psi.T @ H.T,
        tau_bar.T @ (psi @ E_phi).T @ H.T + H.T,
        "[001 (56)]",
        meaning="the last step outward of FD2 by itself",
        derived=True,
    ),
    Equation(
        "FD3",
        Mass.inv @ T_free,
        W.T @ D.inv @ (T - H @ psi @ (K @ T + M @ phi.T @ a + b + B @ f0)),
        "[001 (60)-(62); 004-I FD3 (5.8)-(5.10); 004-II (5.13), (5.14)]",
        meaning="bias and filter in one sweep",
        printed="- H - zeta, in 001 (65)",
        derived=True,
    ),
    Equation(
        "(61) of 001",
        W @ (T - H @ phi @ z),
        T - H @ psi @ E_phi @ (G @ T + tau_bar @ z) - H @ z,
        "[001 (61)]",
        meaning="the filter of FD3 with its last step by itself",
        variables=(z,),
        derived=True,
    ),
    Equation(
        "Identity A.7",
        W.T @ D.inv @ H @ psi @ M @ phi.T,
        W.T @ D.inv @ H @ psi_tilde @ P + K.T @ psi.T @ tau_bar.T + G.T,
        "[004-I Identity A.7 (a.50)]",
        meaning="the bias acceleration needs no sweep of its own",
    ),
    Equation(
        "(a.51) of 004-I",
        W.T @ D.inv @ H @ P + W.T @ D.inv @ H @ P @ (phi - I).T,
        K.T @ psi.T @ tau_bar.T + G.T,
        "[004-I (a.51)]",
        derived=True,
    ),
    Equation(
        "FD4",
        Mass.inv @ T_free,
        W.T @ D.inv @ (T - H @ (psi @ (K @ T + b + B @ f0) + psi_tilde @ P @ a))
        - K.T @ psi.T @ tau_bar.T @ a
        - G.T @ a,
        "[004-I FD4 (5.14), (5.15)]",
        meaning="everything in three sweeps, the kinematic one counted",
        printed="(5.14) is not legible",
        derived=True,
    ),
    Equation(
        "FD4 of 001",
        Mass.inv @ T_free,
        by_001(P @ a, D.inv @ H @ P @ a),
        "[001 (67), (68)]",
        meaning="the same, P a carried by psi and its own body taken away again",
        printed="psi [(I - G H) P a + b + B f(0)] beside + D^-1 H P a",
        derived=True,
    ),
    Equation(
        "FD4 of 001 without rotors",
        Mass.inv @ T_free,
        by_001(tau_bar @ P @ a),
        "[001 (67), (68)]",
        (Condition.NO_ROTORS,),
        meaning="as (67) prints it, its last term left out",
        derived=True,
    ),
    Equation(
        "(6.17) of 004-II",
        Mass.inv @ (T - J.T @ f0),
        W.T @ D.inv @ (T - H @ psi @ (K @ T + B @ f0)),
        "[004-II (6.17), (6.18)]",
        meaning="joint forces and forces of the points filtered in one sweep",
        printed="(I - H Psi L) D^-1, without the star, in (6.18e)",
        derived=True,
    ),
]
