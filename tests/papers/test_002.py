"""[002] Rodriguez, Jain, Kreutz: Spatial Operator Algebra Framework for Multibody System Dynamics.

Each test types one printed result and holds it against an independent
construction: blocks multiplied along paths, recursions written out, dense
linear solves, or mechanics in 3-vectors (`classical.py`). The paper numbers
links from tip to base; here parents come first, and `k - 1` of the paper is a
child of k, `k + 1` its parent. The paper has no gravity and no rotors: where a
test adds them, its docstring says so.
"""

import itertools

import numpy as np
import pytest
from cases import (
    AXES,
    ROTORS,
    SERIAL,
    TREES,
    applied_forces,
    on,
    points_on,
    psi_by_products,
    state,
)
from classical import joint_forces, motions, phi_of, point_motion
from equations import (
    MARGIN,
    TOLERANCE,
    assemble,
    block,
    diagonal,
    directions,
    is_serial,
    mismatch,
    phi_by_products,
    relative_difference,
    tangent,
    value,
)
from machines import MARKET
from paper_002 import (
    GRASPS,
    LOOPS,
    PRINTED_RIGID,
    RIGID,
    Grasp,
    Loop,
    Recursion,
    articulated_by_elimination,
    block_phi,
    branches,
    by_joint,
    classical_motion,
    constrained,
    omega_by_common_ancestors,
    predecessor,
)

import phipsi as pp
from phipsi.model.tree import WORLD
from phipsi.operators import (
    B,
    C,
    D,
    E_phi,
    E_psi,
    G,
    H,
    I,
    J,
    Jm,
    K,
    M,
    Mass,
    Omega,
    P,
    T,
    V,
    Y,
    a,
    b,
    beta,
    beta_dot,
    blockdiag,
    phi,
    psi,
    psi_tilde,
    tau,
    tau_bar,
    vector,
)

# -- section 2: one body ---------------------------------------------------------------


@on(*SERIAL, *TREES)
@AXES
def test_spatial_inertia_moves_by_phi(machine, axes):
    """Sec. 2: M(O) = phi(p) M(C) phi*(p) = [[J(O), m p~], [-m p~, m I]]. Any body."""
    model, q, v, _ = state(machine)
    moving = motions(model, q, v)

    def at_origin(k):
        inertia = model.bodies[k].inertia
        R_k = moving[k].R if axes == "world" else np.eye(3)
        M_C = np.kron(np.diag([0.0, 1.0]), inertia.mass * np.eye(3))
        M_C[:3, :3] = R_k @ inertia.rotational @ R_k.T
        p = phi_of(R_k @ inertia.com)
        return p @ M_C @ p.T

    assert mismatch(model, M, diagonal(model, at_origin), q, axes=axes) < TOLERANCE


# -- section 2.1: serial chains --------------------------------------------------------


@on(*SERIAL)
def test_2_1_newton_euler_recursions_of_a_serial_chain(machine):
    """(2.1): V, alpha base to tip; f(k) = phi(k,k-1) f(k-1) + M alpha + b, T = H f.

    Printed as phi(k+1,k) f(k-1), which carries the force by the wrong lever.
    Serial chains, world axes (in which a lever is all that phi holds), no gravity.
    """
    model, q, v, acceleration = state(machine)
    moving = motions(model, q, v)
    at = {name: value(model, x, q, v, "world") for name, x in (("H", H), ("M", M), ("a", a))}
    bias = value(model, b, q, v, "world").reshape(-1, 6)
    rows = [joint.rows for joint in model.joints]
    own = [slice(6 * k, 6 * k + 6) for k in range(len(rows))]

    def lever(k):
        """phi(k+1,k) of the paper: from body k to its parent, the world for a root."""
        inboard = moving[k - 1].p if k > 0 else np.zeros(3)
        return phi_of(moving[k].p - inboard)

    velocity, alpha = [], []
    for k, row in enumerate(rows):
        H_star = at["H"][row, own[k]].T
        V_k, alpha_k = H_star @ v[row], H_star @ acceleration[row] + at["a"][own[k]]
        if k > 0:
            V_k, alpha_k = V_k + lever(k).T @ velocity[-1], alpha_k + lever(k).T @ alpha[-1]
        velocity.append(V_k)
        alpha.append(alpha_k)

    def forces(carry):
        f, T_ = np.zeros(6), {}
        for k in reversed(range(len(rows))):
            if k + 1 < len(rows):
                f = carry(k) @ f
            f = f + at["M"][own[k], own[k]] @ alpha[k] + bias[k]
            T_[k] = at["H"][rows[k], own[k]] @ f
        return np.concatenate([T_[k] for k in range(len(rows))])

    V_true, alpha_true, _ = classical_motion(model, q, v, acceleration, "world")
    T_true = joint_forces(model, q, v, acceleration, gravity=False)
    assert relative_difference(velocity, V_true) < TOLERANCE
    assert relative_difference(alpha, alpha_true) < TOLERANCE
    assert relative_difference(forces(lambda k: lever(k + 1)), T_true) < TOLERANCE
    assert relative_difference(forces(lever), T_true) > MARGIN  # as printed


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


@on(*SERIAL)
@AXES
def test_2_2_stacked_newton_euler_equations(machine, axes):
    """(2.2): V = E_phi* V + H* beta and so on. Serial chains; no gravity."""
    stacked_equations_hold(machine, axes)


