"""`simulate` as a user meets it: times, functions of control, Ctrl-C, progress, what goes wrong."""

import io
import os
import re
import signal
import subprocess
import sys

import machines
import numpy as np
import pytest
from machines import MARKET
from numpy.testing import assert_allclose, assert_array_equal
from reference_motion import wheel
from refusals_of_simulations import refusal

import phipsi as pp
from phipsi import joints
from phipsi import progress as progress_bars
from phipsi.simulate import fixed
from phipsi.simulate.control import GravityCompensation
from phipsi.simulate.stepping import Stepper

pytestmark = pytest.mark.usefixtures("as_for_users")

ALL = ("rk4", "euler", "midpoint", "dopri")
every_integrator = pytest.mark.parametrize("integrator", ALL)


WHEEL = wheel()


# -- times -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("duration", "dt", "steps"),
    [
        (1.0, 0.1, 10),
        (1.0, 0.3, 4),
        (0.3, 0.1, 3),
        (1e-3, 1.0, 1),
        (0.7, 0.1, 7),
        (2.0, 1e-3, 2000),
    ],
)
def test_steps_are_shortened_to_fit_the_duration(duration, dt, steps):
    """No step is longer than dt, and none is left over."""
    run = pp.simulate(WHEEL, [0.0], [1.0], duration, dt=dt)
    assert len(run.times) == steps + 1
    assert_allclose(run.times, np.linspace(0.0, duration, steps + 1), rtol=1e-14)
    assert_allclose(run.q[:, 0], run.times, rtol=1e-12)
    assert run.about["dt"] == duration / steps
    assert run.complete


@every_integrator
def test_every_so_many_states_are_kept_and_the_last(integrator):
    how = {"integrator": integrator, "dt": 0.01}
    q, v = [0.1, 0.2], [1.0, -1.0]
    arm = pp.examples.planar_arm(2)
    whole = pp.simulate(arm, q, v, 0.5, **how)
    for every, kept in ((7, [0, 7, 14, 21, 28, 35, 42, 49, 50]), (25, [0, 25, 50])):
        some = pp.simulate(arm, q, v, 0.5, every=every, **how)
        assert_allclose(some.times, 0.01 * np.array(kept), rtol=1e-13)
        assert_allclose(some.q, whole.q[kept], atol=1e-8)
        assert some.about["every"] == every


@every_integrator
def test_first_state_is_what_was_given(integrator):
    model = MARKET["forest"]()
    q, v = machines.random_state(model, np.random.default_rng(0))
    run = pp.simulate(model, q, v, 0.002, integrator=integrator, backend="numpy")
    assert_array_equal(run.q[0], q)
    assert_array_equal(run.v[0], v)
    assert_array_equal(pp.simulate(model, q, duration=0.002, backend="numpy").v[0], 0.0)


@every_integrator
def test_a_machine_without_joints_stays(integrator):
    model = pp.ModelBuilder("nothing").build()
    run = pp.simulate(model, [], None, 0.1, integrator=integrator)
    assert run.q.shape == (101, 0)
    assert run.complete


def test_simulation_says_how_it_was_made():
    run = pp.simulate(WHEEL, [0.0], [1.0], 1.0, integrator="dopri", tolerance=1e-6, dt=0.1)
    assert run.about["integrator"] == "dopri"
    assert run.about["tolerance"] == 1e-6
    assert run.about["steps"] > 0 and run.about["rejected"] == 0


# -- functions of control --------------------------------------------------------------------


