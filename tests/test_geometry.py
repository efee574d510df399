"""What machines look like: shapes in Python and in URDF files, and where mesh files are found."""

import copy
import pickle
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from urdf_text import arm, joint, link, read_text

import phipsi as pp
from phipsi import joints
from phipsi.model.geometry import Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere, Visual

HALF = "1.5707963267948966"  # a quarter turn
QUARTER_Z = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
RED, GREEN = (1.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 0.5)


@pytest.fixture
def read(tmp_path):
    """read(body, **options): the model of a robot with that body, which begins in line 2."""
    return partial(read_text, tmp_path)


def visual(geometry: str, inside: str = "", attributes: str = "") -> str:
    return f"<visual {attributes}><geometry>{geometry}</geometry>{inside}</visual>"


def robot(*visuals: str, extra: str = "") -> str:
    """An arm whose link "tip" has these visuals, in line 3."""
    return arm().replace('name="tip">', f'name="tip">{"".join(visuals)}', 1) + extra


# -- shapes ----------------------------------------------------------------------------


def test_shapes_keep_plain_numbers():
    assert Box(np.array([1, 2, 3])) == Box((1.0, 2.0, 3.0))
    assert Ellipsoid(np.array([1, 2, 3])) == Ellipsoid((1.0, 2.0, 3.0))
    assert repr(Capsule(np.float32(0.5), 2)) == "Capsule(radius=0.5, length=2.0)"
    assert Mesh(Path("arm.stl"), [2, 2, 2]) == Mesh("arm.stl", (2.0, 2.0, 2.0))
    visual = Visual.of(Sphere(1), [0, 0, 1], QUARTER_Z, (1, 0, 0), "ball")
    assert (visual.color, visual.name, visual.body) == (RED, "ball", -1)
    np.testing.assert_array_equal(visual.placement.matrix[:3, :3], QUARTER_Z)
    assert hash(visual) == hash(Visual.of(Sphere(1), [0, 0, 1], QUARTER_Z, (1, 0, 0), "ball"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Box((1, -2, 3)), "a length of a Box is -2 m; it must not be negative"),
        (lambda: Box((1, 2)), "size of a Box is .* expected three finite numbers"),
        (lambda: Capsule(1, -1), "the length of a Capsule is -1 m; it must not be negative"),
        (lambda: Capsule("1", 1), "the radius of a Capsule is '1'; expected a finite number"),
        (lambda: Ellipsoid((1, 2, -3)), "a radius of an Ellipsoid is -3 m; it must not be neg"),
        (lambda: Ellipsoid(1.0), "the radii of an Ellipsoid is 1.0; expected three finite"),
        (lambda: Cylinder(-1, 1), "the radius of a Cylinder is -1 m"),
        (lambda: Cylinder(1, float("nan")), "the length of a Cylinder is nan; .* in metres"),
        (lambda: Sphere("1"), "the radius of a Sphere is '1'; expected a finite number"),
        (lambda: Mesh(3), "the path of a Mesh is 3; expected that of a file"),
        (lambda: Mesh(""), "the path of a Mesh is ''"),
        (lambda: Mesh("a.stl", 2.0), "the scale of a Mesh is 2.0; expected three"),
        (lambda: Visual.of("ball"), "shape is 'ball'; expected a Box, Capsule, Cylinder, .* Mesh"),
        (lambda: Visual.of(Sphere(1), name=3), "the name 3; expected a Placement and a text"),
        (lambda: Visual(Sphere(1), np.eye(4)), "expected a Placement and a text, as Visual.of"),
        (lambda: Visual.of(Sphere(1), position=(1, 2)), "position is .1, 2.; expected three"),
        (lambda: Visual.of(Sphere(1), color="red"), "color is 'red'; expected red, green, blue"),
        (lambda: Visual.of(Sphere(1), color=(1, 0)), "color is .1, 0.; expected red, green"),
        (lambda: Visual.of(Sphere(1), color=(255, 0, 0)), "color is .* each from 0 to 1"),
        (lambda: Visual.of(Sphere(1), color=(1, 0, 0, 1, 1)), "color is .* each from 0 to 1"),
    ],
)
def test_what_cannot_be_drawn_is_never_made(make, message):
    with pytest.raises(pp.ModelError, match=message):
        make()


# -- the builder -----------------------------------------------------------------------


