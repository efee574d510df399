"""Machines beside a peer's: the numbers of joints mean the same there, or are refused."""

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import phipsi as pp
from phipsi import joints
from phipsi.model.peers.match import match_layout
from phipsi.spatial import rotation

X, Y, Z = np.eye(3)
HINGE, SLIDE = joints.Revolute(), joints.Prismatic()


def chain(*steps) -> pp.Model:
    """Joints in a row: kind, position, and rotation if there is one."""
    builder, carrier = pp.ModelBuilder("arm"), "world"
    for k, (kind, position, *turned) in enumerate(steps):
        body = f"link {k}"
        builder.add_body(
            body,
            carrier,
            kind,
            joint_name=f"j{k}",
            position=position,
            rotation=turned[0] if turned else None,
            mass=1.0,
            inertia=(1, 1, 1),
        )
        carrier = body
    return builder.build()


def in_pinocchio(*steps) -> pin.Model:
    """Likewise; its own joints by their names."""
    peer = pin.Model()
    for k, (kind, position, *turned) in enumerate(steps):
        R = np.array(turned[0]) if turned else np.eye(3)
        peer.addJoint(k, kind, pin.SE3(R, np.array(position, dtype=float)), f"j{k}")
    return peer


def in_mujoco(*steps: tuple[str, str]) -> mujoco.MjModel:
    """Bodies in a row: the attributes of each and of its joint."""
    text = ""
    for k, (body, joint) in reversed(list(enumerate(steps))):
        text = f'<body {body}><joint name="j{k}" {joint}/><geom size=".1"/>{text}</body>'
    head = '<compiler angle="radian"/>'
    return mujoco.MjModel.from_xml_string(f"<mujoco>{head}<worldbody>{text}</worldbody></mujoco>")


def turn(axis, angle: float) -> np.ndarray:
    return np.array(rotation(list(axis), angle))


RZ, RX, PZ = pin.JointModelRZ, pin.JointModelRX, pin.JointModelPZ


# -- refused


@pytest.mark.parametrize(
    ("model", "peer", "text"),
    [
        (  # another axis at another place
            chain((HINGE, X)),
            in_pinocchio((RX(), 2 * X)),
            "joint 'j0' is Revolute(axis=(0.0, 0.0, 1.0)) here and Revolute(axis=(1.0, 0.0, 0.0)) "
            "in Pinocchio, moving otherwise: where all coordinates are zero, its frame is "
            "at (1, 0, 0) with x along (1, 0, 0) and z along (0, 0, 1) here and at (2, 0, 0) with ",
        ),
        (chain((HINGE, X)), in_pinocchio((RZ(), X, turn(Z, 0.7))), "counting from 0.7 rad:"),
        (chain((HINGE, X)), in_pinocchio((RZ(), X, turn(Z, np.pi))), "counting from 3.14159 rad:"),
        (  # as a file of SDF has it, whose link stands at z = 1
            chain((joints.Free(), Z)),
            in_pinocchio((pin.JointModelFreeFlyer(), 0 * Z)),
            "moving otherwise",
        ),
        (chain((SLIDE, Z)), in_pinocchio((PZ(), 1.5 * Z)), "counting from 0.5 m:"),
        (  # a parallel line, away from where the joint before it is
            chain((HINGE, 0 * X), (HINGE, X)),
            in_pinocchio((RZ(), 0 * X), (RZ(), 1.1 * X)),
            "joint 'j1' is Revolute",
        ),
        (
            chain((joints.Spherical(), X)),
            in_pinocchio((pin.JointModelSpherical(), X, turn(X, 0.1))),
            "moving otherwise",
        ),
        (
            chain((joints.Planar(), X)),
            in_pinocchio((pin.JointModelPlanar(), 2 * X)),
            "moving otherwise",
        ),
        (
            chain((joints.Universal(X, Y), X)),
            in_pinocchio((pin.JointModelUniversal(Y, -X), X, turn(Z, -np.pi / 2))),
            "counting from elsewhere",
        ),
        (
            chain((joints.Helical(Z, 0.1), X)),
            in_pinocchio((pin.JointModelHZ(0.1), X, turn(Z, 0.2))),
            "counting from 0.2 rad",
        ),
        (  # the machine stands elsewhere, and turned
            chain((HINGE, 0 * X), (joints.Revolute(X), Y)),
            in_pinocchio((RZ(), X, turn(Z, 0.3)), (RX(), Y)),
            "joint 'j0' is Revolute",
        ),
    ],
)
def test_numbers_that_do_not_mean_the_same_in_pinocchio(model, peer, text):
    with pytest.raises(pp.InputError, match="their numbers do not mean the same; read") as caught:
        model.to_pinocchio(model.neutral(), peer=peer)
    assert text in str(caught.value)
    assert match_layout(model, "pinocchio", peer).nq == peer.nq  # if they are asked for anyway


@pytest.mark.parametrize(
    ("model", "peer", "text"),
    [
        (chain((HINGE, X)), in_mujoco(('pos="2 0 0"', 'axis="1 0 0"')), "moving otherwise"),
        (
            chain((HINGE, X)),
            in_mujoco(('pos="1 0 0" euler="0 0 0.7"', 'axis="0 0 1"')),
            "counting from 0.7 rad: where all coordinates are zero",
        ),
        (
            chain((SLIDE, X)),
            in_mujoco(('pos="1 0 0.2"', 'type="slide"')),
            "counting from 0.2 m: where all coordinates are zero",
        ),
        (  # a joint elsewhere on its body
            chain((HINGE, X), (HINGE, Y)),
            in_mujoco(('pos="1 0 0"', ""), ('pos="0 1 0"', 'pos="0.1 0 0"')),
            "joint 'j1' is Revolute",
        ),
    ],
)
def test_numbers_that_do_not_mean_the_same_in_mujoco(model, peer, text):
    with pytest.raises(pp.InputError, match="their numbers do not mean the same; read") as caught:
        model.to_mujoco(model.neutral(), peer=peer)
    assert text in str(caught.value)
    assert match_layout(model, "mujoco", peer).nq == peer.nq


