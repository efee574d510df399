"""MJCF files: what a machine has of them, what becomes of the rest, and which files are opened."""

import os
import sys
import warnings
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from mjcf_text import SEED, TETRAHEDRON, ball, machine

import phipsi as pp
from phipsi import joints
from phipsi.model.geometry import Mesh

mujoco = pytest.importorskip("mujoco")


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Writes a file, and others beside it, and loads it from a directory that stays empty."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    folder = tmp_path / "around" / "robots"

    def from_text(text, files=None, **how):
        for name, content in {"robot.xml": text, **(files or {})}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return pp.load(folder / "robot.xml", **how)

    yield from_text
    assert not list(elsewhere.iterdir())  # no MUJOCO_LOG.TXT


@pytest.fixture
def seed(load):
    return load(SEED)


# -- the machine


def test_numbers_are_those_of_the_file(seed):
    assert seed.name == "seed"
    assert seed.gravity == (0.0, 0.0, -3.7)
    arm, hand = seed.bodies[0], seed.bodies[1]
    assert (arm.name, arm.inertia.mass, arm.inertia.com) == ("arm", 2.0, (0.1, 0.0, 0.0))
    assert np.allclose(arm.inertia.rotational, np.diag([0.1, 0.2, 0.25]), atol=1e-15)
    shoulder = seed.joint("shoulder")
    assert shoulder.kind == joints.Revolute((0, 1, 0))
    assert (shoulder.damping, shoulder.reflected_inertia) == (0.5, 0.01)
    assert (shoulder.limits.lower, shoulder.limits.upper) == (-1.0, 2.0)
    assert shoulder.limits.effort == 30.0
    assert hand.name == "hand@wrist"
    wrist = seed.joint("wrist")
    assert (wrist.stiffness, wrist.rest, wrist.friction) == (8.0, (0.25,), 0.3)


def test_masses_of_geoms_are_computed(seed):
    """A box of density d has the mass d abc and about its centre m (b^2 + c^2)/12, ..."""
    hand = seed.bodies[1].inertia
    mass = 100.0 * 0.2 * 0.4 * 0.6
    assert hand.mass == pytest.approx(mass, rel=1e-14)
    moments = mass / 12.0 * np.array([0.4**2 + 0.6**2, 0.2**2 + 0.6**2, 0.2**2 + 0.4**2])
    assert np.allclose(hand.rotational, np.diag(moments), rtol=1e-13, atol=1e-15)
    assert np.allclose(hand.com, (-0.05, 0, 0), atol=1e-15)  # of a frame at the joint


def test_joints_that_follow_do(seed, load):
    curl = seed.joint("curl")
    assert (curl.mimic.ratio, curl.mimic.offset) == (2.0, 0.1)
    freed = load(SEED, mimic="independent")
    assert freed.joint("curl").mimic is None
    assert any("'curl' moves on its own" in line for line in freed.report.remarks)


def test_keyframes_are_kept(seed):
    """qpos of shoulder and wrist; the third is what the curl then has: 0.1 + 2 0.2."""
    assert np.allclose(seed.keyframes["home"].q, (0.5, 0.2))


def test_sites_and_cameras_are_frames(seed):
    assert {"tip", "eye", "hand"} <= {frame.name for frame in seed.frames}


def test_the_name_of_the_file_is_that_of_a_machine_without(load):
    assert load(machine(ball())).name == "robot"


def test_loading_equals_from_mujoco(load):
    """Of a text that MuJoCo reads itself."""
    text = machine(ball() + ball("<freejoint/>", "other"), '<option gravity="1 2 3"/>')
    ours, theirs = load(text), pp.from_mujoco(mujoco.MjModel.from_xml_string(text))
    assert ours.bodies == theirs.bodies
    assert ours.joints == theirs.joints
    assert ours.gravity == theirs.gravity


# -- several files


def test_included_files_are_read_where_they_are_named(load):
    parts = {
        "parts/body.xml": '<mujocoinclude><body name="b"><joint name="j"/>'
        '<include file="parts/geom.xml"/></body></mujocoinclude>',
        "parts/geom.xml": '<mujoco><geom size="0.1"/></mujoco>',
    }
    model = load(machine('<include file="parts/body.xml"/>'), parts)
    assert [body.name for body in model.bodies] == ["b"]
    geom = next(line for line in model.report if line.element == "<geom>")
    assert geom.file.endswith("geom.xml")


