"""Configurations of whole machines: batches, input of every form, input that is wrong."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import MARKET, machines_with_states, random_state
from numpy.testing import assert_allclose, assert_array_equal

import phipsi as pp
from phipsi import joints
from phipsi.errors import InputError
from phipsi.model.configuration import joint_coordinates, joint_speeds

every_machine = pytest.mark.parametrize("name", MARKET)


def states(model, *batch, seed=0):
    """q, q1, dq of a batch."""
    rng = np.random.default_rng(seed)
    n = math.prod(batch)
    q, q1 = (
        np.reshape([random_state(model, rng)[0] for _ in range(n)], (*batch, model.nq))
        for _ in range(2)
    )
    return q, q1, rng.uniform(-0.5, 0.5, (*batch, model.nv))


@pytest.fixture
def machine():
    """A spherical joint called 'ball' between a revolute and a prismatic one: nq = 6, nv = 5."""
    builder = pp.ModelBuilder("machine")
    builder.add_body("a", joint=joints.Revolute(), mass=1.0, inertia=(1, 1, 1))
    builder.add_body("b", "a", joints.Spherical(), joint_name="ball", mass=1.0, inertia=(1, 1, 1))
    builder.add_body("c", "b", joints.Prismatic(), mass=1.0, inertia=(1, 1, 1))
    return builder.build()


# -- the meaning -----------------------------------------------------------------------


@every_machine
def test_machine_moves_joint_by_joint(name):
    """The slices of the model are those of its joints, in order and without gaps."""
    model = MARKET[name]()
    q, q1, dq = states(model)
    moved, apart = pp.integrate(model, q, dq), pp.difference(model, q, q1)
    nq = nv = 0
    for joint in model.joints:
        if joint.mimic is None:
            assert (joint.q, joint.v) == (
                slice(nq, nq + joint.kind.nq),
                slice(nv, nv + joint.kind.nv),
            )
            nq, nv = joint.q.stop, joint.v.stop
            alone = joint.kind.integrate(q[joint.q].tolist(), dq[joint.v].tolist())
            assert_allclose(moved[joint.q], alone, rtol=1e-14, atol=1e-300)
            alone = joint.kind.difference(q[joint.q].tolist(), q1[joint.q].tolist())
            assert_allclose(apart[joint.v], alone, rtol=1e-14, atol=1e-300)
    assert (model.nq, model.nv) == (nq, nv)
    assert moved.shape == (nq,)
    assert apart.shape == (nv,)


@settings(max_examples=30)
@given(machines_with_states(max_bodies=15, mimics=(False, True), rotors=(False, True)))
def test_integrate_and_difference_are_inverse_on_any_machine(machine_and_state):
    model, q, v = machine_and_state
    assert_array_equal(pp.difference(model, q, q), np.zeros(model.nv))
    assert_allclose(pp.integrate(model, q, 0.0 * v), q, atol=1e-15)
    assert_allclose(pp.difference(model, q, pp.integrate(model, q, v)), v, atol=1e-10)


@every_machine
def test_neutral_and_random_are_configurations(name):
    model = MARKET[name]()
    neutral = model.neutral()
    for joint in model.leaders:
        assert_array_equal(neutral[joint.q], joint.kind.neutral())
    one, two = (model.random(np.random.default_rng(seed)) for seed in (3, 4))
    assert_array_equal(one, model.random(np.random.default_rng(3)))
    assert np.abs(one - two).max() > 1e-3
    for q in (neutral, one, two):
        assert_allclose(pp.integrate(model, q, np.zeros(model.nv)), q, atol=1e-15)


@pytest.mark.parametrize(
    ("lower", "upper"),
    [(0.5, 0.6), (-7.0, -5.0), (2.0, 2.0), (0.9, math.inf), (-math.inf, -0.9), (50.0, math.inf)],
)
@pytest.mark.parametrize("kind", [joints.Revolute(), joints.Prismatic(), joints.Helical()])
def test_random_keeps_within_the_limits(kind, lower, upper):
    builder = pp.ModelBuilder()
    limits = pp.Limits(lower, upper)
    builder.add_body("a", joint=kind, mass=1.0, inertia=(1, 1, 1), limits=limits)
    rng = np.random.default_rng(0)
    draws = [builder.build().random(rng)[0] for _ in range(200)]
    assert lower <= min(draws) <= max(draws) <= upper
    assert lower == upper or len(set(draws)) == 200


@every_machine
def test_a_draw_is_that_of_the_joints_by_turns(name):
    """In their order, by their kinds; then within two limits, or mirrored at a single one."""
    model = MARKET[name]()
    ours, rng = model.random(5), np.random.default_rng(5)
    for joint in model.leaders:
        expected, limits = joint.kind.random(rng), joint.limits
        if joint.kind.nq == 1 and math.isfinite(limits.upper - limits.lower):
            expected = [rng.uniform(limits.lower, limits.upper)]
        elif joint.kind.nq == 1 and math.isfinite(limits.lower):
            expected = [limits.lower + abs(expected[0] - limits.lower)]
        elif joint.kind.nq == 1 and math.isfinite(limits.upper):
            expected = [limits.upper - abs(limits.upper - expected[0])]
        assert_allclose(ours[joint.q], expected, rtol=0.0, atol=1e-15)


class Slide(joints.JointKind):
    nq, nv = 1, 1

    def transform(self, q):
        return joints.Prismatic().transform(q)

    def motion_map(self, q):
        return joints.Prismatic().motion_map(q)


class OneByOne(Slide):
    """A kind that draws single configurations."""

    def random(self, rng):
        return [0.25 + 0.5 * rng.random()]


class AtOnce(Slide):
    """A kind that draws many."""

    def draw(self, rng, size=()):
        return 0.25 + 0.5 * rng.random((*size, 1))


class Still(AtOnce):
    """Overrides `random` of a kind that has its own `draw`."""

    def random(self, rng):
        return [2.0]


def with_kinds(*kinds, limits=None):
    builder = pp.ModelBuilder("kinds")
    for i, kind in enumerate(kinds):
        own = {} if limits is None else {"limits": limits}
        builder.add_body(f"{i}", joint=kind, mass=1.0, inertia=(1, 1, 1), **own)
    return builder.build()


@pytest.mark.parametrize("size", [None, 50, (2, 3), 0])
def test_kinds_of_the_user_draw_as_they_say(size):
    model = with_kinds(joints.Prismatic(), OneByOne(), AtOnce(), Still(), joints.Revolute())
    q, shape = model.random(2, size), pp.model.draw.checked_size(size)
    assert q.shape == (*shape, model.nq)
    assert ((q[..., 1:3] >= 0.25) & (q[..., 1:3] < 0.75)).all()
    assert (q[..., 3] == 2.0).all()
    assert len(np.unique(q)) == 4 * math.prod(shape) + (q.size > 0)


@pytest.mark.parametrize(
    ("lower", "upper"), [(0.5, 0.6), (-7.0, -5.0), (0.9, math.inf), (-math.inf, 0.1)]
)
@pytest.mark.parametrize("kind", [OneByOne, AtOnce])
def test_kinds_that_draw_by_themselves_keep_within_the_limits(kind, lower, upper):
    model = with_kinds(kind(), joints.Revolute(), kind(), limits=pp.Limits(lower, upper))
    q = model.random(1, 100)
    assert lower <= q.min() <= q.max() <= upper
    assert len(np.unique(q)) == 300


def test_errors_of_kinds_that_draw_reach_the_user():
    class Broken(Slide):
        def draw(self, rng, size=()):
            raise ValueError("no such distribution")

    with pytest.raises(ValueError, match=r"^no such distribution$"):
        with_kinds(Broken()).random(0)


@every_machine
def test_many_draws_are_configurations(name):
    model = MARKET[name]()
    q = model.random(5, size=(2, 3))
    assert q.shape == (2, 3, model.nq)
    assert_allclose(pp.integrate(model, q, np.zeros(model.nv)), q, atol=1e-15)
    assert len(np.unique(q.reshape(6, -1), axis=0)) == 6
    assert model.random(size=0).shape == (0, model.nq)
    assert model.random().shape == (model.nq,)


def test_random_covers_what_it_may():
    """Means and variances of uniform numbers; of a uniform rotation, E[R] = 0, E[R_ij^2] = 1/3."""
    builder = pp.ModelBuilder()
    bar = {"mass": 1.0, "inertia": (1, 1, 1)}
    builder.add_body("limited", limits=pp.Limits(1.0, 3.0), **bar)
    builder.add_body("floor", limits=pp.Limits(lower=0.0), **bar)
    builder.add_body("slide", joint=joints.Cylindrical(), **bar)
    builder.add_body("ball", joint=joints.Spherical(), **bar)
    builder.add_body("stone", joint=joints.Free(), **bar)
    model = builder.build()
    q = model.random(rng=1, size=200_000)
    moments = {
        "limited_joint": ([2.0], [1.0 / 3.0]),
        "floor_joint": ([math.pi / 2.0], [math.pi**2 / 12.0]),  # mirrored at its lower limit
        "slide_joint": ([0.0, 0.0], [math.pi**2 / 3.0, 1.0 / 3.0]),
    }
    for name, (mean, variance) in moments.items():
        part = q[:, model.joint(name).q]
        assert_allclose(part.mean(0), mean, atol=0.02)
        assert_allclose(part.var(0), variance, rtol=0.02)
    places = pp.body_poses(model, q)[:, -2:]
    assert_allclose(places[..., :3, :3].mean(0), 0.0, atol=0.01)
    assert_allclose((places[..., :3, :3] ** 2).mean(0), 1.0 / 3.0, rtol=0.02)
    assert_allclose(places[:, 1, :3, 3].var(0), 1.0 / 3.0, rtol=0.02)


@pytest.mark.parametrize("rng", [-1, True, np.random, "seed"])
def test_random_wants_a_generator_or_a_seed(machine, rng):
    with pytest.raises(InputError, match=r"rng is .*; expected np.random.default_rng"):
        machine.random(rng)


@pytest.mark.parametrize("size", [-1, 2.0, True, (2, "x")])
def test_random_wants_a_number_of_draws(machine, size):
    with pytest.raises(InputError, match=r"size is .*; expected a number of draws"):
        machine.random(0, size)
    with pytest.raises(InputError, match="draws do not fit into memory"):
        machine.random(0, 10**18)


# -- mimic joints ----------------------------------------------------------------------


def gripper():
    """A finger that leads, one that mirrors it, and one that follows the mirror."""
    builder = pp.ModelBuilder("gripper")
    bar = {"mass": 1.0, "inertia": (1, 1, 1)}
    builder.add_body("mirror", joint_name="right", mimic=("left", -1.0, 0.25), **bar)
    builder.add_body("finger", joint_name="left", **bar)
    builder.add_body("tip", "mirror", joints.Prismatic(), mimic=("right", 0.5, 0.1), **bar)
    builder.add_body("eye", joint=joints.Spherical(), **bar)
    return builder.build()


def test_mimic_joints_own_no_coordinate():
    model = gripper()
    assert (model.nq, model.nv) == (1 + 4, 1 + 3)
    assert model.joint("right").q == model.joint("tip_joint").q == model.joint("left").q
    assert [joint.name for joint in model.leaders] == ["left", "eye_joint"]
    assert [joint.rows for joint in model.joints] == [
        slice(0, 1),
        slice(1, 2),
        slice(2, 3),
        slice(3, 6),
    ]


def test_mimic_joints_follow_the_one_that_leads():
    model = gripper()
    q = np.array([0.3, 0.0, 0.0, 0.0, 1.0])
    v = np.array([2.0, 0.0, 0.0, 0.0])
    follow = {
        joint.name: (joint_coordinates(joint, q)[0], joint_speeds(joint, v)[0])
        for joint in model.joints[:3]
    }
    assert_allclose(follow["left"], (0.3, 2.0))
    assert_allclose(follow["right"], (-0.3 + 0.25, -2.0))
    assert_allclose(follow["tip_joint"], (0.5 * (-0.3 + 0.25) + 0.1, -1.0))


def test_machines_with_mimics_move_in_their_own_coordinates():
    model = gripper()
    q, _, dq = states(model)
    assert_allclose(pp.integrate(model, q, dq)[0], q[0] + dq[0])


# -- batches and forms of input --------------------------------------------------------


@every_machine
def test_batch_equals_a_loop(name):
    model = MARKET[name]()
    q, q1, dq = states(model, 2, 3)
    moved, apart = pp.integrate(model, q, dq), pp.difference(model, q, q1)
    for i in np.ndindex(2, 3):
        assert_allclose(moved[i], pp.integrate(model, q[i], dq[i]), rtol=1e-14, atol=1e-300)
        assert_allclose(apart[i], pp.difference(model, q[i], q1[i]), rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize(
    ("q_batch", "dq_batch", "batch"),
    [
        ((), (4,), (4,)),
        ((4,), (), (4,)),
        ((5, 1), (3,), (5, 3)),
        ((1,), (2, 1), (2, 1)),
        ((0,), (), (0,)),
    ],
)
def test_batches_broadcast(machine, q_batch, dq_batch, batch):
    q = states(machine, *q_batch)[0]
    dq = states(machine, *dq_batch, seed=1)[2]
    full_q = np.broadcast_to(q, (*batch, machine.nq))
    full_dq = np.broadcast_to(dq, (*batch, machine.nv))
    moved = pp.integrate(machine, q, dq)
    assert moved.shape == (*batch, machine.nq)
    assert_array_equal(moved, pp.integrate(machine, full_q, full_dq))
    apart = pp.difference(machine, q, pp.integrate(machine, full_q, full_dq))
    assert apart.shape == (*batch, machine.nv)
    assert_allclose(apart, full_dq, atol=1e-12)


def test_layout_of_an_array_does_not_matter(machine):
    q, _, dq = states(machine, 6)
    expected = pp.integrate(machine, q, dq)
    wide = np.zeros((12, 2 * machine.nq))
    wide[::2, ::2] = q
    reverse = np.ascontiguousarray(q[::-1, ::-1])[::-1, ::-1]
    frozen = q.copy()
    frozen.setflags(write=False)
    for form in (np.asfortranarray(q), wide[::2, ::2], reverse, frozen, q.tolist(), tuple(q)):
        assert_array_equal(pp.integrate(machine, form, dq), expected)


def test_input_is_not_changed_and_not_shared(machine):
    q, _, dq = states(machine)
    before = q.copy(), dq.copy()
    moved = pp.integrate(machine, q, dq)
    moved[:] = 7.0
    assert_array_equal(q, before[0])
    assert_array_equal(dq, before[1])


@pytest.mark.parametrize("dtype", [int, np.int8, np.uint16, np.float16, np.float32, bool, object])
def test_numbers_of_any_type_are_computed_in_double_precision(machine, dtype):
    q = np.array([1, 0, 0, 0, 1, 1], dtype=dtype)
    dq = np.array([1, 0, 1, 0, 1], dtype=dtype)
    moved = pp.integrate(machine, q, dq)
    assert moved.dtype == np.float64
    assert_array_equal(moved, pp.integrate(machine, q.astype(float), dq.astype(float)))


@pytest.mark.parametrize(
    ("dtype", "result"), [(np.complex64, np.complex128), (np.longdouble, np.longdouble)]
)
def test_wider_numbers_stay_wide(machine, dtype, result):
    q, _, dq = states(machine)
    assert pp.integrate(machine, q, dq.astype(dtype)).dtype == result


@every_machine
def test_complex_step_through_integrate_and_difference_gives_the_tangent(name):
    """D difference(q, integrate(q, d)) along d = identity: nothing drops the imaginary part."""
    model = MARKET[name]()
    q, _, dq = states(model)
    direction = np.linspace(-1.0, 1.0, model.nv)
    moved = pp.integrate(model, q, dq + 1e-30j * direction)
    apart = pp.difference(model, q, moved)
    assert_allclose(apart.real, dq, atol=1e-12)
    assert_allclose(apart.imag / 1e-30, direction, atol=1e-11)


def test_machine_without_coordinates_has_one_empty_configuration():
    builder = pp.ModelBuilder("statue")
    builder.add_body("plinth", joint=joints.Fixed(), mass=1.0)
    model = builder.build()
    assert (model.nq, model.nv, len(model.bodies)) == (0, 0, 0)
    assert pp.integrate(model, [], []).shape == (0,)
    assert pp.difference(model, np.zeros((3, 0)), []).shape == (3, 0)


# -- wrong input -----------------------------------------------------------------------

UNIT = [0.0, 0.0, 0.0, 0.0, 1.0, 0.0]
NAN = float("nan")

WRONG = {
    "too short": (UNIT[:5], [0] * 5, "q has shape (5,); expected (*batch, 6), nq of 'machine'"),
    "too long": (UNIT, [0] * 6, "dq has shape (6,); expected (*batch, 5), nv of 'machine'"),
    "transposed": (np.zeros((6, 3)), [0] * 5, "q has shape (6, 3); expected (*batch, 6)"),
    "a number": (0.0, [0] * 5, "q has shape (); expected (*batch, 6)"),
    "empty": ([], [0] * 5, "q has shape (0,); expected (*batch, 6)"),
    "ragged": ([[1, 2], [3]], [0] * 5, "q: expected numbers, got [[1, 2], [3]]"),
    "None": (None, [0] * 5, "q: expected numbers, got None"),
    "text": ("straight", [0] * 5, "q: expected numbers, got 'straight'"),
    "digits as text": (["0", "0", "0", "0", "1", "0"], [0] * 5, "q: expected numbers, got"),
    "a mapping": ({"a": 1.0}, [0] * 5, "q: expected numbers, got {'a': 1.0}"),
    "dates": (np.zeros(6, "datetime64[s]"), [0] * 5, "q: expected numbers, got"),
    "objects": (UNIT, [object()] * 5, "dq: expected numbers, got"),
    "huge integers": (UNIT, [10**400] * 5, "dq: expected numbers, got"),
    "NaN": ([*UNIT[:5], NAN], [0] * 5, "q[5] is nan; expected finite numbers"),
    "NaN in a batch": (UNIT, [[0] * 5, [0, 0, NAN, 0, 0]], "dq[1, 2] is nan"),
    "infinity": (UNIT, [0, -math.inf, 0, 0, 0], "dq[1] is -inf"),
    "huge": (UNIT, [0, 0, 1e200, 0, 0], "dq[2] is 1e+200; expected numbers below 1e+60"),
    "huge complex": (UNIT, [0, 0, complex(1e308, 1e308), 0, 0], "expected numbers below 1e+60"),
    "complex NaN": (UNIT, [0, complex(0, NAN), 0, 0, 0], "dq[1] is nanj"),
    "None in a list": ([*UNIT[:5], None], [0] * 5, "q[5]: expected numbers, got None"),
    "not unit": (
        [0.0, 0.0, 0.0, 0.0, 2.0, 0.0],
        [0] * 5,
        "q: the quaternion of joint 'ball' has length 2; expected 1 (x, y, z, w order; divide",
    ),
    "zero quaternion": ([0.0] * 6, [0] * 5, "joint 'ball' has length 0; expected 1"),
    "not unit in a batch": (
        [UNIT, [0.0, 0.0, 0.0, 0.0, 1.5, 0.0]],
        [0] * 5,
        "joint 'ball' has length 1.5",
    ),
    "batches apart": (
        [UNIT] * 2,
        np.zeros((3, 5)),
        "the batches do not broadcast: q (2,), dq (3,)",
    ),
}


@pytest.mark.parametrize(("q", "dq", "message"), WRONG.values(), ids=WRONG)
def test_wrong_input_is_refused_by_name(machine, q, dq, message):
    with pytest.raises(InputError) as caught:
        pp.integrate(machine, q, dq)
    assert message in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_difference_names_its_own_arguments(machine):
    with pytest.raises(InputError, match=r"^q0 has shape \(3,\)"):
        pp.difference(machine, [0.0] * 3, UNIT)
    with pytest.raises(InputError, match=r"^q1\[0\] is nan"):
        pp.difference(machine, UNIT, [NAN, *UNIT[1:]])
    with pytest.raises(InputError, match="q0 \\(2,\\), q1 \\(3,\\)"):
        pp.difference(machine, [UNIT] * 2, [UNIT] * 3)


@pytest.mark.parametrize(
    "model", [None, "arm", pp.ModelBuilder()], ids=lambda model: type(model).__name__
)
def test_what_is_no_model_is_refused(model):
    for function in (pp.integrate, pp.difference):
        with pytest.raises(InputError, match=f"expected a Model, got {type(model).__name__}$"):
            function(model, UNIT, UNIT)


@pytest.mark.parametrize("batch", [(), (2,)])
def test_large_steps_stay_on_the_manifold(batch):
    """The direction of a huge turn is roundoff; its length is not."""
    model = pp.examples.spacecraft()
    dq = np.full((*batch, model.nv), 1e50)
    moved = pp.integrate(model, model.neutral(), dq)
    assert_allclose(np.linalg.norm(moved[..., :4], axis=-1), 1.0, rtol=1e-15)
    assert np.isfinite(moved).all()


@given(st.floats(-4e-7, 4e-7))
def test_rounded_quaternions_are_accepted_and_made_unit(error):
    builder = pp.ModelBuilder()
    builder.add_body("a", joint=joints.Spherical(), mass=1.0, inertia=(1, 1, 1))
    q = np.array([0.0, 0.6, 0.0, 0.8]) * (1.0 + error)
    moved = pp.integrate(builder.build(), q, np.zeros(3))
    assert_allclose(np.linalg.norm(moved), 1.0, rtol=1e-15)


# -- size ------------------------------------------------------------------------------


def test_a_hundred_thousand_joints_move_in_one_sweep():
    model = pp.chain(100_000)
    q = model.random(np.random.default_rng(0))
    moved = pp.integrate(model, q, q)
    assert_array_equal(moved, 2.0 * q)
    assert_array_equal(pp.difference(model, q, moved), moved - q)
    assert_array_equal(model.neutral(), np.zeros(100_000))
