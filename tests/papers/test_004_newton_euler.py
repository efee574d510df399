"""[004-I] section 2: kinematics and dynamics in 3-vectors.

The paper's letters, and where its results hold, are in `paper_004.py`.
"""

import numpy as np
from cases import ALL, SERIAL, TREES, on, points_on, state
from classical import joint_forces, joint_wrenches, motions, phi_of, point_motion, tilde
from equations import MARGIN, TOLERANCE, a_g, mismatch, relative_difference, value
from paper_004 import Tipped, joints_of, own, true_bias_accelerations

from phipsi import joints
from phipsi.model.tree import WORLD
from phipsi.operators import B, E_phi, H, M, a, b, beta_dot, f0, phi, vector

# -- section 2: kinematics and dynamics in 3-vectors -----------------------------------


@on("serial_revolute", "puma560")
def test_2_1_to_2_13_recursive_newton_euler_equations(machine):
    """(2.1)-(2.13): omega, omega_dot, v, v_dot base to tip, F, N tip to base, T = h* N.

    The loops as printed, in 3-vectors and world axes, with the base
    accelerated against gravity and a tip force, give (3.18):
    T = H phi [M alpha + b + B f(0)]. Serial chains of revolute joints.
    """
    model, q, v, acceleration = state(machine)
    moving, n = motions(model, q, v), len(model.bodies)
    point = points_on(model)[0]
    tip = point_motion(model, moving, point)
    f_tip = np.random.default_rng(8).normal(size=6)
    h = [m.R @ joint.kind.axis for m, joint in zip(moving, model.joints, strict=True)]
    inertias = [body.inertia for body in model.bodies]
    p = [m.R @ x.com for m, x in zip(moving, inertias, strict=True)]
    J_c = [m.R @ x.rotational @ m.R.T for m, x in zip(moving, inertias, strict=True)]

    omega, omega_dot, v_dot, v_dot_c = [], [], [], []
    for k in range(n):
        root = k == 0
        w, w_dot = (np.zeros(3),) * 2 if root else (omega[-1], omega_dot[-1])
        l = moving[k].p - (0.0 if root else moving[k - 1].p)
        above = -np.array(model.gravity) if root else v_dot[-1]
        omega.append(w + h[k] * v[k])
        omega_dot.append(w_dot + h[k] * acceleration[k] + np.cross(w, h[k] * v[k]))
        v_dot.append(above + np.cross(w_dot, l) + np.cross(w, np.cross(w, l)))
        swing = np.cross(omega[k], np.cross(omega[k], p[k]))
        v_dot_c.append(v_dot[k] + np.cross(omega_dot[k], p[k]) + swing)

    N, F, T_ = f_tip[:3], f_tip[3:], np.zeros(n)
    for k in reversed(range(n)):
        l = (tip.p if k == n - 1 else moving[k + 1].p) - moving[k].p
        N_c = J_c[k] @ omega_dot[k] + np.cross(omega[k], J_c[k] @ omega[k])
        F_c = inertias[k].mass * v_dot_c[k]
        N = N + np.cross(l, F) + np.cross(p[k], F_c) + N_c
        F = F + F_c
        T_[k] = h[k] @ N
    expected = joint_forces(model, q, v, acceleration, tip_forces=[(point, f_tip)])
    assert relative_difference(T_, expected) < TOLERANCE
    right = H @ phi @ (M @ phi.T @ (H.T @ beta_dot + a_g) + b + B @ f0)
    values = {"points": [point], "beta_dot": acceleration, "f0": f_tip}
    assert mismatch(model, right, T_, q, v, "world", **values) < TOLERANCE


REVOLUTE = on("serial_revolute", "serial_revolute_prismatic", "tree_one_dof", "free_base_tree")
SLIDING = on("serial_revolute_prismatic", "tree_one_dof", "free_base_tree")


@REVOLUTE
def test_2_19_bias_acceleration_of_revolute_joints(machine):
    """(2.19): a = [omega(k+1) x h theta_dot; omega(k+1) x (omega(k+1) x l(k+1,k))], and its first
    part is omega(k+1) x omega(k). World axes; revolute joints of any tree.

    Against the acceleration of the bodies by two derivatives of their positions.
    """
    model, q, v, acceleration = state(machine)
    moving, true = true_bias_accelerations(model, q, v, acceleration)
    letter = value(model, a, q, v, "world").reshape(-1, 6)
    chosen = joints_of(model, joints.Revolute)
    printed, second = [], []
    for k in chosen:
        p = model.tree.parent[k]
        w, l = moving[p].omega, moving[k].p - moving[p].p
        spin = moving[k].R @ model.joints[k].kind.axis * v[model.joints[k].v]
        swing = np.cross(w, np.cross(w, l))
        printed.append(np.concatenate([np.cross(w, spin), swing]))
        second.append(np.concatenate([np.cross(w, moving[k].omega), swing]))
    assert chosen
    assert relative_difference(printed, [true[k] for k in chosen]) < TOLERANCE
    assert relative_difference(second, [true[k] for k in chosen]) < TOLERANCE
    assert relative_difference([letter[k] for k in chosen], printed) < TOLERANCE


