"""The links of SDF files: masses, inertias of shapes, what stands and what is free."""

import math
from functools import partial

import numpy as np
import pytest
from sdf_text import about, arm, homogeneous, joint, link, pose_of, read_text, world_poses

from phipsi import joints
from phipsi.model import geometry

HALF = "1.5707963267948966"  # a quarter turn


@pytest.fixture
def read(tmp_path):
    """read(body, version, **options): the model called trial with that body."""
    return partial(read_text, tmp_path)


# -- masses -----------------------------------------------------------------------------


def test_the_inertia_stands_in_the_axes_of_the_inertial(read):
    """R I R* with a quarter turn about z: x and y change places, the product its sign."""
    inside = f"""<inertial><pose>0.1 0.2 0.3 0 0 {HALF}</pose><mass>3</mass><inertia>
        <ixx>1</ixx><iyy>2</iyy><izz>2.5</izz><ixy>0.1</ixy><ixz>0.2</ixz><iyz>0.3</iyz>
        </inertia></inertial>"""
    inertia = read(link("a", inside)).body("a").inertia
    assert (inertia.mass, inertia.com) == (3.0, (0.1, 0.2, 0.3))
    expected = [[2, -0.1, -0.3], [-0.1, 1, 0.2], [-0.3, 0.2, 2.5]]
    np.testing.assert_allclose(inertia.rotational, expected, atol=1e-15)


@pytest.mark.parametrize(
    ("inside", "mass", "moments"),
    [
        ("", 1.0, (1, 1, 1)),
        ("<inertial/>", 1.0, (1, 1, 1)),
        ("<inertial><mass>3</mass></inertial>", 3.0, (1, 1, 1)),
        ("<inertial><inertia><ixx>1.5</ixx></inertia></inertial>", 1.0, (1.5, 1, 1)),
    ],
)
def test_what_the_file_leaves_out_weighs_one(read, inside, mass, moments):
    model = read(link("a", inside))
    inertia = model.body("a").inertia
    assert inertia.mass == mass
    np.testing.assert_array_equal(inertia.rotational, np.diag(moments))
    assert len(model.report.remarks) == (inside == "")


def test_ground_that_says_nothing_weighs_nothing(read):
    model = read("<static>1</static>" + link("ground", ""))
    assert (model.mass, len(model.report.remarks)) == (0.0, 0)


SHAPES = {
    "box": ("<size>0.2 0.4 0.6</size>", geometry.Box((0.2, 0.4, 0.6))),
    "sphere": ("<radius>0.3</radius>", geometry.Sphere(0.3)),
    "cylinder": ("<radius>0.3</radius><length>0.8</length>", geometry.Cylinder(0.3, 0.8)),
    "capsule": ("<radius>0.3</radius><length>0.8</length>", geometry.Capsule(0.3, 0.8)),
    "ellipsoid": ("<radii>0.2 0.3 0.4</radii>", geometry.Ellipsoid((0.2, 0.3, 0.4))),
}


def collision(tag: str, extra: str = "", pose: str = "") -> str:
    shape = f"<geometry><{tag}>{SHAPES[tag][0]}</{tag}></geometry>"
    return f'<collision name="{tag}">{pose_of(pose)}{extra}{shape}</collision>'


def by_points(shape, density: float, seed: int = 0):
    """Mass and moments of a solid, by counting points of a grid."""
    size = {
        geometry.Box: lambda s: np.array(s.size) / 2,
        geometry.Sphere: lambda s: np.full(3, s.radius),
        geometry.Cylinder: lambda s: np.array([s.radius, s.radius, s.length / 2]),
        geometry.Capsule: lambda s: np.array([s.radius, s.radius, s.length / 2 + s.radius]),
        geometry.Ellipsoid: lambda s: np.array(s.radii),
    }[type(shape)](shape)
    n = 60
    axes = [(np.arange(n) + 0.5) / n * 2 * h - h for h in size]
    x, y, z = np.meshgrid(*axes, indexing="ij")
    match shape:
        case geometry.Box():
            inside = np.ones_like(x, dtype=bool)
        case geometry.Cylinder():
            inside = x**2 + y**2 <= shape.radius**2
        case geometry.Capsule():
            above = np.maximum(np.abs(z) - shape.length / 2, 0.0)
            inside = x**2 + y**2 + above**2 <= shape.radius**2
        case _:
            inside = (x / size[0]) ** 2 + (y / size[1]) ** 2 + (z / size[2]) ** 2 <= 1.0
    mass = density * np.prod(2 * size) * inside.mean()
    square = [(each[inside] ** 2).mean() for each in (x, y, z)]
    moments = [mass * (sum(square) - each) for each in square]
    return mass, moments


