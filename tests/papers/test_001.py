"""[001] Rodriguez and Kreutz-Delgado, factorization and inversion of the mass matrix.

One test per printed result. The paper states them for serial arms of revolute
joints; they hold on any tree and forest, with joints of any kind and free
bases, and with rotor inertia where `Mass` and `D` carry Jm. Where that is not
so, the test says it. The paper's letters in ours: r is R, Phi is phi_tilde,
Psi is psi E_phi, theta_ddot is beta_dot. Gravity enters as the base's
acceleration: where the paper has a, here stands a + E gravity.
"""

import numpy as np
import pytest
from classical import joint_forces, joint_wrenches, motions, phi_of, point_motion
from equations import (
    MARGIN,
    TOLERANCE,
    assemble,
    block,
    directions,
    phi_by_products,
    relative_difference,
    tangent_derivative,
    time_derivative,
)
from recursions import (
    ALL,
    FREE_BASE,
    ROTORS,
    WITHOUT_ROTORS,
    diagonal,
    equations_of_motion,
    forward_dynamics,
    newton_euler,
    potential_gradient,
    products,
    riccati,
    state,
    with_gravity,
)

import phipsi as pp
from phipsi.model.tree import WORLD
from phipsi.operators import (
    B,
    C,
    D,
    E,
    E_phi,
    G,
    H,
    I,
    J,
    Jm,
    M,
    Mass,
    P,
    R,
    S,
    T,
    V,
    a,
    alpha,
    b,
    beta,
    beta_dot,
    f0,
    gravity,
    phi,
    phi_tilde,
    psi,
    psi_tilde,
    tau_bar,
)

Phi = phi_tilde
Psi = psi @ E_phi
a_g = a + E @ gravity  # the bias acceleration with gravity at the base


@pytest.fixture(params=ALL)
def s(request):
    """Every machine."""
    return state(request.param)


@pytest.fixture(params=WITHOUT_ROTORS)
def rotorless(request):
    """Every machine without rotor inertia."""
    return state(request.param)


@pytest.fixture(params=ROTORS)
def geared(request):
    """Machines with rotor inertia: a serial arm and a tree."""
    return state(request.param)


@pytest.fixture(params=FREE_BASE)
def floating(request):
    """Machines on a free base: with gravity, and without."""
    return state(request.param)


@pytest.fixture(
    params=[name for name in ALL if max(state(name).model.tree.depth) > 2 and name not in ROTORS]
)
def deep(request):
    """Machines without rotor inertia of more than two bodies in a row."""
    return state(request.param)


# -- II. state space model -------------------------------------------------------------


def test_equation_1_spatial_acceleration_is_the_rate_of_spatial_velocity(s):
    """(1): V(k) = [omega; v], alpha(k) = [omega_dot; v_dot], in inertial axes.

    Witness: first and second derivatives of the bodies' poses.
    """
    moving = motions(s.model, s.q, s.v, s.beta_dot)
    g = np.array([0.0, 0.0, 0.0, *s.model.gravity])
    assert s.mismatch(V, [body.V for body in moving]) < TOLERANCE
    assert s.mismatch(alpha, [body.alpha - g for body in moving]) < TOLERANCE


def test_equation_2_spatial_inertia(s):
    """(2): M(k) = [[I(k), m p~], [-m p~, m]], I(k) the inertia about O(k) by Steiner's rule."""
    assert s.mismatch(M, diagonal(s, s.M)) < TOLERANCE


def test_equation_3_transition_matrix_is_the_vector_between_two_origins(s):
    """(3): phi(i,j) = [[1, l~(i,j)], [0, 1]] in inertial axes, for i inboard of j.

    (17) makes these the blocks of the operator phi; bodies on different branches share none.
    """

    def phi_ij(i, j):
        return phi_of(s.arm(i, j)) if s.model.tree.is_inboard(i, j) else None

    assert s.mismatch(phi, assemble(s.model, phi_ij)) < TOLERANCE


def test_equation_4_transition_matrices_compose_and_invert(s):
    """(4): phi(i,i) = 1, phi^-1(i,j) = phi(j,i), phi(i,k) phi(k,j) = phi(i,j).

    On every i inboard of k inboard of j; phi(j,i), which goes outward, by (3).
    """
    matrix, tree = s.value(phi), s.model.tree
    for j in tree.base_to_tip:
        assert relative_difference(block(s.model, matrix, j, j), np.eye(6)) < TOLERANCE
        for k in tree.path(j):
            outward = block(s.model, matrix, k, j)
            assert relative_difference(np.linalg.inv(outward), phi_of(s.arm(j, k))) < TOLERANCE
            for i in tree.path(k):
                product = block(s.model, matrix, i, k) @ outward
                assert relative_difference(product, block(s.model, matrix, i, j)) < TOLERANCE


@pytest.mark.parametrize("axes", ["link", "world"])
def test_equation_5_transition_matrix_is_a_product_of_steps(s, axes):
    """(5): phi(i,k) = phi(i,i-1) ... phi(k+1,k), the steps along the path from k to i."""
    step = phi_by_products(s.model, s.q, axes)
    matrix = assemble(s.model, lambda i, k: step.get((i, k)))
    assert s.mismatch(phi, matrix, axes) < TOLERANCE


# -- III. recursive Newton-Euler equations ---------------------------------------------


