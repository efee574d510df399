"""phi(p,k) in factors: each factor is its dense matrix, at its stated price."""

import math

import numpy as np
import pytest

from phipsi import spatial
from phipsi.lowering import blocks, transforms
from phipsi.lowering.counting import counting
from phipsi.lowering.transforms import Shift, Turn, XScrew, ZScrew

ANGLE, SLIDE, L = 0.7, -0.4, (0.3, -0.2, 0.5)
C, S = math.cos(ANGLE), math.sin(ANGLE)
R = spatial.rotation_from_rpy((0.3, -1.2, 2.0))
X, Z, O = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0)

# Each factor, and the rotation and translation that it stands for.
FACTORS = {
    "z screw": (ZScrew(C, S, SLIDE), spatial.rotation(Z, ANGLE), spatial.scale(SLIDE, Z)),
    "x screw": (XScrew(C, S, SLIDE), spatial.rotation(X, ANGLE), spatial.scale(SLIDE, X)),
    "z turn": (ZScrew(C, S, 0), spatial.rotation(Z, ANGLE), O),
    "x slide": (XScrew(1, 0, SLIDE), spatial.IDENTITY3, spatial.scale(SLIDE, X)),
    "quarter turn": (XScrew(0, 1, 0), spatial.rotation(X, math.pi / 2), O),
    "quarter screw": (ZScrew(0, 1, SLIDE), spatial.rotation(Z, math.pi / 2), (0.0, 0.0, SLIDE)),
    "shift": (Shift(L), spatial.IDENTITY3, L),
    "shift in a plane": (Shift((L[0], 0, L[2])), spatial.IDENTITY3, (L[0], 0.0, L[2])),
    "turn": (Turn(R), R, O),
}
each_factor = pytest.mark.parametrize("name", FACTORS)


def matrix(rows):
    return np.array(rows, float)


def dense(name):
    """phi of a factor, by its definition."""
    return matrix(spatial.phi(*FACTORS[name][1:]))


def random_symmetric(rng):
    W = rng.normal(size=(6, 6))
    return W + W.T


def symmetric_numbers(number, zeros=()):
    """A symmetric 6 x 6 matrix with structural zeros in the rows and columns named."""
    return blocks.mirrored(6, lambda i, j: 0 if i in zeros or j in zeros else number())


# -- meaning ---------------------------------------------------------------------------


@each_factor
def test_factor_is_its_rotation_and_translation(name):
    factor, rotation, position = FACTORS[name]
    np.testing.assert_allclose(matrix(factor.rotation()), rotation, atol=1e-15)
    np.testing.assert_allclose(matrix(factor.position()), position, atol=1e-15)


@each_factor
def test_vectors_are_carried_as_by_the_dense_matrix(name):
    factor, phi, x = FACTORS[name][0], dense(name), np.random.default_rng(0).normal(size=6)
    turn = np.kron(np.eye(2), phi[:3, :3])
    for carried, expected in (
        (factor.inward(x.tolist()), phi @ x),
        (factor.outward(x.tolist()), phi.T @ x),
        (factor.turn(x.tolist()), turn @ x),
        (factor.turn_back(x.tolist()), turn.T @ x),
        (factor.rotate(x[:3].tolist()), phi[:3, :3] @ x[:3]),
        (factor.rotate_back(x[:3].tolist()), phi[:3, :3].T @ x[:3]),
    ):
        np.testing.assert_allclose(matrix(carried), expected, rtol=0, atol=1e-15)


@each_factor
def test_congruences_are_those_of_the_dense_matrix(name):
    factor, phi, rng = FACTORS[name][0], dense(name), np.random.default_rng(1)
    W, A = random_symmetric(rng), rng.normal(size=(6, 6))
    for carried, expected in (
        (factor.congruence(W.tolist()), phi @ W @ phi.T),
        (factor.congruence_transposed(W.tolist()), phi.T @ W @ phi),
        (factor.congruence_general(A.tolist()), phi @ A @ phi.T),
        (factor.congruence_transposed_general(A.tolist()), phi.T @ A @ phi),
    ):
        np.testing.assert_allclose(matrix(carried), expected, rtol=0, atol=1e-14)


@each_factor
def test_congruences_leave_their_argument_alone(name):
    factor, W = FACTORS[name][0], random_symmetric(np.random.default_rng(2))
    rows = W.tolist()
    for carry in (
        factor.congruence,
        factor.congruence_transposed,
        factor.congruence_general,
        factor.congruence_transposed_general,
    ):
        carry(rows)
        assert rows == W.tolist()


@each_factor
@pytest.mark.parametrize("method", ["congruence", "congruence_transposed"])
def test_mirrored_entries_are_one_object(name, method):
    W = symmetric_numbers(iter(np.random.default_rng(3).normal(size=21).tolist()).__next__)
    T = getattr(FACTORS[name][0], method)(W)
    assert all(T[i][j] is T[j][i] for i in range(6) for j in range(6))


def test_product_carries_by_the_product_of_the_matrices():
    factors = [factor for factor, _, _ in FACTORS.values()]
    phi = np.linalg.multi_dot([dense(name) for name in FACTORS])
    turn = np.kron(np.eye(2), phi[:3, :3])
    rng = np.random.default_rng(4)
    x, W, A = rng.normal(size=6), random_symmetric(rng), rng.normal(size=(6, 6))
    for carried, expected in (
        (transforms.inward(factors, x.tolist()), phi @ x),
        (transforms.outward(factors, x.tolist()), phi.T @ x),
        (transforms.turn(factors, x.tolist()), turn @ x),
        (transforms.turn_back(factors, x.tolist()), turn.T @ x),
        (transforms.congruence(factors, W.tolist()), phi @ W @ phi.T),
        (transforms.congruence_transposed(factors, W.tolist()), phi.T @ W @ phi),
        (transforms.congruence_general(factors, A.tolist()), phi @ A @ phi.T),
        (transforms.congruence_transposed_general(factors, A.tolist()), phi.T @ A @ phi),
        (spatial.phi(*transforms.compose_pose(factors)), phi),
    ):
        np.testing.assert_allclose(matrix(carried), expected, rtol=0, atol=1e-14)


