"""The demo runs, on its own machine and on a file, without a display; so does the benchmark."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "examples" / "00_ground.py"
GROWTH = ROOT / "benchmarks" / "growth.py"

GRIPPER = """
<robot name="gripper">
  <link name="stand"/>
  <link name="arm"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="left"><inertial><mass value="0.1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"><inertial><mass value="0.1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="continuous"><parent link="stand"/><child link="arm"/></joint>
  <joint name="finger" type="prismatic"><parent link="arm"/><child link="left"/>
    <limit lower="0" upper="0.1" effort="1" velocity="1"/></joint>
  <joint name="other finger" type="prismatic"><parent link="arm"/><child link="right"/>
    <mimic joint="finger" multiplier="-1"/></joint>
</robot>
"""


def run(folder: Path, *arguments: str, script: Path = DEMO) -> subprocess.CompletedProcess:
    command = [sys.executable, str(script), *arguments]
    users = {name: x for name, x in os.environ.items() if name != "PHIPSI_BACKEND"}
    return subprocess.run(command, cwd=folder, env=users, capture_output=True, text=True)


@pytest.mark.parametrize("file", [None, "gripper.urdf"])
def test_demo_shows_a_machine_and_draws_its_operators(tmp_path, file):
    (tmp_path / "gripper.urdf").write_text(GRIPPER)
    result = run(tmp_path, *([file] if file else []))
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert "both factorizations agree" in result.stdout
    assert (tmp_path / "demo" / "operators.png").read_bytes().startswith(b"\x89PNG")


def test_demo_answers_a_missing_file_in_one_line(tmp_path):
    result = run(tmp_path, "missing.urdf")
    assert result.returncode == 1
    assert result.stderr.startswith("ModelError: missing.urdf: no such file")
    assert result.stderr.count("\n") == 1


def test_growth_is_printed_per_body_beside_the_peer(tmp_path):
    result = run(tmp_path, "100", script=GROWTH)
    assert result.returncode == 0, result.stderr
    head, row = result.stdout.splitlines()
    assert head.split()[-3:] == ["Pinocchio", "us", "ours/theirs"]
    numbers = [float(word) for word in row.split()]
    assert len(numbers) == 7 and numbers[0] == 100 and min(numbers) > 0.0
