"""[003] Rodriguez, Jain and Kreutz-Delgado, a spatial operator algebra for manipulators.

One test per printed result. The paper states them for serial arms of revolute
joints; they hold on any tree and forest, with joints of any kind and free
bases, and with rotor inertia where `Mass` and `D` carry Jm. Where that is not
so, the test says it. theta_dot is beta, theta_ddot is beta_dot. Gravity enters
as the base's acceleration: where the paper has a, here stands a + E gravity.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from classical import joint_forces, motions, point_motion
from equations import MARGIN, TOLERANCE, relative_difference, time_derivative
from recursions import (
    ALL,
    ROTORS,
    WITHOUT_ROTORS,
    State,
    diagonal,
    equations_of_motion,
    forward_dynamics,
    newton_euler,
    products,
    riccati,
    state,
)

import phipsi as pp
from phipsi.model.tree import WORLD
from phipsi.operators import (
    B,
    C,
    D,
    E,
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
    Y,
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
    tau_bar,
    vector,
)

a_g = a + E @ gravity
W = I - H @ psi @ K  # the whitening filter of Lemma 2


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


@pytest.fixture(params=[name for name in ALL if max(state(name).model.tree.depth) > 2])
def deep(request):
    """Machines of more than two bodies in a row."""
    return state(request.param)


# -- 2. the Jacobian operator ----------------------------------------------------------


def test_equation_1_jacobian_and_its_dual(s):
    """(1): V(0) = J theta_dot, J = B* phi* H*; dual: T = J* f(0) = H phi B f(0).

    Witnesses: the rate of the tips' poses; the power T* theta_dot = f(0)* V(0)
    for every theta_dot.
    """
    V0 = []
    for unit in np.eye(s.model.nv):
        moving = motions(s.model, s.q, unit)
        V0.append(np.concatenate([point_motion(s.model, moving, x).V for x in s.points]))
    V0 = np.array(V0).T
    assert s.mismatch(B.T @ phi.T @ H.T @ beta, V0 @ s.v) < TOLERANCE
    assert s.mismatch(J @ beta, V0 @ s.v) < TOLERANCE
    assert s.mismatch(H @ phi @ B @ f0, V0.T @ s.f0.ravel()) < TOLERANCE
    assert s.mismatch(J.T @ f0, V0.T @ s.f0.ravel()) < TOLERANCE


# -- 3. operator-formulated dynamics ---------------------------------------------------


def test_equation_2_equations_of_motion(s):
    """(2): Mass theta_ddot + C + J* f(0) = T.

    Witness: what the joints feel of the bodies' rates of momentum.
    """
    tip_forces = list(zip(s.points, s.f0, strict=True))
    expected = joint_forces(s.model, s.q, s.v, s.beta_dot, tip_forces=tip_forces)
    expected = expected + s.value(Jm) @ s.beta_dot
    assert s.mismatch(Mass @ beta_dot + C + J.T @ f0, expected) < TOLERANCE


def test_equation_3_newton_euler_factorization(s):
    """(3): Mass = H phi M phi* H*, plus Jm where there are rotors.

    Witness: the momenta that unit accelerations take from rest.
    """
    rest, zero = s.at_rest(), np.zeros(s.model.nv)
    columns = [joint_forces(rest.model, s.q, zero, unit) for unit in np.eye(s.model.nv)]
    assert s.mismatch(H @ phi @ M @ phi.T @ H.T, np.array(columns).T) < TOLERANCE
    assert s.mismatch(Mass, equations_of_motion(s)[0]) < TOLERANCE


def test_equation_4_bias_torques(s):
    """(4): C = H phi (M phi* a + b). Witness: the momenta of motion at theta_ddot = 0."""
    zero = np.zeros(s.model.nv)
    still = s.at_rest().but(v=s.v)
    without_gravity = joint_forces(still.model, s.q, s.v, zero)
    assert still.mismatch(H @ phi @ (M @ phi.T @ a + b), without_gravity) < TOLERANCE
    assert s.mismatch(C, joint_forces(s.model, s.q, s.v, zero)) < TOLERANCE


def test_equation_5_transposed_jacobian(s):
    """(5): J* = H phi B. Witness: unit tip forces through the Newton-Euler recursion."""
    rest, columns = s.at_rest().but(beta_dot=0.0 * s.v), []
    for unit in np.eye(s.f0.size):
        columns.append(np.concatenate(newton_euler(rest.but(f0=unit.reshape(-1, 6))).T))
    assert s.mismatch(H @ phi @ B, np.array(columns).T) < TOLERANCE
    assert s.mismatch(J.T, np.array(columns).T) < TOLERANCE


def test_equations_6_and_7_bias_free_dynamics(s):
    """(6), (7): H phi M phi* H* theta_ddot = T', the two sweeps printed after (7).

    alpha = phi* H* theta_ddot outward, f = phi M alpha inward, T = H f; Jm added.
    """
    rest = newton_euler(s.at_rest())
    assert s.mismatch(phi.T @ H.T @ beta_dot, rest.alpha) < TOLERANCE
    assert s.mismatch(phi @ M @ phi.T @ H.T @ beta_dot, rest.f) < TOLERANCE
    assert s.mismatch(H @ phi @ M @ phi.T @ H.T @ beta_dot + Jm @ beta_dot, rest.T) < TOLERANCE
    T_ = T - C - J.T @ f0
    solved = s.value(Mass.inv @ T_)
    assert s.mismatch(newton_euler(s.but(beta_dot=solved)).T, T) < TOLERANCE


def test_newton_euler_recursion_of_section_3(s):
    """Sec. 3: alpha(k) = phi* alpha + H* theta_ddot + a, f(k) = phi f + M alpha + b, T = H f.

    alpha(k) is the rate of V(k): componentwise in inertial axes, gravity apart.
    """
    loop = newton_euler(s)
    g = np.tile([0.0, 0.0, 0.0, *s.model.gravity], len(s.model.bodies))
    rate = time_derivative(
        s.model, phi.T @ H.T @ beta, s.q, s.v, axes="world", acceleration=s.beta_dot
    )
    assert s.mismatch(alpha, rate - g) < TOLERANCE
    assert s.mismatch(alpha, loop.alpha) < TOLERANCE
    assert s.mismatch(phi @ (M @ alpha + b + B @ f0), loop.f) < TOLERANCE
    assert s.mismatch(H @ phi @ (M @ alpha + b + B @ f0) + Jm @ beta_dot, loop.T) < TOLERANCE


# -- 4. inversion of the mass matrix ---------------------------------------------------


def test_equation_8_riccati_equation(rotorless):
    """(8), (9): P(1) = M(1), P(k) = psi P(k-1) psi* + M(k); D = H P H*, G = P H* D^-1.

    psi(k,k-1) = phi(k,k-1) [I - G H]. Domain: no rotor inertia; on trees P sums over children.
    """
    s, loop = rotorless, riccati(rotorless, printed=True)
    assert s.mismatch(P, diagonal(s, loop.P)) < TOLERANCE
    assert s.mismatch(D, diagonal(s, loop.D, "joint", "joint")) < TOLERANCE
    assert s.mismatch(G, diagonal(s, loop.G, "body", "joint")) < TOLERANCE
    assert s.mismatch(psi, products(s, loop.psi)) < TOLERANCE


def test_equation_8_fails_with_rotor_inertia(geared):
    """(8) with D = H P H* + Jm is wrong: P gains phi (tau_bar P) phi* of a child then.

    psi P psi* leaves out phi G Jm G* phi*, and Lemma 3 fails on it.
    """
    s, wrong, right = geared, riccati(geared, printed=True), riccati(geared)
    assert s.mismatch(P, diagonal(s, wrong.P)) > MARGIN
    assert s.mismatch(P, diagonal(s, right.P)) < TOLERANCE
    inverse = np.linalg.inv(equations_of_motion(s)[0])
    for loop, holds in ((right, True), (wrong, False)):
        K_ = s.value(E_phi) @ diagonal(s, loop.G, "body", "joint")
        W_ = np.eye(s.model.nv) - s.value(H) @ products(s, loop.psi) @ K_
        D_inv = np.linalg.inv(diagonal(s, loop.D, "joint", "joint"))
        difference = s.mismatch(W_.T @ D_inv @ W_, inverse)
        assert difference < TOLERANCE if holds else difference > MARGIN


def test_definitions_of_shifted_operators(s):
    """Before (8): E_phi has phi(k,k-1), K has K(k,k-1) = phi(k,k-1) G(k-1) below the diagonal.

    On trees in block (p(k), k).
    """
    loop = riccati(s)
    E_, K_ = np.zeros_like(s.value(E_phi)), np.zeros_like(s.value(K))
    for k, p in s.outward:
        if p != WORLD:
            E_[6 * p : 6 * p + 6, 6 * k : 6 * k + 6] = s.phi[k]
            K_[6 * p : 6 * p + 6, s.model.joints[k].rows] = s.phi[k] @ loop.G[k]
    assert s.mismatch(E_phi, E_, scale=1.0) < TOLERANCE
    assert s.mismatch(K, K_, scale=1.0) < TOLERANCE


def test_equation_10_one_step_of_psi(s):
    """(10): E_psi = E_phi (I - G H) = E_phi - K H; E_psi has psi(k,k-1) below the diagonal."""
    loop = riccati(s)
    E_ = np.zeros_like(s.value(E_psi))
    for k, p in s.outward:
        if p != WORLD:
            E_[6 * p : 6 * p + 6, 6 * k : 6 * k + 6] = loop.psi[k]
    for side in (E_psi, E_phi @ (I - G @ H), E_phi - K @ H):
        assert s.mismatch(side, E_, scale=1.0) < TOLERANCE


def test_psi_is_a_recursion_from_tip_to_base(s):
    """After (10): z = psi y is z(k) = psi(k,k-1) z(k-1) + y(k)."""
    y, loop = np.random.default_rng(3).normal(size=(len(s.model.bodies), 6)), riccati(s)
    z = {}
    for k, children in s.inward:
        z[k] = y[k] + sum(loop.psi[c] @ z[c] for c in children)
    z = [z[k] for k in s.model.tree.base_to_tip]
    result = pp.as_matrix(s.model, psi @ vector("y", "body"), s.q, axes="world", y=y.ravel())
    assert s.mismatch(result, z) < TOLERANCE


@pytest.mark.parametrize("axes", ["link", "world"])
def test_lemma_1_innovations_factorization(s, axes):
    """Lemma 1, (11): Mass = (I + H phi K) D (I + H phi K)*."""
    factor = I + H @ phi @ K
    assert s.mismatch(factor @ D @ factor.T, equations_of_motion(s)[0], axes) < TOLERANCE


def test_innovations_representation_is_a_recursion(s):
    """After (11): y = (I + H phi K) eps is z = phi z + K eps(k-1), y = H z + eps."""
    loop, eps, z, y = riccati(s), s.T, {}, []
    for k, children in s.inward:
        z[k] = np.zeros(6)
        for c in children:
            z[k] = z[k] + s.phi[c] @ z[c] + s.phi[c] @ loop.G[c] @ s.speeds(c, eps)
        y.append(s.H[k] @ z[k] + s.speeds(k, eps))
    assert s.mismatch((I + H @ phi @ K) @ T, y[::-1]) < TOLERANCE


@pytest.mark.parametrize("axes", ["link", "world"])
def test_lemma_2_causal_inverse(s, axes):
    """Lemma 2, (12): (I + H phi K)^-1 = I - H psi K."""
    assert s.mismatch((I + H @ phi @ K).inv, I - H @ psi @ K, axes) < TOLERANCE


def test_whitening_filter_is_a_recursion(s):
    """After (12): eps = (I - H psi K) y is z = psi z + K y(k-1), eps = -H z + y."""
    _, eps = whiten(s, riccati(s), s.T)
    assert s.mismatch((I - H @ psi @ K) @ T, eps) < TOLERANCE


@pytest.mark.parametrize("axes", ["link", "world"])
def test_lemma_3_inverse_of_the_mass_matrix(s, axes):
    """Lemma 3, (13): Mass^-1 = (I - H psi K)* D^-1 (I - H psi K)."""
    inverse = np.linalg.inv(equations_of_motion(s)[0])
    assert s.mismatch(W.T @ D.inv @ W, inverse, axes) < TOLERANCE


@pytest.mark.parametrize("axes", ["link", "world"])
def test_equations_14_and_15_forward_dynamics(s, axes):
    """(14), (15): T' = T - H phi [M phi* a + b + B f(0)], theta_ddot = W* D^-1 W T'.

    W = I - H psi K. Witness: the dense solution of the loops' equations of motion.
    """
    T_ = T - H @ phi @ (M @ phi.T @ a_g + b + B @ f0)
    assert s.mismatch(W.T @ D.inv @ W @ T_, forward_dynamics(s), axes) < TOLERANCE


def test_recursion_of_forward_dynamics(s):
    """After (15): z, eps, nu = D^-1 eps inward; lambda = psi* lambda + H* nu outward.

    theta_ddot(k) = nu(k) - K*(k+1,k) lambda(k+1), where lambda(k+1,k) is printed.
    """
    loop = riccati(s)
    nu, _ = whiten(s, loop, s.value(T - C - J.T @ f0))
    assert s.mismatch(smooth(s, loop, nu), forward_dynamics(s)) < TOLERANCE


def whiten(s, loop, y):
    """nu = D^-1 eps and eps = (I - H psi K) y, as printed after (12)."""
    z, eps, nu = {}, [], []
    for k, children in s.inward:
        z[k] = np.zeros(6)
        for c in children:
            z[k] = z[k] + loop.psi[c] @ z[c] + s.phi[c] @ loop.G[c] @ s.speeds(c, y)
        eps.append(s.speeds(k, y) - s.H[k] @ z[k])
        nu.append(np.linalg.solve(loop.D[k], eps[-1]))
    return nu[::-1], eps[::-1]


def smooth(s, loop, nu):
    """(I - H psi K)* nu, as printed after (15)."""
    result, lambda_ = [], {WORLD: np.zeros(6)}
    for k, p in s.outward:
        lambda_[k] = loop.psi[k].T @ lambda_[p] + s.H[k].T @ nu[k]
        result.append(nu[k] - (s.phi[k] @ loop.G[k]).T @ lambda_[p])
    return result


# -- 5. applications -------------------------------------------------------------------


@pytest.mark.parametrize("axes", ["link", "world"])
def test_lemma_4_whitened_force_propagation(s, axes):
    """Lemma 4, (16): (I - H psi K) H phi = H psi."""
    assert s.mismatch((I - H @ psi @ K) @ H @ phi, H @ psi, axes) < TOLERANCE


def tip_force_response(s):
    """-Mass^-1 J* f(0) as a dense solution."""
    Mass_, _, J_ = equations_of_motion(s)
    return -np.linalg.solve(Mass_, J_.T @ s.f0.ravel())


@pytest.mark.parametrize("axes", ["link", "world"])
def test_equation_17_tip_force_correction(s, axes):
    """(17): the tip force adds -(I - H psi K)* D^-1 (I - H psi K) H phi B f(0) to theta_ddot.

    theta_ddot = theta_ddot_f + this, theta_ddot_f = Mass^-1 (T - C).
    """
    correction = -W.T @ D.inv @ W @ H @ phi @ B @ f0
    assert s.mismatch(correction, tip_force_response(s), axes) < TOLERANCE
    free = W.T @ D.inv @ W @ (T - C)
    assert s.mismatch(free + correction, forward_dynamics(s), axes) < TOLERANCE


@pytest.mark.parametrize("axes", ["link", "world"])
def test_equation_18_simplified_tip_force_correction(s, axes):
    """(18): the same is -(I - H psi K)* D^-1 H psi B f(0)."""
    correction = -W.T @ D.inv @ H @ psi @ B @ f0
    assert s.mismatch(correction, tip_force_response(s), axes) < TOLERANCE


def test_recursion_of_the_tip_force_correction(s):
    """After (18): z(k) = psi(k,k-1) z(k-1), nu = -D^-1 H z, then outward as after (15).

    As printed, z(1) = psi(1,0) f(0) is set before a loop from k = 1 that
    overwrites it by psi(1,0) z(0), with z(0) never set: with z(0) = 0 the force
    is lost. Correct: z(0) = f(0), psi(1,0) := phi(1,0).
    """
    loop = riccati(s)

    def run(z_0):
        z, nu = {}, []
        for k, children in s.inward:
            outer = [step @ f for (i, step), f in zip(s.tips, z_0, strict=True) if i == k]
            outer += [loop.psi[c] @ z[c] for c in children]
            z[k] = sum(outer)
            nu.append(-np.linalg.solve(loop.D[k], s.H[k] @ z[k]))
        return smooth(s, loop, nu[::-1])

    expected = tip_force_response(s)
    assert s.mismatch(run(s.f0), expected) < TOLERANCE
    assert s.mismatch(run(0.0 * s.f0), expected) > MARGIN


@pytest.mark.parametrize("axes", ["link", "world"])
def test_equation_19_compliance_at_the_tip(s, axes):
    """(19): Omega(0) = J Mass^-1 J* = B* phi* H* W* D^-1 W H phi B, W = I - H psi K.

    On trees between all the tips.
    """
    right = B.T @ phi.T @ H.T @ W.T @ D.inv @ W @ H @ phi @ B
    assert s.mismatch(right, compliance(s, axes), axes) < TOLERANCE
    assert s.mismatch(J @ Mass.inv @ J.T, compliance(s, axes), axes) < TOLERANCE


@pytest.mark.parametrize("axes", ["link", "world"])
def test_equation_20_simplified_compliance_at_the_tip(s, axes):
    """(20): Omega(0) = B* psi* H* D^-1 H psi B, between all the tips of a tree."""
    right = B.T @ psi.T @ H.T @ D.inv @ H @ psi @ B
    assert s.mismatch(right, compliance(s, axes), axes) < TOLERANCE
    assert s.mismatch(B.T @ Omega @ B, compliance(s, axes), axes) < TOLERANCE


def compliance(s, axes):
    """J Mass^-1 J* as a dense solution."""
    Mass_, _, J_ = equations_of_motion(s)
    if axes == "link":
        turns = [np.kron(np.eye(2), s.poses[k][0]).T for k, _ in s.tips]
        J_ = np.concatenate(
            [turn @ rows for turn, rows in zip(turns, J_.reshape(-1, 6, s.model.nv), strict=True)]
        )
    return J_ @ np.linalg.solve(Mass_, J_.T)


def test_recursion_of_the_compliance_at_the_tip(s):
    """After (20): Omega(k) = psi* Omega(k+1) psi + H* D^-1 H outward.

    Omega(0) = phi*(1,0) Omega(1) phi(1,0). On trees this gives the block of each
    tip with itself. Omega(k) is Y(k).
    """
    loop, Omega_ = riccati(s), {WORLD: np.zeros((6, 6))}
    for k, p in s.outward:
        own = s.H[k].T @ np.linalg.solve(loop.D[k], s.H[k])
        Omega_[k] = loop.psi[k].T @ Omega_[p] @ loop.psi[k] + own
    assert s.mismatch(Y, diagonal(s, Omega_)) < TOLERANCE
    expected = compliance(s, "world")
    for e, (k, step) in enumerate(s.tips):
        own = expected[6 * e : 6 * e + 6, 6 * e : 6 * e + 6]
        assert relative_difference(step.T @ Omega_[k] @ step, own) < TOLERANCE


def test_effective_inertia_at_the_tip():
    """Sec. 5.2: Lambda = (J Mass^-1 J*)^-1 is the inertia felt at the tip: f = Lambda alpha(0).

    A force -f(0) ON the tip of an arm at rest. Domain: the tip has all six
    freedoms; here serial arms of seven joints and more.
    """
    for name in ("serial_revolute", "serial_revolute_prismatic", "serial_multidof"):
        s = state(name).at_rest().but(f0=state(name).f0)
        moved = newton_euler(s.but(beta_dot=tip_force_response(s)))
        Lambda = (J @ Mass.inv @ J.T).inv
        assert s.mismatch(-s.value(Lambda) @ np.concatenate(moved.alpha0), s.f0.ravel()) < TOLERANCE


# -- 5.3. closed chain -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Closed:
    """Two serial arms whose tips are one point c, and which move together there."""

    one: State
    two: State


PAIRS = [
    ("serial_revolute", "serial_revolute_prismatic"),
    ("serial_multidof", "serial_revolute"),
    ("puma560", "serial_revolute"),
]


@pytest.fixture(params=PAIRS, ids=" and ".join)
def closed(request):
    """The tip of the second arm is put where the first one's is; speeds that keep it there."""
    one, two = (state(name) for name in request.param)
    k, step = one.tips[0]
    c = one.poses[k][1] + tip_vector(step)
    body = len(two.model.bodies) - 1
    R, O = two.poses[body]
    points = (pp.point(two.model.bodies[body].name, R.T @ (c - O)),)
    two = State(two.model, two.q, two.v, two.beta_dot, two.T, points, two.f0)

    J1, J2 = equations_of_motion(one)[2], equations_of_motion(two)[2]
    v = null_space(np.hstack([J1, -J2])) @ np.ones(one.model.nv + two.model.nv - 6)
    return Closed(one.but(v=v[: one.model.nv]), two.but(v=v[one.model.nv :]))