def test_shapes_of_welded_bodies_move_to_the_body_that_carries_them():
    """A hand welded to the arm, half a metre out and turned by a quarter; a floor on the world."""
    builder = pp.ModelBuilder("arm")
    builder.add_body("arm", mass=1.0, com=(1, 0, 0), visuals=[Box((1, 1, 1))])
    ball = Visual.of(Sphere(0.1), position=(0.2, 0, 0), color=(1, 0, 0), name="ball")
    place = {"position": (0.5, 0, 0), "rotation": QUARTER_Z}
    builder.add_body("hand", "arm", joints.Fixed(), **place, visuals=(ball, Sphere(0.3)))
    builder.add_body("post", joint=joints.Fixed(), position=(0, 0, 3), visuals=[Cylinder(1, 2)])
    builder.add_visuals("world", [Box((9, 9, 0))])
    visuals = builder.build().visuals
    assert [visual.shape for visual in visuals] == [
        Box((1, 1, 1)), Sphere(0.1), Sphere(0.3), Cylinder(1, 2), Box((9, 9, 0)),
    ]  # fmt: skip
    assert [visual.body for visual in visuals] == [0, 0, 0, -1, -1]
    assert [visual.name for visual in visuals] == ["arm", "ball", "hand", "post", "world"]
    assert [visual.color for visual in visuals] == [None, RED, None, None, None]
    np.testing.assert_allclose(visuals[1].placement.position, (0.5, 0.2, 0.0), atol=1e-15)
    np.testing.assert_allclose(visuals[1].placement.rotation, QUARTER_Z, atol=1e-15)
    np.testing.assert_allclose(visuals[3].placement.position, (0.0, 0.0, 3.0), atol=1e-15)


@pytest.mark.parametrize("wrong", ["box", [3], 7, [None], Box((1, 1, 1))])
def test_what_is_no_list_of_shapes_is_refused_and_nothing_added(wrong):
    builder = pp.ModelBuilder()
    with pytest.raises(pp.ModelError, match=r"body 'a': visuals is .* expected a list of shapes"):
        builder.add_body("a", mass=1.0, visuals=wrong)
    with pytest.raises(pp.ModelError, match="body 'world': visuals is"):
        builder.add_visuals("world", wrong)
    builder.add_body("a", mass=1.0, com=(1, 0, 0))
    assert builder.build().visuals == ()


def test_visuals_of_an_unknown_body_are_refused():
    builder = pp.ModelBuilder()
    builder.add_body("hand", mass=1.0, com=(1, 0, 0))
    builder.add_visuals("hnad", [Sphere(1)])
    with pytest.raises(pp.ModelError, match="add_visuals: unknown body 'hnad'; did you mean"):
        builder.build()


def test_machine_with_shapes_is_pickled_copied_and_hashed(read):
    model = read(robot(visual('<mesh filename="package://nowhere/a.stl"/>')))
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert other.visuals == model.visuals
    assert {model: 1}[model] == 1


# -- URDF ------------------------------------------------------------------------------


def test_every_visual_of_a_link_is_read(read):
    body = robot(
        visual('<box size="1 2 3"/>', f'<origin xyz="1 0 0" rpy="0 0 {HALF}"/>', 'name="lid"'),
        visual('<cylinder radius="0.5" length="2"/>'),
        visual('<sphere radius="0.25"/>'),
        visual('<mesh filename="package://r/a.stl" scale="0.001 0.001 0.002"/>'),
        visual('<mesh filename="package://r/a.stl"/>'),
        visual('<capsule radius="0.5" length="2"/>'),
        visual('<drake:capsule radius="0.25" length="1"/>'),
        visual('<drake:ellipsoid a="1" b="2" c="3"/>'),
    )
    model = read(body)
    mesh_file = "package://r/a.stl"
    assert [each.shape for each in model.visuals] == [
        Box((1, 2, 3)), Cylinder(0.5, 2), Sphere(0.25), Mesh(mesh_file, (0.001, 0.001, 0.002)),
        Mesh(mesh_file), Capsule(0.5, 2), Capsule(0.25, 1), Ellipsoid((1, 2, 3)),
    ]  # fmt: skip
    assert [each.name for each in model.visuals] == ["lid"] + ["tip"] * 7
    assert {each.body for each in model.visuals} == {0}
    np.testing.assert_allclose(model.visuals[0].placement.position, (1, 0, 0))
    np.testing.assert_allclose(model.visuals[0].placement.rotation, QUARTER_Z, atol=1e-15)
    assert model.report.remarks == ()


