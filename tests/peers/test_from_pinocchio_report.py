"""What is kept of Pinocchio's models beside what moves, and what their reports say is left out."""

import math
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
from peers.robots import FOLDER, MACHINES
from peers.test_from_pinocchio import KINDS, compare, random_inertia, tree

import phipsi as pp


def test_bodies_and_frames_have_names_of_their_own():
    peer = tree([KINDS["RX"], KINDS["PY"]], frames=False)
    peer.addBodyFrame("joint 1", 2, pin.SE3.Identity(), 0)
    peer.addBodyFrame("apart", 1, pin.SE3.Random(), 0)
    for kind in (pin.FrameType.OP_FRAME, pin.FrameType.SENSOR):
        peer.addFrame(pin.Frame("joint 1", 2, pin.SE3.Random(), kind))
    peer.addFrame(pin.Frame("world", 0, pin.SE3.Random(), pin.FrameType.BODY))
    model = pp.from_pinocchio(peer)
    assert [body.name for body in model.bodies] == ["joint 0", "joint 1"]
    assert [frame.name for frame in model.frames] == [
        *("apart", "joint 1_op_frame", "joint 1_sensor", "world_body"),
    ]
    assert model.report.remarks == (
        "frame 'joint 1' is called 'joint 1_op_frame': its name is taken",
        "frame 'joint 1' is called 'joint 1_sensor': its name is taken",
        "frame 'world' is called 'world_body': its name is taken",
    )


def test_what_is_welded_to_the_world_counts():
    peer = pin.buildModelFromUrdf(str(FOLDER / "panda_description/urdf/panda.urdf"))
    model = pp.from_pinocchio(peer)
    assert model.base_inertia.mass == peer.inertias[0].mass > 0.0
    assert model.frame("universe").body == -1


def test_limits_and_losses_are_kept():
    peer = tree([KINDS["RX"], KINDS["RUBX"], KINDS["Spherical"]])
    peer.lowerPositionLimit = np.array([-1.0, *[-1.01] * 2, *[-1.0] * 4])
    peer.upperPositionLimit = np.full(peer.nq, 1.5)
    peer.upperVelocityLimit = np.array([3.0, np.finfo(float).max, 2.0, 2.0, 2.0])
    peer.lowerVelocityLimit = np.zeros(5)
    peer.upperEffortLimit = np.array([0.0, 1.0, 2.0, 4.0, 0.0])
    peer.lowerEffortLimit = -np.array([0.0, 1.0, 4.0, 3.0, 4.0])
    peer.damping = np.array([0.1, 0.2, 0.3, 0.3, 0.3])
    peer.friction = np.array([0.5, 0.6, 0.7, 0.7, 0.7])
    model = pp.from_pinocchio(peer)
    first, second, third = (model.joint(f"joint {i}") for i in range(3))
    assert first.limits == pp.Limits(-1.0, 1.5, 3.0)
    assert second.limits == pp.Limits(effort=1.0)
    assert third.limits == pp.Limits(velocity=2.0, effort=4.0)
    assert model.report.remarks == ("joint 'joint 0': effort 0 is taken for no limit",)
    assert [x.damping for x in (first, second, third)] == [0.1, 0.2, 0.3]
    assert [x.friction for x in (first, second, third)] == [0.5, 0.6, 0.7]
    assert math.isinf(second.limits.velocity)


def limited(kind, lower, upper, velocity=(5.0, 5.0)) -> pin.Model:
    """A machine of one joint, with these limits."""
    peer, size = pin.Model(), len(velocity)
    bounds = [np.full(size, 7.0), np.array(velocity), np.array(lower), np.array(upper)]
    number = peer.addJoint(0, kind, pin.SE3.Identity(), "joint", *bounds)
    peer.appendBodyToJoint(number, random_inertia(np.random.default_rng(0)), pin.SE3.Identity())
    return peer


