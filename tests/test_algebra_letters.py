"""What each letter means: against constructions that use no operator."""

import machines
import numpy as np
import pytest
from symbols import STEP, assert_close, dense, x
from witness import Witness, block_diagonal, force_cross, force_transform, tilde

import phipsi as pp
from phipsi.model.tree import WORLD
from phipsi.operators import (
    HH,
    B,
    C,
    D,
    Delta_phi,
    E,
    E_phi,
    E_psi,
    G,
    Gamma_delta,
    H,
    H_dot,
    HH_delta,
    HH_s,
    J,
    Jm,
    K,
    M,
    Mass,
    Omega,
    P,
    Q,
    R,
    S,
    T,
    U,
    V,
    X,
    Y,
    a,
    alpha,
    b,
    beta,
    beta_dot,
    blockdiag,
    c,
    cross,
    f,
    f0,
    gravity,
    phi,
    phi_tilde,
    pose,
    psi,
    psi_tilde,
    tau,
    tau_bar,
)

WITNESSED = ["serial_multidof", "forest", "free_base_tree", "reflected_rotors"]


@pytest.fixture(scope="module", params=WITNESSED)
def witness(request):
    model = machines.MARKET[request.param]()
    assert all(joint.mimic is None for joint in model.joints)
    rng = np.random.default_rng(2)
    q, v = machines.random_state(model, rng)
    return Witness(model, q, v, rng.normal(size=model.nv))


def meaning(w, letter, **values):
    points = [pp.point(w.model.bodies[i].name, (0.1, -0.2, 0.3)) for i in (0, -1)]
    return dense(w.model, letter, w.q, w.v, points=points, beta_dot=w.rates, **values)


def test_machine_letters_mean_poses_masses_and_motors(witness):
    """H, M, Jm, E_phi, E, B: blocks of poses, masses, complex-step twists."""
    w = witness
    n = range(w.n)
    assert_close(meaning(w, H), block_diagonal(*(w.H_star(k).T for k in n)))
    assert_close(meaning(w, M), block_diagonal(*w.masses))
    assert np.array_equal(meaning(w, Jm), w.Jm)
    parent = w.model.tree.parent

    def step(i, k):
        return w.carry(i, k) if parent[k] == i else np.zeros((6, 6))

    assert_close(meaning(w, E_phi), w.body_matrix(step))
    base = [w.carry(WORLD, k).T if parent[k] == WORLD else np.zeros((6, 6)) for k in n]
    assert_close(meaning(w, E), np.concatenate(base))
    place = np.eye(4)
    place[:3, 3] = 0.1, -0.2, 0.3
    at_point = force_transform(place)
    expected = np.zeros((6 * w.n, 12))
    expected[:6, :6] = expected[-6:, 6:] = at_point
    assert_close(meaning(w, B), expected)


def test_pose_letters_mean_where_the_bodies_stand(witness):
    """pose, X and U: homogeneous matrices; turns at the points; -sum m g . x."""
    w = witness
    assert_close(meaning(w, pose), np.ravel(w.poses))
    assert_close(meaning(w, X), block_diagonal(w.turn(WORLD, 0), w.turn(WORLD, w.n - 1)))
    weighed = [
        x.inertia.mass * (T @ [*x.inertia.com, 1.0])[:3]
        for x, T in zip(w.model.bodies, w.poses, strict=True)
    ]
    assert w.model.base_inertia.mass == 0.0
    assert_close(meaning(w, U), -np.sum(weighed @ np.array(w.model.gravity)))


def test_shift_turns_without_a_lever(witness):
    """S at (p(k), k) is the turn alone, and E_phi = S Delta_phi [000 (3.28)]."""
    w = witness
    parent = w.model.tree.parent

    def turn(i, k):
        return w.turn(i, k) if parent[k] == i else np.zeros((6, 6))

    assert_close(meaning(w, S), w.body_matrix(turn))
    levers = [w.turn(parent[k], k).T @ w.carry(parent[k], k) for k in range(w.n)]
    assert_close(meaning(w, Delta_phi), block_diagonal(*levers))


def test_phi_means_the_rigid_transformation_between_any_two_bodies_of_a_path(witness):
    w = witness
    rigid = w.body_matrix(w.carry)
    assert_close(meaning(w, phi), rigid)
    assert_close(meaning(w, phi_tilde), rigid - np.eye(6 * w.n))


def test_mass_means_kinetic_energy_of_bodies_and_motors(witness):
    """Mass = sum_k J_k* M_k J_k + Jm, with J_k from complex steps of the poses."""
    assert_close(meaning(witness, Mass), witness.Mass)


def test_composite_inertia_means_the_outboard_bodies_welded(witness):
    w = witness
    R_k = [
        sum(w.carry(k, j) @ w.masses[j] @ w.carry(k, j).T for j in w.outboard(k))
        for k in range(w.n)
    ]
    assert_close(meaning(w, R), block_diagonal(*R_k))


