"""Steps in machine code: the same as by arrays, in every lane, for every control, bit by bit."""

import os
import subprocess
import sys
import threading
import tracemalloc

import machines
import numpy as np
import pytest
from machines import MARKET
from numpy.testing import assert_allclose, assert_array_equal
from refusals_of_simulations import refusal

import phipsi as pp
from phipsi.simulate import fixed
from phipsi.simulate.control import PD, ComputedTorque, GravityCompensation
from phipsi.simulate.stepping import Stepper

pytestmark = pytest.mark.usefixtures("as_for_users")

INTEGRATORS = ("rk4", "euler", "midpoint")
every_integrator = pytest.mark.parametrize("integrator", INTEGRATORS)
STEPS, DT = 16, 2e-3


def some_states(model, count, seed=0):
    """q (count, nq) and v (count, nv)."""
    rng = np.random.default_rng(seed)
    return map(
        np.array, zip(*(machines.random_state(model, rng) for _ in range(count)), strict=True)
    )


def lossy():
    """Three joints with damping, friction and weak motors, one of them a ball joint."""
    builder = pp.ModelBuilder("lossy")
    kinds = [pp.joints.Revolute(pp.joints.Y), pp.joints.Spherical(), pp.joints.Prismatic()]
    parent = "world"
    for k, kind in enumerate(kinds):
        builder.add_body(
            f"body{k}",
            parent,
            kind,
            position=(0.5, 0, 0),
            mass=1.0,
            com=(0.2, 0.1, 0),
            inertia=(0.1, 0.1, 0.1),
            damping=0.2,
            friction=0.3,
            limits=pp.Limits(effort=2.0),
        )
        parent = f"body{k}"
    return builder.build()


LOSSY = lossy()


def controls(model, batch, rng):
    """Nothing, constant forces, rows of forces, and all laws with parameters of each member."""
    gains = rng.uniform(0.5, 2.0, (2, batch, model.nv))
    targets, _ = some_states(model, batch, 7)
    return {
        "none": None,
        "constant": rng.normal(size=model.nv),
        "one row": rng.normal(size=(batch, 1, model.nv)),
        "rows for all": rng.normal(size=(STEPS, model.nv)),
        "rows": rng.normal(size=(batch, STEPS, model.nv)),
        "pd": PD(*gains, targets, speeds=0.1),
        "pd and gravity": PD(3.0, gains[1], gravity=True),
        "gravity": GravityCompensation(),
        "computed torque": ComputedTorque(gains[0], 1.0, accelerations=0.2),
    }


def assert_same_motion(one, other, bar=1e-12):
    for ours, theirs in ((one.q, other.q), (one.v, other.v)):
        assert ours.shape == theirs.shape
        assert_allclose(ours, theirs, rtol=0, atol=bar * (1.0 + np.abs(theirs).max()))


# -- against steps by arrays -----------------------------------------------------------------


VARIED = (
    *("serial_multidof", "free_base_tree", "star_of_free_bodies", "massless_intermediates"),
    *("rotor_bodies", "welded", "one_body"),
)


@pytest.mark.parametrize(
    ("name", "integrator"),
    [
        ("tree_of_every_kind", "rk4"),
        *(("mimics", integrator) for integrator in INTEGRATORS),
        *((name, INTEGRATORS[i % 3]) for i, name in enumerate(VARIED)),
    ],
)
def test_machine_code_makes_the_steps_of_arrays(name, integrator):
    """On machines of all sorts, by the integrators in turn; a batch that fills no tile."""
    model = MARKET[name]()
    q, v = some_states(model, 3)
    how = {"dt": 1e-3, "steps": 2, "integrator": integrator}
    compiled = pp.rollout(model, q, v, None, **how)
    assert_same_motion(compiled, pp.rollout(model, q, v, None, backend="numpy", **how))


ALL_CONTROLS = list(controls(LOSSY, 1, np.random.default_rng()))
CONTROLS = ("none", "rows", "pd and gravity", "computed torque")


