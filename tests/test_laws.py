"""Control laws as operator expressions: what they mean, over time, in batches; what is none."""

import importlib

import machines
import numpy as np
import pytest
from machines import MARKET
from numpy.testing import assert_allclose, assert_array_equal

import phipsi as pp
from phipsi.algebra.rewriting.normal import are_equal
from phipsi.backends.disk.identity import of_expressions
from phipsi.graph.graph import Graph
from phipsi.operators import (
    C,
    H,
    I,
    J,
    K,
    M,
    Mass,
    S_q,
    T,
    U,
    V,
    X,
    beta,
    operator,
    phi,
    psi,
    scalar,
    vector,
)
from phipsi.simulate.control import ComputedTorque, EachStep, Feedback, Law
from phipsi.simulate.vectors import Numbers

pytestmark = pytest.mark.usefixtures("as_for_users")

u, w = vector("u", "joint"), vector("w", "point")
A, N = operator("A", "joint", "joint"), operator("N", "coordinate", "coordinate")
e, k = vector("e", "coordinate"), scalar("k")


@pytest.fixture(scope="module")
def puma():
    return pp.examples.puma560()


# -- what they mean --------------------------------------------------------------------------


def laws(model):
    """Of a machine: laws, and what they should give at a state, by functions of daily work."""
    rng = np.random.default_rng(0)
    n, tip = model.nv, pp.point(model.bodies[-1].name, (0.1, 0.2, 0.3))
    target = pp.integrate(model, model.neutral(), rng.uniform(-0.3, 0.3, n))
    gain, wrench, matrix = rng.uniform(1.0, 2.0, n), rng.normal(size=6), rng.normal(size=(n, n))
    sizes = [x.kind.nv for x in model.joints]
    blocks = [rng.normal(size=(m, m)) for m in sizes]
    spread = pp.as_matrix(model, S_q, model.neutral())
    whole = np.zeros((sum(sizes),) * 2)
    for start, block in zip(np.cumsum([0, *sizes]), blocks, strict=False):
        whole[start : start + len(block), start : start + len(block)] = block

    def error(q, v):
        return gain * pp.difference(model, q, target) - 0.5 * v

    feedback = Feedback(gain, 0.5, target)
    return {
        "text": (Law("Mass T + C", T=feedback), lambda q, v: _inverse(model, q, v, error(q, v))),
        "points": (
            Law((X(tip) @ J(tip)).T @ w, w=wrench),
            lambda q, v: pp.jacobian(model, q, [tip], backend="numpy").T @ wrench,
        ),
        "a matrix": (Law(N @ e, N=[matrix], e=feedback), lambda q, v: matrix @ error(q, v)),
        "blocks": (Law(A @ beta, A=blocks), lambda q, v: spread.T @ whole @ spread @ v),
        "a number": (
            Law(-k * (H @ phi @ M @ V), k=0.3),
            lambda q, v: -0.3 * (pp.mass_matrix(model, q, backend="numpy") @ v),
        ),
    }


def _inverse(model, q, v, vdot):
    return pp.inverse_dynamics(model, q, v, vdot, backend="numpy")


@pytest.mark.parametrize(("name", "backend"), [("serial_multidof", "numpy"), ("mimics", "llvm")])
@pytest.mark.parametrize("law", laws(pp.examples.planar_arm(1)))
def test_a_law_is_the_function_that_it_stands_for(name, backend, law):
    """In steps that ask once, at their beginning, both give the same motion, and tau."""
    model = MARKET[name]()
    q, v = machines.random_state(model, np.random.default_rng(1))
    expression, function = laws(model)[law]
    how = {"integrator": "euler", "dt": 1e-3, "losses": False, "backend": backend}
    ours = pp.simulate(model, q, 0.1 * v, 0.005, control=expression, **how)
    theirs = pp.simulate(model, q, 0.1 * v, 0.005, control=lambda t, q, v: function(q, v), **how)
    assert_allclose(ours.q, theirs.q, atol=1e-12)
    assert_allclose(ours.v, theirs.v, atol=1e-10 * np.abs(theirs.v).max())
    scale = np.abs(theirs.tau).max()
    assert scale > 0.1
    assert_allclose(ours.tau[:-1], theirs.tau[:-1], atol=1e-11 * scale)


