"""Results of compiled functions, of every shape; points, complex numbers, and what is told."""

import sys
import threading

import machines
import numpy as np
import pytest
from symbols import STEP, A, N, k, y
from test_function import FALL, arm, as_tuple, check, count_compilations, llvm, numpy, states
from test_llvm import subprocess_says

import phipsi as pp
from phipsi.function import arrays as functions
from phipsi.operators import (
    B,
    C,
    D,
    E,
    H,
    J,
    M,
    Mass,
    S_q,
    T,
    U,
    V,
    X,
    beta,
    f0,
    gravity,
    operator,
    phi,
    vector,
)

W = operator("W", "coordinate", "coordinate")
s, r = vector("s", "coordinate"), vector("r", "point")
TIP, GROUND = pp.point("hand", (0.1, -0.2, 0.3)), pp.point("world", (1.0, 2.0, 3.0))
EXPRESSIONS = {
    "vector": FALL,
    "number": U,
    "quadratic number": 0.5 * beta.T @ Mass @ beta,
    "covector": beta.T @ Mass,
    "covector of bodies": V.T @ M,
    "square matrix": Mass,
    "tall matrix": phi.T @ H.T,
    "wide matrix": S_q.T @ H @ phi,
    "of the base": E.T @ phi @ M @ V,
    "tuple of one": [Mass],
    "several of every shape": [Mass, U, C, V.T @ M, phi],
    "the same twice": [C, C],
    "a constant": [0 * phi, E],
    "an argument": [beta, T],
    "a free number": k * C,
    "only a free number": k + 2 * k,
    "blocks of bodies": A @ phi.T @ H.T @ beta,
    "blocks of joints": N @ T + Mass @ y,
    "a block of coordinates": W @ s,
    "every free letter": [k * A @ V, N, W + S_q.T @ N @ S_q],
    "roots": D.sqrt,
}
AT_POINTS = {
    "a matrix": X @ J,
    "a vector": J.T @ f0,
    "several": [X @ J, J.T @ X.T @ f0, B.T @ V],
    "points of its own": X(TIP) @ J(TIP) @ beta,
    "points of its own and on the world": X(TIP, GROUND) @ J(TIP, GROUND),
    "own and passed": J(TIP).T @ X(TIP).T @ X(TIP) @ J(TIP) @ beta + J.T @ J @ beta,
    "as many of its own as passed": J(TIP, GROUND) @ beta + J @ beta - f0,
    "compliance": X @ J @ Mass.inv @ J.T @ X.T,
    "free in point space": 2 * r,
}


def values(model, expression, *batch, points=2):
    """A value for every free letter, with a batch where it can have one."""
    rng = np.random.default_rng(3)
    q, v, forces = states(model, *batch)
    speeds = [joint.kind.nv for joint in model.joints]
    known = {
        "T": forces,
        "y": rng.normal(size=(*batch, len(forces.T))),
        "k": rng.normal(size=batch),
        "s": rng.normal(size=(*batch, model.nv)),
        "A": [rng.normal(size=(*batch, 6, 6)) for _ in model.bodies],
        "N": [rng.normal(size=(n, n)) for n in speeds],
        "W": [rng.normal(size=(*batch, model.nv, model.nv))],
        "f0": rng.normal(size=(*batch, 6 * points)),
        "r": rng.normal(size=(*batch, 6 * points)),
    }
    free = numpy(model, expression).inputs[2:]
    return {"q": q, "v": v} | {name: known[name] for name in free if name != "points"}


@pytest.mark.parametrize("unroll", [True, False])
@pytest.mark.parametrize("batch", [(), (1,), (11,), (2, 3)], ids=str)
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_results_of_every_shape_are_those_of_the_interpreter(name, batch, unroll):
    model, expression = arm(), EXPRESSIONS[name]
    arguments = values(model, expression, *batch)
    found = llvm(model, expression, unroll=unroll)(**arguments)
    expected = numpy(model, expression)(**arguments)
    assert isinstance(found, tuple) is isinstance(expected, tuple)
    for one, other in zip(*map(as_tuple, (found, expected)), strict=True):
        assert type(one) is (np.ndarray if np.ndim(other) else np.float64)
        check(one, other)


def test_a_tuple_of_one_stays_a_tuple_on_every_path():
    function = llvm(arm(), [FALL])
    q, v, forces = states(arm(), 3)
    for _ in range(2):
        for arguments in ((q, v, forces), (q[0], v[0], forces[0]), (q[0].tolist(), v, forces)):
            assert type(function(*arguments)) is tuple
            assert type(function(*arguments)[0]) is np.ndarray


