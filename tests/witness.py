"""What the letters of the algebra mean, by loops and complex steps: no operator takes part.

`poses`, `twists` and `body_jacobians` come from the joints' transforms alone;
`Witness` adds masses, and from them inertias felt, accelerations and momenta.
"""

import functools

import numpy as np
from symbols import STEP

import phipsi as pp
from phipsi.model.tree import WORLD


def poses(model, q):
    """World pose of each body by homogeneous matrices; mimic joints follow their leaders."""
    result = []
    for body, joint in zip(model.bodies, model.joints, strict=True):
        own = q[joint.q]
        if joint.mimic is not None:
            own = joint.mimic.ratio * own + joint.mimic.offset
        local = np.eye(4, dtype=q.dtype)
        rotation, position = joint.kind.transform(list(own))
        local[:3, :3], local[:3, 3] = np.array(rotation), np.array(position)
        pose = joint.placement.matrix @ local
        result.append(pose if body.parent == WORLD else result[body.parent] @ pose)
    return result


def twists(model, q, dq):
    """Rate of each pose along dq as [omega; v] in link axes, one row per body."""
    moved = poses(model, pp.integrate(model, q, 1j * STEP * dq))
    result = []
    for pose, rate in zip(poses(model, q), moved, strict=True):
        local = np.linalg.inv(pose) @ (rate.imag / STEP)
        result.append([local[2, 1], local[0, 2], local[1, 0], *local[:3, 3]])
    return np.array(result)


def body_jacobians(model, q):
    """V_k = jacobian_k v by complex steps of the poses: no operator takes part."""
    columns = [twists(model, q, unit) for unit in np.eye(model.nv)]
    return np.moveaxis(np.array(columns), 0, -1)


