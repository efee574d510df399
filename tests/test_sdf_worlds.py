"""Worlds of SDF, models in other files, shapes, and what became of every element."""

import os
from functools import partial

import numpy as np
import pytest
from sdf_text import SOLID, joint, link, pose_of, read_text, world_poses, write

import phipsi as pp
from phipsi.model import geometry
from phipsi.model.files.load import load

ModelError = pp.errors.ModelError


@pytest.fixture
def read(tmp_path):
    return partial(read_text, tmp_path)


@pytest.fixture
def world(tmp_path):
    """world(body, version): the machine of a world with that body, which begins in line 3."""

    def make(body: str, version: str = "1.11", **options) -> pp.Model:
        return load(write(tmp_path, f'<world name="w">\n{body}\n</world>', version), **options)

    return make


def model(name: str, inside: str) -> str:
    return f'<model name="{name}">{inside}</model>\n'


def include(uri: str, inside: str = "", attributes: str = "") -> str:
    return f"<include{attributes}><uri>{uri}</uri>{inside}</include>\n"


def positions(machine: pp.Model) -> dict[str, list[float]]:
    return {name: pose[:3, 3].round(12).tolist() for name, pose in world_poses(machine).items()}


# -- worlds ----------------------------------------------------------------------------

TWO = model("a", pose_of("1 0 0 0 0 0") + link("l")) + model("b", link("l", pose="0 2 0 0 0 0"))


def test_a_world_has_all_its_models_by_name(world):
    machine = world(TWO + model("ground", "<static>1</static>" + link("l")))
    assert machine.name == "w"
    assert [body.name for body in machine.bodies] == ["a::l", "b::l"]
    assert [each.name for each in machine.joints] == ["root_a::l", "root_b::l"]
    assert positions(machine)["a::l"] == [1, 0, 0]
    assert positions(machine)["ground::l"] == [0, 0, 0]
    assert (machine.mass, machine.moving_mass) == (6.0, 4.0)
    assert world(TWO, base="fixed").nv == 0


def test_ground_stands_whatever_the_base(world):
    machine = world(
        model("a", link("l")) + model("g", "<static>1</static>" + link("l")), base="free"
    )
    assert [each.name for each in machine.joints] == ["root"]


def test_models_may_stand_side_by_side_without_a_world(tmp_path):
    machine = load(write(tmp_path, TWO))
    assert machine.name == "trial"
    assert [body.name for body in machine.bodies] == ["a::l", "b::l"]


def test_a_world_may_join_its_models_and_have_frames(world):
    frame = '<frame name="f"><pose relative_to="world">0 0 3 0 0 0</pose></frame>'
    placed = model("c", pose_of("0 0 1 0 0 0@f") + link("l"))
    machine = world(TWO + frame + placed + joint("j", "a::l", "b::l") + joint("k", "world", "c"))
    assert [each.name for each in machine.joints] == ["root", "j", "k"]
    assert positions(machine)["c::l"] == [0, 0, 4]
    assert machine.frame("f").body == -1


ODE = '<physics type="ode"><real_time_factor>1</real_time_factor>'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (0, 0, -9.81)),
        ("<gravity>0 0 -1.62</gravity>", (0, 0, -1.62)),
        (f"{ODE}<gravity>0 -3 0</gravity></physics>", (0, -3, 0)),
    ],
)
def test_gravity_is_the_worlds(world, text, expected):
    machine = world(text + model("a", link("l")))
    assert machine.gravity == expected
    assert not machine.report.remarks
    assert world(text + model("a", link("l")), gravity=(1, 2, 3)).gravity == (1, 2, 3)


def physics(z: float, attributes: str = "") -> str:
    return f"<physics type='ode'{attributes}><gravity>0 0 {z}</gravity></physics>\n"


YES, NO = " default='true'", " default='0'"


