"""Products with Jacobians in rolled code: visit by visit, with the loops kept.

The oracles are the graph that NumPy evaluates, differentiated as a whole, the complex step
through the interpreter, and Pinocchio's analytical derivatives.
"""

import copy
import pickle

import machines
import numpy as np
import pytest
import test_own_spaces as own_spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from symbols import A, x
from test_complexity import random_tree, revolute_chain
from test_function import FALL, as_tuple, llvm, numpy, states
from test_function_derivatives import directions_of, slopes_of
from test_lowering_market import situation
from test_own_spaces import CLOSED, L, W
from test_rolled import BUNDLES, CLOSE, PROJECTED, rolled

import phipsi as pp
from phipsi.algebra.walk import letters_of
from phipsi.errors import InputError, SolveError
from phipsi.graph.graph import Graph
from phipsi.lowering import template_derivatives
from phipsi.lowering.template_derivatives import NotRolledError, Partners, Product
from phipsi.lowering.templates import WORK, Address, Region, Store, Template
from phipsi.operators import (
    C,
    H,
    J,
    Mass,
    Omega,
    S_q,
    T,
    U,
    V,
    X,
    beta,
    c,
    f0,
    pose,
    psi,
)

KINETIC = 0.5 * beta.T @ Mass @ beta
SWEEPS = {
    "tree_of_every_kind": FALL,
    "mimics": (C, U, V),
    "rotor_bodies": (pose, KINETIC),
    "forest": psi.T @ A @ x,
}
AT_POINTS = (J.T @ f0, c, J @ beta)
INVERSE = Mass @ T + C


def assert_same(found, expected, what=""):
    """Relative to the largest entry."""
    for one, other in zip(as_tuple(found), as_tuple(expected), strict=True):
        assert np.shape(one) == np.shape(other), what
        scale = np.abs(other).max(initial=1e-2)
        assert np.abs(one - other).max(initial=0.0) < CLOSE * scale, what


def situated(machine, expression, seed=0):
    """A machine, arguments of a function by name, and the points on it."""
    model, points = situation(machine)[0], None
    q, v, _ = states(model, seed=seed)
    rng = np.random.default_rng(seed + 5)
    function = numpy(model, expression)
    sizes = {"joint": sum(x.kind.nv for x in model.joints), "body": 6 * len(model.bodies)}
    given = {"v": v} if "v" in function.varying else {}
    for letter in function.program.free:
        if letter.target.name == "point":
            points = [pp.point(model.bodies[-1].name, (0.1, 0.2, 0.3)), pp.point("world")]
            given[letter.name] = rng.normal(size=12)
        elif letter.source.name == "scalar":
            given[letter.name] = rng.normal(size=sizes[letter.target.name])
        else:
            given[letter.name] = [rng.normal(size=(6, 6)) for _ in model.bodies]
    if "points" in function.inputs:
        points = [pp.point(model.bodies[-1].name, (0.1, 0.2, 0.3)), pp.point("world")]
    return model, q, given, {} if points is None else {"points": points}


def check_rolled(machine, expression, seed=0, reverse=True):
    """J t and J* w of rolled code against those of the whole graph, by NumPy."""
    model, q, given, passed = situated(machine, expression, seed)
    ours, theirs = rolled(model, expression), numpy(model, expression)
    flat = {name: np.ravel(y) if isinstance(y, list) else y for name, y in given.items()}
    along = {f"d{name}": y for name, y in directions_of(flat, seed + 1).items()}
    along["dq"] = np.random.default_rng(seed + 2).normal(size=model.nv)
    expected = as_tuple(theirs.jvp(q, **given, **passed, **along))
    assert_same(ours.jvp(q, **given, **passed, **along), expected, str(expression))
    at = passed.get("points")
    assert ours.jvp.info(at).path == "rolled"
    if reverse:
        rng = np.random.default_rng(seed + 3)
        weights = [rng.normal(size=np.shape(y)) for y in expected]
        weighed = dict(zip(ours.vjp.added, weights, strict=True))
        found = ours.vjp(q, **given, **passed, **weighed)
        assert_same(found, theirs.vjp(q, **given, **passed, **weighed), str(expression))
        assert ours.vjp.info(at).path == "rolled"


# -- the same numbers ------------------------------------------------------------------------


@pytest.mark.parametrize("machine", SWEEPS)
def test_rolled_products_of_sweeps_are_those_of_the_graph(machine):
    """Every kind of joint, quaternions and followers among them; blocks of operators as well."""
    check_rolled(machine, SWEEPS[machine])