@pytest.mark.parametrize("tag", SHAPES)
def test_an_automatic_inertia_is_that_of_the_solid(read, tag):
    mass, moments = by_points(SHAPES[tag][1], 1000.0)
    model = read(link("a", '<inertial auto="true"/>' + collision(tag)), "1.11")
    inertia = model.body("a").inertia
    assert math.isclose(inertia.mass, mass, rel_tol=5e-3)
    np.testing.assert_allclose(np.diag(inertia.rotational), moments, rtol=8e-3)
    assert not model.report.remarks


def test_densities_are_the_collisions_own_the_inertials_or_waters(read):
    """Two boxes of 0.048 m^3, one lighter; a given mass scales all."""
    two = collision("box", "<density>100</density>", "1 0 0 0 0 0") + collision("box").replace(
        'name="box"', 'name="other"'
    )
    inertia = read(link("a", f'<inertial auto="1"><density>300</density></inertial>{two}')).bodies[
        0
    ]
    assert math.isclose(inertia.inertia.mass, 0.048 * 400)
    np.testing.assert_allclose(inertia.inertia.com, (0.25, 0, 0), atol=1e-15)
    heavy = read(link("a", f'<inertial auto="1"><mass>5</mass></inertial>{two}')).bodies[0].inertia
    light = read(link("a", f'<inertial auto="1"/>{two}')).bodies[0].inertia
    assert heavy.mass == 5.0
    ratio = 5.0 / light.mass
    np.testing.assert_allclose(heavy.rotational, ratio * np.array(light.rotational), atol=1e-15)


def test_a_solid_of_less_than_nothing_is_refused(read):
    body = link("a", '<inertial auto="1"><density>-1</density></inertial>' + collision("box"))
    remark = read(body).report.refused[0]
    assert "density is -1 kg/m^3; it must not be negative; give <mass>" in remark


# -- what stands, what is free ---------------------------------------------------------


def test_a_machine_is_free_where_the_file_puts_it(read):
    model = read(link("a", pose="1 2 3 0 0 0.5"))
    (only,) = model.joints
    assert (only.name, only.kind) == ("root", joints.Free())
    np.testing.assert_allclose(
        world_poses(model)["a"], homogeneous(about(np.array([0, 0, 1]), 0.5), (1, 2, 3))
    )
    fixed = read(link("a", pose="1 2 3 0 0 0.5"), base="fixed")
    assert (fixed.nv, fixed.mass, fixed.moving_mass) == (0, 2.0, 0.0)
    np.testing.assert_allclose(world_poses(fixed)["a"], world_poses(model)["a"])


def test_what_nothing_connects_is_several_free_bodies(read):
    model = read(link("a") + link("b") + link("c") + joint("bc", "b", "c"))
    assert [each.name for each in model.joints] == ["root_a", "root_b", "bc"]
    assert read(link("a") + link("b"), base="fixed").nv == 0


def test_a_root_joint_gives_way_to_a_joint_of_that_name(read):
    model = read(link("a") + link("b") + joint("root", "a", "b"))
    assert [each.name for each in model.joints] == ["root_2", "root"]
    assert "the free joint of 'a' is called 'root_2'" in model.report.remarks[0]


def test_what_is_welded_to_the_world_stands(read):
    for base in (None, "fixed"):
        assert read(arm(), base=base).nv == 1


@pytest.mark.parametrize(("base", "nv"), [(None, 0), ("fixed", 0), ("free", 7)])
def test_a_static_model_stands_unless_it_is_freed(read, base, nv):
    body = "<static>true</static>" + link("a") + link("b", pose="1 0 0 0 0 0")
    model = read(body + joint("j", "a", "b"), base=base)
    assert model.nv == nv
    assert model.mass == 4.0
    np.testing.assert_allclose(world_poses(model)["b"][:3, 3], (1, 0, 0))
    if not nv and base is None:
        assert any("what it connects stands still" in line for line in model.report.merged)


@pytest.mark.parametrize(("base", "nv"), [(None, 0), ("fixed", 0), ("free", 12)])
def test_a_model_in_one_that_stands_stands_whatever_it_says(read, base, nv):
    """Twice, for one says itself that it moves; freed, each hangs on nothing."""
    inner = '<model name="{0}">{1}' + link("l", pose="1 0 0 0 0 0") + "</model>"
    body = "<static>1</static>" + inner.format("m", "")
    body += inner.format("n", "<static>0</static>")
    model = read(body, base=base)
    assert (model.nv, model.mass) == (nv, 4.0)
    np.testing.assert_allclose(world_poses(model)["n::l"][:3, 3], (1, 0, 0))