@pytest.mark.parametrize("integrator", ["rk4", "euler", "midpoint"])
@pytest.mark.parametrize("every", [1, 3, 5])
def test_function_is_asked_once_for_each_step(integrator, every):
    """At its beginning, with the state there; its answer holds until the next."""
    asked = []

    def control(t, q, v):
        asked.append((t, q.copy(), v.copy()))
        return [np.cos(5.0 * t)]

    how = {"integrator": integrator, "dt": 0.1}
    run = pp.simulate(WHEEL, [0.3], [1.0], 1.2, control=control, every=every, **how)
    assert_allclose([t for t, _, _ in asked], 0.1 * np.arange(12), rtol=1e-14, atol=1e-16)
    rows = np.cos(0.5 * np.arange(12))[:, None]
    by_rows = pp.rollout(WHEEL, [0.3], [1.0], rows, 0.1, 12, integrator=integrator)
    assert_allclose(np.array([q for _, q, _ in asked]), by_rows.q[:-1], rtol=1e-13)
    assert_allclose(np.array([v for _, _, v in asked]), by_rows.v[:-1], rtol=1e-13)
    kept = [*range(0, 12, every), 12]
    assert_allclose(run.q, by_rows.q[kept], rtol=1e-13)
    assert_allclose(run.tau[:-1, 0], rows[::every, 0], rtol=1e-13)
    assert_allclose(run.tau[-1], rows[-1], rtol=1e-13)


def test_function_is_asked_by_dopri_at_every_stage():
    """So its motion has the order of the method: v = sin 5t / (5 I)."""
    run = pp.simulate(
        WHEEL,
        [0.0],
        None,
        2.0,
        control=lambda t, q, v: [np.cos(5.0 * t)],
        integrator="dopri",
        dt=0.05,
    )
    assert_allclose(run.v[:, 0], np.sin(5.0 * run.times) / 2.5, atol=1e-8)
    assert_allclose(run.tau[:, 0], np.cos(5.0 * run.times), atol=1e-12)


@every_integrator
def test_function_of_a_batch_sees_all_members(integrator):
    shapes = set()

    def control(t, q, v):
        shapes.add((q.shape, v.shape))
        return -2.0 * v

    run = pp.simulate(
        WHEEL, np.zeros((3, 2, 1)), np.ones((2, 1)), 0.1, control=control, integrator=integrator
    )
    assert shapes == {((3, 2, 1), (3, 2, 1))}
    assert run.q.shape == (3, 2, 101, 1)
    bar = 2e-4 if integrator != "dopri" else 1e-8
    assert_allclose(run.v[..., -1, 0], np.exp(-0.4), rtol=bar * 10)


def test_function_may_change_what_it_is_given():
    """It has copies."""

    def control(t, q, v):
        q += 5.0
        v[:] = 0.0
        return [0.0]

    run = pp.simulate(WHEEL, [0.0], [1.0], 0.01, control=control)
    assert_allclose(run.q[-1], 0.01)


def test_function_may_answer_with_integers_or_for_all_members():
    run = pp.simulate(WHEEL, np.zeros((3, 1)), None, 1.0, control=lambda t, q, v: [1])
    assert_allclose(run.v[:, -1], 2.0)


ANSWERS = {
    "short": (lambda v: np.zeros(0), r"an array of shape \(0,\); expected \(1,\), nv of 'wheel'"),
    "long": (lambda v: np.zeros(2), r"an array of shape \(2,\); expected \(1,\)"),
    "number": (lambda v: 1.0, r"an array of shape \(\); expected \(1,\)"),
    "matrix": (lambda v: np.zeros((4, 1)), r"an array of shape \(4, 1\); expected \(1,\)"),
    "nothing": (lambda v: None, "it returned NoneType; expected 1 numbers"),
    "text": (lambda v: "much", "it returned str; expected 1 numbers"),
    "complex": (lambda v: [1j], "it returned list; expected 1 numbers"),
    "ragged": (lambda v: [[1.0], [1.0, 2.0]], "it returned list; expected 1 numbers"),
}


@every_integrator
@pytest.mark.parametrize("name", ANSWERS)
def test_answers_that_are_no_forces_are_refused(name, integrator):
    """With the time at which they were given."""
    answer, message = ANSWERS[name]

    def control(t, q, v):
        return answer(v) if t > 0.0105 else [0.0]

    found = refusal(WHEEL, [0.0], None, 0.02, control=control, integrator=integrator)
    assert re.search(message, found)
    assert re.search(r"^control: at t = 0\.01\d* s", found)


@every_integrator
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_forces_that_are_no_numbers_are_named_with_time_and_joint(number, integrator):
    arm = pp.examples.planar_arm(2)

    def control(t, q, v):
        return [0.0, number if t > 0.0105 else 0.0]

    message = refusal(
        *(arm, [0.0, 0.0], None, 0.02),
        control=control,
        integrator=integrator,
        error=pp.SolveError,
    )
    assert re.match(rf"control: at t = 0\.01\d* s it returned {number} for joint 'joint2'", message)


