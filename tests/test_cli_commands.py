"""What the commands simulate and view say and write, beside what the library says."""

import math
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from commands import FOUR_BAR, GRIPPER, call, facts_of
from numpy.testing import assert_allclose, assert_array_equal

import phipsi as pp
from phipsi.cli import simulate as command
from phipsi.cli.machine import read_machine
from phipsi.cli.motors import at_their_limits, off_target
from phipsi.cli.screen import Screen
from phipsi.cli.setting import Driving, felt_inertias, start_of
from phipsi.cli.summary import LOSSES, Speed, floats, tell
from phipsi.simulate.trajectory import Trajectory


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gripper.urdf").write_text(GRIPPER)
    return tmp_path


# -- machines --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["spacecraft", "puma560", "branching_tree", "planar_arm"])
def test_bundled_machines_go_by_their_names(name):
    assert repr(read_machine(name)) == repr(getattr(pp.examples, name)())


def test_number_of_bodies_follows_a_colon():
    assert len(read_machine("chain:7").bodies) == 7
    assert len(read_machine("planar_arm:3").bodies) == 3
    assert len(read_machine("chain").bodies) == 6


def test_file_comes_before_a_bundled_machine_of_its_name(folder):
    (folder / "chain").write_text(GRIPPER)
    assert read_machine("chain").name == "gripper"


# -- simulate --------------------------------------------------------------------------


def test_loops_are_left_open_on_demand_and_said_so(capsys, folder):
    (folder / "four_bar.sdf").write_text(FOUR_BAR)
    code, out, err = call(capsys, "simulate", "four_bar.sdf", *SHORT)
    assert (code, out) == (1, "")
    assert "'four bar' has loops (closures 'loop')" in err and "--open leaves them open" in err
    assert "model.opened()" not in err
    code, out, err = call(capsys, "simulate", "four_bar.sdf", *SHORT, "--open", "--out", "run.npz")
    assert (code, err) == (0, "")
    assert facts_of(out)["loops"] == "left open: the tree moves alone"
    tree = pp.load("four_bar.sdf").opened()
    expected = pp.simulate(tree, *start_of(tree, None), 0.02)
    assert_array_equal(Trajectory.load("run.npz", tree).q, expected.q)
    assert "loops" not in facts_of(call(capsys, "simulate", "gripper.urdf", *SHORT, "--open").out)


SHORT = ("--duration", "0.02")


def test_simulation_is_that_of_the_library(capsys, folder):
    """Bit by bit: the same state, law, integrator and step."""
    words = ("--seed", 3, "--dt", 0.002, "--integrator", "midpoint", "--every", 5)
    code, out, err = call(
        capsys, "simulate", "puma560", *SHORT, *words, "--control", "gravity", "--out", "run.npz"
    )
    assert (code, err) == (0, "")
    model = pp.examples.puma560()
    rng = np.random.default_rng(3)
    q0, v0 = model.random(rng), 0.5 * rng.normal(size=6)
    law = pp.control.GravityCompensation()
    how = {"integrator": "midpoint", "dt": 0.002, "every": 5, "control": law}
    expected = pp.simulate(model, q0, v0, 0.02, **how)
    found = Trajectory.load("run.npz", model)
    assert_array_equal(found.q, expected.q)
    assert_array_equal(found.v, expected.v)
    assert "wrote run.npz: the data\n" in out
    rows = re.findall(r"^joint(\d) +rad +(\S+) +(\S+) +(\S+) +(\S+)$", out, re.MULTILINE)
    assert [int(row[0]) for row in rows] == [1, 2, 3, 4, 5, 6]
    q = expected.q
    told = np.array([[float(x) for x in row[1:]] for row in rows])
    assert_allclose(told.T, [q[0], q[-1], q.min(axis=0), q.max(axis=0)], rtol=1e-3, atol=1e-9)