def test_equations_6_to_9_outward_recursion(s):
    """(6)-(9): V(k) = phi* V(k+1) + H* beta, alpha(k) = phi* alpha(k+1) + H* beta_dot + a.

    At the tips V(0) = phi*(1,0) V(1), alpha(0) = phi*(1,0) alpha(1) + a(0). The
    loop gives what the poses' derivatives give, and a is the letter a.
    """
    loop, moving = newton_euler(s), motions(s.model, s.q, s.v, s.beta_dot)
    g = np.array([0.0, 0.0, 0.0, *s.model.gravity])
    tips = [point_motion(s.model, moving, point) for point in s.points]
    assert relative_difference(loop.V, [body.V for body in moving]) < TOLERANCE
    assert relative_difference(loop.alpha, [body.alpha - g for body in moving]) < TOLERANCE
    assert relative_difference(loop.V0, [tip.V for tip in tips]) < TOLERANCE
    assert relative_difference(loop.alpha0, [tip.alpha - g for tip in tips]) < TOLERANCE
    assert s.mismatch(a, loop.a) < TOLERANCE


def test_equations_10_to_12_inward_recursion(s):
    """(10)-(12): f(k) = phi(k,k-1) f(k-1) + M alpha + b, f(0) = f_ext, T = H f.

    The loop gives the forces through the joints that the rates of momentum ask
    for, and b is the letter b. Rotor inertia adds Jm beta_dot to T.
    """
    loop, moving = newton_euler(s), motions(s.model, s.q, s.v, s.beta_dot)
    tip_forces = list(zip(s.points, s.f0, strict=True))
    wrenches = joint_wrenches(s.model, moving, tip_forces=tip_forces)
    f = [body.turn @ wrench for body, wrench in zip(moving, wrenches, strict=True)]
    assert relative_difference(loop.f, f) < TOLERANCE
    assert s.mismatch(b, loop.b) < TOLERANCE
    T_k = joint_forces(s.model, s.q, s.v, s.beta_dot, tip_forces=tip_forces)
    assert s.mismatch(loop.T, T_k + s.value(Jm @ beta_dot)) < TOLERANCE


def test_equation_13_joint_axis_of_a_revolute_joint():
    """(13): H*(k) = [h(k); 0]; h(k) is fixed on the inboard body as well as on the outboard one.

    Serial arm of revolute joints.
    """
    s = state("serial_revolute")
    H_star = s.value(H.T)
    for k, (joint, p) in enumerate(zip(s.model.joints, s.model.tree.parent, strict=True)):
        inboard = np.eye(3) if p == WORLD else s.poses[p][0]
        h = inboard @ np.array(joint.placement.rotation) @ np.array(joint.kind.axis)
        column = block(s.model, H_star, k, k, "body", "joint")[:, 0]
        assert relative_difference(column, np.concatenate([h, np.zeros(3)])) < TOLERANCE


# -- IV. spatial operators -------------------------------------------------------------


def test_equations_19_and_20_jacobian_factorization(s):
    """(19), (20): V(0) = J theta_dot, J = B* phi* H*.

    Witness: column by column the rate of the tips' poses. On trees with a point on every tip.
    """
    columns = []
    for unit in np.eye(s.model.nv):
        moving = motions(s.model, s.q, unit)
        columns.append([point_motion(s.model, moving, point).V for point in s.points])
    matrix = np.array([np.concatenate(column) for column in columns]).T
    assert s.mismatch(B.T @ phi.T @ H.T, matrix) < TOLERANCE
    assert s.mismatch(J, matrix) < TOLERANCE


def test_equation_21_velocities_are_sums_over_the_inboard_joints(s):
    """(21): V(k) = sum_{i inboard of k} phi*(i,k) H*(i) theta_dot(i), V = phi* H* theta_dot.

    V(0) = B* phi* H* theta_dot.
    """
    sums = []
    for k in s.model.tree.base_to_tip:
        terms = [phi_of(s.arm(i, k)).T @ s.H[i].T @ s.speeds(i, s.v) for i in s.model.tree.path(k)]
        sums.append(sum(terms))
    assert s.mismatch(phi.T @ H.T @ beta, sums) < TOLERANCE
    V0 = [step.T @ sums[k] for k, step in s.tips]
    assert s.mismatch(B.T @ phi.T @ H.T @ beta, V0) < TOLERANCE


# -- V. recursive Newton-Euler factorization -------------------------------------------


@pytest.mark.parametrize("axes", ["link", "world"])
def test_equation_22_newton_euler_factorization(s, axes):
    """(22): Mass = H phi M phi* H*, plus Jm where there are rotors.

    Witnesses: the Newton-Euler recursion fed with unit accelerations, and the
    kinetic energy of the bodies.
    """
    matrix = equations_of_motion(s)[0]
    assert s.mismatch(H @ phi @ M @ phi.T @ H.T + Jm, matrix, axes) < TOLERANCE
    assert s.mismatch(Mass, matrix, axes) < TOLERANCE
    assert np.linalg.eigvalsh(matrix).min() > 0.0

    energy = 0.5 * s.v @ s.value(Jm) @ s.v
    for body, motion in zip(s.model.bodies, motions(s.model, s.q, s.v), strict=True):
        m, centre = body.inertia.mass, motion.at(np.array(body.inertia.com))
        omega = motion.R.T @ motion.omega
        energy += 0.5 * m * centre.v @ centre.v
        energy += 0.5 * omega @ np.array(body.inertia.rotational) @ omega
    assert s.mismatch(0.5 * beta.T @ Mass @ beta, energy, axes) < TOLERANCE


