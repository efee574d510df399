"""From a graph to the code of one tile: cuts, frames, symbols, failing lanes, other processors."""

import ctypes
import re
import struct
import sys
from itertools import chain, pairwise

import machines
import numpy as np
import pytest
import random_graphs
from hypothesis import given, settings
from hypothesis import strategies as st
from test_function import FALL, WIDTHS, llvm, numpy, states
from test_trace import job_of

import phipsi as pp
from phipsi.backends import driver, looped, pieces
from phipsi.backends import llvm as backend
from phipsi.backends.elementary import FEW
from phipsi.backends.kernel import PART, write_kernel
from phipsi.backends.llvm import Target, compile_module, compile_object, forced
from phipsi.backends.partition import Partition, Task
from phipsi.graph.graph import Graph, Node
from phipsi.lowering.trace import trace
from phipsi.operators import C, J, Mass, T, X
from phipsi.scalars import cos, sin

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


def run_kernel(code, inputs, sizes, lanes, work, kind=np.float64):
    """Outputs (entries, lanes) and the lanes that failed, of inputs (entries, lanes)."""
    size = np.dtype(kind).itemsize

    def tile(values):
        memory = np.zeros(values.size + 64 // size, kind)
        start = -(memory.ctypes.data // size) % (64 // size)
        there = memory[start : start + values.size].reshape(values.shape)
        there[...] = values
        return there

    ins = [tile(np.asarray(x, kind)) for x in inputs]
    outs = [tile(np.full((n, lanes), np.nan)) for n in sizes]
    room = tile(np.full((work + 1, lanes), np.nan))
    pointers = [(ctypes.c_void_p * len(x))(*(y.ctypes.data for y in x)) for x in (ins, outs)]
    run = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4)
    failed = run(code.address("kernel"))(*pointers, room.ctypes.data, None)
    return outs, failed


# -- cuts ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tasks():
    """The last two are short, of few angles."""
    tree = machines.MARKET["tree_of_every_kind"]()
    many = machines.random_machine(1, 12, [machines.revolute], "tree")
    four = machines.random_machine(1, 4, [machines.revolute], "tree")
    large = [task_of(tree, FALL), task_of(many, Mass.inv), task_of(many, [Mass, C])]
    return [*large, task_of(pp.examples.puma560(), FALL), task_of(four, FALL)]


def check_order(task, partition):
    """Every node is there once, after all that it needs; what crosses has a place."""
    made = {x: i for i, part in enumerate(partition.parts) for x in part}
    at = {x: i for i, x in enumerate(chain.from_iterable(partition.parts))}
    assert len(at) == sum(map(len, partition.parts))
    looped = {x for x in task.live() if partition.is_looped(x)}
    leaves = {x for x in task.live() if x.op in ("input", "constant")}
    assert set(made) | looped | leaves == set(task.live())
    before_sines = len(partition.parts[0]) if partition.inline is None else partition.inline
    assert all(x in leaves or at[x] < before_sines for x in partition.angles)
    for node, i in made.items():
        for x in node.args:
            if x in looped:
                assert at[node] >= before_sines
            elif x not in leaves:
                assert at[x] < at[node] and made[x] <= i
            crosses = x in made and made[x] < i and not partition.is_absorbed(x)
            assert not crosses or x.op == "less" or x in partition.place


@pytest.mark.parametrize("limit", [*LIMITS, PART])
def test_parts_are_bounded_and_need_only_what_comes_before(tasks, limit):
    for task in tasks:
        partition = Partition(task, limit)
        assert all(len(part) <= limit for part in partition.parts)
        check_order(task, partition)


def test_few_nodes_with_few_angles_are_one_part(tasks):
    """As soon as they fit; many angles have a loop of their own however few the nodes are."""
    seen = set()
    for task in tasks:
        few = len(Partition(task, 50).angles) <= FEW
        nodes = sum(map(len, Partition(task, 10**9).parts))
        for limit in (nodes // 2, nodes - 1, nodes, nodes + 1):
            partition = Partition(task, limit)
            one = few and limit >= nodes
            assert (len(partition.parts) == 1) == (partition.inline is not None) == one
            assert all(len(part) <= limit for part in partition.parts)
            check_order(task, partition)
        seen.add(few)
    assert seen == {False, True}


@pytest.mark.parametrize("lanes", [1, 8])
def test_so_few_angles_and_no_more_are_taken_inline(lanes):
    for n in range(FEW + 3):
        graph = Graph()
        xs = [graph.input(("x", i)) for i in range(n)]
        outputs = (*(f(x + 0.5) for x in xs for f in (sin, cos)), graph.node(1.0))
        task = Task(graph, ("x",), (outputs,))
        assert len(Partition(task, PART).angles) == n
        kernel = write_kernel(task, lanes)
        assert kernel.parts == (1 if n <= FEW else 2)
        assert ("@sincos_array(" in kernel.text) == (n > FEW)
        assert ("call void @sincos_large(" in kernel.text) == (n > 0)
        code = compile_module(kernel.text, Target.host())
        values = np.random.default_rng(n).normal(0.0, 1e5, (n, lanes))
        [found], failed = run_kernel(code, [values], [2 * n + 1], lanes, kernel.work)
        right = np.stack([np.sin(values + 0.5), np.cos(values + 0.5)], axis=1)
        assert np.allclose(found[:-1], right.reshape(-1, lanes), rtol=1e-15, atol=0.0)
        assert (found[-1] == 1.0).all() and failed == 0


def test_quotients_of_the_first_input_take_turns_with_what_needs_no_quotient():
    """The rest, here the last five products, comes last."""
    graph = Graph()
    q, v = (graph.input((name, 0)) for name in "qv")
    quotients, motions = [q], [v]
    for i in range(20):
        quotients.append(1.0 / (quotients[-1] + (i + 1.0)))
        if i < 10:
            motions.append(v * (motions[-1] + (i + 1.0)))
    both = [x * y for x, y in zip(quotients[1:], motions[1:6], strict=False)]
    task = Task(graph, ("q", "v"), (tuple(both), (quotients[-1], motions[-1])))
    [part] = Partition(task, PART).parts
    check_order(task, Partition(task, PART))
    assert part[-5:] == both
    kinds = [("v", 0) in {x.data for x in graph.live([node])} for node in part[:-5]]
    assert (kinds.count(False), kinds.count(True)) == (40, 20)
    beside = np.cumsum(kinds)
    alone = np.arange(1, 61) - beside
    assert np.abs(2 * beside - alone).max() <= 2
    for kind in (False, True):
        numbers = [x.number for x, of_kind in zip(part, kinds, strict=False) if of_kind is kind]
        assert numbers == sorted(numbers)


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
    """Also where some of the angles are large."""
    rng = np.random.default_rng(2)
    for i, task in enumerate(tasks):
        keys = [
            x.data for x in task.graph.live([y for z in task.outputs for y in z]) if x.op == "input"
        ]
        sizes = [1 + max((e for name, e in keys if name == x), default=0) for x in task.inputs]
        inputs = [rng.uniform(-1.0, 1.0, (n, lanes)) for n in sizes]
        turned = [inputs[0] * np.where(rng.random(inputs[0].shape) < 0.2, 1e6, 1.0), *inputs[1:]]
        results, parts = [], []
        for limit in LIMITS:
            kernel = write_kernel(task, lanes, limit)
            code = compile_module(kernel.text, Target.host())
            lengths = [len(x) for x in task.outputs]
            runs = [run_kernel(code, x, lengths, lanes, kernel.work) for x in (inputs, turned)]
            results.append(runs)
            parts.append(kernel.parts)
        assert parts[0] > parts[1] > parts[2]
        assert (parts[2] == 1) == (i > 2)
        whole = results[0][: 1 + (i > 0)]  # the first has quaternions, which must not be large
        assert all(np.isfinite(x).any() for found, _ in whole for x in found)
        for runs in results[1:]:
            for (found, failed), (others, also_failed) in zip(results[0], runs, strict=True):
                assert failed == also_failed
                for x, y in zip(found, others, strict=True):
                    assert np.array_equal(x, y, equal_nan=True)


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


def as_task(drawn):
    program, outputs, checks = drawn
    graph = Graph()
    leaves = [graph.input((name, i)) for name in "xy" for i in range(LEAVES // 2)]
    nodes = random_graphs.run(program, leaves, random_graphs.TAME)
    wanted = tuple(tuple(graph.node(nodes[i]) for i in places) for places in outputs)
    wanted += ((graph.zero, graph.node(2.5), leaves[0], graph.zero, graph.zero),)
    conditions = (graph.less(graph.node(nodes[i]), graph.node(nodes[j])) for i, j in checks)
    checked = tuple(x for x in conditions if isinstance(x, Node) and x.op == "less")
    return Task(graph, ("x", "y"), wanted, checked), leaves


@given(random_tasks(), st.integers(2, 60))
def test_parts_of_random_graphs_need_only_what_comes_before(drawn, limit):
    task, _ = as_task(drawn)
    partition = Partition(task, limit)
    check_order(task, partition)
    assert partition.inline is None or len(partition.parts[0]) <= limit
    assert all(len(part) <= limit for part in partition.parts[1:])


@given(
    random_tasks(),
    st.sampled_from(WIDTHS),
    st.integers(2, 9),
    st.sampled_from((1e5, 1e18, 1e300, np.inf)),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=40)
def test_numbers_of_any_size_give_the_same_bits_however_a_graph_is_cut(
    drawn, lanes, limit, scale, seed
):
    """Large angles, infinities and NaN in some lanes are done apart, inline or not."""
    task, _ = as_task(drawn)
    rng = np.random.default_rng(seed)
    values = rng.uniform(-2.0, 2.0, (LEAVES, lanes))
    values[rng.random(values.shape) < 0.3] *= scale
    results = []
    for parts in (limit, 10_000):
        kernel = write_kernel(task, lanes, parts)
        code = compile_module(kernel.text, Target.host())
        sizes = [len(x) for x in task.outputs]
        results.append(run_kernel(code, np.split(values, 2), sizes, lanes, kernel.work))
    (one, failed), (other, also_failed) = results
    assert all(np.array_equal(x, y, equal_nan=True) for x, y in zip(one, other, strict=True))
    assert failed == also_failed


@given(random_tasks(), st.sampled_from(WIDTHS), st.integers(2, 9), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_kernels_of_random_graphs_compute_them(drawn, lanes, limit, seed):
    """Against NumPy; cut into parts of a few nodes, or not at all, with the same bits."""
    whole, leaves = as_task(drawn)
    graph, wanted, checked = whole.graph, whole.outputs, whole.checks
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


ANGLES = {  # of x, each with its outputs and what must be positive
    "sines and nothing else": lambda x: ((sin(x), cos(x)), ()),
    "a cosine twice": lambda x: ((cos(x), cos(x), cos(-x)), ()),
    "inputs and numbers beside": lambda x: ((x, sin(x), 0.0 * x, 2.5, x), ()),
    "an angle that is an output": lambda x: ((3.0 * x + 1.0, sin(3.0 * x + 1.0)), ()),
    "an angle that is checked": lambda x: ((cos(2.0 * x),), (2.0 * x,)),
    "a sine that is checked": lambda x: ((x,), (sin(x),)),
    "a sine of a sine": lambda x: ((sin(sin(x)), cos(1e6 * cos(x) + x)), ()),
    "an angle of a fused product": lambda x: ((sin(x * x - 2.0), x + 1.0), ()),
    "no angle": lambda x: ((x + 1.0, x * x), (x,)),
    "nothing": lambda x: ((x, 0.0 * x, 1.0), ()),
}


@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize("name", ANGLES)
def test_angles_are_taken_inline_wherever_they_come_from(name, lanes):
    graph = Graph()
    leaf = graph.input(("x", 0))
    outputs, positive = ANGLES[name](leaf)
    checks = tuple(graph.less(0.0, x) for x in positive)
    task = Task(graph, ("x",), (tuple(map(graph.node, outputs)),), checks)
    assert Partition(task, PART).inline is not None
    kernel = write_kernel(task, lanes)
    assert kernel.parts == 1
    code = compile_module(kernel.text, Target.host())
    rng = np.random.default_rng(5)
    for large in (0.3, 1e7, -1e18, np.inf, np.nan):
        for lane in range(lanes):
            x = rng.uniform(-3.0, 3.0, lanes)
            x[lane] = large
            [found], failed = run_kernel(code, [x[None]], [len(outputs)], lanes, kernel.work)
            with np.errstate(invalid="ignore"):
                right = graph.evaluate(task.outputs[0], {("x", 0): x})
                truths = graph.evaluate(checks, {("x", 0): x})
            for row, numbers in zip(found, right, strict=True):
                assert np.allclose(row, numbers, rtol=1e-15, atol=1e-9, equal_nan=True)
            good = np.all([np.ones(lanes, bool), *truths], axis=0)
            assert failed == sum(1 << i for i in range(lanes) if not good[i])


# -- the stack, and what is called -----------------------------------------------------------


def rolled_texts(model, expression):
    """The modules of rolled code."""
    texts, compile_text = [], pieces.compile_module
    looped._programs.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            pieces, "compile_module", lambda *x: (texts.append(x[0]), compile_text(*x))[1]
        )
        patch.setattr(pieces, "_walks", {})
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