def tip_vector(step):
    """l of phi(k,0) = [[1, l~], [0, 1]]."""
    return np.array([step[2, 4], step[0, 5], step[1, 3]])


def null_space(A):
    """An orthonormal basis of what A, of full rank, maps to zero."""
    return np.linalg.svd(A)[2][len(A) :].T


def J_dot_beta(s):
    """J_dot theta_dot, by a complex step along the motion."""
    return time_derivative(s.model, J @ beta, s.q, s.v, axes="world", points=s.points)


def constrained_accelerations(closed):
    """theta_ddot of both arms and f(0), from the equations of motion and the constraint at once."""
    one, two = closed.one, closed.two
    (M1, C1, J1), (M2, C2, J2) = equations_of_motion(one), equations_of_motion(two)
    n1, n2 = len(M1), len(M2)
    system = np.block(
        [
            [M1, np.zeros((n1, n2)), -J1.T],
            [np.zeros((n2, n1)), M2, J2.T],
            [J1, -J2, np.zeros((6, 6))],
        ]
    )
    right = np.concatenate([one.T - C1, two.T - C2, J_dot_beta(two) - J_dot_beta(one)])
    solved = np.linalg.solve(system, right)
    return solved[:n1], solved[n1 : n1 + n2], solved[n1 + n2 :]