@pytest.mark.parametrize("axes", ["link", "world"])
def test_equation_23_equations_of_motion(s, axes):
    """(23): T = Mass theta_ddot + C + J* f(0), C = H phi (M phi* a + b), J* = H phi B.

    Witness: the Newton-Euler recursion (6)-(12).
    """
    C_printed = H @ phi @ (M @ phi.T @ a_g + b)
    expected = newton_euler(s).T
    for bias in (C_printed, C):
        T_k = Mass @ beta_dot + bias + H @ phi @ B @ f0
        assert s.mismatch(T_k, expected, axes) < TOLERANCE
        assert s.mismatch(Mass @ beta_dot + bias + J.T @ f0, expected, axes) < TOLERANCE


@pytest.mark.parametrize(
    "name", ["serial_revolute", "serial_revolute_prismatic", "tree_one_dof", *ROTORS]
)
def test_equation_23_is_lagranges_equation(name):
    """(23) without tip force: T = d/dt (Mass v) - 1/2 d(v* Mass v)/dq + d(potential energy)/dq.

    Domain: speeds that are rates of coordinates; quasi-velocities add brackets.
    """
    s = state(name)
    rate = time_derivative(s.model, Mass @ beta, s.q, s.v, acceleration=s.beta_dot)
    energy = 0.5 * beta.T @ Mass @ beta
    slope = [tangent_derivative(s.model, energy, s.q, i, k, v=s.v) for i, k in directions(s.model)]
    T_k = rate - np.array(slope) + potential_gradient(s)
    assert s.mismatch(Mass @ beta_dot + C, T_k) < TOLERANCE


def test_rate_of_the_jacobian(s):
    """After (23): alpha(0) = J theta_ddot + J_dot theta_dot, J_dot theta_dot = B* phi* a + a(0).

    a(0) = [0; omega x (omega x l)]. In inertial axes: the classical acceleration of the tips.
    """
    a0 = np.concatenate(newton_euler(s).a0)
    J_dot_beta = time_derivative(s.model, J @ beta, s.q, s.v, axes="world", points=s.points)
    assert s.mismatch(J_dot_beta, s.value(B.T @ phi.T @ a) + a0) < TOLERANCE
    moving = motions(s.model, s.q, s.v, s.beta_dot)
    alpha0 = [point_motion(s.model, moving, point).alpha for point in s.points]
    assert s.mismatch(s.value(J @ beta_dot) + J_dot_beta, alpha0) < TOLERANCE


def test_equation_24_spatial_forces(s):
    """(24): f = phi [M alpha + b + B f(0)], T = H f. Rotor inertia adds Jm theta_ddot to T."""
    f = phi @ (M @ alpha + b + B @ f0)
    loop = newton_euler(s)
    assert s.mismatch(f, loop.f) < TOLERANCE
    assert s.mismatch(H @ f + Jm @ beta_dot, loop.T) < TOLERANCE


@pytest.mark.parametrize("axes", ["link", "world"])
def test_equation_25_newton_euler_algorithm(s, axes):
    """(25): T = H phi [M alpha + b + B f(0)], alpha = phi* H* theta_ddot + phi* a.

    Rotor inertia adds Jm theta_ddot to T.
    """
    accelerations = phi.T @ H.T @ beta_dot + phi.T @ a_g
    assert s.mismatch(accelerations, newton_euler(s).alpha) < TOLERANCE
    T_k = H @ phi @ (M @ accelerations + b + B @ f0) + Jm @ beta_dot
    assert s.mismatch(T_k, newton_euler(s).T, axes) < TOLERANCE


def test_equation_26_bias_free_equations(s):
    """(26): Mass theta_ddot = T', T' = T - T_hat: its solution makes the recursion give T."""
    T_hat = H @ phi @ (M @ phi.T @ a_g + b + B @ f0)
    solved = s.but(beta_dot=s.value(Mass.inv @ (T - T_hat)))
    assert s.mismatch(T, newton_euler(solved).T) < TOLERANCE


def test_equation_27_bias_torques(s):
    """(27): T_hat = H phi [M phi* a + b + B f(0)] = C + J* f(0).

    Witness: the recursion at theta_ddot = 0.
    """
    T_hat = newton_euler(s.but(beta_dot=0.0 * s.v)).T
    assert s.mismatch(H @ phi @ (M @ phi.T @ a_g + b + B @ f0), T_hat) < TOLERANCE
    assert s.mismatch(C + J.T @ f0, T_hat) < TOLERANCE


def test_gravity_is_the_gradient_of_potential_energy(s):
    """C at rest is d(potential energy)/dq: a + E gravity in place of a carries gravity exactly.

    Witness: the mass centres' heights, differentiated by a complex step. Without
    the base's acceleration the bias at rest is zero.
    """
    rest = s.but(v=0.0 * s.v)
    gradient = potential_gradient(s)
    scale = np.linalg.norm(np.concatenate(newton_euler(s).T))  # the spacecraft feels no gravity
    assert rest.mismatch(H @ phi @ (M @ phi.T @ a_g + b), gradient, scale=scale) < TOLERANCE
    assert rest.mismatch(H @ phi @ M @ phi.T @ E @ gravity, gradient, scale=scale) < TOLERANCE
    assert rest.mismatch(C, gradient, scale=scale) < TOLERANCE
    assert np.linalg.norm(rest.value(H @ phi @ (M @ phi.T @ a + b))) == 0.0


