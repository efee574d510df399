"""How easily the joints of a machine move: what a force at one speed does to that speed."""

from __future__ import annotations

import numpy as np

from phipsi import dynamics
from phipsi.compile import compile
from phipsi.model.model import Model
from phipsi.operators import Mass, blockdiag, vector

MOBILITY = blockdiag(Mass.inv) @ vector("unit", "joint")
LARGE = 200  # bodies, for which loops in Python take longer than to compile others
AT_ONCE = 1 << 12  # states: what is computed on the way would fill the memory otherwise


def mobility(model: Model, q: np.ndarray) -> np.ndarray:
    """The diagonal of Mass^-1, in O(N); where joints follow others, from the dense inverse.

    Args:
        model: the machine.
        q: configurations, (*batch, nq).

    Returns:
        (*batch, nv): 1/(kg m^2) or 1/kg.

    Raises:
        SolveError: if nothing resists the motion of some joint; names it.

    >>> import phipsi as pp
    >>> builder = pp.ModelBuilder("cart")
    >>> _ = builder.add_body("cart", joint=pp.joints.Prismatic((1, 0, 0)), mass=4.0)
    >>> mobility(builder.build(), np.array([0.3]))
    array([0.25])
    """
    states = q.reshape(-1, model.nq)
    found = np.empty((len(states), model.nv))
    for first in range(0, len(states), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        found[part] = _diagonals(model, states[part])
    return found.reshape(*q.shape[:-1], model.nv)


def _diagonals(model: Model, q: np.ndarray) -> np.ndarray:
    if model.has_mimics:
        inverse = dynamics.mass_matrix_inverse(model, q, backend="numpy")
        return np.diagonal(inverse, axis1=-2, axis2=-1)
    units = np.zeros((max(x.kind.nv for x in model.joints), model.nv))  # one speed of each joint
    for joint in model.joints:
        for a, i in enumerate(range(joint.v.start, joint.v.stop)):
            units[a, i] = 1.0
    backend = "numpy" if len(model.bodies) < LARGE else None
    columns = compile(model, MOBILITY, backend=backend, rewrite=False)(q[:, None], unit=units)
    return np.sum(columns * units, axis=-2)
