"""Functions as C headers: compiled by a C compiler, they give what phipsi gives."""

import re
import subprocess
from dataclasses import dataclass, field
from math import prod

import machines
import numpy as np
import pytest
from c_code import CXX, STRICT, Exported, compile_c, needs_compiler, run_main
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import TAME, programs, run
from symbols import A

import phipsi as pp
from phipsi.backends.exports import c
from phipsi.backends.exports.c_names import argument_names, checked_name
from phipsi.errors import BackendError, InputError, SolveError
from phipsi.function.exported import exported
from phipsi.graph.graph import Graph
from phipsi.lowering.trace import Trace
from phipsi.operators import C, H, J, Mass, T, V, X, phi, scalar

pytestmark = needs_compiler

FORWARD = Mass.inv @ (T - C)
CLOSE = 1e-12  # of the largest number of a result


def export_c(function, path, **how):
    function.export_c(path, **how)


def sizes(function, points=None):
    """Of arguments and results."""
    what = exported(function, points)
    return [prod(x) for x in what.inputs.values()], [prod(x) for x in what.outputs]


def written(folder, model, expression, name="f", points=None, **options):
    """A function, and its header as functions of arrays."""
    function = pp.compile(model, expression)
    export_c(function, folder / f"{name}.h", points=points)
    return function, Exported(folder / f"{name}.h", *sizes(function, points), **options)


def states(model, count, rng=None):
    rng = rng or np.random.default_rng(1)
    q = np.array([model.random(rng) for _ in range(count)])
    return q, *rng.normal(size=(2, count, model.nv))


def assert_close(found, wanted):
    wanted = np.asarray(wanted).reshape(found.shape)
    assert np.abs(found - wanted).max() <= CLOSE * np.abs(wanted).max()


# -- the numbers -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(machines.MARKET))
def test_every_machine_passes_its_own_test(tmp_path, name):
    """The test main holds stored results; strict C99 has nothing to complain about."""
    model = machines.MARKET[name]()
    export_c(pp.compile(model, [FORWARD, Mass]), tmp_path / "f.h")
    code, said = run_main(tmp_path / "f.h", "-O0", "-std=c99", *STRICT)
    assert (code, "0 failed" in said) == (0, True), said


@pytest.mark.parametrize("expression", [FORWARD, Mass, Mass.inv, V, scalar("w") * T.T @ Mass @ T])
def test_states_alone_and_in_batches(tmp_path, expression):
    """Against the interpreter; batches of all lengths give the same bits as states alone."""
    model = pp.examples.branching_tree()
    function, exported_c = written(tmp_path, model, expression)
    q, v, tau = states(model, 19)
    given = {"q": q, "v": v, "T": tau, "w": np.linspace(1.0, 2.0, 19)}
    named = {x: given[x] for x in exported(function).inputs}
    failed, (rows,) = exported_c.batch(*named.values())
    assert failed == 0
    assert_close(rows, function(**named))
    for count in (1, 7, 8, 9, 16):
        assert np.array_equal(
            exported_c.batch(*(x[:count] for x in named.values()))[1][0], rows[:count]
        )
    for i in range(19):
        code, (row,) = exported_c(*(x[i] for x in named.values()))
        assert code == 0
        assert np.array_equal(row, rows[i])


def test_operators_are_arguments_block_by_block(tmp_path):
    model = pp.examples.branching_tree()
    function, exported_c = written(tmp_path, model, H @ phi @ A @ phi.T @ H.T)
    q, blocks = states(model, 1)[0], np.random.default_rng(2).normal(size=(10, 6, 6))
    code, (found,) = exported_c(q, blocks)
    assert code == 0
    assert_close(found, function(q[0], A=list(blocks)))


