"""The bridge itself: every joint kind, with motors, on a branching machine, against Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest
from peers import pinocchio_bridge

import phipsi as pp
from phipsi import joints
from phipsi.operators import C, Mass, S_q, vector
from phipsi.scalars import cos, sin

vdot, force = vector("vdot", "coordinate"), vector("force", "coordinate")


def cam(q):
    """A turn q0 about x, then a slide q1 along the turned y."""
    c, s = cos(q[0]), sin(q[0])
    turn = [[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]
    return turn, [0.0, c * q[1], s * q[1]]


KINDS = [
    joints.Revolute((1, -2, 0.5)),
    joints.Continuous((0, 1, 0)),
    joints.Prismatic((1, 1, 3)),
    joints.Helical((2, 0, -1), 0.3),
    joints.Cylindrical((1, 2, 3)),
    joints.Universal((1, 0, 0), (0, 1, 0)),
    joints.Universal((1, 2, 0), (0, 1, 2)),  # axes not square to each other
    joints.Planar((0, 0, 1)),
    joints.Planar((1, -2, -3)),
    joints.Spherical(),
    joints.SphericalEuler("zyx"),
    joints.SphericalEuler("zxz"),
    joints.SphericalEuler("xyz"),
    joints.Free(),
    joints.Custom(cam, 2),
]
CUSTOM = {"hinge": pinocchio_bridge.composite(pin.JointModelRX(), pin.JointModelPY())}


def machine_with(kind: joints.JointKind, mimic: tuple | None = None) -> pp.Model:
    """The joint under test between two others, with a motor; a branch beside it."""
    builder = pp.ModelBuilder("trial", gravity=(1.0, 2.0, -9.0))
    turned = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
    solid = {"mass": 2.0, "com": (0.1, -0.2, 0.3), "inertia": (0.3, 0.35, 0.4)}
    place = {"position": (0.4, -0.5, 0.6), "rotation": turned}
    builder.add_body("trunk", joint=joints.Free(), joint_name="root", **solid)
    builder.add_body(
        "arm",
        "trunk",
        kind,
        joint_name="hinge",
        rotor_inertia=0.02,
        gear_ratio=3.0,
        **place,
        **solid,
    )
    builder.add_body("hand", "arm", joints.Prismatic((0, 1, 1)), **place, **solid)
    builder.add_body("leg", "trunk", joints.Revolute((1, 0, 1)), **solid)
    builder.add_body("foot", "leg", joints.Revolute((1, 1, 1)), mimic=mimic, **place, **solid)
    return builder.build()


@pytest.mark.parametrize("mimic", [None, ("leg_joint", -0.7, 0.2)], ids=["", "mimic"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
def test_every_joint_kind_agrees(kind, mimic):
    """Without the mimic, S is square and the peer's forward dynamics is its ABA."""
    machine = machine_with(kind, mimic)
    peer = pinocchio_bridge.from_model(machine, CUSTOM)
    rng = np.random.default_rng(3)
    q, (v, a, tau) = machine.random(rng), rng.normal(size=(3, machine.nv))
    mass, bias = S_q.T @ Mass @ S_q, S_q.T @ C
    pairs = {
        "mass matrix": (pp.as_matrix(machine, mass, q), peer.mass_matrix(q)),
        "bias": (pp.as_matrix(machine, bias, q, v), peer.bias(q, v)),
        "gravity": (pp.as_matrix(machine, bias, q, 0 * v), peer.gravity(q)),
        "inverse dynamics": (
            pp.as_matrix(machine, mass @ vdot + bias, q, v, vdot=a),
            peer.inverse_dynamics(q, v, a),
        ),
        "forward dynamics": (
            pp.as_matrix(machine, mass.inv @ (force - bias), q, v, force=tau),
            peer.forward_dynamics(q, v, tau),
        ),
    }
    for name, (ours, theirs) in pairs.items():
        error = np.abs(ours - theirs).max() / np.abs(theirs).max()
        assert error < 1e-11, f"{name}: {error:.1e}"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
def test_speeds_are_the_rate_of_the_configuration(kind):
    """q_to_pin after our integrate = Pinocchio's integrate after S: one motion, two charts."""
    machine = machine_with(kind)
    peer = pinocchio_bridge.from_model(machine, CUSTOM)
    rng = np.random.default_rng(4)
    q, dq = machine.random(rng), 0.3 * rng.normal(size=machine.nv)
    ours = peer.frame_poses(pp.integrate(machine, q, dq))
    q_pin = pin.integrate(peer.model, peer.q_to_pin(q), peer.v_to_pin(dq))
    data = peer.model.createData()
    pin.framesForwardKinematics(peer.model, data, q_pin)
    for name, pose in ours.items():
        theirs = data.oMf[peer.model.getFrameId(name)].homogeneous
        np.testing.assert_allclose(pose, theirs, rtol=0, atol=1e-12, err_msg=name)