def test_attached_models_come_with_their_names_and_units(load):
    child = '<mujoco model="c"><compiler angle="degree"/><worldbody>' + ball(
        '<joint name="j" range="-90 90"/>', "b"
    )
    text = machine(
        '<frame pos="1 0 0"><attach model="c" body="b" prefix="left_"/></frame>'
        '<attach model="c" prefix="right_"/>',
        '<compiler angle="radian"/><asset><model file="child.xml"/></asset>',
    )
    model = load(text, {"child.xml": f"{child}</worldbody></mujoco>"})
    assert [body.name for body in model.bodies] == ["left_b", "right_b"]
    assert model.joint("left_j").limits.upper == pytest.approx(np.pi / 2)
    assert model.joint("left_j").placement.position == (1.0, 0.0, 0.0)


def test_meshes_of_attached_models_have_their_masses(load, tmp_path):
    """One copy of the mesh is used, another one is only brought along; MuJoCo agrees."""
    mesh = '<asset><mesh name="m" file="m.obj" scale="3 3 3"/></asset>'
    child = machine(
        ball("", "plain") + '<body name="heavy"><geom type="mesh" mesh="m"/></body>', mesh
    )
    text = machine(
        '<attach model="c" body="plain" prefix="a_"/><attach model="c" body="heavy" prefix="b_"/>',
        '<asset><model name="c" file="parts/child.xml"/></asset>',
    )
    model = load(text, {"parts/child.xml": child, "parts/m.obj": TETRAHEDRON})
    file = tmp_path / "around" / "robots" / "robot.xml"
    theirs = pp.from_mujoco(mujoco.MjModel.from_xml_path(str(file)))
    assert model.mass == theirs.mass > 4500.0  # 1000 27 / 6
    assert [x.shape.path for x in model.visuals if isinstance(x.shape, Mesh)] == [
        str(file.parent / "parts" / "m.obj")
    ]


def test_an_error_in_an_attached_model_names_its_file_and_line(load):
    body = ball('<joint axle="1"/>')
    child = f'<mujoco model="c">\n<worldbody>\n{body}</worldbody></mujoco>'
    asset = '<asset><model file="child.xml"/></asset>'
    with pytest.raises(pp.ModelError, match=r"child.xml:3: <joint>: .*'axle'"):
        load(machine('<attach model="c" prefix="x"/>', asset), {"child.xml": child})


def test_replicas_are_made(load):
    model = load(machine(f'<replicate count="3" offset="0 1 0">{ball()}</replicate>'))
    assert [body.name for body in model.bodies] == ["ball0", "ball1", "ball2"]


def test_replicas_may_be_none(load):
    empty = f'<replicate count="0">{ball("", "none")}</replicate>'
    model = load(machine(empty + ball()))
    assert [body.name for body in model.bodies] == ["ball"]
    (line,) = [line for line in model.report if line.element == "<body 'none'>"]
    assert line.status == "ignored"


# -- meshes


def test_meshes_without_masses_are_named_and_not_read(seed):
    """The file is missing; neither is the texture there."""
    (shell,) = [each for each in seed.visuals if isinstance(each.shape, Mesh)]
    assert shell.shape == Mesh("missing.stl", (2.0, 2.0, 2.0))
    assert np.allclose(shell.placement.position, (0, 0, 0.5), atol=1e-14)
    assert np.allclose(shell.placement.rotation, np.eye(3), atol=1e-14)
    assert np.allclose(shell.color, (0.5, 0.3, 0.1, 1.0), atol=1e-7)  # in single precision


WITH_MASS = machine(
    '<body><freejoint/><geom type="mesh" mesh="m"/></body>', '<asset><mesh name="m" {}/></asset>'
)


