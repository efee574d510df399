"""Motion and force of every body, and the equations of motion that they make.

Gravity is an acceleration of the base: where a paper has a, here stands
`a + E gravity` [004-I (3.21)].
"""

from __future__ import annotations

from phipsi.algebra.identities.equation import Condition, Equation
from phipsi.algebra.operators import (
    B,
    C,
    E,
    E_phi,
    H,
    H_dot,
    J,
    Jm,
    M,
    Mass,
    S,
    V,
    a,
    alpha,
    b,
    beta,
    beta_dot,
    cross,
    f,
    f0,
    gravity,
    phi,
)

a_g = a + E @ gravity

EQUATIONS = [
    Equation(
        "velocities outward",
        V,
        E_phi.T @ V + H.T @ beta,
        "[001 (6); 002 (2.2), (2.8); 004-I (2.24)]",
        meaning="a body moves with its parent, and relative to it",
        derived=True,
    ),
    Equation(
        "accelerations outward",
        alpha,
        E_phi.T @ alpha + H.T @ beta_dot + a_g,
        "[001 (8); 002 (2.2), (2.8); 003 sec. 3; 004-I (2.26)]",
        meaning="the same for accelerations",
        derived=True,
    ),
    Equation(
        "forces inward",
        f,
        E_phi @ f + M @ alpha + b,
        "[001 (11); 002 (2.2), (2.8); 003 sec. 3; 004-I (2.22)]",
        meaning="a joint carries what its body needs and what the joints outboard carry",
        printed="phi(k+1,k) f(k-1), in 002 (2.1)",
        derived=True,
    ),
    Equation(
        "velocities of the points",
        B.T @ V,
        J @ beta,
        "[001 (19); 002 (2.14); 003 (1); 004-I (3.13)]",
        meaning="the Jacobian takes joint speeds to velocities of the points",
        derived=True,
    ),
    Equation(
        "transposed Jacobian",
        J.T,
        H @ phi @ B,
        "[001 (23); 003 (1), (5); 004-I (3.20)]",
        meaning="forces at points are carried inward and felt by the joints",
        derived=True,
    ),
    Equation(
        "equations of motion",
        Mass @ beta_dot + C + J.T @ f0,
        H @ phi @ (M @ alpha + b + B @ f0) + Jm @ beta_dot,
        "[001 (23), (25); 002 (2.5), (2.11); 003 (2); 004-I (3.18), (3.20)]",
        meaning="Lagrange's equations on the left, those of Newton and Euler on the right",
        derived=True,
    ),
    Equation(
        "bias forces",
        C + J.T @ f0,
        H @ phi @ (M @ phi.T @ a_g + b + B @ f0),
        "[001 (27); 003 (14); 004-I (3.23)]",
        meaning="the joint forces that are needed without any joint acceleration",
        derived=True,
    ),
    Equation(
        "bias accelerations",
        a,
        cross[V] @ H.T @ beta + H_dot.T @ beta,
        "[001 (8), in link axes; 004-I (2.19), (2.32), in link axes]",
        (Condition.LINK_AXES,),
        meaning="Coriolis acceleration; the papers write it out, in world axes",
        printed="omega x (omega x l + h theta_dot) for a sliding joint, in 004-I (2.32)",
    ),
    Equation(
        "bias accelerations, constant maps",
        a,
        cross[V] @ H.T @ beta,
        "[001 (8), in link axes; 004-I (2.19), (2.32), in link axes]",
        (Condition.LINK_AXES, Condition.CONSTANT_MAPS),
        meaning="the same where a joint's own axes do not turn in its body",
        derived=True,
    ),
    Equation(
        "constant maps",
        H_dot,
        0 * H_dot,
        "[000 sec. 1; 001 (13)]",
        (Condition.CONSTANT_MAPS,),
        meaning="axes that are fixed in the body change only by its motion",
    ),
    Equation(
        "gyroscopic forces",
        b,
        S[V] @ M @ V,
        "[001 (11), in link axes; 004-I (2.23), in link axes]",
        (Condition.LINK_AXES,),
        meaning="momentum that is carried along; the papers write it out, in world axes",
    ),
    Equation(
        "square root of M",
        M.sqrt @ M.sqrt.T,
        M,
        "[001 sec. X.A]",
        meaning="H phi M^1/2 is the natural orthogonal complement; bodies need mass",
    ),
]
