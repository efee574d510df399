"""The programs in examples/: short, and each does what it says."""

import re
import runpy
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from commands import as_users

FOLDER = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(FOLDER.glob("*.py"))
LONGEST = 60  # lines


def run(folder: Path, name: str) -> str:
    """What a program prints; it must end well and complain about nothing."""
    command = [sys.executable, str(FOLDER / name)]
    done = subprocess.run(command, cwd=folder, env=as_users(), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    for named in re.findall(r"\w+\.(?:png|html)", done.stdout):
        assert (folder / named).stat().st_size > 10_000
    return done.stdout


def found(pattern: str, text: str) -> list[float]:
    """The numbers that a line states."""
    match = re.search(pattern, text, re.MULTILINE)
    assert match, text
    return [float(x.replace(",", "")) for x in match.groups()]


def test_there_are_seven_of_them_and_each_is_tested_here():
    names = [script.name for script in SCRIPTS]
    assert [name[:3] for name in names] == [f"0{k}_" for k in range(1, 8)]
    assert all(f'"{name}"' in Path(__file__).read_text() for name in names)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_script_is_short_and_says_how_to_run_it(script):
    text = script.read_text()
    assert len(text.splitlines()) < LONGEST
    assert f"python examples/{script.name}" in text


def test_first_steps(tmp_path):
    """Two rods of 1 m at 0.3 and 1.2 rad: holding takes m g (3/2 cos + 1/2 cos) and m g/2 cos."""
    out = run(tmp_path, "01_first_steps.py")
    assert found(r"to hold it: +\[(\S+) +(\S+)\]", out) == [15.835, 1.777]
    assert found(r"held, it rests: +\[ *(\S+) +(\S+)\]", out) == [0.0, 0.0]
    assert found(r"keeps its energy to (\S+) J", out)[0] < 1e-6
    assert "lifted to [0.3 0.9] and back at [0.3 0.9]" in out
    assert (tmp_path / "first_steps.png").exists()


def test_million_states(tmp_path):
    out = run(tmp_path, "02_million_states.py")
    assert found(r"the torques come back to (\S+) N m", out)[0] < 1e-10
    assert "the same bits alone as in the batch: True" in out
    assert "(1000, 1000, 6)" in out and "(10000, 6)" in out


def test_your_own_expression(tmp_path):
    out = run(tmp_path, "03_your_own_expression.py")
    assert "Did you mean H.T?" in out
    assert found(r"their product is one, to (\S+)$", out)[0] < 1e-10
    assert found(r"log det Mass = (\S+)$", out) == found(r"log det D +=\s(\S+),", out)
    assert found(r"as pp.forward_dynamics, to (\S+) rad", out)[0] < 1e-9
    twice, product = found(r"kinetic energy (\S+) is v\* \(Mass v\) = (\S+)$", out)
    assert twice == product


def test_real_robot(tmp_path):
    out = run(tmp_path, "04_real_robot.py")
    assert out.startswith("<Model 'panda'")
    assert found(r"off its target by (\S+)$", out)[0] < 1e-2
    assert (tmp_path / "real_robot.html").exists()


def test_real_robot_without_the_package_of_robots(as_for_users, tmp_path, monkeypatch, capsys):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["04_real_robot.py"])
    monkeypatch.setattr("importlib.metadata.distribution", missing)
    runpy.run_path(str(FOLDER / "04_real_robot.py"))
    out = capsys.readouterr().out
    assert out.startswith("For real robots: pip install example-robot-data.")
    assert "<Model 'Puma 560'" in out


def test_energy_preserving(tmp_path):
    """Implicit midpoint keeps the energy below 1e-6 over 100 s, also with the longer step."""
    out = run(tmp_path, "05_energy_preserving.py")
    drifts = {
        (name, int(step)): float(drift)
        for name, step, drift in re.findall(r"^(\w+) +(\d) ms +(\S+) ", out, re.MULTILINE)
    }
    assert len(drifts) == 6
    assert max(drifts["midpoint", 1], drifts["midpoint", 4]) < 1e-6
    assert drifts["rk4", 4] > 10.0 * drifts["rk4", 1] > 10.0 * drifts["midpoint", 1]


def test_optimal_control(tmp_path):
    """The plan stays within the limits, and holds in a simulation of its own."""
    pytest.importorskip("casadi")
    out = run(tmp_path, "06_optimal_control.py")
    assert found(r"solved in (\d+) iterations", out)[0] < 300
    given = found(r"at most \[(\S+) (\S+)\] of \[(\S+) (\S+)\] N m", out)
    assert given[0] <= given[2] and given[1] <= given[3]
    assert found(r"ends (\S+) degrees from upright", out)[0] < 1.0
    assert (tmp_path / "optimal_control.png").exists()


def test_derive_and_explain(tmp_path):
    """The printed form of Omega holds on a chain, and not on a tree."""
    out = run(tmp_path, "07_derive_and_explain.py")
    assert "= B.T @ psi.T @ H.T @ D.inv @ H @ psi @ B" in out
    assert found(r"holds on random machines: True, to (\S+)$", out)[0] < 1e-9
    assert found(r"it is what was typed, to (\S+)$", out)[0] < 1e-9
    assert "Level 4: the sweeps" in out
    assert found(r"on chain of 4: off by (\S+)$", out)[0] < 1e-9
    assert found(r"on branching tree: off by (\S+)$", out)[0] > 1e-5
    assert (tmp_path / "derive_and_explain.svg").read_text().startswith("<svg")
