"""What the C code of every exported function begins with: fused products, sine and cosine.

Sine and cosine are those of `elementary`, operation by operation, so that exported
code rounds as machine code does. Angles from `reduction.LIMIT` on go to <math.h>, and
all angles where arithmetic is not that of doubles (`-ffast-math`, x87).
"""

from __future__ import annotations

from fractions import Fraction
from math import isfinite, pi
from string import Template

from phipsi.backends import elementary, reduction
from phipsi.scalars import HUGE

_PROLOGUE = Template("""\
#if defined(__GNUC__) || defined(__clang__)
#define ${NAME}_RESTRICT __restrict__
#define ${NAME}_INLINE static inline __attribute__((always_inline, unused))
#define ${NAME}_PART static __attribute__((noinline, unused))
#define ${NAME}_PUBLIC static __attribute__((unused))
#elif defined(_MSC_VER)
#define ${NAME}_RESTRICT __restrict
#define ${NAME}_INLINE static __forceinline
#define ${NAME}_PART static __declspec(noinline)
#define ${NAME}_PUBLIC static
#elif defined(__cplusplus)
#define ${NAME}_RESTRICT
#define ${NAME}_INLINE static inline
#define ${NAME}_PART static
#define ${NAME}_PUBLIC static
#else
#define ${NAME}_RESTRICT restrict
#define ${NAME}_INLINE static inline
#define ${NAME}_PART static
#define ${NAME}_PUBLIC static
#endif

/* Products are fused with sums where the code says so, and nowhere else. GCC, when it makes
   vectors of straight code, fuses others as well: it shall make them of loops alone. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize ("fp-contract=off", "no-math-errno", "no-tree-slp-vectorize")
#endif
#ifdef FP_FAST_FMA
#define ${NAME}_FUSED(x, y, z) fma(x, y, z)
#else
#define ${NAME}_FUSED(x, y, z) ((x) * (y) + (z))
#endif

/* Inputs of which the sum of squares is not below ${bound}: NaN, infinite or senseless. */
${NAME}_INLINE void ${name}_look(const size_t n, const size_t size,
    const double *${NAME}_RESTRICT x, double *${NAME}_RESTRICT squares)
{
    size_t e, l;
    for (e = 0; e < size; ++e)
        for (l = 0; l < n; ++l)
            squares[l] += x[e * n + l] * x[e * n + l];
}

/* Rows of states into a tile, entry e of state l at e LANES + l. */
${NAME}_PART void ${name}_pack(const size_t size, const double *${NAME}_RESTRICT rows,
    double *${NAME}_RESTRICT tile)
{
    size_t e, l;
    for (e = 0; e < size; ++e)
        for (l = 0; l < ${NAME}_LANES; ++l)
            tile[e * ${NAME}_LANES + l] = rows[l * size + e];
}

/* The entries from start to stop of a tile into rows. */
${NAME}_PART void ${name}_unpack(const size_t size, const size_t start, const size_t stop,
    const double *${NAME}_RESTRICT tile, double *${NAME}_RESTRICT rows)
{
    size_t e, l;
    for (e = start; e < stop; ++e)
        for (l = 0; l < ${NAME}_LANES; ++l)
            rows[l * size + e] = tile[e * ${NAME}_LANES + l];
}

/* Zeros into the entries from start to stop of n rows. */
${NAME}_PART void ${name}_zero(const size_t n, const size_t size, const size_t start,
    const size_t stop, double *${NAME}_RESTRICT rows)
{
    size_t e, l;
    for (l = 0; l < n; ++l)
        for (e = start; e < stop; ++e)
            rows[l * size + e] = 0.0;
}
""")

EPILOGUE = """\
#if defined(__clang__)
#pragma STDC FP_CONTRACT DEFAULT
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif
"""

_LESSER = Template("""\

${NAME}_INLINE double ${name}_min(const double x, const double y)
{
    return x < y || x != x ? x : y;
}

${NAME}_INLINE double ${name}_max(const double x, const double y)
{
    return y < x || x != x ? x : y;
}
""")

