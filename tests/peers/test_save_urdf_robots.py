"""Real robots written by us: read again by us they are the same, and Pinocchio agrees."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.testing import assert_allclose
from peers import pinocchio_bridge
from peers.projected import BIAS, MASS
from peers.robots import FILES, FOLDER, FOLLOWS_NOBODY, MACHINES, REFUSED

import phipsi as pp
from phipsi.model.files.urdf.save import save_urdf

LOADABLE = [file for file in FILES if file not in REFUSED or file == FOLLOWS_NOBODY]

# Mass on the world at no frame there: a link "base" is written for it.
ONE_LINK_MORE = {"asr_twodof_description/urdf/TwoDofs.urdf"}


def load(path, file: str, base: str) -> pp.Model:
    mimic = "independent" if file == FOLLOWS_NOBODY else "enforce"
    return pp.load(path, base=base, mimic=mimic, packages=[FOLDER, FOLDER.parent])


def turned_once(file: str) -> tuple[set[str], set[str]]:
    """The joints on links that move, or on the root, and those links: turned once, by one rpy."""
    robot = ElementTree.parse(FOLDER / file).getroot()
    carrier = {joint.find("child").get("link"): joint for joint in robot.findall("joint")}
    plain = {
        link.get("name")
        for link in robot.findall("link")
        if link.get("name") not in carrier or carrier[link.get("name")].get("type") != "fixed"
    }
    joints = [
        joint for joint in robot.findall("joint") if joint.find("parent").get("link") in plain
    ]
    names = {joint.get("name") for joint in joints}
    return names, {joint.find("child").get("link") for joint in joints}


def without_turn(thing):
    """All of a joint, frame or shape but the rotation of its placement."""
    return replace(thing, placement=replace(thing.placement, rotation=pp.spatial.IDENTITY3))


@pytest.mark.parametrize("file", LOADABLE)
def test_every_robot_comes_back(file, tmp_path):
    """Names, order, every number; rotations that are products of others to 1e-15.

    Joints and frames that hang on a moving link, or on the root, are turned by
    the angles of one <origin>: those come back bit by bit.
    """
    once, links_once = turned_once(file)
    for base in ("fixed", "free"):
        model = load(FOLDER / file, file, base)
        save_urdf(model, tmp_path / "again.urdf")
        again = load(tmp_path / "again.urdf", file, base)
        more = ["base"] if file in ONE_LINK_MORE and base == "fixed" else []
        frames = again.frames[len(more) :]
        assert [frame.name for frame in again.frames] == more + [x.name for x in model.frames]
        assert again.name == model.name and again.bodies == model.bodies
        assert again.base_inertia == model.base_inertia
        given = *model.joints, *model.frames
        for ours, theirs in zip((*again.joints, *frames), given, strict=True):
            assert without_turn(ours) == without_turn(theirs)
            assert_allclose(ours.placement.rotation, theirs.placement.rotation, rtol=0, atol=1e-15)
            if ours.name in (once if ours in again.joints else links_once):
                assert ours == theirs
        for shapes in ("visuals", "collisions"):
            found, known = (sorted(getattr(x, shapes), key=body) for x in (again, model))
            assert len(found) == len(known)
            for ours, theirs in zip(found, known, strict=True):
                assert without_turn(ours) == without_turn(theirs)
                turns = ours.placement.rotation, theirs.placement.rotation
                assert_allclose(*turns, rtol=0, atol=1e-15)


def body(shape) -> int:
    return shape.body


@pytest.mark.parametrize(("file", "base"), MACHINES)
def test_second_trip_is_exact_and_pinocchio_reads_the_file(file, base, tmp_path):
    model = load(FOLDER / file, file, base)
    save_urdf(model, tmp_path / "first.urdf")
    first = load(tmp_path / "first.urdf", file, base)
    save_urdf(first, tmp_path / "second.urdf")
    second = load(tmp_path / "second.urdf", file, base)
    for field in ("name", "bodies", "joints", "frames", "visuals", "collisions"):
        assert list(getattr(second, field)) == list(getattr(first, field))
    assert second.base_inertia == first.base_inertia

    peer = pinocchio_bridge.from_urdf(model, tmp_path / "first.urdf", base)
    q = model.random(np.random.default_rng(1))
    v = np.linspace(-1.0, 1.0, model.nv)
    mass, bias = pp.as_matrix(model, MASS, q), pp.as_matrix(model, BIAS, q, v)
    assert_allclose(peer.mass_matrix(q), mass, rtol=0, atol=1e-12 * np.abs(mass).max())
    assert_allclose(peer.bias(q, v), bias, rtol=0, atol=1e-12 * np.abs(bias).max())
    again = pp.as_matrix(first, MASS, q)
    assert_allclose(again, mass, rtol=0, atol=1e-14 * np.abs(mass).max())
