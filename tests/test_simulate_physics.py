"""Motions with known answers: first integrals, closed forms, benchmarks."""

import json

import machines
import numpy as np
import pytest
from machines import MARKET, REFERENCES
from numpy.testing import assert_allclose
from reference_motion import spinning_body
from scipy.special import ellipj, ellipk

import phipsi as pp
from phipsi import joints
from phipsi.simulate import integrators

pytestmark = pytest.mark.usefixtures("as_for_users")

SMALL = machines.small_cases()
G = 9.81


# -- energy ----------------------------------------------------------------------------------


def free_chain():
    """Rods in a row that float in space: nothing holds the first."""
    builder = pp.ModelBuilder("free chain", gravity=(0.0, 0.0, 0.0))
    rod = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.01, 0.09, 0.09)}
    builder.add_body("rod0", joint=joints.Free(), joint_name="root", **rod)
    for k in range(1, 5):
        kind = joints.Revolute(joints.Y if k % 2 else joints.Z)
        builder.add_body(f"rod{k}", f"rod{k - 1}", kind, position=(1, 0, 0), **rod)
    return builder.build()


@pytest.mark.parametrize("make", [lambda: pp.chain(5), free_chain], ids=["hanging", "floating"])
def test_midpoint_keeps_the_energy_of_a_chain_over_a_hundred_seconds(make):
    """To roundoff, where the method of order 4 with the same steps loses more than a millionth."""
    chain = make()
    q, v = machines.random_state(chain, np.random.default_rng(0))
    q[: chain.joints[0].q.stop] = chain.neutral()[: chain.joints[0].q.stop]
    lost = {}
    for integrator in ("midpoint", "rk4"):
        run = pp.simulate(chain, q, v, 100.0, integrator=integrator, dt=5e-3, every=20)
        drift = np.abs(run.energy - run.energy[0]).max()
        lost[integrator] = drift / run.kinetic_energy.max()
    assert lost["midpoint"] < 1e-12
    assert lost["rk4"] > 1e-8


@pytest.mark.parametrize("name", MARKET)
def test_midpoint_keeps_the_energy_of_every_machine(name):
    """On every kind of joint, fixed or free, with rotors, with joints that follow others."""
    model = MARKET[name]()
    q, v = machines.random_state(model, np.random.default_rng(1))
    run = pp.simulate(model, q, v, 0.02, integrator="midpoint", dt=2e-3, backend="numpy")
    scale = np.abs(run.kinetic_energy).max() + np.abs(run.potential_energy).max()
    assert_allclose(run.energy, run.energy[0], rtol=0, atol=3e-13 * scale)


def test_midpoint_changes_the_energy_by_work_and_by_nothing_else():
    """Motors drive, joints lose: E - E0 is the integral of tau . v - damping v . v."""
    builder = pp.ModelBuilder("driven arm")
    for k, parent in enumerate(("world", "link0")):
        builder.add_body(
            f"link{k}",
            parent,
            joints.Revolute(joints.Y),
            position=(float(k), 0, 0),
            mass=1.0,
            com=(0.5, 0, 0),
            inertia=(0.01, 0.08, 0.08),
            damping=0.3,
        )
    arm = builder.build()
    tau = np.array([3.0, -1.0])
    work = {}
    for dt in (2e-3, 1e-3):
        run = pp.simulate(arm, [0.1, 0.2], None, 2.0, control=tau, integrator="midpoint", dt=dt)
        between = 0.5 * (run.v[1:] + run.v[:-1])  # what the method calls w, but for a correction
        power = between @ tau - 0.3 * np.sum(between**2, axis=1)
        work[dt] = np.abs(run.energy[1:] - run.energy[0] - dt * np.cumsum(power)).max()
    assert work[2e-3] < 1e-4
    assert work[1e-3] < 0.3 * work[2e-3]


def test_rest_stays_rest():
    """What is rounded in the energy moves nothing."""
    chain = pp.chain(4)
    hanging = np.array([np.pi / 2, 0.0, 0.0, 0.0])
    run = pp.simulate(chain, hanging, None, 2.0, integrator="midpoint", dt=1e-2)
    assert np.abs(run.v).max() < 1e-12
    assert np.abs(run.q - hanging).max() < 1e-12


