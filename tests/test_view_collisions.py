"""Collision shapes, shown when asked for; joints that close loops; capsules and ellipsoids."""

from pathlib import Path

import numpy as np
import pytest
import trimesh
from numpy.testing import assert_allclose
from viewing import shown

import phipsi as pp
from phipsi import joints
from phipsi.model.geometry import Box, Capsule, Ellipsoid, Mesh, Sphere, Visual
from phipsi.model.solids import volume
from phipsi.view import Viewer, view
from phipsi.view.scene import COLLISION_COLOR
from phipsi.view.shapes import add_visual, capsule_surface

HINGE = joints.Revolute((0, -1, 0))


def drawn(viewer: Viewer, group: str) -> list:
    return [node for _, node in viewer._scene._nodes.get(group, ())]


@pytest.fixture
def opened(monkeypatch) -> list[str]:
    """The mesh files that are read, in order."""
    from phipsi.view import shapes

    found: list[str] = []

    def spy(path: str):
        found.append(Path(path).name)
        return read(path)

    read = shapes.read_mesh
    monkeypatch.setattr(shapes, "read_mesh", spy)
    return found


@pytest.fixture
def machine(tmp_path) -> pp.Model:
    """An arm whose visual and whose collision are meshes, a box beside it, a missing file."""
    for name, size in (("arm.stl", 0.2), ("hull.stl", 0.4)):
        trimesh.creation.box((1.0, size, size)).export(tmp_path / name)
    look = Visual.of(Mesh(tmp_path / "arm.stl"), (0.5, 0, 0), color=(0, 0, 1))
    builder = pp.ModelBuilder("dressed twice")
    builder.add_body("arm", mass=1.0, com=(0.5, 0, 0), inertia=(0, 1, 1), visuals=[look])
    hull = Visual.of(Mesh(tmp_path / "hull.stl"), (0.5, 0, 0), color=(0, 1, 0))
    builder.add_collisions("arm", [hull, Mesh(tmp_path / "lost.stl")])
    builder.add_collisions("world", [Visual.of(Box((1, 1, 1)), (0, 0, -3))])
    return builder.build()


# -- collision shapes ------------------------------------------------------------------


def test_collision_shapes_are_read_when_they_are_shown(machine, opened):
    with shown(machine) as viewer:
        assert opened == ["arm.stl"]
        assert drawn(viewer, "collisions") == []
        assert viewer.problems == ()
        box = viewer._choices["Collision shapes"]
        assert box.value is False
        box.value = True
        assert opened == ["arm.stl", "hull.stl", "lost.stl"]
        hull, block = drawn(viewer, "collisions")
        assert hull.visible
        assert block.visible
        assert hull.name.startswith("/0 arm/")
        assert block.name.startswith("/world/")
        rgb = tuple(round(255 * part) for part in COLLISION_COLOR[:3])
        assert (hull.color, hull.opacity) == (rgb, COLLISION_COLOR[3])
        (blue,) = drawn(viewer, "shapes")
        assert blue.visible  # what is looked like is still seen
        (line,) = viewer.problems
        assert line.startswith("the collision shape of 'arm' is not shown: ")
        assert "lost.stl" in viewer._list.content
        box.value = False
        assert [node.visible for node in (hull, block, blue)] == [False, False, True]
        box.value = True
        viewer._choices["Shapes"].value = False
        assert [node.visible for node in (hull, block, blue)] == [True, True, False]
        assert opened == ["arm.stl", "hull.stl", "lost.stl"]


def test_collision_shapes_are_seen_from_the_start(machine, opened, capsys):
    with shown(machine, collisions=True) as viewer:
        assert opened == ["arm.stl", "hull.stl", "lost.stl"]
        assert [node.visible for node in drawn(viewer, "collisions")] == [True, True]
        assert viewer._choices["Collision shapes"].value is True
        low, _ = viewer._scene.bounds.box(np.eye(4)[None])
        assert low[2] == -3.5  # the camera sees them, too
    assert "the collision shape of 'arm' is not shown" in capsys.readouterr().err


def test_what_was_missing_before_stays_listed(tmp_path):
    builder = pp.ModelBuilder("lost")
    builder.add_body("arm", mass=1.0, com=(1, 0, 0), visuals=[Mesh(tmp_path / "look.stl")])
    builder.add_collisions("arm", [Mesh(tmp_path / "hull.stl")])
    with shown(builder.build()) as viewer:
        viewer._choices["Collision shapes"].value = True
        assert [line.partition(" is not")[0] for line in viewer.problems] == [
            "'arm'",
            "the collision shape of 'arm'",
        ]
        assert viewer._list.content.count("\n") == 1


def test_machine_without_collision_shapes_or_loops_offers_none(arm):
    with shown(arm, collisions=True) as viewer:
        assert set(viewer._choices) == {"Shapes", "Frames", "Ground"}


def test_page_has_collision_shapes_if_asked(machine, tmp_path, opened):
    plain = view(machine, html=tmp_path / "plain.html").stat().st_size
    assert opened == ["arm.stl"]
    dressed = view(machine, html=tmp_path / "dressed.html", collisions=True).stat().st_size
    assert opened == ["arm.stl", "arm.stl", "hull.stl", "lost.stl"]
    assert dressed > plain


# -- loops -----------------------------------------------------------------------------


def hanging() -> pp.Model:
    """An arm of 1 m, pinned at its end to the world at (1, 0, 0), and to a second one."""
    builder = pp.ModelBuilder("pinned")
    bar = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0, 1, 1)}
    builder.add_body("arm", joint=HINGE, joint_name="turn", **bar)
    builder.add_body("other", joint=HINGE, joint_name="swing", position=(0, 0, 1), **bar)
    builder.add_closure("pin", "world", "arm", HINGE, position=(1, 0, 0), second_position=(1, 0, 0))
    weld = {"position": (0, 0, 1), "second_position": (0, 0, 0)}
    builder.add_closure("weld", "arm", "other", joints.Fixed(), **weld)
    return builder.build()


