"""What a viewer draws: ellipsoids, axes, meshes; where camera and ground are put."""

import io
import os

import numpy as np
import pytest
import trimesh
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image
from viewing import UP, shown

import phipsi as pp
from phipsi import joints
from phipsi.model.geometry import Box, Mesh, Sphere
from phipsi.model.inertia import Inertia
from phipsi.simulate.trajectory import Trajectory
from phipsi.view import mesh_files
from phipsi.view.bounds import FIELD_OF_VIEW, Bounds, box_corners, camera_position, turn_z_to
from phipsi.view.mesh_files import Folder
from phipsi.view.meshes import read_mesh
from phipsi.view.skeleton import bones, inertia_ellipsoid, joint_axes
from phipsi.view.stage import ground_height, in_frame
from phipsi.view.travel import roots_gone_far

# -- what stands for a body without shapes ---------------------------------------------


def test_ellipsoid_has_the_inertia_of_the_body():
    """Measured on a mesh of it by integration over its volume; turned, and off its frame."""
    radii, mass, com = np.array([0.3, 0.5, 0.9]), 7.0, (1.0, 2.0, 3.0)
    solid = trimesh.creation.icosphere(subdivisions=5)
    solid.apply_scale(radii)
    solid.density = mass / solid.volume
    R = trimesh.transformations.rotation_matrix(0.7, (1, 2, 3))[:3, :3]
    found = inertia_ellipsoid(Inertia.of(mass, com, R @ solid.moment_inertia @ R.T))
    order = np.argsort(found.radii)
    np.testing.assert_allclose(found.radii[order], radii, rtol=1e-3)
    np.testing.assert_allclose(found.center, com)
    np.testing.assert_allclose(abs(R.T @ found.axes[:, order]), np.eye(3), atol=1e-3)
    assert np.linalg.det(found.axes) == pytest.approx(1.0)


def test_tips_of_an_ellipsoid_lie_on_it():
    found = inertia_ellipsoid(Inertia.of(1.0, (1, 0, 0), (0.4, 0.5, 0.6)))
    local = (found.tips - found.center) @ found.axes / found.radii
    np.testing.assert_allclose(np.linalg.norm(local, axis=1), 1.0)


def test_rods_points_and_impossible_bodies_have_ellipsoids_too():
    rod = inertia_ellipsoid(Inertia.of(1.0, (0, 0, 0), (0.0, 1.0, 1.0)))
    assert rod.radii.min() == pytest.approx(0.02 * rod.radii.max())
    point = inertia_ellipsoid(Inertia.of(1.0, (0, 0, 0), None), size=2.0)
    np.testing.assert_allclose(point.radii, 0.04)
    impossible = inertia_ellipsoid(Inertia.of(1.0, (0, 0, 0), (1.0, 1.0, 5.0)))
    assert np.all(impossible.radii > 0.0)
    assert inertia_ellipsoid(Inertia.of(0.0, (0, 0, 0), (1, 1, 1))) is None


@pytest.mark.parametrize(
    ("kind", "axes"),
    [
        (joints.Revolute((0, 3, 0)), [[0, 1, 0]]),
        (joints.Prismatic((0, 0, -1)), [[0, 0, -1]]),
        (joints.Helical((1, 0, 0), 0.1), [[1, 0, 0]]),
        (joints.Universal((1, 0, 0), (0, 1, 0)), [[1, 0, 0], [0, 1, 0]]),
        (joints.Spherical(), np.eye(3)),
        (joints.Planar((0, 0, 1)), [[0, 0, 1], [1, 0, 0], [0, 1, 0]]),
        (joints.Free(), np.zeros((0, 3))),
    ],
)
def test_axes_of_a_joint(kind, axes):
    np.testing.assert_allclose(joint_axes(kind), axes, atol=1e-15)


def test_bones_lead_from_joint_to_joint_and_to_the_last_mass_centre():
    arm = pp.examples.planar_arm(2)
    np.testing.assert_allclose(bones(arm, 0), [[[0, 0, 0], [1, 0, 0]]])
    np.testing.assert_allclose(bones(arm, 1), [[[0, 0, 0], [0.5, 0, 0]]])
    builder = pp.ModelBuilder()
    builder.add_body("wheel", mass=1.0, inertia=(1, 1, 1))
    assert bones(builder.build(), 0).shape == (0, 2, 3)


