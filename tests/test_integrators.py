"""Integrators: their orders on every kind of joint, unit quaternions, errors within tolerances."""

from functools import cache

import machines
import numpy as np
import pytest
from machines import MARKET
from numpy.testing import assert_allclose
from reference_motion import apart, reference_motion, spinning_body

import phipsi as pp
from phipsi import joints
from phipsi.model.joints import Free, JointKind, Planar, Spherical
from phipsi.simulate.adaptive import BETWEEN
from phipsi.simulate.integrators import DOPRI, RK4
from phipsi.simulate.setup import make_setup

# Of each its order, and steps that show it: errors well above roundoff and well below one.
ORDERS = {"euler": 1, "midpoint": 2, "rk4": 4, "dopri": 5}
STEPS = {"euler": (40, 80), "midpoint": (16, 32), "rk4": (8, 16), "dopri": (5, 10)}
DURATION = {"tree_of_every_kind": 0.04}  # the rocker's pose is not smooth at zero: end before
every_integrator = pytest.mark.parametrize("integrator", ORDERS)


@cache
def case(name):
    """A machine of the market, a state, and the exact state a while later."""
    model = MARKET[name]()
    q, v = machines.random_state(model, np.random.default_rng(0))
    duration = DURATION.get(name, 0.2)
    q1, v1 = reference_motion(model, q, v, [duration])
    return model, q, v, duration, (q1[0], v1[0])


def after(model, q, v, integrator, duration, steps):
    """The last state of so many steps of one length, by arrays, also with "dopri"."""
    setup = make_setup(
        model, q, v, None, integrator, duration / steps, steps, True, True, backend="llvm"
    )
    state = setup.state()
    out = [np.empty((1, x.shape[-1])) for x in state]
    setup.held.run(state, {**setup.given(), "tau": setup.tau[0]}, out, inner=steps)
    return out[0][0], out[1][0]


def measured_order(name, integrator):
    """log2 of how much the error falls where steps are halved."""
    model, q, v, duration, exact = case(name)
    errors = [
        apart(model, exact, after(model, q, v, integrator, duration, steps))
        for steps in STEPS[integrator]
    ]
    return np.log2(errors[0] / errors[1])


@every_integrator
@pytest.mark.parametrize(
    "name", ["tree_of_every_kind", "serial_multidof", "forest", "mimics", "star_of_free_bodies"]
)
def test_order_on_every_kind_of_joint(name, integrator):
    """Against SciPy's motion of all coordinates as a vector space, which knows no manifold."""
    order = measured_order(name, integrator)
    least, most = ORDERS[integrator] - 0.1, ORDERS[integrator] + 0.2
    if integrator == "dopri":  # its errors of order 5 are small: those of order 6 are seen beside
        least, most = 4.5, 6.3
    assert least < order < most


BRACKETS = {Planar: "serial_multidof", Spherical: "forest", Free: "star_of_free_bodies"}


@pytest.mark.parametrize("integrator", ["rk4", "dopri"])
@pytest.mark.parametrize("kind", BRACKETS, ids=lambda kind: kind.__name__)
def test_order_is_lost_without_the_bracket_of_a_joint(monkeypatch, kind, integrator):
    """What the test above would say if one were missing: order 2."""
    monkeypatch.setattr(kind, "bracket", JointKind.bracket)
    assert measured_order(BRACKETS[kind], integrator) < 2.5


def test_order_is_lost_without_a_term_of_the_rate_of_tangents(monkeypatch):
    """[u, [u, beta]]/12 is needed for orders above 3."""

    def first_two_terms(self, u, beta):
        once = self.bracket(u, beta)
        return [b + 0.5 * x for b, x in zip(beta, once, strict=True)]

    monkeypatch.setattr(JointKind, "tangent_rate", first_two_terms)
    assert measured_order("star_of_free_bodies", "rk4") < 3.5


# -- coefficients ----------------------------------------------------------------------------


@pytest.mark.parametrize("tableau", [RK4, DOPRI], ids=["rk4", "dopri"])
def test_tableau_meets_the_conditions_of_order_four(tableau):
    """All eight of them [Hairer, Norsett, Wanner, II.2]."""
    n = len(tableau.stages)
    A, b = np.zeros((n, n)), np.array(tableau.weights)
    for i, row in enumerate(tableau.stages):
        A[i, : len(row)] = row
    c = A.sum(axis=1)
    sums = [
        *(b.sum() - 1, b @ c - 1 / 2, b @ c**2 - 1 / 3, b @ A @ c - 1 / 6),
        *(b @ c**3 - 1 / 4, b @ (c * (A @ c)) - 1 / 8, b @ A @ c**2 - 1 / 12),
        b @ A @ A @ c - 1 / 24,
    ]
    assert_allclose(sums, 0.0, atol=1e-15)


