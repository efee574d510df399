"""integrate, difference, poses and velocities of group joints, by Pinocchio."""

import math

import numpy as np
import pinocchio
from joint_motions import every_group, for_random_numbers, pose, tangent
from machines import free, planar, spherical
from numpy.testing import assert_allclose

from phipsi.joints import Planar


def pinocchio_model(make):
    joint = {
        free: pinocchio.JointModelFreeFlyer,
        spherical: pinocchio.JointModelSpherical,
        planar: pinocchio.JointModelPlanar,
    }[make]()
    model = pinocchio.Model()
    model.addJoint(0, joint, pinocchio.SE3.Identity(), "joint")
    return model


def to_pinocchio(make, q):
    """Pinocchio: position first; the planar angle as cosine and sine."""
    if make is free:
        return np.array([*q[4:], *q[:4]])
    if make is planar:
        return np.array([q[1], q[2], math.cos(q[0]), math.sin(q[0])])
    return np.array(q)


def tangent_to_pinocchio(make, d):
    """Pinocchio: linear part first."""
    if make is free:
        return np.array([*d[3:], *d[:3]])
    return np.array([d[1], d[2], d[0]]) if make is planar else np.array(d)


@every_group
@for_random_numbers
def test_integrate_and_difference_are_those_of_pinocchio(make, rng):
    kind = Planar() if make is planar else make(rng)
    witness = pinocchio_model(make)
    q0, q1, d = kind.random(rng), kind.random(rng), tangent(kind, rng)
    moved = to_pinocchio(make, kind.integrate(q0, d))
    reference = pinocchio.integrate(witness, to_pinocchio(make, q0), tangent_to_pinocchio(make, d))
    if make is not planar:
        quaternion = slice(-4, None)
        reference[quaternion] *= np.sign(reference[quaternion] @ moved[quaternion])
    assert_allclose(moved, reference, atol=1e-12)
    apart = tangent_to_pinocchio(make, kind.difference(q0, q1))
    reference = pinocchio.difference(witness, to_pinocchio(make, q0), to_pinocchio(make, q1))
    assert_allclose(apart, reference, atol=1e-9)


@every_group
@for_random_numbers
def test_pose_and_velocity_are_those_of_pinocchio(make, rng):
    kind = Planar() if make is planar else make(rng)
    witness = pinocchio_model(make)
    data = witness.createData()
    q, v = kind.random(rng), rng.uniform(-1.0, 1.0, kind.nv)
    pinocchio.forwardKinematics(witness, data, to_pinocchio(make, q), tangent_to_pinocchio(make, v))
    assert_allclose(pose(kind, q), data.oMi[1].homogeneous, atol=1e-12)
    V = np.array(kind.motion_map(q), float) @ v
    assert_allclose(V, [*data.v[1].angular, *data.v[1].linear], atol=1e-12)