def test_forces_that_do_no_work_leave_the_energy():
    """tau = N v, N skew."""
    arm, skew = pp.examples.planar_arm(2), np.array([[0.0, 3.0], [-3.0, 0.0]])
    law = Law(N @ S_q.T @ beta, N=[skew])
    run = pp.simulate(arm, [0.3, 0.4], [1.0, 2.0], 1.0, control=law, integrator="midpoint", dt=0.01)
    assert np.ptp(run.energy) < 1e-12 * np.abs(run.energy).max()
    free = pp.simulate(arm, [0.3, 0.4], [1.0, 2.0], 1.0, integrator="midpoint", dt=0.01)
    assert np.abs(run.q - free.q).max() > 0.5


def test_speeds_fall_off_exponentially_under_the_law_that_says_so(puma):
    """tau = C - k Mass v makes v' = -k v, of all joints alike."""
    law, v = Law(C - k * (Mass @ beta), k=2.0), np.linspace(-1.0, 1.0, 6)
    run = pp.simulate(puma, puma.neutral(), v, 1.0, control=law, dt=5e-3, limits=False)
    assert_allclose(run.v, np.exp(-2.0 * run.times)[:, None] * v, atol=1e-9)


def test_an_expression_without_free_letters_is_a_law_as_it_is(puma):
    """Bare or as text, in simulations and in rollouts: tau = C leaves the speeds alone."""
    v = np.linspace(-1.0, 1.0, 6)
    for control in (C, "C"):
        run = pp.simulate(puma, puma.neutral(), v, 0.1, control=control, limits=False)
        assert_allclose(run.v, np.broadcast_to(v, run.v.shape), atol=1e-10)
        many = pp.rollout(puma, puma.neutral(), v, control, 1e-3, 100, limits=False)
        assert_array_equal(many.v, run.v)


def test_computed_torque_is_its_equation(puma):
    """Mass u + C, written by the user, does what the law of that name does."""
    target = 0.3 * np.ones(6)
    mine = Law(Mass @ u + C, u=Feedback(100.0, 20.0, target))
    runs = [
        pp.simulate(puma, puma.neutral(), duration=0.2, control=law, limits=False)
        for law in (mine, ComputedTorque(100.0, 20.0, target))
    ]
    assert_allclose(runs[0].q, runs[1].q, atol=1e-12)


# -- over time -------------------------------------------------------------------------------


def test_values_for_each_step_are_rows_of_tau(arm):
    """Bit by bit, however many steps are kept; for a batch as well."""
    rows = np.random.default_rng(2).normal(size=(5, 40, arm.nv))
    q = np.random.default_rng(3).normal(size=(5, arm.nv))
    for every in (1, 7):
        theirs = pp.rollout(arm, q, None, rows, 1e-3, 40, every=every)
        ours = pp.rollout(arm, q, None, Law(T, T=EachStep(rows)), 1e-3, 40, every=every)
        assert_array_equal(ours.q, theirs.q)
        assert_array_equal(ours.v, theirs.v)


def test_functions_of_time_are_asked_at_the_beginning_of_each_step(arm):
    def pulse(t):
        return [np.sin(30.0 * t), 0.0]

    law, rows = Law(T, T=pulse), [pulse(1e-3 * n) for n in range(50)]
    ours = pp.simulate(arm, [0.1, 0.2], duration=0.05, control=law)
    theirs = pp.simulate(arm, [0.1, 0.2], duration=0.05, control=np.array(rows))
    assert_array_equal(ours.q, theirs.q)
    assert_array_equal(ours.tau[:-1], theirs.tau[:-1])
    by_arrays = pp.simulate(arm, [0.1, 0.2], duration=0.05, control=law, backend="numpy")
    assert_allclose(by_arrays.q, ours.q, atol=1e-13)


def test_steps_that_choose_their_length_ask_at_every_stage(arm):
    """As they ask a function of control."""
    law = Law(T, T=lambda t: [np.sin(30.0 * t), t])
    how = {"duration": 0.1, "integrator": "dopri", "dt": 0.01}
    ours = pp.simulate(arm, [0.1, 0.2], control=law, **how)
    theirs = pp.simulate(arm, [0.1, 0.2], control=lambda t, q, v: [np.sin(30.0 * t), t], **how)
    assert_allclose(ours.q, theirs.q, atol=1e-13)
    assert_allclose(ours.tau, theirs.tau, atol=1e-13)


