"""Dense systems of floats in machine code: numbers, alarms, and the memory they touch."""

import numpy as np
import pytest
from hand_kernels import WIDTHS_OF_FLOATS
from test_dense_code import (
    INVERSE,
    PLACES,
    POSITIVE,
    SOLVE,
    assert_close,
    complains,
    harmless,
    run,
    turned,
)

from phipsi.lowering.blocks import factored
from phipsi.lowering.steps.arithmetic import eliminated
from phipsi.lowering.trace import LIMITS, SMALL

SIZES = (*range(1, 14), 21, 40, 100)
LIMIT = LIMITS["float"]

every_width = pytest.mark.parametrize("lanes", WIDTHS_OF_FLOATS)
everywhere = pytest.mark.parametrize("where", PLACES)


def single(name, A, b=None, where="host"):
    """Of matrices rounded to floats: the result, what it should be, and the lanes complained of."""
    A = np.float32(A).astype(float)
    b = None if b is None else np.float32(b).astype(float)
    found, failed = run(name, A, b, where, real="float")
    right = np.linalg.inv(A) if name == INVERSE else np.linalg.solve(A, b[..., None])[..., 0]
    return found, right, failed


@everywhere
@every_width
def test_results_equal_those_of_numpy_in_doubles(where, lanes):
    """Of condition at most 10, so that few digits of a float are lost."""
    rng = np.random.default_rng(1)
    for n in SIZES:
        b = rng.standard_normal((lanes, n))
        positive, any_matrix = (
            turned(rng, rng.uniform(1.0, 10.0, (lanes, n))),
            harmless(rng, lanes, n),
        )
        for name, A in ((POSITIVE, positive), (SOLVE, any_matrix), (INVERSE, any_matrix)):
            found, right, failed = single(name, A, b, where)
            assert not failed
            assert_close(found, right, 2e-5)


@every_width
def test_every_lane_has_the_bits_of_one_alone(lanes):
    rng = np.random.default_rng(2)
    A, b = harmless(rng, lanes, 9), rng.standard_normal((lanes, 9))
    for name in (SOLVE, INVERSE):
        together = single(name, A, b)[0]
        alone = [single(name, A[k : k + 1], b[k : k + 1])[0][0] for k in range(lanes)]
        assert np.array_equal(together, alone)


def sheared(share):
    """|A^-1| |A| has an entry of this share of what is singular, and is otherwise small."""
    A = np.eye(6)
    A[1, 4] = 0.5 * LIMIT.singular * share
    return A[[3, 0, 4, 1, 5, 2]]


@everywhere
@every_width
def test_an_inverse_without_digits_is_complained_of_and_no_other(where, lanes):
    shares = np.resize([0.9, 1.1, 0.5, 20.0, 0.01], lanes)
    A, singular = np.array([*map(sheared, shares)]), {*np.flatnonzero(shares > 1.0)}
    assert run(INVERSE, A, None, where, real="float")[1] == singular
    assert run(SOLVE, A, A[:, 0], where, real="float")[1] == singular
    assert {k for k, x in enumerate(A) if complains(x, real="float")} == singular


@everywhere
@every_width
def test_a_pivot_that_nearly_vanishes_is_complained_of_and_no_other(where, lanes):
    """2^-10 is below the limit for floats, 2^-9 above; both are far from that for doubles."""
    assert 2.0**-10 < LIMIT.dense < 2.0**-9
    rests = np.resize([2.0**-10, 2.0**-9, -(2.0**-4), 2.0**-22, 0.5], lanes)
    A = np.tile(np.eye(5), (lanes, 1, 1))
    A[:, 1, 1] = 1.0 + rests
    A[:, 1, 3] = A[:, 3, 1] = 1.0
    singular = {*np.flatnonzero(rests < 2.0**-9)}
    assert run(POSITIVE, A, A[:, 0], where, real="float")[1] == singular
    found = {k for k, x in enumerate(A) if complains(x, eliminated, real="float")}
    assert found == singular
    in_doubles = {k for k, x in enumerate(A) if complains(x, eliminated)}
    assert in_doubles == {*np.flatnonzero(rests <= 0.0)}


def weak_together(n, rest):
    """Positive, of ones on the diagonal: two directions resist little, which no pivot shows."""
    rng = np.random.default_rng(n)
    sizes = np.ones(n)
    sizes[:2] = rest
    A = turned(rng, sizes[None])[0]
    unit = np.sqrt(np.diag(A))
    return A / unit[:, None] / unit


@pytest.mark.parametrize("n", [3, 6, SMALL])
@pytest.mark.parametrize("eliminate", [eliminated, factored])
def test_directions_that_are_weak_together_are_complained_of(n, eliminate):
    """Where pivots alone would let a matrix of the condition 1e5 pass, or one nearly so bad."""
    assert complains(weak_together(n, 1e-5), eliminate, real="float")
    assert not complains(weak_together(n, 1e-5), eliminate)
    assert not complains(weak_together(n, 1e-2), eliminate, real="float")
