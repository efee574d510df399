"""Springs in joints: against solutions in closed form, conservation, and MuJoCo."""

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


PEER = """
<mujoco>
  <option gravity="0 0 -9.81" timestep="0.0001" integrator="RK4"><flag contact="disable"/></option>
  <compiler angle="radian"/>
  <worldbody>
    <body>
      <freejoint/>
      <geom type="box" size="0.1 0.2 0.3"/>
    </body>
    <body pos="0 2 0">
      <joint name="ball" type="ball" stiffness="40"/>
      <geom type="box" pos="0.1 0 0.1" size="0.1 0.2 0.3"/>
      <body pos="0.2 0 0.3">
        <joint name="hinge" axis="0 1 0" pos="0.02 0 0" ref="0.3" springref="0.6" stiffness="30"/>
        <joint name="slide" type="slide" axis="0 0 1" springref="-0.1" stiffness="300"/>
        <geom type="capsule" fromto="0 0 0 0.1 0 0.4" size="0.05"/>
      </body>
    </body>
  </worldbody>
</mujoco>"""


def test_springs_pull_as_those_of_mujoco():
    """qfrc_passive at random states, and a motion of a fifth of a second."""
    mujoco = pytest.importorskip("mujoco")
    peer = mujoco.MjModel.from_xml_string(PEER)
    model, data = pp.from_mujoco(peer), mujoco.MjData(peer)
    rng = np.random.default_rng(7)
    for _ in range(5):
        q = pp.integrate(model, model.neutral(), 0.8 * rng.normal(size=model.nv))
        data.qpos[:] = model.to_mujoco(q)
        mujoco.mj_forward(peer, data)
        _, theirs = model.from_mujoco(data.qpos, data.qfrc_passive)
        assert np.abs(Springs(model).force(q) - theirs).max() < 1e-12
    data.qvel[:] = 0.0
    motion = pp.simulate(model, q, duration=0.2, dt=1e-4, backend="llvm")
    for _ in range(len(motion) - 1):
        mujoco.mj_step(peer, data)
    last = model.from_mujoco(data.qpos)
    assert np.abs(pp.difference(model, last, motion.q[-1])).max() < 1e-9