@pytest.mark.parametrize(
    ("text", "z", "unused"),
    [
        (physics(-1) + physics(-2), -1, [-2]),
        (physics(-1) + physics(-2, YES) + physics(-3), -2, [-1, -3]),
        (physics(-1, NO) + physics(-2, YES) + physics(-3, YES), -2, [-1, -3]),
        (physics(-2) + physics(-2), -2, []),
        (physics(-1, YES) + "<gravity>0 0 -4</gravity>", -4, [-1]),
        (physics(-1) + "<physics type='ode' default='1'/>", -9.81, [-1]),
    ],
)
def test_of_several_physics_that_by_default_counts_and_others_are_told(world, text, z, unused):
    machine = world(text + model("a", link("l")))
    assert machine.gravity == (0, 0, z)
    assert len(machine.report.remarks) == len(unused)
    where = {-1: 3, -2: 4, -3: 5}
    assert [line.line for line in machine.report.remarks] == [where[each] for each in unused]
    told = "line" if z > -9 else "Earth's (0.0, 0.0, -9.81)"
    assert all("this <gravity> is not used" in line for line in machine.report.remarks)
    assert all(told in line for line in machine.report.remarks)


def test_a_gravity_that_nothing_feels_is_not_used(world, read):
    """Another one is asked for, or no link feels any."""
    text = physics(-1)
    for body, options in (
        (link("l"), {"gravity": (0, 0, -2)}),
        (link("l", SOLID + "<gravity>0</gravity>"), {}),
    ):
        machine = world(text + model("a", body), **options)
        ignored = {line.element: str(line) for line in machine.report.ignored}
        assert "<gravity>" in ignored
        assert machine.gravity == options.get("gravity", (0, 0, 0))


def test_a_default_is_true_or_false(world):
    with pytest.raises(ModelError, match=r"trial.sdf:3: <physics>: 'perhaps' is no truth value"):
        world(physics(-1, " default='perhaps'") + TWO)


def test_gravity_acts_on_all_links_or_on_none(read):
    light = link("{}", SOLID + "<gravity>0</gravity>")
    a, b = light.format("a"), light.format("b")
    machine = read(a + b)
    assert machine.gravity == (0, 0, 0)
    assert not machine.report.remarks
    machine = read(a + link("b"))
    assert machine.gravity == (0, 0, -9.81)
    assert "gravity acts on all links or on none" in machine.report.remarks[0]
    assert read(a + b, gravity=(0, 0, -1)).gravity == (0, 0, -1)


def test_what_else_a_world_has_is_told(world):
    text = (
        "<scene/><light name='sun'/><state world_name='w'/><population name='p'/><actor name='x'/>"
    )
    report = world(text + model("a", link("l"))).report
    assert ["<state>" in line or "<population" in line for line in report.remarks] == [True, True]
    assert [line.element for line in report.refused if line.notable] == ["<population 'p'>"]
    assert {"<scene>", "<light 'sun'>", "<actor 'x'>"} <= {line.element for line in report.ignored}


# -- models in other files -------------------------------------------------------------


@pytest.fixture
def ball(tmp_path):
    """A package called ball, whose model.config names the newest of two files."""
    text = f'<model name="ball">{link("core", pose="0 0 0.5 0 0 0")}{{}}</model>'
    write(tmp_path, text.format(link("old")), "1.4", "ball/old.sdf")
    write(
        tmp_path,
        text.format('<frame name="top"><pose>0 0 1 0 0 0</pose></frame>'),
        "1.8",
        "ball/new.sdf",
    )
    files = "<sdf version='1.4'>old.sdf</sdf><sdf version='1.8'>new.sdf</sdf>"
    (tmp_path / "ball/model.config").write_text(f"<model><name>Ball</name>{files}</model>")


@pytest.mark.parametrize(
    "uri", ["model://ball", "model://ball/new.sdf", "ball", "ball/new.sdf", "package://ball/"]
)
def test_a_model_may_stand_in_another_file(world, ball, uri):
    machine = world(include(uri) + include(uri, "<name>other</name><pose>1 0 0 0 0 0</pose>"))
    assert [body.name for body in machine.bodies] == ["ball::core", "other::core"]
    assert positions(machine)["other::core"] == [1, 0, 0.5]
    assert not machine.report.remarks


def test_an_include_says_otherwise_of_pose_stillness_and_placement(world, ball):
    inside = "<pose>0 0 5 0 0 0</pose><placement_frame>top</placement_frame><static>1</static>"
    machine = world(include("model://ball", inside) + model("a", link("l")))
    assert positions(machine)["ball::core"] == [0, 0, 4.5]
    assert [body.name for body in machine.bodies] == ["a::l"]