def test_rolled_products_at_points_are_those_of_the_graph():
    for expression in AT_POINTS:
        check_rolled("welded", expression)


MATRICES = {
    "columns": [Mass, J, X @ J, psi.T @ H.T],
    "pairs": [Mass.inv, Omega, J @ Mass.inv @ J.T, Mass.inv @ J.T, S_q.T @ Mass.inv @ S_q],
    "dense": [FALL, PROJECTED.inv, S_q @ PROJECTED.inv @ S_q.T, PROJECTED.inv @ S_q.T @ T],
}


@pytest.mark.parametrize(
    ("machine", "kind"),
    [
        ("tree_of_every_kind", "columns"),
        ("rotor_bodies", "columns"),
        ("serial_multidof", "pairs"),
        ("mimics", "pairs"),
        ("forest", "pairs"),
        ("mimics", "dense"),
    ],
)
def test_matrices_have_rolled_products_both_ways(machine, kind):
    """Columns, pairs of them, and systems of the whole machine carry tangents and adjoints."""
    for expression in MATRICES[kind]:
        check_rolled(machine, expression)


def test_several_matrices_in_one_function_have_rolled_products():
    """Loops that they share: of several pairs in a loop each is done again before its adjoint."""
    own = [x for x in BUNDLES["pairs"] if not any(y.free for y in letters_of((x,)))]
    check_rolled("serial_multidof", own)
    check_rolled("mimics", [Mass, Mass.inv, J @ Mass.inv @ J.T, J])


@settings(max_examples=8, deadline=None)
@given(
    machine=machines.machines(max_bodies=8, mimics=(False, True)),
    which=st.sampled_from([Mass, Mass.inv, Omega, PROJECTED.inv]),
    seed=st.integers(0, 1000),
)
def test_products_with_matrices_are_transposes_of_each_other(machine, which, seed):
    """w . J t = t . J* w on random machines, the tangent by the complex step."""
    q, _, _ = states(machine, seed=seed)
    rng = np.random.default_rng(seed)
    dq = rng.normal(size=machine.nv)
    function = rolled(machine, which)
    (right,) = slopes_of(machine, which, q, {}, dq, {})
    w = rng.normal(size=right.shape)
    (by_q,) = function.vjp(q, w=w)
    size = np.sum(np.abs(w * right)) + np.abs(by_q) @ np.abs(dq)
    assert abs(np.sum(w * right) - by_q @ dq) <= 1e-9 * (1.0 + size)


@pytest.mark.parametrize(
    "expression",
    [PROJECTED.inv @ S_q.T @ T, PROJECTED.inv, S_q @ PROJECTED.inv @ S_q.T],
    ids=["solved", "inverted", "multiplied"],
)
def test_systems_of_the_whole_machine_have_tangents(expression):
    """d(A^-1 b), d(A^-1) and d(A B), by the dense routines."""
    model, q, given, _ = situated("mimics", expression)
    dq = np.random.default_rng(4).normal(size=model.nv)
    along = directions_of(given)
    found = rolled(model, expression).jvp(
        q, **given, dq=dq, **{f"d{name}": y for name, y in along.items()}
    )
    assert_same(found, tuple(slopes_of(model, expression, q, given, dq, along)))
    assert rolled(model, expression).jvp.info().path == "rolled"


@pytest.mark.parametrize(
    "expression",
    [
        CLOSED,
        L.T @ (W + L @ Mass.inv @ L.T).inv,
    ],
    ids=["points", "joints"],
)
def test_columns_of_spaces_of_the_users_have_rolled_products(expression):
    """Loop constraints: a small system of the whole machine, and its adjoint, in the midst."""
    model = own_spaces.machine(False)
    q, v, _ = states(model)
    values = own_spaces.values_for(model, np.random.default_rng(1))
    ours, theirs = rolled(model, expression), numpy(model, expression)
    given = {x: values[x] for x in ours.inputs if x in values}
    given |= {"v": v} if "v" in ours.varying else {}
    passed = {"points": own_spaces.points_on(model)} if "points" in ours.inputs else {}
    along = {f"d{name}": y for name, y in directions_of(given).items()}
    dq = np.random.default_rng(4).normal(size=model.nv)
    expected = theirs.jvp(q, **given, **passed, dq=dq, **along)
    assert_same(ours.jvp(q, **given, **passed, dq=dq, **along), expected)
    w = np.random.default_rng(5).normal(size=expected.shape)
    found = ours.vjp(q, **given, **passed, w=w)
    assert_same(found, theirs.vjp(q, **given, **passed, w=w))
    at = passed.get("points")
    assert ours.jvp.info(at).path == ours.vjp.info(at).path == "rolled"


