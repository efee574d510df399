"""Spatial algebra against the papers' identities, rotations and exponentials against SciPy."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from machines import random_axis, random_rotation
from numpy.testing import assert_allclose
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from phipsi import spatial
from phipsi.scalars import Dual

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)

# Rotation angles over all scales; the series and the closed form meet at t^2 = 0.01 for
# `sinc_defect(t^2)`, at t^2 / 4 = 0.01 for `sinc(t^2 / 4)`, at tan(t/4)^2 = 0.01 for the logarithm.
ANGLES = [
    *(0.0, 1e-300, 1e-160, 1e-12, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2),
    *(0.0999, 0.1, 0.1001, 0.1999, 0.2, 0.2001, 0.3986, 0.3987, 0.3988, 0.5, 1.0, 2.0, 3.0),
    *(math.pi - 1e-3, math.pi - 1e-8, math.pi),
]
BEYOND_PI = [math.pi + 1e-8, 4.0, 2 * math.pi - 1e-8, 2 * math.pi, 2 * math.pi + 1e-8, 10.0, 50.0]

angles = pytest.mark.parametrize("angle", ANGLES)


def array(x):
    return np.array(x, dtype=float)


def force_transform(rng):
    """phi of a random placement, as an array."""
    return array(spatial.phi(random_rotation(rng), rng.normal(size=3)))


# -- vectors ---------------------------------------------------------------------------


@given(seeds)
def test_vector_and_matrix_arithmetic_is_that_of_numpy(rng):
    x, y = rng.normal(size=(2, 5))
    A, B, C, D = rng.normal(size=(4, 3, 3))
    assert_allclose(spatial.add(x, y), x + y, rtol=1e-15)
    assert_allclose(spatial.subtract(x, y), x - y, rtol=1e-15)
    assert_allclose(spatial.scale(x[0], y), x[0] * y, rtol=1e-15)
    assert_allclose(spatial.dot(x, y), x @ y, rtol=1e-13, atol=1e-14)
    assert_allclose(spatial.normalize(x), x / np.linalg.norm(x), rtol=1e-15)
    assert_allclose(spatial.transpose(A[:2]), A[:2].T)
    assert_allclose(spatial.apply(A[:2], x[:3]), A[:2] @ x[:3], atol=1e-14)
    assert_allclose(spatial.compose(A[:2], B), A[:2] @ B, atol=1e-14)
    assert_allclose(spatial.blocks(A, B, C, D), np.block([[A, B], [C, D]]))
    assert_allclose(spatial.cross(x[:3], y[:3]), np.cross(x[:3], y[:3]), atol=1e-15)
    assert_allclose(spatial.tilde(x[:3]) @ y[:3], np.cross(x[:3], y[:3]), atol=1e-15)


def test_vectors_of_unequal_length_do_not_add_up_silently():
    for operation in (spatial.add, spatial.subtract, spatial.dot):
        with pytest.raises(ValueError, match="zip"):
            operation([1.0, 2.0, 3.0], [1.0, 2.0])


# -- one body --------------------------------------------------------------------------


@given(seeds)
def test_phi_is_a_group(rng):
    """phi(i,j) phi(j,k) = phi(i,k), phi(k,k) = I, phi(i,j)^-1 = phi(j,i) [001 (4)]."""
    R1, R2 = random_rotation(rng), random_rotation(rng)
    l1, l2 = rng.normal(size=(2, 3))
    both = spatial.phi(R1 @ R2, l1 + R1 @ l2)
    assert_allclose(array(spatial.phi(R1, l1)) @ spatial.phi(R2, l2), both, atol=1e-14)
    assert_allclose(spatial.phi(spatial.IDENTITY3, spatial.ZERO3), np.eye(6))
    back = spatial.phi(R1.T, -R1.T @ l1)
    assert_allclose(np.linalg.inv(spatial.phi(R1, l1)), back, atol=1e-13)


@given(seeds)
def test_phi_carries_forces_inward_and_its_transpose_motions_outward(rng):
    """Moment and velocity of an explicit point; the power is the same in both frames."""
    R, l = random_rotation(rng), rng.normal(size=3)
    phi = array(spatial.phi(R, l))
    N, F, omega, v = rng.normal(size=(4, 3))
    inboard = np.concatenate([R @ N + np.cross(l, R @ F), R @ F])
    assert_allclose(phi @ np.concatenate([N, F]), inboard, atol=1e-14)
    outboard = np.concatenate([R.T @ omega, R.T @ (v + np.cross(omega, l))])
    assert_allclose(phi.T @ np.concatenate([omega, v]), outboard, atol=1e-14)


@given(seeds)
def test_spatial_inertia_gives_the_energy_and_momentum_of_point_masses(rng):
    """A cloud of points, each with mass m and place r, moving with v + omega x r [001 (2)]."""
    m, r = rng.uniform(0.1, 2.0, 8), rng.normal(size=(8, 3))
    mass, com = m.sum(), m @ r / m.sum()
    arm = r - com
    rotational = np.einsum("i,ijk->jk", m, [(a @ a) * np.eye(3) - np.outer(a, a) for a in arm])
    M = array(spatial.spatial_inertia(mass, com, rotational))
    omega, v = rng.normal(size=(2, 3))
    V = np.concatenate([omega, v])
    speed = v + np.cross(omega, r)
    assert_allclose(V @ M @ V, m @ np.sum(speed**2, axis=1), rtol=1e-12)
    linear = m[:, None] * speed
    assert_allclose(M @ V, [*np.cross(r, linear).sum(0), *linear.sum(0)], atol=1e-12)
    assert_allclose(M, M.T)


@given(seeds)
def test_spatial_inertia_moves_by_phi(rng):
    """phi M phi* is the inertia of the same body seen from the other frame."""
    R, l, com = random_rotation(rng), rng.normal(size=3), rng.normal(size=3)
    mass, I = rng.uniform(0.1, 2.0), np.diag(rng.uniform(1.0, 2.0, 3))
    phi = array(spatial.phi(R, l))
    moved = spatial.spatial_inertia(mass, R @ com + l, R @ I @ R.T)
    assert_allclose(phi @ spatial.spatial_inertia(mass, com, I) @ phi.T, moved, atol=1e-13)


# -- cross products --------------------------------------------------------------------


@given(seeds)
def test_spatial_cross_product_is_skew_though_its_matrix_is_not(rng):
    """A~ A = 0 and A~ B = -B~ A [000 (2.6)]."""
    A, B = rng.normal(size=(2, 6))
    assert_allclose(spatial.cross_motion(A) @ A, np.zeros(6), atol=1e-14)
    assert_allclose(spatial.cross_motion(A) @ B, spatial.cross_motion(B) @ -A, atol=1e-14)
    matrix = array(spatial.cross_motion(A))
    assert_allclose(np.abs(matrix + matrix.T).max(), np.abs(A[3:]).max())


@given(seeds)
def test_spatial_cross_product_is_the_bracket_of_rigid_motions(rng):
    """[000 (2.5)] against the commutator of 4 x 4 twists, and Jacobi's identity."""
    A, B, C = rng.normal(size=(3, 6))
    commutator = twist(A) @ twist(B) - twist(B) @ twist(A)
    assert_allclose(twist(array(spatial.cross_motion(A)) @ B), commutator, atol=1e-13)
    a, b, c = (array(spatial.cross_motion(x)) for x in (A, B, C))
    assert_allclose(a @ b @ C + b @ c @ A + c @ a @ B, np.zeros(6), atol=1e-12)


