"""Calls that find their machine code by what they ask: the same answers, in the caller's memory."""

import itertools
import pickle

import numpy as np
import pytest
from machines import MARKET, random_state

import phipsi as pp
from phipsi.dynamics import evaluate, forward, inverse, mass, points
from phipsi.function import point_entries
from phipsi.model import configuration
from phipsi.operators import C, J, Mass, S_q, T, X, beta, operator, phi, vector

BATCHES = [(), (5,), (2, 3)]


pytestmark = pytest.mark.usefixtures("as_for_users")


@pytest.fixture(scope="module")
def robot():
    return pp.examples.puma560()


def state(model, *batch, seed=0):
    rng = np.random.default_rng(seed)
    count = int(np.prod(batch))
    q = np.array([random_state(model, rng)[0] for _ in range(count)])
    v, w = rng.uniform(-1.0, 1.0, (2, *batch, model.nv))
    return q.reshape(*batch, model.nq), v, w


def asked(model):
    """Every function at a state: its name, its arguments, and by what names they may go."""
    tip = model.bodies[-1].name
    at = pp.point(tip, (0.1, 0.2, 0.3))
    n = len(model.bodies)

    def rows(q):
        return np.ones((*q.shape[:-1], n, 6))

    return {
        "forward_dynamics": lambda q, v, w: (q, v, w),
        "forward_dynamics, loaded": lambda q, v, w: (q, v, w, {at: np.arange(6.0)}),
        "forward_dynamics, loaded twice": lambda q, v, w: (
            *(q, v, w),
            {at: np.arange(6.0), model.bodies[0].name: np.ones(6)},
        ),
        "forward_dynamics, by body": lambda q, v, w: (q, v, w, rows(q)),
        "inverse_dynamics": lambda q, v, w: (q, v, w),
        "inverse_dynamics, by body": lambda q, v, w: (q, v, w, rows(q)),
        "accelerations": lambda q, v, w: (q, v, w),
        "mass_matrix": lambda q, v, w: (q,),
        "mass_matrix_inverse": lambda q, v, w: (q,),
        "bias_force": lambda q, v, w: (q, v),
        "gravity_force": lambda q, v, w: (q,),
        "body_poses": lambda q, v, w: (q,),
        "body_velocities": lambda q, v, w: (q, v),
        "kinetic_energy": lambda q, v, w: (q, v),
        "potential_energy": lambda q, v, w: (q,),
        "momentum": lambda q, v, w: (q, v),
        "jacobian": lambda q, v, w: (q, tip),
        "jacobian, at a point": lambda q, v, w: (q, at),
        "jacobian, at points": lambda q, v, w: (q, [at, tip]),
        "jacobian_dot_v": lambda q, v, w: (q, v, [at]),
        "operational_compliance": lambda q, v, w: (q, at),
        "sample_velocity": lambda q, v, w: (q, 7),
        "sample_force": lambda q, v, w: (q, 7),
        "integrate": lambda q, v, w: (q, v),
        "difference": lambda q, v, w: (q, configuration.integrate(model, q, w)),
    }


NAMES = list(asked(pp.examples.puma560()))


def call(name, model, arguments, **how):
    return getattr(pp, name.split(",")[0])(model, *arguments, **how)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_quick_answers_are_those_of_the_interpreter(robot, name, batch, monkeypatch):
    arguments = asked(robot)[name](*state(robot, *batch))
    right = call(name, robot, arguments, backend="numpy")
    first = call(name, robot, arguments)
    monkeypatch.setattr(evaluate, "_evaluate", None)  # from now on there is no other way
    second = call(name, robot, arguments)
    out = np.full(np.shape(right), np.nan)
    third = call(name, robot, arguments, out=out)
    assert third is out
    for found in (first, second, third):
        assert np.shape(found) == np.shape(right)
        np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-9)
    assert np.array_equal(second, third)


@pytest.mark.parametrize("name", NAMES)
def test_results_in_any_memory_and_by_threads(robot, name):
    arguments = asked(robot)[name](*state(robot, 4))
    right = call(name, robot, arguments)
    shape = np.shape(right)
    out = np.full((2 * shape[0], *shape[1:]), np.nan)[::2]  # not one state after the other
    assert call(name, robot, arguments, out=out) is out
    assert np.array_equal(out, right)
    assert np.array_equal(call(name, robot, arguments, threads=2), right)
    with pytest.raises(pp.InputError, match=r"out has shape .*; expected"):
        call(name, robot, arguments, out=np.empty((*shape, 2)))
    with pytest.raises(pp.InputError, match="threads"):
        call(name, robot, arguments, threads=-1)


@pytest.mark.parametrize("name", NAMES)
def test_bad_numbers_are_named_on_the_quick_path_too(robot, name):
    q, v, w = state(robot)
    call(name, robot, asked(robot)[name](q, v, w))
    bad = q.copy()
    bad[2] = np.nan
    with pytest.raises(pp.InputError, match=r"q0?\[2\] is nan"):
        call(name, robot, (bad, *asked(robot)[name](q, v, w)[1:]))
    with pytest.raises(pp.InputError, match=r"model: expected a Model"):
        call(name, "robot", asked(robot)[name](q, v, w))