@SLIDING
def test_2_32_bias_acceleration_of_sliding_joints(machine):
    """(2.32): a = [0; omega(k+1) x (omega(k+1) x l(k+1,k) + 2 h theta_dot)].

    Printed without the 2: a sliding joint's Coriolis term is counted half.
    World axes; prismatic joints of any tree.
    """
    model, q, v, acceleration = state(machine)
    moving, true = true_bias_accelerations(model, q, v, acceleration)
    letter = value(model, a, q, v, "world").reshape(-1, 6)
    chosen = joints_of(model, joints.Prismatic)
    assert chosen

    def bias(times):
        result = []
        for k in chosen:
            p = model.tree.parent[k]
            w, l = moving[p].omega, moving[k].p - moving[p].p
            slide = moving[k].R @ model.joints[k].kind.axis * v[model.joints[k].v]
            swing = np.cross(w, np.cross(w, l) + times * slide)
            result.append(np.concatenate([np.zeros(3), swing]))
        return result

    assert relative_difference(bias(2.0), [true[k] for k in chosen]) < TOLERANCE
    assert relative_difference(bias(2.0), [letter[k] for k in chosen]) < TOLERANCE
    assert relative_difference(bias(1.0), [true[k] for k in chosen]) > MARGIN  # as printed


@on(*SERIAL, *TREES)
def test_2_23_bias_force(machine):
    """(2.23): b = [omega x I omega; m omega x (omega x p)], I about the joint. World axes.

    And (2.22): f(k) = phi f(k-1) + M alpha + b holds for the wrenches of
    3-vector mechanics. Any machine.
    """
    model, q, v, acceleration = state(machine)
    moving = motions(model, q, v, acceleration)
    expected = []
    for m, body in zip(moving, model.bodies, strict=True):
        p, mass = m.R @ body.inertia.com, body.inertia.mass
        I_k = m.R @ body.inertia.rotational @ m.R.T - mass * tilde(p) @ tilde(p)
        swing = mass * np.cross(m.omega, np.cross(m.omega, p))
        expected.append(np.concatenate([np.cross(m.omega, I_k @ m.omega), swing]))
    assert mismatch(model, b, np.concatenate(expected), q, v, "world") < TOLERANCE
    wrenches = joint_wrenches(model, moving, gravity=False)
    f_ = np.concatenate([m.turn @ x for m, x in zip(moving, wrenches, strict=True)])
    alpha_ = np.concatenate([m.alpha for m in moving])
    x, y = vector("x", "body"), vector("y", "body")
    assert mismatch(model, E_phi @ x + M @ y + b, f_, q, v, "world", x=f_, y=alpha_) < TOLERANCE


@on(*ALL)
def test_2_24_to_2_30_recursive_spatial_dynamics(machine):
    """(2.24)-(2.30): V, alpha outward, V(0) = phi*(1,0) V(1), alpha(0) = phi*(1,0) alpha(1) + a(0),
    f(0) = f_ext, f(k) = phi f(k-1) + M alpha + b inward, T = H f.

    World axes, no gravity; a(0) = [0; omega(1) x (omega(1) x l(1,0))]. Serial
    chains as printed, trees with a sum over children and several tips.
    """
    tipped = Tipped(machine, "world")
    model, tree = tipped.model, tipped.model.tree
    at = (tipped.q, tipped.v, "world")
    H_, M_ = (value(model, x, *at) for x in (H, M))
    a_, b_ = (value(model, x, *at).reshape(-1, 6) for x in (a, b))
    speeds = [(tipped.v[j.rows], tipped.acceleration[j.rows]) for j in model.joints]
    V_, alpha_ = [], []
    for k, p in enumerate(tree.parent):
        H_star = H_[model.joints[k].rows, own(k)].T
        V_.append(H_star @ speeds[k][0])
        alpha_.append(H_star @ speeds[k][1] + a_[k])
        if p != WORLD:
            lever = phi_of(tipped.moving[k].p - tipped.moving[p].p)
            V_[k], alpha_[k] = V_[k] + lever.T @ V_[p], alpha_[k] + lever.T @ alpha_[p]
    f_ = [M_[own(k), own(k)] @ alpha_[k] + b_[k] for k in range(len(tree))]
    for e, (point, tip) in enumerate(zip(tipped.points, tipped.tips, strict=True)):
        k, _ = model.locate(point)
        l = tip.p - tipped.moving[k].p
        omega = V_[k][:3]
        a_tip = np.concatenate([np.zeros(3), np.cross(omega, np.cross(omega, l))])
        assert relative_difference(phi_of(l).T @ V_[k], tip.V) < TOLERANCE
        assert relative_difference(phi_of(l).T @ alpha_[k] + a_tip, tip.alpha) < TOLERANCE
        f_[k] = f_[k] + phi_of(l) @ tipped.f0[own(e)]
    for k in tree.tip_to_base:
        p = tree.parent[k]
        if p != WORLD:
            f_[p] = f_[p] + phi_of(tipped.moving[k].p - tipped.moving[p].p) @ f_[k]
    T_ = np.concatenate([H_[joint.rows, own(k)] @ f_[k] for k, joint in enumerate(model.joints)])
    forces = [(point, tipped.f0[own(e)]) for e, point in enumerate(tipped.points)]
    state_ = (tipped.q, tipped.v, tipped.acceleration)
    expected = joint_forces(model, *state_, gravity=False, tip_forces=forces)
    assert relative_difference(T_, expected) < TOLERANCE
