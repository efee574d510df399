"""Forward dynamics to fifty digits: what the error of every other algorithm is measured against.

From the public numbers of a model alone, each double taken as the number it is:
inverse dynamics by Newton and Euler, the mass matrix by composite inertias, forward
dynamics by elimination. No operator, no articulated inertia, no lowering takes part;
of phipsi, only the joints' transforms and maps, which are written over any scalar.

The arithmetic is that of `decimal`, fifty digits on every platform. Long doubles are not
enough, where a platform has them at all: the mass matrix of a chain of 300 links, known
exactly and solved in long doubles, gives its accelerations to 6e-15, FD4 in doubles to 4e-15.
"""

import functools
import operator
from collections.abc import Callable
from decimal import Decimal, localcontext

import numpy as np

import phipsi as pp
from phipsi import scalars
from phipsi.model.tree import WORLD

DIGITS = 50


def precise(function: Callable) -> Callable:
    """The function, computed with fifty digits."""

    @functools.wraps(function)
    def computed(*arguments):
        with localcontext() as context:
            context.prec = DIGITS
            return function(*arguments)

    return computed


def _lifted(compute: Callable) -> tuple[Callable, Callable]:
    """An operation of decimals, and the same reflected, as methods of `Exact`."""

    def forward(self, other):
        return Exact(compute(self.value, Exact(other).value))

    def reflected(self, other):
        return Exact(compute(Exact(other).value, self.value))

    return forward, reflected


class Exact:
    """A decimal that computes with floats, which `Decimal` refuses: the joints' scalar."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value.value if isinstance(value, Exact) else Decimal(value)

    def __neg__(self):
        return Exact(-self.value)

    __add__, __radd__ = _lifted(operator.add)
    __sub__, __rsub__ = _lifted(operator.sub)
    __mul__, __rmul__ = _lifted(operator.mul)


def _series(x: Decimal, power: int) -> Decimal:
    """x^p/p! - x^(p+2)/(p+2)! + ...: the cosine from p = 0, the sine from p = 1."""
    term = x**power if power else Decimal(1)
    total = Decimal(0)
    while total + term != total:
        total += term
        power += 2
        term *= -x * x / (power * (power - 1))
    return total


@scalars.sin.register
def _(x: Exact) -> Exact:
    return Exact(_series(x.value, 1))


@scalars.cos.register
def _(x: Exact) -> Exact:
    return Exact(_series(x.value, 0))


decimals = np.frompyfunc(lambda x: x.value if isinstance(x, Exact) else Decimal(x), 1, 1)


class ExactMachine:
    """A machine whose dynamics are computed with fifty digits, one state at a time.

    Every joint kind but `Custom` is known, and none may mimic another.

    Args:
        model: the machine.
        number: each number of the model, a float, as the Decimal to compute with.
    """

    @precise
    def __init__(self, model: pp.Model, number: Callable[[float], Decimal] = Decimal):
        assert model.joints == model.leaders, "no joint may follow another"
        exact = np.frompyfunc(number, 1, 1)
        self.model = model
        self.parents = model.tree.parent
        self.gravity = exact(model.gravity)
        self.placements = [
            (exact(joint.placement.rotation), exact(joint.placement.position))
            for joint in model.joints
        ]
        self.inertias = [
            spatial_inertia(number(x.mass), exact(x.com), exact(x.rotational))
            for x in (body.inertia for body in model.bodies)
        ]
        self.rotors = [
            number(joint.gear_ratio) ** 2 * number(joint.rotor_inertia) for joint in model.joints
        ]

    @precise
    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """vdot = Mass^-1 (tau - C), in Decimals."""
        force = self.missing_force(q, v, tau, np.zeros(self.model.nv))
        return solve(eliminate(self.mass_matrix(q)), force)

    @precise
    def missing_force(
        self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, vdot: np.ndarray
    ) -> np.ndarray:
        """tau - (Mass vdot + C), in Decimals: what vdot leaves of the equations of motion."""
        return decimals(tau) - self.inverse_dynamics(q, v, vdot)

    @precise
    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, vdot: np.ndarray) -> np.ndarray:
        """tau = Mass vdot + C, in Decimals: velocities and accelerations out, forces in."""
        v, vdot = decimals(v), decimals(vdot)
        V, A, f = [], [], []
        at_rest = decimals(np.zeros(6))
        felt = np.concatenate([at_rest[:3], -self.gravity])  # the base's acceleration
        links = self._links(q)
        for k, (phi, H_star, gammas) in enumerate(links):
            p, own = self.parents[k], self.model.joints[k].v
            V_p, A_p = (at_rest, felt) if p == WORLD else (V[p], A[p])
            relative = H_star @ v[own]
            V.append(phi.T @ V_p + relative)
            A.append(phi.T @ A_p + H_star @ vdot[own] + cross(V[k]) @ relative)
            for Gamma, speed in zip(gammas, v[own], strict=bool(gammas)):  # none: H* is constant
                A[k] = A[k] + speed * Gamma @ v[own]
            M = self.inertias[k]
            f.append(M @ A[k] - cross(V[k]).T @ M @ V[k])
        tau = decimals(np.zeros(self.model.nv))
        for k, (phi, H_star, _) in reversed(list(enumerate(links))):
            p, own = self.parents[k], self.model.joints[k].v
            tau[own] = H_star.T @ f[k] + self.rotors[k] * vdot[own]
            if p != WORLD:
                f[p] = f[p] + phi @ f[k]
        return tau

    @precise
    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Mass in Decimals, by composite inertias: column k is what moving joint k alone takes."""
        links, joints = self._links(q), self.model.joints
        Mass = decimals(np.zeros((self.model.nv, self.model.nv)))
        R = list(self.inertias)
        for k, (phi, H_star, _) in reversed(list(enumerate(links))):
            f = R[k] @ H_star
            own, j = joints[k].v, k
            Mass[own, own] = H_star.T @ f + self.rotors[k] * np.eye(joints[k].kind.nv, dtype=int)
            while self.parents[j] != WORLD:
                f, j = links[j][0] @ f, self.parents[j]
                block = links[j][1].T @ f
                Mass[joints[j].v, own], Mass[own, joints[j].v] = block, block.T
            if self.parents[k] != WORLD:
                R[self.parents[k]] = R[self.parents[k]] + phi @ R[k] @ phi.T
        return Mass

    def _links(self, q: np.ndarray) -> list[tuple]:
        """(phi(p,k), H*(k), [Gamma_a(k)]) of each body."""
        links = []
        for joint, (R0, l0) in zip(self.model.joints, self.placements, strict=True):
            own = [Exact(x) for x in q[joint.q]]
            R, l = (decimals(np.array(x, object)) for x in joint.kind.transform(own))
            R, l = R0 @ R, R0 @ l + l0
            zero = np.zeros((3, 3), int)
            phi = np.block([[R, tilde(l) @ R], [zero, R]])
            H_star = decimals(np.array(joint.kind.motion_map(own), object))
            gammas = [decimals(np.array(x, object)) for x in joint.kind.map_derivatives(own)]
            links.append((phi, H_star, gammas))
        return links


