"""Functions in single precision, against the same in double precision and the interpreter."""

import functools
from dataclasses import replace

import machines
import numpy as np
import pytest
from expressions import FAMILIES
from test_lowering_market import REFUSED, arguments, situation

import phipsi as pp
from benchmarks.digits import QUESTIONS, errors
from phipsi.graph.graph import Graph
from phipsi.lowering.pivots import SHARE
from phipsi.lowering.trace import LIMITS, Checks, check_quaternion
from phipsi.operators import C, Mass, T

FALL = Mass.inv @ (T - C)
WIDTHS = (1, 2, 4, 8, 16)
MEMBERS = 2


def states_of(model, count, seed=0):
    rng = np.random.default_rng(seed)
    q = np.array([model.random(rng) for _ in range(count)])
    v, tau, vdot = rng.normal(size=(3, count, model.nv))
    return {"q": q, "v": v, "tau": tau, "vdot": vdot}


def single(model, expression, **how):
    return pp.compile(model, expression, backend="llvm", dtype=np.float32, **how)


# -- accuracy --------------------------------------------------------------------------------


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda x: x.name)
def test_errors_are_of_the_size_that_is_documented(question):
    """The table of docs/accuracy.md has a few units of 1e-7 for arms."""
    model = pp.examples.puma560()
    found = errors(model, question, states_of(model, 50))
    assert 1e-8 < found.max() < 1e-5


def bundles():
    """Expressions of one family, with machines and ways to run in turn."""
    ways = [{"unroll": False}, {"unroll": False, "lanes": 4}, {"unroll": True, "lanes": 1}]
    names = list(machines.MARKET)
    for i, (family, members) in enumerate(FAMILIES.items()):
        chosen = dict(list(members.items())[:MEMBERS])
        yield names[5 * i % len(names)], family, chosen, ways[i % len(ways)]


def outcome(machine, expression, **how):
    """A value, or the error."""
    model = situation(machine)[0]
    try:
        function = pp.compile(model, expression, **how)
        return function(**arguments(machine, [expression]))
    except (pp.SolveError, pp.InputError, pp.BackendError) as error:
        return error


@pytest.mark.parametrize(("machine", "family", "members", "way"), list(bundles()))
def test_results_agree_with_the_interpreter(machine, family, members, way):
    """To three digits of the largest entry, or the same error; exact where floats would not do."""
    for name, expression in members.items():
        if f"{family}: {name}" in REFUSED:
            continue
        right = outcome(machine, expression, backend="numpy")
        found = outcome(machine, expression, backend="llvm", dtype=np.float32, **way)
        if isinstance(right, Exception):
            assert type(found) is type(right) and str(found) == str(right)
        elif not isinstance(found, pp.BackendError):  # too large to be unrolled
            assert found.dtype == np.float32 and found.shape == right.shape
            size = max(np.abs(right).max(initial=0.0), 1e-2)
            assert np.abs(found - right).max(initial=0.0) < 1e-3 * size
    situation(machine)[0].functions.clear()


# -- widths and ways -------------------------------------------------------------------------


@functools.cache
def falling(lanes, unroll):
    model = pp.examples.puma560()
    states = states_of(model, 37)
    function = single(model, FALL, lanes=lanes, unroll=unroll)
    return function(states["q"], states["v"], states["tau"])


@pytest.mark.parametrize("unroll", [True, False])
def test_all_widths_give_the_same_bits(unroll):
    for lanes in WIDTHS:
        assert np.array_equal(falling(lanes, unroll), falling(1, unroll))


def test_rolled_and_unrolled_code_differ_by_roundoff():
    rolled, unrolled = falling(16, False), falling(16, True)
    size = np.abs(unrolled).max(axis=1, keepdims=True)
    assert 0.0 < (np.abs(rolled - unrolled) / size).max() < 1e-5


@pytest.mark.parametrize("unroll", [True, False])
def test_a_state_has_the_same_bits_alone_and_in_a_batch(unroll):
    model = pp.examples.puma560()
    states, function = states_of(model, 37), single(model, FALL, unroll=unroll)
    q, v, tau = (np.float32(states[x]) for x in ("q", "v", "tau"))
    together = function(q, v, tau)
    assert all(np.array_equal(function(q[k], v[k], tau[k]), together[k]) for k in range(37))


@pytest.mark.parametrize("unroll", [True, False])
def test_a_register_of_floats_holds_twice_as_many(unroll):
    model = pp.examples.puma560()
    lanes = [
        pp.compile(model, FALL, backend="llvm", unroll=unroll, dtype=kind).info().lanes
        for kind in (np.float32, float)
    ]
    assert lanes[0] == 2 * lanes[1]


# -- checks ----------------------------------------------------------------------------------