def test_closed_chain_starts_with_both_tips_moving_together(closed):
    """The set-up of sec. 5.3: both tips are at the same place with the same velocity."""
    places = []
    for s in (closed.one, closed.two):
        k, step = s.tips[0]
        places.append(s.poses[k][1] + tip_vector(step))
    assert relative_difference(*places) < TOLERANCE
    V1, V2 = closed.one.value(J @ beta), closed.two.value(J @ beta)
    assert relative_difference(V1, V2) < TOLERANCE
    assert np.linalg.norm(V1) > MARGIN


W_D_W = W.T @ D.inv @ W


def free_accelerations(s):
    """theta_ddot_f of (24) and alpha_f(0) = J theta_ddot_f + J_dot theta_dot."""
    theta_ddot_f = s.value(W_D_W @ (T - C))
    return theta_ddot_f, s.value(J) @ theta_ddot_f + J_dot_beta(s)


def test_equations_21_to_23_closed_chain(closed):
    """(21)-(23): f_2(0) = -f_1(0) = f(0), alpha_1(0) = alpha_2(0), each arm by (2).

    Mass_1 theta_ddot_1 + C_1 = T_1 + J_1* f(0), the other arm with the minus.
    Witness: each arm's Newton-Euler recursion under the force of its tip.
    """
    x1, x2, f = constrained_accelerations(closed)
    tips = []
    for s, x, sign in ((closed.one, x1, -1.0), (closed.two, x2, 1.0)):
        moved = s.but(beta_dot=x, f0=sign * f[None, :])
        run = newton_euler(moved)
        assert relative_difference(np.concatenate(run.T), s.T) < TOLERANCE
        assert moved.mismatch(Mass @ beta_dot + C, s.value(T) - sign * s.value(J.T) @ f) < TOLERANCE
        tips.append(run.alpha0[0] + np.array([0.0, 0.0, 0.0, *s.model.gravity]))
    assert relative_difference(*tips) < TOLERANCE


