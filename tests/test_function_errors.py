"""What compiled functions refuse: in the words of the interpreter, at the first call and later."""

import asked
import machines
import numpy as np
import pytest
from test_function import FALL, WAYS, as_tuple, every_way, llvm, numpy, states
from test_function_results import TIP, W

import phipsi as pp
from phipsi import joints
from phipsi.backends import looped, machine_code
from phipsi.operators import B, C, J, Mass, S_q, T, X, beta, c, f0, scalar, vector

ARM = machines.welded()
Q, SPEEDS, FORCES = states(ARM)
MANY = states(ARM, 11)


def outcome(call, *arguments, **named):
    """The type and the text of the error that a call raises."""
    try:
        call(*arguments, **named)
    except Exception as error:
        return type(error), str(error)
    return None


def changed(x, index, value):
    """A copy with one other entry."""
    x = np.array(x)
    x[index] = value
    return x


# -- arguments -------------------------------------------------------------------------------

BAD_NUMBERS = (np.nan, np.inf, -np.inf, 1e61, -1e61, 1e300)
REFUSED = {
    "nothing": ((), {}),
    "speeds missing": ((Q,), {"T": FORCES}),
    "forces missing": ((Q, SPEEDS), {}),
    "configuration missing": ((), {"v": SPEEDS, "T": FORCES}),
    "too many": ((Q, SPEEDS, FORCES, FORCES), {}),
    "given twice": ((Q, SPEEDS, FORCES), {"T": FORCES}),
    "unknown name": ((Q, SPEEDS, FORCES), {"tau": FORCES}),
    "another letter": ((Q, SPEEDS), {"t": FORCES}),
    "q None": ((None, SPEEDS, FORCES), {}),
    "v None": ((Q, None, FORCES), {}),
    "T None": ((Q, SPEEDS, None), {}),
    "v None by name": ((Q,), {"v": None, "T": FORCES}),
    "short q": ((Q[:-1], SPEEDS, FORCES), {}),
    "long q": ((np.append(Q, 0.0), SPEEDS, FORCES), {}),
    "short v": ((Q, SPEEDS[1:], FORCES), {}),
    "short T": ((Q, SPEEDS, FORCES[1:]), {}),
    "short T by name": ((Q, SPEEDS), {"T": FORCES[1:]}),
    "long T in a batch": ((MANY[0], SPEEDS, np.zeros((11, 5))), {}),
    "empty": ((Q, SPEEDS, []), {}),
    "a number": ((Q, 1.0, FORCES), {}),
    "batches": ((MANY[0], SPEEDS, np.zeros((3, 4))), {}),
    "batches of all": ((MANY[0], np.zeros((2, 1, 4)), np.zeros((3, 1, 4))), {}),
    "text": (("high", SPEEDS, FORCES), {}),
    "a list of text": ((Q, ["a", "b", "c", "d"], FORCES), {}),
    "ragged": ((Q, SPEEDS, [[1.0], [1.0, 2.0]]), {}),
    "a dict": ((Q, {"v": 1}, FORCES), {}),
    "a set": ((Q, SPEEDS, {1.0, 2.0, 3.0, 4.0}), {}),
    "None inside": ((Q, [None, 1, 2, 3], FORCES), {}),
    "dates": ((Q, SPEEDS, np.zeros(4, "M8[s]")), {}),
    "bytes": ((Q, SPEEDS, np.zeros(4, "S3")), {}),
    "records": ((Q, SPEEDS, np.zeros(4, [("x", float)])), {}),
    "long double": ((Q.astype(np.longdouble), SPEEDS, FORCES), {}),
    "quaternion": ((1.01 * Q, SPEEDS, FORCES), {}),
    "zero quaternion": ((0.0 * Q, SPEEDS, FORCES), {}),
    "quaternion by name": ((), {"q": 1.01 * Q, "v": SPEEDS, "T": FORCES}),
    "one quaternion of a batch": ((changed(MANY[0], (9, 2), 0.9), SPEEDS, FORCES), {}),
    "last quaternion of a batch": ((changed(MANY[0], (10, 4), -2.0), MANY[1], MANY[2]), {}),
    "complex and short": ((Q + 0j, SPEEDS, FORCES[1:]), {}),
    "complex and NaN": ((Q + 0j, SPEEDS, FORCES * np.nan), {}),
    "NaN of float32": ((Q, changed(SPEEDS, 0, np.nan).astype(np.float32), FORCES), {}),
    "points": ((Q, SPEEDS, FORCES), {"points": ["nowhere"]}),
    "no points": ((Q, SPEEDS, FORCES), {"points": []}),
}
for _number in BAD_NUMBERS:
    for _i, _name in enumerate(("q", "v", "T")):
        for _at in (0, -1):
            _one = [changed(x, _at, _number) if j == _i else x for j, x in enumerate(states(ARM))]
            _many = [changed(x, (9, _at), _number) if j == _i else x for j, x in enumerate(MANY)]
            REFUSED[f"{_name}[{_at}] {_number}"] = (tuple(_one), {})
            REFUSED[f"{_name}[9, {_at}] {_number}"] = (tuple(_many), {})


