"""[004-I] Rodriguez and Kreutz, JPL 88-11, Part I: recursive mass matrix factorization.

The paper's letters, typed once here: `Phi = phi S`, `Psi = psi S`, and
`L = diag[phi(k+1,k) G(k)]`, so that `S L = K`. The shift S carries the turn
between two frames in link axes and is the identity between neighbours in
world axes, where the paper works; both are tested. The paper has serial
chains of revolute and sliding joints, numbered tip to base: `k - 1` is a
child, `k + 1` the parent. Through S everything below also holds on trees,
forests and multi-dof joints, and with rotor inertia where D = H P H* + Jm;
the exceptions are named. Equations that the scan of the report lost are
marked so, and read as the proofs around them use them.

Here is what the tests are held against: known motions with tip forces, and
sweeps. `Tipped` is a machine with forces at points and the joint forces, by 3-vector
mechanics, that give it known accelerations. `Sweeps` has the paper's loops
over the bodies, a sum over children in the place of `k - 1`.
"""

import numpy as np
from cases import SERIAL, applied_forces, points_on, state
from classical import motions, phi_of, point_motion, tilde
from equations import assemble, block, value

import phipsi as pp
from phipsi.model.tree import WORLD
from phipsi.operators import Delta_phi, E_phi, G, H, Jm, M, S, phi, psi

Phi, Psi, L = phi @ S, psi @ S, Delta_phi @ G
SMALL = (*SERIAL, "tree_one_dof", "forest", "free_base_tree", "reflected_rotors")


def own(k):
    """The rows of body k."""
    return slice(6 * k, 6 * k + 6)


class Tipped:
    """A machine with forces at points, and the joint forces that give known accelerations.

    `f0` are the forces of the points ON the environment, in the axes asked for.
    """

    def __init__(self, machine, axes):
        self.model, self.q, self.v, self.acceleration = state(machine)
        self.axes, self.points = axes, points_on(self.model)
        self.moving = motions(self.model, self.q, self.v, self.acceleration)
        self.tips = [point_motion(self.model, self.moving, point) for point in self.points]
        forces = np.random.default_rng(8).normal(size=(len(self.points), 6))
        pairs = list(zip(self.points, forces, strict=True))
        self.T = applied_forces(self.model, self.q, self.v, self.acceleration, pairs)
        turned = [self.turned(m, x) for m, x in zip(self.tips, forces, strict=True)]
        self.f0 = np.concatenate(turned)

    def turned(self, motion, x):
        """A world vector at a body in the axes asked for."""
        return x if self.axes == "world" else motion.turn.T @ x

    def felt(self, motions_):
        """alpha (A in link axes) with gravity as the base's acceleration, stacked."""
        g = np.array([0.0, 0.0, 0.0, *self.model.gravity])
        rates = [(m.alpha if self.axes == "world" else m.A) - self.turned(m, g) for m in motions_]
        return np.concatenate(rates)

    def value(self, expression, **values):
        """An expression at this state, with these joint and tip forces."""
        at = (self.q, self.v, self.axes, self.points)
        return value(self.model, expression, *at, T=self.T, f0=self.f0, **values)

    def bias(self):
        """a(0) = [0; omega(1) x (omega(1) x l(1,0))] of every tip in world axes; 0 in link axes."""
        result = np.zeros((len(self.tips), 6))
        for e, (point, tip) in enumerate(zip(self.points, self.tips, strict=True)):
            l = tip.p - self.moving[self.model.locate(point)[0]].p
            if self.axes == "world":
                result[e, 3:] = np.cross(tip.omega, np.cross(tip.omega, l))
        return result.ravel()


def true_bias_accelerations(model, q, v, acceleration):
    """a(k) = alpha(k) - phi*(p,k) alpha(p) - H*(k) beta_dot(k) of the motion itself, world axes."""
    moving = motions(model, q, v, acceleration)
    H_ = pp.as_matrix(model, H, q, axes="world")
    result = []
    for k, p in enumerate(model.tree.parent):
        own_part = H_[model.joints[k].rows, own(k)].T @ acceleration[model.joints[k].rows]
        carried = np.zeros(6)
        if p != WORLD:
            carried = phi_of(moving[k].p - moving[p].p).T @ moving[p].alpha
        result.append(moving[k].alpha - carried - own_part)
    return moving, result


def joints_of(model, kind):
    """The joints of one kind that a moving body carries."""
    return [
        k
        for k, joint in enumerate(model.joints)
        if isinstance(joint.kind, kind) and model.tree.parent[k] != WORLD
    ]


# -- operators block by block ----------------------------------------------------------