def test_loops_are_marked_and_open_ones_have_a_line():
    model = hanging()
    with shown(model, q=[0.0, 0.0]) as viewer:
        loops = viewer._scene.loops
        assert [mark.name.split("/")[1] for mark in loops._marks] == [
            "world", "0 arm", "0 arm", "1 other",
        ]  # fmt: skip
        assert_allclose(loops._marks[1].position, (1, 0, 0))
        assert [line.visible for line in loops._lines] == [False, False]  # closed
        viewer.set([0.5, 0.0])
        first, second = loops._lines
        assert (first.visible, second.visible) == (True, True)
        assert_allclose(first.points[0], [(1, 0, 0), (np.cos(0.5), 0, np.sin(0.5))], atol=1e-6)
        assert_allclose(second.points[0], [(-np.sin(0.5), 0, np.cos(0.5)), (0, 0, 1)], atol=1e-6)
        box = viewer._choices["Loops"]
        box.value = False
        viewer.set([0.7, 0.0])
        assert not any(node.visible for node in (*loops._marks, *loops._lines))
        box.value = True
        assert all(node.visible for node in (*loops._marks, *loops._lines))
        viewer.set([0.0, 3.0])
        assert [line.visible for line in loops._lines] == [False, False]


def test_ends_on_a_world_that_passes_by_go_with_it():
    """A stone falls far: the view goes along, and what it was pinned to is left above."""
    builder = pp.ModelBuilder("stone")
    builder.add_body("stone", joint=joints.Free(), mass=1.0, visuals=[Box((1, 1, 1))])
    builder.add_closure("cut", "world", "stone", joints.Spherical())
    stone = builder.build()
    times, q = np.array([0.0, 1.0]), np.tile(stone.neutral(), (2, 1))
    q[1, 6] = -100.0
    with shown(pp.Trajectory(stone, times, q, np.zeros((2, 6)))) as viewer:
        viewer._player.pause()
        viewer.set(q[1])
        (line,) = viewer._scene.loops._lines
        assert_allclose(line.points[0], [(0, 0, 100), (0, 0, 0)], atol=1e-4)


def test_machine_with_loops_is_first_seen_as_it_was_put_together():
    """The limits of its arm leave out zero, where its loop is closed."""
    builder = pp.ModelBuilder("bent")
    bar = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0, 1, 1)}
    builder.add_body("arm", joint=HINGE, limits=pp.Limits(0.2, 2.0), **bar)
    with shown(builder.build()) as viewer:
        assert viewer._panel._q == [0.2]
    builder.add_closure("pin", "world", "arm", position=(1, 0, 0), second_position=(1, 0, 0))
    with shown(builder.build()) as viewer:
        assert viewer._panel._q == [0.0]
        assert not viewer._scene.loops._lines[0].visible


def test_ends_of_loops_are_in_the_picture():
    builder = pp.ModelBuilder("far")
    builder.add_body("arm", mass=1.0, com=(1, 0, 0), visuals=[Box((1, 1, 1))])
    builder.add_closure("rope", "world", "arm", joints.Spherical(), position=(0, 0, 9))
    with shown(builder.build()) as viewer:
        _, high = viewer._scene.bounds.box(np.eye(4)[None])
    assert high[2] == 9.0


# -- shapes ----------------------------------------------------------------------------


@pytest.mark.parametrize(("radius", "length"), [(0.3, 0.8), (0.5, 0.0), (0.01, 2.0)])
def test_capsule_is_what_lies_within_its_radius_of_its_axis(radius, length):
    vertices, faces = capsule_surface(radius, length)
    nearest = np.clip(vertices[:, 2], -length / 2, length / 2)
    apart = vertices - np.stack([0 * nearest, 0 * nearest, nearest], axis=-1)
    assert_allclose(np.linalg.norm(apart, axis=-1), radius, rtol=1e-12)
    corners = vertices[faces]
    enclosed = np.linalg.det(corners).sum() / 6  # positive if all are seen from outside
    assert enclosed == pytest.approx(volume(Capsule(radius, length)), rel=0.03)


def test_ellipsoids_and_capsules_are_drawn_where_they_are():
    quarter = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])  # z becomes x
    egg = Visual.of(Ellipsoid((0.1, 0.2, 0.3)), (1, 2, 3), quarter)
    pill = Visual.of(Capsule(0.1, 0.4), (1, 2, 3), quarter, color=(1, 0, 0, 0.5))
    builder = pp.ModelBuilder("shapes")
    builder.add_body("arm", mass=1.0, com=(1, 0, 0), visuals=[egg, pill, Sphere(0.1)])
    with shown(builder.build()) as viewer:
        first, second, _ = drawn(viewer, "shapes")
        assert tuple(first.scale) == (0.1, 0.2, 0.3)
        assert_allclose(first.position, (1, 2, 3))
        assert (second.color, second.opacity) == ((255, 0, 0), 0.5)
        scene = viewer._server.scene
        for number, (each, half) in enumerate(((egg, (0.3, 0.2, 0.1)), (pill, (0.3, 0.1, 0.1)))):
            _, points = add_visual(scene, f"/again {number}", each)
            assert_allclose(points.max(axis=0), np.array((1, 2, 3)) + half, rtol=1e-12)
            assert_allclose(points.min(axis=0), np.array((1, 2, 3)) - half, rtol=1e-12)
