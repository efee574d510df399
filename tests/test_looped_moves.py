"""`integrate`, `difference` and their products with Jacobians on machines of any size, in loops.

The oracles are the moves by arrays, the complex step through them, and unrolled code.
"""

import copy
import warnings

import machines
import numpy as np
import pytest
from machines import MARKET
from test_quick_calls import state

import phipsi as pp
from phipsi.backends import looped_moves, moves
from phipsi.model import configuration
from phipsi.model.joints import JointKind

MACHINES = ("tree_of_every_kind", "mimics", "forest", "serial_multidof", "welded")
STEP = 1e-30


def in_loops(model, move, monkeypatch, **options):
    """A move of a machine whose straight code is said to be too long."""
    monkeypatch.setattr(moves, "LARGEST", 0)
    function = pp.compile(copy.copy(model), move, backend="llvm", **options)
    for each in (function, function.jvp, function.vjp):
        assert each.info().path == "rolled"
    return function


def slope(model, move, one, two, along_one, along_two):
    """How a move changes, by the complex step through arrays."""
    first = configuration.integrate(model, one, 1j * STEP * along_one)
    if move is pp.integrate:
        return configuration.integrate(model, first, two + 1j * STEP * along_two).imag / STEP
    second = configuration.integrate(model, two, 1j * STEP * along_two)
    return configuration.difference(model, first, second).imag / STEP


def check_move(model, function, move, lead=()):
    """Values, J t and J* w at a state or several."""
    rng = np.random.default_rng(7)
    q, v, _ = state(model, *lead)
    other = configuration.integrate(model, q, 0.3 * v)
    two = v if move is pp.integrate else other
    by_arrays = configuration.integrate if move is pp.integrate else configuration.difference
    right = by_arrays(model, q, two)
    np.testing.assert_allclose(function(q, two), right, rtol=0, atol=1e-12)
    dq, dv = rng.normal(size=(2, *q.shape[:-1], model.nv))
    right = slope(model, move, q, two, dq, dv)
    found = function.jvp(q, two, dq, dv)
    np.testing.assert_allclose(found, right, rtol=0, atol=1e-10)
    w = rng.normal(size=right.shape)
    one, other = function.vjp(q, two, w)
    turned = np.sum(one * dq, -1) + np.sum(other * dv, -1)
    np.testing.assert_allclose(turned, np.sum(w * right, -1), rtol=0, atol=1e-10)


@pytest.mark.parametrize("move", [pp.integrate, pp.difference])
@pytest.mark.parametrize("machine", MACHINES)
def test_moves_in_loops_are_those_by_arrays(machine, move, monkeypatch):
    """Every kind of joint, followers and quaternions among them, alone and in a batch."""
    model = MARKET[machine]()
    function = in_loops(model, move, monkeypatch)
    check_move(model, function, move)
    check_move(model, function, move, lead=(11,))


@pytest.mark.parametrize("move", [pp.integrate, pp.difference])
def test_moves_cost_the_same_for_every_further_joint(move):
    """Operations of the function and both products, counted: a straight line."""
    counted = []
    for n in (400, 800, 1600):
        model = machines.random_machine(3, n, [machines.spherical])
        function = pp.compile(model, move, backend="llvm")
        infos = [x.info() for x in (function, function.jvp, function.vjp)]
        assert {x.path for x in infos} == {"rolled"}
        counted.append([x.flops for x in infos])
    first, second = np.diff(counted, axis=0)
    assert np.array_equal(2 * first, second)


def test_a_hundred_thousand_joints_move_in_machine_code():
    model = pp.chain(100_000)
    q, v, t, w = np.random.default_rng(0).normal(size=(4, model.nv))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        move, apart = (pp.compile(model, x, backend="llvm") for x in (pp.integrate, pp.difference))
        assert np.array_equal(move(q, v), q + v)
        assert np.array_equal(apart(q, v), v - q)
        assert np.array_equal(move.jvp(q, v, t, w), t + w)
        assert np.array_equal(apart.vjp(q, v, w), (-w, w))
    assert {x.info().path for x in (move, apart, move.jvp, apart.vjp)} == {"rolled"}


def test_joints_that_add_share_rows_and_others_have_their_own():
    model = machines.random_machine(1, 40, [machines.revolute, machines.spherical], shape="chain")
    places = looped_moves.places_of(model)
    covered = sorted(x for kind, at in places.items() for q, _ in at for x in range(q, q + kind.nq))
    assert covered == list(range(model.nq))
    covered = sorted(x for kind, at in places.items() for _, v in at for x in range(v, v + kind.nv))
    assert covered == list(range(model.nv))


def test_quaternions_are_looked_at_in_loops(monkeypatch):
    model = MARKET["tree_of_every_kind"]()
    function = in_loops(model, pp.integrate, monkeypatch)
    q, v, _ = state(model)
    joint = next(x for x in model.leaders if x.kind.quaternion is not None)
    q[joint.q] *= 1.1
    for product, last in ((function, ()), (function.jvp, (v, v)), (function.vjp, (q,))):
        with pytest.raises(pp.InputError, match="quaternion of joint"):
            product(q, v, *last)


def test_moves_in_loops_in_single_precision_and_by_threads(monkeypatch):
    model = MARKET["tree_of_every_kind"]()
    q, v, _ = state(model, 50)
    right = configuration.integrate(model, q, v)
    single = in_loops(model, pp.integrate, monkeypatch, dtype=np.float32)
    np.testing.assert_allclose(single(q, v), right, rtol=0, atol=1e-5)
    double = in_loops(model, pp.integrate, monkeypatch)
    assert np.array_equal(double(q, v, threads=2), double(q, v))


def test_a_joint_that_turns_one_way_only_is_taken_by_itself(monkeypatch):
    """Who overrides `difference` alone is no joint that adds."""

    class Wrapped(pp.joints.Revolute):
        def difference(self, q0, q1):
            return [2.0 * (b - a) for a, b in zip(q0, q1, strict=True)]

    assert Wrapped.integrate is JointKind.integrate
    assert not looped_moves._is_straight(Wrapped())