def test_custom_joints_count_from_the_same_place():
    """The same points of an ellipsoid; what touches it is compared whole."""
    there = pin.Model()
    there.addJoint(0, pin.JointModelEllipsoid(0.3, 0.5, 0.7), pin.SE3.Identity(), "j0")
    model = pp.from_pinocchio(there)
    assert model.to_pinocchio([0.1, 0.2, 0.3], peer=there) == pytest.approx([0.1, 0.2, 0.3])
    there.jointPlacements[1] = pin.SE3(np.eye(3), X)
    with pytest.raises(pp.InputError, match="in Pinocchio, moving otherwise"):
        model.to_pinocchio([0.1, 0.2, 0.3], peer=there)


def test_joints_that_others_carry():
    """All lines are the same at zero, but not once the first joint has turned."""
    model = chain((HINGE, 0 * X), (HINGE, X))
    peer = pin.Model()
    for k in range(2):
        peer.addJoint(0, RZ(), pin.SE3(np.eye(3), k * X), f"j{k}")
    text = "joint 'j1' is carried by 'j0' here and by 'world' in Pinocchio: these are different"
    with pytest.raises(pp.InputError, match=text):
        model.to_pinocchio([0.0, 0.0], peer=peer)
    bodies = '<body pos="{0} 0 0"><joint name="j{0}"/><geom size=".1"/></body>'
    text = f"<worldbody>{bodies.format(0)}{bodies.format(1)}</worldbody>"
    beside = mujoco.MjModel.from_xml_string(f"<mujoco>{text}</mujoco>")
    with pytest.raises(pp.InputError, match="is carried by 'j0' here and by 'world' in MuJoCo"):
        model.to_mujoco([0.0, 0.0], peer=beside)


# -- matched


def test_a_machine_may_stand_elsewhere():
    """The same arm on a table: poses differ by the way there, and by nothing else."""
    way, q = np.array([3.0, -1.0, 0.8]), np.array([0.3, -0.7, 0.2])
    model = chain((HINGE, Z), (joints.Revolute(X), Y), (SLIDE, Z))
    peer = in_pinocchio((RZ(), Z + way), (RX(), Y), (PZ(), Z))
    data = peer.createData()
    pin.forwardKinematics(peer, data, model.to_pinocchio(q, peer=peer))
    for pose, there in zip(pp.body_poses(model, q), list(data.oMi)[1:], strict=True):
        assert there.rotation == pytest.approx(pose[:3, :3])
        assert there.translation == pytest.approx(pose[:3, 3] + way)
    slide = 'type="slide"'
    beside = in_mujoco(
        ('pos="3 -1 1.8"', ""), ('pos="0 1 0"', 'axis="1 0 0"'), ('pos="0 0 1"', slide)
    )
    assert model.to_mujoco(q, peer=beside) == pytest.approx(q)


def reframed(rng: np.random.Generator, count: int):
    """A chain, and that of Pinocchio with other frames on the same links; those in ours.

    A frame is moved along the axis of a turning joint, or anywhere across a sliding one's,
    and turned about an axis across it.
    """
    ours, theirs, offsets = [], [], [pin.SE3.Identity()]
    for _ in range(count):
        slides = rng.random() < 0.4
        axis, across = rng.normal(size=3), rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        across = np.cross(axis, across)
        across /= np.linalg.norm(across)
        R = turn(across, rng.uniform(-2, 2))
        offset = pin.SE3(R, (across if slides else axis) * rng.normal())
        place = pin.SE3.Random()
        kind = joints.Prismatic if slides else joints.Revolute
        same = pin.JointModelPrismaticUnaligned if slides else pin.JointModelRevoluteUnaligned
        ours.append((kind(tuple(axis)), place.translation, place.rotation))
        there = offsets[-1].inverse() * place * offset
        theirs.append((same(R.T @ axis), there.translation, there.rotation))
        offsets.append(offset)
    return chain(*ours), in_pinocchio(*theirs), offsets[1:]


@pytest.mark.parametrize("seed", range(8))
def test_links_may_have_other_frames(seed):
    """What is matched moves alike in Pinocchio, and what is turned anywhere is refused."""
    pin.seed(seed)
    rng = np.random.default_rng(seed)
    model, peer, offsets = reframed(rng, 5)
    q, data = model.random(rng), peer.createData()
    pin.forwardKinematics(peer, data, model.to_pinocchio(q, peer=peer))
    poses = pp.body_poses(model, q)
    for pose, offset, there in zip(poses, offsets, list(data.oMi)[1:], strict=True):
        assert there.homogeneous == pytest.approx(pose @ offset.homogeneous, abs=1e-12)
    k = int(rng.integers(1, 6))
    slightly = pin.SE3(turn(np.array([0.6, 0.0, 0.8]), 1e-3), np.zeros(3))
    peer.jointPlacements[k] = slightly * peer.jointPlacements[k]
    with pytest.raises(pp.InputError, match="do not mean the same"):
        model.to_pinocchio(q, peer=peer)
