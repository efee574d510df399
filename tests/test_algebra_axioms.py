"""The axioms on random expressions over random machines; block sizes belong to the bodies."""

import ast
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from random_expressions import INVERTIBLE, NUMBERS, evaluable, situations, size
from symbols import A, L, assert_close, k, m, x
from witness import block_diagonal

import phipsi as pp
import phipsi.algebra
from phipsi.algebra.spaces import BODY, JOINT, POINTS, SCALAR
from phipsi.operators import D, I, M, Mass, P, R, beta, blockdiag

# -- the axioms, on random expressions over random machines ----------------------------

AXIOM = settings(max_examples=40)
SHAPES = st.sampled_from(
    [(BODY, BODY), (BODY, JOINT), (JOINT, BODY), (SCALAR, BODY), (JOINT, POINTS)]
)


@AXIOM
@given(st.data())
def test_product_is_the_matrix_product_and_associative(data):
    _, value = data.draw(situations())
    source, target = data.draw(SHAPES)
    first = data.draw(evaluable(JOINT, target))
    second = data.draw(evaluable(BODY, JOINT))
    third = data.draw(evaluable(source, BODY))
    factors = ((first, JOINT), (second, BODY), (third, source))
    A_, B_, C_ = (as_columns(value, node, space) for node, space in factors)
    scale = math.prod(size(value, node.at(space)) for node, space in factors)
    left, right = (first @ second) @ third, first @ (second @ third)
    assert left == right
    whole = as_columns(value, left, source)
    assert_close(whole, A_ @ (B_ @ C_), scale)
    assert_close(whole, (A_ @ B_) @ C_, scale)


@AXIOM
@given(st.data())
def test_product_distributes_over_the_sum(data):
    _, value = data.draw(situations())
    source, target = data.draw(SHAPES)
    outer = data.draw(evaluable(BODY, target))
    first, second = data.draw(evaluable(source, BODY)), data.draw(evaluable(source, BODY))
    scale = size(value, outer.at(BODY)) * size(value, (first + second).at(source))
    left, right = outer @ (first + second), outer @ first + outer @ second
    assert_close(closed(value, left, source), closed(value, right, source), scale)
    inner = data.draw(evaluable(source, BODY))
    first, second = data.draw(evaluable(BODY, target)), data.draw(evaluable(BODY, target))
    scale = size(value, inner.at(source)) * size(value, (first + second).at(BODY))
    left, right = (first + second) @ inner, first @ inner + second @ inner
    assert_close(closed(value, left, source), closed(value, right, source), scale)


@AXIOM
@given(st.data())
def test_sum_commutes_in_meaning(data):
    _, value = data.draw(situations())
    source, target = data.draw(SHAPES)
    first, second = data.draw(evaluable(source, target)), data.draw(evaluable(source, target))
    scale = size(value, (first + second).at(source))
    left, right = first + second, second + first
    assert_close(closed(value, left, source), closed(value, right, source), scale)
    zero = closed(value, first - first, source)
    assert np.linalg.norm(zero) <= 1e-13 * scale


@AXIOM
@given(st.data())
def test_transpose_of_a_product_is_the_product_of_transposes_reversed(data):
    """(A B)* = B* A*."""
    _, value = data.draw(situations())
    first, second = data.draw(evaluable(BODY, JOINT)), data.draw(evaluable(JOINT, BODY))
    scale = size(value, first) * size(value, second)
    assert_close(value((first @ second).T), value(second.T @ first.T), scale)
    assert_close(value((first @ second).T), value(first @ second).T, scale)


@AXIOM
@given(st.data())
def test_transpose_is_linear(data):
    _, value = data.draw(situations())
    first, second = data.draw(evaluable(BODY, JOINT)), data.draw(evaluable(BODY, JOINT))
    scale = size(value, first - 2 * second)
    assert_close(value((first - 2 * second).T), value(first.T - 2 * second.T), scale)


@AXIOM
@given(st.data())
def test_inverse_of_a_product_is_the_product_of_inverses_reversed(data):
    """(A B)^-1 = B^-1 A^-1, and A A^-1 = I; A and B nonsingular."""
    _, value = data.draw(situations())
    space = data.draw(st.sampled_from([BODY, JOINT]))
    first, second = (data.draw(st.sampled_from(INVERTIBLE[space])) for _ in range(2))
    left, right = value((first @ second).inv), value(second.inv @ first.inv)
    scale = size(value, first.inv @ second.inv)
    assert_close(left, right, scale, tolerance=1e-8)
    unit = np.eye(len(value(first)))
    for product in (first @ first.inv, first.inv @ first):
        assert_close(value(product), unit, size(value, product))


