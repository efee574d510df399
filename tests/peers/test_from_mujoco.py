"""Machines of installable packages: what we make of MuJoCo's models moves as MuJoCo says.

Without contacts, limits, springs, losses, motors, water and air: these are no part of a tree.
"""

import mujoco
import numpy as np
import pytest
from peers.mjcf_machines import INSTALLED
from peers.mujoco_bridge import error, frame_pose, full_mass_matrix, pose, read, strip

import phipsi as pp

TOLERANCE = 1e-9
LARGE = ("dog", "fruitfly", "humanoid_CMU", "rodent")  # one state each


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """MuJoCo leaves its warnings in a file where it runs."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(params=INSTALLED)
def machine(request):
    """Of one file: MuJoCo's model, ours with all joints free, and some states of ours."""
    peer = read(request.param)
    model = pp.from_mujoco(peer, mimic="independent").opened()
    strip(peer)
    rng = np.random.default_rng(len(request.param))
    count = 1 if request.param in LARGE else 3
    states = [
        (model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv))
        for _ in range(count)
    ]
    return peer, model, states


def test_machines_move_as_in_mujoco(machine):
    """Mass matrix, bias, inverse and forward dynamics, and the poses of bodies and sites."""
    peer, model, states = machine
    data, layout = mujoco.MjData(peer), model.layouts["mujoco"]
    for q, v, tau in states:
        data.qpos, data.qvel, data.qfrc_applied = model.to_mujoco(q, v, tau=tau)
        mujoco.mj_forward(peer, data)
        full, T = full_mass_matrix(peer, data), layout.speed_map(q)
        vdot = model.from_mujoco(data.qpos, data.qvel, data.qacc)[2]
        assert error(pp.mass_matrix(model, q), T.T @ full @ T) < TOLERANCE
        bias = T.T @ (data.qfrc_bias + full @ layout.rate(q, v))
        assert error(pp.bias_force(model, q, v), bias) < TOLERANCE
        assert error(pp.forward_dynamics(model, q, v, tau), vdot) < TOLERANCE
        assert error(pp.inverse_dynamics(model, q, v, vdot), tau) < TOLERANCE

        poses = pp.body_poses(model, q)
        names = [peer.body(i).name for i in range(peer.nbody)]
        for i, name in enumerate(names):
            if name:
                found = frame_pose(model, poses, name)
                assert error(found, pose(data.xpos[i], data.xmat[i])) < TOLERANCE, name
        for i in range(peer.nsite):
            name = peer.site(i).name
            name = f"{name}_site" if name in names else name
            if name:
                found = frame_pose(model, poses, name)
                assert error(found, pose(data.site_xpos[i], data.site_xmat[i])) < TOLERANCE, name


def test_joints_that_follow_are_the_projected_machine():
    """Knobs of a kitchen that turn together: T ties them as MuJoCo's constraints would."""
    peer = read("kitchen")
    model = pp.from_mujoco(peer).opened()
    data = mujoco.MjData(strip(peer))
    assert 0 < len(model.joints) - len(model.leaders) < peer.neq + 1
    rng = np.random.default_rng(7)
    q, v, tau = model.random(rng), *rng.normal(size=(2, model.nv))
    data.qpos, data.qvel = model.to_mujoco(q, v)
    mujoco.mj_forward(peer, data)
    layout, full = model.layouts["mujoco"], full_mass_matrix(peer, data)
    T = layout.speed_map(q)
    mass, bias = T.T @ full @ T, T.T @ (data.qfrc_bias + full @ layout.rate(q, v))
    assert error(pp.mass_matrix(model, q), mass) < TOLERANCE
    assert error(pp.bias_force(model, q, v), bias) < TOLERANCE
    vdot = np.linalg.solve(mass, tau - bias)
    assert error(pp.forward_dynamics(model, q, v, tau), vdot) < TOLERANCE


def test_sixteen_machines_and_more_are_there():
    assert len(INSTALLED) >= 16