@on(*SERIAL)
@AXES
def test_2_3_block_matrices_of_a_serial_chain(machine, axes):
    """(2.3): E_phi has phi(k+1,k) one block off the diagonal, H and M are block diagonal.

    H(k) is read off unit speeds: column a of H*(k) is the velocity of body k
    when only speed a of its own joint moves. Serial chains.
    """
    model, q, v, _ = state(machine)
    assert is_serial(model)
    moving = motions(model, q, v)
    expected = assemble(
        model, lambda i, k: block_phi(model, moving, k, axes) if i == k - 1 else None
    )
    assert mismatch(model, E_phi, expected, q, axes=axes) < TOLERANCE

    H_star = np.zeros((6 * len(model.bodies), model.nv))
    for i, s in directions(model):
        unit = tangent(model, i, s)
        own = motions(model, q, unit)[i]
        column = own.V if axes == "world" else own.turn.T @ own.V
        H_star[6 * i : 6 * i + 6, model.joints[i].rows.start + s] = column
    assert mismatch(model, H, H_star.T, q, axes=axes) < TOLERANCE


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


@on(*SERIAL)
@AXES
def test_2_4_phi_is_the_nilpotent_series_of_E_phi(machine, axes):
    """(2.4): E_phi^n = 0, phi = (I - E_phi)^-1 = I + E_phi + ... with blocks
    phi(i,j) = phi(i,i-1) ... phi(j+1,j). Serial chains."""
    model, q, _, _ = state(machine)
    nilpotent_series_holds(model, E_phi, phi, phi_by_products(model, q, axes), q, axes)


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


@on(*SERIAL)
@AXES
def test_2_5_operator_equations_of_motion_of_a_serial_chain(machine, axes):
    """(2.5): V = phi* H* beta, alpha = phi*(H* beta_dot + a), f = phi (M alpha + b),
    T = H f = Mass beta_dot + C. Serial chains; no gravity, no rotors.

    The witness: wrenches from the momentum rates of the outboard bodies; each
    column of Mass is the T of one unit acceleration at rest.
    """
    operator_equations_of_motion_hold(machine, axes)


# -- section 2.2: trees ----------------------------------------------------------------


@on(*TREES, "serial_revolute")
def test_2_6_branches_partition_the_tree(machine):
    """(2.6): n = sum n_j and N = sum N_j over the branches. Trees and forests."""
    model = MARKET[machine]()
    chains = branches(model)
    assert sorted(k for chain in chains for k in chain) == list(range(len(model.bodies)))
    assert sum(len(chain) for chain in chains) == len(model.bodies)
    assert sum(model.joints[k].kind.nv for chain in chains for k in chain) == model.nv
    assert (len(chains) == 1) == is_serial(model)


@on(*TREES)
@AXES
def test_2_7_E_phi_by_branches(machine, axes):
    """(2.7): E_phi(j,k) is the serial one for j = k; has the single block phi(1_j, n_k) when
    branch j directly carries branch k; else 0; and is strictly triangular. Trees and forests.

    1_j is the tip link of branch j, n_k the base link of branch k.
    """
    model, q, v, _ = state(machine)
    moving, chains = motions(model, q, v), branches(model)
    expected = np.zeros((6 * len(model.bodies),) * 2)

    def put(i, k):
        expected[6 * i : 6 * i + 6, 6 * k : 6 * k + 6] = block_phi(model, moving, k, axes)

    for k, chain in enumerate(chains):
        for i, j in itertools.pairwise(chain):
            put(i, j)
        direct = predecessor(model, chains, k)
        if direct is not None:
            put(chains[direct][-1], chain[0])
    assert mismatch(model, E_phi, expected, q, axes=axes) < TOLERANCE
    assert not np.any(np.tril(pp.as_matrix(model, E_phi, q, axes=axes)))


@on(*TREES)
@AXES
def test_2_8_stacked_newton_euler_equations_on_trees(machine, axes):
    """(2.8): the stacked equations (2.2) on trees and forests; no gravity."""
    stacked_equations_hold(machine, axes)


@on(*TREES)
@AXES
def test_2_9_phi_is_the_nilpotent_series_on_trees(machine, axes):
    """(2.9): E_phi^n = 0, phi = (I - E_phi)^-1 = I + E_phi + ... Trees and forests.

    The power that vanishes first is the depth of the tree, not n.
    """
    model, q, _, _ = state(machine)
    nilpotent_series_holds(model, E_phi, phi, phi_by_products(model, q, axes), q, axes)
    assert max(model.tree.depth) < len(model.bodies)


@on(*TREES)
@AXES
def test_2_10_phi_by_branches(machine, axes):
    """(2.10): phi(j,k) is serial for j = k, {phi(m_j, l_k)} if j is a predecessor of k, else 0.

    phi(m,l) from the geometry alone: the lever between two origins and the turn
    between two frames, whatever lies on the path. Trees and forests.
    """
    model, q, v, _ = state(machine)
    moving, chains = motions(model, q, v), branches(model)
    branch_of = {k: j for j, chain in enumerate(chains) for k in chain}

    def is_predecessor(j, k):
        while k is not None and k != j:
            k = predecessor(model, chains, k)
        return k == j

    def phi_between(i, k):
        j, l = branch_of[i], branch_of[k]
        if not is_predecessor(j, l) or (j == l and i > k):
            return None
        if axes == "world":
            return phi_of(moving[k].p - moving[i].p)
        turn = moving[i].R.T
        return phi_of(turn @ (moving[k].p - moving[i].p), turn @ moving[k].R)

    assert mismatch(model, phi, assemble(model, phi_between), q, axes=axes) < TOLERANCE


