"""What `simulate` refuses, and motions that cannot be continued: when, which joint, what to do."""

import re
import time

import machines
import numpy as np
import pytest
from numpy.testing import assert_allclose
from reference_motion import wheel
from refusals_of_simulations import refusal

import phipsi as pp
from phipsi import joints
from phipsi.simulate import adaptive
from phipsi.simulate.control import PD

pytestmark = pytest.mark.usefixtures("as_for_users")

every_integrator = pytest.mark.parametrize("integrator", ["rk4", "euler", "midpoint", "dopri"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"duration": 0.0}, "duration is 0.0; expected a number of seconds above zero"),
        ({"duration": -1.0}, "duration is -1.0; expected"),
        ({"duration": np.inf}, r"duration is inf; expected finite"),
        ({"duration": "long"}, "duration: expected numbers, got 'long'"),
        ({"dt": 0.0}, "dt is 0.0; expected"),
        ({"dt": 1e-15}, r"a duration of 1.0 s in steps of 1e-15 s takes 1e\+15 steps"),
        ({"every": 1001}, "every is 1001, but there are 1000 steps of 0.001 s"),
        ({"every": 1.5}, "every is 1.5; expected a whole number above zero"),
        ({"integrator": "rk44"}, "integrator: unknown 'rk44'; did you mean 'rk4'"),
        ({"integrator": "mid"}, "rk4.*euler.*midpoint.*dopri"),
        ({"control": np.zeros((7, 2))}, r"control has shape \(7, 2\); .*each of the 1000 steps"),
        ({"control": np.ones(5)}, r"^control has shape \(5,\); expected \(\*batch, 2\), nv of"),
        ({"control": [np.nan, 0.0]}, r"^control\[0\] is nan; expected finite numbers"),
        (
            {"control": lambda t, q, v: np.ones(5)},
            r"^control: at t = 0 s it returned an array of shape \(5,\); expected \(2,\), nv of",
        ),
        (
            {"control": lambda t, q, v: np.ones((3, 2))},
            r"^control: at t = 0 s it returned an array of shape \(3, 2\); expected \(2,\), nv of",
        ),
        ({"integrator": "dopri", "tolerance": 0.0}, "tolerance is 0.0; expected a number from"),
        ({"integrator": "dopri", "tolerance": 2.0}, "tolerance is 2.0; expected a number from"),
        ({"integrator": "dopri", "tolerance": np.nan}, "tolerance is nan; expected a number"),
        ({"integrator": "dopri", "tolerance": "fine"}, "tolerance is 'fine'; expected a number"),
        (
            {"integrator": "dopri", "control": np.zeros((1000, 2))},
            "'dopri' takes steps of its own, so a row of tau for each step has no meaning",
        ),
        ({"q0": [[0.0]]}, r"q0 has shape \(1, 1\); expected \(\*batch, 2\), nq of"),
        ({"q0": [np.nan, 0.0]}, r"q0\[0\] is nan"),
        ({"v0": [1.0]}, r"v0 has shape \(1,\)"),
        ({"q0": "here"}, "q0: expected numbers, got 'here'"),
        ({"model": None}, "model: expected a Model, got NoneType"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arm, arguments, message):
    with pytest.raises(pp.InputError, match=message):
        pp.simulate(**{"model": arm, "q0": [0.0, 0.0], **arguments})


class Ball(joints.JointKind):
    """Turns as Spherical does, but has no bracket."""

    nq, nv = 4, 3
    quaternion = slice(0, 4)
    transform, motion_map = joints.Spherical.transform, joints.Spherical.motion_map
    neutral, integrate = joints.Spherical.neutral, joints.Spherical.integrate
    difference = joints.Spherical.difference


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
@every_integrator
def test_a_kind_without_its_bracket_is_stepped_only_where_none_is_needed(integrator, backend):
    def spin(kind):
        builder = pp.ModelBuilder("top")
        builder.add_body("a", joint=kind, mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.3, 0.4, 0.5))
        how = {"integrator": integrator, "dt": 0.05, "duration": 0.5, "backend": backend}
        return pp.simulate(builder.build(), [0.0, 0.0, 0.0, 1.0], [1.0, 2.0, 3.0], **how)

    if integrator in ("rk4", "dopri"):
        message = r"^Ball overrides .* without `bracket`, .* or take integrator='midpoint'$"
        with pytest.raises(pp.ModelError, match=message):
            spin(Ball())
    else:
        assert_allclose(spin(Ball()).q, spin(joints.Spherical()).q, rtol=0.0, atol=1e-12)