def test_several_results_and_points(tmp_path):
    """The bodies of points are compiled in, their positions are an argument."""
    model = pp.examples.branching_tree()
    points = [pp.point(model.bodies[k].name, (0.1, k, 0.3)) for k in (3, 8)]
    function, exported_c = written(tmp_path, model, [J, X], points=points)
    q = states(model, 3)[0]
    places = np.array([model.locate(x)[1].position for x in points]).ravel()
    failed, results = exported_c.batch(q, np.tile(places, (3, 1)))
    assert failed == 0
    for found, wanted in zip(results, function(q, None, points=points), strict=True):
        assert_close(found, wanted)


def test_points_of_the_expression_are_numbers_in_the_code(tmp_path):
    model = pp.examples.planar_arm(2)
    function, exported_c = written(tmp_path, model, J(pp.point("tip")))
    q = states(model, 1)[0]
    assert exported_c.inputs == [2]
    assert_close(exported_c(*q)[1][0], function(q[0]))


@dataclass
class Drawn:
    """A random graph, every value of it a result."""

    program: list
    inputs: dict = field(default_factory=lambda: {"a": (2,), "b": ()})
    name: str = "drawn"
    doc: str = "values */ of a random graph"
    real: str = "double"
    key: None = None

    @property
    def outputs(self):
        return ((len(self.program) + 3,),)

    def traced(self, limit=None):
        graph = Graph(limit)
        leaves = [graph.input(x) for x in (("a", 0), ("a", 1), ("b", 0))]
        values = run(self.program, leaves, TAME)
        return Trace(graph, (tuple(graph.node(x) for x in values),), ())


@settings(max_examples=12)
@given(program=programs(3, most=30), a=st.floats(-3, 3), b=st.floats(-3, 3))
def test_all_operations_of_graphs(tmp_path_factory, program, a, b):
    folder, drawn = tmp_path_factory.mktemp("drawn"), Drawn(program)
    rows = {"a": np.array([[a, b]] * 9), "b": np.arange(9.0)}
    (folder / "f.h").write_text(c.write_header(drawn, "f", rows, ""))
    _, (found,) = Exported(folder / "f.h", [2, 1], [len(program) + 3], STRICT).batch(*rows.values())
    graph = drawn.traced()
    keyed = {("a", 0): rows["a"][:, 0], ("a", 1): rows["a"][:, 1], ("b", 0): rows["b"]}
    with np.errstate(all="ignore"):
        wanted = graph.graph.evaluate(graph.outputs[0], keyed)
    for x, y in zip(found.T, wanted, strict=True):
        np.testing.assert_allclose(x, np.broadcast_to(y, 9), rtol=1e-9, atol=1e-9)


def test_bits_are_those_of_machine_code(tmp_path):
    """On processors that fuse products, where only <math.h>'s sqrt and fabs are called."""
    model = pp.examples.puma560()
    ours = pp.compile(model, FORWARD, backend="llvm")
    export_c(ours, tmp_path / "f.h")
    exported_c = Exported(tmp_path / "f.h", *sizes(ours, None), options=("-O3", "-march=native"))
    arguments = states(model, 50)
    defined = subprocess.run(
        ["cc", "-march=native", "-dM", "-E", "-x", "c", "/dev/null"], capture_output=True, text=True
    ).stdout
    if "__FP_FAST_FMA " in defined:
        assert np.array_equal(exported_c.batch(*arguments)[1][0], ours(*arguments))
    assert_close(exported_c.batch(*arguments)[1][0], ours(*arguments))


@pytest.mark.parametrize("angle", [6e4, 1e5, -1e9, 1e22, 3e59])
def test_large_angles_go_to_the_library(tmp_path, angle):
    model = pp.examples.planar_arm(2)
    _, exported_c = written(tmp_path, model, Mass)
    cosine = np.cos(angle)
    code, (mass,) = exported_c([0.3, angle])
    assert code == 0
    assert_close(mass, [1603 / 2400 + 1 + cosine, *[1603 / 4800 + cosine / 2] * 2, 1603 / 4800])