@on(*TREES)
@AXES
def test_2_11_operator_equations_of_motion_on_trees(machine, axes):
    """(2.11): the operator equations of motion (2.5) on trees and forests; no gravity."""
    operator_equations_of_motion_hold(machine, axes)


@on(*SERIAL, *TREES, *ROTORS)
def test_2_12_bias_free_equations_of_motion(machine):
    """(2.12): Mass beta_dot = T_hat, T_hat = T - C. Any machine.

    Here with gravity (in C) and rotor inertia (in Mass): T of known
    accelerations comes from 3-vector mechanics, and a dense solve must return
    these accelerations.
    """
    model, q, v, acceleration = state(machine)
    T_ = applied_forces(model, q, v, acceleration)
    T_hat = value(model, T - C, q, v, T=T_)
    solved = np.linalg.solve(pp.as_matrix(model, Mass, q), T_hat)
    assert relative_difference(solved, acceleration) < TOLERANCE


@on(*SERIAL, *TREES)
@AXES
def test_2_13_points_by_blocks(machine, axes):
    """(2.13): B(m,k) = phi(O_m, C_k) if point C_k is on link m, else 0. Any machine."""
    model, q, v, _ = state(machine)
    moving, points = motions(model, q, v), points_on(model)
    expected = np.zeros((6 * len(model.bodies), 6 * len(points)))
    for e, point in enumerate(points):
        m, _ = model.locate(point)
        lever = point_motion(model, moving, point).p - moving[m].p
        if axes == "link":
            lever = moving[m].R.T @ lever
        expected[6 * m : 6 * m + 6, 6 * e : 6 * e + 6] = phi_of(lever)
    assert mismatch(model, B, expected, q, axes=axes, points=points) < TOLERANCE


@on(*SERIAL, *TREES)
@AXES
def test_2_14_jacobian_at_several_points_of_several_bodies(machine, axes):
    """(2.14): V~ = B* V = J beta, J = B* phi* H*. Any machine, several points per body.

    The witness: the velocity of each point and the angular velocity of its
    body, from positions and attitudes, one unit speed at a time.
    """
    model, q, v, _ = state(machine)
    points = points_on(model)

    def velocities(speeds):
        moving = motions(model, q, speeds)
        at = [point_motion(model, moving, point) for point in points]
        return np.concatenate([m.V if axes == "world" else m.turn.T @ m.V for m in at])

    columns = np.array([velocities(tangent(model, *ia)) for ia in directions(model)]).T
    where = {"q": q, "v": v, "axes": axes, "points": points}
    assert mismatch(model, B.T @ phi.T @ H.T, columns, **where) < TOLERANCE
    assert mismatch(model, B.T @ V, velocities(v), **where) < TOLERANCE


# -- section 2.3: closed topologies ----------------------------------------------------


@GRASPS
def test_2_15_two_trees_taken_as_one_are_block_diagonal(kinds):
    """(2.15) and the remark before (3.13): psi = diag(psi_P, psi_S), H = diag(H_P, H_S), ...,
    so T_hat_P = Mass_P beta_dot_P and T_hat_S = Mass_S beta_dot_S side by side. Forests."""
    grasp = Grasp(kinds)
    n = grasp.arm.nq
    for letter in (H, phi, M, psi, P, D, Mass):
        primary = pp.as_matrix(grasp.arm, letter, grasp.q_open[:n])
        secondary = pp.as_matrix(grasp.object, letter, grasp.q_open[n:])
        corner = np.zeros((len(primary), secondary.shape[1]))
        other = np.zeros((len(secondary), primary.shape[1]))
        expected = np.block([[primary, corner], [other, secondary]])
        assert mismatch(grasp.open, letter, expected, grasp.q_open) < TOLERANCE, letter


@GRASPS
def test_2_16_rigid_coupling_needs_opposite_signs(kinds):
    """(2.16) with sec. 2.3: A [J_P beta_P; J_S beta_S] = U~ = 0 for a rigid grasp.

    The text says both that Q_P = -Q_S and that rigid coupling has Q_P = I and
    Q_S = I; the relative velocity vanishes for Q_S = -I. World axes. The
    speeds are those of the machine with the object welded to the arm.
    """
    grasp = Grasp(kinds)
    velocities = value(grasp.open, J @ beta, grasp.q_open, grasp.v_open, "world", grasp.points)
    size = np.linalg.norm(velocities)
    assert np.linalg.norm(RIGID @ velocities) < TOLERANCE * size
    assert np.linalg.norm(PRINTED_RIGID @ velocities) > MARGIN * size


