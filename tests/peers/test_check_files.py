"""`phipsi check`: what peers are shown of a file, and which files they get."""

import os
from dataclasses import replace

import mujoco
import pytest
from checks import PENDULUM, QUANTITIES, checked, peer_of, verdicts
from commands import GRIPPER

import phipsi as pp
from phipsi.cli import check as command
from phipsi.cli.checking.bare_urdf import bare_urdf


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gripper.urdf").write_text(GRIPPER)
    (tmp_path / "pendulum.xml").write_text(PENDULUM)
    return tmp_path


# -- what MuJoCo is shown --------------------------------------------------------------


def test_mujoco_is_shown_links_and_joints_alone(folder):
    extra = '<mujoco><compiler boundmass="9"/></mujoco><gazebo/><material name="m"/></robot>'
    visual = '<visual><geometry><mesh filename="package://no/where.obj"/></geometry></visual>'
    text = GRIPPER.replace("</robot>", extra).replace("</link>", f"{visual}</link>", 1)
    nothing = '<mass value="0"/><inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/>'
    text = text.replace(
        "</robot>", f'<link name="dot"><inertial>{nothing}</inertial></link></robot>'
    )
    (folder / "gripper.urdf").write_text(text)
    shown = bare_urdf("gripper.urdf", {"arm": "upper arm"})
    for word in ("<visual", "mesh", "gazebo", "material", 'boundmass="9"', '"arm"'):
        assert word not in shown
    assert shown.count("<link ") == 5 and shown.count("<joint ") == 3
    assert shown.count("<inertial>") == 4  # what weighs nothing has none
    assert 'boundmass="0"' in shown and '<parent link="upper arm"' in shown


def test_attributes_that_nobody_knows_are_no_numbers(capsys, folder):
    """Of an inertia only those count that have to do with it."""
    text = GRIPPER.replace('izz="0.9"', 'izz="0.1"').replace(
        "</robot>",
        """
      <link name="dot"><inertial><mass value="0" note="none"/>
        <inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="weld" type="fixed"><parent link="arm"/><child link="dot"/></joint></robot>""",
    )
    (folder / "gripper.urdf").write_text(text.replace('value="1"', 'value="1" note="light"'))
    code, told = checked(capsys, "gripper.urdf", "--states", 2)
    assert code == 0
    assert peer_of(told, "MuJoCo")["reason"] is None


def test_namespace_of_a_file_hides_nothing(capsys, folder):
    text = GRIPPER.replace('izz="0.9"', 'izz="0.1"')
    text = text.replace("<robot ", '<robot xmlns="http://www.ros.org" xmlns:x="http://x.org" ')
    (folder / "gripper.urdf").write_text(text.replace("<link ", '<link x:note="a &lt; b" ', 1))
    for base in ("fixed", "free"):
        code, told = checked(capsys, "gripper.urdf", "--base", base, "--states", 2)
        assert code == 0
        for name in ("MuJoCo", "Pinocchio"):
            assert set(verdicts(peer_of(told, name)).values()) == {"agrees"}


# -- which files MuJoCo gets -----------------------------------------------------------

LOOKS = """
  <asset>
    <texture name="t" type="2d" file="pipe.png"/>
    <hfield name="h" file="pipe.png" size="1 1 1 1"/>
    <mesh name="m" file="{mesh}"/>
    <material name="s" texture="t"/>
  </asset>
  <include file="arms.xml"/>
"""
ARMS = """
<mujoco>
  <worldbody>
    <geom type="hfield" hfield="h"/>
    <body name="arm">
      <joint name="swing" axis="0 1 0"/>
      <inertial mass="1" pos="0.1 0 0" diaginertia="1 1 1"/>
      <geom type="mesh" mesh="m" material="s"/>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def piped(folder):
    """A machine whose texture is a pipe that nobody writes to: who opened it would hang."""
    os.mkfifo(folder / "pipe.png")
    (folder / "arms.xml").write_text(ARMS)
    text = LOOKS.format(mesh="pipe.png")
    (folder / "piped.xml").write_text(f'<mujoco model="piped">{text}</mujoco>')
    return folder


def test_mujoco_opens_no_file_by_itself(capsys, piped, monkeypatch):
    for way in ("from_xml_path", "from_xml_string"):
        monkeypatch.setattr(mujoco.MjModel, way, pytest.fail)
    code, told = checked(capsys, "piped.xml", "--states", 2)
    assert code == 0
    assert verdicts(peer_of(told, "MuJoCo")) == dict.fromkeys(QUANTITIES, "agrees")


def test_files_are_looked_for_and_bases_freed_as_the_machine_was_read(capsys, piped):
    """Of a file in another directory, and with a body that the file welds to the world."""
    (piped / "shared").mkdir()
    (piped / "arms.xml").rename(piped / "shared" / "arms.xml")
    welded = ARMS.replace('<joint name="swing" axis="0 1 0"/>', "")
    (piped / "shared" / "arms.xml").write_text(welded)
    words = ("piped.xml", "--packages", "shared", "--base", "free", "--states", 2)
    code, told = checked(capsys, *words)
    assert code == 0
    assert verdicts(peer_of(told, "MuJoCo")) == dict.fromkeys(QUANTITIES, "agrees")


def test_mjcf_that_was_read_otherwise_is_found(capsys, folder, monkeypatch):
    """MuJoCo's model is made anew from the file, and not of what we made of it."""

    def heavier(*_):
        model = pp.load("pendulum.xml")
        body = model.bodies[0]
        more = replace(body, inertia=replace(body.inertia, mass=1.001 * body.inertia.mass))
        return replace(model, bodies=(more, *model.bodies[1:]))

    monkeypatch.setattr(command, "read_machine", heavier)
    code, told = checked(capsys, "pendulum.xml", "--states", 2)
    assert code == 1
    assert verdicts(peer_of(told, "MuJoCo"))["inertias of bodies"] == "differs"


def test_mjcf_that_has_changed_since_it_was_read_is_told(capsys, folder, monkeypatch):
    model = pp.load("pendulum.xml")
    monkeypatch.setattr(command, "read_machine", lambda *_: model)
    (folder / "pendulum.xml").write_text(PENDULUM.replace('type="ball"', 'type="bal"'))
    told = checked(capsys, "pendulum.xml", "--states", 2)[1]
    reason = peer_of(told, "MuJoCo")["reason"]
    assert reason.startswith("it cannot read this file: pendulum.xml:")