def test_identity_1_composite_body_inertia(s):
    """Identity 1, (28): phi M phi* = r + Phi r + r Phi*, r of (29).

    r(k) = sum_{i outboard of k} phi(k,i) M(i) phi*(k,i). Holds on trees: bodies
    on different branches share no outboard body, and Phi has no block there.
    """
    r = []
    for k in s.model.tree.base_to_tip:
        outboard = range(k, s.model.tree.end[k])
        r.append(sum(phi_of(s.arm(k, i)) @ s.M[i] @ phi_of(s.arm(k, i)).T for i in outboard))
    assert s.mismatch(R, diagonal(s, r)) < TOLERANCE
    assert s.mismatch(phi @ M @ phi.T, R + Phi @ R + R @ Phi.T) < TOLERANCE


def test_equations_30_to_33_composite_body_recursion(s):
    """(30)-(33): r(k) = phi r(k-1) phi* + M, m(k,k) = H r H*, x = phi x, m(i,k) = H(i) x(i).

    The whole mass matrix, Jm added on the diagonal.
    """
    tree, r, m = s.model.tree, {}, {}
    for k, children in s.inward:
        r[k] = s.M[k] + sum(s.phi[c] @ r[c] @ s.phi[c].T for c in children)  # (31)
        m[k, k] = s.H[k] @ r[k] @ s.H[k].T + s.Jm[k]  # (32)
        x, outer = r[k] @ s.H[k].T, k  # (32)
        for i in tree.path(tree.parent[k]):
            x = s.phi[outer] @ x  # (33)
            m[i, k] = s.H[i] @ x  # (33)
            m[k, i], outer = m[i, k].T, i
    assert s.mismatch(R, diagonal(s, r)) < TOLERANCE
    matrix = assemble(s.model, lambda i, k: m.get((i, k)), "joint", "joint")
    assert s.mismatch(Mass, matrix) < TOLERANCE


# -- VI. innovations factorization -----------------------------------------------------


def test_equations_34_to_37_riccati_equation(rotorless):
    """(34)-(37): P(k) = psi P(k-1) psi* + M(k), D = H P H*, G = P H* D^-1.

    Domain: no rotor inertia; on trees P sums over the children.
    """
    s, loop = rotorless, riccati(rotorless, printed=True)
    assert s.mismatch(P, diagonal(s, loop.P)) < TOLERANCE
    assert s.mismatch(D, diagonal(s, loop.D, "joint", "joint")) < TOLERANCE
    assert s.mismatch(G, diagonal(s, loop.G, "body", "joint")) < TOLERANCE


def test_riccati_equation_with_rotor_inertia(geared):
    """With Jm in D, P gains phi (tau_bar P) phi* of a child; (35)'s psi P psi* is wrong then.

    tau_bar P = tau_bar P tau_bar* + G Jm G*. The wrong P gives a mass matrix
    (I + H Phi G) D (I + H Phi G)* that is not the machine's.
    """
    s, loop = geared, riccati(geared)
    assert s.mismatch(P, diagonal(s, loop.P)) < TOLERANCE
    assert s.mismatch(D, diagonal(s, loop.D, "joint", "joint")) < TOLERANCE
    assert s.mismatch(tau_bar @ P, tau_bar @ P @ tau_bar.T + G @ Jm @ G.T) < TOLERANCE

    wrong = riccati(s, printed=True)
    assert s.mismatch(P, diagonal(s, wrong.P)) > MARGIN
    D_wrong = diagonal(s, wrong.D, "joint", "joint")
    factor = np.eye(len(D_wrong)) + s.value(H @ Phi) @ diagonal(s, wrong.G, "body", "joint")
    assert s.mismatch(Mass, factor @ D_wrong @ factor.T) > MARGIN


def test_articulated_inertia_is_symmetric_and_positive():
    """After (36): P(k) = P*(k) > 0, D(k) > 0.

    Domain: bodies with mass. On a massless body P is singular along the outboard
    joint, P >= 0, unless that joint has a rotor, as on the Puma; D stays positive.
    """
    for name in ALL:
        s = state(name)
        assert s.mismatch(P, P.T) < TOLERANCE
        assert np.linalg.eigvalsh(s.value(D)).min() > 0.0
        smallest, largest = np.linalg.eigvalsh(s.value(P))[[0, -1]]
        if name == "massless_intermediates":
            assert abs(smallest) < 1e-12 * largest
        else:
            assert smallest > 1e-8 * largest


@pytest.mark.parametrize("axes", ["link", "world"])
def test_equations_38_to_40_kalman_transition_matrix(s, axes):
    """(38)-(40): psi(k,k) = 1, psi(k,k-1) = phi(k,k-1) [1 - G H], psi(i,j) their product.

    These are the blocks of the operator psi = (I - E_psi)^-1.
    """
    matrix = products(s, riccati(s).psi)
    if axes == "link":
        turn = diagonal(s, [np.kron(np.eye(2), R_k) for R_k, _ in s.poses])
        matrix = turn.T @ matrix @ turn
    assert s.mismatch(psi, matrix, axes) < TOLERANCE