def discrete_riccati(model, q, axes="link"):
    """(4.4)-(4.7) by a loop, tip to base: P, D, G, L(k) = phi(k+1,k) P H* D^-1 in the axes of k.

    Departures: L(1) with D^-1, not D; k runs to N (printed to N - 1, which
    leaves P(N) and D(N) out); children are summed; D carries Jm.
    """
    tree = model.tree
    H_, M_, Jm_, E_, Delta_ = (
        pp.as_matrix(model, x, q, axes=axes) for x in (H, M, Jm, E_phi, Delta_phi)
    )
    n = len(tree)
    P_, D_, G_, L_ = ([None] * n for _ in range(4))
    for k in tree.tip_to_base:
        P_[k] = block(model, M_, k, k)
        for c in tree.children[k]:
            step = block(model, E_, k, c)
            PH = P_[c] @ block(model, H_, c, c, "joint").T
            P_[k] = P_[k] + step @ (P_[c] - PH @ np.linalg.solve(D_[c], PH.T)) @ step.T
        H_k = block(model, H_, k, k, "joint")
        D_[k] = H_k @ P_[k] @ H_k.T + block(model, Jm_, k, k, "joint", "joint")
        G_[k] = P_[k] @ H_k.T @ np.linalg.inv(D_[k])
        L_[k] = block(model, Delta_, k, k) @ G_[k]
    return P_, D_, G_, L_


def shifted(model, q, products, axes):
    """Phi(i,k) = phi(i,k+1) of (4.9), Psi of (4.10): products up to the parent, then the shift."""
    shift = pp.as_matrix(model, S, q, axes=axes)
    parent = model.tree.parent

    def at(i, k):
        inner = products.get((i, parent[k]))
        return None if inner is None else inner @ block(model, shift, parent[k], k)

    return assemble(model, at)


def strictly_causal(model, products):
    """The blocks (i, k) with i strictly inboard of k."""
    return assemble(model, lambda i, k: products.get((i, k)) if i != k else None)


# -- sweeps ----------------------------------------------------------------------------


class Sweeps:
    """What the sweeps of sections 4 and 5 read of each body, in link axes."""

    def __init__(self, machine):
        self.tipped = Tipped(machine, "link")
        self.model, self.tree = self.tipped.model, self.tipped.model.tree
        q = self.tipped.q
        self.P, self.D, self.G, _ = discrete_riccati(self.model, q)
        dense = {x: pp.as_matrix(self.model, x, q) for x in (E_phi, H)}
        self.H = [block(self.model, dense[H], k, k, "joint") for k in range(len(self.tree))]
        self.phi = [
            None if p == WORLD else block(self.model, dense[E_phi], p, k)
            for k, p in enumerate(self.tree.parent)
        ]
        self.L = [None if x is None else x @ g for x, g in zip(self.phi, self.G, strict=True)]
        self.psi = [
            None if x is None else x - l @ h
            for x, l, h in zip(self.phi, self.L, self.H, strict=True)
        ]

    def innovate(self, T_, z):
        """nu = D^-1 (T - H z)."""
        return [
            np.linalg.solve(d, x - h @ s) for d, x, h, s in zip(self.D, T_, self.H, z, strict=True)
        ]

    def by_body(self, expression):
        """A body-space vector as one row per body."""
        return self.tipped.value(expression).reshape(-1, 6)

    def inward(self, at_body, from_child):
        """z(k) = at_body(k) + sum over children of from_child(c, z(c))."""
        z = [None] * len(self.tree)
        for k in self.tree.tip_to_base:
            z[k] = at_body(k) + sum(from_child(c, z[c]) for c in self.tree.children[k])
        return z

    def outward(self, at_body, from_parent):
        """x(k) = at_body(k) + from_parent(k, x(p))."""
        x = []
        for k, p in enumerate(self.tree.parent):
            x.append(at_body(k) + (0.0 if p == WORLD else from_parent(k, x[p])))
        return x

    def smooth(self, nu, bias=None):
        """(4.21), (4.22), (5.17): lambda and theta_ddot, base to tip.

        lambda(k) = psi* lambda(k+1) + H* nu + (I - G H)* a
        theta_ddot(k) = nu - L* lambda(k+1) - G* a
        """
        bias = np.zeros((len(self.tree), 6)) if bias is None else bias

        def at_body(k):
            return bias[k] + self.H[k].T @ (nu[k] - self.G[k].T @ bias[k])

        costate = self.outward(at_body, lambda k, x: self.psi[k].T @ x)
        theta_ddot = [
            nu[k] - self.G[k].T @ bias[k] - (0.0 if p == WORLD else self.L[k].T @ costate[p])
            for k, p in enumerate(self.tree.parent)
        ]
        return costate, np.concatenate(theta_ddot)


def quaternion_rates(q, axes):
    """A(q), 4 x 3: q_dot = A(q) omega, quaternion x y z w, omega in body or station axes."""
    turn = tilde(q[:3]) if axes == "body" else -tilde(q[:3])
    return 0.5 * np.vstack([q[3] * np.eye(3) + turn, -q[None, :3]])
