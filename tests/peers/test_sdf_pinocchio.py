"""SDF beside Pinocchio, which reads none here: its own reading of URDF files, told again in SDF.

Each robot is written as SDF twice: with every pose relative to the joint or link before it, as
newer versions allow, and with every link placed in the model, as older ones demand. Cassie, whose
loops no URDF can tell, is compared with the numbers of its files.
"""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from peers import pinocchio_bridge
from peers.robots import FOLDER
from sdf_text import Truth, anchors, assert_is_the_file, homogeneous, turn, world_poses, write

import phipsi as pp
from phipsi.model.files.load import load

ROBOTS = [
    "kinova_description/robots/kinova.urdf",
    "solo_description/robots/solo12.urdf",
    "panda_description/urdf/panda.urdf",
    "anymal_b_simple_description/robots/anymal.urdf",
    "talos_data/robots/talos_reduced.urdf",
    "double_pendulum_description/urdf/double_pendulum.urdf",
]
MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


# -- URDF told in SDF ------------------------------------------------------------------


def numbers(element, attribute: str, default: str = "0 0 0") -> str:
    return default if element is None else element.get(attribute, default)


def origin(element) -> tuple[str, np.ndarray]:
    """The <origin> as text and as a matrix."""
    part = element.find("origin")
    xyz, rpy = numbers(part, "xyz"), numbers(part, "rpy")
    values = [float(x) for x in f"{xyz} {rpy}".split()]
    return f"{xyz} {rpy}", homogeneous(turn(*values[3:]), values[:3])


def six(matrix: np.ndarray) -> str:
    """A matrix as x y z and a quaternion, by Pinocchio."""
    return " ".join(repr(float(x)) for x in pin.SE3ToXYZQUAT(pin.SE3(matrix)))


def inertial(link) -> str:
    part = link.find("inertial")
    if part is None:  # no mass, where SDF would have a kilogram
        zero = "".join(f"<{name}>0</{name}>" for name in MOMENTS)
        return f"<inertial><mass>0</mass><inertia>{zero}</inertia></inertial>"
    moments = "".join(f"<{n}>{part.find('inertia').get(n)}</{n}>" for n in MOMENTS)
    mass = part.find("mass").get("value")
    text = f"<pose>{origin(part)[0]}</pose><mass>{mass}</mass><inertia>{moments}</inertia>"
    return f"<inertial>{text}</inertial>"


def axis(joint) -> str:
    if joint.get("type") == "fixed":
        return ""
    limit, mimic = joint.find("limit"), joint.find("mimic")
    text = f"<xyz>{numbers(joint.find('axis'), 'xyz', '1 0 0')}</xyz>"
    if limit is not None and joint.get("type") != "continuous":
        ends = (f"<{end}>{limit.get(end, '0')}</{end}>" for end in ("lower", "upper"))
        text += f"<limit>{''.join(ends)}</limit>"
    if mimic is not None:
        text += f"<mimic joint='{mimic.get('joint')}'><multiplier>{mimic.get('multiplier', 1)}"
        text += f"</multiplier><offset>{mimic.get('offset', 0)}</offset></mimic>"
    return f"<axis>{text}</axis>"


def as_sdf(file: Path, relative: bool, base: str) -> tuple[str, str]:
    """A URDF file as an SDF model, and its version."""
    robot = ElementTree.parse(file).getroot()
    links = {link.get("name"): link for link in robot.findall("link")}
    joints = {joint.get("name"): joint for joint in robot.findall("joint")}
    carrier = {joint.find("child").get("link"): joint for joint in joints.values()}
    root = next(name for name in links if name not in carrier)

    def placed(name: str) -> np.ndarray:
        if name == root:
            return np.eye(4)
        joint = carrier[name]
        return placed(joint.find("parent").get("link")) @ origin(joint)[1]

    text = ""
    for name, link in links.items():
        pose = f"<pose rotation_format='quat_xyzw'>{six(placed(name))}</pose>"
        if relative:
            pose = "" if name == root else f"<pose relative_to='{carrier[name].get('name')}'/>"
        text += f"<link name='{name}'>{pose}{inertial(link)}</link>\n"
    for name, joint in joints.items():
        parent, child = (joint.find(tag).get("link") for tag in ("parent", "child"))
        pose = f"<pose relative_to='{parent}'>{origin(joint)[0]}</pose>" if relative else ""
        ends = f"<parent>{parent}</parent><child>{child}</child>"
        text += (
            f"<joint name='{name}' type='{joint.get('type')}'>{ends}{pose}{axis(joint)}</joint>\n"
        )
    if base == "fixed":
        text += (
            f"<joint name='ground' type='fixed'><parent>world</parent><child>{root}</child></joint>"
        )
    return f"<model name='{robot.get('name')}'>{text}</model>", "1.11" if relative else "1.6"