def test_visuals_of_the_root_are_on_the_world_or_on_the_free_body(read):
    ball = visual('<sphere radius="1"/>')
    body = arm().replace('name="base">', f'name="base">{ball}')
    assert [each.body for each in read(body).visuals] == [-1]
    assert [each.body for each in read(body, base="free").visuals] == [0]
    itself = link("world", ball) + link("tip") + joint("j", "world", "tip")
    assert [(each.body, each.name) for each in read(itself).visuals] == [(-1, "world")]


def test_collisions_are_kept_beside_the_visuals(read):
    """Placed on the body that carries their link; in the report they are kept."""
    hull = f'<collision name="hull"><origin xyz="0 0 1" rpy="0 0 {HALF}"/><geometry>'
    hull += '<capsule radius="0.5" length="2"/></geometry></collision>'
    ball = "<collision><geometry><sphere radius='1'/></geometry></collision>"
    body = link("base", ball) + link("tip") + joint("j", "base", "tip")
    body += link("pad", hull) + joint("weld", "tip", "pad", '<origin xyz="1 0 0"/>', "fixed")
    model = read(body)
    assert model.visuals == ()
    assert [each.shape for each in model.collisions] == [Sphere(1), Capsule(0.5, 2)]
    assert [(each.name, each.body) for each in model.collisions] == [("base", -1), ("hull", 0)]
    np.testing.assert_allclose(model.collisions[1].placement.position, (1, 0, 1))
    np.testing.assert_allclose(model.collisions[1].placement.rotation, QUARTER_Z, atol=1e-15)
    assert {line.status for line in model.report if "<collision" in line} == {"kept"}


def test_a_broken_collision_is_left_out_and_noted(read):
    broken = "<collision><geometry><sphere radius='-1'/></geometry></collision>"
    model = read(link("base", broken))
    assert model.collisions == ()
    (line,) = model.report.remarks
    assert "<collision>: refused: the radius of a Sphere is -1 m" in line


def test_first_colour_of_a_material_s_name_counts(read):
    """Defined by <robot>, before or after the links, else by the first link that gives a colour."""
    sphere = '<sphere radius="1"/>'
    body = robot(
        visual(sphere, '<material name="paint"/>'),
        visual(sphere, '<material name="paint"><color rgba="0 0 1 1"/></material>'),
        visual(sphere, '<material name="own"><color rgba="0 1 0 0.5"/></material>'),
        visual(sphere, '<material name="own"><color rgba="0 0 1 1"/></material>'),
        visual(sphere, '<material name=""><color rgba="0 1 0 0.5"/></material>'),
        visual(sphere, '<material name=""><color rgba="1 0 0 1"/></material>'),
        visual(sphere, '<material name="nowhere"/>'),
        visual(sphere, '<material name="wood"><texture filename="wood.png"/></material>'),
        visual(sphere),
        extra='<material name="paint"><color rgba="1 0 0 1"/></material>',
    )
    colors = [each.color for each in read(body).visuals]
    assert colors == [RED, RED, GREEN, GREEN, GREEN, RED, None, None, None]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (visual('<box size="1 -2 3"/>'), "a length of a Box is -2 m; it must not be negative"),
        (visual('<box size="1 2"/>'), '<box size="1 2">: expected 3 numbers, as in 0 0 1'),
        (visual('<sphere radius="nan"/>'), '<sphere radius="nan">: expected finite numbers'),
        (visual('<cylinder radius="1"/>'), '<cylinder> needs a length="..."'),
        (visual('<mesh filename=""/>'), '<mesh> needs a filename="..."'),
        (visual('<mesh filename="a.stl" scale="x"/>'), '<mesh scale="x">: expected 3 numbers'),
        (visual('<capsule radius="1"/>'), '<capsule> needs a length="..."'),
        (visual("<torus/>"), "<geometry> has no shape; expected <box>, <cylinder>, <sphere>, "),
        ("<visual/>", "<visual> has no <geometry>; add one"),
        (visual('<sphere radius="1"/>', '<origin xyz="inf 0 0"/>'), "expected finite numbers"),
        (visual('<sphere radius="1"/>', "<origin/><origin/>"), "a second <origin> in <visual>"),
    ],
)
def test_no_machine_is_refused_for_its_looks(read, broken, said):
    """What cannot be drawn is left out and noted with its line; the next shape is read."""
    body = robot(broken, visual('<box size="1 1 1"/>'))
    model = read(body)
    assert [each.shape for each in model.visuals] == [Box((1, 1, 1))]
    (line,) = model.report.remarks
    assert line.status == "refused"
    assert "trial.urdf:4: <visual>: refused: " in line
    assert said in line
    with pytest.raises(pp.ModelError) as caught:
        read(body, strict=True)
    assert said in str(caught.value)


