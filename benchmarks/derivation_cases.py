"""What `pp.derive` is timed on: equations in their plain definitions, as one would type them.

Each is a function of a machine, since its points are: the origin of the last body, and that of one
halfway.
"""

from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np

import phipsi as pp
from phipsi.algebra.node import Inverse, Node, Product, Scaled, Sum, Symbol, Transpose
from phipsi.operators import B, H, Jm, M, T, a, b, f0, operator, phi, space, vector

MASS = H @ phi @ M @ phi.T @ H.T + Jm
EQUATIONS = 5  # that hold a loop closed
CLOSURE = space("closure", EQUATIONS)
A, U = operator("A", "point", CLOSURE), vector("U_", CLOSURE)


def tip_of(model: pp.Model) -> pp.Point:
    return pp.point(model.bodies[-1].name)


def half_of(model: pp.Model) -> pp.Point:
    return pp.point(model.bodies[len(model.bodies) // 2].name)


def jacobian(*points: pp.Point) -> Node:
    return B(*points).T @ phi.T @ H.T


def compliance(*points: pp.Point) -> Node:
    """J Mass^-1 J*."""
    return jacobian(*points) @ MASS.inv @ jacobian(*points).T


def closed(model: pp.Model) -> Node:
    """Accelerations under the equations A J beta_dot = U that close loops [002 sec. 3]."""
    points = tip_of(model), half_of(model)
    J = A @ jacobian(*points)
    force = (J @ MASS.inv @ J.T).inv @ (J @ MASS.inv @ T - U)
    return MASS.inv @ (T - J.T @ force)


CASES: dict[str, Callable[[pp.Model], Node]] = {
    "Mass^-1": lambda model: MASS.inv,
    "J Mass^-1 J*": lambda model: compliance(tip_of(model)),
    "Mass^-1 J* f": lambda model: MASS.inv @ jacobian(tip_of(model)).T @ f0,
    "phi* H* Mass^-1 T": lambda model: phi.T @ H.T @ MASS.inv @ T,
    "Mass^-1 (T - C - J* f)": lambda model: (
        MASS.inv @ (T - H @ phi @ (M @ phi.T @ a + b + B(tip_of(model)) @ f0))
    ),
    "Mass Mass^-1 T": lambda model: MASS @ MASS.inv @ T,
    "two arms": lambda model: (compliance(tip_of(model)) + compliance(half_of(model))).inv,
    "closed chain": closed,
}


def leaves_of(
    model: pp.Model, expression: Node, states: Mapping[str, np.ndarray]
) -> dict[Node, np.ndarray]:
    """The matrices of every letter of an expression, (states, m, n); a vector is a column.

    `phi` is one of them, whatever it is defined by.
    """
    if not isinstance(expression, Symbol):
        found: dict[Node, np.ndarray] = {}
        for child in expression.children:
            found |= leaves_of(model, child, states)
        return found
    if expression.free:
        values = states[expression.name]
    else:
        each = zip(states["q"], states["v"], strict=True)
        values = np.array([pp.as_matrix(model, expression, q, v) for q, v in each])
    return {expression: values[..., None] if expression.is_vector else values}


def as_it_reads(expression: Node, leaves: Mapping[Node, np.ndarray]) -> np.ndarray:
    """An expression of dense matrices, as NumPy evaluates the line: from the left, nothing shared.

    Args:
        expression: of letters, sums, products, factors, stars and inverses.
        leaves: the letters' matrices.
    """
    if isinstance(expression, Symbol):
        return leaves[expression]
    parts = [as_it_reads(child, leaves) for child in expression.children]
    match expression:
        case Sum():
            return sum(parts[1:], parts[0])
        case Product():
            return reduce(np.matmul, parts)
        case Scaled():
            return expression.factor * parts[0]
        case Transpose():
            return np.swapaxes(parts[0], -1, -2)
        case Inverse():
            return np.linalg.inv(parts[0])
    raise AssertionError(f"`{expression}` has no place in a case")