def test_targets_move(puma):
    """Computed torque with a target, speeds and accelerations of a motion stays on it."""
    c, s = (lambda t: 0.2 * np.cos(t) * np.ones(6)), (lambda t: 0.2 * np.sin(t) * np.ones(6))
    law = ComputedTorque(400.0, 40.0, s, c, lambda t: -s(t))
    run = pp.simulate(puma, s(0.0), c(0.0), 1.0, control=law, limits=False, dt=1e-3)
    assert np.abs(run.q - np.array([s(t) for t in run.times])).max() < 1e-3


def test_where_a_law_with_rows_runs_away_is_said(arm):
    """The step is found again among the rows that varied."""
    rows = np.zeros((20, 2))
    rows[13] = 1e50
    with pytest.raises(pp.SolveError, match=r"at t = 0\.01"):
        pp.rollout(arm, [0.0, 0.0], None, Law(T, T=EachStep(rows)), 1e-3, 20, limits=False)


def test_values_have_batches(arm):
    """One rollout compares many of them, each as it would be alone."""
    gains = np.array([0.0, 1.0, 5.0])
    law = Law(-k * beta, k=gains)
    together = pp.rollout(arm, [0.1, 0.2], [1.0, 1.0], law, 1e-3, 30)
    assert together.q.shape == (3, 31, 2)
    for i, gain in enumerate(gains):
        alone = pp.rollout(arm, [0.1, 0.2], [1.0, 1.0], Law(-k * beta, k=gain), 1e-3, 30)
        assert_array_equal(together.q[i], alone.q)


# -- as text ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("Mass u + C", {"u": Feedback(1.0)}, Mass @ u + C),
        ("u - k beta", {"u": [1.0, 2.0], "k": 0.5}, u - k * beta),
        ("e", {"e": Feedback(1.0)}, vector("e", "joint")),
        ("S_q* u + N e", {"u": [1.0, 2.0], "e": [0.0, 0.0], "N": [np.eye(2)]}, S_q.T @ u + N @ e),
        ("k beta", {"k": lambda t: t}, k * beta),
        ("J('link2')' w", {"w": np.zeros(6)}, J("link2").T @ w),
        ("H x", {"x": EachStep(np.zeros((5, 12)))}, H @ vector("x", "body")),
        ("Mass a", {"a": [1.0, 2.0]}, Mass @ vector("a", "joint")),
        ("T - C", {"T": [1.0, 2.0]}, T - C),
    ],
)
def test_letters_of_a_text_that_have_values_are_of_the_space_that_fits(text, values, expected):
    symbols = [N] if "N" in values else ()
    assert Law(text, symbols=symbols, **values).expression == expected


def test_a_text_is_read_in_the_notation_of_a_paper():
    law = Law("Mass u - T_hat", notation="002", u=[1.0, 2.0], T=[0.0, 0.0])
    assert law.expression == Mass @ u - (T - C)


@pytest.mark.parametrize(
    ("text", "values", "error", "message"),
    [
        ("k u", {"k": [1.0], "u": [1.0]}, pp.InputError, r'k may be a vector or.*scalar\("k"\)'),
        ("A beta", {"A": np.eye(2)}, pp.InputError, r"A is read as a number.* a matrix; pass sym"),
        ("A beta", {"A": [np.eye(2), [1.0]]}, pp.InputError, r"A is read as a number"),
        ("Mass x M", {"x": [1.0]}, pp.SpaceError, r"No space of x fits; pass symbols="),
        ("C", {"x": [1.0]}, pp.InputError, r"`C` has no free letter 'x'"),
        ("x", {x: [1.0] for x in "xyzu"}, pp.InputError, r"too many letters.* pass x by sym"),
        ("x", {"symbols": [3]}, pp.InputError, r"control: symbols: expected symbols"),
        ("x", {"notation": "9"}, pp.InputError, r"control: notation: unknown '9'"),
    ],
)
def test_letters_of_a_text_that_fit_nowhere_are_refused(text, values, error, message):
    with pytest.raises(error, match=message):
        Law(text, **values)


