"""URDF files read by `load`, against results worked out by hand."""

import math
from functools import partial

import numpy as np
import pytest
from urdf_text import FINGERS, arm, joint, link, read_text

import phipsi as pp
from phipsi import joints
from phipsi.model.configuration import joint_coordinates
from phipsi.model.files.load import load

HALF = "1.5707963267948966"  # a quarter turn
QUARTER_Z = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


@pytest.fixture
def read(tmp_path):
    """read(body, **options): the model of a robot with that body."""
    return partial(read_text, tmp_path)


# -- joints ----------------------------------------------------------------------------

ORIGIN = f'<origin xyz="1 2 3" rpy="0 0 {HALF}"/>'
HALF_TURN = QUARTER_Z @ QUARTER_Z
S = math.sqrt(0.5)


@pytest.mark.parametrize(
    ("type", "axis", "q", "R", "l"),
    [
        ("revolute", "0 0 2", [math.pi / 2], HALF_TURN, (1, 2, 3)),
        ("continuous", "0 0 2", [math.pi / 2], HALF_TURN, (1, 2, 3)),
        ("prismatic", "0 3 0", [0.5], QUARTER_Z, (0.5, 2, 3)),
        ("planar", "0 0 1", [math.pi / 2, 1, 2], HALF_TURN, (-1, 3, 3)),
        ("floating", "0 0 0", [S, 0, 0, S, 1, 0, 0], [[0, 0, 1], [1, 0, 0], [0, 1, 0]], (1, 3, 3)),
    ],
)
def test_each_joint_type_moves_its_link(read, type, axis, q, R, l):
    """The joint frame stands at (1, 2, 3), turned a quarter about z."""
    model = read(arm(f'{ORIGIN}<axis xyz="{axis}"/>', type))
    (only,) = model.joints
    turn, slide = (np.array(part) for part in only.kind.transform(q))
    pose = only.placement.matrix
    np.testing.assert_allclose(pose[:3, :3] @ turn, R, atol=1e-15)
    np.testing.assert_allclose(pose[:3, :3] @ slide + pose[:3, 3], l, atol=1e-15)
    assert (model.nq, model.nv) == (only.kind.nq, only.kind.nv) == (len(q), model.nv)


@pytest.mark.parametrize(
    ("type", "kind"),
    [
        ("revolute", joints.Revolute((1, 0, 0))),
        ("continuous", joints.Continuous((1, 0, 0))),
        ("prismatic", joints.Prismatic((1, 0, 0))),
        ("planar", joints.Planar((1, 0, 0))),
        ("floating", joints.Free()),
    ],
)
def test_axis_is_x_where_the_file_gives_none(read, type, kind):
    assert read(arm(type=type)).joint("j").kind == kind


def test_roll_pitch_yaw_turn_about_fixed_axes(read):
    """R = Rz(yaw) Ry(pitch) Rx(roll): a roll, then a yaw of a quarter turn each."""
    model = read(arm(f'<origin rpy="{HALF} 0 {HALF}"/>'))
    R = model.joints[0].placement.rotation
    np.testing.assert_allclose(R, [[0, 0, 1], [1, 0, 0], [0, 1, 0]], atol=1e-15)


def test_limits_and_dynamics_are_kept(read):
    limit = '<limit lower="-0.5" upper="1.5" effort="20" velocity="3"/>'
    dynamics = '<dynamics damping="0.7" friction="0.1"/>'
    only = read(arm(limit + dynamics)).joint("j")
    assert only.limits == pp.Limits(-0.5, 1.5, 3.0, 20.0)
    assert (only.damping, only.friction) == (0.7, 0.1)


@pytest.mark.parametrize(
    ("type", "limit", "expected"),
    [
        ("revolute", "", pp.Limits()),
        ("revolute", '<limit effort="1" velocity="2"/>', pp.Limits(0.0, 0.0, 2.0, 1.0)),
        ("prismatic", '<limit upper="inf"/>', pp.Limits(0.0, math.inf)),
        ("continuous", '<limit lower="3" upper="1" effort="1"/>', pp.Limits(effort=1.0)),
    ],
)
def test_limits_default_as_the_specification_says(read, type, limit, expected):
    assert read(arm(limit, type)).joint("j").limits == expected