def test_batch_is_one_transform_per_member():
    rng = np.random.default_rng(5)
    angles, slides = rng.uniform(-3.0, 3.0, 4), rng.normal(size=4)
    x, W = rng.normal(size=(6, 4)), rng.normal(size=(6, 6, 4))
    W = W + W.transpose(1, 0, 2)

    def carried(c, s, d, x, W):
        factors = [ZScrew(c, s, d), XScrew(C, S, 0), Shift((d, 0, 0.2))]
        return transforms.inward(factors, list(x)), transforms.congruence(factors, W)

    f, T = carried(np.cos(angles), np.sin(angles), slides, x, [list(row) for row in W])
    for i, (angle, slide) in enumerate(zip(angles.tolist(), slides.tolist(), strict=True)):
        one = carried(math.cos(angle), math.sin(angle), slide, x[:, i], W[..., i].tolist())
        np.testing.assert_allclose(np.array(f)[:, i], one[0], atol=1e-14)
        np.testing.assert_allclose(np.array(T)[..., i], one[1], atol=1e-14)


# -- structure -------------------------------------------------------------------------


@pytest.mark.parametrize(("screw", "axis"), [(ZScrew, 2), (ZScrew, 5), (XScrew, 0), (XScrew, 3)])
def test_screw_keeps_the_zero_row_along_its_own_axis(screw, axis):
    """tau_bar P of a joint about or along the axis of the screw."""
    W = symmetric_numbers(lambda: 1.5, zeros=(axis,))
    T = screw(C, S, SLIDE).congruence(W)
    zeros = [(i, j) for i in range(6) for j in range(6) if blocks.is_zero(T[i][j])]
    assert zeros == [(i, j) for i in range(6) for j in range(6) if axis in (i, j)]


def test_free_directions_stay_structural_on_their_way():
    assert ZScrew(C, S, SLIDE).outward([0, 0, 1, 0, 0, 0]) == [0, 0, 1, 0, 0, 0]
    assert ZScrew(C, S, SLIDE).inward([0, 0, 0, 0, 0, 1]) == [0, 0, 0, 0, 0, 1]
    slide = XScrew(1, 0, SLIDE).inward([0, 0, 0, 0, 0, 1])
    assert slide == [0, -SLIDE, 0, 0, 0, 1]
    assert [type(x) for x in slide] == [int, float, int, int, int, int]
    assert Shift((0, 0, SLIDE)).inward([0, 0, 1, 0, 0, 0]) == [0, 0, 1, 0, 0, 0]


# -- price -----------------------------------------------------------------------------


def price(work):
    """(multiplications, additions) of work(number), number() being a counted one."""
    with counting() as tally:
        work(tally.number)
    assert tally.flops == tally.multiply + tally.add
    return tally.multiply, tally.add


def screw(kind, number):
    return kind(number(), number(), number())


@pytest.mark.parametrize("kind", [ZScrew, XScrew])
@pytest.mark.parametrize("method", ["inward", "outward"])
def test_screw_of_a_vector_costs_16_flops(kind, method):
    def work(number):
        getattr(screw(kind, number), method)([number() for _ in range(6)])

    assert price(work) == (10, 6)


@pytest.mark.parametrize("kind", [ZScrew, XScrew])
@pytest.mark.parametrize("method", ["congruence", "congruence_transposed"])
def test_screw_of_a_full_inertia_costs_78_flops(kind, method):
    def work(number):
        getattr(screw(kind, number), method)(symmetric_numbers(number))

    assert price(work) == (39, 39)


def test_denavit_hartenberg_pair_of_a_free_revolute_joint_costs_123_flops():
    """One multiplication less where the angle between the axes is a constant."""

    def work(number, c=None):
        W = symmetric_numbers(number, zeros=(2,))
        transforms.congruence([XScrew(c or number(), number(), number()), screw(ZScrew, number)], W)

    assert price(lambda number: work(number)) == (63, 60)
    assert price(lambda number: work(number, 0.5)) == (62, 60)
    assert price(
        lambda number: screw(ZScrew, number).congruence(symmetric_numbers(number, zeros=(2,)))
    ) == (29, 33)


def test_screw_of_any_matrix_costs_140_flops():
    def work(number):
        screw(ZScrew, number).congruence_general([[number()] * 6 for _ in range(6)])

    assert price(work) == (72, 68)


def test_shift_costs_72_flops_of_an_inertia_and_12_of_a_vector():
    def shift(number):
        return Shift([number(), number(), number()])

    assert price(lambda number: shift(number).congruence(symmetric_numbers(number))) == (30, 42)
    assert price(lambda number: shift(number).inward([number() for _ in range(6)])) == (6, 6)


def test_turn_of_a_free_spherical_joint_costs_75_flops():
    def work(number):
        factor = Turn([[number() for _ in range(3)] for _ in range(3)])
        factor.congruence(symmetric_numbers(number, zeros=(0, 1, 2)))

    assert price(work) == (45, 30)


def test_structural_quarter_turn_is_free():
    assert price(lambda number: XScrew(0, 1, 0).congruence(symmetric_numbers(number))) == (0, 0)
    assert price(lambda number: XScrew(0, 1, 0).inward([number() for _ in range(6)])) == (0, 0)