@AXIOM
@given(st.data())
def test_inverse_of_the_transpose_is_the_transpose_of_the_inverse(data):
    """(A*)^-1 = (A^-1)*; A nonsingular."""
    _, value = data.draw(situations())
    operator = data.draw(st.sampled_from([x for of in INVERTIBLE.values() for x in of]))
    assert_close(value(operator.T.inv), value(operator.inv.T))


@AXIOM
@given(st.data(), NUMBERS, NUMBERS)
def test_scalars_act_linearly(data, p, q):
    """(p + q) A = p A + q A, p (A B) = (p A) B = A (p B), and the same for scalar symbols."""
    _, value = data.draw(situations())
    first, second = data.draw(evaluable(BODY, JOINT)), data.draw(evaluable(JOINT, BODY))
    scale = 10 * size(value, first)
    assert_close(value((p + q) * first), value(p * first + q * first), scale)
    assert_close(value((k + m) * first), value(k * first + m * first), scale)
    assert_close(value(p * first), p * value(first), scale)
    assert_close(value(k * first), value(k) * value(first), scale)
    scale *= size(value, second)
    for factor in (p, k, m * k):
        whole = value(factor * (first @ second))
        assert_close(value((factor * first) @ second), whole, scale)
        assert_close(value(first @ (factor * second)), whole, scale)


@AXIOM
@given(st.data())
def test_root_of_a_symmetric_positive_operator_squares_to_it(data):
    """D = D.sqrt D.sqrt*, lower triangular with positive diagonal in each block."""
    _, value = data.draw(situations())
    for operator in (D, M, R, P, blockdiag(Mass), beta.T @ beta):
        root = value(operator.sqrt)
        assert_close(value(operator.sqrt @ operator.sqrt.T), value(operator))
        if root.ndim:
            assert np.array_equal(root, np.tril(root))
            assert np.all(np.diag(root) > 0)


@AXIOM
@given(st.data())
def test_identity_is_neutral(data):
    _, value = data.draw(situations())
    node = data.draw(evaluable(BODY, JOINT))
    twice = (2 * I) @ node @ (0.5 * I)
    assert_close(value(twice), value(node), size(value, node))
    through = node @ (I - M + M)
    assert_close(value(through), value(node), size(value, through))


def closed(value, node, space):
    """The matrix of a node whose identities, if still open, are on the space."""
    return value(node.at(space))


def as_columns(value, node, space):
    """`closed`, with a vector as one column."""
    matrix = closed(value, node, space)
    return matrix[:, None] if node.is_vector else matrix


# -- block sizes belong to the body ----------------------------------------------------


def test_no_size_of_a_block_is_written_in_the_algebra():
    """The numbers in the sources of phipsi.algebra are counts of children, up to 3, and prices."""
    for path in Path(phipsi.algebra.__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_text())
        prices = {
            id(part)
            for node in ast.walk(tree)
            if (isinstance(node, ast.keyword) and node.arg in ("flops", "recursion"))
            or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "STEP")
            for part in ast.walk(node)
        }
        numbers = {
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and type(node.value) in (int, float)
            if id(node) not in prices
        }
        assert numbers <= {0, 1, 2, 3}, path.name


def test_expressions_are_evaluated_with_the_block_sizes_of_the_bodies():
    """Bodies of 3, 8 and 5 coordinates: products, inverses, transposes and diagonals follow."""
    model = pp.chain(3)
    sizes = [3, 8, 5]
    bodies = tuple(replace(x, size=n) for x, n in zip(model.bodies, sizes, strict=True))
    model = replace(model, bodies=bodies)
    rng = np.random.default_rng(4)
    blocks = [rng.normal(size=(n, n)) for n in sizes]
    maps = [rng.normal(size=(1, n)) for n in sizes]
    vector = rng.normal(size=sum(sizes))
    value = pp.as_matrix(
        model, L @ (I + A).inv @ blockdiag(A.T) @ x, model.neutral(), A=blocks, L=maps, x=vector
    )
    A_, L_ = block_diagonal(*blocks), block_diagonal(*maps)
    assert_close(value, L_ @ np.linalg.solve(np.eye(sum(sizes)) + A_, A_.T @ vector))
