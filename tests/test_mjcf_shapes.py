"""Shapes of MJCF files: fields of heights weigh what they do for MuJoCo, meshes are where it is."""

import numpy as np
import pytest
from mjcf_text import TETRAHEDRON, ball, machine

import phipsi as pp

mujoco = pytest.importorskip("mujoco")


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Writes a file beside a mesh, and loads it; MuJoCo may leave its warnings there."""
    monkeypatch.chdir(tmp_path)

    def from_text(text):
        tmp_path.joinpath("m.obj").write_text(TETRAHEDRON)
        tmp_path.joinpath("robot.xml").write_text(text)
        return pp.load(tmp_path / "robot.xml")

    return from_text


# -- fields of heights


FIELD = '<asset><hfield name="h" nrow="3" ncol="2" size="1 1.5 1 0.5" {}/></asset>'


@pytest.mark.parametrize("heights", ['file="gone.png"', 'elevation="1 2 3 4 5 9"'])
def test_a_field_of_heights_on_a_body_has_its_mass(load, heights):
    """That of a box of half its height and its base: 1000 (2 3 (1/2 + 1/2))."""
    tray = '<body name="tray"><freejoint/><geom name="g" type="hfield" hfield="h" pos="1 2 3"/>'
    text = machine(f"{tray}</body>", FIELD.format(heights))
    model = load(text)
    own = machine(f"{tray}</body>", FIELD.format('elevation="1 2 3 4 5 9"'))
    theirs = pp.from_mujoco(mujoco.MjModel.from_xml_string(own))
    assert model.mass == pytest.approx(6000.0, rel=1e-12)
    assert model.bodies == theirs.bodies
    (line,) = [line for line in model.report if line.element == "<geom 'g'>"]
    assert line.status == "used"


def test_a_field_of_heights_counts_where_the_whole_mass_is_given(load):
    """6000 kg are welded to the world, 4/3 pi 0.1^3 1000 kg move; together they are 10 kg."""
    tray = '<body name="tray"><geom type="hfield" hfield="h"/></body>'
    text = machine(tray + ball(), f'<compiler settotalmass="10"/>{FIELD.format("")}')
    small = 4000.0 / 3.0 * np.pi * 0.1**3
    assert load(text).bodies[0].inertia.mass == pytest.approx(10.0 * small / (6000.0 + small))


def test_a_field_of_heights_without_mass_is_ground(load):
    flat = '<geom name="g" type="hfield" hfield="h" mass="0"/>'
    model = load(machine(ball(f"<joint/>{flat}"), FIELD.format('file="gone.png"')))
    told = {line.element: line.status for line in model.report}
    assert (told["<geom 'g'>"], told["<hfield 'h'>"]) == ("ignored", "ignored")


# -- meshes


WITH_MASS = machine(
    '<body><freejoint/><geom type="mesh" mesh="m"/></body>', '<asset><mesh name="m" {}/></asset>'
)


@pytest.mark.parametrize("mass", ["", 'mass="0"'])
@pytest.mark.parametrize(
    "how",
    [
        'scale="2 2 2" refpos=".1 .2 .3" refquat=".6 .8 0 0"',
        'scale="2 2 2" refpos=".1 .2 .3" refquat="6 8 0 0"',
        'scale="1 2 -3" refpos=".1 .2 .3" refquat="1 1 1 1"',
        'scale="1 2 2" refpos=".1 .2 .3" refquat=".6 .8 0 0"',
    ],
)
def test_points_of_a_mesh_are_where_mujoco_has_them(load, tmp_path, how, mass):
    """MuJoCo scales a mesh after it has turned it by refquat, of any length."""
    text = WITH_MASS.format(f'file="m.obj" {how}').replace('mesh="m"', f'mesh="m" {mass}')
    text = text.replace("<freejoint/>", '<freejoint/><geom size="0.1" group="4"/>')
    model = load(text)
    peer = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    turned = np.zeros(9)
    mujoco.mju_quat2Mat(turned, peer.geom_quat[1])
    theirs = peer.mesh_vert @ turned.reshape(3, 3).T + peer.geom_pos[1]
    (drawn,) = model.visuals
    points = np.vstack([np.zeros(3), np.eye(3)]) * drawn.shape.scale
    ours = points @ np.array(drawn.placement.rotation).T + drawn.placement.position
    apart = np.linalg.norm(ours[:, None] - theirs[None], axis=-1)
    assert apart.min(axis=0).max() < 1e-6
    assert apart.min(axis=1).max() < 1e-6
    assert not model.report.remarks


def test_a_mesh_that_is_scaled_across_its_axes_is_told(load):
    text = WITH_MASS.format('file="m.obj" scale="1 2 3" refquat=".6 .8 0 0"')
    (line,) = load(text).report.remarks
    assert "robot.xml:2: <mesh 'm'> is scaled across its own axes by refquat" in line
