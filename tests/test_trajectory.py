"""A trajectory: what it holds, what follows from it, its parts, and what it refuses."""

import copy
import pickle

import numpy as np
import pytest
from machines import MARKET, cam, rocker
from motions import gripper, pendulum, waving
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.transform import Rotation, Slerp

import phipsi as pp
from phipsi import joints
from phipsi.errors import InputError
from phipsi.simulate.labels import coordinate_labels, speed_labels
from phipsi.simulate.trajectory import Trajectory

NAN, INF = float("nan"), float("inf")


@pytest.fixture(scope="module")
def craft():
    return pp.examples.spacecraft()


# -- what follows from the states --------------------------------------------------------


def test_energies_momentum_and_poses_of_a_pendulum_are_those_of_the_textbook():
    """A mass m at x = l (-sin, 0, -cos): T = m (l w)^2 / 2, U = m g z, h = [x cross p; p]."""
    l, m, g = 0.5, 2.0, 9.81
    angle, speed = np.linspace(-1.0, 2.0, 9), np.linspace(3.0, -1.0, 9)
    traj = Trajectory(pendulum(l, m), np.arange(9.0), angle[:, None], speed[:, None])
    s, c, o = np.sin(angle), np.cos(angle), np.zeros(9)
    place = l * np.stack([-s, o, -c], axis=-1)
    force = m * l * speed[:, None] * np.stack([-c, o, s], axis=-1)
    assert_allclose(traj.kinetic_energy, m * (l * speed) ** 2 / 2, rtol=1e-14)
    assert_allclose(traj.potential_energy, -m * g * l * c, rtol=1e-14)
    assert_allclose(traj.energy, m * (l * speed) ** 2 / 2 - m * g * l * c, rtol=1e-14)
    assert_allclose(traj.momentum, np.hstack([np.cross(place, force), force]), atol=1e-14)
    assert traj.poses.shape == (9, 1, 4, 4)
    assert_allclose(traj.poses[:, 0] @ [0, 0, -l, 1], np.hstack([place, np.ones((9, 1))]))


def test_what_follows_is_computed_once_and_cannot_be_written_to(craft):
    traj = waving(craft)
    for name in ("poses", "kinetic_energy", "potential_energy", "energy", "momentum", "finite"):
        found = getattr(traj, name)
        assert getattr(traj, name) is found
        with pytest.raises(ValueError, match="read-only"):
            found[...] = 0


