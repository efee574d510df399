"""[002] Rodriguez, Jain, Kreutz: Spatial Operator Algebra Framework for Multibody System Dynamics.

Each test types one printed result and holds it against an independent
construction: blocks multiplied along paths, recursions written out, dense
linear solves, or mechanics in 3-vectors (`classical.py`). The paper numbers
links from tip to base; here parents come first, and `k - 1` of the paper is a
child of k, `k + 1` its parent. The paper has no gravity and no rotors: where a
test adds them, its docstring says so.

Here is what they are held against: branches, welded machines, dense closed
loops. `Grasp` is an arm that holds an object, `Loop` a tree with two limbs
pinned together, `Recursion` what the loops of appendix A read of each body.
"""

import itertools

import numpy as np
import pytest
from cases import on, psi_by_products, state
from classical import joint_forces, joint_wrenches, motions, phi_of
from equations import (
    TOLERANCE,
    assemble,
    block,
    diagonal,
    directions,
    mismatch,
    random_state,
    tangent,
    time_derivative,
    value,
)
from machines import random_inertia, random_placement
from recursions import Loops

import phipsi as pp
from phipsi import joints
from phipsi.model.tree import WORLD
from phipsi.operators import C, D, E_phi, H, J, Jm, M, Mass, R, T, a, b, beta, beta_dot, phi, vector


def in_axes(axes, moving, vectors):
    """Body vectors given in link axes, stacked in the axes asked for."""
    turned = [m.turn @ x if axes == "world" else x for m, x in zip(moving, vectors, strict=True)]
    return np.concatenate(turned)


def classical_motion(model, q, v, acceleration, axes):
    """V, alpha (A in link axes) and the joint wrenches f without gravity, by 3-vectors."""
    moving = motions(model, q, v, acceleration)
    velocity = [m.V if axes == "world" else m.turn.T @ m.V for m in moving]
    rate = [m.alpha if axes == "world" else m.A for m in moving]
    wrench = in_axes(axes, moving, joint_wrenches(model, moving, gravity=False))
    return np.concatenate(velocity), np.concatenate(rate), wrench


def block_phi(model, moving, k, axes):
    """phi(p(k), k) from positions and attitudes."""
    own, inboard = moving[k], moving[model.tree.parent[k]]
    if axes == "world":
        return phi_of(own.p - inboard.p)
    return phi_of(inboard.R.T @ (own.p - inboard.p), inboard.R.T @ own.R)


def branches(model):
    """The tree cut into serial branches: lists of bodies, each from its base to its tip.

    A branch starts at a root, or at a child of a body with several children.
    """
    tree, result = model.tree, []
    for k, p in enumerate(tree.parent):
        if p == WORLD or len(tree.children[p]) > 1:
            result.append([k])
        else:
            next(chain for chain in result if chain[-1] == p).append(k)
    return result


def predecessor(model, chains, k):
    """The index of the branch that branch k hangs on; None for a root branch."""
    p = model.tree.parent[chains[k][0]]
    return None if p == WORLD else next(j for j, chain in enumerate(chains) if p in chain)


def articulated_by_elimination(model, q, axes):
    """P(k) from its meaning: the inertia felt at k when every outboard joint is free.

    Schur complement of the dense mass matrix of the outboard joints:
    P(k) = R(k) - X Y^-1 X*, with no recursion and no letter P, D, G.
    """
    coupling = pp.as_matrix(model, phi @ M @ phi.T @ H.T, q, axes=axes)
    mass, composite = pp.as_matrix(model, Mass, q), pp.as_matrix(model, R, q, axes=axes)

    def at(k):
        ends = model.joints[k], model.joints[model.tree.end[k] - 1]
        outboard = slice(ends[0].rows.stop, ends[1].rows.stop)  # depth-first: one range
        X_ = coupling[6 * k : 6 * k + 6, outboard]
        felt = X_ @ np.linalg.solve(mass[outboard, outboard], X_.T)
        return block(model, composite, k, k) - felt

    return diagonal(model, at)


def omega_by_common_ancestors(model, q, axes):
    """Blocks psi*(c,i) Y(c) psi(c,j) with psi multiplied along paths and Y by its recursion."""
    chain = psi_by_products(model, q, axes)
    own = pp.as_matrix(model, H.T @ D.inv @ H, q, axes=axes)
    Y_ = []
    for k, p in enumerate(model.tree.parent):
        Y_.append(block(model, own, k, k))
        if p != WORLD:
            Y_[k] = Y_[k] + chain[p, k].T @ Y_[p] @ chain[p, k]

    def at(i, j):
        c = model.tree.nearest_common_ancestor(i, j)
        return None if c == WORLD else chain[c, i].T @ Y_[c] @ chain[c, j]

    return assemble(model, at)


# -- what holds on serial chains and on trees alike ------------------------------------