def test_equation_24_free_accelerations(closed):
    """(24): theta_ddot_1f = W* D^-1 W (T - C), and Mass_1^-1 J_1* f(0) = W* D^-1 H psi B f(0)."""
    _, _, f = constrained_accelerations(closed)
    for s in (closed.one, closed.two):
        Mass_, C_, J_ = equations_of_motion(s)
        assert s.mismatch(W_D_W @ (T - C), np.linalg.solve(Mass_, s.T - C_)) < TOLERANCE
        correction = s.value(W.T @ D.inv @ H @ psi @ B) @ f
        assert relative_difference(correction, np.linalg.solve(Mass_, J_.T @ f)) < TOLERANCE


def test_equation_25_tip_acceleration(closed):
    """(25): alpha_1(0) = J_1 theta_ddot_1 + J_dot_1 theta_dot_1, the rate of V_1(0).

    Free part: alpha_1f(0) = J_1 theta_ddot_1f + J_dot_1 theta_dot_1. Printed
    there is the correction's rate, Delta theta_dot_1, which is zero, as a force
    changes no speed at once: that fails.
    """
    x1, x2, f = constrained_accelerations(closed)
    for s, x, sign in ((closed.one, x1, 1.0), (closed.two, x2, -1.0)):
        moving = motions(s.model, s.q, s.v, x)
        alpha_0 = point_motion(s.model, moving, s.points[0]).alpha
        assert relative_difference(s.value(J) @ x + J_dot_beta(s), alpha_0) < TOLERANCE
        theta_ddot_f, alpha_f = free_accelerations(s)
        change = sign * s.value(B.T @ Omega @ B) @ f
        assert relative_difference(alpha_f + change, alpha_0) < TOLERANCE
        printed = s.value(J) @ theta_ddot_f
        assert relative_difference(printed + change, alpha_0) > MARGIN


