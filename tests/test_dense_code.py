"""Dense systems in machine code: numbers, pivots, alarms, and the memory they touch."""

import ctypes
import re
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hand_kernels import WIDTHS, target
from hypothesis import given
from hypothesis import strategies as st

from phipsi.backends import dense, llvm
from phipsi.backends.real import REALS
from phipsi.graph.graph import Graph
from phipsi.lowering.steps.arithmetic import eliminated
from phipsi.lowering.trace import DENSE_ALERT, Checks
from phipsi.lowering.watch import SINGULAR

POSITIVE, SOLVE, INVERSE = NAMES = ("dense_solve_positive", "dense_solve", "dense_inverse")
PLACES = ("host", "baseline")
SIZES = (*range(1, 41), 200)
GAP = 3  # numbers between the regions of the workspace
CANARY = 12345.678

every_width = pytest.mark.parametrize("lanes", WIDTHS)
everywhere = pytest.mark.parametrize("where", PLACES)
widths, places = st.sampled_from(WIDTHS), st.sampled_from(PLACES)


# -- calling -----------------------------------------------------------------------------------


@cache
def compiled(where, lanes, real):
    return llvm.compile_module(dense.source(lanes, real), target(where, lanes, real))


def aligned(numbers, kind):
    """Memory that begins at a multiple of 64 bytes."""
    line = 64 // kind.bytes
    memory = np.empty(numbers + line, kind.dtype)
    return memory[-memory.ctypes.data // kind.bytes % line :][:numbers]


def run(name, A, b=None, where="host", dirt=np.nan, real="double"):
    """Solve or invert one matrix per lane; no other memory may be touched.

    Returns the result of each lane, and the lanes that are complained of.
    """
    A = np.asarray(A, float)
    lanes, n = A.shape[:2]
    b = np.zeros((lanes, n)) if b is None else np.asarray(b, float)
    shape = (n, n) if name == INVERSE else (n,)
    sizes = [n * n, n, int(np.prod(shape)), dense.scratch(n)]
    starts = [GAP * (k + 1) + sum(sizes[:k]) for k in range(4)]
    work = aligned((starts[-1] + sizes[-1] + GAP) * lanes, REALS[real]).reshape(-1, lanes)
    work[:] = CANARY
    regions = [work[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    regions[0][:], regions[1][:] = A.reshape(lanes, -1).T, b.T
    regions[2][:], regions[3][:] = dirt, dirt
    before = work.copy()
    row = np.array([0, 0, 64, n, *starts], np.int64)
    row_code = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4)
    address = compiled(where, lanes, real).address(name)
    failed = row_code(address)(None, None, work.ctypes.data, row.ctypes.data)
    result = regions[2].T.reshape(lanes, *shape).copy()
    for k in (2, 3):
        before[starts[k] : starts[k] + sizes[k]] = regions[k]
    assert before.tobytes() == work.tobytes(), "A, b or what lies around has changed"
    assert 0 <= failed < 1 << lanes
    return result, {lane for lane in range(lanes) if failed >> lane & 1}


def turned(rng, values):
    """Q diag(values) Q* of a random rotation Q, per lane."""
    lanes, n = values.shape
    Q, _ = np.linalg.qr(rng.standard_normal((lanes, n, n)))
    return Q @ (values[:, :, None] * np.swapaxes(Q, 1, 2))


def harmless(rng, lanes, n):
    """Matrices without symmetry whose singular values are between 1 and 10."""
    Q, _ = np.linalg.qr(rng.standard_normal((2, lanes, n, n)))
    return Q[0] * rng.uniform(1.0, 10.0, (lanes, 1, n)) @ Q[1]


def assert_close(x, y, tolerance=1e-12):
    """Of each lane, relative to its largest entry."""
    axes = tuple(range(1, np.ndim(y)))
    size = np.abs(y).max(axis=axes, keepdims=True)
    assert np.all(np.abs(x - y) <= tolerance * size)


# -- numbers -----------------------------------------------------------------------------------


@everywhere
@every_width
def test_solutions_of_positive_systems_equal_those_of_numpy(where, lanes):
    rng = np.random.default_rng(1)
    for n in SIZES:
        A, b = turned(rng, rng.uniform(1.0, 10.0, (lanes, n))), rng.standard_normal((lanes, n))
        x, failed = run(POSITIVE, A, b, where)
        assert not failed
        assert_close(x, np.linalg.solve(A, b[..., None])[..., 0])


@everywhere
@every_width
def test_solutions_of_any_system_equal_those_of_numpy(where, lanes):
    rng = np.random.default_rng(2)
    for n in SIZES:
        A, b = harmless(rng, lanes, n), rng.standard_normal((lanes, n))
        x, failed = run(SOLVE, A, b, where)
        assert not failed
        assert_close(x, np.linalg.solve(A, b[..., None])[..., 0])


@everywhere
@every_width
def test_inverses_equal_those_of_numpy(where, lanes):
    rng = np.random.default_rng(3)
    for n in SIZES:
        for A in (harmless(rng, lanes, n), turned(rng, rng.uniform(1.0, 10.0, (lanes, n)))):
            inverse, failed = run(INVERSE, A, None, where)
            assert not failed
            assert_close(inverse, np.linalg.inv(A))


def test_a_solution_fits_its_equations_where_the_inverse_would_not():
    """|A x - b| is a rounding error of |A| |x|, however ill-conditioned A is."""
    rng = np.random.default_rng(4)
    n, lanes = 20, 8
    Q, _ = np.linalg.qr(rng.standard_normal((2, lanes, n, n)))
    A = Q[0] * np.logspace(0, -10, n) @ Q[1]
    b = (A @ rng.standard_normal((lanes, n, 1)))[..., 0]
    x, failed = run(SOLVE, A, b)
    assert not failed
    size = np.abs(A).sum(axis=-1).max(axis=-1) * np.abs(x).max(axis=-1)
    assert np.all(np.abs((A @ x[..., None])[..., 0] - b).max(axis=-1) < 1e-14 * size)


@everywhere
@every_width
def test_products_are_added_to_what_is_there(where, lanes):
    """C + A B of every shape about a block of columns, in the workspace and in an output."""
    rng = np.random.default_rng(10)
    kind = REALS["double"]
    address = compiled(where, lanes, "double").address("dense_multiply")
    row_code = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4)
    for n, k, m in [(1, 1, 1), (3, 6, 5), (6, 12, 8), (7, 6, 17), (2, 0, 3), (0, 4, 4)]:
        A, B, C = (rng.standard_normal((lanes, *x)) for x in ((n, k), (k, m), (n, m)))
        starts = [GAP, 2 * GAP + n * k, 3 * GAP + n * k + k * m]
        work = aligned((starts[-1] + n * m + GAP) * lanes, kind).reshape(-1, lanes)
        output = aligned((n * m + GAP) * lanes, kind).reshape(-1, lanes)
        for into, place, area in ((work, starts[2], -1), (output, 0, 1)):
            work[:] = output[:] = CANARY
            for block, start in ((A, starts[0]), (B, starts[1])):
                work[start : start + block[0].size] = block.reshape(lanes, -1).T
            into[place : place + n * m] = C.reshape(lanes, -1).T
            before = work.copy(), output.copy()
            fields = -1, starts[0], -1, starts[1], area, place
            row = np.array([0, 0, 96, n, k, m, *fields], np.int64)
            outs = np.array([0, output.ctypes.data], np.int64)
            found = row_code(address)(None, outs.ctypes.data, work.ctypes.data, row.ctypes.data)
            assert found == 0
            result = into[place : place + n * m].T.reshape(lanes, n, m)
            if n:
                assert_close(result, C + A @ B)
            into[place : place + n * m] = C.reshape(lanes, -1).T
            assert [x.tobytes() for x in before] == [work.tobytes(), output.tobytes()]


@everywhere
@every_width
def test_adjoints_of_products_are_added_to_what_is_there(where, lanes):
    """A + C B* and B + A* C, with C in the workspace or an argument."""
    rng = np.random.default_rng(11)
    kind = REALS["double"]
    row_code = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4)
    for n, k, m in [(1, 1, 1), (3, 6, 5), (7, 6, 17), (2, 0, 3)]:
        A, B, C = (rng.standard_normal((lanes, *x)) for x in ((n, k), (k, m), (n, m)))
        starts = [GAP, 2 * GAP + n * k, 3 * GAP + n * k + k * m]
        for routine in ("dense_multiply_right", "dense_multiply_left"):
            address = compiled(where, lanes, "double").address(routine)
            for area in (-1, 1):
                work = aligned((starts[-1] + n * m + GAP) * lanes, kind).reshape(-1, lanes)
                weight = aligned((n * m + GAP) * lanes, kind).reshape(-1, lanes)
                for block, start in zip((A, B, C), starts, strict=True):
                    work[start : start + block[0].size] = block.reshape(lanes, -1).T
                weight[: n * m] = C.reshape(lanes, -1).T
                of_A, of_B = (-1, starts[0]), (-1, starts[1])
                of_C = (-1, starts[2]) if area < 0 else (area, 0)
                is_right = routine == "dense_multiply_right"
                order = (of_C, of_B, of_A) if is_right else (of_A, of_C, of_B)
                row = np.array([0, 0, 96, n, k, m, *order[0], *order[1], *order[2]], np.int64)
                ins = np.array([0, weight.ctypes.data], np.int64)
                found = row_code(address)(ins.ctypes.data, None, work.ctypes.data, row.ctypes.data)
                assert found == 0
                place, shape = (starts[0], (n, k)) if is_right else (starts[1], (k, m))
                result = work[place : place + shape[0] * shape[1]].T.reshape(lanes, *shape)
                if result.size:
                    right = A + C @ B.swapaxes(1, 2) if is_right else B + A.swapaxes(1, 2) @ C
                    assert_close(result, right)


