"""Operators made of a vector, Q[x] and cross[x]; and the blocks of an operator.

S[x] is opened by the shift, in `propagation`.
"""

from __future__ import annotations

from phipsi import spatial
from phipsi.algebra.alphabet import FORCE, MOTION, Opened
from phipsi.algebra.node import Diagonal, Node
from phipsi.algebra.operators.papers import opener
from phipsi.errors import SpaceError

Q = opener(
    "Q",
    "Q[z] = [[x~, y~], [y~, 0]], block by block [000 (2.8)].",
    opens=Opened(spatial.cross_adjoint, "cross_adjoint", "Q", (FORCE, FORCE, MOTION)),
    also=("cal:Q",),
    mechanics="adjoint of the force cross product",
    estimation="bilinear form of two states",
    formula="Q[x]",
)
cross = opener(
    "cross",
    "z~ = [[x~, 0], [y~, x~]], block by block [000 (2.5)].",
    opens=Opened(spatial.cross_motion, "cross_motion", "S", (MOTION, MOTION, MOTION)),
    mechanics="motion cross product x~",
    estimation="rate of a moving frame",
    formula="cross[x]",
)


def blockdiag(expression: Node) -> Node:
    """The memoryless part of an operator: blocks off the diagonal dropped.

    >>> from phipsi.operators import M, phi
    >>> blockdiag(phi @ M @ phi.T)
    blockdiag(phi @ M @ phi.T)
    """
    if not isinstance(expression, Node):
        raise SpaceError(f"cannot take blockdiag({expression!r}); expected an expression")
    return Diagonal(expression)
