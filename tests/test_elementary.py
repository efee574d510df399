"""Sine, cosine, exponential and arcus tangent as machine code, against exact values.

The exact values come from series in integers, of an angle reduced by pi of 1,400 bits; pi is
computed in another way than the package does.
"""

import ctypes
import math
import struct
from fractions import Fraction
from functools import cache
from itertools import product
from math import inf, nan, pi

import llvmlite.binding as binding
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phipsi.backends import elementary, llvm, reduction
from phipsi.backends.elementary import AT_ONCE, FEW
from phipsi.backends.real import REALS
from phipsi.backends.write import Width, declarations

WIDTHS = (1, 2, 4, 8)
FUNCTIONS = ("sincos", "sincos_array", "exp", "arctan", "arctan2")
LIMIT = reduction.LIMIT
WORST = math.ldexp(6381956970095103, 797)  # the double closest to a multiple of pi/2
TINY = math.ldexp(1, -1074)
HUGE = math.ldexp(1 - 2.0**-53, 1024)

# -- machine code --------------------------------------------------------------------------


def target(name):
    """The host, or what every processor of its family has: on x86-64 two lanes, nothing fused."""
    if name == "host":
        return llvm.Target.host()
    cpu = "x86-64" if llvm.architecture() == "x86_64" else "generic"
    return llvm.Target(cpu, "", 2)


def runner(name, lanes, real="double"):
    """A public function: `name` of n entries, from arrays a and b into arrays c and d."""
    T = Width(lanes, real).number
    if name == "sincos_array":
        return f"""
define void @run_{name}(ptr %a, ptr %b, ptr %c, ptr %d, i64 %n) {{
  call void @{name}(ptr %a, ptr %c, ptr %d, i64 %n)
  ret void
}}"""
    results = 2 if name == "sincos" else 1
    R = f"{{{T}, {T}}}" if results == 2 else T
    listed = ", ".join(f"{T} %{x}" for x in ("a", "b")[: 1 + (name == "arctan2")])
    store = f"store {T} %value, ptr %c.at"
    if results == 2:
        store = f"""
  %s = extractvalue {R} %value, 0
  %c.value = extractvalue {R} %value, 1
  store {T} %s, ptr %c.at
  store {T} %c.value, ptr %d.at"""
    places = "\n".join(f"  %{x}.at = getelementptr {T}, ptr %{x}s, i64 %i" for x in "abcd")
    return f"""
define void @run_{name}(ptr %as, ptr %bs, ptr %cs, ptr %ds, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{places}
  %a = load {T}, ptr %a.at
  %b = load {T}, ptr %b.at
  %value = call {R} @{name}({listed})
  {store}
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}"""


@cache
def compiled(lanes, where, real="double"):
    runners = [runner(name, lanes, real) for name in FUNCTIONS]
    text = "\n".join([elementary.source(lanes, FUNCTIONS, real), *runners])
    return llvm.compile_module(text, target(where).of(real))


