"""Machines beside a peer's of the same joints: matched by name, or told apart."""

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from peers import pinocchio_bridge
from peers.mujoco_bridge import LEG, error
from peers.robots import FOLDER
from peers.test_layout import mujoco_arm, pin_arm

import phipsi as pp
from phipsi import joints
from phipsi.model.peers.mujoco.machine import layout_of_mujoco
from phipsi.model.peers.pinocchio.machine import layout_of_pinocchio

PANDA = FOLDER / "panda_description/urdf/panda.urdf"


def test_joints_that_follow_here_and_not_there():
    """A robot read with its mimic joint enforced, beside Pinocchio's, where it is free."""
    model, peer = pp.load(PANDA), pin.buildModelFromUrdf(str(PANDA))
    data = peer.createData()
    assert (model.nv, peer.nv) == (8, 9)
    rng = np.random.default_rng(5)
    q, v = model.random(rng), rng.normal(size=8)
    theirs, speeds = model.to_pinocchio(q, v, peer=peer)
    fingers = [peer.idx_qs[peer.getJointId(f"panda_finger_joint{k}")] for k in (1, 2)]
    assert theirs[fingers[0]] == theirs[fingers[1]]
    T = model.layout("pinocchio", peer).speed_map(q)
    mass = T.T @ pin.crba(peer, data, theirs) @ T
    assert error(pp.mass_matrix(model, q), mass) < 1e-12
    bias = model.from_pinocchio(
        theirs, tau=pin.nonLinearEffects(peer, data, theirs, speeds), peer=peer
    )[1]
    assert error(pp.bias_force(model, q, v), bias) < 1e-12
    assert model.from_pinocchio(theirs, speeds, peer=peer)[1] == pytest.approx(v)


def test_a_follower_without_limits_is_cos_and_sin_there(tmp_path):
    file = tmp_path / "wheels.urdf"
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" %s/></inertial>'
    inertial %= 'ixy="0" ixz="0" iyz="0"'
    file.write_text(f"""
      <robot name="wheels">
        <link name="base"/> <link name="a">{inertial}</link> <link name="b">{inertial}</link>
        <joint name="lead" type="continuous">
          <parent link="base"/> <child link="a"/> <axis xyz="0 0.6 0.8"/>
        </joint>
        <joint name="follow" type="continuous">
          <parent link="a"/> <child link="b"/> <mimic joint="lead" multiplier="2" offset="0.3"/>
        </joint>
      </robot>""")
    model, peer = pp.load(file), pin.buildModelFromUrdf(str(file))
    angles = np.array([0.7, 2 * 0.7 + 0.3])
    expected = np.stack([np.cos(angles), np.sin(angles)], axis=-1).ravel()
    assert model.to_pinocchio([0.7], peer=peer) == pytest.approx(expected)
    assert model.from_pinocchio(expected, peer=peer) == pytest.approx([0.7])


def test_the_only_free_joint_is_matched_whatever_its_name():
    model = pp.load(PANDA, base="free")
    peer = pin.buildModelFromUrdf(str(PANDA), pin.JointModelFreeFlyer())
    assert peer.names[1] == "root_joint"
    q = model.random(np.random.default_rng(0))
    assert model.from_pinocchio(model.to_pinocchio(q, peer=peer), peer=peer) == pytest.approx(q)


def test_a_layout_tells_its_sizes():
    model = pp.load(PANDA)
    layout = layout_of_pinocchio(model, pin.buildModelFromUrdf(str(PANDA)))
    text = "<Layout of Pinocchio: nq = 8 here, 9 there, nv = 8 here, 9 there>"
    assert repr(layout) == text


# -- errors


def arm(*kinds: joints.JointKind, **options) -> pp.Model:
    builder = pp.ModelBuilder("arm")
    for k, kind in enumerate(kinds):
        builder.add_body(
            f"link {k}", joint=kind, joint_name=f"j{k}", mass=1.0, inertia=(1, 1, 1), **options
        )
    return builder.build()


HINGE = joints.Revolute()