def test_articulated_letters_mean_schur_complements_of_the_mass_matrix(witness):
    """P, D, G, tau, tau_bar, K, E_psi, psi, psi_tilde, with rotor inertia too."""
    w = witness
    n = range(w.n)
    joints = [joint.rows for joint in w.model.joints]
    P_k, D_k, G_k = [w.P(k) for k in n], [w.D(k) for k in n], [w.G(k) for k in n]
    tau_k = [G_k[k] @ w.H_star(k).T for k in n]
    parent = w.model.tree.parent
    assert_close(meaning(w, P), block_diagonal(*P_k))
    assert_close(meaning(w, D), block_diagonal(*D_k))
    assert_close(meaning(w, G), block_diagonal(*G_k))
    assert_close(meaning(w, tau), block_diagonal(*tau_k))
    assert_close(meaning(w, tau_bar), block_diagonal(*(np.eye(6) - x for x in tau_k)))

    def gain(i, k):
        return w.carry(i, k) @ G_k[k] if parent[k] == i else np.zeros(G_k[k].shape)

    def step(i, k):
        return w.psi(i, k) if parent[k] == i else np.zeros((6, 6))

    bodies = [slice(6 * i, 6 * i + 6) for i in n]
    assert_close(meaning(w, K), w.matrix(gain, bodies, joints))
    assert_close(meaning(w, E_psi), w.body_matrix(step))
    free = w.body_matrix(w.psi)
    assert_close(meaning(w, psi), free)
    assert_close(meaning(w, psi_tilde), free - np.eye(6 * w.n))


def test_omega_means_the_compliance_of_all_bodies(witness):
    """Omega = J Mass^-1 J* with J the stacked Jacobians of the bodies; Y is its diagonal."""
    w = witness
    J_all = np.concatenate(w.jacobians)
    compliance = J_all @ np.linalg.solve(w.Mass, J_all.T)
    assert_close(meaning(w, Omega), compliance)
    diagonal = [compliance[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] for k in range(w.n)]
    assert_close(meaning(w, Y), block_diagonal(*diagonal))


def test_jacobian_means_the_velocity_of_points(witness):
    """J v = the twist of a frame at each point, by a complex step of its pose."""
    w = witness
    expected = []
    at_point = np.eye(4)
    at_point[:3, 3] = 0.1, -0.2, 0.3
    for k in (0, w.n - 1):
        expected.append(force_transform(at_point).T @ w.jacobians[k])
    assert_close(meaning(w, J), np.concatenate(expected))


def test_motion_letters_mean_rates_of_the_poses(witness):
    """beta, V, alpha, a: velocities by complex steps, accelerations by differences of these."""
    w = witness
    assert np.array_equal(meaning(w, beta), w.v)
    assert_close(meaning(w, V), np.concatenate([X @ w.v for X in w.jacobians]))
    assert_close(meaning(w, gravity), -np.array([0, 0, 0, *w.model.gravity]))
    assert_close(meaning(w, alpha), w.felt().ravel(), tolerance=1e-9)
    A_k = w.accelerations()
    coriolis = []
    for k, p in enumerate(w.model.tree.parent):
        inboard = 0.0 if p == WORLD else w.carry(p, k).T @ A_k[p]
        coriolis.append(A_k[k] - inboard - w.H_star(k) @ w.rates[w.model.joints[k].v])
    assert_close(meaning(w, a), np.concatenate(coriolis), tolerance=1e-8)


def test_force_letters_mean_newton_and_euler(witness):
    """b, f, C: rates of momentum, summed outboard, projected on the joints."""
    w = witness
    n = range(w.n)
    A_k, felt = w.accelerations(), w.felt()
    gyroscopic = [rate - w.masses[k] @ A_k[k] for k, rate in enumerate(w.momentum_rates())]
    assert_close(meaning(w, b), np.concatenate(gyroscopic), tolerance=1e-8)
    needed = [w.masses[k] @ felt[k] + gyroscopic[k] for k in n]
    passed = [sum(w.carry(k, j) @ needed[j] for j in w.outboard(k)) for k in n]
    assert_close(meaning(w, f), np.concatenate(passed), tolerance=1e-9)
    virtual_power = sum(X.T @ force for X, force in zip(w.jacobians, needed, strict=True))
    inertial = (w.Mass - w.Jm) @ w.rates
    assert_close(meaning(w, C), virtual_power - inertial, tolerance=1e-8)


def test_convective_letter_means_the_turning_of_the_velocity_of_points(witness):
    """c = [0; omega x v] of each point, [omega; v] = J v with J from complex steps."""
    w = witness
    at_point = np.eye(4)
    at_point[:3, 3] = 0.1, -0.2, 0.3
    expected = []
    for k in (0, w.n - 1):
        twist = force_transform(at_point).T @ w.jacobians[k] @ w.v
        expected += [np.zeros(3), np.cross(twist[:3], twist[3:])]
    assert_close(meaning(w, c), np.concatenate(expected))


def test_free_letters_mean_what_is_passed(witness):
    w = witness
    forces = np.arange(float(w.model.nv))
    assert np.array_equal(meaning(w, T, T=forces), forces)
    assert np.array_equal(meaning(w, beta_dot), w.rates)
    assert np.array_equal(meaning(w, f0, f0=np.arange(12)), np.arange(12.0))