def test_results_may_go_where_arguments_are_read(robot):
    q, v, tau = state(robot)
    right = pp.forward_dynamics(robot, q, v, tau)
    for array in (tau, v):
        assert pp.forward_dynamics(robot, q, v, tau, out=array) is array
        assert np.array_equal(array, right)
        q, v, tau = state(robot)


def test_points_that_were_never_passed_and_lists_that_changed(robot):
    q, *_ = state(robot)
    places = [pp.point(robot.bodies[-1].name, (0.0, 0.0, 0.1))]
    one = pp.jacobian(robot, q, places)
    assert np.array_equal(pp.jacobian(robot, q, places), one)
    places[0] = pp.point(robot.bodies[-1].name, (0.0, 0.0, 0.2))
    other = pp.jacobian(robot, q, places)
    right = pp.jacobian(robot, q, places, backend="numpy")
    np.testing.assert_allclose(other, right, rtol=1e-9, atol=1e-12)
    assert not np.array_equal(one, other)
    for wrong in (None, {"a": 1}, {"a"}, 3, "nowhere", [3], []):
        with pytest.raises(pp.InputError):
            pp.jacobian(robot, q, wrong)


def test_the_order_of_wrenches_changes_neither_the_function_nor_a_bit(robot, monkeypatch):
    """Three on one body: a sum of three numbers depends on its order."""
    q, v, w = state(robot, seed=4)
    rng = np.random.default_rng(5)
    first, last = robot.bodies[0].name, robot.bodies[-1].name
    places = [pp.point(last, (0.1, 0.2, 0.3)), first, pp.point(last, (-0.3, 0.0, 0.1)), last]
    loads = dict(zip(places, rng.normal(size=(4, 6)), strict=True))
    known = pp.forward_dynamics(robot, q, v, w, loads)
    for backend in (None, "numpy"):
        expected = pp.forward_dynamics(robot, q, v, w, loads, backend=backend)
        for order in itertools.permutations(places):
            wrenches = {point: loads[point] for point in order}
            found = pp.forward_dynamics(robot, q, v, w, wrenches, backend=backend)
            assert found.tobytes() == expected.tobytes()
    on_a_moved_base = [
        pp.forward_dynamics(robot, q, v, w, dict(x), base_velocity=np.ones(6)).tobytes()
        for x in (loads.items(), reversed(loads.items()))
    ]
    assert on_a_moved_base[0] == on_a_moved_base[1] != known.tobytes()
    monkeypatch.setattr(evaluate, "_evaluate", None)  # no order is new to the machine
    again = dict(reversed(loads.items()))
    assert pp.forward_dynamics(robot, q, v, w, again).tobytes() == known.tobytes()


def test_so_many_frames_are_remembered_and_no_more(robot, monkeypatch):
    monkeypatch.setattr(point_entries, "FRAMES", 4)
    q, *_ = state(robot)
    bodies = [body.name for body in robot.bodies]
    for name in bodies:
        assert_right(robot, q, pp.point(name, (0.0, 0.0, 0.01)))
    entries = robot.functions[points._jacobian]
    assert [*entries] == bodies[-4:]
    assert entries.at(bodies[0]) is None is entries.at(pp.point(bodies[0], (1.0, 0.0, 0.0)))


def assert_right(robot, q, where):
    found = pp.jacobian(robot, q, where)
    right = pp.jacobian(robot, q, where, backend="numpy")
    np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("several", [1, 2, 5, 6, 40])
def test_points_that_move_need_not_be_looked_at(robot, several, monkeypatch):
    """On bodies and on frames that are turned on them; few and many numbers."""
    q, *_ = state(robot)
    frames = [x.name for x in robot.frames if x.body >= 0]
    frames = [frames[(3 * i) % len(frames)] for i in range(several)]
    rng = np.random.default_rng(several)

    def drawn():
        at = [pp.point(x, rng.normal(size=3)) for x in frames]
        return at[0] if several == 1 else at

    pp.jacobian(robot, q, drawn())
    places = [drawn() for _ in range(3)]
    right = [pp.jacobian(robot, q, x, backend="numpy") for x in places]
    monkeypatch.setattr(evaluate, "_evaluate", None)
    for place, expected in zip(places, right, strict=True):
        found = pp.jacobian(robot, q, place)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("position", [(1, 2, 3), [0.1, 0.2, 0.3], np.array([0.1, 0.2, 0.3])])
def test_points_made_by_hand_are_where_they_say(robot, position):
    q, *_ = state(robot)
    tip = robot.bodies[-1].name
    pp.jacobian(robot, q, tip)
    found = pp.jacobian(robot, q, pp.Point(tip, position))
    np.testing.assert_array_equal(found, pp.jacobian(robot, q, pp.point(tip, position)))