def test_equation_41_kalman_filter_operator(s):
    """(41): Psi has the blocks psi(i,j+1) phi(j+1,j) below the diagonal: Psi = psi E_phi.

    After it: Psi (I - G H) is the operator 'psi' of the paper's [11], psi - I.
    """
    loop, tree = riccati(s), s.model.tree
    Psi_printed = np.zeros((6 * len(tree), 6 * len(tree)))
    for j, p in s.outward:
        column = s.phi[j]  # phi(2,1)
        for inner in tree.path(p):
            Psi_printed[6 * inner : 6 * inner + 6, 6 * j : 6 * j + 6] = column
            column = loop.psi[inner] @ column  # psi(3,2) phi(2,1)
    assert s.mismatch(Psi, Psi_printed, scale=1.0) < TOLERANCE
    tilde = products(s, loop.psi) - np.eye(6 * len(tree))
    assert s.mismatch(Psi @ (I - G @ H), tilde, scale=1.0) < TOLERANCE
    assert s.mismatch(psi_tilde, tilde, scale=1.0) < TOLERANCE


def test_identity_2_composite_from_articulated_inertia(s):
    """Identity 2, (42): phi M phi* = P + Phi P + P Phi* + Phi P H* D^-1 H P Phi*.

    Holds with rotor inertia too.
    """
    right = P + Phi @ P + P @ Phi.T + Phi @ P @ H.T @ D.inv @ H @ P @ Phi.T
    assert s.mismatch(phi @ M @ phi.T, right) < TOLERANCE


def test_proof_of_identity_2(s):
    """Proof of Identity 2: r = P + q, Phi P H* D^-1 H P Phi* = q + Phi q + q Phi*.

    q(k) = sum_{i strictly outboard of k} phi(k,i) P H* D^-1 H P (i) phi*(k,i).
    """
    loop, q = riccati(s), []
    for k in s.model.tree.base_to_tip:
        q_k = np.zeros((6, 6))
        for i in range(k + 1, s.model.tree.end[k]):
            carried = phi_of(s.arm(k, i)) @ loop.P[i] @ s.H[i].T
            q_k += carried @ np.linalg.inv(loop.D[i]) @ carried.T
        q.append(q_k)
    q = diagonal(s, q)
    assert s.mismatch(R, s.value(P) + q) < TOLERANCE
    Phi_ = s.value(Phi)
    left = Phi @ P @ H.T @ D.inv @ H @ P @ Phi.T
    assert s.mismatch(left, q + Phi_ @ q + q @ Phi_.T, scale=1.0) < TOLERANCE


def test_articulated_inertia_passes_a_free_joint_as_a_projection(rotorless):
    """Proof of Identity 2: [1 - G H] P [1 - G H]* = [1 - G H] P, and (1 - G H) is a projection.

    Domain: no rotor inertia.
    """
    s = rotorless
    assert s.mismatch(tau_bar @ P @ tau_bar.T, tau_bar @ P, scale=1.0) < TOLERANCE
    assert s.mismatch(tau_bar @ tau_bar, tau_bar, scale=1.0) < TOLERANCE


def test_rotor_inertia_makes_a_joint_no_projection(geared):
    """With Jm neither (1 - G H) P (1 - G H)* = (1 - G H) P nor (1 - G H)^2 = 1 - G H."""
    s = geared
    assert s.mismatch(tau_bar @ P @ tau_bar.T, tau_bar @ P) > MARGIN
    assert s.mismatch(tau_bar @ tau_bar, tau_bar) > MARGIN


def test_identity_3_innovations_factorization(s):
    """Identity 3, (43): Mass = (I + H Phi G) D (I + H Phi G)*, the factor triangular.

    Triangular by blocks along the tree: joint i feels joint k only if inboard of it.
    """
    factor = I + H @ Phi @ G
    assert s.mismatch(factor @ D @ factor.T, equations_of_motion(s)[0]) < TOLERANCE
    matrix = s.value(factor)
    for i in s.model.tree.base_to_tip:
        for k in s.model.tree.base_to_tip:
            part = block(s.model, matrix, i, k, "joint", "joint")
            if i == k:
                assert relative_difference(part, np.eye(len(part))) < TOLERANCE
            elif not s.model.tree.is_inboard(i, k):
                assert not part.any()


def test_section_1b_innovations_factor_is_printed_with_the_wrong_operator(deep):
    """Sec. I.B prints Mass = (I + H Psi G) D (I + H Psi G)*; Psi should be Phi.

    Psi and Phi agree as far as two bodies in a row: shown on more.
    """
    s, Mass_ = deep, equations_of_motion(deep)[0]
    printed, correct = I + H @ Psi @ G, I + H @ Phi @ G
    assert s.mismatch(printed @ D @ printed.T, Mass_) > MARGIN
    assert s.mismatch(correct @ D @ correct.T, Mass_) < TOLERANCE


def test_identity_4_relation_of_psi_and_phi(s):
    """Identity 4, (44): (I - Psi G H) Phi = Psi."""
    assert s.mismatch((I - Psi @ G @ H) @ Phi, Psi, scale=1.0) < TOLERANCE