# -- room, camera, ground --------------------------------------------------------------


def test_box_holds_all_points_at_all_poses():
    rng = np.random.default_rng(2)
    points = {-1: rng.normal(size=(4, 3)), 0: rng.normal(size=(5, 3)), 1: rng.normal(size=(1, 3))}
    poses = np.tile(np.eye(4), (6, 2, 1, 1))
    poses[..., :3, :3] = np.linalg.qr(rng.normal(size=(6, 2, 3, 3)))[0]
    poses[..., :3, 3] = rng.normal(size=(6, 2, 3))
    bounds = Bounds()
    for body, some in points.items():
        bounds.add(body, some[:2])
        bounds.add(body, some[2:])
    every = list(points[-1])
    for pose in poses:
        every += [(pose[body] @ [*p, 1.0])[:3] for body in (0, 1) for p in points[body]]
    low, high = bounds.box(poses)
    np.testing.assert_allclose(low, np.min(every, axis=0))
    np.testing.assert_allclose(high, np.max(every, axis=0))
    np.testing.assert_array_equal(Bounds().box(poses), np.zeros((2, 3)))
    low, high = bounds.box(poses, world=False)
    np.testing.assert_allclose(low, np.min(every[4:], axis=0))
    np.testing.assert_allclose(high, np.max(every[4:], axis=0))


directions = st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(lambda v: np.linalg.norm(v) > 1e-3)


@given(directions)
def test_camera_sees_the_whole_box_and_little_else(direction):
    """Every corner is within the angle of view; the outermost fills most of it."""
    up = np.array(direction) / np.linalg.norm(direction)
    low, high = np.array([-1.0, 0.0, 2.0]), np.array([0.5, 3.0, 2.5])
    eye = camera_position(low, high, up)
    forward = 0.5 * (low + high) - eye
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, up)
    assert np.linalg.norm(right) > 0.5  # not from right above
    right /= np.linalg.norm(right)
    rays = box_corners(low, high) - eye
    depth = rays @ forward
    slopes = np.abs(rays @ np.stack([right, np.cross(right, forward)]).T) / depth[:, None]
    assert np.all(depth > 0.0)
    assert 0.6 < slopes.max() / np.tan(0.5 * FIELD_OF_VIEW) < 1.0


@given(directions)
@example((0.0, 5.5e-6, -1.0))  # nearly upside down
def test_smallest_turn_takes_z_up(direction):
    up = np.array(direction) / np.linalg.norm(direction)
    R = turn_z_to(up)
    np.testing.assert_allclose(R @ UP, up, atol=1e-11)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-11)
    assert np.linalg.det(R) > 0.0


def test_z_turns_down_too():
    np.testing.assert_array_equal(turn_z_to(-UP) @ UP, -UP)


@pytest.mark.parametrize(
    ("first", "whole", "height"),
    [
        ((0.2, 1.0), (0.1, 1.0), 0.0),  # stands above the origin
        ((-0.9, 0.8), (-0.9, 0.8), -0.9),  # a humanoid whose root is at the origin
        ((-0.1, 0.8), (-0.4, 0.9), -0.1),  # an arm that reaches below its table
        ((-0.1, 0.1), (-3.0, 0.1), -3.0),  # a pendulum
    ],
)
def test_ground_lies_below_machine_or_motion(first, whole, height):
    boxes = [
        (np.array([-1.0, -1.0, low]), np.array([1.0, 1.0, high])) for low, high in (first, whole)
    ]
    assert ground_height(UP, *boxes) == pytest.approx(height)


