"""Products of Jacobians with vectors: against the complex step through the interpreter, which
shares nothing with the differentiation of graphs, and against each other."""

import copy
import pickle

import machines
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from symbols import STEP, A, k, y
from test_function import FALL, arm, as_tuple, check, llvm, numpy, states
from test_function_errors import PROJECTED, follower, s, t

import phipsi as pp
from phipsi.backends import looped, machine_code
from phipsi.errors import BackendError, InputError, SlowPathWarning, SolveError
from phipsi.function import derivative
from phipsi.operators import C, J, Mass, T, U, V, X, beta, phi, psi

KINETIC = 0.5 * (beta.T @ Mass @ beta)


def slopes_of(model, expression, q, others, dq, directions, **passed):
    """`J t` by a complex step: derivatives to the last digits, by arithmetic of the interpreter."""
    moved = pp.integrate(model, q, 1j * STEP * np.asarray(dq))
    arguments = {name: x + 1j * STEP * directions[name] for name, x in others.items()}
    results = as_tuple(numpy(model, expression)(moved, **arguments, **passed))
    return [np.imag(x) / STEP for x in results]


def directions_of(arrays, seed=1):
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=np.shape(x)) for name, x in arrays.items()}


def check_products(model, expression, *, backend="llvm", seed=0, points=None):
    """J t against the complex step; w . J t against t . J* w."""
    q, v, forces = states(model, seed=seed)
    function = pp.compile(model, expression, backend=backend)
    others = {"v": v} if "v" in function.varying else {}
    others |= {"T": forces} if "T" in function.varying else {}
    along = directions_of(others, seed + 1)
    dq = np.random.default_rng(seed + 2).normal(size=model.nv)
    passed = {} if points is None else {"points": points}
    products = as_tuple(
        function.jvp(q, **others, **passed, dq=dq, **{f"d{x}": y for x, y in along.items()})
    )
    expected = slopes_of(model, expression, q, others, dq, along, **passed)
    for found, right in zip(products, expected, strict=True):
        check(found, right)
    weights = [np.random.default_rng(seed + 3).normal(size=np.shape(x)) for x in products]
    gradients = function.vjp(
        q, **others, **passed, **dict(zip(function.vjp.added, weights, strict=True))
    )
    directions = {"q": dq, **along}
    assert [x.shape for x in gradients] == [directions[x].shape for x in function.varying]
    pairs = zip(gradients, (directions[x] for x in function.varying), strict=True)
    terms = [float(np.sum(x * y)) for x, y in pairs]
    sides = sum(terms), sum(float(np.sum(w * x)) for w, x in zip(weights, products, strict=True))
    assert abs(sides[0] - sides[1]) <= 1e-11 * (1.0 + sum(map(abs, terms)))


@pytest.mark.parametrize("name", machines.MARKET)
def test_products_agree_with_the_complex_step_on_every_machine(name):
    check_products(machines.MARKET[name](), FALL, backend="numpy")