def test_dopri_is_told_its_tolerance_and_its_steps(capsys, folder):
    words = ("simulate", "planar_arm", "--seed", 3, "--dt", 0.1, "--duration", 0.5)
    words = (*words, "--integrator", "dopri", "--tolerance", 1e-6)
    model = pp.examples.planar_arm()
    how = {"integrator": "dopri", "dt": 0.1, "tolerance": 1e-6}
    about = pp.simulate(model, *start_of(model, 3), 0.5, **how).about
    steps = int(about["steps"] + about["rejected"])
    for given in ((), ("--most-steps", steps)):
        assert call(capsys, *words, *given, "--out", "run.npz").code == 0
        assert Trajectory.load("run.npz", model).about == about
    code, _, err = call(capsys, *words, "--most-steps", steps - 1)
    assert code == 1
    assert f"after {steps - 1} steps" in err
    assert "a larger --tolerance, or a larger --most-steps" in err


def test_simulation_without_options_says_how_to_see_it(capsys):
    code, out, err = call(capsys, "simulate", "planar_arm", *SHORT)
    assert (code, err) == (0, "")
    facts = facts_of(out)
    assert facts["start"] == "neutral, at rest" and facts["motors"] == "off"
    assert facts["motion"] == "0.02 s by rk4, steps of 0.001 s, 21 states kept"
    assert re.fullmatch(r"computed in \S+ s, \S+ times real time; \S+ s .* compile", facts["speed"])
    assert "--html run.html" in out and "--plot run.png" in out and "--out run.nc" in out


def test_energy_and_momentum_are_told_as_they_are_kept(capsys):
    facts = facts_of(call(capsys, "simulate", "spacecraft", *SHORT, "--seed", 2).out)
    model = pp.examples.spacecraft()
    motion = pp.simulate(model, *start_of(model, 2), 0.02)
    energy = motion.energy
    first, last, error = re.match(
        r"from (\S+) to (\S+) J, constant to (\S+) J", facts["energy"]
    ).groups()
    assert_allclose([float(first), float(last)], energy[[0, -1]], rtol=1e-3)
    assert_allclose(float(error), np.abs(energy - energy[0]).max(), rtol=0.5, atol=1e-300)
    momentum = np.abs(motion.momentum - motion.momentum[0])
    told = re.match(r"constant to (\S+) N m s and (\S+) N s", facts["momentum"]).groups()
    found = [momentum[:, :3].max(), momentum[:, 3:].max()]
    assert_allclose([float(x) for x in told], found, rtol=0.5)


@pytest.mark.parametrize(
    ("words", "worker"),
    [
        ((), "damping and friction"),
        (("--no-losses", "--control", "pd"), "the motors"),
        (("--control", "computed"), "the motors and damping and friction"),
    ],
)
def test_what_changes_the_energy_is_named(capsys, folder, words, worker):
    out = call(capsys, "simulate", "gripper.urdf", *SHORT, *words).out
    assert facts_of(out)["energy"].endswith(f" J, changed by {worker}")
    still = call(capsys, "simulate", "gripper.urdf", *SHORT, "--no-losses").out
    assert ", constant to " in facts_of(still)["energy"]


def test_energy_that_losses_cannot_add_is_warned_of(capsys, folder):
    """Steps far too long for the swing, and hardly any damping."""
    (folder / "gripper.urdf").write_text(GRIPPER.replace('damping="0.2"', 'damping="1e-9"'))
    words = ("--seed", 1, "--duration", 2, "--integrator", "euler", "--dt", 0.2)
    told = facts_of(call(capsys, "simulate", "gripper.urdf", *words).out)["energy"]
    assert re.search(r"J\. Warning: it grew by \S+ J, which damping and friction cannot do", told)
    assert told.endswith("; take a smaller --dt or --integrator midpoint")