@GRASPS
def test_2_17_closed_chain_equations_of_motion(kinds):
    """(2.17): [[Mass, J* A*], [A J, 0]] [beta_dot; f~] = [T_hat; U], U = dU~/dt - A J_dot beta.

    The witness: the machine with the object welded on, an open chain. With
    Q_S = I as printed in sec. 2.3 the accelerations are wrong. U prints J_dot
    applied to V; J, and so J_dot, takes joint speeds. World axes, no gravity.
    N_C counts the freedoms left: N_P + N_S - N_E (printed N + N_S - N_E).
    """
    grasp = Grasp(kinds)
    n = grasp.arm.nv
    T_ = np.random.default_rng(5).normal(size=n)
    expected = value(grasp.welded, Mass.inv @ (T - C), grasp.q, grasp.v, T=T_)
    T_hat = value(grasp.open, T - C, grasp.q_open, grasp.v_open, T=np.append(T_, np.zeros(6)))
    mass, AJ, U = grasp.dense(RIGID)
    beta_dot_, f_ = constrained(mass, AJ, T_hat, U)
    assert relative_difference(beta_dot_[:n], expected) < TOLERANCE
    assert np.linalg.matrix_rank(AJ) == 6 == n + 6 - grasp.welded.nv  # N_E = N_P + N_S - N_C

    # Eliminating beta_dot, the second form: -(A Lambda A*) f~ = U - A J Mass^-1 T_hat.
    Lambda = value(grasp.open, J @ Mass.inv @ J.T, grasp.q_open, axes="world", points=grasp.points)
    right = U - AJ @ np.linalg.solve(mass, T_hat)
    assert relative_difference(-RIGID @ Lambda @ RIGID.T @ f_, right) < TOLERANCE

    mass, AJ, U = grasp.dense(PRINTED_RIGID)
    assert relative_difference(constrained(mass, AJ, T_hat, U)[0][:n], expected) > MARGIN
    with pytest.raises(pp.SpaceError):
        _ = J @ V


# -- section 3: articulated inertia and the factorization ------------------------------


@on(*SERIAL, *TREES, *ROTORS)
@AXES
def test_3_1_articulated_inertia(machine, axes):
    """(3.1): M = P - E_phi [P - P H* (H P H*)^-1 H P] E_phi*, P block diagonal.

    P(k) is the inertia of what lies outboard with all outboard joints free. Any
    machine; with rotors the inner inverse is (H P H* + Jm)^-1, and the
    printed form fails.
    """
    model, q, _, _ = state(machine)
    assert mismatch(model, P, articulated_by_elimination(model, q, axes), q, axes=axes) < TOLERANCE
    D_ = H @ P @ H.T + Jm
    equation = P - E_phi @ (P - P @ H.T @ D_.inv @ H @ P) @ E_phi.T
    assert mismatch(model, equation, M, q, axes=axes) < TOLERANCE
    if machine in ROTORS:
        printed = P - E_phi @ (P - P @ H.T @ blockdiag(H @ P @ H.T).inv @ H @ P) @ E_phi.T
        assert mismatch(model, printed, M, q, axes=axes) > MARGIN


@on(*SERIAL, *TREES)
@AXES
def test_3_2_articulated_letters_by_blocks(machine, axes):
    """(3.2): D = H P H*, G = P H* D^-1, K = E_phi G, tau = G H, tau_bar = I - tau,
    E_psi = E_phi tau_bar, with blocks psi(p,k) = phi(p,k) tau_bar(k). No rotors.

    The witness: G* gives the joint motion that leaves the least kinetic energy
    (the metric is P, found by elimination), so tau* projects on the joint's
    motions, and H tau_bar = 0.
    """
    model, q, _, _ = state(machine)
    P_ = articulated_by_elimination(model, q, axes)
    H_, E_ = pp.as_matrix(model, H, q, axes=axes), pp.as_matrix(model, E_phi, q, axes=axes)

    parent, D_, G_, tau_ = model.tree.parent, [], [], []
    for k in range(len(parent)):
        P_k, H_k = block(model, P_, k, k), block(model, H_, k, k, "joint", "body")
        root = np.linalg.cholesky(P_k)
        G_.append(np.linalg.lstsq(root.T @ H_k.T, root.T, rcond=None)[0].T)
        D_.append(H_k @ P_k @ H_k.T)
        tau_.append(G_[k] @ H_k)

    def memoryless(parts, rows, columns):
        return assemble(model, lambda i, k: parts[k] if i == k else None, rows, columns)

    def carried(parts, columns):
        """phi(p,k) parts(k) at (p,k)."""
        return assemble(
            model,
            lambda i, k: block(model, E_, i, k) @ parts[k] if parent[k] == i else None,
            columns=columns,
        )

    for letter, expected in (
        (D, memoryless(D_, "joint", "joint")),
        (G, memoryless(G_, "body", "joint")),
        (K, carried(G_, "joint")),
        (tau, memoryless(tau_, "body", "body")),
        (tau @ tau, tau),
        (tau_bar @ tau_bar, tau_bar),
        (E_psi, carried([np.eye(6) - x for x in tau_], "body")),
    ):
        assert mismatch(model, letter, expected, q, axes=axes) < TOLERANCE, letter
    assert mismatch(model, H @ tau, H, q, axes=axes) < TOLERANCE  # H tau_bar = 0


@on(*SERIAL, *TREES, *ROTORS)
@AXES
def test_3_3_psi_is_the_nilpotent_series_of_E_psi(machine, axes):
    """(3.3): E_psi^n = 0, psi = (I - E_psi)^-1 = I + E_psi + E_psi^2 + ... Any machine."""
    model, q, _, _ = state(machine)
    nilpotent_series_holds(model, E_psi, psi, psi_by_products(model, q, axes), q, axes)


@on(*SERIAL, *TREES, *ROTORS)
@AXES
def test_lemma_1_innovations_factorization(machine, axes):
    """Lemma 1 (3.4): Mass = [I + H phi K] D [I + H phi K]*. Any machine.

    With rotors Mass = H phi M phi* H* + Jm; the left side is that sum.
    """
    model, q, _, _ = state(machine)
    left = H @ phi @ M @ phi.T @ H.T + Jm
    right = (I + H @ phi @ K) @ D @ (I + H @ phi @ K).T
    assert mismatch(model, left, right, q, axes=axes) < TOLERANCE
    if machine in ROTORS:
        assert mismatch(model, H @ phi @ M @ phi.T @ H.T, right, q, axes=axes) > MARGIN


