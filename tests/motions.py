"""Trajectories made by hand, for the tests of what is done with them."""

import numpy as np
import pytest

import phipsi as pp
from phipsi import joints
from phipsi.errors import InputError
from phipsi.simulate.trajectory import Trajectory


def waving(model, samples=7, batch=(), seed=0, duration=1.0, **more):
    """Every joint moves on from a random configuration at speeds that wave; no law of motion."""
    rng = np.random.default_rng(seed)
    times = np.linspace(0.0, duration, samples)
    pace, start = rng.uniform(0.2, 1.0, (2, *batch, 1, model.nv))
    v = pace * np.cos(times[:, None] + start)
    q = np.empty((*batch, samples, model.nq))
    for index in np.ndindex(batch):
        q[(*index, 0)] = model.random(rng)
    for k, h in enumerate(np.diff(times)):
        q[..., k + 1, :] = pp.integrate(model, q[..., k, :], h * v[..., k, :])
    return Trajectory(model, times, q, v, **more)


def pendulum(length=0.5, mass=2.0):
    """A point mass on a weightless rod that hangs along -z and turns about y."""
    builder = pp.ModelBuilder("pendulum")
    hinge = joints.Revolute((0, 1, 0))
    builder.add_body("bob", joint=hinge, joint_name="hinge", mass=mass, com=(0, 0, -length))
    return builder.build()


def gripper():
    """Two fingers, of which the second follows the first: q = 0.05 - 2 q_left."""
    builder = pp.ModelBuilder("gripper")
    slide = joints.Prismatic((0, 1, 0))
    builder.add_body("palm", joint=joints.Revolute(), joint_name="wrist", mass=1.0, com=(0.1, 0, 0))
    builder.add_body("left", "palm", slide, joint_name="left slide", mass=0.1)
    follow = ("left slide", -2.0, 0.05)
    builder.add_body("right", "palm", slide, joint_name="right slide", mass=0.1, mimic=follow)
    return builder.build()


def refusal(action, *arguments, error=InputError, **keywords):
    """The message with which something is refused, one line of it."""
    with pytest.raises(error) as caught:
        action(*arguments, **keywords)
    assert "\n" not in str(caught.value)
    return str(caught.value)