# -- momentum --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how", [{"integrator": "rk4"}, {"integrator": "dopri", "tolerance": 1e-12}]
)
def test_momentum_of_a_floating_tree_stays(how):
    """All six components, about the origin of the world."""
    craft = pp.examples.spacecraft()
    q, v = machines.random_state(craft, np.random.default_rng(2))
    run = pp.simulate(craft, q, v, 10.0, dt=2e-3, every=100, **how)
    size = np.abs(run.momentum).max()
    assert size > 100.0
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-10 * size
    assert np.abs(run.energy - run.energy[0]).max() < 1e-10 * run.energy[0]
    assert np.abs(np.diff(run.q[:, 7:], axis=0)).max() > 0.1, "the arms move"


def test_correction_of_the_energy_leaves_the_momentum_as_it_is():
    """Of one midpoint step: speeds before and after the correction have the same momentum."""
    craft = pp.examples.spacecraft()
    q, v = machines.random_state(craft, np.random.default_rng(3))
    runs = {}
    for most in (0.01, 0.0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(integrators, "MOST", most)
            runs[most] = pp.rollout(
                craft, q, v, None, 0.05, 1, integrator="midpoint", backend="numpy"
            )
    assert np.abs(runs[0.01].v[1] - runs[0.0].v[1]).max() > 1e-6
    assert abs(runs[0.0].energy[1] - runs[0.0].energy[0]) > 1e-5
    assert abs(runs[0.01].energy[1] - runs[0.01].energy[0]) < 1e-11
    assert_allclose(runs[0.01].momentum[1], runs[0.0].momentum[1], rtol=1e-13, atol=1e-11)


def test_mass_centre_of_a_falling_tree_draws_a_parabola():
    """Linear momentum grows by m g t; the angular one about the origin by the turn of weight."""
    model = MARKET["free_base_tree"]()
    q, v = machines.random_state(model, np.random.default_rng(4))
    run = pp.simulate(model, q, v, 1.0, dt=1e-3, every=10)
    g, m, t = np.array(model.gravity), model.mass, run.times[:, None]
    assert_allclose(run.momentum[:, 3:], run.momentum[0, 3:] + m * g * t, rtol=1e-9, atol=1e-9)
    start = -run.potential_energy[0] / m  # g . x of the mass centre
    fallen = start + run.momentum[0, 3:] @ g / m * t[:, 0] + 0.5 * g @ g * t[:, 0] ** 2
    assert_allclose(-run.potential_energy / m, fallen, rtol=1e-9, atol=1e-9)


# -- bodies that spin ------------------------------------------------------------------------


def landau_lifshitz(moments, omega, t):
    """omega(t) of a free body from an omega with w2 = 0, w1 > 0, w3 > 0 [sec. 37], as printed in
    references/small_cases.json; M^2 > 2 E I2."""
    I1, I2, I3 = moments
    E2, M2 = moments @ omega**2, (moments * omega) @ (moments * omega)
    assert M2 > E2 * I2
    rate = np.sqrt((I3 - I2) * (M2 - E2 * I1) / (I1 * I2 * I3))
    m = (I2 - I1) * (E2 * I3 - M2) / ((I3 - I2) * (M2 - E2 * I1))
    sn, cn, dn, _ = ellipj(rate * t, m)
    size = np.sqrt(
        [
            (E2 * I3 - M2) / (I1 * (I3 - I1)),
            (E2 * I3 - M2) / (I2 * (I3 - I2)),
            (M2 - E2 * I1) / (I3 * (I3 - I1)),
        ]
    )
    return size * np.stack([cn, sn, dn], axis=1), 4.0 * ellipk(m) / rate


@pytest.mark.parametrize(
    "how", [{"integrator": "rk4"}, {"integrator": "dopri", "tolerance": 1e-12}]
)
def test_tumbling_body_follows_jacobi(how):
    """The turning over of Dzhanibekov's nut, a little more than two periods."""
    assert "sec.37" in SMALL["dzhanibekov"]["note"]
    moments = np.array([0.02, 0.03, 0.04])
    body = spinning_body(joints.Free(), moments)
    omega = np.array([6.0, 0.0, 4.3])
    _, period = landau_lifshitz(moments, omega, np.zeros(1))
    q, v = body.random(np.random.default_rng(5)), np.array([*omega, 0.3, -0.2, 0.1])
    run = pp.simulate(body, q, v, 2.2 * period, dt=1e-3, **how)
    expected, _ = landau_lifshitz(moments, omega, run.times)
    assert np.abs(expected[:, 1]).max() > 4.0 and expected[:, 0].min() < -5.0, "it turns over"
    assert_allclose(run.v[:, :3], expected, atol=1e-9)
    spin = np.einsum("tij,j,tj->ti", run.poses[:, 0, :3, :3], moments, run.v[:, :3])
    assert_allclose(spin, np.broadcast_to(spin[0], spin.shape), atol=1e-11)


def test_heavy_top_keeps_its_three_integrals():
    """Energy, and the momentum about the vertical and about its own axis; at 150 rad/s."""
    top = SMALL["heavy_top"]
    m, c = top["m"], np.array(top["com"])
    body = spinning_body(joints.Spherical(), top["I_com"], m, c, (0.0, 0.0, -G))
    about = np.diag(top["I_com"]) + m * (c @ c * np.eye(3) - np.outer(c, c))
    run = pp.simulate(body, body.neutral(), top["omega0"], 1.5, dt=1e-4, every=50)
    spin = run.v @ about
    vertical = np.einsum("ti,ti->t", run.poses[:, 0, 2, :3], spin)
    assert np.ptp(run.potential_energy) > 1.0, "it nods"
    for found in (run.energy, vertical, spin[:, 1]):
        assert_allclose(found, found[0], rtol=0, atol=1e-9 * np.abs(spin).max() * 150.0)


# -- a pendulum ------------------------------------------------------------------------------


def a01():
    """The simple pendulum of the IFToMM benchmarks, in the x-y plane of its paper."""
    case = json.loads((REFERENCES / "iftomm_a01.json").read_text())["A01"]
    builder = pp.ModelBuilder("A01", gravity=(0.0, -case["g"], 0.0))
    hinge = joints.Revolute(joints.Z)
    builder.add_body("bob", joint=hinge, mass=case["m"], com=(-case["L"], 0.0, 0.0))
    assert case["start"] == "mass at (-1,0), at rest"
    return builder.build(), case


def pendulum_angle(amplitude, rate, t):
    """From the vertical, let go at rest at the amplitude: sin(x/2) = k sn(K - rate t)."""
    k = np.sin(amplitude / 2)
    return 2.0 * np.arcsin(k * ellipj(ellipk(k * k) - rate * t, k * k)[0])


@pytest.mark.parametrize("integrator", ["rk4", "midpoint", "dopri"])
def test_a01_stays_within_the_bars_of_the_benchmark(integrator):
    """Ten seconds from (-1, 0): energy to 5e-5 J, and the place by Jacobi's functions."""
    model, case = a01()
    how = {"integrator": integrator, "dt": 1e-3, "every": 25, "tolerance": 1e-11}
    run = pp.simulate(model, [0.0], None, case["T"], **how)
    assert len(run.times) == 401
    assert np.abs(run.energy - run.energy[0]).max() < case["energy_tol"]
    angle = pendulum_angle(np.pi / 2, np.sqrt(case["g"] / case["L"]), run.times)
    place = run.poses[:, 0, :2, :2] @ [-case["L"], 0.0]
    exact = case["L"] * np.stack([-np.sin(angle), -np.cos(angle)], axis=1)
    assert_allclose(place, exact, atol=1e-4 if integrator == "midpoint" else 1e-8)


@pytest.mark.parametrize("kind", [joints.Free(), joints.Planar()], ids=["free", "planar"])
@pytest.mark.parametrize("backend", ["llvm", "numpy"])
def test_spinning_body_keeps_its_momentum_under_euler(kind, backend):
    """The speeds of its origin are carried on in axes that do not turn."""
    builder = pp.ModelBuilder("spinner", gravity=(0.0, 0.0, 0.0))
    builder.add_body("body", joint=kind, mass=2.0, inertia=(0.1, 0.1, 0.1))
    model = builder.build()
    v0 = np.zeros(model.nv)
    v0[2 if kind.nv == 6 else 0], v0[-3:][:2] = 20.0, (1.0, 0.5)
    if kind.nv == 3:
        v0[:] = 20.0, 1.0, 0.5
    how = {"integrator": "euler", "dt": 1e-2, "backend": backend}
    run = pp.simulate(model, model.neutral(), v0, 0.5, **how)
    assert np.abs(run.momentum[:, 3:] - run.momentum[0, 3:]).max() < 1e-12
    assert np.ptp(run.energy) < 1e-10


def test_friction_under_dopri_does_not_depend_on_the_kept_times():
    builder = pp.ModelBuilder("slider", gravity=(0.0, 0.0, 0.0))
    builder.add_body("block", joint=joints.Prismatic((1, 0, 0)), mass=0.1, friction=1.0)
    model = builder.build()
    ends = [
        pp.simulate(model, [0.0], [1.0], 0.5, integrator="dopri", dt=dt).q[-1, 0]
        for dt in (1e-3, 5e-2)
    ]
    assert abs(ends[0] - ends[1]) < 1e-6 and abs(ends[0] - 0.05) < 1e-4
