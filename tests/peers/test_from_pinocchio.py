"""What we make of Pinocchio's models moves as Pinocchio says, and as the file that we read."""

import numpy as np
import pinocchio as pin
import pytest
from peers.robots import FOLDER, MACHINES

import phipsi as pp
from phipsi import joints

TOLERANCE = 1e-9
FIRST, SECOND = np.array([0.0, 0.6, 0.8]), np.array([0.6, 0.0, -0.8])


def error(found, expected) -> float:
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-6))


def composite():
    made = pin.JointModelComposite()
    made.addJoint(pin.JointModelRZ(), pin.SE3.Random())
    made.addJoint(pin.JointModelTranslation(), pin.SE3.Random())
    made.addJoint(pin.JointModelSpherical(), pin.SE3.Random())
    return made


KINDS = {
    **{f"R{x}": getattr(pin, f"JointModelR{x}") for x in "XYZ"},
    **{f"P{x}": getattr(pin, f"JointModelP{x}") for x in "XYZ"},
    **{f"RUB{x}": getattr(pin, f"JointModelRUB{x}") for x in "XYZ"},
    "HX": lambda: pin.JointModelHX(0.3),
    "HY": lambda: pin.JointModelHY(-0.2),
    "HZ": lambda: pin.JointModelHZ(0.1),
    "RevoluteUnaligned": lambda: pin.JointModelRevoluteUnaligned(FIRST),
    "PrismaticUnaligned": lambda: pin.JointModelPrismaticUnaligned(FIRST),
    "HelicalUnaligned": lambda: pin.JointModelHelicalUnaligned(SECOND, 0.4),
    "Spherical": pin.JointModelSpherical,
    "SphericalZYX": pin.JointModelSphericalZYX,
    "FreeFlyer": pin.JointModelFreeFlyer,
    "Planar": pin.JointModelPlanar,
    "Translation": pin.JointModelTranslation,
    "Universal": lambda: pin.JointModelUniversal(FIRST, np.array([1.0, 0.0, 0.0])),
    "Ellipsoid": lambda: pin.JointModelEllipsoid(0.3, 0.5, 0.7),
    "Composite": composite,
}


def random_inertia(rng) -> pin.Inertia:
    """Of a few masses here and there."""
    points, masses = rng.normal(size=(5, 3)), rng.uniform(0.1, 1.0, 5)
    total = pin.Inertia.Zero()
    for point, mass in zip(points, masses, strict=True):
        total = total + pin.Inertia(mass, point, 1e-3 * mass * np.eye(3))
    return total


def tree(kinds, seed=0, frames=True) -> pin.Model:
    """A tree of these joints; not depth-first, each with an armature of its own."""
    rng, model = np.random.default_rng(seed), pin.Model()
    pin.seed(seed)
    model.name = "tree"
    model.gravity.linear = np.array([0.3, -1.0, -9.0])
    for i, make in enumerate(kinds):
        parent = i // 2  # 0, 0, 1, 1, 2, 2, ...: breadth first
        number = model.addJoint(parent, make(), pin.SE3.Random(), f"joint {i}")
        model.appendBodyToJoint(number, random_inertia(rng), pin.SE3.Identity())
        if frames:
            model.addBodyFrame(f"body {i}", number, pin.SE3.Identity(), 0)
            tool = pin.Frame(f"tool {i}", number, pin.SE3.Random(), pin.FrameType.OP_FRAME)
            model.addFrame(tool)
        joint = model.joints[number]
        armature = model.armature.copy()
        armature[joint.idx_v : joint.idx_v + joint.nv] = rng.uniform(0.0, 0.2)
        model.armature = armature
    return model


def breadth_first_mass_matrix(peer, data, q) -> np.ndarray:
    """Column by column: crba takes joints to be depth-first."""
    rest = pin.rnea(peer, data, q, np.zeros(peer.nv), np.zeros(peer.nv))
    columns = [pin.rnea(peer, data, q, np.zeros(peer.nv), e) - rest for e in np.eye(peer.nv)]
    return np.array(columns).T


def compare(peer: pin.Model, model: pp.Model, states: int = 2) -> None:
    """Mass matrix, bias, inverse and forward dynamics, frames; q, v and forces back and forth."""
    data, rng, layout = peer.createData(), np.random.default_rng(1), model.layouts["pinocchio"]
    for _ in range(states):
        q, v, vdot = model.random(rng), *rng.normal(size=(2, model.nv))
        theirs = model.to_pinocchio(q, v, vdot)
        for ours, back in zip((q, v, vdot), model.from_pinocchio(*theirs), strict=True):
            assert error(back, ours) < 1e-14
        T = layout.speed_map(q)
        mass = T.T @ breadth_first_mass_matrix(peer, data, theirs[0]) @ T
        assert error(pp.mass_matrix(model, q), mass) < TOLERANCE
        bias = T.T @ pin.nonLinearEffects(peer, data, *theirs[:2])
        assert error(pp.bias_force(model, q, v), bias) < TOLERANCE
        force = pin.rnea(peer, data, *theirs)
        tau = pp.inverse_dynamics(model, q, v, vdot)
        assert error(tau, model.from_pinocchio(*theirs[:1], tau=force)[1]) < TOLERANCE
        assert error(pp.forward_dynamics(model, q, v, tau), vdot) < TOLERANCE
        compare_frames(peer, data, model, q, theirs[0])