@settings(max_examples=5, deadline=None)
@given(machine=machines.machines(max_bodies=7), seed=st.integers(0, 1000))
def test_rolled_products_agree_with_the_complex_step_on_random_machines(machine, seed):
    q, v, forces = states(machine, seed=seed)
    others = {"v": v, "T": forces}
    along = directions_of(others, seed)
    dq = np.random.default_rng(seed + 1).normal(size=machine.nv)
    function = rolled(machine, FALL)
    found = function.jvp(q, v, forces, dq, along["v"], along["T"])
    (expected,) = slopes_of(machine, FALL, q, others, dq, along)
    assert_same(found, expected)
    w = np.random.default_rng(seed + 2).normal(size=machine.nv)
    by_q, by_v, by_T = function.vjp(q, v, forces, w)
    terms = [by_q @ dq, by_v @ along["v"], by_T @ along["T"]]
    assert abs(sum(terms) - w @ found) <= 1e-10 * (1.0 + sum(map(abs, terms)))


def test_parameters_are_differentiated_in_rolled_code():
    model = random_tree(4)
    q, v, forces = states(model)
    names = ["moments", "gravity", f"{model.joints[2].name}.position"]
    made = {
        unroll: pp.compile(model, FALL, parameters=names, backend="llvm", unroll=unroll, lanes=1)
        for unroll in (False, True)
    }
    nominal = made[True].parameters
    w = np.ones(model.nv)
    one, other = (y.vjp(q, v, forces, **nominal, w=w) for y in made.values())
    assert_same(one, other)
    along = directions_of(nominal)
    one, other = (
        y.jvp(q, v, forces, **nominal, **{f"d{x}": z for x, z in along.items()})
        for y in made.values()
    )
    assert_same(one, other)
    assert made[False].vjp.info().path == made[False].jvp.info().path == "rolled"


# -- large machines --------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [revolute_chain, random_tree])
def test_products_of_large_machines_cost_the_same_for_every_further_body(shape):
    """Flops and stored numbers of rolled code, counted: a straight line on chains."""
    sizes = (200, 400, 800)
    for which in ("jvp", "vjp"):
        infos = [getattr(rolled(shape(n), INVERSE), which).info() for n in sizes]
        assert {x.path for x in infos} == {"rolled"}
        counted = [(x.flops, x.stored_per_body * n) for x, n in zip(infos, sizes, strict=True)]
        first, second = np.diff(counted, axis=0)
        if shape is revolute_chain:
            assert np.array_equal(2 * first, second)
        assert counted[-1][0] < 4.5 * counted[0][0]
        assert counted[-1][1] < 4.1 * counted[0][1]


def test_products_with_matrices_of_points_cost_the_same_for_every_further_body():
    """J, and J Mass^-1 J* of one point, in reverse: flops and stored numbers, a straight line."""
    for expression in (J, J @ Mass.inv @ J.T):
        counted = []
        for n in (300, 600, 1200):
            model = pp.chain(n)
            at = [pp.point(model.bodies[-1].name)]
            info = rolled(model, expression).vjp.info(at)
            assert info.path == "rolled"
            counted.append((info.flops, round(info.stored_per_body * n)))
        first, second = np.diff(counted, axis=0)
        assert np.array_equal(2 * first, second)


def test_products_with_mass_matrices_cost_as_much_as_their_entries():
    """In reverse: flops and stored numbers by body grow as the path of its columns does."""
    for expression in (Mass, Mass.inv):
        sizes = np.array([50, 100, 200])
        infos = [rolled(pp.chain(int(n)), expression).vjp.info() for n in sizes]
        flops = [info.flops / n for info, n in zip(infos, sizes, strict=True)]
        for counted in (flops, [info.stored_per_body for info in infos]):
            first, second = np.diff(counted)
            assert 0.9 < second / (2 * first) < 1.1