@pytest.mark.parametrize(
    "position", [(0.0, np.nan, 0.0), (0.0, np.inf, 0.0), (0.0, 0.0), "abc", None]
)
def test_points_made_by_hand_that_are_nowhere_are_refused(robot, position):
    q, *_ = state(robot)
    tip = robot.bodies[-1].name
    pp.jacobian(robot, q, tip)
    with pytest.raises(pp.PhipsiError, match=r"position|point"):
        pp.jacobian(robot, q, pp.Point(tip, position))


def test_wrong_calls_stay_wrong_however_often_right_ones_were_made(robot):
    """What Python itself refuses of a function is not for its machine code to take."""
    (q, v, w), tip = state(robot), robot.bodies[-1].name
    pp.jacobian(robot, q, tip), pp.jacobian_dot_v(robot, q, v, tip), pp.mass_matrix(robot, q)
    for wrong in (
        lambda: pp.jacobian(robot, tip, q=q),
        lambda: pp.jacobian_dot_v(robot, q, tip, v=v),
        lambda: pp.jacobian_dot_v(robot, q, tip),
        lambda: pp.jacobian(robot, tip, points=tip, q=q),
        lambda: pp.jacobian(robot, q, tip, points=tip),
        lambda: pp.jacobian_dot_v(robot, v, points=tip, q=q),
        lambda: pp.forward_dynamics(robot, q, v, w, None, external=None),
        lambda: pp.mass_matrix(robot, q, v=None),
        lambda: pp.mass_matrix(robot, q, x0=q),
        lambda: pp.forward_dynamics(robot, q, v, w, vdot=w),
    ):
        with pytest.raises(TypeError):
            wrong()


def test_lists_of_points_are_no_place_of_a_wrench(robot):
    (q, v, w), tip = state(robot), robot.bodies[-1].name
    at, other = pp.point(tip, (0.1, 0.2, 0.3)), robot.bodies[0].name
    pp.forward_dynamics(robot, q, v, w, {tip: np.ones(6)})
    pp.forward_dynamics(robot, q, v, w, {at: np.ones(6), other: np.ones(6)})
    for place, count in (((tip,), 6), ((at,), 6), ((at, other), 12), ((other, at), 12)):
        with pytest.raises(pp.InputError, match="external"):
            pp.forward_dynamics(robot, q, v, w, {place: np.ones(count)})


def test_what_equals_a_point_that_was_passed_is_looked_at(robot):
    q, *_ = state(robot)
    tip, other = robot.bodies[-1].name, robot.bodies[0].name
    for _ in range(2):
        pp.jacobian(robot, q, [pp.Point(tip, (1.0, 0.0, 1.0)), other])
        with pytest.raises(pp.PhipsiError):
            pp.jacobian(robot, q, [pp.Point(tip, (True, False, True)), other])
        with pytest.raises(pp.PhipsiError):
            pp.jacobian(robot, q, {tip})


def test_so_many_lists_of_points_are_remembered_and_no_more(robot, monkeypatch):
    monkeypatch.setattr(point_entries, "LISTS", 4)
    q, *_ = state(robot)
    tip, other = robot.bodies[-1].name, robot.bodies[0].name
    for k in range(9):
        where = [pp.point(tip, (0.0, 0.0, 0.01 * k)), other]
        assert_right(robot, q, where)
        assert_right(robot, q, tuple(where))
    assert len(robot.functions[points._jacobian]._lists) <= 4


def test_usual_calls_by_name_go_straight_too(robot, monkeypatch):
    """Nothing but the machine code is called, once it is there."""
    q, v, w = state(robot)
    tip, out = robot.bodies[-1].name, np.empty(robot.nv)
    at, push, rows = pp.point(tip, (0.1, 0.2, 0.3)), np.arange(6.0), np.ones((6, 6))
    calls = [
        lambda: pp.jacobian(robot, q, points=tip),
        lambda: pp.jacobian(robot, q=q, points=at),
        lambda: pp.jacobian(robot, q, [tip, at], out=np.empty((12, robot.nv))),
        lambda: pp.jacobian_dot_v(robot, q, v, points=[at, tip]),
        lambda: pp.forward_dynamics(robot, q=q, v=v, tau=w),
        lambda: pp.forward_dynamics(robot, q, v, w, external={at: push}),
        lambda: pp.forward_dynamics(robot, q, v, w, external={tip: push}, out=out),
        lambda: pp.inverse_dynamics(robot, q, v, w, rows, out=out),
        lambda: pp.mass_matrix(robot, q=q, out=np.empty((robot.nv, robot.nv))),
    ]
    expected = [call().copy() for call in calls]
    monkeypatch.setattr(evaluate, "answer", None)
    monkeypatch.setattr(evaluate, "_evaluate", None)
    for module in (forward, inverse, mass, points):
        monkeypatch.setattr(module, "answer", None)
    for call, x in zip(calls, expected, strict=True):
        np.testing.assert_array_equal(call(), x)