def test_an_include_may_be_nested_or_merged(read, ball):
    nested = read(link("hand") + include("model://ball") + joint("j", "hand", "ball::core"))
    assert [body.name for body in nested.bodies] == ["hand", "ball::core"]
    text = include("model://ball", "<pose>0 0 5 0 0 0</pose>", ' merge="true"')
    merged = read(link("hand") + text + joint("j", "hand", "core"))
    assert [body.name for body in merged.bodies] == ["hand", "core"]
    assert positions(merged)["core"] == [0, 0, 5.5]
    assert positions(merged)["top"] == [0, 0, 6]
    alone = read(text + '<frame name="f"/>')  # the merged link is the model's own
    assert alone.bodies[alone.frame("f").body].name == "core"


def test_files_are_looked_for_where_packages_are(tmp_path, ball):
    file = write(
        tmp_path, f"<world name='w'>{include('model://ball')}</world>", name="far/deep/w.sdf"
    )
    assert load(file).nv == 6  # above the file
    other = write(tmp_path, f"<world name='w'>{include('crate')}{TWO}</world>", name="x/w.sdf")
    write(tmp_path, model("crate", link("c")), name="shelf/crate/model.sdf")
    missing = load(other)
    assert "'crate' is not found where packages are searched" in missing.report.remarks[0]
    other.write_text(other.read_text().replace("crate", "model://crate"))
    assert load(other, packages=[tmp_path / "shelf"]).nv == 18


def test_the_report_has_every_file(world, ball, tmp_path):
    machine = world(include("model://ball"))
    files = [os.path.basename(file) for file in dict.fromkeys(line.file for line in machine.report)]
    assert files == ["trial.sdf", "new.sdf"]
    assert len(machine.report) == 4 + 12  # sdf, world, include, uri; and all of the other file


MISSING = {
    "nowhere": ("model://nowhere", "is not found where packages are searched"),
    "network": ("https://fuel.gazebosim.org/1.0/ball", "is not fetched over the network"),
    "up": ("../../outside.sdf", "is outside of"),
    "file": ("file:///etc/passwd", "is outside of"),
    "up by package": ("model://ball/../../outside.sdf", "leads out of its package"),
    "urdf": ("robot.urdf", "is no SDF file, its root element is <robot>"),
    "empty": ("empty.sdf", "has no <model>"),
}


@pytest.mark.parametrize("case", MISSING)
def test_what_cannot_be_included_is_left_out_and_told(tmp_path, ball, case):
    uri, text = MISSING[case]
    write(tmp_path, model("outside", link("l")), name="outside.sdf")
    write(tmp_path, "", name="in/empty.sdf")
    (tmp_path / "in/robot.urdf").write_text("<robot name='r'/>")
    file = write(tmp_path, f"<world name='w'>\n{include(uri)}{TWO}</world>", name="in/w.sdf")
    (remark,) = load(file).report.remarks
    assert text in remark and remark.status == "refused" and remark.line == 3
    with pytest.raises(ModelError, match=r"w.sdf:3: .*strict=False leaves it out"):
        load(file, strict=True)


def test_a_light_in_another_file_moves_nothing(tmp_path, world):
    write(tmp_path, "<light name='l'/>", name="sun/model.sdf")
    machine = world(TWO + include("model://sun"), strict=True)
    assert not machine.report.remarks
    assert any("it is not moved by forces" in line for line in machine.report.ignored)


def test_a_model_config_names_no_file_elsewhere(tmp_path, ball):
    write(tmp_path, model("outside", link("l")), name="outside.sdf")
    (tmp_path / "ball/model.config").write_text(
        "<model><sdf version='1.8'>../outside.sdf</sdf></model>"
    )
    file = write(tmp_path, f"<world name='w'>{include('model://ball')}{TWO}</world>")
    assert "is left out" in load(file).report.remarks[0]
    (tmp_path / "ball/model.config").write_text("<model>")
    assert "is left out" in load(file).report.remarks[0]


# -- shapes ----------------------------------------------------------------------------


def visual(inside: str, name: str = "v", tag: str = "visual") -> str:
    return f'<{tag} name="{name}">{inside}</{tag}>'