@pytest.mark.parametrize(
    ("model", "peer", "text"),
    [
        (
            arm(HINGE, HINGE),
            pin_arm(pin.JointModelRZ()),
            "the Pinocchio model has no joint 'j1' of 'arm'; valid names: 'j0'",
        ),
        (
            arm(HINGE),
            pin_arm(pin.JointModelRZ(), pin.JointModelRZ()),
            "'arm' has no joint 'j1' of the Pinocchio model; ",
        ),
        (
            arm(HINGE),
            pin_arm(pin.JointModelPZ()),
            "joint 'j0' is Revolute here and Prismatic in Pinocchio",
        ),
        (
            arm(joints.Planar((1, 0, 0))),
            pin_arm(pin.JointModelPlanar()),
            "joint 'j0' is Planar(normal=(1.0, 0.0, 0.0)) here and Planar(normal=(0.0, 0.0, 1.0)) ",
        ),
        (
            arm(joints.SphericalEuler("xyz")),
            pin_arm(pin.JointModelSphericalZYX()),
            "joint 'j0' is SphericalEuler(sequence='xyz') here and SphericalEuler(sequence='zyx')",
        ),
        (
            arm(joints.Revolute((0, 0, -1))),
            pin_arm(pin.JointModelRZ()),
            "joint 'j0' is Revolute(axis=(0.0, 0.0, -1.0)) here and Revolute(axis=(0.0, 0.0, 1.0))",
        ),
        (
            arm(joints.Continuous((0, 0, -1))),
            pin_arm(pin.JointModelRUBZ()),
            "joint 'j0' is Continuous(axis=(0.0, 0.0, -1.0)) here and Continuous(axis=(0.0, 0.0, 1",
        ),
        (
            arm(joints.Prismatic((1, 0, 0))),
            pin_arm(pin.JointModelPZ()),
            "joint 'j0' is Prismatic(axis=(1.0, 0.0, 0.0)) here and Prismatic(axis=(0.0, 0.0, 1.0)",
        ),
        (
            arm(joints.Helical((0, 0, 1), 0.2)),
            pin_arm(pin.JointModelHZ(0.3)),
            "joint 'j0' is Helical(axis=(0.0, 0.0, 1.0), pitch=0.2) here and Helical(axis=(0.0, 0.",
        ),
        (
            arm(joints.Universal((0, 1, 0), (1, 0, 0))),
            pin_arm(pin.JointModelUniversal(np.array([1.0, 0, 0]), np.array([0, 1.0, 0]))),
            "joint 'j0' is Universal(first=(0.0, 1.0, 0.0), second=(1.0, 0.0, 0.0)) here and Unive",
        ),
        (
            arm(joints.Custom(lambda q: ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], q), 3)),
            pin_arm(pin.JointModelEllipsoid(0.3, 0.5, 0.7)),
            "joint 'j0' is Custom(pose=<function <lambda> at",
        ),
        (arm(HINGE), mujoco, "peer: expected a pinocchio.Model, got module"),
    ],
)
def test_joints_that_do_not_match_pinocchios(model, peer, text):
    with pytest.raises(pp.InputError) as caught:
        model.to_pinocchio(model.neutral(), peer=peer)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("model", "peer", "text"),
    [
        (
            arm(HINGE, HINGE),
            mujoco_arm("hinge"),
            "the MuJoCo model has no joint 'j1' of 'arm'; ",
        ),
        (arm(HINGE), mujoco_arm("slide"), "joint 'j0' is Revolute here and Prismatic in MuJoCo"),
        (
            arm(joints.Revolute((0, 0, -1))),
            mujoco_arm("hinge"),
            "joint 'j0' is Revolute(axis=(0.0, 0.0, -1.0)) here and Revolute(axis=(0.0, 0.0, 1.0))",
        ),
        (
            arm(HINGE, position=(0.0, 0.0, 0.1)),
            mujoco_arm('hinge" ref="30'),
            "joint 'j0' counts from 0.523599 in MuJoCo, its ref, and is placed otherwise here",
        ),
        (
            arm(joints.Free(), position=(0, 0, 1)),
            mujoco_arm("free"),
            "joint 'j0' is free and not placed at the world's own frame",
        ),
        (arm(HINGE), pin, "peer: expected a mujoco.MjModel or mujoco.MjSpec, got"),
    ],
)
def test_joints_that_do_not_match_mujocos(model, peer, text):
    with pytest.raises(pp.InputError) as caught:
        model.to_mujoco(model.neutral(), peer=peer)
    assert str(caught.value).startswith(text)


