"""The configurations of a machine as integrators see them: of arrays, or of a graph."""

from __future__ import annotations

import numpy as np

from phipsi.model.configuration import columns, set_columns, straight_joints
from phipsi.model.model import Model
from phipsi.simulate.vectors import Numbers


class ArrayFlow:
    """Moves of arrays (*batch, nq) and (*batch, nv)."""

    def __init__(self, model: Model):
        self.model = model
        self._q, self._v, self._curved = straight_joints(model, "integrate")
        self._turning = [x for x in model.leaders if not x.kind.commutes]

    def move(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """q exp(u)."""
        batch = np.broadcast_shapes(q.shape[:-1], u.shape[:-1])
        moved = np.empty((*batch, self.model.nq))
        moved[..., self._q] = q[..., self._q] + u[..., self._v]
        for joint in self._curved:
            parts = columns(q, joint.q), columns(u, joint.v)
            set_columns(moved, joint.q, joint.kind.integrate(*parts))
        return moved

    def rate(self, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The rate of u where q exp(u) has the speeds v."""
        if not self._turning:
            return v
        rate = np.array(np.broadcast_to(v, np.broadcast_shapes(u.shape, v.shape)))
        for joint in self._turning:
            parts = columns(u, joint.v), columns(v, joint.v)
            set_columns(rate, joint.v, joint.kind.tangent_rate(*parts))
        return rate

    def advance(self, v: np.ndarray, a: np.ndarray, h: np.ndarray) -> np.ndarray:
        """The speeds after a step of length h, at their rate a now."""
        speeds = v + h * a
        for joint in self._turning:
            parts = columns(v, joint.v), columns(a, joint.v)
            set_columns(speeds, joint.v, joint.kind.advance(*parts, float(h.flat[0])))
        return speeds


class NodeFlow:
    """Moves of numbers of a graph."""

    def __init__(self, model: Model):
        self.model = model

    def move(self, q: Numbers, u: Numbers) -> Numbers:
        """q exp(u)."""
        moved = list(q)
        for joint in self.model.leaders:
            moved[joint.q] = joint.kind.integrate(q[joint.q], u[joint.v])
        return Numbers(moved)

    def rate(self, u: Numbers, v: Numbers) -> Numbers:
        """The rate of u where q exp(u) has the speeds v."""
        rate = list(v)
        for joint in self.model.leaders:
            rate[joint.v] = joint.kind.tangent_rate(u[joint.v], v[joint.v])
        return Numbers(rate)

    def advance(self, v: Numbers, a: Numbers, h: Numbers) -> Numbers:
        """The speeds after a step of length h, at their rate a now."""
        speeds = list(v)
        for joint in self.model.leaders:
            speeds[joint.v] = joint.kind.advance(v[joint.v], a[joint.v], h[0])
        return Numbers(speeds)