def test_bodies_may_have_any_name():
    """Wrenches on every body are found apart from those at a point, whatever that is called."""
    names, builder = ("every body", "everywhere", "nowhere"), pp.ModelBuilder("named")
    for name, carrier in zip(names, ("world", *names), strict=False):
        joint = pp.joints.Revolute((1.0, 0.0, 0.0))
        builder.add_body(name, carrier, joint, mass=1.0, inertia=(0.2, 0.2, 0.3))
    robot = builder.build()
    rows, (q, v, w) = np.arange(18.0).reshape(3, 6), np.full((3, 3), 0.1)
    right = [
        [pp.forward_dynamics(robot, q, v, w, x, backend="numpy") for x in ({name: rows[1]}, rows)]
        for name in names
    ]
    for _ in range(3):
        for name, (at_one, everywhere) in zip(names, right, strict=True):
            found = pp.forward_dynamics(robot, q, v, w, {name: rows[1]})
            np.testing.assert_allclose(found, at_one, rtol=1e-12)
            found = pp.forward_dynamics(robot, q, v, w, rows)
            np.testing.assert_allclose(found, everywhere, rtol=1e-12)


@pytest.mark.parametrize("names", [np.str_, lambda x: np.array([x]), lambda x: (np.str_(x),)])
def test_names_from_arrays_are_names(robot, names, monkeypatch):
    q, v, w = state(robot)
    tip = robot.bodies[-1].name
    right = pp.jacobian(robot, q, tip)
    np.testing.assert_array_equal(pp.jacobian(robot, q, names(tip)), right)
    push = pp.forward_dynamics(robot, q, v, w, {tip: np.ones(6)})
    monkeypatch.setattr(evaluate, "_evaluate", None)  # found from now on
    np.testing.assert_array_equal(pp.jacobian(robot, q, names(tip)), right)
    found = pp.forward_dynamics(robot, q, v, w, {np.str_(tip): np.ones(6)})
    np.testing.assert_array_equal(found, push)


@pytest.mark.parametrize("position", [(True, False, True), (1.0, 2.0, "3"), (10**400, 0, 0)])
def test_what_is_no_position_is_refused_however_often_a_frame_was_passed(robot, position):
    q, *_ = state(robot)
    for frame in robot.frames[-1].name, robot.bodies[-1].name:
        pp.jacobian(robot, q, frame)
        for _ in range(2):
            with pytest.raises(pp.InputError, match="position"):
                pp.jacobian(robot, q, pp.Point(frame, position))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_short_vectors_may_be_tuples(dtype):
    """They go to machine code as they are, in either precision, and give the same bits."""
    arm = pp.examples.planar_arm(3)
    function = pp.compile(arm, "Mass^-1 (T - C)", dtype=dtype)
    q, v, tau = np.random.default_rng(2).normal(size=(3, 3)).astype(dtype)
    right = function(q, v, tau)
    function._by_code = None  # nothing but the entry
    given = [tuple(map(float, x)) for x in (q, v, tau)]
    assert function(*given).tobytes() == right.tobytes()
    assert function(q, given[1], tau).tobytes() == right.tobytes()
    with pytest.raises(TypeError):  # what the entry leaves to others
        function((1, 2, 3), v, tau)


@pytest.mark.parametrize("name", ["tree_of_every_kind", "mimics", "star_of_free_bodies"])
@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_moves_on_every_manifold_are_those_of_the_joint_kinds(name, batch):
    """One and many states; what the shorter way round is, too."""
    model = MARKET[name]()
    q, v, w = state(model, *batch, seed=3)
    there = configuration.integrate(model, q, 3.0 * w)
    moved, apart = pp.integrate(model, q, v), pp.difference(model, q, there)
    assert moved.shape == q.shape and apart.shape == v.shape
    np.testing.assert_allclose(moved, configuration.integrate(model, q, v), rtol=0, atol=1e-13)
    right = configuration.difference(model, q, there)
    np.testing.assert_allclose(apart, right, rtol=0, atol=1e-12)
    back = pp.integrate(model, q, apart)
    assert np.abs(pp.difference(model, back, there)).max() < 1e-12


def test_moves_refuse_what_is_no_configuration():
    model = MARKET["star_of_free_bodies"]()
    q, v, _ = state(model)
    pp.integrate(model, q, v)
    pp.difference(model, q, q)
    free = next(x for x in model.leaders if x.kind.quaternion is not None)
    long = q.copy()
    long[free.q] *= 1.1
    for refused in (lambda: pp.integrate(model, long, v), lambda: pp.difference(model, q, long)):
        with pytest.raises(pp.InputError, match=r"has length 1\.1"):
            refused()
    with pytest.raises(pp.InputError, match="dq has shape"):
        pp.integrate(model, q, v[:-1])


def sled(*kinds):
    """A machine on a joint of the user's own: its code is kept nowhere."""

    def pose(q):
        return np.eye(3).tolist(), [q[0], 0.0, 0.0]

    builder = pp.ModelBuilder("own")
    builder.add_body("a", joint=pp.joints.Custom(pose, 1), mass=1.0, inertia=(1, 1, 1))
    for i, kind in enumerate(kinds):
        builder.add_body(f"b{i}", joint=kind, mass=1.0, inertia=(1, 1, 1))
    return builder.build()