def test_a_base_that_floats_on_one_side_alone_is_named():
    """As where a file is read with another base on either side."""
    fixed, floating = arm(joints.Fixed(), HINGE), arm(joints.Free(), HINGE)
    with pytest.raises(pp.InputError, match="no joint 'j0', on which the Pinocchio model floats"):
        fixed.to_pinocchio([0.0], peer=pin_arm_of(floating))
    with pytest.raises(pp.InputError, match="has no joint 'j0', on which 'arm' floats; load it"):
        floating.to_pinocchio(floating.neutral(), peer=pin_arm_of(fixed))


def pin_arm_of(machine):
    return pinocchio_bridge.from_model(machine).model


def test_axes_are_compared_in_the_world():
    """A frame turned half round x has its z downwards: the same joint by another axis."""
    turned = arm(joints.Revolute((0, 0, -1)), rotation=np.diag([1.0, -1.0, -1.0]))
    peer = pin_arm(pin.JointModelRZ())
    assert turned.to_pinocchio([0.4], [2.0], peer=peer) == ([0.4], [2.0])
    assert arm(joints.Continuous()).to_pinocchio([0.4], peer=peer) == [0.4]


@pytest.mark.parametrize("kind", ["hinge", "slide"])
def test_a_ref_of_mujoco_is_counted_from(kind):
    """Ours, without a ref, is where MuJoCo's is at its ref; poses agree, there and back."""
    axial = joints.Revolute if kind == "hinge" else joints.Prismatic
    builder = pp.ModelBuilder("arm")
    for k, carrier in enumerate(("world", "link 0")):
        builder.add_body(
            f"link {k}",
            carrier,
            axial((0, 0.6, 0.8)),
            joint_name=f"j{k}",
            position=(0.1, 0.2, 0.3),
            mass=1.0,
            inertia=(1, 1, 1),
            mimic=("j0", -2.0, 0.1) if k else None,
        )
    model = builder.build()
    joint = '<joint name="j{0}" type="{1}" axis="0 0.6 0.8" ref="{2}"/><geom size="1"/>'
    body = '<body name="link {0}" pos="0.1 0.2 0.3">{1}{2}</body>'
    tip = body.format(1, joint.format(1, kind, -0.25), "")
    text = body.format(0, joint.format(0, kind, 0.5), tip)
    text = f'<compiler angle="radian"/><worldbody>{text}</worldbody>'
    peer = mujoco.MjModel.from_xml_string(f"<mujoco>{text}</mujoco>")
    data = mujoco.MjData(peer)
    data.qpos = model.to_mujoco([0.7], peer=peer)
    assert data.qpos == pytest.approx([0.7 + 0.5, -2.0 * 0.7 + 0.1 - 0.25])
    mujoco.mj_forward(peer, data)
    poses = pp.body_poses(model, [0.7])
    for k in range(2):
        assert poses[k, :3, 3] == pytest.approx(data.xpos[k + 1])
        assert poses[k, :3, :3].ravel() == pytest.approx(data.xmat[k + 1])
    assert model.from_mujoco(data.qpos, peer=peer) == pytest.approx([0.7])


def test_a_joint_that_follows_there_alone():
    peer = pin.buildModelFromUrdf(str(PANDA), mimic=True)
    model = pp.load(PANDA, mimic="independent")
    text = "'panda_finger_joint2' follows 'panda_finger_joint1' in Pinocchio and moves on its own"
    with pytest.raises(pp.InputError, match=text):
        model.to_pinocchio(model.neutral(), peer=peer)
    followed = pp.load(PANDA)
    q = followed.random(np.random.default_rng(0))
    theirs = followed.to_pinocchio(q, peer=peer)
    assert sorted(theirs) == sorted(q)


def test_a_machine_without_a_layout_asks_for_the_peer():
    model = arm(HINGE)
    with pytest.raises(pp.InputError, match=r"'arm' was not made by pp.from_mujoco; give the mujo"):
        model.to_mujoco([0.0])
    with pytest.raises(pp.InputError, match=r"'arm' was not made by pp.from_pinocchio; give the "):
        model.from_pinocchio([0.0])
    with pytest.raises(pp.InputError, match=r"unknown package 'drake'; valid names: 'pinocchio'"):
        model.layout("drake")
    with pytest.raises(pp.InputError, match=r"unknown package \['mujoco'\]; did you mean 'mujoco'"):
        model.layout(["mujoco"])


def test_layouts_are_also_to_be_had_from_a_spec():
    spec = mujoco.MjSpec.from_string(LEG % "")
    model = pp.from_mujoco(spec)
    assert repr(layout_of_mujoco(model, spec)) == repr(model.layouts["mujoco"])
