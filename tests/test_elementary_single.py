"""Sine, cosine, exponential and arcus tangent of floats, against those of doubles.

Doubles have 29 bits more, so the library's values of them are exact beside a float.
"""

import math
from fractions import Fraction
from itertools import product
from math import inf, nan, pi

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_elementary import (
    EIGHTH_TURN,
    FUNCTIONS,
    HALF_LOG2,
    around_zero,
    assert_same_bits,
    compiled,
    exact_pi,
    from_zero,
    fuses,
    inline_text,
    interpolate,
    rest_of_arctan,
    rest_of_cosine,
    rest_of_exponential,
    rest_of_sine,
    run,
    run_inline,
    runner,
    undefined_symbols,
)

from phipsi.backends import elementary, reduction
from phipsi.backends.elementary import FEW, SERIES
from phipsi.backends.real import REALS

WIDTHS = (1, 2, 4, 8, 16)
PLACES = ("host", "baseline")
LIMIT = reduction.LIMITS["float"]
FIRST_INFINITE = 0x7F800000  # the bits of infinity: those of finite numbers are below
TINY, HUGE = 2.0**-149, (2.0 - 2.0**-23) * 2.0**127
STRIDE = 40_009  # a prime: of the numbers, so that all exponents and last bits take part

everywhere = pytest.mark.parametrize(("lanes", "where"), list(product(WIDTHS, PLACES)))


def single(name, lanes, where, *arguments):
    return run(name, lanes, where, *arguments, real="float")


def floats(start=0, stop=FIRST_INFINITE, step=STRIDE):
    """Positive floats, by their bits."""
    return np.arange(start, stop, step, dtype=np.uint32).view(np.float32)


def ulps(got, exact):
    """Errors in units in the last place of the exact value, of floats."""
    exponent = np.maximum(np.frexp(exact)[1] - 1, -126) - 23
    return np.ldexp(np.abs(got.astype(float) - exact), -exponent)


# -- accuracy ------------------------------------------------------------------------------


def angles():
    """Floats of all sizes, and those nearest to multiples of pi/2; the worst found come last."""
    near = np.float32(np.arange(1, 60_000) * (pi / 2))
    beside = [np.nextafter(near, np.float32(way)) for way in (0, inf)]
    return np.concatenate([floats(), near, *beside, np.float32(WORST)])


WORST = (22.775096893310547, 523.8692016601562, 0.786050916, 9.816766900217865e25)


@pytest.mark.parametrize("where", PLACES)
def test_errors_of_sine_and_cosine_are_as_small_as_documented(where):
    x = angles()
    s, c = single("sincos_array", 16, where, x)
    bound = 0.82 if fuses(where) else 0.92
    assert ulps(s, np.sin(x.astype(float))).max() < bound
    assert ulps(c, np.cos(x.astype(float))).max() < bound


@pytest.mark.parametrize("where", PLACES)
def test_errors_of_the_others_are_as_small_as_documented(where):
    x = floats()
    small = np.concatenate([x[x < 88.722], -x[x < 103.97], np.float32([-87.70060729980469])])
    assert ulps(single("exp", 16, where, small)[0], np.exp(small.astype(float))).max() < 0.77
    x = np.append(x, np.float32([0.2725924253463745, 0.261100172996521]))
    assert ulps(single("arctan", 16, where, x)[0], np.arctan(x.astype(float))).max() < 1.36
    rng = np.random.default_rng(1)
    turned, size = rng.uniform(-pi, pi, 50_000), np.ldexp(1.0, rng.integers(-120, 120, 50_000))
    y, x = (np.float32(size * f(turned)) for f in (np.sin, np.cos))
    y, x = np.append(y, np.float32(423080652439552)), np.append(x, np.float32(6767399042809856))
    exact = np.arctan2(y.astype(float), x.astype(float))
    assert ulps(single("arctan2", 16, where, y, x)[0], exact).max() < 1.53


# -- zeros, infinities, ends ---------------------------------------------------------------


@everywhere
def test_sine_and_cosine_of_zeros_infinities_and_the_smallest(lanes, where):
    small = np.ldexp(np.float32(1.0), np.arange(-149, -13))
    x = np.concatenate([np.float32([0.0, -0.0, nan, inf, -inf]), small, -small])
    s, c = single("sincos_array", lanes, where, x)
    assert_same_bits(s, np.concatenate([[0.0, -0.0, nan, nan, nan], small, -small]))
    assert_same_bits(c, np.where(np.isfinite(x), 1.0, nan))


@everywhere
def test_exponential_overflows_and_underflows_where_it_must(lanes, where):
    """The largest float is exp 88.7228...; half the smallest is exp -103.972..."""
    x = [0.0, -0.0, nan, inf, -inf, 88.72283, 88.72284, 1e30, -103.97207, -103.97209, -1e30]
    e = single("exp", lanes, where, x)[0]
    assert_same_bits(e[[*range(5), 6, 7, 9, 10]], [1.0, 1.0, nan, inf, 0.0, inf, inf, 0.0, 0.0])
    assert np.isfinite(e[5])
    assert e[8] == TINY