def falling(fall: float, *others: joints.JointKind, rail: float = 0.1) -> Trajectory:
    """A ball of 1 m that starts at (1, 2, 3), above a rail, beside bodies that stay."""
    builder = pp.ModelBuilder("ball")
    builder.add_visuals("world", [Box((rail, 0.1, 0.1))])
    builder.add_body("ball", joint=joints.Free(), mass=1.0, visuals=[Sphere(0.5)])
    for i, kind in enumerate(others):
        builder.add_body(f"other{i}", joint=kind, mass=1.0, visuals=[Sphere(0.5)])
    machine = builder.build()
    q = np.tile(machine.neutral(), (11, 1))
    q[:, 4:7] = 1.0, 2.0, 3.0
    q[:, 6] -= np.linspace(0.0, fall, 11)
    return Trajectory(machine, np.arange(11.0), q, np.zeros((11, machine.nv)))


def places(viewer) -> np.ndarray:
    """Where the world and the bodies are seen, (1 + n, 3)."""
    return np.array([viewer._scene._world.position, *(x.position for x in viewer._scene._frames)])


@pytest.mark.parametrize(("fall", "rail"), [(3.0, 0.1), (120.0, 0.1), (120.0, 500.0)])
def test_view_goes_along_with_a_machine_that_goes_far(fall, rail):
    """Within about four sizes the ball moves in the world; else it stays and the world moves,
    however large that is. All lies to each other as it should, and the camera sees the ball."""
    motion, is_far = falling(fall, rail=rail), fall > 100.0
    with shown(motion) as viewer:
        camera = viewer._server.initial_camera
        eye, target = np.array(camera.position), np.array(camera.look_at)
        sight = (target - eye) / np.linalg.norm(target - eye)
        for q in motion.q:
            viewer.set(q)
            world, ball = places(viewer)
            np.testing.assert_allclose(ball - world, q[4:7], atol=1e-3)
            np.testing.assert_allclose(ball if is_far else world, (1, 2, 3) if is_far else 0.0)
            ray = (ball - eye) / np.linalg.norm(ball - eye)
            assert ray @ sight > np.cos(0.5 * FIELD_OF_VIEW)
    assert 1.0 < np.linalg.norm(target - eye) < 20.0


def test_view_stays_where_a_part_of_the_machine_stays():
    """A ball falls from a table: who went along with their middle would lose both."""
    motion = falling(120.0, joints.Revolute((0, 0, 1)))
    with shown(motion) as viewer:
        viewer.set(motion.q[-1])
        np.testing.assert_allclose(places(viewer), [[0, 0, 0], [1, 2, -117], [0, 0, 0]])
        assert np.linalg.norm(viewer._server.initial_camera.look_at) < 3.0


def test_view_goes_along_with_the_middle_of_several():
    motion = falling(120.0, joints.Free())
    q = motion.q.copy()
    q[:, 11:14] = q[:, 4:7]
    q[:, 11] += 2.0
    with shown(Trajectory(motion.model, motion.times, q, motion.v)) as viewer:
        viewer.set(q[-1])
        np.testing.assert_allclose(places(viewer), [[0, 0, 120], [1, 2, 3], [3, 2, 3]])


def test_only_the_way_of_roots_makes_a_motion_far():
    """An arm that unfolds to many times its size stays in the frame."""
    arm = pp.chain(2)
    poses = np.tile(np.eye(4), (2, 2, 1, 1))
    poses[1, 1, 0, 3] = 50.0
    bounds = Bounds()
    bounds.add(1, [[0, 0, 0], [1, 0, 0]])
    assert roots_gone_far(arm, bounds, poses).tolist() == [False]
    assert len(in_frame(arm, bounds, poses)) == 2
    poses[1, 0, 0, 3] = 50.0
    assert roots_gone_far(arm, bounds, poses).tolist() == [True]
    assert len(in_frame(arm, bounds, poses)) == 1


# -- mesh files ------------------------------------------------------------------------


@pytest.fixture
def box():
    return trimesh.creation.box((1.0, 2.0, 3.0))


def size(path) -> np.ndarray:
    vertices = np.concatenate([surface.vertices for surface in read_mesh(str(path))])
    return np.ptp(vertices, axis=0)


@pytest.mark.parametrize("suffix", ["stl", "obj", "dae", "ply", "STL"])
def test_mesh_of_each_format_is_read(tmp_path, box, suffix):
    path = tmp_path / f"box.{suffix}"
    box.export(path, file_type=suffix.lower())
    np.testing.assert_allclose(size(path), (1, 2, 3), rtol=1e-6)