@pytest.mark.parametrize("color", ['rgba="1 0 0"', 'rgba="1 0 0 7"', 'rgba="a b c d"', ""])
def test_a_broken_colour_is_noted_and_the_shape_kept(read, color):
    material = f'<material name="m"><color {color}/></material>'
    model = read(robot(visual('<sphere radius="1"/>', material)))
    assert [each.color for each in model.visuals] == [None]
    (line,) = model.report.remarks
    assert "trial.urdf:4: <material 'm'>: refused: " in line


def test_unknown_elements_of_a_visual_are_noted(read):
    model = read(robot(visual('<sphere radius="1"/>', "<shine/>", 'name="lamp"')))
    assert len(model.visuals) == 1
    assert model.report.remarks[0].endswith("<shine> is unknown and ignored in <visual 'lamp'>")


def test_empty_geometry_shows_nothing(read):
    model = read(robot("<visual><geometry/></visual>"))
    assert (model.visuals, model.report.remarks) == ((), ())


# -- mesh files ------------------------------------------------------------------------


def found(model: pp.Model) -> str:
    """The path of the only mesh."""
    (only,) = model.visuals
    return only.shape.path


def mesh(uri: str) -> str:
    return robot(visual(f'<mesh filename="{uri}"/>'))


@pytest.fixture
def stl(tmp_path):
    """stl(path): an empty file there, below the folder of the test."""

    def make(path: str) -> str:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        return str(file)

    return make


@pytest.fixture(autouse=True)
def no_ros(monkeypatch):
    for variable in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize("scheme", ["package://", "package:///", "model://"])
def test_package_is_found_in_directories_given(tmp_path, read, stl, scheme):
    """A directory that holds the package, or is it; one or several."""
    file = stl("elsewhere/robot/meshes/arm.stl")
    body = mesh(f"{scheme}robot/meshes/arm.stl")
    assert found(read(body)) == f"{scheme}robot/meshes/arm.stl"
    assert found(read(body, packages=[tmp_path, tmp_path / "elsewhere"])) == file
    assert found(read(body, packages=str(tmp_path / "elsewhere" / "robot"))) == file


def test_directories_given_come_before_those_above_the_file(tmp_path, read, stl):
    near, given = stl("robot/arm.stl"), stl("elsewhere/robot/arm.stl")
    body = mesh("package://robot/arm.stl")
    assert found(read(body)) == near
    assert found(read(body, packages=[tmp_path / "elsewhere"])) == given


def test_a_package_that_lacks_the_file_does_not_hide_the_next(tmp_path, read, stl):
    stl("elsewhere/robot/leg.stl")
    near = stl("robot/arm.stl")
    body = mesh("package://robot/arm.stl")
    assert found(read(body, packages=[tmp_path / "elsewhere"])) == near


@pytest.mark.parametrize(
    ("variable", "directory", "file"),
    [
        ("ROS_PACKAGE_PATH", "ws/src", "ws/src/robot/arm.stl"),
        ("ROS_PACKAGE_PATH", "ws/src/robot", "ws/src/robot/arm.stl"),
        ("AMENT_PREFIX_PATH", "ws/install/robot", "ws/install/robot/share/robot/arm.stl"),
    ],
)
def test_package_is_found_where_ros_looks(
    tmp_path, read, stl, monkeypatch, variable, directory, file
):
    path = stl(file)
    monkeypatch.setenv(variable, f"/nowhere:{tmp_path / directory}:")
    assert found(read(mesh("package://robot/arm.stl"))) == path


