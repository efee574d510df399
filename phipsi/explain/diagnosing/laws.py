"""The whole machine: equations between sweeps, looked at by random vectors, in O(N).

Each law compares two ways through the machine. What is left over is divided by what was
added up: no entry of a positive matrix is above `s_i s_j`, s the roots of its diagonal, so
`s_i sum_j s_j |y_j|` bounds what Mass y adds up at i. Roundoff is about 1e-16 of it, however
ill-conditioned the mass matrix is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from phipsi.algebra.node import Node
from phipsi.dynamics.energy import KINETIC
from phipsi.dynamics.forward import FD4, WHITEN, projected
from phipsi.dynamics.inverse import newton_euler
from phipsi.dynamics.mass import MASS, MASS_INVERSE
from phipsi.dynamics.terms import terms_of
from phipsi.explain.diagnosing.bodies import Articulated, Bodies, gain_squares, sweep
from phipsi.explain.diagnosing.diagnosis import Finding
from phipsi.explain.diagnosing.verdicts import judge_residual
from phipsi.model.model import Model
from phipsi.operators import H, I, K, Mass, phi, vector

COLOUR = I + H @ phi @ K
FACTORS = "Mass = (I + H phi K) D (...)*"
y = vector("y", "joint")
u = vector("u", "coordinate")


class Machine:
    """A machine at a state, as its sweeps see it.

    Args:
        bodies: its pieces.
        found: P, D, G as the backend has them.
        q, v: the state.
        backend: that of `pp.compile`.

    Attributes:
        rows: roots of the diagonal of Mass, for each speed of joint space.
        coordinates: bounds of those of S_q* Mass S_q, for each independent speed.
        enlarged: by how much the largest gain enlarges roundoff.
    """

    def __init__(
        self,
        bodies: Bodies,
        found: Articulated,
        q: np.ndarray,
        v: np.ndarray,
        backend: str,
    ):
        self.model: Model = bodies.model
        self.found, self.q, self.v, self.backend = found, q, v, backend
        self.enlarged = max(gain_squares(bodies, found))
        self.rows = np.zeros(sum(joint.kind.nv for joint in self.model.joints))
        self.coordinates = np.zeros(self.model.nv)
        for k, joint in enumerate(self.model.joints):
            H_star = bodies.H_star[k]
            diagonal = np.einsum("ia,ij,ja->a", H_star, bodies.R[k], H_star) + bodies.Jm[k]
            roots = np.sqrt(np.where(diagonal != 0.0, np.abs(diagonal), 1.0))
            self.rows[joint.rows] = roots
            ratio = 1.0 if joint.mimic is None else abs(joint.mimic.ratio)
            self.coordinates[joint.v] += ratio * roots
        self.row_names = [j.name for j in self.model.joints for _ in range(j.kind.nv)]
        self.names = [j.name for j in self.model.leaders for _ in range(j.kind.nv)]

    def sweep(self, expression: Node, **values: Any) -> Any:
        """The value of an expression at this configuration."""
        return sweep(self.model, expression, self.backend, q=self.q, **values)

    def mass(self, x: np.ndarray) -> np.ndarray:
        """S_q* Mass S_q x, O(N)."""
        return self.sweep(MASS @ u, u=x)

    def solve(self, x: np.ndarray) -> np.ndarray:
        """(S_q* Mass S_q)^-1 x: O(N) where no joint follows another."""
        expression = MASS.inv if self.model.has_mimics else MASS_INVERSE
        return self.sweep(expression @ u, u=x)


def laws(machine: Machine, rng: np.random.Generator) -> Iterator[Finding]:
    """Those that speak of the machine's own coordinates, one after the other."""
    yield _inverse(machine, rng)
    yield _round_trip(machine, rng)
    yield _energy(machine)


def factor_laws(machine: Machine, rng: np.random.Generator) -> Iterator[Finding]:
    """Those of the innovations factors, in joint space."""
    yield _factors(machine, rng)
    yield _whitening(machine, rng)