def test_moves_of_joints_of_the_users_own_are_machine_code_too():
    model = sled()
    assert np.array_equal(pp.integrate(model, np.ones(1), np.ones(1)), [2.0])
    assert pp.compile(model, pp.integrate).info().path == "unrolled"


@pytest.mark.parametrize("name", ["tree_of_every_kind", "mimics"])
def test_moves_are_compiled_bound_and_differentiated_as_expressions_are(name):
    """Their derivatives along tangents are those of a complex step through the joint kinds."""
    model = MARKET[name]()
    q, v, w = state(model, seed=4)
    there = configuration.integrate(model, q, w)
    move, apart = pp.compile(model, pp.integrate), pp.compile(model, pp.difference)
    assert move is pp.compile(model, pp.integrate)
    assert (move.inputs, apart.inputs) == (("q", "dq"), ("q0", "q1"))
    assert np.array_equal(move(dq=v, q=q), pp.integrate(model, q, v))
    assert np.array_equal(pickle.loads(pickle.dumps(apart))(q, there), apart(q1=there, q0=q))
    bound = move.bind(q, v)
    v *= 0.5
    assert np.array_equal(bound(), pp.integrate(model, q, v))

    def moved(along_q, along_dq):
        return configuration.integrate(
            model, configuration.integrate(model, q, 1e-30j * along_q), v + 1e-30j * along_dq
        )

    right = moved(v, w).imag / 1e-30
    np.testing.assert_allclose(move.jvp(q, v, v, w), right, rtol=0, atol=1e-12)
    turned = configuration.integrate(model, there, 1e-30j * w)
    right = configuration.difference(model, q, turned).imag / 1e-30
    slope = apart.jvp(q, there, dq1=w)
    np.testing.assert_allclose(slope, right, rtol=0, atol=1e-11)
    by_start, by_end = apart.vjp(q, there, w=v)
    assert by_start.shape == by_end.shape == (model.nv,)
    np.testing.assert_allclose(by_end @ w, v @ slope, rtol=0, atol=1e-11)


def test_moves_in_single_precision_and_by_the_interpreter():
    model = MARKET["tree_of_every_kind"]()
    q, v, _ = state(model, 3)
    right = configuration.integrate(model, q, v)
    single = pp.compile(model, pp.integrate, dtype=np.float32)(q, v)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, right, rtol=0, atol=1e-5)
    slow = pp.compile(model, pp.integrate, backend="numpy")
    assert np.array_equal(slow(q, v), right)
    assert slow.info().path == "interpreter"
    assert slow.info().flops > 0
    assert pp.integrate(model, q, v.astype(np.longdouble)).dtype == np.longdouble


def test_what_cannot_be_compiled_as_a_move_is_refused(robot):
    with pytest.raises(pp.InputError, match=r"the function mass_matrix; of functions, only"):
        pp.compile(robot, pp.mass_matrix)
    with pytest.raises(pp.InputError, match="integrate has no parameters"):
        pp.compile(robot, pp.integrate, ["gravity"])
    with pytest.raises(pp.InputError, match="dq: is missing"):
        pp.compile(robot, pp.integrate)(robot.neutral())


# -- compiled functions ------------------------------------------------------------------------


def test_functions_take_keywords_points_blocks_and_parameters_quickly(robot, monkeypatch):
    q, v, tau = state(robot)
    tip = pp.point(robot.bodies[-1].name, (0.1, 0.0, 0.2))
    W, joint = operator("W", "body", "body"), robot.joints[0].name
    x = vector("x", "body")
    blocks = np.random.default_rng(5).normal(size=(len(robot.bodies), 6, 6))
    cases = [
        (Mass.inv @ (T - C), (), ((q, v, tau), {}), ((), {"T": tau, "q": q, "v": v})),
        (Mass, (), ((q,), {}), ((q, None), {}), ((), {"q": q})),
        (Mass @ T, (), ((q, None, tau), {}), ((q,), {"T": tau}), ((), {"T": tau, "q": q})),
        (J, (), ((q, None, [tip]), {}), ((q,), {"points": [tip]}), ((q,), {"points": tip})),
        (J(tip) @ beta, (), ((q, v), {}), ((), {"v": v, "q": q})),
        (phi @ W @ x, (), ((q,), {"W": blocks, "x": np.ones(6 * len(blocks))})),
        (phi @ W @ x, (), ((q,), {"W": list(blocks), "x": np.ones(6 * len(blocks))})),
        (
            C,
            ("gravity", f"{joint}.rotor_inertia"),
            ((q, v), {"gravity": np.ones(3), f"{joint}.rotor_inertia": np.array(0.1)}),
            ((q, v, np.ones(3), np.array(0.1)), {}),
        ),
    ]
    for expression, parameters, *calls in cases:
        function = pp.compile(robot, expression, parameters)
        slow = pp.compile(robot, expression, parameters, backend="numpy")
        for places, names in calls:
            right = slow(*places, **names)
            first = function(*places, **names)
            with monkeypatch.context() as patch:
                patch.setattr(type(function), "_carefully", None)
                second = function(*places, **names)
                out = np.empty_like(first)
                assert function(*places, **names, out=out) is out
            for found in (first, second, out):
                np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-9)