@given(seeds)
def test_force_cross_product_and_its_adjoint(rng):
    """S[A] = -(A~)* [000 (2.7)]; Q skew [000 (2.8)]; S[A] B = -Q[B] A [000 (2.9)]."""
    A, B = rng.normal(size=(2, 6))
    S, Q = array(spatial.cross_force(A)), array(spatial.cross_adjoint(B))
    assert_allclose(S, -array(spatial.cross_motion(A)).T)
    assert_allclose(Q, -Q.T)
    assert_allclose(S @ B, -Q @ A, atol=1e-14)
    assert_allclose(array(spatial.cross_motion(A)).T @ B, Q @ A, atol=1e-14)


@given(seeds)
def test_cross_products_move_by_phi(rng):
    """The four lines of [000 (2.10)], with rotations as well as shifts."""
    X, phi = rng.normal(size=6), force_transform(rng)
    inverse = np.linalg.inv(phi)
    S, Q, cross = (
        lambda x, f=f: array(f(x))
        for f in (spatial.cross_force, spatial.cross_adjoint, spatial.cross_motion)
    )
    assert_allclose(Q(phi @ X), phi @ Q(X) @ phi.T, atol=1e-12)
    assert_allclose(S(phi.T @ X), inverse @ S(X) @ phi, atol=1e-12)
    assert_allclose(cross(phi.T @ X), phi.T @ cross(X) @ inverse.T, atol=1e-12)
    assert_allclose(cross(phi.T @ X) @ phi.T, phi.T @ cross(X), atol=1e-12)