@everywhere
def test_arctan2_of_zeros_and_infinities_is_that_of_c(lanes, where):
    special = (0.0, -0.0, 1.0, -1.0, TINY, HUGE, inf, -inf, nan)
    y, x = np.array(list(product(special, repeat=2))).T
    right = np.float32(list(map(math.atan2, y, x)))
    np.testing.assert_array_max_ulp(single("arctan2", lanes, where, y, x)[0], right, 1)
    assert_same_bits(np.signbit(single("arctan2", lanes, where, y, x)[0]), np.signbit(right))
    right = np.float32(list(map(math.atan, special)))
    assert_same_bits(single("arctan", lanes, where, special)[0], right)


# -- properties ----------------------------------------------------------------------------

any_float = st.floats(width=32)
sixteen = st.lists(any_float | st.floats(-2048, 2048, width=32), min_size=16, max_size=16)


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=30)
@given(x=sixteen, y=sixteen)
def test_all_widths_give_the_same_bits(name, where, x, y):
    alone = single(name.removesuffix("_array"), 1, where, x, y)
    for lanes in WIDTHS:
        assert_same_bits(single(name, lanes, where, x, y), alone)


@pytest.mark.parametrize("where", PLACES)
@settings(max_examples=30)
@given(x=sixteen)
def test_sine_is_odd_and_cosine_even(where, x):
    s, c = single("sincos_array", 16, where, x)
    s_back, c_back = single("sincos_array", 16, where, np.negative(x))
    assert_same_bits(s_back, -s)
    assert_same_bits(c_back, c)


@pytest.mark.parametrize("where", PLACES)
@settings(max_examples=30)
@given(n=st.sampled_from((1, 2, FEW, FEW + 3)), lanes=st.sampled_from(WIDTHS), data=st.data())
def test_any_angles_inline_give_the_bits_of_the_array(where, n, lanes, data):
    angle = any_float | st.floats(-2048, 2048, width=32)
    x = np.float32(data.draw(st.lists(angle, min_size=n * lanes, max_size=n * lanes)))
    found, _ = run_inline(x.reshape(n, lanes), where, "float")
    assert_same_bits(found, single("sincos_array", lanes, where, x))


# -- where constants come from -------------------------------------------------------------

REST = {  # the function, where its coefficients are fitted, by what its error counts
    "sin": (rest_of_sine, from_zero(3, EIGHTH_TURN**2), lambda z: z / 2),
    "cos": (rest_of_cosine, from_zero(3, EIGHTH_TURN**2), lambda z: z**2 / (1 - z / 2)),
    "exp": (rest_of_exponential, around_zero(6, HALF_LOG2), lambda x: x**2 / (1 + x)),
    "arctan": (rest_of_arctan, from_zero(4, Fraction(1, 9)), lambda z: z),
}


@pytest.mark.parametrize("name", REST)
def test_coefficients_interpolate(name):
    """This is how they were made: each is the float nearest to what interpolation gives."""
    function, places, _ = REST[name]
    made = np.float32([float(c) for c in interpolate(function, places)])
    assert np.array_equal(made, np.float32(SERIES["float"][name]))


@pytest.mark.parametrize("name", REST)
def test_polynomials_are_closer_than_a_tenth_of_a_unit(name):
    """Relative to the result, 2^-24 is a unit at most; measured at a hundred other places."""
    function, places, weight = REST[name]
    coefficients = [Fraction(float(np.float32(c))) for c in SERIES["float"][name]]
    for step in range(101):
        x = min(places) + (max(places) - min(places)) * step / 100
        value = sum(c * x**i for i, c in enumerate(coefficients))
        assert abs(value - function(x)) * abs(weight(x)) < 0.1 * 2.0**-24


def test_parts_of_half_pi_sum_to_it_and_their_products_are_exact():
    exact = Fraction(exact_pi(300), 2 << 300)
    parts = reduction.parts_of_half_pi("float")
    assert abs(sum(map(Fraction, parts)) - exact) < Fraction(1, 1 << 64)
    assert all(float(np.float32(x)) == x for x in parts)
    for k in range(int(LIMIT * 2 / pi) + 2):
        assert all(np.float32(k) * np.float32(x) == Fraction(k) * Fraction(x) for x in parts[:-1])


# -- the text ------------------------------------------------------------------------------


@everywhere
def test_no_library_is_called(lanes, where):
    runners = [runner(name, lanes, "float") for name in FUNCTIONS]
    text = "\n".join([elementary.source(lanes, FUNCTIONS, "float"), *runners])
    assert not undefined_symbols(text, where)
    assert not undefined_symbols(inline_text(FEW, lanes, "float"), where)
    assert compiled(lanes, where, "float").target.real == "float"


def test_a_float_is_written_as_the_double_that_it_is():
    assert REALS["float"].literal(0.1) == REALS["double"].literal(float(np.float32(0.1)))
