"""From a graph to the code of one tile: cuts, frames, symbols, failing lanes, other processors."""

import ctypes
import re
import struct
import sys
from itertools import pairwise

import machines
import numpy as np
import pytest
import random_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from test_function import FALL, WIDTHS, llvm, numpy, states
from test_trace import job_of

import phipsi as pp
from phipsi.backends import driver, looped
from phipsi.backends import llvm as backend
from phipsi.backends.kernel import PART, write_kernel
from phipsi.backends.llvm import Target, compile_module, compile_object, forced
from phipsi.backends.partition import Partition, Task
from phipsi.graph.graph import Graph, Node
from phipsi.lowering.trace import trace
from phipsi.operators import C, J, Mass, T, X

FRAME = 64 * 1024  # bytes of the stack that one function may take
LIMITS = (50, 300, 5000)

on_x86 = pytest.mark.skipif(backend.architecture() != "x86_64", reason="reads x86 code")
on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads ELF files")


def task_of(model, expression):
    job = job_of(model, expression)
    found = trace(job.program, job.machine, job.points, job.matrices, Graph())
    return Task(found.graph, tuple(job.inputs), found.outputs, found.checks)


def frames(assembly):
    """The room that each function takes from the stack, in bytes; what they save is left out."""
    found, name = {}, None
    for line in assembly.splitlines():
        label = re.match(r'"?([A-Za-z_][\w.]*)"?:', line)
        if label and not label[1].startswith(".L"):
            name = label[1]
            found[name] = 0
        taken = re.search(r"\bsubq\s+\$(\d+), %rsp", line)
        if taken:
            found[name] = max(found[name], int(taken[1]))
    return found


def run_kernel(code, inputs, sizes, lanes, work):
    """Outputs (entries, lanes) and the lanes that failed, of inputs (entries, lanes)."""

    def tile(values):
        memory = np.zeros(values.size + 8)
        start = -(memory.ctypes.data // 8) % 8
        there = memory[start : start + values.size].reshape(values.shape)
        there[...] = values
        return there

    ins = [tile(np.asarray(x, float)) for x in inputs]
    outs = [tile(np.full((n, lanes), np.nan)) for n in sizes]
    room = tile(np.full((work + 1, lanes), np.nan))
    pointers = [(ctypes.c_void_p * len(x))(*(y.ctypes.data for y in x)) for x in (ins, outs)]
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4)
    failed = kind(code.address("kernel"))(*pointers, room.ctypes.data, None)
    return outs, failed


# -- cuts ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tasks():
    tree = machines.MARKET["tree_of_every_kind"]()
    chain = machines.random_machine(1, 12, [machines.revolute], "tree")
    return [task_of(tree, FALL), task_of(chain, Mass.inv), task_of(chain, [Mass, C])]


@pytest.mark.parametrize("limit", [*LIMITS, PART])
def test_parts_are_bounded_and_need_only_what_comes_before(tasks, limit):
    for task in tasks:
        partition = Partition(task, limit)
        assert all(len(part) <= limit for part in partition.parts)
        made = {x: i for i, part in enumerate(partition.parts) for x in part}
        looped = {x for x in task.live() if partition.is_looped(x)}
        leaves = {x for x in task.live() if x.op in ("input", "constant")}
        assert set(made) | looped | leaves == set(task.live())
        for node, i in made.items():
            for x in node.args:
                assert x in leaves or (made.get(x, 0) <= i and (x not in looped or i > 0))
                crosses = x in made and made[x] < i and not partition.is_absorbed(x)
                assert not crosses or x.op == "less" or x in partition.place


def test_no_two_values_are_kept_in_one_place_at_a_time(tasks):
    for task in tasks:
        partition = Partition(task, 100)
        made = {x: i for i, part in enumerate(partition.parts) for x in part}
        last = dict(made)
        for node, i in made.items():
            for x in partition.operands(node):
                if x in last and not partition.is_absorbed(node):
                    last[x] = max(last[x], i)
        by_place = {}
        for node, place in partition.place.items():
            by_place.setdefault(place, []).append((made[node], last[node]))
        for lives in by_place.values():
            lives.sort()
            assert all(one[1] < other[0] for one, other in pairwise(lives))
        assert max(by_place) < partition.work