def twist(V):
    """The 4 x 4 matrix of a spatial velocity."""
    result = np.zeros((4, 4))
    result[:3, :3], result[:3, 3] = spatial.tilde(V[:3]), V[3:]
    return result


# -- rotations -------------------------------------------------------------------------


@given(seeds)
def test_rotations_are_those_of_scipy(rng):
    axis, angle = random_axis(rng), rng.uniform(-10.0, 10.0)
    reference = Rotation.from_rotvec(angle * axis).as_matrix()
    assert_allclose(spatial.rotation(axis, angle), reference, atol=1e-14)
    rpy = rng.uniform(-4.0, 4.0, 3)
    reference = Rotation.from_euler("xyz", rpy).as_matrix()
    assert_allclose(spatial.rotation_from_rpy(rpy), reference, atol=1e-14)
    q = rng.normal(size=4)
    q /= np.linalg.norm(q)
    reference = Rotation.from_quat(q).as_matrix()
    assert_allclose(spatial.rotation_from_quaternion(q), reference, atol=1e-14)
    assert_allclose(spatial.rotation_from_quaternion(-q), reference, atol=1e-14)


@given(seeds)
def test_quaternion_product_and_conjugate_are_those_of_rotations(rng):
    p, q = (spatial.normalize(x) for x in rng.normal(size=(2, 4)))
    R = array(spatial.rotation_from_quaternion(p))
    both = R @ spatial.rotation_from_quaternion(q)
    product = spatial.quaternion_product(p, q)
    assert_allclose(spatial.rotation_from_quaternion(product), both, atol=1e-14)
    back = spatial.quaternion_conjugate(p)
    assert_allclose(spatial.rotation_from_quaternion(back), R.T, atol=1e-14)
    assert_allclose(spatial.quaternion_product(p, back), [0.0, 0.0, 0.0, 1.0], atol=1e-15)


@given(seeds)
def test_rotation_matrices_are_told_from_others(rng):
    R = random_rotation(rng)
    assert spatial.is_rotation(R.tolist(), 1e-12)
    for wrong in (-R, 1.001 * R, R + 1e-3, R[[1, 0, 2]], np.zeros((3, 3)), R * np.nan):
        assert not spatial.is_rotation(wrong.tolist(), 1e-6)


@pytest.mark.parametrize("angle", [*ANGLES, *BEYOND_PI])
def test_quaternion_exponential_is_that_of_scipy_at_every_angle(angle):
    for axis in random_axes(5):
        q = spatial.quaternion_exp(angle * axis)
        expected = [*(math.sin(angle / 2) * axis), math.cos(angle / 2)]
        roundoff = 1e-16 * angle if angle > 3.0 else 0.0  # of the angle itself
        assert_allclose(q, expected, rtol=1e-14, atol=2 * roundoff)
        reference = Rotation.from_rotvec(angle * axis).as_matrix()
        assert_allclose(spatial.rotation_from_quaternion(q), reference, atol=1e-14)
        assert_allclose(np.linalg.norm(q), 1.0, rtol=1e-15)


@angles
def test_quaternion_logarithm_is_that_of_scipy_at_every_angle(angle):
    for axis in random_axes(5):
        half = 0.5 * angle
        q = [*(math.sin(half) * axis), math.cos(half)]
        w = array(spatial.quaternion_log(q))
        assert_allclose(w, angle * axis, rtol=1e-14, atol=0.0)
        if angle > 1e-150:  # SciPy squares the vector part
            assert_allclose(w, Rotation.from_quat(q).as_rotvec(), rtol=1e-13)


