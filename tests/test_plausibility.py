"""Inertias that do not fit the shapes of their bodies, or the joints they hang on."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from machines import random_rotation
from urdf_text import SOLID, joint, link, read_text

import phipsi as pp
from phipsi import joints
from phipsi.errors import ModelError, SolveError
from phipsi.model.geometry import Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere, Visual
from phipsi.model.plausibility import (
    _places,
    joint_remarks,
    mesh_remarks,
    shape_remarks,
    with_plausibility,
)
from phipsi.model.report import Remark, Report
from phipsi.model.solids import solid as filled

BRICK = Box((0.2, 0.1, 0.4))
FILLED = (2 / 12 * (0.01 + 0.16), 2 / 12 * (0.04 + 0.16), 2 / 12 * (0.04 + 0.01))  # of 2 kg


def build(inertia=FILLED, com=(0.0, 0.0, 0.0), mass=2.0, visuals=(BRICK,), **options) -> pp.Model:
    builder = pp.ModelBuilder("one", strict=False)
    builder.add_body("a", mass=mass, com=com, inertia=inertia, visuals=visuals, **options)
    return builder.build()


def scaled(factor):
    return tuple(factor * x for x in FILLED)


# -- shapes ----------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [0.011, 1.0, 9.9])
def test_inertia_of_the_order_of_the_shape_is_fine(factor):
    assert shape_remarks(build(scaled(factor))) == []


def test_inertia_of_another_order_is_told_of():
    (large,) = shape_remarks(build(scaled(1e6)))  # kg mm^2 instead of kg m^2
    assert large == (
        "body 'a': its moments of inertia are up to 1e+06 times those of 2 kg that fill its shapes"
    )
    assert large.status == "implausible" and large.notable
    (small,) = shape_remarks(build(scaled(1e-6)))
    assert small == (
        "body 'a': its moments of inertia are 1e+06 times smaller than those of 2 kg that fill its "
        "shapes"
    )


def test_one_moment_that_no_body_of_this_shape_has_is_enough():
    """A rod of which somebody gave one number for all three moments."""
    rod = Cylinder(0.01, 1.0)
    across = 1.0 / 12.0
    assert shape_remarks(build((across, across, 5e-5), mass=1.0, visuals=[rod])) == []
    (remark,) = shape_remarks(build((across, across, across), mass=1.0, visuals=[rod]))
    assert "up to 1.25e+03 times those of 1 kg" in remark  # 1/12 over (0.02^2 + 0.02^2)/12


def test_thin_shell_and_motor_in_a_wide_cover_are_fine():
    shell = 2 / 3 * 2.0 * 0.25  # of a hollow ball of 2 kg and radius 0.5
    assert shape_remarks(build((shell,) * 3, visuals=[Sphere(0.5)])) == []
    motor = 2 / 5 * 2.0 * 0.05**2 * 1.6  # a ball of a tenth of the cover's length, and its rods
    assert shape_remarks(build((motor,) * 3, visuals=[Sphere(0.35)])) == []


def test_point_mass_is_fine_where_its_joint_feels_it():
    model = build((0, 0, 0), com=(0.1, 0, 0))
    assert shape_remarks(model) == [] and joint_remarks(model) == []


def test_mass_centre_far_outside_of_the_shapes_is_told_of():
    assert shape_remarks(build(com=(0.5, 0, 0))) == []
    (remark,) = shape_remarks(build(com=(1.1, 0, 0)))
    assert remark == (
        "body 'a': its mass centre is 1 m outside of its shapes, which are 0.458 m across"
    )


def test_bodies_without_mass_and_shapes_without_size_and_the_world_are_left_out():
    assert shape_remarks(build((1, 1, 1), mass=0.0)) == []
    assert shape_remarks(build((1, 1, 1), visuals=[Sphere(0.0)])) == []
    assert shape_remarks(build((1, 1, 1), visuals=[])) == []
    builder = pp.ModelBuilder("bench")
    builder.add_body("bench", joint=joints.Fixed(), mass=1.0, inertia=(9, 9, 9))
    builder.add_visuals("bench", [Sphere(0.01)])
    assert shape_remarks(builder.build()) == []


def test_sheet_without_thickness_is_looked_at():
    sheet = Box((1, 1, 0))
    assert shape_remarks(build((1 / 6, 1 / 6, 1 / 3), visuals=[sheet])) == []
    (remark,) = shape_remarks(build((4, 4, 8), visuals=[sheet]))
    assert "moments of inertia are up to 24 times" in remark


def test_needle_without_width_has_no_moment_about_itself():
    needle = Box((0, 0, 1))
    assert shape_remarks(build((1e-3, 1e-3, 0), mass=0.012, visuals=[needle])) == []
    (remark,) = shape_remarks(build((1e-3, 1e-3, 1e-6), mass=0.012, visuals=[needle]))
    assert "moments of inertia are up to" in remark


def test_mark_that_no_mass_fits_in_says_nothing_of_the_inertia():
    """Motors are often drawn as a cube of a centimetre; 145 g in it were heavier than osmium."""
    cube = Box((0.01, 0.01, 0.01))
    motor = {"inertia": (8e-5, 7e-5, 7e-5), "com": (0, 0, -0.027), "visuals": [cube]}
    assert shape_remarks(build(mass=0.145, **motor)) == []
    assert len(shape_remarks(build(mass=0.0145, **motor))) == 2


SHAPES = [BRICK, Cylinder(0.1, 0.3), Capsule(0.1, 0.3), Sphere(0.2), Ellipsoid((0.1, 0.2, 0.3))]


@given(st.sampled_from(SHAPES), st.integers(0, 2**32 - 1))
def test_solid_of_its_own_shape_is_fine_wherever_it_sits(shape, seed):
    """The inertia of the solid, and a hundred thousandth and a hundred times of it, are told."""
    rng = np.random.default_rng(seed)
    solid = filled(shape, 1000.0)
    R, p = random_rotation(rng), rng.uniform(-1, 1, 3)
    rotational = R @ np.array(solid.rotational) @ R.T
    placed = [Visual.of(shape, p, R)]

    def remarks(factor):
        return shape_remarks(build(factor * rotational, p, solid.mass, placed))

    assert remarks(1.0) == []
    assert len(remarks(100.0)) == 1 and len(remarks(1e-5)) == 1


def test_all_shapes_of_a_body_count_together():
    """Two balls a metre apart: the moment is that of a dumb-bell."""
    balls = [Visual.of(Sphere(0.05), (0, 0, z)) for z in (-0.5, 0.5)]
    model = build((0.5, 0.5, 0.002), visuals=balls[:1])
    assert len(shape_remarks(model)) == 2  # too large, and elsewhere
    assert shape_remarks(build((0.5, 0.5, 0.002), visuals=balls)) == []
    builder = pp.ModelBuilder("one")
    builder.add_body("a", mass=2.0, inertia=(0.5, 0.5, 0.002), visuals=balls[:1])
    builder.add_collisions("a", balls[1:])
    assert shape_remarks(builder.build()) == []


# -- meshes ----------------------------------------------------------------------------

MESH = Mesh("brick.stl", (0.001, -0.001, 0.001))


def extents(path):
    return {"brick.stl": ((-100, -50, -200), (100, 50, 200))}.get(path)


def test_bodies_with_meshes_are_left_to_mesh_remarks_and_others_are_not_told_twice():
    for visuals, own, others in (
        ([BRICK], 1, 0),
        ([MESH], 0, 1),
        ([BRICK, MESH], 0, 1),
        ([Mesh("missing.stl")], 0, 0),
        ([BRICK, Mesh("missing.stl")], 0, 0),
    ):
        model = build(scaled(1e3), visuals=visuals)
        assert len(shape_remarks(model)) == own
        assert len(mesh_remarks(model, extents)) == others
    assert mesh_remarks(build(visuals=[MESH]), extents) == []


def test_mesh_is_placed_and_scaled_and_mirrored():
    placed = [Visual.of(MESH, (1, 0, 0), [[0, -1, 0], [1, 0, 0], [0, 0, 1]])]
    turned = (FILLED[1], FILLED[0], FILLED[2])
    assert mesh_remarks(build(turned, (1, 0, 0), visuals=placed), extents) == []
    (far,) = mesh_remarks(build(turned, (0, 0, 0), visuals=placed), extents)
    assert "mass centre is 0.95 m outside" in far  # half of the 0.1 m lies that way


# -- joints ----------------------------------------------------------------------------

POINT = {"mass": 1.0, "com": (0, 0, 0.3)}


def tip(kind, **options) -> pp.Model:
    builder = pp.ModelBuilder("tip", strict=False)
    builder.add_body("arm", mass=1.0, inertia=(1, 1, 1))
    builder.add_body("tip", "arm", kind, **{**POINT, **options})
    return builder.build()


FELT = {
    "about x": (joints.Revolute((1, 0, 0)), {}),
    "along z": (joints.Prismatic(), {}),
    "with a rotor": (joints.Revolute(), {"rotor_inertia": 1e-6}),
    "with some moment": (joints.Revolute(), {"inertia": (0, 1e-6, 1e-6)}),
    "beside the axis": (joints.Revolute(), {"com": (1e-3, 0, 0)}),
    "as a follower": (joints.Revolute(), {"mimic": ("arm_joint", 1.0, 0.0)}),
}


@pytest.mark.parametrize(("kind", "options"), FELT.values(), ids=FELT)
def test_joint_that_feels_its_mass_is_fine(kind, options):
    model = tip(kind, **options)
    assert joint_remarks(model) == []
    pp.forward_dynamics(model, model.neutral(), np.zeros(model.nv), np.ones(model.nv))


NOT_FELT = {
    "about the line of the mass": (joints.Revolute(), {}),
    "through the mass": (joints.Revolute((1, 0, 0)), {"com": (0, 0, 0)}),
    "a ball": (joints.Spherical(), {}),
    "free": (joints.Free(), {}),
    "cylindrical": (joints.Cylindrical(), {}),
}


@pytest.mark.parametrize(("kind", "options"), NOT_FELT.values(), ids=NOT_FELT)
def test_joint_that_feels_nothing_is_told_of_and_forward_dynamics_agrees(kind, options):
    model = tip(kind, **options)
    assert joint_remarks(model) == [
        "body 'tip': its mass has no inertia that joint 'tip_joint' feels, so forward dynamics "
        "is singular"
    ]
    with pytest.raises(SolveError, match="tip_joint"):
        pp.forward_dynamics(model, model.neutral(), np.zeros(model.nv), np.ones(model.nv))


def test_joint_that_others_hang_on_or_follow_is_left_alone():
    builder = pp.ModelBuilder("chain")
    builder.add_body("a", **POINT)
    builder.add_body("empty", "a")
    builder.add_body("b", "empty", position=(1, 0, 0), mass=1.0, inertia=(1, 1, 1))
    builder.add_body("lead", **POINT)
    builder.add_body("follow", mass=1.0, inertia=(1, 1, 1), mimic=("lead_joint", 1.0, 0.0))
    assert joint_remarks(builder.build()) == []


def test_massless_end_of_a_chain_does_not_hide_a_point_mass():
    builder = pp.ModelBuilder("chain", strict=False)
    builder.add_body("a", **POINT)
    builder.add_body("empty", "a")
    assert [line.split(":")[0] for line in joint_remarks(builder.build())] == ["body 'a'"]


# -- files -----------------------------------------------------------------------------

ODD = """<inertial><mass value="2"/>
  <inertia ixx="40" iyy="40" izz="40" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><box size="1 1 1"/></geometry></visual>"""
FILE = link("base") + link("arm", ODD) + joint("j", "base", "arm", '<axis xyz="0 0 1"/>')


def test_report_of_a_file_tells_where_the_inertia_stands(tmp_path):
    model = read_text(tmp_path, FILE)
    remark = model.report.remarks[-1]
    assert remark.endswith(
        "trial.urdf:4: body 'arm': its moments of inertia are up to 120 times those of 2 kg that "
        "fill its shapes"
    )
    assert remark.line == 4 and model.report.implausible == (remark,)


def test_strict_reader_refuses_it_with_its_place(tmp_path):
    with pytest.raises(ModelError, match=r"trial\.urdf:4: body 'arm': its moments"):
        read_text(tmp_path, FILE, strict=True)


def test_strict_raises_the_first():
    model = build(scaled(1e3))
    with pytest.raises(ModelError) as caught:
        with_plausibility(model, strict=True)
    assert str(caught.value).startswith("body 'a': its moments of inertia are up to 1e+03 times")
    assert str(caught.value).endswith("; mend the file, or keep it as it is with strict=False")
    with pytest.raises(ModelError, match="joint 'tip_joint' feels"):
        with_plausibility(tip(joints.Revolute()), strict=True)
    fine = build()
    assert with_plausibility(fine, strict=True) is fine


def test_nothing_is_looked_at_before_somebody_reads_the_report():
    class Watched(tuple):
        looked = False

        def __iter__(self):
            Watched.looked = True
            return super().__iter__()

    model = replace(build(scaled(1e3)), visuals=Watched(build().visuals))
    later = with_plausibility(model, strict=False)
    assert not Watched.looked
    assert len(later.report.remarks) == 1 and Watched.looked


def test_place_is_found_by_the_link_that_a_body_at_a_joint_is_called_after():
    lines = [
        Remark("used", "", ("a.sdf", 1), "<link 'b'>"),
        Remark("used", "", ("a.sdf", 2), "<link 'a'>"),
        Remark("used", "", ("a.sdf", 3), "<visual>"),
        Remark("used", "", ("a.sdf", 4), "<inertial>"),
        Remark("used", "", ("a.sdf", 5), "<link 'c'>"),
        Remark("used", "", ("a.sdf", 6), "<joint 'd'>"),
        Remark("used", "", ("a.sdf", 7), "<inertial>"),
    ]
    found = {"<link 'b'>": 1, "<link 'a'>": 4, "<link 'c'>": 5}
    assert _places(lines) == {label: ("a.sdf", line) for label, line in found.items()}
    builder = pp.ModelBuilder("odd", strict=False)
    for name in ("a@hinge", "c", "e"):
        builder.add_body(name, mass=1.0)
    model = replace(builder.build(), report=Report(lines))
    places = [(line.file, line.line) for line in joint_remarks(model)]
    assert places == [("a.sdf", 4), ("a.sdf", 5), ("", 0)]


def test_no_place_is_told_where_two_links_have_the_name():
    """Models in models may repeat names; the body `inner::b` alone is called b in its own."""
    heads = [(1, "<link 'a'>"), (3, "<link 'b'>"), (4, "<link 'a'>")]
    lines = [Remark("used", "", ("a.sdf", line), element) for line, element in heads]
    lines.append(Remark("used", "said again", ("a.sdf", 3), "<link 'b'>"))
    assert _places(lines) == {"<link 'a'>": None, "<link 'b'>": ("a.sdf", 3)}
    builder = pp.ModelBuilder("odd", strict=False)
    for name in ("a", "inner::a", "inner::b"):
        builder.add_body(name, mass=1.0)
    model = replace(builder.build(), report=Report(lines))
    assert [line.line for line in joint_remarks(model)] == [0, 0, 3]


def test_a_body_with_a_long_name_has_its_place(tmp_path):
    name = "x" * 200
    point = SOLID.replace('="1"', '="0"')
    text = link("base") + link(name, point) + joint("j", "base", name, '<axis xyz="0 0 1"/>')
    (line,) = read_text(tmp_path, text).report.implausible
    assert line.line == 4


@pytest.mark.parametrize("count", [100, 400])
def test_report_is_looked_through_once_for_all_faults(count):
    """However many there are: the number of lines read grows with the lines alone."""
    builder = pp.ModelBuilder("odd", strict=False)
    for k in range(count):
        builder.add_body(f"b{k}", mass=1.0)
    looked = []
    lines = [Remark("used", "", ("a.urdf", k), f"<link 'b{k}'>") for k in range(count)]

    class Counted(Report):
        def __iter__(self):
            for line in super().__iter__():
                looked.append(line)
                yield line

    assert len(joint_remarks(replace(builder.build(), report=Counted(lines)))) == count
    assert len(looked) == count
