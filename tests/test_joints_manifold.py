"""The manifold of each joint kind: integrate, difference, neutral and random."""

import math

import numpy as np
import pytest
from joint_motions import (
    STEP,
    every_group,
    every_kind,
    for_random_numbers,
    pose,
    same,
    tangent,
    twist,
)
from machines import custom, free, planar, spherical
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import expm

from phipsi.errors import ModelError
from phipsi.model.joints import Cylindrical, Free, Revolute, Spherical

# -- the manifold ----------------------------------------------------------------------


@every_kind
@for_random_numbers
def test_no_step_leads_nowhere(make, rng):
    kind = make(rng)
    q = kind.random(rng)
    assert_allclose(kind.integrate(q, [0.0] * kind.nv), q, atol=1e-15)
    assert_array_equal(kind.difference(q, q), np.zeros(kind.nv))


@every_kind
@for_random_numbers
def test_difference_leads_from_one_configuration_to_the_other(make, rng):
    kind = make(rng)
    q0, q1 = kind.random(rng), kind.random(rng)
    reached = kind.integrate(q0, kind.difference(q0, q1))
    assert_allclose(pose(kind, reached), pose(kind, q1), atol=1e-12)
    same(kind, q1, reached)


@every_kind
@for_random_numbers
def test_difference_undoes_integrate_within_half_a_turn(make, rng):
    kind = make(rng)
    q, d = kind.random(rng), tangent(kind, rng, rotation=3.14)
    assert_allclose(kind.difference(q, kind.integrate(q, d)), d, atol=1e-10)


@every_kind
@for_random_numbers
def test_steps_along_one_tangent_add_up(make, rng):
    """The one-parameter subgroup: integrate(integrate(q, s d), t d) = integrate(q, (s + t) d)."""
    kind = make(rng)
    q, d = kind.random(rng), tangent(kind, rng, rotation=6.0)
    s, t = rng.uniform(-2.0, 2.0, 2)
    twice = kind.integrate(kind.integrate(q, s * d), t * d)
    assert_allclose(pose(kind, twice), pose(kind, kind.integrate(q, (s + t) * d)), atol=1e-12)


@every_kind
@for_random_numbers
def test_integrate_and_back_is_where_it_began(make, rng):
    kind = make(rng)
    q, d = kind.random(rng), tangent(kind, rng, rotation=6.0)
    same(kind, q, kind.integrate(kind.integrate(q, d), -d))


@every_group
@for_random_numbers
def test_integrate_is_the_exponential_of_the_body_twist(make, rng):
    """pose(integrate(q, d)) = pose(q) exp(H* d), by SciPy's matrix exponential."""
    kind = make(rng)
    q, d = kind.random(rng), tangent(kind, rng, rotation=6.0)
    step = expm(twist(np.array(kind.motion_map(q), float) @ d))
    assert_allclose(pose(kind, kind.integrate(q, d)), pose(kind, q) @ step, atol=1e-12)


@every_group
@for_random_numbers
def test_difference_is_left_invariant(make, rng):
    """Moving both configurations by one rigid motion leaves their difference as it was."""
    kind = make(rng)
    q0, q1, g = (kind.random(rng) for _ in range(3))

    def moved(q):
        # g q, by walking from g along the way that leads from neutral to q
        return kind.integrate(g, kind.difference(kind.neutral(), q))

    assert_allclose(pose(kind, moved(q0)), pose(kind, g) @ pose(kind, q0), atol=1e-12)
    # Near half a turn the shorter way may flip: compare the poses that the ways lead to.
    before, after = kind.difference(q0, q1), kind.difference(moved(q0), moved(q1))
    H_star = np.array(kind.motion_map(q0), float)
    steps = [expm(twist(H_star @ d)) for d in (before, after)]
    assert_allclose(*steps, atol=1e-11)
    if np.linalg.norm(H_star[:3] @ before) < 3.1:
        assert_allclose(before, after, atol=1e-10)


@every_group
@for_random_numbers
def test_composition_is_associative(make, rng):
    kind = make(rng)
    a, b, c = (tangent(kind, rng) for _ in range(3))
    one = kind.neutral()
    left = kind.integrate(kind.integrate(kind.integrate(one, a), b), c)
    b_then_c = kind.difference(one, kind.integrate(kind.integrate(one, b), c))
    right = kind.integrate(kind.integrate(one, a), b_then_c)
    assert_allclose(pose(kind, left), pose(kind, right), atol=1e-12)


# Where charts of the rotations break down: nothing, half a turn, a full turn, many turns.
TURNS = [0.0, 1e-300, 1e-12, 1e-8, 1e-4, 0.1, 0.2, 1.0]
TURNS += [k * math.pi + e for k in (1, 2, 3, 4) for e in (-1e-4, -1e-8, 0.0, 1e-8, 1e-4)]


