"""Springs in joints: against solutions in closed form, and conservation."""

import numpy as np
import pytest

import phipsi as pp
from phipsi import joints
from phipsi.simulate.springs import Springs

Z = (0.0, 0.0, 1.0)


def machine(kind, gravity=(0, 0, 0), **spring):
    builder = pp.ModelBuilder("machine", gravity=gravity)
    builder.add_body("body", joint=kind, mass=2.0, inertia=(0.3, 0.4, 0.5), **spring)
    return builder.build()


def oscillation(kind, rest, start, slow):
    """Two seconds of one coordinate on a spring, and the closed form."""
    model = machine(kind, stiffness=18.0, rest=rest)
    found = pp.simulate(model, [start], duration=2.0, dt=1e-3, backend="llvm")
    w = np.sqrt(18.0 / slow)
    return found.q[:, 0], rest + (start - rest) * np.cos(w * found.times)


def test_mass_on_a_spring_swings_as_a_cosine():
    """x'' = -(k/m) (x - x0), so x = x0 + (x(0) - x0) cos(sqrt(k/m) t)."""
    found, expected = oscillation(joints.Prismatic(Z), 0.25, 0.75, slow=2.0)
    assert np.abs(found - expected).max() < 1e-10


def test_turning_body_on_a_spring_swings_as_a_cosine():
    found, expected = oscillation(joints.Revolute(Z), 0.25, 0.75, slow=0.5)
    assert np.abs(found - expected).max() < 1e-9


def test_spring_that_is_not_told_where_to_rest_rests_at_neutral():
    model = machine(joints.Prismatic(Z), stiffness=8.0)
    assert Springs(model).force(np.array([0.5])) == -4.0


def test_weight_on_a_spring_hangs_where_both_agree():
    """k (x0 - x) = m g holds a weight; there it stays."""
    model = machine(joints.Prismatic(Z), gravity=(0, 0, -10.0), stiffness=50.0, rest=1.0)
    hanging = 1.0 - 2.0 * 10.0 / 50.0
    motion = pp.simulate(model, [hanging], duration=0.5, dt=1e-2, backend="llvm")
    assert np.abs(motion.q - hanging).max() < 1e-13


KINDS = {
    "revolute": joints.Revolute((0.6, 0.0, 0.8)),
    "universal": joints.Universal(),
    "planar": joints.Planar(),
    "spherical": joints.Spherical(),
    "free": joints.Free(),
}


@pytest.mark.parametrize("name", KINDS)
def test_springs_keep_the_energy(name):
    """Kinetic energy and what is stored in the spring add up to a constant; gravity is in it."""
    rng, kind = np.random.default_rng(3), KINDS[name]
    rest = np.array(kind.integrate(kind.neutral(), 0.4 * rng.normal(size=kind.nv)))
    model = machine(kind, gravity=(0.1, 0.2, -0.3), stiffness=5.0, rest=rest.tolist())
    q = pp.integrate(model, rest, 0.5 * rng.normal(size=kind.nv))
    asked = {"v0": 0.2 * rng.normal(size=kind.nv), "duration": 0.5, "dt": 2e-3}
    motion = pp.simulate(model, q, **asked, backend="llvm")
    assert np.ptp(motion.potential_energy) > 0.1
    assert np.ptp(motion.energy) < 1e-9
    held = pp.simulate(model, q, **asked, integrator="midpoint", backend="llvm")
    assert np.ptp(held.energy) < 1e-11


@pytest.mark.parametrize("name", KINDS)
def test_force_is_the_slope_of_the_energy(name):
    """tau = -dU/dq by the tangent, by central differences."""
    rng, kind = np.random.default_rng(4), KINDS[name]
    rest = kind.integrate(kind.neutral(), rng.normal(size=kind.nv))
    model = machine(kind, stiffness=3.0, rest=list(map(float, rest)))
    q, springs, h = model.random(rng), Springs(model), 1e-5
    steps = h * np.eye(model.nv)
    ahead, behind = pp.integrate(model, q, steps), pp.integrate(model, q, -steps)
    slope = (springs.energy(ahead) - springs.energy(behind))[:, 0] / (2.0 * h)
    assert np.abs(springs.force(q) + slope).max() < 1e-8


def test_ball_on_a_spring_swings_about_an_axis_as_a_hinge_does():
    """About a principal axis the turn is x(t) = x(0) cos(sqrt(k/I) t)."""
    model = machine(joints.Spherical(), stiffness=2.0)
    start = pp.integrate(model, model.neutral(), [0.0, 0.0, 1.2])
    motion = pp.simulate(model, start, duration=2.0, dt=1e-3, backend="llvm")
    turn = pp.difference(model, model.neutral(), motion.q)
    expected = 1.2 * np.cos(np.sqrt(2.0 / 0.5) * motion.times)
    assert np.abs(turn[:, 2] - expected).max() < 1e-9
    assert np.abs(turn[:, :2]).max() < 1e-12


