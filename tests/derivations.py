"""Derivations that `pp.derive` must find by itself, from plain definitions, and their results.

`CASES` has them by name; `forms` are printed in the papers, corrected where the print is wrong.
"""

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import phipsi as pp
from phipsi.algebra.node import Node
from phipsi.operators import (
    B,
    C,
    D,
    E,
    G,
    H,
    I,
    J,
    Jm,
    K,
    M,
    Mass,
    P,
    T,
    a,
    b,
    f0,
    gravity,
    letter,
    operator,
    phi,
    phi_tilde,
    psi,
    psi_tilde,
    space,
    tau_bar,
    vector,
)

W = I - H @ psi @ K
loop = space("loop", 5)
A, U_ = operator("A", "point", loop), vector("U_", loop)
ONE, OTHER = pp.point("left"), pp.point("right")

MASS = H @ phi @ M @ phi.T @ H.T
FORCES = M @ phi.T @ a + b + B @ f0
FREE = Mass.inv @ (T - H @ phi @ FORCES)
NU = D.inv @ (T - H @ psi @ (K @ T + b + B @ f0 + P @ a))
b_ = D.sqrt.inv @ H @ psi @ B @ A.T
LAMBDA = A @ J @ Mass.inv @ J.T @ A.T
CLOSED = Mass.inv @ (T - J.T @ A.T @ LAMBDA.inv @ (A @ J @ Mass.inv @ T - U_))
PROJECTED = (
    W.T
    @ D.sqrt.inv.T
    @ ((I - b_ @ (b_.T @ b_).inv @ b_.T) @ D.sqrt.inv @ W @ T + b_ @ (b_.T @ b_).inv @ U_)
)


def compliance(point):
    return J(point) @ Mass.inv @ J(point).T


def admittance(point):
    return B(point).T @ psi.T @ H.T @ D.inv @ H @ psi @ B(point)


@dataclass(frozen=True)
class Case:
    """An expression, what it must become, and by which identities.

    Args:
        expression: in its plain definition.
        form: of the result, up to the axioms of the algebra.
        by: names of identities that must be among the steps.
        options: of `derive`.
    """

    expression: Node
    form: Node
    by: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)


FD3 = W.T @ D.inv @ (T - H @ psi @ (K @ T + FORCES))
FD4 = (
    W.T @ D.inv @ (T - H @ (psi @ (K @ T + b + B @ f0) + psi_tilde @ P @ a))
    - K.T @ psi.T @ tau_bar.T @ a
    - G.T @ a
)

TO_FD4 = ["Identity A.5 in two terms", "Identity A.7"]

CASES = {
    "mass matrix inverse": Case(MASS.inv, W.T @ D.inv @ W, ("Lemma 1 without rotors", "Lemma 2")),
    "mass matrix inverse with rotors": Case(
        (MASS + Jm).inv, W.T @ D.inv @ W, ("Lemma 1", "Lemma 2")
    ),
    "operational compliance": Case(
        J @ Mass.inv @ J.T, B.T @ psi.T @ H.T @ D.inv @ H @ psi @ B, ("Lemma 4",)
    ),
    "correction by tip forces": Case(
        Mass.inv @ J.T @ f0, W.T @ D.inv @ H @ psi @ B @ f0, ("Lemma 4",)
    ),
    "link accelerations": Case(
        phi.T @ H.T @ Mass.inv @ T, psi.T @ H.T @ D.inv @ W @ T, ("Lemma 4",)
    ),
    "forward dynamics": Case(
        FREE, NU - K.T @ psi.T @ (H.T @ NU + a), ("Lemma 1", "Lemma 2", "Lemma 4")
    ),
    "FD3": Case(FREE, FD3, ("Lemma 4",), {"without": TO_FD4}),
    "FD4": Case(FREE, FD4, ("Lemma 4", "Identity A.7"), {"using": "Identity A.7"}),
    "forward dynamics with gravity": Case(
        Mass.inv @ (T - C),
        W.T @ D.inv @ (T - H @ psi @ (K @ T + M @ phi.T @ (a + E @ gravity) + b)),
        ("Lemma 4",),
        {"without": TO_FD4},
    ),
    "mass matrix times its inverse": Case(Mass @ Mass.inv, I.at(T.target), ()),
    "effective inertia of two arms": Case(
        (compliance(ONE) + compliance(OTHER)).inv,
        (admittance(ONE) + admittance(OTHER)).inv,
        ("Lemma 4",),
    ),
    "closed chains": Case(
        CLOSED,
        W.T
        @ D.inv
        @ (
            W @ T
            - H
            @ psi
            @ B
            @ A.T
            @ (A @ B.T @ psi.T @ H.T @ D.inv @ H @ psi @ B @ A.T).inv
            @ (A @ B.T @ psi.T @ H.T @ D.inv @ W @ T - U_)
        ),
        ("Lemma 4",),
    ),
    "closed chains, projected": Case(
        CLOSED,
        PROJECTED,
        ("Lemma 4", "square root of the inverse of D"),
        {"using": "square root of the inverse of D"},
    ),
}