def test_blocks_beside_a_batch_are_not_taken_for_one(robot):
    """A list of blocks has their number first: an array of as many states is no such list."""
    q, *_ = state(robot)
    n = len(robot.bodies)
    W, x = operator("W", "body", "body"), vector("x", "body")
    function = pp.compile(robot, W @ x)
    slow = pp.compile(robot, W @ x, backend="numpy")
    blocks, given = np.random.default_rng(6).normal(size=(n, n, 6, 6)), np.ones(6 * n)
    for W_given in (blocks, blocks[0], list(blocks), [b[0] for b in blocks]):
        right = slow(q, W=W_given, x=given)
        for _ in range(2):
            found = function(q, W=W_given, x=given)
            assert found.shape == right.shape
            np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-9)


def test_derivatives_are_quick_too(robot, monkeypatch):
    q, v, tau = state(robot)
    function = pp.compile(robot, Mass.inv @ (T - C)).jvp
    first = function(q, v, tau, v, tau, v)
    monkeypatch.setattr(type(function), "_carefully", None)
    assert np.array_equal(function(q, v, tau, dq=v, dv=tau, dT=v), first)
    out = np.empty(robot.nv)
    assert function(q, v, tau, v, tau, v, out=out) is out
    assert np.array_equal(out, first)


def test_outputs_may_not_share_memory(robot):
    q, v, tau = state(robot)
    function, memory = pp.compile(robot, [Mass @ T, C]), np.empty(2 * robot.nv)
    n = robot.nv
    for out in ((memory[:n],) * 2, (memory[:n], memory[n - 1 : -1])):
        with pytest.raises(pp.InputError, match="two of the arrays share memory"):
            function(q, v, tau, out=out)
    out = memory[:n], memory[n:]
    assert all(x is y for x, y in zip(function(q, v, tau, out=out), out, strict=True))
    for found, right in zip(out, function(q, v, tau), strict=True):
        assert np.array_equal(found, right)


# -- what must not depend on earlier calls -----------------------------------------------------


def test_complex_blocks_and_odd_ones_are_looked_at_after_real_ones(robot):
    q, _, tau = state(robot)
    A = operator("A", "joint", "joint")
    function = pp.compile(robot, A @ T)
    real = [np.array([[1.0 + k]]) for k in range(robot.nv)]
    assert np.array_equal(function(q=q, T=tau, A=real), tau * np.arange(1.0, 1.0 + robot.nv))
    turned = [x * (1.0 + 1e-3j) for x in real]
    assert np.allclose(function(q=q, T=tau, A=turned).imag, 1e-3 * tau * (1 + np.arange(robot.nv)))
    for wrong in ("1", None):
        with pytest.raises(pp.InputError):
            function(q=q, T=tau, A=[[[wrong]], *real[1:]])


def test_points_of_any_form(robot):
    q, *_ = state(robot)
    tip = robot.bodies[-1].name
    right = pp.jacobian(robot, q, pp.point(tip, (0.0, 0.0, 0.1)))
    for place in ([0.0, 0.0, 0.1], np.array([0.0, 0.0, 0.1])):
        for _ in range(2):
            assert np.array_equal(pp.jacobian(robot, q, pp.Point(tip, place)), right)
            found = pp.compile(robot, X @ J @ S_q)(q, points=[pp.Point(tip, place)])
            np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-12)
    for _ in range(2):
        assert np.array_equal(pp.jacobian(robot, q, (x for x in [tip])), pp.jacobian(robot, q, tip))
        with pytest.raises(pp.InputError):  # a tuple is no point, and equals none
            pp.jacobian(robot, q, (tip, (0.0, 0.0, 0.0)))
        with pytest.raises(pp.InputError):
            pp.jacobian(robot, q, [(tip, (0.0, 0.0, 0.1))])
        pp.jacobian(robot, q, pp.point(tip))


def test_machine_code_is_entered_once_however_often_it_refuses(robot, monkeypatch):
    """Lists, other strides: no new entry is made for them, and one for a number of threads."""
    q, v, tau = state(robot, 4)
    pp.forward_dynamics(robot, q, v, tau)
    made = []
    monkeypatch.setattr(pp.Function, "entry", lambda *given: made.append(given))
    pp.forward_dynamics(robot, q.tolist(), v, tau)
    pp.forward_dynamics(robot, np.asfortranarray(q), v, tau)
    pp.forward_dynamics(robot, q[:, None], v, tau)
    assert not made
    for _ in range(3):
        pp.forward_dynamics(robot, q, v, tau, threads=3)
    assert len(made) == 1