def stacked_equations_hold(machine, axes):
    """V = E_phi* V + H* beta, alpha = E_phi* alpha + H* beta_dot + a, f = E_phi f + M alpha + b.

    V, alpha and f are those of 3-vector mechanics.
    """
    model, q, v, acceleration = state(machine)
    x = vector("x", "body")
    V_, alpha_, f_ = classical_motion(model, q, v, acceleration, axes)
    at = {"q": q, "v": v, "axes": axes}
    assert mismatch(model, E_phi.T @ x + H.T @ beta, V_, x=V_, **at) < TOLERANCE
    alpha_next = E_phi.T @ x + H.T @ beta_dot + a
    assert mismatch(model, alpha_next, alpha_, x=alpha_, beta_dot=acceleration, **at) < TOLERANCE
    y = vector("y", "body")
    assert mismatch(model, E_phi @ x + M @ y + b, f_, x=f_, y=alpha_, **at) < TOLERANCE


def nilpotent_series_holds(model, E_, series, product_of, q, axes):
    """E^n = 0 (already E^depth = 0), (I - E)^-1 = I + E + E^2 + ..., block by block."""
    E_x = pp.as_matrix(model, E_, q, axes=axes)
    depth = max(model.tree.depth)
    power, total = np.eye(len(E_x)), np.zeros_like(E_x)
    for _ in range(depth):
        assert np.any(power)
        total, power = total + power, power @ E_x
    assert not np.any(power)  # exactly zero: every factor has an exact zero block
    assert mismatch(model, series, total, q, axes=axes) < TOLERANCE
    by_blocks = assemble(model, lambda i, k: product_of.get((i, k)))
    assert mismatch(model, series, by_blocks, q, axes=axes) < TOLERANCE


def operator_equations_of_motion_hold(machine, axes):
    """V, alpha, f, T by operators against 3-vector mechanics, and T = Mass beta_dot + C."""
    model, q, v, acceleration = state(machine)
    V_, alpha_, f_ = classical_motion(model, q, v, acceleration, axes)
    at = {"q": q, "v": v, "axes": axes, "beta_dot": acceleration}
    assert mismatch(model, phi.T @ H.T @ beta, V_, **at) < TOLERANCE
    assert mismatch(model, phi.T @ (H.T @ beta_dot + a), alpha_, **at) < TOLERANCE
    forces = phi @ M @ phi.T @ H.T @ beta_dot + phi @ (M @ phi.T @ a + b)
    assert mismatch(model, forces, f_, **at) < TOLERANCE
    T_ = joint_forces(model, q, v, acceleration, gravity=False)
    mass_matrix = H @ phi @ M @ phi.T @ H.T
    bias = H @ phi @ (M @ phi.T @ a + b)
    assert mismatch(model, mass_matrix @ beta_dot + bias, T_, **at) < TOLERANCE
    columns = [
        joint_forces(model, q, 0 * v, tangent(model, *ia), False) for ia in directions(model)
    ]
    assert mismatch(model, mass_matrix, np.array(columns).T, q, axes=axes) < TOLERANCE
    assert mismatch(model, bias, joint_forces(model, q, v, 0 * v, False), **at) < TOLERANCE


# -- closed topologies -----------------------------------------------------------------


class Grasp:
    """An arm (primary) that holds an object (secondary, a free body) rigidly by its tip.

    `open` has both as one forest; `welded` is the same machine with the object
    fixed to the arm's last body: the witness. The arm is a serial chain of
    seven revolute joints, or of multi-dof joints.
    """

    def __init__(self, kinds=None, seed=3):
        rng = np.random.default_rng(seed)
        kinds = kinds or [joints.Revolute(rng.normal(size=3)) for _ in range(7)]
        place = {k: random_placement(rng) for k in range(len(kinds) + 1)}
        mass = {k: random_inertia(rng) for k in range(len(kinds) + 1)}
        self.arm = self._arm(kinds, place, mass)
        self.object = self._arm([], {}, {0: mass[len(kinds)]}, joints.Free())
        self.open = self._arm(kinds, place, mass, joints.Free())
        self.welded = self._arm(kinds, place, mass, joints.Fixed())
        grip = rng.normal(size=3)  # of the object's frame
        tip = place[len(kinds)]
        self.points = [
            pp.point(f"link{len(kinds) - 1}", tip["position"] + tip["rotation"] @ grip),
            pp.point("object", grip),
        ]
        self.q, self.v = random_state(self.welded, seed)
        held = motions(self.welded, self.q, self.v)[-1].at(tip["position"])
        R_object = held.R @ tip["rotation"]
        self.q_open = np.concatenate([self.q, quaternion(R_object), held.p])
        self.v_open = np.concatenate([self.v, R_object.T @ held.omega, R_object.T @ held.v])

    @staticmethod
    def _arm(kinds, place, mass, hold=None):
        builder = pp.ModelBuilder("arm", gravity=(0.0, 0.0, 0.0))
        parent, n = "world", len(kinds)
        for k, kind in enumerate(kinds):
            builder.add_body(f"link{k}", parent, kind, **place[k], **mass[k])
            parent = f"link{k}"
        if isinstance(hold, joints.Fixed):
            builder.add_body("object", parent, hold, **place[n], **mass[n])
        elif hold is not None:
            builder.add_body("object", "world", hold, **mass[n])
        return builder.build()

    def dense(self, A):
        """Mass, A J and U = -A J_dot beta of the open machine, in world axes."""
        at = (self.q_open, self.v_open)
        J_ = value(self.open, J, self.q_open, axes="world", points=self.points)
        J_dot_beta = time_derivative(self.open, J @ beta, *at, axes="world", points=self.points)
        return pp.as_matrix(self.open, Mass, self.q_open), A @ J_, -A @ J_dot_beta