def test_error_of_dopri_is_that_of_a_method_of_order_four():
    """Its weights less the errors: sums of order 4 hold, those of order 5 do not."""
    n = len(DOPRI.stages)
    A, b = np.zeros((n, n)), np.array(DOPRI.weights) - DOPRI.errors
    for i, row in enumerate(DOPRI.stages):
        A[i, : len(row)] = row
    c = A.sum(axis=1)
    assert_allclose([b.sum(), b @ c, b @ c**2, b @ c**3], [1, 1 / 2, 1 / 3, 1 / 4], atol=1e-15)
    assert abs(b @ c**4 - 1 / 5) > 1e-4
    assert_allclose(np.array(DOPRI.weights) @ c**4, 1 / 5, atol=1e-15)


def test_interpolation_goes_through_both_ends_and_has_order_four():
    """At a fraction x of the step, b(x) . c^k = x^(k+1) / (k+1); and at the end it is the step."""
    c = np.array([sum(row) for row in DOPRI.stages])
    for x in (0.1, 0.35, 0.8, 1.0):
        weights = BETWEEN @ x ** np.arange(1, 5)
        for k in range(4):
            assert_allclose(weights @ c**k, x ** (k + 1) / (k + 1), atol=1e-14)
    assert_allclose(BETWEEN.sum(axis=1), DOPRI.weights, atol=1e-14)


# -- quaternions -----------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", ["euler", "midpoint", "rk4"])
@pytest.mark.parametrize("kind", [joints.Free(), joints.Spherical()], ids=["free", "spherical"])
def test_quaternions_stay_unit_over_a_hundred_thousand_steps(kind, integrator):
    model = spinning_body(kind, (0.02, 0.03, 0.04))
    q, v = machines.random_state(model, np.random.default_rng(1))
    run = pp.rollout(
        model, q, 5.0 * v, None, 1e-3, 100_000, integrator=integrator, every=100, backend="llvm"
    )
    assert_allclose(np.linalg.norm(run.q[:, :4], axis=1), 1.0, rtol=0.0, atol=1e-15)


def test_quaternions_between_steps_are_unit(as_for_users):
    craft = pp.examples.spacecraft()
    q, v = machines.random_state(craft, np.random.default_rng(2))
    run = pp.simulate(craft, q, v, 2.0, integrator="dopri", dt=1e-2)
    assert run.about["steps"] < 150 < len(run.times), "most states lie between steps"
    assert_allclose(np.linalg.norm(run.q[:, :4], axis=1), 1.0, rtol=0.0, atol=1e-15)


# -- steps that the error decides ------------------------------------------------------------


@pytest.mark.parametrize("name", ["serial_multidof", "free_base_tree"])
def test_error_of_dopri_follows_the_tolerance(name):
    """At all kept states, also those between steps; a thousandth of the tolerance, about that of
    the error."""
    model, q, v, duration, _ = case(name)
    errors, steps = [], []
    for tolerance in (1e-6, 1e-9):
        run = pp.simulate(
            model, q, v, duration, integrator="dopri", tolerance=tolerance, dt=0.01, backend="llvm"
        )
        exact = reference_motion(model, q, v, run.times[1:])
        errors.append(apart(model, exact, (run.q[1:], run.v[1:])))
        steps.append(run.about["steps"])
    assert errors[0] < 1e-5 and errors[1] < 1e-8
    assert errors[0] > 30 * errors[1]
    assert steps[0] < steps[1]


def test_a_jump_of_the_forces_costs_steps_and_is_passed(as_for_users):
    """A motor that is switched on at t = 1/3: steps are rejected there, and the rest is exact."""
    model = spinning_body(joints.Revolute(), (0.5, 0.5, 0.5))

    def switch(t, q, v):
        return [2.0 if t > 1 / 3 else 0.0]

    run = pp.simulate(model, [0.0], [1.0], 1.0, control=switch, integrator="dopri", dt=0.05)
    assert run.about["rejected"] > 3
    since = np.maximum(run.times - 1 / 3, 0.0)
    assert_allclose(run.v[:, 0], 1.0 + 4.0 * since, atol=1e-7)
    assert_allclose(run.q[:, 0], run.times + 2.0 * since**2, atol=1e-7)


def test_a_batch_takes_the_steps_of_its_worst_member(as_for_users):
    arm = pp.examples.planar_arm(2)
    slow, fast = [0.0, 0.0], [0.0, 30.0]
    runs = [
        pp.simulate(arm, [0.0, 0.1], v, 0.5, integrator="dopri", dt=0.1)
        for v in (slow, fast, [slow, fast])
    ]
    steps = [run.about["steps"] for run in runs]
    assert steps[0] < steps[1] <= steps[2]
    for k in (0, 1):
        assert_allclose(runs[2].q[k], runs[k].q, atol=1e-8)