def test_proof_of_identity_4(s):
    """Proof of Identity 4: phi(k,m) - psi(k,m) = sum_i psi(k,i+1) phi(i+1,i) G(i) H(i) phi(i,m).

    Over i from m inward to the child of k.
    """
    loop, tree = riccati(s), s.model.tree
    psi_ = products(s, loop.psi)

    def term(i, k, m):
        after = block(s.model, psi_, k, tree.parent[i])
        return after @ s.phi[i] @ loop.G[i] @ s.H[i] @ phi_of(s.arm(i, m))

    def difference(k, m):
        path = [i for i in tree.path(m) if k != i and tree.is_inboard(k, i)]
        return sum((term(i, k, m) for i in path), np.zeros((6, 6)))

    matrix = assemble(s.model, lambda k, m: difference(k, m) if tree.is_inboard(k, m) else None)
    assert s.mismatch(phi - psi, matrix, scale=1.0) < TOLERANCE


def test_identity_5_mutually_reciprocal_factors(s):
    """Identity 5, (45): (I + H Phi G)^-1 = I - H Psi G."""
    assert s.mismatch((I + H @ Phi @ G).inv, I - H @ Psi @ G) < TOLERANCE


@pytest.mark.parametrize("axes", ["link", "world"])
def test_identity_6_inverse_of_the_mass_matrix(s, axes):
    """Identity 6, (46): Mass^-1 = (I - H Psi G)* D^-1 (I - H Psi G)."""
    factor = I - H @ Psi @ G
    inverse = np.linalg.inv(equations_of_motion(s)[0])
    assert s.mismatch(factor.T @ D.inv @ factor, inverse, axes) < TOLERANCE


# -- VII. forward dynamics -------------------------------------------------------------
# Every algorithm against the dense solution of the equations of motion, whose
# matrices come from the Newton-Euler loop.


def accelerations(s):
    """theta_ddot, alpha of the bodies, alpha(0) of the tips that go with T: a dense solution."""
    solved = forward_dynamics(s)
    loop = newton_euler(s.but(beta_dot=solved))
    return solved, np.concatenate(loop.alpha), np.concatenate(loop.alpha0)


T_bias_free = T - H @ phi @ (M @ phi.T @ a_g + b + B @ f0)  # (47), (55)


def test_algorithm_1_four_sweeps_bias_free(s):
    """(47), (48): theta_ddot = (I - H Psi G)* D^-1 (I - H Psi G) T'."""
    factor = I - H @ Psi @ G
    algorithm = factor.T @ D.inv @ factor @ T_bias_free
    assert s.mismatch(algorithm, accelerations(s)[0]) < TOLERANCE


def test_algorithm_1_recursion(s):
    """(49)-(54): z = psi z + phi G T', nu = D^-1 (T' - H z); outward lambda, theta_ddot.

    theta_ddot(k) = nu - G* phi*(k+1,k) lambda(k+1).
    """
    loop, T_ = riccati(s), s.value(T_bias_free)
    nu = residuals(s, loop, T_)
    result, _ = smooth(s, loop, nu, zero_motion(s))
    assert s.mismatch(result, accelerations(s)[0]) < TOLERANCE


def test_algorithm_2_link_and_tip_accelerations(s):
    """(55)-(57): alpha = (I - G H)* Psi* H* nu + H* nu + phi* a, alpha(0) = B* alpha + a(0)."""
    _, alpha_k, alpha_0 = accelerations(s)
    nu = D.inv @ (I - H @ Psi @ G) @ T_bias_free
    algorithm = (I - G @ H).T @ Psi.T @ H.T @ nu + H.T @ nu + phi.T @ a_g
    assert s.mismatch(algorithm, alpha_k) < TOLERANCE
    a0 = np.concatenate(newton_euler(s).a0)
    assert s.mismatch(s.value(B.T @ algorithm) + a0, alpha_0) < TOLERANCE


def test_algorithm_2_recursion(s):
    """(58), (59): lambda and theta_ddot as before, zeta = phi* zeta + a, alpha = lambda + zeta.

    After (54): lambda = alpha when the bias terms are zero.
    """
    loop, newton = riccati(s), newton_euler(s)
    bias, solved = with_gravity(s, newton.a), accelerations(s)
    nu = residuals(s, loop, s.value(T_bias_free))
    theta_ddot, lambda_ = smooth(s, loop, nu, zero_motion(s))
    zeta, alpha_k = {WORLD: np.zeros(6)}, []
    for k, p in s.outward:
        zeta[k] = s.phi[k].T @ zeta[p] + bias[k]
        alpha_k.append(lambda_[k] + zeta[k])
    tips = zip(s.tips, newton.a0, strict=True)
    alpha_0 = [step.T @ alpha_k[k] + a0 for (k, step), a0 in tips]  # (59)
    for result, expected in zip((theta_ddot, alpha_k, alpha_0), solved, strict=True):
        assert s.mismatch(result, expected) < TOLERANCE
    rest = s.at_rest()
    _, lambda_ = smooth(rest, loop, residuals(rest, loop, s.T), zero_motion(s))
    assert s.mismatch(lambda_, accelerations(rest)[1]) < TOLERANCE


def test_algorithm_3_three_sweeps(s):
    """(60)-(62): eps = T - H Psi [G T + (I - G H) zeta] - H zeta, zeta = M phi* a + b + B f(0).

    theta_ddot = (I - H Psi G)* D^-1 eps.
    """
    zeta = M @ phi.T @ a_g + b + B @ f0
    eps = T - H @ Psi @ (G @ T + (I - G @ H) @ zeta) - H @ zeta
    algorithm = (I - H @ Psi @ G).T @ D.inv @ eps
    assert s.mismatch(algorithm, accelerations(s)[0]) < TOLERANCE