def run(name, lanes, where, *arguments, real="double"):
    """A function of arrays, through the code for so many lanes: c and d."""
    count = len(arguments[0])
    entries = -(-count // lanes)
    kind = REALS[real]
    tiles = np.zeros(4 * entries * lanes + 64 // kind.bytes, kind.dtype)
    start = -tiles.ctypes.data // kind.bytes % (64 // kind.bytes)
    tiles = tiles[start:][: 4 * entries * lanes].reshape(4, -1)
    for tile, values in zip(tiles, arguments, strict=False):
        tile[:count] = values
    run_at = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)
    address = compiled(lanes, where, real).address(f"run_{name}")
    run_at(address)(*(tile.ctypes.data for tile in tiles), entries)
    return tiles[2:, :count].copy()


def sincos(x, where="host", lanes=8):
    return run("sincos_array", lanes, where, x)


def inline_text(n, lanes, real="double"):
    """A module with a public function: sines and cosines of n angles, taken in its midst."""
    width = Width(lanes, real)
    T = width.number
    lines, *found = elementary.inline_sincos(lanes, [f"%a{i}" for i in range(n)], "%work", real)

    def at(base, i):
        return f"%{base}.at{i} = getelementptr {T}, ptr %{base}, i64 {i}"

    before = [x for i in range(n) for x in (at("a", i), f"%a{i} = load {T}, ptr %a.at{i}")]
    after = [
        line
        for base, names in zip("cd", found, strict=True)
        for i, name in enumerate(names)
        for line in (at(base, i), f"store {T} {name}, ptr %{base}.at{i}")
    ]
    body = "\n  ".join(["entry:", *before, *lines, *after, "ret void"])
    text = f"define void @run_inline(ptr %a, ptr %c, ptr %d, ptr %work) {{\n{body}\n}}\n"
    texts = [text, elementary.source(lanes, ["sincos_large"], real)]
    return "\n".join([*texts, *declarations(texts, width)])


@cache
def compiled_inline(n, lanes, where, real):
    return llvm.compile_module(inline_text(n, lanes, real), target(where).of(real))


def run_inline(angles, where="host", real="double"):
    """Sines and cosines of angles (n, lanes), and the room to work in, full of sevens before."""
    n, lanes = angles.shape
    size, kind = n * lanes, REALS[real]
    line = 64 // kind.bytes
    blocks = [np.full(several * size + 2 * line, 7.0, kind.dtype) for several in (1, 1, 1, 3)]
    a, c, d, work = (x[-x.ctypes.data // kind.bytes % line :][: x.size - line] for x in blocks)
    a[:size] = angles.ravel()
    run_at = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
    address = compiled_inline(n, lanes, where, real).address("run_inline")
    run_at(address)(*(x.ctypes.data for x in (a, c, d, work)))
    assert_same_bits(a[:size], angles.ravel())
    for values, used in ((a, size), (c, size), (d, size), (work, 3 * size)):
        assert np.all(values[used:] == 7.0)
    return np.stack([c[:size], d[:size]]), work[: 3 * size]


# -- exact values --------------------------------------------------------------------------


@cache
def exact_pi(bits):
    """pi 2^bits by the arithmetic-geometric mean (C. F. Gauss; R. Brent and E. Salamin 1976)."""
    inner = bits + 64
    a, b, t, p = 1 << inner, math.isqrt(1 << 2 * inner - 1), 1 << inner - 2, 1
    while a - b > 1:
        mean = (a + b) // 2
        b, t, p, a = math.isqrt(a * b), t - p * ((a - mean) ** 2 >> inner), 2 * p, mean
    return (a + b) ** 2 // (4 * t) >> 64


def power_series(x, bits, ratio):
    """1 + x/r(1) + x^2/(r(1) r(2)) + ..., everything times 2^bits."""
    total = term = 1 << bits
    n = 1
    while term:
        term = (term * x >> bits) // ratio(n)
        total += term
        n += 1
        if term == -1:  # rounded down for ever
            break
    return total


def exact_sincos(x):
    """Sine and cosine of a double, with a relative error below 2^-150."""
    bits = 1400
    quotient, rest = divmod(
        int(Fraction(x) * (1 << bits)) + exact_pi(bits) // 4, exact_pi(bits) // 2
    )
    rest = Fraction(rest - exact_pi(bits) // 4, 1 << bits)
    square = int(rest**2 * (1 << 256))
    sine = rest * Fraction(power_series(-square, 256, lambda n: 2 * n * (2 * n + 1)), 1 << 256)
    cosine = Fraction(power_series(-square, 256, lambda n: 2 * n * (2 * n - 1)), 1 << 256)
    turns = ((sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine))
    return turns[quotient % 4]


@cache
def exact_log2():
    """log 2 = 2 artanh 1/3."""
    return sum(Fraction(2, (2 * i + 1) * 3 ** (2 * i + 1)) for i in range(100))


def exact_exp(x):
    quotient = round(Fraction(x) / exact_log2())
    rest = int((Fraction(x) - quotient * exact_log2()) * (1 << 256))
    return Fraction(power_series(rest, 256, lambda n: n), 1 << 256) * Fraction(2) ** quotient


def exact_arctan2(y, x):
    """One step of Newton's method from the library's result, with terms up to the fifth order."""
    guess = math.atan2(y, x)
    s, c = exact_sincos(guess)
    y, x = Fraction(y), Fraction(x)
    rest = (y * c - x * s) / (x * c + y * s)
    return Fraction(guess) + rest - rest**3 / 3 + rest**5 / 5


def ulps(got, exact):
    """The error in units in the last place of the exact value."""
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    return float(abs(Fraction(float(got)) - exact) / Fraction(2) ** (max(exponent, -1022) - 52))


# -- samples -------------------------------------------------------------------------------


def any_exponent(rng, n, low=-1074, high=1024):
    return np.ldexp(rng.uniform(0.5, 1, n) * rng.choice([-1, 1], n), rng.integers(low, high, n))


def hardest(exponent):
    """Of the doubles m 2^exponent, the one closest to a multiple of pi/2 for its size.

    m is the last denominator below 2^53 of the continued fraction of 2^exponent 2/pi
    (W. Kahan).
    """
    bits = 1400
    a, b = 2 << bits + max(exponent, 0), exact_pi(bits) << max(-exponent, 0)
    a, b = b, a % b
    before, m = 0, 1
    while (following := a // b * m + before) < 1 << 53:
        before, m, a, b = m, following, b, a % b
    return math.ldexp(m, exponent)


def angles():
    """The last of them are the worst that a search found, fused and not fused."""
    rng = np.random.default_rng(1)
    eighths = rng.choice([-1, 1], 1500) * rng.uniform(0.5, pi / 4, 1500)
    return np.concatenate(
        [
            any_exponent(rng, 1000),
            [hardest(e) for e in (*range(-52, 960, 3), *range(960, 972))],
            rng.uniform(-10, 10, 1000),
            rng.integers(0, 40000, 1500) * (pi / 2) + eighths,
            [WORST, -WORST, LIMIT, np.nextafter(LIMIT, 0), HUGE, TINY, 1e22, 1e300, pi, pi / 4],
            [2.3485293716013134, 27665.650289625086, 10966.523643703056, 17290.53002612992],
            [0.7990476864411299, 6660.946561033635],
        ]
    )


def exponents():
    """The last are the worst found."""
    rng = np.random.default_rng(2)
    return np.concatenate(
        [
            rng.uniform(-744.4, 709.7, 1500),
            rng.uniform(-1, 1, 1500),
            rng.uniform(-744.4, -708, 500),
            any_exponent(rng, 500, high=9),
            [709.782712893384, -745.1332191019411, 0.0, TINY],
            [-708.7429550622884, -708.7430600061384],
        ]
    )


def points():
    """y and x, the worst again the last."""
    rng = np.random.default_rng(3)
    alike = rng.integers(-1074, 1024, 1000)
    slopes = np.ldexp(rng.uniform(0.2, 0.3, 1000), rng.integers(-3, 4, 1000))
    turned = rng.uniform(-pi, pi, 2000)
    y = [
        any_exponent(rng, 1000),
        np.ldexp(rng.uniform(-1, 1, 1000), alike),
        slopes,
        np.sin(turned),
        [TINY, TINY, HUGE, HUGE, 1, 0.25164695867764114, 0.263442273103893, 0.2634825049910561],
    ]
    x = [
        any_exponent(rng, 1000),
        np.ldexp(rng.uniform(-1, 1, 1000), alike),
        rng.uniform(0.5, 1, 1000),
        np.cos(turned),
        [TINY, HUGE, HUGE, TINY, 1, 0.9872000766305583, 1, 1],
    ]
    return np.concatenate(y), np.concatenate(x)


# -- accuracy ------------------------------------------------------------------------------


@cache
def exact_samples():
    """Of each function its arguments and exact values."""
    x, e, (y, w) = angles(), exponents(), points()
    both = [exact_sincos(a) for a in x]
    return {
        "sin": ((x,), [s for s, _ in both]),
        "cos": ((x,), [c for _, c in both]),
        "exp": ((e,), [exact_exp(a) for a in e]),
        "arctan": ((y,), [exact_arctan2(a, 1.0) for a in y]),
        "arctan2": ((y, w), [exact_arctan2(a, b) for a, b in zip(y, w, strict=True)]),
    }


@cache
def fuses(where):
    """Whether products are fused with sums."""
    text = llvm.assembly(elementary.source(2, FUNCTIONS), target(where))
    return any(name in text for name in ("fmadd", "fmla"))


@pytest.mark.parametrize("where", ["host", "baseline"])
@pytest.mark.parametrize("name", ["sin", "cos", "exp", "arctan", "arctan2"])
def test_errors_are_as_small_as_documented(name, where):
    """The bounds are those of the docstring of `elementary`."""
    arguments, exact = exact_samples()[name]
    got = run("sincos_array" if name in ("sin", "cos") else name, 8, where, *arguments)
    turning = 0.79 if fuses(where) else 0.88
    bound = {"sin": turning, "cos": turning, "exp": 0.81, "arctan": 1.36, "arctan2": 1.5}[name]
    assert max(map(ulps, got[int(name == "cos")], exact)) < bound


@pytest.mark.parametrize("name", ["sin", "cos", "exp", "arctan", "arctan2"])
def test_exact_values_are_those_of_the_library(name):
    """A second witness: the C library, apart from angles beside multiples of pi/2, where
    glibc 2.36 is itself off by several units."""
    arguments, exact = exact_samples()[name]
    by_library = map(getattr(math, name.replace("arc", "a")), *arguments)
    errors = np.array(list(map(ulps, by_library, exact)))
    beside = (np.abs(arguments[0]) > 1) & (np.abs(np.array(exact, float)) < 1e-9)
    assert np.all(errors[(name not in ("sin", "cos")) | ~beside] < 1)


def test_baseline_fuses_nothing_on_x86():
    """What is shown of the baseline is shown of a machine that rounds products."""
    assert llvm.architecture() != "x86_64" or not fuses("baseline")


@pytest.mark.parametrize("lanes", WIDTHS)
def test_cosine_of_the_double_closest_to_a_multiple_of_half_pi(lanes):
    """Its value as J.-M. Muller gives it (Elementary functions, range reduction)."""
    _, c = sincos([WORST, 1.0], lanes=lanes)
    assert c[0] == pytest.approx(-4.68716592425462761112e-19, rel=1e-15)


# -- zeros, infinities, ends ---------------------------------------------------------------


def assert_same_bits(x, y):
    """Equal with the signs of zeros; any NaN is like another."""
    np.testing.assert_array_equal(x, y)
    numbers = ~np.isnan(x)
    np.testing.assert_array_equal(np.signbit(x)[numbers], np.signbit(y)[numbers])


everywhere = pytest.mark.parametrize(
    ("lanes", "where"), [*product(WIDTHS, ["host"]), *product(WIDTHS, ["baseline"])]
)


@everywhere
def test_sine_and_cosine_of_zeros_infinities_and_the_smallest(lanes, where):
    small = np.ldexp(1.0, np.arange(-1074, -27))
    x = np.concatenate([[0.0, -0.0, nan, inf, -inf], small, -small])
    s, c = sincos(x, where, lanes)
    assert_same_bits(s, np.concatenate([[0.0, -0.0, nan, nan, nan], small, -small]))
    assert_same_bits(c, np.where(np.isfinite(x), 1.0, nan))


@everywhere
def test_exponential_overflows_and_underflows_where_it_must(lanes, where):
    """The largest double is exp 709.7827...; half the smallest is exp -745.1332..."""
    x = [0.0, -0.0, nan, inf, -inf, 709.782712893384, 709.7827128933841, 1e300]
    x += [-745.1332191019411, -745.1332191019412, -1e300]
    e = run("exp", lanes, where, x)[0]
    assert_same_bits(e[[*range(5), 6, 7, 9, 10]], [1.0, 1.0, nan, inf, 0.0, inf, inf, 0.0, 0.0])
    assert np.isfinite(e[5])
    assert e[8] == TINY


@everywhere
def test_arctan2_of_zeros_and_infinities_is_that_of_c(lanes, where):
    special = (0.0, -0.0, 1.0, -1.0, TINY, HUGE, inf, -inf, nan)
    y, x = np.array(list(product(special, repeat=2))).T
    assert_same_bits(run("arctan2", lanes, where, y, x)[0], list(map(math.atan2, y, x)))
    assert_same_bits(run("arctan", lanes, where, special)[0], list(map(math.atan, special)))


# -- properties ----------------------------------------------------------------------------

eight = st.lists(st.floats(), min_size=8, max_size=8)
some_angles = st.lists(st.floats(-1e6, 1e6) | st.floats(allow_infinity=False), min_size=1)


@pytest.mark.parametrize("where", ["host", "baseline"])
@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=50)
@given(x=eight, y=eight)
def test_all_widths_give_the_same_bits(name, where, x, y):
    """So a lane never feels its neighbours, large angles among them."""
    single = run(name.removesuffix("_array"), 1, where, x, y)
    for lanes in WIDTHS:
        assert_same_bits(run(name, lanes, where, x, y), single)


@pytest.mark.parametrize("where", ["host", "baseline"])
@settings(max_examples=50)
@given(x=some_angles)
def test_sine_is_odd_and_cosine_even(where, x):
    s, c = sincos(x, where)
    s_back, c_back = sincos(np.negative(x), where)
    assert_same_bits(s_back, -s)
    assert_same_bits(c_back, c)


@pytest.mark.parametrize("where", ["host", "baseline"])
@settings(max_examples=50)
@given(x=some_angles.map(lambda x: [a for a in x if a == a] or [0.0]))
def test_squares_of_sine_and_cosine_sum_to_one(where, x):
    """Each is off by 0.9 units of at most 2^-53, and the sum of both is at most 2^(1/2)."""
    for s, c in sincos(x, where).T:
        assert abs(Fraction(s) ** 2 + Fraction(c) ** 2 - 1) < 2 * 0.9 * 2.0**-53 * 1.4143


@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_array_writes_its_entries_and_no_other(lanes, n):
    """Also when large angles are among them."""
    tiles = np.full(3 * 6 * lanes + 8, 7.0)
    x, s, c = tiles[-tiles.ctypes.data // 8 % 8 :][: 18 * lanes].reshape(3, 6 * lanes)
    for scale in (1.0, 1e5):
        x[:] = scale * np.arange(6 * lanes)
        s[:] = c[:] = 7.0
        run_at = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)
        address = compiled(lanes, "host").address("run_sincos_array")
        run_at(address)(x.ctypes.data, 0, s.ctypes.data, c.ctypes.data, n)
        for written, of in ((s, np.sin), (c, np.cos)):
            assert np.all(written[n * lanes :] == 7.0)
            np.testing.assert_allclose(written[: n * lanes], of(x[: n * lanes]), rtol=1e-15)


# -- a few angles, inline ------------------------------------------------------------------

NUMBERS = (*range(1, FEW + 1), 2 * AT_ONCE + 1)
LARGE = (LIMIT, -LIMIT, 1e22, -WORST, HUGE, inf, -inf, nan)


@everywhere
def test_inline_gives_the_bits_of_the_array(lanes, where):
    """Of all samples, in groups of any size; what is small needs no room to work in."""
    x = angles()
    small = x[np.abs(x) < LIMIT]
    assert np.nextafter(LIMIT, 0) in small
    for n in NUMBERS:
        for values, is_small in ((x, False), (small, True)):
            padded = np.resize(values, -(-len(values) // (n * lanes)) * n * lanes)
            right = sincos(padded, where, lanes)
            for k in range(0, len(padded), n * lanes):
                group = slice(k, k + n * lanes)
                found, work = run_inline(padded[group].reshape(n, lanes), where)
                assert_same_bits(found, right[:, group])
                assert not is_small or np.all(work == 7.0)


@everywhere
@pytest.mark.parametrize("n", NUMBERS)
def test_one_large_angle_inline_disturbs_no_other(n, lanes, where):
    rng = np.random.default_rng(4)
    x = rng.uniform(-LIMIT, LIMIT, n * lanes)
    right = sincos(x, where, lanes)
    turned = sincos(LARGE, where, lanes)
    for k in range(n * lanes):
        for value, of_value in zip(LARGE, turned.T, strict=True):
            some, those = x.copy(), right.copy()
            some[k], those[:, k] = value, of_value
            assert_same_bits(run_inline(some.reshape(n, lanes), where)[0], those)


@pytest.mark.parametrize("where", ["host", "baseline"])
@settings(max_examples=50)
@given(n=st.sampled_from(NUMBERS), lanes=st.sampled_from(WIDTHS), data=st.data())
def test_any_angles_inline_give_the_bits_of_the_array(where, n, lanes, data):
    any_angle = st.floats() | st.floats(-1e6, 1e6)
    x = np.array(data.draw(st.lists(any_angle, min_size=n * lanes, max_size=n * lanes)))
    assert_same_bits(run_inline(x.reshape(n, lanes), where)[0], sincos(x, where, lanes))


def test_inline_works_on_so_many_angles_in_turn_that_registers_suffice():
    """Groups of nearly equal size: 6 angles are 3 and 3, not 5 and 1."""
    for n in NUMBERS:
        lines, sines, cosines = elementary.inline_sincos(4, [f"%a{i}" for i in range(n)], "%w")
        assert len(set(sines)) == len(set(cosines)) == n
        first = [i for i, x in enumerate(lines) if "bitcast <4 x double> %a" in x]
        groups = np.split(first, np.flatnonzero(np.diff(first) > 1) + 1)
        sizes = {int(x[-1] - x[0] + 1) for x in groups}
        assert max(sizes) <= AT_ONCE and max(sizes) - min(sizes) <= 1


# -- where constants come from -------------------------------------------------------------


def rest_of_sine(z):
    return series(z, lambda n: Fraction(2 * (-1) ** (n + 1), math.factorial(2 * n + 3)))


def rest_of_cosine(z):
    return series(z, lambda n: Fraction((-1) ** n, math.factorial(2 * n + 4)))


def rest_of_exponential(x):
    return series(x, lambda n: Fraction(1, math.factorial(n + 2)))


def rest_of_arctan(z):
    return series(z, lambda n: Fraction((-1) ** (n + 1), 2 * n + 3))


def series(x, coefficient):
    """A power series, to 30 digits and more for x up to 0.7 and such coefficients."""
    x = Fraction(round(x * (1 << 160)), 1 << 160)
    return sum(coefficient(n) * x**n for n in range(40))


def chebyshev_zeros(n):
    """From the largest to the smallest."""
    return [exact_sincos((2 * i + 1) * pi / (2 * n))[1] for i in range(n)]


def from_zero(n, end):
    """n places between 0 and the end: the lowest of n + 1 zeros is put at 0, and left out there,
    for the rest of a series counts for nothing at 0."""
    *zeros, lowest = chebyshev_zeros(n + 1)
    return [end * (x - lowest) / (1 - lowest) for x in zeros]


def around_zero(n, end):
    """The same between -end and end."""
    return [end * x for x in chebyshev_zeros(n + 1) if abs(x) > 1e-9]


def interpolate(function, places):
    """The coefficients of the polynomial through the function at these places (I. Newton)."""
    slopes = [function(x) for x in places]
    for step in range(1, len(places)):
        for i in reversed(range(step, len(places))):
            slopes[i] = (slopes[i] - slopes[i - 1]) / (places[i] - places[i - step])
    polynomial = [Fraction(0)] * len(places)
    for x, slope in zip(reversed(places), reversed(slopes), strict=True):
        shifted = [Fraction(0), *polynomial[:-1]]
        polynomial = [a - x * b for a, b in zip(shifted, polynomial, strict=True)]
        polynomial[0] += slope
    return polynomial


EIGHTH_TURN, HALF_LOG2 = Fraction(pi) / 4, exact_log2() / 2
REST = {  # the function, its coefficients, where they are fitted, by what its error counts
    "sin": (rest_of_sine, elementary.SIN, from_zero(6, EIGHTH_TURN**2), lambda z: z / 2),
    "cos": (
        rest_of_cosine,
        elementary.COS,
        from_zero(6, EIGHTH_TURN**2),
        lambda z: z**2 / (1 - z / 2),
    ),
    "exp": (
        rest_of_exponential,
        elementary.EXP,
        around_zero(10, HALF_LOG2),
        lambda x: x**2 / (1 + x),
    ),
    "arctan": (rest_of_arctan, elementary.ARCTAN, from_zero(10, Fraction(1, 9)), lambda z: z),
}


@pytest.mark.parametrize("name", REST)
def test_coefficients_interpolate(name):
    """This is how they were made: each is the double nearest to what interpolation gives."""
    function, coefficients, places, _ = REST[name]
    assert [float(c) for c in interpolate(function, places)] == list(coefficients)


@pytest.mark.parametrize("name", REST)
def test_polynomials_are_closer_than_a_tenth_of_a_unit(name):
    """Relative to the result, 2^-53 is a unit at most; measured at a hundred other places."""
    function, coefficients, places, weight = REST[name]
    for step in range(101):
        x = min(places) + (max(places) - min(places)) * step / 100
        value = sum(Fraction(c) * x**i for i, c in enumerate(coefficients))
        assert abs(value - function(x)) * abs(weight(x)) < 0.1 * 2.0**-53


def test_parts_of_half_pi_sum_to_it_and_their_products_are_exact():
    exact = Fraction(exact_pi(300), 2 << 300)
    parts = reduction.cut(exact, (reduction.EXACT, reduction.EXACT, 53))
    assert abs(sum(map(Fraction, parts)) - exact) < Fraction(1, 1 << 125)
    for k in range(int(LIMIT * 2 / pi) + 2):
        assert all(Fraction(k * part) == k * Fraction(part) for part in parts[:2])


def test_bits_of_pi_are_right():
    """By another formula."""
    assert reduction.half_pi(1300) == exact_pi(1300) >> 1
    assert abs(reduction.two_over_pi(1200) * exact_pi(1200) - (2 << 2400)) <= 4 << 1200


# -- the text ------------------------------------------------------------------------------


def undefined_symbols(text, where):
    """What an object file of this code wants from others, read from its table of symbols."""
    elf = binding.Target.from_triple(f"{llvm.architecture()}-unknown-linux-gnu")
    machine = elf.create_target_machine(target(where).cpu, target(where).features)
    with binding.create_context() as context:
        data = machine.emit_object(binding.parse_assembly(text, context))
    with binding.ObjectFileRef.from_data(data) as file:
        sections = {section.name(): section.data() for section in file.sections()}
    names, found = sections[b".strtab"], set()
    for name, _, _, section, _, _ in struct.iter_unpack("<IBBHQQ", sections[b".symtab"]):
        if name and section == 0:
            found.add(names[name : names.index(b"\0", name)].decode())
    return found


@everywhere
def test_no_library_is_called(lanes, where):
    runners = [runner(name, lanes) for name in FUNCTIONS]
    assert not undefined_symbols("\n".join([elementary.source(lanes, FUNCTIONS), *runners]), where)
    assert not undefined_symbols(inline_text(FEW, lanes), where)


def test_a_library_that_is_called_is_noticed():
    text = """
define double @f(double %x) {
  %y = call double @llvm.sin.f64(double %x)
  ret double %y
}
declare double @llvm.sin.f64(double)"""
    assert undefined_symbols(text, "host") == {"sin"}


@pytest.mark.parametrize("lanes", WIDTHS)
def test_only_what_is_needed_is_written(lanes):
    behind = {"arctan": {"arctan2"}, "sincos": {"sincos_large", "reduce_large"}}
    behind["sincos_array"] = behind["sincos"]
    behind["sincos_large"] = {"reduce_large"}
    for name in (*FUNCTIONS, "sincos_large"):
        text = elementary.source(lanes, [name])
        defined = {
            line.split("@")[1].split("(")[0] for line in text.split("\n") if line[:6] == "define"
        }
        assert defined == {name} | behind.get(name, set())
    assert elementary.source(lanes, []) == ""


def test_unknown_functions_are_our_own_mistake():
    with pytest.raises(AssertionError, match="tanh"):
        elementary.source(8, ["tanh"])