@pytest.mark.parametrize(
    ("integrator", "speeds", "ending"),
    [
        ("rk4", (1.0, 2.0, 0.5), "; take a smaller --dt or --integrator midpoint"),
        ("midpoint", (1.0, 2.0, 0.5), "; take a smaller --dt"),
        ("rk4", (2.0, 1.0, 0.5), ", changed by damping and friction"),
        ("rk4", (2.0, 2.0 + 1e-9, 0.5), ", changed by damping and friction"),  # roundoff
    ],
)
def test_growth_counts_from_the_beginning(capsys, integrator, speeds, ending):
    """A wheel that turns at these speeds."""
    builder = pp.ModelBuilder("wheel")
    builder.add_body("wheel", mass=1.0, inertia=(1, 1, 1))
    v = np.array(speeds)[:, None]
    about = {"integrator": integrator, "dt": 1.0}
    motion = Trajectory(builder.build(), np.arange(3.0), np.zeros((3, 1)), v, about=about)
    capsys.readouterr()
    tell(Screen(), motion, {}, Speed(1.0, 1.0), LOSSES, {})
    assert facts_of(capsys.readouterr().out)["energy"].endswith(ending)


def weak_gripper(folder, effort):
    (folder / "gripper.urdf").write_text(
        GRIPPER.replace(
            '<axis xyz="0 1 0"/>', f'<axis xyz="0 1 0"/><limit effort="{effort}" velocity="9"/>'
        )
    )
    return pp.load("gripper.urdf")


def test_motors_at_their_limits_and_joints_off_their_targets_are_named(
    as_for_users, capsys, folder
):
    """The weight of the arm is 5 N m and more; its motor has one."""
    model = weak_gripper(folder, 1.0)
    words = ("simulate", "gripper.urdf", "--control", "pd", "--duration", 0.5, "--out", "run.npz")
    facts = facts_of(call(capsys, *words).out)
    motion = Trajectory.load("run.npz", model)
    share = np.mean(np.abs(motion.tau[:, 0]) >= 1.0)
    assert share > 0.5
    told = re.search(r"shoulder in (?:over )?(\d+)% of the states", facts["efforts"]).group(1)
    assert abs(float(told) - 100.0 * share) <= 1.0
    off = re.search(r"shoulder by (\S+) rad", facts["target"]).group(1)
    assert_allclose(float(off), abs(motion.q[-1, 0]), rtol=0.06)
    free = facts_of(call(capsys, *words, "--no-limits").out)
    assert "efforts" not in free


def test_strong_motors_that_arrive_are_not_mentioned(as_for_users, capsys, folder):
    for effort in (1e6, 0.0):  # in URDF, zero means none
        weak_gripper(folder, effort)
        words = ("simulate", "gripper.urdf", "--control", "computed", "--duration", 3, "--dt", 0.01)
        facts = facts_of(call(capsys, *words).out)
        assert "target" not in facts and "shoulder" not in facts.get("efforts", "")


def test_worst_three_motors_and_joints_are_named():
    """Five joints, off by 0.1 ... 0.5 rad, at their limits in one to five of ten states."""
    builder = pp.ModelBuilder("five")
    for k in range(5):
        limits = pp.Limits(effort=1.0)
        builder.add_body(f"b{k}", joint_name=f"j{k}", mass=1.0, com=(1, 0, 0), limits=limits)
    q = np.tile(0.1 * np.arange(1.0, 6.0), (10, 1))
    tau = (np.arange(10)[:, None] < np.arange(1, 6)).astype(float)
    motion = Trajectory(builder.build(), np.arange(10.0), q, np.zeros((10, 5)), tau)
    share = "j4 in 50% of the states, j3 in 40% of the states, j2 in 30% of the states, ..."
    assert at_their_limits(motion) == f"5 motors at their limits: {share}"
    off = "5 joints ended off their targets: j4 by 0.5 rad, j3 by 0.4 rad, j2 by 0.3 rad, ..."
    assert off_target(motion, np.zeros(5)) == off
    assert at_their_limits(replace(motion, tau=None)) == ""