def test_coordinates_follow_joints_depth_first_in_file_order(read):
    """The order is that of the <joint> elements, not that of the <link> elements."""
    body = link("c") + link("b") + link("a") + link("d") + link("base")
    body += joint("to c", "b", "c") + joint("to b", "base", "b")
    body += joint("to d", "b", "d") + joint("to a", "base", "a")
    model = read(body)
    assert [j.name for j in model.joints] == ["to b", "to c", "to d", "to a"]
    assert model.tree.parent == (-1, 0, 0, -1)
    assert model.joint("to a").q == slice(3, 4)


# -- inertias --------------------------------------------------------------------------


def test_inertia_is_turned_by_its_origin(read):
    """A quarter turn about z swaps xx with yy; then the parallel axes, worked by hand."""
    inertial = f"""<inertial><origin xyz="0.1 0.2 0.3" rpy="0 0 {HALF}"/><mass value="2"/>
      <inertia ixx="1" iyy="2" izz="2.5" ixy="0.1" ixz="0.05" iyz="0.02"/></inertial>"""
    model = read(link("base") + link("tip", inertial) + joint("j", "base", "tip"))
    expected = np.array(
        [
            [2.26, -0.14, -0.08, 0, -0.6, 0.4],
            [-0.14, 1.2, -0.07, 0.6, 0, -0.2],
            [-0.08, -0.07, 2.6, -0.4, 0.2, 0],
            [0, 0.6, -0.4, 2, 0, 0],
            [-0.6, 0, 0.2, 0, 2, 0],
            [0.4, -0.2, 0, 0, 0, 2],
        ]
    )
    np.testing.assert_allclose(model.body("tip").inertia.matrix, expected, atol=1e-14)


def test_links_on_fixed_joints_are_merged_into_frames(read):
    """A dumb-bell: 2 kg at the link, 2 kg a metre away; the next joint hangs on the far end."""
    body = arm() + link("weld") + link("outer") + link("pad", "")
    body += joint("weld joint", "tip", "weld", f'<origin xyz="1 0 0" rpy="0 0 {HALF}"/>', "fixed")
    body += joint("k", "weld", "outer", '<origin xyz="0 2 0"/>')
    body += joint("l", "outer", "pad", '<origin xyz="0 0 3"/><axis xyz="0 0 0"/>', "fixed")
    model = read(body)
    assert [b.name for b in model.bodies] == ["tip", "outer"]
    inertia = model.body("tip").inertia
    assert (inertia.mass, inertia.com) == (4.0, (0.5, 0.0, 0.0))
    np.testing.assert_allclose(inertia.rotational, np.diag([2.0, 3.0, 3.0]), atol=1e-15)
    frames = {frame.name: frame for frame in model.frames}
    assert list(frames) == ["base", "weld", "pad"]
    assert (frames["base"].body, frames["weld"].body, frames["pad"].body) == (-1, 0, 1)
    assert frames["weld"].placement.position == (1.0, 0.0, 0.0)
    np.testing.assert_allclose(frames["weld"].placement.rotation, QUARTER_Z, atol=1e-15)
    np.testing.assert_allclose(model.joint("k").placement.position, (-1, 0, 0), atol=1e-15)


def test_mass_counts_every_link_moving_mass_only_those_that_move(read):
    body = arm() + link("pedestal") + joint("bolt", "pedestal", "base", type="fixed")
    fixed, free = read(body), read(body, base="free")
    assert (fixed.mass, fixed.moving_mass) == (6.0, 2.0)
    assert (free.mass, free.moving_mass) == (6.0, 6.0)
    assert free.joints[0].name == "root"
    assert isinstance(free.joints[0].kind, joints.Free)
    assert [body.name for body in free.bodies] == ["pedestal", "tip"]


def test_base_is_fixed_unless_it_is_asked_to_be_free(read):
    """URDF says nothing about it."""
    assert read(arm()).nv == read(arm(), base=None).nv == read(arm(), base="fixed").nv == 1
    assert read(arm(), base="free").nv == 7


