"""Computations whose configuration is a plain vector, for those who know of no manifold.

Automatic differentiation varies q entry by entry. So quaternions are divided by
their lengths first: f(q / |q|) is a function of all q but zero. On unit
quaternions its values are those of f, and its derivatives those along the manifold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import prod

import numpy as np

from phipsi.backends.derivatives import unused
from phipsi.backends.disk.identity import Parts
from phipsi.backends.job import Changed, Computation, Shape
from phipsi.graph.graph import Graph, Node
from phipsi.lowering.template_derivatives import CONFIGURATION
from phipsi.lowering.trace import Trace
from phipsi.model.model import Model
from phipsi.scalars import Scalar
from phipsi.spatial import normalize


@dataclass(frozen=True)
class ByEntries(Changed):
    """A computation at q with its quaternions divided by their lengths.

    The argument q is called `entries`: derivatives by it are by its nq entries.

    Args:
        base: the computation.
        model: whose configurations q is.
    """

    base: Computation
    model: Model

    configurations = ()

    @property
    def key(self) -> Parts | None:
        base = self.base.key
        return None if base is None else (type(self).__name__, base)

    @cached_property
    def inputs(self) -> Mapping[str, Shape]:
        entries = unused("entries", self.base.inputs)
        return {
            entries if name == CONFIGURATION else name: shape
            for name, shape in self.base.inputs.items()
        }

    def traced(self, limit: int | None = None) -> Trace:
        found, graph = self.base.traced(limit), Graph(limit)
        given: dict[tuple[str, int], Scalar] = {}
        for name, own in zip(self.base.inputs, self.inputs, strict=True):
            values: list[Scalar] = [graph.input((own, i)) for i in range(prod(self.inputs[own]))]
            if name == CONFIGURATION:
                for part in quaternions(self.model):
                    values[part] = normalize(values[part])
            given |= {(name, i): x for i, x in enumerate(values)}
        copies = iter(graph.graft([*chain(*found.outputs), *found.checks], given))
        outputs = tuple(tuple(graph.node(next(copies)) for _ in x) for x in found.outputs)
        checks = [x if isinstance(x, Node) else graph.false for x in copies if x is not True]
        return Trace(graph, outputs, tuple(dict.fromkeys(checks)))


def quaternions(model: Model) -> Iterator[slice]:
    """Which entries of q are quaternions."""
    for joint in model.leaders:
        part = joint.kind.quaternion
        if part is not None:
            yield slice(joint.q.start + part.start, joint.q.start + part.stop)


def with_unit_quaternions(model: Model, q: np.ndarray) -> np.ndarray:
    """Configurations (*batch, nq) with their quaternions divided by their lengths."""
    parts = list(quaternions(model))
    if parts:
        q = q.copy()
    for part in parts:
        q[..., part] /= np.sqrt(np.sum(q[..., part] ** 2, axis=-1, keepdims=True))
    return q