def test_algorithm_3_recursion_counts_the_tip_force_once(s):
    """(63)-(65): z = psi (z + zeta) + phi G T, eps = T - H z - H zeta.

    As printed the tip force comes twice: z(0) = f(0), and B f(0) in zeta of
    (60). Correct is either z(0) = 0, or zeta without B f(0).
    """
    with_tips, without_tips = M @ phi.T @ a_g + b + B @ f0, M @ phi.T @ a_g + b

    def run(z_0, zeta):
        zeta = s.value(zeta).reshape(-1, 6)
        loop, z, nu = riccati(s), {}, []
        for k, children in s.inward:
            z[k] = sum((step @ f for (i, step), f in zip(s.tips, z_0, strict=True) if i == k), 0.0)
            for c in children:  # (64)
                z[k] = z[k] + loop.psi[c] @ (z[c] + zeta[c])
                z[k] = z[k] + s.phi[c] @ loop.G[c] @ s.speeds(c, s.T)
            eps = s.speeds(k, s.T) - s.H[k] @ z[k] - s.H[k] @ zeta[k]  # (65)
            nu.append(np.linalg.solve(loop.D[k], eps))
        return smooth(s, loop, nu[::-1], zero_motion(s))[0]

    expected = accelerations(s)[0]
    assert s.mismatch(run(s.f0, with_tips), expected) > MARGIN
    assert s.mismatch(run(0.0 * s.f0, with_tips), expected) < TOLERANCE
    assert s.mismatch(run(s.f0, without_tips), expected) < TOLERANCE


def test_equation_65_is_printed_with_a_minus_too_many():
    """(65) prints eps = T - H z - H - zeta: the spaces do not fit; it means - H zeta."""
    zeta, z = M @ phi.T @ a + b, phi @ b
    with pytest.raises(pp.SpaceError, match="cannot add"):
        T - H @ z - H - zeta
    assert (T - H @ z - H @ zeta).is_vector


def test_equation_66_velocities_are_printed_at_the_tip():
    """(66) prints V = B* phi* H* theta_dot, which is V(0); the sweep gives V = phi* H* theta_dot.

    The bias b = S[V] M V needs the bodies' V: with V(0) the spaces do not fit.
    On a single body, where the sizes do, the numbers are wrong.
    """
    printed, correct = B.T @ phi.T @ H.T @ beta, phi.T @ H.T @ beta
    with pytest.raises(pp.SpaceError, match="takes a vector of body space"):
        S[printed]
    s = state("one_body")
    assert s.mismatch(correct, motions(s.model, s.q, s.v)[0].V) < TOLERANCE
    assert s.mismatch(printed, motions(s.model, s.q, s.v)[0].V) > MARGIN


def test_algorithm_4_three_sweeps_without_dalembert_forces(s):
    """(67), (68): nu = D^-1 (I - H Psi G) T - D^-1 H psi [P a + b + B f(0)] + D^-1 H P a.

    theta_ddot = (I - H Psi G)* nu - G* Psi* (I - G H)* a - G* a. (67) prints
    (I - G H) P a inside the bracket, which fails.
    """

    def run(inside, outside):
        nu = D.inv @ (I - H @ Psi @ G) @ T - D.inv @ H @ psi @ (inside + b + B @ f0) + outside
        return (I - H @ Psi @ G).T @ nu - G.T @ Psi.T @ (I - G @ H).T @ a_g - G.T @ a_g

    expected, outside = accelerations(s)[0], D.inv @ H @ P @ a_g
    assert s.mismatch(run(P @ a_g, outside), expected) < TOLERANCE
    assert s.mismatch(run((I - G @ H) @ P @ a_g, outside), expected) > MARGIN


def nu_without_last_term():
    """(67) as printed but for + D^-1 H P a, put into (68)."""
    nu = D.inv @ (I - H @ Psi @ G) @ T
    nu = nu - D.inv @ H @ psi @ ((I - G @ H) @ P @ a_g + b + B @ f0)
    return (I - H @ Psi @ G).T @ nu - G.T @ Psi.T @ (I - G @ H).T @ a_g - G.T @ a_g


def test_equation_67_without_its_last_term(rotorless):
    """(67) also holds with (I - G H) P a as printed if + D^-1 H P a is left out.

    Domain: no rotor inertia; there (I - G H) is a projection and H (I - G H) P = 0.
    """
    s = rotorless
    assert s.mismatch(nu_without_last_term(), accelerations(s)[0]) < TOLERANCE


def test_equation_67_without_its_last_term_fails_with_rotor_inertia(geared):
    """With Jm only P a inside and + D^-1 H P a outside the bracket of (67) will do."""
    s = geared
    assert s.mismatch(nu_without_last_term(), accelerations(s)[0]) > MARGIN