@pytest.mark.parametrize("around", ["", '<compiler meshdir="stl/"/>', '<compiler assetdir="stl"/>'])
def test_masses_of_meshes_are_computed(load, around):
    """The tetrahedron of three unit edges has the volume 1/6; here each edge is 2 long."""
    text = WITH_MASS.format('file="m.obj" scale="2 2 2"').replace("<asset>", f"{around}<asset>")
    model = load(text, {("stl/m.obj" if around else "m.obj"): TETRAHEDRON})
    assert model.mass == pytest.approx(1000.0 * 8.0 / 6.0, rel=1e-6)
    assert np.allclose(model.bodies[0].inertia.com, (0.5, 0.5, 0.5), atol=1e-6)


def test_meshes_are_found_without_their_folders_and_in_packages(load, tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    package.joinpath("m.obj").write_text(TETRAHEDRON)
    text = WITH_MASS.format(r'file="C:\gone\m.obj"')
    text = text.replace("<asset>", '<compiler strippath="true"/><asset>')
    assert load(text, packages=[package]).mass == pytest.approx(1000.0 / 6.0, rel=1e-6)


@pytest.mark.parametrize("how", ["", 'refpos="1 2 3" refquat="0 1 0 0"'])
@pytest.mark.parametrize("massless", ["", 'mass="0"'])
def test_a_mesh_is_drawn_where_it_is(load, how, massless):
    """MuJoCo moves a mesh by R*(x - refpos), then to its mass centre and axes: both undone."""
    text = WITH_MASS.format(f'file="m.obj" {how}').replace('mesh="m"', f'mesh="m" {massless}')
    text = text.replace("<freejoint/>", '<freejoint/><geom size="0.1"/>')
    model = load(text, {"m.obj": TETRAHEDRON})
    (drawn,) = [each for each in model.visuals if isinstance(each.shape, Mesh)]
    assert drawn.shape.path.endswith("robots/m.obj")
    turned = np.diag([1.0, -1.0, -1.0]) if how else np.eye(3)
    expected = turned.T @ -np.array([1.0, 2.0, 3.0]) if how else np.zeros(3)
    assert np.allclose(drawn.placement.rotation, turned.T, atol=1e-6)
    assert np.allclose(drawn.placement.position, expected, atol=1e-6)


def test_files_of_the_working_directory_are_not_read(load, tmp_path):
    """Whatever MuJoCo calls a mesh, it gets it from memory alone."""
    for name in ("mesh0.obj", "mesh0_read.obj", "model1.xml"):
        tmp_path.joinpath("elsewhere", name).write_text("no mesh")
    model = load(WITH_MASS.format('file="m.obj"'), {"m.obj": TETRAHEDRON})
    assert model.mass == pytest.approx(1000.0 / 6.0, rel=1e-6)
    for name in ("mesh0.obj", "mesh0_read.obj", "model1.xml"):
        tmp_path.joinpath("elsewhere", name).unlink()


def test_collisions_are_kept_though_no_hull_is_made(load):
    text = WITH_MASS.format('file="m.obj"')
    both = '<geom type="mesh" mesh="m"/><geom type="mesh" mesh="m" contype="0" conaffinity="0"/>'
    model = load(text.replace('<geom type="mesh" mesh="m"/>', both), {"m.obj": TETRAHEDRON})
    assert (len(model.visuals), len(model.collisions)) == (2, 1)


@pytest.mark.parametrize("inertia", ["", 'inertia="convex"'])
def test_meshes_in_the_file_are_hulls_if_they_have_no_faces(load, inertia):
    text = WITH_MASS.format(f'vertex="0 0 0  1 0 0  0 1 0  0 0 1" {inertia}')
    assert load(text).mass == pytest.approx(1000.0 / 6.0, rel=1e-6)


def test_meshes_in_the_file_that_weigh_nothing_are_no_work(load):
    flat = 'vertex="0 0 0  1 0 0  0 1 0  1 1 0"'  # has no hull
    text = WITH_MASS.format(flat).replace('mesh="m"/>', 'mesh="m" mass="0"/><geom size="0.1"/>')
    assert load(text).mass > 0.0


# -- the report


def test_every_element_has_a_line(seed):
    elements = [each.tag for each in ET.fromstring(SEED).iter()]
    told = [line.element.split()[0].strip("<>") for line in seed.report if not line.notable]
    assert sorted(told) == sorted(elements)
    assert not seed.report.remarks


@pytest.mark.parametrize(
    ("element", "status"),
    [
        ("<size>", "ignored"),
        ("<visual>", "ignored"),
        ("<texture 'wood'>", "ignored"),
        ("<material 'wood'>", "kept"),
        ("<geom 'ground'>", "ignored"),
        ("<geom 'shell'>", "kept"),
        ("<geom 'palm'>", "used"),
        ("<joint 'wrist'>", "used"),
        ("<inertial>", "used"),
        ("<site 'tip'>", "kept"),
        ("<camera 'eye'>", "kept"),
        ("<light>", "ignored"),
        ("<exclude>", "ignored"),
        ("<joint 'together'>", "used"),
        ("<jointpos>", "ignored"),
        ("<key 'home'>", "kept"),
    ],
)
def test_what_became_of_elements(seed, element, status):
    (line,) = [line for line in seed.report if line.element == element]
    assert line.status == status
    assert SEED.splitlines()[line.line - 1].strip().find(element[1:].split()[0].strip(">'")) >= 0


REFUSED = {
    "fluid": (machine(ball(), '<option density="1000"/>'), "2: the medium has density 1000"),
    "gravcomp": (machine('<body gravcomp="1"><joint/><geom size="1"/></body>'), "4: body 'body1'"),
    "spring of a tendon": (
        machine(
            ball('<joint name="j"/>'),
            after='<tendon><fixed stiffness="3"><joint joint="j" coef="1"/></fixed></tendon>',
        ),
        "6: <fixed>: refused: ",
    ),
    "plugin": (machine(ball(), "<extension><plugin/></extension>"), "2: <extension>: refused: "),
    "flex": (machine(ball() + '<flexcomp name="f"/>'), "4: <flexcomp 'f'>: refused: "),
    "tied tendons": (
        machine(ball(), after='<equality><tendon tendon1="a"/></equality>'),
        "6: <tendon>: refused: tendons are not supported",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_said_with_its_line_and_raised_when_strict(load, name):
    text, expected = REFUSED[name]
    model = load(text)
    (line,) = model.report.remarks
    assert f"robot.xml:{expected}" in line
    assert line.status == "refused"
    with pytest.raises(pp.ModelError, match=f"robot.xml:{expected[0]}: .*strict=False"):
        load(text, strict=True)


def test_implausible_bodies_are_told_with_their_line(load):
    body = (
        '\n\n<body name="b"><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 2.5"/></body>'
    )
    text = machine(body, '<compiler balanceinertia="false"/>')
    try:
        model = load(text)
    except pp.ModelError as error:  # MuJoCo itself may refuse them
        assert "robot.xml:6: " in str(error)
    else:
        (line,) = model.report.implausible
        assert line.line == 6


def test_warnings_of_mujoco_are_remarks_and_not_printed(load, capfd):
    model = load(machine(ball(), '<compiler settotalmass="3"/>'))
    assert model.mass == pytest.approx(3.0)
    (line,) = model.report.remarks
    assert "robot.xml:1: MuJoCo warns: " in line
    assert capfd.readouterr() == ("", "")


def test_warnings_of_several_lines_are_one(load, monkeypatch):
    compile_ = mujoco.MjSpec.compile

    def warned(spec):
        warnings.warn("one\n  two", stacklevel=1)
        return compile_(spec)

    monkeypatch.setattr(mujoco.MjSpec, "compile", warned)
    (line,) = load(machine(ball())).report.remarks
    assert line.endswith("MuJoCo warns: one two")


def test_a_hull_is_made_where_the_standard_error_is_closed(load, monkeypatch):
    def closed(_):
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr(os, "dup", closed)
    assert load(WITH_MASS.format('vertex="0 0 0  1 0 0  0 1 0  0 0 1"')).mass > 0.0


def test_states_are_refused_with_what_bears_their_coordinates(load):
    """27 coordinates are those of the cloth."""
    cloth = '<flexcomp name="f" type="grid" count="3 3 1" spacing=".1 .1 .1" radius=".01" dim="2"/>'
    key = f'<keyframe><key qpos="{"0.1 " * 28}"/></keyframe>'
    model = load(machine(ball() + cloth, after=key))
    assert not model.keyframes
    assert [line.element for line in model.report.refused if line.notable] == [
        "<flexcomp 'f'>",
        "<keyframe>",
    ]


def test_what_a_keyframe_has_beside_a_state_is_told(load):
    hook = '<body mocap="true" name="hook"><geom size="0.1"/></body>'
    key = '<key name="k" qpos="0.5" time="3" mpos="1 2 3" mquat="0 1 0 0" ctrl="1"/>'
    rest = f'<actuator><motor joint="j"/></actuator><keyframe>{key}</keyframe>'
    model = load(machine(ball('<joint name="j"/>') + hook, after=rest))
    assert model.keyframes["k"].q == (0.5,)
    (line,) = [line for line in model.report if line.element == "<key 'k'>"]
    assert line.endswith("<key 'k'>: kept, a state without its time, mpos, mquat, ctrl")


def test_actuators_with_a_law_are_used_and_said_so_once(load):
    servo = '<position name="servo" joint="j" kp="3" forcerange="-2 2"/>'
    model = load(machine(ball('<joint name="j"/>'), after=f"<actuator>{servo}</actuator>"))
    assert model.joint("j").limits.effort == 2.0
    (line,) = [line for line in model.report if line.element == "<position 'servo'>"]
    assert line.status == "used"
    (line,) = model.report.remarks
    assert line.status == "used"
    assert "actuator 'servo': its control law is ignored" in line


def test_a_flat_hull_is_an_error_and_not_a_page_of_text(load, capfd):
    with pytest.raises(pp.ModelError, match=r"robot.xml:2: <mesh 'm'>"):
        load(WITH_MASS.format('vertex="0 0 0  1 0 0  0 1 0  1 1 0"'))
    assert capfd.readouterr() == ("", "")


# -- what the user asks for


FREE = machine(
    ball("<freejoint name='float'/>"), after='<keyframe><key qpos="1 2 3 1 0 0 0"/></keyframe>'
)


def test_a_free_base_can_be_fixed(load):
    assert load(FREE).nv == 6
    fixed = load(FREE, base="fixed")
    assert (fixed.nv, fixed.keyframes) == (0, {})
    (line,) = [line for line in fixed.report if line.element == "<keyframe>"]
    assert line.status == "ignored"
    assert load(FREE, base="free").keyframes


def test_motors_of_a_base_go_with_its_joint(load):
    motors = '<general name="lift" joint="float" gear="1 0 0 0 0 0"/><motor name="m" joint="j"/>'
    arm = ball('<joint name="j"/>', "arm")
    bodies = ball(f"<freejoint name='float'/>{arm}")
    text = machine(bodies, after=f"<actuator>{motors}</actuator>")
    fixed = load(text, base="fixed")
    assert [joint.name for joint in fixed.joints] == ["j"]
    told = {line.element: line.status for line in fixed.report}
    assert (told["<general 'lift'>"], told["<motor 'm'>"]) == ("ignored", "used")


def test_a_fixed_base_can_be_freed(load):
    text = machine(ball("") + '<body mocap="true" name="hook"><geom size="0.1"/></body>')
    assert load(text).nv == 0
    free = load(text, base="free")
    assert [joint.name for joint in free.joints] == ["root"]
    two = load(machine(ball("") + ball("", "other")), base="free")
    assert [joint.name for joint in two.joints] == ["root_ball", "root_other"]


def test_joints_to_the_world_are_neither(load):
    with pytest.raises(pp.InputError, match=r"base='free': no body .*robot.xml is welded"):
        load(machine(ball()), base="free")


@pytest.mark.parametrize("flag", ["", '<flag gravity="disable"/>'])
def test_gravity_is_replaced(load, flag):
    text = machine(ball(), f'<option gravity="0 0 -1">{flag}</option>')
    assert load(text).gravity == ((0, 0, 0) if flag else (0, 0, -1))
    assert load(text, gravity=(1, 2, 3)).gravity == (1, 2, 3)


def test_without_mujoco_one_is_told_what_to_install(load, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(pp.BackendError, match=r"reading MJCF files needs .*phipsi\[mjcf\]"):
        load(machine(ball()))
