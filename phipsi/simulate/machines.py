"""What forces and integrators ask of a machine, answered with arrays or with numbers of a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from phipsi import dynamics
from phipsi.algebra.node import Node as Expression
from phipsi.compile import compile
from phipsi.dynamics.forward import FD4, projected
from phipsi.dynamics.inverse import bias
from phipsi.dynamics.terms import tau, terms_of
from phipsi.graph.graph import Graph, Node
from phipsi.lowering import blocks
from phipsi.model.configuration import difference
from phipsi.model.joints import Free
from phipsi.model.model import Joint, Model
from phipsi.model.tree import WORLD
from phipsi.operators import H, Jm, M, Mass, S_q, U, V, beta, operator, phi
from phipsi.scalars import sqrt
from phipsi.simulate.flows import ArrayFlow, NodeFlow
from phipsi.simulate.vectors import Numbers, dot

MOMENTA = S_q.T @ (H @ phi @ M @ V + Jm @ beta)  # Mass v
ROOTS = operator("roots", "joint", "joint")
LARGEST = 60_000  # nodes of one quantity of a machine


class Mechanism(Protocol):
    """A machine that answers."""

    model: Model

    def move(self, q: Any, u: Any) -> Any:
        """q exp(u)."""

    def rate(self, u: Any, v: Any) -> Any:
        """The rate of u where q exp(u) has the speeds v."""

    def difference(self, q0: Any, q1: Any) -> Any:
        """The tangent that leads from q0 to q1."""

    def forward(self, q: Any, v: Any, tau: Any, resistance: Any = None) -> Any:
        """The rates of the speeds under joint forces, (Mass + resistance)^-1 (tau - C)."""

    def value(self, expression: Expression, q: Any, v: Any, entries: Mapping[str, Any]) -> Any:
        """A vector of coordinate space at a state, by the entries of its free letters."""

    def spread(self, u: Any) -> Any:
        """S_q u: a vector of coordinate space in joint space."""

    def energies(self, q: Any, v: Any) -> tuple[Any, ...]:
        """Kinetic energy, potential energy, and as if locked: kinetic energy, speeds."""


def carriers(model: Model) -> list[slice]:
    """The speeds of free bodies that carry all others; none if nothing is carried."""
    pairs = zip(model.bodies, model.joints, strict=True)
    free = [x.v for body, x in pairs if body.parent == WORLD and isinstance(x.kind, Free)]
    return free if len(free) < len(model.joints) else []


def carrying_units(model: Model) -> list[Numbers]:
    """One speed of every such body at a time, (6, nv)."""
    units = np.zeros((6, model.nv))
    for part in carriers(model):
        units[:, part] = np.eye(6)
    return [Numbers(x) for x in units.tolist()]


def resisted(model: Model) -> Expression:
    """vdot = (Mass + N N*)^-1 (T - C), with the root of each joint's resistance in N."""
    a, b = terms_of().a_g, terms_of().b
    mass = Mass + ROOTS @ ROOTS.T
    if model.has_mimics:
        return (S_q.T @ mass @ S_q).inv @ (tau - bias(a, b))
    return S_q.T @ mass.inv @ (S_q @ tau - H @ phi @ (M @ phi.T @ a + b))