def test_package_is_found_above_the_file(tmp_path, stl):
    """The urdf lies in the package, beside it, or in one of another name with a package.xml."""
    path = stl("robot/meshes/arm.stl")
    uri = "package://robot/meshes/arm.stl"
    for folder in ("robot/urdf/deep", "other/urdf", "robot/urdf/deep/very"):
        (tmp_path / folder).mkdir(parents=True)
    assert found(read_text(tmp_path / "robot/urdf/deep", mesh(uri))) == path
    assert found(read_text(tmp_path / "robot/urdf/deep/very", mesh(uri))) == path
    assert found(read_text(tmp_path / "other/urdf", mesh(uri))) == uri  # a mere directory
    stl("robot/model.config")
    assert found(read_text(tmp_path / "other/urdf", mesh(uri))) == path
    renamed = stl("robot-main/meshes/arm.stl")
    (tmp_path / "robot").rename(tmp_path / "gone")
    (tmp_path / "robot-main/urdf").mkdir()
    body = mesh("package://robot/meshes/arm.stl")
    assert found(read_text(tmp_path / "robot-main/urdf", body)).startswith("package://")
    stl("robot-main/package.xml")
    assert found(read_text(tmp_path / "robot-main/urdf", body)) == renamed


def test_paths_and_file_uris_mean_what_they_say(tmp_path, stl, monkeypatch):
    path = stl("meshes/an arm.stl")
    (tmp_path / "urdf").mkdir()
    quoted = path.replace(" ", "%20")
    for uri in ("../meshes/an arm.stl", path, f"file://{quoted}", f"file://localhost{quoted}"):
        assert found(read_text(tmp_path / "urdf", mesh(uri))) == path
    monkeypatch.chdir(tmp_path / "urdf")
    model = pp.load("trial.urdf")  # the path does not depend on where one stands later
    assert found(model) == path


@pytest.fixture
def secret(tmp_path, stl):
    """A machine's own directory, and a file beside it that is none of its business."""
    for path in ("outer/secret.stl", "outer/cell/robot/meshes/arm.stl", "outer/cell/robot/urdf/x"):
        stl(path)
    stl("outer/cell/robot/.ssh/key.stl"), stl("outer/cell/robot/meshes/.key.stl")
    return tmp_path / "outer/secret.stl"


def read_in_robot(tmp_path, uri: str, **options) -> pp.Model:
    """Read outer/cell/robot/urdf/trial.urdf with one mesh."""
    return read_text(tmp_path / "outer/cell/robot/urdf", mesh(uri), **options)


@pytest.mark.parametrize(
    "uri",
    [
        "package://../secret.stl",
        "package://./secret.stl",
        "package://robot",
        "package://",
        "package://robot/meshes",  # a directory
        "package://robot/meshes/leg.stl",
        "https://example.org/secret.stl",
        "file://{folder}/outer/cell/robot/meshes/leg.stl",
        "../meshes/leg.stl",
        "../meshes",
    ],
)
def test_what_is_not_found_keeps_its_name_and_is_no_path(tmp_path, secret, uri):
    """Relative names become absolute: they mean the same wherever one stands."""
    uri = uri.format(folder=tmp_path)
    model = read_in_robot(tmp_path, uri)
    folder = tmp_path / "outer/cell/robot"
    expected = f"file://{folder / uri[3:]}" if uri.startswith("..") else uri
    assert found(model) == expected
    assert model.report.remarks == ()
    (line,) = [line for line in model.report if line.element == "<mesh>"]
    assert line.status == "kept"


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("package://robot/../../secret.stl", "leads out of its package"),
        ("package://robot/meshes/../../secret.stl", "leads out of its package"),
        ("../../../secret.stl", "is outside of '{folder}/outer/cell/robot'"),
        ("{folder}/outer/secret.stl", "is outside of '{folder}/outer/cell/robot'"),
        ("file://{folder}/outer/secret.stl", "is outside of '{folder}/outer/cell/robot'"),
        ("file://{folder}/outer/cell/robot/%2e%2e/../secret.stl", "is outside of"),
        ("../../robots/arm.stl", "give its directory by packages="),
        ("package://robot/.ssh/key.stl", "is hidden, as a name that begins with a dot tells"),
        ("package://robot/meshes/.key.stl", "is hidden, as a name that begins with a dot tells"),
        ("../.ssh/key.stl", "is hidden, as a name that begins with a dot tells"),
        ("package://robot/urdf/x", "is neither a mesh nor an image, as its name ends"),
        ("x", "is neither a mesh nor an image, as its name ends"),
    ],
)
def test_what_leads_out_of_the_search_is_refused_and_is_no_path(tmp_path, secret, uri, said):
    """Not even where there is such a file; nor does the name lead there as it is kept."""
    uri, said = uri.format(folder=tmp_path), said.format(folder=tmp_path)
    model = read_in_robot(tmp_path, uri)
    assert not Path(found(model)).exists()
    assert "://" in found(model)
    (line,) = model.report.remarks
    assert (line.status, line.element) == ("refused", "<mesh>")
    assert said in line
    with pytest.raises(pp.ModelError) as caught:
        read_in_robot(tmp_path, uri, strict=True)
    assert str(caught.value).count("strict=False leaves it out") == 1
    assert f"trial.urdf:4: {uri!r} " in str(caught.value) and "line 4" not in str(caught.value)


