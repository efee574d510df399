"""Damping and friction of joints against closed forms; losses that act within less than a step."""

from dataclasses import replace

import machines
import numpy as np
import pytest
from machines import MARKET
from numpy.testing import assert_allclose, assert_array_equal
from reference_motion import wheel
from refusals_of_simulations import refusal

import phipsi as pp
from phipsi import joints
from phipsi.graph.graph import Graph
from phipsi.simulate import mobility as mobilities
from phipsi.simulate.forces import SLIP, Forces
from phipsi.simulate.machines import ArrayMechanism, NodeMechanism
from phipsi.simulate.mobility import mobility
from phipsi.simulate.vectors import Numbers

pytestmark = pytest.mark.usefixtures("as_for_users")

IMPLICIT = ("euler", "midpoint")
INTEGRATORS = (*IMPLICIT, "rk4", "dopri")
every_integrator = pytest.mark.parametrize("integrator", INTEGRATORS)


def slider(mass=2.0, gravity=(0.0, 0.0, -9.81), **losses):
    """A mass that slides along x."""
    builder = pp.ModelBuilder("slider", gravity=gravity)
    builder.add_body("mass", joint=joints.Prismatic(joints.X), mass=mass, **losses)
    return builder.build()


# -- damping ---------------------------------------------------------------------------------


STEP_OF = {  # v1 / v0 of a step h, with x = h damping / inertia
    "euler": lambda x: 1.0 / (1.0 + x),
    "midpoint": lambda x: (1.0 - x / 2) / (1.0 + x / 2),
    "rk4": lambda x: 1.0 - x + x**2 / 2 - x**3 / 6 + x**4 / 24,
}


@pytest.mark.parametrize("integrator", STEP_OF)
def test_step_of_a_damped_wheel(integrator):
    """What each method makes of v' = -d/I v."""
    run = pp.rollout(wheel(damping=0.2), [0.0], [3.0], None, 0.1, 5, integrator=integrator)
    assert_allclose(run.v[1:] / run.v[:-1], STEP_OF[integrator](0.1 * 0.2 / 0.5), rtol=1e-13)


@every_integrator
def test_damped_wheel_slows_down_exponentially(integrator):
    run = pp.simulate(wheel(damping=0.2), [0.0], [3.0], 5.0, integrator=integrator, dt=0.01)
    bar = {"euler": 5e-3, "midpoint": 1e-5}.get(integrator, 1e-8)
    assert_allclose(run.v[:, 0], 3.0 * np.exp(-0.4 * run.times), atol=bar)
    assert_allclose(run.q[:, 0], 7.5 * (1.0 - np.exp(-0.4 * run.times)), atol=4 * bar)


@pytest.mark.parametrize("integrator", IMPLICIT)
def test_damping_may_act_within_far_less_than_a_step(integrator):
    """A light finger under a constant moment: it turns at moment / damping at once."""
    finger = wheel(1e-7, damping=2.0)
    run = pp.simulate(finger, [0.0], None, 1.0, control=[0.6], integrator=integrator, dt=0.01)
    assert_allclose(run.v[1:], 0.3, rtol=1e-4)
    assert_allclose(run.q[-1], 0.3, rtol=1e-2)


@pytest.mark.parametrize("strength", [0.1, 0.5, 0.6, 2.0, 10.0, 1e3, 1e9])
def test_speeds_of_the_midpoint_rule_do_not_ring(strength):
    """Strong damping is taken nearer to the end of the step: no speed changes its sign."""
    model = wheel(1e-3 / strength, damping=1.0)
    run = pp.rollout(model, [0.0], [1.0], None, 1e-3, 3, integrator="midpoint")
    x = 1.0 - 1.0 / max(4.0 * strength, 2.0)
    expected = (1.0 - (1.0 - x) * strength) / (1.0 + x * strength)
    assert expected > 0.0
    assert_allclose(run.v[1] / run.v[0], expected, rtol=1e-6 if strength < 1e6 else 1e-2)


def test_integrator_is_chosen_by_the_damping():
    """What explicit steps can follow is left to them; the strongest to the simplest."""
    for inertia, chosen in ((5e-3, "rk4"), (5e-4, "midpoint"), (2e-5, "euler")):
        run = pp.simulate(wheel(inertia, damping=1.0), [0.0], [1.0], 0.01)
        assert run.about["integrator"] == chosen
    stiff = pp.simulate(wheel(1e-5, damping=1.0), [0.0], [1.0], 0.01, losses=False)
    assert stiff.about["integrator"] == "rk4"
    assert_array_equal(stiff.v, 1.0)


