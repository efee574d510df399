"""Robots whose inertias and gravity are arguments, beside Pinocchio with these numbers."""

from importlib.metadata import distribution
from pathlib import Path

import machines
import numpy as np
import pinocchio as pin
import pytest
from numpy.testing import assert_allclose
from parametrised import evaluated, ten
from peers.pinocchio_bridge import from_urdf

import phipsi as pp
from phipsi.operators import C, Mass, T

SHARED = "cmeel.prefix/share/example-robot-data/robots"
FOLDER = Path(str(distribution("example-robot-data").locate_file(SHARED)))
ROBOTS = {
    "ur_description/urdf/ur5_robot.urdf": "fixed",
    "solo_description/robots/solo12.urdf": "free",
}
ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]  # Pinocchio has xx xy yy xz yz zz


@pytest.mark.parametrize("robot", ROBOTS)
def test_forward_dynamics_equal_those_with_changed_inertias(robot):
    path, base = FOLDER / robot, ROBOTS[robot]
    model, rng = pp.load(path, base=base), np.random.default_rng(1)
    peer = from_urdf(model, path, base)
    moments = np.array([ten(**machines.random_inertia(rng)) for _ in model.bodies])
    for joint, numbers in zip(model.joints, moments, strict=True):
        inertia = pin.Inertia.FromDynamicParameters(numbers[ORDER])
        peer.model.inertias[peer.model.getJointId(joint.name)] = inertia
    gravity = rng.uniform(-10.0, 10.0, 3)
    peer.model.gravity = pin.Motion(gravity, np.zeros(3))
    q, v = machines.random_state(model, rng)
    tau = rng.normal(size=model.nv)
    values = {"moments": moments, "gravity": gravity}
    (found,) = evaluated(model, (Mass.inv @ (T - C),), values, q, v, T=tau)
    assert_allclose(found, peer.forward_dynamics(q, v, tau), rtol=1e-9, atol=1e-9)
