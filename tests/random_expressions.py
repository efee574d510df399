"""Hypothesis strategies for random well-typed expressions, with values on random machines.

`typed_expressions` are to be looked at; `situations` give a machine with an
`evaluate`, and `evaluable` the expressions that have a value on every machine.
"""

import math

import machines
import numpy as np
from hypothesis import strategies as st
from symbols import LETTERS, MEANT, OF_A_JOINT, TIP, A, L, N, dense, k, m, x, y

from phipsi.algebra.node import Node, Product, Scaled, Sum, Transpose
from phipsi.algebra.spaces import BODY, COORDINATES, JOINT, POINTS, SCALAR
from phipsi.operators import (
    HH,
    B,
    D,
    E_phi,
    H,
    I,
    J,
    K,
    M,
    Mass,
    P,
    Q,
    R,
    S,
    X,
    blockdiag,
    c,
    cross,
    phi,
    psi,
)

SYMBOLIC = [*LETTERS.values(), *OF_A_JOINT.values(), HH("elbow", 1)]
SYMBOLIC += [B(TIP), J(TIP), X(TIP), c(TIP)]
SYMBOLIC += [A, N, L, x, y, k, m]
WITH_VALUES = [
    letter
    for letter in [*MEANT.values(), B(TIP), J(TIP), X(TIP), c(TIP), A, N, L, x, y, k, m]
    if COORDINATES not in (letter.source, letter.target)
]
INVERTIBLE = {
    BODY: [M, P, R, phi, psi, I - E_phi],
    JOINT: [D, Mass, I - H @ psi @ K, I + H @ phi @ K],
}
NUMBERS = st.one_of(st.integers(-3, 3), st.sampled_from([0.5, -1.5, 1e-3, 1 / 3, -2.0]))


@st.composite
def expressions(draw, letters, source, target, depth, functions=True):
    """A random expression from one space to another, of the given letters.

    With `functions` also inverses, roots and diagonals of anything that types;
    without, only inverses that exist.
    """

    def part(source, target, depth=depth - 1):
        return draw(expressions(letters, source, target, depth, functions))

    leaves = [x for x in letters if (x.source, x.target) == (source, target)]
    leaves += [x.T for x in letters if (x.target, x.source) == (source, target)]
    if source is target:
        leaves.append(I)
    kinds = ["sum", "difference", "product", "scaled", "times", "transpose"]
    if leaves:
        kinds += ["leaf", "leaf"] if depth > 0 else []
        kinds = kinds if depth > 0 else ["leaf"]
    if depth > 0 and source is target and source in INVERTIBLE:
        kinds.append("inverse")
    if depth > 0 and source is BODY is target:
        kinds.append("bracket")
    if depth > 0 and source is target and functions:
        kinds += ["diagonal", "any inverse", "root"]
    match draw(st.sampled_from(kinds)):
        case "leaf":
            return draw(st.sampled_from(leaves))
        case "sum":
            return part(source, target) + part(source, target)
        case "difference":
            return part(source, target) - part(source, target)
        case "product":
            middle = draw(st.sampled_from([BODY, JOINT, SCALAR] if depth > 0 else [BODY]))
            return part(middle, target) @ part(source, middle)
        case "scaled":
            return draw(NUMBERS) * part(source, target)
        case "times":
            factor = part(SCALAR, SCALAR)
            operand = part(source, target)
            return factor * operand if factor.source is SCALAR else operand
        case "transpose":
            return part(target, source).T
        case "inverse":
            return draw(st.sampled_from(INVERTIBLE[source])).inv
        case "bracket":
            bracket = draw(st.sampled_from([S, Q, cross]))
            return bracket[part(SCALAR, BODY)]
        case "diagonal":
            return blockdiag(part(source, target))
        case "any inverse":
            return part(source, target).inv
        case "root":
            return blockdiag(part(source, target)).sqrt


PAIRS = [(s, t) for s in (BODY, JOINT, SCALAR, POINTS) for t in (BODY, JOINT, SCALAR, POINTS)]


@st.composite
def typed_expressions(draw, depth=3):
    """Any expression, to be looked at and not evaluated."""
    source, target = draw(st.sampled_from(PAIRS))
    return draw(expressions(SYMBOLIC, source, target, depth))


@st.composite
def situations(draw, max_bodies=4):
    """(evaluate, expression strategy) on a random machine at a random state."""
    model, q, v = draw(machines.machines_with_states(max_bodies=max_bodies))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    bodies, joints = range(len(model.bodies)), model.joints
    values = {
        "A": [rng.normal(size=(6, 6)) for _ in bodies],
        "N": [rng.normal(size=(joint.kind.nv, joint.kind.nv)) for joint in joints],
        "L": [rng.normal(size=(joint.kind.nv, 6)) for joint in joints],
        "x": rng.normal(size=6 * len(bodies)),
        **{name: rng.normal(size=joints[-1].rows.stop) for name in ("y", "T", "beta_dot")},
        **{"k": rng.normal(), "m": rng.normal(), "f0": rng.normal(size=6)},
    }

    def evaluate(expression):
        return dense(model, expression, q, v, **values)

    return model, evaluate


def evaluable(source, target, depth=2):
    """Expressions that have a value on every machine."""
    return expressions(WITH_VALUES, source, target, depth, functions=False)


def size(value, node):
    """How large the numbers are that a value is made of: its roundoff is relative to this.

    Not the norm of the value itself: H @ tau_bar vanishes, but for roundoff.
    """
    parts = [size(value, child) for child in node.children]
    if isinstance(node, Sum):
        return sum(parts)
    if isinstance(node, Product):
        return math.prod(parts)
    if isinstance(node, Scaled):
        return math.prod(parts) * (1 if isinstance(node.factor, Node) else abs(node.factor))
    if isinstance(node, Transpose):
        return parts[0]
    return np.linalg.norm(value(node)) + 1e-300