LIMITS_OF_SEVERAL = {
    "universal": (KINDS["Universal"](), [-1.0, -9e200], [9e200, 9e200], (5.0, 5.0)),
    "planar": (pin.JointModelPlanar(), [-2.0, -2.0, -1.0, -1.0], [2.0, 2.0, 1.0, 1.0], [5.0] * 3),
    "free": (pin.JointModelFreeFlyer(), [-9e200] * 7, [9e200, 9e200, 1.0, *[1.0] * 4], [5.0] * 6),
    "unbounded": (pin.JointModelRUBX(), [-1.01, -1.01], [1.01, 0.5], [5.0]),
}


@pytest.mark.parametrize("case", LIMITS_OF_SEVERAL)
def test_limits_of_several_coordinates_are_refused(case):
    peer = limited(*LIMITS_OF_SEVERAL[case])
    model = pp.from_pinocchio(peer)
    assert model.joint("joint").limits == pp.Limits(velocity=5.0, effort=7.0)
    text = f"joint 'joint' has limits of position for its {peer.nq} coordinates; a joint has "
    (remark,) = model.report.refused
    assert remark.startswith(text)
    with pytest.raises(pp.ModelError, match=text):
        pp.from_pinocchio(peer, strict=True)


@pytest.mark.parametrize(
    ("kind", "bounds"),
    [
        (pin.JointModelPlanar(), [9e200, 9e200, 1.0, 1.0]),
        (pin.JointModelFreeFlyer(), [9e200, 9e200, 9e200, *[1.0] * 4]),
        (pin.JointModelSpherical(), [1.01] * 4),
        (pin.JointModelRUBX(), [1.01, 1.01]),
    ],
    ids=lambda x: x.shortname() if hasattr(x, "shortname") else "",
)
def test_cosines_and_quaternions_within_one_are_no_limits(kind, bounds):
    peer = limited(kind, [-x for x in bounds], bounds, [5.0] * kind.nv)
    assert not pp.from_pinocchio(peer, strict=True).report.remarks


@pytest.mark.parametrize("what", ["velocity", "effort"])
def test_limits_that_differ_from_speed_to_speed_are_refused(what):
    peer = tree([KINDS["Universal"]])
    setattr(peer, f"{what}Limit", np.array([1.0, 100.0]))
    setattr(peer, f"lower{what.title()}Limit", np.array([-1.0, -100.0]))
    model = pp.from_pinocchio(peer)
    assert model.joint("joint 0").limits == pp.Limits()
    (remark,) = model.report.refused
    assert remark.startswith(
        f"joint 'joint 0' has a limit of {what} that differs from speed to speed: 1, 100; "
    )


def test_robots_of_files_have_no_limits_that_are_refused():
    """What Pinocchio writes for a free or unbounded joint is no limit."""
    file, base = next(pair for pair in MACHINES if pair[1] == "free")
    assert base == "free"
    peer = pin.buildModelFromUrdf(str(FOLDER / file), pin.JointModelFreeFlyer())
    assert not pp.from_pinocchio(peer).report.refused


def test_inertias_that_no_joint_feels_are_told():
    """As those of files are, and refused when strict."""
    peer = pin.Model()
    number = peer.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), "spin")
    point = pin.Inertia(1.0, np.array([0.0, 0.0, 0.3]), np.zeros((3, 3)))
    peer.appendBodyToJoint(number, point, pin.SE3.Identity())
    text = "body 'spin': its mass has no inertia that joint 'spin' feels"
    (remark,) = pp.from_pinocchio(peer).report.implausible
    assert remark.startswith(text)
    with pytest.raises(pp.ModelError, match=text):
        pp.from_pinocchio(peer, strict=True)


def test_reference_configurations_that_are_none_are_refused():
    peer = tree([KINDS["FreeFlyer"]])
    peer.referenceConfigurations["twice"] = 2.0 * pin.neutral(peer)
    peer.referenceConfigurations["short"] = np.zeros(3)
    peer.referenceConfigurations["nowhere"] = np.zeros(7)
    model = pp.from_pinocchio(peer)
    assert model.keyframes["twice"].q == tuple(model.neutral())
    assert list(model.keyframes) == ["twice"]
    for name, text in (("short", "q has shape (3,)"), ("nowhere", "q: the quaternion of joint ")):
        (line,) = (line for line in model.report.refused if repr(name) in line)
        assert line.startswith(f"keyframe {name!r} is left out: {text}")


