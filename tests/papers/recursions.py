"""The recursions of [001], [002] and [003] as plain loops over the bodies.

The second witness beside the operators: `State` is a machine at a random state
with what the papers' loops read of each body in inertial axes, made of poses
and joint maps; the loops are those printed, a sum over children taking the
place of "k-1", so that they also run on trees. A body's number k counts
parents first, as everywhere in the package.
"""

import functools
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace

import equations
import machines
import numpy as np
from cases import ROTORS, SERIAL, TREES
from classical import inertia_at_origin, phi_of, tilde
from equations import STEP

import phipsi as pp
from phipsi.model.tree import WORLD

# Every machine of the market on which results of 001 and 003 are shown, but mimic joints.
WITHOUT_ROTORS = ("one_body", *SERIAL, "massless_intermediates", *TREES, "branching_tree")
EVERY = (*WITHOUT_ROTORS, *ROTORS)


class Loops:
    """The papers' loops over the bodies of `self.model`.

    What the loops below read of each body k are lists: phi(p,k), H, M, Jm.
    """

    @property
    def inward(self):
        """The papers' `for k = 1 ... N`: (k, its children)."""
        tree = self.model.tree
        return [(k, tree.children[k]) for k in tree.tip_to_base]

    @property
    def outward(self):
        """The papers' `for k = N ... 1`: (k, its parent)."""
        return list(enumerate(self.model.tree.parent))

    def speeds(self, k, x):
        """The part of a joint-space vector that belongs to joint k."""
        return x[self.model.joints[k].rows]


@dataclass(frozen=True, eq=False)
class State(Loops):
    """A machine at a state, with joint forces and accelerations, and a point on every tip.

    `f0` are the forces [N; F] of the points ON the environment, one row per
    point, in world axes.
    """

    model: pp.Model
    q: np.ndarray
    v: np.ndarray
    beta_dot: np.ndarray
    T: np.ndarray
    points: tuple[pp.Point, ...]
    f0: np.ndarray

    def but(self, **changes):
        """The same with other speeds, forces ...; what the pose gives is kept."""
        other = replace(self, **changes)
        assert other.q is self.q and other.points is self.points
        kept = ("poses", "phi", "M", "H", "Jm", "tips")
        other.__dict__.update({name: getattr(self, name) for name in kept})
        return other

    def at_rest(self):
        """The same without speeds, gravity, and tip forces."""
        model = replace(self.model, gravity=(0.0, 0.0, 0.0))
        return self.but(model=model, v=0.0 * self.v, f0=0.0 * self.f0)

    def value(self, side, axes="world"):
        """An expression as a matrix at this state."""
        f0 = self.f0
        if axes == "link":
            turns = [phi_of(np.zeros(3), self.poses[k][0]) for k, _ in self.tips]
            f0 = np.array([X.T @ f for X, f in zip(turns, f0, strict=True)])
        values = {"T": self.T, "beta_dot": self.beta_dot, "f0": f0.ravel()}
        return equations.value(self.model, side, self.q, self.v, axes, self.points, **values)

    def mismatch(self, left, right, axes="world", scale=0.0):
        """The relative difference of two sides, each an expression or an array or its blocks."""
        sides = [np.concatenate(x) if isinstance(x, list) else x for x in (left, right)]
        sides = [self.value(x, axes) for x in sides]
        return equations.relative_difference(*sides, scale=scale)

    # -- what the loops read of each body, in world axes -------------------------------

    @cached_property
    def poses(self):
        return poses(self.model, self.q)

    @cached_property
    def phi(self):
        """phi(p,k) of body k from the vector between the two origins [001 (3)]."""
        return [phi_of(self.arm(p, k)) for k, p in enumerate(self.model.tree.parent)]

    @cached_property
    def M(self):
        """M(k) = [[I, m p~], [-m p~, m]], I the inertia about the joint [001 (2)]."""
        pairs = zip(self.model.bodies, self.poses, strict=True)
        return [inertia_at_origin(body.inertia, R) for body, (R, _) in pairs]

    @cached_property
    def H(self):
        return [H.T for H in motion_maps(self.model, self.q)]

    @cached_property
    def H_dot(self):
        """The rate of H in world axes."""
        moved = pp.integrate(self.model, self.q, 1j * STEP * self.v)
        return [H.T.imag / STEP for H in motion_maps(self.model, moved)]

    @cached_property
    def Jm(self):
        joints = self.model.joints
        return [joint.reflected_inertia * np.eye(joint.kind.nv) for joint in joints]

    @cached_property
    def tips(self):
        """(k, phi(k,0)) of each point 0 on a body k."""
        result = []
        for point in self.points:
            k, place = self.model.locate(point)
            result.append((k, phi_of(self.poses[k][0] @ np.array(place.position))))
        return result

    def arm(self, i, k):
        """The vector from O(i) to O(k); from the world's origin if i is the world."""
        return self.poses[k][1] - (0.0 if i == WORLD else self.poses[i][1])