# -- an operator and its inverse -----------------------------------------------------------

J_BAR = Mass.inv @ J.T @ (J @ Mass.inv @ J.T).inv  # the dynamically consistent inverse
held, soft = space("held", 6), space("soft", 2)
A_C, M_C = operator("A_C", held, "point"), operator("M_C", held, held)
H_0 = operator("H_0", "point", soft)  # what soft fingers leave free
GRIP = J @ Mass.inv @ J.T + A_C @ M_C.inv @ A_C.T
PI = GRIP.inv - GRIP.inv @ H_0.T @ (H_0 @ GRIP.inv @ H_0.T).inv @ H_0 @ GRIP.inv

CANCELLED = {  # what the axioms know of X X^-1 = I, for any product or sum X
    "dynamically consistent inverse": (J @ J_BAR, I.at(J.target)),
    "dynamically consistent inverse, twice": (J_BAR @ J @ J_BAR, J_BAR),
    "null space": ((I - J_BAR @ J) @ J_BAR, 0 * J_BAR),
    "soft fingers feel nothing along their freedoms": (H_0 @ PI, 0 * H_0),
    "grasp, a projection": (PI @ GRIP @ PI, PI),
    "part of a sum": (
        M_C @ (M_C + A_C.T @ A_C).inv + A_C.T @ A_C @ (A_C.T @ A_C + M_C).inv,
        I.at(held),
    ),
}


# -- the inverse of a sum ------------------------------------------------------------------

# Step D of 002: the machine is the secondary system, Lambda_P and alpha_P are of the primary one
Lambda_P, alpha_P = operator("Lambda_P", loop, loop), vector("alpha_P", loop)
CLOSURE_FORCE = (Lambda_P + LAMBDA).inv @ (alpha_P + A @ J @ Mass.inv @ T - U_)
SECONDARY = (Mass + J.T @ A.T @ Lambda_P.inv @ A @ J).inv @ (
    T - J.T @ A.T @ Lambda_P.inv @ (alpha_P - U_)
)
ALTERNATIVE = Lambda_P.inv @ (alpha_P + A @ J @ SECONDARY - U_)


@functools.cache
def two_arms():
    """Two arms of seven joints each, whose last bodies are called left and right."""
    rng = np.random.default_rng(0)
    builder = pp.ModelBuilder("two arms")
    for side in ("left", "right"):
        inboard = "world"
        for k in range(7):
            name = side if k == 6 else f"{side} {k}"
            builder.add_body(
                name,
                inboard,
                pp.joints.Revolute(rng.normal(size=3)),
                position=0.5 * rng.normal(size=3),
                mass=1.0,
                com=0.1 * rng.normal(size=3),
                inertia=(0.1, 0.1, 0.1),
            )
            inboard = name
    return builder.build()


@letter("M_a", "body", "body", positive=True)
def M_a(body, joint):
    """Water that a body carries along."""
    return body.inertia.mass * np.diag([0.1, 0.2, 0.3, 0.5, 1.0, 2.0])


WATER = H @ phi @ (M + M_a) @ phi.T @ H.T + Jm
IMPLICIT = Mass + 0.01 * operator("Dj", "joint", "joint").T @ operator("Dj", "joint", "joint")


def without_tildes(node):
    """An expression with phi - I and psi - I for phi~ and psi~."""
    if node in (phi_tilde, psi_tilde):
        return node.definition
    if not node.children:
        return node
    return node.rebuild(tuple(map(without_tildes, node.children)))