class UnexpectedError(Exception):
    """An error of the user's own."""


@every_integrator
@pytest.mark.parametrize("error", [UnexpectedError, ZeroDivisionError, KeyError, pp.SolveError])
def test_errors_of_the_function_come_through_as_they_are(error, integrator):
    raised = error("mine")

    def control(t, q, v):
        if t > 0.005:
            raise raised
        return [0.0]

    if error is pp.SolveError and integrator == "dopri":
        with pytest.raises(pp.SolveError, match="mine"):
            pp.simulate(WHEEL, [0.0], None, 0.02, control=control, integrator=integrator)
        return
    with pytest.raises(error) as caught:
        pp.simulate(WHEEL, [0.0], None, 0.02, control=control, integrator=integrator)
    assert caught.value is raised


# -- Ctrl-C ----------------------------------------------------------------------------------


@pytest.fixture
def interrupt_at_call(monkeypatch):
    """Ctrl-C while machine code runs for the n-th time."""

    def prepare(n):
        calls, run = [], Stepper.run

        def interrupted(self, *arguments, **keywords):
            calls.append(arguments)
            if len(calls) == n:
                signal.raise_signal(signal.SIGINT)
            return run(self, *arguments, **keywords)

        monkeypatch.setattr(Stepper, "run", interrupted)
        return calls

    return prepare


@pytest.mark.parametrize("integrator", ["rk4", "euler", "midpoint"])
def test_interrupt_of_machine_code_returns_what_there_is(
    monkeypatch, interrupt_at_call, integrator
):
    """All stretches before that one, as if no more had been asked for."""
    arm = pp.examples.planar_arm(2)
    q = np.random.default_rng(2).normal(size=(5, 2))
    whole = pp.rollout(arm, q, None, None, 0.01, 40, integrator=integrator)
    monkeypatch.setattr(fixed, "STRETCH", 5 * 2 * 10)
    interrupt_at_call(4)
    run = pp.rollout(arm, q, None, None, 0.01, 40, integrator=integrator)
    assert whole.complete and not run.complete
    assert_array_equal(run.times, whole.times[:31])
    assert_array_equal(run.q, whole.q[:, :31])
    assert_array_equal(run.v, whole.v[:, :31])
    assert np.isfinite(run.energy).all()


def test_interrupt_between_kept_states_that_are_far_apart(monkeypatch, interrupt_at_call):
    """Long ways are made in stretches too: nobody waits for the next kept state."""
    monkeypatch.setattr(fixed, "STRETCH", 10)
    calls = interrupt_at_call(25)
    run = pp.rollout(WHEEL, [0.0], [1.0], None, 0.01, 1000, every=100)
    assert len(calls) == 25
    assert not run.complete
    assert_allclose(run.times, [0.0, 1.0, 2.0])
    assert_allclose(run.q[:, 0], run.times, rtol=1e-12)


@every_integrator
def test_interrupt_in_the_function_returns_what_there_is(integrator):
    def control(t, q, v):
        if t > 0.0505:
            raise KeyboardInterrupt
        return [1.0 + t]

    run = pp.simulate(WHEEL, [0.0], None, 1.0, control=control, integrator=integrator, dt=1e-3)
    assert not run.complete
    assert (20 if integrator == "dopri" else 50) <= len(run.times) <= 52
    again = pp.simulate(
        WHEEL,
        [0.0],
        None,
        run.times[-1],
        control=lambda t, q, v: [1.0 + t],
        integrator=integrator,
        dt=1e-3,
    )
    assert_allclose(run.q, again.q, atol=1e-9)
    assert_allclose(run.v, again.v, atol=1e-9)
    assert run.tau.shape == run.v.shape
    assert_allclose(run.tau[:, 0], 1.0 + run.times, atol=1.1e-3)