def follower(mimic):
    builder = pp.ModelBuilder("gears", gravity=(0, 0, 0))
    builder.add_body("a", joint=joints.Revolute(Z), mass=1.0, inertia=(1, 1, 1))
    last = {"mimic": ("a_joint", -3.0, 0.5)} if mimic else {}
    builder.add_body(
        *("b", "a"), joint=joints.Revolute(Z), mass=1.0, inertia=(1, 1, 1), stiffness=2.0, **last
    )
    return builder.build()


def test_leader_feels_the_spring_of_what_follows_it():
    """The projection S* of the force that the spring has on the free joint."""
    led, both = follower(True), follower(False)
    q = np.array([0.7])
    apart = np.array([0.7, -3.0 * 0.7 + 0.5])
    expected = np.array([1.0, -3.0]) @ Springs(both).force(apart)
    assert np.allclose(Springs(led).force(q), expected, rtol=1e-14)
    assert np.allclose(Springs(led).energy(q), Springs(both).energy(apart), rtol=1e-14)


def test_batches_and_machine_code_agree_with_arrays():
    builder = pp.ModelBuilder("mixed")
    builder.add_body("a", joint=joints.Free(), mass=1.0, inertia=(1, 2, 2.5), stiffness=3.0)
    builder.add_body(
        *("b", "a", joints.Spherical()),
        mass=1.0,
        inertia=(1, 1, 1),
        com=(0.1, 0, 0.2),
        stiffness=4.0,
    )
    builder.add_body(
        *("c", "b", joints.Revolute(Z)),
        mass=1.0,
        com=(0.3, 0, 0),
        damping=0.1,
        stiffness=5.0,
        rest=0.3,
    )
    model = builder.build()
    q = pp.integrate(model, model.neutral(), np.random.default_rng(0).normal(size=(3, model.nv)))
    for integrator in ("rk4", "euler", "midpoint"):
        asked = {"duration": 0.02, "dt": 5e-3, "integrator": integrator}
        by_arrays = pp.simulate(model, q, **asked, backend="numpy")
        by_code = pp.simulate(model, q, **asked, backend="llvm")
        assert np.abs(by_arrays.q - by_code.q).max() < 1e-12


# -- springs that are stiff beside the steps -------------------------------------------


def light(stiffness, **more):
    """Ten grams on a spring: of 1e5 N/m it swings by three radians within a millisecond."""
    builder = pp.ModelBuilder("reed", gravity=(0, 0, 0))
    builder.add_body(
        "tip", joint=joints.Prismatic(Z), mass=0.01, stiffness=stiffness, rest=0.5, **more
    )
    return builder.build()


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize("stiffness", [1e5, 1e8])
def test_stiff_spring_is_solved_for_by_who_names_no_integrator(stiffness, backend):
    motion = pp.simulate(light(stiffness), [0.6], [3.0], duration=0.1, backend=backend)
    assert motion.about["integrator"] == "midpoint"
    assert np.ptp(motion.energy) < 1e-10 * motion.energy[0]
    reach = np.sqrt(2.0 * motion.energy[0] / stiffness)
    assert np.abs(motion.q - 0.5).max() < reach * (1.0 + 1e-9)
    assert np.abs(motion.q - 0.5).max() > 0.9 * reach  # it swings on


def test_midpoint_is_the_rule_for_stiff_springs_too():
    """q1 + q0 = h w, m (v1 - v0) = -h k (q1 + q0)/2: the Cayley transform of the oscillator."""
    h, m, k = 1e-3, 0.01, 1e5
    motion = pp.simulate(light(k), [0.6], [3.0], duration=20 * h, dt=h, integrator="midpoint")
    A = np.array([[0.0, 1.0], [-k / m, 0.0]])
    step = np.linalg.solve(np.eye(2) - h / 2 * A, np.eye(2) + h / 2 * A)
    x = np.array([0.1, 3.0])
    for q, v in zip(motion.q[:, 0], motion.v[:, 0], strict=True):
        np.testing.assert_allclose([q - 0.5, v / 3000], [x[0], x[1] / 3000], atol=1e-9)
        x = step @ x


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize("stiffness", [1e5, 1e7, 1e10])
def test_euler_brings_a_spring_to_rest_that_it_cannot_follow(stiffness, backend):
    asked = {"duration": 0.2, "integrator": "euler", "backend": backend}
    motion = pp.simulate(light(stiffness), [0.6], **asked)
    distances = np.abs(motion.q[:, 0] - 0.5)
    assert distances.max() <= 0.1 + 1e-12 and distances[-1] < 1e-12


def test_euler_lets_springs_swing_on_that_it_can_follow():
    """(m + h^2 k/4) (v1 - v) = -h k x, x1 = x + h v1: with the points between as configurations,
    the trapezoidal rule, which keeps m v^2/2 + k (x - h v/2)^2/2 for ever."""
    h, m, k = 1e-3, 0.01, 9e3  # s = h^2 k/m = 0.9
    motion = pp.simulate(light(k), [0.6], duration=2.0, dt=h, integrator="euler")
    x, v = 0.1, 0.0
    for q in motion.q[:50, 0]:
        assert q - 0.5 == pytest.approx(x, abs=1e-12)
        v -= h * k / (m + h * h * k / 4) * x
        x += h * v
    between = motion.q[1:, 0] - 0.5 - h / 2 * motion.v[1:, 0]
    kept = m / 2 * motion.v[1:, 0] ** 2 + k / 2 * between**2
    assert np.ptp(kept) < 1e-10 * kept[0]