def test_results_are_the_callers_own():
    fall = llvm(arm(), FALL)
    q, v, forces = states(arm())
    first = fall(q, v, forces)
    kept = first.copy()
    first[:] = 0.0
    assert np.array_equal(fall(q, v, forces), kept)
    assert not np.shares_memory(fall(q, v, forces), first)


# -- speeds that do not appear ---------------------------------------------------------------


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
def test_speeds_that_do_not_appear_may_be_left_out_and_count_in_the_batch(backend):
    model = arm()
    inertia, height = (pp.compile(model, x, backend=backend) for x in (Mass, U))
    q, v, _ = states(model, 3)
    for one in (inertia(q), inertia(q, None), inertia(q, v=None), inertia(q, v), inertia(q, v[0])):
        assert np.array_equal(one, inertia(q))
    assert inertia(q, np.zeros((5, 1, 4))).shape == (5, 3, 4, 4)
    assert np.array_equal(inertia(q, np.zeros((5, 1, 4)))[4], inertia(q))
    assert height(q[0], np.zeros((0, 4))).shape == (0,)
    assert height(q[0], np.zeros((2, 4)), out=np.empty(2))[1] == height(q[0])
    pushed = pp.compile(model, Mass @ T, backend=backend)
    assert np.array_equal(pushed(q, None, np.ones(4)), pushed(q, np.zeros(4), np.ones((3, 4))))


# -- points ----------------------------------------------------------------------------------


@pytest.mark.parametrize("unroll", [True, False])
@pytest.mark.parametrize("batch", [(), (9,)], ids=str)
@pytest.mark.parametrize("name", AT_POINTS)
def test_points_passed_written_and_on_the_world(name, batch, unroll):
    model, expression = arm(), AT_POINTS[name]
    function = llvm(model, expression, unroll=unroll)
    given = [["tip", pp.point("arm", (1, 2, 3))], [GROUND, TIP], ["world", "world"]]
    for points in given:
        several = values(model, expression, *batch) | {"points": points}
        expected = numpy(model, expression)(**several)
        for one, other in zip(*map(as_tuple, (function(**several), expected)), strict=True):
            check(one, other)


@pytest.fixture
def compilations(monkeypatch):
    return count_compilations(monkeypatch)


def test_moving_a_point_compiles_nothing_and_another_body_does(compilations):
    model = machines.MARKET["rbdl_double_chain_3d"]()
    jacobian, plain = (pp.compile(model, X @ J, backend=x) for x in ("llvm", "numpy"))
    q = np.array([0.3, -0.4])
    for place in np.random.default_rng(0).normal(size=(5, 3)):
        points = [pp.point("b", place), pp.point("a", -place)]
        check(jacobian(q, points=points), plain(q, points=points))
    assert len(compilations) == 1
    points = [pp.point("a", (1, 2, 3)), pp.point("b")]
    check(jacobian(q, points=points), plain(q, points=points))
    assert len(compilations) == 2
    jacobian(q, points=["a"])
    assert len(compilations) == 3
    jacobian(q, points=["a", "b"])
    jacobian(q, points=[pp.point("b", (1, 1, 1)), "a"])
    assert len(compilations) == 3


def test_points_that_nobody_asked_for_change_nothing(compilations):
    model = pp.chain(2)
    inertia = llvm(model, Mass)
    expected = inertia([0.1, 0.2])
    for points in (["link1"], ["link1", "link2"], None):
        assert np.array_equal(inertia([0.1, 0.2], points=points), expected)
    assert len(compilations) == 1


def test_every_letter_in_point_space_asks_for_points():
    assert llvm(arm(), 2 * r).inputs == ("q", "v", "r", "points")
    assert llvm(arm(), J(TIP).T @ f0).inputs == ("q", "v", "f0")
    assert llvm(arm(), J(TIP) @ beta).inputs == ("q", "v")


# -- complex numbers -------------------------------------------------------------------------