@pytest.mark.parametrize("relative", [True, False], ids=["relative", "absolute"])
@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("robot", ROBOTS, ids=lambda file: Path(file).stem)
def test_dynamics_agree_with_pinocchios_reading_of_the_urdf(tmp_path, robot, base, relative):
    file = FOLDER / robot
    machine = load(write(tmp_path, *as_sdf(file, relative, base)))
    peer = pinocchio_bridge.from_urdf(machine, file, base)
    rng = np.random.default_rng(5)
    for _ in range(4):
        q, v, vdot = machine.random(rng), *rng.normal(size=(2, machine.nv))
        theirs = peer.mass_matrix(q)
        scale = np.abs(theirs).max()
        np.testing.assert_allclose(pp.mass_matrix(machine, q), theirs, atol=1e-9 * scale)
        forces = peer.inverse_dynamics(q, v, vdot)
        ours = pp.inverse_dynamics(machine, q, v, vdot)
        np.testing.assert_allclose(ours, forces, atol=1e-9 * np.abs(forces).max())
        poses = world_poses(machine, q)
        for name, pose in peer.frame_poses(q).items():
            np.testing.assert_allclose(poses[name], pose, atol=1e-9)


# -- Cassie ----------------------------------------------------------------------------

CASSIE = sorted((FOLDER / "cassie_description/robots").glob("*.sdf"))
LOOPS = {
    "cassie": 6,
    "cassie_reduced": 4,
    "cassie_simple": 4,
    "cassie_v2": 4,
    "cassie_wo_gearbox_spring": 4,
}


@pytest.mark.parametrize("file", CASSIE, ids=lambda file: file.stem)
def test_cassie_is_what_its_file_says(file):
    """Masses, inertias, poses, every joint's motion, both frames of every closure."""
    machine = load(file)
    assert_is_the_file(machine, file)
    assert len(machine.closures) == LOOPS[file.stem]
    truth = Truth(file)
    assert len(machine.joints) + len(machine.closures) == sum(
        element.get("type") not in ("gearbox", "fixed") for element in truth.joints.values()
    ) + sum(each.name == "root" for each in machine.joints)
    for first, second in anchors(machine).values():
        np.testing.assert_allclose(first, second, atol=1e-14)


def test_the_four_loops_of_cassie():
    machine = load(next(file for file in CASSIE if file.stem == "cassie_v2"), strict=True)
    assert (machine.nq, machine.nv, len(machine.bodies)) == (29, 28, 23)
    loops = {each.name: (each.first.link, each.second.link) for each in machine.closures}
    assert loops == {
        f"{side}-{name}": (f"{side}-{first}", f"{side}-{second}")
        for side in ("left", "right")
        for name, first, second in (
            ("pitch-rod-joint", "achilles-rod", "hip-pitch"),
            ("plantar-foot-joint", "plantar-rod", "foot"),
        )
    }
    assert all(each.equations == 3 for each in machine.closures)
    assert machine.is_closed and not machine.opened().is_closed
    told = "has no axis for <dynamics> to act about"  # of two balls, which have damping there
    assert [told in remark for remark in machine.report.remarks] == [True, True]


def test_the_gearboxes_of_cassie_turn_their_joints_with_the_motors():
    """theta_2 = -ratio theta_1, about one axis: hip roll goes back at 1/25 of the motor."""
    machine = load(next(file for file in CASSIE if file.stem == "cassie"))
    found = {
        each.name: (machine.joints[each.mimic.source].name, each.mimic.ratio)
        for each in machine.joints
        if each.mimic is not None
    }
    assert len(found) == 10
    assert found["left-roll-op"] == ("left-roll-ip", -0.04)
    assert found["right-pitch-op"] == ("right-pitch-ip", -0.0625)


@pytest.mark.parametrize("file", CASSIE, ids=lambda file: file.stem)
def test_the_tree_of_cassie_moves_as_pinocchio_has_it(file):
    """The opened tree, its parameters already known to be the file's."""
    machine = load(file).opened()
    peer = pinocchio_bridge.from_model(machine)
    rng = np.random.default_rng(2)
    q, v, vdot = machine.random(rng), *rng.normal(size=(2, machine.nv))
    np.testing.assert_allclose(pp.mass_matrix(machine, q), peer.mass_matrix(q), atol=1e-9)
    forces = peer.inverse_dynamics(q, v, vdot)
    np.testing.assert_allclose(
        pp.inverse_dynamics(machine, q, v, vdot), forces, atol=1e-10 * np.abs(forces).max()
    )