SHAPES = {
    "<box><size>1 2 3</size></box>": geometry.Box((1, 2, 3)),
    "<sphere><radius>1</radius></sphere>": geometry.Sphere(1),
    "<cylinder><radius>1</radius><length>2</length></cylinder>": geometry.Cylinder(1, 2),
    "<capsule><radius>1</radius><length>2</length></capsule>": geometry.Capsule(1, 2),
    "<ellipsoid><radii>1 2 3</radii></ellipsoid>": geometry.Ellipsoid((1, 2, 3)),
    "<mesh><uri>http://a/b.stl</uri><scale>1 1 -2</scale></mesh>": geometry.Mesh(
        "http://a/b.stl", (1, 1, -2)
    ),
}


@pytest.mark.parametrize("text", SHAPES)
@pytest.mark.parametrize("tag", ["visual", "collision"])
def test_shapes_are_kept(read, text, tag):
    machine = read(link("a", SOLID + visual(f"<geometry>{text}</geometry>", tag=tag)))
    (only,) = machine.visuals if tag == "visual" else machine.collisions
    assert (only.shape, only.name, only.body) == (SHAPES[text], "v", 0)
    assert not machine.report.remarks
    assert any(line.element == f"<{tag} 'v'>" for line in machine.report.kept)


def test_meshes_are_found_as_packages_are(read, tmp_path):
    (tmp_path / "looks").mkdir()
    (tmp_path / "looks/a.stl").touch()
    text = "<geometry><mesh><uri>model://looks/a.stl</uri></mesh></geometry>"
    (only,) = read(link("a", SOLID + visual(text))).visuals
    assert only.shape.path == str(tmp_path / "looks/a.stl")


BALL = "<geometry><sphere><radius>1</radius></sphere></geometry>"


@pytest.mark.parametrize(
    ("inside", "color"),
    [
        ("<diffuse>1 0 0 0.5</diffuse><ambient>0 1 0 1</ambient>", (1, 0, 0, 0.5)),
        ("<ambient>0 1 0</ambient>", (0, 1, 0, 1)),
        ("<diffuse>1 0 0 1</diffuse></material><transparency>0.75</transparency>", (1, 0, 0, 0.25)),
        ("<script><name>Gazebo/Red</name></script>", None),
        ("", None),
    ],
)
def test_colours_are_diffuse_else_ambient(read, inside, color):
    closed = inside if "</material>" in inside else f"{inside}</material>"
    machine = read(link("a", SOLID + visual(f"{BALL}<material>{closed}")))
    assert machine.visuals[0].color == color
    assert not machine.report.remarks


def test_what_cannot_be_drawn_is_left_out_and_told(read):
    bad = {
        "<geometry><plane><normal>0 0 1</normal></plane></geometry>": "a <plane> is not kept",
        "<geometry><sphere><radius>-1</radius></sphere></geometry>": "must not be negative",
        "<geometry><sphere/></geometry>": "<sphere> has no <radius>",
        "<geometry/>": "has no shape",
        "": "has no <geometry>",
        "<geometry><mesh><uri>a</uri><submesh/></mesh></geometry>": "submesh",
        '<pose relative_to="q">0 0 0 0 0 0</pose>' + BALL: "is relative to 'q', which is unknown",
    }
    for text, message in bad.items():
        machine = read(link("a", SOLID + visual(text)))
        assert machine.visuals == ()
        (remark,) = machine.report.remarks
        assert message in remark
    machine = read(
        link("a", SOLID + visual(BALL + "<material><diffuse>2 0 0 1</diffuse></material>"))
    )
    assert machine.visuals[0].color is None
    assert "each from 0 to 1" in machine.report.remarks[0]
    assert read(link("a", SOLID + visual("<geometry><empty/></geometry>"))).visuals == ()


def test_the_machine_of_a_file_can_be_pickled(world, ball):
    import pickle

    machine = world(include("model://ball"))
    again = pickle.loads(pickle.dumps(machine))
    assert list(again.report) == list(machine.report)
    np.testing.assert_array_equal(
        world_poses(again)["ball::core"], world_poses(machine)["ball::core"]
    )


def test_world_of_nothing_but_missing_models_says_which(world):
    text = "<include> <uri>model://sun</uri> </include>"
    with pytest.raises(
        ModelError, match=r"<world 'w'> has no <link>; its <include> of line 3: .*sun"
    ):
        world(text)


def test_a_machine_on_joints_of_the_world_cannot_be_freed(read):
    body = link("a", SOLID) + joint("j", "world", "a")
    with pytest.raises(pp.InputError, match=r"base='free': every link of .*trial.sdf hangs on"):
        read(body, base="free")
    assert read(body).nv == 1