class Witness:
    """A machine at a state, from poses and masses alone, by loops and complex steps."""

    def __init__(self, model, q, v, rates):
        self.model, self.q, self.v, self.rates = model, q, v, rates
        self.n = len(model.bodies)
        self.poses = poses(model, q)
        self.jacobians = body_jacobians(model, q)  # V_k = jacobian_k v
        self.masses = [self.spatial_inertia(body) for body in model.bodies]
        self.Jm = np.diag(
            [j.gear_ratio**2 * j.rotor_inertia for j in model.joints for _ in range(j.kind.nv)]
        )
        self.Mass = self.Jm + sum(
            X.T @ M @ X for X, M in zip(self.jacobians, self.masses, strict=True)
        )

    @staticmethod
    def spatial_inertia(body):
        mass, c = body.inertia.mass, tilde(body.inertia.com)
        J = np.array(body.inertia.rotational) - mass * c @ c
        return np.block([[J, mass * c], [-mass * c, mass * np.eye(3)]])

    def carry(self, i, k):
        """phi(i, k) by the poses of both; i may be WORLD."""
        pose = self.poses[k] if i == WORLD else np.linalg.inv(self.poses[i]) @ self.poses[k]
        return force_transform(pose)

    def turn(self, i, k):
        """The axes of k as seen from i, twice on the diagonal."""
        rotation = self.carry(i, k)[:3, :3]
        return np.kron(np.eye(2), rotation)

    def outboard(self, k):
        return range(k, self.model.tree.end[k])

    def H_star(self, k):
        return self.jacobians[k][:, self.model.joints[k].v]

    def P(self, k):
        """The inertia felt at k when all joints outboard of it are free: a Schur complement.

        The mass matrix of the free body k with what it carries, in (V_k, speeds),
        is [[R, X], [X*, N]]; no force acts at the free joints, so P = R - X N^-1 X*.
        """
        free = slice(
            self.model.joints[k].rows.stop, self.model.joints[self.outboard(k)[-1]].rows.stop
        )
        R = X = 0.0
        for j in self.outboard(k):
            R = R + self.carry(k, j) @ self.masses[j] @ self.carry(k, j).T
            X = X + self.carry(k, j) @ self.masses[j] @ self.jacobians[j][:, free]
        return R - X @ np.linalg.solve(self.Mass[free, free], X.T)

    def D(self, k):
        """What joint k feels when those outboard are free and those inboard locked."""
        own = self.model.joints[k].rows
        free = slice(own.stop, self.model.joints[self.outboard(k)[-1]].rows.stop)
        X = self.Mass[own, free]
        return self.Mass[own, own] - X @ np.linalg.solve(self.Mass[free, free], X.T)

    def G(self, k):
        return self.P(k) @ self.H_star(k) @ np.linalg.inv(self.D(k))

    def psi(self, i, k):
        """Product along the path of phi(p, k) (I - G H)(k)."""
        result = np.eye(6)
        while k != i:
            p = self.model.tree.parent[k]
            step = self.carry(p, k) @ (np.eye(6) - self.G(k) @ self.H_star(k).T)
            result, k = step @ result, p
        return result

    def slope(self, function):
        """d/dt of function(q, v) along the motion.

        By central differences with Richardson extrapolation to sixth order:
        velocities are complex steps already, and these do not nest.
        """

        def along(h):
            q = pp.integrate(self.model, self.q, h * self.v)
            return function(q, self.v + h * self.rates)

        h = 2e-3
        coarse, fine, finest = ((along(x) - along(-x)) / (2 * x) for x in (h, h / 2, h / 4))
        return (16 * (4 * finest - fine) / 3 - (4 * fine - coarse) / 3) / 15

    def accelerations(self):
        """A: the componentwise rate of each V in link axes, one row per body."""
        return self.slope(functools.partial(twists, self.model))

    def momentum_rates(self):
        """The rate of each body's momentum in the world, brought back to its link frame."""

        def momenta(q, v):
            masses, V = self.masses, twists(self.model, q, v)
            return np.array(
                [
                    force_transform(T) @ M @ x
                    for T, M, x in zip(poses(self.model, q), masses, V, strict=True)
                ]
            )

        rates = self.slope(momenta)
        return [np.linalg.solve(self.carry(WORLD, k), rates[k]) for k in range(self.n)]

    def felt(self):
        """Accelerations with the base's -[0; g]: what alpha is, one row per body."""
        g = np.array(self.model.gravity)
        pseudo = [np.concatenate([np.zeros(3), -pose[:3, :3].T @ g]) for pose in self.poses]
        return self.accelerations() + pseudo

    def body_matrix(self, block):
        return self.matrix(block, [slice(6 * i, 6 * i + 6) for i in range(self.n)])

    def matrix(self, block, rows, columns=None):
        """The matrix with block(i, k) at i inboard of or equal to k, zero elsewhere."""
        columns = rows if columns is None else columns
        result = np.zeros((rows[-1].stop, columns[-1].stop))
        for i, row in enumerate(rows):
            for k, column in enumerate(columns):
                if self.model.tree.is_inboard(i, k):
                    result[row, column] = block(i, k)
        return result


def tilde(z):
    return np.array([[0, -z[2], z[1]], [z[2], 0, -z[0]], [-z[1], z[0], 0]])


def force_transform(pose):
    """phi of a pose: [[R, l~ R], [0, R]]."""
    R, l = pose[:3, :3], pose[:3, 3]
    return np.block([[R, tilde(l) @ R], [np.zeros((3, 3)), R]])


def force_cross(z):
    return np.block([[tilde(z[:3]), tilde(z[3:])], [np.zeros((3, 3)), tilde(z[:3])]])


def block_diagonal(*blocks):
    rows, columns = (sum(x.shape[i] for x in blocks) for i in (0, 1))
    result, i, j = np.zeros((rows, columns)), 0, 0
    for block in blocks:
        result[i : i + block.shape[0], j : j + block.shape[1]] = block
        i, j = i + block.shape[0], j + block.shape[1]
    return result
