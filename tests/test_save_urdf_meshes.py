"""What saved URDF files call meshes, and how machines that float are saved."""

import os
import pickle
from urllib.parse import quote

import pytest
from bars import BAR

import phipsi as pp
from phipsi import joints
from phipsi.model.geometry import Mesh

ROBOT = '<robot name="r"><link name="a"><visual><geometry>{}</geometry></visual></link></robot>'
SDF = """<sdf version="1.9"><model name="r"><link name="a"><visual name="v"><geometry>
<mesh><uri>{}</uri></mesh></geometry></visual></link></model></sdf>"""
MJCF = """<mujoco><compiler meshdir="meshes"/><asset><mesh name="m" file="{}"/></asset>
<worldbody><body name="b"><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
<geom type="mesh" mesh="m"/></body></worldbody></mujoco>"""
STATED = {"urdf": ROBOT.format('<mesh filename="{}"/>'), "sdf": SDF, "xml": MJCF}


@pytest.fixture
def place(tmp_path):
    """A package with a mesh in it, and the folder of another file far from it."""
    package = tmp_path / "src" / "robot"
    (package / "meshes").mkdir(parents=True)
    (package / "package.xml").write_text("<package/>")
    (package / "meshes" / "arm.stl").write_text("solid")
    (package / "models" / "new").mkdir(parents=True)
    (tmp_path / "far" / "away").mkdir(parents=True)
    return package


def mesh_in(model: pp.Model) -> Mesh:
    (visual,) = model.visuals
    return visual.shape


def load_naming(package, uri: str, end: str = "urdf") -> pp.Model:
    file = package / f"robot.{end}"
    file.write_text(STATED[end].format(uri))
    return pp.load(file)


def fate(model: pp.Model) -> str:
    (line,) = (line for line in model.report if line.element == "<mesh>")
    return line.partition(": ")[2]


@pytest.mark.parametrize("end", ["urdf", "sdf"])
@pytest.mark.parametrize("scheme", ["package", "model"])
def test_name_of_a_package_is_kept_and_found_wherever_the_package_is_told(place, end, scheme):
    uri = f"{scheme}://robot/meshes/arm.stl"
    model = load_naming(place, uri, end)
    path = str(place / "meshes" / "arm.stl")
    assert (mesh_in(model).path, mesh_in(model).uri) == (path, uri)
    file = place.parents[1] / "far" / "away" / "new.urdf"
    pp.save_urdf(model, file)
    assert f'"{uri}"' in file.read_text()
    lost = pp.load(file)
    assert fate(lost) == "<mesh>: kept, no such file was found"
    assert not lost.report.refused and mesh_in(lost).path == uri
    assert mesh_in(pp.load(file, packages=[place.parent])) == mesh_in(model)
    pp.save_urdf(lost, file)  # the name lives on in a file that found nothing
    assert mesh_in(pp.load(file, packages=[place.parent])) == mesh_in(model)


@pytest.mark.parametrize(("end", "uri"), [("urdf", "meshes/arm.stl"), ("xml", "arm.stl")])
def test_path_from_the_file_becomes_one_from_the_new_file(place, end, uri):
    """In MJCF it is one from the directory of the meshes, which the file tells."""
    if end == "xml":
        pytest.importorskip("mujoco")
    model = load_naming(place, uri, end)
    assert mesh_in(model).uri == uri
    path = str(place / "meshes" / "arm.stl")
    for folder, name in (
        (place, "meshes/arm.stl"),
        (place / "meshes", "arm.stl"),
        (place / "models" / "new", "../../meshes/arm.stl"),
        (place.parents[1] / "far" / "away", f"file://{path}"),  # which packages= allows
    ):
        pp.save_urdf(model, folder / "new.urdf")
        assert f'"{name}"' in (folder / "new.urdf").read_text()
        again = pp.load(folder / "new.urdf", packages=[place])
        assert mesh_in(again).path == path and not again.report.refused