@every_group
@pytest.mark.parametrize("turn", TURNS)
def test_integrate_and_difference_are_nonsingular_at_every_angle(make, turn):
    rng = np.random.default_rng(1)
    for _ in range(4):
        kind = make(rng)
        q = kind.random(rng)
        d = tangent(kind, rng)
        n = 1 if make is planar else 3
        d[:n] *= turn / np.linalg.norm(d[:n])
        moved = kind.integrate(q, d)
        step = expm(twist(np.array(kind.motion_map(q), float) @ d))
        assert_allclose(pose(kind, moved), pose(kind, q) @ step, atol=1e-12)
        back = np.array(kind.difference(q, moved))
        assert np.isfinite(back).all()
        assert np.linalg.norm(back[:n]) <= math.pi + 1e-12
        assert_allclose(pose(kind, kind.integrate(q, back)), pose(kind, moved), atol=1e-10)
        if turn < math.pi - 1e-5:
            assert_allclose(back, d, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("make", [spherical, free], ids=lambda make: make.__name__)
def test_quaternions_stay_unit_over_long_products(make):
    """20,000 steps; without normalisation the length wanders off by some 1e-14."""
    rng = np.random.default_rng(2)
    kind = make(rng)
    q = kind.random(rng)
    for d in rng.uniform(-1.0, 1.0, (20_000, kind.nv)).tolist():
        q = kind.integrate(q, d)
    assert_allclose(np.linalg.norm(q[:4]), 1.0, rtol=0.0, atol=4e-16)


def test_many_small_steps_make_one_turn():
    """A full turn in 10,000 steps ends where it began."""
    kind, q = Free(), Free().random(np.random.default_rng(3))
    step = (2 * math.pi / 10_000 * np.array([0.6, 0.0, 0.8, 0.0, 0.0, 0.0])).tolist()
    moved = q
    for _ in range(10_000):
        moved = kind.integrate(moved, step)
    same(kind, q, moved, tolerance=1e-12)


def test_difference_is_smooth_across_the_series_of_the_logarithm():
    """The derivative of difference by complex step, on both sides of every crossover."""
    kind = Free()
    q = kind.random(np.random.default_rng(4))
    w, u = np.array([0.48, 0.6, 0.64]), np.array([0.3, -0.2, 0.5])
    for angle in (0.0, 1e-9, 0.0999999, 0.1000001, 0.1999999, 0.2000001, 0.3986, 0.3988):
        d = np.array([*(angle * w), *u])
        direction = np.array([0.3, -0.5, 0.2, 0.1, 0.7, -0.4])
        moved = kind.integrate(q, d + 1j * STEP * direction)
        assert_allclose(np.imag(kind.difference(q, moved)) / STEP, direction, atol=1e-12)


@every_kind
def test_batches_move_as_each_of_their_members(make):
    rng = np.random.default_rng(5)
    kind = make(rng)
    q0, q1 = (np.array([kind.random(rng) for _ in range(30)]) for _ in range(2))
    d = np.array([tangent(kind, rng) for _ in range(30)]) * 10.0 ** rng.uniform(-9, 0, (30, 1))
    moved = np.array(kind.integrate(list(q0.T), list(d.T)), float).T
    apart = np.array(kind.difference(list(q0.T), list(q1.T)), float).T
    for k in range(30):
        assert_allclose(moved[k], kind.integrate(q0[k].tolist(), d[k].tolist()), rtol=1e-13)
        assert_allclose(apart[k], kind.difference(q0[k].tolist(), q1[k].tolist()), rtol=1e-13)


# -- the rates of tangents -------------------------------------------------------------


def true_rate(kind, q, u, beta):
    """The rate of d in q exp(d) at d = u, where q exp(u) moves at the speeds beta: complex step."""
    there = kind.integrate(q, list(u))
    moved = kind.integrate(there, [1j * STEP * x for x in beta])
    return np.imag(kind.difference(q, moved)) / STEP


@every_kind
@for_random_numbers
def test_tangent_rate_is_the_rate_of_the_tangent(make, rng):
    """Up to u^6/30240: of short tangents to roundoff, of others to their sixth power."""
    kind = make(rng)
    q, u, beta = kind.random(rng), tangent(kind, rng, rotation=1.0), rng.normal(size=kind.nv)
    for length in (1e-3, 1e-2, 0.1, 0.5):
        found = kind.tangent_rate([length * x for x in u], list(beta))
        bar = 1e-3 * length**6 * np.linalg.norm(beta) + 1e-11
        assert_allclose(found, true_rate(kind, q, length * u, beta), rtol=0, atol=bar)


@every_group
def test_every_term_of_the_tangent_rate_is_needed(make):
    """What is left out falls by 2^6 as the tangent is halved: four terms, none of them wrong."""
    rng = np.random.default_rng(8)
    kind = make(rng)
    q, u, beta = kind.random(rng), tangent(kind, rng, rotation=1.0), rng.normal(size=kind.nv)
    u *= 0.8 / np.linalg.norm(u)
    errors = []
    for length in (2.0, 1.0):
        found = kind.tangent_rate([length * x for x in u], list(beta))
        errors.append(np.abs(found - true_rate(kind, q, length * u, beta)).max())
    assert 5.5 < np.log2(errors[0] / errors[1]) < 6.6


@every_kind
@for_random_numbers
def test_bracket_is_what_two_moves_leave_if_their_order_is_changed(make, rng):
    """exp(su) exp(tw) and exp(tw) exp(su) differ by st [u, w] + O(s t (s + t))."""
    kind = make(rng)
    q, u, w = kind.random(rng), *(tangent(kind, rng, rotation=1.0) for _ in range(2))
    s = 1e-4
    one = kind.integrate(kind.integrate(q, list(s * u)), list(s * w))
    other = kind.integrate(kind.integrate(q, list(s * w)), list(s * u))
    left = np.array(kind.difference(q, one)) - kind.difference(q, other)
    assert_allclose(left / s**2, kind.bracket(list(u), list(w)), atol=5e-3)


@every_kind
@for_random_numbers
def test_bracket_is_a_lie_algebra(make, rng):
    """[u, w] = -[w, u], and the identity of Jacobi; zero for kinds that commute."""
    kind = make(rng)
    u, w, x = rng.normal(size=(3, kind.nv)).tolist()
    assert_allclose(kind.bracket(u, w), np.negative(kind.bracket(w, u)), atol=1e-15)
    bracket = kind.bracket
    circle = [bracket(a, bracket(b, c)) for a, b, c in ((u, w, x), (w, x, u), (x, u, w))]
    assert_allclose(np.sum(circle, axis=0), 0.0, atol=1e-13)
    assert kind.commutes == (make not in (planar, spherical, free))
    if kind.commutes:
        assert kind.bracket(u, w) == [0.0] * kind.nv
        assert kind.tangent_rate(u, w) is w
    else:
        assert np.abs(kind.bracket(u, w)).max() > 0.0


class Turning(Spherical):
    def integrate(self, q, dq):
        return super().integrate(q, dq)


class Apart(Cylindrical):
    def difference(self, q0, q1):
        return super().difference(q0, q1)


class Closing(Revolute):
    def difference(self, q0, q1):
        return [math.remainder(q1[0] - q0[0], 2.0 * math.pi)]


class Complete(Turning):
    def bracket(self, u, w):
        return super().bracket(u, w)


@pytest.mark.parametrize("kind", [Turning, Apart])
def test_bracket_is_unknown_where_moves_are_overridden_without_it(kind):
    kind = kind()
    assert not kind.has_bracket and not kind.commutes
    message = rf"^{type(kind).__name__} overrides `integrate` or `difference` without `bracket`, "
    with pytest.raises(ModelError, match=message):
        kind.tangent_rate([1.0] * kind.nv, [0.5] * kind.nv)


def test_bracket_is_known_beside_the_moves_or_along_one_tangent():
    assert Complete().has_bracket and not Complete().commutes
    assert Closing().has_bracket and Closing().commutes
    assert Closing().bracket([1.0], [2.0]) == [0.0]


# -- neutral and random ----------------------------------------------------------------


@every_kind
@for_random_numbers
def test_neutral_is_the_identity_pose(make, rng):
    kind = make(rng)
    assert len(kind.neutral()) == kind.nq
    if make is custom:
        assert kind.neutral() == [0.0] * kind.nq
    else:
        assert_array_equal(pose(kind, kind.neutral()), np.eye(4))


@every_kind
def test_random_is_reproducible_and_spreads(make):
    kind = make(np.random.default_rng(6))
    rng = np.random.default_rng(7)
    draws = np.array([kind.random(rng) for _ in range(400)])
    again = np.random.default_rng(7)
    assert_array_equal(draws, [kind.random(again) for _ in range(400)])
    assert draws.shape == (400, kind.nq)
    for i in range(kind.nq):
        if kind.quaternion is not None and i < 4:
            reach, rest = 1.0, 0.5  # a coordinate of the 3-sphere has standard deviation 1/2
        else:
            reach = math.pi if i in kind.turns else 1.0
            rest = reach / math.sqrt(3.0)
        assert np.abs(draws[:, i]).max() <= reach
        assert_allclose(draws[:, i].std(), rest, rtol=0.15)
        assert_allclose(draws[:, i].mean(), 0.0, atol=0.15 * reach)
    if kind.quaternion is not None:
        assert_allclose(np.linalg.norm(draws[:, :4], axis=1), 1.0, rtol=1e-15)
