"""P of other operators than the mass operator, as a matrix: the Riccati equation, body by body."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from phipsi.algebra.families import Family
from phipsi.algebra.spaces import BODY
from phipsi.errors import SolveError
from phipsi.lowering.inputs import SPATIAL
from phipsi.lowering.pivots import bound_entries, is_beyond_roundoff, is_roundoff
from phipsi.lowering.watch import inverse_or_none

if TYPE_CHECKING:
    from phipsi.lowering.dense import DenseMachine


def articulated_of(m: DenseMachine, family: Family) -> tuple[np.ndarray, np.ndarray]:
    """tip_to_base: P(k) = W(k) + sum_c E(k,c) (tau_bar P)(c) E*(k,c), in the axes asked for.

    With it what errors of P are a share of: see `pivots`.
    """
    L, E, P = m.matrix(family.L), m.matrix(family.E), np.array(m.matrix(family.W), m.dtype)
    P = np.array(np.broadcast_to(P, (*m.batch, *P.shape[-2:])))
    bound = np.zeros_like(P)
    N = None if family.N is None else m.matrix(family.N)
    assert family.L.target is not None
    bodies, hinges = m.slices(BODY), m.slices(family.L.target)
    for k in m.model.tree.tip_to_base:
        own, hinge, p = bodies[k], hinges[k], m.model.tree.parent[k]
        inner, map_ = P[..., own, own], L[..., hinge, own]
        star = np.swapaxes(map_, -1, -2)
        bound[..., own, own] += bound_entries(inner)
        D = map_ @ inner @ star
        if N is not None:
            D = D + N[..., hinge, hinge]
        inverse = inverse_or_none(D)
        size = np.diagonal(map_ @ bound[..., own, own] @ star, axis1=-2, axis2=-1).real
        if inverse is None or np.any(
            is_roundoff(D.real, size) & ~is_beyond_roundoff(inverse, size)
        ):
            name = m.model.joints[k].name
            raise SolveError(f"`D({family})` is singular at joint {name!r} at this configuration")
        if p >= 0:
            G = inner @ star @ inverse
            tau_bar = np.eye(SPATIAL) - G @ map_
            felt = tau_bar @ inner @ np.swapaxes(tau_bar, -1, -2)
            if N is not None:
                felt = felt + G @ N[..., hinge, hinge] @ np.swapaxes(G, -1, -2)
            step = E[..., bodies[p], own]
            back = np.swapaxes(step, -1, -2)
            P[..., bodies[p], bodies[p]] += step @ felt @ back
            step, back = step @ tau_bar, np.swapaxes(step @ tau_bar, -1, -2)
            bound[..., bodies[p], bodies[p]] += step @ bound[..., own, own] @ back
    return P, bound