EXPRESSIONS = {
    "forward dynamics": FALL,
    "inverse dynamics": Mass @ T + C,
    "mass matrix": Mass,
    "inverse": Mass.inv,
    "kinetic energy": KINETIC,
    "potential energy": U,
    "poses": X,
    "velocities": V,
    "articulated": psi @ phi.inv,
    "several": (FALL, KINETIC, Mass),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_products_of_machine_code_agree_with_the_complex_step(name):
    check_products(arm(), EXPRESSIONS[name], points=[pp.point("tool")] if name == "poses" else None)


@settings(max_examples=15, deadline=None)
@given(machine=machines.machines(max_bodies=5), seed=st.integers(0, 1000))
def test_products_of_random_machines(machine, seed):
    check_products(machine, FALL, backend="numpy", seed=seed)


def test_points_and_batches():
    model = arm()
    q, _, _ = states(model, 9)
    dq = np.random.default_rng(3).normal(size=model.nv)
    points = [pp.point("tool", (0.1, 0.2, 0.3)), pp.point("arm")]
    function = llvm(model, J)
    found = function.jvp(q, points=points, dq=dq)
    for one, expected in zip(q, found, strict=True):
        (right,) = slopes_of(model, J, one, {}, dq, {}, points=points)
        check(expected, right)
    weights = np.random.default_rng(4).normal(size=found.shape)
    (gradient,) = function.vjp(q, points=points, w=weights)
    assert gradient.shape == (9, model.nv)
    check(gradient @ dq, np.sum(weights * found, axis=(-1, -2)))


def test_arguments_broadcast_and_have_names():
    model = arm()
    q, v, forces = states(model, 3)
    function = llvm(model, FALL)
    assert function.jvp.inputs == ("q", "v", "T", "dq", "dv", "dT")
    assert function.vjp.inputs == ("q", "v", "T", "w")
    one = np.ones(model.nv)
    by_place = function.jvp(q, v[0], forces[0], one, np.zeros(model.nv), np.zeros(len(forces[0])))
    check(function.jvp(q, v[0], T=forces[0], dq=one), by_place)
    out = np.empty((3, model.nv))
    assert function.jvp(q, v[0], forces[0], dq=one, out=out) is out
    check(out, by_place)
    gradients = function.vjp(q[0], v[0], forces[0], np.ones((5, model.nv)))
    assert [x.shape for x in gradients] == [(5, model.nv)] * 2 + [(5, len(forces[0]))]
    assert isinstance(llvm(model, [U]).jvp(q, dq=one), tuple)
    assert llvm(model, U).jvp(q, dq=one).shape == (3,)
    without_speeds = llvm(model, Mass @ y)
    assert without_speeds.varying == ("q", "y")
    assert without_speeds.jvp(q, None, one, one, one).shape == (3, model.nv)
    assert [x.shape for x in without_speeds.vjp(q, None, one, one)] == [(3, model.nv)] * 2


def test_operators_and_numbers_are_differentiated_by_their_entries():
    """k A phi is linear in k and in A: derivatives are the expression itself."""
    model = arm()
    q, _, _ = states(model)
    rng = np.random.default_rng(5)
    blocks = [rng.normal(size=(6, 6)) for _ in model.bodies]
    function = llvm(model, k * A @ phi)
    plain = function(q, k=2.0, A=blocks)
    flat = np.concatenate([x.reshape(-1) for x in blocks])
    check(function.jvp(q, k=2.0, A=blocks, dk=1.0), plain / 2.0)
    check(function.jvp(q, k=2.0, A=blocks, dA=flat), plain)
    weights = rng.normal(size=plain.shape)
    by_q, by_k, by_A = function.vjp(q, k=2.0, A=blocks, w=weights)
    assert by_q.shape == (model.nv,) and by_A.shape == flat.shape
    check(by_k, np.sum(weights * plain) / 2.0)
    check(by_A @ flat, np.sum(weights * plain))


def test_derivatives_have_derivatives():
    """Second derivatives are symmetric, and those of the potential energy by a complex step."""
    model = arm()
    q, _, _ = states(model)
    rng = np.random.default_rng(6)
    a, b = rng.normal(size=(2, model.nv))
    gradient = llvm(model, U).vjp
    assert gradient.jvp.inputs == ("q", "v", "w", "dq", "dw")
    flat = llvm(pp.chain(4), U).vjp
    q = rng.normal(size=4)
    a, b = rng.normal(size=(2, 4))
    (along_a,), (along_b,) = (flat.jvp(q, w=1.0, dq=x) for x in (a, b))
    check(along_a @ b, along_b @ a)
    step = 1e-5
    (ahead,), (behind,) = (flat(q + s * a, w=1.0) for s in (step, -step))
    assert np.allclose(along_a, (ahead - behind) / (2 * step), rtol=1e-8, atol=1e-8)


def test_names_that_are_taken_grow():
    from phipsi.operators import vector

    model = pp.chain(2)
    function = llvm(model, Mass @ vector("dq", "joint") + vector("w", "joint"))
    assert function.jvp.inputs == ("q", "v", "dq", "w", "dq_", "ddq", "dw")
    assert function.vjp.inputs == ("q", "v", "dq", "w", "w_")
    one = np.ones(2)
    check(function.jvp([0.1, 0.2], dq=one, w=one, ddq=one), pp.mass_matrix(model, [0.1, 0.2]) @ one)


def test_backends_agree_and_functions_travel():
    model = arm()
    q, v, forces = states(model, 4)
    w = np.ones(model.nv)
    typed = {"rewrite": False}  # rewritten for either backend, it may be two expressions
    compiled, interpreted = llvm(model, FALL, **typed).vjp, numpy(model, FALL, **typed).vjp
    for x, z in zip(compiled(q, v, forces, w), interpreted(q, v, forces, w), strict=True):
        check(x, z)
    assert (compiled.info().path, interpreted.info().path) == ("unrolled", "interpreter")
    flops = llvm(model, FALL, **typed).info().flops
    assert compiled.info().flops == interpreted.info().flops > flops
    again = pickle.loads(pickle.dumps(compiled))
    check(again(q, v, forces, w)[0], compiled(q, v, forces, w)[0])
    assert "J* w of" in repr(again)


def test_cost_does_not_grow_with_the_number_of_arguments():
    """Of forward and inverse dynamics, a product takes at most four times the flops."""
    model = pp.examples.puma560()
    for expression in (FALL, Mass @ T + C):
        function = llvm(model, expression)
        for product in (function.jvp, function.vjp):
            assert product.info().flops < 4 * function.info().flops


# -- what is refused ---------------------------------------------------------------------------


def refused(function, complaint, *arguments, **named):
    with pytest.raises(InputError, match=complaint):
        function(*arguments, **named)


def test_wrong_directions_are_named():
    model = arm()
    q, v, forces = states(model)
    function = llvm(model, FALL)
    refused(function.jvp, "needs a direction: pass dq or dv or dT", q, v, forces)
    refused(function.vjp, "needs weights of the results: pass w", q, v, forces)
    refused(function.jvp, "dq: expected numbers, got None", q, v, forces, None)
    refused(function.jvp, "dq has shape", q, v, forces, dq=np.ones(model.nq))
    refused(function.jvp, r"dv\[0\] is nan", q, v, forces, dv=np.full(model.nv, np.nan))
    refused(function.jvp, "q has shape", np.ones(2), v, forces, dq=np.ones(model.nv))
    three, two = np.ones((3, model.nv)), np.ones((2, model.nv))
    refused(function.jvp, "do not broadcast", q, v, forces, dq=three, dv=two)
    refused(function.jvp, "no argument 'dx'", q, v, forces, dq=v, dx=v)
    refused(llvm(model, J).jvp.info, "depends on points")
    with pytest.raises(BackendError, match="some argument is empty"):
        llvm(pp.ModelBuilder().build(), Mass).jvp([], dq=[])


def test_states_without_a_value_have_no_derivative():
    model = machines.rbdl_zyx()  # three hinges through one point: singular at a right angle
    q, v, forces = np.array([0.3, np.pi / 2, 0.1]), np.ones(3), np.ones(3)
    for make in (llvm, numpy):
        with pytest.raises(SolveError):
            make(model, FALL).jvp(q, v, forces, dq=v)
        good = make(model, FALL).jvp(q - 0.5, v, forces, dq=v)
        assert np.isfinite(good).all()


def test_what_has_no_machine_code_says_so_once_and_goes_to_numpy(monkeypatch):
    """Matrices in reverse twice, unroll=True: each names its reason, at the line of the user."""
    model = arm()
    q, v, forces = states(model)
    w, dq = np.ones((model.nv, model.nv)), np.ones(model.nv)
    (right, _) = llvm(model, Mass).jvp.vjp(q, dq=dq, w=w)
    monkeypatch.setattr(machine_code, "LARGEST", 300)
    monkeypatch.setattr(machine_code, "FORCED", 300)
    another = copy.copy(model)
    reverse = llvm(another, Mass).jvp.vjp
    with pytest.warns(
        SlowPathWarning, match=r"J\* w of J t of Mass.* on 'welded' .*in reverse once, not again"
    ) as said:
        (found, _) = reverse(q, dq=dq, w=w)
    assert [x.filename for x in said] == [__file__]
    check(found, right)
    check(reverse(q, dq=dq, w=w)[0], right)  # warnings are errors here: there is no second one
    assert reverse.info().path == "interpreter"
    for how in ({"threads": 2}, {"lanes": 4}, {"dtype": np.float32}):
        llvm(another, Mass, **how).jvp.vjp(q, dq=dq, w=w)  # nor one for another way to compile it
    forced = llvm(copy.copy(model), FALL, unroll=True).jvp
    with pytest.warns(SlowPathWarning, match="unroll=True was asked for; leave unroll to phipsi"):
        forced(q, v, forces, dq=dq)


def test_what_is_refused_is_not_said_to_be_evaluated(monkeypatch):
    """One error, the same at every call, that says what to do; no warning before it."""
    model = arm()
    q, dq, w = model.neutral(), np.ones(model.nv), np.ones((model.nv, model.nv))
    monkeypatch.setattr(machine_code, "LARGEST", 300)
    monkeypatch.setattr(machine_code, "FORCED", 300)
    monkeypatch.setattr(derivative, "LONGEST", 300)
    reverse = llvm(copy.copy(model), Mass).jvp.vjp
    said = []
    for _ in range(2):
        with pytest.raises(BackendError, match="more than 300 numbers without them") as error:
            reverse(q, dq=dq, w=w)
        said.append(str(error.value))
    assert said[0] == said[1]
    assert said[0].endswith("derivatives of first order have loops: take differences of these")
    monkeypatch.setattr(derivative, "LARGEST", 300)
    with pytest.raises(BackendError, match="too large for NumPy: its graph has more than 300"):
        numpy(copy.copy(model), Mass).vjp(q, w=w)


def test_graphs_of_several_choices_of_bodies_are_kept(monkeypatch):
    """Points that alternate between bodies: each graph is traced once."""
    model = arm()
    function = numpy(model, J @ beta).jvp
    q, v, _ = states(model)
    traced, trace = [], derivative.Derivative._computation

    def counted(self, bodies):
        job = trace(self, bodies)
        inner = job.traced
        object.__setattr__(job, "traced", lambda limit: traced.append(bodies) or inner(limit))
        return job

    monkeypatch.setattr(derivative.Derivative, "_computation", counted)
    for _ in range(3):
        for body in model.bodies[:2]:
            function(q, v, points=[pp.point(body.name)], dq=v)
    assert len(traced) == 2


def test_what_is_done_once_may_be_too_long_as_well(monkeypatch):
    monkeypatch.setattr(machine_code, "LARGEST", 10)
    monkeypatch.setattr(machine_code, "FORCED", 10)
    monkeypatch.setattr(looped, "LARGEST", 10)
    once = PROJECTED.inv @ (s + PROJECTED.inv @ t)
    q, v = np.full(3, 0.3), np.ones(3)
    function = llvm(follower(), once).jvp
    with pytest.warns(SlowPathWarning, match="too much is done once for the whole machine"):
        found = function(q, None, v, v, dq=v)
    check(found, numpy(follower(), once).jvp(q, None, v, v, dq=v))


def test_what_stands_for_the_speeds_is_no_direction():
    """The second argument is v, also where no speeds appear, before and after compiling."""
    function, q, v = llvm(arm(), U), arm().neutral(), np.ones(arm().nv)
    right = function.jvp(q, None, v), function.vjp(q, None, 1.0)
    assert np.array_equal(function.jvp(q, 2.0 * v, v), right[0])
    with pytest.raises(InputError, match="needs a direction"):
        function.jvp(q, v)
    with pytest.raises(InputError, match="needs weights"):
        function.vjp(q, v)
    with pytest.raises(InputError, match="needs weights"):
        function.vjp(q, 1.0)


# -- quick calls -----------------------------------------------------------------------------


def test_directions_left_out_and_single_gradients_have_entries(monkeypatch):
    """Calls as the docs have them go to machine code directly, and give what careful ones do."""
    model = arm()
    q, v, forces = states(model)
    dq = np.linspace(-1.0, 1.0, model.nv)
    at = [pp.point(model.bodies[-1].name, (0.1, 0.2, 0.3))]
    g, zeros = np.empty(model.nv), np.zeros(model.nv)
    fall, energy, tip = (llvm(model, x) for x in (FALL, U, J @ beta))
    calls = [
        lambda: fall.jvp(q, v, forces, dq=dq),
        lambda: fall.jvp(q, v, forces, dT=dq, dq=dq),
        lambda: fall.jvp(np.stack([q, q]), v, forces, dv=dq),
        lambda: fall.jvp(q, v, forces, dq),
        lambda: tip.jvp(q, v, points=at, dq=dq),
        lambda: tip.jvp(q, v, at, dq),
        lambda: energy.vjp(q, w=1.0),
        lambda: energy.vjp(q, w=2, out=(g,)),
        lambda: energy.vjp(q, w=np.array(3.0), out=g),
        lambda: energy.vjp(q, None, np.float64(4.0)),
    ]
    expected = [as_tuple(call()) for call in calls]
    check(expected[0][0], fall.jvp(q, v, forces, dq, zeros, zeros))
    gradient = energy.vjp(q, w=1.0)
    assert type(gradient) is tuple
    assert energy.vjp(q, w=1.0, out=(g,))[0] is g
    check(g, gradient[0])

    def no(*_, **__):
        raise AssertionError("an entry takes these")

    monkeypatch.setattr(derivative.Derivative, "_carefully", no)
    for call, right in zip(calls[:-1], expected, strict=False):
        for one, other in zip(as_tuple(call()), right, strict=True):
            assert one.shape == other.shape
    assert np.array_equal(fall.jvp(q, v, forces, dq=dq), expected[0][0])


def test_what_is_wrong_is_named_as_ever_where_directions_are_left_out():
    model = arm()
    q, v, forces = states(model)
    function = llvm(model, FALL).jvp
    function(q, v, forces, dq=v)
    with pytest.raises(InputError, match="needs a direction"):
        function(q, v, forces)
    with pytest.raises(InputError, match="has no argument 'dw'"):
        function(q, v, forces, dw=v)
    with pytest.raises(InputError, match="dq has shape"):
        function(q, v, forces, dq=v[:2])
    with pytest.raises(InputError, match="is nan"):
        llvm(model, U).vjp(q, w=np.nan)


@pytest.mark.parametrize("unroll", [None, False])
def test_more_arguments_than_machine_code_takes_are_taken_in_parts(unroll):
    """J t and J* w by 33 arguments: transposes of each other, and what NumPy has; `out` too."""
    model = pp.examples.puma560()
    bodies, joints = model.bodies, model.joints
    names = [f"{x.name}.{y}" for x in bodies for y in ("mass", "first_moment", "inertia")]
    names += [f"{x.name}.{y}" for x in joints for y in ("rotor_inertia", "position")]
    function = llvm(model, FALL, parameters=names, unroll=unroll)
    other = pp.compile(model, FALL, parameters=names, backend="numpy")
    q, v, forces = states(model)
    nominal = {x: y + 0.5 if x.endswith("mass") else y for x, y in function.parameters.items()}
    along = {f"d{name}": y for name, y in directions_of(nominal).items()}
    rng = np.random.default_rng(4)
    dq, dv, dT, w = rng.normal(size=(4, model.nv))
    whole = {"dq": dq, "dv": dv, "dT": dT, **along}
    found = function.jvp(q, v, forces, **nominal, **whole)
    check(found, other.jvp(q, v, forces, **nominal, **whole))
    back = function.vjp(q, v, forces, **nominal, w=w)
    assert len(back) == len(function.varying) == 33
    terms = [np.sum(x * y) for x, y in zip(back, whole.values(), strict=True)]
    assert abs(sum(terms) - w @ found) <= 1e-10 * (1.0 + sum(map(abs, terms)))
    out = tuple(map(np.empty_like, back))
    assert function.vjp(q, v, forces, **nominal, w=w, out=out)[-1] is out[-1]
    assert all(map(np.array_equal, out, back))
    some = function.jvp(np.stack([q, q]), v, forces, **nominal, dT=dT)
    check(some[1], other.jvp(q, v, forces, **nominal, dT=dT))
    assert function.vjp.info().path == ("rolled" if unroll is False else "unrolled")
    with pytest.raises(BackendError, match="67 arguments and results; machine code takes 64"):
        _ = function.jvp.gufunc