def test_free_base_has_no_motor_and_no_target():
    craft = pp.examples.spacecraft()
    q = craft.neutral()
    q[4:7] = 3.0
    motion = Trajectory(craft, [0.0], q[None], np.zeros((1, craft.nv)))
    assert off_target(motion, craft.neutral()) == ""


def test_limits_of_motors_can_be_left_out(capsys, folder):
    (folder / "gripper.urdf").write_text(GRIPPER.replace('effort="7"', 'effort="-7"'))
    code, _, err = call(capsys, "simulate", "gripper.urdf", *SHORT)
    assert code == 1 and "the effort of joint 'finger' is -7; expected none below zero" in err
    assert call(capsys, "simulate", "gripper.urdf", *SHORT, "--no-limits").code == 0


def test_what_may_surprise_is_said(capsys, folder):
    still = call(capsys, "simulate", "spacecraft", *SHORT)
    assert facts_of(still.out)["still"].startswith("nothing moved")
    words = ("--gravity", "-1000", "0", "0", "--mimic", "independent")
    out = call(capsys, "simulate", "gripper.urdf", *SHORT, *words).out
    said = "2 joints went beyond, as nothing stops them here: finger, other finger"
    assert facts_of(out)["limits"] == said


def test_gravity_is_that_of_the_command(capsys, folder):
    """Along the slides of the fingers, through the axis of the arm: x = x0 + g t^2 / 2."""
    words = ("--gravity", "0.5", "0", "0", "--mimic", "independent", "--out", "run.npz")
    call(capsys, "simulate", "gripper.urdf", *SHORT, *words)
    found = Trajectory.load("run.npz", pp.load("gripper.urdf", mimic="independent"))
    assert_allclose(found.q[-1], [0.0, 0.02 + 1e-4, 1e-4], rtol=1e-12, atol=1e-15)


def test_files_are_written_and_named(capsys, folder):
    names = {"out": "run.nc", "plot": "run.png", "html": "run.html"}
    words = [word for option, name in names.items() for word in (f"--{option}", name)]
    code, out, err = call(capsys, "simulate", "planar_arm", *SHORT, *words)
    assert (code, err) == (0, "")
    assert [f"wrote {name}:" in out for name in names.values()] == [True] * 3
    assert "add --html" not in out
    assert (folder / "run.png").read_bytes().startswith(b"\x89PNG")
    assert "<title>planar arm of 2</title>" in (folder / "run.html").read_text()
    assert len(Trajectory.load("run.nc", pp.examples.planar_arm())) == 21


def test_interrupted_simulation_is_told_and_written(capsys, folder, monkeypatch):
    """Ctrl-C after ten states."""

    def interrupted(*arguments, **options):
        whole = pp.simulate(*arguments, **options)
        return replace(whole[:10], complete=False) if len(whole) > 10 else whole

    monkeypatch.setattr(command, "run", interrupted)
    code, out, _ = call(capsys, "simulate", "planar_arm", *SHORT, "--out", "run.npz")
    assert code == 130
    assert facts_of(out)["motion"].endswith("10 states kept, interrupted")
    assert len(Trajectory.load("run.npz", pp.examples.planar_arm())) == 10


def test_interrupt_before_the_simulation_begins_ends_it(capsys, folder, monkeypatch):
    def interrupted(*arguments, **options):
        return replace(pp.simulate(*arguments, **options), complete=False)

    monkeypatch.setattr(command, "run", interrupted)
    ended = call(capsys, "simulate", "planar_arm", *SHORT, "--out", "run.npz")
    assert ended == (130, "", "interrupted\n")
    assert not (folder / "run.npz").exists()


def test_many_coordinates_are_folded(capsys):
    out = call(capsys, "simulate", "chain:45", "--duration", "0.002").out
    assert "joint40 " in out and "joint41 " not in out
    assert "... and 5 more" in out