def test_stiff_spring_and_strong_damping_creep_to_rest():
    """Overdamped, r v = -k x: x = x0 exp(-k t/r), whatever the mass."""
    model = light(1e6, damping=1e5)
    motion = pp.simulate(model, [0.6], duration=0.2)
    assert motion.about["integrator"] == "euler"
    expected = 0.1 * np.exp(-10.0 * motion.times)
    assert np.abs(motion.q[:, 0] - 0.5 - expected).max() < 1e-3


def test_chain_of_stiff_springs_is_stable():
    """Ten light bodies, each on the one before: their modes are stiffer than each spring."""
    builder = pp.ModelBuilder("slinky")
    for k in range(10):
        builder.add_body(
            f"{k}", f"{k - 1}" if k else "world", joints.Prismatic(Z), mass=0.01, stiffness=1e6
        )
    model, q = builder.build(), 0.01 * np.random.default_rng(5).normal(size=10)
    still = pp.simulate(model, q, duration=0.1, integrator="euler", dt=1e-3)
    # At rest each spring carries what hangs on it.
    weight = -9.81 * 0.01 * np.arange(10, 0, -1) / 1e6
    assert np.abs(still.q[-1] - weight).max() < 1e-9
    swinging = pp.simulate(model, q, duration=0.1)
    assert swinging.about["integrator"] == "midpoint"
    assert np.ptp(swinging.energy) < 1e-8 * np.abs(swinging.energy).max()


def test_motion_that_runs_away_because_of_a_spring_says_so():
    for ask in (
        lambda **how: pp.simulate(light(1e5), [0.6], duration=0.1, **how),
        lambda **how: pp.rollout(light(1e5), [0.6], None, None, 1e-3, 100, **how),
    ):
        with pytest.raises(pp.SolveError) as caught:
            ask(integrator="rk4")
        assert "the spring of joint 'tip_joint' swings within a few steps: take " in str(
            caught.value
        )
        assert "integrator='midpoint' or 'euler'" in str(caught.value)
        ask()


@pytest.mark.parametrize(("s", "chosen"), [(0.029, "rk4"), (0.031, "midpoint"), (0.5, "midpoint")])
def test_who_names_no_integrator_keeps_the_energy_of_a_spring(s, chosen):
    """Two seconds of s = h^2 k/m: of "rk4", s^3/72 of the energy is lost in a step."""
    motion = pp.simulate(light(0.01 * s * 1e6), [0.6], duration=2.0, backend="llvm")
    assert motion.about["integrator"] == chosen
    assert abs(motion.energy[-1] / motion.energy[0] - 1.0) < 1e-3


def carriage(slides):
    """Slides of 1 kg on a carriage of 20 g: each spring has s = 0.95 at steps of 1 ms."""
    builder = pp.ModelBuilder("carriage", gravity=(0, 0, 0))
    builder.add_body("carriage", joint=joints.Prismatic(Z), mass=0.02)
    mobility = 1.0 / 1.0 + 1.0 / 0.02  # a force at a slide moves it and the carriage apart
    for k in range(slides):
        builder.add_body(
            f"{k}", "carriage", joints.Prismatic(Z), mass=1.0, stiffness=0.95e6 / mobility
        )
    return builder.build()


@pytest.mark.parametrize("slides", [6, 12])
def test_modes_that_are_stiffer_than_each_spring_are_followed(slides):
    """The stiffest is about the sum of all: no slide is, and rk4 would end beyond all bounds."""
    model = carriage(slides)
    q = np.array([0.0, *[0.01] * slides])
    K = np.diag([0.0, *[joint.stiffness for joint in model.joints[1:]]])
    modes = np.linalg.eigvals(1e-6 * pp.mass_matrix_inverse(model, q) @ K).real
    assert 0.9 * 0.95 * slides < modes.max() < 0.95 * slides
    motion = pp.simulate(model, q, duration=0.5)
    assert motion.about["integrator"] == "midpoint"
    assert np.ptp(motion.energy) < 1e-9 * motion.energy[0]
    bounded = pp.simulate(model, q, duration=0.5, integrator="euler")
    assert np.abs(bounded.q).max() < 0.04


def test_euler_is_stable_where_springs_grow_stiffer_beside_the_mass():
    """A mass slides inward on a sprung hinge: from s = 0.9 on, and to ten thousand times that."""
    builder = pp.ModelBuilder("skater", gravity=(0, 0, 0))
    builder.add_body("arm", mass=1e-3, inertia=(1e-5,) * 3, stiffness=0.9e6 * 0.25)
    builder.add_body("mass", "arm", joints.Prismatic((1, 0, 0)), mass=1.0, inertia=(1e-5,) * 3)
    motion = pp.simulate(
        builder.build(), [1e-4, 0.5], [0.0, -1.0], duration=0.9, integrator="euler"
    )
    assert motion.q[:, 1].min() < 1e-2
    assert motion.energy.max() < 2.0 * motion.energy[0]
