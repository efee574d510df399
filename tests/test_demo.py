"""The demo turns the spacecraft over, without a display; what it claims holds."""

import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from commands import as_users, call, run
from numpy.testing import assert_allclose

import phipsi as pp
from phipsi.cli import demo, maneuver
from phipsi.cli.maneuver import balance_of, swing_arms, target
from phipsi.cli.timing import Times
from phipsi.simulate.trajectory import Trajectory

ROOT = Path(__file__).parents[1]
GROWTH = ROOT / "benchmarks" / "growth.py"


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What a user sees, and the folder that is left."""
    folder = tmp_path_factory.mktemp("demo")
    return run(folder, "demo"), folder / "demo"


def test_demo_shows_equation_sweeps_code_and_motion(shown):
    (code, out, err), _ = shown
    assert (code, err) == (0, "")
    assert "accelerations = (H @ phi @ M @ phi.T @ H.T + Jm).inv @ (T - C)" in out
    assert out.count("for k base_to_tip:") == 2 and out.count("for k tip_to_base:") == 1
    assert re.search(r"size +[\d,]+ operations, [\d,]+ flops, 12 sines", out)
    assert len(re.findall(r"us each, [\d.,]+ times as fast as the same loops in Python", out)) == 2
    assert "phipsi simulate robot.urdf --html run.html" in out


@pytest.mark.parametrize("states", [(), (5,)])
def test_demo_compares_what_gives_the_same_numbers(monkeypatch, states):
    """By a clock of our own: 2 us of the code and 0.1 ms of the loops, for each state."""
    model, counted = pp.examples.spacecraft(), {}
    rng = np.random.default_rng(0)
    q = np.broadcast_to(model.random(rng), (*states, model.nq))
    v, tau = rng.normal(size=(2, *states, model.nv))

    def interleave(runs, work):
        counted.update(work)
        assert_allclose(runs["code"](), runs["loops"](), rtol=1e-9, atol=1e-9)
        return Times({"code": np.array([2e-6, 3e-6]), "loops": np.array([1e-4, 1.5e-4])}, 1.0)

    monkeypatch.setattr(demo, "interleave", interleave)
    function = pp.compile(model, demo.EQUATION, backend="llvm")
    said = demo._compare(function, q, v, tau)
    assert said == "2 us each, 50 times as fast as the same loops in Python"
    assert counted == dict.fromkeys(["code", "loops"], math.prod(states))


def test_demo_claims_what_holds(shown):
    """The arms return, the bus has made half a turn; momentum and energy to the last digits."""
    (_, out, _), _ = shown
    astray = re.search(r"back where they began, to (\S+) rad", out).group(1)
    turned = re.search(r"turned by (\S+) degrees", out).group(1)
    angular, linear = re.search(r"never above (\S+) N m s and (\S+) N s", out).groups()
    missing = re.search(r"work of the\s+motors by (\S+) J", out).group(1)
    assert float(astray) < 1e-6
    assert_allclose(float(turned), 180.0, atol=0.5)
    assert max(map(float, (angular, linear, missing))) < 1e-10


def test_demo_leaves_picture_page_and_data(shown):
    (_, out, _), folder = shown
    drawings = {"mass.svg", "inverse.svg", "sweeps.svg"}
    files = {"motion.html", "motion.npz", "motion.png", *drawings}
    assert {file.name for file in folder.iterdir()} == files
    assert all(str(Path("demo") / name) in out for name in files)
    assert (folder / "motion.png").read_bytes().startswith(b"\x89PNG")
    titles = {name: ET.parse(folder / name).getroot().get("aria-label") for name in drawings}
    assert titles == {
        "mass.svg": "ℳ of two-arm spacecraft: 23 of 49 blocks are nonzero",
        "inverse.svg": "ℳ⁻¹ of two-arm spacecraft: 49 of 49 blocks are nonzero",
        "sweeps.svg": "(H φ M φ* H* + J_m)⁻¹ (T − C): 3 sweeps over the bodies",
    }
    assert "<title>two-arm spacecraft</title>" in (folder / "motion.html").read_text()
    motion = Trajectory.load(folder / "motion.npz", pp.examples.spacecraft())
    assert motion.times[-1] == 20.0
    quaternion, arms = motion.q[-1, :4], motion.q[-1, 7:]
    assert_allclose(np.abs(quaternion), [1.0, 0.0, 0.0, 0.0], atol=5e-3)  # over, about x
    assert_allclose(arms, 0.0, atol=1e-6)


def test_interrupted_demo_ends_as_such(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    part = Trajectory(pp.examples.spacecraft(), [0.0], np.zeros((1, 13)), np.zeros((1, 12)))
    object.__setattr__(part, "complete", False)
    monkeypatch.setattr(demo, "swing_arms", lambda: part)
    monkeypatch.setattr(demo, "_show_speed", lambda *_: None)
    ended = call(capsys, "demo", "--out", "there")
    assert (ended.code, ended.err) == (130, "interrupted\n")
    assert list((tmp_path / "there").iterdir()) == []


def test_arms_go_from_rest_to_rest_on_a_circle():
    times = np.linspace(0.0, 20.0, 4001)
    targets = np.array([target(t) for t in times])
    rates = np.gradient(targets, times, axis=0)
    for t in (0, -1):
        assert_allclose(targets[t], 0.0, atol=1e-15)
        assert_allclose(rates[t], 0.0, atol=1e-3)
    middle = (times > 2.0) & (times < 16.0)
    assert_allclose(np.hypot(targets[middle, 0], targets[middle, 1]), maneuver.ANGLE, rtol=1e-12)
    assert_allclose(targets[:, :3], targets[:, 3:])  # both arms alike
    assert_allclose(targets[:, [2, 5]], 0.0)


def test_balance_notices_what_is_missing():
    """A motion with a push from outside, and with work that nobody did."""
    motion = swing_arms(4.0)
    kept = balance_of(motion)
    assert max(kept.angular, kept.linear, kept.missing) < 1e-10
    assert 0.0 < kept.turned < 60.0 and kept.carried > 10.0
    pushed = np.array(motion.v)
    pushed[:, 5] += 1e-3
    found = balance_of(Trajectory(motion.model, motion.times, motion.q, pushed, motion.tau))
    assert found.linear == pytest.approx(0.44, rel=0.1)  # 440 kg at 1 mm/s
    weak = Trajectory(motion.model, motion.times, motion.q, motion.v, 0.9 * motion.tau)
    assert balance_of(weak).missing > 1.0


def test_every_body_of_the_spacecraft_has_looks():
    model = pp.examples.spacecraft()
    assert {visual.body for visual in model.visuals} == set(range(7))


def test_command_is_named_as_the_user_can_call_it(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: "/usr/bin/phipsi")
    assert demo.command_name(".venv/bin/phipsi") == ".venv/bin/phipsi"
    assert demo.command_name("/usr/bin/phipsi") == "phipsi"
    assert demo.command_name("/site-packages/phipsi/__main__.py") == "phipsi"
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert demo.command_name("/opt/bin/phipsi") == "/opt/bin/phipsi"


def test_growth_is_printed_per_body_beside_the_peer(tmp_path):
    command = [sys.executable, str(GROWTH), "100"]
    result = subprocess.run(command, cwd=tmp_path, env=as_users(), capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    head, row = result.stdout.splitlines()
    assert head.split()[-3:] == ["Pinocchio", "us", "ours/theirs"]
    numbers = [float(word) for word in row.split()]
    assert len(numbers) == 7 and numbers[0] == 100 and min(numbers) > 0.0