@pytest.mark.parametrize("batch", [(3,), (2, 3), (0,)])
def test_a_batch_has_the_numbers_of_its_members(craft, batch):
    traj = waving(craft, 5, batch)
    assert traj.batch == batch
    for name in ("kinetic_energy", "potential_energy", "energy", "momentum", "poses"):
        assert traj[name].shape[: len(batch) + 1] == (*batch, 5)
        for index in np.ndindex(batch):
            assert_allclose(traj[name][index], traj.member(*index)[name], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("bad", [NAN, INF, -INF, 1e61])
def test_a_state_that_is_not_finite_spoils_itself_alone(craft, bad):
    good = waving(craft, 4, (2,))
    q, v = np.array(good.q), np.array(good.v)
    q[0, 1, 8], v[1, 3, 2] = bad, bad
    traj = Trajectory(craft, good.times, q, v)
    spoilt = np.array([[False, True, False, False], [False, False, False, True]])
    assert_array_equal(traj.finite, ~spoilt)
    for name in ("kinetic_energy", "potential_energy", "energy", "momentum", "poses"):
        assert np.isnan(traj[name][spoilt]).all()
        assert_array_equal(traj[name][~spoilt], good[name][~spoilt])


# -- names -------------------------------------------------------------------------------


def test_arrays_and_joints_are_found_by_name(craft):
    traj = waving(craft, batch=(2,), tau=np.ones((2, 7, 12)))
    arrays = ("q", "v", "tau", "kinetic_energy", "potential_energy", "energy", "momentum", "poses")
    assert traj.quantities == (*arrays, *(joint.name for joint in craft.joints))
    for name in arrays:
        assert traj[name] is getattr(traj, name)
    for joint in craft.joints:
        motion = traj[joint.name]
        assert motion.joint is joint
        assert_array_equal(motion.q, traj.q[..., joint.q])
        assert_array_equal(motion.v, traj.v[..., joint.v])
        assert_array_equal(motion.tau, traj.tau[..., joint.v])
        assert_array_equal(motion.times, traj.times)
    assert repr(traj["root"]) == "<motion of Free joint 'root': 7 samples>"


def test_a_joint_that_follows_shows_its_own_motion():
    q = np.array([[0.3, 0.01], [0.4, 0.02]])
    v = np.array([[1.0, 0.1], [1.0, 0.2]])
    traj = Trajectory(gripper(), [0.0, 1.0], q, v, tau=v)
    motion = traj["right slide"]
    assert_allclose(motion.q, [[0.03], [0.01]], rtol=1e-14)
    assert_allclose(motion.v, [[-0.2], [-0.4]], rtol=1e-14)
    assert motion.tau is None
    assert_array_equal(traj["left slide"].tau, v[:, 1:])


def test_without_forces_a_joint_has_none(craft):
    assert waving(craft)["root"].tau is None


def test_an_array_comes_before_a_joint_of_the_same_name():
    builder = pp.ModelBuilder("odd")
    builder.add_body("a", joint_name="energy", mass=1.0, com=(1, 0, 0))
    builder.add_body("b", joint_name="tau", mass=1.0, com=(1, 0, 0))
    traj = waving(builder.build())
    assert traj.quantities.count("energy") == 1
    assert traj["energy"] is traj.energy
    assert_array_equal(traj.joint("energy").q[:, 0], traj.q[:, 0])
    assert_array_equal(traj["tau"].q[:, 0], traj.q[:, 1])  # it has no forces: the joint


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "left forearm",
            "the trajectory of 'two-arm spacecraft' has no quantity 'left forearm'; did you mean "
            "'left forearm_joint'? Valid names: 'q', 'v', 'kinetic_energy', ",
        ),
        ("Energy", "has no quantity 'Energy'; did you mean 'energy'?"),
        ("tau", "has no quantity 'tau'; it was made without a control"),
    ],
)
def test_an_unknown_quantity_lists_the_nearest_names(craft, name, message):
    with pytest.raises(InputError) as caught:
        waving(craft)[name]
    assert message in str(caught.value)


# -- the names and units of coordinates ----------------------------------------------------

UNITS = {  # kind: parts of q with their units, parts of v with theirs
    joints.Revolute(): ({"": "rad"}, {"": "rad/s"}),
    joints.Continuous(): ({"": "rad"}, {"": "rad/s"}),
    joints.Prismatic(): ({"": "m"}, {"": "m/s"}),
    joints.Helical(pitch=0.1): ({"": "rad"}, {"": "rad/s"}),
    joints.Cylindrical(): (
        {".angle": "rad", ".distance": "m"},
        {".angle": "rad/s", ".distance": "m/s"},
    ),
    joints.Universal(): ({".0": "rad", ".1": "rad"}, {".0": "rad/s", ".1": "rad/s"}),
    joints.SphericalEuler(): (
        {".0": "rad", ".1": "rad", ".2": "rad"},
        {".0": "rad/s", ".1": "rad/s", ".2": "rad/s"},
    ),
    joints.Planar(): (
        {".angle": "rad", ".x": "m", ".y": "m"},
        {".omega": "rad/s", ".vx": "m/s", ".vy": "m/s"},
    ),
    joints.Spherical(): (
        {".qx": "1", ".qy": "1", ".qz": "1", ".qw": "1"},
        {".omega_x": "rad/s", ".omega_y": "rad/s", ".omega_z": "rad/s"},
    ),
    joints.Free(): (
        {".qx": "1", ".qy": "1", ".qz": "1", ".qw": "1", ".x": "m", ".y": "m", ".z": "m"},
        {
            **{".omega_x": "rad/s", ".omega_y": "rad/s", ".omega_z": "rad/s"},
            **{".vx": "m/s", ".vy": "m/s", ".vz": "m/s"},
        },
    ),
    joints.Custom(cam, 1): ({"": ""}, {"": ""}),
    joints.Custom(rocker, 2): ({".0": "", ".1": ""}, {".0": "", ".1": ""}),
}
FORCES = {"rad/s": "N m", "m/s": "N", "": ""}