@pytest.mark.parametrize("lanes", [1, 8])
def test_every_cut_gives_the_same_bits(tasks, lanes):
    rng = np.random.default_rng(2)
    for task in tasks[:2]:
        keys = [
            x.data for x in task.graph.live([y for z in task.outputs for y in z]) if x.op == "input"
        ]
        sizes = [1 + max((i for name, i in keys if name == x), default=0) for x in task.inputs]
        inputs = [rng.uniform(-1.0, 1.0, (n, lanes)) for n in sizes]
        results, parts = [], []
        for limit in LIMITS:
            kernel = write_kernel(task, lanes, limit)
            code = compile_module(kernel.text, Target.host())
            lengths = [len(x) for x in task.outputs]
            results.append(run_kernel(code, inputs, lengths, lanes, kernel.work)[0])
            parts.append(kernel.parts)
        assert parts[0] > parts[1] > parts[2]
        for other in results[1:]:
            for x, y in zip(results[0], other, strict=True):
                assert np.isfinite(x).any() and np.array_equal(x, y, equal_nan=True)


# -- random graphs ---------------------------------------------------------------------------

LEAVES = 4


@st.composite
def random_tasks(draw):
    """Any values of a random program as outputs, inputs, constants and repetitions among them."""
    program = draw(random_graphs.programs(LEAVES, most=40))
    count = LEAVES + len(program)
    places = st.lists(st.integers(0, count - 1), min_size=1, max_size=6)
    outputs = draw(st.lists(places, min_size=1, max_size=3))
    checks = draw(st.lists(st.tuples(*[st.integers(0, count - 1)] * 2), max_size=3))
    return program, outputs, checks


