"""Real robots of example-robot-data, read by us and by Pinocchio, compared by dense operators."""

import xml.etree.ElementTree as ElementTree
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from peers import pinocchio_bridge
from peers.projected import BIAS, FORWARD, GRAVITY, INVERSE, MASS

import phipsi as pp
from phipsi.model.inertia import Placement

SHARED = "cmeel.prefix/share/example-robot-data/robots"
FOLDER = Path(str(distribution("example-robot-data").locate_file(SHARED)))
FILES = sorted(str(file.relative_to(FOLDER)) for file in FOLDER.rglob("*.urdf"))

# (file, base): arms, hands, wheels, legs; nothing chosen for being easy. * has mimic joints.
MACHINES = [
    ("ur_description/urdf/ur5_robot.urdf", "fixed"),
    ("panda_description/urdf/panda.urdf", "fixed"),  # *
    ("kinova_description/robots/kinova.urdf", "fixed"),
    ("z1_description/urdf/z1.urdf", "free"),  # its root link is called world
    ("baxter_description/urdf/baxter.urdf", "fixed"),  # *
    ("allegro_hand_description/urdf/allegro_left_hand.urdf", "fixed"),
    ("double_pendulum_description/urdf/double_pendulum_continuous.urdf", "free"),
    ("tiago_description/robots/tiago.urdf", "fixed"),  # continuous wheels
    ("pr2_description/urdf/pr2.urdf", "free"),  # *
    ("solo_description/robots/solo12.urdf", "free"),
    ("anymal_c_simple_description/urdf/anymal.urdf", "free"),
    ("hyq_description/robots/hyq_no_sensors.urdf", "free"),
    ("icub_description/robots/icub.urdf", "free"),
    ("human_description/robots/human.urdf", "free"),
    ("romeo_description/urdf/romeo_small.urdf", "free"),
    ("g1_description/urdf/g1_29dof_rev_1_0.urdf", "free"),
    ("talos_data/robots/talos_full_v2.urdf", "free"),  # *
    ("talos_data/robots/talos_full_v2.urdf", "fixed"),  # *
]

# Files no machine can be read from, and why.
REFUSED = {
    "ur_description/urdf/ur3.urdf": "<robot> has no <link>",
    "alex_description/urdf/alex_psyonic_hands.urdf": "mimics the unknown joint 'index_q1'",
}

STATES = 3


@cache
def read(file: str, base: str) -> tuple[pp.Model, pinocchio_bridge.PinMachine]:
    machine = pp.load(FOLDER / file, base=base)
    return machine, pinocchio_bridge.from_urdf(machine, FOLDER / file, base)


@pytest.fixture(params=MACHINES, ids=lambda entry: f"{Path(entry[0]).stem}-{entry[1]}")
def pair(request):
    return read(*request.param)


def states(machine: pp.Model, seed: int = 5):
    """Random configurations, and two random vectors of speeds' size for each."""
    rng = np.random.default_rng(seed)
    q = np.array([machine.random(rng) for _ in range(STATES)])
    return q, *rng.normal(size=(2, STATES, machine.nv))


def assert_close(ours: np.ndarray, theirs: list[np.ndarray], tolerance: float = 1e-9) -> None:
    """Relative to the largest entry of each state."""
    for x, y in zip(ours, theirs, strict=True):
        assert x.shape == y.shape
        assert np.abs(x - y).max() <= tolerance * np.abs(y).max()


def test_mass_matrix_agrees(pair):
    machine, peer = pair
    q, _, _ = states(machine)
    assert_close(pp.as_matrix(machine, MASS, q), [peer.mass_matrix(x) for x in q])


def test_bias_and_gravity_agree(pair):
    machine, peer = pair
    q, v, _ = states(machine)
    assert_close(pp.as_matrix(machine, BIAS, q, v), [peer.bias(*x) for x in zip(q, v, strict=True)])
    assert_close(pp.as_matrix(machine, GRAVITY, q), [peer.gravity(x) for x in q])


def test_inverse_dynamics_agrees(pair):
    machine, peer = pair
    q, v, a = states(machine)
    ours = pp.as_matrix(machine, INVERSE, q, v, vdot=a)
    assert_close(ours, [peer.inverse_dynamics(*x) for x in zip(q, v, a, strict=True)])