def test_equation_26_contact_force_of_a_closed_chain(closed):
    """(26): f(0) = Lambda_c [alpha_2f(0) - alpha_1f(0)], Lambda_c^-1 = Lambda_1^-1 + Lambda_2^-1.

    With it theta_ddot = theta_ddot_f + Delta theta_ddot of both arms. Witness: a
    dense solution of equations of motion and constraint at once.
    """
    one, two = closed.one, closed.two
    (free_1, alpha_1f), (free_2, alpha_2f) = free_accelerations(one), free_accelerations(two)
    compliance_1, compliance_2 = (
        s.value(B.T @ psi.T @ H.T @ D.inv @ H @ psi @ B) for s in (one, two)
    )
    f = np.linalg.solve(compliance_1 + compliance_2, alpha_2f - alpha_1f)
    correction = W.T @ D.inv @ H @ psi @ B
    x1, x2, f_expected = constrained_accelerations(closed)
    assert relative_difference(f, f_expected) < TOLERANCE
    assert relative_difference(free_1 + one.value(correction) @ f, x1) < TOLERANCE
    assert relative_difference(free_2 - two.value(correction) @ f, x2) < TOLERANCE


# -- 6. innovations form of the equations of motion ------------------------------------

Dh = D.sqrt  # D^1/2; with joints of several freedoms the Cholesky factor
innovations = Dh.inv @ (I - H @ psi @ K) @ T
printed_innovations = Dh.inv @ (I - H @ phi @ K) @ T
residual = Dh.T @ (I + H @ phi @ K).T @ beta