@pytest.fixture(scope="module")
def warm():
    """Functions that were called before."""
    found = [llvm(ARM, FALL, unroll=unroll, lanes=lanes) for unroll, lanes in WAYS]
    for function in found:
        function(Q, SPEEDS, FORCES)
    return found


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_is_that_of_the_interpreter_first_and_later(case, warm):
    arguments, named = REFUSED[case]
    expected = outcome(numpy(ARM, FALL), *arguments, **named)
    assert expected is not None and expected[0] is pp.InputError
    assert outcome(llvm(machines.welded(), FALL), *arguments, **named) == expected
    for function in warm:
        for _ in range(2):
            assert outcome(function, *arguments, **named) == expected
        assert np.isfinite(function(Q, SPEEDS, FORCES)).all()


@pytest.mark.parametrize("name", ["v", "T", "q"])
@pytest.mark.filterwarnings("ignore::phipsi.errors.SlowPathWarning")
def test_what_is_large_but_no_error_is_computed(warm, name):
    """1e60 is the largest number there is; several of them make an alarm, but no error."""
    state = {"q": Q, "v": SPEEDS, "T": FORCES}
    if name != "q":
        state[name] = np.full(4, 1e60 if name == "T" else 1e30)
    else:
        state["q"] = changed(Q, 0, 1e15)
    expected = numpy(ARM, FALL)(**state)
    for function in warm:
        result = function(*state.values())
        assert np.abs(result - expected).max() <= 1e-11 * np.abs(expected).max()


OUT = {
    "shape": np.empty(3),
    "batch": np.empty((1, 4)),
    "scalar": np.empty(()),
    "float32": np.empty(4, np.float32),
    "integers": np.empty(4, int),
    "complex": np.empty(4, complex),
    "other byte order": np.empty(4, np.dtype(float).newbyteorder()),
    "list": [0.0] * 4,
    "number": 1.0,
    "none of several": (None,),
    "two": (np.empty(4), np.empty(4)),
    "nothing": (),
}


@pytest.mark.parametrize("case", [*OUT, "read-only"])
def test_arrays_that_cannot_take_the_result_are_named_out(warm, case):
    out = OUT.get(case)
    if case == "read-only":
        out = np.empty(4)
        out.setflags(write=False)
    expected = outcome(numpy(ARM, FALL), Q, SPEEDS, FORCES, out=out)
    assert expected[0] is pp.InputError and expected[1].startswith("out")
    for function in warm:
        assert outcome(function, Q, SPEEDS, FORCES, out=out) == expected


def repeated(n):
    """An n x n array that may be written, all of whose rows are one."""
    return np.lib.stride_tricks.as_strided(np.empty(n), (n, n), (0, 8))


def test_out_of_several_results():
    for backend in ("llvm", "numpy"):
        function = pp.compile(ARM, [FALL, Mass], backend=backend)
        for out, message in (
            (np.empty(4), "out: expected a tuple of 2 arrays, one for each output, got an array"),
            ([np.empty(4)] * 2, "out: expected a tuple of 2 arrays, .*, got a list"),
            ((np.empty(4),), "out: expected 2 arrays, one for each output, got 1"),
            ((np.broadcast_to(0.0, 4).copy(), repeated(4)), r"out\[1\]: entries .* share memory.*"),
            ((np.empty(4), np.empty(4)), r"out\[1\] has shape \(4,\); expected \(4, 4\)"),
            ((np.empty(4), None), r"out\[1\]: expected an array of float64, got NoneType"),
        ):
            with pytest.raises(pp.InputError, match=f"^{message}$"):
                function(Q, SPEEDS, FORCES, out=out)
        with pytest.raises(pp.InputError, match=r"^out takes real results"):
            function(Q + 0j, SPEEDS, FORCES, out=(np.empty(4), np.empty((4, 4))))