@pytest.mark.parametrize("kind", UNITS, ids=lambda kind: type(kind).__name__)
def test_entries_are_named_by_joint_with_their_unit(kind):
    builder = pp.ModelBuilder("one")
    builder.add_body("a", joint=kind, joint_name="j", mass=1.0, inertia=(1, 1, 1))
    model = builder.build()
    of_q, of_v = UNITS[kind]
    assert {x.name: x.unit for x in coordinate_labels(model)} == {f"j{p}": of_q[p] for p in of_q}
    assert {x.name: x.unit for x in speed_labels(model)} == {f"j{p}": of_v[p] for p in of_v}
    assert [x.force_unit for x in speed_labels(model)] == [FORCES[unit] for unit in of_v.values()]


@pytest.mark.parametrize("name", MARKET)
def test_every_entry_has_one_label_under_its_joint(name):
    model = MARKET[name]()
    for labels, size, part in (
        (coordinate_labels(model), model.nq, "q"),
        (speed_labels(model), model.nv, "v"),
    ):
        assert len({label.name for label in labels}) == len(labels) == size
        for joint in model.leaders:
            assert {label.joint for label in labels[getattr(joint, part)]} == {joint.name}


def test_a_joint_called_as_the_part_of_another_gets_a_mark():
    builder = pp.ModelBuilder("odd")
    builder.add_body("a", joint=joints.Planar(), joint_name="a", mass=1.0, inertia=(1, 1, 1))
    builder.add_body("b", joint=joints.Revolute(), joint_name="a.x", mass=1.0, inertia=(1, 1, 1))
    names = [label.name for label in coordinate_labels(builder.build())]
    assert names == ["a.angle", "a.x", "a.y", "a.x'"]


# -- between samples -----------------------------------------------------------------------


def test_between_samples_a_ball_joint_turns_at_a_constant_rate():
    """As the spherical interpolation of SciPy has it."""
    builder = pp.ModelBuilder("ball")
    builder.add_body("a", joint=joints.Spherical(), mass=1.0, inertia=(1, 1, 1))
    rng = np.random.default_rng(3)
    turns = Rotation.random(6, random_state=rng)
    signs = np.array([1, -1, 1, 1, -1, -1])[:, None]  # a quaternion and its negative are one
    times = np.cumsum(rng.uniform(0.1, 1.0, 6))
    traj = Trajectory(builder.build(), times, signs * turns.as_quat(), rng.normal(size=(6, 3)))
    t = rng.uniform(times[0], times[-1], 50)
    q, v = traj.at(t)
    apart = Rotation.from_quat(q) * Slerp(times, turns)(t).inv()
    assert apart.magnitude().max() < 1e-14
    assert_allclose(np.sum(q * q, axis=-1), 1.0, rtol=1e-14)
    for k in range(3):
        assert_allclose(v[:, k], np.interp(t, times, traj.v[:, k]), atol=1e-14)


def test_between_samples_a_free_body_follows_its_screw(craft):
    """At constant twist, samples as far apart as you like give the motion between them."""
    rng = np.random.default_rng(1)
    q0, twist = craft.random(rng), rng.normal(size=12)

    def moved(t):
        return pp.integrate(craft, q0, np.multiply.outer(t, twist))

    times = np.array([0.0, 0.5, 1.25])
    traj = Trajectory(craft, times, moved(times), np.broadcast_to(twist, (3, 12)))
    t = np.linspace(0.0, 1.25, 13)
    q, v = traj.at(t)
    assert_allclose(pp.difference(craft, moved(t), q), np.zeros((13, 12)), atol=1e-14)
    assert_allclose(v, np.broadcast_to(twist, (13, 12)), rtol=1e-14)