@pytest.mark.parametrize(
    ("control", "integrator"),
    [
        *((control, "rk4") for control in ALL_CONTROLS),
        *((control, x) for control in CONTROLS for x in ("euler", "midpoint")),
    ],
)
def test_every_control_in_machine_code_and_by_arrays(control, integrator):
    """With losses and limits, kept at every step and at every seventh; `simulate` is the same."""
    model = LOSSY
    rng = np.random.default_rng(1)
    q, v = some_states(model, 9)
    tau = controls(model, 9, rng)[control]
    how = {"integrator": integrator}
    whole = pp.rollout(model, q, v, tau, DT, STEPS, **how)
    assert_same_motion(whole, pp.rollout(model, q, v, tau, DT, STEPS, backend="numpy", **how))
    for backend in ("llvm", "numpy"):
        seventh = pp.rollout(model, q, v, tau, DT, STEPS, every=7, backend=backend, **how)
        kept = [*range(0, STEPS, 7), STEPS]
        assert seventh.q.shape == (9, len(kept), model.nq)
        assert_allclose(seventh.times, DT * np.array(kept), rtol=1e-14)
        assert_allclose(seventh.q, whole.q[:, kept], atol=1e-12)
    for every in (1, 7):
        same = pp.simulate(model, q, v, DT * STEPS, control=tau, dt=DT, every=every, **how)
        assert_same_motion(same, pp.rollout(model, q, v, tau, DT, STEPS, every=every, **how), 1e-14)