def test_out_whose_entries_share_memory_is_refused():
    """Whatever the strides: rows that begin within one another are overwritten."""
    function = pp.compile(ARM, Mass)
    expected, memory = function(Q), np.zeros(400)
    view = np.lib.stride_tricks.as_strided
    for strides in ((8, 8), (24, 8), (8, 16), (-24, 8), (16, 24)):
        with pytest.raises(pp.InputError, match=r"^out: entries of the array may share memory; "):
            function(Q, out=view(memory[100:], (4, 4), strides))
    for strides in ((32, 8), (8, 32), (40, 8), (-32, 8), (32, -8), (16, 64), (64, 16)):
        out = view(memory[100:], (4, 4), strides)
        assert function(Q, out=out) is out
        assert np.array_equal(out, expected)


def test_one_array_too_many_is_counted():
    with pytest.raises(pp.InputError, match=r"^out: expected 1 array, got 2$"):
        pp.compile(ARM, Mass)(Q, out=(np.empty((4, 4)), np.empty((4, 4))))


@pytest.mark.parametrize(
    "dtype",
    ["nonsense", "float63", "f8,(", ("f8", -1), object(), 3, [1], None, int, complex, np.float16],
)
def test_numbers_of_other_kinds_are_refused(dtype):
    with pytest.raises(pp.InputError, match=r"^dtype: expected float or numpy.float32, got "):
        pp.compile(ARM, Mass, dtype=dtype)


# -- dynamics --------------------------------------------------------------------------------


def flying():
    """A free body that carries another one by a hinge."""
    return machines.random_machine(3, 2, [machines.revolute], base="free")


FLYING = flying()


def asked_of(name, **changes):
    arguments = asked.arguments(name, FLYING)
    if "points" in arguments:
        arguments["points"] = FLYING.bodies[0].name
    return arguments | changes


@pytest.fixture(scope="module")
def asked_before():
    """A machine of which everything was asked before."""
    for name in asked.NAMES:
        for _ in range(2):
            asked.function(name)(FLYING, **asked_of(name), backend="llvm")
    return FLYING


def wrong_values(value):
    """What a user might pass in the place of an array."""
    yield value[..., 1:]
    yield np.concatenate([value, value], axis=-1)
    yield None
    yield "high"
    yield value.astype(np.longdouble)
    yield np.zeros((2, *value.shape)) + np.nan
    yield np.zeros((0, *value.shape[:-1], 2))
    for number in (np.nan, -np.inf, 1e61):
        yield changed(value, (..., -1), number)


@pytest.mark.parametrize("name", asked.NAMES)
def test_dynamics_refuse_in_the_words_of_the_interpreter_first_and_later(asked_before, name):
    function, fresh = asked.function(name), flying()
    for argument, value in asked_of(name).items():
        wrong = ["nowhere"] if argument == "points" else wrong_values(value)
        for x in [*wrong, 1.5 * value] if argument == "q" else wrong:
            given = asked_of(name, **{argument: x})
            expected = outcome(function, FLYING, **given, backend="numpy")
            assert expected is not None and expected[0] is pp.InputError
            assert outcome(function, fresh, **given, backend="llvm") == expected
            assert outcome(function, asked_before, **given, backend="llvm") == expected
    before = function(FLYING, **asked_of(name), backend="numpy")
    after = function(asked_before, **asked_of(name), backend="llvm")
    for x, y in zip(*map(as_tuple, (before, after)), strict=True):
        assert np.allclose(x, y, rtol=1e-9, atol=1e-12)


def test_no_other_function_is_taken_for_a_method(asked_before):
    """Names of functions that were called before are no methods of forward dynamics."""
    given = asked_of("forward_dynamics")
    for method in ("inverse_dynamics", "bias_force", "mass_matrix", "gravity_force"):
        expected = outcome(pp.forward_dynamics, FLYING, **given, method=method, backend="numpy")
        assert expected[1].startswith(f"method: unknown {method!r}")
        found = outcome(pp.forward_dynamics, FLYING, **given, method=method, backend="llvm")
        assert found == expected


# -- what must not vanish --------------------------------------------------------------------


def feather():
    """Its last joint moves nothing, whatever the state."""
    builder = pp.ModelBuilder("feather", strict=False)
    builder.add_body("arm", joint=joints.Revolute(joints.Y), mass=1.0, com=(0.5, 0, 0))
    builder.add_body("tip", "arm", joints.Revolute(joints.X), position=(1, 0, 0))
    return builder.build()