@on(*SERIAL, *TREES, *ROTORS)
@AXES
def test_lemma_2_inverse_of_the_innovations_factor(machine, axes):
    """Lemma 2 (3.5): [I + H phi K]^-1 = I - H psi K. Any machine."""
    model, q, _, _ = state(machine)
    inverse = np.linalg.inv(value(model, I + H @ phi @ K, q, axes=axes))
    assert mismatch(model, I - H @ psi @ K, inverse, q, axes=axes) < TOLERANCE


@on(*SERIAL, *TREES, *ROTORS)
@AXES
def test_lemma_3_inverse_of_the_mass_matrix(machine, axes):
    """Lemma 3 (3.6): Mass^-1 = [I - H psi K]* D^-1 [I - H psi K]. Any machine."""
    model, q, _, _ = state(machine)
    inverse = np.linalg.inv(pp.as_matrix(model, Mass, q))
    right = (I - H @ psi @ K).T @ D.inv @ (I - H @ psi @ K)
    assert mismatch(model, inverse, right, q, axes=axes) < TOLERANCE


@on(*SERIAL, *TREES, *ROTORS)
@AXES
def test_3_7_forward_dynamics_of_a_tree(machine, axes):
    """(3.7): beta_dot_f = [I - H psi K]* D^-1 [I - H psi K] T_hat. Any machine.

    T_hat = T - C holds gravity; T of known accelerations is that of 3-vector
    mechanics, rotors added.
    """
    model, q, v, acceleration = state(machine)
    T_ = applied_forces(model, q, v, acceleration)
    right = (I - H @ psi @ K).T @ D.inv @ (I - H @ psi @ K) @ (T - C)
    assert mismatch(model, right, acceleration, q, v, axes, T=T_) < TOLERANCE


@on(*SERIAL, *TREES)
@AXES
def test_3_8_free_accelerations_of_the_points(machine, axes):
    """(3.8): alpha_f~ = J beta_dot_f = B* alpha_f, alpha_f = phi* H* beta_dot_f. Any machine.

    The witness: point accelerations at rest, where no bias is left.
    """
    model, q, v, acceleration = state(machine)
    points = points_on(model)
    moving = motions(model, q, 0 * v, acceleration)
    at = [point_motion(model, moving, point) for point in points]
    expected = np.concatenate([m.alpha if axes == "world" else m.turn.T @ m.alpha for m in at])
    left = B.T @ phi.T @ H.T @ beta_dot
    values = {"axes": axes, "points": points, "beta_dot": acceleration}
    assert mismatch(model, left, expected, q, **values) < TOLERANCE


@on(*SERIAL, *TREES, *ROTORS)
@AXES
def test_lemma_4_filtered_propagation(machine, axes):
    """Lemma 4 (3.9): (I - H psi K) H phi = H psi. Any machine."""
    model, q, _, _ = state(machine)
    assert mismatch(model, (I - H @ psi @ K) @ H @ phi, H @ psi, q, axes=axes) < TOLERANCE


@on(*SERIAL, *TREES, *ROTORS)
@AXES
def test_free_accelerations_are_an_intermediate_of_forward_dynamics(machine, axes):
    """After (3.9): alpha_f = phi* H* Mass^-1 T_hat = psi* H* D^-1 [I - H psi K] T_hat.

    Any machine. Appendix A prints it without H*: psi* D^-1 (..), whose spaces do not meet.
    """
    model, q, v, _ = state(machine)
    T_ = np.random.default_rng(4).normal(size=model.nv)
    solved = np.linalg.solve(pp.as_matrix(model, Mass, q), value(model, T - C, q, v, T=T_))
    left = value(model, phi.T @ H.T @ beta_dot, q, axes=axes, beta_dot=solved)
    right = psi.T @ H.T @ D.inv @ (I - H @ psi @ K) @ (T - C)
    assert mismatch(model, left, right, q, v, axes, T=T_) < TOLERANCE
    with pytest.raises(pp.SpaceError):
        _ = psi.T @ D.inv @ (I - H @ psi @ K) @ (T - C)


@on(*SERIAL, *TREES, *ROTORS)
@AXES
def test_3_10_operational_compliance(machine, axes):
    """(3.10): Lambda = J Mass^-1 J* = B* Omega B, Omega = psi* H* D^-1 H psi.

    Any machine; several points on several bodies, two of them on one.
    """
    model, q, _, _ = state(machine)
    points = points_on(model)
    J_ = value(model, J, q, axes=axes, points=points)
    Lambda = J_ @ np.linalg.solve(pp.as_matrix(model, Mass, q), J_.T)
    right = B.T @ psi.T @ H.T @ D.inv @ H @ psi @ B
    assert mismatch(model, right, Lambda, q, axes=axes, points=points) < TOLERANCE
    assert mismatch(model, B.T @ Omega @ B, Lambda, q, axes=axes, points=points) < TOLERANCE


# -- section 3: closed chains ----------------------------------------------------------