def test_reference_configurations_are_keyframes():
    peer = tree([KINDS["FreeFlyer"], KINDS["RUBX"]])
    q = pin.randomConfiguration(peer, -np.ones(peer.nq), np.ones(peer.nq))
    peer.referenceConfigurations["half sitting"] = q
    model = pp.from_pinocchio(peer)
    assert model.to_pinocchio(model.keyframes["half sitting"].q) == pytest.approx(q)
    assert model.keyframes["half sitting"].v == (0.0,) * 7


@pytest.mark.parametrize("what", ["an armature", "a damping", "a friction"])
def test_a_joint_has_one_armature_and_the_like(what):
    peer = tree([KINDS["Spherical"]])
    setattr(peer, what.split()[1], np.array([1.0, 2.0, 2.0]))
    text = f"joint 'joint 0' has {what} that differs from speed to speed: 1, 2, 2; "
    (remark,) = pp.from_pinocchio(peer).report.refused
    assert remark.startswith(text)
    with pytest.raises(pp.ModelError) as caught:
        pp.from_pinocchio(peer, strict=True)
    assert str(caught.value).startswith(text)


def test_an_armature_that_is_no_number_is_refused():
    peer = tree([KINDS["Spherical"]])
    peer.armature = np.array([1.0, np.nan, 1.0])
    with pytest.raises(pp.ModelError, match=r"rotor_inertia is nan; expected a finite number"):
        pp.from_pinocchio(peer)


def test_motors_that_pinocchio_itself_ignores_are_ignored():
    peer = tree([KINDS["RX"]])
    peer.rotorInertia = np.array([0.01])
    (remark,) = pp.from_pinocchio(peer).report.remarks
    assert remark.startswith("rotorInertia and rotorGearRatio are ignored")
    compare(peer, pp.from_pinocchio(peer), states=1)


def test_gravity_that_turns_is_refused():
    peer = tree([KINDS["RX"]])
    peer.gravity.angular = np.array([0.0, 0.0, 1.0])
    (remark,) = pp.from_pinocchio(peer).report.refused
    assert remark == "the angular part of gravity is left out"


def test_joints_that_nobody_knows_are_refused():
    peer = tree([KINDS["RX"]])
    joint = SimpleNamespace(shortname=lambda: "JointModelRope", idx_q=0, idx_v=0)
    listed = {name: getattr(peer, name) for name in ("names", "jointPlacements", "inertias")}
    fake = SimpleNamespace(
        **listed,
        name="rope",
        njoints=2,
        parents=[0, 0],
        frames=[],
        armature=peer.armature,
        rotorInertia=peer.rotorInertia,
        gravity=peer.gravity,
        joints=[None, SimpleNamespace(extract=lambda: joint)],
    )
    with pytest.raises(pp.ModelError, match=r"'joint 0' is a JointModelRope, which has no counter"):
        pp.from_pinocchio(fake)


def test_placements_that_are_none_are_refused():
    peer = tree([KINDS["RX"], KINDS["Composite"]])
    peer.jointPlacements[2] = pin.SE3(2 * np.eye(3), np.zeros(3))
    with pytest.raises(pp.ModelError, match=r"joint 'joint 1': rotation is no rotation matrix"):
        pp.from_pinocchio(peer)
    peer = tree([KINDS["RX"]])
    peer.frames[2].placement = pin.SE3(np.eye(3), np.full(3, np.nan))
    with pytest.raises(pp.ModelError, match=rf"frame '{peer.frames[2].name}': position is "):
        pp.from_pinocchio(peer)


def test_what_is_no_model_of_pinocchio_is_refused():
    with pytest.raises(pp.InputError, match=r"expected a pinocchio.Model, got str; for a file"):
        pp.from_pinocchio("robot.urdf")
    robot = pin.RobotWrapper(pin.buildSampleModelManipulator())
    with pytest.raises(pp.InputError, match=r"got RobotWrapper; give its .model"):
        pp.from_pinocchio(robot)
    with pytest.raises(pp.InputError, match=r"got the class Model; for a file, use pp.load"):
        pp.from_pinocchio(pin.Model)