def gyroscope(mass=1.0, size=1.0):
    """Singular where the middle angle is a quarter turn."""
    builder = pp.ModelBuilder("gyroscope")
    inertia = mass * size**2 * np.array([0.3, 0.2, 0.4])
    wrist = joints.SphericalEuler("zyx")
    builder.add_body("wheel", joint=wrist, mass=mass, com=(0.1 * size, 0, 0), inertia=inertia)
    return builder.build()


def gimbals():
    """Three hinges through one point, two of massless bodies: singular in the same place."""
    return machines.rbdl_zyx()


def follower():
    """Gimbals on a hinge, and a joint that follows: a dense system of the coordinates."""
    builder = pp.ModelBuilder("follower")
    builder.add_body("z", joint=joints.Revolute(joints.Z))
    builder.add_body("y", "z", joints.Revolute(joints.Y))
    body = {"mass": 1.0, "com": (0, 0.5, 0), "inertia": np.eye(3)}
    builder.add_body("x", "y", joints.Revolute(joints.X), **body)
    slide = joints.Prismatic(joints.X)
    builder.add_body("w", "x", slide, mimic=("x_joint", 0.0, 0.0), **body)
    return builder.build()


SINGULAR = {
    "gyroscope": (gyroscope, Mass.inv @ (T - C), "wheel_joint"),
    "gimbals": (gimbals, Mass.inv @ (T - C), "z_joint"),
    "inverse": (gimbals, Mass.inv, "z_joint"),
    "one of several": (gimbals, [C, Mass, Mass.inv @ T], "z_joint"),
}