def test_name_that_readers_would_strip_is_written_with_its_whole_path(place):
    odd = place / "meshes" / " arm 100%.stl"
    odd.write_text("solid")
    builder = pp.ModelBuilder("m")
    builder.add_visuals("world", [Mesh(str(odd), uri=f"./{odd.name}")])
    pp.save_urdf(builder.build(), place / "meshes" / "new.urdf")
    assert f'"file://{quote(str(odd))}"' in (place / "meshes" / "new.urdf").read_text()
    assert mesh_in(pp.load(place / "meshes" / "new.urdf")).path == str(odd)


@pytest.mark.parametrize("name", ["{}/meshes/arm.stl", "file://{}/meshes/arm.stl"])
def test_whole_path_stays_one(place, name):
    name = name.format(place)
    model = load_naming(place, name)
    pp.save_urdf(model, place / "models" / "new.urdf")
    assert f'"{name}"' in (place / "models" / "new.urdf").read_text()
    assert mesh_in(pp.load(place / "models" / "new.urdf")) == mesh_in(model)


def test_path_that_no_file_was_found_for_stays_as_it_was(place):
    model = load_naming(place, "meshes/lost.stl")
    assert "://" in mesh_in(model).path
    file = place.parents[1] / "far" / "away" / "new.urdf"
    pp.save_urdf(model, file)
    assert '"meshes/lost.stl"' in file.read_text()
    assert fate(pp.load(file)) == "<mesh>: kept, no such file was found"


def test_mesh_given_by_a_path_from_here_is_written_from_the_file(place, monkeypatch):
    monkeypatch.chdir(place)
    builder = pp.ModelBuilder("m")
    builder.add_visuals("world", [Mesh(os.path.join("meshes", "arm.stl"))])
    pp.save_urdf(builder.build(), os.path.join("models", "new.urdf"))
    assert '"../meshes/arm.stl"' in (place / "models" / "new.urdf").read_text()


def test_meshes_are_equal_whatever_they_were_called():
    mesh = Mesh("/a/b.stl", (1, 1, 2), "package://a/b.stl")
    assert mesh == Mesh("/a/b.stl", (1, 1, 2)) and len({mesh, Mesh("/a/b.stl", (1, 1, 2))}) == 1
    assert pickle.loads(pickle.dumps(mesh)).uri == "package://a/b.stl"
    assert repr(mesh) == "Mesh(path='/a/b.stl', scale=(1.0, 1.0, 2.0))"
    with pytest.raises(pp.ModelError, match="the uri of a Mesh is 3; expected a text"):
        Mesh("a.stl", uri=3)


# -- machines that float ---------------------------------------------------------------


def floating(name: str, **options) -> pp.Model:
    builder = pp.ModelBuilder("buoy")
    builder.add_body("buoy", joint=joints.Free(), joint_name=name, **BAR, **options)
    return builder.build()


FLOATING = {
    "as load makes it": (
        floating("root"),
        '<!-- This machine floats: phipsi.load(..., base="free")',
    ),
    "another name": (
        floating("root--joint"),
        "<!-- This machine floats, on 'root- -joint': phipsi",
    ),
    "elsewhere": (floating("root", position=(0, 0, 1.01)), "<!-- This machine floats, on 'root': "),
}


@pytest.mark.parametrize("case", FLOATING)
def test_saved_file_says_how_a_machine_that_floats_is_loaded(case, tmp_path):
    model, comment = FLOATING[case]
    file = tmp_path / "buoy.urdf"
    pp.save_urdf(model, file)
    assert file.read_text().splitlines()[1].startswith(comment)
    again = pp.load(file, base="free" if 'base="free"' in comment else None)
    assert again.joints == model.joints and again.bodies == model.bodies


def test_saved_file_of_a_machine_that_stands_says_nothing(tmp_path):
    pp.save_urdf(pp.chain(1), tmp_path / "arm.urdf")
    assert "<!--" not in (tmp_path / "arm.urdf").read_text()