def test_algorithm_4_recursion(s):
    """(69)-(73): z = psi (z + P a) + phi G T + b, z(0) = f(0), nu = D^-1 (T - H z).

    lambda = psi* lambda + H* nu + [1 - G H]* a, theta_ddot = nu - G* phi* lambda - G* a.
    lambda is alpha.
    """
    loop, newton = riccati(s), newton_euler(s)
    bias, z, nu = with_gravity(s, newton.a), {}, []
    for k, children in s.inward:
        z[k] = newton.b[k]
        z[k] = z[k] + sum(step @ f for (i, step), f in zip(s.tips, s.f0, strict=True) if i == k)
        for c in children:  # (70)
            z[k] = z[k] + loop.psi[c] @ (z[c] + loop.P[c] @ bias[c])
            z[k] = z[k] + s.phi[c] @ loop.G[c] @ s.speeds(c, s.T)
        nu.append(np.linalg.solve(loop.D[k], s.speeds(k, s.T) - s.H[k] @ z[k]))  # (71)
    theta_ddot, lambda_ = smooth(s, loop, nu[::-1], bias)
    expected, alpha_k, _ = accelerations(s)
    assert s.mismatch(theta_ddot, expected) < TOLERANCE
    assert s.mismatch(lambda_, alpha_k) < TOLERANCE


def residuals(s, loop, T_):
    """nu of [001 (49)-(51)]: z = psi z + phi G T', eps = T' - H z, nu = D^-1 eps."""
    z, nu = {}, []
    for k, children in s.inward:
        z[k] = np.zeros(6)
        for c in children:
            z[k] = z[k] + loop.psi[c] @ z[c] + s.phi[c] @ loop.G[c] @ s.speeds(c, T_)  # (50)
        nu.append(np.linalg.solve(loop.D[k], s.speeds(k, T_) - s.H[k] @ z[k]))  # (51)
    return nu[::-1]


def smooth(s, loop, nu, bias):
    """theta_ddot and lambda of [001 (72), (73)]; with a = 0 of (52)-(54)."""
    theta_ddot, lambda_ = [], {WORLD: np.zeros(6)}
    for k, p in s.outward:
        pass_joint = np.eye(6) - loop.G[k] @ s.H[k]
        lambda_[k] = loop.psi[k].T @ lambda_[p] + s.H[k].T @ nu[k] + pass_joint.T @ bias[k]
        inner = s.phi[k].T @ lambda_[p] + bias[k]
        theta_ddot.append(nu[k] - loop.G[k].T @ inner)
    return theta_ddot, [lambda_[k] for k in s.model.tree.base_to_tip]


def zero_motion(s):
    """a = 0."""
    return np.zeros((len(s.model.bodies), 6))


# -- VIII. mobile base -----------------------------------------------------------------


def test_equations_74_to_78_mobile_base_is_a_joint_of_six_freedoms(floating):
    """(74): H*(N+1) = I. (75), (76): its speeds and accelerations are V and V_dot of the base.

    (77): T(N+1) = f(N+1). In the base's own axes; V_dot there is the true
    acceleration, the one that feels gravity left out.
    """
    s = floating
    root = slice(0, 6)
    assert np.array_equal(s.value(H, "link")[root, root], np.eye(6))
    base = motions(s.model, s.q, s.v, s.beta_dot)[0]
    assert relative_difference(base.turn.T @ base.V, s.v[root]) < TOLERANCE
    assert relative_difference(base.A, s.beta_dot[root]) < TOLERANCE
    f = phi @ (M @ alpha + b + B @ f0)
    expected = np.concatenate(newton_euler(s).T)[root]
    assert relative_difference(s.value(f, "link")[root], expected) < TOLERANCE


def test_equation_79_mobile_base_dynamics(floating):
    """(79): T = Mass W_dot + C + J* f(0), W_dot = Mass^-1 [T - C - J* f(0)], (46) included.

    Witness: forces through the joints by the rates of momentum at that W_dot.
    """
    s, factor = floating, I - H @ Psi @ G
    for inverse in (Mass.inv, factor.T @ D.inv @ factor):
        W_dot = s.value(inverse @ (T - C - J.T @ f0), "link")
        tip_forces = list(zip(s.points, s.f0, strict=True))
        T_k = joint_forces(s.model, s.q, s.v, W_dot, tip_forces=tip_forces)
        assert relative_difference(T_k, s.T) < TOLERANCE


def test_equation_79_conserves_momentum_of_a_drifting_machine():
    """(79) with no force on base and tips: joint forces change no momentum. Without gravity.

    Linear and angular momentum about the world's origin, from the bodies' motions.
    """
    s = state("spacecraft")
    T_ = np.concatenate([np.zeros(6), s.T[6:]])
    s = s.but(T=T_, f0=0.0 * s.f0)
    W_dot = s.value(Mass.inv @ (T - C - J.T @ f0))
    moving = motions(s.model, s.q, s.v, W_dot)
    wrench = joint_wrenches(s.model, moving)[0]
    typical = np.linalg.norm(joint_wrenches(s.model, moving)[1])
    assert np.linalg.norm(wrench) < TOLERANCE * typical
    assert np.linalg.norm(W_dot) > MARGIN


# -- X. relationship to other work -----------------------------------------------------


def test_natural_orthogonal_complement_factor(deep):
    """Sec. X.A: Mass = PP PP* with PP = H phi M^1/2. Domain: bodies with mass."""
    s = deep
    if any(body.inertia.vanishes for body in s.model.bodies):
        with pytest.raises(pp.SolveError, match="square root"):
            s.value(H @ phi @ M.sqrt, "link")
        return
    PP = H @ phi @ M.sqrt
    assert s.mismatch(PP @ PP.T, equations_of_motion(s)[0], "link") < TOLERANCE