def compare_frames(peer, data, model, q, theirs) -> None:
    pin.framesForwardKinematics(peer, data, theirs)
    poses = pp.body_poses(model, q)
    for frame, placement in zip(peer.frames, data.oMf, strict=True):
        if frame.type == pin.FrameType.JOINT or frame.parentJoint == 0:
            continue
        called = "world_link" if frame.name == "world" else frame.name
        found = model.frame(called)
        own = poses[found.body] @ found.placement.matrix
        assert error(own, placement.homogeneous) < TOLERANCE, frame.name


# -- joints


@pytest.mark.parametrize("kind", KINDS)
def test_every_joint_moves_as_in_pinocchio(kind):
    peer = tree([KINDS[kind], KINDS[kind]], seed=len(kind))
    model = pp.from_pinocchio(peer)
    assert model.gravity == (0.3, -1.0, -9.0)
    compare(peer, model)


def test_trees_of_all_kinds_are_renumbered_depth_first():
    """Pinocchio numbers joints as they were added, we by depth: the layout knows."""
    peer = tree([make for name, make in KINDS.items() if name != "Composite"])
    model = pp.from_pinocchio(peer)
    assert [body.name for body in model.bodies][:3] == ["body 0", "body 2", "body 6"]
    compare(peer, model)


def test_joints_of_several_parts_are_bodies_in_a_row():
    model = pp.from_pinocchio(tree([KINDS["Translation"], KINDS["Composite"]]))
    assert [joint.name for joint in model.joints] == [
        *("joint 0.x", "joint 0.y", "joint 0.z"),
        *("joint 1.1", "joint 1.2.x", "joint 1.2.y", "joint 1.2.z", "joint 1.3"),
    ]
    assert [body.name for body in model.bodies][:4] == [
        *("body 0@joint 0.x", "body 0@joint 0.y", "body 0", "body 1@joint 1.1"),
    ]


def test_numbers_are_kept_bit_by_bit():
    peer = pin.buildSampleModelManipulator()
    model = pp.from_pinocchio(peer, "sample")
    assert model.name == "sample"
    for body, joint in zip(model.bodies, model.joints, strict=True):
        i = peer.getJointId(joint.name)
        assert body.inertia.mass == peer.inertias[i].mass
        assert body.inertia.com == tuple(peer.inertias[i].lever)
        assert np.array_equal(body.inertia.rotational, peer.inertias[i].inertia)
        assert np.array_equal(joint.placement.matrix, peer.jointPlacements[i].homogeneous)
        assert joint.limits.lower == peer.lowerPositionLimit[peer.idx_qs[i]]
        assert joint.limits.effort == peer.effortLimit[peer.idx_vs[i]]


# -- mimic joints


def followers(ratio: float = -2.0) -> pin.Model:
    """Joints of every kind that can follow, each after a leader of the other kinds."""
    rng, model = np.random.default_rng(3), pin.Model()
    for k, name in enumerate(("RX", "RUBZ", "PY", "RevoluteUnaligned")):
        lead = model.addJoint(0, KINDS[name](), pin.SE3.Random(), f"lead {k}")
        follow = pin.JointModelMimic(model.joints[lead], ratio, 0.3)
        number = model.addJoint(lead, follow, pin.SE3.Random(), f"follow {k}")
        model.appendBodyToJoint(lead, random_inertia(rng), pin.SE3.Identity())
        model.appendBodyToJoint(number, random_inertia(rng), pin.SE3.Identity())
    return model


def test_mimic_joints_follow_as_in_pinocchio():
    peer = followers()
    model = pp.from_pinocchio(peer)
    assert (model.nv, len(model.joints)) == (4, 8)
    assert model.joint("follow 2").kind == joints.Prismatic((0, 1, 0))
    compare(peer, model)


