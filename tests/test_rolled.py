"""Rolled code: the same numbers as unrolled code and interpreter, compiled once for all machines,
and as much of everything as there are bodies."""

import machines
import numpy as np
import pytest
import test_lowering_points as own_points
from hypothesis import given, settings
from hypothesis import strategies as st
from symbols import A, N, x
from test_complexity import random_tree, revolute_chain
from test_function import FALL, llvm, numpy, states
from test_lowering_market import arguments, situation
from test_own_spaces import L

import phipsi as pp
from phipsi.backends import looped, pieces
from phipsi.operators import (
    B,
    C,
    H,
    J,
    M,
    Mass,
    Omega,
    P,
    S_q,
    T,
    U,
    V,
    X,
    beta,
    blockdiag,
    c,
    f0,
    phi,
    pose,
    psi,
)

CLOSE = 1e-10
PROJECTED = S_q.T @ Mass @ S_q
BUNDLES = {
    "sweeps": [FALL, V, U, pose, 0.5 * beta.T @ Mass @ beta, psi.T @ A @ x],
    "columns": [Mass, psi.T @ H.T, N, P, blockdiag(phi @ M @ phi.T)],
    "pairs": [Mass.inv, Omega],
    "points": [X @ J, J.T @ f0, J @ Mass.inv @ J.T, c, B @ f0],
    "coordinates": [PROJECTED, PROJECTED.inv @ S_q.T @ T, S_q.T @ Mass.inv @ S_q],
}
CASES = [(machine, bundle) for machine in ("mimics", "rotor_bodies") for bundle in BUNDLES]
CASES += [("tree_of_every_kind", "sweeps"), ("serial_multidof", "pairs")]


def rolled(model, expression):
    """Of one lane, to be quick: other widths are shown elsewhere."""
    return llvm(model, expression, unroll=False, lanes=1)


def assert_close(found, expected, what=""):
    """Relative to the largest entry; the market is of the size of one."""
    assert np.shape(found) == np.shape(expected), what
    scale = np.abs(expected).max(initial=1e-2)
    assert np.abs(found - expected).max(initial=0.0) < CLOSE * scale, what


@pytest.fixture
def compiled(monkeypatch):
    """A list that grows with every module of rolled code."""
    modules, compile_object = [], pieces.compile_object

    def counted(text, target, **how):
        modules.append(text)
        return compile_object(text, target, **how)

    monkeypatch.setattr(pieces, "compile_object", counted)
    return modules


@pytest.fixture
def tables(monkeypatch):
    """What rolled code is given of each machine: a list that grows."""
    made, make_table = [], looped.ProgramLoops.make_table

    def noted(self):
        made.append(make_table(self))
        return made[-1]

    monkeypatch.setattr(looped.ProgramLoops, "make_table", noted)
    return made


# -- the same numbers ------------------------------------------------------------------------


@pytest.mark.parametrize(("machine", "bundle"), CASES)
def test_rolled_code_gives_the_numbers_of_the_interpreter(machine, bundle):
    model = situation(machine)[0]
    given = arguments(machine, BUNDLES[bundle])
    found = rolled(model, BUNDLES[bundle])(**given)
    expected = numpy(model, BUNDLES[bundle])(**given)
    for one, other, expression in zip(found, expected, BUNDLES[bundle], strict=True):
        assert_close(one, other, expression)


@given(
    machines.machines(
        max_bodies=9, mimics=(False, True), rotors=(False, "reflected", "bodies", True)
    ),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=6)
def test_rolled_unrolled_and_interpreted_agree_on_random_machines(model, seed):
    q, v, forces = states(model, 3, seed=seed)
    expressions = [C, Mass @ T] if model.has_mimics else [FALL, Mass]
    expected = numpy(model, expressions)(q, v, forces)
    for unroll in (False, True):
        found = llvm(model, expressions, unroll=unroll, lanes=1)(q, v, forces)
        for one, other in zip(found, expected, strict=True):
            assert_close(one, other)