def test_at_a_sample_the_state_is_the_sample_to_the_bit(craft):
    traj = waving(craft, 9, (2,))
    for k, t in enumerate(traj.times):
        q, v = traj.at(t)
        assert_array_equal(q, traj.q[:, k])
        assert_array_equal(v, traj.v[:, k])


def test_times_of_any_shape_after_the_batch(craft):
    traj = waving(craft, 9, (2,))
    t = np.linspace(0.0, 1.0, 6).reshape(3, 2)
    q, v = traj.at(t)
    assert q.shape == (2, 3, 2, 13)
    assert v.shape == (2, 3, 2, 12)
    for index in np.ndindex(3, 2):
        one = traj.member(1).at(t[index])
        assert_allclose(q[(1, *index)], one[0], rtol=1e-14)
        assert_allclose(v[(1, *index)], one[1], rtol=1e-14)


def test_beside_a_state_that_is_not_finite_there_is_none(arm):
    q = np.array([[0.0, 0.0], [NAN, 0.0], [1.0, 1.0], [2.0, 0.0]])
    traj = Trajectory(arm, [0.0, 1.0, 2.0, 3.0], q, np.ones((4, 2)))
    q_at, v_at = traj.at([0.0, 0.5, 1.0, 1.5, 2.0, 2.5])
    assert_array_equal(q_at[[0, 2, 4]], q[:3])  # samples stay what they are
    assert np.isnan(q_at[[1, 3]]).all()
    assert_allclose(q_at[5], [1.5, 0.5])
    assert_array_equal(v_at, np.ones((6, 2)))


def test_roundoff_at_the_ends_is_forgiven(arm):
    traj = Trajectory(arm, [0.1, 0.3], [[0.0, 1.0], [2.0, 3.0]], np.ones((2, 2)))
    assert_array_equal(traj.at(0.1 + 0.2)[0], traj.q[1])  # 0.30000000000000004
    assert_array_equal(traj.at(0.1 - 1e-13)[0], traj.q[0])


@pytest.mark.parametrize(
    ("t", "message"),
    [
        (1.1, "t is 1.1 s; the trajectory goes from 0 to 1 s"),
        (-0.1, "t is -0.1 s; the trajectory goes from 0 to 1 s"),
        ([0.5, NAN], "t is nan s; the trajectory goes from 0 to 1 s"),
        ("soon", "t: expected real numbers, got 'soon'"),
        (1j, "t: expected real numbers, got 1j"),
    ],
)
def test_times_outside_are_refused(craft, t, message):
    with pytest.raises(InputError) as caught:
        waving(craft).at(t)
    assert str(caught.value) == message


# -- parts -----------------------------------------------------------------------------------


def test_slices_of_time_are_trajectories(craft):
    traj = waving(craft, 9, (2,), tau=np.ones((2, 9, 12)), about={"dt": 0.1}, complete=False)
    for key in (slice(2, 5), slice(None, None, 3), slice(-2, None)):
        part = traj[key]
        assert_array_equal(part.times, traj.times[key])
        for name in ("q", "v", "tau"):
            assert_array_equal(part[name], traj[name][:, key])
        assert (part.model, part.complete, part.about) == (craft, False, {"dt": 0.1})
        assert np.shares_memory(part.q, traj.q)


def test_states_by_number(craft):
    traj = waving(craft, 5, (2,))
    assert len(traj) == 5
    assert_array_equal(traj[1][0], traj.q[:, 1])
    assert_array_equal(traj[np.int64(-1)][1], traj.v[:, 4])
    assert_array_equal(traj.final[0], traj.q[:, -1])
    assert_array_equal(traj.final[1], traj.v[:, -1])
    pairs = list(traj)
    assert len(pairs) == 5
    assert_array_equal(pairs[3][1], traj.v[:, 3])


