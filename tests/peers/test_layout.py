"""States of other packages in our numbers, and back: along motions, in batches, with errors."""

import machines
import mujoco
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from peers import pinocchio_bridge
from peers.mujoco_bridge import LEG, error, leg, state
from peers.robots import FOLDER
from peers.test_mujoco import KINDS as MUJOCO_KINDS
from peers.test_mujoco import in_mujoco, state_in_mujoco

import phipsi as pp
from phipsi import joints
from phipsi.model.peers.mujoco.machine import layout_of_mujoco
from phipsi.model.peers.pinocchio.machine import layout_of_pinocchio

PANDA = FOLDER / "panda_description/urdf/panda.urdf"
STEP = 1e-4
KINDS = [kind for kind in machines.ALL_KINDS if kind is not machines.custom]


def pinocchio_zoo() -> pin.Model:
    """A free base with a planar joint, an unbounded one, a ball and three slides on it."""
    peer = pin.Model()
    for k, kind in enumerate(
        (
            pin.JointModelFreeFlyer(),
            pin.JointModelPlanar(),
            pin.JointModelRUBY(),
            pin.JointModelSpherical(),
            pin.JointModelTranslation(),
        )
    ):
        number = peer.addJoint(k // 2, kind, pin.SE3.Random(), f"joint {k}")
        peer.appendBodyToJoint(number, pin.Inertia.FromSphere(1.0, 0.5), pin.SE3.Random())
    return peer


def moved(model: pp.Model, q, v, vdot, h: float):
    """The state a little later, exact to the second order."""
    return pp.integrate(model, q, h * v + 0.5 * h * h * vdot), v + h * vdot


# -- along motions


def test_speeds_and_accelerations_are_rates_of_mujocos():
    """qvel moves qpos as MuJoCo moves it; qacc is the rate of qvel."""
    peer = leg()
    model = pp.from_mujoco(peer)
    q, v = state(model)
    vdot = np.random.default_rng(1).normal(size=model.nv)
    qpos, qvel, qacc = model.to_mujoco(q, v, vdot)
    ends = {}
    for h in (STEP, -STEP):
        there, speed = model.to_mujoco(*moved(model, q, v, vdot, h))
        tangent = np.zeros(peer.nv)
        mujoco.mj_differentiatePos(peer, tangent, h, qpos, there)
        ends[h] = tangent, speed
    (first, ahead), (second, behind) = ends.values()
    assert (first + second) / 2 == pytest.approx(qvel, abs=1e-6)
    assert (ahead - behind) / (2 * STEP) == pytest.approx(qacc, abs=1e-5)


def test_speeds_and_accelerations_are_rates_of_pinocchios():
    peer = pinocchio_zoo()
    model = pp.from_pinocchio(peer)
    rng = np.random.default_rng(2)
    q, v, vdot = model.random(rng), *rng.normal(size=(2, model.nv))
    start, speeds, rates = model.to_pinocchio(q, v, vdot)
    (first, ahead), (second, behind) = (
        (pin.difference(peer, start, there) / h, speed)
        for h in (STEP, -STEP)
        for there, speed in [model.to_pinocchio(*moved(model, q, v, vdot, h))]
    )
    assert (first + second) / 2 == pytest.approx(speeds, abs=1e-6)
    assert (ahead - behind) / (2 * STEP) == pytest.approx(rates, abs=1e-5)


def test_forces_have_the_same_power():
    """Also where joints follow, and the peer has forces of their own."""
    rest = '<equality> <joint joint1="toe" joint2="pitch" polycoef="0 -3 0 0 0"/> </equality>'
    for model, package in (
        (pp.from_mujoco(leg(rest)), "mujoco"),
        (pp.from_pinocchio(pinocchio_zoo()), "pinocchio"),
    ):
        layout, rng = model.layout(package), np.random.default_rng(3)
        q, v, tau = model.random(rng), *rng.normal(size=(2, model.nv))
        there, speeds, forces = layout.to_peer(q, v, tau=tau)
        assert forces @ speeds == pytest.approx(tau @ v)
        forces = rng.normal(size=layout.nv)
        assert layout.from_peer(there, tau=forces)[1] @ v == pytest.approx(forces @ speeds)
        assert layout.speed_map(q) @ v == pytest.approx(speeds)


@settings(max_examples=40)
@given(machines.machines_with_states(kinds=KINDS, max_bodies=8))
def test_random_machines_come_back_from_pinocchio(machine):
    """Ours, built in Pinocchio, taken over again: the same energies in the same state."""
    model, q, v = machine
    peer = pinocchio_bridge.from_model(model)
    again = pp.from_pinocchio(peer.model)
    found = again.from_pinocchio(peer.q_to_pin(q), peer.v_to_pin(v))
    T = again.layouts["pinocchio"].speed_map(found[0])
    assert error(T @ found[1], peer.v_to_pin(v)) < 1e-12
    lead = np.linalg.lstsq(T, peer.S, rcond=None)[0]
    mass = lead.T @ pp.mass_matrix(again, found[0]) @ lead
    assert error(mass, pp.mass_matrix(model, q)) < 1e-9
    assert error(lead.T @ pp.bias_force(again, *found), pp.bias_force(model, q, v)) < 1e-9


@settings(max_examples=40)
@given(machines.machines_with_states(kinds=MUJOCO_KINDS, max_bodies=8))
def test_random_machines_come_back_from_mujoco(machine):
    model, q, v = machine
    again = pp.from_mujoco(in_mujoco(model))
    qpos, S, rate = state_in_mujoco(model, q, v)
    found = again.from_mujoco(qpos, S @ v)
    assert pp.kinetic_energy(again, *found) == pytest.approx(pp.kinetic_energy(model, q, v))
    layout = again.layouts["mujoco"]
    T = layout.speed_map(found[0])
    bias = pp.bias_force(again, *found) + pp.mass_matrix(again, found[0]) @ T.T @ (
        rate - layout.rate(*found)
    )
    assert error(S.T @ T @ bias, pp.bias_force(model, q, v)) < 1e-9


# -- batches


@pytest.mark.parametrize("batch", [(), (4,), (2, 3)])
def test_batches_are_converted_at_once(batch):
    rng = np.random.default_rng(4)
    for model, package in (
        (pp.from_mujoco(leg()), "mujoco"),
        (pp.from_pinocchio(pinocchio_zoo()), "pinocchio"),
    ):
        layout = model.layout(package)
        q = np.array([model.random(rng) for _ in range(int(np.prod(batch)))])
        q = q.reshape(*batch, model.nq)
        v, vdot, tau = rng.normal(size=(3, *batch, model.nv))
        theirs = layout.to_peer(q, v, vdot, tau)
        assert [x.shape for x in theirs] == [(*batch, layout.nq), *[(*batch, layout.nv)] * 3]
        for found, expected in zip(layout.from_peer(*theirs), (q, v, vdot, tau), strict=True):
            assert error(found, expected) < 1e-14
        for i in np.ndindex(batch):
            one = layout.to_peer(q[i], v[i], vdot[i], tau[i])
            for x, y in zip(one, theirs, strict=True):
                assert np.array_equal(x, y[i])
        assert layout.speed_map(q).shape == (*batch, layout.nv, model.nv)


def test_one_configuration_goes_with_many_speeds():
    model = pp.from_mujoco(leg())
    q, v = state(model)
    qpos, qvel, qacc = model.to_mujoco(q, np.stack([v, 2 * v]), np.zeros(model.nv))
    assert (qpos.shape, qvel.shape) == ((model.nq,), (2, model.nv))
    assert qacc[1] == pytest.approx(4 * qacc[0])
    with pytest.raises(pp.InputError, match="the batches do not broadcast"):
        model.to_mujoco(np.stack([q, q, q]), np.stack([v, v]))


def test_one_array_comes_alone():
    model = pp.from_mujoco(leg())
    q, v = state(model)
    assert isinstance(model.to_mujoco(q), np.ndarray)
    assert isinstance(model.from_mujoco(model.to_mujoco(q)), np.ndarray)
    assert isinstance(model.to_mujoco(q, v), tuple)


def test_mujoco_takes_quaternions_of_any_length():
    model = pp.from_mujoco(leg())
    q, _ = state(model)
    qpos = model.to_mujoco(q)
    qpos[3:7] *= 3.0
    assert model.from_mujoco(qpos) == pytest.approx(q)
    qpos[3:7] = 0.0
    with pytest.raises(pp.InputError, match="q: a quaternion has length zero"):
        model.from_mujoco(qpos)


# -- matched by name


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


def pin_arm(*kinds) -> pin.Model:
    peer = pin.Model()
    for k, kind in enumerate(kinds):
        peer.addJoint(0, kind, pin.SE3.Identity(), f"j{k}")
    return peer


def mujoco_arm(*kinds: str) -> mujoco.MjModel:
    bodies = (f'<joint name="j{k}" type="{kind}"/>' for k, kind in enumerate(kinds))
    text = "".join(f'<body>{joint}<geom size="1"/></body>' for joint in bodies)
    return mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{text}</worldbody></mujoco>")


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
            "joint 'j0' is Revolute here and moves as Prismatic in Pinocchio",
        ),
        (
            arm(joints.Planar((1, 0, 0))),
            pin_arm(pin.JointModelPlanar()),
            "joint 'j0' is Planar; Pinocchio's lie across z, this does not",
        ),
        (arm(HINGE), mujoco, "layout_of_pinocchio: expected a pinocchio.Model, got module"),
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
        (arm(HINGE), mujoco_arm("slide"), "joint 'j0' is Revolute here and a slide in MuJoCo"),
        (
            arm(joints.Free(), position=(0, 0, 1)),
            mujoco_arm("free"),
            "joint 'j0' is free and not placed at the world's own frame",
        ),
        (arm(HINGE), pin, "layout_of_mujoco: expected a mujoco.MjModel or mujoco.MjSpec, got"),
    ],
)
def test_joints_that_do_not_match_mujocos(model, peer, text):
    with pytest.raises(pp.InputError) as caught:
        model.to_mujoco(model.neutral(), peer=peer)
    assert str(caught.value).startswith(text)


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


def test_arrays_of_the_wrong_size_are_refused():
    model = pp.from_mujoco(mujoco.MjModel.from_xml_string(LEG % ""))
    q, v = state(model)
    with pytest.raises(pp.InputError, match=r"q has shape \(3,\); expected \(\*batch, 16\), nq "):
        model.to_mujoco([0.0, 0.0, 0.0])
    with pytest.raises(pp.InputError, match=r"v has shape \(1,\); .* nv being 14 in MuJoCo"):
        model.from_mujoco(model.to_mujoco(q), [0.0])
    with pytest.raises(pp.InputError, match="vdot needs v too"):
        model.to_mujoco(q, vdot=v)


def test_layouts_are_also_to_be_had_from_a_spec():
    spec = mujoco.MjSpec.from_string(LEG % "")
    model = pp.from_mujoco(spec)
    assert repr(layout_of_mujoco(model, spec)) == repr(model.layouts["mujoco"])