@pytest.mark.parametrize(
    ("machine", "unroll", "which"),
    [("welded", True, 1), ("welded", False, 1), ("forest", False, 5), ("mimics", False, 6)],
)
def test_several_lists_of_points_meet(machine, unroll, which):
    """Vectors made at one list of points and taken at another, on other bodies."""
    model = machines.MARKET[machine]()
    q, v, _ = states(model)
    values = own_points.values_of(model)
    for expression in own_points.mixed(*own_points.places(model))[::-which]:
        free = numpy(model, expression).inputs[2:]
        given = {"q": q, "v": v} | {name: values[name] for name in free}
        expected = numpy(model, expression)(**given)
        assert_close(llvm(model, expression, unroll=unroll, lanes=1)(**given), expected, expression)


def test_many_points_on_one_body_and_on_all():
    model = machines.MARKET["tree_one_dof"]()
    q, _, _ = states(model, 9)
    rng = np.random.default_rng(3)
    names = [body.name for body in model.bodies]
    for chosen in (names[-1:] * 7, [*names[::-1], "world", "world"]):
        points = [pp.point(name, rng.normal(size=3)) for name in chosen]
        found = rolled(model, X @ J)(q, points=points)
        assert_close(found, numpy(model, X @ J)(q, points=points))


# -- once for all machines -------------------------------------------------------------------


def shuffled(seed):
    """Machines of the same bodies with other numbers, lengths and order."""
    return machines.random_machine(seed, 40, [machines.revolute, machines.prismatic], "tree")


def test_a_machine_of_known_forms_compiles_nothing(compiled):
    looped._programs.clear()
    for n in (4, 5, 6):
        llvm(pp.chain(n), FALL, unroll=False)(*np.zeros((3, n)))
    known = len(compiled)
    assert known > 0
    for n in (7, 30, 500):
        q, v, forces = states(pp.chain(n), 2)
        found = llvm(pp.chain(n), FALL, unroll=False)(q, v, forces)
        if n < 100:
            assert_close(found, numpy(pp.chain(n), FALL)(q, v, forces))
    assert len(compiled) == known


def test_other_numbers_are_no_other_forms(compiled):
    """Trees of hinges and slides: after a few there is nothing left to compile."""
    looped._programs.clear()
    for seed in range(3):
        model = shuffled(seed)
        rolled(model, [FALL, Mass])(*states(model))
    known = len(compiled)
    for seed in range(3, 8):
        model = shuffled(seed)
        arrays = states(model)
        found = rolled(model, [FALL, Mass])(*arrays)
        for one, other in zip(found, numpy(model, [FALL, Mass])(*arrays), strict=True):
            assert_close(one, other)
    assert len(compiled) == known


def test_two_machines_run_the_same_templates(tables):
    """Rows of both name the same code, by address."""
    llvm(pp.chain(7), FALL, unroll=False)(*np.zeros((3, 7)))
    llvm(pp.chain(9), FALL, unroll=False)(*np.zeros((3, 9)))
    short, long = (
        {code for piece in x.keep for code in getattr(piece, "codes", ())} for x in tables
    )
    assert short == long
    assert tables[0].kernels == tables[1].kernels


def test_only_a_form_that_is_new_is_compiled(compiled):
    looped._programs.clear()
    llvm(pp.chain(5), FALL, unroll=False)(*np.zeros((3, 5)))
    before = len(compiled)
    builder = pp.ModelBuilder("chain with a ball")
    body = {"mass": 1.0, "com": (0.5, 0.1, 0.2), "inertia": (0.3, 0.2, 0.3), "position": (1, 0, 0)}
    for k, kind in enumerate("hhbh"):
        joint = pp.joints.Spherical() if kind == "b" else pp.joints.Revolute((0, 0, 1))
        builder.add_body(f"body{k}", f"body{k - 1}" if k else "world", joint, **body)
    model = builder.build()
    arrays = states(model, 2)
    assert_close(llvm(model, FALL, unroll=False)(*arrays), numpy(model, FALL)(*arrays))
    middle = len(compiled)
    assert middle > before
    llvm(builder.build(), FALL, unroll=False)(*arrays)
    assert len(compiled) == middle


