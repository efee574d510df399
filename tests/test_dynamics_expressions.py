"""Dynamics are expressions: the sweeps they take, mimic joints, moved bases, delayed velocities."""

import carried as on_base
import machines
import numpy as np
import pytest
from symbols import assert_close

import phipsi as pp
from phipsi.dynamics import energy, forward, inverse, mass, points
from phipsi.dynamics.terms import tau as force
from phipsi.dynamics.terms import terms_of, vdot
from phipsi.operators import C, H, J, Mass, S_q, V, X, a, phi, pose

METHODS = ("FD1", "FD2", "FD3", "FD4", "cholesky")
PLAIN = terms_of()


def state_of(model, seed=0):
    """q, v, and a random vector of forces or rates."""
    rng = np.random.default_rng(seed)
    return *machines.random_state(model, rng), rng.normal(size=model.nv)


# -- sweeps ----------------------------------------------------------------------------

BOTH = PLAIN.a_g, PLAIN.b
SWEEPS = {
    "FD1": (forward.FD1(*BOTH), 3),
    "FD2": (forward.FD2(*BOTH), 3),
    "FD3": (forward.FD3(*BOTH), 3),
    "FD4": (forward.FD4(*BOTH), 3),
    "accelerations": (forward.link_accelerations(*BOTH), 3),
    "inverse dynamics": (inverse.newton_euler(*BOTH), 2),
    "bias": (inverse.bias(*BOTH), 2),
    "gravity": (inverse.GRAVITY, 2),
    "mass matrix": (mass.MASS, 1),
    "its inverse": (mass.MASS_INVERSE, 3),
    "jacobian": (points.JACOBIAN, 2),
    "compliance": (points.COMPLIANCE, 3),
    "jacobian_dot_v": (points.BIAS_ACCELERATION, 1),
    "momentum": (energy.MOMENTUM, 2),
    "poses": (pose, 1),
    "velocities": (V, 1),
}


@pytest.mark.parametrize("name", SWEEPS)
def test_sweeps(name):
    expression, expected = SWEEPS[name]
    assert pp.compile(pp.chain(3), expression).program.sweeps == expected


@pytest.mark.parametrize("method", ["FD1", "FD2", "FD3", "FD4"])
def test_wrenches_and_a_moved_base_cost_no_sweep(method):
    """Poses and velocities share the first one."""
    terms = terms_of(loaded=True, moved=True, driven=True)
    expression = forward.METHODS[method](terms.a_g, terms.b)
    assert pp.compile(pp.chain(3), expression).program.sweeps == 3


# -- joints that follow others ---------------------------------------------------------


@pytest.fixture(params=["mimics", "rotor_bodies"])
def follower(request):
    model = machines.MARKET[request.param]()
    assert len(model.leaders) < len(model.joints)
    return model


MIMIC_MASS = S_q.T @ Mass @ S_q
LINK_RATES = phi.T @ (H.T @ S_q @ vdot + a)


def test_projected_quantities_equal_their_dense_meaning(follower):
    q, v, x = state_of(follower)
    tip = [follower.bodies[-1].name, follower.bodies[0].name]

    def dense(expression, **values):
        points = tip if "J" in str(expression).replace("Jm", "") else None
        return pp.as_matrix(follower, expression, q, v, points=points, **values)

    assert_close(pp.mass_matrix(follower, q), dense(MIMIC_MASS))
    assert_close(pp.mass_matrix_inverse(follower, q), dense(MIMIC_MASS.inv))
    assert_close(pp.bias_force(follower, q, v), dense(S_q.T @ C))
    expected = dense(S_q.T @ (Mass @ S_q @ vdot + C), vdot=x)
    assert_close(pp.inverse_dynamics(follower, q, v, x), expected)
    J_q = X @ J @ S_q
    assert_close(pp.jacobian(follower, q, tip), dense(J_q))
    expected = dense(J_q @ MIMIC_MASS.inv @ J_q.T)
    assert_close(pp.operational_compliance(follower, q, tip), expected)


def test_every_method_solves_the_projected_system(follower):
    q, v, tau = state_of(follower)
    expression = MIMIC_MASS.inv @ (force - S_q.T @ C)
    expected = pp.as_matrix(follower, expression, q, v, tau=tau)
    for method in METHODS:
        assert_close(pp.forward_dynamics(follower, q, v, tau, method=method), expected)
    present = pp.body_velocities(follower, q, v)
    found, velocities = pp.forward_dynamics_delayed(follower, q, v, tau, present)
    assert_close(found, expected)
    assert_close(velocities, present)


# -- a moved base ----------------------------------------------------------------------


