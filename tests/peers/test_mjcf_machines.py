"""MJCF files of installable packages: `pp.load` has them as MuJoCo does.

That MuJoCo's models move here as there is shown for `pp.from_mujoco`; here that the loader,
which hands to MuJoCo only what it has looked at, comes to the same machines.
"""

import xml.etree.ElementTree as ET

import mujoco
import numpy as np
import pytest
from peers.mjcf_machines import INSTALLED, path_of
from peers.mujoco_bridge import error, full_mass_matrix, read, strip

import phipsi as pp
from phipsi.model.geometry import Mesh
from phipsi.simulate.springs import Springs

TOLERANCE = 1e-8


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """MuJoCo leaves its warnings in a file where it runs; the loader does not."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(params=INSTALLED)
def name(request):
    return request.param


def test_loaded_machines_are_mujocos(name, tmp_path, capfd):
    """The same numbers, to the last bit, as of the model that MuJoCo reads by itself."""
    model = pp.load(path_of(name))
    assert not list(tmp_path.iterdir())
    assert capfd.readouterr() == ("", "")
    peer = pp.from_mujoco(mujoco.MjModel.from_xml_path(str(path_of(name))))
    assert model.bodies == peer.bodies
    assert model.joints == peer.joints
    assert model.frames == peer.frames
    assert model.gravity == peer.gravity
    assert model.closures == peer.closures
    assert model.couplings == peer.couplings
    assert model.mass == peer.mass
    if b"nkey" not in path_of(name).read_bytes():  # which makes keyframes that say nothing
        assert model.keyframes == peer.keyframes
    for ours, theirs in ((model.visuals, peer.visuals), (model.collisions, peer.collisions)):
        for mine, other in zip(ours, theirs, strict=True):
            assert mine.body == other.body
            assert mine.name == other.name or mine.name.startswith("geom")  # numbered
            assert np.allclose(mine.placement.matrix, other.placement.matrix, atol=2e-6)
            if not isinstance(mine.shape, Mesh):
                assert mine.shape == other.shape


def test_meshes_are_named_by_their_files(name):
    model = pp.load(path_of(name))
    paths = {each.shape.path for each in model.visuals if isinstance(each.shape, Mesh)}
    assert all(path.startswith(str(path_of(name).parents[1])) for path in paths)


def test_every_element_of_the_file_is_accounted_for(name):
    """Those of the file itself; included files have their own lines."""
    report = pp.load(path_of(name)).report
    own = [line for line in report if line.file == str(path_of(name))]
    count = sum(1 for _ in ET.parse(path_of(name)).iter())
    assert len(own) >= count
    assert not any("unknown" in line for line in report)


@pytest.mark.parametrize("name", ["ant", "cheetah", "fetch", "fish", "hand", "ball_joints"])
def test_loaded_machines_move_as_in_mujoco(name):
    """Mass matrix, bias and forward dynamics without contacts; springs as MuJoCo's."""
    peer, model = strip(read(name)), pp.load(path_of(name), mimic="independent").opened()
    data, rng = mujoco.MjData(peer), np.random.default_rng(5)
    q, v, tau = model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
    data.qpos, data.qvel, data.qfrc_applied = model.to_mujoco(q, v, tau=tau)
    mujoco.mj_forward(peer, data)
    layout = model.layouts["mujoco"]
    full, T = full_mass_matrix(peer, data), layout.speed_map(q)
    assert error(pp.mass_matrix(model, q), T.T @ full @ T) < TOLERANCE
    bias = T.T @ (data.qfrc_bias + full @ layout.rate(q, v))
    assert error(pp.bias_force(model, q, v), bias) < TOLERANCE
    vdot = model.from_mujoco(data.qpos, data.qvel, data.qacc)[2]
    assert error(pp.forward_dynamics(model, q, v, tau), vdot) < TOLERANCE
    peer.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_SPRING)
    peer.tendon_stiffness[:] = 0.0
    mujoco.mj_forward(peer, data)
    assert error(Springs(model).force(q), T.T @ data.qfrc_passive) < TOLERANCE