def test_forward_dynamics_agrees(pair):
    machine, peer = pair
    q, v, tau = states(machine)
    ours = pp.as_matrix(machine, FORWARD, q, v, force=tau)
    assert_close(ours, [peer.forward_dynamics(*x) for x in zip(q, v, tau, strict=True)])


@pytest.mark.parametrize(
    "file",
    [
        "panda_description/urdf/panda.urdf",
        "baxter_description/urdf/baxter.urdf",
        "pr2_description/urdf/pr2.urdf",
        "tiago_pro_description/robots/tiago_pro.urdf",
    ],
)
def test_mimic_joints_agree_with_pinocchios_own(file):
    """Not projected by the bridge: Pinocchio reads the <mimic> elements itself."""
    machine = pp.load(FOLDER / file)
    peer = pinocchio_bridge.from_urdf(machine, FOLDER / file, mimic=True)
    assert any(joint.mimic for joint in machine.joints)
    assert machine.nv == peer.model.nv
    q, v, a = states(machine)
    assert_close(pp.as_matrix(machine, MASS, q), [peer.mass_matrix(x) for x in q])
    ours = pp.as_matrix(machine, INVERSE, q, v, vdot=a)
    assert_close(ours, [peer.inverse_dynamics(*x) for x in zip(q, v, a, strict=True)])


@pytest.mark.parametrize("file", FILES)
def test_every_file_loads_or_is_refused_for_its_reason(file):
    """Kinematics of every link, and every gram, on all files that hold a machine."""
    for base in ("fixed", "free"):
        if file in REFUSED:
            with pytest.raises(pp.ModelError, match=REFUSED[file]):
                pp.load(FOLDER / file, base=base)
            if "mimic" not in REFUSED[file]:
                return
        machine = pp.load(FOLDER / file, base=base, mimic="independent")
        peer = pinocchio_bridge.from_urdf(machine, FOLDER / file, base)
        check_frames(machine, peer)
        check_mass(machine, peer, FOLDER / file, base)


def check_frames(machine: pp.Model, peer: pinocchio_bridge.PinMachine) -> None:
    """Every link sits where Pinocchio has it."""
    q = machine.random(np.random.default_rng(7))
    bodies = body_poses(machine, q)
    frames = {body.name: pose for body, pose in zip(machine.bodies, bodies, strict=True)}
    for frame in machine.frames:
        carrier = np.eye(4) if frame.body < 0 else bodies[frame.body]
        frames[frame.name] = carrier @ frame.placement.matrix
    theirs = peer.frame_poses(q)
    if "world" in theirs:
        theirs["world_link" if "world_link" in frames else "world"] = theirs.pop("world")
        frames.setdefault("world", np.eye(4))
    assert set(theirs) <= set(frames)
    for name, pose in theirs.items():
        np.testing.assert_allclose(frames[name], pose, rtol=0, atol=1e-10, err_msg=name)


def body_poses(machine: pp.Model, q: np.ndarray) -> list[np.ndarray]:
    """Each body's frame in the world, 4 x 4: parent, joint frame, joint."""
    poses: list[np.ndarray] = []
    for body, joint in zip(machine.bodies, machine.joints, strict=True):
        carrier = np.eye(4) if body.parent < 0 else poses[body.parent]
        own = Placement.of(*joint.kind.transform(list(q[joint.q]))).matrix
        poses.append(carrier @ joint.placement.matrix @ own)
    return poses


def check_mass(machine: pp.Model, peer: pinocchio_bridge.PinMachine, file: Path, base: str) -> None:
    """Every <mass> counts, also of the root; Pinocchio leaves out what is welded to the world."""
    tree = ElementTree.parse(file)
    written = sum(float(mass.get("value")) for mass in tree.iterfind("link/inertial/mass"))
    assert machine.mass == pytest.approx(written, rel=1e-12)
    assert machine.moving_mass == pytest.approx(pin.computeTotalMass(peer.model), rel=1e-12)
    if base == "free":
        assert machine.moving_mass == pytest.approx(written, rel=1e-12)


def test_the_collection_is_whole():
    assert len(FILES) >= 69
    assert set(REFUSED) <= set(FILES)
