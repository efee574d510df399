"""What real robots look like, read by us and by Pinocchio: every shape at the same place."""

from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from peers import pinocchio_bridge

import phipsi as pp
from phipsi.model.geometry import Box, Cylinder, Mesh, Sphere, Visual
from phipsi.view.meshes import read_mesh

SHARED = "cmeel.prefix/share/example-robot-data/robots"
FOLDER = Path(str(distribution("example-robot-data").locate_file(SHARED)))

# Meshes in STL, OBJ and COLLADA, some scaled; all kinds of shapes; materials by name; welded links.
ROBOTS = [
    "ur_description/urdf/ur5_gripper.urdf",
    "a1_description/urdf/a1.urdf",
    "talos_data/robots/talos_full_v2.urdf",
    "alex_description/urdf/alex_nub_hands.urdf",
]


@pytest.fixture(scope="module", params=ROBOTS, ids=lambda file: Path(file).stem)
def pair(request):
    """(our visuals with their poses in the world, Pinocchio's shapes with theirs), link by link."""
    file = FOLDER / request.param
    machine = pp.load(file, mimic="independent")
    peer = pinocchio_bridge.from_urdf(machine, file)
    folders = [str(FOLDER.parents[1])]
    shapes = pin.buildGeomFromUrdf(peer.model, str(file), pin.VISUAL, package_dirs=folders)
    q = machine.random(np.random.default_rng(3))
    poses = pp.body_poses(machine, q)
    ours = [
        (visual, (poses[visual.body] if visual.body >= 0 else np.eye(4)) @ visual.placement.matrix)
        for visual in machine.visuals
    ]
    data = pin.GeometryData(shapes)
    pin.updateGeometryPlacements(
        peer.model, peer.model.createData(), shapes, data, peer.q_to_pin(q)
    )
    placed = zip(shapes.geometryObjects, data.oMg, strict=True)
    return ours, [(shape, pose.homogeneous.copy()) for shape, pose in placed]


def describe(visual: Visual) -> tuple:
    """A shape as numbers and names that both sides can tell."""
    match visual.shape:
        case Box(size):
            return "Box", *size
        case Cylinder(radius, length):
            return "Cylinder", radius, length
        case Sphere(radius):
            return "Sphere", radius
        case Mesh(path, scale):
            return path, *scale


def describe_theirs(shape: pin.GeometryObject) -> tuple:
    own = shape.geometry
    match type(own).__name__:
        case "Box":
            return "Box", *(2.0 * own.halfSide)
        case "Cylinder":
            return "Cylinder", own.radius, 2.0 * own.halfLength
        case "Sphere":
            return "Sphere", own.radius
        case _:
            return str(Path(shape.meshPath).resolve()), *shape.meshScale


def test_every_shape_is_where_pinocchio_has_it(pair):
    """Each of Pinocchio's shapes is one of ours: same file or size, same pose, same colour."""
    ours, theirs = pair
    left = list(ours)
    assert len(ours) == len(theirs) > 0
    for shape, pose in theirs:
        name, *sizes = describe_theirs(shape)
        alike = [
            k
            for k, (visual, own) in enumerate(left)
            if describe(visual)[0] == name
            and np.allclose(describe(visual)[1:], sizes, rtol=0, atol=1e-9)
            and np.allclose(own, pose, rtol=0, atol=1e-9)
        ]
        assert alike, f"{shape.name}: {name} {sizes} at {pose[:3, 3]}"
        visual, _ = left.pop(alike[0])
        if shape.overrideMaterial:  # the file gives a material with a colour
            np.testing.assert_allclose(visual.color, shape.meshColor, atol=1e-6)


def test_mesh_files_have_the_size_that_pinocchios_reader_finds(pair):
    """Unit and axes of each file: the corners of a box around it."""
    _, theirs = pair
    files = {shape.meshPath: shape for shape, _ in theirs if "/" in shape.meshPath}
    for path, shape in files.items():
        vertices = np.concatenate([surface.vertices for surface in read_mesh(path)])
        found = shape.geometry.vertices() / shape.meshScale
        np.testing.assert_allclose(vertices.min(axis=0), found.min(axis=0), atol=1e-6)
        np.testing.assert_allclose(vertices.max(axis=0), found.max(axis=0), atol=1e-6)