def test_members_of_a_batch(craft):
    traj = waving(craft, 5, (2, 3), tau=np.ones((2, 3, 5, 12)))
    one = traj.member(1, -1)
    assert one.batch == ()
    for name in ("q", "v", "tau"):
        assert_array_equal(one[name], traj[name][1, 2])
    assert waving(craft).member().batch == ()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda traj: traj[5:5], "the slice [5:5] of 7 samples is empty"),
        (lambda traj: traj[9::2], "the slice [9::2] of 7 samples is empty"),
        (lambda traj: traj[::-1], "times: expected finite numbers, each greater than the one"),
        (lambda traj: traj[7], "there is no sample 7; the trajectory has 7 of them"),
        (lambda traj: traj[-8], "there is no sample -8; the trajectory has 7 of them"),
        (lambda traj: traj[0.5], "asked by name, sample or slice of samples, not by 0.5"),
        (lambda traj: traj[0, 1], "asked by name, sample or slice of samples, not by (0, 1)"),
        (lambda traj: traj.member(3), "no member (3) in the batch (3,); expected a number for"),
        (lambda traj: traj.member(), "there is no member () in the batch (3,)"),
        (lambda traj: traj.member(0, 0), "there is no member (0, 0) in the batch (3,)"),
        (lambda traj: traj.member(True), "there is no member (True) in the batch (3,)"),
        (lambda traj: traj.member(0.0), "there is no member (0.0) in the batch (3,)"),
        (lambda traj: traj.joint("rot"), "has no joint 'rot'; did you mean 'root'?"),
    ],
)
def test_parts_that_are_not_there_are_refused(craft, ask, message):
    with pytest.raises(InputError) as caught:
        ask(waving(craft, batch=(3,)))
    assert message in str(caught.value)


# -- as data -----------------------------------------------------------------------------------


def test_it_says_what_it_is_in_one_line(craft):
    traj = waving(craft)
    assert repr(traj) == "<Trajectory of 'two-arm spacecraft': 7 samples from 0 to 1 s>"
    more = {"complete": False, "about": {"integrator": "rk4", "dt": 1e-3}}
    text = repr(waving(craft, 1, (2, 3), **more))
    assert text == (
        "<Trajectory of 'two-arm spacecraft': 1 sample from 0 to 0 s, batch (2, 3), interrupted>"
    )


def test_arrays_are_safe_from_later_changes(arm):
    times, q, v = np.arange(2.0), np.zeros((2, 2)), np.zeros((2, 2))
    about = {"dt": 1.0}
    traj = Trajectory(arm, times, q, v, tau=v, about=about)
    times[0], q[0], v[0], about["dt"] = 9.0, 9.0, 9.0, 9.0
    assert traj.times[0] == 0.0
    assert not traj.q.any()
    assert not traj.tau.any()
    assert traj.about == {"dt": 1.0}
    for array in (traj.times, traj.q, traj.v, traj.tau, traj["joint1"].q, traj.final[0]):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1.0
    with pytest.raises(TypeError):
        traj.about["dt"] = 2.0
    with pytest.raises(AttributeError):
        traj.q = q


def test_read_only_arrays_are_not_copied(arm):
    q = np.zeros((2, 2))
    q.flags.writeable = False
    assert Trajectory(arm, [0.0, 1.0], q, q).q is q


def test_numbers_are_doubles(arm):
    traj = Trajectory(arm, [0, 1], np.zeros((2, 2), np.float32), [[0, 1], [True, False]])
    assert {traj.times.dtype, traj.q.dtype, traj.v.dtype} == {np.dtype(float)}


def test_pickled_and_copied_it_is_the_same_motion(craft):
    traj = waving(craft, tau=np.ones((7, 12)), about={"dt": 0.1}, complete=False)
    assert traj.energy.shape == (7,)
    for twin in (pickle.loads(pickle.dumps(traj)), copy.copy(traj), copy.deepcopy(traj)):
        for name in ("times", "q", "v", "tau"):
            assert_array_equal(getattr(twin, name), getattr(traj, name))
        assert (twin.complete, twin.about) == (False, {"dt": 0.1})
        assert "energy" not in vars(twin)
        assert not twin.q.flags.writeable