def test_limits_for_floats_leave_two_digits():
    """And are stricter than those for doubles by more than floats are coarser."""
    floats, doubles = LIMITS["float"], LIMITS["double"]
    coarser = np.finfo(np.float32).eps / np.finfo(float).eps
    assert floats.pivot > coarser * SHARE  # what doubles are held against in the end
    assert floats.singular < doubles.singular / coarser
    for name in ("pivot", "alert", "dense"):
        assert np.finfo(np.float32).eps < 1e-2 * getattr(floats, name) * 2


def test_quaternions_rounded_to_floats_pass():
    """And what passes is a quaternion by the interpreter's measure, too."""
    kind = pp.joints.Spherical()
    graph = Graph()
    q = [graph.input(("q", i)) for i in range(4)]
    checks = Checks(graph, "float")
    check_quaternion(kind, q, checks)
    [condition] = checks.found
    rng = np.random.default_rng(3)
    x = rng.normal(size=(4, 200_000))
    x = np.float32(x / np.linalg.norm(x, axis=0))
    values = {("q", i): x[i] for i in range(4)}
    assert np.all(graph.evaluate([condition], values)[0])
    scaled = np.float32(x * (1.0 + rng.uniform(-1e-6, 1e-6, 200_000)))
    passes = graph.evaluate([condition], {("q", i): scaled[i] for i in range(4)})[0]
    length = np.sum(scaled.astype(float) ** 2, axis=0)
    assert np.all(np.abs(length - 1.0)[passes] <= 1e-6)
    assert 0 < np.count_nonzero(passes) < 200_000


def gimbal():
    builder = pp.ModelBuilder("gimbal")
    builder.add_body("ring", joint=pp.joints.Revolute((0, 0, 1)), mass=0.0)
    builder.add_body("ball", "ring", pp.joints.Revolute((0, 1, 0)), mass=1.0, com=(1, 0, 0))
    return builder.build()


@pytest.mark.parametrize("unroll", [True, False])
def test_what_floats_cannot_tell_is_left_to_doubles(unroll):
    """Nothing resists the ring where the ball is at its axis: D = cos^2 of the angle.

    Beside what the ring moves, D is `far`^2 of it: floats keep two digits down to 3e-3.
    """
    model = gimbal()
    fall = single(model, FALL, unroll=unroll)
    right = pp.compile(model, FALL, backend="numpy")
    for far in (1.0, 1e-2, 4e-3, 1e-3, 1e-4, 1e-5):
        q = np.float32([0.0, np.pi / 2 - far])
        state = q.astype(float), [0.3, 0.2], [1.0, 0.0]
        found, exact = fall(*state), right(*state)
        assert found.dtype == np.float32
        assert np.allclose(found, exact, rtol=3e-2 if far > 3e-3 else 1e-6)
    with pytest.raises(pp.SolveError, match="'ring_joint'"):
        fall([0.0, np.pi / 2], [0.0, 0.0], [1.0, 0.0])


def test_numbers_that_floats_cannot_hold_are_left_to_doubles():
    """Above the bound for floats, though far below that for doubles."""
    model = pp.examples.puma560()
    states = states_of(model, 3)
    v = states["v"] * [[1.0], [1e12], [1.0]]
    found = single(model, FALL)(states["q"], v, states["tau"])
    right = pp.compile(model, FALL, backend="numpy")(states["q"], v, states["tau"])
    assert np.allclose(found, right, rtol=1e-4)


@pytest.mark.parametrize("unroll", [True, False])
def test_a_machine_too_heavy_or_too_light_for_floats_is_refused(unroll):
    for mass, size in ((1e40, "large"), (1e-40, "small")):
        builder = pp.ModelBuilder("star")
        builder.add_body("core", joint=pp.joints.Revolute((0, 0, 1)), mass=mass, com=(1, 0, 0))
        model = builder.build()
        with pytest.raises(pp.BackendError, match=rf"'core'.*too {size} for single.*dtype=float"):
            single(model, Mass, unroll=unroll)([0.0])
        assert pp.compile(model, Mass, backend="llvm", unroll=unroll)([0.0]) == pytest.approx(mass)


@pytest.mark.parametrize("unroll", [True, False])
def test_masses_that_floats_can_hold_have_inverses(unroll):
    """However small beside lengths: every result is finite, and right."""
    for length, mass in ((1e6, 1e-24), (1e-6, 1e-12), (1e3, 1e12)):
        model = pp.chain(3, length=length, mass=mass)
        q = np.float32([0.3, 0.5, -0.4])
        found, right = single(model, Mass.inv, unroll=unroll)(q), pp.compile(model, Mass.inv)(q)
        assert np.abs(found - right).max() < 1e-4 * np.abs(right).max()


@pytest.mark.parametrize("unroll", [True, False])
def test_a_constant_that_is_too_large_is_refused(unroll):
    """Of a machine whose bodies are moderate."""
    model = replace(pp.examples.puma560(), gravity=(0.0, 0.0, -1e39))
    with pytest.raises(pp.BackendError, match=r"-?1e\+39, which follows.*too large.*dtype=float"):
        single(model, C, unroll=unroll)(np.zeros(6), np.zeros(6))