@every_way
@pytest.mark.parametrize("case", SINGULAR)
def test_one_singular_state_of_a_batch_is_found_wherever_it_is(case, unroll, lanes):
    make, expression, joint = SINGULAR[case]
    model = make()
    function = llvm(model, expression, unroll=unroll, lanes=lanes)
    sound = np.random.default_rng(4).uniform(-1.0, 1.0, (19, 3))
    z = np.zeros(3)
    arguments = [z, z][: len(function.inputs) - 1]
    expected = outcome(numpy(model, expression), [0.3, np.pi / 2, 0.2], *arguments)
    assert expected[0] is pp.SolveError and f"joint {joint!r}" in expected[1]
    function(sound, *arguments)
    for n in (1, 2, 9, 19):
        for i in {0, n // 2, n - 1}:
            q = changed(sound[:n], (i, 1), np.pi / 2)
            assert outcome(function, q, *arguments) == expected
            assert outcome(function, *(q, *arguments), out=None) == expected
        function(sound[:n], *arguments)
    for _ in range(2):
        assert outcome(function, np.array([0.3, np.pi / 2, 0.2]), *arguments) == expected
        function(sound[0], *arguments)


@pytest.mark.parametrize("unroll", [True, False, None])
def test_a_joint_that_moves_nothing_is_named(unroll):
    model = feather()
    for expression in (Mass.inv @ (T - C), Mass.inv):
        function = llvm(model, expression, unroll=unroll)
        for batch in ((), (5,)):
            z = np.zeros((*batch, 2))
            arguments = (z,) * (len(function.inputs))
            expected = outcome(numpy(model, expression), *arguments)
            assert expected[0] is pp.SolveError and "'tip_joint' vanishes" in expected[1]
            for _ in range(2):
                assert outcome(function, *arguments) == expected
    assert np.array_equal(llvm(model, Mass)(np.zeros(2)), numpy(model, Mass)(np.zeros(2)))


def test_a_machine_without_any_value_says_so():
    fall = llvm(feather(), FALL)
    with pytest.raises(pp.BackendError, match=r"no machine code on 'feather'.*no value in any"):
        _ = fall.gufunc
    for backend in ("llvm", "numpy"):
        with pytest.raises(pp.SolveError, match="no value in any state of 'feather'"):
            pp.compile(feather(), FALL, backend=backend).info()


@pytest.mark.parametrize(
    ("name", "more"),
    [
        *(("forward_dynamics", {"method": method}) for method in ("FD1", "FD2", "FD3", "FD4")),
        *((x, {}) for x in ("accelerations", "forward_dynamics_delayed", "mass_matrix_inverse")),
        ("operational_compliance", {}),
    ],
)
def test_dynamics_name_the_joint_that_moves_nothing(name, more):
    for model, q in ((feather(), [0.0, 0.0]), (gimbals(), [0.0, np.pi / 2, 0.0])):
        given = asked.arguments(name, model) | more
        expected = outcome(asked.function(name), model, **given | {"q": q}, backend="numpy")
        assert expected[0] is pp.SolveError and "inertia D of joint" in expected[1]
        for _ in range(2):
            found = outcome(asked.function(name), model, **given | {"q": q}, backend="llvm")
            assert found == expected
        if model.name != "feather":
            asked.function(name)(model, **given, backend="llvm")


PROJECTED = S_q.T @ Mass @ S_q
s, t = vector("s", "coordinate"), vector("t", "coordinate")
DENSE = {
    "where joints follow others": (PROJECTED.inv @ s, 3),
    "of no symmetry": ((PROJECTED + W).inv @ s, 3),
    "of points that cannot move anyhow": ((J @ J.T).inv @ f0, 6),
}


@pytest.mark.parametrize("unroll", [True, False])
@pytest.mark.parametrize("case", DENSE)
def test_dense_systems_that_are_singular_say_so(case, unroll):
    model, (expression, n) = follower(), DENSE[case]
    function = llvm(model, expression, unroll=unroll)
    points = {"points": ["x"]} if "points" in function.inputs else {}
    own = {"W": [np.zeros((3, 3))]} if "W" in function.inputs else {}
    arguments = {"v": np.zeros(3), function.program.free[-1].name: np.ones(n)} | points | own
    q = np.array([0.3, np.pi / 2, 0.2])
    expected = outcome(numpy(model, expression), q, **arguments)
    assert expected[0] is pp.SolveError
    many = changed(np.full((9, 3), 0.3), (8, 1), np.pi / 2)
    for _ in range(2):
        assert outcome(function, q, **arguments) == expected
        assert outcome(function, many, **arguments) == expected
        if not points:
            assert np.isfinite(function(many[:8], **arguments)).all()


@every_way
@pytest.mark.filterwarnings("ignore::phipsi.errors.SlowPathWarning")
def test_a_false_alarm_raises_nothing(unroll, lanes):
    """Near gimbal lock, where machine code complains and the interpreter does not."""
    model = gyroscope()
    function = llvm(model, FALL, unroll=unroll, lanes=lanes)
    q = changed(np.full((5, 3), 0.3), (2, 1), np.pi / 2 - 1e-6)
    v, forces = np.zeros(3), np.array([0.1, 0.2, 0.3])
    together, counter = function(q, v, forces), function._code.way().counter
    assert counter[0] > 0, "no alarm"
    alarms = counter[0]
    alone = function(q[2], v, forces)
    assert np.array_equal(alone, together[2])
    assert counter[0] > alarms
    mass, bias = numpy(model, [Mass, C])(q[2], v)
    terms = np.abs(mass) @ np.abs(alone)
    assert np.all(np.abs(mass @ alone + bias - forces) < 1e-12 * terms.max())


@every_way
def test_small_numbers_are_no_alarm(unroll, lanes):
    """A gyroscope of a nanogram, a tenth of a millimetre wide."""
    model = gyroscope(mass=1e-12, size=1e-4)
    function = llvm(model, FALL, unroll=unroll, lanes=lanes)
    q, forces = np.full((5, 3), 0.3), np.full(3, 1e-22)
    found = function(q, np.zeros(3), forces)
    expected = numpy(model, FALL)(q, np.zeros(3), forces)
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()
    assert function._code.way().counter[0] == 0


# -- the raw function ------------------------------------------------------------------------


@every_way
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300], ids=str)
def test_the_raw_function_lets_nan_through_without_a_word(unroll, lanes, bad):
    """Warnings are errors here; and other states of the batch do not suffer."""
    function = llvm(ARM, FALL, unroll=unroll, lanes=lanes).gufunc
    right = function(*MANY)
    v = changed(MANY[1], (4, 2), bad)
    with np.errstate(all="raise"):
        found = function(MANY[0], v, MANY[2])
        single = function(MANY[0][4], v[4], MANY[2][4])
    others = np.arange(11) != 4
    assert np.array_equal(found[others], right[others])
    assert not np.isfinite(found[4]).all()
    assert np.array_equal(single, found[4], equal_nan=True)


