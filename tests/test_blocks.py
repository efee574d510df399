"""The algebra of small blocks: against NumPy, exact in its structure, counted in its cost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from phipsi import spatial
from phipsi.lowering import blocks
from phipsi.lowering.counting import Counted, Tally, counting

BATCH = 5
# How to draw one scalar of each kind.
KINDS = {
    "float": lambda rng: float(rng.normal()),
    "complex": lambda rng: complex(*rng.normal(size=2)),
    "array": lambda rng: rng.normal(size=BATCH),
}
UNIT_Z = [[0], [0], [1], [0], [0], [0]]  # H* of a revolute joint about z

every_kind = pytest.mark.parametrize("kind", KINDS)
seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 6)


def is_structural(x):
    return type(x) is int


def draw_vector(rng, n, kind, structure=0.5):
    """Numbers of a kind; a share of the entries are zeros and ones of the structure."""
    return [
        int(rng.integers(2)) if rng.random() < structure else KINDS[kind](rng) for _ in range(n)
    ]


def draw_matrix(rng, n, m, kind, structure=0.5):
    return [draw_vector(rng, m, kind, structure) for _ in range(n)]


def draw_symmetric(rng, n, kind, structure=0.5):
    rows = draw_matrix(rng, n, n, kind, structure)
    return [[rows[min(i, j)][max(i, j)] for j in range(n)] for i in range(n)]


def full(block):
    """A block as an array, (BATCH, rows) or (BATCH, rows, columns)."""
    if block and isinstance(block[0], list):
        return np.stack([full(row) for row in block], axis=-2)
    return np.stack([np.broadcast_to(x, BATCH) for x in block], axis=-1)


def listed(array):
    """The last two axes of an array as rows; the scalars are floats or arrays over the others."""
    if array.ndim == 2:
        return array.tolist()
    return [[array[..., i, j] for j in range(array.shape[-1])] for i in range(array.shape[-2])]


def star(A):
    return np.swapaxes(A, -1, -2)


def entries(block):
    return [x for row in block for x in (row if isinstance(row, list) else [row])]


def structure(block):
    """The entries, numbers left out."""
    return [x if is_structural(x) else None for x in entries(block)]


def is_mirrored(W):
    """Whether each symmetric pair of entries is one object."""
    return all(W[i][j] is W[j][i] for i in range(len(W)) for j in range(i))


def count(function, *shapes):
    """What a function of full blocks costs; () is a scalar, (n,) a vector, (n, m) a matrix."""
    with counting() as tally:
        function(*(numbers(tally, *shape) for shape in shapes))
    return tally


def numbers(tally, *shape):
    return [numbers(tally, *shape[1:]) for _ in range(shape[0])] if shape else tally.number()


# -- scalars ---------------------------------------------------------------------------


def test_zeros_and_ones_fold_to_what_they_determine():
    x = object()  # no arithmetic at all: only folding can answer
    assert blocks.plus(0, x) is x
    assert blocks.plus(x, 0) is x
    assert blocks.minus(x, 0) is x
    assert blocks.times(1, x) is x
    assert blocks.times(x, 1) is x
    assert blocks.over(x, 1) is x
    for zero in (
        *(blocks.times(0, x), blocks.times(x, 0), blocks.over(0, x)),
        *(blocks.plus(0, 0), blocks.minus(0, 0), blocks.minus(1, 1), blocks.negative(0)),
    ):
        assert blocks.is_zero(zero)
    for one in (blocks.plus(0, 1), blocks.minus(1, 0), blocks.times(1, 1), blocks.over(1, 1)):
        assert blocks.is_one(one)


def test_what_is_neither_zero_nor_one_is_a_number():
    for result, expected in (
        (blocks.plus(1, 1), 2.0),
        (blocks.minus(0, 1), -1.0),
        (blocks.negative(1), -1.0),
        (blocks.minus(2, 1), 1.0),
        (blocks.times(2, 3), 6.0),
        (blocks.over(1, 2), 0.5),
    ):
        assert type(result) is float
        assert result == expected


@pytest.mark.parametrize("x", [0.0, 1.0, False, True, np.int64(0), np.int64(1), np.float64(0.0)])
def test_numbers_that_happen_to_be_zero_or_one_are_no_structure(x):
    assert not blocks.is_zero(x)
    assert not blocks.is_one(x)


def test_zero_of_the_structure_swallows_what_is_not_finite_and_a_number_does_not():
    assert blocks.times(0, np.nan) == 0
    assert np.isnan(blocks.times(0.0, np.nan))
    assert blocks.dot([0, 2.0], [np.inf, 3.0]) == 6.0


def test_division_by_zero_of_the_structure_raises_whatever_is_divided():
    for x in (0, 1, 2.0, np.ones(3)):
        with pytest.raises(ZeroDivisionError, match="structure"):
            blocks.over(x, 0)


# -- every operation against NumPy -----------------------------------------------------

# name: (the operands' shapes, the same on arrays); W is a symmetric operand.
OPERATIONS = {
    "add": ("xx", lambda x, y: x + y),
    "subtract": ("xx", lambda x, y: x - y),
    "negate": ("x", lambda x: -x),
    "add_matrices": ("AA", lambda A, B: A + B),
    "subtract_matrices": ("AA", lambda A, B: A - B),
    "negate_matrix": ("A", lambda A: -A),
    "transpose": ("A", star),
    "cross": ("33", np.cross),
    "apply": ("Ax", lambda A, x: np.einsum("bij,bj->bi", A, x)),
    "apply_transposed": ("Ay", lambda A, y: np.einsum("bij,bi->bj", A, y)),
    "compose": ("AB", lambda A, B: A @ B),
    "compose_transposed": ("AA", lambda A, B: A @ star(B)),
    "transposed_compose": ("AA", lambda A, B: star(A) @ B),
    "congruence": ("AW", lambda A, W: A @ W @ star(A)),
    "congruence_transposed": ("BW", lambda B, W: star(B) @ W @ B),
}
MIRRORING = ("congruence", "congruence_transposed")
every_operation = pytest.mark.parametrize("name", OPERATIONS)


def draw_operands(rng, name, kind):
    """Operands that fit: A is n x m, B m x n, W m x m symmetric, x of m, y of n."""
    n, m = (int(size) for size in rng.integers(1, 7, 2))
    draws = {
        "x": lambda: draw_vector(rng, m, kind),
        "y": lambda: draw_vector(rng, n, kind),
        "3": lambda: draw_vector(rng, 3, kind),
        "A": lambda: draw_matrix(rng, n, m, kind),
        "B": lambda: draw_matrix(rng, m, n, kind),
        "W": lambda: draw_symmetric(rng, m, kind),
    }
    return [draws[letter]() for letter in OPERATIONS[name][0]]


@every_kind
@every_operation
@given(seed=seeds)
def test_operation_equals_that_of_numpy(name, kind, seed):
    operands = draw_operands(np.random.default_rng(seed), name, kind)
    result = getattr(blocks, name)(*operands)
    assert_allclose(full(result), OPERATIONS[name][1](*map(full, operands)), atol=1e-13)


@every_operation
@given(seed=seeds)
def test_structure_of_a_result_is_that_of_its_operands_not_of_their_numbers(name, seed):
    """Floats, batches and numbers without a value give zeros and ones at the same places."""
    operands = draw_operands(np.random.default_rng(seed), name, "float")
    with counting() as tally:
        swapped = [
            [[x if is_structural(x) else tally.number() for x in row] for row in operand]
            if isinstance(operand[0], list)
            else [x if is_structural(x) else tally.number() for x in operand]
            for operand in operands
        ]
        of_counted = getattr(blocks, name)(*swapped)
    assert structure(of_counted) == structure(getattr(blocks, name)(*operands))


@given(seed=seeds)
def test_entry_of_a_product_is_zero_by_structure_exactly_where_no_path_leads_to_it(seed):
    A, B = draw_operands(np.random.default_rng(seed), "compose", "float")
    paths = [[[not blocks.is_zero(x) for x in row] for row in C] for C in (A, B)]
    reached = np.array(paths[0], int) @ np.array(paths[1], int) > 0
    zero = [[blocks.is_zero(x) for x in row] for row in blocks.compose(A, B)]
    assert_array_equal(zero, ~reached)


@pytest.mark.parametrize("name", MIRRORING)
@given(seed=seeds)
def test_congruence_computes_each_symmetric_pair_once(name, seed):
    operands = draw_operands(np.random.default_rng(seed), name, "float")
    assert is_mirrored(getattr(blocks, name)(*operands))


@pytest.mark.parametrize("name", ["add_matrices", "subtract_matrices"])
@given(seed=seeds, n=sizes)
def test_sums_of_symmetric_matrices_are_mirrored_when_asked(name, seed, n):
    rng = np.random.default_rng(seed)
    V, W = draw_symmetric(rng, n, "float"), draw_symmetric(rng, n, "float")
    result = getattr(blocks, name)(V, W, symmetric=True)
    assert is_mirrored(result)
    assert result == getattr(blocks, name)(V, W)


@given(seed=seeds, n=sizes)
def test_multiples_of_a_symmetric_matrix_are_mirrored_when_asked(seed, n):
    W = draw_symmetric(np.random.default_rng(seed), n, "float")
    assert is_mirrored(blocks.negate_matrix(W, symmetric=True))
    assert blocks.negate_matrix(W, symmetric=True) == blocks.negate_matrix(W)
    assert is_mirrored(blocks.scale_matrix(0.3, W, symmetric=True))
    assert blocks.scale_matrix(0.3, W, symmetric=True) == blocks.scale_matrix(0.3, W)


@every_kind
@given(seed=seeds)
def test_scaling_equals_that_of_numpy(kind, seed):
    rng = np.random.default_rng(seed)
    factor, x, A = KINDS[kind](rng), draw_vector(rng, 4, kind), draw_matrix(rng, 3, 2, kind)
    c = np.asarray(factor)
    assert_allclose(full(blocks.scale(factor, x)), c.reshape(-1, 1) * full(x))
    assert_allclose(full(blocks.scale_matrix(factor, A)), c.reshape(-1, 1, 1) * full(A))
    assert blocks.scale(0, x) == blocks.zeros(4)
    assert blocks.scale_matrix(0, A) == blocks.zero_matrix(3, 2)


def test_zero_and_identity_are_all_structure():
    assert blocks.zeros(2) == [0, 0]
    assert blocks.zero_matrix(1, 2) == [[0, 0]]
    assert blocks.identity(2) == [[1, 0], [0, 1]]
    for block in (blocks.zeros(2), blocks.zero_matrix(2, 3), blocks.identity(3)):
        assert all(map(is_structural, entries(block)))


def test_rows_of_the_zero_matrix_are_separate():
    A = blocks.zero_matrix(2, 2)
    A[0][0] = 5.0
    assert A == [[5.0, 0], [0, 0]]


def test_blocks_that_do_not_fit_are_refused():
    for wrong in (
        lambda: blocks.add([1.0], [1.0, 2.0]),
        lambda: blocks.dot([1.0], [1.0, 2.0]),
        lambda: blocks.apply([[1.0, 2.0]], [1.0]),
        lambda: blocks.apply_transposed([[1.0, 2.0]], [1.0, 2.0]),
        lambda: blocks.compose([[1.0, 2.0]], [[1.0, 2.0]]),
    ):
        with pytest.raises(ValueError, match="zip"):
            wrong()


# -- inverses --------------------------------------------------------------------------

small_numbers = st.floats(-2.0, 2.0, allow_subnormal=False)


@st.composite
def positive_definite(draw):
    """A A* + I: the condition is at most 145."""
    n = draw(sizes)
    A = draw(arrays(float, (n, n), elements=small_numbers))
    return A @ A.T + np.eye(n)


@st.composite
def shuffled_dominant(draw):
    """Diagonally dominant, then its rows in any order: without pivoting most of them fail."""
    n = draw(sizes)
    A = draw(arrays(float, (n, n), elements=st.floats(-1.0, 1.0, allow_subnormal=False)))
    signs = draw(arrays(float, n, elements=st.sampled_from([-1.0, 1.0])))
    np.fill_diagonal(A, signs * (n + 1.0))
    return A[list(draw(st.permutations(range(n))))]


@given(W=positive_definite())
def test_symmetric_inverse_undoes_a_positive_definite_matrix(W):
    X = blocks.symmetric_inverse(W.tolist())
    assert_allclose(W @ X, np.eye(len(W)), atol=1e-11)
    assert is_mirrored(X)


@given(W=positive_definite())
def test_cholesky_factor_is_that_of_numpy_with_zeros_of_the_structure_above(W):
    L = blocks.cholesky(W.tolist())
    assert_allclose(L, np.linalg.cholesky(W), atol=1e-12)
    assert all(blocks.is_zero(x) for i, row in enumerate(L) for x in row[i + 1 :])


@given(A=shuffled_dominant())
def test_general_inverse_undoes_a_matrix_that_needs_pivoting(A):
    assert_allclose(A @ blocks.general_inverse(A.tolist()), np.eye(len(A)), atol=1e-11)


@pytest.mark.parametrize(
    "A",
    [
        [[0.0, 1.0], [1.0, 0.0]],
        [[0, 2.0], [3.0, 0]],
        [[1e-20, 1.0], [1.0, 1.0]],
        [[1.0, 2.0, 3.0], [2.0, 4.0, 1.0], [3.0, 1.0, 1.0]],  # the second pivot vanishes
        [[0.0, 0.0, -5.0], [0.0, 2.0, 1.0], [-3.0, 1.0, 1.0]],
        [[0, 0.0, 1], [1, 0, 0.0], [0.0, -2.0, 1]],
    ],
)
def test_general_inverse_exchanges_rows_for_the_largest_pivot(A):
    assert_allclose(blocks.general_inverse(A), np.linalg.inv(np.array(A, float)), rtol=1e-14)


@given(seed=seeds, n=sizes)
def test_each_member_of_a_batch_has_pivots_of_its_own(seed, n):
    rng = np.random.default_rng(seed)
    dominant = rng.uniform(-1.0, 1.0, (BATCH, n, n)) + (n + 1.0) * np.eye(n)
    A = np.stack([a[rng.permutation(n)] for a in dominant])
    assert_allclose(full(blocks.general_inverse(listed(A))), np.linalg.inv(A), atol=1e-11)


@given(seed=seeds, n=sizes)
def test_inverse_of_a_batch_is_the_inverse_of_each(seed, n):
    A = np.random.default_rng(seed).uniform(-2.0, 2.0, (BATCH, n, n))
    W = A @ star(A) + np.eye(n)
    assert_allclose(full(blocks.symmetric_inverse(listed(W))), np.linalg.inv(W), atol=1e-11)
    assert_allclose(full(blocks.cholesky(listed(W))), np.linalg.cholesky(W), atol=1e-11)


@pytest.mark.parametrize("inverse", [blocks.symmetric_inverse, blocks.general_inverse])
def test_complex_step_through_an_inverse_is_its_derivative(inverse):
    """d(W^-1) = -W^-1 dW W^-1."""
    rng = np.random.default_rng(3)
    W, dW = (A @ A.T + np.eye(4) for A in rng.normal(size=(2, 4, 4)))
    X = np.linalg.inv(W)
    stepped = np.array(inverse((W + 1e-30j * dW).tolist()))
    assert_allclose(stepped.real, X, rtol=1e-12)
    assert_allclose(stepped.imag / 1e-30, -X @ dW @ X, rtol=1e-11)


def test_complex_step_through_a_cholesky_factor_keeps_its_product():
    rng = np.random.default_rng(4)
    W, dW = (A @ A.T + np.eye(4) for A in rng.normal(size=(2, 4, 4)))
    L = np.array(blocks.cholesky((W + 1e-30j * dW).tolist()))
    assert_allclose((L @ L.T).real, W, rtol=1e-12)
    assert_allclose((L @ L.T).imag / 1e-30, dW, rtol=1e-12)


def sparse_positive_definite(rng, n):
    """Dominant, with zeros of the structure beside the diagonal and some ones on it."""
    W = draw_symmetric(rng, n, "float", structure=0.0)
    for i in range(n):
        for j in range(i):
            W[i][j] = W[j][i] = 0 if rng.random() < 0.6 else 0.1 * W[i][j]
        W[i][i] = 1 if rng.random() < 0.5 else 2.0 + W[i][i] ** 2
    return W


@given(seed=seeds, n=sizes)
def test_inverses_of_a_sparse_matrix_are_exact_where_they_are_structure(seed, n):
    W = sparse_positive_definite(np.random.default_rng(seed), n)
    X = np.linalg.inv(np.array(W, float))
    for inverse in (blocks.symmetric_inverse, blocks.general_inverse):
        result = inverse(W)
        assert_allclose(np.array(result, float), X, atol=1e-13)
        assert all(x in (0, 1) for x in entries(result) if is_structural(x))
    L = np.linalg.cholesky(np.array(W, float))
    assert_allclose(np.array(blocks.cholesky(W), float), L, atol=1e-13)


@given(seed=seeds, n=sizes)
def test_structure_of_an_inverse_does_not_depend_on_the_numbers(seed, n):
    rng = np.random.default_rng(seed)
    W = sparse_positive_definite(rng, n)
    with counting() as tally:
        V = [[x if is_structural(x) else tally.number() for x in row] for row in W]
        for inverse in (blocks.symmetric_inverse, blocks.general_inverse, blocks.cholesky):
            assert structure(inverse(V)) == structure(inverse(W))


def test_inverse_of_a_block_diagonal_matrix_keeps_its_blocks():
    A = [[0, 1, 0], [2.0, 0, 0], [0, 0, 4.0]]
    assert structure(blocks.general_inverse(A)) == [0, None, 0, 1, 0, 0, 0, 0, None]
    assert_allclose(blocks.general_inverse(A), np.linalg.inv(A))
    W = [[2.0, 1.0, 0], [1.0, 3.0, 0], [0, 0, 1]]
    for result in (blocks.symmetric_inverse(W), blocks.general_inverse(W)):
        assert structure(result) == [None, None, 0, None, None, 0, 0, 0, 1]


@given(order=st.permutations(range(5)))
def test_inverse_of_a_permutation_is_its_transpose_and_all_structure(order):
    A = [blocks.identity(5)[i] for i in order]
    result = blocks.general_inverse(A)
    assert result == blocks.transpose(A)
    assert all(map(is_structural, entries(result)))


def test_zero_that_a_row_exchange_moves_is_a_number_afterwards():
    """Which row holds the zero depends on x and y, so no place of the result is structure."""
    for x, y in ((1.0, 2.0), (2.0, 1.0)):
        result = blocks.general_inverse([[x, 0], [y, 1]])
        assert not any(map(is_structural, entries(result)))
        assert_allclose(result, np.linalg.inv([[x, 0.0], [y, 1.0]]))


@pytest.mark.parametrize("function", ["symmetric_inverse", "general_inverse", "cholesky"])
@pytest.mark.parametrize("W", [[[0]], [[2.0, 0], [0, 0]], [[1, 1], [1, 1]]])
def test_matrix_that_is_singular_by_structure_raises(function, W):
    with pytest.raises(ZeroDivisionError, match="structure"):
        getattr(blocks, function)(W)


def test_root_of_what_is_negative_whatever_the_state_raises():
    with pytest.raises(ZeroDivisionError, match="negative"):
        blocks.cholesky([[-1.0]])


def test_symmetric_matrix_is_read_from_its_upper_triangle():
    nan = np.nan
    W, upper = [[4.0, 1.0], [1.0, 3.0]], [[4.0, 1.0], [nan, 3.0]]
    assert blocks.symmetric_inverse(upper) == blocks.symmetric_inverse(W)
    assert blocks.cholesky(upper) == blocks.cholesky(W)


# -- spatial cross products ------------------------------------------------------------

CROSSES = {
    "cross_motion": spatial.cross_motion,
    "cross_force": spatial.cross_force,
    "cross_adjoint": spatial.cross_adjoint,
}
every_cross = pytest.mark.parametrize("name", CROSSES)


@every_kind
@every_cross
@given(seed=seeds)
def test_cross_product_equals_its_matrix(name, kind, seed):
    rng = np.random.default_rng(seed)
    z, x = draw_vector(rng, 6, kind), draw_vector(rng, 6, kind)
    matrix = full(CROSSES[name](z))
    assert_allclose(full(getattr(blocks, f"{name}_matrix")(z)), matrix)
    expected = (matrix @ full(x)[..., None])[..., 0]
    assert_allclose(full(getattr(blocks, name)(z, x)), expected, atol=1e-13)


def test_cross_products_are_related_as_printed():
    """S[z] = -(z~)* and S[x] z = -Q[z] x [000 (2.7), (2.9)]."""
    rng = np.random.default_rng(5)
    z, x = rng.normal(size=(2, 6)).tolist()
    negated = blocks.negate_matrix(blocks.transpose(blocks.cross_motion_matrix(z)))
    assert blocks.cross_force_matrix(z) == negated
    assert_allclose(blocks.cross_force(x, z), blocks.negate(blocks.cross_adjoint(z, x)))


@every_cross
def test_cross_matrix_of_one_axis_has_zeros_of_the_structure_elsewhere(name):
    matrix = getattr(blocks, f"{name}_matrix")([0, 0, 2.5, 0, 0, 0])
    expected = np.array(CROSSES[name]([0.0, 0.0, 2.5, 0.0, 0.0, 0.0])) != 0.0
    assert_array_equal([[not is_structural(x) for x in row] for row in matrix], expected)


# -- cost ------------------------------------------------------------------------------


def test_products_cost_what_the_textbook_says():
    assert count(blocks.dot, (6,), (6,)) == Tally(multiply=6, add=5)
    assert count(blocks.cross, (3,), (3,)) == Tally(multiply=6, add=3)
    assert count(blocks.apply, (6, 4), (4,)) == Tally(multiply=24, add=18)
    assert count(blocks.apply_transposed, (6, 4), (6,)) == Tally(multiply=24, add=20)
    assert count(blocks.compose, (6, 5), (5, 4)) == Tally(multiply=120, add=96)


@every_cross
def test_cross_product_of_full_vectors_costs_three_of_dimension_three(name):
    assert count(getattr(blocks, name), (6,), (6,)) == Tally(multiply=18, add=12)


def test_motion_cross_product_with_one_axis_costs_four_multiplications():
    """V~ H* beta and (H* beta)~ V of a revolute joint about z: no sums."""
    with counting() as tally:
        z, x = [0, 0, tally.number(), 0, 0, 0], numbers(tally, 6)
        result = blocks.cross_motion(z, x)
    assert (tally.multiply, tally.flops) == (4, 4)
    assert structure(result) == [None, None, 0, None, None, 0]
    with counting() as tally:
        z, x = [0, 0, tally.number(), 0, 0, 0], numbers(tally, 6)
        blocks.cross_motion(x, z)
    assert (tally.multiply, tally.flops) == (4, 4)


def test_unit_joint_map_costs_nothing():
    """H P H* picks an entry, P H* a column, H* beta places a number."""
    with counting() as tally:
        P = blocks.mirrored(6, lambda i, j: tally.number())
        beta = tally.number()
        assert blocks.congruence_transposed(UNIT_Z, P) == [[P[2][2]]]
        assert blocks.compose(P, UNIT_Z) == [[row[2]] for row in P]
        assert blocks.apply_transposed(UNIT_Z, P[0]) == [P[0][2]]
        assert blocks.apply(UNIT_Z, [beta]) == [0, 0, beta, 0, 0, 0]
    assert tally == Tally()


@pytest.mark.parametrize(("n", "m"), [(6, 6), (3, 6), (6, 1), (1, 6)])
def test_congruence_computes_half_of_its_second_product(n, m):
    half = n * (n + 1) // 2
    expected = Tally(multiply=n * m * m + half * m, add=n * m * (m - 1) + half * (m - 1))
    assert count(blocks.congruence, (n, m), (m, m)) == expected
    assert count(blocks.congruence_transposed, (m, n), (m, m)) == expected


def test_symmetric_sum_costs_the_upper_triangle():
    with counting() as tally:
        A, B = numbers(tally, 6, 6), numbers(tally, 6, 6)
        blocks.add_matrices(A, B, symmetric=True)
    assert tally == Tally(add=21)
    assert count(blocks.add_matrices, (6, 6), (6, 6)) == Tally(add=36)


@pytest.mark.parametrize("n", range(1, 7))
def test_symmetric_inverse_costs_n_cubed_flops_and_n_divisions(n):
    tally = count(blocks.symmetric_inverse, (n, n))
    assert tally.divide == n
    assert tally.flops == n**3


@pytest.mark.parametrize("n", range(1, 7))
def test_diagonal_matrix_costs_one_operation_per_entry(n):
    def diagonal(tally):
        return [[tally.number() if i == j else 0 for j in range(n)] for i in range(n)]

    for function, expected in (
        (blocks.symmetric_inverse, Tally(divide=n)),
        (blocks.general_inverse, Tally(divide=n)),
        (blocks.cholesky, Tally(sqrt=n)),
    ):
        with counting() as tally:
            function(diagonal(tally))
        assert tally == expected


def test_general_inverse_exchanges_no_rows_where_a_pivot_has_no_rival():
    """The first two columns have one entry each, then two rows compete."""
    with counting() as tally:
        x = tally.number
        blocks.general_inverse([[0, x(), x()], [0, 0, x()], [x(), x(), x()]])
    assert (tally.compare, tally.select) == (0, 0)
    with counting() as tally:
        blocks.general_inverse(numbers(tally, 2, 2))
    assert tally.compare == 3  # two absolute values and which is larger
    assert tally.select > 0


def test_result_of_counted_numbers_is_counted():
    with counting() as tally:
        X = blocks.general_inverse(numbers(tally, 3, 3))
    assert all(isinstance(x, Counted) for x in entries(X))