def _factors(machine: Machine, rng: np.random.Generator) -> Finding:
    """Mass = (I + H phi K) D (I + H phi K)* [003 Lemma 1], on a random vector."""
    s = machine.rows
    x = rng.normal(size=s.size) / s
    z = machine.sweep(COLOUR.T @ y, y=x)
    for joint, D in zip(machine.model.joints, machine.found.D, strict=True):
        z[joint.rows] = D @ z[joint.rows]
    miss = machine.sweep(Mass @ y, y=x) - machine.sweep(COLOUR @ y, y=z)
    return judge_residual(
        "factors of Mass",
        FACTORS,
        "joint",
        machine.row_names,
        share_of(miss, s * np.sum(s * np.abs(x)) * machine.enlarged),
        lambda name, x: (
            f"at joint {name!r} the forces that move the whole machine are not those that its "
            "articulated bodies feel"
        ),
    )


def _whitening(machine: Machine, rng: np.random.Generator) -> Finding:
    """(I + H phi K) (I - H psi K) = I [003 Lemma 2], on a random vector."""
    s = machine.rows
    x = s * rng.normal(size=s.size)
    z = machine.sweep(WHITEN @ y, y=x)
    size = 0.0
    for joint, D in zip(machine.model.joints, machine.found.D, strict=True):
        size += float(np.sum(np.abs(z[joint.rows]) / np.sqrt(np.abs(np.diag(D)))))
    miss = machine.sweep(COLOUR @ y, y=z) - x
    return judge_residual(
        "filter undone",
        "(I + H phi K) (I - H psi K) = I",
        "joint",
        machine.row_names,
        share_of(miss, s * size),
        lambda name, x: f"forces that were filtered do not come back at joint {name!r}",
    )


def _inverse(machine: Machine, rng: np.random.Generator) -> Finding:
    """Mass Mass^-1 = I, on a random vector: two factorizations beside each other."""
    s = machine.coordinates
    x = s * rng.normal(size=s.size)
    moved = machine.solve(x)
    return judge_residual(
        "Mass and its inverse",
        "Mass Mass^-1 = I",
        "joint",
        machine.names,
        share_of(machine.mass(moved) - x, s * np.sum(s * np.abs(moved))),
        lambda name, x: f"forces answered by accelerations are not met again at joint {name!r}",
    )


def _round_trip(machine: Machine, rng: np.random.Generator) -> Finding:
    """ID(FD(tau)) = tau at the state, gravity and speeds included."""
    s, v, terms = machine.coordinates, machine.v, terms_of()
    forward = projected if machine.model.has_mimics else FD4
    tau = s * rng.normal(size=s.size)
    vdot = machine.sweep(forward(terms.a_g, terms.b), v=v, tau=tau)
    inverse = newton_euler(terms.a_g, terms.b)
    back, C = machine.sweep(inverse, v=v, vdot=np.array([vdot, 0.0 * vdot]))
    added = np.sum(s * np.abs(vdot) + (np.abs(C) + np.abs(tau)) / s)
    return judge_residual(
        "round trip",
        "ID(FD(tau)) = tau",
        "joint",
        machine.names,
        share_of(back - tau, s * added),
        lambda name, x: (
            f"the motion that forces make does not ask for the same forces at joint {name!r}"
        ),
    )


def _energy(machine: Machine) -> Finding:
    """v* Mass v / 2 = (V* M V + beta* Jm beta) / 2."""
    v = machine.v
    by_bodies = float(machine.sweep(KINETIC, v=v))
    by_joints = 0.5 * float(v @ machine.mass(v))
    size = np.sum(machine.coordinates * np.abs(v)) ** 2
    return judge_residual(
        "kinetic energy",
        "v* Mass v = V* M V",
        "machine",
        [machine.model.name],
        share_of(np.array([by_joints - by_bodies]), np.array([size])),
        lambda name, x: "the joints see another kinetic energy than the bodies have",
    )


def share_of(miss: np.ndarray, size: np.ndarray) -> np.ndarray:
    """What is left over, relative to what was added up; nothing is left of nothing."""
    return np.abs(miss) / np.where(size > 0.0, size, 1.0)