@every_way
def test_the_raw_function_is_silent_where_a_pivot_vanishes(unroll, lanes):
    function = llvm(gimbals(), FALL, unroll=unroll, lanes=lanes).gufunc
    z = np.zeros(3)
    q = changed(np.full((9, 3), 0.3), (3, 1), np.pi / 2)
    with np.errstate(all="raise"):
        found = function(q, z, z)
    assert np.isfinite(np.delete(found, 3, axis=0)).all()


def test_the_raw_function_refuses_sizes_as_numpy_does():
    function = llvm(ARM, FALL).gufunc
    with pytest.raises(ValueError, match="core dimension"):
        function(Q[1:], SPEEDS, FORCES)
    with pytest.raises(TypeError):
        function(Q + 0j, SPEEDS, FORCES)


def test_functions_without_a_raw_one_say_why():
    with pytest.raises(pp.BackendError, match="the backend 'numpy' makes no NumPy function"):
        _ = numpy(ARM, FALL).gufunc
    for expression in (X @ J, 2 * f0):
        with pytest.raises(pp.BackendError, match=r"takes points.*write the points into"):
            _ = llvm(ARM, expression).gufunc
    nothing = pp.ModelBuilder("nothing").build()
    with pytest.raises(pp.BackendError, match="`Mass` has no machine code on 'nothing'"):
        _ = llvm(nothing, Mass).gufunc


# -- how to compile --------------------------------------------------------------------------


@pytest.mark.parametrize("lanes", [0, 3, 16, -1, 2.0, True, "4", [4], np.array([1, 2])], ids=repr)
def test_lanes_are_one_of_four_numbers(lanes):
    with pytest.raises(pp.InputError, match=r"^lanes: expected one of 1, 2, 4, 8, got "):
        llvm(ARM, Mass, lanes=lanes)


@pytest.mark.parametrize("unroll", [1, 0, 1.0, "yes", [], np.array([True, False])], ids=repr)
def test_unroll_is_true_false_or_none(unroll):
    with pytest.raises(pp.InputError, match=r"^unroll: expected True, False or None, got "):
        llvm(ARM, Mass, unroll=unroll)


def test_what_is_too_large_says_so(monkeypatch):
    """To be unrolled because it was asked for; or, rolled, what is done once for a machine."""
    monkeypatch.setattr(machine_code, "FORCED", 10)
    monkeypatch.setattr(looped, "LARGEST", 10)
    q, v = np.full(3, 0.3), np.ones(3)
    message = "is too large to be unrolled: leave unroll to phipsi, or take backend='numpy'$"
    with pytest.raises(pp.BackendError, match=message):
        llvm(follower(), FALL, unroll=True)(q, v, np.ones(4))
    once = PROJECTED.inv @ (s + PROJECTED.inv @ t)
    with pytest.raises(pp.BackendError, match=r"is too large to compile: take backend='numpy'$"):
        llvm(follower(), once, unroll=False)(q, None, v, v)
    assert llvm(follower(), once)(q, None, v, v).shape == (3,)


# -- letters ---------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
@pytest.mark.parametrize("unroll", [True, False])
def test_letters_at_different_numbers_of_points_do_not_meet(backend, unroll):
    """Written into the expression, they are refused at once; else at the call."""
    elbow = pp.point("arm")
    for mixed in (J(TIP) + J(TIP, elbow), X(TIP) @ c(TIP, elbow), B(TIP) @ J(TIP, elbow) @ beta):
        with pytest.raises(pp.InputError, match="mixes letters at different numbers of points"):
            pp.compile(ARM, mixed, backend=backend, unroll=unroll)
    for mixed in (J(TIP) + J, J + J(TIP), X(TIP) @ J, X @ J(TIP), B(TIP) @ J @ beta):
        function = pp.compile(ARM, mixed, backend=backend, unroll=unroll)
        arguments = {"q": Q, "v": SPEEDS}
        with pytest.raises(pp.InputError, match="mixes letters at different numbers of points"):
            function(**arguments, points=[elbow] * 20)
        with pytest.raises(pp.InputError, match="mixes letters at different numbers of points"):
            function.info(points=[elbow] * 20)
        function(**arguments, points=[elbow])


def test_a_letter_cannot_have_the_name_of_an_argument():
    for name in ("q", "v", "points", "out"):
        with pytest.raises(pp.InputError, match=f"the name '{name}' is an argument"):
            scalar(name)
    itself = vector("self", "joint")
    function = llvm(ARM, Mass @ itself)
    assert np.array_equal(function(Q, self=FORCES), function(Q, None, FORCES))