def test_a_machine_that_stands_still(arm):
    """Everything welded: no coordinates, and yet a trajectory."""
    builder = pp.ModelBuilder("statue")
    builder.add_body("a", joint=joints.Fixed(), mass=3.0, com=(0, 0, 1))
    traj = Trajectory(builder.build(), [0.0, 1.0], np.zeros((2, 0)), np.zeros((2, 0)))
    assert_allclose(traj.energy, 3.0 * 9.81)
    assert traj.poses.shape == (2, 0, 4, 4)
    assert traj.at(0.5)[0].shape == (0,)


OK = {"times": [0.0, 1.0], "q": np.zeros((2, 2)), "v": np.zeros((2, 2))}
REFUSED = {
    "model": ({"model": "arm"}, "model: expected a Model, got str"),
    "times of two axes": ({"times": [[0.0]]}, "times has shape (1, 1); expected (T,), one time"),
    "no times": ({"times": []}, "times has shape (0,); expected (T,), one time or more"),
    "times standing still": (
        {"times": [0.0, 0.0]},
        "times: expected finite numbers, each greater than the one before",
    ),
    "times back": ({"times": [1.0, 0.0]}, "each greater than the one before"),
    "times NaN": ({"times": [0.0, NAN]}, "each greater than the one before"),
    "times infinite": ({"times": [0.0, INF]}, "each greater than the one before"),
    "times text": ({"times": "now"}, "times: expected real numbers, got 'now'"),
    "q of wrong size": (
        {"q": np.zeros((2, 3))},
        "q has shape (2, 3); expected (*batch, 2, 2), the number of times being 2 and nq of "
        "'planar arm of 2' 2",
    ),
    "q of wrong length": ({"q": np.zeros((3, 2))}, "q has shape (3, 2); expected (*batch, 2, 2)"),
    "q of one axis": ({"q": np.zeros(2)}, "q has shape (2,); expected (*batch, 2, 2)"),
    "q ragged": ({"q": [[0.0], [0.0, 1.0]]}, "q: expected real numbers, got [[0.0], [0.0, 1.0]]"),
    "q complex": ({"q": np.zeros((2, 2), complex)}, "q: expected real numbers, got array("),
    "q None": ({"q": None}, "q: expected real numbers, got None"),
    "v of wrong size": ({"v": np.zeros((2, 1))}, "v has shape (2, 1); expected (*batch, 2, 2)"),
    "v of another batch": (
        {"v": np.zeros((5, 2, 2))},
        "v has the batch (5,), q has (); expected the same",
    ),
    "tau of another batch": ({"tau": np.zeros((1, 2, 2))}, "tau has the batch (1,), q has ()"),
    "tau of wrong size": ({"tau": np.zeros((2, 1))}, "tau has shape (2, 1); expected (*batch"),
    "complete": ({"complete": "no"}, "complete is 'no'; expected True or False"),
    "about": ({"about": "rk4"}, "about is 'rk4'; expected a dict of texts and numbers"),
    "about a number": ({"about": {1: 2}}, "about: 1 is no name here; expected a text, not"),
    "about nothing": ({"about": {"": 2}}, "about: '' is no name here"),
    "about the model": ({"about": {"model": "x"}}, "about: 'model' is no name here"),
    "about a list": (
        {"about": {"a": [1]}},
        "about['a'] is [1]; expected a text or a number below 2**63",
    ),
    "about NUL": ({"about": {"a\0b": 2}}, "about: the name 'a\\x00b' has the sign"),
    "about half a letter": ({"about": {"\ud800": 2}}, "which no file holds; give another"),
    "about a text with NUL": ({"about": {"a": "b\0"}}, "about['a'] is 'b\\x00'; expected a text"),
    "about a text with half a letter": ({"about": {"a": "\udfff"}}, "NUL and halves of letters"),
    "about too much": ({"about": {"a": 2**63}}, "expected a text or a number below 2**63"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_trajectory_is_refused(arm, case):
    wrong, message = REFUSED[case]
    with pytest.raises(InputError) as caught:
        Trajectory(**{"model": arm, **OK, **wrong})
    assert message in str(caught.value)
