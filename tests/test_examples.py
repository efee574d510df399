"""The bundled machines: the published numbers, and geometry computed another way."""

import json
import math

import numpy as np
import pytest
from machines import REFERENCES, rbdl_cases, small_cases
from numpy.testing import assert_allclose, assert_array_equal

import phipsi as pp
from phipsi.errors import InputError
from phipsi.model.joints import Free, Revolute

PUMA = json.loads((REFERENCES / "puma560.json").read_text())
ALPHA = [eval(text, {"pi": math.pi}) for text in PUMA["alpha"]]


def joint_pose(joint, q):
    """The pose of a body in its parent, by 4 x 4 matrices."""
    R, l = joint.kind.transform(list(q))
    moved = np.eye(4)
    moved[:3, :3], moved[:3, 3] = R, l
    return joint.placement.matrix @ moved


def body_poses(model, q):
    """The pose of every body in the world."""
    poses = []
    for body, joint in zip(model.bodies, model.joints, strict=True):
        outer = np.eye(4) if body.parent == -1 else poses[body.parent]
        poses.append(outer @ joint_pose(joint, q[joint.q]))
    return poses


def denavit_hartenberg(k, q):
    """Frame k in frame k - 1 as the reference states it: T = Rz(q) Tz(d) Tx(a) Rx(alpha)."""
    a, d, alpha = PUMA["a"][k], PUMA["d"][k], ALPHA[k]
    c, s, ca, sa = math.cos(q), math.sin(q), math.cos(alpha), math.sin(alpha)
    return np.array(
        [
            [c, -s * ca, s * sa, a * c],
            [s, c * ca, -c * sa, a * s],
            [0.0, sa, ca, d],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


# -- Puma 560 --------------------------------------------------------------------------


def test_puma_stands_as_its_denavit_hartenberg_table_says():
    """Link frames at the links' ends, of which the last one is the flange."""
    model = pp.examples.puma560()
    q = np.random.default_rng(0).uniform(-3.0, 3.0, 6)
    poses, reference = body_poses(model, q), np.eye(4)
    for k in range(6):
        z_axis, origin = reference[:3, 2], reference[:3, 3]
        reference = reference @ denavit_hartenberg(k, q[k])
        assert_allclose(poses[k][:3, 2], z_axis, atol=1e-14)  # each joint about the z before it
        assert_allclose(poses[k][:3, 3], origin, atol=1e-14)
    flange = model.frame("flange")
    assert flange.body == 5
    assert_allclose(poses[5] @ flange.placement.matrix, reference, atol=1e-14)


def test_puma_has_the_published_masses_in_the_published_frames():
    """Mass, first moment and inertia of every link in the world, both ways."""
    model = pp.examples.puma560()
    q = np.random.default_rng(1).uniform(-3.0, 3.0, 6)
    poses, end = body_poses(model, q), np.eye(4)
    for k, body in enumerate(model.bodies):
        end = end @ denavit_hartenberg(k, q[k])
        assert body.inertia.mass == PUMA["m"][k]
        R = poses[k][:3, :3]
        if body.inertia.mass:
            com = (end @ [*PUMA["r"][k], 1.0])[:3]
            assert_allclose(R @ body.inertia.com + poses[k][:3, 3], com, atol=1e-14)
        rotational = end[:3, :3] @ np.diag(PUMA["Idiag"][k]) @ end[:3, :3].T
        assert_allclose(R @ body.inertia.rotational @ R.T, rotational, atol=1e-15)


def test_puma_has_the_published_motors():
    joints = pp.examples.puma560().joints
    assert [joint.rotor_inertia for joint in joints] == PUMA["Jm"]
    assert [joint.gear_ratio for joint in joints] == PUMA["G"]


def test_puma_reports_the_links_that_no_rigid_body_can_be():
    """Link 1 has one moment and no mass; link 3 breaks the triangle inequality."""
    model = pp.examples.puma560()
    assert [line.split(":")[0] for line in model.report.remarks] == [
        "body 'link1'",
        "body 'link1'",
        "body 'link3'",
    ]
    assert_allclose(model.mass, sum(PUMA["m"]))
    assert (model.nq, model.nv, len(model.bodies)) == (6, 6, 6)


# -- the others ------------------------------------------------------------------------


def test_planar_arm_is_lifted_by_positive_angles():
    """n rods of length 2: the tip by adding up the angles."""
    model = pp.examples.planar_arm(4, length=2.0, mass=3.0)
    q = np.random.default_rng(2).uniform(-3.0, 3.0, 4)
    angles = np.cumsum(q)
    tip = body_poses(model, q)[-1] @ model.frame("tip").placement.matrix
    expected = [2.0 * np.cos(angles).sum(), 0.0, 2.0 * np.sin(angles).sum()]
    assert_allclose(tip[:3, 3], expected, atol=1e-14)
    assert model.mass == 12.0


def test_rods_have_the_inertia_of_a_solid_cylinder():
    """m (l^2/12 + r^2/4) across, m r^2/2 along, r = l/20, the mass centre half-way."""
    inertia = pp.chain(2, length=2.0, mass=3.0).bodies[1].inertia
    across = 3.0 * (4.0 / 12.0 + 0.01 / 4.0)
    assert_allclose(inertia.rotational, np.diag([0.015, across, across]), atol=1e-15)
    assert inertia.com == (1.0, 0.0, 0.0)


def test_chain_turns_about_y_and_z_in_turn():
    model = pp.chain(5)
    assert [joint.kind.axis for joint in model.joints] == [
        (0.0, 1.0, 0.0) if k % 2 == 0 else (0.0, 0.0, 1.0) for k in range(5)
    ]
    assert [joint.placement.position for joint in model.joints] == [
        (0.0, 0.0, 0.0),
        *[(1.0, 0.0, 0.0)] * 4,
    ]
    assert model.tree.parent == (-1, 0, 1, 2, 3)
    assert [joint.name for joint in model.joints] == [f"joint{k}" for k in range(1, 6)]


def test_branching_tree_has_limbs_of_many_kinds():
    model = pp.examples.branching_tree()
    assert {type(joint.kind).__name__ for joint in model.joints} == {
        *("Revolute", "Universal", "Prismatic", "Spherical", "Planar"),
    }
    assert max(len(children) for children in model.tree.children) == 3
    assert_allclose(model.mass, 23.8)


def test_spacecraft_floats_and_is_symmetric():
    model = pp.examples.spacecraft()
    assert isinstance(model.joint("root").kind, Free)
    assert model.gravity == (0.0, 0.0, 0.0)
    assert model.mass == 440.0
    poses = body_poses(model, model.neutral())
    left, right = (
        poses[model.frame(f"{side} tip").body] @ model.frame(f"{side} tip").placement.matrix
        for side in ("left", "right")
    )
    assert_array_equal(left[:3, 3] * [1.0, -1.0, 1.0], right[:3, 3])


WRONG = {
    "no bodies": ((0,), "n is 0; expected a number of bodies, 1 or more"),
    "negative": ((-3,), "n is -3; expected a number of bodies"),
    "a fraction": ((2.0,), "n is 2.0; expected a number of bodies"),
    "a truth": ((True,), "n is True; expected a number of bodies"),
    "text": (("3",), "n is '3'; expected a number of bodies"),
    "no length": ((2, 0.0), "the length in metres of a rod is 0.0; expected a positive number"),
    "text length": ((2, "1 m"), "the length in metres of a rod is '1 m'; expected a positive"),
    "huge length": ((2, 1e200), "the length in metres of a rod is 1e+200; expected a positive"),
    "no mass": ((2, 1.0, 0.0), "the mass in kilograms of a rod is 0.0; expected a positive"),
    "NaN mass": ((2, 1.0, math.nan), "the mass in kilograms of a rod is nan; expected a positive"),
}


@pytest.mark.parametrize("function", [pp.chain, pp.examples.planar_arm])
@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_impossible_rods_are_refused(function, arguments, message):
    with pytest.raises(InputError) as caught:
        function(*arguments)
    assert message in str(caught.value)


def test_tiny_rods_are_scaled_large_ones():
    """Also where the square of their length is no floating-point number."""
    one, tiny = (pp.chain(1, length).bodies[0].inertia for length in (1.0, 1e-170))
    assert_allclose(np.multiply(tiny.com, 1e170), one.com, rtol=1e-15)
    assert_allclose(tiny.rotational, np.zeros((3, 3)), atol=1e-300)


def test_numpy_integers_count_bodies():
    assert len(pp.chain(np.int64(3)).bodies) == 3


# -- the small cases -------------------------------------------------------------------


@pytest.mark.parametrize("name", rbdl_cases())
def test_small_cases_are_the_machines_that_their_reference_describes(name):
    """One published acceleration per coordinate; unit masses and inertias; gravity along -y."""
    model, q, qdd = rbdl_cases()[name]
    assert model.nv == len(q) == len(qdd)
    assert model.gravity == (0.0, -9.81, 0.0)
    for body, joint in zip(model.bodies, model.joints, strict=True):
        assert isinstance(joint.kind, Revolute)
        if not body.inertia.vanishes:
            assert body.inertia.mass == 1.0
            assert_array_equal(body.inertia.rotational, np.eye(3))


def test_single_body_of_a_small_case_falls_as_published():
    """zyx, by hand: at rest only the z joint turns, J qdd = -m g x with J = 1 + 0.5^2."""
    model, q, qdd = rbdl_cases()["zyx"]
    pose = body_poses(model, np.array(q))[-1]
    com = (pose @ [*model.bodies[-1].inertia.com, 1.0])[:3]
    assert_allclose(qdd, [-9.81 * com[0] / (1.0 + 0.25), 0.0, 0.0], rtol=1e-12)
    assert small_cases()["rbdl"]["double_chain"]["qdd"] == [-5.886, 3.924]


def test_model_points_at_its_report():
    assert repr(pp.examples.puma560()).endswith("23.45 kg, 3 remarks in .report>")
    assert repr(pp.examples.spacecraft()).endswith("440 kg>")
