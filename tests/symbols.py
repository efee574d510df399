"""Symbols of the user, and the letters of the algebra by name, for tests of expressions.

`A`, `N`, `L`, `x`, `y`, `k`, `m` are free symbols of every kind; `dense` is
`as_matrix` that takes only the values an expression asks for.
"""

import numpy as np

import phipsi as pp
from phipsi import operators
from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.walk import walk
from phipsi.operators import HH, Gamma_delta, HH_delta, HH_s, I, at, at_joint

STEP = 1e-30  # of the complex step: its square is below roundoff
A = operators.operator("A", "body", "body")
N = operators.operator("N", "joint", "joint")
L = operators.operator("L", "body", "joint")
x = operators.vector("x", "body")
y = operators.vector("y", "joint")
k = operators.scalar("k")
m = operators.scalar("m")
TIP = pp.point("body0", (0.1, -0.2, 0.3))

LETTERS = {
    name: letter
    for name in operators.__all__
    if isinstance(letter := getattr(operators, name), Node) and letter != I
}
# The letters of a joint have a meaning only with it: here the first joint.
OF_A_JOINT = {
    **{"HH": HH(0), "HH_s": HH_s(0), "HH_delta": HH_delta(0), "Gamma_delta": Gamma_delta(0)},
    **{"at": at(0), "at_joint": at_joint(0)},
}
MEANT = {name: OF_A_JOINT.get(name, letter) for name, letter in LETTERS.items()}
NAMES = {
    **{name: getattr(operators, name) for name in operators.__all__},
    **{"A": A, "N": N, "L": L, "x": x, "y": y, "k": k, "m": m, "Point": pp.Point},
}


def free_names(expression):
    """The names of the free symbols in an expression."""
    return {node.name for node in walk(expression) if isinstance(node, Symbol) and node.free}


def dense(model, expression, q, v=None, axes="link", points=(TIP,), **values):
    """as_matrix with the values that the expression asks for."""
    values = {name: values[name] for name in free_names(expression) & values.keys()}
    return pp.as_matrix(model, expression, q, v, axes=axes, points=points or None, **values)


def assert_close(left, right, scale=0.0, tolerance=1e-10):
    """Equal within the tolerance relative to the larger side, or to a scale larger than both."""
    assert np.shape(left) == np.shape(right)
    size = max(np.linalg.norm(left), np.linalg.norm(right), scale)
    assert np.linalg.norm(left - right) <= tolerance * size