def test_two_thousand_bodies_by_both_ways():
    """J t by central differences; w . J t and t . J* w; a batch has the bits of its states."""
    n = 2000
    model = pp.chain(n)
    function = pp.compile(model, INVERSE, backend="llvm")
    rng = np.random.default_rng(0)
    q, v, a, dq, dv, da, w = 0.1 * rng.normal(size=(7, 2, n))
    along = function.jvp(q, v, a, dq, dv, da)
    assert function.jvp.info().path == function.vjp.info().path == "rolled"
    step = 1e-6
    ahead, behind = (function(q + s * dq, v + s * dv, a + s * da) for s in (step, -step))
    slope = (ahead - behind) / (2 * step)
    assert np.abs(along - slope).max() < 1e-5 * np.abs(along).max()
    back = function.vjp(q, v, a, w)
    turned = sum(np.sum(y * z, -1) for y, z in zip(back, (dq, dv, da), strict=True))
    assert np.allclose(np.sum(w * along, -1), turned, rtol=1e-9)
    assert np.array_equal(function.jvp(q[1], v[1], a[1], dq[1], dv[1], da[1]), along[1])
    assert np.array_equal(function.vjp(q[1], v[1], a[1], w[1])[0], back[0][1])


# -- other ways to call them -----------------------------------------------------------------


def test_single_precision_has_rolled_products():
    model = random_tree(4)
    q, v, forces = states(model, 5)
    t, w = np.random.default_rng(2).normal(size=(2, model.nv))
    single = llvm(model, FALL, unroll=False, lanes=1, dtype=np.float32)
    double = rolled(model, FALL)
    for name, last in (("jvp", (t, t, t)), ("vjp", (w,))):
        product = getattr(single, name)
        found = as_tuple(product(q, v, forces, *last))
        right = as_tuple(getattr(double, name)(q, v, forces, *last))
        for one, other in zip(found, right, strict=True):
            assert one.dtype == np.float32
            assert np.abs(one - other).max() < 2e-2 * np.abs(other).max()
        assert product.info().path == "rolled"


def test_singular_states_raise_in_rolled_products():
    model = machines.rbdl_zyx()
    q, v = np.array([0.3, np.pi / 2, 0.1]), np.ones(3)
    function = rolled(model, FALL)
    for product, last in ((function.jvp, (v, v, v)), (function.vjp, (v,))):
        with pytest.raises(SolveError):
            product(q, v, v, *last)
        with pytest.raises(SolveError):
            product(np.stack([q - 0.5, q]), v, v, *last)
        with pytest.raises(InputError, match=r"q\[1\] is nan"):
            product([0.1, np.nan, 0.2], v, v, *last)
        assert all(np.isfinite(x).all() for x in as_tuple(product(q - 0.5, v, v, *last)))


def test_near_a_singular_state_products_are_looked_at_and_stay():
    """An alarm that is none: the function has a value, and so has its derivative."""
    model = machines.rbdl_zyx()
    q, v = np.array([0.3, np.pi / 2 - 1e-4, 0.1]), np.ones(3)
    function, straight = rolled(model, FALL), numpy(model, FALL)
    expected = straight.jvp(q, v, v, dq=v)
    assert np.allclose(function.jvp(q, v, v, dq=v), expected, rtol=1e-4)


def test_rolled_products_are_kept_on_disk_and_travel(tmp_path, monkeypatch):
    from phipsi.backends import looped, pieces

    monkeypatch.setenv("PHIPSI_CACHE", str(tmp_path / "cache"))
    model = pp.chain(6)
    q = np.full(6, 0.2)
    looped._programs.clear()
    right = rolled(model, INVERSE).vjp(q, q, q, w=q)
    looped._programs.clear()

    def no(*_, **__):
        raise AssertionError("found on disk")

    monkeypatch.setattr(pieces, "compile_object", no)
    again = rolled(copy.copy(model), INVERSE).vjp
    assert all(map(np.array_equal, again(q, q, q, w=q), right))
    sent = pickle.loads(pickle.dumps(again))
    assert all(map(np.array_equal, sent(q, q, q, w=q), right))


# -- what is not kept ------------------------------------------------------------------------


def test_a_number_that_is_replaced_by_its_own_function_has_no_way_back():
    graph = Graph()
    place = Address(WORK, (("own",),), 0)
    y = graph.input(("load", place))
    template = Template(graph, [Region(None, [Store(place, y * y)])])
    partners = Partners(Product(True, ("q",), ("w",)), None, range(0))
    with pytest.raises(NotRolledError, match="replaced by a function of itself"):
        template_derivatives.reverse_template(template, partners)