def test_rows_are_used_at_their_steps():
    """A wheel that is pushed once: it turns from that step on."""
    builder = pp.ModelBuilder("wheel")
    builder.add_body("wheel", joint=pp.joints.Revolute(), mass=1.0, inertia=(0.5, 0.5, 0.5))
    wheel = builder.build()
    for every in (1, 3):
        for step in range(12):
            tau = np.zeros((2, 12, 1))
            tau[1, step] = 5.0
            run = pp.rollout(wheel, [0.0], None, tau, 0.1, 12, integrator="euler", every=every)
            pushed = every * np.arange(1 + 12 // every) > step
            assert_allclose(run.v[1, :, 0], 1.0 * pushed, atol=1e-15)
            assert_array_equal(run.v[0], 0.0)


def test_tau_of_the_trajectory_is_what_was_applied():
    """At each kept state the row of the step that begins there; at the end that of the last."""
    model, rng = LOSSY, np.random.default_rng(2)
    tau = 3.0 * rng.normal(size=(4, STEPS, model.nv))
    run = pp.rollout(model, model.neutral(), None, tau, DT, STEPS, every=4)
    rows = [0, 4, 8, 12, 15]
    assert_array_equal(run.tau, np.clip(tau[:, rows], -2.0, 2.0))
    run = pp.rollout(model, model.neutral(), None, tau, DT, STEPS)
    assert_array_equal(run.tau[:, -1], run.tau[:, -2])
    assert pp.rollout(model, model.neutral(), None, None, DT, STEPS).tau is None
    assert pp.rollout(model, model.neutral(), None, PD(1.0, 1.0), DT, STEPS).tau is None


# -- batches ---------------------------------------------------------------------------------


@every_integrator
@pytest.mark.parametrize("control", CONTROLS)
def test_a_member_of_a_batch_has_the_bits_that_it_has_alone(control, integrator):
    """Whatever fills the other lanes, and however many there are."""
    model = LOSSY
    q, v = some_states(model, 33)
    chosen = controls(model, 33, np.random.default_rng(3))[control]

    def of(members):
        match chosen:
            case PD():
                return PD(chosen.kp, chosen.kd[members], gravity=True)
            case ComputedTorque():
                return ComputedTorque(chosen.kp[members], 1.0, accelerations=0.2)
            case np.ndarray():
                return chosen[members]
        return chosen

    runs = {}
    for count in (33, 8, 7, 1):
        part = slice(0, count)
        runs[count] = pp.rollout(
            model, q[part], v[part], of(part), DT, STEPS, integrator=integrator
        )
    for count in (8, 7, 1):
        for name in ("q", "v"):
            found = getattr(runs[count], name)
            assert found.tobytes() == getattr(runs[33], name)[:count].tobytes()
    for k in (0, 20, 32):
        alone = pp.rollout(model, q[k], v[k], of(k), DT, STEPS, integrator=integrator)
        assert alone.q.tobytes() == runs[33].q[k].tobytes()
        assert alone.v.tobytes() == runs[33].v[k].tobytes()


@every_integrator
def test_the_same_run_gives_the_same_bytes(integrator):
    model = MARKET["spacecraft"]()
    q, v = some_states(model, 5)
    first, second = (
        pp.rollout(machine, q, v, None, DT, 10, integrator=integrator)
        for machine in (model, pp.examples.spacecraft())
    )
    assert first.q.tobytes() == second.q.tobytes()
    assert first.v.tobytes() == second.v.tobytes()


def test_all_that_has_leading_axes_broadcasts():
    """(2, 1) configurations, (3,) speeds, (2, 3) forces, (3,) gains."""
    arm = pp.examples.planar_arm(2)
    rng = np.random.default_rng(4)
    q, v = rng.normal(size=(2, 1, 2)), rng.normal(size=(3, 2))
    tau, kp = rng.normal(size=(2, 3, 5, 2)), rng.uniform(1.0, 5.0, (3, 2))
    run = pp.rollout(arm, q, v, tau, DT, 5)
    law = pp.rollout(arm, q, None, PD(kp, 0.1), DT, 5)
    assert run.q.shape == law.q.shape == (2, 3, 6, 2)
    for i, j in np.ndindex(2, 3):
        alone = pp.rollout(arm, q[i, 0], v[j], tau[i, j], DT, 5)
        assert_array_equal(alone.q, run.q[i, j])
        alone = pp.rollout(arm, q[i, 0], None, PD(kp[j], 0.1), DT, 5)
        assert_array_equal(alone.v, law.v[i, j])


def test_batches_that_do_not_fit_are_refused():
    arm = pp.examples.planar_arm(2)
    how = {"of": pp.rollout, "dt": DT, "steps": 5}
    message = refusal(arm, np.zeros((3, 2)), np.zeros((4, 2)), None, **how)
    assert "the batches of q0 and v0 do not broadcast: (3,), (4,)" in message
    message = refusal(arm, np.zeros((3, 2)), None, np.zeros((4, 5, 2)), **how)
    assert "the batches of states, tau and control do not broadcast: (3,), (4,)" in message
    message = refusal(arm, np.zeros((3, 2)), None, PD(np.ones((2, 2)), 1.0), **how)
    assert "do not broadcast: (3,), (), (2,)" in message


def test_empty_batch_has_no_members():
    run = pp.rollout(pp.examples.planar_arm(2), np.zeros((0, 2)), None, None, DT, 5)
    assert run.q.shape == (0, 6, 2)


# -- stretches -------------------------------------------------------------------------------


@every_integrator
@pytest.mark.parametrize("control", ["none", "rows"])
def test_stretches_make_no_difference(monkeypatch, control, integrator):
    """However few steps are made at once, also fewer than from one kept state to the next."""
    model = LOSSY
    q, v = some_states(model, 9)
    tau = controls(model, 9, np.random.default_rng(5))[control]
    whole = pp.rollout(model, q, v, tau, DT, STEPS, every=5, integrator=integrator)
    for steps in (1, 2, 5, 6, 10, 13):
        monkeypatch.setattr(fixed, "STRETCH", 9 * model.nv * steps)
        cut = pp.rollout(model, q, v, tau, DT, STEPS, every=5, integrator=integrator)
        assert cut.q.tobytes() == whole.q.tobytes()
        assert cut.v.tobytes() == whole.v.tobytes()


@every_integrator
@pytest.mark.parametrize("control", ["none", "rows"])
def test_alarms_without_a_cause_make_no_difference(monkeypatch, control, integrator):
    """Machine code may complain of what arrays find in order."""
    model = LOSSY
    q, v = some_states(model, 3)
    tau = controls(model, 3, np.random.default_rng(5))[control]
    quiet = pp.rollout(model, q, v, tau, DT, STEPS, every=4, integrator=integrator)
    run = Stepper.run
    monkeypatch.setattr(Stepper, "run", lambda *x, **y: run(*x, **y) or True)
    loud = pp.rollout(model, q, v, tau, DT, STEPS, every=4, integrator=integrator)
    assert loud.q.tobytes() == quiet.q.tobytes()


# -- sharing ---------------------------------------------------------------------------------


def test_threads_share_the_code_of_a_machine():
    """Runs of different lengths at once, more than there are functions kept."""
    model = MARKET["puma560"]()
    q, v = some_states(model, 40)
    lengths = [5 + k for k in range(40)]
    alone = [pp.rollout(model, q[k], v[k], None, DT, n) for k, n in enumerate(lengths)]
    found = [None] * 40

    def work(first):
        for k in range(first, 40, 4):
            found[k] = pp.rollout(model, q[k], v[k], None, DT, lengths[k])

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for ours, theirs in zip(found, alone, strict=True):
        assert_array_equal(ours.q, theirs.q)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_children_use_the_code_of_their_parent():
    model = MARKET["puma560"]()
    q, v = some_states(model, 9)
    ours = pp.rollout(model, q, v, None, DT, 5)
    read, write = os.pipe()
    child = os.fork()
    if not child:
        theirs = pp.rollout(model, q, v, None, DT, 5)
        os.write(write, theirs.q.tobytes())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        assert stream.read() == ours.q.tobytes()
    assert os.waitpid(child, 0)[1] == 0


# -- memory ----------------------------------------------------------------------------------


@every_integrator
def test_a_rollout_takes_the_room_of_its_result_and_that_of_a_stretch(monkeypatch, integrator):
    monkeypatch.setattr(fixed, "STRETCH", 1 << 16)
    arm = pp.examples.planar_arm(2)
    q = np.random.default_rng(6).normal(size=(64, 2))
    pp.rollout(arm, q, None, None, DT, 2000, integrator=integrator)
    tracemalloc.start()
    run = pp.rollout(arm, q, None, None, DT, 2000, integrator=integrator)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    size = run.q.nbytes + run.v.nbytes
    assert size > 4e6
    assert peak < 1.2 * size + 1e6


def test_results_that_fit_into_no_memory_are_refused():
    """Before anything is computed."""
    arm = pp.examples.planar_arm(2)
    message = refusal(arm, np.zeros((10_000, 2)), None, None, of=pp.rollout, dt=DT, steps=10**9)
    assert "1,000,000,001 states of 10,000 motions take 3.2e+05 GB" in message
    assert "more than this computer has; keep fewer with every=" in message


def test_the_result_is_read_only():
    run = pp.rollout(pp.examples.planar_arm(2), [0.1, 0.2], None, [1.0, 0.0], DT, 5)
    for array in (run.q, run.v, run.tau):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


def room_for(model, batch, kept, spread=1):
    """Arrays for q, v and tau, their numbers side by side or not."""
    sizes = model.nq, model.nv, model.nv
    return tuple(np.full((*batch, kept, spread * n), np.nan)[..., ::spread] for n in sizes)


@pytest.mark.parametrize("spread", [1, 2])
@pytest.mark.parametrize("how", ["rk4", "dopri", "function", "law", "numpy"])
def test_results_go_where_the_user_says(how, spread):
    """The same bits; the trajectory looks at the arrays, which belong to the user."""
    (q0, v0), duration = some_states(LOSSY, 3), 20 * DT
    options = {
        "rk4": {"control": np.ones((3, 20, LOSSY.nv)), "integrator": "rk4", "every": 8},
        "dopri": {"integrator": "dopri", "every": 3},
        "function": {"control": lambda t, q, v: -v, "integrator": "euler"},
        "law": {"control": GravityCompensation(), "integrator": "midpoint", "every": 20},
        "numpy": {"backend": "numpy", "integrator": "rk4", "every": 10},
    }[how]
    expected = pp.simulate(LOSSY, q0, v0, duration, dt=DT, **options)
    for count in (2, 3):
        out = room_for(LOSSY, (3,), len(expected), spread)[:count]
        found = pp.simulate(LOSSY, q0, v0, duration, dt=DT, **options, out=out)
        assert_array_equal(out[0], expected.q)
        assert_array_equal(out[1], expected.v)
        for array, name in zip(out, ("q", "v", "tau"), strict=False):
            assert np.shares_memory(getattr(found, name), array)
            assert array.flags.writeable and not getattr(found, name).flags.writeable
        if expected.tau is not None:
            assert_array_equal(found.tau, expected.tau)
        elif count == 3:
            assert not found.tau.any()
        else:
            assert found.tau is None


def test_a_rollout_goes_on_in_the_arrays_of_the_one_before():
    """The last states are where the next begins: read before they are written over."""
    (q0, v0), out = some_states(LOSSY, 5), room_for(LOSSY, (5,), STEPS + 1)
    law = GravityCompensation()
    first = pp.rollout(LOSSY, q0, v0, law, DT, STEPS, out=out)
    assert_array_equal(out[2], pp.simulate(LOSSY, q0, v0, STEPS * DT, dt=DT, control=law).tau)
    assert pp.rollout(LOSSY, q0, v0, law, DT, STEPS).tau is None  # kept where there is room
    expected = pp.rollout(LOSSY, first.q[:, -1].copy(), first.v[:, -1].copy(), law, DT, STEPS)
    second = pp.rollout(LOSSY, out[0][:, -1], out[1][:, -1], law, DT, STEPS, out=out)
    assert_array_equal(second.q, expected.q)
    assert_array_equal(first.q, expected.q)  # it looks at the same arrays
    forces = np.ones((5, STEPS, LOSSY.nv))
    expected = pp.rollout(LOSSY, q0, v0, forces, DT, STEPS)
    room = out[0], np.empty((5, STEPS + 1, LOSSY.nv))
    room[1][:, :STEPS] = forces
    assert_array_equal(
        pp.rollout(LOSSY, q0, v0, room[1][:, :STEPS], DT, STEPS, out=room).v, expected.v
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda q, v: q, "out: expected a tuple of arrays (q, v) or (q, v, tau), got a ndarray"),
        (lambda q, v: [q, v], "out: expected a tuple of arrays (q, v) or (q, v, tau), got a list"),
        (lambda q, v: (q,), "out: expected a tuple of arrays (q, v) or (q, v, tau), got 1 of them"),
        (lambda q, v: (q, v[1:]), "out[1] has shape (4, 2); expected (5, 2)"),
        (lambda q, v: (q, v, v[:, 1:]), "out[2] has shape (5, 1); expected (5, 2)"),
        (lambda q, v: (q.astype("f4"), v), "out[0]: expected an array of float64, got float32"),
        (lambda q, v: (q, None), "out[1]: expected an array of float64, got NoneType"),
        (lambda q, v: (q, np.broadcast_to(0.0, v.shape)), "out[1]: the array is read-only"),
        (
            lambda q, v: (q, q),
            "out: two of the arrays share memory; each output needs its own",
        ),
    ],
)
def test_arrays_that_do_not_fit_the_states_are_refused(arm, change, message):
    out = change(*np.zeros((2, 5, 2)))
    rest = {"v0": None, "tau": None, "dt": DT, "steps": 4}
    assert refusal(arm, [0.0, 0.0], **rest, of=pp.rollout, out=out) == message
    assert refusal(arm, [0.0, 0.0], duration=4 * DT, dt=DT, out=out) == message


