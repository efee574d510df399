"""Control laws: their formulas, closed forms of what they do, motors and their limits."""

import machines
import numpy as np
import pytest
from machines import MARKET
from numpy.testing import assert_allclose, assert_array_equal
from refusals_of_simulations import refusal

import phipsi as pp
from phipsi import joints
from phipsi.simulate.control import PD, ComputedTorque, GravityCompensation, Law

pytestmark = pytest.mark.usefixtures("as_for_users")


def oscillation(t, error, rate, kp, kd):
    """x'' + kd x' + kp x = 0 from (error, rate) on, less than critically damped."""
    decay, omega = kd / 2, np.sqrt(kp - kd**2 / 4)
    wave = error * np.cos(omega * t) + (rate + decay * error) / omega * np.sin(omega * t)
    return np.exp(-decay * t) * wave


def moved(model, q, rng, size=0.5):
    return pp.integrate(model, q, rng.uniform(-size, size, model.nv))


# -- what they do ----------------------------------------------------------------------------


def test_pd_makes_a_link_a_spring():
    """I x'' = -kp x - kd x', gravity taken away, about any target."""
    builder = pp.ModelBuilder("link")
    builder.add_body("link", joint=joints.Revolute(joints.Y), mass=2.0, com=(0.5, 0, 0))
    inertia = 2.0 * 0.25
    law = PD(kp=20.0, kd=2.0, target=[0.7], gravity=True)
    run = pp.simulate(builder.build(), [0.2], [1.0], 2.0, control=law, dt=1e-3)
    exact = 0.7 + oscillation(run.times, -0.5, 1.0, 20.0 / inertia, 2.0 / inertia)
    assert_allclose(run.q[:, 0], exact, atol=1e-9)


def test_pd_without_gravity_sags_as_a_spring_under_weight():
    """kp (target - q) holds the weight in the end: sag = m g / kp."""
    builder = pp.ModelBuilder("lift")
    builder.add_body("cage", joint=joints.Prismatic(joints.Z), mass=3.0)
    law = PD(kp=300.0, kd=60.0, target=[1.0])
    run = pp.simulate(builder.build(), [1.0], None, 5.0, control=law)
    assert_allclose(run.q[-1], 1.0 - 3.0 * 9.81 / 300.0, rtol=1e-9)
    assert_allclose(run.tau[-1], 3.0 * 9.81, rtol=1e-9)