@functools.cache
def state_of(name, seed=0):
    """A machine of the market at a random state, a point on each of its tips.

    T is what other random accelerations take: of the size of the inertias, however
    these differ along the machine.
    """
    model, rng = machines.MARKET[name](), np.random.default_rng(seed)
    q, v = machines.random_state(model, rng)
    leaves = [body.name for k, body in enumerate(model.bodies) if not model.tree.children[k]]
    points = tuple(pp.point(leaf, rng.uniform(-0.5, 0.5, 3)) for leaf in leaves)
    f0, zero = rng.normal(size=(len(points), 6)), np.zeros(model.nv)
    s = State(model, q, v, beta_dot=rng.normal(size=model.nv), T=zero, points=points, f0=f0)
    return s.but(T=np.concatenate(newton_euler(s).T), beta_dot=rng.normal(size=model.nv))


def poses(model, q):
    """(R, O): axes and origin of every body in the world; q may be complex."""
    result = []
    for joint, body in zip(model.joints, model.bodies, strict=True):
        R, l = (np.array(x) for x in joint.kind.transform(list(q[joint.q])))
        base = np.array(joint.placement.rotation)
        R, l = base @ R, np.array(joint.placement.position) + base @ l
        if body.parent != WORLD:
            R_parent, O_parent = result[body.parent]
            R, l = R_parent @ R, O_parent + R_parent @ l
        result.append((R, l))
    return result


def motion_maps(model, q):
    """H*(k) of every joint in world axes; q may be complex."""
    maps = []
    for joint, (R, _) in zip(model.joints, poses(model, q), strict=True):
        maps.append(np.kron(np.eye(2), R) @ np.array(joint.kind.motion_map(list(q[joint.q]))))
    return maps


def newton_euler(s):
    """V, alpha, f of the bodies, T of the joints, V0 and alpha0 of the tips [001 (6)-(12)].

    a and b are the bias acceleration and force in inertial axes. Departure:
    the base accelerates against gravity, and a rotor adds Jm beta_dot to T.
    """
    n = len(s.model.bodies)
    V, alpha, a, b, f, T = ([None] * n for _ in range(6))
    g = np.array([0.0, 0.0, 0.0, *s.model.gravity])
    for k, p in s.outward:
        V_p, alpha_p = (np.zeros(6), -g) if p == WORLD else (V[p], alpha[p])  # (6)
        beta, beta_dot = s.speeds(k, s.v), s.speeds(k, s.beta_dot)
        V[k] = s.phi[k].T @ V_p + s.H[k].T @ beta  # (7)
        a[k] = s.H_dot[k].T @ beta  # the rates of both maps in (7)
        a[k][3:] += np.cross(V_p[:3], V[k][3:] - V_p[3:])
        alpha[k] = s.phi[k].T @ alpha_p + s.H[k].T @ beta_dot + a[k]  # (8)
        omega, J, mp = V[k][:3], s.M[k][:3, :3], s.M[k][:3, 3:]
        b[k] = np.concatenate([tilde(omega) @ J @ omega, -tilde(omega) @ mp @ omega])
    V0, alpha0, a0 = [], [], []
    for k, phi in s.tips:
        V0.append(phi.T @ V[k])  # (9)
        a0.append(np.concatenate([np.zeros(3), np.cross(V[k][:3], V0[-1][3:] - V[k][3:])]))
        alpha0.append(phi.T @ alpha[k] + a0[-1])  # (9)
    for k, children in s.inward:
        f[k] = s.M[k] @ alpha[k] + b[k]  # (11)
        f[k] = f[k] + sum(s.phi[c] @ f[c] for c in children)
        f[k] = f[k] + sum(phi @ f0 for (i, phi), f0 in zip(s.tips, s.f0, strict=True) if i == k)
        T[k] = s.H[k] @ f[k] + s.Jm[k] @ s.speeds(k, s.beta_dot)  # (12)
    return SimpleNamespace(
        V=V, alpha=alpha, a=a, b=b, f=f, T=T, V0=V0, alpha0=alpha0, a0=a0
    )  # fmt: skip


def with_gravity(s, a):
    """a + E gravity: the roots' bias acceleration carries -[0; g]."""
    g = np.array([0.0, 0.0, 0.0, *s.model.gravity])
    return [x - g if p == WORLD else x for x, p in zip(a, s.model.tree.parent, strict=True)]