def residual_rate(s, beta_dot):
    """nu_dot along the motion, by a complex step."""
    return time_derivative(s.model, residual, s.q, s.v, acceleration=beta_dot)


def test_rate_of_the_square_root(s):
    """What nu_dot needs of D^1/2: Dh_dot = Dh half(Dh^-1 D_dot Dh^-*), Dh the Cholesky factor.

    half takes the lower triangle and half of the diagonal. Against a complex step of D^1/2.
    """
    X = s.value(Dh.inv) @ time_derivative(s.model, D, s.q, s.v) @ s.value(Dh.inv).T
    expected = s.value(Dh) @ (np.tril(X) - 0.5 * np.diag(np.diag(X)))
    rate = time_derivative(s.model, Dh, s.q, s.v)
    assert s.mismatch(rate, expected, scale=1.0) < TOLERANCE


def test_residuals_diagonalize_the_kinetic_energy(s):
    """Sec. 6: nu = D^1/2 (I + H phi K)* theta_dot; the kinetic energy is nu* nu / 2."""
    energy = 0.5 * s.v @ equations_of_motion(s)[0] @ s.v
    assert s.mismatch(0.5 * residual.T @ residual, energy) < TOLERANCE


def test_innovations_carry_the_power(s):
    """Sec. 6: eps = D^-1/2 (I - H psi K) T; the power is nu* eps = theta_dot* T."""
    assert s.mismatch(residual.T @ innovations, s.v @ s.T) < TOLERANCE


