"""`phipsi bench`: what is timed is what it says, and a peer that answers otherwise is not timed."""

import re
import sys
from dataclasses import replace
from functools import partial
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from commands import FOUR_BAR, GRIPPER, call
from numpy.testing import assert_allclose

import phipsi as pp
from phipsi.cli import bench, timing
from phipsi.cli.checking.comparison import compare
from phipsi.cli.pinocchio import TimedPinocchio
from phipsi.cli.tasks import TASKS, states_of

ROBOTS = Path(
    distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data/robots")
)
SOLO = str(ROBOTS / "solo_description/robots/solo12.urdf")

SLED = """
<robot name="sled">
  <link name="ground"/>
  <link name="sled"><inertial><mass value="3"/><origin xyz="0.1 0.2 0.3"/>
    <inertia ixx="1" iyy="2" izz="2.5" ixy="0.1" ixz="0" iyz="0"/></inertial></link>
  <link name="wheel"><inertial><mass value="1"/><origin xyz="0.1 0 0"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="slide" type="planar"><parent link="ground"/><child link="sled"/>
    <axis xyz="{axis}"/></joint>
  <joint name="spin" type="continuous"><parent link="sled"/><child link="wheel"/>
    <axis xyz="0 1 0"/></joint>
</robot>
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bench, "interleave", partial(timing.interleave, rounds=1))
    monkeypatch.setattr(timing, "BLOCK", 0.0)
    monkeypatch.setattr(bench, "STEPS", 2)
    monkeypatch.setattr(bench, "states_of", partial(states_of, count=64))
    (tmp_path / "gripper.urdf").write_text(GRIPPER)
    (tmp_path / "sled.urdf").write_text(SLED.format(axis="0 0 1"))
    (tmp_path / "tilted.urdf").write_text(SLED.format(axis="1 0 0"))
    return tmp_path


# -- the peer --------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
@pytest.mark.parametrize(("file", "base"), [(SOLO, "free"), ("sled.urdf", "fixed")])
def test_pinocchio_is_asked_the_same_in_its_own_coordinates(folder, task, file, base):
    """Free, planar and unbounded joints; the interpreter answers for us."""
    model = pp.load(file, base=base, mimic="independent")
    states = states_of(model, 3)
    peer = TimedPinocchio(pin, file, model, states)
    ours = task.function(model, *(states[name] for name in task.arguments), backend="numpy")
    theirs = np.array([peer.answer(task, k) for k in range(3)])
    assert compare(task.name, ours, theirs).difference < 1e-10


@pytest.mark.parametrize("task", [task for task in TASKS if task.batch], ids=lambda x: x.name)
def test_batch_of_pinocchio_computes_what_its_calls_do(folder, task):
    model = pp.load(SOLO, base="free", mimic="independent")
    peer = TimedPinocchio(pin, SOLO, model, states_of(model, 5))
    run = peer.batch(task, 5)
    run()
    alone = [peer.call(task, k)().copy() for k in range(5)]
    assert_allclose(run.args[-1].T, alone, rtol=1e-12, atol=1e-12)


# -- the command -----------------------------------------------------------------------


def test_table_shows_pinocchio_beside(capsys, folder):
    code, out, err = call(capsys, "bench", "gripper.urdf")
    assert (code, err) == (0, "")
    assert out.startswith("Model 'gripper': 3 bodies, nq = 3, nv = 3")
    assert "mimic joints move on their own\n" in out
    agreement = re.search(r"reads the same file and agrees to (\S+), relative", out).group(1)
    assert float(agreement) < 1e-12
    table = out.split("for one state\n")[1].splitlines()
    assert table[0].split() == ["states", "phipsi", "Pinocchio", "ratio", "C++", "batch", "ratio"]
    cells = [re.split(r"\s{2,}", line) for line in table[1:11]]
    names = [task.name for task in TASKS]
    assert [cell[:2] for cell in cells] == [
        [name, count] for name in [*names, "rollout, a step"] for count in ("1", "64")
    ]
    assert [len(cell) for cell in cells] == [5, 7, 5, 7, 5, 5, 5, 5, 3, 3]
    assert "by the interpreter" in out  # as tests are run


def test_row_that_fails_is_told_below_and_the_table_stands(capsys, folder):
    """A last link without mass: no forward dynamics; inverse dynamics and mass matrix stay."""
    massless = SLED.format(axis="0 0 1").replace('<mass value="1"/>', '<mass value="0"/>')
    massless = massless.replace('ixx="1" iyy="1" izz="1"', 'ixx="0" iyy="0" izz="0"')
    (folder / "sled.urdf").write_text(massless)
    code, out, err = call(capsys, "bench", "sled.urdf")
    assert (code, err) == (0, "")
    assert "relative, in inverse dynamics and mass matrix alone\n" in out
    lines = out.split("for one state\n")[1].splitlines()
    cells = [re.split(r"\s{2,}", line) for line in lines[1:11]]
    failed = [cell[0] for cell in cells if cell[2] == "-"]
    names = ("forward dynamics", "its inverse", "rollout, a step")
    assert failed == [name for name in names for _ in range(2)]
    for line, name in zip(lines[11:14], names, strict=True):
        assert line.startswith(f"- {name}: ") and "D of joint 'spin' vanishes" in line


def test_peer_is_not_said_to_agree_where_nothing_is_compared(capsys, folder, monkeypatch):
    def fail(*_):
        raise pp.SolveError("take integrator='dopri'")

    monkeypatch.setattr(bench, "TASKS", [replace(TASKS[0], function=fail)])
    out = call(capsys, "bench", "sled.urdf").out
    assert refusal(out).endswith("there are no answers of phipsi to compare")
    assert "- forward dynamics: take --integrator dopri\n" in out


def test_rollout_of_a_strongly_damped_robot_is_timed(capsys, folder, monkeypatch):
    """As far as users have it: a hundred steps, without the damping that acts within one."""
    monkeypatch.setattr(bench, "STEPS", 100)
    damped = SLED.format(axis="0 0 1").replace(
        '<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><dynamics damping="1e5"/>'
    )
    (folder / "sled.urdf").write_text(damped)
    model = pp.load("sled.urdf")
    with pytest.raises(pp.SolveError, match="runs away"):
        v0 = np.ones(model.nv)
        pp.rollout(model, model.neutral(), v0, None, 1e-3, 100, integrator="rk4")
    rows = re.findall(
        r"^rollout, a step +\S+ +(\S+)$", call(capsys, "bench", "sled.urdf").out, re.M
    )
    assert len(rows) == 2 and all(float(x) > 0.0 for x in rows)


def test_mimic_joints_are_not_mentioned_where_there_are_none(capsys, folder):
    out = call(capsys, "bench", "sled.urdf").out
    assert "mimic" not in out and "agrees to" in out


def refusal(out):
    """Why Pinocchio is not compared; the table has us alone then."""
    assert "Pinocchio call" not in out and "x\n" not in out
    return out.splitlines()[1]


def test_peer_that_would_answer_otherwise_is_not_timed(capsys, folder):
    line = refusal(call(capsys, "bench", "tilted.urdf").out)
    reason = "it ignores the axis of the planar joint 'slide'"
    assert line == f"Pinocchio is not compared: {reason}"


def test_peer_that_answers_otherwise_is_not_timed(capsys, folder, monkeypatch):
    right = TimedPinocchio.answer
    monkeypatch.setattr(TimedPinocchio, "answer", lambda *x: 1.01 * right(*x))
    line = refusal(call(capsys, "bench", "sled.urdf").out)
    differs = re.fullmatch(r"Pinocchio is not compared: its answers differ by (\S+)", line)
    assert float(differs.group(1)) == 1e-2


def test_peer_that_answers_nan_is_not_timed(capsys, folder, monkeypatch):
    monkeypatch.setattr(TimedPinocchio, "answer", lambda self, task, k: np.full((4,), np.nan))
    monkeypatch.setattr(bench, "TASKS", TASKS[:2])
    assert refusal(call(capsys, "bench", "sled.urdf").out).endswith("differ by nan")


def test_peer_that_reads_other_joints_is_not_timed(capsys, folder, monkeypatch):
    other = pin.buildModelFromUrdf(str(folder / "gripper.urdf"))
    monkeypatch.setattr(pin, "buildModelFromUrdf", lambda *_: other)
    line = refusal(call(capsys, "bench", "sled.urdf").out)
    assert line.startswith("Pinocchio is not compared: it reads another machine from this file: ")


def test_bundled_machine_has_no_file_for_pinocchio(capsys, folder):
    line = refusal(call(capsys, "bench", "planar_arm").out)
    assert line == "Pinocchio is not compared: planar_arm is no URDF file"


def test_machine_with_loops_is_timed_as_its_tree(capsys, folder):
    (folder / "four_bar.sdf").write_text(FOUR_BAR)
    code, out, err = call(capsys, "bench", "four_bar.sdf")
    assert (code, err) == (0, "")
    assert out.splitlines()[1] == "loops and couplings are left open"
    assert "Pinocchio is not compared: four_bar.sdf is no URDF file\n" in out


def test_pinocchio_need_not_be_installed(capsys, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    line = refusal(call(capsys, "bench", "sled.urdf").out)
    assert line == "Pinocchio is not installed: pip install pin shows it beside"


def test_results_of_a_batch_fit_into_memory():
    forward, *_, matrix = TASKS
    assert forward.count(pp.chain(100)) == matrix.count(pp.chain(100)) == 1024
    assert 8 * 2000**2 * matrix.count(pp.chain(2000)) <= 2**28
    assert matrix.count(pp.chain(2000)) >= 1


# -- timing ----------------------------------------------------------------------------


def test_times_are_per_unit_of_work_and_ratios_within_rounds(monkeypatch):
    """A clock of our own: rounds get slower, by the same for all; a ratio does not notice."""
    clock, calls = [0.0], []

    def run(name, seconds):
        calls.append(name)
        clock[0] += seconds * (1.0 + len(calls) // 100)

    monkeypatch.setattr(timing.time, "process_time", lambda: clock[0])
    runs = {"fast": partial(run, "fast", 1e-3), "slow": partial(run, "slow", 4e-3)}
    found = timing.interleave(runs, {"fast": 10, "slow": 20}, rounds=5)
    assert found.seconds["fast"].shape == found.seconds["slow"].shape == (5,)
    assert found.best("fast") == pytest.approx(1e-4)
    assert found.best("slow") == pytest.approx(2e-4)
    assert found.ratio("slow", "fast") == pytest.approx(2.0)
    assert calls.count("fast") == 2 + 5 * 2  # 1 ms twice fills the 2 ms of a measurement
    assert calls.count("slow") == 2 + 5 * 1
