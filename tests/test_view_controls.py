"""What a viewer is worked with: sliders, time, the member of a batch; and what it looks at."""

import numpy as np
import pytest
from viewing import lifting

import phipsi as pp
from phipsi import joints
from phipsi.simulate.trajectory import Trajectory
from phipsi.view.controls import controls, coordinates, slider_values
from phipsi.view.playback import Playback
from phipsi.view.subject import member_of, resting, subject_of


@pytest.fixture
def motion(arm):
    return lifting(arm)


# -- sliders ---------------------------------------------------------------------------

KINDS = [
    joints.Revolute((0, 0, 1)), joints.Prismatic((1, 0, 0)), joints.Helical((0, 0, 1), 0.2),
    joints.Cylindrical((0, 1, 0)), joints.Universal(), joints.SphericalEuler("zxz"),
    joints.Planar((0, 0, 1)), joints.Spherical(), joints.Free(),
    joints.Custom(lambda q: (np.eye(3).tolist(), [q[0], q[1], 0.0]), 2),
]  # fmt: skip


def one_joint(kind: joints.JointKind, **options) -> pp.Model:
    builder = pp.ModelBuilder("one")
    builder.add_body("body", joint=kind, mass=1.0, com=(1, 0, 0), inertia=(1, 1, 1), **options)
    return builder.build()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
def test_sliders_of_each_joint_kind_lead_back_to_its_pose(kind):
    (joint,) = one_joint(kind).joints
    labels = [control.label for control in controls(joint)]
    assert len(labels) == len(set(labels)) == kind.nv
    rng = np.random.default_rng(4)
    for _ in range(5):
        q = kind.random(rng)
        values = slider_values(joint, q)
        assert all(c.low <= x <= c.high for c, x in zip(controls(joint), values, strict=True))
        for again, once in zip(
            kind.transform(coordinates(joint, values)), kind.transform(q), strict=True
        ):
            np.testing.assert_allclose(again, once, atol=1e-12)


def test_sliders_at_the_pole_of_roll_pitch_and_yaw():
    (joint,) = one_joint(joints.Spherical()).joints
    q = coordinates(joint, [0.3, np.pi / 2, 0.5])
    again = coordinates(joint, slider_values(joint, q))
    assert abs(np.dot(q, again)) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("kind", "limits", "ends"),
    [
        (joints.Revolute(), pp.Limits(), (-3.1416, 3.1416)),
        (joints.Prismatic(), pp.Limits(), (-1.0, 1.0)),
        (joints.Revolute(), pp.Limits(-0.5, 1.5), (-0.5, 1.5)),
        (joints.Revolute(), pp.Limits(lower=0.5), (0.5, 6.7832)),
        (joints.Prismatic(), pp.Limits(upper=0.5), (-1.5, 0.5)),
        (joints.Prismatic(), pp.Limits(0.0, 0.0), (-1.0, 1.0)),  # a <limit> without numbers
        (joints.Prismatic(), pp.Limits(-2e-5, 2e-5), (-2e-5, 2e-5)),  # a piezo stage
        (joints.Prismatic(), pp.Limits(0.5, 0.5 + 1e-12), (-0.5, 1.5)),
        (joints.Prismatic(), pp.Limits(-1.7e308, 1.7e308), (-1.0, 1.0)),  # how some say: none
        (joints.Prismatic(), pp.Limits(lower=1e18), (-1.0, 1.0)),
    ],
)
def test_sliders_reach_to_the_limits(kind, limits, ends):
    (only,) = controls(one_joint(kind, limits=limits).joints[0])
    assert (only.low, only.high) == pytest.approx(ends, rel=1e-5)
    assert 1e-4 <= only.step / (only.high - only.low) <= 1.001e-3


def test_machine_rests_within_its_limits():
    assert resting(one_joint(joints.Revolute(), limits=pp.Limits(0.5, 1.0))) == [0.5]
    assert resting(one_joint(joints.Revolute(), limits=pp.Limits(-1.0, -0.2))) == [-0.2]
    np.testing.assert_array_equal(resting(one_joint(joints.Free())), [0, 0, 0, 1, 0, 0, 0])


# -- time ------------------------------------------------------------------------------


def test_playback_loops_or_stops_at_the_end():
    looped, single = Playback(1.0, 3.0), Playback(1.0, 3.0, loop=False)
    assert [looped.advance(0.75) for _ in range(4)] == pytest.approx([1.75, 2.5, 1.25, 2.0])
    assert [single.advance(0.75) for _ in range(4)] == pytest.approx([1.75, 2.5, 3.0, 3.0])
    assert (looped.playing, single.playing) == (True, False)
    single.toggle()
    assert (single.time, single.playing) == (1.0, True)


def test_playback_jumps_and_stays():
    playback = Playback(0.0, 2.0, speed=2.0)
    for wanted, found in ((1.5, 1.5), (-1.0, 0.0), (9.0, 2.0)):
        playback.jump(wanted)
        assert (playback.advance(0.3), playback.playing) == (found, False)
    playback.jump(0.5)
    playback.toggle()
    assert playback.advance(0.25) == 1.0


# -- what is looked at -----------------------------------------------------------------


def test_member_of_a_batch_is_counted_through_its_axes(arm):
    q = np.arange(24.0).reshape(2, 3, 2, 2)
    batch = Trajectory(arm, [0.0, 1.0], q, 0 * q)
    np.testing.assert_array_equal(member_of(batch, 4).q, q[1, 1])


def test_motion_ends_before_its_first_state_that_is_not_finite(arm):
    q = np.zeros((5, 2))
    q[3, 1] = np.inf
    motion = Trajectory(arm, np.arange(5.0), q, np.zeros((5, 2)))
    assert len(member_of(motion)) == 3
    assert subject_of(motion).frames(10.0)[-1] == 2.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda arm, motion: (3,), "view: expected a Model or a Trajectory, got int"),
        (lambda arm, motion: (motion, [0, 0]), "a trajectory has its own configurations"),
        (lambda arm, motion: (arm, [0.0]), r"q has shape \(1,\); expected"),
        (lambda arm, motion: (arm, [[0.0, 0.0]]), "expected one configuration"),
        (lambda arm, motion: (arm, [0j, 0j]), "expected one configuration"),
        (lambda arm, motion: (arm, [np.nan, 0.0]), r"q\[0\] is nan"),
        (lambda arm, motion: (motion, None, 1), "member is 1; expected a number from 0 to 0"),
        (lambda arm, motion: (motion, None, -1), "member is -1"),
        (lambda arm, motion: (motion, None, "a"), "member is 'a'"),
        (lambda arm, motion: (motion, None, True), "member is True"),
    ],
)
def test_what_cannot_be_looked_at_is_refused(arm, motion, arguments, message):
    with pytest.raises(pp.InputError, match=message):
        subject_of(*arguments(arm, motion))


def test_motion_that_begins_badly_is_refused(arm):
    q = np.full((2, 2), np.nan)
    with pytest.raises(pp.InputError, match="member 0 begins with a state that is not finite"):
        subject_of(Trajectory(arm, [0.0, 1.0], q, 0 * q))