# -- what drives it --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["puma560", "branching_tree", "spacecraft", "chain:8"])
def test_gains_are_never_too_stiff(name):
    """No rate of Mass^-1 kd is above nv 20/s: a step of a millisecond is short enough."""
    model = read_machine(name)
    q = start_of(model, None)[0]
    mass = pp.mass_matrix(model, q)
    inertia = felt_inertias(model, q)
    assert_allclose(inertia, 1.0 / np.diag(np.linalg.inv(mass)), rtol=1e-9)
    law = Driving("pd").law(model)
    assert_allclose(law.kp, 100.0 * inertia, rtol=1e-12)
    assert_allclose(law.kd, 20.0 * inertia, rtol=1e-12)
    rates = np.linalg.eigvals(np.linalg.solve(mass, np.diag(law.kd)))
    assert rates.real.max() <= 20.0 * model.nv * (1 + 1e-9)


def test_gains_of_the_user_are_taken():
    model = pp.examples.planar_arm(2)
    law = Driving("pd", 50.0, 3.0).law(model)
    assert_array_equal([law.kp, law.kd], [[50.0, 50.0], [3.0, 3.0]])
    assert law.gravity
    damped = Driving("pd", 50.0).law(model)
    assert_allclose(damped.kd**2, 4.0 * 50.0 * felt_inertias(model, model.neutral()), rtol=1e-12)
    computed = Driving("computed", 4.0).law(model)
    assert_array_equal([computed.kp, computed.kd], [[4.0, 4.0], [4.0, 4.0]])


@pytest.mark.parametrize("control", ["pd", "computed"])
def test_laws_pull_to_the_neutral_configuration(as_for_users, control):
    model = pp.examples.puma560()
    law = Driving(control).law(model)
    motion = pp.simulate(model, *start_of(model, 1), 4.0, control=law)
    assert_allclose(motion.q[-1], model.neutral(), atol=1e-3)


def test_start_is_neutral_within_the_limits_or_random(folder):
    model = pp.load("gripper.urdf")
    q, v = start_of(model, None)
    assert_array_equal(q, [0.0, 0.02])
    assert_array_equal(v, [0.0, 0.0])
    first, again, other = (start_of(model, seed) for seed in (1, 1, 2))
    assert_array_equal(np.concatenate(first), np.concatenate(again))
    assert not np.array_equal(first[0], other[0])
    assert 0.02 <= first[0][1] <= 0.1


def test_machine_floats_only_without_gravity_and_ground():
    space = pp.examples.spacecraft()
    assert floats(space)
    assert not floats(replace(space, gravity=(0.0, 0.0, -9.81)))
    assert not floats(replace(pp.chain(2), gravity=(0.0, 0.0, 0.0)))


# -- view ------------------------------------------------------------------------------


@pytest.fixture
def looked(monkeypatch):
    """What the viewer was asked to show; no server, no browser."""
    asked = []
    viewing = sys.modules["phipsi.view"]  # phipsi.view itself is the function
    monkeypatch.setattr(viewing, "view", lambda *shown, **how: asked.append((*shown, how)))
    return asked


def test_view_shows_the_machine(capsys, folder, looked):
    assert call(capsys, "view", "gripper.urdf", "--port", 9000, "--no-browser").code == 0
    model, how = looked[0]
    assert model.name == "gripper"
    assert how == {"port": 9000, "open_browser": False, "collisions": False}
    call(capsys, "view", "puma560", "--collisions")
    assert looked[1][1] == {"port": None, "open_browser": True, "collisions": True}


def test_view_plays_what_was_simulated(capsys, folder, looked):
    call(capsys, "simulate", "gripper.urdf", *SHORT, "--out", "run.npz")
    assert call(capsys, "view", "gripper.urdf", "--motion", "run.npz").code == 0
    motion, _ = looked[0]
    assert math.isclose(motion.times[-1], 0.02) and motion.model.name == "gripper"


def test_view_writes_a_page(capsys, folder):
    code, out, err = call(capsys, "view", "gripper.urdf", "--html", "page.html")
    assert (code, out, err) == (0, "wrote page.html; open it in a browser\n", "")
    assert "<title>gripper</title>" in (folder / "page.html").read_text()