@pytest.mark.parametrize("ratio", [0.5, -3.0])
def test_a_follower_of_an_unbounded_joint(ratio):
    """Pinocchio knows its leader's angle within -pi and pi: it jumps, unless the ratio is whole."""
    peer = pin.Model()
    lead = peer.addJoint(0, pin.JointModelRUBY(), pin.SE3.Random(), "lead")
    follow = pin.JointModelMimic(peer.joints[lead], ratio, 0.2)
    number = peer.addJoint(lead, follow, pin.SE3.Random(), "follow")
    for i in (lead, number):
        peer.appendBodyToJoint(i, random_inertia(np.random.default_rng(i)), pin.SE3.Identity())
    model, data = pp.from_pinocchio(peer), peer.createData()

    def theirs(angle):
        pin.forwardKinematics(peer, data, model.to_pinocchio([angle]))
        return data.oMi[number].homogeneous

    for angle in (-3.1, 1.0, 3.1):  # all that comes from Pinocchio is within
        assert error(pp.body_poses(model, [angle])[1], theirs(angle)) < 1e-14
    differs = error(pp.body_poses(model, [4.0])[1], theirs(4.0)) > 0.1
    text = f"joint 'follow' follows 'lead' by {ratio:g}, whose angle is within -pi and pi in "
    assert [line[: len(text)] for line in model.report.refused] == [text] * differs
    assert differs == (ratio == 0.5)
    if differs:
        with pytest.raises(pp.ModelError, match=text):
            pp.from_pinocchio(peer, strict=True)


def test_a_screw_that_follows_is_a_screw():
    """Pinocchio's own motion subspace leaves the pitch out; its poses do not."""
    peer = pin.Model()
    lead = peer.addJoint(0, pin.JointModelHX(0.25), pin.SE3.Random(), "lead")
    follow = pin.JointModelMimic(peer.joints[lead], 3.0, 0.1)
    number = peer.addJoint(lead, follow, pin.SE3.Random(), "follow")
    for i in (lead, number):
        peer.appendBodyToJoint(i, random_inertia(np.random.default_rng(i)), pin.SE3.Identity())
    model = pp.from_pinocchio(peer)
    kind = model.joint("follow").kind
    assert kind.axis == (1.0, 0.0, 0.0)
    assert kind.pitch == pytest.approx(0.25)
    data = peer.createData()
    pin.forwardKinematics(peer, data, model.to_pinocchio([0.7]))
    assert error(pp.body_poses(model, [0.7])[1], data.oMi[number].homogeneous) < 1e-14


def test_robots_with_mimic_joints():
    path = FOLDER / "panda_description/urdf/panda.urdf"
    peer = pin.buildModelFromUrdf(str(path), mimic=True)
    model = pp.from_pinocchio(peer)
    assert model.joint("panda_finger_joint2").mimic is not None
    compare(peer, model, states=1)


def test_a_follower_that_stands_still_is_refused():
    with pytest.raises(pp.ModelError, match=r"joint 'follow 0' follows .* scaling 0; weld it"):
        pp.from_pinocchio(followers(0.0))


# -- robots


@pytest.mark.parametrize(("file", "base"), MACHINES, ids=lambda x: x.rpartition("/")[2])
def test_robots_move_as_in_pinocchio_and_as_loaded(file, base):
    """The model that Pinocchio reads, taken over; and the file, read by us, in numbers."""
    root = [pin.JointModelFreeFlyer(), "root"] if base == "free" else []
    peer = pin.buildModelFromUrdf(str(FOLDER / file), *root)
    model = pp.from_pinocchio(peer)
    compare(peer, model, states=1)
    loaded = pp.load(FOLDER / file, base=base, mimic="independent")
    assert model.mass == pytest.approx(loaded.mass, rel=1e-12)
    assert {joint.name for joint in model.joints} == {joint.name for joint in loaded.joints}
    for body, joint in zip(loaded.bodies, loaded.joints, strict=True):
        own = model.joint(joint.name)
        twin = model.bodies[model.joints.index(own)]
        assert type(own.kind) is type(joint.kind)
        assert error(own.placement.matrix, joint.placement.matrix) < 1e-12
        assert error(twin.inertia.matrix, body.inertia.matrix) < 1e-12
        assert twin.name == body.name
    q, v = loaded.random(np.random.default_rng(0)), np.arange(loaded.nv) / loaded.nv
    theirs = loaded.to_pinocchio(q, v, peer=peer)
    for x, y in zip(loaded.from_pinocchio(*theirs, peer=peer), (q, v), strict=True):
        assert error(x, y) < 1e-14
    ours = model.from_pinocchio(*theirs)
    assert pp.kinetic_energy(model, *ours) == pytest.approx(pp.kinetic_energy(loaded, q, v))
    assert pp.potential_energy(model, ours[0]) == pytest.approx(
        pp.potential_energy(loaded, q), abs=1e-9
    )


@pytest.mark.parametrize(
    "build", [pin.buildSampleModelManipulator, pin.buildSampleModelHumanoidRandom]
)
def test_sample_models(build):
    peer = build()
    compare(peer, pp.from_pinocchio(peer))