class ArrayMechanism(ArrayFlow):
    """Answers in arrays (*batch, n).

    Args:
        model: the machine.
        backend: that of `pp.compile`.
        threads: that share a large batch; None for the package's default.
    """

    def __init__(self, model: Model, backend: str | None, threads: int | str | None = None):
        super().__init__(model)
        self._with: dict[str, Any] = {"backend": backend, "threads": threads}
        self._carriers = carriers(model)
        self._units: np.ndarray = np.array(carrying_units(model))

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """The tangent that leads from q0 to q1."""
        return difference(self.model, q0, q1)

    def forward(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, resistance: np.ndarray | None = None
    ) -> np.ndarray:
        """The rates of the speeds under joint forces, (Mass + resistance)^-1 (tau - C)."""
        if resistance is None:
            return dynamics.forward_dynamics(self.model, q, v, tau, **self._with)
        roots = []
        for joint in self.model.joints:
            own = 0.0 if joint.mimic else np.sqrt(resistance[..., None, joint.v])
            roots.append(own * np.eye(joint.kind.nv))
        function = compile(self.model, resisted(self.model), rewrite=False, **self._with)
        return function(q, v, tau=tau, roots=roots)

    def value(
        self,
        expression: Expression,
        q: np.ndarray,
        v: np.ndarray,
        entries: Mapping[str, np.ndarray],
    ) -> np.ndarray:
        """A vector of coordinate space at a state, by the entries of its free letters."""
        function = compile(self.model, expression, **self._with)
        return function(q, v, **function.values_of(entries))

    def spread(self, u: np.ndarray) -> np.ndarray:
        """S_q u: a vector of coordinate space in joint space."""
        parts = [_ratio(x) * u[..., x.v] for x in self.model.joints]
        return np.concatenate(parts, axis=-1)

    def energies(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, ...]:
        """Kinetic energy, potential energy, and as if locked: kinetic energy, speeds."""
        p, potential = self._momenta(q, v), self._potential(q)
        locked = np.zeros(p.shape)
        if self._carriers:
            columns = self._momenta(q[..., None, :], self._units)
            for part in self._carriers:
                x = np.linalg.solve(columns[..., part], p[..., part, None])
                locked[..., part] = x[..., 0]
        return 0.5 * dot(v, p), potential, 0.5 * dot(locked, p), locked

    def energy(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Kinetic and potential energy together, one entry."""
        return 0.5 * dot(v, self._momenta(q, v)) + self._potential(q)

    def _potential(self, q: np.ndarray) -> np.ndarray:
        return np.asarray(dynamics.potential_energy(self.model, q, **self._with))[..., None]

    def _momenta(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return compile(self.model, MOMENTA, rewrite=False, **self._with)(q, v)


class NodeMechanism(NodeFlow):
    """Answers in numbers of a graph.

    Args:
        model: the machine.
        graph: where the answers are made.

    Attributes:
        checks: what must be true, as of `trace`.
    """

    def __init__(self, model: Model, graph: Graph):
        super().__init__(model)
        self.graph = graph
        self.checks: dict[Node, None] = {}

    def difference(self, q0: Numbers, q1: Numbers) -> Numbers:
        """The tangent that leads from q0 to q1."""
        joints = self.model.leaders
        parts = (x.kind.difference(q0[x.q], q1[x.q]) for x in joints)
        return Numbers(scalar for part in parts for scalar in part)

    def forward(
        self, q: Numbers, v: Numbers, tau: Numbers, resistance: Numbers | None = None
    ) -> Numbers:
        """The rates of the speeds under joint forces, (Mass + resistance)^-1 (tau - C)."""
        if resistance is None:
            make, terms = projected if self.model.has_mimics else FD4, terms_of()
            return self._value([make(terms.a_g, terms.b)], {"q": q, "v": v, "tau": tau})
        roots: list[Any] = []
        for joint in self.model.joints:
            own = [0.0] * joint.kind.nv if joint.mimic else map(sqrt, resistance[joint.v])
            roots += [x if i == j else 0.0 for i, x in enumerate(own) for j in range(joint.kind.nv)]
        given = {"q": q, "v": v, "tau": tau, "roots": Numbers(roots)}
        return self._value([resisted(self.model)], given)

    def value(
        self, expression: Expression, q: Numbers, v: Numbers, entries: Mapping[str, Numbers]
    ) -> Numbers:
        """A vector of coordinate space at a state, by the entries of its free letters."""
        return self._value([expression], {**entries, "q": q, "v": v}, rewrite=True)

    def spread(self, u: Numbers) -> Numbers:
        """S_q u: a vector of coordinate space in joint space."""
        return Numbers(_ratio(x) * y for x in self.model.joints for y in u[x.v])

    def energies(self, q: Numbers, v: Numbers) -> tuple[Numbers, ...]:
        """Kinetic energy, potential energy, and as if locked: kinetic energy, speeds."""
        *momenta, potential = self._value([MOMENTA, U], {"q": q, "v": v})
        p, locked = Numbers(momenta), [0.0] * self.model.nv
        units = carrying_units(self.model)
        columns = [self._value([MOMENTA], {"q": q, "v": x}) for x in units]
        for part in carriers(self.model):
            inertia = [x[part] for x in columns]
            locked[part] = blocks.solved(blocks.factored(inertia), p[part])
        rigid = Numbers(locked)
        return 0.5 * dot(v, p), Numbers([potential]), 0.5 * dot(rigid, p), rigid

    def _value(
        self,
        expressions: Sequence[Expression],
        arguments: Mapping[str, Numbers],
        rewrite: bool = False,
    ) -> Numbers:
        """Expressions compiled up to their graph, which goes on here."""
        function = compile(self.model, list(expressions), rewrite=rewrite)
        job = function.job()
        assert job is not None, "machines without coordinates are stepped by arrays"
        traced = job.traced(LARGEST)
        every = {"points": function.positions.tolist(), **arguments}
        given = {(name, i): x for name, several in every.items() for i, x in enumerate(several)}
        results = [x for output in traced.outputs for x in output]
        grafted = self.graph.graft([*results, *traced.checks], given)
        for check in grafted[len(results) :]:
            if check is not True:
                self.checks[check if type(check) is Node else self.graph.false] = None
        return Numbers(grafted[: len(results)])


def _ratio(joint: Joint) -> float:
    """Of a joint that follows another: how much faster it moves."""
    return 1.0 if joint.mimic is None else joint.mimic.ratio