def test_arguments_stay_as_they_are():
    arm = pp.examples.planar_arm(2)
    q, v, tau = np.full((3, 2), 0.1), np.zeros((3, 2)), np.ones((3, 5, 2))
    run = pp.rollout(arm, q, v, tau, DT, 5)
    assert_array_equal(q, 0.1)
    assert_array_equal(v, 0.0)
    tau[:] = 7.0
    assert_array_equal(run.tau, 1.0)


# -- large machines --------------------------------------------------------------------------

LARGE = """
import resource
import numpy as np
import phipsi as pp
for bodies in (10, 5000):
    chain = pp.chain(bodies)
    q = np.zeros(chain.nq)
    q[0] = 0.3
    run = pp.simulate(chain, q, None, 0.002, integrator="midpoint")
    assert np.isfinite(run.q).all() and np.abs(run.v[-1]).max() > 1e-3
    assert abs(run.energy[-1] - run.energy[0]) < 1e-9 * abs(run.energy[0])
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_machines_of_any_size_run_by_arrays():
    """Of thousands of bodies; what is stored grows with their number, and not with its square."""
    users = {name: x for name, x in os.environ.items() if name != "PHIPSI_BACKEND"}
    command = [sys.executable, "-c", LARGE]
    done = subprocess.run(command, env=users, capture_output=True, text=True, check=True)
    small, large = map(float, done.stdout.split())
    assert large - small < 5000 * 60, "kilobytes for each body"


# -- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tau": np.zeros((4, 2))}, r"tau has shape \(4, 2\); expected \(2,\), or with a row for "),
        ({"tau": np.zeros(3)}, r"tau has shape \(3,\); expected \(\*batch, 2\), nv of"),
        ({"tau": [np.nan, 0.0]}, r"tau\[0\] is nan; expected finite numbers"),
        ({"tau": [1j, 0.0]}, "tau: expected real numbers, got complex ones"),
        ({"tau": "strong"}, "control: no letter 'strong'"),
        ({"tau": lambda t, q, v: [0, 0]}, r"tau: a rollout takes no function of \(t, q, v\)"),
        ({"steps": 0}, "steps is 0; expected a whole number above zero"),
        ({"steps": 2.0}, "steps is 2.0; expected a whole number"),
        ({"steps": True}, "steps is True; expected a whole number"),
        ({"steps": 10**10}, "steps is 10000000000; more than 1000000000 are not possible"),
        ({"every": 0}, "every is 0; expected a whole number above zero"),
        ({"every": 6}, "every is 6, but there are 5 steps"),
        ({"dt": 0.0}, "dt is 0.0; expected a number of seconds above zero"),
        ({"dt": -1.0}, "dt is -1.0; expected"),
        ({"dt": np.nan}, r"dt is nan; expected finite numbers"),
        ({"dt": [0.1]}, r"dt is \[0.1\]; expected a number of seconds"),
        ({"dt": 1j}, "dt is 1j; expected a number of seconds"),
        ({"dt": "fast"}, "dt: expected numbers, got 'fast'"),
        ({"integrator": "dopri"}, "'dopri' chooses its steps"),
        ({"integrator": "rk5"}, "integrator: unknown 'rk5'; did you mean 'rk4'"),
        ({"integrator": 4}, "integrator: unknown 4"),
        ({"backend": "fortran"}, "backend: unknown 'fortran'"),
        ({"q0": [0.0]}, r"q0 has shape \(1,\); expected \(\*batch, 2\)"),
        ({"q0": [0.0, np.nan]}, r"q0\[1\] is nan"),
        ({"q0": [0.0, 1j]}, "q0: expected real numbers, got complex ones"),
        ({"v0": [0.0, 1j]}, "v0: expected real numbers, got complex ones"),
        ({"v0": [0.0] * 3}, r"v0 has shape \(3,\); expected \(\*batch, 2\)"),
        ({"v0": [0.0, np.inf]}, r"v0\[1\] is inf"),
        ({"model": "arm"}, "model: expected a Model, got str"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arm, arguments, message):
    good = {"model": arm, "q0": [0.0, 0.0], "v0": None, "tau": None, "dt": 0.1, "steps": 5}
    with pytest.raises(pp.InputError, match=message):
        pp.rollout(**{**good, **arguments})


def test_threads_share_a_rollout_and_change_no_bit():
    model = pp.examples.planar_arm(3)
    q0 = np.random.default_rng(5).uniform(-1.0, 1.0, (500, 3))
    one = pp.rollout(model, q0, None, None, dt=1e-3, steps=20, threads=1, backend="llvm")
    two = pp.rollout(model, q0, None, None, dt=1e-3, steps=20, threads=2, backend="llvm")
    np.testing.assert_array_equal(one.q, two.q)
    both = {"duration": 0.02, "threads": 2, "backend": "llvm"}
    alone = pp.simulate(model, q0[0], duration=0.02, backend="llvm")
    for control in (None, lambda t, q, v: 0.0 * v):  # in machine code, and by arrays
        shared = pp.simulate(model, q0[:9], control=control, **both)
        np.testing.assert_allclose(shared.q[0], alone.q, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("threads", [0, True, 1.5, "many"])
def test_numbers_of_threads_that_are_none_are_refused(threads):
    with pytest.raises(pp.InputError, match="threads: expected a whole number"):
        pp.rollout(pp.examples.planar_arm(2), [0.0, 0.0], None, None, 1e-3, 5, threads=threads)
    with pytest.raises(pp.InputError, match="threads: expected a whole number"):
        pp.simulate(pp.examples.planar_arm(2), [0.0, 0.0], threads=threads)