def test_innovations_are_printed_with_the_wrong_operator(deep):
    """Sec. 6 prints eps = D^-1/2 (I - H phi K) T; phi should be psi.

    With phi the power is not theta_dot* T, and what is left of the equation of
    motion, nu_dot - eps, depends on T. Both agree as far as two bodies in a row.
    """
    s = deep
    assert s.mismatch(residual.T @ printed_innovations, s.v @ s.T) > MARGIN
    assert s.mismatch(printed_innovations, innovations) > MARGIN
    other = s.but(T=s.T + s.value(Mass) @ np.ones(s.model.nv))

    def bias(form):
        return [x.value(form) - residual_rate(x, forward_dynamics(x)) for x in (s, other)]

    assert relative_difference(*bias(innovations)) < TOLERANCE
    before, after = bias(printed_innovations)
    change = other.value(innovations) - s.value(innovations)
    assert np.linalg.norm(after - before) > MARGIN * np.linalg.norm(change)


def test_innovations_form_of_the_equations_of_motion(s):
    """Sec. 6: nu_dot + mu(theta, nu) = eps, diagonal: mu depends on state and tip force alone.

    mu = m^-1 (C + J* f0) - m_dot* theta_dot with m = (I + H phi K) D^1/2.
    """
    m = (I + H @ phi @ K) @ Dh
    m_dot_beta = residual_rate(s, np.zeros(s.model.nv))
    mu = s.value(m.inv @ (C + J.T @ f0)) - m_dot_beta
    nu_dot = residual_rate(s, forward_dynamics(s))
    assert s.mismatch(nu_dot + mu, innovations) < TOLERANCE


