"""The command `phipsi` in tests: called as a function, as a process, and on a fake terminal."""

import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from phipsi.cli import main

GRIPPER = """
<robot name="gripper">
  <link name="stand"><inertial><mass value="5"/><origin xyz="0 0 -1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="arm"><inertial><mass value="1"/><origin xyz="0.5 0 0"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size="2 2 2"/></geometry></visual></link>
  <link name="left"><inertial><mass value="0.1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"><inertial><mass value="0.1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.9" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="continuous"><parent link="stand"/><child link="arm"/>
    <axis xyz="0 1 0"/><dynamics damping="0.2"/></joint>
  <joint name="finger" type="prismatic"><parent link="arm"/><child link="left"/>
    <limit lower="0.02" upper="0.1" effort="7" velocity="1"/></joint>
  <joint name="other finger" type="prismatic"><parent link="arm"/><child link="right"/>
    <limit lower="0" upper="0.1" effort="7" velocity="1"/>
    <mimic joint="finger" multiplier="-1" offset="0.5"/></joint>
</robot>
"""


_BAR = """
    <link name="{name}"><pose>{pose}</pose><inertial><mass>1</mass>
      <inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial></link>"""
_HINGE = """
    <joint name="{name}" type="revolute"><parent>{parent}</parent><child>{child}</child>
      <pose>{pose}</pose><axis><xyz>0 0 1</xyz></axis></joint>"""

# A parallelogram: a crank and a rocker on the world, a coupler on the crank, and the loop.
FOUR_BAR = f"""
<sdf version="1.7">
  <model name="four bar">{_BAR.format(name="crank", pose="0 0 0 0 0 0")}\
{_BAR.format(name="coupler", pose="0 1 0 0 0 0")}\
{_BAR.format(name="rocker", pose="2 0 0 0 0 0")}\
{_HINGE.format(name="at crank", parent="world", child="crank", pose="0 0 0 0 0 0")}\
{_HINGE.format(name="at rocker", parent="world", child="rocker", pose="0 0 0 0 0 0")}\
{_HINGE.format(name="at coupler", parent="crank", child="coupler", pose="0 0 0 0 0 0")}\
{_HINGE.format(name="loop", parent="coupler", child="rocker", pose="0 1 0 0 0 0")}
  </model>
</sdf>
"""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


def call(capsys, *words: object) -> Ended:
    """The command in this process."""
    capsys.readouterr()
    code = main([str(word) for word in words])
    return Ended(code, *capsys.readouterr())


def as_users() -> dict[str, str]:
    """The environment without what tests put there."""
    return {name: x for name, x in os.environ.items() if name not in ("PHIPSI_BACKEND", "COLUMNS")}


def run(folder: Path, *words: object, **options) -> Ended:
    """The command as a process of its own."""
    command = [sys.executable, "-m", "phipsi", *map(str, words)]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    done = subprocess.run(command, cwd=folder, env=as_users(), text=True, **options)
    return Ended(done.returncode, done.stdout, done.stderr)


def run_on_terminal(folder: Path, *words: object) -> Ended:
    """The command on a fake terminal, which shows both of its streams."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "phipsi", *map(str, words)]
    environment = {**as_users(), "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=slave, stderr=slave)
    os.close(slave)
    shown = b""
    while True:
        if select.select([master], [], [], 0.1)[0]:
            try:
                part = os.read(master, 65536)
            except OSError:  # what Linux says at the end of a terminal
                break
            if not part:
                break
            shown += part
    os.close(master)
    return Ended(process.wait(), shown.decode(), "")


def facts_of(out: str) -> dict[str, str]:
    """The lines of names and what is said about them, up to the first empty line."""
    head = out.split("\n\n")[0].splitlines()[1:]
    return dict(re.split(r"\s{2,}", line, maxsplit=1) for line in head)
