"""States of other packages in our numbers, and back: along motions, in batches."""

import machines
import mujoco
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from peers import pinocchio_bridge
from peers.mujoco_bridge import LEG, error, leg, state
from peers.test_mujoco import KINDS as MUJOCO_KINDS
from peers.test_mujoco import in_mujoco, state_in_mujoco

import phipsi as pp

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


def pin_arm(*kinds) -> pin.Model:
    peer = pin.Model()
    for k, kind in enumerate(kinds):
        peer.addJoint(0, kind, pin.SE3.Identity(), f"j{k}")
    return peer


def mujoco_arm(*kinds: str) -> mujoco.MjModel:
    bodies = (f'<joint name="j{k}" type="{kind}"/>' for k, kind in enumerate(kinds))
    text = "".join(f'<body>{joint}<geom size="1"/></body>' for joint in bodies)
    return mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{text}</worldbody></mujoco>")


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
    assert (qpos.shape, qvel.shape) == ((2, model.nq), (2, model.nv))
    assert qacc[1] == pytest.approx(4 * qacc[0])


@pytest.mark.parametrize("package", ["mujoco", "pinocchio"])
def test_batches_go_together_or_are_refused(package):
    """Also where nothing turns, and each array could be converted alone."""
    if package == "mujoco":
        model = pp.from_mujoco(mujoco_arm("hinge", "slide"))
    else:
        model = pp.from_pinocchio(pin_arm(pin.JointModelRX(), pin.JointModelPZ()))
    layout = model.layout(package)
    for convert in (layout.to_peer, layout.from_peer):
        shapes = [x.shape for x in convert(np.zeros((3, 1, 2)), np.zeros((4, 2)), tau=[1.0, 2.0])]
        assert shapes == [(3, 4, 2)] * 3
        with pytest.raises(
            pp.InputError, match=r"the batches do not broadcast: q \(3,\), v \(2,\)"
        ):
            convert(np.zeros((3, 2)), np.zeros((2, 2)))
    with pytest.raises(pp.InputError, match=r"the batches do not broadcast"):
        layout.rate(np.zeros((3, 2)), np.zeros((2, 2)))


def test_one_array_comes_alone():
    model = pp.from_mujoco(leg())
    q, v = state(model)
    assert isinstance(model.to_mujoco(q), np.ndarray)
    assert isinstance(model.from_mujoco(model.to_mujoco(q)), np.ndarray)
    assert isinstance(model.to_mujoco(q, v), tuple)


@pytest.fixture(params=["mujoco", "pinocchio"])
def with_quaternions(request):
    """A machine whose first joint is free, and its layout."""
    if request.param == "mujoco":
        model = pp.from_mujoco(leg())
    else:
        model = pp.from_pinocchio(pinocchio_zoo())
    return model, model.layout(request.param)


def test_quaternions_of_a_peer_are_brought_to_length_one(with_quaternions):
    model, layout = with_quaternions
    q = model.random(np.random.default_rng(6))
    there = layout.to_peer(q)
    there[3:7] *= 3.0
    assert layout.from_peer(there) == pytest.approx(q)
    there[3:7] = 0.0
    text = f"q: the quaternion of joint {model.joints[0].name!r} has length zero, and tells no"
    with pytest.raises(pp.InputError, match=text):
        layout.from_peer(there)


def test_quaternions_of_ours_have_length_one(with_quaternions):
    """As everywhere: speeds would be turned by what is no rotation."""
    model, layout = with_quaternions
    q, v = model.neutral(), np.ones(model.nv)
    q[3] = 2.0
    text = f"q: the quaternion of joint {model.joints[0].name!r} has length 2; expected 1"
    for call in (
        lambda: layout.to_peer(q),
        lambda: layout.to_peer(q, v),
        lambda: layout.speed_map(q),
        lambda: layout.rate(q, v),
    ):
        with pytest.raises(pp.InputError, match=text):
            call()


# -- errors


def test_arrays_of_the_wrong_size_are_refused():
    model = pp.from_mujoco(mujoco.MjModel.from_xml_string(LEG % ""))
    q, v = state(model)
    with pytest.raises(pp.InputError, match=r"q has shape \(3,\); expected \(\*batch, 16\), nq "):
        model.to_mujoco([0.0, 0.0, 0.0])
    with pytest.raises(pp.InputError, match=r"v has shape \(1,\); .* nv being 14 in MuJoCo"):
        model.from_mujoco(model.to_mujoco(q), [0.0])
    with pytest.raises(pp.InputError, match="vdot needs v too"):
        model.to_mujoco(q, vdot=v)