def test_a_complex_step_goes_through_the_same_function():
    """The derivative of the potential energy is the force that holds the machine."""
    model = pp.examples.puma560()
    energy, holding = llvm(model, U), llvm(model, H @ phi @ M @ phi.T @ E @ gravity)
    q = np.linspace(-1.0, 1.0, 6)
    before = energy(q)
    steps = energy(q + 1j * STEP * np.eye(6))
    assert steps.dtype == complex and steps.shape == (6,)
    check(steps.imag / STEP, holding(q))
    assert energy(q) == before
    fall = llvm(model, FALL)
    v, forces = np.ones(6), np.zeros(6)
    slope = fall(q, v, forces + 1j * STEP * np.eye(6)).imag / STEP
    check(slope.T, pp.mass_matrix_inverse(model, q, backend="llvm"))
    assert fall(q, v, forces).dtype == float


# -- machines with nothing in them -----------------------------------------------------------


def test_nothing_to_compute_gives_nothing():
    nothing = pp.ModelBuilder("nothing").build()
    none = np.zeros(0)
    for batch in ((), (3,)):
        arrays = [np.zeros((*batch, 0))] * 3
        assert llvm(nothing, FALL)(*arrays).shape == (*batch, 0)
        assert pp.forward_dynamics(nothing, *arrays, backend="llvm").shape == (*batch, 0)
    assert llvm(nothing, Mass)(none).shape == (0, 0)
    assert llvm(nothing, U)(none) == 0.0


# -- what is told ----------------------------------------------------------------------------


def test_info_says_how_a_function_is_run():
    model = pp.examples.puma560()
    for unroll, path in ((True, "unrolled"), (False, "rolled"), (None, "unrolled")):
        info = llvm(model, FALL, unroll=unroll, lanes=4).info()
        assert (info.path, info.lanes, info.sweeps) == (path, 4, 3)
        assert info.nodes > info.flops > 0 and info.compile_seconds > 0.0
    plain = numpy(model, FALL).info()
    assert (plain.path, plain.lanes, plain.nodes) == ("interpreter", None, None)
    assert plain.compile_seconds is None
    compliance = llvm(model, J @ Mass.inv @ J.T)
    near, far = (compliance.info(points=[name]).flops for name in ("link1", "link6"))
    assert 0 < near < far


def test_the_gufunc_is_one_of_numpy_with_sizes_in_its_signature():
    function = llvm(arm(), [FALL, Mass, U]).gufunc
    assert isinstance(function, np.ufunc)
    assert function.signature == "(5),(4),(4)->(4),(4,4),()"
    assert llvm(arm(), k * A @ phi).gufunc.signature == "(5),(),(72)->(12,12)"
    assert llvm(arm(), J(TIP)).gufunc.signature == "(5),(3)->(6,4)"
    q, v, forces = states(arm(), 4)
    found = llvm(arm(), FALL).gufunc(q.T, v.T, forces.T, axes=[0, 0, 0, 0])
    assert np.array_equal(found.T, llvm(arm(), FALL)(q, v, forces))


class Terminal:
    """What a person sees."""

    def __init__(self):
        self.text, self.written = "", threading.Event()

    def isatty(self):
        return True

    def write(self, text):
        self.text += text
        if "\n" in text:
            self.written.set()

    def flush(self):
        pass


def test_a_person_at_a_terminal_is_told_what_takes_so_long(monkeypatch):
    spine = sys.modules["phipsi.compile"]
    terminal, make_code = Terminal(), spine.make_code

    def patient(*arguments):
        assert terminal.written.wait(60.0)
        return make_code(*arguments)

    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(functions, "PATIENCE", 0.0)
    monkeypatch.setattr(spine, "make_code", patient)
    llvm(pp.chain(1), Mass)([0.0])
    assert terminal.text == "phipsi: compiling `Mass` for 'chain of 1' ...\n"


def test_nothing_is_told_where_nobody_looks(monkeypatch, capfd):
    monkeypatch.setattr(functions, "PATIENCE", 0.0)
    llvm(pp.chain(1), Mass)([0.0])
    assert capfd.readouterr() == ("", "")


DEFAULT = """
import os, sys
os.environ.pop("PHIPSI_BACKEND", None)
if sys.argv[1]:
    os.environ["PHIPSI_BACKEND"] = sys.argv[1]
import phipsi as pp
from phipsi.operators import Mass
try:
    function = pp.compile(pp.chain(1), Mass)
    print(function.backend, function.info().path)
except pp.InputError as error:
    print(error)
"""


def test_the_backend_is_llvm_unless_the_environment_says_otherwise():
    assert subprocess_says(DEFAULT, "") == "llvm unrolled"
    assert subprocess_says(DEFAULT, "numpy") == "numpy interpreter"
    assert subprocess_says(DEFAULT, "nunpy").startswith("backend: unknown 'nunpy'; did you mean")