@pytest.mark.parametrize("angle", ANGLES[:-1])
def test_opposite_quaternions_have_one_logarithm(angle):
    for axis in random_axes(5):
        q = array(spatial.quaternion_exp(angle * axis))
        assert_allclose(spatial.quaternion_log(-q), spatial.quaternion_log(q), rtol=1e-15)


@pytest.mark.parametrize("angle", BEYOND_PI)
def test_quaternion_logarithm_goes_the_shorter_way(angle):
    for axis in random_axes(5):
        w = array(spatial.quaternion_log(spatial.quaternion_exp(angle * axis)))
        assert np.linalg.norm(w) <= math.pi * (1 + 1e-15)
        turned = Rotation.from_rotvec(w).as_matrix()
        assert_allclose(turned, Rotation.from_rotvec(angle * axis).as_matrix(), atol=1e-13)


@pytest.mark.parametrize("angle", [*ANGLES, 4.0, 6.0])
def test_exponential_of_a_twist_is_that_of_its_matrix(angle):
    rng = np.random.default_rng(8)
    for axis in random_axes(5):
        w, u = angle * axis, rng.normal(size=3)
        pose = expm(twist([*w, *u]))
        assert_allclose(spatial.translation_exp(w, u), pose[:3, 3], rtol=1e-13, atol=1e-14)
        rotated = spatial.rotation_from_quaternion(spatial.quaternion_exp(w))
        assert_allclose(rotated, pose[:3, :3], atol=2e-14)


@pytest.mark.parametrize("angle", [*ANGLES, 4.0, 6.0])
def test_logarithm_of_a_pose_undoes_the_exponential_of_its_matrix(angle):
    rng = np.random.default_rng(9)
    for axis in random_axes(5):
        w, u = angle * axis, rng.normal(size=3)
        position = expm(twist([*w, *u]))[:3, 3]
        tolerance = 1e-13 if angle <= math.pi else 1e-11  # the inverse grows towards 2 pi
        assert_allclose(spatial.translation_log(w, position), u, rtol=tolerance, atol=tolerance)


def random_axes(n):
    return [random_axis(np.random.default_rng(k)) for k in range(n)]


# -- functions of the squared angle ----------------------------------------------------


def exact(name, x):
    """The value with 50 digits, by the power series in rational numbers."""
    x = Fraction(x)
    total, term = Fraction(0), Fraction(1)
    if name == "arctanc":  # Euler's series converges for all x: sum (2n)!!/(2n+1)!! x^n/(1+x)^(n+1)
        term = 1 / (1 + x)
        for n in range(400):
            total += term
            term *= Fraction(2 * n + 2, 2 * n + 3) * x / (1 + x)
            term = Fraction(int(term * 10**60), 10**60)
        return float(total)
    first = {"cosine": 0, "sinc": 1, "sinc_defect": 3}[name]
    for n in range(1, first + 1):
        term /= n
    for n in range(80):
        total += term
        term *= -x / ((first + 2 * n + 1) * (first + 2 * n + 2))
    return float(total)


def tolerance(name, x):
    """Two ulp; the closed forms 1 - sinc and 1 - cot lose three digits at 0.01."""
    return 2e-13 if name.endswith("defect") and x >= 0.01 else 5e-16


SQUARES = [0.0, 1e-300, 1e-16, 1e-8, 1e-4, 0.005, 0.00999999, 0.01, 0.0100001, 0.02, 0.1, 1.0, 4.0]


@pytest.mark.parametrize("name", ["cosine", "sinc", "sinc_defect", "arctanc"])
@pytest.mark.parametrize("x", SQUARES)
def test_function_of_the_squared_angle_is_exact(name, x):
    assert_allclose(getattr(spatial, name)(x), exact(name, x), rtol=tolerance(name, x))