# -- again -----------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["jvp", "vjp"])
@pytest.mark.parametrize("second", ["jvp", "vjp"])
def test_derivatives_of_derivatives_are_rolled(first, second):
    """Both ways after both ways, against the whole graph; matrices, too, on joints that turn."""
    every = machines.random_machine(5, 5)
    follower = machines.random_machine(6, 4, [machines.revolute, machines.spherical], mimics=True)
    cases = [(every, INVERSE), (every, FALL), (follower, (C, U))]
    cases += [(every, (Mass, C)), (follower, Mass), (machines.random_machine(7, 4), Mass.inv)]
    for model, expression in cases:
        made = rolled(model, expression), numpy(model, expression)
        ours, theirs = (getattr(getattr(function, first), second) for function in made)
        rng = np.random.default_rng(2)
        shapes = ours._computation({}).inputs
        given = {name: rng.normal(size=shape) for name, shape in shapes.items()}
        given["q"] = pp.integrate(model, model.neutral(), 0.5 * rng.normal(size=model.nv))
        assert_same(ours(**given), theirs(**given), str(expression))
        assert ours.info().path == "rolled"


class Ball(pp.joints.JointKind):
    """A kind of the user's that turns, and does not say how its moves exchange."""

    nq, nv = 4, 3
    quaternion = slice(0, 4)

    def transform(self, q):
        return pp.spatial.rotation_from_quaternion(q), [0.0] * 3

    def motion_map(self, q):
        return pp.joints.Spherical().motion_map(q)

    def neutral(self):
        return [0.0, 0.0, 0.0, 1.0]

    def integrate(self, q, dq):
        return pp.joints.Spherical().integrate(q, dq)

    def difference(self, q0, q1):
        return pp.joints.Spherical().difference(q0, q1)


class BallWithBracket(Ball):
    def bracket(self, u, w):
        return pp.spatial.cross(u, w)


class OtherBall(BallWithBracket):
    """Turns about axes of the parent: the bracket that it inherits is not its own."""

    def integrate(self, q, dq):
        turn = pp.spatial.quaternion_exp(dq)
        return pp.spatial.normalize(pp.spatial.quaternion_product(turn, q))

    def motion_map(self, q):
        R = pp.spatial.rotation_from_quaternion(q)
        return [*pp.spatial.transpose(R), *[[0.0] * 3] * 3]


@pytest.mark.parametrize("first", ["jvp", "vjp"])
@pytest.mark.parametrize("kind", [Ball, BallWithBracket, OtherBall, pp.joints.Spherical])
def test_second_derivatives_of_kinds_with_and_without_a_bracket(kind, first):
    """Exchanged only where the bracket is that of the moves; right either way."""
    builder = pp.ModelBuilder("balls")
    inertial = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (0.3, 0.4, 0.5)}
    builder.add_body("a", joint=kind(), **inertial)
    builder.add_body("b", "a", joint=kind(), position=(0.3, 0.1, 0.0), **inertial)
    model, rng = builder.build(), np.random.default_rng(0)
    q = pp.integrate(model, model.neutral(), 0.5 * rng.normal(size=6))
    turned, weight = rng.normal(size=6), rng.normal(size=(6, 6))
    given = {"dq": turned, "w": weight} if first == "jvp" else {"w": weight, "w_": turned}
    ours, theirs = (getattr(x, first).vjp for x in (rolled(model, Mass), numpy(model, Mass)))
    assert ours._is_exchanged == (kind in (BallWithBracket, pp.joints.Spherical))
    assert_same(ours(q, **given), theirs(q, **given))


def test_second_derivatives_at_points_batches_and_in_place():
    """Those that are made of others take points, batches, threads, and arrays for results."""
    model = machines.random_machine(9, 5)
    points = [pp.point(model.bodies[-1].name, (0.1, 0.2, 0.3)), pp.point(model.bodies[2].name)]
    ours, theirs = rolled(model, X @ J).jvp.vjp, numpy(model, X @ J).jvp.vjp
    rng = np.random.default_rng(3)
    q = np.array([model.random(rng) for _ in range(3)])
    dq, w = rng.normal(size=(4, 1, model.nv)), rng.normal(size=(12, model.nv))
    expected = theirs(q=q, points=points, dq=dq, w=w)
    assert_same(ours(q=q, points=points, dq=dq, w=w, threads=2), expected)
    out = tuple(np.empty_like(x) for x in expected)
    found = ours(q=q, points=points, dq=dq, w=w, out=out)
    assert all(x is y for x, y in zip(found, out, strict=True))
    assert_same(out, expected)
    assert ours.info(points=points).path == "rolled"
    with pytest.raises(pp.InputError, match=r"needs weights of the results: pass w"):
        ours(q=q, points=points, dq=dq)
    single = llvm(model, Mass, unroll=False, dtype=np.float32).vjp.vjp
    mass, u = np.ones((model.nv, model.nv)), np.ones(model.nv)
    found = single(q=q, w=mass, w_=u)
    assert {x.dtype for x in found} == {np.dtype(np.float32)}
    wide = rolled(model, Mass).vjp.vjp
    for one, other in zip(found, wide(q=q, w=mass, w_=u), strict=True):
        assert np.abs(one - other).max() < 1e-4 * np.abs(other).max()
    with pytest.raises(pp.BackendError, match="is made of several functions, and has no NumPy"):
        _ = wide.gufunc


