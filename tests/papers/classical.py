"""Mechanics without spatial operators: the witness that the papers' equations are held against.

Positions and attitudes of the bodies come from the joints' transforms alone.
Their first and second time derivatives follow by moving along a path with a
number that carries both, and momenta by Newton and Euler in 3-vectors. No
joint map, bias or recursion of the papers enters.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from equations import STEP

from phipsi.model.tree import WORLD
from phipsi.scalars import Dual


def tilde(x):
    """The matrix x~ of the cross product."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def phi_of(l, R=None):
    """phi = [[R, l~ R], [0, R]] [001 (3)]; R is the identity between frames of equal axes."""
    R = np.eye(3) if R is None else R
    return np.block([[R, tilde(l) @ R], [np.zeros((3, 3)), R]])


def inertia_at_origin(inertia, R):
    """M = [[J, m p~], [-m p~, m]] of a body at its origin, in axes to which R turns its own.

    J = J_c - m p~ p~, the inertia about the origin by Steiner's rule [001 (2)].
    """
    m, p = inertia.mass, tilde(R @ np.array(inertia.com))
    J = R @ np.array(inertia.rotational) @ R.T - m * p @ p
    return np.block([[J, m * p], [-m * p, m * np.eye(3)]])


@dataclass(frozen=True)
class Motion:
    """A body in motion, in world axes: attitude R, origin p, and their rates."""

    R: np.ndarray
    p: np.ndarray
    R_dot: np.ndarray
    v: np.ndarray
    R_ddot: np.ndarray
    v_dot: np.ndarray

    @cached_property
    def omega(self):
        """The angular velocity, from omega~ = R_dot R*."""
        return _vee(self.R_dot @ self.R.T)

    @cached_property
    def omega_dot(self):
        """The angular acceleration: omega_dot~ = R_ddot R* + R_dot R_dot*."""
        return _vee(self.R_ddot @ self.R.T + self.R_dot @ self.R_dot.T)

    @cached_property
    def turn(self):
        """X = diag(R, R): link axes to world axes."""
        return phi_of(np.zeros(3), self.R)

    @cached_property
    def V(self):
        """[omega; v] in world axes."""
        return np.concatenate([self.omega, self.v])

    @cached_property
    def alpha(self):
        """[omega_dot; v_dot] in world axes, the papers' alpha."""
        return np.concatenate([self.omega_dot, self.v_dot])

    @cached_property
    def A(self):
        """The componentwise derivative of V in link axes: R* (alpha - omega x V)."""
        spin = np.kron(np.eye(2), tilde(self.omega))
        return self.turn.T @ (self.alpha - spin @ self.V)

    def at(self, position):
        """The same body seen from a point fixed on it, given in link axes."""
        return Motion(
            self.R,
            self.p + self.R @ position,
            self.R_dot,
            self.v + self.R_dot @ position,
            self.R_ddot,
            self.v_dot + self.R_ddot @ position,
        )


def motions(model, q, v, acceleration=None):
    """The motion of every body at the state (q, v) with the given rate of v."""
    acceleration = np.zeros(model.nv) if acceleration is None else acceleration
    t = Dual(1j * STEP, (1.0,))  # d/dt in the dual part, d2/dt2 in its imaginary part
    poses = []
    for joint, body in zip(model.joints, model.bodies, strict=True):
        rates = zip(v[joint.v], acceleration[joint.v], strict=True)
        path = [x * t + 0.5 * y * t * t for x, y in rates]
        coordinates = joint.kind if joint.mimic is None else model.joints[joint.mimic.source].kind
        moved = coordinates.integrate([complex(x) for x in q[joint.q]], path)
        if joint.mimic is not None:
            moved = [joint.mimic.ratio * x + joint.mimic.offset for x in moved]
        R, l = joint.kind.transform(moved)
        R, l = np.array(R, object), np.array(l, object)
        R, l = (
            np.array(joint.placement.rotation) @ R,
            np.array(joint.placement.position) + np.array(joint.placement.rotation) @ l,
        )
        if body.parent != WORLD:
            R_parent, p_parent = poses[body.parent]
            R, l = R_parent @ R, p_parent + R_parent @ l
        poses.append((R, l))
    return [_motion(R, p) for R, p in poses]


def point_motion(model, moving, point):
    """The motion of a pp.point, and of the body it is on."""
    k, placement = model.locate(point)
    return moving[k].at(np.array(placement.position))


def momentum_rate(model, moving, k, gravity=True):
    """The force and moment about its mass centre c that body k needs to move so: (c, N, F)."""
    inertia, body = model.bodies[k].inertia, moving[k]
    centre = body.at(np.array(inertia.com))
    J = body.R @ np.array(inertia.rotational) @ body.R.T
    N = J @ body.omega_dot + np.cross(body.omega, J @ body.omega)
    g = np.array(model.gravity) if gravity else np.zeros(3)
    return centre.p, N, inertia.mass * (centre.v_dot - g)


def joint_wrenches(model, moving, gravity=True, tip_forces=()):
    """[N; F] that passes through each joint, at its origin, in the link axes of its body.

    `tip_forces` is a list of (point, [N; F]) that points exert ON the
    environment, in world axes.
    """
    loads = [(k, *momentum_rate(model, moving, k, gravity)) for k in range(len(model.bodies))]
    for point, force in tip_forces:
        at = point_motion(model, moving, point).p
        loads.append((model.locate(point)[0], at, force[:3], force[3:]))
    result = []
    for i, body in enumerate(moving):
        wrench = np.zeros(6)
        for k, c, N, F in loads:
            if model.tree.is_inboard(i, k):
                wrench += np.concatenate([N + np.cross(c - body.p, F), F])
        result.append(body.turn.T @ wrench)
    return result


def joint_forces(model, q, v, acceleration, gravity=True, tip_forces=()):
    """T(k): what each joint's speeds feel of the wrench through it; no rotor inertia."""
    wrenches = joint_wrenches(model, motions(model, q, v, acceleration), gravity, tip_forces)
    return np.concatenate(
        [
            np.array(joint.kind.motion_map(list(q[joint.q]))).T @ wrench
            for joint, wrench in zip(model.joints, wrenches, strict=True)
        ]
    )


def _vee(W):
    return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2.0


def _motion(R, p):
    """The rates of a pose whose entries are duals with complex parts."""
    value, rate = _parts(R)
    place, speed = _parts(p)
    return Motion(
        value.real, place.real, rate.real, speed.real, rate.imag / STEP, speed.imag / STEP
    )


def _parts(x):
    """Value and derivative of an array of duals."""
    lifted = [Dual.lift(entry, 1) for entry in x.flat]
    value = np.array([entry.value for entry in lifted], complex).reshape(x.shape)
    return value, np.array([entry.derivatives[0] for entry in lifted], complex).reshape(x.shape)