@given(random_tasks(), st.sampled_from(WIDTHS), st.integers(2, 9), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_kernels_of_random_graphs_compute_them(task, lanes, limit, seed):
    """Against NumPy; cut into parts of a few nodes, or not at all, with the same bits."""
    program, outputs, checks = task
    graph = Graph()
    leaves = [graph.input((name, i)) for name in "xy" for i in range(LEAVES // 2)]
    nodes = random_graphs.run(program, leaves, random_graphs.TAME)
    wanted = tuple(tuple(graph.node(nodes[i]) for i in places) for places in outputs)
    wanted += ((graph.zero, graph.node(2.5), leaves[0], graph.zero, graph.zero),)
    conditions = (graph.less(graph.node(nodes[i]), graph.node(nodes[j])) for i, j in checks)
    checked = tuple(x for x in conditions if isinstance(x, Node) and x.op == "less")
    whole = Task(graph, ("x", "y"), wanted, checked)
    values = np.random.default_rng(seed).uniform(-2.0, 2.0, (LEAVES, lanes))
    given_values = {x.data: values[i] for i, x in enumerate(leaves)}
    sizes, results = [len(x) for x in wanted], []
    for parts in (limit, 10_000):
        kernel = write_kernel(whole, lanes, parts)
        code = compile_module(kernel.text, Target.host())
        results.append(run_kernel(code, np.split(values, 2), sizes, lanes, kernel.work))
    for found, nodes_of in zip(results[0][0], wanted, strict=True):
        for row, right in zip(found, graph.evaluate(nodes_of, given_values), strict=True):
            assert np.allclose(row, right, rtol=1e-6, atol=1e-6)
    assert all(map(np.array_equal, results[0][0], results[1][0]))
    assert results[0][1] == results[1][1]
    sides = [graph.evaluate(x.args, given_values) for x in checked]
    clear = np.ones(lanes, bool)
    failed = np.zeros(lanes, bool)
    for x, y in sides:
        x, y = np.broadcast_to(x, lanes), np.broadcast_to(y, lanes)
        clear &= (np.abs(x - y) > 1e-6) | (x == y)
        failed |= ~(x < y)
    bits = np.array([results[0][1] >> i & 1 for i in range(lanes)], bool)
    assert np.array_equal(bits[clear], failed[clear])
    assert results[0][1] >> lanes == 0


@pytest.mark.parametrize("lanes", WIDTHS)
def test_a_lane_that_fails_is_named_and_others_are_not(lanes):
    """NaN is no number less than another; infinity is."""
    graph = Graph()
    x = graph.input(("x", 0))
    task = Task(graph, ("x",), ((x + 1.0,),), (graph.less(0.0, x), graph.less(x, 5.0)))
    kernel = write_kernel(task, lanes)
    code = compile_module(kernel.text, Target.host())
    good = np.arange(lanes) * 0.5 + 0.5
    assert run_kernel(code, [good[None]], [1], lanes, kernel.work)[1] == 0
    for bad in (-1.0, 0.0, 7.0, np.nan, np.inf, -np.inf):
        for lane in range(lanes):
            values = good.copy()
            values[lane] = bad
            outs, failed = run_kernel(code, [values[None]], [1], lanes, kernel.work)
            assert failed == 1 << lane
            assert np.array_equal(outs[0][0], values + 1.0, equal_nan=True)


# -- the stack, and what is called -----------------------------------------------------------


def rolled_texts(model, expression):
    """The modules of rolled code."""
    texts, compile_text = [], looped.compile_module
    looped._programs.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            looped, "compile_module", lambda *x: (texts.append(x[0]), compile_text(*x))[1]
        )
        patch.setattr(looped, "_walks", {})
        llvm(model, expression, unroll=False).info()
    return texts


@pytest.fixture(scope="module")
def texts(tasks):
    """Every kind of code that there is."""
    found = {
        f"kernel {i}, {n} lanes": write_kernel(x, n).text
        for i, x in enumerate(tasks)
        for n in (1, 8)
    }
    model = machines.random_machine(3, 6, [machines.revolute, machines.spherical], "tree")
    for i, text in enumerate(rolled_texts(model, [FALL, Mass, Mass.inv])):
        found[f"rolled {i}"] = text
    for lanes in (1, 8):
        found[f"driver {lanes}"] = driver.driver_text(lanes, backend.architecture())
    return found


@on_x86
def test_no_function_takes_much_of_the_stack(texts):
    for name, text in texts.items():
        found = frames(backend.assembly(text, Target.host()))
        assert found, name
        assert all(taken <= FRAME for taken in found.values()), (name, found)


@on_x86
def test_frames_are_read_right():
    text = """
define void @deep(ptr %p) {
  %room = alloca [70000 x i8], align 16
  store volatile i8 1, ptr %room
  ret void
}
"""
    assert frames(backend.assembly(text, Target.host()))["deep"] >= 69_000


def undefined_symbols(file):
    """The names that an ELF object of 64 bits leaves to the linker."""
    start, size, count = struct.unpack_from("<Q", file, 40)[0], *struct.unpack_from("<HH", file, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", file, start + i * size) for i in range(count)]
    names = set()
    for section in sections:
        if section[1] == 2:  # SHT_SYMTAB, whose names are in the section that it links to
            text = sections[section[6]][4]
            for at in range(section[4] + 24, section[4] + section[5], 24):
                name, _, _, where = struct.unpack_from("<IBBH", file, at)
                if where == 0:
                    begin = text + name
                    names.add(file[begin : file.index(b"\0", begin)].decode())
    return names


@on_linux
def test_kernels_and_templates_call_nobody_else(texts):
    for name, text in texts.items():
        if not name.startswith("driver"):
            assert undefined_symbols(compile_object(text, Target.host())) == set(), name


@on_linux
def test_undefined_symbols_are_found():
    text = """
declare double @sin(double)
define double @f(double %x) {
  %y = call double @sin(double %x)
  ret double %y
}
"""
    assert undefined_symbols(compile_object(text, Target.host())) == {"sin"}


# -- other processors ------------------------------------------------------------------------

BASELINE = (
    Target("x86-64", "", 2) if backend.architecture() == "x86_64" else Target("generic", "", 2)
)


@pytest.mark.parametrize("unroll", [True, False])
@pytest.mark.parametrize(
    "make", [pp.examples.puma560, pp.examples.spacecraft, machines.rotor_bodies]
)
def test_a_processor_without_wide_registers_and_fused_products_computes_the_same(make, unroll):
    """What every x86-64 has: two lanes, no AVX, no FMA. Roundoff differs, no more."""
    expressions = (
        [C, Mass, T.T @ Mass @ T] if make is machines.rotor_bodies else [FALL, Mass, Mass.inv]
    )
    arrays = states(make(), 5)
    host = llvm(make(), expressions, unroll=unroll)
    with forced(BASELINE):
        model = make()
        plain = llvm(model, expressions, unroll=unroll)
        assert plain.info().lanes == 2
        points = llvm(model, X @ J, unroll=unroll)
        points(arrays[0], points=[model.bodies[-1].name])
    assert host.info().lanes == Target.host().lanes
    expected = numpy(make(), expressions)(*arrays)
    for one, other, right in zip(plain(*arrays), host(*arrays), expected, strict=True):
        largest = np.abs(right).max()
        assert np.abs(one - other).max() <= 1e-13 * largest
        assert np.abs(one - right).max() <= 1e-13 * largest
    alone = [plain(*(x[i] for x in arrays)) for i in range(5)]
    for o, together in enumerate(plain(*arrays)):
        assert np.array_equal([x[o] for x in alone], together)


@on_x86
def test_the_code_of_that_processor_has_no_wide_registers(tasks):
    text = backend.assembly(write_kernel(tasks[1], 2).text, BASELINE)
    assert "%xmm" in text
    assert not re.search(r"%[yz]mm|\bvfm|\bvmul", text)
    assert "vfm" in backend.assembly(write_kernel(tasks[1], 2).text, Target("x86-64-v3", "", 4))