def test_damping_alone_may_hold_a_joint_that_has_no_mass():
    """Nothing moves but against the damping: v = tau / d."""
    builder = pp.ModelBuilder("massless", strict=False)
    builder.add_body("arm", joint=joints.Revolute(), mass=1.0, inertia=(1, 1, 1))
    builder.add_body("tip", "arm", joints.Revolute(), damping=0.5)
    model = builder.build()
    assert pp.simulate(model, [0.0, 0.0], None, 0.01).about["integrator"] == "euler"
    for integrator in ("euler", "midpoint"):
        how = {"control": [0.0, 1.0], "integrator": integrator}
        run = pp.simulate(model, [0.0, 0.0], None, 0.1, **how)
        assert_allclose(run.v[1:, 1], 2.0, rtol=1e-9)
        assert_allclose(run.v[:, 0], 0.0, atol=1e-12)


def test_explicit_integrators_say_which_damping_is_too_strong():
    message = refusal(
        wheel(1e-6, damping=1.0), [0.0], [1.0], 1.0, integrator="rk4", error=pp.SolveError
    )
    assert "the damping of joint 'wheel_joint' acts within less than a step" in message
    assert "take integrator='euler' or 'midpoint', which solve for it" in message


# -- friction --------------------------------------------------------------------------------


@every_integrator
@pytest.mark.parametrize("friction", [3.0, 0.5])
def test_sliding_mass_stops_where_it_should(integrator, friction):
    """After m v^2 / (2 f), and it stays there, within the slip over which friction rises."""
    model, speed, dt = slider(2.0, friction=friction), 1.5, 1e-3
    stop, time = 2.0 * speed**2 / (2 * friction), 2.0 * speed / friction
    run = pp.simulate(model, [0.0], [speed], 1.5 * time, integrator=integrator, dt=dt)
    slip = SLIP if integrator in IMPLICIT else dt * friction / 2.0
    before = run.times < 0.9 * time
    exact = speed * run.times - friction / 4.0 * run.times**2
    order = dt * speed if integrator in IMPLICIT else 0.0
    assert_allclose(run.q[before, 0], exact[before], atol=order + 2e-6)
    assert_allclose(run.q[-1], stop, atol=order + 2.0 * slip * time)
    assert np.abs(run.v[run.times > 1.2 * time]).max() < slip


@every_integrator
def test_less_than_its_friction_hardly_moves_a_joint(integrator):
    """It creeps at slip F / sqrt(f^2 - F^2): the law of friction, solved for v."""
    model, force, friction = slider(2.0, friction=5.0), 3.0, 5.0
    run = pp.simulate(model, [0.0], None, 0.5, control=[force], integrator=integrator, dt=1e-3)
    slip = SLIP if integrator in IMPLICIT else 1e-3 * friction / 2.0
    creep = slip * force / np.sqrt(friction**2 - force**2)
    assert_allclose(run.v[-1], creep, rtol=1e-6)
    assert_allclose(run.q[-1], 0.5 * creep, rtol=0.1)


@every_integrator
def test_more_than_its_friction_does(integrator):
    """It gains (F - f) / m, once it has broken away."""
    model, force, friction = slider(2.0, friction=5.0), 9.0, 5.0
    run = pp.simulate(model, [0.0], None, 1.0, control=[force], integrator=integrator, dt=1e-3)
    assert_allclose(run.v[-1] - run.v[500], 0.5 * (force - friction) / 2.0, rtol=3e-3)
    assert_allclose(run.v[-1], (force - friction) / 2.0, rtol=0.02)


def test_friction_along_a_chain_of_two_hundred_is_found():
    """What is rounded there does not keep an implicit step from being found."""
    builder = pp.ModelBuilder("chain")
    parent = "world"
    for k in range(200):
        kind = joints.Revolute(joints.Y if k % 2 else joints.Z)
        rod = {"mass": 0.1, "com": (0.05, 0, 0), "inertia": (1e-4, 1e-4, 1e-4)}
        place = (0.1 if k else 0.0, 0, 0)
        builder.add_body(f"rod{k}", parent, kind, position=place, friction=1e-3, **rod)
        parent = f"rod{k}"
    start = np.zeros(200)
    start[0] = 0.3
    how = {"integrator": "midpoint", "backend": "numpy"}
    run = pp.simulate(builder.build(), start, None, 1e-3, **how)
    assert np.diff(run.energy).max() < 1e-12, "friction takes"
    assert run.energy[-1] < run.energy[0] - 1e-9