def test_links_without_inertial_are_massless(read):
    model = read(arm() + link("sensor", "") + joint("k", "tip", "sensor"))
    assert model.body("sensor").inertia.mass == 0.0
    assert model.mass == 4.0
    assert len(model.report.remarks) == 1
    assert (
        "trial.urdf:8: body 'sensor': nothing that joint 'k' moves has mass"
        in model.report.remarks[0]
    )


BAD = '<inertial>\n<mass value="1"/><inertia ixx="1" iyy="1" izz="3" ixy="0" ixz="0" iyz="0"/>'
BAD += "</inertial>"


def test_unphysical_inertias_are_kept_and_reported_with_their_line(read):
    body = arm() + link("plate", "\n" + BAD) + joint("k", "tip", "plate")
    model = read(body)
    (line,) = model.report.remarks
    assert line.endswith(
        "trial.urdf:8: body 'plate': its principal moments break the triangle inequality: 1 + 1 < 3"
    )
    assert model.body("plate").inertia.rotational[2][2] == 3.0
    with pytest.raises(pp.ModelError, match=r"trial\.urdf:8: body 'plate': .*strict=False"):
        read(body, strict=True)


def test_strict_refuses_joints_that_move_no_mass(read):
    body = arm() + link("sensor", "") + joint("k", "tip", "sensor")
    with pytest.raises(pp.ModelError, match=r"trial\.urdf:8: body 'sensor': .*'k'.*strict=False"):
        read(body, strict=True)
    assert read(arm(), strict=True).report.remarks == ()


def test_root_and_renamed_links_are_reported_where_they_stand(read):
    """The free joint of a massless root has no line of its own, nor does the name world_link."""
    body = link("base", "") + link("world", BAD) + joint("j", "base", "world")
    renamed, inertia = read(body).report.remarks
    assert "trial.urdf:3: link 'world' is not the world itself" in renamed
    assert "trial.urdf:3: body 'world_link': its principal moments" in inertia
    (idle,) = read(link("base", ""), base="free").report.remarks
    assert "trial.urdf:2: body 'base': nothing that joint 'root' moves has mass" in idle


# -- mimic joints ----------------------------------------------------------------------


def test_mimic_joints_follow_also_through_each_other(read):
    """q_c = 0.1 - 3 q_a and q_b = 0.5 + 2 q_c = 0.7 - 6 q_a."""
    model = read(FINGERS)
    assert (model.nq, model.nv, len(model.bodies)) == (1, 1, 3)
    angles = [joint_coordinates(model.joint(name), np.array([0.2])) for name in ("ja", "jb", "jc")]
    np.testing.assert_allclose(np.ravel(angles), [0.2, -0.5, -0.5], atol=1e-15)


def test_independent_mimic_joints_have_coordinates_of_their_own(read):
    model = read(FINGERS, mimic="independent")
    assert model.nq == 3
    assert all(joint.mimic is None for joint in model.joints)


def test_mimic_ratio_and_offset_default_to_one_and_zero(read):
    body = arm() + link("b") + joint("k", "tip", "b", '<mimic joint="j"/>')
    mimic = read(body).joint("k").mimic
    assert (mimic.source, mimic.ratio, mimic.offset) == (0, 1.0, 0.0)


def test_mimic_on_a_fixed_joint_is_ignored_and_reported(read):
    body = arm() + link("b") + joint("k", "tip", "b", '<mimic joint="nobody"/>', "fixed")
    assert (
        "trial.urdf:9: joint 'k' is fixed; its <mimic> is ignored" in read(body).report.remarks[0]
    )


def test_massless_leader_of_a_heavy_follower_is_no_fault(read):
    """Its coordinate moves the follower's mass."""
    body = arm() + link("knob", "") + joint("lead", "base", "knob")
    body = body.replace("</joint>", '<mimic joint="lead"/></joint>', 1)
    assert read(body).report.remarks == ()
    freed, fault = read(body, mimic="independent").report.remarks
    assert freed.endswith("joint 'j' follows nothing, by mimic='independent'")
    assert "nothing that joint 'lead' moves has mass" in fault


# -- links called world ----------------------------------------------------------------

ON_WORLD = link("base") + link("tip") + joint("j", "base", "tip")