def unstable():
    """A slider under -1000 q - 500 v: no explicit step of 0.1 s can follow."""
    builder = pp.ModelBuilder("unstable")
    builder.add_body("mass", joint=joints.Prismatic(joints.X), joint_name="rail", mass=1.0)
    return builder.build(), PD(1000.0, 500.0)


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
@pytest.mark.parametrize("integrator", ["rk4", "euler"])
def test_steps_that_are_too_long_are_named_with_time_and_joint(integrator, backend):
    model, law = unstable()
    how = {"control": law, "dt": 0.1, "integrator": integrator, "backend": backend}
    message = refusal(model, [1.0], None, 20.0, error=pp.SolveError, **how)
    found = re.match(r"at t = ([\d.]+) s [qv] of joint 'rail' is -?[\d.]+e\+\d+: ", message)
    assert found and 0.0 < float(found[1]) < 20.0
    assert "the motion runs away; take a smaller dt, or integrator='dopri'" in message


def test_time_at_which_a_motion_runs_away_is_the_same_for_all_stretches():
    model, law = unstable()
    how = {"control": law, "dt": 0.1, "integrator": "rk4", "error": pp.SolveError}
    messages = {refusal(model, [1.0], None, 20.0, every=every, **how) for every in (1, 7, 150)}
    messages |= {refusal(model, [[0.0], [1.0]], None, 20.0, **how).replace(" of motion [1]", "")}
    assert len(messages) == 1


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
def test_implicit_steps_without_a_solution_near_are_named_with_their_time(backend):
    """Iterated, changes grow by h^2 kp / 4 from turn to turn: slowly, or beyond all bounds."""
    model, law = unstable()
    how = {"dt": 0.1, "integrator": "midpoint", "backend": backend, "error": pp.SolveError}
    message = refusal(model, [1.0], None, 20.0, control=PD(500.0, 0.0), **how)
    assert message.startswith("the implicit step from t = 0 s on has no solution near: take a sm")
    message = refusal(model, [1.0], None, 20.0, control=law, **how)
    assert message.startswith("at t = 0.1 s v of joint 'rail' is ")
    assert "the motion runs away; take a smaller dt" in message


def test_dopri_follows_where_others_cannot():
    model, law = unstable()
    run = pp.simulate(model, [1.0], None, 20.0, control=law, integrator="dopri", dt=0.1)
    assert_allclose(run.q[:, 0], np.exp(-2.0080645 * run.times), atol=2e-2)
    assert run.complete


def test_tolerance_that_cannot_be_met_names_time_and_joint():
    """A force that grows beyond all bounds as the wheel comes near 1 rad."""

    def control(t, q, v):
        return 1.0 / np.maximum(1.0 - q, 1e-60) ** 3

    message = refusal(
        *(wheel(), [0.0], [3.0], 2.0),
        control=control,
        integrator="dopri",
        error=pp.SolveError,
    )
    assert re.match(r"at t = 0\.\d+ s no step is short enough for the tolerance 1e-09", message)
    assert "least of all for joint 'wheel_joint'" in message
    assert "raise the tolerance, or take integrator='rk4' with a small dt" in message


def massless():
    builder = pp.ModelBuilder("massless", strict=False)
    builder.add_body("arm", joint=joints.Revolute(), mass=1.0, inertia=(1, 1, 1))
    builder.add_body("tip", "arm", joints.Revolute(joints.X), joint_name="wrist")
    return builder.build()


@every_integrator
@pytest.mark.parametrize("backend", ["llvm", "numpy"])
def test_joints_without_mass_are_named(integrator, backend):
    message = refusal(
        *(massless(), [0.0, 0.0], None, 0.1),
        integrator=integrator,
        backend=backend,
        error=pp.SolveError,
    )
    assert re.match(r"at t = \S+ s: the articulated inertia D of joint 'wrist' vanishes", message)