@pytest.mark.parametrize("name", machines.MARKET)
def test_moved_base_is_a_free_joint_that_moves_as_prescribed(name):
    """The rows of the machine's own joints, base standing anyhow, gravity in its axes."""
    world = machines.MARKET[name]()
    rng = np.random.default_rng(3)
    place, V0, A0 = on_base.random_base(rng)
    model, whole = on_base.seen_from_base(world, place), on_base.carried(world)
    q, v, x = state_of(model)
    moved = {"base_velocity": V0, "base_acceleration": A0}
    state = np.append(place, q), np.append(V0, v)

    ours = pp.body_velocities(model, q, v, base_velocity=V0)
    assert_close(ours, pp.body_velocities(whole, *state)[1:])
    expected = pp.bias_force(whole, *state) + pp.mass_matrix(whole, state[0])[:, :6] @ A0
    assert_close(pp.bias_force(model, q, v, **moved), expected[6:])
    expected = pp.inverse_dynamics(whole, *state, np.append(A0, x))[6:]
    assert_close(pp.inverse_dynamics(model, q, v, x, **moved), expected)
    for method in METHODS:
        vdot = pp.forward_dynamics(model, q, v, x, method=method, **moved)
        found = pp.inverse_dynamics(whole, *state, np.append(A0, vdot))[6:]
        assert_close(found, x, np.linalg.norm(expected))
    rates = pp.as_matrix(whole, LINK_RATES, *state, vdot=np.append(A0, vdot))
    assert_close(pp.accelerations(model, q, v, x, **moved).ravel(), rates[6:])


def test_base_at_rest_is_no_base(arm):
    q, v, tau = state_of(arm)
    still = {"base_velocity": np.zeros(6), "base_acceleration": np.zeros(6)}
    found = pp.forward_dynamics(arm, q, v, tau, **still)
    assert_close(found, pp.forward_dynamics(arm, q, v, tau))


# -- delayed velocities ----------------------------------------------------------------


def test_delayed_form_has_two_sweeps():
    terms = terms_of(delayed=True)
    function = pp.compile(pp.chain(3), (forward.FD4(terms.a_g, terms.b), terms.V))
    assert function.program.sweeps == 2
    assert [loop.direction.value for loop in function.program.loops] == [
        "tip_to_base",
        "base_to_tip",
    ]


@pytest.mark.parametrize("name", machines.MARKET)
def test_delayed_form_with_present_velocities_is_FD4(name):
    model = machines.MARKET[name]()
    q, v, tau = state_of(model)
    rng = np.random.default_rng(5)
    loads = {model.bodies[-1].name: rng.normal(size=6)}
    base = {"base_velocity": rng.normal(size=6), "base_acceleration": rng.normal(size=6)}
    for options in ({}, {"external": loads}, base):
        moved = {name: x for name, x in options.items() if name == "base_velocity"}
        present = pp.body_velocities(model, q, v, **moved)
        vdot, velocities = pp.forward_dynamics_delayed(model, q, v, tau, present, **options)
        assert_close(vdot, pp.forward_dynamics(model, q, v, tau, **options))
        assert_close(velocities, present)


def test_delayed_simulation_converges_with_the_step():
    """A swinging chain for 0.4 s: the delay alone is in error by the order of the step."""
    model = machines.MARKET["serial_revolute"]()
    q0, v0, _ = state_of(model)
    tau = np.zeros(model.nv)

    def swing(step, delayed):
        q, v, velocities = q0, v0, pp.body_velocities(model, q0, v0)
        for _ in range(round(0.4 / step)):
            if delayed:
                vdot, velocities = pp.forward_dynamics_delayed(model, q, v, tau, velocities)
            else:
                vdot = pp.forward_dynamics(model, q, v, tau)
            v = v + step * vdot
            q = pp.integrate(model, q, step * v)
        return q

    errors = [np.linalg.norm(swing(h, True) - swing(h, False)) for h in (0.02, 0.01, 0.005)]
    assert errors[0] > 1e-4  # the delay is felt
    ratios = [errors[0] / errors[1], errors[1] / errors[2]]
    assert all(1.7 < ratio < 2.5 for ratio in ratios), ratios


# -- wrenches --------------------------------------------------------------------------


def test_wrenches_on_bodies_are_wrenches_at_their_origins():
    model = machines.MARKET["tree_of_every_kind"]()
    q, v, tau = state_of(model)
    rows = np.random.default_rng(6).normal(size=(len(model.bodies), 6))
    by_name = {body.name: row for body, row in zip(model.bodies, rows, strict=True)}
    found = pp.forward_dynamics(model, q, v, tau, rows)
    assert_close(found, pp.forward_dynamics(model, q, v, tau, by_name))
    assert np.linalg.norm(found - pp.forward_dynamics(model, q, v, tau)) > 0.1


def test_no_wrenches_are_no_force(arm):
    q, v, tau = state_of(arm)
    expected = pp.forward_dynamics(arm, q, v, tau)
    for nothing in ({}, None, np.zeros((2, 6))):
        assert_close(pp.forward_dynamics(arm, q, v, tau, nothing), expected)


def test_wrenches_at_one_point_add(arm):
    q, v, tau = state_of(arm)
    one, other = np.random.default_rng(7).normal(size=(2, 6))
    tip = arm.frame("tip").placement.position
    twice = {"tip": one, pp.point("link2", tip): other}
    expected = pp.forward_dynamics(arm, q, v, tau, {"tip": one + other})
    assert_close(pp.forward_dynamics(arm, q, v, tau, twice), expected)