# -- what is none ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Mass, pp.SpaceError, r"`Mass` maps joint space to joint space\n  Joint forces"),
        (lambda: V, pp.SpaceError, r"`V` is a vector of body space\n  Joint forces are a vector"),
        (lambda: U, pp.SpaceError, r"`U` is a vector of"),
        (lambda: "Mass (", pp.InputError, r"control: (.|\n)*Mass \("),
        (lambda: "Mass V", pp.SpaceError, r"control: cannot compose"),
        (lambda: T - C, pp.InputError, r"needs a value for T, a vector of joint space: write"),
        (lambda: Law(3.0), pp.InputError, r"expected an expression, or its text, got float"),
        (lambda: Law(C, x=1.0), pp.InputError, r"`C` has no free letter 'x'"),
        (lambda: Law(J.T @ w, w=[0.0] * 6), pp.InputError, r"write them into it, as J\(pp.point"),
        (lambda: Law(k * C, k=Feedback()), pp.InputError, r"Feedback is a vector .* k is a number"),
        (lambda: Law(T, T=[1.0]), pp.InputError, r"T has shape \(1,\); expected \(\*batch, 2\)"),
        (lambda: Law(T, T=[1j, 0.0]), pp.InputError, r"T: expected real numbers"),
        (lambda: Law(T, T=EachStep([1.0, 2.0])), pp.InputError, r"EachStep has shape \(2,\)"),
        (lambda: Law(T, T=EachStep(np.ones((3, 2)))), pp.InputError, r"3 rows; expected 5, one"),
        (lambda: Law(T, T=lambda t: [t]), pp.InputError, r"T has shape \(1,\)"),
        (
            lambda: Law(T, T=lambda t: np.ones((2 if t else 1, 2))),
            pp.InputError,
            r"T: at t = 0.001 s the function returned .* expected the shape that it had at t = 0",
        ),
        (lambda: Law(J("nowhere").T @ w, w=[0.0] * 6), pp.InputError, r"nowhere"),
    ],
)
def test_what_is_no_law_is_refused(arm, make, error, message):
    with pytest.raises(error, match=message):
        pp.simulate(arm, [0.0, 0.0], duration=0.005, control=make())


def test_rows_have_no_meaning_where_steps_choose_their_length(arm):
    law = Law(T, T=EachStep(np.ones((100, 2))))
    with pytest.raises(pp.InputError, match=r"'dopri' takes steps of its own, so a row of T"):
        pp.simulate(arm, [0.0, 0.0], duration=0.1, control=law, integrator="dopri")


def test_a_law_says_its_equation():
    assert repr(Law(C)) == "<Law: tau = C>"
    assert repr(pp.control.GravityCompensation()).startswith("<GravityCompensation: tau = ")


# -- what is kept of them ------------------------------------------------------------------------


SAME_AND_NOT = [
    Mass @ Mass.inv @ u,
    u,
    Mass.inv @ Mass @ u,
    (I - H @ psi @ K) @ (I + H @ phi @ K) @ u,
    Mass @ u,
    H @ phi @ M @ phi.T @ H.T @ u,
    u + C,
]


def steps_of(law, model, monkeypatch):
    """The expressions that steps with a law are compiled from."""
    functions = []

    def watched(*arguments, **named):
        functions.append(compile_(*arguments, **named))
        return functions[-1]

    mechanisms = importlib.import_module("phipsi.simulate.machines")
    compile_ = mechanisms.compile
    monkeypatch.setattr(mechanisms, "compile", watched)
    graph = Graph()
    q, v, given = (Numbers(graph.input((x, i)) for i in range(model.nv)) for x in "qvu")
    law.force(mechanisms.NodeMechanism(model, graph), q, v, {"law.u": given})
    monkeypatch.undo()
    return functions[-1].program.expressions


@pytest.mark.parametrize("line", SAME_AND_NOT, ids=str)
def test_records_of_steps_name_the_program_that_is_compiled(line, monkeypatch):
    model = pp.chain(3)
    law = Law(line, u=[0.3, 0.2, 0.1])
    (about, *_), *_ = law.told(model)
    assert about == of_expressions(steps_of(law, model, monkeypatch))


def test_laws_of_one_record_take_the_same_steps(monkeypatch):
    model = pp.chain(3)
    found = {}
    for line in SAME_AND_NOT:
        law = Law(line, u=[0.3, 0.2, 0.1])
        steps = steps_of(law, model, monkeypatch)
        assert found.setdefault(repr(law.told(model)), steps) == steps
    assert len(found) < len(SAME_AND_NOT)  # some are the same, by the identities


def test_identities_of_the_user_reach_laws(monkeypatch):
    model, law = pp.chain(3), Law(Mass @ u, u=[0.3, 0.2, 0.1])
    before = law.told(model)
    pp.add_identity("light", Mass @ u, 2 * u)
    try:
        assert law.told(model) != before
        (found,) = steps_of(law, model, monkeypatch)
        assert are_equal(found, 2 * S_q.T @ u)
    finally:
        pp.forget_identity("light")
    assert law.told(model) == before