def tilde(x: np.ndarray) -> np.ndarray:
    """x~ of a 3-vector."""
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def cross(V: np.ndarray) -> np.ndarray:
    """V~ of a spatial velocity: [[omega~, 0], [v~, omega~]]."""
    return np.block([[tilde(V[:3]), np.zeros((3, 3), int)], [tilde(V[3:]), tilde(V[:3])]])


def spatial_inertia(mass: Decimal, com: np.ndarray, rotational: np.ndarray) -> np.ndarray:
    """M at the body frame, from the inertia about the mass centre."""
    lever = mass * tilde(com)
    return np.block(
        [[rotational - lever @ tilde(com), lever], [-lever, mass * np.eye(3, dtype=int)]]
    )


@precise
def eliminate(A: np.ndarray) -> np.ndarray:
    """The upper triangle of A after elimination; without pivots, A being a mass matrix."""
    U = A.copy()
    for k in range(len(U)):
        for i, ratio in enumerate(U[k, k + 1 :] / U[k, k], k + 1):
            U[i, i:] -= ratio * U[k, i:]
    return U


@precise
def solve(U: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A^-1 b, given U = eliminate(A)."""
    x = b.copy()
    for k in range(len(x)):
        x[k + 1 :] -= U[k, k + 1 :] / U[k, k] * x[k]
    for k in reversed(range(len(x))):
        x[k] = (x[k] - U[k, k + 1 :] @ x[k + 1 :]) / U[k, k]
    return x


@precise
def relative_error(x: np.ndarray, reference: np.ndarray) -> float:
    """|x - reference| / |reference|, of floats or Decimals, without rounding on the way."""
    return relative_size(decimals(x) - reference, reference)


@precise
def relative_size(x: np.ndarray, reference: np.ndarray) -> float:
    """|x| / |reference|, of Decimals."""
    return float((x @ x).sqrt() / (reference @ reference).sqrt())