def test_bias_of_the_innovations_form_does_no_work(s):
    """Sec. 6: nu* mu = 0 without gravity and tip force: nu* nu / 2 is all the energy."""
    still = s.at_rest().but(v=s.v)
    m = (I + H @ phi @ K) @ Dh
    mu = still.value(m.inv @ C) - residual_rate(still, np.zeros(s.model.nv))
    nu = still.value(residual)
    assert abs(nu @ mu) < TOLERANCE * np.linalg.norm(nu) * np.linalg.norm(mu)
    assert np.linalg.norm(mu) > MARGIN


# -- appendix --------------------------------------------------------------------------


@pytest.mark.parametrize("axes", ["link", "world"])
def test_lemma_5_difference_of_inverses(s, axes):
    """Lemma 5: psi^-1 = phi^-1 + K H; also with psi and phi made as products of their steps."""
    assert s.mismatch(psi.inv, phi.inv + K @ H, axes) < TOLERANCE
    psi_, phi_ = products(s, riccati(s).psi), products(s, s.phi)
    left, right = np.linalg.inv(psi_), np.linalg.inv(phi_) + s.value(K @ H)
    assert relative_difference(left, right) < TOLERANCE


def test_proof_of_lemma_1(s):
    """Proof of Lemma 1: M = P - E_phi P E_phi* + K D K*, and its image under phi.

    phi M phi* = P + phi_tilde P + P phi_tilde* + phi K D K* phi*. Holds with rotor inertia.
    """
    assert s.mismatch(M, P - E_phi @ P @ E_phi.T + K @ D @ K.T) < TOLERANCE
    right = P + phi_tilde @ P + P @ phi_tilde.T + phi @ K @ D @ K.T @ phi.T
    assert s.mismatch(phi @ M @ phi.T, right) < TOLERANCE


def test_proof_of_lemma_1_articulated_form(rotorless):
    """Proof of Lemma 1: M = P - E_psi P E_psi*, tau_bar P tau_bar* = tau_bar P.

    Domain: no rotor inertia.
    """
    s = rotorless
    assert s.mismatch(M, P - E_psi @ P @ E_psi.T) < TOLERANCE
    assert s.mismatch(tau_bar @ P @ tau_bar.T, tau_bar @ P, scale=1.0) < TOLERANCE


def test_proof_of_lemma_1_articulated_form_fails_with_rotor_inertia(geared):
    """With Jm, M = P - E_psi P E_phi* in place of P - E_psi P E_psi*."""
    s = geared
    assert s.mismatch(M, P - E_psi @ P @ E_psi.T) > MARGIN
    assert s.mismatch(M, P - E_psi @ P @ E_phi.T) < TOLERANCE


def test_proof_of_lemma_2(s):
    """Proof of Lemma 2: (I + H phi K)^-1 = I - H phi (I + K H phi)^-1 K.

    I + K H phi = psi^-1 phi.
    """
    left = (I + H @ phi @ K).inv
    assert s.mismatch(left, I - H @ phi @ (I + K @ H @ phi).inv @ K) < TOLERANCE
    assert s.mismatch(I + K @ H @ phi, psi.inv @ phi) < TOLERANCE


def test_proof_of_lemma_4(s):
    """Proof of Lemma 4: (I - psi K H) = psi phi^-1."""
    assert s.mismatch(I - psi @ K @ H, psi @ phi.inv) < TOLERANCE