@LOOPS
def test_3_11_steps_A_to_F(machine):
    """Steps (A)-(F) with (3.11): f~ = [A Lambda A*]^-1 (A alpha_f~ - U),
    beta_dot = beta_dot_f - Mass^-1 J* A* f~. Trees and forests with a loop, rotors too.

    The witness: the dense solve of (2.17).
    """
    loop = Loop(machine)
    A, x = loop.A, vector("x", "joint")
    factor = I - H @ psi @ K
    free = loop.dense(factor.T @ D.inv @ factor @ x, x=loop.T_hat)  # (A)
    alpha_f = loop.dense(J @ beta_dot, beta_dot=free)  # (B)
    Lambda = loop.dense(B.T @ Omega @ B)  # (C)
    f_ = np.linalg.solve(A @ Lambda @ A.T, A @ alpha_f - loop.U)  # (D)
    delta = -loop.dense(factor.T @ D.inv @ factor @ x, x=loop.dense(J).T @ A.T @ f_)  # (E)
    assert relative_difference(f_, loop.f) < TOLERANCE
    assert relative_difference(free + delta, loop.beta_dot) < TOLERANCE  # (F)


@GRASPS
def test_step_D_by_the_secondary_system(kinds):
    """Step (D), second form, with W = (A_P Lambda_P A_P*)^-1:

        beta_dot_S = [Mass_S + J_S* A_S* W A_S J_S]^-1 [T_hat_S - J_S* A_S* W (A_P alpha_f_P - U)]
        f~ = W [(A_P alpha_f_P + A_S J_S beta_dot_S) - U]

    Needs A_P Lambda_P A_P* invertible: here an arm of seven freedoms or of six.
    """
    grasp = Grasp(kinds)
    n = grasp.arm.nv
    T_hat = np.random.default_rng(7).normal(size=n + 6)
    mass, AJ, U = grasp.dense(RIGID)
    expected, f_expected = constrained(mass, AJ, T_hat, U)
    AJ_P, AJ_S = AJ[:, :n], AJ[:, n:]
    W = np.linalg.inv(AJ_P @ np.linalg.solve(mass[:n, :n], AJ_P.T))
    A_alpha_P = AJ_P @ np.linalg.solve(mass[:n, :n], T_hat[:n])
    beta_dot_S = np.linalg.solve(
        mass[n:, n:] + AJ_S.T @ W @ AJ_S, T_hat[n:] - AJ_S.T @ W @ (A_alpha_P - U)
    )
    f_ = W @ (A_alpha_P + AJ_S @ beta_dot_S - U)
    assert relative_difference(beta_dot_S, expected[n:]) < TOLERANCE
    assert relative_difference(f_, f_expected) < TOLERANCE


@LOOPS
def test_3_12_correction_accelerations(machine):
    """(3.12): beta_dot_delta = -Mass^-1 J* A* f~ = -[I - H psi K]* D^-1 H psi B A* f~.

    Trees and forests with a loop; the witness: the dense solve of (2.17).
    """
    loop = Loop(machine)
    correction = -loop.dense((I - H @ psi @ K).T @ D.inv @ H @ psi @ B) @ loop.A.T @ loop.f
    assert relative_difference(correction, loop.beta_dot - loop.free) < TOLERANCE


@LOOPS
def test_3_13_closed_topology_forward_dynamics(machine):
    """(3.13): with b = D^-1/2 H psi B A* and W = (A Lambda A*)^-1,

        beta_dot = [I - H psi K]* D^-1/2 {[I - b W b*] D^-1/2 [I - H psi K] T_hat + b W U}

    Printed with b = H psi B A* and without the term in U: wrong on both
    counts, each shown alone. D^-1/2 is the inverse Cholesky factor, its
    transpose where it stands on the left. Trees and forests with a loop.
    """
    loop = Loop(machine)
    A, factor = loop.A, I - H @ psi @ K
    root = D.sqrt.inv
    inner = np.linalg.inv(A @ loop.dense(B.T @ Omega @ B) @ A.T)
    left, right = loop.dense(factor.T @ root.T), loop.dense(root @ factor) @ loop.T_hat
    b_ = loop.dense(root @ H @ psi @ B) @ A.T
    b_printed = loop.dense(H @ psi @ B) @ A.T

    def accelerations(b_x, U):
        return left @ (right - b_x @ inner @ (b_x.T @ right) + b_x @ inner @ U)

    assert relative_difference(accelerations(b_, loop.U), loop.beta_dot) < TOLERANCE
    assert relative_difference(accelerations(b_, 0 * loop.U), loop.beta_dot) > MARGIN
    mass, AJ = loop.dense(Mass), A @ loop.dense(J)
    without_U, _ = constrained(mass, AJ, loop.T_hat, 0 * loop.U)
    assert relative_difference(accelerations(b_, 0 * loop.U), without_U) < TOLERANCE
    assert relative_difference(accelerations(b_printed, 0 * loop.U), without_U) > MARGIN


# -- appendix A: recursions ------------------------------------------------------------


@on(*SERIAL, *TREES, *ROTORS)
def test_A_1_recursion_for_articulated_inertia(machine):
    """(A.1): P(k) = sum psi P psi* + M; D, G, tau_bar, psi, K tip to base. Trees and forests.

    The printed psi P psi* needs D = H P H*: with rotor inertia it fails, and
    psi P phi* takes its place.
    """
    model, q, _, _ = state(machine)
    recursion, parent = Recursion(model, q), model.tree.parent
    P_, D_, G_, psi_, K_ = recursion.articulated(symmetric=machine not in ROTORS)
    expected = articulated_by_elimination(model, q, "link")
    assert relative_difference(diagonal(model, P_.__getitem__), expected) < TOLERANCE
    for letter, at, rows, columns in (
        (D, lambda i, k: D_[k] if i == k else None, "joint", "joint"),
        (G, lambda i, k: G_[k] if i == k else None, "body", "joint"),
        (E_psi, lambda i, k: psi_[k] if i == parent[k] else None, "body", "body"),
        (K, lambda i, k: K_[k] if i == parent[k] else None, "body", "joint"),
    ):
        assert mismatch(model, letter, assemble(model, at, rows, columns), q) < TOLERANCE
    if machine in ROTORS:
        printed, *_ = recursion.articulated(symmetric=True)
        assert relative_difference(diagonal(model, printed.__getitem__), expected) > MARGIN