def test_matrices_of_large_machines_have_second_derivatives_in_loops():
    """By their form: nothing is traced that would be too long."""
    model = pp.chain(120)
    gradient = llvm(model, Mass).jvp.vjp
    rng = np.random.default_rng(4)
    q, dq, other = rng.normal(size=(3, 120))
    w = rng.normal(size=(120, 120))
    by_q, by_dq = gradient(q, dq=dq, w=w)
    assert gradient.info().path == "rolled"
    slope = llvm(model, Mass).jvp
    step = 1e-5 * other
    expected = np.sum(w * (slope(q + step, dq=dq) - slope(q - step, dq=dq))) / 2e-5
    assert abs(by_q @ other - expected) < 1e-6 * abs(expected)
    assert abs(by_dq @ other - np.sum(w * slope(q, dq=other))) < 1e-10 * np.abs(by_dq).max()


@pytest.mark.parametrize("first", ["jvp", "vjp"])
@pytest.mark.parametrize("second", ["jvp", "vjp"])
def test_second_derivatives_of_systems_are_refused_by_their_form(first, second, monkeypatch):
    model = pp.chain(300)
    tip = J(pp.point(model.bodies[-1].name))
    function = llvm(model, (tip @ Mass.inv @ tip.T).inv)
    derivative = getattr(getattr(function, first), second)
    monkeypatch.setattr(type(derivative), "_trace", None)  # nor is it compiled
    monkeypatch.setattr(type(derivative), "_too_large", None)
    for _ in range(2):
        with pytest.raises(pp.BackendError) as caught:
            derivative.info()
        message = str(caught.value)
        assert "since systems of the whole machine are differentiated once, not again" in message
        assert message.endswith("derivatives of first order have loops: take differences of these")


def test_matrices_in_reverse_side_by_side_and_in_single_precision():
    """A batch has the bits of its states; floats are close."""
    model = machines.random_machine(8, 6)
    q, _, _ = states(model, 11)
    w = np.random.default_rng(1).normal(size=(11, model.nv, model.nv))
    for expression in (Mass, Mass.inv):
        function = llvm(model, expression, unroll=False).vjp
        (found,) = function(q, w=w)
        alone = [function(x, w=y)[0] for x, y in zip(q, w, strict=True)]
        assert np.array_equal(found, alone)
        (single,) = llvm(model, expression, unroll=False, dtype=np.float32).vjp(q, w=w)
        assert np.abs(single - found).max() < 2e-2 * np.abs(found).max()


@pytest.mark.parametrize("order", [("jvp", "jvp"), ("vjp", "jvp"), ("jvp", "vjp"), ("vjp", "vjp")])
def test_second_derivatives_cost_the_same_for_every_further_body(order):
    """Flops and stored numbers, counted: a straight line on chains."""
    counted = []
    for n in (100, 200, 400):
        product = rolled(pp.chain(n), INVERSE)
        for which in order:
            product = getattr(product, which)
        info = product.info()
        assert info.path == "rolled"
        counted.append((info.flops, round(info.stored_per_body * n)))
    first, second = np.diff(counted, axis=0)
    assert np.array_equal(2 * first, second)


def test_moves_have_second_derivatives_in_loops(monkeypatch):
    monkeypatch.setattr("phipsi.backends.moves.LARGEST", 0)
    model = machines.MARKET["tree_of_every_kind"]()
    q, v, _ = states(model)
    rng = np.random.default_rng(3)
    ours = pp.compile(copy.copy(model), pp.integrate, backend="llvm").vjp.jvp
    theirs = pp.compile(model, pp.integrate, backend="numpy").vjp.jvp
    w, dw = rng.normal(size=(2, model.nq))
    along = rng.normal(size=(2, model.nv))
    assert_same(ours(q, v, w, *along, dw), theirs(q, v, w, *along, dw))
    assert ours.info().path == "rolled"