def test_pd_follows_wanted_speeds():
    """A wheel under kd (speed - v) alone: v = speed (1 - exp(-kd t / I))."""
    builder = pp.ModelBuilder("wheel")
    builder.add_body("wheel", joint=joints.Revolute(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    run = pp.simulate(builder.build(), [0.0], None, 0.5, control=PD(kp=0.0, kd=0.4, speeds=5.0))
    assert_allclose(run.v[:, 0], 5.0 * (1.0 - np.exp(-4.0 * run.times)), atol=1e-9)


@pytest.mark.parametrize("name", ["puma560", "serial_multidof", "mimics"])
def test_gravity_compensation_leaves_a_machine_where_it_is(name):
    model = MARKET[name]()
    q, _ = machines.random_state(model, np.random.default_rng(0))
    run = pp.simulate(model, q, None, 0.5, control=GravityCompensation(), dt=5e-3)
    assert_allclose(run.q, np.broadcast_to(q, run.q.shape), atol=1e-9)
    assert np.abs(run.tau[0]).max() > 1.0
    assert_allclose(run.tau[0], pp.gravity_force(model, q), rtol=1e-12)


@pytest.mark.parametrize("name", ["puma560", "rbdl_tree_3d", "reflected_rotors"])
def test_computed_torque_makes_every_joint_a_spring(name):
    """x'' + kd x' + kp x = 0 of each error by itself, whatever the machine."""
    model = MARKET[name]()
    rng = np.random.default_rng(1)
    q, v = machines.random_state(model, rng)
    target = moved(model, q, rng)
    law = ComputedTorque(kp=30.0, kd=4.0, target=target)
    run = pp.simulate(model, q, v, 1.0, control=law, dt=1e-3, limits=False, losses=False)
    t = run.times[:, None]
    assert_allclose(run.q - target, oscillation(t, q - target, v, 30.0, 4.0), atol=1e-8)


def test_computed_torque_follows_a_motion_that_accelerates():
    """With the wanted acceleration, errors start at zero and stay there."""
    arm, wanted = pp.examples.planar_arm(3), np.array([0.5, -1.0, 2.0])
    law = ComputedTorque(kp=0.0, kd=0.0, accelerations=wanted)
    run = pp.simulate(arm, arm.neutral(), None, 1.0, control=law)
    assert_allclose(run.v, wanted * run.times[:, None], atol=1e-9)
    assert_allclose(run.q, 0.5 * wanted * run.times[:, None] ** 2, atol=1e-9)


@pytest.mark.parametrize("law", [PD, ComputedTorque], ids=lambda law: law.__name__)
def test_joints_of_every_kind_are_brought_to_their_target(law):
    """Errors are taken on the manifold: quaternions turn the shorter way."""
    model = MARKET["serial_multidof"]()
    rng = np.random.default_rng(2)
    q, _ = machines.random_state(model, rng)
    target = moved(model, q, rng)
    more = {} if law is ComputedTorque else {"gravity": True}
    control = law(kp=400.0, kd=60.0, target=target, **more)
    run = pp.simulate(model, q, None, 5.0, control=control, dt=5e-4, every=10)
    assert np.abs(pp.difference(model, q, target)).max() > 0.3
    assert np.abs(pp.difference(model, run.q[-1], target)).max() < 0.05


def test_target_is_neutral_if_none_is_given():
    arm = pp.examples.planar_arm(2)
    run = pp.simulate(arm, [0.4, -0.3], None, 3.0, control=ComputedTorque(kp=100.0, kd=20.0))
    assert_allclose(run.q[-1], arm.neutral(), atol=1e-6)


# -- formulas --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tree_of_every_kind", "free_base_tree", "mimics", "spacecraft"])
def test_forces_of_a_law_are_its_formula(name):
    """Of the trajectory's tau at every state, by the functions of daily work."""
    model = MARKET[name]()
    rng = np.random.default_rng(3)
    q, v = machines.random_state(model, rng)
    target, (kp, kd, speeds, vdot) = moved(model, q, rng), rng.uniform(0.1, 1.0, (4, model.nv))
    motors = np.ones(model.nv)
    for joint in model.joints:
        if isinstance(joint.kind, joints.Free):
            motors[joint.v] = 0.0

    def weight(q):
        return pp.gravity_force(model, q, backend="numpy")

    def inverse(q, v, vdot):
        return pp.inverse_dynamics(model, q, v, vdot, backend="numpy")

    for law, formula in (
        (PD(kp, kd, target, speeds), lambda q, v, e: e),
        (PD(kp, kd, target, speeds, gravity=True), lambda q, v, e: e + motors * weight(q)),
        (GravityCompensation(), lambda q, v, e: motors * weight(q)),
        (
            ComputedTorque(kp, kd, target, speeds, vdot),
            lambda q, v, e: motors * inverse(q, v, vdot + e),
        ),
    ):
        run = pp.simulate(model, q, v, 0.003, control=law, backend="numpy")
        e = motors * (kp * pp.difference(model, run.q, target) + kd * (speeds - run.v))
        expected = formula(run.q, run.v, e)
        assert_allclose(run.tau, expected, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize(
    "law", [PD(5.0, 1.0, gravity=True), GravityCompensation(), ComputedTorque(5.0, 1.0)]
)
def test_a_free_base_has_no_motor(law):
    """Momentum changes by weight alone: no law pushes against the world."""
    model = MARKET["free_base_tree"]()
    q, v = machines.random_state(model, np.random.default_rng(4))
    run = pp.simulate(model, q, v, 0.03, control=law, dt=1e-3, backend="numpy", every=10)
    root = model.joints[0].v
    assert_array_equal(run.tau[..., root], 0.0)
    assert np.abs(run.tau).max() > 0.1
    weight = model.mass * np.array(model.gravity) * run.times[:, None]
    assert_allclose(run.momentum[:, 3:], run.momentum[0, 3:] + weight, rtol=1e-6)


# -- limits ----------------------------------------------------------------------------------


def limited_wheel(effort):
    builder = pp.ModelBuilder("wheel", strict=False)
    builder.add_body(
        "wheel",
        joint=joints.Revolute(),
        mass=1.0,
        inertia=(0.5, 0.5, 0.5),
        limits=pp.Limits(effort=effort),
    )
    return builder.build()


CONTROLS = {
    "constant": ([5.0], 5.0),
    "rows": (np.full((100, 1), -5.0), -5.0),
    "function": (lambda t, q, v: [5.0], 5.0),
    "law": (PD(kp=0.0, kd=1e3, speeds=-1e3), -1e6),
}


@pytest.mark.parametrize(
    ("name", "integrator"),
    [
        *((name, "rk4") for name in CONTROLS),
        *((name, "dopri") for name in CONTROLS if name != "rows"),
    ],
)
def test_motors_give_no_more_than_their_effort(name, integrator):
    """They turn the wheel by effort / I, and the trajectory says what they gave."""
    control, asked = CONTROLS[name]
    how = {"control": control, "integrator": integrator, "dt": 0.01}
    run = pp.simulate(limited_wheel(2.0), [0.0], None, 1.0, **how)
    assert_array_equal(run.tau, np.sign(asked) * 2.0)
    assert_allclose(run.v[:, 0], np.sign(asked) * 4.0 * run.times, atol=1e-9)


def test_limits_may_be_left_out():
    run = pp.simulate(limited_wheel(2.0), [0.0], None, 1.0, control=[5.0], limits=False)
    assert_allclose(run.v[-1], 10.0)
    assert_array_equal(run.tau, 5.0)


def test_motor_of_effort_zero_is_switched_off():
    run = pp.simulate(limited_wheel(0.0), [0.0], None, 1.0, control=[5.0])
    assert_array_equal(run.tau, 0.0)
    assert_array_equal(run.v, 0.0)


def test_negative_effort_is_refused():
    message = refusal(limited_wheel(-2.0), [0.0], None, 1.0, control=[5.0])
    assert "the effort of joint 'wheel_joint' is -2; expected none below zero" in message
    assert "limits=False leaves it out" in message


# -- laws of one's own -----------------------------------------------------------------------


def test_laws_with_one_name_have_their_own_code():
    """A law of a user may be called PD, or be made from it."""

    class Backwards(PD):
        def force(self, machine, q, v, given):
            return -super().force(machine, q, v, given)

    Backwards.__name__ = "PD"
    arm = pp.examples.planar_arm(1)
    tau = [
        pp.simulate(arm, [0.3], None, 0.01, control=law(1.0, 0.0)).tau[0] for law in (PD, Backwards)
    ]
    assert_allclose(tau[0], -0.3)
    assert_allclose(tau[1], 0.3)


def test_numbers_of_a_law_are_no_part_of_its_code():
    """Other gains, the same code."""
    arm = pp.examples.planar_arm(2)
    pp.rollout(arm, [0.1, 0.2], None, PD(1.0, 1.0), 1e-3, 3)
    before = len(arm.functions)
    pp.rollout(arm, [0.1, 0.2], None, PD([2.0, 3.0], 4.0, [0.1, 0.2]), 1e-3, 3)
    assert len(arm.functions) == before


# -- what is none ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("control", "message"),
    [
        (PD, r"control: got the class PD; write PD\(\.\.\.\)"),
        (3.0, r"expected None, an array, a function of \(t, q, v\), an expression, .* got float"),
        ({"kp": 1.0}, r"got dict"),
        (PD([1.0, 2.0, 3.0], 1.0), r"kp has shape \(3,\); expected \(\*batch, 2\), the 2 speeds"),
        (PD(1.0, np.nan), r"kd is nan; expected finite"),
        (PD("stiff", 1.0), r"kp: expected numbers, got 'stiff'"),
        (PD(1.0, 1.0, target=[0.0]), r"target has shape \(1,\); expected \(\*batch, 2\)"),
        (PD(1.0, 1.0, speeds=[[1.0]]), r"speeds has shape \(1, 1\)"),
        (ComputedTorque(1.0, 1.0, accelerations=[1.0]), r"accelerations has shape \(1,\)"),
        (PD(1j, 1.0), r"kp: expected real numbers"),
    ],
)
def test_what_is_no_control_is_refused(arm, control, message):
    with pytest.raises(pp.InputError, match=message):
        pp.simulate(arm, [0.0, 0.0], control=control)


def test_target_must_be_a_configuration():
    model = MARKET["forest"]()
    with pytest.raises(pp.InputError, match="target: the quaternion of joint 'body"):
        pp.simulate(model, model.neutral(), control=PD(1.0, 1.0, target=np.zeros(model.nq)))


def test_laws_are_public():
    assert issubclass(PD, Law)
    assert pp.control.PD is PD