@on(*SERIAL, *TREES, *ROTORS)
def test_A_2_recursion_for_forward_dynamics(machine):
    """(A.2): z = sum psi z + K T_hat, eps = T_hat - H z, nu = D^-1 eps tip to base;
    alpha_f = psi* alpha_f + H* nu, beta_dot_f = nu - K* alpha_f base to tip.

    Printed eps = T - H z fails wherever there is a bias. Trees and forests.
    """
    model, q, v, acceleration = state(machine)
    T_ = applied_forces(model, q, v, acceleration)
    T_hat = value(model, T - C, q, v, T=T_)
    recursion = Recursion(model, q)
    _, D_, _, psi_, K_ = recursion.articulated(symmetric=False)

    def accelerations(innovation):
        z, nu = [None] * len(D_), [None] * len(D_)
        for k in model.tree.tip_to_base:
            z[k] = np.zeros(6)
            for c in model.tree.children[k]:
                z[k] = z[k] + psi_[c] @ z[c] + K_[c] @ by_joint(model, T_hat)[c]
            nu[k] = np.linalg.solve(D_[k], by_joint(model, innovation)[k] - recursion.H(k) @ z[k])
        return recursion.outward(nu, psi_, K_)

    alpha_f, beta_dot_f = accelerations(T_hat)
    assert relative_difference(beta_dot_f, acceleration) < TOLERANCE
    moving = motions(model, q, 0 * v, acceleration)
    assert relative_difference(alpha_f, [m.turn.T @ m.alpha for m in moving]) < TOLERANCE
    assert relative_difference(accelerations(T_)[1], acceleration) > MARGIN  # as printed


@on(*SERIAL)
@AXES
def test_A_3_upsilon_on_serial_chains(machine, axes):
    """(A.3): H* D^-1 H = Y - E_psi* Y E_psi with Y block diagonal. Serial chains."""
    model, q, _, _ = state(machine)
    right = Y - E_psi.T @ Y @ E_psi
    assert mismatch(model, H.T @ D.inv @ H, right, q, axes=axes) < TOLERANCE


@on("tree_one_dof", "tree_of_every_kind", "spacecraft", "reflected_rotors")
@AXES
def test_A_3_upsilon_on_trees_keeps_only_diagonal_blocks(machine, axes):
    """(A.3) on trees: H* D^-1 H = Y - blockdiag(E_psi* Y E_psi).

    E_psi* Y E_psi has a block for every pair of siblings, so no block-diagonal
    Y satisfies the printed equation.
    """
    model, q, _, _ = state(machine)
    left = H.T @ D.inv @ H
    corrected = Y - blockdiag(E_psi.T @ Y @ E_psi)
    assert mismatch(model, left, corrected, q, axes=axes) < TOLERANCE
    assert mismatch(model, left, Y - E_psi.T @ Y @ E_psi, q, axes=axes) > MARGIN
    siblings = value(model, E_psi.T @ Y @ E_psi - blockdiag(E_psi.T @ Y @ E_psi), q, axes=axes)
    parent = model.tree.parent
    for i in range(len(parent)):
        for k in range(len(parent)):
            if i == k or parent[i] != parent[k] or parent[i] == WORLD:
                assert not np.any(block(model, siblings, i, k))


@on(*SERIAL, *TREES, *ROTORS)
@AXES
def test_upsilon_is_the_block_diagonal_of_omega(machine, axes):
    """After (A.4): Y is the block diagonal of Omega = psi* H* D^-1 H psi. Any machine."""
    model, q, _, _ = state(machine)
    dense = psi.T @ H.T @ D.inv @ H @ psi
    assert mismatch(model, Y, blockdiag(dense), q, axes=axes) < TOLERANCE


@on(*SERIAL, "puma560")
@AXES
def test_lemma_5_decomposition_of_omega_on_serial_chains(machine, axes):
    """Lemma 5 (A.4): Omega = Y + psi~* Y + Y psi~. Serial chains only."""
    model, q, _, _ = state(machine)
    right = Y + psi_tilde.T @ Y + Y @ psi_tilde
    assert mismatch(model, Omega, right, q, axes=axes) < TOLERANCE


@on("tree_one_dof", "tree_of_every_kind", "free_base_tree", "spacecraft", "reflected_rotors")
@AXES
def test_lemma_5_on_trees_by_nearest_common_ancestors(machine, axes):
    """Lemma 5 on trees: Omega(i,j) = psi*(c,i) Y(c) psi(c,j), c the nearest common ancestor.

    The printed Y + psi~* Y + Y psi~ leaves the blocks of bodies on different
    limbs at zero. Trees.
    """
    model, q, _, _ = state(machine)
    printed = Y + psi_tilde.T @ Y + Y @ psi_tilde
    assert mismatch(model, Omega, printed, q, axes=axes) > MARGIN
    corrected = omega_by_common_ancestors(model, q, axes)
    assert mismatch(model, Omega, corrected, q, axes=axes) < TOLERANCE


