"""pp.compile: what a function takes, gives, shows and refuses."""

import ctypes
import gc
import pickle
import weakref
from dataclasses import replace

import numpy as np
import pytest

import phipsi as pp
from phipsi.backends.kernel import write_kernel
from phipsi.backends.llvm import Code, Target, compile_object
from phipsi.backends.sequence import trace_job
from phipsi.compile import make_program, rewrite_expressions
from phipsi.function import Function
from phipsi.function.call import Options
from phipsi.operators import HH, C, J, Mass, S_q, T, U, V, X, beta, beta_dot, f0, phi, vector

ARM = pp.examples.puma560()
Q, SPEEDS = ARM.random(np.random.default_rng(1)), np.linspace(-1.0, 1.0, 6)
TIP = pp.point("link6", (0.0, 0.0, 0.1))
w = vector("w", "joint")


# -- arguments -------------------------------------------------------------------------


def test_inputs_are_q_v_the_free_letters_in_order_and_points():
    assert pp.compile(ARM, Mass).inputs == ("q", "v")
    assert pp.compile(ARM, w + T + Mass @ beta_dot).inputs == ("q", "v", "w", "T", "beta_dot")
    assert pp.compile(ARM, J.T @ f0).inputs == ("q", "v", "f0", "points")
    assert pp.compile(ARM, J(TIP).T @ f0).inputs == ("q", "v", "f0")
    assert pp.compile(ARM, [T, w]).inputs == ("q", "v", "T", "w")


def test_arguments_by_place_and_by_name_are_the_same():
    fall = pp.compile(ARM, Mass.inv @ (T - C))
    by_place = fall(Q, SPEEDS, np.ones(6))
    assert np.array_equal(by_place, fall(T=np.ones(6), v=SPEEDS, q=Q))
    assert np.array_equal(by_place, fall(Q, T=np.ones(6), v=SPEEDS))


def test_speeds_may_be_left_out_where_none_appear():
    inertia = pp.compile(ARM, Mass)
    assert np.array_equal(inertia(Q), inertia(Q, None))
    assert np.array_equal(inertia(Q), inertia(Q, SPEEDS))


def test_several_expressions_give_a_tuple_and_one_an_array():
    matrix, bias = pp.compile(ARM, [Mass, C])(Q, SPEEDS)
    assert matrix.shape == (6, 6) and bias.shape == (6,)
    assert isinstance(pp.compile(ARM, [Mass])(Q), tuple)
    assert pp.compile(ARM, U)(Q).shape == ()


def test_results_are_the_callers_own():
    inertia = pp.compile(ARM, Mass)
    first = inertia(Q)
    first[:] = 0.0
    assert inertia(Q)[0, 0] > 0.0


# -- what is shown -----------------------------------------------------------------------


def test_function_shows_its_loops_as_formulas():
    text = str(pp.compile(ARM, V))
    assert text.splitlines() == [
        "for k base_to_tip:",
        "    beta = speeds()",
        "    q = coordinates()",
        "    X = transform(q)",
        "    H* = joint_map(X)",
        "    x1 = H* @ beta",
        "    x2 = phi* @ V[p]",
        "    V = x1 + x2",
        "    output 0 += V",
    ]


def test_repr_says_what_goes_in_and_what_comes_out():
    text = repr(pp.compile(ARM, Mass.inv @ (T - C)))
    assert text == "<Function (q, v, T) -> Mass.inv @ (T - C) of 'Puma 560'>"


def test_pushes_gathers_columns_and_scales_are_shown():
    assert "p.x" in str(pp.compile(ARM, phi @ V))
    assert "for each column: " in str(pp.compile(ARM, Mass))
    assert "for each pair: " in str(pp.compile(ARM, Mass.inv))
    assert "0.5 * " in str(pp.compile(ARM, 0.5 * V))
    assert "= -" in str(pp.compile(ARM, -(phi @ V)))
    assert "* @ V" in str(pp.compile(ARM, V.T @ V))
    assert "B* @ " in str(pp.compile(ARM, X(TIP) @ J(TIP) @ beta))


def test_info_counts():
    info = pp.compile(pp.chain(10), Mass.inv @ (T - C)).info()
    assert info.sweeps == 3 and info.sincos == 20
    assert 0 < info.flops < 10 * 500 and 0 < info.stored_per_body <= 24


@pytest.mark.parametrize("expression", [U, V.T @ V, [C, U], 0.5 * beta.T @ Mass @ beta], ids=str)
def test_info_of_scalars(expression):
    assert pp.compile(ARM, expression).info().flops > 0