_SINCOS = Template("""\

${NAME}_INLINE uint64_t ${name}_bits(const double x)
{
    union { double number; uint64_t bits; } both;
    both.number = x;
    return both.bits;
}

${NAME}_INLINE double ${name}_number(const uint64_t x)
{
    union { uint64_t bits; double number; } both;
    both.bits = x;
    return both.number;
}

/* Sines and cosines of n angles: |x| = k pi/2 + hi + lo, then polynomials in hi^2. */
${NAME}_INLINE void ${name}_sincos(const size_t n, const double *${NAME}_RESTRICT x,
    double *${NAME}_RESTRICT s, double *${NAME}_RESTRICT c)
{
    size_t i;
#if defined(__FAST_MATH__) || (defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0)
    for (i = 0; i < n; ++i) {
        s[i] = sin(x[i]);
        c[i] = cos(x[i]);
    }
#else
    uint64_t large = 0;
    for (i = 0; i < n; ++i) {
        const uint64_t sign = UINT64_C(0x8000000000000000);
        const double size = fabs(x[i]);
        const double t = ${NAME}_FUSED(size, ${two_over_pi}, ${round});
        const double k = t - ${round};
        const double r = ${NAME}_FUSED(k, -${p1}, size);
        const double y = k * ${p2};
        const double hi = r - y;
        const double lo = ${NAME}_FUSED(k, -${p3}, r - hi - y);
        const double z = hi * hi, half = z * 0.5, near_one = 1.0 - half;
        const double by_sin = ${by_sin};
        const double by_cos = ${by_cos};
        const double sine = hi + ${NAME}_FUSED(half, ${NAME}_FUSED(hi, by_sin, -lo), lo);
        const double rest = ${NAME}_FUSED(hi, -lo, 1.0 - near_one - half);
        const double cosine = near_one + ${NAME}_FUSED(z * z, by_cos, rest);
        const uint64_t quadrant = ${name}_bits(t) << 62;
        const uint64_t odd = UINT64_C(0) - (${name}_bits(t) & 1);
        const uint64_t both = (${name}_bits(sine) ^ ${name}_bits(cosine)) & odd;
        const uint64_t first = ${name}_bits(sine) ^ both, second = ${name}_bits(cosine) ^ both;
        s[i] = ${name}_number(first ^ ((${name}_bits(x[i]) ^ quadrant) & sign));
        c[i] = ${name}_number(second ^ ((quadrant + (sign >> 1)) & sign));
        large |= size < ${limit} ? UINT64_C(0) : UINT64_C(1);
    }
    if (large != 0)
        for (i = 0; i < n; ++i)
            if (!(fabs(x[i]) < ${limit})) {
                s[i] = sin(x[i]);
                c[i] = cos(x[i]);
            }
#endif
}
""")


def prologue(name: str, sincos: bool, lesser: bool) -> str:
    """What stands before the parts.

    Args:
        name: of the function; everything else is named after it.
        sincos: whether there are angles.
        lesser: whether there are minima or maxima.
    """
    names = {"name": name, "NAME": name.upper()}
    text = _PROLOGUE.substitute(names, bound=number(HUGE * HUGE))
    if lesser:
        text += _LESSER.substitute(names)
    if sincos:
        half_pi = Fraction(reduction.half_pi(200), 1 << 200)
        widths = (reduction.EXACT, reduction.EXACT, 53)
        p1, p2, p3 = map(number, reduction.cut(half_pi, widths))
        text += _SINCOS.substitute(
            names,
            p1=p1,
            p2=p2,
            p3=p3,
            two_over_pi=number(2 / pi),
            round=number(elementary.ROUND),
            limit=number(reduction.LIMIT),
            by_sin=_polynomial(name, elementary.SIN),
            by_cos=_polynomial(name, elementary.COS),
        )
    return text


def number(x: float) -> str:
    """A double as C writes it, in digits that determine it.

    >>> number(0.1), number(1e300), number(-2.0)
    ('0.1', '1e+300', '-2.0')
    """
    assert isfinite(x), "C has no such number"
    return repr(float(x))


def _polynomial(name: str, coefficients: tuple[float, ...]) -> str:
    """c0 + c1 z + c2 z^2 + ..., as `instructions.horner` takes it."""
    *rest, before, last = map(number, coefficients)
    fma = f"{name.upper()}_FUSED"
    text = f"{fma}(z, {last}, {before})"
    for c in reversed(rest):
        text = f"{fma}({text}, z,\n            {c})"
    return text