def test_interrupt_of_dopri_returns_what_there_is(interrupt_at_call):
    arm = pp.examples.planar_arm(2)
    how = {"integrator": "dopri", "dt": 0.01}
    whole = pp.simulate(arm, [0.0, 0.1], None, 2.0, **how)
    interrupt_at_call(30)
    run = pp.simulate(arm, [0.0, 0.1], None, 2.0, **how)
    assert not run.complete
    assert 10 < len(run.times) < len(whole.times)
    assert_array_equal(run.q, whole.q[: len(run.times)])


# -- progress --------------------------------------------------------------------------------


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def progress_shown(monkeypatch, stream, duration=2.0, **more):
    """What a slow simulation writes to standard error."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress_bars, "PATIENCE", 0.0)
    monkeypatch.setattr(progress_bars, "OFTEN", 0.0)
    monkeypatch.setattr(fixed, "STRETCH", 100)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    pp.simulate(WHEEL, [0.0], [1.0], duration, **more)
    return stream.getvalue()


@every_integrator
def test_terminals_are_shown_simulated_time_and_speed(monkeypatch, integrator):
    text = progress_shown(monkeypatch, Terminal(), integrator=integrator, dt=0.01)
    assert "simulating" in text
    assert re.search(r"\d\.\d\d of 2\.00 s", text)
    assert re.search(r"[\d.,e+]+ x real time", text)


def test_functions_of_control_are_shown_too(monkeypatch):
    text = progress_shown(monkeypatch, Terminal(), control=lambda t, q, v: [0.0], dt=0.1)
    assert "2.00 of 2.00 s" in text


def test_pipes_and_those_who_do_not_want_it_are_shown_nothing(monkeypatch):
    assert progress_shown(monkeypatch, io.StringIO()) == ""
    assert progress_shown(monkeypatch, Terminal(), progress=False) == ""


def test_progress_may_be_asked_for(monkeypatch):
    assert "of 2.00 s" in progress_shown(monkeypatch, io.StringIO(), progress=True)


def test_what_is_soon_done_is_done_quietly(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    pp.simulate(WHEEL, [0.0], [1.0], 0.01)
    assert stream.getvalue() == ""


def test_bar_is_closed_where_something_goes_wrong(monkeypatch):
    """The cursor, which it hides, is shown again."""
    stream = Terminal()

    def control(t, q, v):
        if t > 1.0:
            raise UnexpectedError
        return [0.0]

    with pytest.raises(UnexpectedError):
        progress_shown(monkeypatch, stream, control=control)
    assert "\x1b[?25h" in stream.getvalue()


def test_command_lines_stay_clean():
    """Nothing on standard error of a process whose errors go to a file."""
    code = "import phipsi as pp; pp.simulate(pp.examples.planar_arm(2), [0, 0], duration=500.0)"
    users = {name: x for name, x in os.environ.items() if name != "PHIPSI_BACKEND"}
    done = subprocess.run([sys.executable, "-c", code], env=users, capture_output=True, check=True)
    assert done.stdout == done.stderr == b""


# -- several free bodies ---------------------------------------------------------------------


@every_integrator
def test_free_bodies_fly_by_themselves(integrator):
    """Each on its parabola, whatever the others do; gravity compensation cannot hold them."""
    builder = pp.ModelBuilder("stones")
    for k in range(3):
        inertia = (0.1, 0.1 + 0.01 * k, 0.12)
        builder.add_body(f"stone{k}", joint=joints.Free(), mass=1.0 + k, inertia=inertia)
    model = builder.build()
    q, v = machines.random_state(model, np.random.default_rng(1))
    how = {"integrator": integrator, "dt": 1e-3, "every": 50}
    run = pp.simulate(model, q, v, 0.5, control=GravityCompensation(), **how)
    t = run.times[:, None]
    for k in range(3):
        pose = run.poses[0, k]
        velocity = pose[:3, :3] @ v[6 * k + 3 : 6 * k + 6]
        parabola = pose[:3, 3] + velocity * t - 0.5 * np.array([0, 0, 9.81]) * t**2
        bar = 1e-2 if integrator == "euler" else 1e-5 if integrator == "midpoint" else 1e-8
        assert_allclose(run.poses[:, k, :3, 3], parabola, atol=bar)
