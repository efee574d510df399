"""Several robots in one world, beside Pinocchio's `appendModel`."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from peers import pinocchio_bridge
from peers.pinocchio_bridge import Match, PinMachine, convert, cos_sin
from peers.projected import BIAS, FORWARD, GRAVITY, INVERSE, MASS
from peers.robots import FOLDER

import phipsi as pp
from phipsi import joints, spatial

PANDA = "panda_description/urdf/panda.urdf"
SOLO = "solo_description/robots/solo12.urdf"
KINOVA = "kinova_description/robots/kinova.urdf"
TALOS = "talos_data/robots/talos_full_v2.urdf"

PLACE = {"position": (0.2, -0.1, 0.3), "rotation": spatial.rotation_from_rpy((0.4, -0.3, 1.1))}

# The lower robot, its base, the frame that carries the upper one, the upper one.
STACKS = {
    "Panda in the hand of a Panda": (PANDA, "fixed", "panda_link8", PANDA),
    "Panda on a finger that follows": (PANDA, "fixed", "panda_rightfinger", PANDA),
    "arm on the trunk of a walking machine": (SOLO, "free", "base_link", KINOVA),
    "Panda in the gripper of Talos": (TALOS, "free", "gripper_left_base_link", PANDA),
}


def in_pinocchio(lower: Path, base: str, frame: str, upper: Path) -> pin.Model:
    """The same two, put together by Pinocchio; the joints and links of the upper one renamed."""
    root = [pin.JointModelFreeFlyer(), "root"] if base == "free" else []
    first = pin.buildModelFromUrdf(str(lower), *root)
    second = pin.buildModelFromUrdf(str(upper))
    for k in range(1, second.njoints):
        second.names[k] = f"upper {second.names[k]}"
    for k in range(1, second.nframes):
        second.frames[k].name = f"upper {second.frames[k].name}"
    place = pin.SE3(np.array(PLACE["rotation"]), np.array(PLACE["position"]))
    both = pin.appendModel(first, second, first.getFrameId(frame), place)
    return both[0] if isinstance(both, tuple) else both


def matched(machine: pp.Model, model: pin.Model) -> PinMachine:
    """Our machine beside Pinocchio's, joints matched by name."""
    assert {joint.name for joint in machine.joints} == set(model.names) - {"universe"}
    matches = []
    for joint in machine.joints:
        number = model.getJointId(joint.name)
        q, v = convert(joint.kind)
        if isinstance(joint.kind, joints.Revolute) and model.joints[number].nq == 2:
            q = cos_sin
        matches.append(Match(joint, number, q, v))
    return PinMachine(machine, model, tuple(matches))


@pytest.fixture(params=STACKS.values(), ids=STACKS, scope="module")
def stack(request):
    lower, base, frame, upper = request.param
    builder = pp.ModelBuilder("stack", strict=False)
    builder.add_model(pp.load(FOLDER / lower, base=base))
    builder.add_model(pp.load(FOLDER / upper), "upper ", frame, **PLACE)
    machine = builder.build()
    return machine, matched(machine, in_pinocchio(FOLDER / lower, base, frame, FOLDER / upper))


def assert_close(ours, theirs):
    assert np.abs(ours - theirs).max() <= 1e-10 * np.abs(theirs).max()


def test_one_robot_on_another_agrees_with_pinocchio(stack):
    machine, peer = stack
    rng = np.random.default_rng(3)
    for _ in range(2):
        q, (v, a) = machine.random(rng), rng.normal(size=(2, machine.nv))
        assert_close(pp.as_matrix(machine, MASS, q), peer.mass_matrix(q))
        assert_close(pp.as_matrix(machine, BIAS, q, v), peer.bias(q, v))
        assert_close(pp.as_matrix(machine, GRAVITY, q), peer.gravity(q))
        assert_close(pp.as_matrix(machine, INVERSE, q, v, vdot=a), peer.inverse_dynamics(q, v, a))
        ours = pp.as_matrix(machine, FORWARD, q, v, force=a)
        theirs = peer.forward_dynamics(q, v, a)
        assert np.abs(ours - theirs).max() <= 1e-8 * np.abs(theirs).max()
        poses, expected = pp.body_poses(machine, q), peer.frame_poses(q)
        for body, pose in zip(machine.bodies, poses, strict=True):
            assert_close(pose, expected[body.name])
        for frame in machine.frames:
            carrier = np.eye(4) if frame.body == -1 else poses[frame.body]
            if frame.name in expected:
                assert_close(carrier @ frame.placement.matrix, expected[frame.name])


def test_total_mass_counts_what_the_upper_robot_stood_on(stack):
    """The mass of its base is now part of a moving body."""
    machine, peer = stack
    lower_base = machine.base_inertia.mass
    assert machine.moving_mass == pytest.approx(pin.computeTotalMass(peer.model), rel=1e-12)
    assert machine.mass == pytest.approx(machine.moving_mass + lower_base, rel=1e-12)


def test_robots_side_by_side_do_not_feel_each_other():
    """The mass matrix of two Pandas on the world is that of each, block by block."""
    panda = pp.load(FOLDER / PANDA)
    builder = pp.ModelBuilder("pair", strict=False)
    builder.add_model(panda, "left ", position=(0, 0.5, 0))
    builder.add_model(panda, "right ", **PLACE)
    pair = builder.build()
    rng = np.random.default_rng(1)
    left, right = panda.random(rng), panda.random(rng)
    matrix = pp.as_matrix(pair, MASS, np.concatenate([left, right]))
    n = panda.nv
    assert pair.nv == 2 * n and not matrix[:n, n:].any() and not matrix[n:, :n].any()
    for q, block in ((left, matrix[:n, :n]), (right, matrix[n:, n:])):
        alone = pinocchio_bridge.from_urdf(panda, FOLDER / PANDA)
        assert_close(block, alone.mass_matrix(q))
    assert pair.mass == pytest.approx(2 * panda.mass, rel=1e-15)
    assert pair.base_inertia.mass == pytest.approx(2 * panda.base_inertia.mass)
