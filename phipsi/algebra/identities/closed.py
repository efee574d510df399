"""Closed chains: forces that hold points where a constraint wants them.

The constraint of 002 is `A J beta_dot = u` for the points of J: here of three rows, as
of a ball that pins two points together. In 004-II arms hold an object by the points,
whose velocities are `A_C` times that of the object, and whose inertia is `M_C`. T is
free of bias.
"""

from __future__ import annotations

from phipsi.algebra.identities.equation import Equation
from phipsi.algebra.operators import B, D, H, I, J, K, Mass, Omega, T, operator, psi, vector
from phipsi.algebra.spaces import own_space

CLOSURE, OBJECT = own_space("closure", 3), own_space("object", 6)
A, u = operator("A", "point", CLOSURE), vector("u", CLOSURE)
A_C, M_C = operator("A_C", OBJECT, "point"), operator("M_C", OBJECT, OBJECT)
w = vector("w", "point")

W = I - H @ psi @ K
Lambda = B.T @ Omega @ B
ALONG = A @ Lambda @ A.T
b = D.sqrt.inv @ H @ psi @ B @ A.T
FREE = Mass.inv @ T
FORCE = (A @ J @ Mass.inv @ J.T @ A.T).inv @ (A @ J @ FREE - u)  # of (3.11)
GRIP = J @ Mass.inv @ J.T + A_C @ M_C.inv @ A_C.T  # Omega of 004-II (3.1)
GRIP_FILTERED = B.T @ psi.T @ H.T @ D.inv @ H @ psi @ B + A_C @ M_C.inv @ A_C.T

EQUATIONS = [
    Equation(
        "(3.11) of 002",
        FORCE,
        ALONG.inv @ (A @ B.T @ psi.T @ H.T @ D.inv @ W @ T - u),
        "[002 (2.17), (3.11); 003 (26)]",
        meaning="the forces that a constraint needs; A = [I, -I] for two arms that meet",
        variables=(A, u),
        derived=True,
    ),
    Equation(
        "(3.13) of 002, inner product",
        b.T @ b,
        ALONG,
        "[002 (3.13)]",
        meaning="with b = D^-1/2 H psi B A*, the compliance along the constraint is b* b",
        printed="b = H psi B A*",
        variables=(A,),
        derived=True,
    ),
    Equation(
        "(3.13) of 002",
        FREE - Mass.inv @ J.T @ A.T @ FORCE,
        W.T @ D.sqrt.inv.T @ ((I - b @ ALONG.inv @ b.T) @ D.sqrt.inv @ W @ T + b @ ALONG.inv @ u),
        "[002 (3.13)]",
        meaning="accelerations of a closed chain: what the constraint forbids is projected out",
        printed="b = H psi B A*, and no term with U",
        variables=(A, u),
        derived=True,
    ),
    Equation(
        "(6.11) of 004-II",
        GRIP,
        GRIP_FILTERED,
        "[004-II (3.1), (6.11), (6.18), (6.22)]",
        meaning="how the points of a grasp give way: arms and object together",
        variables=(A_C, M_C),
        derived=True,
    ),
    Equation(
        "(6.13) of 004-II",
        GRIP.inv @ (J @ Mass.inv @ T - w),
        GRIP_FILTERED.inv @ (B.T @ psi.T @ H.T @ D.inv @ W @ T - w),
        "[004-II (6.13), (6.18)]",
        meaning="forces of several arms on the object that they hold",
        variables=(A_C, M_C, w),
        derived=True,
    ),
    Equation(
        "(6.20) of 004-II",
        Mass.inv @ J.T @ GRIP.inv @ w,
        W.T @ D.inv @ H @ psi @ B @ GRIP_FILTERED.inv @ w,
        "[004-II (6.19), (6.20)]",
        meaning="accelerations by what the object prescribes",
        variables=(A_C, M_C, w),
        derived=True,
    ),
    Equation(
        "(6.21) of 004-II",
        FREE - Mass.inv @ J.T @ GRIP.inv @ J @ FREE,
        W.T @ (D.inv - D.inv @ H @ psi @ B @ GRIP_FILTERED.inv @ B.T @ psi.T @ H.T @ D.inv) @ W @ T,
        "[004-II (6.19), (6.21)]",
        meaning="accelerations by the joint forces of arms that hold an object",
        variables=(A_C, M_C),
        derived=True,
    ),
]