@pytest.mark.parametrize("type", ["fixed", "revolute", "floating"])
def test_massless_root_called_world_is_the_world(read, type):
    model = read(link("world", "") + ON_WORLD + joint("seat", "world", "base", type=type))
    assert "world" not in [body.name for body in model.bodies]
    assert model.mass == 4.0
    assert model.report.remarks == ()
    assert model.nv == {"fixed": 1, "revolute": 2, "floating": 7}[type]


def test_free_base_carries_a_root_called_world_too(read):
    """The root link gets the free joint whatever it is called; only its name changes."""
    body = link("world", "") + ON_WORLD + joint("seat", "world", "base", type="fixed")
    model = read(body, base="free")
    assert [body.name for body in model.bodies] == ["world_link", "tip"]
    assert (model.nv, model.moving_mass) == (7, 4.0)
    assert (
        "link 'world' is not the world itself and is called 'world_link'" in model.report.remarks[0]
    )


def test_free_base_carries_a_world_with_more_than_floating_joints(read):
    """A satellite beside a stand: freeing the stand frees the link they share."""
    body = link("world", "") + ON_WORLD + joint("seat", "world", "base", type="fixed")
    body += link("satellite") + joint("orbit", "world", "satellite", type="floating")
    assert read(body, base="free").bodies[0].name == "world_link"
    assert read(body).nv == 7


def test_free_base_of_a_machine_that_floats_already_changes_nothing(read):
    body = link("world", "") + ON_WORLD + joint("seat", "world", "base", type="floating")
    model = read(body, base="free")
    assert [joint.name for joint in model.joints] == ["seat", "j"]


def test_root_called_world_with_mass_counts(read):
    body = link("world") + link("world_link") + joint("seat", "world", "world_link")
    model = read(body)
    assert (model.mass, model.moving_mass) == (4.0, 2.0)
    assert [frame.name for frame in model.frames] == ["world_link_2"]


def test_any_other_link_called_world_is_renamed(read):
    model = read(link("base") + link("world") + joint("j", "base", "world"))
    assert [body.name for body in model.bodies] == ["world_link"]


def test_free_joint_finds_another_name_where_root_is_taken(read):
    body = arm().replace('name="j"', 'name="root"')
    model = read(body, base="free")
    assert [joint.name for joint in model.joints] == ["root_2", "root"]
    assert "the free joint is called 'root_2', 'root' being taken" in model.report.remarks[0]
    assert read(body).report.remarks == ()


# -- what is left out ------------------------------------------------------------------


def test_what_a_machine_does_not_need_is_ignored(read):
    extra = """<material name="grey"/><gazebo reference="tip"><mu1/></gazebo>
      <transmission name="t"><joint name="j"/><actuator name="m"/></transmission>"""
    shapes = "<visual><geometry/></visual><collision><geometry/></collision>"
    body = arm('<calibration rising="0"/><safety_controller k_velocity="1"/>') + extra
    model = read(body.replace("</link>", shapes + "</link>"))
    assert (len(model.bodies), model.report.remarks) == (1, ())


def test_unknown_elements_are_ignored_and_reported(read):
    body = link("base") + link("tip", "<inertal/>") + joint("j", "base", "tip", "\n<axes/>")
    report = read(body + "<jiont/>").report.remarks
    assert [line.split("trial.urdf:")[1] for line in report] == [
        "4: <inertal> is unknown and ignored in <link 'tip'>",
        "5: body 'tip': nothing that joint 'j' moves has mass, so forward dynamics is singular",
        "6: <axes> is unknown and ignored in <joint 'j'>",
        "7: <jiont> is unknown and ignored in <robot 'trial'>",
    ]


def test_a_machine_may_have_no_joints(read):
    assert (read(link("rock")).nv, read(link("rock"), base="free").nv) == (0, 6)


def test_the_name_is_the_files_where_robot_has_none(tmp_path):
    file = tmp_path / "nameless.urdf"
    file.write_text("<robot><link name='a'/></robot>")
    assert load(file).name == "nameless"


def test_gravity_is_the_callers(tmp_path):
    file = tmp_path / "robot.urdf"
    file.write_text('<robot name="r"><link name="a"/></robot>')
    assert load(file).gravity == (0.0, 0.0, -9.81)
    assert load(file, gravity=(0, 0, -1.62)).gravity == (0.0, 0.0, -1.62)