@functools.cache
def equations_of_motion(s):
    """Mass, C, J of `T = Mass beta_dot + C + J* f0`, column by column from the loops."""
    rest, zero = s.at_rest(), np.zeros(s.model.nv)
    units = np.eye(s.model.nv)
    Mass = [np.concatenate(newton_euler(rest.but(beta_dot=e)).T) for e in units]
    C = np.concatenate(newton_euler(s.but(beta_dot=zero, f0=0.0 * s.f0)).T)
    J = [np.concatenate(newton_euler(rest.but(v=e)).V0) for e in units]
    return np.array(Mass).T, C, np.array(J).T


def forward_dynamics(s):
    """beta_dot of `Mass beta_dot = T - C - J* f0`, solved as a dense system."""
    Mass, C, J = equations_of_motion(s)
    return np.linalg.solve(Mass, s.T - C - J.T @ s.f0.ravel())


def riccati(s, printed=False):
    """P, D, G and psi(p,k) of every body by the loop of [001 (34)-(39)].

    printed: P gains psi P psi* of a child, as [001 (35)] and [003 (8)] say.
    Departure else: phi (tau_bar P) phi*, which is the same but for rotor
    inertia, with which D = H P H* + Jm.
    """
    n = len(s.model.bodies)
    P, D, G, psi = ([None] * n for _ in range(4))
    for k, children in s.inward:
        P[k] = s.M[k]
        for c in children:
            P[k] = P[k] + psi[c] @ P[c] @ (psi[c] if printed else s.phi[c]).T  # (35)
        D[k] = s.H[k] @ P[k] @ s.H[k].T + s.Jm[k]  # (36)
        G[k] = P[k] @ s.H[k].T @ np.linalg.inv(D[k])  # (36)
        psi[k] = s.phi[k] @ (np.eye(6) - G[k] @ s.H[k])  # (39)
    return SimpleNamespace(P=P, D=D, G=G, psi=psi)


def products(s, steps):
    """The operator whose block (i, k) is the product of the steps from k inward to i."""

    def block(i, k):
        if not s.model.tree.is_inboard(i, k):
            return None
        result = np.eye(6)
        for c in s.model.tree.path(k):
            if c == i:
                return result
            result = steps[c] @ result

    return equations.assemble(s.model, block)


def whiten(s, loop, y):
    """nu = D^-1 eps and eps = (I - H psi K) y by [001 (49)-(51)], [003 after (12)].

    z = psi z + phi G y, eps = y - H z, inward.
    """
    z, eps, nu = {}, [], []
    for k, children in s.inward:
        z[k] = np.zeros(6)
        for c in children:
            z[k] = z[k] + loop.psi[c] @ z[c] + s.phi[c] @ loop.G[c] @ s.speeds(c, y)
        eps.append(s.speeds(k, y) - s.H[k] @ z[k])
        nu.append(np.linalg.solve(loop.D[k], eps[-1]))
    return nu[::-1], eps[::-1]


def smooth(s, loop, nu, bias=None):
    """theta_ddot and lambda by [001 (72), (73)]; without a bias a by (52)-(54), [003 after (15)].

    lambda = psi* lambda + H* nu + (I - G H)* a, theta_ddot = nu - G* (phi* lambda + a), outward.
    """
    bias = np.zeros((len(s.model.bodies), 6)) if bias is None else bias
    theta_ddot, lambda_ = [], {WORLD: np.zeros(6)}
    for k, p in s.outward:
        pass_joint = np.eye(6) - loop.G[k] @ s.H[k]
        lambda_[k] = loop.psi[k].T @ lambda_[p] + s.H[k].T @ nu[k] + pass_joint.T @ bias[k]
        inner = s.phi[k].T @ lambda_[p] + bias[k]
        theta_ddot.append(nu[k] - loop.G[k].T @ inner)
    return theta_ddot, [lambda_[k] for k in s.model.tree.base_to_tip]


def potential_energy(model, q):
    """-sum m g . c over the bodies, c the mass centre; q may be complex."""
    g, energy = np.array(model.gravity), 0.0
    for body, (R, O) in zip(model.bodies, poses(model, q), strict=True):
        energy = energy - body.inertia.mass * g @ (O + R @ np.array(body.inertia.com))
    return energy


def potential_gradient(s):
    """d(potential energy)/dq along each speed, by a complex step."""
    moved = [pp.integrate(s.model, s.q, 1j * STEP * unit) for unit in np.eye(s.model.nv)]
    return np.array([potential_energy(s.model, q).imag / STEP for q in moved])