def test_info_of_letters_at_points_depends_on_the_points():
    compliance = pp.compile(ARM, J @ Mass.inv @ J.T)
    near, far = (compliance.info(points=[name]).flops for name in ("link1", "link6"))
    assert near < far
    with pytest.raises(pp.InputError, match="depends on points: pass points"):
        compliance.info()


# -- life --------------------------------------------------------------------------------


def test_function_is_made_once_for_each_model():
    assert pp.compile(ARM, Mass @ beta) is pp.compile(ARM, Mass @ beta)
    assert pp.compile(ARM, Mass) is not pp.compile(pp.examples.puma560(), Mass)


def test_function_dies_with_its_model():
    model = pp.chain(2)
    watched = weakref.ref(pp.compile(model, Mass))
    del model
    gc.collect()
    assert watched() is None


def test_model_with_functions_can_be_pickled():
    model = pp.chain(2)
    before = pp.compile(model, Mass)([0.1, 0.2])
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(pp.compile(again, Mass)([0.1, 0.2]), before)


# -- refusals ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pp.compile("arm", Mass), "model: expected a Model, got str"),
        (lambda: pp.compile(ARM, 3), "expected an expression, or a list of several, got int"),
        (lambda: pp.compile(ARM, {Mass, C}), "or a list of several, got set"),
        (lambda: pp.compile(ARM, []), "expected an expression or several, got none"),
        (
            lambda: pp.compile(ARM, [Mass, 3]),
            "compile: expected an expression, or its text, got int",
        ),
        (lambda: pp.compile(ARM, pp.operators.I), "the space of `I` is open"),
        (lambda: pp.compile(ARM, Mass, backend="fortran"), "backend: unknown 'fortran'"),
        (lambda: pp.compile(ARM, J(pp.point("nope"))), "'Puma 560' has no frame 'nope'"),
        (lambda: pp.compile(ARM, HH("elbow")), "has no joint or body 'elbow'"),
        (lambda: pp.compile(ARM, HH(9)), "no joint 9; expected a name or a number from 0 to 5"),
        (lambda: pp.compile(ARM, HH), "belong to a joint and one of its speeds"),
        (
            lambda: pp.compile(ARM, vector("x", "joint") + S_q @ vector("x", "coordinate")),
            "two symbols are called 'x'",
        ),
    ],
)
def test_what_cannot_be_compiled_is_refused_at_once(call, message):
    with pytest.raises(pp.InputError, match=message.replace("(", r"\(").replace(")", r"\)")):
        call()


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        ((), {}, "needs the configuration: pass q"),
        ((Q, SPEEDS, np.ones(6), 1, 2), {}, "5 arguments for .*; expected q, v, T"),
        ((Q, SPEEDS, np.ones(6)), {"T": 1}, "T is given twice, by place and by name"),
        ((Q, SPEEDS), {}, "needs a value for T, a vector of joint space: pass T="),
        ((Q,), {"T": np.ones(6)}, "depends on the speeds: pass v="),
        ((Q, SPEEDS), {"T": np.ones(6), "tau": 1}, "has no argument 'tau'"),
        ((Q, SPEEDS, np.ones(5)), {}, r"T has shape \(5,\)"),
        ((Q, SPEEDS, np.full(6, np.nan)), {}, r"T\[0\] is nan; expected finite numbers"),
    ],
)
def test_what_a_function_cannot_take_is_named(arguments, named, message):
    with pytest.raises(pp.InputError, match=message):
        pp.compile(ARM, Mass.inv @ (T - C))(*arguments, **named)


def test_compile_is_its_stages_one_after_the_other():
    """From text to the numbers of one state, each stage by hand: the same bits."""
    arm, text = pp.examples.planar_arm(2), "inv(Mass) (T - C)"
    numbers = [np.array(x) for x in ([0.3, -0.4], [1.0, 2.0], [0.5, 0.1])]
    expression = pp.parse(text)
    (cheapest,) = rewrite_expressions([expression], arm)
    program = make_program([cheapest])
    function = Function(arm, (expression,), False, program, Options())
    graph = trace_job(function.job(), 10_000)
    kernel = write_kernel(graph, 1)
    target = replace(Target.host(), lanes=1)
    code = Code(compile_object(kernel.text, target), target)
    work, result = np.zeros(max(1, kernel.work)), np.zeros(2)
    places = [(ctypes.c_void_p * len(x))(*(y.ctypes.data for y in x)) for x in (numbers, [result])]
    run = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4)(code.address("kernel"))
    assert run(*places, work.ctypes.data, None) == 0
    assert np.array_equal(result, pp.compile(arm, text, backend="llvm")(*numbers))