def quaternion(turn):
    """x, y, z, w of a rotation matrix: the top eigenvector of Bar-Itzhack's matrix."""
    axis = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    trace = np.trace(turn)
    upper = np.column_stack([turn + turn.T - trace * np.eye(3), axis])
    return np.linalg.eigh(np.vstack([upper, [*axis, trace]]))[1][:, -1]


def constrained(mass, AJ, T_hat, U):
    """beta_dot and f~ of [[Mass, (AJ)*], [AJ, 0]] [beta_dot; f~] = [T_hat; U], by a dense solve."""
    n, m = len(mass), len(AJ)
    kkt = np.block([[mass, AJ.T], [AJ, np.zeros((m, m))]])
    solved = np.linalg.solve(kkt, np.concatenate([T_hat, U]))
    return solved[:n], solved[n:]


RIGID = np.hstack([np.eye(6), -np.eye(6)])  # A = [Q_P, Q_S], Q_S = -I
PRINTED_RIGID = np.hstack([np.eye(6), np.eye(6)])  # Q_P = I, Q_S = I
MULTIDOF_ARM = [joints.Spherical(), joints.Universal(), joints.Cylindrical((1.0, 2.0, 3.0))]
GRASPS = pytest.mark.parametrize("kinds", [None, MULTIDOF_ARM], ids=["revolute", "multidof"])


class Loop:
    """A tree with two leaves pinned together by a ball: A picks the points' relative velocity.

    The leaves are those whose relative motion is the freest, so that A J has
    full rank. U is drawn at random: the algebra of the steps does not ask
    where it came from.
    """

    def __init__(self, machine, seed=6):
        self.model, self.q, self.v, _ = state(machine)
        rng = np.random.default_rng(seed)
        leaves = [k for k, children in enumerate(self.model.tree.children) if not children]
        ends = [pp.point(self.model.bodies[k].name, rng.normal(size=3)) for k in leaves]
        pin = np.hstack([np.zeros((3, 3)), np.eye(3)])
        self.A = np.hstack([pin, -pin])
        self.points = max(itertools.combinations(ends, 2), key=self._freedom)
        self.U = rng.normal(size=3)
        T_ = 10.0 * rng.normal(size=self.model.nv)
        self.T_hat = value(self.model, T - C, self.q, self.v, T=T_)
        mass = pp.as_matrix(self.model, Mass, self.q)
        self.beta_dot, self.f = constrained(mass, self.A @ self.dense(J), self.T_hat, self.U)
        self.free = np.linalg.solve(mass, self.T_hat)

    def _freedom(self, pair):
        AJ = self.A @ value(self.model, J, self.q, axes="world", points=pair)
        return np.linalg.svd(AJ, compute_uv=False)[-1]

    def dense(self, expression, **values):
        """An expression at the closure points, in world axes."""
        return value(self.model, expression, self.q, self.v, "world", self.points, **values)


LOOPS = on("tree_one_dof", "forest", "free_base_tree", "spacecraft", "reflected_rotors")


# -- recursions ------------------------------------------------------------------------


class Recursion(Loops):
    """The blocks from which the recursions of appendix A start, in link axes; phi(p,k) 0 at a root.

    `riccati` and `smooth` of `recursions.py` are the loops of (A.1), (A.2) and (A.6).
    """

    def __init__(self, model, q):
        self.model = model
        parent, n = model.tree.parent, range(len(model.bodies))
        step, H_, M_, Jm_ = (pp.as_matrix(model, x, q) for x in (E_phi, H, M, Jm))
        self.phi = [
            np.zeros((6, 6)) if p == WORLD else block(model, step, p, k)
            for k, p in enumerate(parent)
        ]
        self.H = [block(model, H_, k, k, "joint", "body") for k in n]
        self.M = [block(model, M_, k, k) for k in n]
        self.Jm = [block(model, Jm_, k, k, "joint", "joint") for k in n]