# -- how much of everything ------------------------------------------------------------------

LINEAR = {
    "forward dynamics of rods": (pp.chain, FALL),
    "forward dynamics": (revolute_chain, FALL),
    "inertias and velocities": (revolute_chain, P @ V),
}
SIZES = range(10, 1001, 330)  # equal steps, of an even number: axes alternate in chains of rods


@pytest.mark.parametrize("case", LINEAR)
def test_operations_workspace_and_table_grow_by_the_same_for_every_body(tables, case):
    """Second differences over chains of 10 to 1,000 bodies are zero, exactly."""
    (family, expression), counts = LINEAR[case], []
    for n in SIZES:
        function = rolled(family(n), expression)
        info = function.info()
        assert info.path == "rolled"
        made = tables[-1]
        kept = info.stored_per_body * n
        counts.append((info.flops, info.nodes, info.sincos, kept, made.work, made.rows.nbytes))
    assert len(tables) == len(SIZES)
    first = np.diff(np.array(counts), axis=0)
    assert np.all(first[:, [0, 1, 2, 4, 5]] > 0)
    assert np.allclose(np.diff(first, axis=0), 0.0, rtol=0, atol=1e-6)


def test_thousands_of_bodies_move_as_they_should():
    """Inverse dynamics of what forward dynamics says are the forces again."""
    model = random_tree(2000)
    rng = np.random.default_rng(0)
    q, v, forces = rng.normal(size=(3, 3, 2000))
    moved, held = rolled(model, FALL), rolled(model, [Mass @ T + C, C])
    vdot = moved(q, v, forces)
    needed, bias = held(q, v, vdot)
    largest = np.abs(bias).max() + np.abs(forces).max()
    assert np.abs(needed - forces).max() < 1e-9 * largest
    assert np.array_equal(moved(q[1], v[1], forces[1]), vdot[1])


# -- which path ------------------------------------------------------------------------------


def test_large_machines_are_rolled_and_small_ones_are_not():
    for n, path in ((10, "unrolled"), (300, "rolled")):
        model = revolute_chain(n)
        function = llvm(model, FALL)
        assert function.info().path == path
        assert function.info().lanes == llvm(model, FALL, unroll=False).info().lanes
        q, v, forces = 0.1 * np.random.default_rng(1).normal(size=(3, 4, n))
        assert_close(function(q, v, forces), numpy(model, FALL)(q, v, forces))


def test_the_path_that_was_asked_for_is_taken():
    assert llvm(pp.chain(2), FALL, unroll=False).info().path == "rolled"
    assert llvm(revolute_chain(40), FALL, unroll=True).info().path == "unrolled"


def test_columns_of_spaces_of_the_users_cost_the_same_for_every_further_body(compiled):
    """The code is that of the forms of bodies: a longer chain needs no more of it."""
    sizes, flops = (200, 400, 600), []
    for n in sizes:
        function = llvm(revolute_chain(n), Mass.inv @ L.T, unroll=False, lanes=1)
        assert function.info().path == "rolled"
        flops.append(function.info().flops)
        assert len(compiled) == 1
    assert flops[1] - flops[0] == flops[2] - flops[1]
    q, ties = np.full(200, 0.1), np.random.default_rng(0).normal(size=(3, 200))
    function = rolled(revolute_chain(200), Mass.inv @ L.T)
    columns = [pp.forward_dynamics(function.model, q, 0 * q, y) for y in ties]
    bias = pp.forward_dynamics(function.model, q, 0 * q, 0 * q)
    assert_close(function(q, L=ties), np.stack(columns, axis=1) - bias[:, None])