def test_a_long_function_is_cut(tmp_path, monkeypatch):
    """However it is cut, the bits stay."""
    model = pp.chain(6)
    _, whole = written(tmp_path, model, FORWARD, "whole")
    monkeypatch.setattr(c, "PART", 50)
    _, parts = written(tmp_path, model, FORWARD, "parts")
    assert (tmp_path / "parts.h").read_text().count("PARTS_PART void parts_part") > 10
    arguments = states(model, 9)
    assert np.array_equal(whole.batch(*arguments)[1][0], parts.batch(*arguments)[1][0])


# -- what goes wrong ---------------------------------------------------------------------------


def test_what_is_returned_says_what_is_wrong(tmp_path):
    """A pivot that vanishes in one state, and numbers that are none."""
    builder = pp.ModelBuilder("gimbal")
    builder.add_body("ring", joint=pp.joints.Revolute((0, 0, 1)), mass=0.0)
    builder.add_body("ball", "ring", pp.joints.Revolute((0, 1, 0)), mass=1.0, com=(1, 0, 0))
    _, exported_c = written(tmp_path, builder.build(), FORWARD)
    rest = np.zeros(2)
    assert exported_c(rest, rest, rest)[0] == 0
    assert exported_c([0.0, np.pi / 2], rest, rest)[0] == 2
    for wrong in (np.nan, np.inf, -np.inf, 1e60):
        assert exported_c(rest, [wrong, 0.0], rest)[0] & 1 == 1
    q = np.zeros((20, 2))
    q[[3, 17], 1] = np.pi / 2  # in a tile, and among those left over
    v = np.zeros((20, 2))
    v[4, 0] = np.nan
    failed, (rows,) = exported_c.batch(q, v, np.zeros((20, 2)))
    assert failed == 3
    assert np.array_equal(np.flatnonzero(np.isnan(rows[:, 1])), [4])  # in its own row alone


def test_a_quaternion_that_is_none_is_noticed(tmp_path):
    builder = pp.ModelBuilder("ball")
    builder.add_body("ball", joint=pp.joints.Spherical(), mass=1.0, inertia=(1, 1, 1))
    _, exported_c = written(tmp_path, builder.build(), Mass)
    assert exported_c([1.0, 0.0, 0.0, 0.0])[0] == 0
    assert exported_c([1.1, 0.0, 0.0, 0.0])[0] == 2


def test_the_test_main_can_fail(tmp_path):
    """A mass of 1.001 kg in the code, results of 1 kg in the table."""
    export_c(pp.compile(pp.examples.planar_arm(2), Mass), tmp_path / "f.h")
    text = (tmp_path / "f.h").read_text()
    (tmp_path / "f.h").write_text(text.replace("0.33395833333333336;", "0.334;", 1))
    code, said = run_main(tmp_path / "f.h")
    assert code == 1
    assert float(said.split()[-1]) > 1e-5


# -- the file ----------------------------------------------------------------------------------


def test_the_header_says_what_it_is_and_includes_no_more_than_it_says(tmp_path):
    export_c(pp.compile(pp.examples.puma560(), FORWARD), tmp_path / "puma.h")
    text = (tmp_path / "puma.h").read_text()
    head = text.partition("*/")[0]
    for what in (
        "Mass.inv @ (T - C)",
        "Puma 560",
        pp.__version__,
        "  T      6",
        "C99",
        "returns 0",
    ):
        assert what in head
    for size in ("Q", "V", "T", "OUT"):
        assert f"#define PUMA_SIZE_{size} 6\n" in text
    code = text.partition("#ifdef PUMA_TEST_MAIN")[0]
    assert set(re.findall(r"#include <(\S+)>", code)) == {
        "float.h",
        "math.h",
        "stddef.h",
        "stdint.h",
    }
    assert "alloc" not in code.replace("allocates nothing", "")


