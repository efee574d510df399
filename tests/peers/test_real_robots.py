"""Every URDF file of example-robot-data, read by us and by Pinocchio, on fixed and on free base.

Joints are matched by name. Pinocchio lets mimic joints move on their own; its answers are projected
by the dense S of the machine that enforces them.
"""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from peers import pinocchio_bridge
from peers.robots import EMPTY, FILES, FOLDER, REFUSED, read

import phipsi as pp

# Machines with joints that move no mass: forward dynamics has no answer, and says which joint.
SINGULAR = {
    "romeo_description/urdf/romeo.urdf": "is singular at this configuration",
    "romeo_description/urdf/romeo_laas_small.urdf": "D of joint 'r_gripper_joint' vanishes",
}

STATES = 20


@pytest.fixture(params=["fixed", "free"])
def base(request):
    return request.param


@pytest.fixture(params=[file for file in FILES if file != EMPTY], ids=lambda file: Path(file).stem)
def pair(request, base):
    return request.param, *read(request.param, base)


def states(machine: pp.Model, seed: int = 5):
    """Random configurations, and two random vectors of speeds' size for each."""
    rng = np.random.default_rng(seed)
    q = np.array([machine.random(rng) for _ in range(STATES)])
    return q.reshape(STATES, machine.nq), *rng.normal(size=(2, STATES, machine.nv))


def assert_close(ours, theirs, scale=0.0, tolerance=1e-9):
    """Relative to the largest entry of each state, or to a given scale where that is larger."""
    theirs = np.array(theirs)
    assert ours.shape == theirs.shape
    entries = tuple(range(1, theirs.ndim))
    largest = np.maximum(np.abs(theirs).max(axis=entries, initial=0.0), scale)
    assert (np.abs(ours - theirs).max(axis=entries, initial=0.0) <= tolerance * largest).all()


def test_dynamics_agree_with_pinocchio(pair):
    """Mass matrix, bias, inverse and forward dynamics."""
    file, machine, peer = pair
    q, v, u = states(machine)
    assert_close(pp.mass_matrix(machine, q), [peer.mass_matrix(x) for x in q])
    forces = pp.inverse_dynamics(machine, q, v, u)
    assert_close(forces, [peer.inverse_dynamics(*x) for x in zip(q, v, u, strict=True)])
    # The bias of a balanced propeller is zero: what it is made of is as large as other forces.
    bias = pp.bias_force(machine, q, v)
    scale = 1e-3 * np.abs(forces).max(initial=0.0)
    assert_close(bias, [peer.bias(*x) for x in zip(q, v, strict=True)], scale)
    assert_close(pp.gravity_force(machine, q), [peer.gravity(x) for x in q], scale)
    if file in SINGULAR:
        with pytest.raises(pp.SolveError, match=SINGULAR[file]):
            pp.forward_dynamics(machine, q, v, u)
        return
    theirs = [peer.forward_dynamics(*x) for x in zip(q, v, u, strict=True)]
    assert_close(pp.forward_dynamics(machine, q, v, u), theirs)


def test_frames_and_masses_agree_with_pinocchio(pair, base):
    """Kinematics of every link, and every gram."""
    file, machine, peer = pair
    check_frames(machine, peer)
    check_mass(machine, peer, FOLDER / file, base)


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
    q, v, u = states(machine)
    assert_close(pp.mass_matrix(machine, q), [peer.mass_matrix(x) for x in q])
    ours = pp.inverse_dynamics(machine, q, v, u)
    assert_close(ours, [peer.inverse_dynamics(*x) for x in zip(q, v, u, strict=True)])


@pytest.mark.parametrize("file", REFUSED)
def test_broken_files_are_refused_for_their_reason(file, base):
    with pytest.raises(pp.ModelError, match=REFUSED[file]):
        pp.load(FOLDER / file, base=base)


def check_frames(machine: pp.Model, peer: pinocchio_bridge.PinMachine) -> None:
    """Every link sits where Pinocchio has it."""
    q, _, _ = states(machine, seed=7)
    of_bodies = pp.body_poses(machine, q)
    frames = {body.name: of_bodies[:, k] for k, body in enumerate(machine.bodies)}
    for frame in machine.frames:
        carrier = np.eye(4) if frame.body < 0 else of_bodies[:, frame.body]
        frames[frame.name] = np.broadcast_to(carrier @ frame.placement.matrix, (STATES, 4, 4))
    for k, x in enumerate(q):
        theirs = peer.frame_poses(x)
        if "world" in theirs:
            theirs["world_link" if "world_link" in frames else "world"] = theirs.pop("world")
            frames.setdefault("world", np.broadcast_to(np.eye(4), (STATES, 4, 4)))
        assert set(theirs) <= set(frames)
        for name, pose in theirs.items():
            np.testing.assert_allclose(frames[name][k], pose, rtol=0, atol=1e-9, err_msg=name)


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
    assert {*REFUSED, *SINGULAR} <= set(FILES)
