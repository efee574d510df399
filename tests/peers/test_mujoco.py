"""MuJoCo as a second witness: random machines of the joints it has, from the same parameters.

MuJoCo orders quaternions w first. A free joint's speeds there are the velocity of its origin in
world axes, then omega in body axes; ours are both in body axes, angular part first. Joints of
several coordinates are several MuJoCo joints on one body, in the same order.
"""

import warnings

import machines
import mujoco
import numpy as np
from hypothesis import given, settings
from peers.projected import BIAS, FORWARD, GRAVITY, MASS

import phipsi as pp
from phipsi import joints, spatial
from phipsi.model.tree import WORLD

TOLERANCE = 1e-9
HINGE, SLIDE = mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE
BALL, FREE = mujoco.mjtJoint.mjJNT_BALL, mujoco.mjtJoint.mjJNT_FREE
KINDS = [
    *(machines.revolute, machines.continuous, machines.prismatic, machines.cylindrical),
    *(machines.universal, machines.spherical, machines.spherical_euler),
]


def parts(kind):
    """The MuJoCo joints that make up one of ours: (type, axis)."""
    match kind:
        case joints.Revolute():
            return [(HINGE, kind.axis)]
        case joints.Prismatic():
            return [(SLIDE, kind.axis)]
        case joints.Cylindrical():
            return [(HINGE, kind.axis), (SLIDE, kind.axis)]
        case joints.Universal():
            return [(HINGE, kind.first), (HINGE, kind.second)]
        case joints.SphericalEuler():
            return [(HINGE, getattr(joints, letter.upper())) for letter in kind.sequence]
        case joints.Spherical():
            return [(BALL, joints.Z)]
        case joints.Free():
            return [(FREE, joints.Z)]
    raise AssertionError(f"MuJoCo has no {type(kind).__name__}")


def in_mujoco(model: pp.Model) -> mujoco.MjModel:
    spec = mujoco.MjSpec()
    spec.compiler.inertiafromgeom = 0
    spec.option.gravity = model.gravity
    bodies = []
    for body, joint in zip(model.bodies, model.joints, strict=True):
        carrier = spec.worldbody if body.parent == WORLD else bodies[body.parent]
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, np.ravel(joint.placement.rotation))
        own = carrier.add_body(name=body.name, pos=joint.placement.position, quat=quaternion)
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = body.inertia.rotational
        own.explicitinertial = True
        own.mass, own.ipos = body.inertia.mass, body.inertia.com
        own.fullinertia = [xx, yy, zz, xy, xz, yz]
        for i, (kind, axis) in enumerate(parts(joint.kind)):
            motor = joint.reflected_inertia
            own.add_joint(name=f"{joint.name}.{i}", type=kind, axis=axis, armature=motor)
        bodies.append(own)
    with warnings.catch_warnings():
        # It tries the neutral configuration, where sequences such as zxz are at gimbal lock.
        warnings.filterwarnings("ignore", message="Inertia matrix is too close to singular")
        return spec.compile()


def state_in_mujoco(model: pp.Model, q: np.ndarray, v: np.ndarray):
    """qpos, the matrix S of `qvel = S v`, and the rate of S times v."""
    position, S, rate = [], np.eye(model.nv), np.zeros(model.nv)
    for joint in model.joints:
        own = q[joint.q]
        if isinstance(joint.kind, joints.Free):
            seat = np.array(joint.placement.rotation)  # MuJoCo's free joints start at the world
            R = seat @ spatial.rotation_from_quaternion(own[:4])
            quaternion = np.zeros(4)
            mujoco.mju_mat2Quat(quaternion, R.ravel())
            position += [*(joint.placement.position + seat @ own[4:]), *quaternion]
            i = joint.v.start
            S[i : i + 6, i : i + 6] = np.block(
                [[np.zeros((3, 3)), R], [np.eye(3), np.zeros((3, 3))]]
            )
            rate[i : i + 3] = R @ np.cross(v[i : i + 3], v[i + 3 : i + 6])
        elif isinstance(joint.kind, joints.Spherical):
            position += [own[3], *own[:3]]
        else:
            position += [*own]
    return np.array(position), S, rate


def bias_of(peer: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """Kinematics, then Newton-Euler without acceleration: Coriolis and gravity."""
    result = np.zeros(peer.nv)
    mujoco.mj_kinematics(peer, data)
    mujoco.mj_comPos(peer, data)
    mujoco.mj_comVel(peer, data)
    mujoco.mj_rne(peer, data, 0, result)
    return result


@given(
    machines.machines_with_states(kinds=KINDS, max_bodies=20, shapes=("chain", "tree", "forest"))
)
@settings(max_examples=100)
def test_random_machines_move_as_in_mujoco(machine):
    """Mass matrix, bias, gravity and forward dynamics, with motors, fixed and free base."""
    model, q, v = machine
    peer = in_mujoco(model)
    data = mujoco.MjData(peer)
    data.qpos, S, rate = state_in_mujoco(model, q, v)
    gravity = S.T @ bias_of(peer, data)
    full = np.zeros((peer.nv, peer.nv))
    mujoco.mj_crb(peer, data)
    mujoco.mj_fullM(peer, data, full)
    data.qvel = S @ v
    bias = S.T @ (bias_of(peer, data) + full @ rate)
    tau = np.random.default_rng(len(model.bodies)).normal(size=model.nv)
    mass = S.T @ full @ S
    for what, ours, theirs in (
        ("mass matrix", pp.as_matrix(model, MASS, q), mass),
        ("gravity", pp.as_matrix(model, GRAVITY, q), gravity),
        ("bias", pp.as_matrix(model, BIAS, q, v), bias),
        (
            "forward dynamics",
            pp.as_matrix(model, FORWARD, q, v, force=tau),
            np.linalg.solve(mass, tau - bias),
        ),
    ):
        error = np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-6)
        assert error < TOLERANCE, f"{what} of {model.name} differs by {error:.1e}"