def test_gimbal_lock_on_the_way_is_named_with_its_time():
    """Euler angles that reach the lock: no result comes of it, and no endless search."""
    builder = pp.ModelBuilder("gimbal", gravity=(0, 0, 0))
    kind = joints.SphericalEuler("zyx")
    builder.add_body("body", joint=kind, joint_name="ball", mass=1.0, inertia=(0.1, 0.2, 0.3))
    model = builder.build()
    lock = np.pi / 2
    message = refusal(model, [0.0, lock, 0.0], None, 0.1, error=pp.SolveError)
    assert re.match(r"at t = 0 s: the articulated inertia D of joint 'ball' is singular", message)
    run = pp.simulate(model, [0.0, lock - 0.1, 0.0], [0.0, 1.0, 0.0], 0.09)
    assert_allclose(run.q[-1, 1], lock - 0.01, atol=1e-9)


def test_numbers_that_overflow_on_the_way_are_a_runaway():
    """A custom joint whose pose grows exponentially."""
    builder = pp.ModelBuilder("custom")
    kind = joints.Custom(machines.rocker, 2)
    builder.add_body("body", joint=kind, mass=1.0, inertia=(0.1, 0.1, 0.1))
    for batch in ((), (2,)):
        message = refusal(
            *(builder.build(), np.zeros((*batch, 2)), np.full((*batch, 2), 100.0), 200.0),
            control=[1e3, 0.0],
            integrator="rk4",
            dt=0.5,
            error=pp.SolveError,
        )
        assert "at t = " in message


# -- steps without end -----------------------------------------------------------------------


def mass_on(stiffness=0.0, damping=0.0, mass=1e-3):
    builder = pp.ModelBuilder("quartz")
    joint = joints.Prismatic(joints.Z)
    builder.add_body("tip", joint=joint, mass=mass, stiffness=stiffness, damping=damping)
    return builder.build()


HOPELESS = {
    "spring": (mass_on(stiffness=1e12), None, "the spring of joint 'tip_joint' swings"),
    "damper": (mass_on(damping=1e9), None, "the damping of joint 'tip_joint' acts"),
    "both": (mass_on(1e12, 1e9), None, "the damping of joint 'tip_joint' acts"),
    "slower damper": (mass_on(damping=1e5), None, "the damping of joint 'tip_joint' acts"),
    "gains": (mass_on(), PD(1e12, 1e3), "joint 'tip_joint' moves too quickly"),
}


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
@pytest.mark.parametrize("case", HOPELESS)
def test_dopri_gives_up_what_it_cannot_finish_and_says_what_to_do(case, backend):
    """Springs of 1e12 N/m on a gram: 1e9 steps for each second, and no sign of them."""
    model, control, why = HOPELESS[case]
    how = {"integrator": "dopri", "control": control, "backend": backend, "duration": 1.0}
    start = time.monotonic()
    message = refusal(model, [1e-3], [1.0], error=pp.SolveError, **how)
    assert time.monotonic() - start < 60.0
    assert why in message and "take " in message
    assert ("integrator='" in message) == (control is None)


def test_what_dopri_gives_up_the_implicit_integrators_finish():
    for integrator in ("midpoint", "euler"):
        run = pp.simulate(HOPELESS["both"][0], [1e-3], [1.0], 0.1, integrator=integrator)
        assert run.complete and np.isfinite(run.q).all()


def test_the_number_of_steps_can_be_raised():
    model, how = mass_on(stiffness=1.0), {"integrator": "dopri", "duration": 2.0}
    run = pp.simulate(model, [0.1], **how)
    taken = int(run.about["steps"] + run.about["rejected"])
    assert np.array_equal(pp.simulate(model, [0.1], most_steps=taken, **how).q, run.q)
    message = refusal(model, [0.1], error=pp.SolveError, most_steps=taken - 1, **how)
    assert f"after {taken - 1} steps" in message and "a larger most_steps" in message
    for wrong in (0, -1, 1.5, True, "many"):
        assert "most_steps is" in refusal(model, [0.1], most_steps=wrong, **how)


def test_a_short_transient_is_no_reason_to_give_up():
    """Gains that are high for 10 ms: at that pace 2 s would take 200,000 steps."""
    model = mass_on(mass=1.0)

    def pull(t, q, v):
        return -1e8 * q * (t < 1e-2) - 10.0 * q

    how = {"integrator": "dopri", "control": pull, "tolerance": 1e-6, "dt": 0.1}
    run = pp.simulate(model, [1e-3], duration=2.0, most_steps=10_000, **how)
    steps = run.about["steps"] + run.about["rejected"]
    assert adaptive.FIRST < steps < 2000