def test_edges_stay_sharp(tmp_path, box):
    """Faces that meet at a right angle share no vertex, so each is shaded alone."""
    box.export(tmp_path / "box.stl")
    (surface,) = read_mesh(str(tmp_path / "box.stl"))
    assert len(surface.vertices) == 24
    ball = trimesh.creation.icosphere(subdivisions=3)
    ball.export(tmp_path / "ball.stl")
    (surface,) = read_mesh(str(tmp_path / "ball.stl"))
    assert len(surface.vertices) == len(ball.vertices)


COLLADA = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="inch" meter="0.0254"/><up_axis>Y_UP</up_axis></asset>
<library_effects><effect id="paint"><profile_COMMON><technique sid="common"><lambert>
  <diffuse><color>1 0 0.2 1</color></diffuse>
</lambert></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#paint"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
  <source id="p"><float_array id="a" count="9">0 0 0 1 0 0 0 2 3</float_array>
    <technique_common><accessor source="#a" count="3" stride="3">
      <param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
    </accessor></technique_common></source>
  <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
  <triangles count="1" material="m"><input semantic="VERTEX" source="#v" offset="0"/>
    <p>0 1 2</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><instance_geometry url="#g"><bind_material>
  <technique_common><instance_material symbol="m" target="#m"/></technique_common>