# -- joints that follow others ---------------------------------------------------------------


def gripper(**losses):
    """Two fingers that slide along y on the world, the second at -2 times the first."""
    builder = pp.ModelBuilder("gripper")
    slide = joints.Prismatic(joints.Y)
    builder.add_body("left", joint=slide, joint_name="left", mass=0.4)
    builder.add_body("right", joint=slide, mass=0.3, mimic=("left", -2.0, 0.05), **losses)
    return builder.build()


@every_integrator
def test_losses_of_a_follower_are_felt_by_its_leader(integrator):
    """At twice the speed: mass 0.4 + 4 x 0.3, damping 4 d, friction 2 f."""
    mass, dt = 0.4 + 4 * 0.3, 1e-3
    run = pp.simulate(gripper(damping=0.2), [0.0], [1.0], 1.0, integrator=integrator, dt=dt)
    bar = 1e-3 if integrator == "euler" else 1e-6
    assert_allclose(run.v[:, 0], np.exp(-0.8 / mass * run.times), atol=bar)
    forces = Forces(gripper(damping=0.2, friction=0.7), None, True, True)
    assert_allclose([forces.damping, forces.friction], [[0.8], [1.4]])


# -- the solve -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MARKET)
def test_resisted_motion_is_the_dense_solve(name):
    """(Mass + diag(r)) vdot = tau - C, by arrays and by a graph, on every machine."""
    model = MARKET[name]()
    rng = np.random.default_rng(3)
    q, v = machines.random_state(model, rng)
    tau, r = rng.normal(size=model.nv), rng.uniform(0.0, 2.0, model.nv)
    r[::3] = 0.0
    mass = pp.mass_matrix(model, q, backend="numpy") + np.diag(r)
    expected = np.linalg.solve(mass, tau - pp.bias_force(model, q, v, backend="numpy"))
    bar = 1e-10 * np.abs(expected).max()
    machine = ArrayMechanism(model, "numpy")
    assert_allclose(machine.forward(q, v, tau, r), expected, atol=bar)
    graph = Graph()
    given = {"q": q, "v": v, "tau": tau, "r": r}
    nodes = {key: Numbers(graph.input((key, i)) for i in range(len(x))) for key, x in given.items()}
    found = NodeMechanism(model, graph).forward(*nodes.values())
    values = {(key, i): y for key, x in given.items() for i, y in enumerate(x)}
    assert_allclose(graph.evaluate(list(found), values), expected, atol=bar)


@pytest.mark.parametrize("name", MARKET)
def test_mobility_is_the_diagonal_of_the_inverse_mass_matrix(name):
    model = MARKET[name]()
    rng = np.random.default_rng(4)
    q = np.array([[machines.random_state(model, rng)[0] for _ in range(3)] for _ in range(2)])
    found = mobility(model, q)
    inverse = np.linalg.inv(pp.mass_matrix(model, q, backend="numpy"))
    assert_allclose(found, np.diagonal(inverse, axis1=-2, axis2=-1), rtol=1e-7)
    assert mobility(model, q[1, 2]).tobytes() == found[1, 2].tobytes()


def test_mobility_of_many_states_is_taken_in_parts(monkeypatch):
    monkeypatch.setattr(mobilities, "AT_ONCE", 4)
    arm = pp.examples.planar_arm(2)
    q = np.random.default_rng(5).normal(size=(11, 2))
    assert_array_equal(mobility(arm, q), [mobility(arm, x) for x in q])


# -- what is no loss -------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "option"), [("damping", "losses"), ("friction", "losses")])
def test_losses_that_would_drive_are_refused(name, option):
    model = wheel()
    model = replace(model, joints=(replace(model.joints[0], **{name: -1.0}),))
    message = refusal(model, [0.0], [1.0], 1.0)
    assert f"the {name} of joint 'wheel_joint' is -1; expected none below zero" in message
    assert f"{option}=False leaves it out" in message
    pp.simulate(model, [0.0], [1.0], 0.01, **{option: False})


def test_losses_may_be_left_out():
    model = slider(damping=3.0, friction=2.0)
    run = pp.simulate(model, [0.0], [1.0], 1.0, losses=False)
    assert_allclose(run.v, 1.0, atol=1e-14)