def test_pick_off_letters_mean_the_cross_product_with_the_joint_axis(witness):
    """HH(i, a) = S[H*(i) e_a], in the axes of each body; Gamma_delta vanishes for a fixed map."""
    w = witness
    zero = np.zeros((6, 6))
    for i in (0, w.n // 2):
        for axis in range(w.model.joints[i].kind.nv):
            pick = force_cross(w.H_star(i)[:, axis])

            def at(bodies, pick=pick, i=i):
                turned = {k: w.turn(i, k).T @ pick @ w.turn(i, k) for k in bodies}
                return block_diagonal(*(turned.get(k, zero) for k in range(w.n)))

            out = w.outboard(i)
            assert_close(meaning(w, HH(i, axis)), at(out))
            assert_close(meaning(w, HH_s(i, axis)), at(out[1:]))
            assert_close(meaning(w, HH_delta(i, axis)), at(out[:1]))
            if not w.model.joints[i].kind.map_derivatives(w.q[w.model.joints[i].q]):
                assert not meaning(w, Gamma_delta(i, axis)).any()  # the map does not turn


def test_gamma_delta_means_the_derivative_of_a_map_that_turns():
    """Gamma_delta(i, a) = D_{ia} H* at i, by a complex step; universal, Euler, custom joints."""
    model = machines.MARKET["tree_of_every_kind"]()
    q, _ = machines.random_state(model, np.random.default_rng(2))
    turning = set()
    for i, joint in enumerate(model.joints):
        for axis, unit in enumerate(np.eye(joint.kind.nv)):
            moved = joint.kind.integrate(list(q[joint.q]), list(1j * STEP * unit))
            rate = np.array(joint.kind.motion_map(moved), complex).imag / STEP
            expected = np.zeros((6 * len(model.bodies), model.nv))
            expected[6 * i : 6 * i + 6, joint.rows] = rate
            assert_close(dense(model, Gamma_delta(i, axis), q, points=()), expected, scale=1.0)
            if np.linalg.norm(rate) > 0.1:
                turning.add(type(joint.kind).__name__)
    assert turning == {"Universal", "SphericalEuler", "Custom"}


def test_h_dot_means_the_rate_of_the_maps_along_the_motion():
    """(dH*/dt)(k) by a complex step along beta(k); a = V~ H* beta + (dH*/dt) beta."""
    model = machines.MARKET["tree_of_every_kind"]()
    q, v = machines.random_state(model, np.random.default_rng(2))
    rates = []
    for joint in model.joints:
        moved = joint.kind.integrate(list(q[joint.q]), list(1j * STEP * v[joint.v]))
        rates.append(np.array(joint.kind.motion_map(moved), complex).imag / STEP)
    expected = block_diagonal(*rates).T
    assert np.linalg.norm(expected) > 0.1
    assert_close(pp.as_matrix(model, H_dot, q, v), expected)
    sum_of_both = cross[V] @ H.T @ beta + H_dot.T @ beta
    assert_close(pp.as_matrix(model, sum_of_both, q, v), pp.as_matrix(model, a, q, v))


def test_joints_are_named_by_number_joint_or_body(witness):
    w = witness
    joint, body = w.model.joints[0].name, w.model.bodies[0].name
    by_number = meaning(w, HH(0))
    assert np.any(by_number)
    assert np.array_equal(by_number, meaning(w, HH(joint)))
    assert np.array_equal(by_number, meaning(w, HH(body)))
    assert np.array_equal(by_number, meaning(w, HH(np.int64(0), 0)))


def test_brackets_mean_cross_products(witness):
    """S[z] = [[x~, y~], [0, x~]], Q[z] = [[x~, y~], [y~, 0]], cross[z] = -S[z]*."""
    w = witness
    z = np.random.default_rng(3).normal(size=6 * w.n)
    parts = z.reshape(w.n, 6)
    adjoint = [
        np.block([[tilde(p[:3]), tilde(p[3:])], [tilde(p[3:]), np.zeros((3, 3))]]) for p in parts
    ]
    force = [force_cross(p) for p in parts]
    assert np.array_equal(meaning(w, S[x], x=z), block_diagonal(*force))
    assert np.array_equal(meaning(w, Q[x], x=z), block_diagonal(*adjoint))
    assert np.array_equal(meaning(w, cross[x], x=z), block_diagonal(*(-p.T for p in force)))


def test_diagonal_keeps_the_blocks_on_it_and_drops_the_rest(witness):
    w = witness
    whole = meaning(w, Omega)
    kept = [whole[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] for k in range(w.n)]
    assert np.array_equal(meaning(w, blockdiag(Omega)), block_diagonal(*kept))
    whole, joints = meaning(w, H @ Omega), w.model.joints
    kept = [whole[joint.rows, 6 * k : 6 * k + 6] for k, joint in enumerate(joints)]
    assert np.array_equal(meaning(w, blockdiag(H @ Omega)), block_diagonal(*kept))
    whole = meaning(w, J @ J.T)
    assert np.array_equal(
        meaning(w, blockdiag(J @ J.T)), block_diagonal(whole[:6, :6], whole[6:, 6:])
    )