def test_headers_stand_side_by_side_in_c_and_in_cpp(tmp_path):
    model = pp.examples.planar_arm(2)
    for name, expression in (("one", FORWARD), ("two", Mass)):
        export_c(pp.compile(model, expression), tmp_path / f"{name}.h")
    both = tmp_path / "both.c"
    both.write_text('#include "one.h"\n#include "two.h"\n#include "one.h"\nint nothing;\n')
    compile_c("-c", "-std=c99", *STRICT, both, "-o", tmp_path / "both.o")
    cpp = ("-c", "-std=c++11", "-x", "c++", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
    compile_c(*cpp, both, "-o", tmp_path / "both.o", command=CXX)


@pytest.mark.parametrize("stack", [0, 8 * 100])
def test_much_room_is_brought_by_the_caller(tmp_path, monkeypatch, stack):
    """By both functions, or by the batch alone."""
    monkeypatch.setattr(c, "STACK", stack)
    model = pp.examples.puma560()
    function = pp.compile(model, FORWARD)
    export_c(function, tmp_path / "f.h")
    text = (tmp_path / "f.h").read_text()
    one, many = (int(re.search(f"#define F_{x}WORK (.+)", text)[1]) for x in ("", "BATCH_"))
    assert "room for F_BATCH_WORK numbers" in text
    works = (one if 8 * one > stack else 0, many)
    exported_c = Exported(tmp_path / "f.h", *sizes(function), works=works)
    arguments = states(model, 9)
    assert_close(exported_c.batch(*arguments)[1][0], function(*arguments))
    assert_close(exported_c(*(x[0] for x in arguments))[1][0], function(*(x[0] for x in arguments)))
    assert run_main(tmp_path / "f.h", "-O1", "-std=c99", *STRICT)[0] == 0


def test_names():
    assert argument_names(["q", "x1", "int", "a.b", "a_b", "Ω"]) == {
        **{"q": "q", "x1": "in1", "int": "in2", "a.b": "a_b", "a_b": "in4", "Ω": "in5"}
    }
    for wrong in ("", "2d", "a-b", "for", "class", "ä", None, 3, "sin"):
        with pytest.raises(InputError, match="expected the name of a C function"):
            checked_name(wrong)


def test_a_name_may_be_given(tmp_path):
    function = pp.compile(pp.examples.planar_arm(2), Mass)
    with pytest.raises(InputError, match=r"no C function can be called '2 links'.*name='arm'"):
        export_c(function, tmp_path / "2 links.h")
    assert not list(tmp_path.iterdir())
    export_c(function, tmp_path / "2 links.h", name="arm")
    assert "int arm(const double *q, double *out)" in (tmp_path / "2 links.h").read_text()


def test_an_unwritable_file_is_refused_and_nothing_left(tmp_path):
    function = pp.compile(pp.examples.planar_arm(2), Mass)
    with pytest.raises(InputError, match="there is no directory"):
        export_c(function, tmp_path / "nowhere" / "f.h")
    (tmp_path / "f.h").mkdir()
    with pytest.raises(InputError, match="it is a directory"):
        export_c(function, tmp_path / "f.h")
    assert [x.name for x in tmp_path.iterdir()] == ["f.h"]


def test_what_c_cannot_express_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "f.h"
    monkeypatch.setattr(c, "LARGEST", 1000)
    with pytest.raises(BackendError, match=r"on 'chain of 50' is too large for C: .* 1000 operat"):
        export_c(pp.compile(pp.chain(50), FORWARD), path)
    with pytest.raises(BackendError, match="double precision"):
        export_c(pp.compile(pp.chain(2), FORWARD, dtype=np.float32), path)
    with pytest.raises(InputError, match="takes points: pass points"):
        export_c(pp.compile(pp.chain(2), J), path)
    with pytest.raises(InputError, match="takes no points"):
        export_c(pp.compile(pp.chain(2), Mass), path, points=["link1"])
    builder = pp.ModelBuilder("nothing", strict=False)
    builder.add_body("body", joint=pp.joints.Revolute((0, 0, 1)), mass=0.0)
    with pytest.raises(SolveError, match="no value in any state of 'nothing'"):
        export_c(pp.compile(builder.build(), Mass.inv), path)
    with pytest.raises(BackendError, match="is empty"):
        export_c(pp.compile(pp.ModelBuilder("world").build(), Mass), path)
    assert not path.exists()