@pytest.mark.parametrize("x", SQUARES)
def test_cotangent_defect_is_exact(x):
    """(1 - (t/2) cot(t/2))/t^2 = (sinc - cos)/(4 y sinc) at y = (t/2)^2, by exact sinc and cos."""
    y = Fraction(x) / 4
    sinc = difference = Fraction(0)  # difference: (sinc - cos)/y, term by term
    term = Fraction(1)
    for n in range(40):
        sinc += term / (2 * n + 1)
        term *= -y / ((2 * n + 1) * (2 * n + 2))
        if y:
            difference += term / y * (Fraction(1, 2 * n + 3) - 1)
    expected = float(difference / (4 * sinc)) if y else 1 / 12
    assert_allclose(spatial.cotangent_defect(x), expected, rtol=tolerance("cotangent_defect", x))


@pytest.mark.parametrize("name", ["cosine", "sinc", "sinc_defect", "cotangent_defect", "arctanc"])
def test_series_and_closed_form_meet_with_all_their_derivatives(name):
    """No jump at the crossover, in value, slope and curvature (by duals of duals)."""
    f = getattr(spatial, name)
    below, above = (
        f(Dual(Dual(x, (1.0,)), (1.0,))) for x in (0.01 * (1 - 1e-12), 0.01 * (1 + 1e-12))
    )
    assert_allclose(below.value.value, above.value.value, rtol=1e-12)
    assert_allclose(below.value.derivatives, above.value.derivatives, rtol=1e-9)
    curvatures = [x.derivatives[0].derivatives for x in (below, above)]
    assert_allclose(*curvatures, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ["cosine", "sinc", "sinc_defect", "cotangent_defect", "arctanc"])
def test_function_of_the_squared_angle_is_smooth_at_zero(name):
    """Value, slope and curvature at 0 are the coefficients of the power series."""
    series = {
        "cosine": (1, -1 / 2, 1 / 12),
        "sinc": (1, -1 / 6, 1 / 60),
        "sinc_defect": (1 / 6, -1 / 120, 2 / 5040),
        "cotangent_defect": (1 / 12, 1 / 720, 2 / 30240),
        "arctanc": (1, -1 / 3, 2 / 5),
    }[name]
    at_zero = getattr(spatial, name)(Dual(Dual(0.0, (1.0,)), (1.0,)))
    found = at_zero.value.value, *at_zero.value.derivatives, *at_zero.derivatives[0].derivatives
    assert_allclose(found, series, rtol=1e-14)


# -- batches ---------------------------------------------------------------------------

BATCHED = {
    "cross": (spatial.cross, 3, 3),
    "normalize": (spatial.normalize, 4),
    "rotation_from_rpy": (spatial.rotation_from_rpy, 3),
    "rotation_from_quaternion": (spatial.rotation_from_quaternion, 4),
    "quaternion_product": (spatial.quaternion_product, 4, 4),
    "quaternion_exp": (spatial.quaternion_exp, 3),
    "quaternion_log": (lambda q: spatial.quaternion_log(spatial.normalize(q)), 4),
    "translation_exp": (spatial.translation_exp, 3, 3),
    "translation_log": (spatial.translation_log, 3, 3),
    "cross_force": (spatial.cross_force, 6),
}


@pytest.mark.parametrize(("function", "sizes"), [(f, n) for f, *n in BATCHED.values()], ids=BATCHED)
def test_batch_of_scalars_equals_a_loop_over_floats(function, sizes):
    rng = np.random.default_rng(10)
    scales = 10.0 ** rng.uniform(-9.0, 0.0, 40)  # so that one batch holds series and closed form
    scales[0] = 0.0 if function not in BATCHED["normalize"] else 1.0
    arguments = [scales * rng.normal(size=(n, 40)) for n in sizes]
    if function is BATCHED["quaternion_log"][0]:
        arguments[0][:, 0] = [0.0, 0.0, 0.0, 1.0]
        arguments[0][3] = rng.normal(size=40)
    batched = np.broadcast_arrays(*flat(function(*arguments)), scales)[:-1]
    for k in range(40):
        single = flat(function(*([float(x) for x in a[:, k]] for a in arguments)))
        assert_allclose([x[k] for x in batched], single, rtol=1e-14, atol=1e-300)


def flat(result):
    """The entries of a vector or matrix as a list."""
    return [y for x in result for y in (x if isinstance(x, (list, tuple)) else [x])]