</bind_material></instance_geometry></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene>
</COLLADA>"""


def test_collada_file_has_its_unit_and_its_colour_and_is_not_turned(tmp_path):
    path = tmp_path / "triangle.dae"
    path.write_text(COLLADA)
    (surface,) = read_mesh(str(path))
    corners = 0.0254 * np.array([[0, 0, 0], [1, 0, 0], [0, 2, 3]])
    np.testing.assert_allclose(surface.vertices[surface.faces[0]], corners, rtol=1e-6)
    np.testing.assert_allclose(surface.color, (1.0, 0.0, 0.2, 1.0), atol=3e-3)


def test_file_without_colour_has_none(tmp_path, box):
    box.export(tmp_path / "box.stl")
    assert read_mesh(str(tmp_path / "box.stl"))[0].color is None


def test_colours_of_vertices_are_kept(tmp_path, box):
    box.visual.vertex_colors = np.linspace(0, 255, 4 * len(box.vertices)).reshape(-1, 4)
    box.export(tmp_path / "box.ply")
    (surface,) = read_mesh(str(tmp_path / "box.ply"))
    assert surface.painted is not None
    builder = pp.ModelBuilder("painted")
    builder.add_visuals("world", [Mesh(tmp_path / "box.ply")])
    builder.add_body("arm", mass=1.0, com=(1, 0, 0))
    with shown(builder.build()) as viewer:
        assert viewer.problems == ()


def test_a_file_is_read_once_unless_it_changes(tmp_path, box):
    path = tmp_path / "box.stl"
    box.export(path)
    first = read_mesh(str(path))
    assert read_mesh(str(path)) is first
    box.apply_scale(2.0)
    box.export(path)
    os.utime(path, ns=(1, 1))
    np.testing.assert_allclose(size(path), (2, 4, 6), rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("broken.stl", b"\x00" * 90, "broken.stl: "),
        ("broken.dae", b"<COLLADA>", "cannot be read as a mesh"),
        ("empty.obj", b"# nothing\n", "empty.obj: "),
        ("robot.mesh", b"x", "cannot be read as a mesh"),
    ],
)
def test_broken_mesh_is_refused_by_name(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(pp.ModelError, match=said):
        read_mesh(str(tmp_path / name))


def test_missing_mesh_is_refused_by_name():
    with pytest.raises(pp.ModelError, match=r"/no/such.stl: No such file or directory"):
        read_mesh("/no/such.stl")
    with pytest.raises(pp.ModelError, match=r"package://robot/arm.stl: no file was found"):
        read_mesh("package://robot/arm.stl")


# -- which files are opened ------------------------------------------------------------

TEXTURED = """mtllib {library}
v 0 0 0
v 1 0 0
v 0 1 0
vt 0 0
vt 1 0
vt 0 1
usemtl paint
f 1/1 2/2 3/3
"""
PAINT = "newmtl paint\nKd 0 1 0\nmap_Kd {image}\n"


def textured(folder, library="paint.mtl", image="paint.png", at="paint.png"):
    """A triangle in `folder`/meshes, with a texture of red and blue."""
    meshes = folder / "meshes"
    meshes.mkdir()
    (meshes / "triangle.obj").write_text(TEXTURED.format(library=library))
    (meshes / "paint.mtl").write_text(PAINT.format(image=image))
    pixels = np.zeros((2, 2, 3), dtype=np.uint8)
    pixels[0, :, 0] = pixels[1, :, 2] = 255
    Image.fromarray(pixels).save(meshes / at)
    return str(meshes / "triangle.obj")


def has_texture(path) -> bool:
    """Whether a mesh has red and blue; a texture that is missing is grey in trimesh."""
    (surface,) = read_mesh(path)
    drawn = trimesh.load_mesh(io.BytesIO(surface.painted), "glb")
    pixels = np.asarray(drawn.visual.material.baseColorTexture.convert("RGB"))
    return {(255, 0, 0), (0, 0, 255)} <= set(map(tuple, pixels.reshape(-1, 3).tolist()))


@pytest.mark.parametrize("image", ["paint.png", "../textures/paint.png", "C:\\art\\paint.png"])
def test_texture_beside_its_mesh_is_read_whatever_folder_is_said(tmp_path, image):
    assert has_texture(textured(tmp_path, image=image))


def test_nothing_outside_the_folder_of_a_mesh_is_opened(tmp_path):
    path = textured(tmp_path, library="../other.mtl")
    (tmp_path / "other.mtl").write_text(PAINT.format(image="meshes/paint.png"))
    assert not has_texture(path)
    for name in ("../other.mtl", str(tmp_path / "other.mtl"), "a/../../other.mtl"):
        with pytest.raises(pp.ModelError, match="No such file"):
            Folder(path).get(name)
    assert Folder(path)["paint.mtl"].startswith(b"newmtl")


def test_pipe_that_a_mesh_names_is_not_waited_for(tmp_path):
    """Nobody writes to it: who opened it would hang."""
    path = textured(tmp_path, library="pipe.mtl")
    os.mkfifo(tmp_path / "meshes" / "pipe.mtl")
    assert not has_texture(path)
    with pytest.raises(pp.ModelError, match=r"pipe.mtl: this is no regular file"):
        Folder(path).get("pipe.mtl")


def test_mesh_that_is_no_regular_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.stl")
    for path in (tmp_path / "pipe.stl", tmp_path, "/dev/zero"):
        with pytest.raises(pp.ModelError, match="this is no regular file; expected a mesh"):
            read_mesh(str(path))
    with pytest.raises(pp.ModelError, match="null"):
        read_mesh("a\0b.stl")


def test_mesh_that_is_too_large_is_refused(tmp_path, monkeypatch):
    """Half a gigabyte of nothing takes no room on the disk."""
    with open(tmp_path / "large.stl", "wb") as stream:
        stream.truncate(mesh_files.MOST_BYTES + 1)
    with pytest.raises(pp.ModelError, match="has 512 MiB, and meshes are read up to 512 MiB"):
        read_mesh(str(tmp_path / "large.stl"))
    path = textured(tmp_path)
    monkeypatch.setattr(mesh_files, "MOST_BYTES", os.stat(path).st_size)
    folder = Folder(path)
    assert folder.get("paint.mtl")
    with pytest.raises(pp.ModelError, match=r"paint.png: has .* with all that they name"):
        for _ in range(9):
            folder.get("paint.png")


@pytest.mark.parametrize("name", ["arm.zip", "arm.stl.gz", "ARM.TAR"])
def test_archive_is_not_unpacked(tmp_path, name):
    (tmp_path / name).write_bytes(b"PK")
    with pytest.raises(pp.ModelError, match="this is an archive; unpack it"):
        read_mesh(str(tmp_path / name))
