"""Small URDF files in text, for the tests that read them."""

from pathlib import Path

import phipsi as pp
from phipsi.model.files.load import load

SOLID = """<inertial><mass value="2"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>"""


def read_text(folder: Path, body: str, **options) -> pp.Model:
    """Load <robot name="trial"> with that body, which begins in line 2 of trial.urdf."""
    file = folder / "trial.urdf"
    file.write_text(f'<robot name="trial">\n{body}\n</robot>\n')
    return load(file, **options)


def link(name: str, inside: str = SOLID) -> str:
    """A <link>, by default of 2 kg."""
    return f'<link name="{name}">{inside}</link>\n'


def joint(name: str, parent: str, child: str, inside: str = "", type: str = "revolute") -> str:
    """A <joint> between two links."""
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{type}">{ends}{inside}</joint>\n'


def arm(inside: str = "", type: str = "revolute") -> str:
    """A base and one link on a joint under test."""
    return link("base") + link("tip") + joint("j", "base", "tip", inside, type)


FINGERS = link("palm") + link("a") + link("b") + link("c") + joint("ja", "palm", "a")
FINGERS += joint("jb", "palm", "b", '<mimic joint="jc" multiplier="2" offset="0.5"/>')
FINGERS += joint("jc", "palm", "c", '<mimic joint="ja" multiplier="-3" offset="0.1"/>')