def test_nothing_is_done_without_rows():
    for name in NAMES:
        assert run(name, np.zeros((8, 0, 0)))[1] == set()


def branched(rng, lanes, n):
    """Positive matrices of trees, zero between unrelated branches; one lane has more zeros."""
    parents = [int(rng.integers(-1, k)) for k in range(n)]
    A = np.zeros((lanes, n, n))
    for k in range(n):
        A[:, k, k] = 1.0 + n
        j = parents[k]
        while j >= 0:
            A[:, k, j] = A[:, j, k] = rng.uniform(-1.0, 1.0, lanes)
            j = parents[j]
    A[0, n // 2, : n // 2] = A[0, : n // 2, n // 2] = 0.0
    return A


@everywhere
@every_width
def test_zeros_of_some_lanes_or_of_all_change_nothing(where, lanes):
    rng = np.random.default_rng(5)
    for n in (2, 5, 12, 31):
        A, b = branched(rng, lanes, n), rng.standard_normal((lanes, n))
        right = np.linalg.inv(A)
        for name in (POSITIVE, SOLVE):
            x, failed = run(name, A, b, where)
            assert not failed
            assert_close(x, (right @ b[..., None])[..., 0])
        assert_close(run(INVERSE, A, None, where)[0], right)


@given(st.sampled_from(NAMES), places, st.sampled_from(WIDTHS[1:]), st.integers(1, 20), st.data())
def test_a_lane_has_the_same_bits_alone_and_among_others(name, where, lanes, n, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    A, b = rng.standard_normal((lanes, n, n)), rng.standard_normal((lanes, n))
    A *= rng.random((lanes, n, n)) < data.draw(st.sampled_from((0.3, 0.8, 1.0)))
    if name == POSITIVE:
        A = A @ np.swapaxes(A, 1, 2) + np.eye(n)
    together, failed = run(name, A, b, where)
    for lane in range(lanes):
        alone, complaint = run(name, A[lane : lane + 1], b[lane : lane + 1], where)
        assert complaint == ({0} if lane in failed else set())
        if lane not in failed:
            assert np.array_equal(together[lane], alone[0])


@pytest.mark.parametrize("name", NAMES)
def test_what_the_workspace_held_before_does_not_matter(name):
    rng = np.random.default_rng(6)
    for n in (1, 3, 4, 7, 8, 15, 23):
        A, b = turned(rng, rng.uniform(1.0, 2.0, (8, n))), rng.standard_normal((8, n))
        results = [run(name, A, b, dirt=dirt)[0] for dirt in (np.nan, 0.0, -np.inf, 1e300)]
        assert all(np.array_equal(x, results[0]) for x in results)


@every_width
def test_of_a_positive_matrix_only_the_lower_triangle_is_read(lanes):
    rng = np.random.default_rng(7)
    A, b = turned(rng, rng.uniform(1.0, 2.0, (lanes, 9))), rng.standard_normal((lanes, 9))
    right = run(POSITIVE, A, b)
    A[:, *np.triu_indices(9, 1)] = np.nan
    x, failed = run(POSITIVE, A, b)
    assert np.array_equal(x, right[0])
    assert failed == right[1] == set()


# -- pivots ------------------------------------------------------------------------------------


@everywhere
@every_width
def test_permutations_that_differ_between_lanes_are_inverted_exactly(where, lanes):
    rng = np.random.default_rng(8)
    for n in (1, 2, 3, 6, 9, 17, 40):
        A = np.stack([np.eye(n)[rng.permutation(n)] for _ in range(lanes)])
        A *= 2.0 ** rng.integers(-9, 9, (lanes, n, 1))
        b = rng.standard_normal((lanes, n))
        inverse, failed = run(INVERSE, A, None, where)
        assert not failed
        assert np.array_equal(inverse @ A, np.broadcast_to(np.eye(n), A.shape))
        assert np.array_equal((A @ run(SOLVE, A, b, where)[0][..., None])[..., 0], b)


@everywhere
@every_width
def test_matrices_with_a_zero_diagonal_are_solved(where, lanes):
    """[[0, J], [J*, W]] with more and more zeros on its diagonal, then a diagonal of zeros."""
    rng = np.random.default_rng(9)
    for n in (2, 3, 8, 13, 32):
        A = harmless(rng, lanes, n)
        A[:, range(n // 2), range(n // 2)] = 0.0
        A[0, range(n), range(n)] = 0.0
        b = rng.standard_normal((lanes, n))
        right = np.linalg.inv(A)
        inverse, failed = run(INVERSE, A, None, where)
        assert not failed
        condition = np.linalg.cond(A).max()
        assert_close(inverse, right, 1e-14 * condition)
        assert_close(run(SOLVE, A, b, where)[0], (right @ b[..., None])[..., 0], 1e-14 * condition)


@given(st.integers(0, 2**32 - 1), st.floats(1e-18, 1e-14))
def test_a_tiny_pivot_is_not_divided_by(seed, tiny):
    """Elimination from [[tiny, 1], [1, 1]] without exchanging rows would lose every digit."""
    n = 6
    A = harmless(np.random.default_rng(seed), 8, n)
    A[:, :2, :] = A[:, :, :2] = 0.0
    A[:, :2, :2] = [[tiny, 1.0], [1.0, 1.0]]
    A[:, range(2, n), range(2, n)] += 30.0
    assert_close(run(INVERSE, A)[0], np.linalg.inv(A))


def exact_inverse(A):
    """A^-1 in fractions, or None."""
    n = len(A)
    rows = [[*map(Fraction, row), *(Fraction(i == j) for j in range(n))] for i, row in enumerate(A)]
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(n):
            if i != k:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    return np.array([[float(x) for x in row[n:]] for row in rows])


@st.composite
def integer_matrices(draw):
    """One small matrix of small integers per lane, some of them singular."""
    lanes, n = draw(widths), draw(st.integers(1, 6))
    entries = st.lists(st.integers(-3, 3), min_size=n * n, max_size=n * n)
    matrices = [np.reshape(draw(entries), (n, n)) for _ in range(lanes)]
    for A in matrices:
        if n > 1 and draw(st.booleans()):
            i, j = draw(st.permutations(range(n)))[:2]
            A[i] = draw(st.integers(-2, 2)) * A[j]
    return np.array(matrices)


@given(integer_matrices(), places)
def test_exactly_the_lanes_with_singular_matrices_are_complained_of(A, where):
    """det A is an integer: a matrix is singular, or its inverse has no entry above 3^5 5!."""
    right = [exact_inverse(x) for x in A.tolist()]
    singular = {lane for lane, inverse in enumerate(right) if inverse is None}
    b = np.arange(1.0, 1.0 + A.shape[-1]) * np.ones((len(A), 1))
    inverse, failed = run(INVERSE, A, None, where)
    x, complaints = run(SOLVE, A, b, where)
    assert failed == complaints == singular
    for lane in set(range(len(A))) - singular:
        assert_close(inverse[lane : lane + 1], right[lane][None], 1e-10)
        assert np.allclose(A[lane] @ x[lane], b[lane], rtol=0.0, atol=1e-9)


# -- alarms ------------------------------------------------------------------------------------


def complains(A, eliminate=None, real="double"):
    """What the checks of a graph say of one matrix."""
    checks = Checks(Graph(), real)
    checks("dense", A.tolist(), None, eliminate)
    return bool(checks.found)


@st.composite
def sheared(draw):
    """Matrices in which one entry of |A^-1| |A| is known, 2 t, and the others are at most 1.

    Rows are exchanged and scaled by powers of two, which changes nothing of it.
    """
    lanes, n = draw(widths), draw(st.integers(2, 9))
    shares = st.one_of(st.floats(0.1, 0.999), st.floats(1.001, 10.0), st.just(0.0))
    found = [draw(shares) for _ in range(lanes)]
    A = np.tile(np.eye(n), (lanes, 1, 1))
    for lane, share in enumerate(found):
        i, j = draw(st.permutations(range(n)))[:2]
        A[lane, i, j] = 0.5 * SINGULAR * share
        A[lane] = A[lane][draw(st.permutations(range(n)))]
        A[lane] *= 2.0 ** draw(st.integers(-40, 40))
        A[lane, draw(st.integers(0, n - 1))] *= 2.0 ** draw(st.integers(-40, 40))
    return A, {lane for lane, share in enumerate(found) if share > 1.0}


@given(sheared(), places)
def test_an_inverse_without_digits_is_complained_of_and_no_other(case, where):
    A, singular = case
    assert run(INVERSE, A, None, where)[1] == singular
    assert run(SOLVE, A, A[:, 0], where)[1] == singular
    assert {lane for lane, x in enumerate(A) if complains(x)} == singular


def test_many_entries_below_the_limit_are_fine_though_their_sum_is_not():
    n = 12
    A = np.eye(n)
    A[0, 1:] = 0.25 * SINGULAR
    sums = (np.abs(np.linalg.inv(A)) @ np.abs(A)).sum(axis=1)
    assert sums.max() > 5.0 * SINGULAR
    assert run(INVERSE, [A] * 4)[1] == set()
    A[0, 5] *= 2.1
    assert run(INVERSE, [np.eye(n), A, np.eye(n), A])[1] == {1, 3}


@st.composite
def nearly_singular(draw):
    """Positive matrices that have a pivot e beside the diagonal entry 1 + e."""
    lanes, n = draw(widths), draw(st.integers(2, 9))
    shares = st.one_of(st.floats(0.01, 0.999), st.floats(1.001, 100.0), st.just(1e9))
    found = [draw(shares) for _ in range(lanes)]
    A = np.tile(np.eye(n), (lanes, 1, 1))
    for lane, share in enumerate(found):
        i, j = sorted(draw(st.permutations(range(n)))[:2])
        A[lane, i, i] = 1.0 + DENSE_ALERT * share
        A[lane, i, j] = A[lane, j, i] = 1.0
        unit = 2.0 ** draw(st.integers(-20, 20))
        A[lane] *= unit
    return A, {lane for lane, share in enumerate(found) if share < 1.0}


@given(nearly_singular(), places)
def test_a_pivot_that_nearly_vanishes_is_complained_of_and_no_other(case, where):
    A, singular = case
    assert run(POSITIVE, A, A[:, 0], where)[1] == singular
    assert {lane for lane, x in enumerate(A) if complains(x, eliminated)} == singular


@given(widths, places, st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_exactly_the_lanes_that_are_not_positive_are_complained_of(lanes, where, n, seed):
    rng = np.random.default_rng(seed)
    values = rng.uniform(1.0, 10.0, (lanes, n))
    indefinite = rng.random(lanes) < 0.5
    values[indefinite, rng.integers(0, n)] *= -1.0
    b = rng.standard_normal((lanes, n))
    A = turned(rng, values)
    x, failed = run(POSITIVE, A, b, where)
    assert failed == set(np.flatnonzero(indefinite))
    right = np.linalg.solve(A, b[..., None])[..., 0]
    assert_close(x[~indefinite], right[~indefinite])


@every_width
def test_zero_matrices_are_complained_of(lanes):
    for name in NAMES:
        for n in (1, 2, 3, 4, 5, 7, 8, 9, 16):
            A = np.tile(np.eye(n), (lanes, 1, 1))
            A[lanes // 2] = 0.0
            A[-1, n - 1, n - 1] = -0.0
            assert run(name, A)[1] == {lanes // 2, lanes - 1}


NO_NUMBERS = (np.nan, np.inf, -np.inf)


@st.composite
def spoiled(draw):
    """Positive matrices, of which one has an entry that is no number; which lane that is."""
    lanes, n = draw(widths), draw(st.integers(1, 12))
    lane, i, j = (draw(st.integers(0, size - 1)) for size in (lanes, n, n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    A = turned(rng, rng.uniform(1.0, 10.0, (lanes, n)))
    A[lane, i, j] = A[lane, j, i] = draw(st.sampled_from(NO_NUMBERS))
    return A, rng.standard_normal((lanes, n)), lane


@given(st.sampled_from(NAMES), spoiled(), places)
def test_what_is_no_number_is_complained_of_in_its_lane_alone(name, case, where):
    A, b, lane = case
    result, failed = run(name, A, b, where)
    assert failed == {lane}
    others = np.arange(len(A)) != lane
    inverse = np.linalg.inv(A[others])
    right = inverse if name == INVERSE else (inverse @ b[others, :, None])[..., 0]
    assert_close(result[others], right)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", NO_NUMBERS)
def test_what_is_no_number_is_noticed_among_zeros(name, value):
    for lanes in (1, 8):
        for i, j in np.ndindex(3, 3):
            A = np.tile(np.eye(3), (lanes, 1, 1))
            A[-1, i, j] = value
            expected = set() if name == POSITIVE and i < j else {lanes - 1}
            assert run(name, A)[1] == expected


# -- code --------------------------------------------------------------------------------------


@everywhere
@every_width
def test_nothing_outside_of_the_module_is_called(where, lanes):
    text = dense.source(lanes)
    assembly = llvm.assembly(text, target(where, lanes))
    assert all(x.startswith("llvm.") for x in re.findall(r"declare .*? @([\w.]+)\(", text))
    own = set(re.findall(r"define .*? @(\w+)\(", text))
    assert own >= set(NAMES)
    if llvm.architecture() == "x86_64":
        called = set(re.findall(r"\bcallq?\s+(\S+)", assembly))
        addresses = set(re.findall(r"movabsq\s+\$([A-Za-z]\w*)", assembly))
        assert called
        assert {x for x in called if not x.startswith("*")} | addresses <= own
