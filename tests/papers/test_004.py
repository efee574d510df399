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
"""

import itertools

import numpy as np
import pytest
from cases import (
    AXES,
    ROTORS,
    SERIAL,
    TREES,
    on,
    points_on,
    psi_by_products,
    state,
)
from classical import (
    joint_forces,
    joint_wrenches,
    motions,
    phi_of,
    point_motion,
    tilde,
)
from equations import (
    MARGIN,
    STEP,
    TOLERANCE,
    block,
    diagonal,
    directions,
    mismatch,
    phi_by_products,
    random_blocks,
    relative_difference,
    tangent,
    time_derivative,
    value,
)
from paper_004 import (
    Sweeps,
    Tipped,
    joints_of,
    memoryless,
    own,
    quaternion_rates,
    riccati,
    shifted,
    strictly_causal,
    true_bias_accelerations,
)

import phipsi as pp
from phipsi import joints
from phipsi.model.tree import WORLD
from phipsi.operators import (
    B,
    C,
    D,
    Delta_phi,
    E,
    E_phi,
    G,
    H,
    I,
    J,
    Jm,
    K,
    M,
    Mass,
    P,
    R,
    S,
    T,
    V,
    a,
    b,
    beta,
    beta_dot,
    f0,
    gravity,
    operator,
    phi,
    phi_tilde,
    psi,
    psi_tilde,
    vector,
)

Phi, Psi, L = phi @ S, psi @ S, Delta_phi @ G
Delta_psi = Delta_phi @ (I - G @ H)
a_g = a + E @ gravity  # (3.21)

SMALL = (*SERIAL, "tree_one_dof", "forest", "free_base_tree", "reflected_rotors")
ALL = (*SERIAL, *TREES, *ROTORS)


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


# -- section 3: operator form ----------------------------------------------------------


@on(*SERIAL, "tree_one_dof", "forest")
def test_3_1_to_3_3_group_properties_of_phi(machine):
    """(3.1): phi(i,k) = [[I, l~], [0, I]] with l = O(k) - O(i); (3.2): phi(i,i) = I, phi^-1(i,k) =
    phi(k,i), phi(i,j) phi(j,k) = phi(i,k); (3.3): phi(i,k) = phi(i,i-1) ... phi(k+1,k).

    World axes; along each path of a tree.
    """
    model, q, v, _ = state(machine)
    moving, tree = motions(model, q, v), model.tree
    dense = pp.as_matrix(model, phi, q, axes="world")
    products = phi_by_products(model, q, "world")
    for k in range(len(tree)):
        assert np.array_equal(block(model, dense, k, k), np.eye(6))
        for i in tree.path(k):
            phi_ik, l = block(model, dense, i, k), moving[k].p - moving[i].p
            assert relative_difference(phi_ik, phi_of(l)) < TOLERANCE
            assert relative_difference(np.linalg.inv(phi_ik), phi_of(-l)) < TOLERANCE
            assert relative_difference(phi_ik, products[i, k]) < TOLERANCE
            for j in tree.path(k):
                if tree.is_inboard(i, j):
                    composed = block(model, dense, i, j) @ block(model, dense, j, k)
                    assert relative_difference(composed, phi_ik) < TOLERANCE


@on(*SERIAL, *TREES)
@AXES
def test_3_8_base_operator(machine, axes):
    """(3.8): E has phi*(N+1,N) at the root and 0 elsewhere; N+1 is the world.

    Any machine; a forest has one block per root. E times a motion of the world
    adds the motion that every root would share.
    """
    model, q, v, _ = state(machine)
    moving = motions(model, q, v)
    expected = np.zeros((6 * len(model.bodies), 6))
    for k in model.tree.roots:
        turn = moving[k].turn.T if axes == "link" else np.eye(6)
        expected[own(k)] = turn @ phi_of(moving[k].p).T
    assert mismatch(model, E, expected, q, axes=axes) < TOLERANCE


@on(*SERIAL, *TREES)
@AXES
def test_3_11_to_3_13_velocities_and_tip_jacobian(machine, axes):
    """(3.11): V(k) = sum phi*(i,k) H*(i) theta_dot(i) over the i inboard of k; (3.12):
    V = phi* H* theta_dot; (3.13): V(0) = J theta_dot, J = B* phi* H*. Any machine."""
    tipped = Tipped(machine, axes)
    model, products = tipped.model, phi_by_products(tipped.model, tipped.q, axes)
    H_ = value(model, H, tipped.q, axes=axes)
    summed = [
        sum(
            products[i, k].T @ H_[model.joints[i].rows, own(i)].T @ tipped.v[model.joints[i].rows]
            for i in model.tree.path(k)
        )
        for k in range(len(model.bodies))
    ]
    true = [tipped.turned(m, m.V) for m in tipped.moving]
    assert relative_difference(summed, true) < TOLERANCE
    assert relative_difference(tipped.value(phi.T @ H.T @ beta), true) < TOLERANCE
    at_tips = [tipped.turned(m, m.V) for m in tipped.tips]
    assert relative_difference(tipped.value(B.T @ phi.T @ H.T @ beta), at_tips) < TOLERANCE


@on(*SERIAL, *TREES)
@AXES
def test_3_15_accelerations(machine, axes):
    """(3.14), (3.15): alpha = phi* H* theta_ddot + phi* a. Any machine; here with (3.21)."""
    tipped = Tipped(machine, axes)
    alpha_ = phi.T @ H.T @ beta_dot + phi.T @ a_g
    found = tipped.value(alpha_, beta_dot=tipped.acceleration)
    assert relative_difference(found, tipped.felt(tipped.moving)) < TOLERANCE


@on(*SERIAL, *TREES)
@AXES
def test_3_17_tip_bias_acceleration(machine, axes):
    """After (3.17): alpha(0) = J theta_ddot + J_dot theta_dot, J_dot theta_dot = B* phi* a + a(0).

    a(0) = [0; omega(1) x (omega(1) x l(1,0))] in world axes; 0 in link axes,
    where accelerations are componentwise rates. Any machine; J_dot by a
    complex step along the motion.
    """
    tipped = Tipped(machine, axes)
    at = {"axes": axes, "points": tipped.points}
    J_dot_beta = time_derivative(tipped.model, J @ beta, tipped.q, tipped.v, **at)
    found = tipped.value(B.T @ phi.T @ a) + tipped.bias()
    assert relative_difference(found, J_dot_beta) < TOLERANCE


@on(*ALL)
@AXES
def test_3_16_to_3_20_operator_equations_of_motion(machine, axes):
    """(3.16)-(3.18): T = H phi [M alpha + b + B f(0)], alpha = phi* H* theta_ddot + phi* a;
    (3.19), (3.20): T = Mass theta_ddot + C + J* f(0) with Mass = H phi M phi* H*,
    C = H phi (M phi* a + b), J* = H phi B.

    Any machine, with gravity by (3.21); rotors add Jm theta_ddot.
    """
    tipped = Tipped(machine, axes)
    values = {"beta_dot": tipped.acceleration}
    alpha_ = phi.T @ H.T @ beta_dot + phi.T @ a_g
    nested = H @ phi @ (M @ alpha_ + b + B @ f0) + Jm @ beta_dot  # (3.16)-(3.18)
    assert relative_difference(tipped.value(nested, **values), tipped.T) < TOLERANCE
    split = (
        (H @ phi @ M @ phi.T @ H.T + Jm) @ beta_dot
        + H @ phi @ (M @ phi.T @ a_g + b)
        + H @ phi @ B @ f0
    )  # (3.19), (3.20)
    assert relative_difference(tipped.value(split, **values), tipped.T) < TOLERANCE
    assert relative_difference(tipped.value(H @ phi @ B), tipped.value(J).T) < TOLERANCE


@on(*SERIAL, *TREES, *ROTORS)
@AXES
def test_3_21_gravity_as_an_acceleration_of_the_base(machine, axes):
    """(3.21): a -> a + E g, g* = (0*, 9.8 e3*): the base accelerates against gravity.

    H phi M phi* E g is the gradient of the potential energy. Any machine and
    any direction of gravity; the witness: the power that gravity takes from
    the mass centres at each unit speed.
    """
    model, q, _, _ = state(machine)
    power = []
    for ia in directions(model):
        moving = motions(model, q, tangent(model, *ia))
        rates = [
            m.at(np.array(x.inertia.com)).v * x.inertia.mass
            for m, x in zip(moving, model.bodies, strict=True)
        ]
        power.append(-np.dot(np.sum(rates, axis=0), model.gravity))
    size = 1e-12 * max(1.0, np.linalg.norm(power))  # the spacecraft feels none
    left = H @ phi @ M @ phi.T @ E @ gravity
    assert mismatch(model, left, np.array(power), q, axes=axes, scale=size) < TOLERANCE
    assert np.linalg.norm(power) > 1.0 or machine == "spacecraft"


@on(*ALL)
@AXES
def test_3_22_bias_free_equations_of_motion(machine, axes):
    """(3.22): Mass theta_ddot = T' = T - T^; (3.23): T^ = H phi [M phi* a + b + B f(0)]
    = C + J* f(0). Any machine, with gravity by (3.21)."""
    tipped = Tipped(machine, axes)
    bias = H @ phi @ (M @ phi.T @ a_g + b + B @ f0)
    assert relative_difference(tipped.value(bias), tipped.value(C + J.T @ f0)) < TOLERANCE
    mass = value(tipped.model, Mass, tipped.q)
    solved = np.linalg.solve(mass, tipped.value(T - bias))
    assert relative_difference(solved, tipped.acceleration) < TOLERANCE


# -- section 4: factorization ----------------------------------------------------------


@on(*ALL)
@AXES
def test_4_4_riccati_recursion(machine, axes):
    """(4.4)-(4.8): P, D, L by the discrete Riccati recursion, tip to base; S L = K.

    P > 0 and D > 0. Any machine without massless tips.
    """
    model, q, _, _ = state(machine)
    P_, D_, _, L_ = riccati(model, q, axes)
    assert mismatch(model, P, memoryless(model, P_), q, axes=axes) < TOLERANCE
    assert mismatch(model, D, memoryless(model, D_, "joint", "joint"), q, axes=axes) < TOLERANCE
    assert mismatch(model, L, memoryless(model, L_, "body", "joint"), q, axes=axes) < TOLERANCE
    assert mismatch(model, S @ L, K, q, axes=axes) < TOLERANCE
    assert all(np.linalg.eigvalsh(x)[0] > 0.0 for x in D_)
    assert machine == "puma560" or all(np.linalg.eigvalsh(x)[0] > 0.0 for x in P_)


@on("serial_revolute", "serial_revolute_prismatic")
def test_4_4_gain_of_the_tip_divides_by_D(machine):
    """(4.4): L(1) = phi(2,1) P(1) H*(1) D^-1(1). Printed with D(1) instead of D^-1(1), with
    which FACT 4.1 fails. Serial chains."""
    model, q, _, _ = state(machine)
    _, D_, _, L_ = riccati(model, q)
    X = operator("X", "joint", "body")
    factorization = (I + H @ Phi @ X) @ D @ (I + H @ Phi @ X).T
    assert mismatch(model, Mass, factorization, q, X=L_) < TOLERANCE
    L_[-1] = L_[-1] @ D_[-1] @ D_[-1]  # as printed: times D where it should be divided by it
    assert mismatch(model, Mass, factorization, q, X=L_) > MARGIN


@on(*ALL)
@AXES
def test_4_9_strictly_causal_operators(machine, axes):
    """(4.9), (4.10), (5.2), (5.3): Phi = phi S and Psi = psi S have the blocks phi(i,k+1) and
    psi(i,k+1) for i inboard of k: strictly causal, with the identity next to the diagonal.

    In link axes this identity is the turn diag(R,R) from k to its parent; L(k)
    lands in the parent's axes by it. Any machine.
    """
    model, q, v, _ = state(machine)
    moving = motions(model, q, v)
    phi_products, psi_products = (
        phi_by_products(model, q, axes),
        psi_by_products(model, q, axes),
    )
    assert mismatch(model, Phi, shifted(model, q, phi_products, axes), q, axes=axes) < TOLERANCE
    assert mismatch(model, Psi, shifted(model, q, psi_products, axes), q, axes=axes) < TOLERANCE
    for operator_ in (Phi, Psi):
        dense = pp.as_matrix(model, operator_, q, axes=axes)
        for k, p in enumerate(model.tree.parent):
            assert not np.any(block(model, dense, k, k))
            if p != WORLD:
                turn = np.eye(6) if axes == "world" else moving[p].turn.T @ moving[k].turn
                assert relative_difference(block(model, dense, p, k), turn) < TOLERANCE


@on(*ALL)
@AXES
def test_fact_4_1_innovations_factorization(machine, axes):
    """FACT 4.1 (4.11): Mass = (I + H Phi L) D (I + H Phi L)*; in its proof H phi~ G takes the place
    of H Phi L. Any machine; with rotors Mass = H phi M phi* H* + Jm."""
    model, q, _, _ = state(machine)
    left = H @ phi @ M @ phi.T @ H.T + Jm
    right = (I + H @ Phi @ L) @ D @ (I + H @ Phi @ L).T
    assert mismatch(model, left, right, q, axes=axes) < TOLERANCE
    right = (I + H @ phi_tilde @ G) @ D @ (I + H @ phi_tilde @ G).T
    assert mismatch(model, left, right, q, axes=axes) < TOLERANCE


@on(*ALL)
@AXES
def test_fact_4_2_reciprocal_factors(machine, axes):
    """FACT 4.2 (4.14): (I + H Phi L)^-1 = I - H Psi L. Any machine."""
    model, q, _, _ = state(machine)
    inverse = np.linalg.inv(value(model, I + H @ Phi @ L, q, axes=axes))
    assert mismatch(model, I - H @ Psi @ L, inverse, q, axes=axes) < TOLERANCE


@on(*ALL)
@AXES
def test_theorem_4_1_inverse_of_the_mass_matrix(machine, axes):
    """THEOREM 4.1 (4.16): Mass^-1 = (I - H Psi L)* D^-1 (I - H Psi L). Any machine."""
    model, q, _, _ = state(machine)
    inverse = np.linalg.inv(pp.as_matrix(model, Mass, q))
    right = (I - H @ Psi @ L).T @ D.inv @ (I - H @ Psi @ L)
    assert mismatch(model, inverse, right, q, axes=axes) < TOLERANCE


@on(*ALL)
def test_4_13_innovations_representation_and_4_15_kalman_filter(machine):
    """(4.13): z^(k) = phi z^(k-1) + L eps(k-1), y = H z^ + eps is y = (I + H Phi L) eps (4.12);
    (4.15): z^(k) = (phi - L H) z^(k-1) + L y(k-1), eps = y - H z^ is eps = (I - H Psi L) y.

    Both filters pass through the same states z^. Any machine.
    """
    sweeps = Sweeps(machine)
    eps_ = np.random.default_rng(9).normal(size=sweeps.model.nv)
    eps = sweeps.by_joint(eps_)
    zero = np.zeros(6)
    z = sweeps.inward(lambda k: zero, lambda c, x: sweeps.phi[c] @ x + sweeps.L[c] @ eps[c])
    y = [h @ x + e for h, x, e in zip(sweeps.H, z, eps, strict=True)]
    w = vector("w", "joint")
    modelled = sweeps.tipped.value((I + H @ Phi @ L) @ w, w=eps_)
    assert relative_difference(np.concatenate(y), modelled) < TOLERANCE

    def filtered(c, x):
        return (sweeps.phi[c] - sweeps.L[c] @ sweeps.H[c]) @ x + sweeps.L[c] @ y[c]

    z_filter = sweeps.inward(lambda k: zero, filtered)
    whitened = np.concatenate([x - h @ s for x, h, s in zip(y, sweeps.H, z_filter, strict=True)])
    assert relative_difference(z_filter, z) < TOLERANCE
    assert relative_difference(whitened, eps_) < TOLERANCE
    found = sweeps.tipped.value((I - H @ Psi @ L) @ w, w=np.concatenate(y))
    assert relative_difference(found, eps_) < TOLERANCE


# -- sections 4 and 5: forward dynamics ------------------------------------------------

T_prime = T - H @ phi @ (M @ phi.T @ a_g + b + B @ f0)  # (4.17)


@on(*ALL)
@AXES
def test_FD1_forward_dynamics_without_bias(machine, axes):
    """FD1 (4.17), (4.18): T' = T - H phi [M phi* a + b + B f(0)],
    theta_ddot = (I - H Psi L)* D^-1 (I - H Psi L) T'.

    Any machine, gravity by (3.21), forces at several points, rotors. The
    witness: T comes from 3-vector mechanics of known accelerations; a dense
    solve of the equations of motion gives the same.
    """
    tipped = Tipped(machine, axes)
    found = tipped.value((I - H @ Psi @ L).T @ D.inv @ (I - H @ Psi @ L) @ T_prime)
    assert relative_difference(found, tipped.acceleration) < TOLERANCE
    solved = np.linalg.solve(tipped.value(Mass), tipped.value(T - C - J.T @ f0))
    assert relative_difference(found, solved) < TOLERANCE


@on(*ALL)
def test_FD1_as_sweeps(machine):
    """(4.19)-(4.22): z^ = psi z^(k-1) + L T'(k-1), eps = T' - H z^, nu = D^-1 eps tip to base;
    lambda = psi* lambda(k+1) + H* nu, theta_ddot = nu - L* lambda(k+1) base to tip.

    The scan shows eps = T - H z^, which fails; it must be T' throughout. Any machine.
    """
    sweeps = Sweeps(machine)
    free = sweeps.by_joint(sweeps.tipped.value(T_prime))
    zero = np.zeros(6)
    z = sweeps.inward(lambda k: zero, lambda c, x: sweeps.psi[c] @ x + sweeps.L[c] @ free[c])

    def accelerations(T_x):
        return sweeps.smooth(sweeps.innovate(T_x, z))[1]

    assert relative_difference(accelerations(free), sweeps.tipped.acceleration) < TOLERANCE
    raw = accelerations(sweeps.by_joint(sweeps.tipped.T))
    assert relative_difference(raw, sweeps.tipped.acceleration) > MARGIN


@on(*ALL)
@AXES
def test_identity_5_1_filtered_propagation(machine, axes):
    """IDENTITY 5.1 (5.4): (I - H Psi L) H phi = H psi. Any machine."""
    model, q, _, _ = state(machine)
    assert mismatch(model, (I - H @ Psi @ L) @ H @ phi, H @ psi, q, axes=axes) < TOLERANCE


@on(*ALL)
@AXES
def test_FD2_forward_dynamics_with_link_accelerations(machine, axes):
    """FD2 (5.5)-(5.7): alpha = psi* H* D^-1 (I - H Psi L) T' + phi* a, alpha(0) = B* alpha + a(0),
    and theta_ddot as in FD1.

    Any machine; the witness: accelerations of bodies and points by two
    derivatives of their positions, minus gravity as (3.21) asks.
    """
    tipped = Tipped(machine, axes)
    nu = D.inv @ (I - H @ Psi @ L) @ T_prime
    alpha_ = psi.T @ H.T @ nu + phi.T @ a_g
    assert relative_difference(tipped.value(alpha_), tipped.felt(tipped.moving)) < TOLERANCE
    at_tips = tipped.value(B.T @ alpha_) + tipped.bias()
    assert relative_difference(at_tips, tipped.felt(tipped.tips)) < TOLERANCE
    theta_ddot = tipped.value(nu - L.T @ S.T @ psi.T @ H.T @ nu)
    assert relative_difference(theta_ddot, tipped.acceleration) < TOLERANCE


@on(*ALL)
def test_FD2_as_sweeps(machine):
    """(4.21b)-(4.23): with lambda of (4.21), xi(k) = phi* xi(k+1) + a(k) and alpha = lambda + xi;
    alpha(0) = phi*(1,0) alpha(1) + a(0), a(0) = 0 in link axes. Any machine."""
    sweeps = Sweeps(machine)
    tipped = sweeps.tipped
    nu = sweeps.by_joint(tipped.value(D.inv @ (I - H @ Psi @ L) @ T_prime))
    costate, theta_ddot = sweeps.smooth(nu)
    bias = sweeps.by_body(a_g)
    xi = sweeps.outward(lambda k: bias[k], lambda k, x: sweeps.phi[k].T @ x)
    alpha_ = [x + y for x, y in zip(costate, xi, strict=True)]
    assert relative_difference(theta_ddot, tipped.acceleration) < TOLERANCE
    assert relative_difference(alpha_, tipped.felt(tipped.moving)) < TOLERANCE
    at_tips = []
    for point in tipped.points:
        k, place = tipped.model.locate(point)
        at_tips.append(phi_of(np.array(place.position)).T @ alpha_[k])
    assert relative_difference(at_tips, tipped.felt(tipped.tips)) < TOLERANCE


@on(*ALL)
@AXES
def test_FD3_forward_dynamics_in_three_sweeps(machine, axes):
    """FD3 (5.8)-(5.10): zeta = phi* a, eps = T - H psi [S L T + M zeta + b + B f(0)],
    theta_ddot = (I - H Psi L)* D^-1 eps. Any machine."""
    tipped = Tipped(machine, axes)
    zeta = phi.T @ a_g
    eps = T - H @ psi @ (S @ L @ T + M @ zeta + b + B @ f0)
    found = tipped.value((I - H @ Psi @ L).T @ D.inv @ eps)
    assert relative_difference(found, tipped.acceleration) < TOLERANCE


@on(*ALL)
@AXES
def test_FD4_forward_dynamics_without_bias_sweep(machine, axes):
    """FD4 (5.14), (5.15): nu = D^-1 {T - H [psi (S L T + b + B f(0)) + psi~ P a]},
    theta_ddot = (I - H Psi L)* nu - L* Psi* (I - G H)* a - G* a. Any machine.

    (5.14) is lost in the scan; this form follows from (a.50). With psi P a in
    the place of psi~ P a it fails ([001 (67)] has psi, and + D^-1 H P a beside it).
    """
    tipped = Tipped(machine, axes)

    def accelerations(P_a):
        nu = D.inv @ (T - H @ (psi @ (S @ L @ T + b + B @ f0) + P_a))
        smoothed = (I - H @ Psi @ L).T @ nu
        return tipped.value(smoothed - L.T @ Psi.T @ (I - G @ H).T @ a_g - G.T @ a_g)

    found = accelerations(psi_tilde @ P @ a_g)
    assert relative_difference(found, tipped.acceleration) < TOLERANCE
    assert relative_difference(accelerations(psi @ P @ a_g), tipped.acceleration) > MARGIN


@on(*ALL)
def test_FD4_as_sweeps(machine):
    """(5.16), (5.17): z(k) = psi z(k-1) + L T(k-1) + psi P a(k-1) + b(k), nu = D^-1 (T - H z);
    lambda = psi* lambda(k+1) + H* nu + (I - G H)* a, theta_ddot = nu - L* lambda(k+1) - G* a.

    With the tip force entering as phi(1,0) f(0). The scan shows z without b(k),
    which fails. Any machine.
    """
    sweeps = Sweeps(machine)
    tipped = sweeps.tipped
    bias, tip = sweeps.by_body(a_g), sweeps.by_body(B @ f0)
    T_ = sweeps.by_joint(tipped.T)

    def from_child(c, z):
        return sweeps.psi[c] @ (z + sweeps.P[c] @ bias[c]) + sweeps.L[c] @ T_[c]

    def accelerations(b_):
        z = sweeps.inward(lambda k: tip[k] + b_[k], from_child)
        return sweeps.smooth(sweeps.innovate(T_, z), bias)[1]

    gyroscopic = sweeps.by_body(b)
    assert relative_difference(accelerations(gyroscopic), tipped.acceleration) < TOLERANCE
    assert relative_difference(accelerations(0.0 * gyroscopic), tipped.acceleration) > MARGIN


def test_5_13_velocities_not_tip_velocities():
    """(5.13): V = phi* H* theta_dot, the velocities of the links, from which FD4 makes a and b.

    Printed V = B* phi* H* theta_dot: these are the tip velocities of (3.13), a
    vector of another space, of which no body's S[V] can be made.
    """
    model, q, v, _ = state("serial_revolute")
    point = points_on(model)[0]
    printed = B.T @ phi.T @ H.T @ beta
    moving = motions(model, q, v)
    tip = point_motion(model, moving, point)
    assert mismatch(model, printed, tip.V, q, v, "world", [point]) < TOLERANCE
    with pytest.raises(pp.SpaceError):
        _ = V + printed
    with pytest.raises(pp.SpaceError):
        _ = S[printed]
    corrected = phi.T @ H.T @ beta
    momenta, spins = [], []  # b(k) = omega~ times the momentum of the mass centre, carried to O(k)
    for m, body in zip(moving, model.bodies, strict=True):
        V_k, x = m.turn.T @ m.V, body.inertia
        p = phi_of(np.array(x.com))
        V_c = p.T @ V_k
        momenta.append(np.concatenate([x.rotational @ V_c[:3], x.mass * V_c[3:]]))
        spins.append(p @ np.kron(np.eye(2), tilde(V_k[:3])))
    expected = np.concatenate([X @ h for X, h in zip(spins, momenta, strict=True)])
    assert mismatch(model, S[corrected] @ M @ corrected, expected, q, v) < TOLERANCE


# -- appendix A: operator identities ---------------------------------------------------

# (number, left, right). A side may be an expression, or a function of the machine
# that builds the operator block by block. Numbers in brackets are lost in the scan.
IDENTITIES = [
    ("a.1", lambda m, q, x: memoryless(m, riccati(m, q, x)[1], "joint", "joint"), H @ P @ H.T),
    ("a.2", lambda m, q, x: memoryless(m, riccati(m, q, x)[2], "body", "joint"), P @ H.T @ D.inv),
    ("a.3", lambda m, q, x: strictly_causal(m, phi_by_products(m, q, x)), phi - I),
    ("[a.4]", lambda m, q, x: strictly_causal(m, psi_by_products(m, q, x)), psi - I),
    ("[a.5]", E_phi, S @ Delta_phi),
    ("[a.6]", lambda m, q, x: shifted(m, q, phi_by_products(m, q, x), x), phi @ S),
    ("[a.7]", lambda m, q, x: shifted(m, q, psi_by_products(m, q, x), x), psi @ S),
    ("[a.8]", psi_tilde, Psi @ Delta_psi),
    ("[a.9]", phi_tilde, Phi @ Delta_phi),
    ("[a.10]", psi, I + psi @ S @ Delta_psi),
    ("[a.10] inward", psi, I + S @ Delta_psi @ psi),
    ("[a.11]", phi, I + phi @ S @ Delta_phi),
    ("[a.11] inward", phi, I + S @ Delta_phi @ phi),
    ("[a.12]", lambda m, q, x: memoryless(m, riccati(m, q, x)[3], "body", "joint"), Delta_phi @ G),
    ("a.13", Phi @ L, phi_tilde @ G),
    # Identities A.2
    ("a.14", phi, psi @ (I + S @ L @ H @ phi)),
    ("a.15", psi, (I - Psi @ L @ H) @ phi),
    ("a.16", Phi, Psi @ (I + L @ H @ Phi)),
    ("a.17", Psi, (I - Psi @ L @ H) @ Phi),
    ("a.18", phi - psi, Psi @ L @ H @ phi),
    # Identities A.3
    ("a.22", phi, (I + Phi @ L @ H) @ psi),
    ("[a.23]", psi, phi @ (I - S @ L @ H @ psi)),
    ("a.24", Phi, (I + Phi @ L @ H) @ Psi),
    ("a.25", Psi, Phi @ (I - L @ H @ Psi)),
    ("a.26", Phi @ L @ H @ psi, Psi @ L @ H @ phi),
    ("a.27", Phi @ L @ H @ Psi, Psi @ L @ H @ Phi),
    ("a.28", phi - psi, Phi @ L @ H @ psi),
    # Identities A.4
    ("a.32", H @ phi, (I + H @ Phi @ L) @ H @ psi),
    ("a.33", H @ Phi, (I + H @ Phi @ L) @ H @ Psi),
    ("a.34", H @ Psi, H @ Phi @ (I - L @ H @ Psi)),
    ("a.35", H @ psi, (I - H @ Psi @ L) @ H @ phi),
    ("a.36", H @ Psi, (I - H @ Psi @ L) @ H @ Phi),
    ("a.37", H @ Phi, H @ Psi @ (I + L @ H @ Phi)),
    ("a.38", H @ Phi @ L @ H @ Psi, H @ Psi @ L @ H @ Phi),
    ("a.39", Phi @ L, Psi @ L @ (I + H @ Phi @ L)),
    ("a.40", Psi @ L, (I - Psi @ L @ H) @ Phi @ L),
    ("a.41", Psi @ L, Phi @ L @ (I - H @ Psi @ L)),
    ("a.42", Phi @ L, (I + Phi @ L @ H) @ Psi @ L),
    ("a.43", Psi @ L @ H @ Phi @ L, Phi @ L @ H @ Psi @ L),
    # Identities A.5 to A.7
    ("a.46", psi @ M @ phi.T, P + psi_tilde @ P + P @ phi_tilde.T),
    ("a.47", psi @ M @ psi.T, P + psi_tilde @ P + P @ psi_tilde.T),
    (
        "a.48",
        phi @ M @ phi.T,
        P + phi_tilde @ P + P @ phi_tilde.T + phi_tilde @ P @ H.T @ D.inv @ H @ P @ phi_tilde.T,
    ),
    ("a.49", P, E_phi @ P @ E_phi.T + M - E_phi @ P @ H.T @ D.inv @ H @ P @ E_phi.T),
    (
        "a.49 second",
        phi @ (M - E_phi @ P @ H.T @ D.inv @ H @ P @ E_phi.T) @ phi.T,
        P + phi_tilde @ P + P @ phi_tilde.T,
    ),
    (
        "a.50",
        (I - H @ Psi @ L).T @ D.inv @ H @ psi @ M @ phi.T,
        (I - H @ Psi @ L).T @ D.inv @ H @ psi_tilde @ P + L.T @ Psi.T @ (I - G @ H).T + G.T,
    ),
    (
        "a.51",
        (I - H @ Psi @ L).T @ D.inv @ H @ P + (I - H @ Psi @ L).T @ D.inv @ H @ P @ phi_tilde.T,
        L.T @ Psi.T @ (I - G @ H).T + G.T,
    ),
]

# The proof of (a.47) uses (I - G H) P H* = 0, which asks for D = H P H*; with rotors D has Jm too.
WITHOUT_ROTORS = ("a.1", "a.47")


@on(*SMALL)
@AXES
@pytest.mark.parametrize(
    ("number", "left", "right"), IDENTITIES, ids=[number for number, _, _ in IDENTITIES]
)
def test_operator_identities_of_appendix_A(number, left, right, machine, axes):
    """(a.1)-(a.18), (a.22)-(a.28), (a.32)-(a.43), (a.46)-(a.51), as typed in IDENTITIES.

    Serial chains as printed; trees and forests, multi-dof joints and rotors
    too, but for D = H P H* (a.1) and psi M psi* (a.47), which fail with rotor inertia.
    """
    model, q, _, _ = state(machine)
    sides = [x(model, q, axes) if callable(x) else x for x in (left, right)]
    difference = mismatch(model, *sides, q, axes=axes)
    if number in WITHOUT_ROTORS and machine in ROTORS:
        assert difference > MARGIN
    else:
        assert difference < TOLERANCE


@on(*SMALL)
@AXES
def test_a_19_to_a_21_and_a_29_to_a_31_telescoping_sums(machine, axes):
    """(a.19)-(a.21): sum_i [psi(k,i+1) phi(i+1,m) - psi(k,i) phi(i,m)] over i from m to k-1
    = phi(k,m) - psi(k,m) = sum_i psi(k,i+1) L(i) H(i) phi(i,m); (a.29)-(a.31): the same
    with psi and phi exchanged = psi(k,m) - phi(k,m) = -sum_i phi(k,i+1) L(i) H(i) psi(i,m).

    i runs over the path from m inward to k, k left out: any tree.
    """
    model, q, _, _ = state(machine)
    forms = phi_by_products(model, q, axes), psi_by_products(model, q, axes)
    step = pp.as_matrix(model, E_phi @ G @ H, q, axes=axes)  # L(i) H(i) at (i+1, i)
    parent = model.tree.parent
    for m in range(len(parent)):
        for k in model.tree.path(parent[m]):
            steps = list(itertools.takewhile(lambda i, k=k: i != k, model.tree.path(m)))
            for left, right, sign in ((forms[1], forms[0], 1.0), (forms[0], forms[1], -1.0)):
                telescoped, summed = np.zeros((6, 6)), np.zeros((6, 6))
                for i in steps:
                    p = parent[i]
                    telescoped += left[k, p] @ right[p, m] - left[k, i] @ right[i, m]
                    summed += left[k, p] @ block(model, step, p, i) @ right[i, m]
                difference = forms[0][k, m] - forms[1][k, m]
                assert relative_difference(sign * telescoped, difference) < TOLERANCE
                assert relative_difference(summed, difference) < TOLERANCE


@on(*SMALL)
@AXES
def test_lemma_A_1_product_of_two_semigroups(machine, axes):
    """LEMMA A.1 (a.44), (a.45): r(k+1) = psi(k+1,k) r(k) phi*(k+1,k) + M(k+1) gives
    psi M phi* = r + psi~ r + r phi~*, for any two operators with the semigroup property.

    Here two random ones: blocks phi(p,k) X(k) and phi(p,k) Z(k) with any X, Z.
    On trees r sums over children, and bodies on different limbs have no block.
    """
    model, q, _, _ = state(machine)
    rng = np.random.default_rng(10)
    given = {name: random_blocks(model, rng) for name in "XZ"}
    X, Z, r = (operator(name, "body", "body") for name in "XZr")
    step = pp.as_matrix(model, E_phi, q, axes=axes)
    M_ = pp.as_matrix(model, M, q, axes=axes)
    r_ = [block(model, M_, k, k) for k in range(len(model.bodies))]
    for k in model.tree.tip_to_base:
        p = model.tree.parent[k]
        if p != WORLD:
            carry = block(model, step, p, k)
            r_[p] = r_[p] + carry @ given["X"][k] @ r_[k] @ given["Z"][k].T @ carry.T
    left, right = (I - E_phi @ X).inv, (I - E_phi @ Z).inv
    decomposed = r + (left - I) @ r + r @ (right - I).T
    at = {"axes": axes, **given}
    assert mismatch(model, left @ M @ right.T, decomposed, q, r=r_, **at) < TOLERANCE
    assert mismatch(model, left @ M @ left.T, decomposed, q, r=r_, **at) > MARGIN  # not any r


@on(*SMALL)
@AXES
def test_corollary_A_1_one_semigroup(machine, axes):
    """COROLLARY A.1: LEMMA A.1 with psi = phi: r is the composite inertia R, and
    phi M phi* = R + phi~ R + R phi~*. Any machine.

    R from its meaning: the inertias of all outboard bodies, each moved by the
    product phi(k,i) of its path.
    """
    model, q, _, _ = state(machine)
    products, M_ = phi_by_products(model, q, axes), pp.as_matrix(model, M, q, axes=axes)

    def composite(k):
        outboard = range(k, model.tree.end[k])
        return sum(products[k, i] @ block(model, M_, i, i) @ products[k, i].T for i in outboard)

    assert mismatch(model, R, diagonal(model, composite), q, axes=axes) < TOLERANCE
    right = R + phi_tilde @ R + R @ phi_tilde.T
    assert mismatch(model, phi @ M @ phi.T, right, q, axes=axes) < TOLERANCE


# -- appendix B: mobile base -----------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("axes", ["body", "station"])
def test_b_3_quaternion_rates_have_a_left_inverse(axes, seed):
    """(b.3): q_dot = A(q) omega with A(q) 4 x 3 of rank 3 everywhere; omega = 4 A*(q) q_dot.

    Printed: A(q) nonsingular, with an inverse. There is none: 4 A* is a left
    inverse, and A 4 A* = I - q q*. The witness: q_dot by a complex step along
    a free joint. omega in body axes (ours) and in station axes (the paper's).
    """
    model, q, _, _ = state("spacecraft", seed)
    quaternion, omega = q[:4], np.random.default_rng(seed).normal(size=3)
    R_base = motions(model, q, np.zeros(model.nv))[0].R
    v = np.zeros(model.nv)
    v[:3] = omega if axes == "body" else R_base.T @ omega
    q_dot = pp.integrate(model, q, 1j * STEP * v)[:4].imag / STEP
    A = quaternion_rates(quaternion, axes)
    assert relative_difference(A @ omega, q_dot) < TOLERANCE
    assert relative_difference(4.0 * A.T @ q_dot, omega) < TOLERANCE
    assert relative_difference(4.0 * A.T @ A, np.eye(3)) < TOLERANCE
    missed = np.outer(quaternion, quaternion)
    assert relative_difference(np.eye(4) - A @ (4.0 * A.T), missed) < TOLERANCE
    assert relative_difference(A @ (4.0 * A.T), np.eye(4)) > MARGIN  # as printed
    assert np.linalg.matrix_rank(A) == 3


def test_b_2_to_b_8_mobile_base():
    """(b.2): V(N) = H*(N) W(N) = W(N), so H(N) = I; (b.5): theta_dot = Omega W; (b.6), (b.7):
    alpha(N) = W_dot(N), a(N) = 0; (b.8): T(N) = f(N), all six components. Free base.

    Stated in link axes, where W is the body's twist: l_dot = R v; in the
    paper's station axes l_dot is v itself.
    """
    model, q, v, acceleration = state("spacecraft")
    moving = motions(model, q, v, acceleration)
    base = moving[0]
    assert np.array_equal(pp.as_matrix(model, H, q)[:6, :6], np.eye(6))
    assert relative_difference(base.turn.T @ base.V, v[:6]) < TOLERANCE
    q_dot = pp.integrate(model, q, 1j * STEP * v).imag / STEP
    Omega_W = [quaternion_rates(q[:4], "body") @ v[:3], base.R @ v[3:6], v[6:]]
    assert relative_difference(q_dot, np.concatenate(Omega_W)) < TOLERANCE
    assert relative_difference(q_dot[4:7], base.v) < TOLERANCE
    assert relative_difference(base.A, acceleration[:6]) < TOLERANCE
    assert np.linalg.norm(value(model, a, q, v)[:6]) < TOLERANCE * np.linalg.norm(v) ** 2
    forces = H @ phi @ (M @ phi.T @ (H.T @ beta_dot + a_g) + b)
    T_ = value(model, forces, q, v, beta_dot=acceleration)
    assert relative_difference(T_[:6], joint_wrenches(model, moving)[0]) < TOLERANCE


@on("free_base_tree", "spacecraft", "star_of_free_bodies")
@AXES
def test_b_10_forward_dynamics_of_a_mobile_base(machine, axes):
    """(b.9), (b.10): T = Mass W_dot + C + J* f(0), so W_dot = Mass^-1 [T - C - J* f(0)] by the same
    factorization; only dimensions change. Free bases, also bodies that hang free on others."""
    tipped = Tipped(machine, axes)
    factor = I - H @ Psi @ L
    found = tipped.value(factor.T @ D.inv @ factor @ (T - C - J.T @ f0))
    assert relative_difference(found, tipped.acceleration) < TOLERANCE