@on(*SERIAL, *TREES, *ROTORS)
@AXES
def test_A_5_recursion_for_omega(machine, axes):
    """(A.5): Y(k) = psi* Y psi + H* D^-1 H base to tip; Omega(k,k) = Y(k),
    Omega(k,m) = Omega(k,m+1) psi(m+1,m) outward of k. Any machine.

    Corrected in two places: the step prints Y(k,m+1), which is zero beyond the
    first; and bodies on different limbs get the block of their nearest common
    ancestor instead of 0, so that 0 is right only between the trees of a forest.
    """
    model, q, _, _ = state(machine)
    tree, chain = model.tree, psi_by_products(model, q, axes)
    Y_ = pp.as_matrix(model, Y, q, axes=axes)

    def omega(inner, limbs):
        """Blocks by carrying `inner(k, p, Omega(k,p))` outward; `limbs` for unrelated bodies."""
        found = {}
        for k in range(len(tree)):
            found[k, k] = block(model, Y_, k, k)
            for m in range(k + 1, tree.end[k]):
                p = tree.parent[m]
                found[k, m] = inner(k, p, found[k, p]) @ chain[p, m]
                found[m, k] = found[k, m].T
        for i in range(len(tree)):
            for j in range(len(tree)):
                if not (tree.is_inboard(i, j) or tree.is_inboard(j, i)):
                    found[i, j] = limbs(i, j)
        return assemble(model, lambda i, j: found[i, j])

    def by_ancestor(i, j):
        c = tree.nearest_common_ancestor(i, j)
        return None if c == WORLD else chain[c, i].T @ block(model, Y_, c, c) @ chain[c, j]

    corrected = omega(lambda k, p, inner: inner, by_ancestor)
    assert mismatch(model, Omega, corrected, q, axes=axes) < TOLERANCE
    diagonal_only = omega(lambda k, p, inner: inner if k == p else 0 * inner, by_ancestor)
    assert mismatch(model, Omega, diagonal_only, q, axes=axes) > MARGIN
    zero_limbs = omega(lambda k, p, inner: inner, lambda i, j: None)
    if is_serial(model):
        assert mismatch(model, Omega, zero_limbs, q, axes=axes) < TOLERANCE
    else:
        assert mismatch(model, Omega, zero_limbs, q, axes=axes) > MARGIN


@on("tree_one_dof", "free_base_tree", "spacecraft")
def test_A_5_as_printed_gives_wrong_accelerations_of_a_loop(machine):
    """(A.5) as printed leaves out how two limbs load each other, so a loop that pins them
    together gets a wrong f~ and wrong accelerations. Trees with a loop between two limbs."""
    loop = Loop(machine)
    i, j = (loop.model.locate(point)[0] for point in loop.points)
    assert not loop.model.tree.is_inboard(i, j) and not loop.model.tree.is_inboard(j, i)
    printed = loop.dense(B.T @ (Y + psi_tilde.T @ Y + Y @ psi_tilde) @ B)
    corrected = (
        loop.dense(B).T @ omega_by_common_ancestors(loop.model, loop.q, "world") @ loop.dense(B)
    )
    alpha_f = loop.dense(J @ beta_dot, beta_dot=loop.free)

    def accelerations(Lambda):
        f_ = np.linalg.solve(loop.A @ Lambda @ loop.A.T, loop.A @ alpha_f - loop.U)
        return loop.free - loop.dense(Mass.inv @ J.T) @ loop.A.T @ f_

    assert relative_difference(accelerations(corrected), loop.beta_dot) < TOLERANCE
    assert relative_difference(accelerations(printed), loop.beta_dot) > MARGIN


@LOOPS
def test_A_6_recursion_for_the_correction_accelerations(machine):
    """(A.6): x = -B A* f~; z(k) = sum psi z + x(k), eps = H z, nu = D^-1 eps tip to base; then
    alpha = psi* alpha + H* nu, beta_dot_delta = nu - K* alpha base to tip.

    Printed z = psi z + K x, whose spaces do not meet (x is a body force, K
    takes joint forces), and eps = -H z, which turns the sign twice. Trees and
    forests with a loop; the witness: the dense solve of (2.17).
    """
    loop = Loop(machine)
    model = loop.model
    turns = [m.turn for m in motions(model, loop.q, loop.v)]
    x = -(loop.dense(B) @ loop.A.T @ loop.f).reshape(-1, 6)
    x = [turn.T @ part for turn, part in zip(turns, x, strict=True)]  # the recursion's link axes
    recursion = Recursion(model, loop.q)
    _, D_, _, psi_, K_ = recursion.articulated(symmetric=False)

    def correction(sign):
        z, nu = [None] * len(D_), [None] * len(D_)
        for k in model.tree.tip_to_base:
            z[k] = x[k] + sum((psi_[c] @ z[c] for c in model.tree.children[k]), np.zeros(6))
            nu[k] = np.linalg.solve(D_[k], sign * recursion.H(k) @ z[k])
        return recursion.outward(nu, psi_, K_)[1]

    assert relative_difference(correction(+1.0), loop.beta_dot - loop.free) < TOLERANCE
    assert relative_difference(correction(-1.0), loop.beta_dot - loop.free) > MARGIN
    with pytest.raises(pp.SpaceError):
        _ = psi @ K @ vector("x", "body")