def test_directories_given_may_be_read_by_any_name(tmp_path, secret):
    for uri in ("../../../secret.stl", str(secret), f"file://{secret}"):
        assert found(read_in_robot(tmp_path, uri, packages=[tmp_path / "outer"])) == str(secret)


@pytest.mark.parametrize("sign", ["package.xml", "model.config", ".git"])
def test_relative_names_reach_all_of_the_package_or_checkout(tmp_path, secret, stl, sign):
    """Without such a sign, the home of a file ends at the directory above its own."""
    assert found(read_in_robot(tmp_path, "../../../secret.stl")).startswith("file://")
    stl(f"outer/{sign}")
    assert found(read_in_robot(tmp_path, "../../../secret.stl")) == str(secret)


def test_directory_of_the_user_is_no_checkout(tmp_path, secret, stl, monkeypatch):
    """Nor do hidden directories hold packages."""
    stl("outer/.git"), stl("outer/.ssh/key")
    monkeypatch.setenv("HOME", str(tmp_path / "outer"))
    assert found(read_in_robot(tmp_path, "../../../secret.stl")).startswith("file://")
    assert found(read_in_robot(tmp_path, "package://.ssh/key")) == "package://.ssh/key"
    assert found(read_in_robot(tmp_path, "package://outer/secret.stl")).startswith("package://")
    assert found(read_in_robot(tmp_path, "package://outer/.ssh/key")) == "package://outer/.ssh/key"


def test_packages_may_lie_in_hidden_directories(tmp_path, stl):
    """As in the caches of those who download them."""
    path = stl(".cache/robot/meshes/arm.stl")
    (tmp_path / ".cache/robot/urdf").mkdir()
    for uri in ("package://robot/meshes/arm.stl", "../meshes/arm.stl", path):
        assert found(read_text(tmp_path / ".cache/robot/urdf", mesh(uri))) == path


def test_symbolic_links_within_the_search_are_followed(tmp_path, secret):
    """Workspaces of ROS consist of them; who laid them wanted them followed."""
    inside = tmp_path / "outer/cell/robot/meshes/linked.stl"
    inside.symlink_to(secret)
    assert found(read_in_robot(tmp_path, "../meshes/linked.stl")) == str(inside)
    assert found(read_in_robot(tmp_path, "package://robot/meshes/linked.stl")) == str(inside)


@pytest.mark.parametrize("packages", [3, [3], None, b"x"])
def test_what_is_no_directory_is_refused(read, packages):
    with pytest.raises(pp.InputError, match=r"load: packages is .*; expected directories"):
        read(arm(), packages=packages)


def test_a_directory_that_is_missing_is_refused(read):
    with pytest.raises(pp.InputError, match="load: packages has '/no/such', which is no directory"):
        read(arm(), packages=["/no/such"])


def test_loading_opens_no_mesh(read, stl, monkeypatch):
    opened = []
    own = open

    def spy(file, *args, **options):
        opened.append(str(file))
        return own(file, *args, **options)

    path = stl("arm.stl")
    text = mesh("arm.stl")
    read(text)
    monkeypatch.setattr("builtins.open", spy)
    assert found(read(text)) == path
    assert [file for file in opened if file.endswith(".stl")] == []
    assert any(file.endswith(".urdf") for file in opened)