# -- points that move, and results in the caller's memory ----------------------------------------


@pytest.fixture
def hurried(monkeypatch):
    """Calls that fail where arguments are looked at one by one."""

    def hurry():
        monkeypatch.setattr(evaluate, "_evaluate", None)
        monkeypatch.setattr(pp.Function, "_carefully", None)

    return hurry


def test_points_that_move_on_their_frames_are_numbers_as_others(robot, hurried):
    """A new position at every call: the code is found by the frames, and takes it in."""
    q, v, tau = state(robot)
    tip, other = robot.bodies[-1].name, robot.bodies[2].name
    function = pp.compile(robot, X @ J)

    def places(k):
        return [pp.point(tip, (0.1 * k, 0.2, 0.3)), pp.Point(other, [0.0, 0.1 * k, 0.0])]

    def ask(k, **how):
        wrenches = {pp.point(tip, (0.0, 0.1 * k, 0.2)): np.arange(6.0), other: np.ones(6)}
        one = {pp.point(tip, (0.0, 0.1 * k, 0.2)): np.arange(6.0)}
        return (
            pp.jacobian(robot, q, places(k), **how),
            pp.jacobian(robot, q, places(k)[0], **how),
            pp.jacobian_dot_v(robot, q, v, places(k)[0], **how),
            pp.forward_dynamics(robot, q, v, tau, wrenches, **how),
            pp.forward_dynamics(robot, q, v, tau, one, **how),
            pp.inverse_dynamics(robot, q, v, tau, one, **how),
        )

    right = [(*ask(k, backend="numpy"), ask(k, backend="numpy")[0]) for k in range(4)]
    ask(0)
    function(q, None, places(0))
    function(q, points=places(0))
    hurried()
    for k in range(1, 4):
        found = (*ask(k), function(q, points=places(k)))
        for x, y in zip(found, right[k], strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(function(q, None, places(k)), found[-1])


@pytest.mark.parametrize(
    "position", [(0.0, np.nan, 0.0), (0.0, np.inf, 0.0), "abc", (1.0, 2.0), (0.0, None, 0.0), 3.0]
)
def test_positions_that_are_none_are_refused_on_frames_that_are_known(robot, position):
    q, *_ = state(robot)
    tip = robot.bodies[-1].name
    pp.jacobian(robot, q, pp.point(tip, (0.1, 0.2, 0.3)))
    with pytest.raises(pp.PhipsiError):
        pp.jacobian(robot, q, pp.Point(tip, position))
    with pytest.raises(pp.PhipsiError):
        pp.jacobian(robot, q, [pp.Point(tip, position)])


@pytest.mark.parametrize("batch", [(5,), (2, 3)], ids=str)
def test_results_go_to_any_memory_without_a_careful_look(robot, batch, hurried):
    """Other strides, threads, arguments of other batches, a tuple of one, an argument itself."""
    q, v, tau = state(robot, *batch)
    function = pp.compile(robot, Mass.inv @ (T - C))
    right = function(q, v, tau)
    function(q, v, tau, threads=2)
    pp.forward_dynamics(robot, q, v, tau, threads=2)
    hurried()
    apart = np.zeros((*batch, 2 * robot.nv))[..., ::2]
    for out in (np.zeros_like(right), apart):
        assert function(q, v, tau, out=out) is out
        np.testing.assert_array_equal(out, right)
        out[...] = 0.0
        assert function(q, v, tau, out=(out,), threads=2) is out
        np.testing.assert_array_equal(out, right)
    own = tau.copy()
    assert function(q, v, own, out=own) is own
    np.testing.assert_array_equal(own, right)
    out = np.zeros_like(right)
    assert pp.forward_dynamics(robot, q, v, tau, threads=2, out=out) is out
    one = function(q, v[(0,) * len(batch)], tau)
    assert function(q, v[(0,) * len(batch)], tau, out=out) is out
    np.testing.assert_array_equal(out, one)


def test_out_has_the_batch_of_the_arguments_and_no_larger_one(robot):
    q, v, tau = state(robot)
    function = pp.compile(robot, Mass.inv @ (T - C))
    function(q, v, tau)
    with pytest.raises(pp.InputError, match=r"out has shape \(5, 6\); expected \(6,\)"):
        function(q, v, tau, out=np.zeros((5, 6)))


def test_names_that_were_mistyped_are_told_of_out_and_threads(robot):
    q, v, tau = state(robot)
    function = pp.compile(robot, Mass.inv @ (T - C))
    with pytest.raises(pp.InputError, match="did you mean 'out'"):
        function(q, v, tau, ou=np.zeros(6))
    with pytest.raises(pp.InputError, match="did you mean 'threads'"):
        function(q, v, tau, thread=2)
    with pytest.raises(pp.InputError, match=r"points: expected pp.point\(...\)"):
        pp.jacobian(robot, q, None)


def test_positions_of_other_numbers_go_to_machine_code_too(robot, monkeypatch):
    """Tuples of NumPy's floats, or of whole numbers: nothing is looked at once it is there."""
    q, v, w = state(robot)
    tip, other, x = robot.bodies[-1].name, robot.bodies[0].name, np.array([0.1, 0.2, 0.3])
    at = pp.Point(tip, tuple(x)), pp.Point(tip, (1, 2, 3)), pp.Point(tip, (np.float32(1), 2, 0.5))
    wanted = [pp.jacobian(robot, q, pp.point(tip, np.array(p.position, float))) for p in at]
    several = pp.jacobian(robot, q, [other, pp.point(tip, x)])
    pushed = pp.forward_dynamics(robot, q, v, w, {pp.point(tip, x): np.arange(6.0)})
    monkeypatch.setattr(evaluate, "_evaluate", None)
    for point, right in zip(at, wanted, strict=True):
        np.testing.assert_array_equal(pp.jacobian(robot, q, point), right)
    np.testing.assert_array_equal(pp.jacobian(robot, q, [other, at[0]]), several)
    found = pp.forward_dynamics(robot, q, v, w, {at[0]: np.arange(6.0)})
    np.testing.assert_array_equal(found, pushed)


@pytest.mark.parametrize("position", [(True, 0, 0), ("1", 0, 0), (1, 2), (None, 0, 0), (1j, 0, 0)])
def test_positions_of_no_numbers_are_refused_however_often_right_ones_were_passed(robot, position):
    q, tip = state(robot)[0], robot.bodies[-1].name
    pp.jacobian(robot, q, pp.point(tip, (1, 2, 3)))
    with pytest.raises(pp.PhipsiError):
        pp.jacobian(robot, q, pp.Point(tip, position))


def test_wrenches_in_lists_and_batches_go_to_machine_code_too(robot, monkeypatch):
    q, v, w = state(robot)
    tip, other, push = robot.bodies[-1].name, robot.bodies[0].name, np.arange(6.0)
    batch, rows = np.arange(18.0).reshape(3, 6), np.ones((len(robot.bodies), 6))
    both = pp.forward_dynamics(robot, q, v, w, {tip: push, other: push})
    several = [pp.forward_dynamics(robot, q, v, w, {tip: x, other: push}) for x in batch]
    one = pp.forward_dynamics(robot, q, v, w, {tip: push})
    every = pp.forward_dynamics(robot, q, v, w, rows)
    monkeypatch.setattr(evaluate, "_evaluate", None)
    for external, right in (
        ({tip: push.tolist(), other: push.tolist()}, both),
        ({tip: tuple(push), other: push}, both),
        ({tip: batch, other: push}, several),
        ({tip: batch.tolist(), other: push.tolist()}, several),
        ({tip: push.tolist()}, one),
        (rows.tolist(), every),
    ):
        np.testing.assert_array_equal(pp.forward_dynamics(robot, q, v, w, external), right)


def test_wrenches_that_are_none_are_refused_in_lists_and_batches(robot):
    q, v, w = state(robot)
    tip, other, push = robot.bodies[-1].name, robot.bodies[0].name, np.ones(6)
    pp.forward_dynamics(robot, q, v, w, {tip: push, other: push})
    wrong = ([1.0] * 5, [None] * 6, ["1"] * 6, [[1.0], 2.0], [np.nan] * 6, np.ones(5))
    for one in wrong:
        for external in ({tip: one}, {tip: one, other: push}, {tip: push, other: one}):
            with pytest.raises(pp.InputError, match="external"):
                pp.forward_dynamics(robot, q, v, w, external)
    with pytest.raises(pp.InputError, match="external"):
        pp.forward_dynamics(robot, q, v, w, {tip: np.ones((2, 6)), other: np.ones((3, 6))})


def test_what_stands_beside_an_empty_batch_is_looked_at_however_often(robot):
    q, v, _ = state(robot)
    compiled = pp.compile(robot, X(robot.bodies[-1].name) @ J(robot.bodies[-1].name) @ beta)
    for _ in range(2):
        assert pp.momentum(robot, q, np.zeros((0, robot.nv))).shape == (0, 6)
        for call in (
            lambda q: pp.momentum(robot, q, np.zeros((0, robot.nv))),
            lambda q: compiled(q, np.zeros((0, robot.nv))),
        ):
            with pytest.raises(pp.InputError, match=r"q\[0\] is nan"):
                call(np.full(robot.nq, np.nan))
        pp.momentum(robot, q, v)
        compiled(q, v)


def test_a_name_in_an_array_without_an_axis_is_refused(robot):
    for _ in range(2):
        with pytest.raises(pp.InputError, match="points"):
            pp.jacobian(robot, state(robot)[0], np.array(robot.bodies[-1].name))


def test_an_empty_batch_of_a_machine_without_an_answer_is_refused_too():
    builder = pp.ModelBuilder("turntable")
    builder.add_body("table", mass=1.0, inertia=(0.1, 0.1, 0.1))
    with pytest.raises(pp.SolveError, match="cannot move"):
        pp.operational_inertia(builder.build(), np.zeros((0, 1)), "table")
