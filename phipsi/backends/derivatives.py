"""Derivatives of what can be traced, as things that can be traced: `J t` and `J* w`.

Configurations vary along their tangents, as `integrate` moves them: the
derivative by q is by dq of q exp(dq) at dq = 0, and has nv entries, not nq.
Everything else varies entry by entry.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import prod

from phipsi.backends.disk.identity import Parts
from phipsi.backends.job import Changed, Computation, Rollable, Shape
from phipsi.graph.derive import forward, reverse
from phipsi.graph.graph import Graph, Node
from phipsi.lowering.template_derivatives import Product, joint_rate
from phipsi.lowering.trace import Trace
from phipsi.model.model import Model
from phipsi.scalars import Scalar


@dataclass(frozen=True)
class Derivative(Changed):
    """A product of the Jacobian of a computation with a vector.

    Args:
        base: what is differentiated.
        model: whose configurations q and the like are.
        by: the arguments that vary, by their names.
    """

    base: Computation
    model: Model
    by: tuple[str, ...]

    @property
    def key(self) -> Parts | None:
        base = self.base.key
        return None if base is None else (type(self).__name__, self.by, base)

    def shape_of(self, name: str) -> Shape:
        """Of the direction in which an argument varies."""
        return (self.model.nv,) if name in self.configurations else self.base.inputs[name]

    @property
    @abstractmethod
    def added(self) -> dict[str, Shape]:
        """The arguments beside those of the base: names and shapes."""

    @cached_property
    def inputs(self) -> Mapping[str, Shape]:
        return {**self.base.inputs, **self.added}

    @property
    @abstractmethod
    def product(self) -> Product:
        """What it is, for rolled code."""

    @property
    def rollable(self) -> Rollable | None:
        """What its base is made of, and one product more."""
        if self.base.rollable is None:
            return None
        base, products = self.base.rollable
        return base, (*products, self.product)

    def entries(self, graph: Graph, name: str, shape: Shape) -> list[Node]:
        """The inputs of a graph that an argument is."""
        return [graph.input((name, i)) for i in range(prod(shape))]


class JacobianVector(Derivative):
    """`J t`: how the results change as the arguments change along t."""

    @property
    def doc(self) -> str:
        return f"J t of {self.base.doc}"

    @property
    def added(self) -> dict[str, Shape]:
        return dict(zip(self.tangents, map(self.shape_of, self.by), strict=True))

    @cached_property
    def tangents(self) -> tuple[str, ...]:
        """Names of the directions, in the order of `by`."""
        return direction_names(self.by, self.base.inputs)

    @property
    def product(self) -> Product:
        return Product(False, self.by, self.tangents, self.configurations)

    def traced(self, limit: int | None = None) -> Trace:
        found = self.base.traced(limit)
        graph = found.graph
        along: dict[Node, Scalar] = {}
        for name, tangent in zip(self.by, self.tangents, strict=True):
            varying = self.entries(graph, name, self.base.inputs[name])
            given: Sequence[Scalar] = self.entries(graph, tangent, self.shape_of(name))
            if name in self.configurations:
                given = rate(self.model, graph, varying, given)
            along |= zip(varying, given, strict=True)
        products = iter(forward(graph, list(chain(*found.outputs)), along))
        outputs = tuple(tuple(next(products) for _ in entries) for entries in found.outputs)
        return Trace(graph, outputs, found.checks)


class VectorJacobian(Derivative):
    """`J* w`: the derivatives by the arguments of the sum of w times the results."""

    @property
    def doc(self) -> str:
        return f"J* w of {self.base.doc}"

    @property
    def outputs(self) -> tuple[Shape, ...]:
        return tuple(map(self.shape_of, self.by))

    @property
    def added(self) -> dict[str, Shape]:
        return dict(zip(self.weights, self.base.outputs, strict=True))

    @cached_property
    def weights(self) -> tuple[str, ...]:
        """Names of w, one for each result."""
        return weight_names(len(self.base.outputs), self.base.inputs)

    @property
    def product(self) -> Product:
        return Product(True, self.by, self.weights, self.configurations)

    def traced(self, limit: int | None = None) -> Trace:
        found = self.base.traced(limit)
        graph = found.graph
        varying = {x: self.entries(graph, x, self.base.inputs[x]) for x in self.by}
        weights = [self.entries(graph, x, shape) for x, shape in self.added.items()]
        slopes = iter(
            reverse(
                graph,
                list(chain(*found.outputs)),
                list(chain(*weights)),
                list(chain(*varying.values())),
            )
        )
        outputs = []
        for name, entries in varying.items():
            by_entry = [next(slopes) for _ in entries]
            if name in self.configurations:
                by_entry = self._along_tangents(graph, entries, by_entry)
            outputs.append(tuple(by_entry))
        return Trace(graph, tuple(outputs), found.checks)

    def _along_tangents(
        self, graph: Graph, q: Sequence[Node], slopes: Sequence[Node]
    ) -> list[Node]:
        """The derivatives by dq, from those by q: `q' = A(q) dq`, so `A* slopes`."""
        dq = self.entries(graph, "along", (self.model.nv,))
        return reverse(graph, [graph.node(x) for x in rate(self.model, graph, q, dq)], slopes, dq)


def direction_names(by: Iterable[str], taken: Iterable[str]) -> tuple[str, ...]:
    """Of the directions in which arguments vary: dq of q."""
    return all_unused([f"d{name}" for name in by], taken)


def weight_names(count: int, taken: Iterable[str]) -> tuple[str, ...]:
    """Of the weights of so many results: w of one, w0, w1, ... of several."""
    return all_unused(["w"] if count == 1 else [f"w{i}" for i in range(count)], taken)


def all_unused(names: Iterable[str], taken: Iterable[str]) -> tuple[str, ...]:
    """Names, each longer if it is taken, also by one before it.

    >>> all_unused(["dx", "dx_"], ["x", "dx"])
    ('dx_', 'dx__')
    """
    known: dict[str, object] = dict.fromkeys(taken)
    start = len(known)
    for name in names:
        known[unused(name, known)] = None
    return tuple(known)[start:]


def unused(name: str, taken: Mapping[str, object]) -> str:
    """A name, longer if it is taken."""
    while name in taken:
        name += "_"
    return name


def rate(model: Model, graph: Graph, q: Sequence[Scalar], dq: Sequence[Scalar]) -> list[Scalar]:
    """How coordinates change as the configuration moves along dq: d/dt integrate(q, t dq) at 0."""
    rates: list[Scalar] = [0.0] * len(q)
    for joint in model.leaders:
        rates[joint.q] = joint_rate(joint.kind, graph, q[joint.q], dq[joint.v])
    return rates
