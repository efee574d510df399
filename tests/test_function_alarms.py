"""States of which machine code complains: computed again, and no others."""

import numpy as np
import pytest
from test_function import FALL, llvm, numpy
from test_function_errors import gimbals

import phipsi as pp
from phipsi.errors import SlowPathWarning
from phipsi.function import function as functions
from phipsi.operators import Mass, beta

KINETIC = 0.5 * (beta.T @ Mass @ beta)


@pytest.mark.parametrize("dtype", [float, np.float32])
@pytest.mark.parametrize("unroll", [True, False])
@pytest.mark.filterwarnings("ignore::phipsi.errors.SlowPathWarning")
def test_only_states_that_alarm_are_computed_again(monkeypatch, unroll, dtype):
    """By the interpreter, of single precision by double: here since they are nearly too large."""
    model = gimbals()
    function = llvm(model, [FALL, KINETIC], unroll=unroll, dtype=dtype)
    rng = np.random.default_rng(3)
    q, v, forces = rng.uniform(-1.0, 1.0, size=(3, 4, 50, 3))
    plain = function(q, v, forces)
    forces[1, 7] = forces[3, 49] = 0.8e60 if dtype is float else 0.8e9
    exact = numpy(model, [FALL, KINETIC])(q, v, forces)
    evaluated = counted_runs(monkeypatch)
    results = function(q, v, forces)
    assert all((x == y)[0].all() for x, y in zip(results, plain, strict=True))
    close = 1e-10 if dtype is float else 2e-5
    for n in np.ndindex(4, 50):
        for found, right in zip(results, exact, strict=True):
            assert np.abs(found[n] - right[n]).max() <= close * (1.0 + np.abs(right[n]).max())
    assert evaluated == ([(2,)] if dtype is float else [])
    alone = function(q[1, 7], v[1, 7], forces[1, 7])
    assert all(np.array_equal(x, y[1, 7]) for x, y in zip(alone, results, strict=True))
    rows = np.empty((4, 50, 3), dtype), np.empty((4, 50), dtype)
    function(q, v, forces, out=rows)
    assert all(map(np.array_equal, rows, results))


# -- results in the memory of arguments --------------------------------------------------------


def rod():
    """A rod that hardly resists a turn about itself: machine code does not decide there."""
    builder = pp.ModelBuilder("rod", strict=False)
    shape = {"mass": 1.0, "com": (0.0, 0.0, 0.5), "inertia": (0.1, 0.1, 1e-13)}
    builder.add_body("rod", joint=pp.joints.Spherical(), **shape)
    return builder.build()


def test_an_argument_that_takes_the_result_is_read_before_it_is_written():
    """Also where machine code has written a result that the interpreter computes again."""
    model = rod()
    q = np.tile(model.neutral(), (5, 1))
    v, tau = np.full((5, 3), 0.2), np.array([[1.0, 2.0, 0.0]] * 5)
    right = pp.forward_dynamics(model, q, v, tau, backend="llvm")
    assert np.abs(right).max() < 10.0
    for place in (0, slice(None)):
        for name in ("v", "tau"):
            given = {"q": q[place].copy(), "v": v[place].copy(), "tau": tau[place].copy()}
            found = pp.forward_dynamics(model, **given, out=given[name], backend="llvm")
            assert found is given[name]
            np.testing.assert_array_equal(found, right[place])
    function = llvm(model, FALL)
    own = tau.copy()
    function(q, v, own, out=own)
    np.testing.assert_array_equal(own, right)


def test_a_singular_state_is_named_although_its_force_takes_the_result():
    model = gimbals()
    q = np.full((4, 3), 0.3)
    q[2, 1] = np.pi / 2
    v, tau = np.zeros((4, 3)), np.ones((4, 3))
    with pytest.raises(pp.SolveError, match="z_joint"):
        pp.forward_dynamics(model, q, v, tau, out=tau, backend="llvm")


def counted_runs(monkeypatch):
    """A list that grows by a batch whenever the interpreter runs."""
    runs, interpret = [], functions.evaluate

    def counted(program, machine, inputs):
        runs.append(inputs.batch)
        return interpret(program, machine, inputs)

    monkeypatch.setattr(functions, "evaluate", counted)
    return runs


@pytest.mark.parametrize("unroll", [True, False])
def test_machine_code_looks_more_closely_where_doubts_are_frequent(monkeypatch, unroll):
    """And then it decides: it answers, or names what is singular."""
    model = gimbals()
    function, runs = llvm(model, FALL, unroll=unroll), counted_runs(monkeypatch)
    near, v, tau = (
        np.array([0.3, np.pi / 2 - 4e-6, 0.3]),
        np.full(3, 0.2),
        np.array([1.0, 2.0, 0.0]),
    )
    results = [function(near, v, tau) for _ in range(functions.DOUBTS + 5)]
    assert len(runs) == functions.DOUBTS
    exact = numpy(model, FALL)(near, v, tau)
    assert all(np.abs(x - exact).max() < 1e-9 * np.abs(exact).max() for x in results)
    with pytest.raises(pp.SolveError, match="z_joint"):
        function([0.3, np.pi / 2, 0.3], v, tau)
    ordinary = np.array([0.3, 0.2, 0.1])
    assert np.allclose(function(ordinary, v, tau), numpy(model, FALL)(ordinary, v, tau), rtol=1e-12)


def test_states_left_to_the_interpreter_are_told_once_and_at_the_users_line():
    function = llvm(gimbals(), FALL)
    q, v, tau = gimbals().neutral() + 0.3, np.full(3, 0.2), np.full(3, 0.8e60)
    with pytest.warns(SlowPathWarning, match="leaves states to the interpreter") as told:
        for _ in range(functions.DOUBTS + 3):
            function(q, v, tau)
    assert len(told) == 1 and told[0].filename == __file__
